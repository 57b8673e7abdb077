/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours: where messages go if one entry of one forwarding table is wrong.
 *
 * If a switch sends messages for an endpoint by the wrong port, they reach a
 * neighbour, which forwards them as it should. So they arrive by a known path,
 * unless this path leads through the switch again: then they loop and never
 * arrive.
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
    uint32_t *arc; /* to other switches, ascending */
};

/* Find the arcs from each switch to others. */
void detours_make (struct detours *d, const struct network *net);
void detours_clear (struct detours *d);

/* Arcs, in order, from the switch that arc `out` leaves to an endpoint (the
 * network's number); `out` is the first of at most PATH_MAX_HOPS. Return their
 * number, 0 if `out` is the right port or messages do not arrive.
 */
int detour_walk (const struct detours *d, uint32_t out, uint32_t to,
                 uint32_t *arc);

/* Whether there is a detour from switch sw. */
bool detour_exists (const struct detours *d, uint32_t sw, uint32_t to);

/* How well detours explain an excess of messages from switch sw to the
 * endpoint. A detour's excess follows from the links' expected latencies and
 * from what other causes add to arcs (more_ns [2 * nlinks]). All detours are
 * equally likely.
 */
struct detour_fit {
    double sd;      /* distance of the closest, in standard deviations;
                       INFINITY: there is no detour */
    double density; /* of the excess, per ns */
    bool by_others; /* the closest crosses arcs of those other causes */
};
struct detour_fit detour_fit (const struct detours *d,
                              const struct model *model,
                              const double *more_ns, uint32_t sw, uint32_t to,
                              double excess_ns, double stderr_ns);

#endif /* CORE_DETOUR_H */
