/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The judge names the slow link, and only that one.
 *
 * `judge.t TRIALS` runs as many trials of each row of the Monte Carlo table
 * and prints rates; without an argument, few trials, and all must be right
 * (more with PMM_FULL or PMM_LONG).
 */
#include "config.h"
#include "core/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "core/judge/confirm.h"
#include "core/judge/judgement.h"
#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"

enum { TRIALS = 8, LONG_TRIALS = 20, NODES = 16 };

#define NOISE_NS 50.0
#define OUTLIER_SHARE 0.01
#define OUTLIER_NS 2000.0

/* A job on a fat tree with its latencies. */
struct job {
    struct tablenet *net;
    struct pathset *ps;
    struct plan *plan;
    const uint32_t *link; /* used by its paths */
    size_t m;
    double *latency;
    struct samples *before; /* the baseline, healthy, */
    struct samples *earlier; /* ... and an older run of it; NULL */
    size_t npairs;
    uint8_t *count;         /* [nlinks][npairs] of every pair's row */
};

/* Facts as numbers: their kinds, and what they have. */
static const char *says (const struct fact *fact, size_t n)
{
    static char text[1024];
    size_t len = 0;

    *text = '\0';
    for (size_t i = 0; i < n && len < sizeof (text) / 2; i++)
        len += (size_t)snprintf (text + len, sizeof (text) - len,
                                 "fact %d (%.0f %.0f %.0f %.0f %s) ",
                                 (int)fact[i].kind, fact[i].n[0], fact[i].n[1],
                                 fact[i].n[2], fact[i].n[3],
                                 fact[i].name[0] ? fact[i].name[0] : "");
    return text;
}

static bool has_fact (const struct finding *f, enum fact_kind kind)
{
    for (size_t i = 0; i < f->nfacts; i++)
        if (f->fact[i].kind == kind)
            return true;
    return kind == FACT_SAID;
}

static bool is_same (const char *a, const char *b)
{
    return a && b ? !strcmp (a, b) : a == b;
}

static void check (const void *p, const struct error *err)
{
    if (!p) {
        diag ("%s", err->text);
        abort ();
    }
}

static struct simulate_options simulation (unsigned int repeats,
                                           uint64_t seed)
{
    static double loopback_ns[NODES]; /* see quieten */

    return (struct simulate_options){
        .noise_ns = NOISE_NS,
        .outlier_share = OUTLIER_SHARE,
        .outlier_ns = OUTLIER_NS,
        .repeats = repeats,
        .loopback_ns = loopback_ns,
        .seed = seed,
    };
}

/* Loopbacks are all alike, and scatter a third as much as round trips. */
static void quieten (struct samples *s)
{
    static const double at[] = { -20, -16, -8, 0, 8, 16, 20 };

    for (size_t i = 0; i < s->nloopbacks; i++)
        for (int q = 0; q < RTT_COUNT; q++)
            s->loopback[i].rtt_ns[q] = 1000 + at[q];
}

static void fill_counts (struct job *job)
{
    size_t n = pathset_size (job->ps);
    size_t pair = 0;

    job->npairs = n * (n - 1) / 2;
    job->count = table_alloc (job->net->net.nlinks * job->npairs, 1);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++, pair++) {
            struct error err;
            struct row row;

            if (pathset_row (job->ps, i, j, &row, &err) < 0)
                abort ();
            for (size_t p = 0; p < row.n; p++)
                job->count[row.link[p] * job->npairs + pair] = row.count[p];
        }
}

static void job_baseline (struct job *job, unsigned int repeats,
                          uint64_t seed)
{
    struct simulate_options sim = simulation (repeats, 2 * seed);
    struct error err;

    samples_destroy (job->before);
    job->before = simulate (job->ps, job->plan, job->latency, &sim, &err);
    check (job->before, &err);
    quieten (job->before);
}

static void job_open (struct job *job, struct tablenet *net, size_t nodes,
                      unsigned int repeats, uint64_t seed)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = seed };
    struct error err;
    struct rng rng;

    *job = (struct job){ .net = net };
    job->ps = tablenet_random (net, nodes, seed);
    fill_counts (job);
    check (job->plan = plan_make (job->ps, &opts, &err), &err);
    check (job->link = pathset_links (job->ps, &job->m, &err), &err);
    job->latency = table_alloc (net->net.nlinks, sizeof (double));
    rng_seed (&rng, seed + 1);
    for (size_t l = 0; l < net->net.nlinks; l++)
        job->latency[l] = (net->info[l].kind == LINK_HOST ? 420 : 130)
                          + 150 * rng_uniform (&rng);
    job_baseline (job, repeats, seed);
}

static void job_close (struct job *job)
{
    samples_destroy (job->before);
    samples_destroy (job->earlier);
    plan_destroy (job->plan);
    pathset_destroy (job->ps);
    free (job->latency);
    free (job->count);
}

static struct samples *job_samples (const struct job *job,
                                    unsigned int repeats, uint64_t seed)
{
    struct simulate_options sim = simulation (repeats, 2 * seed + 1);
    struct error err;
    struct samples *s = simulate (job->ps, job->plan, job->latency, &sim,
                                  &err);

    check (s, &err);
    quieten (s);
    return s;
}

typedef void (*change_f) (struct job *job, struct samples *s, uint32_t link);

/* What was measured before; the caller destroys it. */
static struct baseline *job_base (const struct job *job)
{
    struct error err;
    struct baseline *b = baseline_of (job->before, job->ps, &err);

    check (b, &err);
    if (job->earlier && baseline_add (b, job->earlier, 0, &err) < 0)
        check (NULL, &err);
    return b;
}

/* Measure, confirm and judge; change (unless NULL) is done to all samples. */
static struct verdict *job_check (struct job *job, unsigned int repeats,
                                  uint64_t seed, bool baseline,
                                  change_f change, uint32_t link)
{
    struct baseline *base = baseline ? job_base (job) : NULL;
    struct plan *first = job->plan;
    struct samples *s = job_samples (job, repeats, seed);
    struct verdict *v;
    struct error err;

    if (change)
        change (job, s, link);
    job->plan = confirm_plan (job->ps, first, s, base, &confirm_defaults,
                              &err);
    check (job->plan, &err);
    /* the same numbers for the same rounds */
    samples_destroy (s);
    s = job_samples (job, repeats, seed);
    if (change)
        change (job, s, link);
    v = judge (job->ps, job->plan, s, base, NULL, &err);
    check (v, &err);
    baseline_destroy (base);
    samples_destroy (s);
    plan_destroy (job->plan);
    job->plan = first;
    return v;
}

static bool names (const struct finding *f, uint32_t link)
{
    for (size_t i = 0; i < f->nsuspects; i++)
        if (f->suspect[i] == link)
            return true;
    return false;
}

/* The example to read first: one link of a job of 16 hosts gets 1000 ns slower,
 * and the judge names it, by how much, and no other.
 */
static void test_example (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct verdict *v;
    struct job job;
    uint32_t link;

    job_open (&job, net, NODES, 5, 1);
    link = job.link[3];
    job.latency[link] += 1000;
    v = job_check (&job, 5, 1, true, NULL, 0);
    ok (v->status == VERDICT_FAIL && v->nfindings == 1
            && names (v->finding, link)
            && fabs (v->finding->excess_ns - 1000) < 100,
        "a link gets 1000 ns slower: %s, %zu finding, %+.0f ns",
        verdict_status_name (v->status), v->nfindings,
        v->nfindings ? v->finding->excess_ns : 0);
    verdict_destroy (v);
    job_close (&job);
    tablenet_destroy (net);
}

