/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read from the ledger. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/rates.h"
#include "core/linear/stats.h"
#include "prolog/ledger/ledger_db.h"
#include "util/json.h"
#include "util/sort.h"

enum { FAULT_MAX_AGE_S = 7 * 86400 };

#define AUDIT_COLUMNS                                                         \
    "SELECT a.id, a.begun, a.ended, a.why, a.about, a.submitted, a.uid,"      \
    " a.job, a.step, e.fabric, a.status, a.complete, a.sentence,"             \
    " (SELECT text FROM name WHERE id = a.node) AS node,"                     \
    " (SELECT text FROM name WHERE id = a.leader) AS leader,"                 \
    " (SELECT count(*) FROM member m WHERE m.audit = a.id) AS hosts"          \
    " FROM audit a JOIN epoch e ON e.id = a.epoch "
#define ACTION_COLUMNS                                                        \
    "SELECT id, after, node, link, kind, intended, done, reason, why,"        \
    " cause FROM action "
#define SIGN_COLUMNS                                                          \
    "SELECT s.audit, l.text AS link, h.text AS host, s.kind, s.time"          \
    " FROM sign s JOIN name l ON l.id = s.link"                               \
    " LEFT JOIN name h ON h.id = s.host "
#define SUSPECTS                                                              \
    "(SELECT count(*) FROM suspect k WHERE k.audit = f.audit"                 \
    " AND k.finding = f.seq AND k.role <> 'switch')"
/* what staff are told of, once two audits say so */
#define GRAVE "(f.level = 'FAIL' OR f.basis IN ('loss', 'delay'))"
#define REBASED(link)                                                         \
    "coalesce ((SELECT after FROM rebase WHERE link = " link "), 0)"
/* what is kept of a finding */
#define FINDING_COLUMNS                                                       \
    "level, kind, basis, excess AS excess_ns, stderr AS stderr_ns,"           \
    " expected AS expected_ns, why, rate AS rate_bits,"                       \
    " rate_expected AS rate_expected_bits FROM finding"
/* of rates: none is below what the judge finds to be less */
#define RATES_GOOD                                                            \
    "min (bits >= " NUMBER (RATES_WARN) " * coalesce (expected, 0))"
/* the newest audit that measured what a link carries; and that found it so, or less
 */
#define RATED(link) "(SELECT max (audit) FROM rate WHERE link = " link ")"
#define JUDGED(of)                                                            \
    "(SELECT z.audit FROM rate z WHERE z.link = " of " GROUP BY z.audit"      \
    " HAVING " RATES_GOOD " OR EXISTS (SELECT 1 FROM suspect y"               \
    " WHERE y.link = " of " AND y.audit = z.audit)"                           \
    " ORDER BY z.audit DESC LIMIT 1)"
#define QUOTED(x) #x
#define NUMBER(x) QUOTED (x)

/* What is read into structs; of some, it is also how they are entered. */
#define DB_ROWS(table, row, ...)                                              \
    const struct db_table table = DB_TABLE (struct row, __VA_ARGS__)
#define ROWS(...) static DB_ROWS (__VA_ARGS__)
ROWS (audits, ledger_audit, 16, id, begun, ended, why, about, submitted, uid,
     job, step, fabric, status, complete, sentence, node, leader, hosts);
DB_ROWS (db_actions, ledger_action, 10, id, after, node, link, kind, intended,
     done, reason, why, cause);
DB_ROWS (db_mutes, ledger_mute, 6, link, node, time, until, who, why);
ROWS (rebases, ledger_rebase, 5, link, after, time, who, why);
DB_ROWS (db_signs, ledger_sign, 5, audit, link, host, kind, time);
ROWS (said, ledger_said, 2, node, words);
ROWS (comments, ledger_comment, 10, id, after, job, submitted, text, queued,
     tries, due, done, error);
ROWS (failed, ledger_failed, 4, node, cause, audits, newest);
ROWS (hosts, ledger_host, 3, host, answered, led);
ROWS (links, ledger_link, 14, link, audit, ended, open, finding, level, kind,
     basis, excess_ns, rate_bits, rate_expected_bits, suspects, audits, since);
DB_ROWS (db_notices, ledger_notice, 10, id, event, words, node, link, audit,
     time, key, over, told);
ROWS (kernels, ledger_kernel, 3, kernel, nodes, since);
ROWS (totals, ledger_total, 2, result, audits);
ROWS (faults, ledger_fault, 3, node, cause, since);
ROWS (seen, ledger_seen, 11, audit, begun, job, fail, own, open, clean, lossy,
     rated, excess_ns, peer);
ROWS (suspects, ledger_suspect, 3, finding, id, role);
ROWS (results, ledger_result, 9, id, ended, status, whole, complete, asked,
     answered, limited, leader);
#define OF_FINDING(member) DB_COLUMN (#member, struct ledger_finding, x.member)
const struct db_table db_findings = {
    .size = sizeof (struct ledger_finding), .n = 9,
    .column = { OF_FINDING (level), OF_FINDING (kind), OF_FINDING (basis),
                OF_FINDING (excess_ns), OF_FINDING (stderr_ns),
                OF_FINDING (expected_ns), OF_FINDING (rate_bits),
                OF_FINDING (rate_expected_bits),
                DB_MEMBER (struct ledger_finding, why) },
};
DB_ROWS (db_facts, ledger_fact, 11, finding, kind, n0, n1, n2, n3, n4, n5, a, b,
         c);
ROWS (rates, ledger_rate, 6, audit, ended, link, way, bits, expected);

