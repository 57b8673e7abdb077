/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: letters, by kind; the number is that of a note between two members,
 * from 1 on in each direction:
 *
 *     note 1     the last one for the receiver; number 0: there is none yet
 *     asks 2     its sender waits for the next note; the answer is a note
 *     took 3     its sender has received this one; answers a note that it knows
 *
 * A note is sent when the one before has been received.
 */
#include "config.h"
#include "compare/exchange/comm_group.h"

#include <stdlib.h>
#include <string.h>

#include "compare/exchange/exchange.h"
#include "util/alloc.h"

enum letter_kind { NOTE = 1, ASKS, TOOK };

enum {
    ASK_FIRST = 16,     /* gaps */
    ASK_TIMES = 12,     /* questions without an answer: the member is dead */
    FETCHED = 16,       /* members to fetch from at a time: a port has no
                           receives for all at once */
    LINGER = 500,       /* gaps in which the last answer may be wanted again */
    LINK_GAPS = 20000,  /* in which members are ready for messages, at most */
    SLOW_BYTE_NS = 100, /* of messages that are not given up */
};

#define LINK_NS INT64_C (2000000000)

struct note {
    uint32_t number;
    size_t len;
    uint8_t data[COMM_NOTE_MAX];
};

struct comm_member {
    bool ready;  /* for pings */
    bool linked; /* ready for messages */
    struct note out, in; /* the last ones */
    uint32_t taken, out_taken; /* numbers of those that have been received */
};

struct comm_group {
    struct group *g;
    const char *const *host;
    uint32_t n;
    struct comm_member *member; /* [n] */
    bool links;     /* there may be messages */
    int64_t epoch;  /* end of the last barrier, from which turns count */
    uint8_t *said;  /* what is collected or told */
    enum group_kind saying;
};

static int receive_letter (void *arg, size_t member,
                           const struct group_letter *letter,
                           struct error *err);

struct comm_group *comm_group_open (struct group *g, const char *const *host)
{
    struct comm_group *c = xcalloc (1, sizeof (*c));

    c->g = g;
    c->host = host;
    c->n = (uint32_t)g->n;
    c->member = xcalloc (c->n, sizeof (*c->member));
    g->take = receive_letter;
    g->take_arg = c;
    return c;
}

void comm_group_drop (struct comm_group *c)
{
    if (!c)
        return;
    c->g->take = NULL;
    group_serve (c->g, c->saying, GROUP_ALL, NULL, 0);
    free (c->said);
    free (c->member);
    free (c);
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
    comm_group_drop (c);
}

static bool is_dead (const struct comm_group *c, uint32_t m)
{
    return c->g->member[m].dead;
}

/* Handle what has arrived. */
static int handle_arrived (struct comm_group *c, struct error *err)
{
    int rc;

    do
        rc = group_turn (c->g, group_now (c->g), err);
    while (rc > 0);
    return rc;
}

/*
 * Notes
 */

static int send_note_letter (struct comm_group *c, uint32_t m,
                             enum letter_kind kind, struct error *err)
{
    const struct comm_member *member = &c->member[m];
    struct group_letter letter = { .kind = (uint8_t)kind, .asks = true };

    if (kind == NOTE) {
        letter.number = member->out.number;
        letter.data = member->out.data;
        letter.len = member->out.len;
    }
    else
        letter.number = member->taken;
    return group_send (c->g, m, &letter, err);
}

static int receive_letter (void *arg, size_t member,
                           const struct group_letter *letter, struct error *err)
{
    struct comm_group *c = arg;
    struct comm_member *m = &c->member[member];

    /* if it had only stalled, it gets no answer and takes this one for dead */
    if (c->g->member[member].dead)
        return 0;
    if (letter->kind == ASKS)
        return send_note_letter (c, (uint32_t)member, NOTE, err);
    if (letter->kind == TOOK)
        m->out_taken = letter->number;
    else if (letter->number == m->in.number || letter->len > COMM_NOTE_MAX)
        return send_note_letter (c, (uint32_t)member, TOOK, err);
    else if (letter->number == m->taken + 1) {
        m->in.number = letter->number;
        m->in.len = letter->len;
        memcpy (m->in.data, letter->data, letter->len);
    }
    return 0;
}

