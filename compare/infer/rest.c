/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether what a model leaves is noise.
 *
 * Notes: a switch or an edge that the model lacks, or a node at the wrong
 * switch, leave nodes that are nearer to each other than the model says.
 * (Further says less: of two ways that are as long, the model takes the one
 * that noise makes shorter.) The sum of k values of noise is below -z sigma
 * sqrt (k) less often than exp (-z^2 / 2); so of all patterns that take d
 * digits to name, one in exp (z^2 / 2 - d) is. Patterns looked for:
 *
 * - blocks: those at one switch, or one of them, and those at another.
 *
 * - groups: pairs within groups of nodes, which may be two nodes in all, or
 *   all nodes by fours. They are found by average linkage, and made better
 *   node by node. To name them takes log (n over m) digits for the m nodes in
 *   any, m log g - log g! to say who is in which of the g, and those of g and
 *   m - 2 g, log (k (k + 1)) for the number k >= 1.
 */
#include "config.h"
#include "compare/infer/rest.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/linkage.h"

enum { SWEEPS = 50 };

struct look {
    uint32_t n;     /* nodes */
    double *left;   /* [n * n] of the values, by their standard deviation; 0:
                       not known */
    double sd, most; /* ns: of all, and the furthest */
    uint8_t *known; /* [n * n] */
    uint32_t *at;   /* [n] the vertex of a node: its switch, or itself */
    uint32_t nvertices;
};

/* Groups of nodes, called by numbers below n, of which some are of none. */
struct groups {
    uint32_t *of, *size; /* [n] */
    uint32_t n, members; /* of two or more, and who is in these */
    double sum, pairs;   /* within them */
    double *sums, *counts; /* [n] scratch: of a node's pairs, by groups */
};

static int fill_left (struct look *k, const struct topology_model *m,
                      const struct infer_matrix *w)
{
    double *d = malloc ((size_t)m->nnodes * m->nvertices * sizeof (*d));
    double sum = 0, known = 0;

    if (!d || topology_paths (m, d, NULL) < 0) {
        free (d);
        return -1;
    }
    for (uint32_t a = 0; a < k->n; a++)
        for (uint32_t b = 0; b < k->n; b++) {
            size_t i = (size_t)a * k->n + b;
            double ns = infer_matrix_at (w, a, b);

            if (a == b || isnan (ns))
                continue;
            k->left[i] = ns - d[(size_t)a * m->nvertices + b];
            k->known[i] = 1;
            k->most = fmax (k->most, fabs (k->left[i]));
            sum += k->left[i] * k->left[i];
            known++;
        }
    k->sd = sqrt (sum / fmax (known, 1));
    for (size_t i = 0; sum > 0 && i < (size_t)k->n * k->n; i++)
        k->left[i] /= k->sd;
    free (d);
    return 0;
}

/* Keep what saves more than what is known. */
static void keep (struct rest *rest, double digits, double ns)
{
    if (digits > rest->digits) {
        rest->digits = digits;
        rest->ns = ns;
    }
}

/* Blocks whose rows are those of `of`, columns those at a vertex. */
static int look_blocks (const struct look *k, const uint32_t *of,
                        struct rest *rest)
{
    uint32_t nv = k->nvertices;
    double *sum = calloc ((size_t)nv * nv + 1, sizeof (*sum));
    double *count = calloc ((size_t)nv * nv + 1, sizeof (*count));
    double blocks = 0;

    if (sum && count) {
        for (uint32_t a = 0; a < k->n; a++)
            for (uint32_t b = 0; b < k->n; b++) {
                size_t i = (size_t)of[a] * nv + k->at[b];

                /* within a switch pairs come twice */
                if (of[a] == k->at[b] && b < a)
                    continue;
                sum[i] += k->left[(size_t)a * k->n + b];
                count[i] += k->known[(size_t)a * k->n + b];
            }
        for (size_t i = 0; i < (size_t)nv * nv; i++)
            blocks += count[i] > 0;
        for (size_t i = 0; i < (size_t)nv * nv; i++)
            if (count[i] > 0 && sum[i] < 0)
                keep (rest, sum[i] * sum[i] / (2 * count[i]) - log (blocks),
                      -sum[i] / count[i] * k->sd);
    }
    free (count);
    free (sum);
    return sum && count ? 0 : -1;
}

/* Digits that groups save. */
static double saved (uint32_t n, const struct groups *g)
{
    double ng = g->n, m = g->members, more = m - 2 * ng + 1;

    if (!(g->sum < 0))
        return 0;
    return g->sum * g->sum / (2 * g->pairs)
           - (lgamma (n + 1.0) - lgamma (m + 1) - lgamma (n - m + 1))
           - (m * log (ng) - lgamma (ng + 1)) - log (ng * (ng + 1))
           - log (more * (more + 1));
}

static void resize (struct groups *g, uint32_t group, int64_t by)
{
    uint32_t old = g->size[group], new = (uint32_t)(old + by);

    g->n += (new > 1) - (old > 1);
    g->members += (new > 1 ? new : 0) - (old > 1 ? old : 0);
    g->size[group] = new;
}

/* Of a node's pairs, sums and counts by the groups of the other nodes. */
static void sum_pairs (const struct look *k, struct groups *g, uint32_t a)
{
    memset (g->sums, 0, k->n * sizeof (*g->sums));
    memset (g->counts, 0, k->n * sizeof (*g->counts));
    for (uint32_t b = 0; b < k->n; b++) {
        g->sums[g->of[b]] += k->left[(size_t)a * k->n + b];
        g->counts[g->of[b]] += k->known[(size_t)a * k->n + b];
    }
}

