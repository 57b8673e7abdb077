/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database: its file, its schema, its statements. Inside of
 * ledger*.c, and of their test.
 */
#ifndef PROLOG_LEDGER_DB_H
#define PROLOG_LEDGER_DB_H

#include <jansson.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "util/error.h"

enum db_stmt {
    DB_BEGIN,
    DB_BEGIN_READ,
    DB_COMMIT,
    DB_ROLLBACK,
    DB_QUICK_CHECK,
    DB_REFERENCE_CHECK,
    DB_ADD_NAME,
    DB_FIND_NAME,
    DB_ADD_EPOCH,
    DB_FIND_EPOCH,
    DB_BEGIN_AUDIT,
    DB_LED,
    DB_FIND_JOB,
    DB_FIND_NONCE,
    DB_END_AUDIT,
    DB_GIVE_UP,
    DB_SEEN,
    DB_ADD_MEMBER,
    DB_ANSWERED,
    DB_ADD_ROUTE,
    DB_FIND_ROUTE,
    DB_ADD_CROSSING,
    DB_ADD_RTT,
    DB_ADD_FINDING,
    DB_ADD_SUSPECT,
    DB_ADD_OPEN,
    DB_ADD_LIMIT,
    DB_ADD_COUNTER,
    DB_LAST_COUNTER,
    DB_ADD_SIGN,
    DB_ADD_FAULT,
    DB_ADD_ACTION,
    DB_FIND_ACTION,
    DB_DONE_ACTION,
    DB_MUTE,
    DB_UNMUTE,
    DB_REBASE,
    DB_ADD_COMMENT,
    DB_FIND_COMMENT,
    DB_DONE_COMMENT,
    DB_FAILED_COMMENT,
    DB_LAST_AUDIT,
    DB_OLDEST,
    DB_PRUNE_AUDIT,
    DB_IDLE_EPOCH,
    DB_PRUNE_ROUTES,
    DB_PRUNE_EPOCH,
    DB_PRUNE_COMMENTS,
    DB_AUDITS,
    DB_AUDIT,
    DB_NEXT_AUDIT,
    DB_MEMBERS,
    DB_FINDINGS,
    DB_SUSPECTS,
    DB_OPEN,
    DB_LIMITS,
    DB_RTTS,
    DB_CROSSINGS,
    DB_COUNTERS,
    DB_AUDIT_SIGNS,
    DB_SIGNS,
    DB_AUDIT_FAULTS,
    DB_FAULTS,
    DB_FAILED,
    DB_NODE_LAST,
    DB_FIRST,
    DB_AUDIT_ACTIONS,
    DB_ACTIONS,
    DB_MUTES,
    DB_REBASES,
    DB_COMMENTS_DUE,
    DB_COMMENTS,
    DB_BEGUN,
    DB_SINCE,
    DB_SILENT,
    DB_AGES,
    DB_NEWEST,
    DB_EXTENT,
    DB_FOUND,
    DB_FOUND_OF,
    DB_ALL_SUSPECTS,
    DB_SIGHTS,
    DB_RESULT,
    DB_TRIES,
    DB_SAID,
    DB_SAY,
    DB_UNSAY,
    DB_TREND_AUDITS,
    DB_TREND,
    DB_ROUTES,
    DB_MEASURED,
    DB_ADD_LOOPBACK,
    DB_ADD_NODE,
    DB_AUDIT_LOOPBACKS,
    DB_AUDIT_NODES,
    DB_STMTS,
};

extern const char *const db_sql[DB_STMTS];

struct ledger {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *stmt[DB_STMTS]; /* prepared when first used */
};

/* The schema's steps: step[v] leads from version v to v + 1. */
extern const char *const db_steps[];

/* Bring the database to version n by its steps, all in one transaction.
 * Return 0, or -1 with err and nothing changed.
 */
int db_migrate (struct ledger *l, const char *const *step, int n,
                struct error *err);

/* Mark a ledger as one that is being made out of another, or as whole again.
 * Return 0, or -1 with err.
 */
int db_mark (struct ledger *l, bool half, struct error *err);

