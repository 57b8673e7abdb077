/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outcome of a check, on one line. */
#include "config.h"
#include "spank/outcome.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

static const char *const names[] = {
    [OUTCOME_NONE] = "NONE", [OUTCOME_OK] = "OK",
    [OUTCOME_WARN] = "WARN", [OUTCOME_FAIL] = "FAIL",
    [OUTCOME_UNKNOWN] = "UNKNOWN",
};

/* If *line starts with word and a space, move *line after them. */
static bool take (const char **line, const char *word)
{
    size_t len = strlen (word);

    if (strncmp (*line, word, len) || (*line)[len] != ' ')
        return false;
    *line += len + 1;
    return true;
}

static bool take_status (const char **line, enum outcome_status first,
                         enum outcome_status *status)
{
    for (size_t i = first; i < sizeof (names) / sizeof (names[0]); i++)
        if (take (line, names[i])) {
            *status = (enum outcome_status)i;
            return true;
        }
    return false;
}

bool outcome_parse_result (struct outcome *o, const char *line,
                           const char *nonce)
{
    enum outcome_status status;

    if (!take (&line, "pmm-result") || !take (&line, "1")
        || !take_status (&line, OUTCOME_OK, &status) || !take (&line, nonce)
        || !*line)
        return false;
    outcome_set (o, status, "%s", line);
    return true;
}

bool outcome_parse_record (struct outcome *o, const char *line,
                           uint32_t jobid)
{
    enum outcome_status status;
    char job[16];

    snprintf (job, sizeof (job), "%" PRIu32, jobid);
    if (!take (&line, "pmm-check") || !take (&line, "1")
        || !take (&line, job) || !take_status (&line, OUTCOME_NONE, &status)
        || !*line)
        return false;
    outcome_set (o, status, "%s", line);
    return true;
}

void outcome_format_record (const struct outcome *o, uint32_t jobid,
                            char *line)
{
    snprintf (line, OUTCOME_LINE, "pmm-check 1 %" PRIu32 " %s %s", jobid,
              names[o->status], o->text);
}

const char *outcome_name (enum outcome_status status)
{
    return names[status];
}

struct outcome *outcome_set (struct outcome *o, enum outcome_status status,
                             const char *fmt, ...)
{
    va_list ap;

    o->status = status;
    va_start (ap, fmt);
    vsnprintf (o->text, sizeof (o->text), fmt, ap);
    va_end (ap);
    text_clean (o->text);
    return o;
}
