/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results.
 *
 * Notes: a record of what is collected, little-endian: peer 4, exchanges 4, of
 * which were lost 4, then SERIES_STATS times in ns, 8 bytes of a double each.
 */
#include "config.h"
#include "probe/exchange/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"

enum { RECORD = 12 + 8 * SERIES_STATS };

struct result {
    double *time; /* [count - lost], room for a power of two */
    uint32_t count, lost;
};

struct results {
    bool receives;
    uint32_t n;
    uint32_t used;        /* peers with whom there is something */
    struct result with[]; /* [n] */
};

struct results *results_create (uint32_t n, bool receives)
{
    struct results *r
        = calloc (1, sizeof (*r) + n * sizeof (struct result));

    if (r) {
        r->n = n;
        r->receives = receives;
    }
    return r;
}

static void clear (struct results *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        free (r->with[i].time);
        r->with[i] = (struct result){ 0 };
    }
    r->used = 0;
}

void results_destroy (struct results *r)
{
    if (r) {
        clear (r);
        free (r);
    }
}

static struct result *begin (struct results *r, uint32_t peer)
{
    if (r->with[peer].count++ == 0)
        r->used++;
    return &r->with[peer];
}

int results_add_lost (struct results *r, uint32_t peer)
{
    begin (r, peer)->lost++;
    return 0;
}

int results_add (struct results *r, uint32_t peer, double time_ns)
{
    struct result *x = &r->with[peer];
    size_t n = x->count - x->lost;

    if ((n & (n - 1)) == 0) {
        double *v = realloc (x->time, (n ? 2 * n : 1) * sizeof (*v));

        if (!v)
            return -1;
        x->time = v;
    }
    x->time[n] = time_ns;
    begin (r, peer);
    return 0;
}

static void pack (uint8_t *p, uint32_t peer, struct result *x)
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

/* False where it makes no sense. */
static bool unpack (const uint8_t *p, uint32_t n, uint32_t *peer,
                    struct series_pair *pair)
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

/* What one process sent. */
static int take (const struct results *r, const struct party *p,
                 uint32_t from, const struct comm_blob *blob,
                 uint64_t length, struct series *s, struct error *err)
{
    if (!blob->data) {
        s->process[from].lost = true;
        s->complete = false;
        return 0;
    }
    for (size_t at = 0; at < blob->len; at += RECORD) {
        struct series_pair pair = { .length = length };
        uint32_t peer;

        if (blob->len - at < RECORD
            || !unpack (blob->data + at, p->n, &peer, &pair))
            return error_world (err, "%s sent results that make no sense",
                                p->comm->label (p->c, from));
        pair.a = r->receives ? peer : from;
        pair.b = r->receives ? from : peer;
        if (series_add_pair (s, &pair, err) < 0)
            return -1;
        s->complete = s->complete && series_measured (&pair);
    }
    return 0;
}

int results_collect (struct results *r, const struct party *p,
                     uint64_t length, struct series *s, struct error *err)
{
    size_t len = (size_t)r->used * RECORD;
    struct comm_blob *all = s ? calloc (p->n, sizeof (*all)) : NULL;
    uint8_t *data = malloc (len + 1);
    uint8_t *at = data;
    int rc = -1;

    if (!data || (s && !all)) {
        error_nomem (err);
        goto error;
    }
    for (uint32_t i = 0; i < r->n; i++)
        if (r->with[i].count > 0) {
            pack (at, i, &r->with[i]);
            at += RECORD;
        }
    if (p->comm->collect (p->c, data, len, all, err) < 0)
        goto error;
    rc = 0;
    keep_lock (p->keep);
    for (uint32_t i = 0; s && i < p->n; i++) {
        if (rc == 0)
            rc = take (r, p, i, &all[i], length, s, err);
        free (all[i].data);
    }
    keep_unlock (p->keep);
    clear (r);
error:
    free (data);
    free (all);
    return rc;
}
