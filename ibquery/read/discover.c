/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * opensm's ActCount is the number of MADs that it has sent on QP 0, including
 * its answer to the last SMInfo. Other subnet managers may not include it. So
 * questions one after another show what a quiet one counts per question: `own`.
 *
 * While opensm computes routes, it sends nothing. But then the switches with a
 * change still have PortStateChange set, which it clears when it sets their
 * tables, and even somewhat earlier. So the tables are checked as well.
 *
 * A part: the tables are followed to each LID, from the local port and from each
 * adapter that is found, as far as they are known; what is not known is asked
 * for, and all are followed again. Where a switch spreads messages, all ports
 * of the LID's group are followed. When nothing is left to ask for, what was
 * explored is a fabric, and the routes of that fabric decide what is wrong;
 * what is used is what is followed once more, from the hosts.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/groups.h"
#include "ibquery/read/smp.h"
#include "ibquery/spread.h"
#include "util/alloc.h"

enum {
    MAX_PASSES = 8,
    PAUSE_MS = 100,       /* before the second pass; then twice as long */
    MAX_PAUSE_MS = 1000,
    SETTLE_MS = 500,      /* between checks for unseen changes */
    MAX_SETTLE_MS = 5000,
    STALE_PASSES = 3,     /* that must agree on stale tables */
    SM_QUIET_MS = 30,     /* between two readings of ActCount */
    SM_WAIT_MS = 60000,   /* for a sweep */
    SM_TRIES = 5,
};

/* The activity of the subnet manager. */
struct steady_sm {
    struct mads_to to;   /* first the local port, which knows it */
    uint64_t guid;       /* 0: none answers as master */
    uint32_t act_count;  /* MADs that it has sent */
    uint32_t own;        /* of them, per question of ours: 0 or 1 */
};

/* The answer of the local port, or of the subnet manager. */
static int on_sm_answer (void *arg, uint64_t cookie,
                         const struct mads_answer *a, struct error *err)
{
    struct steady_sm *sm = arg;

    (void)cookie;
    if (a->attr == ATTR_PORT_INFO) {
        if (!a->data)
            return error_world (err, "the own port does not answer");
        sm->to.lid = attr_port (a->data).sm_lid;
        sm->to.sl = attr_port (a->data).sm_sl;
    } else if (a->data && attr_sm (a->data).state == SM_MASTER) {
        sm->guid = attr_sm (a->data).guid;
        sm->act_count = attr_sm (a->data).act_count;
    }
    return 0;
}

/* Read the master's SMInfo. Return 0, with sm->guid 0 if there is no master, or
 * -1 with err.
 */
static int ask_sm (struct mads *m, struct steady_sm *sm, struct error *err)
{
    struct mads_request r = {
        .class = MADS_DIRECTED, .attr = ATTR_PORT_INFO, .to = &sm->to,
        .fn = on_sm_answer, .arg = sm,
    };

    *sm = (struct steady_sm){ 0 };
    mads_get (m, &r);
    if (mads_run (m, err) < 0)
        return -1;
    if (sm->to.lid == 0)
        return 0;
    r.class = MADS_BY_LID;
    r.attr = ATTR_SM_INFO;
    r.tries = SM_TRIES;
    mads_get (m, &r);
    return mads_run (m, err);
}

/* Read SMInfo three times, pause_ms apart. Return 1 if the subnet manager sends
 * nothing, or one answer per question; 0 if not; -1 with err.
 */
static int is_sm_quiet (struct mads *m, unsigned int pause_ms,
                        struct steady_sm *sm, struct error *err)
{
    struct steady_sm seen[3];

    for (int i = 0; i < 3; i++) {
        if ((i > 0 && mads_pause (m, pause_ms, err) < 0)
            || ask_sm (m, &seen[i], err) < 0)
            return -1;
        *sm = seen[i];
        if (sm->guid == 0)
            return 0;
    }
    sm->own = seen[1].act_count - seen[0].act_count;
    return seen[0].guid == sm->guid && seen[1].guid == sm->guid
           && sm->own <= 1 && sm->act_count - seen[1].act_count == sm->own;
}

/* Ask the subnet manager of the local port until it sends nothing but answers
 * to us. Return 1 if it is quiet, 0 if it is not or there is none (sm->guid is
 * 0), -1 with err if the local port does not answer or a limit of the engine is
 * reached.
 */
static int wait_for_sm (struct mads *m, struct steady_sm *sm,
                        struct error *err)
{
    int quiet = is_sm_quiet (m, 0, sm, err);

    for (int waited = 0;
         quiet == 0 && sm->guid != 0 && waited < SM_WAIT_MS;
         waited += 2 * SM_QUIET_MS)
        quiet = is_sm_quiet (m, SM_QUIET_MS, sm, err);
    return quiet;
}

