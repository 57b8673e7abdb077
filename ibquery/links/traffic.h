/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic: which host ends carried so much for others while they were measured
 * that their latency tells nothing.
 *
 * Made of what the nodes say of their ports (ibquery/ports); read by the
 * judge. A flood towards a host fills the switch's buffers, so that round trips
 * are longer, also the fastest of them, and the host's own port need not wait;
 * but it has received more than the measurement sent.
 */
#ifndef IBQUERY_TRAFFIC_H
#define IBQUERY_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>

#include "core/judge/corroborate.h"
#include "core/judge/judge.h"
#include "ibquery/fabric.h"
#include "ibquery/ports.h"

struct traffic {
    struct busy_link *busy; /* host links, with what they carried */
    size_t nbusy;
    struct sign *wait;      /* SIGN_WAIT of those whose messages waited, and of
                               what leads to a full one */
    size_t nwaits;
    bool *told;             /* [endpoint of the fabric] what it carried */
};

/* Look at n ports, of the endpoints that `wanted` says (by endpoint; NULL:
 * all). Busy is what sent or received more than `percent` of what its link
 * carries. Of one that received more than half of that, switch links on the way
 * to it from those that told may be full as well, and so may be the host links
 * of those that sent something and had to wait. traffic_clear is due.
 */
void traffic_find (struct traffic *t, const struct fabric *f,
                   const char *const *wanted, const struct port_traffic *port,
                   size_t n, double percent);
void traffic_clear (struct traffic *t);

#endif /* IBQUERY_TRAFFIC_H */
