/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts: what the links of a job carry (core/samples/bursts), behind the round
 * trips of a check.
 *
 * Up to three stages (probe/stage): the flows of core/rate/loads, a second look at
 * what carried too little, and crowds over cables between switches that still do
 * (core/rate/crowd). All members run several passes over the rounds, so
 * that the bursts of a flow are spread over the run. A step is one round of one
 * pass:
 *
 *     barrier | all flows of the round, both directions at once
 *
 * A burst takes BURST_NS if the links carry what they should; after 20 times as long
 * it is lost. The first pass is shorter and does not count: the first bytes of a
 * pair may be slow. Rounds of their own have the loopbacks, one rail of each host at
 * a time. In the second look, flows also have bursts without relaxed ordering.
 *
 * Others need the cables between switches: a check keeps each busy for at most
 * BURST_CABLE_NS, of which it leaves some for the next look. A flow that would take
 * more is left out, and so are its bursts beyond that.
 */
#ifndef PROBE_BURST_H
#define PROBE_BURST_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "probe/probe.h"
#include "probe/stage.h"
#include "util/error.h"

#define BURST_NS INT64_C (2000000)
#define BURST_CABLE_NS INT64_C (10000000)
#define BURST_TOTAL_NS INT64_C (1000000000) /* of more, hosts' links alone */

enum { BURST_WHY = 200 };

struct burst_options {
    struct pathset *ps;
    const struct probe_end *end; /* [endpoint of ps] */
    bool hosts;                  /* hosts' links alone; cables between switches are
                                    not used at all */
    bool spread;                 /* switches spread messages: hosts' links alone */
    unsigned int level;          /* service level */
    uint64_t seed;
};

/* What could not be measured, and why. */
struct burst_trouble {
    char why[BURST_WHY + 1]; /* "": nothing went wrong */
    size_t member; /* of the group, whose trouble it is; SIZE_MAX: nobody's */
    size_t others; /* ... and how many more have some */
};

/* The leader: measure, and add result->samples->bursts. What goes wrong here says
 * *trouble; members stay marked as they answered before. Call it after probe_lead.
 */
void burst_lead (struct group *g, const struct burst_options *opts,
                 struct probe_result *result, struct burst_trouble *trouble);

/* A member's work: see stage.c; in burst_work.c. */
int burst_part (struct group *g, const struct group_blob *told,
                struct group_blob *found, struct error *err);

#endif /* PROBE_BURST_H */
