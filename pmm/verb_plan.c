/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm plan: the fewest probes that resolve a job's links, or some links; who
 * tells suspects apart; or check a plan.
 */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/check/bound.h"
#include "compare/pattern/schedule.h"
#include "core/plan/paper.h"
#include "core/plan/plan.h"
#include "core/solve/solve.h"
#include "compare/throughput/flows.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/part.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/text.h"

enum {
    EXTRA_ROUNDS_MAX = 1000,
    TIMES_MAX = 100,
};

/* How to plan. A method that is not ours makes no redundant rounds. Patterns
 * are methods, too, by the names that they have.
 */
static const struct method {
    const char *name;
    struct plan *(*make) (struct pathset *ps, const struct plan_options *opts,
                          struct error *err);
    int extra_rounds; /* by default */
    int extra_rounds_max;
} methods[] = {
    { "pmm", plan_make, 2, EXTRA_ROUNDS_MAX },
    { "paper", paper_make, 0, 0 },
    { "paper-first", paper_make_first, 0, 0 },
};

/* How a pattern is a method: of no redundant rounds. */
static const struct method schedule = { "schedule", NULL, 0, 0 };

/* A redundant round fills each link once more. */
static const struct method throughput = { "throughput", NULL, 1, TIMES_MAX };

static const struct method *find_method (const char *name)
{
    for (size_t i = 0; i < sizeof (methods) / sizeof (methods[0]); i++)
        if (strcmp (name, methods[i].name) == 0)
            return &methods[i];
    if (strcmp (name, throughput.name) == 0)
        return &throughput;
    return pattern_find (name) >= 0 ? &schedule : NULL;
}

struct options {
    const char *fabric, *method, *check;
    struct part part; /* also hosts and output */
    int extra_rounds;
    double budget;
    uint64_t seed;
    bool throughput, base_lids, shuffle, verbose;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "hosts", 0, "LIST", opt_string, FIELD (part.hosts),
      "the job's hosts, node[01-16], or @FILE: all" },
    { "base-lids", 0, NULL, opt_true, FIELD (base_lids),
      "use no other LIDs than the ports' first" },
    { "links", 0, "LIST", opt_string, FIELD (part.links),
      "determine these links only, NAME/PORT or @FILE" },
    { "switch", 0, "S", opt_string, FIELD (part.at),
      "determine the links of this switch, a GUID or name" },
    { "separate", 0, "LIST", opt_string, FIELD (part.suspects),
      "no plan: who tells these links apart, or @FILE" },
    { "idle", 0, "LIST", opt_string, FIELD (part.idle),
      "with --separate: hosts to choose from, or @FILE" },
    { "json", 0, NULL, opt_true, FIELD (part.json),
      "the answer of --separate as JSON; a plan always is" },
    { "method", 0, "M", opt_string, FIELD (method),
      "pmm, or to compare with: paper, paper-first, a pattern: pmm" },
    { "throughput", 0, NULL, opt_true, FIELD (throughput),
      "flows that fill links, to see what they carry" },
    { "shuffle", 0, NULL, opt_true, FIELD (shuffle),
      "hosts and steps of a pattern in an order by the seed" },
    { "extra-rounds", 0, "N", opt_int, FIELD (extra_rounds),
      "redundant rounds: 2 for all links with pmm, else 0; with"
      " --throughput, how often more links are filled: 1" },
    { "budget", 0, "S", opt_double, FIELD (budget),
      "seconds, about, to look for fewer rounds: what pays" },
    { "seed", 0, "N", opt_u64, FIELD (seed), "of the choices made: 1" },
    { "check", 0, "PLAN", opt_string, FIELD (check),
      "plan nothing, check this plan" },
    { "output", 'o', "FILE", opt_string, FIELD (part.output),
      "write here, not to standard output" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "say in two lines what the plan is, and the bound" },
    { 0 },
};
#undef FIELD

static bool is_part (const struct options *o)
{
    return o->part.links || o->part.at;
}

/* What goes with what, of the options for parts of a fabric. */
static int check_part (const struct options *o, struct error *err)
{
    const struct part *p = &o->part;

    if ((p->links != NULL) + (p->at != NULL) + (p->suspects != NULL)
        + (o->check != NULL) > 1)
        return error_input (err, "--links, --switch, --separate and --check"
                            " go one at a time");
    if (p->suspects && !p->idle)
        return error_input (err, "--separate needs --idle HOSTS");
    if (p->idle && !p->suspects)
        return error_input (err, "--idle goes with --separate");
    if ((is_part (o) || p->suspects) && strcmp (o->method, "pmm") != 0
        && (p->suspects || find_method (o->method) != &throughput))
        return error_input (err, "--method goes with plans for all links");
    return 0;
}

