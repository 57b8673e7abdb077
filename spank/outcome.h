/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outcome of a check, on the two lines that carry it:
 *
 *     pmm-result 1 <OK|WARN|FAIL|UNKNOWN> <nonce> <one sentence>
 *
 * the last line of pmm-probe's result record, and
 *
 *     pmm-check 1 <job id> <OK|WARN|FAIL|UNKNOWN|NONE> <one sentence>
 *
 * the record of a job's check, in the guard file and in the environment
 * variable PMM_CHECK of the job's processes.
 */
#ifndef SPANK_OUTCOME_H
#define SPANK_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "util/error.h"

enum outcome_status {
    OUTCOME_NONE, /* nothing was measured: text says why */
    OUTCOME_OK,
    OUTCOME_WARN,
    OUTCOME_FAIL,
    OUTCOME_UNKNOWN,
};

enum { OUTCOME_TEXT = 256, OUTCOME_LINE = 320 };

struct outcome {
    enum outcome_status status;
    char text[OUTCOME_TEXT]; /* one sentence, printable */
};

/* Set o from a line, without its newline, if it is a result with this nonce, or
 * the record of this job. Return false, with o untouched, if it is anything
 * else.
 */
bool outcome_parse_result (struct outcome *o, const char *line,
                           const char *nonce);
bool outcome_parse_record (struct outcome *o, const char *line, uint32_t jobid);

/* Write the record of a job, without a newline, to line[OUTCOME_LINE]. */
void outcome_format_record (const struct outcome *o, uint32_t jobid,
                            char *line);

/* "OK" */
const char *outcome_name (enum outcome_status status);

__attribute__ ((format (printf, 3, 4))) void
outcome_set (struct outcome *o, enum outcome_status status, const char *fmt,
             ...);

/* The once-per-job guard: a small file, private to the user, that is locked
 * during a job's check and keeps the outcome for the later steps of the job. It
 * is in a directory of the user, GUARD_DIR-<uid>, named <cluster>.<job id
 * modulo GUARD_SLOTS>, so the number of files is bounded. Two jobs that share a
 * file may be checked once more than needed. Job ids start again when a cluster
 * is rebuilt, so a record older than the job is ignored.
 */
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

/* Set o from the record if there is one of this job, made at or after `since`.
 * Replace the record; what cannot be written is not remembered.
 */
bool guard_read (int fd, uint32_t jobid, time_t since, struct outcome *o);
void guard_write (int fd, uint32_t jobid, const struct outcome *o);

#endif /* SPANK_OUTCOME_H */
