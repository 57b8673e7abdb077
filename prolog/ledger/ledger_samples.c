/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read measurements from the ledger, for the solver and the judge.
 *
 * Notes. ledger_combine reads the RTTs audit by audit, as they are stored, and
 * keeps one observation per route. So time grows with the RTTs, memory and all
 * further work with the routes. The last rebase of each route is read once,
 * with the routes.
 */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/samples/combine.h"
#include "prolog/ledger/ledger_db.h"
#include "util/alloc.h"
#include "util/text.h"

/*
 * Routes
 */

struct stored_route {
    int64_t id;
    int64_t after; /* the last rebase of any of its links */
    char *name[2];
    uint32_t end[2]; /* in the set, once find_ends has run */
};

struct stored_routes {
    struct stored_route *v; /* by id */
    size_t n;
};

/* Read all routes of a fabric. Return the id of its epoch. */
static int64_t read_routes (struct ledger *l, struct stored_routes *r,
                            const char *fabric)
{
    int64_t epoch = 0;

    db_run (l, DB_FIND_EPOCH, &epoch, VALUES (NAME (fabric)));
    for (sqlite3_stmt *row = db_first (l, DB_ROUTES, VALUES (INT (epoch)));
         row; row = db_next (l, DB_ROUTES)) {
        r->v = xgrow (r->v, r->n, sizeof (*r->v));
        r->v[r->n++] = (struct stored_route){
            .id = sqlite3_column_int64 (row, 0),
            .after = sqlite3_column_int64 (row, 3),
            .name = { xstrdup (db_text (row, 1)), xstrdup (db_text (row, 2)) },
        };
    }
    if (r->n == 0)
        db_refuse (l, ENOENT, "holds no samples of this fabric");
    return epoch;
}

static void clear_routes (struct stored_routes *r)
{
    for (size_t i = 0; i < 2 * r->n; i++)
        free (r->v[i / 2].name[i % 2]);
    free (r->v);
}

/* The set of all endpoints of the routes, each once. NULL with err. */
static struct pathset *route_ends (const struct stored_routes *r,
                                   pathset_resolve_f resolve, void *arg,
                                   struct error *err)
{
    const char **name = xarray (2 * r->n, sizeof (*name));
    struct pathset *ps;

    for (size_t i = 0; i < 2 * r->n; i++)
        name[i] = r->v[i / 2].name[i % 2];
    ps = resolve (name, text_unique (name, 2 * r->n), arg, err);
    free (name);
    return ps;
}

static void find_ends (struct ledger *l, struct stored_routes *r,
                       const struct pathset *ps)
{
    for (size_t i = 0; i < 2 * r->n && !l->failed; i++) {
        const char *name = r->v[i / 2].name[i % 2];
        int end = pathset_find (ps, name);

        if (end < 0)
            db_refuse (l, EINVAL, "endpoint %.63s is not in the fabric", name);
        r->v[i / 2].end[i % 2] = (uint32_t)end;
    }
}

/* The route of a row of DB_MEASURED; NULL if one of its links was rebased after
 * the audit.
 */
