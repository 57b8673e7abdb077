/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's database: its file and schema, how statements are run. Internal
 * to ledger*.c and their test.
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
#include <stddef.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "util/error.h"

struct ledger {
    sqlite3 *db;
    char *path;
    struct db_stmt {      /* prepared when first used; */
        const char *sql;  /* ... known by the place of its text */
        sqlite3_stmt *stmt;
    } *stmt;
    size_t nstmts;
    struct pool *read;    /* all that was read; NULL: nothing since ledger_forget */
    bool counted;         /* ledger_work tells what is done */
    struct error *err;    /* of the current call, */
    bool failed;          /* ... whether it has failed, */
    int errnum;           /* ... with this errno */
};

/* Begin a call. Its result: the value, or -1 with errno if the call has failed;
 * or the JSON, of which it takes ownership, or NULL with errno.
 */
void db_start (struct ledger *l, struct error *err);
int64_t db_result (const struct ledger *l, int64_t value);
json_t *db_json (const struct ledger *l, json_t *json);

/* Begin and end a call that is one transaction. */
void db_begin (struct ledger *l, struct error *err);
void db_begin_read (struct ledger *l, struct error *err);
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
enum db_type {
    DB_INT,
    DB_REAL,
    DB_TEXT,
    DB_ID,
    DB_BLOB,
    DB_BOOL,
    DB_WORD,
};
struct db_value {
    enum db_type type;
    int64_t i;
    double d; /* NAN: NULL */
    const char *s; /* NULL: NULL */
    size_t max; /* of s, in bytes; it is copied; a text is cleaned and cut */
};
/* the id of a name, which is added if it is missing */
#define ID(x) { DB_ID, .s = (x) }
#define INT(x) { DB_INT, .i = (int64_t)(x) }
#define REAL(x) { DB_REAL, .d = (x) }
#define TEXT(x) { DB_TEXT, .s = (x), .max = LEDGER_TEXT_MAX }
#define BLOB(x, n) { DB_BLOB, .s = (const char *)(x), .max = (n) }
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

/* The rows of a statement, one after the other; NULL after the last one, and if
 * the call has failed. To stop before the end, call sqlite3_reset. The text of a
 * statement must be a constant.
 *
 *     for (row = db_first (...); row; row = db_next (l, row))
 */
sqlite3_stmt *db_first (struct ledger *l, const char *sql,
                        const struct db_value *v, size_t n);
sqlite3_stmt *db_next (struct ledger *l, sqlite3_stmt *row);

/* The text of a column; may be NULL. */
const char *db_text (sqlite3_stmt *row, int column);

/* Run a statement to its first row. Return whether there is one; if so, its
 * first column is in *value (if not NULL).
 */
bool db_run (struct ledger *l, int64_t *value, const char *sql,
             const struct db_value *v, size_t n);

/* Run a statement with these values, of which there is at least one. */
#define db_do(l, sql, ...) db_run (l, NULL, sql, VALUES (__VA_ARGS__))

/* A call that runs one statement; return its result. */
int db_call (struct ledger *l, struct error *err, const char *sql,
             const struct db_value *v, size_t n);

/* Run a statement that inserts a row; return the row's id. */
int64_t db_add (struct ledger *l, const char *sql, const struct db_value *v,
                size_t n);

/* Whether a name is there; if so, its id. */
bool db_name (struct ledger *l, const char *name, int64_t *id);

/* The id of a fabric's epoch; 0: there is none. */
int64_t db_epoch (struct ledger *l, const char *fabric);

/* Note that this is the newest audit that measured its links. */
void db_seen (struct ledger *l, int64_t audit);

/* How rows are read into structs, and entered from them: a column of a statement,
 * or a parameter :name of it, is the member of that name. The type is the member's.
 * A number that is NULL is -1 or NAN; a word that is NULL or not known is the
 * number of words.
 */
struct db_column {
    const char *name;
    enum db_type type;
    size_t at;
};
struct db_table {
    size_t size; /* of a row */
    size_t n;
    struct db_column column[16];
};
#define DB_COLUMN(column, row, member)                                        \
    {                                                                         \
        .name = column, .at = offsetof (row, member),                         \
        .type = _Generic (((row *)NULL)->member, int64_t: DB_INT,             \
                          double: DB_REAL, bool: DB_BOOL,                     \
                          const char *: DB_TEXT, unsigned int: DB_WORD)       \
    }
