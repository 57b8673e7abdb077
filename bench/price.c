/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prices of links, and the bound on rounds that they prove.
 *
 * Notes: multiplicative weights (Arora, Hazan and Kale 2012). The prices of
 * links that the cheapest basis loads more than the average rise. The steps get
 * shorter if the prices have not improved for a while; the search then returns
 * to the best prices. All numbers are integers, so all machines find the same
 * result. Rounding cannot make a bound wrong, because any prices give a valid
 * bound.
 *
 * What a round can sell is searched from the most expensive link down: either
 * the round contains one of the rows that cross the link, or the link is left
 * over. So the search only follows branches that leave little enough over. The
 * round that it finds shows which prices are too high.
 *
 * A step costs a sort and an elimination. Most rows are rejected before it: two
 * null vectors show that a row adds nothing. Both are wrong at once with a
 * probability of 2^-62.
 */
#include "config.h"
#include "bench/price.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum {
    STALE_MAX = 16,     /* rows that null vectors may misjudge before they are
                           drawn again */
    SORT_COST = 8,      /* per row, in entries */
    BITS = 16,          /* of a fraction */
    STEP = 1 << 14,     /* price rises by 1/4 if the load is as large as the
                           average */
    STEP_LEAST = 1 << 6,
    LOAD_MOST = 4,      /* in averages; the limit for greater loads */
    PATIENCE = 16,      /* steps without an improvement, for one length */
    GAIN = 1 << 13,     /* an improvement is more than 1/8192 */
    PAIRS_MAX = 1 << 19, /* whose rows are stored: those of 1,024 endpoints */
    ROUND_ROWS = 200,   /* rows for which all rounds may be searched */
    LINKS_PART = 4,     /* initial prices of all host links over those of the
                           others, at least */
    SLOWER = 64,        /* each step is 1/64 shorter than the one before */
};

#define PRICE_MAX (UINT64_C (1) << 36)

struct priced_row {
    uint64_t cost;
    uint32_t row;
};

struct price_search {
    const struct rows *rows;
    size_t rank;
    struct rng *rng;
    struct price now;
    uint64_t *each;      /* [m] */
    uint32_t *load;      /* [m] of the cheapest basis */
    struct priced_row *offer; /* [n] rows, the cheapest first */
    uint64_t *z[2];      /* [m] null vectors */
    uint64_t step;
    uint64_t work, effort;
};

size_t price_rounds (const struct price *price)
{
    return price->sum ? (price->cost + price->sum - 1) / price->sum : 0;
}

/* Whether entry k of a row is the first of its column. */
static bool is_first (const struct rows *r, size_t i, size_t k)
{
    for (size_t j = r->first[i]; j < k; j++)
        if (r->col[j] == r->col[k])
            return false;
    return true;
}

static uint64_t cost_of (const struct price_search *s, size_t i)
{
    const struct rows *r = s->rows;
    uint64_t cost = 0;

    for (size_t k = r->first[i]; k < r->first[i + 1]; k++)
        if (is_first (r, i, k))
            cost += s->each[r->col[k]];
    return cost;
}

