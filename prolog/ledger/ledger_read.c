/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read from the ledger. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "prolog/ledger/ledger_db.h"
#include "util/json.h"
#include "util/sort.h"

enum { FAULT_MAX_AGE_S = 7 * 86400 };

/*
 * Lists
 */

static json_t *list (struct ledger *l, enum db_stmt id,
                     const struct db_value *v, size_t n, struct error *err)
{
    db_start (l, err);
    return db_json (l, db_list (l, id, v, n));
}

static json_t *map (struct ledger *l, enum db_stmt id,
                    const struct db_value *v, size_t n, struct error *err)
{
    db_start (l, err);
    return db_json (l, db_map (l, id, v, n));
}

json_t *ledger_audits (struct ledger *l, size_t n, struct error *err)
{
    return list (l, DB_AUDITS, VALUES (INT (n)), err);
}

json_t *ledger_mutes (struct ledger *l, struct error *err)
{
    return list (l, DB_MUTES, NONE, err);
}

json_t *ledger_rebases (struct ledger *l, struct error *err)
{
    return list (l, DB_REBASES, NONE, err);
}

json_t *ledger_actions (struct ledger *l, size_t n, struct error *err)
{
    return list (l, DB_ACTIONS, VALUES (INT (n)), err);
}

json_t *ledger_signs (struct ledger *l, int64_t since, struct error *err)
{
    return list (l, DB_SIGNS, VALUES (INT (since)), err);
}

json_t *ledger_said (struct ledger *l, struct error *err)
{
    return list (l, DB_SAID, NONE, err);
}

json_t *ledger_comments (struct ledger *l, size_t n, struct error *err)
{
    return list (l, DB_COMMENTS, VALUES (INT (n)), err);
}

/* A comment is also due if its time is more than LEDGER_RETRY_MAX_S ahead: then
 * the clock was ahead when it was put off.
 */
json_t *ledger_comments_due (struct ledger *l, int64_t now, size_t n,
                             struct error *err)
{
    return list (l, DB_COMMENTS_DUE,
                 VALUES (INT (now), INT (now + LEDGER_RETRY_MAX_S), INT (n)),
                 err);
}

json_t *ledger_begun (struct ledger *l, int64_t from, int64_t to,
                      struct error *err)
{
    return list (l, DB_BEGUN, VALUES (INT (from), INT (to)), err);
}

json_t *ledger_failed (struct ledger *l, int64_t since, struct error *err)
{
    return list (l, DB_FAILED, VALUES (INT (since)), err);
}

json_t *ledger_newest (struct ledger *l, struct error *err)
{
    return list (l, DB_NEWEST, NONE, err);
}

json_t *ledger_silent (struct ledger *l, int64_t since, struct error *err)
{
    return map (l, DB_SILENT, VALUES (INT (since)), err);
}

json_t *ledger_ages (struct ledger *l, struct error *err)
{
    return map (l, DB_AGES, NONE, err);
}

/*
 * Numbers
 */

/* The number that a statement gives; 0 if it has no row; -1 with err. */
static int64_t number (struct ledger *l, enum db_stmt id,
                       const struct db_value *v, size_t n, struct error *err)
{
    int64_t value = 0;

    db_start (l, err);
    db_run (l, id, &value, v, n);
    return db_result (l, value);
}

int64_t ledger_next (struct ledger *l, int64_t id, struct error *err)
{
    return number (l, DB_NEXT_AUDIT, VALUES (INT (id)), err);
}

int64_t ledger_audited (struct ledger *l, uint64_t job, int64_t submitted,
                        struct error *err)
{
    return number (l, DB_FIND_JOB, VALUES (INT (job), INT (submitted)), err);
}

int64_t ledger_since (struct ledger *l, int64_t time, struct error *err)
{
    return number (l, DB_SINCE, VALUES (INT (time)), err);
}

int ledger_first (struct ledger *l, int64_t *begun, struct error *err)
{
    db_start (l, err);
    return (int)db_result (l, db_run (l, DB_FIRST, begun, NONE));
}

int ledger_measured (struct ledger *l, const char *node, int64_t *begun,
                     struct error *err)
{
    db_start (l, err);
    return (int)db_result (l, db_run (l, DB_NODE_LAST, begun,
                                      VALUES (NAME (node))));
}

/*
 * Faults
 */

