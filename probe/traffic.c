/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/traffic.h"

#include <stdio.h>
#include <stdlib.h>

#include "ibquery/rates.h"
#include "probe/guids.h"
#include "util/text.h"

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
    snprintf (busy->why, sizeof (busy->why), "%.90s carries others' traffic: "
              "%s of what its link carries", text_clean (name), much);
}

int traffic_find (struct traffic *t, const struct fabric *f,
                  const char *const *wanted, const struct port_traffic *port,
                  size_t n, double percent, struct error *err)
{
    *t = (struct traffic){ .busy = calloc (n + 1, sizeof (*t->busy)),
                           .wait = calloc (n + 1, sizeof (*t->wait)),
                           .told = calloc (f->nendpoints + 1, sizeof (bool)) };
    if (!t->busy || !t->wait || !t->told)
        return error_nomem (err);
    for (size_t i = 0; i < n; i++) {
        uint32_t e = guids_endpoint (f, port[i].node_guid, port[i].port);
        const struct fabric_link *link;
        double share[2];

        if (e == FABRIC_NONE || (wanted && !wanted[e]) || t->told[e])
            continue;
        link = &f->link[f->port[f->endpoint[e].port].link];
        for (int way = 0; way < 2; way++)
            share[way] = percent_of (link, &port[i], way);
        t->told[e] = share[0] >= 0 && share[1] >= 0;
        add_busy (t, f, f->endpoint[e].port, share, percent);
        if (port[i].waited != PORTS_UNTOLD && port[i].waited > 0)
            t->wait[t->nwaits++] = (struct sign){
                f->port[f->endpoint[e].port].link, SIGN_WAIT
            };
    }
    return 0;
}

void traffic_clear (struct traffic *t)
{
    free (t->busy);
    free (t->wait);
    free (t->told);
    *t = (struct traffic){ 0 };
}
