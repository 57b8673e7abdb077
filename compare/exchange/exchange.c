/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: format of a collected record, little-endian, sizes in bytes: peer 4,
 * exchanges 4, lost exchanges 4, then SERIES_STATS times in ns, doubles of 8.
 */
#include "config.h"
#include "compare/exchange/exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/alloc.h"

enum {
    GROWTH_MAX = 16, /* maximum factor per try */
    WORD = 4,        /* bytes of a number that is told */
};

/*
 * Kinds
 */

/* A kind's manner is its width, a number of messages; NULL: all of them. */
static unsigned int width_of (const struct comm_exchange *ex,
                              const struct comm_side *s)
{
    return ex->manner ? *(const unsigned int *)ex->manner : s->n;
}

int exchange_by_turns (const struct comm_exchange *ex, struct comm_side *s,
                       struct error *err)
{
    unsigned int width = width_of (ex, s);
    int64_t start = s->comm->now_ns (s->c);
    int rc = 1;

    for (unsigned int i = 0; i < s->n && rc > 0; i += width)
        for (int way = 0; way < 2 && rc > 0; way++) {
            struct comm_messages m = { .peer = s->peer, .n = width,
                                       .sends = s->first == (way == 0) };

            rc = s->comm->run (s->c, &m, 1, s->len, err);
        }
    if (s->first)
        s->ns = s->comm->now_ns (s->c) - start;
    return rc;
}

/* n messages each way, `width` at once. */
static int at_once (const struct comm_exchange *ex, struct comm_side *s,
                    struct error *err)
{
    unsigned int width = width_of (ex, s);
    int64_t start = s->comm->now_ns (s->c);
    int rc = 1;

    for (unsigned int i = 0; i < s->n && rc > 0; i += width) {
        unsigned int now = s->n - i < width ? s->n - i : width;
        struct comm_messages m[] = {
            { .peer = s->peer, .n = now },
            { .peer = s->peer, .n = now, .sends = true },
        };

        rc = s->comm->run (s->c, m, 2, s->len, err);
    }
    if (s->first)
        s->ns = s->comm->now_ns (s->c) - start;
    return rc;
}

static const unsigned int one = 1, half_window = COMM_WINDOW / 2;

static const struct comm_exchange generic[] = {
    { "round-trip", "a message there, then one back", exchange_by_turns, false,
      &one },
    { "one-way", "all messages there, then as many back", exchange_by_turns,
      false, NULL },
    { "both-ways", "a message each way at once", at_once, true, &one },
    { "async", "many messages each way at once", at_once, true, &half_window },
    { 0 },
};

static const struct comm_exchange *
find_exchange_kind (const struct comm_exchange *kinds, const char *name)
{
    for (; kinds && kinds->name; kinds++)
        if (!strcmp (kinds->name, name))
            return kinds;
    return NULL;
}

const struct comm_exchange *exchange_find (const struct comm *comm,
                                           const char *name,
                                           struct error *err)
{
    const struct comm_exchange *const kinds[] = { comm->exchanges, generic };
    const struct comm_exchange *ex;
    char names[256] = "";
    size_t len = 0;

    if ((ex = find_exchange_kind (kinds[0], name))
        || (ex = find_exchange_kind (kinds[1], name)))
        return ex;
    for (int k = 0; k < 2; k++)
        for (ex = kinds[k]; ex && ex->name; ex++)
            if ((k == 0 || !find_exchange_kind (kinds[0], ex->name))
                && len < sizeof (names))
                len += (size_t)snprintf (names + len, sizeof (names) - len,
                                         "%s%s", len ? ", " : "", ex->name);
    error_input (err, "'%.40s' is not an exchange; there are %s", name, names);
    return NULL;
}

uint32_t *party_tell (const struct party *p, const uint32_t *word, size_t *n,
                      struct error *err)
{
    struct comm_blob blob = { NULL, p->me == 0 ? *n * WORD : 0 };
    uint32_t *told = NULL;

    if (p->me == 0) {
        blob.data = xarray (blob.len, 1);
        for (size_t i = 0; i < *n; i++)
            wire_put (blob.data + i * WORD, word[i], WORD);
    }
    if (p->comm->tell (p->c, &blob, err) >= 0) {
        *n = blob.len / WORD;
        told = xarray (*n, sizeof (*told));
        for (size_t i = 0; i < *n; i++)
            told[i] = (uint32_t)wire_get (blob.data + i * WORD, WORD);
    }
    else if (p->me != 0)
        blob.data = NULL;
    free (blob.data);
    return told;
}

/*
 * Results
 */

enum { RECORD = 12 + 8 * SERIES_STATS };

struct repeats { /* with a peer */
    double *time; /* [count - lost] */
    uint32_t count, lost;
};

struct results {
    bool receives;
    uint32_t n;
    uint32_t used;         /* peers that have repeats */
    struct repeats with[]; /* [n] */
};

struct results *results_create (uint32_t n, bool receives)
{
    struct results *r
        = xcalloc (1, sizeof (*r) + n * sizeof (struct repeats));

    r->n = n;
    r->receives = receives;
    return r;
}

static void clear_results (struct results *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        free (r->with[i].time);
        r->with[i] = (struct repeats){ 0 };
    }
    r->used = 0;
}

