/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns as plans.
 *
 * Notes: the rank is that of all rows, found by elimination, short rows first.
 * Most rows depend on earlier ones. A row that is orthogonal to a random null
 * vector of the earlier rows is skipped without elimination.
 */
#include "config.h"
#include "compare/pattern/schedule.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/rref.h"
#include "core/plan/span.h"
#include "util/alloc.h"
#include "util/rng.h"

enum { STALE_MAX = 16 }; /* dependent rows that a null vector fails to detect
                            before it is replaced */

/* The first endpoint of each port, and its host, as the number of the first
 * port of that host. The caller frees both arrays [ports].
 */
static void list_ports (const struct pathset *ps, uint32_t **endpoint,
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

static int fill (struct plan *plan, const struct pathset *ps,
                 enum pattern_kind kind, const struct pattern_options *opts,
                 struct error *err)
{
    uint32_t *endpoint, *host;
    struct pattern *p;
    int rc = -1;

    list_ports (ps, &endpoint, &host);
    if ((p = pattern_create (kind, pathset_ports (ps), host, opts, err)))
        rc = add_steps (plan, p, endpoint, err);
    pattern_destroy (p);
    free (endpoint);
    free (host);
    return rc;
}

/* The space that the rows of a plan span. */
struct row_span {
    struct pathset *ps;
    struct rref *rref;
    struct rng rng;
    uint64_t *z;        /* [m] orthogonal to the rows */
    unsigned int stale; /* dependent rows that z failed to detect */
    struct planned {
        struct probe probe;
        size_t links;
    } *row;             /* [rows] */
    size_t rows;
};

static void span_clear (struct row_span *s)
{
    rref_destroy (s->rref);
    free (s->z);
    free (s->row);
}

static int list_rows (struct row_span *s, const struct plan *plan,
                      struct error *err)
{
    s->row = xarray (plan_probes (plan), sizeof (*s->row));
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;

            if (pathset_row (s->ps, probe[i].a, probe[i].b, &row, err) < 0)
                return -1;
            s->row[s->rows++] = (struct planned){ probe[i], row.n };
        }
    }
    return 0;
}

static int add_row (struct row_span *s, const struct probe *probe,
                    struct error *err)
{
    struct row row;

    if (pathset_row (s->ps, probe->a, probe->b, &row, err) < 0)
        return -1;
    for (size_t k = 0; k < row.n; k++)
        row.link[k] = pathset_column (s->ps, row.link[k]);
    if (rref_dot (row.link, row.count, row.n, s->z) == 0)
        return 0;
    if (!rref_add_null (s->rref, row.link, row.count, row.n, s->z)
        && ++s->stale == STALE_MAX) {
        rref_null (s->rref, &s->rng, s->z);
        s->stale = 0;
    }
    return 0;
}

static int eliminate (struct row_span *s, size_t m, struct error *err)
{
    s->rref = rref_create (m);
    s->z = xcalloc (m, sizeof (*s->z));
    rref_null (s->rref, &s->rng, s->z);
    for (size_t links = 1; links <= ROW_MAX; links++)
        for (size_t i = 0; i < s->rows && rref_rank (s->rref) < m; i++)
            if (s->row[i].links == links
                && add_row (s, &s->row[i].probe, err) < 0)
                return -1;
    return 0;
}

/* Set the plan's rank, and whether it is that of all pairs. */
static int set_rank (struct plan *plan, struct pathset *ps, uint64_t seed,
                     struct error *err)
{
    struct row_span s = { .ps = ps };
    size_t m;
    int complete = -1;

    rng_seed (&s.rng, seed);
    if (!pathset_links (ps, &m, err) || list_rows (&s, plan, err) < 0
        || eliminate (&s, m, err) < 0)
        goto error;
    rref_null (s.rref, &s.rng, s.z);
    complete = rref_rank (s.rref) == m
        ? 1 : span_complete (ps, s.z, &s.rng, err);
    if (complete >= 0) {
        plan_set_rank (plan, m, rref_rank (s.rref), plan_rounds (plan));
        plan_set_maximal (plan, complete);
    }
error:
    span_clear (&s);
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
    plan = plan_create (pattern_name (kind));
    if (pathset_ports (ps) >= 2
        && (fill (plan, ps, kind, opts, err) < 0
            || set_rank (plan, ps, opts ? opts->seed : 0, err) < 0)) {
        plan_destroy (plan);
        return NULL;
    }
    return plan;
}
