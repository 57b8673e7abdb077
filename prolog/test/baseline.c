/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which baseline an audit is judged by, and when one is published. */
#include "config.h"
#include "prolog/audit/parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"

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
        struct finding *f = v->finding = calloc (1, sizeof (*f));

        v->nfindings = f->nsuspects = 1;
        f->level = VERDICT_WARN;
        f->suspect = malloc (sizeof (*f->suspect));
        f->suspect[0] = fabric_find_link (fabric, link);
        f->why = strdup ("it is slow");
    }
    ok (ledger_begin (ledger, 1, fabric->hash, &cause, host, n, s->nonce,
                      &err) > 0
            && ledger_record (ledger, 2, ps, s, v, &err) > 0,
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

/* How many baselines there are, -1 on failure; whether it is to be published.
 */
static int gather (bool *publish, size_t *of_file, char odd[256])
{
    struct baseline_set set;
    struct error err;
    int rc = baseline_gather (&set, ledger, fabric, "file", &err);

    if (rc == 0)
        rc = (int)set.n;
    *publish = set.publish;
    *of_file = set.samples[1] ? set.samples[1]->nsamples : 0;
    snprintf (odd, 256, "%s", set.odd);
    baseline_clear (&set);
    return rc;
}

/* How many loopbacks of a host there are, in the ledger's baseline and in the
 * file's, as "LEDGER FILE".
 */
static const char *loopbacks (const char *host)
{
    static char text[32];
    struct baseline_set set;
    struct error err;
    size_t n[2] = { 0, 0 };

    baseline_gather (&set, ledger, fabric, "file", &err);
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; set.samples[k] && i < set.samples[k]->nloopbacks;
             i++)
            n[k] += !strcmp (host,
                             pathset_endpoint (set.ps[k],
                                               set.samples[k]->loopback[i].end)
                                 ->name);
    baseline_clear (&set);
    snprintf (text, sizeof (text), "%zu %zu", n[0], n[1]);
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
    struct baseline base = { NULL, NULL };
    struct pathset *ps, *base_ps = NULL;
    struct samples *s, *file = NULL;
    struct error err = { .text = "" };
    struct verdict *v;
    struct plan *plan;
    FILE *fp;

    for (size_t i = 0; i < SPREAD_HOSTS; i++)
        host[i] = f->host[i].name;
    for (size_t i = 0; i < f->nlinks; i++)
        latency[i] = 100 + (i == slow ? CABLE_NS : 0);
    ps = fabric_pathset (f, host, SPREAD_HOSTS, NULL);
    plan = plan_make (ps, &opts, NULL);
    s = simulate (ps, plan, latency, &sim, NULL);
    if (ledger_begin (l, 1, f->hash, &cause, host, SPREAD_HOSTS, s->nonce,
                      &err) < 0
        || baseline_publish (l, f, "spread.json", &err) < 0)
        diag ("%s", err.text);
    if ((fp = fopen ("spread.json", "r"))) {
        file = samples_read (fp, "spread.json", f->hash, fabric_resolve,
                             (void *)f, &base_ps, &err);
        fclose (fp);
        base = (struct baseline){ file, base_ps };
    }
    v = judge (ps, plan, s, &base, file ? 1 : 0, NULL, &err);
    if (!v || ledger_record (l, 2, ps, s, v, &err) < 0)
        diag ("%s", err.text);
    samples_destroy (file);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (base_ps);
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
        diag ("%s", v->finding[i].why);
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

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct error err = { .text = "" };
    struct stat before, after;
    char odd[256];
    bool publish;
    size_t n, m;
    FILE *fp;

    umask (022);
    fabric = generate_fat_tree (&tree, NULL);
    if (!mkdtemp (dir) || chdir (dir) < 0
        || !(ledger = ledger_open ("ledger", LEDGER_CREATE, &err)))
        return 1;
    ok (gather (&publish, &n, odd) == 0 && !publish && !odd[0],
        "nothing is known");
    ok (baseline_publish (ledger, fabric, "file", &err) == 0
            && access ("file", F_OK) < 0,
        "nothing is published");
    write_file (all, 4);
    ok (gather (&publish, &n, odd) == 1 && !publish && n > 0,
        "a file alone counts");
    for (int i = 0; i < 3; i++)
        enter (some, 3, NULL);
    ok (gather (&publish, &n, odd) == 2 && !publish,
        "a file that knows more counts as well");
    ok (baseline_publish (ledger, fabric, "file", &err) == 0,
        "and is not replaced");
    ok (!strcmp (loopbacks ("h0001"), "3 3")
            && !strcmp (loopbacks ("h0004"), "0 3"),
        "loopbacks: one of each audit, all of the file");
    enter (some, 3, "h0002/1");
    ok (!strcmp (loopbacks ("h0001"), "4 3")
            && !strcmp (loopbacks ("h0002"), "3 3"),
        "... but of a host end that was suspected");
    ok (ledger_rebase (ledger, 3, fabric->link[fabric_find_link (fabric,
                                                                 "h0001/1")]
                                      .id,
                       "me", "mended", &err) == 0
            && gather (&publish, &m, odd) == 2 && m < n,
        "of a link that was reset it counts no more");
    ok (!strcmp (loopbacks ("h0001"), "0 0")
            && !strcmp (loopbacks ("h0002"), "3 3"),
        "... nor do loopbacks of who is there");
    for (int i = 0; i < 3; i++)
        enter (all, 4, NULL);
    ok (gather (&publish, &n, odd) == 1 && publish,
        "the ledger alone counts where it knows all");
    ok (baseline_publish (ledger, fabric, "file", &err) == 1
            && stat ("file", &before) == 0,
        "and is published: %s", err.text);
    ok (baseline_publish (ledger, fabric, "file", &err) == 0
            && stat ("file", &after) == 0 && before.st_ino == after.st_ino,
        "once");
    ok (baseline_publish (ledger, fabric, "", &err) == 0, "or nowhere");
    fp = fopen ("file", "w");
    fputs ("{ nonsense", fp);
    fclose (fp);
    ok (gather (&publish, &n, odd) == 1 && publish && odd[0],
        "a file that makes no sense is said: %s", odd);
    ok (baseline_publish (ledger, fabric, "file", &err) == 1,
        "and replaced");
    chmod ("file", 0666);
    ok (gather (&publish, &n, odd) == 1 && odd[0],
        "one that others may write is not read: %s", odd);
    ledger_close (ledger);
    fabric_destroy (fabric);
    test_spread ();
    for (const char *const *p = (const char *const[]){
             "file", "ledger", "ledger-wal", "ledger-shm", "spread.json",
             "spread", "spread-wal", "spread-shm", NULL };
         *p; p++)
        unlink (*p);
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
