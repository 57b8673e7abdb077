/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a site in a season of audits: nothing where all is well,
 * one drain of a host whose cable is slow, none for what is no host's fault.
 * PMM_FULL=1 makes the seasons longer, PMM_LONG=1 still more so.
 */
#include "config.h"
#include "prolog/test/season.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

#define SLOW_NS 1000.0
#define PROFILE_NS 500.0
#define RECABLED_NS 200.0
#define PINNED_NS 300.0 /* a process on another socket */
#define PINNED_SHARE 0.2

static struct fabric *fabric;

/* How many audits a season has. */
static size_t audits (size_t few, size_t full, size_t many)
{
    return getenv ("PMM_LONG") ? many : trials (4) == 4 ? full : few;
}

static struct fabric *tree (enum routing routing)
{
    struct fat_tree tree = { .ports = 6, .levels = 3,
                             .how = { .routing = routing, .seed = 1 } };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);

    if (!f || f->nhosts != SEASON_HOSTS)
        abort ();
    return f;
}

static struct season *open_season (uint64_t seed)
{
    static unsigned int number;
    char path[32];

    snprintf (path, sizeof (path), "ledger-%u", number++);
    return season_open (fabric, path, seed);
}

static void show (const char *name, const struct season *s)
{
    const struct outcome *o = &s->outcome;

    diag ("%s: %zu audits: %zu OK, %zu WARN, %zu UNKNOWN, %zu FAIL; "
          "%zu host ends FAIL, %zu drains, %zu resumes; %zu count for "
          "nothing%s%s", name, o->audits, o->status[VERDICT_OK],
          o->status[VERDICT_WARN], o->status[VERDICT_UNKNOWN],
          o->status[VERDICT_FAIL], o->fails, o->drains, o->resumes, o->told,
          o->told ? ", as " : "", o->why);
}

/* --- weather ------------------------------------------------------------- */

static void calm (struct season *s, size_t audit)
{
    (void)s;
    (void)audit;
}

static void slow (struct season *s, size_t audit)
{
    (void)audit;
    s->latency[s->fault] += SLOW_NS;
}

static void flapping (struct season *s, size_t audit)
{
    if (rng_below (&s->rng, 2))
        slow (s, audit);
}

/* Each path over the switch crosses two of its cables. */
static void slow_switch (struct season *s, size_t audit)
{
    (void)audit;
    for (size_t l = 0; l < s->net->nlinks; l++)
        if (s->net->link[l].end[0] == s->fault
            || s->net->link[l].end[1] == s->fault)
            s->latency[l] += SLOW_NS / 2;
}

/* Processes are on other sockets in each audit. */
static void pinned (struct season *s, size_t audit)
{
    (void)audit;
    for (size_t h = 0; h < SEASON_HOSTS; h++)
        if (rng_uniform (&s->turns) < PINNED_SHARE)
            s->offset[h] = PINNED_NS;
}

/* The host of the fault has another power profile. */
static void profile (struct season *s, size_t audit)
{
    (void)audit;
    s->offset[fabric_find_host (s->fabric, s->net->link[s->fault].host)]
        = PROFILE_NS;
}

static void slow_profile (struct season *s, size_t audit)
{
    slow (s, audit);
    profile (s, audit);
}

/* The loopback shows half of what its host's round trips take more. */
static void half_profile (struct season *s, size_t audit)
{
    profile (s, audit);
    s->latency[s->fault] += PROFILE_NS;
}

/* Some cables between switches got longer; audits are hours apart. */
static void recabled (struct season *s, size_t audit)
{
    (void)audit;
    s->now += 8 * 3600;
    for (size_t l = 0; l < s->net->nlinks; l += 12)
        if (s->net->link[l].kind == LINK_SWITCH)
            s->latency[l] += RECABLED_NS;
}

static void slow_recabled (struct season *s, size_t audit)
{
    recabled (s, audit);
    slow (s, audit);
}

