/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm plan: the fewest probes that resolve a job's links; or check a plan. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#ifdef HAVE_COMPARISON
#include "compare/pattern/pattern.h"
#endif
#include "core/paths/multipath.h"
#include "core/plan/plan.h"
#include "core/rate/flows.h"
#include "core/solve/solve.h"
#include "ibquery/spread.h"
#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/clock.h"

enum {
    EXTRA_ROUNDS_MAX = 1000,
    TIMES_MAX = 100,
};

/* How many redundant rounds plans have by default, and at most: ours, those of
 * patterns, and of flows, which fill each link once more.
 */
static const struct plan_verb_kind {
    int rounds, most;
} ours = { 2, EXTRA_ROUNDS_MAX }, schedule = { 0, 0 },
  throughput = { 1, TIMES_MAX };

static struct plan_words {
    const char *method, *check;
    const char *hosts;   /* LIST or @FILE, as links; NULL: all */
    int extra_rounds;
    double budget;
    uint64_t seed;
    bool throughput, base_lids, shuffle, verbose;
} given = { .extra_rounds = -1, .seed = 1 };

static const struct plan_verb_kind *chosen_plan_kind (void)
{
    return given.throughput                               ? &throughput
           : given.method && strcmp (given.method, "pmm") ? &schedule
                                                          : &ours;
}

static int set_method (void *field, const char *value, struct error *err)
{
    bool known = !strcmp (value, "pmm");

#ifdef HAVE_COMPARISON
    known = known || pattern_find (value) >= 0;
#endif
    if (!known)
        return error_input (err, "'%.40s' is not pmm or a pattern; 'pmm pattern' "
                                 "lists these", value);
    return opt_string (field, value, err);
}

#define FIELD(name) offsetof (struct plan_words, name)
static const struct opt options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "the job's hosts, " LIST_HELP " (default: all)" },
    { "base-lids", 0, NULL, opt_true, FIELD (base_lids),
      "use only the first LID of each port" },
    { "method", 0, "pmm|PATTERN", set_method, FIELD (method),
      "how to plan; others than pmm are to compare with (default: pmm)" },
    { "throughput", 0, NULL, opt_true, FIELD (throughput),
      "plan flows that fill links, to see what they carry" },
    { "shuffle", 0, NULL, opt_true, FIELD (shuffle),
      "hosts and steps in an order by the seed" },
    { "extra-rounds", 0, "N", opt_int, FIELD (extra_rounds),
      "redundant rounds; with --throughput, how often more links are filled"
      " (default: 2, for other methods 0; with --throughput 1)" },
    { "budget", 0, "SECONDS", opt_double, FIELD (budget),
      "time to search for fewer rounds, about (default: by size)", 0,
      PLAN_BUDGET_MAX },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "seed of random choices (default: 1)" },
    { "check", 0, "FILE", opt_string, FIELD (check),
      "check this plan instead of making one" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "print some lines about the plan" },
    { 0 },
};

/* Options without an effect are an error. */
static const struct opt_rule rules[] = {
    { "throughput", OPT_EXCLUDES, "method" },
    { "shuffle", OPT_NEEDS, "method=PATTERN" },
    { "check", OPT_EXCLUDES, "hosts output" },
    { 0 },
};

#ifdef HAVE_COMPARISON
static struct plan *make_schedule (struct pathset *ps)
{
    const struct pattern_options order = { given.seed, given.shuffle };

    return schedule_make (ps, pattern_find (given.method), &order, &fault);
}
#else
static struct plan *make_schedule (struct pathset *ps)
{
    (void)ps;
    return NULL;
}
#endif

/* Make in->plan and in->ps. Programs that exchange messages use the base LIDs.
 */
static void make_verb_plan (struct inputs *in, struct plan_file_extra *extra)
{
    bool flows = given.throughput;
    const struct plan_options opts = {
        .extra_rounds = given.extra_rounds >= 0 ? given.extra_rounds
                                                : chosen_plan_kind ()->rounds,
        .seed = given.seed,
        .budget = given.budget,
    };
    const struct flows_options fill = {
        .times = 1 + opts.extra_rounds,
        .seed = given.seed,
    };
    int64_t start = clock_ns ();
    struct rusage usage;

    in->ps = inputs_hosts (in->fabric, "hosts", given.hosts,
                           !given.base_lids && !flows);
    in->plan = need (flows ? flows_make (in->ps, &fill, &fault)
                     : chosen_plan_kind () == &ours
                         ? plan_make (in->ps, &opts, &fault)
                         : make_schedule (in->ps));
    extra->seconds = 1e-9 * (double)(clock_ns () - start);
    if (getrusage (RUSAGE_SELF, &usage) == 0)
        extra->peak_rss_mb = usage.ru_maxrss / 1024.0;
    if (!flows)
        need_ok (solve_predict (in->ps, in->plan, &extra->stderr_rms,
                                &extra->stderr_max, &fault));
}