/* True if two links' columns over all pairs of the job are proportional. */
static bool proportional (const struct job *job, uint32_t l, uint32_t k)
{
    const uint8_t *a = job->count + l * job->npairs;
    const uint8_t *b = job->count + k * job->npairs;
    size_t first = 0;

    while (first < job->npairs && !a[first] && !b[first])
        first++;
    for (size_t i = first; i < job->npairs; i++)
        if (a[i] * b[first] != b[i] * a[first])
            return false;
    return true;
}

/* True if the finding's suspects are those that the paths force, no more. */
static bool forced (const struct job *job, const struct finding *f,
                    uint32_t link)
{
    size_t n = 0;

    for (size_t j = 0; j < job->m; j++)
        n += proportional (job, link, job->link[j]);
    if (n != f->nsuspects)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!proportional (job, link, f->suspect[i]))
            return false;
    return true;
}

/*
 * Monte Carlo: jobs of 16 random hosts of the 8-port 3-tree
 */

static const struct monte {
    const char *what;
    double excess_ns;
    int faults;
    unsigned int repeats; /* from each side */
    bool baseline;
    enum verdict_status most; /* of a finding */
    bool strict; /* each trial must be right; else it is rates alone, of no
                    few trials */
    double hosts_ns; /* all host ends, since the baseline */
    double cables_ns; /* what links differ by, at most, beside what they do */
} monte[] = {
    { "healthy", 0, 0, 5, true, VERDICT_OK, true, 0, 0 },
    { "healthy, 10 repeats", 0, 0, 10, true, VERDICT_OK, true, 0, 0 },
    { "healthy, 2 repeats", 0, 0, 2, true, VERDICT_OK, true, 0, 0 },
    { "healthy, no baseline", 0, 0, 5, false, VERDICT_OK, true, 0, 0 },
    { "+1000 ns", 1000, 1, 5, true, VERDICT_FAIL, true, 0, 0 },
    { "+1000 ns, 10 repeats", 1000, 1, 10, true, VERDICT_FAIL, true, 0, 0 },
    { "+1000 ns, 2 repeats", 1000, 1, 2, true, VERDICT_FAIL, false, 0, 0 },
    { "+500 ns", 500, 1, 5, true, VERDICT_FAIL, true, 0, 0 },
    { "+300 ns", 300, 1, 5, true, VERDICT_FAIL, false, 0, 0 },
    { "all hosts +150 ns", 0, 0, 5, true, VERDICT_OK, true, 150, 0 },
    { "all hosts +150 ns, one +1000 ns", 1000, 1, 5, true, VERDICT_FAIL, true,
      150, 0 },
    { "+1000 ns, no baseline", 1000, 1, 5, false, VERDICT_WARN, false, 0, 0 },
    { "two of +1000 ns", 1000, 2, 5, true, VERDICT_FAIL, false, 0, 0 },
    { "three of +1000 ns", 1000, 3, 5, true, VERDICT_FAIL, false, 0, 0 },
    { "long cables, healthy", 0, 0, 5, true, VERDICT_OK, true, 0, 50e3 },
    { "long cables, no baseline", 0, 0, 5, false, VERDICT_OK, true, 0, 50e3 },
    { "long cables, +10 us", 10e3, 1, 5, true, VERDICT_FAIL, true, 0, 50e3 },
    { "long cables, +10 us, no baseline", 10e3, 1, 5, false, VERDICT_WARN,
      false, 0, 50e3 },
};

struct rates {
    size_t right;     /* as many findings as faults, each named */
    size_t forced;    /* and with the suspects that the paths force */
    size_t failed;    /* findings of FAIL */
    size_t found;     /* faults named */
    size_t unnamed;   /* findings that name no fault */
    size_t unknown;   /* verdicts */
    double seconds;
};

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void shift_hosts (struct job *job, double ns)
{
    for (size_t j = 0; j < job->m; j++)
        if (job->net->info[job->link[j]].kind == LINK_HOST)
            job->latency[job->link[j]] += ns;
}

/* Have all links differ by a share of this, the same for a seed. */
static void lengthen (struct job *job, double ns, uint64_t seed)
{
    struct rng rng;

    rng_seed (&rng, seed + 78);
    for (size_t l = 0; l < job->net->net.nlinks; l++)
        job->latency[l] += ns * rng_uniform (&rng);
}

static void trial (const struct monte *mc, struct job *job, uint64_t seed,
                   struct rates *rates)
{
    const struct tablenet *net = job->net;
    uint32_t bad[3];
    struct verdict *v;
    struct rng rng;
    size_t found = 0;
    size_t exact = 0;
    size_t unnamed = 0;
    double t;

    lengthen (job, mc->cables_ns, seed);
    job_baseline (job, mc->repeats, seed);
    rng_seed (&rng, seed + 77);
    for (int i = 0; i < mc->faults; i++) {
        /* by turns a host's link and any link */
        do
            bad[i] = job->link[rng_below (&rng, job->m)];
        while ((seed % 2 && net->info[bad[i]].kind == LINK_SWITCH)
               || (i > 0 && proportional (job, bad[i], bad[i - 1]))
               || (i > 1 && proportional (job, bad[i], bad[i - 2])));
        job->latency[bad[i]] += mc->excess_ns;
    }
    shift_hosts (job, mc->hosts_ns);
    t = now ();
    v = job_check (job, mc->repeats, seed, mc->baseline, NULL, 0);
    rates->seconds += now () - t;
    shift_hosts (job, -mc->hosts_ns);
    for (int i = 0; i < mc->faults; i++)
        job->latency[bad[i]] -= mc->excess_ns;
    lengthen (job, -mc->cables_ns, seed);
    for (size_t k = 0; k < v->nfindings; k++) {
        const struct finding *f = &v->finding[k];
        bool named = false;

        for (int i = 0; i < mc->faults; i++)
            if (names (f, bad[i])) {
                named = true;
                exact += forced (job, f, bad[i]);
            }
        found += named;
        unnamed += !named;
        rates->failed += f->level == VERDICT_FAIL;
        if (f->level > mc->most)
            unnamed++;
    }
    rates->found += found;
    rates->unnamed += unnamed;
    rates->unknown += v->status == VERDICT_UNKNOWN;
    if (found == (size_t)mc->faults && !unnamed) {
        rates->right++;
        rates->forced += exact == found;
    }
    else if (getenv ("VERBOSE")) {
        for (int i = 0; i < mc->faults; i++)
            diag ("seed %llu: planted %s", (unsigned long long)seed,
                  net->info[bad[i]].id);
        for (size_t k = 0; k < v->nfindings; k++)
            diag ("  %s %s (of %zu) %.0f +- %.0f: %s",
                  verdict_status_name (v->finding[k].level),
                  net->info[v->finding[k].suspect[0]].id,
                  v->finding[k].nsuspects, v->finding[k].excess_ns,
                  v->finding[k].stderr_ns,
                  says (v->finding[k].fact, v->finding[k].nfacts));
        for (size_t k = 0; k < v->nlimits; k++)
            diag ("  %s", says (&v->limit[k], 1));
    }
    verdict_destroy (v);
}

/* With few trials those rows of which each must be right, each by one routing. */
static bool is_tried (size_t row, int routing, size_t n)
{
    return n >= TRIALS
           || (monte[row].strict && (n > 1 || row % 2 == (size_t)routing % 2));
}

