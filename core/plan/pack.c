/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packing.
 *
 * Whole fabrics. The candidates' classes (plan/basis) give the space
 * of all rows a filtration: layer c is what the rows of class c add to the span
 * of the shorter ones. Rows that are a basis of each layer are a basis of all,
 * so the layers can be chosen in any order: a round first takes its share of
 * the long rows, which are hard to place, and is then filled with short ones.
 *
 * Jobs. Candidates are taken in an order that is good for elimination. One that
 * adds to the rank goes to the first round in which its links and ports are
 * idle; if there is none, others may replace it. Ports fill up evenly, since
 * the limit of probes per port rises in steps. Ports whose demand (plan/demand)
 * is close to the number of rounds are *hot*. Rows with a hot end are chosen
 * first, but only those outside the span of all rows without one: so there are
 * as few as possible, and the other rows do not depend on them.
 *
 * If paths have little in common, elimination causes fill-in, so it has a
 * limit. If the rank of all candidates takes too much work, the packing assumes
 * a rank equal to the number of links, and is complete when no candidate adds
 * to it. Beyond the limit, rows are taken that have a column which no row
 * before had, which proves that they are independent, until all are covered.
 */
#include "config.h"
#include "core/plan/pack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/demand.h"
#include "core/plan/span.h"
#include "util/alloc.h"
#include "util/terminal.h"

enum {
    LACK_MAX_DIV = 32,   /* all pairs if symmetric rows lack 1/32, and */
    PAIRS_MAX = 1 << 19, /* there are at most those of 1,024 endpoints */
    LAYERS_MAX = 16,     /* further classes share the last one */
    RESTARTS_MAX = 2,    /* before rounds are opened */
    SPARE_MIN_DIV = 32,  /* try the bound if it has 1/32 to spare */
    CHAINS_MAX_WORK = 10000000, /* no chains of a job after so much */
    AGAIN_MIN_WORK = 20000000,  /* is free if rounds are not few */
    ENDPOINT_WORK = 300,        /* of a search of all pairs, per endpoint */
    MISSING_PER_ROW = 16,       /* pairs to try for each missing row, */
    MISSING_MORE = 1000,        /* and one per endpoint: a search costs more; */
    FILTERED_PER_ROW = 4,       /* the same for candidates */
    FILTERED_MORE = 100,
    GAIN_MIN_DIV = 16,    /* another round if fewer than 1/16 find room */
    STALLED_MAX = 2,      /* searches without success before giving up */
    LEFT_MAX_DIV = 32,    /* stop if more than 1/32 of the rank is missing */
    TWO_FOR_ONE_IN = 4,   /* replacements may cost two rows */
    PORT_STEPS = 4,       /* in which the limit per port rises */
    ORDER_MAX_WORK = 500, /* for a row in a good order; in other orders some
                             times as much */
    RANK_MAX_WORK = 1800, /* per link, to find the rank before a packing */
};

/* A job's packing: the limit of rounds relative to the bound, the share of it
 * that a hot port is busy, the first limit per port relative to that of rounds.
 */
static const double limit_factor = 1.05, hot_share = .6, first_share = .8;

uint64_t pack_work (const struct packing *p)
{
    return p->work + p->rounds.work + p->form.work
        + (p->form.rref ? rref_work (p->form.rref) : 0);
}

void pack_clear (struct packing *p)
{
    basis_clear (&p->basis);
    rounds_clear (&p->rounds);
    rref_destroy (p->form.rref);
    free (p->form.z);
    *p = (struct packing){ 0 };
}

/* The bound of all ports. */
static size_t hosts_bound (const struct packing *p)
{
    return plan_least_rounds (p->basis.nports, p->rank);
}

/* Begin a form of no rows. */
static void new_form (struct packing *p)
{
    p->work = pack_work (p) - p->rounds.work;
    p->form.work = 0;
    rref_destroy (p->form.rref);
    p->form.rref = rref_create (p->basis.m);
}

/* Replace the slots, except those that depend on others, and make the form of
 * them, in class order.
 */
