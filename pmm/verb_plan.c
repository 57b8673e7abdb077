/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm plan: the fewest probes that resolve a job's links, or some of its links;
 * or hosts that resolve suspects; or check a plan.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "compare/pattern/pattern.h"
#include "compare/throughput/flows.h"
#include "core/plan/bound.h"
#include "core/plan/paper.h"
#include "core/plan/plan.h"
#include "core/plan/select.h"
#include "core/plan/separate.h"
#include "core/solve/solve.h"
#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/sort.h"

enum {
    EXTRA_ROUNDS_MAX = 1000,
    TIMES_MAX = 100,
};

/* A planning method. Methods other than ours make no redundant rounds. A
 * pattern's name is a method, too.
 */
static const struct plan_verb_method {
    const char *name;
    struct plan *(*make) (struct pathset *ps, const struct plan_options *opts,
                          struct error *err);
    int extra_rounds; /* default */
    int extra_rounds_max;
} methods[] = {
    { "pmm", plan_make, 2, EXTRA_ROUNDS_MAX },
    { "paper", paper_make, 0, 0 },
    { "paper-first", paper_make_first, 0, 0 },
};

/* The method of all patterns, without redundant rounds. */
static const struct plan_verb_method schedule = { "schedule", NULL, 0, 0 };

/* A redundant round fills each link once more. */
static const struct plan_verb_method throughput
    = { "throughput", NULL, 1, TIMES_MAX };

static const struct plan_verb_method *find_method (const char *name)
{
    for (size_t i = 0; i < sizeof (methods) / sizeof (methods[0]); i++)
        if (strcmp (name, methods[i].name) == 0)
            return &methods[i];
    if (strcmp (name, throughput.name) == 0)
        return &throughput;
    return pattern_find (name) >= 0 ? &schedule : NULL;
}

static struct plan_words {
    const char *method, *check;
    const char *hosts;   /* LIST or @FILE, as links; NULL: all */
    const char *links;   /* determine these, */
    const char *at;      /* ... or those of a switch: GUID or name */
    const char *suspects, *idle;
    int extra_rounds;
    double budget;
    uint64_t seed;
    bool throughput, base_lids, shuffle, verbose;
} given = { .extra_rounds = -1, .seed = 1 };

#define FIELD(name) offsetof (struct plan_words, name)
static const struct opt options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "the job's hosts, node[01-16], or @FILE (default: all)" },
    { "base-lids", 0, NULL, opt_true, FIELD (base_lids),
      "use no other LIDs than the ports' first" },
    { "links", 0, "LIST", opt_string, FIELD (links),
      "determine these links only, NAME/PORT or @FILE" },
    { "switch", 0, "S", opt_string, FIELD (at),
      "determine the links of this switch, a GUID or name" },
    { "separate", 0, "LIST", opt_string, FIELD (suspects),
      "no plan, but which hosts resolve these links, or @FILE" },
    { "idle", 0, "LIST", opt_string, FIELD (idle),
      "with --separate: hosts to choose from, or @FILE" },
    { "method", 0, "M", opt_string, FIELD (method),
      "pmm, or to compare with: paper, paper-first, a pattern (default: pmm)" },
    { "throughput", 0, NULL, opt_true, FIELD (throughput),
      "flows that fill links, to see what they carry" },
    { "shuffle", 0, NULL, opt_true, FIELD (shuffle),
      "hosts and steps of a pattern in an order by the seed" },
    { "extra-rounds", 0, "N", opt_int, FIELD (extra_rounds),
      "redundant rounds: 2 for all links with pmm, else 0; with"
      " --throughput, how often more links are filled (default: 1)" },
    { "budget", 0, "S", opt_double, FIELD (budget),
      "seconds, about, to look for fewer rounds (default: what pays)" },
    { "seed", 0, "N", opt_u64, FIELD (seed), "of the choices made (default: 1)" },
    { "check", 0, "PLAN", opt_string, FIELD (check),
      "plan nothing, check this plan" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "say in two lines what the plan is, and the bound" },
    { 0 },
};