/* ?1 is `from`, ?2 is `to`. */
static const struct {
    const struct db_table *table;
    const char *sql;
} lists[] = {
    [LEDGER_AUDITS] = { &audits,
      AUDIT_COLUMNS "WHERE a.id > 0 ORDER BY a.id DESC LIMIT ?" },
    [LEDGER_ACTIONS] = { &db_actions,
      ACTION_COLUMNS "WHERE id > 0 ORDER BY id DESC LIMIT ?" },
    [LEDGER_MUTES] = { &db_mutes,
      "SELECT link, node, time, until, who, why FROM mute ORDER BY link, node" },
    [LEDGER_REBASES] = { &rebases,
      "SELECT n.text AS link, b.after, b.time, b.who, b.why FROM rebase b"
      " JOIN name n ON n.id = b.link ORDER BY n.text" },
    [LEDGER_SIGNS] = { &db_signs,
      SIGN_COLUMNS "WHERE s.audit >= ? ORDER BY s.audit, s.link, s.kind" },
    [LEDGER_SAID] = { &said,
      "SELECT node, words FROM said ORDER BY node, words" },
    [LEDGER_COMMENTS_DUE] = { &comments,
      "SELECT id, after, job, submitted, text, queued, tries, due, done, error"
      " FROM comment WHERE id > 0 AND done IS NULL AND due NOT BETWEEN ?1 + 1 AND ?1 + "
      NUMBER (LEDGER_RETRY_MAX_S) " ORDER BY id LIMIT ?2" },
    [LEDGER_BEGUN] = { &audits,
      "SELECT begun, why FROM audit WHERE begun BETWEEN ? AND ?" },
    [LEDGER_FAILED] = { &failed,
      "SELECT coalesce (n.text, '') AS node, coalesce (f.cause,"
      " a.sentence) AS cause, count(*) AS audits, max(a.id) AS newest"
      " FROM audit a LEFT JOIN fault f ON f.audit = a.id LEFT JOIN name n"
      " ON n.id = f.host WHERE a.begun >= ? AND a.ended IS NOT NULL"
      " AND a.job IS NULL GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC" },
    [LEDGER_HOSTS] = { &hosts,
      "SELECT n.text AS host, m.answered, m.host = a.leader AS led"
      " FROM member m JOIN name n ON n.id = m.host JOIN audit a"
      " ON a.id = m.audit WHERE m.audit = ? ORDER BY n.text" },
    [LEDGER_SILENT] = { &hosts,
      "SELECT n.text AS host FROM audit a CROSS JOIN member m"
      " ON m.audit = a.id AND m.answered = 0 JOIN name n ON n.id = m.host"
      " WHERE a.begun >= ? GROUP BY m.host ORDER BY 1" },
    [LEDGER_NEWEST] = { &links,
      "SELECT n.text AS link, s.audit, a.ended FROM seen s JOIN name n"
      " ON n.id = s.link JOIN audit a ON a.id = s.audit ORDER BY s.audit" },
    [LEDGER_TRIES] = { &audits,
      "SELECT a.id, n.text AS node, a.begun FROM audit a"
      " JOIN name n ON n.id = a.node WHERE a.node IS NOT NULL"
      " AND a.id >= ? ORDER BY a.id" },
    [LEDGER_SUSPECTS] = { &links,
      "SELECT text AS link FROM name WHERE id IN (SELECT link FROM suspect"
      " WHERE audit >= ?)" },
    /* open: of the link, or of all if the audit is UNKNOWN and does not say
     * of what */
    [LEDGER_LINKS] = { &links,
      "SELECT n.text AS link, s.audit, a.ended, s.rate = 0 AND (EXISTS"
      " (SELECT 1 FROM open o WHERE o.audit = s.audit AND o.link = s.link)"
      " OR (a.status = 'UNKNOWN'"
      " AND NOT EXISTS (SELECT 1 FROM open o WHERE o.audit = s.audit)"
      " AND NOT EXISTS (SELECT 1 FROM finding o WHERE o.audit = s.audit)))"
      " AS open, f.seq AS finding, f.level, f.kind, f.excess AS excess_ns,"
      " f.rate AS rate_bits, f.rate_expected AS rate_expected_bits,"
      " " SUSPECTS " AS suspects FROM (SELECT link, audit, 0 AS rate FROM seen"
      " UNION ALL SELECT link, " JUDGED ("e.link") ", 1 FROM seen e"
      " WHERE " JUDGED ("e.link") " < e.audit) s JOIN name n ON n.id = s.link"
      " JOIN audit a ON a.id = s.audit LEFT JOIN suspect u"
      " ON u.link = s.link AND u.audit = s.audit LEFT JOIN finding f"
      " ON f.audit = u.audit AND f.seq = u.finding"
      " WHERE s.rate = 0 OR f.rate IS NOT NULL"
      " ORDER BY s.audit, f.seq, u.seq" },
    [LEDGER_FAILS] = { &links,
      "SELECT n.text AS link, f.audit, f.seq AS finding, f.level, f.kind,"
      " f.basis,"
      " f.excess AS excess_ns, f.rate AS rate_bits,"
      " f.rate_expected AS rate_expected_bits, " SUSPECTS " AS suspects"
      " FROM finding f"
      " JOIN suspect u ON u.audit = f.audit AND u.finding = f.seq"
      " JOIN seen s ON s.link = u.link AND (s.audit = f.audit"
      " OR f.rate IS NOT NULL AND f.audit = " JUDGED ("u.link") ")"
      " JOIN name n ON n.id = u.link WHERE " GRAVE
      " ORDER BY f.audit, f.seq, u.seq" },
    [LEDGER_DOUBTS] = { &links,
      "SELECT DISTINCT n.text AS link, f.basis, f.rate_expected"
      " AS rate_expected_bits FROM audit a CROSS JOIN finding f"
      " ON f.audit = a.id AND (f.basis = 'delay' OR f.kind IN ('switch',"
      " 'switch link') AND (" GRAVE " OR f.basis = 'baseline'"
      " AND f.excess > ?2)) CROSS JOIN suspect u ON u.audit = f.audit"
      " AND u.finding = f.seq AND u.role <> 'switch' JOIN name n"
      " ON n.id = u.link WHERE a.begun >= ?1" },
    [LEDGER_SETTLED] = { &links,
      "SELECT n.text AS link, count (DISTINCT s.audit) AS audits,"
      " min (a.begun) AS since, avg (f.excess) AS excess_ns"
      " FROM audit a CROSS JOIN finding f ON f.audit = a.id"
      " AND f.level = 'WARN' AND f.basis = 'baseline'"
      " AND f.kind IN ('host end', 'switch link')"
      " CROSS JOIN suspect s ON s.audit = f.audit AND s.finding = f.seq"
      " AND s.role <> 'switch' JOIN name n ON n.id = s.link"
      " WHERE a.begun >= ?1 AND s.audit > " REBASED ("s.link")
      " GROUP BY s.link HAVING count (DISTINCT s.audit) >= "
      NUMBER (LEDGER_SETTLED_AUDITS) " AND max (a.begun) - min (a.begun) >= "
      NUMBER (LEDGER_SETTLED_S) " AND max (f.excess - 3 * f.stderr) < ?2"
      " AND NOT EXISTS (SELECT 1 FROM suspect u JOIN finding g"
      " ON g.audit = u.audit AND g.seq = u.finding AND g.level = 'FAIL'"
      " WHERE u.link = s.link AND u.audit > " REBASED ("s.link") ")"
      " AND 3 * count (DISTINCT s.audit) >= 2 * (SELECT"
      " count (DISTINCT r.audit) FROM crossing x JOIN rtt r ON r.route = x.route"
      " AND r.audit >= min (s.audit) AND r.lost < r.sent WHERE x.link = s.link"
      " AND NOT EXISTS (SELECT 1 FROM open o WHERE o.audit = r.audit"
      " AND o.link = x.link)) ORDER BY n.text" },
    [LEDGER_RATES] = { &rates,
      "SELECT r.audit, a.ended, n.text AS link, r.way, r.bits, r.expected"
      " FROM seen s JOIN name n ON n.id = s.link JOIN rate r ON r.link = s.link"
      " AND r.audit = " RATED ("s.link") " JOIN audit a ON a.id = r.audit"
      " ORDER BY n.text, r.way" },
    [LEDGER_UNTOLD] = { &db_notices,
      "SELECT id, event, words, node, link, audit, time FROM notice"
      " WHERE id > 0 AND told IS NULL ORDER BY id LIMIT ?2" },
    [LEDGER_NOTICES] = { &db_notices,
      "SELECT id, event, words, node, link, audit, time, key, over, told"
      " FROM notice WHERE time >= ? ORDER BY time, id" },
    [LEDGER_KERNELS] = { &kernels,
      "SELECT d.kernel, count (DISTINCT d.host) AS nodes, min (a.begun) AS since"
      " FROM audit a CROSS JOIN node d ON d.audit = a.id WHERE a.begun >= ?"
      " AND d.kernel IS NOT NULL GROUP BY d.kernel ORDER BY 3" },
    [LEDGER_TOTALS] = { &totals,
      "SELECT result, audits FROM total" },
};