/* Whether what has just failed was to write: a full disk, a quota, a limit. */
bool db_is_short (struct ledger *l);

/* What SQLite has just said, as our sentence. Returns -1; errno ENOSPC where
 * db_is_short, EUCLEAN where it is damaged.
 */
int db_error (struct ledger *l, struct error *err);

/* A transaction. db_end commits where rc is at least 0, and rolls back where
 * it is not, or the commit fails; returns rc, or -1 with err.
 */
int db_begin (struct ledger *l, enum db_stmt how, struct error *err);
int64_t db_end (struct ledger *l, int64_t rc, struct error *err);

/* Values of a statement's parameters, in their order. */
struct db_value {
    enum { DB_INT, DB_REAL, DB_TEXT } type;
    int64_t i;
    double d; /* NAN: NULL */
    const char *s; /* NULL: NULL */
    size_t max; /* of s, in bytes; it is copied, cleaned and cut */
};
#define INT(x) { DB_INT, .i = (x) }
#define REAL(x) { DB_REAL, .d = (x) }
#define TEXT(x) { DB_TEXT, .s = (x), .max = LEDGER_TEXT_MAX }
#define NAME(x) { DB_TEXT, .s = (x), .max = LEDGER_NAME_MAX }

/* The statement, its parameters bound, before its first row; NULL with err.
 * db_reset is due in both cases.
 */
sqlite3_stmt *db_bind (struct ledger *l, enum db_stmt id,
                       const struct db_value *v, size_t n,
                       struct error *err);
void db_reset (struct ledger *l, enum db_stmt id);

/* Step: 1 where there is a row, 0 at the end, -1 with err. */
int db_step (struct ledger *l, enum db_stmt id, struct error *err);

/* Run a statement to its first row. Returns 1 with the row's first column in
 * *value (if not NULL), 0 where there is none, -1 with err.
 */
int db_run (struct ledger *l, enum db_stmt id, int64_t *value,
            const struct db_value *v, size_t n, struct error *err);

/* Hand each row of a statement to fn, until it returns 1, or less than 0 with
 * err. Return 0, or -1 with err.
 */
int db_rows (struct ledger *l, enum db_stmt id, const struct db_value *v,
             size_t n,
             int (*fn) (void *arg, sqlite3_stmt *row, struct error *err),
             void *arg, struct error *err);

/* Add each row of a statement to `of`, which is taken, by a function that
 * returns less than 0 without memory. The caller's; NULL with err.
 */
json_t *db_collect (struct ledger *l, enum db_stmt id,
                    const struct db_value *v, size_t n, json_t *of,
                    int (*add) (json_t *of, sqlite3_stmt *row),
                    struct error *err);

/* All rows of a statement as JSON objects, by the names of its columns; or of
 * two columns, as {text: integer}. Likewise.
 */
json_t *db_list (struct ledger *l, enum db_stmt id, const struct db_value *v,
                 size_t n, struct error *err);
json_t *db_map (struct ledger *l, enum db_stmt id, const struct db_value *v,
                size_t n, struct error *err);

/* The one row of a statement about an audit; NULL with err, errno ENOENT where
 * there is none.
 */
json_t *db_audit (struct ledger *l, enum db_stmt id, int64_t audit,
                  struct error *err);

/* The findings of an audit, as ledger_audit has them. NULL with err. */
json_t *db_findings (struct ledger *l, int64_t id, struct error *err);

/* The id of a name, which is added where it is not there. 0, or -1 with err. */
int db_name (struct ledger *l, const char *name, int64_t *id,
             struct error *err);

#define VALUES(...)                                                           \
    (const struct db_value[]){ __VA_ARGS__ },                                 \
        sizeof ((const struct db_value[]){ __VA_ARGS__ })                     \
            / sizeof (struct db_value)

/* Fail with a sentence behind the ledger's name, and errno. Return -1. */
int db_refuse (struct ledger *l, int errnum, struct error *err,
               const char *fmt, ...) __attribute__ ((format (printf, 4, 5)));

#endif /* PROLOG_LEDGER_DB_H */
