/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queue: which audit is next.
 *
 * Made from the spool's records, the ledger's audits, the nodes that are idle,
 * and pmm.conf. Read by the audit service. A pure function, as the policy is.
 *
 * A record is dropped without an audit of its own if
 *
 *   the job ran in the audits' own partition: no audit of an audit
 *   it had one node: no cable to measure between it and others
 *   no rule asks for it: it has fewer than AuditMinNodes nodes, each of which
 *     was measured within AuditEvery, and its user asked for no check
 *   only its user asked, whose checks had ChecksPerUser audits in a day
 *   its nodes have all been measured since, or within AuditAgainAfter
 *   a later job, for whose audit there is a rule too, ran on all of its nodes
 *   an hour went by: its nodes were never idle at once, or audits too many
 *   QUEUE_TRIES audits of it were begun and none of them has a result
 *
 * Of the rest, one is next of which all nodes are idle: first what was begun
 * before, then what is due for its size, then for cables that were not
 * measured for long, then for a user's check; the youngest first, since its
 * nodes will be taken next. None is next while AuditsPerHour were begun in the
 * last hour, nor of a user whose jobs had AuditsPerUser of these.
 *
 * AuditsPerHour is shared. A quarter is kept for confirmations, which drain a
 * node or clear it; these take no more than half. A quarter at most is for
 * nodes that we drained, to find out whether they are repaired. Idle nodes are
 * swept while half is left.
 *
 * Clocks step. A time counts as within a span if it is less than that span
 * before or after now: so a clock that was ahead delays nothing for longer than
 * the span.
 */
#ifndef PROLOG_QUEUE_H
#define PROLOG_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "prolog/serve/spool.h"
#include "util/error.h"
#include "util/text.h"

enum {
    QUEUE_TRIES = 3,
    QUEUE_WAIT_S = 3600, /* for idle nodes */
    QUEUE_HOLD_S = 60,
    QUEUE_WHY_MAX = 128,
};

/* pmm.conf(5) has the words and the defaults. */
struct queue_rules {
    const char *partition;
    size_t min_nodes; /* 0: no job for its size */
    size_t per_hour;
    size_t per_user;        /* of these */
    size_t checks_per_user; /* a day */
    int64_t every_s;  /* 0: no job for the age of measurements */
    int64_t again_s;  /* 0: however young these are */
};

/* Of the ledger: audits of the last day, and those since a record was begun. */
struct queue_audit {
    int64_t id;
    int64_t begun;
    bool result;  /* it has one */
    enum ledger_why why;
    uint64_t job; /* that gave rise to it; 0: none */
    int64_t uid;  /* of that job's user; -1: not known */
};

/* When each host was last measured, by name. */
struct queue_host {
    const char *name;
    int64_t time;
};

/* A record that could not be audited: left alone until then, but for no longer
 * than QUEUE_HOLD_S.
 */
struct queue_hold {
    uint64_t job;
    int64_t time;
    int64_t until;
};

struct queue_input {
    int64_t now;
    const struct spool_list *spool;
    const struct queue_audit *audit;
    size_t naudits;
    const struct queue_host *host; /* sorted by strcmp */
    size_t nhosts;
    const struct queue_hold *hold;
    size_t nholds;
    const struct hostlist *idle;   /* sorted by strcmp */
};

enum queue_fate {
    QUEUE_NONE,  /* it is done already */
    QUEUE_GO,    /* audit it, if it is next */
    QUEUE_HOLD,  /* later: its nodes are busy, it was tried a moment ago, or
                    there were many audits */
    QUEUE_FOUND, /* `audit` was of it */
    QUEUE_DROP,
    QUEUE_PASS,  /* as DROP, but without a line in the log: no rule asks for
                    it, as for most jobs */
};

/* Why it is audited, the first that holds. */
enum queue_cause { QUEUE_SIZE, QUEUE_AGE, QUEUE_CHECK };

struct queue_answer {
    enum queue_fate fate;
    enum queue_cause cause;
    int64_t audit;
    char why[QUEUE_WHY_MAX]; /* one line, for the log */
};

struct queue_plan {
    struct queue_answer *v; /* one a record, in the spool's order */
    size_t next;            /* of these; SIZE_MAX: none */
    /* Why jobs wait, or those of a user do, for the log; "": none does. */
    char full[QUEUE_WHY_MAX], user[QUEUE_WHY_MAX];
};

/* Decide. Costs O(r (a + n log h)) for r records of n nodes, and O(r^2 n) at
 * worst where they have many nodes in common.
 */
void queue_decide (struct queue_plan *plan, const struct queue_input *in,
                   const struct queue_rules *rules);
void queue_clear (struct queue_plan *plan);

/* Whether one more audit may begin for this reason. If not, `why` tells which
 * share of AuditsPerHour is used up.
 */
bool queue_may (const struct queue_audit *audit, size_t n,
                enum ledger_why reason, size_t per_hour, int64_t now,
                char why[QUEUE_WHY_MAX]);

/* Whether a hold is still one. */
bool queue_is_held (const struct queue_hold *hold, int64_t now);

#endif /* PROLOG_QUEUE_H */
