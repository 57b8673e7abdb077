/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger: what enters and what is refused, that each write is whole or
 * not there when the disk is full or the writer killed, what it tells, and
 * that its work does not grow with what it holds.
 */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/samples/simulate.h"
#include "core/solve/solve.h"
#include "core/test/tablenet.h"
#include "prolog/ledger/ledger_db.h"
#include "tests/tap.h"
#include "util/json.h"

enum { HOSTS = 6, STRANGER = 12345, LINKS_MAX = 64,
       STATEMENTS = 83 };

/* What is measured in all tests: a small fat tree, and two words for it. */
static struct tablenet *net;
static struct pathset *ps;
static struct plan *plan;
static const char *host[HOSTS];

static struct error err;

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

static struct samples *measure (const char *nonce, uint32_t slow, double ns)
{
    struct simulate_options opts = { .noise_ns = 5, .repeats = 3, .seed = 1 };
    struct node node = { .boot = BOOT, .numa = 1, .adapter_numa = -1 };
    double latency[LINKS_MAX];
    double loopback[HOSTS];
    struct samples *s;

    for (size_t i = 0; i < LINKS_MAX; i++)
        latency[i] = 100 + (i == slow ? ns : 0);
    for (size_t i = 0; i < HOSTS; i++)
        loopback[i] = 500;
    opts.loopback_ns = loopback;
    s = simulate (ps, plan, latency, &opts, &err);
    snprintf (s->nonce, sizeof (s->nonce), "%s", nonce);
    for (size_t i = 0; i < 2; i++) {
        /* the second is of no audit, and is not to be entered */
        strcpy (node.host, i == 0 ? host[0] : "stranger");
        samples_add_node (s, &node);
    }
    return s;
}

/* A verdict of one finding, or of none where level is OK. */
static struct verdict *verdict_of (enum verdict_status level, uint32_t link)
{
    struct verdict *v = verdict_create ();
    struct finding *f;

    v->status = level;
    if (level == VERDICT_OK)
        return v;
    f = verdict_add (v, level, BASIS_BASELINE);
    f->excess_ns = 400;
    verdict_add_number (v, &f->suspect, &f->nsuspects, link);
    finding_add_fact (v, f, fact_said ("it is \n slow"));
    verdict_limit (v, VERDICT_OK, fact_said ("no baseline"));
    return v;
}

static const struct ledger_cause by_hand = { .job = 7 };

/* A whole audit at a time; its id, or -1. */
static int64_t audit (struct ledger *l, int64_t time, uint32_t slow,
                      double ns, enum verdict_status level)
{
    char nonce[LEDGER_NONCE_BYTES];
    int64_t id = ledger_begin (l, time, net->net.hash, &by_hand, host, HOSTS,
                               nonce, &err);
    struct samples *s;
    struct verdict *v;

    if (id < 0)
        return -1;
    s = measure (nonce, slow, ns);
    v = verdict_of (level, slow);
    id = ledger_record (l, time + 1, ps, s, v, "says", &err);
    verdict_destroy (v);
    samples_destroy (s);
    return id;
}

/* The statements that ran here, once each. */
static const char *statement[256];
static size_t nstatements;

static void close_ledger (struct ledger *l)
{
    for (size_t i = 0; l && i < l->nstmts; i++) {
        size_t k = 0;

        while (k < nstatements && statement[k] != l->stmt[i].sql)
            k++;
        if (k == nstatements
            && k < sizeof (statement) / sizeof (statement[0]))
            statement[nstatements++] = l->stmt[i].sql;
    }
    ledger_close (l);
}

#define ledger_close close_ledger

static void drop (const char *path)
{
    static const char *const suffix[] = { "", "-wal", "-shm", "-journal" };
    char name[64];

    for (size_t i = 0; i < sizeof (suffix) / sizeof (suffix[0]); i++) {
        snprintf (name, sizeof (name), "%s%s", path, suffix[i]);
        unlink (name);
    }
}

/* All that may be deleted; how many audits were, or -1. */
static int64_t pruned (struct ledger *l, int64_t before, int64_t keep)
{
    struct ledger_pruned done;
    int64_t n = 0;

    do {
        if (ledger_prune (l, before, keep, &done, &err) < 0)
            return -1;
        n += done.audits;
    } while (done.more);
    return n;
}

static struct ledger *fresh (const char *path)
{
    drop (path);
    return ledger_open (path, LEDGER_CREATE, &err);
}

/* What a query of one number says, by a connection of its own. */
static int64_t ask (const char *path, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db = NULL;
    int64_t n = -1;

    if (sqlite3_open (path, &db) == SQLITE_OK
        && sqlite3_prepare_v2 (db, sql, -1, &stmt, NULL) == SQLITE_OK
        && sqlite3_step (stmt) == SQLITE_ROW)
        n = sqlite3_column_int64 (stmt, 0);
    sqlite3_finalize (stmt);
    sqlite3_close (db);
    return n;
}

static void tell (const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    if (sqlite3_open (path, &db) != SQLITE_OK
        || sqlite3_exec (db, sql, NULL, NULL, NULL) != SQLITE_OK)
        diag ("%s: %s", sql, sqlite3_errmsg (db));
    sqlite3_close (db);
}

static bool is_text (const json_t *obj, const char *key, const char *value)
{
    const char *s = json_string_value (json_object_get (obj, key));

    return s && !strcmp (s, value);
}

static json_int_t integer (const json_t *obj, const char *key)
{
    return json_integer_value (json_object_get (obj, key));
}

/*
 * Files
 */

static void put (const char *path, const char *text, mode_t mode)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
    chmod (path, mode);
}

static void test_places (void)
{
    static const struct {
        const char *path;
        enum ledger_mode mode;
        enum error_fault fault;
        const char *error;
    } tab[] = {
        { "none/led", LEDGER_CREATE, ERROR_INPUT, "No such file" },
        { "none", LEDGER_WRITE, ERROR_INPUT, "No such file" },
        { "none", LEDGER_READ, ERROR_INPUT, "No such file" },
        { "text/led", LEDGER_CREATE, ERROR_INPUT, "Not a directory" },
        { "dir", LEDGER_WRITE, ERROR_INPUT, "not a regular file" },
        { "link", LEDGER_WRITE, ERROR_INPUT, "not a regular file" },
        { "open/led", LEDGER_CREATE, ERROR_INPUT, "others may write /" },
        { "loose", LEDGER_WRITE, ERROR_INPUT, "others may write it" },
        { "text", LEDGER_WRITE, ERROR_INPUT, "not a database" },
        { "text", LEDGER_READ, ERROR_INPUT, "not a database" },
        { "other", LEDGER_WRITE, ERROR_INPUT, "another database" },
        { "newer", LEDGER_WRITE, ERROR_INPUT, "version 99, and this" },
        { "newer", LEDGER_READ, ERROR_INPUT, "version 99, and this" },
        { "older", LEDGER_WRITE, ERROR_INPUT, "move the file away" },
        { "older", LEDGER_READ, ERROR_INPUT, "move the file away" },
        { "empty", LEDGER_READ, ERROR_INPUT, "is empty: an audit has to" },
        { "piped", LEDGER_READ, ERROR_INPUT, "its -journal is not a regular" },
        { "piped", LEDGER_WRITE, ERROR_INPUT, "its -journal is not a regular" },
    };
    struct ledger *l;

    mkdir ("dir", 0755);
    mkdir ("open", 0755);
    chmod ("open", 01777);
    put ("text", "this is not a database at all, but a line of text\n", 0644);
    put ("loose", "", 0666);
    put ("empty", "", 0644);
    tell ("other", "CREATE TABLE t (x)");
    ledger_close (fresh ("newer"));
    tell ("newer", "PRAGMA user_version = 99");
    ledger_close (fresh ("older"));
    tell ("older", "PRAGMA user_version = 5; DROP TABLE flow");
    ledger_close (fresh ("piped"));
    ok (symlink ("newer", "link") == 0 && mkfifo ("piped-journal", 0600) == 0,
        "a link, and a pipe");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        memset (&err, 0, sizeof (err));
        l = ledger_open (tab[i].path, tab[i].mode, &err);
        ok (!l && strstr (err.text, tab[i].error) && err.fault == tab[i].fault
                && !strncmp (err.text, tab[i].path, strlen (tab[i].path)),
            "refused: %s", err.text);
        ledger_close (l);
    }
    ok (ask ("other", "SELECT count(*) FROM sqlite_master") == 1
            && access ("other-wal", F_OK) < 0,
        "another database is left as it was");
    ok (ask ("older", "PRAGMA user_version") == 5, "so is an older one");
    ok ((l = ledger_open ("empty", LEDGER_WRITE, &err)) != NULL,
        "an empty file becomes a ledger");
    ledger_close (l);
}

/* A ledger of version 7, which knows no rates, with an audit that FAILs. */
static void before (const char *path)
{
    struct ledger *l = fresh (path);

    audit (l, 100, 2, 400, VERDICT_FAIL);
    ledger_close (l);
    tell (path, "DROP TABLE fact; DROP TABLE rate;"
                "ALTER TABLE finding DROP COLUMN rate;"
                "ALTER TABLE finding DROP COLUMN rate_expected;"
                "PRAGMA user_version = 7");
}

static bool has_finding (struct ledger *l)
{
    json_t *a = l ? ledger_audit (l, 1, &err) : NULL;
    json_t *f = json_array_get (json_object_get (a, "findings"), 0);
    bool all = is_text (f, "level", "FAIL")
               && json_number_value (json_object_get (f, "excess_ns")) == 400
               && json_is_null (json_object_get (f, "rate_bits"))
               && json_array_size (json_object_get (f, "suspects")) == 1;

    json_decref (a);
    return all;
}

/* A ledger of the version before keeps its history. */
static void test_before (void)
{
    struct ledger *l;

    before ("seven");
    ok (!ledger_open ("seven", LEDGER_READ, &err)
            && strstr (err.text, "is of version 7: the audit service brings it"),
        "who only reads is told who does it: %s", err.text);
    l = fresh ("saved");
    ok (l && ledger_salvage (l, "seven", &err) == 0 && has_finding (l),
        "it can be salvaged");
    ledger_close (l);
    ok (ask ("seven", "PRAGMA user_version") == 7, "which leaves it as it was");
    l = ledger_open ("seven", LEDGER_WRITE, &err);
    ok (has_finding (l), "opened for writing, it is brought up to date");
    ledger_close (l);
    l = ledger_open ("seven", LEDGER_READ, &err);
    ok (has_finding (l) && ask ("seven", "PRAGMA user_version") == LEDGER_VERSION
            && ask ("seven", "SELECT count(*) FROM rate, fact") == 0,
        "once and for all");
    ledger_close (l);

    before ("half");
    tell ("half", "ALTER TABLE finding ADD COLUMN rate_expected REAL");
    ok (!ledger_open ("half", LEDGER_WRITE, &err), "it fails: %s", err.text);
    ok (ask ("half", "PRAGMA user_version") == 7
            && ask ("half", "SELECT count(*) FROM pragma_table_info ('finding')")
                   == 10, "then nothing has changed");
}

/* Run f as a user who is not root; its return value. */
static int as_stranger (int (*f) (void))
{
    pid_t pid = fork ();
    int status = -1;

    if (pid == 0) {
        if (setgid (STRANGER) < 0 || setuid (STRANGER) < 0)
            _exit (99);
        _exit (f ());
    }
    waitpid (pid, &status, 0);
    return WIFEXITED (status) ? WEXITSTATUS (status) : 98;
}

static int64_t number_of (struct ledger *l, enum ledger_number number,
                          int64_t from)
{
    int64_t n = 0;

    return ledger_number (l, number, from, NULL, &n, &err) < 0 ? -1 : n;
}

static int open_as (enum ledger_mode mode, const char *expected)
{
    struct ledger *l = ledger_open ("led", mode, &err);

    if (l)
        return expected != NULL
               || number_of (l, LEDGER_NEXT, 0) != 1;
    if (!expected || !strstr (err.text, expected))
        fprintf (stderr, "# %s\n", err.text);
    return !expected || !strstr (err.text, expected);
}

static int others_write (void)
{
    return open_as (LEDGER_WRITE,
                    "belongs to user root: staff do so by sudo -u root pmm "
                    "...; users have srun --pmm-check");
}

static int others_read (void)
{
    return open_as (LEDGER_READ, NULL);
}

static char full[PATH_MAX]; /* its path */

static int hidden_from_others (void)
{
    return ledger_open (full, LEDGER_READ, &err)
           || !strstr (err.text, "/led: Permission denied: staff do so by sudo "
                                 "-u root ");
}

static int closed_to_others (void)
{
    return open_as (LEDGER_READ,
                    "led: cannot be read: staff do so by sudo -u root ");
}

static int read_only (void)
{
    return open_as (LEDGER_WRITE, "it is read-only");
}

