/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nested job step: srun runs pmm-probe on the nodes of the job, in an
 * environment made from scratch, under a watchdog. Only a result record counts:
 * samples, then a line with this run's nonce. That line without samples gives
 * the reason why nothing was measured. The step's exit status does not count.
 */
#ifndef SPANK_STEP_H
#define SPANK_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "spank/options.h"
#include "spank/outcome.h"
#include "util/program.h"

/* Set in the step's environment: there the plugin does not check. */
#define STEP_NESTED "PMM_CHECK_NESTED"

enum {
    STEP_NONCE = 33,         /* 128 bits in hex, and the NUL */
    STEP_OVERTIME_MS = PROGRAM_OVERTIME_MS,
};

/* Access to the job's environment: like getenv, with a buffer to fill. Return
 * 0, or -1 if the variable is not set or does not fit.
 */
struct step_env {
    int (*get) (void *arg, const char *name, char *buf, int size);
    void *arg;
};

struct spank_step {
    const struct settings *settings;
    uint32_t jobid;
    uint32_t nodes; /* of the job */
    bool terminal;  /* standard error is one: show the progress */
};

/* The step's environment and arguments, terminated by NULL; the caller frees
 * them with program_free. NULL with errno ENOMEM. `output` of the settings is
 * made absolute; mpi comes from site_mpi; left_ms is the rest of the site's
 * Timeout.
 */
char **step_environment (const struct step_env *env, int timeout_ms);
char **step_arguments (const struct spank_step *step, const char *mpi,
                       const char *nonce, int left_ms);

/* Clean a line of the step's standard error for the user, in place. Return its
 * prefix: "pmm: ", or "" if the line already starts with "pmm".
 */
const char *step_clean_line (char *line);

/* From step_catch to step_release, SIGHUP, SIGINT, SIGQUIT and SIGTERM stop
 * step_run and step_pause; Slurm's other threads do not get them. Signals that
 * were ignored stay ignored. Calls must not be nested.
 */
void step_catch (void);
int step_release (void); /* returns the signal that came, or 0 */

/* Wait. Return -1 as soon as a signal has stopped us, else 0. */
int step_pause (int ms);

/* Run the step and set o: OUTCOME_NONE with the reason if there was no valid
 * result. Messages of pmm-probe go to standard error. Takes at most the site's
 * Timeout plus STEP_OVERTIME_MS.
 */
void step_run (const struct spank_step *step, const struct step_env *env,
               struct outcome *o);

#endif /* SPANK_STEP_H */