static int read_list (struct ledger *l, const struct db_table *t,
                      struct ledger_rows *rows, const char *sql,
                      const struct db_value *v, size_t n, struct error *err)
{
    *rows = (struct ledger_rows){ 0 };
    db_start (l, err);
    db_read (l, t, rows, sql, v, n);
    if (l->failed)
        rows->n = 0;
    return (int)db_result (l, 0);
}

int ledger_list (struct ledger *l, enum ledger_kind kind, int64_t from,
                 int64_t to, struct ledger_rows *rows, struct error *err)
{
    return read_list (l, lists[kind].table, rows, lists[kind].sql,
                      VALUES (INT (from), INT (to)), err);
}

json_t *ledger_json (struct ledger *l, enum ledger_kind kind, int64_t from,
                     int64_t to, struct error *err)
{
    db_start (l, err);
    return db_json (l, db_rows_json (l, DB_OBJECTS, lists[kind].sql,
                                     VALUES (INT (from), INT (to))));
}

/*
 * Numbers
 */

static const char *const numbers[] = {
    [LEDGER_NEXT] = "SELECT id FROM audit WHERE id > ?1 ORDER BY id LIMIT 1",
    [LEDGER_SINCE] = "SELECT min (id) FROM audit WHERE begun >= ?1",
    [LEDGER_FIRST] = "SELECT begun FROM audit WHERE id > 0 ORDER BY id LIMIT 1",
    [LEDGER_SUCCEEDED]
    = "SELECT ended FROM audit WHERE id > 0 AND job IS NOT NULL"
      " AND status <> 'UNKNOWN' ORDER BY id DESC LIMIT 1",
    [LEDGER_MEASURED]
    = "SELECT a.begun FROM member m JOIN audit a ON a.id = m.audit"
      " WHERE m.host = " DB_NAMED ("?2") " AND m.answered = 1"
      " ORDER BY m.audit DESC LIMIT 1",
    [LEDGER_RATED]
    = "SELECT a.ended FROM rate r JOIN audit a ON a.id = r.audit"
      " WHERE r.link = " DB_NAMED ("?2") " ORDER BY r.audit DESC LIMIT 1",
};

