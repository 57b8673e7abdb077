/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that audits have not measured for long. */
#include "config.h"
#include "prolog/audit/missed.h"

#include <stdlib.h>
#include <string.h>

#include "probe/guids.h"
#include "util/alloc.h"
#include "util/sort.h"

enum { DAY_S = 86400 };

struct missed_search {
    struct ledger *ledger;
    const struct site *site;
    json_t *faulty;
    int64_t first, now; /* the ledger's first audit */
};

/* Return 1, 0, or -1 with err. */
static int is_overdue (const struct missed_search *l, const char *node,
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

static int look (struct hostlist *missed, const struct missed_search *l,
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
        if ((rc = is_overdue (l, v->name, err)) < 0)
            return -1;
        if (rc > 0)
            missed->name[missed->count++] = xstrdup (v->name);
    }
    return 0;
}

int missed_nodes (struct hostlist *missed, struct ledger *ledger,
                  const struct site *site, const struct fabric *f,
                  const struct nodemap *map,
                  const struct controller_nodes *nodes, int64_t now,
                  struct error *err)
{
    struct missed_search l = { .ledger = ledger, .site = site, .now = now };
    const char **node = xcalloc (f->nendpoints, sizeof (*node));
    int rc = ledger_first (ledger, &l.first, err);

    *missed = (struct hostlist){
        .name = xcalloc (nodes->n, sizeof (*missed->name)),
    };
    if (rc > 0) {
        rc = guids_nodes (f, map, node, err);
        if (rc == 0 && !(l.faulty = ledger_faulty (ledger, now, err)))
            rc = -1;
        if (rc == 0 && f->nendpoints > 0) {
            qsort (node, f->nendpoints, sizeof (*node), compare_strings);
            rc = look (missed, &l, node, f->nendpoints, nodes, err);
        }
    }
    json_decref (l.faulty);
    free (node);
    return rc;
}