static void test_owner (void)
{
    struct ledger *l = fresh ("led");
    struct stat st;

    ok (audit (l, 1000, 0, 0, VERDICT_OK) == 1, "an audit");
    ledger_close (l);
    stat ("led", &st);
    ok ((st.st_mode & 0777) == 0640, "a ledger is made with mode 0640");
    if (geteuid () != 0) {
        skip ("who is not root can play no other user");
        return;
    }
    ok (as_stranger (others_write) == 0, "who does not own it may not write");
    ok (as_stranger (closed_to_others) == 0, "nor read, by its mode");
    ok (realpath ("led", full) && chmod (".", 0700) == 0, "%s", full);
    ok (as_stranger (hidden_from_others) == 0, "nor by its directory's");
    chmod (".", 0755);
    chmod ("led", 0644);
    chmod ("led-wal", 0644);
    chmod ("led-shm", 0644);
    ok (as_stranger (others_read) == 0, "but where the mode lets him");
    if (chown ("led", STRANGER, STRANGER) == 0)
        ok (!ledger_open ("led", LEDGER_WRITE, &err)
                && strstr (err.text, "belongs to user 12345: runuser -u 12345 "
                                     "-- pmm"),
            "root does not write another's");
    if (chown (".", STRANGER, STRANGER) == 0) {
        chmod ("led", 0400);
        ok (as_stranger (read_only) == 0, "a read-only file says so");
    }
    if (chown (".", 0, 0) < 0)
        abort ();
}

/*
 * What enters
 */

/* Whether the probes of an audit are the samples, with their rows. */
static bool same_probes (const json_t *probes, const struct samples *s)
{
    bool same = json_array_size (probes) == s->nsamples;

    for (size_t i = 0; same && i < s->nsamples; i++) {
        const json_t *p = json_array_get (probes, i);
        const json_t *links = json_object_get (p, "row");
        const struct sample *m = &s->sample[i];
        struct row row;

        same = is_text (p, "initiator",
                        pathset_endpoint (ps, m->initiator)->name)
               && integer (p, "round") == m->round
               && integer (p, "sent") == m->sent
               && json_real_value (json_object_get (p, "p95"))
                      == m->rtt_ns[RTT_P95]
               && pathset_row (ps, m->a, m->b, &row, NULL) == 0
               && json_object_size (links) == row.n;
        for (size_t k = 0; same && k < row.n; k++)
            same = integer (links, net->net.link[row.link[k]].id)
                   == row.count[k];
    }
    return same;
}

static void test_record (void)
{
    struct ledger *l = fresh ("led");
    char nonce[LEDGER_NONCE_BYTES];
    char other[LEDGER_NONCE_BYTES];
    struct verdict *v = verdict_of (VERDICT_FAIL, 2);
    struct ledger_cause check = { LEDGER_CHECK, 42, 300, 1000, NULL, NULL };
    struct ledger_cause sweep = { .why = LEDGER_SWEEP, .uid = 5 };
    struct samples *s;
    json_t *a;
    json_t *f;

    ok (ledger_begin (l, 500, net->net.hash, &check, host, HOSTS, nonce, &err)
                == 1
            && ledger_begin (l, 400, net->net.hash, &sweep, host, 2, other,
                             &err) == 2,
        "two audits begin, the second by an earlier clock");
    v->open = pool_alloc (v->pool, 2, sizeof (*v->open));
    v->open[v->nopen++] = 3;
    v->open[v->nopen++] = 3;
    s = measure (nonce, 2, 400);
    s->job = 99;
    samples_add_host (s, host[1], true);
    samples_add_host (s, host[2], false);
    ok (ledger_record (l, 600, ps, s, v, "says", &err) == 1, "a result");
    ok (ledger_record (l, 601, ps, s, v, "says", &err) < 0 && errno == EEXIST,
        "but once: %s", err.text);
    a = ledger_audit (l, 1, &err);
    ok (a && same_probes (json_object_get (a, "probes"), s),
        "its probes and rows come back");
    f = json_array_get (json_object_get (a, "loopbacks"), 3);
    ok (json_array_size (json_object_get (a, "loopbacks")) == HOSTS
            && is_text (f, "end", host[3])
            && json_real_value (json_object_get (f, "min")) > 400,
        "so do loopbacks, one of each endpoint");
    f = json_array_get (json_object_get (a, "nodes"), 0);
    ok (json_array_size (json_object_get (a, "nodes")) == 1
            && is_text (f, "host", host[0]) && is_text (f, "boot", BOOT)
            && json_is_null (json_object_get (f, "governor"))
            && integer (f, "numa") == 1,
        "and what was known of a node");
    ok (integer (a, "begun") == 500 && integer (a, "ended") == 600
            && integer (a, "about") == 42 && integer (a, "job") == 99
            && is_text (a, "why", "check") && integer (a, "uid") == 1000
            && integer (a, "submitted") == 300
            && is_text (a, "status", "FAIL")
            && is_text (a, "fabric", net->net.hash)
            && json_array_size (json_object_get (a, "hosts")) == HOSTS,
        "and what else is known of it");
    f = json_array_get (json_object_get (a, "findings"), 0);
    ok (is_text (f, "level", "FAIL") && is_text (f, "why", "it is ? slow")
            && json_is_null (json_object_get (f, "stderr_ns"))
            && is_text (json_array_get (json_object_get (f, "suspects"), 0),
                        "id", net->net.link[2].id)
            && !strcmp (json_string_value (json_array_get (
                            json_object_get (a, "limits"), 0)),
                        "no baseline"),
        "its finding, cleaned, its suspect and its limit");
    f = json_object_get (a, "not_judged");
    ok (json_array_size (f) == 1
            && is_text (json_array_get (f, 0), "link", net->net.link[3].id),
        "and what it did not judge, once");
    json_decref (a);

    strcpy (s->nonce, "00000000000000000000000000000000");
    ok (ledger_record (l, 602, ps, s, v, "says", &err) < 0
            && strstr (err.text, "no audit that was begun"),
        "a user's result is refused: %s", err.text);
    samples_destroy (s);
    s = measure (other, 2, 400);
    samples_add_host (s, host[4], true);
    ok (ledger_record (l, 602, ps, s, v, "says", &err) < 0
            && strstr (err.text, "not begun for host"),
        "so is a host's that was not asked: %s", err.text);
    net->net.hash = "another";
    ok (ledger_record (l, 602, ps, s, v, "says", &err) < 0
            && strstr (err.text, "another fabric"),
        "so is another fabric's: %s", err.text);
    net->net.hash = "table";
    a = ledger_audit (l, 2, &err);
    ok (a && json_is_null (json_object_get (a, "status"))
            && json_is_null (json_object_get (a, "uid"))
            && is_text (a, "why", "sweep")
            && json_array_size (json_object_get (a, "probes")) == 0,
        "of all that nothing is kept");
    json_decref (a);
    ok (!ledger_audit (l, 3, &err) && errno == ENOENT, "%s", err.text);
    ok (ledger_check (l, &err) == 0, "and all is sound");
    samples_destroy (s);
    verdict_destroy (v);
    ledger_close (l);
}

static void test_notes (void)
{
    static const struct ledger_counter counters[] = {
        { "0000000000000001/1", "PortXmitWait", 17 },
        { "0000000000000001/1", "SymbolErrorCounter", INT64_MAX },
    };
    static const struct ledger_counter large = { "p", "n", UINT64_MAX };
    struct ledger *l = fresh ("led");
    struct ledger_action action = {
        .node = "h1", .kind = POLICY_DRAIN, .reason = "pmm: h1",
    };
    char text[3000];
    int64_t id;
    json_t *json;

    audit (l, 100, 2, 400, VERDICT_FAIL);
    ok (ledger_counters (l, 1, counters, 2, &err) == 0
            && ledger_counters (l, 1, counters, 2, &err) == 0,
        "counters, twice");
    ok (ledger_counters (l, 9, counters, 2, &err) < 0, "of no audit: %s",
        err.text);
    ok (ledger_counters (l, 1, &large, 1, &err) < 0, "too large: %s",
        err.text);
    memset (text, 'x', sizeof (text));
    text[sizeof (text) - 1] = '\0';
    text[1] = '\033';
    action.why = text;
    id = ledger_intend (l, 200, &action, &err);
    ok (id > 0 && ledger_intend (l, 300, &action, &err) == id,
        "an action that is intended twice is one");
    ok (ledger_done (l, 201, id, &err) == 0
            && ledger_done (l, 202, id, &err) == 0
            && ledger_intend (l, 300, &action, &err) == id + 1,
        "until it is done; the next is another");
    json = ledger_audit (l, 1, &err);
    ok (json_array_size (json_object_get (json, "counters")) == 2
            && json_array_size (json_object_get (json, "actions")) == 2,
        "the audit tells both");
    json_decref (json);
    json = ledger_json (l, LEDGER_ACTIONS, 5, 0, &err);
    ok (json_array_size (json) == 2
            && json_is_null (json_object_get (json_array_get (json, 0),
                                              "done"))
            && integer (json_array_get (json, 1), "done") == 201
            && integer (json_array_get (json, 1), "after") == 1
            && json_is_null (json_object_get (json_array_get (json, 1),
                                              "link")),
        "they are listed, the newest first");
    ok (json_string_length (json_object_get (json_array_get (json, 0), "why"))
            == LEDGER_TEXT_MAX,
        "a why is cut to size");
    ok (!strncmp (json_string_value (json_object_get (
                      json_array_get (json, 0), "why")),
                  "x?x", 3),
        "and cleaned");
    json_decref (json);

    ledger_close (l);
}

static void test_mutes (void)
{
    static const struct ledger_mute mutes[] = {
        { "a/1", NULL, 200, "me", "known" }, { NULL, "h1", 0, "me", "new" },
        { "a/1", "h1", 0, "me", "both" },    { "a/1", NULL, 0, "me", "ever" },
    };
    struct ledger *l = fresh ("led");
    json_t *json;

    for (size_t i = 0; i < 4; i++)
        ok (ledger_mute (l, 100, &mutes[i], &err) == 0, "muted: %s",
            mutes[i].why);
    json = ledger_json (l, LEDGER_MUTES, 0, 0, &err);
    ok (json_array_size (json) == 3
            && is_text (json_array_get (json, 0), "node", "h1")
            && is_text (json_array_get (json, 0), "link", "")
            && is_text (json_array_get (json, 1), "why", "ever")
            && integer (json_array_get (json, 1), "until") == 0
            && is_text (json_array_get (json, 2), "why", "both"),
        "a link, a node, a link at a node: one of each");
    json_decref (json);
    ok (ledger_unmute (l, "a/1", NULL, &err) == 0
            && ledger_unmute (l, "a/1", NULL, &err) < 0 && errno == ENOENT
            && ledger_unmute (l, NULL, "h1", &err) == 0
            && ledger_unmute (l, "a/1", "h1", &err) == 0,
        "and not any more: %s", err.text);
    ledger_close (l);
}

/* An audit without a result at a time, for the fault of nodes; its id. */
static int64_t failed (struct ledger *l, int64_t time, const char *const *node,
                       size_t n, const char *cause)
{
    char nonce[LEDGER_NONCE_BYTES];
    int64_t id = ledger_begin (l, time, net->net.hash, &by_hand, host, HOSTS,
                               nonce, &err);

    for (size_t i = 0; i < n; i++)
        ledger_fault_add (l, id, node[i], cause, &err);
    ledger_give_up (l, time + 1, id, cause, &err);
    return id;
}

static int64_t out_s (struct ledger *l, const char *node, int64_t now)
{
    struct ledger_rows faulty;
    const struct ledger_fault *out;
    int64_t s;

    ledger_faulty (l, now, &faulty, &err);
    out = ledger_is_out (&faulty, node, now);
    s = out ? out->until - now : 0;
    return s;
}

static bool is_failed (const json_t *v, const char *node, const char *cause,
                       json_int_t audits)
{
    return !strcmp (json_string_value (json_object_get (v, "node")), node)
           && !strcmp (json_string_value (json_object_get (v, "cause")), cause)
           && json_integer_value (json_object_get (v, "audits")) == audits;
}

