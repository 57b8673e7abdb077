/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm plan: the fewest probes that resolve a job's links; or check a plan. */
#include "config.h"

#include <stdlib.h>

#include "core/plan/plan.h"
#include "core/rate/flows.h"
#include "core/rate/loads.h"
#include "pmm/verb.h"
#include "util/clock.h"

enum { EXTRA_ROUNDS_MAX = 1000, TIMES_MAX = 100 };

/* How many redundant rounds plans have by default, and at most: those of probes,
 * and of flows, which fill each link once more.
 */
static const struct plan_verb_kind {
    int rounds, most;
} plan_verb_kinds[] = { { 2, EXTRA_ROUNDS_MAX }, { 1, TIMES_MAX } };

static struct plan_words {
    const char *check;
    const char *hosts;   /* LIST or @FILE, as links; NULL: all */
    int extra_rounds;
    double budget;
    uint64_t seed;
    bool throughput, rates, base_lids, verbose;
} given = { .extra_rounds = -1, .seed = 1 };

#define FIELD(name) offsetof (struct plan_words, name)
static const struct opt options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "the job's hosts, " LIST_HELP " (default: all)" },
    { "base-lids", 0, NULL, opt_true, FIELD (base_lids),
      "use only the first LID of each port" },
    { "throughput", 0, NULL, opt_true, FIELD (throughput),
      "plan flows that fill links, to see what they carry" },
    { "rates", 0, NULL, opt_true, FIELD (rates),
      "plan the flows by which a check measures rates" },
    { "extra-rounds", 0, "N", opt_int, FIELD (extra_rounds),
      "redundant rounds; with --throughput, how often more links are filled"
      " (default: 2; with --throughput 1)" },
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
    { "check", OPT_EXCLUDES, "hosts output" },
    { "rates", OPT_EXCLUDES, "throughput extra-rounds budget check" },
    { 0 },
};

/* Make in->plan and in->ps. Programs that exchange messages use the base LIDs.
 */
static void make_verb_plan (struct inputs *in, int extra_rounds)
{
    bool flows = given.throughput || given.rates;
    const struct plan_options opts = {
        .extra_rounds = extra_rounds, .seed = given.seed,
        .budget = given.budget,
    };
    const struct flows_options fill = {
        .times = 1 + extra_rounds, .seed = given.seed,
    };
    const struct loads_options loads = { .seed = given.seed };

    in->ps = inputs_hosts (in->fabric, "hosts", given.hosts,
                           !given.base_lids && !flows);
    in->plan = need (given.rates ? loads_make (in->ps, &loads, &fault)
                     : flows     ? flows_make (in->ps, &fill, &fault)
                                 : plan_make (in->ps, &opts, &fault));
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
    const struct plan_verb_kind *kind = &plan_verb_kinds[given.throughput];
    struct plan_file_extra extra = { 0 };
    int64_t start = clock_ns ();

    if (given.extra_rounds > kind->most)
        die_input ("--extra-rounds: more than %d", kind->most);
    if (!given.check) {
        make_verb_plan (in, given.extra_rounds >= 0 ? given.extra_rounds
                                                    : kind->rounds);
        plan_put (in, start, given.verbose);
        return EXIT_OK;
    }
    check_plan_file (in);
    if (given.verbose)
        plan_say (in, &extra);
    return EXIT_OK;
}

const struct verb verb_plan = {
    .group = VERBS_REPLAY, .name = "plan",
    .help = "plan the fewest probes that resolve a job's links",
    .needs = TAKES_FABRIC, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .rules = rules, .run = run_plan,
};
