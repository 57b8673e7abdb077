/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin does in srun. */
#ifndef SPANK_SRUN_H
#define SPANK_SRUN_H

#include <slurm/spank.h>

/* In slurm_spank_local_user_init, where the job is known and its tasks are
 * not started: check the job. Return 0, or -1 to veto.
 */
int srun_check (spank_t sp, int argc, char **argv);

#endif /* SPANK_SRUN_H */