static void set_slots (struct packing *p, struct rounds_slot *slot, size_t n,
                       size_t count)
{
    size_t keep = 0;

    new_form (p);
    for (size_t i = 0; i < n; i++)
        if (rref_add (p->form.rref, BASIS_ROW (&p->basis, slot[i].pair)))
            slot[keep++] = slot[i];
    rounds_set (&p->rounds, slot, keep, count);
    if (!p->job)
        rref_reduce (p->form.rref);
}

/* The same for the slots that there are. */
static void renew_form (struct packing *p)
{
    struct rounds_slot *slot = rounds_sorted (&p->rounds);

    set_slots (p, slot, p->rounds.n, p->rounds.count);
    free (slot);
}

static bool is_work_exceeded (const struct packing *p, const struct screen *s)
{
    return rref_work (s->rref) + s->work >= p->eliminate;
}

/*
 * Missing rows
 */

/* Append pairs that span_missing finds for the form, *n of them, to the
 * candidates.
 */
static int append_missing (struct packing *p, bool all, size_t most, size_t *n,
                           struct error *err)
{
    struct probe *pair
        = span_missing (p->ps, p->form.z, p->rng, all, most, n, err);
    int rc = pair ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < *n; i++)
        rc = basis_add (&p->basis, pair[i].a, pair[i].b, err);
    free (pair);
    return rc;
}

/* List pairs that add to the form, *n of them: candidates, or others that are
 * appended to these, of some leaves or of all. The caller frees them. NULL with
 * err.
 */
static uint32_t *list_missing_pairs (struct packing *p, bool all, size_t *n,
                                     struct error *err)
{
    struct basis *b = &p->basis;
    size_t lack = p->rank - p->rounds.n;
    size_t most = MISSING_PER_ROW * lack + MISSING_MORE + pathset_size (p->ps);
    size_t first = b->n;
    uint32_t *list;

    *n = 0;
    screen_draw (&p->form);
    if (!p->job) {
        p->work += ENDPOINT_WORK * pathset_size (p->ps);
        if (append_missing (p, all, most, n, err) < 0)
            return NULL;
        list = xarray (*n, sizeof (*list));
        for (size_t i = 0; i < *n; i++)
            list[i] = first + i;
        return list;
    }
    list = xarray (b->n, sizeof (*list));
    for (size_t i = 0; i < b->n; i++)
        if (screen_passes (&p->form, BASIS_ROW (b, i)))
            list[(*n)++] = i;
    rng_shuffle (p->rng, list, *n);
    if (*n > FILTERED_PER_ROW * lack + FILTERED_MORE)
        *n = FILTERED_PER_ROW * lack + FILTERED_MORE;
    return list;
}

/* Place the missing rows: by chains in the existing rounds, without chains when
 * the work reaches `end`, and in another round if few can be placed. Return 1
 * if that would be more than `most` rounds, or too much work. The rank may be
 * too high: it is lowered if no row adds to it.
 */
static int complete_packing (struct packing *p, size_t most, uint64_t end,
                             struct error *err)
{
    bool all = pathset_size (p->ps) < SPAN_PART_MIN;

    for (int stalled = 0; p->rounds.n < p->rank;) {
        size_t before = p->rounds.n, lack = p->rank - before;
        size_t n;
        uint32_t *list = list_missing_pairs (p, all, &n, err);

        if (!list)
            return -1;
        if (n == 0)
            p->rank = p->rounds.n;
        terminal_work ("placing probes", 0, 0);
        for (size_t i = 0; i < n && p->rounds.n < p->rank; i++) {
            bool chains = pack_work (p) < end;

            if (is_work_exceeded (p, &p->form))
                break;
            if (rref_spans (p->form.rref, BASIS_ROW (&p->basis, list[i]))
                || !rounds_put (&p->rounds, list[i], chains))
                continue;
            rref_add (p->form.rref, BASIS_ROW (&p->basis, list[i]));
        }
        free (list);
        if (p->rounds.n == p->rank)
            break;
        if (is_work_exceeded (p, &p->form))
            return 1;
        if ((p->rounds.n - before) * GAIN_MIN_DIV > lack)
            stalled = 0;
        else if (!all)
            all = true;
        else if (p->rounds.count < most)
            rounds_add (&p->rounds);
        else if (p->job || ++stalled == STALLED_MAX || pack_work (p) > end)
            return 1;
    }
    return 0;
}

