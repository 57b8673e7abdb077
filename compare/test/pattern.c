/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each schedule's invariant, for 2 to 65 processes, shuffled or not. */
#include "config.h"
#include "compare/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"
#include "util/rng.h"

enum { N_MIN = 2, N_MAX = 65, PAIRS_MAX = N_MAX * N_MAX };

/* What the first half of a pattern's steps did. */
struct seen {
    uint32_t n;
    uint64_t steps;
    int pair[N_MAX][N_MAX]; /* how often a initiated to b */
    int busy[N_MAX];        /* steps in which the process was in a pair */
};

/* Look at all steps of a pattern whose steps are matchings: no process twice
 * in a step, no step empty or too wide, the second half as the first with
 * roles swapped. False where that is not so.
 */
static bool look (const struct pattern *p, struct seen *seen)
{
    static struct probe pair[PAIRS_MAX], back[PAIRS_MAX];
    uint32_t n = pattern_processes (p);

    *seen = (struct seen){ .n = n, .steps = pattern_turn (p) };
    if (pattern_steps (p) != 2 * seen->steps)
        return false;
    for (uint64_t s = 0; s < seen->steps; s++) {
        uint32_t k = pattern_step (p, s, pair);
        bool in[N_MAX] = { false };

        if (k == 0 || k > pattern_width (p)
            || pattern_step (p, s + seen->steps, back) != k)
            return false;
        for (uint32_t i = 0; i < k; i++) {
            uint32_t a = pair[i].a, b = pair[i].b;

            if (a >= n || b >= n || a == b || in[a] || in[b]
                || back[i].a != b || back[i].b != a)
                return false;
            in[a] = in[b] = true;
            seen->pair[a][b]++;
            seen->busy[a]++;
            seen->busy[b]++;
        }
    }
    return true;
}

static int met (const struct seen *s, uint32_t a, uint32_t b)
{
    return s->pair[a][b] + s->pair[b][a];
}

static bool all_pairs_once (const struct seen *s)
{
    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = a + 1; b < s->n; b++)
            if (met (s, a, b) != 1)
                return false;
    return true;
}

/* n even: nobody ever rests; odd: everybody once. */
static bool is_one_factor (const struct seen *s)
{
    bool odd = s->n % 2;

    for (uint32_t a = 0; a < s->n; a++)
        if (s->busy[a] != (int)s->n - 1)
            return false;
    return s->steps == s->n - !odd && all_pairs_once (s);
}

/* Two halves, whoever is in them: those that the first does not meet are with
 * it in one.
 */
static bool are_halves (const struct seen *s)
{
    uint32_t with = 0;

    for (uint32_t a = 0; a < s->n; a++) {
        bool here = met (s, 0, a) == 0;

        with += here;
        for (uint32_t b = 0; b < s->n; b++)
            if (met (s, a, b) != (here != (met (s, 0, b) == 0)))
                return false;
    }
    return with == s->n / 2 || with == s->n - s->n / 2;
}

static bool is_bisection (const struct seen *s)
{
    return s->steps == (s->n + 1) / 2 && are_halves (s);
}

static bool is_one_to_one (const struct seen *s)
{
    return s->steps == s->n * (s->n - 1) / 2 && all_pairs_once (s);
}

static const struct {
    enum pattern_kind kind;
    bool (*is) (const struct seen *s);
} matchings[] = {
    { PATTERN_ONE_FACTOR, is_one_factor },
    { PATTERN_BISECTION, is_bisection },
    { PATTERN_ONE_TO_ONE, is_one_to_one },
};

static void test_matchings (void)
{
    for (size_t k = 0; k < sizeof (matchings) / sizeof (matchings[0]); k++)
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            uint32_t wrong = 0;

            for (uint32_t n = N_MIN; n <= N_MAX && !wrong; n++) {
                struct pattern_options opts = { .seed = n, .shuffle = shuffle };
                struct pattern *p = pattern_create (matchings[k].kind, n, NULL,
                                                    &opts, NULL);
                struct seen seen;

                if (!p || !look (p, &seen) || !matchings[k].is (&seen))
                    wrong = n;
                pattern_destroy (p);
            }
            ok (wrong == 0, "%s%s: as it should be for %d to %d processes"
                " (wrong: %u)", pattern_name (matchings[k].kind),
                shuffle ? ", shuffled" : "", N_MIN, N_MAX, wrong);
        }
}