void results_destroy (struct results *r)
{
    if (r)
        clear_results (r);
    free (r);
}

static struct repeats *begin_peer_results (struct results *r, uint32_t peer)
{
    if (r->with[peer].count++ == 0)
        r->used++;
    return &r->with[peer];
}

void results_add_lost (struct results *r, uint32_t peer)
{
    begin_peer_results (r, peer)->lost++;
}

void results_add (struct results *r, uint32_t peer, double time_ns)
{
    struct repeats *x = begin_peer_results (r, peer);
    size_t n = x->count - x->lost - 1;

    x->time = xgrow (x->time, n, sizeof (*x->time));
    x->time[n] = time_ns;
}

static void pack (uint8_t *p, uint32_t peer, struct repeats *x)
{
    double time[SERIES_STATS] = { 0 };

    if (x->lost < x->count)
        series_stats (x->time, x->count - x->lost, time);
    wire_put (p, peer, 4);
    wire_put (p + 4, x->count, 4);
    wire_put (p + 8, x->lost, 4);
    for (int k = 0; k < SERIES_STATS; k++) {
        uint64_t bits;

        memcpy (&bits, &time[k], sizeof (bits));
        wire_put (p + 12 + 8 * k, bits, 8);
    }
}

/* Return false if it is invalid. */
static bool unpack_pair_result (const uint8_t *p, uint32_t n, uint32_t *peer,
                                struct series_row *pair)
{
    bool sane = true;

    *peer = (uint32_t)wire_get (p, 4);
    pair->count = (uint32_t)wire_get (p + 4, 4);
    pair->lost = (uint32_t)wire_get (p + 8, 4);
    for (int k = 0; k < SERIES_STATS; k++) {
        uint64_t bits = wire_get (p + 12 + 8 * k, 8);

        memcpy (&pair->time_ns[k], &bits, sizeof (bits));
        sane = sane && isfinite (pair->time_ns[k]) && pair->time_ns[k] >= 0;
    }
    return sane && *peer < n && pair->lost <= pair->count;
}

/* Add the results of one process to the series. */
static int add_process_results (const struct results *r, const struct party *p,
                                uint32_t from, const struct comm_blob *blob,
                                uint64_t length, struct series *s,
                                struct error *err)
{
    if (!blob->data) {
        s->process[from].lost = true;
        s->complete = false;
        return 0;
    }
    for (size_t at = 0; at < blob->len; at += RECORD) {
        struct series_row pair = { .length = length };
        uint32_t peer;

        if (blob->len - at < RECORD
            || !unpack_pair_result (blob->data + at, p->n, &peer, &pair))
            return error_world (err, "%s sent invalid results", p->label[from]);
        pair.a = r->receives ? peer : from;
        pair.b = r->receives ? from : peer;
        if (series_add (s, &pair, err) < 0)
            return -1;
        s->complete = s->complete && series_measured (&pair);
    }
    return 0;
}

int results_collect (struct results *r, const struct party *p,
                     uint64_t length, struct series *s, struct error *err)
{
    size_t len = (size_t)r->used * RECORD;
    struct comm_blob *all = s ? xcalloc (p->n, sizeof (*all)) : NULL;
    uint8_t *data = xarray (len, 1);
    uint8_t *at = data;
    int rc = -1;

    for (uint32_t i = 0; i < r->n; i++)
        if (r->with[i].count > 0) {
            pack (at, i, &r->with[i]);
            at += RECORD;
        }
    if (p->comm->collect (p->c, data, len, all, err) < 0)
        goto error;
    rc = 0;
    party_lock (p);
    for (uint32_t i = 0; s && i < p->n; i++) {
        if (rc == 0)
            rc = add_process_results (r, p, i, &all[i], length, s, err);
        free (all[i].data);
    }
    party_unlock (p);
    clear_results (r);
error:
    free (data);
    free (all);
    return rc;
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
static int agree_on_batch (const struct comm_exchange *ex, struct comm_side *s,
                           int64_t batch_ns, struct error *err)
{
    for (;;) {
        uint8_t note[WORD] = { 0 };
        uint64_t next = 0;
        int rc = ex->run (ex, s, err);

        if (rc < 0)
            return -1;
        if (s->first) {
            next = rc > 0 ? measure_grow (s->n, s->ns, batch_ns) : 0;
            wire_put (note, next, WORD);
            rc = s->comm->send_note (s->c, s->peer, note, WORD, err);
        }
        else {
            rc = s->comm->recv_note (s->c, s->peer, note, WORD, err);
            next = wire_get (note, WORD);
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
    if (how->batch_ns > 0 && agree_on_batch (ex, &s, how->batch_ns, err) < 0)
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

int measure_step (const struct party *p, const struct comm_exchange *ex,
                  const struct probe *pair, uint32_t npairs, size_t len,
                  const struct measure_how *how, struct results *r,
                  struct error *err)
{
    if (p->comm->barrier (p->c, err) < 0)
        return -1;
    for (uint32_t i = 0; i < npairs; i++) {
        bool first = pair[i].a == p->me;

        if (first || pair[i].b == p->me)
            return measure (p, ex, first ? pair[i].b : pair[i].a, first, len,
                            how, r, err);
    }
    return 0;
}
