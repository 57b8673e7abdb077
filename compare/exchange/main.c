/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare-probe: the tests pairs, topology and noise, between the nodes of a
 * job step, over verbs or the emulator. With a snapshot, pattern pmm needs no
 * plan, and its predictions for all pairs are compared with the measurements of
 * other patterns in the same run.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/exchange/comm_group.h"
#include "compare/exchange/program.h"
#include "core/samples/samples.h"
#include "core/solve/solve.h"
#include "probe/identify.h"
#include "probe/step.h"
#include "util/alloc.h"

enum { TIMEOUT_S = 3600 };

struct tests {
    struct step step;
    int timeout_s;
    const char **host; /* [member] borrowed */

    /* The processes as ends of the fabric: of each, its first port with that
     * port's first LID.
     */
    struct pathset *ps; /* between their ends; NULL: not found yet */
    uint32_t *process;  /* [endpoint of ps] */
    uint32_t *end;      /* [process] */

    struct plan *plan;             /* to make */
    const struct series *measured; /* to predict other pairs from, ... */
    enum series_stat stat;         /* ... for one statistic */
    struct series *predicted;
};

static const struct opt tests_options[] = {
    { "timeout", 0, "SECONDS", opt_int, offsetof (struct tests, timeout_s),
      "give up after this long (default: 3600)" },
    { 0 },
};

/*
 * Processes in the fabric
 */

static int find_process_places (struct tests *x, struct error *err)
{
    const struct roster *r = x->step.roster;
    const char **name;
    struct identity id = { .n = 0 };
    int rc;

    if (x->ps)
        return 0;
    if (step_load (&x->step, err) < 0)
        return -1;
    name = xcalloc (r->nmembers, sizeof (*name));
    rc = identify (&id, r, x->step.fabric, x->step.site.node_map, NULL, err);
    for (size_t k = 0; k < id.n; k++) {
        uint32_t member = x->step.group->member_of[id.peer[k]];

        if (id.peer[k] == r->first[member] && id.lid[k] == 0)
            name[member] = id.name[k];
    }
    for (size_t m = 0; m < r->nmembers && rc == 0; m++) {
        const char *why = id.why[r->member[m]];

        if (!name[m])
            rc = error_world (err, "%s",
                              why ? why : r->rank[r->member[m]].host);
    }
    if (rc == 0
        && !(x->ps = fabric_pathset (x->step.fabric, name, r->nmembers, err)))
        rc = -1;
    for (uint32_t m = 0; m < r->nmembers && rc == 0; m++) {
        x->end[m] = (uint32_t)pathset_find (x->ps, name[m]);
        x->process[x->end[m]] = m;
    }
    identity_clear (&id);
    free (name);
    return rc;
}

/*
 * Pattern pmm
 */

/* Make a plan whose probes are between processes, not ends. */
static int make_tests_plan (void *arg, struct error *err)
{
    struct tests *x = arg;
    struct plan_options opts = {
        .extra_rounds = (unsigned int)x->step.site.extra_rounds,
        .at_once = true,
    };
    struct plan *made;

    if (find_process_places (x, err) < 0
        || !(made = plan_make (x->ps, &opts, err)))
        return -1;
    x->plan = plan_create (plan_method (made));
    for (size_t round = 0; round < plan_rounds (made); round++) {
        size_t n;
        const struct probe *probe = plan_round (made, round, &n);

        for (size_t i = 0; i < n; i++)
            plan_add (x->plan, round, x->process[probe[i].a],
                      x->process[probe[i].b]);
    }
    plan_destroy (made);
    return 0;
}

static struct plan *plan_pmm (void *data, char *fabric, struct error *err)
{
    struct tests *x = data;

