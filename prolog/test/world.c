/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "prolog/test/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct policy_finding found_fail
    = FOUND (VERDICT_FAIL, FINDING_HOST_END, BASIS_BASELINE, 412, 20, 131);

const struct policy_finding found_clean
    = FOUND (VERDICT_OK, FINDING_HOST_END, BASIS_BASELINE, 0, 0, NAN);

const struct policy_finding found_unknown
    = FOUND (VERDICT_UNKNOWN, FINDING_HOST_END, BASIS_BASELINE, 412, 20, 131);

const struct policy_finding found_switch
    = FOUND (VERDICT_UNKNOWN, FINDING_SWITCH, BASIS_BASELINE, 1000, 20, 131);

const char *word (const char *s, size_t len)
{
    static char *store[4096];
    static size_t n;

    for (size_t i = 0; i < n; i++)
        if (!strncmp (store[i], s, len) && !store[i][len])
            return store[i];
    if (n == sizeof (store) / sizeof (store[0])
        || !(store[n] = strndup (s, len)))
        abort ();
    return store[n++];
}

void world_nodes (struct world *w, size_t n)
{
    w->in.nnodes = n;
    for (size_t i = 0; i < n; i++) {
        snprintf (w->name[i], NAME, "h%zu", i + 1);
        w->node[i] = (struct policy_node){ .name = w->name[i] };
    }
}

void world_set (struct world *w, const char *key, const char *value)
{
    struct error err;

    if (conf_set (site_options, &w->site, key, value, &err) < 0
        || site_check (&w->site, &err) < 0) {
        fprintf (stderr, "%s\n", err.text);
        abort ();
    }
    policy_config (&w->cfg, &w->site);
}

struct world *world_create (void)
{
    struct world *w = calloc (1, sizeof (*w));

    if (!w || conf_defaults (site_options, &w->site) < 0)
        abort ();
    world_set (w, "Action", "drain");
    world_set (w, "Resume", "yes");
    w->in = (struct policy_input){
        .now = NOW, .self = SELF, .node = w->node, .audit = w->audit,
        .tried.audit = w->tried, .signs.sign = w->sign,
        .actions.action = w->action, .mutes.mute = w->mute,
        .resets.rebase = w->reset,
    };
    world_nodes (w, 100);
    return w;
}

void world_destroy (struct world *w)
{
    conf_clear (site_options, &w->site);
    free (w);
}

struct policy_node *world_node (struct world *w, const char *name)
{
    for (size_t i = 0; i < w->in.nnodes; i++)
        if (!strcmp (w->node[i].name, name))
            return &w->node[i];
    abort ();
}

struct policy_audit *world_audit (struct world *w, uint64_t id,
                                         int64_t time)
{
    size_t i = w->in.naudits++;
    char leader[NAME];

    if (i == AUDITS)
        abort ();
    w->audit[i] = (struct policy_audit){
        .id = id, .time = NOW + time, .whole = true, .complete = true,
        .asked = 16, .nodes = 16, .finding = w->finding[i],
    };
    snprintf (leader, sizeof (leader), "l%d", (int)(id % 100));
    w->audit[i].leader = word (leader, strlen (leader));
    return &w->audit[i];
}

void world_find (struct world *w, struct policy_finding f,
                 const char *suspects)
{
    struct policy_audit *a = &w->audit[w->in.naudits - 1];
    size_t k = a->nfindings++;
    struct policy_suspect *s = w->suspect[a - w->audit][k];

    if (k == FINDINGS)
        abort ();
    f.suspect = s;
    for (const char *p = suspects; *p; p += strspn (p, ",")) {
        size_t len = strcspn (p, ",");
        size_t host = strcspn (p, ",/");
        char link[2 * NAME];

        snprintf (link, sizeof (link), "%.*s%s", (int)len, p,
                  host == len ? "/1" : "");
        *s++ = (struct policy_suspect){
            .link = word (link, strlen (link)),
            .host = *p == 'h' ? word (p, host) : NULL,
            .port = *p == 'h' ? "mlx5_0/1" : NULL,
        };
        f.nsuspects++;
        p += len;
    }
    w->finding[a - w->audit][k] = f;
}

struct ledger_action *world_action (struct world *w,
                                           enum policy_kind kind,
                                           const char *node, int64_t time,
                                           uint64_t after)
{
    struct ledger_action *a = &w->action[w->in.actions.n++];
    char link[2 * NAME];

    snprintf (link, sizeof (link), "%s/1", node);
    *a = (struct ledger_action){
        .id = (int64_t)w->in.actions.n, .kind = kind, .done = NOW, .cause = CAUSES,
        .node = word (node, strlen (node)),
        .link = word (link, strlen (link)), .reason = REASON,
        .intended = NOW + time, .after = (int64_t)after,
    };
    return a;
}

void world_drained (struct world *w, const char *name,
                           const char *reason, const char *by)
{
    struct policy_node *n = world_node (w, name);

    n->drained = true;
    n->reason = reason;
    n->by = by;
}

const struct decision *decision_of (const struct decisions *d,
                                           const char *node)
{
    for (size_t i = 0; i < d->n; i++)
        if (!strcmp (d->v[i].node, node))
            return &d->v[i];
    abort ();
}
