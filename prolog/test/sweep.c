/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweeps: what is due is measured and nothing else, in few audits, and in time
 * the audits tell apart all that pairs of the site can.
 */
#include "config.h"
#include "prolog/serve/sweep.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/rref.h"
#include "core/test/tablenet.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/rng.h"

static struct error err;

/* A site: all its endpoints, and what was measured of it. */
struct site {
    struct pathset *all;
    const struct network *net;
    const uint32_t *link; /* [m] that any pair crosses */
    size_t m;
    int64_t *measured;
    double *unknown;
    struct observations rows;
    size_t size; /* allocated rows */
    struct rref *form;
};

static void *alloc (size_t n, size_t size)
{
    void *p = calloc (n + 1, size);

    if (!p)
        abort ();
    return p;
}

static void site_make (struct site *s, struct pathset *all)
{
    *s = (struct site){ .all = all, .net = pathset_network (all) };
    s->link = pathset_links (all, &s->m, &err);
    s->measured = alloc (s->net->nlinks, sizeof (*s->measured));
    s->unknown = alloc (s->net->nlinks, sizeof (*s->unknown));
    s->form = rref_create (s->m);
    for (size_t j = 0; j < s->net->nlinks; j++)
        s->measured[j] = SWEEP_NEVER;
}

static void site_clear (struct site *s)
{
    for (size_t i = 0; i < s->rows.n; i++) {
        free ((void *)s->rows.v[i].link);
        free ((void *)s->rows.v[i].count);
    }
    free (s->rows.v);
    free (s->measured);
    free (s->unknown);
    rref_destroy (s->form);
    pathset_destroy (s->all);
}

/* Add a row to a form. */
static int enter (const struct site *s, struct rref *form,
                  const struct row *row)
{
    uint32_t col[ROW_MAX];

    for (size_t i = 0; i < row->n; i++)
        col[i] = (uint32_t)pathset_column (s->all, row->link[i]);
    return rref_add (form, col, row->count, row->n);
}

static void keep (struct site *s, const struct row *row)
{
    struct observation *o;

    if (s->rows.n == s->size) {
        s->size = 2 * s->size + 64;
        s->rows.v = realloc (s->rows.v, s->size * sizeof (*s->rows.v));
        if (!s->rows.v)
            abort ();
    }
    o = &s->rows.v[s->rows.n++];
    *o = (struct observation){ .n = row->n };
    o->link = memcpy (alloc (row->n, sizeof (*row->link)), row->link,
                      row->n * sizeof (*row->link));
    o->count = memcpy (alloc (row->n, 1), row->count, row->n);
}

/* The links of an audit are measured. */
static void mark (struct site *s, const struct pathset *ps,
                  const struct sweep_plan *audit, int64_t now)
{
    for (size_t i = 0; i < audit->n; i++)
        for (size_t k = 0; k < i; k++) {
            struct row row;

            if (pathset_row (ps, audit->endpoint[i], audit->endpoint[k], &row,
                             &err) < 0)
                abort ();
            for (size_t j = 0; j < row.n; j++)
                s->measured[row.link[j]] = now;
        }
}

/* Measure the pairs of an audit that are independent of each other, as a plan
 * does.
 */
static void measure (struct site *s, const struct pathset *ps,
                     const struct sweep_plan *audit, int64_t now)
{
    struct rref *own = rref_create (s->m);

    mark (s, ps, audit, now);
    for (size_t i = 0; i < audit->n; i++)
        for (size_t k = 0; k < i; k++) {
            struct row row;

            if (pathset_row (ps, audit->endpoint[i], audit->endpoint[k], &row,
                             &err) < 0)
                abort ();
            enter (s, s->form, &row);
            if (enter (s, own, &row) == 1)
                keep (s, &row);
        }
    rref_destroy (own);
}

