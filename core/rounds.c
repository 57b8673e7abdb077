/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared.
 *
 * First some greedy runs, each over a random order within the classes; then
 * the best of them is improved: dissolve a round, offer the gaps in the
 * others to all candidates that a random null vector tells from the span,
 * and open new rounds only for what is still missing. What has no more rounds
 * than before is kept, also where nothing is gained, so that the search moves
 * on.
 */
#include "config.h"
#include "core/rounds.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORK_MAX = 30 * 1000 * 1000, /* entries and candidates looked at */
    GREEDY_MAX = 10,             /* greedy runs */
    IMPROVE_MAX = 200,           /* rounds dissolved */
};

struct packer {
    const struct basis *basis;
    struct rref *rref;
    struct rounds rounds;
    uint8_t **busy;   /* [rounds.count][m + nendpoints] */
    size_t nbusy;     /* of them allocated */
    uint64_t work;
};

static struct packer *packer_create (const struct basis *basis)
{
    struct packer *p = calloc (1, sizeof (*p));

    if (!p)
        return NULL;
    p->basis = basis;
    if (!(p->rref = rref_create (basis->m))) {
        free (p);
        return NULL;
    }
    return p;
}

static void packer_destroy (struct packer *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->nbusy; i++)
        free (p->busy[i]);
    free (p->busy);
    rounds_clear (&p->rounds);
    rref_destroy (p->rref);
    free (p);
}

static uint64_t packer_work (const struct packer *p)
{
    return p->work + rref_work (p->rref);
}

static int open_round (struct packer *p)
{
    size_t size = p->basis->m + p->basis->nendpoints;
    uint8_t **busy = realloc (p->busy, (p->nbusy + 1) * sizeof (*busy));

    if (!busy)
        return -1;
    p->busy = busy;
    if (!(p->busy[p->nbusy] = calloc (size + 1, 1)))
        return -1;
    p->nbusy++;
    p->rounds.count++;
    return 0;
}

static bool fits (const struct basis *b, const uint8_t *busy, uint32_t pair)
{
    if (busy[b->m + b->pair[pair].a] || busy[b->m + b->pair[pair].b])
        return false;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        if (busy[b->col[k]])
            return false;
    return true;
}

static int add_slot (struct rounds *r, uint32_t pair, uint32_t round)
{
    if (r->n == r->size) {
        size_t size = r->size ? 2 * r->size : 64;
        struct rounds_slot *slot = realloc (r->slot, size * sizeof (*slot));

        if (!slot)
            return -1;
        r->slot = slot;
        r->size = size;
    }
    r->slot[r->n++] = (struct rounds_slot){ pair, round };
    return 0;
}

static int place (struct packer *p, uint32_t pair, uint32_t round)
{
    const struct basis *b = p->basis;
    uint8_t *busy = p->busy[round];

    busy[b->m + b->pair[pair].a] = 1;
    busy[b->m + b->pair[pair].b] = 1;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        busy[b->col[k]] = 1;
    return add_slot (&p->rounds, pair, round);
}

static int add_row (struct packer *p, uint32_t pair)
{
    const struct basis *b = p->basis;
    size_t at = b->first[pair];

    return rref_add (p->rref, b->col + at, b->count + at,
                     b->first[pair + 1] - at);
}

/* Open round after round until the candidates live[0 .. n-1] have no more to
 * add, the rank is `target`, or there would be more than `limit` rounds. live
 * is used up.
 */
static int greedy (struct packer *p, uint32_t *live, size_t n, size_t target,
                   size_t limit)
{
    while (n > 0 && rref_rank (p->rref) < target && p->rounds.count < limit) {
        size_t before = p->rounds.n;
        size_t keep = 0;
        uint8_t *busy;

        if (open_round (p) < 0)
            return -1;
        busy = p->busy[p->rounds.count - 1];
        for (size_t i = 0; i < n && rref_rank (p->rref) < target; i++) {
            int rc = 0;

            if (!fits (p->basis, busy, live[i]))
                live[keep++] = live[i];
            else if ((rc = add_row (p, live[i])) < 0
                     || (rc > 0
                         && place (p, live[i], p->rounds.count - 1) < 0))
                return -1;
        }
        if (p->rounds.n == before)
            p->rounds.count--; /* no candidate had anything to add */
        p->work += n;
        n = keep;
    }
    return 0;
}

/* Fill the gaps of the rounds there are. Leaves in live, and returns as *n,
 * the candidates that may still add something.
 */
static int fill (struct packer *p, uint32_t *live, size_t *n, size_t target,
                 struct rng *rng)
{
    const struct basis *b = p->basis;
    uint64_t *z = malloc ((b->m + 1) * sizeof (*z));
    size_t keep = 0;
    int rc = -1;