static void test_faults (void)
{
    struct ledger *l = fresh ("led");
    int64_t begun = 0, now = 1000;
    json_t *json;

    ok (ledger_number (l, LEDGER_FIRST, 0, NULL, &begun, &err) == 0
            && ledger_number (l, LEDGER_MEASURED, 0, host[0], &begun, &err) == 0,
        "no audit has measured anything yet");
    audit (l, now, 2, 0, VERDICT_OK);
    ok (ledger_number (l, LEDGER_FIRST, 0, NULL, &begun, &err) == 1 && begun == now
            && ledger_number (l, LEDGER_MEASURED, 0, host[0], &begun, &err) == 1 && begun == now
            && ledger_number (l, LEDGER_MEASURED, 0, "nobody", &begun, &err) == 0,
        "when a node was measured");
    failed (l, now + 10, host, 1, "no launch");
    failed (l, now + 20, NULL, 0, "busy");
    ok (ledger_fault_add (l, 99, host[0], "x", &err) < 0,
        "a fault is of an audit: %s", err.text);
    json = ledger_audit (l, 2, &err);
    ok (json_array_size (json_object_get (json, "faults")) == 1,
        "... and is told with it");
    json_decref (json);
    ok (out_s (l, host[0], now + 11) == LEDGER_OUT_MIN_S - 1
            && out_s (l, host[1], now + 11) == 0
            && out_s (l, host[0], now + 10 + LEDGER_OUT_MIN_S) == 0
            && out_s (l, host[0], now + 10 - LEDGER_OUT_MAX_S) == 0,
        "its node is left out for a while, whatever the clock does");
    for (int i = 1; i < 12; i++) {
        int64_t most = LEDGER_OUT_MIN_S << i;

        failed (l, now + 100 * i, host, 1, "no launch");
        if (out_s (l, host[0], now + 100 * i)
            != (most < LEDGER_OUT_MAX_S ? most : LEDGER_OUT_MAX_S))
            now = 0;
    }
    ok (now > 0, "... twice as long each time, up to a limit");
    json = ledger_json (l, LEDGER_FAILED, now, 0, &err);
    ok (json_array_size (json) == 2
            && is_failed (json_array_get (json, 0), host[0], "no launch", 12)
            && is_failed (json_array_get (json, 1), "", "busy", 1),
        "audits without a result are counted by node and cause");
    json_decref (json);
    ledger_close (l);
    l = ledger_open ("led", LEDGER_CREATE, &err);
    ok (out_s (l, host[0], now + 1200) > 0, "... also after a restart");
    audit (l, now + 1300, 2, 0, VERDICT_OK);
    ok (out_s (l, host[0], now + 1301) == 0, "... until it was measured");
    ledger_close (l);
}

static void test_signs (void)
{
    static const struct ledger_counter then = { "a/1", "SymbolError", 3 };
    static const struct ledger_counter now = { "a/1", "SymbolError", 9 };
    struct ledger *l = fresh ("led");
    uint64_t value = 0;
    int64_t begun = 0;
    json_t *json;

    for (int i = 0; i < 3; i++)
        audit (l, 100 * i, 2, 400, VERDICT_FAIL);
    ok (ledger_counter_last (l, 1, "a/1", "SymbolError", &value, &begun,
                                    &err) == 0
            && ledger_counters (l, 1, &then, 1, &err) == 0
            && ledger_counters (l, 3, &now, 1, &err) == 0
            && ledger_counter_last (l, 3, "a/1", "SymbolError", &value, &begun,
                                    &err)
                   == 1
            && value == 3
            && ledger_counter_last (l, 4, "a/1", "SymbolError", &value, &begun,
                                    &err)
                   == 1
            && value == 9 && begun == 200
            && ledger_counter_last (l, 4, "a/1", "LinkDowned", &value, &begun,
                                    &err)
                   == 0,
        "a counter's last value before an audit");
    ok (ledger_sign_add (l, 3, "a/1", "h1", SIGN_COUNTER, 300, &err) == 0
            && ledger_sign_add (l, 3, "a/1", "h1", SIGN_COUNTER, 301, &err) == 0
            && ledger_sign_add (l, 2, "s/1", NULL, SIGN_WIDTH, 200, &err) == 0,
        "signs, one of them twice");
    ok (ledger_sign_add (l, 4, "a/1", "h1", SIGN_SPEED, 300, &err) < 0,
        "of no audit: %s", err.text);
    json = ledger_json (l, LEDGER_SIGNS, 2, 0, &err);
    ok (json_array_size (json) == 2
            && is_text (json_array_get (json, 0), "kind", "width")
            && json_is_null (json_object_get (json_array_get (json, 0),
                                              "host"))
            && is_text (json_array_get (json, 1), "host", "h1")
            && is_text (json_array_get (json, 1), "link", "a/1")
            && integer (json_array_get (json, 1), "audit") == 3,
        "they are listed, the oldest first");
    json_decref (json);
    json = ledger_json (l, LEDGER_SIGNS, 3, 0, &err);
    ok (json_array_size (json) == 1, "from an audit on");
    json_decref (json);
    json = ledger_audit (l, 3, &err);
    ok (json_array_size (json_object_get (json, "signs")) == 1,
        "and the audit tells its own");
    json_decref (json);
    ledger_close (l);
}

/*
 * What a service keeps and asks
 */

/* The jobs whose comments are due, as digits. */
static const char *due (struct ledger *l, int64_t now, size_t n)
{
    static char text[32];
    json_t *json = ledger_json (l, LEDGER_COMMENTS_DUE, now, n, &err);
    size_t len = 0;

    for (size_t i = 0; i < json_array_size (json); i++)
        len += (size_t)snprintf (text + len, sizeof (text) - len, "%jd",
                                 (intmax_t)integer (json_array_get (json, i),
                                                    "job"));
    text[len] = '\0';
    json_decref (json);
    return text;
}

static void test_comments (void)
{
    struct ledger *l = fresh ("led");

    for (uint64_t job = 1; job <= 4; job++)
        ok (ledger_comment_add (l, 1000, job, 900, "pmm: audit 1 OK", &err)
                == (int64_t)job,
            "a comment for job %ju", (uintmax_t)job);
    ok (ledger_comment_add (l, 1001, 2, 900, "pmm: audit 1 OK", &err) == 2
            && ledger_comment_add (l, 1001, 2, 950, "pmm: audit 1 OK", &err)
                   == 5,
        "the same again is one; of a later job of that number it is not");
    ok (!strcmp (due (l, 1000, 9), "1234"), "due by age");
    ok (!strcmp (due (l, 1001, 9), "12342"), "due by age, when it is time");
    ok (!strcmp (due (l, 1001, 2), "12"), "the oldest first");
    ok (ledger_comment_failed (l, 1001, 1, 1100, "no answer", &err) == 0
            && ledger_comment_done (l, 1002, 2, &err) == 0
            && ledger_comment_done (l, 1003, 2, &err) == 0,
        "one fails, one is done");
    ok (!strcmp (due (l, 1099, 9), "342"), "which are not due");
    ok (!strcmp (due (l, 1100, 9), "1342"), "what failed is so again in time");
    ledger_comment_failed (l, 5000, 3, INT64_MAX, "no answer", &err);
    ok (!strcmp (due (l, 5000, 9), "142"), "no time is too late to name,");
    ok (!strcmp (due (l, 8600, 9), "1342"), "an hour is the longest,");
    ok (!strcmp (due (l, 4999, 9), "1342"),
        "and none waits for a clock that was ahead");
    ok (ledger_comment_add (l, 1100, 2, 900, "pmm: audit 1 OK", &err) == 2,
        "what is done is not begun again");
    ok (ask ("led", "SELECT done FROM comment WHERE id = 2") == 1002
            && ask ("led", "SELECT tries FROM comment WHERE id = 2") == 1
            && ask ("led", "SELECT error = 'no answer' FROM comment"
                           " WHERE id = 3") == 1,
        "what became of them is kept");
    audit (l, 2000, 0, 0, VERDICT_OK);
    ledger_comment_add (l, 2001, 9, 900, "pmm: audit 1 OK", &err);
    ledger_comment_done (l, 2002, 6, &err);
    ok (pruned (l, INT64_MIN, 1) == 0
            && ask ("led", "SELECT count(*) FROM comment") == 5,
        "who prunes loses those that are done and older than all audits");
    ok (pruned (l, INT64_MIN, 0) == 1
            && ask ("led", "SELECT count(*) FROM comment") == 4
            && ask ("led", "SELECT count(*) FROM comment WHERE done") == 0,
        "but none that is to be done");
    ledger_close (l);
}

static int64_t begin_at (struct ledger *l, int64_t time,
                         const struct ledger_cause *cause)
{
    char nonce[LEDGER_NONCE_BYTES];

    return ledger_begin (l, time, net->net.hash, cause, host, HOSTS, nonce,
                         &err);
}

static void test_service (void)
{
    static const struct ledger_cause job = { LEDGER_JOB, 8, 90, -1, NULL,
                                             NULL };
    static const struct ledger_cause again = { LEDGER_CHECK, 8, 95, 1000, NULL,
                                              NULL };
    static const struct ledger_cause other = { LEDGER_CHECK, 9, 95, 2000, NULL,
                                              NULL };
    struct ledger *l = fresh ("led");
    char nonce[LEDGER_NONCE_BYTES];
    struct verdict *v = verdict_of (VERDICT_OK, 0);
    struct samples *s;
    struct ledger_rows silent;
    json_t *begun;

    ok (begin_at (l, 100, &job) == 1 && begin_at (l, 200, &job) < 0
            && errno == EEXIST,
        "a job is audited once: %s", err.text);
    ok (begin_at (l, 300, &again) == 2 && begin_at (l, 400, &other) == 3
            && begin_at (l, 5000, &by_hand) == 4
            && begin_at (l, 500, &by_hand) == 5,
        "requeued it is another; without a time nothing is known");
    begun = ledger_json (l, LEDGER_BEGUN, 200, 1000, &err);
    ok (json_array_size (begun) == 3
            && integer (json_array_get (begun, 0), "begun") == 300
            && is_text (json_array_get (begun, 0), "why", "check"),
        "which there were of that time");
    json_decref (begun);
    ok (number_of (l, LEDGER_SINCE, 300) == 2 && number_of (l, LEDGER_SINCE, 450) == 4
            && number_of (l, LEDGER_SINCE, 9999) == 0,
        "the first since then");
    ok (ledger_begin (l, 600, net->net.hash, &by_hand, host, HOSTS, nonce,
                      &err) == 6
            && ledger_give_up (l, 601, 6, "out of time", &err) == 1
            && ledger_give_up (l, 601, 6, "out of time", &err) == 0,
        "one is given up");
    s = measure (nonce, 0, 0);
    ok (ledger_record (l, 602, ps, s, v, "says", &err) < 0 && errno == EEXIST,
        "its result comes too late: %s", err.text);
    samples_destroy (s);
    s = measure (nonce, 0, 0);
    samples_add_host (s, host[1], true);
    samples_add_host (s, host[2], false);
    ok (ledger_begin (l, 650, net->net.hash, &by_hand, host, HOSTS, s->nonce,
                      &err)
                == 7
            && ledger_record (l, 651, ps, s, v, "says", &err) == 7,
        "a host does not answer");
    samples_destroy (s);
    verdict_destroy (v);
    ok (ledger_list (l, LEDGER_SILENT, 650, 0, &silent, &err) == 0
            && silent.n == 1 && ledger_has_host (&silent, host[2]),
        "that one alone, not those of audits that are given up");
    ok (ledger_list (l, LEDGER_SILENT, 651, 0, &silent, &err) == 0
            && silent.n == 0,
        "since then none");
    ok (ledger_give_up (l, 700, 0, "killed", &err) == 5
            && ask ("led", "SELECT count(*) FROM audit WHERE status ="
                           " 'UNKNOWN' AND complete = 0 AND ended") == 6,
        "then all");
    ledger_close (l);
}

static int64_t age_of (struct ledger *l, uint32_t link)
{
    struct ledger_rows ages;
    int64_t time = -1;

    ledger_list (l, LEDGER_NEWEST, 0, 0, &ages, &err);
    for (size_t i = 0; i < ages.n; i++)
        if (!strcmp (ages.link[i].link, net->net.link[link].id))
            time = ages.link[i].ended;
    return time;
}

/* Of the link at the first host: with whom it was measured, and how much of it
 * was lost. "several", "lost", or a name.
 */
static const char *met (struct ledger *l)
{
    static char text[64];
    const char *link = NULL;
    struct ledger_rows rows;

    for (size_t i = 0; i < net->net.nlinks && !link; i++)
        if (net->net.link[i].kind == LINK_HOST
            && !strcmp (net->net.link[i].host, host[0]))
            link = net->net.link[i].id;
    ledger_link_audits (l, 0, link, host[0], &rows, &err);
    snprintf (text, sizeof (text), "%s",
              rows.seen->lossy  ? "lost"
              : rows.seen->peer ? rows.seen->peer
                                : "several");
    return text;
}

