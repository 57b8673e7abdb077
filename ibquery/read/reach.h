/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read only what the messages between some hosts use: a job's part of the
 * fabric, at a cost that grows with the size of the job.
 *
 * From the local port, the forwarding tables are followed to each LID of the
 * hosts, switch by switch, and from each host's switch to all other hosts. Only
 * the blocks of the tables that hold these LIDs are requested. So the part is
 * closed: between any two of the hosts, in both directions, each path is the
 * same as in the whole fabric.
 *
 * A hint gives the locations of the hosts: any fabric that contains them,
 * however old. Only the LIDs are taken from it, and the owner of each LID is
 * verified. If a LID belongs to another host, has no route, or is not one of
 * all LIDs of its port, the hint is rejected. Then, and without a hint, the
 * nodes and cables of the whole fabric are read first, but no tables. A hint
 * can hide only a rail that its host did not have at that time.
 *
 * The result is marked as a part (struct fabric's `part`). It contains the
 * hosts with the requested ports, the switches on their paths with the used
 * ports and table entries, and the cables between them. The levels of switches
 * may differ from those in the whole fabric.
 */
#ifndef IBQUERY_REACH_H
#define IBQUERY_REACH_H

#include <stddef.h>

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

struct reach_hosts {
    const char *const *name; /* [n] hosts, without duplicates */
    size_t n;
    const struct fabric *hint; /* NULL: none */
};

/* Read a consistent part, as steady_read does for the whole. Return a finished
 * fabric, or NULL with err (ERROR_WORLD) that names the hosts that were not
 * found, or the switch that has no route to them.
 */
struct fabric *reach_read (struct mads *m, const char *source,
                           const struct reach_hosts *hosts,
                           struct error *err);

#endif /* IBQUERY_REACH_H */
