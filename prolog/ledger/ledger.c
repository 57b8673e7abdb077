/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What enters the ledger. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "prolog/ledger/ledger_db.h"

enum { SENTENCE_MAX = 256 };

/* The id of what one statement finds and, where it does not, another adds. */
static int find_or_add (struct ledger *l, enum db_stmt find, enum db_stmt add,
                        int64_t *id, bool *added, const struct db_value *v,
                        size_t n, struct error *err)
{
    int rc = db_run (l, find, id, v, n, err);

    *added = rc == 0;
    if (rc != 0)
        return rc < 0 ? -1 : 0;
    if (db_run (l, add, NULL, v, n, err) < 0)
        return -1;
    *id = sqlite3_last_insert_rowid (l->db);
    return 0;
}

/*
 * Begin
 */

static int draw_nonce (char nonce[LEDGER_NONCE_BYTES], struct error *err)
{
    uint64_t n[2];

    if (getrandom (n, sizeof (n), 0) != sizeof (n))
        return error_errno (err, "cannot draw a nonce");
    snprintf (nonce, LEDGER_NONCE_BYTES, "%016" PRIx64 "%016" PRIx64, n[0],
              n[1]);
    return 0;
}

const char *ledger_why_name (enum ledger_why why)
{
    static const char *const names[] = {
        [LEDGER_BY_HAND] = "hand", [LEDGER_JOB] = "job",
        [LEDGER_CHECK] = "check",  [LEDGER_SWEEP] = "sweep",
        [LEDGER_CONFIRM] = "confirm", [LEDGER_AGAIN] = "again",
        [LEDGER_SEARCH] = "search",
    };

    return names[why];
}

/* That a job has no audit yet. */
static int check_job (struct ledger *l, const struct ledger_cause *c,
                      struct error *err)
{
    int64_t id = ledger_audited (l, c->job, c->submitted, err);

    if (id > 0)
        return db_refuse (l, EEXIST, err, "job %ju has its audit %jd",
                          (uintmax_t)c->job, (intmax_t)id);
    return id < 0 ? -1 : 0;
}

/* A name's id as a value, NULL where there is none. */
static int named (struct ledger *l, const char *name, struct db_value *v,
                  struct error *err)
{
    *v = (struct db_value)TEXT (NULL);
    if (!name)
        return 0;
    *v = (struct db_value)INT (0);
    return db_name (l, name, &v->i, err);
}

static int64_t begin (struct ledger *l, int64_t time, const char *fabric,
                      const struct ledger_cause *cause,
                      const char *const *host, size_t n, const char *nonce,
                      struct error *err)
{
    static const struct db_value none = TEXT (NULL);
    bool users = cause->why == LEDGER_JOB || cause->why == LEDGER_CHECK;
    struct db_value uid = INT (cause->uid);
    struct db_value node, leader;
    int64_t epoch, audit, id;
    bool added;

    if (!users || cause->uid < 0)
        uid = none;
    if (check_job (l, cause, err) < 0
        || named (l, cause->node, &node, err) < 0
        || named (l, cause->leader, &leader, err) < 0
        || find_or_add (l, DB_FIND_EPOCH, DB_ADD_EPOCH, &epoch, &added,
                     VALUES (NAME (fabric)), err) < 0
        || db_run (l, DB_BEGIN_AUDIT, NULL,
                   VALUES (INT (time), INT (epoch), INT ((int64_t)cause->job),
                           NAME (nonce), NAME (ledger_why_name (cause->why)),
                           INT (cause->submitted), uid, node, leader),
                   err) < 0)
        return -1;
    audit = sqlite3_last_insert_rowid (l->db);
    for (size_t i = 0; i < n; i++)
        if (db_name (l, host[i], &id, err) < 0
            || db_run (l, DB_ADD_MEMBER, NULL, VALUES (INT (audit), INT (id)),
                       err) < 0)
            return -1;
    return audit;
}

