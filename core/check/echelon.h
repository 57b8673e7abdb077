/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Echelon form of sparse rows modulo 2^31 - 1: the checker's elimination.
 *
 * Read by check/plan_check. It shares no code with plan/rref,
 * the planner's, so that each can find errors of the other: another prime,
 * another form (not reduced), another order of pivots.
 *
 * The rank modulo a prime is never above the rank over the rationals, and below
 * it only if the prime divides a minor.
 */
#ifndef CORE_ECHELON_H
#define CORE_ECHELON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/rng.h"

#define ECHELON_PRIME ((UINT64_C (1) << 31) - 1)

struct echelon;

/* An empty form of m columns. A row's pivot is its column of least weight[],
 * which is borrowed while the form exists; NULL: the lowest column.
 */
struct echelon *echelon_create (size_t m, const uint32_t *weight);
void echelon_destroy (struct echelon *e);

/* Add the row that is the sum of n unit rows, those of col[]; a column may
 * occur more than once. Return true if the row was independent of the rows so
 * far.
 */
bool echelon_add (struct echelon *e, const uint32_t *col, size_t n);

size_t echelon_rank (const struct echelon *e);

/* Draw a random vector z[m] orthogonal to every row added. A row outside their
 * span is orthogonal to z with probability 2^-31. Return the entries touched.
 */
uint64_t echelon_null (const struct echelon *e, struct rng *rng, uint64_t *z);

/* Work done so far, in entries touched. */
uint64_t echelon_work (const struct echelon *e);

#endif /* CORE_ECHELON_H */
