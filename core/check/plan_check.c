/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan's checker. It shares nothing with the planner but paths and trees:
 * it counts forward and reverse links itself, and uses another elimination
 * (check/echelon).
 *
 * Notes: let z be a random vector orthogonal to the plan's basis rows. If all
 * pairs' rows are orthogonal to it as well, none of them adds to the rank
 * (wrong with probability 2^-31, so there are two vectors). The row of i and j,
 * on leaves s and t, is psi_i(t) + psi_j(s), where psi_i(t) is the first hop of
 * i and the links from leaf t to i in the tree of i. Inserting z, all pairs are
 * orthogonal if and only if
 *
 *     psi_i(t) = C(s,t) for all i on s, for every leaf t != s,
 *     C(s,t) + C(t,s) = 0,
 *     psi_i(s) + psi_j(s) = 0 for i, j on s, not of one port.
 *
 * C is not stored: with a random weight for each pair {s,t}, the weighted sum
 * of all C(s,t) is 0 if all C(s,t) + C(t,s) are, and otherwise with probability
 * 2^-31. Cost: n trees, and an elimination of rank rows.
 */
#include "config.h"
#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/check/echelon.h"
#include "core/paths/tree.h"
#include "util/alloc.h"
#include "util/rng.h"

enum { VECTORS = 2 };

struct check {
    struct pathset *ps;
    const struct plan *plan;
    bool schedule; /* from its rules */
    struct echelon *form;
    uint32_t *uses;      /* [nlinks] basis probes that cross the link */
    size_t *link_round;  /* [nlinks] last round, from 1, that used it */
    size_t *end_round;   /* [nports] the same for ports */
    uint8_t *used;       /* [nlinks] by any pair */
    uint64_t *z[VECTORS]; /* [nlinks] orthogonal to the basis rounds */
    struct rng rng;
};

/* The links from a to b and from b to a; link[] has room for ROW_MAX. */
static int both_ways (const struct check *c, uint32_t a, uint32_t b,
                      uint32_t *link, struct error *err)
{
    int there = pathset_walk (c->ps, a, b, link, err);
    int back = there < 0 ? -1
                         : pathset_walk (c->ps, b, a, link + there, err);

    if (back < 0)
        return -1;
    for (int i = 0; i < there + back; i++)
        link[i] = arc_link (link[i]);
    return there + back;
}

static const char *name (const struct check *c, uint32_t i)
{
    return pathset_endpoint (c->ps, i)->name;
}

/* Endpoints in range, each port and each link once in the round. */
static int check_round (struct check *c, size_t round, struct error *err)
{
    const struct network *net = pathset_network (c->ps);
    uint32_t link[ROW_MAX];
    size_t n;
    const struct probe *p = plan_round (c->plan, round, &n);

    if (n == 0)
        return error_input (err, "round %zu is empty", round + 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t end[2] = { p[i].a, p[i].b };
        uint32_t port;
        int nlinks;

        for (int k = 0; k < 2; k++) {
            if (end[k] >= pathset_size (c->ps))
                return error_input (err, "round %zu, probe %zu: endpoint %u"
                                    " is out of range", round + 1, i + 1,
                                    end[k]);
            port = pathset_port (c->ps, end[k]);
            if (c->end_round[port] == round + 1)
                return error_input (err, "round %zu: %s is in two probes",
                                    round + 1, name (c, end[k]));
            c->end_round[port] = round + 1;
        }
        if ((nlinks = both_ways (c, end[0], end[1], link, err)) < 0)
            return -1;
        for (int k = 0; k < nlinks; k++) {
            /* the probe itself may cross a link in both directions */
            int first = 0;

            while (link[first] != link[k])
                first++;
            if (first < k)
                continue;
            if (c->link_round[link[k]] == round + 1 && !c->schedule)
                return error_input (err, "round %zu: %s to %s shares link %s"
                                    " with another probe", round + 1,
                                    name (c, end[0]), name (c, end[1]),
                                    net->link[link[k]].id);
            c->link_round[link[k]] = round + 1;
            if (round < plan_basis_rounds (c->plan))
                c->uses[link[k]]++;
        }
    }
    return 0;
}

struct checked_probe {
    struct probe probe;
    size_t round;
    int length;
};

static int compare_length (const void *a, const void *b)
{
    const struct checked_probe *x = a;
    const struct checked_probe *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return memcmp (&x->probe, &y->probe, sizeof (x->probe));
}

/* The probes of the basis rounds, those with short rows first; the caller frees
 * them.
 */
static struct checked_probe *list_basis (const struct check *c, size_t *count,
                                 struct error *err)
{
    struct checked_probe *order = xcalloc (plan_probes (c->plan),
                                           sizeof (*order));
    uint32_t link[ROW_MAX];
    size_t n = 0;