int64_t ledger_begin (struct ledger *l, int64_t time, const char *fabric,
                      const struct ledger_cause *cause,
                      const char *const *host, size_t n,
                      char nonce[LEDGER_NONCE_BYTES], struct error *err)
{
    if (n == 0 || n > LEDGER_HOSTS_MAX)
        return db_refuse (l, EINVAL, err, "an audit is of 1 to %d hosts",
                          LEDGER_HOSTS_MAX);
    if (draw_nonce (nonce, err) < 0 || db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return db_end (l, begin (l, time, fabric, cause, host, n, nonce, err),
                   err);
}

static int led (struct ledger *l, int64_t audit, const char *leader,
                struct error *err)
{
    struct db_value node;

    return named (l, leader, &node, err) < 0
                   || db_run (l, DB_LED, NULL, VALUES (node, INT (audit)), err)
                          < 0
               ? -1
               : 0;
}

int ledger_led (struct ledger *l, int64_t audit, const char *leader,
                struct error *err)
{
    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return (int)db_end (l, led (l, audit, leader, err), err);
}

int64_t ledger_give_up (struct ledger *l, int64_t time, int64_t audit,
                        const char *sentence, struct error *err)
{
    if (db_run (l, DB_GIVE_UP, NULL,
                VALUES (INT (time), TEXT (sentence), INT (audit)),
                err) < 0)
        return -1;
    return sqlite3_changes (l->db);
}

/*
 * Record
 */

struct record {
    struct ledger *l;
    int64_t audit, epoch;
    const struct pathset *ps;
    const struct network *net;
};

/* Find the audit that the samples are the result of. */
static int find_audit (struct record *r, const struct samples *s,
                       struct error *err)
{
    sqlite3_stmt *stmt = db_bind (r->l, DB_FIND_NONCE,
                                  VALUES (NAME (s->nonce)), err);
    int rc = stmt ? db_step (r->l, DB_FIND_NONCE, err) : -1;

    if (rc == 0)
        rc = db_refuse (r->l, EPERM, err, "these samples are of no audit that "
                                          "was begun here");
    else if (rc == 1) {
        r->audit = sqlite3_column_int64 (stmt, 0);
        r->epoch = sqlite3_column_int64 (stmt, 1);
        rc = 0;
        if (sqlite3_column_type (stmt, 2) != SQLITE_NULL)
            rc = db_refuse (r->l, EEXIST, err, "audit %jd has its result",
                            (intmax_t)r->audit);
        else if (strcmp ((const char *)sqlite3_column_text (stmt, 3),
                         r->net->hash))
            rc = db_refuse (r->l, EINVAL, err,
                            "audit %jd was begun on another fabric",
                            (intmax_t)r->audit);
    }
    db_reset (r->l, DB_FIND_NONCE);
    return rc;
}

static int add_hosts (struct record *r, char **host, size_t n, bool answered,
                      struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (db_run (r->l, DB_ANSWERED, NULL,
                    VALUES (INT (r->audit), NAME (host[i]), INT (answered)),
                    err) < 0)
            return -1;
        if (sqlite3_changes (r->l->db) == 0)
            return db_refuse (r->l, EPERM, err,
                              "audit %jd was not begun for host %.63s",
                              (intmax_t)r->audit, host[i]);
    }
    return 0;
}

static int add_row (struct record *r, int64_t route, uint32_t a, uint32_t b,
                    struct error *err)
{
    struct row row;
    int64_t link;

    if (pathset_row (r->ps, a, b, &row, err) < 0)
        return -1;
    for (size_t i = 0; i < row.n; i++)
        if (db_name (r->l, r->net->link[row.link[i]].id, &link, err) < 0
            || db_run (r->l, DB_ADD_CROSSING, NULL,
                       VALUES (INT (route), INT (link), INT (row.count[i])),
                       err) < 0)
            return -1;
    return 0;
}

/* The route of a sample, whose ends are in the order of their names: there and
 * back is the same row.
 */
static int find_route (struct record *r, const struct sample *s,
                       int64_t *route, bool *first, struct error *err)
{
    const char *a = pathset_endpoint (r->ps, s->a)->name;
    const char *b = pathset_endpoint (r->ps, s->b)->name;
    bool swap = strcmp (a, b) > 0;
    int64_t ia, ib;
    bool added;

    *first = swap == (s->initiator == s->b);
    if (db_name (r->l, swap ? b : a, &ia, err) < 0
        || db_name (r->l, swap ? a : b, &ib, err) < 0
        || find_or_add (r->l, DB_FIND_ROUTE, DB_ADD_ROUTE, route, &added,
                        VALUES (INT (r->epoch), INT (ia), INT (ib)), err) < 0)
        return -1;
    return added ? add_row (r, *route, s->a, s->b, err) : 0;
}

