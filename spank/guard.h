/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The once-per-job guard: a small file, private to the user, that is locked
 * during a job's check and keeps the outcome for the later steps of the job. It
 * is in a directory of the user, GUARD_DIR-<uid>, named <cluster>.<job id
 * modulo GUARD_SLOTS>, so the number of files is bounded. Two jobs that share a
 * file may be checked once more than needed. Job ids start again when a cluster
 * is rebuilt, so a record older than the job is ignored.
 */
#ifndef SPANK_GUARD_H
#define SPANK_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "spank/outcome.h"
#include "util/error.h"

#define GUARD_DIR "/tmp/slurm-pmm"

enum { GUARD_SLOTS = 1024 };

/* Open the guard of a job below the directory `dir`, which is created if
 * missing. It is refused unless it belongs to the caller alone. Return a file
 * descriptor, closed by guard_close; -1 with err set.
 */
int guard_open (const char *dir, const char *cluster, uint32_t jobid,
                struct error *err);
void guard_close (int fd);

/* Try to get the lock. False while somebody else holds it. */
bool guard_lock (int fd);

/* Set o from the record if there is one, of this job, made at or after
 * `since`.
 */
bool guard_read (int fd, uint32_t jobid, time_t since, struct outcome *o);

/* Replace the record. What cannot be written is not remembered. */
void guard_write (int fd, uint32_t jobid, const struct outcome *o);

#endif /* SPANK_GUARD_H */
