/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that audits have not measured for long. */
#include "config.h"
#include "prolog/audit/missed.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/guids.h"

enum { DAY_S = 86400 };

struct look {
    struct ledger *ledger;
    const struct site *site;
    json_t *faulty;
    int64_t first, now; /* the ledger's first audit */
};

/* Return 1, 0, or -1 with err. */
static int is_overdue (const struct look *l, const char *node,
                       struct error *err)
{
    bool faulty = json_object_get (l->faulty, node) != NULL;
    int64_t every_s = l->site->audit_every_ms / 1000;
    int64_t last;
    int rc;

    if (!faulty && every_s == 0)
        return 0;
    if ((rc = ledger_measured (l->ledger, node, &last, err)) == 0)
        last = l->first;
    return rc < 0 ? -1 : l->now - last > DAY_S + (faulty ? 0 : every_s);
}

static int add (struct hostlist *list, const char *node, struct error *err)
{
    if (!(list->name[list->count] = strdup (node)))
        return error_nomem (err);
    list->count++;
    return 0;
}

static int look (struct hostlist *missed, const struct look *l,
                 const char *const *node, size_t n,
                 const struct controller_nodes *nodes, struct error *err)
{
    for (size_t i = 0; i < nodes->n; i++) {
        const struct policy_node *v = &nodes->v[i];
        int rc;

        if (v->unknown || v->down || v->powered_down || v->reserved
            || v->drained
            || !text_find (node, n, v->name))
            continue;
        if ((rc = is_overdue (l, v->name, err)) < 0
            || (rc > 0 && add (missed, v->name, err) < 0))
            return -1;
    }
    return 0;
}

int missed_nodes (struct hostlist *missed, struct ledger *ledger,
                  const struct site *site, const struct fabric *f,
                  const struct nodemap *map,
                  const struct controller_nodes *nodes, int64_t now,
                  struct error *err)
{
    struct look l = { .ledger = ledger, .site = site, .now = now };
    const char **node = calloc (f->nendpoints + 1, sizeof (*node));
    int rc;

    *missed = (struct hostlist){ 0 };
    missed->name = calloc (nodes->n + 1, sizeof (*missed->name));
    if (!node || !missed->name)
        rc = error_nomem (err);
    else if ((rc = ledger_first (ledger, &l.first, err)) > 0) {
        rc = guids_nodes (f, map, node, err);
        if (rc == 0 && !(l.faulty = ledger_faulty (ledger, now, err)))
            rc = -1;
        if (rc == 0 && f->nendpoints > 0) {
            qsort (node, f->nendpoints, sizeof (*node), text_compare);
            rc = look (missed, &l, node, f->nendpoints, nodes, err);
        }
    }
    json_decref (l.faulty);
    free (node);
    return rc;
}