/* Add a fault of a node; rows come oldest first. */
static void add_fault (json_t *faulty, sqlite3_stmt *row)
{
    const char *node = db_text (row, 0);
    int64_t begun = sqlite3_column_int64 (row, 2);
    json_t *old = json_object_get (faulty, node);
    json_t *since = json_object_get (old, "since");
    json_int_t faults = 1 + json_integer_value (json_object_get (old,
                                                                 "faults"));
    int64_t out_s = LEDGER_OUT_MIN_S;

    for (json_int_t i = 1; i < faults && out_s < LEDGER_OUT_MAX_S; i++)
        out_s *= 2;
    if (out_s > LEDGER_OUT_MAX_S)
        out_s = LEDGER_OUT_MAX_S;
    json_put (faulty, node,
              json_pack ("{s:s, s:I, s:I, s:I}", "cause", db_text (row, 1),
                         "faults", faults, "since",
                         since ? json_integer_value (since)
                               : (json_int_t)begun,
                         "until", (json_int_t)(begun + out_s)));
}

json_t *ledger_faulty (struct ledger *l, int64_t now, struct error *err)
{
    json_t *faulty = xcheck (json_object ());

    db_start (l, err);
    for (sqlite3_stmt *row = db_first (l, DB_FAULTS,
                                       VALUES (INT (now - FAULT_MAX_AGE_S)));
         row; row = db_next (l, DB_FAULTS))
        add_fault (faulty, row);
    return db_json (l, faulty);
}

/* An `until` too far in the future is ignored: the clock was set back. */
const json_t *ledger_is_out (const json_t *faulty, const char *node,
                             int64_t now)
{
    const json_t *v = json_object_get (faulty, node);
    int64_t until = json_integer_value (json_object_get (v, "until"));

    return until > now && until <= now + LEDGER_OUT_MAX_S ? v : NULL;
}

/*
 * One audit
 */

/* The one row of a statement about an audit. */
static json_t *one_row (struct ledger *l, enum db_stmt id, int64_t audit)
{
    json_t *rows = db_list (l, id, VALUES (INT (audit)));
    json_t *row = json_incref (json_array_get (rows, 0));

    if (!row)
        db_refuse (l, ENOENT, "there is no audit %jd", (intmax_t)audit);
    json_decref (rows);
    return row ? row : xcheck (json_object ());
}

/* Rows of an audit. Under `name`, each has the rows of another statement for
 * its column `number`, which is removed.
 */
static json_t *nested (struct ledger *l, enum db_stmt id, int64_t audit,
                       const char *number, const char *name,
                       json_t *(*rows) (struct ledger *, enum db_stmt,
                                        const struct db_value *, size_t),
                       enum db_stmt of)
{
    json_t *all = db_list (l, id, VALUES (INT (audit)));
    json_t *row;
    size_t i;

    json_array_foreach (all, i, row) {
        json_int_t n = json_integer_value (json_object_get (row, number));

        json_object_del (row, number);
        json_put (row, name, rows (l, of, VALUES (INT (audit), INT (n))));
    }
    return all;
}

static json_t *findings_json (struct ledger *l, int64_t audit)
{
    return nested (l, DB_FINDINGS, audit, "seq", "suspects", db_list,
                   DB_SUSPECTS);
}

static json_t *limits_json (struct ledger *l, int64_t audit)
{
    json_t *texts = xcheck (json_array ());
    json_t *rows = db_list (l, DB_LIMITS, VALUES (INT (audit)));
    json_t *row;
    size_t i;

    json_array_foreach (rows, i, row)
        json_add (texts, json_incref (json_object_get (row, "text")));
    json_decref (rows);
    return texts;
}

json_t *ledger_audit (struct ledger *l, int64_t id, struct error *err)
{
    static const struct {
        const char *key;
        enum db_stmt stmt;
    } lists[] = {
        { "hosts", DB_MEMBERS },        { "counters", DB_COUNTERS },
        { "signs", DB_AUDIT_SIGNS },    { "faults", DB_AUDIT_FAULTS },
        { "not_judged", DB_OPEN },      { "actions", DB_AUDIT_ACTIONS },
        { "loopbacks", DB_AUDIT_LOOPBACKS },
        { "nodes", DB_AUDIT_NODES },
    };
    json_t *audit;

    db_begin (l, DB_BEGIN_READ, err);
    audit = one_row (l, DB_AUDIT, id);
    for (size_t i = 0; i < sizeof (lists) / sizeof (lists[0]); i++)
        json_put (audit, lists[i].key,
                  db_list (l, lists[i].stmt, VALUES (INT (id))));
    json_put (audit, "findings", findings_json (l, id));
    json_put (audit, "limits", limits_json (l, id));
    json_put (audit, "probes",
              nested (l, DB_RTTS, id, "route", "row", db_map, DB_CROSSINGS));
    db_end (l, 0);
    return db_json (l, audit);
}

