/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic: which host links carried so much for others while they were measured
 * that their latency tells nothing.
 *
 * Made from what the nodes report about their ports (ibquery/ports); read by
 * the judge. A flood towards a host fills the switch's buffers, so even the
 * fastest round trips take longer. The host's own port need not wait; but it
 * has received more than the measurement sent.
 */
#ifndef IBQUERY_TRAFFIC_H
#define IBQUERY_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/judge/judge.h"
#include "ibquery/fabric.h"
#include "ibquery/ports.h"

struct traffic {
    struct busy_link *busy; /* host links, and what they carried */
    size_t nbusy;
    struct sign *wait;      /* SIGN_WAIT for links with waiting messages, and
                               for those on the way to a full link */
    size_t nwaits;
    bool *told;             /* [endpoints of the fabric] its traffic is known */
    struct pool *pool;      /* has all of it */
};

/* Evaluate the traffic of n ports, for the endpoints in `wanted` (by endpoint;
 * NULL: all). A host link is busy if it sent or received more than `percent` of
 * its capacity. If it received more than half of that, switch links on the way
 * to it from the hosts that reported may be full as well, and so may be host
 * links that sent something and had to wait. Call traffic_clear afterwards.
 */
void traffic_find (struct traffic *t, const struct fabric *f,
                   const char *const *wanted, const struct port_traffic *port,
                   size_t n, double percent);
void traffic_clear (struct traffic *t);

#endif /* IBQUERY_TRAFFIC_H */
