/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was measured, out of the ledger, as the solver and the judge take it.
 *
 * Notes. ledger_combine reads the RTTs audit by audit, as they lie, and keeps
 * one observation of each route: time goes with the RTTs, memory and all work
 * from there on with the routes that differ. Which routes were repaired is
 * looked up once, with the routes.
 */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/samples/combine.h"
#include "prolog/ledger/ledger_db.h"
#include "util/text.h"

/*
 * Routes
 */

struct route {
    int64_t id;
    int64_t after; /* the last rebase of any of its links */
    char *name[2];
    uint32_t end[2]; /* of the set, once these are found */
};

struct routes {
    struct route *v; /* by id */
    size_t n;
};

static int add_route (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct routes *r = arg;
    struct route *new;

    if ((r->n & (r->n - 1)) == 0) {
        size_t size = r->n ? 2 * r->n : 1;

        if (!(new = realloc (r->v, size * sizeof (*new))))
            return error_nomem (err);
        r->v = new;
    }
    new = &r->v[r->n++];
    *new = (struct route){
        .id = sqlite3_column_int64 (stmt, 0),
        .after = sqlite3_column_int64 (stmt, 3),
    };
    for (int i = 0; i < 2; i++)
        if (!(new->name[i]
              = strdup ((const char *)sqlite3_column_text (stmt, 1 + i))))
            return error_nomem (err);
    return 0;
}

static int read_routes (struct ledger *l, struct routes *r,
                        const char *fabric, int64_t *epoch,
                        struct error *err)
{
    int rc = db_run (l, DB_FIND_EPOCH, epoch, VALUES (NAME (fabric)), err);

    if (rc >= 0)
        rc = db_rows (l, DB_ROUTES, VALUES (INT (*epoch)), add_route, r, err);
    if (rc == 0 && r->n == 0)
        return db_refuse (l, ENOENT, err, "holds no samples of this fabric");
    return rc;
}

static void clear_routes (struct routes *r)
{
    for (size_t i = 0; i < r->n; i++)
        for (int k = 0; k < 2; k++)
            free (r->v[i].name[k]);
    free (r->v);
}

/* The set of all endpoints of the routes, each once. NULL with err. */
static struct pathset *route_ends (const struct routes *r,
                                   pathset_resolve_f resolve, void *arg,
                                   struct error *err)
{
    const char **name = calloc (2 * r->n + 1, sizeof (*name));
    struct pathset *ps;

    if (!name) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < 2 * r->n; i++)
        name[i] = r->v[i / 2].name[i % 2];
    ps = resolve (name, text_unique (name, 2 * r->n), arg, err);
    free (name);
    return ps;
}

static int find_ends (struct ledger *l, struct routes *r,
                      const struct pathset *ps, struct error *err)
{
    for (size_t i = 0; i < 2 * r->n; i++) {
        const char *name = r->v[i / 2].name[i % 2];
        int end = pathset_find (ps, name);

        if (end < 0)
            return db_refuse (l, EINVAL, err, "endpoint %.63s is not in the "
                                              "fabric", name);
        r->v[i / 2].end[i % 2] = (uint32_t)end;
    }
    return 0;
}

static int compare_ids (const void *key, const void *route)
{
    int64_t a = *(const int64_t *)key;
    int64_t b = ((const struct route *)route)->id;

    return (a > b) - (a < b);
}

/* The route whose number is in a column; NULL where a link of it was mended
 * after the audit.
 */
static const struct route *find_route (const struct routes *r,
                                       sqlite3_stmt *stmt, int column,
                                       int64_t audit)
{
    int64_t id = sqlite3_column_int64 (stmt, column);
    const struct route *route = bsearch (&id, r->v, r->n, sizeof (*r->v),
                                         compare_ids);

    return route && audit > route->after ? route : NULL;
}

/* A row of a statement whose columns are first, sent, lost and the quantiles
 * from `column` on.
 */
static struct sample sample_of (sqlite3_stmt *stmt, int column,
                                const struct route *r)
{
    struct sample s = {
        .a = r->end[0],
        .b = r->end[1],
        .initiator = r->end[sqlite3_column_int (stmt, column) ? 0 : 1],
        .sent = (uint32_t)sqlite3_column_int64 (stmt, column + 1),
        .lost = (uint32_t)sqlite3_column_int64 (stmt, column + 2),
    };

    for (int q = 0; q < RTT_COUNT; q++)
        s.rtt_ns[q] = sqlite3_column_double (stmt, column + 3 + q);
    return s;
}

/*
 * A baseline
 */

