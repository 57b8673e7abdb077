/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A coarse correction for conjugate gradients (linear/lsq): combinations of the
 * unknowns that few or bad rows determine are solved for by themselves.
 *
 * Such modes are what an approximate inverse does not see: they take most of the
 * iterations, and an error in one of them looks small to it. Only who knows what
 * the unknowns are can name them.
 */
#ifndef CORE_COARSE_H
#define CORE_COARSE_H

#include <stddef.h>

#include "core/linear/sparse.h"

struct coarse;

/* Prepare for K = A' W A and these modes, a row each, over the columns of A; w
 * NULL: all 1. All are borrowed for the call only. Cost: the entries, and
 * direct_create (linear/direct) with the modes as unknowns; if that is much,
 * there is no correction.
 */
struct coarse *coarse_create (const struct sparse *a, const double *w,
                              const struct sparse *modes);
void coarse_destroy (struct coarse *c);

/* The same for other weights. */
void coarse_reweigh (struct coarse *c, const double *w);

/* z += M' (M K M')^-1 M r for modes M, and rz += the same times r; vectors as in
 * direct_apply.
 */
void coarse_apply (const struct coarse *c, size_t lanes, const double *r,
                   double *z, double *rz);

#endif /* CORE_COARSE_H */
