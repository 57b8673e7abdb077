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
    static const struct {
        const char *name;
        int quantile;
    } rows[] = {
        { "min", RTT_MIN }, { "p25", RTT_P25 }, { "median", RTT_MEDIAN }, { 0 },
    };
    int i = FIND_ROW (rows, value, err);

    if (i >= 0)
        *(int *)field = rows[i].quantile;
    return i < 0 ? -1 : 0;
}

static int set_robust (void *field, const char *value, struct error *err)
{
    static const char *const names[] = {
        [ROBUST_NONE] = "none",
        [ROBUST_HUBER] = "huber",
        [ROBUST_TUKEY] = "tukey",
        NULL,
    };

    return (*(int *)field = FIND_ROW (names, value, err)) < 0 ? -1 : 0;
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

static int run (struct inputs *in)
{
    const struct solve_options opts = {
        .quantile = given.quantile,
        .pairs = given.pairs,
        .robust = given.robust,
    };
    struct solution *sol = need (solve (in->ps, in->samples, &opts, &fault));

    need_ok (solution_write (sol, in->ps, inputs_output (in), &fault));
    solution_destroy (sol);
    return EXIT_OK;
}

const struct verb verb_solve = {
    .name = "solve", .help = "link latencies from round-trip times",
    .needs = TAKES_FABRIC | TAKES_PLAN | TAKES_SAMPLES, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .run = run,
};
