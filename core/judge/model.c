/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Unknowns are the latency x_l of every link, the mean mu_c of every
 * class, and the offset of each host in each run:
 *
 *     x_l  ~ N (mu_class(l), spread_class(l)^2)
 *     mu_c ~ N (a typical value of its kind, mean_sd^2)
 *     o_hb ~ N (by how much its loopback was slower in run b than in the first
 *               baseline that has one, LOOPBACK_SD_NS^2), or N (0, OFFSET_SD_NS^2)
 *     d_l  ~ N (0, SKEW_SD_NS^2)
 *     w_s  ~ N (F n_s, F^2 a_s), F = SWITCH_FIGURE
 *     t_i  ~ N (row_i . (x, o, d), var_i)  for every row of the baselines.
 *
 * d_l, by how much a link's first direction is slower than the mean of both, is
 * an unknown only if some row is of one direction. Adapters and processors need
 * not take as long to send as to receive. w_s, of two ends, is the time
 * between them by n_s cables within places, and a_s with those that all messages
 * of the row cross, as others take others of their bundle: the time by which
 * these differ from the bundle.
 *
 * A link outside the job that one row alone crosses tells nothing of others: it
 * is left out, and the row is less exact for it, y = ... + a mu_c +- a spread_c.
 * The same holds for the offset of a host of which a run has one row. Near a
 * job these are most.
 *
 * Every line is a row of a sparse least squares problem (linear/lsq), of
 * precision matrix K0; its solution is the vector of expected latencies. So the
 * job's rows A, of noise N, have the covariance V = A K0^-1 A' + N. V is never
 * computed; with K = K0 + A' N^-1 A, Woodbury's identity is
 *
 *     V^-1 = N^-1 - N^-1 A K^-1 A' N^-1.
 *
 * Iterations solve this (linear/lsq) where all hosts of a fabric are judged by
 * a baseline of all: few are needed. Where a few hosts are, by what others
 * measured of their cables, many are. There K0 and K are factorised
 * (linear/direct). If the job has few rows, only K0, the unknowns of these rows
 * last, since others matter only by what they say of them; and V^-1 is made of
 * A K0^-1 A'.
 *
 * A draw of z, of covariance V^-1: with V^-1 = L L' and random e_i of variance
 * 1 it is L e. Or with e_i for all rows of the problem, including the job's, and
 * u the least squares solution for e_i sd_i, z = N^-1/2 e - N^-1 A u.
 *
 * Spreads: a fit of classes' means that minimises absolute distances shows
 * roughly how much links differ (`differ`), by the lower third of its
 * residuals, which slow rows do not change. With three times that as every
 * spread, a first pass shows which links are determined. A class with enough of
 * them has their MAD as its spread, any other has `differ`.
 *
 * LinkRoundTripLatency (LRTL): without a baseline, where all links of a class
 * have one, the prior of x_l becomes
 *
 *     x_l ~ N (mu_c + unit_c (LRTL_l - zero_c), s^2),
 *
 * if the determined links show that it fits. They are cut at the thirds of
 * their LRTLs; the line through the medians of the outer groups, of n1 and n2
 * links that are dx apart, is resistant to a sixth of slow links or wrong LRTLs
 * (J. W. Tukey 1977). r is the MAD of the residuals. A median of n has the
 * variance pi/2 r^2/n; so with the greatest distance d of an LRTL from zero_c,
 *
 *     var (unit) = pi/2 (1/n1 + 1/n2) r^2/dx^2,   s^2 = r^2 + d^2 var (unit).
 *
 * It fits if unit > 4 sd (unit), and if s is less than half of unit dx, which
 * is about the spread that lengths cause: 0.43 unit dx where they are uniform.
 * So one LRTL far from all others makes s large, and none is used.
 */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/pool.h"
#include "util/rng.h"
#include "util/sort.h"

enum {
    CLASS_LINKS_MIN = 8, /* determined links for a class's spread */
    LRTL_LINKS_MIN = 12, /* ... to calibrate LRTL */
    DRAWS = LSQ_LANES,   /* to find which links are determined */
    DRAWS_SEED = 1,
    FIT_TURNS = 8,
    DIRECT_MAX = 4000, /* rows of the job; unknowns of a full matrix: 64 MB */
    INVERSE_ROWS_MAX = 512, /* rows of the job */
};

/* ns */
#define HOST_FIGURE_NS 350.0 /* half of the time that is not cable and switch */
#define MEAN_MIN_SD_NS 3000.0 /* at least; otherwise the median RTT */
#define SPREAD_DEFAULT_NS 100.0
#define SPREAD_MIN_NS 20.0
#define OFFSET_SD_NS 80.0   /* of a host in a run, without a loopback */
#define LOOPBACK_SD_NS 20.0 /* of the part that loopbacks do not show */
#define SKEW_SD_NS 50.0     /* of a direction about the mean of both */
#define WAITED_SD 2.0    /* of a doubt; 0.25 % of waits exceed it */

/* relative to `differ` */
#define WIDE_SPREADS 3.0 /* of the first pass */
#define DETERMINED_MAX_SD \
    0.5 /* greatest standard deviation of a determined link */

#define NORMAL_THIRD 0.4307 /* a third of a standard normal's sizes are less */
#define ALIKE_MAX_SHARE 1e-6
#define LRTL_SLOPE_MIN_SD 4.0 /* standard deviations of a slope that is not 0 */
#define MEDIAN_VAR 1.5708 /* of a median, times n / the variance of one */

#define NONE UINT32_MAX

