/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/exchange.h"

#include <stdio.h>
#include <string.h>

#include "probe/wire.h"

enum {
    GROWTH_MAX = 16, /* maximum factor per try */
    NOTE_BYTES = 4,
};

/*
 * Kinds
 */

static int send (const struct comm_side *s, struct error *err)
{
    return s->comm->send (s->c, s->peer, s->len, err);
}

static int recv (const struct comm_side *s, struct error *err)
{
    return s->comm->recv (s->c, s->peer, s->len, err);
}

static int start_send (const struct comm_side *s, struct error *err)
{
    return s->comm->start_send (s->c, s->peer, s->len, err);
}

static int start_recv (const struct comm_side *s, struct error *err)
{
    return s->comm->start_recv (s->c, s->peer, s->len, err);
}

static int many (int (*fn) (const struct comm_side *s, struct error *err),
                 const struct comm_side *s, unsigned int n, struct error *err)
{
    int rc = 1;

    for (unsigned int i = 0; i < n && rc > 0; i++)
        rc = fn (s, err);
    return rc;
}

/* `width` messages there, then as many back, until n exchanges are done. */
static int by_turns (struct comm_side *s, unsigned int width,
                     struct error *err)
{
    int64_t start = s->comm->now_ns (s->c);
    int rc = 1;

    for (unsigned int i = 0; i < s->n && rc > 0; i += width) {
        rc = many (s->first ? send : recv, s, width, err);
        if (rc > 0)
            rc = many (s->first ? recv : send, s, width, err);
    }
    if (s->first)
        s->ns = s->comm->now_ns (s->c) - start;
    return rc;
}

/* n messages each way, `width` at once. */
static int at_once (struct comm_side *s, unsigned int width,
                    struct error *err)
{
    int64_t start = s->comm->now_ns (s->c);
    int rc = 1;

    for (unsigned int i = 0; i < s->n && rc > 0; i += width) {
        unsigned int now = s->n - i < width ? s->n - i : width;
        int started = many (start_recv, s, now, err);

        if (started > 0)
            started = many (start_send, s, now, err);
        if (started < 0 || (rc = s->comm->wait_all (s->c, err)) < 0)
            return -1;
        if (started == 0)
            rc = 0;
    }
    if (s->first)
        s->ns = s->comm->now_ns (s->c) - start;
    return rc;
}

static int round_trip (const struct comm_exchange *ex, struct comm_side *s,
                       struct error *err)
{
    (void)ex;
    return by_turns (s, 1, err);
}

static int one_way (const struct comm_exchange *ex, struct comm_side *s,
                    struct error *err)
{
    (void)ex;
    return by_turns (s, s->n, err);
}

static int both_ways (const struct comm_exchange *ex, struct comm_side *s,
                      struct error *err)
{
    (void)ex;
    return at_once (s, 1, err);
}

static int async (const struct comm_exchange *ex, struct comm_side *s,
                  struct error *err)
{
    (void)ex;
    return at_once (s, COMM_WINDOW / 2, err);
}

static const struct comm_exchange generic[] = {
    { "round-trip", "a message there, then one back", round_trip, false,
      NULL },
    { "one-way", "all messages there, then as many back", one_way, false,
      NULL },
    { "both-ways", "a message each way at once", both_ways, true, NULL },
    { "async", "many messages each way at once", async, true, NULL },
    { 0 },
};

static const struct comm_exchange *look (const struct comm_exchange *table,
                                         const char *name)
{
    for (; table && table->name; table++)
        if (!strcmp (table->name, name))
            return table;
    return NULL;
}

const struct comm_exchange *exchange_at (const struct comm *comm, size_t i)
{
    size_t own = 0;

    while (comm->exchanges && comm->exchanges[own].name)
        own++;
    if (i < own)
        return &comm->exchanges[i];
    for (const struct comm_exchange *ex = generic; ex->name; ex++)
        if (!look (comm->exchanges, ex->name) && i-- == own)
            return ex;
    return NULL;
}

const struct comm_exchange *exchange_find (const struct comm *comm,
                                           const char *name,
                                           struct error *err)
{
    const struct comm_exchange *ex;
    char names[256] = "";
    size_t len = 0;

    for (size_t i = 0; (ex = exchange_at (comm, i)); i++) {
        if (!strcmp (ex->name, name))
            return ex;
        if (len < sizeof (names))
            len += (size_t)snprintf (names + len, sizeof (names) - len,
                                     "%s%s", i ? ", " : "", ex->name);
    }
    error_input (err, "'%.40s' is no exchange; there are %s", name, names);
    return NULL;
}

/*
 * Repeats
 */

unsigned int measure_grow (unsigned int n, int64_t ns, int64_t batch_ns)
{
    double wanted = 1.25 * n * (double)batch_ns / (ns > 0 ? (double)ns : 1);
    double most = (double)GROWTH_MAX * n;

    if (ns >= batch_ns || n >= MEASURE_EXCHANGES_MAX)
        return 0;
    if (wanted > most)
        wanted = most;
    if (wanted > MEASURE_EXCHANGES_MAX)
        wanted = MEASURE_EXCHANGES_MAX;
    return wanted > n + 1.0 ? (unsigned int)wanted : n + 1;
}

/* Agree on the number of exchanges per repeat: the first side decides by its
 * time of each try, and tells the other.
 */
static int settle (const struct comm_exchange *ex, struct comm_side *s,
                   int64_t batch_ns, struct error *err)
{
    for (;;) {
        uint8_t note[NOTE_BYTES] = { 0 };
        uint64_t next = 0;
        int rc = ex->run (ex, s, err);

        if (rc < 0)
            return -1;
        if (s->first) {
            next = rc > 0 ? measure_grow (s->n, s->ns, batch_ns) : 0;
            wire_put (note, next, NOTE_BYTES);
            rc = s->comm->send_note (s->c, s->peer, note, NOTE_BYTES, err);
        }
        else {
            rc = s->comm->recv_note (s->c, s->peer, note, NOTE_BYTES, err);
            next = wire_get (note, NOTE_BYTES);
        }
        if (rc < 0)
            return -1;
        if (rc == 0 || next == 0 || next > MEASURE_EXCHANGES_MAX)
            return 0;
        s->n = (unsigned int)next;
    }
}

int measure (const struct party *p, const struct comm_exchange *ex,
             uint32_t peer, bool first, size_t len,
             const struct measure_how *how, struct results *r,
             struct error *err)
{
    struct comm_side s = { .comm = p->comm, .c = p->c, .peer = peer,
                           .first = first, .len = len, .n = how->warm_up };

    if (s.n > 0 && ex->run (ex, &s, err) < 0)
        return -1;
    s.n = how->exchanges  ? how->exchanges
          : ex->both_ways ? MEASURE_BOTH_WAYS
                          : 1;
    if (how->batch_ns > 0 && settle (ex, &s, how->batch_ns, err) < 0)
        return -1;
    for (unsigned int i = 0; i < how->repeats; i++) {
        int rc = ex->run (ex, &s, err);

        if (rc < 0)
            return -1;
        if (first && rc > 0)
            results_add (r, peer, (double)s.ns / (2.0 * s.n));
        else if (first)
            results_add_lost (r, peer);
    }
    return 0;
}
