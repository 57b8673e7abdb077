/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts between members whose transport carries what the test says: one slow
 * direction, a host that is better without relaxed ordering, and what can go wrong.
 * Messages go over the emulator; two hosts are at a leaf switch.
 */
#include "config.h"
#include "probe/burst.h"
#include "probe/burst_work.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

enum {
    MEMBERS = 8,
    VICTIM = 3,
    REPEATS = 2,
    DEADLINE_S = 100000,
    RETRIES = 7,
};

#define FULL 97e9
#define SLOW 30e9
#define LOOP 99e9

static const struct scene {
    const char *what;
    bool slow;    /* what the victim receives */
    bool strict;  /* ... unless ordering is strict */
    bool lost;    /* ... or it is lost */
    bool refuses; /* the victim's transport connects none */
    bool fails;   /* ... or its bursts fail */
    bool dies;    /* ... or it dies in one that counts */
    bool none;    /* there are no bursts */
    bool cable;   /* one between switches is at half */
    bool hosts;   /* hosts' links alone */
    bool short_time;
    unsigned int left;
    const char *why;
} scenes[] = {
    { .what = "all is well" },
    { .what = "one receives slowly", .slow = true },
    { .what = "... but for strict ordering", .slow = true, .strict = true },
    { .what = "what one receives is lost", .lost = true },
    { .what = "one cannot connect",
      .refuses = true,
      .left = LEFT_HOSTS,
      .why = "mlx5_0: no connections allowed" },
    { .what = "bursts of one fail",
      .fails = true,
      .left = LEFT_HOSTS,
      .why = "mlx5_0: it broke" },
    { .what = "one dies in a burst",
      .dies = true,
      .left = LEFT_HOSTS,
      .why = "no answer during the bursts" },
    { .what = "a cable between switches at half", .cable = true },
    { .what = "hosts alone", .hosts = true, .left = LEFT_SITE },
    { .what = "no time", .short_time = true, .left = LEFT_TIME },
    { .what = "a transport without bursts",
      .none = true,
      .left = LEFT_TRANSPORT },
};

static struct shared {
    const struct scene *what;
    const struct fabric *fabric;
    /* bytes from a to b, of all bursts */
    _Atomic uint64_t bytes[MEMBERS][MEMBERS];
    /* what the leader found */
    size_t flows, loops, ports;
    size_t wrong; /* ways with other rates than there are, or too few bursts */
    size_t victims;          /* flows of the victim */
    size_t slow, lost, most; /* ways; bursts of one */
    size_t better, retries;  /* ports */
    size_t crowds;           /* flows in some */
    size_t between;          /* flows between switches */
    double busiest;          /* cable between switches, ns */
    size_t samples, answered;
    unsigned int left;
    struct burst_trouble trouble;
} * shared;

static uint32_t me;
static unsigned int counted;

static int fake_prepare (void *t, uint32_t rail, uint32_t peer,
                         struct transport_way way, bool strict,
                         struct error *err)
{
    static unsigned int calls;

    (void)t;
    (void)rail;
    (void)way;
    (void)strict;
    if (me == VICTIM && shared->what->refuses)
        return error_world (err, "mlx5_0: no connections allowed");
    /* a peer that refuses is never ready; others are at the second call */
    if (peer == VICTIM && shared->what->refuses)
        return 0;
    return calls++ % 2 == 1;
}

/* Whether it is over the cable up from the first leaf to the other pod. */
static bool over_cable (uint32_t from, uint32_t to)
{
    static struct pathset *ps;
    uint32_t arc[PATH_MAX_HOPS], first[PATH_MAX_HOPS];
    const char *name[MEMBERS];
    struct error err;
    int n;

    for (uint32_t i = 0; i < MEMBERS && !ps; i++)
        name[i] = shared->fabric->host[i].name;
    if (!ps && !(ps = fabric_pathset (shared->fabric, name, MEMBERS, &err)))
        abort ();
    n = from == to ? 0 : pathset_walk (ps, from, to, arc, NULL);
    if (!shared->what->cable
        || pathset_walk (ps, 0, MEMBERS / 2, first, NULL) < 2)
        return false;
    for (int k = 0; k < n; k++)
        if (arc[k] == first[1])
            return true;
    return false;
}

