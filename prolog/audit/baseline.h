/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Baselines of audits: from the ledger, and from the published file for links
 * that the ledger does not know yet.
 *
 * A link is known if BASELINE_ENOUGH or more samples cross it. If the baseline
 * of a link was ever reset (pmm ledger rebase), only the ledger counts for it:
 * samples of the file that cross it are ignored.
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
    /* audits per link, from the ledger. A host's offset in the judged run is as
     * uncertain as in each of n others, so the variance of the error is 1 + 1 /
     * n of it. With n = 3 the error is 15 % above the minimum, with n = 8 6 %,
     * for more than twice the rows
     */
    BASELINE_LAST = 3,
    BASELINE_ENOUGH = 4,
};

struct baseline_set {
    struct samples *samples[2]; /* of the ledger, then of the file, */
    struct pathset *ps[2];
    struct baseline v[2];       /* ... the same as input of the judge */
    size_t n;                   /* 0: no baseline */
    bool publish; /* the ledger knows all links that the file does */
    char odd[256]; /* the file's error; "": none */
};

/* Gather the baselines; path is the published file, "" for none. The file is
 * used if it knows links that the ledger does not. Return 0, or -1 with err if
 * the ledger cannot be read; call baseline_clear in both cases.
 */
int baseline_gather (struct baseline_set *set, struct ledger *ledger,
                     const struct fabric *f, const char *path,
                     struct error *err);
void baseline_clear (struct baseline_set *set);

/* Publish the ledger's baseline if it may replace the file and differs from it.
 * Return 1 if it did, 0 if there was nothing to do, -1 with err.
 */
int baseline_publish (struct ledger *ledger, const struct fabric *f,
                      const char *path, struct error *err);

#endif /* PROLOG_BASELINE_H */
