/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audit idle nodes.
 *
 * Notes. Half of AuditsPerHour is left to jobs and confirmations. If no cable
 * is due, the sweep searches for links that all audits together leave
 * undetermined. It does so at most once an hour (OPEN_EVERY_S), because it
 * reads all measurements. A slow link was measured too, so it is not one of
 * them.
 *
 * Nodes that a job has just left are kept for the audit of that job, which
 * waits until all of them are idle. A node that is idle in Slurm but does not
 * answer the probe would be the oldest in every sweep. So it is left out for
 * SILENT_S.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prolog/serve/sweep.h"
#include "util/alloc.h"
#include "util/json.h"

enum { HOSTS = 64, OPEN_EVERY_S = 3600, SILENT_S = 6 * 3600 };

/* The data of a sweep. */
struct sweep_work {
    struct hostlist idle;
    const char **name;   /* [n] endpoints of idle nodes */
    size_t n;
    struct pathset *ps;  /* of these endpoints */
    int64_t *measured;   /* [link] */
    double *unknown;     /* [link]; NULL: not searched */
};

/* Return 1, 0 if fewer than two endpoints can be measured, or -1 with err. */
static int find_idle (struct service *s, struct sweep_work *w, int64_t now,
                      struct error *err)
{
    const struct fabric *f = s->fabric;
    json_t *silent;

    w->name = xcalloc (f->nendpoints, sizeof (*w->name));
    if (controller_idle (&w->idle, s->site.audit_partition, err) < 0
        || service_leave_out (s->ledger, &w->idle, err) < 0
        || !(silent = ledger_list (s->ledger, LEDGER_SILENT,
                                     now - SILENT_S, 0, err)))
        return -1;
    for (size_t i = 0; i < f->nendpoints; i++)
        if (hostlist_has (&w->idle, s->node_of[i])
            && !json_object_get (silent, f->host[f->endpoint[i].host].name)
            && !service_just_left (s, s->node_of[i], now))
            w->name[w->n++] = f->endpoint[i].name;
    json_decref (silent);
    if (w->n < 2)
        return 0;
    return (w->ps = fabric_pathset (f, w->name, w->n, err)) ? 1 : -1;
}

/* Find what all audits together leave undetermined. */
static int find_open (struct service *s, struct sweep_work *w, int64_t now,
                      struct error *err)
{
    const struct ledger_ageing ageing = {
        .quantile = RTT_MIDDLE, .now = now, .until = INT64_MAX,
    };
    struct pathset *all = fabric_pathset_lids (s->fabric, NULL, 0, err);
    struct observations o = { 0 };
    int rc = all ? ledger_combine (s->ledger, all, &ageing, &o, err) : -1;

    if (all && rc < 0 && errno == ENOENT)
        rc = 0;
    if (rc == 0) {
        w->unknown = xcalloc (s->fabric->nlinks, sizeof (*w->unknown));
        sweep_unknown (&o, s->fabric->nlinks, (uint64_t)now, w->unknown);
    }
    observations_clear (&o);
    pathset_destroy (all);
    return rc;
}

/* Choose what to audit, and audit it, if anything is due or not resolved. */
static int choose (struct service *s, struct sweep_work *w, int64_t now,
                   struct error *err)
{
    const struct sweep_input in = {
        .ps = w->ps,
        .measured = w->measured,
        .unknown = w->unknown,
        .now = now,
        .every_s = s->site.audit_every_ms / 1000,
        .hosts = HOSTS,
        .seed = (uint64_t)now,
    };
    const struct ledger_cause cause = { .why = LEDGER_SWEEP };
    struct hostlist nodes = { 0 };
    struct audit_result result;
    struct sweep_plan plan;
    int rc = sweep_choose (&plan, &in, err);

    nodes.name = xarray (plan.n, sizeof (*nodes.name));
    for (size_t i = 0; i < plan.n; i++) {
        const char *node
            = s->node_of[pathset_endpoint (w->ps, plan.endpoint[i])->id];

        if (!nodes.count || strcmp (nodes.name[nodes.count - 1], node) != 0)
            nodes.name[nodes.count++] = (char *)node;
    }
    if (rc == 0 && plan.n > 0) {
        service_log (s, "%zu idle nodes are audited, of %zu cables that are "
                        "due", nodes.count, plan.due);
        rc = service_audit (s, &nodes, &cause, NULL, &result, err);
    }
    free (nodes.name);
    sweep_clear (&plan);
    return rc;
}

static int sweep (struct service *s, struct sweep_work *w, struct error *err)
{
    const struct fabric *f = s->fabric;
    int64_t now = time (NULL);
    int rc = find_idle (s, w, now, err);
    json_t *ages;

    if (rc <= 0)
        return rc;
    if (!(ages = ledger_list (s->ledger, LEDGER_AGES, 0, 0, err)))
        return -1;
    w->measured = xarray (f->nlinks, sizeof (*w->measured));
    for (size_t i = 0; i < f->nlinks; i++)
        w->measured[i] = json_int (ages, f->link[i].id, SWEEP_NEVER);
    json_decref (ages);
    if ((rc = choose (s, w, now, err)) != 0
        || llabs (now - s->looked) < OPEN_EVERY_S)
        return rc;
    s->looked = now;
    if (find_open (s, w, now, err) < 0)
        return -1;
    return choose (s, w, now, err);
}

int duty_sweep (struct service *s, struct error *err)
{
    struct sweep_work w = { 0 };
    char why[QUEUE_WHY_MAX];
    int rc = 0;

    if (s->site.audit_every_ms >= 1000)
        rc = service_may_audit (s, LEDGER_SWEEP, why, err);
    s->untried = rc == 0;
    if (rc > 0)
        rc = sweep (s, &w, err);
    pathset_destroy (w.ps);
    hostlist_clear (&w.idle);
    free (w.name);
    free (w.measured);
    free (w.unknown);
    return rc;
}
