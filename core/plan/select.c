/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Select: a small set of endpoints and probes that determine some links.
 *
 * Notes. A link is determined if its column's unit vector lies in the span of
 * the probes' rows; if no endpoints achieve that, the shortest combination of
 * links that was found to include it takes its place. For each link, host links
 * first: pools of endpoints around the link are tried with increasing size,
 * until the pairs of one determine it. Then endpoints that were not chosen
 * before are dropped as long as it stays determined. At the end the same is
 * done for all targets together, and the probes are chosen again in several
 * random orders, to find few rounds. The result is good, but not always
 * minimal.
 *
 * In an independent set of rows that determines the link, the combination is
 * unique: the rows with a coefficient in it are the probes. They are the
 * entries that are not 0 in a random vector of the null space of the transposed
 * rows, with a column for the target.
 *
 * If three paths meet in a switch and use the same links both ways, (a,b) +
 * (a,c) - (b,c) is four times the path from a to that switch. So a link between
 * two switches is determined by an endpoint a whose paths cross it, two more
 * beyond the link's far end, and two that meet its path at the near end; a host
 * link by two more endpoints of its leaf. If no three paths are so symmetric,
 * more endpoints of the same leaves and of further ones can replace them;
 * linear algebra shows how many are needed.
 *
 * A junction is a switch X seen from a leaf S. For each other leaf T it is
 * tested which endpoints of T are reached from S through X, and which of S from
 * T. Leaves where both is true come first, ordered by their distance from X. A
 * switch link has two junctions, its ends A and B, seen from a leaf on either
 * side; at the far one, only paths that crossed the link count. This uses
 * forwarding only, hop by hop; no path is stored.
 *
 * Cost: per target, a few paths of every endpoint of the set (to locate it) and
 * the elimination of the rows of a few dozen pools, usually of about ten
 * endpoints.
 */
#include "config.h"
#include "core/plan/plan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/basis.h"
#include "core/plan/rounds.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/csr.h"
#include "util/rng.h"
#include "util/sort.h"

enum {
    RINGS = 5,
    TOGETHER_MAX = 96,           /* endpoints up to which all pairs are tried */
    WORK_MAX = 60 * 1000 * 1000, /* entries touched for all targets together */
    SPREADS = 16,                /* choices of probes, */
    PACKINGS = 32,               /* orders in which each is placed */
    LOOK_FIRST = 8,              /* rank at which to test for the first time */
};

struct select {
    struct pathset *ps;
    const struct network *net;
    size_t n;
    struct rng rng;
    struct plan_target *want; /* what each target needs; n == 0: given up */
    size_t nwants;
    uint8_t *chosen;     /* [n] endpoints of the chosen probes */
    struct probe *probe; /* chosen */
    size_t nprobes;
    uint64_t work, end;  /* entries touched; where to stop */
    /* to find endpoints around a link: */
    struct tree *tree;   /* for its leaves */
    uint8_t *through;    /* [n] has a path through the junction */
    uint64_t *key;       /* [nleaves] low: a promising leaf */
    uint8_t *taken;      /* [n] is in pool */
    uint32_t *pool;      /* [n] */
    size_t npool;
};

/*
 * Endpoints around a link
 */

/* Sizes of a ring: leaves to start from, leaves per junction, endpoints of
 * each. The last ring has all endpoints.
 */
static const struct ring {
    size_t from, leaves, each;
} rings[RINGS - 1] = {
    { 1, 2, 3 }, { 2, 3, 6 }, { 2, 4, 12 }, { 4, 8, 24 },
};

enum { START_MAX = 4 }; /* leaves to start from */

struct junction {
    uint32_t at;  /* the switch */
    uint32_t arc; /* arc by which to reach it, NETWORK_NONE: any */
    bool back;    /* leave it by the reverse of the arc instead */
};

/* Hops from a place to an endpoint; -1: no path. *through: the path
 * leads through the junction.
 */
