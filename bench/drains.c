/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drains - who is drained, after how many audits?
 *
 *   drains [-n TRIALS] [-s SEED] [-b DAYS] [-i IDLE] [-r ROUTING] [-l] [-v]
 *          [NETWORK] NOISE/FAULT...
 *
 * Each trial is a site of its own: cables, adapters and loopbacks as in
 * bench/localise, DAYS (3) sweeps of all hosts as the baseline, each with the
 * noise of its day, and then a fault, or a change that is none. A job's hosts
 * are audited, one of them the fault's; then whom the policy waits for, with
 * the partners that prolog/audit/partners chooses out of IDLE per cent (30) of
 * all others, who are others every 20 minutes: as the service does, it waits
 * for up to an hour for some that tell. Where the policy waits for nobody, it is
 * another job that the host is in; up to four audits, 20 minutes apart.
 * Planner, judge, ledger, docket and policy are the audit service's, with the
 * defaults of pmm.conf, but Action=drain.
 *
 * FAULT is host+NS, switch+NS, none, or a change: profile1, profile4 (so many
 * hosts are 1 us slower, their loopbacks as well, but for -l, which leaves
 * loopbacks out), fec5, fec100 (so many percent of the links take 100 to 200 ns
 * more), long2 (2 % of the cables are 30 m longer), firmware (a switch takes 50
 * ns more), lft5 (5 % of the tables' entries are others than in the snapshot).
 *
 *   right after 2, 3, 4  trials in which the fault's host was drained by then
 *   wrong                trials in which another host was, or any for what is
 *                        no host's fault
 *   FAIL, among          first audits that FAIL the host alone, or one of
 *                        several
 *   led                  first audits that the host led itself, so that they do
 *                        not count
 *   short                trials in which too many FAIL for a drain
 *   untold               audits whose partners could not tell the host's link
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/need.h"
#include "core/judge/confirm.h"
#include "core/judge/judge.h"
#include "core/samples/noise.h"
#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "prolog/act/docket.h"
#include "prolog/audit/partners.h"
#include "util/rng.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

enum {
    REPEATS = 5,
    DAYS_MAX = 8,
    AUDITS = 4,
    PARTNERS = 15,
    APART_S = 1200,
    PATIENCE = 3, /* times that others are idle, in an hour */
    BEGIN = 1700000000,
};

#define HOST_NS 420.0
#define SWITCH_NS 130.0
#define SPREAD_NS 150.0
#define SOCKET_NS 80.0
#define LOOPBACK_NS 900.0
#define PROFILE_NS 1000.0
#define FIRMWARE_NS 50.0
#define LONGER_NS 150.0 /* 30 m */

static const struct network_case {
    const char *name;
    unsigned int ports; /* of a 3-tree */
    size_t hosts;
} networks[] = {
    { "16/128", 8, 16 },
    { "64/128", 8, 64 },
    { "32/432", 12, 32 },
};

enum what { HOST, CABLE, NONE, PROFILE, FEC, LENGTH, FIRMWARE, LFT };

static const struct {
    const char *name;
    enum what what;
} kinds[] = {
    { "host+", HOST },  { "switch+", CABLE },   { "none", NONE },
    { "profile", PROFILE }, { "fec", FEC },     { "long", LENGTH },
    { "firmware", FIRMWARE }, { "lft", LFT },
};

struct condition {
    const char *name;
    const struct noise_kind *noise;
    enum what what;
    double number; /* ns, hosts or per cent */
};

static struct args {
    size_t trials, days, idle;
    uint64_t seed;
    enum routing routing;
    bool loopbacks, verbose;
} args = { .trials = 20, .days = 3, .idle = 30, .seed = 1, .loopbacks = true };

struct sums {
    size_t right[AUDITS + 1]; /* by how many audits */
    size_t wrong, fail, among, led, crowded, untold;
};

struct trial {
    const struct condition *how;
    const struct network_case *net;
    struct fabric *f;        /* the snapshot */
    struct fabric *actual;   /* the same, but where tables changed */
    const struct fabric *random; /* as they may be */
    const struct network *links;
    struct pathset *all;     /* hosts */
    struct plan *sweep;      /* of these */
    struct rng rng;
    uint64_t seed;           /* of the next run */
    double *latency;         /* [nlinks] */
    double *loopback;        /* [nendpoints] */
    bool moved;              /* messages go by `actual` */
    const char *host;        /* that is at fault, or changed first */
    struct samples *day[DAYS_MAX];
    struct baseline base[DAYS_MAX];
    struct ledger *ledger;
    int64_t now;
    struct site site;
    struct policy_config cfg;
    struct policy_node *node; /* [nhosts] */
    const char *leader[AUDITS + 2]; /* of audits, by their number */
};

/* --- the wire ------------------------------------------------------------ */

static double host_part (struct rng *rng)
{
    static const double adapter[] = { 0, 60, 150 };

    return adapter[rng_below (rng, COUNT (adapter))]
           + (rng_below (rng, 2) ? SOCKET_NS : 0);
}

static void plant (struct trial *t)
{
    for (size_t i = 0; i < t->f->nendpoints; i++)
        t->loopback[i] = LOOPBACK_NS + host_part (&t->rng);
    for (size_t l = 0; l < t->links->nlinks; l++)
        t->latency[l] = SPREAD_NS * rng_uniform (&t->rng)
                        + (t->links->link[l].kind == LINK_HOST
                               ? HOST_NS + host_part (&t->rng)
                               : SWITCH_NS);
}

/* The same endpoints, where messages go now. */
static struct pathset *actual_paths (const struct trial *t,
                                     const struct pathset *ps)
{
    size_t n = pathset_size (ps);
    struct endpoint *e = allocate (n, sizeof (*e));
    struct pathset *actual;
    struct error err;

    for (size_t i = 0; i < n; i++)
        e[i] = *pathset_endpoint (ps, i);
    actual = need (pathset_create (
                       fabric_network (t->moved ? t->actual : t->f), e, n,
                       &err),
                   &err);
    free (e);
    return actual;
}

static struct samples *measure (const struct trial *t,
                                const struct pathset *ps,
                                const struct plan *plan, uint64_t seed)
{
    size_t n = pathset_size (ps);
    double *loopback = allocate (n, sizeof (*loopback));
    struct pathset *actual = actual_paths (t, ps);
    struct noise *noise = noise_create (t->how->noise, ps, seed);
    struct simulate_options sim = {
        .repeats = REPEATS, .seed = seed, .noise = noise,
        .loopback_ns = args.loopbacks ? loopback : NULL,
    };
    struct samples *s;
    struct error err;

    for (size_t i = 0; i < n; i++)
        loopback[i] = t->loopback[pathset_endpoint (ps, i)->id];
    s = need (simulate (actual, plan, t->latency, &sim, &err), &err);
    noise_destroy (noise);
    pathset_destroy (actual);
    free (loopback);
    return s;
}

static struct plan *plan_of (struct pathset *ps)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct error err;

    return need (plan_make (ps, &opts, &err), &err);
}

