/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate: which endpoints it takes to tell suspects apart.
 *
 * Suspects are links that explain what was measured equally well: their
 * columns in the rows are proportional. More endpoints make more rows; those
 * that cross one suspect and not another, or not as often, tell them apart.
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
    struct probe *probe; /* [nprobes] between these and the job's: they tell
                            apart what can be */
    size_t nprobes;
    uint32_t *set_of;    /* [n] of a suspect; suspects of one set cannot be
                            told apart, whatever is added */
    size_t nsets;
    size_t nsets_before; /* that the job's own rows tell apart */
};

/* Tell the links suspect[0 .. n-1] of the network, each given once, apart by
 * rows between endpoints of the set, of which those with idle[i] != 0 cost
 * and the others, the job's, are there. A suspect that no row crosses has a
 * set with all its like. Return 0, or -1 with err; separation_clear is due
 * after 0.
 *
 * Endpoints are added one by one, the one that tells most apart first, or two
 * at a time where no single one does; what has become needless is dropped.
 * Cost: the trees of all endpoints (paths/tree), and per endpoint added those
 * idle times those in use.
 */
int separate (struct pathset *ps, const uint8_t *idle,
              const uint32_t *suspect, size_t n, struct separation *out,
              struct error *err);
void separation_clear (struct separation *out);

#endif /* CORE_SEPARATE_H */
