/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The tables are followed to each LID, from the local port and from each
 * adapter that is found, as far as they are known; what is not known is asked
 * for, and all are followed again. When nothing is left to ask for, what was
 * explored is a fabric, and the routes of that fabric decide what is used, and
 * what is wrong.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/read/explore.h"
#include "ibquery/read/groups.h"
#include "util/alloc.h"

struct reach {
    const struct reach_hosts *hosts;
    const char *source;
    struct error refusal;    /* of the last reading */
    struct explore *e;
    uint16_t *lid;           /* [nlids] of the hosts, ascending */
    size_t nlids;
    bool wanted[FABRIC_MAX_LID + 1]; /* by LID: it is in the list */
    uint8_t **entry;         /* [nnodes] what is used of its table, or NULL */
    bool asked;              /* since the last answers */
};

/* Follow the tables from a node to a LID; where something is not known, ask for
 * it. Return 0, or -1 with err.
 */
static int follow (struct reach *r, uint32_t node, unsigned int lid,
                   struct error *err)
{
    for (int hops = 0; hops < PATH_MAX_HOPS; hops++) {
        const struct explored_node *n = r->e->node[node];
        unsigned int out, block = lid / LFT_BLOCK;

        if (!explored_is_switch (n)
            || (n->table == EXPLORE_HERE && lid > n->sw.top))
            return 0;
        if (n->table != EXPLORE_HERE || n->block[block] != EXPLORE_HERE) {
            r->asked = true;
            if (n->table != EXPLORE_HERE)
                explore_table (r->e, node);
            else
                explore_block (r->e, node, block);
            return 0;
        }
        out = n->lft[lid];
        if (out == 0 || out > n->info.nports)
            return 0;
        if (n->port[out].far == EXPLORE_NONE) {
            r->asked |= !n->port[out].ahead;
            return explore_ahead (r->e, node, out, err);
        }
        node = n->port[out].far;
    }
    return 0;
}

/* Follow every LID from the local port, or from the local node if it is a
 * switch, and from each port that has one of the LIDs.
 */
static int follow_all (struct reach *r, struct error *err)
{
    struct explore *e = r->e;
    bool *seen = xcalloc (e->nnodes, sizeof (*seen));
    int rc = 0;

    r->asked = false;
    for (uint32_t k = 0; k < e->nnodes && rc == 0; k++) {
        const struct explored_node *n = e->node[k];
        bool is_switch = explored_is_switch (n);

        for (unsigned int num = 0; num <= n->info.nports && rc == 0; num++) {
            const struct explored_port *p = &n->port[num];
            uint32_t start = is_switch ? k : p->far;
            bool own = k == 0 && num == n->info.local_port;

            if (!own && (is_switch || !r->wanted[p->info.lid]))
                continue;
            if (start == EXPLORE_NONE) {
                r->asked |= !p->ahead;
                rc = explore_ahead (e, k, num, err);
            } else if (!seen[start]) {
                seen[start] = true;
                for (size_t i = 0; i < r->nlids && rc == 0; i++)
                    rc = follow (r, start, r->lid[i], err);
            }
        }
    }
    free (seen);
    return rc;
}

/* Mark a port as used; return its node. */
static uint32_t use_port (const struct reach *r, const struct fabric *f,
                          uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    uint32_t node = map_find (&r->e->by_guid, f->node[p->node].guid);

    r->e->node[node]->used = r->e->node[node]->port[p->num].used = true;
    return node;
}

/* Mark a cable as used, and the entry for the LID by which its near end sends.
 */
static void use (const struct reach *r, const struct fabric *f, uint32_t arc,
                 unsigned int lid)
{
    const struct fabric_link *l = &f->link[arc / 2];
    uint32_t a = use_port (r, f, l->a), b = use_port (r, f, l->b);
    uint32_t from = arc % 2 ? b : a;

    if (r->entry[from])
        r->entry[from][lid] = r->e->node[from]->lft[lid];
}

/* Mark each host's cables, even if it is the only host, and what the routes
 * from its ports to each LID use. Return 1, or 0 with err.
 */
static int mark (const struct reach *r, const struct fabric *f,
                 const struct fabric_host *host, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (uint32_t i = host->first; i < host->first + host->count; i++) {
        uint32_t port = f->endpoint[i].port;
        uint32_t leaf = use_port (r, f, fabric_far_port (f, port));

        use_port (r, f, port);
        for (size_t k = 0; k < r->nlids; k++) {
            int n = fabric_walk_lid (f, port, r->lid[k], arc, err);

            if (n < 0)
                return 0;
            if (n == 0 && r->entry[leaf]) /* the port's own LID */
                r->entry[leaf][r->lid[k]] = r->e->node[leaf]->lft[r->lid[k]];
            for (int hop = 0; hop < n; hop++)
                use (r, f, arc[hop], r->lid[k]);
        }
    }
    return 1;
}

/* Check that the LIDs are those of the hosts, and mark what the routes between
 * them use. Return 1, or 0 with err.
 */
static int check (const struct reach *r, const struct fabric *f,
                  struct error *err)
{
    const struct explored_node *own = r->e->node[0];
    uint32_t node = fabric_find_node (f, own->info.guid);
    uint32_t port = f->node[node].first_port + own->info.local_port - 1;
    uint32_t arc[PATH_MAX_HOPS];
    size_t count = 0;

