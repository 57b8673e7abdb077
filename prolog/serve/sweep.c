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
 * sum of a pair is psi(a, leaf of b) + psi(b, leaf of a). The first pair is the
 * one with the greatest sum, of the weights or of z. If all psi take too much
 * memory, a random choice of leaves is searched: the next sweep chooses others.
 *
 * To extend costs a walk for each candidate and chosen host. If these are too
 * many, the candidates are the hosts whose own links weigh most.
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
    PSI_MAX = 16 * 1000 * 1000,
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
    uint32_t *member;  /* [n] endpoints, grouped by host */
    uint32_t *host_of; /* [n] the host of an endpoint */
    struct rails *host;
    size_t nhosts;
};

static int by_host (const void *va, const void *vb, void *ps)
{
    uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
    int order = strcmp (pathset_endpoint (ps, a)->host,
                        pathset_endpoint (ps, b)->host);

    return order ? order : util_compare (a, b);
}

static void find_hosts (struct sweep_choice *c, size_t n)
{
    struct pathset *ps = c->in->ps;
    uint32_t *member = xarray (n, sizeof (*member));

    c->member = member;
    c->host_of = xcalloc (n, sizeof (*c->host_of));
    c->host = xcalloc (n, sizeof (*c->host));
    for (uint32_t i = 0; i < n; i++)
        member[i] = i;
    qsort_r (member, n, sizeof (*member), by_host, ps);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || strcmp (pathset_endpoint (ps, member[i - 1])->host,
                              pathset_endpoint (ps, member[i])->host))
            c->host[c->nhosts++].first = i;
        c->host[c->nhosts - 1].end = i + 1;
        c->host_of[member[i]] = (uint32_t)(c->nhosts - 1);
    }
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

/*
 * The first pair
 */

struct first_pair {
    uint32_t a, b; /* NETWORK_NONE: none */
    double score;
    uint64_t equals;
};

/* Keep the better of two pairs; among equals, a random one. */
static void offer (struct sweep_choice *c, struct first_pair *best, uint32_t a,
                   uint32_t b, double score)
{
    if (score < best->score)
        return;
    if (score > best->score)
        best->equals = 0;
    if (rng_below (&c->rng, ++best->equals) == 0) {
        best->a = a;
        best->b = b;
    }
    best->score = score;
}

/* psi of the members of the leaf leaf[s], seen from each of the n leaves: from
 * leaf u, that of member k is psi[u][k - first[leaf[s]]].
 */
static int fill_psi (struct sweep_choice *c, const double *z,
                     const uint32_t *leaf, size_t n, size_t s, double **psi,
                     double *sum, struct error *err)
{
    struct tree *t = c->tree;
    size_t first = t->first[leaf[s]], end = t->first[leaf[s] + 1];

    for (size_t u = 0; u < n; u++)
        psi[s * n + u] = xarray (end - first, sizeof (**psi));
    for (size_t k = first; k < end; k++) {
        uint32_t up = t->up[t->member[k]];

        if (tree_grow (t, t->member[k], err) < 0)
            return -1;
        sum[0] = up == NETWORK_NONE ? 0 : z[arc_link (up)];
        for (size_t i = 1; i < t->n; i++)
            sum[i] = sum[t->parent[i]] + z[arc_link (t->arc[i])];
        for (size_t u = 0; u < n; u++)
            psi[s * n + u][k - first] = sum[t->leaf[leaf[u]]];
    }
    return 0;
}

/* Find the pair with the greatest |row . z|, if that is above best->score. If
 * there are too many leaves, `wanted` is one of those that are searched.
 */
static int find_pair (struct sweep_choice *c, const double *z, uint32_t wanted,
                      struct first_pair *best, struct error *err)
{
    const struct tree *t = c->tree;
    const uint32_t *first = t->first;
    size_t n = t->nleaves, ends = pathset_size (c->in->ps);
    uint32_t *leaf = xarray (n, sizeof (*leaf));
    double *sum = xarray (tree_steps (t), sizeof (*sum));
    double **psi; /* [from leaf n * s + u] of the members of leaf s */
    int rc = 0;

    for (uint32_t i = 0; i < n; i++)
        leaf[i] = i;
    if (n > PSI_MAX / ends) {
        leaf[wanted] = 0;
        leaf[0] = wanted;
        rng_shuffle (&c->rng, leaf + 1, n - 1);
        n = (size_t)sqrt (PSI_MAX / ((double)ends / (double)n));
    }
    psi = xcalloc (n * n, sizeof (*psi));
    for (size_t s = 0; s < n && rc == 0; s++) {
        rc = fill_psi (c, z, leaf, n, s, psi, sum, err);
        for (size_t u = 0; u <= s && rc == 0; u++)
            for (size_t a = first[leaf[s]]; a < first[leaf[s] + 1]; a++) {
                size_t end = u == s ? a : first[leaf[u] + 1];
                double there = psi[s * n + u][a - first[leaf[s]]];
                const double *back = psi[u * n + s];

                for (size_t b = first[leaf[u]]; b < end; b++)
                    offer (c, best, t->member[a], t->member[b],
                           fabs (there + back[b - first[leaf[u]]]));
            }
    }
    for (size_t i = 0; i < n * n; i++)
        free (psi[i]);
    free (psi);
    free (leaf);
    free (sum);
    return rc;
}

