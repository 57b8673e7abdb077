/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trends: the latency of each link now and before, from all audits of the
 * ledger together.
 *
 * The latency now is solved for from all measurements; the older a measurement,
 * the lower its weight. The baseline is solved for from the measurements that
 * found nothing wrong with the link, with equal weights. Links that no single
 * audit resolves are determined once all audits together resolve them.
 *
 * If a link changes, some routes show it before others. Until the old
 * measurements are forgotten, or the link is rebased, the solution lies in
 * between, and neighbouring links may get a part of the change. Rows that do
 * not fit have a lower weight (core/solve), so the change stays with these
 * links, and their standard errors are greater.
 */
#ifndef PMM_TRENDS_H
#define PMM_TRENDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"

struct trends_options {
    int64_t now;
    double half_life_s;
    int points; /* earlier points, one half-life apart */
};

/* Solve and write: as JSON a solution, with baseline_ns, change_ns,
 * change_stderr_ns and trend (a list of {time, latency_ns}) for each link; for
 * people a line for each determined link, the greatest change first, then a
 * line for each group. Die if there is nothing to solve.
 */
void trends_write (struct ledger *ledger, const struct fabric *fabric,
                   const struct trends_options *opts, bool json, FILE *fp);

#endif /* PMM_TRENDS_H */
