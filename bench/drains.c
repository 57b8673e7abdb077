/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drains - which hosts are drained, after how many audits?
 *
 *   drains [--smallest] [-n TRIALS] [-s SEED] [-b DAYS] [-i IDLE] [-r ROUTING]
 *          [-l] [-v] [NETWORK] NOISE/FAULT...
 *
 * Each trial is a site of its own, with cables, adapters and loopbacks as in
 * bench/localise. The baseline is DAYS (3) sweeps of all hosts, each with the
 * noise of its day. Then a fault is planted, or a change that is not a fault.
 * The hosts of a job are audited; one of them has the fault. While the policy
 * waits for the confirmation of a host, that host is audited with partners that
 * prolog/audit/partners selects from the idle hosts, IDLE per cent (30) of all
 * others. Every 20 minutes other hosts are idle. Like the service, the trial
 * waits up to an hour for partners that resolve the suspects. While the policy
 * waits for no host, idle ones are audited as the sweep chooses them if a cable
 * is doubted, else the faulty host's next job. There are up to
 * four audits, 20 minutes apart. Planner, judge, ledger, facts and policy are
 * those of the audit service, with the defaults of pmm.conf, but Action=drain.
 *
 * FAULT is one of a host's or a switch's cable, healthy, a change or CHANGE/FAULT
 * (bench/truth.h). With the change lft5, 5 % of the tables' entries differ from
 * the snapshot. On the days "flows" and "flows-stay" there are others' flows
 * from the first audit on. -l: no loopbacks.
 *
 *   right after 2, 3, 4  trials in which the faulty host was drained by then
 *   wrong                trials in which another host was drained, or any host
 *                        if no host is faulty
 *   told, amiss          trials in which the service told staff of the slow
 *                        cable, as one between switches; of another one
 *   FAIL, among          first audits that FAIL the host alone, or as one of
 *                        several
 *   led                  first audits that the host led itself, so that they do
 *                        not count
 *   short                trials in which too many hosts FAIL for a drain
 *   untold               audits whose partners do not resolve the host's link
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
#include "bench/truth.h"
#include "core/judge/confirm.h"
#include "core/judge/judge.h"
#include "ibquery/nodemap.h"
#include "prolog/act/facts.h"
#include "prolog/audit/partners.h"
#include "prolog/serve/duty.h"
#include "prolog/serve/sweep.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/sort.h"

enum {
    REPEATS = 20,
    DAYS_MAX = 8,
    AUDITS = 4,
    PARTNERS = 15,
    APART_S = 1200,
    PATIENCE = 3, /* draws of the idle hosts, in an hour */
    BEGIN = 1700000000,
};

static struct args {
    size_t trials, days, idle;
    uint64_t seed;
    enum routing routing;
    bool loopbacks, verbose;
} args = { .trials = 20, .days = 3, .idle = 30, .seed = 1, .loopbacks = true };

struct sums {
    size_t right[AUDITS + 1]; /* by number of audits */
    size_t wrong, told, amiss, fail, among, led, crowded, untold;
};

struct trial {
    const struct condition *how;
    const struct network_case *net;
    struct truth truth;
    struct fabric *f;        /* the snapshot */
    const struct fabric *random; /* its tables have random routes */
    struct pathset *all;     /* all hosts */
    struct plan *sweep;      /* a plan for all */
    uint64_t seed;           /* of the next run */
    const char *host;        /* at fault, or the first that changed */
    const char *cable;       /* the slow one, also the host's; NULL: none */
    bool told, amiss;
    bool delays;             /* as of confirm_options */
    struct samples *day[DAYS_MAX];
    struct baseline *base;
    struct ledger *ledger;
    int64_t now;
    struct site site;
    struct policy_config cfg;
    struct policy_node *node; /* [nhosts] */
    const char *leader[AUDITS + 2]; /* of the audits, by id */
};

/* --- the wire ------------------------------------------------------------ */

static struct samples *measure (const struct trial *t,
                                const struct pathset *ps,
                                const struct plan *plan, uint64_t seed)
{
    size_t first = plan_rounds (plan) - plan_confirm_rounds (plan);

    return truth_measure (&t->truth, ps, plan, t->how->noise, args.loopbacks,
                          (struct simulate_options){
                              .repeats = REPEATS, .seed = seed,
                              .again = t->delays ? first : 0, .flows = 1,
                              .messages = SAMPLE_REPEATS_AGAIN });
}

static struct plan *plan_of (struct pathset *ps)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct error err;

    return need (plan_make (ps, &opts, &err), &err);
}

