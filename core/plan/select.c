/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small set of endpoints and probes that determine some links.
 *
 * Notes. For each link, host links first: pools of endpoints around the link
 * (plan/near) are tried with increasing size, until the pairs of one determine
 * it. Then endpoints that were not chosen before are dropped one by one as long
 * as it stays determined. In an independent set of rows that determines the
 * link, the combination is unique: the rows with a coefficient in it are the
 * probes. They are found without bookkeeping during elimination: they are the
 * entries that are not 0 in a random vector of the null space of the transposed
 * rows, with a column for the target. At the end the same is done for all
 * targets together.
 *
 * Cost: per target, a few paths of every endpoint of the set (to locate it) and
 * the elimination of the rows of a few dozen pools, usually of about ten
 * endpoints.
 */
#include "config.h"
#include "core/plan/select.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/sparse.h"
#include "core/plan/basis.h"
#include "core/plan/near.h"
#include "core/plan/rref.h"
#include "core/plan/redundant.h"
#include "util/alloc.h"
#include "util/rng.h"

enum {
    TOGETHER_MAX = 96,           /* endpoints up to which all pairs are tried */
    WORK_MAX = 60 * 1000 * 1000, /* entries touched by last pruning */
    PACKINGS = 32,
    SPREADS = 16,                /* choices of probes between them */
    LOOK_FIRST = 8,              /* rank at which to test for the first time */
};

/* What a target needs: the sum of value * latency of the links. */
struct want {
    uint32_t link; /* the target */
    struct plan_member *member;
    uint64_t *value;
    size_t n; /* 0: given up */
};

struct select {
    struct pathset *ps;
    struct near *near;
    size_t n;
    struct rng rng;
    struct want *want;
    size_t nwants;
    uint8_t *chosen;     /* [n] endpoints of the chosen probes */
    struct probe *probe; /* chosen */
    size_t nprobes;
    int32_t *column;     /* [nlinks] while a system is made, else -1 */
};

/* Rows of some pairs, over the columns that they use, and what they determine
 * for some wants.
 */
struct equations {
    struct sparse *a;
    struct candidate {
        struct probe probe;
        uint32_t row;
        uint32_t cost; /* low: preferred */
    } *candidate;      /* [a->nrows] */
    uint32_t *link;    /* [a->ncols] of a column */
    const struct want *want;
    size_t nwants;
    int32_t *member;   /* column of each member of each want, -1: none */
    struct rref *rref;
    struct candidate **kept; /* [rank] independent rows */
};

static void system_clear (struct equations *y)
{
    sparse_destroy (y->a);
    rref_destroy (y->rref);
    free (y->candidate);
    free (y->link);
    free (y->member);
    free (y->kept);
    *y = (struct equations){ 0 };
}

static uint32_t column_of (struct select *s, struct equations *y, uint32_t link)
{
    size_t m = y->a->ncols;

    if (s->column[link] < 0) {
        y->link = xgrow (y->link, m, sizeof (*y->link));
        y->link[m] = link;
        s->column[link] = y->a->ncols++;
    }
    return s->column[link];
}

static int add_pair (struct select *s, struct equations *y, struct probe probe,
                     bool chosen, struct error *err)
{
    struct row row;

    if (pathset_row (s->ps, probe.a, probe.b, &row, err) < 0)
        return -1;
    for (size_t k = 0; k < row.n; k++)
        row.link[k] = column_of (s, y, row.link[k]);
    y->candidate = xgrow (y->candidate, y->a->nrows, sizeof (*y->candidate));
    y->candidate[y->a->nrows] = (struct candidate){
        probe, y->a->nrows, chosen ? 0 : 2 * row.n + !row.symmetric,
    };
    sparse_add (y->a, row.link, (const int8_t *)row.count, row.n);
    return 0;
}

/* Add all pairs of some endpoints. */
static int add_between (struct select *s, struct equations *y,
                        const uint32_t *host, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            bool rising = host[i] < host[k];
            struct probe probe = { host[rising ? i : k],
                                   host[rising ? k : i] };

            if (add_pair (s, y, probe, false, err) < 0)
                return -1;
        }
    return 0;
}

