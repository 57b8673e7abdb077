/* SPDX-License-Identifier: GPL-2.0-or-later */
/* History: what the comments of many jobs (comment.h) say of links, nodes and
 * switches, over time.
 *
 * Made by `pmm report --sacct` from the comments of jobs. An AdminComment
 * counts as far as it is of audits, each audit once, however many jobs tell of
 * it. A Comment counts as far as it is of checks, and is said to be of checks:
 * who may write it may write anything there.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum {
    HISTORY_ENTRIES_MAX = 16,    /* of a comment, that count */
    HISTORY_RECORDS_MAX = 1 << 20,
};

struct history;

struct history *history_create (void);
void history_destroy (struct history *h);

/* Add the comments of a job that ended at that time. Return 0, or -1 with
 * err.
 */
int history_add (struct history *h, uint32_t job, int64_t end,
                 const char *admin_comment, const char *comment,
                 struct error *err);

/* Who was suspected more often is first: by the audits that FAILed, then by the
 * ambiguous ones, whose finding may as well be of another link or switch, then
 * those that were no more than a WARN, then UNKNOWN, then the checks likewise,
 * then by time. The text has all of it but the single occasions.
 *
 * JSON: {jobs, audits {OK, WARN, UNKNOWN, FAIL, ambiguous}, checks {...},
 * links, nodes, switches, days}. A link, node or switch is {name, ends (of
 * links; [] where no audit told), audits, checks, days (on so many), first,
 * last, max_ns, seen [{time, job, audit (null: a check), status, ambiguous,
 * excess_ns}]}; links are named by their ids. days is [{day, audits, checks}].
 * Times are seconds since 1970, days are UTC's.
 */
void history_text (struct history *h, FILE *fp);
json_t *history_json (struct history *h);

#endif /* REPORT_HISTORY_H */
