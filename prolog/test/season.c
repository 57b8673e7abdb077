/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "prolog/test/season.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/confirm.h"
#include "core/samples/simulate.h"
#include "prolog/audit/baseline.h"
#include "report/words.h"
#include "util/alloc.h"

enum {
    LEAF = 3, /* hosts of a switch */
    REPEATS = 5,
    REMEMBERED = 3, /* audits of a link in the baseline */
    MINUTE = 60,
    BEGIN = 1700000000,
};

#define HOST_NS 420.0
#define SWITCH_NS 130.0
#define SPREAD_NS 150.0
#define NOISE_NS 50.0
#define OUTLIER_SHARE 0.01
#define OUTLIER_NS 2000.0
#define BUSY_SHARE 0.2
#define BUSY_P 0.3
#define BUSY_NS 400.0
#define LOOPBACK_NS 900.0

static void die (const struct error *err)
{
    fprintf (stderr, "seasons: %s\n", err->text);
    abort ();
}

static void *need (void *p, const struct error *err)
{
    if (!p)
        die (err);
    return p;
}

/* --- the wire ------------------------------------------------------------ */

static double offset_of (const struct season *s, const char *host)
{
    return host ? s->offset[fabric_find_host (s->fabric, host)] : 0;
}

static struct samples *measure (const struct season *s,
                                const struct pathset *ps,
                                const struct plan *plan, uint64_t seed)
{
    struct simulate_options opts = {
        .noise_ns = NOISE_NS,
        .outlier_share = OUTLIER_SHARE,
        .outlier_ns = OUTLIER_NS,
        .repeats = REPEATS,
        .seed = seed,
        .busy = s->busy,
        .busy_ns = BUSY_NS,
    };
    struct error err;
    struct pathset *actual
        = need (pathset_on (ps, fabric_network (s->actual), &err), &err);
    double *loopback = xcalloc (pathset_size (ps), sizeof (*loopback));
    double *latency = xcalloc (s->net->nlinks, sizeof (*latency));
    struct samples *samples;

    for (size_t i = 0; i < pathset_size (ps); i++)
        loopback[i] = LOOPBACK_NS + 2 * offset_of (s, pathset_endpoint (ps, i)
                                                          ->host);
    for (size_t l = 0; l < s->net->nlinks; l++)
        latency[l] = s->latency[l] + offset_of (s, s->net->link[l].host);
    opts.loopback_ns = loopback;
    samples = need (simulate (actual, plan, latency, &opts, &err), &err);
    pathset_destroy (actual);
    free (loopback);
    free (latency);
    return samples;
}

static struct plan *plan_of (struct pathset *ps)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct error err;

    return need (plan_make (ps, &opts, &err), &err);
}

/* Others are on other cables. */
static void stir (struct season *s)
{
    for (size_t l = 0; l < s->net->nlinks; l++)
        s->busy[l] = rng_uniform (&s->rng) < BUSY_SHARE ? BUSY_P : 0;
}

struct samples *season_sweep (struct season *s, struct pathset **ps)
{
    struct samples *samples;
    struct plan *plan;
    struct error err;

    *ps = need (fabric_pathset (s->fabric, NULL, 0, &err), &err);
    plan = plan_of (*ps);
    stir (s);
    samples = measure (s, *ps, plan, rng_next (&s->rng));
    plan_destroy (plan);
    return samples;
}

/* --- what comes of it ---------------------------------------------------- */

static bool suspects (const struct finding *f, uint32_t link)
{
    for (size_t i = 0; i < f->nsuspects; i++)
        if (f->suspect[i] == link)
            return true;
    return false;
}

static bool names_fault (const struct season *s, const struct finding *f)
{
    if (!s->is_switch)
        return suspects (f, s->fault);
    return f->kind == FINDING_SWITCH && f->nsw == 1 && f->sw[0] == s->fault;
}

static void tell (struct season *s, const char *why)
{
    snprintf (s->outcome.why, sizeof (s->outcome.why), "%s", why);
    s->outcome.told++;
}

static void count (struct season *s, const struct verdict *v)
{
    struct outcome *o = &s->outcome;

    o->audits++;
    o->status[v->status]++;
    if (v->nodes == SEASON_HOSTS && s->fault != NETWORK_NONE) {
        o->sweeps++;
        o->named += v->nfindings == 1 && names_fault (s, &v->finding[0]);
    }
    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *f = &v->finding[i];

        o->news += f->kind == FINDING_NODE;
        if (f->level != VERDICT_FAIL || f->kind != FINDING_HOST_END)
            continue;
        o->fails++;
        o->strays += !names_fault (s, f);
        if (!o->found && names_fault (s, f))
            o->found = o->audits;
    }
    if (s->last.decisions.nremarks > 0)
        tell (s, s->last.decisions.remark[0]);
    else if (v->status == VERDICT_UNKNOWN && v->nlimits > 0) {
        char *words = words_fact (v->limit);

        tell (s, words);
        free (words);
    }
}

