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

static const enum db_stmt kinds[] = {
    [LEDGER_AUDITS] = DB_AUDITS,
    [LEDGER_ACTIONS] = DB_ACTIONS,
    [LEDGER_MUTES] = DB_MUTES,
    [LEDGER_REBASES] = DB_REBASES,
    [LEDGER_SIGNS] = DB_SIGNS,
    [LEDGER_SAID] = DB_SAID,
    [LEDGER_COMMENTS] = DB_COMMENTS,
    [LEDGER_COMMENTS_DUE] = DB_COMMENTS_DUE,
    [LEDGER_BEGUN] = DB_BEGUN,
    [LEDGER_FAILED] = DB_FAILED,
    [LEDGER_SILENT] = DB_SILENT,
    [LEDGER_AGES] = DB_AGES,
    [LEDGER_NEWEST] = DB_NEWEST,
    [LEDGER_TRIES] = DB_TRIES,
    [LEDGER_FOUND] = DB_FOUND,
    [LEDGER_FOUND_OF_LINK] = DB_FOUND_OF,
    [LEDGER_SUSPECTS] = DB_ALL_SUSPECTS,
    [LEDGER_LINK_AUDITS] = DB_LINK_AUDITS,
    [LEDGER_RESULT] = DB_RESULT,
    [LEDGER_FINDINGS] = DB_FINDINGS,
    [LEDGER_AUDIT_SUSPECTS] = DB_AUDIT_SUSPECTS,
};

