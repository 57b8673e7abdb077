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
#include "probe/nodemap.h"
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
    bool patient;   /* it waits for a partner that tells its link from others */
};

/* Who may be kept waiting. */
enum kept { KEPT_JOBS, KEPT_USER, KEPT_CONFIRM, KEPT_AGAIN, KEPT };

struct service {
    const char *conf;
    FILE *log;
    const volatile sig_atomic_t *stop;
    struct site site;
    struct spool *spool;

    bool hurry;   /* a duty's: it is due again in a second */
    bool untried; /* a duty's: what it failed at was not due, so that it is
                     not known to work again */

    char user[CONTROLLER_NAME]; /* SlurmUser, who we are */
    struct ledger *ledger;
    ino_t ledger_inode;
    struct fabric *fabric;      /* for duties that need it */
    struct nodemap *map;        /* NULL: the site has none */
    struct timespec snapshot;   /* its date */

    struct spool_list ended; /* the spool, as duty_spool saw it last */
    struct queue_hold *hold;
    size_t nholds;
    struct wish *wish;
    size_t nwishes;
    json_t *missed; /* {node: time}: said not to have been audited for long */
    char kept[KEPT][QUEUE_WHY_MAX]; /* why; "": nobody does */
    int64_t looked; /* when what audits leave open was looked for */
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

/* Whether another audit may begin for this reason, and in why, why not: 1, 0,
 * or -1 with err.
 */
int service_may_audit (const struct service *s, enum ledger_why reason,
                       char why[QUEUE_WHY_MAX], struct error *err);

/* Who is kept waiting, and why ("": nobody is): a line of the log, once, and
 * one when it is over.
 */
void service_keep (struct service *s, enum kept who, const char *why);

/* Take those off a list that audits leave out (ledger_faulty). Return 0, or -1
 * with err.
 */
int service_leave_out (const struct service *s, struct hostlist *nodes,
                       struct error *err);

/* Audit nodes: of more than an audit may have, some. `before`: as audit_request
 * has it. Return as audit_run.
 */
int service_audit (struct service *s, const struct hostlist *nodes,
                   const struct ledger_cause *cause, const char *before,
                   struct audit_result *result, struct error *err);

/* Queue a job's comment for what an audit found, where the site wants any. The
 * same one twice counts once. Return 0, or -1 with err.
 */
int service_comment (struct service *s, uint64_t job, int64_t audit,
                     struct error *err);

/* Do it once. Return 0; 1 where something was done, upon which all duties are
 * due; -1 with err.
 */
typedef int (*duty_f) (struct service *s, struct error *err);

/* Take the spool in hand: audit the job that is next, if one is. */
int duty_spool (struct service *s, struct error *err);

/* Whether a job has just left the node, whose audit may be about to begin. */
bool service_just_left (const struct service *s, const char *node,
                        int64_t now);

/* Have the policy decide and act; audit a node that it waits for. */
int duty_policy (struct service *s, struct error *err);
int duty_confirm (struct service *s, struct error *err);
void duty_wishes_clear (struct service *s);

/* Audit idle nodes, where cables were not measured for long, or cannot be told
 * apart.
 */
int duty_sweep (struct service *s, struct error *err);

/* Say who was not audited for long. */
int duty_missed (struct service *s, struct error *err);

/* Publish what is known of each node, for the hooks. */
int duty_publish (struct service *s, struct error *err);

/* Work off comments that are due. */
int duty_comments (struct service *s, struct error *err);

/* Forget what is too old. */
int duty_prune (struct service *s, struct error *err);

#endif /* PROLOG_DUTY_H */