static bool among (const uint32_t *host, size_t n, uint32_t i)
{
    for (size_t k = 0; k < n; k++)
        if (host[k] == i)
            return true;
    return false;
}

/* Add the chosen probes that have an end among some endpoints. */
static int add_chosen (struct select *s, struct equations *y,
                       const uint32_t *host, size_t n, struct error *err)
{
    for (size_t i = 0; i < s->nprobes; i++)
        if ((among (host, n, s->probe[i].a) || among (host, n, s->probe[i].b))
            && add_pair (s, y, s->probe[i], true, err) < 0)
            return -1;
    return 0;
}

static int compare_candidate (const void *a, const void *b)
{
    const struct candidate *x = a;
    const struct candidate *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->probe.a != y->probe.a)
        return x->probe.a < y->probe.a ? -1 : 1;
    return (x->probe.b > y->probe.b) - (x->probe.b < y->probe.b);
}

/* Does the form determine all wants? */
static bool determined (struct select *s, const struct equations *y)
{
    uint64_t *z = xcalloc (y->a->ncols + 1, sizeof (*z));
    const int32_t *c = y->member;
    bool yes = true;

    rref_null (y->rref, &s->rng, z);
    for (size_t i = 0; i < y->nwants && yes; i++) {
        uint64_t sum = 0;

        for (size_t k = 0; k < y->want[i].n && yes; k++, c++) {
            yes = *c >= 0;
            if (yes)
                sum = prime_add (sum, prime_mul (y->want[i].value[k], z[*c]));
        }
        yes = yes && sum == 0;
    }
    free (z);
    return yes;
}

/* All rows have been added: set the wants' columns, and reset s->column. */
static void close_columns (struct select *s, struct equations *y)
{
    size_t n = 0;

    for (size_t i = 0; i < y->nwants; i++)
        n += y->want[i].n;
    y->member = xcalloc (n + 1, sizeof (*y->member));
    n = 0;
    for (size_t i = 0; i < y->nwants; i++)
        for (size_t k = 0; k < y->want[i].n; k++)
            y->member[n++] = s->column[y->want[i].member[k].link];
    for (size_t c = 0; c < y->a->ncols; c++)
        s->column[y->link[c]] = -1;
}

/* Reduce the rows by ascending cost, and keep the independent ones, until they
 * determine the wants or there are no more. Return whether they do.
 */
static bool reduce (struct select *s, struct equations *y)
{
    const struct sparse *a = y->a;
    size_t look = LOOK_FIRST;
    bool yes = false;

    y->rref = rref_create (a->ncols);
    y->kept = xcalloc (a->nrows + 1, sizeof (*y->kept));
    close_columns (s, y);
    if (a->nrows > 0)
        qsort (y->candidate, a->nrows, sizeof (*y->candidate),
               compare_candidate);
    for (size_t i = 0; i < a->nrows && !yes; i++) {
        size_t at = a->start[y->candidate[i].row];
        size_t rank = rref_rank (y->rref);

        if (rref_add (y->rref, a->col + at, (const uint8_t *)a->value + at,
                      a->start[y->candidate[i].row + 1] - at))
            y->kept[rank] = &y->candidate[i];
        if (rank == look) {
            look += look / 4;
            yes = determined (s, y);
        }
    }
    return yes || determined (s, y);
}

/* An empty system for some wants; the caller must clear it in any case. */
static void system_open (struct equations *y, const struct want *want, size_t n)
{
    *y = (struct equations){ .want = want, .nwants = n };
    y->a = sparse_create (0);
}

/* `added` is the result of adding rows to it. Return 1 if they determine the
 * wants, 0 if not, or -1 with err.
 */
static int system_close (struct select *s, struct equations *y, int added)
{
    if (added == 0)
        return reduce (s, y);
    close_columns (s, y);
    return -1;
}

/* Columns of the kept rows, each followed by a unit for every member of a want
 * that is this column. Unknown rank + j is member j of them all.
 */
struct select_columns {
    size_t unknowns;
    size_t *start; /* [m + 1] */
    uint32_t *unknown;
    uint8_t *count;
};

