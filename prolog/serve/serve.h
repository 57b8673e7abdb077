/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit service: audits the nodes of jobs that end, sweeps idle nodes, and
 * acts on the results. Run by `pmm audit --serve`.
 *
 * One loop runs a few duties (prolog/serve/duty.h), each at its interval.
 * Everything that must outlive the process is in the ledger, the spool and
 * Slurm: the service can be killed at any point and started again. A duty that
 * fails is tried again after 1 s, 2 s and so on, up to a minute; the failure is
 * logged once, and so is the recovery.
 */
#ifndef PROLOG_SERVE_H
#define PROLOG_SERVE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"

/* Serve until SIGTERM or SIGINT, which end a running audit at once; on SIGHUP
 * read pmm.conf, the snapshot and the ledger again. Writes one line per event
 * to `log`. Installs handlers for these signals. conf is pmm.conf; NULL: the
 * default path. once: run the duties that are due, and return.
 *
 * Return 0 at the end, or -1 with err if it cannot start: it runs as root, as
 * another user than SlurmUser or the owner of ledger and spool, or another
 * service runs. ERROR_INPUT: a restart will not help, for example with a bad
 * pmm.conf or a damaged ledger. If slurmctld does not answer, it waits.
 */
int serve (const char *conf, bool once, FILE *log, struct error *err);

#endif /* PROLOG_SERVE_H */
