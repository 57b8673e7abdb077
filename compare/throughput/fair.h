/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fair: max-min fair rates of flows that share links: each takes what the
 * others leave.
 *
 * Simulations take these as the true rates, and they are the expected rates of
 * the flows of a round. Unfair congestion control, and the overhead of
 * protocols and hosts, are not modelled.
 */
#ifndef COMPARE_FAIR_H
#define COMPARE_FAIR_H

#include <stddef.h>
#include <stdint.h>

/* Flow i has its rate on each of arc[k], first[i] <= k < first[i + 1]; on an
 * arc that occurs twice, twice. For a flow in both directions these are the
 * arcs of both. No arc k < narcs carries more than capacity[k].
 *
 * All rates grow together; flows that cross a full arc stop growing
 * (progressive filling: Bertsekas, Gallager, "Data Networks", 2nd edition,
 * 6.5.2). A flow without arcs has HUGE_VAL.
 */
void fair_rates (const size_t *first, const uint32_t *arc, size_t nflows,
                 const double *capacity, size_t narcs, double *rate);

#endif /* COMPARE_FAIR_H */