/* Whether it is the same subnet manager, and has sent nothing since but the
 * answer to us. Return 1, 0 if this is not certain, -1 with err.
 */
static int same_sm (struct mads *m, const struct steady_sm *before,
                    struct error *err)
{
    struct steady_sm now;

    if (ask_sm (m, &now, err) < 0)
        return -1;
    return now.guid != 0 && now.guid == before->guid
           && now.act_count - before->act_count == before->own;
}

static bool groups_differ (const struct fabric_node *a,
                           const struct fabric_node *b)
{
    for (unsigned int lid = 0; lid <= a->lft_top; lid++)
        if (spread_moved (a, lid, b, lid))
            return true;
    return false;
}

/* Values that the hash leaves out are compared as well: a lost NodeDescription
 * must not rename a host.
 */
static bool is_same_fabric (const struct fabric *a, const struct fabric *b)
{
    if (strcmp (a->hash, b->hash) != 0)
        return false;
    for (size_t i = 0; i < a->nnodes; i++)
        if (strcmp (a->node[i].desc, b->node[i].desc) != 0
            || spread_differs (&a->node[i].spread, &b->node[i].spread)
            || groups_differ (&a->node[i], &b->node[i]))
            return false;
    for (size_t i = 0; i < a->nlinks; i++)
        if (a->link[i].width != b->link[i].width
            || strcmp (a->link[i].speed, b->link[i].speed) != 0)
            return false;
    return true;
}

/* Whether a switch sends a LID to a port without a cable. */
static bool is_stale (const struct fabric *f, const struct fabric_node *n,
                      unsigned int lid)
{
    unsigned int out = fabric_entry (n, lid);

    return lid > 0 && out >= 1 && out <= n->nports
           && f->port[n->first_port + out - 1].link == FABRIC_NONE;
}

/* Warn of the first switch that sends a LID of a host or switch to a port
 * without a cable. Return whether there is one. A part lacks cables, so it is
 * not checked.
 */
static bool warn_stale (struct fabric *f)
{
    for (size_t s = 0; !f->part && s < f->nnodes; s++) {
        const struct fabric_node *n = &f->node[s];
        unsigned int lid = 0;

        if (n->type != NODE_SWITCH)
            continue;
        for (size_t i = f->nnodes; i-- > 0;)
            if (is_stale (f, n, f->node[i].lid))
                lid = f->node[i].lid;
        for (size_t i = f->nendpoints; i-- > 0;)
            if (is_stale (f, n, f->end[i].lid))
                lid = f->end[i].lid;
        if (lid == 0)
            continue;
        fabric_warn (f, "switch %s (%016" PRIx64 "): the table leads to LID %u "
                        "by port %u, which has no cable", n->desc, n->guid, lid,
                     n->lft[lid]);
        return true;
    }
    return false;
}

/* One reading. */
struct pass {
    struct mads *m;
    const char *source;
    const struct node_names *names;
    steady_ask_f ask;
    void *arg;
    bool sure;  /* nothing can have changed during it */
    bool stale; /* tables lead to ports without cables: it has a warning */
    bool final; /* trying again is useless */
};

static struct fabric *read_once (struct pass *o, struct error *err)
{
    struct explore e = { .mads = o->m, .names = o->names };
    struct fabric *f = NULL;
    struct steady_sm sm;
    int quiet, still, rc;

    o->sure = o->stale = o->final = false;
    if ((quiet = wait_for_sm (o->m, &sm, err)) < 0)
        return NULL;
    rc = o->ask ? o->ask (o->arg, &e, err) : explore_all (&e, err);
    if (rc != 0) {
        o->final = rc > 0;
        goto done;
    }
    if (quiet) {
        still = explore_look (&e, err);
        if (still < 0 || (quiet = same_sm (o->m, &sm, err)) < 0)
            goto done;
        o->sure = still && quiet;
        /* Give the subnet manager time to see what has changed. */
        for (int waited = 0; e.pending && waited < MAX_SETTLE_MS;
             waited += SETTLE_MS)
            if (mads_pause (o->m, SETTLE_MS, err) < 0
                || explore_look (&e, err) < 0)
                goto done;
    }
    f = explore_fabric (&e, o->source, err);
    o->stale = f && warn_stale (f);
done:
    explore_clear (&e);
    return f;
}

/* Whether to try another pass, after a pause. The last one may have failed. */
static bool wait_for_next_pass (struct mads *m, int pass, struct error *err)
{
    unsigned int ms = PAUSE_MS << pass;

    return pass + 1 < MAX_PASSES && !mads_exhausted (m)
           && mads_pause (m, ms < MAX_PAUSE_MS ? ms : MAX_PAUSE_MS, err) == 0;
}

