/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of MPI's operations: `pmm-probe-mpi operations`.
 *
 * All processes time
 *
 *     barrier - t1 - barrier - t2 - operation - barrier - t3
 *
 * The cost of the operation is (t3 - t2) - (t2 - t1): a barrier costs much more
 * while other programs use the processors. DT, the cost of reading the timer,
 * is measured by reading it repeatedly; DB, that of a barrier, by a barrier
 * alone, minus DT. A fast operation is repeated many times per measurement.
 *
 * Operations of two processes run between process 0 and the last, which usually
 * is on another node; the others only take part in the barriers.
 *
 * Printed for people and, as JSON of kind "operations", written for programs:
 *
 *     "mpi", "processes", "hosts", "repeats", "fast_repeats", "operations":
 *     [{"name","text","us":{"min","p25","median","p75","max","mean","sd"},
 *       "stderr_us"}]
 *
 * The cost is the median of the repeats. Its standard error
 * (stats_median_error) includes the scatter of both barriers; it is null if
 * there is one repeat. A median within a few standard errors of zero is not
 * resolved from that scatter.
 */
#include "config.h"
#include "compare/mpi/comm_mpi.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"

enum {
    INTS = 10,      /* maximum number of integers in a message */
    MESSAGES = 5,   /* of an operation with several messages */
    TAG = 1,
};

/* As seen by this process. */
struct operation_cost {
    double us[SERIES_STATS];
    double error; /* of the median; NAN: one repeat */
};

/* The data of all operations. */
struct mpi_bench {
    MPI_Comm comm;
    const struct measure_how *how;
    uint64_t fast_repeats; /* of a fast operation, per repeat */
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

enum op {
    OP_TIMER, OP_BARRIER, OP_ALLREDUCE, OP_REDUCE, OP_BROADCAST, OP_GATHER,
    OP_IPROBE,
    /* of two processes, from here on */
    OP_SEND, OP_ISEND_WAIT, OP_SEND_RECEIVE, OP_SENDRECV, OP_PERSISTENT,
    OP_ISENDS,
};

enum {
    ALONE = 1, /* timed without barriers */
    FAST = 2,  /* fast_repeats times per repeat */
};

static const struct mpi_operation {
    const char *name, *text;
    enum op op;
    int n; /* integers per message */
    int flags;
} operations[] = {
    { "timer", "timer (DT)", OP_TIMER, 0, ALONE | FAST },
    { "barrier", "barrier (DB)", OP_BARRIER, 0, ALONE },
    { "allreduce_1", "allreduce of 1 integer", OP_ALLREDUCE, 1, 0 },
    { "allreduce_10", "allreduce of 10 integers", OP_ALLREDUCE, 10, 0 },
    { "reduce_1", "reduce of 1 integer", OP_REDUCE, 1, 0 },
    { "reduce_10", "reduce of 10 integers", OP_REDUCE, 10, 0 },
    { "broadcast", "broadcast of 1 integer", OP_BROADCAST, 1, 0 },
    { "gather", "gather of 1 integer of each", OP_GATHER, 1, 0 },
    { "isend_wait", "non-blocking send of 10 integers, with wait",
      OP_ISEND_WAIT, 10, 0 },
    { "iprobe", "iprobe, without a message", OP_IPROBE, 0, FAST },
    { "send", "blocking send of 10 integers", OP_SEND, 10, 0 },
    { "sendrecv", "sendrecv of 1 integer", OP_SENDRECV, 1, 0 },
    { "send_receive", "send, then receive 10 integers", OP_SEND_RECEIVE, 10,
      0 },
    { "persistent_5", "5 persistent sends of 1 integer, started at once",
      OP_PERSISTENT, 1, 0 },
    { "isend_5", "5 non-blocking sends of 1 integer, with wait", OP_ISENDS, 1,
      0 },
    { "signal", "signal: an empty message there and back", OP_SEND_RECEIVE, 0,
      0 },
};

static int send_bench_message (struct mpi_bench *b, int to, int n,
                               struct error *err)
{
    return CALL (err, MPI_Send, b->out, n, MPI_INT, to, TAG, b->comm);
}

static int receive_bench_message (struct mpi_bench *b, int from, int n,
                                  struct error *err)
{
    return CALL (err, MPI_Recv, b->in, n, MPI_INT, from, TAG, b->comm,
                 MPI_STATUS_IGNORE);
}

/* One side of an operation of two processes. */
static int run_pair (struct mpi_bench *b, enum op op, int n, struct error *err)
{
    bool first = b->rank == 0;
    int peer = b->last - b->rank;
    MPI_Request request[MESSAGES];
    MPI_Status status[MESSAGES];

    switch (op) {
    case OP_ISEND_WAIT:
        if (!first)
            return receive_bench_message (b, peer, n, err);
        if (CALL (err, MPI_Isend, b->out, n, MPI_INT, peer, TAG, b->comm,
                  request) < 0)
            return -1;
        return CALL (err, MPI_Wait, request, MPI_STATUS_IGNORE);
    case OP_SENDRECV:
        return CALL (err, MPI_Sendrecv, b->out, n, MPI_INT, peer, TAG, b->in,
                     n, MPI_INT, peer, TAG, b->comm, MPI_STATUS_IGNORE);
    case OP_PERSISTENT:
        if (CALL (err, MPI_Startall, MESSAGES, b->request) < 0)
            return -1;
        return CALL (err, MPI_Waitall, MESSAGES, b->request, status);
    case OP_ISENDS:
        for (int i = 0; i < MESSAGES; i++)
            if ((first ? CALL (err, MPI_Isend, &b->out[i], n, MPI_INT, peer,
                               TAG, b->comm, &request[i])
                       : CALL (err, MPI_Irecv, &b->in[i], n, MPI_INT, peer,
                               TAG, b->comm, &request[i])) < 0)
                return -1;
        return CALL (err, MPI_Waitall, MESSAGES, request, status);
    default:
        if ((first ? send_bench_message : receive_bench_message) (b, peer, n,
                                                                  err)
            < 0)
            return -1;
        if (op == OP_SEND)
            return 0;
        return (first ? receive_bench_message : send_bench_message) (b, peer, n,
                                                                     err);
    }
}

static int run_operation (struct mpi_bench *b, enum op op, int n,
                          struct error *err)
{
    int there;

