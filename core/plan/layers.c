/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds for a whole fabric.
 *
 * Notes: a job that has few hosts in a pod keeps these busy in all rounds, with
 * links that symmetric rows do not cross. All pairs are candidates then, by the
 * heat of their ends before they are by class: rows without a hot end first,
 * last those with two, so that layers of hot rows need as few as there must be.
 */
#include "config.h"
#include "core/plan/layers.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/chain.h"
#include "core/plan/demand.h"
#include "core/plan/span.h"

enum {
    LAYERS_MAX = 16,     /* further classes share the last one */
    CLASSES = 2 * ROW_MAX + 2,
    KEYS = 6 * CLASSES,  /* of three heats, and one or two ends that have it */
    LACK = 32,           /* all pairs where symmetric rows lack 1/32, and */
    PAIRS_MAX = 1 << 19, /* there are no more: 1,024 endpoints' */
    MISSING_EACH = 16,   /* pairs to look at for one that the rank lacks */
    MISSING_MORE = 1000, /* and one for each endpoint: a look takes longer */
    PATIENCE = 2,        /* searches in vain before giving up */
    SHAKE = 3,           /* rows taken out for one that is lacking */
    HOPE = 32,           /* none where more than 1/32 of the rank lacks */
    GAIN = 16,           /* another round if fewer than 1/16 find room */
    SLACK = 32,          /* the bound is tried if 1/32 of it is to spare */
    RESTARTS = 2,        /* before rounds are opened */
    CHAINS = 16,         /* none in a job where more than 1/16 lacks */
    LOOK = 300,          /* work of a look at all pairs, for an endpoint */
    AGAIN = 20000000,    /* work that is free where rounds are not few */
};

/* Hot is who is busy in so many of the rounds, hotter who is in more. */
static const double hot[] = { .6, .75 };

struct layer {
    uint32_t first, end; /* candidates, by their order */
    bool hot;
    size_t need;         /* what they add to the rank */
    uint32_t *basis;     /* [need] candidates that do */
    struct rref *rref;   /* span of the layers below and of what is placed */
    uint32_t *live;      /* candidates that may add to it */
    size_t nlive;
    size_t placed;
};

struct packer {
    struct basis *basis;
    struct pathset *ps;
    struct rng *rng;
    bool job;            /* all pairs are candidates */
    uint8_t *heat;       /* [endpoint] */
    uint32_t *order;     /* [ncandidates] by key: */
    uint16_t *key;       /* [ncandidates] heat, then class */
    struct layer layer[LAYERS_MAX];
    size_t nlayers;
    size_t rank;
    size_t ncandidates;  /* of the basis, before any is appended */
    struct rounds rounds;
    struct chain *chain; /* to place in them */
    uint16_t *degree;    /* [endpoint] slots */
    uint16_t full;       /* degree that long rows leave alone */
    uint64_t work;       /* but for the chain's */
};

static uint64_t work_done (const struct packer *p)
{
    return p->work + chain_work (p->chain);
}

/*
 * Layers
 */

static uint16_t key_of (const struct packer *p, uint32_t i)
{
    unsigned int a = p->heat[p->basis->port[i].a];
    unsigned int b = p->heat[p->basis->port[i].b];
    unsigned int heat = a > b ? a : b;

    return (2 * heat + (heat > 0 && a == b)) * CLASSES + p->basis->class_id[i];
}

static bool is_hot (const struct packer *p, uint32_t i)
{
    return p->key[i] >= CLASSES;
}

/* Order the candidates by key, those of one key as they are. */
static int order_candidates (struct packer *p)
{
    size_t n = p->basis->n;
    size_t *start = calloc (KEYS + 1, sizeof (*start));

    free (p->order);
    free (p->key);
    p->order = calloc (n + 1, sizeof (*p->order));
    p->key = calloc (n + 1, sizeof (*p->key));
    if (!start || !p->order || !p->key) {
        free (start);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        p->key[i] = key_of (p, i);
        start[p->key[i] + 1]++;
    }
    for (size_t k = 0; k < KEYS; k++)
        start[k + 1] += start[k];
    for (size_t i = 0; i < n; i++)
        p->order[start[p->key[i]]++] = i;
    free (start);
    return 0;
}

static int add_row (struct rref *rref, const struct basis *b, uint32_t i)
{
    size_t at = b->first[i];

    return rref_add (rref, b->col + at, b->count + at, b->first[i + 1] - at);
}

