/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads: the second part of a check's plan: rounds of flows that fill the cables
 * of a job, to measure what they carry.
 *
 * Its method is "throughput", as that of core/rate/flows, and its rounds have the
 * properties given there. Each host link is in two flows, with other partners at
 * its leaf: the fewest that tell a host from its partner. The pairs of a leaf are
 * a ring, of hosts of one rate: two rounds, and a third one if their number is
 * odd. What these rounds have room for, and the next ones, fill links between
 * switches once in each direction, and host links that lack partners at their
 * leaf. Links that the job's hosts cannot fill are targets that are not filled.
 */
#ifndef CORE_LOADS_H
#define CORE_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/bursts.h"
#include "util/error.h"

struct loads_options {
    bool hosts; /* host links alone, by pairs that cross no link between
                   switches where there are any */
    bool near;  /* ... and by no others: some hosts may have no flow */
    const uint32_t *slot; /* [endpoints] those with the same number share a PCIe
                             path, and no round has two of them; NULL: those of
                             one card, as far as the network knows */
    size_t rounds_max; /* if all takes more, host links alone, and the plan is not
                          maximal; 0: no limit */
    uint64_t seed;
};

/* Make the plan. Its cost grows with the set, not with the network: about half
 * of plan_make's, if that has been called for the set. NULL with err.
 */
struct plan *loads_make (struct pathset *ps, const struct loads_options *opts,
                         struct error *err);

/* A second look, for links that flows crossed which carried less than
 * LOADS_AGAIN_SHARE of what was expected (bursts_expected), or of the median of
 * all flows if that is less; or some of which was lost. Links that carried
 * enough in another flow, in the same direction, are none. Each of the others
 * gets up to two flows that cross no other one, with new partners; then the
 * flows of the first of these rounds come again, one or a few at a time. A flow
 * whose links get none is repeated. No rounds if nothing was slow. NULL with
 * err.
 */
#define LOADS_AGAIN_SHARE .95
struct plan *loads_again (struct pathset *ps, const struct plan *first,
                          const struct bursts *b,
                          const struct loads_options *opts, struct error *err);

#endif /* CORE_LOADS_H */