/* Who led, whom it was about, with whom each host was measured. */
static void test_company (void)
{
    const struct ledger_cause cause = {
        .why = LEDGER_AGAIN, .node = host[0], .leader = host[1],
    };
    struct ledger *l = fresh ("led");
    char nonce[LEDGER_NONCE_BYTES];
    struct verdict *verdict = verdict_of (VERDICT_OK, 0);
    struct fabric f = { .nlinks = 0 };
    struct ledger_result r;
    struct ledger_rows rows;
    struct samples *s;
    json_t *row;
    char sql[256];

    ledger_begin (l, 100, net->net.hash, &cause, host, HOSTS, nonce, &err);
    s = measure (nonce, 0, 0);
    ok (ledger_record (l, 101, ps, s, verdict, "says", &err) == 1,
        "an audit with a leader");
    ok (ledger_result (l, 1, &f, false, &r, &err) == 0
            && !strcmp (r.leader, host[1]) && r.asked == HOSTS
            && r.answered == HOSTS && !r.limited,
        "who led it");
    ledger_led (l, 1, NULL, &err);
    ok (ledger_result (l, 1, &f, false, &r, &err) == 0 && !r.leader,
        "... which need not be known");
    ok (ledger_led (l, 1, host[1], &err) == 0, "... or was another");
    tell ("led", "UPDATE member SET answered = 0");
    ok (ledger_result (l, 1, &f, false, &r, &err) == 0 && !r.leader,
        "who did not answer did not");
    row = ledger_json (l, LEDGER_TRIES, 1, 0, &err);
    ok (json_array_size (row) == 1
            && is_text (json_array_get (row, 0), "node", host[0])
            && integer (json_array_get (row, 0), "begun") == 100,
        "which node it was about");
    json_decref (row);
    row = ledger_json (l, LEDGER_NEWEST, 0, 0, &err);
    ok (json_array_size (row) > 0
            && integer (json_array_get (row, 0), "audit") == 1,
        "which links it was the newest to measure");
    json_decref (row);
    ok (ledger_found (l, 1, NULL, &rows, &err) == 0 && rows.n == 0,
        "it found nothing");
    ok (ledger_found (l, 1, net->net.link[0].id, &rows, &err) == 0
            && rows.n == 0,
        "... of a link, either");
    row = ledger_json (l, LEDGER_SUSPECTS, 1, 0, &err);
    ok (json_array_size (row) == 0, "... and suspects none");
    json_decref (row);
    ok (ledger_extent (l, 1, verdict, &err) == 0 && verdict->links >= HOSTS
            && verdict->rounds > 0,
        "how much it measured");
    ok (!strcmp (met (l), "several"), "a host was measured with several");
    snprintf (sql, sizeof (sql),
              "DELETE FROM rtt WHERE route IN (SELECT t.id FROM route t"
              " JOIN name a ON a.id = t.a JOIN name b ON b.id = t.b"
              " WHERE '%s' IN (a.text, b.text)"
              " AND '%s' NOT IN (a.text, b.text))", host[0], host[1]);
    tell ("led", sql);
    if (!strcmp (met (l), "several")) /* the plan has no such pair */
        diag ("no pair of %s and %s", host[0], host[1]);
    ok (!strcmp (met (l), host[1]), "... or with one alone: %s", met (l));
    tell ("led", "UPDATE rtt SET lost = sent");
    ok (!strcmp (met (l), "lost"), "... or most of it was lost");
    samples_destroy (s);
    verdict_destroy (verdict);
    ledger_close (l);
}

static void test_ages (void)
{
    struct ledger *l = fresh ("led");
    size_t links;
    json_t *ages;

    ok (age_of (l, 2) == -1, "nothing is measured");
    audit (l, 100, 2, 400, VERDICT_FAIL);
    audit (l, 300, 2, 400, VERDICT_UNKNOWN);
    begin_at (l, 400, &by_hand);
    ages = ledger_json (l, LEDGER_NEWEST, 0, 0, &err);
    links = json_array_size (ages);
    json_decref (ages);
    ok (age_of (l, 2) == 301
            && (int64_t)links == ask ("led", "SELECT count(DISTINCT link)"
                                             " FROM crossing"),
        "the newest of what is, of %zu links", links);
    ok (pruned (l, 200, 100) == 1 && age_of (l, 2) == 301
            && pruned (l, 350, 100) == 1 && age_of (l, 2) == -1,
        "what is forgotten has no age");
    ledger_close (l);
}

/*
 * What it tells
 */

static double change_of (const json_t *points, size_t i)
{
    return json_real_value (
        json_object_get (json_array_get (points, i), "change_ns"));
}

static struct pathset *resolve (const char *const *name, size_t n, void *arg,
                                struct error *e)
{
    struct tablenet *t = arg;
    uint32_t who[HOSTS];

    (void)e;
    for (size_t i = 0; i < n; i++)
        who[i] = (uint32_t)strtoul (name[i] + 1, NULL, 10) - 1;
    return tablenet_pathset (t, who, n);
}

static size_t runs; /* of the baseline that was last looked at */

/* The baseline of all audits, of each link the newest n; NULL: of none. */
static struct baseline *newest (struct ledger *l, size_t n)
{
    struct baseline *all = ledger_baseline (l, net->net.hash, 1, INT64_MAX,
                                            resolve, net, &err);

    if (all && all->nrows > 0)
        return baseline_merge (
            all, baseline_create (tablenet_pathset (net, NULL, 0)), n, resolve,
            net, &err);
    baseline_destroy (all);
    return NULL;
}

/* How many rows of the newest n audits cross the link, and their mean RTT. */
static size_t crossing (struct ledger *l, uint32_t link, size_t n, double *rtt)
{
    struct baseline *b = newest (l, n);
    size_t count = 0;

    *rtt = 0;
    runs = 0;
    for (size_t i = 0; b && i < b->nruns; i++)
        runs += baseline_rows_end (b, i) > b->run[i].row;
    if (b)
        for (struct baseline_walk w = baseline_walk (b, link);
             baseline_next (&w); count++)
            *rtt += b->row[w.row].rtt_ns;
    *rtt /= count ? (double)count : 1;
    baseline_destroy (b);
    return count;
}

/* An audit whose loopbacks of the first host took about that. */
static int64_t audit_loops (struct ledger *l, int64_t time, double ns)
{
    static const double off[] = { 0, 20, -10 };
    char nonce[LEDGER_NONCE_BYTES];
    int64_t id = ledger_begin (l, time, net->net.hash, &by_hand, host, HOSTS,
                               nonce, &err);
    struct samples *s = measure (nonce, 0, 0);
    struct verdict *v = verdict_of (VERDICT_OK, 0);
    size_t n = 0;

    for (size_t i = 0; i < s->nloopbacks; i++)
        for (int q = 0; s->loopback[i].end == 0 && q < RTT_COUNT; q++)
            s->loopback[i].rtt_ns[q] = ns + off[n / RTT_COUNT] + q, n++;
    id = ledger_record (l, time + 1, ps, s, v, "says", &err);
    verdict_destroy (v);
    samples_destroy (s);
    return id;
}

/* The loopbacks of the first host in the newest two audits, as "RUN:TIME", and
 * how many others there are.
 */
static const char *loops (struct ledger *l, size_t *others)
{
    static char text[96];
    struct baseline *b = newest (l, 2);
    size_t len = 0;

    *others = 0;
    text[0] = '\0';
    for (size_t r = 0; b && r < b->nruns; r++)
        for (size_t i = b->run[r].loopback; i < baseline_loopbacks_end (b, r);
             i++) {
            const struct baseline_loopback *x = &b->loopback[i];

            if (strcmp (pathset_endpoint (b->ps, x->end)->name, host[0]))
                ++*others;
            else
                len += (size_t)snprintf (text + len, sizeof (text) - len,
                                         "%zu:%g ", r, x->time.ns);
        }
    baseline_destroy (b);
    return text;
}

static void test_loopbacks (void)
{
    struct ledger *l = fresh ("led");
    size_t others;

    audit_loops (l, 100, 1000);
    ok (!strcmp (loops (l, &others), "0:1000 ") && others == HOSTS - 1,
        "the middle loopback of an audit: %s", loops (l, &others));
    audit_loops (l, 200, 1100);
    audit_loops (l, 300, 1200);
    ok (!strcmp (loops (l, &others), "0:1200 1:1100 ")
            && others == 2 * (HOSTS - 1),
        "those of the newest audits, the newest first: %s",
        loops (l, &others));
    ledger_close (l);
}

static void test_trend (void)
{
    const char *link = net->net.link[2].id;
    struct ledger *l = fresh ("led");
    double before, rtt;
    size_t all, n;
    json_t *t;

    for (int i = 0; i < 4; i++)
        audit (l, 100 * i, 0, 0, VERDICT_OK);
    all = crossing (l, 2, 1, &before);
    ok (all > 0, "a baseline crosses the link %zu times", all);
    audit (l, 400, 2, 500, VERDICT_FAIL);
    audit (l, 500, 2, 500, VERDICT_UNKNOWN);
    t = ledger_trend (l, net->net.hash, link, 10, &err);
    ok (json_array_size (t) == 6 && fabs (change_of (t, 0)) < 10
            && fabs (change_of (t, 5) - 500) < 10
            && is_text (json_array_get (t, 4), "level", "FAIL")
            && is_text (json_array_get (t, 0), "level", "OK"),
        "the trend shows when it got slow: %+.0f, %+.0f ns",
        change_of (t, 0), change_of (t, 5));
    json_decref (t);
    t = ledger_trend (l, net->net.hash, link, 2, &err);
    ok (json_array_size (t) == 2 && integer (json_array_get (t, 0), "audit")
                                        == 5,
        "the newest two alone");
    json_decref (t);
    t = ledger_trend (l, "unknown", link, 10, &err);
    ok (t && json_array_size (t) == 0, "nothing of another fabric");
    json_decref (t);
    n = crossing (l, 2, 1, &rtt);
    ok (n == all && fabs (rtt - before) < 1,
        "what was suspected enters no baseline: %.0f ns, not %.0f", before,
        rtt);
    ok (crossing (l, 2, 3, &rtt) == 3 * all, "three times as many");
    ok (runs == 5, "in runs of their own, and what other links have of the "
                   "newest two");
    ok (ledger_rebase (l, 600, link, "me", "new cable", &err) == 0
            && crossing (l, 2, 9, &rtt) == 0 && crossing (l, 0, 9, &rtt) > 0,
        "after a rebase its routes have none, others have");
    audit (l, 700, 2, 200, VERDICT_OK);
    n = crossing (l, 2, 1, &rtt);
    ok (n == all && rtt > before + 300,
        "until it is measured again: %.0f ns", rtt);
    t = ledger_trend (l, net->net.hash, link, 10, &err);
    ok (json_array_size (t) == 7 && fabs (change_of (t, 6)) < 10
            && fabs (change_of (t, 0) + 200) < 10,
        "which the trend compares with: %+.0f, %+.0f ns", change_of (t, 0),
        change_of (t, 6));
    json_decref (t);
    t = ledger_json (l, LEDGER_REBASES, 0, 0, &err);
    ok (integer (json_array_get (t, 0), "after") == 6, "since when");
    json_decref (t);
    n = crossing (l, 2, 9, &rtt);
    audit (l, 800, 0, 500, VERDICT_UNKNOWN);
    ok (crossing (l, 2, 9, &rtt) > n, "of another link's doubt, what is not "
                                      "suspected counts");
    tell ("led", "UPDATE finding SET basis = 'traffic' WHERE audit = 8");
    ok (crossing (l, 2, 9, &rtt) == n, "but not beside others' traffic");
    ledger_close (l);
}

/*
 * All audits together
 */

/* An audit of some of a network's endpoints, without noise; its solution, if
 * that is wanted.
 */
static int64_t audit_of (struct ledger *l, int64_t time, struct pathset *set,
                         const double *latency, struct verdict *v,
                         struct solution **sol)
{
    struct simulate_options opts = { .repeats = 1, .seed = 1 };
    struct plan_options how = { .extra_rounds = 1, .seed = 1 };
    struct solve_options solve_opts = { .quantile = RTT_MIDDLE };
    struct plan *probes = plan_make (set, &how, &err);
    struct samples *s = simulate (set, probes, latency, &opts, &err);
    const char *who[LINKS_MAX];
    int64_t id;

    for (size_t i = 0; i < pathset_size (set); i++)
        who[i] = pathset_endpoint (set, i)->host;
    id = ledger_begin (l, time, "table", &by_hand, who, pathset_size (set),
                       s->nonce, &err);
    if (sol)
        *sol = solve (set, s, &solve_opts, &err);
    if (ledger_record (l, time + 1, set, s, v, "says", &err) != id)
        abort ();
    samples_destroy (s);
    plan_destroy (probes);
    return id;
}

/* The ledger's solution; NULL with err. */
static struct solution *together (struct ledger *l, struct pathset *all,
                                  const struct ledger_ageing *ageing)
{
    struct solve_options opts = { .quantile = RTT_MIDDLE };
    struct solution *sol = NULL;
    struct observations o;

    if (ledger_combine (l, all, ageing, &o, &err) == 0)
        sol = solve_observations (all, &o, &opts, &err);
    observations_clear (&o);
    return sol;
}

static double latency_of (const struct solution *sol, uint32_t link)
{
    for (size_t i = 0; sol && i < sol->nlinks; i++)
        if (sol->link[i].link == link)
            return sol->link[i].latency_ns;
    return NAN;
}

/* Record an audit that measured what link 2 carries, one way and the other; it
 * FAILs if that is little. both 0: it measured no rates.
 */
