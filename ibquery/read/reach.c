/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Reading comes before checking. While answers arrive, each LID is passed on to
 * the switches to which the tables lead; an entry that leads nowhere is
 * ignored. When nothing is left to ask, `follow` walks from each host to each
 * LID over what has arrived. Only this decides what is used, and what is wrong.
 *
 * Each LID is wanted only once at a switch, so tables with a loop cannot keep
 * the reading going forever; follow counts hops.
 */
#include "config.h"
#include "ibquery/read/reach.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/explore.h"
#include "ibquery/read/smp.h"
#include "ibquery/read/steady.h"
#include "util/alloc.h"
#include "util/text.h"

/* The port that has a LID. */
struct owner {
    uint32_t node; /* EXPLORE_NONE: not found */
    uint8_t num;
};

/* The LIDs that are wanted at a switch, and those that paths use there. */
struct reach_way {
    uint64_t *wanted, *used; /* bits by index into `lid`; NULL: none */
    bool all;                /* it has a host: every LID is wanted */
    bool followed;           /* the paths from its hosts were checked */
};

/* A LID to look up at a switch. */
struct errand {
    uint32_t node, lid; /* by index */
};

struct reach {
    const struct reach_hosts *hosts;
    const char *source;
    struct error refusal;    /* of the last reading */
    struct explore *e;
    uint16_t *lid;           /* [nlids] of the hosts, ascending */
    size_t nlids;
    struct owner *owner;     /* [nlids] */
    struct reach_way *way;   /* [nways] by node */
    size_t nways;
    struct errand *errand;   /* [nerrands] to be done */
    size_t nerrands;
};

static bool has (const uint64_t *bits, size_t i)
{
    return bits && bits[i / 64] >> i % 64 & 1;
}

static void set (const struct reach *r, uint64_t **bits, size_t i)
{
    if (!*bits)
        *bits = xcalloc (r->nlids / 64 + 1, sizeof (**bits));
    (*bits)[i / 64] |= 1ULL << i % 64;
}

/* Free everything but the LIDs. */
static void forget (struct reach *r)
{
    for (size_t i = 0; i < r->nways; i++) {
        free (r->way[i].wanted);
        free (r->way[i].used);
    }
    free (r->way);
    free (r->owner);
    free (r->errand);
    r->way = NULL;
    r->owner = NULL;
    r->errand = NULL;
    r->nways = r->nerrands = 0;
}

static struct reach_way *way_of (struct reach *r, uint32_t node)
{
    while (r->nways <= node) {
        r->way = xgrow (r->way, r->nways, sizeof (*r->way));
        r->way[r->nways++] = (struct reach_way){ 0 };
    }
    return &r->way[node];
}

static bool is_switch (const struct reach *r, uint32_t node)
{
    return r->e->node[node]->info.type == NODE_SWITCH;
}

/* The port to which a switch sends a LID; LFT_NO_ROUTE if there is none. */
static unsigned int out_port (const struct explored_node *n, unsigned int lid)
{
    unsigned int out;

    if (n->table != EXPLORE_HERE || lid > n->sw.top)
        return LFT_NO_ROUTE;
    out = n->lft[lid];
    return out == 0 || out > n->info.nports ? LFT_NO_ROUTE : out;
}

/* Asking */

static void want (struct reach *r, uint32_t node, size_t i)
{
    struct reach_way *w = way_of (r, node);

    if (has (w->wanted, i))
        return;
    r->errand = xgrow (r->errand, r->nerrands, sizeof (*r->errand));
    r->errand[r->nerrands++] = (struct errand){ node, (uint32_t)i };
    set (r, &w->wanted, i);
}

/* This switch has a host: every LID is wanted. */
static void want_all (struct reach *r, uint32_t node)
{
    struct reach_way *w = way_of (r, node);

    if (w->all)
        return;
    w->all = true;
    for (size_t i = 0; i < r->nlids; i++)
        want (r, node, i);
}

/* LID i leaves a switch through a port whose far end is known. */
static void go_on (struct reach *r, uint32_t node, unsigned int out, size_t i)
{
    uint32_t far = r->e->node[node]->port[out].far;

    if (is_switch (r, far))
        want (r, far, i);
    else
        want_all (r, node);
}

/* The block that contains LID i has arrived. */
static int step (struct reach *r, uint32_t node, size_t i, struct error *err)
{
    const struct explored_node *n = r->e->node[node];
    unsigned int out = out_port (n, r->lid[i]);

    if (out == LFT_NO_ROUTE)
        return 0;
    if (explore_ahead (r->e, node, out, err) < 0)
        return -1;
    if (n->port[out].far != EXPLORE_NONE)
        go_on (r, node, out, i);
    return 0;
}

