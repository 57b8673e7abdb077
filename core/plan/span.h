/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sums of weights over all paths tell, without reading n^2 rows: which
 * pairs use the same links there and back, whether some rows span those of all
 * pairs (the certificate of a plan's rank), and which pairs are missing if not.
 *
 * z is a random null vector of the rows, z[column] (rref_null): a row outside
 * their span has row . z == 0 with probability 2^-61. psi(i,s) is z of the
 * first hop of endpoint i plus the sum of z over its tree from leaf s, so the
 * row of a, on leaf s, with b, on leaf t, has row . z = psi(a,t) + psi(b,s).
 * All of them are 0 if and only if, for any two leaves s and t, psi(a,t) is one
 * value C(s,t) for all a on s, and C(s,t) + C(t,s) = 0; and psi(a,s) + psi(b,s)
 * = 0 for any two on s that are not of one port.
 */
#ifndef CORE_SPAN_H
#define CORE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/basis.h"
#include "core/plan/plan.h"
#include "util/error.h"
#include "util/rng.h"

/* Fill basis with pairs that use the same links there and back: those whose
 * sums of random weights over both paths agree. Such rows are the shortest and
 * nearly always span all others. For each link some of each length are kept, so
 * their number grows with the number of links. Return 0, or -1 with err; call
 * basis_clear in any case.
 */
int span_symmetric (struct basis *basis, struct pathset *ps, struct rng *rng,
                    struct error *err);

/* Return 1 if all rows of the set are orthogonal to z (wrong with probability
 * 2^-60), 0 if not, -1 with err. Memory: that of a tree.
 */
int span_complete (struct pathset *ps, const uint64_t *z, struct rng *rng,
                   struct error *err);

enum { SPAN_PART_MIN = 2048 }; /* endpoints */

/* Up to `max` pairs, *n of them, whose rows are not orthogonal to z: a sample
 * of those found in the whole set. For any two leaves a part is tested, and
 * more only if it finds none. Of SPAN_PART_MIN endpoints or more, only those on
 * some leaves are searched, unless `all` is true or these have none. The caller
 * frees them. *n is 0 if span_complete holds. NULL with err.
 */
struct probe *span_missing (struct pathset *ps, const uint64_t *z,
                            struct rng *rng, bool all, size_t max, size_t *n,
                            struct error *err);

#endif /* CORE_SPAN_H */
