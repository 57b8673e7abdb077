/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours: where messages go if one entry of one forwarding table is wrong.
 *
 * A switch that sends what is for an endpoint by another port than it should
 * sends it to a neighbour, which forwards it as it should. So it arrives by a
 * way that is known, unless that leads through the switch again: then it
 * never does.
 */
#ifndef CORE_DETOUR_H
#define CORE_DETOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/judge/model.h"
#include "core/paths/paths.h"

struct detours {
    const struct network *net;
    size_t *first; /* [nswitches + 1] of a switch's arcs: */
    uint32_t *arc; /* to other switches, rising */
};

/* Find the ways out of each switch. */
void detours_make (struct detours *d, const struct network *net);
void detours_clear (struct detours *d);

/* Arcs from the switch that `out` leads away from to an endpoint (the
 * network's number), in order, `out` the first of at most PATH_MAX_HOPS.
 * Return their number, 0 where `out` is the right way or none arrives.
 */
int detour_walk (const struct detours *d, uint32_t out, uint32_t to,
                 uint32_t *arc);

/* Whether there is any from switch sw. */
bool detour_exists (const struct detours *d, uint32_t sw, uint32_t to);

/* How an excess of messages from switch sw to the endpoint goes with what the
 * links' expected latencies and what arcs have more (more_ns [2 * nlinks], by
 * other causes) say of the detours, each of which is as likely.
 */
struct detour_fit {
    double sd;      /* that the closest misses it by; INFINITY: none is there */
    double density; /* of the excess, per ns */
    bool by_others; /* the closest takes what it does for those other causes */
};
struct detour_fit detour_fit (const struct detours *d,
                              const struct model *model,
                              const double *more_ns, uint32_t sw, uint32_t to,
                              double excess_ns, double stderr_ns);

#endif /* CORE_DETOUR_H */
