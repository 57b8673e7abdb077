/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rounds in which no link is shared.
 *
 * The rounds in which each link and port is busy are stored as bits, so all
 * rounds that have room for a row are found at once.
 *
 * Ports whose demand is close to the number of rounds are *hot*. Rows with a
 * hot end are chosen first, while everything is idle, but only rows outside the
 * span of all rows without one. Their number is then the least possible, and
 * rows without a hot end are chosen later independently of them.
 *
 * A packing places what fits into `limit` rounds; then chains make room for
 * missing rows, or a round is opened. Ports fill up evenly, since the limit of
 * probes per port rises in steps. Otherwise the last rows would have one end
 * idle only while the other is busy. Several limits and orders are tried.
 *
 * From the best packing, one round after the other is dissolved: chains
 * (plan/chain) make room for the rows that are then missing. If they do not
 * succeed, missing rows replace others, which changes what is missing, and so
 * on, always from the packing with the fewest missing rows so far. Rows that
 * have become dependent are dropped.
 *
 * A row for which z shows that it adds to the rank is added without a test. A
 * null vector is drawn again when it was wrong too often, since it does not
 * include rows that were added after it (except those that rref_add_null
 * includes).
 *
 * Finding the rank takes an elimination in addition to that of a packing. If it
 * causes fill-in, it stops early: the packing then assumes a rank equal to the
 * number of links, and is complete when no candidate adds to it.
 */
#include "config.h"
#include "core/plan/rounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/chain.h"
#include "core/plan/demand.h"
#include "util/alloc.h"

enum {
    STALE_MAX = 50,  /* rows that a null vector may misjudge */
    STEPS = 4,       /* in which the limit per port rises */
    ONE_IN = 4,      /* replacements may cost two rows */
    MISSING_EACH = 4, /* candidates tried for each missing row */
    MISSING_MORE = 100,
    GAIN = 16,       /* another round if fewer than 1/16 find room */
    NULL_COST = 4,   /* entries of a null vector per entry of a row */
    LITTLE = 4,      /* 1/4 of the effort if the rank is not found */
    DEMAND_COST = 3, /* per entry of the basis */
    MUCH = 500,      /* work for a row in a good order; in other orders some
                        times as much */
    TOO_MUCH = 1800, /* per link, to find the rank before a packing */
};

static const double first_step = .8; /* of the limit */

/* Parameters of a packing: the limit relative to the bound, and the share of it
 * that a hot port is busy.
 */
static const struct recipe {
    double above, hot;
} recipes[] = {
    { 1.12, .6 }, { 1.05, .75 }, { 1.02, .75 }, { 1.08, .75 },
    { 1.18, .6 }, { 1.05, .6 }, { 1.4, .6 }, { 1.25, .75 },
};

enum { RECIPES = sizeof (recipes) / sizeof (recipes[0]) };

struct round_packer {
    const struct basis *basis;
    struct rng *rng;
    struct rref *rref;    /* of the rows placed */
    uint64_t most;        /* work of an elimination, at most */
    uint64_t nulls;       /* the part of it for null vectors */
    struct rounds rounds;
    size_t words;         /* of 64 rounds each */
    uint64_t *idle;       /* [m + nports][words] */
    uint32_t *load;       /* [nports] probes */
    uint64_t *z;          /* [m] a null vector of rref */
    unsigned int stale;
    uint64_t work;
};

static void packer_destroy (struct round_packer *p)
{
    if (!p)
        return;
    rounds_clear (&p->rounds);
    rref_destroy (p->rref);
    free (p->idle);
    free (p->load);
    free (p->z);
    free (p);
}

static struct round_packer *packer_create (const struct basis *b, size_t limit,
                                           uint64_t most, struct rng *rng)
{
    struct round_packer *p = xcalloc (1, sizeof (*p));
    size_t n;

    p->basis = b;
    p->rng = rng;
    p->most = most;
    p->words = limit / 64 + 1;
    n = (b->m + b->nports) * p->words;
    p->rref = rref_create (b->m);
    p->idle = xarray (n, sizeof (*p->idle));
    p->load = xcalloc (b->nports, sizeof (*p->load));
    p->z = xcalloc (b->m, sizeof (*p->z));
    memset (p->idle, 0xff, n * sizeof (*p->idle));
    p->work = b->m;
    return p;
}

