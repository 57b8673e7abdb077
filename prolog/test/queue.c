/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each rule of the queue, where it just holds and where it just does not. */
#include "config.h"
#include "prolog/serve/queue.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/policy/policy.h"
#include "tests/tap.h"

enum { NOW = 1000000000, MANY = 8, HOSTS = 16, LINE = 256 };

/* Ages are in seconds; those below 0 are of the future. Nodes are h1 ... */
static const struct {
    const char *name;
    /* JOB AGE NODES, and of these: uid=N, asked, begun=AUDIT,
     * done=AUDIT, audits', tried=AGE */
    const char *record[MANY];
    /* ID AGE, and of these: job=N, uid=N, nothing */
    const char *audit[MANY];
    /* AGE NODES */
    const char *measured[MANY];
    const char *idle;
    /* JOB:FATE of each, in order */
    const char *fates;
    unsigned int next; /* 0: none */
} rows[] = {
    { "none", { 0 }, { 0 }, { 0 }, "h[1-8]", "", 0 },
    { "one of the least size", { "57 10 h[1-4]" }, { 0 },
      { "100 h[1-4]" }, "h[1-8]", "57:go", 57 },
    { "smaller", { "57 10 h[1-3]" }, { 0 }, { "100 h[1-4]" }, "h[1-8]",
      "57:pass", 0 },
    { "smaller, and asked for", { "57 10 h[1-3] asked" }, { 0 },
      { "100 h[1-4]" }, "h[1-8]", "57:go", 57 },
    { "one node", { "57 10 h1 asked" }, { 0 }, { "100 h1" }, "h[1-8]",
      "57:pass", 0 },
    { "one node of several rails", { "57 10 g1 asked" }, { 0 }, { "100 g1" },
      "g[1-8]", "57:go", 57 },
    { "... not asked for", { "57 10 g1" }, { 0 }, { "100 g1" }, "g[1-8]",
      "57:pass", 0 },
    { "in the audits' partition", { "57 10 h[1-4] audits" }, { 0 }, { 0 },
      "h[1-8]", "57:pass", 0 },

    { "never measured", { "57 10 h[1-2]" }, { 0 }, { "9 h1" }, "h[1-8]",
      "57:go", 57 },
    { "measured in time", { "57 10 h[1-2]" }, { 0 },
      { "86399 h1", "20 h2" }, "h[1-8]", "57:pass", 0 },
    { "measured too long ago", { "57 10 h[1-2]" }, { 0 },
      { "86400 h1", "20 h2" }, "h[1-8]", "57:go", 57 },
    { "measured since", { "57 10 h[1-4]" }, { 0 }, { "9 h[1-4]" }, "h[1-8]",
      "57:drop", 0 },
    { "not all of it", { "57 10 h[1-4]" }, { 0 }, { "9 h[1-3]", "10 h4" },
      "h[1-8]", "57:go", 57 },

    { "a node is busy", { "57 10 h[1-4]" }, { 0 }, { 0 }, "h[1-3]",
      "57:hold", 0 },
    { "none is idle", { "57 10 h[1-4]" }, { 0 }, { 0 }, "", "57:hold", 0 },
    { "busy for an hour", { "57 3600 h[1-4]" }, { 0 }, { 0 }, "h[1-3]",
      "57:drop", 0 },
    { "the clock stepped back", { "57 -3599 h[1-4]" }, { 0 }, { 0 },
      "h[1-4]", "57:go", 57 },
    { "a long way", { "57 -90000 h[1-4]" }, { 0 }, { 0 }, "h[1-4]",
      "57:go", 57 },

    { "a later job on its nodes",
      { "57 20 h[2-5]", "58 10 h[1-8]" }, { 0 }, { 0 }, "h[1-8]",
      "57:drop 58:go", 58 },
    { "on some of them", { "57 20 h[2-5]", "58 10 h[3-8]" }, { 0 }, { 0 },
      "h[1-8]", "57:go 58:go", 58 },
    { "an earlier one", { "57 10 h[2-5]", "58 20 h[1-8]" }, { 0 }, { 0 },
      "h[1-8]", "57:go 58:go", 57 },
    { "at the same time", { "57 10 h[1-4]", "58 10 h[1-4]" }, { 0 }, { 0 },
      "h[1-8]", "57:drop 58:go", 58 },
    { "a later job that no rule asks for",
      { "57 20 h[1-3] asked", "58 10 h[1-3]" }, { 0 }, { "30 h[1-8]" },
      "h[1-8]", "57:go 58:pass", 57 },
    { "one covers the next",
      { "57 30 h[1-4]", "58 20 h[1-5]", "59 10 h[1-6]" }, { 0 }, { 0 },
      "h[1-8]", "57:drop 58:drop 59:go", 59 },
    { "the tasks of an array",
      { "57 10 h[1-4]", "58 10 h[5-8]", "59 11 h[1-4]", "60 11 h[5-8]" },
      { 0 }, { 0 }, "h[1-8]", "57:go 58:go 59:drop 60:drop", 58 },
    { "a requeued job", { "57 20 h[1-4]", "57 10 h[1-4]" }, { 0 },
      { 0 }, "h[1-8]", "57:drop 57:go", 57 },
    { "elsewhere", { "57 20 h[1-4]", "57 10 h[5-8]" }, { 0 }, { 0 },
      "h[1-8]", "57:go 57:go", 57 },

    { "size before a check",
      { "57 20 h[1-4]", "58 10 h[5-6] asked" }, { 0 }, { "99 h[1-8]" },
      "h[1-8]", "57:go 58:go", 57 },
    { "age before a check",
      { "57 20 h[1-2]", "58 10 h[5-6] asked" }, { 0 }, { "99 h[3-8]" },
      "h[1-8]", "57:go 58:go", 57 },
    { "what was begun before all",
      { "57 20 h[1-2] asked begun=4", "58 10 h[5-8]" }, { 0 },
      { "99 h[1-8]" }, "h[1-8]", "57:go 58:go", 57 },
    { "what was tried a moment ago",
      { "57 10 h[1-4] tried=59", "58 20 h[5-8]" }, { 0 }, { 0 }, "h[1-8]",
      "57:hold 58:go", 58 },
    { "longer ago", { "57 10 h[1-4] tried=60", "58 20 h[5-8]" }, { 0 }, { 0 },
      "h[1-8]", "57:go 58:go", 57 },
    { "the clock stepped back since",
      { "57 10 h[1-4] tried=-60", "58 20 h[5-8]" }, { 0 }, { 0 }, "h[1-8]",
      "57:go 58:go", 57 },
    { "what can be done before what cannot",
      { "57 20 h[1-4]", "58 10 h[5-8]" }, { 0 }, { 0 }, "h[1-7]",
      "57:go 58:hold", 57 },

    { "begun, and it has a result", { "57 20 h[1-4] begun=4" },
      { "4 30 job=57", "5 10 job=57" }, { 0 }, "h[1-8]", "57:found", 0 },
    { "that of another job", { "57 20 h[1-4] begun=4" }, { "5 10 job=58" },
      { 0 }, "h[1-8]", "57:go", 57 },
    { "that of the same job before", { "57 20 h[1-4] begun=5" },
      { "5 10 job=57" }, { 0 }, "h[1-8]", "57:go", 57 },
    { "two without a result", { "57 20 h[1-4] begun=4" },
      { "5 10 job=57 nothing", "6 9 job=57 nothing" }, { 0 }, "h[1-8]",
      "57:go", 57 },
    { "three", { "57 20 h[1-4] begun=4" },
      { "5 10 job=57 nothing", "6 9 job=57 nothing", "7 8 job=57 nothing" },
      { 0 }, "h[1-8]", "57:drop", 0 },
    { "the third has one", { "57 20 h[1-4] begun=4" },
      { "5 10 job=57 nothing", "6 9 job=57 nothing", "7 8 job=57" }, { 0 },
      "h[1-8]", "57:found", 0 },
    { "done", { "57 20 h[1-4] done=5" }, { 0 }, { 0 }, "h[1-8]", "57:none",
      0 },

    { "as many as may be in an hour, less one", { "57 10 h[1-4]" },
      { "1 3599", "2 20", "3 3600" }, { 0 }, "h[1-8]", "57:go", 57 },
    { "as many, but for confirmations", { "57 10 h[1-4]" },
      { "1 3599", "2 20", "3 10" }, { 0 }, "h[1-8]", "57:hold", 0 },
    { "of which there were some", { "57 10 h[1-4]" },
      { "1 3599", "2 20", "3 10 confirm" }, { 0 }, "h[1-8]", "57:go", 57 },
    { "as many, with these", { "57 10 h[1-4]" },
      { "1 3599", "2 20", "3 10 confirm", "4 9 confirm" }, { 0 }, "h[1-8]",
      "57:hold", 0 },
    { "of a clock that was ahead", { "57 10 h[1-4]" },
      { "1 3599", "2 -3599", "3 10" }, { 0 }, "h[1-8]", "57:hold", 0 },
    { "measured a moment ago, for its size", { "57 3 h[1-4]" }, { 0 },
      { "4 h[1-4]" }, "h[1-8]", "57:pass", 0 },
    { "for a check", { "57 3 h[1-3] asked" }, { 0 }, { "4 h[1-3]" },
      "h[1-8]", "57:pass", 0 },
    { "by a clock that was ahead", { "57 -6 h[1-4]" }, { 0 },
      { "-4 h[1-4]" }, "h[1-8]", "57:pass", 0 },
    { "not all of it", { "57 3 h[1-4]" }, { 0 }, { "4 h[1-3]", "5 h4" },
      "h[1-8]", "57:go", 57 },
    { "three of the same two nodes in ten seconds",
      { "57 3 h[1-2] asked", "58 2 h[1-2] asked", "59 1 h[1-2] asked" },
      { 0 }, { "4 h[1-2]" }, "h[1-8]", "57:pass 58:pass 59:pass", 0 },
    { "a user's jobs, less than may be in an hour",
      { "57 10 h[1-4] uid=1001" },
      { "1 3599 uid=1001 sized", "2 3600 uid=1001 sized" }, { 0 }, "h[1-8]",
      "57:go", 57 },
    { "as many as may be, by size and check",
      { "57 10 h[1-4] uid=1001", "58 20 h[5-8] uid=1002" },
      { "1 3599 uid=1001 sized", "2 20 uid=1001" }, { 0 }, "h[1-8]",
      "57:hold 58:go", 58 },
    { "far ahead", { "57 10 h[1-4]" }, { "1 -3600", "2 -9000", "3 10" },
      { 0 }, "h[1-8]", "57:go", 57 },
    { "of a user's checks, in a day, less one",
      { "57 10 h[1-3] asked uid=1001" },
      { "1 86399 uid=1001", "2 86400 uid=1001", "3 4000 uid=1002",
        "4 4000" },
      { "20 h[1-3]" }, "h[1-8]", "57:go", 57 },
    { "as many as may be", { "57 10 h[1-3] asked uid=1001" },
      { "1 86399 uid=1001", "2 4000 uid=1001" }, { "20 h[1-3]" }, "h[1-8]",
      "57:drop", 0 },
    { "which holds nothing else back", { "57 10 h[1-4] asked uid=1001" },
      { "1 86399 uid=1001", "2 4000 uid=1001" }, { "20 h[1-4]" }, "h[1-8]",
      "57:go", 57 },
    { "nor what others ask for",
      { "57 10 h[1-2] asked uid=1001", "58 11 h[1-2] asked uid=1002" },
      { "1 86399 uid=1001", "2 4000 uid=1001" }, { "20 h[1-2]" }, "h[1-8]",
      "57:drop 58:go", 58 },
};

