/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans: made, checked, written and read. */
#include "config.h"
#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/pack.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

static struct plan *make (struct pathset *ps, uint64_t seed,
                          unsigned int extra)
{
    struct plan_options opts = { .extra_rounds = extra, .seed = seed };
    struct error err;
    struct plan *plan = plan_make (ps, &opts, &err);

    if (!plan)
        diag ("%s", err.text);
    return plan;
}

/* The example to read first: three hosts on one switch have three cables, which
 * three probes determine; each two of them share a cable, so each has a round
 * of its own.
 */
static void test_example (void)
{
    struct tablenet *t = tablenet_create (3, 3);
    struct pathset *ps;
    struct plan *plan;
    struct error err = { 0 };

    for (uint32_t a = 0; a < 3; a++)
        for (uint32_t b = a + 1; b < 3; b++)
            tablenet_both (t, a, b, 2, a, b);
    ps = tablenet_pathset (t, NULL, 0);
    plan = make (ps, 1, 0);
    ok (plan && plan_rank (plan) == 3 && plan_links (plan) == 3
            && plan_probes (plan) == 3 && plan_rounds (plan) == 3
            && plan_check (ps, plan, &err) == 0,
        "three hosts on a switch: three probes in three rounds%s%s",
        err.text[0] ? ": " : "", err.text);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* Rank of n rows of integers over the rationals (Bareiss: every division is
 * exact, every number a minor).
 */
enum { COLS = 24 };

static size_t rational_rank (int64_t (*row)[COLS], size_t n)
{
    __int128 previous = 1;
    size_t rank = 0;

    for (size_t c = 0; c < COLS && rank < n; c++) {
        size_t r = rank;

        while (r < n && row[r][c] == 0)
            r++;
        if (r == n)
            continue;
        for (size_t k = 0; k < COLS; k++) {
            int64_t t = row[r][k];

            row[r][k] = row[rank][k];
            row[rank][k] = t;
        }
        for (size_t i = rank + 1; i < n; i++) {
            for (size_t k = c + 1; k < COLS; k++)
                row[i][k] = (((__int128)row[i][k] * row[rank][c]
                              - (__int128)row[i][c] * row[rank][k])
                             / previous);
            row[i][c] = 0;
        }
        previous = row[rank++][c];
    }
    return rank;
}

static void dense_row (const struct pathset *ps, size_t a, size_t b,
                       int64_t *dense)
{
    struct row row;
    struct error err;

    memset (dense, 0, COLS * sizeof (*dense));
    if (pathset_row (ps, a, b, &row, &err) < 0)
        abort ();
    for (size_t k = 0; k < row.n; k++)
        dense[row.link[k]] = row.count[k];
}

/*
 * The sample network of the paper, by exhaustion.
 */

/* True if the probes of `set` fit into `colours` rounds. */
static int colourable (const uint32_t *clash, const int *member, int n, int at,
                       uint32_t *round, int used, int colours)
{
    if (at == n)
        return 1;
    for (int r = 0; r <= used && r < colours; r++) {
        if (round[r] & clash[member[at]])
            continue;
        round[r] |= 1u << member[at];
        if (colourable (clash, member, n, at + 1, round,
                        r == used ? used + 1 : used, colours))
            return 1;
        round[r] &= ~(1u << member[at]);
    }
    return 0;
}

static void test_paper (void)
{
    static const size_t expected[8] = { 0, 0, 0, 84, 648, 594, 192, 0 };
    enum { PAIRS = 15, RANK = 7 };
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    int64_t row[PAIRS][COLS];
    uint32_t clash[PAIRS] = { 0 };
    size_t chromatic[8] = { 0 };
    size_t sets = 0, n = 0;
    struct plan *plan;

    for (size_t a = 0; a < 6; a++)
        for (size_t b = a + 1; b < 6; b++)
            dense_row (ps, a, b, row[n++]);
    for (int i = 0; i < PAIRS; i++)
        for (int k = 0; k < PAIRS; k++)
            for (int c = 0; c < COLS && i != k; c++)
                if (row[i][c] && row[k][c])
                    clash[i] |= 1u << k;
    for (uint32_t set = 0; set < 1u << PAIRS; set++) {
        int64_t some[RANK][COLS];
        int member[RANK];
        int colours = 1;

        if (__builtin_popcount (set) != RANK)
            continue;
        n = 0;
        for (int i = 0; i < PAIRS; i++)
            if (set & 1u << i) {
                memcpy (some[n], row[i], sizeof (row[i]));
                member[n++] = i;
            }
        if (rational_rank (some, RANK) < RANK)
            continue;
        sets++;
        for (;; colours++) {
            uint32_t round[RANK] = { 0 };

            if (colourable (clash, member, RANK, 0, round, 0, colours))
                break;
        }
        chromatic[colours]++;
    }
    ok (rational_rank (row, PAIRS) == RANK, "paper: rank 7");
    ok (sets == 1518, "paper: %zu maximal independent sets", sets);
    for (size_t c = 0; c < COUNT (chromatic); c++)
        if (expected[c] || chromatic[c])
            ok (chromatic[c] == expected[c],
                "paper: %zu of chromatic number %zu", chromatic[c], c);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct error err = { 0 };

        plan = make (ps, seed, 2);
        if (!plan || plan_rank (plan) != RANK || plan_links (plan) != 8
            || plan_basis_rounds (plan) != 3 || plan_rounds (plan) != 5
            || plan_check (ps, plan, &err) < 0)
            ok (0, "paper: seed %ju: %s", (uintmax_t)seed, err.text);
        plan_destroy (plan);
    }
    ok (1, "paper: 3 rounds, the fewest there are, from every seed");
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/*
 * Fat trees. rounds: at most that many before the redundant ones.
 */

static const struct {
    int p, q;
    enum table_routing routing;
    size_t hosts; /* random ones; 0: all */
    size_t links, rank, rounds; /* 0: not said */
} trees[] = {
    { 4, 2, TABLE_DMODK, 0, 16, 15, 5 },
    { 4, 3, TABLE_DMODK, 0, 48, 46, 9 },
    { 8, 2, TABLE_DMODK, 0, 64, 64, 5 },
    { 8, 3, TABLE_DMODK, 0, 384, 384, 7 },
    { 8, 3, TABLE_DMODK, 16, 0, 0, 24 },
    { 12, 2, TABLE_DMODK, 0, 144, 144, 5 },
    { 12, 3, TABLE_DMODK, 0, 1296, 1296, 7 },
    { 12, 3, TABLE_DMODK, 64, 0, 0, 34 },
    { 12, 3, TABLE_DMODK, 2, 0, 1, 1 },
    { 12, 3, TABLE_DMODK, 3, 0, 3, 3 },
    { 4, 2, TABLE_MINHOP, 0, 16, 0, 7 },
    { 8, 2, TABLE_MINHOP, 0, 64, 64, 6 },
    { 8, 3, TABLE_MINHOP, 0, 384, 384, 9 },
    { 8, 3, TABLE_MINHOP, 16, 0, 0, 22 },
    { 12, 3, TABLE_MINHOP, 0, 1296, 1296, 9 },
    { 12, 3, TABLE_MINHOP, 64, 0, 0, 32 },
};

static void test_trees (void)
{
    for (size_t i = 0; i < COUNT (trees); i++) {
        struct tablenet *t = tablenet_fattree (trees[i].p, trees[i].q,
                                               trees[i].routing, i);
        struct pathset *ps = trees[i].hosts
            ? tablenet_random (t, trees[i].hosts, i)
            : tablenet_pathset (t, NULL, 0);
        struct plan *plan = make (ps, i, 2);
        struct error err = { 0 };

        if (!ok (plan != NULL, "tree %zu is planned", i))
            continue;
        ok (plan_check (ps, plan, &err) == 0, "it passes the checker%s%s",
            *err.text ? ": " : "", err.text);
        ok ((!trees[i].links || plan_links (plan) == trees[i].links)
                && (!trees[i].rank || plan_rank (plan) == trees[i].rank)
                && plan_basis_rounds (plan) <= trees[i].rounds
                && plan_basis_rounds (plan)
                    >= plan_least_rounds (pathset_size (ps), plan_rank (plan))
                && plan_rounds (plan) == plan_basis_rounds (plan) + 2,
            "%d-port %d-tree, %s, %zu hosts: %zu links, rank %zu, %zu rounds,"
            " bound %zu", trees[i].p, trees[i].q,
            trees[i].routing == TABLE_DMODK ? "d-mod-k" : "min-hop",
            pathset_size (ps), plan_links (plan), plan_rank (plan),
            plan_basis_rounds (plan),
            plan_least_rounds (pathset_size (ps), plan_rank (plan)));
        plan_destroy (plan);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
}

/* Small irregular networks, with parallel cables and paths that differ there
 * and back.
 */
static void test_irregular (void)
{
    const size_t many = trials (300);
    struct rng rng;
    size_t good = 0, asymmetric = 0;

    rng_seed (&rng, 5);
    for (size_t i = 0; i < many; i++) {
        size_t hosts = 2 + rng_below (&rng, 9);
        size_t switches = 1 + rng_below (&rng, 6);
        size_t more = switches > 1 ? rng_below (&rng, 8) : 0;
        struct tablenet *t = tablenet_irregular (switches, hosts, more, i);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        struct plan *plan = make (ps, i, i % 3);
        int64_t row[45][COLS];
        struct error err = { 0 };
        struct row r;
        size_t n = 0;

        for (size_t a = 0; a < hosts; a++)
            for (size_t b = a + 1; b < hosts; b++) {
                dense_row (ps, a, b, row[n++]);
                pathset_row (ps, a, b, &r, &err);
                asymmetric += !r.symmetric;
            }
        if (plan && plan_rank (plan) == rational_rank (row, n)
            && plan_check (ps, plan, &err) == 0)
            good++;
        else
            diag ("network %zu: %s", i, err.text);
        plan_destroy (plan);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == many, "%zu of %zu irregular networks have the rational rank",
        good, many);
    ok (asymmetric > many, "%zu pairs of them are asymmetric", asymmetric);
}

static int same (const struct plan *x, const struct plan *y)
{
    if (plan_rounds (x) != plan_rounds (y)
        || plan_basis_rounds (x) != plan_basis_rounds (y)
        || plan_rank (x) != plan_rank (y) || plan_links (x) != plan_links (y)
        || strcmp (plan_method (x), plan_method (y)) != 0)
        return 0;
    for (size_t r = 0; r < plan_rounds (x); r++) {
        size_t n, m;
        const struct probe *p = plan_round (x, r, &n);
        const struct probe *q = plan_round (y, r, &m);

        if (n != m || memcmp (p, q, n * sizeof (*p)) != 0)
            return 0;
    }
    return 1;
}

static void test_odds (void)
{
    struct tablenet *t = tablenet_fattree (8, 2, TABLE_MINHOP, 1);
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct plan *plan = make (ps, 7, 3);
    struct plan *again = make (ps, 7, 3);
    struct plan *other = make (ps, 8, 3);
    struct error err = { 0 };
    size_t n;

    ok (same (plan, again), "the same seed, the same plan");
    ok (!same (plan, other), "another seed, another plan");
    for (size_t r = plan_basis_rounds (plan); r < plan_rounds (plan); r++) {
        plan_round (plan, r, &n);
        ok (n >= 12, "redundant round %zu has %zu of 16 probes", r, n);
    }
    plan_destroy (plan);
    plan_destroy (again);
    plan_destroy (other);
    pathset_destroy (ps);

    for (size_t hosts = 0; hosts < 2; hosts++) {
        uint32_t who[1] = { 5 };

        ps = tablenet_pathset (t, who, hosts);
        plan = make (ps, 1, 2);
        ok (plan && plan_rounds (plan) == 0 && plan_rank (plan) == 0
                && plan_links (plan) == 0 && plan_check (ps, plan, &err) == 0,
            "%zu hosts: nothing to measure", hosts);
        plan_destroy (plan);
        pathset_destroy (ps);
    }
    tablenet_destroy (t);

    t = tablenet_create (3, 3);
    tablenet_both (t, 0, 1, 2, 0, 1);
    ps = tablenet_pathset (t, NULL, 0);
    plan = plan_make (ps, &(struct plan_options){ .seed = 1 }, &err);
    ok (!plan && strstr (err.text, "k3 to k1: dead end"),
        "no way between two: %s", err.text);
    pathset_destroy (ps);
    tablenet_destroy (t);
    plan_destroy (NULL);
}

/* A budget never makes it worse, and the plan is the same each time. */
static void test_budget (void)
{
    struct tablenet *t = tablenet_fattree (8, 3, TABLE_MINHOP, 1);

    for (size_t hosts = 20; hosts <= (trials (4) == 4 ? 128 : 74);
         hosts += trials (4) == 4 ? 36 : 54) {
        struct pathset *ps = tablenet_random (t, hosts, hosts);
        struct plan *first = make (ps, 4, 0);
        struct plan *plan[2] = { NULL };
        struct error err = { 0 };

        for (unsigned int i = 0; i < COUNT (plan); i++) {
            struct plan_options opts = {
                .seed = 4, .budget = .05,
            };

            plan[i] = plan_make (ps, &opts, &err);
        }
        ok (plan[0] && plan_check (ps, plan[0], &err) == 0
                && plan_rounds (plan[0]) <= plan_rounds (first),
            "%zu hosts: %zu rounds, %zu with a budget: %s", hosts,
            plan_rounds (first), plan_rounds (plan[0]), err.text);
        ok (same (plan[0], plan[1]), "twice the same plan");
        plan_destroy (first);
        for (size_t i = 0; i < COUNT (plan); i++)
            plan_destroy (plan[i]);
        pathset_destroy (ps);
    }
    tablenet_destroy (t);
}

/*
 * The checker. The good plan of the paper's network, and what becomes of it
 * when one thing is changed. Endpoints are numbered from 0.
 */

enum { LAST = 99 };

struct table_probe {
    size_t round;
    uint32_t a, b;
};

static const struct table_probe good[] = {
    { 0, 2, 3 }, { 0, 0, 4 }, { 0, 1, 5 }, /* k3k4 k1k5 k2k6 */
    { 1, 4, 5 }, { 1, 1, 2 },              /* k5k6 k2k3 */
    { 2, 0, 5 }, { 2, 3, 4 },              /* k1k6 k4k5 */
    { 3, 0, 3 }, { 3, 1, 4 },              /* redundant: k1k4 k2k5 */
};

static const struct {
    const char *what;
    size_t at;                 /* probe replaced; LAST: none */
    struct table_probe probe;  /* by this; round LAST: dropped */
    size_t links, rank, basis_rounds;
    const char *error;         /* NULL: passes */
} tampered[] = {
    { "nothing", LAST, { 0 }, 8, 7, 3, NULL },
    { "ends swapped", 0, { 0, 3, 2 }, 8, 7, 3, NULL },
    { "link shared", 3, { 1, 0, 3 }, 8, 7, 3,
      "round 2: k2 to k3 shares link l3 with another probe" },
    { "endpoint shared", 1, { 0, 0, 5 }, 8, 7, 3,
      "round 1: k6 is in two probes" },
    { "link shared in a redundant round", 8, { 3, 1, 2 }, 8, 7, 3,
      "round 4: k2 to k3 shares link l3 with another probe" },
    { "endpoint out of range", 4, { 1, 1, 6 }, 8, 7, 3,
      "round 2, probe 2: endpoint 6 is out of range" },
    { "endpoint far out of range", 7, { 3, UINT32_MAX, 0 }, 8, 7, 3,
      "round 4, probe 1: endpoint 4294967295 is out of range" },
    { "a probe to itself", 8, { 3, 1, 1 }, 8, 7, 3,
      "round 4: k2 is in two probes" },
    { "dependent row", 4, { 1, 0, 1 }, 8, 7, 3, "follows from the other" },
    { "row missing", 6, { LAST, 0, 0 }, 8, 6, 3,
      "does not follow from the basis rounds: the rank is more than 6" },
    { "row missing, rank kept", 6, { LAST, 0, 0 }, 8, 7, 3,
      "6 probes in the basis rounds, but a rank of 7" },
    { "redundant row missing", 8, { LAST, 0, 0 }, 8, 7, 3, NULL },
    { "rank too high", LAST, { 0 }, 8, 8, 3,
      "7 probes in the basis rounds, but a rank of 8" },
    { "redundant round called basis", LAST, { 0 }, 8, 9, 4,
      "follows from the other" },
    { "basis round called redundant", LAST, { 0 }, 8, 5, 2,
      "the rank is more than 5" },
    { "more basis rounds than rounds", LAST, { 0 }, 8, 7, 5,
      "5 basis rounds of 4 rounds" },
    { "no basis rounds", LAST, { 0 }, 8, 0, 0, "the rank is more than 0" },
    { "links miscounted", LAST, { 0 }, 7, 7, 3,
      "the pairs use 8 links, the plan says 7" },
    { "empty round", 8, { 5, 1, 4 }, 8, 7, 3, "round 5 is empty" },
};

static void test_check (void)
{
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);

    for (size_t i = 0; i < COUNT (tampered); i++) {
        struct plan *plan = plan_create ("pmm");
        struct error err = { 0 };
        int rc;

        for (size_t k = 0; k < COUNT (good); k++) {
            struct table_probe p
                = k == tampered[i].at ? tampered[i].probe : good[k];

            if (p.round != LAST)
                plan_add (plan, p.round, p.a, p.b);
        }
        plan_set_rank (plan, tampered[i].links, tampered[i].rank,
                       tampered[i].basis_rounds);
        rc = plan_check (ps, plan, &err);
        ok (tampered[i].error
                ? rc < 0 && strstr (err.text, tampered[i].error)
                : rc == 0,
            "checker: %s%s%s", tampered[i].what, rc < 0 ? ": " : "",
            err.text);
        plan_destroy (plan);
    }
    pathset_destroy (ps);
    tablenet_destroy (t);
}

/* The same plan but for one probe. */
static struct plan *drop_probe (const struct plan *plan, size_t drop)
{
    struct plan *less = plan_create ("pmm");
    size_t n, i = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t k = 0; k < n; k++)
            if (i++ != drop)
                plan_add (less, r, p[k].a, p[k].b);
    }
    plan_set_rank (less, plan_links (plan), plan_rank (plan) - 1,
                   plan_rounds (plan));
    return less;
}

