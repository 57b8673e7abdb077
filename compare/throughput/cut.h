/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cut: how much the halves of a set can send to each other: the bisection
 * bandwidth of a job's part of a fabric.
 *
 * That is the least over all halvings of the hosts, which are too many to look
 * at. Looked at are some that are likely to be narrow: the hosts that are
 * nearest to one of them, by cables, against the rest. So it is a bound: the
 * bisection bandwidth is at most the least of these maximum flows, which may
 * take any way over the links that the set's paths use. What the tables make of
 * it is another thing, and less: the effective bisection bandwidth is the mean
 * of what random pairs across these halves get, max-min fair, all at once
 * (after Hoefler, Schneider, Lumsdaine, "Multistage switches are not
 * crossbars", 2008).
 */
#ifndef COMPARE_CUT_H
#define COMPARE_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

enum {
    CUT_HALVINGS = 8,
    CUT_PAIRINGS = 10,
};

struct cut {
    uint32_t ports[2];  /* of the narrowest halving, the second one less where
                           their number is odd */
    double most;        /* bits a second from half to half, the same back */
    double effective;   /* in either direction; of pairs of these halves */
};

/* Of a set; rate[nlinks] as of across_rates (across.h). With fewer than two
 * ports all is 0. Return 0, or -1 with err.
 */
int cut_find (struct pathset *ps, const double *rate, uint64_t seed,
              struct cut *out, struct error *err);

/* What the hosts of a set can send through a switch at most. The subtrees of a
 * switch are the hosts that its table sends by one port. They are halved as
 * evenly as can be: each host of one half talks to one of the other. The more
 * evenly, the more pairs cross the switch at a time: subtrees of 2, 3, 3, 4 and
 * 6 hosts give 9 and 9.
 */
struct through {
    size_t subtrees;   /* with hosts behind them */
    uint32_t ports[2]; /* of the set, in either half: the greater first */
    double rate;       /* bits a second from one half to the other, the same
                          back at the same time: what the links of the half
                          that has less of them carry of its hosts' rates */
};

/* Of switch sw of the network; rate[nlinks] as of across_rates. Return 0, or
 * -1 with err.
 */
int through_switch (const struct pathset *ps, uint32_t sw, const double *rate,
                    struct through *out, struct error *err);

enum { HALVE_SUM_MAX = 1 << 22 }; /* of all weights */

/* Divide n weights into two halves whose sums differ by as little as any two
 * do. second[i]: weight i is in the second half, the lighter one where they
 * differ; its sum is returned in *sum. Exact, by the sums that can be reached
 * with ever more of the weights: n times half of their total. Return 0, or -1
 * with err.
 */
int halve (const uint32_t *weight, size_t n, bool *second, uint32_t *sum,
           struct error *err);

#endif /* COMPARE_CUT_H */