static int64_t audit_rates (struct ledger *l, int64_t time, double both)
{
    static const struct fact pcie
        = { FACT_RATE_PCIE, .n = { 8, 16, 16, 16, 100e9 } };
    static const struct fact lost = { FACT_RATE_LOST, .n = { 1, 4 } };
    struct verdict_rate rate[] = { { 4, both, 197e9 }, { 5, 196e9, NAN } };
    struct verdict *v = verdict_of (both > 0 && both < 150e9 ? VERDICT_FAIL
                                                             : VERDICT_OK, 2);
    char nonce[LEDGER_NONCE_BYTES];
    int64_t id = ledger_begin (l, time, net->net.hash, &by_hand, host, HOSTS,
                               nonce, &err);
    struct samples *s = measure (nonce, 0, 0);

    if (v->nfindings > 0) {
        v->finding->basis = BASIS_RATE;
        v->finding->excess_ns = NAN;
        v->finding->rate_bits = both;
        v->finding->rate_expected_bits = 197e9;
        finding_add_fact (v, v->finding, pcie);
        finding_add_fact (v, v->finding, lost);
    }
    v->rate = rate;
    v->nrates = both > 0 ? 2 : 0;
    id = ledger_record (l, time + 1, ps, s, v, "says", &err);
    verdict_destroy (v);
    samples_destroy (s);
    return id;
}

static size_t nsuspected (struct ledger *l)
{
    struct ledger_rows rows;
    size_t n = ledger_suspected (l, net->net.link[2].id, &rows, &err) == 0
                   ? rows.n
                   : 99;
    return n;
}

/* What links carry, and findings of it. */
static void test_rates (void)
{
    const char *link = net->net.link[2].id;
    struct ledger *l = fresh ("led");
    struct fabric f = { .nlinks = 0 };
    struct ledger_result r;
    struct ledger_rows rows;
    const struct finding *x;
    struct baseline *b;
    int64_t ended;
    size_t n = 0;
    double rtt;
    json_t *t;

    audit_rates (l, 100, 196e9);
    audit_rates (l, 200, 98e9);
    tell ("led", "UPDATE rate SET offered = 200e9 WHERE way = 0");
    ok (ledger_result (l, 2, &f, true, &r, &err) == 0
            && (x = r.verdict->finding)->basis == BASIS_RATE
            && x->rate_bits == 98e9 && x->rate_expected_bits == 197e9
            && x->nfacts == 3 && x->fact[1].kind == FACT_RATE_PCIE
            && x->fact[1].n[4] == 100e9 && x->fact[2].kind == FACT_SAID
            && strstr (x->fact[2].name[0], "1 of 4 bursts"),
        "a finding has its rate, and the facts that tell why");
    ok (ledger_list (l, LEDGER_RATES, 0, 0, &rows, &err) == 0 && rows.n == 2
            && rows.rate[0].audit == 2 && rows.rate[0].bits == 98e9
            && rows.rate[1].way == 1 && isnan (rows.rate[1].expected),
        "the newest rates of a link, each way");
    ok (ledger_number (l, LEDGER_RATED, 0, link, &ended, &err) == 1 && ended == 201
            && ledger_number (l, LEDGER_RATED, 0, "none", &ended, &err) == 0,
        "when they were measured");
    t = ledger_audit (l, 2, &err);
    ok (json_array_size (json_object_get (t, "rates")) == 2, "as JSON, too");
    json_decref (t);
    t = ledger_trend (l, net->net.hash, link, 10, &err);
    ok (json_number_value (
            json_object_get (json_array_get (t, 0), "rate_bits")) == 196e9
            && json_number_value (
                   json_object_get (json_array_get (t, 1), "rate_bits"))
                   == 98e9,
        "the trend has the slower direction");
    json_decref (t);
    ok (crossing (l, 2, 9, &rtt) > 0 && runs == 2,
        "its round trips count for the baseline");
    b = newest (l, 9);
    ok (b && b->nrates == 1 && b->rate->audit == 1 && b->rate->arc == 4
            && b->rate->bits == 196e9f && b->rate->expected == 200e9f,
        "what it carried does not");
    baseline_destroy (b);

    audit_rates (l, 300, 0);
    ok (nsuspected (l) == 1, "an audit without rates does not clear it");
    audit_rates (l, 310, 160e9);
    ok (nsuspected (l) == 1, "nor one that could not judge it");
    ok (ledger_list (l, LEDGER_LINKS, 0, 0, &rows, &err) == 0, "links");
    for (size_t i = 0; i < rows.n; i++)
        n += !strcmp (rows.link[i].link, link)
             && (rows.link[i].finding < 0 ? rows.link[i].audit == 4
                                          : rows.link[i].audit == 2
                                                && rows.link[i].rate_bits
                                                       == 98e9);
    ok (n == 2, "it is measured by the newest, and its rate is still less");
    ok (ledger_list (l, LEDGER_FAILS, 0, 0, &rows, &err) == 0 && rows.n == 1
            && rows.link[0].basis == BASIS_RATE,
        "so it FAILs");
    ok (ledger_link_audits (l, 1, link, host[0], &rows, &err) == 0
            && rows.n == 4 && rows.seen[0].rated
            && !rows.seen[1].rated && !rows.seen[1].clean
            && !rows.seen[2].rated && rows.seen[2].clean
            && !rows.seen[3].rated && rows.seen[3].clean,
        "each audit says whether it measured that");

    audit_rates (l, 400, 190e9);
    ok (nsuspected (l) == 0, "one with rates does");
    ok (ledger_list (l, LEDGER_FAILS, 0, 0, &rows, &err) == 0 && rows.n == 0,
        "and it FAILs no more");
    ok (ledger_rebase (l, 450, link, "me", "new cable", &err) == 0
            && (b = newest (l, 9)) && b->nrates == 0,
        "none of before it was rebased is in the baseline");
    baseline_destroy (b);
    audit (l, 500, 2, 400, VERDICT_FAIL);
    audit_rates (l, 600, 0);
    ok (nsuspected (l) == 0, "of a latency, any does");
    audit_rates (l, 700, 98e9);
    audit (l, 800, 2, 400, VERDICT_FAIL);
    audit_rates (l, 900, 0);
    ok (nsuspected (l) == 2, "of both, one with rates");
    ok (pruned (l, 350, 1000) == 4
            && ask ("led", "SELECT count(*) FROM rate") == 4
            && ask ("led", "SELECT count(*) FROM fact") == 3,
        "rates go with their audits");
    ledger_close (l);
}

static void test_separate (void)
{
    enum { AUDITS = 40, SIZE = 3, NLINKS = 48 };
    const struct ledger_ageing ageing = {
        RTT_MIDDLE, 5000, INT64_MAX, 1000, 0,
    };
    struct tablenet *tree = tablenet_fattree (4, 3, TABLE_MINHOP, 1);
    struct pathset *all = tablenet_pathset (tree, NULL, 0);
    struct verdict *v = verdict_of (VERDICT_OK, 0);
    struct ledger *l = fresh ("led");
    double latency[NLINKS], worst = 0;
    bool alone[NLINKS] = { 0 };
    size_t more = 0, known = 0;
    struct solution *sol;

    for (size_t j = 0; j < NLINKS; j++)
        latency[j] = 100 + (double)(j * j % 53);
    ok (!together (l, all, &ageing) && errno == ENOENT, "nothing: %s",
        err.text);
    for (int i = 0; i < AUDITS; i++) {
        struct pathset *set = tablenet_random (tree, SIZE, (uint64_t)i + 1);

        audit_of (l, 100 * i, set, latency, v, &sol);
        for (uint32_t j = 0; j < NLINKS; j++)
            alone[j] = alone[j] || !isnan (latency_of (sol, j));
        solution_destroy (sol);
        pathset_destroy (set);
    }
    sol = together (l, all, &ageing);
    for (uint32_t j = 0; j < NLINKS; j++)
        if (!isnan (latency_of (sol, j))) {
            known++;
            more += !alone[j];
            worst = fmax (worst, fabs (latency_of (sol, j) - latency[j]));
        }
    ok (more > 20, "%d audits of %d hosts tell apart %zu links, %zu of which "
                   "none of them does", AUDITS, SIZE, known, more);
    ok (worst < 1e-6, "exactly: %.1g ns off at most", worst);
    ok (sol && (int64_t)sol->rows <= ask ("led", "SELECT count(*) FROM route"),
        "by no more rows than there are routes");
    solution_destroy (sol);
    verdict_destroy (v);
    ledger_close (l);
    pathset_destroy (all);
    tablenet_destroy (tree);
}

/* Link 2 gets slower; what is known of it then, by these rules. */
static double of_link_2 (struct ledger *l, const struct ledger_ageing *ageing)
{
    struct solution *sol = together (l, ps, ageing);
    double ns = latency_of (sol, 2);

    solution_destroy (sol);
    return ns;
}

/* What is UNKNOWN of one link, as of one that is flooded, takes the baseline
 * from no other; what is UNKNOWN of the whole audit does.
 */
static void test_unknown (void)
{
    struct verdict *v = verdict_of (VERDICT_UNKNOWN, 2);
    double latency[LINKS_MAX], rtt;
    struct ledger *l = fresh ("led");

    for (size_t j = 0; j < LINKS_MAX; j++)
        latency[j] = 100;
    audit_of (l, 1000, ps, latency, v, NULL);
    ok (crossing (l, 2, 10, &rtt) == 0 && runs > 0,
        "a link is UNKNOWN: the others have a baseline");
    ledger_close (l);
    l = fresh ("led");
    verdict_limit (v, VERDICT_UNKNOWN, fact_said ("2 nodes did not answer"));
    audit_of (l, 1000, ps, latency, v, NULL);
    ok (crossing (l, 2, 10, &rtt) == 0 && runs == 0,
        "an audit is UNKNOWN: none has");
    ledger_close (l);
    l = fresh ("led");
    v->limited = false;
    v->nfindings = 0;
    verdict_add_number (v, &v->open, &v->nopen, 2);
    audit_of (l, 1000, ps, latency, v, NULL);
    ok (crossing (l, 2, 10, &rtt) == 0 && runs == 1,
        "it is for what it did not judge: all else has");
    v->nfindings = 1;
    verdict_destroy (v);
    ledger_close (l);
}

/* What is slower by a host's loopback as well is how the host is from now on.
 */
static void test_node (void)
{
    struct verdict *v = verdict_of (VERDICT_WARN, 2);
    double latency[LINKS_MAX], rtt;
    struct ledger *l = fresh ("led");

    for (size_t j = 0; j < LINKS_MAX; j++)
        latency[j] = 100;
    audit_of (l, 1000, ps, latency, v, NULL);
    ok (crossing (l, 2, 10, &rtt) == 0 && runs == 1,
        "a link that is slow has no baseline");
    v->finding[0].kind = FINDING_NODE;
    audit_of (l, 1050, ps, latency, v, NULL);
    ok (crossing (l, 2, 10, &rtt) == 0 && runs == 2,
        "nor has one whose host explains a part of it");
    v->finding[0].basis = BASIS_LOOPBACK;
    audit_of (l, 1100, ps, latency, v, NULL);
    ok (crossing (l, 2, 10, &rtt) > 0 && runs == 3,
        "one whose host is slow by itself has");
    verdict_add (v, v->finding->level, BASIS_BASELINE)->kind = FINDING_HOST_END;
    v->finding[1].excess_ns = 400;
    verdict_add_number (v, &v->finding[1].suspect, &v->finding[1].nsuspects, 2);
    finding_add_fact (v, &v->finding[1], fact_said ("both"));
    audit_of (l, 1200, ps, latency, v, NULL);
    ok (crossing (l, 2, 1, &rtt) > 0 && runs == 2,
        "of both it has what it had");
    verdict_destroy (v);
    ledger_close (l);
}

static void test_ageing (void)
{
    struct verdict *good = verdict_of (VERDICT_OK, 0);
    struct verdict *bad = verdict_of (VERDICT_FAIL, 2);
    struct verdict *unknown = verdict_of (VERDICT_UNKNOWN, 0);
    struct ledger_ageing ageing = {
        RTT_MIDDLE, 3000, INT64_MAX, 1000, 0,
    };
    struct ledger *l = fresh ("led");
    double latency[LINKS_MAX], found;

    for (size_t j = 0; j < LINKS_MAX; j++)
        latency[j] = 100;
    audit_of (l, 1000, ps, latency, good, NULL);
    audit_of (l, 1500, ps, latency, unknown, NULL);
    latency[2] = 500;
    audit_of (l, 3000, ps, latency, bad, NULL);
    found = of_link_2 (l, &ageing);
    ok (fabs (found - (25 + 100 * M_SQRT1_2 / 2 + 500)
                          / (1.25 + M_SQRT1_2 / 2)) < 1e-6,
        "two half-lives count a quarter: %.1f ns", found);
    ageing.half_life_s = 0;
    found = of_link_2 (l, &ageing);
    ok (fabs (found - 700 / 3.) < 1e-6, "without, the same: %.1f ns", found);
    ageing.until = 2000;
    found = of_link_2 (l, &ageing);
    ok (fabs (found - 100) < 1e-6, "before the change: %.1f ns", found);
    ageing = (struct ledger_ageing){
        RTT_MIDDLE, 0, INT64_MAX, 1000, 0,
    };
    found = of_link_2 (l, &ageing);
    ok (fabs (found - 700 / 3.) < 1e-6,
        "by a clock that is behind, all are new: %.1f ns", found);
    ageing.now = 3000 + 10500;
    audit_of (l, 3000 + 10400, ps, latency, bad, NULL);
    found = of_link_2 (l, &ageing);
    ok (fabs (found - 500) < 1e-6, "in time the change is all: %.1f ns",
        found);
    latency[2] = 90;
    ledger_rebase (l, 13500, net->net.link[2].id, "me", "repaired", &err);
    audit_of (l, 13500, ps, latency, good, NULL);
    found = of_link_2 (l, &ageing);
    ok (fabs (found - 90) < 1e-6, "a repair at once: %.1f ns", found);
    verdict_destroy (good);
    verdict_destroy (bad);
    verdict_destroy (unknown);
    ledger_close (l);
}

