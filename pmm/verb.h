/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb of the pmm command. To add one, write verb_<name>.c, which ends with
 * the verb's row; declare the row here and list it in main.c. Verbs of `pmm
 * fabric` are declared in fabric/fabric_verb.h and listed in verb_fabric.c.
 */
#ifndef PMM_VERB_H
#define PMM_VERB_H

#include "pmm/common.h"
#include "pmm/inputs.h"

/* What the runner opens for a verb that needs it or may take it, with the
 * options that name it.
 */
enum verb_takes {
    TAKES_FABRIC = 1,    /* -f; if needed and not given: pmm.conf's Snapshot */
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
    const struct verb *const *verbs; /* verbs of its own, up to NULL; if set,
                                        the rest is unused */

    int (*main) (int argc, char **argv); /* its own runner; NULL: the rest
                                            applies */
    unsigned int needs, may; /* of verb_takes */
    bool json;           /* without --format */
    const char *operands; /* for the usage line; NULL: it has none */
    int min, max;        /* how many; max -1: any number */
    const struct opt *options; /* its own; NULL: none */
    void *given;         /* what they set */

    /* Check that the options can be combined, before anything is opened; NULL:
     * no check. Return 0, or -1 with err.
     */
    int (*check) (const struct inputs *in, struct error *err);

    /* Return the exit status, or -1 with err. */
    int (*run) (struct inputs *in, struct error *err);
};

/* Those of pmm itself. */
extern const struct verb verb_audit, verb_compare, verb_confirm, verb_doctor,
    verb_export, verb_fabric, verb_judge, verb_path, verb_pattern, verb_plan,
    verb_rates, verb_report, verb_series, verb_simulate, verb_solve;

/* Verbs with runners of their own. */
int verb_infer (int argc, char **argv);
int verb_ledger (int argc, char **argv);
int verb_policy (int argc, char **argv);

#endif /* PMM_VERB_H */
