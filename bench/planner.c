/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds, time and memory of plans for many networks and jobs, compared with
 * the bounds and with the paper's method, as Markdown; and of their second part,
 * which fills links.
 *
 *     planner [--smallest | --long] [--check] [--limit SECONDS] [--seed N]
 *             [FILTER]...
 *
 * If FILTERs are given, only cases whose name contains one of them run, or is
 * the one after "=". The big cases only run with --long. --check plans as a
 * check does, which measures at once. Each case is a process of its own, so
 * its memory is known. Each of its steps (planning, the bound, the check,
 * predictions, the paper's method) may take --limit CPU seconds (20); a step
 * that takes longer is shown as a dash. The seed (1) draws the jobs and is
 * passed to the planner.
 *
 * Seconds are those of one thread, without making the network; for short runs,
 * the fastest of up to five. Memory is the maximum of the process up to the
 * finished plan, including the network. Limits are the planner's design goals;
 * a case that exceeds one is marked, but is not an error. A step that fails is.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/bound.h"
#include "bench/need.h"
#include "bench/networks.h"
#include "bench/paper_method.h"
#include "bench/price.h"
#include "core/plan/plan.h"
#include "core/rate/flows.h"
#include "core/rate/loads.h"
#include "core/solve/solve.h"

enum { RUNS = 5, EXTRA_ROUNDS = 2, NAME_MAX_BYTES = 64 };

struct options {
    bool big, check;
    unsigned int limit;
    uint64_t seed;
    char **filter;
    size_t nfilters;
};

enum rule { NO_RULE, AT_MOST, ABOVE_BOUND, TIMES_BOUND };

struct limit {
    enum rule rule;
    double value;
    double seconds; /* 0: no limit */
};

struct bench_case {
    char name[NAME_MAX_BYTES];
    struct shape shape;
    struct limit limit;
    bool big; /* only with --long */
    enum draw draw;
    size_t n; /* hosts of a job */
};

#define D ROUTING_DMODK
#define M ROUTING_MINHOP
#define R ROUTING_RANDOM

/* In the order of the table. Trees of one kind follow each other, for the table
 * of growth.
 */
static const struct bench_case whole[] = {
    { "paper's sample", { SAMPLE, { 0 }, D, 0 }, { AT_MOST, 3, 0 }, 0, 0, 0 },
    { "4-port 3-tree d", { FAT_TREE, { 4, 3 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "8-port 3-tree d", { FAT_TREE, { 8, 3 }, D, 0 },
      { ABOVE_BOUND, 1, .01 }, 0, 0, 0 },
    { "12-port 3-tree d", { FAT_TREE, { 12, 3 }, D, 0 },
      { ABOVE_BOUND, 1, .01 }, 0, 0, 0 },
    { "16-port 3-tree d", { FAT_TREE, { 16, 3 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "24-port 3-tree d", { FAT_TREE, { 24, 3 }, D, 0 },
      { ABOVE_BOUND, 1, .3 }, 0, 0, 0 },
    { "36-port 3-tree d", { FAT_TREE, { 36, 3 }, D, 0 },
      { ABOVE_BOUND, 1, 1.5 }, 1, 0, 0 },
    { "48-port 3-tree d", { FAT_TREE, { 48, 3 }, D, 0 },
      { ABOVE_BOUND, 1, 15 }, 1, 0, 0 },
    { "64-port 3-tree d", { BIG_TREE, { 64, 3 }, D, 0 },
      { ABOVE_BOUND, 1, 15 }, 1, 0, 0 },
    { "8-port 3-tree m", { FAT_TREE, { 8, 3 }, M, 0 }, { 0 }, 0, 0, 0 },
    { "12-port 3-tree m", { FAT_TREE, { 12, 3 }, M, 0 },
      { ABOVE_BOUND, 1, .05 }, 0, 0, 0 },
    { "24-port 3-tree m", { FAT_TREE, { 24, 3 }, M, 0 },
      { ABOVE_BOUND, 1, .7 }, 0, 0, 0 },
    { "36-port 3-tree m", { FAT_TREE, { 36, 3 }, M, 0 },
      { ABOVE_BOUND, 1, 3 }, 1, 0, 0 },
    { "48-port 3-tree m", { FAT_TREE, { 48, 3 }, M, 0 },
      { ABOVE_BOUND, 1, 0 }, 1, 0, 0 },
    { "4-port 2-tree d", { FAT_TREE, { 4, 2 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "8-port 2-tree d", { FAT_TREE, { 8, 2 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "12-port 2-tree d", { FAT_TREE, { 12, 2 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "24-port 2-tree d", { FAT_TREE, { 24, 2 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "36-port 2-tree d", { FAT_TREE, { 36, 2 }, D, 0 }, { 0 }, 0, 0, 0 },
    { "12-port 2-tree m", { FAT_TREE, { 12, 2 }, M, 0 }, { 0 }, 0, 0, 0 },
    { "12-port 4-tree d", { FAT_TREE, { 12, 4 }, D, 0 },
      { ABOVE_BOUND, 2, 5 }, 1, 0, 0 },
    { "12-port 4-tree m", { FAT_TREE, { 12, 4 }, M, 0 },
      { ABOVE_BOUND, 2, 5 }, 1, 0, 0 },
    { "dragonfly (4,8,4)", { DRAGONFLY, { 4, 8, 4 }, M, 0 },
      { ABOVE_BOUND, 0, .1 }, 0, 0, 0 },
    { "dragonfly (6,12,6)", { DRAGONFLY, { 6, 12, 6 }, M, 0 },
      { ABOVE_BOUND, 0, .1 }, 1, 0, 0 },
    { "slimfly 5", { SLIMFLY, { 5 }, M, 0 }, { ABOVE_BOUND, 1, 2 }, 0, 0, 0 },
    { "slimfly 7", { SLIMFLY, { 7 }, M, 0 }, { ABOVE_BOUND, 1, 2 }, 0, 0, 0 },
    { "slimfly 11", { SLIMFLY, { 11 }, M, 0 }, { ABOVE_BOUND, 1, 2 }, 1, 0, 0 },
    { "slimfly 13", { SLIMFLY, { 13 }, M, 0 }, { ABOVE_BOUND, 1, 2 }, 1, 0, 0 },
    { "slimfly 17", { SLIMFLY, { 17 }, M, 0 }, { ABOVE_BOUND, 1, 2 }, 1, 0, 0 },
    { "irregular 100 switches", { IRREGULAR, { 100, 832, 8 }, R, 0 },
      { ABOVE_BOUND, 2, .5 }, 0, 0, 0 },
    { "irregular 200 switches", { IRREGULAR, { 200, 1500, 8 }, R, 0 },
      { ABOVE_BOUND, 2, .5 }, 1, 0, 0 },
    { "irregular 300 switches", { IRREGULAR, { 300, 2348, 12 }, R, 0 },
      { ABOVE_BOUND, 2, .5 }, 1, 0, 0 },
    { "12-port 3-tree d, 5 % pruned", { FAT_TREE, { 12, 3 }, D, 5 },
      { 0 }, 0, 0, 0 },
    { "12-port 3-tree m, 5 % pruned", { FAT_TREE, { 12, 3 }, M, 5 },
      { 0 }, 0, 0, 0 },
    { "24-port 3-tree d, 5 % pruned", { FAT_TREE, { 24, 3 }, D, 5 },
      { 0 }, 1, 0, 0 },
    { "24-port 3-tree m, 20 % pruned", { FAT_TREE, { 24, 3 }, M, 20 },
      { 0 }, 1, 0, 0 },
    { "12-port 3-tree d, 2:1", { FAT_TREE, { 12, 3, 2 }, D, 0 },
      { 0 }, 0, 0, 0 },
    { "12-port 3-tree m, 2:1", { FAT_TREE, { 12, 3, 2 }, M, 0 },
      { 0 }, 0, 0, 0 },
    { "24-port 3-tree d, 3:1", { FAT_TREE, { 24, 3, 3 }, D, 0 },
      { 0 }, 1, 0, 0 },
    { "24-port 3-tree m, 3:1", { FAT_TREE, { 24, 3, 3 }, M, 0 },
      { 0 }, 1, 0, 0 },
    { "64 hosts of 8 rails d", { FAT_TREE, { 32, 2, 1, 8 }, D, 0 },
      { 0 }, 0, 0, 0 },
    { "64 hosts of 8 rails m", { FAT_TREE, { 32, 2, 1, 8 }, M, 0 },
      { 0 }, 0, 0, 0 },
};

/* Results that the processes of a case share. 0 seconds: that step did not
 * finish.
 */
struct result {
    size_t n, links, rank, rounds;
    double plan_seconds, mib;
    size_t load_rounds, targets, filled; /* of the second part */
    double load_seconds;
    size_t bound;
    char bound_kind[32];
    int checked; /* 1: valid; -1: not valid */
    bool predicted;
    double rms, max;
    struct {
        size_t rounds;
        double seconds;
    } paper, papers; /* paper: its first set; papers: the best of several */
    char error[512]; /* of the step that failed */
};

struct bench {
    const struct bench_case *c;
    struct result *r; /* shared with the processes of the steps */
    const struct options *o;
    int step;         /* index into `later` */
    struct instance net;
    uint32_t *who;
    size_t n;
    struct pathset *ps;
    struct plan *plan, *loads;
};

static int make_plan (struct bench *b, double *seconds, struct error *err)
{
    struct plan_options opts = { .extra_rounds = EXTRA_ROUNDS,
                                 .seed = b->o->seed,
                                 .at_once = b->o->check };
    struct stopwatch start;

    plan_destroy (b->plan);
    pathset_destroy (b->ps);
    b->plan = NULL;
    b->ps = instance_pathset (&b->net, b->who, b->n, err);
    if (!b->ps)
        return -1;
    start = stopwatch_start ();
    b->plan = plan_make (b->ps, &opts, err);
    *seconds = stopwatch_seconds (&start);
    return b->plan ? 0 : -1;
}

static int make_loads (struct bench *b, double *seconds, struct error *err)
{
    struct loads_options opts = { .seed = b->o->seed };
    struct stopwatch start = stopwatch_start ();

    plan_destroy (b->loads);
    b->loads = loads_make (b->ps, &opts, err);
    *seconds = stopwatch_seconds (&start);
    return b->loads ? 0 : -1;
}

static int step_plan (struct bench *b, struct error *err)
{
    const struct plan_target *target;
    struct rusage usage;
    double total = 0, best = 0, least = 0;

    if (instance_make (&b->net, &b->c->shape, err) < 0)
        return -1;
    b->n = b->c->n;
    b->who = instance_draw (&b->net, b->c->draw, &b->n, b->o->seed, err);
    if (!b->who)
        return -1;
    for (int i = 0; i < RUNS && (i == 0 || total < .3); i++) {
        double seconds, more;

        if (make_plan (b, &seconds, err) < 0 || make_loads (b, &more, err) < 0)
            return -1;
        total += seconds + more;
        best = i == 0 || seconds < best ? seconds : best;
        least = i == 0 || more < least ? more : least;
    }
    getrusage (RUSAGE_SELF, &usage);
    b->r->mib = usage.ru_maxrss / 1024.;
    b->r->n = b->n;
    b->r->links = plan_links (b->plan);
    b->r->rank = plan_rank (b->plan);
    b->r->rounds = plan_basis_rounds (b->plan);
    b->r->plan_seconds = best;
    b->r->load_seconds = least;
    b->r->load_rounds = plan_rounds (b->loads);
    target = plan_targets (b->loads, &b->r->targets);
    for (size_t i = 0; i < b->r->targets; i++)
        b->r->filled += target[i].filled;
    return 0;
}

static int step_bound (struct bench *b, struct error *err)
{
    size_t rank = plan_rank (b->plan);
    struct bound bound;

    if (bound_find (b->ps, rank, BOUND_EFFORT, &bound, err) < 0)
        return -1;
    b->r->bound = bound.rounds;
    if (price_bound (b->ps, rank, BOUND_EFFORT, &b->r->bound, err) < 0)
        return -1;
    snprintf (b->r->bound_kind, sizeof (b->r->bound_kind), "%s",
              b->r->bound > bound.rounds ? "prices"
                                         : bound_kind_name (bound.kind));
    return 0;
}

static int step_check (struct bench *b, struct error *err)
{
    b->r->checked = plan_check (b->ps, b->plan, err) < 0
                            || flows_check (b->ps, b->loads, err) < 0
                        ? -1
                        : 1;
    return b->r->checked < 0 ? -1 : 0;
}

static int step_predict (struct bench *b, struct error *err)
{
    if (solve_predict (b->ps, b->plan, &b->r->rms, &b->r->max, err) < 0)
        return -1;
    b->r->predicted = true;
    return 0;
}

typedef struct plan *(*make_f) (struct pathset *ps,
                                const struct plan_options *opts,
                                struct error *err);

static int time_paper (struct bench *b, make_f make, size_t *rounds,
                       double *seconds, struct error *err)
{
    struct plan_options opts = { .seed = b->o->seed };
    struct stopwatch start = stopwatch_start ();
    struct plan *plan;

    if (b->n > PAPER_HOSTS_MAX)
        return 0;
    if (!(plan = make (b->ps, &opts, err)))
        return -1;
    *seconds = stopwatch_seconds (&start);
    *rounds = plan_basis_rounds (plan);
    plan_destroy (plan);
    return 0;
}

static int step_paper (struct bench *b, struct error *err)
{
    return time_paper (b, paper_make_first, &b->r->paper.rounds,
                       &b->r->paper.seconds, err);
}

static int step_papers (struct bench *b, struct error *err)
{
    return time_paper (b, paper_make, &b->r->papers.rounds,
                       &b->r->papers.seconds, err);
}

/* Computations on a finished plan, each in a process of its own. */
static int (*const later[]) (struct bench *b, struct error *err) = {
    step_bound,
    step_check,
    step_predict,
    step_paper,
    step_papers,
};

enum { LATER = sizeof (later) / sizeof (later[0]) };

static int tell (struct bench *b, int rc, const struct error *err)
{
    if (rc < 0)
        memcpy (b->r->error, err->text, sizeof (b->r->error));
    return rc;
}

static int run_later (void *arg)
{
    struct bench *b = arg;
    struct error err = { 0 };

    return tell (b, later[b->step](b, &err), &err);
}

static int run_case (void *arg)
{
    struct bench *b = arg;
    struct error err = { 0 };
    int rc = 0;

    if (tell (b, step_plan (b, &err), &err) < 0)
        return -1;
    for (b->step = 0; b->step < LATER; b->step++)
        if (apart (run_later, b, b->o->limit) < 0)
            rc = -1;
    plan_destroy (b->plan);
    plan_destroy (b->loads);
    pathset_destroy (b->ps);
    free (b->who);
    instance_clear (&b->net);
    return rc;
}

/* The columns of a table. A dash: not known. */
static void put_count (size_t n)
{
    if (n > 0)
        printf ("%zu", n);
    else
        printf ("–");
}

static void put_seconds (double seconds)
{
    if (seconds > 0)
        printf (seconds < .001 ? "%.5f" : seconds < .1 ? "%.4f" : "%.2f",
                seconds);
    else
        printf ("–");
}

static void put_name (const struct bench_case *c, const struct result *r)
{
    printf ("%s%s%s", c->name, *r->error ? ": " : "", r->error);
}

static void put_hosts (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->n);
}

static void put_links (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->links);
}

static void put_pairs (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->n * (r->n - (r->n > 0)) / 2);
}

static void put_rank (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->rank);
}

static void put_paper (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->paper.rounds);
}

static void put_papers (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->papers.rounds);
}

static void put_rounds (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->rounds);
}

static void put_bound (const struct bench_case *c, const struct result *r)
{
    (void)c;
    put_count (r->bound);
    if (r->bound > 0)
        printf (" %s", r->bound_kind);
}

static void put_answer (bool good)
{
    printf (good ? " ok" : " **over**");
}

static void put_round_limit (const struct bench_case *c,
                             const struct result *r)
{
    double most = c->limit.value;

    if (c->limit.rule == NO_RULE || r->rounds == 0
        || (c->limit.rule != AT_MOST && r->bound == 0)) {
        printf ("–");
        return;
    }
    if (c->limit.rule == ABOVE_BOUND)
        most += r->bound;
    else if (c->limit.rule == TIMES_BOUND)
        most *= r->bound;
    printf ("%.4g", most);
    put_answer (r->rounds <= most);
}

static void put_paper_seconds (const struct bench_case *c,
                               const struct result *r)
{
    (void)c;
    put_seconds (r->paper.seconds);
}

static void put_papers_seconds (const struct bench_case *c,
                                const struct result *r)
{
    (void)c;
    put_seconds (r->papers.seconds);
}

static void put_plan_seconds (const struct bench_case *c,
                              const struct result *r)
{
    (void)c;
    put_seconds (r->plan_seconds);
}

static void put_load_rounds (const struct bench_case *c,
                             const struct result *r)
{
    (void)c;
    put_count (r->load_rounds);
}

/* Of all links, in percent. */
static void put_filled (const struct bench_case *c, const struct result *r)
{
    (void)c;
    if (r->targets > 0)
        printf ("%.1f %%", 100. * (double)r->filled / (double)r->targets);
    else
        printf ("–");
}

static void put_load_seconds (const struct bench_case *c,
                              const struct result *r)
{
    (void)c;
    put_seconds (r->load_seconds);
}

static void put_time_limit (const struct bench_case *c,
                            const struct result *r)
{
    if (c->limit.seconds == 0) {
        printf ("–");
        return;
    }
    printf ("%g", c->limit.seconds);
    if (r->plan_seconds > 0)
        put_answer (r->plan_seconds <= c->limit.seconds);
    else
        printf (" **not done**");
}

static void put_memory (const struct bench_case *c, const struct result *r)
{
    (void)c;
    if (r->mib > 0)
        printf ("%.0f", r->mib);
    else
        printf ("–");
}

static void put_stderr (const struct bench_case *c, const struct result *r)
{
    (void)c;
    if (r->predicted)
        printf ("%.2f / %.2f", r->rms, r->max);
    else
        printf ("–");
}

static void put_check (const struct bench_case *c, const struct result *r)
{
    (void)c;
    printf (r->checked > 0 ? "good" : r->checked < 0 ? "**bad**" : "–");
}

static const struct {
    const char *head;
    void (*put) (const struct bench_case *c, const struct result *r);
} columns[] = {
    { "network", put_name },
    { "hosts", put_hosts },
    { "links", put_links },
    { "all pairs", put_pairs },
    { "serial: rank", put_rank },
    { "paper", put_paper },
    { "paper's best", put_papers },
    { "ours", put_rounds },
    { "bound", put_bound },
    { "at most", put_round_limit },
    { "s paper", put_paper_seconds },
    { "s its best", put_papers_seconds },
    { "s ours", put_plan_seconds },
    { "at most", put_time_limit },
    { "rounds of flows", put_load_rounds },
    { "filled", put_filled },
    { "s flows", put_load_seconds },
    { "MiB", put_memory },
    { "stderr rms / max", put_stderr },
    { "check", put_check },
};

enum { COLUMNS = sizeof (columns) / sizeof (columns[0]) };

static void put_head (void)
{
    for (int i = 0; i < COLUMNS; i++)
        printf ("| %s ", columns[i].head);
    printf ("|\n");
    for (int i = 0; i < COLUMNS; i++)
        printf (i == 0 ? "|---" : "|--:");
    printf ("|\n");
}

static void put_row (const struct bench_case *c, const struct result *r)
{
    for (int i = 0; i < COLUMNS; i++) {
        printf ("| ");
        columns[i].put (c, r);
        printf (" ");
    }
    printf ("|\n");
    fflush (stdout);
}

static bool wanted (const struct options *o, const struct bench_case *c)
{
    bool found = o->nfilters == 0;

    for (size_t i = 0; i < o->nfilters && !found; i++)
        found = *o->filter[i] == '=' ? !strcmp (c->name, o->filter[i] + 1)
                                     : !!strstr (c->name, o->filter[i]);
    return found && (o->big || !c->big);
}

/* A table of the selected cases; nothing if none is selected. Return 0, or -1
 * if a step failed.
 */
static int put_table (const struct options *o, const char *title,
                      const struct bench_case *c, size_t n,
                      struct result *shared, struct result *result)
{
    bool any = false;
    int rc = 0;

    for (size_t i = 0; i < n; i++) {
        if (!wanted (o, &c[i]))
            continue;
        if (!any) {
            printf ("\n### %s\n\n", title);
            put_head ();
        }
        any = true;
        memset (shared, 0, sizeof (*shared));
        if (apart (run_case, &(struct bench){ .c = &c[i], .r = shared, .o = o },
                   o->limit)
            < 0)
            rc = -1;
        put_row (&c[i], shared);
        if (result)
            result[i] = *shared;
    }
    return rc;
}

/* The paper's method relative to ours, if it finished. */
static void put_ratios (const struct result *r, size_t n)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        if (r[i].paper.rounds == 0 || r[i].rounds == 0)
            continue;
        if (!any)
            printf ("\n### The paper's method, ours being 1\n\n"
                    "| network | hosts | rounds | rounds of its best | "
                    "seconds | seconds of its best |\n"
                    "|---|--:|--:|--:|--:|--:|\n");
        any = true;
        printf ("| %s | %zu | %.1f | ", whole[i].name, r[i].n,
                (double)r[i].paper.rounds / r[i].rounds);
        if (r[i].papers.rounds > 0)
            printf ("%.1f | ", (double)r[i].papers.rounds / r[i].rounds);
        else
            printf ("– | ");
        printf ("%.3g | ", r[i].paper.seconds / r[i].plan_seconds);
        if (r[i].papers.rounds > 0)
            printf ("%.3g |\n", r[i].papers.seconds / r[i].plan_seconds);
        else
            printf ("– |\n");
    }
}

static bool is_tree (const struct shape *s)
{
    return (s->family == FAT_TREE || s->family == BIG_TREE) && s->size[1] == 3
           && s->size[2] <= 1 && s->prune == 0;
}

/* How time and memory grow from one tree to the next of its kind: the exponent
 * of n.
 */
static void put_growth (const struct result *r, size_t n)
{
    const struct result *last = NULL;
    size_t known = 0;

    for (size_t i = 0; i < n; i++)
        known += is_tree (&whole[i].shape) && r[i].plan_seconds > 0;
    if (known < 2)
        return;
    printf ("\n### Growth of 3-trees with n\n\n"
            "| network | hosts | s | n^ | MiB | n^ |\n"
            "|---|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < n; i++) {
        double step;

        if (r[i].plan_seconds == 0 || !is_tree (&whole[i].shape))
            continue;
        printf ("| %s | %zu | ", whole[i].name, r[i].n);
        put_seconds (r[i].plan_seconds);
        if (last && last->n < r[i].n) {
            step = log ((double)r[i].n / last->n);
            printf (" | %.1f | %.0f | %.1f |\n",
                    log (r[i].plan_seconds / last->plan_seconds) / step,
                    r[i].mib, log (r[i].mib / last->mib) / step);
        } else
            printf (" | | %.0f | |\n", r[i].mib);
        last = &r[i];
    }
}

/* Jobs of all sizes, several draws each, of some trees. */
static int put_jobs (const struct options *o, struct result *shared)
{
    static const unsigned int ports[] = { 12, 24, 36 };
    static const size_t sizes[] = { 16, 64, 200, 800 };
    static const char *const drawn[] = { "", "random", "contiguous" };
    struct bench_case c[48];
    size_t n = 0;

    for (int p = 0; p < 3; p++)
        for (int routing = D; routing <= M; routing++)
            for (int draw = RANDOM; draw <= CONTIGUOUS; draw++)
                for (int s = 0; s < 4; s++) {
                    size_t hosts = ports[p] * ports[p] * ports[p] / 4;

                    if (sizes[s] > hosts)
                        continue;
                    c[n] = (struct bench_case){
                        .shape = { FAT_TREE, { ports[p], 3 }, routing, 0 },
                        .limit = { TIMES_BOUND, 1.3, 1 },
                        .big = p == 2 || sizes[s] > 64,
                        .draw = draw,
                        .n = sizes[s],
                    };
                    snprintf (c[n].name, sizeof (c[n].name),
                              "job of %zu %s of %zu %c", sizes[s],
                              drawn[draw], hosts, "dm"[routing]);
                    n++;
                }
    return put_table (o, "Jobs", c, n, shared, NULL);
}

static int parse (int argc, char **argv, struct options *o)
{
    int i = optind;

    for (; i < argc && strncmp (argv[i], "--", 2) == 0; i++) {
        if (strcmp (argv[i], "--long") == 0)
            o->big = true;
        else if (strcmp (argv[i], "--check") == 0)
            o->check = true;
        else if (strcmp (argv[i], "--limit") == 0 && i + 1 < argc)
            o->limit = strtoul (argv[++i], NULL, 10);
        else if (strcmp (argv[i], "--seed") == 0 && i + 1 < argc)
            o->seed = strtoul (argv[++i], NULL, 10);
        else
            return -1;
    }
    o->filter = argv + i;
    o->nfilters = argc - i;
    return o->limit > 0 ? 0 : -1;
}

int main (int argc, char **argv)
{
    enum { WHOLES = sizeof (whole) / sizeof (whole[0]) };
    static struct result result[WHOLES];
    static char *sample[] = { "paper's sample" };
    struct options o = { .limit = 20, .seed = 1 };
    bool least = smallest (argc, argv);
    struct result *shared = shared_alloc (sizeof (*shared));
    char machine[256];
    int rc;

    if (parse (argc, argv, &o) < 0) {
        fprintf (stderr, "Usage: planner [--smallest | --long] [--check] "
                         "[--limit SECONDS] [--seed N] [FILTER]...\n");
        return 2;
    }
    if (least && !o.nfilters) {
        o.filter = sample;
        o.nfilters = 1;
    }
    machine_name (machine, sizeof (machine));
    print_command (argc, argv);
    printf (" on %s\n", machine);
    rc = put_table (&o, "Whole networks", whole, WHOLES, shared, result);
    put_ratios (result, WHOLES);
    put_growth (result, WHOLES);
    return put_jobs (&o, shared) < 0 || rc < 0;
}
