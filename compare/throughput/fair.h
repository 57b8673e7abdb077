/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fair: what flows get that share links, where each takes what the others
 * leave: max-min fair rates.
 *
 * It stands for the truth in simulations, and says what to expect of the
 * flows of a round. Congestion control that is not fair, and what protocols
 * and hosts cost, are left out.
 */
#ifndef COMPARE_FAIR_H
#define COMPARE_FAIR_H

#include <stddef.h>
#include <stdint.h>

/* Flow i has its rate on each of arc[k], first[i] <= k < first[i + 1], on one
 * that is there twice, twice; of a flow both ways these are the arcs there and
 * those back. No arc carries more than capacity[] of it, for narcs arcs.
 *
 * All rates grow together; flows that cross an arc that is full stop there
 * (progressive filling: Bertsekas, Gallager, "Data Networks", 2nd edition,
 * 6.5.2). A flow without arcs has HUGE_VAL.
 */
void fair_rates (const size_t *first, const uint32_t *arc, size_t nflows,
                 const double *capacity, size_t narcs, double *rate);

#endif /* COMPARE_FAIR_H */
