/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the audit service does again and again. Each duty is a row of the table
 * in serve.c, and has a file duty_*.c where it is not small.
 */
#ifndef PROLOG_DUTY_H
#define PROLOG_DUTY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/audit/audit.h"
#include "prolog/ledger/ledger.h"
#include "prolog/serve/queue.h"
#include "prolog/serve/spool.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/site.h"

/* A node that the policy waits for an audit of. */
struct wish {
    char node[64];
    enum ledger_why why; /* CONFIRM or AGAIN */
    uint64_t audit; /* CONFIRM: this one, */
    json_t *suspects; /* ... and the links that its FAIL may be of; or NULL */
    int64_t when;   /* it makes sense from then on */
    int64_t held;   /* there was none to be had: not before */
    bool waits;     /* for a partner that tells its link from others */
};

/* What may have to wait. */
enum kept { KEPT_JOBS, KEPT_USER, KEPT_CONFIRM, KEPT_AGAIN, KEPT };

struct service {
    const char *conf;
    FILE *log;
    const volatile sig_atomic_t *stop;
    struct site site;
    struct spool *spool;

    /* set by a duty: */
    bool hurry;   /* it is due again in a second */
    bool untried; /* what it failed at was not due: it may fail yet */

    char user[CONTROLLER_NAME]; /* SlurmUser, our own */
    struct ledger *ledger;
    ino_t ledger_inode;
    struct fabric *fabric;      /* for duties that need it */
    struct nodemap *map;        /* NULL: the site has none */
    struct timespec snapshot;   /* the fabric's date */

    struct spool_list ended; /* the spool, as duty_spool read it last */
    struct queue_hold *hold;
    size_t nholds;
    struct wish *wish;
    size_t nwishes;
    json_t *missed; /* {node: time}: when it was logged as not audited */
    char kept[KEPT][QUEUE_WHY_MAX]; /* why they wait; "": they do not */
    int64_t looked; /* when duty_sweep last looked for what is open */
};

/* A line of the log, cleaned. */
void service_log (const struct service *s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* A status in the ledger's JSON; UNKNOWN where there is none. */
enum verdict_status service_status (const json_t *obj, const char *key);

/* Audits, as the ledger lists them, for the queue: one a row; the caller's to
 * free.
 */
struct queue_audit *service_audits (const json_t *list);

/* Whether another audit may begin for this reason: 1; 0 with why; -1 with err.
 */
int service_may_audit (const struct service *s, enum ledger_why reason,
                       char why[QUEUE_WHY_MAX], struct error *err);

/* Log once why they wait ("": they do not), and when they no longer do. */
void service_keep (struct service *s, enum kept what, const char *why);

/* Drop the nodes that audits leave out (ledger_faulty) from a list. Return 0,
 * or -1 with err.
 */
int service_leave_out (struct ledger *ledger, struct hostlist *nodes,
                       struct error *err);

/* Audit nodes, but no more than an audit may have. `before` is audit_request's.
 * Return as audit_run.
 */
int service_audit (struct service *s, const struct hostlist *nodes,
                   const struct ledger_cause *cause, const char *before,
                   struct audit_result *result, struct error *err);

/* Queue a job's comment on what an audit found, if the site wants comments. One
 * that is queued twice counts once. Return 0, or -1 with err.
 */
int service_comment (struct service *s, uint64_t job, int64_t audit,
                     struct error *err);

/* Do it once. Return 0; 1 where it did something, so that all duties are due;
 * -1 with err.
 */
typedef int (*duty_f) (struct service *s, struct error *err);

/* Read the spool; audit the job that is next, if there is one. */
int duty_spool (struct service *s, struct error *err);

/* Whether a job has just left the node: its audit may be about to begin. */
bool service_just_left (const struct service *s, const char *node,
                        int64_t now);

/* Have the policy decide and act; audit a node that it waits for. */
int duty_policy (struct service *s, struct error *err);
int duty_confirm (struct service *s, struct error *err);
void duty_wishes_clear (struct service *s);

/* Audit idle nodes where cables are due, or are not resolved. */
int duty_sweep (struct service *s, struct error *err);

/* Log the nodes that were not audited for long. */
int duty_missed (struct service *s, struct error *err);

/* Publish what is known of each node, for the hooks. */
int duty_publish (struct service *s, struct error *err);

/* Write comments that are due. */
int duty_comments (struct service *s, struct error *err);

/* Forget what is too old. */
int duty_prune (struct service *s, struct error *err);

#endif /* PROLOG_DUTY_H */
