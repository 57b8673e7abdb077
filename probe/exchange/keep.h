/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keep: what process 0 has gathered is left where it is wanted, also when the
 * run is ended from outside, as launchers do that lose one of its processes.
 */
#ifndef PROBE_EXCHANGE_KEEP_H
#define PROBE_EXCHANGE_KEEP_H

#include "util/error.h"

/* From now on, at SIGTERM or SIGINT, call fn in a thread of its own, with the
 * lock held, and end this process with ERROR_WORLD. One at a time. NULL with
 * err.
 */
struct keep;
struct keep *keep_start (void (*fn) (void *arg), void *arg,
                         struct error *err);
/* No more: what there is is being left where it is wanted, which signals do not
 * end. NULL is safe.
 */
void keep_over (struct keep *k);
/* Signals do what they did before. NULL is safe. */
void keep_stop (struct keep *k);

/* Hold fn off while what it looks at is changed. NULL is safe. */
void keep_lock (struct keep *k);
void keep_unlock (struct keep *k);

#endif /* PROBE_EXCHANGE_KEEP_H */
