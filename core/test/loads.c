/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The second part of a plan, and the second look: an example, then plans of many
 * networks and jobs, which a checker that is not their maker's checks.
 */
#include "config.h"
#include "core/rate/loads.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "core/rate/flows.h"
#include "core/test/tablenet.h"
#include "core/test/treenet.h"
#include "tests/tap.h"
#include "util/map.h"

#define GB 1e9

/* Flows of each endpoint's port, with others, and how many rounds it is in. */
struct outcome {
    bool good;
    size_t rounds, links, filled, hosts, host_filled;
    size_t least; /* flows of a port */
    size_t far;   /* flows that cross links between switches */
};

static struct outcome loads_outcome (struct pathset *ps,
                                     const struct plan *plan,
                                     const uint32_t *slot)
{
    const struct network *net = pathset_network (ps);
    struct outcome out = { .rounds = plan_rounds (plan) };
    size_t *flows = table_alloc (pathset_ports (ps), sizeof (*flows)), n;
    const struct plan_target *t = plan_targets (plan, &out.links);
    struct error err = { 0 };

    out.good = flows_check_slots (ps, plan, slot, &err) == 0;
    if (!out.good)
        diag ("%s", err.text);
    for (size_t i = 0; i < out.links; i++) {
        bool host = net->link[t[i].link].kind == LINK_HOST;

        out.filled += t[i].filled;
        out.hosts += host;
        out.host_filled += host && t[i].filled;
    }
    for (size_t r = 0; r < out.rounds; r++) {
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            uint32_t arc[PATH_MAX_HOPS];

            out.far += pathset_walk (ps, p[i].a, p[i].b, arc, NULL) > 2;
            flows[pathset_port (ps, p[i].a)]++;
            flows[pathset_port (ps, p[i].b)]++;
        }
    }
    out.least = SIZE_MAX;
    for (size_t i = 0; i < pathset_ports (ps); i++)
        out.least = flows[i] < out.least ? flows[i] : out.least;
    free (flows);
    return out;
}

static struct outcome make_loads (struct pathset *ps,
                                  const struct loads_options *opts)
{
    struct error err = { 0 };
    struct plan *plan = loads_make (ps, opts, &err);
    struct outcome out = { 0 };

    if (plan)
        out = loads_outcome (ps, plan, opts->slot);
    else
        diag ("%s", err.text);
    plan_destroy (plan);
    return out;
}

static void set_rates (struct link_info *info, size_t nlinks, size_t n,
                       double host, double other)
{
    for (size_t l = 0; l < nlinks; l++)
        info[l].rate = GB * (l < n ? host : other);
}

static const struct tree_case {
    size_t p, q;
    enum tree_routing routing;
    double host, other; /* Gb/s */
    size_t job;         /* endpoints drawn, 0: all; or the first ones */
    bool first;
    bool hosts;
    double filled; /* share of the links, at least */
    size_t rounds; /* at most */
    size_t least;  /* flows of a port */
} trees[] = {
    { 8, 3, TREE_DMODK, 200, 200, 0, 0, 0, 1, 7, 2 },
    { 8, 3, TREE_MINHOP, 200, 200, 0, 0, 0, 1, 10, 2 },
    { 8, 3, TREE_MINHOP, 100, 200, 0, 0, 0, .97, 20, 2 },
    { 8, 3, TREE_DMODK, 0, 0, 0, 0, 0, 1, 7, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 2, 1, 0, 1, 1, 1 },
    { 8, 3, TREE_DMODK, 200, 200, 2, 0, 0, 1, 1, 1 },
    { 8, 3, TREE_DMODK, 200, 200, 3, 1, 0, 1, 3, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 3, 0, 0, 1, 3, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 4, 1, 0, 1, 2, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 6, 1, 0, 1, 7, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 16, 1, 0, 1, 6, 2 },
    { 8, 3, TREE_MINHOP, 200, 200, 16, 1, 0, 1, 7, 2 },
    { 8, 3, TREE_MINHOP, 200, 200, 16, 0, 0, 1, 14, 2 },
    { 36, 2, TREE_DMODK, 200, 200, 150, 0, 0, 1, 24, 2 },
    { 36, 2, TREE_MINHOP, 200, 400, 150, 1, 0, .9, 16, 2 },
    { 24, 3, TREE_DMODK, 200, 200, 0, 0, 0, 1, 8, 2 },
    { 24, 3, TREE_MINHOP, 200, 200, 0, 0, 0, 1, 10, 2 },
    { 8, 3, TREE_DMODK, 200, 200, 0, 0, 1, 1, 2, 2 },
    { 12, 3, TREE_DMODK, 200, 200, 63, 1, 1, 1, 3, 2 },
    { 12, 3, TREE_MINHOP, 200, 200, 40, 0, 1, 1, 8, 1 },
};

static void test_trees (void)
{
    for (size_t i = 0; i < sizeof (trees) / sizeof (trees[0]); i++) {
        const struct tree_case *c = &trees[i];
        struct loads_options opts = { .hosts = c->hosts, .seed = 1 };
        struct treenet *t = treenet_create (c->p, c->q, c->routing, 1);
        uint32_t *who = table_alloc (t->n, sizeof (*who));
        struct pathset *ps;
        struct outcome out;

        set_rates (t->info, t->net.nlinks, t->n, c->host, c->other);
        for (size_t k = 0; k < t->n; k++)
            who[k] = k;
        ps = c->job && !c->first
                 ? treenet_random (t, c->job, 1)
                 : treenet_pathset (t, who, c->job ? c->job : t->n);
        out = make_loads (ps, &opts);
        ok (out.good && out.filled >= c->filled * out.links
                && out.rounds <= c->rounds && out.least >= c->least
                && out.hosts == pathset_size (ps)
                && out.host_filled == out.hosts,
            "%zu %sof %zu hosts, %g and %g Gb/s%s: %zu rounds fill %zu of %zu"
            " links, %zu flows of a host",
            pathset_size (ps), c->first ? "neighbours " : "", t->n, c->host,
            c->other, c->hosts ? ", hosts" : "", out.rounds, out.filled,
            out.links, out.least);
        pathset_destroy (ps);
        treenet_destroy (t);
        free (who);
    }
}

int main (void)
{
    test_trees ();
    return done_testing ();
}