/* Replace rows by missing ones: as many as are missing, sometimes two for one.
 */
static int swap_in_missing_rows (struct packing *p, struct error *err)
{
    size_t most = p->rank - p->rounds.n;
    size_t n;
    uint32_t *list = list_missing_pairs (p, false, &n, err);

    if (!list)
        return -1;
    for (size_t i = 0; i < n && most > 0; i++) {
        /* one after the other: what a call evaluates first is the compiler's */
        size_t others = rng_below (p->rng, TWO_FOR_ONE_IN) ? 1 : 2;
        size_t round = rng_below (p->rng, p->rounds.count);

        most -= rounds_replace (&p->rounds, list[i], round, others);
    }
    free (list);
    renew_form (p);
    return 0;
}

/* Try with one round less until the work reaches `end`. Return 1, and the
 * rounds as they were, without success.
 */
static int shorten (struct packing *p, uint64_t end, struct error *err)
{
    struct rounds_slot *best = rounds_sorted (&p->rounds), *top = NULL;
    size_t nbest = p->rounds.n, count = p->rounds.count, ntop = 0;
    int rc;

    rounds_dissolve (&p->rounds);
    renew_form (p);
    while ((rc = complete_packing (p, p->rounds.count, end, err)) == 1
           && pack_work (p) < end && !is_work_exceeded (p, &p->form)
           && (p->job || (p->rank - p->rounds.n) * LEFT_MAX_DIV < p->rank)) {
        if (p->rounds.n >= ntop) {
            free (top);
            top = rounds_sorted (&p->rounds);
            ntop = p->rounds.n;
        }
        else
            set_slots (p, top, ntop, p->rounds.count);
        if ((rc = swap_in_missing_rows (p, err)) < 0)
            break;
    }
    if (rc == 1)
        set_slots (p, best, nbest, count);
    else
        rounds_drop_empty (&p->rounds);
    free (top);
    free (best);
    return rc;
}

/*
 * Whole fabrics
 */

struct layer {
    uint32_t first, end; /* range of candidates */
    size_t need;         /* what they add to the rank */
    struct rref *below;  /* span of the layers below */
    struct rref *rref;   /* the same, and placed rows */
    uint32_t *live;      /* candidates that may add to it */
    size_t nlive;
    size_t placed;
};

struct layers {
    struct layer v[LAYERS_MAX];
    size_t n;
    size_t seen; /* candidates whose layers are known */
};

static void layers_clear (struct layers *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free (l->v[i].live);
        rref_destroy (l->v[i].below);
        rref_destroy (l->v[i].rref);
    }
    *l = (struct layers){ 0 };
}

/* Add the layers of new candidates to those so far, if they add to the rank. The
 * form is that of a basis.
 */
static void add_layers (struct packing *p, struct layers *layers)
{
    const struct basis *b = &p->basis;

    terminal_work ("choosing probes", 0, 0);
    for (size_t end = layers->seen + 1; end <= b->n; end++) {
        struct layer l = { .first = layers->seen, .end = end };
        size_t rank = rref_rank (p->form.rref);

        if (end < b->n && (b->class_id[end] == b->class_id[end - 1]
                           || layers->n == LAYERS_MAX - 1))
            continue;
        l.below = rref_copy (p->form.rref);
        for (size_t i = l.first; i < end && rref_rank (p->form.rref) < b->m;
             i++)
            rref_add (p->form.rref, BASIS_ROW (b, i));
        l.need = rref_rank (p->form.rref) - rank;
        if (l.need > 0) {
            l.live = xarray (end - l.first, sizeof (*l.live));
            layers->v[layers->n++] = l;
            rref_reduce (p->form.rref);
        } else
            rref_destroy (l.below);
        layers->seen = end;
    }
    p->rank = rref_rank (p->form.rref);
}

/* Find the layers of candidates that span all pairs, adding some if necessary.
 * Return 1 if too many are missing, unless `any` is true.
 */
static int span_all (struct packing *p, struct layers *layers, bool any,
                     struct error *err)
{
    double n = pathset_size (p->ps);

