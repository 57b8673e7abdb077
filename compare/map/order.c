/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders of ranks. */
#include "config.h"
#include "compare/map/order.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/terminal.h"
#include "util/text.h"

/* Of improving one order: visits of a rank's neighbour, or an empty place. */
enum { VISITS_MAX = 200000000 };

#define SLACK 1e-9 /* of a cost: more than rounding */

static const char *const improving[ORDER_WAYS] = {
    "improving block order",
    "improving cyclic order",
    "improving the order of Scotch",
};

/*
 * Hosts
 */

struct infer_matrix *order_hosts (const struct infer_matrix *m,
                                  struct error *err)
{
    uint32_t *host = xarray (m->n, sizeof (*host)), n = 0, *count;
    char **label = xarray (m->n, sizeof (*label));
    struct infer_matrix *h;

    for (uint32_t i = 0; i < m->n; i++) {
        char *name = xstrdup (m->label[i]);

        name[strcspn (name, ":")] = '\0';
        for (host[i] = 0; host[i] < n; host[i]++)
            if (strcmp (label[host[i]], name) == 0)
                break;
        if (host[i] == n)
            label[n++] = name;
        else
            free (name);
    }
    count = xcalloc ((size_t)n * n, sizeof (*count));
    h = infer_matrix_create (n, err);
    for (size_t i = 0; h && i < (size_t)m->n * m->n; i++) {
        uint32_t a = i / m->n, b = i % m->n;
        size_t at = (size_t)host[a] * n + host[b];

        if (a == b || isnan (m->ns[i]))
            continue;
        if (count[at]++ == 0)
            h->ns[at] = 0;
        h->ns[at] += (m->ns[i] - h->ns[at]) / count[at];
    }
    if (h) {
        char **numbers = h->label;

        h->label = label;
        label = numbers;
    }
    for (size_t i = 0; h && i < (size_t)n * n; i++)
        if (isnan (h->ns[i])) {
            error_input (err, "%s to %s is not known", h->label[i / n],
                         h->label[i % n]);
            infer_matrix_destroy (h);
            h = NULL;
        }
    while (n > 0)
        free (label[--n]);
    free (label);
    free (host);
    free (count);
    return h;
}

/*
 * Improving
 */

/* Places are numbered node by node. Those that are left over hold numbers from
 * the number of ranks on.
 */
struct places {
    const struct talk *t;
    const struct infer_matrix *hosts;
    uint32_t tasks, n;  /* of a node; of all nodes */
    uint32_t *of, *rank; /* [n] the place of a rank; the rank in a place */
    double sum, least;   /* an exchange is worth it that saves as much */
    double bound;        /* pairs with a greater latency are too far apart */
    int farther;         /* how many more of them an exchange would make */
    bool changed;
    uint64_t visits;
};

/* By how much it would cost more if rank r went from its place to node b. How
 * many pairs would get too far apart is added. Those in k places from i or j on
 * move as well, and keep their distance from it.
 */
static double move_cost (struct places *p, uint32_t r, uint32_t b, uint32_t i,
                         uint32_t j, uint32_t k)
{
    const struct csr *with = &p->t->with;
    const double *from, *to;
    double sum = 0;

    if (r >= p->t->n) {
        p->visits++;
        return 0;
    }
    from = p->hosts->ns + (size_t)(p->of[r] / p->tasks) * p->hosts->n;
    to = p->hosts->ns + (size_t)b * p->hosts->n;
    for (size_t e = with->start[r]; e < with->start[r + 1]; e++) {
        uint32_t at = p->of[with->v[e]];
        double was = from[at / p->tasks], ns = to[at / p->tasks];

        if (at - i < k || at - j < k)
            continue;
        sum += p->t->amount[e] * (ns - was);
        p->farther += (ns > p->bound) - (was > p->bound);
    }
    p->visits += with->start[r + 1] - with->start[r];
    return sum;
}

/* The same if the ranks in k places from i on exchange theirs with those from j
 * on: of two whole nodes, or two ranks.
 */
