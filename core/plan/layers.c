/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds for a whole fabric.
 *
 * Notes: a job that has few hosts in a pod keeps these busy in all rounds, with
 * links that symmetric rows do not cross. Then all pairs are candidates,
 * ordered first by the heat of their ends and then by class: rows without a hot
 * end first, rows with two last, so that layers of hot rows are as small as
 * possible.
 */
#include "config.h"
#include "core/plan/layers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/chain.h"
#include "core/plan/demand.h"
#include "core/plan/span.h"
#include "util/alloc.h"

enum {
    LAYERS_MAX = 16,     /* further classes share the last one */
    CLASSES = 2 * ROW_MAX + 2,
    KEYS = 6 * CLASSES,  /* three heats; one or two ends of that heat */
    LACK = 32,           /* all pairs if symmetric rows lack 1/32, and */
    PAIRS_MAX = 1 << 19, /* there are no more: those of 1,024 endpoints */
    MISSING_EACH = 16,   /* pairs to try for each missing row, */
    MISSING_MORE = 1000, /* and one per endpoint: a search costs more */
    PATIENCE = 2,        /* searches without success before giving up */
    SHAKE = 3,           /* rows removed for each missing one */
    HOPE = 32,           /* stop if more than 1/32 of the rank is missing */
    GAIN = 16,           /* another round if fewer than 1/16 find room */
    SLACK = 32,          /* try the bound if it has 1/32 to spare */
    RESTARTS = 2,        /* before rounds are opened */
    CHAINS = 16,         /* no chains in a job that lacks more than 1/16 */
    LOOK = 300,          /* work of a search of all pairs, per endpoint */
    AGAIN = 20000000,    /* work that is free if rounds are not few */
};

/* Hot ports are busy in this share of the rounds, hotter ones in more. */
static const double hot[] = { .6, .75 };

struct layer {
    uint32_t first, end; /* range of candidates in their order */
    bool hot;
    size_t need;         /* what they add to the rank */
    uint32_t *basis;     /* [need] candidates that add it */
    struct rref *rref;   /* span of the layers below and of placed rows */
    uint32_t *live;      /* candidates that may add to it */
    size_t nlive;
    size_t placed;
};

struct layer_packer {
    struct basis *basis;
    struct pathset *ps;
    struct rng *rng;
    bool job;            /* all pairs are candidates */
    uint8_t *heat;       /* [port] heat */
    uint32_t *order;     /* [ncandidates] by key: */
    uint16_t *key;       /* [ncandidates] heat, then class */
    struct layer layer[LAYERS_MAX];
    size_t nlayers;
    size_t rank;
    size_t ncandidates;  /* of the basis, before any is appended */
    struct rounds rounds;
    struct chain *chain; /* to place in them */
    uint16_t *degree;    /* [port] slots */
    uint16_t full;       /* degree that long rows must not exceed */
    uint64_t work;       /* without the chain's */
};

static uint64_t work_done (const struct layer_packer *p)
{
    return p->work + chain_work (p->chain);
}

/*
 * Layers
 */

static uint16_t key_of (const struct layer_packer *p, uint32_t i)
{
    unsigned int a = p->heat[p->basis->port[i].a];
    unsigned int b = p->heat[p->basis->port[i].b];
    unsigned int heat = a > b ? a : b;

    return (2 * heat + (heat > 0 && a == b)) * CLASSES + p->basis->class_id[i];
}

static bool is_hot (const struct layer_packer *p, uint32_t i)
{
    return p->key[i] >= CLASSES;
}

/* Order the candidates by key, those of one key in their old order. */
static void order_candidates (struct layer_packer *p)
{
    size_t n = p->basis->n;
    size_t *start = xcalloc (KEYS + 1, sizeof (*start));

    free (p->order);
    free (p->key);
    p->order = xcalloc (n + 1, sizeof (*p->order));
    p->key = xcalloc (n + 1, sizeof (*p->key));
    for (size_t i = 0; i < n; i++) {
        p->key[i] = key_of (p, i);
        start[p->key[i] + 1]++;
    }
    for (size_t k = 0; k < KEYS; k++)
        start[k + 1] += start[k];
    for (size_t i = 0; i < n; i++)
        p->order[start[p->key[i]]++] = i;
    free (start);
}

