/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Asking and checking are one walk. It follows each LID from the local port,
 * and from each host that is found, over what is known. Where something is not
 * known, the walk asks for it and stops. When the answers have come, everything
 * is walked again; a walk that asks for nothing decides what is used, and what
 * is wrong. Paths are followed only once to their end.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/explore.h"
#include "ibquery/read/smp.h"
#include "util/alloc.h"
#include "util/text.h"

/* A port of a node that is explored. */
struct reach_port {
    uint32_t node; /* EXPLORE_NONE: not found */
    uint8_t num;
};

struct reach {
    const struct reach_hosts *hosts;
    const char *source;
    struct error refusal;    /* of the last reading */
    struct explore *e;
    uint16_t *lid;           /* [nlids] of the hosts, ascending */
    size_t nlids;
    struct reach_port *owner; /* [nlids] */
    bool **used;             /* [nnodes][nlids] paths use this LID's entry;
                                NULL: none */
    bool *followed;          /* [nnodes] in this walk, from its hosts */
    size_t nnodes;           /* of the two */
    bool asked;              /* in this walk */
};

static void forget (struct reach *r)
{
    for (size_t i = 0; i < r->nnodes; i++)
        free (r->used[i]);
    free (r->used);
    free (r->followed);
    free (r->owner);
    r->used = NULL;
    r->followed = NULL;
    r->owner = NULL;
    r->nnodes = 0;
}

static bool is_switch (const struct reach *r, uint32_t node)
{
    return explored_is_switch (r->e->node[node]);
}

/* The port to which a switch sends LID i; LFT_NO_ROUTE if there is none, or 0
 * if that is being asked for.
 */
static unsigned int out_port (struct reach *r, uint32_t node, size_t i)
{
    const struct explored_node *n = r->e->node[node];
    unsigned int lid = r->lid[i], out;

    if (n->table != EXPLORE_HERE)
        explore_table (r->e, node);
    else if (lid > n->sw.top)
        return LFT_NO_ROUTE;
    else if (n->block[lid / LFT_BLOCK] != EXPLORE_HERE)
        explore_block (r->e, node, lid / LFT_BLOCK);
    else {
        out = n->lft[lid];
        return out == 0 || out > n->info.nports ? LFT_NO_ROUTE : out;
    }
    r->asked = true;
    return 0;
}

static bool has_lid (const struct port_attr *p, unsigned int lid)
{
    return lid >= p->lid && lid < p->lid + (1U << p->lmc);
}

/* Whether the port at which LID i arrives has it. */
static int check_arrival (struct reach *r, uint32_t node, unsigned int num,
                          size_t i, struct error *err)
{
    const struct explored_node *n = r->e->node[node];
    const struct explored_port *p = &n->port[num];
    struct reach_port *o = &r->owner[i];
    unsigned int lid = r->lid[i];

    if (!p->known || !has_lid (&p->info, lid)) {
        error_world (err,
                     "LID %u leads to %s %s (%016" PRIx64 ") port %u, which "
                     "does not have it",
                     lid, fabric_type_name (n->info.type), n->desc,
                     n->info.guid, num);
        return 0;
    }
    if (o->node == EXPLORE_NONE)
        *o = (struct reach_port){ node, (uint8_t)num };
    if (o->node == node && o->num == num)
        return 1;
    error_world (err, "LID %u belongs to %s and to %s", lid,
                 r->e->node[o->node]->desc, n->desc);
    return 0;
}

/* A path leaves a node by this port. */
static void use (struct reach *r, const struct reach_port *hop, size_t i)
{
    struct explored_node *n = r->e->node[hop->node];
    struct explored_port *p = &n->port[hop->num];

    if (is_switch (r, hop->node) && i < r->nlids) {
        bool **used = &r->used[hop->node];

        if (!*used)
            *used = xcalloc (r->nlids, sizeof (**used));
        (*used)[i] = true;
    }
    n->used = p->used = true;
    r->e->node[p->far]->used = true;
    r->e->node[p->far]->port[p->far_port].used = true;
}

