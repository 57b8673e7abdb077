/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe: a plan in, samples out.
 *
 * Every member of the group calls at the same time: the leader probe_lead,
 * then perhaps probe_again, and probe_end; the others probe_follow. The leader
 * tells each its part; then all run `repeats` passes over the plan's rounds,
 * so that the repeats of a probe are spread over the whole run. A step, one
 * round of one pass:
 *
 *     barrier | guard | one side of each probe pings | the other side | rest
 *
 * Guard and rest last one transport gap each, so that no barrier's messages are
 * under way while someone pings. A side lasts one, too, or where members share
 * cores, one for each turn that they take; a member's rails share it. Which
 * side is first alternates. A member that waits asleep sends a ping that does
 * not count before its own. A ping without an echo in time is lost. A step has
 * a deadline, which is long enough to find many dead members.
 *
 * Before the first step, amid them and after the last, in steps of their own,
 * all members measure their loopbacks: as many pings of each rail to itself. A
 * rail that cannot has none, and nothing is wrong.
 *
 * Before and after that the members sleep for as long as the leader plans and
 * judges, and learn whether there is a plan, a plan of a second stage, or
 * whether they may leave.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "probe/group.h"
#include "util/error.h"
#include "util/progress.h"

enum {
    PROBE_REPEATS_MAX = 1000,
    PROBE_ROUNDS_MAX = 1 << 24,
    PROBE_LEVEL_MAX = 15,
};

enum { PROBE_STAGES = 2 };

/* What is known of a member in the end. */
struct probe_member {
    bool answered;
    char *trouble;    /* what went wrong with its rails, one sentence; NULL:
                         nothing */
    char *remark;     /* group_remark of it */
    struct node node; /* what its host is, without its name, if it answered */
    /* what it was told in each stage: to be fetched as long as the group lives
     */
    struct group_blob told[PROBE_STAGES];
};

struct probe_result {
    struct samples *samples; /* hosts, nonce, job left to the caller */
    struct probe_member *member; /* [nmembers] */
    size_t nmembers;
    struct group_stats stats; /* of all members that answered */
};

/* What an endpoint of the plan is to the group: a peer, by one of its LIDs. */
struct probe_end {
    uint32_t peer;
    uint8_t lid; /* counted from its first */
};

/* What to measure, and how. */
struct probe_stage {
    const struct plan *plan;
    size_t first;                /* the stage is the rounds from this one on */
    const struct probe_end *end; /* [endpoint of the plan] */
    unsigned int repeats;        /* passes over the rounds */
    unsigned int level;          /* service level of the pings */
    struct progress *progress;   /* shown in steps; may be NULL */
};

/* Measure. All probes of the plan are in the samples, from both sides; those of
 * a member that died are lost. Return 0, or -1 with err; probe_end and
 * probe_result_clear are due in both cases.
 */
int probe_lead (struct group *g, const struct probe_stage *stage,
                struct probe_result *result, struct error *err);

/* Measure a second stage, and append its samples. Return 0, or -1 with err and
 * the samples as they were.
 */
int probe_again (struct group *g, const struct probe_stage *stage,
                 struct probe_result *result, struct error *err);

/* Tell every living member that it may leave. Return 0, or -1 with err. */
int probe_end (struct group *g, const struct probe_result *result,
               struct error *err);
void probe_result_clear (struct probe_result *result);

/* Tell every member that nothing will be measured: where probe_lead was not
 * called.
 */
int probe_cancel (struct group *g, struct error *err);

/* Do what the leader says, whose node has this name. Return 0 (measured, or
 * cancelled), or -1 with err.
 */
int probe_follow (struct group *g, size_t leader, const char *name,
                  struct error *err);

#endif /* PROBE_PROBE_H */
