/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write to the ledger. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/paths/multipath.h"
#include "prolog/ledger/ledger_db.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/sort.h"

int ledger_lock (const struct ledger *l, int *fd, struct error *err)
{
    char *path = xasprintf ("%s.lock", l->path);
    int rc = file_take_lock (AT_FDCWD, path, 0, fd, err);

    free (path);
    return rc;
}

#define NEWEST "coalesce ((SELECT max (id) FROM audit), 0)"

/*
 * Begin
 */

int64_t ledger_begin (struct ledger *l, int64_t time, const char *fabric,
                      const struct ledger_cause *cause, const char *const *host,
                      size_t n, char nonce[LEDGER_NONCE_BYTES],
                      struct error *err)
{
    bool users = cause->why == LEDGER_JOB || cause->why == LEDGER_CHECK;
    struct db_value uid = users && cause->uid >= 0
                              ? (struct db_value)INT (cause->uid)
                              : (struct db_value)TEXT (NULL);
    int64_t epoch, audit;
    uint64_t random[2];

    db_start (l, err);
    if (n == 0 || n > LEDGER_HOSTS_MAX)
        db_refuse (l, EINVAL, "an audit is of 1 to %d hosts", LEDGER_HOSTS_MAX);
    if (l->failed)
        return -1;
    if (getrandom (random, sizeof (random), 0) != sizeof (random))
        return error_errno (err, "cannot draw a nonce");
    snprintf (nonce, LEDGER_NONCE_BYTES, "%016" PRIx64 "%016" PRIx64, random[0],
              random[1]);
    db_begin (l, err);
    if (db_run (l, &audit,
                "SELECT id FROM audit WHERE about = ?1 AND submitted = ?2"
                " AND submitted > 0",
                VALUES (INT (cause->job), INT (cause->submitted))))
        db_refuse (l, EEXIST, "job %ju has its audit %jd",
                   (uintmax_t)cause->job, (intmax_t)audit);
    if ((epoch = db_epoch (l, fabric)) == 0)
        epoch = db_add (l, "INSERT INTO epoch (fabric) VALUES (?)",
                        VALUES (NAME (fabric)));
    audit = db_add (l,
                    "INSERT INTO audit (begun, epoch, about, nonce, why,"
                    " submitted, uid, node, leader)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    VALUES (INT (time), INT (epoch), INT (cause->job),
                            NAME (nonce), NAME (ledger_why_name (cause->why)),
                            INT (cause->submitted), uid, ID (cause->node),
                            ID (cause->leader)));
    for (size_t i = 0; i < n && !l->failed; i++)
        db_do (l,
               "INSERT INTO member (audit, host) VALUES (?, ?)"
               " ON CONFLICT DO NOTHING",
               INT (audit), ID (host[i]));
    return db_end (l, audit);
}

int ledger_led (struct ledger *l, int64_t audit, const char *leader,
                struct error *err)
{
    return db_call (l, err, "UPDATE audit SET leader = ? WHERE id = ?",
                    VALUES (ID (leader), INT (audit)));
}

int64_t ledger_give_up (struct ledger *l, int64_t time, int64_t audit,
                        const char *sentence, struct error *err)
{
    db_start (l, err);
    db_do (l,
           "UPDATE audit SET ended = ?1, status = 'UNKNOWN', complete = 0,"
           " sentence = ?2 WHERE ended IS NULL AND id > 0"
           " AND (id = ?3 OR ?3 = 0)",
           INT (time), TEXT (sentence), INT (audit));
    return db_result (l, sqlite3_changes (l->db));
}

/*
 * Record
 */

struct recorded_audit {
    struct ledger *l;
    int64_t audit, epoch;
    const struct pathset *ps;
    const struct network *net;
};

static void find_recorded_audit (struct recorded_audit *r,
                                 const struct samples *s)
{
    sqlite3_stmt *row
        = db_first (r->l,
                    "SELECT a.id, a.epoch, a.ended, e.fabric FROM audit a"
                    " JOIN epoch e ON e.id = a.epoch WHERE a.nonce = ?",
                    VALUES (NAME (s->nonce)));

    if (!row) {
        db_refuse (r->l, EPERM,
                   "these samples are of no audit that was begun here");
        return;
    }
    r->audit = sqlite3_column_int64 (row, 0);
    r->epoch = sqlite3_column_int64 (row, 1);
    if (sqlite3_column_type (row, 2) != SQLITE_NULL)
        db_refuse (r->l, EEXIST, "audit %jd has its result",
                   (intmax_t)r->audit);
    else if (strcmp (db_text (row, 3), r->net->hash) != 0)
        db_refuse (r->l, EINVAL, "audit %jd was begun on another fabric",
                   (intmax_t)r->audit);
    sqlite3_reset (row);
}