struct model_build {
    struct pool *pool; /* has all but `way` */
    struct model *m;
    const struct network *net;
    const struct model_run *job, *base;
    size_t nbase;
    const struct observation **row; /* [n] of the baselines */
    uint32_t *run;                  /* [n] from 1; 0 is the job */
    size_t n;
    struct loopback_time
        *before;      /* [nlinks] times that loopbacks are compared with */
    uint32_t *offset; /* [nlinks] of a host link in one run, */
    uint32_t *run_of; /* [nlinks] this run, NONE */
    struct map way;   /* numbers, by the rows' ends */
    double *within;   /* [nways] cables within places that these cross */
    double *figure;   /* [nclasses] of a link, ns, roughly */
    double *var;      /* [measured] without lone links */
    struct lone {     /* links that are left out, of these rows */
        uint32_t row, class;
        double squares; /* of their crossings */
    } *lone;
    size_t nlone;
};

static double figure (const struct network *net, uint32_t link)
{
    return net->link[link].kind == LINK_HOST ? HOST_FIGURE_NS : SWITCH_FIGURE;
}

static void row_add (const struct sparse *a, size_t row, double w, double *x)
{
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
        x[a->col[e]] += w * a->value[e];
}

/*
 * Rows
 */

static void add_model_link (struct model *m, uint32_t link)
{
    if (m->column[link] == NONE) {
        m->column[link] = (uint32_t)m->n;
        m->link[m->n++] = link;
    }
}

/* Add links that several rows cross. */
static void add_shared (struct model_build *b)
{
    bool *once = xcalloc (b->net->nlinks, sizeof (*once));

    for (size_t i = 0; i < b->n; i++)
        for (size_t p = 0; p < b->row[i]->n; p++) {
            uint32_t link = b->row[i]->link[p];

            if (once[link])
                add_model_link (b->m, link);
            once[link] = true;
        }
    free (once);
}

/* Collect the baseline's rows, and the links that are unknowns. */
static int gather_model_rows (struct model_build *b, struct pathset *ps,
                              struct error *err)
{
    struct model *m = b->m;
    const uint32_t *link = pathset_links (ps, &m->m, err);
    size_t rows = 0;

    if (!link)
        return -1;
    for (size_t r = 0; r < b->nbase; r++)
        rows += b->base[r].obs.n;
    b->row = pool_alloc (b->pool, rows, sizeof (*b->row));
    b->run = pool_alloc (b->pool, rows, sizeof (*b->run));
    m->link = pool_alloc (m->pool, b->net->nlinks, sizeof (*m->link));
    m->column = pool_alloc (m->pool, b->net->nlinks, sizeof (*m->column));
    for (size_t l = 0; l < b->net->nlinks; l++)
        m->column[l] = NONE;
    for (size_t j = 0; j < m->m; j++)
        add_model_link (m, link[j]);
    for (size_t r = 0; r < b->nbase; r++)
        for (size_t i = 0; i < b->base[r].obs.n; i++) {
            b->run[b->n] = (uint32_t)r + 1;
            b->row[b->n++] = &b->base[r].obs.v[i];
        }
    add_shared (b);
    return 0;
}

/* Make unknowns of directions if any row needs them. */
static void find_skews (struct model_build *b)
{
    bool oneway = false;

    for (size_t i = 0; i < b->m->nrows; i++)
        oneway |= b->m->obs->v[i].oneway;
    for (size_t i = 0; i < b->n; i++)
        oneway |= b->row[i]->oneway;
    b->m->nskews = oneway ? b->m->n : 0;
}

static void add_model_way (struct model_build *b, const struct observation *o)
{
    struct model *m = b->m;

    if (o->apart == 0 || map_find (&b->way, o->ends) != MAP_NONE)
        return;
    map_put (&b->way, o->ends, (uint32_t)m->nways);
    m->apart = pool_grow (m->pool, m->apart, m->nways, sizeof (*m->apart));
    m->apart[m->nways] = o->apart;
    b->within = pool_grow (b->pool, b->within, m->nways, sizeof (*b->within));
    b->within[m->nways++] = o->within;
}

static void find_model_ways (struct model_build *b)
{
    for (size_t i = 0; i < b->m->nrows; i++)
        add_model_way (b, &b->m->obs->v[i]);
    for (size_t i = 0; i < b->n; i++)
        add_model_way (b, b->row[i]);
}

/* The number of a link's class, perhaps a new one. */
static uint32_t class_number (struct model_build *b, uint32_t link)
{
    struct model *m = b->m;
    uint32_t id = b->net->link[link].class_id, c = 0;

    while (c < m->nclasses && m->class_id[c] != id)
        c++;
    if (c == m->nclasses) {
        m->class_id
            = pool_grow (m->pool, m->class_id, c, sizeof (*m->class_id));
        b->figure = pool_grow (b->pool, b->figure, c, sizeof (*b->figure));
        m->class_id[c] = id;
        b->figure[c] = figure (b->net, link);
        m->nclasses++;
    }
    return c;
}

/* Number the classes, of all links that rows cross. */
static void number_classes (struct model_build *b)
{
    struct model *m = b->m;

    m->class_of = pool_alloc (m->pool, m->n, sizeof (*m->class_of));
    for (size_t l = 0; l < m->n; l++)
        m->class_of[l] = class_number (b, m->link[l]);
    for (size_t i = 0; i < b->n; i++)
        for (size_t p = 0; p < b->row[i]->n; p++)
            class_number (b, b->row[i]->link[p]);
}

/*
 * Hosts' offsets
 */

struct loopback_time model_loopback_time (const struct model_run *run,
                                          uint32_t link)
{
    const struct link_loopback *found
        = run->nloopbacks > 0
              ? bsearch (&link, run->loopback, run->nloopbacks,
                         sizeof (*run->loopback), compare_u32)
              : NULL;

    return found ? found->time : (struct loopback_time){ .ns = NAN };
}

/* By how much a loopback is slower, and the standard deviation of the offset.
 * If all its messages may have waited, it is ignored, unless it is far slower.
 */
static struct loopback_time loopback_difference (struct loopback_time now,
                                                 struct loopback_time before)
{
    double ns = now.ns - before.ns;
    double sd = hypot (LOOPBACK_SD_NS, hypot (now.sd, before.sd));

