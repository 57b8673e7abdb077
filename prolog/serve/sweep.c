/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. The weight of a link is its age in units of every_s. Below SOON it is
 * 0. The audit starts with the pair whose due links weigh most, to a power that
 * lets the oldest link decide. Then it is extended by each host that adds
 * something: a link of some weight that no chosen path crosses yet, or a pair
 * that is open (undetermined). Hosts whose own links weigh most
 * come first, otherwise the order is random. (To take the host that adds most
 * each time, instead, needs no fewer audits.)
 *
 * A pair costs a walk. If there are too many pairs to begin with, a random
 * choice is walked: the next sweep chooses others.
 *
 * z is the projection of a random vector onto the null space of the rows: the
 * vector without what they tell of it, by least squares with a weak prior of 0
 * for each link. Directions that the rows determine by less than the prior count
 * as open; so do all if it does not converge.
 */
#include "config.h"
#include "prolog/serve/sweep.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sort.h"

enum { PAIRS_MAX = 500 * 1000 };

#define SOON 0.75      /* of every_s */
#define AGE_MAX 1e6    /* never measured */
#define AGE_DOUBTED 1e7
#define OLDEST 8       /* power of a due link's weight, in the first pair */
#define PRIOR 1e-7      /* weight; that of a row is 1 */
#define PROJECTED 1e-5  /* tolerance: far below SWEEP_OPEN */

/*
 * What the measurements leave open
 */

void sweep_unknown (const struct observations *o, size_t nlinks, uint64_t seed,
                    double *z)
{
    struct sparse *a = sparse_create (nlinks);
    size_t rows = o->n + nlinks;
    double *w = xarray (rows, sizeof (*w)), *t = xcalloc (rows, sizeof (*t));
    double *y = xcalloc (nlinks, sizeof (*y));
    const int8_t one = 1;
    struct rng rng;
    struct lsq *q;

    rng_seed (&rng, seed);
    for (size_t j = 0; j < nlinks; j++)
        z[j] = rng_normal (&rng);
    for (size_t i = 0; i < o->n; i++) {
        sparse_add (a, o->v[i].link, (const int8_t *)o->v[i].count, o->v[i].n);
        t[i] = sparse_row_dot (a, i, z);
        w[i] = 1;
    }
    for (uint32_t j = 0; j < nlinks; j++) {
        sparse_add (a, &j, &one, 1);
        w[o->n + j] = PRIOR;
    }
    q = lsq_create (a, w);
    if (q && lsq_solve (q, t, PROJECTED, y) == 0)
        for (size_t j = 0; j < nlinks; j++)
            z[j] -= y[j];
    lsq_destroy (q);
    free (w);
    free (t);
    free (y);
    sparse_destroy (a);
}

/*
 * The audit
 */

/* An idle host; its endpoints are first .. end-1 of the set. */
struct idle_host {
    uint32_t first, end;
    double own; /* the weight of its own links, and a random bit of it */
    bool chosen;
};

struct sweep_choice {
    const struct sweep_input *in;
    bool doubts; /* of a link that is due */
    const struct network *net;
    struct sweep_plan *out;
    struct rng rng;
    double *weight;         /* [links] 0: not due, or measured by the audit */
    struct idle_host *host; /* the greatest own weight first */
    size_t nhosts;
};

/* Weigh the links that the set's paths cross by their age in units of every_s,
 * and count the due ones. One that was never measured is older than all others;
 * one that was in the future is due.
 */
static int weigh_links (struct sweep_choice *c, struct error *err)
{
    const struct sweep_input *in = c->in;
    size_t m;
    const uint32_t *link = pathset_links (in->ps, &m, err);

    for (size_t j = 0; j < m && link; j++) {
        int64_t measured = in->measured[link[j]];
        double age = ((double)in->now - (double)measured) / (double)in->every_s;

        c->weight[link[j]] = measured == SWEEP_DOUBTED ? AGE_DOUBTED
                             : age < 0                 ? 1
                             : age < SOON              ? 0
                                                       : fmin (age, AGE_MAX);
        c->doubts |= measured == SWEEP_DOUBTED;
        c->out->due += c->weight[link[j]] >= 1;
    }
    return link ? 0 : -1;
}

static int by_weight (const void *va, const void *vb)
{
    const struct idle_host *a = va;
    const struct idle_host *b = vb;

    return util_compare (b->own, a->own);
}

static void find_idle_hosts (struct sweep_choice *c)
{
    struct pathset *ps = c->in->ps;
    size_t n = pathset_size (ps);
    struct idle_host *h = NULL;
    const char *last = NULL;

    c->host = xcalloc (n, sizeof (*c->host));
    for (uint32_t i = 0; i < n; i++) {
        const struct endpoint *e = pathset_endpoint (ps, i);
        uint32_t arc;

        if (!last || strcmp (last, e->host)) {
            h = &c->host[c->nhosts++];
            h->first = i;
            h->own = 1e-6 * rng_uniform (&c->rng);
        }
        last = e->host;
        h->end = i + 1;
        c->net->attach (c->net->net, e->id, &arc);
        if (arc != NETWORK_NONE)
            h->own += c->weight[arc_link (arc)];
    }
    sort_array (c->host, c->nhosts, by_weight);
}

/* The arcs of a round trip. Return their number, or -1 with err. */
static int sweep_round_trip (const struct sweep_choice *c, uint32_t a,
                             uint32_t b, uint32_t arc[ROW_MAX],
                             struct error *err)
{
    int there = pathset_walk (c->in->ps, a, b, arc, err);
    int back = there < 0 ? -1
                         : pathset_walk (c->in->ps, b, a, arc + there, err);

