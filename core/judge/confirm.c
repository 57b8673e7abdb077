/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. Each suspect of a cause would explain the excess. The rows of the
 * stage have two goals: ROWS_EACH of them cross each suspect, with partners
 * that it did not have before; and for each two suspects, ROWS_APART of them
 * cross one more often than the other, if any path does. Rows are drawn into a
 * pool. They are chosen greedily by the number of goals that they serve, and
 * placed in the first round in which their links are free.
 *
 * The pool is drawn from the trees of some destinations. With the suspects as
 * bits on the arcs, one pass over a tree gives the suspects that the paths from
 * each leaf cross, and for each such set a few sources are drawn. The trees of
 * suspected host links' endpoints come first, because other trees have few
 * paths to them; then those of other endpoints, in random order, until the pool
 * is full. So the cost is a tree per destination, the size of the job's leaves,
 * until the pool is full, and never that of all pairs.
 *
 * Controls are probes of the first stage that cross no suspect: the judge
 * subtracts what all pairs that both stages measured take more in the second
 * (observe_stage).
 */
#include "config.h"
#include "core/judge/confirm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "util/alloc.h"
#include "util/pool.h"
#include "util/rng.h"
#include "util/site.h"
#include "util/sort.h"

_Static_assert ((int)CONFIRM_ROUNDS_MAX == (int)SITE_CONFIRM_MAX,
                "pmm.conf's limit");

enum {
    SUSPECTS_MAX = 64, /* of a cause: bits of a mask */
    CONFIRMED_CAUSES_MAX = 16,
    SEVERAL_CAUSES = 255, /* instead of a cause's number */
    VAGUE_ROUNDS = 2,     /* for what is too small for a cause */
    SPREAD_ROUNDS = 16,   /* for pairs whose messages are spread */
    ROWS_EACH = 4,
    ROWS_APART = 2,
    CANDIDATES_MAX = 512,
    SOURCE_SETS_MAX = 16, /* of suspects, on paths to one destination */
    SET_DRAWS = 2,        /* sources for one such set */
    OWN_DRAWS = 32,       /* the same, if the destination is suspect */
    ROUND_CONTROLS = 2,   /* in each round */
    CONTROL_TRIES = 64,
};

_Static_assert ((int)SPREAD_ROUNDS <= 16
                    && (int)SPREAD_ROUNDS >= (int)CONFIRM_ROUNDS_MAX,
                "rounds are bits of a uint16_t");

/* factors for the worth of a row */
#define KNOWN_PAIR_WORTH 0.65 /* if the two were partners before */
#define MIXED_PAIR_WORTH 0.5  /* if it crosses suspects of another cause */

const struct confirm_options confirm_defaults = { .rounds = 4 };

struct candidate {
    uint32_t a, b;
    double worth;                /* for each goal that it serves */
    uint8_t count[SUSPECTS_MAX]; /* crossings of the suspects */
    int narcs;
    uint32_t arc[ROW_MAX]; /* there and back */
};

struct confirm_search {
    struct pathset *ps;
    const struct network *net;
    struct plan *plan;   /* grows */
    size_t first;        /* round of the stage */
    unsigned int rounds; /* at most, for the current cause */
    struct rng rng;
    struct tree *tree;
    uint64_t *known; /* pairs of the first stage, sorted */
    size_t nknown;
    uint8_t *cause_of;  /* [nlinks] cause of a suspect link, from 1; 0: none */
    uint16_t *link_busy; /* [nlinks] rounds of the stage, as bits */
    uint16_t *end_busy;  /* [n] */
    bool *silent;       /* [n] no message was answered */
    uint32_t *order;    /* [n] destinations */

    /* for the current cause */
    uint8_t cause;
    struct suspect suspect[SUSPECTS_MAX];
    size_t nsuspects;
    uint64_t *mask; /* [2 * nlinks] suspects by arc */
    uint64_t *step; /* suspects on the path from a tree's step */
    struct candidate *pool;
    size_t npool;
    uint8_t each[SUSPECTS_MAX]; /* rows still needed */
    uint8_t apart[SUSPECTS_MAX][SUSPECTS_MAX];
};

static int compare_suspicions (const void *va, const void *vb)
{
    const struct suspicion *a = va;
    const struct suspicion *b = vb;

    return util_compare (fabs (b->excess_ns) / b->stderr_ns,
                         fabs (a->excess_ns) / a->stderr_ns);
}