/* Whichever row a plan lacks, some pair tells: of one leaf, or of two. */
static void test_lacking (enum tree_routing routing)
{
    struct treenet *net = treenet_create (8, 2, routing, 1);
    struct pathset *ps = treenet_pathset (net, NULL, 0);
    struct plan *plan = make (ps, 1, 0);
    size_t rank = plan_rank (plan);
    size_t told = 0;

    for (size_t drop = 0; drop < rank; drop++) {
        struct plan *less = drop_probe (plan, drop);
        struct error err = { 0 };

        told += plan_check (ps, less, &err) < 0
            && strstr (err.text, "does not follow from the basis rounds");
        plan_destroy (less);
    }
    ok (rank == 64 && told == rank, "routing %d: each of %zu rows is missed"
        " where it lacks", routing, told);
    plan_destroy (plan);
    pathset_destroy (ps);
    treenet_destroy (net);
}

/* A plan without elimination: rows that each have a column of their own. */
static struct plan *make_bare (struct pathset *ps)
{
    struct plan *plan = plan_create ("pmm");
    struct packing p;
    struct rng rng;
    struct error err;

    rng_seed (&rng, 3);
    if (pack_job (&p, ps, &rng, 0, &err) < 0)
        abort ();
    for (size_t i = 0; i < p.rounds.n; i++) {
        const struct probe *probe = &p.basis.pair[p.rounds.slot[i].pair];

        plan_add (plan, p.rounds.slot[i].round, probe->a, probe->b);
    }
    plan_set_rank (plan, p.basis.m, p.rounds.n, p.rounds.count);
    plan_set_maximal (plan, p.maximal);
    pack_clear (&p);
    return plan;
}

