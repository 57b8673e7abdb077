/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm baseline: what is expected of cables: publish, show and compare it. */
#include "config.h"

#include <grp.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/solve/solve.h"
#include "ibquery/snapshot.h"
#include "pmm/lines.h"
#include "pmm/verb.h"
#include "prolog/audit/baseline.h"
#include "report/report.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/site.h"
#include "util/sort.h"
#include "util/text.h"

static const struct site *site;

/* Read pmm.conf; return the path of its Baseline. */
static const char *read_site_baseline (const struct inputs *in)
{
    site = verb_site (in->conf, false);
    if (!*site->baseline)
        die_input ("pmm.conf has no Baseline");
    return site->baseline;
}

/* Read a baseline, samples, or the directory that has these. */
static struct baseline *read_baseline (const struct inputs *in,
                                       const char *path)
{
    return verb_own_baseline (inputs_baseline (
        in->fabric, inputs_file (path, "samples.json"), NULL, &fault));
}

/*
 * Extent
 */

/* What a baseline in "file" is of: "hosts", "runs", "round_trips", "links" of so
 * "many" of the fabric, how many round trips have "crossed" each, and those
 * "without" any.
 */
static json_t *extent_json (const struct fabric *f, const struct baseline *b,
                            const char *path)
{
    uint32_t *times = verb_keep (baseline_times (b));
    char *file = text_clean (pool_strdup (verb_pool, path));
    size_t n = pathset_size (b->ps);
    const char **host = verb_array (n, sizeof (*host));
    json_t *without = json_array (), *crossed = json_object ();

    for (size_t i = 0; i < n; i++)
        host[i] = pathset_endpoint (b->ps, i)->host;
    n = text_unique (host, n);
    for (size_t i = 0; i < f->nlinks; i++)
        if (times[i] == 0)
            json_add (without, json_string (f->link[i].id));
        else
            json_put (crossed, f->link[i].id, json_integer (times[i]));
    return verb_keep_json (json_pack (
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "file", file, "hosts",
        (json_int_t)n, "runs", (json_int_t)b->nruns, "round_trips",
        (json_int_t)b->nrows, "links",
        (json_int_t)(f->nlinks - json_array_size (without)), "many",
        (json_int_t)f->nlinks, "crossed", crossed, "without", without));
}

static int show_baseline (struct inputs *in)
{
    const char *path
        = in->noperands > 0 ? in->operand[0] : read_site_baseline (in);
    struct baseline *b = read_baseline (in, path);
    json_t *extent = extent_json (in->fabric, b, path);
    char *file = inputs_file (path, "samples.json");
    struct stat st;

    if (stat (file, &st) < 0)
        die_input ("%s was removed", file);
    json_put (extent, "written", json_integer (st.st_mtime));
    if (in->json)
        inputs_put_json (in, "baseline", in->fabric->hash,
                         json_incref (extent));
    else
        print_line (extent, "{file}: {links} of {many link}, {hosts host}, "
                            "{round_trips round trip} in {runs run}, written "
                            "{@written}\n", inputs_output (in));
    return EXIT_OK;
}

/*
 * Publishing
 */

/* Root goes on as the owner of the directory, SlurmUser: audits replace the
 * file, and trust nobody else's but root's.
 */
static void become_baseline_owner (const char *path)
{
    const char *slash = strrchr (path, '/');
    char *dir = verb_text ("%.*s/", slash ? (int)(slash - path) : 0, path);
    struct stat st;

    if (stat (dir, &st) < 0)
        die_input ("there is no %s for Baseline: pmm setup makes it", dir);
    if (geteuid () == 0 && st.st_uid != 0
        && (setgroups (0, NULL) < 0 || setgid (st.st_gid) < 0
            || setuid (st.st_uid) < 0))
        die_world ("cannot become the owner of %s", dir);
}

/* Die if it is not the fabric of pmm.conf, whose audits read the file. */
static void check_baseline_fabric (const struct inputs *in)
{
    struct fabric *own = in->snapshot ? NULL
                                      : fabric_load (site->snapshot, NULL);

    if (own && strcmp (own->hash, in->fabric->hash))
        die_input ("not published: %s is another fabric than Snapshot's",
                   in->fabric_path);
    fabric_destroy (own);
}

