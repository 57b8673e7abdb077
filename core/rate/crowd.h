/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Crowds: whether a cable between switches is slow, or others use it.
 *
 * One flow of ours cannot tell: what others' steady flow leaves is what a slow cable
 * carries. A crowd can: flows from several hosts, over the cable at the same time, each
 * into the switch before it through another port. A switch serves these
 * ports in turn, so k flows beside m others together have, as a share of what the
 * cable should carry, at least
 *
 *     s_k = max (1 - what the others want, k / (k + m)),
 *
 * and a slow cable carries the same by any k. As s_1 >= 1 / (1 + m), there are at least
 * 1 / s_1 - 1 others if it is good; that many are assumed, one at least, and one more
 * if s_k < s_1, which a cable alone does not explain. It can carry at most
 *
 *     most = s_k (k + m) / k.
 *
 * A crowd is one burst: two flows that meet an other one, which paused when one flow
 * had most, look like a slow cable; if flows were not steady there, two assume one more.
 *
 * At half rate that is .75, .67, .63 for k = 2, 3, 4; of a good cable 1 or more. Others
 * that want d each are seen while d > 1 / (k + m): more of them, that each want less,
 * look like a slow cable, as two with a quarter each for k = 2. A cable that lacks less
 * than 1 / (k + 1) is not told from one that others use.
 *
 * A host end that looks slow may carry our flows alone while others use the cables behind
 * its switch. The flows of its crowd come or go by several ports of that switch. If the
 * host is the limit, they have together as much as one of them had alone; if others are,
 * about the sum of what each had.
 */
#ifndef CORE_CROWD_H
#define CORE_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/rate/carry.h"
#include "core/samples/bursts.h"
#include "util/error.h"

enum { CROWD_FLOWS = 4 }; /* of a crowd, at most */

/* Crowds that a cable has time for, as the bursts of a check are limited: its own, and
 * parts of others, there or back.
 */
#define CROWD_ROOM 1.75

/* The arc of a cable between switches is worth a crowd if no flow had more than this
 * share of what was expected, times what is usual.
 */
#define CROWD_BELOW .75
#define CROWD_SLOW_BELOW .8 /* the most that a slow one can carry */

/* A third look: rounds of crowds for such arcs and hosts, as far as cables have time and a
 * few rounds have room. Hosts come first, since the cables to a slow one look low, too;
 * then cables that are low both ways, as one at half rate is; then the other arcs, the
 * lowest first. One crowd measures both directions of a host or of such a cable.
 *
 * The flows of a crowd end at different hosts and share nothing behind the arc. They end
 * at one host where that makes a larger crowd; then no arc on the way to it is as low,
 * nor is its own, unless all flows to it crossed the first arc. The rest of their paths
 * must let through CROWD_BELOW of the arc, by what other flows had there.
 *
 * In a round no host is in two crowds, and crowds share no arc. The method is
 * "throughput"; there are no targets. NULL with err.
 */
struct plan *crowd_make (struct pathset *ps, const struct bursts *b,
                         uint64_t seed, struct error *err);

/* What is known of an arc: shares of what it should carry. */
struct crowd {
    double one;      /* the most of flows through one port; 0: none */
    double together; /* of the largest crowd, */
    uint32_t inputs; /* which came through so many; 0: there was none */
    uint32_t rounds, steady; /* in which those of one port had that; in all bursts */
};

/* Of each arc of the network, in an array that the caller frees: of flows with these
 * rates, NAN: not measured, and worst[] in some burst, where they should have fair[],
 * and an arc arc_bits[]. Rounds that asked for less of an arc do not count.
 */
struct crowd *crowd_arcs (const struct network *net, const struct flows *flows,
                          const double *rate, const double *worst,
                          const double *fair, const double *arc_bits);

/* The most that the arc can carry, as above; HUGE_VAL: not known. `error` is that of
 * a share.
 */
double crowd_most (const struct crowd *c, double error);

/* Whether a crowd got more than one flow, beyond errors: others use the arc. */
bool crowd_others (const struct crowd *c, double error);

#endif /* CORE_CROWD_H */
