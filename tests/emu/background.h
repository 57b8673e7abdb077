/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Background: others' traffic in a session: the model's flows, some of which
 * pause, and the state of the links under those that do not at the moment
 * (tests/emu/flood).
 *
 * A flow that pauses is on and off in turn, each for 1 to 100 ms: their logarithms
 * are uniform.
 */
#ifndef EMU_BACKGROUND_H
#define EMU_BACKGROUND_H

#include "tests/emu/flood.h"
#include "tests/emu/model.h"

struct background;

/* The model's present flows and rates, from `now` on. */
struct background *background_create (const struct emu_model *m, uint64_t seed,
                                      int64_t now);
void background_destroy (struct background *b);

/* By arc; changes with the next turn. */
const struct flood_arc *background_arcs (const struct background *b);

/* The flows; those that are off have no rate. */
const struct flood_flow *background_flows (const struct background *b,
                                           size_t *n);

/* When the next flow pauses or goes on; INT64_MAX: never. background_turn lets
 * it. What would happen more than BACKGROUND_MEMORY_NS before `until` is left
 * out.
 */
#define BACKGROUND_MEMORY_NS INT64_C (1000000000)
int64_t background_next (const struct background *b);
void background_turn (struct background *b, int64_t until);

#endif /* EMU_BACKGROUND_H */
