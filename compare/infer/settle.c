/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Least squares for the edges of a model, from where they are.
 *
 * Notes: conjugate gradients on the normal equations (CGLS), with unknowns
 * scaled by how many rows they are in. From a start they find the nearest of
 * all minima, so that a matrix without full rank needs no care.
 */
#include "config.h"
#include "compare/infer/settle.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ITERATIONS = 300 };

#define ENOUGH 1e-18 /* of the sum of squared latencies: no better than that */

/* The measured pairs' paths: row i has the edges edge[start[i]] .. */
struct rows {
    size_t n, size;
    size_t *start; /* [pairs + 1] */
    uint32_t *edge;
    double *rest;  /* [pairs] measured less the path's length */
    double enough; /* of a sum of squares */
    bool apart;    /* some nodes are not joined */
};

static void rows_clear (struct rows *r)
{
    free (r->start);
    free (r->edge);
    free (r->rest);
    *r = (struct rows){ 0 };
}

static int rows_add_edge (struct rows *r, size_t at, uint32_t edge)
{
    if (at == r->size) {
        size_t size = 2 * r->size + 1024;
        uint32_t *p = realloc (r->edge, size * sizeof (*p));

        if (!p)
            return -1;
        r->edge = p;
        r->size = size;
    }
    r->edge[at] = edge;
    return 0;
}

/* Add the path from a, whose tree is `last`, to b. */
static int rows_add (struct rows *r, const struct topology_model *m,
                     const uint32_t *last, uint32_t a, uint32_t b)
{
    size_t at = r->start[r->n];

    for (; b != a; b = last[b])
        if (rows_add_edge (r, at++, topology_edge_of (m, b, last[b])) < 0)
            return -1;
    r->start[++r->n] = at;
    return 0;
}

static int rows_make (struct rows *r, const struct topology_model *m,
                      const struct infer_matrix *w)
{
    size_t n = m->nnodes, nv = m->nvertices, pairs = n * (n - 1) / 2;
    double *d = malloc (n * nv * sizeof (*d));
    uint32_t *last = malloc (n * nv * sizeof (*last));
    int rc = -1;

    *r = (struct rows){
        .start = calloc (pairs + 1, sizeof (*r->start)),
        .rest = calloc (pairs + 1, sizeof (*r->rest)),
    };
    if (!d || !last || !r->start || !r->rest
        || topology_paths (m, d, last) < 0)
        goto out;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            double ns = infer_matrix_at (w, a, b);

            if (isinf (d[a * nv + b]))
                r->apart = true;
            if (isnan (ns) || isinf (d[a * nv + b]))
                continue;
            r->enough += ENOUGH * ns * ns;
            r->rest[r->n] = ns - d[a * nv + b];
            if (rows_add (r, m, last + a * nv, a, b) < 0)
                goto out;
        }
    rc = 0;
out:
    free (d);
    free (last);
    return rc;
}

/* Take edges away that are in no row. Returns whether there were any. */
static bool drop_unused (struct topology_model *m, const struct rows *r,
                         double *used)
{
    size_t kept = 0, before = m->nedges;

    memset (used, 0, m->nedges * sizeof (*used));
    for (size_t i = 0; i < r->start[r->n]; i++)
        used[r->edge[i]]++;
    for (size_t e = 0; e < before; e++)
        if (used[e] > 0)
            m->edge[kept++] = m->edge[e];
    m->nedges = kept;
    return kept < before;
}

static double times (const struct rows *r, size_t i, const double *x)
{
    double sum = 0;

    for (size_t k = r->start[i]; k < r->start[i + 1]; k++)
        sum += x[r->edge[k]];
    return sum;
}

/* The gradient, scaled; returns its square. */
static double gradient (const struct rows *r, const double *scale, size_t n,
                        double *s)
{
    double sum = 0;

    memset (s, 0, n * sizeof (*s));
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = r->start[i]; k < r->start[i + 1]; k++)
            s[r->edge[k]] += r->rest[i];
    for (size_t e = 0; e < n; e++) {
        sum += s[e] * s[e] * scale[e];
        s[e] *= scale[e];
    }
    return sum;
}

/* One step along p; *old is the square of the last gradient. Returns by how
 * much the sum of squares fell.
 */
static double descend (struct topology_model *m, struct rows *r,
                       const double *scale, double *p, double *s, double *old)
{
    double length = 0, step, new;

    for (size_t i = 0; i < r->n; i++)
        length += pow (times (r, i, p), 2);
    if (!(length > 0))
        return 0;
    step = *old / length;
    for (size_t e = 0; e < m->nedges; e++)
        m->edge[e].latency_ns += step * p[e];
    for (size_t i = 0; i < r->n; i++)
        r->rest[i] -= step * times (r, i, p);
    new = gradient (r, scale, m->nedges, s);
    for (size_t e = 0; e < m->nedges; e++)
        p[e] = s[e] + new / *old * p[e];
    *old = new;
    return step * step * length;
}

static int minimise (struct topology_model *m, struct rows *r, double *scale)
{
    size_t n = m->nedges + 1;
    double *p = malloc (n * sizeof (*p)), *s = malloc (n * sizeof (*s));
    double old;
    int rc = -1;

    if (p && s) {
        for (size_t e = 0; e < m->nedges; e++)
            scale[e] = 0;
        for (size_t i = 0; i < r->start[r->n]; i++)
            scale[r->edge[i]]++;
        for (size_t e = 0; e < m->nedges; e++)
            scale[e] = scale[e] > 0 ? 1 / scale[e] : 0;
        old = gradient (r, scale, m->nedges, s);
        memcpy (p, s, m->nedges * sizeof (*p));
        for (int i = 0; i < ITERATIONS; i++)
            if (descend (m, r, scale, p, s, &old) <= r->enough)
                break;
        for (size_t e = 0; e < m->nedges; e++)
            m->edge[e].latency_ns = fmax (0, m->edge[e].latency_ns);
        rc = 0;
    }
    free (p);
    free (s);
    return rc;
}

/* What is left, and how good that is. */
static double judge (struct topology_model *m, const struct infer_matrix *w,
                     const struct rows *r)
{
    double sum = 0, mean = 0, total = 0;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += r->rest[i] * r->rest[i];
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = a + 1; b < w->n; b++) {
            double ns = infer_matrix_at (w, a, b);

            if (isnan (ns))
                continue;
            n++;
            total += (ns - mean) * (ns - mean) * (double)(n - 1) / (double)n;
            mean += (ns - mean) / (double)n;
        }
    m->dof = r->n > m->nedges ? r->n - m->nedges : 0;
    m->noise_ns = m->dof ? sqrt (sum / (double)m->dof) : 0;
    m->r2 = m->dof && total > 0 ? 1 - sum / total : NAN;
    return r->apart ? INFINITY : sum;
}

int settle (struct topology_model *m, const struct infer_matrix *w,
            double *squares)
{
    double *scale = malloc ((m->nedges + 1) * sizeof (*scale));
    struct rows r = { 0 };
    int rc = -1;

    if (!scale || rows_make (&r, m, w) < 0)
        goto out;
    if (drop_unused (m, &r, scale)) {
        rows_clear (&r);
        if (rows_make (&r, m, w) < 0)
            goto out;
    }
    if (minimise (m, &r, scale) < 0)
        goto out;
    rows_clear (&r);
    if (rows_make (&r, m, w) < 0)
        goto out;
    *squares = judge (m, w, &r);
    rc = 0;
out:
    rows_clear (&r);
    free (scale);
    return rc;
}
