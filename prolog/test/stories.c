/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The policy over time, with its decisions carried out; and what holds of it
 * in any world.
 */
#include "config.h"
#include "prolog/policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/test/world.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { MINUTE = 60, HOUR = 3600 };

/* What was done in a story, how often. */
struct deeds {
    size_t n[POLICY_LIFTED + 1];
};

static void carry_out (struct world *w, const struct decision *d,
                       uint64_t after)
{
    struct policy_node *n = world_node (w, d->node);
    struct ledger_action *a;

    if (d->kind < POLICY_DRAIN)
        return;
    a = world_action (w, d->kind, d->node, w->in.now - NOW, after);
    a->link = d->link;
    a->reason = word (d->reason, strlen (d->reason));
    if (d->kind == POLICY_DRAIN)
        world_drained (w, d->node, a->reason, SELF);
    else if (d->kind == POLICY_RESUME)
        n->drained = false;
}

/* Decide at a time, in seconds from NOW on, and do it. */
static void act (struct world *w, int64_t time, struct deeds *deeds)
{
    struct decisions d;

    w->in.now = NOW + time;
    policy_decide (&d, &w->in, &w->cfg);
    for (size_t i = 0; i < d.n; i++) {
        deeds->n[d.v[i].kind]++;
        carry_out (w, &d.v[i], d.after);
    }
    policy_clear (&d);
}

static void audit (struct world *w, int64_t time, struct policy_finding found,
                   const char *suspects)
{
    world_audit (w, w->in.naudits + 1, time);
    world_find (w, found, suspects);
}

/* --- stories ------------------------------------------------------------- */

static bool half (struct rng *rng, size_t i)
{
    (void)i;
    return rng_below (rng, 2) == 0;
}

static bool every_other (struct rng *rng, size_t i)
{
    (void)rng;
    return i % 2 == 0;
}

static bool in_pairs (struct rng *rng, size_t i)
{
    (void)rng;
    return i % 4 < 2;
}

static bool by_day (struct rng *rng, size_t i)
{
    (void)rng;
    return i % 48 < 24;
}

/* A cable that is slow in half of 200 audits: however they come, one drain at
 * the most, and one resume.
 */
static void test_flapping (void)
{
    static const struct {
        const char *name;
        bool (*slow) (struct rng *rng, size_t i);
    } rows[] = {
        { "at random", half }, { "every other", every_other },
        { "in pairs", in_pairs }, { "for long", by_day },
    };
    static const int64_t spacing[]
        = { MINUTE, 11 * MINUTE, HOUR, 11 * HOUR, 25 * HOUR };
    enum { SPACINGS = sizeof (spacing) / sizeof (spacing[0]) };
    size_t drains = 0;
    size_t resumes = 0;

    for (size_t i = 0; i < 4 * SPACINGS; i++) {
        struct world *w = world_create ();
        struct deeds deeds = { { 0 } };
        struct rng rng;

        rng_seed (&rng, i);
        for (size_t k = 0; k < 200; k++) {
            int64_t time = (int64_t)k * spacing[i % SPACINGS];
            bool slow = rows[i / SPACINGS].slow (&rng, k);

            audit (w, time, slow ? found_fail : found_clean, "h1");
            act (w, time, &deeds);
            act (w, time + spacing[i % SPACINGS] / 2, &deeds);
        }
        drains += deeds.n[POLICY_DRAIN];
        resumes += deeds.n[POLICY_RESUME];
        ok (deeds.n[POLICY_DRAIN] <= 1 && deeds.n[POLICY_RESUME] <= 1
                && deeds.n[POLICY_LIFTED] == 0,
            "slow %s, an audit each %lld min: %zu drain, %zu resume",
            rows[i / SPACINGS].name, (long long)spacing[i % SPACINGS] / 60,
            deeds.n[POLICY_DRAIN], deeds.n[POLICY_RESUME]);
        world_destroy (w);
    }
    ok (drains > 4 && resumes > 2, "some of these did drain and resume: %zu, "
                                   "%zu", drains, resumes);
}

