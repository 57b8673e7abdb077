/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger - what does a site's history cost?
 *
 *   ledger [--smallest] [-p PORTS] [-d DAYS] [-n NODES] [-m MINUTES] [-s SEED]
 *          [-k DIR] [PART]...
 *
 * The site is a 3-tree of switches of PORTS (20: 2,000 hosts). For DAYS (90),
 * NODES (64) random hosts are audited every MINUTES (30): planned, measured on
 * a day with noise "site" (core/samples/simulate) and entered in a ledger, all
 * in this process, over the functions that the audit service uses. What such an
 * audit says is of no matter here: no finding is entered.
 *
 * Then each of these runs once, with this ledger and with an empty one, in a
 * process of its own; "empty" is the latter. Seconds are of wall time, MB the
 * most that the process had in memory.
 *
 *   audit    what of an audit depends on the ledger: its baseline is gathered,
 *            it is judged and entered, and the baseline published
 *   check    likewise of a user's job of 16 nodes, which reads what was
 *            published: both stages are judged
 *   sweep    what the audits leave undetermined is found, before idle nodes are
 *            chosen
 *   metrics  a round of the service writes its metrics
 *   ...      pmm's commands: of the check's run, of its first node, of the
 *            site, whose baseline is published; prune deletes half of the time,
 *            in a copy
 *
 * -k DIR keeps the site, or uses the one that is there. PARTs are audit, check,
 * sweep, metrics, known and pmm: these alone.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/need.h"
#include "bench/truth.h"
#include "core/judge/confirm.h"
#include "core/judge/explain.h"
#include "core/judge/judge.h"
#include "core/linear/stats.h"
#include "ibquery/snapshot.h"
#include "prolog/audit/baseline.h"
#include "prolog/ledger/ledger.h"
#include "prolog/serve/duty.h"
#include "prolog/serve/sweep.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/sort.h"

enum { REPEATS = 5, MINUTE = 60, DAY = 86400, BEGIN = 1700000000,
       CHECKED = 16, NODES_MAX = 1024, ROWS_MAX = 4096 };

static struct args {
    uint64_t ports, days, nodes, minutes, seed, trials;
    const char *dir;
} args = { .ports = 20, .days = 90, .nodes = 64, .minutes = 30, .seed = 1,
           .trials = 10 };

static struct site_made {
    struct truth truth;
    char *fabric, *ledger, *empty, *baseline, *none;
    int64_t end; /* of the time that it has seen */
} site;

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- audits -------------------------------------------------------------- */

/* A job of n random hosts, whose names are in host. */
static struct pathset *draw (const char **host, size_t n)
{
    size_t all = site.truth.f->nhosts;
    uint32_t *order = xarray (all, sizeof (*order));
    struct error err;
    struct pathset *ps;

    for (uint32_t i = 0; i < all; i++)
        order[i] = i;
    rng_shuffle (&site.truth.rng, order, all);
    for (size_t i = 0; i < n; i++)
        host[i] = site.truth.f->host[order[i]].name;
    free (order);
    ps = need (fabric_pathset (site.truth.f, host, n, &err), &err);
    return ps;
}

static struct plan *plan_of (struct pathset *ps)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct error err;

    return need (plan_make (ps, &opts, &err), &err);
}

static struct samples *measure (const struct pathset *ps,
                                const struct plan *plan, uint64_t seed)
{
    return truth_measure (&site.truth, ps, plan, noise_find ("site"), true,
                          (struct simulate_options){ .repeats = REPEATS,
                                                     .seed = seed });
}

/* Enter samples; `v` NULL: with a verdict that nothing is slow. */
static void enter (struct ledger *ledger, int64_t time, struct pathset *ps,
                   struct samples *s, const struct verdict *v,
                   const char *const *host, size_t n)
{
    struct ledger_cause cause = { .why = LEDGER_SWEEP, .leader = host[0] };
    struct verdict *sound = verdict_create ();
    struct error err;

    if (ledger_begin (ledger, time, site.truth.f->hash, &cause, host, n,
                      s->nonce, &err) < 0)
        die (&err);
    for (size_t i = 0; i < n; i++)
        samples_add_host (s, host[i], true);
    if (ledger_record (ledger, time, ps, s, v ? v : sound, "says", &err) < 0)
        die (&err);
    verdict_destroy (sound);
}

