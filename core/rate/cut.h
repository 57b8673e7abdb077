/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cut: how much the halves of a set can send to each other: the bisection
 * bandwidth of a job's part of a fabric.
 *
 * That is the minimum over all halvings of the hosts, which are too many to
 * try. Only likely narrow ones are tried: the hosts nearest to one host, by
 * cables, against the rest. The result is an upper bound: the least of their
 * maximum flows, which may take any path over the links that the set's paths
 * use. The effective bisection bandwidth is the mean rate of random pairs
 * across these halves by the tables, max-min fair, all at once (Hoefler,
 * Schneider, Lumsdaine, "Multistage switches are not crossbars", 2008).
 */
#ifndef CORE_CUT_H
#define CORE_CUT_H

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
    uint32_t ports[2];  /* of the narrowest halving; the second has one less if
                           the number is odd */
    double most;        /* bits per second from half to half, the same back */
    double effective;   /* in each direction; of pairs of these halves */
};

/* For a set; rate[nlinks] as from across_rates (across.h). With fewer than two
 * ports all is 0. Return 0, or -1 with err.
 */
int cut_find (struct pathset *ps, const double *rate, uint64_t seed,
              struct cut *out, struct error *err);

/* The rate that the hosts of a set can send through a switch at most. A subtree
 * of a switch is the hosts that its table sends through one port. The subtrees
 * are divided into halves as equal as possible, and each host of one half talks
 * to one of the other. The more equal the halves, the more pairs cross the
 * switch at a time: subtrees of 2, 3, 3, 4 and 6 hosts give 9 and 9.
 */
struct through {
    size_t subtrees;   /* with hosts */
    uint32_t ports[2]; /* of the set, in each half; the greater first */
    double rate;       /* bits per second from one half to the other, and the
                          same back at the same time: the lower sum, of the two
                          halves, of the rates of their hosts that their links
                          carry */
};

/* For switch sw of the network; rate[nlinks] as from across_rates. Return 0, or
 * -1 with err.
 */
int through_switch (const struct pathset *ps, uint32_t sw, const double *rate,
                    struct through *out, struct error *err);

enum { HALVE_SUM_MAX = 1 << 22 }; /* of all weights */

/* Divide n weights into two halves whose sums differ as little as possible.
 * second[i]: weight i is in the second half, which is the lighter one if they
 * differ; its sum is returned in *sum. Exact, by dynamic programming over the
 * sums that the first k weights can reach; cost: n times half of their total.
 * Return 0, or -1 with err.
 */
int halve (const uint32_t *weight, size_t n, bool *second, uint32_t *sum,
           struct error *err);

#endif /* CORE_CUT_H */
