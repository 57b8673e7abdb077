/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. By Bayes, the odds of an explanation are the likelihood of the rows,
 * exp of minus half of the chi square that it misses, times the density of such
 * an excess. For a route, this density is over its detours, with the expected
 * latencies of their links and what other causes add to these. For a link, each
 * decade from EXCESS_MIN to EXCESS_MAX is equally likely. A table that differs
 * from the one that was just read is rare (ROUTE_ODDS to a slow link, a guess).
 * Equally rare is a link that is slower by less than FailExcess; and two slow
 * links, the second of which looks like a detour over the first, are even rarer
 * (CHANCE_ODDS). If a single pair shows the excess, the link is less likely. A
 * switch has the odds of all its routes.
 */
#include "config.h"
#include "core/judge/route.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"

#define DETOUR_SD 2.5 /* largest distance of a route from a detour */
#define ROUTE_ODDS 0.1
#define PAIR_ODDS 0.2 /* if a single pair shows it */
/* Of such a route to a second slow link that looks like a detour over the
 * first.
 */
#define CHANCE_ODDS 100.0
#define EXCESS_MIN 1e2 /* ns */
#define EXCESS_MAX 1e6

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
                g->fit = detour_fit (&causes->detours, ex->model, more,
                                     m->suspect.index,
                                     pathset_endpoint (ps, m->suspect.to)->id,
                                     g->excess_ns, r->stderr_ns * scale);
        }
    }
    free (rival);
    free (more);
    return list;
}

/* Density of a slow link's excess. */
static double link_density (double excess_ns)
{
    return 1 / (fmax (excess_ns, EXCESS_MIN) * log (EXCESS_MAX / EXCESS_MIN));
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
        && !is_switch_link (net, &(*face)->suspect))
        return 0;
    if (!(list = list_guesses (ex, c, ps, &n)))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct guess *g = &list[i];
        double odds = 0;

        if (g->excess_ns > 0 && is_switch_link (net, &g->member->suspect))
            odds = g->likelihood * link_density (g->excess_ns)
                   * (g->excess_ns > fail_ns ? 1 : ROUTE_ODDS);
        else if (g->fit.sd < DETOUR_SD)
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

    if (a->sum != b->sum)
        return a->sum > b->sum ? -1 : 1;
    return (a->sw > b->sw) - (a->sw < b->sw);
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
