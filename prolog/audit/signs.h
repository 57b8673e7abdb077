/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs of trouble: what an audit's ports tell besides latency, compared
 * with the ledger and the snapshot, and entered.
 *
 *   counter  an error counter has grown by more than is healthy since the
 *            audit before that saw it (ibquery/local's table)
 *   width    the port has fewer lanes than the snapshot knows of its cable,
 *   speed    or slower ones
 *
 * and one that is not entered, but held against the verdict:
 *
 *   wait     messages waited at a port, by a published check
 */
#ifndef PROLOG_SIGNS_H
#define PROLOG_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/corroborate.h"
#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"
#include "ibquery/local.h"
#include "util/error.h"

/* Enter the ports as the audit saw them at that time. node_of[endpoint] is the
 * node that has it; ports of others, and those that are not in the snapshot,
 * are passed over. Return how many signs there were, or -1 with err.
 */
int signs_enter (struct ledger *ledger, int64_t audit, int64_t time,
                 const struct fabric *f, const char *const *node_of,
                 const struct local_port *port, size_t n, struct error *err);

/* Whether a port is that node's, as the snapshot has it. */
bool signs_owns (const struct fabric *f, const char *const *node_of,
                 const char *node, const struct local_port *port);

/* Enter what a published check (pmm fabric check --json) found of the host
 * links of the audit's nodes, if it is of this fabric and younger than
 * SIGNS_MAX_AGE; path "" and a missing file are none. Return how many, or -1
 * with err where the ledger is at fault; for a file that is of no use, *odd
 * has the reason in `size` bytes, else "".
 */
enum { SIGNS_MAX_AGE = 86400 };
int signs_enter_file (struct ledger *ledger, int64_t audit, int64_t time,
                      const struct fabric *f, const char *const *node_of,
                      const char *path, char *odd, size_t size,
                      struct error *err);

/* Hold the waits that it tells of, those of switches' ports among them, against
 * a verdict, if it is younger than SIGNS_WAIT_AGE.
 */
enum { SIGNS_WAIT_AGE = 600 };
void signs_hold (struct verdict *v, const struct fabric *f, const char *path,
                 int64_t time, const struct judge_options *opts);

#endif /* PROLOG_SIGNS_H */
