/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The common part of pmm-prolog, pmm-epilog and pmm-healthcheck: one local
 * check (prolog/node/look), in a child process that is abandoned at a deadline.
 *
 * slurmd waits for the hooks. So nothing may hang there: no driver, and no file
 * system with pmm.conf, the verdict cache or the state. The child does all this
 * work; the parent touches no file. A child that cannot be killed keeps the
 * lock, and later ones end at their deadlines: at most one is ever stuck.
 *
 * A job's hooks print to standard error and syslog only what changed since they
 * last printed. They always exit with 0. Where the site cannot set Prolog and
 * Epilog, spank/hooks.c runs these programs.
 */
#ifndef PROLOG_HOOK_H
#define PROLOG_HOOK_H

#include <stdbool.h>

#include "core/judge/verdict.h"
#include "ibquery/live.h"
#include "prolog/node/look.h"

enum {
    HOOK_JOB_MS = 500,     /* the prolog and the epilog */
    HOOK_HEALTH_MS = 5000, /* the health check */
};

enum hook_kind { HOOK_PROLOG, HOOK_EPILOG, HOOK_HEALTHCHECK };

struct hook {
    enum hook_kind kind;
    const char *conf;  /* NULL: the built-in default */
    const char *sysfs;
    const char *node;  /* NULL: this machine's name up to its first dot */

    /* for a job's hook only */
    bool first;            /* this is the job's first node */
    const char *check;     /* value of its --pmm-check; NULL: not given */
    const char *partition; /* NULL: not known */
    struct live_job job;
};

struct hook_result {
    enum verdict_status level;
    bool news;            /* differs from what a job's hook last printed */
    char line[LOOK_LINE]; /* printable */
    char perf[LOOK_PERF]; /* figures for Nagios; empty: none */
};

/* Check, for deadline_ms at most. What could not be done is UNKNOWN, with the
 * reason in the line.
 */
void hook_run (const struct hook *hook, int deadline_ms,
               struct hook_result *result);

/* Parse the options, which are the same for all three programs; the table is in
 * hook.c. Return 1 to go on, 0 if --help was printed to standard output, -1
 * with err.
 */
int hook_options (struct hook *hook, int argc, char **argv, struct error *err);

/* Print the line to standard error and syslog, without waiting for syslog. */
void hook_say (const char *program, const char *job, const char *line);

/* Whether `node` is the first of a node list as Slurm folds it,
 * "n[003-007,9],x1".
 */
bool hook_is_first (const char *list, const char *node);

#endif /* PROLOG_HOOK_H */