static int follow (const struct select *s, uint32_t place, uint32_t to,
                   const struct junction *j, bool *through)
{
    const struct network *net = s->net;
    uint32_t id = pathset_endpoint (s->ps, to)->id;
    uint32_t end = net->place (net->net, id), in = NETWORK_NONE;
    int hops = 0;

    *through = false;
    for (; place != end; hops++) {
        uint32_t out = NETWORK_NONE, next;

        if (hops == PATH_MAX_HOPS || place == NETWORK_NONE)
            return -1;
        next = net->hop (net->net, place, id, &out);
        if (place == j->at && (j->arc == NETWORK_NONE
                               || (j->back ? out == (j->arc ^ 1)
                                           : in == j->arc)))
            *through = true;
        in = out;
        place = next;
    }
    return hops;
}

static int distance (const struct select *s, uint32_t place, uint32_t to)
{
    bool any;

    return follow (s, place, to, &(struct junction){ .at = NETWORK_NONE },
                   &any);
}

/* Mark the endpoints whose paths from leaf `from`, or to it, lead through the
 * junction, and give each leaf its key.
 */
static void survey (struct select *s, struct junction j, size_t from)
{
    const struct tree *t = s->tree;

    memset (s->through, 0, s->n);
    for (size_t l = 0; l < t->nleaves; l++) {
        int hops = distance (s, j.at, t->member[t->first[l]]);
        bool there = false, back = false, liked = false, yes;

        j.back = false;
        for (size_t k = t->first[l]; k < t->first[l + 1]; k++) {
            uint32_t c = t->member[k];

            follow (s, t->place[from], c, &j, &yes);
            there |= yes;
            s->through[c] |= yes;
            liked |= s->chosen[c];
        }
        j.back = true;
        for (size_t k = t->first[from]; k < t->first[from + 1] && l != from;
             k++) {
            follow (s, t->place[l], t->member[k], &j, &yes);
            back |= yes;
            s->through[t->member[k]] |= yes;
        }
        if (l == from)
            back = there; /* to its own: only if it is the junction */
        s->key[l] = UINT64_MAX;
        if (hops >= 0 && (there || back))
            s->key[l] = ((uint64_t)(!there || !back) << 60)
                | ((uint64_t)!liked << 59) | ((uint64_t)hops << 32) | l;
    }
}

/* The leaf with the lowest key, which it loses; false: there is none. */
static bool next_leaf (struct select *s, uint32_t *leaf)
{
    *leaf = 0;
    for (size_t l = 1; l < s->tree->nleaves; l++)
        if (s->key[l] < s->key[*leaf])
            *leaf = l;
    if (s->tree->nleaves == 0 || s->key[*leaf] == UINT64_MAX)
        return false;
    s->key[*leaf] = UINT64_MAX;
    return true;
}

static void take (struct select *s, uint32_t i)
{
    if (!s->taken[i])
        s->pool[s->npool++] = i;
    s->taken[i] = 1;
}

/* Take up to `each` endpoints of a leaf: two thirds with a path through the
 * junction, then others.
 */
static void take_leaf (struct select *s, size_t leaf, size_t each)
{
    const struct tree *t = s->tree;
    size_t quota[2] = { each - each / 3, each };
    size_t got = 0;

    for (int pass = 0; pass < 4; pass++)
        for (size_t k = t->first[leaf]; k < t->first[leaf + 1]; k++) {
            uint32_t i = t->member[k];

            if (s->through[i] == (pass < 2) && s->chosen[i] == (pass % 2 == 0)
                && got < quota[pass / 2]) {
                take (s, i);
                got++;
            }
        }
}

static void take_junction (struct select *s, uint32_t at, uint32_t arc,
                           size_t from, const struct ring *ring)
{
    uint32_t leaf;

    survey (s, (struct junction){ at, arc, false }, from);
    take_leaf (s, from, ring->each);
    for (size_t i = 0; i < ring->leaves && next_leaf (s, &leaf); i++)
        take_leaf (s, leaf, ring->each);
}