/* Keep only what is measured again, the most significant first: a slow link,
 * any wrong route or row.
 */
static void keep_suspects_to_confirm (struct suspicions *s,
                                      const struct judge_options *opts)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        struct suspicion *x = &s->v[i];
        bool again = x->n > 0 && x->excess_ns > opts->warn_ns;

        for (size_t k = 0; k < x->n; k++)
            again |= x->suspect[k].kind == SUSPECT_ROUTE
                     || x->suspect[k].kind == SUSPECT_ROW;
        if (again)
            s->v[n++] = *x;
    }
    s->n = n;
    if (n > 0)
        qsort (s->v, n, sizeof (*s->v), compare_suspicions);
}

/*
 * The pool
 */

/* Find the arcs there and back; return the number there. */
static int walk_candidate (const struct confirm_search *h, struct candidate *c,
                           struct error *err)
{
    int there = pathset_walk (h->ps, c->a, c->b, c->arc, err);
    int back = there < 0
                   ? -1
                   : pathset_walk (h->ps, c->b, c->a, c->arc + there, err);

    c->narcs = there + back;
    return back < 0 ? -1 : there;
}

/* Add the pair to the pool if its round trip crosses a suspect. */
static int add_candidate (struct confirm_search *h, uint32_t a, uint32_t b,
                          struct error *err)
{
    struct candidate *c = &h->pool[h->npool];
    bool any = false;
    bool mixed = false;
    uint64_t key = pair_key (a, b);
    int there;

    if (h->npool == CANDIDATES_MAX || h->silent[a] || h->silent[b])
        return 0;
    *c = (struct candidate){ .a = a, .b = b };
    if ((there = walk_candidate (h, c, err)) < 0)
        return -1;
    for (size_t i = 0; i < h->nsuspects; i++) {
        const struct suspect *s = &h->suspect[i];

        for (int k = 0; k < c->narcs; k++)
            c->count[i]
                += suspect_crossed (s, h->net, c->arc[k], k < there ? b : a);
        if (s->kind == SUSPECT_ROW)
            c->count[i] = key == pair_key (s->index, s->to);
        any |= c->count[i] > 0;
    }
    for (int k = 0; k < c->narcs; k++) {
        uint8_t cause = h->cause_of[arc_link (c->arc[k])];

        mixed |= cause != 0 && cause != h->cause;
    }
    c->worth = mixed ? MIXED_PAIR_WORTH : 1;
    if (bsearch (&key, h->known, h->nknown, sizeof (key), compare_u64))
        c->worth *= KNOWN_PAIR_WORTH;
    h->npool += any;
    return 0;
}

/* The kind of the link that a suspect is; -1: not a link. */
static int link_kind (const struct confirm_search *h, const struct suspect *s)
{
    uint32_t link = suspect_link (s);

    return link == NETWORK_NONE ? -1 : (int)h->net->link[link].kind;
}

/* Whether few other destinations' trees have paths that cross the suspect at an
 * endpoint.
 */
static bool is_suspect_end (const struct confirm_search *h, uint32_t end)
{
    const char *host = pathset_endpoint (h->ps, end)->host;

    for (size_t i = 0; i < h->nsuspects; i++) {
        const struct suspect *s = &h->suspect[i];

        if (s->kind == SUSPECT_ROUTE
                ? s->to == end
                : link_kind (h, s) == LINK_HOST
                      && !strcmp (h->net->link[suspect_link (s)].host, host))
            return true;
    }
    return false;
}

struct source_set { /* leaves whose paths cross the same suspects */
    uint64_t mask;
    uint64_t seen;
    uint32_t source[OWN_DRAWS];
};

/* Draw up to `draws` sources for each set of suspects on the paths to a
 * destination.
 */
static int draw_sources (struct confirm_search *h, uint32_t to, size_t draws,
                         struct error *err)
{
    const struct tree *t = h->tree;
    struct source_set set[SOURCE_SETS_MAX];
    uint64_t others = 0; /* routes to other endpoints */
    size_t nsets = 0;

