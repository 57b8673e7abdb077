/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mixture: a slow cable that only some flows of a pair cross, where switches
 * spread messages. Such a cable does not show in a pair's typical time, but in
 * a share of its flows, all by the same excess. mixture.c has the mathematics.
 */
#ifndef CORE_MIXTURE_H
#define CORE_MIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/multipath.h"
#include "core/plan/plan.h"

struct mixture;

/* Times of flows between two endpoints; NAN: lost. */
struct pair_flows {
    uint32_t a, b;
    const double *ns; /* [n] */
    uint32_t n;
};

/* Of flows between endpoints of ps, several times of a pair perhaps, on any
 * network with the numbers of `paths`; all is borrowed. NULL: there are none.
 */
struct mixture *mixture_create (struct multipath *paths,
                                const struct pathset *ps,
                                const struct pair_flows *flows, size_t n);
void mixture_destroy (struct mixture *m);

/* A slow cable. It is one of the first `group` cables, which no flow tells
 * apart, or, nearly as likely, of the others.
 */
struct slow_cable {
    uint32_t *cable;     /* [n] links of the network; the caller frees them */
    size_t n, group;
    double excess_ns;    /* of a message in one direction */
    double stderr_ns;
    double spread_ns;    /* standard deviation of a flow's time without it */
    size_t slow, flows;  /* slow flows, of those that may cross the group */
    double expected;     /* how many of these cross one of its cables */
    bool heap;           /* each pair's own flows show it, so that delays of
                            the pairs do not explain it */
};

/* Find the likeliest slow cable, and set its flows aside. False: none is left.
 */
bool mixture_next (struct mixture *m, struct slow_cable *found);

/* The log likelihood ratio of a cable with this excess against none: positive
 * if the flows show it, negative if not, 0: they cannot tell. clear is set if
 * they show it as well as mixture_next demands.
 */
double mixture_evidence (struct mixture *m, uint32_t cable, double excess_ns,
                         bool *clear);

/* Pairs of the run whose flows may cross a cable that looks slow, those first
 * that tell most; the caller frees them. Return their number.
 */
size_t mixture_doubts (struct mixture *m, struct probe **pair);

/* How many cables are crossed by some flows but not by all of a pair, and of
 * how many enough flows tell whether they are slow; the pairs of which nothing
 * is told, since their paths differ in length.
 */
size_t mixture_cables (const struct mixture *m, size_t *judged,
                       size_t *uneven);

#endif /* CORE_MIXTURE_H */
