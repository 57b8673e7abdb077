/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs of a bad link.
 *
 * Notes. Signs are entered before the counters that show them. So if an audit
 * is killed in between, the next audit sees the growth again.
 */
#include "config.h"
#include "prolog/audit/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/file.h"

struct port_place {
    uint32_t link;
    const char *node;
    char name[24]; /* the port, as in a link's id */
};

/* Find a port in the snapshot. False if it is not there, has no link, or is
 * not of the audit.
 */
static bool find_place (const struct fabric *f, const char *const *node_of,
                        const struct local_port *p, struct port_place *place)
{
    uint32_t e = fabric_endpoint_at (f, p->node_guid, p->port);

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

/* Whether a counter has grown by more than is healthy. Return 1, 0, or -1 with
 * err. A counter at its end value shows nothing. If a counter is less than it
 * was, it was reset.
 */
static int has_grown (const struct signs_scope *e, const char *port,
                      const struct local_counter *c, uint64_t now,
                      struct error *err)
{
    uint64_t last, growth, windows = 1;
    int64_t then;
    int rc;

    if (c->window_s == 0 || (c->end && now >= c->end))
        return 0;
    rc = ledger_counter_last (e->ledger, e->audit, port, c->name, &last, &then,
                              err);
    if (rc <= 0)
        return rc;
    growth = now >= last ? now - last : now;
    if (e->time > then)
        windows += (uint64_t)(e->time - then) / c->window_s;
    return growth > windows * c->healthy;
}

/* Enter the signs of a port, and add its counters to counter[*n]. Return the
 * number of signs, or -1 with err.
 */
static int enter_port (const struct signs_scope *e, const struct local_port *p,
                       const struct port_place *place,
                       struct ledger_counter *counter, size_t *n,
                       struct error *err)
{
    const struct fabric_link *l = &e->f->link[place->link];
    const struct rates expected = rates_of (l->width, l->speed);
    enum sign_kind kind[3];
    int signs = 0;
    bool grown = false;

    if (rates_narrower (&p->rate, &expected))
        kind[signs++] = SIGN_WIDTH;
    if (rates_slower (&p->rate, &expected))
        kind[signs++] = SIGN_SPEED;
    for (size_t i = 0; i < LOCAL_COUNTERS; i++) {
        const struct local_counter *c = &local_counters[i];
        int rc = p->has[i] ? has_grown (e, place->name, c, p->counter[i], err)
                           : 0;

        if (rc < 0)
            return -1;
        grown |= rc > 0;
        if (p->has[i])
            counter[(*n)++] = (struct ledger_counter){ place->name, c->name,
                                                       p->counter[i] };
    }
    for (int i = 0; i < PORTS_PCIE && p->pcie.now.lanes; i++)
        counter[(*n)++]
            = (struct ledger_counter){ place->name, ports_pcie[i].name,
                                       ports_pcie_value (&p->pcie, i) };
    if (grown)
        kind[signs++] = SIGN_COUNTER;
    for (int i = 0; i < signs; i++)
        if (ledger_sign_add (e->ledger, e->audit, l->id, place->node, kind[i],
                             e->time, err) < 0)
            return -1;
    return signs;
}

int signs_enter (const struct signs_scope *e, const struct local_port *port,
                 size_t n, struct error *err)
{
    struct port_place *place = xcalloc (n, sizeof (*place));
    struct ledger_counter *counter
        = xcalloc (n * (LOCAL_COUNTERS + PORTS_PCIE), sizeof (*counter));
    size_t ncounters = 0;
    int signs = 0, rc = 0;

    for (size_t i = 0; i < n && rc >= 0; i++)
        if (find_place (e->f, e->node_of, &port[i], &place[i])) {
            rc = enter_port (e, &port[i], &place[i], counter, &ncounters, err);
            signs += rc;
        }
    if (rc >= 0)
        rc = ledger_counters (e->ledger, e->audit, counter, ncounters, err);
    free (counter);
    free (place);
    return rc < 0 ? -1 : signs;
}

void signs_remark_pcie (struct verdict *v, const struct fabric *f,
                        const char *const *node_of,
                        const struct local_port *port, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct pcie *p = &port[i].pcie;
        struct port_place place;
        char name[LINK_NAME];

        if (p->now.lanes >= p->could.lanes
            || !find_place (f, node_of, &port[i], &place))
            continue;
        link_name (&fabric_network (f)->link[place.link], name);
        verdict_limit (v, VERDICT_OK,
                       (struct fact){ .kind = FACT_PCIE_LANES,
                                      .n = { p->now.lanes, p->could.lanes },
                                      .name = { *name ? name : place.node } });
    }
}

/* The audit's node at an end of a link; NULL: none. */
static const char *audit_node_at_link (const struct signs_scope *e,
                                       uint32_t link)
{
    const struct fabric *f = e->f;

    for (size_t i = 0; i < f->nendpoints; i++)
        if (e->node_of[i] && f->port[f->endpoint[i].port].link == link)
            return e->node_of[i];
    return NULL;
}

int signs_enter_file (const struct signs_scope *e, const char *path,
                      struct check_signs *waits, char *odd, size_t size,
                      struct error *err)
{
    struct error why;
    FILE *fp;
    int entered = 0;
    size_t n = 0;

    *odd = '\0';
    *waits = (struct check_signs){ 0 };
    if (!*path || access (path, F_OK) < 0)
        return 0;
    fp = file_open_trusted (path, geteuid (), &why);
    if (!fp || check_read_signs (waits, fp, path, e->f, &why) < 0)
        snprintf (odd, size, "%.*s", (int)size - 1, why.text);
    else if (waits->time > e->time || e->time - waits->time > SIGNS_MAX_AGE)
        snprintf (odd, size, "%s is older than a day, or has a time stamp in "
                  "the future", path);
    if (fp)
        fclose (fp);
    for (size_t i = 0; i < waits->n && !*odd; i++) {
        const struct sign *s = &waits->v[i];
        const char *node = audit_node_at_link (e, s->link);

        if (s->kind == SIGN_WAIT && e->time - waits->time <= SIGNS_WAIT_AGE)
            waits->v[n++] = *s;
        if (!node || s->kind == SIGN_WAIT)
            continue;
        entered++;
        if (ledger_sign_add (e->ledger, e->audit, e->f->link[s->link].id, node,
                             s->kind, waits->time, err) < 0)
            return -1;
    }
    waits->n = n;
    return entered;
}
