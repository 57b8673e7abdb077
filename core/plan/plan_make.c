/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The planner: a first packing and further attempts, in a fixed order; the
 * fewest rounds win.
 *
 * Every plan that is marked maximal has the certificate of plan/span: its rank
 * is proven to be that of all pairs.
 *
 * Notes: effort is counted (entries of rows read and similar), not timed,
 * WORK_SECOND to a nominal second, so a plan depends on its seed alone. A
 * longer search pays as long as it takes less time than measuring the rounds
 * that it may save.
 */
#include "config.h"
#include "core/plan/plan.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/check/bound.h"
#include "core/plan/basis.h"
#include "core/plan/layers.h"
#include "core/plan/redundant.h"
#include "core/plan/rounds.h"
#include "core/plan/rref.h"
#include "core/plan/span.h"
#include "util/alloc.h"
#include "util/rng.h"

#define WORK_SECOND 1e8
#define ROUND_SECONDS .01 /* to measure a round */
#define JOB_EFFORT 30000000 /* to pack a job, at most */
#define PAIR_EFFORT 3000. /* per pair */
#define JOB_ELIMINATE 120000000 /* to find its rank, at least */
#define BUDGET_MAX .6     /* if no budget is given */
#define NEAR 1.3          /* times the bound; plans above it get more: */
#define FAR_EFFORT 50000000 /* at most, and */
#define FAR_PAIR 20000.     /* per pair, at the start of a search */
#define FAR_ROUND 24000000  /* at most per round above the bound but one */

/* The input and the result of a method. */
struct attempt {
    struct pathset *ps;
    struct rng rng;
    struct basis basis;
    struct rounds rounds; /* of pairs of the basis */
    size_t rank;
    size_t bound; /* of rounds, besides that of all hosts */
    double far;   /* effort allowed if its rounds are not near */
    bool maximal;
    bool whole;   /* symmetric rows are enough */
};

static void attempt_clear (struct attempt *a)
{
    basis_clear (&a->basis);
    rounds_clear (&a->rounds);
}

static double pairs (const struct pathset *ps)
{
    double n = pathset_size (ps);

    return n * (n - 1) / 2;
}

static double far_effort (const struct pathset *ps)
{
    return fmin (FAR_EFFORT, FAR_PAIR * pairs (ps));
}

static size_t rounds_bound (const struct attempt *a)
{
    size_t hosts = plan_least_rounds (pathset_ports (a->ps), a->rank);

    return a->bound > hosts ? a->bound : hosts;
}

static double cost_layers (const struct pathset *ps)
{
    return 3000. * pathset_size (ps);
}

static double cost_rounds (const struct pathset *ps)
{
    return pairs (ps) > BASIS_PAIRS_MAX ? HUGE_VAL : 150 * pairs (ps);
}

/* Are the rounds close to a bound, or is it not known whether they are? */
static bool is_near (const struct attempt *a, size_t bound)
{
    return !a->maximal || a->rounds.count <= NEAR * bound;
}

/* Is a plan by layers so far above the bound that a longer search by jobs'
 * rounds pays?
 */
static int judge_layers (struct attempt *a, struct error *err)
{
    struct bound bound;

    if (is_near (a, rounds_bound (a)))
        return 0;
    if (bound_find (a->ps, a->rank, BOUND_QUICK, &bound, err) < 0)
        return -1;
    if (!is_near (a, bound.rounds)
        && cost_rounds (a->ps)
            <= FAR_ROUND * (double)(a->rounds.count - bound.rounds - 1))
        a->far = far_effort (a->ps);
    return 0;
}

/* Is the rank of a form that of all pairs? */
static int certify (struct attempt *a, const struct rref *rref,
                    struct error *err)
{
    uint64_t *z;
    int rc;

    if (rref_rank (rref) == a->basis.m)
        return 0; /* there is no null vector */
    z = xcalloc (a->basis.m, sizeof (*z));
    rref_null (rref, &a->rng, z);
    rc = span_complete (a->ps, z, &a->rng, err);
    free (z);
    if (rc == 0)
        return error_world (err, "the plan's rank is not that of all pairs");
    return rc < 0 ? -1 : 0;
}

/* Whole fabrics: symmetric rows, layer by layer. */
static int run_layers (struct attempt *a, const struct rounds_effort *effort,
                       struct error *err)
{
    if (basis_symmetric (&a->basis, a->ps, &a->rng, err) < 0)
        return -1;
    a->maximal = true;
    return layers_pack (&a->rounds, &a->basis, a->ps, &a->rng,
                        effort->search, &a->rank, err);
}

/* Jobs: all pairs are candidates. */
static int run_rounds (struct attempt *a, const struct rounds_effort *effort,
                       struct error *err)
{
    struct rref *rref;
    int rc = 0;

    if (basis_make (&a->basis, a->ps, &a->rng, err) < 0)
        return -1;
    rounds_pack (&a->rounds, &a->basis, &a->rng, effort, &rref);
    a->rank = rref_rank (rref);
    a->maximal = a->rounds.maximal;
    if (a->maximal)
        rc = certify (a, rref, err);
    if (a->basis.all)
        a->bound = a->rounds.least;
    rref_destroy (rref);
    return rc;
}

