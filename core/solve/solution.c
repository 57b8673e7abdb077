/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/solve/solution.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

void solution_destroy (struct solution *s)
{
    if (s)
        pool_destroy (s->pool);
}

/* Estimates as the last two members of an object. */
#define ESTIMATE(key, ns, se) key, number_json (ns), "stderr_ns", number_json (se)

static json_t *solution_links_json (const struct solution *s,
                                    const struct network *net)
{
    json_t **groups = xarray (net->nlinks, sizeof (*groups));
    json_t *list = json_array ();

    /* the groups that contain each link */
    for (size_t i = 0; i < s->nlinks; i++)
        groups[s->link[i].link] = json_array ();
    for (size_t i = 0; i < s->ngroups; i++)
        for (size_t k = 0; k < s->group[i].n; k++)
            json_add (groups[s->group[i].member[k].link],
                      json_sprintf ("g%zu", i + 1));
    for (size_t i = 0; i < s->nlinks; i++) {
        const struct link_estimate *l = &s->link[i];

        json_add (
            list,
            json_pack ("{s:s, s:o, s:o, s:o}", "id", net->link[l->link].id,
                       ESTIMATE ("latency_ns", l->latency_ns, l->stderr_ns),
                       "groups", groups[l->link]));
    }
    free (groups);
    return list;
}

static json_t *groups_json (const struct solution *s, const struct network *net)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->ngroups; i++) {
        const struct link_group *g = &s->group[i];
        json_t *members = json_object ();

        for (size_t k = 0; k < g->n; k++) {
            const struct group_member *m = &g->member[k];

            json_put (members, net->link[m->link].id,
                      m->q == 0
                          ? json_null ()
                          : json_sprintf ("%" PRId64 "/%" PRId64, m->p, m->q));
        }
        json_add (
            list,
            json_pack ("{s:o, s:o, s:o, s:o}", "id",
                       json_sprintf ("g%zu", i + 1), "members", members,
                       ESTIMATE ("latency_ns", g->latency_ns, g->stderr_ns)));
    }
    return list;
}

static json_t *solution_switches_json (const struct solution *s,
                                       const struct network *net)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->nswitches; i++) {
        const struct switch_excess *sw = &s->sw[i];
        json_t *links = json_array ();

        for (size_t k = 0; k < sw->n; k++)
            json_add (links, json_string (net->link[sw->link[k]].id));
        json_add (
            list,
            json_pack ("{s:s, s:s, s:o, s:o, s:o}", "id", net->sw[sw->sw].id,
                       "name", net->sw[sw->sw].name,
                       ESTIMATE ("excess_ns", sw->excess_ns, sw->stderr_ns),
                       "links", links));
    }
    return list;
}

json_t *solution_json (const struct solution *s, const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    json_t *limits = json_array (); /* what is not determined, in sentences */
    json_t *pairs = json_array ();
    json_t *json = json_file ("solution", net->hash);
    size_t unknown = 0;

    for (size_t i = 0; i < s->nlinks; i++)
        unknown += isnan (s->link[i].latency_ns);
    if (unknown > 0)
        json_add (limits,
                  json_sprintf ("%zu of %zu links are not determined by "
                                "themselves",
                                unknown, s->nlinks));
    if (s->unlisted > 0)
        json_add (limits, json_sprintf ("too large to be listed: %s",
                                        COUNTED (s->unlisted, "group")));
    for (size_t i = 0; i < s->npairs; i++) {
        const struct pair_estimate *p = &s->pair[i];

        json_add (pairs,
                  json_pack ("{s:s, s:s, s:o, s:o}", "a",
                             pathset_endpoint (ps, p->a)->name, "b",
                             pathset_endpoint (ps, p->b)->name,
                             ESTIMATE ("rtt_ns", p->rtt_ns, p->stderr_ns)));
    }
    json_object_update_new (
        json,
        xcheck (json_pack (
            "{s:o, s:o, s:o, s:I, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o}",
            "links", solution_links_json (s, net), "groups",
            groups_json (s, net), "switches", solution_switches_json (s, net),
            "switches_tested", (json_int_t)s->switches_tested, "residual_ns",
            number_json (s->residual_ns), "rows", (json_int_t)s->rows, "rank",
            (json_int_t)s->rank, "dof", (json_int_t)s->dof, "outliers",
            (json_int_t)s->outliers, "limits", limits, "r2",
            number_json (s->r2), "pairs", pairs)));
    return json;
}

int solution_write (const struct solution *s, const struct pathset *ps,
                    FILE *fp, struct error *err)
{
    json_t *json = solution_json (s, ps);
    int rc = json_write (json, fp, err);

    json_decref (json);
    return rc;
}
