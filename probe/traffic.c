/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/traffic.h"

#include <stdio.h>
#include <stdlib.h>

#include "probe/guids.h"
#include "util/rates.h"
#include "util/text.h"

#define FULL 50 /* per cent received: switches may hold packets back */
#define HELD 1  /* per cent sent, while some waited: they do */

/* Of what the link carries in that time; less than 0: not known. */
static double percent_of (const struct fabric_link *link,
                          const struct port_traffic *t, int way)
{
    struct rates rate = rates_of (link->width, link->speed);
    double bytes = rates_data_bits (&rate) / 8e9 * (double)t->ns;

    if (t->bytes[way] == PORTS_UNTOLD || bytes <= 0)
        return -1;
    return 100 * (double)t->bytes[way] / bytes;
}

static void add_busy (struct traffic *t, const struct fabric *f,
                      uint32_t port, const double percent[2], double limit)
{
    struct busy_link *busy = &t->busy[t->nbusy];
    char name[FABRIC_NAME_MAX + 8], much[64] = "";
    size_t len = 0;

    for (int way = 0; way < 2; way++)
        if (percent[way] > limit)
            len += (size_t)snprintf (much + len, sizeof (much) - len,
                                     "%s%s %.0f %%", len ? " and " : "",
                                     way ? "received" : "sent", percent[way]);
    if (len == 0)
        return;
    t->nbusy++;
    fabric_port_name (f, port, name, sizeof (name));
    busy->link = f->port[port].link;
    snprintf (busy->why, sizeof (busy->why), "%.70s carries others' traffic: "
              "%s of what its link carries", text_clean (name), much);
}

static int add_wait (struct traffic *t, uint32_t link, struct error *err)
{
    struct sign *v = realloc (t->wait, (t->nwaits + 1) * sizeof (*v));

    if (!v)
        return error_nomem (err);
    t->wait = v;
    v[t->nwaits++] = (struct sign){ link, SIGN_WAIT };
    return 0;
}

/* What a flood to an endpoint may have filled before it, the host links that it
 * held up among them.
 */
static int add_way (struct traffic *t, const struct fabric *f,
                    struct busy_link *busy, uint32_t to, const bool *held,
                    struct error *err)
{
    const struct network *net = fabric_network (f);
    bool *seen = calloc (f->nlinks + 1, sizeof (*seen));
    int rc = 0;

    busy->way = calloc (f->nlinks + 1, sizeof (*busy->way));
    if (!seen || !busy->way)
        rc = error_nomem (err);
    for (uint32_t e = 0; rc == 0 && e < f->nendpoints; e++) {
        uint32_t arc[PATH_MAX_HOPS];
        int n = e != to && t->told[e] ? net->walk (net->net, e, to, arc, NULL)
                                      : 0;

        if (n > 0 && held[e])
            busy->way[busy->nway++] = arc_link (arc[0]);
        for (int k = 0; rc == 0 && k < n; k++) {
            uint32_t link = arc_link (arc[k]);

            if (seen[link] || f->link[link].kind != LINK_SWITCH)
                continue;
            seen[link] = true;
            busy->way[busy->nway++] = link;
            rc = add_wait (t, link, err);
        }
    }
    free (seen);
    return rc;
}

/* full[i]: the endpoint of busy[i], where it was full; held[e]: whether it held
 * back endpoint e's messages.
 */
static int find_ways (struct traffic *t, const struct fabric *f,
                      const uint32_t *full, const bool *held,
                      struct error *err)
{
    for (size_t i = 0; i < t->nbusy; i++)
        if (full[i] != FABRIC_NONE
            && add_way (t, f, &t->busy[i], full[i], held, err) < 0)
            return -1;
    return 0;
}

int traffic_find (struct traffic *t, const struct fabric *f,
                  const char *const *wanted, const struct port_traffic *port,
                  size_t n, double percent, struct error *err)
{
    uint32_t *full = calloc (n + 1, sizeof (*full));
    bool *held = calloc (f->nendpoints + 1, sizeof (*held));
    int rc = 0;

    *t = (struct traffic){ .busy = calloc (n + 1, sizeof (*t->busy)),
                           .told = calloc (f->nendpoints + 1, sizeof (bool)) };
    if (!t->busy || !t->told || !full || !held)
        rc = error_nomem (err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint32_t e = guids_endpoint (f, port[i].node_guid, port[i].port);
        const struct fabric_link *link;
        double share[2];

        if (e == FABRIC_NONE || (wanted && !wanted[e]) || t->told[e])
            continue;
        link = &f->link[f->port[f->endpoint[e].port].link];
        for (int way = 0; way < 2; way++)
            share[way] = percent_of (link, &port[i], way);
        t->told[e] = share[0] >= 0 && share[1] >= 0;
        full[t->nbusy] = share[1] > FULL ? e : FABRIC_NONE;
        add_busy (t, f, f->endpoint[e].port, share, percent);
        if (port[i].waited == PORTS_UNTOLD || port[i].waited == 0)
            continue;
        held[e] = share[0] > HELD;
        rc = add_wait (t, f->port[f->endpoint[e].port].link, err);
    }
    if (rc == 0)
        rc = find_ways (t, f, full, held, err);
    free (held);
    free (full);
    return rc;
}

void traffic_clear (struct traffic *t)
{
    for (size_t i = 0; t->busy && i < t->nbusy; i++)
        free (t->busy[i].way);
    free (t->busy);
    free (t->wait);
    free (t->told);
    *t = (struct traffic){ 0 };
}
