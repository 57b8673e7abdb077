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

/* The newest samples of a route. */
static int add_newest (struct ledger *l, struct samples *s,
                       const struct route *route, size_t n, struct error *err)
{
    sqlite3_stmt *stmt = db_bind (l, DB_BASELINE,
                                  VALUES (INT (route->id), INT ((int64_t)n)),
                                  err);
    int rc = stmt ? 1 : -1;
    int64_t audit = 0, round = 0;
    uint32_t rounds = 0;

    while (rc == 1 && (rc = db_step (l, DB_BASELINE, err)) == 1) {
        struct sample sample = sample_of (stmt, 2, route);

        if (sqlite3_column_int64 (stmt, 0) != audit
            || sqlite3_column_int64 (stmt, 1) != round)
            rounds++;
        audit = sqlite3_column_int64 (stmt, 0);
        round = sqlite3_column_int64 (stmt, 1);
        sample.round = rounds - 1;
        if (samples_add (s, &sample) < 0)
            rc = error_nomem (err);
    }
    db_reset (l, DB_BASELINE);
    return rc;
}

/* The link that an endpoint is at; "" where there is none. */
static const char *link_of (const struct pathset *ps, uint32_t end)
{
    const struct network *net = pathset_network (ps);
    uint32_t arc;

    net->attach (net->net, pathset_endpoint (ps, end)->id, &arc);
    return arc == NETWORK_NONE ? "" : net->link[arc_link (arc)].id;
}

struct controls {
    struct samples *samples;
    const char *host;
    uint32_t end, round; /* of the next loopback */
};

/* A row of DB_LOOPBACKS. */
static int add_loopback (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct controls *c = arg;
    struct loopback loopback = { .end = c->end, .round = c->round++ };

    for (int q = 0; q < RTT_COUNT; q++)
        loopback.rtt_ns[q] = sqlite3_column_double (stmt, q);
    return samples_add_loopback (c->samples, &loopback) < 0 ? error_nomem (err)
                                                            : 0;
}

static void copy_text (char *to, size_t size, sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text (stmt, column);

    snprintf (to, size, "%s", text ? text : "");
}

/* A row of DB_LAST_NODE; one that makes no sense is not known. */
static int add_node (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct controls *c = arg;
    struct node n = { .numa = sqlite3_column_int (stmt, 3),
                      .adapter_numa = sqlite3_column_int (stmt, 4) };

    snprintf (n.host, sizeof (n.host), "%s", c->host);
    copy_text (n.boot, sizeof (n.boot), stmt, 0);
    copy_text (n.kernel, sizeof (n.kernel), stmt, 1);
    copy_text (n.governor, sizeof (n.governor), stmt, 2);
    if (node_check (&n, "", NULL) == 0
        && samples_add_node (c->samples, &n) < 0)
        return error_nomem (err);
    return 0;
}

/* What goes with the routes: loopbacks of their ends, and nodes. The rails of
 * a host stand together.
 */
static int read_controls (struct ledger *l, struct samples *s,
                          const struct pathset *ps, int64_t epoch, size_t n,
                          struct error *err)
{
    struct controls c = { .samples = s, .host = "" };

    for (; c.end < pathset_size (ps); c.end++) {
        const struct endpoint *e = pathset_endpoint (ps, c.end);
        bool another = strcmp (c.host, e->host) != 0;

        c.host = e->host;
        c.round = 0;
        if (db_rows (l, DB_LOOPBACKS,
                     VALUES (NAME (e->name), NAME (link_of (ps, c.end)),
                             INT ((int64_t)n), INT (epoch)),
                     add_loopback, &c, err) < 0
            || (another
                && db_rows (l, DB_LAST_NODE,
                            VALUES (NAME (c.host), INT (epoch)), add_node, &c,
                            err) < 0))
            return -1;
    }
    return 0;
}

static int read_baseline (struct ledger *l, struct samples *s,
                          const char *fabric, size_t n,
                          pathset_resolve_f resolve, void *arg,
                          struct pathset **ps, struct error *err)
{
    struct routes r = { 0 };
    int64_t epoch = 0;
    int rc = read_routes (l, &r, fabric, &epoch, err);

    if (rc == 0 && (!(*ps = route_ends (&r, resolve, arg, err))
                    || find_ends (l, &r, *ps, err) < 0))
        rc = -1;
    for (size_t i = 0; rc == 0 && i < r.n; i++)
        rc = add_newest (l, s, &r.v[i], n, err);
    if (rc == 0)
        rc = read_controls (l, s, *ps, epoch, n, err);
    clear_routes (&r);
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

static int compare_ids (const void *key, const void *route)
{
    int64_t a = *(const int64_t *)key;
    int64_t b = ((const struct route *)route)->id;

    return (a > b) - (a < b);
}

/* A row of DB_MEASURED. */
static int gather (void *arg, sqlite3_stmt *stmt, struct error *err)
{
    struct gather *g = arg;
    int64_t audit = sqlite3_column_int64 (stmt, 0);
    int64_t id = sqlite3_column_int64 (stmt, 2);
    const struct route *r = bsearch (&id, g->routes.v, g->routes.n,
                                     sizeof (*r), compare_ids);
    struct sample sample;

    if (audit != g->audit && take (g, err) < 0)
        return -1;
    g->audit = audit;
    g->begun = sqlite3_column_int64 (stmt, 1);
    if (!r || audit <= r->after)
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
                         INT (ageing->sound)), gather, g, err) < 0)
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