/* How many links the published file has measured, and the run has not. */
static size_t count_lost (const struct baseline *old,
                          const struct baseline *run)
{
    uint32_t *was = verb_keep (baseline_times (old));
    uint32_t *is = verb_keep (baseline_times (run));
    size_t lost = 0;

    for (size_t i = 0; i < pathset_network (old->ps)->nlinks; i++)
        lost += was[i] > 0 && is[i] == 0;
    return lost;
}

/* Say which cables are slow in the run itself, compared with their class: what
 * is published would call that their usual time.
 */
static void report_slow_cables (const struct inputs *in,
                                const struct judge_options *opts)
{
    struct verdict *v = verb_own_verdict (
        judge (in->ps, in->plan, in->samples, NULL, opts, &fault));

    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *f = &v->finding[i];

        if (f->basis == BASIS_CLASS && f->kind != FINDING_ROUTE
            && judge_fails (opts, f->excess_ns, f->stderr_ns))
            verb_say ("in this run %s: repair it first, or is it longer than "
                      "the others? (%s, %+.0f ns over its class)",
                      verb_keep_text (words_finding (f, in->fabric)),
                      in->fabric->link[f->suspect[0]].id, f->excess_ns);
    }
}

/* Die if the run is not complete. Return 0 if it is to be published, -1 with fault if
 * not.
 */
static int check_run (struct inputs *in, const struct baseline *run,
                      const char *path)
{
    const struct judge_options opts = judge_site_options (site);
    const struct samples *s = in->samples;
    struct baseline *old = NULL, *part = NULL;
    struct verdict *v;
    size_t lost;

    if (!s->complete || s->nmissing > 0)
        die_input ("not published: the run is not complete%s%s: measure again, "
                   "without nodes that do not answer",
                   s->nmissing > 0 ? ", as of " : "",
                   s->nmissing > 0 ? s->missing[0] : "");
    if (access (path, F_OK) == 0
        && !(old = inputs_baseline (in->fabric, path, NULL, &fault))) {
        fail ("baseline publish", &fault);
        verb_say ("judged without it");
    }
    if (old)
        part = verb_own_baseline (baseline_part (
            verb_own_baseline (old), in->ps,
            baseline_enough (plan_probes (in->plan)), fabric_resolve, in->fabric,
            &fault));
    report_slow_cables (in, &opts);
    v = verb_own_verdict (judge (in->ps, in->plan, s, part, &opts, &fault));
    report_text (v, in->fabric, inputs_output (in));
    /* the first one is the cure for links that cannot be judged without */
    if (v->status == VERDICT_FAIL || (v->status == VERDICT_UNKNOWN && old))
        return error_input (&fault,
                            "not published: the verdict is %s: repair what it "
                            "names and measure again; to keep it like this, "
                            "remove %s first",
                            verdict_status_name (v->status), path);
    if (old && (lost = count_lost (old, run)) > 0)
        return error_input (&fault,
                            "not published: the run lacks %s that %s has: "
                            "measure all nodes; to keep it like this, remove "
                            "%s first", COUNTED (lost, "link"), path, path);
    return 0;
}

static int publish_baseline (struct inputs *in)
{
    const char *path = read_site_baseline (in), *dir = in->operand[0];
    struct site_baseline from = { NULL, in->fabric, path };
    struct baseline *b;
    json_t *extent;
    int rc;

    check_baseline_fabric (in);
    if (dir) {
        char *plan = inputs_file (dir, "plan.json");

        if (!strcmp (plan, dir))
            die_input ("%s is not a directory with plan.json and samples.json",
                       dir);
        inputs_plan (in, plan, inputs_file (dir, "samples.json"));
    }
    if (in->samples) {
        b = verb_own_baseline (baseline_of (in->samples, in->ps, &fault));
        if (check_run (in, b, path) < 0) {
            fail ("baseline publish", &fault);
            return EXIT_FAIL;
        }
        become_baseline_owner (path);
        rc = need_ok (site_baseline_put (b, path, &fault));
    }
    else {
        become_baseline_owner (path);
        inputs_ledger (in, LEDGER_READ);
        from.ledger = in->ledger;
        rc = need_ok (site_baseline_update (&from, &fault));
        if (access (path, F_OK) < 0)
            die_input ("the ledger does not know enough cables yet: pmm audit "
                       "--all, while all is well, or publish what pmm-probe "
                       "--output left");
        b = verb_own_baseline (inputs_baseline (in->fabric, path, NULL, &fault));
    }
    extent = extent_json (in->fabric, b, path);
    json_put (extent, "published", json_boolean (rc > 0));
    if (in->json)
        inputs_put_json (in, "baseline", in->fabric->hash,
                         json_incref (extent));
    else
        print_line (extent,
                    rc > 0 ? "published {file}: {links} of {many link},"
                             " {hosts host}\n"
                           : "{file} has the same already\n",
                    inputs_output (in));
    return EXIT_OK;
}

