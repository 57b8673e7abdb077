/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. The weight of a link is its age in units of every_s. Below SOON it is
 * 0. So the oldest link finally has the greatest weight, whatever else there is
 * to gain. The audit starts with a pair whose paths cross this link: the one
 * whose paths weigh most. Then it is extended host by host. Each time the host
 * is added that gains most: the weights of the links on its paths to and from
 * the chosen hosts that no chosen path crosses yet, and a little for each of
 * these pairs that is open (undetermined: SWEEP_OPEN).
 *
 * All pairs are searched by trees (paths/tree), each path once. psi(i,s) is the
 * sum over the path to endpoint i from leaf s and over the first hop of i. The
 * sum of a pair is psi(a, leaf of b) + psi(b, leaf of a). To find open pairs,
 * only the greatest and the least psi of any two leaves are kept. If there are
 * more than LEAVES_MAX leaves, a random choice of them is searched: the next
 * sweep chooses others.
 *
 * To extend costs a walk for each candidate and chosen host. If these are too
 * many, half of the candidates are the hosts whose own links weigh most, and
 * half are random.
 *
 * z is the projection of a random vector onto the null space of the rows, by
 * conjugate gradients on A z = 0 (CGLS: Bjorck, "Numerical methods for least
 * squares problems", 1996, 7.4). Directions that the rows determine poorly
 * vanish last. If the iterations end first, such directions remain in z and
 * count as open, as they should.
 */
#include "config.h"
#include "prolog/serve/sweep.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "util/alloc.h"
#include "util/rng.h"
#include "util/sort.h"

enum {
    LEAVES_MAX = 512,
    HOPS_MAX = 30 * 1000 * 1000, /* of walks */
    HOPS_USUAL = 10,             /* of a round trip */
    ITERATIONS_MAX = 2000,
    ITERATIONS_MIN = 50,
    ENTRIES_MAX = 200 * 1000 * 1000, /* to iterate over */
};

#define SOON 0.75      /* of every_s */
#define NEWS 1e-3      /* an open pair, compared with links that are due */
#define CONVERGED 1e-7 /* of the gradient, squared */

/*
 * What the measurements leave open
 */

/* A z; returns its square. */
static double rows_times (const struct observations *o, const double *z,
                          double *y)
{
    double sum = 0;

    for (size_t i = 0; i < o->n; i++) {
        const struct observation *v = &o->v[i];

        y[i] = 0;
        for (size_t k = 0; k < v->n; k++)
            y[i] += v->count[k] * z[v->link[k]];
        sum += y[i] * y[i];
    }
    return sum;
}

/* g = A' y; returns its square. */
static double rows_back (const struct observations *o, const double *y,
                         double *g, size_t nlinks)
{
    double sum = 0;

    memset (g, 0, nlinks * sizeof (*g));
    for (size_t i = 0; i < o->n; i++)
        for (size_t k = 0; k < o->v[i].n; k++)
            g[o->v[i].link[k]] += o->v[i].count[k] * y[i];
    for (size_t j = 0; j < nlinks; j++)
        sum += g[j] * g[j];
    return sum;
}

static size_t iterations (const struct observations *o)
{
    size_t entries = 1;
    size_t n;

    for (size_t i = 0; i < o->n; i++)
        entries += o->v[i].n;
    n = ENTRIES_MAX / entries;
    return n < ITERATIONS_MIN ? ITERATIONS_MIN
           : n > ITERATIONS_MAX ? ITERATIONS_MAX
                                : n;
}

void sweep_unknown (const struct observations *o, size_t nlinks, uint64_t seed,
                    double *z)
{
    double *r = xcalloc (2 * (o->n + nlinks), sizeof (*r));
    double *q = r + o->n;      /* A p */
    double *g = q + o->n;      /* A' r */
    double *p = g + nlinks;    /* search direction */
    double was, first;
    struct rng rng;

    rng_seed (&rng, seed);
    for (size_t j = 0; j < nlinks; j++)
        z[j] = rng_normal (&rng);
    rows_times (o, z, r);
    first = was = rows_back (o, r, g, nlinks);
    memcpy (p, g, nlinks * sizeof (*p));
    for (size_t i = iterations (o); i > 0 && was > CONVERGED * CONVERGED
                                                       * first; i--) {
        double step = was / rows_times (o, p, q);
        double now;

        for (size_t j = 0; j < nlinks; j++)
            z[j] -= step * p[j];
        for (size_t k = 0; k < o->n; k++)
            r[k] -= step * q[k];
        now = rows_back (o, r, g, nlinks);
        for (size_t j = 0; j < nlinks; j++)
            p[j] = g[j] + now / was * p[j];
        was = now;
    }
    free (r);
}

/*
 * The audit
 */

/* The endpoints of one host: member[first .. end-1]. */
struct rails {
    size_t first, end;
    double own; /* weight of their links */
    bool taken;
};

struct sweep_choice {
    const struct sweep_input *in;
    const struct network *net;
    struct tree *tree;
    struct sweep_plan *out;
    struct rng rng;
    double *weight;    /* [links] 0: not due, or measured by the audit */
    uint32_t *seen;    /* [links] stamp of the last host that crossed it */
    uint32_t stamp;
    double *psi;       /* [nplaces + 1] by step of the tree */
    uint32_t *member;  /* [n] endpoints, grouped by host */
    uint32_t *host_of; /* [n] the host of an endpoint */
    struct rails *host;
    size_t nhosts;
    uint32_t *candidate; /* [ncandidates] hosts */
    size_t ncandidates;
};

static void choice_clear (struct sweep_choice *c)
{
    tree_destroy (c->tree);
    free (c->weight);
    free (c->seen);
    free (c->psi);
    free (c->member);
    free (c->host_of);
    free (c->host);
    free (c->candidate);
}

struct host_end {
    const char *host;
    uint32_t endpoint;
};

static int by_host (const void *va, const void *vb)
{
    const struct host_end *a = va;
    const struct host_end *b = vb;
    int order = strcmp (a->host, b->host);

    return order ? order : util_compare (a->endpoint, b->endpoint);
}

static void find_hosts (struct sweep_choice *c, size_t n)
{
    struct host_end *end = xarray (n, sizeof (*end));

    for (uint32_t i = 0; i < n; i++)
        end[i] = (struct host_end){ pathset_endpoint (c->in->ps, i)->host, i };
    qsort (end, n, sizeof (*end), by_host);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp (end[i - 1].host, end[i].host))
            c->host[c->nhosts++].first = i;
        c->host[c->nhosts - 1].end = i + 1;
        c->member[i] = end[i].endpoint;
        c->host_of[end[i].endpoint] = (uint32_t)(c->nhosts - 1);
    }
    free (end);
}

