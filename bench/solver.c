/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How fast is solving, and do its errors agree with those that the plan
 * predicts? As Markdown.
 *
 *     solver [--smallest | --long] [--draws N] [--limit SECONDS]
 *
 * Each plan with two redundant rounds is measured N (50) times with Gaussian
 * noise of one ns in every RTT, and solved: first the latencies alone (fit, if
 * all links are determined), then with their errors. Observed is the standard
 * deviation of the solutions, over links and groups. The worst are the 1 % of
 * them with the greatest stated errors, so that chance does not select them.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/need.h"
#include "bench/networks.h"
#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "core/solve/solve.h"
#include "util/rng.h"

enum { SEED = 1, EXTRA_ROUNDS = 2, WORST_PERCENT = 1 };

static const struct solver_case {
    const char *name;
    struct shape shape;
    bool big;
    enum draw draw;
    size_t n;
    double limit; /* seconds of a fit; 0: no limit */
} cases[] = {
    { "12-port 3-tree d", { FAT_TREE, { 12, 3 }, ROUTING_DMODK, 0 },
      false, WHOLE, 0, 0 },
    { "12-port 3-tree m", { FAT_TREE, { 12, 3 }, ROUTING_MINHOP, 0 },
      false, WHOLE, 0, 0 },
    { "24-port 3-tree d", { FAT_TREE, { 24, 3 }, ROUTING_DMODK, 0 },
      true, WHOLE, 0, 0 },
    { "24-port 3-tree m", { FAT_TREE, { 24, 3 }, ROUTING_MINHOP, 0 },
      true, WHOLE, 0, 0 },
    { "36-port 3-tree d", { FAT_TREE, { 36, 3 }, ROUTING_DMODK, 0 },
      true, WHOLE, 0, .05 },
    { "36-port 3-tree m", { FAT_TREE, { 36, 3 }, ROUTING_MINHOP, 0 },
      true, WHOLE, 0, .05 },
    { "slimfly 5", { SLIMFLY, { 5 }, ROUTING_MINHOP, 0 }, false, WHOLE, 0, 0 },
    { "dragonfly (4,8,4)", { DRAGONFLY, { 4, 8, 4 }, ROUTING_MINHOP, 0 },
      true, WHOLE, 0, 0 },
    { "64 random of 432 d", { FAT_TREE, { 12, 3 }, ROUTING_DMODK, 0 },
      false, RANDOM, 64, 0 },
    { "64 random of 432 m", { FAT_TREE, { 12, 3 }, ROUTING_MINHOP, 0 },
      false, RANDOM, 64, 0 },
    { "200 random of 3456 d", { FAT_TREE, { 24, 3 }, ROUTING_DMODK, 0 },
      true, RANDOM, 200, 0 },
    { "200 random of 3456 m", { FAT_TREE, { 24, 3 }, ROUTING_MINHOP, 0 },
      true, RANDOM, 200, 0 },
    { "200 random of 11664 m", { FAT_TREE, { 36, 3 }, ROUTING_MINHOP, 0 },
      true, RANDOM, 200, 0 },
};

struct result {
    size_t links, rank, rows;
    bool predicted;
    double rms, max;
    double predict_seconds, fit_seconds, solve_seconds;
    size_t draws;
    double observed;         /* root mean square */
    double worst[2];         /* stated, observed */
    char error[512];
};

/* The estimates of one link or group, over the draws. */
struct item {
    double sum, squares, stated; /* stated: sum of variances */
};

struct bench {
    const struct solver_case *c;
    struct result *r; /* shared */
    size_t draws;
    unsigned int limit;
    struct instance net;
    struct pathset *ps;
    struct plan *plan;
    struct samples *samples;
    double *truth; /* [samples] RTTs without noise */
    struct item *item;
    size_t nitems;
};

