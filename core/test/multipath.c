/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/paths/multipath.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/explain.h"
#include "core/judge/mixture.h"
#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "tests/tap.h"
#include "util/error.h"
#include "util/rng.h"

/* Four leaves (places 0 to 3) of two hosts each; leaf l has a cable to each of
 * the spines 4 to 6. Hosts are endpoints 0 to 7 with links 0 to 7; link 8 + 3 l
 * + s leads from leaf l to spine s; link BETWEEN, from spine 4 to 5. Leaves
 * spread as `spreads` says.
 */
enum {
    LEAVES = 4,
    SPINES = 3,
    HOSTS = 8,
    BETWEEN = HOSTS + LEAVES * SPINES,
    LINKS,
};

static struct link_info link_of[LINKS];
static struct switch_info sw[LEAVES + SPINES];
static bool spreads[LEAVES];
static bool is_broken; /* spine 4 has no route to host 7 */
static bool is_round;  /* spines 4 and 5 send them to each other */
static bool is_wrong;  /* leaf 3 delivers messages for host 7 to host 6 */

static uint32_t get_place (const void *net, uint32_t end)
{
    (void)net;
    return LEAVES + SPINES + end;
}

static uint32_t attach (const void *net, uint32_t end, uint32_t *arc)
{
    (void)net;
    *arc = 2 * end;
    return end / 2;
}

static uint32_t hop (const void *net, uint32_t place, uint32_t to,
                     uint32_t *arc)
{
    (void)net;
    if (place == LEAVES && to == 7 && is_broken)
        return NETWORK_NONE;
    if (place >= LEAVES && place < LEAVES + 2 && to == 7 && is_round) {
        *arc = 2 * BETWEEN + (place > LEAVES);
        return LEAVES + (place == LEAVES);
    }
    if (place == 3 && to == 7 && is_wrong) {
        *arc = 2 * 6 + 1;
        return get_place (net, 6);
    }
    if (place == to / 2) {
        *arc = 2 * to + 1;
        return get_place (net, to);
    }
    if (place < LEAVES) {
        *arc = 2 * (HOSTS + SPINES * place + to % SPINES);
        return LEAVES + to % SPINES;
    }
    *arc = 2 * (HOSTS + SPINES * (to / 2) + place - LEAVES) + 1;
    return to / 2;
}

static size_t hops (const void *net, const struct traffic_class *as,
                    uint32_t place, uint32_t to, uint32_t *arc, size_t most)
{
    (void)net;
    if (place >= LEAVES || !spreads[place] || place == to / 2
        || as->level != 3 || most < SPINES)
        return 0;
    for (uint32_t s = 0; s < SPINES; s++)
        arc[s] = 2 * (HOSTS + SPINES * place + s);
    return is_round && to == 7 ? 2 : SPINES;
}

static int walk (const void *net, uint32_t from, uint32_t to, uint32_t *arc,
                 struct error *err)
{
    uint32_t at = attach (net, from, arc);
    int n = 1;

    (void)err;
    while (from != to && at < LEAVES + SPINES)
        at = hop (net, at, to, &arc[n++]);
    return from == to ? 0 : n;
}

static const struct network net = {
    .hash = "", .nlinks = LINKS, .link = link_of, .nswitches = LEAVES + SPINES,
    .sw = sw, .nplaces = LEAVES + SPINES + HOSTS, .walk = walk,
    .place = get_place, .attach = attach, .hop = hop, .hops = hops,
};

static struct pathset *all_hosts (const struct network *of)
{
    static const char *const name[HOSTS]
        = { "a", "b", "c", "d", "e", "f", "g", "h" };
    struct endpoint end[HOSTS];

    for (uint32_t i = 0; i < HOSTS; i++)
        end[i] = (struct endpoint){ i, name[i], name[i] };
    return pathset_create (of, end, HOSTS, NULL);
}

