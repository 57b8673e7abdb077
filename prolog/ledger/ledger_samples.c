/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read measurements from the ledger, for the solver and the judge.
 *
 * Notes. ledger_combine_times reads RTTs audit by audit, the newest first, each
 * once for all times that want it, and keeps one observation per route and time.
 * A time is handed over when all that it wants is read, so what it takes in
 * memory is that of the times that overlap. It wants so many audits that work
 * does not grow with the ledger's age: the newest, and of an endpoint that these
 * do not know its own newest.
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
#include "util/sort.h"

/*
 * RTTs
 */

struct rtt_reader {
    struct ledger *ledger;
    const struct pathset *ps;
    int64_t epoch;
    struct map end; /* of the set, by the id of its name */
    int64_t *after; /* [links] the last rebase; NULL: of none */
    int64_t last_after, flows_after; /* the last of all; of any link between
                                        switches, which flows may cross */
    sqlite3_stmt *row; /* the next one; NULL after the last */
};

/* the newest audit first, of those numbered from ?2 to ?3 */
#define MEASURED(columns, joins, where)                                       \
    "SELECT r.audit, a.begun, t.a, t.b, r.round, r.first, r.sent, r.lost, "   \
    DB_QUANTILES columns " FROM audit a JOIN rtt r ON r.audit = a.id"         \
    " JOIN route t ON t.id = r.route" joins " WHERE a.epoch = ?1"             \
    " AND a.id BETWEEN ?2 AND ?3 AND r.lost < r.sent AND " where              \
    " ORDER BY a.id DESC, r.seq"

static const char all[] = MEASURED ("", "", "1");

/* only sound RTTs; findings of basis ?4 suspect no link */
static const char sound[]
    = MEASURED (", f.times, p.level, p.connected, p.switches, w.there, w.back",
                " LEFT JOIN spread p ON p.audit = a.id"
                " LEFT JOIN flow f ON f.audit = r.audit AND f.seq = r.seq"
                " LEFT JOIN way w ON w.audit = r.audit AND w.seq = r.seq",
                DB_SOUND ("a") " AND NOT " DB_FLAWED ("r", "?4"));
enum { NS = 8, MORE = NS + RTT_COUNT }; /* columns */

static void refuse_empty_ledger (struct ledger *l)
{
    db_refuse (l, ENOENT, "holds no samples of this fabric");
}

static void find_end_ids (struct rtt_reader *r)
{
    for (uint32_t i = 0; i < pathset_size (r->ps); i++) {
        int64_t id;

        if (db_name (r->ledger, pathset_endpoint (r->ps, i)->name, &id))
            map_put (&r->end, (uint64_t)id, i);
    }
}

static void find_rebases (struct rtt_reader *r)
{
    struct ledger *l = r->ledger;
    const struct network *net = pathset_network (r->ps);
    sqlite3_stmt *row = db_first (l,
                                  "SELECT n.text, e.after FROM rebase e"
                                  " JOIN name n ON n.id = e.link",
                                  NONE);

    for (; row; row = db_next (l, row)) {
        int64_t after = sqlite3_column_int64 (row, 1);
        size_t i = 0;

        while (i < net->nlinks && strcmp (net->link[i].id, db_text (row, 0)))
            i++;
        if (i == net->nlinks)
            continue;
        if (!r->after)
            r->after = xcalloc (net->nlinks, sizeof (*r->after));
        r->after[i] = after;
        if (after > r->last_after)
            r->last_after = after;
        if (net->link[i].kind == LINK_SWITCH && after > r->flows_after)
            r->flows_after = after;
    }
}

static void reading_start (struct rtt_reader *r, const struct pathset *ps)
{
    r->ps = ps;
    find_end_ids (r);
    find_rebases (r);
}

static void reading_clear (struct rtt_reader *r)
{
    sqlite3_reset (r->row);
    map_clear (&r->end);
    free (r->after);
}

static uint32_t end_of_column (const struct rtt_reader *r, int column)
{
    int64_t id = sqlite3_column_int64 (r->row, column);
    uint32_t end = map_find (&r->end, (uint64_t)id);
    sqlite3_stmt *name;

    if (end == MAP_NONE
        && (name = db_first (r->ledger, "SELECT text FROM name WHERE id = ?",
                             VALUES (INT (id))))) {
        db_refuse (r->ledger, EINVAL, "endpoint %.63s is not in the fabric",
                   db_text (name, 0));
        sqlite3_reset (name);
    }
    return end;
}

