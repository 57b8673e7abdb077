/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which baseline an audit is judged by, and when one is published. */
#include "config.h"
#include "prolog/audit/baseline.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/judge/judge.h"
#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/file.h"

static struct fabric *fabric;
static struct ledger *ledger;
static char dir[] = "/tmp/pmm-test.XXXXXX";

static const char *const some[] = { "h0001", "h0002", "h0003" };
static const char *const all[] = { "h0001", "h0002", "h0003", "h0004" };

/* Measure hosts, all links and loopbacks alike. */
static struct samples *measure (const char *const *host, size_t n,
                                struct pathset **ps)
{
    static const double loopback[] = { 500, 500, 500, 500 };
    struct plan_options opts = { .extra_rounds = 2 };
    struct simulate_options sim = { .repeats = 2, .loopback_ns = loopback };
    double *latency = calloc (fabric->nlinks, sizeof (*latency));
    struct samples *s;
    struct plan *plan;

    for (size_t i = 0; i < fabric->nlinks; i++)
        latency[i] = 100;
    *ps = fabric_pathset (fabric, host, n, NULL);
    plan = plan_make (*ps, &opts, NULL);
    s = simulate (*ps, plan, latency, &sim, NULL);
    for (size_t i = 0; i < n; i++)
        samples_add_host (s, host[i], true);
    plan_destroy (plan);
    free (latency);
    return s;
}

/* An audit in which a link was suspected; NULL: none. */
static void enter (const char *const *host, size_t n, const char *link)
{
    struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    struct pathset *ps;
    struct samples *s = measure (host, n, &ps);
    struct verdict *v = verdict_create ();
    struct error err = { .text = "" };

    if (link) {
        struct finding *f = verdict_add (v, VERDICT_WARN, BASIS_BASELINE);

        verdict_add_number (v, &f->suspect, &f->nsuspects,
                            fabric_find_link (fabric, link));
        finding_add_fact (v, f, fact_said ("it is slow"));
    }
    ok (ledger_begin (ledger, 1, fabric->hash, &cause, host, n, s->nonce,
                      &err) > 0
            && ledger_record (ledger, 2, ps, s, v, "says", &err) > 0,
        "an audit of %zu hosts %s", n, err.text);
    verdict_destroy (v);
    samples_destroy (s);
    pathset_destroy (ps);
}

static void write_file (const char *const *host, size_t n)
{
    struct pathset *ps;
    struct samples *s = measure (host, n, &ps);
    FILE *fp = fopen ("file", "w");

    samples_write (s, ps, fp, NULL);
    fclose (fp);
    samples_destroy (s);
    pathset_destroy (ps);
}

static struct site_baseline site = { .path = "file" };
static char odd[256];

/* What all hosts are judged by, as "AUDIT:ROWS/LOOPBACKS ..." of its runs. */
static const char *runs (void)
{
    static char text[256];
    static struct error err;
    struct pathset *ps = fabric_pathset (fabric, NULL, 0, NULL);
    struct baseline *b = site_baseline_near (&site, ps, baseline_enough (1), odd,
                                             &err);
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; b && i < b->nruns; i++)
        len += (size_t)snprintf (
            text + len, sizeof (text) - len, "%jd:%zu/%zu ",
            (intmax_t)b->run[i].audit,
            baseline_rows_end (b, i) - b->run[i].row,
            baseline_loopbacks_end (b, i) - b->run[i].loopback);
    baseline_destroy (b);
    pathset_destroy (ps);
    return b ? text : err.text;
}

static int update (void)
{
    struct error err = { .text = "" };
    int rc = site_baseline_update (&site, &err);

    if (rc < 0)
        diag ("%s", err.text);
    return rc;
}

/* The file's bytes; the caller frees them. */
static char *content (const char *path, size_t *len)
{
    FILE *fp = fopen (path, "r");
    char *text = fp ? file_slurp (fp, 1 << 20, len, NULL) : NULL;

    if (fp)
        fclose (fp);
    return text;
}

/*
 * Where switches spread messages
 */

enum { SPREAD_HOSTS = 16, CABLE_NS = 1000 };

/* An audit of a fabric that hashes, with a slow cable or FABRIC_NONE, and what
 * is found by the published baseline: the caller destroys it.
 */
