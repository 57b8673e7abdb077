/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Unknowns are the latency x_l of every link of the job and of the
 * baselines, the mean mu_c of every class, and what each host takes more in each
 * run, the job's and the baselines':
 *
 *     mu_c ~ N (figure of its kind, mean_sd^2)
 *     x_l  ~ N (mu_class(l), spread_class(l)^2)
 *     o_hb ~ N (what its loopback took more in run b than in the first
 *               baseline, LOOPBACK_SD^2), or N (0, OFFSET_SD^2)
 *     t_i  ~ N (row_i . (x, o), var_i)  for every row of the baselines.
 *
 * Their precision matrix K0 is the sum of what each line contributes; K0^-1
 * times the rows' pull gives the expected latencies. The job's rows A (over
 * the same unknowns) have then the expected RTTs A E(x) and, with their own
 * noise N, the covariance V = A K0^-1 A' + N. V is never formed; with
 * K = K0 + A' N^-1 A, Woodbury's identity is
 *
 *     V^-1 = N^-1 - N^-1 A K^-1 A' N^-1.
 *
 * Neither K nor its inverse is formed either. Every line above is a row of a
 * sparse least squares problem (linear/lsq), "x_l - mu_c is 0, give or take the
 * spread" like the rows that were measured; equal rows are one.
 *
 * A draw of z: with x from N (0, K0^-1), n from N (0, N) and r = A x + n,
 * V^-1 r = N^-1 (n - A u) where K u = A' N^-1 n - K0 x, and K0 x, of
 * covariance K0, is a sum of one independent normal number per line above.
 * One system per draw; u itself is a draw of what the posterior means are
 * wrong by.
 *
 * Spreads: what rows are off a fit by classes' means alone says roughly how
 * links differ (`differ`). The fit is one of least distances, by reweighting,
 * and what it leaves counts by its lower third: slow rows move neither. A
 * first pass with three times that as every class's spread shows which links
 * are determined by job and baselines together; a class with enough of them
 * has the spread that their MAD says, another one `differ`. A slow link or two
 * do not move a MAD.
 *
 * Far rows: the work is to grow with the job, not with the site. Of more than
 * ROWS_FREE + ROWS_PER_ROW times the job's rows, those of the baselines are
 * kept that leave the job's links least: by the number of their links
 * that are not the job's, where they share any with it; then, with the links
 * of the kept ones for the job's, those that share a link with these; and so
 * on. To leave out a row makes variances larger, it biases nothing.
 */
#include "config.h"
#include "core/judge/model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/linalg.h"
#include "core/linear/stats.h"

enum {
    CLASS_ENOUGH = 8,    /* determined links that show a class's spread */
    DRAWS = LSQ_LANES,   /* that show which links are determined */
    DRAWS_SEED = 1,
    FIT_TURNS = 8,
    ROWS_FREE = 2048,
    ROWS_PER_ROW = 8,
};

/* ns */
#define HOST_FIGURE 350.0   /* half of what is not cable and switch */
#define SWITCH_FIGURE 150.0 /* a hop and a few metres */
#define MEAN_SD 3000.0      /* at least; else the usual RTT */
#define SPREAD_DEFAULT 100.0
#define OFFSET_SD 80.0      /* of a host in a run, where nothing is known */
#define LOOPBACK_SD 20.0    /* of what loopbacks do not show of it */
#define SPREAD_MIN 20.0

/* of what links differ by */
#define SPREAD_WIDE 3.0     /* of the first pass */
#define DETERMINED 0.5      /* standard deviation of a link that is */

#define NORMAL_THIRD 0.4307 /* of a standard normal's sizes are less */
#define ALIKE 1e-6

/* relative errors of solutions; those of variances are their squares */
#define EXACT 1e-8
#define ROUGH 1e-2

#define NONE UINT32_MAX

static double figure (const struct network *net, uint32_t link)
{
    return net->link[link].kind == LINK_HOST ? HOST_FIGURE : SWITCH_FIGURE;
}

static void row_add (const struct sparse *a, size_t row, double w, double *x)
{
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++)
        x[a->col[e]] += w * a->value[e];
}

/*
 * Rows
 */

static uint64_t row_hash (const struct observation *row)
{
    uint64_t h = row->n;

    for (size_t p = 0; p < row->n; p++) {
        h = (h ^ row->link[p]) * 0x9e3779b97f4a7c15;
        h = (h ^ row->count[p] ^ h >> 29) * 0xbf58476d1ce4e5b9;
    }
    return h ^ h >> 32;
}

