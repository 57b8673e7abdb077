/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The planner: several methods, of which the fewest rounds win.
 *
 * Notes: effort is counted (entries of rows looked at and the like), not
 * timed, WORK_SECOND of it to a nominal second, so that a plan depends on its
 * seed alone. To search longer pays as long as it takes less time than a
 * measurement of the rounds that it may save.
 */
#include "config.h"
#include "core/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "core/basis.h"
#include "core/bound.h"
#include "core/layers.h"
#include "core/redundant.h"
#include "core/rounds.h"
#include "core/rref.h"
#include "core/span.h"
#include "util/rng.h"

#define WORK_SECOND 1e8
#define ROUND_SECONDS .01 /* that a round takes to measure */
#define BUDGET_MAX 1.     /* unless more is asked for */

/* What a method starts from and arrives at. */
struct attempt {
    struct pathset *ps;
    struct rng rng;
    struct basis basis;
    struct rounds rounds; /* of pairs of the basis */
    size_t rank;
};

static void attempt_clear (struct attempt *a)
{
    basis_clear (&a->basis);
    rounds_clear (&a->rounds);
}

/* Is the rank of a form that of all pairs? */
static int certify (struct attempt *a, const struct rref *rref,
                    struct error *err)
{
    uint64_t *z;
    int rc;

    if (rref_rank (rref) == a->basis.m)
        return 0; /* it has no null vector */
    if (!(z = calloc (a->basis.m + 1, sizeof (*z))))
        return error_nomem (err);
    rref_null (rref, &a->rng, z);
    rc = span_complete (a->ps, z, &a->rng, err);
    free (z);
    if (rc == 0)
        return error_world (err, "the plan's rank is not that of all pairs");
    return rc < 0 ? -1 : 0;
}

/* Whole fabrics: symmetric rows, layer by layer. */
static int run_layers (struct attempt *a, uint64_t effort, struct error *err)
{
    if (basis_symmetric (&a->basis, a->ps, &a->rng, err) < 0)
        return -1;
    return layers_pack (&a->rounds, &a->basis, a->ps, &a->rng, effort,
                        &a->rank, err);
}

/* Jobs: all pairs are candidates. */
static int run_rounds (struct attempt *a, uint64_t effort, struct error *err)
{
    struct rref *rref = NULL;
    int rc;

    if (basis_make (&a->basis, a->ps, &a->rng, err) < 0)
        return -1;
    if (rounds_pack (&a->rounds, &a->basis, &a->rng, effort, &rref) < 0)
        return error_nomem (err);
    a->rank = rref_rank (rref);
    rc = certify (a, rref, err);
    rref_destroy (rref);
    return rc;
}

static double pairs (const struct pathset *ps)
{
    double n = pathset_size (ps);

    return n * (n - 1) / 2;
}

static double cost_layers (const struct pathset *ps)
{
    (void)ps;
    return 0; /* it is always run */
}

static double cost_rounds (const struct pathset *ps)
{
    return pairs (ps) > BASIS_PAIRS_MAX ? 1e300 : 50 * pairs (ps);
}

/* To add a method, write these two and list it. */
static const struct method {
    const char *name;
    double (*cost) (const struct pathset *ps); /* work that it begins with */
    int (*run) (struct attempt *a, uint64_t effort, struct error *err);
} methods[] = {
    { "layers", cost_layers, run_layers },
    { "rounds", cost_rounds, run_rounds },
};

enum { METHODS = sizeof (methods) / sizeof (methods[0]) };

/* Work that may be spent beyond what was found. */
static double effort_left (const struct plan_options *opts,
                           const struct attempt *best)
{
    size_t bound = bound_hosts (pathset_size (best->ps), best->rank);
    double seconds = (best->rounds.count - bound) * ROUND_SECONDS;

    if (best->rounds.count <= bound)
        return 0;
    if (opts->budget > 0)
        seconds = opts->budget;
    else if (seconds > BUDGET_MAX)
        seconds = BUDGET_MAX;
    return seconds * WORK_SECOND;
}

/* The best of the methods that are worth their while. */
static int search (struct attempt *best, const struct plan_options *opts,
                   struct error *err)
{
    double effort = 0;

    for (size_t i = 0; i < METHODS; i++) {
        struct attempt a = { .ps = best->ps };

        if (methods[i].cost (a.ps) > effort)
            continue;
        rng_seed (&a.rng, opts->seed + i);
        if (methods[i].run (&a, effort, err) < 0) {
            attempt_clear (&a);
            return -1;
        }
        if (i == 0 || a.rounds.count < best->rounds.count) {
            attempt_clear (best);
            *best = a;
        }
        else
            attempt_clear (&a);
        effort = effort_left (opts, best);
    }
    return 0;
}

struct plan *plan_make (struct pathset *ps, const struct plan_options *opts,
                        struct error *err)
{
    struct plan *plan = plan_create ("pmm");
    struct attempt best = { .ps = ps };
    size_t basis_rounds;

    if (!plan)
        goto nomem;
    if (pathset_size (ps) < 2)
        return plan;
    if (search (&best, opts, err) < 0)
        goto error;
    basis_rounds = best.rounds.count;
    for (size_t i = 0; i < best.rounds.n; i++) {
        const struct probe *p = &best.basis.pair[best.rounds.slot[i].pair];

        if (plan_add (plan, best.rounds.slot[i].round, p->a, p->b) < 0)
            goto nomem;
    }
    plan_set_rank (plan, best.basis.m, best.rank, basis_rounds);
    if (redundant_extend (plan, ps, &best.basis, opts->extra_rounds,
                          opts->seed, err) < 0)
        goto error;
    attempt_clear (&best);
    return plan;
nomem:
    error_nomem (err);
error:
    attempt_clear (&best);
    plan_destroy (plan);
    return NULL;
}