/* --- what happens to the site -------------------------------------------- */

/* Ways up that are others' by random routing; ways down are the same. */
static void move_routes (struct trial *t)
{
    for (size_t i = 0; i < t->f->nnodes; i++) {
        struct fabric_node *n = &t->actual->node[i];

        for (size_t lid = 0; n->lft && lid <= n->lft_top; lid++)
            if (rng_uniform (&t->rng) < t->how->number / 100)
                n->lft[lid] = t->random->node[i].lft[lid];
    }
    t->moved = true;
}

static void slow_host (struct trial *t, const char *host, double ns,
                       double loopback_ns)
{
    for (size_t e = 0; e < t->f->nendpoints; e++)
        if (!strcmp (t->f->host[t->f->endpoint[e].host].name, host))
            t->loopback[e] += loopback_ns;
    for (size_t l = 0; l < t->links->nlinks; l++)
        if (t->links->link[l].host && !strcmp (t->links->link[l].host, host))
            t->latency[l] += ns;
}

/* Of links that the job uses; a switch: of one. */
static void slow_cable (struct trial *t, struct pathset *job)
{
    struct error err;
    size_t m;
    const uint32_t *link = need ((void *)pathset_links (job, &m, &err), &err);
    uint32_t l;

    do
        l = link[rng_below (&t->rng, m)];
    while (t->links->link[l].kind == LINK_HOST);
    if (t->how->what == CABLE) {
        t->latency[l] += t->how->number;
        return;
    }
    for (size_t k = 0; k < t->links->nlinks; k++)
        for (int end = 0; end < 2; end++)
            if (t->links->link[k].end[end] == t->links->link[l].end[0])
                t->latency[k] += FIRMWARE_NS;
}

