/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/tests.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/series/compare.h"
#include "core/samples/samples.h"
#include "core/solve/solve.h"
#include "probe/exchange/comm_group.h"
#include "probe/exchange/program.h"
#include "probe/identify.h"
#include "probe/step.h"
#include "probe/watchdog.h"
#include "util/alloc.h"
#include "util/conf.h"

/*
 * Processes in the fabric
 */

/* The processes of a test as ends of the fabric: of each, its first port with
 * that port's first LID.
 */
struct mapped {
    size_t n;            /* processes */
    struct pathset *ps;  /* between their ends */
    uint32_t *process;   /* [endpoint of ps] */
    uint32_t *end;       /* [process] */
};

static void mapped_destroy (struct mapped *m)
{
    if (!m)
        return;
    pathset_destroy (m->ps);
    free (m->process);
    free (m->end);
    free (m);
}

/* Set the name of each process's end. Return 0, or -1 with err about the first
 * process that has none.
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
    m->process = xcalloc (m->n, sizeof (*m->process));
    m->end = xcalloc (m->n, sizeof (*m->end));
    for (size_t i = 0; i < m->n; i++) {
        int end = pathset_find (m->ps, name[i]);

        if (end < 0 || (size_t)end >= m->n)
            return error_world (err, "%s is not in the fabric", name[i]);
        m->end[i] = (uint32_t)end;
        m->process[end] = (uint32_t)i;
    }
    return 0;
}

/* Map the processes, which are the members of the roster, to ends. NULL with
 * err, also if one is not in the fabric.
 */
static struct mapped *mapped_create (const struct step *step,
                                     const char *node_map, struct error *err)
{
    const struct roster *roster = step->roster;
    const struct fabric *f = step->fabric;
    struct mapped *m = xcalloc (1, sizeof (*m));
    const char **name = xcalloc (roster->nmembers, sizeof (*name));
    struct identity id = { .n = 0 };
    int rc = -1;

    m->n = roster->nmembers;
    if (identify_by_site (&id, roster, f, node_map, NULL, err) == 0
        && name_ends (&id, roster, name, err) == 0
        && (m->ps = fabric_pathset (f, name, m->n, err)))
        rc = find_ends (m, name, err);
    identity_clear (&id);
    free (name);
    if (rc == 0)
        return m;
    mapped_destroy (m);
    return NULL;
}

/* Make a plan whose probes are between processes, not ends. NULL with err. */
static struct plan *mapped_plan (const struct mapped *m,
                                 unsigned int extra_rounds, struct error *err)
{
    struct plan_options opts = { .extra_rounds = extra_rounds };
    struct plan *made = plan_make (m->ps, &opts, err);
    struct plan *plan;

    if (!made)
        return NULL;
    plan = plan_create (plan_method (made));
    for (size_t round = 0; round < plan_rounds (made); round++) {
        size_t n;
        const struct probe *probe = plan_round (made, round, &n);

        for (size_t i = 0; i < n; i++)
            plan_add (plan, round, m->process[probe[i].a],
                      m->process[probe[i].b]);
    }
    plan_destroy (made);
    return plan;
}

/* The statistic of a series for each quantile of samples. If a series does not
 * have that quantile, it is the next one outward.
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
                                   const struct series *s, uint64_t length)
{
    struct samples *samples = samples_create ();

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
        samples_add (samples, &sample);
    }
    return samples;
}

/* Add a pair that was computed, in both directions. */
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
    struct samples *samples = samples_of (m, from, length);
    struct solution *solution = solve (m->ps, samples, &opts, err);
    int rc = solution ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < solution->npairs; i++)
        rc = add_pair (m, s, &solution->pair[i], length, stat, err);
    solution_destroy (solution);
    samples_destroy (samples);
    return rc;
}

/* Compute all pairs from a sorted series of the plan's pairs, link by link, for
 * one statistic: the new series has only that one. NULL with err.
 */
