/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/traffic.h"

#include <stdlib.h>

#include "util/alloc.h"
#include "util/rates.h"

#define FULL 50 /* per cent received: switches may hold packets back */
#define HELD 1  /* per cent sent, while some waited: held back */

/* Per cent of what the link can carry in that time; less than 0: not known. */
static double percent_of (const struct fabric_link *link,
                          const struct port_traffic *t, int way)
{
    struct rates rate = fabric_rate (link);
    double bytes = rates_data_bits (&rate) / 8e9 * (double)t->ns;

    return t->bytes[way] == PORTS_UNTOLD || bytes <= 0
               ? -1
               : 100 * (double)t->bytes[way] / bytes;
}

static void add_busy (struct traffic *t, const struct fabric *f,
                      uint32_t port, const double percent[2], double limit)
{
    bool sent = percent[0] > limit, received = percent[1] > limit;
    struct busy_link *busy = &t->busy[t->nbusy];

    if (!sent && !received)
        return;
    t->nbusy++;
    busy->link = f->port[port].link;
    busy->carries = (struct fact){
        .kind = !received ? FACT_TRAFFIC_SENT
                : sent    ? FACT_TRAFFIC_BOTH
                          : FACT_TRAFFIC_RECEIVED,
        .n = { percent[!sent], percent[1] },
        .name = { pool_strdup (t->pool, PORT_NAME (f, port)) },
    };
}

static void add_wait (struct traffic *t, uint32_t link)
{
    t->wait = pool_grow (t->pool, t->wait, t->nwaits, sizeof (*t->wait));
    t->wait[t->nwaits++] = (struct sign){ link, SIGN_WAIT };
}

/* Add the switch links that traffic to an endpoint may have filled, and the
 * host links that it held back.
 */
static void add_busy_links (struct traffic *t, const struct fabric *f,
                            struct busy_link *busy, uint32_t to,
                            const bool *held)
{
    const struct network *net = fabric_network (f);
    bool *seen = xcalloc (f->nlinks, sizeof (*seen));

    busy->way = pool_alloc (t->pool, f->nlinks, sizeof (*busy->way));
    for (uint32_t e = 0; e < f->nendpoints; e++) {
        uint32_t arc[PATH_MAX_HOPS];
        int n = e != to && t->told[e] ? net->walk (net->net, e, to, arc, NULL)
                                      : 0;

        if (n > 0 && held[e])
            busy->way[busy->nway++] = arc_link (arc[0]);
        for (int k = 0; k < n; k++) {
            uint32_t link = arc_link (arc[k]);

            if (seen[link] || f->link[link].kind != LINK_SWITCH)
                continue;
            seen[link] = true;
            busy->way[busy->nway++] = link;
            add_wait (t, link);
        }
    }
    free (seen);
}

void traffic_find (struct traffic *t, const struct fabric *f,
                   const char *const *wanted, const struct port_traffic *port,
                   size_t n, double percent)
{
    /* full[i]: the endpoint of busy[i], if its link was full; held[e]: the
     * switches held back endpoint e's messages
     */
    uint32_t *full = xcalloc (n + 1, sizeof (*full));
    bool *held = xcalloc (f->nendpoints, sizeof (*held));

    *t = (struct traffic){ .pool = pool_create () };
    t->busy = pool_alloc (t->pool, n, sizeof (*t->busy));
    t->told = pool_alloc (t->pool, f->nendpoints, sizeof (*t->told));
    for (size_t i = 0; i < n; i++) {
        uint32_t e = fabric_endpoint_at (f, port[i].node_guid, port[i].port);
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
        add_wait (t, f->port[f->endpoint[e].port].link);
    }
    for (size_t i = 0; i < t->nbusy; i++)
        if (full[i] != FABRIC_NONE)
            add_busy_links (t, f, &t->busy[i], full[i], held);
    free (held);
    free (full);
}

void traffic_clear (struct traffic *t)
{
    pool_destroy (t->pool);
    *t = (struct traffic){ 0 };
}