/* What is enough is taken of the newest; of a host that is not in it, its own
 * newest.
 */
static void test_enough (void)
{
    static const uint32_t first[] = { 0, 1, 2 }, last[] = { 1, 2, 3 };
    struct ledger_ageing ageing = { RTT_MIDDLE, 3000, INT64_MAX, 0, 1 };
    struct verdict *v = verdict_of (VERDICT_OK, 0);
    struct pathset *some = tablenet_pathset (net, first, 3);
    struct pathset *others = tablenet_pathset (net, last, 3);
    struct ledger *l = fresh ("led");
    double latency[LINKS_MAX];
    size_t old = 0, new = 0, of_first = 0;
    struct observations o;

    for (int i = 0; i < 5; i++) {
        for (size_t j = 0; j < LINKS_MAX; j++)
            latency[j] = 100 + 10 * i;
        audit_of (l, 1000 + i, i < 4 ? some : others, latency, v, NULL);
    }
    if (ledger_combine (l, ps, &ageing, &o, &err) < 0)
        abort ();
    for (size_t i = 0; i < o.n; i++) {
        bool is_first = o.v[i].a == 0 || o.v[i].b == 0;
        double links = 0;

        for (size_t k = 0; k < o.v[i].n; k++)
            links += o.v[i].count[k];
        of_first += is_first;
        old += is_first && fabs (o.v[i].rtt_ns - 130 * links) < 1e-6;
        new += !is_first && fabs (o.v[i].rtt_ns - 140 * links) < 1e-6;
    }
    ok (new > 0 && new + of_first == o.n,
        "enough: of the newest audit alone");
    ok (old > 0 && old == of_first,
        "... and of the host that it lacks, of its own newest");
    observations_clear (&o);
    verdict_destroy (v);
    ledger_close (l);
    pathset_destroy (some);
    pathset_destroy (others);
}

struct taken {
    struct observations o[2];
    size_t n;
};

static void take (void *arg, size_t time, struct observations *o)
{
    struct taken *t = arg;

    t->o[time] = *o;
    t->n++;
}

static bool same_rows (const struct observations *a,
                       const struct observations *b)
{
    bool same = a->n == b->n && a->n > 0;

    for (size_t i = 0; i < a->n && same; i++)
        same = a->v[i].a == b->v[i].a && a->v[i].b == b->v[i].b
               && a->v[i].rtt_ns == b->v[i].rtt_ns
               && a->v[i].var == b->v[i].var && a->v[i].n == b->v[i].n;
    return same;
}

/* Several times together are what each is alone. Of two hosts that the newest
 * audit lacks, each has all that was measured of it last, also with the other.
 */
static void test_times (void)
{
    static const uint32_t first[] = { 0, 1, 2 }, last[] = { 2, 3 };
    const struct ledger_ageing ageing[2] = {
        { RTT_MIDDLE, 1001, 1001, 1000, 1 },
        { RTT_MIDDLE, 3000, INT64_MAX, 1000, 1 },
    };
    struct verdict *v = verdict_of (VERDICT_OK, 0);
    struct pathset *some = tablenet_pathset (net, first, 3);
    struct pathset *others = tablenet_pathset (net, last, 2);
    struct ledger *l = fresh ("led");
    double latency[LINKS_MAX];
    struct taken t = { .n = 0 };
    struct observations o[2];

    for (int i = 0; i < 3; i++) {
        for (size_t j = 0; j < LINKS_MAX; j++)
            latency[j] = 100 + 10 * i;
        audit_of (l, 1000 + i, i < 2 ? some : others, latency, v, NULL);
    }
    for (int i = 0; i < 2; i++)
        if (ledger_combine (l, ps, &ageing[i], &o[i], &err) < 0)
            abort ();
    ok (o[1].n == o[0].n + 1, "two hosts have what was measured of them last: "
                              "%zu rows, and one", o[0].n);
    ok (ledger_combine_times (l, ps, ageing, 2, take, &t, &err) == 0
            && t.n == 2 && same_rows (&t.o[0], &o[0])
            && same_rows (&t.o[1], &o[1]),
        "times together are as each of them alone");
    for (int i = 0; i < 2; i++) {
        observations_clear (&o[i]);
        observations_clear (&t.o[i]);
    }
    verdict_destroy (v);
    ledger_close (l);
    pathset_destroy (some);
    pathset_destroy (others);
}

static void test_prune (void)
{
    /* the fourth by a clock that is ahead, the fifth by one far behind */
    static const int64_t begun[] = { 100, 200, 300, 9999, 5, 600 };
    struct ledger *l = fresh ("led");
    json_t *t;

    for (size_t i = 0; i < 6; i++) {
        net->net.hash = i < 2 ? "old" : "new";
        audit (l, begun[i], 2, 400, VERDICT_FAIL);
    }
    net->net.hash = "table";
    ok (pruned (l, 250, 100) == 2 && number_of (l, LEDGER_NEXT, 0) == 3,
        "by age: the first two");
    ok (ask ("led", "SELECT count(*) FROM epoch") == 1
            && ask ("led", "SELECT count(*) FROM route") > 0
            && ask ("led", "SELECT count(*) FROM crossing WHERE route"
                           " NOT IN (SELECT id FROM route)") == 0
            && ask ("led", "SELECT min(audit) FROM rtt") == 3
            && ask ("led", "SELECT min(audit) FROM suspect") == 3,
        "and with them all that was of them alone");
    ok (pruned (l, 5000, 100) == 1
            && number_of (l, LEDGER_NEXT, 0) == 4,
        "no further than one that seems younger");
    ok (pruned (l, INT64_MIN, 2) == 1
            && number_of (l, LEDGER_NEXT, 0) == 5
            && pruned (l, INT64_MIN, 2) == 0,
        "by number: two are left");
    ok (pruned (l, INT64_MIN, 0) == 2
            && ask ("led", "SELECT count(*) FROM route") == 0
            && audit (l, 1, 0, 0, VERDICT_OK) == 7,
        "none are; a number is not given twice");
    t = ledger_json (l, LEDGER_AUDITS, 10, 0, &err);
    ok (json_array_size (t) == 1 && ledger_check (l, &err) == 0,
        "and all is sound");
    json_decref (t);
    ledger_close (l);
}

/*
 * Faults
 */

static void test_lock (void)
{
    struct ledger *a = fresh ("led");
    struct ledger *b = ledger_open ("led", LEDGER_WRITE, &err);
    struct ledger *c = ledger_open ("led", LEDGER_READ, &err);

    sqlite3_busy_timeout (b->db, 20);
    audit (a, 100, 0, 0, VERDICT_OK);
    db_begin (a, &err);
    ok (!a->failed && audit (b, 200, 0, 0, VERDICT_OK) < 0
            && err.fault == ERROR_WORLD && strstr (err.text, "locked"),
        "the lock of another: %s", err.text);
    ok (number_of (c, LEDGER_NEXT, 0) == 1, "who reads does not wait");
    db_end (a, 0);
    ok (audit (b, 200, 0, 0, VERDICT_OK) == 2, "nor does anyone afterwards");
    ledger_close (a);
    ledger_close (b);
    ledger_close (c);
}

/* Write audits in a process of its own until one fails; 0 if it says so and
 * what it has said to be there, is. */
static int fill (void)
{
    struct rlimit limit = { 200 << 10, 200 << 10 };
    struct ledger *l = fresh ("full");
    int64_t last = 0, id;

    signal (SIGXFSZ, SIG_IGN);
    setrlimit (RLIMIT_FSIZE, &limit);
    while ((id = audit (l, 1, 2, 400, VERDICT_FAIL)) > 0)
        last = id;
    if (err.fault != ERROR_WORLD || !strstr (err.text, "full: cannot be"))
        return 1;
    /* and it can still be read */
    if (last == 0 || number_of (l, LEDGER_NEXT, last - 1) != last)
        return 2;
    ledger_close (l);
    return 0;
}

/* Salvage what is there in a process of its own that has room for half. */
static int salvage_half (void)
{
    struct rlimit limit = { 100 << 10, 100 << 10 };
    struct ledger *l = fresh ("new");

    signal (SIGXFSZ, SIG_IGN);
    setrlimit (RLIMIT_FSIZE, &limit);
    if (ledger_salvage (l, "full", &err) >= 0
        || !strstr (err.text, "new: cannot be written"))
        return 1;
    ledger_close (l);
    l = ledger_open ("new", LEDGER_READ, &err);
    return l || !strstr (err.text, "is half of what");
}

/* Audits by result, and what is told of what holds. */
static void test_notices (void)
{
    struct ledger *l = fresh ("led");
    char *keys[] = { "x:1", "x:2" };
    const struct ledger_notice a = {
        .keys = { keys, 2 }, .event = "cable", .words = "a", .node = "h0001"
    };
    const struct ledger_notice b
        = { .keys = { keys + 1, 1 }, .event = "cable", .words = "b" };
    json_t *totals, *rows;
    size_t k = 0;

    audit (l, 100, STRANGER, 0, VERDICT_OK);
    audit (l, 100, STRANGER, 0, VERDICT_OK);
    pruned (l, 0, 1);
    totals = ledger_json (l, LEDGER_TOTALS, 0, 0, &err);
    ok (json_array_size (totals) == 1
            && is_text (json_array_get (totals, 0), "result", "OK")
            && integer (json_array_get (totals, 0), "audits") == 2,
        "deleted audits count");
    for (; k < 4; k++)
        ledger_notices (l, 1000 + (int64_t)k, "x:", k % 2 ? &b : &a, 1, &err);
    rows = ledger_json (l, LEDGER_UNTOLD, 0, 10, &err);
    ok (json_array_size (rows) == 1
            && !strcmp (json_text (json_array_get (rows, 0), "words"), "a")
            && !strcmp (json_text (json_array_get (rows, 0), "node"), "h0001")
            && ledger_told (l, json_int (json_array_get (rows, 0), "id", 0), "",
                            &err) == 0,
        "a notice that holds, by one key or another, is told once");
    json_decref (rows);
    ledger_notices (l, 2000, "y:", NULL, 0, &err);
    ok (ask ("led", "SELECT count(*) FROM notice WHERE over IS NULL") == 1,
        "another class ends no notice");
    ledger_notices (l, 2000, "x:", NULL, 0, &err);
    pruned (l, 2001, INT64_MAX);
    ledger_notices (l, 3000, "x:", &a, 1, &err);
    rows = ledger_json (l, LEDGER_NOTICES, 0, 0, &err);
    ok (json_array_size (rows) == 2
            && ask ("led", "SELECT count(*) FROM notice WHERE told IS NULL") == 1,
        "what was over and is deleted is new");
    json_decref (rows);
    json_decref (totals);
    ledger_close (l);
}