/* Wait until a member's next note is here, or, with NOTE, until it has taken
 * the last one. Return 1, 0 if it is dead, or -1 with err.
 */
static int await_note (struct comm_group *c, uint32_t m, enum letter_kind ask,
                       struct error *err)
{
    const struct comm_member *member = &c->member[m];
    int64_t longest = group_dead_ns (c->g) / ASK_TIMES;
    int64_t begin = group_now (c->g);
    int64_t interval = ASK_FIRST * group_gap (c->g);
    int64_t next = begin + interval;

    while (ask == NOTE ? member->out_taken != member->out.number
                       : member->in.number == member->taken) {
        if (is_dead (c, m))
            return 0;
        if (group_now (c->g) < next) {
            if (group_turn (c->g, next, err) < 0)
                return -1;
            continue;
        }
        if (handle_arrived (c, err) < 0)
            return -1;
        /* pings are not to be disturbed */
        if (c->g->member[m].heard <= next - interval
            && group_listens (c->g, m, begin)
            && send_note_letter (c, m, ask, err) < 0)
            return -1;
        interval = 2 * interval < longest ? 2 * interval : longest;
        next = group_now (c->g) + interval;
    }
    return 1;
}

static int comm_send_note (void *vc, uint32_t to, const void *data, size_t len,
                           struct error *err)
{
    struct comm_group *c = vc;
    struct note *note = &c->member[to].out;
    int rc = await_note (c, to, NOTE, err);

    if (rc <= 0 || is_dead (c, to))
        return rc < 0 ? -1 : 0;
    note->number++;
    note->len = len;
    if (len > 0)
        memcpy (note->data, data, len);
    return send_note_letter (c, to, NOTE, err) < 0 ? -1 : 1;
}

static int comm_recv_note (void *vc, uint32_t from, void *data, size_t len,
                           struct error *err)
{
    struct comm_group *c = vc;
    struct comm_member *m = &c->member[from];
    int rc = await_note (c, from, ASKS, err);

    if (rc <= 0)
        return rc;
    m->taken = m->in.number;
    if (m->in.len != len)
        return error_world (err, "%s sent an invalid message", c->host[from]);
    if (len > 0)
        memcpy (data, m->in.data, len);
    return send_note_letter (c, from, TOOK, err) < 0 ? -1 : 1;
}

/*
 * Collective calls. Each has another kind of object than those before, so that
 * no late answer is taken for a new one.
 */

/* Offer something, or nothing, and wait for all. */
static int say (struct comm_group *c, const void *data, size_t len,
                struct error *err)
{
    if (len > GROUP_BLOB_MAX)
        return error_world (err, "%zu bytes are too much to tell: use fewer "
                                 "nodes", len);
    group_serve (c->g, c->saying, GROUP_ALL, NULL, 0);
    free (c->said);
    c->said = xarray (len, 1);
    if (len > 0)
        memcpy (c->said, data, len);
    if (++c->saying == GROUP_KINDS)
        c->saying = 0;
    group_serve (c->g, c->saying, GROUP_ALL, c->said, len);
    return group_barrier (c->g, err);
}

static int comm_collect (void *vc, const void *data, size_t len,
                         struct comm_blob *all, struct error *err)
{
    struct comm_group *c = vc;
    int rc = say (c, data, len, err);

    if (c->g->me == 0)
        memset (all, 0, c->n * sizeof (*all));
    for (uint32_t m = 0; c->g->me == 0 && rc == 0 && m < c->n;) {
        struct group_blob blob[FETCHED];
        uint32_t from[FETCHED];
        size_t n = 0;

        if (m == 0) {
            all[m] = (struct comm_blob){ xarray (len, 1), len };
            if (len > 0)
                memcpy (all[m].data, data, len);
            m++;
        }
        while (n < FETCHED && m + n < c->n) {
            from[n] = m + (uint32_t)n;
            n++;
        }
        rc = group_fetch (c->g, c->saying, from, n, blob, err);
        for (size_t i = 0; rc == 0 && i < n; i++)
            all[m++] = (struct comm_blob){ blob[i].data, blob[i].len };
    }
    if (rc == 0)
        rc = group_barrier (c->g, err);
    for (uint32_t m = 0; c->g->me == 0 && m < c->n && rc < 0; m++) {
        free (all[m].data);
        all[m].data = NULL;
    }
    return rc < 0 ? -1 : 1;
}