/* Ways to place n processes on hosts. */
static uint32_t place_own (uint32_t i, uint32_t n, struct rng *rng)
{
    (void)n, (void)rng;
    return i;
}

static uint32_t place_fours (uint32_t i, uint32_t n, struct rng *rng)
{
    (void)n, (void)rng;
    return i / 4;
}

static uint32_t place_cyclic (uint32_t i, uint32_t n, struct rng *rng)
{
    (void)n, (void)rng;
    return 1000 - i % 5;
}

static uint32_t place_unequal (uint32_t i, uint32_t n, struct rng *rng)
{
    (void)rng;
    return i < n / 2 ? 7 : i; /* a big one and small ones */
}

static uint32_t place_random (uint32_t i, uint32_t n, struct rng *rng)
{
    (void)i;
    return rng_below (rng, n / 3 + 1);
}

static const struct {
    const char *name;
    uint32_t (*host) (uint32_t i, uint32_t n, struct rng *rng);
} placings[] = {
    { "one a host", place_own },
    { "four a host", place_fours },
    { "five hosts in turn", place_cyclic },
    { "one host with half of them", place_unequal },
    { "random hosts", place_random },
};

/* In each step, all of a host that are in a pair are with one other host. */
static bool hosts_in_pairs (const struct pattern *p, const uint32_t *host)
{
    static struct probe pair[PAIRS_MAX];

    for (uint64_t s = 0; s < pattern_turn (p); s++) {
        uint32_t n = pattern_step (p, s, pair);

        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < i; j++) {
                uint32_t a = host[pair[i].a], b = host[pair[i].b];
                uint32_t c = host[pair[j].a], d = host[pair[j].b];
                bool same = (a == c && b == d) || (a == d && b == c);
                bool apart = a != c && a != d && b != c && b != d;

                if (!same && !apart)
                    return false;
            }
    }
    return true;
}

/* What the hosts of processes did: each seen by its first process; whether all
 * of them did as that one, and nothing within the host. The size of the
 * largest in *most.
 */
static bool look_at_hosts (const struct seen *s, const uint32_t *host,
                           struct seen *hosts, uint32_t *most)
{
    uint32_t head[N_MAX], size[N_MAX] = { 0 }, of[N_MAX];

    *hosts = (struct seen){ .steps = s->steps };
    *most = 0;
    for (uint32_t a = 0; a < s->n; a++) {
        uint32_t h = 0;

        while (h < hosts->n && host[head[h]] != host[a])
            h++;
        if (h == hosts->n)
            head[hosts->n++] = a;
        of[a] = h;
        if (++size[h] > *most)
            *most = size[h];
    }
    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = 0; b < s->n; b++) {
            int expected = met (s, head[of[a]], head[of[b]]);

            if (met (s, a, b) != (of[a] == of[b] ? 0 : expected))
                return false;
            if (of[a] < of[b])
                hosts->pair[of[a]][of[b]] = expected;
        }
    return true;
}

/* As many steps as the largest host has processes for each step of the hosts
 * where all are as large, else no more.
 */
static bool is_long (const struct seen *hosts, uint32_t n, uint32_t most,
                     uint32_t host_steps)
{
    uint32_t steps = hosts->n < 2 ? 0 : host_steps * most;

    return n == most * hosts->n ? hosts->steps == steps
                                : hosts->steps <= steps;
}

static bool is_by_host (const struct seen *hosts, uint32_t n, uint32_t most)
{
    return is_long (hosts, n, most, (hosts->n - 1) | 1)
           && all_pairs_once (hosts);
}

static bool is_by_host_bisection (const struct seen *hosts, uint32_t n,
                                  uint32_t most)
{
    return is_long (hosts, n, most, (hosts->n + 1) / 2)
           && (hosts->n < 2 || are_halves (hosts));
}

