/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Candidates for a plan: pairs of endpoints and their rows, those that are
 * cheapest to measure and to eliminate first.
 *
 * Made from a pathset, here or by plan/span; read by plan/pack, which chooses a
 * basis from them and packs it into rounds at the same time.
 */
#ifndef CORE_BASIS_H
#define CORE_BASIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"
#include "util/rng.h"

enum {
    BASIS_PAIRS_MAX = 1 << 21,       /* all pairs of 2,048 endpoints */
    BASIS_CLASSES = 2 * ROW_MAX + 2,
};

/* n pairs; in class order: fewest distinct links first, and among these, rows
 * whose forward and reverse links are the same first. The row of pair i has
 * count[k] in column col[k], first[i] <= k < first[i + 1]. All arrays grow by
 * basis_push.
 */
struct basis {
    const struct pathset *ps;
    size_t m;           /* columns: the links of the job */
    size_t nports;
    size_t n;
    bool all;           /* every row of the set is among them */
    struct probe *pair; /* endpoints */
    struct probe *port; /* their ports, which a probe keeps busy */
    uint16_t *class_id;
    size_t *first;      /* [n + 1] */
    uint32_t *col;
    uint8_t *count;
};

/* The row of pair i as arguments: columns, counts and their number. */
#define BASIS_ROW(b, i) \
    (b)->col + (b)->first[i], (b)->count + (b)->first[i], \
        (b)->first[(i) + 1] - (b)->first[i]

/* An empty basis of the set; basis_clear after 0. Return 0, or -1 with err. */
int basis_open (struct basis *b, struct pathset *ps, struct error *err);
void basis_clear (struct basis *b);

/* Append a pair and its row, unless that is empty; basis_add reads the row.
 * Return 0, or -1 with err.
 */
void basis_push (struct basis *b, uint32_t from, uint32_t to,
                 const struct row *row);
int basis_add (struct basis *b, uint32_t from, uint32_t to, struct error *err);

/* Append a pair of another basis of the set. */
void basis_copy (struct basis *to, const struct basis *from, size_t i);

/* The rows of a plan's probes, in their order. Return 0, or -1 with err; call
 * basis_clear in any case.
 */
int basis_of_plan (struct basis *b, const struct plan *plan,
                   struct pathset *ps, struct error *err);

/* Bring the pairs from number `from` on into class order. */
void basis_sort (struct basis *b, size_t from);

/* The rows of all pairs, in class order, each row once. Return 0, or -1 with
 * err; call basis_clear in any case.
 */
int basis_all (struct basis *b, struct pathset *ps, struct error *err);

/* The same if they are few; else some of each class for each link, and the
 * pairs that these lack for the rank of all.
 */
int basis_make (struct basis *b, struct pathset *ps, struct rng *rng,
                struct error *err);

/* Append `extra` redundant rounds (plan/redundant) of candidates, pairs of the
 * set, to the plan, each with as many probes as fit; a probe may be repeated.
 * Without candidates none are added. The same seed gives the same
 * rounds. Return 0, or -1 with err.
 */
int redundant_extend (struct plan *plan, struct pathset *ps,
                      const struct basis *candidates, size_t extra,
                      uint64_t seed, struct error *err);

#endif /* CORE_BASIS_H */