static bool same_row (const struct observation *a,
                      const struct observation *b)
{
    return a->n == b->n
           && !memcmp (a->link, b->link, a->n * sizeof (*a->link))
           && !memcmp (a->count, b->count, a->n);
}

/* All observations, the job's first, each different row once. */
struct gather {
    const struct network *net;
    const struct observation **row; /* [n] */
    double *weight;                 /* [n] of the baselines */
    double *rtt_ns;                 /* [n] their weighted mean */
    uint32_t *run;                  /* [n] 0: the job; 1 ..: a baseline */
    size_t n;
    size_t njob;                    /* of the job */
    uint32_t *slot;                 /* open hashing: row + 1 */
    size_t mask;
    uint8_t *keep;                  /* [n] */
    uint32_t *offset;               /* [runs * nlinks] number or NONE */
    const uint32_t *col;            /* the model's column[] */
};

static int gather_open (struct gather *g, size_t rows)
{
    size_t size = 16;

    while (size < 2 * rows)
        size *= 2;
    g->mask = size - 1;
    g->slot = calloc (size, sizeof (*g->slot));
    g->row = malloc ((rows + 1) * sizeof (*g->row));
    g->weight = calloc (rows + 1, sizeof (*g->weight));
    g->rtt_ns = calloc (rows + 1, sizeof (*g->rtt_ns));
    g->run = calloc (rows + 1, sizeof (*g->run));
    g->keep = calloc (rows + 1, 1);
    return g->slot && g->row && g->weight && g->rtt_ns && g->run
                   && g->keep
               ? 0
               : -1;
}

static void gather_close (struct gather *g)
{
    free (g->slot);
    free (g->row);
    free (g->weight);
    free (g->rtt_ns);
    free (g->run);
    free (g->keep);
    free (g->offset);
}

static uint32_t gather_row (struct gather *g, const struct observation *row,
                            uint32_t run)
{
    size_t at = (row_hash (row) + run) & g->mask;

    while (g->slot[at]
           && (g->run[g->slot[at] - 1] != run
               || !same_row (g->row[g->slot[at] - 1], row)))
        at = (at + 1) & g->mask;
    if (!g->slot[at]) {
        g->run[g->n] = run;
        g->row[g->n++] = row;
        g->slot[at] = (uint32_t)g->n;
    }
    return g->slot[at] - 1;
}

static void gather_baseline (struct gather *g, const struct observations *o,
                             uint32_t run)
{
    for (size_t i = 0; i < o->n; i++) {
        uint32_t k = gather_row (g, &o->v[i], run);
        double w = 1 / o->v[i].var;

        g->weight[k] += w;
        g->rtt_ns[k] += (o->v[i].rtt_ns - g->rtt_ns[k]) * w / g->weight[k];
    }
}

static void add_link (struct model *model, uint32_t link)
{
    if (model->column[link] == NONE) {
        model->column[link] = (uint32_t)model->n;
        model->link[model->n++] = link;
    }
}

/* Links of a row that the model does not have; NONE: it has none of them. */
static uint32_t strangers (const struct gather *g,
                           const struct observation *row)
{
    uint32_t n = 0;

    for (size_t p = 0; p < row->n; p++)
        n += g->col[row->link[p]] == NONE;
    return n == row->n ? NONE : n;
}

/* Keep at most `room` of the rows that share a link with those so far, the
 * closest first. Return how many; their links are the model's then.
 */
static size_t keep_layer (struct model *model, struct gather *g, size_t room,
                          uint32_t *far)
{
    size_t count[ROW_MAX + 1] = { 0 };
    size_t kept = 0;

    for (size_t i = g->njob; i < g->n; i++) {
        far[i] = g->keep[i] ? NONE : strangers (g, g->row[i]);
        if (far[i] != NONE)
            count[far[i]]++;
    }
    for (size_t k = 0; k <= ROW_MAX; k++) {
        if (count[k] > room - kept)
            count[k] = room - kept;
        kept += count[k];
    }
    for (size_t i = g->njob; i < g->n; i++)
        if (far[i] != NONE && count[far[i]] > 0) {
            count[far[i]]--;
            g->keep[i] = 1;
        }
    for (size_t i = g->njob; i < g->n; i++)
        for (size_t p = 0; g->keep[i] && p < g->row[i]->n; p++)
            add_link (model, g->row[i]->link[p]);
    return kept;
}

