/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trends: each link by all audits of the ledger together, now and before.
 *
 * Its latency now is solved for from all that was measured, each measurement
 * counting the less the older it is; its baseline from those that found
 * nothing wrong with it, all alike. The links that no audit separates are
 * determined once the audits together do.
 *
 * A link that changes is seen by some routes before others: until what is old
 * is forgotten, or the link is rebased, the solution lies between, and its
 * neighbours may get a part. Rows that do not fit count less (core/solve), so
 * that it stays with these, and their standard errors are greater.
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
    int points; /* of the time before, a half-life apart */
};

struct trends {
    const struct fabric *fabric;
    struct trends_options opts;
    struct pathset *ps;        /* all endpoints of the fabric */
    struct solution *now;
    struct solution *baseline; /* NULL: nothing was sound */
    struct solution **point;   /* [opts.points] oldest first; NULL: nothing */
};

/* Solve. Return 0, or -1 with err, errno ENOENT where there is nothing to
 * solve; trends_clear is due in both cases.
 */
int trends_make (struct trends *t, struct ledger *ledger,
                 const struct fabric *fabric,
                 const struct trends_options *opts, struct error *err);
void trends_clear (struct trends *t);

/* A solution, with baseline_ns, change_ns, change_stderr_ns and trend (a list
 * of {time, latency_ns}) of each link. The caller's; NULL with err.
 */
json_t *trends_json (const struct trends *t, struct error *err);

/* For people: a line for each link that is determined, the greatest change
 * first, then for each group.
 */
int trends_print (const struct trends *t, FILE *fp, struct error *err);

#endif /* PMM_TRENDS_H */
