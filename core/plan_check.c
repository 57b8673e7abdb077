/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan's checker. It shares nothing with the planner but the paths:
 * forward and reverse links are counted here, and elimination is another
 * one - echelon form, not reduced, over the prime 2^31 - 1. That the rank is
 * that of all pairs is shown by two random vectors orthogonal to the plan's
 * rows: no pair's row may tell them from 0 (wrong once in 2^62 times).
 */
#include "config.h"
#include "core/plan.h"

#include <stdlib.h>
#include <string.h>

#include "util/rng.h"

#define PRIME ((UINT64_C (1) << 31) - 1)

struct line {
    uint32_t pivot;
    size_t n;
    uint32_t *col; /* [n], the pivot not among them */
    uint32_t *value;
};

struct echelon {
    size_t m;
    struct line *line;
    size_t rank;
    int64_t *pivot;    /* [m] line of that pivot, or -1 */
    uint64_t *acc;     /* [m], 0 outside a reduction */
    uint8_t *in;       /* [m] */
    uint32_t *touched; /* [m] */
    size_t ntouched;
    uint64_t *todo;    /* bits: lines to subtract still */
};

static uint64_t power (uint64_t a, uint64_t e)
{
    uint64_t x = 1;

    for (; e > 0; e >>= 1) {
        if (e & 1)
            x = x * a % PRIME;
        a = a * a % PRIME;
    }
    return x;
}

static void echelon_clear (struct echelon *e)
{
    for (size_t i = 0; i < e->rank; i++) {
        free (e->line[i].col);
        free (e->line[i].value);
    }
    free (e->line);
    free (e->pivot);
    free (e->acc);
    free (e->in);
    free (e->touched);
    free (e->todo);
}

static int echelon_init (struct echelon *e, size_t m, size_t rows)
{
    *e = (struct echelon){ .m = m };
    e->line = calloc (rows + 1, sizeof (*e->line));
    e->pivot = malloc ((m + 1) * sizeof (*e->pivot));
    e->acc = calloc (m + 1, sizeof (*e->acc));
    e->in = calloc (m + 1, 1);
    e->touched = calloc (m + 1, sizeof (*e->touched));
    e->todo = calloc (rows / 64 + 1, sizeof (*e->todo));
    if (!e->line || !e->pivot || !e->acc || !e->in || !e->touched || !e->todo)
        return -1;
    for (size_t c = 0; c < m; c++)
        e->pivot[c] = -1;
    return 0;
}

static void add (struct echelon *e, uint32_t col, uint64_t value)
{
    int64_t p = e->pivot[col];

    if (!e->in[col]) {
        e->in[col] = 1;
        e->touched[e->ntouched++] = col;
        if (p >= 0)
            e->todo[p / 64] |= UINT64_C (1) << (p % 64);
    }
    e->acc[col] = (e->acc[col] + value) % PRIME;
}

/* Subtract every line whose pivot is in acc. A line holds no pivot of an
 * earlier one, so that going upwards does it.
 */
static void reduce (struct echelon *e)
{
    for (size_t w = 0; w <= e->rank / 64; w++)
        while (e->todo[w]) {
            size_t i = 64 * w + __builtin_ctzll (e->todo[w]);
            const struct line *l = &e->line[i];
            uint64_t factor = PRIME - e->acc[l->pivot];

            e->todo[w] &= e->todo[w] - 1;
            if (e->acc[l->pivot] == 0)
                continue;
            e->acc[l->pivot] = 0;
            for (size_t k = 0; k < l->n; k++)
                add (e, l->col[k], factor * l->value[k] % PRIME);
        }
}

/* Make acc the next line, its pivot the column that is rarest in the plan.
 * Returns 1, 0 where nothing is left in acc, -1 out of memory.
 */
static int keep (struct echelon *e, const uint32_t *uses)
{
    struct line *l = &e->line[e->rank];
    size_t n = 0;
    uint64_t scale;

    for (size_t i = 0; i < e->ntouched; i++) {
        uint32_t c = e->touched[i];

        if (e->acc[c] == 0)
            continue;
        if (n++ == 0 || uses[c] < uses[l->pivot])
            l->pivot = c;
    }
    if (n == 0)
        return 0;
    l->col = malloc (n * sizeof (*l->col));
    l->value = malloc (n * sizeof (*l->value));
    e->rank++;
    if (!l->col || !l->value)
        return -1;
    scale = power (e->acc[l->pivot], PRIME - 2);
    for (size_t i = 0; i < e->ntouched; i++) {
        uint32_t c = e->touched[i];

        if (e->acc[c] == 0 || c == l->pivot)
            continue;
        l->col[l->n] = c;
        l->value[l->n++] = e->acc[c] * scale % PRIME;
    }
    e->pivot[l->pivot] = e->rank - 1;
    return 1;
}

