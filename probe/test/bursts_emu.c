/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts over the emulator, of processes. */
#include "config.h"
#include "probe/test/arena.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>

#include "ibquery/local.h"
#include "ibquery/pcie.h"
#include "tests/tap.h"

enum { MS = 1000000, MB = 1000000, MEMBERS = 4 };

static bool near_gbps (double bits, double gbps)
{
    return fabs (bits / 1e9 - gbps) < .01 * gbps;
}

/* Sleep until this time of the emulator. */
static void sleep_until (int64_t ns)
{
    struct packet packet;
    struct error err;

    while (transport_emu.now_ns (arena_own) < ns
           && transport_emu.recv (arena_own, ns, &packet, &err) >= 0)
        ;
}

static struct transport_burst burst_with (uint32_t peer, double bytes,
                                          int64_t deadline)
{
    struct transport_burst b
        = { .peer = peer, .bytes = (uint64_t)bytes, .lost = true };
    struct error err;

    if (transport_emu.bulk_prepare (arena_own, 0, peer, b.way, false, &err) != 1
        || transport_emu.bulk (arena_own, &b, 1, deadline, NULL, NULL, &err)
               < 0)
        b.lost = true;
    return b;
}

/* Whether the files show PCIe, and what the port counted. */
static bool shows_files (void)
{
    const char *sysfs = transport_emu.sysfs (arena_own);
    char path[512], line[64];
    struct pcie pcie;
    int fd;

    snprintf (path, sizeof (path), "%s/mlx5_0", sysfs);
    if ((fd = open (path, O_PATH | O_DIRECTORY)) < 0)
        return false;
    pcie_read (fd, &pcie);
    if (local_read_line (fd, "ports/1/hw_counters/packet_seq_err", line,
                         sizeof (line))
            < 0
        || strcmp (line, "0")
        || local_read_line (fd, "ports/1/counters/port_rcv_data", line,
                            sizeof (line))
               < 0
        || atof (line) * 4 < MB)
        pcie.able.lanes = 0;
    close (fd);
    return pcie.able.lanes == 16 && pcie.able.mts == 16000
           && pcie.now.lanes == 16;
}

/* All are whole but 3, which dies. */
static int take_part (struct group *g, void *shared)
{
    uint32_t me = arena_me, peer = me ^ 1;
    struct transport_burst b;
    struct transport_port port;

    (void)g;
    (void)shared;
    if (me == 3) {
        sleep_until (3 * MS);
        raise (SIGKILL);
    }
    b = burst_with (peer, 10 * MB, 2 * MS);
    if (me < 2 ? b.lost || !near_gbps (b.bits, 198.7)
               : !b.lost || transport_emu.now_ns (arena_own) != 2 * MS)
        return 1;
    sleep_until (10 * MS);
    b = burst_with (me, MB, 20 * MS);
    if (b.lost || !near_gbps (b.bits, 198.7))
        return 2;
    transport_emu.bulk_port (arena_own, 0, &port);
    if (!near_gbps (port.bits, 200) || port.mtu != 4096 || !port.relaxed
        || port.retries != 0)
        return 3;
    sleep_until (20 * MS);
    return shows_files () ? 0 : 4;
}

/* A member that lies about what it sends, or how much. */
static int lie (struct group *g, void *shared)
{
    struct transport_burst b = { .peer = 1, .bytes = UINT64_MAX };
    struct error err;

    (void)g;
    (void)shared;
    if (arena_me == 0)
        return transport_emu.bulk (arena_own, &b, 1, MS, NULL, NULL, &err)
               >= 0;
    b = burst_with (0, MB, MS);
    return b.lost && transport_emu.now_ns (arena_own) == MS ? 0 : 1;
}

int main (void)
{
    struct arena a;

    ok (arena_start (&a, NULL, NULL) == 0, "an emulator");
    ok (arena_run (&a, MEMBERS, 1, take_part, NULL) == MEMBERS - 1,
        "whole hosts exchange bursts; one dies");
    ok (arena_run (&a, 2, 2, lie, NULL) == 2,
        "who asks for too much is refused, its peer waits for its deadline");
    ok (arena_stop (&a), "... which lives on");
    return done_testing ();
}
