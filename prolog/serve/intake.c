/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the queue looks at. */
#include "config.h"
#include "prolog/serve/intake.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/guids.h"

void intake_rules (struct queue_rules *rules, const struct site *site)
{
    *rules = (struct queue_rules){
        .partition = site->audit_partition,
        .min_nodes = (size_t)site->audit_min_nodes,
        .per_hour = (size_t)site->audits_per_hour,
        .per_user = (size_t)site->audits_per_user,
        .checks_per_user = (size_t)site->checks_per_user,
        .again_s = site->audit_again_after_ms / 1000,
        .every_s = site->audit_every_ms / 1000,
    };
}

/*
 * Audits
 */

static int64_t number_of (const json_t *obj, const char *key, int64_t none)
{
    const json_t *v = json_object_get (obj, key);

    return json_is_integer (v) ? json_integer_value (v) : none;
}

static enum ledger_why why_of (const json_t *v)
{
    const char *word = json_string_value (json_object_get (v, "why"));
    enum ledger_why why = LEDGER_SEARCH;

    while (why > LEDGER_BY_HAND
           && (!word || strcmp (word, ledger_why_name (why)) != 0))
        why--;
    return why;
}

/* The list is taken. */
static int fill_audits (json_t *list, struct queue_audit **audit, size_t *n,
                        struct error *err)
{
    struct queue_audit *a = calloc (json_array_size (list) + 1, sizeof (*a));
    const json_t *v;
    size_t i;

    *audit = a;
    *n = json_array_size (list);
    json_array_foreach (list, i, v)
        if (a)
            a[i] = (struct queue_audit){
                .id = number_of (v, "id", 0),
                .begun = number_of (v, "begun", 0),
                .result = number_of (v, "job", -1) >= 0,
                .why = why_of (v),
                .job = (uint64_t)number_of (v, "about", 0),
                .uid = number_of (v, "uid", -1),
            };
    json_decref (list);
    return a ? 0 : error_nomem (err);
}

int intake_begun (struct ledger *ledger, int64_t from, int64_t to,
                  struct queue_audit **v, size_t *n, struct error *err)
{
    json_t *list = ledger_begun (ledger, from, to, err);

    return list ? fill_audits (list, v, n, err) : -1;
}

static int make_audits (struct intake *in, struct ledger *ledger,
                        struct error *err)
{
    json_t *list = ledger_audits (ledger, INTAKE_AUDITS_MAX, err);
    int rc = list ? fill_audits (list, &in->audit, &in->input.naudits, err)
                  : -1;

    in->input.audit = in->audit;
    return rc;
}

/*
 * Nodes
 */

/* By name, of one name the one that was measured first. */
static int compare_hosts (const void *va, const void *vb)
{
    const struct queue_host *a = va;
    const struct queue_host *b = vb;
    int c = strcmp (a->name, b->name);

    return c ? c : (a->time > b->time) - (a->time < b->time);
}

/* When the cable of an endpoint was measured last; INT64_MIN: never. */
static int64_t age_of (const struct fabric *f, const json_t *ages, size_t i)
{
    uint32_t link = f->port[f->endpoint[i].port].link;

    if (link == FABRIC_NONE)
        return INT64_MIN;
    return number_of (ages, f->link[link].id, INT64_MIN);
}

/* node[endpoint] has its name. */
static void fill_hosts (struct intake *in, const struct fabric *f,
                        const char *const *node, const json_t *ages)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nendpoints; i++)
        in->host[i] = (struct queue_host){ node[i], age_of (f, ages, i) };
    qsort (in->host, f->nendpoints, sizeof (*in->host), compare_hosts);
    for (size_t i = 0; i < f->nendpoints; i++)
        if (n == 0 || strcmp (in->host[n - 1].name, in->host[i].name) != 0)
            in->host[n++] = in->host[i];
    in->input.host = in->host;
    in->input.nhosts = n;
}

static int make_hosts (struct intake *in, struct ledger *ledger,
                       const struct fabric *f, const struct nodemap *map,
                       struct error *err)
{
    const char **node = calloc (f->nendpoints + 1, sizeof (*node));
    json_t *ages = ledger_ages (ledger, err);
    int rc = -1;

    in->host = calloc (f->nendpoints + 1, sizeof (*in->host));
    if (!node || !in->host)
        error_nomem (err);
    else if (ages && guids_nodes (f, map, node, err) == 0) {
        fill_hosts (in, f, node, ages);
        rc = 0;
    }
    free (node);
    json_decref (ages);
    return rc;
}

int intake_make (struct intake *in, struct ledger *ledger,
                 const struct fabric *fabric, const struct nodemap *map,
                 const struct spool_list *spool, const struct hostlist *idle,
                 int64_t now, struct error *err)
{
    *in = (struct intake){
        .input = { .now = now, .spool = spool, .idle = idle },
    };
    if (make_audits (in, ledger, err) < 0)
        return -1;
    return make_hosts (in, ledger, fabric, map, err);
}

void intake_clear (struct intake *in)
{
    free (in->audit);
    free (in->host);
    *in = (struct intake){ 0 };
}
