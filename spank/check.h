/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check a job once: with the guard locked, decide whether a check is needed;
 * run the nested step; remember the outcome; decide whether the job may start.
 * struct job and struct job_env hold what differs between srun and slurmstepd.
 */
#ifndef SPANK_CHECK_H
#define SPANK_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "spank/options.h"
#include "spank/step.h"

/* The environment variable with the outcome, for later steps and scripts. */
#define CHECK_VARIABLE "PMM_CHECK"

struct job {
    uint32_t id;
    uint32_t nodes;
    bool het;          /* a component of a heterogeneous job */
    bool first_step;   /* this job cannot have been checked before */
    time_t start;      /* of the job; not set if first_step */
    char partition[256];
    char cluster[64];
};

struct job_env {
    struct step_env step;
    bool may_ask;      /* slurmctld may be asked */
    void (*set) (void *arg, const char *name, const char *value);
};

enum { CHECK_GO_ON = 0, CHECK_VETO = -1, CHECK_STOPPED = 1 };

/* Return CHECK_GO_ON, CHECK_VETO, or CHECK_STOPPED if a signal interrupted the
 * check, with its number in *sig.
 *
 * Prints the messages. If there was no check, the user is told if the user
 * asked for one; otherwise the reason goes to syslog, but not for jobs that are
 * never checked (one node, heterogeneous). A veto is always printed. If the
 * output is one file and nothing was measured, the file gets a result that says
 * so. Otherwise the file of an earlier job could be mistaken for this one's.
 */
int check_job (const struct settings *settings, const struct job *job,
               const struct job_env *env, int *sig);

/* Report that the check of this job could not run, and why. Return CHECK_VETO
 * if the user required a check and no earlier step of the job passed one; else
 * CHECK_GO_ON.
 */
int check_failed (const struct settings *settings, uint32_t jobid,
                  const struct job_env *env, const char *reason);

/* In slurm_spank_init_post_opt: check the job that srun is started in, if
 * any, before srun makes its step: srun does not end the step of a job that
 * is vetoed later, and the step would keep processors from the job's others.
 * Return 0, or -1 to veto.
 */
int srun_check_early (spank_t sp, int argc, char **argv);

/* In slurm_spank_local_user_init, when the job that srun created is known and
 * its tasks are not started: check it, unless srun_check_early did. Return 0,
 * or -1 to veto.
 */
int srun_check (spank_t sp, int argc, char **argv);

/* In slurm_spank_task_init: if the task is a batch script, check its job before
 * the script's first line. Return 0, or -1 to veto: the script does not run,
 * the job fails with exit code 1, and the node is not drained.
 */
int slurmstepd_check (spank_t sp, int argc, char **argv);

#endif /* SPANK_CHECK_H */
