/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes through switches, and between halves. */
#include "config.h"
#include "core/rate/cut.h"

#include <math.h>

#include "core/test/treenet.h"
#include "core/rate/across.h"
#include "tests/tap.h"

static const double GIGA = 1e9;

struct site {
    struct treenet *t;
    struct pathset *ps;
    double *rate;
};

static void site_open (struct site *s, size_t p, size_t q, double host,
                       double other, const uint32_t *who, size_t n)
{
    s->t = treenet_create (p, q, TREE_DMODK, 1);
    for (size_t l = 0; l < s->t->net.nlinks; l++)
        s->t->info[l].rate = GIGA * (l < s->t->n ? host : other);
    s->ps = treenet_pathset (s->t, who, n);
    s->rate = across_rates (s->ps);
    if (!s->rate)
        abort ();
}

static void site_close (struct site *s)
{
    free (s->rate);
    pathset_destroy (s->ps);
    treenet_destroy (s->t);
}

/* A 12-port 2-tree: 72 hosts, 6 a leaf, leaves 0 .. 11, tops behind them with
 * a leaf at each port. Hosts of the first leaves are the job: 2, 3, 3, 4, 6.
 */
static void test_through (void)
{
    static const uint32_t each[] = { 2, 3, 3, 4, 6 };
    uint32_t who[18];
    struct through top, leaf, empty;
    struct site s;
    size_t n = 0;

    for (uint32_t l = 0; l < 5; l++)
        for (uint32_t i = 0; i < each[l]; i++)
            who[n++] = 6 * l + i;
    site_open (&s, 12, 2, 100, 200, who, n);
    through_switch (s.ps, 12, s.rate, &top, NULL);
    through_switch (s.ps, 4, s.rate, &leaf, NULL);
    through_switch (s.ps, 11, s.rate, &empty, NULL);
    ok (top.subtrees == 5 && top.ports[0] == 9 && top.ports[1] == 9,
        "a top with 2, 3, 3, 4 and 6 hosts: %u and %u", top.ports[0],
        top.ports[1]);
    /* 3 + 6 hosts are two links of 200, 2 + 3 + 4 three */
    ok (top.rate == 400 * GIGA, "... %g Gb/s, what two links carry",
        top.rate / GIGA);
    /* 6 of its own, and 12 that are spread over 4 of its uplinks */
    ok (leaf.ports[0] == 9 && leaf.ports[1] == 9 && leaf.subtrees == 10,
        "a leaf: %u and %u of %zu subtrees", leaf.ports[0], leaf.ports[1],
        leaf.subtrees);
    ok (empty.ports[0] + empty.ports[1] == 18 && empty.rate > 0,
        "a leaf without hosts of its own: its uplinks");
    site_close (&s);
}

static const struct {
    size_t p, q;
    double host, other;
    uint32_t from, n; /* hosts */
    double most;      /* Gb/s */
    double effective; /* of it, at least */
} cuts[] = {
    { 8, 2, 100, 100, 0, 32, 1600, .3 },  /* 16 hosts send */
    { 8, 2, 400, 100, 0, 32, 1600, .5 },  /* 4 leaves by 4 links each */
    { 8, 3, 100, 100, 0, 128, 6400, .3 },
    { 8, 3, 100, 100, 0, 64, 3200, .3 },  /* a part of it */
    { 8, 2, 100, 100, 0, 4, 200, 1 },     /* one leaf */
    { 8, 2, 100, 100, 0, 5, 200, .9 },
    { 8, 2, 100, 100, 0, 1, 0, 0 },
};

static void test_cuts (void)
{
    for (size_t i = 0; i < sizeof (cuts) / sizeof (cuts[0]); i++) {
        uint32_t who[128];
        struct cut cut;
        struct site s;
        int rc;

        for (uint32_t k = 0; k < cuts[i].n; k++)
            who[k] = cuts[i].from + k;
        site_open (&s, cuts[i].p, cuts[i].q, cuts[i].host, cuts[i].other, who,
                   cuts[i].n);
        rc = cut_find (s.ps, s.rate, 1, &cut, NULL);
        ok (rc == 0 && cut.most == cuts[i].most * GIGA
                && cut.effective >= cuts[i].effective * cut.most
                && cut.effective <= cut.most * (1 + 1e-9),
            "%u hosts of %zu: at most %g Gb/s, %g by the tables", cuts[i].n,
            s.t->n, cut.most / GIGA, cut.effective / GIGA);
        site_close (&s);
    }
}

/* A link that is narrow takes from the flow what it lacks. */
static void test_narrow (void)
{
    struct cut cut;
    struct site s;

    site_open (&s, 8, 2, 400, 100, NULL, 0);
    for (size_t l = 32; l < 48; l++) /* the uplinks of the first half */
        s.rate[l] = 25 * GIGA;
    cut_find (s.ps, s.rate, 1, &cut, NULL);
    ok (cut.most < 1600 * GIGA && cut.most >= 400 * GIGA,
        "narrow uplinks: at most %g Gb/s", cut.most / GIGA);
    site_close (&s);
}

int main (void)
{
    test_through ();
    test_cuts ();
    test_narrow ();
    return done_testing ();
}