static void columns_clear (struct select_columns *c)
{
    free (c->start);
    free (c->unknown);
    free (c->count);
}

/* Count the entries of column i in start[i + 2]; in the second pass, store them
 * at start[i + 1] and increment it.
 */
static void columns_pass (const struct equations *y, struct select_columns *c)
{
    const struct sparse *a = y->a;
    size_t rank = rref_rank (y->rref);
    size_t members = 0;

    for (size_t i = 0; i < rank; i++) {
        uint32_t row = y->kept[i]->row;

        for (size_t k = a->start[row]; k < a->start[row + 1]; k++) {
            size_t *at = &c->start[a->col[k] + 1 + !c->unknown];

            if (c->unknown) {
                c->unknown[*at] = i;
                c->count[*at] = a->value[k];
            }
            ++*at;
        }
    }
    for (size_t i = 0; i < y->nwants; i++)
        for (size_t k = 0; k < y->want[i].n; k++, members++) {
            size_t *at = &c->start[y->member[members] + 1 + !c->unknown];

            if (c->unknown) {
                c->unknown[*at] = rank + members;
                c->count[*at] = 1;
            }
            ++*at;
        }
    c->unknowns = rank + members;
}

static void columns_make (const struct equations *y, struct select_columns *c)
{
    size_t m = y->a->ncols;

    *c = (struct select_columns){ .start
                                  = xcalloc (m + 2, sizeof (*c->start)) };
    columns_pass (y, c);
    for (size_t i = 0; i < m; i++)
        c->start[i + 2] += c->start[i + 1];
    c->unknown = xcalloc (c->start[m + 1] + 1, sizeof (*c->unknown));
    c->count = xcalloc (c->start[m + 1] + 1, 1);
    columns_pass (y, c);
}

/* used[i]: row y->kept[i] is part of a combination that gives a want; all must
 * be determined. The caller frees it.
 */
static uint8_t *support (struct select *s, const struct equations *y)
{
    size_t rank = rref_rank (y->rref);
    uint8_t *used = xcalloc (rank, 1);
    struct rref *rref;
    struct select_columns c;
    uint64_t *z;

    columns_make (y, &c);
    rref = rref_create (c.unknowns);
    z = xcalloc (c.unknowns, sizeof (*z));
    for (size_t i = 0; i < y->a->ncols; i++)
        rref_add (rref, c.unknown + c.start[i], c.count + c.start[i],
                  c.start[i + 1] - c.start[i]);
    rref_null (rref, &s->rng, z);
    for (size_t i = 0; i < rank; i++)
        used[i] = z[i] != 0;
    columns_clear (&c);
    rref_destroy (rref);
    free (z);
    return used;
}

/* Keep the endpoints of the rows in the support and those that were chosen
 * before, in the order of `host`; *n is their number.
 */
static void keep_used (struct select *s, const struct equations *y,
                       uint32_t *host, size_t *n)
{
    uint8_t *used = support (s, y);
    uint8_t *in = xcalloc (s->n + 1, 1);
    size_t keep = 0;

    for (size_t i = 0; i < rref_rank (y->rref); i++)
        if (used[i])
            in[y->kept[i]->probe.a] = in[y->kept[i]->probe.b] = 1;
    for (size_t i = 0; i < *n; i++)
        if (in[host[i]] || s->chosen[host[i]])
            host[keep++] = host[i];
    *n = keep;
    free (used);
    free (in);
}

static void choose_probe (struct select *s, struct probe probe)
{
    for (size_t k = 0; k < s->nprobes; k++)
        if (s->probe[k].a == probe.a && s->probe[k].b == probe.b)
            return;
    s->probe = xgrow (s->probe, s->nprobes, sizeof (*s->probe));
    s->probe[s->nprobes++] = probe;
    s->chosen[probe.a] = s->chosen[probe.b] = 1;
}

/* Choose the probes of the support, and their endpoints. */
static void choose (struct select *s, const struct equations *y)
{
    uint8_t *used = support (s, y);

    for (size_t i = 0; i < rref_rank (y->rref); i++)
        if (used[i])
            choose_probe (s, y->kept[i]->probe);
    free (used);
}

