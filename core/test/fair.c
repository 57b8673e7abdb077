/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Max-min fair rates: by hand, and by what they are defined by; and what bursts
 * should carry by them.
 */
#include "config.h"
#include "core/rate/carry.h"

#include <math.h>
#include <stdbool.h>

#include "core/test/tablenet.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { FLOWS = 4, LINKS = 4, NONE = LINKS };

static const struct {
    const char *what;
    uint32_t link[FLOWS][LINKS]; /* in one direction, up to NONE */
    double capacity[LINKS], rate[FLOWS];
    size_t nflows;
} rows[] = {
    { "one flow, the narrowest of its links",
      { { 0, 1, 2, NONE } }, { 4, 2, 3, 1 }, { 2 }, 1 },
    { "three on a link", { { 0, NONE }, { 0, NONE }, { 0, NONE } },
      { 9 }, { 3, 3, 3 }, 3 },
    { "what one cannot take, the others do",
      { { 0, 1, NONE }, { 0, NONE }, { 0, NONE } }, { 9, 1 }, { 1, 4, 4 },
      3 },
    { "a long flow beside two short ones",
      { { 0, 1, NONE }, { 0, NONE }, { 1, NONE } }, { 10, 4 }, { 2, 8, 2 },
      3 },
    { "twice on an arc", { { 0, 0, NONE }, { 0, NONE } }, { 9 }, { 3, 3 },
      2 },
    { "a link that carries nothing", { { 0, NONE }, { 1, NONE } }, { 0, 5 },
      { 0, 5 }, 2 },
    { "no arcs, no limit", { { NONE }, { 0, NONE } }, { 1 },
      { HUGE_VAL, 1 }, 2 },
};

static void by_hand (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        size_t first[FLOWS + 1] = { 0 };
        uint32_t arc[FLOWS * LINKS];
        struct csr flows = { rows[i].nflows, first, arc };
        double rate[FLOWS];
        bool good = true;

        for (size_t f = 0; f < rows[i].nflows; f++) {
            first[f + 1] = first[f];
            for (size_t k = 0; rows[i].link[f][k] != NONE; k++)
                arc[first[f + 1]++] = 2 * rows[i].link[f][k];
        }
        fair_rates (&flows, rows[i].capacity, LINKS, rate);
        good = true;
        for (size_t f = 0; f < rows[i].nflows; f++)
            good = good && rate[f] == rows[i].rate[f];
        ok (good, "%s", rows[i].what);
    }
}

/* Rates are max-min fair if and only if no arc is over its capacity and each
 * flow crosses a full arc on which nobody has more.
 */
static bool is_fair (const struct csr *flows, const double *capacity,
                     size_t narcs, const double *rate)
{
    const size_t *first = flows->start;
    const uint32_t *arc = flows->v;
    size_t nflows = flows->n;
    double load[64] = { 0 }, most[64] = { 0 };

    for (size_t f = 0; f < nflows; f++)
        for (size_t k = first[f]; k < first[f + 1]; k++) {
            load[arc[k]] += rate[f];
            most[arc[k]] = fmax (most[arc[k]], rate[f]);
        }
    for (size_t x = 0; x < narcs; x++)
        if (load[x] > capacity[x / 2] * (1 + 1e-9))
            return false;
    for (size_t f = 0; f < nflows; f++) {
        bool held = false;

        for (size_t k = first[f]; k < first[f + 1]; k++)
            held = held || (load[arc[k]] >= capacity[arc[k] / 2] * (1 - 1e-9)
                            && rate[f] >= most[arc[k]] * (1 - 1e-9));
        if (!held)
            return false;
    }
    return true;
}

static void by_definition (void)
{
    struct rng rng;
    int good = 0;

    rng_seed (&rng, 1);
    for (int i = 0; i < 500; i++) {
        size_t nlinks = 1 + rng_below (&rng, 32);
        size_t nflows = 1 + rng_below (&rng, 40);
        size_t first[41] = { 0 };
        uint32_t arc[400];
        double capacity[32], rate[40];
        struct csr flows = { nflows, first, arc };

        for (size_t x = 0; x < nlinks; x++)
            capacity[x] = i % 2 ? 1 + rng_below (&rng, 4)
                                : rng_uniform (&rng);
        for (size_t f = 0; f < nflows; f++) {
            first[f + 1] = first[f] + 1 + rng_below (&rng, 8);
            for (size_t k = first[f]; k < first[f + 1]; k++)
                arc[k] = rng_below (&rng, 2 * nlinks);
        }
        fair_rates (&flows, capacity, nlinks, rate);
        good += is_fair (&flows, capacity, 2 * nlinks, rate);
    }
    ok (good == 500, "%d of 500 draws are fair by definition", good);
}

