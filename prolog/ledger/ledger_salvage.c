/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new ledger from a damaged one.
 *
 * Notes. Audits are copied one by one, by id, each with everything that it
 * refers to, in one transaction. An audit with a damaged page or a broken
 * reference is lost as a whole. So sqlite3's .recover is not used: it saves
 * single rows of an audit. Ids are kept, and the ids of lost entries are not
 * reused. Until the copy is complete, the new ledger is marked so that it
 * cannot be opened: a partial ledger must not be taken for a complete one.
 */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <stddef.h>

#include "prolog/ledger/ledger_db.h"

#define ROUTES "(SELECT route FROM old.rtt WHERE audit = ?1)"
#define ROWS_OF_AUDIT(table)                                                  \
    "INSERT INTO main." table " SELECT * FROM old." table " WHERE audit = ?1"
#define ROW_WITH_ID(table)                                                    \
    "INSERT INTO main." table " SELECT * FROM old." table " WHERE id = ?1"
#define ROW_AT(table)                                                         \
    "INSERT INTO main." table " SELECT * FROM old." table                     \
    " LIMIT 1 OFFSET ?1 - 1"

/* Copy audit ?1, parents first. */
static const char *const of_audit[] = {
    "INSERT OR IGNORE INTO main.epoch SELECT * FROM old.epoch"
    " WHERE id = (SELECT epoch FROM old.audit WHERE id = ?1)",
    "INSERT OR IGNORE INTO main.name SELECT * FROM old.name"
    " WHERE id IN (SELECT node FROM old.audit WHERE id = ?1"
    " UNION SELECT leader FROM old.audit WHERE id = ?1"
    " UNION SELECT host FROM old.member WHERE audit = ?1"
    " UNION SELECT host FROM old.fault WHERE audit = ?1"
    " UNION SELECT host FROM old.node WHERE audit = ?1"
    " UNION SELECT host FROM old.sign WHERE audit = ?1"
    " UNION SELECT link FROM old.sign WHERE audit = ?1"
    " UNION SELECT link FROM old.suspect WHERE audit = ?1"
    " UNION SELECT link FROM old.open WHERE audit = ?1"
    " UNION SELECT port FROM old.counter WHERE audit = ?1"
    " UNION SELECT counter FROM old.counter WHERE audit = ?1"
    " UNION SELECT end FROM old.loopback WHERE audit = ?1"
    " UNION SELECT a FROM old.route WHERE id IN " ROUTES
    " UNION SELECT b FROM old.route WHERE id IN " ROUTES
    " UNION SELECT link FROM old.crossing WHERE route IN " ROUTES ")",
    ROW_WITH_ID ("audit"),
    ROWS_OF_AUDIT ("member"),
    "INSERT OR IGNORE INTO main.route SELECT * FROM old.route WHERE id"
    " IN " ROUTES,
    "INSERT OR IGNORE INTO main.crossing SELECT * FROM old.crossing"
    " WHERE route IN " ROUTES,
    ROWS_OF_AUDIT ("rtt"),
    ROWS_OF_AUDIT ("finding"),
    ROWS_OF_AUDIT ("suspect"),
    ROWS_OF_AUDIT ("gap"),
    ROWS_OF_AUDIT ("counter"),
    ROWS_OF_AUDIT ("sign"),
    ROWS_OF_AUDIT ("fault"),
    ROWS_OF_AUDIT ("loopback"),
    ROWS_OF_AUDIT ("node"),
    ROWS_OF_AUDIT ("open"),
    "INSERT OR REPLACE INTO main.seen SELECT DISTINCT c.link, ?1"
    " FROM main.rtt r JOIN main.crossing c ON c.route = r.route"
    " WHERE r.audit = ?1 AND r.lost < r.sent",
    NULL,
};
static const char *const of_action[] = { ROW_WITH_ID ("action"), NULL };
static const char *const of_comment[] = { ROW_WITH_ID ("comment"), NULL };
static const char *const of_mute[] = { ROW_AT ("mute"), NULL };
static const char *const of_rebase[] = {
    "INSERT OR IGNORE INTO main.name SELECT * FROM old.name WHERE id ="
    " (SELECT link FROM old.rebase LIMIT 1 OFFSET ?1 - 1)",
    ROW_AT ("rebase"),
    NULL,
};
static const char *const of_said[] = { ROW_AT ("said"), NULL };

