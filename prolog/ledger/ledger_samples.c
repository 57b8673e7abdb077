/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read measurements from the ledger, for the solver and the judge.
 *
 * Notes. ledger_combine reads the RTTs audit by audit, as they are stored, and
 * keeps one observation per route. It reads so many that its time does not grow
 * with the ledger's age: the newest, and of an endpoint that these do not know
 * its own newest. The last rebase of each route is read once, with the routes.
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
#include "util/map.h"
#include "util/text.h"

/*
 * Routes
 */

struct stored_route {
    int64_t after; /* the last rebase of any of its links */
    char *name[2];
    uint32_t end[2]; /* in the set, once find_ends has run */
};

struct stored_routes {
    struct ledger *ledger;
    const struct pathset *ps;
    int64_t epoch;
    struct stored_route *v;
    size_t n;
    struct map by_id;
    int64_t flows_after; /* the last rebase of any link between switches, which
                            flows of all routes may cross */
    sqlite3_stmt *row; /* the next one of `measured`; NULL after the last */
};

/* the newest audit first, of those begun from ?2 to ?3, numbered from ?5 to ?6;
 * ?4 not NULL: only sound RTTs, and findings of this basis suspect no link;
 * ?7 not NULL: only RTTs of this endpoint
 */
static const char measured[]
    = "SELECT r.audit, a.begun, r.route, r.round, r.first, r.sent, r.lost, "
      DB_QUANTILES ", f.times, p.level, p.connected, p.switches,"
      " w.there, w.back"
      " FROM audit a JOIN rtt r ON r.audit = a.id"
      " LEFT JOIN spread p ON p.audit = a.id"
      " LEFT JOIN flow f ON f.audit = r.audit AND f.seq = r.seq"
      " LEFT JOIN way w ON w.audit = r.audit AND w.seq = r.seq"
      " WHERE a.epoch = ?1 AND a.begun BETWEEN ?2 AND ?3"
      " AND a.id BETWEEN ?5 AND ?6 AND r.lost < r.sent"
      " AND (?4 IS NULL OR (" DB_SOUND ("a") " AND NOT "
      DB_FLAWED ("r", "?4") ")) AND (?7 IS NULL OR EXISTS (SELECT 1"
      " FROM route t WHERE t.id = r.route AND (SELECT id FROM name"
      " WHERE text = ?7) IN (t.a, t.b))) ORDER BY a.id DESC, r.seq";

/* Read the routes that these audits measured. */
static void read_routes (struct stored_routes *r, int64_t from, int64_t to)
{
    struct ledger *l = r->ledger;
    bool rebased = db_run (l, NULL, "SELECT e.after FROM rebase e LIMIT 1",
                           NONE);
    sqlite3_stmt *row
        = db_first (l,
                    "SELECT t.id, a.text, b.text, CASE WHEN ? THEN"
                    " coalesce ((SELECT max (e.after) FROM crossing c"
                    " JOIN rebase e ON e.link = c.link WHERE c.route = t.id),"
                    " 0) ELSE 0 END FROM rtt r CROSS JOIN route t"
                    " ON t.id = r.route JOIN name a ON a.id = t.a JOIN name b"
                    " ON b.id = t.b WHERE r.audit BETWEEN ? AND ?"
                    " AND +t.epoch = ? GROUP BY r.route ORDER BY r.route",
                    VALUES (INT (rebased), INT (from), INT (to),
                            INT (r->epoch)));

    for (; row; row = db_next (l, row)) {
        int64_t id = sqlite3_column_int64 (row, 0);

        if (map_find (&r->by_id, (uint64_t)id) != MAP_NONE)
            continue;
        map_put (&r->by_id, (uint64_t)id, (uint32_t)r->n);
        r->v = xgrow (r->v, r->n, sizeof (*r->v));
        r->v[r->n++] = (struct stored_route){
            .after = sqlite3_column_int64 (row, 3),
            .name = { xstrdup (db_text (row, 1)), xstrdup (db_text (row, 2)) },
        };
    }
}