static void fill (struct ledger *ledger)
{
    const char *host[NODES_MAX];
    int64_t time = BEGIN;

    for (; time < site.end; time += (int64_t)args.minutes * MINUTE) {
        struct pathset *ps = draw (host, args.nodes);
        struct plan *plan = plan_of (ps);
        struct samples *s
            = measure (ps, plan, rng_next (&site.truth.rng));

        enter (ledger, time, ps, s, NULL, host, args.nodes);
        samples_destroy (s);
        plan_destroy (plan);
        pathset_destroy (ps);
    }
}

/* --- what it costs ------------------------------------------------------- */

/* Work on a ledger; what comes before `begin` was called does not count. */
typedef void work_f (struct ledger *ledger, void begin (void));

static double begun, last;
static void begin (void) { begun = last = now (); }

/* With BENCH_PARTS: the time since the last one, and the most memory so far. */
static void split (const char *what)
{
    double t = now ();
    struct rusage used;

    getrusage (RUSAGE_SELF, &used);
    if (getenv ("BENCH_PARTS"))
        fprintf (stderr, "  %s %.4f s, %.1f MB\n", what, t - last,
                 (double)used.ru_maxrss / 1024);
    last = t;
}

static void audit (struct ledger *ledger, void begin (void))
{
    const struct site_baseline where = { ledger, site.truth.f, site.baseline };
    const char *host[NODES_MAX];
    struct pathset *ps = draw (host, args.nodes);
    struct plan *plan = plan_of (ps);
    struct samples *s = measure (ps, plan, rng_next (&site.truth.rng));
    size_t most = baseline_enough (plan_probes (plan));
    struct baseline *base;
    struct verdict *v;
    struct error err;
    char odd[256];

    begin ();
    base = need (site_baseline_near (&where, ps, most, odd, &err),
                 &err);
    split ("near");
    v = need (judge (ps, plan, s, base, NULL, &err), &err);
    split ("judge");
    enter (ledger, site.end, ps, s, v, host, args.nodes);
    split ("enter");
    baseline_destroy (base);
    if (site_baseline_update (&where, &err) < 0)
        die (&err);
    split ("update");
}

static void check (struct ledger *ledger, void begin (void))
{
    const char *host[NODES_MAX];
    struct pathset *ps = draw (host, CHECKED);
    struct plan *plan = plan_of (ps);
    struct samples *s = measure (ps, plan, rng_next (&site.truth.rng));
    size_t most = baseline_enough (plan_probes (plan));
    struct model last = { 0 };
    struct judge_options judging = judge_defaults;
    struct confirm_options again = confirm_defaults;
    struct baseline *base = NULL;
    struct error err;
    FILE *fp;

    (void)ledger;
    judging.last = &last;
    again.judge = &judging;
    begin ();
    if ((fp = file_open_input (site.baseline, &err))) {
        base = need (baseline_near (fp, site.baseline, ps, most,
                                    fabric_resolve, site.truth.f, &err),
                     &err);
        file_close_input (fp);
    }
    split ("near");
    need (confirm_plan (ps, plan, s, base, &again, &err), &err);
    split ("confirm");
    need (judge (ps, plan, s, base, &judging, &err), &err);
    split ("judge");
}

static void sweep (struct ledger *ledger, void begin (void))
{
    const struct ledger_ageing ageing = {
        .quantile = RTT_MIDDLE, .now = site.end, .until = INT64_MAX,
    };
    struct error err;
    struct pathset *all
        = need (fabric_pathset_lids (site.truth.f, NULL, 0, &err), &err);
    double *unknown = xcalloc (site.truth.f->nlinks, sizeof (*unknown));
    struct observations o;

    begin ();
    if (ledger_combine (ledger, all, &ageing, &o, &err) == 0)
        sweep_unknown (&o, site.truth.f->nlinks, 1, unknown);
    else if (errno != ENOENT)
        die (&err);
}

static void metrics (struct ledger *ledger, void begin (void))
{
    char path[] = "/tmp/bench-metrics.XXXXXX";
    int fd = mkstemp (path);
    struct service service = {
        .fabric = site.truth.f,
        .node_of = xcalloc (site.truth.f->nendpoints, sizeof (char *)),
        .site = { .metrics = path, .snapshot = site.fabric },
    };
    struct service_state state = { 0 };
    struct error err;

    for (size_t i = 0; i < site.truth.f->nendpoints; i++)
        service.node_of[i] = site.truth.f->endpoint[i].name;
    begin ();
    if (duty_metrics (&service, ledger, &state, &err) < 0)
        die (&err);
    close (fd);
    unlink (path);
}

/* --- what is known ------------------------------------------------------- */

