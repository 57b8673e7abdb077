/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs of a bad link.
 *
 * Notes. Signs are entered before the counters that show them. So if an audit
 * is killed in between, the next audit sees the growth again.
 */
#include "config.h"
#include "prolog/audit/signs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/links/check.h"
#include "ibquery/guids.h"
#include "util/alloc.h"
#include "util/file.h"

struct port_place {
    uint32_t link;
    const char *node;
    char name[24]; /* the port, as in a link's id */
};

struct signs_entry {
    struct ledger *ledger;
    int64_t audit, time;
    const struct fabric *f;
    const char *const *node_of;
    struct ledger_counter *counter;
    size_t ncounters;
    int signs;
};

/* Find a port in the snapshot. False if it is not there, has no link, or is
 * not of the audit.
 */
static bool find_place (const struct fabric *f, const char *const *node_of,
                        const struct local_port *p, struct port_place *place)
{
    uint32_t e = guids_endpoint (f, p->node_guid, p->port);

    if (e == FABRIC_NONE)
        return false;
    place->link = f->port[f->endpoint[e].port].link;
    place->node = node_of[e];
    snprintf (place->name, sizeof (place->name), "%016jx/%u",
              (uintmax_t)p->node_guid, p->port);
    return place->node && place->link != FABRIC_NONE;
}

bool signs_owns (const struct fabric *f, const char *const *node_of,
                 const char *node, const struct local_port *port)
{
    struct port_place place;

    return find_place (f, node_of, port, &place)
           && strcmp (place.node, node) == 0;
}

static int add_sign (struct signs_entry *e, const struct port_place *place,
                     const char *kind, struct error *err)
{
    e->signs++;
    return ledger_sign_add (e->ledger, e->audit, e->f->link[place->link].id,
                            place->node, kind, e->time, err);
}

/* Whether a counter has grown by more than is healthy. Return 1, 0, or -1 with
 * err. A counter at its end value shows nothing. If a counter is less than it
 * was, it was reset.
 */
static int has_grown (const struct signs_entry *e,
                      const struct port_place *place,
                      const struct local_counter *c, uint64_t now,
                      struct error *err)
{
    uint64_t last, growth, windows = 1;
    int64_t then;
    int rc;

    if (c->window_s == 0 || (c->end && now >= c->end))
        return 0;
    rc = ledger_counter_last (e->ledger, e->audit, place->name, c->name, &last,
                              &then, err);
    if (rc <= 0)
        return rc;
    growth = now >= last ? now - last : now;
    if (e->time > then)
        windows += (uint64_t)(e->time - then) / c->window_s;
    return growth > windows * c->healthy;
}

static int look_at_counters (struct signs_entry *e, const struct local_port *p,
                             const struct port_place *place, struct error *err)
{
    bool grown = false;
    int rc;

    for (size_t i = 0; i < LOCAL_COUNTERS; i++) {
        if (!p->has[i])
            continue;
        rc = has_grown (e, place, &local_counters[i], p->counter[i], err);
        if (rc < 0)
            return -1;
        grown |= rc > 0;
        e->counter[e->ncounters++]
            = (struct ledger_counter){ place->name, local_counters[i].name,
                                       p->counter[i] };
    }
    return grown ? add_sign (e, place, "counter", err) : 0;
}

static int look_at_rate (struct signs_entry *e, const struct local_port *p,
                         const struct port_place *place, struct error *err)
{
    const struct fabric_link *l = &e->f->link[place->link];
    struct local_rate expected = { .width = l->width };

    snprintf (expected.speed, sizeof (expected.speed), "%s", l->speed);
    if (local_is_narrower (&p->rate, &expected)
        && add_sign (e, place, "width", err) < 0)
        return -1;
    if (local_is_slower (&p->rate, &expected)
        && add_sign (e, place, "speed", err) < 0)
        return -1;
    return 0;
}

