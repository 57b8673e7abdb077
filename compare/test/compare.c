/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deviations of two series, worked out by hand; solutions beside them. */
#include "config.h"
#include "compare/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static void add (struct series *s, uint32_t a, uint32_t b, uint64_t length,
                 double ns)
{
    struct series_row p = { .a = a, .b = b, .length = length, .count = 1 };

    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = ns;
    series_add (s, &p, NULL);
}

static struct series *create (const char *const *label)
{
    struct series *s = series_create (SERIES_ONE_TO_ONE);

    for (int i = 0; label[i]; i++)
        series_add_process (s, label[i], "h", NULL);
    return s;
}

static int is (double x, double y)
{
    return fabs (x - y) < 1e-9;
}

static void test_deviations (void)
{
    static const char *const names[] = { "n1", "n2", "n3", NULL };
    static const char *const others[] = { "n3", "n2", "n9", "n1", NULL };
    struct series *x = create (names);
    struct series *y = create (others);
    struct series_comparison c;
    struct error err;

    add (x, 0, 1, 0, 100);
    add (x, 0, 2, 0, 200);
    add (x, 1, 2, 0, 1000);
    add (x, 1, 2, 8, 1000); /* y has no such length */
    add (x, 2, 1, 0, 50);   /* in y, but lost there */
    add (y, 3, 1, 0, 110);
    add (y, 3, 0, 0, 170);
    add (y, 1, 0, 0, 1020);
    add (y, 2, 0, 0, 7);    /* x knows no n9 */
    add (y, 0, 1, 0, 50);
    y->row[4].lost = 1;
    series_sort (x, NULL);
    series_sort (y, NULL);
    ok (series_compare (&c, x, y, SERIES_MEDIAN, &err) == 0 && c.n == 3
            && c.stat == SERIES_MEDIAN,
        "three pairs in common, in whatever order processes are");
    ok (is (c.ns.mean, 0) && is (c.ns.absolute, 20)
            && is (c.ns.quadratic, sqrt (1400. / 3)) && is (c.ns.max, -30)
            && c.ns.at->a == 0 && c.ns.at->b == 2,
        "+10, -30, +20 ns");
    ok (is (c.relative.mean, -0.03 / 3) && is (c.relative.absolute, 0.27 / 3)
            && is (c.relative.max, -0.15),
        "+10, -15, +2 %%");
    ok (c.nonly[0] == 2 && c.only[0][0]->b == 1 && c.only[0][1]->length == 8
            && c.nonly[1] == 1 && c.only[1][0]->a == 2,
        "which pairs are in one alone");
    comparison_clear (&c);
    ok (series_compare (&c, x, x, SERIES_MIN, &err) == 0 && c.n == 5
            && is (c.ns.quadratic, 0) && is (c.ns.max, 0)
            && c.nonly[0] + c.nonly[1] == 0,
        "with itself: none");
    comparison_clear (&c);
    series_destroy (x);
    series_destroy (y);
}

static void test_same_names (void)
{
    static const char *const names[] = { "n", "n", NULL };
    struct series *x = create (names);
    struct series *y = create (names);
    struct series_comparison c;
    struct error err;

    add (x, 0, 1, 0, 100);
    add (x, 1, 0, 0, 300);
    add (y, 0, 1, 64, 101);
    add (y, 1, 0, 64, 302);
    series_sort (x, NULL);
    series_sort (y, NULL);
    ok (series_compare (&c, x, y, SERIES_MEAN, &err) == 0 && c.n == 2
            && is (c.ns.max, 2) && is (c.ns.mean, 1.5),
        "labels that are not unique: by their order; one length each");
    comparison_clear (&c);
    add (y, 0, 1, 0, 100);
    series_sort (y, NULL);
    ok (series_compare (&c, x, y, SERIES_MEAN, &err) == 0 && c.n == 1
            && c.nonly[0] == 1 && c.nonly[1] == 2,
        "of two lengths, the same one");
    comparison_clear (&c);
    series_destroy (x);
    series_destroy (y);
}

