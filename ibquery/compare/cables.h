/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two lists of cables between the same ports, compared: what was before, and
 * what is now, or what is, and what is wanted. A cable of which one plug went
 * elsewhere has moved; two that exchanged a plug have moved towards each other.
 *
 * Made by cables_compare; read by diff and cabling, which say what ports are.
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
    uint32_t stays;    /* the port that both have */
    uint32_t from, to; /* of the other plug */
    uint32_t swap;     /* into move: goes from `to` to `from`; CABLES_NONE */
};

/* All cables, each once; every list in the order of `before`, `added` in that
 * of `after`.
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

/* Ports are 0 .. nports - 1; in either list, each has one cable at most.
 * is_host[port]: an adapter's, whose plug is taken to stay where one of the two
 * must have moved. As many cables as possible are paired; the plugs of
 * adapters come first. cables_clear is due.
 */
void cables_compare (struct cables *c, const struct cable *before,
                     size_t nbefore, const struct cable *after, size_t nafter,
                     const bool *is_host, size_t nports);
void cables_clear (struct cables *c);

/* n times CABLES_NONE, which the caller frees. */
uint32_t *cables_none (size_t n);

#endif /* IBQUERY_CABLES_H */
