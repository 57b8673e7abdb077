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

#define CABLES_NONE UINT32_MAX

struct cable {
    uint32_t a, b; /* ports, in any order */
};

struct cable_pair {
    uint32_t before, after; /* into the lists */
};

struct cable_move {
    struct cable_pair cable;
    uint32_t stays;    /* the port that is in both lists */
    uint32_t from, to; /* of the other plug */
    uint32_t swap;     /* into move: from `to` to `from`; or CABLES_NONE */
};

/* Each cable is in one of the lists, once. All lists are in the order of
 * `before`, except `added`, which is in the order of `after`.
 */
struct cables {
    struct cable_pair *same;
    size_t nsame;
    struct cable_move *move;
    size_t nmoves;
    uint32_t *lost;  /* into before */
    size_t nlost;
    uint32_t *added; /* into after */
    size_t nadded;
};

/* Ports are 0 .. nports - 1; in each list, a port has at most one cable.
 * is_host[port]: the port of an adapter; if one of a cable's plugs must have
 * moved, this one is assumed to stay. As many cables as possible are paired,
 * those that share an adapter's port first. The caller calls cables_clear.
 */
void cables_compare (struct cables *c, const struct cable *before,
                     size_t nbefore, const struct cable *after, size_t nafter,
                     const bool *is_host, size_t nports);
void cables_clear (struct cables *c);

/* An array of n times CABLES_NONE; the caller frees it. */
uint32_t *cables_none (size_t n);

#endif /* IBQUERY_CABLES_H */