/*
 * Comparing
 */

/* Of a link; of a group's sum if these cannot be resolved. */
struct drift {
    double before_ns, ns, stderr_ns;
    uint32_t link;                  /* the first of a group */
    const struct link_group *group; /* NULL: of a link */
};

static int compare_drifts (const void *va, const void *vb)
{
    const struct drift *a = va, *b = vb;
    double x = fabs (a->ns), y = fabs (b->ns);

    return x > y ? -1 : x < y ? 1 : util_compare (a->link, b->link);
}

static struct solution *solve_saved_baseline (const struct baseline *b)
{
    const struct solve_options opts = { .robust = ROBUST_HUBER, .local = true };
    struct observations o;
    struct solution *sol;

    need_ok (baseline_combine (b, b->ps, &o, &fault));
    sol = verb_own_solution (solve_observations (b->ps, &o, &opts, &fault));
    observations_clear (&o);
    return sol;
}

static void add_drift (struct drift *c, size_t *n,
                       const struct link_estimate *before,
                       const struct link_estimate *now,
                       const struct link_group *group)
{
    double ns = now->latency_ns - before->latency_ns;

    if (!isnan (ns))
        c[(*n)++] = (struct drift){
            before->latency_ns, ns, hypot (before->stderr_ns, now->stderr_ns),
            before->link, group,
        };
}

/* Whether they have the same members, which are in any order. */
static bool same_group (const struct link_group *x, const struct link_group *y)
{
    size_t same = 0;

    for (size_t i = 0; i < x->n; i++)
        for (size_t k = 0; k < y->n; k++)
            same += x->member[i].link == y->member[k].link
                    && x->member[i].p == y->member[k].p
                    && x->member[i].q == y->member[k].q
                    && x->member[i].q != 0;
    return same == x->n && same == y->n;
}

/* Fill in what both determine: links, then groups, which are in the order of
 * their first links. Return how many there are; *nlinks of them are links.
 */
static size_t find_both (const struct solution *before,
                         const struct solution *now, struct drift *c,
                         size_t *nlinks)
{
    size_t n = 0;

    for (size_t i = 0, k = 0; i < before->nlinks; i++) {
        while (k < now->nlinks && now->link[k].link < before->link[i].link)
            k++;
        if (k < now->nlinks && now->link[k].link == before->link[i].link)
            add_drift (c, &n, &before->link[i], &now->link[k], NULL);
    }
    *nlinks = n;
    for (size_t i = 0, k = 0; i < before->ngroups; i++) {
        const struct link_group *x = &before->group[i], *y;

        while (k < now->ngroups
               && now->group[k].member[0].link < x->member[0].link)
            k++;
        if (k == now->ngroups)
            break;
        y = &now->group[k];
        if (same_group (x, y))
            add_drift (c, &n,
                       &(struct link_estimate){ x->member[0].link,
                                                x->latency_ns, x->stderr_ns },
                       &(struct link_estimate){ y->member[0].link,
                                                y->latency_ns, y->stderr_ns },
                       x);
    }
    return n;
}

/* By the judge's thresholds of a WARN, in either direction. */
static bool changed (const struct drift *c)
{
    double spread = isnan (c->stderr_ns) ? 0 : site->warn_spread * c->stderr_ns;

    return fabs (c->ns) > fmax (site->warn_ns, spread);
}

static void print_change (const struct fabric *f, const struct drift *c,
                          FILE *fp)
{
    const struct fabric_link *link = &f->link[c->link];

    fprintf (fp, "%s %s - %s", link->id, PORT_NAME (f, link->a),
             PORT_NAME (f, link->b));
    if (c->group)
        fprintf (fp, " and %s", COUNTED (c->group->n - 1, "other"));
    fprintf (fp, ": %.1f ns, %+.1f", c->before_ns, c->ns);
    fprintf (fp, isnan (c->stderr_ns) ? "\n" : " (+-%.1f)\n", c->stderr_ns);
}

