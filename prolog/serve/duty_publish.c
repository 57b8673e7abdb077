/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Publish the state of each node.
 *
 * Notes. The newest audit that measured a node's cables counts, with the worst
 * finding at this node's host end. Findings elsewhere do not count. What an older
 * audit found a cable to carry holds until another one measures that: if it is
 * worse, that audit is published.
 *
 * The snapshot shows how many ports a node should have. If it shows fewer than
 * before, the larger number stays published for CACHE_EXPECT_S: the previous
 * publication is read to know it.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "prolog/node/cache.h"
#include "report/words.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"

/* A publication, and the texts that it points to. */
struct publication {
    const struct fabric *f;
    const char **name;       /* [known] of the fabric's nodes, sorted */
    size_t known;
    struct cache_node *node; /* [n] these, then others with their own names */
    size_t n;
    struct {
        uint64_t newest, rated; /* that measured it; that found that it carries
                                   less */
    } *audit;                /* [known] */
    uint32_t *at;            /* [link] of a host link the node; FABRIC_NONE */
    struct cache_port *port; /* [endpoint] */
    size_t nports;
    struct pool *pool;       /* has all of it */
};

static uint32_t find_published_node (const struct publication *w,
                                     const char *name)
{
    const char *const *found = text_find (w->name, w->known, name);

    return found ? (uint32_t)(found - w->name) : FABRIC_NONE;
}

static void start_publication (struct publication *w,
                               const char *const *node_of, int64_t now)
{
    const struct fabric *f = w->f;

    w->name = pool_alloc (w->pool, f->nendpoints, sizeof (*w->name));
    w->port = pool_alloc (w->pool, f->nendpoints, sizeof (*w->port));
    w->at = pool_alloc (w->pool, f->nlinks, sizeof (*w->at));
    for (size_t i = 0; i < f->nendpoints; i++)
        w->name[i] = node_of[i];
    w->n = w->known = text_unique (w->name, f->nendpoints);
    w->audit = pool_alloc (w->pool, w->known, sizeof (*w->audit));
    for (size_t i = 0; i < w->n; i++) { /* keep_published_ports adds more */
        w->node = pool_grow (w->pool, w->node, i, sizeof (*w->node));
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
            w->node = pool_grow (w->pool, w->node, w->n, sizeof (*w->node));
            w->node[w->n++].name = pool_strdup (w->pool, name);
        }
        if (ports > w->node[i].ports) {
            w->node[i].ports = ports;
            w->node[i].seen = seen;
        }
    }
    file_close_input (fp);
}

/* The node at a host link; FABRIC_NONE: none. */
static uint32_t node_at_host_link (const struct publication *w, const char *id)
{
    uint32_t link = fabric_find_link (w->f, id);

    return link == FABRIC_NONE ? FABRIC_NONE : w->at[link];
}

/* Set the level of a node if that is worse, and this is its newest audit; `rate`: or
 * the one that counts for what it carries.
 */
static void set_node_level (struct publication *w, uint32_t node,
                            const struct ledger_result *r, bool rate,
                            enum verdict_status level, const char *why)
{
    struct cache_node *n = node == FABRIC_NONE ? NULL : &w->node[node];
    uint64_t audit = (uint64_t)r->id;

    if (n && level > n->level
        && (w->audit[node].newest == audit
            || (rate && w->audit[node].rated == audit))) {
        n->level = level;
        n->sentence = why;
        n->audit = audit;
        n->time = r->ended;
    }
}

/* If the suspects belong to several nodes, each of these is UNKNOWN. */
static void set_finding_levels (struct publication *w, const struct finding *x,
                                const struct ledger_suspect *v, size_t n,
                                const struct ledger_result *r)
{
    uint32_t first = n > 0 ? node_at_host_link (w, v->id) : FABRIC_NONE;
    enum verdict_status level = x->level;
    char *text = words_finding (x, w->f), *says = pool_strdup (w->pool, text);

    for (size_t i = 0; i < n; i++)
        if (first == FABRIC_NONE || node_at_host_link (w, v[i].id) != first)
            level = VERDICT_UNKNOWN;
    for (size_t i = 0; i < n; i++)
        set_node_level (w, node_at_host_link (w, v[i].id), r,
                        finding_has_rate (x), level, says);
    free (text);
}

/* Set the levels of the nodes whose newest audit this is, or by rates. */
static int take_audit (struct publication *w, struct ledger *ledger,
                       int64_t audit, struct error *err)
{
    static const char untold[] = "the audit could not tell";
    struct ledger_result r;
    int rc = ledger_result (ledger, audit, w->f, true, &r, err);
    bool none = r.status >= VERDICT_UNKNOWN && r.status != VERDICT_FAIL
                && r.verdict->nfindings + r.open.n == 0;

    for (size_t k = 0; k < w->known && rc == 0; k++)
        if (w->audit[k].newest == (uint64_t)audit) {
            w->node[k].audit = w->audit[k].newest;
            w->node[k].time = r.ended;
            w->node[k].level = none ? VERDICT_UNKNOWN : VERDICT_OK;
            w->node[k].sentence = none ? untold : "no fault at its end";
        }
    for (size_t i = 0, n; i < r.verdict->nfindings && rc == 0; i++) {
        const struct ledger_suspect *s = ledger_suspects (&r, i, &n);

        if (r.verdict->finding[i].kind == FINDING_HOST_END)
            set_finding_levels (w, &r.verdict->finding[i], s, n, &r);
    }
    for (size_t i = 0; i < r.open.n && rc == 0; i++)
        set_node_level (w, node_at_host_link (w, r.open.link[i].link), &r,
                        false, VERDICT_UNKNOWN, untold);
    return rc;
}

/* Audit by audit, the newest first: the list is sorted by audit. */
static int take_audits (struct publication *w, struct ledger *ledger,
                        struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (ledger, LEDGER_LINKS, 0, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_link *row = &rows.link[i];
        uint32_t node = node_at_host_link (w, row->link);

        if (node == FABRIC_NONE)
            continue;
        w->audit[node].newest = (uint64_t)row->audit;
        if (row->rate_expected_bits > 0)
            w->audit[node].rated = (uint64_t)row->audit;
    }
    for (size_t i = rows.n; i-- > 0 && rc == 0;)
        if (i + 1 == rows.n || rows.link[i].audit != rows.link[i + 1].audit)
            rc = take_audit (w, ledger, rows.link[i].audit, err);
    return rc;
}

int duty_publish (const struct service *s, struct ledger *ledger,
                  struct service_state *state, struct error *err)
{
    const char *path = s->site.verdicts;
    int64_t now = clock_date ();
    struct publication w = { .f = s->fabric };
    int rc;

    (void)state;
    if (!*path)
        return 0;
    w.pool = pool_create ();
    start_publication (&w, s->node_of, now);
    if ((rc = take_audits (&w, ledger, err)) == 0) {
        keep_published_ports (&w, path, now);
        rc = cache_write (path, now,
                          &(struct cache){ w.node, w.n, w.port, w.nports },
                          err);
    }
    pool_destroy (w.pool);
    return rc;
}