static int compare_cost (const void *a, const void *b)
{
    const struct priced_row *x = a;
    const struct priced_row *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static void sort_offers (struct price_search *s)
{
    const struct rows *r = s->rows;

    for (size_t i = 0; i < r->n; i++)
        s->offer[i] = (struct priced_row){ cost_of (s, i), i };
    qsort (s->offer, r->n, sizeof (*s->offer), compare_cost);
    s->work += r->first[r->n] + SORT_COST * r->n;
}

static void take (struct price_search *s, const struct priced_row *o)
{
    const struct rows *r = s->rows;

    s->now.cost += o->cost;
    for (size_t k = r->first[o->row]; k < r->first[o->row + 1]; k++)
        if (is_first (r, o->row, k))
            s->load[r->col[k]]++;
}

static void draw_nulls (struct price_search *s, const struct echelon *e)
{
    for (int i = 0; i < 2; i++)
        s->work += echelon_null (e, s->rng, s->z[i]);
}

/* Whether the row may be independent of the rows that the null vectors were
 * drawn for.
 */
static bool is_new (const struct price_search *s, size_t i)
{
    const struct rows *r = s->rows;
    uint64_t x = 0, y = 0;

    for (size_t k = r->first[i]; k < r->first[i + 1]; k++) {
        x += s->z[0][r->col[k]];
        y += s->z[1][r->col[k]];
    }
    return x % ECHELON_PRIME != 0 || y % ECHELON_PRIME != 0;
}

/* Take independent rows, by ascending cost. Returns false if the effort is used
 * up first.
 */
static bool take_cheapest (struct price_search *s, struct echelon *e)
{
    const struct rows *r = s->rows;
    unsigned int stale = STALE_MAX;

    for (size_t i = 0; i < r->n && echelon_rank (e) < s->rank; i++) {
        uint32_t row = s->offer[i].row;
        size_t len = r->first[row + 1] - r->first[row];
        if (stale == STALE_MAX) {
            draw_nulls (s, e);
            stale = 0;
        }
        if (s->work + echelon_work (e) >= s->effort)
            return false;
        s->work += len;
        if (!is_new (s, row))
            continue;
        if (echelon_add (e, r->col + r->first[row], len))
            take (s, &s->offer[i]);
        else
            stale++;
    }
    return true;
}

/* The cheapest basis at the current prices. Returns as take_cheapest does. */
static bool find_cheapest (struct price_search *s)
{
    struct echelon *e = echelon_create (s->rows->m, s->rows->uses);
    bool all;

    sort_offers (s);
    s->now = (struct price){ 0 };
    for (size_t c = 0; c < s->rows->m; c++) {
        s->now.sum += s->each[c];
        s->load[c] = 0;
    }
    all = take_cheapest (s, e);
    s->work += echelon_work (e);
    echelon_destroy (e);
    return all;
}

static void halve_prices (struct price_search *s)
{
    uint64_t most = 0;

    for (size_t c = 0; c < s->rows->m; c++)
        if (most < s->each[c])
            most = s->each[c];
    for (size_t c = 0; c < s->rows->m && most > PRICE_MAX; c++)
        s->each[c] = s->each[c] / 2 + 1;
}

/* Raise the prices of loaded links, relative to the others. */
static void raise_prices (struct price_search *s)
{
    uint64_t average = ((unsigned __int128)s->now.cost << BITS) / s->now.sum;
    uint64_t *each = s->each;

    for (size_t c = 0; c < s->rows->m && average > 0; c++) {
        uint64_t load = ((uint64_t)s->load[c] << 2 * BITS) / average;

        if (load > LOAD_MOST << BITS)
            load = LOAD_MOST << BITS;
        each[c] += each[c] * (load * s->step >> BITS) >> BITS;
    }
    halve_prices (s);
}

static void search_init (struct price_search *s)
{
    size_t m = s->rows->m;

    s->load = xcalloc (m + 1, sizeof (*s->load));
    s->offer = xcalloc (s->rows->n + 1, sizeof (*s->offer));
    s->z[0] = xcalloc (m + 1, sizeof (*s->z[0]));
    s->z[1] = xcalloc (m + 1, sizeof (*s->z[1]));
    s->step = STEP;
}

static void search_clear (struct price_search *s)
{
    free (s->load);
    free (s->offer);
    free (s->z[0]);
    free (s->z[1]);
}

/* Whether these prices give a clearly better bound than the best ones. */
static bool is_more (const struct price *now, const struct price *best)
{
    unsigned __int128 x = (unsigned __int128)now->cost * best->sum;
    unsigned __int128 y = (unsigned __int128)best->cost * now->sum;

    return best->sum == 0 || x > y + y / GAIN;
}

/* Search for better prices, step by step. */
static void improve (struct price_search *s, struct price *best,
                     uint64_t *best_each)
{
    size_t bytes = s->rows->m * sizeof (*best_each);
    unsigned int idle = 0;

    while (s->step >= STEP_LEAST && find_cheapest (s)) {
        if (is_more (&s->now, best)) {
            *best = s->now;
            memcpy (best_each, s->each, bytes);
            idle = 0;
        }
        else if (++idle == PATIENCE) {
            memcpy (s->each, best_each, bytes);
            s->step = s->step * 5 / 8;
            idle = 0;
        }
        raise_prices (s);
    }
}

struct price price_find (const struct rows *rows, size_t rank, uint64_t *each,
                         struct rng *rng, uint64_t *effort)
{
    struct price_search s = {
        .rows = rows,
        .rank = rank,
        .rng = rng,
        .each = each,
        .effort = *effort,
    };
    uint64_t *best_each = xcalloc (rows->m, sizeof (*best_each));
    struct price price = { 0 };

    search_init (&s);
    improve (&s, &price, best_each);
    if (price.sum > 0)
        memcpy (each, best_each, rows->m * sizeof (*each));
    *effort -= s.work < *effort ? s.work : *effort;
    search_clear (&s);
    free (best_each);
    return price;
}

/*
 * What a round can sell
 */

enum state { IDLE, SOLD, LEFT };

struct sold_round {
    struct price_search *s;
    uint32_t *order;    /* [m] columns, the most expensive first */
    uint32_t *first;    /* [m + 1] index into crossing */
    uint32_t *crossing; /* rows that cross a column, the most expensive first */
    uint8_t *state;     /* [m] of a column */
    uint64_t least;     /* the least that the round must sell */
};

static void round_clear (struct sold_round *r)
{
    free (r->order);
    free (r->first);
    free (r->crossing);
    free (r->state);
}

static void round_init (struct sold_round *r, struct price_search *s)
{
    const struct rows *rows = s->rows;

    *r = (struct sold_round){ .s = s };
    r->order = xcalloc (rows->m + 1, sizeof (*r->order));
    r->first = xcalloc (rows->m + 2, sizeof (*r->first));
    r->crossing = xcalloc (rows->first[rows->n] + 1, sizeof (*r->crossing));
    r->state = xcalloc (rows->m + 1, 1);
}

static void order_columns (struct sold_round *r)
{
    const struct price_search *s = r->s;
    size_t m = s->rows->m;

    for (size_t i = 0; i < m; i++) {
        size_t at = i;

        for (; at > 0 && s->each[r->order[at - 1]] < s->each[i]; at--)
            r->order[at] = r->order[at - 1];
        r->order[at] = i;
    }
}

/* List the rows of each column. The offers must be sorted. */
static void list_crossing (struct sold_round *r)
{
    const struct rows *rows = r->s->rows;

    memset (r->first, 0, (rows->m + 2) * sizeof (*r->first));
    for (size_t i = 0; i < rows->n; i++)
        for (size_t k = rows->first[i]; k < rows->first[i + 1]; k++)
            r->first[rows->col[k] + 2] += is_first (rows, i, k);
    for (size_t c = 0; c < rows->m; c++)
        r->first[c + 2] += r->first[c + 1];
    for (size_t o = rows->n; o-- > 0;) {
        uint32_t i = r->s->offer[o].row;

        for (size_t k = rows->first[i]; k < rows->first[i + 1]; k++)
            if (is_first (rows, i, k))
                r->crossing[r->first[rows->col[k] + 1]++] = i;
    }
}

static void mark (struct sold_round *r, uint32_t row, enum state state)
{
    const struct rows *rows = r->s->rows;

    for (size_t k = rows->first[row]; k < rows->first[row + 1]; k++)
        r->state[rows->col[k]] = state;
}

static bool is_free (struct sold_round *r, uint32_t row)
{
    const struct rows *rows = r->s->rows;
    size_t k = rows->first[row];

    while (k < rows->first[row + 1] && r->state[rows->col[k]] == IDLE)
        k++;
    r->s->work += k - rows->first[row] + 1;
    return k == rows->first[row + 1];
}

/* Whether some round sells enough, given the decisions for the first `at`
 * columns, and leaves at most `spare` over. The round stays in state. If the
 * effort is used up, returns true, as nothing is proven.
 */
static bool sells (struct sold_round *r, size_t at, uint64_t spare)
{
    const struct price_search *s = r->s;
    uint32_t c;

    while (at < s->rows->m && r->state[r->order[at]] != IDLE)
        at++;
    if (at == s->rows->m || s->work >= s->effort)
        return true;
    c = r->order[at];
    for (size_t k = r->first[c]; k < r->first[c + 1]; k++) {
        uint32_t row = r->crossing[k];

        if (!is_free (r, row))
            continue;
        mark (r, row, SOLD);
        if (sells (r, at + 1, spare))
            return true;
        mark (r, row, IDLE);
    }
    if (s->each[c] > spare)
        return false;
    r->state[c] = LEFT;
    if (sells (r, at + 1, spare - s->each[c]))
        return true;
    r->state[c] = IDLE;
    return false;
}

/* Raise the prices of links that bases load, and lower those of links that the
 * round sells.
 */
static void adjust_prices (struct price_search *s, const struct sold_round *r,
                           size_t rounds)
{
    for (size_t c = 0; c < s->rows->m; c++) {
        int64_t load = ((int64_t)s->load[c] << BITS) / (int64_t)rounds;

        if (load > LOAD_MOST << BITS)
            load = LOAD_MOST << BITS;
        if (r->state[c] == SOLD)
            load -= 1 << BITS;
        load = load * (int64_t)s->step / (1 << BITS);
        s->each[c] += (int64_t)s->each[c] * load / (1 << BITS);
    }
}

/* Whether the current basis costs more than this many rounds can sell. */
static bool excludes (struct sold_round *r, size_t rounds)
{
    struct price_search *s = r->s;

    r->least = (s->now.cost + rounds - 1) / rounds;
    if (r->least > s->now.sum)
        return true;
    order_columns (r);
    list_crossing (r);
    memset (r->state, IDLE, s->rows->m);
    return !sells (r, 0, s->now.sum - r->least) && s->work < s->effort;
}

struct price price_exclude (const struct rows *rows, size_t rank,
                            size_t rounds, uint64_t *each, struct rng *rng,
                            uint64_t *effort)
{
    struct price_search s = {
        .rows = rows,
        .rank = rank,
        .rng = rng,
        .each = each,
        .effort = *effort,
    };
    struct price price = { 0 };
    struct sold_round r;

    search_init (&s);
    round_init (&r, &s);
    while (s.step >= STEP_LEAST && find_cheapest (&s)) {
        if (excludes (&r, rounds)) {
            price = (struct price){ s.now.cost, r.least - 1 };
            break;
        }
        adjust_prices (&s, &r, rounds);
        halve_prices (&s);
        s.step -= s.step / SLOWER;
    }
    *effort -= s.work < *effort ? s.work : *effort;
    round_clear (&r);
    search_clear (&s);
    return price;
}

/*
 * A set of endpoints
 */

/* The rows of all pairs. */
static int gather (struct rows *rows, struct pathset *ps, struct error *err)
{
    size_t n = pathset_size (ps);

    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            uint32_t col[2 * ROW_MAX];
            struct row row;
            size_t len = 0;

            if (pathset_row (ps, a, b, &row, err) < 0)
                return -1;
            for (size_t k = 0; k < row.n; k++)
                for (int c = 0; c < row.count[k]; c++)
                    col[len++] = pathset_column (ps, row.link[k]);
            rows_add (rows, (struct probe){ a, b }, col, len);
        }
    return 0;
}