int ledger_number (struct ledger *l, enum ledger_number number, int64_t from,
                   const char *name, int64_t *value, struct error *err)
{
    bool is;

    db_start (l, err);
    is = db_run (l, value, numbers[number], VALUES (INT (from), NAME (name)));
    return (int)db_result (l, is);
}

/*
 * Faults
 */

/* Rows come by node, of each the oldest first: join them. */
static void join_faults (struct ledger_rows *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++) {
        struct ledger_fault *f = &rows->fault[i];
        struct ledger_fault *of = n > 0 ? &rows->fault[n - 1] : f;
        int64_t begun = f->since, out_s = LEDGER_OUT_MIN_S;

        if (n == 0 || strcmp (of->node, f->node)) {
            of = &rows->fault[n++];
            *of = *f;
        }
        of->cause = f->cause;
        of->faults++;
        for (int64_t k = 1; k < of->faults && out_s < LEDGER_OUT_MAX_S; k++)
            out_s *= 2;
        of->until
            = begun + (out_s > LEDGER_OUT_MAX_S ? LEDGER_OUT_MAX_S : out_s);
    }
    rows->n = n;
}

int ledger_faulty (struct ledger *l, int64_t now, struct ledger_rows *faulty,
                   struct error *err)
{
    int rc = read_list (l, &faults, faulty,
                        "SELECT n.text AS node, f.cause, a.begun AS since"
                        " FROM audit a CROSS JOIN fault f ON f.audit = a.id"
                        " JOIN name n ON n.id = f.host WHERE a.begun >= ?"
                        " AND NOT EXISTS (SELECT 1 FROM member m"
                        " WHERE m.host = f.host AND m.answered = 1"
                        " AND m.audit > f.audit) ORDER BY min (f.audit)"
                        " OVER (PARTITION BY f.host), f.host, f.audit",
                        VALUES (INT (now - FAULT_MAX_AGE_S)), err);

    join_faults (faulty);
    return rc;
}

static int compare_row_name (const void *name, const void *row)
{
    return strcmp (name, *(const char *const *)row);
}

bool ledger_has_host (const struct ledger_rows *hosts, const char *host)
{
    return find_sorted (host, hosts->host, hosts->n, compare_row_name);
}

const struct ledger_fault *ledger_fault_of (const struct ledger_rows *faulty,
                                            const char *node)
{
    for (size_t i = 0; i < faulty->n; i++)
        if (!strcmp (faulty->fault[i].node, node))
            return &faulty->fault[i];
    return NULL;
}

/* An `until` too far in the future is ignored: the clock was set back. */
const struct ledger_fault *ledger_is_out (const struct ledger_rows *faulty,
                                          const char *node, int64_t now)
{
    const struct ledger_fault *v = ledger_fault_of (faulty, node);

    return v && v->until > now && v->until <= now + LEDGER_OUT_MAX_S ? v : NULL;
}

json_t *ledger_fault_json (const struct ledger_fault *v)
{
    return json_pack ("{s:s, s:I, s:I, s:I}", "cause", v->cause, "faults",
                      (json_int_t)v->faults, "since", (json_int_t)v->since,
                      "until", (json_int_t)v->until);
}

/*
 * One audit
 */

static void refuse_missing (struct ledger *l, int64_t audit)
{
    db_refuse (l, ENOENT, "there is no audit %jd", (intmax_t)audit);
}

/* The lists of an audit; each row of one with `of` has there, under `name`, the
 * rows of another statement for its column `number`, which is removed.
 */
static const struct {
    const char *key;
    const char *sql;
    enum db_shape shape;
    const char *number, *name;
    const char *of;
    enum db_shape of_shape;
} audit_lists[] = {
    { .key = "hosts",
      .sql = "SELECT n.text AS host, m.answered FROM member m JOIN name n"
             " ON n.id = m.host WHERE m.audit = ? ORDER BY n.text" },
    { .key = "counters",
      .sql = "SELECT p.text AS port, n.text AS name, c.value FROM counter c"
             " JOIN name p ON p.id = c.port JOIN name n ON n.id = c.counter"
             " WHERE c.audit = ? ORDER BY c.port, c.counter" },
    { .key = "signs",
      .sql = SIGN_COLUMNS "WHERE s.audit = ? ORDER BY s.link, s.kind" },
    { .key = "faults",
      .sql = "SELECT n.text AS node, f.cause FROM fault f JOIN name n"
             " ON n.id = f.host WHERE f.audit = ? ORDER BY n.text" },
    { .key = "not_judged",
      .sql = "SELECT n.text AS link FROM open o JOIN name n ON n.id = o.link"
             " WHERE o.audit = ? ORDER BY n.text" },
    { .key = "actions", .sql = ACTION_COLUMNS "WHERE after = ? ORDER BY id" },
    { .key = "loopbacks", .sql = DB_LOOPBACKS },
    { .key = "nodes",
      .sql = "SELECT n.text AS host, d.boot, d.kernel, d.governor, d.numa,"
             " d.adapter_numa FROM node d JOIN name n ON n.id = d.host"
             " WHERE d.audit = ? ORDER BY n.text" },
    { .key = "findings",
      .sql = "SELECT seq, " FINDING_COLUMNS " WHERE audit = ? ORDER BY seq",
      .number = "seq", .name = "suspects",
      .of = "SELECT n.text AS id, s.role FROM suspect s JOIN name n"
            " ON n.id = s.link WHERE s.audit = ? AND s.finding = ?"
            " ORDER BY s.seq" },
    { .key = "rates",
      .sql = "SELECT n.text AS link, r.way, r.bits, r.expected FROM rate r"
             " JOIN name n ON n.id = r.link WHERE r.audit = ?"
             " ORDER BY n.text, r.way" },
    { .key = "limits",
      .shape = DB_VALUES,
      .sql = "SELECT text FROM gap WHERE audit = ? ORDER BY seq" },
    { .key = "probes",
      .sql = "SELECT r.route, a.text AS a, b.text AS b, r.round,"
             " CASE r.first WHEN 1 THEN a.text ELSE b.text END AS initiator,"
             " r.sent, r.lost, " DB_QUANTILES
             " FROM rtt r JOIN route t ON t.id = r.route JOIN name a"
             " ON a.id = t.a JOIN name b ON b.id = t.b WHERE r.audit = ?"
             " ORDER BY r.seq",
      .number = "route", .name = "row", .of_shape = DB_OBJECT,
      .of = "SELECT n.text, c.count FROM crossing c JOIN name n"
            " ON n.id = c.link WHERE c.route = ?2 ORDER BY c.link" },
};