static void test_monte (size_t n, bool report)
{
    enum { ROWS = sizeof (monte) / sizeof (monte[0]) };

    for (int routing = TABLE_DMODK; routing <= TABLE_MINHOP; routing++) {
        struct tablenet *net = tablenet_fattree (8, 3, routing, 1);
        struct rates rates[ROWS] = { { 0 } };
        /* one job each: not the same, and of both kinds of links */
        uint64_t first = n > 1 ? 1000 : 1000 + (uint64_t)routing;

        for (uint64_t seed = first; seed < first + n; seed++) {
            struct job job;

            job_open (&job, net, NODES, 5, seed);
            for (size_t k = 0; k < ROWS; k++)
                if (is_tried (k, routing, n))
                    trial (&monte[k], &job, seed, &rates[k]);
            job_close (&job);
        }
        for (size_t k = 0; k < ROWS; k++) {
            const struct rates *r = &rates[k];

            if (!is_tried (k, routing, n))
                continue;
            ok (!monte[k].strict || report || r->right == n,
                "%s, %s: %zu of %zu right, %zu with exactly the forced "
                "suspects; findings: %zu FAIL, %zu stray; %zu UNKNOWN; "
                "%.1f ms",
                monte[k].what, routing ? "min-hop" : "d-mod-k", r->right,
                n, r->forced, r->failed, r->unnamed, r->unknown,
                1e3 * r->seconds / (double)n);
        }
        tablenet_destroy (net);
    }
}

/*
 * Single cases
 */

static void print (const struct verdict *v)
{
    for (size_t i = 0; i < v->nfindings; i++)
        diag ("%s: %s", verdict_status_name (v->finding[i].level),
              says (v->finding[i].fact, v->finding[i].nfacts));
    for (size_t i = 0; i < v->nlimits; i++)
        diag ("limit: %s", says (&v->limit[i], 1));
}

/* How often the round trip of a sample crosses the link. */
static int crosses (const struct job *job, const struct sample *s,
                     uint32_t link)
{
    struct error err;
    struct row row;

    if (pathset_row (job->ps, s->a, s->b, &row, &err) < 0)
        abort ();
    for (size_t i = 0; i < row.n; i++)
        if (row.link[i] == link)
            return row.count[i];
    return 0;
}

static void shift (struct sample *s, double ns)
{
    for (int q = 0; q < RTT_COUNT; q++)
        s->rtt_ns[q] += ns;
}

/* A link that many probes cross, and that no other is proportional to. */
static uint32_t busiest (const struct job *job, const struct samples *s,
                         enum link_kind kind)
{
    uint32_t best = job->link[0];
    size_t most = 0;

    for (size_t j = 0; j < job->m; j++) {
        size_t n = 0;

        if (job->net->info[job->link[j]].kind != kind)
            continue;
        for (size_t i = 0; i < s->nsamples; i++)
            n += crosses (job, &s->sample[i], job->link[j]) > 0;
        if (n > most) {
            most = n;
            best = job->link[j];
        }
    }
    return best;
}

static uint32_t busy_link (const struct job *job, const struct samples *s)
{
    return busiest (job, s, LINK_SWITCH);
}

static void case_missing (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    samples_add_host (s, "k99", false);
}

static void case_incomplete (struct job *job, struct samples *s,
                             uint32_t link)
{
    (void)job;
    (void)link;
    s->complete = false;
    s->nsamples -= 2;
}

static void case_silent (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    s->sample[0].lost = s->sample[0].sent;
    s->sample[1].lost = s->sample[1].sent;
}

static void case_one_row (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    for (size_t i = 0; i < s->nsamples; i += 2)
        if (crosses (job, &s->sample[i], link)) {
            shift (&s->sample[i], 5000);
            shift (&s->sample[i + 1], 5000);
            return;
        }
}

static void case_one_side (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i += 2)
        shift (&s->sample[i], 1000 * crosses (job, &s->sample[i], link));
}

static void case_comes_and_goes (struct job *job, struct samples *s,
                                 uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        for (int q = RTT_P25; q < RTT_COUNT; q++)
            s->sample[i].rtt_ns[q]
                += 1000 * crosses (job, &s->sample[i], link);
}

/* Foreign messages in the way of all repeats, for any time. */
static void traffic (struct job *job, struct samples *s, uint32_t link,
                     double ns)
{
    for (size_t i = 0; i < s->nsamples; i++)
        for (int q = RTT_MIN; q < RTT_COUNT; q++)
            s->sample[i].rtt_ns[q]
                += (q + 2) * ns * crosses (job, &s->sample[i], link);
}

static void case_traffic (struct job *job, struct samples *s, uint32_t link)
{
    traffic (job, s, link, 150);
}

static void case_some_traffic (struct job *job, struct samples *s,
                               uint32_t link)
{
    traffic (job, s, link, 40);
}

/* All messages but those of some pairs wait for eight packets of others, and for the
 * rest of one.
 */
static void fill_but (struct job *job, struct samples *s, uint32_t link, size_t pairs)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nsamples; i++) {
        if (crosses (job, &s->sample[i], link) && n++ < 2 * pairs)
            continue;
        for (int q = RTT_MIN; q < RTT_COUNT; q++)
            s->sample[i].rtt_ns[q]
                += (8 * 660 + 660. * q / RTT_MAX)
                   * crosses (job, &s->sample[i], link);
    }
}

static void case_full (struct job *job, struct samples *s, uint32_t link)
{
    fill_but (job, s, link, 0);
}

static void fill_but_one (struct job *job, struct samples *s, uint32_t link)
{
    fill_but (job, s, link, 1);
}

/* A slow link, where every third pair's messages meet no others. */
static void case_met (struct job *job, struct samples *s, uint32_t link)
{
    size_t n = 0;

    for (size_t i = 0; i < s->nsamples; i += 2) {
        int times = crosses (job, &s->sample[i], link);
        double rest = times > 0 && n++ % 3 > 0 ? 660 : 0;

        for (size_t k = i; k < i + 2; k++)
            for (int q = RTT_MIN; q < RTT_COUNT; q++)
                s->sample[k].rtt_ns[q] += (1000 + rest * q / RTT_MAX) * times;
    }
}

static void case_loss (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        if (crosses (job, &s->sample[i], link))
            s->sample[i].lost = 1 + i % 2;
}

static void case_some_loss (struct job *job, struct samples *s,
                            uint32_t link)
{
    (void)job;
    (void)link;
    for (size_t i = 0; i < s->nsamples; i += 23)
        s->sample[i].lost = 1;
}

/* Every n-th sample loses so many messages, on whatever link. */
static void lose (struct samples *s, size_t every, uint32_t lost)
{
    for (size_t i = 3; i < s->nsamples; i += every)
        s->sample[i].lost = lost;
}

static void case_bursts (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    lose (s, s->nsamples / 2, 4);
}

static void case_tenth (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    lose (s, 2, 1);
}

static void case_half (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    lose (s, 1, 3);
}

static void case_loss_and_tenth (struct job *job, struct samples *s,
                                 uint32_t link)
{
    case_loss (job, s, link);
    for (size_t i = 0; i < s->nsamples; i++)
        s->sample[i].lost *= 2;
    case_tenth (job, s, link);
}

static void case_faster (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        shift (&s->sample[i], -150 * crosses (job, &s->sample[i], link));
}

/* No link's latency does this. */
static void case_odd (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        if (crosses (job, &s->sample[i], link))
            shift (&s->sample[i], -600);
}