static bool spans (struct rref *rref, const struct basis *b, uint32_t i)
{
    size_t at = b->first[i];

    return rref_spans (rref, b->col + at, b->count + at,
                       b->first[i + 1] - at);
}

static void clear_layers (struct packer *p)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        free (p->layer[i].basis);
        free (p->layer[i].live);
        rref_destroy (p->layer[i].rref);
    }
    memset (p->layer, 0, sizeof (p->layer));
    p->nlayers = 0;
}

/* A layer of the candidates order[first .. end-1], if they add to the rank. */
static int add_layer (struct packer *p, struct rref *rref, size_t first,
                      size_t end)
{
    struct layer *l = &p->layer[p->nlayers];
    uint32_t *picked = malloc ((end - first + 1) * sizeof (*picked));
    size_t n = 0;

    if (!picked)
        return -1;
    for (size_t i = first; i < end && rref_rank (rref) < p->basis->m; i++) {
        int rc = add_row (rref, p->basis, p->order[i]);

        if (rc < 0) {
            free (picked);
            return -1;
        }
        if (rc > 0)
            picked[n++] = p->order[i];
    }
    if (n == 0) {
        free (picked);
        return 0;
    }
    *l = (struct layer){ .first = first, .end = end, .need = n };
    l->hot = is_hot (p, p->order[first]);
    l->basis = picked;
    p->nlayers++;
    l->live = malloc ((end - first) * sizeof (*l->live));
    return l->live ? 0 : -1;
}

/* Find the layers. Returns the form of a basis, NULL with errno ENOMEM. */
static struct rref *find_layers (struct packer *p)
{
    struct rref *rref = rref_create (p->basis->m);
    size_t n = p->basis->n;
    size_t first = 0;

    clear_layers (p);
    if (!rref || order_candidates (p) < 0) {
        rref_destroy (rref);
        errno = ENOMEM;
        return NULL;
    }
    for (size_t i = 1; i <= n; i++) {
        if (i < n && (p->key[p->order[i]] == p->key[p->order[i - 1]]
                      || p->nlayers == LAYERS_MAX - 1))
            continue;
        if (add_layer (p, rref, first, i) < 0 || rref_reduce (rref) < 0) {
            rref_destroy (rref);
            return NULL;
        }
        first = i;
    }
    p->rank = rref_rank (rref);
    return rref;
}

/* Add to the basis what spans more than `rref`: 1, 0 where nothing does, or
 * -1 with err.
 */
static int extend (struct packer *p, const struct rref *rref,
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

/* Layers of a basis that spans all pairs, which is extended to do so. */
static int span_all (struct packer *p, struct error *err)
{
    int more;

    do {
        struct rref *rref = find_layers (p);

        if (!rref)
            return error_nomem (err);
        more = extend (p, rref, err);
        rref_destroy (rref);
    } while (more > 0);
    return more;
}

/* Who is hot, if not all are, and how many rounds that takes, if more than
 * *target.
 */
static int find_heat (struct packer *p, size_t *target)
{
    size_t n = p->basis->nports;
    double *demand = calloc (n + 1, sizeof (*demand));
    double most = *target;
    size_t cold = 0;

    if (!demand || demand_find (p->basis, demand) < 0) {
        free (demand);
        return -1;
    }
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
    return 0;
}

/* Order the layers of a job by heat. */
static int heat_layers (struct packer *p, size_t *target)
{
    struct rref *rref;

    if (find_heat (p, target) < 0 || !(rref = find_layers (p)))
        return -1;
    rref_destroy (rref);
    return 0;
}

static int add_basis (struct rref *rref, const struct packer *p,
                      const struct layer *l)
{
    for (size_t i = 0; i < l->need; i++)
        if (add_row (rref, p->basis, l->basis[i]) < 0)
            return -1;
    return 0;
}

/* Nothing is placed: every layer spans those below. */
static int reset_layers (struct packer *p)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        struct layer *l = &p->layer[i];

        rref_destroy (l->rref);
        if (!(l->rref = rref_create (p->basis->m)))
            return -1;
        for (size_t k = 0; k < i; k++)
            if (add_basis (l->rref, p, &p->layer[k]) < 0)
                return -1;
        if (rref_reduce (l->rref) < 0)
            return -1;
        l->nlive = l->end - l->first;
        for (size_t k = 0; k < l->nlive; k++)
            l->live[k] = p->order[l->first + k];
        rng_shuffle (p->rng, l->live, l->nlive);
        l->placed = 0;
    }
    return 0;
}

