/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/mpi/operations.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "probe/mpi/call.h"
#include "util/json.h"

enum {
    INTS = 10,      /* integers of a message at most */
    MESSAGES = 5,   /* of what takes several */
    TAG = 1,
};

/* What an operation works with. */
struct bench {
    MPI_Comm comm;
    const struct operations_options *opts;
    int rank, last;
    int out[INTS], in[INTS];
    int *gathered;                  /* [processes] */
    MPI_Request request[MESSAGES];  /* persistent: of 0 and of the last */
    double *us;                     /* [repeats] */
};

/*
 * The operations. Those of two processes say what process 0 and the last do.
 */

static int do_timer (struct bench *b, struct error *err)
{
    (void)b;
    (void)err;
    MPI_Wtime ();
    return 0;
}

static int do_barrier (struct bench *b, struct error *err)
{
    return CALL (err, MPI_Barrier, b->comm);
}

static int allreduce (struct bench *b, int n, struct error *err)
{
    return CALL (err, MPI_Allreduce, b->out, b->in, n, MPI_INT, MPI_SUM,
                 b->comm);
}

static int do_allreduce_1 (struct bench *b, struct error *err)
{
    return allreduce (b, 1, err);
}

static int do_allreduce_10 (struct bench *b, struct error *err)
{
    return allreduce (b, 10, err);
}

static int reduce (struct bench *b, int n, struct error *err)
{
    return CALL (err, MPI_Reduce, b->out, b->in, n, MPI_INT, MPI_SUM, 0,
                 b->comm);
}

static int do_reduce_1 (struct bench *b, struct error *err)
{
    return reduce (b, 1, err);
}

static int do_reduce_10 (struct bench *b, struct error *err)
{
    return reduce (b, 10, err);
}

static int do_broadcast (struct bench *b, struct error *err)
{
    return CALL (err, MPI_Bcast, b->out, 1, MPI_INT, 0, b->comm);
}

static int do_gather (struct bench *b, struct error *err)
{
    return CALL (err, MPI_Gather, b->out, 1, MPI_INT, b->gathered, 1,
                 MPI_INT, 0, b->comm);
}

static int send (struct bench *b, int to, int n, struct error *err)
{
    return CALL (err, MPI_Send, b->out, n, MPI_INT, to, TAG, b->comm);
}

static int receive (struct bench *b, int from, int n, struct error *err)
{
    return CALL (err, MPI_Recv, b->in, n, MPI_INT, from, TAG, b->comm,
                 MPI_STATUS_IGNORE);
}

static int do_isend_wait (struct bench *b, struct error *err)
{
    MPI_Request request;

    if (b->rank == b->last)
        return receive (b, 0, INTS, err);
    if (b->rank != 0)
        return 0;
    if (CALL (err, MPI_Isend, b->out, INTS, MPI_INT, b->last, TAG, b->comm,
              &request) < 0)
        return -1;
    return CALL (err, MPI_Wait, &request, MPI_STATUS_IGNORE);
}

/* There never is a message. */
static int do_iprobe (struct bench *b, struct error *err)
{
    int there;

    return CALL (err, MPI_Iprobe, MPI_ANY_SOURCE, TAG, b->comm, &there,
                 MPI_STATUS_IGNORE);
}

static int do_send (struct bench *b, struct error *err)
{
    if (b->rank == b->last)
        return receive (b, 0, INTS, err);
    return b->rank == 0 ? send (b, b->last, INTS, err) : 0;
}

static int do_sendrecv (struct bench *b, struct error *err)
{
    int peer = b->last - b->rank;

    if (b->rank != 0 && b->rank != b->last)
        return 0;
    return CALL (err, MPI_Sendrecv, b->out, 1, MPI_INT, peer, TAG, b->in,
                 1, MPI_INT, peer, TAG, b->comm, MPI_STATUS_IGNORE);
}

static int there_and_back (struct bench *b, int n, struct error *err)
{
    if (b->rank == 0)
        return send (b, b->last, n, err) < 0 || receive (b, b->last, n, err) < 0
                   ? -1
                   : 0;
    if (b->rank == b->last)
        return receive (b, 0, n, err) < 0 || send (b, 0, n, err) < 0 ? -1 : 0;
    return 0;
}

static int do_send_receive (struct bench *b, struct error *err)
{
    return there_and_back (b, INTS, err);
}

static int do_persistent_5 (struct bench *b, struct error *err)
{
    MPI_Status status[MESSAGES];

    if (b->rank != 0 && b->rank != b->last)
        return 0;
    if (CALL (err, MPI_Startall, MESSAGES, b->request) < 0)
        return -1;
    return CALL (err, MPI_Waitall, MESSAGES, b->request, status);
}

static int do_isend_5 (struct bench *b, struct error *err)
{
    MPI_Request request[MESSAGES];
    MPI_Status status[MESSAGES];

    if (b->rank != 0 && b->rank != b->last)
        return 0;
    for (int i = 0; i < MESSAGES; i++)
        if ((b->rank == 0 ? CALL (err, MPI_Isend, &b->out[i], 1, MPI_INT,
                                  b->last, TAG, b->comm, &request[i])
                          : CALL (err, MPI_Irecv, &b->in[i], 1, MPI_INT, 0,
                                  TAG, b->comm, &request[i])) < 0)
            return -1;
    return CALL (err, MPI_Waitall, MESSAGES, request, status);
}