/* The rank of the rows of all pairs. */
static size_t rank_of_all (const struct site *s)
{
    struct rref *form = rref_create (s->m);
    size_t n = pathset_size (s->all);
    size_t rank;

    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < a; b++) {
            struct row row;

            if (pathset_row (s->all, a, b, &row, &err) < 0
                || enter (s, form, &row) < 0)
                abort ();
        }
    rank = rref_rank (form);
    rref_destroy (form);
    return rank;
}

/* Links not measured since then. */
static size_t left (const struct site *s, int64_t since)
{
    size_t n = 0;

    for (size_t j = 0; j < s->m; j++)
        n += s->measured[s->link[j]] < since;
    return n;
}

/* A set of those endpoints that are idle, each with a chance. */
static struct pathset *idle_hosts (const struct site *s, double chance,
                                   struct rng *rng)
{
    size_t n = pathset_size (s->all);
    struct endpoint *e = alloc (n, sizeof (*e));
    struct pathset *ps;
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (rng_uniform (rng) < chance)
            e[k++] = *pathset_endpoint (s->all, i);
    ps = pathset_create (s->net, e, k, &err);
    if (!ps)
        abort ();
    free (e);
    return ps;
}

/* One audit of idle hosts; how many hosts it is of. */
static size_t audit (struct site *s, struct pathset *idle,
                     struct sweep_input *in)
{
    struct sweep_plan choice;
    size_t hosts;

    in->ps = idle;
    in->measured = s->measured;
    in->seed++;
    if (sweep_choose (&choice, in, &err) < 0) {
        diag ("%s", err.text);
        abort ();
    }
    measure (s, idle, &choice, in->now);
    hosts = choice.hosts;
    sweep_clear (&choice);
    return hosts;
}

/* No audit of n endpoints has more links than their own and, of switches,
 * what its paths are long; nor can it measure more than are left.
 */
static size_t least_audits (const struct site *s, size_t hosts)
{
    size_t own = 0, other, most = 0;

    for (size_t j = 0; j < s->m; j++)
        own += s->net->link[s->link[j]].kind == LINK_HOST;
    other = s->m - own;
    for (size_t a = 0; a < pathset_size (s->all); a++)
        for (size_t b = 0; b < a; b += 1 + b / 8) {
            struct row row;

            pathset_row (s->all, a, b, &row, &err);
            most = row.n > most ? row.n : most;
        }
    most = hosts * (hosts - 1) / 2 * (most - 2);
    own = (own + hosts - 1) / hosts;
    other = (other + most - 1) / most;
    return own > other ? own : other;
}

static struct pathset *fat_tree (unsigned int ports, unsigned int levels,
                                 enum routing routing, struct fabric **f)
{
    struct fat_tree tree = {
        .ports = ports, .levels = levels, .how = { routing, .seed = 1 },
    };

    if (!(*f = generate_fat_tree (&tree, &err)))
        abort ();
    return fabric_pathset (*f, NULL, 0, &err);
}

static struct pathset *dragonfly (unsigned int p, unsigned int a,
                                  unsigned int h, struct fabric **f)
{
    struct dragonfly fly = {
        .hosts = p, .routers = a, .globals = h,
        .how = { ROUTING_MINHOP, .seed = 1 },
    };

    if (!(*f = generate_dragonfly (&fly, &err)))
        abort ();
    return fabric_pathset (*f, NULL, 0, &err);
}

/* Audits of up to so many of the hosts that are idle, each with a chance: how
 * many until all links were measured, and until all is told apart.
 */
