/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/solve/solution.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

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

/* NAN is null. */
static json_t *number (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

static json_t *members_json (const struct group *g, const struct network *net)
{
    json_t *members = json_object ();

    for (size_t i = 0; i < g->n; i++) {
        const struct group_member *m = &g->member[i];
        json_t *value = m->q == 0 ? json_null ()
                                  : json_sprintf ("%" PRId64 "/%" PRId64,
                                                  m->p, m->q);

        if (json_object_set_new (members, net->link[m->link].id, value) < 0) {
            json_decref (members);
            return NULL;
        }
    }
    return members;
}

/* Say of each link in which groups it is. */
static int add_groups (json_t **groups_of, const struct solution *s)
{
    size_t *where;
    uint32_t top = s->nlinks ? s->link[s->nlinks - 1].link : 0;
    int rc = -1;

    if (!(where = calloc ((size_t)top + 1, sizeof (*where))))
        return -1;
    for (size_t i = 0; i < s->nlinks; i++)
        where[s->link[i].link] = i;
    for (size_t i = 0; i < s->ngroups; i++)
        for (size_t k = 0; k < s->group[i].n; k++) {
            json_t *list = groups_of[where[s->group[i].member[k].link]];

            if (json_array_append_new (list, json_sprintf ("g%zu", i + 1))
                < 0)
                goto done;
        }
    rc = 0;
done:
    free (where);
    return rc;
}

static int add_links (json_t *list, const struct solution *s,
                      const struct network *net)
{
    json_t **groups_of = calloc (s->nlinks + 1, sizeof (*groups_of));
    int rc = -1;

    if (!groups_of)
        return -1;
    for (size_t i = 0; i < s->nlinks; i++) {
        const struct link_estimate *l = &s->link[i];
        json_t *link = json_pack ("{s:s, s:o, s:o, s:o}", "id",
                                  net->link[l->link].id, "latency_ns",
                                  number (l->latency_ns), "stderr_ns",
                                  number (l->stderr_ns), "groups",
                                  json_array ());

        groups_of[i] = json_object_get (link, "groups");
        if (json_array_append_new (list, link) < 0)
            goto done;
    }
    rc = add_groups (groups_of, s);
done:
    free (groups_of);
    return rc;
}

static int add_all_groups (json_t *list, const struct solution *s,
                           const struct network *net)
{
    for (size_t i = 0; i < s->ngroups; i++) {
        const struct group *g = &s->group[i];
        json_t *group = json_pack ("{s:o, s:o, s:o, s:o}", "id",
                                   json_sprintf ("g%zu", i + 1), "members",
                                   members_json (g, net), "latency_ns",
                                   number (g->latency_ns), "stderr_ns",
                                   number (g->stderr_ns));

        if (json_array_append_new (list, group) < 0)
            return -1;
    }
    return 0;
}

/* What cannot be told, in words. */
static json_t *limits_json (const struct solution *s)
{
    json_t *limits = json_array ();
    size_t unknown = 0;

    for (size_t i = 0; i < s->nlinks; i++)
        unknown += isnan (s->link[i].latency_ns);
    if (unknown > 0)
        json_array_append_new (
            limits, json_sprintf ("%zu of %zu links are not determined by "
                                  "themselves", unknown, s->nlinks));
    if (s->unlisted > 0)
        json_array_append_new (
            limits, json_sprintf ("too large to be listed: %s",
                                  COUNTED (s->unlisted, "group")));
    return limits;
}

static json_t *switch_json (const struct switch_excess *sw,
                            const struct network *net)
{
    json_t *links = json_array ();

    for (size_t i = 0; i < sw->n; i++)
        if (json_array_append_new (links,
                                   json_string (net->link[sw->link[i]].id))
            < 0) {
            json_decref (links);
            return NULL;
        }
    return json_pack ("{s:s, s:s, s:o, s:o, s:o}", "id", net->sw[sw->sw].id,
                      "name", net->sw[sw->sw].name, "excess_ns",
                      number (sw->excess_ns), "stderr_ns",
                      number (sw->stderr_ns), "links", links);
}

static int add_switches (json_t *list, const struct solution *s,
                         const struct network *net)
{
    for (size_t i = 0; i < s->nswitches; i++)
        if (json_array_append_new (list, switch_json (&s->sw[i], net)) < 0)
            return -1;
    return 0;
}

static int add_pairs (json_t *list, const struct solution *s,
                      const struct pathset *ps)
{
    for (size_t i = 0; i < s->npairs; i++) {
        const struct pair_estimate *p = &s->pair[i];
        json_t *pair = json_pack ("{s:s, s:s, s:o, s:o}", "a",
                                  pathset_endpoint (ps, p->a)->name, "b",
                                  pathset_endpoint (ps, p->b)->name, "rtt_ns",
                                  number (p->rtt_ns), "stderr_ns",
                                  number (p->stderr_ns));

        if (json_array_append_new (list, pair) < 0)
            return -1;
    }
    return 0;
}

json_t *solution_json (const struct solution *s, const struct pathset *ps,
                       struct error *err)
{
    const struct network *net = pathset_network (ps);
    json_t *json = json_file ("solution", net->hash);
    json_t *links = json_array ();
    json_t *groups = json_array ();
    json_t *switches = json_array ();
    json_t *pairs = json_array ();

    if (!json || add_links (links, s, net) < 0
        || add_all_groups (groups, s, net) < 0
        || add_switches (switches, s, net) < 0
        || add_pairs (pairs, s, ps) < 0
        || json_object_set (json, "links", links) < 0
        || json_object_set (json, "groups", groups) < 0
        || json_object_set (json, "switches", switches) < 0
        || json_object_set_new (json, "switches_tested",
                                json_integer (s->switches_tested)) < 0
        || json_object_set_new (json, "residual_ns", number (s->residual_ns))
               < 0
        || json_object_set_new (json, "rows", json_integer (s->rows)) < 0
        || json_object_set_new (json, "rank", json_integer (s->rank)) < 0
        || json_object_set_new (json, "dof", json_integer (s->dof)) < 0
        || json_object_set_new (json, "outliers",
                                json_integer (s->outliers)) < 0
        || json_object_set_new (json, "limits", limits_json (s)) < 0
        || json_object_set_new (json, "r2", number (s->r2)) < 0
        || json_object_set (json, "pairs", pairs) < 0) {
        error_nomem (err);
        json_decref (json);
        json = NULL;
    }
    json_decref (links);
    json_decref (groups);
    json_decref (switches);
    json_decref (pairs);
    return json;
}

int solution_write (const struct solution *s, const struct pathset *ps,
                    FILE *fp, struct error *err)
{
    json_t *json = solution_json (s, ps, err);
    int rc = json ? json_write (json, fp, err) : -1;

    json_decref (json);
    return rc;
}
