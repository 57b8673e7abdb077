/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin does in srun. */
#ifndef SPANK_SRUN_H
#define SPANK_SRUN_H

#include <slurm/spank.h>

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

#endif /* SPANK_SRUN_H */
