/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The published snapshot: replaced by renaming, with the last few kept, one
 * publisher at a time.
 *
 *     FILE                       the snapshot, 0644
 *     FILE.20261122T013000Z      earlier ones, by the time they were read
 *     FILE.lock                  held while publishing; others can see but not
 *                                open it. Its time is that of the last poll; it
 *                                contains when everything was last read and how
 *                                many polls there were since
 *
 * FILE holds the same subnet for ever: another subnet, or another fabric with
 * the same prefix, is refused.
 */
#ifndef IBQUERY_PUBLISH_H
#define IBQUERY_PUBLISH_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "util/error.h"

struct publish;

struct publish_state {
    int64_t read;   /* when everything was last read and FILE agreed; 0:
                       never */
    uint64_t looks; /* polls since then */
};

/* Take the lock; wait up to wait_ms for another publisher. NULL with err. */
struct publish *publish_open (const char *path, int wait_ms,
                              struct error *err);
void publish_close (struct publish *p);

struct publish_state publish_state (const struct publish *p);

/* Record a poll that saw no change. Return 0, or -1 with err. */
int publish_looked (struct publish *p, struct error *err);

/* Publish what was read; `old` is what FILE holds, NULL if nothing. `keep`
 * earlier snapshots are kept. Return 1; 0 if only the time of reading or the
 * port that it was read through differs, or a LinkRoundTripLatency by no more
 * than usual, and FILE is unchanged; -1 with err and FILE unchanged: the fabric
 * is a part, or not the one that FILE is for, or the disk is full.
 */
int publish_put (struct publish *p, const struct fabric *old,
                 const struct fabric *f, int keep, struct error *err);

/* When the fabric was last polled or read: the time of FILE.lock or FILE,
 * whichever is later; 0 if neither exists.
 */
int64_t publish_time (const char *path);

/* The time that follows "FILE." in the name of an earlier snapshot; 0: none. */
int64_t publish_stamp (const char *stamp);

#endif /* IBQUERY_PUBLISH_H */