static void report_filled_links (const struct plan *plan, size_t endpoints)
{
    size_t n, filled = 0;
    const struct plan_target *t = plan_targets (plan, &n);

    for (size_t i = 0; i < n; i++)
        filled += t[i].filled;
    fprintf (stderr, "pmm plan: %s: %s in %s to fill %zu of %s\n",
             COUNTED (endpoints, "endpoint"),
             COUNTED (plan_probes (plan), "flow"),
             COUNTED (plan_rounds (plan), "round"), filled,
             COUNTED (n, "link"));
}

/* The chances that two flows of a round cross one cable, summed over them. */
static double count_meetings (struct multipath *m, const struct pathset *ps,
                              const struct plan *plan)
{
    size_t nlinks = pathset_network (ps)->nlinks;
    double *sum = xarray (nlinks, sizeof (*sum)), meetings = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        memset (sum, 0, nlinks * sizeof (*sum));
        for (size_t i = 0; i < n; i++) {
            const struct multipath_share *s;
            size_t cables
                = multipath_shares (m, pathset_endpoint (ps, p[i].a)->id,
                                    pathset_endpoint (ps, p[i].b)->id, &s);

            for (size_t k = 0; k < cables; k++) {
                meetings += sum[s[k].link] * s[k].share;
                sum[s[k].link] += s[k].share;
            }
        }
    }
    free (sum);
    return meetings;
}

/* Where messages are spread, no round keeps probes apart: say how far. */
static void report_path_sharing (const struct inputs *in)
{
    struct traffic_class as = { 0, false };
    struct spread_choice c;
    struct multipath *m;

    need_ok (spread_choose (in->fabric, in->ps, as.rc, as.level, &c, &fault));
    if (c.spread == 0)
        return;
    as.level = c.level;
    m = need (multipath_create ((const struct pathset *const *)&in->ps, 1, &as,
                                &fault));
    fprintf (stderr,
             "pmm plan: %s spread messages over several paths: a flow meets "
             "%.2f others of its round on a cable\n",
             COUNTED (c.spread, "switch"),
             2 * count_meetings (m, in->ps, in->plan)
                 / (double)plan_probes (in->plan));
    multipath_destroy (m);
}

static void summary (const struct inputs *in,
                     const struct plan_file_extra *extra)
{
    const struct plan *plan = in->plan;
    size_t n = pathset_ports (in->ps);

    if (n < 2) {
        fprintf (stderr, "pmm plan: %s, nothing to measure\n",
                 COUNTED (n, "endpoint"));
        return;
    }
    if (pathset_size (in->ps) > n)
        fprintf (stderr, "pmm plan: by %zu LIDs\n", pathset_size (in->ps));
    if (plan_rules (plan_method (plan))->flows) {
        report_filled_links (plan, n);
        return;
    }
    fprintf (stderr,
             "pmm plan: %s, %s, rank %zu: %s in %zu + %zu rounds\n",
             COUNTED (n, "endpoint"), COUNTED (plan_links (plan), "link"),
             plan_rank (plan), COUNTED (plan_probes (plan), "probe"),
             plan_basis_rounds (plan),
             plan_rounds (plan) - plan_basis_rounds (plan));
    if (!plan_maximal (plan))
        fprintf (stderr, "pmm plan: not all that the hosts could tell%s\n",
                 plan_rules (plan_method (plan))->schedule
                     ? "" : ", which takes more than --budget to find; all"
                            " links are probed");
    if (extra->stderr_rms > 0)
        fprintf (stderr,
                 "pmm plan: predicted standard errors of links and groups:"
                 " rms %.2f, max %.2f of an RTT's\n",
                 extra->stderr_rms, extra->stderr_max);
    if (plan_probes (plan) > 0)
        report_path_sharing (in);
    if (plan_maximal (plan) && !plan_rules (plan_method (plan))->schedule)
        fprintf (stderr,
                 "pmm plan: %zu rounds at least: %zu probes, %zu to a round\n",
                 plan_least_rounds (n, plan_rank (plan)), plan_rank (plan),
                 n / 2);
}

static void check_plan_file (struct inputs *in)
{
    int (*check) (struct pathset *ps, const struct plan *plan,
                  struct error *err) = plan_check;

    inputs_plan (in, given.check, NULL);
    if (plan_rules (plan_method (in->plan))->flows)
        check = flows_check;
    if (check (in->ps, in->plan, &fault) < 0) {
        error_prefix (&fault, "%s", given.check);
        die ();
    }
}

static int run_plan (struct inputs *in)
{
    struct plan_file_extra extra = { 0 };

    if (given.extra_rounds > chosen_plan_kind ()->most)
        die_input ("--extra-rounds: more than %d", chosen_plan_kind ()->most);
    if (given.check)
        check_plan_file (in);
    else
        make_verb_plan (in, &extra);
    if (!given.check)
        need_ok (plan_write (in->plan, in->ps, &extra, inputs_output (in),
                             &fault));
    if (given.verbose) {
        fflush (inputs_output (in)); /* on a terminal, all of the plan first */
        summary (in, &extra);
    }
    return EXIT_OK;
}

const struct verb verb_plan = {
    .group = VERBS_REPLAY, .name = "plan",
    .help = "plan the fewest probes that resolve a job's links",
    .needs = TAKES_FABRIC, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .rules = rules,
    .run = run_plan,
};