/* The system of the pairs of host[0 .. n-1], and of the chosen probes. */
static int try_hosts (struct select *s, struct equations *y,
                      const struct want *want, const uint32_t *host, size_t n,
                      struct error *err)
{
    int rc;

    system_open (y, want, 1);
    if ((rc = add_chosen (s, y, host, n, err)) == 0)
        rc = add_between (s, y, host, n, err);
    return system_close (s, y, rc);
}

/* Drop the endpoints that are not needed, last ones first, in smaller and
 * smaller lots, and choose the probes. y determines the want; it is replaced.
 */
static int narrow (struct select *s, struct equations *y,
                   const struct want *want, uint32_t *host, size_t n,
                   struct error *err)
{
    uint32_t rest[SELECT_NEAR_MAX];

    keep_used (s, y, host, &n);
    for (size_t lot = (n + 1) / 2; lot > 0; lot /= 2)
        for (size_t end = n; end > 0;) {
            size_t from = end > lot ? end - lot : 0;
            struct equations without;
            size_t keep = 0;
            int rc = 0;

            for (size_t i = 0; i < n; i++)
                if (i < from || i >= end || s->chosen[host[i]])
                    rest[keep++] = host[i];
            end = from;
            if (keep == n)
                continue;
            if ((rc = try_hosts (s, &without, want, rest, keep, err)) > 0) {
                system_clear (y);
                *y = without;
                memcpy (host, rest, keep * sizeof (*host));
                n = keep;
                keep_used (s, y, host, &n);
                end = end < n ? end : n;
            }
            else
                system_clear (&without);
            if (rc < 0)
                return -1;
        }
    choose (s, y);
    return 0;
}

/* Replace the want by the shortest row of the form that has its link; give it
 * up if there is none.
 */
static void combine (const struct equations *y, struct want *want)
{
    int32_t col = y->member ? y->member[0] : -1; /* the link alone */
    const struct rref_entry *best = NULL;
    size_t n = 0;

    want->n = 0;
    if (col >= 0)
        rref_reduce (y->rref);
    for (size_t i = 0; col >= 0 && i < rref_rank (y->rref); i++) {
        size_t len;
        const struct rref_entry *e = rref_row (y->rref, i, &len);
        size_t k = 0;

        while (k < len && e[k].col != (uint32_t)col)
            k++;
        if (k < len && (!best || len < n)) {
            best = e;
            n = len;
        }
    }
    if (!best)
        return;
    free (want->member);
    free (want->value);
    want->member = xcalloc (n, sizeof (*want->member));
    want->value = xcalloc (n, sizeof (*want->value));
    for (size_t k = 0; k < n; k++) {
        struct plan_member *m = &want->member[k];

        m->link = y->link[best[k].col];
        want->value[k] = best[k].value;
        if (rref_rational (best[k].value, &m->p, &m->q) < 0)
            return; /* not a fraction: given up */
    }
    want->n = n;
}

/* Find endpoints and probes for one target. */
static int solve_want (struct select *s, struct want *want,
                       struct error *err)
{
    uint32_t host[SELECT_NEAR_MAX];
    struct equations y = { 0 };
    size_t most = 0;
    int rc = 0;

    for (unsigned int ring = 0; ring < NEAR_RINGS && rc == 0; ring++) {
        struct equations larger;
        size_t n;
        const uint32_t *pool = near_link (s->near, want->link, ring,
                                          s->chosen, SELECT_NEAR_MAX, &n);

        if (n <= most)
            continue;
        most = n;
        memcpy (host, pool, n * sizeof (*host));
        rc = try_hosts (s, &larger, want, host, n, err);
        system_clear (&y);
        y = larger;
    }
    if (rc == 0) {
        combine (&y, want);
        if (want->n > 0) {
            system_clear (&y);
            rc = try_hosts (s, &y, want, host, most, err);
        }
    }
    if (rc > 0)
        rc = narrow (s, &y, want, host, most, err);
    system_clear (&y);
    return rc;
}

/*
 * All targets together.
 */