/* A plan that is not maximal says so, is checked for what it is, and not
 * believed when it says that it is.
 */
static void test_not_maximal (void)
{
    struct treenet *net = treenet_create (8, 3, TREE_MINHOP, 1);
    struct pathset *ps = treenet_random (net, 24, 2);
    struct plan *plan = make_bare (ps);
    struct plan *all = make (ps, 1, 0);
    struct plan *copy = plan_copy (plan);
    struct error err = { 0 };
    size_t told = 0;

    ok (plan_maximal (all) && !plan_maximal (plan) && !plan_maximal (copy)
            && plan_rank (plan) < plan_rank (all),
        "rank %zu of %zu is not maximal", plan_rank (plan), plan_rank (all));
    ok (plan_check (ps, plan, &err) == 0, "it passes the checker%s%s",
        *err.text ? ": " : "", err.text);
    plan_set_maximal (copy, true);
    ok (plan_check (ps, copy, &err) < 0
            && strstr (err.text, "does not follow from the basis rounds"),
        "not as a maximal one: %s", err.text);
    for (size_t drop = 0; drop < plan_rank (plan); drop++) {
        struct plan *less = drop_probe (plan, drop);

        plan_set_maximal (less, false);
        told += plan_check (ps, less, &err) < 0
            && strstr (err.text, "no probe of the basis rounds crosses");
        plan_destroy (less);
    }
    ok (told > 0, "%zu of its probes are the only ones on some link", told);
    plan_destroy (plan);
    plan_destroy (all);
    plan_destroy (copy);
    pathset_destroy (ps);
    treenet_destroy (net);
}

