/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adaptive routing: the service levels on which messages follow the forwarding
 * tables, so that messages cross the links that the fabric's paths give.
 *
 * Switches report what they do (struct fabric_spread); one that has not
 * reported counts as one that does not route adaptively.
 */
#ifndef IBQUERY_SPREAD_H
#define IBQUERY_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "ibquery/fabric.h"

enum {
    SPREAD_INFO = 64,    /* bytes of the attribute */
    SPREAD_LEVELS = 16,  /* service levels */
};

/* Decode a switch's vendor attribute AdaptiveRoutingInfo (SMP 0xFF20, modifier
 * 0).
 */
struct fabric_spread spread_decode (const uint8_t info[SPREAD_INFO]);

/* A service level to probe on. */
struct spread_choice {
    unsigned int level;
    size_t adaptive; /* switches on the set's paths that route adaptively on it;
                        if not 0, every other level has some, too */
    size_t wanted;   /* the same for the wanted level */
};

/* Choose the service level for the paths of a set of the fabric: the wanted
 * level if its messages follow the tables, else the lowest level that does,
 * else the wanted one. rc: for reliable connections instead of datagrams. Only
 * the wanted level is known to be usable: the SL-to-VL tables are not read.
 * Return 0, or -1 with err if a path is broken.
 */
int spread_choose (const struct fabric *f, struct pathset *ps, bool rc,
                     unsigned int wanted, struct spread_choice *choice,
                     struct error *err);

#endif /* IBQUERY_SPREAD_H */
