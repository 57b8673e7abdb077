/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads: the second part of a check's plan: rounds of flows that fill the cables
 * of a job, to measure what they carry.
 *
 * Its method is "throughput", as that of core/rate/flows, and its rounds have the
 * properties given there. Each host link is in two flows, with other partners, as
 * near as possible: the fewest that tell a host from its partner. Then switch
 * links are filled, as far as the job has the hosts for it.
 */
#ifndef CORE_LOADS_H
#define CORE_LOADS_H

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/bursts.h"
#include "util/error.h"

struct loads_options {
    bool hosts;        /* host links alone, by pairs that cross no link between
                          switches where there are any */
    size_t rounds_max; /* if all of it takes more, host links alone; 0: no limit */
    uint64_t seed;
};

/* Make the plan. NULL with err. */
struct plan *loads_make (struct pathset *ps, const struct loads_options *opts,
                         struct error *err);

/* A second look, for what carried less than LOADS_AGAIN_SHARE of what was expected, or
 * was lost: other partners, then alone. No rounds if nothing did. NULL with err.
 */
#define LOADS_AGAIN_SHARE .95
struct plan *loads_again (struct pathset *ps, const struct plan *first,
                          const struct bursts *b,
                          const struct loads_options *opts, struct error *err);

#endif /* CORE_LOADS_H */