/* A link between switches, from a to b: take the junctions b and a as seen from
 * leaves on the side of a, the nearest first. To the endpoints of these leaves
 * the far end sends back over the arc.
 */
static void take_side (struct select *s, uint32_t arc, uint32_t a, uint32_t b,
                       const struct ring *ring)
{
    uint32_t leaf[START_MAX];
    size_t n = 0;

    memset (s->key, 0xff, s->tree->nleaves * sizeof (*s->key));
    for (size_t i = 0; i < s->n; i++) {
        uint32_t out = NETWORK_NONE, l = s->tree->leaf_of[i];
        uint64_t key;
        int hops;

        s->net->hop (s->net->net, b, pathset_endpoint (s->ps, i)->id, &out);
        if (out != (arc ^ 1) || (hops = distance (s, a, i)) < 0)
            continue;
        key = (uint64_t)hops << 33 | (uint64_t)!s->chosen[i] << 32 | l;
        s->key[l] = key < s->key[l] ? key : s->key[l];
    }
    while (n < ring->from && next_leaf (s, &leaf[n]))
        n++;
    for (size_t i = 0; i < n; i++) {
        take_junction (s, b, arc, leaf[i], ring);
        take_junction (s, a, NETWORK_NONE, leaf[i], ring);
    }
}

/* Fill the pool with endpoints around a link, the most promising first; those
 * of a host link's leaf and leaves beyond, or of both sides of a switch link.
 */
static void find_near (struct select *s, uint32_t link, unsigned int r)
{
    const uint32_t *end = s->net->link[link].end;
    const struct ring *ring = &rings[r];

    s->npool = 0;
    if (r == RINGS - 1)
        for (size_t i = 0; i < s->n && s->n <= SELECT_NEAR_MAX; i++)
            take (s, i);
    else if (end[0] < s->net->nswitches && end[1] < s->net->nswitches) {
        take_side (s, 2 * link, end[0], end[1], ring);
        if (r > 0 || s->npool == 0)
            take_side (s, 2 * link + 1, end[1], end[0], ring);
    }
    else
        for (size_t i = 0; i < s->n; i++) {
            uint32_t up = s->tree->up[i];

            if (up == NETWORK_NONE || arc_link (up) != link)
                continue;
            take (s, i);
            take_junction (s, end[end[0] >= s->net->nswitches], NETWORK_NONE,
                           s->tree->leaf_of[i], ring);
        }
    for (size_t i = 0; i < s->npool; i++)
        s->taken[s->pool[i]] = 0;
    if (s->npool > SELECT_NEAR_MAX)
        s->npool = SELECT_NEAR_MAX;
}

/*
 * Equations
 */

/* Independent rows of some pairs, cheap ones first; columns are links. */
struct equations {
    struct basis rows;
    struct rref *rref;
    uint8_t *used; /* [rows] if they determine the wants: the row is part of a
                      combination that gives one */
};

static void equations_clear (struct equations *y)
{
    rref_destroy (y->rref);
    basis_clear (&y->rows);
    free (y->used);
    *y = (struct equations){ 0 };
}

/* Do the rows determine all wants? */
static bool determined (struct select *s, const struct equations *y,
                        const struct plan_target *want, size_t nwants)
{
    uint64_t *z = xarray (y->rows.m, sizeof (*z));
    bool yes = true;

    rref_null (y->rref, &s->rng, z);
    for (size_t i = 0; i < nwants && yes; i++) {
        uint64_t sum = 0;

        for (size_t k = 0; k < want[i].n; k++) {
            const struct plan_member *m = &want[i].member[k];
            uint64_t p = m->p < 0 ? prime_neg (-m->p) : (uint64_t)m->p;

            sum = prime_add (sum, prime_mul (prime_mul (p, z[m->link]),
                                             prime_inverse (m->q)));
        }
        yes = sum == 0;
    }
    free (z);
    return yes;
}

