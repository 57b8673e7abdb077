/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Unknowns are the latency x_l of every link of the job and of the
 * baselines, and the mean mu_c of every class:
 *
 *     mu_c ~ N (figure of its kind, MEAN_SD^2)
 *     x_l  ~ N (mu_class(l), spread_class(l)^2)
 *     t_i  ~ N (row_i . x, var_i)      for every row of the baselines.
 *
 * Their precision matrix L is the sum of what each line contributes; its
 * Cholesky factor gives the expected latencies. The job's rows A (over the
 * same unknowns) have then the expected RTTs A E(x) and, with their own noise
 * N, the covariance V = A L^-1 A' + N. V is never formed; with
 * K = L + A' N^-1 A, Woodbury's identity is
 *
 *     V^-1 = N^-1 - N^-1 A K^-1 A' N^-1
 *
 * and needs, applied to a vector, one product with the covariance K^-1.
 *
 * Spreads: a first pass with a wide spread shows which links are determined
 * by job and baselines together; a class with enough of them has the spread
 * that their MAD says, another one SPREAD_DEFAULT. A slow link or two do not
 * move a MAD.
 *
 * Cost: for n unknowns about 1.2 n^3 multiplications and three n by n
 * matrices: 0.9 s and 40 MB for 1,300, 30 ms for 400.
 */
#include "config.h"
#include "core/model.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linalg.h"
#include "core/stats.h"

enum {
    UNKNOWNS_MAX = 8192, /* 512 MB a matrix */
    CLASS_ENOUGH = 8,    /* determined links that show a class's spread */
};

/* ns */
#define HOST_FIGURE 350.0   /* half of what is not cable and switch */
#define SWITCH_FIGURE 150.0 /* a hop and a few metres */
#define MEAN_SD 3000.0
#define SPREAD_DEFAULT 100.0
#define SPREAD_MIN 20.0
#define SPREAD_WIDE 300.0   /* of the first pass */
#define DETERMINED_SD 50.0

#define NONE UINT32_MAX

/* All unknowns: links first, the job's before all others, then classes. */
struct unknowns {
    const struct network *net;
    uint32_t *col;     /* [nlinks] of a link, NONE */
    uint32_t *link;    /* [nlinks_used] of a column */
    size_t nlinks;     /* used */
    uint32_t *class_of;/* [nlinks_used] index of the class */
    uint32_t *class_id;/* [nclasses] */
    size_t nclasses;
    double *spread;    /* [nclasses] */
};

static void unknowns_clear (struct unknowns *x)
{
    free (x->col);
    free (x->link);
    free (x->class_of);
    free (x->class_id);
    free (x->spread);
}

static double figure (const struct unknowns *x, uint32_t link)
{
    return x->net->link[link].kind == LINK_HOST ? HOST_FIGURE : SWITCH_FIGURE;
}

static void add_link (struct unknowns *x, uint32_t link)
{
    if (x->col[link] == NONE) {
        x->col[link] = (uint32_t)x->nlinks;
        x->link[x->nlinks++] = link;
    }
}

/* Number the classes in order of appearance. */
static int number_classes (struct unknowns *x)
{
    x->class_of = malloc ((x->nlinks + 1) * sizeof (*x->class_of));
    x->class_id = malloc ((x->nlinks + 1) * sizeof (*x->class_id));
    if (!x->class_of || !x->class_id)
        return -1;
    for (size_t i = 0; i < x->nlinks; i++) {
        uint32_t id = x->net->link[x->link[i]].class_id;
        size_t c = 0;

        while (c < x->nclasses && x->class_id[c] != id)
            c++;
        if (c == x->nclasses)
            x->class_id[x->nclasses++] = id;
        x->class_of[i] = (uint32_t)c;
    }
    x->spread = malloc ((x->nclasses + 1) * sizeof (*x->spread));
    return x->spread ? 0 : -1;
}

/* True if all links of the row are among the first m columns. */
static bool within (const struct unknowns *x, const struct observation *row,
                    size_t m)
{
    for (size_t i = 0; i < row->n; i++)
        if (x->col[row->link[i]] >= m)
            return false;
    return true;
}

static int make_unknowns (struct unknowns *x, const struct model *model,
                          const struct observations *base, size_t nbase,
                          struct error *err)
{
    size_t nlinks = x->net->nlinks;

