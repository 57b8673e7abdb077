/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Publish the state of each node.
 *
 * Notes. The newest audit that measured a node's cables counts, with the worst
 * finding at this node's host end. Findings elsewhere do not count.
 *
 * The snapshot shows how many ports a node should have. If it shows fewer than
 * before, the larger number stays published for CACHE_EXPECT_S: the previous
 * publication is read to know it.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/node/cache.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

/* A publication, and the texts that it points to. */
struct publication {
    const struct fabric *f;
    const char *const *name; /* [endpoint] name of its node */
    uint32_t *endpoint;      /* [link] of a host link; else FABRIC_NONE */
    struct cache_node *node; /* [endpoint], name NULL: not known */
    struct cache_port *port; /* [endpoint] */
    size_t nports;
    json_t *result;          /* list of results, which own the sentences */
    struct cache_expect *expect;
    size_t nexpect;
};

static void start (struct publication *w, const struct fabric *f)
{
    w->f = f;
    w->node = xcalloc (f->nendpoints, sizeof (*w->node));
    w->port = xcalloc (f->nendpoints, sizeof (*w->port));
    w->endpoint = xarray (f->nlinks, sizeof (*w->endpoint));
    w->result = xcheck (json_array ());
    for (size_t i = 0; i < f->nlinks; i++)
        w->endpoint[i] = FABRIC_NONE;
    for (uint32_t i = 0; i < f->nendpoints; i++) {
        const struct fabric_port *p = &f->port[f->endpoint[i].port];
        struct cache_port *to = &w->port[w->nports];
        const struct fabric_link *link;

        if (p->link == FABRIC_NONE)
            continue;
        w->endpoint[p->link] = i;
        link = &f->link[p->link];
        if (!link->width || !link->speed[0])
            continue;
        to->guid = p->guid;
        to->rate.width = link->width;
        strcpy (to->rate.speed, link->speed);
        w->nports++;
    }
}

/* By name, then the most ports first, then the newest. */
static int compare_expect (const void *va, const void *vb)
{
    const struct cache_expect *a = va, *b = vb;
    int c = strcmp (a->node, b->node);

    if (c == 0)
        c = util_compare (b->ports, a->ports);
    return c ? c : util_compare (b->seen, a->seen);
}

/* Sort, and keep one per name: with the sum of its ports, or the first. */
static void fold_expect (struct publication *w, bool sum)
{
    size_t n = 0;

    qsort (w->expect, w->nexpect, sizeof (*w->expect), compare_expect);
    for (size_t i = 0; i < w->nexpect; i++)
        if (n == 0 || strcmp (w->expect[n - 1].node, w->expect[i].node))
            w->expect[n++] = w->expect[i];
        else if (sum)
            w->expect[n - 1].ports += w->expect[i].ports;
    w->nexpect = n;
}

static void take_expect (struct publication *w, const char *path, int64_t now)
{
    const struct fabric *f = w->f;
    struct cache_expect *last;
    size_t n;

    /* if the old file cannot be read, it counts as empty and is replaced */
    cache_read_expect (path, geteuid (), &last, &n, NULL);
    w->expect = xcalloc (f->nendpoints + n, sizeof (*w->expect));
    for (size_t i = 0; i < f->nendpoints; i++)
        if (w->name[i] && text_is_hostname (w->name[i])
            && f->port[f->endpoint[i].port].link != FABRIC_NONE) {
            struct cache_expect *x = &w->expect[w->nexpect++];

            strcpy (x->node, w->name[i]);
            x->ports = 1;
            x->seen = now;
        }
    fold_expect (w, true);
    for (size_t i = 0; i < n; i++)
        if (last[i].seen <= now && now - last[i].seen <= CACHE_EXPECT_S)
            w->expect[w->nexpect++] = last[i];
    fold_expect (w, false);
    free (last);
}

/* The endpoint of a host link; FABRIC_NONE: none. */
static uint32_t endpoint_of (const struct publication *w, const json_t *obj,
                             const char *key)
{
    uint32_t link = fabric_find_link (w->f, json_text (obj, key));

    return link == FABRIC_NONE ? FABRIC_NONE : w->endpoint[link];
}

/* Set the level of a node if this is its newest audit and found nothing worse
 * at it.
 */
static void take (struct publication *w, const json_t *obj, const char *key,
                  uint64_t audit, enum verdict_status level, const char *why)
{
    uint32_t at = endpoint_of (w, obj, key);
    struct cache_node *n = at == FABRIC_NONE ? NULL : &w->node[at];

    if (n && n->name && n->audit == audit && level > n->level) {
        n->level = level;
        n->sentence = why;
    }
}

