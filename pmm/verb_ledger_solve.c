/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm ledger solve: the latency of each link now and before, from the audits of
 * the ledger together.
 *
 * The latency now is solved for from the newest measurements, as many as tell
 * enough (ledger_combine); the older one is, the lower its weight. What was
 * before is solved for from the site's baseline, with equal weights. Links that
 * no single audit resolves are determined once the audits together resolve them.
 *
 * If a link changes, some routes show it before others. Until the old
 * measurements are forgotten, or the link is rebased, the solution lies in
 * between, and neighbouring links may get a part of the change. Rows that do
 * not fit have a lower weight (core/solve), so the change stays with these
 * links, and their standard errors are greater.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "core/solve/solve.h"
#include "pmm/verb.h"
#include "prolog/audit/baseline.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/site.h"
#include "util/sort.h"

#define HALF_LIFE_MIN .001

enum { DAY_S = 24 * 3600, DAYS_MAX = 36500, POINTS_MAX = 1000 };

static struct trends_words {
    double half_life; /* days */
    int points;       /* earlier ones, a half-life apart */
} given = { .half_life = 7, .points = 4 };

#define FIELD(name) offsetof (struct trends_words, name)
static const struct opt options[] = {
    { "half-life", 0, "DAYS", opt_double, FIELD (half_life),
      "age at which a measurement counts half as much (default: 7)",
      HALF_LIFE_MIN,
      DAYS_MAX },
    { "points", 0, "N", opt_int, FIELD (points),
      "points of each link's trend, one half-life apart (default: 4)", 0,
      POINTS_MAX },
    { 0 },
};

struct trends {
    const struct fabric *fabric;
    int64_t now_s;
    struct pathset *ps;        /* all endpoints of the fabric */
    struct solution *now;
    struct solution *baseline; /* NULL: nothing was sound */
    struct solution **point;   /* [given.points] oldest first; NULL: nothing */
};

/* Solve these observations, which it clears. NULL with fault: there are none. */
static struct solution *solve_these (const struct trends *t,
                                     struct observations *o, bool bare)
{
    const struct solve_options opts = {
        .robust = bare ? ROBUST_NONE : ROBUST_HUBER, .bare = bare,
        .local = true,
    };
    struct solution *sol = solve_observations (t->ps, o, &opts, &fault);
    bool none = o->n == 0;

    observations_clear (o);
    return sol || !none ? verb_own_solution (sol) : NULL;
}

/* Solve for a time: the last one is now, the others are earlier points. */
static void solve_time (void *arg, size_t time, struct observations *o)
{
    struct trends *t = arg;

    if (time < (size_t)given.points)
        t->point[time] = solve_these (t, o, true);
    else
        t->now = need (solve_these (t, o, false));
}

static struct solution *solve_ledger_baseline (const struct trends *t,
                                               struct inputs *in)
{
    struct site_baseline where = { in->ledger, in->fabric, "" };
    struct baseline *b;
    struct observations o;
    char odd[256];

    if (!in->ledger_path)
        where.path = verb_site (in->conf, false)->baseline;
    b = verb_own_baseline (site_baseline_read (&where, odd, &fault));
    need_ok (baseline_combine (b, t->ps, &o, &fault));
    return solve_these (t, &o, false);
}

struct change {
    double baseline_ns, ns, stderr_ns; /* NAN: not known */
    size_t link; /* in the solution */
};

static struct change change_of (const struct trends *t, size_t i)
{
    const struct link_estimate *now = &t->now->link[i];
    struct change c = { NAN, NAN, NAN, i };

    if (t->baseline) {
        const struct link_estimate *then = &t->baseline->link[i];

        c.baseline_ns = then->latency_ns;
        c.ns = now->latency_ns - then->latency_ns;
        c.stderr_ns = hypot (now->stderr_ns, then->stderr_ns);
    }
    return c;
}

/* The time of an earlier point, or after the last of them now. */
static int64_t time_of (const struct trends *t, int k)
{
    return t->now_s
           - (int64_t)((given.points - k) * given.half_life * DAY_S);
}

static json_t *trends_json (const struct trends *t)
{
    json_t *json = xcheck (solution_json (t->now, t->ps));
    json_t *links = json_object_get (json, "links");

    for (size_t i = 0; i < t->now->nlinks; i++) {
        json_t *link = json_array_get (links, i), *points = json_array ();
        struct change c = change_of (t, i);

        for (int k = 0; k < given.points; k++)
            json_add (points,
                      json_pack ("{s:I, s:o}", "time",
                                 (json_int_t)time_of (t, k), "latency_ns",
                                 number_json (t->point[k]
                                     ? t->point[k]->link[i].latency_ns
                                     : NAN)));
        json_put (link, "baseline_ns", number_json (c.baseline_ns));
        json_put (link, "change_ns", number_json (c.ns));
        json_put (link, "change_stderr_ns", number_json (c.stderr_ns));
        json_put (link, "trend", points);
    }
    return json;
}