static struct verdict *audit_spread (const struct fabric *f, struct ledger *l,
                                     uint32_t slow)
{
    static const struct traffic_class datagrams = { 0, false };
    static uint64_t seed;
    struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    struct plan_options opts = { .extra_rounds = 2 };
    struct simulate_options sim = { .noise_ns = 20, .repeats = 16,
                                    .seed = ++seed, .spread = &datagrams };
    const char *host[SPREAD_HOSTS];
    double *latency = calloc (f->nlinks, sizeof (*latency));
    const struct site_baseline where = { l, f, "spread.pmm" };
    struct baseline *base = NULL;
    struct pathset *ps;
    struct samples *s;
    struct error err = { .text = "" };
    struct verdict *v;
    struct plan *plan;

    for (size_t i = 0; i < SPREAD_HOSTS; i++)
        host[i] = f->host[i].name;
    for (size_t i = 0; i < f->nlinks; i++)
        latency[i] = 100 + (i == slow ? CABLE_NS : 0);
    ps = fabric_pathset (f, host, SPREAD_HOSTS, NULL);
    plan = plan_make (ps, &opts, NULL);
    s = simulate (ps, plan, latency, &sim, NULL);
    if (ledger_begin (l, 1, f->hash, &cause, host, SPREAD_HOSTS, s->nonce,
                      &err) < 0
        || !(base = site_baseline_near (&where, ps, baseline_enough (1), odd,
                                        &err)))
        diag ("%s", err.text);
    v = judge (ps, plan, s, base, NULL, &err);
    if (!v || ledger_record (l, 2, ps, s, v, "says", &err) < 0
        || site_baseline_update (&where, &err) < 0)
        diag ("%s", err.text);
    baseline_destroy (base);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (ps);
    free (latency);
    return v;
}

/* The level of such an audit's verdict if its findings are none but the cable,
 * else UNKNOWN.
 */
static enum verdict_status level_spread (const struct fabric *f,
                                         struct ledger *l, uint32_t slow)
{
    struct verdict *v = audit_spread (f, l, slow);
    enum verdict_status level = v->status;

    for (size_t i = 0; i < v->nfindings; i++) {
        bool named = false;

        for (size_t k = 0; k < v->finding[i].nsuspects; k++)
            named |= v->finding[i].suspect[k] == slow;
        diag ("%s", finding_kind_name (v->finding[i].kind));
        if (!named || v->finding[i].kind != FINDING_SWITCH_LINK)
            level = VERDICT_UNKNOWN;
    }
    verdict_destroy (v);
    return level;
}

static void test_spread (void)
{
    struct fat_tree tree = { .ports = 8, .levels = 2,
                             .how.spread = { .known = true, .hashed = 1 } };
    struct fabric *f = generate_fat_tree (&tree, NULL);
    struct error err = { .text = "" };
    struct ledger *l = ledger_open ("spread", LEDGER_CREATE, &err);
    uint32_t slow = 0;

    while (f->link[slow].kind != LINK_SWITCH)
        slow++;
    ok (level_spread (f, l, slow) == VERDICT_WARN,
        "spread: without a baseline, a slow cable between switches WARNs");
    for (int i = 0; i < BASELINE_LAST; i++)
        ok (level_spread (f, l, FABRIC_NONE) == VERDICT_OK, "an audit finds "
                                                            "nothing");
    for (int i = 0; i <= BASELINE_LAST; i++)
        ok (level_spread (f, l, slow) == VERDICT_FAIL,
            "by the published baseline's flows it FAILs, as before");
    ok (ledger_rebase (l, 3, f->link[slow].id, "me", "longer", &err) == 0
            && level_spread (f, l, slow) == VERDICT_WARN,
        "... but not once its baseline is reset");
    ledger_close (l);
    fabric_destroy (f);
}

