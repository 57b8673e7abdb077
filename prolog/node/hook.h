/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pmm-prolog, pmm-epilog and pmm-healthcheck have in common: one look
 * (prolog/node/look), in a child of theirs that is given up at a deadline.
 *
 * slurmd waits for the prolog before it starts a job, and for the epilog
 * before it gives the node to the next, so nothing there may hang: not a
 * driver, not the file system of pmm.conf, the verdict cache or the state. The
 * child does all of that; the parent touches no file. A child that cannot be
 * killed keeps the lock, and the next ones end at their deadlines: at most one
 * is ever stuck.
 *
 * A job's hooks print on standard error and to syslog what has changed since
 * they last printed something, else nothing. They always exit with 0. Where a
 * node's Prolog and Epilog are not ours to set, SPANK hooks (spank/hooks.c) run
 * the programs, if the site wants it (pmm.conf's Hooks): a look inside of
 * slurmstepd could end that when it fails.
 */
#ifndef PROLOG_HOOK_H
#define PROLOG_HOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/judge/verdict.h"
#include "ibquery/live.h"
#include "prolog/node/look.h"

enum {
    HOOK_JOB_MS = 500,     /* of the prolog and the epilog */
    HOOK_HEALTH_MS = 5000, /* of the health check */
};

enum hook_kind { HOOK_PROLOG, HOOK_EPILOG, HOOK_HEALTHCHECK };

struct hook {
    enum hook_kind kind;
    const char *conf;  /* NULL: the built-in default */
    const char *sysfs;
    const char *node;  /* NULL: this machine's name up to its first dot */

    /* of a job's hook */
    bool first;            /* this is the job's first node */
    const char *check;     /* what its --pmm-check says; NULL: not given */
    const char *partition; /* NULL: not known */
    struct live_job job;
};

struct hook_result {
    enum verdict_status level;
    bool news;            /* not what a job's hook said last */
    char line[LOOK_LINE]; /* printable */
};

/* Look, for deadline_ms at most. What could not be done is UNKNOWN, with why
 * in the line.
 */
void hook_run (const struct hook *hook, int deadline_ms,
               struct hook_result *result);

/* Options, which all three programs have; the table is in hook.c. Returns 1 to
 * go on, 0 where --help was answered on standard output, -1 with err.
 */
int hook_options (struct hook *hook, int argc, char **argv,
                  struct error *err);

/* Say it on standard error and to syslog, which is not waited for. */
void hook_say (const char *program, const char *job, const char *line);

/* Whether `node` is the first of a list as Slurm folds it, "n[003-007,9],x1".
 */
bool hook_is_first (const char *list, const char *node);

#endif /* PROLOG_HOOK_H */
