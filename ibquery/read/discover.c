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
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ibquery/read/smp.h"
#include "ibquery/spread.h"

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
        .class = MADS_DIRECTED,
        .attr = ATTR_PORT_INFO,
        .to = &sm->to,
        .fn = on_sm_answer,
        .arg = sm,
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
        fabric_warn (f,
                     "switch %s (%016" PRIx64 "): the table leads to LID %u by "
                     "port %u, which has no cable",
                     n->desc, n->guid, lid, n->lft[lid]);
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
                          "readings agree",
                     pass);
    else if (err)
        err->fault = ERROR_WORLD;
    return NULL;
}

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