static json_t *audit_rows (struct ledger *l, size_t k, int64_t id)
{
    json_t *rows = db_rows_json (l, audit_lists[k].shape, audit_lists[k].sql,
                                 VALUES (INT (id))),
           *row;
    const char *number = audit_lists[k].number;
    size_t i;

    json_array_foreach (rows, i, row) if (number)
    {
        int64_t n = json_int (row, number, 0);

        json_object_del (row, number);
        json_put (row, audit_lists[k].name,
                  db_rows_json (l, audit_lists[k].of_shape, audit_lists[k].of,
                                VALUES (INT (id), INT (n))));
    }
    return rows;
}

json_t *ledger_audit (struct ledger *l, int64_t id, struct error *err)
{
    json_t *rows, *audit;

    db_begin_read (l, err);
    rows = db_rows_json (l, DB_OBJECTS, AUDIT_COLUMNS "WHERE a.id = ?",
                         VALUES (INT (id)));
    audit = json_incref (json_array_get (rows, 0));
    json_decref (rows);
    if (!audit)
        refuse_missing (l, id);
    for (size_t k = 0;
         audit && k < sizeof (audit_lists) / sizeof (*audit_lists); k++)
        json_put (audit, audit_lists[k].key, audit_rows (l, k, id));
    db_end (l, 0);
    return db_json (l, audit);
}

int ledger_extent (struct ledger *l, int64_t id, struct verdict *v,
                   struct error *err)
{
    sqlite3_stmt *row;

    db_start (l, err);
    row = db_first (l,
                    "SELECT count (DISTINCT c.link), count (DISTINCT r.round)"
                    " FROM rtt r JOIN crossing c ON c.route = r.route"
                    " WHERE r.audit = ?",
                    VALUES (INT (id)));
    if (row) {
        v->links = (size_t)sqlite3_column_int64 (row, 0);
        v->rounds = (size_t)sqlite3_column_int64 (row, 1);
        sqlite3_reset (row);
    }
    return (int)db_result (l, 0);
}

/*
 * One audit's result, as a verdict again
 */

/* False: it is not in the fabric any more. */
static bool put_suspect (struct verdict *of, struct finding *x,
                         const struct ledger_suspect *v,
                         const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    uint32_t link, sw = 0;

    if (!strcmp (v->role, "switch")) {
        while (sw < net->nswitches
               && (!net->sw[sw].id || strcmp (net->sw[sw].id, v->id)))
            sw++;
        if (sw < net->nswitches)
            verdict_add_number (of, &x->sw, &x->nsw, sw);
        return sw < net->nswitches;
    }
    link = fabric_find_link (f, v->id);
    if (link == FABRIC_NONE)
        return false;
    if (strcmp (v->role, "link"))
        verdict_add_number (of, &x->oneway, &x->noneway, link);
    else {
        verdict_add_number (of, &x->suspect, &x->nsuspects, link);
        if (net->link[link].host)
            finding_add_host (of, x, net->link[link].host);
    }
    return true;
}

/* A word that is not known is the last one of its kind. */
static void clamp_words (struct ledger_result *r, struct finding *x)
{
    r->odd |= x->level > VERDICT_FAIL || x->kind >= FINDING_KINDS
              || x->basis >= FINDING_BASES;
    if (x->level > VERDICT_FAIL)
        x->level = VERDICT_FAIL;
    if (x->kind >= FINDING_KINDS)
        x->kind = FINDING_KINDS - 1;
    if (x->basis >= FINDING_BASES)
        x->basis = FINDING_BASES - 1;
}

const struct ledger_suspect *ledger_suspects (const struct ledger_result *r,
                                              size_t finding, size_t *n)
{
    const struct ledger_suspect *s = r->suspects.suspect, *first;
    const struct ledger_suspect *end = s + r->suspects.n;

    while (s < end && s->finding < (int64_t)finding)
        s++;
    for (first = s; s < end && s->finding == (int64_t)finding;)
        s++;
    *n = (size_t)(s - first);
    return first;
}

/* Add the facts that are kept of a finding; of one that this version does not
 * know, none.
 */
