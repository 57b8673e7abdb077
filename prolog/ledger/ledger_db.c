/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database.
 *
 * Notes. The rows of links of an epoch (a fabric's hash: topology and tables)
 * are stored once, as routes. Audits of the same routing refer to them, so an
 * audit adds only its RTTs. Names are stored once. Every statement that enters
 * an audit searches by an index and scans no table, so its work is that of the
 * audit times the logarithm of the ledger's size.
 *
 * WAL: readers and the writer do not wait for each other. With synchronous FULL
 * a commit is on the disk when it returns. The -wal and -shm files stay when
 * the last writer closes, since a reader that may not write the directory
 * cannot create them.
 *
 * A ledger of version 7 becomes one of version 8 when it is opened for writing, in
 * one transaction, so no history is lost.
 *
 * An empty file is version 0, so that if the creator of a ledger was killed,
 * the next one completes it. application_id distinguishes ledgers from other
 * databases.
 *
 * Files are checked by name and not through a descriptor: closing one would
 * drop the locks that this process holds on the file through another
 * connection.
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

#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/terminal.h"
#include "util/text.h"
#include "util/user.h"

enum {
    APPLICATION_ID = 0x706d6d31, /* "pmm1" */
    HALF_ID = 0x706d6d68,        /* "pmmh": a partial copy */
    TEXT_MAX = 400,              /* bytes of a refusal */
    WAL_KEEP_BYTES = 16 << 20,
    CACHE_KIB = 32 << 10,
    STEPS = 100000, /* of SQLite's machine, some ms */
};

#define OF_AUDIT "audit INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE"
#define NAMED "INTEGER NOT NULL REFERENCES name"
/* facts of findings that are kept as they are; what links carried: bits per
 * second, way 0 from a link's first end; offered: by nominal rates, for the
 * baseline
 */
#define RATES                                                                 \
    "CREATE TABLE fact (audit INTEGER NOT NULL, finding INTEGER NOT NULL,"    \
    " seq INTEGER NOT NULL, kind TEXT NOT NULL, n0 REAL, n1 REAL, n2 REAL,"   \
    " n3 REAL, n4 REAL, n5 REAL, a TEXT, b TEXT, c TEXT,"                     \
    " PRIMARY KEY (audit, finding, seq), FOREIGN KEY (audit, finding)"        \
    " REFERENCES finding ON DELETE CASCADE) WITHOUT ROWID;"                   \
    "CREATE TABLE rate (" OF_AUDIT ", link " NAMED ", way INTEGER NOT NULL,"  \
    " bits REAL NOT NULL, expected REAL, offered REAL,"                       \
    " PRIMARY KEY (audit, link, way)) WITHOUT ROWID;"                         \
    "CREATE INDEX rate_link ON rate (link, audit);"
static const char schema[]
    = "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
      "CREATE TABLE epoch (id INTEGER PRIMARY KEY,"
      " fabric TEXT NOT NULL UNIQUE);"
      /* ended NULL: no result yet; submitted 0: of no job, or its submit time
       * is not known; node: what it is about; limited NULL: not known */
      "CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT,"
      " begun INTEGER NOT NULL, epoch INTEGER NOT NULL REFERENCES epoch,"
      " about INTEGER NOT NULL, nonce TEXT NOT NULL UNIQUE, ended INTEGER,"
      " job INTEGER, step INTEGER, status TEXT, complete INTEGER,"
      " sentence TEXT, why TEXT NOT NULL DEFAULT 'hand',"
      " submitted INTEGER NOT NULL DEFAULT 0, uid INTEGER,"
      " node INTEGER REFERENCES name, leader INTEGER REFERENCES name,"
      " limited INTEGER);"
      "CREATE INDEX audit_epoch ON audit (epoch);"
      "CREATE UNIQUE INDEX audit_job ON audit (about, submitted)"
      " WHERE submitted > 0;"
      "CREATE INDEX audit_begun ON audit (begun);"
      "CREATE INDEX audit_open ON audit (id) WHERE ended IS NULL;"
      "CREATE INDEX audit_node ON audit (id) WHERE node IS NOT NULL;"
      "CREATE TABLE member (" OF_AUDIT ", host " NAMED ", answered INTEGER,"
      " PRIMARY KEY (audit, host)) WITHOUT ROWID;"
      "CREATE INDEX member_answered ON member (host, audit)"
      " WHERE answered = 1;"
      "CREATE TABLE fault (" OF_AUDIT ", host " NAMED ", cause TEXT NOT NULL,"
      " PRIMARY KEY (audit, host)) WITHOUT ROWID;"
      "CREATE TABLE route (id INTEGER PRIMARY KEY,"
      " epoch INTEGER NOT NULL REFERENCES epoch,"
      " a " NAMED ", b " NAMED ", UNIQUE (epoch, a, b));"
      "CREATE TABLE crossing (route INTEGER NOT NULL"
      " REFERENCES route ON DELETE CASCADE,"
      " link " NAMED ", count INTEGER NOT NULL,"
      " PRIMARY KEY (route, link)) WITHOUT ROWID;"
      "CREATE INDEX crossing_link ON crossing (link, route);"
      /* first: whether the initiator is the route's a */
      "CREATE TABLE rtt (" OF_AUDIT ","
      " seq INTEGER NOT NULL, route INTEGER NOT NULL REFERENCES route,"
      " round INTEGER NOT NULL, first INTEGER NOT NULL,"
      " sent INTEGER NOT NULL, lost INTEGER NOT NULL,"
      " min REAL, p05 REAL, p25 REAL, median REAL, p75 REAL, p95 REAL,"
      " max REAL, PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
      "CREATE INDEX rtt_route ON rtt (route, audit);"
      "CREATE TABLE finding (" OF_AUDIT ","
      " seq INTEGER NOT NULL, level TEXT NOT NULL, kind TEXT NOT NULL,"
      " basis TEXT NOT NULL, excess REAL, stderr REAL, expected REAL,"
      " why TEXT NOT NULL, rate REAL, rate_expected REAL,"
      " PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
      "CREATE TABLE suspect (audit INTEGER NOT NULL, finding INTEGER NOT NULL,"
      " seq INTEGER NOT NULL, role TEXT NOT NULL,"
      " link " NAMED ", PRIMARY KEY (audit, finding, seq),"
      " FOREIGN KEY (audit, finding) REFERENCES finding ON DELETE CASCADE)"
      " WITHOUT ROWID;"
      "CREATE INDEX suspect_link ON suspect (link, audit);"
      "CREATE TABLE gap (" OF_AUDIT ","
      " seq INTEGER NOT NULL, text TEXT NOT NULL,"
      " PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
      "CREATE TABLE counter (" OF_AUDIT ", port " NAMED ","
      " counter " NAMED ", value INTEGER NOT NULL,"
      " PRIMARY KEY (audit, port, counter)) WITHOUT ROWID;"
      "CREATE INDEX counter_port ON counter (port, counter, audit);"
      /* the newest audit that measured a link */
      "CREATE TABLE seen (link INTEGER PRIMARY KEY REFERENCES name,"
      " audit INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE);"
      "CREATE INDEX seen_audit ON seen (audit);"
      /* host NULL: a switch's port */
      "CREATE TABLE sign (" OF_AUDIT ", link " NAMED ", kind TEXT NOT NULL,"
      " host INTEGER REFERENCES name, time INTEGER NOT NULL,"
      " PRIMARY KEY (audit, link, kind)) WITHOUT ROWID;"
      /* after: the newest audit at that time, which may be deleted; per node
       * and kind, only one is not done yet */
      "CREATE TABLE action (id INTEGER PRIMARY KEY AUTOINCREMENT,"
      " after INTEGER NOT NULL, node TEXT NOT NULL, link TEXT,"
      " kind TEXT NOT NULL, intended INTEGER NOT NULL, done INTEGER,"
      " reason TEXT NOT NULL, why TEXT NOT NULL, cause TEXT);"
      "CREATE INDEX action_after ON action (after);"
      "CREATE UNIQUE INDEX action_open ON action (node, kind)"
      " WHERE done IS NULL;"
      /* link or node '': any */
      "CREATE TABLE mute (link TEXT NOT NULL, node TEXT NOT NULL,"
      " time INTEGER NOT NULL, until INTEGER NOT NULL, who TEXT NOT NULL,"
      " why TEXT NOT NULL, PRIMARY KEY (link, node)) WITHOUT ROWID;"
      "CREATE TABLE rebase (link INTEGER PRIMARY KEY REFERENCES name,"
      " after INTEGER NOT NULL, time INTEGER NOT NULL, who TEXT NOT NULL,"
      " why TEXT NOT NULL);"
      /* after: the newest audit at that time */
      "CREATE TABLE comment (id INTEGER PRIMARY KEY AUTOINCREMENT,"
      " after INTEGER NOT NULL, job INTEGER NOT NULL,"
      " submitted INTEGER NOT NULL, text TEXT NOT NULL,"
      " queued INTEGER NOT NULL, tries INTEGER NOT NULL, due INTEGER NOT NULL,"
      " done INTEGER, error TEXT, UNIQUE (job, submitted, text));"
      "CREATE INDEX comment_open ON comment (id) WHERE done IS NULL;"
      "CREATE INDEX comment_done ON comment (after) WHERE done IS NOT NULL;"
      /* messages that still hold; node '': about the site */
      "CREATE TABLE said (node TEXT NOT NULL, words TEXT NOT NULL,"
      " PRIMARY KEY (node, words)) WITHOUT ROWID;"
      /* one per endpoint and audit; in a node, NULL means not known */
      "CREATE TABLE loopback (" OF_AUDIT ", end " NAMED ","
      " min REAL, p05 REAL, p25 REAL, median REAL, p75 REAL, p95 REAL,"
      " max REAL, PRIMARY KEY (end, audit)) WITHOUT ROWID;"
      "CREATE INDEX loopback_audit ON loopback (audit);"
      "CREATE TABLE node (" OF_AUDIT ","
      " host " NAMED ", boot TEXT, kernel TEXT,"
      " governor TEXT, numa INTEGER, adapter_numa INTEGER,"
      " PRIMARY KEY (host, audit)) WITHOUT ROWID;"
      "CREATE INDEX node_audit ON node (audit);"
      /* links that were measured, but could not be judged */
      "CREATE TABLE open (" OF_AUDIT ", link " NAMED ","
      " PRIMARY KEY (audit, link)) WITHOUT ROWID;"
      /* audits whose messages were spread, the times of an RTT's flows
       * (ledger.c), and of its ways, where its ends share a clock */
      "CREATE TABLE spread (" OF_AUDIT ", level INTEGER NOT NULL,"
      " connected INTEGER NOT NULL, switches INTEGER NOT NULL,"
      " PRIMARY KEY (audit)) WITHOUT ROWID;"
      "CREATE TABLE flow (" OF_AUDIT ", seq INTEGER NOT NULL,"
      " times BLOB NOT NULL, PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
      "CREATE TABLE way (" OF_AUDIT ", seq INTEGER NOT NULL,"
      " there REAL NOT NULL, back REAL NOT NULL,"
      " PRIMARY KEY (audit, seq)) WITHOUT ROWID;"
      /* how many audits ended, also deleted ones */
      "CREATE TABLE total (result TEXT PRIMARY KEY, audits INTEGER NOT NULL)"
      " WITHOUT ROWID;"
      "CREATE TRIGGER audit_ended AFTER UPDATE OF ended ON audit"
      " WHEN OLD.ended IS NULL BEGIN INSERT INTO total VALUES (CASE WHEN"
      " NEW.job IS NULL THEN 'none' ELSE NEW.status END, 1)"
      " ON CONFLICT (result) DO UPDATE SET audits = audits + 1; END;"
      /* over: when it stopped to hold; told: how telling it ended, '' if well
       * or not wanted */
      "CREATE TABLE notice (id INTEGER PRIMARY KEY AUTOINCREMENT,"
      " key TEXT NOT NULL, event TEXT NOT NULL, words TEXT NOT NULL,"
      " node TEXT, link TEXT, audit INTEGER, time INTEGER NOT NULL,"
      " over INTEGER, told TEXT);"
      "CREATE INDEX notice_key ON notice (key);"
      "CREATE INDEX notice_time ON notice (time);"
      "CREATE INDEX notice_over ON notice (over);"
      "CREATE INDEX notice_waits ON notice (id) WHERE told IS NULL;" RATES;

enum { VERSION_BEFORE = LEDGER_VERSION - 1 };
static const char from_before[]
    = "ALTER TABLE finding ADD COLUMN rate REAL;"
      "ALTER TABLE finding ADD COLUMN rate_expected REAL;" RATES;

/*
 * Errors
 */

void db_start (struct ledger *l, struct error *err)
{
    l->err = err;
    l->failed = false;
}

void db_fail (struct ledger *l)
{
    l->failed = true;
    l->errnum = errno;
}

int64_t db_result (const struct ledger *l, int64_t value)
{
    if (!l->failed)
        return value;
    errno = l->errnum;
    return -1;
}

json_t *db_json (const struct ledger *l, json_t *json)
{
    if (!l->failed)
        return json;
    json_decref (json);
    errno = l->errnum;
    return NULL;
}

void db_refuse (struct ledger *l, int errnum, const char *fmt, ...)
{
    char text[TEXT_MAX];

    if (l->failed)
        return;
    TEXT_PRINT (text, sizeof (text), fmt);
    errno = errnum;
    error_input (l->err, "%s: %s", l->path, text);
    db_fail (l);
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

static void say_damaged (struct ledger *l, const char *how)
{
    errno = EUCLEAN;
    error_world (l->err, "%s is damaged: %s: look at it with pmm ledger "
                         "check, rescue it with pmm ledger salvage",
                 l->path, how);
}

void db_error (struct ledger *l)
{
    int code = sqlite3_errcode (l->db), why = sqlite3_system_errno (l->db);
    const char *message = sqlite3_errmsg (l->db);

    struct stat st;

    if (l->failed)
        return;
    xcheck (code == SQLITE_NOMEM ? NULL : l);
    if (db_is_short (l))
        errno = ENOSPC;
    if (code == SQLITE_CORRUPT)
        say_damaged (l, message);
    else if (code == SQLITE_NOTADB) {
        errno = EUCLEAN;
        error_input (l->err, "%s is not a ledger: not a database", l->path);
    }
    else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        error_world (l->err, "%s: another has had it locked for more than %d "
                             "ms", l->path, LEDGER_WAIT_MS);
    else if (why == EACCES && stat (l->path, &st) == 0)
        error_world (l->err, "%s: cannot be read: %s", l->path,
                     INSTEAD (USER (st.st_uid)));
    else if (code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
        error_world (l->err, "%s: cannot be read or written: %s", l->path,
                     why ? strerror (why) : message);
    else
        error_world (l->err, "%s: %s", l->path,
                     code == SQLITE_FULL
                         ? "cannot be written: the disk is full"
                     : code == SQLITE_READONLY
                         ? "cannot be written: it is read-only"
                         : message);
    db_fail (l);
}

/*
 * Statements
 */

bool db_name (struct ledger *l, const char *name, int64_t *id)
{
    return db_run (l, id, "SELECT id FROM name WHERE text = ?",
                   VALUES (NAME (name)));
}

static int64_t id_of (struct ledger *l, const char *name)
{
    int64_t id;

    return db_name (l, name, &id)
               ? id
               : db_add (l, "INSERT INTO name (text) VALUES (?)",
                         VALUES (NAME (name)));
}

static int bind_value (struct ledger *l, sqlite3_stmt *stmt, int i,
                       const struct db_value *v)
{
    char buf[LEDGER_TEXT_MAX + 1];

    if (v->type == DB_INT)
        return sqlite3_bind_int64 (stmt, i, v->i);
    if (v->type == DB_REAL) /* NAN becomes NULL */
        return sqlite3_bind_double (stmt, i, v->d);
    if (!v->s)
        return sqlite3_bind_null (stmt, i);
    if (v->type == DB_BLOB)
        return sqlite3_bind_blob (stmt, i, v->s, (int)v->max, SQLITE_TRANSIENT);
    if (v->type == DB_ID)
        return sqlite3_bind_int64 (stmt, i, id_of (l, v->s));
    snprintf (buf, sizeof (buf), "%.*s", (int)v->max, v->s);
    return sqlite3_bind_text (stmt, i, text_clean (buf), -1, SQLITE_TRANSIENT);
}

static sqlite3_stmt *prepared (struct ledger *l, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    for (size_t i = 0; i < l->nstmts; i++)
        if (l->stmt[i].sql == sql)
            return l->stmt[i].stmt;
    if (sqlite3_prepare_v3 (l->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt,
                            NULL)
        != SQLITE_OK) {
        db_error (l);
        return NULL;
    }
    l->stmt = xgrow (l->stmt, l->nstmts, sizeof (*l->stmt));
    l->stmt[l->nstmts++] = (struct db_stmt){ sql, stmt };
    return stmt;
}

sqlite3_stmt *db_first (struct ledger *l, const char *sql,
                        const struct db_value *v, size_t n)
{
    sqlite3_stmt *stmt = l->failed ? NULL : prepared (l, sql);

    if (!stmt)
        return NULL;
    for (int i = 0; i < (int)n && i < sqlite3_bind_parameter_count (stmt); i++)
        if (bind_value (l, stmt, i + 1, &v[i]) != SQLITE_OK)
            db_error (l);
    return db_next (l, stmt);
}

sqlite3_stmt *db_next (struct ledger *l, sqlite3_stmt *row)
{
    int rc = l->failed ? SQLITE_DONE : sqlite3_step (row);

    if (rc == SQLITE_ROW)
        return row;
    if (rc != SQLITE_DONE)
        db_error (l);
    sqlite3_reset (row);
    return NULL;
}

const char *db_text (sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text (row, column);
}

bool db_run (struct ledger *l, int64_t *value, const char *sql,
             const struct db_value *v, size_t n)
{
    sqlite3_stmt *row = db_first (l, sql, v, n);

    if (row && value)
        *value = sqlite3_column_int64 (row, 0);
    sqlite3_reset (row);
    return row != NULL;
}

int64_t db_add (struct ledger *l, const char *sql, const struct db_value *v,
                size_t n)
{
    db_run (l, NULL, sql, v, n);
    return sqlite3_last_insert_rowid (l->db);
}

int db_call (struct ledger *l, struct error *err, const char *sql,
             const struct db_value *v, size_t n)
{
    db_begin (l, err);
    db_run (l, NULL, sql, v, n);
    return (int)db_end (l, 0);
}

int64_t db_epoch (struct ledger *l, const char *fabric)
{
    int64_t id = 0;

    db_run (l, &id, "SELECT id FROM epoch WHERE fabric = ?",
            VALUES (NAME (fabric)));
    return id;
}

void db_exec (struct ledger *l, const char *sql)
{
    if (!l->failed
        && sqlite3_exec (l->db, sql, NULL, NULL, NULL) != SQLITE_OK)
        db_error (l);
}

/*
 * Rows
 */

enum { COLUMNS_MAX = 32 };

static const struct db_column *
column_named (struct ledger *l, const struct db_table *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp (t->column[i].name, name))
            return &t->column[i];
    db_refuse (l, EINVAL, "a row has no member '%s'", name);
    return NULL;
}

/* The words of columns that are enums, by the table if it is not one of all. */
static const struct db_words {
    const char *column;
    const char *(*name) (unsigned int);
    unsigned int n;
    const struct db_table *of;
} words[] = {
    { "status", verdict_status_name, VERDICT_FAIL + 1, NULL },
    { "level", verdict_status_name, VERDICT_FAIL + 1, NULL },
    { "kind", policy_kind_name, POLICY_KINDS, &db_actions },
    { "kind", sign_name, SIGN_SPEED + 1, &db_signs },
    { "kind", finding_kind_name, FINDING_KINDS, NULL },
    { "basis", finding_basis_name, FINDING_BASES, NULL },
    { "cause", drain_cause_name, CAUSES, NULL },
    { "why", ledger_why_name, LEDGER_SEARCH + 1, NULL },
};

static const struct db_words *column_words (const struct db_table *t,
                                            const char *column)
{
    const struct db_words *w = words;

    while (strcmp (w->column, column) || (w->of && w->of != t))
        w++;
    return w;
}

static unsigned int column_word (const struct db_table *t, const char *column,
                                 const char *text)
{
    const struct db_words *w = column_words (t, column);
    unsigned int i = 0;

    while (i < w->n && (!text || strcmp (text, w->name (i))))
        i++;
    return i;
}

static void set_member (struct ledger *l, const struct db_table *t,
                        const struct db_column *c, void *to, sqlite3_stmt *row,
                        int i)
{
    bool null = sqlite3_column_type (row, i) == SQLITE_NULL;
    const char *text = c->type < DB_TEXT || null ? NULL : db_text (row, i);
    char *copy;

    if (c->type == DB_INT)
        *(int64_t *)to = null ? -1 : sqlite3_column_int64 (row, i);
    else if (c->type == DB_REAL)
        *(double *)to = null ? NAN : sqlite3_column_double (row, i);
    else if (c->type == DB_BOOL)
        *(bool *)to = sqlite3_column_int64 (row, i) != 0;
    else if (c->type == DB_WORD)
        *(unsigned int *)to = column_word (t, c->name, text);
    else if (text) {
        *(char **)to = copy = pool_strdup (db_pool (l), text);
        if (strcmp (text_clean (copy), text) != 0) {
            say_damaged (l, "a text is not text");
            db_fail (l);
        }
    }
}

void db_read (struct ledger *l, const struct db_table *t,
              struct ledger_rows *rows, const char *sql,
              const struct db_value *v, size_t n)
{
    sqlite3_stmt *row = l->failed ? NULL : prepared (l, sql);
    int columns = row ? sqlite3_column_count (row) : 0;
    const struct db_column *of[COLUMNS_MAX] = { NULL };

    for (int i = 0; i < columns && i < COLUMNS_MAX; i++)
        of[i] = column_named (l, t, sqlite3_column_name (row, i));
    for (row = db_first (l, sql, v, n); row; row = db_next (l, row)) {
        char *to;

        rows->v = pool_grow (db_pool (l), rows->v, rows->n, t->size);
        to = (char *)rows->v + rows->n++ * t->size;
        for (int i = 0; i < columns; i++)
            set_member (l, t, of[i], to + of[i]->at, row, i);
    }
}

struct pool *db_pool (struct ledger *l)
{
    return l->read = l->read ? l->read : pool_create ();
}

void ledger_forget (struct ledger *l)
{
    pool_destroy (l->read);
    l->read = NULL;
}

static struct db_value value_of (const struct db_table *t,
                                 const struct db_column *c, const void *from)
{
    return c->type == DB_INT    ? (struct db_value)INT (*(const int64_t *)from)
           : c->type == DB_REAL ? (struct db_value)REAL (*(const double *)from)
           : c->type == DB_BOOL ? (struct db_value)INT (*(const bool *)from)
           : c->type == DB_WORD
               ? (struct db_value)NAME (column_words (t, c->name)->name (
                   *(const unsigned int *)from))
               : (struct db_value)TEXT (*(const char *const *)from);
}

void db_put (struct ledger *l, const struct db_table *t, const void *row,
             const char *sql, const struct db_value *v, size_t n)
{
    sqlite3_stmt *stmt = l->failed ? NULL : prepared (l, sql);
    int count = stmt ? sqlite3_bind_parameter_count (stmt) : 0;

    for (int i = (int)n + 1; i <= count && !l->failed; i++) {
        const char *name = sqlite3_bind_parameter_name (stmt, i);
        const struct db_column *c = column_named (l, t, name ? name + 1 : "");
        struct db_value value;

        if (!c)
            continue;
        value = value_of (t, c, (const char *)row + c->at);
        if (bind_value (l, stmt, i, &value) != SQLITE_OK)
            db_error (l);
    }
    db_run (l, NULL, sql, v, n);
}

/*
 * JSON
 */

static json_t *column_json (struct ledger *l, sqlite3_stmt *row, int i)
{
    json_t *text;

    switch (sqlite3_column_type (row, i)) {
    case SQLITE_INTEGER:
        return json_integer (sqlite3_column_int64 (row, i));
    case SQLITE_FLOAT:
        return json_real (sqlite3_column_double (row, i));
    case SQLITE_TEXT:
        if ((text = json_string (db_text (row, i))))
            return text;
        say_damaged (l, "a text is not text");
        db_fail (l);
        return json_null ();
    default:
        return json_null ();
    }
}

static json_t *sql_row_json (struct ledger *l, sqlite3_stmt *row)
{
    json_t *object = xcheck (json_object ());

    for (int i = 0; i < sqlite3_column_count (row); i++)
        json_put (object, sqlite3_column_name (row, i),
                  column_json (l, row, i));
    return object;
}

json_t *db_rows_json (struct ledger *l, enum db_shape shape, const char *sql,
                      const struct db_value *v, size_t n)
{
    json_t *rows = xcheck (shape == DB_OBJECT ? json_object () : json_array ());

    for (sqlite3_stmt *row = db_first (l, sql, v, n); row;
         row = db_next (l, row))
        if (shape == DB_OBJECT)
            json_put (rows, db_text (row, 0), column_json (l, row, 1));
        else
            json_add (rows, shape == DB_VALUES ? column_json (l, row, 0)
                                               : sql_row_json (l, row));
    return rows;
}

/*
 * Transactions
 */

void db_begin (struct ledger *l, struct error *err)
{
    db_start (l, err);
    db_exec (l, "BEGIN IMMEDIATE");
}

void db_begin_read (struct ledger *l, struct error *err)
{
    db_start (l, err);
    db_exec (l, "BEGIN");
}

void db_rollback (struct ledger *l)
{
    /* some errors have rolled back already */
    if (!sqlite3_get_autocommit (l->db))
        sqlite3_exec (l->db, "ROLLBACK", NULL, NULL, NULL);
}

int64_t db_end (struct ledger *l, int64_t value)
{
    db_exec (l, "COMMIT");
    if (l->failed)
        db_rollback (l);
    return db_result (l, value);
}

/*
 * Open
 */

static int64_t find_version (struct ledger *l)
{
    int64_t version = 0, id = 0, tables = 0;

    db_run (l, &version, "PRAGMA user_version", NONE);
    db_run (l, &id, "PRAGMA application_id", NONE);
    db_run (l, &tables, "SELECT count(*) FROM sqlite_master", NONE);
    if (id == APPLICATION_ID)
        return version;
    if (id == HALF_ID)
        db_refuse (l, EINVAL, "is half of what was to be salvaged: remove it, "
                              "and begin again");
    else if (id != 0 || tables != 0)
        db_refuse (l, EINVAL, "is not a ledger, but another database");
    return 0;
}

static void set_pragma (struct ledger *l, const char *name, int value)
{
    char sql[80];

    snprintf (sql, sizeof (sql), "PRAGMA %s = %d", name, value);
    db_exec (l, sql);
}

void db_mark (struct ledger *l, bool half)
{
    set_pragma (l, "application_id", half ? HALF_ID : APPLICATION_ID);
}

/* Check the version. Create the tables in an empty file, or bring those of the version
 * before up to date, as one transaction.
 */
static void check_version (struct ledger *l, enum ledger_mode mode)
{
    int64_t version = find_version (l);

    if (l->failed || version == LEDGER_VERSION)
        return;
    if (version == VERSION_BEFORE && mode == LEDGER_READ)
        db_refuse (l, EINVAL, "is of version %jd: the audit service brings it "
                              "up to date when it starts (systemctl restart "
                              "pmm-audit)", (intmax_t)version);
    else if (version != 0 && version != VERSION_BEFORE)
        db_refuse (l, EINVAL, "is of version %jd, and this program has "
                              "version %d: move the file away, then the next "
                              "audit begins a new one",
                   (intmax_t)version, LEDGER_VERSION);
    else if (mode == LEDGER_READ)
        db_refuse (l, EINVAL, "is empty: an audit has to begin first");
    if (l->failed)
        return;
    db_begin (l, l->err);
    version = find_version (l); /* another process may have done it */
    if (version == 0) {
        db_exec (l, schema);
        db_mark (l, false);
    }
    if (version == VERSION_BEFORE)
        db_exec (l, from_before);
    if (version == 0 || version == VERSION_BEFORE)
        set_pragma (l, "user_version", LEDGER_VERSION);
    db_end (l, 0);
}

/* What SQLite may open beside the ledger, and is not a regular file: it would
 * wait for a pipe for ever. NULL: nothing.
 */
static const char *find_special_file (const char *path)
{
    static const char *const suffix[] = { "-journal", "-wal", "-shm" };
    const char *odd = NULL;

    for (size_t i = 0; i < sizeof (suffix) / sizeof (suffix[0]) && !odd; i++) {
        char *name = xasprintf ("%s%s", path, suffix[i]);
        struct stat st;

        if (lstat (name, &st) == 0 && !S_ISREG (st.st_mode))
            odd = suffix[i];
        free (name);
    }
    return odd;
}

/* Root does not trust SlurmUser's directory if it is to write there, and users may
 * not enter it.
 */
static void refuse_ledger_directory (struct ledger *l, enum ledger_mode mode,
                                     const char *dir, const char *why)
{
    int errnum = errno;
    struct stat st;

    if ((geteuid () == 0 ? mode != LEDGER_READ : errnum == EACCES)
        && stat (dir, &st) == 0 && st.st_uid != geteuid ())
        db_refuse (l, errnum, "%s: %s", why, INSTEAD (USER (st.st_uid)));
    else
        db_refuse (l, errnum, "%s", why);
}

/* Check the directory and, if it exists, the file. Return whether it exists. */
static bool check_place (struct ledger *l, enum ledger_mode mode)
{
    const char *slash = strrchr (l->path, '/');
    char dir[PATH_MAX] = ".";
    const char *odd;
    struct error why;
    struct stat st;
    bool exists;
    int fd = -1;

    if (slash && (size_t)snprintf (dir, sizeof (dir), "%.*s",
                                   (int)(slash - l->path) + 1, l->path)
                     >= sizeof (dir)) {
        db_refuse (l, ENAMETOOLONG, "%s", strerror (ENAMETOOLONG));
        return false;
    }
    exists = lstat (l->path, &st) == 0;
    if (!exists && (errno != ENOENT || mode != LEDGER_CREATE))
        refuse_ledger_directory (l, mode, dir, strerror (errno));
    else if ((fd = file_open_trusted_dir (
                  dir, exists ? st.st_uid : geteuid (), &why)) < 0)
        refuse_ledger_directory (l, mode, dir, why.text);
    else if (exists && !S_ISREG (st.st_mode))
        db_refuse (l, EINVAL, "is not a regular file");
    else if (exists && (odd = find_special_file (l->path)))
        db_refuse (l, EINVAL, "its %s is not a regular file", odd);
    else if (exists && (st.st_mode & 022))
        db_refuse (l, EPERM, "others may write it");
    else if (exists && mode != LEDGER_READ && st.st_uid != geteuid ())
        db_refuse (l, EPERM, "belongs to user %s: %s", USER (st.st_uid),
                   INSTEAD (USER (st.st_uid)));
    if (fd >= 0)
        close (fd);
    return exists;
}

/* Create an empty file, so that it has its mode before it has content. */
static void create_ledger_file (struct ledger *l)
{
    int fd = open (l->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

    if (fd < 0 && errno != EEXIST) {
        error_errno (l->err, "cannot write %s", l->path);
        db_fail (l);
    }
    else if (fd < 0)
        check_place (l, LEDGER_WRITE);
    else
        close (fd);
}

void ledger_work (struct ledger *l, const char *what, int64_t done,
                  int64_t total)
{
    l->counted = true;
    terminal_work (what, (uint64_t)done, (uint64_t)total);
}

static int show_work (void *arg)
{
    if (!((struct ledger *)arg)->counted)
        terminal_work ("working on the ledger", 0, 0);
    return 0;
}

static void prepare_ledger_db (struct ledger *l, enum ledger_mode mode)
{
    int on = 1;

    sqlite3_extended_result_codes (l->db, 0);
    sqlite3_busy_timeout (l->db, LEDGER_WAIT_MS);
    sqlite3_progress_handler (l->db, STEPS, show_work, l);
    db_exec (l, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;"
                "PRAGMA foreign_keys = ON");
    if (mode != LEDGER_READ && sqlite3_db_readonly (l->db, "main")
        && !l->failed) {
        error_world (l->err, "%s: cannot be written: it is read-only", l->path);
        db_fail (l);
    }
    /* the version first, so as not to change a file that is not ours */
    check_version (l, mode);
    /* who creates it may be the service, which should stay small */
    if (mode != LEDGER_CREATE)
        set_pragma (l, "cache_size", -CACHE_KIB);
    if (mode == LEDGER_READ || l->failed)
        return;
    sqlite3_file_control (l->db, "main", SQLITE_FCNTL_PERSIST_WAL, &on);
    db_exec (l, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
    set_pragma (l, "journal_size_limit", WAL_KEEP_BYTES);
}

struct ledger *ledger_open (const char *path, enum ledger_mode mode,
                            struct error *err)
{
    int flags = mode == LEDGER_READ ? SQLITE_OPEN_READONLY
                                    : SQLITE_OPEN_READWRITE;
    struct ledger *l = xcalloc (1, sizeof (*l));

    l->path = xstrdup (path);
    db_start (l, err);
    if (!check_place (l, mode) && !l->failed)
        create_ledger_file (l);
    if (!l->failed
        && sqlite3_open_v2 (path, &l->db,
                            flags | SQLITE_OPEN_NOFOLLOW
                                | SQLITE_OPEN_NOMUTEX,
                            NULL)
               != SQLITE_OK) {
        xcheck (l->db);
        db_error (l);
    }
    if (!l->failed)
        prepare_ledger_db (l, mode);
    if (!l->failed)
        return l;
    errno = l->errnum;
    ledger_close (l);
    return NULL;
}

void ledger_close (struct ledger *l)
{
    int saved_errno = errno;

    if (!l)
        return;
    for (size_t i = 0; i < l->nstmts; i++)
        sqlite3_finalize (l->stmt[i].stmt);
    free (l->stmt);
    ledger_forget (l);
    sqlite3_close (l->db);
    free (l->path);
    free (l);
    errno = saved_errno;
}

const char *ledger_path (const struct ledger *l)
{
    return l->path;
}

int ledger_check (struct ledger *l, struct error *err)
{
    sqlite3_stmt *row;

    db_start (l, err);
    ledger_work (l, "checking its pages", 0, 0);
    row = db_first (l, "PRAGMA quick_check (1)", NONE);
    if (row && strcmp (db_text (row, 0), "ok") != 0) {
        error_world (err, "%s is damaged: %s", l->path, db_text (row, 0));
        db_fail (l);
    }
    sqlite3_reset (row);
    if (db_run (l, NULL, "PRAGMA foreign_key_check", NONE)) {
        error_world (err, "%s is damaged: a row refers to one that is not "
                          "there", l->path);
        db_fail (l);
    }
    return (int)db_result (l, 0);
}
