/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check's outcome, behind the job's Comment: by pmm-comment(1), a program
 * of its own, since neither srun with its threads nor a child of slurmstepd can
 * call Slurm's library with a deadline. It runs as the user, in an environment
 * made from scratch, for REMARK_WAIT_MS at most. Whether it succeeds is
 * nobody's business.
 */
#ifndef SPANK_REMARK_H
#define SPANK_REMARK_H

#include <stdint.h>

#include "spank/options.h"
#include "spank/outcome.h"
#include "spank/step.h"

enum { REMARK_WAIT_MS = 2000 };

void remark (const struct settings *settings, uint32_t jobid,
             const struct step_env *env, const struct outcome *o);

#endif /* SPANK_REMARK_H */
