/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "bench/reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bench/need.h"
#include "core/linear/linalg.h"
#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "util/alloc.h"

enum { CAUSES = 16 };

#define ENOUGH_SD 6.0
#define SD_MIN 10.0

const char *const reference_names[REFERENCES] = { "naive", "sparse", "voting" };

/* A pair of endpoints, in the run and in the baseline, over all rounds. */
struct pair {
    uint32_t a, b;
    double min[2], median[2]; /* of the baseline; of the run */
    struct row row;
};

struct pairs {
    struct pathset *ps;
    struct pair *v;
    size_t n;
    int32_t *at; /* [ends * ends] */
};

static void take (struct pairs *p, const struct samples *s, int which)
{
    size_t ends = pathset_size (p->ps);

    for (size_t i = 0; i < s->nsamples; i++) {
        const struct sample *x = &s->sample[i];
        uint32_t a = x->a < x->b ? x->a : x->b;
        uint32_t b = x->a < x->b ? x->b : x->a;
        int32_t *at = &p->at[a * ends + b];
        struct pair *v;

        if (x->lost == x->sent)
            continue;
        if (!*at) {
            v = &p->v[p->n++];
            *v = (struct pair){ .a = a, .b = b,
                                .min = { INFINITY, INFINITY },
                                .median = { INFINITY, INFINITY } };
            if (pathset_row (p->ps, a, b, &v->row, NULL) < 0)
                abort ();
            *at = (int32_t)p->n;
        }
        v = &p->v[*at - 1];
        v->min[which] = fmin (v->min[which], x->rtt_ns[RTT_MIN]);
        v->median[which] = fmin (v->median[which], x->rtt_ns[RTT_MEDIAN]);
    }
}

static uint32_t host_link (const struct pairs *p, const struct pair *v,
                           uint32_t end)
{
    const struct network *net = pathset_network (p->ps);
    const char *host = pathset_endpoint (p->ps, end)->host;

    for (size_t k = 0; k < v->row.n; k++) {
        const struct link_info *l = &net->link[v->row.link[k]];

        if (l->kind == LINK_HOST && !strcmp (l->host, host))
            return v->row.link[k];
    }
    abort ();
}

static void add (struct reference *r, double ns)
{
    size_t i = r->n < REFERENCE_FOUND ? r->n++ : REFERENCE_FOUND - 1;

    r->found[i].nlinks = 0;
    r->found[i].excess_ns = ns;
}

static void add_link (struct reference *r, uint32_t link)
{
    if (r->found[r->n - 1].nlinks < 64)
        r->found[r->n - 1].link[r->found[r->n - 1].nlinks++] = link;
}

static void naive (struct reference *r, const struct pairs *p, double ns)
{
    size_t ends = pathset_size (p->ps);
    double *excess = xcalloc (ends, sizeof (*excess));
    double *all = xcalloc (ends, sizeof (*all));
    double *v = xcalloc (p->n, sizeof (*v));
    uint32_t *link = xcalloc (ends, sizeof (*link));
    double usual;

    for (uint32_t e = 0; e < ends; e++) {
        size_t n = 0;

        for (size_t i = 0; i < p->n; i++)
            if (p->v[i].a == e || p->v[i].b == e) {
                link[e] = host_link (p, &p->v[i], e);
                v[n++] = p->v[i].median[1] - p->v[i].median[0];
            }
        all[e] = excess[e] = n ? stats_median (v, n) / 2 : 0;
    }
    usual = stats_median (all, ends);
    for (uint32_t e = 0; e < ends; e++)
        if (excess[e] - usual > ns) {
            add (r, excess[e] - usual);
            add_link (r, link[e]);
        }
    free (excess);
    free (all);
    free (v);
    free (link);
}

static unsigned int count_of (const struct row *row, uint32_t link)
{
    for (size_t k = 0; k < row->n; k++)
        if (row->link[k] == link)
            return row->count[k];
    return 0;
}

static double sd_of (const double *left, size_t n, double *scratch)
{
    memcpy (scratch, left, n * sizeof (*left));
    return fmax (SD_MIN, stats_mad (scratch, n, 0));
}