static void test_season (const char *name, struct pathset *all, size_t hosts,
                         double chance, double factor)
{
    enum { REST = 20 }; /* turns with nothing open, of few idle hosts each */
    struct sweep_input in = { .every_s = 1 << 20, .hosts = hosts };
    struct site s;
    struct rng rng;
    size_t least, audits = 0, turns = 0, more = 0, full = 0, rank;
    int rest = 0;

    site_make (&s, all);
    rng_seed (&rng, 7);
    least = least_audits (&s, hosts);
    for (; left (&s, 0) > 0 && turns < 100 * least; turns++) {
        struct pathset *idle = idle_hosts (&s, chance, &rng);

        in.now++;
        audits += audit (&s, idle, &in) > 0;
        pathset_destroy (idle);
    }
    ok (left (&s, 0) == 0 && (double)audits <= factor * (double)least,
        "%s, %.0f %% idle: %zu links by %zu audits of %zu, at least %zu",
        name, 100 * chance, s.m, audits, hosts, least);

    rank = rank_of_all (&s);
    in.unknown = s.unknown;
    for (turns = 0; rest < REST && turns < 20 * least + 100; turns++) {
        struct pathset *idle = idle_hosts (&s, chance, &rng);

        in.now++;
        sweep_unknown (&s.rows, s.net->nlinks, in.seed, s.unknown);
        rest = audit (&s, idle, &in) == 0 ? rest + 1 : 0;
        more += rest == 0;
        if (full == 0 && rref_rank (s.form) == rank)
            full = more;
        pathset_destroy (idle);
    }
    ok (rref_rank (s.form) == rank,
        "after %zu more their rank is the %zu that all pairs have", full,
        rank);
    ok (rest == REST, "after %zu more nothing is open", more);
    site_clear (&s);
}

static void test_seasons (void)
{
    struct pathset *all;
    struct fabric *f;

    all = fat_tree (8, 2, ROUTING_DMODK, &f);
    test_season ("fat tree 8/2", all, 8, 1, 2);
    fabric_destroy (f);
    all = fat_tree (8, 3, ROUTING_DMODK, &f);
    test_season ("fat tree 8/3", all, 8, 0.5, 2);
    fabric_destroy (f);
    all = fat_tree (8, 3, ROUTING_MINHOP, &f);
    test_season ("fat tree 8/3, min hop", all, 16, 0.3, 3);
    fabric_destroy (f);
    all = dragonfly (3, 6, 3, &f);
    test_season ("dragonfly 3/6/3", all, 8, 0.4, 3);
    fabric_destroy (f);
}

/* More leaves than are looked at for what is open, and more candidates than the
 * walks allow.
 */
static void test_large (void)
{
    enum { HOSTS = 686, MANY = 128 };
    struct tablenet *net = tablenet_fattree (14, 3, TABLE_DMODK, 1);
    struct sweep_input in = { .every_s = 1000, .hosts = MANY };
    struct sweep_plan choice;
    struct site s;
    size_t own = 0;
    int rc;

    site_make (&s, tablenet_pathset (net, NULL, 0));
    in.ps = s.all;
    in.measured = s.measured;
    rc = sweep_choose (&choice, &in, &err);
    mark (&s, s.all, &choice, 0);
    for (uint32_t j = 0; j < HOSTS; j++)
        own += s.measured[j] == 0;
    ok (rc == 0 && choice.hosts == MANY && own == MANY
            && s.m - left (&s, 0) > 4 * MANY,
        "%zu of %zu hosts measure %zu links", choice.hosts,
        pathset_size (s.all), s.m - left (&s, 0));
    sweep_clear (&choice);

    for (size_t j = 0; j < s.net->nlinks; j++)
        s.measured[j] = 0;
    in.hosts = 2;
    in.unknown = s.unknown;
    s.unknown[600] = 1; /* of one host, or none */
    rc = 0;
    for (own = 0; rc == 0 && own < 20; in.seed++, own++) {
        rc = sweep_choose (&choice, &in, &err);
        if (rc == 0 && choice.n == 2)
            rc = choice.endpoint[0] == 600 || choice.endpoint[1] == 600
                     ? 1
                     : -1;
        sweep_clear (&choice);
    }
    ok (rc == 1, "what only one host sees is found, by try %zu", own);
    site_clear (&s);
    tablenet_destroy (net);
}

/* Time goes on by `pace` a turn, which is enough to measure all in time: how
 * old does a link get?
 */