static void plant_cable (struct season *s)
{
    const char *name = s->fabric->host[rng_below (&s->rng, SEASON_HOSTS)].name;
    char port[80];

    snprintf (port, sizeof (port), "%s/1", name);
    s->fault = fabric_find_link (s->fabric, port);
}

static void plant_switch (struct season *s)
{
    s->fault = fabric_find_switch (s->fabric, "s3-0001");
    s->is_switch = true;
}

/* --- seasons ------------------------------------------------------------- */

static void test_healthy (void)
{
    struct season *s = open_season (1);

    season_run (s, audits (4, 60, 1000), calm);
    show ("healthy", s);
    ok (s->outcome.status[VERDICT_FAIL] == 0 && s->outcome.drains == 0,
        "a healthy site: no FAIL, no drain");
    ok (s->outcome.status[VERDICT_OK] > s->outcome.audits / 2,
        "... and most audits find it OK, traffic or not");
    season_close (s);
}

static void test_flapping (void)
{
    struct season *s = open_season (31);

    plant_cable (s);
    season_run (s, audits (6, 40, 200), flapping);
    show ("flapping", s);
    ok (s->outcome.fails > 0 && s->outcome.strays == 0,
        "a flapping cable is found, and no other");
    ok (s->outcome.drains <= 1 && s->outcome.elsewhere == 0
            && s->outcome.resumes <= s->outcome.drains,
        "... its host is drained once at most, and no other");
    season_close (s);
}

/* Two calm days; a cable is chosen that gets slow then. */
static struct season *open_slow_season (uint64_t seed)
{
    struct season *s = open_season (seed);

    season_run (s, audits (2, 5, 50), calm);
    plant_cable (s);
    return s;
}

static void test_slow (uint64_t seed)
{
    struct season *s = open_slow_season (seed);
    const struct outcome *o = &s->outcome;

    season_run (s, audits (6, 15, 100), slow);
    show ("slow", s);
    diag ("slow: FAIL in audit %zu with it, drained after audit %zu",
          o->found, o->drained);
    ok (o->found > 0 && o->drained > o->found && o->drains == 1
            && o->elsewhere == 0 && o->strays == 0,
        "a slow host cable drains its host, after a second audit, and no "
        "other");
    ok (o->resumes == 0, "... which is not resumed");
    o = &s->outcome;
    s->fault = NETWORK_NONE;
    season_run (s, audits (6, 8, 50), calm);
    ok (o->drains == 0 && o->resumes == 1, "... before it is mended");
    season_close (s);
}

/* What hosts take themselves, and loopbacks show, is no link's. */
static void test_pinned (uint64_t seed)
{
    struct season *s = open_season (seed);

    season_run (s, audits (4, 40, 400), pinned);
    show ("pinned", s);
    ok (s->outcome.drains == 0 && s->outcome.status[VERDICT_WARN] == 0
            && s->outcome.status[VERDICT_FAIL] == 0,
        "processes on other sockets, in each audit others: nothing is found");
    season_close (s);
}

/* A power profile is news once; a cable that gets slow with it is found, and
 * stays found.
 */
static void test_profile (uint64_t seed)
{
    struct season *s = open_slow_season (seed);

    season_run (s, audits (9, 22, 100), profile);
    show ("profile", s);
    ok (s->outcome.news == 1 && s->outcome.fails == 0,
        "a host's power profile is said once: %zu times", s->outcome.news);
    season_run (s, audits (5, 15, 100), slow_profile);
    show ("profile, slow", s);
    ok (s->outcome.drains == 1 && s->outcome.elsewhere == 0
            && s->outcome.news == 0,
        "... and what its cable takes later is the cable's");
    season_close (s);
    s = open_slow_season (seed);
    season_run (s, audits (6, 22, 100), slow_profile);
    show ("profile with slow", s);
    ok (s->outcome.drains == 1 && s->outcome.elsewhere == 0
            && s->outcome.strays == 0,
        "a cable that gets slow with it, by more, drains its host");
    season_close (s);
    s = open_slow_season (seed);
    season_run (s, audits (6, 22, 100), half_profile);
    show ("half a profile", s);
    ok (s->outcome.news > 0 && s->outcome.fails == 0 && s->outcome.drains == 0,
        "what its loopback shows half of is its host's: said, and no drain");
    season_close (s);
}

