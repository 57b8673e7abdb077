/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fluid: flows that share what limits them, max-min fairly, in virtual time.
 *
 * A flow uses resources: links in one direction, buses, switches. Its rate
 * changes when a flow begins or ends that shares a resource with it, or with one
 * whose rate then changes; only these are computed again.
 */
#ifndef EMU_FLUID_H
#define EMU_FLUID_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"

enum { FLUID_USES_MAX = 2 * PATH_MAX_HOPS + 8 };

struct fluid_flow;

struct fluid_use {
    struct fluid_flow *flow;
    struct fluid_use *next, *prev; /* of the resource */
};

struct fluid_flow {
    /* set by its owner before it begins */
    double cap; /* bytes per ns; HUGE_VAL: none */
    size_t uses;
    uint32_t resource[FLUID_USES_MAX]; /* none twice */
    void *owner;
    /* only read */
    double rate;   /* bytes per ns */
    int64_t since; /* when it had moved all that was told */
    /* private */
    uint32_t seen;
    struct fluid_use use[FLUID_USES_MAX];
};

/* What a resource carries, bytes per ns. */
typedef double (*fluid_rate_f) (const void *of, uint32_t resource);

/* A flow has moved so many bytes since the last call; its rate is new, 0 if it
 * has ended.
 */
typedef void (*fluid_change_f) (void *to, struct fluid_flow *flow, int64_t now,
                                double bytes);

struct fluid;
struct fluid *fluid_create (size_t nresources, fluid_rate_f rate,
                            const void *of, fluid_change_f change, void *to);
void fluid_destroy (struct fluid *f);

/* Flows, which are borrowed, from `now` on; times never decrease. */
void fluid_begin (struct fluid *f, struct fluid_flow *flow, int64_t now);
void fluid_end (struct fluid *f, struct fluid_flow *flow, int64_t now);

/* Many flows at once: they begin, with their cap as their rate, or end, and no
 * other rate changes before fluid_share.
 */
void fluid_join (struct fluid *f, struct fluid_flow *flow, int64_t now);
void fluid_leave (struct fluid *f, struct fluid_flow *flow, int64_t now);
void fluid_share (struct fluid *f, int64_t now);

/* How many flows use a resource; what they have moved over it until now that was
 * not yet told.
 */
size_t fluid_flows (const struct fluid *f, uint32_t resource);
double fluid_untold (const struct fluid *f, uint32_t resource, int64_t now);

#endif /* EMU_FLUID_H */