static void make_links (void)
{
    for (uint32_t l = 0; l < LINKS; l++) {
        link_of[l] = (struct link_info){ .id = "x", .class_name = "x" };
        if (l < HOSTS) {
            link_of[l].kind = LINK_HOST;
            link_of[l].host = "x";
            link_of[l].end[0] = NETWORK_NONE;
            link_of[l].end[1] = l / 2;
            continue;
        }
        link_of[l].kind = LINK_SWITCH;
        link_of[l].end[0] = (l - HOSTS) / SPINES;
        link_of[l].end[1] = LEAVES + (l - HOSTS) % SPINES;
    }
    link_of[BETWEEN].end[0] = LEAVES;
    link_of[BETWEEN].end[1] = LEAVES + 1;
    for (int i = 0; i < LEAVES + SPINES; i++)
        sw[i] = (struct switch_info){ "0", "sw" };
}

static void is (const char *got, const char *wanted, const char *what)
{
    ok (!strcmp (got, wanted), "%s: %s", what, got);
}

/* What a message from a to h may cross, as text: "link:share in per cent". */
static const char *shares (struct multipath *m, uint32_t from, uint32_t to)
{
    static char text[200];
    const struct multipath_share *s;
    size_t n = multipath_shares (m, from, to, &s), len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf (text + len, sizeof (text) - len, "%s%u:%.0f",
                                 i ? " " : "", s[i].link, 100 * s[i].share);
    return text;
}

static void test_places (void)
{
    const struct traffic_class as = { 3, false };
    struct pathset *ps = all_hosts (&net), *on;
    struct multipath *m
        = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    struct row row;
    size_t n;

    ok (m && m->cables[8] == 3 && m->cables[9] == 0 && m->bundle[10] == 8
            && m->cables[0] == 1 && m->bundle[19] == 17,
        "the cables of a leaf to its spines are one bundle");
    on = pathset_on (ps, &m->network, NULL);
    ok (pathset_row (on, 0, 7, &row, NULL) == 0 && row.n == 4
            && row.link[0] == 0 && row.link[1] == 7 && row.link[2] == 8
            && row.link[3] == 17 && row.count[2] == 2,
        "a round trip crosses two host ends and two bundles");
    ok (pathset_row (on, 0, 1, &row, NULL) == 0 && row.n == 2,
        "within a leaf, two host ends alone");
    pathset_links (on, &n, NULL);
    ok (n == HOSTS + LEAVES, "there are %zu links", n);
    ok (m->network.link[8].end[0] == 0
            && m->network.link[8].end[1] == NETWORK_NONE
            && m->network.multi == m && !m->network.hops,
        "three spines are no switch");
    is (shares (m, 0, 7), "0:100 8:33 9:33 10:33 17:33 18:33 19:33 7:100",
        "each cable has a third");
    is (shares (m, 0, 1), "0:100 1:100", "within a leaf there is no choice");
    is (shares (m, 0, 0), "", "nothing to itself");
    pathset_destroy (on);
    multipath_destroy (m);
    pathset_destroy (ps);
}

/* Leaf 0 alone keeps to its table, so its uplinks are crossed one by one. */
static void test_some (void)
{
    const struct traffic_class as = { 3, false }, other = { 2, false };
    struct pathset *ps = all_hosts (&net);
    struct multipath *m;

    spreads[0] = false;
    m = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    is (shares (m, 0, 7), "0:100 9:100 18:100 7:100",
        "a leaf that does not spread: one path from it");
    is (shares (m, 7, 0), "7:100 17:33 18:33 19:33 8:33 9:33 10:33 0:100",
        "and several to it");
    ok (m->cables[8] == 3, "which makes a bundle of its cables");
    multipath_destroy (m);
    m = multipath_create ((const struct pathset *const *)&ps, 1, &other, NULL);
    ok (m->cables[8] == 1 && m->cables[9] == 1 && m->bundle[18] == 18,
        "another service level: no bundles");
    is (shares (m, 7, 0), "7:100 17:100 8:100 0:100", "and single paths");
    multipath_destroy (m);
    spreads[0] = true;
    is_broken = true;
    {
        struct error err;

        m = multipath_create ((const struct pathset *const *)&ps, 1, &as,
                              &err);
        ok (!m && strstr (err.text, "does not forward"),
            "a switch without a route: %s", err.text);
    }
    is_broken = false;
    pathset_destroy (ps);
}