/* What is read into structs: a column that none of them has is named. */
static void test_rows (void)
{
    const struct ledger_action drain
        = { .node = "h1", .kind = POLICY_DRAIN, .reason = "r", .why = "w" };
    char *key = "x:1";
    const struct ledger_notice notice
        = { .keys = { &key, 1 }, .event = "e", .words = "w" };
    struct fabric f = { .nlinks = 0 };
    struct ledger *l = fresh ("led");
    struct ledger_result r;
    struct ledger_rows rows;
    size_t read = 0;

    audit (l, 100, 2, 400, VERDICT_FAIL);
    begin_at (l, 100, &(struct ledger_cause){ LEDGER_AGAIN, .node = host[0] });
    failed (l, 100, host, 1, "no launch");
    ledger_intend (l, 100, &drain, &err);
    ledger_mute (l, 100,
                 &(struct ledger_mute){ .node = "h1", .who = "me", .why = "w" },
                 &err);
    ledger_sign_add (l, 1, net->net.link[2].id, "h1", SIGN_WIDTH, 100, &err);
    ledger_say (l, "h1", "words", true, &err);
    ledger_comment_add (l, 100, 7, 0, "text", &err);
    ledger_notices (l, 100, "x:", &notice, 1, &err);
    tell ("led", "UPDATE node SET kernel = '6.1';"
                 "INSERT INTO member SELECT 1, id, 0 FROM name"
                 " WHERE text = 'no launch'");
    for (int i = 0; i < LEDGER_KINDS; i++) {
        int rc = ledger_list (l, (enum ledger_kind)i,
                              i == LEDGER_AUDITS || i == LEDGER_ACTIONS ? 10
                                                                        : 0,
                              1000, &rows, &err);

        if (rc < 0)
            diag ("kind %d: %s", i, err.text);
        read += rc == 0;
    }
    ok (read == LEDGER_KINDS, "rows of all %d kinds", LEDGER_KINDS);
    ok (ledger_result (l, 1, &f, true, &r, &err) == 0
            && r.status == VERDICT_FAIL && r.verdict->nfindings == 1
            && r.verdict->finding->excess_ns == 400 && r.suspects.n == 1
            && isnan (r.verdict->finding->stderr_ns),
        "a finding is as it was judged");
    ledger_close (l);
}

/* The times of flows and ways, as they come back. */
static void test_flows (void)
{
    static const double above[] = { 0, NAN, 12.3, 1e6 };
    struct ledger *l = fresh ("led");
    char nonce[LEDGER_NONCE_BYTES];
    struct verdict *v = verdict_of (VERDICT_OK, 0);
    const struct baseline_run *run;
    struct baseline *base;
    struct samples *s;
    size_t ways = 0;
    double flow_ns[4], least;

    ledger_begin (l, 100, net->net.hash, &by_hand, host, HOSTS, nonce, &err);
    s = measure (nonce, STRANGER, 0);
    least = s->sample[0].rtt_ns[RTT_MIN];
    for (int i = 0; i < 4; i++)
        flow_ns[i] = least + above[i];
    s->sample[0].flow_ns = memcpy (malloc (sizeof (flow_ns)), flow_ns,
                                   sizeof (flow_ns));
    s->sample[0].nflows = 4;
    s->sample[1].way_ns[0] = 512;
    s->sample[1].way_ns[1] = 1024;
    s->spread = 3;
    s->level = 2;
    s->rc = 1;
    ok (ledger_record (l, 101, ps, s, v, "says", &err) > 0,
        "an audit with flows");
    base = ledger_baseline (l, net->net.hash, 1, INT64_MAX, resolve, net, &err);
    run = base ? baseline_spread (base) : NULL;
    ok (run && run->spread == 3 && run->level == 2 && run->rc == 1
            && base->nflows == 4,
        "it has them in the baseline: of 3 switches, on level 2");
    for (size_t i = 0; base && i < base->nrows; i++)
        ways += fabs (base->row[i].more_ns) == 512;
    ok (ways == 1, "... and each way, where it is known");
    for (int i = 0; base && i < 4; i++) {
        double is = base->flow_ns[i];

        ok (isnan (above[i])
                ? isnan (is)
                : fabs (is - least - fmin (above[i], DB_FLOW_MAX)) <= 1,
            "... of %g ns", is);
    }
    baseline_destroy (base);
    samples_destroy (s);
    verdict_destroy (v);
    ok (pruned (l, 0, 0) == 1
            && ask ("led", "SELECT count(*) FROM flow") == 0
            && ask ("led", "SELECT count(*) FROM way") == 0
            && ask ("led", "SELECT count(*) FROM spread") == 0,
        "and loses them with the audit");
    ledger_close (l);
}

static void test_full (void)
{
    struct ledger *l;
    pid_t pid = fork ();
    int64_t audits, rtts;
    int status;

    if (pid == 0)
        _exit (fill ());
    waitpid (pid, &status, 0);
    ok (WIFEXITED (status) && WEXITSTATUS (status) == 0,
        "no room is an error in words (%d)", status);
    if ((pid = fork ()) == 0)
        _exit (salvage_half ());
    waitpid (pid, &status, 0);
    ok (WIFEXITED (status) && WEXITSTATUS (status) == 0,
        "none to salvage it is one as well, nothing half (%d)", status);
    audits = ask ("full", "SELECT count(*) FROM audit WHERE ended");
    rtts = ask ("full", "SELECT count(*) FROM rtt");
    ok (audits > 0 && rtts > 0 && rtts % audits == 0,
        "what is there is whole: %jd audits, %jd RTTs", (intmax_t)audits,
        (intmax_t)rtts);
    l = ledger_open ("full", LEDGER_WRITE, &err);
    ok (l && ledger_check (l, &err) == 0
            && audit (l, 1, 2, 400, VERDICT_FAIL) > audits,
        "and it goes on where there is room");
    ledger_close (l);
}

/* Copy what is left of "hit" to "new": how many of its results came; -1 where
 * it cannot even be opened, -2 where one is not whole, or something is wrong.
 */
static int64_t salvaged (int64_t audits)
{
    int64_t lost, left, ended, rtts, findings, loops, nodes;
    struct ledger *l = ledger_open ("hit", LEDGER_READ, &err);

    ledger_close (l);
    if (!l)
        return -1;
    l = fresh ("new");
    lost = ledger_salvage (l, "hit", &err);
    left = ask ("new", "SELECT count(*) FROM audit");
    ended = ask ("new", "SELECT count(*) FROM audit WHERE ended");
    rtts = ask ("new", "SELECT count(*) FROM rtt");
    loops = ask ("new", "SELECT count(*) FROM loopback");
    nodes = ask ("new", "SELECT count(*) FROM node");
    findings = ask ("new", "SELECT count(*) FROM finding");
    if (lost >= 0
        && (ledger_check (l, &err) < 0 || left + lost < audits
            || rtts != ended * (int64_t)plan_probes (plan) * 2
            || findings != ended || loops != ended * HOSTS
            || nodes != ended))
        ended = -2;
    ledger_close (l);
    return lost < 0 ? -1 : ended;
}

static void test_damage (void)
{
    struct ledger *l = fresh ("bad");
    char junk[4096];
    size_t hits = 0, crashed = 0, said = 0, some = 0, wrong = 0;
    struct ledger_action action = { "h1", "a/1", POLICY_DRAIN, "slow", "why" };
    struct ledger_mute known = { .link = "a/1", .who = "me", .why = "known" };
    int64_t pages, left;

    for (int i = 0; i < 5; i++)
        audit (l, i, 2, 400, VERDICT_FAIL);
    ledger_intend (l, 1, &action, &err);
    ledger_mute (l, 1, &known, &err);
    ledger_comment_add (l, 1, 7, 1, "pmm: audit 1 OK", &err);
    ledger_sign_add (l, 2, "a/1", "h1", SIGN_WIDTH, 1, &err);
    ledger_say (l, "h1", "wait", true, &err);
    ledger_rebase (l, 1, "a/1", "me", "new", &err);
    ledger_close (l);
    tell ("bad", "PRAGMA wal_checkpoint (TRUNCATE)");
    pages = ask ("bad", "PRAGMA page_count");
    memset (junk, 0x5a, sizeof (junk));
    for (int64_t page = 0; page < pages; page++) {
        char copy[128];
        pid_t pid;
        int fd, status;

        drop ("hit");
        snprintf (copy, sizeof (copy), "cp bad hit");
        if (system (copy) != 0 || (fd = open ("hit", O_WRONLY)) < 0)
            abort ();
        if (pwrite (fd, junk, sizeof (junk), page * 4096) != sizeof (junk))
            abort ();
        close (fd);
        hits++;
        if ((pid = fork ()) == 0) {
            json_t *json = NULL;
            int rc = 0;

            l = ledger_open ("hit", LEDGER_WRITE, &err);
            if (!l)
                _exit (1);
            for (int64_t id = 1; id <= 5; id++)
                json_decref (json = ledger_audit (l, id, &err));
            audit (l, 9, 2, 400, VERDICT_FAIL);
            rc = ledger_check (l, &err);
            _exit (rc < 0 && strstr (err.text, "is damaged") ? 1 : 0);
        }
        waitpid (pid, &status, 0);
        left = salvaged (5);
        wrong += left == -2;
        some += left > 0;
        crashed += !WIFEXITED (status);
        said += WIFEXITED (status) && WEXITSTATUS (status) == 1;
    }
    ok (crashed == 0 && said == hits,
        "each of %zu pages, overwritten, is noticed (%zu), none crashes",
        hits, said);
    ok (wrong == 0 && some > hits / 3,
        "what is salvaged is whole, and there is some in %zu cases", some);
    if (system ("cp bad hit") != 0)
        abort ();
    drop ("new");
    ok (salvaged (5) == 5
            && ask ("new", "SELECT count(*) FROM action JOIN mute JOIN rebase"
                           " JOIN comment JOIN sign JOIN said") == 1
            && ask ("new", "SELECT count(*) FROM seen WHERE audit = 5") > 0
            && ask ("new", "SELECT seq FROM sqlite_sequence"
                           " WHERE name = 'audit'") == 5,
        "and of a sound one it is all");
}

/* A writer that is killed at its n-th write to a file, which is torn. */
static ssize_t (*true_pwrite) (int fd, const void *buf, size_t n, off_t at);
static long writes_left;

static ssize_t killing_pwrite (int fd, const void *buf, size_t n, off_t at)
{
    if (--writes_left == 0) {
        if (true_pwrite (fd, buf, n / 2, at) < 0)
            abort ();
        raise (SIGKILL);
    }
    return true_pwrite (fd, buf, n, at);
}

static const struct ledger_action draining = {
    .node = "h1", .link = "a/1", .kind = POLICY_DRAIN, .reason = "slow",
    .why = "why",
};

/* Let this process die at its n-th write. */
static void die_at (long write)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find (NULL);

    true_pwrite = (ssize_t (*) (int, const void *, size_t, off_t))
        vfs->xGetSystemCall (vfs, "pwrite64");
    if (!true_pwrite)
        _exit (3);
    vfs->xSetSystemCall (vfs, "pwrite64",
                         (sqlite3_syscall_ptr)killing_pwrite);
    writes_left = write;
}

/* Two audits and an action; ids are said when the ledger has said them. Never
 * returns.
 */
static void write_and_die (int fd, long kill_at)
{
    struct ledger *l;

    die_at (kill_at);
    if (!(l = ledger_open ("dead", LEDGER_CREATE, &err)))
        _exit (2);
    for (int i = 0; i < 2; i++) {
        char id = (char)audit (l, 1, 2, 400, VERDICT_FAIL);

        if (write (fd, &id, 1) != 1)
            _exit (2);
        if (ledger_intend (l, 1, &draining, &err) != 1)
            _exit (2);
    }
    ledger_done (l, 2, 1, &err);
    ledger_close (l);
    _exit (0);
}

static void test_killed (void)
{
    size_t runs = 0, lost = 0, half = 0, unsound = 0, finished = 0;
    size_t again = 0;
    size_t both = plan_probes (plan) * 2;

    for (long kill_at = 1; finished == 0 && kill_at < 1000;
         kill_at += trials (4) == 4 ? 1 : 3) {
        char ids[8];
        struct ledger *l;
        ssize_t said;
        int64_t ended;
        int fd[2], status;
        pid_t pid;

        drop ("dead");
        if (pipe (fd) < 0 || (pid = fork ()) < 0)
            abort ();
        if (pid == 0)
            write_and_die (fd[1], kill_at);
        close (fd[1]);
        said = read (fd[0], ids, 1);
        if (said == 1)
            said += read (fd[0], ids, 1);
        close (fd[0]);
        waitpid (pid, &status, 0);
        runs++;
        finished += WIFEXITED (status) && WEXITSTATUS (status) == 0;
        l = ledger_open ("dead", LEDGER_CREATE, &err);
        unsound += !l || ledger_check (l, &err) < 0;
        if (ask ("dead", "SELECT count(*) FROM action WHERE done") == 0)
            again += ledger_intend (l, 3, &draining, &err) != 1;
        again += ask ("dead", "SELECT count(*) FROM action") != 1;
        ledger_close (l);
        ended = ask ("dead", "SELECT count(*) FROM audit WHERE ended");
        lost += ended < said || ended > said + 1;
        half += ask ("dead", "SELECT count(*) FROM rtt")
                    != ended * (int64_t)both
                || ask ("dead", "SELECT count(*) FROM finding") != ended;
    }
    ok (finished == 1 && runs > 20, "a writer killed at %zu of its writes",
        runs - 1);
    ok (lost == 0, "nothing that was said to be there is lost, or double");
    ok (half == 0, "nothing is there by half");
    ok (again == 0, "and what was intended once is not done twice");
    ok (unsound == 0, "the next one opens it, sound");
}