static struct series *mapped_predict (const struct mapped *m,
                                      const struct series *measured,
                                      enum series_stat stat,
                                      struct error *err)
{
    struct series *s = xcheck (series_create (measured->test));
    int rc = 0;

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

/*
 * Options
 */

enum { TIMEOUT_S = 3600 };

struct tests {
    struct site site;
    const char *conf, *coord;
    struct strings set;
    int timeout_s;
    struct step step;
    const char **host; /* [member] borrowed */
    struct mapped *mapped; /* NULL: not yet */
};

#define FIELD(field) offsetof (struct tests, field)

static const struct opt tests_options[] = {
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "read FILE, not " PMM_CONF_PATH },
    { "set", 0, "KEY=VALUE", opt_append, FIELD (set),
      "set an option of pmm.conf(5) (repeatable)" },
    { "timeout", 0, "SECONDS", opt_int, FIELD (timeout_s),
      "give up after this long [3600]" },
    { "coord", 0, "NAME", opt_string, FIELD (coord),
      "auto, pmix, pmi2, or local:RANK:SIZE:HOST:SOCKET" },
    { 0 },
};

/*
 * Pattern pmm
 */

static int find_places (struct tests *x, struct error *err)
{
    if (x->mapped)
        return 0;
    if (step_load (&x->step, err) < 0)
        return -1;
    x->mapped = mapped_create (&x->step, x->site.node_map, err);
    return x->mapped ? 0 : -1;
}

struct planning {
    struct tests *x;
    struct plan *plan;
};

static int make_plan (void *arg, struct error *err)
{
    struct planning *p = arg;

    if (find_places (p->x, err) < 0)
        return -1;
    p->plan = mapped_plan (p->x->mapped,
                           (unsigned int)p->x->site.extra_rounds, err);
    return p->plan ? 0 : -1;
}

static struct plan *plan_pmm (void *data, char *fabric, struct error *err)
{
    struct planning p = { .x = data };

    if (group_meanwhile (p.x->step.group, make_plan, &p, err) == 0) {
        snprintf (fabric, PLAN_FABRIC, "%s", p.x->step.fabric->hash);
        return p.plan;
    }
    plan_destroy (p.plan);
    return NULL;
}

/*
 * Patterns side by side
 */

static bool is_pmm (const struct series *s)
{
    return !strcmp (s->pattern, "pmm");
}

static void print_run (const struct series *s, FILE *fp)
{
    fprintf (fp, "%-20s %8" PRIu64 " %10" PRIu64 " %10.6f %9zu", s->pattern,
             s->steps, s->probes, s->seconds, s->npairs);
}

struct prediction {
    struct tests *x;
    const struct series *measured;
    enum series_stat stat;
    struct series *series;
};

static int predict (void *arg, struct error *err)
{
    struct prediction *p = arg;

    if (find_places (p->x, err) < 0)
        return -1;
    p->series = mapped_predict (p->x->mapped, p->measured, p->stat, err);
    return p->series ? 0 : -1;
}

/* Print PMM's predictions for all pairs, compared with other measurements. */
static int print_pmm (struct tests *x, const struct exchange_session *session,
                      const struct series *s, FILE *fp, struct error *err)
{
    struct prediction p = { x, s, session->args->stat, NULL };

    if (group_meanwhile (x->step.group, predict, &p, err) < 0) {
        series_destroy (p.series);
        return -1;
    }
    for (size_t i = 0; i < session->runs.n; i++) {
        const struct series *other = session->runs.run[i];
        struct series_comparison c;

        if (is_pmm (other) || strcmp (other->exchange, s->exchange) != 0
            || series_compare (&c, other, p.series, p.stat, err) < 0)
            continue;
        print_run (s, fp);
        fprintf (fp, " %9zu %9.1f %9.1f %9.1f %9.1f  of %s\n",
                 p.series->npairs, c.ns.mean, c.ns.absolute, c.ns.quadratic,
                 c.ns.max, other->pattern);
        comparison_clear (&c);
    }
    series_destroy (p.series);
    return 0;
}

static int print_beside (void *data, const struct exchange_session *session,
                         struct error *err)
{
    const struct exchange_args *args = session->args;
    FILE *fp = args->output || !args->format ? stdout : stderr;
    bool pmm = false;

    for (size_t i = 0; i < session->runs.n; i++)
        pmm = pmm || is_pmm (session->runs.run[i]);
    if (!pmm || session->runs.n < 2)
        return 0;
    fprintf (fp, "%-20s %8s %10s %10s %9s %9s %9s %9s %9s %9s\n", "pattern",
             "steps", "probes", "seconds", "measured", "known", "mean, ns",
             "absolute", "quadratic", "maximum");
    for (size_t i = 0; i < session->runs.n; i++) {
        const struct series *s = session->runs.run[i];

        if (is_pmm (s)) {
            if (print_pmm (data, session, s, fp, err) < 0)
                return -1;
            continue;
        }
        print_run (s, fp);
        fprintf (fp, " %9zu\n", s->npairs);
    }
    return fflush (fp) == EOF ? error_errno (err, "standard output") : 0;
}

