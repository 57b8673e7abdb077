/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ledger tells. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "prolog/ledger/ledger_db.h"

/* Put a list that is the caller's into an object. 0, or -1 with err. */
static int put (json_t *obj, const char *key, json_t *value,
                struct error *err)
{
    if (!value)
        return -1;
    if (json_object_set_new (obj, key, value) < 0)
        return error_nomem (err);
    return 0;
}

json_t *ledger_audits (struct ledger *l, size_t n, struct error *err)
{
    return db_list (l, DB_AUDITS, VALUES (INT ((int64_t)n)), err);
}

json_t *ledger_mutes (struct ledger *l, struct error *err)
{
    return db_list (l, DB_MUTES, NULL, 0, err);
}

json_t *ledger_rebases (struct ledger *l, struct error *err)
{
    return db_list (l, DB_REBASES, NULL, 0, err);
}

json_t *ledger_actions (struct ledger *l, size_t n, struct error *err)
{
    return db_list (l, DB_ACTIONS, VALUES (INT ((int64_t)n)), err);
}

json_t *ledger_signs (struct ledger *l, int64_t since, struct error *err)
{
    return db_list (l, DB_SIGNS, VALUES (INT (since)), err);
}

json_t *ledger_comments (struct ledger *l, size_t n, struct error *err)
{
    return db_list (l, DB_COMMENTS, VALUES (INT ((int64_t)n)), err);
}

int64_t ledger_next (struct ledger *l, int64_t id, struct error *err)
{
    int64_t next = 0;

    return db_run (l, DB_NEXT_AUDIT, &next, VALUES (INT (id)), err) < 0
               ? -1
               : next;
}

/*
 * One audit
 */

static json_t *limits_json (struct ledger *l, int64_t id, struct error *err)
{
    json_t *rows = db_list (l, DB_LIMITS, VALUES (INT (id)), err);

    for (size_t i = 0; rows && i < json_array_size (rows); i++)
        json_array_set (rows, i,
                        json_object_get (json_array_get (rows, i), "text"));
    return rows;
}

json_t *db_findings (struct ledger *l, int64_t id, struct error *err)
{
    json_t *rows = db_list (l, DB_FINDINGS, VALUES (INT (id)), err);

    for (size_t i = 0; rows && i < json_array_size (rows); i++) {
        json_t *f = json_array_get (rows, i);
        json_int_t seq = json_integer_value (json_object_get (f, "seq"));

        json_object_del (f, "seq");
        if (put (f, "suspects",
                 db_list (l, DB_SUSPECTS, VALUES (INT (id), INT (seq)), err),
                 err) < 0) {
            json_decref (rows);
            return NULL;
        }
    }
    return rows;
}

static json_t *probes_json (struct ledger *l, int64_t id, struct error *err)
{
    json_t *rows = db_list (l, DB_RTTS, VALUES (INT (id)), err);

    for (size_t i = 0; rows && i < json_array_size (rows); i++) {
        json_t *r = json_array_get (rows, i);
        json_int_t route = json_integer_value (json_object_get (r, "route"));

        json_object_del (r, "route");
        if (put (r, "row", db_map (l, DB_CROSSINGS, VALUES (INT (route)), err),
                 err) < 0) {
            json_decref (rows);
            return NULL;
        }
    }
    return rows;
}

static json_t *audit_json (struct ledger *l, int64_t id, struct error *err)
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
    json_t *audit = db_audit (l, DB_AUDIT, id, err);
    int rc = audit ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < sizeof (lists) / sizeof (lists[0]); i++)
        rc = put (audit, lists[i].key,
                  db_list (l, lists[i].stmt, VALUES (INT (id)), err), err);
    if (rc == 0 && put (audit, "findings", db_findings (l, id, err), err) == 0
        && put (audit, "limits", limits_json (l, id, err), err) == 0
        && put (audit, "probes", probes_json (l, id, err), err) == 0)
        return audit;
    json_decref (audit);
    return NULL;
}

json_t *ledger_audit (struct ledger *l, int64_t id, struct error *err)
{
    json_t *audit;

    if (db_begin (l, DB_BEGIN_READ, err) < 0)
        return NULL;
    audit = audit_json (l, id, err);
    if (db_end (l, audit ? 0 : -1, err) == 0)
        return audit;
    json_decref (audit);
    return NULL;
}

