/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns as plans.
 *
 * Notes: the rank is that of all rows, found by elimination, short rows first.
 * Most rows depend on earlier ones. A row that is orthogonal to a random null
 * vector of the earlier rows is skipped without elimination.
 */
#include "config.h"
#include "compare/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/rref.h"
#include "core/plan/span.h"
#include "util/alloc.h"
#include "util/rng.h"

/* The first endpoint of each port, and its host, as the number of the first
 * port of that host. The caller frees both arrays [ports].
 */
static void list_schedule_ports (const struct pathset *ps, uint32_t **endpoint,
                                 uint32_t **host)
{
    size_t n = pathset_ports (ps);
    uint32_t *first = xcalloc (n, sizeof (*first));
    uint32_t *at = xcalloc (n, sizeof (*at));

    *endpoint = first;
    *host = at;
    for (size_t i = pathset_size (ps); i-- > 0;)
        first[pathset_port (ps, i)] = i;
    for (size_t p = 0; p < n; p++) {
        const char *name = pathset_endpoint (ps, first[p])->host;

        while (strcmp (pathset_endpoint (ps, first[at[p]])->host, name) != 0)
            at[p]++;
    }
}

static int add_steps (struct plan *plan, const struct pattern *p,
                      const uint32_t *endpoint, struct error *err)
{
    struct probe *pair = xarray (pattern_width (p), sizeof (*pair));
    size_t probes = 0;
    int rc = 0;

    for (uint64_t s = 0; s < pattern_turn (p) && rc == 0; s++) {
        uint32_t n = pattern_step (p, s, pair);

        if ((probes += n) > SCHEDULE_PROBES_MAX)
            rc = error_input (err, "more than %d probes: too many for a plan",
                              SCHEDULE_PROBES_MAX);
        for (uint32_t k = 0; k < n && rc == 0; k++)
            plan_add (plan, s, endpoint[pair[k].a], endpoint[pair[k].b]);
    }
    free (pair);
    return rc;
}

static int fill_schedule (struct plan *plan, const struct pathset *ps,
                          enum pattern_kind kind,
                          const struct pattern_options *opts, struct error *err)
{
    uint32_t *endpoint, *host;
    struct pattern *p;
    int rc = -1;

    list_schedule_ports (ps, &endpoint, &host);
    if ((p = pattern_create (kind, pathset_ports (ps), host, opts, err)))
        rc = add_steps (plan, p, endpoint, err);
    pattern_destroy (p);
    free (endpoint);
    free (host);
    return rc;
}

/* Set the plan's rank, and whether it is that of all pairs. */
static int set_rank (struct plan *plan, struct pathset *ps, uint64_t seed,
                     struct error *err)
{
    struct rng rng;
    struct screen s = { .rng = &rng };
    struct basis rows;
    int complete = -1;

    rng_seed (&rng, seed);
    if (basis_of_plan (&rows, plan, ps, err) == 0) {
        basis_sort (&rows, 0);
        s.rref = rref_create (rows.m);
        screen_draw (&s);
        for (size_t i = 0; i < rows.n && rref_rank (s.rref) < rows.m; i++)
            screen_add (&s, BASIS_ROW (&rows, i));
        screen_draw (&s);
        complete = rref_rank (s.rref) == rows.m
            ? 1 : span_complete (ps, s.z, &rng, err);
    }
    if (complete >= 0) {
        plan_set_rank (plan, rows.m, rref_rank (s.rref), plan_rounds (plan));
        plan_set_maximal (plan, complete);
    }
    rref_destroy (s.rref);
    free (s.z);
    basis_clear (&rows);
    return complete < 0 ? -1 : 0;
}

struct plan *schedule_make (struct pathset *ps, enum pattern_kind kind,
                            const struct pattern_options *opts,
                            struct error *err)
{
    struct plan *plan;

    if (pattern_whole (kind)) {
        error_input (err, "%s is a topology of messages, no schedule",
                     pattern_name (kind));
        return NULL;
    }
    if (pathset_ports (ps) > SCHEDULE_PORTS_MAX) {
        error_input (err, "%zu ports: a schedule of %d at most is a plan",
                     pathset_ports (ps), SCHEDULE_PORTS_MAX);
        return NULL;
    }
    if (pathset_one_subnet (ps, err) < 0)
        return NULL;
    plan = plan_create (pattern_name (kind));
    if (pathset_ports (ps) >= 2
        && (fill_schedule (plan, ps, kind, opts, err) < 0
            || set_rank (plan, ps, opts ? opts->seed : 0, err) < 0)) {
        plan_destroy (plan);
        return NULL;
    }
    return plan;
}
