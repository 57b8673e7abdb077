/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packing: a maximal independent set of rows, chosen and placed in few rounds
 * at the same time.
 *
 * There are two ways to fill the rounds first. Then the rows that are missing
 * are placed by chains (plan/rounds), or another round is opened. Then one
 * round after the other is dissolved and its rows are placed again; if they do
 * not fit, missing rows replace others, which changes what is missing, always
 * from the packing with the fewest missing rows so far.
 */
#ifndef CORE_PACK_H
#define CORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/basis.h"
#include "core/plan/rounds.h"
#include "core/plan/rref.h"
#include "util/error.h"
#include "util/rng.h"

struct packing {
    struct pathset *ps;
    struct rng *rng;
    struct basis basis;   /* candidates */
    struct rounds rounds; /* of some of them */
    struct screen form;   /* of the rows placed */
    size_t rank;          /* of all pairs, or an upper limit of it */
    size_t bound;         /* no fewer rounds with these candidates */
    bool job;             /* all pairs are candidates */
    bool maximal;         /* the rank of the rows placed is that of all pairs */
    uint64_t eliminate;   /* work, after which nothing is eliminated */
    uint64_t again;       /* work of the first packing; 0: do not search */
    uint64_t work;        /* of forms and rounds that were replaced */
};

/* Work, in entries read or touched, approximate. */
uint64_t pack_work (const struct packing *p);

/* Whole fabrics: the candidates are pairs that use the same links there and
 * back (plan/span). If their rank lacks more than 1/32 of the links, and all
 * pairs can be used instead, return 1 unless `any` is true. Return 0, or -1 with
 * err; call pack_clear in any case. The same seed gives the same rounds on every
 * machine.
 */
int pack_whole (struct packing *p, struct pathset *ps, struct rng *rng,
                bool any, struct error *err);

/* Jobs, in which any pair may be needed: all pairs are candidates. If
 * elimination would take more work than `eliminate`, the rows are an
 * independent set that crosses all links, and not marked maximal. Otherwise as
 * pack_whole.
 */
int pack_job (struct packing *p, struct pathset *ps, struct rng *rng,
              uint64_t eliminate, struct error *err);

/* Search for fewer rounds until the work for the packing, with what it took
 * before, reaches `effort`; if a whole fabric's are not close to the bound, as
 * much work again as that took is free. Return 0, or -1 with err.
 */
int pack_search (struct packing *p, uint64_t effort, struct error *err);

void pack_clear (struct packing *p);

#endif /* CORE_PACK_H */