static void test_steady (void)
{
    enum { EVERY = 1000, PACE = 30, TURNS = 400 };
    struct sweep_input in = { .every_s = EVERY, .hosts = 8 };
    struct fabric *f;
    struct site s;
    struct rng rng;
    int64_t oldest = 0;
    size_t audits = 0;

    site_make (&s, fat_tree (8, 3, ROUTING_DMODK, &f));
    rng_seed (&rng, 3);
    for (size_t j = 0; j < s.net->nlinks; j++)
        s.measured[j] = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        struct pathset *idle = idle_hosts (&s, 0.5, &rng);

        in.now += PACE;
        audits += audit (&s, idle, &in) > 0;
        for (size_t j = 0; j < s.m; j++)
            if (in.now - s.measured[s.link[j]] > oldest)
                oldest = in.now - s.measured[s.link[j]];
        pathset_destroy (idle);
    }
    ok (oldest >= EVERY && oldest < 2 * EVERY,
        "no link gets older than %jd, where %d is wanted, by %zu audits",
        (intmax_t)oldest, EVERY, audits);
    ok (audits < TURNS, "and there are turns with nothing to do");
    site_clear (&s);
    fabric_destroy (f);
}

static void test_table (void)
{
    enum { NOW = 10000, EVERY = 1000 };
    /* link 0 .. 15 are of hosts; all others were just measured */
    static const struct {
        const char *what;
        uint32_t link;
        int64_t measured;
        size_t hosts, due, n; /* n: hosts of the audit */
    } tab[] = {
        { "all is fresh", 3, NOW, 8, 0, 0 },
        { "soon is not due", 3, NOW - EVERY + 1, 8, 0, 0 },
        { "due is due", 3, NOW - EVERY, 8, 1, 2 },
        { "a host's that never was", 3, SWEEP_NEVER, 8, 1, 2 },
        { "a switch's", 20, SWEEP_NEVER, 8, 1, 2 },
        { "by two hosts at most", 20, SWEEP_NEVER, 2, 1, 2 },
        { "by one is none", 20, SWEEP_NEVER, 1, 0, 0 },
        { "of the future", 20, NOW + 1, 8, 1, 2 },
        { "the least that is", 20, INT64_MIN + 2, 8, 1, 2 },
        { "one that is doubted, by many", 20, SWEEP_DOUBTED, 8, 1, 8 },
    };
    struct tablenet *net = tablenet_fattree (4, 3, TABLE_DMODK, 1);
    struct site s;

    site_make (&s, tablenet_pathset (net, NULL, 0));
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct sweep_input in = {
            s.all, s.measured, NULL, NOW, EVERY, tab[i].hosts, i,
        };
        struct sweep_plan choice;
        int rc;

        for (size_t j = 0; j < s.net->nlinks; j++)
            s.measured[j] = NOW;
        s.measured[tab[i].link] = tab[i].measured;
        rc = sweep_choose (&choice, &in, &err);
        ok (rc == 0 && choice.hosts == tab[i].n && choice.n == tab[i].n
                && choice.due == tab[i].due,
            "%s: %zu hosts", tab[i].what, choice.hosts);
        measure (&s, s.all, &choice, NOW);
        if (tab[i].n > 0)
            ok (s.measured[tab[i].link] == NOW, "which measure it");
        sweep_clear (&choice);
    }
    site_clear (&s);
    tablenet_destroy (net);
}

