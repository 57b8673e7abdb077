/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new ledger out of a damaged one.
 *
 * Notes. Audits are copied one by one, by number, each with all that it refers
 * to, in a transaction: one that meets a damaged page, or whose references
 * lead nowhere, is left behind whole. Numbers stay, and those of what was lost
 * are not given again. As long as it has not come to its end, the new ledger
 * is marked as what nobody opens: half of one must not be taken for all.
 *
 * An old version may be damaged as well, before it was ever brought up to date.
 */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <stddef.h>

#include "prolog/ledger/ledger_db.h"

#define ROUTES "(SELECT route FROM old.rtt WHERE audit = ?1)"

/* A statement, for ledgers of version `since` to `until`; 0: of any. */
struct copy {
    int since, until;
    const char *sql;
};

/* What to copy of audit ?1, parents first. The first says whether it is. */
static const struct copy of_audit[] = {
    { 0, 0, "SELECT id FROM old.audit WHERE id = ?1" },
    { 0, 0, "INSERT OR IGNORE INTO main.epoch SELECT * FROM old.epoch"
            " WHERE id = (SELECT epoch FROM old.audit WHERE id = ?1)" },
    { 0, 0, "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
            " WHERE id IN (SELECT host FROM old.member WHERE audit = ?1"
            " UNION SELECT link FROM old.suspect WHERE audit = ?1"
            " UNION SELECT port FROM old.counter WHERE audit = ?1"
            " UNION SELECT counter FROM old.counter WHERE audit = ?1"
            " UNION SELECT a FROM old.route WHERE id IN " ROUTES
            " UNION SELECT b FROM old.route WHERE id IN " ROUTES
            " UNION SELECT link FROM old.crossing"
            " WHERE route IN " ROUTES ")" },
    { 2, 0, "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
            " WHERE id IN (SELECT link FROM old.sign WHERE audit = ?1"
            " UNION SELECT host FROM old.sign WHERE audit = ?1)" },
    { 3, 0, "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
            " WHERE id IN (SELECT node FROM old.audit WHERE id = ?1"
            " UNION SELECT leader FROM old.audit WHERE id = ?1)" },
    { 1, 1, "INSERT INTO main.audit SELECT *, 'hand', 0, NULL, NULL, NULL,"
            " NULL FROM old.audit WHERE id = ?1" },
    { 2, 2, "INSERT INTO main.audit SELECT *, NULL, NULL, NULL"
            " FROM old.audit WHERE id = ?1" },
    { 3, 0, "INSERT INTO main.audit SELECT * FROM old.audit WHERE id = ?1" },
    { 0, 0, "INSERT INTO main.member SELECT * FROM old.member"
            " WHERE audit = ?1" },
    { 0, 0, "INSERT OR IGNORE INTO main.route SELECT * FROM old.route"
            " WHERE id IN " ROUTES },
    { 0, 0, "INSERT OR IGNORE INTO main.crossing SELECT * FROM old.crossing"
            " WHERE route IN " ROUTES },
    { 0, 0, "INSERT INTO main.rtt SELECT * FROM old.rtt WHERE audit = ?1" },
    { 0, 0, "INSERT INTO main.finding SELECT * FROM old.finding"
            " WHERE audit = ?1" },
    { 0, 0, "INSERT INTO main.suspect SELECT * FROM old.suspect"
            " WHERE audit = ?1" },
    { 0, 0, "INSERT INTO main.gap SELECT * FROM old.gap WHERE audit = ?1" },
    { 0, 0, "INSERT INTO main.counter SELECT * FROM old.counter"
            " WHERE audit = ?1" },
    { 2, 0, "INSERT INTO main.sign SELECT * FROM old.sign WHERE audit = ?1" },
    { 4, 0, "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
            " WHERE id IN (SELECT host FROM old.fault WHERE audit = ?1)" },
    { 4, 0, "INSERT INTO main.fault SELECT * FROM old.fault"
            " WHERE audit = ?1" },
    { 5, 0, "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
            " WHERE id IN (SELECT end FROM old.loopback WHERE audit = ?1"
            " UNION SELECT host FROM old.node WHERE audit = ?1"
            " UNION SELECT link FROM old.open WHERE audit = ?1)" },
    { 5, 0, "INSERT INTO main.loopback SELECT * FROM old.loopback"
            " WHERE audit = ?1" },
    { 5, 0, "INSERT INTO main.node SELECT * FROM old.node"
            " WHERE audit = ?1" },
    { 5, 0, "INSERT INTO main.open SELECT * FROM old.open"
            " WHERE audit = ?1" },
    { 0, 0, "INSERT OR REPLACE INTO main.seen SELECT DISTINCT c.link, ?1"
            " FROM main.rtt r JOIN main.crossing c ON c.route = r.route"
            " WHERE r.audit = ?1 AND r.lost < r.sent" },
    { 0, 0, NULL },
};

