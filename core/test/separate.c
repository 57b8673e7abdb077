/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Separate: who is needed to tell suspects apart. */
#include "config.h"
#include "core/plan/separate.h"

#include <stdbool.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

static int count_of (const struct row *row, uint32_t link)
{
    for (size_t k = 0; k < row->n; k++)
        if (row->link[k] == link)
            return row->count[k];
    return 0;
}

/* Are the columns of two links proportional in the rows of `probe`, or of all
 * pairs of the endpoints in `who` where there are none? By the definition.
 */
static bool proportional (struct pathset *ps, const struct probe *probe,
                          size_t nprobes, uint64_t who, uint32_t x,
                          uint32_t y)
{
    int fx = 0, fy = 0; /* the first row that crosses either */
    size_t n = pathset_size (ps);

    for (size_t i = 0; i < (probe ? nprobes : n * n); i++) {
        size_t a = probe ? probe[i].a : i / n;
        size_t b = probe ? probe[i].b : i % n;
        struct row row;
        int cx, cy;

        if (!probe && (b <= a || !(who >> a & 1) || !(who >> b & 1)))
            continue;
        if (pathset_row (ps, a, b, &row, NULL) < 0)
            abort ();
        cx = count_of (&row, x);
        cy = count_of (&row, y);
        if (fx == 0 && fy == 0) {
            fx = cx;
            fy = cy;
        }
        if (cx * fy != cy * fx)
            return false;
    }
    return (fx == 0) == (fy == 0);
}

/* Sets by the definition; set_of may be NULL. */
static size_t sets_of (struct pathset *ps, const struct probe *probe,
                       size_t nprobes, uint64_t who, const uint32_t *suspect,
                       size_t n, uint32_t *set_of)
{
    size_t nsets = 0;

    for (size_t i = 0; i < n; i++) {
        size_t k = 0;

        while (k < i && !proportional (ps, probe, nprobes, who, suspect[k],
                                       suspect[i]))
            k++;
        if (set_of)
            set_of[i] = k < i ? set_of[k] : nsets;
        nsets += k == i;
    }
    return nsets;
}

/* Small networks with a few suspects, against all choices of idle hosts. */
static void test_small (void)
{
    enum { HOSTS = 9, SUSPECTS = 4 };
    const size_t many = trials (150);
    size_t good = 0, probes = 0, least = 0, needy = 0;

    for (size_t i = 0; i < many; i++) {
        struct tablenet *t = tablenet_irregular (4, HOSTS, i % 4, i);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        uint64_t job = (1 << (i % 5)) - 1, used = job;
        uint8_t idle[HOSTS];
        uint32_t suspect[SUSPECTS], set_of[SUSPECTS];
        size_t best = HOSTS, all;
        struct separation s;
        struct error err = { 0 };
        struct rng rng;

        rng_seed (&rng, i);
        for (size_t k = 0; k < HOSTS; k++)
            idle[k] = !(job >> k & 1);
        for (size_t k = 0; k < SUSPECTS; k++)
            suspect[k] = HOSTS - 2 + k;
        if (separate (ps, idle, suspect, SUSPECTS, &s, &err) < 0) {
            diag ("network %zu: %s", i, err.text);
            continue;
        }
        for (size_t k = 0; k < s.nextra; k++)
            used |= UINT64_C (1) << s.extra[k];
        all = sets_of (ps, NULL, 0, (1 << HOSTS) - 1, suspect, SUSPECTS,
                       set_of);
        good += s.nsets == all
                && !memcmp (set_of, s.set_of, sizeof (set_of))
                && sets_of (ps, NULL, 0, used, suspect, SUSPECTS, NULL) == all
                && sets_of (ps, NULL, 0, job, suspect, SUSPECTS, NULL)
                       == s.nsets_before;
        probes += s.nprobes == 0
                      ? all <= 1
                      : sets_of (ps, s.probe, s.nprobes, 0, suspect,
                                 SUSPECTS, NULL) == all;
        for (uint64_t who = 0; who < 1 << HOSTS; who++)
            if ((who & job) == job
                && (size_t)__builtin_popcountll (who & ~job) < best
                && sets_of (ps, NULL, 0, who, suspect, SUSPECTS, NULL) == all)
                best = __builtin_popcountll (who & ~job);
        needy += best > 0;
        least += s.nextra == best;
        separation_clear (&s);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == many, "%zu of %zu told apart as far as can be", good, many);
    ok (probes == many, "%zu times by the probes named", probes);
    ok (needy > many / 2 && 10 * least >= 9 * many,
        "%zu times by the fewest hosts; %zu times by any", least, needy);
}

/* The cables on the way of two hosts of a large tree, to these two one like
 * the other.
 */
static void test_tree (size_t p, enum tree_routing routing)
{
    struct treenet *t = treenet_create (p, 3, routing, 1);
    struct pathset *ps = treenet_pathset (t, NULL, 0);
    uint8_t *idle = malloc (t->n);
    uint32_t suspect[12];
    struct row row;
    struct separation s;
    struct error err = { 0 };
    size_t n = 0;
    int rc;

    memset (idle, 1, t->n);
    idle[0] = idle[t->n - 1] = 0;
    if (pathset_row (ps, 0, t->n - 1, &row, &err) < 0)
        abort ();
    for (size_t k = 0; k < row.n && n < COUNT (suspect); k++)
        if (row.count[k] == row.count[row.n - 1])
            suspect[n++] = row.link[k];
    rc = separate (ps, idle, suspect, n, &s, &err);
    ok (rc == 0 && s.nsets == n
            && s.nsets_before < n && s.nextra >= 1 && s.nextra < n
            && sets_of (ps, s.probe, s.nprobes, 0, suspect, n, NULL) == n,
        "%zu hosts: %zu suspects on the way of two: %zu more, %zu probes",
        t->n, n, s.nextra, s.nprobes);
    separation_clear (&s);

    memset (idle, 0, t->n);
    ok (separate (ps, idle, suspect, n, &s, &err) == 0 && s.nextra == 0
            && s.nsets == s.nsets_before,
        "all in the job: nobody is needed");
    separation_clear (&s);
    free (idle);
    pathset_destroy (ps);
    treenet_destroy (t);
}

static void test_odds (void)
{
    const uint32_t series[] = { 2, 3, 0 };
    struct tablenet *t = tablenet_paper ();
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    uint8_t idle[6] = { 0, 0, 1, 1, 1, 1 };
    struct separation s;
    struct error err = { 0 };

    ok (separate (ps, idle, series, 3, &s, &err) == 0 && s.nsets == 2
            && s.set_of[0] == 0 && s.set_of[1] == 0 && s.set_of[2] == 1,
        "two links in series are never told apart, whoever is added");
    separation_clear (&s);
    ok (separate (ps, idle, series, 0, &s, &err) == 0 && s.nsets == 0
            && s.nextra == 0 && s.nprobes == 0, "no suspects");
    separation_clear (&s);
    pathset_destroy (ps);
    tablenet_destroy (t);

    t = tablenet_create (3, 3);
    tablenet_both (t, 0, 1, 2, 0, 1);
    ps = tablenet_pathset (t, NULL, 0);
    ok (separate (ps, idle, series, 1, &s, &err) < 0
            && strstr (err.text, "dead end"), "a broken path: %s", err.text);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_small ();
    test_tree (8, TREE_DMODK);
    test_tree (12, TREE_MINHOP);
    test_tree (24, TREE_MINHOP);
    test_odds ();
    return done_testing ();
}
