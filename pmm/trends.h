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

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "core/solve/solve.h"
#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"
#include "util/error.h"

struct trends_options {
    int64_t now;
    double half_life_s;
    int points; /* earlier points, one half-life apart */
};

struct trends {
    const struct fabric *fabric;
    struct trends_options opts;
    struct pathset *ps;        /* all endpoints of the fabric */
    struct solution *now;
    struct solution *baseline; /* NULL: nothing was sound */
    struct solution **point;   /* [opts.points] oldest first; NULL: nothing */
};

/* Solve. Return 0, or -1 with err, errno ENOENT if there is nothing to solve;
 * call trends_clear in both cases.
 */
int trends_make (struct trends *t, struct ledger *ledger,
                 const struct fabric *fabric,
                 const struct trends_options *opts, struct error *err);
void trends_clear (struct trends *t);

/* A solution, with baseline_ns, change_ns, change_stderr_ns and trend (a list
 * of {time, latency_ns}) for each link. The caller owns it; NULL with err.
 */
json_t *trends_json (const struct trends *t, struct error *err);

/* For people: a line for each determined link, the greatest change first, then
 * a line for each group.
 */
int trends_print (const struct trends *t, FILE *fp, struct error *err);

#endif /* PMM_TRENDS_H */
