/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. A cause has suspects, of which each would explain the excess; beside a
 * host's link stands the last direction of a switch link on the way to it,
 * suspect or not: one row that happens to be off makes either of them the only
 * one, and nothing but a neighbour's row is there to tell them apart. Of the
 * stage's rows two things are wanted: that ROWS_EACH of them cross each
 * suspect, with partners that it did not have before, and that ROWS_APART of
 * them cross one more often than the other of each two suspects, where any
 * path does. What is not measured again cannot be confirmed, so ROWS_NEEDED of
 * the first and one of the second are worth more than all others. Rows are
 * drawn into a pool, and taken greedily by what they serve of these wants,
 * into the first round where their links are free.
 *
 * The pool comes out of the trees of some destinations: with the suspects as
 * bits on the arcs, one walk down a tree gives the suspects that the paths
 * from each leaf cross, and of each set of these a few sources are drawn. The
 * trees of suspected host links' endpoints come first, for the others hold
 * few paths to them, then those of other endpoints in random order until the
 * pool is full. So the cost is a tree per destination, the size of the
 * job's leaves, as long as the pool is not full, and never one of all pairs.
 *
 * Controls are probes of the first stage that cross no suspect: what they
 * took longer now is the fabric's mood.
 */
#include "config.h"
#include "core/judge/confirm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "util/rng.h"

enum {
    SUSPECTS_MAX = 64, /* of a cause: bits of a mask */
    CAUSES_HUNTED = 16,
    SEVERAL = 255,     /* in place of a cause's number */
    VAGUE_ROUNDS = 2,  /* for what is too little for a cause */
    ROWS_EACH = 4,
    ROWS_NEEDED = 2,   /* of these, for a cause to be confirmed */
    ROWS_APART = 2,
    POOL_MAX = 512,
    SETS_MAX = 16,     /* of suspects on the paths to one destination */
    DRAWS = 2,         /* of the sources of one such set */
    DRAWS_HOST = 32,   /* the same, where the destination is suspect */
    CONTROLS = 2,      /* in each round */
    CONTROL_TRIES = 64,
};

/* what a row is worth */
#define KNOWN 0.65 /* if the two were partners in the first stage */
#define MIXED 0.5 /* if it crosses the suspects of another cause too */
#define LENGTH 1e-3 /* what a link more on its path costs it */

const struct confirm_options confirm_defaults = { .rounds = 4 };

struct candidate {
    uint32_t a, b;
    double worth;                /* of each want it serves */
    uint8_t count[SUSPECTS_MAX]; /* crossings of the suspects, by the time
                                    that they would take */
    int narcs;
    uint32_t arc[ROW_MAX];       /* there and back */
};

struct hunt {
    struct pathset *ps;
    struct plan *plan;     /* grows */
    size_t first;          /* round of the stage */
    unsigned int rounds;   /* at most, for the cause that is hunted */
    struct rng rng;
    struct tree *tree;
    uint64_t *known;       /* pairs of the first stage, sorted */
    size_t nknown;
    uint8_t *cause_of;     /* [nlinks] whose suspect, from 1; 0: of none */
    uint8_t *link_busy;    /* [nlinks] rounds of the stage, as bits */
    uint8_t *end_busy;     /* [n] */
    bool *silent;          /* [n] nothing comes back from there */

    /* of the cause that is hunted */
    uint8_t cause;
    const struct suspect *suspect;
    size_t nsuspects;
    size_t own_count;           /* of these; behind them is what is beside them */
    bool has_routes;
    uint64_t *mask;        /* [2 * nlinks] suspects by arc */
    uint32_t *order;       /* [n] destinations */
    uint64_t *step;        /* suspects on the path from a tree's step */
    size_t step_size;
    struct candidate *pool;
    size_t npool;
    uint8_t each[SUSPECTS_MAX]; /* rows wanted yet */
    uint8_t apart[SUSPECTS_MAX][SUSPECTS_MAX];
};

/*
 * Suspects
 */

/* Do something for each arc that a suspect is about. */
typedef void (*arc_f) (struct hunt *h, uint32_t arc, uint64_t value);

