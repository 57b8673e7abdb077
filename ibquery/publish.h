/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The published snapshot: replaced by renaming, the last few kept, one
 * publisher at a time.
 *
 *     FILE                       the snapshot, 0644
 *     FILE.20261122T013000Z      earlier ones, by the time they were read
 *     FILE.lock                  held by who publishes, for others to see, not
 *                                to open; its time is that of the last look, in
 *                                it is when all was read last and how many
 *                                looks there were since
 *
 * FILE holds one subnet for ever: another one, or another fabric that has the
 * same prefix, is refused.
 */
#ifndef IBQUERY_PUBLISH_H
#define IBQUERY_PUBLISH_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "util/error.h"

struct publish;

struct publish_state {
    int64_t read;   /* when everything was read last, and FILE said the same;
                       0: never */
    uint64_t looks; /* since then */
};

/* Take the lock; wait so long for another publisher. NULL with err. */
struct publish *publish_open (const char *path, int wait_ms,
                              struct error *err);
void publish_close (struct publish *p);

struct publish_state publish_state (const struct publish *p);

/* Note a look that saw no change. Return 0, or -1 with err. */
int publish_looked (struct publish *p, struct error *err);

/* Publish what was read; `old` is what FILE holds, NULL if nothing. `keep`
 * earlier ones are kept. Return 1; 0 where it is the same but for when and
 * through which port it was read, so that FILE is left as it is; -1 with err
 * and FILE as it was: it is a part of a fabric, or not what FILE is for, or the
 * disk is full.
 */
int publish_put (struct publish *p, const struct fabric *old,
                 const struct fabric *f, int keep, struct error *err);

/* When somebody looked at the fabric last, or read it: the time of FILE.lock
 * or FILE, whichever is later; 0 where there is neither.
 */
int64_t publish_time (const char *path);

#endif /* IBQUERY_PUBLISH_H */