/* Get the first `max` chosen endpoints; return how many there are. */
static size_t chosen_hosts (const struct select *s, uint32_t *host,
                            size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->chosen[i] && n++ < max)
            host[n - 1] = i;
    return n;
}

/* Choose again, among the rows of the system, which determines all wants. */
static void choose_again (struct select *s, const struct equations *y)
{
    s->nprobes = 0;
    memset (s->chosen, 0, s->n);
    choose (s, y);
}

/* The system of the chosen probes, for all wants. */
static int try_chosen (struct select *s, struct equations *y, struct error *err)
{
    int rc = 0;

    system_open (y, s->want, s->nwants);
    for (size_t i = 0; i < s->nprobes && rc == 0; i++)
        rc = add_pair (s, y, s->probe[i], false, err);
    return system_close (s, y, rc);
}

/* The system of all pairs of some endpoints, for all wants; with `shuffle`,
 * pairs of equal cost are in random order.
 */
static int try_all (struct select *s, struct equations *y, const uint32_t *host,
                    size_t n, bool shuffle, struct error *err)
{
    int rc;

    system_open (y, s->want, s->nwants);
    rc = add_between (s, y, host, n, err);
    for (size_t i = 0; rc == 0 && shuffle && i < y->a->nrows; i++)
        y->candidate[i].cost = (y->candidate[i].cost << 16)
                               + rng_below (&s->rng, 1 << 16);
    return system_close (s, y, rc);
}

/* Drop the probes, then the endpoints, that are not needed for all targets
 * together.
 */
static int prune (struct select *s, struct error *err)
{
    uint32_t host[TOGETHER_MAX];
    struct equations y;
    uint64_t work = 0;
    size_t n;
    int rc = try_chosen (s, &y, err);

    if (rc > 0)
        choose_again (s, &y);
    system_clear (&y);
    n = chosen_hosts (s, host, TOGETHER_MAX);
    if (rc < 0 || n > TOGETHER_MAX)
        return rc < 0 ? -1 : 0;
    for (size_t i = n; i-- > 0 && work < WORK_MAX;) {
        uint32_t out = host[i];

        memmove (host + i, host + i + 1, (n - 1 - i) * sizeof (*host));
        rc = try_all (s, &y, host, n - 1, false, err);
        work += y.rref ? rref_work (y.rref) : 0;
        if (rc > 0)
            choose_again (s, &y);
        system_clear (&y);
        if (rc < 0)
            return -1;
        n = chosen_hosts (s, host, TOGETHER_MAX);
        for (i = 0; i < n && host[i] < out;)
            i++;
    }
    return 0;
}

/* Probes of the busiest link or endpoint: no plan has fewer rounds. */
static size_t busiest (const struct select *s, const struct equations *y,
                       const uint8_t *used, uint32_t *load)
{
    const struct sparse *a = y->a;
    size_t most = 0;

    memset (load, 0, (a->ncols + s->n) * sizeof (*load));
    for (size_t i = 0; i < rref_rank (y->rref); i++) {
        const struct candidate *c = y->kept[i];

        if (!used[i])
            continue;
        for (size_t k = a->start[c->row]; k < a->start[c->row + 1]; k++)
            load[a->col[k]]++;
        load[a->ncols + c->probe.a]++;
        load[a->ncols + c->probe.b]++;
    }
    for (size_t i = 0; i < a->ncols + s->n; i++)
        if (load[i] > most)
            most = load[i];
    return most;
}

/* Choose the probes again among all pairs of the endpoints, in random orders,
 * so that no link and no endpoint has many.
 */
static int spread (struct select *s, struct error *err)
{
    uint32_t host[TOGETHER_MAX];
    uint32_t *load = xcalloc (pathset_network (s->ps)->nlinks + s->n + 1,
                             sizeof (*load));
    size_t least = SIZE_MAX;
    size_t n = chosen_hosts (s, host, TOGETHER_MAX);
    uint64_t work = 0;
    int rc = 0;

    for (int i = 0; i < SPREADS && n <= TOGETHER_MAX && work < WORK_MAX
         && rc >= 0; i++) {
        struct equations y;

        rc = try_all (s, &y, host, n, true, err);
        if (rc > 0) {
            uint8_t *used = support (s, &y);
            size_t most = busiest (s, &y, used, load);

            if (most < least) {
                least = most;
                choose_again (s, &y);
            }
            free (used);
        }
        work += y.rref ? rref_work (y.rref) : WORK_MAX;
        system_clear (&y);
    }
    free (load);
    return rc < 0 ? -1 : 0;
}

