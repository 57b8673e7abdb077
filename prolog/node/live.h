/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live fabric, for jobs that ask for a check where no snapshot is
 * published: the prolog of the job's first node, as root, has `pmm fabric
 * read` make a snapshot in pmm.conf's LiveFabric, and the check reads it.
 *
 *     LIVE        the snapshot, root's, 0644
 *     LIVE.new    while it is read
 *     LIVE.lock   root's, 0600: held while it is read; its time is that of the
 *                 last attempt
 *
 * Users decide when jobs run, and how many, so the attempts are bounded
 * whatever comes of them: one at a time, one in LIVE_EVERY_S, ended after
 * LIVE_TIMEOUT_S, with LIVE_SMPS MADs in flight. That is for all who share the
 * directory: on a shared file system the site, on one of its own a node. So
 * there is no default: a site of a thousand nodes that each read the fabric by
 * themselves would be a storm of our own making, and publishes a snapshot.
 */
#ifndef PROLOG_LIVE_H
#define PROLOG_LIVE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"
#include "util/site.h"

enum {
    LIVE_EVERY_S = 600,
    LIVE_TIMEOUT_S = 120,
};
#define LIVE_SMPS "2"

/* Have the fabric read, if LiveFabric is set, no snapshot is published, and
 * none of the above forbids. Does not wait: what reads has a session of its
 * own. When it returns, LIVE.new tells others to wait. Return 1 if a reading
 * has begun, 0 if there is none to begin, -1 with err.
 */
int live_request (const struct site *site, struct error *err);

/* Whether a check is to look here: LiveFabric is set, and there is no
 * snapshot.
 */
bool live_wanted (const struct site *site);

/* Open the snapshot that root has read no longer than LIVE_EVERY_S ago; while
 * one is being read, wait for it up to wait_ms. NULL with err.
 */
FILE *live_open (const struct site *site, int wait_ms, struct error *err);

#endif /* PROLOG_LIVE_H */