/* The names of n hosts of the site, chosen at random. */
static void some_hosts (struct rng *rng, size_t n, size_t of, char *buf,
                        size_t size)
{
    size_t first = rng_below (rng, of);

    *buf = '\0';
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen (buf);

        snprintf (buf + len, size - len, "%sh%zu", i ? "," : "",
                  (first + i * 7) % of + 1);
    }
}

/* 1000 audits of a healthy fabric, whose judge errs now and then. */
static void test_healthy (void)
{
    static const enum verdict_status levels[]
        = { VERDICT_WARN, VERDICT_UNKNOWN, VERDICT_FAIL };
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };
    struct rng rng;
    int64_t time = 0;

    rng_seed (&rng, 1);
    for (size_t k = 0; k < 1000; k++) {
        struct policy_finding f = found_fail;
        char names[256];

        f.x.level = levels[rng_below (&rng, 3)];
        some_hosts (&rng, 1, 100, names, sizeof (names));
        if (k % 10 == 0) {
            audit (w, time, f, names);
            act (w, time, &deeds);
            time += 11 * MINUTE;
            k++;
        }
        else
            some_hosts (&rng, 14, 100, names, sizeof (names));
        audit (w, time, found_clean, names);
        if (k % 20 < 2)
            act (w, time, &deeds);
        time += 11 * MINUTE;
    }
    ok (deeds.n[POLICY_DRAIN] == 0 && deeds.n[POLICY_WAIT] > 10
            && deeds.n[POLICY_NOTE] > 10,
        "a healthy fabric: no drain, %zu waits", deeds.n[POLICY_WAIT]);
    world_destroy (w);
}

/* Every host that is measured looks slow, in audits of any size. */
static void test_wrong_snapshot (void)
{
    for (size_t nodes = 10; nodes <= 1000; nodes *= 10) {
        struct world *w = world_create ();
        struct deeds deeds = { { 0 } };
        struct rng rng;

        rng_seed (&rng, nodes);
        world_nodes (w, nodes);
        for (size_t k = 0; k < 200; k++) {
            int64_t time = (int64_t)k * 11 * MINUTE;
            size_t n = 2 + rng_below (&rng, 6);
            size_t first = rng_below (&rng, nodes);

            {
                struct policy_audit *a = world_audit (w, k + 1, time);

                a->nodes = a->asked = n;
            }
            for (size_t i = 0; i < n; i++)
                world_find (w, found_fail, w->name[(first + i) % nodes]);
            act (w, time, &deeds);
        }
        ok (deeds.n[POLICY_DRAIN] == 0 && deeds.n[POLICY_NOTE] > 100,
            "a wrong snapshot, %zu nodes: no drain", nodes);
        world_destroy (w);
    }
}

/* The same, where of each audit one host is blamed: as many are drained as a
 * day may see, and no more ever, since the others FAIL.
 */
static void test_one_by_one (void)
{
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };

    world_nodes (w, 1000);
    for (size_t k = 0; k < 400; k++) {
        int64_t time = (int64_t)k * 11 * MINUTE;

        audit (w, time, found_fail, w->name[k / 2]);
        act (w, time, &deeds);
    }
    ok (deeds.n[POLICY_DRAIN] == 5, "slow hosts one by one, for three days: "
                                    "%zu drained", deeds.n[POLICY_DRAIN]);
    world_destroy (w);
}

/* Every path over a spine switch is slow: the judge names that, and blames
 * some hosts besides.
 */
static void test_common_cause (void)
{
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };
    struct decisions d;
    struct policy_finding cable = found_fail;

    cable.x.kind = FINDING_SWITCH_LINK;
    for (size_t k = 0; k < 50; k++) {
        int64_t time = (int64_t)k * 11 * MINUTE;

        audit (w, time, found_switch, "s1/1,s1/2,s1/3");
        world_find (w, cable, "s1/1");
        world_find (w, found_fail, "h1");
        act (w, time, &deeds);
    }
    policy_decide (&d, &w->in, &w->cfg);
    ok (deeds.n[POLICY_DRAIN] == 0 && d.nremarks == 1
            && strstr (d.remark[0], "switch"),
        "a slow spine switch: no drain; %s", d.remark[0]);
    policy_clear (&d);
    world_destroy (w);
}

