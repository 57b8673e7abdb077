/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Before any of them the second says by an empty message that it is there, so
 * that the first does not time its being late. Ready mode needs more: a message
 * may be sent only where its receive has begun. The second begins to receive
 * before it says that it is there, and again before each of its answers; the
 * first does so before it sends what is to be answered.
 */
#include "config.h"
#include "probe/mpi/kinds.h"

#include "probe/mpi/call.h"
#include "probe/mpi/comm_mpi.h"

enum { TAG = 4, TAG_THERE = 5 };

/* One side of n exchanges. */
struct side {
    struct comm_mpi *c;
    struct comm_mpi_wire wire;
    int peer, len;
    bool first;
    unsigned int n;
    MPI_Request request[2]; /* what it receives, what it sends */
};

/* How a kind does it: `loop` is timed. */
struct manner {
    int (*begin) (struct side *s, struct error *err); /* NULL: nothing to do */
    int (*loop) (struct side *s, struct error *err);
};

static int receive (struct side *s, struct error *err)
{
    return CALL (err, MPI_Recv, s->wire.in, s->len, MPI_BYTE, s->peer, TAG,
                 s->wire.comm, MPI_STATUS_IGNORE);
}

static int start_receive (struct side *s, struct error *err)
{
    return CALL (err, MPI_Irecv, s->wire.in, s->len, MPI_BYTE, s->peer, TAG,
                 s->wire.comm, &s->request[0]);
}

static int wait_receive (struct side *s, struct error *err)
{
    return CALL (err, MPI_Wait, &s->request[0], MPI_STATUS_IGNORE);
}

static int wait_both (struct side *s, struct error *err)
{
    MPI_Status status[2];

    return CALL (err, MPI_Waitall, 2, s->request, status);
}

/*
 * Both ways at once
 */

static int loop_sendrecv (struct side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++)
        if (CALL (err, MPI_Sendrecv, s->wire.out, s->len, MPI_BYTE, s->peer,
                  TAG, s->wire.in, s->len, MPI_BYTE, s->peer, TAG,
                  s->wire.comm, MPI_STATUS_IGNORE) < 0)
            return -1;
    return 0;
}

static int loop_nonblocking (struct side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++)
        if (start_receive (s, err) < 0
            || CALL (err, MPI_Isend, s->wire.out, s->len, MPI_BYTE, s->peer,
                     TAG, s->wire.comm, &s->request[1]) < 0
            || wait_both (s, err) < 0)
            return -1;
    return 0;
}

static int begin_persistent (struct side *s, struct error *err)
{
    if (CALL (err, MPI_Recv_init, s->wire.in, s->len, MPI_BYTE, s->peer, TAG,
              s->wire.comm, &s->request[0]) < 0)
        return -1;
    return CALL (err, MPI_Send_init, s->wire.out, s->len, MPI_BYTE, s->peer,
                 TAG, s->wire.comm, &s->request[1]);
}

static int loop_persistent (struct side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++)
        if (CALL (err, MPI_Startall, 2, s->request) < 0
            || wait_both (s, err) < 0)
            return -1;
    return 0;
}

/*
 * Round trips
 */

static int send (struct side *s, struct error *err)
{
    return CALL (err, MPI_Send, s->wire.out, s->len, MPI_BYTE, s->peer, TAG,
                 s->wire.comm);
}

static int loop_round_trip (struct side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++) {
        if (s->first) {
            if (send (s, err) < 0 || receive (s, err) < 0)
                return -1;
        }
        else if (receive (s, err) < 0 || send (s, err) < 0)
            return -1;
    }
    return 0;
}

static int begin_ready (struct side *s, struct error *err)
{
    return s->first ? 0 : start_receive (s, err);
}

static int send_ready (struct side *s, struct error *err)
{
    return CALL (err, MPI_Rsend, s->wire.out, s->len, MPI_BYTE, s->peer, TAG,
                 s->wire.comm);
}

static int loop_ready (struct side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++) {
        if (s->first) {
            if (start_receive (s, err) < 0 || send_ready (s, err) < 0
                || wait_receive (s, err) < 0)
                return -1;
        }
        else if (wait_receive (s, err) < 0
                 || (i + 1 < s->n && start_receive (s, err) < 0)
                 || send_ready (s, err) < 0)
            return -1;
    }
    return 0;
}

