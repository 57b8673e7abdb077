/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm over a group.
 *
 * Notes: collect and tell send data as notes: first one of eight bytes with the
 * length, then the pieces. Each member waits for an empty note before it sends
 * to process 0, which collects from a few members at a time: its port does not
 * have receives for all at once.
 */
#include "config.h"
#include "probe/exchange/comm_group.h"

#include <stdlib.h>
#include <string.h>

#include "probe/exchange/stream.h"
#include "probe/wire.h"
#include "util/alloc.h"

enum {
    BLOB_MAX = 1 << 28,
    PULLED = 16,  /* members to collect from at a time */
    LINGER = 500, /* gaps in which the last answer may be requested again */
};

struct comm_group {
    struct group *g;
    struct stream *stream;
    const char *const *host;
    bool *ready; /* [member] prepared for pings */
    int64_t epoch; /* end of the last barrier, from which turns count */
};

struct comm_group *comm_group_open (struct group *g, const char *const *host)
{
    struct comm_group *c = xcalloc (1, sizeof (*c));

    c->g = g;
    c->host = host;
    c->stream = stream_create (g);
    c->ready = xcalloc (group_size (g), sizeof (*c->ready));
    group_set_ping_size (g, GROUP_PING_MIN);
    return c;
}

void comm_group_close (struct comm_group *c)
{
    struct error err;

    if (!c)
        return;
    group_attend (c->g, false);
    if (group_barrier (c->g, &err) == 0)
        group_until (c->g, group_now (c->g) + LINGER * group_gap (c->g),
                     &err);
    stream_destroy (c->stream);
    free (c->ready);
    free (c);
}

/*
 * Processes
 */

static uint32_t comm_rank (const void *c)
{
    return (uint32_t)group_me (((const struct comm_group *)c)->g);
}

static uint32_t comm_size (const void *c)
{
    return (uint32_t)group_size (((const struct comm_group *)c)->g);
}

static const char *comm_host (const void *c, uint32_t rank)
{
    return ((const struct comm_group *)c)->host[rank];
}

static int64_t comm_now (void *c)
{
    return group_now (((struct comm_group *)c)->g);
}

/*
 * Messages
 */

static int comm_reserve (void *c, size_t len, struct error *err)
{
    if (len > 0 && !stream_carries (((struct comm_group *)c)->stream))
        return error_world (err, "messages of this transport have no length");
    return 1;
}

static int comm_barrier (void *arg, struct error *err)
{
    struct comm_group *c = arg;

    group_attend (c->g, true);
    if (group_barrier (c->g, err) < 0)
        return -1;
    c->epoch = group_now (c->g);
    stream_age (c->stream);
    return 1;
}

static int comm_send (void *c, uint32_t to, size_t len, struct error *err)
{
    return stream_send (((struct comm_group *)c)->stream, to, len, err);
}

static int comm_recv (void *c, uint32_t from, size_t len, struct error *err)
{
    (void)len;
    return stream_receive (((struct comm_group *)c)->stream, from, err);
}

static int comm_recv_any (void *c, size_t len, uint32_t *from,
                          struct error *err)
{
    (void)len;
    return stream_receive_any (((struct comm_group *)c)->stream, from, err);
}

static int comm_start_send (void *c, uint32_t to, size_t len,
                            struct error *err)
{
    return stream_start_send (((struct comm_group *)c)->stream, to, len, err);
}

static int comm_start_recv (void *c, uint32_t from, size_t len,
                            struct error *err)
{
    (void)len;
    (void)err;
    stream_start_receive (((struct comm_group *)c)->stream, from);
    return 1;
}

static int comm_wait_one (void *c, struct comm_done *done, struct error *err)
{
    return stream_wait_one (((struct comm_group *)c)->stream, done, err);
}

static int comm_wait_all (void *c, struct error *err)
{
    return stream_wait_all (((struct comm_group *)c)->stream, err);
}

static int comm_send_note (void *c, uint32_t to, const void *data, size_t len,
                           struct error *err)
{
    return stream_send_note (((struct comm_group *)c)->stream, to, data, len,
                             err);
}

