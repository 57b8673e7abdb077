/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's statements, SQL (NAME, TEXT). ledger_db.h makes an enum of them,
 * ledger_db.c a table; the macros in capitals are defined there.
 */
SQL (BEGIN, "BEGIN IMMEDIATE")
SQL (BEGIN_READ, "BEGIN")
SQL (COMMIT, "COMMIT")
SQL (QUICK_CHECK, "PRAGMA quick_check (1)")
SQL (REFERENCE_CHECK, "PRAGMA foreign_key_check")
SQL (USER_VERSION, "PRAGMA user_version")
SQL (APPLICATION, "PRAGMA application_id")
SQL (TABLES, "SELECT count(*) FROM sqlite_master")
SQL (ADD_NAME, "INSERT INTO name (text) VALUES (?)")
SQL (FIND_NAME, "SELECT id FROM name WHERE text = ?")
SQL (ADD_EPOCH, "INSERT INTO epoch (fabric) VALUES (?)")
SQL (FIND_EPOCH, "SELECT id FROM epoch WHERE fabric = ?")
SQL (BEGIN_AUDIT,
     "INSERT INTO audit (begun, epoch, about, nonce, why, submitted,"
     " uid, node, leader) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
SQL (LED, "UPDATE audit SET leader = ?1 WHERE id = ?2")
SQL (FIND_JOB,
     "SELECT id FROM audit WHERE about = ?1 AND submitted = ?2"
     " AND submitted > 0")
SQL (FIND_NONCE,
     "SELECT a.id, a.epoch, a.ended, e.fabric FROM audit a JOIN epoch e"
     " ON e.id = a.epoch WHERE a.nonce = ?")
SQL (END_AUDIT,
     "UPDATE audit SET ended = ?2, job = ?3, step = ?4, status = ?5,"
     " complete = ?6, sentence = ?7, limited = ?8 WHERE id = ?1")
SQL (GIVE_UP,
     "UPDATE audit SET ended = ?1, status = 'UNKNOWN', complete = 0,"
     " sentence = ?2 WHERE ended IS NULL AND id > 0 AND (id = ?3 OR ?3 = 0)")
/* max: the newer audit stays, if two run at once */
SQL (SEEN,
     "INSERT INTO seen (link, audit) SELECT DISTINCT c.link, ?1"
     " FROM rtt r JOIN crossing c ON c.route = r.route WHERE r.audit = ?1"
     " AND r.lost < r.sent ON CONFLICT (link) DO UPDATE"
     " SET audit = max (audit, excluded.audit)")
SQL (ADD_MEMBER,
     "INSERT INTO member (audit, host) VALUES (?, ?) ON CONFLICT DO NOTHING")
SQL (ANSWERED,
     "UPDATE member SET answered = ?3 WHERE audit = ?1 AND host ="
     " (SELECT id FROM name WHERE text = ?2)")
SQL (ADD_ROUTE, "INSERT INTO route (epoch, a, b) VALUES (?, ?, ?)")
SQL (FIND_ROUTE, "SELECT id FROM route WHERE epoch = ? AND a = ? AND b = ?")
SQL (ADD_CROSSING,
     "INSERT INTO crossing (route, link, count) VALUES (?, ?, ?)")
SQL (ADD_RTT,
     "INSERT INTO rtt (audit, seq, route, round, first, sent, lost, min,"
     " p05, p25, median, p75, p95, max) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?,"
     " ?, ?, ?, ?, ?)")
SQL (ADD_FINDING,
     "INSERT INTO finding (audit, seq, level, kind, basis, excess,"
     " stderr, expected, why) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
SQL (ADD_SUSPECT,
     "INSERT INTO suspect (audit, finding, seq, role, link) VALUES (?, ?,"
     " ?, ?, ?)")
SQL (ADD_OPEN,
     "INSERT INTO open (audit, link) VALUES (?, ?) ON CONFLICT DO NOTHING")
SQL (ADD_LIMIT, "INSERT INTO gap (audit, seq, text) VALUES (?, ?, ?)")
SQL (ADD_COUNTER,
     "INSERT OR REPLACE INTO counter (audit, port, counter, value)"
     " VALUES (?, ?, ?, ?)")
SQL (LAST_COUNTER,
     "SELECT c.value, a.begun FROM counter c JOIN audit a"
     " ON a.id = c.audit WHERE c.port = (SELECT id FROM name"
     " WHERE text = ?2) AND c.counter = (SELECT id FROM name"
     " WHERE text = ?3) AND c.audit < ?1 ORDER BY c.audit DESC LIMIT 1")
SQL (ADD_SIGN,
     "INSERT OR REPLACE INTO sign (audit, link, host, kind, time)"
     " VALUES (?, ?, ?, ?, ?)")
SQL (ADD_FAULT,
     "INSERT OR REPLACE INTO fault (audit, host, cause) VALUES (?, ?, ?)")
SQL (ADD_ACTION,
     "INSERT INTO action (after, node, link, kind, intended, reason,"
     " why) VALUES (?, ?, ?, ?, ?, ?, ?)")
SQL (FIND_ACTION,
     "SELECT id FROM action WHERE node = ? AND kind = ? AND done IS NULL")
SQL (DONE_ACTION, "UPDATE action SET done = ?2 WHERE id = ?1 AND done IS NULL")
SQL (MUTE,
     "INSERT OR REPLACE INTO mute (link, node, time, until, who, why)"
     " VALUES (?, ?, ?, ?, ?, ?)")
SQL (UNMUTE, "DELETE FROM mute WHERE link = ? AND node = ?")
SQL (REBASE,
     "INSERT OR REPLACE INTO rebase (link, after, time, who, why)"
     " VALUES (?, ?, ?, ?, ?)")
SQL (ADD_COMMENT,
     "INSERT INTO comment (job, submitted, text, after, queued, tries,"
     " due) VALUES (?1, ?2, ?3, ?4, ?5, 0, ?5)")
SQL (FIND_COMMENT,
     "SELECT id FROM comment WHERE job = ? AND submitted = ? AND text = ?")
SQL (DONE_COMMENT,
     "UPDATE comment SET done = ?2, tries = tries + 1 WHERE id = ?1"
     " AND done IS NULL")
SQL (FAILED_COMMENT,
     "UPDATE comment SET due = ?2, error = ?3, tries = tries + 1"
     " WHERE id = ?1 AND done IS NULL")
SQL (LAST_AUDIT,
     "SELECT id FROM audit WHERE id > 0 ORDER BY id DESC LIMIT 1 OFFSET ?")
SQL (PRUNE_AUDIT,
     "DELETE FROM audit WHERE id = (SELECT min (id) FROM audit WHERE id > 0)"
     " AND (begun < ?1 OR id <= ?2)")
SQL (PRUNE_ROUTES,
     "DELETE FROM route WHERE id IN (SELECT id FROM route WHERE epoch ="
     " (SELECT e.id FROM epoch e WHERE e.id > 0 AND NOT EXISTS"
     " (SELECT 1 FROM audit a WHERE a.epoch = e.id) AND EXISTS"
     " (SELECT 1 FROM route t WHERE t.epoch = e.id) LIMIT 1) LIMIT 1000)")
SQL (PRUNE_EPOCH,
     "DELETE FROM epoch WHERE id > 0 AND NOT EXISTS"
     " (SELECT 1 FROM audit a WHERE a.epoch = epoch.id) AND NOT EXISTS"
     " (SELECT 1 FROM route t WHERE t.epoch = epoch.id)")
SQL (PRUNE_COMMENTS,
     "DELETE FROM comment WHERE id IN (SELECT id FROM comment"
     " WHERE done IS NOT NULL AND after < ? LIMIT 1000)")
SQL (AUDITS, AUDIT_COLUMNS "WHERE a.id > 0 ORDER BY a.id DESC LIMIT ?")
SQL (AUDIT, AUDIT_COLUMNS "WHERE a.id = ?")
SQL (NEXT_AUDIT, "SELECT id FROM audit WHERE id > ? ORDER BY id LIMIT 1")
SQL (MEMBERS,
     "SELECT n.text AS host, m.answered FROM member m JOIN name n"
     " ON n.id = m.host WHERE m.audit = ? ORDER BY n.text")
SQL (FINDINGS,
     "SELECT seq, level, kind, basis, excess AS excess_ns,"
     " stderr AS stderr_ns, expected AS expected_ns, why FROM finding"
     " WHERE audit = ? ORDER BY seq")
SQL (SUSPECTS,
     "SELECT n.text AS id, s.role FROM suspect s JOIN name n ON n.id = s.link"
     " WHERE s.audit = ? AND s.finding = ? ORDER BY s.seq")
SQL (AUDIT_SUSPECTS,
     "SELECT s.finding, n.text AS link FROM suspect s JOIN name n"
     " ON n.id = s.link WHERE s.audit = ? ORDER BY s.finding, s.seq")
SQL (OPEN,
     "SELECT n.text AS link FROM open o JOIN name n ON n.id = o.link"
     " WHERE o.audit = ? ORDER BY n.text")
SQL (LIMITS, "SELECT text FROM gap WHERE audit = ? ORDER BY seq")
SQL (RTTS,
     "SELECT r.route, a.text AS a, b.text AS b, r.round,"
     " CASE r.first WHEN 1 THEN a.text ELSE b.text END AS initiator,"
     " r.sent, r.lost, " QUANTILES
     " FROM rtt r JOIN route t ON t.id = r.route JOIN name a"
     " ON a.id = t.a JOIN name b ON b.id = t.b WHERE r.audit = ?"
     " ORDER BY r.seq")
SQL (CROSSINGS,
     "SELECT n.text, c.count FROM crossing c JOIN name n ON n.id = c.link"
     " WHERE c.route = ?2 ORDER BY c.link")
SQL (COUNTERS,
     "SELECT p.text AS port, n.text AS name, c.value FROM counter c"
     " JOIN name p ON p.id = c.port JOIN name n ON n.id = c.counter"
     " WHERE c.audit = ? ORDER BY c.port, c.counter")
SQL (AUDIT_SIGNS, SIGN_COLUMNS "WHERE s.audit = ? ORDER BY s.link, s.kind")
SQL (SIGNS, SIGN_COLUMNS "WHERE s.audit >= ? ORDER BY s.audit, s.link, s.kind")
SQL (AUDIT_FAULTS,
     "SELECT n.text AS node, f.cause FROM fault f JOIN name n"
     " ON n.id = f.host WHERE f.audit = ? ORDER BY n.text")
SQL (FAULTS,
     "SELECT n.text, f.cause, a.begun FROM audit a CROSS JOIN fault f"
     " ON f.audit = a.id JOIN name n ON n.id = f.host WHERE a.begun >= ?"
     " AND NOT EXISTS (SELECT 1 FROM member m WHERE m.host = f.host"
     " AND m.answered = 1 AND m.audit > f.audit) ORDER BY f.audit")
SQL (FAILED,
     "SELECT coalesce (n.text, '') AS node, coalesce (f.cause,"
     " a.sentence) AS cause, count(*) AS audits, max(a.id) AS newest"
     " FROM audit a LEFT JOIN fault f ON f.audit = a.id LEFT JOIN name n"
     " ON n.id = f.host WHERE a.begun >= ? AND a.ended IS NOT NULL"
     " AND a.job IS NULL GROUP BY 1, 2 ORDER BY 3 DESC, 4 DESC")
SQL (NODE_LAST,
     "SELECT a.begun FROM member m JOIN audit a ON a.id = m.audit"
     " WHERE m.host = (SELECT id FROM name WHERE text = ?)"
     " AND m.answered = 1 ORDER BY m.audit DESC LIMIT 1")
SQL (FIRST, "SELECT begun FROM audit WHERE id > 0 ORDER BY id LIMIT 1")
SQL (AUDIT_ACTIONS, ACTION_COLUMNS "WHERE after = ? ORDER BY id")
SQL (ACTIONS, ACTION_COLUMNS "WHERE id > 0 ORDER BY id DESC LIMIT ?")
SQL (MUTES,
     "SELECT link, node, time, until, who, why FROM mute ORDER BY link, node")
SQL (REBASES,
     "SELECT n.text AS link, b.after, b.time, b.who, b.why FROM rebase b"
     " JOIN name n ON n.id = b.link ORDER BY n.text")
SQL (COMMENTS_DUE,
     COMMENT_COLUMNS
     "WHERE id > 0 AND done IS NULL AND due NOT BETWEEN ?1 + 1 AND ?1 + "
     NUMBER (LEDGER_RETRY_MAX_S) " ORDER BY id LIMIT ?2")
SQL (COMMENTS, COMMENT_COLUMNS "WHERE id > 0 ORDER BY id DESC LIMIT ?")
SQL (BEGUN, "SELECT begun, why FROM audit WHERE begun BETWEEN ? AND ?")
SQL (SINCE, "SELECT min (id) FROM audit WHERE begun >= ?")
SQL (SILENT,
     "SELECT n.text, max (a.begun) FROM audit a CROSS JOIN member m"
     " ON m.audit = a.id AND m.answered = 0 JOIN name n ON n.id = m.host"
     " WHERE a.begun >= ? GROUP BY m.host")
SQL (AGES,
     "SELECT n.text, a.ended FROM seen s JOIN name n ON n.id = s.link"
     " JOIN audit a ON a.id = s.audit")
SQL (NEWEST,
     "SELECT n.text AS link, s.audit FROM seen s JOIN name n"
     " ON n.id = s.link ORDER BY s.audit")
SQL (EXTENT,
     "SELECT count (DISTINCT c.link) AS links, count (DISTINCT r.round) AS"
     " rounds FROM rtt r JOIN crossing c ON c.route = r.route"
     " WHERE r.audit = ?")
SQL (FOUND,
     "SELECT DISTINCT audit FROM finding WHERE audit >= ? ORDER BY audit")
SQL (FOUND_OF,
     "SELECT DISTINCT audit FROM suspect WHERE audit >= ?1 AND link ="
     " (SELECT id FROM name WHERE text = ?2) ORDER BY audit")
SQL (ALL_SUSPECTS,
     "SELECT text AS link FROM name WHERE id IN (SELECT link"
     " FROM suspect WHERE audit >= ?)")
/* clean: it was measured and judged, is not suspected (?4: a kind of finding
 * that suspects no link), and could have been suspected, since the baseline has
 * an earlier RTT over it (as in MEASURED) */
SQL (LINK_AUDITS,
     "SELECT r.audit, min (EXISTS (SELECT 1 FROM name n"
     " WHERE n.id IN (t.a, t.b) AND (n.text = ?3 OR substr (n.text, 1,"
     " length (?3) + 1) = ?3 || ':'))) AS own, EXISTS (SELECT 1"
     " FROM open o WHERE o.audit = r.audit AND o.link = c.link) AS open,"
     " max (r.lost < r.sent) AND NOT EXISTS (SELECT 1 FROM suspect s"
     " JOIN finding f ON f.audit = s.audit AND f.seq = s.finding"
     " WHERE s.link = c.link AND s.audit = r.audit AND f.kind <> ?4)"
     " AND NOT EXISTS (SELECT 1 FROM open o WHERE o.audit = r.audit"
     " AND o.link = c.link) AND EXISTS (SELECT 1 FROM crossing k"
     " JOIN route u ON u.id = k.route AND u.epoch = t.epoch JOIN rtt q"
     " ON q.route = u.id AND q.audit < r.audit AND q.lost < q.sent"
     " JOIN audit b ON b.id = q.audit AND " SOUND ("b")
     " WHERE k.link = c.link AND q.audit > coalesce ((SELECT max (e.after)"
     " FROM crossing x JOIN rebase e ON e.link = x.link"
     " WHERE x.route = q.route), 0) AND NOT " FLAWED ("q", "?4")
     ") AS clean, 2 * sum (r.lost = r.sent) >= count (*) AS lossy,"
     " CASE count (DISTINCT " PEER ") WHEN 1 THEN max (" PEER
     ") END AS peer FROM crossing c JOIN route t ON t.id = c.route"
     " JOIN name na ON na.id = t.a JOIN name nb ON nb.id = t.b JOIN rtt r"
     " ON r.route = t.id AND r.audit >= ?1 WHERE c.link = (SELECT id"
     " FROM name WHERE text = ?2) GROUP BY r.audit")
SQL (RESULT,
     "SELECT a.id, a.ended, a.status, a.complete AS whole, a.complete"
     " AND NOT EXISTS (SELECT 1 FROM member m WHERE m.audit = a.id"
     " AND m.answered IS NOT 1) AND NOT EXISTS (SELECT 1 FROM rtt r"
     " WHERE r.audit = a.id AND r.lost = r.sent) AS complete,"
     " (SELECT count (*) FROM member m WHERE m.audit = a.id) AS asked,"
     " (SELECT count (*) FROM member m WHERE m.audit = a.id"
     " AND m.answered = 1) AS answered, coalesce (a.limited,"
     " 1) AS limited, (SELECT n.text FROM member m JOIN name n"
     " ON n.id = m.host WHERE m.audit = a.id AND m.host = a.leader"
     " AND m.answered = 1) AS leader FROM audit a WHERE a.id = ?")
SQL (TRIES,
     "SELECT a.id AS audit, n.text AS node, a.begun FROM audit a"
     " JOIN name n ON n.id = a.node WHERE a.node IS NOT NULL"
     " AND a.id >= ? ORDER BY a.id")
SQL (SAID, "SELECT node, words FROM said ORDER BY node, words")
SQL (SAY,
     "INSERT INTO said (node, words) VALUES (?, ?) ON CONFLICT DO NOTHING")
SQL (UNSAY, "DELETE FROM said WHERE node = ? AND words = ?")
/* the oldest of the newest ?3 audits that crossed the link */
SQL (TREND_AUDITS,
     "SELECT min(audit) FROM (SELECT DISTINCT r.audit FROM crossing c"
     " JOIN route t ON t.id = c.route AND t.epoch = ?1 JOIN rtt r"
     " ON r.route = t.id AND r.lost < r.sent WHERE c.link = (SELECT id"
     " FROM name WHERE text = ?2) ORDER BY r.audit DESC LIMIT ?3)")
SQL (TREND,
     "SELECT r.route, r.audit, r.median / c.count, a.begun,"
     " r.audit > coalesce ((SELECT max(b.after) FROM crossing k"
     " JOIN rebase b ON b.link = k.link WHERE k.route = r.route), 0),"
     " (SELECT max(CASE f.level WHEN 'FAIL' THEN 3 WHEN 'UNKNOWN' THEN 2 ELSE"
     " 1 END) FROM suspect s JOIN finding f ON f.audit = s.audit"
     " AND f.seq = s.finding WHERE s.link = c.link AND s.audit = r.audit)"
     " FROM crossing c JOIN route t ON t.id = c.route AND t.epoch = ?1"
     " JOIN rtt r ON r.route = t.id AND r.lost < r.sent AND r.audit >= ?3"
     " JOIN audit a ON a.id = r.audit WHERE c.link = (SELECT id"
     " FROM name WHERE text = ?2) ORDER BY r.route, r.audit")
SQL (ROUTES,
     "SELECT t.id, a.text, b.text, coalesce ((SELECT max (e.after)"
     " FROM crossing c JOIN rebase e ON e.link = c.link"
     " WHERE c.route = t.id), 0) FROM route t JOIN name a ON a.id = t.a"
     " JOIN name b ON b.id = t.b WHERE t.epoch = ? ORDER BY t.id")
/* newest audit first; ?4 not NULL: only sound RTTs, and findings of this kind
 * suspect no link */
SQL (MEASURED,
     "SELECT r.audit, a.begun, r.route, r.round, r.first, r.sent, r.lost, "
     QUANTILES " FROM audit a JOIN rtt r ON r.audit = a.id WHERE a.epoch = ?1"
     " AND a.begun BETWEEN ?2 AND ?3 AND r.lost < r.sent AND (?4 IS NULL OR ("
     SOUND ("a") " AND NOT " FLAWED ("r", "?4") ")) ORDER BY a.id DESC, r.seq")
SQL (ADD_LOOPBACK,
     "INSERT INTO loopback (audit, end, min, p05, p25, median, p75, p95,"
     " max) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
SQL (ADD_NODE,
     "INSERT INTO node (audit, host, boot, kernel, governor,"
     " numa, adapter_numa) SELECT ?1, m.host, nullif (?3, ''),"
     " nullif (?4, ''), nullif (?5, ''), nullif (?6, -1), nullif (?7, -1)"
     " FROM member m WHERE m.audit = ?1 AND m.answered = 1"
     " AND m.host = (SELECT id FROM name WHERE text = ?2)")
SQL (AUDIT_LOOPBACKS,
     "SELECT n.text AS end, " QUANTILES
     " FROM loopback r JOIN name n ON n.id = r.end WHERE r.audit = ?"
     " ORDER BY n.text")
SQL (AUDIT_NODES,
     "SELECT n.text AS host, d.boot, d.kernel, d.governor,"
     " d.numa, d.adapter_numa FROM node d JOIN name n ON n.id = d.host"
     " WHERE d.audit = ? ORDER BY n.text")
