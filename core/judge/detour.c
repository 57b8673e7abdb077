/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/detour.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"

static uint32_t tail (const struct network *net, uint32_t arc)
{
    return net->link[arc_link (arc)].end[arc % 2];
}

static uint32_t head (const struct network *net, uint32_t arc)
{
    return tail (net, arc ^ 1);
}

/* Whether an arc leads from a switch to another switch. */
static bool is_out (const struct network *net, uint32_t arc)
{
    return net->link[arc_link (arc)].kind == LINK_SWITCH
           && tail (net, arc) != NETWORK_NONE;
}

void detours_make (struct detours *d, const struct network *net)
{
    size_t narcs = 2 * net->nlinks;

    *d = (struct detours){
        .net = net,
        .first = xcalloc (net->nswitches + 2, sizeof (*d->first)),
        .arc = xarray (narcs, sizeof (*d->arc)),
    };
    for (uint32_t a = 0; a < narcs; a++)
        if (is_out (net, a))
            d->first[tail (net, a) + 2]++;
    for (size_t s = 2; s < net->nswitches + 2; s++)
        d->first[s] += d->first[s - 1];
    for (uint32_t a = 0; a < narcs; a++)
        if (is_out (net, a))
            d->arc[d->first[tail (net, a) + 1]++] = a;
}

void detours_clear (struct detours *d)
{
    free (d->first);
    free (d->arc);
    *d = (struct detours){ 0 };
}

/* Arcs from a place to an endpoint by the tables, at most so many; -1: they do
 * not lead there, or lead through place `but`.
 */
static int walk (const struct network *net, uint32_t at, uint32_t to,
                 uint32_t but, uint32_t *arc, int most)
{
    uint32_t target = net->place (net->net, to);
    int n = 0;

    while (at != target) {
        if (at == but || at == NETWORK_NONE || n == most)
            return -1;
        at = net->hop (net->net, at, to, &arc[n++]);
    }
    return n;
}

int detour_walk (const struct detours *d, uint32_t out, uint32_t to,
                 uint32_t *arc)
{
    const struct network *net = d->net;
    uint32_t sw = tail (net, out);
    uint32_t right;

    if (net->hop (net->net, sw, to, &right) == NETWORK_NONE || right == out)
        return 0;
    arc[0] = out;
    return 1 + walk (net, head (net, out), to, sw, arc + 1, PATH_MAX_HOPS - 1);
}

bool detour_exists (const struct detours *d, uint32_t sw, uint32_t to)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (size_t i = d->first[sw]; i < d->first[sw + 1]; i++)
        if (detour_walk (d, d->arc[i], to, arc) > 0)
            return true;
    return false;
}

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

struct detour_fit detour_fit (const struct detours *d,
                              const struct model *model, const double *more_ns,
                              uint32_t sw, uint32_t to, double excess_ns,
                              double stderr_ns)
{
    struct detour_fit fit = { INFINITY, 0, false };
    struct detour_way right, way;
    size_t n = 0;

    right.n = walk (d->net, sw, to, NETWORK_NONE, right.arc, PATH_MAX_HOPS);
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