    for (size_t r = 0; r < plan_basis_rounds (c->plan); r++) {
        size_t more;
        const struct probe *p = plan_round (c->plan, r, &more);

        for (size_t i = 0; i < more; i++) {
            int length = both_ways (c, p[i].a, p[i].b, link, err);

            if (length < 0) {
                free (order);
                return NULL;
            }
            order[n++] = (struct checked_probe){ p[i], r, length };
        }
    }
    qsort (order, n, sizeof (*order), compare_length);
    *count = n;
    return order;
}

/* Add them to the form: all must be independent, except in a schedule. */
static int add_basis (struct check *c, const struct checked_probe *order,
                      size_t n, struct error *err)
{
    uint32_t link[ROW_MAX];

    for (size_t i = 0; i < n; i++) {
        const struct probe *p = &order[i].probe;
        int nlinks = both_ways (c, p->a, p->b, link, err);

        if (nlinks < 0)
            return -1;
        if (!echelon_add (c->form, link, nlinks) && !c->schedule)
            return error_input (err, "round %zu: %s to %s follows from the"
                                " other probes of the basis rounds",
                                order[i].round + 1, name (c, p->a),
                                name (c, p->b));
    }
    return 0;
}

static int check_rank (struct check *c, struct error *err)
{
    size_t rank = plan_rank (c->plan);
    struct checked_probe *order;
    size_t n;
    int rc;

    if (!(order = list_basis (c, &n, err)))
        return -1;
    c->form = echelon_create (pathset_network (c->ps)->nlinks, c->uses);
    if (n != rank && !c->schedule)
        rc = error_input (err, "%zu probes in the basis rounds, but a rank"
                          " of %zu", n, rank);
    else
        rc = add_basis (c, order, n, err);
    if (rc == 0 && echelon_rank (c->form) != rank)
        rc = error_input (err, "the rounds have a rank of %zu, the plan says"
                          " %zu", echelon_rank (c->form), rank);
    free (order);
    return rc;
}

/*
 * No pair of the set adds to the rank, and the links are those of all pairs.
 */

static void draw_null (struct check *c)
{
    for (int v = 0; v < VECTORS; v++) {
        c->z[v] = xcalloc (pathset_network (c->ps)->nlinks, sizeof (*c->z[v]));
        echelon_null (c->form, &c->rng, c->z[v]);
    }
}

/* Is the row of a and b orthogonal to z? 1, 0, or -1 with err. */
static int orthogonal (const struct check *c, uint32_t a, uint32_t b,
                       struct error *err)
{
    uint32_t link[ROW_MAX];
    int n = both_ways (c, a, b, link, err);
    int rc = 1;

    for (int v = 0; v < VECTORS; v++) {
        uint64_t sum = 0;

        for (int k = 0; k < n; k++)
            sum += c->z[v][link[k]];
        rc &= sum % ECHELON_PRIME == 0;
    }
    return n < 0 ? -1 : rc;
}

static int expect_orthogonal (const struct check *c, uint32_t a, uint32_t b,
                              struct error *err)
{
    int rc = orthogonal (c, a, b, err);

    if (rc == 0)
        return error_input (err, "%s to %s does not follow from the basis"
                            " rounds: the rank is more than %zu", name (c, a),
                            name (c, b), echelon_rank (c->form));
    return rc < 0 ? -1 : 0;
}

/* Sums of z over the trees of all endpoints, leaf by leaf. */
struct check_sums {
    struct tree *tree;
    uint64_t *at[VECTORS];    /* [tree_steps] from a step to the tree's end */
    uint64_t *first[VECTORS]; /* [nleaves] C(s,t) of this leaf s */
    uint64_t key;             /* for the weights of pairs of leaves */
    uint64_t total[VECTORS];  /* of weight times C(s,t) */
};

static void sums_init (struct check *c, struct check_sums *s)
{
    *s = (struct check_sums){ .key = rng_next (&c->rng) };
    s->tree = tree_create (c->ps);
    for (int v = 0; v < VECTORS; v++) {
        s->at[v] = xcalloc (tree_steps (s->tree), sizeof (*s->at[v]));
        s->first[v] = xcalloc (s->tree->nleaves, sizeof (*s->first[v]));
    }
}

static void sums_clear (struct check_sums *s)
{
    tree_destroy (s->tree);
    for (int v = 0; v < VECTORS; v++) {
        free (s->at[v]);
        free (s->first[v]);
    }
}

/* psi of the tree's endpoint: at[leaf[t]] is psi(t). */
static void sum_tree (struct check *c, struct check_sums *s)
{
    const struct tree *t = s->tree;

    if (t->up[t->to] != NETWORK_NONE)
        c->used[arc_link (t->up[t->to])] = 1;
    for (size_t k = 1; k < t->n; k++)
        c->used[arc_link (t->arc[k])] = 1;
    for (int v = 0; v < VECTORS; v++)
        tree_sum (t, c->z[v], tree_first_hop (t, t->to, c->z[v]),
                  ECHELON_PRIME, s->at[v]);
}

