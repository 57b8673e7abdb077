/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm, as seen by the plugin: loads the built spank_pmm.so and plays srun
 * and slurmstepd for it, with a job, an environment and options of the test's.
 *
 * What it does not simulate: srun's threads and their signals, option
 * parsing, the passing of options from sbatch to slurmstepd, ids other than
 * the caller's, and what Slurm does with what the callbacks return.
 */
#ifndef SPANK_TEST_SPANKHOST_H
#define SPANK_TEST_SPANKHOST_H

#include <stdint.h>
#include <time.h>

struct spankhost {
    /* the job, to be set by the test */
    uint32_t jobid;
    uint32_t nodes;
    uint32_t het_jobid;
    time_t start;
    const char *partition;
    int load_fails;    /* slurm_load_job does */
    int running;
    const char *check; /* --pmm-check's argument; NULL: not given */
    const char *output; /* --pmm-output's */
    const char *stack; /* what plugstack.conf has before the plugin's name */
    void (*limit) (void); /* called when the plugin is loaded */
    char *words[8];    /* of plugstack.conf, ended by NULL */

    /* what happened */
    char said[4096];   /* by slurm_error and slurm_spank_log */
    char logged[1024]; /* to syslog's socket */
    char passed[64];   /* NAME=VALUE, to the job's hooks */
    char env[320];     /* PMM_CHECK as spank_setenv left it */
};

extern struct spankhost spankhost;

/* Load the plugin; plugstack.conf will be in dir. Return 0, or -1 with a
 * diagnostic.
 */
int spankhost_load (const char *path, const char *dir);

/* Be a fresh srun outside of a job, an srun inside it (with SLURM_JOB_ID in
 * the environment), or the slurmstepd of its batch script or of another step.
 * The plugin is loaded anew; `said` and `env` are emptied first. Return what
 * the first callback that did not return 0 returned.
 */
int spankhost_srun (void);
int spankhost_srun_inside (void);
int spankhost_batch (void);
int spankhost_task (void);

/* Be slurmd's `slurmstepd spank prolog`, and then epilog. */
int spankhost_job_script (void);

/* Is this symbol of the plugin exported? */
int spankhost_exports (const char *symbol);

#endif /* SPANK_TEST_SPANKHOST_H */
