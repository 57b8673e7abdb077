/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spread traffic: the service levels on which messages follow the forwarding
 * tables, so that they cross the links that the fabric's paths give.
 *
 * A switch sends the messages of a level to one port of several if it routes
 * them adaptively, which it may do for one transport and not for the other, or
 * by a hash. A port drops the messages of a level that its SL-to-VL tables give
 * no data VL. Switches and ports report both (struct fabric_spread,
 * fabric_port.dropped); one that has not reported counts as one that does
 * neither.
 */
#ifndef IBQUERY_SPREAD_H
#define IBQUERY_SPREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/verdict.h"
#include "core/paths/paths.h"
#include "ibquery/fabric.h"

enum {
    SPREAD_INFO = 64,    /* bytes of the attribute */
    SPREAD_LEVELS = 16,  /* service levels */
};

/* Decode a switch's vendor attribute AdaptiveRoutingInfo (SMP 0xFF20, modifier
 * 0), without groups.
 */
struct fabric_spread spread_decode (const uint8_t info[SPREAD_INFO]);

/* How many groups of ports it can have, and in *masks, by how many masks each
 * of them is described (SMP 0xFF21).
 */
unsigned int spread_max_groups (const uint8_t info[SPREAD_INFO],
                                unsigned int *masks);

/* Whether the switch spreads messages of some level. */
static inline bool spread_is_on (const struct fabric_spread *s)
{
    return (s->ud | s->rc | s->hashed) != 0;
}

/* Whether two switches that have both reported do different things; whether
 * their tables of groups, if both are known, have other ports for a LID each.
 */
bool spread_differs (const struct fabric_spread *a,
                     const struct fabric_spread *b);
bool spread_moved (const struct fabric_node *a, unsigned int lid_a,
                   const struct fabric_node *b, unsigned int lid_b);

/* The group to which a switch sends a LID; NULL: only to a port, or not known.
 */
static inline const struct spread_group *
spread_group_of (const struct fabric_node *n, unsigned int lid)
{
    const struct spread_entry *e = n->spread.entry;

    return e && lid <= n->lft_top && e[lid].state != SPREAD_STATIC
               ? &n->spread.group[e[lid].group]
               : NULL;
}

/* Service levels as text: "0-3,5"; "none". */
enum { SPREAD_TEXT = 40 };
const char *spread_levels (uint16_t levels, char text[SPREAD_TEXT]);
#define SPREAD_ON(levels) spread_levels ((levels), (char[SPREAD_TEXT]){ 0 })

/* What happens to the messages of one service level on some links. */
struct spread_level {
    size_t adaptive; /* switches that route them adaptively, */
    size_t hashed;   /* that do not, but hash */
    uint32_t drops;  /* the first port that drops them; FABRIC_NONE: none */
};

/* Whether they follow the tables, unless there are private LFTs. */
static inline bool spread_keeps (const struct spread_level *l)
{
    return l->adaptive + l->hashed == 0 && l->drops == FABRIC_NONE;
}

/* A service level to probe on. */
struct spread_choice {
    unsigned int wanted, level;
    struct spread_level on[SPREAD_LEVELS];
    size_t spread;       /* switches that may send messages of the chosen level
                            to several ports: also those with private LFTs */
    size_t private_lfts; /* switches that have some, on any level */
    uint32_t down;       /* the first port of a switch with fast recovery whose
                            cable is not active; FABRIC_NONE: none */
};

/* Choose the service level for messages on the paths of a set, or with ps NULL
 * on all links of the fabric: the first that no switch there spreads and no
 * port drops, the wanted one before the others, which are tried from 0 on. If
 * there is none, the first that no port drops; else the wanted one. rc: for
 * reliable connections instead of datagrams. Return 0, or -1 with err if a path
 * is broken.
 */
int spread_choose (const struct fabric *f, struct pathset *ps, bool rc,
                   unsigned int wanted, struct spread_choice *choice,
                   struct error *err);

/* Say which level was chosen and why: "service level 2: on 0, 12 switches route
 * adaptively and 12 hash". NULL if the wanted level is neither spread nor
 * dropped. The caller frees it.
 */
char *spread_text (const struct fabric *f, const struct spread_choice *c);

/* Add limits to the verdict on messages of the chosen level: this text, and why
 * they may not follow the tables on any level.
 */
void spread_limit (const struct spread_choice *c, const struct fabric *f,
                   struct verdict *v);

#endif /* IBQUERY_SPREAD_H */
