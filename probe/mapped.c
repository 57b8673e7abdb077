/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of a test in the fabric. */
#include "config.h"
#include "probe/mapped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/samples/samples.h"
#include "core/solve/solve.h"
#include "probe/identify.h"
#include "ibquery/nodemap.h"

struct mapped {
    size_t n;            /* processes */
    struct pathset *ps;  /* of their ends */
    uint32_t *process;   /* [endpoint of ps] */
    uint32_t *end;       /* [process] */
};

void mapped_destroy (struct mapped *m)
{
    if (!m)
        return;
    pathset_destroy (m->ps);
    free (m->process);
    free (m->end);
    free (m);
}

/* The name of each process' end; NULL: it has none. Return 0, or -1 with err
 * about the first that has none.
 */
static int name_ends (const struct identity *id, const struct roster *r,
                      const char **name, struct error *err)
{
    for (size_t m = 0; m < r->nmembers; m++) {
        unsigned int rank = r->member[m];

        for (size_t k = 0; k < id->n && !name[m]; k++)
            if (id->peer[k] == r->first[m] && id->lid[k] == 0)
                name[m] = id->name[k];
        if (!name[m])
            return error_world (err, "%s",
                                id->why[rank] ? id->why[rank]
                                              : r->rank[rank].host);
    }
    return 0;
}

static int find_ends (struct mapped *m, const char *const *name,
                      struct error *err)
{
    m->process = calloc (m->n, sizeof (*m->process));
    m->end = calloc (m->n, sizeof (*m->end));
    if (!m->process || !m->end)
        return error_nomem (err);
    for (size_t i = 0; i < m->n; i++) {
        int end = pathset_find (m->ps, name[i]);

        if (end < 0 || (size_t)end >= m->n)
            return error_world (err, "%s is not in the fabric", name[i]);
        m->end[i] = (uint32_t)end;
        m->process[end] = (uint32_t)i;
    }
    return 0;
}

static int find_out (struct identity *id, const struct roster *roster,
                     const struct fabric *f, const char *node_map,
                     struct error *err)
{
    struct nodemap *map = NULL;
    int rc;

    if (*node_map && !(map = nodemap_load (node_map, err)))
        return -1;
    rc = identify (id, roster, f, map, NULL, err);
    nodemap_destroy (map);
    return rc;
}

struct mapped *mapped_create (const struct roster *roster,
                              const struct fabric *f, const char *node_map,
                              struct error *err)
{
    struct mapped *m = calloc (1, sizeof (*m));
    const char **name = calloc (roster->nmembers + 1, sizeof (*name));
    struct identity id = { .n = 0 };
    int rc = -1;

    if (!m || !name) {
        error_nomem (err);
        goto error;
    }
    m->n = roster->nmembers;
    if (find_out (&id, roster, f, node_map, err) == 0
        && name_ends (&id, roster, name, err) == 0
        && (m->ps = fabric_pathset (f, name, m->n, err)))
        rc = find_ends (m, name, err);
error:
    identity_clear (&id);
    free (name);
    if (rc == 0)
        return m;
    mapped_destroy (m);
    return NULL;
}

struct plan *mapped_plan (const struct mapped *m, unsigned int extra_rounds,
                          struct error *err)
{
    struct plan_options opts = { .extra_rounds = extra_rounds };
    struct plan *made = plan_make (m->ps, &opts, err);
    struct plan *plan = made ? plan_create (plan_method (made)) : NULL;
    int rc = plan ? 0 : -1;

    if (made && !plan)
        error_nomem (err);
    for (size_t round = 0; rc == 0 && round < plan_rounds (made); round++) {
        size_t n;
        const struct probe *probe = plan_round (made, round, &n);

        for (size_t i = 0; i < n && rc == 0; i++)
            plan_add (plan, round, m->process[probe[i].a],
                      m->process[probe[i].b]);
    }
    plan_destroy (made);
    if (rc == 0)
        return plan;
    plan_destroy (plan);
    return NULL;
}

/* Which quantiles of the samples a pair's statistics are: those that a series
 * does not have are the next that it has.
 */
static const enum series_stat quantile[RTT_COUNT] = {
    [RTT_MIN] = SERIES_MIN,       [RTT_P05] = SERIES_MIN,
    [RTT_P25] = SERIES_P25,       [RTT_MEDIAN] = SERIES_MEDIAN,
    [RTT_P75] = SERIES_P75,       [RTT_P95] = SERIES_MAX,
    [RTT_MAX] = SERIES_MAX,
};

static int quantile_of (enum series_stat stat)
{
    for (int q = 0; q < RTT_COUNT; q++)
        if (quantile[q] == stat)
            return q;
    return RTT_MIDDLE;
}

static struct samples *samples_of (const struct mapped *m,
                                   const struct series *s, uint64_t length,
                                   struct error *err)
{
    struct samples *samples = samples_create ();

    if (!samples) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < s->npairs; i++) {
        const struct series_pair *pair = &s->pair[i];
        struct sample sample = { .sent = pair->count, .lost = pair->lost };

        if (pair->length != length || pair->a >= m->n || pair->b >= m->n)
            continue;
        sample.a = m->end[pair->a < pair->b ? pair->a : pair->b];
        sample.b = m->end[pair->a < pair->b ? pair->b : pair->a];
        sample.initiator = m->end[pair->a];
        for (int q = 0; q < RTT_COUNT; q++)
            sample.rtt_ns[q] = 2 * pair->time_ns[quantile[q]];
        if (samples_add (samples, &sample) < 0) {
            error_nomem (err);
            samples_destroy (samples);
            return NULL;
        }
    }
    return samples;
}

/* One determined pair, either way. */
static int add_pair (const struct mapped *m, struct series *s,
                     const struct pair_estimate *p, uint64_t length,
                     enum series_stat stat, struct error *err)
{
    struct series_pair pair = { .count = 1, .length = length };

    for (int i = 0; i < SERIES_STATS; i++)
        pair.time_ns[i] = NAN;
    pair.time_ns[stat] = p->rtt_ns / 2;
    for (int way = 0; way < 2; way++) {
        pair.a = m->process[way ? p->b : p->a];
        pair.b = m->process[way ? p->a : p->b];
        if (series_add_pair (s, &pair, err) < 0)
            return -1;
    }
    return 0;
}

static int predict_length (const struct mapped *m, const struct series *from,
                           uint64_t length, enum series_stat stat,
                           struct series *s, struct error *err)
{
    struct solve_options opts = { .quantile = quantile_of (stat),
                                  .pairs = true };
    struct samples *samples = samples_of (m, from, length, err);
    struct solution *solution
        = samples ? solve (m->ps, samples, &opts, err) : NULL;
    int rc = solution ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < solution->npairs; i++)
        rc = add_pair (m, s, &solution->pair[i], length, stat, err);
    solution_destroy (solution);
    samples_destroy (samples);
    return rc;
}

struct series *mapped_predict (const struct mapped *m,
                               const struct series *measured,
                               enum series_stat stat, struct error *err)
{
    struct series *s = series_create (measured->test);
    int rc = 0;

    if (!s) {
        error_nomem (err);
        return NULL;
    }
    for (uint32_t i = 0; rc == 0 && i < measured->nprocesses; i++)
        rc = series_add_process (s, measured->process[i].label,
                                 measured->process[i].host, err);
    for (size_t k = 0; rc == 0 && k < measured->nlengths; k++)
        rc = predict_length (m, measured, measured->length[k], stat, s, err);
    if (rc == 0 && series_sort (s, err) == 0)
        return s;
    series_destroy (s);
    return NULL;
}
