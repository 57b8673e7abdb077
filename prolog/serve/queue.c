/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide which audit is next. */
#include "config.h"
#include "prolog/serve/queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"
#include "util/user.h"

enum { HOUR_S = 3600, DAY_S = 24 * HOUR_S };

static bool within (int64_t time, int64_t span, int64_t now)
{
    return time > now - span && time < now + span;
}

/*
 * Lists of hosts, sorted
 */

static int compare_queue_host (const void *key, const void *host)
{
    return strcmp (key, ((const struct queue_host *)host)->name);
}

static bool contains (const struct hostlist *whole, const struct hostlist *part)
{
    if (part->count > whole->count)
        return false;
    for (size_t i = 0; i < part->count; i++)
        if (!hostlist_has (whole, part->name[i]))
            return false;
    return true;
}

/* The oldest of the nodes' last measurements; INT64_MIN: a node was never
 * measured. *pair: one has two rails that can measure each other.
 */
static int64_t measured (const struct queue_input *in,
                         const struct hostlist *nodes, bool *pair)
{
    int64_t oldest = INT64_MAX;

    *pair = false;
    for (size_t i = 0; i < nodes->count; i++) {
        const struct queue_host *h = find_sorted (
            nodes->name[i], in->host, in->nhosts, compare_queue_host);
        int64_t time = h ? h->time : INT64_MIN;

        *pair |= h && h->pair;
        if (time < oldest)
            oldest = time;
    }
    return oldest;
}

/*
 * One record
 */

__attribute__ ((format (printf, 3, 4))) static void
set_queue_answer (struct queue_answer *a, enum queue_fate fate, const char *fmt,
                  ...)
{
    TEXT_PRINT (a->why, sizeof (a->why), fmt);
    a->fate = fate;
}

/* Among the audits begun for a record, find one with a result. NULL: there is
 * none, and *tries is their number.
 */
static const struct ledger_audit *find_result (const struct queue_input *in,
                                              const struct spool_entry *e,
                                              size_t *tries)
{
    *tries = 0;
    for (size_t i = 0; i < in->naudits; i++) {
        const struct ledger_audit *audit = &in->audit[i];

        if (e->state != SPOOL_BEGUN || audit->about != (int64_t)e->job
            || audit->id <= (int64_t)e->audit)
            continue;
        if (audit->job >= 0)
            return audit;
        ++*tries;
    }
    return NULL;
}

/* How many audits a user had in a time span: of checks only, or of all jobs. */
static size_t audits_of (const struct queue_input *in, uint64_t uid,
                         bool checks, int64_t span)
{
    size_t n = 0;

    for (size_t i = 0; i < in->naudits; i++)
        n += in->audit[i].uid >= 0
             && (uint64_t)in->audit[i].uid == uid
             && (!checks || in->audit[i].why == LEDGER_CHECK)
             && within (in->audit[i].begun, span, in->now);
    return n;
}

/* Apply the rules of queue.h that do not depend on other records. */
static void decide_one (const struct queue_input *in,
                        const struct spool_entry *e, struct queue_answer *a)
{
    static const char *const go[] = {
        [QUEUE_SIZE] = "for its size",
        [QUEUE_AGE] = "since its cables were not measured recently",
        [QUEUE_CHECK] = "since its user asked for a check",
    };
    const struct site *site = in->site;
    int64_t every_s = site->audit_every_ms / 1000;
    int64_t again_s = site->audit_again_after_ms / 1000;
    size_t tries;
    bool pair;
    int64_t time = measured (in, &e->nodes, &pair);
    const struct ledger_audit *result = find_result (in, e, &tries);
    size_t checks = audits_of (in, e->uid, true, DAY_S);
    bool large = site->audit_min_nodes
                 && e->nodes.count >= (size_t)site->audit_min_nodes;
    bool aged = every_s && !within (time, every_s, in->now);

    a->cause = large ? QUEUE_SIZE : aged ? QUEUE_AGE : QUEUE_CHECK;
    a->audit = result ? result->id : (int64_t)e->audit;
    if (e->state == SPOOL_DONE || result)
        set_queue_answer (a, result ? QUEUE_FOUND : QUEUE_NONE,
                          "audit %" PRId64 " was of it", a->audit);
    else if (tries >= QUEUE_TRIES)
        set_queue_answer (a, QUEUE_DROP, "%s of it had no result",
                          COUNTED (tries, "audit"));
    else if (strcmp (e->partition, site->audit_partition) == 0)
        set_queue_answer (a, QUEUE_PASS,
                          "it ran in the partition of the audits");
    else if (e->nodes.count < 2 && !pair)
        set_queue_answer (a, QUEUE_PASS,
                          "no two rails of its node are in one subnet");
    else if (!large && !aged && !e->checked)
        set_queue_answer (a, QUEUE_PASS, "no rule asks for its audit");
    else if (e->waited >= QUEUE_WAIT_S)
        set_queue_answer (a, QUEUE_DROP,
                          "no audit of it was possible within an hour");
    else if (time > e->time && time > in->now - e->waited)
        set_queue_answer (a, QUEUE_DROP, "its nodes have been measured since");
    else if (time != INT64_MIN && within (time, again_s, in->now))
        set_queue_answer (a, QUEUE_PASS,
                          "its nodes were measured within "
                          "AuditAgainAfter");
    else if (a->cause == QUEUE_CHECK && checks >= (size_t)site->checks_per_user)
        set_queue_answer (a, QUEUE_DROP, "checks of user %s had %s in a day",
                          USER ((uid_t)e->uid), COUNTED (checks, "audit"));
    else
        set_queue_answer (a, QUEUE_GO, "%s", go[a->cause]);
}

