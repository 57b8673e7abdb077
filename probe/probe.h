/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe: a plan in, samples out.
 *
 * One or two stages of a check (probe/stage). The leader sends each
 * member its part; then all run `repeats` passes over the plan's rounds, so
 * that the repeats of a probe are spread over the whole run. Pass r pings by
 * flow r modulo `flows`; each side has its own flows. A step is one round of
 * one pass:
 *
 *     barrier | guard | one side of each probe pings | the other side | rest
 *
 * Guard and rest last one transport gap each, so that no message of a barrier
 * is in flight while someone pings. A side lasts one gap, too, or, if members
 * share cores, one gap per turn; a member's rails share it. The side that goes
 * first alternates. A member that waits asleep sends a ping that does not count
 * before its own. A ping without an echo in time is lost.
 *
 * Before the first step, halfway and after the last, in steps of their own, all
 * members measure their loopbacks: `repeats` pings from each rail to itself. A
 * rail that cannot ping itself has no loopback; that is no error.
 *
 * Functions return 0, or -1 with err.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "probe/stage.h"
#include "util/error.h"
#include "util/progress.h"

enum {
    PROBE_REPEATS_MAX = 2000,
    PROBE_FLOWS_MAX = 32, /* from each side of a pair */
    PROBE_ROUNDS_MAX = 1 << 24,
    PROBE_LEVEL_MAX = 15,
};

/* Replaces the nonce in the members' lines on traffic: in a check by hand each
 * process has a nonce of its own.
 */
#define PROBE_REMARK "0"

/* What is known of a member at the end. */
struct probe_member {
    bool answered;
    char *trouble;    /* what went wrong with its rails; NULL: nothing */
    char *remark;     /* its lines on others' traffic (ibquery/ports.h) */
    struct node node; /* its host without the name, if it answered */
    uint8_t slot[TRANSPORT_RAILS_MAX]; /* of its rails (about_slots) */
};

struct probe_result {
    struct samples *samples; /* the caller sets hosts, nonce, job */
    struct probe_member *member; /* [nmembers] */
    size_t nmembers;
    struct group_stats stats; /* of all members that answered; not bytes */
    struct stage_member *stage[STAGES]; /* [nmembers] of those that were begun */
};

/* Begin a stage with the members that have answered so far. The result has its
 * members, and frees them.
 */
struct stage_member *probe_result_stage (struct probe_result *result,
                                         enum stage stage);

/* An endpoint of the plan in the group: a peer, reached by one of its LIDs. */
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
    unsigned int flows;          /* up to PROBE_FLOWS_MAX, and at most
                                    repeats; from 2 on, the samples have each
                                    flow's RTT (sample_flow). 0: one */
    bool single;                 /* they have each message's RTT, up to
                                    SAMPLE_FLOWS_MAX */
    unsigned int level;          /* service level of the pings */
    struct progress *progress;   /* counts steps; may be NULL */
};

/* Measure a stage; result is zeroed before the first. Its samples, all probes
 * of the stage from both sides, are appended; those of a member that died are
 * lost. After -1 the samples are unchanged. Call stage_end and
 * probe_result_clear in both cases.
 */
int probe_lead (struct group *g, const struct probe_stage *stage,
                struct probe_result *result, struct error *err);

void probe_result_clear (struct probe_result *result);

/* A member's work: see stage.c. */
int probe_part (struct group *g, const struct group_blob *told,
                struct group_blob *found, struct error *err);

#endif /* PROBE_PROBE_H */