static void strike (struct trial *t, struct pathset *job,
                    const char *const *host)
{
    double share = t->how->number / 100;

    switch (t->how->what) {
    case HOST:
        slow_host (t, host[0], t->how->number, 0);
        break;
    case PROFILE:
        for (size_t i = 0; i < (size_t)t->how->number; i++)
            slow_host (t, host[i], PROFILE_NS, 2 * PROFILE_NS);
        break;
    case CABLE:
    case FIRMWARE:
        slow_cable (t, job);
        break;
    case LFT:
        move_routes (t);
        break;
    case FEC:
    case LENGTH:
        for (size_t l = 0; l < t->links->nlinks; l++)
            if (rng_uniform (&t->rng) < share)
                t->latency[l] += t->how->what == LENGTH
                                     ? LONGER_NS
                                     : 100 + 100 * rng_uniform (&t->rng);
        break;
    case NONE:
        break;
    }
}

/* --- audits -------------------------------------------------------------- */

/* `confirms` is the audit that another is to lead; 0: none. */
static void enter (struct trial *t, struct pathset *ps, struct samples *s,
                   const struct verdict *v, const char *about,
                   uint64_t confirms)
{
    size_t n = pathset_size (ps);
    const char **host = allocate (n, sizeof (*host));
    struct ledger_cause cause = { .why = about ? LEDGER_CONFIRM : LEDGER_SWEEP,
                                  .node = about };
    struct error err;
    int64_t id;

    for (size_t i = 0; i < n; i++)
        host[i] = t->f->host[fabric_find_host (
                                 t->f, pathset_endpoint (ps, i)->host)].name;
    cause.leader = partners_leader (host, n, about, t->leader[confirms],
                                    rng_below (&t->rng, n));
    if ((id = ledger_begin (t->ledger, t->now, t->f->hash, &cause, host, n,
                            s->nonce, &err)) < 0)
        die (&err);
    t->leader[id] = cause.leader;
    for (size_t i = 0; i < n; i++)
        if (samples_add_host (s, host[i], true) < 0)
            abort ();
    if (ledger_record (t->ledger, t->now, ps, s, v, &err) < 0)
        die (&err);
    free (host);
}

/* The two stages of a check. */
static struct verdict *check (struct trial *t, struct pathset *ps,
                              struct samples **samples)
{
    struct confirm_options opts = confirm_defaults;
    struct plan *plan = plan_of (ps);
    uint64_t seed = t->seed++;
    struct samples *first = measure (t, ps, plan, seed);
    struct plan *both;
    struct verdict *v;
    struct error err;

    opts.seed = seed;
    both = need (confirm_plan (ps, plan, first, t->base, args.days, &opts,
                               &err), &err);
    *samples = measure (t, ps, both, seed);
    v = need (judge (ps, both, *samples, t->base, args.days, NULL, &err),
              &err);
    samples_destroy (first);
    plan_destroy (plan);
    plan_destroy (both);
    return v;
}

static void show (const struct trial *t, const struct pathset *ps,
                  const struct verdict *v, const char *about)
{
    char sentence[256];

    printf ("#   hosts:");
    for (size_t i = 0; i < pathset_size (ps); i++)
        printf (" %s", pathset_endpoint (ps, i)->host);
    putchar ('\n');

    verdict_sentence (v, t->links, sentence, sizeof (sentence));
    printf ("#   audit%s%s: %s: %s; %zu links not judged\n",
            about ? " of " : "", about ? about : "",
            verdict_status_name (v->status), sentence, v->nopen);
    for (size_t i = 0; i < v->nfindings; i++)
        printf ("#     %s %s %s of %zu + %zu + %zu: %.0f +- %.0f\n",
                verdict_status_name (v->finding[i].level),
                finding_words (&v->finding[i]),
                v->finding[i].nsuspects > 0
                    ? t->links->link[v->finding[i].suspect[0]].id : "",
                v->finding[i].nsuspects, v->finding[i].noneway,
                v->finding[i].nsw, v->finding[i].excess_ns,
                v->finding[i].stderr_ns);
}

/* Whether it FAILs the host: 1, one of several: 2. */
static int names_host (const struct trial *t, const struct verdict *v)
{
    for (size_t i = 0; i < v->nfindings; i++)
        for (size_t k = 0; k < v->finding[i].nnodes; k++)
            if (v->finding[i].level == VERDICT_FAIL
                && !strcmp (v->finding[i].node[k], t->host))
                return v->finding[i].kind == FINDING_HOST_END
                               && v->finding[i].nnodes == 1
                           ? 1 : 2;
    return 0;
}