static void clear_layers (struct layer_packer *p)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        free (p->layer[i].basis);
        free (p->layer[i].live);
        rref_destroy (p->layer[i].rref);
    }
    memset (p->layer, 0, sizeof (p->layer));
    p->nlayers = 0;
}

/* Make a layer of the candidates order[first .. end-1], if they add to the
 * rank.
 */
static void add_layer (struct layer_packer *p, struct rref *rref, size_t first,
                       size_t end)
{
    uint32_t *picked = xarray (end - first, sizeof (*picked));
    size_t n = 0;

    for (size_t i = first; i < end && rref_rank (rref) < p->basis->m; i++)
        if (basis_add (p->basis, p->order[i], rref))
            picked[n++] = p->order[i];
    if (n == 0) {
        free (picked);
        return;
    }
    p->layer[p->nlayers++] = (struct layer){
        .first = first,
        .end = end,
        .hot = is_hot (p, p->order[first]),
        .need = n,
        .basis = picked,
        .live = xarray (end - first, sizeof (*picked)),
    };
}

/* Find the layers. Return the form of a basis. */
static struct rref *find_layers (struct layer_packer *p)
{
    struct rref *rref = rref_create (p->basis->m);
    size_t n = p->basis->n;
    size_t first = 0;

    clear_layers (p);
    order_candidates (p);
    for (size_t i = 1; i <= n; i++) {
        if (i < n && (p->key[p->order[i]] == p->key[p->order[i - 1]]
                      || p->nlayers == LAYERS_MAX - 1))
            continue;
        add_layer (p, rref, first, i);
        rref_reduce (rref);
        first = i;
    }
    p->rank = rref_rank (rref);
    return rref;
}

/* Add candidates to the basis that span more than `rref`: 1, 0 if there are
 * none, or -1 with err.
 */
static int extend (struct layer_packer *p, const struct rref *rref,
                   struct error *err)
{
    size_t lack = p->basis->m - p->rank;
    double n = pathset_size (p->ps);

    if (lack == 0)
        return 0;
    if (!p->job && lack > p->basis->m / LACK
        && n * (n - 1) / 2 <= PAIRS_MAX) {
        p->job = true;
        basis_clear (p->basis);
        return basis_make (p->basis, p->ps, p->rng, err) < 0 ? -1 : 1;
    }
    return basis_extend (p->basis, p->ps, rref, p->rng, 4 * lack + 1000, err);
}

/* Find the layers of a basis that spans all pairs; it is extended if necessary.
 */
static int span_all (struct layer_packer *p, struct error *err)
{
    int more;

    do {
        struct rref *rref = find_layers (p);

        more = extend (p, rref, err);
        rref_destroy (rref);
    } while (more > 0);
    return more;
}

/* Find the hot ports, unless all are hot, and raise *target to the number of
 * rounds that they need.
 */
static void find_heat (struct layer_packer *p, size_t *target)
{
    size_t n = p->basis->nports;
    double *demand = demand_find (p->basis);
    double most = *target;
    size_t cold = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax (most, demand[i]);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < sizeof (hot) / sizeof (hot[0]); k++)
            p->heat[i] += demand[i] >= hot[k] * most;
        cold += p->heat[i] == 0;
    }
    if (cold == 0)
        memset (p->heat, 0, n);
    *target = ceil (most - 1e-9);
    free (demand);
}

/* Nothing is placed yet: every layer has the span of those below. */
static void reset_layers (struct layer_packer *p)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        struct layer *l = &p->layer[i];

        rref_destroy (l->rref);
        l->rref = rref_create (p->basis->m);
        for (size_t k = 0; k < i; k++)
            for (size_t b = 0; b < p->layer[k].need; b++)
                basis_add (p->basis, p->layer[k].basis[b], l->rref);
        rref_reduce (l->rref);
        l->nlive = l->end - l->first;
        for (size_t k = 0; k < l->nlive; k++)
            l->live[k] = p->order[l->first + k];
        rng_shuffle (p->rng, l->live, l->nlive);
        l->placed = 0;
    }
}

