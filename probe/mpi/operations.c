/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/mpi/operations.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "probe/mpi/comm_mpi.h"
#include "util/alloc.h"
#include "util/json.h"

enum {
    INTS = 10,      /* maximum number of integers in a message */
    MESSAGES = 5,   /* of an operation with several messages */
    TAG = 1,
};

/* The data of all operations. */
struct mpi_bench {
    MPI_Comm comm;
    const struct operations_options *opts;
    int rank, last;
    int out[INTS], in[INTS];
    int *gathered;                  /* [processes] */
    MPI_Request request[MESSAGES];  /* persistent; of ranks 0 and last */
    double *us;                     /* [repeats] */
};

/*
 * The operations. Operations of two processes run between process 0 and the
 * last.
 */

static int do_timer (struct mpi_bench *b, int n, struct error *err)
{
    (void)b;
    (void)n;
    (void)err;
    MPI_Wtime ();
    return 0;
}

static int barrier (struct mpi_bench *b, struct error *err)
{
    return CALL (err, MPI_Barrier, b->comm);
}

static int do_barrier (struct mpi_bench *b, int n, struct error *err)
{
    (void)n;
    return barrier (b, err);
}

static int do_allreduce (struct mpi_bench *b, int n, struct error *err)
{
    return CALL (err, MPI_Allreduce, b->out, b->in, n, MPI_INT, MPI_SUM,
                 b->comm);
}

static int do_reduce (struct mpi_bench *b, int n, struct error *err)
{
    return CALL (err, MPI_Reduce, b->out, b->in, n, MPI_INT, MPI_SUM, 0,
                 b->comm);
}

static int do_broadcast (struct mpi_bench *b, int n, struct error *err)
{
    return CALL (err, MPI_Bcast, b->out, n, MPI_INT, 0, b->comm);
}

static int do_gather (struct mpi_bench *b, int n, struct error *err)
{
    return CALL (err, MPI_Gather, b->out, n, MPI_INT, b->gathered, n,
                 MPI_INT, 0, b->comm);
}

static int send (struct mpi_bench *b, int to, int n, struct error *err)
{
    return CALL (err, MPI_Send, b->out, n, MPI_INT, to, TAG, b->comm);
}

static int receive (struct mpi_bench *b, int from, int n, struct error *err)
{
    return CALL (err, MPI_Recv, b->in, n, MPI_INT, from, TAG, b->comm,
                 MPI_STATUS_IGNORE);
}

static bool takes_part (const struct mpi_bench *b)
{
    return b->rank == 0 || b->rank == b->last;
}

static int do_isend_wait (struct mpi_bench *b, int n, struct error *err)
{
    MPI_Request request;

    if (b->rank == b->last)
        return receive (b, 0, n, err);
    if (b->rank != 0)
        return 0;
    if (CALL (err, MPI_Isend, b->out, n, MPI_INT, b->last, TAG, b->comm,
              &request) < 0)
        return -1;
    return CALL (err, MPI_Wait, &request, MPI_STATUS_IGNORE);
}

/* There is never a message to find. */
static int do_iprobe (struct mpi_bench *b, int n, struct error *err)
{
    int there;

    (void)n;
    return CALL (err, MPI_Iprobe, MPI_ANY_SOURCE, TAG, b->comm, &there,
                 MPI_STATUS_IGNORE);
}

static int do_send (struct mpi_bench *b, int n, struct error *err)
{
    if (b->rank == b->last)
        return receive (b, 0, n, err);
    return b->rank == 0 ? send (b, b->last, n, err) : 0;
}

static int do_sendrecv (struct mpi_bench *b, int n, struct error *err)
{
    int peer = b->last - b->rank;

    if (!takes_part (b))
        return 0;
    return CALL (err, MPI_Sendrecv, b->out, n, MPI_INT, peer, TAG, b->in, n,
                 MPI_INT, peer, TAG, b->comm, MPI_STATUS_IGNORE);
}

static int do_send_receive (struct mpi_bench *b, int n, struct error *err)
{
    if (b->rank == 0)
        return send (b, b->last, n, err) < 0 ? -1
                                             : receive (b, b->last, n, err);
    if (b->rank == b->last)
        return receive (b, 0, n, err) < 0 ? -1 : send (b, 0, n, err);
    return 0;
}

static int do_persistent (struct mpi_bench *b, int n, struct error *err)
{
    MPI_Status status[MESSAGES];

    (void)n;
    if (!takes_part (b))
        return 0;
    if (CALL (err, MPI_Startall, MESSAGES, b->request) < 0)
        return -1;
    return CALL (err, MPI_Waitall, MESSAGES, b->request, status);
}

