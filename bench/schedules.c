/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of schedules of all pairs, compared with a plan for the links, as
 * Markdown.
 *
 *     schedules [--smallest | --long]
 *
 * For fat trees of 16, 64 and 1,024 hosts, and with --long 11,664: the steps of
 * each schedule, its probes, and the seconds that pmm-probe would take for it
 * with PASSES passes. In a step, each probe is measured from both sides; it
 * takes four gaps of GAP_US (probe/probe.h; HCAs that are polled) and a barrier
 * of ceil (log2 n) messages of MESSAGE_US. *Shared*: the share of probes that
 * cross a link which another probe of the step crosses, so that one may wait
 * for the other. *Worst*: the maximum number of probes on one link. Both are
 * computed from STEPS evenly spaced steps. *Made*: CPU seconds to compute all
 * steps, or the plan.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/need.h"
#include "bench/networks.h"
#include "compare/pattern/pattern.h"
#include "core/plan/plan.h"
#include "util/alloc.h"

enum { PASSES = 5, GAP_US = 50, MESSAGE_US = 2, STEPS = 32 };

static const struct net {
    const char *name;
    struct shape shape;
    size_t hosts; /* of a job of consecutive hosts; 0: all */
    bool big;
} nets[] = {
    { "4-port 3-tree", { FAT_TREE, { 4, 3 }, ROUTING_DMODK, 0 }, 0, false },
    { "8-port 3-tree, half", { FAT_TREE, { 8, 3 }, ROUTING_DMODK, 0 }, 64,
      false },
    { "16-port 3-tree", { FAT_TREE, { 16, 3 }, ROUTING_DMODK, 0 }, 0, false },
    { "36-port 3-tree", { FAT_TREE, { 36, 3 }, ROUTING_DMODK, 0 }, 0, true },
};

static const struct schedule {
    const char *name;
    enum pattern_kind kind;
    bool shuffle;
} schedules[] = {
    { "one-to-one", PATTERN_ONE_TO_ONE, false },
    { "one-factor", PATTERN_ONE_FACTOR, false },
    { "one-factor, shuffled", PATTERN_ONE_FACTOR, true },
    { "bisection", PATTERN_BISECTION, false },
};

struct table {
    const struct net *net;
    struct pathset *ps;
    uint32_t *load; /* [nlinks] probes of a step; 0 between steps */
};

static void walk (const struct table *t, const struct probe *pair,
                  struct row *row)
{
    struct error err;

    if (pathset_row (t->ps, pair->a, pair->b, row, &err) < 0)
        die (&err);
}

/* The number of a step's probes that share a link. *worst: the maximum on one
 * link.
 */
static size_t shared (struct table *t, const struct probe *pair, size_t n,
                      uint32_t *worst)
{
    size_t count = 0;
    struct row row;

    for (size_t i = 0; i < n; i++) {
        walk (t, &pair[i], &row);
        for (size_t k = 0; k < row.n; k++)
            t->load[row.link[k]]++;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t most = 0;

        walk (t, &pair[i], &row);
        for (size_t k = 0; k < row.n; k++)
            if (t->load[row.link[k]] > most)
                most = t->load[row.link[k]];
        count += most > 1;
        if (most > *worst)
            *worst = most;
    }
    for (size_t i = 0; i < n; i++) {
        walk (t, &pair[i], &row);
        for (size_t k = 0; k < row.n; k++)
            t->load[row.link[k]] = 0;
    }
    return count;
}

static double predicted (size_t n, uint64_t steps)
{
    double step = 4. * GAP_US + MESSAGE_US * ceil (log2 ((double)n));

    return 1e-6 * PASSES * (double)steps * step;
}

static void put_row (const struct table *t, const char *schedule,
                     uint64_t steps, uint64_t probes, double share,
                     uint32_t worst, double made)
{
    size_t n = pathset_size (t->ps);
    double seconds = predicted (n, steps);

    printf ("| %s | %zu | %s | %" PRIu64 " | %" PRIu64 " | %.2f %% | %u"
            " | %.*g | %.2g |\n", t->net->name, n, schedule, steps, probes,
            100 * share, worst, seconds < 1000 ? 3 : 6, seconds, made);
    fflush (stdout);
}

