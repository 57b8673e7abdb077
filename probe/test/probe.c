/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One stage or two over the emulator, while messages get lost, members die
 * between the two, or the leader, and it plans for longer than one may be
 * silent.
 */
#include "config.h"
#include "probe/probe.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

enum {
    MEMBERS = 6,
    VICTIM = 3,
    REPEATS = 4,
    LEVEL = 5,
    DEADLINE_S = 100000,
    PARTS = 3,
    STAGE_2 = 2, /* rounds */
    THINK_MS = ARENA_STALL_MS * 5 / 4, /* the emulator does not wait so long */
};

static const struct stages {
    const char *what;
    const char *loss;
    bool plans;   /* the leader, for longer than the emulator waits */
    bool again;   /* there is a second stage */
    bool dies;    /* the victim, before that */
    bool one_way; /* the victim's adapter does not loop back */
    bool bad;     /* the second stage's plan makes no sense */
    size_t well;  /* members that end well */
} table[] = {
    { .what = "one stage", .loss = "0", .well = MEMBERS },
    { .what = "long plans", .loss = "0", .plans = true, .again = true,
      .well = MEMBERS },
    { .what = "two stages", .loss = "0", .again = true, .well = MEMBERS },
    { .what = "two stages, loss", .loss = "0.1", .again = true,
      .well = MEMBERS },
    { .what = "one dies between the stages", .loss = "0", .again = true,
      .dies = true, .well = MEMBERS - 1 },
    { .what = "one has no loopback", .loss = "0", .again = true,
      .one_way = true, .well = MEMBERS },
    { .what = "a second stage that cannot be", .loss = "0", .again = true,
      .bad = true, .well = MEMBERS },
};

struct shared {
    const struct stages *what;
    const struct orphans *orphans;
    const struct fabric *fabric;
    atomic_int pid[MEMBERS];
    atomic_int told;              /* members that ping on the level */
    /* what the leader found */
    size_t first, second;         /* probes */
    size_t samples, after;        /* behind the first stage, the second */
    size_t late;                  /* samples of a round of the second */
    size_t silent;                /* of these, all lost, beside the victim's */
    size_t victims, mute;         /* of the victim's in the second; lost */
    size_t answered;
    size_t loops[2];              /* loopbacks, behind the first, the second */
    size_t odd;                   /* of these, not what the emulator takes, */
    size_t misplaced;             /* ... or not of a part of a stage */
    size_t known;                 /* members that told what their host is */
    int again;                    /* what probe_lead returned */
};

static void look (struct shared *sh, const struct plan *plan,
                  const struct probe_result *result)
{
    const struct samples *s = result->samples;

    sh->after = s->nsamples;
    for (size_t i = 0; i < s->nsamples; i++) {
        const struct sample *x = &s->sample[i];
        bool victims = x->a == VICTIM || x->b == VICTIM;
        bool mute = x->lost == x->sent;

        if (x->round < plan_rounds (plan))
            continue;
        sh->late++;
        sh->victims += victims;
        sh->mute += victims && mute;
        sh->silent += !victims && mute;
    }
    for (size_t i = 0; i < s->nloopbacks; i++) {
        const struct loopback *l = &s->loopback[i];
        size_t first = i < sh->loops[0] ? 0 : plan_rounds (plan);
        size_t n = i < sh->loops[0] ? plan_rounds (plan) : STAGE_2;

        sh->odd += l->rtt_ns[RTT_MIN] != MODEL_LOOPBACK_NS
                   || l->rtt_ns[RTT_MAX] != MODEL_LOOPBACK_NS;
        sh->misplaced += l->round != first && l->round != first + n / 2
                         && l->round != first + n;
    }
    sh->loops[1] = s->nloopbacks - sh->loops[0];
    for (size_t m = 0; m < MEMBERS; m++) {
        const struct probe_member *member = &result->member[m];

        sh->answered += member->answered;
        sh->known += member->answered && *member->node.kernel;
    }
}

static int sleep_ms (void *ms, struct error *err)
{
    (void)err;
    usleep (*(useconds_t *)ms * 1000);
    return 0;
}

/* Each member with the next, in two rounds. */
static struct plan *second_stage (const struct plan *plan, bool bad)
{
    struct plan *longer = plan_copy (plan);
    size_t r = plan_rounds (plan);

    for (uint32_t i = 0; longer && i < MEMBERS; i++)
        plan_add (longer, r + (bad ? 0 : i % STAGE_2), i,
                      (i + 1) % MEMBERS);
    return longer;
}