/* Whether a link between two ends was rebased after the audit. */
static bool is_rebased (const struct rtt_reader *r, uint32_t a, uint32_t b,
                        int64_t audit)
{
    struct ledger *l = r->ledger;
    struct row row;

    if (audit > r->last_after)
        return false;
    if (pathset_row (r->ps, a, b, &row, l->err) < 0) {
        db_fail (l);
        return true;
    }
    for (size_t i = 0; i < row.n; i++)
        if (audit <= r->after[row.link[i]])
            return true;
    return false;
}

static void read_ledger_flows (sqlite3_stmt *row, struct sample *s,
                               double *flow_ns)
{
    const uint8_t *times = sqlite3_column_blob (row, MORE);
    int n = sqlite3_column_bytes (row, MORE) / DB_FLOW_BYTES;

    s->flow_ns = flow_ns;
    for (int f = 0; times && f < n && f < SAMPLE_FLOWS_MAX; f++) {
        unsigned int t = times[DB_FLOW_BYTES * f]
                         | (unsigned int)times[DB_FLOW_BYTES * f + 1] << 8;

        flow_ns[s->nflows++]
            = t == DB_FLOW_LOST ? NAN : round (s->rtt_ns[RTT_MIN]) + t;
    }
}

/* Read the samples of the next audit and, by `sound`, how they were spread.
 * Return false after the last one.
 */
static bool read_audit_samples (struct rtt_reader *r, struct samples *s,
                                int64_t *audit, int64_t *begun)
{
    bool more = r->row && sqlite3_column_count (r->row) > MORE;

    for (size_t i = 0; i < s->nsamples; i++)
        free (s->sample[i].flow_ns);
    s->nsamples = s->nloopbacks = 0;
    if (!r->row)
        return false;
    *audit = sqlite3_column_int64 (r->row, 0);
    *begun = sqlite3_column_int64 (r->row, 1);
    if (more) {
        s->level = (uint64_t)sqlite3_column_int64 (r->row, MORE + 1) & 0xf;
        s->rc = sqlite3_column_int64 (r->row, MORE + 2) != 0;
        s->spread
            = (uint64_t)sqlite3_column_int64 (r->row, MORE + 3) & UINT32_MAX;
    }
    for (; r->row && sqlite3_column_int64 (r->row, 0) == *audit;
         r->row = db_next (r->ledger, r->row)) {
        struct sample sample
            = { .a = end_of_column (r, 2), .b = end_of_column (r, 3) };
        double flow_ns[SAMPLE_FLOWS_MAX];

        if (sample.a == MAP_NONE || sample.b == MAP_NONE
            || is_rebased (r, sample.a, sample.b, *audit))
            continue;
        sample.round = (uint32_t)sqlite3_column_int64 (r->row, 4);
        sample.initiator = sqlite3_column_int (r->row, 5) ? sample.a : sample.b;
        sample.sent = (uint32_t)sqlite3_column_int64 (r->row, 6);
        sample.lost = (uint32_t)sqlite3_column_int64 (r->row, 7);
        for (int q = 0; q < RTT_COUNT; q++)
            sample.rtt_ns[q] = sqlite3_column_double (r->row, NS + q);
        for (int w = 0; w < 2 && more; w++) /* NULL is 0 */
            sample.way_ns[w] = sqlite3_column_double (r->row, MORE + 4 + w);
        if (more && *audit > r->flows_after)
            read_ledger_flows (r->row, &sample, flow_ns);
        samples_add (s, &sample);
    }
    return true;
}

/*
 * A baseline
 */

