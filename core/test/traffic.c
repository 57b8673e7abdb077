/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/test/traffic.h"

#include <math.h>
#include <stdlib.h>

#include "core/rate/carry.h"
#include "util/alloc.h"

/* Limits of a round, numbered as they occur, and the ways that cross them; others'
 * flows come after ours.
 */
struct traffic_limits {
    const struct traffic_sim *t;
    uint32_t *number; /* [2 * nlinks + 2 * ports]: arcs, what each port sends, and
                         receives; from 1; 0: no flow of ours crosses it */
    double *bits;
    size_t n;
    struct csr ways;
    size_t room;
};

static uint32_t add_traffic_limit (struct traffic_limits *w, double bits)
{
    w->bits = xgrow (w->bits, w->n, sizeof (*w->bits));
    w->bits[w->n] = bits;
    return (uint32_t)w->n++;
}

static void cross_limit (struct traffic_limits *w, uint32_t limit)
{
    size_t *end = &w->ways.start[w->ways.n];

    if (*end == w->room)
        w->ways.v = xrealloc (w->ways.v, w->room += w->room + PATH_MAX_HOPS,
                              sizeof (*w->ways.v));
    w->ways.v[(*end)++] = 2 * limit;
}

/* What other flows of the round may cross, too. */
static void cross_shared (struct traffic_limits *w, uint32_t *number,
                          double bits)
{
    if (*number == 0)
        *number = 1 + add_traffic_limit (w, bits);
    cross_limit (w, *number - 1);
}

static void begin_traffic_way (struct traffic_limits *w)
{
    w->ways.start
        = xrealloc (w->ways.start, w->ways.n + 2, sizeof (*w->ways.start));
    if (w->ways.n == 0)
        w->ways.start[0] = 0;
    w->ways.n++;
    w->ways.start[w->ways.n] = w->ways.start[w->ways.n - 1];
}

static int add_traffic_way (struct traffic_limits *w, const struct pathset *ps,
                            uint32_t a, uint32_t b, struct error *err)
{
    const struct traffic_host *host = w->t->host;
    uint32_t from = pathset_port (ps, a), to = pathset_port (ps, b);
    uint32_t *ports = w->number + 2 * pathset_network (ps)->nlinks;
    uint32_t arc[PATH_MAX_HOPS];
    int hops = pathset_walk (ps, a, b, arc, err);

    if (hops < 0)
        return -1;
    begin_traffic_way (w);
    cross_shared (w, &ports[2 * from], host[from].send);
    for (int i = 0; i < hops; i++)
        cross_shared (w, &w->number[arc[i]], w->t->arc_bits[arc[i]]);
    cross_shared (w, &ports[2 * to + 1], host[to].receive);
    return 0;
}

static void count_burst (struct burst_way *way, double bits)
{
    way->best = fmax (way->best, bits);
    way->worst = way->kept++ > 0 ? fmin (way->worst, bits) : bits;
}

static double with_noise (const struct traffic_sim *t, double bits, struct rng *rng)
{
    return bits * fmax (0, 1 + t->noise * rng_normal (rng));
}

/* One burst of a round: others that do not pause, and what all get. */
static void burst_among (struct traffic_limits *w, size_t ours, double *rate,
                         struct rng *rng)
{
    size_t limits = w->n;

    for (size_t i = 0; i < w->t->nothers; i++) {
        const struct traffic_flow *o = &w->t->other[i];

        /* drawn in any case, so that the plan does not change the weather */
        if (rng_uniform (rng) < o->pause || w->number[o->arc] == 0)
            continue;
        begin_traffic_way (w);
        cross_limit (w, w->number[o->arc] - 1);
        cross_limit (w, add_traffic_limit (w, o->bits));
    }
    fair_rates (&w->ways, w->bits, w->n, rate);
    w->ways.n = ours;
    w->n = limits;
}

int traffic_round (const struct traffic_sim *t, const struct pathset *ps,
                   const struct probe *pair, size_t n, uint32_t round,
                   struct bursts *b, struct rng *rng, struct error *err)
{
    struct traffic_limits w = {
        .t = t,
        .number
        = xcalloc (2 * (pathset_network (ps)->nlinks + pathset_ports (ps)),
                   sizeof (*w.number)),
    };
    double *rate = xarray (2 * n + t->nothers, sizeof (*rate));
    size_t first = b->nflows;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        bursts_add_flow (b, &(struct burst_flow){ .a = pair[i].a,
                                                  .b = pair[i].b,
                                                  .round = round,
                                                  .crowd = t->crowds });
        if (add_traffic_way (&w, ps, pair[i].a, pair[i].b, err) < 0
            || add_traffic_way (&w, ps, pair[i].b, pair[i].a, err) < 0)
            rc = -1;
    }
    for (unsigned int k = 0; k < t->bursts && rc == 0; k++) {
        burst_among (&w, 2 * n, rate, rng);
        for (size_t i = 0; i < 2 * n; i++)
            count_burst (&b->flow[first + i / 2].way[i % 2],
                         with_noise (t, rate[i], rng));
    }
    csr_clear (&w.ways);
    free (w.number);
    free (w.bits);
    free (rate);
    return rc;
}

int traffic_measure (const struct traffic_sim *t, const struct pathset *ps,
                     const struct plan *plan, uint32_t round, struct bursts *b,
                     struct rng *rng, struct error *err)
{
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *pair = plan_round (plan, r, &n);

        if (traffic_round (t, ps, pair, n, round + (uint32_t)r, b, rng, err)
            < 0)
            return -1;
    }
    return 0;
}

void traffic_loopbacks (const struct traffic_sim *t, const struct pathset *ps,
                        uint32_t round, struct bursts *b, struct rng *rng)
{
    size_t seen = 0;

    for (uint32_t e = 0; e < pathset_size (ps); e++) {
        struct burst_flow f = { .a = e, .b = e, .round = round };

        if (pathset_port (ps, e) != seen)
            continue;
        for (unsigned int k = 0; k < t->bursts; k++)
            count_burst (&f.way[0],
                         with_noise (t, t->host[seen].loopback, rng));
        bursts_add_flow (b, &f);
        seen++;
    }
}