    x->col = malloc ((nlinks + 1) * sizeof (*x->col));
    x->link = malloc ((nlinks + 1) * sizeof (*x->link));
    if (!x->col || !x->link)
        return error_nomem (err);
    for (size_t l = 0; l < nlinks; l++)
        x->col[l] = NONE;
    for (size_t j = 0; j < model->m; j++)
        add_link (x, model->link[j]);
    for (size_t b = 0; b < nbase; b++)
        for (size_t i = 0; i < base[b].n; i++)
            for (size_t k = 0; k < base[b].v[i].n; k++)
                add_link (x, base[b].v[i].link[k]);
    /* too much to hold: keep to rows that lie within the job */
    while (x->nlinks > model->m && x->nlinks > UNKNOWNS_MAX / 2)
        x->col[x->link[--x->nlinks]] = NONE;
    if (number_classes (x) < 0)
        return error_nomem (err);
    if (x->nlinks + x->nclasses > UNKNOWNS_MAX)
        return error_world (err, "%zu links are more than can be judged",
                            x->nlinks);
    return 0;
}

/* Lower triangle of the prior's precision. */
static void add_prior (const struct unknowns *x, double *a, size_t n)
{
    for (size_t i = 0; i < x->nlinks; i++) {
        size_t c = x->nlinks + x->class_of[i];
        double w = 1 / pow (x->spread[x->class_of[i]], 2);

        a[i * n + i] += w;
        a[c * n + i] -= w;
        a[c * n + c] += w;
    }
    for (size_t c = x->nlinks; c < n; c++)
        a[c * n + c] += 1 / (MEAN_SD * MEAN_SD);
}

/* Add the precision that rows give, and to b (unless NULL) their pull away
 * from the figures.
 */
static void add_rows (const struct unknowns *x, const struct observations *o,
                      double *a, size_t n, double *b)
{
    for (size_t i = 0; i < o->n; i++) {
        const struct observation *row = &o->v[i];
        double w = 1 / row->var;
        double t = row->rtt_ns;

        if (!within (x, row, x->nlinks))
            continue;
        for (size_t p = 0; p < row->n; p++)
            t -= row->count[p] * figure (x, row->link[p]);
        for (size_t p = 0; p < row->n; p++) {
            uint32_t cp = x->col[row->link[p]];

            if (b)
                b[cp] += w * row->count[p] * t;
            for (size_t q = 0; q < row->n; q++) {
                uint32_t cq = x->col[row->link[q]];

                if (cq <= cp)
                    a[cp * n + cq] += w * row->count[p] * row->count[q];
            }
        }
    }
}

static int estimate_spreads (struct unknowns *x,
                             const struct observations *obs,
                             const struct observations *base, size_t nbase)
{
    size_t n = x->nlinks + x->nclasses;
    double *a = linalg_matrix (n);
    double *mean = calloc (n + 1, sizeof (*mean));
    double *v = malloc ((n + 1) * sizeof (*v));
    double *u = NULL;
    int rc = -1;

    for (size_t c = 0; c < x->nclasses; c++)
        x->spread[c] = SPREAD_WIDE;
    if (!a || !mean || !v)
        goto done;
    add_prior (x, a, n);
    add_rows (x, obs, a, n, mean);
    for (size_t b = 0; b < nbase; b++)
        add_rows (x, &base[b], a, n, mean);
    if (linalg_cholesky (a, n) < 0 || !(u = linalg_invert_factor (a, n)))
        goto done;
    linalg_solve (a, n, mean);
    for (size_t c = 0; c < x->nclasses; c++) {
        size_t k = 0;

        for (size_t i = 0; i < x->nlinks; i++)
            if (x->class_of[i] == c
                && linalg_dot (u + i * n, u + i * n, n)
                       < DETERMINED_SD * DETERMINED_SD)
                v[k++] = mean[i];
        x->spread[c] = SPREAD_DEFAULT;
        if (k >= CLASS_ENOUGH) {
            double centre = stats_median (v, k);

            x->spread[c] = fmax (SPREAD_MIN, stats_mad (v, k, centre));
        }
    }
    rc = 0;
done:
    free (a);
    free (mean);
    free (v);
    free (u);
    return rc;
}

static int make_incidence (struct model *model, const struct unknowns *x)
{
    const struct observations *o = model->obs;
    size_t entries = 0;
    size_t k = 0;

    for (size_t i = 0; i < o->n; i++)
        entries += o->v[i].n;
    model->row_start = calloc (o->n + 1, sizeof (*model->row_start));
    model->row_col = malloc ((entries + 1) * sizeof (*model->row_col));
    model->col_start = calloc (model->m + 2, sizeof (*model->col_start));
    model->col_row = malloc ((entries + 1) * sizeof (*model->col_row));
    model->col_count = malloc (entries + 1);
    if (!model->row_start || !model->row_col || !model->col_start
        || !model->col_row || !model->col_count)
        return -1;
    for (size_t i = 0; i < o->n; i++) {
        for (size_t p = 0; p < o->v[i].n; p++) {
            model->row_col[k] = x->col[o->v[i].link[p]];
            model->col_start[model->row_col[k++] + 2]++;
        }
        model->row_start[i + 1] = k;
    }
    /* col_start[j + 1] is where column j's next entry goes, in the end where
     * column j + 1 begins */
    for (size_t j = 2; j <= model->m; j++)
        model->col_start[j] += model->col_start[j - 1];
    for (size_t i = 0; i < o->n; i++)
        for (size_t p = 0; p < o->v[i].n; p++) {
            uint32_t col = model->row_col[model->row_start[i] + p];
            size_t at = model->col_start[col + 1]++;

            model->col_row[at] = (uint32_t)i;
            model->col_count[at] = o->v[i].count[p];
        }
    return 0;
}

