/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic: simulated bursts of a plan's flows, among others' flows.
 *
 * All that send at the same time get max-min fair rates. Others' flows cross one arc
 * each and want a part of it; each either sends during a whole burst or pauses.
 * Not simulated: congestion that spreads, how long a burst takes to be steady, and
 * unfair shares.
 */
#ifndef CORE_TEST_TRAFFIC_H
#define CORE_TEST_TRAFFIC_H

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/bursts.h"
#include "util/error.h"
#include "util/rng.h"

struct traffic_host { /* payload that it can send, receive, and both at once
                         through its own adapter; HUGE_VAL: no limit */
    double send, receive, loopback;
};

struct traffic_flow {
    uint32_t arc;
    double bits;  /* that it wants */
    double pause; /* share of bursts during which it pauses */
};

struct traffic_sim {
    const double *arc_bits;          /* [2 * nlinks] payload */
    const struct traffic_host *host; /* [ports of the set] */
    const struct traffic_flow *other;
    size_t nothers;
    double noise;        /* of each burst: standard deviation, as a share */
    unsigned int bursts; /* of each flow */
    bool crowds;         /* the flows are in crowds */
};

/* Append what the flows of a plan's rounds measure, as rounds from `round` on; and a
 * loopback of each port of the set, in rounds of its own. 0, or -1 with err.
 */
int traffic_measure (const struct traffic_sim *t, const struct pathset *ps,
                     const struct plan *plan, uint32_t round, struct bursts *b,
                     struct rng *rng, struct error *err);
void traffic_loopbacks (const struct traffic_sim *t, const struct pathset *ps,
                        uint32_t round, struct bursts *b, struct rng *rng);

/* Both directions of a flow alone in a round, as traffic_measure would; for tests that
 * choose their pairs one by one.
 */
int traffic_round (const struct traffic_sim *t, const struct pathset *ps,
                   const struct probe *pair, size_t n, uint32_t round,
                   struct bursts *b, struct rng *rng, struct error *err);

#endif /* CORE_TEST_TRAFFIC_H */