/* Options without an effect are an error. */
static int check (const struct inputs *in, struct error *err)
{
    bool part = given.links || given.at;
    const struct plan_verb_method *method;

    if (given.throughput && given.method)
        return error_input (err, "--throughput and --method go one at a time");
    if (!given.method)
        given.method = given.throughput ? throughput.name : "pmm";
    method = find_method (given.method);
    if (!method)
        return error_input (err, "--method: %s is not known", given.method);
    if (given.extra_rounds > method->extra_rounds_max)
        return error_input (err, "--extra-rounds: more than %d",
                            method->extra_rounds_max);
    if (given.shuffle && method != &schedule)
        return error_input (err, "--shuffle goes with the method of a"
                            " pattern");
    if (given.budget > PLAN_BUDGET_MAX)
        return error_input (err, "--budget: more than %d", PLAN_BUDGET_MAX);
    if (given.check && (given.hosts || in->output))
        return error_input (err, "--check goes with neither --hosts nor -o");
    if (!!given.links + !!given.at + !!given.suspects + !!given.check > 1)
        return error_input (err, "--links, --switch, --separate and --check"
                            " go one at a time");
    if (given.suspects && !given.idle)
        return error_input (err, "--separate needs --idle HOSTS");
    if (given.idle && !given.suspects)
        return error_input (err, "--idle goes with --separate");
    if ((part || given.suspects) && method != &methods[0]
        && (given.suspects || method != &throughput))
        return error_input (err, "--method goes with plans for all links");
    return 0;
}

/*
 * Parts of a fabric
 */

struct link_list {
    uint32_t *v;
    size_t n;
};

static void add_link (struct link_list *l, uint32_t link)
{
    l->v = xgrow (l->v, l->n, sizeof (*l->v));
    l->v[l->n++] = link;
}

/* Read links separated by commas or lines, into an ascending list without
 * duplicates. The name of a switch may contain blanks.
 */
static int read_links (struct link_list *l, const struct fabric *f,
                       const char *option, const char *list,
                       struct error *err)
{
    char *text = inputs_text (list, err);
    char *save = NULL;
    size_t keep = 0;
    int rc = text ? 0 : -1;

    for (char *word = rc < 0 ? NULL : strtok_r (text, ",\n", &save);
         word && rc == 0; word = strtok_r (NULL, ",\n", &save)) {
        size_t len;
        uint32_t link;

        word += strspn (word, " \t\r");
        len = strlen (word);
        while (len > 0 && strchr (" \t\r", word[len - 1]))
            word[--len] = '\0';
        if (len == 0)
            continue;
        link = fabric_find_link (f, word);
        if (link == FABRIC_NONE)
            rc = error_input (err, "no link %.80s in the fabric", word);
        else
            add_link (l, link);
    }
    free (text);
    if (rc == 0 && l->n == 0)
        rc = error_input (err, "no links");
    if (rc < 0)
        return error_prefix (err, "--%s", option);
    qsort (l->v, l->n, sizeof (*l->v), compare_u32);
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || l->v[i] != l->v[keep - 1])
            l->v[keep++] = l->v[i];
    l->n = keep;
    return 0;
}

/* The requested links, or those of a switch, ascending; none if all are. */
static int find_links (const struct fabric *f, struct link_list *l,
                       struct error *err)
{
    const struct network *net = fabric_network (f);
    uint32_t at;

    if (given.links)
        return read_links (l, f, "links", given.links, err);
    if (!given.at)
        return 0;
    if ((at = fabric_find_switch (f, given.at)) == FABRIC_NONE)
        return error_input (err, "--switch: no switch %.80s in the fabric,"
                            " or more than one", given.at);
    for (size_t i = 0; i < net->nlinks; i++)
        if (net->link[i].end[0] == at || net->link[i].end[1] == at)
            add_link (l, i);
    return l->n > 0 ? 0 : error_input (err, "--switch: %.80s has no cables",
                                       given.at);
}

