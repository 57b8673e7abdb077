/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database.
 *
 * Notes. Rows of an epoch (a fabric's hash: topology and tables) are kept
 * once, as routes: audits of the same routing refer to them, so that an audit
 * costs its RTTs. Names are kept once. Every statement of an audit's way in
 * searches by an index, none scans, so that its work is that of the audit
 * times the logarithm of the ledger's size.
 *
 * WAL: readers do not wait for the writer, nor it for them. With synchronous
 * FULL a commit is on the disk when it returns. The -wal and -shm files stay
 * when the last writer closes, since a reader who may not write the directory
 * cannot make them.
 *
 * An empty file is version 0, so a ledger whose maker was killed is made by
 * the next. application_id tells ledgers from other databases.
 *
 * Files are looked at by name and not through a descriptor: closing one would
 * drop the locks that this process has on the file by another connection.
 */
#include "config.h"
#include "prolog/ledger/ledger_db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "util/text.h"

enum {
    APPLICATION_ID = 0x706d6d31, /* "pmm1" */
    HALF_ID = 0x706d6d68,        /* "pmmh" */
    WAL_KEEP_BYTES = 16 << 20,
};

const char *const db_steps[LEDGER_VERSION] = {
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
    "CREATE TABLE epoch (id INTEGER PRIMARY KEY,"
    " fabric TEXT NOT NULL UNIQUE);"
    /* ended NULL: no result yet */
    "CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " begun INTEGER NOT NULL, epoch INTEGER NOT NULL REFERENCES epoch,"
    " about INTEGER NOT NULL, nonce TEXT NOT NULL UNIQUE, ended INTEGER,"
    " job INTEGER, step INTEGER, status TEXT, complete INTEGER,"
    " sentence TEXT);"
    "CREATE INDEX audit_epoch ON audit (epoch);"
    "CREATE TABLE member (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " host INTEGER NOT NULL REFERENCES name, answered INTEGER,"
    " PRIMARY KEY (audit, host)) WITHOUT ROWID;"
    "CREATE TABLE route (id INTEGER PRIMARY KEY,"
    " epoch INTEGER NOT NULL REFERENCES epoch,"
    " a INTEGER NOT NULL REFERENCES name,"
    " b INTEGER NOT NULL REFERENCES name, UNIQUE (epoch, a, b));"
    "CREATE TABLE crossing (route INTEGER NOT NULL"
    " REFERENCES route ON DELETE CASCADE,"
    " link INTEGER NOT NULL REFERENCES name, count INTEGER NOT NULL,"
    " PRIMARY KEY (route, link)) WITHOUT ROWID;"
    "CREATE INDEX crossing_link ON crossing (link, route);"
    /* first: whether the initiator is the route's a */
    "CREATE TABLE rtt (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, route INTEGER NOT NULL REFERENCES route,"
    " round INTEGER NOT NULL, first INTEGER NOT NULL,"
    " sent INTEGER NOT NULL, lost INTEGER NOT NULL,"
    " min REAL, p05 REAL, p25 REAL, median REAL, p75 REAL, p95 REAL,"
    " max REAL, PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
    "CREATE INDEX rtt_route ON rtt (route, audit);"
    "CREATE TABLE finding (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, level TEXT NOT NULL, kind TEXT NOT NULL,"
    " basis TEXT NOT NULL, excess REAL, stderr REAL, expected REAL,"
    " why TEXT NOT NULL, PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
    "CREATE TABLE suspect (audit INTEGER NOT NULL, finding INTEGER NOT NULL,"
    " seq INTEGER NOT NULL, role TEXT NOT NULL,"
    " link INTEGER NOT NULL REFERENCES name,"
    " PRIMARY KEY (audit, finding, seq),"
    " FOREIGN KEY (audit, finding) REFERENCES finding ON DELETE CASCADE)"
    " WITHOUT ROWID;"
    "CREATE INDEX suspect_link ON suspect (link, audit);"
    "CREATE TABLE gap (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " seq INTEGER NOT NULL, text TEXT NOT NULL,"
    " PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
    "CREATE TABLE counter (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " port INTEGER NOT NULL REFERENCES name,"
    " counter INTEGER NOT NULL REFERENCES name, value INTEGER NOT NULL,"
    " PRIMARY KEY (audit, port, counter)) WITHOUT ROWID;"
    /* after: the newest audit then, which it outlives; one at a time of a
     * kind is not done yet */
    "CREATE TABLE action (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " after INTEGER NOT NULL, node TEXT NOT NULL, link TEXT,"
    " kind TEXT NOT NULL, intended INTEGER NOT NULL, done INTEGER,"
    " reason TEXT NOT NULL, why TEXT NOT NULL);"
    "CREATE INDEX action_after ON action (after);"
    "CREATE UNIQUE INDEX action_open ON action (node, kind)"
    " WHERE done IS NULL;"
    "CREATE TABLE mute (link TEXT PRIMARY KEY, time INTEGER NOT NULL,"
    " until INTEGER NOT NULL, who TEXT NOT NULL, why TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE rebase (link INTEGER PRIMARY KEY REFERENCES name,"
    " after INTEGER NOT NULL, time INTEGER NOT NULL, who TEXT NOT NULL,"
    " why TEXT NOT NULL);",

    /* submitted 0: of no job, or of one whose time is not known */
    "ALTER TABLE audit ADD COLUMN why TEXT NOT NULL DEFAULT 'hand';"
    "ALTER TABLE audit ADD COLUMN submitted INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE audit ADD COLUMN uid INTEGER;"
    "CREATE UNIQUE INDEX audit_job ON audit (about, submitted)"
    " WHERE submitted > 0;"
    "CREATE INDEX audit_begun ON audit (begun);"
    "CREATE INDEX audit_check ON audit (begun, uid) WHERE uid IS NOT NULL;"
    "CREATE INDEX audit_open ON audit (id) WHERE ended IS NULL;"
    "CREATE INDEX counter_port ON counter (port, counter, audit);"
    /* the newest audit that measured a link */
    "CREATE TABLE seen (link INTEGER PRIMARY KEY REFERENCES name,"
    " audit INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE);"
    "CREATE INDEX seen_audit ON seen (audit);"
    "INSERT INTO seen SELECT c.link, max (r.audit) FROM rtt r"
    " JOIN crossing c ON c.route = r.route WHERE r.lost < r.sent"
    " GROUP BY c.link;"
    /* host NULL: a switch's port */
    "CREATE TABLE sign (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " link INTEGER NOT NULL REFERENCES name, kind TEXT NOT NULL,"
    " host INTEGER REFERENCES name, time INTEGER NOT NULL,"
    " PRIMARY KEY (audit, link, kind)) WITHOUT ROWID;"
    /* link, node '': any */
    "ALTER TABLE mute RENAME TO mute_1;"
    "CREATE TABLE mute (link TEXT NOT NULL, node TEXT NOT NULL,"
    " time INTEGER NOT NULL, until INTEGER NOT NULL, who TEXT NOT NULL,"
    " why TEXT NOT NULL, PRIMARY KEY (link, node)) WITHOUT ROWID;"
    "INSERT INTO mute SELECT link, '', time, until, who, why FROM mute_1;"
    "DROP TABLE mute_1;"
    /* after: the newest audit then */
    "CREATE TABLE comment (id INTEGER PRIMARY KEY AUTOINCREMENT,"
    " after INTEGER NOT NULL, job INTEGER NOT NULL,"
    " submitted INTEGER NOT NULL, text TEXT NOT NULL,"
    " queued INTEGER NOT NULL, tries INTEGER NOT NULL, due INTEGER NOT NULL,"
    " done INTEGER, error TEXT, UNIQUE (job, submitted, text));"
    "CREATE INDEX comment_open ON comment (id) WHERE done IS NULL;"
    "CREATE INDEX comment_done ON comment (after) WHERE done IS NOT NULL;"
    /* of decisions that stand, node '': about the site */
    "CREATE TABLE said (node TEXT NOT NULL, words TEXT NOT NULL,"
    " PRIMARY KEY (node, words)) WITHOUT ROWID;",

    /* node: that it is about; limited NULL: not known */
    "ALTER TABLE audit ADD COLUMN node INTEGER REFERENCES name;"
    "ALTER TABLE audit ADD COLUMN leader INTEGER REFERENCES name;"
    "ALTER TABLE audit ADD COLUMN limited INTEGER;"
    "CREATE INDEX audit_node ON audit (id) WHERE node IS NOT NULL;"
    "DROP INDEX audit_check;",

    "CREATE TABLE fault (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " host INTEGER NOT NULL REFERENCES name, cause TEXT NOT NULL,"
    " PRIMARY KEY (audit, host)) WITHOUT ROWID;"
    "CREATE INDEX member_answered ON member (host, audit)"
    " WHERE answered = 1;",

    /* of each endpoint one of an audit; of a node what is not known is NULL */
    "CREATE TABLE loopback (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " end INTEGER NOT NULL REFERENCES name,"
    " min REAL, p05 REAL, p25 REAL, median REAL, p75 REAL, p95 REAL,"
    " max REAL, PRIMARY KEY (end, audit)) WITHOUT ROWID;"
    "CREATE INDEX loopback_audit ON loopback (audit);"
    "CREATE TABLE node (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " host INTEGER NOT NULL REFERENCES name, boot TEXT, kernel TEXT,"
    " governor TEXT, numa INTEGER, adapter_numa INTEGER,"
    " PRIMARY KEY (host, audit)) WITHOUT ROWID;"
    "CREATE INDEX node_audit ON node (audit);"
    /* links that were measured, but could not be judged */
    "CREATE TABLE open (audit INTEGER NOT NULL"
    " REFERENCES audit ON DELETE CASCADE,"
    " link INTEGER NOT NULL REFERENCES name,"
    " PRIMARY KEY (audit, link)) WITHOUT ROWID;",
};

#define AUDIT_COLUMNS                                                         \
    "SELECT a.id, a.begun, a.ended, a.why, a.about, a.submitted, a.uid,"      \
    " a.job, a.step, e.fabric, a.status, a.complete, a.sentence,"             \
    " (SELECT text FROM name WHERE id = a.node) AS node,"                     \
    " (SELECT text FROM name WHERE id = a.leader) AS leader,"                 \
    " (SELECT count(*) FROM member m WHERE m.audit = a.id) AS hosts"          \
    " FROM audit a"                                                           \
    " JOIN epoch e ON e.id = a.epoch "
#define ACTION_COLUMNS                                                        \
    "SELECT id, after, node, link, kind, intended, done, reason, why"         \
    " FROM action "
#define SIGN_COLUMNS                                                          \
    "SELECT s.audit, l.text AS link, h.text AS host, s.kind, s.time"          \
    " FROM sign s JOIN name l ON l.id = s.link"                               \
    " LEFT JOIN name h ON h.id = s.host "
#define COMMENT_COLUMNS                                                       \
    "SELECT id, after, job, submitted, text, queued, tries, due, done, error" \
    " FROM comment "
#define HOST_OF(name)                                                         \
    "substr (" name ", 1, instr (" name " || ':', ':') - 1)"
/* the host at a route's other end than ?2's, of an RTT that was measured */
#define PEER                                                                  \
    "CASE WHEN r.lost < r.sent THEN nullif (CASE " HOST_OF ("na.text")        \
    " WHEN ?2 THEN " HOST_OF ("nb.text") " ELSE " HOST_OF ("na.text")         \
    " END, ?2) END"
/* what was measured counts, but for links that are suspected or not judged;
 * beside traffic that fills host ends, what is odd may go unsaid */
#define SOUND(a)                                                              \
    "(" a ".limited = 0 AND NOT EXISTS (SELECT 1 FROM finding u"              \
    " WHERE u.audit = " a ".id AND u.basis = 'traffic'))"
/* an RTT that crosses such a link; but findings of a kind suspect none */
#define FLAWED(q, kind)                                                       \
    "(EXISTS (SELECT 1 FROM suspect s JOIN finding f ON f.audit = s.audit"    \
    " AND f.seq = s.finding AND f.kind <> " kind " JOIN crossing x"           \
    " ON x.route = " q ".route AND x.link = s.link"                           \
    " WHERE s.audit = " q ".audit) OR EXISTS (SELECT 1 FROM open o"           \
    " JOIN crossing x ON x.route = " q ".route AND x.link = o.link"           \
    " WHERE o.audit = " q ".audit))"
#define QUANTILES "r.min, r.p05, r.p25, r.median, r.p75, r.p95, r.max"

const char *const db_sql[DB_STMTS] = {
    [DB_BEGIN] = "BEGIN IMMEDIATE",
    [DB_BEGIN_READ] = "BEGIN",
    [DB_COMMIT] = "COMMIT",
    [DB_ROLLBACK] = "ROLLBACK",
    [DB_QUICK_CHECK] = "PRAGMA quick_check (1)",
    [DB_REFERENCE_CHECK] = "PRAGMA foreign_key_check",
    [DB_ADD_NAME] = "INSERT INTO name (text) VALUES (?)",
    [DB_FIND_NAME] = "SELECT id FROM name WHERE text = ?",
    [DB_ADD_EPOCH] = "INSERT INTO epoch (fabric) VALUES (?)",
    [DB_FIND_EPOCH] = "SELECT id FROM epoch WHERE fabric = ?",
    [DB_BEGIN_AUDIT] = "INSERT INTO audit (begun, epoch, about, nonce, why,"
                       " submitted, uid, node, leader)"
                       " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [DB_LED] = "UPDATE audit SET leader = ?1 WHERE id = ?2",
    [DB_FIND_JOB] = "SELECT id FROM audit WHERE about = ?1"
                    " AND submitted = ?2 AND submitted > 0",
    [DB_FIND_NONCE] = "SELECT a.id, a.epoch, a.ended, e.fabric FROM audit a"
                      " JOIN epoch e ON e.id = a.epoch WHERE a.nonce = ?",
    [DB_END_AUDIT] = "UPDATE audit SET ended = ?2, job = ?3, step = ?4,"
                     " status = ?5, complete = ?6, sentence = ?7,"
                     " limited = ?8 WHERE id = ?1",
    [DB_GIVE_UP] = "UPDATE audit SET ended = ?1, status = 'UNKNOWN',"
                   " complete = 0, sentence = ?2 WHERE ended IS NULL"
                   " AND id > 0 AND (id = ?3 OR ?3 = 0)",
    /* none is newer than the audit, but where two run at once */
    [DB_SEEN] = "INSERT INTO seen (link, audit) SELECT DISTINCT c.link, ?1"
                " FROM rtt r JOIN crossing c ON c.route = r.route"
                " WHERE r.audit = ?1 AND r.lost < r.sent"
                " ON CONFLICT (link) DO UPDATE"
                " SET audit = max (audit, excluded.audit)",
    [DB_ADD_MEMBER] = "INSERT INTO member (audit, host) VALUES (?, ?)"
                      " ON CONFLICT DO NOTHING",
    [DB_ANSWERED] = "UPDATE member SET answered = ?3 WHERE audit = ?1"
                    " AND host = (SELECT id FROM name WHERE text = ?2)",
    [DB_ADD_ROUTE] = "INSERT INTO route (epoch, a, b) VALUES (?, ?, ?)",
    [DB_FIND_ROUTE] = "SELECT id FROM route WHERE epoch = ? AND a = ?"
                      " AND b = ?",
    [DB_ADD_CROSSING] = "INSERT INTO crossing (route, link, count)"
                        " VALUES (?, ?, ?)",
    [DB_ADD_RTT] = "INSERT INTO rtt (audit, seq, route, round, first, sent,"
                   " lost, min, p05, p25, median, p75, p95, max) VALUES"
                   " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [DB_ADD_FINDING] = "INSERT INTO finding (audit, seq, level, kind, basis,"
                       " excess, stderr, expected, why) VALUES"
                       " (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [DB_ADD_SUSPECT] = "INSERT INTO suspect (audit, finding, seq, role, link)"
                       " VALUES (?, ?, ?, ?, ?)",
    [DB_ADD_OPEN] = "INSERT INTO open (audit, link) VALUES (?, ?)"
                    " ON CONFLICT DO NOTHING",
    [DB_ADD_LIMIT] = "INSERT INTO gap (audit, seq, text) VALUES (?, ?, ?)",
    [DB_ADD_COUNTER] = "INSERT OR REPLACE INTO counter"
                       " (audit, port, counter, value) VALUES (?, ?, ?, ?)",
    [DB_LAST_COUNTER] = "SELECT c.value, a.begun FROM counter c"
                        " JOIN audit a ON a.id = c.audit WHERE c.port ="
                        " (SELECT id FROM name WHERE text = ?2) AND c.counter"
                        " = (SELECT id FROM name WHERE text = ?3)"
                        " AND c.audit < ?1 ORDER BY c.audit DESC LIMIT 1",
    [DB_ADD_SIGN] = "INSERT OR REPLACE INTO sign"
                    " (audit, link, host, kind, time)"
                    " VALUES (?, ?, ?, ?, ?)",
    [DB_ADD_FAULT] = "INSERT OR REPLACE INTO fault (audit, host, cause)"
                     " VALUES (?, ?, ?)",
    [DB_ADD_ACTION] = "INSERT INTO action (after, node, link, kind, intended,"
                      " reason, why) VALUES (?, ?, ?, ?, ?, ?, ?)",
    [DB_FIND_ACTION] = "SELECT id FROM action WHERE node = ? AND kind = ?"
                       " AND done IS NULL",
    [DB_DONE_ACTION] = "UPDATE action SET done = ?2 WHERE id = ?1"
                       " AND done IS NULL",
    [DB_MUTE] = "INSERT OR REPLACE INTO mute (link, node, time, until, who,"
                " why) VALUES (?, ?, ?, ?, ?, ?)",
    [DB_UNMUTE] = "DELETE FROM mute WHERE link = ? AND node = ?",
    [DB_REBASE] = "INSERT OR REPLACE INTO rebase (link, after, time, who, why)"
                  " VALUES (?, ?, ?, ?, ?)",
    [DB_ADD_COMMENT] = "INSERT INTO comment (job, submitted, text, after,"
                       " queued, tries, due) VALUES (?1, ?2, ?3, ?4, ?5, 0,"
                       " ?5)",
    [DB_FIND_COMMENT] = "SELECT id FROM comment WHERE job = ?"
                        " AND submitted = ? AND text = ?",
    [DB_DONE_COMMENT] = "UPDATE comment SET done = ?2, tries = tries + 1"
                        " WHERE id = ?1 AND done IS NULL",
    [DB_FAILED_COMMENT] = "UPDATE comment SET due = ?2, error = ?3,"
                          " tries = tries + 1 WHERE id = ?1"
                          " AND done IS NULL",
    [DB_LAST_AUDIT] = "SELECT id FROM audit WHERE id > 0 ORDER BY id DESC"
                      " LIMIT 1 OFFSET ?",
    [DB_OLDEST] = "SELECT id FROM audit WHERE id ="
                  " (SELECT min(id) FROM audit WHERE id > 0)"
                  " AND (begun < ?1 OR id <= ?2)",
    [DB_PRUNE_AUDIT] = "DELETE FROM audit WHERE id = ?",
    [DB_IDLE_EPOCH] = "SELECT e.id FROM epoch e WHERE e.id > 0 AND NOT EXISTS"
                      " (SELECT 1 FROM audit a WHERE a.epoch = e.id) LIMIT 1",
    [DB_PRUNE_ROUTES] = "DELETE FROM route WHERE id IN"
                        " (SELECT id FROM route WHERE epoch = ? LIMIT 1000)",
    [DB_PRUNE_EPOCH] = "DELETE FROM epoch WHERE id = ?",
    [DB_PRUNE_COMMENTS]
    = "DELETE FROM comment WHERE id IN (SELECT id FROM comment WHERE done"
      " IS NOT NULL AND after < ? LIMIT 1000)",

    [DB_AUDITS] = AUDIT_COLUMNS "WHERE a.id > 0 ORDER BY a.id DESC LIMIT ?",
    [DB_AUDIT] = AUDIT_COLUMNS "WHERE a.id = ?",
    [DB_NEXT_AUDIT] = "SELECT id FROM audit WHERE id > ? ORDER BY id LIMIT 1",
    [DB_MEMBERS] = "SELECT n.text AS host, m.answered FROM member m"
                   " JOIN name n ON n.id = m.host WHERE m.audit = ?"
                   " ORDER BY n.text",
    [DB_FINDINGS] = "SELECT seq, level, kind, basis, excess AS excess_ns,"
                    " stderr AS stderr_ns, expected AS expected_ns, why"
                    " FROM finding WHERE audit = ? ORDER BY seq",
    [DB_SUSPECTS] = "SELECT n.text AS id, s.role FROM suspect s"
                    " JOIN name n ON n.id = s.link WHERE s.audit = ?"
                    " AND s.finding = ? ORDER BY s.seq",
    [DB_OPEN] = "SELECT n.text AS link FROM open o"
                " JOIN name n ON n.id = o.link WHERE o.audit = ?"
                " ORDER BY n.text",
    [DB_LIMITS] = "SELECT text FROM gap WHERE audit = ? ORDER BY seq",
    [DB_RTTS] = "SELECT r.route, a.text AS a, b.text AS b, r.round,"
                " CASE r.first WHEN 1 THEN a.text ELSE b.text END"
                " AS initiator, r.sent, r.lost, " QUANTILES
                " FROM rtt r JOIN route t ON t.id = r.route"
                " JOIN name a ON a.id = t.a JOIN name b ON b.id = t.b"
                " WHERE r.audit = ? ORDER BY r.seq",
    [DB_CROSSINGS] = "SELECT n.text, c.count FROM crossing c"
                     " JOIN name n ON n.id = c.link WHERE c.route = ?"
                     " ORDER BY c.link",
    [DB_COUNTERS] = "SELECT p.text AS port, n.text AS name, c.value"
                    " FROM counter c JOIN name p ON p.id = c.port"
                    " JOIN name n ON n.id = c.counter WHERE c.audit = ?"
                    " ORDER BY c.port, c.counter",
    [DB_AUDIT_SIGNS] = SIGN_COLUMNS "WHERE s.audit = ? ORDER BY s.link, s.kind",
    [DB_SIGNS] = SIGN_COLUMNS "WHERE s.audit >= ?"
                              " ORDER BY s.audit, s.link, s.kind",
    [DB_AUDIT_FAULTS] = "SELECT n.text AS node, f.cause FROM fault f"
                        " JOIN name n ON n.id = f.host WHERE f.audit = ?"
                        " ORDER BY n.text",
    [DB_FAULTS] = "SELECT n.text, f.cause, a.begun FROM audit a"
                  " CROSS JOIN fault f ON f.audit = a.id"
                  " JOIN name n ON n.id = f.host"
                  " WHERE a.begun >= ? AND NOT EXISTS (SELECT 1"
                  " FROM member m WHERE m.host = f.host AND m.answered = 1"
                  " AND m.audit > f.audit) ORDER BY f.audit",
    [DB_FAILED] = "SELECT coalesce (n.text, '') AS node,"
                  " coalesce (f.cause, a.sentence) AS cause,"
                  " count(*) AS audits, max(a.id) AS newest FROM audit a"
                  " LEFT JOIN fault f ON f.audit = a.id"
                  " LEFT JOIN name n ON n.id = f.host WHERE a.begun >= ?"
                  " AND a.ended IS NOT NULL AND a.job IS NULL"
                  " GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC",
    [DB_NODE_LAST] = "SELECT a.begun FROM member m JOIN audit a"
                     " ON a.id = m.audit WHERE m.host ="
                     " (SELECT id FROM name WHERE text = ?)"
                     " AND m.answered = 1 ORDER BY m.audit DESC LIMIT 1",
    [DB_FIRST] = "SELECT begun FROM audit WHERE id > 0 ORDER BY id LIMIT 1",
    [DB_AUDIT_ACTIONS] = ACTION_COLUMNS "WHERE after = ? ORDER BY id",
    [DB_ACTIONS] = ACTION_COLUMNS "WHERE id > 0 ORDER BY id DESC LIMIT ?",
    [DB_MUTES] = "SELECT link, node, time, until, who, why FROM mute"
                 " ORDER BY link, node",
    [DB_REBASES] = "SELECT n.text AS link, b.after, b.time, b.who, b.why"
                   " FROM rebase b JOIN name n ON n.id = b.link"
                   " ORDER BY n.text",
    [DB_COMMENTS_DUE] = COMMENT_COLUMNS "WHERE id > 0 AND done IS NULL AND"
                        " due NOT BETWEEN ?1 + 1 AND ?2 ORDER BY id LIMIT ?3",
    [DB_COMMENTS] = COMMENT_COLUMNS "WHERE id > 0 ORDER BY id DESC LIMIT ?",
    [DB_BEGUN] = "SELECT begun, why FROM audit WHERE begun BETWEEN ? AND ?",
    [DB_SINCE] = "SELECT min (id) FROM audit WHERE begun >= ?",
    [DB_SILENT] = "SELECT n.text, max (a.begun) FROM audit a CROSS"
                  " JOIN member m ON m.audit = a.id AND m.answered = 0"
                  " JOIN name n ON n.id = m.host WHERE a.begun >= ?"
                  " GROUP BY m.host",
    [DB_AGES] = "SELECT n.text, a.ended FROM seen s"
                " JOIN name n ON n.id = s.link JOIN audit a ON a.id = s.audit",
    [DB_NEWEST] = "SELECT n.text AS link, s.audit FROM seen s"
                  " JOIN name n ON n.id = s.link ORDER BY s.audit",
    [DB_EXTENT] = "SELECT count (DISTINCT c.link) AS links,"
                  " count (DISTINCT r.round) AS rounds FROM rtt r"
                  " JOIN crossing c ON c.route = r.route WHERE r.audit = ?",
    [DB_FOUND] = "SELECT DISTINCT audit FROM finding WHERE audit >= ?"
                 " ORDER BY audit",
    [DB_FOUND_OF] = "SELECT DISTINCT audit FROM suspect WHERE audit >= ?1"
                    " AND link = (SELECT id FROM name WHERE text = ?2)"
                    " ORDER BY audit",
    [DB_ALL_SUSPECTS] = "SELECT text AS link FROM name WHERE id IN"
                        " (SELECT link FROM suspect WHERE audit >= ?)",
    /* clean: it was measured and judged, is not suspected (?4: the kind of
     * finding that suspects no link), and could have been, since an RTT of
     * before is in the baseline (as in DB_MEASURED) */
    [DB_SIGHTS]
    = "SELECT r.audit, min (EXISTS (SELECT 1 FROM name n"
      " WHERE n.id IN (t.a, t.b) AND (n.text = ?2"
      " OR substr (n.text, 1, length (?2) + 1) = ?2 || ':'))) AS own,"
      " EXISTS (SELECT 1 FROM open o WHERE o.audit = r.audit"
      " AND o.link = c.link) AS open,"
      " max (r.lost < r.sent) AND NOT EXISTS (SELECT 1 FROM suspect s"
      " JOIN finding f ON f.audit = s.audit AND f.seq = s.finding"
      " WHERE s.link = c.link AND s.audit = r.audit AND f.kind <> ?4)"
      " AND NOT EXISTS (SELECT 1 FROM open o WHERE o.audit = r.audit"
      " AND o.link = c.link) AND EXISTS (SELECT 1 FROM crossing k"
      " JOIN route u ON u.id = k.route AND u.epoch = t.epoch"
      " JOIN rtt q ON q.route = u.id"
      " AND q.audit < r.audit AND q.lost < q.sent"
      " JOIN audit b ON b.id = q.audit AND " SOUND ("b")
      " WHERE k.link = c.link"
      " AND q.audit > coalesce ((SELECT max (e.after) FROM crossing x"
      " JOIN rebase e ON e.link = x.link WHERE x.route = q.route), 0)"
      " AND NOT " FLAWED ("q", "?4") ")"
      " AS clean, 2 * sum (r.lost = r.sent) >= count (*) AS lossy,"
      " CASE count (DISTINCT " PEER ") WHEN 1 THEN max (" PEER ") END AS peer"
      " FROM crossing c JOIN route t ON t.id = c.route"
      " JOIN name na ON na.id = t.a JOIN name nb ON nb.id = t.b"
      " JOIN rtt r ON r.route = t.id AND r.audit >= ?3 WHERE c.link ="
      " (SELECT id FROM name WHERE text = ?1) GROUP BY r.audit",
    [DB_RESULT]
    = "SELECT a.id, a.ended, a.status, a.complete AS whole,"
      " a.complete AND NOT EXISTS (SELECT 1"
      " FROM member m WHERE m.audit = a.id AND m.answered IS NOT 1)"
      " AND NOT EXISTS (SELECT 1 FROM rtt r WHERE r.audit = a.id"
      " AND r.lost = r.sent) AS complete, (SELECT count (*) FROM member m"
      " WHERE m.audit = a.id) AS asked, (SELECT count (*) FROM member m"
      " WHERE m.audit = a.id AND m.answered = 1) AS answered,"
      " coalesce (a.limited, 1) AS limited, (SELECT n.text FROM member m"
      " JOIN name n ON n.id = m.host WHERE m.audit = a.id"
      " AND m.host = a.leader AND m.answered = 1) AS leader"
      " FROM audit a WHERE a.id = ?",
    [DB_TRIES] = "SELECT a.id AS audit, n.text AS node, a.begun FROM audit a"
                 " JOIN name n ON n.id = a.node WHERE a.node IS NOT NULL"
                 " AND a.id >= ? ORDER BY a.id",
    [DB_SAID] = "SELECT node, words FROM said ORDER BY node, words",
    [DB_SAY] = "INSERT INTO said (node, words) VALUES (?, ?)"
               " ON CONFLICT DO NOTHING",
    [DB_UNSAY] = "DELETE FROM said WHERE node = ? AND words = ?",
    /* the oldest of the newest that crossed the link */
    [DB_TREND_AUDITS]
    = "SELECT min(audit) FROM (SELECT DISTINCT r.audit FROM crossing c"
      " JOIN route t ON t.id = c.route AND t.epoch = ?1"
      " JOIN rtt r ON r.route = t.id AND r.lost < r.sent WHERE c.link ="
      " (SELECT id FROM name WHERE text = ?2)"
      " ORDER BY r.audit DESC LIMIT ?3)",
    [DB_TREND]
    = "SELECT r.route, r.audit, r.median / c.count, a.begun,"
      " r.audit > coalesce ((SELECT max(b.after) FROM crossing k"
      " JOIN rebase b ON b.link = k.link WHERE k.route = r.route), 0),"
      " (SELECT max(CASE f.level WHEN 'FAIL' THEN 3 WHEN 'UNKNOWN' THEN 2"
      " ELSE 1 END) FROM suspect s JOIN finding f ON f.audit = s.audit"
      " AND f.seq = s.finding WHERE s.link = c.link AND s.audit = r.audit)"
      " FROM crossing c JOIN route t ON t.id = c.route AND t.epoch = ?1"
      " JOIN rtt r ON r.route = t.id AND r.lost < r.sent"
      " AND r.audit >= ?3 JOIN audit a ON a.id = r.audit WHERE c.link ="
      " (SELECT id FROM name WHERE text = ?2) ORDER BY r.route, r.audit",
    [DB_ROUTES] = "SELECT t.id, a.text, b.text, coalesce ((SELECT"
                  " max (e.after) FROM crossing c JOIN rebase e"
                  " ON e.link = c.link WHERE c.route = t.id), 0) FROM route t"
                  " JOIN name a ON a.id = t.a JOIN name b ON b.id = t.b"
                  " WHERE t.epoch = ? ORDER BY t.id",
    /* the newest first; ?4 not NULL: what is sound, but for this kind */
    [DB_MEASURED]
    = "SELECT r.audit, a.begun, r.route, r.round, r.first, r.sent, r.lost, "
      QUANTILES " FROM audit a JOIN rtt r ON r.audit = a.id"
      " WHERE a.epoch = ?1 AND a.begun BETWEEN ?2 AND ?3"
      " AND r.lost < r.sent AND (?4 IS NULL OR (" SOUND ("a") " AND NOT "
      FLAWED ("r", "?4") ")) ORDER BY a.id DESC, r.seq",
    [DB_ADD_LOOPBACK] = "INSERT INTO loopback (audit, end, min, p05, p25,"
                        " median, p75, p95, max) VALUES"
                        " (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [DB_ADD_NODE] = "INSERT INTO node (audit, host, boot, kernel, governor,"
                    " numa, adapter_numa) SELECT ?1, m.host,"
                    " nullif (?3, ''), nullif (?4, ''), nullif (?5, ''),"
                    " nullif (?6, -1), nullif (?7, -1) FROM member m"
                    " WHERE m.audit = ?1 AND m.answered = 1"
                    " AND m.host = (SELECT id FROM name WHERE text = ?2)",
    [DB_AUDIT_LOOPBACKS] = "SELECT n.text AS end, " QUANTILES
                           " FROM loopback r JOIN name n ON n.id = r.end"
                           " WHERE r.audit = ? ORDER BY n.text",
    [DB_AUDIT_NODES] = "SELECT n.text AS host, d.boot, d.kernel, d.governor,"
                       " d.numa, d.adapter_numa FROM node d"
                       " JOIN name n ON n.id = d.host WHERE d.audit = ?"
                       " ORDER BY n.text",
};

int db_refuse (struct ledger *l, int errnum, struct error *err,
               const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    errno = errnum;
    return error_input (err, "%s: %s", l->path, text);
}

bool db_is_short (struct ledger *l)
{
    switch (sqlite3_extended_errcode (l->db)) {
    case SQLITE_FULL:
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_SHMSIZE:
        return true;
    default:
        return false;
    }
}

int db_error (struct ledger *l, struct error *err)
{
    int code = sqlite3_errcode (l->db);
    int why = sqlite3_system_errno (l->db);

    if (db_is_short (l))
        errno = ENOSPC;
    switch (code) {
    case SQLITE_NOMEM:
        return error_nomem (err);
    case SQLITE_NOTADB:
        errno = EUCLEAN;
        return error_input (err, "%s is no ledger: not a database", l->path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return error_world (err, "%s: another has had it locked for more "
                                 "than %d ms", l->path, LEDGER_WAIT_MS);
    case SQLITE_CORRUPT:
        errno = EUCLEAN;
        return error_world (err, "%s is damaged: %s: look at it with pmm "
                                 "ledger check, rescue it with pmm ledger "
                                 "salvage",
                            l->path, sqlite3_errmsg (l->db));
    case SQLITE_FULL:
        return error_world (err, "%s: cannot be written: the disk is full",
                            l->path);
    case SQLITE_READONLY:
        return error_world (err, "%s: cannot be written: it is read-only",
                            l->path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return error_world (err, "%s: cannot be read or written: %s", l->path,
                            why ? strerror (why) : sqlite3_errmsg (l->db));
    default:
        return error_world (err, "%s: %s", l->path, sqlite3_errmsg (l->db));
    }
}

static sqlite3_stmt *statement (struct ledger *l, enum db_stmt id)
{
    if (!l->stmt[id])
        sqlite3_prepare_v3 (l->db, db_sql[id], -1, SQLITE_PREPARE_PERSISTENT,
                            &l->stmt[id], NULL);
    return l->stmt[id];
}

static int bind_text (sqlite3_stmt *stmt, int i, const char *s, size_t max)
{
    char buf[LEDGER_TEXT_MAX + 1];

    snprintf (buf, sizeof (buf), "%.*s", (int)max, s);
    text_clean (buf);
    return sqlite3_bind_text (stmt, i, buf, -1, SQLITE_TRANSIENT);
}

static int bind_value (sqlite3_stmt *stmt, int i, const struct db_value *v)
{
    switch (v->type) {
    case DB_INT:
        return sqlite3_bind_int64 (stmt, i, v->i);
    case DB_REAL: /* NAN becomes NULL */
        return sqlite3_bind_double (stmt, i, v->d);
    default:
        return v->s ? bind_text (stmt, i, v->s, v->max)
                    : sqlite3_bind_null (stmt, i);
    }
}

sqlite3_stmt *db_bind (struct ledger *l, enum db_stmt id,
                       const struct db_value *v, size_t n, struct error *err)
{
    sqlite3_stmt *stmt = statement (l, id);

    if (!stmt) {
        db_error (l, err);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (bind_value (stmt, (int)i + 1, &v[i]) != SQLITE_OK) {
            db_error (l, err);
            return NULL;
        }
    return stmt;
}

void db_reset (struct ledger *l, enum db_stmt id)
{
    int saved_errno = errno;

    sqlite3_reset (l->stmt[id]);
    errno = saved_errno;
}

int db_step (struct ledger *l, enum db_stmt id, struct error *err)
{
    switch (sqlite3_step (l->stmt[id])) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        return db_error (l, err);
    }
}

int db_run (struct ledger *l, enum db_stmt id, int64_t *value,
            const struct db_value *v, size_t n, struct error *err)
{
    sqlite3_stmt *stmt = db_bind (l, id, v, n, err);
    int rc = stmt ? db_step (l, id, err) : -1;

    if (rc == 1 && value)
        *value = sqlite3_column_int64 (stmt, 0);
    db_reset (l, id);
    return rc;
}

static json_t *column_json (sqlite3_stmt *stmt, int i)
{
    switch (sqlite3_column_type (stmt, i)) {
    case SQLITE_INTEGER:
        return json_integer (sqlite3_column_int64 (stmt, i));
    case SQLITE_FLOAT:
        return json_real (sqlite3_column_double (stmt, i));
    case SQLITE_TEXT:
        return json_string ((const char *)sqlite3_column_text (stmt, i));
    default:
        return json_null ();
    }
}

static json_t *row_json (sqlite3_stmt *stmt)
{
    json_t *row = json_object ();

    for (int i = 0; i < sqlite3_column_count (stmt); i++)
        if (json_object_set_new (row, sqlite3_column_name (stmt, i),
                                 column_json (stmt, i)) < 0) {
            json_decref (row);
            return NULL;
        }
    return row;
}

static int add_row (json_t *of, sqlite3_stmt *row)
{
    return json_array_append_new (of, row_json (row));
}

static int add_pair (json_t *of, sqlite3_stmt *row)
{
    return json_object_set_new (of, (const char *)sqlite3_column_text (row, 0),
                                json_integer (sqlite3_column_int64 (row, 1)));
}

int db_rows (struct ledger *l, enum db_stmt id, const struct db_value *v,
             size_t n,
             int (*fn) (void *arg, sqlite3_stmt *row, struct error *err),
             void *arg, struct error *err)
{
    sqlite3_stmt *stmt = db_bind (l, id, v, n, err);
    int rc = stmt ? 1 : -1;

    while (rc == 1 && (rc = db_step (l, id, err)) == 1) {
        int done = fn (arg, stmt, err);

        if (done != 0)
            rc = done < 0 ? -1 : 0;
    }
    db_reset (l, id);
    return rc;
}

struct collection {
    json_t *of;
    int (*add) (json_t *of, sqlite3_stmt *row);
};

static int add_to (void *arg, sqlite3_stmt *row, struct error *err)
{
    const struct collection *c = arg;

    return c->add (c->of, row) < 0 ? error_nomem (err) : 0;
}

json_t *db_collect (struct ledger *l, enum db_stmt id,
                    const struct db_value *v, size_t n, json_t *of,
                    int (*add) (json_t *of, sqlite3_stmt *row),
                    struct error *err)
{
    struct collection c = { of, add };

    if (!of)
        error_nomem (err);
    else if (db_rows (l, id, v, n, add_to, &c, err) == 0)
        return of;
    json_decref (of);
    return NULL;
}

json_t *db_list (struct ledger *l, enum db_stmt id, const struct db_value *v,
                 size_t n, struct error *err)
{
    return db_collect (l, id, v, n, json_array (), add_row, err);
}

json_t *db_map (struct ledger *l, enum db_stmt id, const struct db_value *v,
                size_t n, struct error *err)
{
    return db_collect (l, id, v, n, json_object (), add_pair, err);
}

json_t *db_audit (struct ledger *l, enum db_stmt id, int64_t audit,
                  struct error *err)
{
    json_t *rows = db_list (l, id, VALUES (INT (audit)), err);
    json_t *row = json_incref (json_array_get (rows, 0));

    if (rows && !row)
        db_refuse (l, ENOENT, err, "there is no audit %jd", (intmax_t)audit);
    json_decref (rows);
    return row;
}

int db_name (struct ledger *l, const char *name, int64_t *id,
             struct error *err)
{
    int rc = db_run (l, DB_FIND_NAME, id, VALUES (NAME (name)), err);

    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (db_run (l, DB_ADD_NAME, NULL, VALUES (NAME (name)), err) < 0)
        return -1;
    *id = sqlite3_last_insert_rowid (l->db);
    return 0;
}

int db_begin (struct ledger *l, enum db_stmt how, struct error *err)
{
    return db_run (l, how, NULL, NULL, 0, err);
}

int64_t db_end (struct ledger *l, int64_t rc, struct error *err)
{
    int saved_errno;

    if (rc >= 0 && db_run (l, DB_COMMIT, NULL, NULL, 0, err) == 0)
        return rc;
    saved_errno = errno;
    /* some errors have rolled back already */
    if (!sqlite3_get_autocommit (l->db))
        db_run (l, DB_ROLLBACK, NULL, NULL, 0, NULL);
    errno = saved_errno;
    return -1;
}

/*
 * Open
 */

static int pragma (struct ledger *l, const char *sql, struct error *err)
{
    if (sqlite3_exec (l->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return db_error (l, err);
    return 0;
}

/* The number that a pragma tells. */
static int pragma_value (struct ledger *l, const char *sql, int64_t *value,
                         struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int rc = 0;

    if (sqlite3_prepare_v2 (l->db, sql, -1, &stmt, NULL) != SQLITE_OK
        || sqlite3_step (stmt) != SQLITE_ROW)
        rc = db_error (l, err);
    else
        *value = sqlite3_column_int64 (stmt, 0);
    sqlite3_finalize (stmt);
    return rc;
}

/* What it is: its version, 0 where it is empty. */
static int find_version (struct ledger *l, int64_t *version,
                         struct error *err)
{
    int64_t id = 0, tables = 0;

    if (pragma_value (l, "PRAGMA user_version", version, err) < 0
        || pragma_value (l, "PRAGMA application_id", &id, err) < 0
        || pragma_value (l, "SELECT count(*) FROM sqlite_master", &tables,
                         err) < 0)
        return -1;
    if (id == APPLICATION_ID)
        return 0;
    if (id == HALF_ID)
        return db_refuse (l, EINVAL, err, "is half of what was to be salvaged: "
                                          "remove it, and begin again");
    if (id != 0 || tables != 0)
        return db_refuse (l, EINVAL, err, "is no ledger, but another database");
    *version = 0;
    return 0;
}

int db_migrate (struct ledger *l, const char *const *step, int n,
                struct error *err)
{
    int64_t version = 0;
    char done[96];
    int rc;

    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    rc = find_version (l, &version, err);
    for (; rc == 0 && version < n; version++)
        rc = pragma (l, step[version], err);
    snprintf (done, sizeof (done),
              "PRAGMA application_id = %d; PRAGMA user_version = %d",
              APPLICATION_ID, n);
    if (rc == 0)
        rc = pragma (l, done, err);
    return (int)db_end (l, rc, err);
}

int db_mark (struct ledger *l, bool half, struct error *err)
{
    char sql[64];

    snprintf (sql, sizeof (sql), "PRAGMA application_id = %d",
              half ? HALF_ID : APPLICATION_ID);
    return pragma (l, sql, err);
}

static bool reads (enum ledger_mode mode)
{
    return mode == LEDGER_READ || mode == LEDGER_LOOK;
}

static int check_version (struct ledger *l, enum ledger_mode mode,
                          struct error *err)
{
    int64_t version;

    if (find_version (l, &version, err) < 0)
        return -1;
    if (version > LEDGER_VERSION)
        return db_refuse (l, EINVAL, err,
                          "is of version %jd, only %d and before are known",
                          (intmax_t)version, LEDGER_VERSION);
    if (version == LEDGER_VERSION)
        return 0;
    if (mode == LEDGER_LOOK)
        return 0;
    if (mode == LEDGER_READ)
        return db_refuse (l, EINVAL, err,
                          "is of version %jd: whoever writes it has to open "
                          "it once", (intmax_t)version);
    return db_migrate (l, db_steps, LEDGER_VERSION, err);
}

/* Look at the directory and, where it exists, the file. Returns 1 where it
 * does, 0 where not, -1 with err.
 */
static int check_place (struct ledger *l, enum ledger_mode mode,
                        struct error *err)
{
    const char *slash = strrchr (l->path, '/');
    char dir[PATH_MAX] = ".";
    struct error why;
    struct stat st;
    int there, fd;

    if (slash && (size_t)snprintf (dir, sizeof (dir), "%.*s",
                                   (int)(slash - l->path) + 1, l->path)
                     >= sizeof (dir))
        return db_refuse (l, ENAMETOOLONG, err, "%s", strerror (ENAMETOOLONG));
    there = lstat (l->path, &st) == 0;
    if (!there && (errno != ENOENT || mode != LEDGER_CREATE))
        return db_refuse (l, errno, err, "%s", strerror (errno));
    fd = file_open_trusted_dir (dir, there ? st.st_uid : geteuid (), &why);
    if (fd < 0)
        return db_refuse (l, errno, err, "%s", why.text);
    close (fd);
    if (!there)
        return 0;
    if (!S_ISREG (st.st_mode))
        return db_refuse (l, EINVAL, err, "is no regular file");
    if (st.st_mode & 022)
        return db_refuse (l, EPERM, err, "others may write it");
    if (!reads (mode) && st.st_uid != geteuid ())
        return db_refuse (l, EPERM, err,
                          "belongs to user %ju, who alone may write it",
                          (uintmax_t)st.st_uid);
    return 1;
}

/* An empty file, so that it has its mode before anything is in it. */
static int create (struct ledger *l, struct error *err)
{
    int fd = open (l->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

    if (fd < 0 && errno != EEXIST)
        return error_errno (err, "cannot write %s", l->path);
    if (fd >= 0)
        close (fd);
    return check_place (l, LEDGER_WRITE, err);
}

static int prepare (struct ledger *l, enum ledger_mode mode,
                    struct error *err)
{
    static const char safe[] = "PRAGMA trusted_schema = OFF;"
                               "PRAGMA cell_size_check = ON;"
                               "PRAGMA foreign_keys = ON";
    char wal[128];
    int on = 1;

    sqlite3_extended_result_codes (l->db, 0);
    sqlite3_busy_timeout (l->db, LEDGER_WAIT_MS);
    if (pragma (l, safe, err) < 0)
        return -1;
    if (reads (mode))
        return check_version (l, mode, err);
    if (sqlite3_db_readonly (l->db, "main"))
        return error_world (err, "%s: cannot be written: it is read-only",
                            l->path);
    snprintf (wal, sizeof (wal),
              "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
              "PRAGMA journal_size_limit = %d", WAL_KEEP_BYTES);
    sqlite3_file_control (l->db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
    /* the version first: what is not ours is not touched */
    if (check_version (l, mode, err) < 0 || pragma (l, wal, err) < 0)
        return -1;
    return 0;
}

struct ledger *ledger_open (const char *path, enum ledger_mode mode,
                            struct error *err)
{
    int flags = reads (mode) ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    struct ledger *l = calloc (1, sizeof (*l));
    int there;

    if (!l || !(l->path = strdup (path))) {
        error_nomem (err);
        goto error;
    }
    if ((there = check_place (l, mode, err)) < 0
        || (!there && create (l, err) < 0))
        goto error;
    if (sqlite3_open_v2 (path, &l->db,
                         flags | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_FULLMUTEX,
                         NULL)
        != SQLITE_OK) {
        if (l->db)
            db_error (l, err);
        else
            error_nomem (err);
        goto error;
    }
    if (prepare (l, mode, err) < 0)
        goto error;
    return l;
error:
    ledger_close (l);
    return NULL;
}

void ledger_close (struct ledger *l)
{
    if (l) {
        int saved_errno = errno;

        for (int i = 0; i < DB_STMTS; i++)
            sqlite3_finalize (l->stmt[i]);
        sqlite3_close (l->db);
        free (l->path);
        free (l);
        errno = saved_errno;
    }
}

const char *ledger_path (const struct ledger *l)
{
    return l->path;
}

int ledger_check (struct ledger *l, struct error *err)
{
    sqlite3_stmt *stmt = db_bind (l, DB_QUICK_CHECK, NULL, 0, err);
    int rc = stmt ? db_step (l, DB_QUICK_CHECK, err) : -1;

    if (rc == 1 && strcmp ((const char *)sqlite3_column_text (stmt, 0), "ok"))
        rc = error_world (err, "%s is damaged: %s", l->path,
                          (const char *)sqlite3_column_text (stmt, 0));
    db_reset (l, DB_QUICK_CHECK);
    if (rc < 0)
        return -1;
    rc = db_run (l, DB_REFERENCE_CHECK, NULL, NULL, 0, err);
    if (rc == 1)
        rc = error_world (err, "%s is damaged: a row refers to one that is "
                               "not there", l->path);
    return rc;
}
