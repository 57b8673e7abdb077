/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans and latencies in the file formats of other programs. */
#include "config.h"
#include "compare/export/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/cluster.h"
#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

/*
 * ClusterKit
 */

/* The hosts of a round. Each may occur only once. */
static int check_round_hosts (const struct probe *p, size_t n, size_t round,
                              const struct pathset *ps, const char **host,
                              struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        host[2 * i] = pathset_endpoint (ps, p[i].a)->host;
        host[2 * i + 1] = pathset_endpoint (ps, p[i].b)->host;
    }
    qsort (host, 2 * n, sizeof (*host), compare_strings);
    for (size_t i = 1; i < 2 * n; i++)
        if (strcmp (host[i - 1], host[i]) == 0)
            return error_input (err, "round %zu: %s is in it twice, by two "
                                     "rails; plan one rail for ClusterKit",
                                round + 1, host[i]);
    return 0;
}

int clusterkit_write (const struct plan *plan, const struct pathset *ps,
                      FILE *fp, struct error *err)
{
    const char **host = xarray (pathset_ports (ps) + 2, sizeof (*host));
    const struct probe *p;
    size_t n;
    int rc = 0;

    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++) {
        p = plan_round (plan, r, &n);
        rc = check_round_hosts (p, n, r, ps, host, err);
    }
    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++) {
        p = plan_round (plan, r, &n);
        for (size_t i = 0; i < n; i++)
            fprintf (fp, "%zu %s %s\n", r + 1,
                     pathset_endpoint (ps, p[i].a)->host,
                     pathset_endpoint (ps, p[i].b)->host);
    }
    free (host);
    return rc;
}

/*
 * LogGOPSim
 */

static int below_zero (double ns, double overhead_ns, struct error *err)
{
    return error_input (err, "a latency of %.6g ns is less than twice the "
                             "overhead of %.6g ns", ns, overhead_ns);
}

int loggops_write (const struct infer_matrix *m, double overhead_ns, FILE *fp,
                   struct error *err)
{
    double *v = xarray ((size_t)m->n * m->n, sizeof (*v));
    size_t n = infer_matrix_values (m, v);
    double median = n > 0 ? stats_median (v, n) : NAN;

    free (v);
    if (n == 0)
        return error_input (err, "no pair is known");
    if (median < 2 * overhead_ns)
        return below_zero (median, overhead_ns, err);
    fprintf (fp, "-L %.0f -o %.0f\n", median - 2 * overhead_ns, overhead_ns);
    return 0;
}

int loggops_write_pairs (const struct infer_matrix *m, double overhead_ns,
                         FILE *fp, struct error *err)
{
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++) {
            double ns = infer_matrix_at (m, a, b);

            if (isnan (ns))
                return error_input (err, "%s to %s is not known", m->label[a],
                                    m->label[b]);
            if (ns < 2 * overhead_ns)
                return below_zero (ns, overhead_ns, err);
        }
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = 0; b < m->n; b++)
            fprintf (fp, "%.0f%c",
                     a == b ? 0 : infer_matrix_at (m, a, b) - 2 * overhead_ns,
                     b + 1 < m->n ? ' ' : '\n');
    return 0;
}

/*
 * Scotch
 *
 * The file of a decomposition has the line "deco 0"; then the number of
 * terminals and the greatest vertex number of one in the tree of halves; then a
 * line per terminal: its label, weight and vertex. Vertex 1 is the whole, and
 * vertex v consists of 2v and 2v+1. Then come the distances of each terminal to
 * those before it. The file of a tree has the word "tleaf", its number of
 * levels, and for each level from the top: into how many parts a vertex is
 * divided, and the cost of a link there.
 */

static int check_known (const struct infer_matrix *m, struct error *err)
{
    uint64_t unknown = infer_matrix_unknown (m);

    if (unknown > 0)
        return error_input (err, "an architecture wants all pairs, %s not "
                                 "known", COUNTED (unknown, "pair"));
    return 0;
}

static long latency_distance (double ns)
{
    return ns < 1 ? 1 : lround (ns);
}

/*
 * Scotch: deco
 */

struct keyed_node {
    uint32_t node;
    double key;
};

static int compare_keyed_nodes (const void *a, const void *b)
{
    const struct keyed_node *x = a, *y = b;

    if (x->key != y->key)
        return util_compare (x->key, y->key);
    return util_compare (x->node, y->node);
}

/* The one of n nodes that is farthest from node `from`. */
static uint32_t farthest (const struct infer_matrix *m,
                          const struct keyed_node *v, size_t n, uint32_t from)
{
    uint32_t far = v[0].node;

    for (size_t i = 1; i < n; i++)
        if (infer_matrix_at (m, from, v[i].node)
            > infer_matrix_at (m, from, far))
            far = v[i].node;
    return far;
}

/* Number the vertices of n nodes, which together are `vertex`. */
static void number_vertices (const struct infer_matrix *m, struct keyed_node *v,
                             size_t n, uint32_t vertex, uint32_t *number)
{
    uint32_t a, b;

    if (n == 1) {
        number[v[0].node] = vertex;
        return;
    }
    a = farthest (m, v, n, v[0].node);
    b = farthest (m, v, n, a);
    for (size_t i = 0; i < n; i++)
        v[i].key = infer_matrix_at (m, v[i].node, a)
                   - infer_matrix_at (m, v[i].node, b);
    qsort (v, n, sizeof (*v), compare_keyed_nodes);
    number_vertices (m, v, n - n / 2, 2 * vertex, number);
    number_vertices (m, v + (n - n / 2), n / 2, 2 * vertex + 1, number);
}

