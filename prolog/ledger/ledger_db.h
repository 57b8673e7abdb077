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
    struct error *err;            /* of the current call, */
    bool failed;                  /* ... whether it has failed, */
    int errnum;                   /* ... with this errno */
};

/* Begin a call. Its result: the value, or -1 with errno if the call has failed;
 * or the JSON, of which it takes ownership, or NULL with errno.
 */
void db_start (struct ledger *l, struct error *err);
int64_t db_result (const struct ledger *l, int64_t value);
json_t *db_json (const struct ledger *l, json_t *json);

/* Begin and end a call that is one transaction: DB_BEGIN or DB_BEGIN_READ. */
void db_begin (struct ledger *l, enum db_stmt how, struct error *err);
int64_t db_end (struct ledger *l, int64_t value);
/* Roll back the transaction; ends one that only reads. */
void db_rollback (struct ledger *l);

/* The call has failed, with errno, and its err is set. */
void db_fail (struct ledger *l);

/* Fail with a sentence after the ledger's name, and errno. */
void db_refuse (struct ledger *l, int errnum, const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Fail with SQLite's last error as our sentence. errno is ENOSPC if
 * db_is_short, EUCLEAN if the file is damaged.
 */
void db_error (struct ledger *l);

/* Whether the last error was one of writing: a full disk, a quota, a limit. */
bool db_is_short (struct ledger *l);

/* Run SQL without parameters, and ignore its rows. */
void db_exec (struct ledger *l, const char *sql);

/* Mark a ledger as a partial copy of another, or as complete again. */
void db_mark (struct ledger *l, bool half);

/* Values of a statement's parameters, in their order; extra ones are ignored.
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

/* The text of a column; may be NULL. */
const char *db_text (sqlite3_stmt *row, int column);

/* Run a statement to its first row. Return whether there is one; if so, its
 * first column is in *value (if not NULL).
 */
bool db_run (struct ledger *l, enum db_stmt id, int64_t *value,
             const struct db_value *v, size_t n);

/* Run a statement that inserts a row; return the row's id. */
int64_t db_add (struct ledger *l, enum db_stmt id, const struct db_value *v,
                size_t n);

/* The id of a name, which is added if it is missing. */
int64_t db_name (struct ledger *l, const char *name);

/* All rows of a statement as JSON objects, by the names of its columns; or
 * those of a statement with two columns, as {text: integer}. The caller owns
 * the result.
 */
json_t *db_list (struct ledger *l, enum db_stmt id, const struct db_value *v,
                 size_t n);
json_t *db_map (struct ledger *l, enum db_stmt id, const struct db_value *v,
                size_t n);

#endif /* PROLOG_LEDGER_DB_H */
