/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm solve: link latencies from round-trip times. */
#include "config.h"

#include "core/solve/solve.h"
#include "pmm/verb.h"

static const struct quantile_row {
    const char *name;
    int quantile;
} quantiles[] = {
    { "median", RTT_MEDIAN }, { "min", RTT_MIN }, { "p25", RTT_P25 }, { 0 },
};

static const char *const robusts[] = {
    [ROBUST_NONE] = "none",
    [ROBUST_HUBER] = "huber",
    [ROBUST_TUKEY] = "tukey",
    NULL,
};

static struct solve_words {
    int quantile, robust; /* of the rows above */
    bool pairs;
} given;

#define FIELD(name) offsetof (struct solve_words, name)
static const struct opt options[] = {
    { "quantile", 0, "NAME", NULL, FIELD (quantile),
      "statistic of a probe's repeats (default: median)",
      OPT_ROWS (quantiles) },
    { "robust", 0, "NAME", NULL, FIELD (robust),
      "weigh rows that do not fit less (default: none)",
      OPT_ROWS (robusts) },
    { "pairs", 0, NULL, opt_true, FIELD (pairs),
      "also write the RTT of every pair" },
    { 0 },
};

static int run_solve (struct inputs *in)
{
    const struct solve_options opts = {
        .quantile = quantiles[given.quantile].quantile, .pairs = given.pairs,
        .robust = given.robust,
    };
    const struct solution *sol
        = verb_own_solution (solve (in->ps, in->samples, &opts, &fault));

    need_ok (solution_write (sol, in->ps, inputs_output (in), &fault));
    return EXIT_OK;
}

const struct verb verb_solve = {
    .group = VERBS_REPLAY, .name = "solve",
    .help = "solve link latencies from round-trip times",
    .needs = TAKES_FABRIC | TAKES_PLAN | TAKES_SAMPLES, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .run = run_solve,
};
