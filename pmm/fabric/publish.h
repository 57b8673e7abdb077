/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric read --publish: keep the site's snapshots fresh. */
#ifndef PMM_FABRIC_PUBLISH_H
#define PMM_FABRIC_PUBLISH_H

#include "pmm/fabric/live.h"

/* Publish each subnet that this machine has an active port in (o->ca and
 * o->port: only this one's) where pmm.conf says; conf NULL: the usual one. The
 * fabric is looked at first, and read where a change is seen or it is due.
 * Prints errors, and what was done where o->verbose. Returns the exit status.
 */
int fabric_publish (const char *verb, const struct live_options *o,
                    const char *conf);

#endif /* PMM_FABRIC_PUBLISH_H */