static bool same_combination (const struct plan_target *x,
                              const struct plan_target *y)
{
    bool same = x->n == y->n;

    for (size_t k = 0; k < x->n && same; k++)
        same = x->member[k].link == y->member[k].link
               && x->member[k].p == y->member[k].p
               && x->member[k].q == y->member[k].q;
    return same;
}

/* Report targets that are not determined individually, once for those with the
 * same combination.
 */
static void say_targets (const struct plan *plan, const struct network *net)
{
    size_t n;
    const struct plan_target *t = plan_targets (plan, &n);

    for (size_t i = 0; i < n; i++) {
        size_t first = 0;

        while (!same_combination (&t[first], &t[i]))
            first++;
        if (t[i].n == 1 || first < i)
            continue;
        fprintf (stderr, "pmm plan: not determined by these hosts:");
        for (size_t k = i; k < n; k++)
            if (same_combination (&t[k], &t[i]))
                fprintf (stderr, " %s", net->link[t[k].link].id);
        fprintf (stderr, "%s", t[i].n > 1 ? "; but" : "");
        for (size_t k = 0; k < t[i].n; k++) {
            const struct plan_member *m = &t[i].member[k];
            bool one = llabs (m->p) == 1 && m->q == 1;

            fprintf (stderr, "%s", m->p < 0 ? " - " : k == 0 ? " " : " + ");
            if (!one)
                fprintf (stderr, "%jd", (intmax_t)llabs (m->p));
            if (m->q != 1)
                fprintf (stderr, "/%jd", (intmax_t)m->q);
            fprintf (stderr, "%s%s", one ? "" : " ", net->link[m->link].id);
        }
        fprintf (stderr, "%s\n", t[i].n > 1 ? " is" : "");
    }
}

/*
 * Suspects
 */

/* The endpoints of the job, followed by the idle ones, in one set. */
static struct pathset *with_idle (const struct fabric *f, uint8_t **idle,
                                  struct error *err)
{
    struct pathset *more = inputs_hosts (f, "idle", given.idle, false, err);
    struct pathset *job = !more || !given.hosts
        ? NULL : inputs_hosts (f, "hosts", given.hosts, false, err);
    size_t njob = job ? pathset_size (job) : 0;
    size_t n = njob + (more ? pathset_size (more) : 0);
    struct endpoint *e = xcalloc (n, sizeof (*e));
    struct pathset *both = NULL;

    *idle = xcalloc (n, 1);
    if (more && (job || !given.hosts)) {
        for (size_t i = 0; i < n; i++) {
            e[i] = i < njob ? *pathset_endpoint (job, i)
                            : *pathset_endpoint (more, i - njob);
            (*idle)[i] = i >= njob;
        }
        both = pathset_create (fabric_network (f), e, n, err);
        if (!both)
            error_prefix (err, "--idle");
    }
    pathset_destroy (more);
    pathset_destroy (job);
    free (e);
    return both;
}

static const char *name (const struct pathset *ps, uint32_t i)
{
    return pathset_endpoint (ps, i)->name;
}

static json_t *separation_json (const struct network *net,
                                const struct pathset *ps,
                                const struct link_list *suspects,
                                const struct separation *s)
{
    json_t *hosts = json_array (), *probes = json_array ();
    json_t *sets = json_array ();

    for (size_t i = 0; i < s->nextra; i++)
        json_add (hosts, json_string (name (ps, s->extra[i])));
    for (size_t i = 0; i < s->nprobes; i++)
        json_add (probes, json_pack ("{s:s, s:s}", "a",
                                     name (ps, s->probe[i].a), "b",
                                     name (ps, s->probe[i].b)));
    for (size_t set = 0; set < s->nsets; set++)
        json_add (sets, json_array ());
    for (size_t i = 0; i < suspects->n; i++)
        json_add (json_array_get (sets, s->set_of[i]),
                  json_string (net->link[suspects->v[i]].id));
    return json_pack ("{s:I, s:o, s:o, s:o}", "sets_before",
                      (json_int_t)s->nsets_before, "extra_hosts", hosts,
                      "probes", probes, "sets", sets);
}

