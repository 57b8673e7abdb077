/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. By Bayes, a route's odds are the likelihood of the rows, exp of minus
 * half of what it misses of chi square, times the density of such an excess
 * over its detours. A switch has the odds of all its routes.
 */
#include "config.h"
#include "core/judge/route.h"

#include <math.h>
#include <stdlib.h>

#define DETOUR_SD 2.5 /* that a route may be off what a detour adds */

/* How a rival's excess goes with what a route of its members would add. */
static struct detour_fit fit_of (const struct explanation *ex,
                                 const struct pathset *ps,
                                 const struct rival *rival,
                                 const struct member *m)
{
    const struct suspect *s = &m->suspect;
    double scale = causes_simplest (ex->causes, rival->signature)->unit
                   / m->unit;

    if (s->kind != SUSPECT_ROUTE)
        return (struct detour_fit){ INFINITY, 0 };
    return detour_fit (&ex->causes->detours, ex->model, s->index,
                       pathset_endpoint (ps, s->to)->id,
                       rival->excess_ns * scale,
                       rival->stderr_ns * scale);
}

static double odds (const struct explanation *ex, const struct rival *rival,
                    const struct detour_fit *fit)
{
    return exp (-rival->less / (2 * ex->scale * ex->scale)) * fit->density;
}

static bool is_switch_link (const struct network *net,
                            const struct suspect *s)
{
    if (s->kind == SUSPECT_LINK)
        return net->link[s->index].kind == LINK_SWITCH;
    return s->kind == SUSPECT_ARC
           && net->link[arc_link (s->index)].kind == LINK_SWITCH;
}

const struct member *route_or_link (struct explanation *ex, size_t c,
                                    const struct pathset *ps)
{
    const struct network *net = pathset_network (ps);
    const struct causes *causes = ex->causes;
    const struct member *self = causes_simplest (causes,
                                                 ex->cause[c].signature);
    const struct member *route = NULL;
    const struct member *link = NULL;
    const struct rival *of_route = NULL;
    const struct rival *of_link = NULL;
    struct rival *rival;
    double most = 0;
    size_t n;

    if (self->suspect.kind != SUSPECT_ROUTE
        && !is_switch_link (net, &self->suspect))
        return self;
    if (!(rival = explain_suspects (ex, c, &n)))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        const struct rival *r = &rival[i];

        for (size_t k = causes->first[r->signature];
             k < causes->first[r->signature + 1]; k++) {
            const struct member *m = &causes->member[k];
            struct detour_fit fit = fit_of (ex, ps, r, m);

            if (!link && is_switch_link (net, &m->suspect)) {
                link = m;
                of_link = r;
            }
            if (fit.sd < DETOUR_SD && odds (ex, r, &fit) > most) {
                most = odds (ex, r, &fit);
                route = m;
                of_route = r;
            }
        }
    }
    if (route || link) {
        self = route ? route : link;
        if (explain_swap (ex, c, (route ? of_route : of_link)->signature) < 0)
            self = NULL;
    }
    free (rival);
    return self;
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
    struct rival *rival = explain_suspects (ex, c, &n);

    for (size_t i = 0; i < n && rival; i++)
        members += causes->first[rival[i].signature + 1]
                   - causes->first[rival[i].signature];
    v = malloc ((members + 1) * sizeof (*v));
    for (size_t i = 0; i < n && rival && v; i++)
        for (size_t k = causes->first[rival[i].signature];
             k < causes->first[rival[i].signature + 1]; k++) {
            const struct member *m = &causes->member[k];
            struct detour_fit fit = fit_of (ex, ps, &rival[i], m);

            if (m->suspect.kind == SUSPECT_ROUTE)
                found = add_guess (v, found, m->suspect.index,
                                   odds (ex, &rival[i], &fit));
        }
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
