/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Confirm: the second stage of a check. Whatever looked slow in the first stage
 * is measured again, with other partners. Then the judge can separate a real
 * cause from a disturbance, and resolve its suspects.
 *
 * Made from the plan of a first stage and its samples. The result is the same
 * plan with the confirm stage as its last rounds (plan_confirm_rounds).
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
    uint64_t seed;       /* for random choices among equals */
    const struct judge_options *judge; /* what is suspicious; NULL: defaults */
    bool *delays;        /* set if some link may delay messages: then the stage
                            takes SAMPLE_REPEATS_AGAIN to tell; NULL */
};

/* The values given above. */
extern const struct confirm_options confirm_defaults;

/* Plan the confirm stage. Return a new plan: the rounds of `plan`, then those
 * of the stage, of which links in doubt get two. None are added if nothing is
 * suspicious. If plan already has a confirm stage, it is kept, and samples must
 * be of all rounds. A round crosses a suspect at most once, so there are at
 * most rounds times suspects probes, and a few controls. Where messages are
 * spread, pairs whose flows may cross a slow cable get up to 16 rounds.
 * Return NULL with err.
 */
struct plan *confirm_plan (struct pathset *ps, const struct plan *plan,
                           const struct samples *samples,
                           const struct baseline *baseline,
                           const struct confirm_options *opts,
                           struct error *err);

/* Likewise for given suspects, in the order of their causes; rounds are
 * appended to the plan. Endpoints that did not answer in the samples (may be
 * NULL) are left out, and no probe crosses a link that is busy or may be filled
 * according to opts->judge. Return 0, or -1 with err; the plan is then
 * unusable.
 */
int confirm_suspects (struct plan *plan, struct pathset *ps,
                      const struct suspicions *s,
                      const struct samples *samples,
                      const struct confirm_options *opts, struct error *err);

#endif /* CORE_CONFIRM_H */
