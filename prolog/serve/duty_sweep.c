/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audit idle nodes.
 *
 * Notes. Half of AuditsPerHour is left to jobs and confirmations. If no cable
 * is due, the sweep searches for links that all audits together leave
 * undetermined. It does so at most once an hour (OPEN_EVERY_S), because it
 * reads all measurements. A slow link was measured too, so it is not one of
 * them. A cable between switches that one audit FAILs, or would if it was sure,
 * is due at once: staff are told when two FAIL it.
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

#include "prolog/serve/sweep.h"
#include "util/alloc.h"
#include "util/clock.h"

enum { OPEN_EVERY_S = 3600, SILENT_S = 6 * 3600 };

/* The endpoints of idle nodes. Return 1, 0 if there are fewer than two, or -1
 * with err.
 */
static int find_idle_endpoints (const struct service *s, struct ledger *ledger,
                                const struct service_state *state, int64_t now,
                                struct pathset **ps, struct error *err)
{
    const struct fabric *f = s->fabric;
    const char **name = xcalloc (f->nendpoints, sizeof (*name));
    struct hostlist idle = { 0 };
    struct ledger_rows silent = { 0 };
    size_t n = 0;
    int rc = -1;

    if (controller_idle (&idle, s->site.audit_partition, err) == 0
        && service_leave_out (ledger, &idle, err) == 0
        && ledger_list (ledger, LEDGER_SILENT, now - SILENT_S, 0, &silent,
                        err)
               == 0) {
        for (size_t i = 0; i < f->nendpoints; i++)
            if (hostlist_has (&idle, s->node_of[i])
                && !ledger_has_host (&silent, f->host[f->endpoint[i].host].name)
                && !service_just_left (state, s->node_of[i]))
                name[n++] = f->endpoint[i].name;
        rc = n < 2 ? 0 : (*ps = fabric_pathset (f, name, n, err)) ? 1 : -1;
    }
    hostlist_clear (&idle);
    free (name);
    return rc;
}

int64_t *service_measured (const struct fabric *f, struct ledger *ledger,
                           int64_t never, struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (ledger, LEDGER_NEWEST, 0, 0, &rows, err);
    size_t n = f->nlinks;
    int64_t *measured = rc < 0 ? NULL : xarray (n, sizeof (*measured));

    for (size_t i = 0; i < n && measured; i++)
        measured[i] = never;
    for (size_t i = 0; i < rows.n; i++) {
        uint32_t link = fabric_find_link (f, rows.link[i].link);

        if (link != FABRIC_NONE)
            measured[link] = rows.link[i].ended;
    }
    return measured;
}

int64_t *service_ages (const struct service *s, struct ledger *ledger,
                       int64_t now, struct error *err)
{
    int64_t *measured = service_measured (s->fabric, ledger, SWEEP_NEVER, err);
    size_t n = s->fabric->nlinks;
    struct doubt *doubt = xcalloc (n, sizeof (*doubt));
    bool any = false; /* is due that FAILs */

    if (measured && service_doubted (s, ledger, now, doubt, err) < 0) {
        free (measured);
        measured = NULL;
    }
    for (size_t i = 0; i < n && measured; i++) {
        int64_t wait = s->site.confirm_after_ms / 1000;

        if (doubt[i].since == 0)
            continue;
        if (measured[i] > doubt[i].since + wait)
            wait = measured[i] - doubt[i].since;
        if (measured[i] > now - wait)
            doubt[i].since = 0;
        any |= doubt[i].since > 0 && doubt[i].fails;
    }
    for (size_t i = 0; i < n && measured; i++)
        if (doubt[i].since > 0 && doubt[i].fails == any)
            measured[i] = SWEEP_DOUBTED;
    free (doubt);
    return measured;
}

/* What the audits together leave undetermined; NULL with err. */
static double *find_open (const struct fabric *f, struct ledger *ledger,
                          int64_t now, struct error *err)
{
    const struct ledger_ageing ageing = {
        .quantile = RTT_MIDDLE, .now = now, .until = INT64_MAX,
    };
    struct pathset *all = fabric_pathset_lids (f, NULL, 0, err);
    struct observations o = { 0 };
    double *unknown = NULL;

    if (all
        && (ledger_combine (ledger, all, &ageing, &o, err) == 0
            || errno == ENOENT)) {
        unknown = xcalloc (f->nlinks, sizeof (*unknown));
        sweep_unknown (&o, f->nlinks, (uint64_t)now, unknown);
    }
    observations_clear (&o);
    pathset_destroy (all);
    return unknown;
}

/* Choose what to audit, and audit it, if anything is due or not resolved. */
static int run_next_sweep (const struct service *s, struct ledger *ledger,
                           const struct sweep_input *in, struct error *err)
{
    const struct ledger_cause cause = { .why = LEDGER_SWEEP };
    struct hostlist nodes = { 0 };
    struct sweep_plan plan;
    int rc = sweep_choose (&plan, in, err);

    nodes.name = xarray (plan.n, sizeof (*nodes.name));
    for (size_t i = 0; i < plan.n; i++) {
        const char *node
            = s->node_of[pathset_endpoint (in->ps, plan.endpoint[i])->id];

        if (!nodes.count || strcmp (nodes.name[nodes.count - 1], node) != 0)
            nodes.name[nodes.count++] = (char *)node;
    }
    if (rc == 0 && plan.n > 0) {
        service_log (s, LINE_AUDIT,
                     "%zu idle nodes are audited, of %zu cables that are due",
                     nodes.count, plan.due);
        rc = service_audit (s, ledger, &nodes, &cause, NULL, NULL, err);
    }
    free (nodes.name);
    sweep_clear (&plan);
    return rc;
}

int duty_sweep (const struct service *s, struct ledger *ledger,
                struct service_state *state, struct error *err)
{
    static int64_t searched; /* when it last searched for unresolved links */
    int64_t now = clock_date ();
    struct sweep_input in = {
        .now = now, .every_s = s->site.audit_every_ms / 1000,
        .hosts = SWEEP_HOSTS, .seed = (uint64_t)now,
    };
    int64_t *measured = NULL;
    double *unknown = NULL;
    int rc = in.every_s ? service_may_audit (s, ledger, LEDGER_SWEEP, err) : 0;

    if (rc <= 0)
        return rc < 0 ? -1 : DUTY_UNTRIED;
    rc = find_idle_endpoints (s, ledger, state, now, &in.ps, err);
    if (rc > 0) {
        in.measured = measured = service_ages (s, ledger, now, err);
        rc = measured ? run_next_sweep (s, ledger, &in, err) : -1;
        if (rc == 0 && llabs (now - searched) >= OPEN_EVERY_S) {
            searched = now;
            in.unknown = unknown = find_open (s->fabric, ledger, now, err);
            rc = unknown ? run_next_sweep (s, ledger, &in, err) : -1;
        }
    }
    pathset_destroy (in.ps);
    free (measured);
    free (unknown);
    return rc;
}
