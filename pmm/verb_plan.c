/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm plan: the fewest probes that resolve a job's links, or some of its links;
 * or hosts that resolve suspects; or check a plan.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#ifdef HAVE_COMPARISON
#include "compare/pattern/pattern.h"
#include "compare/throughput/flows.h"
#endif
#include "core/paths/multipath.h"
#include "core/plan/bound.h"
#include "core/plan/plan.h"
#include "core/plan/separate.h"
#include "core/solve/solve.h"
#include "ibquery/spread.h"
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

#ifdef HAVE_COMPARISON
/* The method of all patterns, without redundant rounds. */
static const struct plan_verb_method schedule = { "schedule", NULL, 0, 0 };
#endif

/* A redundant round fills each link once more. */
static const struct plan_verb_method throughput
    = { "throughput", NULL, 1, TIMES_MAX };

static const struct plan_verb_method *find_method (const char *name)
{
    for (size_t i = 0; i < sizeof (methods) / sizeof (methods[0]); i++)
        if (strcmp (name, methods[i].name) == 0)
            return &methods[i];
#ifdef HAVE_COMPARISON
    if (pattern_find (name) >= 0)
        return &schedule;
#endif
    return NULL;
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
    bool throughput, base_lids, shuffle, verbose, text;
} given = { .extra_rounds = -1, .seed = 1 };

static const struct plan_verb_method *method (void)
{
    return given.throughput ? &throughput
                            : find_method (given.method ? given.method : "pmm");
}

static int set_method (void *field, const char *value, struct error *err)
{
    if (!find_method (value))
        return error_input (err, "'%.40s' is not pmm, paper, paper-first or a "
                                 "pattern; 'pmm pattern' lists these", value);
    return opt_string (field, value, err);
}

#define FIELD(name) offsetof (struct plan_words, name)
static const struct opt options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "the job's hosts, " LIST_HELP " (default: all)" },
    { "base-lids", 0, NULL, opt_true, FIELD (base_lids),
      "use no other LIDs than the ports' first" },
    { "links", 0, "LIST", opt_string, FIELD (links),
      "determine these links only, NAME/PORT or @FILE" },
    { "switch", 0, "SWITCH", opt_string, FIELD (at),
      "determine the links of this switch only, a GUID or name" },
    { "separate", 0, "LIST", opt_string, FIELD (suspects),
      "write no plan, but which hosts resolve these links, NAME/PORT or "
      "@FILE" },
    { "idle", 0, "LIST", opt_string, FIELD (idle),
      "hosts to choose from, " LIST_HELP },
    { "text", 0, NULL, opt_true, FIELD (text),
      "write which hosts resolve them as text, not JSON" },
    { "method", 0, "pmm|paper|paper-first|PATTERN", set_method, FIELD (method),
      "how to plan; others than pmm are to compare with (default: pmm)" },
#ifdef HAVE_COMPARISON
    { "throughput", 0, NULL, opt_true, FIELD (throughput),
      "plan flows that fill links, to see what they carry" },
#endif
    { "shuffle", 0, NULL, opt_true, FIELD (shuffle),
      "hosts and steps in an order by the seed" },
    { "extra-rounds", 0, "N", opt_int, FIELD (extra_rounds),
      "redundant rounds; with --throughput, how often more links are filled"
      " (default: 2, for some links and other methods 0; with --throughput 1)"
      },
    { "budget", 0, "SECONDS", opt_double, FIELD (budget),
      "about how long to look for fewer rounds (default: what pays)", 0,
      PLAN_BUDGET_MAX },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "seed of random choices (default: 1)" },
    { "check", 0, "FILE", opt_string, FIELD (check),
      "plan nothing, check this plan" },
    { "verbose", 'v', NULL, opt_true, FIELD (verbose),
      "say in two lines what the plan is, and the bound" },
    { 0 },
};

/* Options without an effect are an error. */
static const struct opt_rule rules[] = {
    { "throughput", OPT_EXCLUDES, "method" },
    { "shuffle", OPT_NEEDS, "method=PATTERN" },
    { "links switch separate check", OPT_EXCLUDES, NULL },
    { "links switch separate", OPT_EXCLUDES,
      "method=paper|paper-first|PATTERN" },
    { "separate", OPT_EXCLUDES, "throughput" },
    { "separate", OPT_NEEDS, "idle" },
    { "idle text", OPT_NEEDS, "separate" },
    { "check", OPT_EXCLUDES, "hosts output" },
    { 0 },
};

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
static struct link_list read_links (const struct fabric *f, const char *option,
                                    const char *list)
{
    char *text = inputs_text (option, list);
    struct link_list l = { 0 };
    size_t keep = 0;
    char *save;

    for (char *word = strtok_r (text, ",\n", &save); word;
         word = strtok_r (NULL, ",\n", &save)) {
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
            die_input ("--%s: no link %.80s in the fabric", option, word);
        add_link (&l, link);
    }
    free (text);
    if (l.n == 0)
        die_input ("--%s: no links", option);
    qsort (l.v, l.n, sizeof (*l.v), compare_u32);
    for (size_t i = 0; i < l.n; i++)
        if (i == 0 || l.v[i] != l.v[keep - 1])
            l.v[keep++] = l.v[i];
    l.n = keep;
    return l;
}