static int add_sample (struct record *r, size_t seq, const struct sample *s,
                       struct error *err)
{
    bool none = s->lost == s->sent;
    double q[RTT_COUNT];
    int64_t route;
    bool first;

    for (int i = 0; i < RTT_COUNT; i++)
        q[i] = none ? NAN : s->rtt_ns[i];
    if (find_route (r, s, &route, &first, err) < 0)
        return -1;
    return db_run (r->l, DB_ADD_RTT, NULL,
                   VALUES (INT (r->audit), INT ((int64_t)seq), INT (route),
                           INT (s->round), INT (first), INT (s->sent),
                           INT (s->lost), REAL (q[RTT_MIN]),
                           REAL (q[RTT_P05]), REAL (q[RTT_P25]),
                           REAL (q[RTT_MEDIAN]), REAL (q[RTT_P75]),
                           REAL (q[RTT_P95]), REAL (q[RTT_MAX])),
                   err);
}

/* The loopback of n of an endpoint, from `first` on in a list that is sorted by
 * endpoints, whose fastest is the middle one.
 */
static const struct loopback *middle (const struct loopback *const *first,
                                      size_t n)
{
    const struct loopback *best = first[0];

    for (size_t i = 0; i < n; i++) {
        size_t before = 0;

        for (size_t k = 0; k < n; k++)
            before += first[k]->rtt_ns[RTT_MIN] < first[i]->rtt_ns[RTT_MIN]
                      || (first[k]->rtt_ns[RTT_MIN]
                              == first[i]->rtt_ns[RTT_MIN]
                          && k < i);
        if (before == n / 2)
            best = first[i];
    }
    return best;
}

static int compare_ends (const void *a, const void *b)
{
    const struct loopback *x = *(const struct loopback *const *)a;
    const struct loopback *y = *(const struct loopback *const *)b;

    return (x->end > y->end) - (x->end < y->end);
}

static int add_loopback (struct record *r, const struct loopback *l,
                         struct error *err)
{
    const double *q = l->rtt_ns;
    int64_t end;

    if (db_name (r->l, pathset_endpoint (r->ps, l->end)->name, &end, err) < 0)
        return -1;
    return db_run (r->l, DB_ADD_LOOPBACK, NULL,
                   VALUES (INT (r->audit), INT (end), REAL (q[RTT_MIN]),
                           REAL (q[RTT_P05]), REAL (q[RTT_P25]),
                           REAL (q[RTT_MEDIAN]), REAL (q[RTT_P75]),
                           REAL (q[RTT_P95]), REAL (q[RTT_MAX])),
                   err);
}

/* Of each endpoint one will do. */
static int add_loopbacks (struct record *r, const struct samples *s,
                          struct error *err)
{
    const struct loopback **v = calloc (s->nloopbacks + 1, sizeof (*v));
    size_t n;
    int rc = v ? 0 : error_nomem (err);

    for (size_t i = 0; v && i < s->nloopbacks; i++)
        v[i] = &s->loopback[i];
    if (v)
        qsort (v, s->nloopbacks, sizeof (*v), compare_ends);
    for (size_t i = 0; rc >= 0 && i < s->nloopbacks; i += n) {
        for (n = 1; i + n < s->nloopbacks && v[i + n]->end == v[i]->end; n++)
            ;
        rc = add_loopback (r, middle (&v[i], n), err);
    }
    free (v);
    return rc;
}

/* One that is not of the audit, or did not answer, is passed over. */
static int add_node (struct record *r, const struct node *n,
                     struct error *err)
{
    return db_run (r->l, DB_ADD_NODE, NULL,
                   VALUES (INT (r->audit), NAME (n->host), NAME (n->boot),
                           NAME (n->kernel), NAME (n->governor),
                           INT (n->numa), INT (n->adapter_numa)), err);
}

static int add_suspect (struct record *r, size_t finding, size_t seq,
                        const char *role, const char *name, struct error *err)
{
    int64_t id;

    if (db_name (r->l, name, &id, err) < 0)
        return -1;
    return db_run (r->l, DB_ADD_SUSPECT, NULL,
                   VALUES (INT (r->audit), INT ((int64_t)finding),
                           INT ((int64_t)seq), NAME (role), INT (id)), err);
}