struct fabric *steady_read (struct mads *m, const char *source,
                            const struct node_names *names, steady_ask_f ask,
                            void *arg, struct error *err)
{
    struct pass o = { .m = m, .source = source, .names = names, .ask = ask,
                      .arg = arg };
    struct fabric *f, *before = NULL;
    bool failed = false;
    int pass = 0, equal = 0;

    do {
        f = read_once (&o, err);
        if (!f) {
            failed = true;
            continue;
        }
        equal = before && is_same_fabric (before, f) ? equal + 1 : 1;
        fabric_destroy (before);
        if ((o.sure && !o.stale) || equal >= (o.stale ? STALE_PASSES : 2))
            return f;
        before = f;
    } while (!o.final && wait_for_next_pass (m, pass++, err));
    fabric_destroy (before);
    if (!failed)
        error_world (err, "the fabric changes while it is read: no two of %d "
                          "readings agree", pass);
    else if (err)
        err->fault = ERROR_WORLD;
    return NULL;
}

/*
 * A part
 */

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
    uint32_t *at;            /* [nat] where messages to a LID may arrive */
    size_t nat;
    uint32_t *seen;          /* [nnodes] the last sweep that noted it */
    uint32_t sweep;
};

/* Whether a message may leave a switch by a port: the table's, or one of the
 * group to which it sends the LID.
 */
static bool may_leave (const struct explored_node *n, unsigned int lid,
                       const struct spread_group *group, unsigned int port)
{
    return port == n->lft[lid]
           || (group && group->port[port / 64] >> port % 64 & 1);
}

static void use_port (struct explore *e, uint32_t node, unsigned int port)
{
    e->node[node]->used = e->node[node]->port[port].used = true;
}

/* Note where messages to a LID may arrive, unless it is known. */
static void add_reached_node (struct reach *r, uint32_t node)
{
    if (r->seen[node] == r->sweep)
        return;
    r->seen[node] = r->sweep;
    r->at[r->nat++] = node;
}

/* Messages to a LID are at a node: note where its table leads, and ask for what
 * is not known. With `use`, mark it instead. Return 0, or -1 with err.
 */