    if (isnan (ns) || (sd > OFFSET_SD_NS && fabs (ns) < WAITED_SD * sd))
        return (struct loopback_time){ 0, OFFSET_SD_NS };
    return (struct loopback_time){ ns, sd };
}

double model_shift (const struct network *net, const struct observation *row,
                    const struct model_run *run, const struct model_run *base,
                    double *sd)
{
    double shift = 0;
    double var = 0;

    for (size_t p = 0; p < row->n; p++) {
        uint32_t link = row->link[p];
        struct loopback_time more;

        if (net->link[link].kind != LINK_HOST)
            continue;
        more = loopback_difference (model_loopback_time (run, link),
                                    model_loopback_time (base, link));
        shift += more.ns;
        var += 2 * more.sd * more.sd; /* offsets of both runs */
    }
    *sd = sqrt (var);
    return shift;
}

bool model_loopback (const struct model *m, uint32_t link, double *ns,
                     double *sd)
{
    uint32_t offset = m->offset_of[link];

    if (offset == NONE || m->offset_sd[offset] == OFFSET_SD_NS)
        return false;
    *ns = m->offset_mean[offset];
    *sd = m->offset_sd[offset];
    return true;
}

/* The offset of a host link in a run, perhaps a new one. One run after the
 * other.
 */
static uint32_t offset_of (struct model_build *b, uint32_t run, uint32_t link)
{
    struct model *m = b->m;
    const struct model_run *of = run ? &b->base[run - 1] : b->job;
    struct loopback_time more;

    if (b->run_of[link] == run)
        return b->offset[link];
    more
        = loopback_difference (model_loopback_time (of, link), b->before[link]);
    m->offset_mean[m->noffsets] = more.ns;
    m->offset_sd[m->noffsets] = more.sd;
    b->run_of[link] = run;
    return b->offset[link] = (uint32_t)m->noffsets++;
}

/* Make room for all offsets, and number the job's. */
static void make_offsets (struct model_build *b)
{
    struct model *m = b->m;
    size_t nlinks = b->net->nlinks;
    size_t most = 2 * (m->nrows + b->n);

    b->before = pool_alloc (b->pool, nlinks, sizeof (*b->before));
    b->run_of = pool_alloc (b->pool, nlinks, sizeof (*b->run_of));
    b->offset = pool_alloc (b->pool, nlinks, sizeof (*b->offset));
    m->offset_of = pool_alloc (m->pool, nlinks, sizeof (*m->offset_of));
    m->offset_mean = pool_alloc (m->pool, most, sizeof (*m->offset_mean));
    m->offset_sd = pool_alloc (m->pool, most, sizeof (*m->offset_sd));
    for (size_t l = 0; l < nlinks; l++) {
        b->before[l] = (struct loopback_time){ .ns = NAN };
        b->run_of[l] = m->offset_of[l] = NONE;
    }
    for (size_t r = b->nbase; r-- > 0;)
        for (size_t i = 0; i < b->base[r].nloopbacks; i++)
            b->before[b->base[r].loopback[i].link] = b->base[r].loopback[i].time;
    for (size_t i = 0; i < m->nrows; i++)
        for (size_t p = 0; p < m->obs->v[i].n; p++) {
            uint32_t link = m->obs->v[i].link[p];

            if (b->net->link[link].kind == LINK_HOST)
                m->offset_of[link] = offset_of (b, 0, link);
        }
    m->own_offsets = m->noffsets;
}

/*
 * The least squares problem
 */

/* A row that is being made. */
struct row_entries {
    uint32_t col[4 * ROW_MAX + 1];
    int8_t value[4 * ROW_MAX + 1];
    size_t n;
    double y, var;
};

static void put_entry (struct row_entries *r, size_t col, int value)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->col[i] == col) {
            r->value[i] = (int8_t)(r->value[i] + value);
            return;
        }
    r->col[r->n] = (uint32_t)col;
    r->value[r->n++] = (int8_t)value;
}

/* A link that no other row crosses. */
static void put_lone (struct model_build *b, struct row_entries *r,
                      uint32_t link, int count)
{
    uint32_t c = class_number (b, link);

    put_entry (r, b->m->n + c, count);
    b->lone = pool_grow (b->pool, b->lone, b->nlone, sizeof (*b->lone));
    b->lone[b->nlone++] = (struct lone){ (uint32_t)b->m->a->nrows, c,
                                         (double)count * count };
}

/* The offset of a host in a run; `alone`: in no other row. */
static void put_offset (struct model_build *b, struct row_entries *r,
                        uint32_t run, uint32_t link, bool alone)
{
    struct loopback_time more;

    if (!alone) {
        put_entry (r, model_offsets (b->m)
                          + (run ? offset_of (b, run, link)
                                 : b->m->offset_of[link]), 1);
        return;
    }
    more = loopback_difference (model_loopback_time (&b->base[run - 1], link),
                                b->before[link]);
    r->y -= more.ns;
    r->var += more.sd * more.sd;
}

/* rows_of [nlinks]: rows of the run that cross a host link; NULL: the job's. */
static void add_model_row (struct model_build *b, const struct observation *o,
                           uint32_t run, const uint32_t *rows_of)
{
    struct model *m = b->m;
    struct row_entries r = { .n = 0, .y = o->rtt_ns, .var = o->var };

    for (size_t p = 0; p < o->n; p++) {
        uint32_t link = o->link[p];

        if (m->column[link] == NONE)
            put_lone (b, &r, link, o->count[p]);
        else {
            put_entry (&r, m->column[link], o->count[p]);
            if (o->oneway)
                put_entry (&r, m->n + m->nclasses + m->column[link],
                           2 * o->forth[p] - o->count[p]);
        }
        if (b->net->link[link].kind == LINK_HOST)
            put_offset (b, &r, run, link, rows_of && rows_of[link] == 1);
    }
    if (o->apart > 0)
        put_entry (&r, model_offsets (m) - m->nways + map_find (&b->way, o->ends),
                   1);
    if (rows_of)
        b->var[m->a->nrows] = r.var;
    m->weight[m->a->nrows] = 1 / r.var;
    b->m->y[m->a->nrows] = r.y;
    sparse_add (m->a, r.col, r.value, r.n);
}