/* Hosts that are alone on their switches, and a cable between switches that is
 * slow: whatever hosts audits take for it, and whatever else they may take, it
 * is suspected in each, and drains nobody. One of the hosts that is slow
 * it does, if twice.
 */
static void test_lone (void)
{
    static const char *const suspects[] = {
        "h1,s1", "s1,h2,s2", "h3,s1", "s1,h1,s3", "h2,h1,s1", "s2,s1,h3",
    };
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };
    struct policy_finding cable = found_fail;

    cable.x.kind = FINDING_SWITCH_LINK;
    world_set (w, "MaxDrainShare", "5");
    for (size_t k = 0; k < 120; k++) {
        int64_t time = (int64_t)k * 11 * MINUTE;

        audit (w, time, cable, suspects[k % 6]);
        act (w, time, &deeds);
    }
    ok (deeds.n[POLICY_DRAIN] == 0 && deeds.n[POLICY_WAIT] > 100,
        "a slow cable behind lone hosts: no drain, %zu waits",
        deeds.n[POLICY_WAIT]);
    audit (w, 120 * 11 * MINUTE, cable, "h2,s4");
    act (w, 120 * 11 * MINUTE, &deeds);
    ok (deeds.n[POLICY_DRAIN] == 0, "... nor where one is slow without it");
    audit (w, 121 * 11 * MINUTE, found_fail, "h2");
    act (w, 121 * 11 * MINUTE, &deeds);
    ok (deeds.n[POLICY_DRAIN] == 1 && world_node (w, "h2")->drained,
        "... but where that is so twice");
    world_destroy (w);
}

/* A slow host cable, drained, still slow, repaired, resumed; much later slow
 * again, reset by a person, and drained again.
 */
static void test_repair (void)
{
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };
    static const struct {
        int64_t at; /* min */
        const struct policy_finding *found;
        enum policy_kind did; /* of h1, then */
    } rows[] = {
        { 0, &found_clean, POLICY_NONE },
        { 30, &found_fail, POLICY_WAIT },
        { 35, &found_fail, POLICY_WAIT },
        { 41, &found_fail, POLICY_DRAIN },
        { 60, &found_fail, POLICY_WAIT },
        { 90, &found_clean, POLICY_WAIT },
        { 95, &found_clean, POLICY_WAIT },
        { 100, &found_clean, POLICY_RESUME },
        { 200, &found_clean, POLICY_NONE },
        { 300, &found_fail, POLICY_NOTE },
        { 311, &found_fail, POLICY_NOTE },
        { 400, NULL, POLICY_NONE }, /* the reset */
        { 410, &found_fail, POLICY_WAIT },
        { 421, &found_fail, POLICY_DRAIN }, /* one host counts once a day */
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct decisions d;
        const struct decision *h1;

        if (rows[i].found)
            audit (w, rows[i].at * MINUTE, *rows[i].found, "h1");
        else
            w->reset[w->in.resets.n++]
                = (struct ledger_rebase){ "h1/1", (int64_t)w->in.naudits };
        w->in.now = NOW + rows[i].at * MINUTE;
        policy_decide (&d, &w->in, &w->cfg);
        h1 = decision_of (&d, "h1");
        ok (h1->kind == rows[i].did, "after %lld min: %s: %s",
            (long long)rows[i].at, policy_kind_name (h1->kind), h1->why);
        policy_clear (&d);
        act (w, rows[i].at * MINUTE, &deeds);
    }
    world_destroy (w);
}

/* An operator drains a slow node by hand, mends it, and resumes it: what was
 * found before is forgotten.
 */
static void test_by_hand (void)
{
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };

    audit (w, 0, found_fail, "h1");
    world_drained (w, "h1", "cable", "root");
    audit (w, 11 * MINUTE, found_fail, "h1");
    act (w, 11 * MINUTE, &deeds);
    act (w, 20 * MINUTE, &deeds);
    world_node (w, "h1")->drained = false;
    act (w, 30 * MINUTE, &deeds);
    act (w, 40 * MINUTE, &deeds);
    ok (deeds.n[POLICY_DRAIN] == 0 && deeds.n[POLICY_LEFT] == 1
            && deeds.n[POLICY_LIFTED] == 1 && deeds.n[POLICY_WAIT] == 0,
        "an operator was faster: no drain, then or later");
    world_destroy (w);
}