/*
 * Files
 */

static struct pathset *resolve (const char *const *name, size_t n, void *arg,
                                struct error *err)
{
    const struct tablenet *t = arg;
    struct endpoint *e = calloc (n + 1, sizeof (*e));
    struct pathset *ps = NULL;

    if (!e)
        abort ();
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < t->n && strcmp (t->name[k], name[i]) != 0)
            k++;
        if (k == t->n) {
            error_input (err, "%s is not in the fabric", name[i]);
            goto error;
        }
        e[i] = (struct endpoint){ k, t->name[k], t->name[k] };
    }
    ps = pathset_create (&t->net, e, n, err);
error:
    free (e);
    return ps;
}

static char *write_text (const struct plan *plan, struct pathset *ps,
                         const struct plan_file_extra *extra)
{
    char *text = NULL;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    struct error err;

    if (plan_write (plan, ps, extra, fp, &err) < 0)
        abort ();
    fclose (fp);
    return text;
}

static struct plan *read_text (const char *text, struct tablenet *t,
                               struct pathset **ps, struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct plan *plan = plan_read (fp, "p.json", "table", resolve, t, ps,
                                   err);

    fclose (fp);
    return plan;
}

static void test_round_trip (void)
{
    static const size_t hosts[] = { 0, 1, 2, 40, 128 };
    struct tablenet *t = tablenet_fattree (8, 3, TABLE_MINHOP, 1);

    for (size_t i = 0; i < COUNT (hosts); i++) {
        struct pathset *ps = tablenet_random (t, hosts[i], i);
        struct pathset *ps2 = NULL;
        struct plan *plan = make (ps, i, 2);
        struct plan_file_extra extra = { .seconds = 0.25 };
        char *text = write_text (plan, ps, i ? &extra : NULL);
        struct error err = { 0 };
        struct plan *plan2 = read_text (text, t, &ps2, &err);

        ok (plan2 && same (plan, plan2) && pathset_size (ps2) == hosts[i]
                && plan_check (ps2, plan2, &err) == 0,
            "a plan for %zu hosts comes back: %s", hosts[i], err.text);
        ok (strstr (text, "\"stderr_rms\":null,\"stderr_max\":null")
                && !strstr (text, "\"seconds\":0.25") == !i,
            "with the keys that were given");
        free (text);
        plan_destroy (plan);
        plan_destroy (plan2);
        pathset_destroy (ps);
        pathset_destroy (ps2);
    }
    tablenet_destroy (t);
}

