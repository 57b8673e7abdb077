/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exports: what other programs would read in them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/export/export.h"
#include "compare/infer/matrix.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { N_MAX = 80 };

/* What a writer writes, the caller's; NULL where it failed and wrote nothing. */
struct text {
    char *buf;
    size_t size;
    FILE *fp;
};

static FILE *open_text (struct text *t)
{
    *t = (struct text){ 0 };
    if (!(t->fp = open_memstream (&t->buf, &t->size)))
        abort ();
    return t->fp;
}

static char *close_text (struct text *t, int rc)
{
    fclose (t->fp);
    if (rc == 0 || t->size > 0)
        return t->buf;
    free (t->buf);
    return NULL;
}

/* Three levels: 2 groups of 2 of 3, at 1000, 500 and 200 ns, a little off; the
 * nodes in an order by seed, node i being number at[i] of the tree.
 */
static struct infer_matrix *tree (uint32_t *at, uint64_t seed)
{
    struct infer_matrix *m = infer_matrix_create (12, NULL);
    struct rng rng;

    if (!m)
        abort ();
    rng_seed (&rng, seed);
    for (uint32_t i = 0; i < 12; i++)
        at[i] = i;
    if (seed > 0)
        rng_shuffle (&rng, at, 12);
    for (uint32_t a = 0; a < 12; a++)
        for (uint32_t b = a + 1; b < 12; b++) {
            double ns = at[a] / 6 != at[b] / 6   ? 1000
                        : at[a] / 3 != at[b] / 3 ? 500
                                                 : 200;

            infer_matrix_set (m, a, b, ns + rng_uniform (&rng));
        }
    return m;
}

/* deco */

/* Read a deco file; the vertex of each of its terminals. */
static int read_deco (const char *text, const struct infer_matrix *m,
                      unsigned int *vertex)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    unsigned int n, most, label, weight;
    long distance;
    int right = fscanf (fp, "deco 0 %u %u", &n, &most) == 2 && n == m->n;

    for (unsigned int i = 0; right && i < n; i++)
        right = fscanf (fp, "%u %u %u", &label, &weight, &vertex[i]) == 3
                && label == i && weight == 1 && vertex[i] >= 1
                && vertex[i] <= most;
    for (unsigned int a = 1; right && a < n; a++)
        for (unsigned int b = 0; right && b < a; b++)
            right = fscanf (fp, "%ld", &distance) == 1
                    && fabs ((double)distance - infer_matrix_at (m, a, b))
                           <= .5;
    right = right && fscanf (fp, "%ld", &distance) == EOF;
    fclose (fp);
    return right;
}

/* The vertices are the leaves of a binary tree: their halves add up to all. */
static int are_leaves (const unsigned int *vertex, uint32_t n)
{
    double all = 0;

    for (uint32_t i = 0; i < n; i++) {
        all += exp2 (-floor (log2 (vertex[i])));
        for (uint32_t j = 0; j < n; j++)
            for (unsigned int v = vertex[i]; j != i && v > 0; v /= 2)
                if (v == vertex[j])
                    return 0;
    }
    return all == 1;
}

static void test_deco (void)
{
    unsigned int vertex[N_MAX];
    uint32_t at[12];
    struct infer_matrix *m = tree (at, 5);
    struct error err = { 0 };
    struct text t;
    char *text;
    int together = 1, wrong = 0;

    text = close_text (&t, scotch_write_deco (m, open_text (&t), &err));
    ok (text && read_deco (text, m, vertex) && are_leaves (vertex, 12),
        "a deco has the distances, and halves down to its terminals");
    for (uint32_t a = 0; a < 12; a++)
        for (uint32_t b = 0; b < 12; b++) {
            unsigned int x = vertex[a], y = vertex[b];

            while (x > 3)
                x /= 2;
            while (y > 3)
                y /= 2;
            together &= (x == y) == (at[a] / 6 == at[b] / 6);
        }
    ok (together, "... and the halves are those of the tree");
    free (text);
    infer_matrix_set (m, 3, 7, NAN);
    text = close_text (&t, scotch_write_deco (m, open_text (&t), &err));
    ok (!text && strstr (err.text, "1 pair not"),
        "a pair that is not known: %s",
        err.text);
    infer_matrix_destroy (m);
    for (uint32_t n = 2; n <= N_MAX; n++) {
        struct rng rng;

        rng_seed (&rng, n);
        m = infer_matrix_create (n, NULL);
        for (uint32_t a = 0; m && a < n; a++)
            for (uint32_t b = a + 1; b < n; b++)
                infer_matrix_set (m, a, b, 1 + 1000 * rng_uniform (&rng));
        text = close_text (&t, scotch_write_deco (m, open_text (&t), &err));
        wrong += !text || !read_deco (text, m, vertex)
                 || !are_leaves (vertex, n);
        free (text);
        infer_matrix_destroy (m);
    }
    ok (wrong == 0, "and so it is of any 2 to %d nodes", N_MAX);
}