static void each_arc (struct hunt *h, const struct suspect *s, arc_f fn,
                      uint64_t value)
{
    const struct network *net = pathset_network (h->ps);

    switch (s->kind) {
    case SUSPECT_LINK:
        fn (h, 2 * s->index, value);
        fn (h, 2 * s->index + 1, value);
        break;
    case SUSPECT_ARC:
        fn (h, s->index, value);
        break;
    case SUSPECT_SWITCH:
        for (uint32_t l = 0; l < net->nlinks; l++)
            if (net->link[l].end[0] == s->index
                || net->link[l].end[1] == s->index) {
                fn (h, 2 * l, value);
                fn (h, 2 * l + 1, value);
            }
        break;
    default:
        break;
    }
}

static void set_mask (struct hunt *h, uint32_t arc, uint64_t value)
{
    h->mask[arc] |= value;
}

static void clear_mask (struct hunt *h, uint32_t arc, uint64_t value)
{
    (void)value;
    h->mask[arc] = 0;
}

/* Note whose suspect a link is, or that it is that of several. */
static void set_cause (struct hunt *h, uint32_t arc, uint64_t cause)
{
    uint8_t *of = &h->cause_of[arc_link (arc)];

    *of = *of == 0 || *of == cause ? cause : SEVERAL;
}

/* The switch that an arc leads away from; NETWORK_NONE: a host. */
static uint32_t tail (const struct hunt *h, uint32_t arc)
{
    return pathset_network (h->ps)->link[arc_link (arc)].end[arc % 2];
}

/* Routes among the suspects that a way to an endpoint by this arc takes. */
static uint64_t routes_of (const struct hunt *h, uint32_t arc, uint32_t to)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < h->nsuspects && h->has_routes; i++)
        if (h->suspect[i].kind == SUSPECT_ROUTE && h->suspect[i].to == to
            && h->suspect[i].index == tail (h, arc))
            mask |= UINT64_C (1) << i;
    return mask;
}

/* What is worth a second look: a slow link, any other route. */
static bool is_suspicious (const struct suspicion *s,
                           const struct judge_options *opts)
{
    bool route = false;

    for (size_t i = 0; i < s->n; i++)
        route |= s->suspect[i].kind == SUSPECT_ROUTE
                 || s->suspect[i].kind == SUSPECT_ROW;
    return s->n > 0 && (route || s->excess_ns > opts->warn_ns);
}

static int compare_suspicions (const void *va, const void *vb)
{
    const struct suspicion *a = va;
    const struct suspicion *b = vb;
    double x = fabs (a->excess_ns) / a->stderr_ns;
    double y = fabs (b->excess_ns) / b->stderr_ns;

    return (x < y) - (x > y);
}

/* Leave only what is suspicious, the most significant first. */
static void sift (struct suspicions *s, const struct judge_options *opts)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (is_suspicious (&s->v[i], opts))
            s->v[n++] = s->v[i];
        else
            free (s->v[i].suspect);
    s->n = n;
    if (n > 0)
        qsort (s->v, n, sizeof (*s->v), compare_suspicions);
}

/*
 * The pool
 */

