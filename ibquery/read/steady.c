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
#include "ibquery/read/steady.h"

#include <inttypes.h>
#include <string.h>

#include "ibquery/read/explore.h"
#include "ibquery/read/smp.h"

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
    uint64_t guid;       /* 0: none answers as master */
    uint32_t act_count;  /* MADs that it has sent */
    uint32_t own;        /* of them, per question of ours: 0 or 1 */
};

struct sm_question {
    struct mads_to to;
    struct port_attr port;
    struct sm_attr sm;
    bool answered;
};

static int on_own_port (void *arg, uint64_t cookie,
                        const struct mads_answer *a, struct error *err)
{
    struct sm_question *q = arg;

    (void)cookie;
    if (!a->data)
        return error_world (err, "the own port does not answer");
    q->port = attr_port (a->data);
    return 0;
}

static int on_sm (void *arg, uint64_t cookie, const struct mads_answer *a,
                  struct error *err)
{
    struct sm_question *q = arg;

    (void)cookie;
    (void)err;
    q->answered = a->data != NULL;
    if (a->data)
        q->sm = attr_sm (a->data);
    return 0;
}

/* Read the master's SMInfo. Return 0, with sm->guid 0 if there is no master, or
 * -1 with err.
 */
static int ask_sm (struct mads *m, struct steady_sm *sm, struct error *err)
{
    struct sm_question q = { 0 };
    const struct mads_request port = {
        .class = MADS_DIRECTED,
        .attr = ATTR_PORT_INFO,
        .to = &q.to,
        .fn = on_own_port,
        .arg = &q,
    };
    const struct mads_request info = {
        .class = MADS_BY_LID,
        .attr = ATTR_SM_INFO,
        .to = &q.to,
        .tries = SM_TRIES,
        .fn = on_sm,
        .arg = &q,
    };

    *sm = (struct steady_sm){ 0 };
    mads_get (m, &port);
    if (mads_run (m, err) < 0)
        return -1;
    if (q.port.sm_lid == 0)
        return 0;
    q.to.lid = q.port.sm_lid;
    q.to.sl = q.port.sm_sl;
    mads_get (m, &info);
    if (mads_run (m, err) < 0)
        return -1;
    if (!q.answered || q.sm.state != SM_MASTER)
        return 0;
    sm->guid = q.sm.guid;
    sm->act_count = q.sm.act_count;
    return 0;
}

/* Read SMInfo three times, pause_ms apart. Return 1 if the subnet manager sends
 * nothing, or one answer per question; 0 if not; -1 with err.
 */
static int is_quiet (struct mads *m, unsigned int pause_ms,
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
    int quiet = is_quiet (m, 0, sm, err);

    for (int waited = 0;
         quiet == 0 && sm->guid != 0 && waited < SM_WAIT_MS;
         waited += 2 * SM_QUIET_MS)
        quiet = is_quiet (m, SM_QUIET_MS, sm, err);
    return quiet;
}

/* Whether it is the same subnet manager, and has sent nothing since but the
 * answer to us. *sm is updated. Return 1, 0 if this is not certain, -1 with
 * err.
 */
static int same_sm (struct mads *m, struct steady_sm *sm, struct error *err)
{
    const struct steady_sm before = *sm;

    if (ask_sm (m, sm, err) < 0)
        return -1;
    sm->own = before.own;
    return sm->guid != 0 && sm->guid == before.guid
           && sm->act_count - before.act_count == before.own;
}

/* Values that the hash leaves out are compared as well: a lost NodeDescription
 * must not rename a host.
 */
static bool same (const struct fabric *a, const struct fabric *b)
{
    if (strcmp (a->hash, b->hash) != 0)
        return false;
    for (size_t i = 0; i < a->nnodes; i++)
        if (strcmp (a->node[i].desc, b->node[i].desc) != 0)
            return false;
    for (size_t i = 0; i < a->nlinks; i++)
        if (a->link[i].width != b->link[i].width
            || strcmp (a->link[i].speed, b->link[i].speed) != 0)
            return false;
    return true;
}

/* Whether a switch sends a LID to a port without a cable. */
static bool leads_nowhere (const struct fabric *f, const struct fabric_node *n,
                           unsigned int lid)
{
    unsigned int out = lid > 0 && lid <= n->lft_top ? n->lft[lid] : 0;

    return out >= 1 && out <= n->nports
           && f->port[n->first_port + out - 1].link == FABRIC_NONE;
}

/* The first LID of a host or switch that a switch sends to a port without a
 * cable; 0 if there is none.
 */
