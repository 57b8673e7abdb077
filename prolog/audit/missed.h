/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Missed: nodes that no audit has measured for a long time. Read by the audit
 * service, which logs them, and by pmm doctor.
 *
 * A node in service (not drained, down, off or reserved) is overdue a day after
 * AuditEvery has passed. A node that audits leave out is overdue a day after
 * its newest audit. AuditEvery=0 asks for no audit of the other nodes. A node
 * that no audit has measured counts from the first audit in the ledger.
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

/* List the nodes of Slurm that are in the snapshot and overdue; map NULL: the
 * site has none. Return 0, or -1 with err; call hostlist_clear in both cases.
 */
int missed_nodes (struct hostlist *missed, struct ledger *ledger,
                  const struct site *site, const struct fabric *f,
                  const struct nodemap *map,
                  const struct controller_nodes *nodes, int64_t now,
                  struct error *err);

#endif /* PROLOG_MISSED_H */
