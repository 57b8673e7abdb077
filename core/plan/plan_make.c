/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The planner: a packing of symmetric rows, or of all pairs if these lack too
 * much or take too many rounds.
 *
 * Every plan that is marked maximal has the certificate of plan/span: its rank
 * is proven to be that of all pairs.
 *
 * Notes: effort is counted (entries of rows read and similar), not timed,
 * WORK_SECOND to a nominal second, so a plan depends on its seed alone.
 */
#include "config.h"
#include "core/plan/plan.h"

#include <math.h>
#include <stdlib.h>

#include "core/plan/pack.h"
#include "core/plan/span.h"
#include "util/alloc.h"

#define WORK_SECOND 1e8
#define JOB_EFFORT 4e7      /* to pack a job, at most */
#define PAIR_EFFORT 20000. /* per pair */
#define JOB_ELIMINATE 1.2e8 /* to find its rank, at least */

enum {
    FAR_ROUNDS = 3,      /* above the bound: another packing may have fewer, */
    FAR_PAIRS = 1 << 19, /* if so many pairs can be packed in time */
};

/* Prove that the rank of a packing of all pairs is theirs. */
static int certify_rank (struct packing *p, struct error *err)
{
    int rc;

    if (!p->maximal || rref_rank (p->form.rref) == p->basis.m)
        return 0;
    screen_draw (&p->form);
    rc = span_complete (p->ps, p->form.z, p->rng, err);
    return rc == 0 ? error_world (err, "the plan's rank is not that of all"
                                  " pairs") : rc < 0 ? -1 : 0;
}

static int pack_pairs (struct packing *p, struct pathset *ps, struct rng *rng,
                       const struct plan_options *opts, struct error *err)
{
    double budget = opts->budget * WORK_SECOND, effort = budget;
    double n = pathset_size (ps), pairs = n * (n - 1) / 2;
    int rc = pack_whole (p, ps, rng, false, err);
    bool all = rc == 1
        || (rc == 0 && p->rounds.count >= p->bound + FAR_ROUNDS
            && pairs <= FAR_PAIRS && !opts->at_once);

    if (all) {
        pack_clear (p);
        rc = pack_job (p, ps, rng, fmax (JOB_ELIMINATE, budget), err);
        effort = fmax (budget, fmin (JOB_EFFORT, PAIR_EFFORT * pairs));
    }
    /* a search takes longer than it takes to measure the rounds it saves */
    if (rc == 0 && !opts->at_once)
        rc = pack_search (p, effort, err);
    return rc == 0 && all ? certify_rank (p, err) : rc;
}

/* Probes of a round are added in a random order, since a packing places those
 * of long rows first.
 */
static void add_rounds (struct plan *plan, const struct packing *p,
                        struct rng *rng)
{
    uint32_t *order = xarray (p->rounds.n, sizeof (*order));

    for (size_t i = 0; i < p->rounds.n; i++)
        order[i] = i;
    rng_shuffle (rng, order, p->rounds.n);
    for (size_t i = 0; i < p->rounds.n; i++) {
        const struct rounds_slot *slot = &p->rounds.slot[order[i]];
        const struct probe *probe = &p->basis.pair[slot->pair];

        plan_add (plan, slot->round, probe->a, probe->b);
    }
    free (order);
}

/* A plan for one subnet. */
static struct plan *make_subnet_plan (struct pathset *ps,
                                      const struct plan_options *opts,
                                      struct error *err)
{
    struct plan *plan = plan_create ("pmm");
    struct packing p = { 0 };
    struct rng rng;
    int rc;

    if (pathset_ports (ps) < 2)
        return plan;
    rng_seed (&rng, opts->seed);
    if ((rc = pack_pairs (&p, ps, &rng, opts, err)) == 0) {
        add_rounds (plan, &p, &rng);
        plan_set_rank (plan, p.basis.m, p.rank, p.rounds.count);
        plan_set_maximal (plan, p.maximal);
        rc = redundant_extend (plan, ps, &p.basis, opts->extra_rounds,
                               opts->seed, err);
    }
    pack_clear (&p);
    if (rc == 0)
        return plan;
    plan_destroy (plan);
    return NULL;
}

/* Add the rounds of a subnet's plan, the redundant ones from round `basis` on.
 */
static void add_subnet_rounds (struct plan *plan, const struct pathset *ps,
                               const struct plan *part,
                               const struct pathset *of, size_t basis)
{
    for (size_t r = 0; r < plan_rounds (part); r++) {
        size_t own = plan_basis_rounds (part), n;
        const struct probe *p = plan_round (part, r, &n);

        for (size_t i = 0; i < n; i++)
            plan_add (plan, r < own ? r : basis + r - own,
                      pathset_find (ps, pathset_endpoint (of, p[i].a)->name),
                      pathset_find (ps, pathset_endpoint (of, p[i].b)->name));
    }
}

/* Subnets share no link, so that their rounds go side by side. */
struct plan *plan_make (struct pathset *ps, const struct plan_options *opts,
                        struct error *err)
{
    size_t n = pathset_subnets (ps), links = 0, rank = 0, basis = 0;
    struct plan_options each = *opts;
    struct pathset **of;
    struct plan **part, *plan;
    bool maximal = true, good = true;

    if (n < 2)
        return make_subnet_plan (ps, opts, err);
    each.budget /= n;
    plan = plan_create ("pmm");
    of = xcalloc (n, sizeof (*of));
    part = xcalloc (n, sizeof (*part));
    for (size_t s = 0; s < n && good; s++) {
        of[s] = pathset_part (ps, s);
        if (!(good = (part[s] = make_subnet_plan (of[s], &each, err))))
            break;
        links += plan_links (part[s]);
        rank += plan_rank (part[s]);
        maximal &= plan_maximal (part[s]);
        if (plan_basis_rounds (part[s]) > basis)
            basis = plan_basis_rounds (part[s]);
    }
    for (size_t s = 0; s < n; s++) {
        if (good)
            add_subnet_rounds (plan, ps, part[s], of[s], basis);
        plan_destroy (part[s]);
        pathset_destroy (of[s]);
    }
    free (of);
    free (part);
    plan_set_rank (plan, links, rank, basis);
    plan_set_maximal (plan, maximal);
    if (good)
        return plan;
    plan_destroy (plan);
    return NULL;
}