/* Tables that are wrong, of which some are never asked twice. */
static void test_wrong (void)
{
    const struct traffic_class as = { 3, false };
    const struct endpoint end[2] = { { 7, "h", "h" }, { 0, "a", "a" } };
    struct pathset *ps = pathset_create (&net, end, 2, NULL), *on;
    struct multipath *m;
    struct error err;
    struct row row;

    is_round = true;
    m = multipath_create ((const struct pathset *const *)&ps, 1, &as, &err);
    ok (m && m->network.link[8].end[0] == 0
            && m->network.link[8].end[1] == NETWORK_NONE,
        "two spines that send messages to each other are one place");
    on = pathset_on (ps, &m->network, NULL);
    ok (pathset_row (on, 0, 1, &row, &err) < 0 && strstr (err.text, "loop"),
        "from which they do not arrive: %s", err.text);
    pathset_destroy (on);
    multipath_destroy (m);
    is_round = false;
    is_wrong = true;
    m = multipath_create ((const struct pathset *const *)&ps, 1, &as, &err);
    ok (!m && strstr (err.text, "does not forward"),
        "messages that reach another host: %s", err.text);
    is_wrong = false;
    pathset_destroy (ps);
}

static void test_walk (void)
{
    const struct traffic_class as = { 3, false };
    size_t taken[SPINES] = { 0 };
    uint32_t arc[PATH_MAX_HOPS];
    bool same = true, whole = true;

    for (uint64_t key = 0; key < 3000; key++) {
        uint32_t again[PATH_MAX_HOPS];
        int n = multipath_walk (&net, &as, 0, 7, key, arc, NULL);

        multipath_walk (&net, &as, 0, 7, key, again, NULL);
        whole &= n == 4 && arc[0] == 0 && arc[3] == 15;
        same &= n == 4 && !memcmp (arc, again, sizeof (*arc) * 4);
        taken[arc[1] / 2 - HOSTS]++;
    }
    ok (whole && same, "a key gives one path, and a whole one");
    /* five standard deviations of a binomial distribution: 129 */
    ok (taken[0] > 871 && taken[0] < 1129 && taken[1] > 871 && taken[1] < 1129,
        "keys take the cables alike: %zu, %zu, %zu", taken[0], taken[1],
        taken[2]);
}

/*
 * Shares of slow flows
 */

static double latency[LINKS], one_way[2 * LINKS];
static unsigned int flows = 16; /* of each pair, from each side */

/* The flows of the rounds from this one on. */
static struct mixture *mixture_of (struct multipath *m, const struct pathset *ps,
                                   const struct samples *s, size_t first_round)
{
    struct pair_flows *flows = calloc (s->nsamples, sizeof (*flows));
    struct mixture *mix;
    size_t n = 0;

    for (size_t i = 0; i < s->nsamples; i++)
        if (s->sample[i].round >= first_round)
            flows[n++] = (struct pair_flows){ s->sample[i].a, s->sample[i].b,
                                              s->sample[i].flow_ns,
                                              s->sample[i].nflows };
    mix = mixture_create (m, ps, flows, n);
    free (flows);
    return mix;
}

/* Flows of all pairs of hosts at different leaves; a share is late, by ns on
 * average.
 */
static struct samples *measure (const struct pathset *ps, double late,
                                double ns, uint64_t seed)
{
    static const struct traffic_class as = { 3, false };
    const struct simulate_options sim = {
        .noise_ns = 20, .repeats = flows, .seed = seed, .spread = &as,
        .outlier_share = late, .outlier_ns = ns, .arc_ns = one_way,
    };
    struct plan *plan = plan_create ("by hand");
    struct samples *s;
    size_t round = 0;

    for (uint32_t a = 0; a < HOSTS; a++)
        for (uint32_t b = a + 1; b < HOSTS; b++)
            if (a / 2 != b / 2)
                plan_add (plan, round++, a, b);
    s = simulate (ps, plan, latency, &sim, NULL);
    plan_destroy (plan);
    return s;
}

