/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's baseline: the file Baseline of pmm.conf or, if that is "", one next
 * to the ledger. Each audit is added to it when it has ended, so that nothing
 * that is done grows with the ledger; audits that are deleted stay in it. Where
 * a step's run was published (pmm baseline publish), the ledger's audits come
 * before it. It is made anew from the ledger where it is missing, damaged, of
 * another fabric or of another ledger.
 */
#ifndef PROLOG_AUDIT_BASELINE_H
#define PROLOG_AUDIT_BASELINE_H

#include <stddef.h>

#include "core/baseline/baseline.h"
#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"
#include "util/error.h"

enum {
    /* Audits per link. A host's offset in the judged run is as uncertain as in
     * each of n others: the variance of the error is 1 + 1 / n of it. With n =
     * 3 the error is 15 % above the minimum, with n = 8 6 %, for more than
     * twice the rows.
     */
    BASELINE_LAST = 3,
};

struct site_baseline {
    struct ledger *ledger;
    const struct fabric *fabric;
    const char *path; /* Baseline of pmm.conf */
};

/* What is close to a job, at most so many rows, without links that were reset
 * (pmm ledger rebase). *odd, of 256 bytes, is why the file could not be used, or "".
 * A baseline, maybe without rows, or NULL with err: the ledger cannot be read.
 */
struct baseline *site_baseline_near (const struct site_baseline *site,
                                     struct pathset *job, size_t most,
                                     char *odd, struct error *err);

/* The same of all links. */
struct baseline *site_baseline_read (const struct site_baseline *site,
                                     char *odd, struct error *err);

/* What the ledger knows, without the file: of each link the newest n audits.
 * NULL with err.
 */
struct baseline *site_baseline_make (const struct site_baseline *site,
                                     size_t n, struct error *err);

/* Add what the ledger has learned. Return 1 if the file changed, 0 if not, -1
 * with err.
 */
int site_baseline_update (const struct site_baseline *site, struct error *err);

/* Learn what got slower by less than fail_ns and stays so (LEDGER_SETTLED):
 * reset these links' baseline, as pmm ledger rebase does. Return how many; if
 * there are any, *said names them, which the caller frees. -1 with err.
 */
int site_baseline_settle (const struct site_baseline *site, int64_t now,
                          double fail_ns, char **said, struct error *err);

/* Write a baseline, if the file does not have the same. Return as above. */
int site_baseline_put (const struct baseline *b, const char *path,
                       struct error *err);

#endif /* PROLOG_AUDIT_BASELINE_H */