/* tleaf */

/* The distance of two terminals by the text of a tree, as Scotch has it: the
 * links of either from the lowest level up to where they meet.
 */
static long tree_distance (const char *text, uint32_t x, uint32_t y)
{
    unsigned int size[8], levels;
    long cost[8], sum = 0;
    int used;

    if (sscanf (text, "tleaf %u%n", &levels, &used) != 1 || levels > 8)
        return -1;
    for (unsigned int l = 0; l < levels; l++) {
        text += used;
        if (sscanf (text, "%u %ld%n", &size[l], &cost[l], &used) != 2)
            return -1;
    }
    for (unsigned int l = levels; l-- > 0 && x != y;) {
        sum += cost[l];
        x /= size[l];
        y /= size[l];
    }
    return x == y ? sum : -1;
}

static void test_tleaf (void)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        uint32_t at[12], order[12] = { 0 };
        struct infer_matrix *m = tree (at, seed);
        struct error err = { 0 };
        struct text t;
        char *text = close_text (&t, scotch_write_tleaf (m, .05, order,
                                                         open_text (&t),
                                                         &err));
        int wrong = 0;

        for (uint32_t x = 0; text && x < 12; x++)
            for (uint32_t y = 0; y < x; y++)
                wrong += fabs ((double)tree_distance (text, x, y)
                               - infer_matrix_at (m, order[x], order[y]))
                         > 2;
        ok (text && wrong == 0, "a tree, its nodes in order %d: %s",
            (int)seed, err.text);
        free (text);
        infer_matrix_destroy (m);
    }
}

/* What is no tree of equal groups. */
static const struct {
    const char *what;
    uint32_t n;
    double ns[4][4];
} uneven[] = {
    { "groups of 3 and 1", 4,
      { { 0, 2, 2, 4 }, { 2, 0, 2, 4 }, { 2, 2, 0, 4 }, { 4, 4, 4, 0 } } },
    { "a chain", 4,
      { { 0, 2, 4, 4 }, { 2, 0, 2, 4 }, { 4, 2, 0, 2 }, { 4, 4, 2, 0 } } },
    { "a ring", 4,
      { { 0, 2, 4, 2 }, { 2, 0, 2, 4 }, { 4, 2, 0, 2 }, { 2, 4, 2, 0 } } },
};

static void test_uneven (void)
{
    for (size_t i = 0; i < sizeof (uneven) / sizeof (uneven[0]); i++) {
        struct infer_matrix *m = infer_matrix_create (uneven[i].n, NULL);
        uint32_t order[4];
        struct error err = { 0 };
        struct text t;
        char *text;

        for (uint32_t a = 0; a < uneven[i].n; a++)
            for (uint32_t b = a + 1; b < uneven[i].n; b++)
                infer_matrix_set (m, a, b, uneven[i].ns[a][b]);
        text = close_text (&t, scotch_write_tleaf (m, .05, order,
                                                   open_text (&t), &err));
        ok (!text && strstr (err.text, "no tree"), "%s: %s", uneven[i].what,
            err.text);
        infer_matrix_destroy (m);
    }
}

/* LogGOPSim */

static void test_loggops (void)
{
    struct infer_matrix *m = infer_matrix_create (3, NULL);
    struct error err = { 0 };
    struct text t;
    char *text;

    if (!m)
        abort ();
    infer_matrix_set (m, 0, 1, 1000);
    infer_matrix_set (m, 0, 2, 1500);
    infer_matrix_set (m, 1, 2, 1200.4);
    text = close_text (&t, loggops_write (m, 150, open_text (&t), &err));
    ok (text && !strcmp (text, "-L 900 -o 150\n"), "options");
    free (text);
    text = close_text (&t, loggops_write_pairs (m, 100, open_text (&t),
                                                &err));
    ok (text && !strcmp (text, "0 800 1300\n800 0 1000\n1300 1000 0\n"),
        "all pairs");
    free (text);
    text = close_text (&t, loggops_write_pairs (m, 501, open_text (&t),
                                                &err));
    ok (!text && strstr (err.text, "overhead"), "less than none: %s",
        err.text);
    text = close_text (&t, loggops_write (m, 700, open_text (&t), &err));
    ok (!text && strstr (err.text, "overhead"), "... or so: %s", err.text);
    infer_matrix_set (m, 0, 1, NAN);
    text = close_text (&t, loggops_write (m, 0, open_text (&t), &err));
    ok (text && !strcmp (text, "-L 1350 -o 0\n"),
        "a median without what is not known");
    free (text);
    text = close_text (&t, loggops_write_pairs (m, 0, open_text (&t), &err));
    ok (!text && strstr (err.text, "not known"), "a pair that is not: %s",
        err.text);
    infer_matrix_destroy (m);
}

/* ClusterKit */