static void set_loopbacks (struct model_run *run, const struct pathset *ps,
                           const struct baseline_loopback *l, size_t n)
{
    run->loopback = xarray (n, sizeof (*run->loopback));
    run->nloopbacks = n;
    for (size_t i = 0; i < n; i++)
        run->loopback[i] = (struct link_loopback){
            pathset_end_link (ps, l[i].end), l[i].time };
    qsort (run->loopback, n, sizeof (*run->loopback), compare_u32);
}

/* Of the rows of jobs of CHECKED hosts, by at most so many rows of the
 * baseline: how well the time of its cables is known; and how far they scatter
 * about what is expected of them (MAD), in units of what the model has for it.
 */
static void show_known (size_t most)
{
    double sd[ROWS_MAX], off[ROWS_MAX], start, spent = 0;
    size_t n = 0, links = 0, rows = 0;

    for (uint64_t trial = 0; trial < args.trials; trial++) {
        const char *host[NODES_MAX];
        struct pathset *ps = draw (host, CHECKED);
        struct plan *plan = plan_of (ps);
        struct samples *s = measure (ps, plan, rng_next (&site.truth.rng));
        struct model_run job = { 0 }, *base;
        struct baseline *own;
        uint32_t *number;
        double *residual;
        struct model m;
        struct error err;
        FILE *fp = need (file_open_input (site.baseline, &err), &err);
        struct baseline *b
            = need (baseline_near (fp, site.baseline, ps, most, fabric_resolve,
                                   site.truth.f, &err), &err);

        fclose (fp);
        if (observe (&job.obs, ps, s, RTT_FASTEST, &observe_accuracy, &err) < 0
            || baseline_add (own = baseline_create (need (
                                 pathset_on (ps, site.truth.net, &err), &err)),
                             s, 0, &err)
                   < 0)
            die (&err);
        set_loopbacks (&job, own->ps, own->loopback, own->nloopbacks);
        base = xcalloc (b->nruns, sizeof (*base));
        number = baseline_numbers (b, ps);
        for (size_t i = 0; i < b->nruns; i++) {
            if (baseline_observe (b, i, b->ps, number, &base[i].obs, &err) < 0)
                die (&err);
            set_loopbacks (&base[i], b->ps, b->loopback + b->run[i].loopback,
                           baseline_loopbacks_end (b, i) - b->run[i].loopback);
        }
        start = now ();
        if (model_make (&m, ps, &job, base, b->nruns, NULL, &err) < 0)
            die (&err);
        spent += now () - start;
        links += m.n;
        rows += m.measured;
        residual = xarray (m.nrows, sizeof (*residual));
        model_residual (&m, residual);
        for (size_t i = 0; i < m.nrows && n < ROWS_MAX;
             i += 1 + m.nrows / 16) {
            double *v = xcalloc (m.nrows, sizeof (*v)), var;
            double *u = xcalloc (model_unknowns (&m), sizeof (*u));

            v[i] = 1;
            model_transpose (&m, v, u);
            var = model_prior_variance (&m, u) + m.obs->v[i].var;
            off[n] = residual[i] / sqrt (var);
            /* the hosts' offsets in this run no baseline tells */
            for (size_t k = m.n + m.nclasses; k < model_unknowns (&m); k++)
                u[k] = 0;
            sd[n++] = sqrt (model_prior_variance (&m, u));
        }
        model_clear (&m);
    }
    stats_sort (sd, n);
    printf ("| %zu | %zu | %zu | %.1f | %.1f | %.2f | %.0f |\n", most,
            rows / args.trials, links / args.trials, stats_median (sd, n),
            sd[n - 1 - n / 20], stats_mad (off, n, 0),
            1e3 * spent / (double)args.trials);
}

/* Seconds and MB of work in a process of its own, on a pipe. */
static void cost (const char *path, work_f *work, double result[2])
{
    struct rusage before, after;
    int end[2];
    pid_t pid;

    if (pipe (end) < 0 || (pid = fork ()) < 0)
        abort ();
    if (pid == 0) {
        struct error err;
        struct ledger *ledger
            = need (ledger_open (path, LEDGER_CREATE, &err), &err);

        getrusage (RUSAGE_SELF, &before);
        work (ledger, begin);
        result[0] = now () - begun;
        ledger_close (ledger);
        getrusage (RUSAGE_SELF, &after);
        result[1] = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
        _exit (write (end[1], result, 2 * sizeof (*result)) < 0);
    }
    close (end[1]);
    if (read (end[0], result, 2 * sizeof (*result)) < (ssize_t)sizeof (*result))
        exit (1);
    close (end[0]);
    waitpid (pid, NULL, 0);
}

/* Remove files of the site. */
static void discard (const char *const *name)
{
    for (; *name; name++) {
        char *path = xasprintf ("%s/%s", args.dir, *name);

        unlink (path);
        free (path);
    }
}