static int comm_tell (void *vc, struct comm_blob *blob, struct error *err)
{
    struct comm_group *c = vc;
    bool leads = c->g->me == 0;
    struct group_blob got;

    if (say (c, leads ? blob->data : NULL, leads ? blob->len : 0, err) < 0
        || (!leads
            && group_fetch (c->g, c->saying, &(uint32_t){ 0 }, 1, &got, err)
                   < 0))
        return -1;
    if (!leads && !got.data)
        return error_world (err, "%s, which leads, is gone", c->host[0]);
    if (group_barrier (c->g, err) < 0) {
        if (!leads)
            free (got.data);
        return -1;
    }
    if (!leads)
        *blob = (struct comm_blob){ got.data, got.len };
    return 1;
}

/*
 * Messages
 */

/* Prepare for messages with all members with whom they are not possible yet, or
 * no longer. Those that are not ready in time stay so.
 */
static int link_members (struct comm_group *c, struct error *err)
{
    struct group *g = c->g;
    int64_t until
        = group_now (g) + transport_gaps (g->t, LINK_GAPS, LINK_NS);
    struct transport_way way = { 0, 0, 0 };
    size_t open;

    do {
        open = 0;
        for (uint32_t m = 0; m < c->n; m++) {
            int rc = m == g->me || c->member[m].linked || is_dead (c, m)
                         ? 1
                         : g->transport->bulk_prepare (g->t, 0, g->first[m],
                                                       way, false, err);

            if (rc < 0)
                return -1;
            c->member[m].linked = rc > 0;
            open += rc == 0;
        }
        if (open > 0 && group_until (g, group_now (g) + group_gap (g), err) < 0)
            return -1;
    } while (open > 0 && group_now (g) < until);
    return 0;
}

static int comm_barrier (void *vc, struct error *err)
{
    struct comm_group *c = vc;

    group_attend (c->g, true);
    if ((c->links && link_members (c, err) < 0)
        || group_barrier (c->g, err) < 0)
        return -1;
    c->epoch = group_now (c->g);
    return 1;
}

static int run_round_trips (const struct comm_exchange *ex,
                            struct comm_side *s, struct error *err);

static bool are_pings (const struct comm_exchange *ex, size_t len)
{
    return ex && ex->run == run_round_trips
           && len <= GROUP_PING_MAX - GROUP_PING_MIN;
}

static int comm_reserve (void *vc, size_t len, const struct comm_exchange *ex,
                         struct error *err)
{
    struct comm_group *c = vc;

    if (are_pings (ex, len))
        return 1;
    c->links = true;
    /* all are here, then all are ready */
    return group_barrier (c->g, err) < 0 ? -1 : comm_barrier (c, err);
}

/* Messages with several members at once. */
struct talks {
    struct transport_burst burst[TRANSPORT_RAILS_MAX];
    struct comm_messages *row[TRANSPORT_RAILS_MAX][2]; /* received, sent */
    size_t n;
};

/* Add a row. Return false if there is no room. */
static bool add_row (const struct comm_group *c, struct talks *t,
                     struct comm_messages *row, size_t len)
{
    uint32_t peer = c->g->first[row->peer];
    size_t i = 0;

    while (i < t->n && t->burst[i].peer != peer)
        i++;
    if (i == TRANSPORT_RAILS_MAX)
        return false;
    if (i == t->n) {
        t->burst[t->n++]
            = (struct transport_burst){ .peer = peer, .bytes = len };
        t->row[i][0] = t->row[i][1] = NULL;
    }
    *(row->sends ? &t->burst[i].out : &t->burst[i].in) = row->n;
    t->row[i][row->sends] = row;
    return true;
}

/* The other end may first have to wait for one that is dead. */
static int run_talks (struct comm_group *c, struct talks *t, int64_t start,
                      struct error *err)
{
    double bytes = 0;