static void refuse_none (struct ledger *l)
{
    db_refuse (l, ENOENT, "holds no samples of this fabric");
}

static void clear_routes (struct stored_routes *r)
{
    for (size_t i = 0; i < 2 * r->n; i++)
        free (r->v[i / 2].name[i % 2]);
    free (r->v);
    map_clear (&r->by_id);
}

/* Find the ends of routes from this one on in the set. */
static void find_ends (struct stored_routes *r, size_t from)
{
    struct ledger *l = r->ledger;

    for (size_t i = 2 * from; i < 2 * r->n && !l->failed; i++) {
        const char *name = r->v[i / 2].name[i % 2];
        int end = pathset_find (r->ps, name);

        if (end < 0)
            db_refuse (l, EINVAL, "endpoint %.63s is not in the fabric", name);
        r->v[i / 2].end[i % 2] = (uint32_t)end;
    }
}

/* When any cable between switches was rebased last. */
static void find_flows_after (struct stored_routes *r)
{
    struct ledger *l = r->ledger;
    const struct network *net = pathset_network (r->ps);
    sqlite3_stmt *row = db_first (l,
                                  "SELECT n.text, e.after FROM rebase e"
                                  " JOIN name n ON n.id = e.link",
                                  NONE);

    for (; row; row = db_next (l, row))
        for (size_t i = 0; i < net->nlinks; i++)
            if (net->link[i].kind == LINK_SWITCH
                && sqlite3_column_int64 (row, 1) > r->flows_after
                && !strcmp (net->link[i].id, db_text (row, 0)))
                r->flows_after = sqlite3_column_int64 (row, 1);
}

/* The route of a row of `measured`; NULL if one of its links was rebased after
 * the audit.
 */