static int keep_near (struct model *model, struct gather *g)
{
    size_t room = ROWS_FREE + ROWS_PER_ROW * model->nrows;
    uint32_t *far = malloc ((g->n + 1) * sizeof (*far));
    size_t kept = 1;

    if (!far)
        return -1;
    while (room > 0 && kept > 0) {
        kept = keep_layer (model, g, room, far);
        room -= kept;
    }
    for (size_t i = g->njob; i < g->n; i++)
        model->far_rows += !g->keep[i];
    free (far);
    return 0;
}

static int gather_rows (struct model *model, struct pathset *ps,
                        struct gather *g, const struct model_run *base,
                        size_t nbase)
{
    size_t rows = model->nrows;
    const uint32_t *link;
    struct error err;

    for (size_t b = 0; b < nbase; b++)
        rows += base[b].obs.n;
    model->row_of = malloc ((model->nrows + 1) * sizeof (*model->row_of));
    model->link = malloc ((g->net->nlinks + 1) * sizeof (*model->link));
    model->column = malloc ((g->net->nlinks + 1) * sizeof (*model->column));
    if (gather_open (g, rows) < 0 || !model->row_of || !model->link
        || !model->column)
        return -1;
    g->col = model->column;
    for (size_t l = 0; l < g->net->nlinks; l++)
        model->column[l] = NONE;
    link = pathset_links (ps, &model->m, &err);
    for (size_t j = 0; j < model->m; j++)
        add_link (model, link[j]);
    for (size_t i = 0; i < model->nrows; i++)
        model->row_of[i] = gather_row (g, &model->obs->v[i], 0);
    g->njob = g->n;
    for (size_t b = 0; b < nbase; b++)
        gather_baseline (g, &base[b].obs, (uint32_t)b + 1);
    for (size_t i = 0; i < g->n; i++)
        model->baseline_rows += g->weight[i] > 0;
    return keep_near (model, g);
}

/* Number the classes in order of appearance. */
static int number_classes (struct model *model, const struct network *net)
{
    uint32_t *id = malloc ((model->n + 1) * sizeof (*id));

    model->class_id = id;
    model->class_of = malloc ((model->n + 1) * sizeof (*model->class_of));
    if (!id || !model->class_of)
        return -1;
    for (size_t l = 0; l < model->n; l++) {
        uint32_t class_id = net->link[model->link[l]].class_id;
        size_t c = 0;

        while (c < model->nclasses && id[c] != class_id)
            c++;
        if (c == model->nclasses)
            id[model->nclasses++] = class_id;
        model->class_of[l] = (uint32_t)c;
    }
    return 0;
}

/*
 * Hosts' offsets: of a run, by host link. Those of the job come first.
 */

/* Number the offsets of a run; column[nlinks] is where a host link's is, NONE. */
static void number_offsets (struct model *model, const struct gather *g,
                            uint32_t run, uint32_t *column)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->run[i] != run || (run > 0 && !g->keep[i]))
            continue;
        for (size_t p = 0; p < g->row[i]->n; p++) {
            uint32_t link = g->row[i]->link[p];

            if (g->net->link[link].kind == LINK_HOST && column[link] == NONE)
                column[link] = (uint32_t)model->noffsets++;
        }
    }
}

/* How much a run's offset is known of beforehand. A baseline's is what loopbacks
 * are compared with.
 */
static void expect_offset (struct model *model, uint32_t offset,
                           struct loopback_time loopback,
                           struct loopback_time before)
{
    bool known = !isnan (loopback.ns) && !isnan (before.ns);

    model->offset_mean[offset] = known ? loopback.ns - before.ns : 0;
    model->offset_sd[offset] = known ? hypot (LOOPBACK_SD,
                                              hypot (loopback.sd, before.sd))
                                     : OFFSET_SD;
}

static struct loopback_time loopback_of (const struct model_run *run,
                                         uint32_t link)
{
    static const struct loopback_time none = { .ns = NAN };

    return run->loopback ? run->loopback[link] : none;
}