static void count_drain (struct season *s, const char *node)
{
    struct outcome *o = &s->outcome;

    o->drains++;
    if (s->is_switch || s->fault == NETWORK_NONE
        || strcmp (s->net->link[s->fault].host, node))
        o->elsewhere++;
    else if (!o->drained)
        o->drained = o->audits + 1;
}

/* --- Slurm --------------------------------------------------------------- */

static const char self_name[] = "slurm";

static struct season *acting; /* whose round runs */

int controller_user (uid_t *uid, char name[CONTROLLER_NAME], struct error *err)
{
    (void)err;
    *uid = 0;
    strcpy (name, self_name);
    return 0;
}

int controller_nodes (struct controller_nodes *n, struct error *err)
{
    static struct policy_node node[SEASON_HOSTS];

    (void)err;
    *n = (struct controller_nodes){ .v = node, .n = SEASON_HOSTS };
    memcpy (node, acting->node, sizeof (node));
    return 0;
}

int controller_drain (const char *name, const char *reason, struct error *err)
{
    struct season *s = acting;
    uint32_t i = fabric_find_host (s->fabric, name);

    (void)err;
    snprintf (s->reason[i], sizeof (s->reason[i]), "%s", reason);
    s->node[i].drained = true;
    s->node[i].reason = s->reason[i];
    s->node[i].by = self_name;
    count_drain (s, name);
    return 1;
}

int controller_resume (const char *name, const char *reason, struct error *err)
{
    struct season *s = acting;

    (void)reason;
    (void)err;
    s->node[fabric_find_host (s->fabric, name)].drained = false;
    s->outcome.resumes++;
    return 1;
}

static void say (void *arg, enum policy_kind kind, const char *line)
{
    (void)arg;
    (void)kind;
    (void)line;
}

static void act (struct season *s)
{
    struct error err;

    acting = s;
    act_report_clear (&s->last);
    if (act_round (&s->last, &s->site, s->ledger, s->fabric, s->now, say,
                   NULL, &err) < 0)
        die (&err);
}

/* --- audits -------------------------------------------------------------- */

/* The two stages of a check. */
static struct verdict *check (struct season *s, struct pathset *ps,
                              const struct baseline *base,
                              struct samples **samples)
{
    struct plan *plan = plan_of (ps);
    uint64_t seed = rng_next (&s->rng);
    struct samples *first = measure (s, ps, plan, seed);
    struct plan *both;
    struct verdict *v;
    struct error err;

    both = need (confirm_plan (ps, plan, first, base, &confirm_defaults,
                               &err), &err);
    *samples = measure (s, ps, both, seed);
    v = need (judge (ps, both, *samples, base, NULL, &err), &err);
    samples_destroy (first);
    plan_destroy (plan);
    plan_destroy (both);
    return v;
}

/* As prolog/audit/partners has it, by chance. */
static const char *lead (struct season *s, const char *const *host, size_t n,
                         const char *about)
{
    const char *leader;

    do
        leader = host[rng_below (&s->turns, n)];
    while (leader == about || leader == s->leader);
    return leader;
}

/* Add an audit to the baseline. */
static void learn (struct season *s, int64_t audit)
{
    struct baseline *older = s->own;
    struct error err;

    s->own = need (ledger_baseline (s->ledger, s->fabric->hash, audit, audit,
                                    fabric_resolve, (void *)s->fabric, &err),
                   &err);
    if (older)
        s->own = need (baseline_merge (s->own, older, REMEMBERED,
                                       fabric_resolve, (void *)s->fabric,
                                       &err), &err);
}

static void settle (struct season *s)
{
    const struct site_baseline site = { s->ledger, s->fabric, "" };
    char *said;
    struct error err;
    int n = site_baseline_settle (&site, s->now, s->site.fail_ns, &said, &err);

    if (n < 0)
        die (&err);
    if (n == 0)
        return;
    snprintf (s->outcome.why, sizeof (s->outcome.why), "%s", said);
    free (said);
    s->outcome.settled += (size_t)n;
    baseline_destroy (s->own);
    s->own = need (site_baseline_make (&site, REMEMBERED, &err), &err);
}

static void audit (struct season *s, const char *const *host, size_t n)
{
    struct samples *samples;
    const char *about = s->about != FABRIC_NONE ? s->node[s->about].name
                                                : NULL;
    struct ledger_cause cause = {
        .why = about ? LEDGER_CONFIRM : LEDGER_SWEEP, .node = about,
        .leader = lead (s, host, n, about),
    };
    struct error err;
    struct pathset *ps = need (fabric_pathset (s->fabric, host, n, &err),
                               &err);
    struct verdict *v;
    int64_t id;

    stir (s);
    v = check (s, ps, s->published ? s->published : s->own, &samples);
    id = ledger_begin (s->ledger, s->now, s->fabric->hash, &cause, host, n,
                       samples->nonce, &err);
    if (id < 0
        || ledger_record (s->ledger, s->now, ps, samples, v, "says", &err) < 0)
        die (&err);
    learn (s, id);
    settle (s);
    s->leader = cause.leader;
    act (s);
    count (s, v);
    verdict_destroy (v);
    samples_destroy (samples);
    pathset_destroy (ps);
}

