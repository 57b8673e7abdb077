/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read what the messages between some hosts use, and nothing else: a job's
 * part of the fabric, at a cost that grows with the job.
 *
 * From the own port, the forwarding tables are followed to each LID of the
 * hosts, switch by switch, and from each switch that a host is on to all the
 * others; of a table, only the blocks that hold the LIDs are asked for. So
 * what is read is closed: between any two of the hosts, both ways, each path
 * is the one that the whole fabric has.
 *
 * Where the hosts are, a hint says: any fabric that has them, however old.
 * Only the LIDs are taken from it, and who has them is what was found there:
 * where a LID is another host's, has no route, or is not all that its port
 * has, the hint does not hold. Then, and without one, nodes and cables of
 * everything are found first, but no tables. What a hint can hide is a rail
 * that its host did not have then.
 *
 * The part is marked as one (struct fabric's `part`). It has the hosts with
 * those ports that were asked for, the switches on their paths with the used
 * ports and table entries, and the cables in between: not always the levels
 * that switches have in the whole.
 */
#ifndef IBQUERY_REACH_H
#define IBQUERY_REACH_H

#include <stddef.h>

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

struct reach_hosts {
    const char *const *name; /* [n] hosts, each once */
    size_t n;
    const struct fabric *hint; /* NULL: none */
};

/* A part of one moment, as steady_read promises for the whole. Returns a
 * finished fabric, or NULL with err (ERROR_WORLD): which of the hosts are not
 * there, or which switch does not lead to them.
 */
struct fabric *reach_read (struct mads *m, const char *source,
                           const struct reach_hosts *hosts,
                           struct error *err);

#endif /* IBQUERY_REACH_H */
