/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: all flows of a plan, with their arcs, are laid out in order first.
 * The sums of a round are taken anew where they are needed: the arcs of its
 * flows are few beside those of the network.
 */
#include "config.h"
#include "compare/throughput/carry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "compare/throughput/across.h"
#include "compare/throughput/fair.h"
#include "util/alloc.h"

struct flows {
    size_t n, nrounds, narcs;
    size_t *round; /* [nrounds + 1] its first flow */
    size_t *first; /* [n + 1] its first arc */
    uint32_t *arc;
};

struct suspect {
    size_t flow;
    uint32_t link;
};

struct work {
    const struct network *net;
    const struct flows *f;
    const double *nominal;  /* [nlinks] */
    const double *rate;     /* [n] measured */
    double *fair;           /* [n] by nominal rates, HUGE_VAL: not measured */
    double *sum;            /* [narcs] of a round */
    double *through;        /* [nswitches] of a round */
    double floor;           /* share below which a flow is slow */
    struct suspect *suspect; /* of slow flows, flow by flow */
    size_t nsuspects, size;
    size_t *explains;       /* [nlinks] flows */
    struct carry *out;
};

static void flows_clear (struct flows *f)
{
    free (f->round);
    free (f->first);
    free (f->arc);
}

static int lay_out (struct flows *f, const struct pathset *ps,
                    const struct plan *plan, struct error *err)
{
    size_t size = 0, n = 0, at = 0;

    *f = (struct flows){
        .n = plan_probes (plan),
        .nrounds = plan_rounds (plan),
        .narcs = 2 * pathset_network (ps)->nlinks,
    };
    f->round = xcalloc (f->nrounds + 1, sizeof (*f->round));
    f->first = xcalloc (f->n + 1, sizeof (*f->first));
    if (!f->round || !f->first)
        return error_nomem (err);
    for (size_t r = 0; r < f->nrounds; r++) {
        const struct probe *p = plan_round (plan, r, &n);

        f->round[r + 1] = f->round[r] + n;
        for (size_t i = 0; i < n; i++) {
            size_t flow = f->round[r] + i;
            int there, back;

            if (at + ROW_MAX > size) {
                uint32_t *arc = realloc (f->arc, (2 * size + ROW_MAX)
                                                     * sizeof (*arc));

                if (!arc)
                    return error_nomem (err);
                f->arc = arc;
                size = 2 * size + ROW_MAX;
            }
            if ((there = pathset_walk (ps, p[i].a, p[i].b, f->arc + at, err))
                    < 0
                || (back = pathset_walk (ps, p[i].b, p[i].a,
                                         f->arc + at + there, err)) < 0)
                return -1;
            at += there + back;
            f->first[flow + 1] = at;
        }
    }
    return 0;
}

/* Fair rates of the flows of a round of which skip[] is not NAN. */
static int share_round (const struct flows *f, size_t round,
                        const double *skip, const double *capacity,
                        double *rate, struct error *err)
{
    size_t from = f->round[round], n = f->round[round + 1] - from, m = 0;
    size_t *first = xcalloc (n + 1, sizeof (*first));
    uint32_t *arc = xcalloc (f->first[from + n] - f->first[from] + 1,
                            sizeof (*arc));
    double *fair = xcalloc (n + 1, sizeof (*fair));
    int rc = first && arc && fair ? 0 : error_nomem (err);

    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t flow = from + i, more = f->first[flow + 1] - f->first[flow];

        if (skip && isnan (skip[flow]))
            continue;
        memcpy (arc + first[m], f->arc + f->first[flow],
                more * sizeof (*arc));
        first[m + 1] = first[m] + more;
        m++;
    }
    if (rc == 0)
        rc = fair_rates (first, arc, m, capacity, f->narcs, fair, err);
    m = 0;
    for (size_t i = from; i < from + n && rc == 0; i++)
        rate[i] = skip && isnan (skip[i]) ? NAN : fair[m++];
    free (first);
    free (arc);
    free (fair);
    return rc;
}

static int share_all (const struct flows *f, const double *skip,
                      const double *link_rate, double *rate,
                      struct error *err)
{
    double *capacity = xcalloc (f->narcs + 1, sizeof (*capacity));
    int rc = capacity ? 0 : error_nomem (err);

    for (size_t x = 0; x < f->narcs && rc == 0; x++)
        capacity[x] = link_rate[x / 2];
    for (size_t r = 0; r < f->nrounds && rc == 0; r++)
        rc = share_round (f, r, skip, capacity, rate, err);
    free (capacity);
    return rc;
}

int carry_simulate (const struct pathset *ps, const struct plan *plan,
                    const double *link_rate, double *rate, struct error *err)
{
    struct flows f;
    int rc = lay_out (&f, ps, plan, err);

    if (rc == 0)
        rc = share_all (&f, NULL, link_rate, rate, err);
    flows_clear (&f);
    return rc;
}