static const struct copy of_action[] = {
    { 0, 0, "SELECT id FROM old.action WHERE id = ?1" },
    { 0, 0, "INSERT INTO main.action SELECT * FROM old.action"
            " WHERE id = ?1" },
    { 0, 0, NULL },
};

static const struct copy of_comment[] = {
    { 0, 0, "SELECT id FROM old.comment WHERE id = ?1" },
    { 0, 0, "INSERT INTO main.comment SELECT * FROM old.comment"
            " WHERE id = ?1" },
    { 0, 0, NULL },
};

/* The rows of what has no numbers: ?1 is their place in the table's order. */
static const struct copy of_mute[] = {
    { 0, 0, "SELECT 1 FROM old.mute LIMIT 1 OFFSET ?1 - 1" },
    { 1, 1, "INSERT INTO main.mute SELECT link, '', time, until, who, why"
            " FROM old.mute LIMIT 1 OFFSET ?1 - 1" },
    { 2, 0, "INSERT INTO main.mute SELECT * FROM old.mute LIMIT 1"
            " OFFSET ?1 - 1" },
    { 0, 0, NULL },
};

static const struct copy of_rebase[] = {
    { 0, 0, "SELECT 1 FROM old.rebase LIMIT 1 OFFSET ?1 - 1" },
    { 0, 0, "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
            " WHERE id = (SELECT link FROM old.rebase LIMIT 1"
            " OFFSET ?1 - 1)" },
    { 0, 0, "INSERT INTO main.rebase SELECT * FROM old.rebase LIMIT 1"
            " OFFSET ?1 - 1" },
    { 0, 0, NULL },
};

static const struct copy of_said[] = {
    { 0, 0, "SELECT 1 FROM old.said LIMIT 1 OFFSET ?1 - 1" },
    { 0, 0, "INSERT INTO main.said SELECT * FROM old.said LIMIT 1"
            " OFFSET ?1 - 1" },
    { 0, 0, NULL },
};

static const struct {
    int since;          /* this version */
    const char *last;   /* the greatest ?1 */
    const char *second; /* where that cannot be read; NULL */
    const char *number; /* gives no number up to it again; NULL: has none */
    const struct copy *copy;
} parts[] = {
    { 1, "SELECT seq FROM old.sqlite_sequence WHERE name = 'audit'",
      "SELECT max(id) FROM old.audit",
      "INSERT INTO main.sqlite_sequence VALUES ('audit', ?1)", of_audit },
    { 1, "SELECT seq FROM old.sqlite_sequence WHERE name = 'action'",
      "SELECT max(id) FROM old.action",
      "INSERT INTO main.sqlite_sequence VALUES ('action', ?1)", of_action },
    { 2, "SELECT seq FROM old.sqlite_sequence WHERE name = 'comment'",
      "SELECT max(id) FROM old.comment",
      "INSERT INTO main.sqlite_sequence VALUES ('comment', ?1)", of_comment },
    { 1, "SELECT count(*) FROM old.mute", NULL, NULL, of_mute },
    { 1, "SELECT count(*) FROM old.rebase", NULL, NULL, of_rebase },
    { 2, "SELECT count(*) FROM old.said", NULL, NULL, of_said },
};