/* Find which rows are used. */
static void find_used (struct select *s, struct equations *y,
                       const struct plan_target *want, size_t nwants)
{
    const struct basis *b = &y->rows;
    struct csr crossing = csr_transpose (&(struct csr){ b->n, b->first,
                                                        b->col }, b->m);
    size_t unknowns = b->n;
    uint32_t *unknown;
    struct rref *rref;
    uint8_t *count;
    uint64_t *z;

    for (size_t i = 0; i < nwants; i++)
        unknowns += want[i].n;
    rref = rref_create (unknowns);
    unknown = xarray (unknowns, sizeof (*unknown));
    count = xarray (unknowns, 1);
    z = xarray (unknowns, sizeof (*z));
    y->used = xcalloc (b->n, 1);
    for (size_t c = 0; c < b->m; c++) {
        size_t n = 0, at = b->n;

        for (size_t k = crossing.start[c]; k < crossing.start[c + 1]; k++) {
            size_t e = b->first[crossing.v[k]];

            while (b->col[e] != c)
                e++;
            unknown[n] = crossing.v[k];
            count[n++] = b->count[e];
        }
        /* a unit for every member of a want that is this column */
        for (size_t i = 0; i < nwants && n > 0; i++)
            for (size_t k = 0; k < want[i].n; k++, at++)
                if (want[i].member[k].link == c) {
                    unknown[n] = at;
                    count[n++] = 1;
                }
        if (n > 0)
            rref_add (rref, unknown, count, n);
    }
    rref_null (rref, &s->rng, z);
    for (size_t i = 0; i < b->n; i++)
        y->used[i] = z[i] != 0;
    rref_destroy (rref);
    csr_clear (&crossing);
    free (unknown);
    free (count);
    free (z);
}

/* Take the rows of n pairs, the first `nfirst` of which are preferred, until
 * they determine the wants: return 1; 0: they do not; -1 with err. Call
 * equations_clear in any case.
 */
static int solve (struct select *s, struct equations *y,
                  const struct plan_target *want, size_t nwants,
                  const struct probe *pair, size_t nfirst, size_t n,
                  struct error *err)
{
    struct basis all;
    size_t look = LOOK_FIRST;
    int rc = 0;

    basis_by_link (&all, s->ps);
    basis_by_link (&y->rows, s->ps);
    y->rref = rref_create (all.m);
    y->used = NULL;
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t before = all.n;

        rc = basis_add (&all, pair[i].a, pair[i].b, err);
        if (i < nfirst && all.n > before)
            all.class_id[before] = 0;
    }
    basis_sort (&all);
    for (size_t i = 0; i < all.n && rc == 0; i++) {
        if (rref_add (y->rref, BASIS_ROW (&all, i)))
            basis_copy (&y->rows, &all, i);
        if (y->rows.n == look || i + 1 == all.n) {
            look += look / 4;
            rc = determined (s, y, want, nwants);
        }
    }
    if (rc == 1)
        find_used (s, y, want, nwants);
    s->work += rref_work (y->rref);
    basis_clear (&all);
    return rc;
}

/* The same for all pairs of host[0 .. n-1], preferring those of the chosen
 * probes that have an end among them; with `shuffle`, pairs of equal cost are
 * in random order.
 */
static int try_hosts (struct select *s, struct equations *y,
                      const struct plan_target *want, size_t nwants,
                      const uint32_t *host, size_t n, bool shuffle,
                      struct error *err)
{
    struct probe *list = xarray (s->nprobes + n * n / 2, sizeof (*list));
    size_t nfirst = 0, total;
    int rc;

    for (size_t i = 0; i < n; i++)
        s->taken[host[i]] = 1;
    for (size_t i = 0; i < s->nprobes; i++)
        if (s->taken[s->probe[i].a] || s->taken[s->probe[i].b])
            list[nfirst++] = s->probe[i];
    total = nfirst;
    for (size_t i = 0; i < n; i++) {
        s->taken[host[i]] = 0;
        for (size_t k = i + 1; k < n; k++)
            list[total++] = host[i] < host[k]
                ? (struct probe){ host[i], host[k] }
                : (struct probe){ host[k], host[i] };
    }
    if (shuffle)
        probes_shuffle (&s->rng, list, total);
    rc = solve (s, y, want, nwants, list, nfirst, total, err);
    free (list);
    return rc;
}

