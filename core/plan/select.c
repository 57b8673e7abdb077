/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small set of endpoints and probes that determine some links.
 *
 * Notes. For each link, host links first: pools of endpoints around the link
 * are tried with increasing size, until the pairs of one determine it. Then
 * endpoints that were not chosen before are dropped one by one as long as it
 * stays determined. In an independent set of rows that determines the link, the
 * combination is unique: the rows with a coefficient in it are the probes. They
 * are found without bookkeeping during elimination: they are the entries that
 * are not 0 in a random vector of the null space of the transposed rows, with a
 * column for the target. At the end the same is done for all targets together.
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
#include "core/plan/select.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "core/plan/basis.h"
#include "core/plan/redundant.h"
#include "core/plan/rounds.h"
#include "core/plan/rref.h"
#include "util/alloc.h"
#include "util/csr.h"
#include "util/rng.h"
#include "util/sort.h"

enum {
    RINGS = 5,
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
    const struct network *net;
    size_t n;
    struct rng rng;
    struct want *want;
    size_t nwants;
    uint8_t *chosen;     /* [n] endpoints of the chosen probes */
    struct probe *probe; /* chosen */
    size_t nprobes;
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

struct junction {
    uint32_t at;  /* the switch */
    uint32_t arc; /* arc by which to reach it, NETWORK_NONE: any */
};

static uint32_t id_of (const struct select *s, uint32_t i)
{
    return pathset_endpoint (s->ps, i)->id;
}

/* Hops from a place to an endpoint, -1 if there is no path. */
static int distance (const struct select *s, uint32_t place, uint32_t to)
{
    uint32_t id = id_of (s, to), end = s->net->place (s->net->net, id), arc;

    for (int hops = 0; hops <= PATH_MAX_HOPS; hops++) {
        if (place == end)
            return hops;
        if (hops == PATH_MAX_HOPS || place == NETWORK_NONE)
            break;
        place = s->net->hop (s->net->net, place, id, &arc);
    }
    return -1;
}

/* Does the path from a place to an endpoint lead through the junction, entering
 * by its arc or (`back`) leaving by the reverse of it?
 */
static bool leads_through (const struct select *s, uint32_t place, uint32_t to,
                           const struct junction *j, bool back)
{
    uint32_t id = id_of (s, to), end = s->net->place (s->net->net, id);
    uint32_t in = NETWORK_NONE;

    for (int hops = 0; hops < PATH_MAX_HOPS && place != NETWORK_NONE
         && place != end; hops++) {
        uint32_t out = NETWORK_NONE;
        uint32_t next = s->net->hop (s->net->net, place, id, &out);

        if (place == j->at)
            return j->arc == NETWORK_NONE
                   || (back ? out == (j->arc ^ 1) : in == j->arc);
        in = out;
        place = next;
    }
    return false;
}

/* Mark the endpoints whose paths from leaf `from`, or to it, lead through the
 * junction, and give each leaf its key.
 */
static void survey (struct select *s, const struct junction *j, size_t from)
{
    const struct tree *t = s->tree;

    memset (s->through, 0, s->n);
    for (size_t l = 0; l < t->nleaves; l++) {
        int hops = distance (s, j->at, t->member[t->first[l]]);
        uint64_t there = 0, back = 0, liked = 0;

        for (size_t k = t->first[l]; k < t->first[l + 1]; k++) {
            uint32_t c = t->member[k];
            bool yes = leads_through (s, t->place[from], c, j, false);

            there += yes;
            s->through[c] |= yes;
            liked += s->chosen[c];
        }
        for (size_t k = t->first[from]; k < t->first[from + 1] && l != from;
             k++) {
            bool yes = leads_through (s, t->place[l], t->member[k], j, true);

            back += yes;
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
    survey (s, &(struct junction){ at, arc }, from);
    take_leaf (s, from, ring->each);
    for (size_t i = 0; i < ring->leaves; i++) {
        size_t best = 0;

        for (size_t l = 1; l < s->tree->nleaves; l++)
            if (s->key[l] < s->key[best])
                best = l;
        if (s->key[best] == UINT64_MAX)
            break;
        take_leaf (s, best, ring->each);
        s->key[best] = UINT64_MAX;
    }
}

/* A link between switches, from a to b: take the junctions b and a as seen from
 * leaves on the side of a, the nearest first. To the endpoints of these leaves
 * the far end sends back over the arc.
 */
static void take_side (struct select *s, uint32_t arc, uint32_t a, uint32_t b,
                       const struct ring *ring)
{
    uint64_t last = 0;

    for (size_t which = 0; which < ring->from; which++) {
        uint64_t best = UINT64_MAX;
        uint32_t leaf;

        for (size_t i = 0; i < s->n; i++) {
            uint32_t out = NETWORK_NONE;
            uint64_t key;
            int hops;

            s->net->hop (s->net->net, b, id_of (s, i), &out);
            if (out != (arc ^ 1) || (hops = distance (s, a, i)) < 0)
                continue;
            key = ((uint64_t)(hops + 1) << 33)
                | ((uint64_t)!s->chosen[i] << 32) | s->tree->leaf_of[i];
            if (key > last && key < best)
                best = key;
        }
        if (best == UINT64_MAX)
            break;
        last = best;
        leaf = best & UINT32_MAX;
        take_junction (s, b, arc, leaf, ring);
        take_junction (s, a, NETWORK_NONE, leaf, ring);
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

/* Rows of some pairs, cheap ones first, and what they determine. */
struct equations {
    struct pathset *ps; /* of the ends of these pairs */
    uint32_t *host;     /* [its endpoints] their numbers in the set of all */
    struct basis rows;
    const struct want *want;
    size_t nwants;
    struct rref *rref;
    uint32_t *kept;     /* [rank] independent rows */
};

static void equations_clear (struct equations *y)
{
    rref_destroy (y->rref);
    basis_clear (&y->rows);
    pathset_destroy (y->ps);
    free (y->host);
    free (y->kept);
    *y = (struct equations){ 0 };
}

static struct probe kept_probe (const struct equations *y, size_t i)
{
    const struct probe *p = &y->rows.pair[y->kept[i]];

    return (struct probe){ y->host[p->a], y->host[p->b] };
}

/* Do the rows added so far determine all wants? */
static bool determined (struct select *s, const struct equations *y)
{
    uint64_t *z = xarray (y->rows.m, sizeof (*z));
    bool yes = true;

    rref_null (y->rref, &s->rng, z);
    for (size_t i = 0; i < y->nwants && yes; i++) {
        uint64_t sum = 0;

        for (size_t k = 0; k < y->want[i].n && yes; k++) {
            int c = pathset_column (y->ps, y->want[i].member[k].link);

            yes = c >= 0;
            if (yes)
                sum = prime_add (sum, prime_mul (y->want[i].value[k], z[c]));
        }
        yes = yes && sum == 0;
    }
    free (z);
    return yes;
}

/* Make the equations of n pairs, the first `nfirst` of which are preferred, for
 * some wants, until these are determined: return 1; 0: they are not; -1 with
 * err. Call equations_clear in any case.
 */
static int solve (struct select *s, struct equations *y,
                  const struct want *want, size_t nwants,
                  const struct probe *pair, size_t nfirst, size_t n,
                  struct error *err)
{
    uint32_t *index = xcalloc (s->n, sizeof (*index)); /* in y->ps + 1 */
    struct endpoint *e = xarray (2 * n, sizeof (*e));
    size_t ends = 0, look = LOOK_FIRST;
    int rc = -1;

    *y = (struct equations){ .want = want, .nwants = nwants };
    y->host = xarray (2 * n, sizeof (*y->host));
    for (size_t i = 0; i < n; i++)
        index[pair[i].a] = index[pair[i].b] = 1;
    for (size_t i = 0; i < s->n; i++)
        if (index[i]) {
            y->host[ends] = i;
            e[ends++] = *pathset_endpoint (s->ps, i);
            index[i] = ends;
        }
    if (!(y->ps = pathset_create (s->net, e, ends, err))
        || basis_open (&y->rows, y->ps, err) < 0)
        goto out;
    for (size_t i = 0; i < n; i++) {
        uint32_t a = index[pair[i].a] - 1, b = index[pair[i].b] - 1;
        struct row row;

        if (pathset_row (y->ps, a, b, &row, err) < 0)
            goto out;
        basis_push (&y->rows, y->ps, a, b, &row);
        if (i < nfirst && row.n > 0)
            y->rows.class_id[y->rows.n - 1] = 0;
    }
    basis_sort (&y->rows);
    y->rref = rref_create (y->rows.m);
    y->kept = xarray (y->rows.n, sizeof (*y->kept));
    rc = 0;
    for (size_t i = 0; i < y->rows.n && rc == 0; i++) {
        size_t rank = rref_rank (y->rref);

        if (rref_add (y->rref, BASIS_ROW (&y->rows, i)))
            y->kept[rank] = i;
        if (rank == look) {
            look += look / 4;
            rc = determined (s, y);
        }
    }
    if (rc == 0)
        rc = determined (s, y);
out:
    free (index);
    free (e);
    return rc;
}

/* Append all pairs of some endpoints, ascending. */
static void list_pairs (struct probe **list, size_t *n, const uint32_t *host,
                        size_t nhosts)
{
    uint32_t *sorted = xarray (nhosts, sizeof (*sorted));

    memcpy (sorted, host, nhosts * sizeof (*sorted));
    if (nhosts > 0)
        qsort (sorted, nhosts, sizeof (*sorted), compare_u32);
    *list = xrealloc (*list, *n + nhosts * nhosts / 2, sizeof (**list));
    for (size_t i = 0; i < nhosts; i++)
        for (size_t k = i + 1; k < nhosts; k++)
            (*list)[(*n)++] = (struct probe){ sorted[i], sorted[k] };
    free (sorted);
}

/* The equations of all pairs of host[0 .. n-1], preferring those of the chosen
 * probes that have an end among them.
 */
static int try_hosts (struct select *s, struct equations *y,
                      const struct want *want, const uint32_t *host, size_t n,
                      struct error *err)
{
    struct probe *list = xarray (s->nprobes, sizeof (*list));
    size_t nfirst = 0, total;
    int rc;

    for (size_t i = 0; i < n; i++)
        s->taken[host[i]] = 1;
    for (size_t i = 0; i < s->nprobes; i++)
        if (s->taken[s->probe[i].a] || s->taken[s->probe[i].b])
            list[nfirst++] = s->probe[i];
    for (size_t i = 0; i < n; i++)
        s->taken[host[i]] = 0;
    total = nfirst;
    list_pairs (&list, &total, host, n);
    rc = solve (s, y, want, 1, list, nfirst, total, err);
    free (list);
    return rc;
}

/* used[i]: row y->kept[i] is part of a combination that gives a want; all must
 * be determined. The caller frees it.
 */
static uint8_t *support (struct select *s, const struct equations *y)
{
    const struct basis *b = &y->rows;
    size_t rank = rref_rank (y->rref), unknowns = rank;
    struct csr rows = { .n = rank }, columns;
    uint8_t *used = xcalloc (rank, 1), *count;
    uint32_t *unknown;
    uint64_t *z;
    struct rref *rref;

    rows.start = xcalloc (rank + 1, sizeof (*rows.start));
    rows.v = xarray (b->first[b->n], sizeof (*rows.v));
    for (size_t i = 0; i < rank; i++) {
        size_t from = b->first[y->kept[i]];
        size_t len = b->first[y->kept[i] + 1] - from;

        memcpy (rows.v + rows.start[i], b->col + from,
                len * sizeof (*rows.v));
        rows.start[i + 1] = rows.start[i] + len;
    }
    columns = csr_transpose (&rows, b->m);
    for (size_t i = 0; i < y->nwants; i++)
        unknowns += y->want[i].n;
    rref = rref_create (unknowns);
    unknown = xarray (unknowns, sizeof (*unknown));
    count = xarray (unknowns, 1);
    z = xarray (unknowns, sizeof (*z));
    for (size_t c = 0; c < b->m; c++) {
        size_t n = 0, at = rank;

        for (size_t k = columns.start[c]; k < columns.start[c + 1]; k++) {
            size_t e = b->first[y->kept[columns.v[k]]];

            while (b->col[e] != c)
                e++;
            unknown[n] = columns.v[k];
            count[n++] = b->count[e];
        }
        /* a unit for every member of a want that is this column */
        for (size_t i = 0; i < y->nwants; i++)
            for (size_t k = 0; k < y->want[i].n; k++, at++)
                if (pathset_column (y->ps, y->want[i].member[k].link)
                    == (int)c) {
                    unknown[n] = at;
                    count[n++] = 1;
                }
        rref_add (rref, unknown, count, n);
    }
    rref_null (rref, &s->rng, z);
    for (size_t i = 0; i < rank; i++)
        used[i] = z[i] != 0;
    rref_destroy (rref);
    csr_clear (&rows);
    csr_clear (&columns);
    free (unknown);
    free (count);
    free (z);
    return used;
}

/* Keep the endpoints of the rows in the support and those that were chosen
 * before, in the order of `host`. Return their number.
 */
static size_t keep_used (struct select *s, const struct equations *y,
                         uint32_t *host, size_t n)
{
    uint8_t *used = support (s, y);
    uint8_t *in = xcalloc (s->n, 1);
    size_t keep = 0;

    for (size_t i = 0; i < rref_rank (y->rref); i++)
        if (used[i])
            in[kept_probe (y, i).a] = in[kept_probe (y, i).b] = 1;
    for (size_t i = 0; i < n; i++)
        if (in[host[i]] || s->chosen[host[i]])
            host[keep++] = host[i];
    free (used);
    free (in);
    return keep;
}

/* Choose the probes of the support, besides those that are chosen. */
static void choose (struct select *s, const struct equations *y)
{
    uint8_t *used = support (s, y);

    for (size_t i = 0; i < rref_rank (y->rref); i++) {
        struct probe p = kept_probe (y, i);
        bool had = false;

        for (size_t k = 0; k < s->nprobes; k++)
            had = had || (s->probe[k].a == p.a && s->probe[k].b == p.b);
        if (!used[i] || had)
            continue;
        s->probe = xgrow (s->probe, s->nprobes, sizeof (*s->probe));
        s->probe[s->nprobes++] = p;
        s->chosen[p.a] = s->chosen[p.b] = 1;
    }
    free (used);
}

/*
 * One target
 */

/* Drop the endpoints that are not needed, last ones first, in smaller and
 * smaller lots, and choose the probes. y determines the want; it is replaced.
 */
static int narrow (struct select *s, struct equations *y,
                   const struct want *want, uint32_t *host, size_t n,
                   struct error *err)
{
    uint32_t rest[SELECT_NEAR_MAX];

    n = keep_used (s, y, host, n);
    for (size_t lot = (n + 1) / 2; lot > 0; lot /= 2)
        for (size_t end = n; end > 0;) {
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
            rc = try_hosts (s, &without, want, rest, keep, err);
            if (rc <= 0) {
                equations_clear (&without);
                if (rc < 0)
                    return -1;
                continue;
            }
            equations_clear (y);
            *y = without;
            memcpy (host, rest, keep * sizeof (*host));
            n = keep_used (s, y, host, keep);
            end = end < n ? end : n;
        }
    choose (s, y);
    return 0;
}

/* Replace the want by the shortest row of the form that has its link; give it
 * up if there is none.
 */
static void combine (const struct equations *y, struct want *want)
{
    int col = y->ps ? pathset_column (y->ps, want->link) : -1;
    const struct rref_entry *best = NULL;
    const uint32_t *link;
    size_t n = 0, m;

    want->n = 0;
    if (col >= 0)
        rref_reduce (y->rref);
    for (size_t i = 0; col >= 0 && i < rref_rank (y->rref); i++) {
        size_t len, k = 0;
        const struct rref_entry *e = rref_row (y->rref, i, &len);

        while (k < len && e[k].col != (uint32_t)col)
            k++;
        if (k < len && (!best || len < n)) {
            best = e;
            n = len;
        }
    }
    if (!best)
        return;
    link = pathset_links (y->ps, &m, NULL);
    want->member = xrealloc (want->member, n, sizeof (*want->member));
    want->value = xrealloc (want->value, n, sizeof (*want->value));
    for (size_t k = 0; k < n; k++) {
        struct plan_member *member = &want->member[k];

        member->link = link[best[k].col];
        want->value[k] = best[k].value;
        if (rref_rational (best[k].value, &member->p, &member->q) < 0)
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

    for (unsigned int ring = 0; ring < RINGS && rc == 0; ring++) {
        find_near (s, want->link, ring);
        if (s->npool <= most)
            continue;
        most = s->npool;
        memcpy (host, s->pool, most * sizeof (*host));
        equations_clear (&y);
        rc = try_hosts (s, &y, want, host, most, err);
    }
    if (rc == 0) {
        combine (&y, want);
        equations_clear (&y);
        if (want->n > 0)
            rc = try_hosts (s, &y, want, host, most, err);
    }
    if (rc > 0)
        rc = narrow (s, &y, want, host, most, err);
    equations_clear (&y);
    return rc;
}

/*
 * All targets together
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

/* Choose again, among the rows of the equations, which determine all wants. */
static void choose_again (struct select *s, const struct equations *y)
{
    s->nprobes = 0;
    memset (s->chosen, 0, s->n);
    choose (s, y);
}

/* The equations of all pairs of some endpoints, for all wants; with `shuffle`,
 * pairs of equal cost are in random order.
 */
static int try_all (struct select *s, struct equations *y, const uint32_t *host,
                    size_t n, bool shuffle, struct error *err)
{
    struct probe *list = NULL;
    size_t total = 0;
    int rc;

    list_pairs (&list, &total, host, n);
    for (size_t i = total; shuffle && i > 1; i--) {
        size_t k = rng_below (&s->rng, i);
        struct probe p = list[k];

        list[k] = list[i - 1];
        list[i - 1] = p;
    }
    rc = solve (s, y, s->want, s->nwants, list, 0, total, err);
    free (list);
    return rc;
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
    int rc = solve (s, &y, s->want, s->nwants, s->probe, 0, s->nprobes, err);

    if (rc > 0)
        choose_again (s, &y);
    equations_clear (&y);
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
        equations_clear (&y);
        if (rc < 0)
            return -1;
        n = chosen_hosts (s, host, TOGETHER_MAX);
        for (i = 0; i < n && host[i] < out;)
            i++;
    }
    return 0;
}

/* Probes of the busiest link or endpoint: no plan has fewer rounds. */
static size_t busiest (struct select *s, const struct equations *y)
{
    const struct basis *b = &y->rows;
    uint32_t *load = xcalloc (b->m + b->nports, sizeof (*load));
    uint8_t *used = support (s, y);
    size_t most = 0;

    for (size_t i = 0; i < rref_rank (y->rref); i++) {
        uint32_t row = y->kept[i];

        if (!used[i])
            continue;
        for (size_t k = b->first[row]; k < b->first[row + 1]; k++)
            load[b->col[k]]++;
        load[b->m + b->port[row].a]++;
        load[b->m + b->port[row].b]++;
    }
    for (size_t i = 0; i < b->m + b->nports; i++)
        most = load[i] > most ? load[i] : most;
    free (load);
    free (used);
    return most;
}

/* Choose the probes again among all pairs of the endpoints, in random orders,
 * so that no link and no endpoint has many.
 */
static int spread (struct select *s, struct error *err)
{
    uint32_t host[TOGETHER_MAX];
    size_t least = SIZE_MAX;
    size_t n = chosen_hosts (s, host, TOGETHER_MAX);
    uint64_t work = 0;
    int rc = 0;

    for (int i = 0; i < SPREADS && n <= TOGETHER_MAX && work < WORK_MAX
         && rc >= 0; i++) {
        struct equations y;
        size_t most;

        rc = try_all (s, &y, host, n, true, err);
        if (rc > 0 && (most = busiest (s, &y)) < least) {
            least = most;
            choose_again (s, &y);
        }
        work += y.rref ? rref_work (y.rref) : WORK_MAX;
        equations_clear (&y);
    }
    return rc < 0 ? -1 : 0;
}

/*
 * The plan
 */

/* Place the rows in the plan's rounds: the best of some orders, long rows first
 * to begin with. Return the number of rounds.
 */
static size_t pack (struct select *s, const struct basis *b, struct plan *plan)
{
    uint32_t *order = xarray (b->n, sizeof (*order));
    struct rounds best = { .count = SIZE_MAX };

    for (size_t i = 0; i < b->n; i++)
        order[i] = b->n - 1 - i;
    for (int i = 0; i < PACKINGS; i++) {
        struct rounds r;

        rounds_open (&r, b);
        for (size_t k = 0; k < b->n; k++)
            while (!rounds_put (&r, order[k], true))
                rounds_add (&r);
        if (r.count < best.count) {
            struct rounds worse = best;

            best = r;
            r = worse;
        }
        rounds_clear (&r);
        rng_shuffle (&s->rng, order, b->n);
    }
    for (size_t i = 0; i < best.n; i++) {
        const struct probe *p = &b->pair[best.slot[i].pair];

        plan_add (plan, best.slot[i].round, p->a, p->b);
    }
    rounds_clear (&best);
    free (order);
    return plan_rounds (plan);
}

/* The plan of the chosen probes and its endpoints. */
static struct plan *make_plan (struct select *s, struct pathset **ps,
                               const struct plan_options *opts,
                               struct error *err)
{
    struct plan *plan = plan_create ("links");
    struct equations y;
    struct basis basis = { 0 };
    int rc = solve (s, &y, s->want, s->nwants, s->probe, 0, s->nprobes, err);

    if (rc >= 0) {
        struct rng rng;

        plan_set_rank (plan, y.rows.m, s->nprobes, pack (s, &y.rows, plan));
        for (size_t i = 0; i < s->nwants; i++)
            plan_add_target (plan, s->want[i].link, s->want[i].member,
                             s->want[i].n);
        *ps = y.ps;
        y.ps = NULL;
        rng_seed (&rng, opts->seed);
        if (opts->extra_rounds > 0)
            rc = basis_make (&basis, *ps, &rng, err);
    }
    if (rc >= 0)
        rc = redundant_extend (plan, *ps, &basis, opts->extra_rounds,
                               opts->seed, err);
    equations_clear (&y);
    basis_clear (&basis);
    if (rc >= 0)
        return plan;
    plan_destroy (plan);
    return NULL;
}

static void select_clear (struct select *s)
{
    for (size_t i = 0; i < s->nwants; i++) {
        free (s->want[i].member);
        free (s->want[i].value);
    }
    tree_destroy (s->tree);
    free (s->want);
    free (s->chosen);
    free (s->probe);
    free (s->through);
    free (s->key);
    free (s->taken);
    free (s->pool);
}

/* Each target alone is wanted once, host links first. */
static void select_init (struct select *s, struct pathset *all,
                         const uint32_t *target, size_t n, uint64_t seed)
{
    const struct network *net = pathset_network (all);
    uint8_t *wanted = xcalloc (net->nlinks, 1);

    *s = (struct select){ .ps = all, .net = net, .n = pathset_size (all) };
    rng_seed (&s->rng, seed);
    s->want = xcalloc (n, sizeof (*s->want));
    for (int kind = LINK_HOST; kind <= LINK_SWITCH; kind++)
        for (size_t i = 0; i < n; i++) {
            struct want *w = &s->want[s->nwants];

            if ((int)net->link[target[i]].kind != kind || wanted[target[i]]++)
                continue;
            *w = (struct want){ .link = target[i], .n = 1 };
            w->member = xarray (1, sizeof (*w->member));
            w->value = xarray (1, sizeof (*w->value));
            w->member[0] = (struct plan_member){ target[i], 1, 1 };
            w->value[0] = 1;
            s->nwants++;
        }
    free (wanted);
    s->tree = tree_create (all);
    s->chosen = xcalloc (s->n, 1);
    s->through = xcalloc (s->n, 1);
    s->taken = xcalloc (s->n, 1);
    s->pool = xarray (s->n, sizeof (*s->pool));
    s->key = xarray (s->tree->nleaves, sizeof (*s->key));
}

struct plan *select_links (struct pathset *all, const uint32_t *target,
                           size_t n, const struct plan_options *opts,
                           struct pathset **ps, struct error *err)
{
    struct plan *plan = NULL;
    struct select s;
    int rc = 0;

    *ps = NULL;
    select_init (&s, all, target, n, opts->seed);
    for (size_t i = 0; i < s.nwants && rc == 0; i++)
        rc = solve_want (&s, &s.want[i], err);
    if (rc == 0 && s.nprobes == 0)
        rc = error_input (err, "no path between these hosts crosses %s%s",
                          s.nwants > 0 ? s.net->link[s.want[0].link].id
                                       : "any link",
                          s.nwants > 1 ? ", or another of the links" : "");
    if (rc == 0 && prune (&s, err) == 0 && spread (&s, err) == 0)
        plan = make_plan (&s, ps, opts, err);
    select_clear (&s);
    return plan;
}