/* What is read for it, newest first. */
struct newest {
    struct ledger *ledger;
    const struct routes *routes;
    const struct pathset *ps;
    struct samples *samples;
    struct seen {
        int64_t audit; /* that crossed it last */
        size_t times;  /* audits that did */
    } *link;           /* [links] */
    int64_t *at;       /* [ends] the audit that measured it last */
    size_t enough;     /* audits of a link */
    size_t wanting;    /* links that have less */
    int64_t audit;
    size_t first;      /* of its samples */
    uint32_t round;    /* of the set, that it began with */
    uint32_t next;     /* behind it */
    bool counts;       /* some of its links are wanting */
};

/* A row of DB_AUDIT_LOOPBACKS: it goes with what its end measured. */
static int add_loopback (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct newest *w = arg;
    int end = pathset_find (w->ps,
                            (const char *)sqlite3_column_text (stmt, 0));
    struct loopback loopback = { .end = (uint32_t)end, .round = w->round };

    if (end < 0 || w->at[end] != w->audit)
        return 0;
    for (int q = 0; q < RTT_COUNT; q++)
        loopback.rtt_ns[q] = sqlite3_column_double (stmt, 1 + q);
    return samples_add_loopback (w->samples, &loopback) < 0 ? error_nomem (err)
                                                            : 0;
}

/* The rows of an audit are all there. */
static int end_audit (struct newest *w, struct error *err)
{
    struct samples *s = w->samples;

    if (!w->counts) {
        s->nsamples = w->first;
        return 0;
    }
    if (w->round > 0 && samples_add_run (s, w->round) < 0)
        return error_nomem (err);
    if (db_rows (w->ledger, DB_AUDIT_LOOPBACKS, VALUES (INT (w->audit)),
                 add_loopback, w, err) < 0)
        return -1;
    w->first = s->nsamples;
    w->round = w->next;
    w->counts = false;
    return 0;
}

/* Count what a route of the audit crosses. */
static int cross (struct newest *w, const struct route *route,
                  struct error *err)
{
    struct row row;

    if (pathset_row (w->ps, route->end[0], route->end[1], &row, err) < 0)
        return -1;
    for (size_t i = 0; i < row.n; i++) {
        struct seen *link = &w->link[row.link[i]];

        if (link->audit == w->audit)
            continue;
        link->audit = w->audit;
        w->wanting -= ++link->times == w->enough;
        w->counts |= link->times <= w->enough;
    }
    return 0;
}

/* A row of DB_MEASURED. */
static int add_newest (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct newest *w = arg;
    int64_t audit = sqlite3_column_int64 (stmt, 0);
    const struct route *route = find_route (w->routes, stmt, 2, audit);
    struct sample sample;

    if (audit != w->audit && end_audit (w, err) < 0)
        return -1;
    if (audit != w->audit && w->wanting == 0)
        return 1;
    w->audit = audit;
    if (!route)
        return 0;
    sample = sample_of (stmt, 4, route);
    sample.round = w->round + (uint32_t)sqlite3_column_int64 (stmt, 3);
    if (sample.round >= w->next)
        w->next = sample.round + 1;
    w->at[sample.a] = w->at[sample.b] = audit;
    if (cross (w, route, err) < 0)
        return -1;
    return samples_add (w->samples, &sample) < 0 ? error_nomem (err) : 0;
}

/* The samples: of each link those of the newest audits that crossed it. */
static int read_newest (struct newest *w, int64_t epoch, struct error *err)
{
    const struct routes *r = w->routes;
    size_t nlinks = pathset_network (w->ps)->nlinks;
    struct row row;

    w->link = calloc (nlinks + 1, sizeof (*w->link));
    w->at = calloc (pathset_size (w->ps) + 1, sizeof (*w->at));
    if (!w->link || !w->at)
        return error_nomem (err);
    for (size_t i = 0; i < r->n; i++) {
        if (pathset_row (w->ps, r->v[i].end[0], r->v[i].end[1], &row, err) < 0)
            return -1;
        for (size_t k = 0; k < row.n; k++) {
            w->wanting += w->link[row.link[k]].audit == 0;
            w->link[row.link[k]].audit = -1;
        }
    }
    if (db_rows (w->ledger, DB_MEASURED,
                 VALUES (INT (epoch), INT (INT64_MIN), INT (INT64_MAX),
                         NAME (finding_kind_name (FINDING_NODE))),
                 add_newest, w, err) < 0)
        return -1;
    return end_audit (w, err);
}

static int read_baseline (struct ledger *l, struct samples *s,
                          const char *fabric, size_t n,
                          pathset_resolve_f resolve, void *arg,
                          struct pathset **ps, struct error *err)
{
    struct routes r = { 0 };
    struct newest w = {
        .ledger = l, .routes = &r, .samples = s, .enough = n,
    };
    int64_t epoch = 0;
    int rc = read_routes (l, &r, fabric, &epoch, err);

