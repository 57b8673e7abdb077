/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a baseline knows of its runs, and what of it a job reads from its file. */
#include "config.h"
#include "core/baseline/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/judge/judge.h"
#include "core/samples/simulate.h"
#include "core/test/tablenet.h"
#include "tests/tap.h"

enum { HOSTS = 128, JOB = 8, FEW = 40 };

static struct tablenet *net;
static double *latency;
static struct error err;

static struct pathset *resolve (const char *const *name, size_t n, void *arg,
                                struct error *e)
{
    uint32_t who[HOSTS];

    (void)arg;
    for (size_t i = 0; i < n; i++) {
        who[i] = (uint32_t)strtoul (name[i] + 1, NULL, 10) - 1;
        for (size_t k = 0; k < i; k++)
            if (who[k] == who[i])
                who[i] = UINT32_MAX;
        if (who[i] >= net->n) {
            error_input (e, "no host %s", name[i]);
            return NULL;
        }
    }
    return tablenet_pathset (net, who, n);
}

/* The samples of a plan for n hosts from the first one on, the last first if
 * `backwards`.
 */
static struct samples *measure (size_t first, size_t n, bool backwards,
                                uint64_t seed, struct pathset **ps,
                                struct plan **plan)
{
    static double loopback[HOSTS];
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    struct simulate_options sim = { .noise_ns = 20, .repeats = 5, .seed = seed,
                                    .loopback_ns = loopback };
    uint32_t who[HOSTS];

    for (size_t i = 0; i < n; i++) {
        who[i] = (uint32_t)(first + (backwards ? n - 1 - i : i));
        loopback[i] = 900;
    }
    *ps = tablenet_pathset (net, who, n);
    *plan = plan_make (*ps, &opts, &err);
    return simulate (*ps, *plan, latency, &sim, &err);
}

static struct baseline *run_of (size_t first, size_t n, int64_t audit,
                                uint64_t seed)
{
    struct pathset *ps;
    struct plan *plan;
    struct samples *s = measure (first, n, false, seed, &ps, &plan);
    struct baseline *b = baseline_create (ps);

    if (baseline_add (b, s, audit, &err) < 0)
        diag ("%s", err.text);
    samples_destroy (s);
    plan_destroy (plan);
    return b;
}

static char *bytes_of (const struct baseline *b, size_t *len)
{
    char *bytes = NULL;
    FILE *fp = open_memstream (&bytes, len);

    if (baseline_write (b, fp, &err) < 0)
        diag ("%s", err.text);
    fclose (fp);
    return bytes;
}

/* What a file of these bytes is read as, or what of it is close to a job. */
static struct baseline *read_bytes (const char *bytes, size_t len,
                                    struct pathset *job, size_t most)
{
    FILE *fp = tmpfile ();
    struct baseline *b;

    fwrite (bytes, 1, len, fp);
    rewind (fp);
    b = job ? baseline_near (fp, "file", job, most, resolve, NULL, &err)
            : baseline_read (fp, "file", &net->net, resolve, NULL, &err);
    fclose (fp);
    return b;
}

static size_t shared (const struct baseline *b, const bool *of, size_t row)
{
    struct row crossed;
    size_t n = 0;

    if (pathset_row (b->ps, b->row[row].a, b->row[row].b, &crossed, &err) < 0)
        diag ("%s", err.text);
    for (size_t k = 0; k < crossed.n; k++)
        n += of[crossed.link[k]];
    return n;
}

/* Whether each row crosses the links between its ends, and no others. */
static bool crosses (const struct baseline *b)
{
    bool same = true;

    for (uint32_t l = 0; l < b->nlinks; l++) {
        struct baseline_walk w = baseline_walk (b, l);
        bool *of = calloc (b->nlinks, sizeof (*of)), more = baseline_next (&w);

        of[l] = true;
        for (uint32_t i = 0; i < b->nrows; i++) {
            bool is = more && w.row == i;

            same &= is == (shared (b, of, i) > 0);
            more = is ? baseline_next (&w) : more;
        }
        same &= !more && w.at == w.n;
        free (of);
    }
    return same;
}

