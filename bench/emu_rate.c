/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many messages per second does pmm-emu carry? Pairs of processes play
 * ping-pong over a running emulator.
 *
 *     emu_rate SOCKET ROUND-TRIPS HOST HOST [HOST HOST]...
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/transport.h"

static double now (void)
{
    struct timespec ts;

    clock_gettime (CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static int play (char *where, long trips, char *const *host, size_t n,
                 size_t me)
{
    const struct transport *emu = &transport_emu;
    struct site site = { .emu_socket = where, .service = "ud" };
    struct transport_address *peer = calloc (n, sizeof (*peer));
    struct packet packet = { .len = 64 };
    struct error err = { .text = "" };
    void *t = NULL;
    int rc = -1;

    if (!peer)
        return -1;
    /* every process learns all addresses, without any coordination */
    for (size_t i = 0; i < n; i++) {
        void *other = emu->open (&site, host[i], false, &err);

        if (!other)
            goto error;
        peer[i] = ((struct transport_handle *)other)->address[0];
        if (i == me)
            t = other;
        else
            emu->close (other);
    }
    if (emu->connect (t, (uint64_t)getppid (), peer, n, n, &err) < 0)
        goto error;
    for (long i = 0; i < trips; i++) {
        if (me % 2 == 0
            && emu->send (t, 0, (uint32_t)me + 1, packet.data, 64, NULL,
                          &err) < 0)
            goto error;
        if (emu->recv (t, INT64_MAX, &packet, &err) != 1)
            goto error;
        if (me % 2 == 1
            && emu->send (t, 0, packet.peer, packet.data, 64, NULL,
                          &err) < 0)
            goto error;
    }
    /* the last answer is only sent during another wait */
    emu->recv (t, emu->now_ns (t), &packet, &err);
    rc = 0;
error:
    if (rc < 0)
        fprintf (stderr, "emu_rate: %s\n", err.text);
    if (t)
        emu->close (t);
    free (peer);
    return rc;
}

int main (int argc, char *argv[])
{
    size_t n = argc > 4 ? (size_t)argc - 3 : 0;
    int failed = 0;
    int status;
    double start;
    long trips;

    if (n < 2 || n % 2) {
        fprintf (stderr, "Usage: emu_rate SOCKET ROUND-TRIPS HOST HOST...\n");
        return 2;
    }
    trips = atol (argv[2]);
    start = now ();
    for (size_t i = 0; i < n; i++)
        if (fork () == 0)
            _exit (play (argv[1], trips, argv + 3, n, i) < 0);
    while (wait (&status) > 0)
        failed |= status;
    printf ("%zu pairs: %.0f messages/s\n", n / 2,
            (double)n * (double)trips / (now () - start));
    return failed != 0;
}