/*
 * Rounds
 */

struct round_filling {
    struct select *s;
    struct equations *y;
    uint32_t *order; /* [nprobes] candidates of the system */
    uint32_t *round; /* [nprobes] */
    uint32_t *busy;  /* [columns + n] last round, from 1 */
};

static bool fits (const struct round_filling *p, uint32_t i, uint32_t mark)
{
    const struct sparse *a = p->y->a;
    const struct candidate *c = &p->y->candidate[i];

    for (size_t k = a->start[c->row]; k < a->start[c->row + 1]; k++)
        if (p->busy[a->col[k]] == mark)
            return false;
    return p->busy[a->ncols + c->probe.a] != mark
           && p->busy[a->ncols + c->probe.b] != mark;
}

static void put (struct round_filling *p, uint32_t i, uint32_t round)
{
    const struct sparse *a = p->y->a;
    const struct candidate *c = &p->y->candidate[i];

    for (size_t k = a->start[c->row]; k < a->start[c->row + 1]; k++)
        p->busy[a->col[k]] = round + 1;
    p->busy[a->ncols + c->probe.a] = round + 1;
    p->busy[a->ncols + c->probe.b] = round + 1;
    p->round[i] = round;
}

/* Fill round after round in the given order; return their number. */
static uint32_t pack (struct round_filling *p)
{
    size_t n = p->y->a->nrows;
    size_t left = n;
    uint32_t rounds = 0;

    memset (p->busy, 0, (p->y->a->ncols + p->s->n) * sizeof (*p->busy));
    memset (p->round, 0xff, n * sizeof (*p->round));
    for (; left > 0; rounds++)
        for (size_t o = 0; o < n; o++) {
            uint32_t i = p->order[o];

            if (p->round[i] == UINT32_MAX && fits (p, i, rounds + 1)) {
                put (p, i, rounds);
                left--;
            }
        }
    return rounds;
}

/* Place the probes in the plan's rounds, numbered as in the set of the chosen
 * endpoints: the best of some orders. Return the number of rounds.
 */
static uint32_t pack_plan (struct select *s, struct equations *y,
                           struct plan *plan)
{
    size_t n = y->a->nrows;
    struct round_filling p = { s, y, NULL, NULL, NULL };
    uint32_t least = UINT32_MAX;
    uint32_t *best = xcalloc (n + 1, sizeof (*best));
    uint32_t *index = xcalloc (s->n + 1, sizeof (*index));

    p.order = xcalloc (n + 1, sizeof (*p.order));
    p.round = xcalloc (n + 1, sizeof (*p.round));
    p.busy = xcalloc (y->a->ncols + s->n + 1, sizeof (*p.busy));
    for (size_t i = 0, k = 0; i < s->n; i++)
        if (s->chosen[i])
            index[i] = k++;
    for (size_t i = 0; i < n; i++)
        p.order[i] = n - 1 - i; /* long rows first */
    for (int i = 0; i < PACKINGS; i++) {
        uint32_t rounds = pack (&p);

        if (rounds < least) {
            least = rounds;
            memcpy (best, p.round, n * sizeof (*best));
        }
        rng_shuffle (&s->rng, p.order, n);
    }
    for (size_t i = 0; i < n; i++)
        plan_add (plan, best[i], index[y->candidate[i].probe.a],
                  index[y->candidate[i].probe.b]);
    free (best);
    free (index);
    free (p.order);
    free (p.round);
    free (p.busy);
    return least;
}

static struct pathset *chosen_set (const struct select *s, struct error *err)
{
    struct endpoint *e = xcalloc (s->n + 1, sizeof (*e));
    struct pathset *ps = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->chosen[i])
            e[n++] = *pathset_endpoint (s->ps, i);
    ps = pathset_create (pathset_network (s->ps), e, n, err);
    free (e);
    return ps;
}

