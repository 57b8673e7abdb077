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

#include "core/samples/observe.h"
#include "prolog/ledger/ledger_db.h"
#include "util/alloc.h"
#include "util/sort.h"
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
    struct ledger *ledger;
    const struct pathset *ps;
    struct stored_route *v; /* by id */
    size_t n;
    int64_t flows_after; /* the last rebase of any link between switches, which
                            flows of all routes may cross */
    sqlite3_stmt *row; /* the next one of `measured`; NULL after the last */
};

/* newest audit first; ?4 not NULL: only sound RTTs, and findings of this kind
 * suspect no link
 */
static const char measured[]
    = "SELECT r.audit, a.begun, r.route, r.round, r.first, r.sent, r.lost, "
      DB_QUANTILES ", f.times, p.level, p.connected, p.switches,"
      " w.there, w.back"
      " FROM audit a JOIN rtt r ON r.audit = a.id"
      " LEFT JOIN spread p ON p.audit = a.id"
      " LEFT JOIN flow f ON f.audit = r.audit AND f.seq = r.seq"
      " LEFT JOIN way w ON w.audit = r.audit AND w.seq = r.seq"
      " WHERE a.epoch = ?1 AND a.begun BETWEEN ?2 AND ?3 AND r.lost < r.sent"
      " AND (?4 IS NULL OR (" DB_SOUND ("a") " AND NOT "
      DB_FLAWED ("r", "?4") ")) ORDER BY a.id DESC, r.seq";