static int fake_bulk (void *t, struct transport_burst *b, size_t n,
                      int64_t deadline_ns, transport_take_f take, void *arg,
                      struct error *err)
{
    const struct scene *what = shared->what;

    (void)t;
    (void)deadline_ns;
    (void)take;
    (void)arg;
    for (size_t i = 0; i < n; i++) {
        bool bad = me == VICTIM && b[i].peer != me;

        shared->bytes[me][b[i].peer] += b[i].bytes;
        counted++;
        if (me == VICTIM && what->dies && counted > 5)
            raise (SIGKILL);
        if (me == VICTIM && what->fails)
            return error_world (err, "mlx5_0: it broke");
        b[i].lost = bad && what->lost;
        b[i].bits = b[i].lost         ? 0
                    : b[i].peer == me ? LOOP
                    : bad && what->slow && !(what->strict && b[i].strict)
                        ? SLOW
                    : over_cable (b[i].peer, me) ? FULL / 2 / (double)n
                                                 : FULL;
        /* each is a little less than the one before */
        b[i].bits -= counted;
    }
    return 0;
}

static void fake_port (void *t, uint32_t rail, struct transport_port *port)
{
    (void)t;
    (void)rail;
    *port = (struct transport_port){
        .bits = 1e11, .mtu = 4096, .relaxed = true, .retries = RETRIES * counted
    };
}

static void fake_transport (struct transport *t)
{
    t->bulk_prepare = shared->what->none ? NULL : fake_prepare;
    t->bulk = shared->what->none ? NULL : fake_bulk;
    t->bulk_port = shared->what->none ? NULL : fake_port;
}

/* About what was expected, in [bits - some, bits]. */
static bool about (double bits, double expected)
{
    return bits <= expected && bits > expected - 1000;
}

static void look_at_way (struct shared *sh, const struct burst_way *way,
                         uint32_t from, uint32_t to)
{
    const struct scene *what = sh->what;
    bool slow = to == VICTIM && what->slow && !what->strict;
    bool lost = to == VICTIM && what->lost;
    size_t n = way->kept + way->lost;

    sh->slow += about (way->best, SLOW);
    sh->lost += way->kept == 0 && way->lost > 0;
    if (n > sh->most)
        sh->most = n;
    /* what came before it was known that strict ordering is better */
    if ((n == 0 && to == VICTIM && what->strict) || over_cable (from, to))
        return;
    if (n == 0 || way->worst > way->best
        || (lost ? way->kept != 0 : way->lost != 0)
        || !about (way->best, lost   ? 0
                              : slow ? SLOW
                                     : FULL))
        sh->wrong++;
}

static void look (struct shared *sh, const struct pathset *ps,
                  const struct probe_result *result)
{
    const struct samples *s = result->samples;
    const struct bursts *b = s->bursts;
    const struct network *net = pathset_network (ps);
    double *busy = calloc (2 * net->nlinks, sizeof (*busy));

    sh->left = b->left;
    sh->samples = s->nsamples;
    for (size_t m = 0; m < MEMBERS; m++)
        sh->answered += result->member[m].answered;
    for (size_t i = 0; i < b->nflows; i++) {
        const struct burst_flow *f = &b->flow[i];

        if (f->a == f->b) {
            sh->loops++;
            sh->wrong += !about (f->way[0].best, LOOP) || f->way[1].kept > 0;
            continue;
        }
        sh->flows++;
        sh->victims += f->a == VICTIM || f->b == VICTIM;
        look_at_way (sh, &f->way[0], f->a, f->b);
        look_at_way (sh, &f->way[1], f->b, f->a);
        sh->crowds += f->crowd;
    }
    for (size_t i = 0; i < b->nports; i++) {
        sh->ports++;
        sh->better += b->port[i].order == ORDER_BETTER;
        sh->retries += b->port[i].retries > 0 && b->port[i].mtu == 4096
                       && !(b->port[i].others_bits > 1e9);
    }
    for (uint32_t from = 0; from < MEMBERS; from++)
        for (uint32_t to = 0; to < MEMBERS; to++) {
            uint32_t arc[PATH_MAX_HOPS];
            int n = from == to || sh->bytes[from][to] == 0
                        ? 0
                        : pathset_walk (ps, from, to, arc, NULL);

            for (int k = 0; k < n; k++)
                if (net->link[arc_link (arc[k])].kind == LINK_SWITCH) {
                    sh->between++;
                    busy[arc[k]] += (double)sh->bytes[from][to] * 8e9
                                    / net->link[arc_link (arc[k])].rate;
                }
        }
    for (size_t i = 0; i < 2 * net->nlinks; i++)
        sh->busiest = fmax (sh->busiest, busy[i]);
    free (busy);
}

