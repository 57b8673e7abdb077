/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan: its rounds, and how they are made. */
#include "config.h"
#include "core/plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

static const struct plan_rules rules[] = {
    { "pmm", false, false },
    { "one-factor", true, false },
    { "bisection", true, false },
    { "by-host", true, false },
    { "by-host-bisection", true, false },
    { "one-to-one", true, false },
    { "throughput", true, true },
};

const struct plan_rules *plan_rules (const char *method)
{
    for (size_t i = 0; i < sizeof (rules) / sizeof (rules[0]); i++)
        if (strcmp (rules[i].method, method) == 0)
            return &rules[i];
    return NULL;
}

struct plan_round {
    struct probe *probe;
    size_t n;
};

struct plan {
    const char *method;
    struct plan_round *round;
    size_t nrounds;
    size_t links, rank, basis_rounds, confirm_rounds;
    bool maximal;
    struct plan_target *target;
    size_t ntargets;
};

struct plan *plan_create (const char *method)
{
    struct plan *plan = xcalloc (1, sizeof (*plan));

    plan->method = method;
    plan->maximal = true;
    return plan;
}

void plan_destroy (struct plan *plan)
{
    if (!plan)
        return;
    for (size_t r = 0; r < plan->nrounds; r++)
        free (plan->round[r].probe);
    free (plan->round);
    free (plan->target);
    free (plan);
}

void plan_add (struct plan *plan, size_t round, uint32_t a, uint32_t b)
{
    struct plan_round *r;

    while (plan->nrounds <= round) {
        plan->round = xgrow (plan->round, plan->nrounds, sizeof (*r));
        plan->round[plan->nrounds++] = (struct plan_round){ 0 };
    }
    r = &plan->round[round];
    r->probe = xgrow (r->probe, r->n, sizeof (*r->probe));
    r->probe[r->n++] = (struct probe){ a, b };
}

void plan_set_rank (struct plan *plan, size_t links, size_t rank,
                    size_t basis_rounds)
{
    plan->links = links;
    plan->rank = rank;
    plan->basis_rounds = basis_rounds;
}

void plan_set_maximal (struct plan *plan, bool maximal)
{
    plan->maximal = maximal;
}

void plan_set_confirm (struct plan *plan, size_t n)
{
    plan->confirm_rounds = n;
}

void plan_add_target (struct plan *plan, uint32_t link, bool filled)
{
    plan->target = xgrow (plan->target, plan->ntargets,
                          sizeof (*plan->target));
    plan->target[plan->ntargets++] = (struct plan_target){ link, filled };
}

const struct plan_target *plan_targets (const struct plan *plan, size_t *n)
{
    *n = plan->ntargets;
    return plan->target;
}

struct plan *plan_copy (const struct plan *plan)
{
    struct plan *copy = xcalloc (1, sizeof (*copy));

    *copy = *plan;
    copy->round = NULL;
    copy->target = NULL;
    copy->nrounds = copy->ntargets = 0;
    for (size_t r = 0; r < plan->nrounds; r++)
        for (size_t i = 0; i < plan->round[r].n; i++)
            plan_add (copy, r, plan->round[r].probe[i].a,
                      plan->round[r].probe[i].b);
    for (size_t i = 0; i < plan->ntargets; i++)
        plan_add_target (copy, plan->target[i].link, plan->target[i].filled);
    return copy;
}

const char *plan_method (const struct plan *plan)
{
    return plan->method;
}

size_t plan_links (const struct plan *plan)
{
    return plan->links;
}

size_t plan_rank (const struct plan *plan)
{
    return plan->rank;
}

bool plan_maximal (const struct plan *plan)
{
    return plan->maximal;
}

size_t plan_rounds (const struct plan *plan)
{
    return plan->nrounds;
}

size_t plan_basis_rounds (const struct plan *plan)
{
    return plan->basis_rounds;
}

size_t plan_confirm_rounds (const struct plan *plan)
{
    return plan->confirm_rounds;
}

size_t plan_probes (const struct plan *plan)
{
    size_t n = 0;

    for (size_t r = 0; r < plan->nrounds; r++)
        n += plan->round[r].n;
    return n;
}

const struct probe *plan_round (const struct plan *plan, size_t round,
                                size_t *n)
{
    *n = plan->round[round].n;
    return plan->round[round].probe;
}
