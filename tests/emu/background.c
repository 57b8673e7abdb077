/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "tests/emu/background.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/rng.h"

#define LEAST_NS 1e6
#define MOST_NS 1e8

struct background {
    const struct emu_model *model;
    size_t n;
    struct flood_flow *flow;
    struct background_state {
        bool on;
        int64_t until; /* INT64_MAX: it does not pause */
        double offer;  /* when it is on */
    } * state;
    struct rng rng;
    int64_t next;
    struct flood_arc *arc;
};

static void compute_background (struct background *b)
{
    const struct fabric *f = model_fabric (b->model);

    b->next = INT64_MAX;
    for (size_t i = 0; i < b->n; i++) {
        b->flow[i].offer = b->state[i].on ? b->state[i].offer : 0;
        if (b->state[i].until < b->next)
            b->next = b->state[i].until;
    }
    flood (b->flow, b->n, model_bytes_ns_of_arcs (b->model), b->arc,
           2 * f->nlinks);
}

static int64_t draw_duration (struct background *b)
{
    return llround (LEAST_NS * pow (MOST_NS / LEAST_NS, rng_uniform (&b->rng)));
}

struct background *background_create (const struct emu_model *m, uint64_t seed,
                                      int64_t now)
{
    struct background *b = xcalloc (1, sizeof (*b));
    const struct model_flow *of = model_flows (m, &b->n);

    b->model = m;
    b->flow = xcalloc (b->n, sizeof (*b->flow));
    b->state = xcalloc (b->n, sizeof (*b->state));
    b->arc = xcalloc (2 * model_fabric (m)->nlinks, sizeof (*b->arc));
    rng_seed (&b->rng, seed);
    for (size_t i = 0; i < b->n; i++) {
        struct flood_flow *flow = &b->flow[i];
        struct background_state *s = &b->state[i];

        flow->hops = model_path (m, of[i].from, of[i].to, flow->arc);
        if (flow->hops > 0)
            s->offer = of[i].load / model_byte_ns (m, flow->arc[0]);
        s->on = !of[i].pauses || rng_next (&b->rng) % 2;
        /* it has been so for a while */
        s->until = of[i].pauses ? now
                                      + llround (rng_uniform (&b->rng)
                                                 * (double)draw_duration (b))
                                : INT64_MAX;
    }
    compute_background (b);
    return b;
}

void background_destroy (struct background *b)
{
    if (!b)
        return;
    free (b->flow);
    free (b->state);
    free (b->arc);
    free (b);
}

const struct flood_arc *background_arcs (const struct background *b)
{
    return b->arc;
}

const struct flood_flow *background_flows (const struct background *b,
                                           size_t *n)
{
    *n = b->n;
    return b->flow;
}

int64_t background_next (const struct background *b)
{
    return b->next;
}

void background_turn (struct background *b, int64_t until)
{
    int64_t out = until - b->next > BACKGROUND_MEMORY_NS
                      ? until - b->next - BACKGROUND_MEMORY_NS
                      : 0;

    for (size_t i = 0; i < b->n; i++) {
        struct background_state *s = &b->state[i];

        if (s->until == INT64_MAX)
            continue;
        if (s->until == b->next) {
            s->on = !s->on;
            s->until += draw_duration (b);
        }
        s->until += out;
    }
    compute_background (b);
}
