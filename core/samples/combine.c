/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. The mean and the sum of weighted squares about it are updated with
 * each observation (West, "Updating mean and variance estimates: an improved
 * method", 1979). If the weights are right, that sum is about n - 1 for n
 * observations: its median is about n - 1 times (1 - 2 / 9 (n - 1))^3 (Wilson
 * and Hilferty, "The distribution of chi-square", 1931). The median over all
 * pairs gives the additional difference between measurement times. If each
 * pair's variance were its own scatter, pairs that show a change would have
 * almost no weight, and the solution would follow those that do not show it
 * yet.
 */
#include "config.h"
#include "core/samples/combine.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/map.h"

enum { PAIRS_ENOUGH = 8 };

struct mean {
    uint32_t a, b;
    uint32_t n;      /* observations */
    uint32_t repeats;
    double weight;
    double value;
    double scatter;  /* sum of weight times square */
};

struct combine {
    struct mean *v;
    size_t n;
    struct map pairs; /* index of v by pair_key */
    double sigma_ns;
    uint64_t sent, lost;
};

struct combine *combine_create (void)
{
    return xcalloc (1, sizeof (struct combine));
}

void combine_destroy (struct combine *c)
{
    if (c) {
        free (c->v);
        map_clear (&c->pairs);
        free (c);
    }
}

static void enter (struct mean *m, const struct observation *o, double share)
{
    double weight = share / o->var;
    double d = o->rtt_ns - m->value;

    m->weight += weight;
    m->value += d * weight / m->weight;
    m->scatter += weight * d * (o->rtt_ns - m->value);
    m->repeats += o->repeats;
    m->n++;
}

void combine_add (struct combine *c, const struct observations *o, double share)
{
    for (size_t i = 0; i < o->n; i++) {
        uint32_t a = o->v[i].a;
        uint32_t b = o->v[i].b;
        uint32_t at = map_find (&c->pairs, pair_key (a, b));

        if (at == MAP_NONE) {
            at = (uint32_t)c->n;
            map_put (&c->pairs, pair_key (a, b), at);
            c->v = xgrow (c->v, c->n, sizeof (*c->v));
            c->v[c->n++] = (struct mean){ .a = a < b ? a : b,
                                          .b = a < b ? b : a };
        }
        enter (&c->v[at], &o->v[i], share);
    }
    c->sigma_ns = fmax (c->sigma_ns, o->sigma_ns);
    c->sent += o->sent;
    c->lost += o->lost;
}

/* The factor by which observations scatter more than they should; v has room
 * for all pairs.
 */
static double scatter (const struct combine *c, double *v)
{
    size_t k = 0;

    for (size_t i = 0; i < c->n; i++) {
        double dof = c->v[i].n - 1.0;

        if (dof > 0)
            v[k++] = c->v[i].scatter / (dof * pow (1 - 2 / (9 * dof), 3));
    }
    return k < PAIRS_ENOUGH ? 1 : fmax (stats_median (v, k), 1);
}

int combine_finish (const struct combine *c, const struct pathset *ps,
                    struct observations *o, struct error *err)
{
    double *room = xarray (c->n, sizeof (*room));
    double factor = scatter (c, room);

    *o = (struct observations){
        .v = xarray (c->n, sizeof (*o->v)),
        .n = c->n,
        .sigma_ns = c->sigma_ns,
        .sent = c->sent,
        .lost = c->lost,
    };
    free (room);
    for (size_t i = 0; i < c->n; i++) {
        const struct mean *m = &c->v[i];

        o->v[i] = (struct observation){
            .a = m->a,
            .b = m->b,
            .repeats = m->repeats,
            .rtt_ns = m->value,
            .var = factor / m->weight,
        };
    }
    return observe_rows (o, ps, err);
}