double model_shift (const struct network *net, const struct observation *row,
                    const struct model_run *run, const struct model_run *base,
                    double *sd)
{
    double shift = 0;
    double var = 0;

    for (size_t p = 0; p < row->n; p++) {
        struct loopback_time x = loopback_of (run, row->link[p]);
        struct loopback_time y = loopback_of (base, row->link[p]);

        if (net->link[row->link[p]].kind != LINK_HOST)
            continue;
        if (isnan (x.ns) || isnan (y.ns)) {
            var += 2 * OFFSET_SD * OFFSET_SD;
            continue;
        }
        shift += x.ns - y.ns;
        var += 2 * LOOPBACK_SD * LOOPBACK_SD + x.sd * x.sd + y.sd * y.sd;
    }
    *sd = sqrt (var);
    return shift;
}

static int make_offsets (struct model *model, struct gather *g,
                         const struct model_run *job,
                         const struct model_run *base, size_t nbase)
{
    size_t nlinks = g->net->nlinks;

    g->offset = malloc (((nbase + 1) * nlinks + 1) * sizeof (*g->offset));
    if (!g->offset)
        return -1;
    for (size_t i = 0; i < (nbase + 1) * nlinks; i++)
        g->offset[i] = NONE;
    for (size_t run = 0; run <= nbase; run++)
        number_offsets (model, g, (uint32_t)run, g->offset + run * nlinks);
    model->offset_of = malloc ((nlinks + 1) * sizeof (*model->offset_of));
    if (!model->offset_of)
        return -1;
    memcpy (model->offset_of, g->offset, nlinks * sizeof (*g->offset));
    model->offset_mean = calloc (model->noffsets + 1, sizeof (double));
    model->offset_sd = calloc (model->noffsets + 1, sizeof (double));
    if (!model->offset_mean || !model->offset_sd)
        return -1;
    for (uint32_t run = 0; run <= nbase; run++)
        for (uint32_t l = 0; l < nlinks; l++) {
            uint32_t offset = g->offset[run * nlinks + l];
            struct loopback_time before = { .ns = NAN };

            if (offset == NONE)
                continue;
            for (size_t b = 0; b < nbase && isnan (before.ns); b++)
                before = loopback_of (&base[b], l);
            expect_offset (model, offset,
                           loopback_of (run ? &base[run - 1] : job, l),
                           before);
        }
    return 0;
}

/*
 * The least squares problems: measured rows (the job's first), then a row per
 * link that ties it to its class, then one per class.
 */

static int add_row (const struct model *model, struct model_side *side,
                    const struct gather *g, size_t row, double weight)
{
    const struct observation *o = g->row[row];
    const uint32_t *offset = g->offset + g->run[row] * g->net->nlinks;
    uint32_t col[2 * ROW_MAX];
    int8_t value[2 * ROW_MAX];
    size_t n = o->n;

    for (size_t p = 0; p < o->n; p++) {
        col[p] = g->col[o->link[p]];
        value[p] = (int8_t)o->count[p];
        if (offset[o->link[p]] == NONE)
            continue;
        col[n] = (uint32_t)(model->n + model->nclasses) + offset[o->link[p]];
        value[n++] = 1;
    }
    side->weight[side->a->nrows] = weight;
    return sparse_add (side->a, col, value, n);
}

static int add_priors (const struct model *model, struct model_side *side)
{
    static const int8_t value[2] = { 1, -1 };

    side->measured = side->a->nrows;
    for (size_t l = 0; l < model->n; l++) {
        uint32_t col[2] = {
            (uint32_t)l,
            (uint32_t)model->n + model->class_of[l],
        };

        if (sparse_add (side->a, col, value, 2) < 0)
            return -1;
    }
    for (size_t c = 0; c < model->nclasses + model->noffsets; c++) {
        uint32_t col = (uint32_t)(model->n + c);

        if (sparse_add (side->a, &col, value, 1) < 0)
            return -1;
    }
    return 0;
}

static int make_side (const struct model *model, struct model_side *side,
                      const struct gather *g, const double *job)
{
    side->a = sparse_create (model_unknowns (model));
    side->weight = malloc ((g->n + model_unknowns (model) + 1)
                           * sizeof (double));
    if (!side->a || !side->weight)
        return -1;
    for (size_t i = 0; i < g->n; i++) {
        double weight = g->weight[i] + (job ? job[i] : 0);

        if ((i < g->njob || g->keep[i]) && weight > 0
            && add_row (model, side, g, i, weight) < 0)
            return -1;
    }
    return add_priors (model, side);
}