/* The requested links, or those of a switch, ascending; none if all are. */
static struct link_list find_links (const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    struct link_list l = { 0 };
    uint32_t at;

    if (given.links)
        return read_links (f, "links", given.links);
    if (!given.at)
        return l;
    if ((at = fabric_find_switch (f, given.at)) == FABRIC_NONE)
        die_input ("--switch: no switch %.80s in the fabric, or more than one",
                   given.at);
    for (size_t i = 0; i < net->nlinks; i++)
        if (net->link[i].end[0] == at || net->link[i].end[1] == at)
            add_link (&l, i);
    if (l.n == 0)
        die_input ("--switch: %.80s has no cables", given.at);
    return l;
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
static struct pathset *with_idle (const struct fabric *f, uint8_t **idle)
{
    struct pathset *more = inputs_hosts (f, "idle", given.idle, false);
    struct pathset *job
        = given.hosts ? inputs_hosts (f, "hosts", given.hosts, false) : NULL;
    size_t njob = job ? pathset_size (job) : 0;
    size_t n = njob + pathset_size (more);
    struct endpoint *e = xcalloc (n, sizeof (*e));
    struct pathset *both;

    *idle = xcalloc (n, 1);
    for (size_t i = 0; i < n; i++) {
        e[i] = i < njob ? *pathset_endpoint (job, i)
                        : *pathset_endpoint (more, i - njob);
        (*idle)[i] = i >= njob;
    }
    if (!(both = pathset_create (fabric_network (f), e, n, &fault)))
        error_prefix (&fault, "--idle");
    pathset_destroy (more);
    pathset_destroy (job);
    free (e);
    return need (both);
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
    fprintf (fp, "%s: resolved into %s, %zu without more hosts\n",
             COUNTED (suspects->n, "suspect"), COUNTED (s->nsets, "set"),
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
        fprintf (fp, "not resolved, whichever of these hosts is added:");
        for (size_t i = 0; i < suspects->n; i++)
            if (s->set_of[i] == set)
                fprintf (fp, " %s", net->link[suspects->v[i]].id);
        fprintf (fp, "\n");
    }
}

/* Name the idle hosts that resolve the suspects. */
static void separate_suspects (struct inputs *in)
{
    const struct network *net = fabric_network (in->fabric);
    struct link_list suspects = read_links (in->fabric, "separate",
                                            given.suspects);
    struct separation s;
    uint8_t *idle;

    in->ps = with_idle (in->fabric, &idle);
    need_ok (separate (in->ps, idle, suspects.v, suspects.n, &s, &fault));
    if (!given.text)
        inputs_put_json (in, "separation", net->hash,
                         separation_json (net, in->ps, &suspects, &s));
    else
        separation_text (net, in->ps, &suspects, &s, inputs_output (in));
    separation_clear (&s);
    free (idle);
    free (suspects.v);
}

/*
 * Plans
 */

#ifdef HAVE_COMPARISON
/* A plan of flows, or of a pattern. NULL with the fault. */
static struct plan *make_to_compare (struct pathset *ps,
                                     const struct link_list *links,
                                     const struct plan_options *opts)
{
    const struct pattern_options order = { given.seed, given.shuffle };
    const struct flows_options fill = {
        .times = 1 + opts->extra_rounds,
        .seed = given.seed,
        .link = links->v,
        .nlinks = links->n,
    };

    return given.throughput
               ? flows_make (ps, &fill, &fault)
               : schedule_make (ps, pattern_find (given.method), &order,
                                &fault);
}
#endif

/* Make in->plan and in->ps. Programs that exchange messages use the base LIDs.
 */
static void make (struct inputs *in, struct plan_file_extra *extra)
{
    const struct plan_verb_method *by = method ();
    bool part = given.links || given.at, flows = given.throughput;
    const struct plan_options opts = {
        .extra_rounds = given.extra_rounds >= 0 ? given.extra_rounds
                        : part && !flows        ? 0 : by->extra_rounds,
        .seed = given.seed,
        .budget = given.budget,
    };
    int64_t start = clock_ns ();
    struct link_list links = find_links (in->fabric);
    struct pathset *ps = inputs_hosts (in->fabric, "hosts", given.hosts,
                                       !given.base_lids && !part && !flows);
    struct rusage usage;

    if (part && !flows) {
        in->plan = need (select_links (ps, links.v, links.n, &opts, &in->ps,
                                       &fault));
        pathset_destroy (ps);
        say_targets (in->plan, fabric_network (in->fabric));
    }
    else {
        in->ps = ps;
#ifdef HAVE_COMPARISON
        if (!by->make)
            in->plan = need (make_to_compare (ps, &links, &opts));
        else
#endif
            in->plan = need (by->make (ps, &opts, &fault));
    }
    free (links.v);
    extra->seconds = 1e-9 * (double)(clock_ns () - start);
    if (getrusage (RUSAGE_SELF, &usage) == 0)
        extra->peak_rss_mb = usage.ru_maxrss / 1024.0;
    if (!flows)
        need_ok (solve_predict (in->ps, in->plan, &extra->stderr_rms,
                                &extra->stderr_max, &fault));
}

/* Compute the lower bound of rounds, with less effort if it will not be shown.
 * There is none for targets only, or if the plan is not maximal.
 */
static struct bound find_bound (struct inputs *in)
{
    struct bound bound = { 0 };
    size_t ntargets;

    plan_targets (in->plan, &ntargets);
    if (ntargets > 0 || !plan_maximal (in->plan))
        return bound;
    need_ok (bound_find (in->ps, plan_rank (in->plan),
                         given.verbose ? BOUND_EFFORT : BOUND_QUICK, &bound,
                         &fault));
    if (bound.rounds > plan_bound (in->plan))
        plan_set_bound (in->plan, bound.rounds);
    return bound;
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

/* The chances that two flows of a round cross one cable, summed over them. */
static double count_meetings (struct multipath *m, const struct pathset *ps,
                              const struct plan *plan)
{
    size_t nlinks = pathset_network (ps)->nlinks;
    double *sum = xarray (nlinks, sizeof (*sum)), meetings = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        memset (sum, 0, nlinks * sizeof (*sum));
        for (size_t i = 0; i < n; i++) {
            const struct multipath_share *s;
            size_t cables
                = multipath_shares (m, pathset_endpoint (ps, p[i].a)->id,
                                    pathset_endpoint (ps, p[i].b)->id, &s);

            for (size_t k = 0; k < cables; k++) {
                meetings += sum[s[k].link] * s[k].share;
                sum[s[k].link] += s[k].share;
            }
        }
    }
    free (sum);
    return meetings;
}

/* Where messages are spread, no round keeps probes apart: say how far. */
static void say_meetings (const struct inputs *in)
{
    struct traffic_class as = { 0, false };
    struct spread_choice c;
    struct multipath *m;

    need_ok (spread_choose (in->fabric, in->ps, as.rc, as.level, &c, &fault));
    if (c.spread == 0)
        return;
    as.level = c.level;
    m = need (multipath_create ((const struct pathset *const *)&in->ps, 1, &as,
                                &fault));
    fprintf (stderr,
             "pmm plan: %s spread messages over several paths: a flow meets "
             "%.2f others of its round on a cable\n",
             COUNTED (c.spread, "switch"),
             2 * count_meetings (m, in->ps, in->plan)
                 / (double)plan_probes (in->plan));
    multipath_destroy (m);
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
    if (plan_probes (plan) > 0)
        say_meetings (in);
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

static void check_plan (struct inputs *in)
{
    int (*check) (struct pathset *ps, const struct plan *plan,
                  struct error *err) = plan_check;

    inputs_plan (in, given.check, NULL);
    if (plan_rules (plan_method (in->plan))->flows)
#ifdef HAVE_COMPARISON
        check = flows_check;
#else
        die_input ("%s: a plan of flows, which this pmm was built without",
                   given.check);
#endif
    if (check (in->ps, in->plan, &fault) < 0) {
        error_prefix (&fault, "%s", given.check);
        die ();
    }
}

static int run (struct inputs *in)
{
    struct plan_file_extra extra = { 0 };
    struct bound bound = { 0 };

    if (given.extra_rounds > method ()->extra_rounds_max)
        die_input ("--extra-rounds: more than %d",
                   method ()->extra_rounds_max);
    if (given.suspects) {
        separate_suspects (in);
        return EXIT_OK;
    }
    if (given.check)
        check_plan (in);
    else
        make (in, &extra);
    if (given.verbose || !given.check)
        bound = find_bound (in);
    if (!given.check)
        need_ok (plan_write (in->plan, in->ps, &extra, inputs_output (in),
                             &fault));
    if (given.verbose) {
        fflush (inputs_output (in)); /* on a terminal, all of the plan first */
        summary (in, &extra, &bound);
    }
    return EXIT_OK;
}

const struct verb verb_plan = {
    .group = VERBS_REPLAY, .name = "plan",
    .help = "the fewest probes that resolve a job's links",
    .needs = TAKES_FABRIC, .may = TAKES_OUTPUT,
    .options = options, .given = &given, .rules = rules,
    .run = run,
};