/* The service is killed behind its record of a drain, before the drain. */
static void test_killed (void)
{
    struct world *w = world_create ();
    struct deeds deeds = { { 0 } };

    audit (w, 0, found_fail, "h1");
    audit (w, 11 * MINUTE, found_fail, "h1");
    act (w, 11 * MINUTE, &deeds);
    world_node (w, "h1")->drained = false;
    for (int64_t t = 12; t < 200; t += 11) {
        audit (w, t * MINUTE, found_fail, "h1");
        act (w, t * MINUTE, &deeds);
    }
    ok (deeds.n[POLICY_DRAIN] == 1 && deeds.n[POLICY_LIFTED] == 1,
        "a drain that was recorded, not made: no second one that day");
    for (int64_t t = 25 * HOUR; t < 27 * HOUR; t += 11 * MINUTE) {
        audit (w, t, found_fail, "h1");
        act (w, t, &deeds);
    }
    ok (deeds.n[POLICY_DRAIN] == 2, "but the day after");
    world_destroy (w);
}

/* --- properties ---------------------------------------------------------- */

enum { HOSTS = 6, WORLDS = 1500 };

static const char *random_link (struct rng *rng)
{
    char s[NAME];

    snprintf (s, sizeof (s), "h%d/%d", 1 + (int)rng_below (rng, HOSTS),
              1 + (int)(rng_below (rng, 8) == 0));
    return word (s, strlen (s));
}

static const char *random_host (struct rng *rng)
{
    const char *link = random_link (rng);

    return word (link, strcspn (link, "/"));
}

static struct policy_finding random_finding (struct rng *rng, bool well)
{
    static const enum verdict_status levels[] = {
        VERDICT_OK, VERDICT_WARN, VERDICT_UNKNOWN, VERDICT_FAIL, VERDICT_FAIL,
        VERDICT_FAIL, VERDICT_FAIL,
    };
    struct policy_finding f = found_fail;

    f.x.level = levels[rng_below (rng, 7)];
    if (well && rng_below (rng, 8))
        f.x.level = VERDICT_OK;
    if (rng_below (rng, 16) == 0)
        f.x.kind = (enum finding_kind)rng_below (rng, FINDING_KINDS);
    if (rng_below (rng, 4) == 0)
        f.x.basis = (enum finding_basis)rng_below (rng, BASIS_LOSS + 1);
    f.x.excess_ns = 350 + 100 * (double)rng_below (rng, 3);
    return f;
}

static void random_findings (struct world *w, struct rng *rng, size_t n,
                             bool well)
{
    while (n-- > 0) {
        const char *a = random_link (rng);
        const char *b = random_link (rng);
        char both[2 * NAME];

        snprintf (both, sizeof (both), "%s%s%s", a,
                  rng_below (rng, 6) ? "" : ",", b);
        world_find (w, random_finding (rng, well),
                    strchr (both, ',') ? both : a);
    }
}

static int64_t random_time (struct rng *rng)
{
    return (int64_t)rng_below (rng, 100) * 200 - 19000;
}

/* Numbers of audits are multiples of ten, so that others fit between. */
static struct world *random_world (struct rng *rng)
{
    static const enum policy_kind kinds[]
        = { POLICY_DRAIN, POLICY_RESUME, POLICY_LEFT, POLICY_LIFTED };
    struct world *w = world_create ();
    size_t audits = 2 + rng_below (rng, 8);
    bool well = rng_below (rng, 3) == 0;