/* Keep the endpoints of used rows and those that were chosen before, in the
 * order of `host`. Return their number.
 */
static size_t keep_used (struct select *s, const struct equations *y,
                         uint32_t *host, size_t n)
{
    uint8_t *in = xcalloc (s->n, 1);
    size_t keep = 0;

    for (size_t i = 0; i < y->rows.n; i++)
        if (y->used[i])
            in[y->rows.pair[i].a] = in[y->rows.pair[i].b] = 1;
    for (size_t i = 0; i < n; i++)
        if (in[host[i]] || s->chosen[host[i]])
            host[keep++] = host[i];
    free (in);
    return keep;
}

/* Choose the used rows, besides those that are chosen. */
static void choose (struct select *s, const struct equations *y)
{
    for (size_t i = 0; i < y->rows.n; i++) {
        struct probe p = y->rows.pair[i];
        bool had = !y->used[i];

        for (size_t k = 0; k < s->nprobes; k++)
            had = had || (s->probe[k].a == p.a && s->probe[k].b == p.b);
        if (had)
            continue;
        s->probe = xgrow (s->probe, s->nprobes, sizeof (*s->probe));
        s->probe[s->nprobes++] = p;
        s->chosen[p.a] = s->chosen[p.b] = 1;
    }
}

/* Drop the endpoints that are not needed, last ones first, in smaller and
 * smaller lots, and choose the probes. y determines the wants; it is replaced.
 */
static int narrow (struct select *s, struct equations *y,
                   const struct plan_target *want, size_t nwants,
                   uint32_t *host, size_t n, struct error *err)
{
    uint32_t rest[SELECT_NEAR_MAX];

    n = keep_used (s, y, host, n);
    for (size_t lot = (n + 1) / 2; lot > 0; lot /= 2)
        for (size_t end = n; end > 0 && s->work < s->end;) {
            size_t from = end > lot ? end - lot : 0;
            struct equations without;
            size_t keep = 0;
            int rc;

            for (size_t i = 0; i < n; i++)
                if (i < from || i >= end || s->chosen[host[i]])
                    rest[keep++] = host[i];
            end = from;
            if (keep == n)
                continue;
            rc = try_hosts (s, &without, want, nwants, rest, keep, false, err);
            if (rc > 0) {
                struct equations old = *y;

                *y = without;
                without = old;
                memcpy (host, rest, keep * sizeof (*host));
                n = keep_used (s, y, host, keep);
                end = end < n ? end : n;
            }
            equations_clear (&without);
            if (rc < 0)
                return -1;
        }
    choose (s, y);
    return 0;
}

/*
 * One target
 */

/* Replace the want by the shortest row of the form that has its link; give it
 * up if there is none.
 */
static void combine (const struct equations *y, struct plan_target *want)
{
    const struct rref_entry *best = NULL;
    size_t n = 0;

    if (y->rref)
        rref_reduce (y->rref);
    for (size_t i = 0; y->rref && i < rref_rank (y->rref); i++) {
        size_t len, k = 0;
        const struct rref_entry *e = rref_row (y->rref, i, &len);

        while (k < len && e[k].col != want->link)
            k++;
        if (k < len && (!best || len < n)) {
            best = e;
            n = len;
        }
    }
    want->n = 0;
    want->member = xrealloc (want->member, n, sizeof (*want->member));
    for (size_t k = 0; k < n; k++) {
        struct plan_member *m = &want->member[k];

        m->link = best[k].col;
        if (rref_rational (best[k].value, &m->p, &m->q) < 0)
            return; /* not a fraction: given up */
    }
    want->n = n;
}

/* Find endpoints and probes for one target. */
static int solve_want (struct select *s, struct plan_target *want,
                       struct error *err)
{
    uint32_t host[SELECT_NEAR_MAX];
    struct equations y = { 0 };
    size_t most = 0;
    int rc = 0;