static const struct site site = {
    .audit_partition = "audit",
    .audit_min_nodes = 4,
    .audits_per_hour = 4,
    .checks_per_user = 2,
    .audits_per_user = 2,
    .audit_every_ms = 24 * 3600 * 1000,
    .audit_again_after_ms = 5000,
};

static int compare_strings (const void *a, const void *b)
{
    return strcmp (*(char *const *)a, *(char *const *)b);
}

static void nodes_of (struct hostlist *hl, const char *text)
{
    struct error err;

    if (*text && hostlist_parse (hl, text, HOSTS, &err) < 0)
        diag ("%s: %s", text, err.text);
    if (hl->count)
        qsort (hl->name, hl->count, sizeof (char *), compare_strings);
}

/* The number behind "KEY=" in text; -1: there is none. */
static long value_of (const char *text, const char *key)
{
    const char *p = strstr (text, key);

    return p ? atol (p + strlen (key)) : -1;
}

static void make_record (struct spool_entry *e, const char *text)
{
    unsigned long job;
    long age, begun = value_of (text, "begun=");
    long done = value_of (text, "done="), uid = value_of (text, "uid=");
    const char *tried = strstr (text, "tried=");
    char nodes[64];

    sscanf (text, "%lu %ld %63s", &job, &age, nodes);
    *e = (struct spool_entry){
        .job = job,
        .time = NOW - age,
        .waited = age > 0 ? age : 0,
        .tried = tried ? NOW - atol (tried + 6) : INT64_MIN,
        .uid = uid < 0 ? 1000 : (uint64_t)uid,
        .checked = strstr (text, "asked") != NULL,
        .state = begun >= 0 ? SPOOL_BEGUN : done >= 0 ? SPOOL_DONE
                                                      : SPOOL_FRESH,
        .audit = (uint64_t)(begun >= 0 ? begun : done >= 0 ? done : 0),
    };
    strcpy (e->partition, strstr (text, "audits") ? "audit" : "main");
    nodes_of (&e->nodes, nodes);
}