/* What is copied, and written with a confirm stage, comes back. */
static void test_confirm (void)
{
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct pathset *ps2 = NULL;
    struct plan *plan = make (ps, 1, 2);
    struct plan *copy = plan_copy (plan);
    struct plan *back = NULL;
    struct error err = { 0 };
    char *text;

    /* k1 and k5 */
    if (!copy)
        abort ();
    plan_add (copy, plan_rounds (copy), 0, 4);
    plan_set_confirm (copy, plan_rounds (copy));
    ok (plan_check (ps, copy, &err) < 0
            && strstr (err.text, "after the basis"),
        "no round of the basis is one of the confirm stage: %s", err.text);
    plan_set_confirm (copy, 1);
    ok (plan_check (ps, copy, &err) == 0 && plan_confirm_rounds (plan) == 0
            && plan_rounds (copy) == plan_rounds (plan) + 1,
        "a copy grows alone");
    text = write_text (copy, ps, NULL);
    back = read_text (text, t, &ps2, &err);
    ok (back && same (copy, back) && plan_confirm_rounds (back) == 1
            && strstr (text, "\"extra_rounds\":2"),
        "a confirm stage comes back, apart from the extra rounds: %s",
        err.text);
    free (text);
    plan_destroy (plan);
    plan_destroy (copy);
    plan_destroy (back);
    pathset_destroy (ps);
    pathset_destroy (ps2);
    tablenet_destroy (t);
}

