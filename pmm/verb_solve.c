/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm solve: link latencies from round-trip times. */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "core/solve/solve.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "util/file.h"

struct options {
    const char *fabric, *plan, *samples, *output;
    int quantile;
    int robust;
    bool pairs;
};

struct name {
    const char *name;
    int value;
};

/* Set *field to the value of a name; the names end with NULL. */
static int set_name (const struct name *tab, int *field, const char *value,
                     const char *names, struct error *err)
{
    for (; tab->name; tab++)
        if (!strcmp (value, tab->name)) {
            *field = tab->value;
            return 0;
        }
    return error_input (err, "'%.40s' is none of %s", value, names);
}

static int set_quantile (void *field, const char *value, struct error *err)
{
    static const struct name tab[] = {
        { "min", RTT_MIN },
        { "p25", RTT_P25 },
        { "median", RTT_MEDIAN },
        { 0 },
    };

    return set_name (tab, field, value, "min, p25, median", err);
}

static int set_robust (void *field, const char *value, struct error *err)
{
    static const struct name tab[] = {
        { "none", ROBUST_NONE },
        { "huber", ROBUST_HUBER },
        { "tukey", ROBUST_TUKEY },
        { 0 },
    };

    return set_name (tab, field, value, "none, huber, tukey", err);
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "what was measured" },
    { "samples", 0, "FILE", opt_string, FIELD (samples),
      "the round-trip times" },
    { "quantile", 0, "NAME", set_quantile, FIELD (quantile),
      "of the repeats: min, p25 or median, the default" },
    { "robust", 0, "NAME", set_robust, FIELD (robust),
      "let rows that do not fit count less: huber, tukey; none" },
    { "pairs", 0, NULL, opt_true, FIELD (pairs),
      "the RTT of every pair as well" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

static int save (const struct solution *sol, const struct pathset *ps,
                 const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        solution_write (sol, ps, file_stream (out), err), err);
}

int verb_solve (int argc, char **argv)
{
    struct options o = { .quantile = RTT_MEDIAN };
    struct solve_options opts;
    struct solution *sol = NULL;
    struct inputs in = { 0 };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    opts = (struct solve_options){
        .quantile = o.quantile,
        .pairs = o.pairs,
        .robust = o.robust,
    };
    if (!o.samples) {
        error_input (&err, "--samples SAMPLES is missing");
        return fail (argv[0], &err);
    }
    if (inputs_load (&in, o.fabric, o.plan, o.samples, &err) < 0
        || !(sol = solve (in.ps, in.samples, &opts, &err))
        || save (sol, in.ps, o.output, &err) < 0)
        status = fail (argv[0], &err);
    solution_destroy (sol);
    inputs_clear (&in);
    return status;
}
