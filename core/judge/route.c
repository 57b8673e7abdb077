/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. By Bayes, the odds of what explains a cause are the likelihood of the
 * rows, exp of minus half of what it misses of chi square, times the density of
 * such an excess. A route's is over its detours, which cost what their links
 * take, with what other causes found of these. A link's is as likely in each
 * decade from EXCESS_MIN to EXCESS_MAX. That a table is other than what was read
 * of it just before is rare (ROUTE_ODDS to a slow link, a guess); and as rare
 * are links that got slower by less than what fails, and two slow links of which
 * one takes what a wrong route over the other would. Where a single pair
 * shows it, less speaks for the link. A switch has the odds of all its routes.
 */
#include "config.h"
#include "core/judge/route.h"

#include <math.h>
#include <stdlib.h>

#define DETOUR_SD 2.5 /* that a route may be off what a detour adds */
#define ROUTE_ODDS 0.1
#define PAIR_ODDS 0.2  /* where a single pair shows it */
#define CHANCE_ODDS 100.0 /* to a second slow link that looks like a way over the
                             first */
#define EXCESS_MIN 1e2 /* ns */
#define EXCESS_MAX 1e6

/* What each arc has more by all causes but one; the caller frees it. */
static double *find_more (const struct explanation *ex, size_t but)
{
    const struct network *net = ex->causes->detours.net;
    double *more = calloc (2 * net->nlinks + 1, sizeof (*more));

    for (size_t i = 0; i < ex->n && more; i++) {
        const struct cause *c = &ex->cause[i];
        const struct suspect *s = &causes_simplest (ex->causes, c->signature)
                                       ->suspect;

        if (i != but && s->kind == SUSPECT_LINK) {
            more[2 * s->index] += c->excess_ns;
            more[2 * s->index + 1] += c->excess_ns;
        }
        else if (i != but && s->kind == SUSPECT_ARC)
            more[s->index] += 2 * c->excess_ns;
    }
    return more;
}

/* How a rival's excess goes with what a route of its members would add. */
static struct detour_fit fit_of (const struct explanation *ex,
                                 const struct pathset *ps, const double *more,
                                 const struct rival *rival,
                                 const struct member *m)
{
    const struct suspect *s = &m->suspect;
    double scale = causes_simplest (ex->causes, rival->signature)->unit
                   / m->unit;

    if (s->kind != SUSPECT_ROUTE)
        return (struct detour_fit){ INFINITY, 0, false };
    return detour_fit (&ex->causes->detours, ex->model, more, s->index,
                       pathset_endpoint (ps, s->to)->id,
                       rival->excess_ns * scale,
                       rival->stderr_ns * scale);
}

static double likelihood (const struct explanation *ex,
                          const struct rival *rival)
{
    return exp (-rival->less / (2 * ex->scale * ex->scale));
}

/* Density of a slow link's excess. */
static double link_density (double excess_ns)
{
    return 1 / (fmax (excess_ns, EXCESS_MIN) * log (EXCESS_MAX / EXCESS_MIN));
}

static bool is_switch_link (const struct network *net,
                            const struct suspect *s)
{
    if (s->kind == SUSPECT_LINK)
        return net->link[s->index].kind == LINK_SWITCH;
    return s->kind == SUSPECT_ARC
           && net->link[arc_link (s->index)].kind == LINK_SWITCH;
}

/* The best explanation so far. */
struct choice {
    const struct member *member;
    size_t signature;
    double odds;
};

static void choose (struct choice *best, const struct member *m,
                    const struct rival *rival, double odds)
{
    if (odds > best->odds)
        *best = (struct choice){ m, rival->signature, odds };
}

int route_or_link (struct explanation *ex, size_t c, const struct pathset *ps,
                   double fail_ns, const struct member **face)
{
    const struct network *net = pathset_network (ps);
    const struct causes *causes = ex->causes;
    struct choice best = { 0 };
    bool alone = causes->start[ex->cause[c].signature + 1]
                 == causes->start[ex->cause[c].signature] + 1;
    struct rival *rival;
    double *more;
    size_t n;
    int rc = 0;

    *face = causes_simplest (causes, ex->cause[c].signature);
    if ((*face)->suspect.kind != SUSPECT_ROUTE
        && !is_switch_link (net, &(*face)->suspect))
        return 0;
    more = find_more (ex, c);
    rival = explain_suspects (ex, c, &n);
    for (size_t i = 0; i < n && more && rival; i++) {
        const struct rival *r = &rival[i];
        double unit = causes_simplest (causes, r->signature)->unit;

        for (size_t k = causes->first[r->signature];
             k < causes->first[r->signature + 1]; k++) {
            const struct member *m = &causes->member[k];
            struct detour_fit fit = fit_of (ex, ps, more, r, m);
            double excess_ns = r->excess_ns * unit / m->unit;

            if (r->excess_ns > 0 && is_switch_link (net, &m->suspect))
                choose (&best, m, r,
                        likelihood (ex, r) * link_density (excess_ns)
                            * (excess_ns > fail_ns ? 1 : ROUTE_ODDS));
            if (fit.sd < DETOUR_SD)
                choose (&best, m, r,
                        (fit.by_others ? CHANCE_ODDS
                         : alone       ? PAIR_ODDS
                                       : ROUTE_ODDS)
                            * likelihood (ex, r) * fit.density);
        }
    }
    if (!more || !rival)
        rc = -1;
    else if (best.member)
        rc = explain_swap (ex, c, best.signature);
    *face = best.member;
    free (rival);
    free (more);
    return rc;
}

struct guess {
    uint32_t sw;
    double odds;
};

static int compare_guesses (const void *va, const void *vb)
{
    const struct guess *a = va;
    const struct guess *b = vb;

    if (a->odds != b->odds)
        return a->odds > b->odds ? -1 : 1;
    return (a->sw > b->sw) - (a->sw < b->sw);
}

static size_t add_guess (struct guess *v, size_t n, uint32_t sw, double odds)
{
    size_t i = 0;

    while (i < n && v[i].sw != sw)
        i++;
    if (i == n)
        v[n++] = (struct guess){ sw, 0 };
    v[i].odds += odds;
    return n;
}

int route_switches (struct explanation *ex, size_t c,
                    const struct pathset *ps, uint32_t *sw, size_t most)
{
    const struct causes *causes = ex->causes;
    size_t members = 0;
    size_t found = 0;
    struct guess *v;
    size_t n;
    double *more = find_more (ex, c);
    struct rival *rival = more ? explain_suspects (ex, c, &n) : NULL;

    for (size_t i = 0; rival && i < n; i++)
        members += causes->first[rival[i].signature + 1]
                   - causes->first[rival[i].signature];
    v = malloc ((members + 1) * sizeof (*v));
    for (size_t i = 0; rival && v && i < n; i++)
        for (size_t k = causes->first[rival[i].signature];
             k < causes->first[rival[i].signature + 1]; k++) {
            const struct member *m = &causes->member[k];
            struct detour_fit fit = fit_of (ex, ps, more, &rival[i], m);

            if (m->suspect.kind == SUSPECT_ROUTE)
                found = add_guess (v, found, m->suspect.index,
                                   likelihood (ex, &rival[i]) * fit.density);
        }
    free (more);
    if (!rival || !v) {
        free (rival);
        free (v);
        return -1;
    }
    qsort (v, found, sizeof (*v), compare_guesses);
    for (size_t i = 0; i < found && i < most; i++)
        sw[i] = v[i].sw;
    free (rival);
    free (v);
    return (int)(found < most ? found : most);
}
