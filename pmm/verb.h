/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb of the pmm command: to add one, write verb_<name>.c, which ends in the
 * verb's row; declare that here and list it in main.c. Those of `pmm fabric`
 * are declared in fabric/fabric_verb.h and listed in verb_fabric.c.
 */
#ifndef PMM_VERB_H
#define PMM_VERB_H

#include "pmm/common.h"
#include "pmm/inputs.h"

/* What the runner opens for a verb, with the options that say which: where the
 * verb needs it, or may get it.
 */
enum verb_takes {
    TAKES_FABRIC = 1,    /* -f; needed and not given: pmm.conf's Snapshot */
    TAKES_PLAN = 2,
    TAKES_SAMPLES = 4,
    TAKES_BASELINES = 8, /* with the judge's thresholds */
    TAKES_CONF = 16,     /* the name of a pmm.conf */
    TAKES_JSON = 32,     /* --format and --json */
    TAKES_OUTPUT = 64,
};

struct verb {
    const char *name;
    const char *help;
    const struct verb *const *verbs; /* its own, up to NULL; then no more: */

    int (*main) (int argc, char **argv); /* it has its own runner, or: */
    unsigned int needs, may; /* of verb_takes */
    bool json;           /* without --format */
    const char *operands; /* for the usage line; NULL: it has none */
    int min, max;        /* how many; max -1: any number */
    const struct opt *options; /* its own; NULL: none */
    void *given;         /* what they set */

    /* Whether the options go together, before anything is opened; NULL: they
     * do. Return 0, or -1 with err.
     */
    int (*check) (const struct inputs *in, struct error *err);

    /* Return the exit status, or -1 with err. */
    int (*run) (struct inputs *in, struct error *err);
};

/* Those of pmm itself. */
extern const struct verb verb_audit, verb_compare, verb_confirm, verb_doctor,
    verb_export, verb_fabric, verb_judge, verb_path, verb_pattern, verb_plan,
    verb_rates, verb_report, verb_series, verb_simulate, verb_solve;

/* They have runners of their own. */
int verb_infer (int argc, char **argv);
int verb_ledger (int argc, char **argv);
int verb_policy (int argc, char **argv);

#endif /* PMM_VERB_H */