    new_form (p);
    for (;;) {
        size_t first = p->basis.n, lack, found;
        int complete;

        add_layers (p, layers);
        lack = p->basis.m - p->rank;
        if (!any && lack > p->basis.m / LACK_MAX_DIV
            && n * (n - 1) / 2 <= PAIRS_MAX)
            return 1;
        if (lack == 0)
            return 0;
        screen_draw (&p->form);
        if (append_missing (p, false, 4 * lack + 1000, &found, err) < 0)
            return -1;
        basis_sort (&p->basis, first);
        /* not complete: the search missed all of them */
        if (found == 0
            && (complete = span_complete (p->ps, p->form.z, p->rng, err)) != 0)
            return complete < 0 ? -1 : 0;
    }
}

/* Nothing is placed yet: every layer has the span of those below. */
static void reset_layers (struct packing *p, struct layers *layers)
{
    for (size_t i = 0; i < layers->n; i++) {
        struct layer *l = &layers->v[i];

        rref_destroy (l->rref);
        l->rref = rref_copy (l->below);
        l->nlive = l->end - l->first;
        for (size_t k = 0; k < l->nlive; k++)
            l->live[k] = l->first + k;
        rng_shuffle (p->rng, l->live, l->nlive);
        l->placed = 0;
    }
}

/* Place as many of a layer's candidates in a round as fit. An end of a long row
 * is busy in all rounds but one at most, which is for a short row.
 */
static void fill_layer (struct packing *p, struct layers *layers, size_t i,
                        size_t round, size_t full)
{
    const struct basis *b = &p->basis;
    const uint32_t *load = p->rounds.load + b->m;
    struct layer *l = &layers->v[i];
    size_t keep = 0;

    for (size_t k = 0; k < l->nlive; k++) {
        uint32_t pair = l->live[k];

        if (l->placed == l->need
            || (i > 0 && (load[b->port[pair].a] >= full
                          || load[b->port[pair].b] >= full))
            || !rounds_fit (&p->rounds, pair, round))
            l->live[keep++] = pair;
        else if (rref_add (l->rref, BASIS_ROW (b, pair))) {
            rounds_place (&p->rounds, pair, round);
            l->placed++;
        }
    }
    l->nlive = keep;
}

/* Place as many rows as fit into `target` rounds. Each takes the long rows
 * first, in a different order in each round; then a layer's missing rows are
 * placed by chains.
 */
static void fill_whole (struct packing *p, struct layers *layers,
                        size_t target)
{
    terminal_work ("placing probes", 0, 0);
    rounds_set (&p->rounds, NULL, 0, 0);
    reset_layers (p, layers);
    while (p->rounds.count < target && p->rounds.n < p->rank) {
        size_t round = p->rounds.count, n = layers->n - 1;

        rounds_add (&p->rounds);
        for (size_t i = 0; i < n; i++)
            fill_layer (p, layers, n - (i + round) % n, round, target - 1);
        fill_layer (p, layers, 0, round, target - 1);
    }
    for (size_t i = layers->n; i-- > 0;) {
        struct layer *l = &layers->v[i];

        for (size_t k = 0; k < l->nlive && l->placed < l->need; k++) {
            uint32_t pair = l->live[k];

            p->work += p->basis.first[pair + 1] - p->basis.first[pair];
            if (rref_spans (l->rref, BASIS_ROW (&p->basis, pair))
                || !rounds_put (&p->rounds, pair, true))
                continue;
            rref_add (l->rref, BASIS_ROW (&p->basis, pair));
            l->placed++;
        }
    }
}