static void test_file (void)
{
    struct baseline *b = run_of (0, 16, 7, 1), *again;
    size_t len, len2;
    char *bytes, *bytes2;
    bool same;

    b->open = 5;
    bytes = bytes_of (b, &len);
    again = read_bytes (bytes, len, NULL, 0);
    same = again && again->nrows == b->nrows && again->nruns == 1
           && again->run[0].audit == 7 && again->open == 5
           && again->nloopbacks == 16 && crosses (b) && crosses (again);
    for (size_t i = 0; same && i < b->nrows; i++)
        same = fabs (again->row[i].rtt_ns - b->row[i].rtt_ns) < 0.01
               && fabs (again->row[i].sd_ns / b->row[i].sd_ns - 1) < 0.004
               && fabs (again->row[i].median_ns - b->row[i].median_ns) < 0.01
               && again->row[i].tight == b->row[i].tight
               && isnan (again->row[i].more_ns);
    ok (same, "a file is read as it was written: %s", again ? "" : err.text);
    bytes2 = bytes_of (again, &len2);
    ok (len == len2 && !memcmp (bytes, bytes2, len),
        "... and has the same bytes again");
    baseline_destroy (again);
    bytes[8]--; /* the version */
    again = read_bytes (bytes, len, NULL, 0);
    ok (!again && strstr (err.text, "of another version: remove it"),
        "one of an earlier version is refused: %s", again ? "" : err.text);
    baseline_destroy (again);
    baseline_destroy (b);
    free (bytes2);
    free (bytes);
}

static bool has_rates (const struct baseline *b,
                       const struct baseline_rate *rate, size_t n)
{
    bool same = b && b->nrates == n;

    for (size_t i = 0; same && i < n; i++)
        same = b->rate[i].audit == rate[i].audit && b->rate[i].arc == rate[i].arc
               && b->rate[i].bits == rate[i].bits
               && b->rate[i].expected == rate[i].expected;
    return same;
}

/* What arcs carried: in the file, near a job, merged, reset. */
static void test_rates (void)
{
    static const struct baseline_rate old[] = {
        { 3, 4, 90, 100 }, { 3, 5, 95, 100 }, { 2, 5, 96, 100 },
        { 3, 60, 70, 100 },
    }, young[] = {
        { 9, 4, 91, 101 }, { 3, 5, 99, 102 },
    }, merged[] = {
        { 9, 4, 91, 101 }, { 3, 5, 99, 102 }, { 3, 60, 70, 100 },
    };
    struct baseline *a = run_of (0, 16, 3, 1), *b = run_of (0, 16, 9, 2), *again;
    struct pathset *job = tablenet_pathset (net, (uint32_t[]){ 2, 3 }, 2);
    int64_t *before = calloc (a->nlinks, sizeof (*before));
    size_t len;
    char *bytes;

    for (size_t i = 0; i < sizeof (old) / sizeof (old[0]); i++)
        baseline_add_rate (a, &old[i]);
    for (size_t i = 0; i < sizeof (young) / sizeof (young[0]); i++)
        baseline_add_rate (b, &young[i]);
    bytes = bytes_of (a, &len);
    again = read_bytes (bytes, len, NULL, 0);
    ok (has_rates (again, old, 4), "rates are read as they were written");
    baseline_destroy (again);
    again = read_bytes (bytes, len, job, 100);
    ok (has_rates (again, old, 3), "... near a job those of its links");
    baseline_destroy (again);
    free (bytes);
    a = baseline_merge (b, a, 1, resolve, NULL, &err);
    ok (has_rates (a, merged, 3), "merged, of each arc the newest remain");
    before[2] = 4;
    before[30] = 4;
    baseline_reset (a, before);
    ok (has_rates (a, merged, 1), "a link that was reset has none from before");
    a->rate[0].expected = NAN;
    bytes = bytes_of (a, &len);
    again = read_bytes (bytes, len, NULL, 0);
    ok (!again && strstr (err.text, "a rate"), "one that is not a number: %s",
        again ? "" : err.text);
    baseline_destroy (again);
    baseline_destroy (a);
    free (bytes);
    free (before);
    pathset_destroy (job);
}

/* Whatever a file has, it is read within its bounds, or refused. */
static void test_damage (void)
{
    struct baseline *b = run_of (0, 6, 1, 1);
    struct pathset *job = tablenet_random (net, 4, 1);
    size_t len, refused = 0, read = 0;
    char *bytes = bytes_of (b, &len);

    for (size_t at = 0; at < len; at += 1 + at / 97)
        for (int how = 0; how < 4; how++) {
            char old = bytes[at];
            struct baseline *damaged;

            bytes[at] = (char)(how == 0   ? ~old
                               : how == 1 ? old ^ 1
                               : how == 2 ? 0x7f
                                          : old);
            for (int near = 0; near < 2; near++) {
                damaged = read_bytes (bytes, how == 3 ? at : len,
                                      near ? job : NULL, 100);
                refused += !damaged;
                read += damaged != NULL;
                baseline_destroy (damaged);
            }
            bytes[at] = old;
        }
    ok (refused > 0 && read > 0, "damaged files: %zu refused, %zu read",
        refused, read);
    pathset_destroy (job);
    baseline_destroy (b);
    free (bytes);
}