/*
 * Rounds
 */

static void place (struct packer *p, uint32_t pair, size_t round)
{
    p->degree[p->basis->port[pair].a]++;
    p->degree[p->basis->port[pair].b]++;
    chain_place (p->chain, pair, round);
}

/* Is an end of a long row in all rounds but one, which is for a short row? */
static bool is_full (const struct packer *p, uint32_t pair)
{
    const struct probe *ends = &p->basis->port[pair];

    return p->degree[ends->a] >= p->full || p->degree[ends->b] >= p->full;
}

/* Put as many of a layer's candidates into a round as fit. */
static int fill (struct packer *p, size_t i, size_t round)
{
    struct layer *l = &p->layer[i];
    size_t keep = 0;

    for (size_t k = 0; k < l->nlive; k++) {
        uint32_t pair = l->live[k];
        int rc = 1;

        if (l->placed == l->need
            || (i > 0 && !l->hot && is_full (p, pair))
            || !chain_fits (p->chain, pair, round)) {
            l->live[keep++] = pair;
            continue;
        }
        if ((rc = add_row (l->rref, p->basis, pair)) < 0)
            return -1;
        if (rc > 0) {
            place (p, pair, round);
            l->placed++;
        }
    }
    l->nlive = keep;
    return 0;
}

/* All layers but the first: the hottest, then the others, each round in another
 * order.
 */
static int fill_long (struct packer *p, size_t round)
{
    size_t n = p->nlayers - 1;

    for (; n > 0 && p->layer[n].hot; n--)
        if (fill (p, n, round) < 0)
            return -1;
    for (size_t i = 0; i < n; i++)
        if (fill (p, n - (i + round) % n, round) < 0)
            return -1;
    return 0;
}

/* One more round, the long rows first. */
static int fill_round (struct packer *p)
{
    size_t round = p->rounds.count;

    if (chain_open (p->chain) < 0)
        return -1;
    if (p->nlayers > 1 && fill_long (p, round) < 0)
        return -1;
    return p->nlayers > 0 ? fill (p, 0, round) : 0;
}

/* What a layer lacks, by way of chains. */
static int insert (struct packer *p, struct layer *l)
{
    for (size_t i = 0; i < l->nlive && l->placed < l->need; i++) {
        uint32_t pair = l->live[i];

        p->work += p->basis->first[pair + 1] - p->basis->first[pair];
        if (spans (l->rref, p->basis, pair) || !chain_put (p->chain, pair))
            continue;
        if (add_row (l->rref, p->basis, pair) < 0)
            return -1;
        l->placed++;
    }
    return 0;
}

/*
 * What the layers' own candidates could not do
 */