/* Make the rows of both sides; the priors' weights come with the spreads. */
static int make_sides (struct model *model, const struct gather *g)
{
    double *job = calloc (g->n + 1, sizeof (*job));
    int rc = -1;

    if (!job)
        return -1;
    for (size_t i = 0; i < model->nrows; i++)
        job[model->row_of[i]] += 1 / model->obs->v[i].var;
    if (make_side (model, &model->before, g, NULL) == 0
        && make_side (model, &model->after, g, job) == 0)
        rc = 0;
    free (job);
    return rc;
}

/* Take the spreads as they are. */
static int set_spreads (const struct model *model, struct model_side *side)
{
    for (size_t l = 0; l < model->n; l++) {
        double s = model->spread[model->class_of[l]];

        side->weight[side->measured + l] = 1 / (s * s);
    }
    for (size_t c = 0; c < model->nclasses; c++)
        side->weight[side->measured + model->n + c]
            = 1 / (model->mean_sd * model->mean_sd);
    for (size_t i = 0; i < model->noffsets; i++)
        side->weight[side->measured + model->n + model->nclasses + i]
            = 1 / pow (model->offset_sd[i], 2);
    lsq_destroy (side->lsq);
    side->lsq = lsq_create (side->a, side->weight);
    return side->lsq ? 0 : -1;
}

/*
 * Estimates
 */

/* Add A' N^-1 d - K0 x to b, for normal d of covariance N and x of K0^-1; noise
 * (unless NULL) is d in standard deviations.
 */
static void draw_pull (const struct model *model, struct rng *rng,
                       double *noise, double *b)
{
    const struct model_side *before = &model->before;

    for (size_t i = 0; i < before->a->nrows; i++)
        row_add (before->a, i,
                 sqrt (before->weight[i]) * rng_normal (rng), b);
    for (size_t i = 0; i < model->nrows; i++) {
        double e = rng_normal (rng);

        if (noise)
            noise[i] = e;
        row_add (model->after.a, model->row_of[i],
                 e / sqrt (model->obs->v[i].var), b);
    }
}

/* Draw how wrong the posterior means are, n times, into u. */
static int draw_errors (const struct model *model, struct rng *rng, size_t n,
                        double *noise, double *u)
{
    size_t size = model_unknowns (model);
    double *b = calloc (n * size + 1, sizeof (*b));
    int rc;

    if (!b)
        return -1;
    for (size_t i = 0; i < n; i++)
        draw_pull (model, rng, noise ? noise + i * model->nrows : NULL,
                   b + i * size);
    rc = lsq_covariance (model->after.lsq, b, n, ROUGH, u);
    free (b);
    return rc;
}

/* Latencies that the baselines' rows, of these RTTs, or with `job` all rows
 * let one expect, above the figures of the links' kinds.
 */
static int estimate (const struct model *model, const struct gather *g,
                     const double *rtt_ns, bool job, double *x)
{
    const struct sparse *a = model->before.a;
    size_t n = model_unknowns (model);
    double *b = calloc (n + 1, sizeof (*b));
    double *f = calloc (n + 1, sizeof (*f));
    size_t row = 0;
    int rc = -1;

    if (!b || !f)
        goto done;
    for (size_t l = 0; l < model->n; l++)
        f[l] = figure (g->net, model->link[l]);
    memcpy (f + model->n + model->nclasses, model->offset_mean,
            model->noffsets * sizeof (*f));
    for (size_t i = 0; i < g->n; i++) {
        if (!(i < g->njob || g->keep[i]) || !(g->weight[i] > 0))
            continue;
        row_add (a, row,
                 g->weight[i] * (rtt_ns[i] - sparse_row_dot (a, row, f)),
                 b);
        row++;
    }
    for (size_t i = 0; i < model->nrows && job; i++) {
        const struct observation *o = &model->obs->v[i];

        row_add (model->after.a, model->row_of[i],
                 (o->rtt_ns
                  - sparse_row_dot (model->after.a, model->row_of[i], f))
                     / o->var,
                 b);
    }
    rc = lsq_covariance (job ? model->after.lsq : model->before.lsq, b, 1,
                         EXACT, x);
done:
    free (b);
    free (f);
    return rc;
}