static void put_facts (struct verdict *v, struct finding *x, int64_t finding,
                       const struct ledger_rows *rows)
{
    const struct ledger_fact *row = rows->v, *end = row + rows->n;

    for (; row < end; row++) {
        struct fact f = {
            .n = { row->n0, row->n1, row->n2, row->n3, row->n4, row->n5 },
            .name = { row->a, row->b, row->c },
        };

        for (int k = 0; k < FACT_NUMBERS; k++)
            f.n[k] = f.n[k] > 0 ? f.n[k] : 0;
        if (row->finding == finding && fact_of_kept (row->kind, &f.kind))
            finding_add_fact (v, x, f);
    }
}

static void read_verdict_findings (struct ledger *l, struct ledger_result *r,
                           const struct fabric *f, bool part)
{
    struct ledger_rows rows = { 0 }, facts = { 0 };
    struct verdict *v = r->verdict;

    db_read (l, &db_findings, &rows,
             "SELECT " FINDING_COLUMNS " WHERE audit = ? ORDER BY seq",
             VALUES (INT (r->id)));
    db_read (l, &db_facts, &facts,
             "SELECT finding, kind, n0, n1, n2, n3, n4, n5, a, b, c FROM fact"
             " WHERE audit = ? ORDER BY finding, seq",
             VALUES (INT (r->id)));
    db_read (l, &suspects, &r->suspects,
             "SELECT s.finding, n.text AS id, s.role FROM suspect s JOIN name n"
             " ON n.id = s.link WHERE s.audit = ? ORDER BY s.finding, s.seq",
             VALUES (INT (r->id)));
    for (size_t i = 0, n; i < rows.n; i++) {
        struct ledger_finding *row = (struct ledger_finding *)rows.v + i;
        const struct ledger_suspect *s = ledger_suspects (r, i, &n);
        bool known = true; /* all suspects */
        struct finding *x;

        clamp_words (r, &row->x);
        x = verdict_add (v, row->x.level, row->x.basis);
        *x = row->x;
        put_facts (v, x, (int64_t)i, &facts);
        if (row->why && x->nfacts == 0)
            finding_add_fact (v, x, fact_said (row->why));
        for (size_t k = 0; k < n; k++)
            known &= put_suspect (v, x, &s[k], f);
        if (!known && !part)
            x->nsuspects = x->noneway = x->nsw = 0;
    }
}

static void destroy_verdict (void *v)
{
    verdict_destroy (v);
}

int ledger_result (struct ledger *l, int64_t id, const struct fabric *f,
                   bool part, struct ledger_result *r, struct error *err)
{
    struct ledger_rows row = { 0 };

    *r = (struct ledger_result){ .verdict = verdict_create () };
    pool_keep (db_pool (l), r->verdict, destroy_verdict);
    db_start (l, err);
    db_read (l, &results, &row,
             "SELECT a.id, a.ended, a.status, a.complete AS whole, a.complete"
             " AND NOT EXISTS (SELECT 1 FROM member m WHERE m.audit = a.id"
             " AND m.answered IS NOT 1) AND NOT EXISTS (SELECT 1 FROM rtt r"
             " WHERE r.audit = a.id AND r.lost = r.sent) AS complete,"
             " (SELECT count (*) FROM member m WHERE m.audit = a.id) AS asked,"
             " (SELECT count (*) FROM member m WHERE m.audit = a.id"
             " AND m.answered = 1) AS answered, coalesce (a.limited,"
             " 1) AS limited, (SELECT n.text FROM member m JOIN name n"
             " ON n.id = m.host WHERE m.audit = a.id AND m.host = a.leader"
             " AND m.answered = 1) AS leader FROM audit a WHERE a.id = ?",
             VALUES (INT (id)));
    if (row.n == 0)
        refuse_missing (l, id);
    else {
        struct verdict *v = r->verdict;

        *r = *(struct ledger_result *)row.v;
        r->verdict = v;
        v->status = r->status > VERDICT_FAIL ? VERDICT_FAIL : r->status;
    }
    read_verdict_findings (l, r, f, part);
    db_read (l, &links, &r->open,
             "SELECT n.text AS link FROM open o JOIN name n ON n.id = o.link"
             " WHERE o.audit = ? ORDER BY n.text",
             VALUES (INT (id)));
    return (int)db_result (l, 0);
}

/*
 * For the policy
 */

int ledger_hold (struct ledger *l, struct error *err)
{
    db_begin_read (l, err);
    return (int)db_result (l, 0);
}

void ledger_release (struct ledger *l)
{
    int saved_errno = errno;

    db_rollback (l);
    errno = saved_errno;
}

int ledger_found (struct ledger *l, int64_t from, const char *link,
                  struct ledger_rows *rows, struct error *err)
{
    return read_list (
        l, &seen, rows,
        link ? "SELECT s.audit, max (" GRAVE " AND f.basis <> 'rate') AS fail,"
               " max (" GRAVE " AND f.rate IS NOT NULL) AS rated,"
               " max (CASE f.basis WHEN 'baseline' THEN f.excess END)"
               " AS excess_ns FROM suspect s JOIN finding f"
               " ON f.audit = s.audit AND f.seq = s.finding"
               " WHERE s.audit >= ? AND s.link = " DB_NAMED ("?")
               " GROUP BY s.audit ORDER BY s.audit"
             : "SELECT DISTINCT audit FROM finding WHERE audit >= ?"
               " ORDER BY audit",
        VALUES (INT (from), NAME (link)), err);
}

/* of link ?1: the audits that suspect it; the first that found its rate less than
 * expected since the newest that measured it and does not
 */
