/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Confirm: the second stage of a check. What looked slow in the first is
 * measured again, with other partners, so that the judge can tell a cause
 * from a disturbance, and its suspects from one another.
 *
 * Made for the plan of a first stage and its samples; the same plan comes
 * back with the confirm stage as its last rounds (plan_confirm_rounds).
 */
#ifndef CORE_CONFIRM_H
#define CORE_CONFIRM_H

#include <stdint.h>

#include "core/judge/judge.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "util/error.h"

enum { CONFIRM_ROUNDS_MAX = 8 };

struct confirm_options {
    unsigned int rounds; /* at most, up to CONFIRM_ROUNDS_MAX: 4 */
    uint64_t seed;       /* of the choice among equals */
    const struct judge_options *judge; /* what is suspicious; NULL: defaults */
};

/* The figures above. */
extern const struct confirm_options confirm_defaults;

/* Plan the confirm stage: a new plan with the rounds of `plan`, then those of
 * the stage, of which links in doubt have two. Where nothing is suspicious
 * there are none; where plan has a confirm stage it is kept and samples are to
 * be of all rounds. A round crosses a suspect at most once, so the probes are
 * at most rounds times suspects, and a few to control. Return NULL with err.
 */
struct plan *confirm_plan (struct pathset *ps, const struct plan *plan,
                           const struct samples *samples,
                           const struct baseline *baseline, size_t nbaselines,
                           const struct confirm_options *opts,
                           struct error *err);

/* The same of given suspects, in the order of their causes, onto the plan.
 * Endpoints from which nothing came back in the samples (NULL: no matter) are
 * left out, and no probe crosses what opts->judge says is busy. Return 0, or -1
 * with err; the plan is then of no use.
 */
int confirm_suspects (struct plan *plan, struct pathset *ps,
                      const struct suspicions *s,
                      const struct samples *samples,
                      const struct confirm_options *opts, struct error *err);

#endif /* CORE_CONFIRM_H */
