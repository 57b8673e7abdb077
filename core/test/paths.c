/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of endpoints, and the rows of their round trips. */
#include "config.h"
#include "core/paths/paths.h"

#include <string.h>

#include "core/paths/tree.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"

/* Four endpoints, links 0 .. 3 theirs, 4 .. 9 between switches. */
static struct tablenet *net (void)
{
    struct tablenet *t = tablenet_create (4, 10);

    tablenet_both (t, 0, 1, 2, 0, 1);
    tablenet_path (t, 0, 2, 3, 0, 4, 2);    /* there by one cable, */
    tablenet_path (t, 2, 0, 3, 2, 5, 0);    /* back by its twin */
    tablenet_path (t, 1, 2, 4, 1, 6, 7, 2); /* other links, one shared */
    tablenet_path (t, 2, 1, 4, 2, 6, 8, 1);
    tablenet_path (t, 0, 3, 4, 0, 4, 4, 3); /* up and down one cable */
    tablenet_path (t, 3, 0, 2, 3, 0);
    tablenet_path (t, 1, 3, 4, 1, 4, 4, 3); /* the same, both ways */
    tablenet_path (t, 3, 1, 4, 3, 4, 4, 1);
    return t; /* between 2 and 3 there is no way */
}

static const struct {
    size_t a, b;
    const char *row; /* link:count, NULL: error */
    bool symmetric;
    const char *error;
} rows[] = {
    { 0, 1, "0:2 1:2", true, NULL },
    { 1, 0, "0:2 1:2", true, NULL },
    { 0, 2, "0:2 2:2 4:1 5:1", false, NULL },
    { 2, 0, "0:2 2:2 4:1 5:1", false, NULL },
    { 1, 2, "1:2 2:2 6:2 7:1 8:1", false, NULL },
    { 0, 3, "0:2 3:2 4:2", false, NULL },
    { 1, 3, NULL, false,
      "k2 to k4 and back crosses link l5 more than twice" },
    { 2, 3, NULL, false, "k3 to k4: dead end" },
    { 3, 2, NULL, false, "k4 to k3: dead end" },
};

static void test_rows (const struct tablenet *t)
{
    struct pathset *ps = tablenet_pathset (t, NULL, 0);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct error err = { 0 };
        char text[128] = "";
        struct row row;

        if (pathset_row (ps, rows[i].a, rows[i].b, &row, &err) < 0) {
            ok (!rows[i].row && !strcmp (err.text, rows[i].error)
                    && err.fault == ERROR_INPUT,
                "k%zu to k%zu: %s", rows[i].a + 1, rows[i].b + 1, err.text);
            continue;
        }
        for (size_t k = 0; k < row.n; k++)
            sprintf (text + strlen (text), "%s%u:%u", k ? " " : "",
                     row.link[k], row.count[k]);
        ok (rows[i].row && !strcmp (text, rows[i].row)
                && row.symmetric == rows[i].symmetric,
            "k%zu to k%zu: %s", rows[i].a + 1, rows[i].b + 1, text);
    }
    pathset_destroy (ps);
}

static void test_links (const struct tablenet *t)
{
    const uint32_t who[] = { 2, 0, 1 };
    const uint32_t expected[] = { 0, 1, 2, 4, 5, 6, 7, 8 };
    struct pathset *ps = tablenet_pathset (t, who, 3);
    struct error err = { 0 };
    size_t m = 0;
    const uint32_t *link = pathset_links (ps, &m, &err);

    ok (link && m == 8 && !memcmp (link, expected, sizeof (expected)),
        "the links of three endpoints");
    ok (pathset_links (ps, &m, &err) == link, "found once");
    ok (pathset_column (ps, 4) == 3 && pathset_column (ps, 3) == -1
            && pathset_column (ps, 9) == -1, "columns of links");
    ok (pathset_find (ps, "k1") == 1 && pathset_find (ps, "k3") == 0
            && pathset_find (ps, "k4") == -1 && pathset_find (ps, "") == -1,
        "endpoints by name");
    pathset_destroy (ps);

    ps = tablenet_pathset (t, NULL, 0);
    ok (!pathset_links (ps, &m, &err) && strstr (err.text, "dead end"),
        "a broken path: %s", err.text);
    ok (!pathset_links (ps, &m, &err), "is still broken when asked again");
    pathset_destroy (ps);

    for (size_t n = 0; n < 2; n++) {
        struct endpoint one = { 2, "k3", "k3" };

        m = 99;
        ps = pathset_create (&t->net, &one, n, &err);
        ok (ps && pathset_links (ps, &m, &err) && m == 0
                && pathset_size (ps) == n, "%zu endpoints have no links", n);
        pathset_destroy (ps);
    }
}

/* A computed tree has the paths of a tabled one. */
static void test_computed (size_t p, size_t q)
{
    struct tablenet *t = tablenet_fattree (p, q, TABLE_DMODK, 1);
    struct treenet *c = treenet_create (p, q, TREE_DMODK, 1);
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct pathset *computed = treenet_pathset (c, NULL, 0);
    size_t n = pathset_size (ps);
    size_t good = 0;

    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++) {
            uint32_t x[PATH_MAX_HOPS], y[PATH_MAX_HOPS];
            struct error err;
            int hops = a == b ? 0 : pathset_walk (ps, a, b, x, &err);

            good += hops == pathset_walk (computed, a, b, y, &err)
                && !memcmp (x, y, hops * sizeof (x[0]));
        }
    ok (n == c->n && good == n * n, "%zu-port %zu-tree: %zu paths computed",
        p, q, good);
    pathset_destroy (ps);
    pathset_destroy (computed);
    tablenet_destroy (t);
    treenet_destroy (c);
}