/* Move a node, of which there are the sums, to another group. */
static void move (struct groups *g, uint32_t a, uint32_t to)
{
    uint32_t from = g->of[a];

    g->sum += g->sums[to] - g->sums[from];
    g->pairs += g->counts[to] - g->counts[from];
    resize (g, from, -1);
    resize (g, to, 1);
    g->of[a] = to;
}

static void unite (const struct look *k, struct groups *g,
                   const struct merge *merge)
{
    for (uint32_t a = 0; a < k->n; a++)
        if (g->of[a] == merge->b) {
            sum_pairs (k, g, a);
            move (g, a, merge->a);
        }
}

/* Begin with each node alone, and let the first merges happen. */
static void begin (const struct look *k, struct groups *g,
                   const struct merge *merge, int64_t merges)
{
    g->n = g->members = 0;
    g->sum = g->pairs = 0;
    for (uint32_t a = 0; a < k->n; a++) {
        g->of[a] = a;
        g->size[a] = 1;
    }
    for (int64_t i = 0; i < merges; i++)
        unite (k, g, &merge[i]);
}

/* Begin with as many merges as save the most. */
static void cut (const struct look *k, struct groups *g,
                 const struct merge *merge, int64_t merges)
{
    double most = 0;
    int64_t best = 0;

    begin (k, g, merge, 0);
    for (int64_t i = 0; i < merges && merge[i].mean < 0; i++) {
        unite (k, g, &merge[i]);
        if (saved (k->n, g) > most) {
            most = saved (k->n, g);
            best = i + 1;
        }
    }
    begin (k, g, merge, best);
}

/* Move a node to the group, or to none, where that saves the most. Returns
 * whether it is moved.
 */
static bool move_best (const struct look *k, struct groups *g, uint32_t a)
{
    uint32_t from = g->of[a], best = from;
    double most = saved (k->n, g) * (1 + 1e-9);
    bool empty = false;

    sum_pairs (k, g, a);
    for (uint32_t to = 0; to < k->n; to++) {
        if (to == from || (g->size[to] == 0 && empty))
            continue;
        empty = empty || g->size[to] == 0;
        move (g, a, to);
        if (saved (k->n, g) > most) {
            most = saved (k->n, g);
            best = to;
        }
        move (g, a, from);
    }
    if (best != from)
        move (g, a, best);
    return best != from;
}

static void improve (const struct look *k, struct groups *g)
{
    bool moved = g->n > 0;

    for (int i = 0; i < SWEEPS && moved; i++) {
        moved = false;
        for (uint32_t a = 0; a < k->n; a++)
            moved = move_best (k, g, a) || moved;
    }
}

static int look_groups (const struct look *k, struct rest *rest)
{
    uint32_t n = k->n;
    size_t size = (size_t)n * n;
    struct groups g = {
        .of = calloc ((size_t)n + 1, sizeof (*g.of)),
        .size = calloc ((size_t)n + 1, sizeof (*g.size)),
        .sums = calloc ((size_t)n + 1, sizeof (*g.sums)),
        .counts = calloc ((size_t)n + 1, sizeof (*g.counts)),
    };
    struct merge *merge = calloc ((size_t)n + 1, sizeof (*merge));
    double *sum = malloc ((size + 1) * sizeof (*sum));
    double *weight = malloc ((size + 1) * sizeof (*weight));
    int64_t merges = -1;

    if (g.of && g.size && g.sums && g.counts && merge && sum && weight) {
        for (size_t i = 0; i < size; i++) {
            sum[i] = k->left[i];
            weight[i] = k->known[i];
        }
        merges = linkage (n, sum, weight, merge);
    }
    if (merges >= 0) {
        cut (k, &g, merge, merges);
        improve (k, &g);
        if (g.sum < 0)
            keep (rest, saved (n, &g), -g.sum / g.pairs * k->sd);
    }
    free (g.of);
    free (g.size);
    free (g.sums);
    free (g.counts);
    free (merge);
    free (sum);
    free (weight);
    return merges < 0 ? -1 : 0;
}

int rest_of (const struct topology_model *m, const struct infer_matrix *w,
             struct rest *rest)
{
    uint32_t n = m->nnodes;
    struct look k = {
        .n = n,
        .left = calloc ((size_t)n * n + 1, sizeof (*k.left)),
        .known = calloc ((size_t)n * n + 1, sizeof (*k.known)),
        .at = calloc ((size_t)n + 1, sizeof (*k.at)),
        .nvertices = m->nvertices,
    };
    uint32_t *self = calloc ((size_t)n + 1, sizeof (*self));
    int rc = -1;

    *rest = (struct rest){ 0 };
    if (!k.left || !k.known || !k.at || !self || fill_left (&k, m, w) < 0)
        goto out;
    rest->most = k.most;
    for (uint32_t a = 0; a < n; a++)
        k.at[a] = self[a] = a;
    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].a < n && m->edge[i].b >= n)
            k.at[m->edge[i].a] = m->edge[i].b;
    if (look_blocks (&k, k.at, rest) == 0
        && look_blocks (&k, self, rest) == 0
        && look_groups (&k, rest) == 0)
        rc = 0;
out:
    free (k.left);
    free (k.known);
    free (k.at);
    free (self);
    return rc;
}