/* How large a change is, less what may be its error: it is shrunk by the share
 * of its square that is not the error's.
 */
static double less_error (const struct change *c)
{
    double error = isnan (c->stderr_ns) ? 0 : c->stderr_ns;
    double squares = c->ns * c->ns + error * error;

    return isnan (c->ns) ? -1
           : squares > 0 ? fabs (c->ns) * c->ns * c->ns / squares
                         : 0;
}

/* The greatest change first, less its error; links without one in their own order. */
static int compare_link_changes (const void *va, const void *vb)
{
    const struct change *a = va;
    const struct change *b = vb;
    double x = less_error (a), y = less_error (b);

    if (x != y)
        return x > y ? -1 : 1;
    return util_compare (a->link, b->link);
}

static void print_error (FILE *fp, double stderr_ns)
{
    if (!isnan (stderr_ns))
        fprintf (fp, " (+-%.1f)", stderr_ns);
}

static void print_link (const struct trends *t, const struct change *c,
                        FILE *fp)
{
    const struct link_estimate *l = &t->now->link[c->link];
    const struct fabric_link *link = &t->fabric->link[l->link];
    const char *before = "; before:";

    fprintf (fp, "%s %s - %s: %.1f ns", link->id,
             PORT_NAME (t->fabric, link->a), PORT_NAME (t->fabric, link->b),
             l->latency_ns);
    print_error (fp, l->stderr_ns);
    if (!isnan (c->ns)) {
        fprintf (fp, ", %+.1f", c->ns);
        print_error (fp, c->stderr_ns);
        fprintf (fp, " over its baseline");
    }
    for (int k = 0; k < given.points; k++)
        if (t->point[k] && !isnan (t->point[k]->link[c->link].latency_ns)) {
            fprintf (fp, "%s %.1f", before,
                     t->point[k]->link[c->link].latency_ns);
            before = "";
        }
    fputc ('\n', fp);
}

static void trends_print (const struct trends *t, FILE *fp)
{
    const struct solution *s = t->now;
    struct change *c = verb_array (s->nlinks, sizeof (*c));
    size_t n = 0;

    for (size_t i = 0; i < s->nlinks; i++)
        if (!isnan (s->link[i].latency_ns))
            c[n++] = change_of (t, i);
    sort_array (c, n, compare_link_changes);
    fprintf (fp, "determined: %zu of %s, %s of others, by %s\n", n,
             COUNTED (s->nlinks, "link"),
             COUNTED (s->ngroups + s->unlisted, "group"),
             COUNTED (s->rows, "round trip"));
    for (size_t i = 0; i < n; i++)
        print_link (t, &c[i], fp);
    for (size_t i = 0; i < s->ngroups; i++) {
        const struct link_group *g = &s->group[i];

        for (size_t k = 0; k < g->n; k++)
            fprintf (fp, "%s%" PRId64 "/%" PRId64 " %s", k ? " + " : "",
                     g->member[k].p, g->member[k].q,
                     t->fabric->link[g->member[k].link].id);
        fprintf (fp, ": %.1f ns", g->latency_ns);
        print_error (fp, g->stderr_ns);
        fputc ('\n', fp);
    }
}

/* The JSON is a solution, with baseline_ns, change_ns, change_stderr_ns and trend
 * (a list of {time, latency_ns}) for each link.
 */
static int run_ledger_solve (struct inputs *in)
{
    struct trends t = { .fabric = in->fabric, .now_s = (int64_t)time (NULL) };
    size_t times = (size_t)given.points + 1;
    struct ledger_ageing *ageing = verb_array (times, sizeof (*ageing));

    inputs_ledger (in, LEDGER_READ);
    t.ps = verb_own_pathset (fabric_pathset_lids (in->fabric, NULL, 0, &fault));
    t.point = verb_array ((size_t)given.points, sizeof (*t.point));
    for (int i = 0; i <= given.points; i++)
        ageing[i] = (struct ledger_ageing){
            .quantile = RTT_MIDDLE, .now = time_of (&t, i),
            .until = i < given.points ? time_of (&t, i) : INT64_MAX,
            .half_life_s = given.half_life * DAY_S,
        };
    need_ok (ledger_combine_times (in->ledger, t.ps, ageing, times, solve_time,
                                   &t, &fault));
    t.baseline = solve_ledger_baseline (&t, in);
    if (in->json) {
        json_t *all = verb_keep_json (trends_json (&t));

        need_ok (json_write (all, inputs_output (in), &fault));
    }
    else
        trends_print (&t, inputs_output (in));
    return EXIT_OK;
}

const struct verb verb_ledger_solve = {
    .name = "solve", .help = "solve the latencies of all links, now and before",
    .needs = TAKES_FABRIC,
    .may = TAKES_LEDGER | TAKES_OUTPUT | TAKES_JSON | TAKES_COLOUR,
    .options = options, .given = &given, .run = run_ledger_solve,
};