static void show (const char *name, work_f *work)
{
    static const char *const used[] = { "empty.db", "empty.db-wal",
                                        "empty.db-shm", "none", NULL };

    char *published = site.baseline;
    double full[2], empty[2];

    cost (site.ledger, work, full);
    site.baseline = site.none;
    cost (site.empty, work, empty);
    discard (used);
    site.baseline = published;
    printf ("| %s | %.3f | %.1f | %.3f | %.1f |\n", name, full[0], full[1],
            empty[0], empty[1]);
    fflush (stdout);
}

static void copy_file (const char *from, const char *to)
{
    int in = open (from, O_RDONLY);
    int out = open (to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ssize_t n = 1;

    while (in >= 0 && out >= 0 && n > 0)
        n = copy_file_range (in, NULL, out, NULL, 1 << 30, 0);
    if (in < 0 || out < 0 || n < 0) {
        perror (to);
        exit (1);
    }
    close (in);
    close (out);
}

/* The most that a process had in memory, MB, as long as it runs. */
static double peak_of (pid_t pid)
{
    char path[64], line[256];
    double kb = 0;
    FILE *fp;

    snprintf (path, sizeof (path), "/proc/%d/status", pid);
    if (!(fp = fopen (path, "r")))
        return 0;
    while (fgets (line, sizeof (line), fp))
        if (!strncmp (line, "VmHWM:", 6))
            kb = strtod (line + 6, NULL);
    fclose (fp);
    return kb / 1024;
}

/* A command of pmm's. wait4 would say how much we have, who begin it. */
static void command (const char *name, char *const *argv)
{
    static const struct timespec moment = { .tv_nsec = 1000000 };
    double start = now (), mb = 0, peak;
    int status;
    pid_t pid = fork ();

    if (pid == 0) {
        int null = open ("/dev/null", O_WRONLY);

        dup2 (null, STDOUT_FILENO);
        execvp (argv[0], argv);
        _exit (127);
    }
    if (pid < 0)
        abort ();
    nanosleep (&moment, NULL);
    while (waitpid (pid, &status, WNOHANG) == 0) {
        if ((peak = peak_of (pid)) > 0)
            mb = peak;
        nanosleep (&moment, NULL);
    }
    printf ("| %s | %.3f | %.1f |%s\n", name, now () - start, mb,
            WIFEXITED (status) && WEXITSTATUS (status) != 2
                    && WEXITSTATUS (status) != 127
                ? "" : " failed");
    fflush (stdout);
}

/* A file of the site's directory, which `write` fills. */
static char *put_file (const char *name,
                       int write (const void *what, FILE *fp,
                                  struct error *err),
                       const void *what)
{
    char *path = xasprintf ("%s/%s", args.dir, name);
    struct error err;
    struct outfile *out = need (file_create_public (path, &err), &err);

    if (write (what, file_stream (out), &err) < 0
        || file_commit (out, &err) < 0)
        die (&err);
    return path;
}

static struct pathset *checked;

static int write_plan (const void *plan, FILE *fp, struct error *err)
{
    return plan_write (plan, checked, NULL, fp, err);
}

static int write_samples (const void *samples, FILE *fp, struct error *err)
{
    return samples_write (samples, checked, fp, err);
}

/* What people call, of a job that is as the audits. */
static void show_commands (void)
{
    const char *host[NODES_MAX];
    struct pathset *ps = draw (host, args.nodes);
    struct plan *plan = plan_of (ps);
    char *verdict = xasprintf ("%s/verdict", args.dir);
    char *page = xasprintf ("%s/page", args.dir);
    char *pruned = xasprintf ("%s/pruned.db", args.dir);
    char *published = xasprintf ("%s.baseline", site.ledger);
    char *before, *plan_path, *samples_path;

    checked = ps;
    plan_path = put_file ("plan", write_plan, plan);
    samples_path = put_file ("samples", write_samples,
                             measure (ps, plan, rng_next (&site.truth.rng)));
    puts ("\n| pmm | s | MB |\n|---|---|---|");
    command ("judge", (char *[]){ "pmm", "judge", "-f", site.fabric, "--plan",
                                  plan_path, "--samples", samples_path,
                                  "--baseline", site.baseline, "-o", verdict,
                                  NULL });
    command ("why", (char *[]){ "pmm", "why", "-f", site.fabric, "-L",
                                site.ledger, (char *)host[0], NULL });
    command ("report", (char *[]){ "pmm", "report", "-f", site.fabric,
                                   verdict, NULL });
    command ("report --html", (char *[]){ "pmm", "report", "-f", site.fabric,
                                          "-L", site.ledger, "--html", "-o",
                                          page, verdict, NULL });
    command ("ledger show", (char *[]){ "pmm", "ledger", "show", "-L",
                                        site.ledger, NULL });
    if (link (site.baseline, published) < 0 && errno != EEXIST)
        perror (published);
    command ("ledger solve", (char *[]){ "pmm", "ledger", "solve", "-f",
                                         site.fabric, "-L", site.ledger,
                                         NULL });
    copy_file (site.ledger, pruned);
    before = xasprintf ("%" PRIu64, args.days * DAY / MINUTE / args.minutes / 2);
    command ("ledger prune", (char *[]){ "pmm", "ledger", "prune", "-L",
                                         pruned, "--keep", before, NULL });
    discard ((const char *const[]){ "plan", "samples", "verdict", "page",
                                    "ledger.db.baseline", "pruned.db",
                                    "pruned.db-wal", "pruned.db-shm", NULL });
}

/* --- a site -------------------------------------------------------------- */

static void make (void)
{
    const struct network_case net = { "", (unsigned int)args.ports, 0, 0 };
    struct condition usual;
    struct error err;
    struct outfile *out;

    condition_parse (&usual, "site/healthy");
    truth_open (&site.truth, &net, ROUTING_DMODK, args.seed);
    rng_seed (&site.truth.rng, args.seed);
    truth_draw (&site.truth, &usual, NULL);
    site.fabric = xasprintf ("%s/fabric", args.dir);
    site.ledger = xasprintf ("%s/ledger.db", args.dir);
    site.empty = xasprintf ("%s/empty.db", args.dir);
    site.baseline = xasprintf ("%s/baseline", args.dir);
    site.none = xasprintf ("%s/none", args.dir);
    site.end = BEGIN + (int64_t)args.days * DAY;
    if (access (site.ledger, F_OK) < 0) {
        double start = now ();
        struct ledger *ledger
            = need (ledger_open (site.ledger, LEDGER_CREATE, &err), &err);

        fill (ledger);
        ledger_close (ledger);
        printf ("made in %.0f s\n", now () - start);
    }
    if (access (site.fabric, F_OK) < 0) {
        out = need (file_create_public (site.fabric, &err), &err);
        if (fabric_write (site.truth.f, file_stream (out), &err) < 0
            || file_commit (out, &err) < 0)
            die (&err);
    }
}

/* Whether it is one of the parts that are named, if any are. */
static bool wanted (char *const *part, const char *name)
{
    bool all = !*part;

    for (; *part; part++)
        all |= !strcmp (*part, name);
    return all;
}

int main (int argc, char **argv)
{
    static const struct {
        const char *name;
        work_f *work;
    } works[] = { { "audit", audit }, { "check", check }, { "sweep", sweep },
                  { "metrics", metrics } };

    bool least = smallest (argc, argv), kept;
    char made[] = "/tmp/bench-ledger.XXXXXX";
    int opt;

    if (least)
        args = (struct args){ 4, 1, 8, 240, 1, 2, NULL };
    while ((opt = getopt (argc, argv, "p:d:n:m:s:k:")) != -1)
        switch (opt) {
        case 'p': args.ports = number (optarg, 4, 36); break;
        case 'd': args.days = number (optarg, 1, 1000); break;
        case 'n': args.nodes = number (optarg, 4, NODES_MAX); break;
        case 'm': args.minutes = number (optarg, 1, 1440); break;
        case 's': args.seed = number (optarg, 0, UINT64_MAX); break;
        case 'k': args.dir = optarg; break;
        default: return 2;
        }
    kept = args.dir != NULL;
    if (!kept)
        args.dir = mkdtemp (made);
    make ();
    print_command (argc, argv);
    puts ("\n\n| | s | MB | empty, s | MB |\n|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof (works) / sizeof (*works); i++)
        if (wanted (argv + optind, works[i].name))
            show (works[i].name, works[i].work);
    if (wanted (argv + optind, "known")) {
        puts ("\n| at most | rows | links | sd, ns: median | 95 % "
              "| error / sd | ms |\n"
              "|---|---|---|---|---|---|---|");
        for (size_t most = 4096; most >= 64; most /= 2)
            show_known (most);
    }
    if (wanted (argv + optind, "pmm"))
        show_commands ();
    if (!kept) {
        discard ((const char *const[]){ "fabric", "ledger.db", "ledger.db-wal",
                                        "ledger.db-shm", "baseline", NULL });
        rmdir (args.dir);
    }
    return 0;
}