static json_t *change_json (const struct fabric *f, const struct drift *c)
{
    json_t *others = json_array ();

    for (size_t i = 1; c->group && i < c->group->n; i++)
        json_add (others,
                  json_string (f->link[c->group->member[i].link].id));
    return xcheck (json_pack ("{s:s, s:o, s:o, s:o, s:o}", "link",
                              f->link[c->link].id, "others", others,
                              "before_ns", number_json (c->before_ns),
                              "change_ns", number_json (c->ns), "stderr_ns",
                              number_json (c->stderr_ns)));
}

static int compare_baselines (struct inputs *in)
{
    const char *published = read_site_baseline (in);
    struct baseline *b[2];
    struct solution *sol[2];
    struct drift *c;
    size_t n = 0, both, links;
    FILE *fp;

    for (int i = 0; i < 2; i++) {
        int k = i - 2 + in->noperands; /* -1: the site's own */

        b[i] = read_baseline (in, k < 0 ? published : in->operand[k]);
        sol[i] = solve_saved_baseline (b[i]);
    }
    c = verb_array (sol[0]->nlinks + sol[0]->ngroups, sizeof (*c));
    both = find_both (sol[0], sol[1], c, &links);
    for (size_t i = 0; i < both; i++)
        if (changed (&c[i]))
            c[n++] = c[i];
    sort_array (c, n, compare_drifts);
    fp = inputs_output (in);
    if (in->json) {
        json_t *list = json_array ();

        for (size_t i = 0; i < n; i++)
            json_add (list, change_json (in->fabric, &c[i]));
        inputs_put_json (
            in, "baseline-comparison", in->fabric->hash,
            json_pack ("{s:I, s:I, s:I, s:I, s:o}", "links", (json_int_t)links,
                       "groups", (json_int_t)(both - links), "before",
                       (json_int_t)sol[0]->nlinks, "now",
                       (json_int_t)sol[1]->nlinks, "changed", list));
    }
    else {
        fprintf (fp, "%zu changed, of %s", n, COUNTED (links, "link"));
        if (both > links)
            fprintf (fp, " and %s", COUNTED (both - links, "group"));
        fprintf (fp, " that both resolve (before: %s, now: %s)\n",
                 COUNTED (sol[0]->nlinks, "link"),
                 COUNTED (sol[1]->nlinks, "link"));
        for (size_t i = 0; i < n; i++)
            print_change (in->fabric, &c[i], fp);
    }
    return both == 0 ? EXIT_WORLD : n > 0 ? EXIT_FAIL : EXIT_OK;
}

static const struct opt_rule publish_rules[] = {
    { "plan", OPT_NEEDS, "samples" },
    { "samples", OPT_NEEDS, "plan" },
    { "DIRECTORY", OPT_EXCLUDES, "plan" },
    { "ledger", OPT_EXCLUDES, "DIRECTORY plan" },
    { 0 },
};

static const struct verb *const verbs[] = {
    &(const struct verb){ .name = "publish",
                          .help = "publish a run, or what the ledger knows",
                          .needs = TAKES_FABRIC,
                          .may = TAKES_PLAN | TAKES_SAMPLES | TAKES_LEDGER
                                 | TAKES_COLOUR | TAKES_JSON,
                          .operands = "[DIRECTORY]", .max = 1,
                          .rules = publish_rules, .run = publish_baseline },
    &(const struct verb){ .name = "show", .help = "show what it knows",
                          .needs = TAKES_FABRIC,
                          .may = TAKES_JSON | TAKES_OUTPUT,
                          .operands = "[SAMPLES]", .max = 1,
                          .run = show_baseline },
    &(const struct verb){ .name = "compare",
                          .help = "show which cables changed since",
                          .needs = TAKES_FABRIC,
                          .may = TAKES_JSON | TAKES_OUTPUT,
                          .operands = "[BEFORE] SAMPLES", .min = 1, .max = 2,
                          .run = compare_baselines },
    NULL,
};

const struct verb verb_baseline = {
    .group = VERBS_SITE, .name = "baseline",
    .help = "publish, show or compare what is expected of cables",
    .verbs = verbs,
};