    if (rc == 0 && (!(*ps = route_ends (&r, resolve, arg, err))
                    || find_ends (l, &r, *ps, err) < 0))
        rc = -1;
    w.ps = *ps;
    if (rc == 0)
        rc = read_newest (&w, epoch, err);
    clear_routes (&r);
    free (w.link);
    free (w.at);
    s->complete = true;
    return rc;
}

struct samples *ledger_baseline (struct ledger *l, const char *fabric,
                                 size_t n, pathset_resolve_f resolve,
                                 void *arg, struct pathset **ps,
                                 struct error *err)
{
    struct samples *s = samples_create ();

    if (!s) {
        error_nomem (err);
        return NULL;
    }
    if (db_begin (l, DB_BEGIN_READ, err) == 0
        && db_end (l, read_baseline (l, s, fabric, n, resolve, arg, ps, err),
                   err) == 0)
        return s;
    samples_destroy (s);
    return NULL;
}

/*
 * All together
 */

#define FORGOTTEN 10 /* half-lives: what is older counts for too little */

struct gather {
    const struct ledger_ageing *ageing;
    struct routes routes;
    struct combine *combine;
    const struct pathset *ps;
    struct samples *samples; /* of one audit */
    int64_t audit, begun;    /* that these are of */
};

/* Audits of the future are as old as none: clocks step back. */
static double share_of (const struct ledger_ageing *ageing, int64_t begun)
{
    double age = fmax ((double)ageing->now - (double)begun, 0);

    return ageing->half_life_s > 0 ? exp2 (-age / ageing->half_life_s) : 1;
}

/* Take in what is gathered of one audit. */
static int take (struct gather *g, struct error *err)
{
    struct observations o;
    int rc = observe (&o, g->ps, g->samples, g->ageing->quantile,
                      &(struct accuracy){ 0 }, err);

    if (rc == 0 && combine_add (g->combine, &o,
                                share_of (g->ageing, g->begun)) < 0)
        rc = error_nomem (err);
    observations_clear (&o);
    g->samples->nsamples = 0;
    return rc;
}

/* A row of DB_MEASURED. */
static int gather (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct gather *g = arg;
    int64_t audit = sqlite3_column_int64 (stmt, 0);
    const struct route *r = find_route (&g->routes, stmt, 2, audit);
    struct sample sample;

    if (audit != g->audit && take (g, err) < 0)
        return -1;
    g->audit = audit;
    g->begun = sqlite3_column_int64 (stmt, 1);
    if (!r)
        return 0;
    sample = sample_of (stmt, 4, r);
    sample.round = (uint32_t)sqlite3_column_int64 (stmt, 3);
    return samples_add (g->samples, &sample) < 0 ? error_nomem (err) : 0;
}

static int gather_all (struct ledger *l, struct gather *g, int64_t epoch,
                       struct error *err)
{
    const struct ledger_ageing *ageing = g->ageing;
    int64_t from = INT64_MIN;

    if (ageing->half_life_s > 0)
        from = ageing->now - (int64_t)(FORGOTTEN * ageing->half_life_s);
    if (db_rows (l, DB_MEASURED,
                 VALUES (INT (epoch), INT (from), INT (ageing->until),
                         TEXT (ageing->sound ? "" : NULL)), gather, g, err)
        < 0)
        return -1;
    return take (g, err);
}

static int combine (struct ledger *l, struct gather *g,
                    struct observations *o, struct error *err)
{
    const char *fabric = pathset_network (g->ps)->hash;
    int64_t epoch = 0;

    if (read_routes (l, &g->routes, fabric, &epoch, err) < 0
        || find_ends (l, &g->routes, g->ps, err) < 0
        || gather_all (l, g, epoch, err) < 0)
        return -1;
    return combine_finish (g->combine, g->ps, o, err);
}

int ledger_combine (struct ledger *l, const struct pathset *ps,
                    const struct ledger_ageing *ageing,
                    struct observations *o, struct error *err)
{
    struct gather g = {
        .ageing = ageing,
        .ps = ps,
        .combine = combine_create (),
        .samples = samples_create (),
    };
    int rc = -1;

    *o = (struct observations){ 0 };
    if (!g.combine || !g.samples)
        error_nomem (err);
    else if (db_begin (l, DB_BEGIN_READ, err) == 0)
        rc = (int)db_end (l, combine (l, &g, o, err), err);
    clear_routes (&g.routes);
    combine_destroy (g.combine);
    samples_destroy (g.samples);
    return rc;
}