    for (unsigned int ring = 0; ring < RINGS && rc == 0; ring++) {
        find_near (s, want->link, ring);
        if (s->npool <= most)
            continue;
        most = s->npool;
        memcpy (host, s->pool, most * sizeof (*host));
        equations_clear (&y);
        rc = try_hosts (s, &y, want, 1, host, most, false, err);
    }
    if (rc == 0) {
        combine (&y, want);
        equations_clear (&y);
        if (want->n > 0)
            rc = try_hosts (s, &y, want, 1, host, most, false, err);
    }
    if (rc > 0)
        rc = narrow (s, &y, want, 1, host, most, err);
    equations_clear (&y);
    return rc;
}

/*
 * All targets together
 */

/* Place the used rows in rounds: the best of some orders, long rows first to
 * begin with. *best is the plan with the fewest rounds so far.
 */
static void pack (struct select *s, const struct equations *y,
                  struct plan **best)
{
    const struct basis *b = &y->rows;
    uint32_t *order = xarray (b->n, sizeof (*order));
    size_t n = 0;

    for (size_t i = b->n; i-- > 0;)
        if (y->used[i])
            order[n++] = i;
    for (int i = 0; i < PACKINGS; i++) {
        struct rounds r;

        rounds_open (&r, b);
        for (size_t k = 0; k < n; k++)
            while (!rounds_put (&r, order[k], true))
                rounds_add (&r);
        if (!*best || r.count < plan_rounds (*best)) {
            plan_destroy (*best);
            *best = plan_create ("links");
            for (size_t k = 0; k < r.n; k++) {
                const struct probe *p = &b->pair[r.slot[k].pair];

                plan_add (*best, r.slot[k].round, p->a, p->b);
            }
        }
        rounds_clear (&r);
        rng_shuffle (&s->rng, order, n);
    }
    free (order);
}

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

/* Choose again, among all pairs of the chosen endpoints if these are not too
 * many: without the endpoints that are not needed for all targets together, and
 * in few rounds. Return the rounds; NULL with err.
 */
static struct plan *choose_again (struct select *s, struct error *err)
{
    uint32_t host[TOGETHER_MAX];
    size_t n = chosen_hosts (s, host, TOGETHER_MAX);
    bool all = n <= TOGETHER_MAX;
    struct plan *best = NULL;
    struct equations y;
    int rc = solve (s, &y, s->want, s->nwants, s->probe, 0, s->nprobes, err);

    s->end = s->work + WORK_MAX;
    if (rc == 0)
        rc = error_world (err, "the probes do not determine the links");
    if (rc > 0 && all) {
        memset (s->chosen, 0, s->n);
        s->nprobes = 0;
        rc = narrow (s, &y, s->want, s->nwants, host, n, err);
        n = chosen_hosts (s, host, TOGETHER_MAX);
        s->nprobes = 0;
    }
    if (rc >= 0)
        pack (s, &y, &best);
    equations_clear (&y);
    for (int i = 0; i < SPREADS && rc >= 0 && all && s->work < s->end; i++) {
        rc = try_hosts (s, &y, s->want, s->nwants, host, n, true, err);
        if (rc > 0)
            pack (s, &y, &best);
        equations_clear (&y);
    }
    if (rc >= 0)
        return best;
    plan_destroy (best);
    return NULL;
}

/*
 * The plan
 */

/* The plan of the rounds, between its endpoints only. */
static struct plan *make_plan (struct select *s, const struct plan *rounds,
                               struct pathset **ps,
                               const struct plan_options *opts,
                               struct error *err)
{
    struct plan *plan = plan_create ("links");
    uint32_t *index = xcalloc (s->n, sizeof (*index));
    struct endpoint *e = xarray (s->n, sizeof (*e));
    struct basis basis = { 0 };
    struct rng rng;
    size_t n, m, ends = 0;
    int rc = -1;