static uint64_t pair_key (uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static int compare_keys (const void *va, const void *vb)
{
    uint64_t a = *(const uint64_t *)va;
    uint64_t b = *(const uint64_t *)vb;

    return (a > b) - (a < b);
}

static int find_known (struct hunt *h)
{
    h->known = malloc ((plan_probes (h->plan) + 1) * sizeof (*h->known));
    if (!h->known)
        return -1;
    for (size_t r = 0; r < h->first; r++) {
        size_t n;
        const struct probe *p = plan_round (h->plan, r, &n);

        for (size_t i = 0; i < n; i++)
            h->known[h->nknown++] = pair_key (p[i].a, p[i].b);
    }
    qsort (h->known, h->nknown, sizeof (*h->known), compare_keys);
    return 0;
}

static bool is_known (const struct hunt *h, uint32_t a, uint32_t b)
{
    uint64_t key = pair_key (a, b);

    return bsearch (&key, h->known, h->nknown, sizeof (key), compare_keys);
}

/* The arcs there and back. */
static int walk (const struct hunt *h, struct candidate *c, struct error *err)
{
    int there = pathset_walk (h->ps, c->a, c->b, c->arc, err);
    int back = there < 0 ? -1 : pathset_walk (h->ps, c->b, c->a,
                                              c->arc + there, err);

    c->narcs = there + back;
    return back < 0 ? -1 : there;
}

/* Put the pair into the pool, if its round trip crosses a suspect. */
static int draw (struct hunt *h, uint32_t a, uint32_t b, struct error *err)
{
    struct candidate *c = &h->pool[h->npool];
    bool mixed = false;
    uint64_t all = 0;
    int there;

    if (h->npool == POOL_MAX || h->silent[a] || h->silent[b])
        return 0;
    *c = (struct candidate){ .a = a, .b = b };
    if ((there = walk (h, c, err)) < 0)
        return -1;
    for (int k = 0; k < c->narcs; k++) {
        uint8_t cause = h->cause_of[arc_link (c->arc[k])];
        uint64_t mask = h->mask[c->arc[k]]
                        | routes_of (h, c->arc[k], k < there ? b : a);

        mixed |= cause != 0 && cause != h->cause;
        all |= mask;
        for (size_t i = 0; mask >> i != 0; i++) {
            /* one direction, twice as slow, looks like both */
            if (mask >> i & 1)
                c->count[i] += h->suspect[i].kind == SUSPECT_ARC ? 2 : 1;
            if (i == SUSPECTS_MAX - 1)
                break;
        }
    }
    for (size_t i = 0; i < h->nsuspects; i++)
        if (h->suspect[i].kind == SUSPECT_ROW
            && pair_key (a, b)
                   == pair_key (h->suspect[i].index, h->suspect[i].to))
            all |= c->count[i] = 1;
    c->worth = (is_known (h, a, b) ? KNOWN : 1) * (mixed ? MIXED : 1);
    h->npool += all != 0;
    return 0;
}

/* The host that a suspect is the end of; NULL: it is no host link. */
static const char *host_of (const struct hunt *h, const struct suspect *s)
{
    const struct link_info *link = pathset_network (h->ps)->link;

    if (s->kind == SUSPECT_LINK)
        return link[s->index].host;
    return s->kind == SUSPECT_ARC ? link[arc_link (s->index)].host : NULL;
}

/* Whether an endpoint is a destination that others say little about. */
static bool is_suspect_end (const struct hunt *h, uint32_t end)
{
    const char *host = pathset_endpoint (h->ps, end)->host;

    for (size_t i = 0; i < h->nsuspects; i++) {
        const char *suspected = host_of (h, &h->suspect[i]);

        if ((suspected && !strcmp (suspected, host))
            || (h->suspect[i].kind == SUSPECT_ROUTE
                && h->suspect[i].to == end))
            return true;
    }
    return false;
}

/* Destinations: suspected ones first, all others in random order. Return how
 * many are suspected.
 */
static size_t order_destinations (struct hunt *h)
{
    size_t n = pathset_size (h->ps);
    size_t first = 0;

    for (size_t i = 0; i < n; i++)
        h->order[i] = i;
    rng_shuffle (&h->rng, h->order, n);
    for (size_t i = 0; i < n; i++)
        if (is_suspect_end (h, h->order[i])) {
            uint32_t end = h->order[i];

            h->order[i] = h->order[first];
            h->order[first++] = end;
        }
    return first;
}

/* The suspects on the way from each step of the tree that has grown. */
static int mask_steps (struct hunt *h)
{
    const struct tree *t = h->tree;

    if (t->n > h->step_size) {
        uint64_t *step = realloc (h->step, 2 * t->n * sizeof (*step));

        if (!step)
            return -1;
        h->step = step;
        h->step_size = 2 * t->n;
    }
    h->step[0] = 0;
    for (size_t k = 1; k < t->n; k++)
        h->step[k] = h->step[t->parent[k]] | h->mask[t->arc[k]]
                     | h->mask[t->arc[k] ^ 1]
                     | routes_of (h, t->arc[k], t->to);
    return 0;
}

struct source_set { /* leaves whose paths cross the same suspects */
    uint64_t mask;
    uint64_t seen;
    uint32_t source[DRAWS_HOST];
};

/* Draw up to `draws` sources for each set of suspects on the paths to a
 * destination.
 */
static int draw_sources (struct hunt *h, uint32_t to, size_t draws,
                         struct error *err)
{
    const struct tree *t = h->tree;
    struct source_set set[SETS_MAX];
    size_t nsets = 0;

    if (tree_grow (h->tree, to, err) < 0)
        return -1;
    if (mask_steps (h) < 0)
        return error_nomem (err);
    for (size_t l = 0; l < t->nleaves; l++) {
        uint64_t mask = h->step[t->leaf[l]];
        size_t size = t->first[l + 1] - t->first[l];
        size_t k = rng_below (&h->rng, size);
        uint32_t from = t->member[t->first[l] + k];
        size_t s = 0;
        uint64_t at;

        /* a suspect is not its own partner: take the next one of its leaf */
        if (pathset_port (h->ps, from) == pathset_port (h->ps, to))
            from = t->member[t->first[l] + (k + 1) % size];
        if (!mask
            || pathset_port (h->ps, from) == pathset_port (h->ps, to))
            continue;
        while (s < nsets && set[s].mask != mask)
            s++;
        if (s == SETS_MAX)
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
            if (draw (h, set[s].source[i], to, err) < 0)
                return -1;
    return 0;
}

/* Whether only some destinations have anything to say. */
static bool is_local (const struct hunt *h)
{
    for (size_t i = 0; i < h->own_count; i++)
        if ((h->suspect[i].kind == SUSPECT_LINK
             || h->suspect[i].kind == SUSPECT_ARC
             || h->suspect[i].kind == SUSPECT_SWITCH)
            && !host_of (h, &h->suspect[i]))
            return false;
    return true;
}

static int fill_pool (struct hunt *h, struct error *err)
{
    size_t first = order_destinations (h);
    size_t n = is_local (h) ? first : pathset_size (h->ps);

    h->npool = 0;
    for (size_t i = 0; i < h->nsuspects; i++)
        if (h->suspect[i].kind == SUSPECT_ROW
            && draw (h, h->suspect[i].index, h->suspect[i].to, err) < 0)
            return -1;
    for (size_t i = 0; i < n && h->npool < POOL_MAX; i++)
        if (draw_sources (h, h->order[i], i < first ? DRAWS_HOST : DRAWS, err)
            < 0)
            return -1;
    return 0;
}

/*
 * The choice
 */

static void want (struct hunt *h)
{
    for (size_t i = 0; i < h->nsuspects; i++) {
        h->each[i] = ROWS_EACH;
        for (size_t k = 0; k < i; k++)
            h->apart[i][k] = ROWS_APART;
    }
}

/* What the wants that a row serves are worth; with `take` they become less.
 * The first rows of each sort are worth more than all later ones together.
 */
static size_t serve (struct hunt *h, const struct candidate *c, bool take)
{
    size_t most = h->nsuspects + 1;
    size_t sum = 0;

    for (size_t i = 0; i < h->nsuspects; i++) {
        if (c->count[i] && h->each[i]) {
            sum += h->each[i] > ROWS_EACH - ROWS_NEEDED ? most : 1;
            h->each[i] -= take;
        }
        for (size_t k = 0; k < i; k++)
            if (c->count[i] != c->count[k] && h->apart[i][k]) {
                sum += h->apart[i][k] == ROWS_APART ? most : 1;
                h->apart[i][k] -= take;
            }
    }
    return sum;
}

/* The first round of the stage where a probe is free to go; rounds: none. */
static unsigned int free_round (const struct hunt *h,
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

static int place (struct hunt *h, unsigned int round,
                  const struct candidate *c)
{
    uint8_t bit = 1u << round;

    h->end_busy[c->a] |= bit;
    h->end_busy[c->b] |= bit;
    for (int k = 0; k < c->narcs; k++)
        h->link_busy[arc_link (c->arc[k])] |= bit;
    return plan_add (h->plan, h->first + round, c->a, c->b);
}

/* Take the best candidate. Return 1, 0 where none serves, -1: no memory. */
static int choose (struct hunt *h)
{
    struct candidate *best = NULL;
    double most = 0;

    for (size_t i = 0; i < h->npool; i++) {
        struct candidate *c = &h->pool[i];
        double gain = c->worth > 0 ? c->worth * serve (h, c, false) : 0;

        if (gain > 0)
            gain -= LENGTH * c->narcs;
        if (gain <= most)
            continue;
        if (free_round (h, c) == h->rounds) {
            c->worth = 0; /* rounds only fill up */
            continue;
        }
        most = gain;
        best = c;
    }
    if (!best)
        return 0;
    serve (h, best, true);
    best->worth *= KNOWN; /* another partner is better */
    return place (h, free_round (h, best), best) < 0 ? -1 : 1;
}

/* The last direction of a switch link on the way to the host that a link is
 * of, from whatever endpoint is farther than its switch. Return 1, 0 where
 * there is none, -1 with err.
 */
static int find_beside (const struct hunt *h, uint32_t link, uint32_t *beside,
                        struct error *err)
{
    const char *host = pathset_network (h->ps)->link[link].host;
    uint32_t arc[PATH_MAX_HOPS];

    for (size_t to = 0; to < pathset_size (h->ps); to++)
        if (!strcmp (pathset_endpoint (h->ps, to)->host, host))
            for (size_t from = 0; from < pathset_size (h->ps); from++) {
                int n = from == to ? 0 : pathset_walk (h->ps, from, to, arc,
                                                       err);

                if (n < 0)
                    return -1;
                if (n > 0 && arc_link (arc[n - 1]) != link)
                    break;
                if (n > 2) {
                    *beside = arc[n - 2];
                    return 1;
                }
            }
    return 0;
}

/* The suspects of a cause, and what is beside them. NULL with err. */
static struct suspect *list_suspects (struct hunt *h,
                                      const struct suspicion *s,
                                      struct error *err)
{
    struct suspect *list = malloc ((2 * s->n + 1) * sizeof (*list));
    int rc = list ? 0 : error_nomem (err);

    h->own_count = s->n < SUSPECTS_MAX ? s->n : SUSPECTS_MAX;
    h->nsuspects = h->own_count;
    if (rc == 0)
        memcpy (list, s->suspect, h->own_count * sizeof (*list));
    for (size_t i = 0; i < h->own_count && rc >= 0; i++) {
        struct suspect beside = { .kind = SUSPECT_ARC };
        size_t k = 0;

        if (list[i].kind != SUSPECT_LINK || !host_of (h, &list[i]))
            continue;
        rc = find_beside (h, list[i].index, &beside.index, err);
        while (k < h->nsuspects
               && (list[k].kind != SUSPECT_ARC
                   || list[k].index != beside.index))
            k++;
        if (rc > 0 && k == h->nsuspects && k < SUSPECTS_MAX)
            list[h->nsuspects++] = beside;
    }
    if (rc >= 0)
        return list;
    free (list);
    return NULL;
}

static int hunt_cause (struct hunt *h, const struct suspicion *s,
                       uint8_t cause, struct error *err)
{
    struct suspect *list = list_suspects (h, s, err);
    int rc;

    if (!list)
        return -1;
    h->cause = cause;
    h->suspect = list;
    h->has_routes = false;
    for (size_t i = 0; i < h->nsuspects; i++) {
        each_arc (h, &list[i], set_mask, UINT64_C (1) << i);
        h->has_routes |= list[i].kind == SUSPECT_ROUTE;
    }
    want (h);
    rc = fill_pool (h, err);
    if (rc == 0) {
        while ((rc = choose (h)) > 0)
            ;
        if (rc < 0)
            error_nomem (err);
    }
    for (size_t i = 0; i < h->nsuspects; i++)
        each_arc (h, &list[i], clear_mask, 0);
    free (list);
    return rc;
}

/* Probes of the first stage that cross no suspect, into each round. */
static int add_controls (struct hunt *h, struct error *err)
{
    size_t wanted = CONTROLS * (plan_rounds (h->plan) - h->first);

    for (int i = 0; i < CONTROL_TRIES && wanted > 0 && h->nknown > 0; i++) {
        uint64_t key = h->known[rng_below (&h->rng, h->nknown)];
        struct candidate c = { .a = key >> 32, .b = (uint32_t)key };
        bool clean = true;
        unsigned int round;

        if (walk (h, &c, err) < 0)
            return -1;
        for (int k = 0; k < c.narcs; k++)
            clean &= !h->cause_of[arc_link (c.arc[k])];
        round = free_round (h, &c);
        clean &= !h->silent[c.a] && !h->silent[c.b];
        if (!clean || h->first + round >= plan_rounds (h->plan))
            continue;
        if (place (h, round, &c) < 0)
            return error_nomem (err);
        wanted--;
    }
    return 0;
}

/* Endpoints all of whose messages were lost, of those that sent any. */
static void find_silent (struct hunt *h, const struct samples *samples)
{
    for (size_t i = 0; samples && i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];

        h->silent[s->a] = h->silent[s->b] = true;
    }
    for (size_t i = 0; samples && i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];

        if (s->lost < s->sent)
            h->silent[s->a] = h->silent[s->b] = false;
    }
}

/* What others' traffic fills is crossed in no round. */
static void avoid_busy (struct hunt *h, const struct judge_options *opts)
{
    for (size_t i = 0; opts && i < opts->nbusy; i++) {
        const struct busy_link *busy = &opts->busy[i];

        h->link_busy[busy->link] = UINT8_MAX;
        for (size_t k = 0; k < busy->nway; k++)
            h->link_busy[busy->way[k]] = UINT8_MAX;
    }
}

static int hunt (struct hunt *h, const struct suspicions *s,
                 const struct samples *samples,
                 const struct confirm_options *opts, struct error *err)
{
    unsigned int rounds = h->rounds;
    size_t n = pathset_size (h->ps);
    size_t nlinks = pathset_network (h->ps)->nlinks;

    h->cause_of = calloc (nlinks + 1, sizeof (*h->cause_of));
    h->link_busy = calloc (nlinks + 1, sizeof (*h->link_busy));
    h->end_busy = calloc (n + 1, sizeof (*h->end_busy));
    h->mask = calloc (2 * nlinks + 1, sizeof (*h->mask));
    h->silent = calloc (n + 1, sizeof (*h->silent));
    h->order = calloc (n + 1, sizeof (*h->order));
    h->pool = calloc (POOL_MAX, sizeof (*h->pool));
    if (!h->cause_of || !h->link_busy || !h->end_busy || !h->mask
        || !h->silent || !h->order || !h->pool || find_known (h) < 0)
        return error_nomem (err);
    find_silent (h, samples);
    avoid_busy (h, opts->judge);
    if (!(h->tree = tree_create (h->ps, err)))
        return -1;
    for (size_t c = 0; c < s->n && c < CAUSES_HUNTED; c++)
        for (size_t i = 0; i < s->v[c].n; i++)
            each_arc (h, &s->v[c].suspect[i], set_cause, c + 1);
    for (size_t c = 0; c < s->n && c < CAUSES_HUNTED; c++) {
        h->rounds = s->v[c].vague && rounds > VAGUE_ROUNDS ? VAGUE_ROUNDS
                                                           : rounds;
        if (hunt_cause (h, &s->v[c], c + 1, err) < 0)
            return -1;
    }
    h->rounds = rounds;
    if (add_controls (h, err) < 0)
        return -1;
    plan_set_confirm (h->plan, plan_confirm_rounds (h->plan)
                                   + plan_rounds (h->plan) - h->first);
    return 0;
}

static void hunt_clear (struct hunt *h)
{
    free (h->known);
    free (h->cause_of);
    free (h->link_busy);
    free (h->end_busy);
    free (h->silent);
    free (h->mask);
    free (h->order);
    free (h->step);
    free (h->pool);
    tree_destroy (h->tree);
}

int confirm_suspects (struct plan *plan, struct pathset *ps,
                      const struct suspicions *s,
                      const struct samples *samples,
                      const struct confirm_options *opts, struct error *err)
{
    struct hunt h = {
        .ps = ps,
        .plan = plan,
        .first = plan_rounds (plan),
        .rounds = opts->rounds,
    };
    int rc;

    if (opts->rounds > CONFIRM_ROUNDS_MAX)
        return error_input (err, "more than %d confirm rounds",
                            CONFIRM_ROUNDS_MAX);
    rng_seed (&h.rng, opts->seed);
    rc = s->n > 0 ? hunt (&h, s, samples, opts, err) : 0;
    hunt_clear (&h);
    return rc;
}

struct plan *confirm_plan (struct pathset *ps, const struct plan *plan,
                           const struct samples *samples,
                           const struct baseline *baseline, size_t nbaselines,
                           const struct confirm_options *opts,
                           struct error *err)
{
    const struct judge_options *judge = opts->judge ? opts->judge
                                                    : &judge_defaults;
    struct plan *longer = NULL;
    struct suspicions s;

    if (judge_first (&s, ps, plan, samples, baseline, nbaselines, judge, err)
        < 0)
        goto error;
    sift (&s, judge);
    if (!(longer = plan_copy (plan)))
        error_nomem (err);
    else if (confirm_suspects (longer, ps, &s, samples, opts, err) < 0) {
        plan_destroy (longer);
        longer = NULL;
    }
error:
    suspicions_clear (&s);
    return longer;
}