static const struct {
    enum pattern_kind kind;
    bool (*is) (const struct seen *hosts, uint32_t n, uint32_t most);
} grouped[] = {
    { PATTERN_BY_HOST, is_by_host },
    { PATTERN_BY_HOST_BISECTION, is_by_host_bisection },
};

static bool try_hosts (size_t k, size_t placing, uint32_t n, bool shuffle)
{
    struct pattern_options opts = { .seed = n, .shuffle = shuffle };
    uint32_t host[N_MAX], most;
    struct seen seen, hosts;
    struct pattern *p;
    struct rng rng;
    bool right;

    rng_seed (&rng, n);
    for (uint32_t i = 0; i < n; i++)
        host[i] = placings[placing].host (i, n, &rng);
    p = pattern_create (grouped[k].kind, n, host, &opts, NULL);
    right = p && look (p, &seen) && hosts_in_pairs (p, host)
            && look_at_hosts (&seen, host, &hosts, &most)
            && grouped[k].is (&hosts, n, most);
    pattern_destroy (p);
    return right;
}

static void test_hosts (void)
{
    for (size_t k = 0; k < sizeof (grouped) / sizeof (grouped[0]); k++)
        for (size_t h = 0; h < sizeof (placings) / sizeof (placings[0]); h++) {
            uint32_t wrong = 0;

            for (uint32_t n = N_MIN; n <= N_MAX && !wrong; n++)
                if (!try_hosts (k, h, n, false) || !try_hosts (k, h, n, true))
                    wrong = n;
            ok (wrong == 0, "%s, %s: as it should be for %d to %d processes"
                " (wrong: %u)", pattern_name (grouped[k].kind),
                placings[h].name, N_MIN, N_MAX, wrong);
        }
}

/* Hosts of 2, 3 and 4 processes: turns of 3, 4 and 4 steps. */
static void test_unequal (void)
{
    static const uint32_t host[] = { 0, 0, 1, 1, 1, 2, 2, 2, 2 };
    struct pattern *p = pattern_create (PATTERN_BY_HOST, 9, host, NULL, NULL);

    ok (p && pattern_turn (p) == 3 + 4 + 4 && pattern_steps (p) == 22,
        "a pair of hosts takes as many steps as the larger has processes");
    pattern_destroy (p);
}

/* Of a whole topology: how often each initiates to each. */
static bool topology (enum pattern_kind kind, uint32_t n, bool shuffle,
                      struct seen *seen)
{
    static struct probe pair[PAIRS_MAX];
    struct pattern_options opts = { .seed = n, .shuffle = shuffle };
    struct pattern *p = pattern_create (kind, n, NULL, &opts, NULL);
    bool right = p && pattern_steps (p) == 1 && pattern_turn (p) == 1;
    uint32_t k = right ? pattern_step (p, 0, pair) : 0;

    *seen = (struct seen){ .n = n };
    for (uint32_t i = 0; i < k; i++) {
        seen->pair[pair[i].a][pair[i].b]++;
        seen->busy[pair[i].a]++;
        seen->busy[pair[i].b]++;
    }
    right = right && k == pattern_width (p);
    pattern_destroy (p);
    return right;
}

static bool is_all_to_all (const struct seen *s)
{
    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = 0; b < s->n; b++)
            if (s->pair[a][b] != 1)
                return false;
    return true;
}

static bool is_star (const struct seen *s)
{
    uint32_t centre = 0;

    while (centre + 1 < s->n && s->pair[centre][(centre + 1) % s->n] == 0)
        centre++;
    for (uint32_t a = 0; a < s->n; a++)
        for (uint32_t b = 0; b < s->n; b++)
            if (s->pair[a][b] != (a == centre && b != centre))
                return false;
    return true;
}

/* From any process, n steps to the next lead through all and back. */
static bool is_ring (const struct seen *s)
{
    uint32_t at = 0;

    for (uint32_t i = 1; i <= s->n; i++) {
        uint32_t next = 0, ways = 0;

        for (uint32_t b = 0; b < s->n; b++)
            if (s->pair[at][b] > 0) {
                next = b;
                ways += s->pair[at][b];
            }
        if (ways != 1 || (next == 0) != (i == s->n))
            return false;
        at = next;
    }
    return true;
}