/* Read all routes of a fabric. Return the id of its epoch. */
static int64_t read_routes (struct stored_routes *r, const char *fabric)
{
    struct ledger *l = r->ledger;
    int64_t epoch = db_epoch (l, fabric);
    sqlite3_stmt *row
        = db_first (l,
                    "SELECT t.id, a.text, b.text, coalesce ((SELECT"
                    " max (e.after) FROM crossing c JOIN rebase e"
                    " ON e.link = c.link WHERE c.route = t.id), 0)"
                    " FROM route t JOIN name a ON a.id = t.a JOIN name b"
                    " ON b.id = t.b WHERE t.epoch = ? ORDER BY t.id",
                    VALUES (INT (epoch)));

    for (; row; row = db_next (l, row)) {
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

static void find_ends (struct stored_routes *r, const struct pathset *ps)
{
    struct ledger *l = r->ledger;

    r->ps = ps;
    for (size_t i = 0; i < 2 * r->n && !l->failed; i++) {
        const char *name = r->v[i / 2].name[i % 2];
        int end = pathset_find (ps, name);

        if (end < 0)
            db_refuse (l, EINVAL, "endpoint %.63s is not in the fabric", name);
        r->v[i / 2].end[i % 2] = (uint32_t)end;
    }
    for (sqlite3_stmt *row
         = db_first (l,
                     "SELECT n.text, e.after FROM rebase e"
                     " JOIN name n ON n.id = e.link",
                     NONE);
         row; row = db_next (l, row)) {
        const struct network *net = pathset_network (ps);

        for (size_t i = 0; i < net->nlinks; i++)
            if (net->link[i].kind == LINK_SWITCH
                && sqlite3_column_int64 (row, 1) > r->flows_after
                && !strcmp (net->link[i].id, db_text (row, 0)))
                r->flows_after = sqlite3_column_int64 (row, 1);
    }
}

static int compare_routes (const void *a, const void *b)
{
    return util_compare (((const struct stored_route *)a)->id,
                         ((const struct stored_route *)b)->id);
}

/* The route of a row of `measured`; NULL if one of its links was rebased after
 * the audit.
 */
static const struct stored_route *find_route (const struct stored_routes *r,
                                              sqlite3_stmt *row)
{
    const struct stored_route key = { .id = sqlite3_column_int64 (row, 2) };
    const struct stored_route *route
        = bsearch (&key, r->v, r->n, sizeof (*r->v), compare_routes);

    return route && sqlite3_column_int64 (row, 0) > route->after ? route
                                                                 : NULL;
}

/* Read the times of a sample's flows from a row of `measured`. */
static void read_flows (sqlite3_stmt *row, struct sample *s, double *flow_ns)
{
    enum { TIMES = 7 + RTT_COUNT };
    const uint8_t *times = sqlite3_column_blob (row, TIMES);
    int n = sqlite3_column_bytes (row, TIMES) / DB_FLOW_BYTES;

    s->flow_ns = flow_ns;
    for (int f = 0; times && f < n && f < SAMPLE_FLOWS_MAX; f++) {
        unsigned int t = times[DB_FLOW_BYTES * f]
                         | (unsigned int)times[DB_FLOW_BYTES * f + 1] << 8;

        flow_ns[s->nflows++]
            = t == DB_FLOW_LOST ? NAN : round (s->rtt_ns[RTT_MIN]) + t;
    }
}

/* Drop all samples but the first n; the flows of those from `bare` on. */
static void cut (struct samples *s, size_t n, size_t bare)
{
    for (size_t i = bare; i < s->nsamples; i++) {
        free (s->sample[i].flow_ns);
        s->sample[i].flow_ns = NULL;
        s->sample[i].nflows = 0;
    }
    s->nsamples = n;
}

/* Add the samples of the next audit, in rounds from `round` on, and set how
 * they were spread. Return false after the last audit.
 */
static bool read_audit (struct stored_routes *r, struct samples *s,
                        uint32_t round, int64_t *audit, int64_t *begun)
{
    if (!r->row)
        return false;
    *audit = sqlite3_column_int64 (r->row, 0);
    *begun = sqlite3_column_int64 (r->row, 1);
    s->level = (uint64_t)sqlite3_column_int64 (r->row, 8 + RTT_COUNT) & 0xf;
    s->rc = sqlite3_column_int64 (r->row, 9 + RTT_COUNT) != 0;
    s->spread = (uint64_t)sqlite3_column_int64 (r->row, 10 + RTT_COUNT)
                & UINT32_MAX;
    for (; r->row && sqlite3_column_int64 (r->row, 0) == *audit;
         r->row = db_next (r->ledger, r->row)) {
        const struct stored_route *route = find_route (r, r->row);
        struct sample sample = { .rtt_ns = { 0 } };
        double flow_ns[SAMPLE_FLOWS_MAX];

        if (!route)
            continue;
        sample.a = route->end[0];
        sample.b = route->end[1];
        sample.round = round + (uint32_t)sqlite3_column_int64 (r->row, 3);
        sample.initiator
            = route->end[sqlite3_column_int (r->row, 4) ? 0 : 1];
        sample.sent = (uint32_t)sqlite3_column_int64 (r->row, 5);
        sample.lost = (uint32_t)sqlite3_column_int64 (r->row, 6);
        for (int q = 0; q < RTT_COUNT; q++)
            sample.rtt_ns[q] = sqlite3_column_double (r->row, 7 + q);
        for (int w = 0; w < 2; w++) /* NULL is 0 */
            sample.way_ns[w]
                = sqlite3_column_double (r->row, 11 + RTT_COUNT + w);
        if (*audit > r->flows_after)
            read_flows (r->row, &sample, flow_ns);
        samples_add (s, &sample);
    }
    return true;
}

/*
 * A baseline
 */

/* The row of links between two ends. */
static struct row row_between (const struct stored_routes *r, uint32_t a,
                               uint32_t b)
{
    struct row row = { 0 };

    if (!r->ledger->failed
        && pathset_row (r->ps, a, b, &row, r->ledger->err) < 0)
        db_fail (r->ledger);
    return row;
}

/* Add the audit's loopbacks, of the ends that it measured. */
static void add_loopbacks (const struct stored_routes *r, struct samples *s,
                           int64_t audit, const int64_t *at, uint32_t round)
{
    for (sqlite3_stmt *row
         = db_first (r->ledger, DB_LOOPBACKS, VALUES (INT (audit)));
         row; row = db_next (r->ledger, row)) {
        int end = pathset_find (r->ps, db_text (row, 0));
        struct loopback loopback = { .end = (uint32_t)end, .round = round };

        if (end < 0 || at[end] != audit)
            continue;
        for (int q = 0; q < RTT_COUNT; q++)
            loopback.rtt_ns[q] = sqlite3_column_double (row, 1 + q);
        samples_add_loopback (s, &loopback);
    }
}

/* Read the samples: for each link, those of the newest `enough` audits that
 * crossed it. The newest audit is first; one that no link wants is dropped.
 */
static void read_newest (struct stored_routes *r, struct samples *s,
                         size_t enough)
{
    const struct network *net = pathset_network (r->ps);
    struct link_seen {
        int64_t audit; /* the last one read that crossed it; 0: no route does */
        size_t times;  /* number of audits that crossed it */
    } *link = xcalloc (net->nlinks, sizeof (*link));
    int64_t *at = xcalloc (pathset_size (r->ps), sizeof (*at)); /* [ends] the
                                             last audit that measured it */
    size_t wanting = 0;     /* links with fewer audits than enough */
    uint32_t round = 0;     /* the audit's first, */
    uint32_t next = 0;      /* ... and that after its last */
    size_t first = 0;       /* the audit's first sample */
    struct samples as = { 0 }; /* how the newest audit that was spread was */
    int64_t audit, begun;

    for (size_t i = 0; i < r->n; i++) {
        struct row row = row_between (r, r->v[i].end[0], r->v[i].end[1]);

        for (size_t k = 0; k < row.n; k++) {
            wanting += link[row.link[k]].audit == 0;
            link[row.link[k]].audit = -1;
        }
    }
    while (wanting > 0 && read_audit (r, s, round, &audit, &begun)) {
        bool counts = false; /* a link that it crosses was wanting */

        for (size_t i = first; i < s->nsamples; i++) {
            const struct sample *x = &s->sample[i];
            struct row row = row_between (r, x->a, x->b);

            for (size_t k = 0; k < row.n; k++) {
                struct link_seen *seen = &link[row.link[k]];

                /* flows that are not kept tell nothing of a cable */
                if (seen->audit == audit
                    || (s->spread > 0 && x->nflows == 0
                        && audit > r->flows_after
                        && net->link[row.link[k]].kind == LINK_SWITCH))
                    continue;
                seen->audit = audit;
                wanting -= ++seen->times == enough;
                counts |= seen->times <= enough;
            }
            if (x->round >= next)
                next = x->round + 1;
            at[x->a] = at[x->b] = audit;
        }
        if (!counts) {
            cut (s, first, first);
            continue;
        }
        if (as.spread == 0)
            as = *s;
        else if (s->spread > 0 && (s->level != as.level || s->rc != as.rc))
            cut (s, s->nsamples, first);
        else if (s->spread > as.spread)
            as.spread = s->spread;
        if (round > 0)
            samples_add_run (s, round);
        add_loopbacks (r, s, audit, at, round);
        first = s->nsamples;
        round = next;
    }
    s->level = as.level;
    s->rc = as.rc;
    s->spread = as.spread;
    free (link);
    free (at);
}

struct samples *ledger_baseline (struct ledger *l, const char *fabric,
                                 size_t n, pathset_resolve_f resolve,
                                 void *arg, struct pathset **ps,
                                 struct error *err)
{
    struct stored_routes r = { .ledger = l };
    struct samples *s = samples_create ();
    const char **name; /* of all ends of the routes */
    int64_t epoch;

    db_begin_read (l, err);
    epoch = read_routes (&r, fabric);
    name = xarray (2 * r.n, sizeof (*name));
    for (size_t i = 0; i < 2 * r.n; i++)
        name[i] = r.v[i / 2].name[i % 2];
    if (!l->failed
        && !(*ps = resolve (name, text_unique (name, 2 * r.n), arg, err)))
        db_fail (l);
    free (name);
    find_ends (&r, *ps);
    if (!l->failed) {
        r.row = db_first (l, measured,
                          VALUES (INT (epoch), INT (INT64_MIN),
                                  INT (INT64_MAX),
                                  NAME (finding_kind_name (FINDING_NODE))));
        read_newest (&r, s, n);
    }
    sqlite3_reset (r.row);
    clear_routes (&r);
    s->complete = true;
    if (db_end (l, 0) == 0)
        return s;
    samples_destroy (s);
    return NULL;
}

/*
 * All measurements
 */

#define FORGOTTEN 10 /* half-lives: older audits are left out */

int ledger_combine (struct ledger *l, const struct pathset *ps,
                    const struct ledger_ageing *ageing,
                    struct observations *o, struct error *err)
{
    double half_life = ageing->half_life_s;
    struct combine *combine = combine_create ();
    struct samples *s = samples_create (); /* of one audit */
    struct stored_routes r = { .ledger = l };
    int64_t now = ageing->now, from = INT64_MIN, done = 0, total = 0;
    int64_t epoch, audit, begun;

    *o = (struct observations){ 0 };
    db_begin_read (l, err);
    /* not older than the newest: a clock may be ahead */
    db_run (l, &now,
            "SELECT begun FROM audit WHERE begun <= ? ORDER BY begun DESC"
            " LIMIT 1",
            VALUES (INT (ageing->now)));
    if (half_life > 0)
        from = now - (int64_t)(FORGOTTEN * half_life);
    epoch = read_routes (&r, pathset_network (ps)->hash);
    find_ends (&r, ps);
    db_run (l, &total,
            "SELECT count(*) FROM audit WHERE epoch = ? AND begun BETWEEN ? AND"
            " ?",
            VALUES (INT (epoch), INT (from), INT (ageing->until)));
    if (!l->failed)
        r.row = db_first (l, measured,
                          VALUES (INT (epoch), INT (from), INT (ageing->until),
                                  TEXT (ageing->sound ? "" : NULL)));
    while (!l->failed && read_audit (&r, s, 0, &audit, &begun)) {
        /* an audit in the future has age 0: clocks step back */
        double age = fmax ((double)now - (double)begun, 0);
        struct observations one = { 0 };

        ledger_work (l, "audit", ++done, total);
        if (!l->failed
            && observe (&one, ps, s, ageing->quantile,
                        &(struct accuracy){ 0 }, err) < 0)
            db_fail (l);
        if (!l->failed)
            combine_add (combine, &one,
                         half_life > 0 ? exp2 (-age / half_life) : 1);
        observations_clear (&one);
        cut (s, 0, 0);
    }
    if (!l->failed && combine_finish (combine, ps, o, err) < 0)
        db_fail (l);
    sqlite3_reset (r.row);
    samples_destroy (s);
    clear_routes (&r);
    combine_destroy (combine);
    return (int)db_end (l, 0);
}