/* What is not maximal says so in the file, and what is does not. */
static void test_maximal_key (void)
{
    struct tablenet *t = tablenet_fattree (8, 3, TABLE_MINHOP, 1);
    struct pathset *ps = tablenet_random (t, 24, 2);
    struct pathset *ps2 = NULL;
    struct plan *plan = make_bare (ps);
    struct error err = { 0 };
    char *text = write_text (plan, ps, NULL);
    struct plan *back = read_text (text, t, &ps2, &err);

    ok (strstr (text, "\"maximal\":false") && back && !plan_maximal (back)
            && same (plan, back) && plan_check (ps2, back, &err) == 0,
        "a plan that is not maximal comes back: %s", err.text);
    free (text);
    plan_set_maximal (plan, true);
    text = write_text (plan, ps, NULL);
    ok (!strstr (text, "maximal"), "one that is says nothing");
    free (text);
    plan_destroy (plan);
    plan_destroy (back);
    pathset_destroy (ps);
    pathset_destroy (ps2);
    tablenet_destroy (t);
}

/* A plan of k1, k2, k3 of the paper's network, and changes of its text. */
static const char file[]
    = "{\"kind\":\"plan\",\"version\":1,\"fabric\":\"table\","
      "\"method\":\"pmm\",\"hosts\":3,\"links\":5,\"rank\":3,"
      "\"measurements\":3,\"bound\":3,\"basis_rounds\":3,\"extra_rounds\":0,"
      "\"endpoints\":[\"k1\",\"k2\",\"k3\"],\"rounds\":["
      "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}],"
      "[{\"a\":\"k3\",\"b\":\"k1\",\"row\":"
      "{\"l3\":2,\"l1\":2,\"l4\":2,\"l5\":2}}],"
      "[{\"a\":\"k2\",\"b\":\"k3\",\"row\":"
      "{\"l2\":2,\"l3\":2,\"l4\":2,\"l5\":2}}]]}\n";

