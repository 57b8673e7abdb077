/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Duties: what the audit service repeats, by the table in serve.c. */
#ifndef PROLOG_DUTY_H
#define PROLOG_DUTY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/audit/audit.h"
#include "prolog/ledger/ledger.h"
#include "prolog/policy/policy.h"
#include "prolog/serve/queue.h"
#include "prolog/serve/spool.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/site.h"

/* Notices, and their texts. */
struct notices {
    struct ledger_notice *v;
    size_t n;
    struct pool *pool;
};
void notices_clear (struct notices *list);

/* What the site was told, or is to be. */
struct told {
    struct trouble { /* what fails, */
        const char *what;
        int64_t since_ms;
        char *words;
    } *trouble;
    size_t ntroubles;
    struct notices news; /* of the policy's last decisions, */
    bool has_news;       /* ... if there were any, */
    int64_t news_made;   /* ... and how often they changed */
    pid_t telling;       /* runs NotifyProgram; 0: none */
    int64_t digest;      /* the week of the last one */
    bool cried;          /* the site was told of trouble without the ledger */
};

/* What the site is: its configuration and files. */
struct service {
    const char *conf;
    FILE *log;
    bool journal; /* it is systemd's */
    const volatile sig_atomic_t *stop;
    struct site site;
    struct spool *spool;
    struct fabric *fabric;    /* for duties that need it */
    struct nodemap *map;      /* has their names; NULL: the site has none */
    const char **node_of;     /* [endpoint] the node, borrowed */
    struct timespec snapshot; /* the fabric's date */
};

/* What duties leave to others, and to their next run. */
struct service_state {
    struct told told;
    bool decided; /* the policy has, and these nodes were blocked: */
    size_t blocked[POLICY_BLOCKS];
    struct spool_list ended; /* the spool, as last read by duty_spool */
    bool *reach;             /* [link] as service_reach has it; NULL: not known */
    int64_t reach_due_ms;    /* when it is learnt again */
    struct prune {
        int64_t due_ms; /* when duty_prune looks again, not before an hour */
        int64_t told_old_ms; /* ... and tells again */
        int64_t before;      /* what it deletes until then */
        int64_t audits;      /* deleted, as not logged yet */
    } prune;
};

/* Write a line to the log, cleaned. In the journal it has a priority, and a
 * token by its kind that stays the same; pmm(1) lists them.
 */