    switch (op) {
    case OP_TIMER:
        MPI_Wtime ();
        return 0;
    case OP_BARRIER:
        return CALL (err, MPI_Barrier, b->comm);
    case OP_ALLREDUCE:
        return CALL (err, MPI_Allreduce, b->out, b->in, n, MPI_INT, MPI_SUM,
                     b->comm);
    case OP_REDUCE:
        return CALL (err, MPI_Reduce, b->out, b->in, n, MPI_INT, MPI_SUM, 0,
                     b->comm);
    case OP_BROADCAST:
        return CALL (err, MPI_Bcast, b->out, n, MPI_INT, 0, b->comm);
    case OP_GATHER:
        return CALL (err, MPI_Gather, b->out, n, MPI_INT, b->gathered, n,
                     MPI_INT, 0, b->comm);
    case OP_IPROBE: /* there is never a message to find */
        return CALL (err, MPI_Iprobe, MPI_ANY_SOURCE, TAG, b->comm, &there,
                     MPI_STATUS_IGNORE);
    default:
        return b->rank == 0 || b->rank == b->last ? run_pair (b, op, n, err)
                                                  : 0;
    }
}

enum {
    OPERATIONS = sizeof (operations) / sizeof (operations[0]),
    TIMER = 0, /* rows of the table */
    BARRIER = 1,
};

/*
 * Timing
 */

/* One repeat: n times the operation, in microseconds. The cost of the barrier
 * at its end varies with the other load of the machine, so the cost of a
 * barrier right before is subtracted.
 */
static int time_operation_once (struct mpi_bench *b,
                                const struct mpi_operation *o, uint64_t n,
                                double *us, struct error *err)
{
    bool together = !(o->flags & ALONE);
    double begin, waited = 0;

    if (together) {
        if (run_operation (b, OP_BARRIER, 0, err) < 0)
            return -1;
        begin = MPI_Wtime ();
        if (run_operation (b, OP_BARRIER, 0, err) < 0)
            return -1;
        waited = MPI_Wtime () - begin;
    }
    begin = MPI_Wtime ();
    for (uint64_t i = 0; i < n; i++)
        if (run_operation (b, o->op, o->n, err) < 0)
            return -1;
    if (together && run_operation (b, OP_BARRIER, 0, err) < 0)
        return -1;
    *us = 1e6 * (MPI_Wtime () - begin - waited);
    return 0;
}

/* Measure operation i; cost[0 .. i-1] are known. A repeat of TIMER includes one
 * more reading of the clock than n. A repeat of BARRIER includes DT, which is
 * subtracted. In an operation between barriers DT cancels out.
 */
static int measure_cost (struct mpi_bench *b, size_t i,
                         struct operation_cost *cost, struct error *err)
{
    const struct mpi_operation *o = &operations[i];
    uint64_t n = o->flags & FAST ? b->fast_repeats : 1;
    size_t repeats = b->how->repeats;
    double each = (double)n + (i == TIMER ? 1 : 0);
    double dt = i == BARRIER ? cost[TIMER].us[SERIES_MEDIAN] : 0;
    double ignored;

