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
#include "compare/mpi/comm_mpi.h"

#include "util/clock.h"

enum { TAG = 4, TAG_THERE = 5 };

enum manner { ROUND_TRIP, SENDRECV, NONBLOCKING, PERSISTENT, READY, BUFFERED };

/* One side of n exchanges. */
struct mpi_side {
    struct comm_mpi *c;
    enum manner manner;
    int peer, len;
    bool first;
    unsigned int n;
    MPI_Request request[2]; /* of its receive, of its send */
};

/* What each MPI call gets: the message, the peer and where. */
#define OUT(s) (s)->c->out, (s)->len, MPI_BYTE, (s)->peer, TAG
#define IN(s) (s)->c->in, (s)->len, MPI_BYTE, (s)->peer, TAG

static int receive_from_peer (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Recv, IN (s), s->c->comm, MPI_STATUS_IGNORE);
}

static int start_receive (struct mpi_side *s, struct error *err)
{
    return CALL (err, MPI_Irecv, IN (s), s->c->comm, &s->request[0]);
}

static int wait_both (struct mpi_side *s, struct error *err)
{
    MPI_Status status[2];

    return CALL (err, MPI_Waitall, 2, s->request, status);
}

static int send_and_receive (struct mpi_side *s, struct error *err)
{
    switch (s->manner) {
    case SENDRECV:
        return CALL (err, MPI_Sendrecv, OUT (s), IN (s), s->c->comm,
                     MPI_STATUS_IGNORE);
    case NONBLOCKING:
        if (start_receive (s, err) < 0
            || CALL (err, MPI_Isend, OUT (s), s->c->comm, &s->request[1]) < 0)
            return -1;
        return wait_both (s, err);
    default:
        if (CALL (err, MPI_Startall, 2, s->request) < 0)
            return -1;
        return wait_both (s, err);
    }
}

static int mpi_round_trip (struct mpi_side *s, struct error *err)
{
    if (!s->first && receive_from_peer (s, err) < 0)
        return -1;
    if ((s->manner == BUFFERED ? CALL (err, MPI_Bsend, OUT (s), s->c->comm)
                               : CALL (err, MPI_Send, OUT (s), s->c->comm))
        < 0)
        return -1;
    return s->first ? receive_from_peer (s, err) : 0;
}

static int round_trip_ready (struct mpi_side *s, bool last, struct error *err)
{
    if (s->first
        && (start_receive (s, err) < 0
            || CALL (err, MPI_Rsend, OUT (s), s->c->comm) < 0))
        return -1;
    if (CALL (err, MPI_Wait, &s->request[0], MPI_STATUS_IGNORE) < 0)
        return -1;
    if (s->first)
        return 0;
    if (!last && start_receive (s, err) < 0)
        return -1;
    return CALL (err, MPI_Rsend, OUT (s), s->c->comm);
}

/* What comes before, which is not timed. */
static int begin_mpi_exchange (struct mpi_side *s, struct error *err)
{
    int rc = 0;

    if (s->manner == READY && !s->first)
        rc = start_receive (s, err);
    else if (s->manner == BUFFERED)
        rc = comm_mpi_buffer (s->c, (size_t)s->len, err);
    else if (s->manner == PERSISTENT) {
        rc = CALL (err, MPI_Recv_init, IN (s), s->c->comm, &s->request[0]);
        if (rc == 0)
            rc = CALL (err, MPI_Send_init, OUT (s), s->c->comm,
                       &s->request[1]);
    }
    if (rc < 0)
        return -1;
    return s->first ? CALL (err, MPI_Recv, NULL, 0, MPI_BYTE, s->peer,
                            TAG_THERE, s->c->comm, MPI_STATUS_IGNORE)
                    : CALL (err, MPI_Send, NULL, 0, MPI_BYTE, s->peer,
                            TAG_THERE, s->c->comm);
}

static int run_mpi_exchange (const struct comm_exchange *ex,
                             struct comm_side *side, struct error *err)
{
    struct mpi_side s = {
        .c = side->c, .manner = *(const enum manner *)ex->manner,
        .peer = (int)side->peer, .len = (int)side->len, .first = side->first,
        .n = side->n, .request = { MPI_REQUEST_NULL, MPI_REQUEST_NULL },
    };
    int rc = begin_mpi_exchange (&s, err);
    int64_t began = clock_ns ();

    for (unsigned int i = 0; i < s.n && rc == 0; i++)
        rc = ex->both_ways         ? send_and_receive (&s, err)
             : s.manner == READY ? round_trip_ready (&s, i + 1 == s.n, err)
                                 : mpi_round_trip (&s, err);
    if (s.first)
        side->ns = clock_ns () - began;
    for (int i = 0; i < 2; i++)
        if (s.request[i] != MPI_REQUEST_NULL)
            MPI_Request_free (&s.request[i]);
    return rc < 0 ? -1 : 1;
}

#define MANNER(x) &(const enum manner){ x }

const struct comm_exchange comm_mpi_kinds[] = {
    { "round-trip", "a message there, then one back", run_mpi_exchange, false,
      MANNER (ROUND_TRIP) },
    { "sendrecv", "both ways, each by one call", run_mpi_exchange, true,
      MANNER (SENDRECV) },
    { "nonblocking", "both ways, started and waited for", run_mpi_exchange,
      true, MANNER (NONBLOCKING) },
    { "persistent", "the same by requests made once", run_mpi_exchange, true,
      MANNER (PERSISTENT) },
    { "ready", "round trips in ready mode", run_mpi_exchange, false,
      MANNER (READY) },
    { "buffered", "round trips by way of a send buffer", run_mpi_exchange,
      false, MANNER (BUFFERED) },
    { 0 },
};