static void record_hosts (struct recorded_audit *r, char **host, size_t n,
                          bool answered)
{
    for (size_t i = 0; i < n && !r->l->failed; i++) {
        db_do (r->l,
               "UPDATE member SET answered = ?3 WHERE audit = ?1 AND host ="
               " " DB_NAMED ("?2"),
               INT (r->audit), NAME (host[i]), INT (answered));
        if (sqlite3_changes (r->l->db) == 0)
            db_refuse (r->l, EPERM, "audit %jd was not begun for host %.63s",
                       (intmax_t)r->audit, host[i]);
    }
}

/* The route between two ends of the samples, whose names are in order. It is
 * added if it is new.
 */
static int64_t route_of (struct recorded_audit *r, uint32_t a, uint32_t b)
{
    struct ledger *l = r->l;
    const char *from = pathset_endpoint (r->ps, a)->name;
    const char *to = pathset_endpoint (r->ps, b)->name;
    struct row row = { 0 };
    int64_t route;

    if (db_run (l, &route,
                "SELECT id FROM route WHERE epoch = ? AND a = ? AND b = ?",
                VALUES (INT (r->epoch), ID (from), ID (to))))
        return route;
    route = db_add (l, "INSERT INTO route (epoch, a, b) VALUES (?, ?, ?)",
                    VALUES (INT (r->epoch), ID (from), ID (to)));
    if (!l->failed && pathset_row (r->ps, a, b, &row, l->err) < 0)
        db_fail (l);
    for (size_t i = 0; i < row.n && !l->failed; i++)
        db_do (l, "INSERT INTO crossing (route, link, count) VALUES (?, ?, ?)",
               INT (route), ID (r->net->link[row.link[i]].id),
               INT (row.count[i]));
    return route;
}

/* The ends of a route are in the order of their names, since both directions
 * have the same row. `first`: its first end is the initiator.
 */
static void add_sample (struct recorded_audit *r, size_t seq,
                        const struct sample *s)
{
    bool swap = strcmp (pathset_endpoint (r->ps, s->a)->name,
                        pathset_endpoint (r->ps, s->b)->name) > 0;
    int64_t route = route_of (r, swap ? s->b : s->a, swap ? s->a : s->b);
    double q[RTT_COUNT];

    for (int i = 0; i < RTT_COUNT; i++)
        q[i] = s->lost == s->sent ? NAN : s->rtt_ns[i];
    db_do (r->l,
           "INSERT INTO rtt (audit, seq, route, round, first, sent, lost,"
           " min, p05, p25, median, p75, p95, max)"
           " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
           INT (r->audit), INT (seq), INT (route), INT (s->round),
           INT (swap == (s->initiator == s->b)), INT (s->sent), INT (s->lost),
           QUANTILES_OF (q));
    if (s->lost < s->sent && s->way_ns[0] > 0)
        db_do (r->l,
               "INSERT INTO way (audit, seq, there, back) VALUES (?, ?, ?, ?)",
               INT (r->audit), INT (seq), REAL (s->way_ns[0]),
               REAL (s->way_ns[1]));
}

/* Add the times of a sample's flows in DB_FLOW_BYTES each: ns above its least
 * RTT, at most DB_FLOW_MAX.
 */
static void add_times (struct recorded_audit *r, size_t seq,
                       const struct sample *s)
{
    uint8_t times[SAMPLE_FLOWS_MAX * DB_FLOW_BYTES];
    size_t n = s->nflows < SAMPLE_FLOWS_MAX ? s->nflows : SAMPLE_FLOWS_MAX;

    for (size_t f = 0; f < n; f++) {
        double ns = fmax (0, s->flow_ns[f] - s->rtt_ns[RTT_MIN]);
        unsigned int t = isnan (s->flow_ns[f]) ? DB_FLOW_LOST
                                               : (unsigned int)fmin (
                                                     DB_FLOW_MAX, ns + 0.5);

        times[DB_FLOW_BYTES * f] = (uint8_t)t;
        times[DB_FLOW_BYTES * f + 1] = (uint8_t)(t >> 8);
    }
    db_do (r->l, "INSERT INTO flow (audit, seq, times) VALUES (?, ?, ?)",
           INT (r->audit), INT (seq), BLOB (times, n * DB_FLOW_BYTES));
}

