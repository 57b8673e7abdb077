/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usage: bursts [OPTION]... DEVICES DEVICES
 *
 * Bursts over verbs between two processes, each with such devices (option Device
 * of pmm.conf): the first rail of one with the first of the other, and so on; the
 * first again, if one has fewer. Prints of each process and rail "port MTU RELAXED
 * RETRIES", and what its transport says went wrong; then, for each burst and pair
 * of rails,
 *
 *     PAIR SENT RECEIVED
 *
 * in Mbit/s, - if it was lost. The first burst is a warm-up.
 *
 *     -b BYTES   of a burst, in each direction (4000000)
 *     -n COUNT   bursts (5)
 *     -d MS      deadline of a burst (1000)
 *     -s         without relaxed ordering
 *     -l         each rail with itself
 *     -k BURST   the second process dies in this burst, from 0 on
 *     -z BURST   ... is away for half a second
 */
#include "config.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/transport.h"

enum { RAILS = TRANSPORT_RAILS_MAX, BURSTS_MAX = 100 };

static const struct transport *const verbs = &transport_verbs;

static struct shared {
    _Atomic unsigned int step[2]; /* how far each has come */
    size_t rails[2];
    struct transport_address address[2][RAILS];
    double bits[2][BURSTS_MAX][RAILS];
} * shared;

static uint64_t bytes = 4000000;
static int count = 5, dies = -1, sleeps = -1;
static int64_t deadline_ms = 1000;
static bool strict, loops;

static void die (const char *what, const struct error *err)
{
    printf ("%s: %s\n", what, err->text);
    exit (1);
}

/* Both must have come to the next step; messages are received meanwhile. */
static void meet (void *t, int me, bool receive)
{
    unsigned int step = ++shared->step[me];
    struct packet packet;
    struct error err;

    while (shared->step[!me] < step)
        if (!receive)
            usleep (1000);
        else if (verbs->recv (t, verbs->now_ns (t) + 1000000, &packet, &err)
                 < 0)
            die ("recv", &err);
}

static void be_away (int sig)
{
    static const struct timespec half = { 0, 500000000 };

    (void)sig;
    nanosleep (&half, NULL);
}

static size_t most_rails (void)
{
    return shared->rails[shared->rails[1] > shared->rails[0]];
}

static void run_bursts (void *t, int me)
{
    int other = loops ? me : !me;
    size_t n = most_rails ();
    struct transport_way way = { 0, 0, 0 };
    struct packet packet;
    struct error err;

    for (int k = 0; k < count; k++) {
        struct transport_burst burst[RAILS];
        int64_t until = verbs->now_ns (t) + 5000000000;

        for (size_t i = 0; i < n; i++) {
            uint32_t r = (uint32_t)(i % shared->rails[me]);
            uint32_t peer = (uint32_t)(other * shared->rails[0]
                                       + i % shared->rails[other]);
            int rc;

            burst[i] = (struct transport_burst){
                .rail = r, .peer = peer, .way = way, .bytes = bytes,
                .strict = strict, .lost = true,
            };
            while ((rc = verbs->bulk_prepare (t, r, peer, way, strict, &err))
                       == 0
                   && verbs->now_ns (t) < until)
                if (verbs->recv (t, verbs->now_ns (t) + 1000000, &packet, &err)
                    < 0)
                    die ("recv", &err);
            if (rc < 0)
                die ("prepare", &err);
        }
        if (dies < 0 || k <= dies)
            meet (t, me, true);
        if (me == 1 && k == sleeps)
            signal (SIGALRM, be_away);
        if (me == 1 && (k == dies || k == sleeps))
            ualarm (1000, 0);
        if (verbs->bulk (t, burst, n,
                         verbs->now_ns (t) + deadline_ms * 1000000, NULL,
                         NULL, &err)
            < 0)
            die ("bulk", &err);
        for (size_t i = 0; i < n; i++)
            shared->bits[me][k][i] = burst[i].lost ? -1 : burst[i].bits;
    }
}

static int run_member (int me, char *devices)
{
    char any[] = "auto", none[] = "", service[] = "ud", polling[] = "event";
    struct site site = {
        .device = devices,
        .gid_index = any,
        .clock = any,
        .pkey = none,
        .node_map = none,
        .service = service,
        .polling = polling,
    };
    struct transport_address peer[2 * RAILS];
    struct transport_handle *h;
    struct error err;
    size_t n = 0;

    if (!(h = verbs->open (&site, me ? "second" : "first", false, &err)))
        die ("open", &err);
    shared->rails[me] = h->rails;
    memcpy (shared->address[me], h->address, sizeof (h->address));
    meet (h, me, false);
    for (int i = 0; i < 2; i++)
        for (size_t r = 0; r < shared->rails[i]; r++) {
            peer[n] = shared->address[i][r];
            peer[n++].node = i ? "second" : "first";
        }
    if (verbs->connect (h, 7, peer, n, 2, &err) < 0)
        die ("connect", &err);
    meet (h, me, false);
    run_bursts (h, me);
    if (dies < 0)
        meet (h, me, true);
    for (uint32_t r = 0; r < h->rails; r++) {
        struct transport_port port;

        verbs->bulk_port (h, r, &port);
        printf ("port %u %d %lld\n", port.mtu, port.relaxed,
                (long long)port.retries);
    }
    if (verbs->trouble (h))
        printf ("trouble: %s\n", verbs->trouble (h));
    fflush (stdout);
    verbs->close (h);
    return 0;
}

static void print_rate (double bits)
{
    if (bits < 0)
        printf (" -");
    else
        printf (" %.1f", bits / 1e6);
}

int main (int argc, char **argv)
{
    pid_t pid[2];
    int status = 0;
    int opt;

    while ((opt = getopt (argc, argv, "b:n:d:slk:z:")) != -1)
        switch (opt) {
        case 'b':
            bytes = strtoull (optarg, NULL, 10);
            break;
        case 'n':
            count = atoi (optarg);
            break;
        case 'd':
            deadline_ms = atoi (optarg);
            break;
        case 's':
            strict = true;
            break;
        case 'l':
            loops = true;
            break;
        case 'k': dies = atoi (optarg); break;
        case 'z': sleeps = atoi (optarg); break;
        default:
            return 2;
        }
    if (argc - optind != 2 || count < 1 || count > BURSTS_MAX)
        return 2;
    shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < count; k++)
            for (int r = 0; r < RAILS; r++)
                shared->bits[i][k][r] = -1;
    for (int i = 0; i < 2; i++)
        if ((pid[i] = fork ()) == 0)
            exit (run_member (i, argv[optind + i]));
    for (int i = 0; i < 2; i++)
        waitpid (pid[i], &status, 0);
    for (int k = 0; k < count; k++)
        for (size_t r = 0; r < most_rails (); r++) {
            printf ("%zu", r);
            print_rate (shared->bits[1][k][r]);
            print_rate (shared->bits[0][k][r]);
            printf ("\n");
        }
    return 0;
}
