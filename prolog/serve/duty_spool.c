/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the spool, and audit the jobs that ended.
 *
 * Notes. For each record, in this order, so that a service that was killed can
 * continue after the last completed step:
 *
 *   the record is marked as begun, with the id of the newest audit
 *   the audit enters the ledger, with the job id
 *   the job's comment is queued; the same comment twice counts once
 *   the record is marked as done
 *
 * A begun record that has an audit with a result is not audited again.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/audit/audit.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    YOUNG_S = 15,
    HOUR_MS = 3600 * 1000,
    PASSED_MANY = 20,
    AUDITS_MAX = 4096, /* the newest: at least those of a day */
};
_Static_assert (AUDITS_MAX >= 24 * SITE_AUDITS_MAX, "a day's audits");

/*
 * One record
 */

static int finish_spool_entry (const struct service *s, struct ledger *ledger,
                               struct spool_entry *e, int64_t audit,
                               struct error *err)
{
    if (service_comment (s, ledger, e->job, audit, err) < 0)
        return -1;
    return spool_mark (s->spool, e, SPOOL_DONE, (uint64_t)audit, err);
}

static int audit_it (const struct service *s, struct ledger *ledger,
                     struct spool_entry *e, const struct queue_answer *go, int64_t newest,
                     struct error *err)
{
    const struct ledger_cause why = {
        .why = go->cause == QUEUE_CHECK ? LEDGER_CHECK : LEDGER_JOB,
        .job = e->job, .uid = (int64_t)e->uid,
    };
    int64_t id;
    int rc;

    if (e->state == SPOOL_FRESH
        && spool_mark (s->spool, e, SPOOL_BEGUN, (uint64_t)newest, err) < 0)
        return -1;
    service_log (s, LINE_JOB, "job %" PRIu64 " is audited %s: %s", e->job,
                 go->why, COUNTED (e->nodes.count, "node"));
    rc = service_audit (s, ledger, &e->nodes, &why, NULL, &id, err);
    if (rc > 0)
        return finish_spool_entry (s, ledger, e, id, err);
    if (!*s->stop)
        e->tried = clock_date ();
    return *s->stop ? 0 : rc;
}

/*
 * All records
 */

/* A job that has just ended: its nodes are seldom idle for long. */
static bool is_young (const struct spool_entry *e)
{
    return e->state != SPOOL_DONE && e->waited < YOUNG_S;
}

bool service_just_left (const struct service_state *state, const char *node)
{
    for (size_t i = 0; i < state->ended.n; i++)
        if (is_young (&state->ended.v[i])
            && hostlist_has (&state->ended.v[i].nodes, node))
            return true;
    return false;
}

static struct {
    int64_t since_ms; /* an hour begins, */
    size_t said;      /* in which jobs that are not audited were logged, */
    size_t more;      /* ... and were not, */
    char why[QUEUE_WHY_MAX]; /* ... the last of them for this reason */
} passed;

/* Log that a job is not audited: PASSED_MANY jobs an hour, the others as a number
 * when the hour is over.
 */
static void log_skipped_job (const struct service *s, uint64_t job, const char *why)
{
    if (passed.said < PASSED_MANY) {
        passed.said++;
        service_log (s, LINE_JOB, "job %" PRIu64 " is not audited: %s", job,
                     why);
        return;
    }
    passed.more++;
    snprintf (passed.why, sizeof (passed.why), "%s", why);
}

void service_passed (const struct service *s)
{
    if (passed.more > 0)
        service_log (s, LINE_JOB,
                     "%s not audited in this hour, the last: %s",
                     COUNTED (passed.more, "more job"), passed.why);
    passed.since_ms = clock_ms ();
    passed.said = passed.more = 0;
}

/* Carry out the queue's decisions. Return DUTY_DID if it called for an audit, 0,
 * or -1 with err.
 */
static int execute_queue_plan (const struct service *s, struct ledger *ledger,
                               struct spool_list *list,
                               const struct queue_plan *plan, int64_t newest,
                               struct error *err)
{
    int rc = 0;

    for (size_t i = 0; i < list->n && rc == 0; i++) {
        const struct queue_answer *a = &plan->v[i];

        if (a->fate == QUEUE_FOUND)
            rc = finish_spool_entry (s, ledger, &list->v[i], a->audit, err);
        if (a->fate == QUEUE_DROP)
            log_skipped_job (s, list->v[i].job, a->why);
        if (a->fate == QUEUE_DROP || a->fate == QUEUE_PASS)
            rc = spool_remove (s->spool, &list->v[i], err);
    }
    if (rc < 0 || plan->next == SIZE_MAX)
        return rc;
    rc = audit_it (s, ledger, &list->v[plan->next], &plan->v[plan->next],
                   newest, err);
    return rc < 0 ? -1 : DUTY_DID;
}