/* Mark the suspected cables between switches; NULL: there are none. */
static bool *suspect_cables (const struct recorded_audit *r,
                             const struct verdict *v)
{
    bool *cable = NULL;

    for (size_t i = 0; i < v->nfindings; i++)
        for (size_t k = 0; k < v->finding[i].nsuspects; k++) {
            uint32_t link = v->finding[i].suspect[k];

            if (r->net->link[link].kind != LINK_SWITCH)
                continue;
            if (!cable)
                cable = xcalloc (r->net->nlinks, sizeof (*cable));
            cable[link] = true;
        }
    return cable;
}

static bool may_cross (const struct recorded_audit *r, struct multipath *m,
                       const bool *cable, uint32_t a, uint32_t b)
{
    const struct multipath_share *way;
    size_t n = multipath_shares (m, pathset_endpoint (r->ps, a)->id,
                                 pathset_endpoint (r->ps, b)->id, &way);

    for (size_t i = 0; i < n; i++)
        if (cable[way[i].link])
            return true;
    return false;
}

/* Add the flows, of all pairs that may not cross a suspected cable. */
static void record_flows (struct recorded_audit *r, const struct samples *s,
                          const struct verdict *v)
{
    const struct traffic_class as = { (unsigned int)s->level, s->rc > 0 };
    const struct pathset *set[] = { r->ps };
    bool *cable = suspect_cables (r, v);
    struct multipath *m = NULL;
    struct error err;

    db_do (r->l,
           "INSERT INTO spread (audit, level, connected, switches)"
           " VALUES (?, ?, ?, ?)",
           INT (r->audit), INT (s->level), INT (s->rc), INT (s->spread));
    if (cable && r->net->hops)
        m = multipath_create (set, 1, &as, &err);
    for (size_t i = 0; i < s->nsamples && !r->l->failed; i++) {
        const struct sample *x = &s->sample[i];

        if (x->nflows > 0 && x->lost < x->sent
            && (!cable
                || (m && !may_cross (r, m, cable, x->a, x->b)
                    && !may_cross (r, m, cable, x->b, x->a))))
            add_times (r, i, x);
    }
    multipath_destroy (m);
    free (cable);
}

/* By endpoint, then by minimum, then in the order of measurement. */
static int compare_loopback_minimum (const void *a, const void *b)
{
    const struct loopback *x = *(const struct loopback *const *)a;
    const struct loopback *y = *(const struct loopback *const *)b;

    if (x->end != y->end)
        return util_compare (x->end, y->end);
    if (x->rtt_ns[RTT_MIN] != y->rtt_ns[RTT_MIN])
        return util_compare (x->rtt_ns[RTT_MIN], y->rtt_ns[RTT_MIN]);
    return util_compare (x, y);
}

/* Add one loopback per endpoint: the one with the median minimum. */
static void record_loopbacks (struct recorded_audit *r, const struct samples *s)
{
    const struct loopback **v = xarray (s->nloopbacks, sizeof (*v));

    for (size_t i = 0; i < s->nloopbacks; i++)
        v[i] = &s->loopback[i];
    sort_array (v, s->nloopbacks, compare_loopback_minimum);
    for (size_t i = 0, n; i < s->nloopbacks && !r->l->failed; i += n) {
        const struct loopback *middle;

        for (n = 1; i + n < s->nloopbacks && v[i + n]->end == v[i]->end; n++)
            ;
        middle = v[i + n / 2];
        db_do (r->l,
               "INSERT INTO loopback (audit, end, min, p05, p25, median, p75,"
               " p95, max) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
               INT (r->audit),
               ID (pathset_endpoint (r->ps, middle->end)->name),
               QUANTILES_OF (middle->rtt_ns));
    }
    free (v);
}