    world_set (w, "MaxDrainShare", rng_below (rng, 2) ? "2" : "4");
    for (size_t i = 0; i < audits; i++) {
        struct policy_audit *a = world_audit (
            w, 10 * (i + 1),
            rng_below (rng, 10) ? 1500 * ((int64_t)i - 8) : random_time (rng));

        a->whole = rng_below (rng, 20) > 0;
        a->complete = a->whole && rng_below (rng, 20) > 0;
        if (rng_below (rng, 4) == 0)
            a->leader = rng_below (rng, 2) ? random_host (rng) : NULL;
        random_findings (w, rng, 1 + rng_below (rng, 2), well);
    }
    for (size_t i = rng_below (rng, 3); i-- > 0;) {
        const char *link = random_link (rng);

        w->sign[w->in.signs.n++] = (struct ledger_sign){
            .link = link, .host = word (link, strcspn (link, "/")),
            .time = NOW + random_time (rng), .audit = 10 * (int64_t)rng_below (rng, 10),
        };
    }
    for (size_t i = rng_below (rng, 3); i-- > 0;) {
        const char *host = random_host (rng);

        world_action (w, well ? POLICY_DRAIN : kinds[rng_below (rng, 4)],
                      host, random_time (rng), 10 * rng_below (rng, 10));
        if (well || rng_below (rng, 2))
            world_drained (w, host, REASON, SELF);
    }
    if (rng_below (rng, 4) == 0)
        w->mute[w->in.mutes.n++]
            = (struct ledger_mute){ .link = random_link (rng) };
    for (size_t i = rng_below (rng, 2); i-- > 0;)
        w->reset[w->in.resets.n++] = (struct ledger_rebase){
            random_link (rng), 10 * (int64_t)rng_below (rng, 10)
        };
    if (rng_below (rng, 4) == 0)
        world_drained (w, random_host (rng), "disk", "root");
    if (rng_below (rng, 8) == 0)
        world_node (w, random_host (rng))->reserved = true;
    return w;
}

static bool is_same (const struct decisions *a, const struct decisions *b)
{
    bool same = a->n == b->n && a->nremarks == b->nremarks
                && a->after == b->after;

    for (size_t i = 0; same && i < a->n; i++)
        same = !strcmp (a->v[i].node, b->v[i].node)
               && a->v[i].kind == b->v[i].kind
               && a->v[i].when == b->v[i].when
               && !strcmp (a->v[i].why, b->v[i].why)
               && !strcmp (a->v[i].reason, b->v[i].reason);
    for (size_t i = 0; same && i < a->nremarks; i++)
        same = !strcmp (a->remark[i], b->remark[i]);
    return same;
}

static void shuffle (struct rng *rng, void *v, size_t n, size_t size)
{
    char *p = v;
    char tmp[256];

    for (size_t i = n; i-- > 1;) {
        size_t k = rng_below (rng, i + 1);

        memcpy (tmp, p + i * size, size);
        memcpy (p + i * size, p + k * size, size);
        memcpy (p + k * size, tmp, size);
    }
}

static void change_order (struct world *w, struct rng *rng)
{
    for (size_t i = 0; i < w->in.naudits; i++)
        shuffle (rng, w->finding[i], w->audit[i].nfindings,
                 sizeof (w->finding[i][0]));
    shuffle (rng, w->audit, w->in.naudits, sizeof (w->audit[0]));
    shuffle (rng, w->node, w->in.nnodes, sizeof (w->node[0]));
    shuffle (rng, w->sign, w->in.signs.n, sizeof (w->sign[0]));
    shuffle (rng, w->action, w->in.actions.n, sizeof (w->action[0]));
    shuffle (rng, w->reset, w->in.resets.n, sizeof (w->reset[0]));
}

static void add_user (struct world *w, struct rng *rng)
{
    for (size_t i = 0; i < 3; i++) {
        world_audit (w, 10 * rng_below (rng, 20), random_time (rng))->user
            = true;
        random_findings (w, rng, 3, rng_below (rng, 2));
    }
}

