/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audit: measure nodes by a job of our own, and enter the result in the ledger.
 *
 * Run by `pmm audit`, by hand or as a service. The step only measures: its raw
 * samples are judged here, with the snapshot and the ledger
 * (prolog/audit/record, prolog/audit/baseline).
 *
 * One audit of a ledger runs at a time, under a lock on the file LEDGER.lock.
 * It is in the ledger before it runs. Its end is there when audit_run returns,
 * or if that was killed, when the next one begins.
 *
 * The job is of whole nodes, in AuditPartition, and never waits: nodes that are
 * busy are left to their jobs. Nodes that we drained stay so; they are measured
 * outside of the job, with its nodes as partners. If the job must be ended, no
 * part of it remains.
 */
#ifndef PROLOG_AUDIT_H
#define PROLOG_AUDIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"
#include "prolog/ledger/ledger.h"
#include "util/error.h"
#include "util/site.h"

enum {
    AUDIT_NODES_MAX = 1024, /* of one audit */
    AUDIT_NODES_MIN = 2,
    AUDIT_TRIES = 12,
    AUDIT_TRIES_TIME = 4,
};

/* What audits are run with; all borrowed. */
struct audit {
    const struct site *site;
    const char *conf;     /* pmm.conf for pmm-probe; NULL: its own */
    struct ledger *ledger; /* open for writing */
    const struct fabric *fabric;
    const volatile sig_atomic_t *stop; /* not 0: end it; may be NULL */
    FILE *report;         /* for what is odd but stops nothing; NULL */
};

struct audit_request {
    const char *const *node; /* as Slurm calls them */
    size_t n;
    bool anyway;               /* those, too, that are left out for a while */
    struct ledger_cause cause; /* its leader is chosen here, */
    const char *before;        /* ... not this one, if that can be; NULL: not
                                  the last audit's */
};

struct audit_result {
    int64_t id;              /* in the ledger; 0: not even begun */
    uint64_t job;            /* Slurm's; 0: none, or not known */
    enum verdict_status status;
    char sentence[256];      /* the verdict's, or why there is none */
};

/* Audit the nodes. Nodes that are not in the snapshot are named on `report` and
 * left out, as are those that made earlier audits fail and were not measured
 * since (ledger_faulty).
 *
 * If some nodes are at fault that there is no result, the others are tried
 * again, each time as an audit of its own. srun tells which nodes these are, or
 * a search does: by halves, at most once an hour. They enter the ledger as
 * faults if srun could start the step on others, or the others were measured.
 * What happens to all nodes is the fault of none.
 *
 * Takes at most AuditTimeout and some seconds, or AUDIT_TRIES_TIME times that
 * where it is tried again.
 *
 * Return 1 where they were measured; 0 where they were not, with UNKNOWN and
 * the reason in the result: the nodes are busy, fewer than two are left,
 * another audit runs, the job has its audit, it was stopped, Slurm does not
 * answer; -1 with err where the ledger, the snapshot or pmm.conf is at fault.
 */
int audit_run (const struct audit *audit, const struct audit_request *request,
               struct audit_result *result, struct error *err);

#endif /* PROLOG_AUDIT_H */