static void record_suspect (struct recorded_audit *r, size_t finding,
                            size_t *seq, const char *role, const char *name)
{
    db_do (r->l,
           "INSERT INTO suspect (audit, finding, seq, role, link)"
           " VALUES (?, ?, ?, ?, ?)",
           INT (r->audit), INT (finding), INT ((*seq)++), NAME (role),
           ID (name));
}

static void record_fact (struct recorded_audit *r, size_t finding, size_t seq,
                         const struct fact *f)
{
    const char *kind = fact_kept_name (f->kind);
    char *words = kind ? NULL : words_fact (f);
    const struct ledger_fact row = {
        (int64_t)finding, kind ? kind : fact_kept_name (FACT_SAID),
        f->n[0], f->n[1], f->n[2], f->n[3], f->n[4], f->n[5],
        kind ? f->name[0] : words, f->name[1], f->name[2],
    };

    db_put (r->l, &db_facts, &row,
            "INSERT INTO fact (audit, seq, finding, kind, n0, n1, n2, n3, n4,"
            " n5, a, b, c) VALUES (?1, ?2, :finding, :kind, :n0, :n1, :n2,"
            " :n3, :n4, :n5, :a, :b, :c)",
            VALUES (INT (r->audit), INT (seq)));
    free (words);
}

static void record_finding (struct recorded_audit *r, size_t n,
                            const struct finding *f)
{
    char *why = words_why (f);
    const struct ledger_finding row = { *f, why };
    size_t seq = 0;

    db_put (r->l, &db_findings, &row,
            "INSERT INTO finding (audit, seq, level, kind, basis, excess,"
            " stderr, expected, why, rate, rate_expected) VALUES (?1, ?2,"
            " :level, :kind, :basis, :excess_ns, :stderr_ns, :expected_ns,"
            " :why, :rate_bits, :rate_expected_bits)",
            VALUES (INT (r->audit), INT (n)));
    free (why);
    for (size_t i = 0; i < f->nfacts && finding_keeps_facts (f); i++)
        record_fact (r, n, i, &f->fact[i]);
    for (size_t i = 0; i < f->nsuspects; i++)
        record_suspect (r, n, &seq, "link", r->net->link[f->suspect[i]].id);
    for (size_t i = 0; i < f->noneway; i++)
        record_suspect (r, n, &seq, "one way", r->net->link[f->oneway[i]].id);
    for (size_t i = 0; i < f->nsw; i++)
        record_suspect (r, n, &seq, "switch", r->net->sw[f->sw[i]].id);
}

/* What links carried; of what was offered, if it is worth comparing with. */
static void record_rates (struct recorded_audit *r, const struct samples *s,
                          const struct verdict *v)
{
    struct baseline b = { .ps = (struct pathset *)r->ps,
                          .nlinks = r->net->nlinks };

    if (s->bursts && v->nrates > 0
        && baseline_add_bursts (&b, s->bursts, r->audit, NULL) < 0)
        b.nrates = 0; /* a path is broken: the judge said so */
    for (size_t i = 0; i < v->nrates; i++) {
        const struct verdict_rate *x = &v->rate[i];
        const struct baseline_rate key = { r->audit, x->arc, 0, 0 };
        const struct baseline_rate *of
            = find_sorted (&key, b.rate, b.nrates, compare_baseline_rates);

        db_do (r->l,
               "INSERT INTO rate (audit, link, way, bits, expected, offered)"
               " VALUES (?, ?, ?, ?, ?, ?)",
               INT (r->audit), ID (r->net->link[arc_link (x->arc)].id),
               INT (x->arc % 2), REAL (x->bits), REAL (x->expected),
               REAL (of ? of->expected : NAN));
    }
    free (b.rate);
}

static void add_verdict (struct recorded_audit *r, int64_t time,
                         const struct samples *s, const struct verdict *v,
                         const char *says)
{
    for (size_t i = 0; i < v->nfindings; i++)
        record_finding (r, i, &v->finding[i]);
    for (size_t i = 0; i < v->nopen; i++)
        db_do (r->l,
               "INSERT INTO open (audit, link) VALUES (?, ?)"
               " ON CONFLICT DO NOTHING",
               INT (r->audit), ID (r->net->link[v->open[i]].id));
    record_rates (r, s, v);
    for (size_t i = 0; i < v->nlimits; i++) {
        char *limit = words_fact (&v->limit[i]);

        db_do (r->l, "INSERT INTO gap (audit, seq, text) VALUES (?, ?, ?)",
               INT (r->audit), INT (i), TEXT (limit));
        free (limit);
    }
    db_do (r->l,
           "UPDATE audit SET ended = ?2, job = ?3, step = ?4, status = ?5,"
           " complete = ?6, sentence = ?7, limited = ?8 WHERE id = ?1",
           INT (r->audit), INT (time), INT (s->job), INT (s->step),
           NAME (verdict_status_name (v->status)), INT (s->complete),
           TEXT (says), INT (v->limited));
}