static void test_slow (void)
{
    const struct traffic_class as = { 3, false };
    struct pathset *ps = all_hosts (&net);
    struct multipath *m
        = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    struct samples *before, *now;
    struct slow_cable c = { 0 };
    struct mixture *mix, *old;
    struct probe *pair;
    size_t judged, uneven, n;
    bool found, clear;

    for (int l = 0; l < LINKS; l++)
        latency[l] = 300 + 10 * (l % 4);
    before = measure (ps, 0, 0, 1);
    latency[9] += 1000;
    now = measure (ps, 0, 0, 2);
    mix = mixture_of (m, ps, now, 0);
    n = mixture_doubts (mix, &pair);
    ok (n > 0 && pair[0].a / 2 == 0, "pairs of its leaf are in doubt first");
    free (pair);
    clear = false;
    ok (mixture_evidence (mix, 9, 1000, &clear) > 50 && clear,
        "a slow cable shows");
    found = mixture_next (mix, &c);
    ok (found && c.heap && c.group == 3 && c.n == 3 && c.cable[0] == 8
            && c.cable[2] == 10 && fabs (c.excess_ns - 1000) < 5 * c.stderr_ns,
        "a slow cable is one of its leaf's three: %+.0f ns (+-%.0f)",
        c.excess_ns, c.stderr_ns);
    ok (c.flows == 12 * 32 && fabs ((double)c.slow - c.expected) < 50,
        "%zu of %zu flows are slow, %.0f are expected", c.slow, c.flows,
        c.expected);
    ok (mixture_cables (mix, &judged, &uneven) == 12 && judged == 12
            && uneven == 0,
        "all cables are judged");
    old = mixture_of (m, ps, before, 0);
    clear = false;
    ok (mixture_evidence (old, c.cable[0], c.excess_ns, &clear) < -50 && !clear,
        "it was not slow before");
    ok (mixture_evidence (mix, 17, 1000, &clear) < -50 && !clear,
        "another leaf's is not");
    ok (!mixture_next (mix, &c), "there is no other one");
    ok (!mixture_next (old, &c), "nor one before");
    ok (!mixture_of (m, ps, now, 1000), "no rounds, no flows");
    mixture_destroy (old);
    mixture_destroy (mix);
    samples_destroy (before);
    samples_destroy (now);
    latency[9] -= 1000;
    multipath_destroy (m);
    pathset_destroy (ps);
}

/* A share of the flows of a host is late by up to 50 us. */
static void sleep_at (struct samples *s, uint32_t host, double share,
                      uint64_t seed)
{
    struct rng rng;

    rng_seed (&rng, seed);
    for (size_t i = 0; i < s->nsamples; i++)
        for (uint32_t f = 0; f < s->sample[i].nflows; f++)
            if ((s->sample[i].a == host || s->sample[i].b == host)
                && rng_uniform (&rng) < share)
                s->sample[i].flow_ns[f] += 50000 * rng_uniform (&rng);
}

/* Delays of any flow, or a busy cable, are not a slow one. */
static void test_noise (double share, double ns, bool sleeps)
{
    const struct traffic_class as = { 3, false };
    struct pathset *ps = all_hosts (&net);
    struct multipath *m
        = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    size_t found = 0, of = 40;

    for (uint64_t seed = 0; seed < of; seed++) {
        struct samples *s = measure (ps, share, ns, 100 + seed);
        struct mixture *mix;
        struct slow_cable c;

        if (sleeps)
            sleep_at (s, 0, 0.5, seed);
        mix = mixture_of (m, ps, s, 0);
        if (mixture_next (mix, &c)) {
            found++;
        }
        mixture_destroy (mix);
        samples_destroy (s);
    }
    ok (found == 0, "%.0f %% of flows are delayed%s: found in %zu of %zu runs",
        100 * share, sleeps ? ", and a host sleeps" : "", found, of);
    multipath_destroy (m);
    pathset_destroy (ps);
}

/* Most pairs' times are those of hosts that sleep; the others tell. */
static void test_asleep (void)
{
    const struct traffic_class as = { 3, false };
    struct pathset *ps = all_hosts (&net);
    struct multipath *m
        = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    struct slow_cable c = { 0 };
    struct samples *s;
    struct mixture *mix;
    bool found;

    latency[9] += 1000;
    s = measure (ps, 0, 0, 3);
    latency[9] -= 1000;
    for (uint32_t host = 3; host < HOSTS; host += 2)
        sleep_at (s, host, 0.9, host);
    mix = mixture_of (m, ps, s, 0);
    found = mixture_next (mix, &c);
    ok (found && c.heap && c.n == 3 && c.cable[0] == 8
            && fabs (c.excess_ns - 1000) < 5 * c.stderr_ns,
        "where most pairs sleep, a slow cable is found: %+.0f ns (+-%.0f)",
        c.excess_ns, c.stderr_ns);
    mixture_destroy (mix);
    samples_destroy (s);
    multipath_destroy (m);
    pathset_destroy (ps);
}

