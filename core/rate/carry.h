/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carry: the fair rates of flows; the rates that links carried, from flows
 * measured by a throughput plan, and the slow links.
 *
 * The rate of an arc in a round is the sum of its flows; the greatest of all
 * rounds counts. So the rate of a host end is the maximum over its partners.
 *
 * A flow is slow if it has much less than its fair share by nominal rates; or,
 * if no flow reaches that, much less than the usual share. It was limited by a
 * link on its path that then carried about the most it ever did, and much less
 * than its rate. Links are found greedily: first the one that explains most
 * slow flows. Links that explain the same flows are suspects of one finding.
 */
#ifndef CORE_CARRY_H
#define CORE_CARRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/bursts.h"
#include "util/csr.h"
#include "util/error.h"

/* Max-min fair rates of flows that share links: each takes what the others
 * leave. Flow i has its rate on each arc of its list; on an arc that occurs
 * twice, twice. For a flow in both directions these are the arcs of both. No
 * arc carries more than its link's rate.
 *
 * All rates grow together; flows that cross a full arc stop growing
 * (progressive filling: Bertsekas, Gallager, "Data Networks", 2nd edition,
 * 6.5.2). A flow without arcs has HUGE_VAL. Unfair congestion control, and the
 * overhead of protocols and hosts, are not modelled.
 */
void fair_rates (const struct csr *flows, const double *link_rate,
                 size_t nlinks, double *rate);

/* What each direction of each flow of some bursts should get: the fair rates of
 * those of its round, in bits of payload per second. Limits are the arcs of its
 * path, each end's port, and each end's PCIe path as far as it is able, as the
 * bursts have them. A packet's payload is the lesser of both ends' MTU. A
 * loopback is limited by its end alone.
 *
 * arc_bits[2 * nlinks]: the data rates of arcs; NULL: nominal. 0 is not known,
 * and no limit; of a bundle (multipath.h) it is that of one cable. rate[nflows]
 * gets HUGE_VAL if nothing that limits it is known. Cost: about that of walking
 * the flows' paths. Return 0, or -1 with err.
 */
int bursts_expected (const struct bursts *b, const struct pathset *ps,
                     const double *arc_bits, double (*rate)[2],
                     struct error *err);

/* The flows of a plan: of each round, the arcs that each of its flows crosses,
 * there and back. Those with measured[] NAN, in the order of the plan, cross
 * none; measured NULL: all do. Return 0, or -1 with err; call flows_clear in
 * any case.
 */
struct flows {
    size_t nrounds;
    struct csr *round;
};
int flows_lay_out (struct flows *f, const struct pathset *ps,
                   const struct plan *plan, const double *measured,
                   struct error *err);
void flows_clear (struct flows *f);

/* The same of bursts: each direction of a flow is a flow of its own, and crosses
 * the arcs there; loopbacks are left out. way: which flow each is, and in which
 * direction, in an array of *n that the caller frees.
 */
struct carry;
struct flow_way {
    uint32_t flow;
    uint32_t way;
};
int flows_of_bursts (struct flows *f, struct flow_way **way, size_t *n,
                     const struct pathset *ps, const struct bursts *b,
                     struct error *err);

/* What each link carried of bursts, but for crowds, and what was offered, as of
 * carry_explain: to host links by nominal rates of links, ports and PCIe paths;
 * to others by what their hosts did carry, at most. NULL with err.
 */
struct carry *bursts_carried (const struct bursts *b, const struct pathset *ps,
                              struct error *err);

/* Of what an arc should be able to carry: who asks it for less learns little. */
#define CARRY_LOADED .5

enum {
    CARRY_FINDINGS_MAX = 1000,
    CARRY_USUAL_MIN = 8, /* flows needed to determine the usual share */
};

/* By direction: from the link's first end to its second, and back. Bits per
 * second; carried is 0 if nothing was measured.
 */
struct carry_link {
    double carried[2]; /* in the round with the most */
    double offered[2]; /* at most, where it carried that: fair shares by nominal rates */
    double asked[2];   /* the most offered in any round */
    uint32_t rounds[2]; /* in which it was measured */
};

struct carry_finding {
    uint32_t *link; /* suspects, ascending */
    uint8_t *ways;  /* of each, the directions that explain flows: 1 from its
                       first end, 2 back */
    size_t nlinks;
    size_t flows;   /* that they explain */
    double share;   /* mean of the flows' rate over their expected rate */
    bool doubtful;  /* cables between switches, whichever, explain all of them, too */
};

struct carry {
    size_t nlinks;
    struct carry_link *link;
    double *through;     /* [nswitches] of the network: the most in a round,
                            each direction, if as much goes back */
    size_t flows, lost;  /* measured; not measured */
    size_t slow, unexplained;
    double usual; /* median of the flows' rate over their fair share; NAN if
                     none was measured */
    struct carry_finding *finding;
    size_t nfindings;
};

/* What explains the flows that are slow: below `floor` of their fair rate. A link
 * explains a flow if it carried the most that it ever did, within the share
 * `same`, less than `floor` of its own rate, and no other flow across it had more,
 * likewise.
 */
struct carry_flows {
    const struct flows *flows;
    const double *rate, *fair; /* of each flow, in their order; NAN: not
                                  measured */
    const double *arc_bits; /* [2 * nlinks] of each arc; HUGE_VAL: not known */
    double floor, same;
    double most; /* share of a link's flows in its one low direction (the other
                    lacks less than half as much). A link that explains so many is
                    a suspect beside it, if others explain all of them. HUGE_VAL:
                    no link is */
    const bool *blamed; /* [nlinks] these come first: other signs show that they
                           are slow; NULL: none */
};
struct carry *carry_explain (const struct network *net,
                             const struct carry_flows *of);

/* rate[] is the rate of each probe of the plan, in its order, in each
 * direction, bits per second; NAN: not measured. This share less is much less:
 * .2. NULL with err.
 */
struct carry *carry_make (const struct pathset *ps, const struct plan *plan,
                          const double *rate, double much, struct error *err);
void carry_destroy (struct carry *c);

/* The max-min fair rates of a plan's flows, each round by itself, if links have
 * these rates: the true values of a simulation. rate[] as above. Return 0, or
 * -1 with err.
 */
int carry_simulate (const struct pathset *ps, const struct plan *plan,
                    const double *link_rate, double *rate, struct error *err);

#endif /* CORE_CARRY_H */