/* Look up LID i in a table of known length. */
static int look_up (struct reach *r, uint32_t node, size_t i,
                    struct error *err)
{
    const struct explored_node *n = r->e->node[node];
    unsigned int block = r->lid[i] / LFT_BLOCK;

    if (r->lid[i] > n->sw.top)
        return 0;
    if (n->block[block] == EXPLORE_HERE)
        return step (r, node, i, err);
    explore_block (r->e, node, block);
    return 0;
}

/* Look up what is wanted, as far as answers have arrived. */
static int work (struct reach *r, struct error *err)
{
    while (r->nerrands > 0) {
        struct errand e = r->errand[--r->nerrands];

        if (r->e->node[e.node]->table != EXPLORE_HERE)
            explore_table (r->e, e.node);
        else if (look_up (r, e.node, e.lid, err) < 0)
            return -1;
    }
    return 0;
}

/* The first LID that is not below `low`. */
static size_t first_from (const struct reach *r, unsigned int low)
{
    size_t a = 0, b = r->nlids;

    while (a < b) {
        size_t mid = a + (b - a) / 2;

        if (r->lid[mid] < low)
            a = mid + 1;
        else
            b = mid;
    }
    return a;
}

/* Call fn for each LID from `low` to `high` that is wanted at a node. */
static int for_wanted (struct reach *r, uint32_t node, unsigned int low,
                       unsigned int high,
                       int (*fn) (struct reach *r, uint32_t node, size_t i,
                                  struct error *err),
                       struct error *err)
{
    for (size_t i = first_from (r, low);
         i < r->nlids && r->lid[i] <= high && node < r->nways; i++)
        if (has (r->way[node].wanted, i) && fn (r, node, i, err) < 0)
            return -1;
    return work (r, err);
}

static int on_table (void *arg, uint32_t node, struct error *err)
{
    return for_wanted (arg, node, 0, FABRIC_MAX_LID, look_up, err);
}

static int on_block (void *arg, uint32_t node, unsigned int block,
                     struct error *err)
{
    return for_wanted (arg, node, block * LFT_BLOCK,
                       block * LFT_BLOCK + LFT_BLOCK - 1, step, err);
}

/* The node at the far end of a port is known, or does not answer. */
static int on_ahead (void *arg, uint32_t node, unsigned int num,
                     struct error *err)
{
    struct reach *r = arg;
    uint32_t far = r->e->node[node]->port[num].far;

    if (num == 0) /* the local node is a switch */
        want_all (r, node);
    else if (far == EXPLORE_NONE)
        return 0;
    else if (!is_switch (r, node)) { /* the local node is an adapter */
        if (is_switch (r, far))
            want_all (r, far);
    } else
        for (size_t i = 0; i < r->nlids && node < r->nways; i++)
            if (has (r->way[node].wanted, i)
                && out_port (r->e->node[node], r->lid[i]) == num)
                go_on (r, node, num, i);
    return work (r, err);
}

/* Checking */

/* Find the owners of the LIDs among the ports that were reached. Return 1, or 0
 * with err if two ports have the same LID.
 */
static int find_owners (struct reach *r, struct error *err)
{
    r->owner = xarray (r->nlids, sizeof (*r->owner));
    for (size_t i = 0; i < r->nlids; i++)
        r->owner[i] = (struct owner){ EXPLORE_NONE, 0 };
    for (uint32_t k = 0; k < r->e->nnodes; k++) {
        const struct explored_node *n = r->e->node[k];

        for (unsigned int num = 1; num <= n->info.nports; num++) {
            unsigned int low = n->port[num].info.lid;
            unsigned int high = low + (1U << n->port[num].info.lmc) - 1;

            if (is_switch (r, k) || !n->port[num].known || low == 0)
                continue;
            for (size_t i = first_from (r, low);
                 i < r->nlids && r->lid[i] <= high; i++) {
                if (r->owner[i].node != EXPLORE_NONE) {
                    error_world (err, "LID %u belongs to %s and to %s",
                                 r->lid[i],
                                 r->e->node[r->owner[i].node]->desc, n->desc);
                    return 0;
                }
                r->owner[i] = (struct owner){ k, (uint8_t)num };
            }
        }
    }
    return 1;
}

static int lost (const struct reach *r, uint32_t node, unsigned int lid,
                 unsigned int num, struct error *err)
{
    const struct explored_node *n = r->e->node[node];
    const char *type = fabric_type_name (n->info.type);

    if (num == LFT_NO_ROUTE)
        error_world (err,
                     "%s %s (%016" PRIx64 ") has no route to LID %u", type,
                     n->desc, n->info.guid, lid);
    else
        error_world (err,
                     "%s %s (%016" PRIx64 ") sends LID %u to port %u, where "
                     "nobody answers",
                     type, n->desc, n->info.guid, lid, num);
    return 0;
}

struct reach_hop {
    uint32_t node;
    uint8_t num; /* the port by which it leaves */
};

