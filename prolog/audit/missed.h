/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Missed: nodes that audits have not measured for long. Read by the audit
 * service, which says so, and by pmm doctor.
 *
 * A node in service (neither drained nor down, off or reserved) is overdue a
 * day after AuditEvery has gone by, or a day after its newest audit where it is
 * one that audits leave out; AuditEvery=0 asks for no audit of the others. What
 * no audit has measured counts from the first audit of the ledger.
 */
#ifndef PROLOG_MISSED_H
#define PROLOG_MISSED_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/ledger/ledger.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/site.h"
#include "util/text.h"

/* List those of Slurm's nodes that are in the snapshot and overdue; map NULL:
 * the site has none. Return 0, or -1 with err; hostlist_clear is due in both
 * cases.
 */
int missed_nodes (struct hostlist *missed, struct ledger *ledger,
                  const struct site *site, const struct fabric *f,
                  const struct nodemap *map,
                  const struct controller_nodes *nodes, int64_t now,
                  struct error *err);

#endif /* PROLOG_MISSED_H */