/* Add the rows of the baseline. */
static void add_measured (struct model_build *b)
{
    uint32_t *rows_of = xcalloc (b->net->nlinks, sizeof (*rows_of));

    b->var = pool_alloc (b->pool, b->n, sizeof (*b->var));
    for (size_t i = 0, end; i < b->n; i = end) {
        for (end = i; end < b->n && b->run[end] == b->run[i]; end++)
            for (size_t p = 0; p < b->row[end]->n; p++)
                rows_of[b->row[end]->link[p]]++;
        for (size_t k = i; k < end; k++)
            add_model_row (b, b->row[k], b->run[k], rows_of);
        for (size_t k = i; k < end; k++)
            for (size_t p = 0; p < b->row[k]->n; p++)
                rows_of[b->row[k]->link[p]] = 0;
    }
    free (rows_of);
}

/* Add the prior value y of an unknown, or of its difference to another. */
static void add_prior (struct model_build *b, size_t unknown, size_t other,
                       double y)
{
    uint32_t col[2] = { (uint32_t)unknown, (uint32_t)other };
    int8_t value[2] = { 1, -1 };

    b->m->y[b->m->a->nrows] = y;
    sparse_add (b->m->a, col, value, unknown == other ? 1 : 2);
}

/* Make the rows; the priors' weights are set with the spreads. */
static void make_rows (struct model_build *b)
{
    struct model *m = b->m;
    size_t offsets = model_offsets (m), ways = offsets - m->nways;
    size_t most = offsets + 3 * (b->n + m->nrows);

    m->a = sparse_create (0);
    m->weight = pool_alloc (m->pool, most, sizeof (*m->weight));
    m->y = pool_alloc (m->pool, most, sizeof (*m->y));
    add_measured (b);
    m->measured = m->a->nrows;
    for (size_t l = 0; l < m->n; l++)
        add_prior (b, l, m->n + m->class_of[l], 0);
    for (size_t c = 0; c < m->nclasses; c++)
        add_prior (b, m->n + c, m->n + c, b->figure[c]);
    for (size_t l = 0; l < m->nskews; l++)
        add_prior (b, ways - l - 1, ways - l - 1, 0);
    for (size_t w = 0; w < m->nways; w++)
        add_prior (b, ways + w, ways + w, SWITCH_FIGURE * b->within[w]);
    for (size_t i = 0; i < m->noffsets; i++)
        add_prior (b, offsets + i, offsets + i, m->offset_mean[i]);
    m->prior = pool_alloc (m->pool, 1, sizeof (*m->prior));
    m->prior->nrows = m->a->nrows;
    for (size_t i = 0; i < m->nrows; i++)
        add_model_row (b, &m->obs->v[i], 0, NULL);
    m->a->ncols = model_unknowns (m);
    *m->prior = (struct sparse){
        .nrows = m->prior->nrows,
        .ncols = m->a->ncols,
        .start = m->a->start,
        .col = m->a->col,
        .value = m->a->value,
    };
}

/* Find which links rows of the baseline cross. */
static void find_covered (struct model *m)
{
    m->covered = pool_alloc (m->pool, m->m, sizeof (*m->covered));
    m->uncovered = m->m;
    for (size_t e = 0; e < m->a->start[m->measured]; e++)
        if (m->a->col[e] < m->m && !m->covered[m->a->col[e]]) {
            m->covered[m->a->col[e]] = true;
            m->uncovered--;
        }
    m->alone = m->uncovered == 0 && m->measured >= m->nrows;
}

/* Find the job's own unknowns. */
static void find_job_unknowns (struct model *m)
{
    struct model_own *own = m->own = pool_alloc (m->pool, 1, sizeof (*own));
    size_t n = model_unknowns (m);

    own->col = pool_alloc (m->pool, n, sizeof (*own->col));
    own->at = pool_alloc (m->pool, n, sizeof (*own->at));
    for (size_t j = 0; j < n; j++)
        own->at[j] = j < m->m || (j >= m->n && j < m->n + m->nclasses) ? 0
                                                                      : NONE;
    for (size_t e = m->a->start[m->prior->nrows]; e < m->a->start[m->a->nrows];
         e++)
        own->at[m->a->col[e]] = 0;
    for (size_t j = 0; j < n; j++)
        if (own->at[j] != NONE) {
            own->at[j] = (uint32_t)own->n;
            own->col[own->n++] = (uint32_t)j;
        }
}

/* Weigh all rows but the job's by the current spreads. */
static void weight_model_rows (const struct model_build *b)
{
    struct model *m = b->m;
    double *w = m->weight + m->measured;

    for (size_t i = 0; i < m->measured; i++)
        m->weight[i] = b->var[i];
    for (size_t i = 0; i < b->nlone; i++)
        m->weight[b->lone[i].row]
            += b->lone[i].squares * pow (m->spread[b->lone[i].class], 2);
    for (size_t i = 0; i < m->measured; i++)
        m->weight[i] = 1 / m->weight[i];

    for (size_t l = 0; l < m->n; l++)
        *w++ = pow (m->spread[m->class_of[l]], -2);
    for (size_t c = 0; c < m->nclasses; c++)
        *w++ = pow (m->mean_sd, -2);
    for (size_t l = 0; l < m->nskews; l++)
        *w++ = pow (SKEW_SD_NS, -2);
    for (size_t l = 0; l < m->nways; l++)
        *w++ = pow (SWITCH_FIGURE, -2) / m->apart[l];
    for (size_t i = 0; i < m->noffsets; i++)
        *w++ = pow (m->offset_sd[i], -2);
}