    if (tree_grow (h->tree, to, err) < 0)
        return -1;
    for (size_t i = 0; i < h->nsuspects; i++)
        if (h->suspect[i].kind == SUSPECT_ROUTE && h->suspect[i].to != to)
            others |= UINT64_C (1) << i;
    /* the suspects on the path from each step of the tree */
    h->step = xrealloc (h->step, t->n, sizeof (*h->step));
    h->step[0] = 0;
    for (size_t k = 1; k < t->n; k++)
        h->step[k]
            = h->step[t->parent[k]]
              | ((h->mask[t->arc[k]] | h->mask[t->arc[k] ^ 1]) & ~others);
    for (size_t l = 0; l < t->nleaves; l++) {
        uint64_t mask = h->step[t->leaf[l]];
        size_t size = t->first[l + 1] - t->first[l];
        size_t k = rng_below (&h->rng, size);
        uint32_t from = t->member[t->first[l] + k];
        size_t s = 0;
        uint64_t at;

        /* an endpoint is not its own partner: take the next one of its leaf */
        if (!pathset_is_pair (h->ps, from, to))
            from = t->member[t->first[l] + (k + 1) % size];
        if (!mask || !pathset_is_pair (h->ps, from, to))
            continue;
        while (s < nsets && set[s].mask != mask)
            s++;
        if (s == SOURCE_SETS_MAX)
            continue;
        if (s == nsets)
            set[nsets++] = (struct source_set){ .mask = mask };
        at = set[s].seen++;
        if (at >= draws)
            at = rng_below (&h->rng, at + 1);
        if (at < draws)
            set[s].source[at] = from;
    }
    for (size_t s = 0; s < nsets; s++)
        for (size_t i = 0; i < draws && i < set[s].seen; i++)
            if (add_candidate (h, set[s].source[i], to, err) < 0)
                return -1;
    return 0;
}

/* Draw from the suspects' own destinations, and from others if a switch or a
 * link between switches is suspect.
 */
static int fill_pool (struct confirm_search *h, struct error *err)
{
    size_t n = pathset_size (h->ps);
    bool others = false;

    h->npool = 0;
    for (size_t i = 0; i < n; i++)
        h->order[i] = i;
    rng_shuffle (&h->rng, h->order, n); /* new order per cause */
    for (size_t i = 0; i < h->nsuspects; i++) {
        const struct suspect *s = &h->suspect[i];

        others |= s->kind == SUSPECT_SWITCH || link_kind (h, s) == LINK_SWITCH;
        if (s->kind == SUSPECT_ROW
            && add_candidate (h, s->index, s->to, err) < 0)
            return -1;
    }
    for (int own = 1; own >= !others; own--)
        for (size_t i = 0; i < n && h->npool < CANDIDATES_MAX; i++)
            if (is_suspect_end (h, h->order[i]) == own
                && draw_sources (h, h->order[i], own ? OWN_DRAWS : SET_DRAWS,
                                 err)
                       < 0)
                return -1;
    return 0;
}

/*
 * The choice
 */

/* What a row serves of the goals: of each the share that is left, since what no
 * row crosses yet tells nothing, and a fourth row little more; `take` counts it.
 */
static double count_goals (struct confirm_search *h, const struct candidate *c,
                           bool take)
{
    double sum = 0;

    for (size_t i = 0; i < h->nsuspects; i++) {
        if (c->count[i] && h->each[i]) {
            sum += h->each[i] / (double)ROWS_EACH;
            h->each[i] -= take;
        }
        for (size_t k = 0; k < i; k++)
            if (c->count[i] != c->count[k] && h->apart[i][k]) {
                sum += h->apart[i][k] / (double)ROWS_APART;
                h->apart[i][k] -= take;
            }
    }
    return sum;
}

/* The first round of the stage in which a probe fits; h->rounds: none. */
static unsigned int free_round (const struct confirm_search *h,
                                const struct candidate *c)
{
    unsigned int busy = h->end_busy[c->a] | h->end_busy[c->b];
    unsigned int r = 0;

    for (int k = 0; k < c->narcs; k++)
        busy |= h->link_busy[arc_link (c->arc[k])];
    while (r < h->rounds && busy >> r & 1)
        r++;
    return r;
}