    return back < 0 ? -1 : there + back;
}

/* Whether the round trip over these arcs is undetermined. */
static bool is_open (const struct sweep_choice *c, const uint32_t *arc,
                     int hops)
{
    double sum = 0;

    for (int i = 0; i < hops && c->in->unknown; i++)
        sum += c->in->unknown[arc_link (arc[i])];
    return fabs (sum) > SWEEP_OPEN;
}

/* What a pair counts that begins the audit: its due links, if any is due
 * anywhere; else whether it is open.
 */
static double score (const struct sweep_choice *c, const uint32_t *arc,
                     int hops)
{
    double sum = 0;

    if (c->out->due == 0)
        return is_open (c, arc, hops);
    for (int i = 0; i < hops; i++)
        if (c->weight[arc_link (arc[i])] >= 1)
            sum += pow (c->weight[arc_link (arc[i])], OLDEST);
    return sum;
}

/* Find the pair with the greatest score; among equals, a random one. Return
 * whether there is one above 0, or -1 with err.
 */
static int find_best_pair (struct sweep_choice *c, uint32_t pair[2],
                           struct error *err)
{
    size_t n = pathset_size (c->in->ps);
    size_t pairs = n * (n - 1) / 2;
    bool all = pairs <= PAIRS_MAX;
    uint32_t a = 0, b = 0, arc[ROW_MAX];
    uint64_t equals = 0;
    double best = 0;

    if (!all)
        pairs = PAIRS_MAX;
    for (; pairs > 0; pairs--) {
        double value;
        int hops;

        if (!all) {
            a = (uint32_t)rng_below (&c->rng, n);
            b = (uint32_t)rng_below (&c->rng, n - 1);
            b += b >= a;
        }
        else if (++b >= n)
            b = ++a + 1;
        if ((hops = sweep_round_trip (c, a, b, arc, err)) < 0)
            return -1;
        value = score (c, arc, hops);
        if (value <= 0 || value < best)
            continue;
        if (value > best)
            equals = 0;
        best = value;
        if (rng_below (&c->rng, ++equals) == 0) {
            pair[0] = a;
            pair[1] = b;
        }
    }
    return best > 0;
}

/* Whether a pair adds something; -1 with err. Its links then weigh nothing, but
 * one that is doubted: many pairs tell it from others.
 */
static int pair_adds_links (struct sweep_choice *c, uint32_t a, uint32_t b,
                            struct error *err)
{
    uint32_t arc[ROW_MAX];
    int hops = sweep_round_trip (c, a, b, arc, err);
    bool any = is_open (c, arc, hops);

    for (int i = 0; i < hops; i++) {
        uint32_t link = arc_link (arc[i]);

        any |= c->weight[link] > 0;
        if (c->in->measured[link] != SWEEP_DOUBTED)
            c->weight[link] = 0;
    }
    return hops < 0 ? -1 : any;
}

static bool has_endpoint (const struct idle_host *h, uint32_t endpoint)
{
    return endpoint >= h->first && endpoint < h->end;
}

/* Choose a host if it adds something by its paths to and from the chosen hosts,
 * or among its own rails; or in any case.
 */
static int add_sweep_host (struct sweep_choice *c, struct idle_host *h,
                           bool always, struct error *err)
{
    struct sweep_plan *out = c->out;
    size_t n = out->n;

    for (uint32_t i = h->first; i < h->end; i++) {
        for (size_t k = 0; k < n; k++) {
            int rc = pair_adds_links (c, i, out->endpoint[k], err);

            if (rc < 0)
                return -1;
            always |= rc > 0;
        }
        out->endpoint[n++] = i;
    }
    if (always) {
        out->n = n;
        out->hosts++;
        h->chosen = true;
    }
    return 0;
}

static int choose_sweep_hosts (struct sweep_choice *c, struct error *err)
{
    uint32_t pair[2] = { 0 };
    int rc
        = c->out->due > 0 || c->in->unknown ? find_best_pair (c, pair, err) : 0;

    /* the hosts of the first pair, then others that add something; then any, if
     * a link is doubted, to tell it from its neighbours
     */
    for (int turn = 0; turn < (c->doubts ? 3 : 2) && rc > 0; turn++)
        for (size_t k = 0; k < c->nhosts && c->out->hosts < c->in->hosts; k++) {
            struct idle_host *h = &c->host[k];
            bool first = has_endpoint (h, pair[0]) || has_endpoint (h, pair[1]);

            if (!h->chosen && (first || turn > 0)
                && add_sweep_host (c, h, turn != 1, err) < 0)
                return -1;
        }
    return rc < 0 ? -1 : 0;
}

int sweep_choose (struct sweep_plan *s, const struct sweep_input *in,
                  struct error *err)
{
    struct sweep_choice c = { .in = in, .out = s };
    size_t n = pathset_size (in->ps);
    int rc;

    *s = (struct sweep_plan){ .endpoint = xcalloc (n, sizeof (*s->endpoint)) };
    if (n < 2 || in->hosts < 2)
        return 0;
    c.net = pathset_network (in->ps);
    c.weight = xcalloc (c.net->nlinks, sizeof (*c.weight));
    rng_seed (&c.rng, in->seed);
    if ((rc = weigh_links (&c, err)) == 0) {
        find_idle_hosts (&c);
        rc = choose_sweep_hosts (&c, err);
    }
    free (c.weight);
    free (c.host);
    return rc;
}

void sweep_clear (struct sweep_plan *s)
{
    free (s->endpoint);
    *s = (struct sweep_plan){ 0 };
}
