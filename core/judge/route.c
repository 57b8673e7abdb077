/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a cause is a slow link or a wrong route, and from which switch.
 *
 * Rows in which a link carries the messages of one endpoint only look the same
 * for both. But a slow link may add any time, while a wrong route adds (or
 * saves) the difference between the latencies of the links that it crosses and
 * should cross (detours in judge/cause).
 *
 * By Bayes, the odds of an explanation are the likelihood of the rows, exp of
 * minus half of the chi square that it misses, times the density of such an
 * excess: for a route over its detours, with the expected latencies of their
 * links and what other causes add; for a link, slow now or before, each decade
 * from EXCESS_MIN_NS to EXCESS_MAX_NS is equally likely.
 *
 * Rare are a table that differs from the one just
 * read and a link slower by less than FailExcess (ROUTE_ODDS, a guess); rarer
 * are two slow links of which one looks like a detour over the other
 * (CHANCE_ODDS). A switch has the odds of all its routes.
 */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/sort.h"

#define DETOUR_MAX_SD 2.5 /* largest distance of a route from a detour */
#define ROUTE_ODDS 0.1
#define PAIR_ODDS 0.2 /* if a single pair shows it */
/* Of such a route to a second slow link that looks like a detour over the
 * first.
 */
#define CHANCE_ODDS 100.0
#define EXCESS_MIN_NS 1e2 /* ns */
#define EXCESS_MAX_NS 1e6

struct detour_fit {
    double sd;      /* distance of the closest, in standard deviations;
                       INFINITY: there is no detour */
    double density; /* of the excess, per ns */
    bool by_others; /* the closest crosses arcs of those other causes */
};

struct detour_way {
    int n;
    uint32_t arc[PATH_MAX_HOPS];
};

/* Add the latencies of links that a path crosses and the other does not. */
static void add_links (const struct model *model, const struct network *net,
                       const double *more_ns, const struct detour_way *way,
                       const struct detour_way *other, double sign,
                       double *mean, double *var)
{
    for (int i = 0; i < way->n; i++) {
        uint32_t link = arc_link (way->arc[i]);
        double ns;
        double spread;
        int k = 0;

        while (k < other->n && arc_link (other->arc[k]) != link)
            k++;
        if (k < other->n)
            continue;
        model_link (model, net, link, &ns, &spread);
        *mean += sign * (ns + more_ns[way->arc[i]]);
        *var += spread * spread;
    }
}

/* How well detours explain an excess of messages from switch sw to the
 * endpoint, by the links' latencies and what other causes add to arcs (more_ns
 * [2 * nlinks]). All detours are equally likely.
 */
static struct detour_fit fit_detours (const struct detours *d,
                                      const struct model *model,
                                      const double *more_ns, uint32_t sw,
                                      uint32_t to, double excess_ns,
                                      double stderr_ns)
{
    struct detour_fit fit = { INFINITY, 0, false };
    struct detour_way right, way;
    size_t n = 0;

    right.n = detour_tables (d->net, sw, to, NETWORK_NONE, right.arc,
                             PATH_MAX_HOPS);
    for (size_t i = d->first[sw]; i < d->first[sw + 1]; i++) {
        double var = stderr_ns * stderr_ns;
        double mean = 0;
        double more = 0;
        double sd;

        if ((way.n = detour_walk (d, d->arc[i], to, way.arc)) == 0)
            continue;
        add_links (model, d->net, more_ns, &way, &right, 1, &mean, &var);
        add_links (model, d->net, more_ns, &right, &way, -1, &mean, &var);
        sd = fabs (excess_ns - mean) / sqrt (var);
        for (int k = 0; k < way.n; k++)
            more += more_ns[way.arc[k]];
        if (sd < fit.sd) {
            fit.sd = sd;
            fit.by_others = more > 0;
        }
        fit.density += exp (-sd * sd / 2) / sqrt (2 * M_PI * var);
        n++;
    }
    if (n > 0)
        fit.density /= (double)n;
    return fit;
}

/* What all causes but one add to each arc; the caller frees it. */
static double *find_more (const struct explanation *ex, size_t but)
{
    const struct network *net = ex->causes->detours.net;
    double *more = xcalloc (2 * net->nlinks, sizeof (*more));

    for (size_t i = 0; i < ex->n; i++) {
        const struct cause *c = &ex->cause[i];
        const struct suspect *s
            = &causes_simplest (ex->causes, c->signature)->suspect;

        if (i != but && s->kind == SUSPECT_LINK) {
            more[2 * s->index] += c->excess_ns;
            more[2 * s->index + 1] += c->excess_ns;
        }
        else if (i != but && s->kind == SUSPECT_ARC)
            more[s->index] += 2 * c->excess_ns;
    }
    return more;
}

/* A member of a signature that explains a cause. */
struct guess {
    size_t signature;
    const struct member *member;
    double excess_ns;
    double likelihood;     /* of the rows */
    struct detour_fit fit; /* of a route's excess */
};