static void add_unknown (struct world *w, struct rng *rng)
{
    static const enum finding_kind kinds[]
        = { FINDING_HOST_END, FINDING_SWITCH_LINK, FINDING_SWITCH,
            FINDING_ROUTE };
    size_t old = w->in.naudits;

    for (size_t i = 0; i < 3; i++) {
        struct policy_finding f = found_unknown;
        size_t k = rng_below (rng, old);

        f.x.kind = kinds[rng_below (rng, 4)];
        w->in.naudits = k + 1; /* to add to an old one */
        world_find (w, f, random_link (rng));
        w->in.naudits = old;
    }
    world_audit (w, 10 * rng_below (rng, 10) + 5, random_time (rng));
    world_find (w, found_unknown, random_link (rng));
}

static void add_software (struct world *w, struct rng *rng)
{
    size_t old = w->in.naudits;

    for (size_t i = 0; i < 6; i++) {
        struct policy_finding f = found_fail;
        size_t k = rng_below (rng, old);

        f.x.kind = FINDING_NODE;
        f.x.level = VERDICT_WARN;
        w->in.naudits = k + 1; /* to add to an old one */
        world_find (w, f, random_link (rng));
        w->in.naudits = old;
    }
}

/* The same is done; but of who is well it may be said. */
static bool is_as_done (const struct decisions *b, const struct decisions *a)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].kind != a->v[i].kind
            && !(a->v[i].kind == POLICY_NONE && b->v[i].kind == POLICY_NOTE))
            return false;
    return true;
}

/* Each node that is drained in b is drained in a, or would be if others did
 * not FAIL.
 */
static bool is_less (const struct decisions *b, const struct decisions *a)
{
    for (size_t i = 0; i < b->n; i++)
        if (b->v[i].kind == POLICY_DRAIN && a->v[i].kind != POLICY_DRAIN
            && !strstr (a->v[i].why, "its FAIL is confirmed"))
            return false;
    return true;
}

/* Whether the finding says FAIL of a link of the host, or of others as well. */
static bool blames (const struct policy_finding *f, const char *host)
{
    bool found = false;

    for (size_t j = 0; j < f->nsuspects; j++)
        found = found || !strcmp (f->suspect[j].host, host);
    return found && f->x.kind <= FINDING_SWITCH_LINK
           && (f->x.level == VERDICT_FAIL || f->x.basis == BASIS_CLASS);
}

/* Whether no link of another host is in both. */
static bool are_apart (const struct policy_finding *f,
                       const struct policy_finding *g, const char *host)
{
    for (size_t i = 0; i < f->nsuspects; i++)
        for (size_t j = 0; j < g->nsuspects; j++)
            if (strcmp (f->suspect[i].host, host)
                && !strcmp (f->suspect[i].link, g->suspect[j].link))
                return false;
    return true;
}

static bool counts (const struct world *w, const struct policy_audit *a)
{
    return a->whole && !a->user && a->time <= w->in.now;
}

/* How many audits blame the host, and are apart from that one, if any. */
static size_t audits_of (const struct world *w, const char *host,
                         const struct policy_audit *of,
                         const struct policy_finding *from)
{
    size_t n = 0;

    for (size_t i = 0; i < w->in.naudits; i++) {
        const struct policy_audit *a = &w->audit[i];
        bool found = false;

        for (size_t k = 0; k < a->nfindings; k++)
            found = found || (blames (&a->finding[k], host)
                              && (!from || are_apart (from, &a->finding[k],
                                                      host)));
        n += found && counts (w, a) && a != of;
    }
    return n;
}

/* Whether two audits blame the host, and have nothing else in common. */
static bool is_told_apart (const struct world *w, const char *host)
{
    for (size_t i = 0; i < w->in.naudits; i++) {
        const struct policy_audit *a = &w->audit[i];

        for (size_t k = 0; k < a->nfindings; k++)
            if (counts (w, a) && blames (&a->finding[k], host)
                && audits_of (w, host, a, &a->finding[k]) > 0)
                return true;
    }
    return false;
}

/* How many audits find something clean. */
static size_t clean_audits (const struct world *w)
{
    size_t n = 0;

    for (size_t i = 0; i < w->in.naudits; i++) {
        const struct policy_audit *a = &w->audit[i];
        bool found = false;

        for (size_t k = 0; k < a->nfindings; k++)
            found = found || a->finding[k].x.level == VERDICT_OK;
        n += found && a->complete && !a->user && a->time <= w->in.now;
    }
    return n;
}

