/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cable at half beside one that others use: one flow over each carries the same, and
 * crowds tell them apart. Then crowds of many networks and jobs, and what their rates
 * say.
 */
#include "config.h"
#include "core/rate/crowd.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/rate/loads.h"
#include "core/test/scene.h"
#include "tests/tap.h"

enum { CROWD_ROUND = 2000 };

static void open_crowd_scene (struct scene *s, size_t levels,
                              enum tree_routing routing, size_t job)
{
    scene_create (s, levels, routing, job, 200 * GB,
                  (struct traffic_host){ 200 * GB, 200 * GB, 200 * GB }, 5);
}

/* All three looks, and what crowds say. */
static void run_crowd_scene (struct scene *s)
{
    struct loads_options opts = { .seed = 1 };
    struct error err = { .text = "" };
    struct traffic_sim crowds = s->traffic;
    struct plan *first = loads_make (s->ps, &opts, &err), *again;
    size_t narcs = 2 * s->t->net.nlinks, n;
    double *full = calloc (narcs, sizeof (*full));
    double (*fair)[2], *rate, *worst, *of;
    struct flows flows = { 0 };
    struct flow_way *way;

    for (size_t x = 0; x < narcs; x++)
        full[x] = 200 * GB;
    crowds.crowds = true;
    s->b = bursts_create ();
    if (traffic_measure (&s->traffic, s->ps, first, 0, s->b, &s->rng, &err) < 0
        || !(again = loads_again (s->ps, first, s->b, &opts, &err))
        || traffic_measure (&s->traffic, s->ps, again, 1000, s->b, &s->rng,
                            &err)
               < 0
        || !(s->plan = crowd_make (s->ps, s->b, 1, &err))
        || traffic_measure (&crowds, s->ps, s->plan, CROWD_ROUND, s->b, &s->rng,
                            &err)
               < 0)
        abort ();
    fair = calloc (s->b->nflows, sizeof (*fair));
    if (bursts_expected (s->b, s->ps, NULL, fair, &err) < 0
        || flows_of_bursts (&flows, &way, &n, s->ps, s->b, &err) < 0)
        abort ();
    rate = calloc (n, sizeof (*rate));
    worst = calloc (n, sizeof (*worst));
    of = calloc (n, sizeof (*of));
    for (size_t i = 0; i < n; i++) {
        rate[i] = s->b->flow[way[i].flow].way[way[i].way].best;
        worst[i] = s->b->flow[way[i].flow].way[way[i].way].worst;
        of[i] = fair[way[i].flow][way[i].way];
    }
    s->crowd = crowd_arcs (&s->t->net, &flows, rate, worst, of, full);
    flows_clear (&flows);
    free (way);
    free (fair);
    free (rate);
    free (worst);
    free (of);
    free (full);
    plan_destroy (first);
    plan_destroy (again);
}

/* The first: both uplinks of a leaf at half, one of them by others' flow. */
static void test_told_apart (void)
{
    struct scene s;
    uint32_t slow, busy;

    open_crowd_scene (&s, 2, TREE_DMODK, 0);
    slow = 2 * (uint32_t)s.t->n; /* up */
    busy = slow + 2;
    s.arc_bits[slow] = 100 * GB;
    s.other[0] = (struct traffic_flow){ busy, 180 * GB, 0 };
    s.traffic.nothers = 1;
    run_crowd_scene (&s);
    ok (fabs (s.crowd[slow].one - .5) < .02
            && fabs (s.crowd[busy].one - .5) < .02,
        "one flow over a cable at half has as much as beside others': %.2f, "
        "%.2f",
        s.crowd[slow].one, s.crowd[busy].one);
    ok (s.crowd[slow].inputs == 4 && fabs (s.crowd[slow].together - .5) < .02
            && crowd_most (&s.crowd[slow], .01) < CROWD_SLOW_BELOW
            && !crowd_others (&s.crowd[slow], .01),
        "... so have four: it is slow (%.2f at most)",
        crowd_most (&s.crowd[slow], .01));
    ok (s.crowd[busy].inputs == 4 && fabs (s.crowd[busy].together - .8) < .02
            && crowd_most (&s.crowd[busy], .01) > .97
            && crowd_others (&s.crowd[busy], .01),
        "... and beside others' four have more: it is not (%.2f)",
        crowd_most (&s.crowd[busy], .01));
    scene_close (&s);
}