static const struct {
    enum pattern_kind kind;
    bool (*is) (const struct seen *s);
} topologies[] = {
    { PATTERN_ALL_TO_ALL, is_all_to_all },
    { PATTERN_STAR, is_star },
    { PATTERN_RING, is_ring },
    { PATTERN_COMPLETE, all_pairs_once },
};

static void test_topologies (void)
{
    for (size_t k = 0; k < sizeof (topologies) / sizeof (topologies[0]); k++)
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            uint32_t wrong = 0;
            struct seen seen;

            for (uint32_t n = N_MIN; n <= N_MAX && !wrong; n++)
                if (!topology (topologies[k].kind, n, shuffle, &seen)
                    || !topologies[k].is (&seen))
                    wrong = n;
            ok (wrong == 0, "%s%s: as it should be for %d to %d processes"
                " (wrong: %u)", pattern_name (topologies[k].kind),
                shuffle ? ", shuffled" : "", N_MIN, N_MAX, wrong);
        }
}

/* The pairs of all steps, one behind the other. */
static uint32_t list (const struct pattern *p, struct probe *pair)
{
    uint32_t n = 0;

    for (uint64_t s = 0; s < pattern_steps (p); s++)
        n += pattern_step (p, s, pair + n);
    return n;
}

static void test_seeds (void)
{
    static struct probe pair[4][2 * PAIRS_MAX];
    uint32_t n[4];

    for (int k = 0; k < 4; k++) {
        struct pattern_options opts = { .seed = k == 3 ? 8 : 7,
                                        .shuffle = k > 0 };
        struct pattern *p = pattern_create (PATTERN_ONE_FACTOR, 64, NULL,
                                            &opts, NULL);

        n[k] = p ? list (p, pair[k]) : 0;
        pattern_destroy (p);
    }
    ok (n[0] == 64 * 63 && !memcmp (pair[1], pair[2], n[1] * sizeof (**pair)),
        "one seed, one order");
    ok (memcmp (pair[0], pair[1], n[0] * sizeof (**pair))
            && memcmp (pair[1], pair[3], n[1] * sizeof (**pair)),
        "another seed, another order, and neither is the plain one");
}

/* Sizes of whole machines: a step at a time, wherever it is. */
static void test_many (void)
{
    struct pattern_options opts = { .seed = 1, .shuffle = true };
    uint32_t n = PATTERN_PROCESSES_MAX;
    struct pattern *p = pattern_create (PATTERN_ONE_FACTOR, n, NULL, &opts,
                                        NULL);
    struct probe *pair = calloc (n, sizeof (*pair));
    uint8_t *in = calloc (n, 1);
    uint32_t k, busy = 0;

    if (!p || !pair || !in)
        abort ();
    k = pattern_step (p, pattern_steps (p) - 1, pair);
    for (uint32_t i = 0; i < k; i++) {
        busy += !in[pair[i].a] + !in[pair[i].b];
        in[pair[i].a] = in[pair[i].b] = 1;
    }
    ok (pattern_steps (p) == 2 * (uint64_t)n && busy == n - 1,
        "%u processes: %u pairs in the last step", n, k);
    pattern_destroy (p);
    p = pattern_create (PATTERN_ONE_TO_ONE, 11664, NULL, &opts, NULL);
    ok (p && pattern_steps (p) == UINT64_C (11664) * 11663
            && pattern_step (p, pattern_steps (p) - 1, pair) == 1
            && pair[0].a != pair[0].b,
        "every pair of 11664 processes by itself");
    pattern_destroy (p);
    free (pair);
    free (in);
}