static int comm_recv_note (void *c, uint32_t from, void *data, size_t len,
                           struct error *err)
{
    size_t got = len;
    int rc = stream_receive_note (((struct comm_group *)c)->stream, from, data,
                                  &got, err);

    if (rc > 0 && got != len)
        return error_world (err, "%s sent what makes no sense",
                            comm_host (c, from));
    return rc;
}

/*
 * Collective calls
 */

static int send_blob (struct comm_group *c, uint32_t to, const uint8_t *data,
                      size_t len, struct error *err)
{
    uint8_t header[8];
    int rc;

    wire_put (header, len, 8);
    rc = stream_send_note (c->stream, to, header, sizeof (header), err);
    for (size_t at = 0; at < len && rc > 0; at += STREAM_NOTE_MAX)
        rc = stream_send_note (c->stream, to, data + at,
                               len - at < STREAM_NOTE_MAX ? len - at
                                                          : STREAM_NOTE_MAX,
                               err);
    return rc;
}

/* Receive a blob; its data is NULL if the sender is dead. */
static int receive_blob (struct comm_group *c, uint32_t from,
                         struct comm_blob *blob, struct error *err)
{
    uint8_t header[8];
    size_t at = 0;
    int rc = comm_recv_note (c, from, header, sizeof (header), err);

    *blob = (struct comm_blob){ 0 };
    if (rc <= 0)
        return rc;
    blob->len = wire_get (header, 8);
    if (blob->len > BLOB_MAX)
        return error_world (err, "%s sent what makes no sense",
                            comm_host (c, from));
    blob->data = xarray (blob->len, 1);
    while (at < blob->len && rc > 0) {
        size_t len = blob->len - at;

        rc = stream_receive_note (c->stream, from, blob->data + at, &len, err);
        if (rc > 0 && len == 0)
            rc = error_world (err, "%s sent what makes no sense",
                              comm_host (c, from));
        at += len;
    }
    if (rc <= 0) {
        free (blob->data);
        *blob = (struct comm_blob){ 0 };
    }
    return rc;
}

/* Collect from all members, of which PULLED at a time are told to send. */
static int pull (struct comm_group *c, struct comm_blob *all,
                 struct error *err)
{
    uint32_t n = comm_size (c);
    uint32_t told = 1;

    for (uint32_t m = 1; m < n; m++) {
        for (; told < n && told < m + PULLED; told++)
            if (stream_send_note (c->stream, told, NULL, 0, err) < 0)
                return -1;
        if (receive_blob (c, m, &all[m], err) < 0)
            return -1;
    }
    return 1;
}

static int comm_collect (void *arg, const void *data, size_t len,
                         struct comm_blob *all, struct error *err)
{
    struct comm_group *c = arg;
    int rc;

    if (comm_rank (c) > 0) {
        rc = comm_recv_note (c, 0, NULL, 0, err);
        if (rc > 0)
            rc = send_blob (c, 0, data, len, err);
        return rc < 0 ? -1 : 1;
    }
    memset (all, 0, comm_size (c) * sizeof (*all));
    all[0] = (struct comm_blob){ xarray (len, 1), len };
    if (len > 0)
        memcpy (all[0].data, data, len);
    rc = pull (c, all, err);
    for (uint32_t m = 0; m < comm_size (c) && rc < 0; m++)
        free (all[m].data);
    return rc;
}

static int comm_tell (void *arg, struct comm_blob *blob, struct error *err)
{
    struct comm_group *c = arg;
    int rc;

    if (comm_rank (c) == 0) {
        for (uint32_t m = 1; m < comm_size (c); m++)
            if (send_blob (c, m, blob->data, blob->len, err) < 0)
                return -1;
        return 1;
    }
    rc = receive_blob (c, 0, blob, err);
    return rc != 0 ? rc
                   : error_world (err, "%s, which leads, is gone",
                                  comm_host (c, 0));
}

/*
 * Round trips
 */

/* Prepare for pings; both sides call it at the same time. If this does not
 * succeed in time, pings are lost.
 */