/* A job reads the rows that share most with it. */
static void test_near (void)
{
    struct baseline *all = run_of (0, HOSTS, 1, 1), *few, *most, *part;
    struct pathset *job = tablenet_random (net, JOB, 2);
    bool *of = calloc (net->net.nlinks, sizeof (*of));
    size_t len, m, least = SIZE_MAX, without = 0, better = 0;
    const uint32_t *link = pathset_links (job, &m, &err);
    char *bytes = bytes_of (all, &len);
    uint32_t *times;

    for (size_t k = 0; k < m; k++)
        of[link[k]] = true;
    few = read_bytes (bytes, len, job, FEW);
    ok (few && few->nrows == FEW && all->nrows > FEW,
        "%d rows of %zu: %s", FEW, all->nrows, few ? "" : err.text);
    for (size_t i = 0; few && i < few->nrows; i++) {
        size_t far = few->row[i].nlinks - shared (few, of, i);

        without += shared (few, of, i) == 0;
        least = i == 0 || far > least ? far : least;
    }
    for (size_t i = 0; i < all->nrows; i++)
        better += shared (all, of, i) > 0
                  && all->row[i].nlinks - shared (all, of, i) < least;
    ok (without == 0 && better <= FEW,
        "all share a link with the job, and no closer one was left out");
    most = read_bytes (bytes, len, job, SIZE_MAX);
    ok (most && most->nrows == all->nrows,
        "nothing is far from a whole fabric, in the end");
    times = baseline_times (most);
    for (size_t k = 0; k < m; k++)
        without += times[link[k]] == 0;
    ok (without == 0, "each link of the job is crossed");
    part = baseline_part (all, job, FEW, resolve, NULL, &err);
    ok (part && part->nrows == FEW
            && part->row[3].rtt_ns == few->row[3].rtt_ns,
        "of one in memory, the same");
    free (times);
    baseline_destroy (part);
    baseline_destroy (most);
    baseline_destroy (few);
    baseline_destroy (all);
    pathset_destroy (job);
    free (bytes);
    free (of);
}

/* "AUDIT:ROWS " of each run. */
static const char *runs_of (const struct baseline *b)
{
    static char text[256];
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; b && i < b->nruns; i++)
        len += (size_t)snprintf (text + len, sizeof (text) - len, "%jd:%zu ",
                                 (intmax_t)b->run[i].audit,
                                 baseline_rows_end (b, i) - b->run[i].row);
    return text;
}

static struct baseline *merge (struct baseline *newer, struct baseline *older,
                               size_t n)
{
    return baseline_merge (newer, older, n, resolve, NULL, &err);
}

/* Rows that are gone cross nothing. */
static void test_reset (void)
{
    struct baseline *b = run_of (0, 6, 1, 1);
    uint32_t link = pathset_end_link (b->ps, 2), *times = baseline_times (b);
    int64_t *before = calloc (net->net.nlinks, sizeof (*before));
    bool crossed = times[link] > 0;

    free (times);
    before[link] = 2;
    baseline_reset (b, before);
    times = baseline_times (b);
    ok (crossed && times[link] == 0 && b->nrows > 0,
        "no round trip crosses a link that was reset");
    free (times);
    free (before);
    baseline_destroy (b);
}

