/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/tests.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/series/compare.h"
#include "probe/exchange/comm_group.h"
#include "probe/exchange/program.h"
#include "probe/mapped.h"
#include "probe/step.h"
#include "util/conf.h"

enum { TIMEOUT_S = 3600 };

struct tests {
    struct site site;
    const char *conf, *coord;
    struct strings set;
    int timeout_s;
    struct step step;
    const char **host; /* [member] borrowed */
    struct mapped *mapped;
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
    x->mapped = mapped_create (x->step.roster, x->step.fabric,
                               x->site.node_map, err);
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

/* What PMM tells of all pairs beside what others measured. */
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
 * The watchdog: whatever hangs ends in time, and with a word
 */

static char alarm_word[256];

static void on_alarm (int signum)
{
    (void)signum;
    if (write (STDERR_FILENO, alarm_word, strlen (alarm_word)) < 0)
        _exit (ERROR_WORLD);
    _exit (ERROR_WORLD);
}

static void phase (void *arg, const char *host, const char *what)
{
    const struct tests *x = arg;
    sigset_t mask;
    sigset_t old;

    sigemptyset (&mask);
    sigaddset (&mask, SIGALRM);
    sigprocmask (SIG_BLOCK, &mask, &old);
    snprintf (alarm_word, sizeof (alarm_word),
              "pmm: %s%stimed out after %d s while %s\n", host,
              *host ? ": " : "", x->timeout_s, what);
    sigprocmask (SIG_SETMASK, &old, NULL);
}

static void start_watchdog (int timeout_s)
{
    struct sigaction sa = { .sa_handler = on_alarm };

    sigaction (SIGALRM, &sa, NULL);
    alarm ((unsigned int)timeout_s);
    signal (SIGPIPE, SIG_IGN);
}

/*
 * A process's way through a test
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

/* Who is no member is not in the test. Return how many. */
static size_t say_missing (const struct roster *r)
{
    size_t missing = 0;

    for (size_t i = 0; i < r->nranks; i++) {
        if (r->rank[i].member != ROSTER_NONE)
            continue;
        missing++;
        fprintf (stderr, "pmm: %s%s%s\n", r->rank[i].host,
                 *r->rank[i].host ? ": " : "", r->rank[i].why);
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

    if (!(x->host = calloc (r->nmembers + 1, sizeof (*x->host))))
        return error_nomem (err);
    for (size_t i = 0; i < r->nmembers; i++)
        x->host[i] = r->rank[r->member[i]].host;
    /* a tenth less than the watchdog has */
    group_set_deadline (step->group, group_now (step->group)
                                         + INT64_C (900000000) * x->timeout_s);
    c = comm_group_open (step->group, x->host);
    rc = exchange_run (&program, test, args, &comm, c, err);
    comm_group_close (c);
    return rc;
}

/* Return 0, ERROR_WORLD where something is missing, or -1 with err. */
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

/* As in a check, who does not lead is not to end the step. */
static int finish (const struct tests *x, int rc, const struct error *err)
{
    const struct step *step = &x->step;
    bool leads = !step->roster || step->rank == step_leader (step);

    if (rc < 0 && (leads || err->fault == ERROR_WORLD))
        fprintf (stderr, "pmm: %s%s%s\n", step->host,
                 *step->host ? ": " : "", err->text);
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
        x.step = (struct step){ .site = &x.site, .coordination = x.coord,
                                .pads = true, .phase = phase, .arg = &x };
        start_watchdog (x.timeout_s);
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
