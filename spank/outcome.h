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
#include <stddef.h>
#include <stdint.h>

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

/* Set o from a line, without its newline, if it is a result with this nonce.
 * Return false, with o untouched, if it is anything else.
 */
bool outcome_parse_result (struct outcome *o, const char *line,
                           const char *nonce);

/* The same for what is remembered of job `jobid`. */
bool outcome_parse_record (struct outcome *o, const char *line,
                           uint32_t jobid);

/* Write the record of a job, without a newline, to line[OUTCOME_LINE]. */
void outcome_format_record (const struct outcome *o, uint32_t jobid,
                            char *line);

/* "OK" */
const char *outcome_name (enum outcome_status status);

/* Set status and sentence; always returns o. */
struct outcome *outcome_set (struct outcome *o, enum outcome_status status,
                             const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

#endif /* SPANK_OUTCOME_H */