static void forget (struct echelon *e)
{
    for (size_t i = 0; i < e->ntouched; i++) {
        e->acc[e->touched[i]] = 0;
        e->in[e->touched[i]] = 0;
    }
    e->ntouched = 0;
}

static void null_vector (const struct echelon *e, struct rng *rng,
                         uint64_t *z)
{
    for (size_t c = 0; c < e->m; c++)
        if (e->pivot[c] < 0)
            z[c] = rng_below (rng, PRIME);
    for (size_t i = e->rank; i > 0; i--) {
        const struct line *l = &e->line[i - 1];
        uint64_t sum = 0;

        for (size_t k = 0; k < l->n; k++)
            sum = (sum + l->value[k] * z[l->col[k]]) % PRIME;
        z[l->pivot] = sum ? PRIME - sum : 0;
    }
}

struct check {
    struct pathset *ps;
    const struct plan *plan;
    struct echelon form;
    uint32_t *uses;      /* [nlinks] basis probes that cross the link */
    size_t *link_round;  /* [nlinks] last round, from 1, that used it */
    size_t *end_round;   /* [n] the same of endpoints */
    uint8_t *used;       /* [nlinks] by any pair */
    uint64_t *z[2];
};

/* The links from a to b and from b to a; link[] holds ROW_MAX. */
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

/* Endpoints in range, each endpoint and each link once in the round. */
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
        int nlinks;

        for (int k = 0; k < 2; k++) {
            if (end[k] >= pathset_size (c->ps))
                return error_input (err, "round %zu, probe %zu: endpoint %u"
                                    " is out of range", round + 1, i + 1,
                                    end[k]);
            if (c->end_round[end[k]] == round + 1)
                return error_input (err, "round %zu: %s is in two probes",
                                    round + 1, name (c, end[k]));
            c->end_round[end[k]] = round + 1;
        }
        if ((nlinks = both_ways (c, end[0], end[1], link, err)) < 0)
            return -1;
        for (int k = 0; k < nlinks; k++) {
            /* the probe itself may cross a link there and back */
            int first = 0;

            while (link[first] != link[k])
                first++;
            if (first < k)
                continue;
            if (c->link_round[link[k]] == round + 1)
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

struct order {
    struct probe probe;
    size_t round;
    int length;
};

static int compare_length (const void *a, const void *b)
{
    const struct order *x = a;
    const struct order *y = b;

    if (x->length != y->length)
        return x->length < y->length ? -1 : 1;
    return memcmp (&x->probe, &y->probe, sizeof (x->probe));
}

/* The rows of the basis rounds, short ones first, are independent. */
static int check_rank (struct check *c, struct error *err)
{
    uint32_t link[ROW_MAX];
    struct order *order = NULL;
    size_t n = 0;
    int rc = -1;

    for (size_t r = 0; r < plan_basis_rounds (c->plan); r++) {
        size_t more;

        plan_round (c->plan, r, &more);
        n += more;
    }
    if (n != plan_rank (c->plan))
        return error_input (err, "%zu probes in the basis rounds, but a rank"
                            " of %zu", n, plan_rank (c->plan));
    order = calloc (n + 1, sizeof (*order));
    if (!order || echelon_init (&c->form, pathset_network (c->ps)->nlinks,
                                n) < 0)
        goto nomem;
    n = 0;
    for (size_t r = 0; r < plan_basis_rounds (c->plan); r++) {
        size_t more;
        const struct probe *p = plan_round (c->plan, r, &more);

        for (size_t i = 0; i < more; i++) {
            int length = both_ways (c, p[i].a, p[i].b, link, err);

            if (length < 0)
                goto out;
            order[n++] = (struct order){ p[i], r, length };
        }
    }
    qsort (order, n, sizeof (*order), compare_length);
    for (size_t i = 0; i < n; i++) {
        const struct probe *p = &order[i].probe;
        int nlinks = both_ways (c, p->a, p->b, link, err);
        int kept;

        if (nlinks < 0)
            goto out;
        for (int k = 0; k < nlinks; k++)
            add (&c->form, link[k], 1);
        reduce (&c->form);
        kept = keep (&c->form, c->uses);
        forget (&c->form);
        if (kept < 0)
            goto nomem;
        if (kept == 0) {
            error_input (err, "round %zu: %s to %s follows from the other"
                         " probes of the basis rounds", order[i].round + 1,
                         name (c, p->a), name (c, p->b));
            goto out;
        }
    }
    rc = 0;
    goto out;
nomem:
    error_nomem (err);
out:
    free (order);
    return rc;
}

/* No pair of the set adds to the rank, and the links are those of all. */
static int check_pairs (struct check *c, struct error *err)
{
    uint32_t link[ROW_MAX];
    size_t n = pathset_size (c->ps);
    size_t links = 0;
    struct rng rng;

    rng_seed (&rng, c->form.rank);
    for (int v = 0; v < 2; v++)
        null_vector (&c->form, &rng, c->z[v]);
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++) {
            int nlinks = both_ways (c, a, b, link, err);

            if (nlinks < 0)
                return -1;
            for (int v = 0; v < 2; v++) {
                uint64_t sum = 0;

                for (int k = 0; k < nlinks; k++)
                    sum += c->z[v][link[k]];
                if (sum % PRIME)
                    return error_input (err, "%s to %s does not follow from"
                                        " the basis rounds: the rank is more"
                                        " than %zu", name (c, a),
                                        name (c, b), c->form.rank);
            }
            for (int k = 0; k < nlinks; k++) {
                links += !c->used[link[k]];
                c->used[link[k]] = 1;
            }
        }
    if (links != plan_links (c->plan))
        return error_input (err, "the pairs use %zu links, the plan says %zu",
                            links, plan_links (c->plan));
    return 0;
}