static int begin_buffered (struct side *s, struct error *err)
{
    return comm_mpi_buffer (s->c, (size_t)s->len, err);
}

static int send_buffered (struct side *s, struct error *err)
{
    return CALL (err, MPI_Bsend, s->wire.out, s->len, MPI_BYTE, s->peer, TAG,
                 s->wire.comm);
}

static int loop_buffered (struct side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++) {
        if (s->first) {
            if (send_buffered (s, err) < 0 || receive (s, err) < 0)
                return -1;
        }
        else if (receive (s, err) < 0 || send_buffered (s, err) < 0)
            return -1;
    }
    return 0;
}

/*
 * The table
 */

static int meet (struct side *s, struct error *err)
{
    if (s->first)
        return CALL (err, MPI_Recv, NULL, 0, MPI_BYTE, s->peer, TAG_THERE,
                     s->wire.comm, MPI_STATUS_IGNORE);
    return CALL (err, MPI_Send, NULL, 0, MPI_BYTE, s->peer, TAG_THERE,
                 s->wire.comm);
}

static int run (const struct manner *manner, const struct comm *comm, void *c,
                uint32_t peer, bool first, size_t len, unsigned int n,
                int64_t *ns, struct error *err)
{
    struct side s = {
        .c = c,
        .wire = comm_mpi_wire (c),
        .peer = (int)peer,
        .len = (int)len,
        .first = first,
        .n = n,
        .request = { MPI_REQUEST_NULL, MPI_REQUEST_NULL },
    };
    int64_t began;
    int rc = -1;

    if ((manner->begin && manner->begin (&s, err) < 0) || meet (&s, err) < 0)
        goto error;
    began = comm->now_ns (c);
    if (manner->loop (&s, err) < 0)
        goto error;
    if (first)
        *ns = comm->now_ns (c) - began;
    rc = 1;
error:
    for (int i = 0; i < 2; i++)
        if (s.request[i] != MPI_REQUEST_NULL)
            MPI_Request_free (&s.request[i]);
    return rc;
}

static int run_round_trip (const struct comm *comm, void *c, uint32_t peer,
                           bool first, size_t len, unsigned int n, int64_t *ns,
                           struct error *err)
{
    static const struct manner manner = { NULL, loop_round_trip };

    return run (&manner, comm, c, peer, first, len, n, ns, err);
}

static int run_sendrecv (const struct comm *comm, void *c, uint32_t peer,
                         bool first, size_t len, unsigned int n, int64_t *ns,
                         struct error *err)
{
    static const struct manner manner = { NULL, loop_sendrecv };

    return run (&manner, comm, c, peer, first, len, n, ns, err);
}

static int run_nonblocking (const struct comm *comm, void *c, uint32_t peer,
                            bool first, size_t len, unsigned int n,
                            int64_t *ns, struct error *err)
{
    static const struct manner manner = { NULL, loop_nonblocking };

    return run (&manner, comm, c, peer, first, len, n, ns, err);
}

static int run_persistent (const struct comm *comm, void *c, uint32_t peer,
                           bool first, size_t len, unsigned int n, int64_t *ns,
                           struct error *err)
{
    static const struct manner manner = { begin_persistent, loop_persistent };

    return run (&manner, comm, c, peer, first, len, n, ns, err);
}

static int run_ready (const struct comm *comm, void *c, uint32_t peer,
                      bool first, size_t len, unsigned int n, int64_t *ns,
                      struct error *err)
{
    static const struct manner manner = { begin_ready, loop_ready };

    return run (&manner, comm, c, peer, first, len, n, ns, err);
}

static int run_buffered (const struct comm *comm, void *c, uint32_t peer,
                         bool first, size_t len, unsigned int n, int64_t *ns,
                         struct error *err)
{
    static const struct manner manner = { begin_buffered, loop_buffered };

    return run (&manner, comm, c, peer, first, len, n, ns, err);
}

const struct comm_exchange kinds[] = {
    { "round-trip", "a message there, then one back", run_round_trip, false },
    { "sendrecv", "both ways, each by one call", run_sendrecv, true },
    { "nonblocking", "both ways, started and waited for", run_nonblocking,
      true },
    { "persistent", "the same by requests made once", run_persistent, true },
    { "ready", "round trips in ready mode", run_ready, false },
    { "buffered", "round trips by way of a send buffer", run_buffered, false },
    { 0 },
};