/*
 * The trend of a link
 */

struct change {
    int64_t route, audit;
    double ns;  /* one crossing's share of the RTT, then its change */
    int64_t begun;
    bool counts; /* for the route's own median */
    int level;   /* of the worst finding that suspects the link; 0: none */
};

struct changes {
    struct change *v;
    size_t n;
};

static int add_change (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct changes *c = arg;

    if ((c->n & (c->n - 1)) == 0) {
        size_t size = c->n ? 2 * c->n : 1;
        struct change *v = realloc (c->v, size * sizeof (*v));

        if (!v)
            return error_nomem (err);
        c->v = v;
    }
    c->v[c->n++] = (struct change){
        .route = sqlite3_column_int64 (stmt, 0),
        .audit = sqlite3_column_int64 (stmt, 1),
        .ns = sqlite3_column_double (stmt, 2),
        .begun = sqlite3_column_int64 (stmt, 3),
        .counts = sqlite3_column_int (stmt, 4) != 0,
        .level = sqlite3_column_int (stmt, 5),
    };
    return 0;
}

/* Take its lower quartile off each route, which are one behind the other;
 * those without any that counts are dropped. work holds n numbers.
 */
static void center_routes (struct changes *c, double *work)
{
    size_t kept = 0;

    for (size_t i = 0, end; i < c->n; i = end) {
        size_t n = 0;
        double usual;

        for (end = i; end < c->n && c->v[end].route == c->v[i].route; end++)
            if (c->v[end].counts)
                work[n++] = c->v[end].ns;
        if (n == 0)
            continue;
        stats_sort (work, n);
        usual = stats_quantile (work, n, 0.25);
        for (size_t k = i; k < end; k++) {
            c->v[kept] = c->v[k];
            c->v[kept++].ns -= usual;
        }
    }
    c->n = kept;
}

static int by_audit (const void *va, const void *vb)
{
    const struct change *a = va;
    const struct change *b = vb;

    if (a->audit != b->audit)
        return a->audit < b->audit ? -1 : 1;
    return (a->route > b->route) - (a->route < b->route);
}

static json_t *point_json (const struct change *c, size_t n, double *work)
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

static json_t *changes_json (struct changes *c, struct error *err)
{
    json_t *points = json_array ();
    double *work = calloc (c->n + 1, sizeof (*work));
    int rc = points && work ? 0 : -1;

    if (rc == 0 && c->n > 0) {
        center_routes (c, work);
        qsort (c->v, c->n, sizeof (*c->v), by_audit);
    }
    for (size_t i = 0, end; rc == 0 && i < c->n; i = end) {
        for (end = i + 1; end < c->n && c->v[end].audit == c->v[i].audit;)
            end++;
        rc = json_array_append_new (points,
                                    point_json (&c->v[i], end - i, work));
    }
    free (work);
    if (rc == 0)
        return points;
    json_decref (points);
    error_nomem (err);
    return NULL;
}

static json_t *trend (struct ledger *l, const char *fabric, const char *link,
                      size_t n, struct error *err)
{
    struct changes c = { 0 };
    int64_t epoch = 0;
    int64_t from = 0;
    json_t *points = NULL;

    if (db_run (l, DB_FIND_EPOCH, &epoch, VALUES (NAME (fabric)), err) >= 0
        && db_run (l, DB_TREND_AUDITS, &from,
                   VALUES (INT (epoch), NAME (link), INT ((int64_t)n)), err)
               >= 0
        && db_rows (l, DB_TREND,
                    VALUES (INT (epoch), NAME (link), INT (from)), add_change,
                    &c, err) == 0)
        points = changes_json (&c, err);
    free (c.v);
    return points;
}

json_t *ledger_trend (struct ledger *l, const char *fabric, const char *link,
                      size_t n, struct error *err)
{
    json_t *points;

    if (db_begin (l, DB_BEGIN_READ, err) < 0)
        return NULL;
    points = trend (l, fabric, link, n, err);
    if (db_end (l, points ? 0 : -1, err) == 0)
        return points;
    json_decref (points);
    return NULL;
}
