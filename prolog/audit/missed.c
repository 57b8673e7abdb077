/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that no audit has measured for a long time. */
#include "config.h"
#include "prolog/audit/audit.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/nodemap.h"
#include "util/alloc.h"
#include "util/sort.h"

enum { DAY_S = 86400 };

static bool in_service (const struct policy_node *v)
{
    return !v->unknown && !v->down && !v->powered_down && !v->reserved
           && !v->drained;
}

int missed_nodes (struct hostlist *missed, struct ledger *ledger,
                  const struct site *site, const struct fabric *f,
                  const struct nodemap *map,
                  const struct controller_nodes *nodes, int64_t now,
                  struct error *err)
{
    const char **known = nodemap_nodes (map, f);
    int64_t every_s = site->audit_every_ms / 1000;
    json_t *faulty = NULL;
    int64_t first, last;
    int rc = ledger_first (ledger, &first, err);
    size_t n = rc > 0 ? nodes->n : 0;

    *missed = (struct hostlist){ .name = xcalloc (n, sizeof (char *)) };
    if (rc > 0 && !(faulty = ledger_faulty (ledger, now, err)))
        rc = -1;
    if (rc > 0)
        qsort (known, f->nendpoints, sizeof (*known), compare_strings);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        const char *node = nodes->v[i].name;
        bool out = json_object_get (faulty, node) != NULL;

        if (!in_service (&nodes->v[i]) || (!out && every_s == 0)
            || !text_find (known, f->nendpoints, node))
            continue;
        if ((rc = ledger_measured (ledger, node, &last, err)) == 0)
            last = first;
        if (rc >= 0 && now - last > DAY_S + (out ? 0 : every_s))
            missed->name[missed->count++] = xstrdup (node);
    }
    json_decref (faulty);
    free (known);
    return rc < 0 ? -1 : 0;
}