/* The hosts of another job, the one at fault first. */
static size_t draw_job (struct trial *t, const char **host)
{
    uint32_t *order = allocate (t->f->nhosts, sizeof (*order));
    size_t n = 0;

    for (uint32_t i = 0; i < t->f->nhosts; i++)
        order[i] = i;
    rng_shuffle (&t->rng, order, t->f->nhosts);
    host[n++] = t->host ? t->host : t->f->host[order[0]].name;
    for (size_t i = 0; n < t->net->hosts; i++)
        if (strcmp (t->f->host[order[i]].name, host[0]) != 0)
            host[n++] = t->f->host[order[i]].name;
    free (order);
    return n;
}

/* The hosts of the audit that the policy waits for, of who is idle. */
static size_t draw_partners (struct trial *t, const struct decision *d,
                             const char **host, const char **alike)
{
    const struct policy_finding *f = d->finding;
    const char **suspect = allocate (f ? f->nsuspects : 0, sizeof (*suspect));
    char **name = allocate (t->f->nhosts, sizeof (*name));
    struct hostlist idle = { .name = name };
    char *partner[PARTNERS];
    struct error err;
    int n;

    for (size_t i = 0; i < t->f->nhosts; i++)
        if (rng_below (&t->rng, 100) < args.idle
            && strcmp (t->f->host[i].name, d->node) != 0)
            name[idle.count++] = t->f->host[i].name;
    qsort (name, idle.count, sizeof (*name), text_compare);
    for (size_t i = 0; f && i < f->nsuspects; i++)
        suspect[i] = f->suspect[i].link;
    n = partners_choose (t->f, NULL,
                         &(struct partners_wish){
                             .node = d->node, .idle = &idle,
                             .suspect = suspect,
                             .nsuspects = f ? f->nsuspects : 0,
                             .turn = rng_next (&t->rng) % 1000,
                         },
                         partner, PARTNERS, alike, &err);
    if (n < 0)
        die (&err);
    host[0] = d->node;
    for (int i = 0; i < n; i++)
        host[1 + i] = partner[i];
    free (suspect);
    free (name);
    return 1 + (size_t)n;
}

static size_t await_partners (struct trial *t, const struct decision *d,
                              const char **host, struct sums *sums)
{
    const char *alike = d->node;
    size_t n = 0;

    for (int i = 0; i < PATIENCE && alike; i++) {
        n = draw_partners (t, d, host, &alike);
        t->now += i > 0 ? APART_S : 0;
    }
    sums->untold += alike != NULL;
    return n;
}

/* Let the policy decide. */
static void decide (struct trial *t, struct docket *docket,
                    struct decisions *d)
{
    struct error err;

    if (docket_make (docket, t->ledger, t->f, NULL, "slurm", t->now, &t->cfg,
                     &err) < 0)
        die (&err);
    docket_nodes (docket, t->node, t->f->nhosts);
    if (policy_decide (d, &docket->input, &t->cfg, &err) < 0)
        die (&err);
    if (d->stopped) {
        fprintf (stderr, "drains: %s\n", d->remark[0]);
        exit (1);
    }
    for (size_t i = 0; args.verbose && i < d->n; i++)
        if (d->v[i].kind != POLICY_NONE)
            printf ("#     %s: %s: %s\n", d->v[i].node,
                    policy_kind_name (d->v[i].kind), d->v[i].why);
    for (size_t i = 0; args.verbose && i < d->nremarks; i++)
        printf ("#     %s\n", d->remark[i]);
}

/* Whether anybody is drained, after so many audits. */
static bool count_drains (const struct trial *t, const struct decisions *d,
                          size_t audits, struct sums *sums)
{
    bool right = false;
    bool wrong = false;

    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].kind == POLICY_DRAIN) {
            bool own = t->how->what == HOST && !strcmp (d->v[i].node, t->host);

            right |= own;
            wrong |= !own;
        }
    if (right)
        sums->right[audits]++;
    sums->wrong += wrong;
    return right || wrong;
}