/* All of them; NULL with errno EDOM. */
static struct guess *list_guesses (struct explanation *ex, size_t c,
                                   const struct pathset *ps, size_t *n)
{
    const struct causes *causes = ex->causes;
    double *more = find_more (ex, c);
    struct guess *list = NULL;
    size_t nrivals;
    struct rival *rival = explain_suspects (ex, c, &nrivals);

    *n = 0;
    for (size_t i = 0; i < nrivals && rival; i++) {
        const struct rival *r = &rival[i];
        size_t first = causes->first[r->signature];
        size_t end = causes->first[r->signature + 1];

        list = xrealloc (list, *n + end - first, sizeof (*list));
        for (size_t k = first; k < end; k++) {
            const struct member *m = &causes->member[k];
            double scale = causes->member[first].unit / m->unit;
            struct guess *g = &list[(*n)++];

            *g = (struct guess){
                .signature = r->signature,
                .member = m,
                .excess_ns = r->excess_ns * scale,
                .likelihood = exp (-r->less / (2 * ex->scale * ex->scale)),
                .fit.sd = INFINITY,
            };
            if (m->suspect.kind == SUSPECT_ROUTE)
                g->fit = fit_detours (&causes->detours, ex->model, more,
                                      m->suspect.index,
                                      pathset_endpoint (ps, m->suspect.to)->id,
                                      g->excess_ns, r->stderr_ns * scale);
        }
    }
    free (rival);
    free (more);
    return list;
}

/* Whether one direction of a host link looks the same: then a wrong route is
 * as unlikely as for both.
 */
static bool may_be_host (const struct network *net, const struct causes *c,
                         size_t signature)
{
    for (size_t i = c->first[signature]; i < c->first[signature + 1]; i++) {
        uint32_t link = suspect_link (&c->member[i].suspect);

        if (link != NETWORK_NONE && net->link[link].kind == LINK_HOST)
            return true;
    }
    return false;
}

static bool is_switch_link (const struct network *net, const struct suspect *s)
{
    uint32_t link = suspect_link (s);

    return link != NETWORK_NONE && net->link[link].kind == LINK_SWITCH;
}

int route_or_link (struct explanation *ex, size_t c, const struct pathset *ps,
                   double fail_ns, const struct member **face)
{
    const struct network *net = pathset_network (ps);
    const struct causes *causes = ex->causes;
    size_t own = ex->cause[c].signature;
    bool alone = causes->start[own + 1] == causes->start[own] + 1;
    const struct guess *best = NULL;
    struct guess *list;
    double most = 0;
    size_t n;
    int rc = 0;

    *face = causes_simplest (causes, own);
    if ((*face)->suspect.kind != SUSPECT_ROUTE
        && (!is_switch_link (net, &(*face)->suspect)
            || may_be_host (net, causes, own)))
        return 0;
    if (!(list = list_guesses (ex, c, ps, &n)))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct guess *g = &list[i];
        double ns = fabs (g->excess_ns);
        /* of the excess of a link that is slow, or was before */
        double density = 1
                         / (fmax (ns, EXCESS_MIN_NS)
                            * log (EXCESS_MAX_NS / EXCESS_MIN_NS));
        double odds = 0;

        if (is_switch_link (net, &g->member->suspect)
            && (g->excess_ns > 0
                || g->member->suspect.kind == SUSPECT_LINK))
            odds = g->likelihood * density
                   * (g->excess_ns > fail_ns ? 1 : ROUTE_ODDS);
        else if (g->fit.sd < DETOUR_MAX_SD)
            odds = (g->fit.by_others ? CHANCE_ODDS
                    : alone          ? PAIR_ODDS
                                     : ROUTE_ODDS)
                   * g->likelihood * g->fit.density;
        if (odds > most) {
            most = odds;
            best = g;
        }
    }
    *face = best ? best->member : NULL;
    if (best)
        rc = explain_swap (ex, c, best->signature);
    free (list);
    return rc;
}

struct odds {
    uint32_t sw;
    double sum;
};

static int compare_odds (const void *va, const void *vb)
{
    const struct odds *a = va;
    const struct odds *b = vb;

    return a->sum != b->sum ? util_compare (b->sum, a->sum)
                            : util_compare (a->sw, b->sw);
}

int route_switches (struct explanation *ex, size_t c, const struct pathset *ps,
                    uint32_t *sw, size_t most)
{
    size_t found = 0;
    size_t n;
    struct guess *list = list_guesses (ex, c, ps, &n);
    struct odds *v;

    if (!list)
        return -1;
    v = xcalloc (n, sizeof (*v));
    for (size_t i = 0; i < n; i++) {
        const struct suspect *s = &list[i].member->suspect;
        size_t k = 0;

        if (s->kind != SUSPECT_ROUTE)
            continue;
        while (k < found && v[k].sw != s->index)
            k++;
        found += k == found;
        v[k].sw = s->index;
        v[k].sum += list[i].likelihood * list[i].fit.density;
    }
    qsort (v, found, sizeof (*v), compare_odds);
    for (size_t i = 0; i < found && i < most; i++)
        sw[i] = v[i].sw;
    free (v);
    free (list);
    return (int)(found < most ? found : most);
}