#define IT DB_NAMED ("?1")
#define BAD "(SELECT audit FROM suspect WHERE link = " IT ")"
#define BAD_RATE                                                              \
    "coalesce ((SELECT min (s.audit) FROM suspect s JOIN finding f"           \
    " ON f.audit = s.audit AND f.seq = s.finding AND f.rate IS NOT NULL"      \
    " WHERE s.link = " IT " AND s.audit > coalesce ((SELECT audit FROM rate"  \
    " WHERE link = " IT " AND audit NOT IN " BAD " GROUP BY audit HAVING "    \
    RATES_GOOD " ORDER BY audit DESC LIMIT 1), 0)), 1 << 62)"

int ledger_suspected (struct ledger *l, const char *link,
                      struct ledger_rows *rows, struct error *err)
{
    return read_list (
        l, &seen, rows,
        "SELECT a.id AS audit, a.begun, a.about AS job FROM audit a"
        " WHERE a.id IN " BAD
        " AND EXISTS (SELECT 1 FROM suspect s JOIN finding f"
        " ON f.audit = s.audit AND f.seq = s.finding"
        " AND f.basis <> 'traffic' WHERE s.audit = a.id"
        " AND s.link = " IT ") AND a.id > max (" REBASED (IT)
        ", coalesce ((SELECT max (r.audit) FROM crossing c JOIN rtt r"
        " ON r.route = c.route AND r.lost < r.sent"
        " AND r.audit NOT IN " BAD " AND NOT EXISTS (SELECT 1 FROM open"
        " o WHERE o.audit = r.audit AND o.link = c.link)"
        " WHERE c.link = " IT " AND r.audit < " BAD_RATE "), 0))"
        " ORDER BY a.id",
        VALUES (NAME (link)), err);
}

int64_t ledger_changes (struct ledger *l, struct error *err)
{
    int64_t others = 0;

    db_start (l, err);
    db_run (l, &others, "PRAGMA data_version", NONE);
    return db_result (l, others + sqlite3_total_changes (l->db));
}

/* the host at the route's end that is not ?3's; NULL if all were lost */
#define PEER                                                                  \
    "CASE WHEN r.lost < r.sent THEN nullif (CASE " DB_HOST_OF ("na.text")     \
    " WHEN ?3 THEN " DB_HOST_OF ("nb.text") " ELSE " DB_HOST_OF ("na.text")   \
    " END, ?3) END"

/* clean: it was measured and judged, is not suspected (?4: a basis of findings
 * that suspects no link), and could have been suspected, since the baseline has
 * an earlier RTT over it (as in ledger_samples.c)
 */
static const char link_audits[]
    = "SELECT r.audit, min (EXISTS (SELECT 1 FROM name n"
      " WHERE n.id IN (t.a, t.b) AND (n.text = ?3 OR substr (n.text, 1,"
      " length (?3) + 1) = ?3 || ':'))) AS own, EXISTS (SELECT 1"
      " FROM open o WHERE o.audit = r.audit AND o.link = c.link) AS open,"
      " max (r.lost < r.sent) AND NOT EXISTS (SELECT 1 FROM suspect s"
      " JOIN finding f ON f.audit = s.audit AND f.seq = s.finding"
      " WHERE s.link = c.link AND s.audit = r.audit AND f.basis <> ?4)"
      " AND NOT EXISTS (SELECT 1 FROM open o WHERE o.audit = r.audit"
      " AND o.link = c.link) AND EXISTS (SELECT 1 FROM crossing k"
      " JOIN route u ON u.id = k.route AND u.epoch = t.epoch JOIN rtt q"
      " ON q.route = u.id AND q.audit < r.audit AND q.lost < q.sent"
      " JOIN audit b ON b.id = q.audit AND " DB_SOUND ("b")
      " WHERE k.link = c.link AND q.audit > coalesce ((SELECT max (e.after)"
      " FROM crossing x JOIN rebase e ON e.link = x.link"
      " WHERE x.route = q.route), 0) AND NOT " DB_FLAWED ("q", "?4")
      ") AS clean, 2 * sum (r.lost = r.sent) >= count (*) AS lossy,"
      " coalesce ((SELECT " RATES_GOOD " FROM rate z WHERE z.audit = r.audit"
      " AND z.link = c.link), 0) AS rated,"
      " CASE count (DISTINCT " PEER ") WHEN 1 THEN max (" PEER
      ") END AS peer FROM crossing c JOIN route t ON t.id = c.route"
      " JOIN name na ON na.id = t.a JOIN name nb ON nb.id = t.b JOIN rtt r"
      " ON r.route = t.id AND r.audit >= ?1 WHERE c.link = "
      DB_NAMED ("?2") " GROUP BY r.audit";

int ledger_link_audits (struct ledger *l, int64_t from, const char *link,
                        const char *host, struct ledger_rows *rows,
                        struct error *err)
{
    return read_list (l, &seen, rows, link_audits,
                      VALUES (INT (from), NAME (link), NAME (host),
                              NAME (finding_basis_name (BASIS_LOOPBACK))),
                      err);
}

/*
 * The trend of a link
 */

struct trend_change {
    int64_t route, audit;
    double ns;  /* RTT per crossing, later its change */
    int64_t begun, about;
    bool counts; /* for the route's lower quartile */
    int64_t level; /* of the worst finding that suspects the link; 0: none */
};

ROWS (changes, trend_change, 7, route, audit, ns, begun, about, counts, level);

/* Subtract each route's lower quartile. Routes without a value that counts are
 * dropped. work holds n numbers. Return the number of remaining values.
 */
