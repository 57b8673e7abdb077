/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How switches spread messages, beyond what AdaptiveRoutingInfo says: to which
 * group of ports each LID is sent, the ports of the groups, whether there are
 * private LFTs, and which service levels the ports' SL-to-VL tables drop.
 *
 * Asked only where some switch spreads messages; a static fabric costs no MAD.
 * Then, of each switch whose table was asked for: every block of its table of
 * groups and of the groups that this refers to, if it spreads messages itself
 * (of a part of the fabric, what groups_of is asked for); PrivateLFTInfo, and
 * PortSLToPrivateLFTMap where private LFTs are on; and for each port with a
 * cable, the SL-to-VL tables of messages from one port that leads to a host and
 * from one that leads to a switch, because subnet managers make those two
 * different, and the table of the adapter at the far end. A level is dropped
 * that one of them maps to VL 15, or to a VL beyond the port's OperationalVLs.
 *
 * What is refused or does not arrive is no error.
 */
#ifndef IBQUERY_GROUPS_H
#define IBQUERY_GROUPS_H

#include "ibquery/read/explore.h"

/* Ask for all of that. Return 0, or -1 with err from the engine. */
int groups_read (struct explore *e, struct error *err);

/* On demand: the group to which a switch whose table is here sends a LID. NULL:
 * to the port in its table alone, or not known; *asked is set if it is to be
 * called again after explore_run.
 */
const struct spread_group *groups_of (struct explore *e, uint32_t node,
                                      unsigned int lid, bool *asked);

/* Put a switch's groups into a fabric, after its LFT. Return 0, or -1 with err:
 * why they are not known.
 */
int groups_put (struct fabric *f, uint32_t node, const struct explored_node *n,
                struct error *err);

/* Decode an entry of the table of groups: GROUPS_ENTRY bytes. */
enum { GROUPS_ENTRY = 4, GROUPS_BLOCK = 16 /* entries */ };
struct spread_entry groups_entry (const uint8_t data[GROUPS_ENTRY]);

void groups_destroy (struct explored_groups *g);

#endif /* IBQUERY_GROUPS_H */
