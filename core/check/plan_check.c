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
 * Leaves of different subnets have no rows: their C counts as 0.
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
#include "util/terminal.h"

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
static int round_trip_links (const struct check *c, uint32_t a, uint32_t b,
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

static const char *endpoint_name (const struct check *c, uint32_t i)
{
    return pathset_endpoint (c->ps, i)->name;
}

/* Endpoints in range, each port and each link once in the round. */
static int check_plan_round (struct check *c, size_t round, struct error *err)
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
                                    round + 1, endpoint_name (c, end[k]));
            c->end_round[port] = round + 1;
        }
        if (!pathset_is_pair (c->ps, end[0], end[1]))
            return error_input (err,
                                "round %zu: %s and %s are in different"
                                " subnets",
                                round + 1, endpoint_name (c, end[0]),
                                endpoint_name (c, end[1]));
        if ((nlinks = round_trip_links (c, end[0], end[1], link, err)) < 0)
            return -1;
        for (int k = 0; k < nlinks; k++) {
            /* the probe itself may cross a link in both directions */
            int first = 0;

            while (link[first] != link[k])
                first++;
            if (first < k)
                continue;
            if (c->link_round[link[k]] == round + 1 && !c->schedule)
                return error_input (err,
                                    "round %zu: %s to %s shares link %s"
                                    " with another probe",
                                    round + 1, endpoint_name (c, end[0]),
                                    endpoint_name (c, end[1]),
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

/* The probes of the basis rounds, those with short rows first, go into the
 * form: all must be independent, except in a schedule.
 */
static int check_rank (struct check *c, struct error *err)
{
    size_t rank = plan_rank (c->plan), n = 0;
    struct checked_probe *order = xarray (plan_probes (c->plan),
                                          sizeof (*order));
    uint32_t link[ROW_MAX];
    int rc = 0;

    for (size_t r = 0; r < plan_basis_rounds (c->plan); r++) {
        size_t more;
        const struct probe *p = plan_round (c->plan, r, &more);

        for (size_t i = 0; i < more; i++)
            order[n++] = (struct checked_probe){
                p[i], r, round_trip_links (c, p[i].a, p[i].b, link, NULL),
            };
    }
    qsort (order, n, sizeof (*order), compare_length);
    c->form = echelon_create (pathset_network (c->ps)->nlinks, c->uses);
    if (n != rank && !c->schedule)
        rc = error_input (err, "%zu probes in the basis rounds, but a rank"
                          " of %zu", n, rank);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const struct probe *p = &order[i].probe;

        round_trip_links (c, p->a, p->b, link, NULL);
        if (!echelon_add (c->form, link, order[i].length) && !c->schedule)
            rc = error_input (err, "round %zu: %s to %s follows from the other"
                              " probes of the basis rounds",
                              order[i].round + 1, endpoint_name (c, p->a),
                              endpoint_name (c, p->b));
    }
    if (rc == 0 && echelon_rank (c->form) != rank)
        rc = error_input (err, "the rounds have a rank of %zu, the plan says"
                          " %zu", echelon_rank (c->form), rank);
    free (order);
    for (int v = 0; v < VECTORS && rc == 0; v++) {
        c->z[v] = xcalloc (pathset_network (c->ps)->nlinks, sizeof (*c->z[v]));
        echelon_null (c->form, &c->rng, c->z[v]);
    }
    return rc;
}

/*
 * No pair of the set adds to the rank, and the links are those of all pairs.
 */

/* The row of a and b must be orthogonal to z. */
static int check_pair (const struct check *c, uint32_t a, uint32_t b,
                       struct error *err)
{
    uint32_t link[ROW_MAX];
    int n = round_trip_links (c, a, b, link, err);

    for (int v = 0; v < VECTORS; v++) {
        uint64_t sum = 0;

        for (int k = 0; k < n; k++)
            sum += c->z[v][link[k]];
        if (sum % ECHELON_PRIME != 0)
            return error_input (err, "%s to %s does not follow from the basis"
                                " rounds: the rank is more than %zu",
                                endpoint_name (c, a), endpoint_name (c, b),
                                echelon_rank (c->form));
    }
    return n < 0 ? -1 : 0;
}

/* A random weight for a pair of leaves. */
static uint64_t weight (uint64_t key, uint64_t x, uint64_t y)
{
    uint64_t h = key + (x < y ? x << 32 | y : y << 32 | x);

    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;
    h = (h ^ h >> 27) * 0x94d049bb133111eb;
    return (h ^ h >> 31) % ECHELON_PRIME;
}

/* Check that psi of endpoints of the leaf's first port is opposite to that of
 * all others: each of the first port with one of another port, and each other
 * with one of the first port. With more than two ports psi must be 0, which a
 * row between two of the other ports shows.
 */
static int check_within (const struct check *c, const struct tree *t,
                         size_t leaf, struct error *err)
{
    const uint32_t *member = t->member + t->first[leaf];
    size_t n = t->first[leaf + 1] - t->first[leaf];
    uint32_t one[3]; /* one endpoint of each of the first ports */
    size_t ports = 0;

    for (size_t i = 0; i < n && ports < 3; i++) {
        uint32_t port = pathset_port (c->ps, member[i]);

        if ((ports < 1 || port != pathset_port (c->ps, one[0]))
            && (ports < 2 || port != pathset_port (c->ps, one[1])))
            one[ports++] = member[i];
    }
    for (size_t i = 0; i < n && ports > 1; i++) {
        bool first = pathset_port (c->ps, member[i])
                     == pathset_port (c->ps, one[0]);

        if (check_pair (c, member[i], one[first], err) < 0)
            return -1;
    }
    return ports < 3 ? 0 : check_pair (c, one[1], one[2], err);
}

/* Check the tree of a leaf's endpoint: the leaf's first one gives C of the leaf
 * in `first`, and the others must give the same. Where they do not, the row of
 * one of the two is not orthogonal.
 */
static int check_tree (struct check *c, const struct tree *t,
                       uint64_t *const *at, uint64_t **first, struct error *err)
{
    size_t leaf = t->leaf_of[t->to];
    uint32_t one = t->member[t->first[leaf]];
    uint32_t subnet = pathset_subnet (c->ps, one);

    for (size_t k = 1; k < t->n; k++)
        c->used[arc_link (t->arc[k])] = 1;
    for (int v = 0; v < VECTORS; v++) {
        tree_sum (t, c->z[v], tree_first_hop (t, t->to, c->z[v]),
                  ECHELON_PRIME, at[v]);
        for (size_t l = 0; l < t->nleaves; l++) {
            uint32_t there = t->member[t->first[l]];

            if (t->to == one)
                first[v][l] = 0;
            if (pathset_subnet (c->ps, there) != subnet)
                continue;
            if (t->up[t->to] != NETWORK_NONE && (l != leaf || t->ports[l] > 1))
                c->used[arc_link (t->up[t->to])] = 1;
            if (t->to == one)
                first[v][l] = at[v][t->leaf[l]];
            if (l == leaf || at[v][t->leaf[l]] == first[v][l])
                continue;
            if (check_pair (c, t->to, there, err) < 0
                || check_pair (c, one, there, err) < 0)
                return -1;
            return error_world (err, "the paths to %s do not form a tree",
                                endpoint_name (c, t->to));
        }
    }
    return 0;
}

static int check_leaves (struct check *c, struct error *err)
{
    struct tree *t = tree_create (c->ps);
    uint64_t *at[VECTORS], *first[VECTORS], total[VECTORS] = { 0 };
    uint64_t key = rng_next (&c->rng);
    int rc = 0;

    for (int v = 0; v < VECTORS; v++) {
        at[v] = xarray (tree_steps (t), sizeof (*at[v]));
        first[v] = xarray (t->nleaves, sizeof (*first[v]));
    }
    for (size_t l = 0; l < t->nleaves && rc == 0; l++) {
        for (uint32_t k = t->first[l]; k < t->first[l + 1] && rc == 0; k++)
            if ((rc = tree_grow (t, t->member[k], err)) == 0)
                rc = check_tree (c, t, at, first, err);
        if (rc == 0)
            rc = check_within (c, t, l, err);
        for (size_t x = 0; x < t->nleaves && rc == 0; x++)
            for (int v = 0; v < VECTORS && x != l; v++)
                total[v] = (total[v] + weight (key, l, x) * first[v][x])
                           % ECHELON_PRIME;
    }
    for (int v = 0; v < VECTORS && rc == 0; v++) {
        if (total[v] == 0)
            continue;
        /* some C(s,t) + C(t,s) is not 0: report which */
        for (size_t k = 0; k < t->nleaves && rc == 0; k++)
            for (size_t l = 0; l < k && rc == 0; l++)
                rc = check_pair (c, t->member[t->first[l]],
                                 t->member[t->first[k]], err);
        if (rc == 0)
            rc = error_world (err, "the paths do not form trees");
    }
    tree_destroy (t);
    for (int v = 0; v < VECTORS; v++) {
        free (at[v]);
        free (first[v]);
    }
    return rc;
}

static int check_link_count (const struct check *c, size_t links,
                             struct error *err)
{
    if (links != plan_links (c->plan))
        return error_input (err, "the pairs use %zu links, the plan says %zu",
                            links, plan_links (c->plan));
    return 0;
}

/* A plan that is not maximal must cross all links, unless it is a schedule. */
static int check_span (struct check *c, struct error *err)
{
    const struct network *net = pathset_network (c->ps);
    const uint32_t *link;
    size_t n;

    if (plan_maximal (c->plan)) {
        size_t used = 0;

        if (pathset_ports (c->ps) >= 2 && check_leaves (c, err) < 0)
            return -1;
        for (size_t x = 0; x < net->nlinks; x++)
            used += c->used[x];
        return check_link_count (c, used, err);
    }
    if (!(link = pathset_links (c->ps, &n, err))
        || check_link_count (c, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n && !c->schedule; i++)
        if (c->uses[link[i]] == 0)
            return error_input (err, "no probe of the basis rounds crosses %s",
                                net->link[link[i]].id);
    return 0;
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
    if (confirm > rounds - basis)
        return error_input (err, "%zu confirm rounds, but %zu after the"
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
    int rc = 0;

    if (rules && rules->flows)
        return error_input (err, "a plan of flows, which flows_check checks");
    if (check_counts (plan, err) < 0)
        return -1;
    rng_seed (&c.rng, plan_rank (plan));
    c.uses = xcalloc (m + 1, sizeof (*c.uses));
    c.link_round = xcalloc (m + 1, sizeof (*c.link_round));
    c.end_round = xcalloc (pathset_ports (ps) + 1, sizeof (*c.end_round));
    c.used = xcalloc (m + 1, 1);
    terminal_work ("checking the plan", 0, 0);
    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++)
        rc = check_plan_round (&c, r, err);
    if (rc == 0 && (rc = check_rank (&c, err)) == 0)
        rc = check_span (&c, err);
    free (c.uses);
    free (c.link_round);
    free (c.end_round);
    free (c.used);
    for (int v = 0; v < VECTORS; v++)
        free (c.z[v]);
    echelon_destroy (c.form);
    return rc;
}