static void place_candidate (struct confirm_search *h, unsigned int round,
                             const struct candidate *c)
{
    uint16_t bit = 1u << round;

    h->end_busy[c->a] |= bit;
    h->end_busy[c->b] |= bit;
    for (int k = 0; k < c->narcs; k++)
        h->link_busy[arc_link (c->arc[k])] |= bit;
    plan_add (h->plan, h->first + round, c->a, c->b);
}

/* Choose the best candidates, as long as any serves a goal. */
static void choose_candidates (struct confirm_search *h)
{
    struct candidate *best;

    do {
        double most = 0;

        best = NULL;
        for (size_t i = 0; i < h->npool; i++) {
            struct candidate *c = &h->pool[i];
            double gain = c->worth * count_goals (h, c, false);

            if (gain > most && free_round (h, c) < h->rounds) {
                most = gain;
                best = c;
            }
        }
        if (best) {
            count_goals (h, best, true);
            best->worth *= KNOWN_PAIR_WORTH; /* another partner is better */
            place_candidate (h, free_round (h, best), best);
        }
    } while (best);
}

/* Add probes of the first stage that cross no suspect to each round. */
static int add_controls (struct confirm_search *h, struct error *err)
{
    size_t wanted = ROUND_CONTROLS * (plan_rounds (h->plan) - h->first);

    for (int i = 0; i < CONTROL_TRIES && wanted > 0 && h->nknown > 0; i++) {
        uint64_t key = h->known[rng_below (&h->rng, h->nknown)];
        struct candidate c = { .a = key >> 32, .b = (uint32_t)key };
        bool clean = !h->silent[c.a] && !h->silent[c.b];
        unsigned int round;

        if (walk_candidate (h, &c, err) < 0)
            return -1;
        for (int k = 0; k < c.narcs; k++)
            clean &= !h->cause_of[arc_link (c.arc[k])];
        round = free_round (h, &c);
        if (!clean || round == h->rounds
            || h->first + round >= plan_rounds (h->plan))
            continue;
        place_candidate (h, round, &c);
        wanted--;
    }
    return 0;
}

/* Record which cause's suspects the links are. */
static void mark_links (struct confirm_search *h, const struct suspicion *s,
                        uint8_t cause)
{
    for (size_t i = 0; i < s->n; i++)
        for (uint32_t a = 0; a < 2 * h->net->nlinks; a++) {
            uint8_t *of = &h->cause_of[arc_link (a)];

            if (s->suspect[i].kind != SUSPECT_ROUTE
                && suspect_crossed (&s->suspect[i], h->net, a, 0))
                *of = *of == 0 || *of == cause ? cause : SEVERAL_CAUSES;
        }
}

static int plan_cause_probes (struct confirm_search *h,
                              const struct suspicion *s, struct error *err)
{
    h->nsuspects = s->n < SUSPECTS_MAX ? s->n : SUSPECTS_MAX;
    memcpy (h->suspect, s->suspect, h->nsuspects * sizeof (*h->suspect));
    for (uint32_t a = 0; a < 2 * h->net->nlinks; a++) {
        h->mask[a] = 0;
        for (size_t i = 0; i < h->nsuspects; i++)
            if (suspect_crossed (&h->suspect[i], h->net, a, h->suspect[i].to))
                h->mask[a] |= UINT64_C (1) << i;
    }
    memset (h->each, ROWS_EACH, sizeof (h->each));
    memset (h->apart, ROWS_APART, sizeof (h->apart));
    if (fill_pool (h, err) < 0)
        return -1;
    choose_candidates (h);
    return 0;
}

/* Add a pair, some of whose flows may cross a suspect, to a round in which both
 * are free. It is not known which cables spread messages share.
 */
static void add_spread_pair (struct confirm_search *h, const struct probe *p)
{
    const struct candidate c = { .a = p->a, .b = p->b };
    unsigned int round = free_round (h, &c);

    if (!h->silent[p->a] && !h->silent[p->b] && round < h->rounds)
        place_candidate (h, round, &c);
}