static double exchange (struct places *p, uint32_t i, uint32_t j, uint32_t k)
{
    double sum = 0;

    p->farther = 0;
    for (uint32_t x = 0; x < k; x++)
        sum += move_cost (p, p->rank[i + x], j / p->tasks, i, j, k)
               + move_cost (p, p->rank[j + x], i / p->tasks, i, j, k);
    return sum;
}

static void assign_place (struct places *p, uint32_t place, uint32_t rank)
{
    p->rank[place] = rank;
    p->of[rank] = place;
}

/* Exchange if that brings pairs near enough, or makes it cheaper. */
static void exchange_if_better (struct places *p, uint32_t i, uint32_t j,
                                uint32_t k)
{
    double more;

    if (i / p->tasks == j / p->tasks)
        return;
    more = exchange (p, i, j, k);
    if (p->farther > 0 || (p->farther == 0 && more >= -p->least))
        return;
    for (uint32_t x = 0; x < k; x++) {
        uint32_t rank = p->rank[i + x];

        assign_place (p, i + x, p->rank[j + x]);
        assign_place (p, j + x, rank);
    }
    p->sum += more;
    p->changed = true;
}

/* With each rank on the nodes of those that this one talks to: what is cheap
 * first.
 */
static void try_near (struct places *p, uint32_t i)
{
    const struct csr *with = &p->t->with;
    uint32_t r = p->rank[i];

    if (r >= p->t->n)
        return;
    for (size_t e = with->start[r]; e < with->start[r + 1]; e++) {
        uint32_t node = p->of[with->v[e]] / p->tasks;

        for (uint32_t x = 0; x < p->tasks; x++)
            exchange_if_better (p, p->of[r], node * p->tasks + x, 1);
    }
}

static void try_nodes (struct places *p, uint32_t i)
{
    if (i % p->tasks == 0)
        for (uint32_t j = i + p->tasks; j < p->n; j += p->tasks)
            exchange_if_better (p, i, j, p->tasks);
}

static void try_all (struct places *p, uint32_t i)
{
    for (uint32_t j = i + 1; j < p->n; j++)
        exchange_if_better (p, i, j, 1);
}

/* It shows the part of VISITS_MAX that is used: often it ends before. */
static void improve_rank_order (struct places *p, enum order_way way)
{
    static void (*const passes[]) (struct places *p, uint32_t i)
        = { try_near, try_nodes, try_all };
    size_t pass = 0, npasses = sizeof (passes) / sizeof (passes[0]);

    p->visits = 0;
    p->least = SLACK * p->sum;
    while (pass < npasses && p->visits < VISITS_MAX) {
        p->changed = false;
        for (uint32_t i = 0; i < p->n && p->visits < VISITS_MAX; i++) {
            terminal_work (improving[way], p->visits * 100 / VISITS_MAX, 100);
            passes[pass] (p, i);
        }
        pass = p->changed ? 0 : pass + 1;
    }
}

/*
 * Orders
 */

static struct order_cost cost (const struct places *p)
{
    const struct csr *with = &p->t->with;
    struct order_cost c = { 0 };

    for (uint32_t r = 0; r < p->t->n; r++) {
        double sum = 0;

        for (size_t e = with->start[r]; e < with->start[r + 1]; e++) {
            double ns = infer_matrix_at (p->hosts, p->of[r] / p->tasks,
                                         p->of[with->v[e]] / p->tasks);

            sum += p->t->amount[e] * ns;
            c.far = fmax (c.far, ns);
        }
        c.sum += sum / 2;
        c.rank = fmax (c.rank, sum);
    }
    return c;
}

/* Fill the places by the nodes of the ranks. Those of a node that is full, and
 * numbers beyond the ranks, go where places are left.
 */