/* The first packing: by layers, unless there are fewer symmetric rows than
 * links and all pairs can be used instead.
 */
static int run_first (struct attempt *a, double budget, struct error *err)
{
    const struct rounds_effort effort = {
        .search = fmin (JOB_EFFORT, PAIR_EFFORT * pairs (a->ps)),
        .far = far_effort (a->ps),
        .near = NEAR,
        .eliminate = fmax (JOB_ELIMINATE, budget * WORK_SECOND),
    };

    if (basis_symmetric (&a->basis, a->ps, &a->rng, err) < 0)
        return -1;
    if (a->basis.n < a->basis.m && pairs (a->ps) <= BASIS_PAIRS_MAX) {
        basis_clear (&a->basis);
        return run_rounds (a, &effort, err);
    }
    a->maximal = a->whole = true;
    if (layers_pack (&a->rounds, &a->basis, a->ps, &a->rng, 0, &a->rank, err)
        < 0)
        return -1;
    return judge_layers (a, err);
}

/* Attempts to improve a first packing, in this order. */
static const struct packing_method {
    double (*cost) (const struct pathset *ps); /* work at the start */
    int (*run) (struct attempt *a, const struct rounds_effort *effort,
                struct error *err);
    bool asked; /* only with a budget */
    bool whole; /* only if symmetric rows are enough: else fill-in */
} methods[] = {
    { cost_rounds, run_rounds, false, false },
    { cost_layers, run_layers, true, true },
    { cost_rounds, run_rounds, true, false },
    { cost_layers, run_layers, true, true },
};

enum { METHODS = sizeof (methods) / sizeof (methods[0]) };

/* The work that may be spent to improve a plan, without that of its rounds;
 * none if the plan is not maximal.
 */
static struct rounds_effort effort_left (const struct plan_options *opts,
                                         const struct attempt *best)
{
    size_t bound = rounds_bound (best);
    double search = opts->budget, far = 0;

    if (best->rounds.count <= bound || !best->maximal)
        return (struct rounds_effort){ 0 };
    if (search <= 0) {
        search = fmin ((best->rounds.count - bound) * ROUND_SECONDS,
                       BUDGET_MAX);
        far = best->far;
    }
    search = fmax (search * WORK_SECOND - best->rounds.work, 0);
    return (struct rounds_effort){
        .search = search,
        .eliminate = fmax (search, far),
        .far = far,
        .near = NEAR,
    };
}

/* Is a method within the budget? */
static bool is_of_use (const struct packing_method *m,
                       const struct attempt *best,
                       const struct plan_options *opts, uint64_t work)
{
    return (!m->asked || opts->budget > 0) && (!m->whole || best->whole)
           && m->cost (best->ps) <= work;
}

/* Make a first packing, and take the best of the further attempts, which share
 * the effort.
 */
static int find_rounds (struct attempt *best, const struct plan_options *opts,
                        struct error *err)
{
    struct rounds_effort effort;
    bool of_use[METHODS];
    size_t bound, n = 0;

    rng_seed (&best->rng, opts->seed);
    if (run_first (best, opts->budget, err) < 0)
        return -1;
    bound = rounds_bound (best);
    effort = effort_left (opts, best);
    for (size_t i = 0; i < METHODS; i++)
        n += of_use[i] = is_of_use (&methods[i], best, opts, effort.eliminate);
    effort.search /= n ? n : 1;
    effort.eliminate /= n ? n : 1;
    for (size_t i = 0; i < METHODS && best->rounds.count > bound; i++) {
        struct attempt a = { .ps = best->ps };

        if (!of_use[i])
            continue;
        rng_seed (&a.rng, opts->seed + 1 + i);
        if (methods[i].run (&a, &effort, err) < 0) {
            attempt_clear (&a);
            return -1;
        }
        if (a.maximal && a.rounds.count < best->rounds.count) {
            struct attempt worse = *best;

            *best = a;
            a = worse;
        }
        attempt_clear (&a);
    }
    return 0;
}

struct plan *plan_make (struct pathset *ps, const struct plan_options *opts,
                        struct error *err)
{
    struct attempt best = { .ps = ps };
    struct plan *plan = NULL;

    if (pathset_ports (ps) < 2)
        return plan_create ("pmm");
    if (find_rounds (&best, opts, err) < 0)
        goto error;
    plan = plan_create ("pmm");
    for (size_t i = 0; i < best.rounds.n; i++) {
        const struct probe *p = &best.basis.pair[best.rounds.slot[i].pair];

        plan_add (plan, best.rounds.slot[i].round, p->a, p->b);
    }
    plan_set_rank (plan, best.basis.m, best.rank, best.rounds.count);
    plan_set_maximal (plan, best.maximal);
    if (redundant_extend (plan, ps, &best.basis, opts->extra_rounds,
                          opts->seed, err) < 0) {
        plan_destroy (plan);
        plan = NULL;
    }
error:
    attempt_clear (&best);
    return plan;
}