/* All adapters, and a switch link more. */
static void all_hosts (struct job *job, struct samples *s, uint32_t link,
                       double ns)
{
    for (size_t i = 0; i < s->nsamples; i++) {
        for (size_t j = 0; j < job->m; j++)
            if (job->net->info[job->link[j]].kind == LINK_HOST)
                shift (&s->sample[i],
                       ns * crosses (job, &s->sample[i], job->link[j]));
        shift (&s->sample[i], 1000 * crosses (job, &s->sample[i], link));
    }
}

static void case_slower_hosts (struct job *job, struct samples *s,
                               uint32_t link)
{
    all_hosts (job, s, link, 150);
}

static void case_slow_hosts (struct job *job, struct samples *s,
                             uint32_t link)
{
    all_hosts (job, s, link, 500);
}

/* As the second stage is, if every round trip takes longer by then. */
static void case_later (struct job *job, struct samples *s, uint32_t link)
{
    size_t first = plan_rounds (job->plan) - plan_confirm_rounds (job->plan);

    for (size_t i = 0; i < s->nsamples; i++) {
        struct sample *x = &s->sample[i];

        shift (x, 1000 * crosses (job, x, link));
        if (plan_confirm_rounds (job->plan) > 0 && x->round >= first)
            shift (x, 1000);
    }
}

/* All links get slower while they are measured, and one is. */
static void case_warm (struct job *job, struct samples *s, uint32_t link)
{
    double rounds = (double)plan_rounds (job->plan);

    for (size_t i = 0; i < s->nsamples; i++) {
        struct sample *x = &s->sample[i];
        struct error err;
        struct row row;

        if (pathset_row (job->ps, x->a, x->b, &row, &err) < 0)
            abort ();
        shift (x, 1000 * crosses (job, x, link));
        for (size_t p = 0; p < row.n; p++)
            shift (x, 50 * row.count[p] * x->round / rounds);
    }
}

/* One cable gets slower while it is measured. */
static void case_warms_up (struct job *job, struct samples *s, uint32_t link)
{
    double rounds
        = (double)(plan_rounds (job->plan) - plan_confirm_rounds (job->plan));

    for (size_t i = 0; i < s->nsamples; i++)
        shift (&s->sample[i], 1000 * crosses (job, &s->sample[i], link)
                                  * fmin (1, s->sample[i].round / rounds));
}

static void case_enormous (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    for (size_t i = 0; i < s->nsamples; i += 3)
        for (int q = RTT_P75; q < RTT_COUNT; q++)
            s->sample[i].rtt_ns[q] = 1e12;
    shift (&s->sample[7], 9e11);
}

static const struct {
    const char *what;
    change_f change;
    enum verdict_status status;
    size_t nfindings;
    size_t min_limits;
} cases[] = {
    { "a node is missing", case_missing, VERDICT_UNKNOWN, 0, 1 },
    { "not complete", case_incomplete, VERDICT_UNKNOWN, 0, 2 },
    { "a probe lost all", case_silent, VERDICT_OK, 0, 1 },
    { "one slow row of a busy link", case_one_row, VERDICT_OK, 0, 1 },
    { "slow from one side only", case_one_side, VERDICT_OK, 0, 0 },
    { "slow but for a few repeats", case_comes_and_goes, VERDICT_FAIL, 1, 0 },
    { "traffic on a link", case_traffic, VERDICT_UNKNOWN, 0, 1 },
    { "some traffic", case_some_traffic, VERDICT_OK, 0, 0 },
    { "a full link", case_full, VERDICT_WARN, 1, 0 },
    { "slow, and most meet others", case_met, VERDICT_FAIL, 1, 0 },
    { "a link that loses", case_loss, VERDICT_FAIL, 1, 1 },
    { "a little loss all over", case_some_loss, VERDICT_WARN, 0, 1 },
    { "two hosts paused", case_bursts, VERDICT_OK, 0, 1 },
    { "a tenth is lost", case_tenth, VERDICT_FAIL, 0, 1 },
    { "half is lost", case_half, VERDICT_FAIL, 0, 1 },
    { "a tenth, and more on a link", case_loss_and_tenth, VERDICT_FAIL, 1, 1 },
    { "a link got faster", case_faster, VERDICT_OK, 0, 0 },
    { "rows got faster by any number", case_odd, VERDICT_OK, 0, 0 },
    { "a slow link, and adapters", case_slower_hosts, VERDICT_FAIL, 1, 1 },
    { "slow adapters, one more than others", case_slow_hosts, VERDICT_FAIL, 1, 1 },
    { "the second stage slower as a whole", case_later, VERDICT_FAIL, 1, 1 },
    { "links that get slower", case_warm, VERDICT_FAIL, 1, 1 },
    { "numbers beyond reason", case_enormous, VERDICT_OK, 0, 0 },
};

static void test_cases (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct job job;

    job_open (&job, net, NODES, 5, 99);
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct samples *s = job_samples (&job, 5, 99);
        uint32_t link = busy_link (&job, s);
        struct verdict *v;

        v = job_check (&job, 5, 99, true, cases[i].change, link);
        ok (v->status == cases[i].status && v->nlimits >= cases[i].min_limits
                && v->nfindings == cases[i].nfindings
                && (v->nfindings == 0 || names (v->finding, link)),
            "%s: %s, %zu findings", cases[i].what,
            verdict_status_name (v->status), v->nfindings);
        print (v);
        verdict_destroy (v);
        samples_destroy (s);
    }
    job_close (&job);
    tablenet_destroy (net);
}

/* Others' traffic fills a link between switches, but pauses as one pair crosses it: a
 * route by which that pair avoids it would explain that as well, and be wrong.
 */
static void test_paused (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    size_t fails = 0, tried = 0;
    struct samples *s;
    struct job job;

    job_open (&job, net, NODES, 5, 99);
    s = job_samples (&job, 5, 99);
    for (size_t k = 0; k < job.m; k++) {
        struct verdict *v;

        if (net->info[job.link[k]].kind != LINK_SWITCH)
            continue;
        v = job_check (&job, 5, 99, true, fill_but_one, job.link[k]);
        fails += v->status == VERDICT_FAIL;
        tried++;
        verdict_destroy (v);
    }
    ok (tried > 10 && fails == 0,
        "a full link, idle for one pair: FAILs of %zu in %zu", fails, tried);
    samples_destroy (s);
    job_close (&job);
    tablenet_destroy (net);
}

/* The switch link that the most probes cross without another link. */
static uint32_t busiest_beside (const struct job *job, const struct samples *s,
                                uint32_t other)
{
    uint32_t best = 0;
    size_t most = 0;

    for (size_t j = 0; j < job->m; j++) {
        size_t n = 0;

        for (size_t i = 0; i < s->nsamples; i++)
            n += crosses (job, &s->sample[i], job->link[j])
                 && !crosses (job, &s->sample[i], other);
        if (n > most && job->net->info[job->link[j]].kind == LINK_SWITCH) {
            most = n;
            best = job->link[j];
        }
    }
    return best;
}

/* All hosts but that of a link get faster, */
static void upgrade_hosts (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        for (size_t j = 0; j < job->m; j++)
            if (job->net->info[job->link[j]].kind == LINK_HOST
                && job->link[j] != link)
                shift (&s->sample[i],
                       -400 * crosses (job, &s->sample[i], job->link[j]));
}

/* ... or have slower loopbacks, and round trips as before; */
static void upgrade_loopbacks (struct job *job, struct samples *s,
                               uint32_t link)
{
    for (size_t i = 0; i < s->nloopbacks; i++)
        for (int q = 0; q < RTT_COUNT; q++)
            s->loopback[i].rtt_ns[q]
                += 700 * (pathset_end_link (job->ps, s->loopback[i].end)
                          != link);
}

