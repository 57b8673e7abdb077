/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Have the policy decide and act, and make the audits that it waits for: of the
 * node and of partners that are idle.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prolog/act/act.h"
#include "prolog/audit/partners.h"

enum { PARTNERS = 15, RETRY_S = 60, SOON_S = 10 };

static void say (void *arg, const char *line)
{
    service_log (arg, "%s", line);
}

/*
 * Nodes that wait for an audit
 */

static const struct wish *find_wish (const struct service *s,
                                     const char *node)
{
    for (size_t i = 0; i < s->nwishes; i++)
        if (!strcmp (s->wish[i].node, node))
            return &s->wish[i];
    return NULL;
}

/* Note whom the policy waits for now. Who was audited for it, or should have
 * been, is left alone for as long as before.
 */
static int note_wishes (struct service *s, const struct decisions *d,
                        struct error *err)
{
    struct wish *v = calloc (d->n + 1, sizeof (*v));
    size_t n = 0;

    if (!v)
        return error_nomem (err);
    for (size_t i = 0; i < d->n; i++) {
        const struct wish *old = find_wish (s, d->v[i].node);

        if (d->v[i].kind != POLICY_WAIT
            || strlen (d->v[i].node) >= sizeof (v->node))
            continue;
        strcpy (v[n].node, d->v[i].node);
        v[n].when = d->v[i].when;
        v[n].held = old ? old->held : INT64_MIN;
        n++;
    }
    free (s->wish);
    s->wish = v;
    s->nwishes = n;
    return 0;
}

int duty_policy (struct service *s, struct error *err)
{
    struct act_world world = act_slurm;
    struct act_report report;
    int rc;

    world.say = say;
    world.arg = s;
    rc = act_round (&report, &world, &s->site, s->ledger, s->fabric,
                    (int64_t)time (NULL), err);
    if (rc == 0 && (rc = note_wishes (s, &report.decisions, err)) == 0)
        rc = report.drained + report.resumed > 0;
    act_report_clear (&report);
    return rc;
}

/*
 * Their audits
 */

/* Held no longer than it can have been, if the clock stepped back. */
static bool is_due (const struct service *s, const struct wish *w,
                    int64_t now)
{
    return w->when <= now
           && (w->held <= now
               || w->held > now + RETRY_S + s->site.confirm_after_ms / 1000);
}

static bool is_in (const struct hostlist *list, const char *node)
{
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp (list->name[i], node))
            return true;
    return false;
}

/* Nodes that can be audited. */
struct nodes {
    struct hostlist idle;    /* for jobs */
    struct hostlist drained; /* by us */
};

/* The wish that is due and whose node can be audited, as all can where nodes is
 * NULL; NULL: there is none.
 */
static struct wish *find_due (const struct service *s,
                              const struct nodes *nodes, int64_t now)
{
    for (size_t i = 0; i < s->nwishes; i++)
        if (is_due (s, &s->wish[i], now)
            && (!nodes || is_in (&nodes->idle, s->wish[i].node)
                || is_in (&nodes->drained, s->wish[i].node)))
            return &s->wish[i];
    return NULL;
}

static int confirm (struct service *s, struct wish *w,
                    const struct hostlist *idle, struct error *err)
{
    const struct ledger_cause cause = { .why = LEDGER_CONFIRM };
    int64_t now = (int64_t)time (NULL);
    char *name[PARTNERS + 1];
    struct hostlist nodes = { .name = name };
    struct audit_result result;
    int rc;
    int n;

    n = partners_choose (s->fabric, s->map, w->node, idle,
                         (uint64_t)now / RETRY_S, &name[1], PARTNERS, err);
    if (n < 0)
        return -1;
    name[0] = w->node;
    nodes.count = (size_t)n + 1;
    service_log (s, "node %s is audited again, with %zu others", w->node,
                 nodes.count - 1);
    rc = service_audit (s, &nodes, &cause, &result, err);
    w->held = now + (rc > 0 ? s->site.confirm_after_ms / 1000 : RETRY_S);
    return rc;
}

int duty_confirm (struct service *s, struct error *err)
{
    int64_t now = (int64_t)time (NULL);
    struct nodes nodes = { 0 };
    struct wish *w;
    int rc;

    s->hurry = find_due (s, NULL, now + SOON_S) != NULL;
    s->untried = s->nwishes > 0;
    if (!find_due (s, NULL, now)
        || (rc = service_may_audit (s, s->site.audits_per_hour, err)) == 0)
        return 0;
    if (rc > 0 && service_idle (s, &nodes.idle, err) == 0
        && controller_drained (&nodes.drained, err) == 0) {
        w = find_due (s, &nodes, now);
        rc = w ? confirm (s, w, &nodes.idle, err) : 0;
    }
    else
        rc = -1;
    hostlist_clear (&nodes.idle);
    hostlist_clear (&nodes.drained);
    return rc;
}
