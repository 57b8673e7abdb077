/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs: what an audit's ports show besides latency, compared with the ledger
 * and the snapshot, and entered in the ledger.
 *
 *   counter  an error counter has grown by more than is healthy since the
 *            previous audit that read it (table in ibquery/local)
 *   width    the port has fewer lanes than the snapshot has for its cable
 *   speed    the port has slower lanes
 *
 * One kind is not entered, but compared with the verdict:
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

/* The audit whose signs are entered, and when. node_of[endpoint] is the node of
 * that endpoint; NULL: not of the audit.
 */
struct signs_scope {
    struct ledger *ledger;
    int64_t audit, time;
    const struct fabric *f;
    const char *const *node_of;
};

/* Enter the ports as the audit read them. Ports of other nodes, and ports that
 * are not in the snapshot, are ignored. Return the number of signs, or -1 with
 * err.
 */
int signs_enter (const struct signs_scope *scope,
                 const struct local_port *port, size_t n, struct error *err);

/* Whether a port belongs to that node, by the snapshot. */
bool signs_owns (const struct fabric *f, const char *const *node_of,
                 const char *node, const struct local_port *port);

/* Enter what a published check (pmm fabric check --json) found at the host
 * links of the audit's nodes, if it is of this fabric and younger than
 * SIGNS_MAX_AGE; path "" and a missing file count as no check. Return the
 * number of signs, or -1 with err if the ledger is at fault. If the file cannot
 * be used, odd holds the reason in `size` bytes, else "".
 */
enum { SIGNS_MAX_AGE = 86400 };
int signs_enter_file (const struct signs_scope *scope, const char *path,
                      char *odd, size_t size, struct error *err);

/* Compare the waits in the published check, including those at switch ports,
 * with a verdict, if the check is younger than SIGNS_WAIT_AGE.
 */
enum { SIGNS_WAIT_AGE = 600 };
void signs_hold (struct verdict *v, const struct fabric *f, const char *path,
                 int64_t time, const struct judge_options *opts);

#endif /* PROLOG_SIGNS_H */