/* The one that it waits for first; NULL: none. */
static const struct decision *awaited (const struct decisions *d)
{
    const struct decision *first = NULL;

    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].kind == POLICY_WAIT
            && (!first || d->v[i].when < first->when))
            first = &d->v[i];
    return first;
}

static bool is_crowded (const struct decisions *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (strstr (d->v[i].why, "its FAIL is confirmed"))
            return true;
    return false;
}

static void run_audits (struct trial *t, struct sums *sums)
{
    const char **host = allocate (t->f->nhosts, sizeof (*host));
    struct docket docket = { 0 };
    struct decisions d = { 0 };
    bool drained = false;
    bool crowded = false;

    for (size_t k = 1; k <= AUDITS && !drained; k++) {
        const struct decision *w = awaited (&d);
        const char *about = w ? w->node : NULL;
        size_t n = w ? await_partners (t, w, host, sums) : draw_job (t, host);
        struct samples *s;
        struct pathset *ps;
        struct verdict *v;
        struct error err;

        ps = need (fabric_pathset (t->f, host, n, &err), &err);
        if (k == 1) {
            t->host = host[0];
            strike (t, ps, host);
        }
        t->now = w && w->when > t->now + APART_S ? w->when : t->now + APART_S;
        v = check (t, ps, &s);
        if (args.verbose)
            show (t, ps, v, about);
        if (k == 1) {
            sums->fail += names_host (t, v) == 1;
            sums->among += names_host (t, v) == 2;
        }
        enter (t, ps, s, v, about, w ? w->audit : k);
        sums->led += k == 1 && !strcmp (t->leader[2], t->host);
        policy_clear (&d);
        docket_clear (&docket);
        decide (t, &docket, &d);
        drained = count_drains (t, &d, k, sums);
        crowded |= is_crowded (&d);
        samples_destroy (s);
        verdict_destroy (v);
        pathset_destroy (ps);
    }
    sums->crowded += crowded;
    policy_clear (&d);
    docket_clear (&docket);
    free (host);
}

/* --- trials -------------------------------------------------------------- */

/* The days before; the ledger has the last. */
static void run_days (struct trial *t)
{
    struct verdict *fine = verdict_create ();

    for (size_t i = 0; i < args.days; i++) {
        t->day[i] = measure (t, t->all, t->sweep, t->seed++);
        t->base[i] = (struct baseline){ t->day[i], t->all };
    }
    t->now = BEGIN;
    enter (t, t->all, t->day[args.days - 1], fine, NULL, 0);
    verdict_destroy (fine);
}

static void run_trial (struct trial *t, uint64_t seed, struct sums *sums)
{
    char path[] = "/dev/shm/pmm-drains-XXXXXX";
    char name[sizeof (path) + 8];
    char command[sizeof (path) + 16];
    struct error err;

    rng_seed (&t->rng, seed);
    t->seed = 100 * seed;
    t->moved = false;
    t->host = NULL;
    memset (t->leader, 0, sizeof (t->leader));
    if (!mkdtemp (path))
        abort ();
    snprintf (name, sizeof (name), "%s/ledger", path);
    t->ledger = need (ledger_open (name, LEDGER_CREATE, &err), &err);
    plant (t);
    run_days (t);
    if (args.verbose)
        printf ("# trial %ju\n", (uintmax_t)seed);
    run_audits (t, sums);
    if (args.verbose)
        printf ("#   it was %s\n", t->host);
    for (size_t i = 0; i < args.days; i++)
        samples_destroy (t->day[i]);
    ledger_close (t->ledger);
    snprintf (command, sizeof (command), "rm -r %s", path);
    if (system (command) != 0)
        exit (1);
    for (size_t i = 0; t->moved && i < t->f->nnodes; i++)
        if (t->f->node[i].lft)
            memcpy (t->actual->node[i].lft, t->f->node[i].lft,
                    t->f->node[i].lft_top + 1u);
}