enum { PARTS = sizeof (parts) / sizeof (parts[0]) };

/* As db_run, for statements that name both ledgers. */
static int run (struct ledger *l, const char *sql, int64_t arg,
                int64_t *value)
{
    sqlite3_stmt *stmt = NULL;
    int rc = -1;

    if (sqlite3_prepare_v2 (l->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_int64 (stmt, 1, arg); /* where it takes one */
        switch (sqlite3_step (stmt)) {
        case SQLITE_ROW:
            rc = 1;
            if (value)
                *value = sqlite3_column_int64 (stmt, 0);
            break;
        case SQLITE_DONE:
            rc = 0;
            break;
        default:
            if (db_is_short (l))
                errno = ENOSPC;
            break;
        }
    }
    sqlite3_finalize (stmt);
    return rc;
}

/* Copy what `arg` is of: 1, 0 where there is nothing, -1 where it is lost;
 * errno ENOSPC where there is no room for it.
 */
static int copy (struct ledger *l, const struct copy *c, int64_t arg,
                 int64_t version)
{
    int there = run (l, c->sql, arg, NULL);

    if (there != 1 || db_begin (l, DB_BEGIN, NULL) < 0)
        return there < 0 ? -1 : 0;
    while (there == 1 && (++c)->sql)
        if (c->since <= version && (!c->until || version <= c->until)
            && run (l, c->sql, arg, NULL) < 0)
            there = -1;
    return (int)db_end (l, there, NULL);
}

/* Return 0, or -1 where nothing can be read, or with errno ENOSPC. */
static int salvage (struct ledger *l, size_t part, int64_t version,
                    int64_t *lost)
{
    const char *const number = parts[part].number;
    int64_t last = 0;

    if (parts[part].since > version)
        return 0;
    if (run (l, parts[part].last, 0, &last) < 0
        && (!parts[part].second
            || run (l, parts[part].second, 0, &last) < 0))
        return -1;
    for (int64_t i = 1; i <= last; i++) {
        if (copy (l, parts[part].copy, i, version) >= 0)
            continue;
        if (errno == ENOSPC)
            return -1;
        (*lost)++;
    }
    return number && last > 0 ? run (l, number, last, NULL) : 0;
}

int64_t ledger_salvage (struct ledger *l, const char *from, struct error *err)
{
    static const char detach[] = "DETACH old";
    sqlite3_stmt *stmt = NULL;
    int64_t version = LEDGER_VERSION;
    int64_t lost = 0;
    size_t unread = 0;
    int rc;

    if (db_mark (l, true, err) < 0)
        return -1;
    if (sqlite3_prepare_v2 (l->db, "ATTACH ? AS old", -1, &stmt, NULL)
            != SQLITE_OK
        || sqlite3_bind_text (stmt, 1, from, -1, SQLITE_STATIC) != SQLITE_OK)
        rc = db_error (l, err);
    else
        rc = sqlite3_step (stmt) == SQLITE_DONE ? 0 : db_error (l, err);
    sqlite3_finalize (stmt);
    if (rc < 0)
        return -1;
    run (l, "PRAGMA old.user_version", 0, &version);
    for (size_t i = 0; i < PARTS; i++) {
        errno = 0;
        if (salvage (l, i, version, &lost) == 0)
            continue;
        if (errno == ENOSPC)
            return error_world (err, "%s: cannot be written: there is no room",
                                ledger_path (l));
        unread++;
    }
    run (l, detach, 0, NULL);
    if (unread == PARTS)
        return error_world (err, "%s: nothing in it can be read", from);
    return db_mark (l, false, err) < 0 ? -1 : lost + (int64_t)unread;
}