/* The sums of the round's measured flows by arc, of v[flow]. */
static void sum_round (struct work *w, size_t round, const double *v)
{
    const struct flows *f = w->f;
    size_t from = f->round[round], to = f->round[round + 1];

    for (size_t k = f->first[from]; k < f->first[to]; k++)
        w->sum[f->arc[k]] = 0;
    for (size_t i = from; i < to; i++)
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++)
            w->sum[f->arc[k]] += isnan (w->rate[i]) ? 0 : v[i];
}

static struct carry_link *of_arc (struct work *w, uint32_t arc)
{
    return &w->out->link[arc_link (arc)];
}

/* Whoever passes a switch, there and back, crosses four arcs that end at it:
 * its part of what one of them carries.
 */
static void pass_switches (struct work *w, uint32_t arc, double carried)
{
    const uint32_t *end = w->net->link[arc_link (arc)].end;

    for (int k = 0; k < 2; k++)
        if (end[k] != NETWORK_NONE) {
            w->through[end[k]] += carried / 4;
            w->out->through[end[k]] = fmax (w->out->through[end[k]],
                                            w->through[end[k]]);
        }
}

/* What each arc and switch carried at most, and what it was offered then. */
static void find_most (struct work *w, size_t round)
{
    const struct flows *f = w->f;
    size_t from = f->first[f->round[round]];
    size_t to = f->first[f->round[round + 1]];

    sum_round (w, round, w->rate);
    memset (w->through, 0, w->net->nswitches * sizeof (*w->through));
    for (size_t k = from; k < to; k++) {
        uint32_t x = f->arc[k];
        struct carry_link *l = of_arc (w, x);

        if (w->sum[x] <= 0) /* nothing, or this round's is taken */
            continue;
        l->rounds[x % 2]++;
        pass_switches (w, x, w->sum[x]);
        if (w->sum[x] > l->carried[x % 2]) {
            l->carried[x % 2] = w->sum[x];
            l->offered[x % 2] = 0; /* of this round, below */
        }
        w->sum[x] = 0;
    }
    sum_round (w, round, w->fair);
    for (size_t k = from; k < to; k++) {
        uint32_t x = f->arc[k];

        if (of_arc (w, x)->offered[x % 2] == 0)
            of_arc (w, x)->offered[x % 2] = w->sum[x];
    }
}

static int find_usual (struct work *w, bool known, double much,
                       struct error *err)
{
    double *share = xcalloc (w->f->n + 1, sizeof (*share));
    size_t n = 0;

    if (!share)
        return error_nomem (err);
    for (size_t i = 0; i < w->f->n; i++)
        if (!isnan (w->rate[i]))
            share[n++] = w->rate[i] / w->fair[i];
    w->out->flows = n;
    w->out->lost = w->f->n - n;
    w->out->usual = n > 0 ? stats_median (share, n) : NAN;
    w->floor = w->out->usual;
    if (known)
        w->floor = n < CARRY_USUAL_MIN ? 1 : fmin (1, w->floor);
    w->floor *= 1 - much;
    free (share);
    return 0;
}

static int add_suspect (struct work *w, size_t flow, uint32_t link)
{
    /* once a link, whichever way */
    for (size_t i = w->nsuspects; i-- > 0 && w->suspect[i].flow == flow;)
        if (w->suspect[i].link == link)
            return 0;
    if (w->nsuspects == w->size) {
        size_t size = 2 * w->size + 64;
        struct suspect *s = realloc (w->suspect, size * sizeof (*s));

        if (!s)
            return -1;
        w->suspect = s;
        w->size = size;
    }
    w->suspect[w->nsuspects++] = (struct suspect){ flow, link };
    return 0;
}

static int find_suspects (struct work *w, size_t round, double much,
                          struct error *err)
{
    const struct flows *f = w->f;

    sum_round (w, round, w->rate);
    for (size_t i = f->round[round]; i < f->round[round + 1]; i++) {
        size_t before = w->nsuspects;

        if (isnan (w->rate[i]) || w->rate[i] >= w->floor * w->fair[i])
            continue;
        w->out->slow++;
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++) {
            uint32_t x = f->arc[k];
            double most = of_arc (w, x)->carried[x % 2];

            if (w->sum[x] >= most * (1 - much)
                && most < w->floor * w->nominal[x / 2]
                && add_suspect (w, i, x / 2) < 0)
                return error_nomem (err);
        }
        w->out->unexplained += w->nsuspects == before;
    }
    return 0;
}

/* Links that explain the same flows as this one does. */
static void mark_alike (struct work *w, uint32_t link, size_t *common)
{
    for (size_t i = 0; i < w->nsuspects;) {
        size_t from = i, flow = w->suspect[i].flow;
        bool has = false;

        for (; i < w->nsuspects && w->suspect[i].flow == flow; i++)
            has = has || w->suspect[i].link == link;
        for (size_t k = from; k < i && has; k++)
            common[w->suspect[k].link]++;
    }
}

