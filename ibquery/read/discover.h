/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the live fabric: its nodes, cables and forwarding tables.
 *
 * Needs a umad device and access to it, so usually root. libibnetdisc finds
 * nodes and cables (netdisc.h), as far as it can; mads asks for the rest.
 * Everything uses directed routes, except questions to the subnet manager.
 * Nothing is changed in the fabric.
 *
 * The result is complete (every port, both ends of every active cable, every
 * block of every table) and consistent. A partial or inconsistent reading is an
 * error, never another topology. A part for some hosts (reach.h) is complete
 * and consistent in what their messages use.
 *
 * Consistent: if a subnet manager is busy, the reader waits for it. One reading
 * is enough if nothing can have changed during it: the subnet manager has sent
 * nothing (SMInfo's ActCount), and no switch reports a port that changed
 * (SwitchInfo's PortStateChange) or has another table. If this is not certain,
 * because there is no subnet manager, or it sent something, or a switch reports
 * a change that the subnet manager has not seen, a second reading of everything
 * must be equal.
 *
 * A subnet manager gets time to see a change. If tables still lead to hosts or
 * switches by ports that lead nowhere, the third equal reading is accepted,
 * with a warning.
 */
#ifndef IBQUERY_DISCOVER_H
#define IBQUERY_DISCOVER_H

#include "ibquery/fabric.h"
#include "ibquery/read/explore.h"
#include "ibquery/read/mads.h"
#include "ibquery/read/reach.h"

struct discover_options {
    const char *ca; /* NULL: the first that has an active port */
    int port;       /* 0: the first active */
    struct mads_options mads;
    const struct reach_hosts *hosts; /* read only what these use; NULL:
                                        everything */
};

/* Return a finished fabric, or NULL with err (ERROR_WORLD): no device, no
 * access to it, no subnet manager, a limit that was reached, or what is missing
 * in the fabric. *counts is set to the MADs used; it may be NULL.
 */
struct fabric *discover (const struct discover_options *opts,
                         struct mads_counts *counts, struct error *err);

/* Poll whether the fabric is still as in f (look.h): 0 for yes, 1 with *why for
 * no, or -1 with err.
 */
int discover_changed (const struct fabric *f,
                      const struct discover_options *opts, uint64_t turn,
                      struct mads_counts *counts, struct error *why,
                      struct error *err);

/* The same through an engine: everything, or what `ask` requests in one
 * reading. ask returns 0, -1 with err, or 1 with err if a retry is useless.
 * `source` becomes the fabric's source. NULL with err: what is missing, or that
 * no two readings agree.
 */
struct fabric *steady_read (struct mads *m, const char *source,
                            struct error *err);
typedef int (*steady_ask_f) (void *arg, struct explore *e, struct error *err);
struct fabric *steady_read_by (struct mads *m, const char *source,
                               steady_ask_f ask, void *arg,
                               struct error *err);

#endif /* IBQUERY_DISCOVER_H */
