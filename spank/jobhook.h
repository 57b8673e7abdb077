/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What spank_pmm_hooks.so does before and after a job on each of its nodes, as
 * root: if plugstack.conf has Hooks=DIR, it runs DIR/pmm-prolog or
 * DIR/pmm-epilog (prolog/node/hook.h). This is for sites that cannot set Prolog
 * and Epilog in slurm.conf. These programs do all the work. The plugin reads
 * only its arguments in plugstack.conf and no file, so that no file system can
 * block the job in a process without a deadline.
 */
#ifndef SPANK_JOBHOOK_H
#define SPANK_JOBHOOK_H

/* Run the program of this name with a deadline. Its exit status is ignored,
 * because Slurm drains a node if such a hook of a `required` plugin fails.
 */
void jobhook_run (const char *program, int argc, char **argv);

#endif /* SPANK_JOBHOOK_H */