/*
 * Rounds
 */

static void place (struct layer_packer *p, uint32_t pair, size_t round)
{
    p->degree[p->basis->port[pair].a]++;
    p->degree[p->basis->port[pair].b]++;
    chain_place (p->chain, pair, round);
}

/* Is an end of a long row busy in all rounds but one, which is for a short row?
 */
static bool is_full (const struct layer_packer *p, uint32_t pair)
{
    const struct probe *ends = &p->basis->port[pair];

    return p->degree[ends->a] >= p->full || p->degree[ends->b] >= p->full;
}

/* Place as many of a layer's candidates in a round as fit. */
static void fill (struct layer_packer *p, size_t i, size_t round)
{
    struct layer *l = &p->layer[i];
    size_t keep = 0;

    for (size_t k = 0; k < l->nlive; k++) {
        uint32_t pair = l->live[k];

        if (l->placed == l->need
            || (i > 0 && !l->hot && is_full (p, pair))
            || !chain_fits (p->chain, pair, round))
            l->live[keep++] = pair;
        else if (basis_add (p->basis, pair, l->rref)) {
            place (p, pair, round);
            l->placed++;
        }
    }
    l->nlive = keep;
}

/* Fill one more round, the long rows first: all layers but the first, hot ones
 * first, then the others, in a different order in each round.
 */
static void fill_round (struct layer_packer *p)
{
    size_t round = p->rounds.count;
    size_t n = p->nlayers;

    chain_open (p->chain);
    if (n == 0)
        return;
    for (n--; n > 0 && p->layer[n].hot; n--)
        fill (p, n, round);
    for (size_t i = 0; i < n; i++)
        fill (p, n - (i + round) % n, round);
    fill (p, 0, round);
}

/* Place a layer's missing rows by chains. */
static void insert (struct layer_packer *p, struct layer *l)
{
    for (size_t i = 0; i < l->nlive && l->placed < l->need; i++) {
        uint32_t pair = l->live[i];

        p->work += p->basis->first[pair + 1] - p->basis->first[pair];
        if (basis_spans (p->basis, pair, l->rref)
            || !chain_put (p->chain, pair))
            continue;
        basis_add (p->basis, pair, l->rref);
        l->placed++;
    }
}

/*
 * Rows that the layers' own candidates could not provide
 */

static int compare_pair (const void *a, const void *b)
{
    const struct rounds_slot *x = a;
    const struct rounds_slot *y = b;

    return (x->pair > y->pair) - (x->pair < y->pair);
}

static struct rounds_slot *copy_slots (const struct rounds *r)
{
    struct rounds_slot *slot = xarray (r->n, sizeof (*slot));

    if (r->n > 0)
        memcpy (slot, r->slot, r->n * sizeof (*slot));
    return slot;
}

/* The form of all placed rows, added in class order. */
static struct rref *placed_form (const struct layer_packer *p)
{
    struct rref *rref = rref_create (p->basis->m);
    struct rounds_slot *slot = copy_slots (&p->rounds);

    qsort (slot, p->rounds.n, sizeof (*slot), compare_pair);
    for (size_t i = 0; i < p->rounds.n; i++)
        basis_add (p->basis, slot[i].pair, rref);
    rref_reduce (rref);
    free (slot);
    return rref;
}

/* Append pairs that add to the form; there must be some. */
static int append_missing (struct layer_packer *p, const struct rref *rref,
                           struct error *err)
{
    uint64_t *z = xcalloc (p->basis->m, sizeof (*z));
    size_t max = MISSING_EACH * (p->rank - p->rounds.n) + MISSING_MORE
                 + pathset_size (p->ps);
    struct probe *pair;
    size_t n;
    int rc = -1;

    rref_null (rref, p->rng, z);
    if ((pair = span_missing (p->ps, z, p->rng, max, &n, err)))
        rc = basis_append (p->basis, p->ps, pair, n, err);
    free (pair);
    free (z);
    return rc;
}

/* Try to place any pair that adds to the rank in the existing rounds; open
 * another one if few can be placed. Return 1 if there would be more than `most`
 * rounds, or too much work.
 */