static void run (const struct network_case *net, const struct condition *how)
{
    struct fat_tree tree = { .ports = net->ports, .levels = 3,
                             .how = { .routing = args.routing,
                                      .seed = args.seed } };
    struct fat_tree random = { .ports = net->ports, .levels = 3,
                               .how = { .routing = ROUTING_RANDOM,
                                        .seed = args.seed + 1 } };
    struct trial t = { .how = how, .net = net };
    struct sums sums = { .wrong = 0 };
    struct error err;

    t.f = need (generate_fat_tree (&tree, &err), &err);
    t.actual = need (generate_fat_tree (&tree, &err), &err);
    t.random = need (generate_fat_tree (&random, &err), &err);
    t.links = fabric_network (t.f);
    t.all = need (fabric_pathset (t.f, NULL, 0, &err), &err);
    t.sweep = plan_of (t.all);
    t.latency = allocate (t.links->nlinks, sizeof (*t.latency));
    t.loopback = allocate (t.f->nendpoints, sizeof (*t.loopback));
    t.node = allocate (t.f->nhosts, sizeof (*t.node));
    for (size_t i = 0; i < t.f->nhosts; i++)
        t.node[i].name = t.f->host[i].name;
    if (conf_defaults (site_options, &t.site) < 0
        || conf_set (site_options, &t.site, "Action", "drain", &err) < 0)
        abort ();
    policy_config (&t.cfg, &t.site);
    for (size_t i = 0; i < args.trials; i++)
        run_trial (&t, args.seed * 1000000 + i, &sums);
    printf ("| %-16s | %-7s | %4zu | %4zu %4zu %4zu | %4zu | %4zu %4zu | %3zu "
            "| %4zu | %4zu |\n",
            how->name, net->name, args.trials,
            sums.right[1] + sums.right[2],
            sums.right[1] + sums.right[2] + sums.right[3],
            sums.right[1] + sums.right[2] + sums.right[3] + sums.right[4],
            sums.wrong, sums.fail, sums.among, sums.led, sums.crowded,
            sums.untold);
    fflush (stdout);
    conf_clear (site_options, &t.site);
    plan_destroy (t.sweep);
    pathset_destroy (t.all);
    fabric_destroy (t.f);
    fabric_destroy (t.actual);
    fabric_destroy ((struct fabric *)t.random);
    free (t.latency);
    free (t.loopback);
    free (t.node);
}

static const struct network_case *find_network (const char *word)
{
    for (size_t i = 0; i < COUNT (networks); i++)
        if (!strcmp (networks[i].name, word))
            return &networks[i];
    return NULL;
}

/* Return false where the word names no case. */
static bool parse_case (const char *word, struct condition *c)
{
    const char *slash = strchr (word, '/');
    char name[16];

    if (!slash || slash - word >= (ptrdiff_t)sizeof (name))
        return false;
    memcpy (name, word, slash - word);
    name[slash - word] = '\0';
    for (size_t i = 0; i < COUNT (kinds); i++) {
        size_t len = strlen (kinds[i].name);

        if (!strncmp (slash + 1, kinds[i].name, len)) {
            *c = (struct condition){ word, noise_find (name), kinds[i].what,
                                     atof (slash + 1 + len) };
            return c->noise != NULL;
        }
    }
    return false;
}

int main (int argc, char **argv)
{
    const struct network_case *net = &networks[0];
    int c;

    umask (022);
    while ((c = getopt (argc, argv, "n:s:b:i:r:lv")) != -1)
        switch (c) {
        case 'n': args.trials = number (optarg, 1, 1000000); break;
        case 's': args.seed = number (optarg, 0, 1000000); break;
        case 'b': args.days = number (optarg, 1, DAYS_MAX); break;
        case 'i': args.idle = number (optarg, 1, 100); break;
        case 'l': args.loopbacks = false; break;
        case 'v': args.verbose = true; break;
        case 'r':
            if (routing_find (optarg) >= 0) {
                args.routing = routing_find (optarg);
                break;
            }
            /* fall through */
        default:
            fprintf (stderr, "Usage: drains [-n TRIALS] [-s SEED] [-b DAYS] "
                     "[-i IDLE] [-r dmodk|minhop|random] [-l] [-v] "
                     "[NETWORK] NOISE/FAULT...\n");
            return 2;
        }
    printf ("`bench/drains");
    for (int i = 1; i < argc; i++)
        printf (" %s", argv[i]);
    printf ("`:\n\n"
            "| case             | network |    n | right after 2, 3, 4 | wrong "
            "| FAIL, among | led | short | untold |\n"
            "|---|---|---|---|---|---|---|---|---|\n");
    for (argv += optind; *argv; argv++) {
        struct condition how;

        if (find_network (*argv))
            net = find_network (*argv);
        else if (parse_case (*argv, &how))
            run (net, &how);
        else {
            fprintf (stderr, "drains: no case or network '%s'\n", *argv);
            return 2;
        }
    }
    return 0;
}
