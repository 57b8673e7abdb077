/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cut: how much the halves of a set can send to each other: the bisection
 * bandwidth of a job's part of a fabric.
 *
 * That is the least over all halvings of the hosts, which nobody can look at.
 * Looked at are some that are likely to be narrow: the hosts that are nearest
 * to one of them, by cables, against the rest. So it is a bound: the bisection
 * bandwidth is at most the least of these maximum flows, which may take any
 * way over the links that the set's paths use. What the tables make of it is
 * another thing, and less: the effective bisection bandwidth is the mean of
 * what random pairs across these halves get, max-min fair, all at once (after
 * Hoefler, Schneider, Lumsdaine, "Multistage switches are not crossbars",
 * 2008).
 */
#ifndef COMPARE_CUT_H
#define COMPARE_CUT_H

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

/* Of a set; rate[nlinks] as of across_rates. With fewer than two ports all is
 * 0. Return 0, or -1 with err.
 */
int cut_find (struct pathset *ps, const double *rate, uint64_t seed,
              struct cut *out, struct error *err);

#endif /* COMPARE_CUT_H */