/* How many others led audits in which the host FAILs. */
static size_t leaders_of (const struct world *w, const char *host)
{
    const char *leader[AUDITS];
    size_t n = 0;

    for (size_t i = 0; i < w->in.naudits; i++) {
        const struct policy_audit *a = &w->audit[i];
        bool found = false;
        size_t l = 0;

        for (size_t k = 0; k < a->nfindings; k++)
            for (size_t j = 0; j < a->finding[k].nsuspects; j++)
                found = found
                        || !strcmp (a->finding[k].suspect[j].host, host);
        if (!found || a->user || !a->leader || !strcmp (a->leader, host))
            continue;
        while (l < n && strcmp (leader[l], a->leader))
            l++;
        if (l == n)
            leader[n++] = a->leader;
    }
    return n;
}

/* What is plain without knowing the rules. */
static bool is_sound (struct world *w, const struct decisions *d)
{
    size_t drains = 0;
    bool sound = true;

    for (size_t i = 0; i < d->n; i++) {
        const struct decision *v = &d->v[i];
        const struct policy_node *n = world_node (w, v->node);
        bool sign = false;

        for (size_t k = 0; k < w->in.signs.n; k++)
            sign = sign || !strcmp (w->sign[k].host, v->node);
        if (v->kind == POLICY_DRAIN) {
            drains++;
            sound = sound && !n->drained && !n->reserved
                    && audits_of (w, v->node, NULL, NULL) + sign >= 2
                    && (sign || (is_told_apart (w, v->node)
                                 && leaders_of (w, v->node) >= 2));
        }
        if (v->kind == POLICY_RESUME)
            sound = sound && n->drained && !strcmp (n->by, SELF)
                    && clean_audits (w) >= 2;
        sound = sound && v->why[0];
    }
    return sound && (double)drains <= w->cfg.max_drain_percent;
}

static void test_properties (void)
{
    static const struct {
        const char *what;
        void (*change) (struct world *w, struct rng *rng);
        bool (*holds) (const struct decisions *after,
                       const struct decisions *before);
    } rows[] = {
        { "the order of the inputs does not matter", change_order, is_same },
        { "a user's checks change nothing", add_user, is_same },
        { "UNKNOWN adds no drain", add_unknown, is_less },
        { "what is the node's changes nothing", add_software, is_as_done },
    };
    enum { ROWS = sizeof (rows) / sizeof (rows[0]) };
    const size_t many = trials (WORLDS);
    size_t broken[ROWS] = { 0 };
    size_t unsound = 0;
    size_t seen[POLICY_LIFTED + 1] = { 0 };
    struct rng rng;

    for (size_t i = 0; i < many; i++)
        for (size_t r = 0; r < ROWS; r++) {
            struct world *w;
            struct decisions before;
            struct decisions after;

            rng_seed (&rng, i);
            w = random_world (&rng);
            policy_decide (&before, &w->in, &w->cfg);
            unsound += !is_sound (w, &before);
            for (size_t k = 0; k < before.n; k++)
                seen[before.v[k].kind]++;
            rows[r].change (w, &rng);
            policy_decide (&after, &w->in, &w->cfg);
            broken[r] += !rows[r].holds (&after, &before);
            policy_clear (&before);
            policy_clear (&after);
            world_destroy (w);
        }
    for (size_t r = 0; r < ROWS; r++)
        ok (broken[r] == 0, "%s: %zu of %zu worlds differ", rows[r].what,
            broken[r], many);
    ok (unsound == 0, "no drain or resume without a ground: %zu", unsound);
    for (enum policy_kind k = POLICY_NONE; k <= POLICY_LIFTED; k++)
        ok (seen[k] > many / 50, "%zu decisions were: %s", seen[k],
            policy_kind_name (k));
}

int main (void)
{
    test_flapping ();
    test_healthy ();
    test_wrong_snapshot ();
    test_one_by_one ();
    test_common_cause ();
    test_lone ();
    test_repair ();
    test_by_hand ();
    test_killed ();
    test_properties ();
    return done_testing ();
}