static int run_leader (struct group *g, struct shared *sh)
{
    struct probe_end end[MEMBERS];
    const char *name[MEMBERS];
    struct probe_stage stage = { .end = end, .repeats = REPEATS };
    struct burst_options opts = { .end = end, .hosts = sh->what->hosts };
    struct probe_result result = { 0 };
    struct plan *plan = plan_create ("pmm");
    struct error err = { .text = "" };
    int rc;

    for (uint32_t i = 0; i < MEMBERS; i++) {
        end[i] = (struct probe_end){ i, 0 };
        name[i] = sh->fabric->host[i].name;
        plan_add (plan, i % 2, i, (i + 1) % MEMBERS);
    }
    opts.ps = fabric_pathset (sh->fabric, name, MEMBERS, &err);
    stage.plan = plan;
    rc = opts.ps ? probe_lead (g, &stage, &result, &err) : -1;
    if (rc == 0) {
        int64_t deadline = g->deadline;

        if (sh->what->short_time)
            g->deadline = group_now (g) + 4 * BURST_NS;
        burst_lead (g, &opts, &result, &sh->trouble);
        g->deadline = deadline;
        look (sh, opts.ps, &result);
    }
    if (stage_end (g, &err) < 0)
        rc = -1;
    if (rc < 0)
        diag ("leader: %s", err.text);
    probe_result_clear (&result);
    plan_destroy (plan);
    pathset_destroy (opts.ps);
    return rc < 0;
}

static int run_member (struct group *g, void *data)
{
    struct error err;
    int rc;

    me = (uint32_t)g->me;
    g->deadline = group_now (g) + DEADLINE_S * 1000000000LL;
    rc = g->me == 0 ? run_leader (g, data) : stage_follow (g, 0, "h0001", &err);
    if (rc < 0)
        diag ("member %zu: %s", g->me, err.text);
    return rc != 0;
}

