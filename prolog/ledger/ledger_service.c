/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service keeps in the ledger, and asks of it before it audits. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "prolog/ledger/ledger_db.h"
#include "util/file.h"

enum { FAULT_MAX_AGE_S = 7 * 86400 };

int ledger_lock (const struct ledger *l, int *fd, struct error *err)
{
    char path[PATH_MAX];
    int rc;

    if (snprintf (path, sizeof (path), "%s.lock", l->path)
        >= (int)sizeof (path))
        return error_input (err, "the ledger's name is too long");
    if ((*fd = file_open_lock (AT_FDCWD, path, err)) < 0)
        return -1;
    if ((rc = file_lock (*fd, 0)) == 1)
        return 1;
    error_errno (err, "%s", path);
    close (*fd);
    *fd = -1;
    return rc;
}

/*
 * Comments
 */

static int64_t add_comment (struct ledger *l, int64_t time, uint64_t job,
                            int64_t submitted, const char *text,
                            struct error *err)
{
    int64_t id, after = 0;
    int rc = db_run (l, DB_FIND_COMMENT, &id,
                     VALUES (INT ((int64_t)job), INT (submitted),
                             TEXT (text)), err);

    if (rc != 0)
        return rc < 0 ? -1 : id;
    if (db_run (l, DB_LAST_AUDIT, &after, VALUES (INT (0)), err) < 0
        || db_run (l, DB_ADD_COMMENT, NULL,
                   VALUES (INT ((int64_t)job), INT (submitted), TEXT (text),
                           INT (after), INT (time)), err) < 0)
        return -1;
    return sqlite3_last_insert_rowid (l->db);
}

int64_t ledger_comment_add (struct ledger *l, int64_t time, uint64_t job,
                            int64_t submitted, const char *text,
                            struct error *err)
{
    if (db_begin (l, DB_BEGIN, err) < 0)
        return -1;
    return db_end (l, add_comment (l, time, job, submitted, text, err), err);
}

int ledger_comment_done (struct ledger *l, int64_t time, int64_t comment,
                         struct error *err)
{
    return db_run (l, DB_DONE_COMMENT, NULL,
                   VALUES (INT (comment), INT (time)), err);
}

int ledger_comment_failed (struct ledger *l, int64_t time, int64_t comment,
                           int64_t not_before, const char *why,
                           struct error *err)
{
    if (not_before > time + LEDGER_RETRY_MAX_S)
        not_before = time + LEDGER_RETRY_MAX_S;
    return db_run (l, DB_FAILED_COMMENT, NULL,
                   VALUES (INT (comment), INT (not_before), TEXT (why)), err);
}

/* What is due later than it may be was put off by a clock that was ahead. */
json_t *ledger_comments_due (struct ledger *l, int64_t now, size_t n,
                             struct error *err)
{
    return db_list (l, DB_COMMENTS_DUE,
                    VALUES (INT (now), INT (now + LEDGER_RETRY_MAX_S),
                            INT ((int64_t)n)), err);
}

/*
 * Audits
 */

/* The number that a statement tells. */
static int64_t number (struct ledger *l, enum db_stmt id,
                       const struct db_value *v, size_t n, struct error *err)
{
    int64_t value = 0;

    return db_run (l, id, &value, v, n, err) < 0 ? -1 : value;
}

int64_t ledger_audited (struct ledger *l, uint64_t job, int64_t submitted,
                        struct error *err)
{
    return number (l, DB_FIND_JOB,
                   VALUES (INT ((int64_t)job), INT (submitted)), err);
}

json_t *ledger_begun (struct ledger *l, int64_t from, int64_t to,
                      struct error *err)
{
    return db_list (l, DB_BEGUN, VALUES (INT (from), INT (to)), err);
}

int64_t ledger_since (struct ledger *l, int64_t time, struct error *err)
{
    return number (l, DB_SINCE, VALUES (INT (time)), err);
}

json_t *ledger_silent (struct ledger *l, int64_t since, struct error *err)
{
    return db_map (l, DB_SILENT, VALUES (INT (since)), err);
}

json_t *ledger_failed (struct ledger *l, int64_t since, struct error *err)
{
    return db_list (l, DB_FAILED, VALUES (INT (since)), err);
}

int ledger_first (struct ledger *l, int64_t *begun, struct error *err)
{
    return db_run (l, DB_FIRST, begun, NULL, 0, err);
}

int ledger_measured (struct ledger *l, const char *node, int64_t *begun,
                     struct error *err)
{
    return db_run (l, DB_NODE_LAST, begun, VALUES (NAME (node)), err);
}

/*
 * Faults
 */

/* One more of a node, which is newer than those before it. */
static int add_fault (json_t *of, sqlite3_stmt *row)
{
    const char *node = (const char *)sqlite3_column_text (row, 0);
    int64_t begun = sqlite3_column_int64 (row, 2);
    json_t *old = json_object_get (of, node);
    json_t *since = json_object_get (old, "since");
    json_int_t faults = 1 + json_integer_value (json_object_get (old,
                                                                 "faults"));
    int64_t out_s = LEDGER_OUT_MIN_S;

    for (json_int_t i = 1; i < faults && out_s < LEDGER_OUT_MAX_S; i++)
        out_s *= 2;
    if (out_s > LEDGER_OUT_MAX_S)
        out_s = LEDGER_OUT_MAX_S;
    return json_object_set_new (
        of, node,
        json_pack ("{s:s, s:I, s:I, s:I}", "cause",
                   (const char *)sqlite3_column_text (row, 1), "faults",
                   faults, "since",
                   since ? json_integer_value (since) : (json_int_t)begun,
                   "until", (json_int_t)(begun + out_s)));
}

json_t *ledger_faulty (struct ledger *l, int64_t now, struct error *err)
{
    return db_collect (l, DB_FAULTS, VALUES (INT (now - FAULT_MAX_AGE_S)),
                       json_object (), add_fault, err);
}

/* No longer than it can have been, if the clock stepped back. */
const json_t *ledger_is_out (const json_t *faulty, const char *node,
                             int64_t now)
{
    const json_t *v = json_object_get (faulty, node);
    int64_t until = json_integer_value (json_object_get (v, "until"));

    return until > now && until <= now + LEDGER_OUT_MAX_S ? v : NULL;
}

json_t *ledger_ages (struct ledger *l, struct error *err)
{
    return db_map (l, DB_AGES, NULL, 0, err);
}

json_t *ledger_newest (struct ledger *l, struct error *err)
{
    return db_list (l, DB_NEWEST, NULL, 0, err);
}

json_t *ledger_extent (struct ledger *l, int64_t id, struct error *err)
{
    json_t *list = db_list (l, DB_EXTENT, VALUES (INT (id)), err);
    json_t *extent = json_incref (json_array_get (list, 0));

    json_decref (list);
    return extent;
}
