/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * opensm's ActCount is the number of MADs that it has sent on QP 0, its answer
 * to the last SMInfo included; that of others may be without. So two questions
 * one after the other tell what a quiet one counts: `own`.
 *
 * While opensm computes routes, it sends nothing; but then the switches with a
 * change still have PortStateChange set, which it clears when it sets their
 * tables. Somewhat before, even: so the tables are looked at as well.
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
    SETTLE_MS = 500,      /* between looks at what the SM has not seen */
    MAX_SETTLE_MS = 5000,
    STALE_PASSES = 3,     /* that tables which lead nowhere must last */
    SM_QUIET_MS = 30,     /* between two looks at ActCount */
    SM_WAIT_MS = 60000,   /* for a sweep */
    SM_TRIES = 5,
};

/* What the subnet manager does. */
struct steady_sm {
    uint64_t guid;       /* 0: none answers as master */
    uint32_t act_count;  /* MADs that it had sent */
    uint32_t own;        /* of them, to each of our questions: 0 or 1 */
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

/* The master's SMInfo. Return 0 with sm->guid 0 where there is none. */
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

/* Two more looks, each so long after the last. Return 1 where both show that
 * it sends nothing, or one answer for each question; 0 where not. */
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

/* Ask the subnet manager of the own port, until it sends nothing but answers
 * to us. Return 1 where it is quiet, 0 where it is not or there is none
 * (sm->guid is 0), -1 with err: the own port does not answer, a limit of the
 * engine is met.
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

/* Whether it is the same, and has sent nothing since but the answer to us.
 * *sm is what it is now. Return 1, 0 where that cannot be said, -1 with err.
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

/* What the hash leaves out is compared as well: a lost NodeDescription must
 * not rename a host.
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

/* Whether a switch leads to a LID by a port without a cable. */
static bool leads_nowhere (const struct fabric *f, const struct fabric_node *n,
                           unsigned int lid)
{
    unsigned int out = lid > 0 && lid <= n->lft_top ? n->lft[lid] : 0;

    return out >= 1 && out <= n->nports
           && f->port[n->first_port + out - 1].link == FABRIC_NONE;
}

/* The first LID of a host or switch to which a switch leads nowhere; 0: there
 * is none.
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

/* The first switch that leads nowhere; FABRIC_NONE: there is none. Of a part,
 * the cables are not all there.
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

/* What became of a reading. */
struct pass_outcome {
    bool sure;  /* nothing can have changed meanwhile */
    bool stale; /* tables lead nowhere: a warning says so */
    bool final; /* no use trying again */
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

/* Whether to go on after a pass, which may have failed. */
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