    if (!z)
        return -1;
    rref_null (p->rref, rng, z);
    for (size_t i = 0; i < *n && rref_rank (p->rref) < target; i++) {
        size_t at = b->first[live[i]];
        size_t len = b->first[live[i] + 1] - at;
        size_t r = 0;

        p->work += len;
        if (rref_dot (b->col + at, b->count + at, len, z) == 0)
            continue;
        while (r < p->rounds.count && !fits (b, p->busy[r], live[i]))
            r++;
        p->work += r;
        if (r == p->rounds.count) {
            live[keep++] = live[i];
            continue;
        }
        if ((rc = add_row (p, live[i])) < 0
            || (rc > 0 && place (p, live[i], r) < 0)) {
            free (z);
            return -1;
        }
    }
    free (z);
    *n = keep;
    return 0;
}

/* A random order that keeps to the classes. */
static void shuffle_classes (const struct basis *b, uint32_t *order,
                             struct rng *rng)
{
    size_t from = 0;

    for (size_t i = 0; i < b->n; i++)
        order[i] = i;
    for (size_t i = 1; i <= b->n; i++)
        if (i == b->n || b->class_id[i] != b->class_id[from]) {
            rng_shuffle (rng, order + from, i - from);
            from = i;
        }
}

static int compare_pair (const void *a, const void *b)
{
    const struct rounds_slot *x = a;
    const struct rounds_slot *y = b;

    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* A copy of the packing without the round `victim`. */
static struct packer *dissolve (const struct packer *old, size_t victim)
{
    struct packer *p = packer_create (old->basis);
    size_t last = old->rounds.count - 1;

    if (!p)
        return NULL;
    while (p->rounds.count < last)
        if (open_round (p) < 0)
            goto error;
    for (size_t i = 0; i < old->rounds.n; i++) {
        struct rounds_slot s = old->rounds.slot[i];

        if (s.round == victim)
            continue;
        if (s.round == last)
            s.round = victim;
        if (place (p, s.pair, s.round) < 0)
            goto error;
    }
    qsort (p->rounds.slot, p->rounds.n, sizeof (*p->rounds.slot),
           compare_pair);
    for (size_t i = 0; i < p->rounds.n; i++)
        if (add_row (p, p->rounds.slot[i].pair) < 0)
            goto error;
    return p;
error:
    packer_destroy (p);
    return NULL;
}

static size_t lower_bound (const struct basis *b, size_t rank)
{
    size_t half = b->nendpoints / 2;

    return half ? (rank + half - 1) / half : 0;
}

/* The best of some greedy runs. */
static struct packer *start (const struct basis *basis, uint32_t *order,
                             struct rng *rng, uint64_t *work)
{
    struct packer *best = NULL;

    for (int i = 0; i < GREEDY_MAX && *work < WORK_MAX; i++) {
        struct packer *p = packer_create (basis);
        size_t target = best ? rref_rank (best->rref) : SIZE_MAX;
        size_t limit = best ? best->rounds.count - 1 : SIZE_MAX;

        shuffle_classes (basis, order, rng);
        if (!p || greedy (p, order, basis->n, target, limit) < 0) {
            packer_destroy (p);
            packer_destroy (best);
            return NULL;
        }
        *work += packer_work (p);
        if (best && rref_rank (p->rref) < target) {
            packer_destroy (p);
            continue;
        }
        packer_destroy (best);
        best = p;
        if (p->rounds.count <= lower_bound (basis, rref_rank (p->rref)))
            break;
    }
    return best;
}

int rounds_pack (struct rounds *rounds, const struct basis *basis,
                 struct rng *rng, struct rref **rref)
{
    uint32_t *order = malloc ((basis->n + 1) * sizeof (*order));
    struct packer *best = NULL;
    uint64_t work = 0;
    size_t rank;
    size_t bound;

    *rounds = (struct rounds){ 0 };
    if (!order || !(best = start (basis, order, rng, &work)))
        goto nomem;
    rank = rref_rank (best->rref);
    bound = lower_bound (basis, rank);
    for (int i = 0; i < IMPROVE_MAX && work < WORK_MAX; i++) {
        size_t count = best->rounds.count;
        size_t n = basis->n;
        struct packer *p;

        if (count <= bound)
            break;
        p = dissolve (best, i == 0 ? count - 1 : rng_below (rng, count));
        shuffle_classes (basis, order, rng);
        if (!p || fill (p, order, &n, rank, rng) < 0
            || greedy (p, order, n, rank, count) < 0) {
            packer_destroy (p);
            goto nomem;
        }
        work += packer_work (p);
        if (rref_rank (p->rref) == rank) {
            packer_destroy (best);
            best = p;
        }
        else
            packer_destroy (p);
    }
    *rounds = best->rounds;
    best->rounds = (struct rounds){ 0 };
    if (rref) {
        *rref = best->rref;
        best->rref = NULL;
    }
    packer_destroy (best);
    free (order);
    return 0;
nomem:
    packer_destroy (best);
    free (order);
    errno = ENOMEM;
    return -1;
}

void rounds_clear (struct rounds *rounds)
{
    free (rounds->slot);
    *rounds = (struct rounds){ 0 };
}