void db_seen (struct ledger *l, int64_t audit)
{
    /* max: the newer audit stays, if two run at once */
    db_do (l,
           "INSERT INTO seen (link, audit) SELECT DISTINCT c.link, ?1"
           " FROM rtt r JOIN crossing c ON c.route = r.route"
           " WHERE r.audit = ?1 AND r.lost < r.sent ON CONFLICT (link)"
           " DO UPDATE SET audit = max (audit, excluded.audit)",
           INT (audit));
}

int64_t ledger_record (struct ledger *l, int64_t time, const struct pathset *ps,
                       const struct samples *s, const struct verdict *verdict,
                       const char *says, struct error *err)
{
    struct recorded_audit r = { .l = l, .ps = ps, .net = pathset_network (ps) };

    db_begin (l, err);
    find_recorded_audit (&r, s);
    record_hosts (&r, s->answered, s->nanswered, true);
    record_hosts (&r, s->missing, s->nmissing, false);
    for (size_t i = 0; i < s->nsamples && !l->failed; i++)
        add_sample (&r, i, &s->sample[i]);
    if (s->spread > 0)
        record_flows (&r, s, verdict);
    record_loopbacks (&r, s);
    /* nodes that are not of the audit, or did not answer, are ignored */
    for (size_t i = 0; i < s->nnodes; i++) {
        const struct node *n = &s->node[i];

        db_do (l,
               "INSERT INTO node (audit, host, boot, kernel, governor, numa,"
               " adapter_numa) SELECT ?1, m.host, nullif (?3, ''),"
               " nullif (?4, ''), nullif (?5, ''), nullif (?6, -1),"
               " nullif (?7, -1) FROM member m WHERE m.audit = ?1"
               " AND m.answered = 1"
               " AND m.host = " DB_NAMED ("?2"),
               INT (r.audit), NAME (n->host), NAME (n->boot), NAME (n->kernel),
               NAME (n->governor), INT (n->numa), INT (n->adapter_numa));
    }
    db_seen (l, r.audit);
    if (!l->failed)
        add_verdict (&r, time, s, verdict, says);
    return db_end (l, r.audit);
}

/*
 * Counters, signs, faults
 */

int ledger_counters (struct ledger *l, int64_t audit,
                     const struct ledger_counter *counter, size_t n,
                     struct error *err)
{
    db_begin (l, err);
    for (size_t i = 0; i < n && !l->failed; i++) {
        if (counter[i].value > INT64_MAX)
            db_refuse (l, ERANGE, "counter %.40s is too large",
                       counter[i].name);
        db_do (l,
               "INSERT OR REPLACE INTO counter (audit, port, counter, value)"
               " VALUES (?, ?, ?, ?)",
               INT (audit), ID (counter[i].port), ID (counter[i].name),
               INT (counter[i].value));
    }
    return (int)db_end (l, 0);
}

int ledger_counter_last (struct ledger *l, int64_t audit, const char *port,
                         const char *name, uint64_t *value, int64_t *begun,
                         struct error *err)
{
    sqlite3_stmt *row;

    db_start (l, err);
    row = db_first (l,
                    "SELECT c.value, a.begun FROM counter c JOIN audit a"
                    " ON a.id = c.audit WHERE c.port = " DB_NAMED ("?2")
                    " AND c.counter = " DB_NAMED ("?3") " AND c.audit < ?1"
                    " ORDER BY c.audit DESC LIMIT 1",
                    VALUES (INT (audit), NAME (port), NAME (name)));
    if (row) {
        *value = (uint64_t)sqlite3_column_int64 (row, 0);
        *begun = sqlite3_column_int64 (row, 1);
        sqlite3_reset (row);
    }
    return (int)db_result (l, row != NULL);
}