static int add_finding (struct record *r, size_t n, const struct finding *f,
                        struct error *err)
{
    size_t seq = 0;
    int rc = db_run (r->l, DB_ADD_FINDING, NULL,
                     VALUES (INT (r->audit), INT ((int64_t)n),
                             NAME (verdict_status_name (f->level)),
                             NAME (finding_kind_name (f->kind)),
                             NAME (finding_basis_name (f->basis)),
                             REAL (f->excess_ns), REAL (f->stderr_ns),
                             REAL (f->expected_ns), TEXT (f->why)), err);

    for (size_t i = 0; rc >= 0 && i < f->nsuspects; i++)
        rc = add_suspect (r, n, seq++, "link", r->net->link[f->suspect[i]].id,
                          err);
    for (size_t i = 0; rc >= 0 && i < f->noneway; i++)
        rc = add_suspect (r, n, seq++, "one way",
                          r->net->link[f->oneway[i]].id, err);
    for (size_t i = 0; rc >= 0 && i < f->nsw; i++)
        rc = add_suspect (r, n, seq++, "switch", r->net->sw[f->sw[i]].id,
                          err);
    return rc;
}

static int add_open (struct record *r, uint32_t link, struct error *err)
{
    int64_t id;

    if (db_name (r->l, r->net->link[link].id, &id, err) < 0)
        return -1;
    return db_run (r->l, DB_ADD_OPEN, NULL, VALUES (INT (r->audit), INT (id)),
                   err);
}

static int add_verdict (struct record *r, int64_t time,
                        const struct samples *s, const struct verdict *v,
                        struct error *err)
{
    char sentence[SENTENCE_MAX];

    for (size_t i = 0; i < v->nfindings; i++)
        if (add_finding (r, i, &v->finding[i], err) < 0)
            return -1;
    for (size_t i = 0; i < v->nopen; i++)
        if (add_open (r, v->open[i], err) < 0)
            return -1;
    for (size_t i = 0; i < v->nlimits; i++)
        if (db_run (r->l, DB_ADD_LIMIT, NULL,
                    VALUES (INT (r->audit), INT ((int64_t)i),
                            TEXT (v->limit[i])), err) < 0)
            return -1;
    verdict_sentence (v, r->net, sentence, sizeof (sentence));
    return db_run (r->l, DB_END_AUDIT, NULL,
                   VALUES (INT (r->audit), INT (time), INT ((int64_t)s->job),
                           INT ((int64_t)s->step),
                           NAME (verdict_status_name (v->status)),
                           INT (s->complete), TEXT (sentence),
                           INT (v->limited)), err);
}

static int64_t record (struct record *r, int64_t time,
                       const struct samples *s, const struct verdict *v,
                       struct error *err)
{
    if (find_audit (r, s, err) < 0
        || add_hosts (r, s->answered, s->nanswered, true, err) < 0
        || add_hosts (r, s->missing, s->nmissing, false, err) < 0)
        return -1;
    for (size_t i = 0; i < s->nsamples; i++)
        if (add_sample (r, i, &s->sample[i], err) < 0)
            return -1;
    if (add_loopbacks (r, s, err) < 0)
        return -1;
    for (size_t i = 0; i < s->nnodes; i++)
        if (add_node (r, &s->node[i], err) < 0)
            return -1;
    if (db_run (r->l, DB_SEEN, NULL, VALUES (INT (r->audit)), err) < 0)
        return -1;
    return add_verdict (r, time, s, v, err) < 0 ? -1 : r->audit;
}

int64_t ledger_record (struct ledger *l, int64_t time,
                       const struct pathset *ps,
                       const struct samples *samples,
                       const struct verdict *verdict, struct error *err)
{
    struct record r = { .l = l, .ps = ps, .net = pathset_network (ps) };

    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return db_end (l, record (&r, time, samples, verdict, err), err);
}

/*
 * Counters, signs, actions, mutes, rebases
 */

static int check_audit (struct ledger *l, int64_t audit, struct error *err)
{
    int64_t id = ledger_next (l, audit - 1, err);

    if (id >= 0 && id != audit)
        return db_refuse (l, ENOENT, err, "there is no audit %jd",
                          (intmax_t)audit);
    return id < 0 ? -1 : 0;
}

static int add_counter (struct ledger *l, int64_t audit,
                        const struct ledger_counter *c, struct error *err)
{
    int64_t port, name;

    if (c->value > INT64_MAX)
        return db_refuse (l, ERANGE, err, "counter %.40s is too large",
                          c->name);
    if (db_name (l, c->port, &port, err) < 0
        || db_name (l, c->name, &name, err) < 0)
        return -1;
    return db_run (l, DB_ADD_COUNTER, NULL,
                   VALUES (INT (audit), INT (port), INT (name),
                           INT ((int64_t)c->value)), err);
}

