/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packing: a round of flows that is being filled.
 *
 * A flow is an exchange of a pair both ways at once. Alone it takes its *cap*:
 * the lowest rate of all links there and back. A link is *full* if the caps of
 * its flows are more than its rate in some direction. What makes a round good
 * to measure with is that each flow is held up in one place at most, which is
 * known:
 *
 * - a port is in one flow at most;
 * - a flow crosses no arc twice, and one full link at most;
 * - the flows of a full link cross it both ways, all of them, or one way.
 *
 * Then all flows but those of full links have their caps, and a full link
 * carries its rate: by max-min fairness, with no look at other links.
 */
#ifndef COMPARE_PACKING_H
#define COMPARE_PACKING_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

#define PACKING_SLACK 1e-9 /* of a rate: what rounding makes of it */

struct packing;

/* An empty round; rate[nlinks] is borrowed. NULL with err. */
struct packing *packing_create (const struct pathset *ps, const double *rate,
                                struct error *err);
void packing_destroy (struct packing *p);

/* Empty it. */
void packing_clear (struct packing *p);

/* Add the flow of a pair; link `target`, and no other, may become full with
 * it. Returns 1, 0 where the round would not be good, -1 with err.
 */
int packing_add (struct packing *p, struct probe pair, uint32_t target,
                 struct error *err);

/* Take back all flows but the first n, none of which may have filled a link.
 */
void packing_undo (struct packing *p, size_t n);

size_t packing_flows (const struct packing *p);
struct probe packing_pair (const struct packing *p, size_t i);
bool packing_is_busy (const struct packing *p, uint32_t endpoint);
bool packing_is_full (const struct packing *p, uint32_t link);

/* The caps on an arc, summed. */
double packing_load (const struct packing *p, uint32_t arc);

/* carried[2 * nlinks]: what each arc has of the flows' fair rates; flow[2 *
 * nlinks]: the last flow that crosses it, SIZE_MAX where none does. Return 0,
 * or -1 with err.
 */
int packing_expect (const struct packing *p, double *carried, size_t *flow,
                    struct error *err);

#endif /* COMPARE_PACKING_H */
