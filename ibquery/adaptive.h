/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adaptive routing: on which service level messages keep to the forwarding
 * tables, so that what is measured is measured where the fabric says.
 *
 * Switches tell what they do (struct fabric_adaptive); one that has not told is
 * taken for one that does not route adaptively.
 */
#ifndef IBQUERY_ADAPTIVE_H
#define IBQUERY_ADAPTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "ibquery/fabric.h"

enum {
    ADAPTIVE_INFO = 64,    /* bytes of the attribute */
    ADAPTIVE_LEVELS = 16,  /* service levels */
};

/* What a switch says in its vendor's attribute AdaptiveRoutingInfo (SMP
 * 0xFF20, modifier 0).
 */
struct fabric_adaptive adaptive_decode (const uint8_t info[ADAPTIVE_INFO]);

/* A service level to probe on. */
struct adaptive_choice {
    unsigned int level;
    size_t adaptive; /* switches on the set's paths that route adaptively on
                        it: 0, or else there is no other level either */
    size_t wanted;   /* ... and on the level that was wanted */
};

/* Choose for the paths of a set of the fabric's: the level that is wanted, if
 * its messages keep to the tables, else the lowest whose do, else the one that
 * is wanted. rc: for reliable connections, not for datagrams. Whether a level
 * may be used is not known of any but that which is wanted: the SL-to-VL
 * tables are not read. Return 0, or -1 with err: a path is broken.
 */
int adaptive_choose (const struct fabric *f, struct pathset *ps, bool rc,
                     unsigned int wanted, struct adaptive_choice *choice,
                     struct error *err);

#endif /* IBQUERY_ADAPTIVE_H */