/* However it is routed, a path's links join, up to the destination. */
static void test_joined (enum tree_routing routing)
{
    struct treenet *t = treenet_create (8, 3, routing, 3);
    size_t good = 0;

    for (size_t a = 0; a < t->n; a++)
        for (size_t b = 0; b < t->n; b++) {
            uint32_t arc[PATH_MAX_HOPS];
            uint32_t at = NETWORK_NONE;
            struct error err;
            int hops = t->net.walk (t, a, b, arc, &err);
            int i = 0;

            for (; i < hops; i++) {
                const uint32_t *end = t->info[arc_link (arc[i])].end;

                if (end[arc[i] % 2] != at)
                    break;
                at = end[!(arc[i] % 2)];
            }
            good += i == hops && (a == b || arc_link (arc[i - 1]) == b);
        }
    ok (good == t->n * t->n, "routing %d: %zu paths arrive", routing, good);
    treenet_destroy (t);
}

/* A tree that is grown again, and once more behind another, is the same. */
static void test_regrown (void)
{
    struct treenet *net = treenet_create (8, 2, TREE_MINHOP, 1);
    struct pathset *ps = treenet_pathset (net, NULL, 0);
    struct error err;
    struct tree *t = tree_create (ps);
    static const size_t to[] = { 5, 5, 6, 5 };
    size_t steps[4] = { 0 };
    uint64_t sum[4] = { 0 };

    for (size_t i = 0; i < 4 && tree_grow (t, to[i], &err) == 0; i++) {
        steps[i] = t->n;
        for (size_t k = 1; k < t->n; k++)
            sum[i] += (uint64_t)t->arc[k] * k + t->parent[k];
        for (size_t l = 0; l < t->nleaves; l++)
            sum[i] += (uint64_t)t->leaf[l] * l;
    }
    ok (steps[0] > t->nleaves && steps[1] == steps[0] && steps[3] == steps[0]
            && sum[1] == sum[0] && sum[3] == sum[0],
        "a tree of %zu steps is grown again", steps[0]);
    tree_destroy (t);
    pathset_destroy (ps);
    treenet_destroy (net);
}

static const struct {
    struct endpoint endpoint[3];
    const char *error;
} sets[] = {
    { { { 0, "a", "a" }, { 1, "b", "b" }, { 2, "a", "c" } },
      "endpoint a is there twice" },
    { { { 0, "a", "a" }, { 1, "b", "b" }, { 0, "c", "c" } },
      "a and c are one endpoint" },
};

/* Two of the endpoints, where other cables lie between them. */
static void test_on (const struct tablenet *t)
{
    const uint32_t who[] = { 2, 0 };
    struct pathset *ps = tablenet_pathset (t, who, 2);
    struct tablenet *other = tablenet_create (4, 10);
    struct pathset *on;
    struct error err;
    struct row row;

    tablenet_both (other, 0, 2, 2, 0, 2);
    on = pathset_on (ps, &other->net, &err);
    ok (on && pathset_network (on) == &other->net && pathset_size (on) == 2
            && pathset_endpoint (on, 0)->id == 2
            && pathset_find (on, "k1") == 1,
        "the same endpoints on another network");
    ok (on && pathset_row (on, 0, 1, &row, &err) == 0 && row.n == 2
            && pathset_row (ps, 0, 1, &row, &err) == 0 && row.n == 4,
        "... have its paths, and the set its own");
    pathset_destroy (ps);
    pathset_destroy (on);
    tablenet_destroy (other);
}

/* Two subnets of two hosts: there is no path between them. */
static void test_subnets (void)
{
    struct tablenet *net = tablenet_subnets (2, 4);
    struct pathset *ps = tablenet_pathset (net, NULL, 0), *part;
    struct tree *t = tree_create (ps);
    struct row row;
    size_t m = 0;

    ok (pathset_subnets (ps) == 2 && pathset_subnet (ps, 3) == 1
            && pathset_is_pair (ps, 1, 3) && !pathset_is_pair (ps, 0, 3)
            && !pathset_is_pair (ps, 1, 1), "two subnets, and their pairs");
    ok (pathset_row (ps, 0, 2, &row, NULL) == 0 && row.n == 2
            && pathset_row (ps, 0, 3, &row, NULL) == 0 && row.n == 0,
        "the row between them is empty");
    ok (tree_grow (t, 2, NULL) == 0 && t->leaf[0] != 0 && t->leaf[1] == 0
            && t->leaf[3] == 0, "a tree is of one subnet");
    ok (pathset_links (ps, &m, NULL) && m == 4, "the links of both");
    part = pathset_part (ps, 1);
    ok (pathset_size (part) == 2 && pathset_subnets (part) == 1
            && !strcmp (pathset_endpoint (part, 1)->name, "k4")
            && pathset_links (part, &m, NULL) && m == 2, "one of them");
    pathset_destroy (part);
    tree_destroy (t);
    pathset_destroy (ps);
    tablenet_destroy (net);
}

int main (void)
{
    struct tablenet *t = net ();

    test_rows (t);
    test_links (t);
    test_on (t);
    test_computed (4, 2);
    test_computed (4, 4);
    test_computed (8, 3);
    test_joined (TREE_DMODK);
    test_joined (TREE_MINHOP);
    test_joined (TREE_RANDOM);
    test_regrown ();
    test_subnets ();
    for (size_t i = 0; i < sizeof (sets) / sizeof (sets[0]); i++) {
        struct error err = { 0 };

        ok (!pathset_create (&t->net, sets[i].endpoint, 3, &err)
                && !strcmp (err.text, sets[i].error)
                && err.fault == ERROR_INPUT, "%s", err.text);
    }
    pathset_destroy (NULL);
    tablenet_destroy (t);
    return done_testing ();
}