static int compare_pair (const void *a, const void *b)
{
    const struct rounds_slot *x = a;
    const struct rounds_slot *y = b;

    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* The form of all that is placed, added in class order. */
static struct rref *placed_form (struct packer *p)
{
    struct rref *rref = rref_create (p->basis->m);
    size_t n = p->rounds.n;
    struct rounds_slot *slot = malloc ((n + 1) * sizeof (*slot));

    if (!rref || !slot)
        goto error;
    memcpy (slot, p->rounds.slot, n * sizeof (*slot));
    qsort (slot, n, sizeof (*slot), compare_pair);
    for (size_t i = 0; i < n; i++)
        if (add_row (rref, p->basis, slot[i].pair) < 0)
            goto error;
    if (rref_reduce (rref) < 0)
        goto error;
    free (slot);
    return rref;
error:
    free (slot);
    rref_destroy (rref);
    return NULL;
}

/* Append pairs that add to the form, of which there are some. */
static int append_missing (struct packer *p, const struct rref *rref,
                           struct error *err)
{
    uint64_t *z = calloc (p->basis->m + 1, sizeof (*z));
    size_t max = MISSING_EACH * (p->rank - p->rounds.n) + MISSING_MORE
                 + pathset_size (p->ps);
    struct probe *pair = NULL;
    size_t n;
    int rc = -1;

    if (!z) {
        error_nomem (err);
        goto error;
    }
    rref_null (rref, p->rng, z);
    if (!(pair = span_missing (p->ps, z, p->rng, max, &n, err)))
        goto error;
    rc = basis_append (p->basis, p->ps, pair, n, err);
error:
    free (pair);
    free (z);
    return rc;
}

/* Offer the rounds there are any pair that adds to the rank; open another
 * where few can be put in. Returns 1 where there would be more than `most`
 * rounds, or too much work.
 */
static int complete (struct packer *p, size_t most, uint64_t limit,
                     struct error *err)
{
    struct rref *rref = placed_form (p);
    int rc = 0;

    if (!rref)
        return error_nomem (err);
    p->work += rref_work (rref);
    for (int stalled = 0; rc == 0 && p->rounds.n < p->rank;) {
        size_t before = p->rounds.n;
        size_t first = p->basis->n;
        uint64_t work = rref_work (rref);

        p->work += LOOK * pathset_size (p->ps);
        rc = append_missing (p, rref, err);
        for (size_t i = first;
             rc == 0 && i < p->basis->n && p->rounds.n < p->rank; i++)
            if (!spans (rref, p->basis, i) && chain_put (p->chain, i)
                && add_row (rref, p->basis, i) < 0)
                rc = error_nomem (err);
        p->work += rref_work (rref) - work;
        if (rc < 0 || p->rounds.n == p->rank)
            continue;
        if ((p->rounds.n - before) * GAIN > p->rank - before)
            stalled = 0;
        else if (p->rounds.count < most) {
            if (chain_open (p->chain) < 0)
                rc = error_nomem (err);
        }
        else if (++stalled == PATIENCE || work_done (p) > limit)
            rc = 1;
    }
    rref_destroy (rref);
    return rc;
}

/* The round with the fewest rows. */
static size_t smallest (const struct packer *p)
{
    size_t least = 0;

    for (size_t r = 1; r < p->rounds.count; r++)
        if (chain_size (p->chain, r) < chain_size (p->chain, least))
            least = r;
    return least;
}

/* Dissolve a round; the last one takes its number. */
static void dissolve (struct packer *p, size_t round)
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

/* Take out SHAKE times as many rows as are lacking. */
static void shake (struct packer *p)
{
    size_t most = SHAKE * (p->rank - p->rounds.n);

    for (size_t k = 0; k < most && p->rounds.n > 0; k++) {
        size_t i = rng_below (p->rng, p->rounds.n);

        p->rounds.slot[i] = p->rounds.slot[--p->rounds.n];
    }
    chain_reset (p->chain);
}

/* Chains may leave nothing in a round. */
static void drop_empty (struct packer *p)
{
    while (p->rounds.count > 0) {
        size_t least = smallest (p);

        if (chain_size (p->chain, least) > 0)
            break;
        dissolve (p, least);
    }
}

static int copy_rounds (struct rounds *to, const struct rounds *from)
{
    struct rounds_slot *slot = malloc ((from->n + 1) * sizeof (*slot));

    if (!slot)
        return -1;
    memcpy (slot, from->slot, from->n * sizeof (*slot));
    free (to->slot);
    *to = *from;
    to->slot = slot;
    to->size = from->n;
    return 0;
}

/* Try with a round fewer: complete what is left of the packing, and again
 * after some of it was taken out, as long as the effort lasts. Returns 1 in
 * vain.
 */
static int improve (struct packer *p, uint64_t limit, struct error *err)
{
    struct rounds before = { 0 };
    int rc;

    dissolve (p, smallest (p));
    while ((rc = complete (p, p->rounds.count, limit, err)) == 1
           && work_done (p) < limit
           && (p->rank - p->rounds.n) * HOPE < p->rank) {
        if (p->rounds.n >= before.n && copy_rounds (&before, &p->rounds) < 0)
            rc = error_nomem (err);
        else if (p->rounds.n < before.n) {
            memcpy (p->rounds.slot, before.slot,
                    before.n * sizeof (*before.slot));
            p->rounds.n = before.n;
        }
        if (rc < 0)
            break;
        shake (p);
    }
    rounds_clear (&before);
    return rc;
}

/*
 * Packing
 */

/* Pack what fits into `target` rounds. */
static int pack (struct packer *p, size_t target)
{
    p->rounds.n = p->rounds.count = 0;
    memset (p->degree, 0, p->basis->nports * sizeof (*p->degree));
    p->full = target - 1;
    if (reset_layers (p) < 0)
        return -1;
    while (p->rounds.count < target && p->rounds.n < p->rank)
        if (fill_round (p) < 0)
            return -1;
    for (size_t i = p->nlayers; i-- > 0;)
        if (insert (p, &p->layer[i]) < 0)
            return -1;
    return 0;
}

/* Is a packing of a job not worth completing? */
static bool is_poor (const struct packer *p)
{
    return p->job && (p->rank - p->rounds.n) * CHAINS > p->rank;
}

/* A packing for `target` rounds; where these do not do, for one more, from the
 * start, since what is opened late is not filled as well; then for as many as
 * it takes. *work is what the last of them took, 0 where so many were opened:
 * then to look for one fewer is not worth much.
 */
static int pack_first (struct packer *p, size_t target, uint64_t *work,
                       struct error *err)
{
    int tries = 0;
    int rc;

    do {
        *work = work_done (p);
        if (pack (p, target) < 0)
            return error_nomem (err);
        if ((rc = is_poor (p)))
            target++;
        else
            rc = complete (p, tries++ < RESTARTS ? target++ : SIZE_MAX,
                           UINT64_MAX, err);
        *work = tries > RESTARTS ? 0 : work_done (p) - *work;
    } while (rc > 0);
    return rc;
}

/* The best rounds so far; pairs that were appended to the basis for them are
 * numbered as if they alone were.
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

static int keep (struct best *best, const struct packer *p)
{
    size_t n = p->rounds.n;
    struct rounds_slot *slot = malloc ((n + 1) * sizeof (*slot));
    struct probe *more = malloc ((n + 1) * sizeof (*more));
    size_t nmore = 0;

    if (!slot || !more) {
        free (slot);
        free (more);
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        slot[i] = p->rounds.slot[i];
        if (slot[i].pair >= p->ncandidates) {
            more[nmore] = p->basis->pair[slot[i].pair];
            slot[i].pair = p->ncandidates + nmore++;
        }
    }
    best_clear (best);
    *best = (struct best){
        .rounds = {
            .slot = slot,
            .n = n,
            .size = n,
            .count = p->rounds.count,
            .maximal = true,
        },
        .more = more,
        .nmore = nmore,
    };
    return 0;
}

static int allocate (struct packer *p)
{
    p->degree = calloc (p->basis->nports + 1, sizeof (*p->degree));
    p->chain = chain_create (p->basis, &p->rounds, p->rank);
    return p->degree && p->chain ? 0 : -1;
}

static void packer_clear (struct packer *p)
{
    clear_layers (p);
    chain_destroy (p->chain);
    free (p->degree);
    free (p->heat);
    free (p->order);
    free (p->key);
    rounds_clear (&p->rounds);
}

static size_t lower_bound (const struct packer *p)
{
    size_t half = p->basis->nports / 2;

    return half ? (p->rank + half - 1) / half : 0;
}

int layers_pack (struct rounds *rounds, struct basis *basis,
                 struct pathset *ps, struct rng *rng, uint64_t effort,
                 size_t *rank, struct error *err)
{
    struct packer p = { .basis = basis, .ps = ps, .rng = rng };
    struct best best = { 0 };
    size_t bound, target;
    uint64_t again = 0;

    if (!(p.heat = calloc (pathset_size (ps) + 1, sizeof (*p.heat))))
        goto nomem;
    if (span_all (&p, err) < 0)
        goto error;
    *rank = p.rank;
    p.ncandidates = basis->n;
    if (allocate (&p) < 0)
        goto nomem;
    bound = target = lower_bound (&p);
    if (bound * (basis->nports / 2) - p.rank < p.rank / SLACK)
        target++;
    if (p.job && heat_layers (&p, &target) < 0)
        goto nomem;
    if (pack_first (&p, target, &again, err) < 0)
        goto error;
    drop_empty (&p);
    if (keep (&best, &p) < 0)
        goto nomem;
    if (again > 0)
        again = again > AGAIN ? again : AGAIN;
    again += work_done (&p);
    if (again < effort)
        again = effort;
    while (best.rounds.count > bound
           && work_done (&p)
               < (best.rounds.count > bound + 1 ? again : effort)) {
        int rc = improve (&p, again, err);

        if (rc < 0)
            goto error;
        if (rc > 0)
            break;
        drop_empty (&p);
        if (keep (&best, &p) < 0)
            goto nomem;
    }
    basis->n = p.ncandidates;
    if (basis_append (basis, ps, best.more, best.nmore, err) < 0)
        goto error;
    *rounds = best.rounds;
    rounds->work = work_done (&p);
    free (best.more);
    packer_clear (&p);
    return 0;
nomem:
    error_nomem (err);
error:
    packer_clear (&p);
    best_clear (&best);
    return -1;
}