/* ... and that link gets slower meanwhile. */
static void upgrade_beside (struct job *job, struct samples *s, uint32_t link)
{
    upgrade_hosts (job, s, link);
    for (size_t i = 0; i < s->nsamples; i++)
        shift (&s->sample[i], 1000 * crosses (job, &s->sample[i], link));
}

/* All hosts get faster, and a cable slower by about as much: so is one by which
 * alone hosts are reached that did not get faster, where some paths are not measured.
 */
static void upgrade_beyond (struct job *job, struct samples *s, uint32_t link)
{
    upgrade_hosts (job, s, link);
    for (size_t i = 0; i < s->nsamples; i++)
        shift (&s->sample[i], 500 * crosses (job, &s->sample[i], link));
}

/* Nothing FAILs that is not slower than it was itself, or that gets slower from
 * round to round: it is a WARN that says so.
 */
static void test_no_fault (void)
{
    static const struct {
        const char *what;
        change_f change;
        enum verdict_status status;
        enum fact_kind fact; /* FACT_SAID: any */
        enum link_kind of;
    } tab[] = {
        { "a host was left out of an upgrade, others got faster", upgrade_hosts,
          VERDICT_WARN, FACT_CLASS_LESS, LINK_HOST },
        { "a host was left out of an upgrade, others' loopbacks got slower",
          upgrade_loopbacks, VERDICT_OK, FACT_SAID, LINK_HOST },
        { "a host was left out of an upgrade, and it got slower",
          upgrade_beside, VERDICT_FAIL, FACT_SAID, LINK_HOST },
        { "hosts got faster by about what a cable got slower", upgrade_beyond,
          VERDICT_WARN, FACT_CLASS_DIFFERS, LINK_SWITCH },
        { "hosts got faster by less than a cable got slower", upgrade_beside,
          VERDICT_FAIL, FACT_SAID, LINK_SWITCH },
        { "a host's cable warms up", case_warms_up, VERDICT_WARN, FACT_GREW,
          LINK_HOST },
    };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct job job;

    job_open (&job, net, NODES, 5, 99);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct samples *s = job_samples (&job, 5, 99);
        uint32_t link = busiest (&job, s, tab[i].of);
        struct verdict *v = job_check (&job, 5, 99, true, tab[i].change, link);

        ok (v->status == tab[i].status
                && v->nfindings == (v->status > VERDICT_OK)
                && (v->nfindings == 0 || names (v->finding, link))
                && (v->nfindings == 0 || has_fact (v->finding, tab[i].fact)),
            "%s: %s", tab[i].what, verdict_status_name (v->status));
        print (v);
        verdict_destroy (v);
        samples_destroy (s);
    }
    job_close (&job);
    tablenet_destroy (net);
}

/* One host gets slower by 1 us, and four others by 400 ns each. */
static void slow_several (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        for (size_t j = 0, n = 0; j < job->m; j++) {
            uint32_t l = job->link[j];

            if (job->net->info[l].kind == LINK_HOST && (l == link || n++ < 4))
                shift (&s->sample[i],
                       (l == link ? 1000 : 400) * crosses (job, &s->sample[i], l));
        }
}

static void test_alike (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    size_t alike = 0;
    struct samples *s;
    struct verdict *v;
    uint32_t link;
    struct job job;

    job_open (&job, net, NODES, 5, 99);
    s = job_samples (&job, 5, 99);
    link = busiest (&job, s, LINK_HOST);
    v = job_check (&job, 5, 99, true, slow_several, link);
    for (size_t k = 1; k < v->nfindings; k++)
        alike += v->finding[k].basis == BASIS_ALIKE
                 && v->finding[k].level == VERDICT_WARN;
    ok (v->nfindings == 5 && alike == 4 && v->finding[0].level == VERDICT_FAIL
            && names (v->finding, link),
        "hosts that got slower by the same: %zu of %zu are WARNs", alike,
        v->nfindings);
    print (v);
    verdict_destroy (v);
    samples_destroy (s);
    job_close (&job);
    tablenet_destroy (net);
}

/* A link that explains an excess, and by one direction, too, is named once. */
static void test_suspects (void)
{
    struct link_info info[] = { { .id = "l1", .kind = LINK_SWITCH },
                                { .id = "l2", .kind = LINK_SWITCH } };
    struct network net = { .link = info };
    struct judgement j = { .net = &net, .verdict = verdict_create () };
    struct finding *f = verdict_add (j.verdict, VERDICT_WARN, BASIS_BASELINE);

    add_suspect_link (&j, f, 0, false);
    add_suspect_link (&j, f, 1, true);
    add_suspect_link (&j, f, 0, true);
    add_suspect_link (&j, f, 1, false);
    ok (f->nsuspects == 2 && f->noneway == 0,
        "of two suspects %zu + %zu are named", f->nsuspects, f->noneway);
    verdict_destroy (j.verdict);
}

/* All hosts but that of a link get slower: of that one it is said that it did not,
 * and first of all why the verdict is UNKNOWN.
 */
static void slow_others (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nsamples; i++)
        for (size_t j = 0; j < job->m; j++)
            if (job->net->info[job->link[j]].kind == LINK_HOST
                && job->link[j] != link)
                shift (&s->sample[i],
                       400 * crosses (job, &s->sample[i], job->link[j]));
}

static void test_stayed (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    bool stayed = false, faster = false;
    struct samples *s;
    struct verdict *v;
    struct job job;

    job_open (&job, net, NODES, 5, 99);
    s = job_samples (&job, 5, 99);
    v = job_check (&job, 5, 99, true, slow_others, busiest (&job, s, LINK_HOST));
    for (size_t k = 0; k < v->nlimits; k++) {
        stayed |= v->limit[k].kind == FACT_STAYED;
        faster |= v->limit[k].kind == FACT_FASTER;
    }
    ok (v->status == VERDICT_UNKNOWN && v->nlimits > 1
            && v->limit->kind == FACT_CLASS_SHIFT && stayed && !faster,
        "all hosts but one got slower: %s, and that is not faster",
        verdict_status_name (v->status));
    print (v);
    verdict_destroy (v);
    samples_destroy (s);
    job_close (&job);
    tablenet_destroy (net);
}

/* Two hosts are slow, and one of them carries others' traffic, which fills a
 * switch link on its way, too: it is UNKNOWN, for what it carries, the other
 * one FAILs as if it were alone, and what is full is not measured again.
 */