int ledger_sign_add (struct ledger *l, int64_t audit, const char *link,
                     const char *host, enum sign_kind kind, int64_t time,
                     struct error *err)
{
    return db_call (l, err,
                    "INSERT OR REPLACE INTO sign (audit, link, host, kind, time)"
                    " VALUES (?, ?, ?, ?, ?)",
                    VALUES (INT (audit), ID (link), ID (host),
                            NAME (sign_name (kind)), INT (time)));
}

int ledger_fault_add (struct ledger *l, int64_t audit, const char *node,
                      const char *cause, struct error *err)
{
    return db_call (l, err,
                    "INSERT OR REPLACE INTO fault (audit, host, cause)"
                    " VALUES (?, ?, ?)",
                    VALUES (INT (audit), ID (node), TEXT (cause)));
}

/*
 * Actions and their messages
 */

int64_t ledger_intend (struct ledger *l, int64_t time,
                       const struct ledger_action *a, struct error *err)
{
    struct ledger_action now = *a;

    now.intended = time;
    db_begin (l, err);
    if (!db_run (l, &now.id,
                 "SELECT id FROM action WHERE node = ? AND kind = ?"
                 " AND done IS NULL",
                 VALUES (TEXT (a->node), NAME (policy_kind_name (a->kind))))) {
        db_put (l, &db_actions, &now,
                "INSERT INTO action (after, node, link, kind, intended, reason,"
                " why, cause) VALUES (" NEWEST ", :node, :link, :kind,"
                " :intended, :reason, :why, :cause)",
                NONE);
        now.id = sqlite3_last_insert_rowid (l->db);
    }
    return db_end (l, now.id);
}

int ledger_done (struct ledger *l, int64_t time, int64_t action,
                 struct error *err)
{
    return db_call (
        l, err, "UPDATE action SET done = ?2 WHERE id = ?1 AND done IS NULL",
        VALUES (INT (action), INT (time)));
}

int ledger_say (struct ledger *l, const char *node, const char *words, bool on,
                struct error *err)
{
    return db_call (l, err,
                    on ? "INSERT INTO said (node, words) VALUES (?, ?)"
                         " ON CONFLICT DO NOTHING"
                       : "DELETE FROM said WHERE node = ? AND words = ?",
                    VALUES (NAME (node), TEXT (words)));
}

/*
 * Mutes and rebases
 */

int ledger_mute (struct ledger *l, int64_t time, const struct ledger_mute *m,
                 struct error *err)
{
    struct ledger_mute now = *m;

    now.time = time;
    db_start (l, err);
    db_put (l, &db_mutes, &now,
            "INSERT OR REPLACE INTO mute (link, node, time, until, who, why)"
            " VALUES (coalesce (:link, ''), coalesce (:node, ''), :time,"
            " :until, :who, :why)",
            NONE);
    return (int)db_result (l, 0);
}

int ledger_unmute (struct ledger *l, const char *link, const char *node,
                   struct error *err)
{
    db_start (l, err);
    db_do (l, "DELETE FROM mute WHERE link = ? AND node = ?",
           NAME (link ? link : ""), NAME (node ? node : ""));
    if (sqlite3_changes (l->db) == 0)
        db_refuse (l, ENOENT, "%s %.40s is not muted", link ? "link" : "node",
                   link ? link : node);
    return (int)db_result (l, 0);
}

int ledger_rebase (struct ledger *l, int64_t time, const char *link,
                   const char *who, const char *why, struct error *err)
{
    return db_call (
        l, err,
        "INSERT OR REPLACE INTO rebase (link, after, time, who, why)"
        " VALUES (?, " NEWEST ", ?, ?, ?)",
        VALUES (ID (link), INT (time), NAME (who), TEXT (why)));
}

/*
 * Comments
 */

int64_t ledger_comment_add (struct ledger *l, int64_t time, uint64_t job,
                            int64_t submitted, const char *text,
                            struct error *err)
{
    int64_t id;

    db_begin (l, err);
    if (!db_run (l, &id,
                 "SELECT id FROM comment WHERE job = ? AND submitted = ?"
                 " AND text = ?",
                 VALUES (INT (job), INT (submitted), TEXT (text))))
        id = db_add (l,
                     "INSERT INTO comment (job, submitted, text, after,"
                     " queued, tries, due) VALUES (?1, ?2, ?3, " NEWEST
                     ", ?4, 0, ?4)",
                     VALUES (INT (job), INT (submitted), TEXT (text),
                             INT (time)));
    return db_end (l, id);
}

