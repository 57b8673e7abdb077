/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether this plugin is required or optional in plugstack.conf. Slurm heeds
 * the return value of a `required` plugin, but not that of an `optional` one,
 * and does not tell a plugin which it is. So the plugin searches for its own
 * line: the one with its file name and with the same arguments.
 */
#ifndef SPANK_STACK_H
#define SPANK_STACK_H

#include "spank/options.h"

enum stack { STACK_UNKNOWN, STACK_OPTIONAL, STACK_REQUIRED };

/* Search the plugstack.conf of slurmctld's configuration if `ask`, then the one
 * in the directory of $SLURM_CONF, then those in the usual directories.
 * slurmctld must not be asked in a child of slurmstepd.
 */
enum stack stack_look (const struct settings *settings, bool ask);

#endif /* SPANK_STACK_H */