static int complete (struct layer_packer *p, size_t most, uint64_t limit,
                     struct error *err)
{
    struct rref *rref = placed_form (p);
    int rc = 0;

    p->work += rref_work (rref);
    for (int stalled = 0; rc == 0 && p->rounds.n < p->rank;) {
        size_t before = p->rounds.n;
        size_t first = p->basis->n;
        uint64_t work = rref_work (rref);

        p->work += LOOK * pathset_size (p->ps);
        rc = append_missing (p, rref, err);
        for (size_t i = first;
             rc == 0 && i < p->basis->n && p->rounds.n < p->rank; i++)
            if (!basis_spans (p->basis, i, rref) && chain_put (p->chain, i))
                basis_add (p->basis, i, rref);
        p->work += rref_work (rref) - work;
        if (rc < 0 || p->rounds.n == p->rank)
            continue;
        if ((p->rounds.n - before) * GAIN > p->rank - before)
            stalled = 0;
        else if (p->rounds.count < most)
            chain_open (p->chain);
        else if (++stalled == PATIENCE || work_done (p) > limit)
            rc = 1;
    }
    rref_destroy (rref);
    return rc;
}

/* The round with the fewest rows. */
static size_t smallest (const struct layer_packer *p)
{
    size_t least = 0;

    for (size_t r = 1; r < p->rounds.count; r++)
        if (chain_size (p->chain, r) < chain_size (p->chain, least))
            least = r;
    return least;
}

/* Dissolve a round; the last one takes its number. */
static void dissolve (struct layer_packer *p, size_t round)
{
    size_t last = --p->rounds.count;
    size_t n = 0;

    for (size_t i = 0; i < p->rounds.n; i++) {
        struct rounds_slot s = p->rounds.slot[i];

        if (s.round == round)
            continue;
        if (s.round == last)
            s.round = round;
        p->rounds.slot[n++] = s;
    }
    p->rounds.n = n;
    chain_reset (p->chain);
}

/* Remove SHAKE times as many rows as are missing. */
static void shake (struct layer_packer *p)
{
    size_t most = SHAKE * (p->rank - p->rounds.n);

    for (size_t k = 0; k < most && p->rounds.n > 0; k++) {
        size_t i = rng_below (p->rng, p->rounds.n);

        p->rounds.slot[i] = p->rounds.slot[--p->rounds.n];
    }
    chain_reset (p->chain);
}

/* Chains may leave a round empty. */
static void drop_empty (struct layer_packer *p)
{
    while (p->rounds.count > 0) {
        size_t least = smallest (p);

        if (chain_size (p->chain, least) > 0)
            break;
        dissolve (p, least);
    }
}

/* Try with one round less: complete the remaining packing, and repeat after
 * removing some of it, as long as the effort lasts. Return 1 without success.
 */
static int improve (struct layer_packer *p, uint64_t limit, struct error *err)
{
    struct rounds_slot *best = NULL; /* with the fewest missing rows: */
    size_t n = 0;
    int rc;

    dissolve (p, smallest (p));
    while ((rc = complete (p, p->rounds.count, limit, err)) == 1
           && work_done (p) < limit
           && (p->rank - p->rounds.n) * HOPE < p->rank) {
        if (p->rounds.n >= n) {
            free (best);
            best = copy_slots (&p->rounds);
            n = p->rounds.n;
        } else {
            memcpy (p->rounds.slot, best, n * sizeof (*best));
            p->rounds.n = n;
        }
        shake (p);
    }
    free (best);
    return rc;
}

/*
 * Packing
 */

/* Place as many rows as fit into `target` rounds. */
static void pack (struct layer_packer *p, size_t target)
{
    p->rounds.n = p->rounds.count = 0;
    memset (p->degree, 0, p->basis->nports * sizeof (*p->degree));
    p->full = target - 1;
    reset_layers (p);
    while (p->rounds.count < target && p->rounds.n < p->rank)
        fill_round (p);
    for (size_t i = p->nlayers; i-- > 0;)
        insert (p, &p->layer[i]);
}