static int do_isends (struct mpi_bench *b, int n, struct error *err)
{
    MPI_Request request[MESSAGES];
    MPI_Status status[MESSAGES];

    if (!takes_part (b))
        return 0;
    for (int i = 0; i < MESSAGES; i++)
        if ((b->rank == 0 ? CALL (err, MPI_Isend, &b->out[i], n, MPI_INT,
                                  b->last, TAG, b->comm, &request[i])
                          : CALL (err, MPI_Irecv, &b->in[i], n, MPI_INT, 0,
                                  TAG, b->comm, &request[i])) < 0)
            return -1;
    return CALL (err, MPI_Waitall, MESSAGES, request, status);
}

enum {
    ALONE = 1, /* timed without barriers */
    FAST = 2,  /* opts->fast_repeats times per repeat */
};

static const struct mpi_operation {
    const char *name, *text;
    int (*run) (struct mpi_bench *b, int n, struct error *err);
    int n; /* integers per message */
    int flags;
} operations[] = {
    { "timer", "timer (DT)", do_timer, 0, ALONE | FAST },
    { "barrier", "barrier (DB)", do_barrier, 0, ALONE },
    { "allreduce_1", "allreduce of 1 integer", do_allreduce, 1, 0 },
    { "allreduce_10", "allreduce of 10 integers", do_allreduce, 10, 0 },
    { "reduce_1", "reduce of 1 integer", do_reduce, 1, 0 },
    { "reduce_10", "reduce of 10 integers", do_reduce, 10, 0 },
    { "broadcast", "broadcast of 1 integer", do_broadcast, 1, 0 },
    { "gather", "gather of 1 integer of each", do_gather, 1, 0 },
    { "isend_wait", "non-blocking send of 10 integers, with wait",
      do_isend_wait, 10, 0 },
    { "iprobe", "iprobe, without a message", do_iprobe, 0, FAST },
    { "send", "blocking send of 10 integers", do_send, 10, 0 },
    { "sendrecv", "sendrecv of 1 integer", do_sendrecv, 1, 0 },
    { "send_receive", "send, then receive 10 integers", do_send_receive, 10,
      0 },
    { "persistent_5", "5 persistent sends of 1 integer, started at once",
      do_persistent, 1, 0 },
    { "isend_5", "5 non-blocking sends of 1 integer, with wait", do_isends, 1,
      0 },
    { "signal", "signal: an empty message there and back", do_send_receive, 0,
      0 },
};

enum {
    OPERATIONS = sizeof (operations) / sizeof (operations[0]),
    TIMER = 0, /* rows of the table */
    BARRIER = 1,
};

size_t operations_count (void)
{
    return OPERATIONS;
}

/*
 * Timing
 */

/* One repeat: n times the operation, in microseconds. The cost of the barrier
 * at its end varies with the other load of the machine, so the cost of a
 * barrier right before is subtracted.
 */
static int once (struct mpi_bench *b, const struct mpi_operation *o, uint64_t n,
                 double *us, struct error *err)
{
    bool together = !(o->flags & ALONE);
    double begin, waited = 0;

    if (together) {
        if (barrier (b, err) < 0)
            return -1;
        begin = MPI_Wtime ();
        if (barrier (b, err) < 0)
            return -1;
        waited = MPI_Wtime () - begin;
    }
    begin = MPI_Wtime ();
    for (uint64_t i = 0; i < n; i++)
        if (o->run (b, o->n, err) < 0)
            return -1;
    if (together && barrier (b, err) < 0)
        return -1;
    *us = 1e6 * (MPI_Wtime () - begin - waited);
    return 0;
}

/* Measure operation i; cost[0 .. i-1] are known. A repeat of TIMER includes one
 * more reading of the clock than n. A repeat of BARRIER includes DT, which is
 * subtracted. In an operation between barriers DT cancels out.
 */
static int measure (struct mpi_bench *b, size_t i, struct operation_cost *cost,
                    struct error *err)
{
    const struct mpi_operation *o = &operations[i];
    uint64_t n = o->flags & FAST ? b->opts->fast_repeats : 1;
    size_t repeats = b->opts->repeats;
    double each = (double)n + (i == TIMER ? 1 : 0);
    double dt = i == BARRIER ? cost[TIMER].us[SERIES_MEDIAN] : 0;
    double ignored;

