/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inputs of the policy, arranged by node and for the site.
 *
 * Notes. Nodes, tracks of evidence and actions are sorted by node and merged.
 * Names are compared as strings everywhere, so the order of the inputs does not
 * matter.
 */
#include "config.h"
#include "prolog/policy/evidence.h"

#include <math.h>
#include <string.h>

#include "util/sort.h"
#include "util/text.h"

enum { DAY_S = 24 * 3600, LONE_S = 3600 };

bool within_span (int64_t time, int64_t span, int64_t now)
{
    return time >= 0 && (time > now || now - time < span);
}

static uint64_t larger (uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- nodes --------------------------------------------------------------- */

static int compare_node_states (const void *a, const void *b)
{
    return strcmp (((const struct node_state *)a)->node->name,
                   ((const struct node_state *)b)->node->name);
}

static int compare_actions (const void *va, const void *vb)
{
    const struct ledger_action *a = *(const struct ledger_action *const *)va;
    const struct ledger_action *b = *(const struct ledger_action *const *)vb;
    int order = strcmp (a->node, b->node);

    return order ? order : util_compare (a->id, b->id);
}

static void make_nodes (struct site_state *s)
{
    const struct policy_input *in = s->in;
    struct track *track = s->evidence.track;
    struct track *tracks_end = track + s->evidence.ntracks;
    const struct ledger_action **action, **actions_end;

    s->node = pool_alloc (s->evidence.pool, in->nnodes, sizeof (*s->node));
    s->nnodes = in->nnodes;
    for (size_t i = 0; i < in->nnodes; i++)
        s->node[i] = (struct node_state){ .site = s, .node = &in->node[i] };
    sort_array (s->node, s->nnodes, compare_node_states);
    action = s->action = pool_alloc (s->evidence.pool, in->actions.n,
                                     sizeof (*s->action));
    actions_end = action + in->actions.n;
    for (size_t i = 0; i < in->actions.n; i++)
        s->action[i] = &in->actions.action[i];
    sort_array (s->action, in->actions.n, compare_actions);
    for (size_t i = 0; i < s->nnodes; i++) {
        struct node_state *w = &s->node[i];
        const char *name = w->node->name;

        while (track < tracks_end && strcmp (track->host, name) < 0)
            track++;
        while (action < actions_end && strcmp ((*action)->node, name) < 0)
            action++;
        w->track = track;
        w->action = action;
        while (track + w->ntracks < tracks_end
               && !strcmp (track[w->ntracks].host, name))
            w->ntracks++;
        while (action + w->nactions < actions_end
               && !strcmp (action[w->nactions]->node, name))
            w->last = action[w->nactions++];
    }
}

bool node_in_hand (const struct policy_node *n)
{
    return n->drained || n->reserved || n->down;
}

bool node_in_service (const struct policy_node *n)
{
    return !n->unknown && !n->powered_down && !node_in_hand (n);
}

bool node_is_drained_by_us (const struct node_state *w)
{
    return w->last && w->last->kind == POLICY_DRAIN;
}

uint64_t state_reset (const struct site_state *s, const char *link)
{
    uint64_t from = 0;

    for (size_t i = 0; i < s->in->resets.n; i++) {
        const struct ledger_rebase *r = &s->in->resets.rebase[i];

        if (!r->link || (link && !strcmp (r->link, link)))
            from = larger (from, (uint64_t)r->after + 1);
    }
    return from;
}

static bool is_muted (const struct site_state *s, const struct track *t)
{
    for (size_t i = 0; i < s->in->mutes.n; i++) {
        const struct ledger_mute *m = &s->in->mutes.mute[i];
        bool link = m->link && *m->link, node = m->node && *m->node;

        if ((m->until == 0 || m->until > s->in->now) && (link || node)
            && (!link || !strcmp (m->link, t->link))
            && (!node || !strcmp (m->node, t->host)))
            return true;
    }
    return false;
}

/* Which track the sentence is about: the one with the worst standing, then the
 * largest excess, then the likeliest, then the first by its id.
 */
static bool is_worse (const struct track *a, const struct track *b)
{
    const struct link_event *x = a->last, *y = b->last;

    if (a->standing != b->standing)
        return a->standing > b->standing;
    if (!x || !y)
        return x != NULL;
    if (x->excess_ns != y->excess_ns)
        return x->excess_ns > y->excess_ns;
    return x->a && y->a
           && x->suspect - x->finding->suspect
                  < y->suspect - y->finding->suspect;
}

static void judge_tracks (struct site_state *s)
{
    for (size_t i = 0; i < s->nnodes; i++) {
        const struct node_state *w = &s->node[i];
        uint64_t ended = 0; /* the newest audit when a drain last ended */

        for (size_t k = 0; k < w->nactions; k++)
            if (w->action[k]->kind == POLICY_RESUME
                || w->action[k]->kind == POLICY_LIFTED)
                ended = larger (ended, (uint64_t)w->action[k]->after);
        for (size_t k = 0; k < w->ntracks; k++)
            w->track[k].from = ended + 1;
    }
    for (size_t i = 0; i < s->evidence.ntracks; i++) {
        struct track *t = &s->evidence.track[i];

        t->muted = is_muted (s, t);
        t->from = larger (t->from, state_reset (s, t->link));
        track_stand (t, &s->evidence);
    }
    for (size_t i = 0; i < s->nnodes; i++) {
        struct node_state *w = &s->node[i];

        for (size_t k = 0; k < w->ntracks; k++)
            if (w->track[k].muted)
                w->muted = w->muted || w->track[k].failing;
            else if (!w->worst || is_worse (&w->track[k], w->worst))
                w->worst = &w->track[k];
    }
}

/* --- the site ------------------------------------------------------------ */

const struct node_state *state_find (const struct site_state *s,
                                     const char *name)
{
    const struct policy_node node = { .name = name };
    const struct node_state key = { .node = &node };

    return find_sorted (&key, s->node, s->nnodes, compare_node_states);
}

/* Whether a FAIL at that time counts: while the host is in service, otherwise
 * for a day. A lone FAIL, which no other audit is about, counts for LONE_S at
 * most, or twice ConfirmAfter.
 */
static bool counts_since (const struct site_state *s, const char *host,
                          bool lone, int64_t time)
{
    const struct node_state *w = state_find (s, host);
    int64_t twice = 2 * s->cfg->confirm_after_s;

    if (lone
        && !within_span (time, twice > LONE_S ? twice : LONE_S, s->in->now))
        return false;
    return (w && node_in_service (w->node))
           || within_span (time, DAY_S, s->in->now);
}

/* The host that a FAIL of several suspect hosts adds to the count: the first
 * possible one by name. NULL if one of them is counted already, or if none is
 * possible.
 */
static const char *first_possible_host (const struct site_state *s,
                                        const struct policy_audit *a,
                                        const struct policy_finding *f,
                                        size_t counted)
{
    const char *first = NULL;
    bool alone;

    if (f->x.level != VERDICT_FAIL || !finding_host (f, &alone) || alone)
        return NULL;
    for (size_t i = 0; i < f->nsuspects; i++) {
        const struct policy_suspect *p = &f->suspect[i];
        const struct track *t;

        if (!p->host)
            continue;
        if (text_find (s->broad, counted, p->host))
            return NULL;
        t = evidence_find (&s->evidence, p->host, p->link);
        if (t && !t->muted && a->id >= t->since && a->id > t->unsure
            && counts_since (s, p->host, t->among < 2, a->time)
            && (!first || strcmp (p->host, first) < 0))
            first = p->host;
    }
    return first;
}

/* Whether a track counts as a host that FAILs. Hosts that we drained are
 * counted separately.
 */
static bool counts_as_broad (const struct site_state *s, const struct track *t)
{
    const struct node_state *w = state_find (s, t->host);
    bool confirmed = t->standing == STANDING_CONFIRMED;

    return !t->muted && t->failing && !(w && node_is_drained_by_us (w))
           && (confirmed || t->unsure <= t->bad_audit)
           && counts_since (s, t->host, t->lone && !confirmed, t->bad_time);
}

static void add_broad (struct site_state *s, const char *host)
{
    s->broad = pool_grow (s->evidence.pool, s->broad, s->nbroad,
                          sizeof (*s->broad));
    s->broad[s->nbroad++] = host;
}

static void make_broad (struct site_state *s)
{
    const struct policy_input *in = s->in;
    const struct evidence *e = &s->evidence;
    size_t counted;

    for (size_t i = 0; i < in->actions.n; i++)
        if (in->actions.action[i].kind == POLICY_DRAIN
            && within_span (in->actions.action[i].intended, DAY_S, in->now))
            add_broad (s, in->actions.action[i].node);
    for (size_t i = 0; i < e->ntracks; i++)
        if (counts_as_broad (s, &e->track[i]))
            add_broad (s, e->track[i].host);
    counted = s->nbroad = text_unique (s->broad, s->nbroad);
    for (size_t i = 0; i < e->naudits; i++)
        for (size_t k = 0; k < e->audit[i]->nfindings; k++) {
            const char *host = first_possible_host (
                s, e->audit[i], &e->audit[i]->finding[k], counted);

            if (host)
                add_broad (s, host);
        }
    s->nbroad = text_unique (s->broad, s->nbroad);
}

static bool is_short (const struct site_state *s, size_t unavailable)
{
    return 100 * (double)unavailable
           > s->cfg->max_unavailable_percent * (double)s->counted;
}

static void count_drained_nodes (struct site_state *s)
{
    double share = floor (s->cfg->max_drain_percent * (double)s->nnodes / 100);

    for (size_t i = 0; i < s->nnodes; i++) {
        const struct policy_node *n = s->node[i].node;

        if (!n->powered_down && !n->reserved) {
            s->counted++;
            s->unknown += n->unknown;
            s->unavailable += !n->unknown && (n->down || n->drained);
        }
    }
    s->limit = s->cfg->max_drain;
    if (share < (double)s->limit)
        s->limit = share > 1 ? (size_t)share : 1;
    s->is_broad = s->nbroad > s->limit;
    s->is_short = is_short (s, s->unavailable + s->unknown);
    s->is_known_short = is_short (s, s->unavailable);
}

static void check_state (struct site_state *s)
{
    const struct policy_input *in = s->in;
    const struct policy_audit *const *audit = s->evidence.audit;

    if (in->unreadable)
        s->stop = in->unreadable;
    else if (in->nnodes == 0)
        s->stop = "Slurm shows no nodes";
    else if (in->now < 0)
        s->stop = "the clock stands before 1970";
    else if (!in->self)
        s->stop = "it is not known who drains here";
    for (size_t i = 1; i < s->evidence.naudits && !s->stop; i++)
        if (audit[i - 1]->id == audit[i]->id)
            s->stop = "two audits have one number";
    for (size_t i = 1; i < s->nnodes && !s->stop; i++)
        if (compare_node_states (&s->node[i - 1], &s->node[i]) == 0)
            s->stop = "Slurm's list has a node twice";
}

void state_make (struct site_state *s, const struct policy_input *in,
                 const struct policy_config *cfg, struct pool *pool)
{
    *s = (struct site_state){ .in = in, .cfg = cfg };
    evidence_make (&s->evidence, in, cfg, pool);
    make_nodes (s);
    check_state (s);
    judge_tracks (s);
    make_broad (s);
    count_drained_nodes (s);
}