    for (size_t i = 0; i < r->nlids && !explored_is_switch (own); i++)
        if (f->port[port].link != FABRIC_NONE
            && fabric_walk_lid (f, port, r->lid[i], arc, err) < 0)
            return 0;
    for (size_t i = 0; i < r->hosts->n; i++) {
        uint32_t h = fabric_find_host (f, r->hosts->name[i]);

        if (h == FABRIC_NONE) {
            error_world (err, "%s is not where it was", r->hosts->name[i]);
            return 0;
        }
        for (uint32_t k = 0; k < f->host[h].count; k++) {
            const struct fabric_port *p
                = &f->port[f->endpoint[f->host[h].first + k].port];

            for (unsigned int lid = p->lid; lid < p->lid + (1U << p->lmc);
                 lid++, count++)
                if (!r->wanted[lid]) {
                    error_world (err, "%s has LID %u, too",
                                 r->hosts->name[i], lid);
                    return 0;
                }
        }
        if (mark (r, f, &f->host[h], err) == 0)
            return 0;
    }
    if (count == r->nlids)
        return 1;
    error_world (err, "a LID of the hosts belongs to another host");
    return 0;
}

/* Read the part for the LIDs. Return 1, 0 with err if they are not exactly the
 * LIDs of the hosts, or -1 with err.
 */
static int try_lids (struct reach *r, struct error *err)
{
    struct explore *e = r->e;
    struct fabric *f;
    int rc = explore_start (e, err);

    do {
        if (rc < 0 || follow_all (r, err) < 0 || explore_run (e, err) < 0)
            return -1;
    } while (r->asked);
    if (groups_read (e, err) < 0)
        return -1;
    if (!(f = explore_fabric (e, r->source, err)))
        return -1;
    r->entry = xcalloc (e->nnodes, sizeof (*r->entry));
    for (size_t k = 0; k < e->nnodes; k++)
        if (e->node[k]->table == EXPLORE_HERE)
            r->entry[k] = memset (xarray (e->node[k]->sw.top + 1U, 1),
                                  LFT_NO_ROUTE, e->node[k]->sw.top + 1U);
    rc = check (r, f, err);
    for (size_t k = 0; k < e->nnodes; k++) {
        if (r->entry[k])
            memcpy (e->node[k]->lft, r->entry[k], e->node[k]->sw.top + 1U);
        free (r->entry[k]);
    }
    free (r->entry);
    e->part = true;
    fabric_destroy (f);
    return rc;
}

/* Find the LIDs of the hosts in a fabric. Return 1, or 0 with err that names
 * the hosts it does not have.
 */
static int find_lids (struct reach *r, const struct fabric *f,
                      struct error *err)
{
    const char **missing = xarray (r->hosts->n, sizeof (*missing));
    size_t nmissing = 0;

    memset (r->wanted, false, sizeof (r->wanted));
    r->nlids = 0;
    for (size_t i = 0; i < r->hosts->n; i++) {
        uint32_t h = fabric_find_host (f, r->hosts->name[i]);

        if (h == FABRIC_NONE)
            missing[nmissing++] = r->hosts->name[i];
        for (uint32_t k = 0; h != FABRIC_NONE && k < f->host[h].count; k++) {
            const struct fabric_port *p
                = &f->port[f->endpoint[f->host[h].first + k].port];

            memset (r->wanted + p->lid, true, 1U << p->lmc);
        }
    }
    for (unsigned int lid = 1; lid <= FABRIC_MAX_LID; lid++)
        if (r->wanted[lid])
            r->lid[r->nlids++] = (uint16_t)lid;
    if (nmissing > 0) {
        fabric_not_found (missing, nmissing, err);
        err->fault = ERROR_WORLD;
    }
    free (missing);
    return nmissing == 0;
}

/* One reading: with the LIDs of the last one, else with those of the hint. If
 * these are rejected, all nodes and cables are read first. The same error twice
 * is final.
 */
static int ask (void *arg, struct explore *e, struct error *err)
{
    struct reach *r = arg;
    int rc = r->nlids > 0;
    struct fabric *f;

    r->e = e;
    if (rc == 0 && r->hosts->hint)
        rc = find_lids (r, r->hosts->hint, err);
    if (rc > 0)
        rc = try_lids (r, err);
    if (rc == 0) {
        explore_clear (e);
        e->no_tables = true;
        if (explore_all (e, err) < 0
            || !(f = explore_fabric (e, r->source, err)))
            rc = -1;
        else {
            rc = find_lids (r, f, err);
            fabric_destroy (f);
        }
        if (rc > 0)
            rc = try_lids (r, err);
    }
    if (rc > 0)
        return 0;
    r->nlids = 0;
    if (rc < 0)
        return -1;
    rc = strcmp (r->refusal.text, err->text) == 0 ? 1 : -1;
    r->refusal = *err;
    return rc;
}

struct fabric *reach_read (struct mads *m, const char *source,
                           const struct reach_hosts *hosts,
                           struct error *err)
{
    struct reach r = { .hosts = hosts, .source = source,
                       .lid = xarray (FABRIC_MAX_LID + 1, sizeof (*r.lid)) };
    struct error unheard;
    struct fabric *f;

    f = steady_read (m, source, ask, &r, err ? err : &unheard);
    free (r.lid);
    return f;
}