int pack_whole (struct packing *p, struct pathset *ps, struct rng *rng,
                bool any, struct error *err)
{
    struct layers layers = { 0 };
    size_t target;
    int rc, tries = 0;

    *p = (struct packing){ .ps = ps, .rng = rng, .eliminate = UINT64_MAX };
    p->form.rng = rng;
    if ((rc = span_symmetric (&p->basis, ps, rng, err)) < 0
        || (rc = span_all (p, &layers, any, err)) != 0)
        goto out;
    rounds_open (&p->rounds, &p->basis);
    p->bound = target = hosts_bound (p);
    if (p->bound * (p->basis.nports / 2) - p->rank < p->rank / SPARE_MIN_DIV)
        target++;
    /* If these rounds are not enough, try one more from the start, since a
     * round that is opened late is not filled as well; then as many as are
     * needed.
     */
    do {
        uint64_t before = pack_work (p);

        fill_whole (p, &layers, target);
        if (p->rounds.n < p->rank)
            renew_form (p);
        rc = complete_packing (p, tries < RESTARTS_MAX ? target++ : SIZE_MAX,
                               UINT64_MAX, err);
        /* a search for one less is of little use if many were opened */
        p->again = tries < RESTARTS_MAX ? pack_work (p) - before : 0;
    } while (tries++ < RESTARTS_MAX && rc == 1);
    rounds_drop_empty (&p->rounds);
    p->maximal = rc == 0;
out:
    layers_clear (&layers);
    return rc;
}

/*
 * Jobs
 */

/* Make the form that all of the listed candidates span, as far as the work
 * goes.
 */
static struct screen span_of_candidates (const struct packing *p,
                                         const uint32_t *list, size_t n)
{
    struct screen s = { .rref = rref_create (p->basis.m), .rng = p->rng };

    screen_draw (&s);
    for (size_t i = 0; i < n && !is_work_exceeded (p, &s); i++)
        screen_add (&s, BASIS_ROW (&p->basis, list[i]));
    return s;
}

struct job_packing {
    struct packing *p;
    double *demand; /* [nports] */
    bool known;     /* the rank is exact */
    bool ordered;   /* use the order of the candidates only */
    uint8_t *hot;   /* [nports] */
    uint32_t *live; /* [n] candidates */
};

/* List the candidates with so many hot ends, in their order: by class and then
 * by neighbourhood, or at random within a class. Return their number.
 */
static size_t list_hot_end_candidates (const struct job_packing *job,
                                       unsigned int ends, bool shuffle)
{
    const struct basis *b = &job->p->basis;
    size_t n = 0, from = 0;

    for (size_t i = 0; i < b->n; i++)
        if (job->hot[b->port[i].a] + job->hot[b->port[i].b] == (int)ends)
            job->live[n++] = i;
    for (size_t i = 1; shuffle && i <= n; i++)
        if (i == n
            || b->class_id[job->live[i]] != b->class_id[job->live[from]]) {
            rng_shuffle (job->p->rng, job->live + from, i - from);
            from = i;
        }
    return n;
}

/* Try to place the candidates live[0 .. n-1], one after the other, in the
 * rounds; they must add to the span of the form. Ports fill up in steps.
 */
static void place_evenly (struct job_packing *job, struct screen *form,
                          size_t n)
{
    struct packing *p = job->p;
    const struct basis *b = &p->basis;

    for (int step = 0; step <= PORT_STEPS; step++) {
        double part = first_share + (1 - first_share) * step / PORT_STEPS;
        uint32_t most = ceil (part * p->rounds.count);
        const uint32_t *load = p->rounds.load + b->m;
        size_t keep = 0;

        screen_draw (form);
        for (size_t i = 0; i < n && !is_work_exceeded (p, form); i++) {
            uint32_t pair = job->live[i];
            size_t round = p->rounds.count;

            p->work += 2;
            if (load[b->port[pair].a] < most && load[b->port[pair].b] < most)
                round = rounds_room (&p->rounds, pair);
            if (round == p->rounds.count)
                job->live[keep++] = pair;
            else if (screen_add (form, BASIS_ROW (b, pair)))
                rounds_place (&p->rounds, pair, round);
        }
        n = keep;
    }
}

/* Place what fits into few rounds. If the rank is not known, it cannot be shown
 * that no other rows replace the row of a hot end.
 */