/* Whether the problem may be small enough for linear/direct. */
static bool is_small (const struct model *m)
{
    return m->nrows <= DIRECT_MAX;
}

/* The problem of rows a; keep[n]: as for lsq_create_direct. */
static struct lsq *solver_of (const struct model *m, const struct sparse *a,
                              const uint32_t *keep, size_t n)
{
    struct lsq *q = is_small (m)
                        ? lsq_create_direct (a, m->weight, keep, n, DIRECT_MAX)
                        : NULL;

    return q ? q : lsq_create (a, m->weight);
}

static struct lsq *prior_solver (const struct model *m)
{
    bool few = m->nrows <= INVERSE_ROWS_MAX;

    return solver_of (m, m->prior, m->own->col, few ? m->own->n : 0);
}

/* With K0 = L L', A K0^-1 A' has the products of the rows of A L'^-1. */
static void find_known (struct model *m)
{
    const struct sparse *a = m->a;
    struct model_own *own = m->own;
    double *const *l = own->factor;
    size_t n = own->n, rows = m->nrows;
    double *y = xcalloc (rows, n * sizeof (*y));

    own->known = linalg_matrix (rows);
    for (size_t r = 0; r < rows; r++) {
        double *x = y + r * n;
        size_t row = model_row (m, r);

        for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
            x[own->at[a->col[e]]] = a->value[e];
        for (size_t i = 0; i < n; i++)
            x[i] = (x[i] - linalg_dot (l[i], x, i)) / l[i][i];
        for (size_t c = 0; c <= r; c++)
            own->known[r * rows + c] = linalg_dot (x, y + c * n, n);
    }
    free (y);
}

/* Solve for what is expected, of which there is a guess, and prepare for the
 * rest.
 */
static int prepare_model_solver (struct model *m)
{
    struct model_own *own = m->own;

    if (!m->before) {
        m->before = prior_solver (m);
        if (!m->before
            || lsq_solve (m->before, m->y, LSQ_FINE, m->expected) < 0)
            return -1;
    }
    if (m->nrows <= INVERSE_ROWS_MAX && (own->factor = lsq_kept (m->before)))
        find_known (m);
    return 0;
}

/*
 * From one judgement to the next
 */

/* The first row of priors of offsets. */
static size_t offset_rows (const struct model *m)
{
    return m->prior->nrows - m->noffsets;
}

/* Whether numbers of rows are the same, but those of the job's offsets. */
static bool same_numbers (const struct model *m, const double *v,
                          const double *last)
{
    size_t first = offset_rows (m), rest = first + m->own_offsets;

    return memcmp (v, last, first * sizeof (*v)) == 0
           && memcmp (v + rest, last + rest,
                      (m->prior->nrows - rest) * sizeof (*v)) == 0;
}

#define SAME(array, n) \
    (memcmp (m->array, last->array, (n) * sizeof (*m->array)) == 0)

/* Whether the baselines tell the same as they told the last one. */
static bool is_same (const struct model *m, const struct model *last)
{
    size_t rows = m->prior->nrows;

    return m->alone && last && last->before && m->own->n == last->own->n
           && m->n == last->n && m->m == last->m
           && m->nclasses == last->nclasses && m->nskews == last->nskews
           && m->nways == last->nways && m->noffsets == last->noffsets
           && m->own_offsets == last->own_offsets && rows == last->prior->nrows
           && SAME (own->col, m->own->n) && SAME (link, m->n)
           && SAME (class_id, m->nclasses) && SAME (a->start, rows + 1)
           && SAME (a->col, m->a->start[rows])
           && SAME (a->value, m->a->start[rows])
           && same_numbers (m, m->y, last->y);
}

/* Take the last one's spreads, and if the weights are then the same, the rest.
 * Nothing joins the job's offsets to other unknowns before its rows do.
 */
static bool reuse_last_model (const struct model_build *b,
                              const struct model *last)
{
    struct model *m = b->m;
    size_t first = model_offsets (m);

    if (!is_same (m, last))
        return false;
    m->differ = last->differ;
    m->mean_sd = last->mean_sd;
    m->spread = pool_alloc (m->pool, m->nclasses, sizeof (*m->spread));
    memcpy (m->spread, last->spread, m->nclasses * sizeof (*m->spread));
    weight_model_rows (b);
    if (!same_numbers (m, m->weight, last->weight)) {
        m->spread = NULL;
        return false;
    }
    m->unit = pool_alloc (m->pool, m->nclasses, sizeof (*m->unit));
    m->zero = pool_alloc (m->pool, m->nclasses, sizeof (*m->zero));
    m->before = last->before;
    memcpy (m->expected, last->expected,
            model_unknowns (m) * sizeof (*m->expected));
    for (size_t i = 0; i < m->own_offsets; i++) {
        uint32_t at = m->own->at[first + i];

        m->expected[first + i] = m->offset_mean[i];
        lsq_kept (m->before)[at][at] = 1 / m->offset_sd[i];
    }
    return true;
}

/* Make V^-1. */
static int invert_model_covariance (const struct model *m)
{
    struct model_own *own = m->own;
    size_t rows = m->nrows;
    double *v = linalg_matrix (rows);
    int rc;

    memcpy (v, own->known, rows * rows * sizeof (*v));
    for (size_t r = 0; r < rows; r++)
        v[r * rows + r] += m->obs->v[r].var;
    free (own->inverse);
    own->inverse = NULL;
    if ((rc = linalg_cholesky (v, rows)) == 0)
        own->inverse = linalg_inverse (v, rows);
    free (v);
    return rc;
}

static void weigh_job (const struct model *m)
{
    for (size_t i = 0; i < m->nrows; i++)
        m->weight[model_row (m, i)] = 1 / m->obs->v[i].var;
}