/* --- what happens to the site -------------------------------------------- */

/* Replace routes upwards by those of random routing; routes downwards stay. */
static void move_routes (struct trial *t)
{
    for (size_t i = 0; i < t->f->nnodes; i++) {
        struct fabric_node *n = &t->truth.actual->node[i];

        for (size_t lid = 0; n->lft && lid <= n->lft_top; lid++)
            if (100 * rng_uniform (&t->truth.rng) < t->how->amount)
                n->lft[lid] = t->random->node[i].lft[lid];
    }
    t->truth.moved = true;
}

/* What begins, and the faulty link. */
static void strike (struct trial *t, struct pathset *job,
                    const char *const *host)
{
    const struct truth *truth = &t->truth;
    uint32_t cable = NETWORK_NONE;

    truth_begin (&t->truth, t->how, job, host, pathset_size (job));
    if (t->how->change == CHANGE_ROUTES)
        move_routes (t);
    if (t->how->faults && t->how->kind == FAULT_CABLE)
        cable = truth_cable (&t->truth, job);
    for (uint32_t l = 0;
         l < truth->net->nlinks && t->how->faults
         && t->how->kind == FAULT_HOST_END; l++)
        if (truth->net->link[l].host
            && !strcmp (truth->net->link[l].host, host[0]))
            cable = l;
    if (cable == NETWORK_NONE)
        return;
    t->cable = truth->net->link[cable].id;
    if (t->how->ails == AILS_SLOW)
        truth->latency[cable] += t->how->excess_ns;
    else
        t->truth.ailing = cable;
}

/* --- audits -------------------------------------------------------------- */

/* `confirms` is the id of the audit that this one confirms, which must have
 * another leader; 0: none.
 */
static void enter (struct trial *t, struct pathset *ps, struct samples *s,
                   const struct verdict *v, const char *about,
                   uint64_t confirms)
{
    size_t n = pathset_size (ps);
    const char **host = xcalloc (n, sizeof (*host));
    struct ledger_cause cause = { .why = about ? LEDGER_CONFIRM : LEDGER_SWEEP,
                                  .node = about };
    struct error err;
    int64_t id;

    for (size_t i = 0; i < n; i++)
        host[i] = t->f->host[fabric_find_host (
                                 t->f, pathset_endpoint (ps, i)->host)].name;
    cause.leader = partners_leader (host, n, about, t->leader[confirms],
                                    rng_below (&t->truth.rng, n));
    if ((id = ledger_begin (t->ledger, t->now, t->f->hash, &cause, host, n,
                            s->nonce, &err)) < 0)
        die (&err);
    t->leader[id] = cause.leader;
    for (size_t i = 0; i < n; i++)
        samples_add_host (s, host[i], true);
    if (ledger_record (t->ledger, t->now, ps, s, v, "says", &err) < 0)
        die (&err);
    free (host);
}

/* Both stages of a check. */
static struct verdict *check (struct trial *t, struct pathset *ps,
                              struct samples **samples)
{
    struct confirm_options opts = confirm_defaults;
    struct plan *plan = plan_of (ps);
    uint64_t seed = t->seed++;
    struct samples *first = measure (t, ps, plan, seed);
    struct baseline *base;
    struct plan *both;
    struct verdict *v;
    struct error err;

    opts.seed = seed;
    opts.delays = &t->delays;
    t->delays = false;
    base = need (baseline_part (t->base, ps,
                                baseline_enough (plan_probes (plan)),
                                fabric_resolve, t->f, &err),
                 &err);
    both = need (confirm_plan (ps, plan, first, base, &opts, &err), &err);
    *samples = measure (t, ps, both, seed);
    v = need (judge (ps, both, *samples, base, NULL, &err), &err);
    baseline_destroy (base);
    samples_destroy (first);
    plan_destroy (plan);
    plan_destroy (both);
    return v;
}

static void show (const struct trial *t, const struct pathset *ps,
                  const struct verdict *v, const char *about)
{
    char *says = words_sentence (v, t->f);

    printf ("#   hosts:");
    for (size_t i = 0; i < pathset_size (ps); i++)
        printf (" %s", pathset_endpoint (ps, i)->host);
    putchar ('\n');

    printf ("#   audit%s%s: %s: %s; %zu links not judged\n",
            about ? " of " : "", about ? about : "",
            verdict_status_name (v->status), says, v->nopen);
    free (says);
    for (size_t i = 0; i < v->nfindings; i++)
        printf ("#     %s %s %s of %zu + %zu + %zu: %.0f +- %.0f %s\n",
                verdict_status_name (v->finding[i].level),
                finding_kind_name (v->finding[i].kind),
                v->finding[i].nsuspects > 0
                    ? t->truth.net->link[v->finding[i].suspect[0]].id
                    : "",
                v->finding[i].nsuspects, v->finding[i].noneway,
                v->finding[i].nsw, v->finding[i].excess_ns,
                v->finding[i].stderr_ns, words_why (&v->finding[i]));
}