static int follow_reached_node (struct reach *r, uint32_t node,
                                unsigned int lid, bool use, struct error *err)
{
    const struct explored_node *n = r->e->node[node];
    const struct spread_group *group;
    unsigned int block = lid / LFT_BLOCK;

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
    group = groups_of (r->e, node, lid, &r->asked);
    for (unsigned int out = 1; out <= n->info.nports; out++) {
        const struct explored_port *p = &n->port[out];

        if (!may_leave (n, lid, group, out))
            continue;
        if (p->far != EXPLORE_NONE) {
            add_reached_node (r, p->far);
            if (use) {
                use_port (r->e, node, out);
                use_port (r->e, p->far, p->far_port);
                r->entry[node][lid] = n->lft[lid];
            }
        } else if (!use) {
            r->asked |= !p->ahead;
            if (explore_ahead (r->e, node, out, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* Follow a LID from nodes, as `follow` does. */
static int follow_from (struct reach *r, const uint32_t *start, size_t n,
                        unsigned int lid, bool use, struct error *err)
{
    r->sweep++;
    r->nat = 0;
    for (size_t i = 0; i < n; i++)
        add_reached_node (r, start[i]);
    for (size_t i = 0; i < r->nat; i++)
        if (follow_reached_node (r, r->at[i], lid, use, err) < 0)
            return -1;
    return 0;
}

/* Follow every LID from each port that has one of the LIDs and, but for `use`,
 * from the local port, or from the local node if it is a switch.
 */
static int follow_all (struct reach *r, bool use, struct error *err)
{
    struct explore *e = r->e;
    uint32_t *start = xarray (e->nnodes, sizeof (*start));
    size_t n = 0;
    int rc = 0;

    r->asked = false;
    r->sweep = 1;
    r->nat = 0;
    r->seen = xcalloc (e->nnodes, sizeof (*r->seen));
    r->at = xarray (e->nnodes, sizeof (*r->at));
    for (uint32_t k = 0; k < e->nnodes && rc == 0; k++) {
        const struct explored_node *node = e->node[k];
        bool is_switch = explored_is_switch (node);

        for (unsigned int num = 0; num <= node->info.nports && rc == 0; num++) {
            const struct explored_port *p = &node->port[num];
            uint32_t first = is_switch ? k : p->far;
            bool own = !use && k == 0 && num == node->info.local_port;

            if (!own && (is_switch || !r->wanted[p->info.lid]))
                continue;
            if (first != EXPLORE_NONE)
                add_reached_node (r, first);
            else if (!use) {
                r->asked |= !p->ahead;
                rc = explore_ahead (e, k, num, err);
            }
        }
    }
    while (n < r->nat) {
        start[n] = r->at[n];
        n++;
    }
    for (size_t i = 0; i < r->nlids && rc == 0; i++)
        rc = follow_from (r, start, n, r->lid[i], use, err);
    free (start);
    free (r->seen);
    free (r->at);
    return rc;
}

/* Mark each host's cables, even if it is the only host, and check the routes
 * from its ports to each LID. Return 1, or 0 with err.
 */
static int mark (const struct reach *r, const struct fabric *f,
                 const struct fabric_host *host, struct error *err)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (uint32_t i = host->first; i < host->first + host->count; i++) {
        uint32_t port = f->endpoint[i].port;
        const uint32_t end[] = { port, fabric_far_port (f, port) };

        for (int k = 0; k < 2; k++) {
            const struct fabric_port *p = &f->port[end[k]];

            use_port (r->e, map_find (&r->e->by_guid, f->node[p->node].guid),
                      p->num);
        }
        for (size_t k = 0; k < r->nlids; k++)
            if (fabric_walk_lid (f, port, r->lid[k], arc, err) < 0)
                return 0;
    }
    return 1;
}

/* Check that the LIDs are those of the hosts, and mark what the routes between
 * them use. Return 1, or 0 with err.
 */
static int check_reached_hosts (const struct reach *r, const struct fabric *f,
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
        uint32_t h = fabric_host_named (f, r->hosts->name[i]);

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
        if (rc < 0 || follow_all (r, false, err) < 0
            || explore_run (e, err) < 0)
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
    rc = check_reached_hosts (r, f, err);
    if (rc > 0 && follow_all (r, true, err) < 0)
        rc = -1;
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
static int find_reach_lids (struct reach *r, const struct fabric *f,
                            struct error *err)
{
    const char **missing = xarray (r->hosts->n, sizeof (*missing));
    size_t nmissing = 0;

    memset (r->wanted, false, sizeof (r->wanted));
    r->nlids = 0;
    for (size_t i = 0; i < r->hosts->n; i++) {
        uint32_t h = fabric_host_named (f, r->hosts->name[i]);

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
        fabric_not_found (f, missing, nmissing, err);
        err->fault = ERROR_WORLD;
    }
    free (missing);
    return nmissing == 0;
}

/* One reading: with the LIDs of the last one, else with those of the hint. If
 * these are rejected, all nodes and cables are read first. The same error twice
 * is final.
 */
static int explore_reach (void *arg, struct explore *e, struct error *err)
{
    struct reach *r = arg;
    int rc = r->nlids > 0;
    struct fabric *f;

    r->e = e;
    if (rc == 0 && r->hosts->hint)
        rc = find_reach_lids (r, r->hosts->hint, err);
    if (rc > 0)
        rc = try_lids (r, err);
    if (rc == 0) {
        explore_clear (e);
        e->no_tables = true;
        if (explore_all (e, err) < 0
            || !(f = explore_fabric (e, r->source, err)))
            rc = -1;
        else {
            rc = find_reach_lids (r, f, err);
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
                           const struct node_names *names,
                           const struct reach_hosts *hosts,
                           struct error *err)
{
    struct reach r = { .hosts = hosts, .source = source,
                       .lid = xarray (FABRIC_MAX_LID + 1, sizeof (*r.lid)) };
    struct error unheard;
    struct fabric *f;

    f = steady_read (m, source, names, explore_reach, &r, err ? err : &unheard);
    free (r.lid);
    return f;
}

/*
 * By a device
 */

struct fabric *discover (const struct discover_options *opts,
                         struct mads_counts *counts, struct error *err)
{
    char source[FABRIC_NAME_MAX];
    struct device_port used;
    struct mads *m = device_open (opts->ca, opts->port, &opts->mads, &used,
                                  err);
    struct fabric *f;

    if (!m)
        return NULL;
    snprintf (source, sizeof (source), "%s/%d", used.ca, used.port);
    f = opts->hosts
            ? reach_read (m, source, opts->names, opts->hosts, err)
            : steady_read (m, source, opts->names, NULL, NULL, err);
    if (counts)
        *counts = mads_counts (m);
    mads_destroy (m);
    return f;
}

int discover_changed (const struct fabric *f,
                      const struct discover_options *opts, uint64_t turn,
                      struct mads_counts *counts, struct error *why,
                      struct error *err)
{
    struct device_port used;
    struct mads *m = device_open (opts->ca, opts->port, &opts->mads, &used,
                                  err);
    int rc;

    if (!m)
        return -1;
    rc = look_changed (m, f, turn, why, err);
    if (counts)
        *counts = mads_counts (m);
    mads_destroy (m);
    return rc;
}