int ledger_counters (struct ledger *l, int64_t audit,
                     const struct ledger_counter *counter, size_t n,
                     struct error *err)
{
    int rc;

    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    rc = check_audit (l, audit, err);
    for (size_t i = 0; rc >= 0 && i < n; i++)
        rc = add_counter (l, audit, &counter[i], err);
    return (int)db_end (l, rc, err);
}

int ledger_counter_last (struct ledger *l, int64_t audit, const char *port,
                         const char *name, uint64_t *value, int64_t *begun,
                         struct error *err)
{
    sqlite3_stmt *stmt = db_bind (l, DB_LAST_COUNTER,
                                  VALUES (INT (audit), NAME (port),
                                          NAME (name)), err);
    int rc = stmt ? db_step (l, DB_LAST_COUNTER, err) : -1;

    if (rc == 1) {
        *value = (uint64_t)sqlite3_column_int64 (stmt, 0);
        *begun = sqlite3_column_int64 (stmt, 1);
    }
    db_reset (l, DB_LAST_COUNTER);
    return rc;
}

static int add_sign (struct ledger *l, int64_t audit, const char *link,
                     const char *host, const char *kind, int64_t time,
                     struct error *err)
{
    static const char *const kinds[] = { "counter", "width", "speed" };
    struct db_value at = TEXT (NULL);
    int64_t id;
    size_t i = 0;

    while (i < sizeof (kinds) / sizeof (kinds[0]) && strcmp (kinds[i], kind))
        i++;
    if (i == sizeof (kinds) / sizeof (kinds[0]))
        return db_refuse (l, EINVAL, err, "'%.40s' is no kind of sign", kind);
    if (check_audit (l, audit, err) < 0)
        return -1;
    if (host) {
        if (db_name (l, host, &id, err) < 0)
            return -1;
        at = (struct db_value)INT (id);
    }
    if (db_name (l, link, &id, err) < 0)
        return -1;
    return db_run (l, DB_ADD_SIGN, NULL,
                   VALUES (INT (audit), INT (id), at, NAME (kind),
                           INT (time)), err);
}

int ledger_sign_add (struct ledger *l, int64_t audit, const char *link,
                     const char *host, const char *kind, int64_t time,
                     struct error *err)
{
    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return (int)db_end (l, add_sign (l, audit, link, host, kind, time, err),
                        err);
}

static int add_fault (struct ledger *l, int64_t audit, const char *node,
                      const char *cause, struct error *err)
{
    int64_t id;

    if (check_audit (l, audit, err) < 0 || db_name (l, node, &id, err) < 0)
        return -1;
    return db_run (l, DB_ADD_FAULT, NULL,
                   VALUES (INT (audit), INT (id), TEXT (cause)), err);
}

int ledger_fault_add (struct ledger *l, int64_t audit, const char *node,
                      const char *cause, struct error *err)
{
    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return (int)db_end (l, add_fault (l, audit, node, cause, err), err);
}

static int64_t intend (struct ledger *l, int64_t time,
                       const struct ledger_action *a, struct error *err)
{
    int64_t id, after = 0;
    int rc = db_run (l, DB_FIND_ACTION, &id,
                     VALUES (NAME (a->node), NAME (a->kind)), err);

    if (rc != 0)
        return rc < 0 ? -1 : id;
    if (db_run (l, DB_LAST_AUDIT, &after, VALUES (INT (0)), err) < 0
        || db_run (l, DB_ADD_ACTION, NULL,
                   VALUES (INT (after), NAME (a->node), NAME (a->link),
                           NAME (a->kind), INT (time), TEXT (a->reason),
                           TEXT (a->why)), err) < 0)
        return -1;
    return sqlite3_last_insert_rowid (l->db);
}

int64_t ledger_intend (struct ledger *l, int64_t time,
                       const struct ledger_action *action, struct error *err)
{
    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return db_end (l, intend (l, time, action, err), err);
}

int ledger_done (struct ledger *l, int64_t time, int64_t action,
                 struct error *err)
{
    return db_run (l, DB_DONE_ACTION, NULL,
                   VALUES (INT (action), INT (time)), err);
}

