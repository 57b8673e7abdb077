/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's parts: settings (options.c), the nested step that measures
 * (step.c), and the check of a job in srun and in slurmstepd (check.c).
 */
#ifndef SPANK_CHECK_H
#define SPANK_CHECK_H

#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "spank/outcome.h"
#include "util/error.h"
#include "util/program.h"
#include "util/site.h"

/* The environment variable with the outcome, for later steps and scripts. */
#define CHECK_VARIABLE "PMM_CHECK"

/*
 * Settings: the SPANK options --pmm-check[=WORDS] and --pmm-output=PATH,
 * pmm.conf, and the plugin's arguments in plugstack.conf
 */

enum check_mode { MODE_OFF, MODE_REPORT, MODE_REQUIRE };

/* What --pmm-check says. */
struct user_check {
    bool chosen; /* the user gave it, */
    bool again;  /* ... even if the job was checked, */
    bool rates;  /* ... and what its links carry, */
    enum check_mode mode;
};

struct settings {
    struct site site;        /* pmm.conf, then the words */
    const char *const *word; /* key=value of plugstack.conf, borrowed */
    int words;
    bool asked;              /* the user gave --pmm-check or --pmm-output: only
                                then is the user told why there is no check */
    struct user_check check;
    const char *output;      /* --pmm-output, or NULL; borrowed */
};

/* Register the options. A bad argument is an error only in srun, salloc and
 * sbatch, because on a node an error could drain the node.
 */
int options_register (spank_t sp);

/* Tell the hooks of the job what the user asked for, as
 * SPANK_PMM_CHECK in their environment; in the srun of a check, that this is
 * one. Call it in slurm_spank_init_post_opt of srun, salloc and sbatch.
 */
void options_tell_hooks (spank_t sp);

/* Take that from there, in slurmstepd, if no option arrived: with sbatch
 * --export, Slurm 22.05 drops the options of plugins.
 */
void options_recall (spank_t sp);

/* Fill s with the user's options and those of the site. Return 0, or -1 with
 * err; the user's options are valid even then. Call site_clear (&s->site) in
 * both cases.
 */
int settings_read (struct settings *s, int argc, char **argv,
                   struct error *err);

/* False if the mode is off for jobs of all partitions. */
bool settings_any (const struct settings *s);

/* The mode of a job in this partition. --pmm-output alone turns `off` into
 * `report`.
 */
enum check_mode settings_mode (const struct settings *s, const char *partition);

/* True if the output is a file, not a directory: its name ends in .json. */
bool settings_one_file (const struct settings *s);

/*
 * The nested job step: srun runs pmm-probe on the nodes of the job, in an
 * environment made from scratch, under a watchdog. Only a result record counts:
 * samples, then a line with this run's nonce. That line without samples gives
 * the reason why nothing was measured, and is OK if there is nothing. The
 * step's exit status does not count.
 */

enum { STEP_NONCE = 33 }; /* 128 bits in hex, and the NUL */

struct job {
    struct settings settings;
    spank_t sp;        /* in slurmstepd: before the job's first step, and Slurm
                          must not be asked; NULL: in srun */
    uint32_t id;
    uint32_t nodes;
    bool het;          /* a component of a heterogeneous job */
    bool terminal;     /* standard error is one: show the progress */
    time_t start;      /* of the job; only in srun */
    char partition[256];
    char cluster[64];
};

/* Read a variable of the job's environment. Return 0, or -1 if it is not set or
 * does not fit.
 */
int job_getenv (const struct job *job, const char *name, char *buf, int size);

/* The step's environment and arguments, which the caller frees with
 * program_free; NULL with errno ENOMEM. `output` of the settings is made
 * absolute; mpi comes from site_mpi; left_ms is the rest of the site's Timeout.
 */
char **step_environment (const struct job *job);
char **step_arguments (const struct job *job, const char *mpi,
                       const char *nonce, int left_ms);

/* Clean a line of the step's standard error for the user, in place. Return its
 * prefix: "pmm: ", or "" if the line already starts with "pmm".
 */
const char *step_clean_line (char *line);

/* From step_catch to step_release, SIGHUP, SIGINT, SIGQUIT and SIGTERM stop
 * step_run and step_pause; Slurm's other threads do not get them. Signals that
 * were ignored stay ignored.
 */
void step_catch (void);
int step_release (void); /* returns the signal that came, or 0 */

/* Wait. Return -1 as soon as a signal has stopped us, else 0. */
int step_pause (int ms);

/* Run the step and set o: OUTCOME_NONE with the reason if there was no valid
 * result. Return false if there was nothing to measure: then o is UNKNOWN.
 * Messages of pmm-probe go to standard error. Takes at most the site's Timeout
 * plus PROGRAM_OVERTIME_MS.
 */
bool step_run (const struct job *job, struct outcome *o);

/*
 * The check: with the guard locked, decide whether one is needed, run the step,
 * remember the outcome, decide whether the job may start. All return 0, or -1
 * to veto, and print the messages.
 */

/* In slurm_spank_init_post_opt: check the job that srun is started in, if
 * any, before srun makes its step: srun does not end the step of a job that
 * is vetoed later, and the step would keep processors from the job's others.
 */
int srun_check_early (spank_t sp, int argc, char **argv);

/* In slurm_spank_local_user_init, when the job that srun created is known and
 * its tasks are not started: check it, unless srun_check_early did.
 */
int srun_check (spank_t sp, int argc, char **argv);

/* In slurm_spank_task_init: if the task is a batch script, check its job before
 * the script's first line. After a veto the script does not run, the job fails
 * with exit code 1, and the node is not drained.
 */
int slurmstepd_check (spank_t sp, int argc, char **argv);

#endif /* SPANK_CHECK_H */
