/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queue: decide which audit is next, from the spool's records, the ledger's
 * audits, the idle nodes, and pmm.conf. A pure function, like the policy.
 *
 * A record is dropped without an audit of its own if
 *
 *   the job ran in the audits' own partition: no audit of an audit
 *   it had one node, no two rails of which are in one subnet
 *   no rule asks for it: it has fewer than AuditMinNodes nodes, all of them
 *     were measured within AuditEvery, and its user asked for no check
 *   only its user asked, and that user's checks had ChecksPerUser audits in a
 *     day
 *   all its nodes have been measured since, or within AuditAgainAfter
 *   a later job that a rule asks for ran on all of its nodes
 *   an hour passed: its nodes were never idle at once, or there were too many
 *     audits
 *   QUEUE_TRIES audits of it were begun and none has a result
 *
 * Of the remaining records, only those whose nodes are all idle can be next.
 * The order is: audits begun before, then jobs due for their size, then jobs
 * with cables not measured for a long time, then users' checks; in each group
 * the newest job first, since its nodes will be allocated next. No record is
 * next if AuditsPerHour audits were begun in the last hour; nor a record of a
 * user whose jobs had AuditsPerUser of these.
 *
 * AuditsPerHour is shared. A quarter is kept for confirmations, which drain a
 * node or clear it; they may use at most half. At most a quarter is for nodes
 * that we drained, to find out whether they are repaired. Idle nodes are swept
 * only while half is left.
 *
 * Clocks may be stepped. A time is within a span if it is less than that span
 * before or after now. So a clock that was ahead delays nothing for longer than
 * the span.
 */
#ifndef PROLOG_QUEUE_H
#define PROLOG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "prolog/serve/spool.h"
#include "util/site.h"
#include "util/text.h"

enum {
    QUEUE_TRIES = 3,
    QUEUE_WAIT_S = 3600, /* for idle nodes */
    QUEUE_HOLD_S = 60,   /* after it was tried */
    QUEUE_WHY_MAX = 128,
};

/* When each host was last measured, by name. */
struct queue_host {
    const char *name;
    int64_t time;
    bool pair; /* two of its rails are in one subnet */
};

struct queue_input {
    int64_t now;
    const struct site *site;
    const struct spool_list *spool;
    const struct ledger_audit *audit; /* of the last day, or since a record was
                                         begun */
    size_t naudits;
    const struct queue_host *host; /* sorted by strcmp */
    size_t nhosts;
    const struct hostlist *idle;   /* sorted by strcmp */
};

enum queue_fate {
    QUEUE_NONE,  /* already done */
    QUEUE_GO,    /* audit it, if it is next */
    QUEUE_HOLD,  /* later: its nodes are busy, it was just tried, or there were
                    too many audits */
    QUEUE_FOUND, /* `audit` was its audit */
    QUEUE_DROP,
    QUEUE_PASS,  /* as DROP, but not logged: no rule asks for it, as for most
                    jobs */
};

/* Why it is audited: the first rule that asks for it. */
enum queue_cause { QUEUE_SIZE, QUEUE_AGE, QUEUE_CHECK };

struct queue_answer {
    enum queue_fate fate;
    enum queue_cause cause;
    int64_t audit;
    char why[QUEUE_WHY_MAX]; /* one line, for the log */
};

struct queue_plan {
    struct queue_answer *v; /* one per record, in the spool's order */
    size_t next;            /* index in v; SIZE_MAX: none */
    char full[QUEUE_WHY_MAX]; /* why too many audits make jobs wait, all or
                                 those of one user; "": none waits for that */
};

/* Decide. Cost: O(r (a + n log h)) for r records of n nodes, a audits and h
 * hosts; at worst O(r^2 n) if the records have many nodes in common.
 */
void queue_decide (struct queue_plan *plan, const struct queue_input *in);
void queue_clear (struct queue_plan *plan);

/* Whether one more audit may begin for this reason. If not, `why` names the
 * share of AuditsPerHour that is used up.
 */
bool queue_may (const struct ledger_audit *audit, size_t n,
                enum ledger_why reason, size_t per_hour, int64_t now,
                char why[QUEUE_WHY_MAX]);

/* Whether a record was tried a moment ago, and is not tried again yet. */
bool queue_is_held (const struct spool_entry *e, int64_t now);

#endif /* PROLOG_QUEUE_H */
