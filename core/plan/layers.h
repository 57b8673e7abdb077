/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds for a whole fabric: the basis is chosen layer by layer.
 *
 * The candidates' classes (plan/basis) give the space of all rows a filtration:
 * layer c is what the rows of class c add to the span of the shorter ones. Rows
 * that are a basis of each layer are a basis of all, so the layers can be
 * chosen in any order: a round first takes its share of the long rows, which
 * are hard to place, and is then filled with short ones.
 *
 * The same holds for any order of the candidates. In a job, rows with an end
 * that has to be busy nearly all the time (plan/demand) come last, so that
 * there are as few of them as possible; a round takes its share of these first.
 *
 * Rows that do not fit into any round are placed by chains (plan/chain).
 */
#ifndef CORE_LAYERS_H
#define CORE_LAYERS_H

#include <stdint.h>

#include "core/plan/basis.h"
#include "core/plan/rounds.h"
#include "util/error.h"
#include "util/rng.h"

/* Choose a maximal independent set of the rows of all pairs, in few rounds. The
 * basis, usually of symmetric rows, is extended by pairs that it lacks; if it
 * lacks many, it is made again from all pairs. `effort` bounds the work after
 * the first packing, in entries of rows read; if that packing is not close to
 * the bound, as much work again is free. It stops at the bound. Return 0 and
 * the rank, or -1 with err; call rounds_clear after 0.
 */
int layers_pack (struct rounds *rounds, struct basis *basis,
                 struct pathset *ps, struct rng *rng, uint64_t effort,
                 size_t *rank, struct error *err);

#endif /* CORE_LAYERS_H */