static void make_audit (struct ledger_audit *a, const char *text)
{
    long id, age, job = value_of (text, "job=");

    sscanf (text, "%ld %ld", &id, &age);
    *a = (struct ledger_audit){
        .id = id,
        .begun = NOW - age,
        .job = strstr (text, "nothing") ? -1 : 1,
        .about = job < 0 ? 0 : job,
        .uid = value_of (text, "uid="),
        .why = strstr (text, "confirm") ? LEDGER_CONFIRM : LEDGER_CHECK,
    };
    if (strstr (text, "sized"))
        a->why = LEDGER_JOB;
}

static int compare_hosts (const void *a, const void *b)
{
    return strcmp (((const struct queue_host *)a)->name,
                   ((const struct queue_host *)b)->name);
}

/* A later line takes the place of an earlier one. */
static size_t make_hosts (struct queue_host *host, const char *const *text,
                          struct hostlist *names)
{
    size_t n = 0;

    for (size_t i = 0; i < MANY && text[i]; i++) {
        char nodes[64];
        long age;

        sscanf (text[i], "%ld %63s", &age, nodes);
        nodes_of (&names[i], nodes);
        for (size_t k = 0; k < names[i].count; k++) {
            size_t at = 0;

            while (at < n && strcmp (host[at].name, names[i].name[k]) != 0)
                at++;
            n += at == n;
            host[at] = (struct queue_host){
                .name = names[i].name[k],
                .time = NOW - age,
                .pair = *names[i].name[k] == 'g', /* with GPUs */
            };
        }
    }
    qsort (host, n, sizeof (*host), compare_hosts);
    return n;
}

