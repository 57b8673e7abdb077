/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of exchange that only MPI has, and round trips that call MPI
 * directly.
 *
 * Notes: before an exchange the second side sends an empty message when it is
 * ready, so that the first does not time the second's delay. In ready mode a
 * message may be sent only after its receive has been started. So the second
 * starts a receive before it sends the empty message, and again before each
 * reply; the first starts a receive before each send.
 */
#include "config.h"
#include "probe/mpi/comm_mpi.h"

#include "util/clock.h"

enum { TAG = 4, TAG_THERE = 5 };

/* One side of n exchanges. */
struct mpi_side {
    struct comm_mpi *c;
    int peer, len;
    bool first;
    unsigned int n;
    MPI_Request request[2]; /* of its receive, of its send */
};

/* What a kind does; only `loop` is timed. */
struct mpi_manner {
    int (*begin) (struct mpi_side *s, struct error *err); /* may be NULL */
    int (*loop) (struct mpi_side *s, struct error *err);
};

static int receive (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Recv, s->c->in, s->len, MPI_BYTE, s->peer, TAG,
                 s->c->comm, MPI_STATUS_IGNORE);
}

static int start_receive (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Irecv, s->c->in, s->len, MPI_BYTE, s->peer, TAG,
                 s->c->comm, &s->request[0]);
}

static int wait_receive (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Wait, &s->request[0], MPI_STATUS_IGNORE);
}

static int wait_both (struct mpi_side *s, struct error *err)
{
    MPI_Status status[2];

    return CALL (err, MPI_Waitall, 2, s->request, status);
}

/*
 * Both ways at once
 */

static int loop_sendrecv (struct mpi_side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++)
        if (CALL (err, MPI_Sendrecv, s->c->out, s->len, MPI_BYTE, s->peer,
                  TAG, s->c->in, s->len, MPI_BYTE, s->peer, TAG,
                  s->c->comm, MPI_STATUS_IGNORE) < 0)
            return -1;
    return 0;
}

static int loop_nonblocking (struct mpi_side *s, struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++)
        if (start_receive (s, err) < 0
            || CALL (err, MPI_Isend, s->c->out, s->len, MPI_BYTE, s->peer,
                     TAG, s->c->comm, &s->request[1]) < 0
            || wait_both (s, err) < 0)
            return -1;
    return 0;
}

static int begin_persistent (struct mpi_side *s, struct error *err)
{
    if (CALL (err, MPI_Recv_init, s->c->in, s->len, MPI_BYTE, s->peer, TAG,
              s->c->comm, &s->request[0]) < 0)
        return -1;
    return CALL (err, MPI_Send_init, s->c->out, s->len, MPI_BYTE, s->peer,
                 TAG, s->c->comm, &s->request[1]);
}

static int loop_persistent (struct mpi_side *s, struct error *err)
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

static int send_plain (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Send, s->c->out, s->len, MPI_BYTE, s->peer, TAG,
                 s->c->comm);
}

static int there_and_back (struct mpi_side *s,
                           int (*send) (struct mpi_side *s,
                                        struct error *err),
                           struct error *err)
{
    for (unsigned int i = 0; i < s->n; i++)
        if ((!s->first && receive (s, err) < 0) || send (s, err) < 0
            || (s->first && receive (s, err) < 0))
            return -1;
    return 0;
}

static int loop_round_trip (struct mpi_side *s, struct error *err)
{
    return there_and_back (s, send_plain, err);
}

static int begin_ready (struct mpi_side *s, struct error *err)
{
    return s->first ? 0 : start_receive (s, err);
}

static int send_ready (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Rsend, s->c->out, s->len, MPI_BYTE, s->peer, TAG,
                 s->c->comm);
}

static int loop_ready (struct mpi_side *s, struct error *err)
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

static int begin_buffered (struct mpi_side *s, struct error *err)
{
    return comm_mpi_buffer (s->c, (size_t)s->len, err);
}

static int send_buffered (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Bsend, s->c->out, s->len, MPI_BYTE, s->peer, TAG,
                 s->c->comm);
}

static int loop_buffered (struct mpi_side *s, struct error *err)
{
    return there_and_back (s, send_buffered, err);
}

/*
 * The table
 */

static int meet (struct mpi_side *s, struct error *err)
{
    if (s->first)
        return CALL (err, MPI_Recv, NULL, 0, MPI_BYTE, s->peer, TAG_THERE,
                     s->c->comm, MPI_STATUS_IGNORE);
    return CALL (err, MPI_Send, NULL, 0, MPI_BYTE, s->peer, TAG_THERE,
                 s->c->comm);
}

static int run (const struct comm_exchange *ex, struct comm_side *side,
                struct error *err)
{
    const struct mpi_manner *manner = ex->manner;
    struct mpi_side s = {
        .c = side->c,
        .peer = (int)side->peer,
        .len = (int)side->len,
        .first = side->first,
        .n = side->n,
        .request = { MPI_REQUEST_NULL, MPI_REQUEST_NULL },
    };
    int64_t began;
    int rc = -1;

    if ((manner->begin && manner->begin (&s, err) < 0) || meet (&s, err) < 0)
        goto error;
    began = clock_ns ();
    if (manner->loop (&s, err) < 0)
        goto error;
    if (s.first)
        side->ns = clock_ns () - began;
    rc = 1;
error:
    for (int i = 0; i < 2; i++)
        if (s.request[i] != MPI_REQUEST_NULL)
            MPI_Request_free (&s.request[i]);
    return rc;
}

static const struct mpi_manner round_trip = { NULL, loop_round_trip },
                               sendrecv = { NULL, loop_sendrecv },
                               nonblocking = { NULL, loop_nonblocking },
                               persistent = { begin_persistent,
                                              loop_persistent },
                               ready = { begin_ready, loop_ready },
                               buffered = { begin_buffered, loop_buffered };

const struct comm_exchange comm_mpi_kinds[] = {
    { "round-trip", "a message there, then one back", run, false,
      &round_trip },
    { "sendrecv", "both ways, each by one call", run, true, &sendrecv },
    { "nonblocking", "both ways, started and waited for", run, true,
      &nonblocking },
    { "persistent", "the same by requests made once", run, true,
      &persistent },
    { "ready", "round trips in ready mode", run, false, &ready },
    { "buffered", "round trips by way of a send buffer", run, false,
      &buffered },
    { 0 },
};