static struct exchange_program program_of (struct tests *x)
{
    return (struct exchange_program){
        .name = "pmm-probe",
        .options = tests_options,
        .data = x,
        .plan = plan_pmm,
        .after = print_beside,
    };
}

bool tests_named (const char *name)
{
    struct exchange_program program = program_of (NULL);

    return exchange_test_find (&program, name) != NULL;
}

/*
 * One process of a test
 */

static int read_site (struct tests *x, struct error *err)
{
    if (site_read (&x->site, x->conf, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < x->set.n; i++)
        if (conf_set_word (site_options, &x->site, x->set.v[i], err) < 0)
            return -1;
    if (x->timeout_s < 1)
        return error_input (err, "--timeout: at least 1 s");
    return site_check (&x->site, err);
}

/* Report the ranks that are not members and so not in the test. Return how
 * many.
 */
static size_t say_missing (const struct roster *r)
{
    size_t missing = 0;

    for (size_t i = 0; i < r->nranks; i++) {
        if (r->rank[i].member != ROSTER_NONE)
            continue;
        missing++;
        step_say (r->rank[i].host, r->rank[i].why);
    }
    return missing;
}

static int run_group (struct tests *x, const struct exchange_test *test,
                      const struct exchange_args *args, struct error *err)
{
    struct exchange_program program = program_of (x);
    struct step *step = &x->step;
    const struct roster *r = step->roster;
    struct comm comm = comm_group_table (step->transport->name);
    struct comm_group *c;
    int rc;

    x->host = xcalloc (r->nmembers, sizeof (*x->host));
    for (size_t i = 0; i < r->nmembers; i++)
        x->host[i] = r->rank[r->member[i]].host;
    step->group->deadline = group_now (step->group) + watchdog_left_ns ();
    c = comm_group_open (step->group, x->host);
    rc = exchange_run (&program, test, args, &comm, c, err);
    comm_group_close (c);
    return rc;
}

/* Return 0, ERROR_WORLD if something is missing, or -1 with err. */
static int run (struct tests *x, const struct exchange_test *test,
                const struct exchange_args *args, struct error *err)
{
    struct step *step = &x->step;
    size_t missing = 0;
    int rc;

    if (step_join (step, err) < 0 || step_meet (step, err) < 0)
        return -1;
    if (step->rank == step_leader (step))
        missing = say_missing (step->roster);
    if (step->roster->nmembers < 2)
        return error_world (err, "there are no two nodes to measure between");
    if (step_form_group (step, err) < 0)
        return -1;
    if (!step->group)
        return 0;
    rc = run_group (x, test, args, err);
    return rc == 0 && missing > 0 ? ERROR_WORLD : rc;
}

/* As in a check, a process that does not lead must not end the step. */
static int finish (const struct tests *x, int rc, const struct error *err)
{
    const struct step *step = &x->step;
    bool leads = !step->roster || step->rank == step_leader (step);

    if (rc < 0 && (leads || err->fault == ERROR_WORLD))
        step_say (step->host, err->text);
    return !leads ? 0 : rc < 0 ? (int)err->fault : rc;
}

int tests_main (int argc, char *argv[])
{
    static struct tests x = { .coord = COORD_AUTO, .timeout_s = TIMEOUT_S };
    struct exchange_program program = program_of (&x);
    const struct exchange_test *test = exchange_test_find (&program, argv[0]);
    struct exchange_args args;
    struct error err = { .fault = ERROR_WORLD };
    int rc = exchange_parse (&program, argc, argv, &args, &err);

    if (rc == OPTIONS_HELP) {
        exchange_help (&program, test, stdout);
        rc = 0;
    }
    else if (rc == 0 && (rc = read_site (&x, &err)) == 0) {
        struct watchdog watchdog = { .timeout_ms = INT64_C (1000) * x.timeout_s,
                                     .status = ERROR_WORLD,
                                     .nonce = "" };

        x.step = (struct step){ .site = &x.site, .coordination = x.coord,
                                .pads = true };
        watchdog_start (&watchdog);
        rc = run (&x, test, &args, &err);
    }
    rc = finish (&x, rc, &err);
    mapped_destroy (x.mapped);
    free (x.host);
    step_clear (&x.step);
    args_clear (&args);
    free (x.set.v);
    site_clear (&x.site);
    return rc;
}
