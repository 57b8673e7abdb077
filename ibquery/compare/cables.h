/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare two lists of cables between the same ports: before and now, or actual
 * and wanted. A cable has moved if one of its plugs is now in another port. Two
 * cables that exchanged a plug are a swap.
 *
 * Made by cables_compare; read by diff and cabling, which define the ports.
 */
#ifndef IBQUERY_CABLES_H
#define IBQUERY_CABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/pool.h"

#define CABLES_NONE UINT32_MAX

/* Two ports of a cable, or what something is before and after; CABLES_NONE
 * where it is in one of the two only.
 */
struct pair {
    uint32_t a, b;
};

struct pairs {
    struct pair *v;
    size_t n;
};

void pairs_add (struct pool *pool, struct pairs *list, uint32_t a, uint32_t b);

struct cable_move {
    struct pair cable;
    uint32_t stays;    /* the port that is in both lists */
    uint32_t from, to; /* of the other plug */
    uint32_t swap;     /* into move: from `to` to `from`; or CABLES_NONE */
};

/* Each cable is in one of the lists, once, by its index before and after. All
 * lists are in the order of `before`, except `added`.
 */
struct cables {
    struct pairs same, lost, added;
    struct cable_move *move;
    size_t nmoves;
};

/* Ports are 0 .. nports - 1; in each list, a port has at most one cable.
 * is_host[port]: the port of an adapter; if one of a cable's plugs must have
 * moved, this one is assumed to stay. As many cables as possible are paired,
 * those that share an adapter's port first. The lists are in the pool.
 */
void cables_compare (struct pool *pool, struct cables *c,
                     const struct pairs *before, const struct pairs *after,
                     const bool *is_host, size_t nports);

/* An array of n times CABLES_NONE. */
uint32_t *cables_none (struct pool *pool, size_t n);

#endif /* IBQUERY_CABLES_H */
