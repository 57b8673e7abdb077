/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hosts that have fewer rails than their peers: an adapter that is gone, or
 * whose port is down.
 *
 * The peers of a host are those at its leaves whose names differ from its own in
 * numbers only (login1 is not a peer of node1). A host has fewer rails if three
 * quarters of its peers, of which there must be RAILS_PEERS, have more, and if
 * few hosts of such names have the same rails as it has: one in 8, and one. If
 * it lacks half of the rails, so few that it is no group of another purpose: one
 * in 64, and one. Whoever lacks more is another kind of host.
 */
#ifndef IBQUERY_FEWER_H
#define IBQUERY_FEWER_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"

struct rails_fewer {
    uint32_t host;
    size_t has, usual;  /* rails; usual are those of most peers */
    size_t more, of;    /* so many of its peers have more */
    uint32_t example;   /* a peer's endpoint, whose rail it lacks; FABRIC_NONE:
                           it has other names for its rails */
    size_t alike;       /* how many peers have that rail */
    uint32_t leaf;      /* node at which most peers have it */
};

/* Find them, in the order of the hosts and of the names of rails: an item for
 * each rail that a host lacks. Return their number; *list is in the pool.
 */
size_t fewer_find (const struct fabric *f, struct pool *pool,
                   struct rails_fewer **list);

/* A sentence that says which; the caller frees it. */
char *fewer_text (const struct fabric *f, const struct rails_fewer *x);

/* "mlx5_3/1", the rail of an endpoint; "" if its adapter's description says
 * nothing after the host's name. Returns buf.
 */
enum { FEWER_RAIL = FABRIC_NAME_MAX + 8 };
char *fewer_rail (const struct fabric *f, uint32_t endpoint,
                  char buf[FEWER_RAIL]);

#endif /* IBQUERY_FEWER_H */