json_t *ledger_result (struct ledger *l, int64_t id, struct error *err)
{
    json_t *audit;

    db_start (l, err);
    audit = one_row (l, DB_RESULT, id);
    json_put (audit, "findings", findings_json (l, id));
    json_put (audit, "not_judged", db_list (l, DB_OPEN, VALUES (INT (id))));
    return db_json (l, audit);
}

json_t *ledger_extent (struct ledger *l, int64_t id, struct error *err)
{
    db_start (l, err);
    return db_json (l, one_row (l, DB_EXTENT, id));
}

/*
 * Rows as structs
 */

void *ledger_alloc (struct ledger_pool *pool, size_t n, size_t size)
{
    pool->block = xgrow (pool->block, pool->n, sizeof (*pool->block));
    return pool->block[pool->n++] = xcalloc (n, size);
}

void ledger_pool_clear (struct ledger_pool *pool)
{
    for (size_t i = 0; i < pool->n; i++)
        free (pool->block[i]);
    free (pool->block);
    *pool = (struct ledger_pool){ 0 };
}

int ledger_hold (struct ledger *l, struct error *err)
{
    db_begin (l, DB_BEGIN_READ, err);
    return (int)db_result (l, 0);
}

void ledger_release (struct ledger *l)
{
    int saved_errno = errno;

    db_rollback (l);
    errno = saved_errno;
}

static const char *copy_text (struct ledger_pool *pool, const char *s)
{
    return s ? strcpy (ledger_alloc (pool, strlen (s) + 1, 1), s) : NULL;
}

/* The index of a word; nwords if it is not known. */
static int find_word (const struct ledger_column *c, const char *word)
{
    int i = 0;

    while (i < c->nwords && (!word || strcmp (c->word (i), word) != 0))
        i++;
    return i;
}

static void set_field (void *field, const struct ledger_column *c,
                       sqlite3_stmt *row, int i, struct ledger_pool *pool)
{
    const char *text;

    switch (c->type) {
    case LEDGER_INT:
        *(int64_t *)field = sqlite3_column_int64 (row, i);
        break;
    case LEDGER_SIZE:
        *(size_t *)field = (size_t)sqlite3_column_int64 (row, i);
        break;
    case LEDGER_BOOL:
        *(bool *)field = sqlite3_column_int64 (row, i) != 0;
        break;
    case LEDGER_UNSET:
        *(bool *)field = sqlite3_column_type (row, i) == SQLITE_NULL;
        break;
    case LEDGER_REAL:
        *(double *)field = sqlite3_column_type (row, i) == SQLITE_NULL
                               ? NAN
                               : sqlite3_column_double (row, i);
        break;
    case LEDGER_TEXT:
        *(const char **)field = copy_text (pool, db_text (row, i));
        break;
    case LEDGER_NAME:
        text = db_text (row, i);
        *(const char **)field = copy_text (pool, text && *text ? text : NULL);
        break;
    case LEDGER_WORD:
        *(int *)field = find_word (c, db_text (row, i));
        break;
    }
}

/* The caller's column of that name; NULL: not wanted. */
static const struct ledger_column *find_column (const struct ledger_rows *rows,
                                                const char *name)
{
    for (const struct ledger_column *c = rows->column; c->name; c++)
        if (!strcmp (c->name, name))
            return c;
    return NULL;
}

void *ledger_read (struct ledger *l, const struct ledger_rows *rows,
                   const struct ledger_key *key, struct ledger_pool *pool,
                   size_t *n, struct error *err)
{
    static const enum db_stmt stmts[] = {
        [LEDGER_ACTIONS] = DB_ACTIONS,
        [LEDGER_MUTES] = DB_MUTES,
        [LEDGER_REBASES] = DB_REBASES,
        [LEDGER_SIGNS] = DB_SIGNS,
        [LEDGER_TRIES] = DB_TRIES,
        [LEDGER_FOUND] = DB_FOUND,
        [LEDGER_FOUND_OF_LINK] = DB_FOUND_OF,
        [LEDGER_SUSPECTS] = DB_ALL_SUSPECTS,
        [LEDGER_LINK_AUDITS] = DB_LINK_AUDITS,
        [LEDGER_RESULT] = DB_RESULT,
        [LEDGER_FINDINGS] = DB_FINDINGS,
        [LEDGER_AUDIT_SUSPECTS] = DB_AUDIT_SUSPECTS,
    };
    enum db_stmt id = stmts[rows->kind];
    char *all = xcalloc (1, rows->size);

    *n = 0;
    db_start (l, err);
    for (sqlite3_stmt *row
         = db_first (l, id,
                     VALUES (INT (key->from), NAME (key->link),
                             NAME (key->host),
                             NAME (finding_kind_name (FINDING_NODE))));
         row; row = db_next (l, id)) {
        char *to;

        all = xgrow (all, *n, rows->size);
        to = all + (*n)++ * rows->size;
        memset (to, 0, rows->size);
        for (int i = 0; i < sqlite3_column_count (row); i++) {
            const struct ledger_column *c
                = find_column (rows, sqlite3_column_name (row, i));

            if (c)
                set_field (to + c->offset, c, row, i, pool);
        }
    }
    pool->block = xgrow (pool->block, pool->n, sizeof (*pool->block));
    pool->block[pool->n++] = all;
    return db_result (l, 0) < 0 ? NULL : all;
}

