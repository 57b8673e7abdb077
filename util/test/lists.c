/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compressed rows, disjoint sets, maps, comparisons, arrays that grow. */
#include "config.h"

#include <stdlib.h>

#include "tests/tap.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/csr.h"
#include "util/map.h"
#include "util/sets.h"
#include "util/sort.h"

/* Lists 0: 2 0, 1: none, 2: 0. */
static void test_csr (void)
{
    const size_t count[3] = { 2, 0, 1 };
    struct csr c = csr_create (3, count);
    struct csr t;

    c.v[0] = 2;
    c.v[1] = 0;
    c.v[2] = 0;
    t = csr_transpose (&c, 4);
    ok (t.n == 4 && t.start[1] == 2 && t.v[0] == 0 && t.v[1] == 2,
        "0 is in lists 0 and 2");
    ok (t.start[2] == 2 && t.start[3] == 3 && t.v[2] == 0,
        "1 is in none, 2 in list 0");
    ok (t.start[4] == 3, "3 is in none");
    csr_clear (&c);
    csr_clear (&t);
    c = csr_create (0, NULL);
    ok (c.start[0] == 0, "no lists");
    csr_clear (&c);
}

static void test_map (void)
{
    struct map m = { 0 };
    size_t wrong = 0;

    ok (map_find (&m, 1) == MAP_NONE, "nothing is in an empty map");
    for (uint32_t i = 0; i < 1000; i++)
        map_put (&m, (uint64_t)i << 32, i);
    map_put (&m, (uint64_t)7 << 32, 70);
    for (uint32_t i = 0; i < 1000; i++)
        wrong += map_find (&m, (uint64_t)i << 32) != (i == 7 ? 70 : i);
    ok (wrong == 0 && m.n == 1000, "1000 keys, one of them put twice");
    ok (map_find (&m, 7) == MAP_NONE, "another key");
    map_clear (&m);
    ok (map_find (&m, 0) == MAP_NONE, "cleared");
}

static void test_sets (void)
{
    uint32_t up[5] = { 0, 1, 2, 3, 4 };

    ok (sets_unite (up, 4, 2) && sets_unite (up, 3, 4), "sets are united");
    ok (!sets_unite (up, 2, 3), "two of one set are one already");
    ok (sets_find (up, 4) == 2 && sets_find (up, 3) == 2,
        "a set is known by its least");
    ok (sets_find (up, 0) == 0 && sets_find (up, 1) == 1, "others stay alone");
}

static void test_sort (void)
{
    uint32_t a[] = { 4000000000, 1, 7 };
    uint64_t b[] = { UINT64_MAX, 0, 5 };
    double c[] = { 2.5, -1e9, 2.25 };
    const char *d[] = { "n10", "n1", "m" };

    qsort (a, 3, sizeof (*a), compare_u32);
    qsort (b, 3, sizeof (*b), compare_u64);
    qsort (c, 3, sizeof (*c), compare_doubles);
    qsort (d, 3, sizeof (*d), compare_strings);
    ok (a[0] == 1 && a[2] == 4000000000, "32 bits");
    ok (b[0] == 0 && b[2] == UINT64_MAX, "64 bits");
    ok (c[0] == -1e9 && c[1] == 2.25, "doubles");
    ok (!strcmp (d[0], "m") && !strcmp (d[1], "n1"), "strings");
}

static void test_grow (void)
{
    uint32_t *v = NULL;
    bool same = true;

    for (size_t n = 0; n < 1000; n++) {
        v = xgrow (v, n, sizeof (*v));
        v[n] = (uint32_t)n;
    }
    for (size_t i = 0; i < 1000; i++)
        same &= v[i] == i;
    ok (same, "an array grows one by one");
    free (v);
}

int main (void)
{
    int64_t before = clock_ns ();

    test_csr ();
    test_map ();
    test_sets ();
    test_sort ();
    test_grow ();
    ok (clock_ns () >= before && clock_ms () >= before / 1000000,
        "the clock does not run backwards");
    done_testing ();
}