/* Others use every cable behind one: a flow over it has no more than they leave. Flows
 * to several ends, behind several of these, show that it carries all.
 */
static void test_busy_behind (void)
{
    struct scene s;
    uint32_t up;

    open_crowd_scene (&s, 2, TREE_DMODK, 0);
    up = 2 * (uint32_t)s.t->n;
    for (uint32_t k = 0; k < 15; k++) /* and its way back, so it comes first */
        s.other[s.traffic.nothers++]
            = (struct traffic_flow){ up + 8 * (k / 2) + 1, 180 * GB, 0 };
    s.other[1].arc += 8 * 7;
    run_crowd_scene (&s);
    ok (fabs (s.crowd[up].one - .33) < .02 && s.crowd[up].inputs == 4
            && s.crowd[up].together > .97 && crowd_others (&s.crowd[up], .01),
        "one flow has %.2f, as all cables behind are busy; %u to as many ends "
        "have %.2f",
        s.crowd[up].one, (unsigned int)s.crowd[up].inputs,
        s.crowd[up].together);
    scene_close (&s);
}

/* Others use the cable to a host. If the host itself receives at half, a crowd that ends
 * there must not blame the cable.
 */
static void test_slow_end (void)
{
    enum { END = 5 };

    for (int slow = 0; slow < 2; slow++) {
        uint32_t arc[PATH_MAX_HOPS];
        struct scene s;
        size_t n, ends = 0;

        open_crowd_scene (&s, 2, TREE_DMODK, 0);
        if (slow)
            s.host[END].receive = 100 * GB;
        pathset_walk (s.ps, 31, END, arc, NULL);
        s.other[0] = (struct traffic_flow){ arc[2], 180 * GB, 0 };
        s.traffic.nothers = 1;
        run_crowd_scene (&s);
        for (size_t r = 0; r < plan_rounds (s.plan); r++) {
            const struct probe *p = plan_round (s.plan, r, &n);

            for (size_t i = 0; i < n; i++)
                ends += p[i].b == END;
        }
        ok (ends > 1 && crowd_most (&s.crowd[arc[2]], .01) > CROWD_SLOW_BELOW,
            "%zu flows of a crowd end at a host that is %s: the cable is not", ends,
            slow ? "slow" : "not");
        scene_close (&s);
    }
}

static const struct {
    struct crowd c;
    double most; /* HUGE_VAL: not known */
    bool others;
} says[] = {
    { { .5, .5, 2 }, .75, false },     { { .5, .5, 4 }, .625, false },
    { { .5, .667, 2 }, 1, true },      { { .5, .8, 4 }, 1, true },
    { { .333, .5, 2 }, 1, true },      { { .25, .4, 4 }, .7, true },
    { { .7, .7, 2 }, 1.05, false },    { { .5, .5, 0 }, HUGE_VAL, false },
    { { 0, .5, 2 }, HUGE_VAL, false }, { { .7, .5, 2 }, 1, false },
    /* most flows over it had less at times: others came and went */
    { { .5, .5, 2, 5, 2 }, 1, false }, { { .5, .5, 2, 5, 3 }, .75, false },
    { { .5, .5, 4, 5, 2 }, .625, false },
};

static void test_says (void)
{
    for (size_t i = 0; i < sizeof (says) / sizeof (says[0]); i++) {
        const struct crowd *c = &says[i].c;
        double most = crowd_most (c, .01);

        ok ((says[i].most == HUGE_VAL ? most == HUGE_VAL
                                      : fabs (most - says[i].most) < .002)
                && crowd_others (c, .01) == says[i].others,
            "one has %.3f, %u have %.3f: it can carry %.3f%s", c->one,
            (unsigned int)c->inputs, c->together, most,
            says[i].others ? ", and others use it" : "");
    }
}

/* Where the path crosses the arc; -1: nowhere. */
static int crossing_of (const struct scene *s, struct probe p, uint32_t across,
                        uint32_t *arc)
{
    int n = pathset_walk (s->ps, p.a, p.b, arc, NULL);

    for (int k = 1; k < n; k++)
        if (arc[k] == across)
            return k;
    return -1;
}

/* A crowd of n flows: over an arc, each through a port of its own, and on to one end,
 * or each to another.
 */
