/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hook's look under its deadline, and the live fabric's reading: what hangs,
 * what is missing, what is full, who comes second.
 */
#include "config.h"
#include "prolog/node/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/live.h"
#include "ibquery/test/sysfs.h"
#include "tests/tap.h"

static char dir[] = "/tmp/pmm-hook.XXXXXX";
static struct error err;
static struct hook_result result;

static void put (const char *path, const char *text, mode_t mode)
{
    sysfs_put (dir, path, text);
    chmod (path, mode);
}

/* A pmm.conf with these lines besides what all need. */
static void configure (const char *lines)
{
    char *text;

    if (asprintf (&text,
                  "Local = %s/lib/local\nVerdicts = %s/lib/verdicts\n"
                  "Run = %s/run\nSnapshot = %s/lib/fabric\nPmm = %s/pmm\n%s",
                  dir, dir, dir, dir, dir, lines) < 0)
        exit (1);
    put ("pmm.conf", text, 0644);
    free (text);
}

static int64_t now_ms (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static struct hook hook_of (enum hook_kind kind)
{
    return (struct hook){ .kind = kind, .conf = "pmm.conf", .sysfs = "sys",
                          .node = "h1" };
}

/* Run one with time to spare: whether it says this. */
static int says (enum hook_kind kind, enum verdict_status level,
                 const char *line)
{
    const struct hook hook = hook_of (kind);

    hook_run (&hook, 60000, &result);
    if (result.level == level && strstr (result.line, line) == result.line)
        return 1;
    fprintf (stderr, "# said %d: %s\n", result.level, result.line);
    return 0;
}

/* No file may grow beyond that; standard output may be one. */
static void limit_files (rlim_t size)
{
    const struct rlimit limit = { size, RLIM_INFINITY };

    signal (SIGXFSZ, SIG_IGN);
    setrlimit (RLIMIT_FSIZE, &limit);
}

static void test_first (void)
{
    static const struct {
        const char *list, *node;
        int first;
    } rows[] = {
        { "h1", "h1", 1 },
        { "h1", "h10", 0 },
        { "h10", "h1", 0 },
        { "h1,h2", "h1", 1 },
        { "h1,h2", "h2", 0 },
        { "n[003-007,9],x1", "n003", 1 },
        { "n[003-007,9],x1", "n3", 0 },
        { "n[003-007,9],x1", "n004", 0 },
        { "n[003-007,9]-ib", "n003-ib", 1 },
        { "n[003]", "n003", 1 },
        { "a[1-2]b[3-4]", "a1b3", 1 },
        { "a[1-2]b[3-4]", "a1b4", 0 },
        { "n[003", "n003", 1 },
        { "n[", "n", 1 },
        { "", "h1", 0 },
        { ",", "h1", 0 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        ok (hook_is_first (rows[i].list, rows[i].node) == rows[i].first,
            "%s is %sthe first of %s", rows[i].node,
            rows[i].first ? "" : "not ", rows[i].list);
}

static void test_look (void)
{
    const struct cache_node node
        = { "h1", VERDICT_FAIL, 57, time (NULL), "host end h1", 0, 0 };

    ok (says (HOOK_HEALTHCHECK, VERDICT_OK, "OK: 1 of 1 port active"), "fine");
    ok (access ("lib/local", R_OK) == 0 && access ("run/look.lock", R_OK) == 0,
        "it leaves something to the next");
    ok (says (HOOK_PROLOG, VERDICT_OK, "OK: 1") && !result.news, "no news");
    ok (cache_write ("lib/verdicts", time (NULL),
                     &(struct cache){ .node = &node, .nnodes = 1 }, &err) == 0
            && says (HOOK_PROLOG, VERDICT_FAIL,
                     "CRITICAL: audit 57 FAIL: host end h1; 1 of 1")
            && result.news,
        "a verdict is news");
    ok (says (HOOK_EPILOG, VERDICT_FAIL, "CRITICAL") && !result.news, "once");
    ok (says (HOOK_HEALTHCHECK, VERDICT_FAIL, "CRITICAL"),
        "the health check always says it");
    put ("lib/verdicts", "garbage\n", 0644);
    ok (says (HOOK_PROLOG, VERDICT_UNKNOWN, "UNKNOWN: ") && result.news,
        "garbage is none");
    unlink ("lib/verdicts");
    ok (says (HOOK_PROLOG, VERDICT_OK, "OK: ") && result.news,
        "that all is well again is news");
    configure ("PortRate = 4xNDR\n");
    ok (says (HOOK_PROLOG, VERDICT_WARN,
              "WARNING: mlx5_0/1 is 4xEDR, not 4xNDR"),
        "what the site wants");
    configure ("PortRate = much\n");
    ok (says (HOOK_PROLOG, VERDICT_UNKNOWN, "UNKNOWN: option PortRate"),
        "a bad rate: %s", result.line);
    configure ("Nonsense = 1\n");
    ok (says (HOOK_PROLOG, VERDICT_UNKNOWN, "UNKNOWN: pmm.conf:6"),
        "a bad pmm.conf: %s", result.line);
    configure ("");
    chmod ("pmm.conf", 0666);
    ok (says (HOOK_PROLOG, VERDICT_UNKNOWN, "UNKNOWN: pmm.conf is not"),
        "one that others may write");
    configure ("SlurmUser = nobody-of-this-name\n");
    ok (says (HOOK_PROLOG, VERDICT_OK, "OK: "), "no such user");
    configure ("");
}

/* Its adapter is gone, and what was known of it: a diskless image. */
static void test_gone (void)
{
    const struct cache_node node = { .name = "h1", .ports = 1 };
    const struct cache cache = { .node = &node, .nnodes = 1 };
    struct hook hook = hook_of (HOOK_HEALTHCHECK);

    hook.sysfs = "sys.none";
    unlink ("lib/local");
    hook_run (&hook, 60000, &result);
    ok (result.level == VERDICT_UNKNOWN
            && strstr (result.line, "UNKNOWN: no InfiniBand port, and it"),
        "no adapter: %s", result.line);
    cache_write ("lib/verdicts", time (NULL), &cache, &err);
    hook_run (&hook, 60000, &result);
    ok (result.level == VERDICT_FAIL
            && !strcmp (result.line, "CRITICAL: 1 port expected, 0 found"),
        "... that the site knows of: %s", result.line);
    hook.node = "h2";
    hook_run (&hook, 60000, &result);
    ok (result.level == VERDICT_UNKNOWN, "... another's");
    unlink ("lib/verdicts");
    unlink ("lib/local");
}

static void test_state (void)
{
    int rc;

    put ("lib/local", "\001\002garbage", 0600);
    ok (says (HOOK_PROLOG, VERDICT_OK, "OK: 1 of 1 port active"),
        "a damaged state");
    chmod ("run", 0777);
    ok (says (HOOK_HEALTHCHECK, VERDICT_OK, "OK: 1 of 1 port active"),
        "a directory for locks that is not ours alone");
    chmod ("run", 0755);
    limit_files (0);
    rc = says (HOOK_HEALTHCHECK, VERDICT_OK, "OK: ");
    limit_files (RLIM_INFINITY);
    ok (rc, "a full disk: %s", result.line);
    rename ("lib", "lib.away");
    ok (says (HOOK_HEALTHCHECK, VERDICT_OK, "OK: "), "no directory: %s",
        result.line);
    ok (symlink ("/dev/null", "lib") == 0
            && says (HOOK_HEALTHCHECK, VERDICT_UNKNOWN, "UNKNOWN: "),
        "something else for a directory: %s", result.line);
    unlink ("lib");
    rename ("lib.away", "lib");
}

static void test_deadline (void)
{
    const struct hook hook = hook_of (HOOK_PROLOG);
    int64_t start;
    int lock;

    rename ("sys/mlx5_0/ports/1/state", "was");
    if (mkfifo ("sys/mlx5_0/ports/1/state", 0600) < 0)
        exit (1);
    for (int i = 0; i < 3; i++) {
        start = now_ms ();
        hook_run (&hook, 100, &result);
        ok (result.level == VERDICT_UNKNOWN && result.news
                && now_ms () - start >= 100
                && !strcmp (result.line,
                            "UNKNOWN: the check has not ended in 100 ms"),
            "a driver that hangs: %s", result.line);
    }
    unlink ("sys/mlx5_0/ports/1/state");
    rename ("was", "sys/mlx5_0/ports/1/state");
    ok (says (HOOK_PROLOG, VERDICT_OK, "OK: "), "nothing is left of it");

    lock = open ("run/look.lock", O_RDWR | O_CLOEXEC);
    flock (lock, LOCK_EX);
    hook_run (&hook, 100, &result);
    ok (strstr (result.line, "not ended") != NULL,
        "while one is stuck the next ones wait");
    close (lock);
    ok (says (HOOK_PROLOG, VERDICT_OK, "OK: "), "and go on when it is gone");
}

static void test_options (void)
{
    struct hook hook = hook_of (HOOK_PROLOG);
    char *good[] = { "p", "--node", "h7", "--sysfs", "x", "--conf", "y", NULL };
    char *bad[] = { "p", "--nodes", "h7", NULL };
    char *cut[] = { "p", "--node", NULL };

    ok (hook_options (&hook, 7, good, &err) == 1 && !strcmp (hook.node, "h7")
            && !strcmp (hook.sysfs, "x") && !strcmp (hook.conf, "y"),
        "options");
    ok (hook_options (&hook, 3, bad, &err) < 0, "a bad one: %s", err.text);
    ok (hook_options (&hook, 2, cut, &err) < 0, "one cut short");
}

/* How many times pmm was run. */
static int runs (void)
{
    struct stat st;

    return stat ("runs", &st) < 0 ? 0 : (int)st.st_size;
}

static int wait_for (const char *path, int there)
{
    for (int i = 0; i < 6000; i++) {
        if ((access (path, F_OK) == 0) == there)
            return 1;
        usleep (10000);
    }
    return 0;
}

/* A pmm that counts, and then does this. */
static void be_pmm (const char *act)
{
    char *text;

    if (asprintf (&text,
                  "#!/bin/sh\nprintf x >>%s/runs\necho \"$@\" >%s/args\n"
                  "env >%s/env\n%s\n",
                  dir, dir, dir, act) < 0)
        exit (1);
    put ("pmm", text, 0755);
    free (text);
}

static char *contents (const char *path)
{
    static char buf[256];
    FILE *fp = fopen (path, "r");
    size_t n = fp ? fread (buf, 1, sizeof (buf) - 1, fp) : 0;

    buf[n] = '\0';
    if (fp)
        fclose (fp);
    return buf;
}

/* As if the last attempt was some time ago. */
static void age (const char *path, int64_t seconds)
{
    const struct timespec t = { time (NULL) - seconds, 0 };

    utimensat (AT_FDCWD, path, (const struct timespec[]){ t, t }, 0);
}

/* The same of LIVE.lock, once who reads has let go of it: that is a moment
 * after the file is there, or gone.
 */
static void tried (int64_t seconds)
{
    int fd = open ("run/fabric.lock", O_RDWR | O_CLOEXEC);

    if (fd < 0 || flock (fd, LOCK_EX) < 0)
        exit (1);
    close (fd);
    age ("run/fabric.lock", seconds);
}

static const struct live_job nobody;

/* A job's part, where the snapshot of everything is old. */
static void test_part (void)
{
    const struct live_job seven = { "7", "h[1-2]" }, eight = { "8", "h3" };
    const struct live_job bad[] = { { "../7", "h1" }, { "0", "h1" },
                                    { NULL, "h1" },   { "9", NULL },
                                    { "9", "@/etc/shadow" } };
    struct site site;
    char text[16], args[256], *live, *map;
    int before;
    FILE *fp = NULL;

    if (asprintf (&live, "LiveFabric = %s/run/fabric\n", dir) < 0)
        exit (1);
    configure (live);
    if (site_read (&site, "pmm.conf", 1, &err) < 0)
        exit (1);
    put ("run/fabric", "everything\n", 0644);
    put ("run/fabric.lock", "tried\n", 0600);
    be_pmm ("echo a part");
    before = runs ();

    ok (live_request (&site, &seven, &err) == 0,
        "what is fresh will do for a job");
    age ("run/fabric", LIVE_EVERY_S + LIVE_TIMEOUT_S + 5);
    tried (LIVE_EVERY_S + 5);
    ok (live_request (&site, &seven, &err) == 1
            && (fp = live_open (&site, &seven, 60000, &err)),
        "what is old is a hint");
    ok (fp && fgets (text, sizeof (text), fp)
            && !strcmp (text, "a part\n"),
        "... for the job's part");
    fclose (fp);
    snprintf (args, sizeof (args),
              "fabric read --smps 2 --max-smps " LIVE_PART_SMPS
              " --hosts h[1-2] --hint %s/run/fabric\n",
              dir);
    ok (!strcmp (contents ("args"), args), "... of its nodes");
    ok (!live_open (&site, &eight, 100, &err),
        "... and nobody else's: %s", err.text);

    be_pmm ("mkdir busy || echo x >>both; sleep .2; rmdir busy; echo a part");
    ok (live_request (&site, &seven, &err) == 1
            && live_request (&site, &eight, &err) == 1
            && (fp = live_open (&site, &eight, 60000, &err)),
        "two jobs at once");
    fclose (fp);
    ok (wait_for ("run/fabric.job7.new", 0) && access ("both", F_OK) < 0
            && runs () == before + 3,
        "... one after the other");

    age ("run/fabric.job7", LIVE_EVERY_S + LIVE_TIMEOUT_S + 5);
    be_pmm ("case $* in *--hosts*) exit 1;; esac; echo a fabric");
    ok (live_request (&site, &eight, &err) == 1
            && wait_for ("run/fabric.job8.new", 0)
            && (fp = live_open (&site, &nobody, 60000, &err))
            && fgets (text, sizeof (text), fp)
            && !strcmp (text, "a fabric\n"),
        "a part that cannot be had: everything is read");
    fclose (fp);
    ok (wait_for ("run/fabric.job7", 0), "... and an old part is dropped");
    be_pmm ("exit 1");
    tried (LIVE_EVERY_S + 5);
    before = runs ();
    ok (live_request (&site, &eight, &err) == 1
            && wait_for ("run/fabric.job8.new", 0)
            && wait_for ("run/fabric.new", 0) && runs () == before + 2,
        "neither can be had");
    ok (live_request (&site, &eight, &err) == 0 && runs () == before + 2,
        "... which is not repeated");

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        tried (LIVE_EVERY_S + 5);
        unlink ("args");
        ok (live_request (&site, &bad[i], &err) == 1
                && wait_for ("run/fabric.new", 0)
                && !strcmp (contents ("args"), "fabric read --smps 2\n"),
            "no part for job %s of %s", bad[i].id ? bad[i].id : "(null)",
            bad[i].nodes ? bad[i].nodes : "(null)");
    }
    site_clear (&site);

    if (asprintf (&map, "%sNodeMap = %s/map\n", live, dir) < 0)
        exit (1);
    configure (map);
    if (site_read (&site, "pmm.conf", 1, &err) < 0)
        exit (1);
    tried (LIVE_EVERY_S + 5);
    unlink ("args");
    ok (live_request (&site, &seven, &err) == 1
            && wait_for ("run/fabric.new", 0)
            && !strcmp (contents ("args"), "fabric read --smps 2\n"),
        "nor where nodes have other names than hosts");
    site_clear (&site);
    free (map);
    free (live);
}

static void test_live (void)
{
    struct site site;
    struct stat st;
    char text[16], *live;
    FILE *fp;
    int rc;

    if (asprintf (&live, "LiveFabric = %s/run/fabric\n", dir) < 0)
        exit (1);
    configure (live);
    free (live);
    if (site_read (&site, "pmm.conf", 1, &err) < 0)
        exit (1);
    be_pmm ("echo a fabric");

    put ("lib/fabric", "published\n", 0644);
    ok (!live_wanted (&site) && live_request (&site, &nobody, &err) == 0
            && runs () == 0,
        "a snapshot is published: nothing is read");
    unlink ("lib/fabric");
    ok (live_wanted (&site) && live_request (&site, &nobody, &err) == 1,
        "none is: it is read: %s", err.text);
    fp = live_open (&site, &nobody, 60000, &err);
    ok (fp && fgets (text, sizeof (text), fp) && !strcmp (text, "a fabric\n"),
        "who waits has it: %s", err.text);
    fclose (fp);
    ok (stat ("run/fabric", &st) == 0 && (st.st_mode & 07777) == 0644
            && stat ("run/fabric.lock", &st) == 0
            && (st.st_mode & 07777) == 0600,
        "for all to read, and the lock for nobody");
    ok (!strcmp (contents ("args"), "fabric read --smps 2\n")
            && !strstr (contents ("env"), "HOME="),
        "gently, in an environment of its own");
    for (int i = 0; i < 20; i++)
        live_request (&site, &nobody, &err);
    ok (runs () == 1, "others read what is there");

    age ("run/fabric", LIVE_EVERY_S + LIVE_TIMEOUT_S + 5);
    ok (!live_open (&site, &nobody, 100, &err), "what is old is refused: %s",
        err.text);
    tried (LIVE_EVERY_S - 5);
    ok (live_request (&site, &nobody, &err) == 0, "it is not due yet");
    tried (LIVE_EVERY_S + 5);
    be_pmm ("echo half; exit 1");
    ok (live_request (&site, &nobody, &err) == 1
            && wait_for ("run/fabric.new", 0)
            && !live_open (&site, &nobody, 100, &err),
        "a reading that fails leaves nothing");
    for (int i = 0; i < 20; i++)
        live_request (&site, &nobody, &err);
    ok (runs () == 2, "and is not repeated at once");
    tried (-9999);
    be_pmm ("until [ -e ${0%pmm}go ]; do sleep 0.1; done; echo a fabric");
    ok (live_request (&site, &nobody, &err) == 1,
        "the clock was set back: once more");
    age ("run/fabric.lock", LIVE_EVERY_S + 5);
    ok (live_request (&site, &nobody, &err) == 0,
        "one at a time, whatever the clock");
    ok (!live_open (&site, &nobody, 100, &err), "who cannot wait has none");
    put ("go", "", 0600);
    ok (wait_for ("run/fabric.new", 0)
            && (fp = live_open (&site, &nobody, 60000, &err)),
        "who waits, has: %s", err.text);
    fclose (fp);
    ok (runs () == 3, "three in all");

    chmod ("run/fabric", 0666);
    ok (!live_open (&site, &nobody, 100, &err), "others may write it: %s",
        err.text);
    tried (LIVE_EVERY_S + 5);
    chmod ("run", 0777);
    ok (live_request (&site, &nobody, &err) < 0 && runs () == 3,
        "others may write its directory: %s", err.text);
    chmod ("run", 0755);
    unlink ("run/fabric.lock");
    ok (symlink ("victim", "run/fabric.lock") == 0
            && live_request (&site, &nobody, &err) < 0
            && access ("victim", F_OK) < 0,
        "a link for a lock: %s", err.text);
    unlink ("run/fabric.lock");
    limit_files (0);
    rc = live_request (&site, &nobody, &err);
    limit_files (RLIM_INFINITY);
    ok (rc < 0 && runs () == 3, "what cannot be noted is not done: %s",
        err.text);
    site_clear (&site);
}

int main (void)
{
    char cmd[64];

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    mkdir ("lib", 0755);
    sysfs_port ("sys", "mlx5_0", 1, 0xec0d9a0300ec8240);
    configure ("");
    test_first ();
    test_options ();
    if (geteuid () != 0)
        skip ("the hooks are root's");
    else {
        test_look ();
        test_gone ();
    test_state ();
        test_deadline ();
        test_live ();
        test_part ();
    }
    snprintf (cmd, sizeof (cmd), "rm -rf %s", dir);
    if (chdir ("/") < 0 || system (cmd) != 0)
        return 1;
    return done_testing ();
}