static int run_leader (struct group *g, struct shared *sh)
{
    struct probe_end end[MEMBERS];
    const char *name[MEMBERS];
    struct probe_stage stage = { .end = end, .repeats = REPEATS,
                                 .level = LEVEL };
    struct probe_result result = { 0 };
    /* quick: while the leader plans, the emulator's clock stands still, but
     * not for long
     */
    struct plan_options opts = { .extra_rounds = 1, .budget = 0.001 };
    struct pathset *ps;
    struct plan *plan;
    struct plan *longer;
    struct error err = { .text = "" };
    useconds_t think_ms = THINK_MS;
    int rc;

    for (uint32_t i = 0; i < MEMBERS; i++) {
        end[i] = (struct probe_end){ i, 0 };
        name[i] = sh->fabric->host[i].name;
    }
    ps = fabric_pathset (sh->fabric, name, MEMBERS, &err);
    plan = ps ? plan_make (ps, &opts, &err) : NULL;
    longer = plan ? second_stage (plan, sh->what->bad) : NULL;
    if (!longer)
        return 1;
    sh->first = plan_probes (plan);
    sh->second = plan_probes (longer) - sh->first;
    if (sh->what->plans)
        group_meanwhile (g, sleep_ms, &think_ms, &err);
    stage.plan = plan;
    rc = probe_lead (g, &stage, &result, &err);
    sh->samples = rc == 0 ? result.samples->nsamples : 0;
    sh->loops[0] = rc == 0 ? result.samples->nloopbacks : 0;
    if (rc == 0 && sh->what->plans)
        rc = group_meanwhile (g, sleep_ms, &think_ms, &err);
    if (sh->what->dies)
        kill (sh->pid[VICTIM], SIGKILL);
    stage.plan = longer;
    stage.first = plan_rounds (plan);
    if (rc == 0 && sh->what->again)
        sh->again = probe_lead (g, &stage, &result, &err);
    if (rc == 0)
        look (sh, plan, &result);
    if (stage_end (g, &err) < 0)
        rc = -1;
    if (rc < 0)
        diag ("leader: %s", err.text);
    probe_result_clear (&result);
    plan_destroy (longer);
    plan_destroy (plan);
    pathset_destroy (ps);
    return rc < 0;
}

static int run_member (struct group *g, void *data)
{
    struct shared *sh = data;
    struct error err;
    int rc;

    sh->pid[g->me] = getpid ();
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    if (g->me == 0)
        rc = run_leader (g, sh);
    else
        rc = stage_follow (g, 0, "h0001", &err);
    sh->told += arena_level == LEVEL;
    if (rc == 0 || g->me == 0)
        return rc;
    diag ("member %zu: %s", g->me, err.text);
    return 1;
}

/* The leader dies with nothing told, or with all it wanted to know. */
static const struct orphans {
    const char *what;
    bool told;
} orphans[] = {
    { "the leader dies before it has a plan", false },
    { "the leader dies when it has measured", true },
};

static int run_orphan (struct group *g, void *data)
{
    const char *wanted = "h0001, which leads the check, does not answer";
    struct shared *sh = data;
    struct error err = { .text = "" };

    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    if (g->me == 0) {
        struct plan *plan = plan_create ("pmm");
        struct probe_result result = { 0 };
        struct probe_end end[MEMBERS] = { { 0, 0 }, { 1, 0 }, { 2, 0 },
                                          { 3, 0 }, { 4, 0 }, { 5, 0 } };
        struct probe_stage stage = { .plan = plan, .end = end,
                                     .repeats = REPEATS, .level = LEVEL };

        for (uint32_t i = 1; plan && i + 1 < MEMBERS; i++)
            plan_add (plan, i - 1, i, i + 1);
        if (sh->orphans->told)
            probe_lead (g, &stage, &result, &err);
        raise (SIGKILL);
    }
    if (stage_follow (g, 0, "h0001", &err) < 0 && !strcmp (err.text, wanted)
        && group_now (g) < 10 * group_dead_ns (g))
        return 0;
    diag ("member %zu: %s", g->me, err.text);
    return 1;
}

static void test_orphans (struct shared *sh)
{
    for (size_t i = 0; i < sizeof (orphans) / sizeof (orphans[0]); i++) {
        struct arena a;
        size_t well;

        sh->orphans = &orphans[i];
        if (arena_start (&a, NULL, NULL) < 0)
            exit (1);
        well = arena_run (&a, MEMBERS, 1, run_orphan, sh);
        ok (well == MEMBERS - 1, "%s: %zu say so", orphans[i].what, well);
        ok (arena_stop (&a), "... the emulator ends well");
    }
}

int main (void)
{
    struct shared *sh = mmap (NULL, sizeof (*sh), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (sh == MAP_FAILED)
        return 1;
    for (size_t i = 0; i < sizeof (table) / sizeof (table[0]); i++) {
        const struct stages *what = &table[i];
        bool second = what->again && !what->bad;
        struct arena a;
        size_t well;

        memset (sh, 0, sizeof (*sh));
        sh->what = what;
        arena_one_way = what->one_way ? VICTIM : UINT32_MAX;
        if (arena_start (&a, "loss", what->loss) < 0)
            return 1;
        sh->fabric = a.fabric;
        well = arena_run (&a, MEMBERS, 1, run_member, sh);
        ok (well == what->well, "%s: %zu members do well", what->what, well);
        ok ((size_t)sh->told == what->well, "... %d on the service level",
            sh->told);
        ok (sh->samples == 2 * sh->first, "... %zu samples of %zu probes",
            sh->samples, sh->first);
        ok (sh->after == sh->samples + (second ? 2 * sh->second : 0)
                && sh->late == sh->after - sh->samples
                && (sh->again < 0) == what->bad,
            "... %zu more of a second stage", sh->late);
        ok (sh->silent == 0
                && sh->mute == (what->dies ? sh->victims : 0)
                && sh->answered == (size_t)MEMBERS - what->dies,
            "... lost are those of who died, %zu", sh->mute);
        ok (sh->loops[0] == PARTS * ((size_t)MEMBERS - what->one_way)
                && sh->loops[1]
                       == (second ? PARTS * (sh->answered - what->one_way) : 0)
                && sh->odd == 0 && sh->misplaced == 0,
            "... loopbacks of all who have one, %zu and %zu", sh->loops[0],
            sh->loops[1]);
        ok (sh->known == sh->answered, "... who say what they are");
        ok (arena_stop (&a), "... the emulator ends well");
    }
    test_orphans (sh);
    return done_testing ();
}