/* Walk from an adapter's port, or from a switch (num 0), to the end of the path
 * to LID i; if `noted`, mark what is used. Return 1; 0 with err if the path
 * does not end at the LID's owner, or something was asked for; -1 with *fatal.
 */
static int follow (struct reach *r, struct reach_port from, size_t i,
                   bool noted, struct error *err, struct error *fatal)
{
    struct reach_port hop[PATH_MAX_HOPS];
    unsigned int lid = r->lid[i], num = from.num;
    uint32_t node = from.node;
    int hops = 0;

    for (;; num = 0) {
        const struct explored_node *n = r->e->node[node];
        const char *type = fabric_type_name (n->info.type);
        const struct explored_port *p;

        if (num == 0 && (num = out_port (r, node, i)) == 0)
            return 0;
        if (num == LFT_NO_ROUTE) {
            error_world (err, "%s %s (%016" PRIx64 ") has no route to LID %u",
                         type, n->desc, n->info.guid, lid);
            return 0;
        }
        p = &n->port[num];
        if (p->far == EXPLORE_NONE) {
            r->asked |= !p->ahead;
            error_world (err,
                         "%s %s (%016" PRIx64 ") sends LID %u to port %u, but "
                         "there is no answer from its far end",
                         type, n->desc, n->info.guid, lid, num);
            return explore_ahead (r->e, node, num, fatal);
        }
        if (hops == PATH_MAX_HOPS) {
            error_world (err,
                         "LID %u is sent in a loop that includes switch %s "
                         "(%016" PRIx64 ")",
                         lid, n->desc, n->info.guid);
            return 0;
        }
        hop[hops++] = (struct reach_port){ node, (uint8_t)num };
        node = p->far;
        if (!is_switch (r, node)) {
            if (check_arrival (r, node, p->far_port, i, err) == 0)
                return 0;
            break;
        }
        if (noted && node < r->nnodes && r->used[node] && r->used[node][i])
            break;
    }
    for (int k = 0; noted && k < hops; k++)
        use (r, &hop[k], i);
    return 1;
}

/* Check that all LIDs of the port with LID k are among those requested. */
static int check_owner (const struct reach *r, size_t k, struct error *err)
{
    const struct reach_port o = r->owner[k];
    const struct explored_node *n = r->e->node[o.node];
    const struct port_attr *info = &n->port[o.num].info;
    unsigned int count = 0;

    for (size_t i = 0; i < r->nlids; i++)
        count += has_lid (info, r->lid[i]);
    if (count == 1U << info->lmc)
        return 1;
    error_world (err, "%s (%016" PRIx64 ") port %u has LID %u and LMC %u",
                 n->desc, n->info.guid, o.num, info->lid, info->lmc);
    return 0;
}

/* Follow every LID from LID k's host. If it is on a switch, this follows for
 * all hosts on that switch.
 */
static int follow_from (struct reach *r, size_t k, struct error *err,
                        struct error *fatal)
{
    const struct reach_port o = r->owner[k];
    uint32_t leaf = r->e->node[o.node]->port[o.num].far;
    bool shared = leaf != EXPLORE_NONE && is_switch (r, leaf);
    int good = 1;

    if (shared && r->followed[leaf])
        return 1;
    if (shared)
        r->followed[leaf] = true;
    for (size_t i = 0; i < r->nlids; i++) {
        int rc = shared || r->owner[i].node != o.node
                     ? follow (r, o, i, true, good ? err : NULL, fatal)
                     : 1;

        if (rc < 0)
            return -1;
        good &= rc;
    }
    return good;
}