/* Fit the chosen columns. left: the residuals. Returns false if the columns are
 * dependent.
 */
static bool fit (const struct pairs *p, const double *d,
                 const uint32_t *chosen, size_t n, double *x, double *left)
{
    double h[CAUSES * CAUSES] = { 0 };

    memset (x, 0, CAUSES * sizeof (*x));
    for (size_t i = 0; i < p->n; i++)
        for (size_t a = 0; a < n; a++) {
            double c = count_of (&p->v[i].row, chosen[a]);

            for (size_t b = 0; b <= a && c > 0; b++)
                h[a * n + b] += c * count_of (&p->v[i].row, chosen[b]);
            x[a] += c * d[i];
        }
    if (linalg_cholesky (h, n) < 0)
        return false;
    linalg_solve (h, n, x);
    for (size_t i = 0; i < p->n; i++) {
        left[i] = d[i];
        for (size_t a = 0; a < n; a++)
            left[i] -= x[a] * count_of (&p->v[i].row, chosen[a]);
    }
    return true;
}

static void sparse (struct reference *r, const struct pairs *p, double ns)
{
    const struct network *net = pathset_network (p->ps);
    size_t nlinks = net->nlinks;
    double *d = xcalloc (p->n, sizeof (*d));
    double *left = xcalloc (p->n, sizeof (*left));
    double *v = xcalloc (p->n, sizeof (*v));
    double *sum = xcalloc (nlinks, sizeof (*sum));
    double *squares = xcalloc (nlinks, sizeof (*squares));
    uint32_t chosen[CAUSES];
    double x[CAUSES];
    size_t n = 0;
    double usual;

    for (size_t i = 0; i < p->n; i++)
        v[i] = d[i] = p->v[i].min[1] - p->v[i].min[0];
    usual = stats_median (v, p->n);
    for (size_t i = 0; i < p->n; i++)
        left[i] = d[i] -= usual;
    for (int turn = 0; turn < 2 * CAUSES && n < CAUSES; turn++) {
        double sd = sd_of (left, p->n, v);
        double most = ENOUGH_SD;
        uint32_t best = 0;

        memset (sum, 0, nlinks * sizeof (*sum));
        memset (squares, 0, nlinks * sizeof (*squares));
        for (size_t i = 0; i < p->n; i++)
            for (size_t k = 0; k < p->v[i].row.n; k++) {
                double c = p->v[i].row.count[k];

                sum[p->v[i].row.link[k]] += c * left[i];
                squares[p->v[i].row.link[k]] += c * c;
            }
        for (uint32_t l = 0; l < nlinks; l++) {
            double t = squares[l] > 0 ? sum[l] / sqrt (squares[l]) / sd : 0;

            if (t > most) {
                most = t;
                best = l;
            }
        }
        if (most == ENOUGH_SD)
            break;
        chosen[n++] = best;
        if (!fit (p, d, chosen, n, x, left)) {
            n--;
            break;
        }
        for (size_t a = n; a-- > 0;)
            if (x[a] < 0) {
                memmove (&chosen[a], &chosen[a + 1],
                         (--n - a) * sizeof (*chosen));
                fit (p, d, chosen, n, x, left);
                a = n;
            }
    }
    for (size_t a = 0; a < n; a++) {
        double sd = sd_of (left, p->n, v);

        if (x[a] < ns || x[a] < ENOUGH_SD * sd / 2)
            continue;
        add (r, x[a]);
        for (uint32_t l = 0; l < nlinks; l++) {
            bool same = true, any = false;

            for (size_t i = 0; i < p->n && same; i++) {
                unsigned int c = count_of (&p->v[i].row, l);

                same = c == count_of (&p->v[i].row, chosen[a]);
                any |= c > 0;
            }
            if (same && any)
                add_link (r, l);
        }
    }
    free (d);
    free (left);
    free (v);
    free (sum);
    free (squares);
}

