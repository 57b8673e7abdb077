/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that no audit has measured for a long time. */
#include "config.h"
#include "prolog/audit/audit.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/nodemap.h"
#include "prolog/audit/parts.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

enum { DAY_S = 86400, SILENT_S = 30 * DAY_S };

const char *page_state (const struct policy_node *v)
{
    bool ours = v->drained && v->reason
                && !strncmp (v->reason, CONTROLLER_OURS,
                             strlen (CONTROLLER_OURS));

    return ours              ? WORDS_DRAINED
           : v->drained      ? "drained, not by pmm"
           : v->down         ? "down"
           : v->powered_down ? "powered down"
           : v->reserved     ? "reserved, or in maintenance"
           : v->unknown      ? "Slurm does not know its state"
                             : NULL;
}

/* The nodes that are in the snapshot, sorted, which the caller frees. */
static const char **known_nodes (const struct reports *in, size_t *n)
{
    const char **known = xarray (in->fabric->nendpoints, sizeof (*known));

    for (size_t i = 0; i < in->fabric->nendpoints; i++)
        known[i] = in->node_of[i];
    *n = text_unique (known, in->fabric->nendpoints);
    return known;
}

int missed_nodes (struct hostlist *missed, const struct reports *in,
                  int64_t now, struct error *err)
{
    int64_t every_s = in->site->audit_every_ms / 1000;
    struct ledger_rows faulty = { 0 };
    int64_t first, last;
    int rc = ledger_number (in->ledger, LEDGER_FIRST, 0, NULL, &first, err);
    size_t n = rc > 0 ? in->nodes->n : 0, nknown;
    const char **known = known_nodes (in, &nknown);

    *missed = (struct hostlist){ .name = xcalloc (n, sizeof (char *)) };
    if (rc > 0 && ledger_faulty (in->ledger, now, &faulty, err) < 0)
        rc = -1;
    for (size_t i = 0; i < n && rc >= 0; i++) {
        const char *node = in->nodes->v[i].name;
        bool out = ledger_fault_of (&faulty, node) != NULL;

        if (page_state (&in->nodes->v[i]) || (!out && every_s == 0)
            || !text_find (known, nknown, node))
            continue;
        last = first;
        rc = ledger_number (in->ledger, LEDGER_MEASURED, 0, node, &last, err);
        if (rc >= 0 && now - last > DAY_S + (out ? 0 : every_s))
            missed->name[missed->count++] = xstrdup (node);
    }
    free (known);
    return rc < 0 ? -1 : 0;
}

/*
 * For the site's page: these, those out of service, and hosts that Slurm lacks
 */

/* Why a node was missed that is in service. */
static char *why_missed (const struct ledger_rows *faulty,
                         const struct ledger_rows *silent, const char *node)
{
    const struct ledger_fault *fault = ledger_fault_of (faulty, node);

    if (fault)
        return xasprintf ("audits failed because of it: %s", fault->cause);
    return xstrdup (ledger_has_host (silent, node)
                        ? "it did not answer in an audit"
                        : "no fault is known: it was never idle, or is not in "
                          "AuditPartition");
}

static void add_missed (json_t *missed, const char *why, const char *node)
{
    json_t *list = json_object_get (missed, why);

    if (!list)
        json_put (missed, why, list = xcheck (json_array ()));
    json_add (list, json_string (node));
}

/* Hosts of the fabric that Slurm does not have. */
static void add_strangers (const struct reports *in, json_t *missed)
{
    const char **name = xarray (in->nodes->n, sizeof (*name));

    for (size_t i = 0; i < in->nodes->n; i++)
        name[i] = in->nodes->v[i].name;
    sort_array (name, in->nodes->n, compare_strings);
    for (size_t i = 0; i < in->fabric->nhosts; i++) {
        const char *node = in->node_of[in->fabric->host[i].first];

        if (!node || !text_find (name, in->nodes->n, node))
            add_missed (missed, "not a node of Slurm",
                        node ? node : in->fabric->host[i].name);
    }
    free (name);
}

static json_t *fold_missed (json_t *missed)
{
    json_t *list = xcheck (json_array ()), *v;
    const char *why;

    json_object_foreach (missed, why, v) {
        size_t n = json_array_size (v);
        const char **name = xarray (n, sizeof (*name));
        char *nodes;

        for (size_t i = 0; i < n; i++)
            name[i] = json_string_value (json_array_get (v, i));
        nodes = hostlist_fold (name, n);
        json_add (list, json_pack ("{s:s, s:I, s:o}", "nodes",
                                   nodes ? nodes : "", "n", (json_int_t)n,
                                   "why", page_text (why)));
        free (nodes);
        free (name);
    }
    json_decref (missed);
    return list;
}

json_t *missed_json (const struct reports *in, int64_t now, struct error *err)
{
    struct ledger_rows faulty = { 0 }, silent = { 0 };
    struct hostlist list = { 0 };
    const char **known;
    json_t *missed;
    size_t nknown;
    int rc = -1;

    if (!in->nodes)
        return xcheck (json_array ());
    missed = xcheck (json_object ());
    known = known_nodes (in, &nknown);
    if (ledger_faulty (in->ledger, now, &faulty, err) == 0
        && ledger_list (in->ledger, LEDGER_SILENT, now - SILENT_S, 0, &silent,
                        err)
               == 0)
        rc = missed_nodes (&list, in, now, err);
    for (size_t i = 0; rc == 0 && i < list.count; i++) {
        char *why = why_missed (&faulty, &silent, list.name[i]);

        add_missed (missed, why, list.name[i]);
        free (why);
    }
    for (size_t i = 0; rc == 0 && i < in->nodes->n; i++) {
        const struct policy_node *v = &in->nodes->v[i];

        if (page_state (v) && text_find (known, nknown, v->name))
            add_missed (missed, page_state (v), v->name);
    }
    if (rc == 0)
        add_strangers (in, missed);
    hostlist_clear (&list);
    free (known);
    if (rc == 0)
        return fold_missed (missed);
    json_decref (missed);
    return NULL;
}
