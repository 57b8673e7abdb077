/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carry: what links carried, of flows that were measured by a plan for
 * throughput, and which of them are slow.
 *
 * What an arc carried in a round is the sum of its flows; what it can carry is
 * at least the most of all rounds. That of a host end is so the maximum over
 * its partners.
 *
 * A flow is slow where it has much less than a fair share by nominal rates, or,
 * where those are out of reach of all, of what is usual. It was held up by a
 * link on its way that carried then about the most it ever did, which is much
 * less than its rate. The fewest such links that explain all slow flows are the
 * findings, greedily: those that explain the most come first. Links that
 * explain the same flows are the suspects of one finding.
 */
#ifndef COMPARE_CARRY_H
#define COMPARE_CARRY_H

#include <stddef.h>
#include <stdint.h>

#include "compare/series/series.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

enum {
    CARRY_FINDINGS_MAX = 1000,
    CARRY_USUAL_MIN = 8, /* flows, to know what is usual by */
};

struct carry_options {
    double much; /* less by this share is much less: .2 */
};

/* By direction: from the link's first end to its second, and back. Bits a
 * second; carried is 0 where nothing was measured.
 */
struct carry_link {
    double carried[2]; /* in the round in which it was most */
    double offered[2]; /* then, fair shares by nominal rates */
    uint32_t rounds[2]; /* in which it was measured */
};

struct carry_finding {
    uint32_t *link; /* suspects, rising */
    size_t nlinks;
    size_t flows;   /* that they explain */
    double share;   /* of what these were to have they had, on average */
};

struct carry {
    size_t nlinks;
    struct carry_link *link;
    double *through;     /* [nswitches] of the network: the most in a round,
                            each way, if as much goes back */
    size_t flows, lost;  /* measured, and not */
    size_t slow, unexplained;
    double usual; /* median share that flows had of their fair shares; NAN
                     where none was measured */
    struct carry_finding *finding;
    size_t nfindings;
};

/* rate[] is what each probe of the plan, in its order, had in either
 * direction, bits a second; NAN: was not measured. NULL with err.
 */
struct carry *carry_make (const struct pathset *ps, const struct plan *plan,
                          const double *rate,
                          const struct carry_options *opts,
                          struct error *err);
void carry_destroy (struct carry *c);

/* What the flows of a plan would have, max-min fair, in rounds of their own,
 * where links have these rates: the truth of a simulation. rate[] as above.
 * Return 0, or -1 with err.
 */
int carry_simulate (const struct pathset *ps, const struct plan *plan,
                    const double *link_rate, double *rate, struct error *err);

/* The rates of a plan's flows, out of a series of its pairs, and a series as
 * such flows would give it. A process is the endpoint that its label names,
 * else the first one of its host. Exchanges are both ways at once: in half of
 * an exchange's duration, time, half of its 2 L bytes pass, L / 2 in either
 * direction.
 *
 * Fill rate[] with bits a second in either direction, by the greatest length
 * and the median (the mean where there is none) of the repeats, for each probe
 * of the plan in its order; NAN where it was not measured. A pair that was
 * measured from both sides has the mean of these. Return 0, or -1 with err: a
 * series of something else, or of no process that the set knows, or a rate that
 * no link has.
 */
int measured_rates (const struct series *s, const struct pathset *ps,
                    const struct plan *plan, double *rate, struct error *err);

/* A series of messages of so many bytes in which flows have these rates, or
 * NAN: were lost. NULL with err.
 */
struct series *measured_series (const struct pathset *ps,
                                const struct plan *plan, const double *rate,
                                uint64_t length, struct error *err);

#endif /* COMPARE_CARRY_H */