static size_t center_routes (struct trend_change *v, size_t n, double *work)
{
    size_t kept = 0;

    for (size_t i = 0, end; i < n; i = end) {
        size_t counting = 0;

        for (end = i; end < n && v[end].route == v[i].route; end++)
            if (v[end].counts)
                work[counting++] = v[end].ns;
        stats_sort (work, counting);
        for (size_t k = i; k < end && counting > 0; k++) {
            v[kept] = v[k];
            v[kept++].ns -= stats_quantile (work, counting, 0.25);
        }
    }
    return kept;
}

static int by_audit (const void *va, const void *vb)
{
    const struct trend_change *a = va;
    const struct trend_change *b = vb;

    return a->audit != b->audit ? util_compare (a->audit, b->audit)
                                : util_compare (a->route, b->route);
}

/* rate: of the slower direction; NULL: not measured */
static json_t *point_json (const struct trend_change *c, size_t n, double *work,
                           const struct ledger_rate *rate)
{
    static const enum verdict_status levels[]
        = { VERDICT_OK, VERDICT_WARN, VERDICT_UNKNOWN, VERDICT_FAIL };
    json_int_t routes = 0;
    json_t *point;

    for (size_t i = 0; i < n; i++) {
        work[i] = c[i].ns;
        routes += i == 0 || c[i].route != c[i - 1].route;
    }
    stats_sort (work, n);
    point = json_pack ("{s:I, s:I, s:I, s:I, s:f, s:s}", "audit",
                       (json_int_t)c->audit, "job", (json_int_t)c->about,
                       "begun", (json_int_t)c->begun, "routes", routes,
                       "change_ns", stats_quantile (work, n, 0.5), "level",
                       verdict_status_name (levels[c->level]));
    if (rate) {
        json_put (point, "rate_bits", number_json (rate->bits));
        json_put (point, "rate_expected_bits", number_json (rate->expected));
    }
    return point;
}

json_t *ledger_trend (struct ledger *l, const char *fabric, const char *link,
                      size_t audits, struct error *err)
{
    json_t *points = xcheck (json_array ());
    int64_t epoch;
    int64_t from = 0;
    struct ledger_rows rows = { 0 }, carried = { 0 };
    struct trend_change *v;
    double *work;
    size_t n, rate = 0;

    db_begin_read (l, err);
    epoch = db_epoch (l, fabric);
    db_run (l, &from,
            "SELECT min (id) FROM (SELECT id FROM audit WHERE epoch = ?"
            " ORDER BY id DESC LIMIT ?)",
            VALUES (INT (epoch), INT (LEDGER_TREND_AUDITS)));
    db_read (
        l, &changes, &rows,
        "SELECT route, audit, ns, begun, counts, level, about FROM (SELECT"
        " dense_rank () OVER (ORDER BY r.audit DESC) AS newest,"
        " r.route, r.audit, r.median / c.count AS ns, a.begun,"
        " r.audit > coalesce ((SELECT max(b.after) FROM crossing k"
        " JOIN rebase b ON b.link = k.link WHERE k.route = r.route), 0)"
        " AS counts, coalesce ((SELECT max(CASE f.level WHEN 'FAIL' THEN 3"
        " WHEN 'UNKNOWN' THEN 2 ELSE 1 END) FROM suspect s JOIN finding f"
        " ON f.audit = s.audit AND f.seq = s.finding WHERE s.link = c.link"
        " AND s.audit = r.audit), 0) AS level, a.about"
        " FROM crossing c CROSS JOIN route t ON t.id = c.route"
        " AND +t.epoch = ?1 JOIN rtt r ON r.route = t.id AND r.lost < r.sent"
        " AND r.audit >= ?3"
        " JOIN audit a ON a.id = r.audit WHERE c.link = " DB_NAMED ("?2")
        ") WHERE newest <= ?4 ORDER BY route, audit",
        VALUES (INT (epoch), NAME (link), INT (from), INT (audits)));
    db_read (l, &rates, &carried,
             "SELECT audit, bits, expected FROM rate WHERE link = "
             DB_NAMED ("?") " AND audit >= ? ORDER BY audit, bits",
             VALUES (NAME (link), INT (from)));
    db_end (l, 0);
    v = rows.v;
    work = xarray (rows.n, sizeof (*work));
    n = center_routes (v, rows.n, work);
    sort_array (v, n, by_audit);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].audit == v[i].audit;)
            end++;
        while (rate < carried.n && carried.rate[rate].audit < v[i].audit)
            rate++;
        json_add (points,
                  point_json (&v[i], end - i, work,
                              rate < carried.n
                                      && carried.rate[rate].audit == v[i].audit
                                  ? &carried.rate[rate] : NULL));
    }
    free (work);
    return db_json (l, points);
}

enum { HISTORY_LINKS = 32 };

json_t *ledger_history (struct ledger *l, const struct network *net,
                        const struct verdict *v, size_t n, struct error *err)
{
    json_t *history = xcheck (json_object ());

    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *f = &v->finding[i];

        for (size_t k = 0; k < f->nsuspects + f->noneway; k++) {
            const char *id = net->link[k < f->nsuspects
                                           ? f->suspect[k]
                                           : f->oneway[k - f->nsuspects]].id;
            json_t *trend;

            if (json_object_get (history, id)
                || json_object_size (history) >= HISTORY_LINKS)
                continue;
            if (!(trend = ledger_trend (l, net->hash, id, n, err))) {
                json_decref (history);
                return NULL;
            }
            json_put (history, id, trend);
        }
    }
    return history;
}