/* What is muted: a link, a node, or the one at the other. */
static int check_mute (struct ledger *l, const char *link, const char *node,
                       struct error *err)
{
    if (!link && !node)
        return db_refuse (l, EINVAL, err, "a mute is of a link or a node");
    return 0;
}

int ledger_mute (struct ledger *l, int64_t time,
                 const struct ledger_mute *m, struct error *err)
{
    if (check_mute (l, m->link, m->node, err) < 0)
        return -1;
    return db_run (l, DB_MUTE, NULL,
                   VALUES (NAME (m->link ? m->link : ""),
                           NAME (m->node ? m->node : ""), INT (time),
                           INT (m->until), NAME (m->who), TEXT (m->why)),
                   err);
}

int ledger_unmute (struct ledger *l, const char *link, const char *node,
                   struct error *err)
{
    if (check_mute (l, link, node, err) < 0
        || db_run (l, DB_UNMUTE, NULL,
                   VALUES (NAME (link ? link : ""), NAME (node ? node : "")),
                   err) < 0)
        return -1;
    if (sqlite3_changes (l->db) == 0)
        return db_refuse (l, ENOENT, err, "%s %.40s is not muted",
                          link ? "link" : "node", link ? link : node);
    return 0;
}

static int rebase (struct ledger *l, int64_t time, const char *link,
                   const char *who, const char *why, struct error *err)
{
    int64_t id, last = 0;

    if (db_name (l, link, &id, err) < 0
        || db_run (l, DB_LAST_AUDIT, &last, VALUES (INT (0)), err) < 0)
        return -1;
    return db_run (l, DB_REBASE, NULL,
                   VALUES (INT (id), INT (last), INT (time), NAME (who),
                           TEXT (why)), err);
}

int ledger_rebase (struct ledger *l, int64_t time, const char *link,
                   const char *who, const char *why, struct error *err)
{
    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return (int)db_end (l, rebase (l, time, link, who, why, err), err);
}

/*
 * Prune
 */

/* One step: 1 where there may be more, 0 where not, -1 with err. */
static int prune_audit (struct ledger *l, int64_t before, int64_t last,
                        struct error *err)
{
    int64_t id;
    int rc = db_run (l, DB_OLDEST, &id, VALUES (INT (before), INT (last)),
                     err);

    if (rc == 1
        && db_run (l, DB_PRUNE_AUDIT, NULL, VALUES (INT (id)), err) < 0)
        return -1;
    return rc;
}

static int prune_epoch (struct ledger *l, struct error *err)
{
    int64_t id;
    int rc = db_run (l, DB_IDLE_EPOCH, &id, NULL, 0, err);

    if (rc != 1)
        return rc;
    if (db_run (l, DB_PRUNE_ROUTES, NULL, VALUES (INT (id)), err) < 0)
        return -1;
    if (sqlite3_changes (l->db) == 0
        && db_run (l, DB_PRUNE_EPOCH, NULL, VALUES (INT (id)), err) < 0)
        return -1;
    return 1;
}

/* Comments that are done and older than the audits left. */
static int prune_comments (struct ledger *l, int64_t oldest,
                           struct error *err)
{
    if (db_run (l, DB_PRUNE_COMMENTS, NULL, VALUES (INT (oldest)), err) < 0)
        return -1;
    return sqlite3_changes (l->db) > 0;
}

int64_t ledger_prune (struct ledger *l, int64_t before, int64_t keep,
                      struct error *err)
{
    int64_t last = 0;
    int64_t n = 0;
    int64_t oldest;
    int rc = db_run (l, DB_LAST_AUDIT, &last, VALUES (INT (keep)), err);

    if (rc < 0)
        return -1;
    for (rc = 1; rc == 1; n += rc) {
        if (db_begin (l, DB_BEGIN, err) < 0)
            return -1;
        rc = (int)db_end (l, prune_audit (l, before, last, err), err);
        if (rc < 0)
            return -1;
    }
    for (rc = 1; rc == 1;) {
        if (db_begin (l, DB_BEGIN, err) < 0)
            return -1;
        rc = (int)db_end (l, prune_epoch (l, err), err);
    }
    if (rc < 0 || (oldest = ledger_next (l, 0, err)) < 0)
        return -1;
    while ((rc = prune_comments (l, oldest ? oldest : INT64_MAX, err)) == 1)
        ;
    return rc < 0 ? -1 : n;
}
