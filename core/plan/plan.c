/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan: its rounds, and how they are made. */
#include "config.h"
#include "core/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct plan_rules rules[] = {
    { "pmm", false, false },
    { "paper", false, false },
    { "links", false, false },
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

struct round {
    struct probe *probe;
    size_t n, size;
};

struct plan {
    const char *method;
    struct round *round;
    size_t nrounds;
    size_t links, rank, basis_rounds, confirm_rounds, bound;
    bool maximal;
    struct plan_target *target;
    size_t ntargets;
};

struct plan *plan_create (const char *method)
{
    struct plan *plan = calloc (1, sizeof (*plan));

    if (plan) {
        plan->method = method;
        plan->maximal = true;
    }
    return plan;
}

void plan_destroy (struct plan *plan)
{
    int saved = errno;

    if (!plan)
        return;
    for (size_t r = 0; r < plan->nrounds; r++)
        free (plan->round[r].probe);
    free (plan->round);
    for (size_t i = 0; i < plan->ntargets; i++)
        free (plan->target[i].member);
    free (plan->target);
    free (plan);
    errno = saved;
}

int plan_add (struct plan *plan, size_t round, uint32_t a, uint32_t b)
{
    struct round *r;

    if (round >= plan->nrounds) {
        r = realloc (plan->round, (round + 1) * sizeof (*r));
        if (!r)
            return -1;
        plan->round = r;
        while (plan->nrounds <= round)
            plan->round[plan->nrounds++] = (struct round){ 0 };
    }
    r = &plan->round[round];
    if (r->n == r->size) {
        size_t size = r->size ? 2 * r->size : 8;
        struct probe *probe = realloc (r->probe, size * sizeof (*probe));

        if (!probe)
            return -1;
        r->probe = probe;
        r->size = size;
    }
    r->probe[r->n++] = (struct probe){ a, b };
    return 0;
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

void plan_set_bound (struct plan *plan, size_t rounds)
{
    plan->bound = rounds;
}

void plan_set_confirm (struct plan *plan, size_t n)
{
    plan->confirm_rounds = n;
}

int plan_add_target (struct plan *plan, uint32_t link,
                     const struct plan_member *member, size_t n)
{
    struct plan_target *t = realloc (plan->target, (plan->ntargets + 1)
                                                       * sizeof (*t));

    if (!t)
        return -1;
    plan->target = t;
    t += plan->ntargets;
    *t = (struct plan_target){ link, calloc (n + 1, sizeof (*member)), n };
    if (!t->member)
        return -1;
    for (size_t i = 0; i < n; i++)
        t->member[i] = member[i];
    plan->ntargets++;
    return 0;
}

const struct plan_target *plan_targets (const struct plan *plan, size_t *n)
{
    *n = plan->ntargets;
    return plan->target;
}

struct plan *plan_copy (const struct plan *plan)
{
    struct plan *copy = plan_create (plan->method);

    for (size_t r = 0; copy && r < plan->nrounds; r++)
        for (size_t i = 0; i < plan->round[r].n; i++) {
            const struct probe *p = &plan->round[r].probe[i];

            if (plan_add (copy, r, p->a, p->b) < 0) {
                plan_destroy (copy);
                return NULL;
            }
        }
    for (size_t i = 0; copy && i < plan->ntargets; i++) {
        const struct plan_target *t = &plan->target[i];

        if (plan_add_target (copy, t->link, t->member, t->n) < 0) {
            plan_destroy (copy);
            return NULL;
        }
    }
    if (copy) {
        plan_set_rank (copy, plan->links, plan->rank, plan->basis_rounds);
        plan_set_confirm (copy, plan->confirm_rounds);
        plan_set_bound (copy, plan->bound);
        plan_set_maximal (copy, plan->maximal);
    }
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

size_t plan_bound (const struct plan *plan)
{
    return plan->bound;
}