static uint64_t packer_work (const struct round_packer *p)
{
    return p->work + rref_work (p->rref);
}

/* The first round that has room for a pair; a value of at least `limit` if
 * there is none below it.
 */
static size_t find_room (struct round_packer *p, uint32_t pair, size_t limit)
{
    const struct basis *b = p->basis;
    const uint64_t *x = p->idle + (b->m + b->port[pair].a) * p->words;
    const uint64_t *y = p->idle + (b->m + b->port[pair].b) * p->words;

    for (size_t w = 0; w < p->words && 64 * w < limit; w++) {
        uint64_t room = x[w] & y[w];

        for (size_t k = b->first[pair]; room && k < b->first[pair + 1]; k++)
            room &= p->idle[b->col[k] * p->words + w];
        if (room)
            return 64 * w + __builtin_ctzll (room);
    }
    return SIZE_MAX;
}

static void add_slot (struct rounds *r, uint32_t pair, uint32_t round)
{
    if (r->n == r->size) {
        r->size = 2 * r->size + 64;
        r->slot = xrealloc (r->slot, r->size, sizeof (*r->slot));
    }
    r->slot[r->n++] = (struct rounds_slot){ pair, round };
}

static void place (struct round_packer *p, uint32_t pair, size_t round)
{
    const struct basis *b = p->basis;
    uint64_t mask = ~(UINT64_C (1) << (round % 64));
    uint64_t *idle = p->idle + round / 64;

    idle[(b->m + b->port[pair].a) * p->words] &= mask;
    idle[(b->m + b->port[pair].b) * p->words] &= mask;
    for (size_t k = b->first[pair]; k < b->first[pair + 1]; k++)
        idle[b->col[k] * p->words] &= mask;
    p->load[b->port[pair].a]++;
    p->load[b->port[pair].b]++;
    if (round >= p->rounds.count)
        p->rounds.count = round + 1;
    add_slot (&p->rounds, pair, round);
}

static void draw_null (struct round_packer *p, const struct rref *rref)
{
    rref_null (rref, p->rng, p->z);
    p->stale = 0;
    p->nulls += rref_entries (rref) / NULL_COST;
    p->work += p->basis->m + rref_entries (rref) / NULL_COST;
}

/* Has the form used up its work? */
static bool spent (const struct round_packer *p, const struct rref *rref)
{
    return rref_work (rref) + p->nulls >= p->most;
}

static bool adds (struct round_packer *p, uint32_t pair)
{
    p->work += (p->basis->first[pair + 1] - p->basis->first[pair]) / 3;
    return basis_dot (p->basis, pair, p->z) != 0;
}

/* Add a candidate to the form if it is independent. False if it is not, or if
 * that would take too much work.
 */
static bool choose (struct round_packer *p, struct rref *rref, uint32_t pair)
{
    if (spent (p, rref))
        return basis_add_fresh (p->basis, pair, rref);
    if (!adds (p, pair))
        return false;
    if (basis_add_null (p->basis, pair, rref, p->z))
        return true;
    if (++p->stale == STALE_MAX)
        draw_null (p, rref);
    return false;
}

/* Try to place the candidates live[0 .. n-1], one after the other, in the
 * rounds below limit; they must add to the span of rref. Those that did not fit
 * remain in live, and their number in *n.
 */
static void offer (struct round_packer *p, struct rref *rref, uint32_t *live,
                   size_t *n, size_t limit, size_t load_max)
{
    const struct basis *b = p->basis;
    size_t keep = 0;

    if (!spent (p, rref))
        draw_null (p, rref);
    for (size_t i = 0; i < *n; i++) {
        const struct probe *port = &b->port[live[i]];
        size_t round = SIZE_MAX;

        p->work += 2;
        if (p->load[port->a] < load_max && p->load[port->b] < load_max)
            round = find_room (p, live[i], limit);
        if (round >= limit)
            live[keep++] = live[i];
        else if (choose (p, rref, live[i]))
            place (p, live[i], round);
    }
    *n = keep;
}

static void offer_evenly (struct round_packer *p, struct rref *rref,
                          uint32_t *live, size_t *n, size_t limit)
{
    for (int i = 0; i <= STEPS; i++) {
        double part = first_step + (1 - first_step) * i / STEPS;

        offer (p, rref, live, n, limit, (size_t)ceil (part * limit));
    }
}