static const struct stored_route *find_route (const struct stored_routes *r,
                                              sqlite3_stmt *row)
{
    int64_t id = sqlite3_column_int64 (row, 2);
    size_t lo = 0, hi = r->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (r->v[mid].id < id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < r->n && r->v[lo].id == id
                   && sqlite3_column_int64 (row, 0) > r->v[lo].after
               ? &r->v[lo]
               : NULL;
}

/* The sample of a row of DB_MEASURED, in rounds from `round` on. */
static struct sample sample_of (sqlite3_stmt *row, const struct stored_route *r,
                                uint32_t round)
{
    struct sample s = {
        .a = r->end[0],
        .b = r->end[1],
        .round = round + (uint32_t)sqlite3_column_int64 (row, 3),
        .initiator = r->end[sqlite3_column_int (row, 4) ? 0 : 1],
        .sent = (uint32_t)sqlite3_column_int64 (row, 5),
        .lost = (uint32_t)sqlite3_column_int64 (row, 6),
    };

    for (int q = 0; q < RTT_COUNT; q++)
        s.rtt_ns[q] = sqlite3_column_double (row, 7 + q);
    return s;
}

/*
 * A baseline
 */

/* State while the audits are read, newest first. */
struct newest {
    struct ledger *ledger;
    const struct stored_routes *routes;
    const struct pathset *ps;
    struct samples *samples;
    struct link_seen {
        int64_t audit; /* the last one read that crossed it */
        size_t times;  /* number of audits that crossed it */
    } *link;           /* [links] */
    int64_t *at;       /* [ends] the last audit read that measured it */
    size_t enough;     /* audits per link */
    size_t wanting;    /* links with fewer */
    int64_t audit;     /* the current one, */
    size_t first;      /* ... its first sample, */
    uint32_t round;    /* ... its first round in the samples, */
    uint32_t next;     /* ... the round after its last */
    bool counts;       /* a link that it crosses was wanting */
};

/* Add the audit's loopbacks, of the ends that it measured. */
static void add_loopbacks (struct newest *w)
{
    for (sqlite3_stmt *row = db_first (w->ledger, DB_AUDIT_LOOPBACKS,
                                       VALUES (INT (w->audit)));
         row; row = db_next (w->ledger, DB_AUDIT_LOOPBACKS)) {
        int end = pathset_find (w->ps, db_text (row, 0));
        struct loopback loopback = { .end = (uint32_t)end, .round = w->round };

        if (end < 0 || w->at[end] != w->audit)
            continue;
        for (int q = 0; q < RTT_COUNT; q++)
            loopback.rtt_ns[q] = sqlite3_column_double (row, 1 + q);
        samples_add_loopback (w->samples, &loopback);
    }
}

/* All rows of the audit have been read. Drop it if no link wanted it. */
static void end_audit (struct newest *w)
{
    struct samples *s = w->samples;

    if (!w->counts) {
        s->nsamples = w->first;
        return;
    }
    if (w->round > 0)
        samples_add_run (s, w->round);
    add_loopbacks (w);
    w->first = s->nsamples;
    w->round = w->next;
    w->counts = false;
}

/* The row of links of a route. */
static struct row row_of (struct newest *w, const struct stored_route *route)
{
    struct row row = { 0 };

    if (!w->ledger->failed
        && pathset_row (w->ps, route->end[0], route->end[1], &row,
                        w->ledger->err) < 0)
        db_fail (w->ledger);
    return row;
}

/* Count the links that a route of the audit crosses. */
static void cross (struct newest *w, const struct stored_route *route)
{
    struct row row = row_of (w, route);

    for (size_t i = 0; i < row.n; i++) {
        struct link_seen *link = &w->link[row.link[i]];

        if (link->audit == w->audit)
            continue;
        link->audit = w->audit;
        w->wanting -= ++link->times == w->enough;
        w->counts |= link->times <= w->enough;
    }
}

/* Read the samples: for each link, those of the newest audits that crossed it.
 */
static void read_newest (struct newest *w, int64_t epoch)
{
    const struct stored_routes *r = w->routes;
    struct ledger *l = w->ledger;

    w->link = xcalloc (pathset_network (w->ps)->nlinks, sizeof (*w->link));
    w->at = xcalloc (pathset_size (w->ps), sizeof (*w->at));
    for (size_t i = 0; i < r->n; i++) {
        struct row row = row_of (w, &r->v[i]);

        for (size_t k = 0; k < row.n; k++) {
            w->wanting += w->link[row.link[k]].audit == 0;
            w->link[row.link[k]].audit = -1;
        }
    }
    for (sqlite3_stmt *row = db_first (
             l, DB_MEASURED,
             VALUES (INT (epoch), INT (INT64_MIN), INT (INT64_MAX),
                     NAME (finding_kind_name (FINDING_NODE))));
         row; row = db_next (l, DB_MEASURED)) {
        int64_t audit = sqlite3_column_int64 (row, 0);
        const struct stored_route *route = find_route (r, row);
        struct sample sample;

        if (audit != w->audit)
            end_audit (w);
        if (audit != w->audit && w->wanting == 0) {
            db_reset (l, DB_MEASURED);
            break;
        }
        w->audit = audit;
        if (!route)
            continue;
        sample = sample_of (row, route, w->round);
        if (sample.round >= w->next)
            w->next = sample.round + 1;
        w->at[sample.a] = w->at[sample.b] = audit;
        cross (w, route);
        samples_add (w->samples, &sample);
    }
    end_audit (w);
}

struct samples *ledger_baseline (struct ledger *l, const char *fabric,
                                 size_t n, pathset_resolve_f resolve,
                                 void *arg, struct pathset **ps,
                                 struct error *err)
{
    struct stored_routes r = { 0 };
    struct newest w = {
        .ledger = l,
        .routes = &r,
        .enough = n,
        .samples = samples_create (),
    };
    int64_t epoch;

    db_begin (l, DB_BEGIN_READ, err);
    epoch = read_routes (l, &r, fabric);
    if (!l->failed && !(*ps = route_ends (&r, resolve, arg, err)))
        db_fail (l);
    w.ps = *ps;
    find_ends (l, &r, *ps);
    if (!l->failed)
        read_newest (&w, epoch);
    clear_routes (&r);
    free (w.link);
    free (w.at);
    w.samples->complete = true;
    if (db_end (l, 0) == 0)
        return w.samples;
    samples_destroy (w.samples);
    return NULL;
}

/*
 * All measurements
 */

#define FORGOTTEN 10 /* half-lives: older audits are left out */

/* The weight of an audit. One in the future has age 0: clocks step back. */
static double share_of (const struct ledger_ageing *ageing, int64_t begun)
{
    double age = fmax ((double)ageing->now - (double)begun, 0);

    return ageing->half_life_s > 0 ? exp2 (-age / ageing->half_life_s) : 1;
}

/* Add the samples of an audit to the observations. */
static void take (struct ledger *l, struct combine *combine,
                  const struct pathset *ps, struct samples *s,
                  const struct ledger_ageing *ageing, int64_t begun)
{
    struct observations o = { 0 };

    if (observe (&o, ps, s, ageing->quantile, &(struct accuracy){ 0 }, l->err)
        < 0)
        db_fail (l);
    else
        combine_add (combine, &o, share_of (ageing, begun));
    observations_clear (&o);
    s->nsamples = 0;
}

static void read_all (struct ledger *l, const struct stored_routes *r,
                      struct combine *combine, const struct pathset *ps,
                      const struct ledger_ageing *ageing, int64_t epoch)
{
    struct samples *s = samples_create ();          /* of one audit, */
    int64_t audit = 0, begun = 0;                   /* ... this one */
    int64_t from = INT64_MIN;

    if (ageing->half_life_s > 0)
        from = ageing->now - (int64_t)(FORGOTTEN * ageing->half_life_s);
    for (sqlite3_stmt *row = db_first (
             l, DB_MEASURED,
             VALUES (INT (epoch), INT (from), INT (ageing->until),
                     TEXT (ageing->sound ? "" : NULL)));
         row; row = db_next (l, DB_MEASURED)) {
        const struct stored_route *route = find_route (r, row);
        struct sample sample;

        if (sqlite3_column_int64 (row, 0) != audit)
            take (l, combine, ps, s, ageing, begun);
        audit = sqlite3_column_int64 (row, 0);
        begun = sqlite3_column_int64 (row, 1);
        if (!route)
            continue;
        sample = sample_of (row, route, 0);
        samples_add (s, &sample);
    }
    if (!l->failed)
        take (l, combine, ps, s, ageing, begun);
    samples_destroy (s);
}

int ledger_combine (struct ledger *l, const struct pathset *ps,
                    const struct ledger_ageing *ageing,
                    struct observations *o, struct error *err)
{
    struct combine *combine = combine_create ();
    struct stored_routes r = { 0 };
    int64_t epoch;

    *o = (struct observations){ 0 };
    db_begin (l, DB_BEGIN_READ, err);
    epoch = read_routes (l, &r, pathset_network (ps)->hash);
    find_ends (l, &r, ps);
    if (!l->failed)
        read_all (l, &r, combine, ps, ageing, epoch);
    if (!l->failed && combine_finish (combine, ps, o, err) < 0)
        db_fail (l);
    clear_routes (&r);
    combine_destroy (combine);
    return (int)db_end (l, 0);
}
