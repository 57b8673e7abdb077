/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic: a host is flooded, another one floods it, and a third one waited
 * without having sent anything.
 */
#include "config.h"
#include "ibquery/links/traffic.h"

#include <math.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "util/rates.h"
#include "tests/tap.h"

enum { HOSTS = 4 }; /* a leaf's first */

static struct fabric *f;

static uint32_t link_of (uint32_t endpoint)
{
    return f->port[f->endpoint[endpoint].port].link;
}

/* A port that carried so many per cent in a second. */
static struct port_traffic port_of (uint32_t endpoint, double sent,
                                    double received, uint64_t waited)
{
    const struct fabric_port *port = &f->port[f->endpoint[endpoint].port];
    const struct fabric_link *link = &f->link[port->link];
    struct rates rate = rates_of (link->width, link->speed);
    double bytes = rates_data_bits (&rate) / 8;

    return (struct port_traffic){
        f->node[port->node].guid, port->num, 1000000000,
        { (uint64_t)(sent / 100 * bytes), (uint64_t)(received / 100 * bytes) },
        waited,
    };
}

static bool is_on_way (const struct busy_link *busy, uint32_t link)
{
    for (size_t i = 0; i < busy->nway; i++)
        if (busy->way[i] == link)
            return true;
    return false;
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct port_traffic port[HOSTS];
    struct traffic t;
    size_t switches = 0;

    f = generate_fat_tree (&tree, NULL);
    port[0] = port_of (0, 0, 98, 0);
    port[1] = port_of (2, 6, 0, 1000);
    port[2] = port_of (4, 0, 0, 1000);
    port[3] = port_of (6, 0, 9, 0);
    traffic_find (&t, f, NULL, port, HOSTS, 10);
    ok (t.nbusy == 1 && t.busy[0].link == link_of (0)
            && t.busy[0].carries.kind == FACT_TRAFFIC_RECEIVED
            && round (t.busy[0].carries.n[0]) == 98,
        "one is busy: %s", t.nbusy ? t.busy[0].carries.name[0] : "none");
    for (uint32_t e = 0; e < f->nendpoints; e++)
        ok (t.told[e] == (e < 2 * HOSTS && e % 2 == 0), "endpoint %u %s", e,
            t.told[e] ? "told" : "did not tell");
    ok (is_on_way (&t.busy[0], link_of (2)), "it held one up");
    ok (!is_on_way (&t.busy[0], link_of (4))
            && !is_on_way (&t.busy[0], link_of (6))
            && !is_on_way (&t.busy[0], link_of (0)),
        "and none of the others");
    for (size_t i = 0; i < t.busy[0].nway; i++)
        switches += f->link[t.busy[0].way[i]].kind == LINK_SWITCH;
    ok (switches > 0 && switches == t.busy[0].nway - 1,
        "and may have filled %zu switch links", switches);
    ok (t.nwaits == 2 + switches, "%zu links may have waits", t.nwaits);
    traffic_clear (&t);
    port[0] = port_of (0, 0, 30, 0);
    traffic_find (&t, f, NULL, port, HOSTS, 10);
    ok (t.nbusy == 1 && t.busy[0].nway == 0,
        "one that is busy, and not full, fills nothing before it");
    traffic_clear (&t);
    fabric_destroy (f);
    return done_testing ();
}