static uint64_t weight (const struct check_sums *s, uint64_t x, uint64_t y)
{
    uint64_t h = s->key + (x < y ? x << 32 | y : y << 32 | x);

    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
    h = (h ^ h >> 27) * 0x94d049bb133111eb;
    return (h ^ h >> 31) % ECHELON_PRIME;
}

/* The tree of a leaf's first endpoint gives C of the leaf. */
static void begin_leaf (struct check_sums *s, size_t leaf)
{
    const struct tree *t = s->tree;

    for (size_t l = 0; l < t->nleaves; l++) {
        uint64_t w = l == leaf ? 0 : weight (s, leaf, l);

        for (int v = 0; v < VECTORS; v++) {
            s->first[v][l] = s->at[v][t->leaf[l]];
            s->total[v] = (s->total[v] + w * s->first[v][l]) % ECHELON_PRIME;
        }
    }
}

/* The tree of another endpoint of the leaf must give the same C. If it does
 * not, the row of one of the two is not orthogonal.
 */
static int compare_leaf (const struct check *c, const struct check_sums *s,
                         size_t leaf, struct error *err)
{
    const struct tree *t = s->tree;

    for (size_t l = 0; l < t->nleaves; l++) {
        uint32_t there = t->member[t->first[l]];
        uint32_t other = t->member[t->first[leaf]];

        bool same = true;

        for (int v = 0; v < VECTORS; v++)
            same = same && s->at[v][t->leaf[l]] == s->first[v][l];
        if (l == leaf || same)
            continue;
        if (expect_orthogonal (c, t->to, there, err) < 0
            || expect_orthogonal (c, other, there, err) < 0)
            return -1;
        return error_world (err, "the paths to %s do not form a tree",
                            name (c, t->to));
    }
    return 0;
}

/* Check that psi of endpoints of the leaf's first port is opposite to that of
 * all others: each of the first port with one of another port, and each other
 * with one of the first port. With more than two ports psi must be 0, which a
 * row between two of the other ports shows.
 */
static int check_within (const struct check *c, const struct check_sums *s,
                         size_t leaf, struct error *err)
{
    const struct tree *t = s->tree;
    const uint32_t *member = t->member + t->first[leaf];
    size_t n = t->first[leaf + 1] - t->first[leaf];
    uint32_t one[3]; /* one endpoint of each of the first ports */
    size_t ports = 0;

    for (size_t i = 0; i < n && ports < 3; i++)
        if (ports == 0
            || (pathset_port (c->ps, member[i])
                    != pathset_port (c->ps, one[0])
                && (ports == 1
                    || pathset_port (c->ps, member[i])
                           != pathset_port (c->ps, one[1]))))
            one[ports++] = member[i];
    for (size_t i = 0; i < n && ports > 1; i++) {
        bool first = pathset_port (c->ps, member[i])
                     == pathset_port (c->ps, one[0]);

        if (expect_orthogonal (c, member[i], one[first], err) < 0)
            return -1;
    }
    return ports < 3 ? 0 : expect_orthogonal (c, one[1], one[2], err);
}

/* Some C(s,t) + C(t,s) is not 0: report which. */
static int find_across (const struct check *c, const struct check_sums *s,
                        struct error *err)
{
    const struct tree *t = s->tree;

    for (size_t k = 0; k < t->nleaves; k++)
        for (size_t l = 0; l < k; l++)
            if (expect_orthogonal (c, t->member[t->first[l]],
                                   t->member[t->first[k]], err) < 0)
                return -1;
    return error_world (err, "the paths do not form trees");
}

static int check_leaves (struct check *c, struct check_sums *s,
                         struct error *err)
{
    struct tree *t = s->tree;

    for (size_t l = 0; l < t->nleaves; l++) {
        for (uint32_t k = t->first[l]; k < t->first[l + 1]; k++) {
            if (tree_grow (t, t->member[k], err) < 0)
                return -1;
            sum_tree (c, s);
            if (k == t->first[l])
                begin_leaf (s, l);
            else if (compare_leaf (c, s, l, err) < 0)
                return -1;
        }
        if (check_within (c, s, l, err) < 0)
            return -1;
    }
    for (int v = 0; v < VECTORS; v++)
        if (s->total[v] != 0)
            return find_across (c, s, err);
    return 0;
}

static int check_links (const struct check *c, size_t links,
                        struct error *err)
{
    if (links != plan_links (c->plan))
        return error_input (err, "the pairs use %zu links, the plan says %zu",
                            links, plan_links (c->plan));
    return 0;
}