static bool is_crowd (const struct scene *s, const struct probe *p, size_t n)
{
    uint32_t arc[PATH_MAX_HOPS], first[PATH_MAX_HOPS];
    int hops = pathset_walk (s->ps, p[0].a, p[0].b, first, NULL);

    for (int h = 1; h < hops; h++) {
        uint32_t before[CROWD_FLOWS];
        size_t k = 0;

        for (bool apart = true; k < n && apart; k += apart) {
            int at = crossing_of (s, p[k], first[h], arc);

            apart = at > 0;
            before[k] = apart ? arc[at - 1] : NETWORK_NONE;
            for (size_t i = 0; i < k; i++)
                apart &= before[i] != before[k]
                         && (p[i].b == p[k].b) == (p[0].b == p[n - 1].b);
        }
        if (k == n)
            return true;
    }
    return false;
}

/* Count crowds, and those that break a rule. */
static size_t check_crowds (const struct scene *s, size_t *bad)
{
    size_t narcs = 2 * s->t->net.nlinks, all = 0;
    size_t *user = calloc (narcs, sizeof (*user)), n;
    size_t *host = calloc (pathset_size (s->ps), sizeof (*host));

    *bad = 0;
    for (size_t r = 0; r < plan_rounds (s->plan); r++) {
        const struct probe *p = plan_round (s->plan, r, &n);

        memset (user, 0, narcs * sizeof (*user));
        memset (host, 0, pathset_size (s->ps) * sizeof (*host));
        for (size_t i = 0, end; i < n; i = end) {
            for (end = i + 2; end < n && end - i < CROWD_FLOWS
                              && is_crowd (s, p + i, end + 1 - i);)
                end++;
            all++;
            *bad += end > n || !is_crowd (s, p + i, end - i);
            for (size_t k = i; k < end && end <= n; k++) {
                uint32_t arc[PATH_MAX_HOPS];
                int hops = pathset_walk (s->ps, p[k].a, p[k].b, arc, NULL);

                *bad += host[p[k].a]++ > 0;
                *bad += (k == i || p[k].b != p[i].b) && host[p[k].b]++ > 0;
                for (int h = 0; h < hops; h++) {
                    *bad += user[arc[h]] > 0 && user[arc[h]] != all;
                    user[arc[h]] = all;
                }
            }
        }
    }
    free (user);
    free (host);
    return all;
}

static const struct {
    size_t levels;
    enum tree_routing routing;
    size_t job, low, crowds; /* at least */
} plans[] = {
    { 2, TREE_DMODK, 0, 0, 0 },    { 2, TREE_DMODK, 0, 4, 4 },
    { 2, TREE_MINHOP, 0, 4, 4 },   { 3, TREE_DMODK, 0, 20, 20 },
    { 3, TREE_MINHOP, 0, 20, 15 }, { 3, TREE_DMODK, 64, 20, 10 },
    { 3, TREE_MINHOP, 64, 20, 8 }, { 3, TREE_DMODK, 16, 40, 1 },
    { 2, TREE_DMODK, 2, 4, 0 },
};

static void test_plans (void)
{
    for (size_t i = 0; i < sizeof (plans) / sizeof (plans[0]); i++) {
        struct scene s;
        size_t all, bad, missed = 0;

        open_crowd_scene (&s, plans[i].levels, plans[i].routing, plans[i].job);
        for (size_t k = 0; k < plans[i].low; k++) {
            size_t other = s.t->net.nlinks - s.t->n;

            s.arc_bits[2 * (s.t->n + rng_below (&s.rng, other)) + k % 2]
                = 100 * GB;
        }
        run_crowd_scene (&s);
        all = check_crowds (&s, &bad);
        for (size_t x = 0; x < 2 * s.t->net.nlinks; x++)
            if (s.crowd[x].inputs > 0 && s.crowd[x].one < .9)
                missed += crowd_most (&s.crowd[x], .01) >= CROWD_SLOW_BELOW
                          && s.arc_bits[x] < 120 * GB;
        ok (bad == 0 && all >= plans[i].crowds && missed == 0
                && (plans[i].low > 0 || all == 0),
            "%zu low arcs of %zu levels, %zu hosts: %zu crowds, %zu bad; "
            "%zu not told",
            plans[i].low, plans[i].levels, pathset_size (s.ps), all, bad,
            missed);
        scene_close (&s);
    }
}

int main (void)
{
    test_told_apart ();
    test_busy_behind ();
    test_slow_end ();
    test_says ();
    test_plans ();
    return done_testing ();
}