int ledger_comment_done (struct ledger *l, int64_t time, int64_t comment,
                         struct error *err)
{
    return db_call (l, err,
                    "UPDATE comment SET done = ?2, tries = tries + 1"
                    " WHERE id = ?1 AND done IS NULL",
                    VALUES (INT (comment), INT (time)));
}

int ledger_comment_failed (struct ledger *l, int64_t time, int64_t comment,
                           int64_t not_before, const char *why,
                           struct error *err)
{
    if (not_before > time + LEDGER_RETRY_MAX_S)
        not_before = time + LEDGER_RETRY_MAX_S;
    return db_call (
        l, err,
        "UPDATE comment SET due = ?2, error = ?3, tries = tries + 1"
        " WHERE id = ?1 AND done IS NULL",
        VALUES (INT (comment), INT (not_before), TEXT (why)));
}

/*
 * Notices
 */

static bool is_held (struct ledger *l, const char *key, int64_t since)
{
    return db_run (l, NULL,
                   "SELECT 1 FROM notice WHERE key = ?1"
                   " AND (over IS NULL OR over > ?2 OR time > ?2)",
                   VALUES (TEXT (key), INT (since)));
}

static void add_notice (struct ledger *l, int64_t time,
                        const struct ledger_notice *notice)
{
    struct ledger_notice now = *notice;

    now.time = time;
    for (size_t i = 0; i < now.keys.count; i++)
        if (is_held (l, now.keys.name[i], time - LEDGER_NOTICE_S))
            now.told = ""; /* it is not to be */
    for (size_t i = 0; i < now.keys.count; i++) {
        now.key = now.keys.name[i];
        if (!db_run (l, NULL,
                     "SELECT 1 FROM notice WHERE key = ? AND over IS NULL",
                     VALUES (TEXT (now.key))))
            db_put (l, &db_notices, &now,
                    "INSERT INTO notice (key, event, words, node, link, audit,"
                    " time, told) VALUES (:key, :event, :words, :node, :link,"
                    " nullif (:audit, 0), :time, :told)",
                    NONE);
        now.told = "";
    }
}

static bool has_key (const struct ledger_notice *notice, size_t n,
                     const char *key)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < notice[i].keys.count; k++)
            if (!strcmp (notice[i].keys.name[k], key))
                return true;
    return false;
}

/* End the notices of the class that hold and are not among these. */
static void end_notices (struct ledger *l, int64_t time, const char *class_is,
                         const struct ledger_notice *notice, size_t n)
{
    struct ledger_rows held = { 0 };

    db_read (l, &db_notices, &held,
             "SELECT id, key FROM notice WHERE over IS NULL"
             " AND substr (key, 1, length (?1)) = ?1",
             VALUES (TEXT (class_is)));
    for (size_t i = 0; i < held.n; i++)
        if (!has_key (notice, n, held.notice[i].key))
            db_do (l, "UPDATE notice SET over = ?2 WHERE id = ?1",
                   INT (held.notice[i].id), INT (time));
}

int ledger_notices (struct ledger *l, int64_t time, const char *class_is,
                    const struct ledger_notice *notice, size_t n,
                    struct error *err)
{
    db_begin (l, err);
    for (size_t i = 0; i < n; i++)
        add_notice (l, time, &notice[i]);
    end_notices (l, time, class_is, notice, n);
    return (int)db_end (l, 0);
}

int ledger_told (struct ledger *l, int64_t notice, const char *how,
                 struct error *err)
{
    return db_call (l, err,
                    "UPDATE notice SET told = ?2 WHERE id = ?1"
                    " AND told IS NULL",
                    VALUES (INT (notice), TEXT (how)));
}

/*
 * Prune
 */

/* Run a statement that deletes; return the number of deleted rows. */
static int deletes (struct ledger *l, const char *sql, const struct db_value *v,
                    size_t n)
{
    db_run (l, NULL, sql, v, n);
    return l->failed ? 0 : sqlite3_changes (l->db);
}

/* The first audit that is not old. A clock may have been wrong: one that seems
 * younger than the newest, which is not old, was made by a clock that was ahead:
 * the search goes on after it.
 */
