/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/exchange.h"

#include <stdio.h>
#include <string.h>

#include "probe/wire.h"

enum {
    GROWTH_MAX = 16, /* times as many at a time */
    NOTE_BYTES = 4,
};

/*
 * Kinds
 */

static int round_trip (const struct comm *comm, void *c, uint32_t peer,
                       bool first, size_t len, unsigned int n, int64_t *ns,
                       struct error *err)
{
    int64_t start = comm->now_ns (c);
    int rc;

    for (unsigned int i = 0; i < n; i++) {
        if (first && (rc = comm->send (c, peer, len, err)) <= 0)
            return rc;
        if ((rc = comm->recv (c, peer, len, err)) <= 0)
            return rc;
        if (!first && (rc = comm->send (c, peer, len, err)) <= 0)
            return rc;
    }
    if (first)
        *ns = comm->now_ns (c) - start;
    return 1;
}

static int many (int (*fn) (void *c, uint32_t peer, size_t len,
                            struct error *err),
                 void *c, uint32_t peer, size_t len, unsigned int n,
                 struct error *err)
{
    int rc = 1;

    for (unsigned int i = 0; i < n && rc > 0; i++)
        rc = fn (c, peer, len, err);
    return rc;
}

static int one_way (const struct comm *comm, void *c, uint32_t peer,
                    bool first, size_t len, unsigned int n, int64_t *ns,
                    struct error *err)
{
    int64_t start = comm->now_ns (c);
    int rc = many (first ? comm->send : comm->recv, c, peer, len, n, err);

    if (rc > 0)
        rc = many (first ? comm->recv : comm->send, c, peer, len, n, err);
    if (first)
        *ns = comm->now_ns (c) - start;
    return rc;
}

/* n messages each way, `width` of them at once. */
static int at_once (const struct comm *comm, void *c, uint32_t peer,
                    bool first, size_t len, unsigned int n,
                    unsigned int width, int64_t *ns, struct error *err)
{
    int64_t start = comm->now_ns (c);
    int rc = 1;

    for (unsigned int i = 0; i < n && rc > 0; i += width) {
        unsigned int now = n - i < width ? n - i : width;
        int started = many (comm->start_recv, c, peer, len, now, err);

        if (started > 0)
            started = many (comm->start_send, c, peer, len, now, err);
        if (started < 0 || (rc = comm->wait_all (c, err)) < 0)
            return -1;
        if (started == 0)
            rc = 0;
    }
    if (first)
        *ns = comm->now_ns (c) - start;
    return rc;
}

static int both_ways (const struct comm *comm, void *c, uint32_t peer,
                      bool first, size_t len, unsigned int n, int64_t *ns,
                      struct error *err)
{
    return at_once (comm, c, peer, first, len, n, 1, ns, err);
}

static int async (const struct comm *comm, void *c, uint32_t peer, bool first,
                  size_t len, unsigned int n, int64_t *ns, struct error *err)
{
    return at_once (comm, c, peer, first, len, n, COMM_WINDOW / 2, ns, err);
}

static const struct comm_exchange generic[] = {
    { "round-trip", "a message there, then one back", round_trip, false },
    { "one-way", "all messages there, then as many back", one_way, false },
    { "both-ways", "a message each way at once", both_ways, true },
    { "async", "many messages each way at once", async, true },
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

/* Agree upon how many exchanges a repeat has: the first tries, and tells. */
static int settle (const struct party *p, const struct comm_exchange *ex,
                   uint32_t peer, bool first, size_t len, int64_t batch_ns,
                   unsigned int *n, struct error *err)
{
    for (;;) {
        uint8_t note[NOTE_BYTES] = { 0 };
        uint64_t next = 0;
        int64_t ns;
        int rc = ex->run (p->comm, p->c, peer, first, len, *n, &ns, err);

        if (rc < 0)
            return -1;
        if (first) {
            next = rc > 0 ? measure_grow (*n, ns, batch_ns) : 0;
            wire_put (note, next, NOTE_BYTES);
            rc = p->comm->send_note (p->c, peer, note, NOTE_BYTES, err);
        }
        else {
            rc = p->comm->recv_note (p->c, peer, note, NOTE_BYTES, err);
            next = wire_get (note, NOTE_BYTES);
        }
        if (rc < 0)
            return -1;
        if (rc == 0 || next == 0 || next > MEASURE_EXCHANGES_MAX)
            return 0;
        *n = (unsigned int)next;
    }
}

int measure (const struct party *p, const struct comm_exchange *ex,
             uint32_t peer, bool first, size_t len,
             const struct measure_how *how, struct results *r,
             struct error *err)
{
    unsigned int n = how->exchanges  ? how->exchanges
                     : ex->both_ways ? MEASURE_BOTH_WAYS
                                     : 1;
    int64_t ns;

    if (how->warm_up > 0
        && ex->run (p->comm, p->c, peer, first, len, how->warm_up, &ns, err)
               < 0)
        return -1;
    if (how->batch_ns > 0
        && settle (p, ex, peer, first, len, how->batch_ns, &n, err) < 0)
        return -1;
    for (unsigned int i = 0; i < how->repeats; i++) {
        int rc = ex->run (p->comm, p->c, peer, first, len, n, &ns, err);

        if (rc < 0)
            return -1;
        if (first && rc > 0)
            results_add (r, peer, (double)ns / (2.0 * n));
        else if (first)
            results_add_lost (r, peer);
    }
    return 0;
}