json_t *ledger_list (struct ledger *l, enum ledger_kind kind, int64_t from,
                     int64_t to, struct error *err)
{
    bool is_map = kind == LEDGER_SILENT || kind == LEDGER_AGES;

    db_start (l, err);
    return db_json (l, (is_map ? db_map : db_list) (
                           l, kinds[kind], VALUES (INT (from), INT (to))));
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

/* The lists of an audit; each row of one with `of` has there, under `name`, the
 * rows of another statement for its column `number`, which is removed.
 */
static const struct audit_list {
    const char *key;
    enum db_stmt stmt;
    const char *number, *name;
    enum db_stmt of;
} audit_lists[] = {
    { .key = "hosts", .stmt = DB_MEMBERS },
    { .key = "counters", .stmt = DB_COUNTERS },
    { .key = "signs", .stmt = DB_AUDIT_SIGNS },
    { .key = "faults", .stmt = DB_AUDIT_FAULTS },
    { .key = "not_judged", .stmt = DB_OPEN },
    { .key = "actions", .stmt = DB_AUDIT_ACTIONS },
    { .key = "loopbacks", .stmt = DB_AUDIT_LOOPBACKS },
    { .key = "nodes", .stmt = DB_AUDIT_NODES },
    { "findings", DB_FINDINGS, "seq", "suspects", DB_SUSPECTS },
    { .key = "limits", .stmt = DB_LIMITS },
    { "probes", DB_RTTS, "route", "row", DB_CROSSINGS },
};

/* Add the lists to an audit; all, or those of its result. */
static void add_lists (struct ledger *l, json_t *audit, int64_t id, bool all)
{
    for (size_t k = 0; k < sizeof (audit_lists) / sizeof (audit_lists[0]);
         k++) {
        const struct audit_list *list = &audit_lists[k];
        json_t *rows, *row;
        size_t i;

        if (!all && list->stmt != DB_FINDINGS && list->stmt != DB_OPEN)
            continue;
        rows = db_list (l, list->stmt, VALUES (INT (id)));
        json_array_foreach (rows, i, row) {
            json_int_t n = json_int (row, list->number ? list->number : "",
                                     0);

            if (list->stmt == DB_LIMITS)
                json_array_set (rows, i, json_object_get (row, "text"));
            if (!list->number)
                continue;
            json_object_del (row, list->number);
            json_put (row, list->name,
                      (list->of == DB_CROSSINGS ? db_map : db_list) (
                          l, list->of, VALUES (INT (id), INT (n))));
        }
        json_put (audit, list->key, rows);
    }
}

json_t *ledger_audit (struct ledger *l, int64_t id, struct error *err)
{
    json_t *audit;

    db_begin (l, DB_BEGIN_READ, err);
    audit = one_row (l, DB_AUDIT, id);
    add_lists (l, audit, id, true);
    db_end (l, 0);
    return db_json (l, audit);
}

json_t *ledger_result (struct ledger *l, int64_t id, struct error *err)
{
    json_t *audit;

    db_start (l, err);
    audit = one_row (l, DB_RESULT, id);
    add_lists (l, audit, id, false);
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

static void set_field (void *field, const struct ledger_column *c,
                       sqlite3_stmt *row, int i, struct ledger_pool *pool)
{
    bool is_null = sqlite3_column_type (row, i) == SQLITE_NULL;
    int64_t value = sqlite3_column_int64 (row, i);
    const char *text;

    switch (c->type) {
    case LEDGER_INT:
        *(int64_t *)field = value;
        break;
    case LEDGER_SIZE:
        *(size_t *)field = (size_t)value;
        break;
    case LEDGER_BOOL:
        *(bool *)field = value != 0;
        break;
    case LEDGER_UNSET:
        *(bool *)field = is_null;
        break;
    case LEDGER_REAL:
        *(double *)field = is_null ? NAN : sqlite3_column_double (row, i);
        break;
    case LEDGER_TEXT:
    case LEDGER_NAME:
        text = db_text (row, i);
        if (text && (*text || c->type == LEDGER_TEXT))
            *(const char **)field
                = strcpy (ledger_alloc (pool, strlen (text) + 1, 1), text);
        break;
    case LEDGER_WORD:
        text = db_text (row, i);
        *(int *)field = 0;
        while (*(int *)field < c->nwords
               && (!text
                   || strcmp (c->word (*(unsigned int *)field), text)))
            ++*(int *)field;
        break;
    }
}

void *ledger_read (struct ledger *l, const struct ledger_rows *rows,
                   const struct ledger_key *key, struct ledger_pool *pool,
                   size_t *n, struct error *err)
{
    enum db_stmt id = kinds[rows->kind];
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
        for (int i = 0; i < sqlite3_column_count (row); i++)
            for (const struct ledger_column *c = rows->column; c->name; c++)
                if (!strcmp (c->name, sqlite3_column_name (row, i)))
                    set_field (to + c->offset, c, row, i, pool);
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

/* Subtract each route's lower quartile. Routes without a value that counts are
 * dropped. work holds n numbers. Return the number of remaining values.
 */
static size_t center_routes (struct trend_change *v, size_t n, double *work)
{
    size_t kept = 0;

    for (size_t i = 0, end; i < n; i = end) {
        size_t counting = 0;

        for (end = i; end < n && v[end].route == v[i].route; end++)
            if (v[end].counts)
                work[counting++] = v[end].ns;
        stats_sort (work, counting);
        for (size_t k = i; k < end && counting > 0; k++) {
            v[kept] = v[k];
            v[kept++].ns -= stats_quantile (work, counting, 0.25);
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
    struct trend_change *v = NULL;
    double *work;
    size_t n = 0;

    db_begin (l, DB_BEGIN_READ, err);
    db_run (l, DB_FIND_EPOCH, &epoch, VALUES (NAME (fabric)));
    db_run (l, DB_TREND_AUDITS, &from,
            VALUES (INT (epoch), NAME (link), INT (audits)));
    for (sqlite3_stmt *row = db_first (l, DB_TREND,
                                       VALUES (INT (epoch), NAME (link),
                                               INT (from)));
         row; row = db_next (l, DB_TREND)) {
        v = xgrow (v, n, sizeof (*v));
        v[n++] = (struct trend_change){
            .route = sqlite3_column_int64 (row, 0),
            .audit = sqlite3_column_int64 (row, 1),
            .ns = sqlite3_column_double (row, 2),
            .begun = sqlite3_column_int64 (row, 3),
            .counts = sqlite3_column_int (row, 4) != 0,
            .level = sqlite3_column_int (row, 5),
        };
    }
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
