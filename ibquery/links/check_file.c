/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A check as JSON and as text. */
#include "config.h"
#include "ibquery/links/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/json.h"

#define KIND "link-check"

enum { MAX_FILE = 1 << 28, MAX_SIGNS = 1 << 24 };

static json_t *number (double value)
{
    return isnan (value) ? json_null () : json_real (value);
}

static json_t *list_json (const struct link_finding *v, size_t n,
                          const struct fabric *f, double hours)
{
    json_t *list = json_array ();

    for (const struct link_finding *x = v; x < v + n; x++) {
        const struct fabric_link *l = &f->link[x->link];
        bool counts = x->port != FABRIC_NONE;
        const struct fabric_port *p = &f->port[counts ? x->port : 0];

        json_add (list, json_pack (
            "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "link",
            l->id, "kind", l->kind == LINK_HOST ? "host" : "switch", "sign",
            sign_name (x->sign), "port",
            counts ? json_sprintf ("%016" PRIx64 "/%u", f->node[p->node].guid,
                                   p->num)
                   : json_null (),
            "counter",
            counts ? json_string (counter_name (x->counter)) : json_null (),
            "count", counts ? json_integer (x->growth.count) : json_null (),
            "exact",
            counts ? json_boolean (x->growth.known == GROWTH_EXACT)
                   : json_null (),
            "per_hour", number (counts ? x->growth.count / hours : NAN),
            "limit_per_hour", number (x->limit_per_hour), "why", x->why));
    }
    return list;
}

int check_write (const struct link_check *c, const struct fabric *f,
                 FILE *fp, struct error *err)
{
    json_t *limits = json_array ();

    for (size_t i = 0; i < c->nlimits; i++)
        json_add (limits, json_string (c->limit[i]));
    return json_write_file (
        KIND, f->hash,
        json_pack ("{s:s, s:I, s:I, s:o, s:o, s:o, s:o}", "status",
                   verdict_status_name (check_status (c)), "links",
                   (json_int_t)f->nlinks, "time", (json_int_t)c->time, "hours",
                   number (c->hours), "findings",
                   list_json (c->finding, c->nfindings, f, c->hours), "waits",
                   list_json (c->wait, c->nwaits, f, c->hours), "limits",
                   limits),
        fp, err);
}

int check_write_text (const struct link_check *c, const struct fabric *f,
                      FILE *fp, struct error *err)
{
    for (size_t i = 0; i < c->nfindings; i++) {
        const struct link_finding *x = &c->finding[i];
        const struct fabric_link *l = &f->link[x->link];
        char a[FABRIC_NAME_MAX + 8], b[FABRIC_NAME_MAX + 8];

        if (i == 0 || x->link != c->finding[i - 1].link) {
            fabric_port_name (f, l->a, a, sizeof (a));
            fabric_port_name (f, l->b, b, sizeof (b));
            fprintf (fp, "%s -- %s (%s)\n", a, b, l->id);
        }
        fprintf (fp, "  %s: %s\n", sign_name (x->sign), x->why);
    }
    for (size_t i = 0; i < c->nlimits; i++)
        fprintf (fp, "not told: %s\n", c->limit[i]);
    return ferror (fp) ? error_errno (err, "cannot write") : 0;
}

/* Reading: only the signs. */

static int add_signs (struct check_signs *signs, const json_t *root,
                      const char *key, const struct fabric *f,
                      struct error *err)
{
    json_t *list, *obj;
    size_t i;

    if (json_get_array (root, NULL, key, MAX_SIGNS, &list, err) < 0)
        return -1;
    signs->v = xrealloc (signs->v, signs->n + json_array_size (list),
                         sizeof (*signs->v));
    json_array_foreach (list, i, obj) {
        const char *link, *kind;
        unsigned int k = 0;
        uint32_t found;
        char where[40];

        snprintf (where, sizeof (where), "%s[%zu]", key, i);
        if (json_get_string (obj, where, "link", &link, err) < 0
            || json_get_string (obj, where, "sign", &kind, err) < 0)
            return -1;
        while (k < SIGNS && strcmp (sign_name (k), kind) != 0)
            k++;
        found = fabric_find_link (f, link);
        if (found == FABRIC_NONE || k == SIGNS)
            return error_input (err, "%s: no sign or no link of this fabric",
                                where);
        signs->v[signs->n++] = (struct sign){ found, k };
    }
    return 0;
}

int check_read_signs (struct check_signs *signs, FILE *fp, const char *name,
                      const struct fabric *f, struct error *err)
{
    json_t *root = json_read (fp, name, KIND, MAX_FILE, err);
    const char *hash;
    uint64_t when;
    int rc = 0;

    *signs = (struct check_signs){ 0 };
    if (!root)
        return -1;
    if (json_get_string (root, NULL, "fabric", &hash, err) < 0
        || json_get_u64 (root, NULL, "time", 0, INT64_MAX, &when, err) < 0
        || (strcmp (hash, f->hash) != 0
            && error_input (err, "it is of another fabric, %.40s", hash) < 0)
        || add_signs (signs, root, "findings", f, err) < 0
        || add_signs (signs, root, "waits", f, err) < 0) {
        check_clear_signs (signs);
        rc = error_prefix (err, "%s", name);
    } else
        signs->time = when;
    json_decref (root);
    return rc;
}

void check_clear_signs (struct check_signs *signs)
{
    free (signs->v);
    *signs = (struct check_signs){ 0 };
}
