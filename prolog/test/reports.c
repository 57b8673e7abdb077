/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of pages: which stay, what else is left alone, when the site's page
 * is written and what it does not say. That audits write theirs is
 * tests/t0850-audit.t's, how the site's looks tests/t0351-sitepage.t's.
 */
#include "config.h"
#include "prolog/audit/audit.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "prolog/audit/parts.h"
#include "tests/tap.h"

static struct error err;
static struct ledger_pruned done;

static const char *const file[] = {
    "audit-1.html", "audit-2.html", "audit-3.html", "audit-10.html",
    "audit-03.html", "audit-x.html", "audit-.html", "audit-3.html.new",
    "audit-99999999999999999999.html", "mine.html",
};
enum { FILES = sizeof (file) / sizeof (file[0]) };

/* What is there, a letter a file. */
static const char *there (void)
{
    static char text[FILES + 1];

    for (int i = 0; i < FILES; i++) {
        char path[64];

        snprintf (path, sizeof (path), "pages/%s", file[i]);
        text[i] = access (path, F_OK) == 0 ? '1' : '0';
    }
    return text;
}

/* Make the site's page seem that old. Return its inode, which another one would
 * not have.
 */
static ino_t age_index (int seconds)
{
    struct timespec t[2] = { { .tv_sec = time (NULL) - seconds },
                             { .tv_sec = time (NULL) - seconds } };
    struct stat st = { 0 };

    utimensat (AT_FDCWD, "pages/index.html", t, 0);
    return stat ("pages/index.html", &st) == 0 ? st.st_ino : 0;
}

static bool page_has (const char *path, const char *text)
{
    static char buf[1 << 20];
    FILE *fp = fopen (path, "r");
    size_t n = fp ? fread (buf, 1, sizeof (buf) - 1, fp) : 0;

    buf[n] = '\0';
    if (fp)
        fclose (fp);
    return strstr (buf, text) != NULL;
}

static bool index_has (const char *text)
{
    return page_has ("pages/index.html", text);
}

static void test (struct ledger *l, const struct fabric *f)
{
    static const struct ledger_cause cause = { .why = LEDGER_SWEEP };
    const char *const host[] = { "h0001", "h0002" };
    struct site site = { .reports = (char *)"", .reports_kept = 200 };
    char nonce[LEDGER_NONCE_BYTES];

    ok (reports_tidy (&site, l, &err) == 0, "a site without pages");
    site.reports = (char *)"pages";
    ok (reports_tidy (&site, l, &err) < 0, "without their directory: %s",
        err.text);
    mkdir ("pages", 0755);
    for (int i = 0; i < FILES; i++) {
        char path[64];

        snprintf (path, sizeof (path), "pages/%s", file[i]);
        close (open (path, O_CREAT | O_WRONLY, 0644));
    }
    for (int i = 1; i <= 3; i++) {
        int64_t id = ledger_begin (l, 1000 * i, f->hash, &cause, host, 2,
                                   nonce, &err);

        ledger_give_up (l, 1000 * i, id, "</script><b>", &err);
    }
    ok (reports_tidy (&site, l, &err) == 0 && !strcmp (there (), "1111111111"),
        "pages of audits stay: %s", there ());
    site.reports_kept = 3;
    ok (reports_tidy (&site, l, &err) == 0 && !strcmp (there (), "0111111111"),
        "the oldest goes where there are too many: %s", there ());
    ledger_prune (l, 2500, INT64_MAX, &done, &err);
    ok (reports_tidy (&site, l, &err) == 0 && !strcmp (there (), "0011111111"),
        "and that of an audit that the ledger forgot: %s", there ());
    chmod ("pages", 0777);
    ok (reports_tidy (&site, l, &err) < 0,
        "a directory that others may write is refused: %s", err.text);
    chmod ("pages", 0755);
}

static struct reports in;

static int write_index (void)
{
    return reports_index (&in, &err);
}

/* Enter an audit of two hosts, for a job, that finds the first one's cable slow, or
 * nothing.
 */
static void enter (struct ledger *l, struct fabric *f, int64_t time,
                   bool found)
{
    const char *const host[] = { f->host[0].name, f->host[1].name };
    const struct ledger_cause cause = { .why = LEDGER_JOB, .uid = 4711,
                                        .job = (uint64_t)time,
                                        .submitted = 1 };
    uint32_t link = f->port[f->endpoint[f->host[0].first].port].link;
    struct fact why = fact_said ("</script><b>why");
    struct finding x = {
        .level = VERDICT_FAIL,
        .kind = FINDING_HOST_END,
        .excess_ns = 900,
        .stderr_ns = 1,
        .expected_ns = 700,
        .rate_bits = NAN,
        .rate_expected_bits = NAN,
        .suspect = &link,
        .nsuspects = 1,
        .fact = &why,
        .nfacts = 1,
    };
    struct verdict v = { .status = found ? VERDICT_FAIL : VERDICT_OK,
                         .finding = &x, .nfindings = found };
    struct samples *s = samples_create ();
    struct sample sample = { .b = 1, .sent = 1 };
    struct pathset *ps = fabric_pathset (f, host, 2, &err);

    for (int q = 0; q < RTT_COUNT; q++)
        sample.rtt_ns[q] = 2000;
    samples_add (s, &sample);
    samples_add_host (s, host[0], true);
    samples_add_host (s, host[1], true);
    if (!ps
        || ledger_begin (l, time, f->hash, &cause, host, 2, s->nonce, &err) < 0
        || ledger_record (l, time, ps, s, &v, "said", &err) < 0)
        diag ("%s", err.text);
    samples_destroy (s);
    pathset_destroy (ps);
}