static void row_schedule (struct table *t, const struct schedule *sched)
{
    struct pattern_options opts = { .seed = 1, .shuffle = sched->shuffle };
    struct pattern *p;
    struct probe *pair;
    struct error err;
    struct stopwatch start = stopwatch_start ();
    uint64_t probes = 0, looked = 0, sharing = 0;
    uint32_t worst = 0;
    double made;

    if (!(p = pattern_create (sched->kind, pathset_size (t->ps), NULL, &opts,
                              &err)))
        die (&err);
    pair = xcalloc (pattern_width (p), sizeof (*pair));
    for (uint64_t s = 0; s < pattern_turn (p); s++)
        probes += pattern_step (p, s, pair);
    made = stopwatch_seconds (&start);
    for (uint64_t i = 0; i < STEPS; i++) {
        uint32_t n = pattern_step (p, pattern_turn (p) * i / STEPS, pair);

        looked += n;
        sharing += shared (t, pair, n, &worst);
    }
    put_row (t, sched->name, pattern_turn (p), probes,
             (double)sharing / (double)looked, worst, made);
    free (pair);
    pattern_destroy (p);
}

static void row_plan (struct table *t, unsigned int extra, const char *name)
{
    struct plan_options opts = { .extra_rounds = extra, .seed = 1 };
    struct stopwatch start = stopwatch_start ();
    struct error err;
    struct plan *plan = plan_make (t->ps, &opts, &err);
    double made = stopwatch_seconds (&start);
    uint32_t worst = 0;
    size_t sharing = 0;

    if (!plan)
        die (&err);
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *pair = plan_round (plan, r, &n);

        sharing += shared (t, pair, n, &worst);
    }
    put_row (t, name, plan_rounds (plan), plan_probes (plan),
             (double)sharing / (double)plan_probes (plan), worst, made);
    plan_destroy (plan);
}

static void rows (const struct net *net)
{
    struct table t = { .net = net };
    enum draw draw = net->hosts ? CONTIGUOUS : WHOLE;
    size_t n = net->hosts;
    struct instance in;
    struct error err;
    uint32_t *who;

    if (instance_make (&in, &net->shape, &err) < 0
        || !(who = instance_draw (&in, draw, &n, 1, &err))
        || !(t.ps = instance_pathset (&in, who, n, &err)))
        die (&err);
    t.load = xcalloc (pathset_network (t.ps)->nlinks, sizeof (*t.load));
    for (size_t k = 0; k < sizeof (schedules) / sizeof (schedules[0]); k++)
        row_schedule (&t, &schedules[k]);
    row_plan (&t, 0, "pmm, the basis");
    row_plan (&t, 2, "pmm, two more rounds");
    free (t.load);
    free (who);
    pathset_destroy (t.ps);
    instance_clear (&in);
}

int main (int argc, char **argv)
{
    bool least = smallest (argc, argv);
    bool big = argc == 2 && strcmp (argv[1], "--long") == 0;
    char machine[128];

    if (argc > 2 || (argc == 2 && !big && !least)) {
        fprintf (stderr, "usage: schedules [--smallest | --long]\n");
        return 2;
    }
    machine_name (machine, sizeof (machine));
    print_command (argc, argv);
    printf (" on %s\n\n", machine);
    printf ("Seconds are predicted: %d passes; a step is four gaps of %d us"
            " and a barrier.\n*Shared*: probes that cross a link which another"
            " of the step crosses; *worst*:\nthe most on a link; of %d steps"
            " at most. *Made*: CPU seconds to compute all\nsteps, or the"
            " plan.\n\n", PASSES, GAP_US, STEPS);
    puts ("| network | hosts | schedule | steps | probes | shared | worst"
          " | seconds | made |\n"
          "|---|--:|---|--:|--:|--:|--:|--:|--:|");
    for (size_t i = 0; i < (least ? 1 : sizeof (nets) / sizeof (nets[0])); i++)
        if (big || !nets[i].big)
            rows (&nets[i]);
    return 0;
}
