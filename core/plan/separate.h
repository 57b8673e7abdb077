/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate: which endpoints are needed to resolve suspects.
 *
 * Suspects are links that explain the measurements equally well: their columns
 * in the rows are proportional. More endpoints give more rows; those that cross
 * one suspect and not another, or not as often, separate the two.
 *
 * Read by pmm plan --separate and by judge/confirm.
 */
#ifndef CORE_SEPARATE_H
#define CORE_SEPARATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

struct separation {
    uint32_t *extra;     /* [nextra] endpoints to add, as few as were found */
    size_t nextra;
    struct probe *probe; /* [nprobes] between these and the job's: they separate
                            all sets */
    size_t nprobes;
    uint32_t *set_of;    /* [n] by suspect; suspects of one set cannot be
                            resolved by any endpoints */
    size_t nsets;
    size_t nsets_before; /* number of sets with the job's own rows */
};

/* Separate the links suspect[0 .. n-1] of the network, each given once, by rows
 * between endpoints of the set. Endpoints with idle[i] != 0 cost; the others,
 * the job's, are free. All suspects that no row crosses are in one set. Return
 * 0, or -1 with err; call separation_clear after 0.
 *
 * Endpoints are added one by one, the one that gives the most sets first, or
 * two at a time if no single one helps; those that are not needed are dropped
 * at the end. Cost: the trees of all endpoints (paths/tree), and per added
 * endpoint the idle ones times those in use.
 */
int separate (struct pathset *ps, const uint8_t *idle,
              const uint32_t *suspect, size_t n, struct separation *out,
              struct error *err);
void separation_clear (struct separation *out);

#endif /* CORE_SEPARATE_H */
