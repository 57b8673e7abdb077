/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long do ranks of MPI take to exchange messages with their neighbours, in
 * which order of ranks? bench/map-mpi runs it:
 *
 *     mpirun -n RANKS map_mpi SCALE ITERATIONS REPEATS MESSAGES ORDER...
 *
 * MESSAGES has those of an iteration, round by round; in a round a rank has one
 * partner. A line is two ranks, which send each other one, and the latency
 * between their nodes in each ORDER, in ns.
 *
 * Messages go over MPI within this machine. Only the fabric's latency is
 * emulated: each message says until when its receiver has to sleep, SCALE times
 * the latency after it was sent. So processors' time hardly matters. Bandwidth,
 * overheads and cables that messages share are not emulated.
 *
 * In turn: a rank sends a message and waits for its partner's, one after the
 * other. At once: it sends all messages of an iteration, then waits for all. No
 * barrier is between iterations.
 *
 * Prints a row of a table for each order: the mean latency, and for both ways
 * an iteration's time in ms, beside what latencies alone give, and by the time of
 * the last order: medians of the repeats, of which each runs all orders. Fails if
 * another message arrives than the one that is due. With 0 repeats nothing is
 * sent, and one process is enough.
 */
#include "config.h"

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <time.h>

#include "bench/need.h"
#include "core/linear/stats.h"
#include "util/alloc.h"

enum { ORDERS_MAX = 8, REPEATS_MAX = 100, WAYS = 2, RANKS_MAX = 1024 };

static struct error err;
static int me, ranks;
static double scale;

static struct exchange {
    int a, b;
    double ns[ORDERS_MAX];
} *all;
static size_t nall, *mine, nmine; /* those of this rank */

struct message {
    size_t exchange, iteration;
    int64_t usable_ns;
};

static int64_t now_ns (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return t.tv_sec * INT64_C (1000000000) + t.tv_nsec;
}

