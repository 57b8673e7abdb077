/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows: a plan whose rounds fill links, to measure how much they carry. Its
 * method is "throughput".
 *
 * The pairs of a round exchange at the same time, in both directions. No pair
 * is in two rounds. In a round each flow is limited in at most one place, which
 * is known:
 *
 * - a port, and a card (struct network) or slot, is in at most one flow;
 * - a flow crosses no arc twice, and at most one full link (a link is full if
 *   the lowest rates of its flows together exceed its own in some direction);
 * - the flows of a full link cross it in both directions, all of them, or in
 *   one.
 *
 * Links that were not yet loaded as often as asked for get flows, up to their
 * nominal rates, or up to what their endpoints can put on them (across.h). The
 * first load uses the nearest pairs that have the same links in both
 * directions, first for host ends, then for the links above: such flows cross
 * few other links, so a slow link further up does not limit them. Further loads
 * use other endpoints if there are any.
 */
#ifndef CORE_FLOWS_H
#define CORE_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

struct flows_options {
    unsigned int times; /* how often each link is loaded, at least 1 */
    uint64_t seed;
    /* What makers of other plans set, else 0. */
    const uint8_t *often;      /* [columns] instead of times; 0: not at all */
    const struct plan *begin;  /* flows of first rounds, that are filled up */
    const struct plan *before; /* its pairs are not used again */
    bool apart;                /* a flow crosses only one of the links that are
                                  to be loaded, if there is such a pair */
    const uint32_t *slot;      /* [endpoints] those with the same number are in
                                  one flow of a round; NULL: those of a card */
    size_t rounds_max;         /* at most */
};

/* Make the plan. Its targets are the links that paths of the set cross: one that
 * is full in a round, in some direction, is filled; others cannot be filled by
 * endpoints or paths. Cost: trees of all endpoints, and a few dozen pairs per
 * link. NULL with err.
 */
struct plan *flows_make (struct pathset *ps, const struct flows_options *opts,
                         struct error *err);

/* The slots of endpoints, numbered from 0; the caller frees them. */
uint32_t *flows_slots (const struct pathset *ps, const uint32_t *slot);

/* Check a plan independently of its maker: its rounds have the properties
 * above, no pair occurs twice but in rounds at its end that repeat flows
 * (plan_confirm_rounds), and some round fills each of its targets. Return 0, or
 * -1 with err. flows_check_slots: by other slots than cards.
 */
int flows_check (struct pathset *ps, const struct plan *plan,
                 struct error *err);
int flows_check_slots (struct pathset *ps, const struct plan *plan,
                       const uint32_t *slot, struct error *err);

#endif /* CORE_FLOWS_H */
