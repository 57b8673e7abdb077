/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database: file, schema, statements. Internal to ledger*.c and
 * their test.
 *
 * A call of the ledger is begun by db_start or db_begin, and ended by
 * db_result, db_json or db_end. The first error in between is kept, with its
 * sentence and errno; database requests after it do nothing. So only loops, and
 * code that depends on a result, must check for failure.
 */
#ifndef PROLOG_LEDGER_DB_H
#define PROLOG_LEDGER_DB_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "util/error.h"

enum db_stmt {
#define SQL(name, text) DB_##name,
#include "prolog/ledger/ledger_sql.h"
#undef SQL
    DB_STMTS,
};

extern const char *const db_sql[DB_STMTS];

struct ledger {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *stmt[DB_STMTS]; /* prepared when first used */
    struct error *err;            /* of the call at work, */
    bool failed;                  /* ... and whether it has failed, */
    int errnum;                   /* ... with this errno */
};

/* Begin a call. Its result: the value, or -1 with errno where it has failed;
 * the JSON, which is taken, or NULL likewise.
 */
void db_start (struct ledger *l, struct error *err);
int64_t db_result (const struct ledger *l, int64_t value);
json_t *db_json (const struct ledger *l, json_t *json);

/* Likewise, as one transaction, by DB_BEGIN or DB_BEGIN_READ. */
void db_begin (struct ledger *l, enum db_stmt how, struct error *err);
int64_t db_end (struct ledger *l, int64_t value);
/* Of a call that only reads: whatever it was, it has changed nothing. */
void db_rollback (struct ledger *l);

/* It has failed, and its error says why. */
void db_fail (struct ledger *l);

/* Fail with a sentence after the ledger's name, and errno. */
void db_refuse (struct ledger *l, int errnum, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Fail with what SQLite has just said, as our sentence; errno ENOSPC where
 * db_is_short, EUCLEAN where the file is damaged.
 */
void db_error (struct ledger *l);

/* Whether what has just failed was to write: a full disk, a quota, a limit. */
bool db_is_short (struct ledger *l);

/* Run SQL that takes no parameters and has no rows that count. */
void db_exec (struct ledger *l, const char *sql);

/* Mark a ledger as one that is being made out of another, or as whole again. */
void db_mark (struct ledger *l, bool half);

/* Values of a statement's parameters, in their order; those it has not are
 * passed over.
 */
struct db_value {
    enum { DB_INT, DB_REAL, DB_TEXT } type;
    int64_t i;
    double d; /* NAN: NULL */
    const char *s; /* NULL: NULL */
    size_t max; /* of s, in bytes; it is copied, cleaned and cut */
};
#define INT(x) { DB_INT, .i = (int64_t)(x) }
#define REAL(x) { DB_REAL, .d = (x) }
#define TEXT(x) { DB_TEXT, .s = (x), .max = LEDGER_TEXT_MAX }
#define NAME(x) { DB_TEXT, .s = (x), .max = LEDGER_NAME_MAX }
#define QUANTILES_OF(q)                                                       \
    REAL ((q)[RTT_MIN]), REAL ((q)[RTT_P05]), REAL ((q)[RTT_P25]),            \
        REAL ((q)[RTT_MEDIAN]), REAL ((q)[RTT_P75]), REAL ((q)[RTT_P95]),     \
        REAL ((q)[RTT_MAX])
#define VALUES(...)                                                           \
    (const struct db_value[]){ __VA_ARGS__ },                                 \
        sizeof ((const struct db_value[]){ __VA_ARGS__ })                     \
            / sizeof (struct db_value)
#define NONE NULL, 0

/* A statement's rows, one after the other; NULL after the last one, and if the
 * call has failed. To stop before the end, call db_reset.
 *
 *     for (row = db_first (...); row; row = db_next (l, id))
 */
sqlite3_stmt *db_first (struct ledger *l, enum db_stmt id,
                        const struct db_value *v, size_t n);
sqlite3_stmt *db_next (struct ledger *l, enum db_stmt id);
void db_reset (struct ledger *l, enum db_stmt id);

/* The text of a column; NULL. */
const char *db_text (sqlite3_stmt *row, int column);

/* Run a statement to its first row. Whether there is one: the row's first
 * column is in *value then (if not NULL).
 */
bool db_run (struct ledger *l, enum db_stmt id, int64_t *value,
             const struct db_value *v, size_t n);

/* Run one that inserts a row: its id. */
int64_t db_add (struct ledger *l, enum db_stmt id, const struct db_value *v,
                size_t n);

/* The id of a name, which is added where it is not there. */
int64_t db_name (struct ledger *l, const char *name);

/* All rows of a statement as JSON objects, by the names of its columns; or of
 * two columns, as {text: integer}. The caller's.
 */
json_t *db_list (struct ledger *l, enum db_stmt id, const struct db_value *v,
                 size_t n);
json_t *db_map (struct ledger *l, enum db_stmt id, const struct db_value *v,
                size_t n);

#endif /* PROLOG_LEDGER_DB_H */
