/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What spank_pmm_hooks.so does before and after a job on each of its nodes, as
 * root: where plugstack.conf has Hooks=DIR, it runs DIR/pmm-prolog or
 * DIR/pmm-epilog (prolog/node/hook.h), for sites whose Prolog and Epilog are
 * others' to set. The work is theirs alone: here only plugstack.conf's words
 * are looked at, so that no file system can hold the job up in a process
 * without a deadline.
 */
#ifndef SPANK_JOBHOOK_H
#define SPANK_JOBHOOK_H

/* Run the program of this name with a deadline; how it ends is not told:
 * Slurm drains a node where such a hook of a `required` plugin fails.
 */
void jobhook_run (const char *program, int argc, char **argv);

#endif /* SPANK_JOBHOOK_H */
