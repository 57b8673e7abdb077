/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live fabric, for jobs that ask for a check where no snapshot is
 * published: the prolog of the job's first node, as root, has `pmm fabric
 * read` make a snapshot in pmm.conf's LiveFabric, and the check reads it.
 *
 *     LIVE           a snapshot of everything, root's, 0644
 *     LIVE.job7      of what job 7 uses: made where LIVE is there, but old, by
 *                    what LIVE says of where its nodes are
 *     ... .new       while they are read
 *     LIVE.lock      root's, 0600: held while anything is read; its time is
 *                    that of the last attempt at everything
 *
 * Everything is read the first time, and again where a part could not be. So
 * a job costs as much as it is large; a change of the fabric does no harm:
 * LIVE only tells where the nodes are, which is verified. The
 * nodes' names have to be the fabric's, so a NodeMap forbids parts.
 *
 * Users decide when jobs run, and how many, so the attempts are bounded
 * whatever comes of them: one at a time, with LIVE_SMPS MADs in flight, ended
 * after LIVE_TIMEOUT_S; everything once in LIVE_EVERY_S; a part once a job,
 * with LIVE_PART_SMPS MADs at most, and none for LIVE_EVERY_S after one that
 * failed. These bounds hold for the nodes that share the directory: on a shared
 * file system for the site, else for each node. So there is no default: a
 * thousand nodes that each read the fabric by themselves would overload it;
 * such a site publishes a snapshot.
 */
#ifndef IBQUERY_LIVE_H
#define IBQUERY_LIVE_H

#include <stdbool.h>
#include <stdio.h>

#include "util/error.h"
#include "util/site.h"

enum {
    LIVE_EVERY_S = 600,
    LIVE_TIMEOUT_S = 120,
};
#define LIVE_SMPS "2"
#define LIVE_PART_SMPS "50000"

/* Whose check it is for. */
struct live_job {
    const char *id;    /* a number, as Slurm gives it; NULL: not known */
    const char *nodes; /* as Slurm folds them; NULL: not known */
};

/* Have the fabric read, or the job's part of it, if LiveFabric is set, no
 * snapshot is published, and none of the above forbids. Does not wait: what
 * reads has a session of its own. When it returns, the file that ends in .new
 * tells others to wait. Return 1 if a reading has begun, 0 if there is none to
 * begin, -1 with err.
 */
int live_request (const struct site *site, const struct live_job *job,
                  struct error *err);

/* Whether a check is to look here: LiveFabric is set, and there is no
 * snapshot.
 */
bool live_wanted (const struct site *site);

/* Open the snapshot, the job's or else that of everything, that root has read
 * no longer than LIVE_EVERY_S ago; while one is being read, wait for it up to
 * wait_ms. NULL with err.
 */
FILE *live_open (const struct site *site, const struct live_job *job,
                 int wait_ms, struct error *err);

#endif /* IBQUERY_LIVE_H */