/* One sample for each probe, from one side. */
static int make_samples (struct bench *b, struct error *err)
{
    b->samples = samples_create ();
    b->truth = malloc ((plan_probes (b->plan) + 1) * sizeof (*b->truth));
    if (!b->truth)
        return error_nomem (err);
    for (size_t r = 0; r < plan_rounds (b->plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (b->plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct sample s = {
                .a = probe[i].a,
                .b = probe[i].b,
                .round = r,
                .initiator = probe[i].a,
                .sent = 1,
            };
            struct row row;

            if (pathset_row (b->ps, s.a, s.b, &row, err) < 0)
                return -1;
            b->truth[b->samples->nsamples] = 0;
            for (size_t k = 0; k < row.n; k++)
                b->truth[b->samples->nsamples] += 150. * row.count[k];
            samples_add (b->samples, &s);
        }
    }
    return 0;
}

static void draw_noise (struct bench *b, struct rng *rng)
{
    for (size_t i = 0; i < b->samples->nsamples; i++) {
        double rtt = b->truth[i] + rng_normal (rng);

        for (int q = 0; q < RTT_COUNT; q++)
            b->samples->sample[i].rtt_ns[q] = rtt;
    }
}

static void add (struct item *item, double value, double stated)
{
    item->sum += value;
    item->squares += value * value;
    item->stated += stated * stated;
}

/* Links are item[0 .. nlinks-1]; groups follow. They are the same in each draw.
 */
static int add_solution (struct bench *b, const struct solution *s,
                         struct error *err)
{
    if (!b->item) {
        b->nitems = s->nlinks + s->ngroups;
        b->item = calloc (b->nitems + 1, sizeof (*b->item));
        if (!b->item)
            return error_nomem (err);
    }
    for (size_t i = 0; i < s->nlinks; i++)
        if (!isnan (s->link[i].latency_ns))
            add (&b->item[i], s->link[i].latency_ns - 150,
                 s->link[i].stderr_ns);
    for (size_t i = 0; i < s->ngroups; i++)
        add (&b->item[s->nlinks + i], s->group[i].latency_ns,
             s->group[i].stderr_ns);
    return 0;
}

static int falling (const void *va, const void *vb)
{
    const struct item *a = va, *b = vb;

    return (a->stated < b->stated) - (a->stated > b->stated);
}

/* Root mean squares over the first n items: stated, observed. */
static void summarise (const struct bench *b, size_t n, double out[2])
{
    double draws = b->r->draws, sum[2] = { 0 };

    for (size_t i = 0; i < n; i++) {
        const struct item *item = &b->item[i];

        sum[0] += item->stated / draws;
        sum[1] += (item->squares - item->sum * item->sum / draws)
                  / (draws - 1);
    }
    out[0] = sqrt (sum[0] / n);
    out[1] = sqrt (sum[1] / n);
}

static void observe_errors (struct bench *b)
{
    size_t known = 0;
    double all[2];

    qsort (b->item, b->nitems, sizeof (*b->item), falling);
    while (known < b->nitems && b->item[known].stated > 0)
        known++;
    if (known == 0 || b->r->draws < 2)
        return;
    summarise (b, known, all);
    b->r->observed = all[1];
    summarise (b, (known * WORST_PERCENT + 99) / 100, b->r->worst);
}

/* Solve the requested number of draws, or as many as fit into half of the
 * limit.
 */
static int solve_draws (struct bench *b, struct error *err)
{
    struct solve_options opts = { .quantile = RTT_MEDIAN };
    double total = 0;
    struct rng rng;

    rng_seed (&rng, SEED);
    for (size_t i = 0; i < b->draws && total < b->limit / 2.; i++) {
        struct stopwatch start;
        struct solution *s;
        double seconds;
        int rc;

        draw_noise (b, &rng);
        start = stopwatch_start ();
        s = solve (b->ps, b->samples, &opts, err);
        seconds = stopwatch_seconds (&start);
        if (!s)
            return -1;
        rc = add_solution (b, s, err);
        solution_destroy (s);
        if (rc < 0)
            return -1;
        total += seconds;
        if (i == 0 || seconds < b->r->solve_seconds)
            b->r->solve_seconds = seconds;
        b->r->draws = i + 1;
    }
    observe_errors (b);
    return 0;
}

/* The rows in terms of the job's links. */
static struct sparse *make_matrix (const struct bench *b, struct error *err)
{
    struct sparse *a = sparse_create (b->r->links);

    for (size_t i = 0; i < b->samples->nsamples; i++) {
        const struct sample *s = &b->samples->sample[i];
        struct row row;
        uint32_t col[ROW_MAX];
        int8_t value[ROW_MAX];

        if (pathset_row (b->ps, s->a, s->b, &row, err) < 0)
            break;
        for (size_t k = 0; k < row.n; k++) {
            col[k] = pathset_column (b->ps, row.link[k]);
            value[k] = row.count[k];
        }
        sparse_add (a, col, value, row.n);
    }
    if (a->nrows == b->samples->nsamples)
        return a;
    sparse_destroy (a);
    return NULL;
}

/* Least squares alone, for the last draw, as solve () does it. */
static int fit (struct bench *b, struct error *err)
{
    struct sparse *a = make_matrix (b, err);
    double *t = calloc (b->r->rows + 1, sizeof (*t));
    double *y = calloc (b->r->links + 1, sizeof (*y));
    struct stopwatch start;
    struct lsq *q = NULL;
    int rc = -1;

    for (size_t i = 0; t && i < b->samples->nsamples; i++)
        t[i] = b->samples->sample[i].rtt_ns[RTT_MEDIAN];
    start = stopwatch_start ();
    if (a && t && y && (q = lsq_create (a, NULL))
        && lsq_solve (q, t, LSQ_CLOSE, y) == 0) {
        b->r->fit_seconds = stopwatch_seconds (&start);
        rc = 0;
    }
    lsq_destroy (q);
    sparse_destroy (a);
    free (t);
    free (y);
    return rc;
}

static int predict (struct bench *b, struct error *err)
{
    struct stopwatch start = stopwatch_start ();

    if (solve_predict (b->ps, b->plan, &b->r->rms, &b->r->max, err) < 0)
        return -1;
    b->r->predict_seconds = stopwatch_seconds (&start);
    b->r->predicted = true;
    return 0;
}

static int step_predict (void *arg)
{
    return predict (arg, NULL);
}

static int make_plan (struct bench *b, struct error *err)
{
    struct plan_options opts = { .extra_rounds = EXTRA_ROUNDS, .seed = SEED };
    size_t n = b->c->n;
    uint32_t *who;

    if (instance_make (&b->net, &b->c->shape, err) < 0)
        return -1;
    who = instance_draw (&b->net, b->c->draw, &n, SEED, err);
    if (!who)
        return -1;
    b->ps = instance_pathset (&b->net, who, n, err);
    free (who);
    if (!b->ps || !(b->plan = plan_make (b->ps, &opts, err)))
        return -1;
    b->r->links = plan_links (b->plan);
    b->r->rank = plan_rank (b->plan);
    b->r->rows = plan_probes (b->plan);
    return make_samples (b, err);
}

static int run_case (void *arg)
{
    struct bench *b = arg;
    struct error err = { 0 };
    int rc = -1;

    if (make_plan (b, &err) == 0 && apart (step_predict, b, b->limit) >= 0
        && solve_draws (b, &err) == 0
        && (b->r->rank < b->r->links || fit (b, &err) == 0))
        rc = 0;
    memcpy (b->r->error, err.text, sizeof (b->r->error));
    return rc;
}

static void put (bool known, const char *format, double value)
{
    if (known)
        printf (format, value);
    else
        printf ("–");
    printf (" | ");
}

static void put_row (const struct solver_case *c, const struct result *r)
{
    bool seen = r->draws > 1, solved = r->draws > 0;

    printf ("| %s%s%s | %zu | %zu | %zu | ", c->name, *r->error ? ": " : "",
            r->error, r->links, r->rank, r->rows);
    put (r->predicted, "%.3f", r->rms);
    put (seen, "%.3f", r->observed);
    put (seen && r->predicted, "%+.1f %%",
         100 * (r->observed / r->rms - 1));
    put (seen, "%.2f", r->worst[0]);
    put (seen, "%.2f", r->worst[1]);
    put (r->predicted, "%.2f", r->max);
    put (r->predicted, "%.3f", r->predict_seconds);
    put (r->fit_seconds > 0, "%.4f", r->fit_seconds);
    if (c->limit > 0)
        printf ("%g %s | ", c->limit,
                r->fit_seconds > 0 && r->fit_seconds <= c->limit
                    ? "ok" : "**over**");
    else
        printf ("– | ");
    put (solved, "%.3f", r->solve_seconds);
    putchar ('\n');
    fflush (stdout);
}

int main (int argc, char **argv)
{
    bool least = smallest (argc, argv);
    struct bench b = { .draws = least ? 2 : 50, .limit = 20 };
    char machine[256];
    bool big = false;
    int rc = 0;

    for (int i = optind; i < argc; i++)
        if (strcmp (argv[i], "--long") == 0)
            big = true;
        else if (strcmp (argv[i], "--draws") == 0 && i + 1 < argc)
            b.draws = strtoul (argv[++i], NULL, 10);
        else if (strcmp (argv[i], "--limit") == 0 && i + 1 < argc)
            b.limit = strtoul (argv[++i], NULL, 10);
        else {
            fprintf (stderr, "Usage: solver [--smallest | --long] "
                             "[--draws N] [--limit SECONDS]\n");
            return 2;
        }
    machine_name (machine, sizeof (machine));
    print_command (argc, argv);
    printf (" on %s\n\n### Errors, and seconds to solve\n\n"
            "| network | links | rank | rows | rms predicted | observed | | "
            "worst 1 %% stated | observed | max predicted | s predict | "
            "s fit | at most | s solve |\n"
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
            machine);
    b.r = shared_alloc (sizeof (*b.r));
    for (size_t i = 0; i < (least ? 1 : sizeof (cases) / sizeof (cases[0]));
         i++) {
        if (cases[i].big && !big)
            continue;
        memset (b.r, 0, sizeof (*b.r));
        b.c = &cases[i];
        if (apart (run_case, &b, 2 * b.limit) < 0)
            rc = 1;
        put_row (b.c, b.r);
    }
    return rc;
}