static int check_options (struct options *o, struct error *err)
{
    const struct method *method;

    if (!o->fabric)
        return error_input (err, "-f FABRIC is missing");
    if (o->throughput && o->method)
        return error_input (err, "--throughput and --method go one at a time");
    if (!o->method)
        o->method = o->throughput ? throughput.name : "pmm";
    method = find_method (o->method);
    if (!method)
        return error_input (err, "--method: %s is not known", o->method);
    if (o->extra_rounds > method->extra_rounds_max)
        return error_input (err, "--extra-rounds: more than %d",
                            method->extra_rounds_max);
    if (o->shuffle && method != &schedule)
        return error_input (err, "--shuffle goes with the method of a"
                            " pattern");
    if (o->budget > PLAN_BUDGET_MAX)
        return error_input (err, "--budget: more than %d", PLAN_BUDGET_MAX);
    if (o->check && (o->part.hosts || o->part.output))
        return error_input (err, "--check goes with neither --hosts nor -o");
    return check_part (o, err);
}

static void say_bound (const struct plan *plan, const struct pathset *ps,
                       const struct bound *bound)
{
    const char *set = bound_set_name (bound, ps);

    fprintf (stderr, "pmm plan: %.2f times the bound of %zu (%s%s%s: ",
             (double)plan_basis_rounds (plan) / bound->rounds, bound->rounds,
             bound_kind_name (bound->kind), *set ? " " : "", set);
    fprintf (stderr, "%zu %s, %zu to a round", bound->need,
             bound->kind == BOUND_LEAF || bound->kind == BOUND_POD
                 ? "ends of probes" : "probes",
             bound->width);
    fprintf (stderr, "; %zu of %zu sets%s)\n", bound->looked, bound->sets,
             bound->best ? ", none better" : "");
}

static void say_filled (const struct plan *plan, size_t endpoints)
{
    size_t n, filled = 0;
    const struct plan_target *t = plan_targets (plan, &n);

    for (size_t i = 0; i < n; i++)
        filled += t[i].n > 0;
    fprintf (stderr, "pmm plan: %s: %s in %s to fill %zu of %s\n",
             COUNTED (endpoints, "endpoint"),
             COUNTED (plan_probes (plan), "flow"),
             COUNTED (plan_rounds (plan), "round"), filled,
             COUNTED (n, "link"));
}

static void summary (const struct plan *plan, const struct pathset *ps,
                     const struct plan_file_extra *extra,
                     const struct bound *bound)
{
    size_t n = pathset_ports (ps);

    if (n < 2) {
        fprintf (stderr, "pmm plan: %s, nothing to measure\n",
                 COUNTED (n, "endpoint"));
        return;
    }
    if (pathset_size (ps) > n)
        fprintf (stderr, "pmm plan: by %zu LIDs\n", pathset_size (ps));
    if (plan_rules (plan_method (plan))->flows) {
        say_filled (plan, n);
        return;
    }
    fprintf (stderr,
             "pmm plan: %s, %s, rank %zu: %s in %zu + %zu rounds\n",
             COUNTED (n, "endpoint"), COUNTED (plan_links (plan), "link"),
             plan_rank (plan), COUNTED (plan_probes (plan), "probe"),
             plan_basis_rounds (plan),
             plan_rounds (plan) - plan_basis_rounds (plan));
    if (!plan_maximal (plan))
        fprintf (stderr, "pmm plan: not all that the hosts could tell%s\n",
                 plan_rules (plan_method (plan))->schedule
                     ? "" : ", which takes more than --budget to find; all"
                            " links are probed");
    if (extra->stderr_rms > 0)
        fprintf (stderr,
                 "pmm plan: predicted standard errors of links and groups:"
                 " rms %.2f, max %.2f of an RTT's\n",
                 extra->stderr_rms, extra->stderr_max);
    if (bound->rounds > 0)
        say_bound (plan, ps, bound);
}

/* Bound the rounds of the plan, with less effort where nobody will ask. */
static int find_bound (struct plan *plan, struct pathset *ps, bool thorough,
                       struct bound *bound, struct error *err)
{
    size_t ntargets;

    plan_targets (plan, &ntargets);
    /* it determines these, or not all that can be */
    if (ntargets > 0 || !plan_maximal (plan))
        return 0;
    if (bound_find (ps, plan_rank (plan),
                    thorough ? BOUND_EFFORT : BOUND_QUICK, bound, err) < 0)
        return -1;
    if (bound->rounds > plan_bound (plan))
        plan_set_bound (plan, bound->rounds);
    return 0;
}

