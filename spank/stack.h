/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How plugstack.conf has this plugin. Slurm heeds what a `required` plugin
 * returns, not what an `optional` one does, and tells neither which it is: so
 * its own line is looked for, which is the one with its file's name and with
 * the words that it got.
 */
#ifndef SPANK_STACK_H
#define SPANK_STACK_H

#include "spank/options.h"

enum stack { STACK_UNKNOWN, STACK_OPTIONAL, STACK_REQUIRED };

/* Look in the plugstack.conf that slurmctld has, where `ask`, then beside
 * slurm.conf and where Slurm keeps them. Do not ask in a child of slurmstepd.
 */
enum stack stack_look (const struct settings *settings, bool ask);

#endif /* SPANK_STACK_H */