enum service_line {
    LINE_SERVICE,
    LINE_TROUBLE,
    LINE_RECOVERED,
    LINE_FABRIC,
    LINE_JOB,
    LINE_AUDIT,
    LINE_FAIL, /* an audit that FAILs */
    LINE_POLICY,
    LINE_DRAIN,
    LINE_RESUME,
    LINE_MISSED,
    LINE_NOTIFY,
    LINE_KEEP, /* comments, the ledger */
};
void service_log (const struct service *s, enum service_line kind,
                  const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Whether another audit may begin for this reason; -1 with err. */
int service_may_audit (const struct service *s, struct ledger *ledger,
                       enum ledger_why reason, struct error *err);

/* Remove the nodes that audits leave out (ledger_faulty) from a list. Return 0,
 * or -1 with err.
 */
int service_leave_out (struct ledger *ledger, struct hostlist *nodes,
                       struct error *err);

/* Audit nodes, but at most as many as an audit may have. `before` is as in
 * struct audit. *id (NULL: not wanted) is its number. Returns as audit_run.
 */
int service_audit (const struct service *s, struct ledger *ledger,
                   const struct hostlist *nodes,
                   const struct ledger_cause *cause, const char *before,
                   int64_t *id, struct error *err);

/* Queue a job's comment on the result of an audit, if the site wants comments.
 * A comment that is queued twice counts once. Return 0, or -1 with err.
 */
int service_comment (const struct service *s, struct ledger *ledger,
                     uint64_t job, int64_t audit, struct error *err);

/* Run a duty once. Return a sum of these, or -1 with err. */
enum {
    DUTY_DID = 1,     /* it did something: all duties are due */
    DUTY_HURRY = 2,   /* it is due again in a second */
    DUTY_UNTRIED = 4, /* it did not try what failed before */
};
typedef int duty_f (const struct service *s, struct ledger *ledger,
                    struct service_state *state, struct error *err);

/* Read the spool; audit the job that is next, if there is one. */
duty_f duty_spool;

/* Log how many jobs more were not audited than were named: each hour, and when
 * the service ends.
 */
void service_passed (const struct service *s);

/* Whether a job has just left the node: its audit may be about to begin. */
bool service_just_left (const struct service_state *state, const char *node);

/* Let the policy decide and act; audit a node that it waits for. */
duty_f duty_policy;
duty_f duty_confirm;
/* How many nodes it waits for. */
size_t duty_wishes (void);
void duty_wishes_clear (void);

/* Audit idle nodes whose cables are due or not resolved. */
duty_f duty_sweep;

/* Log the nodes that were not audited for a long time, at most once a day. */
duty_f duty_missed;

/* Delete pages of audits that are too old; write the site's page, at most once a
 * minute.
 */
duty_f duty_reports;
void duty_reports_clear (void);

/* Publish the state of each node for the hooks. */
duty_f duty_publish;

/* Note that something fails, or with words NULL that it works again. */
void told_trouble (struct told *told, const char *what, const char *words);
void told_clear (struct told *told);

/* Enter for duty_notify that a node spoke out of turn in an audit; "": none. */
int service_astray (struct ledger *ledger, const char *node, int64_t audit,
                    struct error *err);

/* Tell the site what is new, by its NotifyProgram: also of a ledger that does
 * not work.
 */
duty_f duty_notify;

/* The cables to tell of: the findings of level FAIL, or of messages that are lost
 * or delayed, that are the newest of a cable each; those between switches, and
 * delays, if another audit confirms them, since others' traffic looks like a slow
 * cable for a while. Of host ends, too, if `all`: these are told when a node is
 * drained, or would be. Return 0, or -1 with err; notices_clear in both cases.
 */
int service_cables (const struct service *s, struct ledger *ledger, bool all,
                    int64_t now, struct notices *cables, struct error *err);

/* A cable of which one audit says such a thing, and no other one has confirmed it
 * or found it clean. Or audits found it slower by more than FailExcess and cannot
 * say so for sure: others' traffic met all messages, or it has other suspects.
 */
struct doubt {
    int64_t since; /* when the newest audit was begun that FAILs it; if none does,
                      the oldest; 0: no doubt */
    bool fails;
};

/* Fill doubt [links]. 0, or -1 with err. */
int service_doubted (const struct service *s, struct ledger *ledger,
                     int64_t now, struct doubt *doubt, struct error *err);

/* When each link was last measured, or `never`; NULL with err; the caller frees it.
 */
int64_t *service_measured (const struct fabric *f, struct ledger *ledger,
                           int64_t never, struct error *err);

/* When each link was last measured, as for a sweep (serve/sweep), which takes one
 * that is doubted for that ConfirmAfter later, and as long as it is doubted after
 * twice the time again; one that FAILs first: a sweep has room for few. NULL with
 * err; the caller frees it.
 */
int64_t *service_ages (const struct service *s, struct ledger *ledger,
                       int64_t now, struct error *err);

/* Keep what the policy decided, for duty_notify and duty_metrics. */
void notify_decisions (struct service_state *state, const struct decisions *d);

/* Learn which cables audits can measure: those of the paths between the nodes
 * of AuditPartition. service_reach takes the nodes, sorted.
 */
duty_f duty_reach;
int service_reach (const struct service *s, struct service_state *state,
                   const struct hostlist *nodes, struct error *err);

/* Write the metrics: also without a ledger or a fabric. */
duty_f duty_metrics;

/* Write the comments that are due. */
duty_f duty_comments;

/* Learn small changes that stay. */
duty_f duty_settle;

/* Delete what is too old. */
duty_f duty_prune;

#endif /* PROLOG_DUTY_H */