/* Keep those of live[0 .. n-1] that the null vector shows to be outside the
 * span.
 */
static void filter (struct round_packer *p, uint32_t *live, size_t *n)
{
    size_t keep = 0;

    draw_null (p, p->rref);
    for (size_t i = 0; i < *n; i++)
        if (adds (p, live[i]))
            live[keep++] = live[i];
    *n = keep;
}

/* A random order within each class. */
static void shuffle_classes (struct round_packer *p, uint32_t *live, size_t n)
{
    const uint16_t *class_id = p->basis->class_id;
    size_t from = 0;

    for (size_t i = 1; i <= n; i++)
        if (i == n || class_id[live[i]] != class_id[live[from]]) {
            rng_shuffle (p->rng, live + from, i - from);
            from = i;
        }
    p->work += n;
}

/* Find room for a pair: by chains, until they have taken too much work. */
static bool put (const struct round_packer *p, struct chain *c, uint32_t pair,
                 uint64_t end)
{
    if (packer_work (p) + chain_work (c) < end)
        return chain_put (c, pair);
    for (size_t round = 0; round < p->rounds.count; round++)
        if (chain_fits (c, pair, round)) {
            chain_place (c, pair, round);
            return true;
        }
    return false;
}

/* Place candidates that add to the rank. */
static void put_in (struct round_packer *p, struct chain *c,
                    const uint32_t *live, size_t n, size_t rank, uint64_t end)
{
    for (size_t i = 0; i < n && p->rounds.n < rank && !spent (p, p->rref); i++)
        if (!basis_spans (p->basis, live[i], p->rref)
            && put (p, c, live[i], end))
            basis_add (p->basis, live[i], p->rref);
}

/* Place the missing rows: by chains in the existing rounds, without chains when
 * the work reaches `end`, and in another round if few can be placed. False if
 * that would be more than `most` rounds, or too much work. The rank may be too
 * high: it is lowered if no candidate adds to it.
 */
static bool complete (struct round_packer *p, uint32_t *live, size_t *rank,
                      size_t most, uint64_t end)
{
    struct chain *c = chain_create (p->basis, &p->rounds, *rank);
    bool good = true;

    while (good && p->rounds.n < *rank) {
        size_t lack = *rank - p->rounds.n;
        size_t n = p->basis->n;

        for (size_t i = 0; i < n; i++)
            live[i] = i;
        filter (p, live, &n);
        if (n == 0) {
            *rank = p->rounds.n;
            break;
        }
        rng_shuffle (p->rng, live, n);
        if (n > MISSING_EACH * lack + MISSING_MORE)
            n = MISSING_EACH * lack + MISSING_MORE;
        put_in (p, c, live, n, *rank, end);
        if ((lack - (*rank - p->rounds.n)) * GAIN > lack)
            continue;
        good = !spent (p, p->rref) && p->rounds.count < most;
        if (good)
            chain_open (c);
    }
    p->work += chain_work (c);
    chain_destroy (c);
    return good;
}

/* Place rows that have a column which no row has yet, by chains or in another
 * round.
 */
static void cover (struct round_packer *p)
{
    const struct basis *b = p->basis;
    struct chain *c = chain_create (b, &p->rounds, b->m);

    for (size_t i = 0; i < b->n; i++)
        if (basis_add_fresh (b, i, p->rref))
            while (!chain_put (c, i))
                chain_open (c);
    p->work += chain_work (c);
    chain_destroy (c);
}

/* What all packings of a basis have in common. */
struct packing_job {
    const struct basis *basis;
    struct rng *rng;
    double *demand;   /* [nports] */
    double bound;     /* of rounds, from below */
    size_t rank;      /* of all candidates, or an upper limit */
    bool known;       /* the rank is exact */
    bool exact;       /* the rank can be found */
    bool ordered;     /* use the order of the basis only */
    uint64_t most;    /* work, after which nothing is eliminated */
    uint8_t *hot;     /* [nports] */
    uint32_t *live;   /* [n] candidates */
    size_t most_rounds; /* upper limit that is useful */
    uint64_t work;
    uint64_t end;     /* of work, for chains of a packing */
};