static const struct {
    const char *from, *to; /* the first `from` becomes `to` */
    const char *error;     /* NULL: is read */
} files[] = {
    { "", "", NULL },
    { "\"rank\":3", "\"rank\":3,\"seconds\":\"?\"", NULL },
    { "{\"kind\":\"plan\"", "", "p.json:1:" },
    { "]]}", "", "p.json:" },
    { "\"plan\"", "\"samples\"", "p.json: expected a plan" },
    { "\"version\":1", "\"version\":2", "p.json: version 2" },
    { "\"table\"", "\"other\"", "p.json: made for another fabric (other" },
    { "\"fabric\":\"table\",", "", "p.json: fabric: missing" },
    { "\"pmm\"", "\"guess\"", "p.json: method: guess is not known" },
    { "\"method\":\"pmm\",", "", "p.json: method: missing" },
    { "\"hosts\":3", "\"hosts\":4", "p.json: hosts: 4, but it is 3" },
    { "\"links\":5", "\"links\":4", "p.json: links: 4, but it is 5" },
    { "\"rank\":3", "\"rank\":6", "p.json: rank: not a whole number" },
    { "\"rank\":3", "\"rank\":-1", "p.json: rank: not a whole number" },
    { "\"rank\":3", "\"rank\":2.5", "p.json: rank: not a whole number" },
    { "\"measurements\":3", "\"measurements\":1e3",
      "p.json: measurements: not a whole number" },
    { "\"measurements\":3", "\"measurements\":4",
      "p.json: measurements: 4, but it is 3" },
    { "\"basis_rounds\":3", "\"basis_rounds\":4",
      "p.json: basis_rounds: not a whole number from 0 to 3" },
    { "\"extra_rounds\":0", "\"extra_rounds\":1",
      "p.json: extra_rounds: 1, but it is 0" },
    { "\"rank\":3", "\"rank\":3,\"maximal\":false", NULL },
    { "\"rank\":3", "\"rank\":3,\"maximal\":true", NULL },
    { "\"rank\":3", "\"rank\":3,\"maximal\":0",
      "p.json: maximal: neither true nor false" },
    { "\"extra_rounds\":0", "\"extra_rounds\":0,\"confirm_rounds\":0", NULL },
    { "\"extra_rounds\":0", "\"extra_rounds\":0,\"confirm_rounds\":1",
      "p.json: confirm_rounds: not a whole number from 0 to 0" },
    { "[\"k1\"", "[\"k9\"", "p.json: k9 is not in the fabric" },
    { "[\"k1\"", "[\"k2\"", "p.json: endpoint k2 is there twice" },
    { "[\"k1\"", "[7", "p.json: endpoints[0]: not a name" },
    { "[\"k1\"", "[\"k1\\u0000\"", "p.json:" },
    { "[\"k1\",\"k2\",\"k3\"]", "{}", "p.json: endpoints: not an array" },
    { "[\"k1\",", "[\"k4\",",
      "p.json: rounds[0][0].a: k1 is not among the endpoints" },
    { "\"a\":\"k1\"", "\"a\":\"k7\"",
      "p.json: rounds[0][0].a: k7 is not among the endpoints" },
    { "\"a\":\"k1\"", "\"a\":1", "p.json: rounds[0][0].a: not a string" },
    { "\"a\":\"k1\"", "\"a\":\"k2\"",
      "p.json: rounds[0][0]: a and b are one endpoint" },
    { "\"b\":\"k1\",", "", "p.json: rounds[1][0].b: missing" },
    { "\"l1\":2", "\"l1\":1", "p.json: rounds[0][0].row: the fabric's path"
      " crosses l1 2 times" },
    { "\"l1\":2", "\"l7\":2", "p.json: rounds[0][0].row: the fabric's" },
    { "\"l1\":2", "\"l1\":2,\"l7\":2",
      "p.json: rounds[0][0].row: links that are not on the path" },
    { "\"l1\":2", "\"l1\":\"2\"", "p.json: rounds[0][0].row: the fabric's" },
    { "{\"l1\":2,\"l2\":2}", "[]", "p.json: rounds[0][0].row:" },
    { "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}]", "[]",
      "p.json: rounds[0]: not 1 to 1 probes" },
    { "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}]", "[3]",
      "p.json: rounds[0][0]: not an object" },
    { "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}]", "null",
      "p.json: rounds[0]: not 1 to 1 probes" },
    { "{\"l1\":2,\"l2\":2}}]", "{\"l1\":2,\"l2\":2}},{}]",
      "p.json: rounds[0]: not 1 to 1 probes" },
};

static void test_files (void)
{
    struct tablenet *t = tablenet_paper ();

    for (size_t i = 0; i < COUNT (files); i++) {
        char text[2 * sizeof (file)];
        const char *at = strstr (file, files[i].from);
        struct pathset *ps = NULL;
        struct error err = { 0 };
        struct plan *plan;

        if (!at)
            abort ();
        snprintf (text, sizeof (text), "%.*s%s%s", (int)(at - file), file,
                  files[i].to, at + strlen (files[i].from));
        plan = read_text (text, t, &ps, &err);
        ok (files[i].error
                ? !plan && err.fault == ERROR_INPUT
                    && !strncmp (err.text, files[i].error,
                                 strlen (files[i].error))
                : plan && plan_check (ps, plan, &err) == 0,
            "file: %s -> %s: %s", files[i].from, files[i].to, err.text);
        plan_destroy (plan);
        pathset_destroy (ps);
    }
    tablenet_destroy (t);
}

/* The same without a network: "k3" is 3, and so is "k3:1". */
static int find_number (const void *most, const char *name, struct error *err)
{
    int k = 0;

    return sscanf (name, "k%d", &k) == 1 && k > 0 && k <= *(const int *)most
               ? k : error_input (err, "%s is nobody", name);
}