/* A link's age in units of every_s; 0 if it is not due soon. A link that was
 * never measured is older than all others. If the time is in the future, the
 * link is due.
 */
static double weigh (const struct sweep_input *in, int64_t measured,
                     double oldest)
{
    double age = ((double)in->now - (double)measured) / (double)in->every_s;

    if (measured == SWEEP_NEVER)
        return oldest + 1;
    if (age < 0)
        return 1;
    return age < SOON ? 0 : age;
}

/* Weigh the links that the set's paths cross, and count the due ones. */
static int weigh_links (struct sweep_choice *c, struct error *err)
{
    const struct sweep_input *in = c->in;
    double oldest = 1;
    size_t m;
    const uint32_t *link = pathset_links (in->ps, &m, err);

    if (!link)
        return -1;
    for (size_t j = 0; j < m; j++)
        if (in->measured[link[j]] != SWEEP_NEVER)
            oldest = fmax (oldest, weigh (in, in->measured[link[j]], 0));
    for (size_t j = 0; j < m; j++) {
        double w = weigh (in, in->measured[link[j]], oldest);

        c->weight[link[j]] = w;
        c->out->due += w >= 1;
    }
    return 0;
}

static int choice_make (struct sweep_choice *c, struct error *err)
{
    size_t n = pathset_size (c->in->ps);

    c->net = pathset_network (c->in->ps);
    rng_seed (&c->rng, c->in->seed);
    c->weight = xcalloc (c->net->nlinks, sizeof (*c->weight));
    c->seen = xcalloc (c->net->nlinks, sizeof (*c->seen));
    c->psi = xcalloc (c->net->nplaces + 1, sizeof (*c->psi));
    c->member = xcalloc (n, sizeof (*c->member));
    c->host_of = xcalloc (n, sizeof (*c->host_of));
    c->host = xcalloc (n, sizeof (*c->host));
    c->candidate = xcalloc (n, sizeof (*c->candidate));
    find_hosts (c, n);
    c->tree = tree_create (c->in->ps);
    return weigh_links (c, err);
}

/* psi of the tree's destination, from each step of the tree. */
static void fill_psi (struct sweep_choice *c, const double *z)
{
    const struct tree *t = c->tree;
    uint32_t up = t->up[t->to];

    c->psi[0] = up == NETWORK_NONE ? 0 : z[arc_link (up)];
    for (size_t k = 1; k < t->n; k++)
        c->psi[k] = c->psi[t->parent[k]] + z[arc_link (t->arc[k])];
}

