/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit service: audits the jobs that end, sweeps idle nodes, and acts on
 * the results. Run by `pmm audit --serve`.
 *
 * One loop runs a few duties (prolog/serve/duty.h), each at its time. All that
 * must outlive the process is in the ledger, in the spool and in Slurm: it may
 * be killed at any point and started again. A duty that fails is tried again
 * after a second, then after two and so on, up to a minute; a failure is logged
 * once, and the recovery.
 */
#ifndef PROLOG_SERVE_H
#define PROLOG_SERVE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"

struct serve_options {
    const char *conf; /* pmm.conf; NULL: where it is by default */
    bool once;        /* do what is due, and return */
};

/* Serve until SIGTERM or SIGINT, which end an audit at once; SIGHUP makes it
 * read pmm.conf, the snapshot and the ledger again. Writes one line an event to
 * `log`. Installs handlers of these signals.
 *
 * Return 0 at the end, or -1 with err where it cannot start: as root, as
 * another user than the owner of ledger and spool or than SlurmUser, or while
 * another one runs. ERROR_INPUT: another start will not help, as with a bad
 * pmm.conf or a damaged ledger. It waits where slurmctld does not answer.
 */
int serve (const struct serve_options *options, FILE *log, struct error *err);

#endif /* PROLOG_SERVE_H */