/* Whether the verdict FAILs the host: 1: alone; 2: as one of several; 0: no. */
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

/* The hosts of a job, the faulty one first. */
static size_t draw_job (struct trial *t, const char **host)
{
    uint32_t *order = xcalloc (t->f->nhosts, sizeof (*order));
    size_t want = t->net->hosts ? t->net->hosts : t->f->nhosts;
    size_t n = 0;

    for (uint32_t i = 0; i < t->f->nhosts; i++)
        order[i] = i;
    rng_shuffle (&t->truth.rng, order, t->f->nhosts);
    host[n++] = t->host ? t->host : t->f->host[order[0]].name;
    for (size_t i = 0; n < want; i++)
        if (strcmp (t->f->host[order[i]].name, host[0]) != 0)
            host[n++] = t->f->host[order[i]].name;
    free (order);
    return n;
}

/* The hosts of the audit that the policy waits for: its node, and partners from
 * the idle hosts.
 */
static size_t draw_partners (struct trial *t, const struct decision *d,
                             const char **host, const char **alike)
{
    const struct policy_finding *f = d->finding;
    char **suspect = xcalloc (f ? f->nsuspects : 0, sizeof (*suspect));
    char **name = xcalloc (t->f->nhosts, sizeof (*name));
    const char **node_of = nodemap_nodes (NULL, t->f);
    struct hostlist idle = { .name = name }, suspects = { .name = suspect };
    char *partner[PARTNERS];
    int n;

    for (size_t i = 0; i < t->f->nhosts; i++)
        if (rng_below (&t->truth.rng, 100) < args.idle
            && strcmp (t->f->host[i].name, d->node) != 0)
            name[idle.count++] = t->f->host[i].name;
    qsort (name, idle.count, sizeof (*name), compare_strings);
    for (; f && suspects.count < f->nsuspects; suspects.count++)
        suspect[suspects.count] = (char *)f->suspect[suspects.count].link;
    n = partners_choose (t->f, node_of,
                         &(struct partners_wish){
                             .node = d->node, .idle = &idle,
                             .suspects = &suspects,
                             .turn = rng_next (&t->truth.rng) % 1000,
                         },
                         partner, PARTNERS, alike);
    host[0] = d->node;
    for (int i = 0; i < n; i++)
        host[1 + i] = partner[i];
    free (suspect);
    free (name);
    free (node_of);
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
static void decide (struct trial *t, struct facts *facts,
                    struct decisions *d)
{
    struct error err;

    if (facts_read (facts, t->ledger, t->f, NULL, "slurm", t->now, &t->cfg,
                     &err) < 0)
        die (&err);
    facts_nodes (facts, t->node, t->f->nhosts);
    policy_decide (d, &facts->input, &t->cfg);
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

/* Whether a host is drained, after this many audits. */
static bool count_drains (const struct trial *t, const struct decisions *d,
                          size_t audits, struct sums *sums)
{
    bool right = false;
    bool wrong = false;

    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].kind == POLICY_DRAIN) {
            bool own = t->how->faults && t->how->kind == FAULT_HOST_END
                       && !strcmp (d->v[i].node, t->host);

            right |= own;
            wrong |= !own;
        }
    if (right)
        sums->right[audits]++;
    sums->wrong += wrong;
    return right || wrong;
}