static void fill_places (struct places *p, const uint32_t *node)
{
    uint32_t *used = xcalloc (p->hosts->n, sizeof (*used)), free_node = 0;

    for (uint32_t r = 0; r < p->n; r++)
        p->of[r] = r < p->t->n && used[node[r]] < p->tasks
                       ? node[r] * p->tasks + used[node[r]]++ : UINT32_MAX;
    for (uint32_t r = 0; r < p->n; r++) {
        if (p->of[r] == UINT32_MAX) {
            while (used[free_node] == p->tasks)
                free_node++;
            p->of[r] = free_node * p->tasks + used[free_node]++;
        }
        p->rank[p->of[r]] = r;
    }
    free (used);
}

/* Fill the places in this way. */
static int begin_rank_order (struct places *p, enum order_way way,
                             struct error *err)
{
    uint32_t *node = xarray (p->t->n, sizeof (*node));
    int rc = 0;

    for (uint32_t r = 0; r < p->t->n; r++)
        node[r] = way == ORDER_CYCLIC ? r % p->hosts->n : r / p->tasks;
    if (way == ORDER_SCOTCH) {
        terminal_work ("Scotch maps", 0, 0);
        rc = gmap (p->t, p->hosts, p->tasks, node, err);
    }
    if (rc == 0)
        fill_places (p, node);
    free (node);
    return rc;
}

/* The cheapest of all ways in which no pair is too far apart; o->cost.sum is
 * INFINITY if there is none.
 */
static int choose_cheapest_order (struct rank_order *o, struct places *p,
                                  struct error *err)
{
    o->cost.sum = INFINITY;
    for (int way = 0; way < (gmap_built ? ORDER_WAYS : ORDER_SCOTCH); way++) {
        struct order_cost c;

        if (begin_rank_order (p, way, err) < 0)
            return -1;
        o->start[way] = cost (p);
        p->sum = o->start[way].sum;
        improve_rank_order (p, way);
        c = cost (p);
        if (c.far > p->bound || o->cost.sum - c.sum <= p->least)
            continue;
        o->cost = c;
        o->from = way;
        for (uint32_t r = 0; r < p->t->n; r++)
            o->node[r] = p->of[r] / p->tasks;
    }
    return 0;
}

int order_ranks (struct rank_order *o, const struct talk *t,
                 const struct infer_matrix *hosts, uint32_t tasks,
                 struct error *err)
{
    struct places p = { .t = t, .hosts = hosts, .tasks = tasks,
                        .n = hosts->n * tasks };
    const struct order_cost *base = &o->start[ORDER_BLOCK];
    int rc;

    *o = (struct rank_order){ .start[ORDER_SCOTCH].sum = NAN };
    if (tasks > TALK_RANKS_MAX / hosts->n)
        return error_input (err, "%u nodes of %u tasks: more than %d ranks",
                            hosts->n, tasks, TALK_RANKS_MAX);
    if (t->n > p.n)
        return error_input (err, "%s, and %u nodes of %s have %u places",
                            COUNTED (t->n, "rank"), hosts->n,
                            COUNTED (tasks, "task"), p.n);
    p.of = xarray (p.n, sizeof (*p.of));
    p.rank = xarray (p.n, sizeof (*p.rank));
    o->node = xarray (t->n, sizeof (*o->node));
    for (int way = ORDER_BLOCK; way <= ORDER_CYCLIC; way++) {
        begin_rank_order (&p, way, NULL);
        o->start[way] = cost (&p);
        if (o->start[way].sum < base->sum)
            base = &o->start[way];
    }
    p.bound = fmin (o->start[ORDER_BLOCK].far, o->start[ORDER_CYCLIC].far);
    rc = choose_cheapest_order (o, &p, err);
    if (rc == 0 && base->far > p.bound
        && o->cost.sum >= base->sum * (1 - SLACK)) { /* none is cheaper */
        p.bound = base->far;
        rc = choose_cheapest_order (o, &p, err);
    }
    free (p.of);
    free (p.rank);
    return rc;
}

void order_clear (struct rank_order *o)
{
    free (o->node);
    *o = (struct rank_order){ 0 };
}
