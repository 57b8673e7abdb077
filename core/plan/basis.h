/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates for a plan: pairs of endpoints and their rows, those that are
 * cheapest to measure and to eliminate first.
 *
 * Made from a pathset; read by plan/rounds and plan/layers, which choose a
 * basis from them and pack it into rounds at the same time.
 */
#ifndef CORE_BASIS_H
#define CORE_BASIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/plan/rref.h"
#include "util/error.h"
#include "util/rng.h"

enum {
    BASIS_PAIRS_MAX = 1 << 21, /* all pairs of 2,048 endpoints */
};

/* n pairs in class order: fewest distinct links first; among these, rows whose
 * forward and reverse links are the same come first. The row of pair i has
 * count[k] in column col[k], first[i] <= k < first[i + 1].
 */
struct basis {
    size_t m;           /* columns: the links of the job */
    size_t nports;
    size_t n;
    bool all;           /* every row of the set is among them */
    struct probe *pair; /* endpoints */
    struct probe *port; /* their ports, which a probe keeps busy */
    uint16_t *class_id;
    size_t *first;     /* [n + 1] */
    uint32_t *col;
    uint8_t *count;
};

/* Fill basis with pairs of the set: all of them if they are few. If they are at
 * most BASIS_PAIRS_MAX: some of each class for each link, and the pairs that
 * these lack for the rank of all. Otherwise as basis_symmetric. Return 0, or -1
 * with err; call basis_clear after 0.
 */
int basis_make (struct basis *basis, struct pathset *ps, struct rng *rng,
                struct error *err);

/* Fill basis with pairs that use the same links there and back, without reading
 * all pairs: for any two leaves, those whose sums of random weights over both
 * paths agree (plan/grid). Such rows are the shortest and nearly always span
 * all others. For each link some of each length are kept, so their number grows
 * with the number of links. Cost: n times the leaves.
 */
int basis_symmetric (struct basis *basis, struct pathset *ps,
                     struct rng *rng, struct error *err);

void basis_clear (struct basis *basis);

/* The row of pair i for plan/rref; see rref_add, rref_add_null, rref_add_fresh,
 * rref_spans and rref_dot.
 */
bool basis_add (const struct basis *b, uint32_t i, struct rref *rref);
bool basis_add_null (const struct basis *b, uint32_t i, struct rref *rref,
                     uint64_t *z);
bool basis_add_fresh (const struct basis *b, uint32_t i, struct rref *rref);
bool basis_spans (const struct basis *b, uint32_t i, struct rref *rref);
uint64_t basis_dot (const struct basis *b, uint32_t i, const uint64_t *z);

/* Append the given pairs, which must not be in the basis yet; class order ends
 * where they begin. Return 0, or -1 with err (and an empty basis).
 */
int basis_append (struct basis *basis, const struct pathset *ps,
                  const struct probe *pair, size_t n, struct error *err);

/* Add, in class order, up to `max` pairs of the set whose rows lie outside the
 * span of rref (plan/span). Return their number, 0 if the rank of rref is that
 * of all pairs (wrong with probability 2^-60), or -1 with err.
 */
int basis_extend (struct basis *basis, struct pathset *ps,
                  const struct rref *rref, struct rng *rng, size_t max,
                  struct error *err);

#endif /* CORE_BASIS_H */