/* What a few cables take more is said for some days, then it is theirs. */
static void test_recabled (void)
{
    struct season *s = open_season (9);
    const struct outcome *o = &s->outcome;
    size_t settled;

    season_run (s, audits (11, 11, 50), recabled);
    settled = o->settled;
    show ("recabled", s);
    ok (o->status[VERDICT_WARN] > 0 && o->fails == 0,
        "longer cables: WARN for some days");
    season_run (s, audits (22, 33, 66), recabled);
    show ("... days after", s);
    ok (settled + o->settled > 0, "... they are learned");
    season_run (s, audits (11, 22, 66), recabled);
    show ("... weeks after", s);
    ok (o->status[VERDICT_WARN] + o->status[VERDICT_FAIL] <= o->audits / 10,
        "... and no longer found");
    plant_cable (s);
    season_run (s, audits (6, 15, 100), slow_recabled);
    show ("slow, recabled", s);
    ok (o->drains == 1 && o->elsewhere == 0 && o->strays == 0,
        "... and a slow cable drains its host");
    season_close (s);
}

static void test_switch (void)
{
    struct season *s = open_season (3);

    season_run (s, audits (2, 5, 50), calm);
    plant_switch (s);
    season_run (s, audits (11, 22, 200), slow_switch);
    show ("slow switch", s);
    diag ("slow switch: of %zu sweeps %zu name it, and nothing else",
          s->outcome.sweeps, s->outcome.named);
    ok (s->outcome.drains == 0 && s->outcome.fails == 0,
        "a slow spine switch: no drain, no host end FAILs");
    ok (s->outcome.named > 0
            && 2 * s->outcome.named >= s->outcome.sweeps,
        "... and a sweep has one finding, which names the switch");
    season_close (s);
}

/* A baseline of a time when every adapter was faster, one more than another:
 * each host looks slow.
 */
static void test_wrong_baseline (void)
{
    struct season *s = open_season (52);
    struct pathset *ps;
    struct samples *before;

    for (size_t l = 0; l < s->net->nlinks; l++)
        if (s->net->link[l].kind == LINK_HOST)
            s->healthy[l] += SLOW_NS * (0.4 + rng_uniform (&s->rng));
    before = season_sweep (s, &ps);
    s->published = baseline_of (before, ps, NULL);
    season_run (s, audits (4, 11, 100), calm);
    show ("wrong baseline", s);
    ok (s->outcome.drains == 0, "a wrong baseline, by which every host is "
        "slow: no drain");
    ok (10 * s->outcome.told >= 9 * s->outcome.audits,
        "... and nine audits of ten say why");
    baseline_destroy (s->published);
    season_close (s);
    samples_destroy (before);
    pathset_destroy (ps);
}

/* The tables are others than those of the snapshot. */
static void test_wrong_snapshot (void)
{
    struct season *s = open_season (5);
    struct fabric *actual = tree (ROUTING_MINHOP);

    season_run (s, audits (2, 5, 50), calm);
    s->actual = actual;
    season_run (s, audits (4, 11, 100), calm);
    show ("wrong snapshot", s);
    ok (s->outcome.drains == 0, "a snapshot that no longer holds: no drain");
    season_close (s);
    fabric_destroy (actual);
}

int main (void)
{
    char dir[] = "/dev/shm/pmm-seasons-XXXXXX";
    char command[64];

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    umask (022);
    fabric = tree (ROUTING_DMODK);
    test_slow (6);
    test_switch ();
    test_wrong_baseline ();
    if (!SANITIZED) {
        test_healthy ();
        test_flapping ();
        test_pinned (7);
        test_profile (8);
        test_recabled ();
        test_wrong_snapshot ();
    }
    fabric_destroy (fabric);
    snprintf (command, sizeof (command), "rm -r %s", dir);
    if (chdir ("/") < 0 || system (command) != 0)
        return 1;
    return done_testing ();
}