static void add_audit_loopbacks (const struct rtt_reader *r, struct samples *s,
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

/* The names of all ends that these audits measured, each once. */
static char **read_measured_ends (const struct rtt_reader *r, int64_t from,
                                  int64_t to, size_t *n)
{
#define ENDS(end)                                                             \
    "SELECT t." end " FROM rtt r CROSS JOIN route t ON t.id = r.route"        \
    " WHERE r.audit BETWEEN ?1 AND ?2 AND +t.epoch = ?3"
    struct ledger *l = r->ledger;
    sqlite3_stmt *row = db_first (l,
                                  "SELECT text FROM name WHERE id IN (" ENDS (
                                      "a") " UNION ALL " ENDS ("b") ") ORDER BY text",
                                  VALUES (INT (from), INT (to),
                                          INT (r->epoch)));
    char **name = NULL;

    for (*n = 0; row; row = db_next (l, row)) {
        name = xgrow (name, *n, sizeof (*name));
        name[(*n)++] = xstrdup (db_text (row, 0));
    }
    return name;
}

/* what links carried, but those suspected then; those that were UNKNOWN are in it, as
 * the judge asks how often in a row they were low
 */
static const char carried[]
    = "SELECT r.audit, r.link, r.way, r.bits, r.offered FROM audit a JOIN rate r"
      " ON r.audit = a.id WHERE a.epoch = ?1 AND a.id BETWEEN ?2 AND ?3"
      " AND r.bits > 0 AND r.offered > 0 AND " DB_SOUND ("a")
      " AND NOT EXISTS (SELECT 1 FROM suspect s JOIN finding f"
      " ON f.audit = s.audit AND f.seq = s.finding AND f.basis <> ?4"
      " AND f.level <> 'UNKNOWN'"
      " WHERE s.audit = r.audit AND s.link = r.link) ORDER BY a.id DESC";

/* Add it for these audits, but links that were rebased since. */
static void add_ledger_rates (const struct rtt_reader *r, struct baseline *b,
                              int64_t from, int64_t to)
{
    const struct network *net = pathset_network (r->ps);
    struct map link = { 0 }; /* of the network, by the id of its name */
    int64_t id;
    sqlite3_stmt *row
        = db_first (r->ledger, carried,
                    VALUES (INT (r->epoch), INT (from), INT (to),
                            NAME (finding_basis_name (BASIS_LOOPBACK))));

    for (uint32_t i = 0; row && i < net->nlinks; i++)
        if (db_name (r->ledger, net->link[i].id, &id))
            map_put (&link, (uint64_t)id, i);
    for (; row; row = db_next (r->ledger, row)) {
        int64_t audit = sqlite3_column_int64 (row, 0);
        uint32_t of = map_find (&link, (uint64_t)sqlite3_column_int64 (row, 1));

        if (of == MAP_NONE || (r->after && audit <= r->after[of]))
            continue;
        baseline_add_rate (
            b, &(struct baseline_rate){
                   audit, 2 * of + (sqlite3_column_int64 (row, 2) != 0),
                   (float)sqlite3_column_double (row, 3),
                   (float)sqlite3_column_double (row, 4) });
    }
    sort_array (b->rate, b->nrates, compare_baseline_rates);
    map_clear (&link);
}

struct baseline *ledger_baseline (struct ledger *l, const char *fabric,
                                  int64_t from, int64_t to,
                                  pathset_resolve_f resolve, void *arg,
                                  struct error *err)
{
    struct rtt_reader r = { .ledger = l };
    struct samples *s = samples_create (); /* of one audit */
    struct baseline *b = NULL;
    struct pathset *ps = NULL;
    int64_t audit, begun;
    char **name;
    size_t n;

    db_begin_read (l, err);
    r.epoch = db_epoch (l, fabric);
    name = read_measured_ends (&r, from, to, &n);
    if (n == 0)
        refuse_empty_ledger (l);
    if (!l->failed && !(ps = resolve ((const char **)name, n, arg, err)))
        db_fail (l);
    for (size_t i = 0; i < n; i++)
        free (name[i]);
    free (name);
    if (!l->failed) {
        reading_start (&r, ps);
        b = baseline_create (ps);
        db_run (l, &b->open,
                "SELECT min (id) FROM audit WHERE ended IS NULL"
                " AND begun > (SELECT max (begun) FROM audit) - 86400",
                NONE);
        r.row = db_first (l, sound,
                          VALUES (INT (r.epoch), INT (from), INT (to),
                                  NAME (finding_basis_name (BASIS_LOOPBACK))));
    }
    while (!l->failed && read_audit_samples (&r, s, &audit, &begun)) {
        add_audit_loopbacks (&r, s, audit);
        if (!l->failed && baseline_add (b, s, audit, err) < 0)
            db_fail (l);
    }
    if (!l->failed)
        add_ledger_rates (&r, b, from, to);
    reading_clear (&r);
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

#define ALL UINT32_MAX

/* What a time wants of an audit. */
struct want {
    int64_t audit;
    uint32_t time, end; /* ALL, or RTTs of this endpoint of the set */
};

struct gathered_time {
    int64_t now, from; /* `from`: not older than this */
    int64_t first;     /* the oldest audit of which it wants all; 0: none */
    size_t all, wants; /* audits of which it wants all; wants, until now */
    struct combine *combine;
    bool *met; /* [endpoints of the set] */
};

struct gathering {
    struct rtt_reader reading;
    const struct ledger_ageing *ageing; /* [times] */
    struct gathered_time *time;
    size_t times;
    struct want *want; /* those before `done` are done, the others by audits */
    size_t wants, done;
    ledger_combined_f *take;
    void *arg;
    struct error *err;
};

static void request_audit_samples (struct gathering *g, int64_t audit,
                                   uint32_t time, uint32_t end)
{
    g->want = xgrow (g->want, g->wants, sizeof (*g->want));
    g->want[g->wants++] = (struct want){ audit, time, end };
    g->time[time].wants++;
}

/* The newest audit first. */
static int compare_wants (const void *va, const void *vb)
{
    const struct want *a = va;
    const struct want *b = vb;

    return a->audit != b->audit  ? util_compare (b->audit, a->audit)
           : a->time != b->time ? util_compare (a->time, b->time)
                                : util_compare (a->end, b->end);
}

static void sort_wants (struct gathering *g)
{
    sort_array (g->want + g->done, g->wants - g->done, compare_wants);
}

/* Want the newest audits that have enough. */
static void request_newest_audits (struct gathering *g, uint32_t time)
{
    struct ledger *l = g->reading.ledger;
    struct gathered_time *t = &g->time[time];
    const struct ledger_ageing *ageing = &g->ageing[time];
    size_t links = pathset_network (g->reading.ps)->nlinks;
    int64_t enough = ageing->enough > 0
                         ? ageing->enough
                         : (int64_t)fmax (ENOUGH, ENOUGH_FOR_LINK * (double)links);
    int64_t rtts = 0;
    sqlite3_stmt *row;

    t->now = ageing->now;
    t->from = INT64_MIN;
    /* not older than the newest: a clock may be ahead */
    db_run (l, &t->now,
            "SELECT begun FROM audit WHERE begun <= ? ORDER BY begun DESC"
            " LIMIT 1",
            VALUES (INT (ageing->now)));
    if (ageing->half_life_s > 0)
        t->from = t->now - (int64_t)(FORGOTTEN * ageing->half_life_s);
    row = db_first (l,
                    "SELECT a.id, (SELECT count(*) FROM rtt r"
                    " WHERE r.audit = a.id) FROM audit a WHERE a.epoch = ?"
                    " AND a.begun BETWEEN ? AND ? ORDER BY a.id DESC",
                    VALUES (INT (g->reading.epoch), INT (t->from),
                            INT (ageing->until)));
    for (; row && rtts < enough; row = db_next (l, row)) {
        t->first = sqlite3_column_int64 (row, 0);
        rtts += sqlite3_column_int64 (row, 1);
        request_audit_samples (g, t->first, time, ALL);
        t->all++;
    }
    sqlite3_reset (row);
}

/* Want of each endpoint that these lack the newest audit that its host answered.
 */
static void request_older_audits (struct gathering *g, uint32_t time)
{
    const struct gathered_time *t = &g->time[time];
    const struct pathset *ps = g->reading.ps;
    int64_t audit;

    for (uint32_t i = 0; i < pathset_size (ps) && t->first > 0; i++)
        if (!t->met[i]
            && db_run (g->reading.ledger, &audit,
                       "SELECT m.audit FROM member m JOIN audit a"
                       " ON a.id = m.audit WHERE m.host = " DB_NAMED ("?1")
                       " AND m.answered = 1 AND m.audit < ?2"
                       " AND a.epoch = ?3 AND a.begun BETWEEN ?4 AND ?5"
                       " ORDER BY m.audit DESC LIMIT 1",
                       VALUES (NAME (pathset_endpoint (ps, i)->host),
                               INT (t->first), INT (g->reading.epoch),
                               INT (t->from), INT (g->ageing[time].until))))
            request_audit_samples (g, audit, time, i);
    sort_wants (g);
}

/* Add what a time wants of an audit, from want `i` on. Return the first want
 * that is another time's or audit's.
 */
static size_t add_wanted (struct gathering *g, size_t i, int64_t begun,
                          const struct samples *s,
                          const struct observations *o)
{
    const struct want first = g->want[i];
    const struct ledger_ageing *ageing = &g->ageing[first.time];
    struct gathered_time *t = &g->time[first.time];
    /* an audit in the future has age 0: clocks step back */
    double age = fmax ((double)t->now - (double)begun, 0);
    double share
        = ageing->half_life_s > 0 ? exp2 (-age / ageing->half_life_s) : 1;
    struct observations part = { .sigma_ns = o->sigma_ns };
    bool *wanted;

    if (first.end == ALL) {
        for (size_t k = 0; k < s->nsamples; k++)
            t->met[s->sample[k].a] = t->met[s->sample[k].b] = true;
        combine_add (t->combine, o, share);
        t->all--;
        return i + 1;
    }
    part.v = xarray (o->n, sizeof (*part.v));
    wanted = xcalloc (pathset_size (g->reading.ps), sizeof (*wanted));
    for (; i < g->wants && g->want[i].audit == first.audit
           && g->want[i].time == first.time;
         i++)
        wanted[g->want[i].end] = true;
    for (size_t k = 0; k < o->n; k++)
        if (wanted[o->v[k].a] || wanted[o->v[k].b])
            part.v[part.n++] = o->v[k];
    combine_add (t->combine, &part, share);
    observations_clear (&part);
    free (wanted);
    return i;
}

/* Hand over a time whose audits were all read. */
static void finish_gathered_time (struct gathering *g, uint32_t time)
{
    struct gathered_time *t = &g->time[time];
    struct observations o = { 0 };

    if (combine_finish (t->combine, g->reading.ps, &o, g->err) < 0) {
        observations_clear (&o);
        db_fail (g->reading.ledger);
    }
    else
        g->take (g->arg, time, &o);
    combine_destroy (t->combine);
    t->combine = NULL;
}

/* Read the next audit, for all times that want it. */
static void gather_next_audit (struct gathering *g, struct samples *s)
{
    struct rtt_reader *r = &g->reading;
    struct ledger *l = r->ledger;
    size_t i = g->done;
    int64_t audit = g->want[i].audit, begun = 0;
    struct observations o = { 0 };

    ledger_work (l, "audit", (int64_t)g->done, (int64_t)g->wants);
    r->row = db_first (l, all, VALUES (INT (r->epoch), INT (audit),
                                       INT (audit)));
    if (!read_audit_samples (r, s, &audit, &begun))
        s->nsamples = 0;
    observe (&o, NULL, s, g->ageing->quantile, &(struct accuracy){ 0 }, g->err);
    while (!l->failed && i < g->wants && g->want[i].audit == audit) {
        uint32_t time = g->want[i].time;
        struct gathered_time *t = &g->time[time];
        size_t next = add_wanted (g, i, begun, s, &o);
        bool were_all = g->want[i].end == ALL;

        t->wants -= next - i;
        g->done = i = next;
        if (were_all && t->all == 0)
            request_older_audits (g, time);
        if (t->wants == 0)
            finish_gathered_time (g, time);
    }
    observations_clear (&o);
}

int ledger_combine_times (struct ledger *l, const struct pathset *ps,
                          const struct ledger_ageing *ageing, size_t times,
                          ledger_combined_f *take, void *arg,
                          struct error *err)
{
    struct gathering g = {
        .reading.ledger = l, .ageing = ageing,
        .time = xcalloc (times, sizeof (*g.time)), .times = times, .take = take,
        .arg = arg, .err = err,
    };
    struct samples *s = samples_create (); /* of one audit */

    db_begin_read (l, err);
    g.reading.epoch = db_epoch (l, pathset_network (ps)->hash);
    reading_start (&g.reading, ps);
    for (uint32_t i = 0; i < times; i++) {
        g.time[i].combine = combine_create ();
        g.time[i].met = xcalloc (pathset_size (ps), sizeof (bool));
        request_newest_audits (&g, i);
        if (g.time[i].wants == 0
            && !db_run (l, NULL, "SELECT 1 FROM route WHERE epoch = ?",
                        VALUES (INT (g.reading.epoch))))
            refuse_empty_ledger (l);
        if (g.time[i].wants == 0 && !l->failed)
            finish_gathered_time (&g, i);
    }
    sort_wants (&g);
    while (!l->failed && g.done < g.wants)
        gather_next_audit (&g, s);
    samples_destroy (s);
    reading_clear (&g.reading);
    for (size_t i = 0; i < times; i++) {
        combine_destroy (g.time[i].combine);
        free (g.time[i].met);
    }
    free (g.time);
    free (g.want);
    return (int)db_end (l, 0);
}

static void keep_observations (void *kept, size_t time, struct observations *o)
{
    (void)time;
    *(struct observations *)kept = *o;
}

int ledger_combine (struct ledger *l, const struct pathset *ps,
                    const struct ledger_ageing *ageing,
                    struct observations *o, struct error *err)
{
    *o = (struct observations){ 0 };
    return ledger_combine_times (l, ps, ageing, 1, keep_observations, o, err);
}
