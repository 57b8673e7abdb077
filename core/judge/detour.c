/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/detour.h"

#include <math.h>
#include <stdlib.h>

static uint32_t tail (const struct network *net, uint32_t arc)
{
    return net->link[arc_link (arc)].end[arc % 2];
}

static uint32_t head (const struct network *net, uint32_t arc)
{
    return tail (net, arc ^ 1);
}

int detours_make (struct detours *d, const struct network *net)
{
    size_t narcs = 2 * net->nlinks;
    size_t n = 0;

    *d = (struct detours){
        .net = net,
        .first = calloc (net->nswitches + 2, sizeof (*d->first)),
    };
    if (!d->first)
        return -1;
    for (uint32_t a = 0; a < narcs; a++)
        if (net->link[arc_link (a)].kind == LINK_SWITCH
            && tail (net, a) != NETWORK_NONE) {
            d->first[tail (net, a) + 2]++;
            n++;
        }
    if (!(d->arc = malloc ((n + 1) * sizeof (*d->arc))))
        return -1;
    for (size_t s = 2; s < net->nswitches + 2; s++)
        d->first[s] += d->first[s - 1];
    for (uint32_t a = 0; a < narcs; a++)
        if (net->link[arc_link (a)].kind == LINK_SWITCH
            && tail (net, a) != NETWORK_NONE)
            d->arc[d->first[tail (net, a) + 1]++] = a;
    return 0;
}

void detours_clear (struct detours *d)
{
    free (d->first);
    free (d->arc);
    *d = (struct detours){ 0 };
}

int detour_walk (const struct detours *d, uint32_t out, uint32_t to,
                 uint32_t *arc)
{
    const struct network *net = d->net;
    uint32_t target = net->place (net->net, to);
    uint32_t sw = tail (net, out);
    uint32_t at = head (net, out);
    uint32_t right;
    int n = 0;

    if (net->hop (net->net, sw, to, &right) == NETWORK_NONE || right == out)
        return 0;
    arc[n++] = out;
    while (at != target) {
        if (at == sw || n == PATH_MAX_HOPS)
            return 0;
        at = net->hop (net->net, at, to, &arc[n++]);
        if (at == NETWORK_NONE)
            return 0;
    }
    return n;
}

bool detour_exists (const struct detours *d, uint32_t sw, uint32_t to)
{
    uint32_t arc[PATH_MAX_HOPS];

    for (size_t i = d->first[sw]; i < d->first[sw + 1]; i++)
        if (detour_walk (d, d->arc[i], to, arc) > 0)
            return true;
    return false;
}

/* Arcs from a switch to an endpoint by the tables. */
static int walk (const struct network *net, uint32_t sw, uint32_t to,
                 uint32_t *arc)
{
    uint32_t target = net->place (net->net, to);
    uint32_t at = sw;
    int n = 0;

    while (at != target && at != NETWORK_NONE && n < PATH_MAX_HOPS)
        at = net->hop (net->net, at, to, &arc[n++]);
    return at == target ? n : 0;
}

/* Add the links of arcs that the other n do not cross. */
static void add_links (const struct model *model, const struct network *net,
                       const double *more_ns, const uint32_t *arc, int narcs,
                       const uint32_t *other,
                       int n, double sign, double *mean, double *var)
{
    for (int i = 0; i < narcs; i++) {
        double ns;
        double spread;
        int k = 0;

        while (k < n && arc_link (other[k]) != arc_link (arc[i]))
            k++;
        if (k < n)
            continue;
        model_link (model, net, arc_link (arc[i]), &ns, &spread);
        *mean += sign * (ns + more_ns[arc[i]]);
        *var += spread * spread;
    }
}

struct detour_fit detour_fit (const struct detours *d,
                              const struct model *model,
                              const double *more_ns, uint32_t sw, uint32_t to,
                              double excess_ns, double stderr_ns)
{
    struct detour_fit fit = { INFINITY, 0, false };
    uint32_t right[PATH_MAX_HOPS];
    int nright = walk (d->net, sw, to, right);
    size_t n = 0;

    for (size_t i = d->first[sw]; i < d->first[sw + 1]; i++) {
        uint32_t arc[PATH_MAX_HOPS];
        int narcs = detour_walk (d, d->arc[i], to, arc);
        double var = stderr_ns * stderr_ns;
        double mean = 0;
        double more = 0;
        double sd;

        if (narcs == 0)
            continue;
        add_links (model, d->net, more_ns, arc, narcs, right, nright, 1,
                   &mean, &var);
        add_links (model, d->net, more_ns, right, nright, arc, narcs, -1,
                   &mean, &var);
        sd = fabs (excess_ns - mean) / sqrt (var);
        for (int k = 0; k < narcs; k++)
            more += more_ns[arc[k]];
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
