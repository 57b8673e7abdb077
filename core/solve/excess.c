/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Switches whose links are all slow by the same amount.
 *
 * The column of a switch is half the sum of those of its links, so no probes
 * can resolve a slow switch from links that all happen to be slow. But that is
 * unlikely. So a common excess is tested, and reported for the switch.
 *
 * The excess of a link is its latency minus the median of its class; that of a
 * switch is the median over its links, which neither one slow link nor a slow
 * neighbour changes. Its variance is that of a median of k, pi / 2 times the
 * class's spread^2 (MAD) / k, plus the variance of the mean of these links in
 * the solution.
 *
 * The switch with the most standard errors is taken, if this is more than
 * chance gives for so many switches, and if three of four of its links have
 * more than half its excess. What it explains is subtracted, and so on.
 */
#include "config.h"
#include "core/solve/solution.h"

#include <math.h>
#include <stdlib.h>

#include "core/linear/lsq.h"
#include "core/linear/stats.h"
#include "core/solve/splits.h"
#include "util/pool.h"
#include "util/sort.h"

enum {
    LINKS_MIN = 3,       /* determined links that a tested switch needs */
    CLASS_LINKS_MIN = 8, /* determined links for a spread of a class */
    FOUND_MAX = 64,      /* switches; more are not just a few slow ones */
};

#define CHANCE_MAX 0.01   /* of naming a switch if none is slow */
#define STDERR_MIN_NS 1.0 /* ns; no measurement is more accurate */

/* A determined link. */
struct excess_known {
    size_t i; /* of the solution */
    const struct link_info *link;
    double excess;
    double spread; /* of its class; NAN: too few links */
};

struct board {
    struct excess_known *known; /* by class */
    size_t nknown;
    struct csr of; /* known ones of each switch */
    double *v;     /* [nknown] */
    uint32_t *col; /* [nknown] */
    int8_t *one;   /* [nknown] */
    const uint32_t *unknown;
    const struct covariance *c;
    double factor;
};

static int compare_known (const void *va, const void *vb)
{
    const struct excess_known *a = va;
    const struct excess_known *b = vb;

    return a->link->class_id != b->link->class_id
               ? util_compare (a->link->class_id, b->link->class_id)
               : util_compare (a->i, b->i);
}

static void board_make (struct board *b, struct pool *pool,
                        const struct solution *s, const struct network *net)
{
    size_t n = s->nlinks;

    b->known = pool_alloc (pool, n, sizeof (*b->known));
    b->v = pool_alloc (pool, n, sizeof (*b->v));
    b->col = pool_alloc (pool, n, sizeof (*b->col));
    b->one = pool_alloc (pool, n, sizeof (*b->one));
    for (size_t i = 0; i < n; i++)
        if (b->unknown[i] != NETWORK_NONE)
            b->known[b->nknown++] = (struct excess_known){
                .i = i,
                .link = &net->link[s->link[i].link],
                .excess = s->link[i].latency_ns,
            };
    qsort (b->known, b->nknown, sizeof (*b->known), compare_known);
    for (size_t k = 0; k < b->nknown; k++)
        b->col[k] = s->link[b->known[k].i].link;
    b->of = splits_links (net, b->col, b->nknown);
}

/* Subtract the median of its class from each link's excess. */
static void centre (struct board *b)
{
    for (size_t first = 0, end; first < b->nknown; first = end) {
        uint32_t class_id = b->known[first].link->class_id;
        double spread = NAN;
        double median;
        size_t n = 0;

        for (end = first;
             end < b->nknown && b->known[end].link->class_id == class_id; end++)
            b->v[n++] = b->known[end].excess;
        median = stats_median (b->v, n);
        if (n >= CLASS_LINKS_MIN)
            spread = stats_mad (b->v, n, median);
        for (size_t k = first; k < end; k++) {
            b->known[k].excess -= median;
            b->known[k].spread = spread;
        }
    }
}

/* Return the excess of a switch in standard errors; 0 if it is not significant,
 * NAN if it has too few links. *found is filled, except for the links.
 */
static double test (struct board *b, size_t sw, struct switch_excess *found)
{
    double spread = 0;
    double var = 0;
    double median;
    size_t above = 0;
    size_t n = 0;

    for (size_t e = b->of.start[sw]; e < b->of.start[sw + 1]; e++) {
        const struct excess_known *k = &b->known[b->of.v[e]];

        if (isnan (k->spread))
            continue;
        b->v[n] = k->excess;
        b->col[n] = b->unknown[k->i];
        b->one[n++] = 1;
        spread += k->spread * k->spread;
    }
    if (n < LINKS_MIN)
        return NAN;
    median = stats_median (b->v, n);
    for (size_t i = 0; i < n; i++)
        above += b->v[i] > median / 2;
    if (median <= 0 || 4 * above < 3 * n)
        return 0;
    if (!isnan (b->factor))
        var = b->factor * covariance_of (b->c, b->col, b->one, n);
    var = (var + M_PI_2 * spread) / (double)(n * n);
    *found = (struct switch_excess){
        .sw = (uint32_t)sw,
        .excess_ns = median,
        .stderr_ns = fmax (sqrt (var), STDERR_MIN_NS),
    };
    return median / found->stderr_ns;
}

void excess_find (struct solution *s, const struct network *net,
                  const uint32_t *unknown, const struct covariance *c,
                  double factor)
{
    struct pool *pool = pool_create ();
    struct board b = { .unknown = unknown, .c = c, .factor = factor };

    board_make (&b, pool, s, net);
    s->sw = pool_alloc (s->pool, FOUND_MAX, sizeof (*s->sw));
    while (s->nswitches < FOUND_MAX) {
        struct switch_excess *found = &s->sw[s->nswitches];
        size_t first, end;
        double most = 0;

        centre (&b);
        s->switches_tested = 0;
        for (size_t sw = 0; sw < net->nswitches; sw++) {
            struct switch_excess one = { 0 };
            double z = test (&b, sw, &one);

            s->switches_tested += !isnan (z);
            if (z > most) {
                most = z;
                *found = one;
            }
        }
        if (s->switches_tested == 0
            || most < stats_normal_two_sided (2 * CHANCE_MAX
                                              / (double)s->switches_tested))
            break;
        /* subtract what the switch explains, and list its links */
        first = b.of.start[found->sw];
        end = b.of.start[found->sw + 1];
        found->link = pool_alloc (s->pool, end - first, sizeof (*found->link));
        for (size_t e = first; e < end; e++) {
            struct excess_known *k = &b.known[b.of.v[e]];

            if (isnan (k->spread))
                continue;
            found->link[found->n++] = s->link[k->i].link;
            k->excess -= found->excess_ns;
        }
        s->nswitches++;
    }
    csr_clear (&b.of);
    pool_destroy (pool);
}