static void separation_text (const struct network *net,
                             const struct pathset *ps,
                             const struct link_list *suspects,
                             const struct separation *s, FILE *fp)
{
    fprintf (fp, "%s: told apart into %zu of them, %zu without more"
             " hosts\n", COUNTED (suspects->n, "suspect"), s->nsets,
             s->nsets_before);
    for (size_t i = 0; i < s->nextra; i++)
        fprintf (fp, "add %s\n", name (ps, s->extra[i]));
    for (size_t i = 0; i < s->nprobes; i++)
        fprintf (fp, "probe %s %s\n", name (ps, s->probe[i].a),
                 name (ps, s->probe[i].b));
    for (size_t set = 0; set < s->nsets; set++) {
        size_t n = 0;

        for (size_t i = 0; i < suspects->n; i++)
            n += s->set_of[i] == set;
        if (n < 2)
            continue;
        fprintf (fp, "together, whichever of these hosts is added:");
        for (size_t i = 0; i < suspects->n; i++)
            if (s->set_of[i] == set)
                fprintf (fp, " %s", net->link[suspects->v[i]].id);
        fprintf (fp, "\n");
    }
}

/* Name the idle hosts that resolve the suspects. */
static int separate_suspects (struct inputs *in, struct error *err)
{
    const struct network *net = fabric_network (in->fabric);
    struct link_list suspects = { 0 };
    struct separation s = { 0 };
    uint8_t *idle = NULL;
    FILE *fp;
    int rc = -1;

    if (read_links (&suspects, in->fabric, "separate", given.suspects, err)
            == 0
        && (in->ps = with_idle (in->fabric, &idle, err))
        && separate (in->ps, idle, suspects.v, suspects.n, &s, err) == 0
        && (fp = inputs_output (in, err))) {
        rc = 0;
        if (in->json)
            rc = inputs_put_json (in, "separation", net->hash,
                                  separation_json (net, in->ps, &suspects,
                                                   &s), err);
        else
            separation_text (net, in->ps, &suspects, &s, fp);
    }
    separation_clear (&s);
    free (idle);
    free (suspects.v);
    return rc;
}

/*
 * Plans
 */

/* Make in->plan and in->ps. Programs that exchange messages use the base LIDs.
 */
static int make (struct inputs *in, struct plan_file_extra *extra,
                 struct error *err)
{
    const struct plan_verb_method *method = find_method (given.method);
    bool part = given.links || given.at, flows = method == &throughput;
    const struct plan_options opts = {
        .extra_rounds = given.extra_rounds >= 0 ? given.extra_rounds
                        : part && !flows        ? 0 : method->extra_rounds,
        .seed = given.seed,
        .budget = given.budget,
    };
    int64_t start = clock_ns ();
    struct link_list links = { 0 };
    struct pathset *ps = NULL;
    struct rusage usage;