/*
 * The first pair
 */

struct first_pair {
    uint32_t a, b; /* NETWORK_NONE: none */
    double score;
};

/* Keep the better of two pairs; among equals, a random one. */
static void offer (struct sweep_choice *c, struct first_pair *best, uint32_t a,
                   uint32_t b, double score, uint64_t *equals)
{
    if (best->a != NETWORK_NONE && score < best->score)
        return;
    if (best->a == NETWORK_NONE || score > best->score)
        *equals = 0;
    if (rng_below (&c->rng, ++*equals) == 0)
        *best = (struct first_pair){ a, b, score };
}

/* A random member of the leaf other than b. */
static uint32_t draw_member (struct sweep_choice *c, uint32_t leaf, uint32_t b)
{
    const struct tree *t = c->tree;
    size_t n = t->first[leaf + 1] - t->first[leaf];
    size_t at = rng_below (&c->rng, n);

    if (t->member[t->first[leaf] + at] == b)
        at = (at + 1) % n;
    return t->member[t->first[leaf] + at];
}

/* The first step of the tree that crosses the link; 0: none. */
static size_t crossing_step (const struct tree *t, uint32_t link)
{
    for (size_t k = 1; k < t->n; k++)
        if (arc_link (t->arc[k]) == link)
            return k;
    return 0;
}

/* Among the pairs whose path to b crosses the link, choose the one whose path
 * to b weighs most.
 */
static int pair_across (struct sweep_choice *c, uint32_t link,
                        struct first_pair *best, struct error *err)
{
    struct tree *t = c->tree;
    uint64_t equals = 0;

    best->a = NETWORK_NONE;
    for (uint32_t i = 0; i < pathset_size (c->in->ps); i++) {
        size_t step;
        bool first;

        if (tree_grow (t, i, err) < 0)
            return -1;
        step = crossing_step (t, link);
        first = t->up[i] != NETWORK_NONE && arc_link (t->up[i]) == link;
        if (!first && step == 0)
            continue;
        fill_psi (c, c->weight);
        for (uint32_t s = 0; s < t->nleaves; s++) {
            size_t k = t->leaf[s];

            if (s == t->leaf_of[i] && t->first[s + 1] - t->first[s] == 1)
                continue;
            while (!first && k > step)
                k = t->parent[k];
            if (first || k == step)
                offer (c, best, draw_member (c, s, i), i, c->psi[t->leaf[s]],
                       &equals);
        }
    }
    return 0;
}

/* A pair across the oldest due link; best->a is NETWORK_NONE if none is due. */
static int pair_due (struct sweep_choice *c, struct first_pair *best,
                     struct error *err)
{
    uint32_t oldest = NETWORK_NONE;
    uint64_t equals = 0;

    best->a = NETWORK_NONE;
    for (uint32_t j = 0; j < c->net->nlinks; j++) {
        if (c->weight[j] < 1
            || (oldest != NETWORK_NONE && c->weight[j] < c->weight[oldest]))
            continue;
        if (oldest == NETWORK_NONE || c->weight[j] > c->weight[oldest])
            equals = 0;
        if (rng_below (&c->rng, ++equals) == 0)
            oldest = j;
    }
    return oldest == NETWORK_NONE ? 0 : pair_across (c, oldest, best, err);
}

/* The endpoint of one leaf with the extreme psi from another leaf. */
struct extreme {
    double value;
    uint32_t endpoint;
};

struct extremes {
    size_t n;            /* leaves that are searched */
    uint32_t *leaf;      /* [n] */
    struct extreme *v;   /* [2][n][n] greatest, then least: to, from leaf */
    struct extreme *own; /* [2][n] second best within one leaf */
};

static struct extreme *at (const struct extremes *x, int sign, size_t to,
                           size_t from)
{
    return &x->v[((size_t)sign * x->n + to) * x->n + from];
}

static bool beyond (int sign, double value, const struct extreme *e)
{
    return e->endpoint == NETWORK_NONE
           || (sign ? value < e->value : value > e->value);
}

/* Enter the tree's destination, which is on leaf x->leaf[s]. */
static void enter (struct sweep_choice *c, struct extremes *x, size_t s)
{
    uint32_t to = (uint32_t)c->tree->to;

    for (size_t u = 0; u < x->n; u++)
        for (int sign = 0; sign < 2; sign++) {
            double value = c->psi[c->tree->leaf[x->leaf[u]]];
            struct extreme *e = at (x, sign, s, u);
            struct extreme *second = &x->own[(size_t)sign * x->n + s];

            if (beyond (sign, value, e)) {
                if (u == s)
                    *second = *e;
                *e = (struct extreme){ value, to };
            }
            else if (u == s && beyond (sign, value, second))
                *second = (struct extreme){ value, to };
        }
}