static void test_busy (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct judge_options opts = judge_defaults;
    struct busy_link busy
        = { .carries = { FACT_TRAFFIC_SENT, .n = { 98 }, .name = { "k1" } } };
    struct job job;

    job_open (&job, net, NODES, 5, 99);
    for (int flooded = 0; flooded < 2; flooded++) {
        struct baseline *base = job_base (&job);
        struct samples *s = job_samples (&job, 5, 99);
        uint32_t slow[] = { busiest (&job, s, LINK_HOST), 0, 0 };
        struct confirm_options confirm = confirm_defaults;
        struct plan *plan = job.plan;
        size_t there = 0;
        struct verdict *v;
        struct error err;

        while (net->info[job.link[slow[1]]].kind != LINK_HOST
               || job.link[slow[1]] == slow[0])
            slow[1]++;
        slow[1] = job.link[slow[1]];
        busy.link = slow[0];
        slow[2] = busiest_beside (&job, s, slow[0]);
        busy.way = &slow[2];
        busy.nway = 1;
        opts.busy = &busy;
        opts.nbusy = (size_t)flooded;
        for (int again = 0; again < 2; again++) {
            for (size_t i = 0; i < s->nsamples; i++)
                for (int k = 0; k < 3; k++)
                    shift (&s->sample[i],
                           (k > 0 ? 1000 * k : 1500 + 300 * (int)(i % 7))
                               * crosses (&job, &s->sample[i], slow[k]));
            if (again)
                break;
            confirm.judge = &opts;
            check (job.plan = confirm_plan (job.ps, plan, s, base, &confirm,
                                            &err),
                   &err);
            samples_destroy (s);
            s = job_samples (&job, 5, 99);
        }
        check (v = judge (job.ps, job.plan, s, base, &opts, &err), &err);
        for (size_t i = 0; i < s->nsamples; i++)
            there += s->sample[i].round >= plan_rounds (plan)
                     && (crosses (&job, &s->sample[i], slow[0])
                         || crosses (&job, &s->sample[i], slow[2]));
        ok ((there == 0) == flooded, "%zu probes are to confirm what is there",
            there);
        if (flooded)
            ok (v->nfindings == 2 && v->finding[0].level == VERDICT_FAIL
                    && v->finding[0].suspect[0] == slow[1]
                    && v->finding[1].level == VERDICT_UNKNOWN
                    && v->finding[1].basis == BASIS_TRAFFIC
                    && v->finding[1].kind == FINDING_HOST_END
                    && v->finding[1].suspect[0] == slow[0]
                    && v->finding[1].nnodes == 1
                    && v->finding[1].fact->kind == FACT_TRAFFIC_SENT
                    && v->finding[1].fact->n[0] == 98,
                "a flooded host is UNKNOWN, a slow one FAILs");
        else
            ok (v->nfindings > 0 && v->status == VERDICT_FAIL,
                "who does not know of a flood has it FAIL");
        print (v);
        baseline_destroy (base);
        verdict_destroy (v);
        samples_destroy (s);
        plan_destroy (job.plan);
        job.plan = plan;
    }
    job_close (&job);
    tablenet_destroy (net);
}

/* FAIL outranks what was not determined. */
static void test_ranks (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_MINHOP, 1);
    struct verdict *v;
    struct job job;
    uint32_t link;

    job_open (&job, net, NODES, 5, 7);
    link = job.link[3];
    job.latency[link] += 1000;
    v = job_check (&job, 5, 7, true, case_missing, link);
    ok (v->status == VERDICT_FAIL && v->nfindings == 1
            && v->finding->kind == FINDING_HOST_END && v->finding->nnodes == 1
            && !strcmp (v->finding->node[0], net->info[link].host),
        "a slow host and a missing one");
    verdict_destroy (v);
    job_close (&job);
    tablenet_destroy (net);
}

/* What looks slow, for the stage that confirms it. */
static void test_first (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_MINHOP, 1);
    struct suspicions first;
    struct judge_view view;
    struct baseline *base;
    struct samples *s;
    struct verdict *v;
    struct error err;
    struct job job;
    uint32_t link;

    job_open (&job, net, NODES, 5, 7);
    s = job_samples (&job, 5, 8);
    base = job_base (&job);
    if (judge_view_make (&view, job.ps, s, base, &err) < 0)
        check (NULL, &err);
    ok (judge_first (&first, &view, job.plan, s, NULL, &err) == 0
            && first.n == 0,
        "nothing looks slow");
    suspicions_clear (&first);
    samples_destroy (s);
    link = job.link[3];
    job.latency[link] += 1000;
    s = job_samples (&job, 5, 7);
    ok (judge_first (&first, &view, job.plan, s, NULL, &err) == 0
            && first.n >= 1 && first.v->n >= 1 && !first.v->vague
            && first.v->suspect->kind == SUSPECT_LINK
            && first.v->suspect->index == link
            && fabs (first.v->excess_ns - 1000) < 100,
        "a slow link looks slow");
    suspicions_clear (&first);
    v = judge (job.ps, job.plan, s, base, NULL, &err);
    check (v, &err);
    judge_view_clear (&view);
    baseline_destroy (base);
    ok (v->status == VERDICT_FAIL && v->nfindings == 1
            && names (v->finding, link),
        "and is, by as many rows, without a second stage");
    verdict_destroy (v);
    samples_destroy (s);
    job_close (&job);
    tablenet_destroy (net);
}

/* Append the pairs of `from` whose numbers are odd, or not. */
static void append_half (struct samples *to, const struct samples *from,
                         bool odd)
{
    for (size_t i = 0; i < from->nsamples; i++) {
        struct sample x = from->sample[i];

        if ((x.a + x.b) % 2 == odd)
            samples_add (to, &x);
    }
    for (size_t i = 0; i < from->nloopbacks; i++)
        samples_add_loopback (to, &from->loopback[i]);
}

/* A baseline of two runs, each of half of the pairs. In one of them a host
 * takes more, as its loopback shows: that is wrong of a link where they are
 * one.
 */
static void test_runs (void)
{
    enum { END = 3 };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_MINHOP, 1);
    struct samples *first = samples_create (), *second = samples_create ();
    struct samples *both = samples_create ();
    struct samples *s;
    struct verdict *v;
    struct error err;
    struct job job;
    uint32_t arc[PATH_MAX_HOPS];

    job_open (&job, net, NODES, 5, 7);
    append_half (both, job.before, false);
    append_half (first, job.before, false);
    pathset_walk (job.ps, END, 0, arc, &err);
    job.latency[arc_link (arc[0])] += 300;
    s = job_samples (&job, 5, 9);
    job.latency[arc_link (arc[0])] -= 300;
    for (size_t i = 0; i < s->nloopbacks; i++)
        for (int q = 0; s->loopback[i].end == END && q < RTT_COUNT; q++)
            s->loopback[i].rtt_ns[q] += 600;
    append_half (both, s, true);
    append_half (second, s, true);
    samples_destroy (s);
    samples_destroy (job.before);
    job.before = both;
    v = job_check (&job, 5, 8, true, NULL, 0);
    ok (v->status != VERDICT_OK, "two runs as one: not OK");
    print (v);
    verdict_destroy (v);
    samples_destroy (both);
    job.before = first;
    job.earlier = second;
    v = job_check (&job, 5, 8, true, NULL, 0);
    ok (v->status == VERDICT_OK, "two runs: OK");
    print (v);
    verdict_destroy (v);
    job_close (&job);
    tablenet_destroy (net);
}

/* A loopback that shows 12 us more in one of the runs, where none of the host's
 * round trips does.
 */
static void test_loopback (bool before)
{
    enum { END = 3, MORE = 12000 };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct samples *now;
    struct samples *wrong;
    struct baseline *base;
    struct verdict *v;
    struct error err;
    struct job job;

    job_open (&job, net, NODES, 5, 7);
    now = job_samples (&job, 5, 8);
    wrong = before ? job.before : now;
    for (size_t i = 0; i < wrong->nloopbacks; i++)
        for (int q = 0; wrong->loopback[i].end == END && q < RTT_COUNT; q++)
            wrong->loopback[i].rtt_ns[q] += MORE;
    base = job_base (&job);
    v = judge (job.ps, job.plan, now, base, NULL, &err);
    ok (v && v->status == VERDICT_OK && v->nfindings == 0 && v->nopen == 0,
        "a loopback that round trips do not follow, %s: OK",
        before ? "in the baseline" : "in this run");
    print (v);
    verdict_destroy (v);
    baseline_destroy (base);
    samples_destroy (now);
    job_close (&job);
    tablenet_destroy (net);
}

/* What changes of an endpoint's loopback, ns. */
static double loop_ns;