    if (find_links (in->fabric, &links, err) == 0)
        ps = inputs_hosts (in->fabric, "hosts", given.hosts,
                           !given.base_lids && !part && !flows, err);
    if (ps && part && !flows) {
        in->plan = select_links (ps, links.v, links.n, &opts, &in->ps, err);
        pathset_destroy (ps);
        if (in->plan)
            say_targets (in->plan, fabric_network (in->fabric));
    }
    else if ((in->ps = ps) && flows) {
        struct flows_options fill = {
            .times = 1 + opts.extra_rounds,
            .seed = given.seed,
            .link = links.v,
            .nlinks = links.n,
        };

        in->plan = flows_make (ps, &fill, err);
    }
    else if (ps && method == &schedule) {
        struct pattern_options order = { given.seed, given.shuffle };

        in->plan = schedule_make (ps, pattern_find (given.method), &order,
                                  err);
    }
    else if (ps)
        in->plan = method->make (ps, &opts, err);
    free (links.v);
    if (!in->plan)
        return -1;
    extra->seconds = 1e-9 * (double)(clock_ns () - start);
    if (getrusage (RUSAGE_SELF, &usage) == 0)
        extra->peak_rss_mb = usage.ru_maxrss / 1024.0;
    return flows ? 0 : solve_predict (in->ps, in->plan, &extra->stderr_rms,
                                      &extra->stderr_max, err);
}

/* Compute the lower bound of rounds, with less effort if it will not be shown.
 * There is none for targets only, or if the plan is not maximal.
 */
static int find_bound (struct inputs *in, struct bound *bound,
                       struct error *err)
{
    struct plan *plan = in->plan;
    size_t ntargets;

    plan_targets (plan, &ntargets);
    if (ntargets > 0 || !plan_maximal (plan))
        return 0;
    if (bound_find (in->ps, plan_rank (plan),
                    given.verbose ? BOUND_EFFORT : BOUND_QUICK, bound, err)
        < 0)
        return -1;
    if (bound->rounds > plan_bound (plan))
        plan_set_bound (plan, bound->rounds);
    return 0;
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

static void summary (const struct inputs *in,
                     const struct plan_file_extra *extra,
                     const struct bound *bound)
{
    const struct plan *plan = in->plan;
    size_t n = pathset_ports (in->ps);

    if (n < 2) {
        fprintf (stderr, "pmm plan: %s, nothing to measure\n",
                 COUNTED (n, "endpoint"));
        return;
    }
    if (pathset_size (in->ps) > n)
        fprintf (stderr, "pmm plan: by %zu LIDs\n", pathset_size (in->ps));
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
    if (bound->rounds > 0) {
        const char *set = bound_set_name (bound, in->ps);
        bool ends = bound->kind == BOUND_LEAF || bound->kind == BOUND_POD;

        fprintf (stderr, "pmm plan: %.2f times the bound of %zu (%s%s%s: %zu "
                         "%s, %zu to a round; %zu of %zu sets%s)\n",
                 (double)plan_basis_rounds (plan) / bound->rounds,
                 bound->rounds, bound_kind_name (bound->kind),
                 *set ? " " : "", set, bound->need,
                 ends ? "ends of probes" : "probes", bound->width,
                 bound->looked, bound->sets,
                 bound->best ? ", none better" : "");
    }
}

static int run (struct inputs *in, struct error *err)
{
    struct plan_file_extra extra = { 0 };
    struct bound bound = { 0 };
    FILE *fp;

    if (given.suspects)
        return separate_suspects (in, err);
    if (given.check) {
        if (inputs_load (in, in->fabric_path, given.check, NULL, err) < 0)
            return -1;
        if ((plan_rules (plan_method (in->plan))->flows
                 ? flows_check : plan_check) (in->ps, in->plan, err) < 0)
            return error_prefix (err, "%s", given.check);
        if (given.verbose && find_bound (in, &bound, err) < 0)
            return -1;
    }
    else if (make (in, &extra, err) < 0 || find_bound (in, &bound, err) < 0
             || !(fp = inputs_output (in, err))
             || plan_write (in->plan, in->ps, &extra, fp, err) < 0)
        return -1;
    if (given.verbose)
        summary (in, &extra, &bound);
    return EXIT_OK;
}

const struct verb verb_plan = {
    .name = "plan", .help = "the fewest probes that resolve a job's links",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .options = options, .given = &given, .check = check, .run = run,
};