/* List the candidates with so many hot ends, in the order of the basis, which
 * is by class and then by neighbourhood. Return their number.
 */
static size_t select_ends (const struct packing_job *job, unsigned int ends,
                           uint32_t *live)
{
    const struct basis *b = job->basis;
    size_t n = 0;

    for (size_t i = 0; i < b->n; i++)
        if (job->hot[b->port[i].a] + job->hot[b->port[i].b] == (int)ends)
            live[n++] = i;
    return n;
}

static size_t find_hot (struct packing_job *job, double least)
{
    size_t n = 0;

    for (size_t i = 0; i < job->basis->nports; i++) {
        job->hot[i] = job->demand[i] >= least;
        n += job->hot[i];
    }
    return n < job->basis->nports ? n : 0;
}

/* The span of all candidates live[0 .. n-1], or a part of it if the work is
 * used up.
 */
static struct rref *span_all (struct round_packer *p, const uint32_t *live,
                              size_t n)
{
    struct rref *rref = rref_create (p->basis->m);

    draw_null (p, rref);
    for (size_t i = 0; i < n; i++)
        choose (p, rref, live[i]);
    return rref;
}

/* False if it is too much work to find the necessary rows. */
static bool place_hot (struct round_packer *p, struct packing_job *job,
                       size_t limit)
{
    size_t n = select_ends (job, 0, job->live);
    struct rref *rref = span_all (p, job->live, n);
    bool good = !spent (p, rref);

    for (unsigned int ends = 1; ends <= 2 && good; ends++) {
        n = select_ends (job, ends, job->live);
        shuffle_classes (p, job->live, n);
        offer_evenly (p, rref, job->live, &n, limit);
    }
    p->work += rref_work (rref);
    rref_destroy (rref);
    return good;
}

static double hosts_bound (const struct basis *b, size_t rank)
{
    size_t half = b->nports / 2;

    return half ? (double)((rank + half - 1) / half) : 0;
}

static void find_bound (struct packing_job *job, size_t rank)
{
    job->bound = hosts_bound (job->basis, rank);
    for (size_t i = 0; i < job->basis->nports; i++)
        job->bound = fmax (job->bound, ceil (job->demand[i] - 1e-9));
}

static uint64_t left (const struct packing_job *job)
{
    return job->most > job->work ? job->most - job->work : 0;
}

/* Elimination turned out to be too much work for this job. */
static void give_up (struct packing_job *job)
{
    job->exact = job->known = false;
    job->most = job->work + job->most / LITTLE;
}

/* Make a packing from the start; it is not maximal if it would take too many
 * rounds. If the rank is not known, it cannot be shown that no other rows
 * replace the row of a hot end.
 */
static struct round_packer *pack (struct packing_job *job,
                                  const struct recipe *recipe)
{
    size_t limit = (size_t)ceil (job->bound * recipe->above);
    struct round_packer *p
        = packer_create (job->basis, limit, left (job), job->rng);
    size_t hot = job->known ? find_hot (job, recipe->hot * limit) : 0;
    bool good = true;
    size_t n;

    if (hot == 0)
        memset (job->hot, 0, job->basis->nports);
    else
        good = place_hot (p, job, limit);
    hot = p->rounds.n;
    if (good) {
        n = select_ends (job, 0, job->live);
        if (!job->ordered)
            shuffle_classes (p, job->live, n);
        offer_evenly (p, p->rref, job->live, &n, limit);
        for (size_t i = 0; i < hot && !spent (p, p->rref); i++)
            basis_add (p->basis, p->rounds.slot[i].pair, p->rref);
        good = hot == 0 || !spent (p, p->rref);
    }
    if (!good) {
        job->work += packer_work (p);
        packer_destroy (p);
        give_up (job);
        return pack (job, recipe);
    }
    p->rounds.maximal = job->exact
        && complete (p, job->live, &job->rank, job->most_rounds,
                     job->end > job->work ? job->end - job->work : 0);
    if (p->rounds.maximal && !job->known) {
        job->known = true;
        find_bound (job, job->rank);
    }
    if (!p->rounds.maximal && job->most_rounds == SIZE_MAX)
        cover (p);
    job->work += packer_work (p);
    return p;
}

