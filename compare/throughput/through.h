/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Through: what the hosts of a set can send through a switch at most.
 *
 * The subtrees of a switch are the hosts that its table sends by one port.
 * They are halved as evenly as can be (halve.h): each host of one half talks
 * to one of the other.
 */
#ifndef COMPARE_THROUGH_H
#define COMPARE_THROUGH_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

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

#endif /* COMPARE_THROUGH_H */