/* Whether what is in a ledger is whole audits, so many of them at least. */
static bool whole (const char *path, int64_t least)
{
    struct ledger *l = ledger_open (path, LEDGER_READ, &err);
    bool sound = l && ledger_check (l, &err) == 0;
    int64_t audits = ask (path, "SELECT count(*) FROM audit");

    ledger_close (l);
    return sound && audits >= least
           && ask (path, "SELECT count(*) FROM rtt")
                  == audits * (int64_t)plan_probes (plan) * 2
           && ask (path, "SELECT count(*) FROM finding") == audits;
}

static void prune_dead (void)
{
    struct ledger *l = ledger_open ("dead", LEDGER_WRITE, &err);

    if (!l || pruned (l, INT64_MIN, 2) < 0)
        _exit (2);
    ledger_close (l);
}

static void salvage_dead (void)
{
    struct ledger *l = ledger_open ("new", LEDGER_CREATE, &err);

    if (!l || ledger_salvage (l, "dead", &err) != 0)
        _exit (2);
    ledger_close (l);
}

/* Run f on copies of the ledger "full", killed at ever later writes of it, and
 * look at what is left each time. Returns how often it was killed, -1 where it
 * failed otherwise.
 */
static int killed_at (void (*f) (void), bool (*look) (void), size_t *bad)
{
    int kills = 0;

    *bad = 0;
    for (long at = 1;; at += 1 + at / 8, kills++) {
        int status;
        pid_t pid;

        drop ("dead");
        drop ("new");
        if (system ("cp full dead") != 0)
            return -1;
        if ((pid = fork ()) == 0) {
            die_at (at);
            f ();
            _exit (0);
        }
        waitpid (pid, &status, 0);
        *bad += !look ();
        if (!WIFSIGNALED (status))
            return WEXITSTATUS (status) == 0 ? kills : -1;
    }
}

static bool is_pruned (void)
{
    return whole ("dead", 2)
           && ask ("dead", "SELECT max(id) FROM audit") == 6
           && ask ("dead", "SELECT count(*) FROM comment WHERE done IS NULL")
                  == 1;
}

/* The old one as it was; the new one refused, but with nothing or all. */
static bool salvaged_all (void)
{
    struct ledger *l = ledger_open ("new", LEDGER_READ, &err);
    int64_t first = l ? number_of (l, LEDGER_NEXT, 0) : 0;

    ledger_close (l);
    return whole ("dead", 6) && (!l || first == 0 || whole ("new", 6));
}

static void test_killed_tools (void)
{
    struct ledger *l = fresh ("full");
    size_t bad;
    int kills;

    for (int i = 0; i < 6; i++) {
        audit (l, i, 2, 400, VERDICT_FAIL);
        ledger_comment_add (l, 1, (uint64_t)i + 1, 1, "pmm: audit", &err);
        if (i > 0)
            ledger_comment_done (l, 1, i, &err);
    }
    ledger_close (l);
    tell ("full", "PRAGMA wal_checkpoint (TRUNCATE)");
    kills = killed_at (prune_dead, is_pruned, &bad);
    ok (kills > 10 && bad == 0,
        "pruning, killed at %d of its writes, leaves whole audits", kills);
    ok (ask ("dead", "SELECT count(*) FROM audit") == 2
            && ask ("dead", "SELECT count(*) FROM comment") == 2,
        "and in the end those that were to be kept");
    kills = killed_at (salvage_dead, salvaged_all, &bad);
    ok (kills > 10 && bad == 0,
        "salvage, killed at %d of its writes, leaves nothing half", kills);
    ok (whole ("new", 6), "and in the end all");
}

static void test_many (void)
{
    enum { WRITERS = 3, EACH = 5 };
    size_t bad = 0;
    int status;

    ledger_close (fresh ("led"));
    for (int i = 0; i < WRITERS; i++)
        if (fork () == 0) {
            struct ledger *l = ledger_open ("led", LEDGER_WRITE, &err);

            for (int k = 0; l && k < EACH; k++)
                if (audit (l, k, 2, 400, VERDICT_FAIL) < 0)
                    _exit (1);
            _exit (!l);
        }
    for (int i = 0; i < WRITERS; i++) {
        wait (&status);
        bad += status != 0;
    }
    ok (bad == 0
            && ask ("led", "SELECT count(*) FROM audit WHERE ended")
                   == WRITERS * EACH,
        "%d writers at once", WRITERS);
}

/*
 * Work
 */

/* Statements that list all there is of something, which people mark by hand,
 * or which stands, as the newest audit of each link; checks, which look at all.
 */
static bool lists_all (const char *sql)
{
    static const char *const from[]
        = { "FROM mute ", "FROM rebase ", "FROM seen ", "FROM said ", "FROM total" };

    for (size_t i = 0; i < sizeof (from) / sizeof (from[0]); i++)
        if (!strncmp (sql, "SELECT", 6) && strstr (sql, from[i])
            && !strstr (sql, "WHERE"))
            return true;
    return strstr (sql, " seen s ON s.link") || strstr (sql, "FROM seen s JOIN")
           || strstr (sql, "FROM seen UNION ALL")
           || !strncmp (sql, "PRAGMA", 6) || strstr (sql, "FROM sqlite_master");
}

static void test_plans (void)
{
    struct ledger *l = fresh ("led");
    size_t scans = 0, statements = 0;

    for (size_t i = 0; i < nstatements; i++) {
        sqlite3_stmt *stmt = NULL;
        char sql[4096];

        if (lists_all (statement[i]))
            continue;
        snprintf (sql, sizeof (sql), "EXPLAIN QUERY PLAN %s", statement[i]);
        if (sqlite3_prepare_v2 (l->db, sql, -1, &stmt, NULL) != SQLITE_OK) {
            diag ("%s: %s", statement[i], sqlite3_errmsg (l->db));
            scans++;
            continue;
        }
        while (sqlite3_step (stmt) == SQLITE_ROW) {
            const char *detail = (const char *)sqlite3_column_text (stmt, 3);

            if (strstr (detail, "SCAN") && !strstr (detail, "SCAN (sub")) {
                diag ("%s: %s", statement[i], detail);
                scans++;
            }
        }
        sqlite3_finalize (stmt);
        statements++;
    }
    ok (scans == 0 && statements >= STATEMENTS,
        "%zu statements search by an index, none scans", statements);
    ledger_close (l);
}

/* Steps of SQLite's machine, of all statements. */
static int64_t steps (struct ledger *l)
{
    int64_t n = 0;

    for (size_t i = 0; i < l->nstmts; i++)
        n += sqlite3_stmt_status (l->stmt[i].stmt, SQLITE_STMTSTATUS_VM_STEP,
                                  1);
    return n;
}

static void test_work (void)
{
    struct ledger *l = fresh ("led");
    int64_t early, late;

    audit (l, 1, 2, 400, VERDICT_FAIL);
    steps (l);
    audit (l, 2, 2, 400, VERDICT_FAIL);
    early = steps (l);
    for (int i = 0; i < 60; i++)
        audit (l, 3 + i, 2, 400, VERDICT_FAIL);
    steps (l);
    audit (l, 99, 2, 400, VERDICT_FAIL);
    late = steps (l);
    ok (early > 0 && late == early,
        "an audit costs %jd steps after one, %jd after sixty",
        (intmax_t)early, (intmax_t)late);
    ledger_close (l);
}

/* What an audit says of link 2; excess 0: that it is sound. */
struct said {
    int days; /* since the first */
    enum verdict_status level;
    double excess_ns, stderr_ns;
};

/* How many links are settled, and of link 2 the mean excess, *ns. */
static size_t settled (const struct said *said, size_t n, bool rebased,
                       double *ns)
{
    struct ledger *l = fresh ("led");
    double latency[LINKS_MAX];
    json_t *list;
    size_t found;

    for (size_t j = 0; j < LINKS_MAX; j++)
        latency[j] = 100;
    for (size_t i = 0; i < n; i++) {
        struct verdict *v = verdict_of (said[i].level, 2);

        if (said[i].level != VERDICT_OK) {
            v->finding[0].excess_ns = said[i].excess_ns;
            v->finding[0].stderr_ns = said[i].stderr_ns;
        }
        audit_of (l, 1000 + said[i].days * 86400, ps, latency, v, NULL);
        verdict_destroy (v);
        if (i == 0 && rebased
            && ledger_rebase (l, 1001, pathset_network (ps)->link[2].id, "root",
                              "a new cable", &err) < 0)
            abort ();
    }
    list = ledger_json (l, LEDGER_SETTLED, 0, 300, &err);
    found = json_array_size (list);
    *ns = found ? json_number_value (json_object_get (json_array_get (list, 0),
                                                      "excess_ns"))
                : 0;
    json_decref (list);
    ledger_close (l);
    return found;
}

static void test_settled (void)
{
    static const struct {
        const char *what;
        size_t n;
        struct said said[4];
        bool rebased;
        size_t found;
    } cases[] = {
        { "a small excess for three days", 3,
          { { 0, VERDICT_WARN, 150, 10 }, { 1, VERDICT_WARN, 180, 10 },
            { 3, VERDICT_WARN, 210, 10 } }, false, 1 },
        { "... of two audits", 2,
          { { 0, VERDICT_WARN, 150, 10 }, { 3, VERDICT_WARN, 150, 10 } },
          false, 0 },
        { "... for two days", 3,
          { { 0, VERDICT_WARN, 150, 10 }, { 1, VERDICT_WARN, 150, 10 },
            { 2, VERDICT_WARN, 150, 10 } }, false, 0 },
        { "... that once FAILed", 4,
          { { 0, VERDICT_FAIL, 320, 10 }, { 1, VERDICT_WARN, 250, 10 },
            { 2, VERDICT_WARN, 250, 10 }, { 4, VERDICT_WARN, 250, 10 } },
          false, 0 },
        { "... before it was rebased", 4,
          { { 0, VERDICT_FAIL, 320, 10 }, { 1, VERDICT_WARN, 250, 10 },
            { 2, VERDICT_WARN, 250, 10 }, { 4, VERDICT_WARN, 250, 10 } },
          true, 1 },
        { "more than FailExcess", 3,
          { { 0, VERDICT_WARN, 350, 10 }, { 1, VERDICT_WARN, 350, 10 },
            { 3, VERDICT_WARN, 350, 10 } }, false, 0 },
        { "... as far as one can tell", 3,
          { { 0, VERDICT_WARN, 350, 40 }, { 1, VERDICT_WARN, 350, 40 },
            { 3, VERDICT_WARN, 350, 40 } }, false, 1 },
        { "half of the audits find it sound", 4,
          { { 0, VERDICT_WARN, 150, 10 }, { 1, VERDICT_OK, 0, 0 },
            { 2, VERDICT_OK, 0, 0 }, { 3, VERDICT_WARN, 150, 10 } }, false, 0 },
        { "one of four does", 4,
          { { 0, VERDICT_WARN, 150, 10 }, { 1, VERDICT_OK, 0, 0 },
            { 2, VERDICT_WARN, 150, 10 }, { 3, VERDICT_WARN, 150, 10 } }, false,
          1 },
    };

    for (size_t i = 0; i < sizeof (cases) / sizeof (*cases); i++) {
        double ns;
        size_t found = settled (cases[i].said, cases[i].n, cases[i].rebased,
                                &ns);

        ok (found == cases[i].found && (i > 0 || ns == 180),
            "%s: %ssettled", cases[i].what, cases[i].found ? "" : "not ");
    }
}

int main (void)
{
    struct plan_options opts = { .extra_rounds = 1, .seed = 1 };
    /* in memory: hundreds of commits wait for the disk otherwise */
    char dir[] = "/dev/shm/pmm-ledger-XXXXXX";
    char command[64];

    if (!mkdtemp (dir) || chdir (dir) < 0 || chmod (dir, 0755) < 0)
        return 1;
    umask (022);
    net = tablenet_fattree (4, 2, TABLE_MINHOP, 1);
    ps = tablenet_pathset (net, (uint32_t[]){ 0, 1, 2, 3, 4, 5 }, HOSTS);
    plan = plan_make (ps, &opts, &err);
    for (size_t i = 0; i < HOSTS; i++)
        host[i] = pathset_endpoint (ps, i)->host;

    test_places ();
    test_before ();
    test_owner ();
    test_record ();
    test_notes ();
    test_mutes ();
    test_faults ();
    test_signs ();
    test_comments ();
    test_service ();
    test_company ();
    test_ages ();
    test_loopbacks ();
    test_trend ();
    test_rates ();
    test_separate ();
    test_ageing ();
    test_enough ();
    test_times ();
    test_unknown ();
    test_node ();
    test_settled ();
    test_prune ();
    test_lock ();
    test_notices ();
    test_rows ();
    test_flows ();
    test_full ();
    test_damage ();
    test_killed ();
    test_killed_tools ();
    test_many ();
    test_plans ();
    test_work ();

    plan_destroy (plan);
    pathset_destroy (ps);
    tablenet_destroy (net);
    snprintf (command, sizeof (command), "rm -r %s", dir);
    if (chdir ("/") < 0 || system (command) != 0)
        return 1;
    return done_testing ();
}