    x->plan = NULL;
    if (group_meanwhile (x->step.group, make_tests_plan, x, err) == 0) {
        snprintf (fabric, PLAN_FABRIC, "%s", x->step.fabric->hash);
        return x->plan;
    }
    plan_destroy (x->plan);
    return NULL;
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

/* Add the predicted pairs of a length, in both directions, from the measured
 * ones.
 */
static int predict_length (struct tests *x, uint64_t length, struct error *err)
{
    struct solve_options opts = { .quantile = RTT_MIDDLE, .pairs = true };
    struct samples *samples = samples_create ();
    struct series_row pair = { .count = 1, .length = length };
    struct solution *s;
    int rc;

    for (size_t i = 0; i < x->measured->npairs; i++) {
        const struct series_row *p = &x->measured->row[i];
        struct sample sample = {
            .a = x->end[p->a < p->b ? p->a : p->b],
            .b = x->end[p->a < p->b ? p->b : p->a], .initiator = x->end[p->a],
            .sent = p->count, .lost = p->lost,
        };

        if (p->length != length)
            continue;
        for (int q = 0; q < RTT_COUNT; q++)
            sample.rtt_ns[q] = 2 * p->time_ns[quantile[q]];
        samples_add (samples, &sample);
    }
    for (int q = RTT_COUNT; q-- > 0;)
        if (quantile[q] == x->stat)
            opts.quantile = q;
    for (int i = 0; i < SERIES_STATS; i++)
        pair.time_ns[i] = NAN;
    s = solve (x->ps, samples, &opts, err);
    rc = s ? 0 : -1;
    for (size_t i = 0; rc == 0 && i < 2 * s->npairs; i++) {
        const struct pair_estimate *p = &s->pair[i / 2];

        pair.time_ns[x->stat] = p->rtt_ns / 2;
        pair.a = x->process[i % 2 ? p->b : p->a];
        pair.b = x->process[i % 2 ? p->a : p->b];
        rc = series_add (x->predicted, &pair, err);
    }
    solution_destroy (s);
    samples_destroy (samples);
    return rc;
}

/* Compute all pairs from a sorted series of the plan's pairs, link by link. */
static int predict (void *arg, struct error *err)
{
    struct tests *x = arg;
    const struct series *from = x->measured;
    int rc = find_process_places (x, err);

    x->predicted = xcheck (series_create (from->test));
    for (uint32_t i = 0; rc == 0 && i < from->nprocesses; i++)
        rc = series_add_process (x->predicted, from->process[i].label,
                                 from->process[i].host, err);
    for (size_t k = 0; rc == 0 && k < from->nlengths; k++)
        rc = predict_length (x, from->length[k], err);
    return rc == 0 ? series_sort (x->predicted, err) : rc;
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

/* Print PMM's predictions for all pairs, compared with other measurements. */
static int print_pmm (struct tests *x, const struct exchange_session *session,
                      const struct series *s, FILE *fp, struct error *err)
{
    int rc;

    x->measured = s;
    x->stat = session->args->stat;
    rc = group_meanwhile (x->step.group, predict, x, err);
    for (size_t i = 0; i < session->runs.n && rc == 0; i++) {
        const struct series *other = session->runs.run[i];
        struct series_comparison c;

        if (is_pmm (other) || strcmp (other->exchange, s->exchange) != 0
            || series_compare (&c, other, x->predicted, x->stat, err) < 0)
            continue;
        print_run (s, fp);
        fprintf (fp, " %9zu %9.1f %9.1f %9.1f %9.1f  of %s\n",
                 x->predicted->npairs, c.ns.mean, c.ns.absolute,
                 c.ns.quadratic, c.ns.max, other->pattern);
        comparison_clear (&c);
    }
    series_destroy (x->predicted);
    x->predicted = NULL;
    return rc;
}

static int print_tests_beside (void *data,
                               const struct exchange_session *session,
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

/*
 * One process of a test
 */

static struct tests tests = {
    .step = { .coordination = COORD_AUTO, .talks = true },
    .timeout_s = TIMEOUT_S,
};

static const struct opt_group groups[] = {
    { tests_options, &tests },
    { step_options, &tests.step },
    { 0 },
};

static const struct exchange_program program = {
    .name = "pmm-compare-probe",
    .launcher = "srun --mpi=pmix --ntasks-per-node=1", .options = groups,
    .data = &tests, .plan = plan_pmm, .after = print_tests_beside,
};

/* Return 0, ERROR_WORLD if something is missing, or -1 with err. */
static int run_probe_test (struct tests *x, const struct exchange_test *test,
                           const struct exchange_args *args, struct error *err)
{
    struct step *step = &x->step;
    const struct roster *r;
    struct party party = { .comm = &comm_group };
    bool missing = false;
    int rc;

    if (step_join (step, err) < 0 || step_meet (step, err) < 0)
        return -1;
    r = step->roster;
    for (size_t i = 0; i < r->nranks && step->rank == step_leader (step); i++)
        if (r->rank[i].member == ROSTER_NONE) {
            missing = true;
            step_say (r->rank[i].host, r->rank[i].why);
        }
    if (r->nmembers < 2)
        return error_world (err, "fewer than two nodes to measure");
    if (step_form_group (step, err) < 0)
        return -1;
    if (!step->group)
        return 0;
    x->process = xcalloc (r->nmembers, sizeof (*x->process));
    x->end = xcalloc (r->nmembers, sizeof (*x->end));
    x->host = xcalloc (r->nmembers, sizeof (*x->host));
    for (size_t i = 0; i < r->nmembers; i++)
        x->host[i] = r->rank[r->member[i]].host;
    party.transport = step->transport->name;
    party.c = comm_group_open (step->group, x->host);
    party.me = (uint32_t)step->group->me;
    party.n = (uint32_t)r->nmembers;
    party.label = party.host = x->host;
    rc = exchange_run (&program, test, args, &party, err);
    comm_group_close (party.c);
    return rc == 0 && missing ? ERROR_WORLD : rc;
}

static int read_tests_site (struct tests *x, struct error *err)
{
    if (step_read_site (&x->step, err) < 0)
        return -1;
    if (x->timeout_s < 1)
        return error_input (err, "--timeout: at least 1 s");
    return site_check (&x->step.site, err);
}

int main (int argc, char *argv[])
{
    struct tests *x = &tests;
    const struct exchange_test *test;
    struct exchange_args args;
    struct error err = { .fault = ERROR_WORLD };
    bool leads;
    int rc;

    signal (SIGXFSZ, SIG_IGN); /* a file that is too large is an error */
    if (argc < 2) {
        exchange_usage (&program, stderr);
        return ERROR_INPUT;
    }
    rc = exchange_begin (&program, argv, &test, &args, &err);
    if (rc == OPTIONS_HELP)
        rc = 0;
    else if (rc == 0 && (rc = read_tests_site (x, &err)) == 0) {
        watchdog.timeout_ms = INT64_C (1000) * x->timeout_s;
        watchdog.status = ERROR_WORLD;
        watchdog_start ();
        rc = run_probe_test (x, test, &args, &err);
    }
    /* as in a check, a process that does not lead must not end the step */
    leads = !x->step.roster || x->step.rank == step_leader (&x->step);
    if (rc < 0 && (leads || err.fault == ERROR_WORLD))
        step_say (x->step.host, err.text);
    rc = !leads ? 0 : rc < 0 ? (int)err.fault : rc;
    pathset_destroy (x->ps);
    free (x->process);
    free (x->end);
    free (x->host);
    step_clear (&x->step);
    args_clear (&args);
    return rc;
}