/* Take away the flows that a link explains; the sum of their shares. */
static double take_away (struct work *w, uint32_t link)
{
    double sum = 0;
    size_t keep = 0;

    for (size_t i = 0; i < w->nsuspects;) {
        size_t from = i, flow = w->suspect[i].flow;
        bool has = false;

        for (; i < w->nsuspects && w->suspect[i].flow == flow; i++)
            has = has || w->suspect[i].link == link;
        if (has)
            sum += w->rate[flow] / w->fair[flow];
        for (size_t k = from; k < i && !has; k++)
            w->suspect[keep++] = w->suspect[k];
    }
    w->nsuspects = keep;
    return sum;
}

static int add_finding (struct work *w, uint32_t link, struct error *err)
{
    struct carry *out = w->out;
    struct carry_finding *f = &out->finding[out->nfindings];
    size_t *common = xcalloc (out->nlinks + 1, sizeof (*common));

    if (!common)
        return error_nomem (err);
    mark_alike (w, link, common);
    *f = (struct carry_finding){ .flows = w->explains[link] };
    out->nfindings++;
    for (size_t l = 0; l < out->nlinks; l++)
        f->nlinks += common[l] == f->flows && w->explains[l] == f->flows;
    f->link = xcalloc (f->nlinks + 1, sizeof (*f->link));
    if (!f->link) {
        free (common);
        return error_nomem (err);
    }
    f->nlinks = 0;
    for (size_t l = 0; l < out->nlinks; l++)
        if (common[l] == f->flows && w->explains[l] == f->flows)
            f->link[f->nlinks++] = l;
    free (common);
    f->share = take_away (w, link) / f->flows;
    return 0;
}

/* The link that explains the most flows, of several the one that carried the
 * least of its rate.
 */
static uint32_t best_link (struct work *w)
{
    uint32_t best = 0;
    double least = HUGE_VAL;

    memset (w->explains, 0, w->out->nlinks * sizeof (*w->explains));
    for (size_t i = 0; i < w->nsuspects; i++)
        w->explains[w->suspect[i].link]++;
    for (size_t i = 0; i < w->nsuspects; i++) {
        uint32_t l = w->suspect[i].link;
        const struct carry_link *c = &w->out->link[l];
        double share = fmax (c->carried[0], c->carried[1]) / w->nominal[l];

        if (i == 0 || w->explains[l] > w->explains[best]
            || (w->explains[l] == w->explains[best] && share < least)) {
            best = l;
            least = share;
        }
    }
    return best;
}

static int find_slow (struct work *w, double much, struct error *err)
{
    for (size_t r = 0; r < w->f->nrounds; r++)
        if (find_suspects (w, r, much, err) < 0)
            return -1;
    while (w->nsuspects > 0 && w->out->nfindings < CARRY_FINDINGS_MAX)
        if (add_finding (w, best_link (w), err) < 0)
            return -1;
    return 0;
}

static struct carry *carry_create (size_t nlinks, size_t nswitches)
{
    struct carry *c = xcalloc (1, sizeof (*c));

    if (!c)
        return NULL;
    c->nlinks = nlinks;
    c->link = xcalloc (nlinks + 1, sizeof (*c->link));
    c->through = xcalloc (nswitches + 1, sizeof (*c->through));
    c->finding = xcalloc (CARRY_FINDINGS_MAX, sizeof (*c->finding));
    if (c->link && c->through && c->finding)
        return c;
    carry_destroy (c);
    return NULL;
}

void carry_destroy (struct carry *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->nfindings; i++)
        free (c->finding[i].link);
    free (c->finding);
    free (c->link);
    free (c->through);
    free (c);
}

static int run (struct work *w, const struct pathset *ps,
                const struct carry_options *opts, struct error *err)
{
    if (share_all (w->f, w->rate, w->nominal, w->fair, err) < 0
        || find_usual (w, across_known (ps), opts->much, err) < 0)
        return -1;
    for (size_t r = 0; r < w->f->nrounds; r++)
        find_most (w, r);
    return find_slow (w, opts->much, err);
}

struct carry *carry_make (const struct pathset *ps, const struct plan *plan,
                          const double *rate,
                          const struct carry_options *opts,
                          struct error *err)
{
    const struct network *net = pathset_network (ps);
    struct flows f = { 0 };
    double *nominal = across_rates (ps, err);
    struct work w = {
        .net = net, .f = &f, .nominal = nominal, .rate = rate,
    };

    if (!nominal || lay_out (&f, ps, plan, err) < 0)
        goto error;
    w.fair = xcalloc (f.n + 1, sizeof (*w.fair));
    w.sum = xcalloc (f.narcs + 1, sizeof (*w.sum));
    w.through = xcalloc (net->nswitches + 1, sizeof (*w.through));
    w.explains = xcalloc (net->nlinks + 1, sizeof (*w.explains));
    w.out = carry_create (net->nlinks, net->nswitches);
    if (!w.fair || !w.sum || !w.through || !w.explains || !w.out)
        error_nomem (err);
    else if (run (&w, ps, opts, err) == 0)
        goto done;
error:
    carry_destroy (w.out);
    w.out = NULL;
done:
    flows_clear (&f);
    free (nominal);
    free (w.fair);
    free (w.sum);
    free (w.through);
    free (w.explains);
    free (w.suspect);
    return w.out;
}
