/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fat tree of 200 Gb/s whose hosts send bursts, for tests of rates: each test
 * changes what arcs and hosts carry, and adds others' flows. What it makes of
 * them is closed with the scene, which must not be moved. Nothing is checked.
 */
#ifndef CORE_TEST_SCENE_H
#define CORE_TEST_SCENE_H

#include "core/baseline/baseline.h"
#include "core/plan/plan.h"
#include "core/rate/crowd.h"
#include "core/samples/bursts.h"
#include "core/test/traffic.h"
#include "core/test/treenet.h"
#include "util/rng.h"

#define GB 1e9

enum { SCENE_ENDS = 128, SCENE_OTHERS = 40 };

struct scene {
    struct treenet *t;
    struct pathset *ps;
    size_t n;         /* endpoints of ps */
    double *arc_bits; /* [arcs] */
    struct traffic_host host[SCENE_ENDS];
    struct burst_port port[SCENE_ENDS];
    struct traffic_flow other[SCENE_OTHERS];
    struct traffic_sim traffic; /* of these */
    struct rng rng;

    struct plan *plan;
    struct bursts *b;
    struct crowd *crowd; /* [arcs] */
    struct baseline *base;
};

/* job: random endpoints, 0: all. bits: of each arc. */
static void scene_create (struct scene *s, size_t levels,
                          enum tree_routing routing, size_t job, double bits,
                          struct traffic_host host, uint64_t seed)
{
    memset (s, 0, sizeof (*s));
    s->t = treenet_create (8, levels, routing, 1);
    s->ps
        = job ? treenet_random (s->t, job, 1) : treenet_pathset (s->t, NULL, 0);
    s->n = pathset_size (s->ps);
    s->arc_bits = calloc (2 * s->t->net.nlinks, sizeof (double));
    for (size_t x = 0; x < 2 * s->t->net.nlinks; x++) {
        s->t->info[x / 2].rate = 200 * GB;
        s->arc_bits[x] = bits;
    }
    for (size_t i = 0; i < s->n; i++)
        s->host[i] = host;
    s->traffic = (struct traffic_sim){
        .arc_bits = s->arc_bits,
        .host = s->host,
        .other = s->other,
        .noise = .005,
        .bursts = 2,
    };
    rng_seed (&s->rng, seed);
}

static void scene_close (struct scene *s)
{
    baseline_destroy (s->base);
    bursts_destroy (s->b);
    plan_destroy (s->plan);
    pathset_destroy (s->ps);
    treenet_destroy (s->t);
    free (s->arc_bits);
    free (s->crowd);
}

#endif /* CORE_TEST_SCENE_H */