static const struct {
    const char *from, *to;
    const char *error;
} bare[] = {
    { "", "", NULL },
    { "\"table\"", "\"other\"", NULL },
    { "\"row\":{\"l1\":2,\"l2\":2}", "\"row\":7", NULL },
    { "\"rank\":3", "\"rank\":-1", NULL },
    { "[\"k1\"", "[7", NULL },
    { "\"a\":\"k1\"", "\"a\":\"k1:1\"", NULL },
    { "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}],", "",
      NULL },
    { "\"plan\"", "\"samples\"", "p.json: expected a plan" },
    { "\"fabric\":\"table\",", "", "p.json: fabric: missing" },
    { "\"pmm\"", "\"guess\"", "p.json: method: guess is not known" },
    { "\"rounds\"", "\"round\"", "p.json: rounds: missing" },
    { "\"a\":\"k1\"", "\"a\":\"k7\"", "p.json: rounds[0][0].a: k7 is nobody" },
    { "\"a\":\"k1\"", "\"a\":\"k2:1\"",
      "p.json: rounds[0][0]: a and b are one endpoint" },
    { "\"b\":\"k1\",", "", "p.json: rounds[1][0].b: missing" },
    { "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}]", "[]",
      "p.json: rounds[0]: not 1 to " },
    { "[{\"a\":\"k1\",\"b\":\"k2\",\"row\":{\"l1\":2,\"l2\":2}}]", "7",
      "p.json: rounds[0]: not 1 to " },
};

static struct plan *read_bare (const char *text, char *fabric,
                               struct error *err)
{
    const int most = 3;
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct plan *plan = plan_read_probes (fp, "p.json", find_number, &most,
                                          fabric, err);

    fclose (fp);
    return plan;
}

static void test_bare (void)
{
    for (size_t i = 0; i < COUNT (bare); i++) {
        char text[2 * sizeof (file)];
        const char *at = strstr (file, bare[i].from);
        char fabric[PLAN_FABRIC] = "";
        struct error err = { 0 };
        struct plan *plan;
        size_t n = 0;

        if (!at)
            abort ();
        snprintf (text, sizeof (text), "%.*s%s%s", (int)(at - file), file,
                  bare[i].to, at + strlen (bare[i].from));
        plan = read_bare (text, fabric, &err);
        if (bare[i].error)
            ok (!plan && err.fault == ERROR_INPUT
                    && !strncmp (err.text, bare[i].error,
                                 strlen (bare[i].error)),
                "bare: %s -> %s: %s", bare[i].from, bare[i].to, err.text);
        else {
            const struct probe *p
                = plan ? plan_round (plan, plan_rounds (plan) - 1, &n) : NULL;

            ok (n == 1 && p->a == 2 && p->b == 3
                    && !strcmp (plan_method (plan), "pmm")
                    && strstr (text, fabric) && strlen (fabric) == 5,
                "bare: %s -> %s: %s", bare[i].from, bare[i].to, err.text);
        }
        plan_destroy (plan);
    }
}

/* Subnets of three hosts, three and one: as many rounds as for the first alone,
 * in which both are measured; the last one's only cable is not.
 */
static void test_subnets (void)
{
    struct tablenet *t = tablenet_subnets (3, 9);
    const uint32_t who[] = { 0, 3, 6, 1, 4, 7, 2 };
    struct pathset *one = tablenet_pathset (t, who, 3);
    struct pathset *ps = tablenet_pathset (t, who, 7);
    struct plan *alone = make (one, 1, 1), *plan = make (ps, 1, 1), *wrong;
    struct error err = { 0 };
    size_t apart = 0, busy = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            apart += !pathset_is_pair (ps, p[i].a, p[i].b);
        busy += n == 2;
    }
    ok (plan_links (plan) == 6 && plan_rank (plan) == 6 && apart == 0
            && plan_basis_rounds (plan) == plan_basis_rounds (alone)
            && plan_rounds (plan) == plan_rounds (alone)
            && busy == plan_rounds (plan),
        "two subnets are measured side by side in %zu rounds",
        plan_rounds (plan));
    ok (plan_check (ps, plan, &err) == 0, "... and the checker agrees%s%s",
        err.text[0] ? ": " : "", err.text);
    wrong = plan_create ("pmm");
    plan_add (wrong, 0, 0, 3);
    ok (plan_check (ps, wrong, &err) < 0
            && !strcmp (err.text,
                        "round 1: k1 and k2 are in different subnets"),
        "%s", err.text);
    plan_set_rank (plan, 6, 5, plan_basis_rounds (plan));
    ok (plan_check (ps, plan, &err) < 0, "another rank: %s", err.text);
    plan_set_rank (plan, 7, 6, plan_basis_rounds (plan));
    ok (plan_check (ps, plan, &err) < 0, "the lone host's cable: %s",
        err.text);
    plan_destroy (alone);
    plan_destroy (plan);
    plan_destroy (wrong);
    pathset_destroy (one);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_example ();
    test_paper ();
    test_trees ();
    test_irregular ();
    test_odds ();
    test_budget ();
    test_check ();
    test_lacking (TREE_DMODK);
    test_lacking (TREE_MINHOP);
    test_not_maximal ();
    test_round_trip ();
    test_confirm ();
    test_maximal_key ();
    test_files ();
    test_bare ();
    test_subnets ();
    return done_testing ();
}