static void sleep_until (int64_t ns)
{
    struct timespec t = { ns / 1000000000, ns % 1000000000 };

    while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

/* As MPI_Wait, which would keep a processor from the others. */
static void wait_for (MPI_Request *request)
{
    int done = 0;

    while (MPI_Test (request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        sleep_until (now_ns () + 1000000);
}

static void read_exchanges (const char *path, int orders)
{
    FILE *fp = fopen (path, "r");
    struct exchange x = { 0 };
    bool good = true;

    while (fp && good && fscanf (fp, "%d %d", &x.a, &x.b) == 2) {
        good = x.a >= 0 && x.a < ranks && x.b >= 0 && x.b < ranks;
        for (int i = 0; i < orders; i++)
            good = good && fscanf (fp, "%lf", &x.ns[i]) == 1;
        all = xgrow (all, nall, sizeof (*all));
        mine = xgrow (mine, nmine, sizeof (*mine));
        if (x.a == me || x.b == me)
            mine[nmine++] = nall;
        all[nall++] = x;
    }
    if (!good || nall == 0) {
        error_input (&err, "%s: no messages of %d ranks in %d orders", path,
                     ranks, orders);
        die (&err);
    }
    fclose (fp);
}

/* An iteration, `batch` of this rank's messages at once. */
static void iterate (size_t iteration, int order, size_t batch)
{
    struct message *m = xarray (batch, sizeof (*m));
    MPI_Request *r = xarray (batch, sizeof (MPI_Request));
    int size = sizeof (*m);

    for (size_t from = 0; from < nmine; from += batch)
        for (int what = 0; what < 3; what++)
            for (size_t k = 0; k < batch; k++) {
                size_t i = mine[from + k];
                const struct exchange *x = &all[i];
                int peer = x->a == me ? x->b : x->a;
                struct message out = { i, iteration, now_ns () };

                out.usable_ns += (int64_t)(scale * x->ns[order]);
                if (what == 0)
                    MPI_Irecv (&m[k], size, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                               &r[k]);
                else if (what == 1)
                    MPI_Send (&out, size, MPI_BYTE, peer, 0, MPI_COMM_WORLD);
                else {
                    wait_for (&r[k]);
                    if (m[k].exchange != i || m[k].iteration != iteration) {
                        error_world (&err, "rank %d: another message", me);
                        die (&err);
                    }
                    sleep_until (m[k].usable_ns);
                }
            }
    free (r);
    free (m);
}

/* All ranks start at the same time. Returns ns until the last one ends. */
static double run (size_t iterations, int order, size_t batch)
{
    int64_t start = now_ns () + 50000000, ns, last;
    MPI_Request r;

    MPI_Ibcast (&start, 1, MPI_INT64_T, 0, MPI_COMM_WORLD, &r);
    wait_for (&r);
    sleep_until (start);
    for (size_t i = 0; i < iterations; i++)
        iterate (i, order, batch);
    ns = now_ns () - start;
    MPI_Iallreduce (&ns, &last, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD, &r);
    wait_for (&r);
    return (double)last;
}

/* The same if there were only latencies. */
static double expected (size_t iterations, int order, bool at_once)
{
    double end[RANKS_MAX] = { 0 }, start[RANKS_MAX], last = 0;
    const double *from = at_once ? start : end;

    for (size_t k = 0; k < iterations; k++) {
        memcpy (start, end, sizeof (start));
        for (const struct exchange *x = all; x < all + nall; x++) {
            double a = from[x->a], b = from[x->b];

            end[x->a] = fmax (end[x->a], b + scale * x->ns[order]);
            end[x->b] = fmax (end[x->b], a + scale * x->ns[order]);
        }
    }
    for (int r = 0; r < ranks; r++)
        last = fmax (last, end[r]);
    return last;
}

int main (int argc, char **argv)
{
    static double ns[ORDERS_MAX][WAYS][REPEATS_MAX];
    static double part[ORDERS_MAX][WAYS][REPEATS_MAX];
    size_t iterations, repeats;
    int orders = argc - 5;

    MPI_Init (&argc, &argv);
    MPI_Comm_rank (MPI_COMM_WORLD, &me);
    MPI_Comm_size (MPI_COMM_WORLD, &ranks);
    if (orders < 1 || orders > ORDERS_MAX || ranks > RANKS_MAX) {
        error_input (&err, "SCALE ITERATIONS REPEATS MESSAGES ORDER...");
        die (&err);
    }
    scale = (double)number (argv[1], 1, 1000000);
    iterations = number (argv[2], 1, 1000);
    repeats = number (argv[3], 0, REPEATS_MAX);
    if (repeats == 0)
        ranks = RANKS_MAX;
    read_exchanges (argv[4], orders);
    for (size_t k = 0; k < repeats; k++)
        for (int way = 0; way < WAYS; way++) {
            for (int i = 0; i < orders; i++)
                ns[i][way][k] = run (iterations, i, way ? nmine : 1);
            for (int i = 0; i < orders; i++)
                part[i][way][k] = ns[i][way][k] / ns[orders - 1][way][k];
        }
    for (int i = 0; me == 0 && i < orders; i++) {
        double sum = 0, per_ms = 1e6 * (double)iterations;

        for (size_t x = 0; x < nall; x++)
            sum += all[x].ns[i];
        printf ("| %s | %zu | %.0f", argv[5 + i], nall * 2,
                sum / (double)nall);
        for (int way = 0; way < WAYS; way++) {
            double by_latencies = expected (iterations, i, way) / per_ms;

            if (repeats == 0)
                printf (" | – | %.4f | –", by_latencies);
            else
                printf (" | %.1f | %.1f | %.2f",
                        stats_median (ns[i][way], repeats) / per_ms,
                        by_latencies, stats_median (part[i][way], repeats));
        }
        printf (" |\n");
    }
    MPI_Finalize ();
    return 0;
}
