/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live fabric, for jobs that ask for a check when no snapshot is published:
 * the prolog of the job's first node, as root, runs `pmm fabric read` to make a
 * snapshot at pmm.conf's LiveFabric (LIVE), and the check reads it.
 *
 *     LIVE           a snapshot of everything; owner root, 0644
 *     LIVE.job7      of what job 7 uses; made if LIVE exists but is old, with
 *                    LIVE as a hint where the job's nodes are
 *     ... .new       while they are being read
 *     LIVE.lock      owner root, 0600; held while anything is read; its time is
 *                    that of the last attempt to read everything
 *
 * Everything is read the first time, and again if a part could not be read. The
 * nodes' names must be the fabric's, so no part is read if NodeMap is set.
 *
 * Users decide when and how many jobs run, so the attempts are bounded: one at
 * a time, with LIVE_SMPS MADs in flight, ended after LIVE_TIMEOUT_S; everything
 * at most once in LIVE_EVERY_S; a part once per job, with at most
 * LIVE_PART_SMPS MADs, and none for LIVE_EVERY_S after a part that failed.
 * These bounds hold for the nodes that share the directory. So LiveFabric has
 * no default: a thousand nodes that each read the fabric would overload it.
 */
#ifndef IBQUERY_LIVE_H
#define IBQUERY_LIVE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"
#include "util/site.h"

enum { LIVE_EVERY_S = 600, LIVE_TIMEOUT_S = 120 };
#define LIVE_SMPS "2"
#define LIVE_PART_SMPS "50000"

/* The job to check. */
struct live_job {
    const char *id;    /* a number, as Slurm gives it; NULL: not known */
    const char *nodes; /* a Slurm node list; NULL: not known */
};

/* Start reading the fabric, or the job's part of it, if LiveFabric is set, no
 * snapshot is published, and the bounds above allow it. Does not wait: the
 * reader has a session of its own. On return, the file that ends in .new tells
 * others to wait. Return 1 if a reading was started, 0 if none is needed, -1
 * with err.
 */
int live_request (const struct site *site, const struct live_job *job,
                  struct error *err);

/* Whether a check uses this: LiveFabric is set, and there is no snapshot. */
bool live_wanted (const struct site *site);

/* Open the job's snapshot, or else that of everything, if root read it within
 * the last LIVE_EVERY_S; while one is being read, wait for it for up to
 * wait_ms. NULL with err.
 */
FILE *live_open (const struct site *site, const struct live_job *job,
                 int wait_ms, struct error *err);

#endif /* IBQUERY_LIVE_H */
