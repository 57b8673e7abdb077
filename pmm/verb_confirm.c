/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm confirm: a plan with rounds that measure the suspects again. */
#include "config.h"

#include "core/judge/confirm.h"
#include "pmm/verb.h"

static struct confirm_words {
    int rounds;
    uint64_t seed;
    bool verbose;
} given = { .rounds = -1, .seed = 1 };

#define FIELD(name) offsetof (struct confirm_words, name)
static const struct opt options[] = {
    { "rounds", 0, "N", opt_int, FIELD (rounds),
      "the most rounds of the confirm stage (default: 4)", 1,
      CONFIRM_ROUNDS_MAX },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "seed of random choices (default: 1)" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "print one line about the stage" },
    { 0 },
};

static int run_confirm (struct inputs *in)
{
    bool delays = false;
    const struct confirm_options opts = {
        .rounds = given.rounds < 0 ? confirm_defaults.rounds
                                   : (unsigned int)given.rounds,
        .seed = given.seed,
        .judge = &in->thresholds, .delays = &delays,
    };
    struct plan *plan = need (confirm_plan (in->ps, in->plan, in->samples,
                                            in->base, &opts, &fault));

    need_ok (plan_write (plan, in->ps, NULL, inputs_output (in), &fault));
    fflush (inputs_output (in));
    if (given.verbose)
        verb_say (
            "%s in %s%s",
            COUNTED (plan_probes (plan) - plan_probes (in->plan), "probe"),
            COUNTED (plan_rounds (plan) - plan_rounds (in->plan), "round"),
            delays ? verb_text (", of %d messages each", SAMPLE_REPEATS_AGAIN)
                   : "");
    plan_destroy (plan);
    return EXIT_OK;
}

const struct verb verb_confirm = {
    .group = VERBS_PLUMBING, .name = "confirm",
    .help = "plan more rounds, for what looks slow in these samples",
    .needs = TAKES_FABRIC | TAKES_PLAN | TAKES_SAMPLES,
    .may = TAKES_BASELINES | TAKES_OUTPUT,
    .options = options, .given = &given, .run = run_confirm,
};
