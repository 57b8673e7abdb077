/* SPDX-License-Identifier: GPL-2.0-or-later */
/* History: findings about links, nodes and switches over time, from the
 * comments of many jobs (comment.h).
 *
 * Made by `pmm report --sacct`. In an AdminComment only audits count, and each
 * audit counts once (among the days once a day), even if several jobs have it. In a
 * Comment only checks count; they are counted apart from audits, because a user
 * can write anything into a Comment.
 */
#ifndef REPORT_HISTORY_H
#define REPORT_HISTORY_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum {
    HISTORY_ENTRIES_MAX = 16,    /* per comment; further ones are ignored */
    HISTORY_RECORDS_MAX = 1 << 20,
};

struct history;

struct history *history_create (void);
void history_destroy (struct history *h);

/* Add the comments of a job that ended at time `end`. Return 0, or -1 with
 * err.
 */
int history_add (struct history *h, uint32_t job, int64_t end,
                 const char *admin_comment, const char *comment,
                 struct error *err);

/* Print the history as text or JSON. Links, nodes and switches are sorted by
 * the number of audits with FAIL, then with an ambiguous finding (another link
 * or switch explains it as well), then with WARN, then with UNKNOWN; then in
 * the same way by checks; then the latest first. The text has everything except
 * the single occurrences (seen).
 *
 * JSON: {jobs, audits {OK, WARN, UNKNOWN, FAIL, ambiguous}, checks {...},
 * links, nodes, switches, days}. A link, node or switch is {name, ends (only of
 * links; [] if no audit gave them), audits, checks, days (their number), first,
 * last, max_ns, min_share (of an expected rate), seen [{time, job, audit (null: a
 * check), status, ambiguous, excess_ns, share}]}; the name of a link is its id. days is
 * [{day, audits, checks}]. Times are seconds since 1970; days are in UTC.
 */
void history_text (struct history *h, FILE *fp);
json_t *history_json (struct history *h);

#endif /* REPORT_HISTORY_H */
