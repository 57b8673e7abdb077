/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A new ledger from a damaged one.
 *
 * Notes. Entries are copied one by one, parents first, each with all its rows in
 * one transaction. An audit with a damaged page, or that refers to a lost row, is
 * lost as a whole. So sqlite3's .recover does not do: it saves single rows, and
 * an audit that lost a finding looks clean. (Debian's sqlite3 cannot run it
 * either: its library is built without dbpage.) Ids are kept, and the ids of lost
 * entries are not reused. Until the copy is complete, the new ledger is marked so
 * that it cannot be opened: a partial ledger must not be taken for a complete
 * one.
 */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "prolog/ledger/ledger_db.h"
#include "util/text.h"

enum { SQL_BYTES = 512 };

static const struct salvage_part {
    const char *table;
    enum {
        SHARED,     /* has ids; its loss shows in the entries that need it */
        NUMBERED,   /* has ids, which are not reused */
        LISTED,     /* has no ids: ?1 is a row's position */
    } kind;
    const char *children[17]; /* tables with a column of the table's name */
} parts[] = {
    { "name", SHARED, { NULL } },
    { "epoch", SHARED, { NULL } },
    { "route", SHARED, { "crossing" } },
    { "audit", NUMBERED,
      { "member", "rtt", "finding", "suspect", "gap", "counter", "sign",
        "fault", "loopback", "node", "open", "spread", "flow", "way", "fact",
        "rate" } },
    { "action", NUMBERED, { NULL } },
    { "comment", NUMBERED, { NULL } },
    { "mute", LISTED, { NULL } },
    { "rebase", LISTED, { NULL } },
    { "said", LISTED, { NULL } },
    { "total", LISTED, { NULL } },
    { "notice", NUMBERED, { NULL } },
};

enum { PARTS = sizeof (parts) / sizeof (parts[0]) };

/* Run a statement that uses both ledgers. Return 1 with its number in *value
 * (if not NULL), 0 if it has no row, -1 if the row cannot be read; errno ENOSPC
 * if there is no space to write.
 */
__attribute__ ((format (printf, 4, 5))) static int
run_salvage_sql (struct ledger *l, int64_t arg, int64_t *value, const char *fmt,
                 ...)
{
    sqlite3_stmt *stmt = NULL;
    char sql[SQL_BYTES];
    int rc = SQLITE_ERROR;

    TEXT_PRINT (sql, sizeof (sql), fmt);
    if (sqlite3_prepare_v2 (l->db, sql, -1, &stmt, NULL) == SQLITE_OK) {
        sqlite3_bind_int64 (stmt, 1, arg); /* if it has a parameter */
        rc = sqlite3_step (stmt);
    }
    if (rc == SQLITE_ROW && value)
        *value = sqlite3_column_int64 (stmt, 0);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE && db_is_short (l))
        errno = ENOSPC;
    sqlite3_finalize (stmt);
    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : -1;
}

/* Whether the old ledger is of the version before, without rates. */
static bool lacks_rates (struct ledger *l)
{
    int64_t version = LEDGER_VERSION;

    run_salvage_sql (l, 0, &version, "PRAGMA old.user_version");
    return version < LEDGER_VERSION;
}

static int copy_salvage_children (struct ledger *l, const char *child,
                                  const char *of, bool without, int64_t arg)
{
    if (without && (!strcmp (child, "fact") || !strcmp (child, "rate")))
        return 0;
    return run_salvage_sql (
        l, arg, NULL, "INSERT INTO main.%s SELECT *%s FROM old.%s WHERE %s = ?1",
        child, without && !strcmp (child, "finding") ? ", NULL, NULL" : "",
        child, of);
}

/* Copy the entry `arg`, of a ledger with or without rates. Return 0, also if there
 * is none; -1 if it is lost; errno ENOSPC if there is no space for it.
 */
static int copy_salvage_rows (struct ledger *l, const struct salvage_part *p,
                              bool without, int64_t arg)
{
    db_begin (l, NULL);
    if (run_salvage_sql (
            l, arg, NULL, "INSERT INTO main.%s SELECT * FROM old.%s %s",
            p->table, p->table,
            p->kind == LISTED ? "LIMIT 1 OFFSET ?1 - 1" : "WHERE id = ?1")
        < 0)
        db_fail (l);
    if (!l->failed && sqlite3_changes (l->db) > 0) {
        for (size_t i = 0; p->children[i] && !l->failed; i++)
            if (copy_salvage_children (l, p->children[i], p->table, without,
                                       arg) < 0)
                db_fail (l);
        if (!strcmp (p->table, "audit"))
            db_seen (l, arg);
    }
    return (int)db_end (l, 0);
}

/* Copy a part. Return 0; -1 if nothing can be read, or with errno ENOSPC. */
static int salvage_table (struct ledger *l, const struct salvage_part *p,
                          int64_t *lost)
{
    bool without = lacks_rates (l);
    int64_t last = 0;

    if ((p->kind != NUMBERED
         || run_salvage_sql (
                l, 0, &last,
                "SELECT seq FROM old.sqlite_sequence WHERE name = '%s'",
                p->table)
                < 0)
        && run_salvage_sql (l, 0, &last, "SELECT %s FROM old.%s",
                            p->kind == LISTED ? "count(*)" : "max(id)",
                            p->table)
               < 0)
        return -1;
    if (p->kind == NUMBERED && last > 0
        && run_salvage_sql (
               l, last, NULL,
               "INSERT INTO main.sqlite_sequence VALUES ('%s', ?1)", p->table)
               < 0)
        return -1;
    for (int64_t i = 1; i <= last; i++) {
        ledger_work (l, p->table, i, last);
        if (copy_salvage_rows (l, p, without, i) == 0)
            continue;
        if (errno == ENOSPC)
            return -1;
        *lost += p->kind != SHARED;
    }
    return 0;
}

int64_t ledger_salvage (struct ledger *l, const char *from, struct error *err)
{
    sqlite3_stmt *stmt = NULL;
    int64_t lost = 0;
    size_t unread = 0;

    db_start (l, err);
    db_mark (l, true);
    db_exec (l, "PRAGMA synchronous = OFF"); /* until it is complete */
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
        if (salvage_table (l, &parts[i], &lost) == 0)
            continue;
        if (errno == ENOSPC)
            return error_world (err, "%s: cannot be written: there is no room",
                                ledger_path (l));
        lost += parts[i].kind != SHARED;
        unread++;
    }
    run_salvage_sql (l, 0, NULL, "DETACH old");
    if (unread == PARTS)
        return error_world (err, "%s: nothing in it can be read", from);
    db_start (l, err);
    db_exec (l, "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint (TRUNCATE)");
    db_mark (l, false);
    return db_result (l, lost);
}