/* Mark what a path to LID i uses. */
static void use (struct reach *r, const struct reach_hop *hop, int hops,
                 size_t i)
{
    for (int k = 0; k < hops; k++) {
        struct explored_node *n = r->e->node[hop[k].node];
        struct explored_port *p = &n->port[hop[k].num];

        if (is_switch (r, hop[k].node))
            set (r, &way_of (r, hop[k].node)->used, i);
        n->used = p->used = true;
        r->e->node[p->far]->used = true;
        r->e->node[p->far]->port[p->far_port].used = true;
    }
}

/* Walk from an adapter's port to the end of the path to LID i; if `noted`, mark
 * what is used. Return 1, or 0 with err if the path does not end at the LID's
 * owner.
 */
static int follow (struct reach *r, uint32_t node, unsigned int num, size_t i,
                   bool noted, struct error *err)
{
    struct reach_hop hop[PATH_MAX_HOPS];
    unsigned int lid = r->lid[i];
    int hops = 0;

    for (;;) {
        const struct explored_node *n = r->e->node[node];
        const struct explored_port *p = &n->port[num];

        if (num == LFT_NO_ROUTE || p->far == EXPLORE_NONE)
            return lost (r, node, lid, num, err);
        if (hops == PATH_MAX_HOPS) {
            error_world (err,
                         "LID %u is sent in a loop that includes switch %s "
                         "(%016" PRIx64 ")",
                         lid, n->desc, n->info.guid);
            return 0;
        }
        hop[hops++] = (struct reach_hop){ node, (uint8_t)num };
        node = p->far;
        if (!is_switch (r, node)) {
            if (r->owner[i].node == node && r->owner[i].num == p->far_port)
                break;
            n = r->e->node[node];
            error_world (err,
                         "LID %u leads to %s %s (%016" PRIx64 ") port %u, "
                         "which has not got it",
                         lid, fabric_type_name (n->info.type), n->desc,
                         n->info.guid, p->far_port);
            return 0;
        }
        if (noted && node < r->nways && has (r->way[node].used, i))
            break;
        num = out_port (r->e->node[node], lid);
    }
    if (noted)
        use (r, hop, hops, i);
    return 1;
}

/* Check that all LIDs of the port with LID k are among those requested. */
static int check_owner (const struct reach *r, size_t k, struct error *err)
{
    const struct owner *o = &r->owner[k];
    const struct explored_node *n = r->e->node[o->node];
    const struct port_attr *info = &n->port[o->num].info;
    size_t i = first_from (r, info->lid);
    unsigned int count = 0;

    for (; i < r->nlids && r->owner[i].node == o->node
           && r->owner[i].num == o->num;
         i++)
        count++;
    if (count == 1U << info->lmc)
        return 1;
    error_world (err, "%s (%016" PRIx64 ") port %u has LID %u and LMC %u",
                 n->desc, n->info.guid, o->num, info->lid, info->lmc);
    return 0;
}

/* Check that LID k's host reaches every LID. If it is on a switch, this checks
 * all hosts on that switch.
 */
static int check_from (struct reach *r, size_t k, struct error *err)
{
    const struct owner *o = &r->owner[k];
    uint32_t leaf = r->e->node[o->node]->port[o->num].far;
    bool shared = leaf != EXPLORE_NONE && is_switch (r, leaf);
    struct reach_way *w = shared ? way_of (r, leaf) : NULL;
    int rc = 1;

    if (shared && w->followed)
        return 1;
    if (shared)
        w->followed = true;
    for (size_t i = 0; rc > 0 && i < r->nlids; i++)
        if (shared || r->owner[i].node != o->node)
            rc = follow (r, o->node, o->num, i, true, err);
    return rc;
}

/* Check that every LID is reached from the local port and from each host.
 * Return 1, or 0 with err if not.
 */
static int check (struct reach *r, struct error *err)
{
    const struct explored_node *own = r->e->node[0];
    int rc = find_owners (r, err);

    for (size_t i = 0; rc > 0 && i < r->nlids; i++)
        if (own->info.type != NODE_SWITCH)
            rc = follow (r, 0, own->info.local_port, i, false, err);
    for (size_t k = 0; rc > 0 && k < r->nlids; k++) {
        if (r->owner[k].node == EXPLORE_NONE) {
            error_world (err, "nobody has LID %u", r->lid[k]);
            return 0;
        }
        rc = check_owner (r, k, err);
        if (rc > 0)
            rc = check_from (r, k, err);
    }
    return rc;
}

/* Keep the table entries that paths use, and each requested host with the cable
 * to it, even if it is the only host.
 */