#define DB_MEMBER(row, member) DB_COLUMN (#member, row, member)
#define DB_1(r, m) DB_MEMBER (r, m)
#define DB_2(r, m, ...) DB_MEMBER (r, m), DB_1 (r, __VA_ARGS__)
#define DB_3(r, m, ...) DB_MEMBER (r, m), DB_2 (r, __VA_ARGS__)
#define DB_4(r, m, ...) DB_MEMBER (r, m), DB_3 (r, __VA_ARGS__)
#define DB_5(r, m, ...) DB_MEMBER (r, m), DB_4 (r, __VA_ARGS__)
#define DB_6(r, m, ...) DB_MEMBER (r, m), DB_5 (r, __VA_ARGS__)
#define DB_7(r, m, ...) DB_MEMBER (r, m), DB_6 (r, __VA_ARGS__)
#define DB_8(r, m, ...) DB_MEMBER (r, m), DB_7 (r, __VA_ARGS__)
#define DB_9(r, m, ...) DB_MEMBER (r, m), DB_8 (r, __VA_ARGS__)
#define DB_10(r, m, ...) DB_MEMBER (r, m), DB_9 (r, __VA_ARGS__)
#define DB_11(r, m, ...) DB_MEMBER (r, m), DB_10 (r, __VA_ARGS__)
#define DB_12(r, m, n, ...) \
    DB_MEMBER (r, m), DB_MEMBER (r, n), DB_10 (r, __VA_ARGS__)
#define DB_14(r, m, n, ...) \
    DB_MEMBER (r, m), DB_MEMBER (r, n), DB_12 (r, __VA_ARGS__)
#define DB_16(r, m, n, o, p, ...) \
    DB_2 (r, m, n), DB_2 (r, o, p), DB_12 (r, __VA_ARGS__)
#define DB_TABLE(row, n_, ...)               \
    {                                        \
        .size = sizeof (row), .n = n_,       \
        .column                              \
            = { DB_##n_ (row, __VA_ARGS__) } \
    }

/* Add the rows of a statement to those that were read, in db_pool. A column that the
 * table lacks is a failure. A member without a column is zero.
 */
struct pool *db_pool (struct ledger *l);
void db_read (struct ledger *l, const struct db_table *t,
              struct ledger_rows *rows, const char *sql,
              const struct db_value *v, size_t n);

/* Run a statement with the members of a row as its parameters :name. Those of v
 * are ?1 and so on, and come first in it.
 */
void db_put (struct ledger *l, const struct db_table *t, const void *row,
             const char *sql, const struct db_value *v, size_t n);

/* A finding, but for its lists, and what was measured, in words. */
struct ledger_finding {
    struct finding x;
    const char *why;
};

/* A fact of a finding, if some of it are kept as they are. */
struct ledger_fact {
    int64_t finding;
    const char *kind; /* fact_kept_name */
    double n0, n1, n2, n3, n4, n5;
    const char *a, *b, *c;
};
_Static_assert (FACT_NUMBERS == 6 && FACT_NAMES == 3, "all of a fact is kept");

extern const struct db_table db_actions, db_mutes, db_notices, db_findings,
    db_facts, db_signs;

/* The rows of a statement as JSON: objects by the names of its columns; the values
 * of its first column; or an object {first column: second}.
 */
enum db_shape { DB_OBJECTS, DB_VALUES, DB_OBJECT };
json_t *db_rows_json (struct ledger *l, enum db_shape shape, const char *sql,
                      const struct db_value *v, size_t n);

/* A flow's time in flow.times: little-endian; DB_FLOW_LOST if all was lost. */
enum { DB_FLOW_BYTES = 2, DB_FLOW_LOST = 0xffff, DB_FLOW_MAX = 0xfffe };

/*
 * Parts of statements
 */

#define DB_NAMED(text) "(SELECT id FROM name WHERE text = " text ")"
#define DB_QUANTILES "r.min, r.p05, r.p25, r.median, r.p75, r.p95, r.max"
#define DB_HOST_OF(name)                                                      \
    "substr (" name ", 1, instr (" name " || ':', ':') - 1)"
/* the RTTs of audit a count, except over suspected links and those not judged.
 * If others' traffic fills host links, slow links may go unnoticed */
#define DB_SOUND(a)                                                           \
    "(" a ".limited = 0 AND NOT EXISTS (SELECT 1 FROM finding u"              \
    " WHERE u.audit = " a ".id AND u.basis = 'traffic'))"
/* an RTT over such a link; findings of this basis suspect no link, and those of
 * rates no RTT */
#define DB_FLAWED(q, basis_of)                                                \
    "(EXISTS (SELECT 1 FROM suspect s JOIN finding f ON f.audit = s.audit"    \
    " AND f.seq = s.finding AND f.basis NOT IN (" basis_of ", 'rate')"        \
    " JOIN crossing x ON x.route = " q ".route AND x.link = s.link"           \
    " WHERE s.audit = " q ".audit) OR EXISTS (SELECT 1 FROM open o"           \
    " JOIN crossing x ON x.route = " q ".route AND x.link = o.link"           \
    " WHERE o.audit = " q ".audit))"
#define DB_LOOPBACKS                                                          \
    "SELECT n.text AS end, " DB_QUANTILES                                     \
    " FROM loopback r JOIN name n ON n.id = r.end WHERE r.audit = ?"          \
    " ORDER BY n.text"

#endif /* PROLOG_LEDGER_DB_H */