int scotch_write_deco (const struct infer_matrix *m, FILE *fp,
                       struct error *err)
{
    struct keyed_node *v;
    uint32_t *number;
    uint32_t most = 1;

    if (check_known (m, err) < 0)
        return -1;
    v = xcalloc (m->n, sizeof (*v));
    number = xcalloc (m->n, sizeof (*number));
    for (uint32_t i = 0; i < m->n; i++)
        v[i].node = i;
    number_vertices (m, v, m->n, 1, number);
    for (uint32_t i = 0; i < m->n; i++)
        if (number[i] > most)
            most = number[i];
    fprintf (fp, "deco\n0\n%" PRIu32 "\t%" PRIu32 "\n", m->n, most);
    for (uint32_t i = 0; i < m->n; i++)
        fprintf (fp, "%" PRIu32 "\t1\t%" PRIu32 "\n", i, number[i]);
    for (uint32_t a = 1; a < m->n; a++)
        for (uint32_t b = 0; b < a; b++)
            fprintf (fp, "%ld%c", latency_distance (infer_matrix_at (m, a, b)),
                     b + 1 < a ? ' ' : '\n');
    free (v);
    free (number);
    return 0;
}

/*
 * Scotch: tleaf
 */

struct leaf_tree {
    const struct infer_matrix *m;
    struct clusters levels;     /* of latencies, the lowest level first */
    uint32_t size[CLUSTER_MAX]; /* of a group, by level */
    uint32_t *group;            /* [n] of the current level */
};

static size_t level (const struct leaf_tree *t, uint32_t a, uint32_t b)
{
    return clusters_of (&t->levels, infer_matrix_at (t->m, a, b));
}

static int no_tree (const struct leaf_tree *t, uint32_t a, uint32_t b,
                    struct error *err)
{
    return error_input (err, "%s and %s: the latencies are no tree of equal "
                             "groups; a deco takes any", t->m->label[a],
                        t->m->label[b]);
}

/* The groups of a level: the first node without a group, and all nodes that are
 * no farther from it than this level. Checks that two nodes are in one group if
 * and only if they are this near to each other, and that all groups have the
 * same size.
 */
static int group_tree_level (struct leaf_tree *t, size_t l, struct error *err)
{
    uint32_t n = t->m->n;

    for (uint32_t a = 0; a < n; a++)
        t->group[a] = UINT32_MAX;
    for (uint32_t a = 0; a < n; a++) {
        uint32_t size = 1;

        if (t->group[a] != UINT32_MAX)
            continue;
        t->group[a] = a;
        for (uint32_t b = a + 1; b < n; b++)
            if (level (t, a, b) <= l) {
                if (t->group[b] != UINT32_MAX)
                    return no_tree (t, a, b, err);
                t->group[b] = a;
                size++;
            }
        if (t->size[l] != 0 && t->size[l] != size)
            return no_tree (t, 0, a, err);
        t->size[l] = size;
    }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++)
            if ((level (t, a, b) <= l) != (t->group[a] == t->group[b]))
                return no_tree (t, a, b, err);
    return 0;
}

/* Order the nodes by their groups of this level; the order within a group
 * stays. A group's name is its first node. All groups have the same size, so
 * the k-th group's nodes start at k times `size`.
 */
static void sort_groups (const struct leaf_tree *t, size_t l, uint32_t *order)
{
    uint32_t n = t->m->n, groups = 0;
    uint32_t *next = xarray (n, sizeof (*next));
    uint32_t *sorted = xarray (n, sizeof (*sorted));

    for (uint32_t a = 0; a < n; a++)
        if (t->group[a] == a)
            next[a] = groups++ * t->size[l];
    for (uint32_t k = 0; k < n; k++)
        sorted[next[t->group[order[k]]]++] = order[k];
    memcpy (order, sorted, n * sizeof (*order));
    free (next);
    free (sorted);
}

static void print_tree (const struct leaf_tree *t, FILE *fp)
{
    fprintf (fp, "tleaf\t%zu", t->levels.n);
    for (size_t l = t->levels.n; l-- > 0;) {
        double below = l > 0 ? t->levels.c[l - 1].mean : 0;

        fprintf (fp, "\t%" PRIu32 " %ld",
                 t->size[l] / (l > 0 ? t->size[l - 1] : 1),
                 latency_distance (t->levels.c[l].mean - below));
    }
    putc ('\n', fp);
}

int scotch_write_tleaf (const struct infer_matrix *m, double eps,
                        uint32_t *order, FILE *fp, struct error *err)
{
    struct leaf_tree t = { .m = m };
    double *v;
    int rc = 0;

    if (check_known (m, err) < 0)
        return -1;
    t.group = xarray (m->n, sizeof (*t.group));
    v = xarray ((size_t)m->n * m->n, sizeof (*v));
    clusters_find (&t.levels, v, infer_matrix_values (m, v), eps);
    for (uint32_t k = 0; k < m->n; k++)
        order[k] = k;
    for (size_t l = 0; l < t.levels.n && rc == 0; l++)
        if ((rc = group_tree_level (&t, l, err)) == 0)
            sort_groups (&t, l, order);
    if (rc == 0)
        print_tree (&t, fp);
    clusters_clear (&t.levels);
    free (t.group);
    free (v);
    return rc;
}