int signs_enter (struct ledger *ledger, int64_t audit, int64_t time,
                 const struct fabric *f, const char *const *node_of,
                 const struct local_port *port, size_t n, struct error *err)
{
    struct signs_entry e = { .ledger = ledger,
                             .audit = audit,
                             .time = time,
                             .f = f,
                             .node_of = node_of };
    struct port_place *place = xcalloc (n, sizeof (*place));
    int rc = 0;

    e.counter = xcalloc (n * LOCAL_COUNTERS, sizeof (*e.counter));
    for (size_t i = 0; i < n && rc == 0; i++)
        if (find_place (f, node_of, &port[i], &place[i])
            && (look_at_rate (&e, &port[i], &place[i], err) < 0
                || look_at_counters (&e, &port[i], &place[i], err) < 0))
            rc = -1;
    if (rc == 0)
        rc = ledger_counters (ledger, audit, e.counter, e.ncounters, err);
    free (e.counter);
    free (place);
    return rc < 0 ? -1 : e.signs;
}

/* The audit's node at an end of a link; NULL: none. */
static const char *node_at (const struct fabric *f,
                            const char *const *node_of, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];

    for (size_t i = 0; i < f->nendpoints; i++)
        if (node_of[i]
            && (f->endpoint[i].port == l->a || f->endpoint[i].port == l->b))
            return node_of[i];
    return NULL;
}

static int enter_signs (struct ledger *ledger, int64_t audit,
                        const struct fabric *f, const char *const *node_of,
                        const struct check_signs *signs, struct error *err)
{
    int entered = 0;

    for (size_t i = 0; i < signs->n; i++) {
        const struct sign *s = &signs->v[i];
        const char *node = node_at (f, node_of, s->link);

        if (!node || s->kind == SIGN_WAIT)
            continue;
        if (ledger_sign_add (ledger, audit, f->link[s->link].id, node,
                             sign_name (s->kind), signs->time, err) < 0)
            return -1;
        entered++;
    }
    return entered;
}

/* Return 1 if the file has signs that count. Return 0 if not; odd is the reason
 * if the file cannot be used, else "".
 */
static int read_file (struct check_signs *signs, const struct fabric *f,
                      const char *path, int64_t time, char *odd, size_t size)
{
    struct error why;
    FILE *fp;
    int rc = 0;

    *odd = '\0';
    if (!*path || access (path, F_OK) < 0)
        return 0;
    fp = file_open_trusted (path, geteuid (), &why);
    if (!fp || check_read_signs (signs, fp, path, f, &why) < 0)
        snprintf (odd, size, "%.*s", (int)size - 1, why.text);
    else if (signs->time > time || time - signs->time > SIGNS_MAX_AGE)
        snprintf (odd, size, "%s is older than a day, or has a time stamp in "
                  "the future", path);
    else
        rc = 1;
    if (fp)
        fclose (fp);
    return rc;
}

int signs_enter_file (struct ledger *ledger, int64_t audit, int64_t time,
                      const struct fabric *f, const char *const *node_of,
                      const char *path, char *odd, size_t size,
                      struct error *err)
{
    struct check_signs signs = { 0 };
    int rc = read_file (&signs, f, path, time, odd, size);

    if (rc > 0)
        rc = enter_signs (ledger, audit, f, node_of, &signs, err);
    check_clear_signs (&signs);
    return rc;
}

void signs_hold (struct verdict *v, const struct fabric *f, const char *path,
                 int64_t time, const struct judge_options *opts)
{
    struct check_signs signs = { 0 };
    char odd[256];
    size_t n = 0;

    if (read_file (&signs, f, path, time, odd, sizeof (odd)) > 0
        && time - signs.time <= SIGNS_WAIT_AGE) {
        for (size_t i = 0; i < signs.n; i++)
            if (signs.v[i].kind == SIGN_WAIT)
                signs.v[n++] = signs.v[i];
        corroborate (v, signs.v, n, opts);
    }
    check_clear_signs (&signs);
}