static const struct stored_route *find_route (const struct stored_routes *r,
                                              sqlite3_stmt *row)
{
    uint32_t at
        = map_find (&r->by_id, (uint64_t)sqlite3_column_int64 (row, 2));

    return at != MAP_NONE && sqlite3_column_int64 (row, 0) > r->v[at].after
               ? &r->v[at] : NULL;
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

/* Read the samples of the next audit, and how they were spread. Return false
 * after the last one.
 */
static bool read_audit (struct stored_routes *r, struct samples *s,
                        int64_t *audit, int64_t *begun)
{
    for (size_t i = 0; i < s->nsamples; i++)
        free (s->sample[i].flow_ns);
    s->nsamples = s->nloopbacks = 0;
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
        sample.round = (uint32_t)sqlite3_column_int64 (r->row, 3);
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

/* Add the audit's loopbacks. */
static void add_loopbacks (const struct stored_routes *r, struct samples *s,
                           int64_t audit)
{
    for (sqlite3_stmt *row
         = db_first (r->ledger, DB_LOOPBACKS, VALUES (INT (audit)));
         row; row = db_next (r->ledger, row)) {
        int end = pathset_find (r->ps, db_text (row, 0));
        struct loopback loopback = { .end = (uint32_t)end };

        if (end < 0)
            continue;
        for (int q = 0; q < RTT_COUNT; q++)
            loopback.rtt_ns[q] = sqlite3_column_double (row, 1 + q);
        samples_add_loopback (s, &loopback);
    }
}

int64_t ledger_back (struct ledger *l, const char *fabric, int64_t audit,
                     size_t n, struct error *err)
{
    int64_t id = 0;

    db_begin_read (l, err);
    db_run (l, &id,
            "SELECT min (id) FROM (SELECT id FROM audit WHERE epoch = ?"
            " AND id <= ? ORDER BY id DESC LIMIT ?)",
            VALUES (INT (db_epoch (l, fabric)), INT (audit),
                    INT ((int64_t)n)));
    return db_end (l, id);
}

struct baseline *ledger_baseline (struct ledger *l, const char *fabric,
                                  int64_t from, int64_t to,
                                  pathset_resolve_f resolve, void *arg,
                                  struct error *err)
{
    struct stored_routes r = { .ledger = l };
    struct samples *s = samples_create (); /* of one audit */
    struct baseline *b = NULL;
    struct pathset *ps = NULL;
    const char **name; /* of all ends of the routes */
    int64_t audit, begun;

    db_begin_read (l, err);
    r.epoch = db_epoch (l, fabric);
    read_routes (&r, from, to);
    if (r.n == 0)
        refuse_none (l);
    name = xarray (2 * r.n, sizeof (*name));
    for (size_t i = 0; i < 2 * r.n; i++)
        name[i] = r.v[i / 2].name[i % 2];
    if (!l->failed
        && !(ps = resolve (name, text_unique (name, 2 * r.n), arg, err)))
        db_fail (l);
    free (name);
    if (!l->failed) {
        r.ps = ps;
        find_ends (&r, 0);
        find_flows_after (&r);
        b = baseline_create (ps);
        db_run (l, &b->open,
                "SELECT min (id) FROM audit WHERE ended IS NULL"
                " AND begun > (SELECT max (begun) FROM audit) - 86400",
                NONE);
        r.row = db_first (l, measured,
                          VALUES (INT (r.epoch), INT (INT64_MIN),
                                  INT (INT64_MAX),
                                  NAME (finding_basis_name (BASIS_LOOPBACK)),
                                  INT (from), INT (to), TEXT (NULL)));
    }
    while (!l->failed && read_audit (&r, s, &audit, &begun)) {
        add_loopbacks (&r, s, audit);
        if (!l->failed && baseline_add (b, s, audit, err) < 0)
            db_fail (l);
    }
    sqlite3_reset (r.row);
    clear_routes (&r);
    samples_destroy (s);
    if (db_end (l, 0) == 0)
        return b;
    baseline_destroy (b);
    return NULL;
}

/*
 * Measurements of many audits together
 */

#define FORGOTTEN 10 /* half-lives: older audits are left out */

enum { ENOUGH = 1 << 18, ENOUGH_FOR_LINK = 32 }; /* RTTs */

struct gathering {
    struct stored_routes routes;
    const struct ledger_ageing *ageing;
    int64_t now, from;        /* `from`: not older than this */
    int64_t done, total;      /* audits */
    struct samples *samples;  /* of one of them */
    struct combine *combine;
    bool *met;                /* [endpoints of the set] */
    struct error *err;
};

/* Add what audits `first` to `last` measured; of this endpoint, if not NULL. */
static void gather (struct gathering *g, int64_t first, int64_t last,
                    const char *end)
{
    struct stored_routes *r = &g->routes;
    struct ledger *l = r->ledger;
    double half_life = g->ageing->half_life_s;
    size_t known = r->n;
    int64_t audit, begun;

    read_routes (r, first, last);
    find_ends (r, known);
    if (!l->failed)
        r->row = db_first (l, measured,
                           VALUES (INT (g->routes.epoch), INT (g->from),
                                   INT (g->ageing->until), TEXT (NULL),
                                   INT (first), INT (last), TEXT (end)));
    while (!l->failed && read_audit (r, g->samples, &audit, &begun)) {
        /* an audit in the future has age 0: clocks step back */
        double age = fmax ((double)g->now - (double)begun, 0);
        struct observations one = { 0 };

        ledger_work (l, "audit", ++g->done, g->total);
        for (size_t i = 0; i < g->samples->nsamples; i++)
            g->met[g->samples->sample[i].a] = g->met[g->samples->sample[i].b]
                = true;
        if (!l->failed
            && observe (&one, r->ps, g->samples, g->ageing->quantile,
                        &(struct accuracy){ 0 }, g->err) < 0)
            db_fail (l);
        if (!l->failed)
            combine_add (g->combine, &one,
                         half_life > 0 ? exp2 (-age / half_life) : 1);
        observations_clear (&one);
    }
    sqlite3_reset (r->row);
    r->row = NULL;
}

/* The first of the newest audits that have enough; 0: there are none. */
static int64_t find_enough (struct gathering *g)
{
    struct ledger *l = g->routes.ledger;
    size_t links = pathset_network (g->routes.ps)->nlinks;
    int64_t enough = g->ageing->enough > 0
                         ? g->ageing->enough
                         : (int64_t)fmax (ENOUGH, ENOUGH_FOR_LINK * (double)links);
    int64_t rtts = 0, first = 0;
    sqlite3_stmt *row
        = db_first (l,
                    "SELECT a.id, (SELECT count(*) FROM rtt r"
                    " WHERE r.audit = a.id) FROM audit a WHERE a.epoch = ?"
                    " AND a.begun BETWEEN ? AND ? ORDER BY a.id DESC",
                    VALUES (INT (g->routes.epoch), INT (g->from),
                            INT (g->ageing->until)));

    for (; row && rtts < enough; row = db_next (l, row)) {
        first = sqlite3_column_int64 (row, 0);
        rtts += sqlite3_column_int64 (row, 1);
        g->total++;
    }
    sqlite3_reset (row);
    return first;
}

/* The newest audit before this one that an endpoint's host answered; 0: none. */
static int64_t find_older (struct gathering *g, int64_t audit, uint32_t end)
{
    int64_t id = 0;

    db_run (g->routes.ledger, &id,
            "SELECT m.audit FROM member m JOIN audit a ON a.id = m.audit"
            " WHERE m.host = (SELECT id FROM name WHERE text = ?1)"
            " AND m.answered = 1 AND m.audit < ?2 AND a.epoch = ?3"
            " AND a.begun BETWEEN ?4 AND ?5 ORDER BY m.audit DESC LIMIT 1",
            VALUES (NAME (pathset_endpoint (g->routes.ps, end)->host),
                    INT (audit), INT (g->routes.epoch), INT (g->from),
                    INT (g->ageing->until)));
    return id;
}

int ledger_combine (struct ledger *l, const struct pathset *ps,
                    const struct ledger_ageing *ageing,
                    struct observations *o, struct error *err)
{
    struct gathering g = {
        .routes = { .ledger = l, .ps = ps },
        .ageing = ageing,
        .now = ageing->now,
        .from = INT64_MIN,
        .samples = samples_create (),
        .combine = combine_create (),
        .met = xcalloc (pathset_size (ps), sizeof (bool)),
        .err = err,
    };
    int64_t first, older;

    *o = (struct observations){ 0 };
    db_begin_read (l, err);
    /* not older than the newest: a clock may be ahead */
    db_run (l, &g.now,
            "SELECT begun FROM audit WHERE begun <= ? ORDER BY begun DESC"
            " LIMIT 1",
            VALUES (INT (ageing->now)));
    if (ageing->half_life_s > 0)
        g.from = g.now - (int64_t)(FORGOTTEN * ageing->half_life_s);
    g.routes.epoch = db_epoch (l, pathset_network (ps)->hash);
    find_flows_after (&g.routes);
    first = find_enough (&g);
    if (first > 0)
        gather (&g, first, INT64_MAX, NULL);
    else if (!db_run (l, NULL, "SELECT 1 FROM route WHERE epoch = ?",
                      VALUES (INT (g.routes.epoch))))
        refuse_none (l);
    for (uint32_t i = 0; i < pathset_size (ps) && first > 0 && !l->failed; i++)
        if (!g.met[i] && (older = find_older (&g, first, i)) > 0)
            gather (&g, older, older, pathset_endpoint (ps, i)->name);
    if (!l->failed && combine_finish (g.combine, ps, o, err) < 0)
        db_fail (l);
    samples_destroy (g.samples);
    clear_routes (&g.routes);
    combine_destroy (g.combine);
    free (g.met);
    return (int)db_end (l, 0);
}