static void test_plan (void)
{
    static const uint32_t process[] = { 3, 2, 1, 0, 9 };
    struct plan *plan = plan_create ("pmm");
    struct probe pair[4];
    struct error err = { 0 };
    struct pattern *p;

    if (!plan)
        abort ();
    plan_add (plan, 0, 0, 1);
    plan_add (plan, 0, 2, 3);
    plan_add (plan, 1, 3, 0);
    p = pattern_of_plan (plan, process, 4, 4, NULL, &err);
    ok (p && pattern_turn (p) == 2 && pattern_steps (p) == 4
            && pattern_width (p) >= 2
            && pattern_step (p, 0, pair) == 2 && pair[0].a == 3
            && pair[0].b == 2 && pair[1].a == 1 && pair[1].b == 0
            && pattern_step (p, 3, pair) == 1 && pair[0].a == 3
            && pair[0].b == 0,
        "the rounds of a plan, then with roles swapped: %s", err.text);
    pattern_destroy (p);
    plan_add (plan, 1, 1, 4);
    p = pattern_of_plan (plan, process, 4, 4, NULL, &err);
    ok (!p && strstr (err.text, "round 2") && strstr (err.text, "no process"),
        "an endpoint beyond those of the processes: %s", err.text);
    p = pattern_of_plan (plan, process, 5, 4, NULL, &err);
    ok (!p && strstr (err.text, "no process"),
        "a process beyond the last: %s", err.text);
    p = pattern_of_plan (plan, (uint32_t[]){ 0, 1, 2, 3, 0 }, 5, 4, NULL,
                         &err);
    ok (!p && strstr (err.text, "process 0 is in two pairs"),
        "two endpoints of one process in a round: %s", err.text);
    plan_destroy (plan);
}

static void test_pairs (void)
{
    static const struct probe given[] = { { 4, 2 }, { 0, 1 }, { 4, 2 } };
    static const struct probe wrong[] = { { 4, 2 }, { 1, 5 } };
    struct pattern_options opts = { .seed = 1, .shuffle = true };
    struct probe pair[3];
    struct error err = { 0 };
    struct pattern *p = pattern_of_pairs (given, 3, 5, NULL, &err);

    ok (p && pattern_steps (p) == 3 && pattern_width (p) == 1
            && list (p, pair) == 3 && !memcmp (pair, given, sizeof (given)),
        "given pairs, one a step, as they are: %s", err.text);
    pattern_destroy (p);
    p = pattern_of_pairs (given, 3, 5, &opts, &err);
    ok (p && list (p, pair) == 3
            && pair[0].b + pair[1].b + pair[2].b == 2 + 1 + 2,
        "in another order: %s", err.text);
    pattern_destroy (p);
    p = pattern_of_pairs (given, 0, 5, NULL, &err);
    ok (p && pattern_steps (p) == 0, "none: no step");
    pattern_destroy (p);
    ok (!pattern_of_pairs (wrong, 2, 5, NULL, &err)
            && strstr (err.text, "pair 2"), "not two of them: %s", err.text);
}

static void test_odds (void)
{
    static const uint32_t host[] = { 5, 5, 5 };
    struct error err = { 0 };
    struct pattern *p = pattern_create (PATTERN_BY_HOST, 3, host, NULL, &err);
    int named = 0;

    ok (p && pattern_steps (p) == 0, "one host has nobody to talk to");
    pattern_destroy (p);
    ok (!pattern_create (PATTERN_RING, 1, NULL, NULL, &err)
            && err.fault == ERROR_INPUT, "one process: %s", err.text);
    ok (!pattern_create (PATTERN_RING, PATTERN_PROCESSES_MAX + 1, NULL, NULL,
                         &err), "too many: %s", err.text);
    for (int k = 0; k < PATTERN_KINDS; k++)
        named += pattern_find (pattern_name (k)) == k && *pattern_help (k);
    ok (named == PATTERN_KINDS && pattern_find ("two-factor") == -1,
        "kinds are found by their names");
    ok (pattern_whole (PATTERN_STAR) && !pattern_whole (PATTERN_BY_HOST),
        "the whole topologies say so");
    pattern_destroy (NULL);
}

int main (void)
{
    test_matchings ();
    test_hosts ();
    test_unequal ();
    test_topologies ();
    test_seeds ();
    test_many ();
    test_plan ();
    test_pairs ();
    test_odds ();
    return done_testing ();
}
