/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates for a plan: pairs of endpoints and their rows, the rows that
 * are cheapest to measure and to eliminate first.
 *
 * Made from a pathset; read by core/rounds, which picks a basis from them
 * and packs it into rounds at the same time.
 */
#ifndef CORE_BASIS_H
#define CORE_BASIS_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths.h"
#include "core/plan.h"
#include "core/rref.h"
#include "util/error.h"
#include "util/rng.h"

enum {
    BASIS_PAIRS_MAX = 1 << 21, /* more are not kept: 2,048 endpoints' */
};

/* n pairs in class order: fewest distinct links first; of these, rows whose
 * forward and reverse links are the same come first. The row of pair i has
 * count[k] in column col[k], first[i] <= k < first[i + 1].
 */
struct basis {
    size_t m;          /* columns: the links of the job */
    size_t nendpoints;
    size_t n;
    struct probe *pair;
    uint16_t *class_id;
    size_t *first;     /* [n + 1] */
    uint32_t *col;
    uint8_t *count;
};

/* Fill basis with the pairs of the set: all of them where they are at most
 * BASIS_PAIRS_MAX, else as many, near neighbours and random ones. Return 0,
 * or -1 with err; basis_clear is due after 0.
 */
int basis_make (struct basis *basis, struct pathset *ps, struct rng *rng,
                struct error *err);
void basis_clear (struct basis *basis);

/* Look at all pairs of the set for rows outside the span of rref, by a random
 * null vector, and add up to `max` of them to the basis. Returns their
 * number, 0 where the rank of rref is that of all pairs (wrong once in 2^61
 * times), or -1 with err.
 */
int basis_extend (struct basis *basis, struct pathset *ps,
                  const struct rref *rref, struct rng *rng, size_t max,
                  struct error *err);

#endif /* CORE_BASIS_H */