/* Is a packing of a job not worth completing? */
static bool is_poor (const struct layer_packer *p)
{
    return p->job && (p->rank - p->rounds.n) * CHAINS > p->rank;
}

/* Make a packing for `target` rounds. If these are not enough, try one more,
 * from the start, since a round that is opened late is not filled as well; then
 * as many as are needed. *work is the work of the last packing, or 0 if that
 * many were opened: then a search for one less is of little use.
 */
static int pack_first (struct layer_packer *p, size_t target, uint64_t *work,
                       struct error *err)
{
    int tries = 0;
    int rc;

    do {
        *work = work_done (p);
        pack (p, target);
        if ((rc = is_poor (p)))
            target++;
        else
            rc = complete (p, tries++ < RESTARTS ? target++ : SIZE_MAX,
                           UINT64_MAX, err);
        *work = tries > RESTARTS ? 0 : work_done (p) - *work;
    } while (rc > 0);
    return rc;
}

/* The best rounds so far. Pairs that were appended to the basis for them are
 * renumbered without the other appended ones.
 */
struct best {
    struct rounds rounds;
    struct probe *more;
    size_t nmore;
};

static void best_clear (struct best *best)
{
    rounds_clear (&best->rounds);
    free (best->more);
}

static void keep (struct best *best, const struct layer_packer *p)
{
    best_clear (best);
    *best = (struct best){ .rounds = p->rounds };
    best->rounds.slot = copy_slots (&p->rounds);
    best->rounds.size = p->rounds.n;
    best->rounds.maximal = true;
    best->more = xarray (p->rounds.n, sizeof (*best->more));
    for (size_t i = 0; i < p->rounds.n; i++) {
        struct rounds_slot *s = &best->rounds.slot[i];

        if (s->pair >= p->ncandidates) {
            best->more[best->nmore] = p->basis->pair[s->pair];
            s->pair = p->ncandidates + best->nmore++;
        }
    }
}

static void packer_clear (struct layer_packer *p)
{
    clear_layers (p);
    chain_destroy (p->chain);
    free (p->degree);
    free (p->heat);
    free (p->order);
    free (p->key);
    rounds_clear (&p->rounds);
}

static size_t lower_bound (const struct layer_packer *p)
{
    size_t half = p->basis->nports / 2;

    return half ? (p->rank + half - 1) / half : 0;
}

int layers_pack (struct rounds *rounds, struct basis *basis,
                 struct pathset *ps, struct rng *rng, uint64_t effort,
                 size_t *rank, struct error *err)
{
    struct layer_packer p = { .basis = basis, .ps = ps, .rng = rng };
    struct best best = { 0 };
    size_t bound, target;
    uint64_t again = 0;
    int rc = -1;

    p.heat = xcalloc (pathset_size (ps), sizeof (*p.heat));
    if (span_all (&p, err) < 0)
        goto error;
    *rank = p.rank;
    p.ncandidates = basis->n;
    p.degree = xcalloc (basis->nports, sizeof (*p.degree));
    p.chain = chain_create (basis, &p.rounds, p.rank);
    bound = target = lower_bound (&p);
    if (bound * (basis->nports / 2) - p.rank < p.rank / SLACK)
        target++;
    if (p.job) {
        find_heat (&p, &target);
        rref_destroy (find_layers (&p));
    }
    if (pack_first (&p, target, &again, err) < 0)
        goto error;
    drop_empty (&p);
    keep (&best, &p);
    if (again > 0)
        again = again > AGAIN ? again : AGAIN;
    again += work_done (&p);
    if (again < effort)
        again = effort;
    while (best.rounds.count > bound
           && work_done (&p)
               < (best.rounds.count > bound + 1 ? again : effort)) {
        int vain = improve (&p, again, err);

        if (vain < 0)
            goto error;
        if (vain > 0)
            break;
        drop_empty (&p);
        keep (&best, &p);
    }
    basis->n = p.ncandidates;
    if (basis_append (basis, ps, best.more, best.nmore, err) < 0)
        goto error;
    *rounds = best.rounds;
    rounds->work = work_done (&p);
    best.rounds.slot = NULL;
    rc = 0;
error:
    packer_clear (&p);
    best_clear (&best);
    return rc;
}
