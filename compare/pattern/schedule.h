/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Schedule: the steps of a pattern as the rounds of a plan, so that the
 * schedules by which other tools measure all pairs can be simulated, measured
 * and solved for comparison with ours.
 */
#ifndef COMPARE_SCHEDULE_H
#define COMPARE_SCHEDULE_H

#include "core/paths/paths.h"
#include "compare/pattern/pattern.h"
#include "core/plan/plan.h"
#include "util/error.h"

enum {
    SCHEDULE_PORTS_MAX = 4096,
    SCHEDULE_PROBES_MAX = 1 << 19, /* all pairs of 1,024 ports */
};

/* A plan whose method is the name of a kind, not a whole topology. Its
 * processes are the ports of the set, each by its first endpoint, grouped by
 * host. Roles are not swapped, as each probe is measured from both sides. Its
 * probes may share links. Its rank is that of the rows it measures; it is
 * maximal if it equals the rank of all pairs. A set of fewer than two ports
 * gives an empty plan. NULL with err.
 */
struct plan *schedule_make (struct pathset *ps, enum pattern_kind kind,
                            const struct pattern_options *opts,
                            struct error *err);

#endif /* COMPARE_SCHEDULE_H */