static int compare_pair (const void *a, const void *b)
{
    const struct rounds_slot *x = a;
    const struct rounds_slot *y = b;

    return (x->pair > y->pair) - (x->pair < y->pair);
}

/* Make a packing of the independent rows in `rounds`. */
static struct round_packer *repack (const struct round_packer *old,
                                    struct rounds *rounds)
{
    struct round_packer *p
        = packer_create (old->basis, rounds->count, old->most, old->rng);

    qsort (rounds->slot, rounds->n, sizeof (*rounds->slot), compare_pair);
    for (size_t i = 0; i < rounds->n && !spent (p, p->rref); i++) {
        const struct rounds_slot *s = &rounds->slot[i];

        if (basis_add (p->basis, s->pair, p->rref))
            place (p, s->pair, s->round);
    }
    p->rounds.count = rounds->count;
    return p;
}

static struct rounds copy_rounds (const struct rounds *from)
{
    struct rounds to = *from;

    to.size = from->n;
    to.slot = xarray (from->n, sizeof (*to.slot));
    if (from->n > 0)
        memcpy (to.slot, from->slot, from->n * sizeof (*to.slot));
    return to;
}

static size_t smallest_round (const size_t *size, size_t count)
{
    size_t least = count - 1;

    for (size_t r = 0; r + 1 < count; r++)
        if (size[r] < size[least])
            least = r;
    return least;
}

/* The same without its smallest round; the last one takes its number. */
static struct round_packer *dissolve (const struct round_packer *old)
{
    size_t last = old->rounds.count - 1;
    size_t *size = xcalloc (last + 1, sizeof (*size));
    struct rounds left = copy_rounds (&old->rounds);
    struct round_packer *p;
    size_t least;

    for (size_t i = 0; i < old->rounds.n; i++)
        size[old->rounds.slot[i].round]++;
    least = smallest_round (size, last + 1);
    left.n = 0;
    left.count = last;
    for (size_t i = 0; i < old->rounds.n; i++) {
        struct rounds_slot s = old->rounds.slot[i];

        if (s.round == least)
            continue;
        if (s.round == last)
            s.round = least;
        left.slot[left.n++] = s;
    }
    p = repack (old, &left);
    free (size);
    rounds_clear (&left);
    return p;
}

/* Replace other rows by missing ones: as many as are missing, sometimes two for
 * one.
 */
static void replace (struct packing_job *job, struct round_packer *old,
                     struct rounds *r)
{
    struct chain *c = chain_create (job->basis, r, job->rank);
    size_t most = job->rank - r->n;
    uint64_t before = packer_work (old);
    size_t n = job->basis->n;

    for (size_t i = 0; i < n; i++)
        job->live[i] = i;
    filter (old, job->live, &n);
    rng_shuffle (job->rng, job->live, n);
    for (size_t i = 0; i < n && most > 0; i++)
        most -= chain_replace (c, job->live[i],
                               rng_below (job->rng, r->count),
                               rng_below (job->rng, ONE_IN) ? 1 : 2);
    job->work += chain_work (c) + packer_work (old) - before;
    chain_destroy (c);
}

/* The same with some rows replaced. */
static struct round_packer *shake (struct packing_job *job,
                                   struct round_packer *old)
{
    struct rounds r = copy_rounds (&old->rounds);
    struct round_packer *p;

    replace (job, old, &r);
    p = repack (old, &r);
    rounds_clear (&r);
    return p;
}

/* Try with one round less: complete the remaining packing, and repeat after
 * replacing some of it, from the one with the fewest missing rows, as long as
 * the effort lasts. False: without success.
 */
static bool shorten (struct packing_job *job, struct round_packer **best,
                     uint64_t effort)
{
    struct round_packer *top = NULL; /* with the fewest missing rows */
    struct round_packer *p = dissolve (*best);
    bool good;

    job->work += packer_work (p);
    while (true) {
        uint64_t before = packer_work (p);

        good = complete (p, job->live, &job->rank, p->rounds.count,
                         UINT64_MAX);
        job->work += packer_work (p) - before;
        if (good || job->work >= effort || spent (p, p->rref))
            break;
        if (!top || p->rounds.n >= top->rounds.n) {
            packer_destroy (top);
            top = p;
        }
        else
            packer_destroy (p);
        p = shake (job, top);
        job->work += packer_work (p);
    }
    packer_destroy (top);
    p->rounds.maximal = good;
    packer_destroy (good ? *best : p);
    if (good)
        *best = p;
    return good;
}

