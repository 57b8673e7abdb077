/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check a job, once: decide whether, under the guard; run the nested step;
 * remember the outcome; decide whether the job may start. What differs
 * between srun and slurmstepd is in struct job and struct job_env.
 */
#ifndef SPANK_CHECK_H
#define SPANK_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "spank/options.h"
#include "spank/step.h"

/* Holds the outcome, for the later steps of the job and for its scripts. */
#define CHECK_VARIABLE "PMM_CHECK"

struct job {
    uint32_t id;
    uint32_t nodes;
    bool het;          /* a component of a heterogeneous job */
    bool first_step;   /* nothing of this job can have been checked yet */
    time_t start;      /* unless first_step */
    char partition[256];
    char cluster[64];
};

struct job_env {
    struct step_env step;
    bool may_ask;      /* the controller */
    void (*set) (void *arg, const char *name, const char *value);
};

enum { CHECK_GO_ON = 0, CHECK_VETO = -1, CHECK_STOPPED = 1 };

/* Return CHECK_GO_ON, CHECK_VETO, or CHECK_STOPPED when a signal ended the
 * check, with its number in *sig. Says what there is to say: that there was no
 * check, to who asked for one; else syslog has it, unless that is a matter of
 * course. Who asked for one file of what came of it finds there also that
 * nothing did: what an earlier check left cannot be taken for it.
 */
int check_job (const struct settings *settings, const struct job *job,
               const struct job_env *env, int *sig);

/* The check of this job could not run for the reason given: say so. Return
 * CHECK_VETO if the user required it, else CHECK_GO_ON.
 */
int check_failed (const struct settings *settings, uint32_t jobid,
                  const struct job_env *env, const char *reason);

#endif /* SPANK_CHECK_H */