/* A pair across the oldest due link: among these, the one whose links weigh
 * most. The weights of all other links together are less than that one's.
 */
static int pair_due (struct sweep_choice *c, struct first_pair *best,
                     struct error *err)
{
    size_t nlinks = c->net->nlinks;
    uint32_t oldest = NETWORK_NONE, wanted = 0;
    uint64_t equals = 0;
    double total = 0;
    double *z;
    int rc;

    for (uint32_t j = 0; j < nlinks; j++) {
        total += c->weight[j];
        if (c->weight[j] < 1
            || (oldest != NETWORK_NONE && c->weight[j] < c->weight[oldest]))
            continue;
        if (oldest == NETWORK_NONE || c->weight[j] > c->weight[oldest])
            equals = 0;
        if (rng_below (&c->rng, ++equals) == 0)
            oldest = j;
    }
    if (oldest == NETWORK_NONE)
        return 0;
    z = xcalloc (nlinks, sizeof (*z));
    for (size_t j = 0; j < nlinks; j++)
        z[j] = j == oldest ? 1 : c->weight[j] / (4 * total);
    for (size_t i = 0; i < pathset_size (c->in->ps); i++)
        if (c->tree->up[i] != NETWORK_NONE
            && arc_link (c->tree->up[i]) == oldest)
            wanted = c->tree->leaf_of[i];
    best->score = 1;
    rc = find_pair (c, z, wanted, best, err);
    free (z);
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
static int host_gain (struct sweep_choice *c, const struct rails *h,
                      double *gain, struct error *err)
{
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
static int take (struct sweep_choice *c, struct rails *h, struct error *err)
{
    double gain;

    if (host_gain (c, h, &gain, err) < 0)
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

struct sweep_candidate {
    double own; /* the weight of the host's own links */
    double tie; /* random */
    struct rails *host;
};

static int by_weight (const void *va, const void *vb)
{
    const struct sweep_candidate *a = va;
    const struct sweep_candidate *b = vb;
    int c = util_compare (b->own, a->own);

    return c ? c : util_compare (a->tie, b->tie);
}

/* All hosts; those whose own links weigh most come first. */
static struct sweep_candidate *find_candidates (struct sweep_choice *c)
{
    struct sweep_candidate *v = xcalloc (c->nhosts, sizeof (*v));

    for (size_t k = 0; k < c->nhosts; k++) {
        v[k].host = &c->host[k];
        v[k].tie = rng_uniform (&c->rng);
        for (size_t i = v[k].host->first; i < v[k].host->end; i++) {
            uint32_t up = c->tree->up[c->member[i]];

            v[k].own += up == NETWORK_NONE ? 0 : c->weight[arc_link (up)];
        }
    }
    qsort (v, c->nhosts, sizeof (*v), by_weight);
    return v;
}

/* Add the host that gains most, as long as there is one. */
static int extend (struct sweep_choice *c, const struct sweep_candidate *v,
                   struct error *err)
{
    size_t rails = (pathset_size (c->in->ps) + c->nhosts - 1) / c->nhosts;
    size_t ends = c->in->hosts * rails;
    size_t n = HOPS_MAX / (ends * ends / 2 * HOPS_USUAL + 1);

    if (n < 2 * c->in->hosts)
        n = 2 * c->in->hosts;
    if (n > c->nhosts)
        n = c->nhosts;
    while (c->out->hosts < c->in->hosts) {
        struct rails *best = NULL;
        double most = 0;

        for (size_t i = 0; i < n; i++) {
            double gain = 0;

            if (!v[i].host->taken && host_gain (c, v[i].host, &gain, err) < 0)
                return -1;
            if (gain > most) {
                most = gain;
                best = v[i].host;
            }
        }
        if (!best)
            return 0;
        if (take (c, best, err) < 0)
            return -1;
    }
    return 0;
}

static int choose (struct sweep_choice *c, struct error *err)
{
    struct first_pair first = { .a = NETWORK_NONE };
    struct sweep_candidate *v;
    struct rails *a, *b;
    int rc;

    if (weigh_links (c, err) < 0 || pair_due (c, &first, err) < 0)
        return -1;
    if (first.a == NETWORK_NONE && c->in->unknown) {
        first.score = SWEEP_OPEN;
        if (find_pair (c, c->in->unknown, 0, &first, err) < 0)
            return -1;
    }
    if (first.a == NETWORK_NONE)
        return 0;
    v = find_candidates (c);
    a = &c->host[c->host_of[first.a]];
    b = &c->host[c->host_of[first.b]];
    rc = take (c, a, err) < 0 || (b != a && take (c, b, err) < 0)
             ? -1
             : extend (c, v, err);
    free (v);
    return rc;
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
    c.seen = xcalloc (c.net->nlinks, sizeof (*c.seen));
    c.tree = tree_create (in->ps);
    rng_seed (&c.rng, in->seed);
    find_hosts (&c, n);
    rc = choose (&c, err);
    tree_destroy (c.tree);
    free (c.weight);
    free (c.seen);
    free (c.member);
    free (c.host_of);
    free (c.host);
    return rc;
}

void sweep_clear (struct sweep_plan *s)
{
    free (s->endpoint);
    *s = (struct sweep_plan){ 0 };
}
