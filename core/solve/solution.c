/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/solve/solution.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

void solution_destroy (struct solution *s)
{
    if (s) {
        int saved_errno = errno;

        for (size_t i = 0; i < s->ngroups; i++)
            free (s->group[i].member);
        for (size_t i = 0; i < s->nswitches; i++)
            free (s->sw[i].link);
        free (s->group);
        free (s->sw);
        free (s->link);
        free (s->pair);
        free (s);
        errno = saved_errno;
    }
}

/* NAN becomes null. */
static json_t *number (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

static json_t *members_json (const struct link_group *g,
                             const struct network *net)
{
    json_t *members = json_object ();

    for (size_t i = 0; i < g->n; i++) {
        const struct group_member *m = &g->member[i];

        json_put (members, net->link[m->link].id,
                  m->q == 0
                      ? json_null ()
                      : json_sprintf ("%" PRId64 "/%" PRId64, m->p, m->q));
    }
    return members;
}

/* The groups that contain each link: a list for each, by its index. */
static json_t **groups_of_links (const struct solution *s)
{
    json_t **list = xarray (s->nlinks, sizeof (*list));
    uint32_t top = s->nlinks ? s->link[s->nlinks - 1].link : 0;
    size_t *where = xcalloc ((size_t)top + 1, sizeof (*where));

    for (size_t i = 0; i < s->nlinks; i++) {
        list[i] = json_array ();
        where[s->link[i].link] = i;
    }
    for (size_t i = 0; i < s->ngroups; i++)
        for (size_t k = 0; k < s->group[i].n; k++)
            json_add (list[where[s->group[i].member[k].link]],
                      json_sprintf ("g%zu", i + 1));
    free (where);
    return list;
}

static json_t *links_json (const struct solution *s, const struct network *net)
{
    json_t **groups = groups_of_links (s);
    json_t *list = json_array ();

    for (size_t i = 0; i < s->nlinks; i++) {
        const struct link_estimate *l = &s->link[i];

        json_add (list, json_pack ("{s:s, s:o, s:o, s:o}", "id",
                                   net->link[l->link].id, "latency_ns",
                                   number (l->latency_ns), "stderr_ns",
                                   number (l->stderr_ns), "groups", groups[i]));
    }
    free (groups);
    return list;
}

static json_t *groups_json (const struct solution *s, const struct network *net)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->ngroups; i++) {
        const struct link_group *g = &s->group[i];

        json_add (list, json_pack ("{s:o, s:o, s:o, s:o}", "id",
                                   json_sprintf ("g%zu", i + 1), "members",
                                   members_json (g, net), "latency_ns",
                                   number (g->latency_ns), "stderr_ns",
                                   number (g->stderr_ns)));
    }
    return list;
}

/* What is not determined, in sentences. */
static json_t *limits_json (const struct solution *s)
{
    json_t *limits = json_array ();
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
    return limits;
}

static json_t *switches_json (const struct solution *s,
                              const struct network *net)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->nswitches; i++) {
        const struct switch_excess *sw = &s->sw[i];
        json_t *links = json_array ();

        for (size_t k = 0; k < sw->n; k++)
            json_add (links, json_string (net->link[sw->link[k]].id));
        json_add (list,
                  json_pack ("{s:s, s:s, s:o, s:o, s:o}", "id",
                             net->sw[sw->sw].id, "name", net->sw[sw->sw].name,
                             "excess_ns", number (sw->excess_ns), "stderr_ns",
                             number (sw->stderr_ns), "links", links));
    }
    return list;
}

static json_t *pairs_json (const struct solution *s, const struct pathset *ps)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < s->npairs; i++) {
        const struct pair_estimate *p = &s->pair[i];

        json_add (list, json_pack ("{s:s, s:s, s:o, s:o}", "a",
                                   pathset_endpoint (ps, p->a)->name, "b",
                                   pathset_endpoint (ps, p->b)->name, "rtt_ns",
                                   number (p->rtt_ns), "stderr_ns",
                                   number (p->stderr_ns)));
    }
    return list;
}

json_t *solution_json (const struct solution *s, const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    json_t *json = json_file ("solution", net->hash);

    json_put (json, "links", links_json (s, net));
    json_put (json, "groups", groups_json (s, net));
    json_put (json, "switches", switches_json (s, net));
    json_put (json, "switches_tested", json_integer (s->switches_tested));
    json_put (json, "residual_ns", number (s->residual_ns));
    json_put (json, "rows", json_integer (s->rows));
    json_put (json, "rank", json_integer (s->rank));
    json_put (json, "dof", json_integer (s->dof));
    json_put (json, "outliers", json_integer (s->outliers));
    json_put (json, "limits", limits_json (s));
    json_put (json, "r2", number (s->r2));
    json_put (json, "pairs", pairs_json (s, ps));
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
