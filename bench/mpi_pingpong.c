/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does pmm-probe-mpi measure the same as plain MPI? Two processes measure round
 * trips of a length alternately by its engine and by a bare loop of MPI_Send
 * and MPI_Recv. They print the medians of both, their ratio, and the ratio of
 * the minima.
 *
 *     mpirun -n 2 mpi_pingpong [REPEATS [LENGTH]...]
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "compare/series/series.h"
#include "compare/exchange/exchange.h"
#include "compare/mpi/comm_mpi.h"

enum { TAG = 99 };

static const size_t lengths[]
    = { 0, 8, 64, 512, 4096, 32768, 262144, 1048576, 4194304 };

/* The reference: half of a round trip, in microseconds. */
static double bare (const struct comm_mpi *w, int peer, int len, int n)
{
    double begin = MPI_Wtime ();

    for (int i = 0; i < n; i++) {
        if (peer == 1)
            MPI_Send (w->out, len, MPI_BYTE, peer, TAG, w->comm);
        MPI_Recv (w->in, len, MPI_BYTE, peer, TAG, w->comm,
                  MPI_STATUS_IGNORE);
        if (peer == 0)
            MPI_Send (w->out, len, MPI_BYTE, peer, TAG, w->comm);
    }
    return 1e6 * (MPI_Wtime () - begin) / (2.0 * n);
}

/* Round trips that take a few hundred microseconds: on a busy machine, most
 * such runs are not disturbed.
 */
static unsigned int count_for (size_t len)
{
    return (unsigned int)(300000 / (1000 + len)) + 1;
}

static int compare (struct party *p, size_t len, int repeats, double *us,
                    struct error *err)
{
    const struct measure_how how
        = { .repeats = 1, .exchanges = count_for (len) };
    const struct comm_exchange *ex
        = exchange_find (p->comm, "round-trip", err);
    struct results *r = results_create (p->n, false);
    struct series *s = p->me == 0 ? series_create (SERIES_ONE_TO_ONE) : NULL;
    const struct comm_mpi *wire = p->c;
    int peer = 1 - (int)p->me;
    int rc = -1;

    if (!r || (p->me == 0 && !s)) {
        error_nomem (err);
        goto error;
    }
    if (s && (series_add_process (s, "a", "a", err) < 0
              || series_add_process (s, "b", "b", err) < 0))
        goto error;
    for (int i = -1; i < repeats; i++) {
        /* alternate which is first, so that neither is favoured */
        for (int k = 0; k < 2; k++)
            if ((i + k) % 2)
                us[i < 0 ? 0 : i] = bare (wire, peer, (int)len,
                                          (int)how.exchanges);
            else if (measure (p, ex, (uint32_t)peer, p->me == 0, len, &how, r,
                              err) < 0)
                goto error;
    }
    if (results_collect (r, p, len, s, err) < 0)
        goto error;
    if (s) {
        const double *engine = s->row[0].time_ns;
        double loop = stats_median (us, (size_t)repeats);
        double median = engine[SERIES_MEDIAN] / 1000;

        printf ("%9zu %9u %12.3f %12.3f %9.1f %8.3f %8.3f\n", len,
                how.exchanges * (unsigned int)repeats, median, loop,
                (double)len / median, median / loop,
                engine[SERIES_MIN] / 1000 / us[0]);
    }
    rc = 0;
error:
    series_destroy (s);
    results_destroy (r);
    return rc;
}

static int run (int argc, char **argv, struct error *err)
{
    const struct comm_mpi_options opts = { .naming = PLACE_BY_CORE };
    struct comm_mpi *c = comm_mpi_open (MPI_COMM_WORLD, &opts, err);
    struct party p;
    int repeats = argc > 1 ? atoi (argv[1]) : 500;
    size_t n = argc > 2 ? (size_t)argc - 2
                        : sizeof (lengths) / sizeof (lengths[0]);
    double *us;
    int rc = 0;

    if (!c)
        return -1;
    p = comm_mpi_party (c);
    if (p.n != 2 || repeats < 1)
        return error_input (err, "two processes, 1 repeat or more");
    if (!(us = calloc ((size_t)repeats, sizeof (*us))))
        return error_nomem (err);
    if (p.me == 0)
        printf ("%9s %9s %12s %12s %9s %8s %8s\n", "bytes", "trips",
                "engine us", "bare us", "MB/s", "ratio", "of least");
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t len = argc > 2 ? (size_t)atol (argv[i + 2]) : lengths[i];

        rc = comm_mpi.reserve (c, len, NULL, err) < 0
                     || compare (&p, len, repeats, us, err) < 0
                 ? -1
                 : 0;
    }
    free (us);
    comm_mpi_close (c);
    return rc;
}

int main (int argc, char **argv)
{
    struct error err = { .text = "" };

    MPI_Init (&argc, &argv);
    if (run (argc, argv, &err) < 0) {
        fprintf (stderr, "mpi_pingpong: %s\n", err.text);
        MPI_Abort (MPI_COMM_WORLD, 1);
    }
    MPI_Finalize ();
    return 0;
}