int model_reweigh (struct model *m)
{
    weigh_job (m);
    if (m->own->known)
        return invert_model_covariance (m);
    lsq_destroy (m->after);
    m->after = solver_of (m, m->a, NULL, 0);
    return m->after ? 0 : -1;
}

/*
 * Spreads
 */

/* count[c]: a row's crossings of links of class c. Return its links' squares, to
 * which those of lone ones, lone[row], belong.
 */
static double count_classes (const struct model *m, size_t row,
                             const double *lone, double *count)
{
    double squares = row < m->measured ? lone[row] : 0;

    memset (count, 0, m->nclasses * sizeof (*count));
    for (size_t e = m->a->start[row]; e < m->a->start[row + 1]; e++) {
        uint32_t col = m->a->col[e];
        int value = m->a->value[e];

        if (col < m->n)
            squares += value * value;
        if (col < m->n + m->nclasses)
            count[col < m->n ? m->class_of[col] : col - m->n] += value;
    }
    return squares;
}

/* How many rows tell the spreads: the baselines' and, unless these do alone, the
 * job's; and the i-th of them.
 */
static size_t measured_rows (const struct model *m)
{
    return m->measured + (m->alone ? 0 : m->nrows);
}

static size_t measured_row (const struct model *m, size_t i)
{
    return i < m->measured ? i : model_row (m, i - m->measured);
}

/* Fit y by classes' means. off [rows]: errors of the last fit, then of this
 * one, in units of one link's difference.
 */
static int fit_classes (const struct model_build *b, double *off)
{
    const struct model *m = b->m;
    size_t n = m->nclasses;
    size_t rows = measured_rows (m);
    double *h = xcalloc (n * n, sizeof (*h));
    double *mean = xcalloc (2 * n, sizeof (*mean));
    double *count = mean + n;
    double *lone = xcalloc (m->measured, sizeof (*lone));
    int rc;

    for (size_t i = 0; i < b->nlone; i++)
        lone[b->lone[i].row] += b->lone[i].squares;
    for (size_t i = 0; i < rows; i++) {
        size_t row = measured_row (m, i);
        double w = 1 / count_classes (m, row, lone, count) / fmax (1, off[i]);

        for (size_t c = 0; c < n; c++) {
            linalg_add (h + c * n, w * count[c], count, n);
            mean[c] += w * count[c] * b->m->y[row];
        }
    }
    /* means that no row separates are shared */
    for (size_t c = 0; c < n; c++)
        h[c * n + c] += ALIKE_MAX_SHARE * (h[c * n + c] + 1e-30);
    if ((rc = linalg_cholesky (h, n)) == 0) {
        linalg_solve (h, n, mean);
        for (size_t i = 0; i < rows; i++) {
            double squares
                = count_classes (m, measured_row (m, i), lone, count);

            off[i]
                = fabs (b->m->y[measured_row (m, i)] - linalg_dot (count, mean, n))
                  / sqrt (squares);
        }
    }
    free (h);
    free (mean);
    free (lone);
    return rc;
}

/* Find roughly how much links differ within classes, and classes may differ. */
static int find_differences (const struct model_build *b)
{
    struct model *m = b->m;
    size_t rows = measured_rows (m);
    double *v = xcalloc (rows, sizeof (*v));
    int rc = 0;

    for (int turn = 0; turn < FIT_TURNS && rc == 0; turn++)
        rc = fit_classes (b, v);
    stats_sort (v, rows);
    m->differ = SPREAD_DEFAULT_NS;
    if (rows >= CLASS_LINKS_MIN) {
        double ns = stats_quantile (v, rows, 1 / 3.) / NORMAL_THIRD;

        /* the default is accurate enough for less */
        if (ns > WIDE_SPREADS * SPREAD_DEFAULT_NS)
            m->differ = ns;
    }
    for (size_t i = 0; i < rows; i++)
        v[i] = b->m->y[measured_row (m, i)];
    m->mean_sd = rows > 0 ? fmax (MEAN_MIN_SD_NS, stats_median (v, rows))
                          : MEAN_MIN_SD_NS;
    free (v);
    return rc;
}

/* Where LRTL says that a link is above its class's mean, ns. */
static double above_mean (const struct model *m, const struct link_info *info,
                          size_t c)
{
    return info->lrtl == 0 ? 0 : m->unit[c] * (info->lrtl - m->zero[c]);
}

/* Medians of LRTL and latency of those of k links, of LRTLs from low to high.
 * Return how many.
 */
static size_t middle (const struct model_build *b, const double *x,
                      const uint32_t *at, size_t k, double low, double high,
                      double median[2])
{
    double *v = xarray (2 * k, sizeof (*v));
    size_t n = 0;

    for (size_t i = 0; i < k; i++) {
        double lrtl = b->net->link[b->m->link[at[i]]].lrtl;

        if (lrtl < low || lrtl > high)
            continue;
        v[n] = lrtl;
        v[k + n++] = x[at[i]];
    }
    median[0] = stats_median (v, n);
    median[1] = stats_median (v + k, n);
    free (v);
    return n;
}

/* Use LRTL for class c if it fits latencies x of links at[k], which are
 * determined. v [k] is room.
 */