static struct plan *make_plan (struct select *s, struct pathset **ps,
                               struct error *err)
{
    struct plan *plan = NULL;
    struct equations y = { 0 };
    size_t links;

    if (try_chosen (s, &y, err) < 0 || !(*ps = chosen_set (s, err))
        || !pathset_links (*ps, &links, err))
        goto error;
    plan = plan_create ("links");
    plan_set_rank (plan, links, s->nprobes, pack_plan (s, &y, plan));
    for (size_t i = 0; i < s->nwants; i++)
        plan_add_target (plan, s->want[i].link, s->want[i].member,
                         s->want[i].n);
error:
    system_clear (&y);
    return plan;
}

/*
 * From targets to wants
 */

static void select_clear (struct select *s)
{
    for (size_t i = 0; i < s->nwants; i++) {
        free (s->want[i].member);
        free (s->want[i].value);
    }
    free (s->want);
    near_destroy (s->near);
    free (s->chosen);
    free (s->probe);
    free (s->column);
}

static void want_link (struct want *w, uint32_t link)
{
    *w = (struct want){ .link = link, .n = 1 };
    w->member = xcalloc (1, sizeof (*w->member));
    w->value = xcalloc (1, sizeof (*w->value));
    w->member[0] = (struct plan_member){ link, 1, 1 };
    w->value[0] = 1;
}

static void select_init (struct select *s, struct pathset *all,
                         const uint32_t *target, size_t n, uint64_t seed)
{
    const struct network *net = pathset_network (all);

    *s = (struct select){ .ps = all, .n = pathset_size (all) };
    rng_seed (&s->rng, seed);
    s->want = xcalloc (n + 1, sizeof (*s->want));
    s->chosen = xcalloc (s->n + 1, 1);
    s->column = xarray (net->nlinks + 1, sizeof (*s->column));
    for (size_t i = 0; i < net->nlinks; i++)
        s->column[i] = -1;
    for (int kind = LINK_HOST; kind <= LINK_SWITCH; kind++)
        for (size_t i = 0; i < n; i++) {
            if ((int)net->link[target[i]].kind != kind
                || s->column[target[i]] >= 0)
                continue;
            s->column[target[i]] = 0;
            want_link (&s->want[s->nwants++], target[i]);
        }
    for (size_t i = 0; i < n; i++)
        s->column[target[i]] = -1;
    s->near = near_create (all);
}

/* Add redundant rounds, from all pairs of the plan's endpoints. */
static int extend (struct plan *plan, struct pathset *ps,
                   const struct plan_options *opts, struct error *err)
{
    struct basis basis;
    struct rng rng;
    int rc;

    if (opts->extra_rounds == 0)
        return 0;
    rng_seed (&rng, opts->seed);
    if (basis_make (&basis, ps, &rng, err) < 0)
        return -1;
    rc = redundant_extend (plan, ps, &basis, opts->extra_rounds, opts->seed,
                           err);
    basis_clear (&basis);
    return rc;
}

struct plan *select_links (struct pathset *all, const uint32_t *target,
                           size_t n, const struct plan_options *opts,
                           struct pathset **ps, struct error *err)
{
    struct plan *plan = NULL;
    struct select s;

    *ps = NULL;
    select_init (&s, all, target, n, opts->seed);
    for (size_t i = 0; i < s.nwants; i++)
        if (solve_want (&s, &s.want[i], err) < 0)
            goto error;
    if (s.nprobes == 0) {
        error_input (err, "no path between these hosts crosses %s%s",
                     s.nwants > 0
                         ? pathset_network (all)->link[s.want[0].link].id
                         : "any link",
                     s.nwants > 1 ? ", or another of the links" : "");
        goto error;
    }
    if (prune (&s, err) == 0 && spread (&s, err) == 0)
        plan = make_plan (&s, ps, err);
    if (plan && extend (plan, *ps, opts, err) < 0) {
        plan_destroy (plan);
        plan = NULL;
    }
error:
    select_clear (&s);
    return plan;
}