static int do_signal (struct bench *b, struct error *err)
{
    return there_and_back (b, 0, err);
}

enum {
    ALONE = 1, /* no barrier ends it */
    FAST = 2,  /* many at each go */
};

static const struct operation {
    const char *name, *text;
    int (*run) (struct bench *b, struct error *err);
    int flags;
} operations[] = {
    { "timer", "timer (DT)", do_timer, ALONE | FAST },
    { "barrier", "barrier (DB)", do_barrier, ALONE },
    { "allreduce_1", "allreduce of 1 integer", do_allreduce_1, 0 },
    { "allreduce_10", "allreduce of 10 integers", do_allreduce_10, 0 },
    { "reduce_1", "reduce of 1 integer", do_reduce_1, 0 },
    { "reduce_10", "reduce of 10 integers", do_reduce_10, 0 },
    { "broadcast", "broadcast of 1 integer", do_broadcast, 0 },
    { "gather", "gather of 1 integer of each", do_gather, 0 },
    { "isend_wait", "non-blocking send of 10 integers, with wait",
      do_isend_wait, 0 },
    { "iprobe", "iprobe, without a message", do_iprobe, FAST },
    { "send", "blocking send of 10 integers", do_send, 0 },
    { "sendrecv", "sendrecv of 1 integer", do_sendrecv, 0 },
    { "send_receive", "send, then receive 10 integers", do_send_receive, 0 },
    { "persistent_5", "5 persistent sends of 1 integer, started at once",
      do_persistent_5, 0 },
    { "isend_5", "5 non-blocking sends of 1 integer, with wait", do_isend_5,
      0 },
    { "signal", "signal: an empty message there and back", do_signal, 0 },
};

enum {
    OPERATIONS = sizeof (operations) / sizeof (operations[0]),
    TIMER = 0, /* their rows */
    BARRIER = 1,
};

size_t operations_count (void)
{
    return OPERATIONS;
}

/*
 * How they are timed
 */

/* One go, n times the operation, in microseconds as the clock has it. The
 * barrier that ends it takes another time whenever the machine does something
 * else: what one took right before is taken off.
 */
static int once (struct bench *b, const struct operation *o, uint64_t n,
                 double *us, struct error *err)
{
    bool together = !(o->flags & ALONE);
    double begin, barrier = 0;

    if (together) {
        if (do_barrier (b, err) < 0)
            return -1;
        begin = MPI_Wtime ();
        if (do_barrier (b, err) < 0)
            return -1;
        barrier = MPI_Wtime () - begin;
    }
    begin = MPI_Wtime ();
    for (uint64_t i = 0; i < n; i++)
        if (o->run (b, err) < 0)
            return -1;
    if (together && do_barrier (b, err) < 0)
        return -1;
    *us = 1e6 * (MPI_Wtime () - begin - barrier);
    return 0;
}

/* cost[0 .. i-1] are known. A go of the timer has one more reading; DT is in
 * that of the barrier, and in both parts of each behind it.
 */
static int measure (struct bench *b, size_t i, struct operation_cost *cost,
                    struct error *err)
{
    const struct operation *o = &operations[i];
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

static int make_requests (struct bench *b, struct error *err)
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

static void bench_clear (struct bench *b)
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
    struct bench b = { .comm = comm, .opts = opts };
    int size;
    int rc = -1;

    for (int i = 0; i < MESSAGES; i++)
        b.request[i] = MPI_REQUEST_NULL;
    MPI_Comm_rank (comm, &b.rank);
    MPI_Comm_size (comm, &size);
    b.last = size - 1;
    b.gathered = calloc ((size_t)size, sizeof (*b.gathered));
    b.us = calloc (opts->repeats, sizeof (*b.us));
    if (!b.gathered || !b.us) {
        error_nomem (err);
        goto error;
    }
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
 * As it is written
 */

/* One repeat does not tell how far it may be off. */
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
    json_t *us = json_object ();

    for (int i = 0; i < SERIES_STATS; i++)
        if (json_object_set_new (us, series_stat_name (i),
                                 json_real (cost->us[i])) < 0) {
            json_decref (us);
            return NULL;
        }
    return json_pack ("{s:s, s:s, s:o, s:o}", "name", cost->name, "text",
                      cost->text, "us", us, "stderr_us",
                      isnan (cost->error) ? json_null ()
                                          : json_real (cost->error));
}

static json_t *costs_json (const struct operation_cost *cost)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < OPERATIONS; i++)
        if (json_array_append_new (list, cost_json (&cost[i])) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

int operations_write (const struct operations_scene *scene,
                      const struct operation_cost *cost, FILE *fp,
                      struct error *err)
{
    const struct operations_options *opts = scene->opts;
    json_t *json = json_file ("operations", NULL);
    json_t *rest = json_pack (
        "{s:s, s:I, s:I, s:I, s:I, s:o}", "mpi", scene->mpi, "processes",
        (json_int_t)scene->processes, "hosts", (json_int_t)scene->hosts,
        "repeats", (json_int_t)opts->repeats, "fast_repeats",
        (json_int_t)opts->fast_repeats, "operations", costs_json (cost));
    int rc = json && rest && json_object_update (json, rest) == 0
                 ? json_write (json, fp, err)
                 : error_nomem (err);

    json_decref (json);
    json_decref (rest);
    return rc;
}