/*
 * All records
 */

static bool is_later (const struct spool_entry *a, const struct spool_entry *b)
{
    if (a->time != b->time)
        return a->time > b->time;
    return a->job > b->job;
}

/* Drop the jobs whose nodes are all among those of a later job that is to be
 * audited. The later job then has at least as strong a cause, so a user's check
 * never replaces an audit for another cause. A later job may itself be dropped:
 * the job that covers it covers the earlier one too.
 */
static void drop_superseded (const struct spool_list *spool,
                             struct queue_answer *v)
{
    for (size_t i = 0; i < spool->n; i++)
        for (size_t k = 0; k < spool->n && v[i].fate == QUEUE_GO; k++)
            if (k != i && v[k].fate == QUEUE_GO
                && is_later (&spool->v[k], &spool->v[i])
                && contains (&spool->v[k].nodes, &spool->v[i].nodes))
                set_queue_answer (&v[i], QUEUE_DROP,
                                  "job %" PRIu64 " ran on its nodes since",
                                  spool->v[k].job);
}

/* In quarters of AuditsPerHour: an audit may begin if fewer than this many have
 * begun with its own reason, of all but confirmations, and of all. Searches do
 * not count: they have a limit of their own.
 */
static const struct {
    unsigned int own, rest, all;
} shares[] = {
    [LEDGER_BY_HAND] = { 4, 4, 4 }, [LEDGER_JOB] = { 4, 3, 4 },
    [LEDGER_CHECK] = { 4, 3, 4 },   [LEDGER_SWEEP] = { 4, 3, 2 },
    [LEDGER_CONFIRM] = { 2, 4, 4 }, [LEDGER_AGAIN] = { 1, 3, 4 },
    [LEDGER_SEARCH] = { 4, 4, 4 },
};

/* Rounded up, so that each reason has at least one. */
static size_t quarters (size_t n, unsigned int of)
{
    return (of * n + 3) / 4;
}

bool queue_may (const struct ledger_audit *audit, size_t n,
                enum ledger_why reason, size_t per_hour, int64_t now,
                char why[QUEUE_WHY_MAX])
{
    size_t own = 0, rest = 0, all = 0;
    const char *what = NULL;

    for (size_t i = 0; i < n; i++)
        if (within (audit[i].begun, HOUR_S, now)
            && audit[i].why != LEDGER_SEARCH) {
            all++;
            own += audit[i].why == reason;
            rest += audit[i].why != LEDGER_CONFIRM;
        }
    if (all >= per_hour)
        what = "they were begun in the last hour";
    else if (own >= quarters (per_hour, shares[reason].own))
        what = "the share of these is used up";
    else if (rest >= quarters (per_hour, shares[reason].rest))
        what = "the rest is kept for confirmations";
    else if (all >= quarters (per_hour, shares[reason].all))
        what = "the rest is kept for others";
    snprintf (why, QUEUE_WHY_MAX, "AuditsPerHour is %zu: %s", per_hour,
              what ? what : "");
    return !what;
}

bool queue_is_held (const struct spool_entry *e, int64_t now)
{
    return e->tried != INT64_MIN && within (e->tried, QUEUE_HOLD_S, now);
}

static bool is_audited_before (const struct spool_list *spool,
                               const struct queue_answer *v, size_t i, size_t k)
{
    const struct spool_entry *a = &spool->v[i];
    const struct spool_entry *b = &spool->v[k];

    if (a->state != b->state)
        return a->state == SPOOL_BEGUN;
    if (v[i].cause != v[k].cause)
        return v[i].cause < v[k].cause;
    return is_later (a, b);
}

static void choose_queue_entries (struct queue_plan *plan,
                                  const struct queue_input *in)
{
    char why[QUEUE_WHY_MAX];
    bool may = queue_may (in->audit, in->naudits, LEDGER_JOB,
                          (size_t)in->site->audits_per_hour, in->now, why);

    plan->next = SIZE_MAX;
    for (size_t i = 0; i < in->spool->n; i++) {
        const struct spool_entry *e = &in->spool->v[i];
        struct queue_answer *a = &plan->v[i];

        if (a->fate != QUEUE_GO)
            continue;
        if (!contains (in->idle, &e->nodes))
            set_queue_answer (a, QUEUE_HOLD, "its nodes are busy");
        else if (queue_is_held (e, in->now))
            set_queue_answer (a, QUEUE_HOLD, "it was tried a moment ago");
        else if (audits_of (in, e->uid, false, HOUR_S)
                 >= (size_t)in->site->audits_per_user) {
            set_queue_answer (
                a, QUEUE_HOLD,
                "jobs of user %s had AuditsPerUser (%d) audits in an hour",
                USER ((uid_t)e->uid), in->site->audits_per_user);
            strcpy (plan->full, a->why);
        }
        else if (!may) {
            set_queue_answer (a, QUEUE_HOLD, "%s", why);
            strcpy (plan->full, why);
        }
        else if (plan->next == SIZE_MAX
                 || is_audited_before (in->spool, plan->v, i, plan->next))
            plan->next = i;
    }
}

void queue_decide (struct queue_plan *plan, const struct queue_input *in)
{
    *plan = (struct queue_plan){
        .v = xcalloc (in->spool->n, sizeof (*plan->v)),
    };
    for (size_t i = 0; i < in->spool->n; i++)
        decide_one (in, &in->spool->v[i], &plan->v[i]);
    drop_superseded (in->spool, plan->v);
    choose_queue_entries (plan, in);
}

void queue_clear (struct queue_plan *plan)
{
    free (plan->v);
    *plan = (struct queue_plan){ 0 };
}