static struct plan *read_checked (const char *path, struct fabric *f,
                                  struct pathset **ps, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct plan *plan;
    int rc;

    if (!fp)
        return NULL;
    plan = plan_read (fp, path, f->hash, fabric_resolve, f, ps, err);
    file_close_input (fp);
    if (!plan)
        return NULL;
    rc = plan_rules (plan_method (plan))->flows ? flows_check (*ps, plan, err)
                                                : plan_check (*ps, plan, err);
    if (rc < 0) {
        error_prefix (err, "%s", path);
        plan_destroy (plan);
        return NULL;
    }
    return plan;
}

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static struct plan *make_for_all (const struct fabric *f,
                                  const struct options *o,
                                  const struct plan_options *opts,
                                  struct pathset **ps, struct error *err)
{
    const struct method *method = find_method (o->method);
    struct pattern_options order = { o->seed, o->shuffle };

    *ps = inputs_hosts (f, "hosts", o->part.hosts, !o->base_lids, err);
    if (!*ps)
        return NULL;
    if (method == &schedule)
        return schedule_make (*ps, pattern_find (o->method), &order, err);
    return method->make (*ps, opts, err);
}

static struct plan *make_flows (const struct fabric *f,
                                const struct options *o, int extra_rounds,
                                struct pathset **ps, struct error *err)
{
    struct flows_options opts = {
        .times = 1 + extra_rounds,
        .seed = o->seed,
    };
    uint32_t *link = NULL;
    struct plan *plan = NULL;

    if (is_part (o) && !(link = part_links (f, &o->part, &opts.nlinks, err)))
        return NULL;
    opts.link = link;
    /* those who exchange messages do so by the base LIDs */
    if ((*ps = inputs_hosts (f, "hosts", o->part.hosts, false, err)))
        plan = flows_make (*ps, &opts, err);
    free (link);
    return plan;
}

static struct plan *make (const struct fabric *f, const struct options *o,
                          struct pathset **ps, struct plan_file_extra *extra,
                          struct error *err)
{
    const struct method *method = find_method (o->method);
    bool flows = method == &throughput;
    int extra_rounds = is_part (o) && !flows ? 0 : method->extra_rounds;
    struct plan_options opts = {
        .extra_rounds = o->extra_rounds < 0 ? extra_rounds : o->extra_rounds,
        .seed = o->seed,
        .budget = o->budget,
    };
    double start = now ();
    struct plan *plan = flows ? make_flows (f, o, opts.extra_rounds, ps, err)
        : is_part (o) ? part_plan (f, &o->part, &opts, ps, err)
                      : make_for_all (f, o, &opts, ps, err);
    struct rusage usage;

    extra->seconds = now () - start;
    if (getrusage (RUSAGE_SELF, &usage) == 0)
        extra->peak_rss_mb = usage.ru_maxrss / 1024.0;
    if (plan && !flows
        && solve_predict (*ps, plan, &extra->stderr_rms, &extra->stderr_max,
                          err) < 0) {
        plan_destroy (plan);
        return NULL;
    }
    return plan;
}

static int save (const struct plan *plan, struct pathset *ps,
                 const struct plan_file_extra *extra, const char *path,
                 struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        plan_write (plan, ps, extra, file_stream (out), err),
                        err);
}

int verb_plan (int argc, char **argv)
{
    struct options o = { .extra_rounds = -1, .seed = 1 };
    struct plan_file_extra extra = { 0 };
    struct bound bound = { 0 };
    struct fabric *f = NULL;
    struct pathset *ps = NULL;
    struct plan *plan = NULL;
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (check_options (&o, &err) < 0 || !(f = fabric_load (o.fabric, &err)))
        goto error;
    if (o.check) {
        if (!(plan = read_checked (o.check, f, &ps, &err))
            || (o.verbose && find_bound (plan, ps, true, &bound, &err) < 0))
            goto error;
    }
    else if (o.part.suspects) {
        if (part_separate (f, &o.part, &err) < 0)
            goto error;
        goto done;
    }
    else if (!(plan = make (f, &o, &ps, &extra, &err))
             || find_bound (plan, ps, o.verbose, &bound, &err) < 0
             || save (plan, ps, &extra, o.part.output, &err) < 0)
        goto error;
    if (o.verbose)
        summary (plan, ps, &extra, &bound);
    goto done;
error:
    status = fail (argv[0], &err);
done:
    plan_destroy (plan);
    pathset_destroy (ps);
    fabric_destroy (f);
    return status;
}
