/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patterns as plans, and what the checker says of them. */
#include "config.h"
#include "compare/pattern/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "tests/tap.h"

static struct plan *make (struct pathset *ps, enum pattern_kind kind,
                          struct error *err)
{
    struct pattern_options opts = { .seed = 3, .shuffle = true };

    *err = (struct error){ 0 };
    return schedule_make (ps, kind, &opts, err);
}

/* The rank of all pairs, as the planner proves it. */
static size_t full_rank (struct pathset *ps)
{
    struct plan_options opts = { .seed = 1 };
    struct plan *plan = plan_make (ps, &opts, NULL);
    size_t rank;

    if (!plan)
        abort ();
    rank = plan_rank (plan);
    plan_destroy (plan);
    return rank;
}

/* 32 hosts; hosts of two endpoints each where `rails` says so. */
static struct pathset *endpoints (const struct tablenet *t, bool rails)
{
    struct endpoint e[32];
    struct pathset *ps;

    for (uint32_t i = 0; i < 32; i++)
        e[i] = (struct endpoint){ i, t->name[i], t->name[rails ? i / 2 : i] };
    if (!(ps = pathset_create (&t->net, e, 32, NULL)))
        abort ();
    return ps;
}

static const struct {
    enum pattern_kind kind;
    bool rails;
    size_t rounds, probes;
    bool maximal;
} rows[] = {
    { PATTERN_ONE_FACTOR, false, 31, 496, true },
    { PATTERN_ONE_FACTOR, true, 31, 496, true },
    { PATTERN_ONE_TO_ONE, false, 496, 496, true },
    { PATTERN_BY_HOST, false, 31, 496, true },
    { PATTERN_BY_HOST, true, 30, 480, true },
    { PATTERN_BISECTION, false, 16, 256, false },
    { PATTERN_BY_HOST_BISECTION, false, 16, 256, false },
    { PATTERN_BY_HOST_BISECTION, true, 16, 256, false },
};

static void test_kinds (void)
{
    struct tablenet *t = tablenet_fattree (8, 2, TABLE_MINHOP, 1);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct pathset *ps = endpoints (t, rows[i].rails);
        struct error err;
        struct plan *plan = make (ps, rows[i].kind, &err);
        size_t rank = full_rank (ps);

        ok (plan && plan_check (ps, plan, &err) == 0
                && plan_rounds (plan) == rows[i].rounds
                && plan_basis_rounds (plan) == rows[i].rounds
                && plan_probes (plan) == rows[i].probes
                && plan_maximal (plan) == rows[i].maximal
                && (plan_rank (plan) == rank) == rows[i].maximal,
            "%s%s: %zu rounds, %zu probes, a rank of %zu of %zu: %s",
            pattern_name (rows[i].kind), rows[i].rails ? ", two rails" : "",
            plan ? plan_rounds (plan) : 0, plan ? plan_probes (plan) : 0,
            plan ? plan_rank (plan) : 0, rank, err.text);
        plan_destroy (plan);
        pathset_destroy (ps);
    }
    tablenet_destroy (t);
}

/* Irregular networks: the planner's rank is the schedule's. */
static void test_irregular (void)
{
    enum { TRIALS = 50 };
    int good = 0;

    for (int i = 0; i < TRIALS; i++) {
        struct tablenet *t = tablenet_irregular (2 + i % 5, 2 + i % 11, i % 4,
                                                 i);
        struct pathset *ps = tablenet_pathset (t, NULL, 0);
        struct error err;
        struct plan *plan = make (ps, PATTERN_ONE_FACTOR, &err);

        good += plan && plan_maximal (plan)
                && plan_rank (plan) == full_rank (ps)
                && plan_check (ps, plan, &err) == 0;
        plan_destroy (plan);
        pathset_destroy (ps);
        tablenet_destroy (t);
    }
    ok (good == TRIALS, "%d of %d irregular networks: all pairs have the rank"
        " of all pairs", good, TRIALS);
}

/* What the checker holds a schedule to. */
static void test_check (void)
{
    struct tablenet *t = tablenet_fattree (8, 2, TABLE_MINHOP, 1);
    struct pathset *ps = tablenet_pathset (t, NULL, 0);
    struct error err;
    struct plan *plan = make (ps, PATTERN_BISECTION, &err);
    struct plan *strict = plan_create ("pmm");
    size_t links, rank, rounds, n;
    const struct probe *p;

    if (!plan || !strict)
        abort ();
    links = plan_links (plan);
    rank = plan_rank (plan);
    rounds = plan_rounds (plan);
    plan_set_rank (plan, links, rank - 1, rounds);
    ok (plan_check (ps, plan, &err) < 0 && strstr (err.text, "a rank of"),
        "a rank that its rows do not have: %s", err.text);
    plan_set_rank (plan, links, rank + 1, rounds);
    ok (plan_check (ps, plan, &err) < 0 && strstr (err.text, "a rank of"),
        "nor one that is more: %s", err.text);
    plan_set_rank (plan, links + 1, rank, rounds);
    ok (plan_check (ps, plan, &err) < 0 && strstr (err.text, "links"),
        "links that its pairs do not have: %s", err.text);
    plan_set_rank (plan, links, rank, rounds);
    plan_set_maximal (plan, true);
    ok (plan_check (ps, plan, &err) < 0
            && strstr (err.text, "does not follow from"),
        "less than the pairs can tell: %s", err.text);
    plan_set_maximal (plan, false);
    ok (plan_check (ps, plan, &err) == 0, "without these, all is well");
    p = plan_round (plan, 0, &n);
    for (size_t i = 0; i < n; i++)
        plan_add (strict, 0, p[i].a, p[i].b);
    ok (plan_check (ps, strict, &err) < 0 && strstr (err.text, "shares link"),
        "as a plan of ours its rounds are none: %s", err.text);
    plan_add (plan, 0, p[0].a, p[1].b);
    ok (plan_check (ps, plan, &err) < 0
            && strstr (err.text, "is in two probes"),
        "a port twice in a round: %s", err.text);
    plan_destroy (strict);
    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

static void test_odds (void)
{
    struct tablenet *t = tablenet_fattree (8, 2, TABLE_MINHOP, 1);
    uint32_t one = 5;
    struct pathset *ps = tablenet_pathset (t, &one, 1);
    struct error err;
    struct plan *plan = make (ps, PATTERN_ONE_FACTOR, &err);
    int known = 0, schedules = 0;

    ok (plan && plan_rounds (plan) == 0 && plan_check (ps, plan, &err) == 0,
        "one port: an empty plan");
    plan_destroy (plan);
    ok (!make (ps, PATTERN_RING, &err) && err.fault == ERROR_INPUT,
        "no plan of a whole topology: %s", err.text);
    for (int k = 0; k < PATTERN_KINDS; k++) {
        const struct plan_rules *rules = plan_rules (pattern_name (k));

        schedules += !pattern_whole (k);
        known += rules && rules->schedule && !pattern_whole (k);
    }
    ok (known == schedules && !plan_rules ("guess")
            && !plan_rules ("pmm")->schedule,
        "a plan's method may be each of the %d schedules", schedules);
    pathset_destroy (ps);
    tablenet_destroy (t);
}

int main (void)
{
    test_kinds ();
    test_irregular ();
    test_check ();
    test_odds ();
    return done_testing ();
}