#define GB 1e9

/* Two hosts each (0 and 1, 2 and 3) on two switches, 400 Gb/s everywhere; link 4
 * joins the switches. Both pairs across it at once.
 */
static const struct burst_row {
    const char *what;
    struct burst_port port; /* of endpoint 0; bits 0: not known */
    double there; /* of the arc of link 4 from 0 to 2, if not nominal */
    bool apart;   /* the pairs in rounds of their own */
    double rate[2][2];
} bursts[] = {
    { "two share a cable", { 0 }, 0, false,
      { { 200, 200 }, { 200, 200 } } },
    { "each alone", { 0 }, 0, true, { { 400, 400 }, { 400, 400 } } },
    { "PCIe is less than a share", { .able = { 8, 16000 } }, 0, false,
      { { 113, 113 }, { 287, 287 } } },
    { "a port at half", { .bits = 100 * GB }, 0, false,
      { { 100, 100 }, { 300, 300 } } },
    { "what packets have besides payload",
      { .bits = 200 * GB, .mtu = 4096 }, 0, true,
      { { 198.74, 198.74 }, { 400, 400 } } },
    { "one direction of the cable", { 0 }, 150 * GB, false,
      { { 75, 200 }, { 75, 200 } } },
};

static bool is_rate (double got, double want)
{
    bool is = fabs (got - want * GB) < .5 * GB;

    if (!is)
        diag ("%.2f Gb/s, not %g", got / GB, want);
    return is;
}

static void test_bursts (void)
{
    struct tablenet *t = tablenet_two_stars (2, 2, 1, 0);
    struct pathset *ps;
    struct bursts *b;
    double rate[3][2], arc[10];
    struct error err;

    for (size_t l = 0; l < 5; l++)
        t->info[l].rate = 400 * GB;
    ps = tablenet_pathset (t, NULL, 0);
    for (size_t i = 0; i < sizeof (bursts) / sizeof (bursts[0]); i++) {
        const struct burst_row *row = &bursts[i];
        bool good;

        b = bursts_create ();
        for (uint32_t k = 0; k < 2; k++)
            bursts_add_flow (b, &(struct burst_flow){
                                    k, k + 2, row->apart ? k : 7, { { 0 } } });
        bursts_add_port (b, &row->port);
        for (size_t x = 0; x < 10; x++)
            arc[x] = 400 * GB;
        arc[8] = row->there;
        good = bursts_expected (b, ps, row->there > 0 ? arc : NULL, rate,
                                &err) == 0;
        for (int k = 0; k < 4; k++)
            good &= is_rate (rate[k / 2][k % 2], row->rate[k / 2][k % 2]);
        ok (good, "%s", row->what);
        bursts_destroy (b);
    }

    b = bursts_create ();
    bursts_add_flow (b, &(struct burst_flow){ 0, 0, 3, { { 0 } } });
    bursts_add_flow (b, &(struct burst_flow){ 1, 1, 0, { { 0 } } });
    bursts_add_flow (b, &(struct burst_flow){ 0, 1, 1, { { 0 } } });
    bursts_add_port (b, &(struct burst_port){ .able = { 16, 16000 } });
    ok (bursts_expected (b, ps, NULL, rate, &err) == 0
            && is_rate (rate[0][0], 226) && rate[1][0] == HUGE_VAL
            && is_rate (rate[2][1], 226),
        "a loopback gets what PCIe lets through, if that is known");
    b->flow[1].b = 4;
    ok (bursts_expected (b, ps, NULL, rate, &err) < 0
            && strstr (err.text, "not in the plan"), "an endpoint too many");
    bursts_destroy (b);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_bursts ();
    by_hand ();
    by_definition ();
    return done_testing ();
}