/* The idle hosts that the sweep chooses because a cable is doubted; 0: none. */
static size_t draw_sweep (struct trial *t, const char **host)
{
    const struct service service = { .fabric = t->f, .site = t->site };
    int64_t now = t->now + APART_S;
    struct sweep_input in = { .now = now, .every_s = now, .hosts = SWEEP_HOSTS,
                              .seed = rng_next (&t->truth.rng) };
    const char **idle = xcalloc (t->f->nhosts, sizeof (*idle));
    struct sweep_plan plan;
    struct error err;
    int64_t *ages = need (service_ages (&service, t->ledger, now, &err), &err);
    size_t n = 0;
    bool doubted = false;

    for (size_t l = 0; l < t->f->nlinks; l++) {
        doubted |= ages[l] == SWEEP_DOUBTED;
        ages[l] = ages[l] == SWEEP_DOUBTED ? ages[l] : now;
    }
    for (size_t i = 0; i < t->f->nhosts && doubted; i++)
        if (rng_below (&t->truth.rng, 100) < args.idle)
            idle[n++] = t->f->host[i].name;
    if (n > 1) {
        in.ps = need (fabric_pathset (t->f, idle, n, &err), &err);
        in.measured = ages;
        if (sweep_choose (&plan, &in, &err) < 0)
            die (&err);
        for (n = 0; n < plan.n; n++)
            host[n] = t->f->host[fabric_find_host (
                                     t->f, pathset_endpoint (in.ps, plan.endpoint[n])
                                               ->host)].name;
        sweep_clear (&plan);
        pathset_destroy (in.ps);
    }
    free (idle);
    free (ages);
    return n > 1 ? n : 0;
}

/* Note which cables staff are told of. */
static void note_told (struct trial *t)
{
    const struct service service = { .fabric = t->f, .site = t->site };
    struct error err;
    struct notices list;

    if (service_cables (&service, t->ledger, false, t->now, &list, &err) < 0)
        need (NULL, &err);
    for (size_t i = 0; i < list.n; i++) {
        bool right = t->cable && !strcmp (list.v[i].link, t->cable);

        *(right ? &t->told : &t->amiss) = true;
        if (args.verbose)
            printf ("#     told: %s\n", list.v[i].words);
    }
    notices_clear (&list);
}

/* The decision that waits for the earliest audit; NULL: none. */
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

/* The first is of these n hosts. */
static void run_audits (struct trial *t, const char **host, size_t n,
                        struct sums *sums)
{
    struct facts facts = { 0 };
    struct decisions d = { 0 };
    bool drained = false;
    bool crowded = false;

    for (size_t k = 1; k <= AUDITS && !drained; k++) {
        const struct decision *w = awaited (&d);
        const char *about = w ? w->node : NULL;
        struct samples *s;
        struct pathset *ps;
        struct verdict *v;
        struct error err;

        if (k > 1 && w)
            n = await_partners (t, w, host, sums);
        else if (k > 1 && (n = draw_sweep (t, host)) == 0)
            n = draw_job (t, host);
        ps = need (fabric_pathset (t->f, host, n, &err), &err);
        if (k == 1)
            strike (t, ps, host);
        if (t->how->flows && (k == 1 || !t->how->stay))
            truth_flows (&t->truth, ps);
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
        facts_clear (&facts);
        decide (t, &facts, &d);
        drained = count_drains (t, &d, k, sums);
        note_told (t);
        crowded |= is_crowded (&d);
        samples_destroy (s);
        verdict_destroy (v);
        pathset_destroy (ps);
    }
    sums->crowded += crowded;
    sums->told += t->told;
    sums->amiss += t->amiss;
    truth_no_flows (&t->truth);
    policy_clear (&d);
    facts_clear (&facts);
}

/* --- trials -------------------------------------------------------------- */

