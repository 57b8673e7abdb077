/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm solve: link latencies from round-trip times. */
#include "config.h"

#include "core/solve/solve.h"
#include "pmm/verb.h"

static struct solve_words {
    int quantile, robust;
    bool pairs;
} given = { .quantile = RTT_MEDIAN };

static int set_quantile (void *field, const char *value, struct error *err)
{
    static const char *const names[] = { "min", "p25", "median", NULL };
    static const int quantiles[] = { RTT_MIN, RTT_P25, RTT_MEDIAN };
    int i;

    if (set_name (names, &i, value, err) < 0)
        return -1;
    *(int *)field = quantiles[i];
    return 0;
}

static int set_robust (void *field, const char *value, struct error *err)
{
    static const char *const names[] = {
        [ROBUST_NONE] = "none",
        [ROBUST_HUBER] = "huber",
        [ROBUST_TUKEY] = "tukey",
        NULL,
    };

    return set_name (names, field, value, err);
}

#define FIELD(name) offsetof (struct solve_words, name)
static const struct opt options[] = {
    { "quantile", 0, "NAME", set_quantile, FIELD (quantile),
      "of the repeats: min, p25 or median (default: median)" },
    { "robust", 0, "NAME", set_robust, FIELD (robust),
      "let rows that do not fit count less: huber, tukey (default: none)" },
    { "pairs", 0, NULL, opt_true, FIELD (pairs),
      "the RTT of every pair as well" },
    { 0 },
};
#undef FIELD

static int run (struct inputs *in, struct error *err)
{
    const struct solve_options opts = {
        .quantile = given.quantile,
        .pairs = given.pairs,
        .robust = given.robust,
    };
    struct solution *sol = solve (in->ps, in->samples, &opts, err);
    FILE *fp = sol ? inputs_output (in, err) : NULL;
    int rc = fp ? solution_write (sol, in->ps, fp, err) : -1;

    solution_destroy (sol);
    return rc;
}

const struct verb verb_solve = {
    .name = "solve",
    .help = "link latencies from round-trip times",
    .needs = TAKES_FABRIC | TAKES_PLAN | TAKES_SAMPLES,
    .may = TAKES_OUTPUT,
    .options = options,
    .given = &given,
    .run = run,
};
