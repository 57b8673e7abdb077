/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Max-min fair rates: by hand, and by what they are defined by. */
#include "config.h"
#include "core/rate/carry.h"

#include <math.h>
#include <stdbool.h>

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

int main (void)
{
    by_hand ();
    by_definition ();
    return done_testing ();
}
