/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levels of switches: 1 where hosts are, else 1 + the least of the neighbours';
 * 0 where no host can be reached.
 *
 * A switch that has few hosts beside the others and more cables to switches
 * than any that has many is no place for hosts: somebody has cabled a
 * management node, or two, to a spine. Its level is its neighbours' to say.
 */
#ifndef IBQUERY_LEVELS_H
#define IBQUERY_LEVELS_H

#include "ibquery/fabric.h"

/* Find the levels of a fabric whose hosts are known. */
void levels_find (struct fabric *f);

#endif /* IBQUERY_LEVELS_H */