/* A time that no tail explains. */
static void test_huge (void)
{
    const struct traffic_class as = { 3, false };
    struct pathset *ps = all_hosts (&net);
    struct multipath *m
        = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    struct samples *s;
    struct mixture *mix;
    double evidence;
    bool clear = false;

    flows = 64;
    s = measure (ps, 0.4, 1500, 1);
    flows = 16;
    s->sample[0].flow_ns[0] = 1e7;
    mix = mixture_of (m, ps, s, 0);
    evidence = mixture_evidence (mix, 8, 1e7, &clear);
    ok (isfinite (evidence), "10 ms of one flow is evidence of %g", evidence);
    mixture_destroy (mix);
    samples_destroy (s);
    multipath_destroy (m);
    pathset_destroy (ps);
}

/* A link that delays messages, or loses them. */
struct ailing {
    uint32_t link;
    double share, ns;
};

static double ail (void *arg, const struct simulated *trip, struct rng *rng)
{
    const struct ailing *ailing = arg;
    double ns = 0;

    for (int i = 0; i < trip->narcs; i++)
        if (arc_link (trip->arc[i]) == ailing->link
            && rng_uniform (rng) < ailing->share)
            ns += ailing->ns;
    return ns;
}

/* Of a job with a host at each leaf, so that the same messages cross a host's link
 * and the bundle of its leaf, at which cable `link` ails.
 */
static struct share find_ailing (struct ailing ailing, unsigned int each)
{
    const struct traffic_class as = { 3, false };
    const struct endpoint end[LEAVES] = {
        { 0, "a", "a" }, { 2, "c", "c" }, { 4, "e", "e" }, { 6, "g", "g" }
    };
    struct pathset *ps = pathset_create (&net, end, LEAVES, NULL), *places;
    struct plan *plan = plan_create ("by hand");
    struct simulate_options sim = {
        .noise_ns = 20, .repeats = 20, .seed = 5, .spread = &as,
        .again = 1, .flows = 240 / each, .messages = each,
        .more = ail, .more_arg = &ailing,
    };
    struct multipath *m;
    struct share share;
    struct samples *s;
    size_t round = 1;

    for (uint32_t a = 0; a < LEAVES; a++)
        for (uint32_t b = a + 1; b < LEAVES; b++)
            plan_add (plan, round++, a, b);
    m = multipath_create ((const struct pathset *const *)&ps, 1, &as, NULL);
    places = pathset_on (ps, &m->network, NULL);
    s = simulate (ps, plan, latency, &sim, NULL);
    share_find (&share, places, s,
                isfinite (ailing.ns) ? SHARE_SLOW : SHARE_LOST, false, NULL);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (places);
    multipath_destroy (m);
    pathset_destroy (ps);
    return share;
}

static void test_share (void)
{
    struct share slow = find_ailing ((struct ailing){ 2, .2, 5000 }, 40);
    struct share lost = find_ailing ((struct ailing){ 2, .1, -INFINITY }, 40);
    struct share cable = find_ailing ((struct ailing){ 11, .3, 5000 }, 40);
    struct share single = find_ailing ((struct ailing){ 2, .1, -INFINITY }, 1);

    ok (slow.n == 1 && slow.link[0] == 2,
        "a host that delays messages is told from its leaf's cables");
    ok (lost.n == 1 && lost.link[0] == 2, "and so is one that loses them");
    ok (cable.n == 1 && cable.link[0] == 11,
        "one of the cables that delays them is not taken for the host");
    ok (single.n == 2, "flows of one message do not tell");
}

int main (void)
{
    make_links ();
    for (int l = 0; l < LEAVES; l++)
        spreads[l] = true;
    test_places ();
    test_some ();
    test_wrong ();
    test_walk ();
    test_slow ();
    test_noise (0.2, 1500, false);
    test_noise (0.4, 400, true);
    test_asleep ();
    test_huge ();
    test_share ();
    return done_testing ();
}
