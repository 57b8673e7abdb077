/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look whether a fabric is still what a snapshot of it says, by a fraction of
 * the MADs that a reading takes.
 *
 * Every cable is followed once, and its far end must be who it was: a switch
 * by GUID and port, an adapter by LID, rate and state. Ports without a cable
 * are still without, and switches have no change that nobody has seen. Of each
 * table one block is read, another one from look to look.
 *
 * What this does not see: tables of which other blocks have changed while all
 * cables stayed, descriptions, counters, the rates of cables between switches.
 * Who publishes reads everything from time to time.
 */
#ifndef IBQUERY_LOOK_H
#define IBQUERY_LOOK_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

/* `turn` says which blocks are looked at: 0, 1, 2, ... from look to look.
 * Return 0 where no change is seen; 1 where there is one, or somebody does not
 * answer, with a sentence in *why; -1 with err: a limit of the engine is met.
 */
int look_changed (struct mads *m, const struct fabric *f, uint64_t turn,
                  struct error *why, struct error *err);

#endif /* IBQUERY_LOOK_H */
