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

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/node/cache.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

/* A publication, and the texts that it points to. */
struct publication {
    const struct fabric *f;
    const char **name;       /* [known] of the fabric's nodes, sorted */
    size_t known;
    struct cache_node *node; /* [n] these, then others with their own names */
    size_t n;
    uint32_t *at;            /* [link] of a host link the node; FABRIC_NONE */
    struct cache_port *port; /* [endpoint] */
    size_t nports;
    json_t *result;          /* list of results, which own the sentences */
};

static uint32_t find_published_node (const struct publication *w,
                                     const char *name)
{
    const char *const *found = text_find (w->name, w->known, name);

    return found ? (uint32_t)(found - w->name) : FABRIC_NONE;
}

/* The nodes and ports of the fabric. */
static void start_publication (struct publication *w, const struct fabric *f,
                               const char *const *node_of, int64_t now)
{
    w->f = f;
    w->name = xarray (f->nendpoints, sizeof (*w->name));
    w->port = xcalloc (f->nendpoints, sizeof (*w->port));
    w->at = xarray (f->nlinks, sizeof (*w->at));
    w->result = xcheck (json_array ());
    for (size_t i = 0; i < f->nendpoints; i++)
        w->name[i] = node_of[i];
    w->n = w->known = text_unique (w->name, f->nendpoints);
    for (size_t i = 0; i < w->n; i++) { /* recall_ports adds more */
        w->node = xgrow (w->node, i, sizeof (*w->node));
        w->node[i] = (struct cache_node){ .name = w->name[i] };
    }
    for (size_t i = 0; i < f->nlinks; i++)
        w->at[i] = FABRIC_NONE;
    for (uint32_t i = 0; i < f->nendpoints; i++) {
        const struct fabric_port *p = &f->port[f->endpoint[i].port];
        struct cache_port *to = &w->port[w->nports];
        uint32_t node = find_published_node (w, node_of[i]);

        if (p->link == FABRIC_NONE)
            continue;
        w->at[p->link] = node;
        w->node[node].ports++;
        w->node[node].seen = now;
        to->guid = p->guid;
        to->rate = rates_of (f->link[p->link].width, f->link[p->link].speed);
        w->nports += to->rate.lanes && to->rate.speeds;
    }
}

/* Keep a larger number of ports that was published before. If the old file
 * cannot be read, it counts as empty and is replaced.
 */
static void keep_published_ports (struct publication *w, const char *path,
                                  int64_t now)
{
    FILE *fp = file_open_trusted (path, geteuid (), NULL);
    char line[512], name[64];
    uint64_t ports;
    int64_t seen;

    while (fp && fgets (line, sizeof (line), fp)) {
        uint32_t i;

        if (sscanf (line, "ports %63s %" SCNu64 " %" SCNd64, name, &ports,
                    &seen) != 3
            || seen > now || now - seen > CACHE_EXPECT_S)
            continue;
        if ((i = find_published_node (w, name)) == FABRIC_NONE) {
            i = (uint32_t)w->n;
            w->node = xgrow (w->node, w->n, sizeof (*w->node));
            w->node[w->n++] = (struct cache_node){ .name = xstrdup (name) };
        }
        if (ports > w->node[i].ports) {
            w->node[i].ports = ports;
            w->node[i].seen = seen;
        }
    }
    file_close_input (fp);
}

/* The node at a host link; FABRIC_NONE: none. */
static uint32_t node_at_host_link (const struct publication *w,
                                   const json_t *obj, const char *key)
{
    uint32_t link = fabric_find_link (w->f, json_text (obj, key));

    return link == FABRIC_NONE ? FABRIC_NONE : w->at[link];
}

/* Set the level of a node if this is its newest audit and found nothing worse
 * at it.
 */
static void set_node_level (struct publication *w, uint32_t node,
                            uint64_t audit, enum verdict_status level,
                            const char *why)
{
    struct cache_node *n = node == FABRIC_NONE ? NULL : &w->node[node];

    if (n && n->audit == audit && level > n->level) {
        n->level = level;
        n->sentence = why;
    }
}

/* If the suspects belong to several nodes, each of these is UNKNOWN. */
static void set_finding_levels (struct publication *w, const json_t *finding,
                                const char *says, uint64_t audit)
{
    const json_t *suspects = json_object_get (finding, "suspects");
    enum verdict_status level = service_status (finding, "level");
    uint32_t first = node_at_host_link (w, json_array_get (suspects, 0), "id");
    size_t i;
    json_t *v;

    if (strcmp (json_text (finding, "kind"),
                finding_kind_name (FINDING_HOST_END)))
        return;
    json_array_foreach (suspects, i, v)
        if (first == FABRIC_NONE || node_at_host_link (w, v, "id") != first)
            level = VERDICT_UNKNOWN;
    json_array_foreach (suspects, i, v)
        set_node_level (w, node_at_host_link (w, v, "id"), audit, level, says);
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
    struct verdict *verdict;
    size_t i;
    json_t *v;

    if (!result)
        return -1;
    json_add (w->result, result);
    for (size_t k = 0; k < w->known; k++)
        if (w->node[k].audit == audit) {
            w->node[k].time = json_int (result, "ended", 0);
            w->node[k].level = none ? VERDICT_UNKNOWN : VERDICT_OK;
            w->node[k].sentence = none ? untold : "no fault at its end";
        }
    verdict = ledger_verdict (result, w->f, true);
    json_array_foreach (findings, i, v) {
        char *says = words_finding (&verdict->finding[i], w->f);

        json_put (v, "says", json_string (says));
        set_finding_levels (w, v, json_text (v, "says"), audit);
        free (says);
    }
    verdict_destroy (verdict);
    json_array_foreach (open, i, v) set_node_level (
        w, node_at_host_link (w, v, "link"), audit, VERDICT_UNKNOWN, untold);
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
        uint32_t node = node_at_host_link (w, v, "link");

        if (node != FABRIC_NONE)
            w->node[node].audit = (uint64_t)json_int (v, "audit", 0);
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

int duty_publish (struct service *s, struct error *err)
{
    const char *path = s->site.verdicts;
    int64_t now = clock_date ();
    struct publication w = { 0 };
    int rc;

    if (!*path)
        return 0;
    start_publication (&w, s->fabric, s->node_of, now);
    if ((rc = take_audits (&w, s->ledger, err)) == 0) {
        keep_published_ports (&w, path, now);
        rc = cache_write (path, now,
                          &(struct cache){ w.node, w.n, w.port, w.nports },
                          err);
    }
    for (size_t i = w.known; i < w.n; i++)
        free ((char *)w.node[i].name);
    free (w.name);
    free (w.node);
    free (w.at);
    free (w.port);
    json_decref (w.result);
    return rc;
}