static void calibrate (const struct model_build *b, uint32_t c, const double *x,
                       const uint32_t *at, size_t k, double *v)
{
    struct model *m = b->m;
    double low[2], high[2], unit, zero, rest, var, n;
    double far = 0;

    for (size_t i = 0; i < k; i++)
        v[i] = b->net->link[m->link[at[i]]].lrtl;
    stats_sort (v, k);
    low[0] = stats_quantile (v, k, 1 / 3.);
    high[0] = stats_quantile (v, k, 2 / 3.);
    if (low[0] >= high[0])
        return;
    n = 1. / middle (b, x, at, k, -INFINITY, low[0], low)
        + 1. / middle (b, x, at, k, high[0], INFINITY, high);
    unit = (high[1] - low[1]) / (high[0] - low[0]);
    zero = (low[0] + high[0]) / 2;
    for (size_t l = 0; l < m->n; l++) {
        double lrtl = b->net->link[m->link[l]].lrtl;

        if (m->class_of[l] == c && lrtl == 0)
            return;
        if (m->class_of[l] == c)
            far = fmax (far, fabs (lrtl - zero));
    }
    for (size_t i = 0; i < k; i++)
        v[i] = x[at[i]] - unit * b->net->link[m->link[at[i]]].lrtl;
    rest = fmax (SPREAD_MIN_NS, stats_mad (v, k, stats_median (v, k)));
    var = MEDIAN_VAR * n * pow (rest / (high[0] - low[0]), 2);
    rest = sqrt (rest * rest + far * far * var);
    if (unit <= LRTL_SLOPE_MIN_SD * sqrt (var)
        || rest >= (high[1] - low[1]) / 2)
        return;
    m->spread[c] = rest;
    m->unit[c] = unit;
    m->zero[c] = zero;
    for (size_t l = 0; l < m->n; l++)
        if (m->class_of[l] == c)
            b->m->y[m->measured + l]
                = above_mean (m, &b->net->link[m->link[l]], c);
}

static int estimate_spreads (const struct model_build *b)
{
    static const int8_t one = 1;
    struct model *m = b->m;
    size_t n = model_unknowns (m);
    double *sketch = xarray (DRAWS * n, sizeof (*sketch));
    double *x = xcalloc (n, sizeof (*x));
    double *v = xarray (n, sizeof (*v));
    uint32_t *at = xarray (n, sizeof (*at));
    struct lsq *q;
    int rc = -1;

    m->spread = pool_alloc (m->pool, m->nclasses, sizeof (*m->spread));
    m->unit = pool_alloc (m->pool, m->nclasses, sizeof (*m->unit));
    m->zero = pool_alloc (m->pool, m->nclasses, sizeof (*m->zero));
    for (size_t c = 0; c < m->nclasses; c++)
        m->spread[c] = WIDE_SPREADS * m->differ;
    weight_model_rows (b);
    weigh_job (m);
    q = m->alone ? prior_solver (m) : solver_of (m, m->a, NULL, 0);
    if (!q || lsq_sketch (q, DRAWS, DRAWS_SEED, LSQ_ROUGH, sketch) < 0
        || lsq_solve (q, b->m->y, LSQ_FINE, x) < 0)
        goto done;
    for (uint32_t c = 0; c < m->nclasses; c++) {
        size_t k = 0;

        for (uint32_t l = 0; l < m->n; l++)
            if (m->class_of[l] == c
                && lsq_sketch_variance (sketch, DRAWS, &l, &one, 1)
                       < pow (DETERMINED_MAX_SD * m->differ, 2)) {
                at[k] = l;
                v[k++] = x[l];
            }
        m->spread[c] = m->differ;
        if (k >= CLASS_LINKS_MIN) {
            double centre = stats_median (v, k);

            m->spread[c] = fmax (SPREAD_MIN_NS, stats_mad (v, k, centre));
        }
        if (k >= LRTL_LINKS_MIN && b->n == 0)
            calibrate (b, c, x, at, k, v);
    }
    weight_model_rows (b);
    memcpy (m->expected, x, n * sizeof (*x));
    rc = 0;
    if (m->alone && lsq_kept (q)) {
        m->before = q;
        q = NULL;
        rc = lsq_reweigh (m->before, m->weight);
        if (rc == 0)
            rc = lsq_solve (m->before, m->y, LSQ_FINE, m->expected);
    }
done:
    lsq_destroy (q);
    free (sketch);
    free (x);
    free (v);
    free (at);
    return rc;
}

/* Find how much more rows scatter than the spreads explain. */
static void find_scatter (struct model *m, const struct network *net)
{
    double *v = xarray (m->nrows, sizeof (*v));

    for (size_t i = 0; i < m->nrows; i++) {
        const struct observation *o = &m->obs->v[i];
        double mean = 0;
        double var = 0;

        for (size_t p = 0; p < o->n; p++) {
            uint32_t c = m->class_of[m->column[o->link[p]]];

            mean += o->count[p]
                    * (m->expected[m->n + c]
                       + above_mean (m, &net->link[o->link[p]], c));
            var += pow (o->count[p] * m->spread[c], 2);
        }
        v[i] = (o->rtt_ns - mean) / sqrt (var);
    }
    m->scatter = 1;
    if (m->nrows >= CLASS_LINKS_MIN)
        m->scatter
            = fmax (1, stats_mad (v, m->nrows, stats_median (v, m->nrows)));
    free (v);
}

int model_make (struct model *m, struct pathset *ps,
                const struct model_run *job, const struct model_run *base,
                size_t nbase, struct model *last, struct error *err)
{
    struct model_build b = {
        .m = m,
        .net = pathset_network (ps),
        .job = job,
        .base = base,
        .nbase = nbase,
        .pool = pool_create (),
    };
    int rc = -1;

    *m = (struct model){ .pool = pool_create (),
                         .obs = &job->obs,
                         .nrows = job->obs.n,
                         .last = last };
    if (gather_model_rows (&b, ps, err) < 0)
        goto done;
    number_classes (&b);
    find_skews (&b);
    find_model_ways (&b);
    make_offsets (&b);
    make_rows (&b);
    find_covered (m);
    m->expected = pool_alloc (m->pool, model_unknowns (m), sizeof (double));
    find_job_unknowns (m);
    /* ill-conditioned only by numbers that no noise explains */
    if ((!reuse_last_model (&b, last)
         && (find_differences (&b) < 0 || estimate_spreads (&b) < 0))
        || prepare_model_solver (m) < 0) {
        error_world (err, "the samples are too ill-conditioned to judge");
        goto done;
    }
    find_scatter (m, b.net);
    rc = 0;
done:
    map_clear (&b.way);
    pool_destroy (b.pool);
    return rc;
}