/* If the suspects belong to several nodes, each of these is UNKNOWN. */
static void take_finding (struct publication *w, const json_t *finding,
                          uint64_t audit)
{
    const json_t *suspects = json_object_get (finding, "suspects");
    enum verdict_status level = service_status (finding, "level");
    const char *name = NULL;
    size_t i;
    json_t *v;

    if (strcmp (json_text (finding, "kind"),
                finding_kind_name (FINDING_HOST_END)))
        return;
    json_array_foreach (suspects, i, v) {
        uint32_t at = endpoint_of (w, v, "id");

        if (at == FABRIC_NONE || (name && strcmp (name, w->name[at])))
            level = VERDICT_UNKNOWN;
        else
            name = w->name[at];
    }
    json_array_foreach (suspects, i, v)
        take (w, v, "id", audit, level, json_text (finding, "why"));
}

/* Set the levels of the nodes whose newest audit this is. */
static int take_audit (struct publication *w, struct ledger *ledger,
                       uint64_t audit, struct error *err)
{
    static const char untold[] = "the audit could not tell";
    json_t *result = ledger_result (ledger, (int64_t)audit, err);
    const json_t *findings = json_object_get (result, "findings");
    const json_t *open = json_object_get (result, "not_judged");
    bool none = service_status (result, "status") == VERDICT_UNKNOWN
                && json_array_size (findings) + json_array_size (open) == 0;
    size_t i;
    json_t *v;

    if (!result)
        return -1;
    json_add (w->result, result);
    for (size_t k = 0; k < w->f->nendpoints; k++)
        if (w->node[k].name && w->node[k].audit == audit) {
            w->node[k].time = json_int (result, "ended", 0);
            w->node[k].level = none ? VERDICT_UNKNOWN : VERDICT_OK;
            w->node[k].sentence = none ? untold : "no fault at its end";
        }
    json_array_foreach (findings, i, v)
        take_finding (w, v, audit);
    json_array_foreach (open, i, v)
        take (w, v, "link", audit, VERDICT_UNKNOWN, untold);
    return 0;
}

/* Audit by audit: the list is sorted by audit. */
static int take_audits (struct publication *w, struct ledger *ledger,
                        struct error *err)
{
    json_t *list = ledger_list (ledger, LEDGER_NEWEST, 0, 0, err);
    int rc = list ? 0 : -1;
    int64_t last = 0;
    size_t i;
    json_t *v;

    json_array_foreach (list, i, v) {
        uint32_t at = endpoint_of (w, v, "link");

        if (at != FABRIC_NONE) {
            w->node[at].name = w->name[at];
            w->node[at].audit = (uint64_t)json_int (v, "audit", 0);
        }
    }
    json_array_foreach (list, i, v) {
        int64_t audit = json_int (v, "audit", 0);

        if (rc == 0 && audit != last)
            rc = take_audit (w, ledger, (uint64_t)audit, err);
        last = audit;
    }
    json_decref (list);
    return rc;
}

/* By name, then the worst first. */
static int compare_nodes (const void *va, const void *vb)
{
    const struct cache_node *a = va;
    const struct cache_node *b = vb;
    int c = strcmp (a->name ? a->name : "", b->name ? b->name : "");

    return c ? c : util_compare (b->level, a->level);
}

int duty_publish (struct service *s, struct error *err)
{
    const char *path = s->site.verdicts;
    int64_t now = time (NULL);
    struct publication w = { .name = s->node_of };
    size_t n = 0;
    int rc;

    if (!*path)
        return 0;
    start (&w, s->fabric);
    if ((rc = take_audits (&w, s->ledger, err)) == 0) {
        take_expect (&w, path, now);
        /* keep one entry per node, its worst */
        qsort (w.node, w.f->nendpoints, sizeof (*w.node), compare_nodes);
        for (size_t i = 0; i < w.f->nendpoints; i++)
            if (w.node[i].name
                && (n == 0 || strcmp (w.node[n - 1].name, w.node[i].name)))
                w.node[n++] = w.node[i];
        rc = cache_write (path, now,
                          &(struct cache){ w.node, n, w.port, w.nports,
                                           w.expect, w.nexpect },
                          err);
    }
    free (w.expect);
    free (w.endpoint);
    free (w.node);
    free (w.port);
    json_decref (w.result);
    return rc;
}