/* var[l]: of the posterior of link l, by a few draws. */
static int rough_variances (const struct model *model, double *var)
{
    size_t n = model_unknowns (model);
    double *u = malloc ((DRAWS * n + 1) * sizeof (*u));
    struct rng rng;
    int rc = -1;

    rng_seed (&rng, DRAWS_SEED);
    if (u && draw_errors (model, &rng, DRAWS, NULL, u) == 0) {
        for (size_t l = 0; l < model->n; l++) {
            var[l] = 0;
            for (size_t k = 0; k < DRAWS; k++)
                var[l] += u[k * n + l] * u[k * n + l] / DRAWS;
        }
        rc = 0;
    }
    free (u);
    return rc;
}

/* y: RTTs of the measured rows of `after`, the job's where it has one. */
static void list_rtts (const struct model *model, const struct gather *g,
                       double *y)
{
    size_t row = 0;

    for (size_t i = 0; i < g->n; i++)
        if (i < g->njob || (g->keep[i] && g->weight[i] > 0))
            y[row++] = g->rtt_ns[i];
    for (size_t i = 0; i < model->nrows; i++)
        y[model->row_of[i]] = model->obs->v[i].rtt_ns;
}

/* count[c]: crossings of links of class c by a row. Return the sum of squares
 * of crossings of its links.
 */
static double count_classes (const struct model *model, size_t row,
                             double *count)
{
    const struct sparse *a = model->after.a;
    double squares = 0;

    memset (count, 0, model->nclasses * sizeof (*count));
    for (size_t e = a->start[row]; e < a->start[row + 1]; e++) {
        if (a->col[e] >= model->n)
            continue;
        count[model->class_of[a->col[e]]] += a->value[e];
        squares += a->value[e] * a->value[e];
    }
    return squares;
}

/* Fit y by classes' means, a row's error counting as a link's difference; off
 * [rows] is what rows were off the last fit, and becomes what they are off
 * this one.
 */
static int fit_classes (const struct model *model, const double *y,
                        double *off)
{
    size_t rows = model->after.measured;
    size_t n = model->nclasses;
    double *h = linalg_matrix (n);
    double *mean = calloc (2 * n + 1, sizeof (*mean));
    double *count = mean + n;
    int rc = -1;

    if (!h || !mean)
        goto done;
    for (size_t i = 0; i < rows; i++) {
        double w = 1 / count_classes (model, i, count) / fmax (1, off[i]);

        for (size_t c = 0; c < n; c++) {
            linalg_add (h + c * n, w * count[c], count, n);
            mean[c] += w * count[c] * y[i];
        }
    }
    /* what no row tells apart is shared */
    for (size_t c = 0; c < n; c++)
        h[c * n + c] += ALIKE * (h[c * n + c] + 1e-30);
    if (linalg_cholesky (h, n) < 0)
        goto done;
    linalg_solve (h, n, mean);
    for (size_t i = 0; i < rows; i++) {
        double squares = count_classes (model, i, count);

        off[i] = fabs (y[i] - linalg_dot (count, mean, n)) / sqrt (squares);
    }
    rc = 0;
done:
    free (h);
    free (mean);
    return rc;
}

/* How much links differ within their classes, roughly, and how much classes
 * may.
 */
static int find_differences (struct model *model, const struct gather *g)
{
    size_t rows = model->after.measured;
    double *y = malloc ((rows + 1) * sizeof (*y));
    double *off = calloc (rows + 1, sizeof (*off));
    int rc = -1;

    if (!y || !off)
        goto done;
    model->mean_sd = MEAN_SD;
    model->differ = SPREAD_DEFAULT;
    list_rtts (model, g, y);
    for (int turn = 0; turn < FIT_TURNS; turn++)
        if (fit_classes (model, y, off) < 0)
            goto done;
    stats_sort (off, rows);
    if (rows > 0)
        model->mean_sd = fmax (MEAN_SD, stats_median (y, rows));
    if (rows >= CLASS_ENOUGH) {
        double ns = stats_quantile (off, rows, 1 / 3.) / NORMAL_THIRD;

        /* the default does for less */
        if (ns > SPREAD_WIDE * SPREAD_DEFAULT)
            model->differ = ns;
    }
    rc = 0;
done:
    free (y);
    free (off);
    return rc;
}