static void test_stats (void)
{
    static const char *const names[] = { "n1", "n2", NULL };
    struct series *x = create (names);
    struct series *y = create (names);
    struct series_comparison c;
    struct error err;

    add (x, 0, 1, 0, 100);
    add (y, 0, 1, 0, 100);
    for (int i = 0; i < SERIES_STATS; i++)
        if (i != SERIES_MIN)
            y->row[0].time_ns[i] = NAN;
    ok (series_compare (&c, x, y, SERIES_MEDIAN, &err) == 0 && c.n == 1
            && c.stat == SERIES_MIN,
        "what both know is compared");
    comparison_clear (&c);
    x->row[0].time_ns[SERIES_MIN] = NAN;
    ok (series_compare (&c, x, y, SERIES_MEDIAN, &err) < 0, "%s", err.text);
    y->npairs = y->nrows = 0;
    ok (series_compare (&c, x, y, SERIES_MEDIAN, &err) == 0 && c.n == 0
            && isnan (c.ns.max) && !c.ns.at && c.nonly[0] == 1,
        "nothing in common");
    comparison_clear (&c);
    series_destroy (x);
    series_destroy (y);
}

static int read_text (struct series_list *list, const char *text,
                      struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    int rc = series_read (list, fp, "file", err);

    fclose (fp);
    return rc;
}

#define SOLUTION(pairs) "{\"kind\":\"solution\",\"version\":1,\"fabric\":" \
    "\"ab\",\"links\":[],\"pairs\":[" pairs "]}\n"
#define PAIR(a, b, rtt) "{\"a\":" a ",\"b\":" b ",\"rtt_ns\":" rtt "}"

static const char *const bad_solutions[] = {
    SOLUTION (""),
    SOLUTION ("1"),
    SOLUTION (PAIR ("\"h1\"", "\"h1\"", "1")),
    SOLUTION (PAIR ("\"h1\"", "2", "1")),
    SOLUTION (PAIR ("\"h1\"", "\"h 2\"", "1")),
    SOLUTION (PAIR ("\"h1\"", "\"h2\"", "-1")),
    SOLUTION (PAIR ("\"h1\"", "\"h2\"", "1") ","
              PAIR ("\"h2\"", "\"h1\"", "1")),
    "{\"kind\":\"solution\",\"version\":1,\"fabric\":\"ab\"}\n",
    "{\"kind\":\"plan\",\"version\":1,\"fabric\":\"ab\"}\n",
};

static void test_solution (void)
{
    static const char *const names[] = { "h2", "h1:1", NULL };
    struct series *x = create (names);
    struct series_comparison c;
    struct series_list list;
    struct error err;

    add (x, 1, 0, 64, 110);
    series_sort (x, NULL);
    ok (read_text (&list,
                   SOLUTION (PAIR ("\"h1:1\"", "\"h2\"", "200") ","
                             PAIR ("\"h2\"", "\"h3\"", "null")),
                   &err) == 0
            && list.run[0]->npairs == 2 && list.run[0]->nprocesses == 3
            && !strcmp (list.run[0]->process[0].host, "h1")
            && !strcmp (list.run[0]->fabric, "ab"),
        "a solution's pairs, from either side");
    ok (series_compare (&c, list.run[0], x, SERIES_P25, &err) == 0 && c.n == 1
            && is (c.ns.mean, 10) && c.nonly[0] == 1,
        "half of the RTT beside a measured pair");
    comparison_clear (&c);
    series_list_clear (&list);
    for (size_t i = 0; i < sizeof (bad_solutions) / sizeof (*bad_solutions);
         i++)
        ok (read_text (&list, bad_solutions[i], &err) < 0, "%s", err.text);
    series_destroy (x);
}

int main (void)
{
    test_deviations ();
    test_same_names ();
    test_stats ();
    test_solution ();
    return done_testing ();
}
