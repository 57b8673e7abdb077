/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/trends.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { END_MAX = 96 };

/* Solve what was measured, selected by these rules. NULL with err; errno is
 * ENOENT if nothing was measured.
 */
static struct solution *solve_by (struct trends *t, struct ledger *ledger,
                                  const struct ledger_ageing *ageing,
                                  bool bare, struct error *err)
{
    const struct solve_options opts = {
        .robust = bare ? ROBUST_NONE : ROBUST_HUBER,
        .bare = bare,
        .local = true,
    };
    struct solution *sol = NULL;
    struct observations o;

    if (ledger_combine (ledger, t->ps, ageing, &o, err) == 0) {
        errno = 0;
        sol = solve_observations (t->ps, &o, &opts, err);
        if (o.n == 0)
            errno = ENOENT;
    }
    observations_clear (&o);
    return sol;
}

/* The same; *sol is NULL, without an error, if nothing was measured. */
static int try_solve (struct trends *t, struct ledger *ledger,
                      const struct ledger_ageing *ageing, bool bare,
                      struct solution **sol, struct error *err)
{
    *sol = solve_by (t, ledger, ageing, bare, err);
    return *sol || errno == ENOENT ? 0 : -1;
}

int trends_make (struct trends *t, struct ledger *ledger,
                 const struct fabric *fabric,
                 const struct trends_options *opts, struct error *err)
{
    struct ledger_ageing ageing = {
        .quantile = RTT_MIDDLE,
        .now = opts->now,
        .until = INT64_MAX,
        .half_life_s = opts->half_life_s,
    };
    struct ledger_ageing sound = {
        .quantile = RTT_MIDDLE,
        .now = opts->now,
        .until = INT64_MAX,
        .sound = true,
    };

    *t = (struct trends){ .fabric = fabric, .opts = *opts };
    t->point = xcalloc ((size_t)opts->points, sizeof (*t->point));
    if (!(t->ps = fabric_pathset_lids (fabric, NULL, 0, err))
        || !(t->now = solve_by (t, ledger, &ageing, false, err))
        || try_solve (t, ledger, &sound, false, &t->baseline, err) < 0)
        return -1;
    for (int i = 0; i < opts->points; i++) {
        ageing.now = ageing.until
            = opts->now
              - (int64_t)((opts->points - i) * opts->half_life_s);
        if (try_solve (t, ledger, &ageing, true, &t->point[i], err) < 0)
            return -1;
    }
    return 0;
}

void trends_clear (struct trends *t)
{
    for (int i = 0; i < t->opts.points; i++)
        solution_destroy (t->point[i]);
    free (t->point);
    solution_destroy (t->now);
    solution_destroy (t->baseline);
    pathset_destroy (t->ps);
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

/*
 * JSON
 */

static json_t *number (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

static json_t *points_json (const struct trends *t, size_t i)
{
    json_t *points = json_array ();

    for (int k = 0; k < t->opts.points; k++) {
        double back = (t->opts.points - k) * t->opts.half_life_s;
        double latency = t->point[k] ? t->point[k]->link[i].latency_ns : NAN;

        json_add (points,
                  json_pack ("{s:I, s:o}", "time",
                             (json_int_t)t->opts.now - (json_int_t)back,
                             "latency_ns", number (latency)));
    }
    return points;
}

static void add_change (json_t *link, const struct trends *t, size_t i)
{
    struct change c = change_of (t, i);

    json_put (link, "baseline_ns", number (c.baseline_ns));
    json_put (link, "change_ns", number (c.ns));
    json_put (link, "change_stderr_ns", number (c.stderr_ns));
    json_put (link, "trend", points_json (t, i));
}

json_t *trends_json (const struct trends *t, struct error *err)
{
    json_t *json = xcheck (solution_json (t->now, t->ps));
    json_t *links = json_object_get (json, "links");

    (void)err;
    for (size_t i = 0; i < t->now->nlinks; i++)
        add_change (json_array_get (links, i), t, i);
    return json;
}

/*
 * Text
 */

/* The greatest change first; links without one in their own order. */
static int compare_changes (const void *va, const void *vb)
{
    const struct change *a = va;
    const struct change *b = vb;
    double x = isnan (a->ns) ? -1 : fabs (a->ns);
    double y = isnan (b->ns) ? -1 : fabs (b->ns);

    if (x != y)
        return x > y ? -1 : 1;
    return (a->link > b->link) - (a->link < b->link);
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
    char a[END_MAX], b[END_MAX];

    fabric_port_name (t->fabric, link->a, a, sizeof (a));
    fabric_port_name (t->fabric, link->b, b, sizeof (b));
    fprintf (fp, "%s %s - %s: %.1f ns", link->id, a, b, l->latency_ns);
    print_error (fp, l->stderr_ns);
    if (!isnan (c->ns)) {
        fprintf (fp, ", %+.1f", c->ns);
        print_error (fp, c->stderr_ns);
        fprintf (fp, " over its baseline");
    }
    for (int k = 0; k < t->opts.points; k++)
        if (t->point[k] && !isnan (t->point[k]->link[c->link].latency_ns)) {
            fprintf (fp, "%s %.1f", before,
                     t->point[k]->link[c->link].latency_ns);
            before = "";
        }
    fputc ('\n', fp);
}

static void print_group (const struct trends *t, const struct link_group *g,
                         FILE *fp)
{
    for (size_t i = 0; i < g->n; i++) {
        const struct group_member *m = &g->member[i];

        fprintf (fp, "%s%" PRId64 "/%" PRId64 " %s", i ? " + " : "", m->p,
                 m->q, t->fabric->link[m->link].id);
    }
    fprintf (fp, ": %.1f ns", g->latency_ns);
    print_error (fp, g->stderr_ns);
    fputc ('\n', fp);
}

int trends_print (const struct trends *t, FILE *fp, struct error *err)
{
    struct change *c = xarray (t->now->nlinks, sizeof (*c));
    size_t n = 0;

    (void)err;
    for (size_t i = 0; i < t->now->nlinks; i++)
        if (!isnan (t->now->link[i].latency_ns))
            c[n++] = change_of (t, i);
    qsort (c, n, sizeof (*c), compare_changes);
    fprintf (fp, "determined: %zu of %s, %s of others, by %s\n", n,
             COUNTED (t->now->nlinks, "link"),
             COUNTED (t->now->ngroups + t->now->unlisted, "group"),
             COUNTED (t->now->rows, "round trip"));
    for (size_t i = 0; i < n; i++)
        print_link (t, &c[i], fp);
    for (size_t i = 0; i < t->now->ngroups; i++)
        print_group (t, &t->now->group[i], fp);
    free (c);
    return 0;
}
