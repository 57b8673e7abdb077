/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Baselines of audits: out of the ledger, and from the published file for what
 * the ledger does not know yet.
 *
 * A link is known by samples that cross it, BASELINE_ENOUGH of them or more. A
 * link whose baseline was ever reset (pmm ledger rebase) is known by the ledger
 * alone: samples of the file that cross it do not count.
 */
#ifndef PROLOG_BASELINE_H
#define PROLOG_BASELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/judge/judge.h"
#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"
#include "util/error.h"

enum {
    /* audits of a link, out of the ledger: what a host takes more in the run
     * that is judged is as uncertain as in each of n others, so that the error
     * is 1 + 1 / n of its variance: with three 15 % above the least there is,
     * with eight 6 %, for more than twice the rows */
    BASELINE_LAST = 3,
    BASELINE_ENOUGH = 4,
};

struct baseline_set {
    struct samples *samples[2]; /* the ledger's, then the file's, */
    struct pathset *ps[2];
    struct baseline v[2];       /* ... as the judge takes them */
    size_t n;                   /* 0: nothing is known */
    bool publish; /* the ledger knows all that the file does, or more */
    char odd[256]; /* what is wrong with the file; "": nothing */
};

/* Gather; path is the published file, "" for none. The file takes part where
 * it knows links that the ledger does not. Return 0, or -1 with err where the
 * ledger cannot be read; baseline_clear is due in both cases.
 */
int baseline_gather (struct baseline_set *set, struct ledger *ledger,
                     const struct fabric *f, const char *path,
                     struct error *err);
void baseline_clear (struct baseline_set *set);

/* Publish the ledger's where it is fit to replace the file and is not what the
 * file holds. Return 1 where it did, 0 where there was nothing to do, -1 with
 * err.
 */
int baseline_publish (struct ledger *ledger, const struct fabric *f,
                      const char *path, struct error *err);

#endif /* PROLOG_BASELINE_H */