/* The sum over a target's members of p/q times z, times all their q. */
static uint64_t target_dot (const struct plan_target *t, const uint64_t *z)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < t->n; k++) {
        int64_t p = t->member[k].p % (int64_t)PRIME;
        uint64_t term = (uint64_t)(p < 0 ? p + (int64_t)PRIME : p);

        for (size_t i = 0; i < t->n; i++)
            if (i != k)
                term = term * ((uint64_t)t->member[i].q % PRIME) % PRIME;
        sum = (sum + term * z[t->member[k].link]) % PRIME;
    }
    return sum;
}

/* A plan for some links: what it says it determines of each lies in the span
 * of the basis rounds.
 */
static int check_targets (struct check *c, struct error *err)
{
    const struct network *net = pathset_network (c->ps);
    size_t n, links;
    const struct plan_target *t = plan_targets (c->plan, &n);
    struct rng rng;

    if (!pathset_links (c->ps, &links, err))
        return -1;
    if (links != plan_links (c->plan))
        return error_input (err, "the pairs use %zu links, the plan says %zu",
                            links, plan_links (c->plan));
    rng_seed (&rng, plan_rank (c->plan));
    for (int v = 0; v < 2; v++)
        null_vector (&c->form, &rng, c->z[v]);
    for (size_t i = 0; i < n; i++)
        if (target_dot (&t[i], c->z[0]) || target_dot (&t[i], c->z[1]))
            return error_input (err, "what is to be known of %s does not"
                                " follow from the basis rounds",
                                net->link[t[i].link].id);
    return 0;
}

int plan_check (struct pathset *ps, const struct plan *plan,
                struct error *err)
{
    struct check c = { .ps = ps, .plan = plan };
    size_t m = pathset_network (ps)->nlinks;
    size_t ntargets;
    int rc = -1;

    c.uses = calloc (m + 1, sizeof (*c.uses));
    c.link_round = calloc (m + 1, sizeof (*c.link_round));
    c.end_round = calloc (pathset_size (ps) + 1, sizeof (*c.end_round));
    c.used = calloc (m + 1, 1);
    c.z[0] = calloc (m + 1, sizeof (*c.z[0]));
    c.z[1] = calloc (m + 1, sizeof (*c.z[1]));
    if (!c.uses || !c.link_round || !c.end_round || !c.used || !c.z[0]
        || !c.z[1]) {
        error_nomem (err);
        goto error;
    }
    if (plan_basis_rounds (plan) > plan_rounds (plan)) {
        error_input (err, "%zu basis rounds of %zu rounds",
                     plan_basis_rounds (plan), plan_rounds (plan));
        goto error;
    }
    if (plan_confirm_rounds (plan)
        > plan_rounds (plan) - plan_basis_rounds (plan)) {
        error_input (err, "%zu confirm rounds, but %zu behind the basis",
                     plan_confirm_rounds (plan),
                     plan_rounds (plan) - plan_basis_rounds (plan));
        goto error;
    }
    for (size_t r = 0; r < plan_rounds (plan); r++)
        if (check_round (&c, r, err) < 0)
            goto error;
    plan_targets (plan, &ntargets);
    if (check_rank (&c, err) < 0
        || (ntargets > 0 ? check_targets (&c, err)
                         : check_pairs (&c, err)) < 0)
        goto error;
    rc = 0;
error:
    free (c.uses);
    free (c.link_round);
    free (c.end_round);
    free (c.used);
    free (c.z[0]);
    free (c.z[1]);
    echelon_clear (&c.form);
    return rc;
}