/* Follow every LID from the local port and from each host. Return as follow. */
static int walk (struct reach *r, struct error *err)
{
    const struct explored_node *own = r->e->node[0];
    const struct reach_port from = { 0, own->info.local_port };
    int good = 1, rc = 1;

    memset (r->followed, 0, r->nnodes * sizeof (*r->followed));
    r->asked = false;
    for (size_t i = 0; i < r->nlids; i++) {
        rc = follow (r, explored_is_switch (own) ? (struct reach_port){ 0, 0 }
                                                 : from,
                     i, false, good ? err : NULL, err);
        if (rc < 0)
            return -1;
        good &= rc;
    }
    for (size_t k = 0; k < r->nlids; k++) {
        if (r->owner[k].node == EXPLORE_NONE) {
            if (good)
                error_world (err, "no port has LID %u", r->lid[k]);
            good = 0;
            continue;
        }
        good &= check_owner (r, k, good ? err : NULL);
        if ((rc = follow_from (r, k, good ? err : NULL, err)) < 0)
            return -1;
        good &= rc;
    }
    return good;
}

/* Walk until nothing is left to ask for. */
static int walk_all (struct reach *r, struct error *err)
{
    int rc;

    if (explore_start (r->e, err) < 0)
        return -1;
    do {
        size_t n = r->e->nnodes;

        r->used = xrealloc (r->used, n, sizeof (*r->used));
        r->followed = xrealloc (r->followed, n, sizeof (*r->followed));
        while (r->nnodes < n)
            r->used[r->nnodes++] = NULL;
        if ((rc = walk (r, err)) < 0 || explore_run (r->e, err) < 0)
            return -1;
    } while (r->asked);
    return rc;
}

/* Keep the table entries that paths use, and each requested host with the cable
 * to it, even if it is the only host.
 */
static void trim (struct reach *r)
{
    for (size_t i = 0; i < r->nlids; i++)
        if (r->e->node[r->owner[i].node]->port[r->owner[i].num].far
            != EXPLORE_NONE)
            use (r, &r->owner[i], r->nlids);
    for (uint32_t k = 0; k < r->e->nnodes; k++) {
        struct explored_node *n = r->e->node[k];
        uint8_t entry[FABRIC_MAX_LID + 1];

        if (!n->used || n->table != EXPLORE_HERE)
            continue;
        memset (entry, LFT_NO_ROUTE, sizeof (entry));
        for (size_t i = 0; r->used[k] && i < r->nlids; i++)
            if (r->used[k][i])
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

/* Read the part for the LIDs. Return 1, 0 with err if they are not exactly the
 * LIDs of the hosts, or -1 with err.
 */
static int try_lids (struct reach *r, struct error *err)
{
    struct fabric *f;
    int rc;

    forget (r);
    r->owner = xarray (r->nlids, sizeof (*r->owner));
    for (size_t i = 0; i < r->nlids; i++)
        r->owner[i] = (struct reach_port){ EXPLORE_NONE, 0 };
    if ((rc = walk_all (r, err)) <= 0)
        return rc;
    trim (r);
    if (!(f = explore_fabric (r->e, r->source, err)))
        return -1;
    for (size_t i = 0; rc > 0 && i < r->hosts->n; i++)
        if (fabric_find_host (f, r->hosts->name[i]) == FABRIC_NONE) {
            error_world (err, "%s is not where it was", r->hosts->name[i]);
            rc = 0;
        }
    if (rc > 0 && f->nhosts != r->hosts->n) {
        error_world (err, "a LID of the hosts belongs to another host");
        rc = 0;
    }
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
    struct fabric *f;

    r->e = e;
    if (rc == 0 && r->hosts->hint)
        rc = find_lids (r, r->hosts->hint, err);
    if (rc > 0)
        rc = try_lids (r, err);
    if (rc == 0) {
        explore_clear (e);
        if (explore_places (e, err) < 0
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
    struct reach r = { .hosts = hosts, .source = source };
    struct error unheard;
    struct fabric *f;

    f = steady_read_by (m, source, ask, &r, err ? err : &unheard);
    forget (&r);
    free (r.lid);
    return f;
}