static void test_scene (const struct scene *what)
{
    bool bad = what->refuses || what->fails || what->dies;
    bool any = !what->none && !what->short_time;
    struct shared *sh = shared;
    struct arena a;
    size_t well;

    memset (sh, 0, sizeof (*sh));
    sh->what = what;
    arena_change = fake_transport;
    if (arena_start (&a, NULL, NULL) < 0)
        exit (1);
    sh->fabric = a.fabric;
    for (size_t l = 0; l < a.fabric->nlinks && what->cable; l++)
        a.fabric->link_info[l].rate = 1e11; /* as ports are: one flow fills it */
    well = arena_run (&a, MEMBERS, 1, run_member, sh);
    ok (well == (size_t)MEMBERS - what->dies && sh->samples == 2 * MEMBERS
            && sh->answered == MEMBERS,
        "%s: %zu members do well, and all %zu samples of round trips are kept",
        what->what, well, sh->samples);
    ok (sh->left == what->left, "... left out: %#x", sh->left);
    ok (!strcmp (sh->trouble.why, what->why ? what->why : "")
            && (!what->why || sh->trouble.member == VICTIM)
            && sh->trouble.others == 0,
        "... it says why: '%s'", sh->trouble.why);
    ok (any ? sh->flows >= (what->hosts ? MEMBERS / 2 : MEMBERS - 2)
                  && sh->wrong == 0 && (sh->crowds > 0) == what->cable
            : sh->flows == 0,
        "... %zu flows as they are, %zu not, %zu in crowds", sh->flows,
        sh->wrong, sh->crowds);
    ok (sh->victims == 0 ? bad || !any : !bad,
        "... %zu flows of the one it is about", sh->victims);
    if (any)
        ok (sh->loops >= (size_t)MEMBERS - bad && sh->ports == sh->retries
                && sh->ports == (size_t)MEMBERS - bad,
            "... %zu loopbacks, %zu ports", sh->loops, sh->ports);
    ok (sh->busiest <= 10e6 && (sh->between > 0) == (any && !what->hosts),
        "... the busiest cable between switches was busy for %.1f ms",
        sh->busiest / 1e6);
    ok (what->slow && !what->strict ? sh->slow > 0
        : what->lost                ? sh->lost > 0
        : what->strict              ? sh->better == 1
                       : sh->slow == 0 && sh->lost == 0 && sh->better == 0,
        "... %zu slow, %zu lost, %zu better with strict ordering", sh->slow,
        sh->lost, sh->better);
    ok (arena_stop (&a), "... the emulator ends well");
}

/* What a member answers is bounded: a liar spoils its own rates only. */
static void test_answers (void)
{
    enum { WAY = 2, PORT = WAY + 2 * 18 }; /* after a version and no trouble */
    static const struct {
        const char *what;
        size_t at;
        unsigned int byte;
        bool fine;
    } tab[] = {
        { "as it was", 0, 1, true },
        { "another version", 0, 2, false },
        { "a text that goes on", 1, 200, false },
        { "more bursts than asked for", WAY, 3, false },
        { "fewer", WAY, 1, true },
        { "more lost ones", WAY + 1, 1, false },
        { "a rate beyond any", WAY + 9, 1, false },
        { "the worst above the best", WAY + 17, 1, false },
        { "a port beyond any", PORT + 7, 1, false },
        { "an MTU beyond any", PORT + 11, 1, false },
        { "a PCIe link beyond any", PORT + 16, 1, false },
        { "retries beyond any", PORT + 42, 1, false },
        { "errors beyond any", PORT + 50, 1, false },
        { "an order that is none", PORT + 51, 77, true },
    };
    const struct burst_way way = { .kept = 2, .best = 1e11, .worst = 9e10 };
    struct burst_task task[2]
        = { { .bursts = 2, .got = way }, { .bursts = 2, .got = way } };
    struct burst_work w = { .task = task, .ntasks = 2, .rails = 1 };
    struct group_blob blob, part;
    size_t bad = 0;

    w.rail[0].found
        = (struct burst_port){ .bits = 2e11, .mtu = 4096, .others_bits = NAN };
    burst_work_pack_found (&w, &blob);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        uint8_t was = blob.data[tab[i].at];

        blob.data[tab[i].at] = (uint8_t)tab[i].byte;
        ok (burst_work_take_found (&w, &blob) == tab[i].fine, "an answer: %s",
            tab[i].what);
        blob.data[tab[i].at] = was;
    }
    for (part = blob; part.len-- > 0;)
        bad += !burst_work_take_found (&w, &part);
    ok (bad == blob.len, "no part of an answer is one");
    ok (burst_work_take_found (&w, &blob) && task[0].got.best == 1e11
            && task[0].got.worst == 9e10 && isnan (w.rail[0].found.others_bits)
            && w.rail[0].found.mtu == 4096,
        "all of it is");
    free (blob.data);
}

int main (void)
{
    shared = mmap (NULL, sizeof (*shared), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    test_answers ();
    for (size_t i = 0; i < sizeof (scenes) / sizeof (scenes[0]); i++)
        test_scene (&scenes[i]);
    return done_testing ();
}