#define NUMBERED(table)                                                       \
    "SELECT seq FROM old.sqlite_sequence WHERE name = '" table "'",           \
        "SELECT max(id) FROM old." table,                                     \
        "INSERT INTO main.sqlite_sequence VALUES ('" table "', ?1)",          \
        "SELECT id FROM old." table " WHERE id = ?1"
/* ?1 is the position of a row in the table's order */
#define NOT_NUMBERED(table)                                                   \
    "SELECT count(*) FROM old." table, NULL, NULL,                            \
        "SELECT 1 FROM old." table " LIMIT 1 OFFSET ?1 - 1"

static const struct salvage_part {
    const char *last;   /* the greatest ?1 */
    const char *second; /* used if `last` cannot be read; or NULL */
    const char *number; /* reserves the ids up to it; NULL: has no ids */
    const char *exists; /* whether there is a row for ?1 */
    const char *const *copy;
} parts[] = {
    { NUMBERED ("audit"), of_audit },
    { NUMBERED ("action"), of_action },
    { NUMBERED ("comment"), of_comment },
    { NOT_NUMBERED ("mute"), of_mute },
    { NOT_NUMBERED ("rebase"), of_rebase },
    { NOT_NUMBERED ("said"), of_said },
};

enum { PARTS = sizeof (parts) / sizeof (parts[0]) };

/* Run a statement that uses both ledgers. Return 1 with its number in *value, 0
 * if it has no row, -1 if the row cannot be read; errno ENOSPC if there is no
 * space to write.
 */
static int run (struct ledger *l, const char *sql, int64_t arg,
                int64_t *value)
{
    sqlite3_stmt *stmt = NULL;
    int rc = -1;

    if (sqlite3_prepare_v2 (l->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_int64 (stmt, 1, arg); /* if it has a parameter */
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

/* Copy the entry `arg`. Return 0, also if there is none; -1 if it is lost;
 * errno ENOSPC if there is no space for it.
 */
static int copy (struct ledger *l, const struct salvage_part *p, int64_t arg)
{
    int exists = run (l, p->exists, arg, NULL);

    if (exists <= 0)
        return exists;
    db_begin (l, DB_BEGIN, NULL);
    for (size_t i = 0; p->copy[i] && !l->failed; i++)
        if (run (l, p->copy[i], arg, NULL) < 0)
            db_fail (l);
    return (int)db_end (l, 0);
}

/* Copy a part. Return 0; -1 if nothing can be read, or with errno ENOSPC. */
static int salvage (struct ledger *l, const struct salvage_part *p,
                    int64_t *lost)
{
    int64_t last = 0;

    if (run (l, p->last, 0, &last) < 0
        && (!p->second || run (l, p->second, 0, &last) < 0))
        return -1;
    for (int64_t i = 1; i <= last; i++) {
        if (copy (l, p, i) == 0)
            continue;
        if (errno == ENOSPC)
            return -1;
        (*lost)++;
    }
    return p->number && last > 0 ? run (l, p->number, last, NULL) : 0;
}

int64_t ledger_salvage (struct ledger *l, const char *from, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int64_t lost = 0;
    size_t unread = 0;

    db_start (l, err);
    db_mark (l, true);
    if (!l->failed
        && (sqlite3_prepare_v2 (l->db, "ATTACH ? AS old", -1, &stmt, NULL)
                != SQLITE_OK
            || sqlite3_bind_text (stmt, 1, from, -1, SQLITE_STATIC)
                   != SQLITE_OK
            || sqlite3_step (stmt) != SQLITE_DONE))
        db_error (l);
    sqlite3_finalize (stmt);
    if (l->failed)
        return db_result (l, -1);
    for (size_t i = 0; i < PARTS; i++) {
        errno = 0;
        if (salvage (l, &parts[i], &lost) == 0)
            continue;
        if (errno == ENOSPC)
            return error_world (err, "%s: cannot be written: there is no room",
                                ledger_path (l));
        unread++;
    }
    run (l, "DETACH old", 0, NULL);
    if (unread == PARTS)
        return error_world (err, "%s: nothing in it can be read", from);
    db_start (l, err);
    db_mark (l, false);
    return db_result (l, lost + (int64_t)unread);
}