/* The page of an audit, after two for jobs that found the same. */
static void test_page (struct ledger *l, const struct fabric *f, int64_t now)
{
    const struct site site = { .reports = (char *)"pages",
                               .reports_kept = 200 };
    uint32_t link = f->port[f->endpoint[f->host[0].first].port].link;
    struct finding x = {
        .level = VERDICT_FAIL, .kind = FINDING_HOST_END, .excess_ns = 900,
        .stderr_ns = 1, .expected_ns = 700, .suspect = &link, .nsuspects = 1,
    };
    struct verdict v = { .status = VERDICT_FAIL, .finding = &x,
                         .nfindings = 1 };
    struct page page = { .fabric = f, .verdict = &v };
    char jobs[64];

    snprintf (jobs, sizeof (jobs), "Jobs: %jd, %jd\\n",
              (intmax_t)(now - 400), (intmax_t)(now - 300));
    ok (reports_add (&site, l, 9, &page, &err) == 0
            && page_has ("pages/audit-9.html", jobs),
        "an audit's page has a ticket with the jobs, the newest last");
}

/* Write the snapshots of twenty hours, in each of which a cable has another end. */
static void write_snapshots (int64_t now)
{
    for (int k = 0; k < 20; k++) {
        time_t t = (time_t)now - 3600 * k;
        char name[64] = "snapshot";
        struct tm tm;
        FILE *fp;

        if (k > 0)
            strftime (name, sizeof (name), "snapshot.%Y%m%dT%H%M%SZ",
                      gmtime_r (&t, &tm));
        fp = fopen (name, "w");
        fprintf (fp, "cable h/1 c%d/1\n", k);
        fclose (fp);
    }
}

static void test_index (struct ledger *l, struct fabric *f)
{
    struct site site = { .reports = (char *)"pages", .audit_every_ms = 1000 };
    struct policy_node state[] = {
        { .name = f->host[0].name, .drained = true,
          .reason = "pmm: host end, see /etc/secret" },
        { .name = f->host[1].name, .drained = true, .reason = "alice: <&>" },
        { .name = f->host[2].name },
    };
    const struct controller_nodes nodes = { .v = state, .n = 3 };
    int64_t now = time (NULL);
    char last[64];
    ino_t was;

    in = (struct reports){ .site = &site, .ledger = l, .fabric = f,
                           .node_of = nodemap_nodes (NULL, f),
                           .nodes = &nodes };
    ok (write_index () == 1 && index_has ("\"status\":\"UNKNOWN\""),
        "the page of a site that has measured nothing");
    ok (write_index () == 2, "it is not written twice a minute");
    was = age_index (61);
    ok (write_index () == 0 && age_index (61) == was,
        "nor if nothing has changed");
    enter (l, f, now - 500, false);
    enter (l, f, now - 400, true);
    enter (l, f, now - 300, true);
    test_page (l, f, now);
    ledger_rebase (l, now - 200, f->link[1].id, "alice",
                   "new cable, see /home/alice/it and \"(/x)\"", &err);
    ok (write_index () == 1 && index_has (" 900 ns ") && index_has (": h0001"),
        "a finding of an audit is there");
    ok (index_has ("\\u003c/script\\u003e\\u003cb\\u003ewhy")
            && !index_has ("</script><b>"), "as data");
    {
        char since[128];

        snprintf (since, sizeof (since), "\"jobs\":[%jd,%jd],\"since\":%jd",
                  (intmax_t)(now - 400), (intmax_t)(now - 300),
                  (intmax_t)(now - 400));
        ok (index_has (since), "since when, by which jobs: %s", since);
    }
    ok (index_has ("\"state\":\"drained by pmm\"")
            && index_has ("\"drained, not by pmm\""), "who is drained");
    ok (index_has ("new cable, see ... and \\\"(...)\\\"")
            && index_has ("host end, see ..."), "texts lose their paths");
    ok (!index_has ("alice") && !index_has ("4711") && !index_has ("/home")
            && !index_has ("/etc/secret"), "there are no users");
    was = age_index (61);
    state[2].down = true;
    ok (write_index () == 1 && index_has ("\"why\":\"down\"")
            && age_index (61) != was, "a node that goes down is a change");
    enter (l, f, now - 100, false);
    ok (write_index () == 1 && index_has ("\"findings\":[]")
            && index_has ("\"status\":\"OK\""), "so is a cable that is well");
    age_index (61);
    for (int k = 60; k > 0; k--)
        enter (l, f, now - k, true);
    snprintf (last, sizeof (last), ",%jd],\"since\":%jd", (intmax_t)(now - 1),
              (intmax_t)(now - 60));
    ok (write_index () == 1 && index_has (last), "of many jobs the newest");
    age_index (61);
    write_snapshots (now);
    site.snapshot = (char *)"snapshot";
    ok (write_index () == 1 && index_has ("h/1 -- c0/1, was c1/1")
            && index_has ("c7/1, was c8/1") && !index_has ("was c9/1"),
        "cables of the newest eight snapshots");
    age_index (61);
    chmod ("pages", 0777);
    ok (write_index () < 0, "a directory that others may write: %s", err.text);
    free ((void *)in.node_of);
}

int main (void)
{
    char dir[] = "/tmp/pmm-test.XXXXXX", command[64];
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, &err);
    struct ledger *l = NULL;

    if (mkdtemp (dir) && chdir (dir) == 0 && chmod (dir, 0755) == 0)
        l = ledger_open ("led", LEDGER_CREATE, &err);
    if (ok (f && l, "a ledger"))
        test (l, f);
    if (f && l)
        test_index (l, f);
    ledger_close (l);
    fabric_destroy (f);
    snprintf (command, sizeof (command), "rm -r %s", dir);
    return chdir ("/") < 0 || system (command) != 0 ? 1 : done_testing ();
}