static void test_row (size_t row)
{
    static const char *const fate[] = {
        [QUEUE_NONE] = "none",   [QUEUE_GO] = "go",     [QUEUE_HOLD] = "hold",
        [QUEUE_FOUND] = "found", [QUEUE_DROP] = "drop",
        [QUEUE_PASS] = "pass",
    };
    struct spool_entry entry[MANY];
    struct spool_list spool = { .v = entry };
    struct ledger_audit audit[MANY];
    struct queue_host host[HOSTS];
    struct hostlist names[MANY] = { { 0 } }, idle = { 0 };
    struct queue_input in = {
        .site = &site,
        .now = NOW,
        .spool = &spool,
        .audit = audit,
        .host = host,
        .idle = &idle,
    };
    struct queue_plan plan;
    char fates[LINE] = "";
    size_t len = 0;

    for (; rows[row].record[spool.n]; spool.n++)
        make_record (&entry[spool.n], rows[row].record[spool.n]);
    for (; rows[row].audit[in.naudits]; in.naudits++)
        make_audit (&audit[in.naudits], rows[row].audit[in.naudits]);
    in.nhosts = make_hosts (host, rows[row].measured, names);
    nodes_of (&idle, rows[row].idle);

    queue_decide (&plan, &in);
    for (size_t i = 0; i < spool.n; i++)
        len += (size_t)snprintf (fates + len, sizeof (fates) - len, "%s%ju:%s",
                                 i ? " " : "", (uintmax_t)entry[i].job,
                                 fate[plan.v[i].fate]);
    if (!ok (!strcmp (fates, rows[row].fates)
                 && (rows[row].next
                         ? plan.next < spool.n
                               && entry[plan.next].job == rows[row].next
                         : plan.next == SIZE_MAX),
             "%s", rows[row].name))
        diag ("%s, next %zu", fates, plan.next);
    for (size_t i = 0; i < spool.n; i++)
        if (!plan.v[i].why[0])
            ok (0, "%s: record %zu has no why", rows[row].name, i);
    queue_clear (&plan);
    for (size_t i = 0; i < spool.n; i++)
        hostlist_clear (&entry[i].nodes);
    for (size_t i = 0; i < MANY; i++)
        hostlist_clear (&names[i]);
    hostlist_clear (&idle);
}

/* What of AuditsPerHour each may have: how many audits of its own, of a job, of
 * a confirmation there were.
 */