static int estimate_spreads (struct model *model, const struct gather *g)
{
    size_t n = model_unknowns (model);
    double *x = malloc ((n + 1) * sizeof (*x));
    double *var = malloc ((n + 1) * sizeof (*var));
    double *v = malloc ((n + 1) * sizeof (*v));
    int rc = -1;

    for (size_t c = 0; c < model->nclasses; c++)
        model->spread[c] = SPREAD_WIDE * model->differ;
    if (!x || !var || !v || set_spreads (model, &model->before) < 0
        || set_spreads (model, &model->after) < 0
        || rough_variances (model, var) < 0
        || estimate (model, g, g->rtt_ns, true, x) < 0)
        goto done;
    for (size_t c = 0; c < model->nclasses; c++) {
        size_t k = 0;

        for (size_t l = 0; l < model->n; l++)
            if (model->class_of[l] == c
                && var[l] < pow (DETERMINED * model->differ, 2))
                v[k++] = x[l];
        model->spread[c] = model->differ;
        if (k >= CLASS_ENOUGH) {
            double centre = stats_median (v, k);

            model->spread[c] = fmax (SPREAD_MIN, stats_mad (v, k, centre));
        }
    }
    rc = 0;
done:
    free (x);
    free (var);
    free (v);
    return rc;
}

/* How much more rows scatter than spreads say. */
static int find_scatter (struct model *model)
{
    double *v = malloc ((model->nrows + 1) * sizeof (*v));

    if (!v)
        return -1;
    for (size_t i = 0; i < model->nrows; i++) {
        const struct observation *o = &model->obs->v[i];
        double mean = 0;
        double var = 0;

        for (size_t p = 0; p < o->n; p++) {
            uint32_t c = model->class_of[model->column[o->link[p]]];

            mean += o->count[p] * model->mean[c];
            var += pow (o->count[p] * model->spread[c], 2);
        }
        v[i] = (o->rtt_ns - mean) / sqrt (var);
    }
    model->scatter = 1;
    if (model->nrows >= CLASS_ENOUGH)
        model->scatter = fmax (1, stats_mad (v, model->nrows,
                                             stats_median (v, model->nrows)));
    free (v);
    return 0;
}

static int find_covered (struct model *model)
{
    const struct sparse *a = model->before.a;

    model->covered = calloc (model->m + 1, sizeof (*model->covered));
    if (!model->covered)
        return -1;
    for (size_t e = 0; e < a->start[model->before.measured]; e++)
        if (a->col[e] < model->m)
            model->covered[a->col[e]] = true;
    for (size_t j = 0; j < model->m; j++)
        model->uncovered += !model->covered[j];
    return 0;
}

int model_make (struct model *model, struct pathset *ps,
                const struct model_run *job, const struct model_run *base,
                size_t nbase, struct error *err)
{
    struct gather g = { .net = pathset_network (ps) };
    int rc = -1;

    *model = (struct model){ .obs = &job->obs, .nrows = job->obs.n };
    if (!pathset_links (ps, &model->m, err))
        return -1;
    if (gather_rows (model, ps, &g, base, nbase) < 0
        || number_classes (model, g.net) < 0
        || make_offsets (model, &g, job, base, nbase) < 0
        || make_sides (model, &g) < 0)
        goto nomem;
    model->mean = calloc (model->nclasses + 1, sizeof (double));
    model->spread = malloc ((model->nclasses + 1) * sizeof (double));
    model->expected = calloc (model_unknowns (model) + 1, sizeof (double));
    if (!model->mean || !model->spread || !model->expected
        || find_differences (model, &g) < 0
        || estimate_spreads (model, &g) < 0
        || set_spreads (model, &model->before) < 0
        || set_spreads (model, &model->after) < 0
        || estimate (model, &g, g.rtt_ns, false, model->expected) < 0
        || find_covered (model) < 0)
        goto nomem;
    for (size_t l = 0; l < model->n; l++) {
        double ns = figure (g.net, model->link[l]);
        uint32_t c = model->class_of[l];

        model->expected[l] += ns;
        model->mean[c] = ns + model->expected[model->n + c];
    }
    for (size_t c = 0; c < model->nclasses; c++)
        model->expected[model->n + c] = 0;
    for (size_t i = 0; i < model->noffsets; i++)
        model->expected[model->n + model->nclasses + i]
            += model->offset_mean[i];
    if (find_scatter (model) < 0)
        goto nomem;
    rc = 0;
    goto done;
nomem:
    /* a prior makes every problem well-conditioned, unless the samples hold
     * numbers that no noise explains */
    if (errno == EDOM)
        error_world (err, "the samples are too ill-conditioned to judge");
    else
        error_nomem (err);
done:
    gather_close (&g);
    return rc;
}

