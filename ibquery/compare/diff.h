/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed from one fabric to another: hosts, switches, cables and routes,
 * counted as an administrator would after maintenance.
 *
 * Made by diff_fabrics; read by `pmm fabric diff`.
 *
 * A node is the same if its GUID is the same. A node with another GUID is a
 * replacement if it is at the same ports of the same neighbours (at least half
 * of them) and is a switch or has the same description; its cables count as the
 * same. A host is gone if neither its name nor one of its adapters is found. A
 * value that only one of the two fabrics has (a rate, a state) is not a
 * difference.
 */
#ifndef IBQUERY_DIFF_H
#define IBQUERY_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/compare/cables.h"
#include "ibquery/fabric.h"

struct diff_table {
    uint32_t node;    /* a switch of b that is also in a */
    uint32_t entries; /* LIDs in both that it now forwards to another port, or
                         to another group of ports */
};

/* A route leads from an endpoint in both fabrics to a LID of another endpoint.
 * It has changed if it crosses other ports or other cables, or exists in only
 * one fabric.
 */
struct diff_routes {
    uint64_t total, changed;
    uint64_t lost, found; /* of the changed: only in a, only in b */
    struct diff_table *table; /* changed ones, most entries first */
    size_t ntables;
};

/* In a list, a pair is what something is in a and in b; FABRIC_NONE where it is
 * in one of the two only.
 */
struct diff {
    struct pool *pool;            /* of all lists */
    const struct fabric *a, *b;   /* the caller's */
    uint32_t *node_b;             /* by node of a: its node in b */
    uint32_t *node_a;             /* by node of b */
    struct pairs hosts_gone, hosts_added;
    struct pairs nodes_gone, nodes_added; /* but for those of these hosts */
    struct pairs nodes_replaced;  /* another GUID */
    struct pairs nodes_changed;   /* they report other values: description,
                                     ports, how messages are spread */
    struct cables cables;         /* links; of a move, `stays` and `to` are
                                     ports of b, `from` of a */
    struct pairs retrained;       /* the same cable, another rate or another
                                     state of a port */
    struct pairs replaced;        /* another cable at the same ports, see
                                     diff_replaced */
    size_t addresses; /* switches and ports with another LID, LMC or GUID */
    struct diff_routes routes;
};

/* Both fabrics must be finished, and must outlive the result. */
struct diff *diff_fabrics (const struct fabric *a, const struct fabric *b);
void diff_destroy (struct diff *d);

/* Add to `list` those of the cables between the same ports, `same`, that were
 * replaced by one of another length: at each end that knows it in both fabrics,
 * LinkRoundTripLatency (LRTL) has changed in the same direction and by more
 * than it differs from reading to reading. How much that is follows from the
 * other cables: of ends of one class, three quarters of the changes are within
 * 1.15 standard deviations of their median, and half a unit is lost by
 * rounding. What exceeds six standard deviations is a change; by chance, less
 * than one class in 1000 has such an end. A class with fewer than 16 ends shows
 * none.
 */
void diff_replaced (struct pool *pool, const struct fabric *a,
                    const struct fabric *b, const struct pairs *same,
                    struct pairs *list);

/* True if nothing has changed. Then the hashes of the fabrics are equal, too.
 */
bool diff_is_empty (const struct diff *d);

#endif /* IBQUERY_DIFF_H */