/* The initial prices: PRICE_FIRST for host links. The other links together cost
 * at most 1/LINKS_PART of what the host links cost together.
 */
static uint64_t *first_prices (const struct pathset *ps,
                               const uint32_t *link, size_t m)
{
    const struct link_info *info = pathset_network (ps)->link;
    size_t n = pathset_size (ps);
    uint64_t *each = xcalloc (m, sizeof (*each));

    for (size_t c = 0; c < m; c++)
        each[c] = info[link[c]].kind == LINK_HOST
            ? PRICE_FIRST : PRICE_FIRST / LINKS_PART * n / (m + n);
    return each;
}

int price_bound (struct pathset *ps, size_t rank, uint64_t effort,
                 size_t *rounds, struct error *err)
{
    size_t n = pathset_size (ps), m;
    const uint32_t *link = pathset_links (ps, &m, err);
    struct rows rows;
    struct rng rng;
    uint64_t *each;
    int rc;

    if (!link)
        return -1;
    if (n * (n - 1) / 2 > PAIRS_MAX)
        return 0;
    rng_seed (&rng, n);
    rows_init (&rows, m, &rng);
    each = first_prices (ps, link, m);
    if ((rc = gather (&rows, ps, err)) == 0) {
        struct price price = price_find (&rows, rank, each, &rng, &effort);

        do {
            if (price_rounds (&price) > *rounds)
                *rounds = price_rounds (&price);
            if (rows.n > ROUND_ROWS || *rounds == 0)
                break;
            price = price_exclude (&rows, rank, *rounds, each, &rng, &effort);
        } while (price.sum > 0);
    }
    free (each);
    rows_clear (&rows);
    return rc;
}