static void fill_job (struct job_packing *job)
{
    struct packing *p = job->p;
    size_t nports = p->basis.nports;
    size_t limit = ceil (p->bound * limit_factor);
    size_t nhot = 0;

    terminal_work ("placing probes", 0, 0);
    rounds_set (&p->rounds, NULL, 0, limit);
    new_form (p);
    for (size_t i = 0; i < nports; i++) {
        job->hot[i] = job->known && job->demand[i] >= hot_share * limit;
        nhot += job->hot[i];
    }
    if (nhot == nports)
        memset (job->hot, 0, nports);
    if (nhot > 0 && nhot < nports) {
        struct screen cold = span_of_candidates (
            p, job->live, list_hot_end_candidates (job, 0, false));

        for (unsigned int ends = 1; ends <= 2; ends++)
            place_evenly (job, &cold,
                          list_hot_end_candidates (job, ends, true));
        p->work += rref_work (cold.rref) + cold.work;
        rref_destroy (cold.rref);
        free (cold.z);
    }
    nhot = p->rounds.n;
    place_evenly (job, &p->form,
                  list_hot_end_candidates (job, 0, !job->ordered));
    for (size_t i = 0; i < nhot && !is_work_exceeded (p, &p->form); i++)
        rref_add (p->form.rref,
                  BASIS_ROW (&p->basis, p->rounds.slot[i].pair));
}

/* Place rows that have a column which no row has yet. */
static void place_covering_rows (struct packing *p)
{
    rounds_set (&p->rounds, NULL, 0, 0);
    new_form (p);
    for (size_t i = 0; i < p->basis.n; i++)
        if (rref_add_fresh (p->form.rref, BASIS_ROW (&p->basis, i)))
            while (!rounds_put (&p->rounds, i, true))
                rounds_add (&p->rounds);
    p->rank = p->rounds.n;
    p->bound = hosts_bound (p);
}

static void find_bound (struct job_packing *job)
{
    struct packing *p = job->p;

    p->bound = hosts_bound (p);
    for (size_t i = 0; i < p->basis.nports; i++)
        p->bound = fmax (p->bound, ceil (job->demand[i] - 1e-9));
}

/* Find the rank, or an upper limit of it. */
static void find_candidate_rank (struct job_packing *job)
{
    struct packing *p = job->p;
    uint64_t eliminate = p->eliminate;
    struct screen s;

    terminal_work ("choosing probes", 0, 0);
    p->eliminate = fmin (eliminate, RANK_MAX_WORK * (double)p->basis.m);
    for (size_t i = 0; i < p->basis.n; i++)
        job->live[i] = i;
    s = span_of_candidates (p, job->live, p->basis.n);
    job->known = !is_work_exceeded (p, &s);
    p->eliminate = eliminate;
    p->rank = job->known ? rref_rank (s.rref) : p->basis.m;
    job->ordered = rref_work (s.rref) > ORDER_MAX_WORK * p->rank;
    p->work += rref_work (s.rref) + s.work;
    rref_destroy (s.rref);
    free (s.z);
    find_bound (job);
}

int pack_job (struct packing *p, struct pathset *ps, struct rng *rng,
              uint64_t eliminate, struct error *err)
{
    struct job_packing job = { .p = p };
    int rc;

    *p = (struct packing){
        .ps = ps, .rng = rng, .job = true, .eliminate = eliminate,
    };
    p->form.rng = rng;
    if (basis_make (&p->basis, ps, rng, err) < 0)
        return -1;
    rounds_open (&p->rounds, &p->basis);
    job.demand = demand_find (&p->basis);
    job.hot = xcalloc (p->basis.nports, 1);
    job.live = xarray (p->basis.n, sizeof (*job.live));
    find_candidate_rank (&job);
    fill_job (&job);
    rc = complete_packing (p, SIZE_MAX, CHAINS_MAX_WORK, err);
    p->maximal = rc == 0;
    if (rc == 1)
        place_covering_rows (p);
    else if (rc == 0)
        find_bound (&job);
    rounds_drop_empty (&p->rounds);
    free (job.demand);
    free (job.hot);
    free (job.live);
    return rc < 0 ? -1 : 0;
}

int pack_search (struct packing *p, uint64_t effort, struct error *err)
{
    uint64_t again
        = p->again > 0 && p->again < AGAIN_MIN_WORK ? AGAIN_MIN_WORK : p->again;
    uint64_t end = p->again > 0 ? pack_work (p) + again : 0;
    int rc = p->maximal ? 0 : 1;

    end = end > effort ? end : effort;
    while (rc == 0 && p->rounds.count > p->bound
           && pack_work (p)
               < (p->rounds.count > p->bound + 1 ? end : effort))
        rc = shorten (p, end, err);
    return rc < 0 ? -1 : 0;
}