/* v' K^-1 v for v with nv entries at columns col. */
static double quadratic (const struct model *model, const uint32_t *col,
                         const double *v, size_t nv)
{
    double sum = 0;

    for (size_t p = 0; p < nv; p++) {
        const double *row = model->inverse + col[p] * model->n;
        double s = 0;

        for (size_t q = 0; q < nv; q++)
            s += row[col[q]] * v[q];
        sum += s * v[p];
    }
    return sum;
}

static void fill_row_info (struct model *model)
{
    for (size_t i = 0; i < model->nrows; i++) {
        const struct observation *row = &model->obs->v[i];
        double v[ROW_MAX];

        for (size_t p = 0; p < row->n; p++)
            v[p] = row->count[p] / row->var;
        model->row_info[i] = 1 / row->var
                             - quadratic (model, model->row_col
                                                     + model->row_start[i],
                                          v, row->n);
    }
}

static int fill_col_info (struct model *model)
{
    double *sum = calloc (model->m + 1, sizeof (*sum));
    double *v = malloc ((model->m + 1) * sizeof (*v));
    uint32_t *col = malloc ((model->m + 1) * sizeof (*col));
    int rc = -1;

    if (!sum || !v || !col)
        goto done;
    for (size_t j = 0; j < model->m; j++) {
        double info = 0;
        size_t nv = 0;

        for (size_t e = model->col_start[j]; e < model->col_start[j + 1];
             e++) {
            size_t i = model->col_row[e];
            const struct observation *row = &model->obs->v[i];
            double w = model->col_count[e] / row->var;

            info += w * model->col_count[e];
            for (size_t p = 0; p < row->n; p++) {
                uint32_t c = model->row_col[model->row_start[i] + p];

                if (sum[c] == 0)
                    col[nv++] = c;
                sum[c] += w * row->count[p];
            }
        }
        for (size_t p = 0; p < nv; p++) {
            v[p] = sum[col[p]];
            sum[col[p]] = 0;
        }
        model->col_info[j] = info - quadratic (model, col, v, nv);
    }
    rc = 0;
done:
    free (sum);
    free (v);
    free (col);
    return rc;
}

static int fill_residuals (struct model *model)
{
    double *r = malloc ((model->nrows + 1) * sizeof (*r));
    int rc;

    if (!r)
        return -1;
    for (size_t i = 0; i < model->nrows; i++) {
        const struct observation *row = &model->obs->v[i];

        r[i] = row->rtt_ns;
        for (size_t p = 0; p < row->n; p++)
            r[i] -= row->count[p]
                    * model->expected[model->row_col[model->row_start[i]
                                                     + p]];
    }
    rc = model_whiten (model, r, model->z);
    free (r);
    return rc;
}

static int factor (struct model *model, const struct unknowns *x,
                   const struct observations *base, size_t nbase)
{
    size_t n = model->n;
    double *k = linalg_matrix (n);
    double *mean = calloc (n + 1, sizeof (*mean));
    double *u = NULL;
    int rc = -1;

    if (!k || !mean || !(model->prior = linalg_matrix (n)))
        goto done;
    add_prior (x, model->prior, n);
    for (size_t b = 0; b < nbase; b++)
        add_rows (x, &base[b], model->prior, n, mean);
    memcpy (k, model->prior, n * n * sizeof (*k));
    add_rows (x, model->obs, k, n, NULL);
    if (linalg_cholesky (model->prior, n) < 0 || linalg_cholesky (k, n) < 0
        || !(u = linalg_invert_factor (k, n)))
        goto done;
    free (k);
    k = NULL;
    if (!(model->inverse = linalg_inverse (u, n)))
        goto done;
    linalg_solve (model->prior, n, mean);
    for (size_t j = 0; j < model->m; j++) {
        model->expected[j] = figure (x, model->link[j]) + mean[j];
        model->spread[j] = x->spread[x->class_of[j]];
        model->class_of[j] = x->class_of[j];
    }
    rc = 0;
done:
    free (k);
    free (mean);
    free (u);
    return rc;
}