static void slow_loopback (struct job *job, struct samples *s, uint32_t link)
{
    for (size_t i = 0; i < s->nloopbacks; i++) {
        struct loopback *l = &s->loopback[i];
        uint32_t arc[PATH_MAX_HOPS];
        struct error err;

        pathset_walk (job->ps, l->end, l->end == 0, arc, &err);
        for (int q = 0; q < RTT_COUNT && arc_link (arc[0]) == link; q++)
            l->rtt_ns[q] += loop_ns;
    }
}

static void no_loopbacks (struct job *job, struct samples *s, uint32_t link)
{
    (void)job;
    (void)link;
    s->nloopbacks = 0;
}

/* A host end gets 1000 ns slower, beside what its loopback shows: the finding
 * says which part of it is to blame.
 */
static void test_loopback_words (void)
{
    static const struct {
        bool baseline;
        double loop_ns; /* the host's software, PCIe or adapter, of which */
        double host_ns; /* its round trips have as much */
        double link_ns; /* in each direction */
        change_f change;
        enum fact_kind fact; /* FACT_SAID: none of them */
        double ns;           /* of it */
    } rows[] = {
        { true, 0, 0, 1000, slow_loopback, FACT_LOOPBACK_FAST, 0 },
        { true, 1000, 1000, 1000, slow_loopback, FACT_LOOPBACK_SLOW, 500 },
        { true, 0, 0, 1000, no_loopbacks, FACT_SAID, 0 },
        { false, 0, 0, 1000, slow_loopback, FACT_LOOPBACK_AS_OTHERS, 0 },
        { false, 2000, 2000, 0, slow_loopback, FACT_LOOPBACK_SLOWEST, 1000 },
        { false, 1000, 0, 1000, slow_loopback, FACT_SAID, 0 }, /* half of it */
        { false, 0, 0, 1000, no_loopbacks, FACT_SAID, 0 },
    };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        const struct finding *f = NULL;
        struct verdict *v;
        uint32_t link = 0;
        struct job job;

        job_open (&job, net, NODES, 5, 7);
        while (net->info[job.link[link]].kind != LINK_HOST)
            link++;
        link = job.link[link];
        job.latency[link] += rows[i].link_ns + rows[i].host_ns / 2;
        loop_ns = rows[i].loop_ns;
        v = job_check (&job, 5, 8, rows[i].baseline, rows[i].change, link);
        for (size_t k = 0; k < v->nfindings; k++)
            if (v->finding[k].kind == FINDING_HOST_END)
                f = &v->finding[k];
        ok (f && names (f, link)
                && (rows[i].fact != FACT_SAID
                        ? has_fact (f, rows[i].fact)
                              && fabs (f->fact[f->nfacts - 1].n[0] - rows[i].ns)
                                     < 100
                        : f->fact[f->nfacts - 1].kind < FACT_LOOPBACK_FAST
                              || f->fact[f->nfacts - 1].kind
                                     > FACT_LOOPBACK_SLOWEST),
            "%s, loopback +%.0f ns: %s",
            rows[i].baseline ? "baseline" : "no baseline", rows[i].loop_ns,
            f ? says (f->fact, f->nfacts) : "no finding");
        verdict_destroy (v);
        job_close (&job);
    }
    tablenet_destroy (net);
}

/* Two host ends of a switch are slow: they may be in one cage. */
static void test_cages (void)
{
    static const struct switch_info sw = { "0000000000000099", "leaf" };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct verdict *v;
    struct job job;
    uint32_t slow[2];
    size_t n = 0;

    job_open (&job, net, NODES, 5, 7);
    net->net.sw = &sw;
    net->net.nswitches = 1;
    for (size_t i = 0; n < 8; i++)
        if (net->info[job.link[i]].kind == LINK_HOST) {
            if (n < 2) {
                slow[n] = job.link[i];
                job.latency[job.link[i]] += 1000;
            }
            net->info[job.link[i]].end[++n % 2] = 0;
        }
    for (int cages = 0; cages < 3; cages++) {
        size_t told = 0;

        net->info[slow[0]].cage[1] = cages == 0 ? 0 : 12;
        net->info[slow[1]].cage[0] = cages == 2 ? 12 : cages;
        v = job_check (&job, 5, 8, true, NULL, 0);
        for (size_t i = 0; i < v->nfindings; i++)
            told += has_fact (&v->finding[i], FACT_CAGE)
                    && v->finding[i].fact[v->finding[i].nfacts - 1].n[0] == 12
                    && !strcmp (
                        v->finding[i].fact[v->finding[i].nfacts - 1].name[0],
                        net->info[slow[names (&v->finding[i], slow[0])]].id);
        ok (v->nfindings == 2 && told == (cages == 2 ? 2 : 0)
                && v->finding[0].level == VERDICT_FAIL
                && v->finding[1].level == VERDICT_FAIL,
            "two slow cables, cages %u and %u: %s", net->info[slow[0]].cage[1],
            net->info[slow[1]].cage[0],
            says (v->finding->fact, v->finding->nfacts));
        verdict_destroy (v);
    }
    job_close (&job);
    tablenet_destroy (net);
}

/* Of an endpoint's three loopbacks two agree at 12 us more: the clock stepped
 * in the other one, or the messages of both waited. Nobody can tell which.
 */
static void test_waited (void)
{
    enum { END = 3, MORE = 12000 };
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct loopback_time time[NODES];
    struct samples *s;
    struct job job;
    int nth = 0;

    job_open (&job, net, NODES, 5, 7);
    s = job_samples (&job, 5, 8);
    observe_loopbacks (s, NODES, time);
    ok (time[END].sd < 20, "loopbacks that agree are sure to %.0f ns",
        time[END].sd);
    for (size_t i = 0; i < s->nloopbacks; i++) {
        if (s->loopback[i].end != END)
            continue;
        for (int q = 0; nth > 0 && q < RTT_COUNT; q++)
            s->loopback[i].rtt_ns[q] += MORE + 100 * nth;
        nth++;
    }
    observe_loopbacks (s, NODES, time);
    ok (time[END].sd > 0.9 * MORE, "two that differ from one, to %.0f ns",
        time[END].sd);
    samples_destroy (s);
    job_close (&job);
    tablenet_destroy (net);
}

/* Two nodes: their ends cannot be told apart, nor what is between. */
static void test_small (void)
{
    struct tablenet *net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    struct samples *s;
    struct verdict *v;
    struct plan *other;
    struct error err;
    struct job job;

    job_open (&job, net, 2, 5, 5);
    v = job_check (&job, 5, 5, true, NULL, 0);
    ok (v->status == VERDICT_OK && v->nfindings == 0 && v->separable == 0,
        "two healthy nodes: OK, no link alone");
    verdict_destroy (v);
    job.latency[job.link[0]] += 1000;
    s = job_samples (&job, 5, 5);
    v = job_check (&job, 5, 5, true, NULL, 0);
    ok (v->status == VERDICT_FAIL && v->nfindings == 1
            && v->finding->nsuspects == job.m,
        "one slow: one finding, all %zu links suspect", job.m);
    print (v);
    verdict_destroy (v);

    other = plan_create ("empty");
    ok (!judge (job.ps, other, s, NULL, NULL, &err)
            && err.fault == ERROR_INPUT,
        "samples of another plan: %s", err.text);
    samples_destroy (s);
    job_close (&job);

    job.ps = tablenet_random (net, 1, 5);
    s = samples_create ();
    samples_add_host (s, "k1", true);
    s->complete = true;
    v = judge (job.ps, other, s, NULL, NULL, &err);
    ok (v && v->status == VERDICT_OK && v->nlimits == 1,
        "one node: nothing to measure, and said so");
    verdict_destroy (v);
    samples_destroy (s);
    plan_destroy (other);
    pathset_destroy (job.ps);
    tablenet_destroy (net);
}

