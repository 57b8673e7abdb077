/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Append the check's outcome to the job's Comment, with pmm-comment(1). It is a
 * separate program, because neither srun with its threads nor a child of
 * slurmstepd can call Slurm's library with a deadline. It runs as the user, in
 * an environment made from scratch, for at most REMARK_WAIT_MS. Failure is
 * ignored.
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