    for (unsigned int k = 0; k < b->how->warm_up; k++)
        if (time_operation_once (b, o, n, &ignored, err) < 0)
            return -1;
    for (size_t k = 0; k < repeats; k++) {
        if (time_operation_once (b, o, n, &b->us[k], err) < 0)
            return -1;
        b->us[k] = (b->us[k] - dt) / each;
    }
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

/*
 * Output, at process 0
 */

static void print_operation_costs (const struct exchange_session *x,
                                   const char *mpi,
                                   const struct operation_cost *cost)
{
    printf ("# %s, %u processes on %u hosts, %u repeats\n"
            "#  microseconds  standard error  operation\n", mpi, x->party.n,
            ((struct comm_mpi *)x->party.c)->hosts, x->args->how.repeats);
    for (size_t i = 0; i < OPERATIONS; i++) {
        printf ("%15.3f ", cost[i].us[SERIES_MEDIAN]);
        if (isnan (cost[i].error))
            printf ("%15s", "-");
        else
            printf ("%15.3f", cost[i].error);
        printf ("  %s\n", operations[i].text);
    }
}

static json_t *to_json (const struct exchange_session *x, const char *mpi,
                        uint64_t fast_repeats,
                        const struct operation_cost *cost)
{
    json_t *json = xcheck (json_file ("operations", NULL));
    json_t *list = json_array ();

    for (size_t i = 0; i < OPERATIONS; i++) {
        json_t *us = json_object ();

        for (int k = 0; k < SERIES_STATS; k++)
            json_put (us, series_stat_names[k], json_real (cost[i].us[k]));
        json_add (list, json_pack ("{ss ss so so}", "name", operations[i].name,
                                   "text", operations[i].text, "us", us,
                                   "stderr_us",
                                   number_json (cost[i].error)));
    }
    json_put (json, "mpi", json_string (mpi));
    json_put (json, "processes", json_integer (x->party.n));
    json_put (json, "hosts",
              json_integer (((struct comm_mpi *)x->party.c)->hosts));
    json_put (json, "repeats", json_integer (x->args->how.repeats));
    json_put (json, "fast_repeats", json_integer ((json_int_t)fast_repeats));
    json_put (json, "operations", list);
    return json;
}

static int report_operation_costs (const struct exchange_session *x,
                                   uint64_t fast_repeats,
                                   const struct operation_cost *cost,
                                   struct error *err)
{
    struct outfile *out;
    char mpi[100];
    json_t *json;
    int rc;

    comm_mpi_describe (mpi, sizeof (mpi));
    print_operation_costs (x, mpi, cost);
    if (fflush (stdout) == EOF)
        return error_errno (err, "standard output");
    if (!x->args->output)
        return 0;
    if (!(out = file_create (x->args->output, err)))
        return -1;
    json = to_json (x, mpi, fast_repeats, cost);
    rc = file_finish (out, json_write (json, file_stream (out), err), err);
    json_decref (json);
    return rc;
}

int operations_run (const struct exchange_session *x, uint64_t fast_repeats,
                    struct error *err)
{
    struct mpi_bench b = {
        .comm = ((struct comm_mpi *)x->party.c)->comm, .how = &x->args->how,
        .fast_repeats = fast_repeats, .rank = (int)x->party.me,
        .last = (int)x->party.n - 1,
        .gathered = xcalloc (x->party.n, sizeof (*b.gathered)),
        .us = xarray (x->args->how.repeats, sizeof (*b.us)),
    };
    struct operation_cost cost[OPERATIONS];
    int rc;

    for (int i = 0; i < MESSAGES; i++)
        b.request[i] = MPI_REQUEST_NULL;
    rc = make_requests (&b, err);
    for (size_t i = 0; rc == 0 && i < OPERATIONS; i++)
        rc = measure_cost (&b, i, cost, err);
    if (rc == 0 && b.rank == 0)
        rc = report_operation_costs (x, fast_repeats, cost, err);
    for (int i = 0; i < MESSAGES; i++)
        if (b.request[i] != MPI_REQUEST_NULL)
            MPI_Request_free (&b.request[i]);
    free (b.gathered);
    free (b.us);
    return rc;
}