static void test_clusterkit (void)
{
    struct tablenet *t = tablenet_fattree (4, 2, TABLE_MINHOP, 1);
    struct plan *plan = plan_create ("pmm");
    struct endpoint e[4];
    struct error err = { 0 };
    struct pathset *ps;
    struct text out;
    char *text;

    for (uint32_t i = 0; i < 4; i++)
        e[i] = (struct endpoint){ i, t->name[i],
                                  i == 3 ? "k1" : t->name[i] };
    ps = pathset_create (&t->net, e, 4, &err);
    if (!ps || !plan)
        abort ();
    plan_add (plan, 0, 0, 1);
    plan_add (plan, 1, 2, 3);
    text = close_text (&out, clusterkit_write (plan, ps, open_text (&out),
                                               &err));
    ok (text && !strcmp (text, "1 k1 k2\n2 k3 k1\n"), "a plan's lines");
    free (text);
    plan_add (plan, 1, 0, 1);
    text = close_text (&out, clusterkit_write (plan, ps, open_text (&out),
                                               &err));
    ok (!text && strstr (err.text, "round 2: k1"),
        "two rails of a host in a round: %s", err.text);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* Where the matrices come from. */

static void add_pair (struct series *s, uint32_t a, uint32_t b,
                      uint64_t length, uint32_t lost, double ns)
{
    struct series_row p = { .a = a, .b = b, .count = 5, .lost = lost,
                             .length = length };

    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = ns + i;
    if (series_add (s, &p, NULL) < 0)
        abort ();
}

static void test_series (void)
{
    struct series *s = series_create (SERIES_ONE_TO_ONE);
    struct error err = { 0 };
    struct infer_matrix *m;

    for (int i = 0; i < 4; i++)
        if (!s || series_add_process (s, (const char *[]){ "a", "b", "c",
                                                           "d" }[i],
                                      "h", NULL) < 0)
            abort ();
    add_pair (s, 0, 1, 0, 0, 100);
    add_pair (s, 1, 0, 0, 0, 200);
    add_pair (s, 0, 2, 0, 0, 300);
    add_pair (s, 2, 2, 0, 0, 400);
    add_pair (s, 1, 2, 0, 5, 500);
    add_pair (s, 1, 3, 8, 0, 600);
    if (series_sort (s, NULL) < 0)
        abort ();
    m = infer_matrix_of_series (s, 0, SERIES_MIN, &err);
    ok (m && m->n == 4 && infer_matrix_at (m, 1, 0) == 150
            && infer_matrix_at (m, 0, 1) == 150
            && infer_matrix_at (m, 2, 0) == 300
            && infer_matrix_at (m, 2, 2) == 0
            && isnan (infer_matrix_at (m, 1, 2))
            && isnan (infer_matrix_at (m, 1, 3)) && !strcmp (m->label[3], "d"),
        "of a series: both sides' mean, a side alone, nothing that was lost"
        " or of another length: %s", err.text);
    infer_matrix_destroy (m);
    m = infer_matrix_of_series (s, 8, SERIES_MEDIAN, &err);
    ok (m && infer_matrix_at (m, 3, 1) == 600 + SERIES_MEDIAN,
        "of another length, another statistic");
    infer_matrix_destroy (m);
    m = infer_matrix_of_series (s, 9, SERIES_MEDIAN, &err);
    ok (!m && strstr (err.text, "9 bytes"), "of none: %s", err.text);
    for (size_t k = 0; k < s->npairs; k++)
        for (int i = 0; i < SERIES_STATS; i++)
            if (i != SERIES_SD && i != SERIES_MEAN)
                s->row[k].time_ns[i] = NAN;
    m = infer_matrix_of_series (s, 8, SERIES_MEDIAN, &err);
    ok (m && infer_matrix_at (m, 3, 1) == 600 + SERIES_MEAN,
        "of the statistic that is known");
    infer_matrix_destroy (m);
    for (size_t k = 0; k < s->npairs; k++)
        s->row[k].time_ns[SERIES_MEAN] = NAN;
    m = infer_matrix_of_series (s, 8, SERIES_MEDIAN, &err);
    ok (!m, "not of spreads: %s", err.text);
    series_destroy (s);
}

static void test_paths (void)
{
    struct tablenet *t = tablenet_fattree (4, 2, TABLE_MINHOP, 1);
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct error err = { 0 };
    struct infer_matrix *m = infer_matrix_of_paths (ps, &err);

    ok (m && m->n == 8 && infer_matrix_at (m, 0, 1) == 2
            && infer_matrix_at (m, 0, 7) == 4 && !strcmp (m->label[7], "k8"),
        "of paths: their links");
    infer_matrix_destroy (m);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_deco ();
    test_tleaf ();
    test_uneven ();
    test_loggops ();
    test_clusterkit ();
    test_series ();
    test_paths ();
    return done_testing ();
}