/*
 * Input of the queue
 */

/* When each node was last measured: the oldest time among its rails. Return
 * the nodes, sorted by name, or NULL with err.
 */
static struct queue_host *find_queue_hosts (const struct service *s,
                                            struct ledger *ledger, size_t *n,
                                            struct error *err)
{
    const struct fabric *f = s->fabric;
    int64_t *ages = service_measured (f, ledger, INT64_MIN, err); /* of links */
    struct queue_host *host;
    const char **name;
    uint32_t *subnets; /* of a node, as bits */

    if (!ages)
        return NULL;
    subnets = xcalloc (f->nendpoints, sizeof (*subnets));
    host = xarray (f->nendpoints, sizeof (*host));
    name = xarray (f->nendpoints, sizeof (*name));
    for (size_t i = 0; i < f->nendpoints; i++)
        name[i] = s->node_of[i];
    *n = text_unique (name, f->nendpoints);
    for (size_t i = 0; i < *n; i++)
        host[i] = (struct queue_host){ .name = name[i], .time = INT64_MAX };
    for (size_t i = 0; i < f->nendpoints; i++) {
        const struct fabric_port *port = &f->port[f->endpoint[i].port];
        uint32_t link = port->link;
        size_t at = (size_t)(text_find (name, *n, s->node_of[i]) - name);
        int64_t time = link == FABRIC_NONE ? INT64_MIN : ages[link];

        host[at].pair |= subnets[at] >> port->subnet & 1;
        subnets[at] |= 1U << port->subnet;
        if (time < host[at].time)
            host[at].time = time;
    }
    free (name);
    free (subnets);
    free (ages);
    return host;
}

static int decide_queue (const struct service *s, struct ledger *ledger,
                         struct spool_list *ended, const struct hostlist *idle,
                         int64_t now, struct error *err)
{
    struct ledger_rows list;
    int listed = ledger_list (ledger, LEDGER_AUDITS, AUDITS_MAX, 0, &list, err);
    struct queue_input in = { .now = now,
                              .site = &s->site, .spool = ended,
                              .audit = list.audit, .naudits = list.n,
                              .idle = idle };
    static char full[QUEUE_WHY_MAX]; /* why jobs wait, as last logged; "": none
                                        does */
    struct queue_host *host = NULL;
    struct queue_plan plan;
    int rc = -1;

    if (listed == 0 && (host = find_queue_hosts (s, ledger, &in.nhosts, err))) {
        in.host = host;
        queue_decide (&plan, &in);
        if (*plan.full && strcmp (plan.full, full))
            service_log (s, LINE_JOB, "jobs wait for their audits: %s",
                         plan.full);
        strcpy (full, plan.full);
        rc = execute_queue_plan (s, ledger, ended, &plan,
                                 list.n > 0 ? list.audit->id : 0, err);
        queue_clear (&plan);
    }
    free (host);
    return rc;
}

int duty_spool (const struct service *s, struct ledger *ledger,
                struct service_state *state, struct error *err)
{
    int64_t now = clock_date ();
    struct spool_list *list = &state->ended;
    struct hostlist idle = { 0 };
    bool open = false;
    int rc = spool_read (s->spool, now, list, err);

    if (clock_ms () - passed.since_ms >= HOUR_MS)
        service_passed (s);
    for (size_t i = 0; i < list->nremarks; i++)
        service_log (s, LINE_TROUBLE, "%s", list->remark[i]);
    if (list->dropped)
        service_log (s, LINE_TROUBLE,
                     "%s not recorded: the spool was full or could not be "
                     "written", COUNTED (list->dropped, "job"));
    for (size_t i = 0; i < list->n; i++)
        open |= list->v[i].state != SPOOL_DONE;
    if (rc == 0 && open
        && (rc = controller_idle (&idle, s->site.audit_partition, err)) == 0)
        rc = decide_queue (s, ledger, list, &idle, now, err);
    for (size_t i = 0; i < list->n && rc >= 0; i++)
        rc |= (is_young (&list->v[i]) ? DUTY_HURRY : 0)
              | (queue_is_held (&list->v[i], now) ? DUTY_UNTRIED : 0);
    hostlist_clear (&idle);
    return rc;
}
