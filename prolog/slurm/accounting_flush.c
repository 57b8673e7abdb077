/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's comments, on their way to slurmdbd. */
#include "config.h"
#include "prolog/slurm/accounting.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer (const json_t *obj, const char *key)
{
    return json_integer_value (json_object_get (obj, key));
}

/* When to try again, which is later each time. */
static int64_t next_try (const json_t *comment, int64_t now)
{
    int64_t wait = ACCOUNTING_RETRY_S;

    for (int64_t n = integer (comment, "tries");
         n > 0 && wait < ACCOUNTING_RETRY_MAX_S; n--)
        wait *= 2;
    return now + (wait < ACCOUNTING_RETRY_MAX_S ? wait
                                                : ACCOUNTING_RETRY_MAX_S);
}

/* Note in the ledger what became of a comment. Return 1 if it is there now, 0
 * if not, -1 with err.
 */
static int settle (struct ledger *ledger, const json_t *comment,
                   enum accounting_fate fate, int64_t now, struct error *err)
{
    static const char *const why[] = {
        [ACCOUNTING_LATER] = "slurmdbd does not know that the job has ended",
        [ACCOUNTING_FULL] = "given up: its AdminComment would get too long",
        [ACCOUNTING_OTHER] = "given up: another job has its number",
    };
    int64_t id = integer (comment, "id");
    bool old = now - integer (comment, "queued") > ACCOUNTING_GIVE_UP_S;

    if (fate == ACCOUNTING_UNTRIED)
        return 0;
    if (fate != ACCOUNTING_THERE
        && ledger_comment_failed (ledger, now, id, next_try (comment, now),
                                  why[fate], err) < 0)
        return -1;
    if ((fate != ACCOUNTING_LATER || old)
        && ledger_comment_done (ledger, now, id, err) < 0)
        return -1;
    return fate == ACCOUNTING_THERE;
}

/* slurmdbd does not answer: each of them is due again later. Return -1. */
static int put_off (struct ledger *ledger, const json_t *due, int64_t now,
                    const struct error *err)
{
    size_t i;
    const json_t *comment;

    json_array_foreach (due, i, comment)
        if (ledger_comment_failed (ledger, now, integer (comment, "id"),
                                   next_try (comment, now), err->text, NULL)
            < 0)
            break;
    return -1;
}

static int flush (struct ledger *ledger, const json_t *due, int64_t now,
                  int *written, struct error *err)
{
    size_t n = json_array_size (due);
    struct accounting_line *line = calloc (n + 1, sizeof (*line));
    int rc = 0;

    if (!line)
        return error_nomem (err);
    for (size_t i = 0; i < n; i++) {
        const json_t *comment = json_array_get (due, i);

        line[i].job = (uint32_t)integer (comment, "job");
        line[i].submitted = integer (comment, "submitted");
        line[i].text = json_string_value (json_object_get (comment, "text"));
    }
    if (accounting_append (line, n, err) < 0)
        rc = put_off (ledger, due, now, err);
    for (size_t i = 0; i < n && rc >= 0; i++) {
        rc = settle (ledger, json_array_get (due, i), line[i].fate, now, err);
        *written += rc > 0;
    }
    free (line);
    return rc < 0 ? -1 : (int)n;
}

int accounting_flush (const struct site *site, struct ledger *ledger,
                      int64_t now, size_t n, int *written, struct error *err)
{
    struct error own = { .fault = ERROR_WORLD };
    json_t *due;
    int rc;

    *written = 0;
    if (!strcmp (site->action, "report"))
        return 0;
    if (n > ACCOUNTING_LINES_MAX)
        n = ACCOUNTING_LINES_MAX;
    if (!(due = ledger_comments_due (ledger, now, n, &own)))
        rc = -1;
    else
        rc = json_array_size (due) > 0
                 ? flush (ledger, due, now, written, &own)
                 : 0;
    json_decref (due);
    if (rc < 0 && err)
        *err = own;
    return rc;
}