static void test_shares (void)
{
    static const char *const names[] = {
        [LEDGER_JOB] = "job",         [LEDGER_CHECK] = "check",
        [LEDGER_SWEEP] = "sweep",     [LEDGER_CONFIRM] = "confirm",
        [LEDGER_AGAIN] = "again",
    };
    static const struct {
        size_t per_hour;
        enum ledger_why why;
        size_t own, jobs, confirmed;
        bool may;
    } shares[] = {
        { 12, LEDGER_JOB, 8, 0, 0, true },
        { 12, LEDGER_JOB, 9, 0, 0, false }, /* the rest is a reserve */
        { 12, LEDGER_JOB, 6, 0, 5, true },
        { 12, LEDGER_JOB, 6, 0, 6, false },
        { 12, LEDGER_CHECK, 0, 9, 0, false },
        { 12, LEDGER_CONFIRM, 0, 11, 0, true },
        { 12, LEDGER_CONFIRM, 0, 12, 0, false },
        { 12, LEDGER_CONFIRM, 5, 6, 0, true },
        { 12, LEDGER_CONFIRM, 6, 0, 0, false }, /* nor do these take all */
        { 12, LEDGER_AGAIN, 2, 0, 0, true },
        { 12, LEDGER_AGAIN, 3, 0, 0, false },
        { 12, LEDGER_AGAIN, 2, 7, 0, false },
        { 12, LEDGER_SWEEP, 5, 0, 0, true },
        { 12, LEDGER_SWEEP, 0, 6, 0, false },
        { 1, LEDGER_JOB, 0, 0, 0, true },
        { 1, LEDGER_AGAIN, 0, 0, 0, true },
        { 1, LEDGER_SWEEP, 0, 0, 0, true },
        { 1, LEDGER_CONFIRM, 0, 1, 0, false },
        { 0, LEDGER_CONFIRM, 0, 0, 0, false },
    };

    for (size_t i = 0; i < sizeof (shares) / sizeof (shares[0]); i++) {
        struct ledger_audit audit[32];
        char why[QUEUE_WHY_MAX];
        size_t n = 0;
        bool may;

        for (size_t k = 0; k < shares[i].own; k++)
            audit[n++] = (struct ledger_audit){ .why = shares[i].why };
        for (size_t k = 0; k < shares[i].jobs; k++)
            audit[n++] = (struct ledger_audit){ .why = LEDGER_JOB };
        for (size_t k = 0; k < shares[i].confirmed; k++)
            audit[n++] = (struct ledger_audit){ .why = LEDGER_CONFIRM };
        for (size_t k = 0; k < n; k++)
            audit[k].begun = NOW - 10;
        may = queue_may (audit, n, shares[i].why, shares[i].per_hour, NOW,
                         why);
        ok (may == shares[i].may, "%s, %zu of its own, %zu and %zu of others: "
            "%s", names[shares[i].why], shares[i].own,
            shares[i].jobs, shares[i].confirmed, may ? "may" : why);
    }
}

/* Two nodes that stay bad: how many audits of a day they take, and how many are
 * left to others.
 */
static void test_bad_nodes (void)
{
    enum { DAY = 24 * 3600, NODES = 2, MOST = 400 };
    static const struct policy_config cfg = { .confirm_after_s = 600 };
    struct ledger_audit audit[MOST];
    int64_t last[NODES] = { NOW, NOW };
    size_t tries[NODES] = { 0 };
    size_t n = 0, jobs = 0;
    char why[QUEUE_WHY_MAX];

    for (int64_t now = NOW; now < NOW + DAY; now += 60) {
        for (size_t k = 0; k < NODES; k++)
            if (policy_retry (last[k], tries[k], now, &cfg) <= now
                && queue_may (audit, n, LEDGER_AGAIN, 12, now, why)) {
                audit[n++] = (struct ledger_audit){ .begun = last[k] = now,
                                                   .why = LEDGER_AGAIN };
                tries[k]++;
            }
        if (queue_may (audit, n, LEDGER_JOB, 12, now, why)) {
            audit[n++] = (struct ledger_audit){ .begun = now,
                                               .why = LEDGER_JOB };
            jobs++;
        }
    }
    ok (tries[0] == tries[1] && tries[0] >= 6 && tries[0] <= 9
            && jobs >= 24 * 9 - 2 * tries[0],
        "two drained nodes that stay bad take %zu of %zu audits of a day",
        tries[0] + tries[1], n);
}

int main (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        test_row (i);
    test_shares ();
    test_bad_nodes ();
    return done_testing ();
}