    for (size_t r = 0; r < plan_rounds (rounds); r++) {
        const struct probe *p = plan_round (rounds, r, &n);

        for (size_t i = 0; i < n; i++)
            index[p[i].a] = index[p[i].b] = 1;
    }
    for (size_t i = 0; i < s->n; i++)
        if (index[i]) {
            index[i] = ends;
            e[ends++] = *pathset_endpoint (s->ps, i);
        }
    for (size_t r = 0; r < plan_rounds (rounds); r++) {
        const struct probe *p = plan_round (rounds, r, &n);

        for (size_t i = 0; i < n; i++)
            plan_add (plan, r, index[p[i].a], index[p[i].b]);
    }
    for (size_t i = 0; i < s->nwants; i++)
        plan_add_target (plan, s->want[i].link, s->want[i].member,
                         s->want[i].n);
    rng_seed (&rng, opts->seed);
    if ((*ps = pathset_create (s->net, e, ends, err))
        && pathset_links (*ps, &m, err)) {
        plan_set_rank (plan, m, plan_probes (plan), plan_rounds (plan));
        rc = opts->extra_rounds > 0 ? basis_make (&basis, *ps, &rng, err) : 0;
    }
    if (rc == 0)
        rc = redundant_extend (plan, *ps, &basis, opts->extra_rounds,
                               opts->seed, err);
    basis_clear (&basis);
    free (index);
    free (e);
    if (rc == 0)
        return plan;
    plan_destroy (plan);
    pathset_destroy (*ps);
    *ps = NULL;
    return NULL;
}

/* Each target alone is wanted once, host links first. */
static void list_wants (struct select *s, const uint32_t *target, size_t n)
{
    uint8_t *wanted = xcalloc (s->net->nlinks, 1);

    s->want = xcalloc (n, sizeof (*s->want));
    for (int kind = LINK_HOST; kind <= LINK_SWITCH; kind++)
        for (size_t i = 0; i < n; i++) {
            struct plan_target *w = &s->want[s->nwants];

            if ((int)s->net->link[target[i]].kind != kind
                || wanted[target[i]]++)
                continue;
            *w = (struct plan_target){ target[i], NULL, 1 };
            w->member = xarray (1, sizeof (*w->member));
            w->member[0] = (struct plan_member){ target[i], 1, 1 };
            s->nwants++;
        }
    free (wanted);
}

struct plan *select_links (struct pathset *all, const uint32_t *target,
                           size_t n, const struct plan_options *opts,
                           struct pathset **ps, struct error *err)
{
    struct plan *rounds = NULL, *plan = NULL;
    struct select s = {
        .ps = all, .net = pathset_network (all), .n = pathset_size (all),
        .end = UINT64_MAX, .tree = tree_create (all),
    };
    int rc = 0;

    *ps = NULL;
    rng_seed (&s.rng, opts->seed);
    list_wants (&s, target, n);
    s.chosen = xcalloc (s.n, 1);
    s.through = xcalloc (s.n, 1);
    s.taken = xcalloc (s.n, 1);
    s.pool = xarray (s.n, sizeof (*s.pool));
    s.key = xarray (s.tree->nleaves, sizeof (*s.key));
    for (size_t i = 0; i < s.nwants && rc == 0; i++)
        rc = solve_want (&s, &s.want[i], err);
    if (rc == 0 && s.nprobes == 0)
        rc = error_input (err, "no path between these hosts crosses %s%s",
                          s.nwants > 0 ? s.net->link[s.want[0].link].id
                                       : "any link",
                          s.nwants > 1 ? ", or another of the links" : "");
    if (rc == 0 && (rounds = choose_again (&s, err)))
        plan = make_plan (&s, rounds, ps, opts, err);
    plan_destroy (rounds);
    for (size_t i = 0; i < s.nwants; i++)
        free (s.want[i].member);
    tree_destroy (s.tree);
    free (s.want);
    free (s.chosen);
    free (s.probe);
    free (s.through);
    free (s.key);
    free (s.taken);
    free (s.pool);
    return plan;
}