/*
 * The trend of a link
 */

struct trend_change {
    int64_t route, audit;
    double ns;  /* RTT per crossing, later its change */
    int64_t begun;
    bool counts; /* for the route's lower quartile */
    int level;   /* of the worst finding that suspects the link; 0: none */
};

static struct trend_change *read_changes (struct ledger *l, int64_t epoch,
                                          const char *link, int64_t from,
                                          size_t *n)
{
    struct trend_change *v = NULL;

    *n = 0;
    for (sqlite3_stmt *row = db_first (l, DB_TREND,
                                       VALUES (INT (epoch), NAME (link),
                                               INT (from)));
         row; row = db_next (l, DB_TREND)) {
        v = xgrow (v, *n, sizeof (*v));
        v[(*n)++] = (struct trend_change){
            .route = sqlite3_column_int64 (row, 0),
            .audit = sqlite3_column_int64 (row, 1),
            .ns = sqlite3_column_double (row, 2),
            .begun = sqlite3_column_int64 (row, 3),
            .counts = sqlite3_column_int (row, 4) != 0,
            .level = sqlite3_column_int (row, 5),
        };
    }
    return v;
}

/* Subtract each route's lower quartile. Routes without a value that counts are
 * dropped. work holds n numbers. Return the number of remaining values.
 */
static size_t center_routes (struct trend_change *v, size_t n, double *work)
{
    size_t kept = 0;

    for (size_t i = 0, end; i < n; i = end) {
        size_t counting = 0;
        double usual;

        for (end = i; end < n && v[end].route == v[i].route; end++)
            if (v[end].counts)
                work[counting++] = v[end].ns;
        if (counting == 0)
            continue;
        stats_sort (work, counting);
        usual = stats_quantile (work, counting, 0.25);
        for (size_t k = i; k < end; k++) {
            v[kept] = v[k];
            v[kept++].ns -= usual;
        }
    }
    return kept;
}

static int by_audit (const void *va, const void *vb)
{
    const struct trend_change *a = va;
    const struct trend_change *b = vb;

    return a->audit != b->audit ? util_compare (a->audit, b->audit)
                                : util_compare (a->route, b->route);
}

static json_t *point_json (const struct trend_change *c, size_t n, double *work)
{
    static const enum verdict_status levels[]
        = { VERDICT_OK, VERDICT_WARN, VERDICT_UNKNOWN, VERDICT_FAIL };
    json_int_t routes = 0;

    for (size_t i = 0; i < n; i++) {
        work[i] = c[i].ns;
        routes += i == 0 || c[i].route != c[i - 1].route;
    }
    stats_sort (work, n);
    return json_pack ("{s:I, s:I, s:I, s:f, s:s}", "audit",
                      (json_int_t)c->audit, "begun", (json_int_t)c->begun,
                      "routes", routes, "change_ns",
                      stats_quantile (work, n, 0.5), "level",
                      verdict_status_name (levels[c->level]));
}

json_t *ledger_trend (struct ledger *l, const char *fabric, const char *link,
                      size_t audits, struct error *err)
{
    json_t *points = xcheck (json_array ());
    int64_t epoch = 0;
    int64_t from = 0;
    struct trend_change *v;
    double *work;
    size_t n;

    db_begin (l, DB_BEGIN_READ, err);
    db_run (l, DB_FIND_EPOCH, &epoch, VALUES (NAME (fabric)));
    db_run (l, DB_TREND_AUDITS, &from,
            VALUES (INT (epoch), NAME (link), INT (audits)));
    v = read_changes (l, epoch, link, from, &n);
    db_end (l, 0);
    work = xarray (n, sizeof (*work));
    n = center_routes (v, n, work);
    if (n > 0)
        qsort (v, n, sizeof (*v), by_audit);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && v[end].audit == v[i].audit;)
            end++;
        json_add (points, point_json (&v[i], end - i, work));
    }
    free (work);
    free (v);
    return db_json (l, points);
}