static void offer_open (struct sweep_choice *c, struct first_pair *best,
                        const struct extreme *x, const struct extreme *y,
                        uint64_t *equals)
{
    double open = fabs (x->value + y->value);

    if (x->endpoint != NETWORK_NONE && y->endpoint != NETWORK_NONE
        && open > SWEEP_OPEN)
        offer (c, best, x->endpoint, y->endpoint, open, equals);
}

static int extremes_make (struct sweep_choice *c, struct extremes *x,
                          struct error *err)
{
    const struct tree *t = c->tree;
    size_t n = t->nleaves < LEAVES_MAX ? t->nleaves : LEAVES_MAX;

    x->leaf = xarray (t->nleaves, sizeof (*x->leaf));
    x->v = xcalloc (2 * n * n, sizeof (*x->v));
    x->own = xcalloc (2 * n, sizeof (*x->own));
    for (size_t i = 0; i < t->nleaves; i++)
        x->leaf[i] = (uint32_t)i;
    if (n < t->nleaves)
        rng_shuffle (&c->rng, x->leaf, t->nleaves);
    x->n = n;
    for (size_t i = 0; i < 2 * n * n; i++)
        x->v[i].endpoint = NETWORK_NONE;
    for (size_t i = 0; i < 2 * n; i++)
        x->own[i].endpoint = NETWORK_NONE;
    for (size_t s = 0; s < n; s++)
        for (size_t k = t->first[x->leaf[s]]; k < t->first[x->leaf[s] + 1];
             k++) {
            if (tree_grow (c->tree, t->member[k], err) < 0)
                return -1;
            fill_psi (c, c->in->unknown);
            enter (c, x, s);
        }
    return 0;
}

/* The pair that is least determined. */
static int pair_open (struct sweep_choice *c, struct first_pair *best,
                      struct error *err)
{
    struct extremes x = { 0 };
    uint64_t equals = 0;
    int rc = extremes_make (c, &x, err);

    best->a = NETWORK_NONE;
    for (size_t s = 0; rc == 0 && s < x.n; s++)
        for (int sign = 0; sign < 2; sign++) {
            offer_open (c, best, at (&x, sign, s, s),
                        &x.own[(size_t)sign * x.n + s], &equals);
            for (size_t u = 0; u < s; u++)
                offer_open (c, best, at (&x, sign, s, u),
                            at (&x, sign, u, s), &equals);
        }
    free (x.leaf);
    free (x.v);
    free (x.own);
    return rc;
}

/*
 * The other hosts
 */

/* Add to *gain what a pair gains: the weights of its links that no other pair
 * crossed since the stamp changed, and NEWS if it is open.
 */
static int pair_gain (struct sweep_choice *c, uint32_t a, uint32_t b,
                      double *gain, struct error *err)
{
    uint32_t arc[ROW_MAX];
    double open = 0;
    int there = pathset_walk (c->in->ps, a, b, arc, err);
    int back = there < 0 ? -1
                         : pathset_walk (c->in->ps, b, a, arc + there, err);

    if (back < 0)
        return -1;
    for (int i = 0; i < there + back; i++) {
        uint32_t link = arc_link (arc[i]);

        if (c->in->unknown)
            open += c->in->unknown[link];
        if (c->weight[link] > 0 && c->seen[link] != c->stamp) {
            c->seen[link] = c->stamp;
            *gain += c->weight[link];
        }
    }
    if (fabs (open) > SWEEP_OPEN)
        *gain += NEWS;
    return 0;
}

/* What a host gains: its paths to and from the chosen hosts, and those among
 * its own rails.
 */
static int host_gain (struct sweep_choice *c, uint32_t host, double *gain,
                      struct error *err)
{
    const struct rails *h = &c->host[host];

    *gain = 0;
    c->stamp++;
    for (size_t i = h->first; i < h->end; i++) {
        for (size_t k = 0; k < c->out->n; k++)
            if (pair_gain (c, c->member[i], c->out->endpoint[k], gain, err)
                < 0)
                return -1;
        for (size_t k = h->first; k < i; k++)
            if (pair_gain (c, c->member[i], c->member[k], gain, err) < 0)
                return -1;
    }
    return 0;
}

