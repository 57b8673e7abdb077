/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the plugin does in slurmstepd. */
#ifndef SPANK_SLURMSTEPD_H
#define SPANK_SLURMSTEPD_H

#include <slurm/spank.h>

/* In slurm_spank_task_init: if the task is a batch script, check its job before
 * the script's first line. Return 0, or -1 to veto: the script does not run,
 * the job fails with exit code 1, and the node is not drained.
 */
int slurmstepd_check (spank_t sp, int argc, char **argv);

#endif /* SPANK_SLURMSTEPD_H */