/* Another ledger, whose audits have the same numbers. */
static void test_other_ledger (void)
{
    struct error err = { .text = "" };
    struct ledger *own = ledger;

    ledger = site.ledger = ledger_open ("other", LEDGER_CREATE, &err);
    enter (some, 3, NULL);
    ok (update () == 1 && !strncmp (runs (), "1:", 2) && strstr (runs (), " 0:")
            && !strstr (runs (), " 9:"),
        "another ledger: what was known is of no audit of its: %s", runs ());
    ledger_close (ledger);
    ledger = site.ledger = own;
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct error err = { .text = "" };
    struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    char late[LEDGER_NONCE_BYTES], *before, *after;
    struct verdict *sound = verdict_create ();
    struct pathset *ps;
    struct samples *s;
    struct stat was, is;
    size_t n, m;
    FILE *fp;

    umask (022);
    site.fabric = fabric = generate_fat_tree (&tree, NULL);
    if (!mkdtemp (dir) || chdir (dir) < 0
        || !(site.ledger = ledger
             = ledger_open ("ledger", LEDGER_CREATE, &err)))
        return 1;
    ok (!strcmp (runs (), "") && !*odd, "nothing is known");
    ok (update () == 0 && access ("file", F_OK) < 0, "nothing is published");
    write_file (all, 4);
    ok (!strcmp (runs (), "0:6/4 "), "samples that were published: %s", runs ());
    for (int i = 0; i < 4; i++)
        enter (some, 3, NULL);
    ok (update () == 1 && !strcmp (runs (), "4:3/3 3:3/3 2:3/3 0:3/4 "),
        "... count for what three audits do not know: %s", runs ());
    ok (stat ("file", &was) == 0 && update () == 0 && stat ("file", &is) == 0
            && was.st_ino == is.st_ino,
        "written once");
    enter (some, 3, "h0002/1");
    ok (update () == 1 && !strcmp (runs (), "5:1/2 4:3/3 3:3/3 2:2/3 0:3/4 "),
        "no row of a host end that was suspected: %s", runs ());
    ok (ledger_rebase (ledger, 3, fabric->link[fabric_find_link (fabric,
                                                                 "h0001/1")]
                                      .id,
                       "me", "mended", &err) == 0
            && !strcmp (runs (), "5:0/1 4:1/2 3:1/2 2:1/2 0:2/3 "),
        "of a link that was reset none count: %s", runs ());
    ok (update () == 1, "... nor are they published");
    if (ledger_begin (ledger, 1, fabric->hash, &cause, all, 4, late, &err) < 0)
        diag ("%s", err.text);
    for (int i = 0; i < 2; i++)
        enter (all, 4, NULL);
    ok (update () == 1 && !strcmp (runs (), "8:6/4 7:6/4 4:1/2 0:2/3 "),
        "an audit that has no result yet: %s", runs ());
    s = measure (all, 4, &ps);
    memcpy (s->nonce, late, sizeof (s->nonce));
    if (ledger_record (ledger, 2, ps, s, sound, "says", &err) < 0)
        diag ("%s", err.text);
    ok (update () == 1 && !strcmp (runs (), "8:6/4 7:6/4 6:6/4 "),
        "... enters behind those that were faster: %s", runs ());
    before = content ("file", &n);
    ok (unlink ("file") == 0 && !strcmp (runs (), "8:6/4 7:6/4 6:6/4 ")
            && update () == 1,
        "without the file: %s", runs ());
    after = content ("file", &m);
    ok (before && after && n == m && memcmp (before, after, n) == 0,
        "the ledger makes the same again, of %zu and %zu bytes", n, m);
    fp = fopen ("file", "w");
    fputs ("{ nonsense", fp);
    fclose (fp);
    ok (!strcmp (runs (), "8:6/4 7:6/4 6:6/4 ") && *odd,
        "a file that makes no sense is said: %s", odd);
    ok (update () == 1 && runs () && !*odd, "and replaced");
    chmod ("file", 0666);
    ok (!strcmp (runs (), "8:6/4 7:6/4 6:6/4 ") && *odd,
        "one that others may write is not read: %s", odd);
    ok (update () == 1 && runs () && !*odd, "but replaced");
    site.path = "";
    ok (update () == 1 && access ("ledger.baseline", F_OK) == 0
            && !strcmp (runs (), "8:6/4 7:6/4 6:6/4 "),
        "none is published: audits have their own");
    site.path = "file";
    test_other_ledger ();
    free (before);
    free (after);
    samples_destroy (s);
    pathset_destroy (ps);
    verdict_destroy (sound);
    ledger_close (ledger);
    fabric_destroy (fabric);
    test_spread ();
    for (const char *const *p = (const char *const[]){
             "file", "ledger", "ledger-wal", "ledger-shm", "ledger.baseline",
             "other", "other-wal", "other-shm", "spread.pmm", "spread",
             "spread-wal", "spread-shm", NULL };
         *p; p++)
        unlink (*p);
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