/* Choose a host. The links that its paths cross then weigh nothing. */
static int take (struct sweep_choice *c, uint32_t host, struct error *err)
{
    struct rails *h = &c->host[host];
    double gain;

    if (host_gain (c, host, &gain, err) < 0)
        return -1;
    for (size_t j = 0; j < c->net->nlinks; j++)
        if (c->seen[j] == c->stamp) {
            c->out->covered += c->weight[j] >= 1;
            c->weight[j] = 0;
        }
    for (size_t i = h->first; i < h->end; i++)
        c->out->endpoint[c->out->n++] = c->member[i];
    c->out->hosts++;
    h->taken = true;
    return 0;
}

/* The weight of the host's own links. */
static double own_weight (const struct sweep_choice *c, const struct rails *h)
{
    double own = 0;

    for (size_t i = h->first; i < h->end; i++) {
        uint32_t up = c->tree->up[c->member[i]];

        own += up == NETWORK_NONE ? 0 : c->weight[arc_link (up)];
    }
    return own;
}

struct ranked_host {
    double own;
    uint32_t at, host;
};

static int by_weight (const void *va, const void *vb)
{
    const struct ranked_host *a = va;
    const struct ranked_host *b = vb;
    int c = util_compare (b->own, a->own);

    return c ? c : util_compare (a->at, b->at);
}

/* Choose at most `most` candidates. If there are more hosts: one half by their
 * own weight (ties in random order), the other half random among the rest.
 */
static void find_candidates (struct sweep_choice *c, size_t most)
{
    struct ranked_host *rank;

    for (size_t i = 0; i < c->nhosts; i++)
        c->candidate[i] = (uint32_t)i;
    rng_shuffle (&c->rng, c->candidate, c->nhosts);
    c->ncandidates = c->nhosts;
    if (c->nhosts <= most)
        return;
    rank = xarray (c->nhosts, sizeof (*rank));
    for (size_t i = 0; i < c->nhosts; i++) {
        uint32_t host = c->candidate[i];

        rank[i] = (struct ranked_host){ own_weight (c, &c->host[host]),
                                        (uint32_t)i, host };
    }
    qsort (rank, c->nhosts, sizeof (*rank), by_weight);
    for (size_t i = 0; i < c->nhosts; i++)
        c->candidate[i] = rank[i].host;
    rng_shuffle (&c->rng, c->candidate + most / 2, c->nhosts - most / 2);
    c->ncandidates = most;
    free (rank);
}

/* How many candidates HOPS_MAX allows. */
static size_t most_candidates (const struct sweep_choice *c)
{
    size_t rails = (pathset_size (c->in->ps) + c->nhosts - 1) / c->nhosts;
    size_t ends = c->in->hosts * rails;
    size_t most = HOPS_MAX / (ends * ends / 2 * HOPS_USUAL + 1);

    return most < 2 * c->in->hosts ? 2 * c->in->hosts : most;
}

static int extend (struct sweep_choice *c, struct error *err)
{
    while (c->out->hosts < c->in->hosts) {
        uint32_t best = NETWORK_NONE;
        double most = 0;

        for (size_t i = 0; i < c->ncandidates; i++) {
            uint32_t host = c->candidate[i];
            double gain = 0;

            if (!c->host[host].taken && host_gain (c, host, &gain, err) < 0)
                return -1;
            if (gain > most) {
                most = gain;
                best = host;
            }
        }
        if (best == NETWORK_NONE)
            return 0;
        if (take (c, best, err) < 0)
            return -1;
    }
    return 0;
}

static int choose (struct sweep_choice *c, struct error *err)
{
    struct first_pair first = { .a = NETWORK_NONE };

    if (pair_due (c, &first, err) < 0
        || (first.a == NETWORK_NONE && c->in->unknown
            && pair_open (c, &first, err) < 0))
        return -1;
    if (first.a == NETWORK_NONE)
        return 0;
    find_candidates (c, most_candidates (c));
    if (take (c, c->host_of[first.a], err) < 0
        || (c->host_of[first.b] != c->host_of[first.a]
            && take (c, c->host_of[first.b], err) < 0))
        return -1;
    return extend (c, err);
}

int sweep_choose (struct sweep_plan *s, const struct sweep_input *in,
                  struct error *err)
{
    struct sweep_choice c = { .in = in, .out = s };
    size_t n = pathset_size (in->ps);
    int rc = -1;

    *s = (struct sweep_plan){ .endpoint = xcalloc (n, sizeof (*s->endpoint)) };
    if (n < 2 || in->hosts < 2)
        return 0;
    if (choice_make (&c, err) == 0)
        rc = choose (&c, err);
    choice_clear (&c);
    return rc;
}

void sweep_clear (struct sweep_plan *s)
{
    free (s->endpoint);
    *s = (struct sweep_plan){ 0 };
}