static unsigned int stale_lid (const struct fabric *f,
                               const struct fabric_node *n)
{
    for (size_t i = 0; i < f->nendpoints; i++) {
        unsigned int lid = f->port[f->endpoint[i].port].lid;

        if (leads_nowhere (f, n, lid))
            return lid;
    }
    for (size_t i = 0; i < f->nnodes; i++)
        if (leads_nowhere (f, n, f->node[i].lid))
            return f->node[i].lid;
    return 0;
}

/* The first switch with such a table; FABRIC_NONE if there is none. A part
 * lacks cables, so it is not checked.
 */
static uint32_t find_stale (const struct fabric *f, unsigned int *lid)
{
    for (uint32_t i = 0; !f->part && i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH
            && (*lid = stale_lid (f, &f->node[i])) > 0)
            return i;
    return FABRIC_NONE;
}

static void warn_stale (struct fabric *f, uint32_t node, unsigned int lid)
{
    const struct fabric_node *n = &f->node[node];

    fabric_warn (f,
                 "switch %s (%016" PRIx64 "): the table leads to LID %u by "
                 "port %u, which has no cable",
                 n->desc, n->guid, lid, n->lft[lid]);
}

static int ask_all (void *arg, struct explore *e, struct error *err)
{
    (void)arg;
    return explore_all (e, err);
}

static const struct steady_how everything = { ask_all, NULL };

/* The outcome of a reading. */
struct pass_outcome {
    bool sure;  /* nothing can have changed during it */
    bool stale; /* tables lead to ports without cables: it has a warning */
    bool final; /* trying again is useless */
};

/* Give the subnet manager time to see what has changed. */
static int settle (struct mads *m, struct explore *e, struct error *err)
{
    for (int waited = 0; e->pending && waited < MAX_SETTLE_MS;
         waited += SETTLE_MS)
        if (mads_pause (m, SETTLE_MS, err) < 0 || explore_look (e, err) < 0)
            return -1;
    return 0;
}

static struct fabric *read_once (struct mads *m, const char *source,
                                 const struct steady_how *how,
                                 struct pass_outcome *o, struct error *err)
{
    struct explore *e = NULL;
    struct fabric *f = NULL;
    struct steady_sm sm;
    unsigned int lid;
    uint32_t stale;
    int quiet, still, rc;

    *o = (struct pass_outcome){ 0 };
    quiet = wait_for_sm (m, &sm, err);
    if (quiet < 0)
        return NULL;
    e = explore_create (m);
    if ((rc = how->ask (how->arg, e, err)) < 0)
        goto done;
    if (rc > 0) {
        o->final = true;
        goto done;
    }
    if (quiet) {
        still = explore_look (e, err);
        if (still < 0 || (quiet = same_sm (m, &sm, err)) < 0)
            goto done;
        o->sure = still && quiet;
        if (settle (m, e, err) < 0)
            goto done;
    }
    f = explore_fabric (e, source, err);
    stale = f ? find_stale (f, &lid) : FABRIC_NONE;
    o->stale = stale != FABRIC_NONE;
    if (o->stale)
        warn_stale (f, stale, lid);
done:
    explore_destroy (e);
    return f;
}

/* Whether to try another pass, after a pause. The last one may have failed. */
static bool again (struct mads *m, int pass, struct error *err)
{
    unsigned int ms = PAUSE_MS << pass;

    return pass + 1 < MAX_PASSES && !mads_exhausted (m)
           && mads_pause (m, ms < MAX_PAUSE_MS ? ms : MAX_PAUSE_MS, err) == 0;
}

struct fabric *steady_read_by (struct mads *m, const char *source,
                               const struct steady_how *how,
                               struct error *err)
{
    struct fabric *f, *before = NULL;
    struct pass_outcome o;
    bool failed = false;
    int pass = 0, equal = 0;

    do {
        f = read_once (m, source, how, &o, err);
        if (!f) {
            failed = true;
            continue;
        }
        equal = before && same (before, f) ? equal + 1 : 1;
        fabric_destroy (before);
        if ((o.sure && !o.stale) || equal >= (o.stale ? STALE_PASSES : 2))
            return f;
        before = f;
    } while (!o.final && again (m, pass++, err));
    fabric_destroy (before);
    if (!failed)
        error_world (err, "the fabric changes while it is read: no two of %d "
                          "readings agree",
                     pass);
    else if (err)
        err->fault = ERROR_WORLD;
    return NULL;
}

struct fabric *steady_read (struct mads *m, const char *source,
                            struct error *err)
{
    return steady_read_by (m, source, &everything, err);
}
