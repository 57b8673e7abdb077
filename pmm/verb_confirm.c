/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm confirm: a plan with the rounds that measure again what looked slow. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/judge/confirm.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/text.h"

struct options {
    const char *fabric, *plan, *samples, *conf, *output;
    struct strings baseline;
    int rounds;
    uint64_t seed;
    bool verbose;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "the first stage" },
    { "samples", 0, "FILE", opt_string, FIELD (samples),
      "its round-trip times" },
    { "baseline", 0, "FILE", opt_append, FIELD (baseline),
      "earlier samples; may be given several times" },
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "thresholds from this pmm.conf" },
    { "rounds", 0, "N", opt_int, FIELD (rounds),
      "of the confirm stage, at most: 4" },
    { "seed", 0, "N", opt_u64, FIELD (seed), "of the choices made: 1" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "say in one line what the stage is" },
    { 0 },
};
#undef FIELD

static int check_options (const struct options *o, struct error *err)
{
    if (!o->samples)
        return error_input (err, "--samples SAMPLES is missing");
    if (o->rounds < 1 || o->rounds > CONFIRM_ROUNDS_MAX)
        return error_input (err, "--rounds: 1 to %d is wanted",
                            CONFIRM_ROUNDS_MAX);
    return 0;
}

static int save (const struct plan *plan, struct pathset *ps,
                 const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        plan_write (plan, ps, NULL, file_stream (out), err),
                        err);
}

static int run (const struct options *o, struct error *err)
{
    struct judge_options thresholds;
    struct confirm_options opts = {
        .rounds = (unsigned int)o->rounds,
        .seed = o->seed,
        .judge = &thresholds,
    };
    struct baselines base = { 0 };
    struct inputs in = { 0 };
    struct plan *plan = NULL;
    int rc = -1;

    if (check_options (o, err) == 0
        && inputs_thresholds (&thresholds, o->conf, err) == 0
        && inputs_load (&in, o->fabric, o->plan, o->samples, err) == 0
        && baselines_read (&base, in.fabric, o->baseline.v, o->baseline.n,
                           err) == 0
        && (plan = confirm_plan (in.ps, in.plan, in.samples, base.v, base.n,
                                 &opts, err)))
        rc = save (plan, in.ps, o->output, err);
    if (rc == 0 && o->verbose)
        fprintf (stderr, "pmm confirm: %s in %s\n",
                 COUNTED (plan_probes (plan) - plan_probes (in.plan), "probe"),
                 COUNTED (plan_rounds (plan) - plan_rounds (in.plan), "round"));
    plan_destroy (plan);
    baselines_clear (&base);
    inputs_clear (&in);
    return rc;
}

int verb_confirm (int argc, char **argv)
{
    struct options o = { .rounds = (int)confirm_defaults.rounds, .seed = 1 };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) >= 0)
        status = run (&o, &err) < 0 ? fail (argv[0], &err) : EXIT_OK;
    free (o.baseline.v);
    return status;
}