/* What only this job's rows need. */
static void clear_job (struct model *m)
{
    lsq_destroy (m->after);
    m->offset_of = NULL;
    m->covered = NULL;
    m->after = NULL;
    m->obs = NULL;
    if (m->own) {
        free (m->own->known);
        free (m->own->inverse);
        m->own->known = m->own->inverse = NULL;
    }
}

void model_clear (struct model *m)
{
    struct model *last = m->last;
    bool taken = last && m->before && m->before == last->before;

    clear_job (m);
    if (last && m->alone && m->own->factor && !taken) {
        model_clear (last);
        m->last = NULL;
        *last = *m;
        *m = (struct model){ 0 };
        return;
    }
    lsq_destroy (taken ? NULL : m->before);
    sparse_destroy (m->a);
    pool_destroy (m->pool);
    *m = (struct model){ 0 };
}

/*
 * Results
 */

static double row_dot (const struct model *m, size_t row, const double *x)
{
    return sparse_row_dot (m->a, model_row (m, row), x);
}

void model_residual (const struct model *m, double *r)
{
    for (size_t i = 0; i < m->nrows; i++)
        r[i] = m->obs->v[i].rtt_ns - row_dot (m, i, m->expected);
}

void model_transpose (const struct model *m, const double *v, double *u)
{
    memset (u, 0, model_unknowns (m) * sizeof (*u));
    for (size_t i = 0; i < m->nrows; i++)
        if (v[i] != 0)
            row_add (m->a, model_row (m, i), v[i], u);
}

int model_whiten (const struct model *m, const double *d, size_t n,
                  double tolerance, double *p)
{
    size_t size = model_unknowns (m), rows = m->nrows;
    double *b, *x;
    int rc;

    if (m->own->inverse) {
        memset (p, 0, n * rows * sizeof (*p));
        for (size_t i = 0; i < n * rows; i++)
            if (d[i] != 0)
                linalg_add (p + i / rows * rows, d[i],
                            m->own->inverse + i % rows * rows, rows);
        return 0;
    }
    b = xcalloc (n * size, sizeof (*b));
    x = xarray (n * size, sizeof (*x));
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < rows; i++)
            if (d[k * rows + i] != 0)
                row_add (m->a, model_row (m, i),
                         d[k * rows + i] / m->obs->v[i].var, b + k * size);
    rc = lsq_covariance (m->after, b, n, tolerance, x);
    for (size_t k = 0; k < n && rc == 0; k++)
        for (size_t i = 0; i < rows; i++)
            p[k * rows + i] = (d[k * rows + i] - row_dot (m, i, x + k * size))
                              / m->obs->v[i].var;
    free (b);
    free (x);
    return rc;
}

/* With V^-1 = L L' a draw is L e. */
static int draw_inverse (const struct model *m, uint64_t seed, size_t n,
                         double *z)
{
    size_t rows = m->nrows;
    double *l = linalg_matrix (rows), *e = xarray (rows, sizeof (*e));
    struct rng rng;
    int rc;

    memcpy (l, m->own->inverse, rows * rows * sizeof (*l));
    rc = linalg_cholesky (l, rows);
    rng_seed (&rng, seed);
    for (size_t k = 0; k < n && rc == 0; k++) {
        for (size_t i = 0; i < rows; i++)
            e[i] = rng_next (&rng) >> 63 ? 1 : -1;
        for (size_t i = 0; i < rows; i++)
            z[k * rows + i] = linalg_dot (l + i * rows, e, i + 1);
    }
    free (l);
    free (e);
    return rc;
}

int model_draw (const struct model *m, uint64_t seed, size_t n, double *z)
{
    double *sketch, *off;
    int rc;

    if (m->own->inverse)
        return draw_inverse (m, seed, n, z);
    sketch = xarray (n * model_unknowns (m), sizeof (*sketch));
    off = xarray (n, sizeof (*off));
    rc = lsq_sketch (m->after, n, seed, LSQ_ROUGH, sketch);
    for (size_t i = 0; i < m->nrows && rc == 0; i++) {
        lsq_sketch_residual (m->a, m->weight, sketch, n, seed, model_row (m, i),
                             off);
        for (size_t k = 0; k < n; k++)
            z[k * m->nrows + i] = off[k] / sqrt (m->obs->v[i].var);
    }
    free (sketch);
    free (off);
    return rc;
}

double model_prior_variance (const struct model *m, const double *u)
{
    const struct model_own *own = m->own;
    size_t n = own->factor ? own->n : model_unknowns (m);
    double *x = xarray (n, sizeof (*x));
    double var = INFINITY;

    if (own->factor) {
        var = 0;
        for (size_t i = 0; i < n; i++)
            x[i] = u[own->col[i]];
        linalg_solve_triangle (own->factor, n, x);
        for (size_t i = 0; i < n; i++)
            var += x[i] * u[own->col[i]];
    }
    else if (lsq_covariance (m->before, u, 1, MODEL_EXACT, x) == 0)
        var = linalg_dot (x, u, n);
    free (x);
    return var;
}

void model_link (const struct model *m, const struct network *net,
                 uint32_t link, double *ns, double *spread)
{
    uint32_t col = m->column[link];
    size_t c = 0;

    while (c < m->nclasses && m->class_id[c] != net->link[link].class_id)
        c++;
    *ns = figure (net, link);
    *spread = m->mean_sd;
    if (c < m->nclasses) {
        *ns = col != NONE ? m->expected[col]
                          : m->expected[m->n + c]
                                + above_mean (m, &net->link[link], c);
        *spread = m->spread[c] * m->scatter;
    }
}
