/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audit: measure nodes with a job of our own (prolog/audit/parts), judge the
 * raw samples with the snapshot and the ledger, and enter the result there. Run
 * by `pmm audit`, by hand or as a service.
 *
 * One audit of a ledger runs at a time, under a lock on the file LEDGER.lock.
 * It is entered before it runs, and its end when audit_run returns or, if that
 * was killed, when the next audit begins.
 *
 * The job has whole nodes in AuditPartition and never waits: busy nodes are
 * left to their jobs. Nodes that we drained stay drained; they are measured
 * outside the job, with its nodes as partners. If all are drained, there is no
 * job.
 *
 * The rails of a node measure each other, so a node of several needs no other.
 *
 * What runs on a node is in the hands of its root. What one member can bring
 * about alone, and what becomes of it:
 *
 *   the result     The leader is chosen here, and only its record counts, whoever
 *                  speaks first: srun labels each line with its task. A record of
 *                  another is told to the site. If the leader has none, another's
 *                  counts, but as UNKNOWN: nothing in it is clean. A leader can
 *                  invent all samples, so the policy acts on two audits that no
 *                  single node decides, to drain and to resume alike. The label
 *                  is slurmstepd's: what replaces that prints as the leader.
 *                  Its root holds the site's munge key as well, and drains or
 *                  resumes any node by scontrol (docs/security.md).
 *   its samples    A pair is measured from both of its ends, each of which
 *                  reports its own. A liar makes its own pairs slow, or fast: its
 *                  own cable's, and that of a node with no other partner, which
 *                  the policy does not believe either.
 *   its ports      Counters and traffic are taken of its own ports alone, some
 *                  dozens of each. With them it casts doubt on its own cable.
 *   the exchange   By PMIx a task puts only its own words. By PMI-2, which is
 *                  taken where PMIx does not start on all nodes, its root can
 *                  put those of other ranks, too: as above.
 *   no audit       It can keep silent, end its task, which ends the step, or fill
 *                  its record: a node that made audits fail is left out of later
 *                  ones (ledger_faulty), and named. So is one that floods them:
 *                  lines and records are bounded, and the leader's has room of
 *                  its own.
 */
#ifndef PROLOG_AUDIT_H
#define PROLOG_AUDIT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/ledger/ledger.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/site.h"
#include "util/text.h"

enum {
    AUDIT_NODES_MAX = 1024, /* of one audit */
    AUDIT_NODES_MIN = 2,
    AUDIT_TRIES = 12,
    AUDIT_TRIES_TIME = 4,
};

/* All borrowed. */
struct audit {
    const struct site *site;
    const char *conf;     /* pmm.conf for pmm-probe; NULL: its own */
    struct ledger *ledger; /* open for writing */
    const struct fabric *fabric;
    const volatile sig_atomic_t *stop; /* end it if not 0; may be NULL */
    FILE *report;         /* for warnings; NULL */

    const char *const *node; /* to audit, as Slurm calls them */
    size_t n;
    bool anyway;               /* also nodes that are left out for a while */
    struct ledger_cause cause; /* its leader is chosen here, */
    const char *before;        /* ... not this one if possible; NULL: not the
                                  last audit's */
};

struct audit_result {
    int64_t id;              /* in the ledger; 0: not begun */
    enum verdict_status status;
    char sentence[256];      /* the verdict's, or why there is none */
    char astray[64];         /* a node that printed a result though another led:
                                it does not run our probe; "": none */
};

/* Audit the nodes. Nodes that are not in the snapshot, or that made earlier
 * audits fail and were not measured since (ledger_faulty), are left out and
 * named on `report`.
 *
 * If there is no result because of some nodes, the others are tried again, each
 * time as an audit of its own. srun names these nodes; otherwise a search by
 * halves finds one, at most once an hour. They enter the ledger as faults if
 * srun could start the step on others, or the others were measured. Takes at
 * most AuditTimeout and some seconds, or AUDIT_TRIES_TIME times as long if it
 * is tried again.
 *
 * Return 1 if they were measured; 0 if not, with UNKNOWN and the reason in the
 * result (busy nodes, fewer than two rails, another audit, it was stopped,
 * Slurm does not answer ...); -1 with err if the ledger, the snapshot or
 * pmm.conf is at fault.
 */
int audit_run (const struct audit *audit, struct audit_result *result,
               struct error *err);

/* In the directory Reports, if the site has one: delete pages of audits that the
 * ledger has no more, and more than ReportsKept. Return 0, or -1 with err.
 */
int reports_tidy (const struct site *site, struct ledger *ledger,
                  struct error *err);

/* Of what the site's page is made. */
struct reports {
    const struct site *site;
    struct ledger *ledger;
    const struct fabric *fabric;
    const char *const *node_of;           /* [endpoint] the node */
    const struct controller_nodes *nodes; /* NULL: not known */
    const struct ledger_notice *news;     /* [nnews] of the policy's last
                                             decisions */
    size_t nnews;
};

/* List the nodes of Slurm that are in the snapshot and that no audit has
 * measured for a long time. A node in service (not
 * drained, down, off or reserved) is overdue a day after AuditEvery has passed;
 * one that audits leave out, a day after its newest audit. AuditEvery=0 asks
 * for no audit of the other nodes. A node that was never measured counts from
 * the first audit in the ledger. Return 0, or -1 with err; call hostlist_clear
 * in both cases.
 */
int missed_nodes (struct hostlist *missed, const struct reports *in,
                  int64_t now, struct error *err);

/* Write index.html there, the site's page, if something in it has changed and it
 * was not written in the last minute. Return 1 if it was written; 0 if not; 2: not
 * yet, for the minute is not over; -1 with err.
 */
int reports_index (const struct reports *in, struct error *err);

#endif /* PROLOG_AUDIT_H */