/* The fast flows of a sample's pair: a tenth is faster. */
static double fast_flows (const struct samples *s, const struct sample *of)
{
    double v[16 * SAMPLE_FLOWS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < s->nsamples; i++) {
        const struct sample *x = &s->sample[i];

        for (uint32_t f = 0; pair_key (x->a, x->b) == pair_key (of->a, of->b)
                             && f < x->nflows && n < sizeof (v) / sizeof (*v);
             f++)
            if (!isnan (x->flow_ns[f]))
                v[n++] = x->flow_ns[f];
    }
    stats_sort (v, n);
    return n > 0 ? stats_quantile (v, n, 0.1) : 0;
}

/* Add to votes[link] the shares of a sample's slow flows that are left. */
static void vote (struct multipath *m, const struct pathset *ps,
                  const struct sample *x, size_t slow, double *votes)
{
    const uint32_t end[2] = { pathset_endpoint (ps, x->a)->id,
                              pathset_endpoint (ps, x->b)->id };

    for (int way = 0; way < 2; way++) {
        const struct multipath_share *s;
        size_t n = multipath_shares (m, end[way], end[!way], &s);
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += s[i].share < 1 ? s[i].share : 0;
        for (size_t i = 0; i < n; i++)
            if (s[i].share < 1)
                votes[s[i].link] += (double)slow * s[i].share / sum;
    }
}

static void find_by_votes (struct reference *r, const struct pathset *ps,
                           const struct samples *run, double ns)
{
    static const struct traffic_class as;
    struct multipath *m = multipath_create (&ps, 1, &as, NULL);
    size_t nlinks = pathset_network (ps)->nlinks;
    double *votes = xarray (nlinks, sizeof (*votes)), all = 0;
    size_t *slow = xcalloc (run->nsamples, sizeof (*slow));

    for (size_t i = 0; i < run->nsamples; i++) {
        const struct sample *x = &run->sample[i];
        double fast = fast_flows (run, x);

        for (uint32_t f = 0; f < x->nflows; f++)
            slow[i] += x->flow_ns[f] > fast + ns;
        all += 2 * (double)slow[i];
    }
    while (m && r->n < REFERENCE_FOUND) {
        double most = 0;

        memset (votes, 0, nlinks * sizeof (*votes));
        for (size_t i = 0; i < run->nsamples; i++)
            if (slow[i] > 0)
                vote (m, ps, &run->sample[i], slow[i], votes);
        for (size_t l = 0; l < nlinks; l++)
            most = fmax (most, votes[l]);
        if (most < 0.01 * all || most == 0)
            break;
        r->found[r->n].nlinks = 0;
        for (size_t l = 0; l < nlinks; l++)
            if (votes[l] > most * (1 - 1e-9) && r->found[r->n].nlinks < 64)
                r->found[r->n].link[r->found[r->n].nlinks++] = (uint32_t)l;
        for (size_t i = 0; i < run->nsamples; i++) {
            const struct multipath_share *s;
            size_t n = multipath_shares (
                m, pathset_endpoint (ps, run->sample[i].a)->id,
                pathset_endpoint (ps, run->sample[i].b)->id, &s);

            for (size_t k = 0; k < n; k++)
                for (size_t j = 0; j < r->found[r->n].nlinks; j++)
                    if (s[k].link == r->found[r->n].link[j])
                        slow[i] = 0;
        }
        r->n++;
    }
    free (votes);
    free (slow);
    multipath_destroy (m);
}

void reference_find (struct reference r[REFERENCES], struct pathset *ps,
                     const struct samples *run, const struct samples *base,
                     double ns)
{
    size_t ends = pathset_size (ps);
    size_t n = 0;
    struct pairs p = {
        .ps = ps,
        .v = xcalloc (run->nsamples + base->nsamples, sizeof (*p.v)),
        .at = xcalloc (ends * ends, sizeof (*p.at)),
    };

    memset (r, 0, REFERENCES * sizeof (*r));
    take (&p, base, 0);
    take (&p, run, 1);
    for (size_t i = 0; i < p.n; i++)
        if (isfinite (p.v[i].min[0]) && isfinite (p.v[i].min[1]))
            p.v[n++] = p.v[i];
    p.n = n;
    if (n > 0) {
        naive (&r[0], &p, ns);
        sparse (&r[1], &p, ns);
    }
    if (run->spread > 0)
        find_by_votes (&r[2], ps, run, ns);
    free (p.v);
    free (p.at);
}