/* The node that the policy waits for, at its time. FABRIC_NONE: none. */
static uint32_t awaited (struct season *s)
{
    for (size_t i = 0; i < s->last.decisions.n; i++) {
        const struct decision *d = &s->last.decisions.v[i];

        if (d->kind != POLICY_WAIT)
            continue;
        if (s->now < d->when)
            s->now = d->when;
        return fabric_find_host (s->fabric, d->node);
    }
    return FABRIC_NONE;
}

static size_t draw_job (struct season *s, const char **host)
{
    size_t want = (size_t)4 << rng_below (&s->rng, 4);
    uint32_t first = s->about = awaited (s);
    uint32_t order[SEASON_HOSTS];
    size_t kept = 0;
    size_t n = 0;

    for (uint32_t i = 0; i < SEASON_HOSTS; i++)
        order[i] = i;
    if (rng_below (&s->rng, 2))
        rng_shuffle (&s->rng, order, SEASON_HOSTS);
    else
        kept = rng_below (&s->rng, SEASON_HOSTS);
    if (first != FABRIC_NONE) {
        uint32_t beside = first / LEAF * LEAF + (first + 1) % LEAF;

        host[n++] = s->node[first].name;
        if (!s->node[beside].drained)
            host[n++] = s->node[beside].name;
    }
    for (size_t i = 0; i < SEASON_HOSTS && n < want; i++) {
        uint32_t k = order[(kept + i) % SEASON_HOSTS];
        bool in = s->node[k].drained;

        for (size_t j = 0; j < n; j++)
            in |= host[j] == s->node[k].name;
        if (!in)
            host[n++] = s->node[k].name;
    }
    return n;
}

static size_t all_hosts (struct season *s, const char **host)
{
    for (size_t i = 0; i < SEASON_HOSTS; i++)
        host[i] = s->node[i].name;
    s->about = FABRIC_NONE;
    return SEASON_HOSTS;
}

void season_run (struct season *s, size_t audits, weather_f weather)
{
    const char *host[SEASON_HOSTS];

    s->outcome = (struct outcome){ 0 };
    for (size_t i = 0; i < audits; i++) {
        size_t n;

        s->now += (15 + (int64_t)rng_below (&s->rng, 30)) * MINUTE;
        memcpy (s->latency, s->healthy, s->net->nlinks * sizeof (double));
        memset (s->offset, 0, sizeof (s->offset));
        weather (s, i);
        n = (i + 1) % (SWEEP_EVERY + 1) == 0 ? all_hosts (s, host)
                                             : draw_job (s, host);
        audit (s, host, n);
    }
}

/* --- a site -------------------------------------------------------------- */

static void configure (struct season *s)
{
    struct error err;

    if (conf_defaults (site_options, &s->site) < 0
        || conf_set (site_options, &s->site, "Action", "drain", &err) < 0
        || conf_set (site_options, &s->site, "Resume", "yes", &err) < 0)
        abort ();
}

struct season *season_open (const struct fabric *fabric, const char *path,
                            uint64_t seed)
{
    struct season *s = xcalloc (1, sizeof (*s));
    const char *host[SEASON_HOSTS];
    struct error err;

    rng_seed (&s->rng, seed);
    rng_seed (&s->turns, seed);
    s->about = FABRIC_NONE;
    s->fabric = s->actual = fabric;
    s->net = fabric_network (fabric);
    s->fault = NETWORK_NONE;
    s->healthy = xcalloc (s->net->nlinks, sizeof (*s->healthy));
    s->latency = xcalloc (s->net->nlinks, sizeof (*s->latency));
    s->busy = xcalloc (s->net->nlinks, sizeof (*s->busy));
    for (size_t l = 0; l < s->net->nlinks; l++)
        s->latency[l] = s->healthy[l]
            = (s->net->link[l].kind == LINK_HOST ? HOST_NS : SWITCH_NS)
              + SPREAD_NS * rng_uniform (&s->rng);
    s->ledger = need (ledger_open (path, LEDGER_CREATE, &err), &err);
    configure (s);
    for (size_t i = 0; i < SEASON_HOSTS; i++)
        s->node[i].name = fabric->host[i].name;
    s->now = BEGIN;
    audit (s, host, all_hosts (s, host));
    return s;
}

void season_close (struct season *s)
{
    act_report_clear (&s->last);
    baseline_destroy (s->own);
    conf_clear (site_options, &s->site);
    ledger_close (s->ledger);
    free (s->healthy);
    free (s->latency);
    free (s->busy);
    free (s);
}