int confirm_suspects (struct plan *plan, struct pathset *ps,
                      const struct suspicions *s, const struct samples *samples,
                      const struct confirm_options *opts, struct error *err)
{
    const struct network *net = pathset_network (ps);
    size_t n = pathset_size (ps);
    size_t causes = s->n < CONFIRMED_CAUSES_MAX ? s->n : CONFIRMED_CAUSES_MAX;
    struct pool *memory = pool_create ();
    struct confirm_search h = {
        .ps = ps,
        .net = net,
        .plan = plan,
        .first = plan_rounds (plan),
        .known = pool_alloc (memory, plan_probes (plan), sizeof (*h.known)),
        .cause_of = pool_alloc (memory, net->nlinks, sizeof (*h.cause_of)),
        .link_busy = pool_alloc (memory, net->nlinks, sizeof (*h.link_busy)),
        .end_busy = pool_alloc (memory, n, sizeof (*h.end_busy)),
        .silent = pool_alloc (memory, n, sizeof (*h.silent)),
        .order = pool_alloc (memory, n, sizeof (*h.order)),
        .mask = pool_alloc (memory, 2 * net->nlinks, sizeof (*h.mask)),
        .pool = pool_alloc (memory, CANDIDATES_MAX, sizeof (*h.pool)),
    };
    int rc = 0;

    if (opts->rounds > CONFIRM_ROUNDS_MAX)
        rc = error_input (err, "more than %d confirm rounds",
                          CONFIRM_ROUNDS_MAX);
    if (rc < 0 || s->n + s->npairs == 0)
        goto done;
    h.tree = tree_create (ps);
    rng_seed (&h.rng, opts->seed);
    for (size_t r = 0; r < h.first; r++) {
        size_t probes;
        const struct probe *p = plan_round (plan, r, &probes);

        for (size_t i = 0; i < probes; i++)
            h.known[h.nknown++] = pair_key (p[i].a, p[i].b);
    }
    qsort (h.known, h.nknown, sizeof (*h.known), compare_u64);
    /* endpoints that sent messages and lost them all */
    for (int heard = 0; heard < 2; heard++)
        for (size_t i = 0; samples && i < samples->nsamples; i++) {
            const struct sample *x = &samples->sample[i];

            if (!heard || x->lost < x->sent)
                h.silent[x->a] = h.silent[x->b] = !heard;
        }
    /* links that others' traffic fills are not crossed in any round */
    for (size_t i = 0; opts->judge && i < opts->judge->nbusy; i++) {
        const struct busy_link *busy = &opts->judge->busy[i];

        h.link_busy[busy->link] = UINT16_MAX;
        for (size_t k = 0; k < busy->nway; k++)
            h.link_busy[busy->way[k]] = UINT16_MAX;
    }
    for (size_t c = 0; c < causes; c++)
        mark_links (&h, &s->v[c], c + 1);
    for (size_t c = 0; c < causes && rc == 0; c++) {
        h.cause = c + 1;
        h.rounds = s->v[c].vague && opts->rounds > VAGUE_ROUNDS ? VAGUE_ROUNDS
                                                                : opts->rounds;
        rc = plan_cause_probes (&h, &s->v[c], err);
    }
    /* a flow tells little: as many pairs as possible */
    h.rounds = opts->rounds > 0 ? SPREAD_ROUNDS : 0;
    for (size_t i = 0; i < s->npairs && rc == 0; i++)
        add_spread_pair (&h, &s->pair[i]);
    h.rounds = opts->rounds;
    if (rc == 0 && (rc = add_controls (&h, err)) == 0)
        plan_set_confirm (plan, plan_confirm_rounds (plan) + plan_rounds (plan)
                                    - h.first);
done:
    free (h.step);
    tree_destroy (h.tree);
    pool_destroy (memory);
    return rc;
}

struct plan *confirm_plan (struct pathset *ps, const struct plan *plan,
                           const struct samples *samples,
                           const struct baseline *baseline,
                           const struct confirm_options *opts,
                           struct error *err)
{
    const struct judge_options *judge
        = opts->judge ? opts->judge : &judge_defaults;
    struct suspicions s = { 0 };
    struct plan *longer = NULL;
    struct judge_view view;

    if (judge_view_make (&view, ps, samples, baseline, err) == 0
        && judge_first (&s, &view, plan, samples, judge, err) == 0) {
        keep_suspects_to_confirm (&s, judge);
        if (opts->delays)
            *opts->delays = s.delays;
        longer = plan_copy (plan);
        if (confirm_suspects (longer, view.ps, &s, samples, opts, err) < 0) {
            plan_destroy (longer);
            longer = NULL;
        }
    }
    suspicions_clear (&s);
    judge_view_clear (&view);
    return longer;
}
