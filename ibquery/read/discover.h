/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the live fabric: its nodes, cables and forwarding tables.
 *
 * Needs a umad device and access to it, so usually root. libibnetdisc finds
 * nodes and cables (netdisc.h), as far as it can; mads asks for the rest, by
 * directed routes. Nothing is changed in the fabric.
 *
 * The result is complete (every port, both ends of every active cable, every
 * block of every table) and consistent. A partial or inconsistent reading is an
 * error, never another topology.
 *
 * Consistent: the reader waits for a subnet manager that is busy. One reading
 * is enough if nothing can have changed during it: the subnet manager has sent
 * nothing (SMInfo's ActCount), and no switch reports a port that changed
 * (SwitchInfo's PortStateChange) or has another table. Otherwise a second
 * reading of everything must be equal.
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

/*
 * The wire of a real adapter: its umad device
 */

enum { DEVICE_NAME_MAX = 32 };

struct device_port {
    char ca[DEVICE_NAME_MAX];
    int port;
    uint64_t subnet; /* the prefix of its GIDs */
};

/* The active ports of this machine, in a fixed order: *n of them; the caller
 * frees the array. NULL with err (ERROR_WORLD) if there are none.
 */
struct device_port *device_ports (size_t *n, struct error *err);

/* Open port `port` (0: the first active one) of `ca` (NULL: the first with an
 * active port); *used is set to the port opened. NULL with err (ERROR_WORLD):
 * no device, no access to it, or no subnet manager has configured the port.
 */
struct mads *device_open (const char *ca, int port,
                          const struct mads_options *opts,
                          struct device_port *used, struct error *err);

/*
 * Reading
 */

/* Read only what the messages between some hosts use: a job's part of the
 * fabric, at a cost that grows with the size of the job.
 *
 * The forwarding tables are followed to each LID of the hosts, from the local
 * port and from each host. Only the blocks of the tables that hold these LIDs
 * are requested. Between any two of the hosts, each path is the same as in the
 * whole fabric. Where switches spread messages, all ports are followed that
 * messages may take.
 *
 * A hint is any fabric that contains the hosts, however old. Only their LIDs
 * are taken from it, and verified: if one belongs to another host or has no
 * route, or a port has more, the hint is rejected. Then, and without a hint,
 * the nodes and cables of the whole fabric are read first, but no tables. A
 * hint can hide only a rail that its host did not have at that time.
 *
 * The result is marked as a part (struct fabric's `part`): the hosts with these
 * ports, the switches on their paths with the used ports and table entries, and
 * the cables between them. Levels of switches may differ from the whole's.
 */
struct reach_hosts {
    const char *const *name; /* [n] hosts, without duplicates */
    size_t n;
    const struct fabric *hint; /* NULL: none */
};

struct discover_options {
    const char *ca; /* NULL: the first that has an active port */
    int port;       /* 0: the first active */
    struct mads_options mads;
    const struct node_names *names;  /* of nodes, in place of their
                                        descriptions; NULL: none */
    const struct reach_hosts *hosts; /* read only what these use; NULL:
                                        everything */
};

/* Return a finished fabric, or NULL with err (ERROR_WORLD): no device, no
 * access to it, no subnet manager, a limit that was reached, or what is missing
 * in the fabric. *counts is set to the MADs used; it may be NULL.
 */
struct fabric *discover (const struct discover_options *opts,
                         struct mads_counts *counts, struct error *err);

/* Poll whether the fabric is still as in f (below): 0 for yes, 1 with *why for
 * no, or -1 with err.
 */
int discover_changed (const struct fabric *f,
                      const struct discover_options *opts, uint64_t turn,
                      struct mads_counts *counts, struct error *why,
                      struct error *err);

/* The same through an engine: what `ask` requests in one reading; NULL:
 * everything. ask returns 0, -1 with err, or 1 with err if a retry is useless.
 * `source` becomes the fabric's source; `names` are of its nodes, or NULL. NULL
 * with err: what is missing, or that no two readings agree.
 */
typedef int (*steady_ask_f) (void *arg, struct explore *e, struct error *err);
struct fabric *steady_read (struct mads *m, const char *source,
                            const struct node_names *names, steady_ask_f ask,
                            void *arg, struct error *err);

/* Read a consistent part, as steady_read does for the whole. Return a finished
 * fabric, or NULL with err (ERROR_WORLD) that names the hosts that were not
 * found, or the switch that has no route to them.
 */
struct fabric *reach_read (struct mads *m, const char *source,
                           const struct node_names *names,
                           const struct reach_hosts *hosts,
                           struct error *err);

/* Poll: whether a fabric is still as in its snapshot, with a fraction of the
 * MADs of a full read.
 *
 * Every cable is followed once, and its far end must be the same: a switch by
 * GUID and port, an adapter by LID, rate and state. Ports without a cable must
 * still have none, and no switch may report a change that the subnet manager
 * has not seen. A switch that spreads messages must do so on the same service
 * levels; of those that reported that they do not, a few are asked. One block
 * of each table is read, selected by `turn`: 0, 1, 2, ... from poll to poll.
 * Not detected: changes in other blocks while all cables stayed, descriptions,
 * the rates of switch links, the ports of groups, SL-to-VL tables.
 *
 * Return 0 if no change is seen; 1 with a sentence in *why if there is one, or
 * a node does not answer; -1 with err if a limit of the engine is reached.
 */
int look_changed (struct mads *m, const struct fabric *f, uint64_t turn,
                  struct error *why, struct error *err);

#endif /* IBQUERY_DISCOVER_H */
