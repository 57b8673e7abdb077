/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs of trouble: what an audit's ports tell beside their latency, held
 * against the ledger and the snapshot, and entered.
 *
 *   counter  an error counter has grown by more than is healthy since the
 *            audit before that saw it (prolog/node/local's table)
 *   width    the port has fewer lanes than the snapshot knows of its cable,
 *   speed    or slower ones
 */
#ifndef PROLOG_SIGNS_H
#define PROLOG_SIGNS_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"
#include "prolog/node/local.h"
#include "util/error.h"

/* Enter the ports as the audit saw them at that time. node_of[endpoint] is the
 * node that has it; ports of others, and those that are not in the snapshot,
 * are passed over. Return how many signs there were, or -1 with err.
 */
int signs_enter (struct ledger *ledger, int64_t audit, int64_t time,
                 const struct fabric *f, const char *const *node_of,
                 const struct local_port *port, size_t n, struct error *err);

#endif /* PROLOG_SIGNS_H */