/* Chains and replacements may leave a round empty. */
static void drop_empty (struct rounds *r)
{
    uint32_t *number = xcalloc (r->count + 1, sizeof (*number));
    uint32_t n = 0;

    for (size_t i = 0; i < r->n; i++)
        number[r->slot[i].round] = 1;
    for (size_t i = 0; i < r->count; i++)
        if (number[i])
            number[i] = n++;
    for (size_t i = 0; i < r->n; i++)
        r->slot[i].round = number[r->slot[i].round];
    r->count = n;
    free (number);
}

/* Keep the better of two packings: maximal before not maximal, then fewer
 * rounds.
 */
static void keep_better (struct round_packer **best, struct round_packer *p)
{
    struct round_packer *worse = p;

    if (!*best || p->rounds.maximal > (*best)->rounds.maximal
        || (p->rounds.maximal == (*best)->rounds.maximal
            && p->rounds.count < (*best)->rounds.count)) {
        worse = *best;
        *best = p;
    }
    packer_destroy (worse);
}

static void job_init (struct packing_job *job, const struct basis *b,
                      uint64_t most, struct rng *rng)
{
    struct round_packer *p;
    struct rref *rref;

    *job = (struct packing_job){
        .basis = b, .most = most, .rng = rng, .most_rounds = SIZE_MAX
    };
    job->demand = demand_find (b);
    job->hot = xcalloc (b->nports, 1);
    job->live = xcalloc (b->n, sizeof (*job->live));
    p = packer_create (b, 0, fmin (most, TOO_MUCH * (double)b->m), rng);
    for (size_t i = 0; i < b->n; i++)
        job->live[i] = i;
    rref = span_all (p, job->live, b->n);
    job->exact = most > rref_work (rref) + p->nulls;
    job->known = !spent (p, rref);
    job->rank = job->known ? rref_rank (rref) : b->m;
    job->ordered = rref_work (rref) > MUCH * job->rank;
    job->work = p->work + rref_work (rref) + DEMAND_COST * b->first[b->n];
    if (!job->exact)
        give_up (job);
    rref_destroy (rref);
    packer_destroy (p);
    find_bound (job, job->rank);
}

static void job_clear (struct packing_job *job)
{
    free (job->demand);
    free (job->hot);
    free (job->live);
}

/* Total work that the search for fewer rounds may use. */
static uint64_t may_spend (const struct packing_job *job,
                           const struct round_packer *best,
                           const struct rounds_effort *effort)
{
    return best->rounds.count > effort->near * job->bound
        && effort->far > effort->search ? effort->far : effort->search;
}

void rounds_pack (struct rounds *rounds, const struct basis *basis,
                  struct rng *rng, const struct rounds_effort *effort,
                  struct rref **rref)
{
    struct round_packer *best = NULL;
    struct packing_job job;

    job_init (&job, basis, effort->eliminate, rng);
    job.end = effort->search;
    for (size_t i = 0; i < RECIPES && job.exact; i++) {
        keep_better (&best, pack (&job, &recipes[i]));
        if (best->rounds.count <= job.bound || job.work > effort->search / 2)
            break;
        if (best->rounds.maximal)
            job.most_rounds = best->rounds.count - 1;
    }
    if (!best)
        best = pack (&job, &recipes[0]);
    while (best->rounds.maximal && best->rounds.count > job.bound
           && job.work < may_spend (&job, best, effort)
           && shorten (&job, &best, may_spend (&job, best, effort)))
        ;
    drop_empty (&best->rounds);
    if (!job.known) /* a bound for the rows that were found only */
        find_bound (&job, best->rounds.n);
    *rounds = best->rounds;
    rounds->work = job.work;
    rounds->least = (size_t)job.bound;
    best->rounds = (struct rounds){ 0 };
    if (rref) {
        *rref = best->rref;
        best->rref = NULL;
    }
    packer_destroy (best);
    job_clear (&job);
}

void rounds_clear (struct rounds *rounds)
{
    free (rounds->slot);
    *rounds = (struct rounds){ 0 };
}