    for (uint64_t k = 0; k < b->opts->warm_up; k++)
        if (once (b, o, n, &ignored, err) < 0)
            return -1;
    for (size_t k = 0; k < repeats; k++) {
        if (once (b, o, n, &b->us[k], err) < 0)
            return -1;
        b->us[k] = (b->us[k] - dt) / each;
    }
    cost[i].name = o->name;
    cost[i].text = o->text;
    series_stats (b->us, repeats, cost[i].us);
    cost[i].error = stats_median_error (b->us, repeats);
    return 0;
}

static int make_requests (struct mpi_bench *b, struct error *err)
{
    for (int i = 0; i < MESSAGES; i++)
        if ((b->rank == 0
             && CALL (err, MPI_Send_init, &b->out[i], 1, MPI_INT, b->last, TAG,
                      b->comm, &b->request[i]) < 0)
            || (b->rank == b->last
                && CALL (err, MPI_Recv_init, &b->in[i], 1, MPI_INT, 0, TAG,
                         b->comm, &b->request[i]) < 0))
            return -1;
    return 0;
}

static void bench_clear (struct mpi_bench *b)
{
    for (int i = 0; i < MESSAGES; i++)
        if (b->request[i] != MPI_REQUEST_NULL)
            MPI_Request_free (&b->request[i]);
    free (b->gathered);
    free (b->us);
}

int operations_run (MPI_Comm comm, const struct operations_options *opts,
                    struct operation_cost *cost, struct error *err)
{
    struct mpi_bench b = { .comm = comm, .opts = opts };
    int size;
    int rc = -1;

    for (int i = 0; i < MESSAGES; i++)
        b.request[i] = MPI_REQUEST_NULL;
    MPI_Comm_rank (comm, &b.rank);
    MPI_Comm_size (comm, &size);
    b.last = size - 1;
    b.gathered = xcalloc ((size_t)size, sizeof (*b.gathered));
    b.us = xarray (opts->repeats, sizeof (*b.us));
    if (make_requests (&b, err) < 0)
        goto error;
    for (size_t i = 0; i < OPERATIONS; i++)
        if (measure (&b, i, cost, err) < 0)
            goto error;
    rc = 0;
error:
    bench_clear (&b);
    return rc;
}

/*
 * Output
 */

/* With only one repeat there is no standard error. */
static void print_cost (const struct operation_cost *cost, FILE *fp)
{
    fprintf (fp, "%15.3f ", cost->us[SERIES_MEDIAN]);
    if (isnan (cost->error))
        fprintf (fp, "%15s", "-");
    else
        fprintf (fp, "%15.3f", cost->error);
    fprintf (fp, "  %s\n", cost->text);
}

void operations_print (const struct operations_scene *scene,
                       const struct operation_cost *cost, FILE *fp)
{
    fprintf (fp, "# %s, %u processes on %u hosts, %ju repeats\n"
             "#  microseconds  standard error  operation\n", scene->mpi,
             scene->processes, scene->hosts, (uintmax_t)scene->opts->repeats);
    for (size_t i = 0; i < OPERATIONS; i++)
        print_cost (&cost[i], fp);
}

static json_t *cost_json (const struct operation_cost *cost)
{
    json_t *json = json_object ();
    json_t *us = json_object ();

    for (int i = 0; i < SERIES_STATS; i++)
        json_put (us, series_stat_name (i), json_real (cost->us[i]));
    json_put (json, "name", json_string (cost->name));
    json_put (json, "text", json_string (cost->text));
    json_put (json, "us", us);
    json_put (json, "stderr_us", isnan (cost->error)
                                     ? json_null ()
                                     : json_real (cost->error));
    return json;
}

int operations_write (const struct operations_scene *scene,
                      const struct operation_cost *cost, FILE *fp,
                      struct error *err)
{
    json_t *json = xcheck (json_file ("operations", NULL));
    json_t *list = json_array ();
    int rc;

    for (size_t i = 0; i < OPERATIONS; i++)
        json_add (list, cost_json (&cost[i]));
    json_put (json, "mpi", json_string (scene->mpi));
    json_put (json, "processes", json_integer (scene->processes));
    json_put (json, "hosts", json_integer (scene->hosts));
    json_put (json, "repeats", json_integer ((json_int_t)scene->opts->repeats));
    json_put (json, "fast_repeats",
              json_integer ((json_int_t)scene->opts->fast_repeats));
    json_put (json, "operations", list);
    rc = json_write (json, fp, err);
    json_decref (json);
    return rc;
}
