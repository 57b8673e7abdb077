/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rails: adapters that are cabled to another leaf than their peers'.
 *
 * A rail is known by what the NodeDescription says after the host's name, and
 * the port ("mlx5_3/1"). Its peers are the hosts that have one of the same name,
 * and are, by whatever rail, at the leaves of at least two thirds of the host's
 * other rails. If rails have leaves by a rule, most peers share the leaf of this
 * one, too; a rail is odd if they do not. Fewer than RAILS_PEERS peers tell
 * nothing.
 *
 * Rails that are odd at more than a third of their hosts follow no rule, and
 * are left out. Of the others at most one in 16 may be odd, of 100 one in 8, and
 * at least half must have enough peers: else there is no rule, and nothing is
 * odd.
 *
 * If all rails of a host are odd, as one of two is where the other one is, those
 * are not that are at the same leaf as the same rail of two of the four hosts
 * whose names come next to its own.
 */
#ifndef IBQUERY_RAILS_H
#define IBQUERY_RAILS_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"

enum { RAILS_PEERS = 3 };

struct rail_odd {
    uint32_t endpoint;
    uint32_t leaf;     /* switch of this rail of most peers, */
    size_t agree, of;  /* of so many of them */
};

/* Find them, in the order of the endpoints. Return their number; *odd is
 * in the pool.
 */
size_t rails_find_odd (const struct fabric *f, struct pool *pool,
                       struct rail_odd **odd);

/* The leaf of an endpoint, a node; FABRIC_NONE: it is at no switch. */
uint32_t rails_leaf (const struct fabric *f, uint32_t endpoint);

#endif /* IBQUERY_RAILS_H */