static void trim (struct reach *r)
{
    uint8_t entry[FABRIC_MAX_LID + 1];

    for (size_t i = 0; i < r->nlids; i++) {
        struct explored_node *n = r->e->node[r->owner[i].node];
        struct explored_port *p = &n->port[r->owner[i].num];

        if (p->far == EXPLORE_NONE)
            continue;
        n->used = p->used = true;
        r->e->node[p->far]->used = true;
        r->e->node[p->far]->port[p->far_port].used = true;
    }
    for (uint32_t k = 0; k < r->e->nnodes; k++) {
        struct explored_node *n = r->e->node[k];

        if (!n->used || n->table != EXPLORE_HERE)
            continue;
        memset (entry, LFT_NO_ROUTE, sizeof (entry));
        for (size_t i = 0; i < r->nlids; i++)
            if (k < r->nways && has (r->way[k].used, i))
                entry[r->lid[i]] = n->lft[r->lid[i]];
        memcpy (n->lft, entry, n->sw.top + 1U);
    }
    r->e->part = true;
}

/* Find the LIDs of the hosts in a fabric. Return 1, or 0 with err that names
 * the hosts it does not have.
 */
static int find_lids (struct reach *r, const struct fabric *f,
                      struct error *err)
{
    const char **missing = xarray (r->hosts->n, sizeof (*missing));
    bool wanted[FABRIC_MAX_LID + 1] = { false };
    size_t nmissing = 0;

    free (r->lid);
    r->lid = xarray (FABRIC_MAX_LID + 1, sizeof (*r->lid));
    r->nlids = 0;
    for (size_t i = 0; i < r->hosts->n; i++) {
        uint32_t h = fabric_find_host (f, r->hosts->name[i]);

        if (h == FABRIC_NONE) {
            missing[nmissing++] = r->hosts->name[i];
            continue;
        }
        for (uint32_t k = 0; k < f->host[h].count; k++) {
            uint32_t port = f->endpoint[f->host[h].first + k].port;
            const struct fabric_port *p = &f->port[port];

            memset (wanted + p->lid, true, 1U << p->lmc);
        }
    }
    for (unsigned int lid = 1; lid <= FABRIC_MAX_LID; lid++)
        if (wanted[lid])
            r->lid[r->nlids++] = (uint16_t)lid;
    if (nmissing > 0) {
        char *list = xcheck (hostlist_fold (missing, nmissing));

        error_world (err, "not in the fabric: %s", list);
        free (list);
    }
    free (missing);
    return nmissing == 0;
}

/* Check that the part has the requested hosts, and no other. */
static int check_hosts (const struct reach *r, const struct fabric *f,
                        struct error *err)
{
    for (size_t i = 0; i < r->hosts->n; i++)
        if (fabric_find_host (f, r->hosts->name[i]) == FABRIC_NONE) {
            error_world (err, "%s is not where it was", r->hosts->name[i]);
            return 0;
        }
    if (f->nhosts == r->hosts->n)
        return 1;
    error_world (err, "a LID of the hosts is another's");
    return 0;
}

/* Read the part for the LIDs. Return 1, 0 with err if they are not exactly the
 * LIDs of the hosts, or -1 with err.
 */
static int try_lids (struct reach *r, struct error *err)
{
    const struct explore_guide guide = { on_table, on_block, on_ahead, r };
    struct fabric *f;
    int rc;

    forget (r);
    if (explore_by (r->e, &guide, err) < 0)
        return -1;
    rc = check (r, err);
    if (rc <= 0)
        return rc;
    trim (r);
    f = explore_fabric (r->e, r->source, err);
    if (!f)
        return -1;
    rc = check_hosts (r, f, err);
    fabric_destroy (f);
    return rc;
}

/* Read all nodes and cables to find the current LIDs of the hosts. */
static int find_places (struct reach *r, struct error *err)
{
    struct fabric *f;
    int rc;

    explore_clear (r->e);
    if (explore_places (r->e, err) < 0)
        return -1;
    f = explore_fabric (r->e, r->source, err);
    if (!f)
        return -1;
    rc = find_lids (r, f, err);
    fabric_destroy (f);
    return rc;
}

/* One reading: with the LIDs of the last one, else with those of the hint. If
 * these are rejected, all nodes and cables are read first. The same error twice
 * is final.
 */
static int ask (void *arg, struct explore *e, struct error *err)
{
    struct reach *r = arg;
    int rc = r->nlids > 0;

    r->e = e;
    if (rc == 0 && r->hosts->hint)
        rc = find_lids (r, r->hosts->hint, err);
    if (rc > 0)
        rc = try_lids (r, err);
    if (rc == 0) {
        rc = find_places (r, err);
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
    struct reach r = { .hosts = hosts, .source = source };
    const struct steady_how how = { ask, &r };
    struct error unheard;
    struct fabric *f;

    f = steady_read_by (m, source, &how, err ? err : &unheard);
    forget (&r);
    free (r.lid);
    return f;
}