static void count_uncovered (struct model *model, const struct unknowns *x,
                             const struct observations *base, size_t nbase,
                             bool *seen)
{
    for (size_t b = 0; b < nbase; b++)
        for (size_t i = 0; i < base[b].n; i++) {
            const struct observation *row = &base[b].v[i];

            if (!within (x, row, x->nlinks))
                continue;
            for (size_t p = 0; p < row->n; p++)
                seen[x->col[row->link[p]]] = true;
        }
    for (size_t j = 0; j < model->m; j++)
        model->uncovered += !seen[j];
}

int model_make (struct model *model, struct pathset *ps,
                const struct observations *obs,
                const struct observations *base, size_t nbase,
                struct error *err)
{
    struct unknowns x = { .net = pathset_network (ps) };
    bool *seen = NULL;
    int rc = -1;

    *model = (struct model){ .obs = obs, .nrows = obs->n };
    if (!(model->link = pathset_links (ps, &model->m, err))
        || make_unknowns (&x, model, base, nbase, err) < 0)
        goto done;
    model->n = x.nlinks + x.nclasses;
    model->nclasses = x.nclasses;
    model->z = calloc (model->nrows + 1, sizeof (*model->z));
    model->row_info = calloc (model->nrows + 1, sizeof (*model->row_info));
    model->col_info = calloc (model->m + 1, sizeof (*model->col_info));
    model->spread = calloc (model->m + 1, sizeof (*model->spread));
    model->expected = calloc (model->m + 1, sizeof (*model->expected));
    model->class_of = calloc (model->m + 1, sizeof (*model->class_of));
    seen = calloc (x.nlinks + 1, sizeof (*seen));
    if (!model->z || !model->row_info || !model->col_info || !model->spread
        || !model->expected || !model->class_of || !seen)
        goto nomem;
    if (make_incidence (model, &x) < 0
        || estimate_spreads (&x, obs, base, nbase) < 0
        || factor (model, &x, base, nbase) < 0)
        goto nomem;
    count_uncovered (model, &x, base, nbase, seen);
    fill_row_info (model);
    if (fill_col_info (model) < 0 || fill_residuals (model) < 0)
        goto nomem;
    rc = 0;
    goto done;
nomem:
    /* a prior makes every precision matrix positive definite, unless the
     * samples hold numbers that no noise explains */
    if (errno == EDOM)
        error_world (err, "the samples are too ill-conditioned to judge");
    else
        error_nomem (err);
done:
    free (seen);
    unknowns_clear (&x);
    return rc;
}

void model_clear (struct model *model)
{
    free (model->row_start);
    free (model->row_col);
    free (model->col_start);
    free (model->col_row);
    free (model->col_count);
    free (model->z);
    free (model->row_info);
    free (model->col_info);
    free (model->spread);
    free (model->expected);
    free (model->class_of);
    free (model->prior);
    free (model->inverse);
    *model = (struct model){ 0 };
}

int model_whiten (const struct model *model, const double *d, double *p)
{
    double *a = calloc (model->m + 1, sizeof (*a));
    double *b = malloc ((model->m + 1) * sizeof (*b));
    int rc = -1;

    if (!a || !b)
        goto done;
    for (size_t j = 0; j < model->m; j++)
        for (size_t e = model->col_start[j]; e < model->col_start[j + 1];
             e++) {
            size_t i = model->col_row[e];

            a[j] += model->col_count[e] * d[i] / model->obs->v[i].var;
        }
    for (size_t j = 0; j < model->m; j++)
        b[j] = linalg_dot (model->inverse + j * model->n, a, model->m);
    for (size_t i = 0; i < model->nrows; i++) {
        const struct observation *row = &model->obs->v[i];
        double s = d[i];

        for (size_t q = 0; q < row->n; q++)
            s -= row->count[q]
                 * b[model->row_col[model->row_start[i] + q]];
        p[i] = s / row->var;
    }
    rc = 0;
done:
    free (a);
    free (b);
    return rc;
}

void model_add_column (const struct model *model, uint32_t col, double *d)
{
    for (size_t e = model->col_start[col]; e < model->col_start[col + 1]; e++)
        d[model->col_row[e]] += model->col_count[e];
}

double model_dot (const struct model *model, uint32_t col, const double *v)
{
    double sum = 0;

    for (size_t e = model->col_start[col]; e < model->col_start[col + 1]; e++)
        sum += model->col_count[e] * v[model->col_row[e]];
    return sum;
}

double model_prior_variance (const struct model *model, const double *u)
{
    double *s = calloc (model->n + 1, sizeof (*s));
    double var;

    if (!s)
        return NAN;
    memcpy (s, u, model->m * sizeof (*s));
    linalg_solve (model->prior, model->n, s);
    var = linalg_dot (s, u, model->m);
    free (s);
    return var;
}