/* Subnets of five hosts, four and one: a slow cable in any is found, but for
 * the last, which nothing can measure; the verdict says so.
 */
static void test_subnets (void)
{
    static const uint32_t who[] = { 0, 3, 6, 9, 12, 1, 4, 7, 10, 2 };
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct tablenet *net = tablenet_subnets (3, NODES);
    struct job job = { .net = net, .ps = tablenet_pathset (net, who, 10) };
    struct verdict *v;
    struct error err;
    size_t found = 0;

    check (job.plan = plan_make (job.ps, &opts, &err), &err);
    check (job.link = pathset_links (job.ps, &job.m, &err), &err);
    job.latency = table_alloc (net->net.nlinks, sizeof (double));
    for (size_t l = 0; l < net->net.nlinks; l++)
        job.latency[l] = 400 + 10 * l;
    job_baseline (&job, 5, 1);
    v = job_check (&job, 5, 1, true, NULL, 0);
    ok (v->status == VERDICT_OK && v->nlimits == 1
            && v->limit->kind == FACT_ALONE && v->limit->n[0] == 1
            && !strcmp (v->limit->name[0], "k3"),
        "three subnets are healthy; %s", says (v->limit, v->nlimits));
    verdict_destroy (v);
    for (size_t k = 0; k < job.m; k++) {
        job.latency[job.link[k]] += 1000;
        v = job_check (&job, 5, k, true, NULL, 0);
        found += v->status == VERDICT_FAIL && v->nfindings == 1
                 && v->finding->nsuspects == 1
                 && names (v->finding, job.link[k]);
        verdict_destroy (v);
        job.latency[job.link[k]] -= 1000;
    }
    ok (job.m == 9 && found == 9,
        "%zu of %zu slow cables are found, each alone", found, job.m);
    job_close (&job);
    tablenet_destroy (net);
}

/* A node of four rails: all messages to rail i come by a cable 4 + i of its
 * own, those from it leave by the others'.
 */
enum { RAILS = 4 };

static struct verdict *judge_rails (const struct tablenet *net, uint32_t arc,
                                    bool both, bool ways)
{
    struct endpoint rail[RAILS];
    double latency[2 * RAILS], more[4 * RAILS] = { 0 };
    double loopback[RAILS] = { 0 };
    struct simulate_options sim = {
        .noise_ns = 20, .repeats = 5, .seed = 1, .arc_ns = more,
        .loopback_ns = loopback,
    };
    struct samples *before, *s;
    struct baseline *base;
    struct pathset *ps;
    struct plan *plan;
    struct verdict *v;
    struct error err;

    for (uint32_t i = 0; i < RAILS; i++) {
        rail[i] = (struct endpoint){ i, net->name[i], "k1" };
        latency[i] = 400 + 20 * i;
        latency[RAILS + i] = 150 + 10 * i;
        more[2 * i] = 8; /* to send takes longer than to receive */
    }
    check (ps = pathset_create (&net->net, rail, RAILS, &err), &err);
    check (plan = plan_make (ps, &(struct plan_options){ .extra_rounds = 2 },
                             &err), &err);
    check (before = simulate (ps, plan, latency, &sim, &err), &err);
    more[arc] += 1000;
    more[arc ^ 1] += both ? 1000 : 0;
    sim.seed = 2;
    check (s = simulate (ps, plan, latency, &sim, &err), &err);
    for (size_t i = 0; i < s->nsamples && !ways; i++)
        s->sample[i].way_ns[0] = before->sample[i].way_ns[0] = 0;
    check (base = baseline_of (before, ps, &err), &err);
    check (v = judge (ps, plan, s, base, NULL, &err), &err);
    baseline_destroy (base);
    samples_destroy (before);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (ps);
    return v;
}

/* Its processes share a clock: each direction alone shows what no round trip
 * does.
 */
static void test_directions (void)
{
    static const struct {
        const char *what;
        uint32_t arc;
        bool both, ways;
        size_t separable;
        uint32_t suspect[2]; /* NETWORK_NONE: one less */
        double ns;
        enum fact_kind fact;
        const char *from, *to;
    } cases[] = {
        { "both directions, by round trips",
          2,
          true,
          false,
          0,
          { 1, 5 },
          1000,
          FACT_ONE_WAY,
          NULL,
          NULL },
        { "both directions",
          2,
          true,
          true,
          8,
          { 1, NETWORK_NONE },
          1000,
          FACT_ONE_WAY,
          NULL,
          NULL },
        { "from the rail",
          2,
          false,
          true,
          8,
          { 1, NETWORK_NONE },
          500,
          FACT_MESSAGES_MEAN,
          "k2",
          NULL },
        { "to the rail",
          3,
          false,
          true,
          8,
          { 1, 5 },
          1000,
          FACT_MESSAGES,
          NULL,
          "k2" },
        { "the cable to it",
          10,
          false,
          true,
          8,
          { 1, 5 },
          1000,
          FACT_MESSAGES,
          NULL,
          "k2" },
    };
    struct tablenet *net = tablenet_create (RAILS, 2 * RAILS);

    for (uint32_t a = 0; a < RAILS; a++)
        for (uint32_t b = 0; b < RAILS; b++) {
            uint32_t arc[] = { 2 * a, 2 * (RAILS + b), 2 * b + 1 };

            table_set (net, a, b, arc, a == b ? 0 : 3);
        }
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct verdict *v = judge_rails (net, cases[i].arc, cases[i].both,
                                         cases[i].ways);
        const struct finding *f = v->finding;
        bool right = v->status == VERDICT_FAIL && v->nfindings == 1
                     && v->separable == cases[i].separable && v->probes == 6
                     && f->fact->kind == FACT_ACROSS && f->fact->n[0] == 3
                     && f->fact[1].kind == cases[i].fact
                     && is_same (f->fact[1].name[0], cases[i].from)
                     && is_same (f->fact[1].name[1], cases[i].to)
                     && fabs (f->excess_ns - cases[i].ns) < 30;

        for (size_t k = 0; k < 2 && right; k++)
            right = cases[i].suspect[k] == NETWORK_NONE
                        ? f->nsuspects + f->noneway == k
                        : names (f, cases[i].suspect[k])
                              || (f->noneway == 1
                                  && f->oneway[0] == cases[i].suspect[k]);
        ok (right, "a slow rail, %s: %s", cases[i].what,
            v->nfindings > 0 ? says (f->fact, f->nfacts) : "nothing");
        if (!right)
            print (v);
        verdict_destroy (v);
    }
    tablenet_destroy (net);
}

int main (int argc, char **argv)
{
    size_t few = SANITIZED || trials (TRIALS) < TRIALS ? 1 : TRIALS;
    size_t n = argc > 1             ? strtoul (argv[1], NULL, 10)
               : getenv ("PMM_LONG") ? LONG_TRIALS
                                     : few;

    test_example ();
    test_cases ();
    test_paused ();
    test_no_fault ();
    test_alike ();
    test_stayed ();
    test_suspects ();
    test_busy ();
    test_ranks ();
    test_first ();
    test_runs ();
    test_loopback (false);
    test_loopback (true);
    test_loopback_words ();
    test_cages ();
    test_waited ();
    test_small ();
    test_subnets ();
    test_directions ();
    test_monte (n, argc > 1);
    return done_testing ();
}