/* Hosts of two rails: the audit is of both. */
static void test_rails (void)
{
    struct tablenet *net = tablenet_fattree (4, 2, TABLE_DMODK, 1);
    struct sweep_input in = { .every_s = 10, .hosts = 3 };
    struct endpoint e[8];
    struct sweep_plan choice;
    struct site s;
    bool both = true;

    for (uint32_t i = 0; i < 8; i++)
        e[i] = (struct endpoint){ i, net->name[i], net->name[i / 2] };
    site_make (&s, pathset_create (&net->net, e, 8, &err));
    in.ps = s.all;
    in.measured = s.measured;
    ok (sweep_choose (&choice, &in, &err) == 0 && choice.hosts == 3
            && choice.n == 6,
        "three hosts, six rails");
    for (size_t i = 0; i < choice.n; i += 2)
        both = both && choice.endpoint[i] / 2 == choice.endpoint[i + 1] / 2;
    ok (both, "each host's together");
    sweep_clear (&choice);
    site_clear (&s);
    tablenet_destroy (net);
}

static void test_broken (void)
{
    struct tablenet *net = tablenet_fattree (4, 2, TABLE_DMODK, 1);
    struct sweep_input in = { .every_s = 10, .hosts = 3 };
    struct sweep_plan choice;
    struct site s;

    site_make (&s, tablenet_pathset (net, NULL, 0));
    in.ps = tablenet_pathset (net, NULL, 0);
    in.measured = s.measured;
    net->path[3].n = -1;
    ok (sweep_choose (&choice, &in, &err) < 0 && strstr (err.text, "k1 to k4"),
        "a path that leads nowhere: %s", err.text);
    sweep_clear (&choice);
    pathset_destroy (in.ps);
    in.ps = tablenet_pathset (net, (uint32_t[]){ 2 }, 1);
    ok (sweep_choose (&choice, &in, &err) == 0 && choice.n == 0,
        "one host measures nothing");
    sweep_clear (&choice);
    pathset_destroy (in.ps);
    site_clear (&s);
    tablenet_destroy (net);
}

static double dot (const struct row *row, const double *z)
{
    double sum = 0;

    for (size_t i = 0; i < row->n; i++)
        sum += row->count[i] * z[row->link[i]];
    return sum < 0 ? -sum : sum;
}

/* What rows see and what they do not, against exact elimination. */
static void test_unknown (void)
{
    struct tablenet *net = tablenet_irregular (12, 40, 10, 5);
    struct rng rng;
    struct site s;
    size_t open = 0, wrong = 0;
    double greatest = 0;

    site_make (&s, tablenet_pathset (net, NULL, 0));
    rng_seed (&rng, 1);
    for (int i = 0; i < 60; i++) {
        struct row row;
        size_t a = rng_below (&rng, 40);

        pathset_row (s.all, a, (a + 1 + rng_below (&rng, 39)) % 40, &row,
                     &err);
        enter (&s, s.form, &row);
        keep (&s, &row);
    }
    sweep_unknown (&s.rows, s.net->nlinks, 1, s.unknown);
    for (size_t a = 0; a < 40; a++)
        for (size_t b = 0; b < a; b++) {
            uint32_t col[ROW_MAX];
            struct row row;
            bool spanned;

            pathset_row (s.all, a, b, &row, &err);
            for (size_t i = 0; i < row.n; i++)
                col[i] = (uint32_t)pathset_column (s.all, row.link[i]);
            spanned = rref_spans (s.form, col, row.count, row.n);
            open += !spanned;
            wrong += spanned != (dot (&row, s.unknown) <= SWEEP_OPEN);
            if (spanned && dot (&row, s.unknown) > greatest)
                greatest = dot (&row, s.unknown);
        }
    ok (open > 0 && open < 780 && wrong == 0,
        "%zu of 780 pairs are open, the others %.1g at most", open, greatest);
    s.rows.n = 0; /* what was kept is freed below, by the number */
    sweep_unknown (&s.rows, s.net->nlinks, 1, s.unknown);
    ok (s.unknown[0] != 0, "nothing measured: all is open");
    s.rows.n = 60;
    site_clear (&s);
    tablenet_destroy (net);
}

int main (void)
{
    test_table ();
    test_rails ();
    test_broken ();
    test_unknown ();
    test_large ();
    test_steady ();
    test_seasons ();
    return done_testing ();
}
