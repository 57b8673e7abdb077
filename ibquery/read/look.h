/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Poll: check whether a fabric is still as in its snapshot, with a fraction of
 * the MADs of a full read.
 *
 * Every cable is followed once, and its far end must be the same: a switch by
 * GUID and port, an adapter by LID, rate and state. Ports without a cable must
 * still have none, and no switch may report a change that the subnet manager
 * has not seen. One block of each table is read, another one at each poll.
 *
 * A poll does not detect: changes in other blocks of the tables while all
 * cables stayed, descriptions, counters, the rates of switch links. So a
 * publisher reads everything from time to time.
 */
#ifndef IBQUERY_LOOK_H
#define IBQUERY_LOOK_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

/* `turn` selects the blocks that are read: 0, 1, 2, ... from poll to poll.
 * Return 0 if no change is seen; 1 with a sentence in *why if there is a
 * change, or a node does not answer; -1 with err if a limit of the engine is
 * reached.
 */
int look_changed (struct mads *m, const struct fabric *f, uint64_t turn,
                  struct error *why, struct error *err);

#endif /* IBQUERY_LOOK_H */