    for (size_t i = 0; i < t->n; i++)
        bytes += (double)t->burst[i].bytes * (t->burst[i].out + t->burst[i].in);
    if (t->n > 0
        && group_bulk (c->g, t->burst, t->n,
                       group_now (c->g) + 2 * group_dead_ns (c->g)
                           + (int64_t)(bytes * SLOW_BYTE_NS),
                       err)
               < 0)
        return -1;
    for (size_t i = 0; i < t->n; i++)
        for (int sends = 0; sends < 2; sends++) {
            const struct transport_burst *b = &t->burst[i];
            struct comm_messages *row = t->row[i][sends];

            if (!row)
                continue;
            c->member[row->peer].linked = !b->lost;
            row->lost = b->lost;
            row->ns = (sends ? group_now (c->g) : b->there_ns) - start;
            if (row->ns < 0) /* it was there before */
                row->ns = 0;
        }
    return 0;
}

static int comm_run (void *vc, struct comm_messages *m, size_t n, size_t len,
                     struct error *err)
{
    struct comm_group *c = vc;
    int64_t start = group_now (c->g);
    bool lost = false;

    for (size_t i = 0; i < n;) {
        struct talks t = { .n = 0 };

        for (; i < n; i++) {
            uint32_t peer = m[i].peer;

            m[i].lost = peer != c->g->me
                        && (!c->member[peer].linked || is_dead (c, peer));
            m[i].ns = 0;
            if (peer != c->g->me && !m[i].lost && !add_row (c, &t, &m[i], len))
                break;
        }
        if (run_talks (c, &t, start, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < n; i++)
        lost |= m[i].lost;
    return !lost;
}

/*
 * Round trips
 */

/* Prepare for pings; both sides call it at the same time. */
static int make_ready (struct comm_group *c, uint32_t m, struct error *err)
{
    int64_t until = group_now (c->g) + group_dead_ns (c->g);
    struct transport_way way = { 0, 0, 0 };

    if (c->member[m].ready)
        return 0;
    c->member[m].ready = true;
    return group_prepare (c->g, 0, c->g->first[m], way, until, err);
}

/* The time from which this process may ping: after the barrier's last messages
 * have arrived and, if there are several turns, in its own.
 */
static int64_t next_turn (const struct comm_group *c)
{
    int64_t gap = group_gap (c->g);
    int64_t now = group_now (c->g);
    int64_t cycle = (int64_t)c->g->t->turns * gap;
    int64_t start = c->epoch + gap + (int64_t)c->g->t->mine * gap;

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
    struct group_ping ping = { .peer = c->g->first[s->peer] };
    bool lost = false;
    int rc;

    s->ns = 0;
    c->g->ping_size = GROUP_PING_MIN + s->len;
    for (unsigned int i = 0; i < s->n && !lost; i++) {
        if (group_until (c->g, next_turn (c), err) < 0
            || (!awake && group_wake (c->g, &ping, err) < 0)
            || group_ping (c->g, &ping, err) < 0)
            return -1;
        lost = ping.rtt_ns < 0;
        s->ns += ping.rtt_ns;
    }
    rc = comm_send_note (c, s->peer, NULL, 0, err);
    return rc > 0 ? !lost : rc;
}

static int run_round_trips (const struct comm_exchange *ex,
                            struct comm_side *s, struct error *err)
{
    struct comm_group *c = s->c;
    bool awake = group_attend (c->g, true);

    if (!are_pings (ex, s->len))
        return exchange_by_turns (ex, s, err);
    if (is_dead (c, s->peer))
        return 0;
    if (make_ready (c, s->peer, err) < 0)
        return -1;
    return s->first ? run_pings (c, s, awake, err)
                    : comm_recv_note (c, s->peer, NULL, 0, err);
}

static int64_t comm_now (void *vc)
{
    return group_now (((struct comm_group *)vc)->g);
}

static const struct comm_exchange exchanges[] = {
    { "round-trip", "there and back; of 240 bytes or less: a ping",
      run_round_trips, false, &(const unsigned int){ 1 } },
    { 0 },
};

const struct comm comm_group = {
    .reserve = comm_reserve, .now_ns = comm_now, .barrier = comm_barrier,
    .run = comm_run, .send_note = comm_send_note, .recv_note = comm_recv_note,
    .collect = comm_collect, .tell = comm_tell, .exchanges = exchanges,
};