static int64_t first_young (struct ledger *l, int64_t before)
{
    int64_t newest = INT64_MIN, young = INT64_MAX;

    db_run (l, &newest,
            "SELECT begun FROM audit WHERE id > 0 ORDER BY id DESC LIMIT 1",
            NONE);
    db_run (l, &young,
            "SELECT id FROM audit WHERE id > 0 AND +begun >= ? AND +begun <= ?"
            " ORDER BY id LIMIT 1",
            VALUES (INT (before), INT (newest < before ? INT64_MAX : newest)));
    return young;
}

/* Delete what only deleted audits needed; whether there may be more. */
static bool delete_orphaned_rows (struct ledger *l, int64_t before)
{
    int64_t oldest = INT64_MAX; /* remaining audit */
    bool more = false;

    more |= deletes (l,
                     "DELETE FROM route WHERE id IN (SELECT id FROM route"
                     " WHERE epoch = (SELECT e.id FROM epoch e WHERE e.id > 0"
                     " AND NOT EXISTS (SELECT 1 FROM audit a"
                     " WHERE a.epoch = e.id) AND EXISTS (SELECT 1 FROM route t"
                     " WHERE t.epoch = e.id) LIMIT 1) LIMIT 1000)",
                     NONE) > 0;
    deletes (l,
             "DELETE FROM epoch WHERE id > 0 AND NOT EXISTS (SELECT 1"
             " FROM audit a WHERE a.epoch = epoch.id) AND NOT EXISTS"
             " (SELECT 1 FROM route t WHERE t.epoch = epoch.id)",
             NONE);
    db_run (l, &oldest, "SELECT id FROM audit WHERE id > 0 ORDER BY id LIMIT 1",
            NONE);
    more |= deletes (l,
                     "DELETE FROM comment WHERE id IN (SELECT id FROM comment"
                     " WHERE done IS NOT NULL AND after < ? LIMIT 1000)",
                     VALUES (INT (oldest))) > 0;
    more |= deletes (l,
                     "DELETE FROM notice WHERE id IN (SELECT id FROM notice"
                     " WHERE told IS NOT NULL AND over < ? LIMIT 1000)",
                     VALUES (INT (before))) > 0;
    return more;
}

int ledger_prune (struct ledger *l, int64_t before, int64_t keep,
                  struct ledger_pruned *done, struct error *err)
{
#define OLD                                                                   \
    " IN (SELECT id FROM audit WHERE id > 0"                                  \
    " AND (id <= ?1 OR (id < ?2 AND begun < ?3)) AND id < max (?1 + 1, ?2)"   \
    " ORDER BY id LIMIT ?4)"
    static const char *const delete[] = {
        "DELETE FROM rtt WHERE audit" OLD,
        "DELETE FROM counter WHERE audit" OLD,
        "DELETE FROM audit WHERE id" OLD,
    };
    int64_t last = 0, young;

    *done = (struct ledger_pruned){ 0 };
    db_begin (l, err);
    db_run (
        l, &last,
        "SELECT id FROM audit WHERE id > 0 ORDER BY id DESC LIMIT 1 OFFSET ?",
        VALUES (INT (keep)));
    young = first_young (l, before);
    /* large tables first: if they went with their audits, all that their rows
     * refer to would be looked up
     */
    for (size_t i = 0; i < sizeof (delete) / sizeof (*delete); i++)
        done->audits = deletes (l, delete[i],
                                VALUES (INT (last), INT (young), INT (before),
                                        INT (LEDGER_PRUNE_AUDITS)));
    db_end (l, 0);
    done->more = done->audits == LEDGER_PRUNE_AUDITS
                 || delete_orphaned_rows (l, before);
    return (int)db_result (l, 0);
}

int64_t ledger_old (struct ledger *l, int64_t before, int64_t *oldest,
                    int64_t *newest, struct error *err)
{
    int64_t n = 0;

    *oldest = *newest = INT64_MAX;
    db_start (l, err);
    db_run (l, oldest,
            "SELECT begun FROM audit WHERE begun < ? ORDER BY +id LIMIT 1",
            VALUES (INT (before)));
    db_run (l, newest,
            "SELECT begun FROM audit WHERE id > 0 ORDER BY id DESC LIMIT 1",
            NONE);
    db_run (l, &n, "SELECT count(*) FROM audit WHERE begun < ?",
            VALUES (INT (before)));
    return db_result (l, n);
}