static void test_merge (void)
{
    struct baseline *b = merge (run_of (0, 3, 2, 1), run_of (0, 3, 1, 2), 2);
    struct baseline *whole = run_of (0, HOSTS, 1, 1);
    int64_t *before = calloc (net->net.nlinks, sizeof (*before));
    size_t all = whole->nrows;

    whole = merge (whole, run_of (0, 3, 0, 2), 1);
    ok (whole && whole->nrows == all,
        "the newest run keeps all %zu rows: each may separate two links", all);
    baseline_destroy (whole);

    ok (!strcmp (runs_of (b), "2:3 1:3 "), "two runs: %s", runs_of (b));
    b = merge (run_of (0, 3, 2, 1), b, 2);
    ok (!strcmp (runs_of (b), "2:3 1:3 "), "one that both have comes once");
    b = merge (run_of (0, 3, 0, 3), b, 2);
    ok (!strcmp (runs_of (b), "2:3 1:3 "),
        "one of no audit is the oldest, and not wanted");
    b = merge (run_of (0, 4, 3, 3), b, 2);
    ok (!strcmp (runs_of (b), "3:6 2:3 "), "the newest two of a link: %s",
        runs_of (b));
    b = merge (run_of (8, 2, 9, 3), b, 2);
    ok (!strcmp (runs_of (b), "9:1 3:6 2:3 ") && crosses (b),
        "of others, others: %s", runs_of (b));
    b->run[0].spread = b->run[1].spread = 1;
    b->run[1].level = 3;
    b = merge (b, run_of (0, 2, 1, 1), 2);
    ok (!strcmp (runs_of (b), "9:1 2:3 1:1 "),
        "none that was spread on another level than the newest: %s",
        runs_of (b));
    before[pathset_end_link (b->ps, (size_t)pathset_find (b->ps, "k3"))] = 3;
    baseline_reset (b, before);
    ok (!strcmp (runs_of (b), "9:1 2:1 1:1 ") && crosses (b),
        "none of before a link was reset: %s", runs_of (b));
    baseline_destroy (b);
    free (before);
}

/* Of what is written of b, that is reading it fails. */
static bool is_refused (const struct baseline *b, const char *why)
{
    size_t len;
    char *bytes = bytes_of (b, &len);
    struct baseline *again = read_bytes (bytes, len, NULL, 0);
    bool refused = !again && strstr (err.text, why);

    baseline_destroy (again);
    free (bytes);
    return refused;
}

/* What merging relies on. */
static void test_order (void)
{
    struct baseline *b = merge (run_of (0, 4, 2, 1), run_of (0, 3, 1, 2), 0);
    uint32_t link = pathset_end_link (b->ps, 0), *times = baseline_times (b);

    ok (baseline_runs (b, link) == 2 && times[link] == 5,
        "two runs, with five round trips, cross a host's link");
    free (times);
    b->row[1].nlinks++;
    ok (is_refused (b, "damaged: a row's links"), "%s", err.text);
    b->row[1].nlinks -= 2;
    ok (is_refused (b, "damaged: a link's rows"), "%s", err.text);
    b->row[1].nlinks++;
    b->run[1].audit = 3;
    ok (is_refused (b, "damaged: a run"), "runs that are not the newest first");
    baseline_destroy (b);
}

/* A run's rows are compared with those of the same endpoints, whatever their
 * numbers are.
 */
static void test_numbers (void)
{
    struct verdict *v[2];

    for (int backwards = 0; backwards < 2; backwards++) {
        struct pathset *ps, *before_ps;
        struct plan *plan, *before_plan;
        struct samples *before = measure (0, 16, backwards, 1, &before_ps,
                                          &before_plan), *s;
        struct baseline *b = baseline_of (before, before_ps, &err);
        uint32_t *number;
        struct observations o;
        size_t same = 0;

        s = measure (4, JOB, false, 2, &ps, &plan);
        number = baseline_numbers (b, ps);
        if (baseline_observe (b, 0, b->ps, number, &o, &err) < 0)
            diag ("%s", err.text);
        free (number);
        for (size_t i = 0; i < o.n; i++)
            same += o.v[i].a < JOB && o.v[i].b < JOB;
        observations_clear (&o);
        v[backwards] = judge (ps, plan, s, b, NULL, &err);
        ok (same > 0 && v[backwards]
                && v[backwards]->status == VERDICT_OK,
            "%zu pairs of a job were measured before", same);
        samples_destroy (before);
        samples_destroy (s);
        baseline_destroy (b);
        plan_destroy (plan);
        plan_destroy (before_plan);
        pathset_destroy (ps);
        pathset_destroy (before_ps);
    }
    ok (v[0]->nopen == v[1]->nopen, "... which is judged alike");
    verdict_destroy (v[0]);
    verdict_destroy (v[1]);
}

int main (void)
{
    net = tablenet_fattree (8, 3, TABLE_DMODK, 1);
    latency = calloc (net->net.nlinks, sizeof (*latency));
    for (size_t l = 0; l < net->net.nlinks; l++)
        latency[l] = 100 + (double)(l * 37 % 50);
    test_file ();
    test_damage ();
    test_rates ();
    test_near ();
    test_reset ();
    test_merge ();
    test_order ();
    test_numbers ();
    free (latency);
    tablenet_destroy (net);
    return done_testing ();
}
