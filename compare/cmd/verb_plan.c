/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare plan: the schedule of a pattern, as a plan. */
#include "config.h"

#include "compare/cmd/cmd.h"
#include "compare/pattern/pattern.h"
#include "util/clock.h"

static struct compare_plan_words {
    const char *hosts; /* LIST or @FILE; NULL: all */
    uint64_t seed;
    bool base_lids, shuffle, verbose;
} given = { .seed = 1 };

#define FIELD(name) offsetof (struct compare_plan_words, name)
static const struct opt options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "the job's hosts, " LIST_HELP " (default: all)" },
    { "base-lids", 0, NULL, opt_true, FIELD (base_lids),
      "use only the first LID of each port" },
    { "shuffle", 0, NULL, opt_true, FIELD (shuffle),
      "put hosts and steps into a random order" },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "seed of that order (default: 1)" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "print some lines about the plan" },
    { 0 },
};

static int run_compare_plan (struct inputs *in)
{
    const struct pattern_options order = { given.seed, given.shuffle };
    int pattern = inputs_pattern (in->operand[0]);
    int64_t start = clock_ns ();

    in->ps = inputs_hosts (in->fabric, "hosts", given.hosts, !given.base_lids);
    in->plan = need (schedule_make (in->ps, pattern, &order, &fault));
    plan_put (in, start, given.verbose);
    return EXIT_OK;
}

const struct verb compare_plan = {
    .name = "plan", .help = "plan the probes of a schedule's pairs",
    .needs = TAKES_FABRIC, .may = TAKES_OUTPUT,
    .operands = "PATTERN", .min = 1, .max = 1,
    .options = options, .given = &given, .run = run_compare_plan,
};