/* The days before the fault. The ledger contains the last one. */
static void run_days (struct trial *t)
{
    struct verdict *fine = verdict_create ();
    struct error err;

    t->base = baseline_create (
        need (pathset_on (t->all, t->truth.net, &err), &err));
    for (size_t i = 0; i < args.days; i++) {
        t->day[i] = measure (t, t->all, t->sweep, t->seed++);
        if (baseline_add (t->base, t->day[i], 0, &err) < 0)
            die (&err);
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
    const char **host = xcalloc (t->f->nhosts, sizeof (*host));
    struct pathset *job;
    struct error err;
    size_t n;

    rng_seed (&t->truth.rng, seed);
    t->seed = 100 * seed;
    t->truth.moved = false;
    t->host = t->cable = NULL;
    t->told = t->amiss = false;
    memset (t->leader, 0, sizeof (t->leader));
    if (!mkdtemp (path))
        abort ();
    snprintf (name, sizeof (name), "%s/ledger", path);
    t->ledger = need (ledger_open (name, LEDGER_CREATE, &err), &err);
    n = draw_job (t, host);
    t->host = host[0];
    job = need (fabric_pathset (t->f, host, n, &err), &err);
    truth_draw (&t->truth, t->how, job);
    pathset_destroy (job);
    run_days (t);
    if (args.verbose)
        printf ("# trial %ju\n", (uintmax_t)seed);
    run_audits (t, host, n, sums);
    free (host);
    if (args.verbose)
        printf ("#   it was %s\n", t->cable ? t->cable : t->host);
    for (size_t i = 0; i < args.days; i++)
        samples_destroy (t->day[i]);
    baseline_destroy (t->base);
    ledger_close (t->ledger);
    snprintf (command, sizeof (command), "rm -r %s", path);
    if (system (command) != 0)
        exit (1);
    for (size_t i = 0; t->truth.moved && i < t->f->nnodes; i++)
        if (t->f->node[i].lft)
            memcpy (t->truth.actual->node[i].lft, t->f->node[i].lft,
                    t->f->node[i].lft_top + 1u);
}

static void run (const struct network_case *net, const struct condition *how)
{
    struct fat_tree random = { .ports = net->ports, .levels = 3,
                               .how = { .routing = ROUTING_RANDOM,
                                        .seed = args.seed + 1 } };
    struct trial t = { .how = how, .net = net };
    struct sums sums = { .wrong = 0 };
    struct error err;

    truth_open (&t.truth, net, args.routing, args.seed);
    t.f = t.truth.f;
    t.random = need (generate_fat_tree (&random, &err), &err);
    t.all = need (fabric_pathset (t.f, NULL, 0, &err), &err);
    t.sweep = plan_of (t.all);
    t.node = xcalloc (t.f->nhosts, sizeof (*t.node));
    for (size_t i = 0; i < t.f->nhosts; i++)
        t.node[i].name = t.f->host[i].name;
    if (conf_defaults (site_options, &t.site) < 0
        || conf_set (site_options, &t.site, "Action", "drain", &err) < 0)
        abort ();
    policy_config (&t.cfg, &t.site);
    for (size_t i = 0; i < args.trials; i++)
        run_trial (&t, args.seed * 1000000 + i, &sums);
    printf ("| %-16s | %-7s | %4zu | %4zu %4zu %4zu | %4zu | %4zu %4zu "
            "| %4zu %4zu | %3zu | %4zu | %4zu |\n",
            how->name, net->name, args.trials,
            sums.right[1] + sums.right[2],
            sums.right[1] + sums.right[2] + sums.right[3],
            sums.right[1] + sums.right[2] + sums.right[3] + sums.right[4],
            sums.wrong, sums.told, sums.amiss, sums.fail, sums.among, sums.led,
            sums.crowded, sums.untold);
    fflush (stdout);
    conf_clear (site_options, &t.site);
    plan_destroy (t.sweep);
    pathset_destroy (t.all);
    truth_close (&t.truth);
    fabric_destroy ((struct fabric *)t.random);
    free (t.node);
}

/* A fault of a host end or cable, or none. */
static bool find_case (struct condition *how, const char *word)
{
    return condition_parse (how, word)
           && (how->faults == 0
               || (!how->bend && how->faults == 1
                   && (how->kind == FAULT_HOST_END
                       || how->kind == FAULT_CABLE)));
}

int main (int argc, char **argv)
{
    static char *host[] = { "site/host+1000", NULL };
    const struct network_case *net = network_case_find ("16/128");
    bool least = smallest (argc, argv);
    char **word;
    int c;

    umask (022);
    if (least)
        args.trials = 1;
    while ((c = getopt (argc, argv, "n:s:b:i:r:lv")) != -1)
        switch (c) {
        case 'n': args.trials = number (optarg, 1, 1000000); break;
        case 's': args.seed = number (optarg, 0, 1000000); break;
        case 'b': args.days = number (optarg, 1, DAYS_MAX); break;
        case 'i': args.idle = number (optarg, 1, 100); break;
        case 'l': args.loopbacks = false; break;
        case 'v': args.verbose = true; break;
        case 'r': args.routing = routing_argument (optarg); break;
        default:
            fprintf (stderr,
                     "Usage: drains [--smallest] [-n TRIALS] [-s SEED] "
                     "[-b DAYS] [-i IDLE] [-r dmodk|minhop|random] [-l] [-v] "
                     "[NETWORK] NOISE/FAULT...\n");
            return 2;
        }
    print_command (argc, argv);
    printf (":\n\n"
            "| case             | network |    n | right after 2, 3, 4 | wrong "
            "| told, amiss | FAIL, among | led | short | untold |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n");
    for (word = least && !argv[optind] ? host : argv + optind; *word; word++) {
        struct condition how;

        if (network_case_find (*word))
            net = network_case_find (*word);
        else if (find_case (&how, *word))
            run (net, &how);
        else
            no_case (*word);
    }
    return 0;
}
