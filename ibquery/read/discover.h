/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the live fabric: its nodes, cables and forwarding tables.
 *
 * Needs a umad device and the right to use it, so usually root. Nodes and
 * cables are libibnetdisc's (netdisc.h), as far as it finds them; mads asks for
 * the rest. Directed routes are used throughout, but to ask the subnet manager;
 * nothing is changed in the fabric.
 *
 * What is returned is complete (every port, both ends of every active cable,
 * every block of every table) and of one moment (steady.h). A fabric that is
 * partial or torn is an error, never another topology. A part for some hosts
 * (reach.h) is so as well, of what their messages use.
 */
#ifndef IBQUERY_DISCOVER_H
#define IBQUERY_DISCOVER_H

#include "ibquery/fabric.h"
#include "ibquery/read/mads.h"
#include "ibquery/read/reach.h"

struct discover_options {
    const char *ca; /* NULL: the first that has an active port */
    int port;       /* 0: the first active */
    struct mads_options mads;
    const struct reach_hosts *hosts; /* only what these use; NULL: all */
};

/* Returns a finished fabric, or NULL with err (ERROR_WORLD): no device, no
 * right to it, no subnet manager, a limit that was met, or what is missing of
 * the fabric. *counts gets the MADs that it took; it may be NULL.
 */
struct fabric *discover (const struct discover_options *opts,
                         struct mads_counts *counts, struct error *err);

/* Look whether the fabric is still what f says (look.h): 0, 1 with *why, or -1
 * with err.
 */
int discover_changed (const struct fabric *f,
                      const struct discover_options *opts, uint64_t turn,
                      struct mads_counts *counts, struct error *why,
                      struct error *err);

#endif /* IBQUERY_DISCOVER_H */