static int check_pairs (struct check *c, struct error *err)
{
    size_t links = 0;
    struct check_sums s;
    int rc = 0;

    if (pathset_ports (c->ps) >= 2) {
        sums_init (c, &s);
        rc = check_leaves (c, &s, err);
        sums_clear (&s);
    }
    for (size_t x = 0; x < pathset_network (c->ps)->nlinks; x++)
        links += c->used[x];
    return rc < 0 ? -1 : check_links (c, links, err);
}

/*
 * A plan that is not maximal: its basis rounds cross all links, unless they are
 * a schedule.
 */

static int check_columns (const struct check *c, struct error *err)
{
    size_t m;

    return pathset_links (c->ps, &m, err) ? check_links (c, m, err) : -1;
}

static int check_cover (const struct check *c, struct error *err)
{
    const struct network *net = pathset_network (c->ps);
    size_t m;
    const uint32_t *link = pathset_links (c->ps, &m, err);

    if (!link || check_columns (c, err) < 0)
        return -1;
    for (size_t i = 0; i < m; i++)
        if (c->uses[link[i]] == 0)
            return error_input (err, "no probe of the basis rounds crosses %s",
                                net->link[link[i]].id);
    return 0;
}

/*
 * A plan for some links: what it claims to determine for each lies in the span
 * of the basis rounds.
 */

/* The sum over a target's members of p/q times z, times all their q. */
static uint64_t target_dot (const struct check *c, const struct plan_target *t,
                            int v)
{
    int64_t prime = ECHELON_PRIME;
    uint64_t sum = 0;

    for (size_t k = 0; k < t->n; k++) {
        int64_t p = t->member[k].p % prime;
        uint64_t term = p < 0 ? p + prime : p;

        for (size_t i = 0; i < t->n; i++)
            if (i != k)
                term = term * (t->member[i].q % prime) % prime;
        sum = (sum + term * c->z[v][t->member[k].link]) % prime;
    }
    return sum;
}

static int check_targets (struct check *c, struct error *err)
{
    const struct network *net = pathset_network (c->ps);
    size_t n, links;
    const struct plan_target *t = plan_targets (c->plan, &n);

    if (!pathset_links (c->ps, &links, err) || check_links (c, links, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        for (int v = 0; v < VECTORS; v++)
            if (target_dot (c, &t[i], v) != 0)
                return error_input (err, "what is to be known of %s does not"
                                    " follow from the basis rounds",
                                    net->link[t[i].link].id);
    return 0;
}

/* The basis rounds must determine what the plan claims. */
static int check_span (struct check *c, struct error *err)
{
    size_t ntargets;

    plan_targets (c->plan, &ntargets);
    if (ntargets > 0)
        return check_targets (c, err);
    if (plan_maximal (c->plan))
        return check_pairs (c, err);
    return c->schedule ? check_columns (c, err) : check_cover (c, err);
}

/* Check the numbers of rounds. */
static int check_counts (const struct plan *plan, struct error *err)
{
    size_t rounds = plan_rounds (plan);
    size_t basis = plan_basis_rounds (plan);
    size_t confirm = plan_confirm_rounds (plan);

    if (basis > rounds)
        return error_input (err, "%zu basis rounds of %zu rounds", basis,
                            rounds);
    if (basis < plan_bound (plan))
        return error_input (err, "%zu basis rounds, but a bound of %zu", basis,
                            plan_bound (plan));
    if (confirm > rounds - basis)
        return error_input (err, "%zu confirm rounds, but %zu behind the"
                            " basis", confirm, rounds - basis);
    return 0;
}

int plan_check (struct pathset *ps, const struct plan *plan,
                struct error *err)
{
    const struct plan_rules *rules = plan_rules (plan_method (plan));
    struct check c = {
        .ps = ps,
        .plan = plan,
        .schedule = rules && rules->schedule,
    };
    size_t m = pathset_network (ps)->nlinks;
    int rc = -1;

    if (rules && rules->flows)
        return error_input (err, "a plan of flows, which flows_check checks");
    if (check_counts (plan, err) < 0)
        return -1;
    rng_seed (&c.rng, plan_rank (plan));
    c.uses = xcalloc (m + 1, sizeof (*c.uses));
    c.link_round = xcalloc (m + 1, sizeof (*c.link_round));
    c.end_round = xcalloc (pathset_ports (ps) + 1, sizeof (*c.end_round));
    c.used = xcalloc (m + 1, 1);
    for (size_t r = 0; r < plan_rounds (plan); r++)
        if (check_round (&c, r, err) < 0)
            goto error;
    if (check_rank (&c, err) < 0)
        goto error;
    draw_null (&c);
    rc = check_span (&c, err);
error:
    free (c.uses);
    free (c.link_round);
    free (c.end_round);
    free (c.used);
    for (int v = 0; v < VECTORS; v++)
        free (c.z[v]);
    echelon_destroy (c.form);
    return rc;
}