static int make_ready (struct comm_group *c, uint32_t m, struct error *err)
{
    int64_t until = group_now (c->g) + group_dead_ns (c->g);
    struct transport_way way = { 0, 0 };
    int rc = 0;

    while (!c->ready[m]) {
        rc = group_prepare (c->g, 0, group_first_peer (c->g, m), way, err);
        if (rc < 0)
            return -1;
        c->ready[m] = rc > 0 || group_now (c->g) >= until;
        if (!c->ready[m]
            && group_until (c->g, group_now (c->g) + group_gap (c->g), err)
                   < 0)
            return -1;
    }
    return 0;
}

/* The time from which this process may ping: after the barrier's last messages
 * have arrived and, if there are several turns, in its own.
 */
static int64_t next_turn (const struct comm_group *c)
{
    int64_t gap = group_gap (c->g);
    int64_t now = group_now (c->g);
    size_t mine;
    int64_t cycle = (int64_t)group_turns (c->g, &mine) * gap;
    int64_t start = c->epoch + gap + (int64_t)mine * gap;

    if (now <= start)
        return start;
    return cycle > gap ? start + (now - start + cycle - 1) / cycle * cycle
                       : now;
}

/* Ping n times, or until one ping is lost, because the rest is then useless.
 * Then tell the other side to continue.
 */
static int run_pings (struct comm_group *c, struct comm_side *s, bool awake,
                      struct error *err)
{
    struct group_ping ping = { .peer = group_first_peer (c->g, s->peer),
                               .pad = (uint16_t)s->len };
    bool lost = false;
    int rc;

    s->ns = 0;
    for (unsigned int i = 0; i < s->n && !lost; i++) {
        if (group_until (c->g, next_turn (c), err) < 0
            || (!awake && group_wake (c->g, &ping, 1, err) < 0)
            || group_pings (c->g, &ping, 1, err) < 0)
            return -1;
        lost = ping.rtt_ns < 0;
        s->ns += ping.rtt_ns;
    }
    rc = stream_send_note (c->stream, s->peer, NULL, 0, err);
    return rc > 0 ? !lost : rc;
}

static int run_trains (struct comm_group *c, struct comm_side *s,
                       struct error *err)
{
    int64_t start = group_now (c->g);

    for (unsigned int i = 0; i < s->n; i++)
        for (int way = 0; way < 2; way++) {
            int rc = (way == 0) == s->first
                         ? stream_send (c->stream, s->peer, s->len, err)
                         : stream_receive (c->stream, s->peer, err);

            if (rc <= 0)
                return rc;
        }
    if (s->first)
        s->ns = group_now (c->g) - start;
    return 1;
}

static int run_round_trips (const struct comm_exchange *ex,
                            struct comm_side *s, struct error *err)
{
    struct comm_group *c = s->c;
    bool awake = group_attend (c->g, true);

    (void)ex;
    if (s->len > group_pad_max (c->g, 0))
        return run_trains (c, s, err);
    if (group_is_dead (c->g, s->peer))
        return 0;
    if (make_ready (c, s->peer, err) < 0)
        return -1;
    return s->first ? run_pings (c, s, awake, err)
                    : stream_receive_note (c->stream, s->peer, NULL,
                                           &(size_t){ 0 }, err);
}

static const struct comm_exchange exchanges[] = {
    { "round-trip", "there and back; what a datagram holds: a ping",
      run_round_trips, false, NULL },
    { 0 },
};

struct comm comm_group_table (const char *name)
{
    return (struct comm){
        .name = name,
        .rank = comm_rank,
        .size = comm_size,
        .label = comm_host,
        .host = comm_host,
        .reserve = comm_reserve,
        .now_ns = comm_now,
        .barrier = comm_barrier,
        .send = comm_send,
        .recv = comm_recv,
        .recv_any = comm_recv_any,
        .start_send = comm_start_send,
        .start_recv = comm_start_recv,
        .wait_one = comm_wait_one,
        .wait_all = comm_wait_all,
        .send_note = comm_send_note,
        .recv_note = comm_recv_note,
        .collect = comm_collect,
        .tell = comm_tell,
        .exchanges = exchanges,
    };
}