int model_reweigh (struct model *model)
{
    double *weight = model->after.weight;

    for (size_t i = 0; i < model->nrows; i++)
        weight[model->row_of[i]] = 0;
    for (size_t i = 0; i < model->nrows; i++)
        weight[model->row_of[i]] += 1 / model->obs->v[i].var;
    return set_spreads (model, &model->after);
}

static void clear_side (struct model_side *side)
{
    lsq_destroy (side->lsq);
    sparse_destroy (side->a);
    free (side->weight);
}

void model_clear (struct model *model)
{
    free (model->link);
    free (model->expected);
    free (model->covered);
    free (model->offset_of);
    free (model->offset_mean);
    free (model->offset_sd);
    free (model->column);
    free (model->class_of);
    free (model->class_id);
    free (model->mean);
    free (model->spread);
    free (model->row_of);
    clear_side (&model->before);
    clear_side (&model->after);
    *model = (struct model){ 0 };
}

bool model_loopback (const struct model *model, uint32_t link, double *ns,
                     double *sd)
{
    uint32_t offset = model->offset_of[link];

    if (offset == NONE || model->offset_sd[offset] == OFFSET_SD)
        return false;
    *ns = model->offset_mean[offset];
    *sd = model->offset_sd[offset];
    return true;
}

static double row_dot (const struct model *model, size_t row, const double *x)
{
    return sparse_row_dot (model->after.a, model->row_of[row], x);
}

void model_residual (const struct model *model, double *r)
{
    for (size_t i = 0; i < model->nrows; i++)
        r[i] = model->obs->v[i].rtt_ns - row_dot (model, i, model->expected);
}

void model_transpose (const struct model *model, const double *v, double *u)
{
    memset (u, 0, model_unknowns (model) * sizeof (*u));
    for (size_t i = 0; i < model->nrows; i++)
        if (v[i] != 0)
            row_add (model->after.a, model->row_of[i], v[i], u);
}

int model_whiten (const struct model *model, const double *d, size_t n,
                  double *p)
{
    size_t size = model_unknowns (model);
    size_t nrows = model->nrows;
    double *b = calloc (n * size + 1, sizeof (*b));
    double *x = malloc ((n * size + 1) * sizeof (*x));
    int rc = -1;

    if (!b || !x)
        goto done;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < nrows; i++)
            if (d[k * nrows + i] != 0)
                row_add (model->after.a, model->row_of[i],
                         d[k * nrows + i] / model->obs->v[i].var,
                         b + k * size);
    if (lsq_covariance (model->after.lsq, b, n, EXACT, x) < 0)
        goto done;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < nrows; i++)
            p[k * nrows + i] = (d[k * nrows + i]
                                - row_dot (model, i, x + k * size))
                               / model->obs->v[i].var;
    rc = 0;
done:
    free (b);
    free (x);
    return rc;
}

int model_draw (const struct model *model, struct rng *rng, size_t n,
                double *z)
{
    size_t size = model_unknowns (model);
    double *u = malloc ((n * size + 1) * sizeof (*u));

    if (!u || draw_errors (model, rng, n, z, u) < 0) {
        free (u);
        return -1;
    }
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < model->nrows; i++) {
            double var = model->obs->v[i].var;
            double *zi = &z[k * model->nrows + i];

            *zi = *zi / sqrt (var) - row_dot (model, i, u + k * size) / var;
        }
    free (u);
    return 0;
}

double model_prior_variance (const struct model *model, const double *u)
{
    size_t n = model_unknowns (model);
    double *x = malloc ((n + 1) * sizeof (*x));
    double var = NAN;

    if (x && lsq_covariance (model->before.lsq, u, 1, EXACT, x) == 0) {
        var = 0;
        for (size_t l = 0; l < n; l++)
            var += x[l] * u[l];
    }
    free (x);
    return var;
}

void model_link (const struct model *model, const struct network *net,
                 uint32_t link, double *ns, double *spread)
{
    uint32_t col = model->column[link];
    size_t c = 0;

    while (c < model->nclasses
           && model->class_id[c] != net->link[link].class_id)
        c++;
    *ns = figure (net, link);
    *spread = model->mean_sd;
    if (c < model->nclasses) {
        *ns = col == NONE ? model->mean[c] : model->expected[col];
        *spread = model->spread[c] * model->scatter;
    }
}
