/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to slurmdbd.
 *
 * Notes on Slurm 22.05, found by experiment:
 *
 * slurmdb_job_modify changes the newest record with a job id; with
 * JOBCOND_FLAG_DUP it changes all of them, also those of earlier runs and
 * earlier jobs. The id of an array or of a heterogeneous job is also the id of
 * one of its parts. It selects all parts, unless the task or
 * JOBCOND_FLAG_NO_WHOLE_HETJOB is given.
 *
 * When a job ends, slurmctld writes its own copy of the comment, and it reports
 * the start of a job last. A comment written before that is lost.
 *
 * Each call takes about 45 ms, even a commit: either side sends a message in
 * two pieces, and the second one waits for TCP's delayed acknowledgement of the
 * first. So a commit per line would be slow, but uncommitted rows are locked
 * for slurmctld: hence COMMIT_EVERY.
 *
 * Without a slurmdbd, slurmdb_job_modify crashes. If slurmdbd goes away, the
 * library may miss a symbol.
 */
#include "config.h"
#include "prolog/slurm/accounting.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "prolog/slurm/child.h"
#include "report/comment.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/slurmapi.h"

enum {
    LINES_MAX = 1000,    /* per call */
    APPEND_WAIT_MS = 20000,
    RETRY_S = 2,         /* wait after the first failed try, */
    RETRY_MAX_S = 900,   /* ... doubled after each, up to this */
    GIVE_UP_S = 7 * 24 * 3600, /* if the job is not found */
    COMMIT_EVERY = 10,   /* lines */
    DAY_S = 24 * 3600,
    READ_WAIT_MS = 300000, /* for the jobs of a day */
};

/* The result for a line. */
enum fate {
    UNTRIED, /* time was short, or an earlier line was for the same job */
    LATER,   /* slurmdbd does not know the job's end yet */
    THERE,   /* it was written, now or before */
    FULL,    /* the comment would get too long: not changed */
    OTHER,   /* another job has this id by now: not changed */
    NOWHERE, /* the site has no slurmdbd */
};

/*
 * In the child
 */

struct database {
    bool none;      /* the site has no slurmdbd */
    void *conn;
    void *clusters; /* our own: others may use the same slurmdbd */
};

static int slurm_fault (struct error *err)
{
    int errnum = errno;

    return error_world (err, "%s", errnum ? slurm_strerror (errnum)
                                          : "it did not carry out the request");
}

/* The first file that the library opens is its socket. With TCP_NODELAY the
 * second piece of a message does not wait on our side. If fd is another file,
 * setsockopt has no effect.
 *
 * The library reports failure only by errno, which it sets to 0 on success.
 * sacctmgr checks it in the same way.
 */
static void *open_connection (void)
{
    const int on = 1;
    uint16_t flags = 0;
    int fd = dup (STDIN_FILENO);
    void *conn;

    close (fd);
    errno = 0;
    conn = slurmdb_connection_get (&flags);
    if (!conn || errno != 0)
        return NULL;
    setsockopt (fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof (on));
    return conn;
}

static int connect_database (struct database *db, struct error *err)
{
    slurm_conf_t *conf;
    const char *type;

    if (slurmapi_start (err) < 0)
        return -1;
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return error_world (err, "slurmctld: %s", slurm_strerror (errno));
    type = conf->accounting_storage_type;
    db->none = !type || strcmp (type, "accounting_storage/slurmdbd") != 0;
    if (db->none)
        return error_world (err, "the site has none: AccountingStorageType is "
                            "%s", type ? type : "not set");
    db->clusters = xcheck (slurm_list_create (NULL));
    slurm_list_append (db->clusters, xcheck (conf->cluster_name));
    db->conn = open_connection ();
    return db->conn ? 0 : slurm_fault (err);
}

#define ALL_RECORDS                                                           \
    (JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC | JOBCOND_FLAG_NO_STEP)

static slurmdb_job_cond_t *condition (const struct database *db, uint32_t flags)
{
    slurmdb_job_cond_t *cond = xcalloc (1, sizeof (*cond));

    cond->flags = flags | JOBCOND_FLAG_NO_WHOLE_HETJOB;
    cond->db_flags = SLURMDB_JOB_FLAG_NOTSET;
    cond->cluster_list = db->clusters;
    cond->step_list = xcheck (slurm_list_create (NULL));
    return cond;
}

static void add_job_condition (slurmdb_job_cond_t *cond, uint32_t job,
                               uint32_t task)
{
    slurm_selected_step_t *step = xcalloc (1, sizeof (*step));

    step->array_task_id = task;
    step->het_job_offset = NO_VAL;
    step->step_id = slurmapi_whole_job (job);
    slurm_list_append (cond->step_list, step);
}

/* Comments of the ledger that are to be appended. A job is given by its id and
 * submit time (0: not known). If the job was requeued, the line goes to its
 * last run, once that has ended: Slurm can change no other run.
 */
struct comment_batch {
    const struct ledger_comment *due; /* [n] */
    size_t n;
    enum fate *fate;   /* [n] the results, in the child */
};

/* All records with the jobs' ids, and possibly some others. NULL with err. */
static void *load_records (const struct database *db,
                           const struct comment_batch *b, struct error *err)
{
    slurmdb_job_cond_t *cond = condition (db, ALL_RECORDS);
    void *records;

    for (size_t i = 0; i < b->n; i++)
        add_job_condition (cond, (uint32_t)b->due[i].job, NO_VAL);
    if (!(records = slurmdb_jobs_get (db->conn, cond)))
        slurm_fault (err);
    return records;
}

/* The last run of the job of comment i, if it has ended. Else NULL, and *fate
 * is LATER or OTHER.
 */
static const slurmdb_job_rec_t *find_record (const struct comment_batch *b,
                                             size_t i, void *records,
                                             enum fate *fate)
{
    int64_t submitted = b->due[i].submitted;
    const slurmdb_job_rec_t *last = NULL;
    const slurmdb_job_rec_t *own = NULL;
    const slurmdb_job_rec_t *rec;
    void *it = slurm_list_iterator_create (records);

    *fate = LATER;
    while ((rec = slurm_list_next (it))) {
        if (rec->jobid != (uint32_t)b->due[i].job)
            continue;
        if (!last || rec->db_index > last->db_index)
            last = rec;
        if (submitted == 0 || rec->submit == submitted)
            own = rec;
    }
    slurm_list_iterator_destroy (it);
    if (!own)
        return NULL;
    if (submitted != 0
        && (own->uid != last->uid || !own->jobname || !last->jobname
            || strcmp (own->jobname, last->jobname))) {
        *fate = OTHER;
        return NULL;
    }
    /* the partition is known only after the start was reported */
    return last->end != 0 && last->partition && last->partition[0] ? last
                                                                   : NULL;
}

static int write_comment (const struct database *db,
                          const slurmdb_job_rec_t *rec, char *text,
                          struct error *err)
{
    bool task = rec->array_job_id != 0 && rec->array_task_id != NO_VAL;
    slurmdb_job_cond_t *cond = condition (db, JOBCOND_FLAG_NO_DEFAULT_USAGE);
    slurmdb_job_rec_t *change = xcalloc (1, sizeof (*change));
    void *changed;

    add_job_condition (cond, task ? rec->array_job_id : rec->jobid,
                       task ? rec->array_task_id : NO_VAL);
    change->derived_ec = NO_VAL;
    change->admin_comment = text;
    if (!(changed = slurmdb_job_modify (db->conn, cond, change))
        || slurm_list_count (changed) != 1)
        return slurm_fault (err);
    return 0;
}

static int commit (const struct database *db, struct error *err)
{
    if (slurmdb_connection_commit (db->conn, 1) != SLURM_SUCCESS)
        return slurm_fault (err);
    return 0;
}

/* Append line i. If an earlier line was for the same job, it stays UNTRIED: the
 * comment may have changed since it was read.
 */
static int append_line (const struct database *db,
                        const struct comment_batch *b, size_t i, void *records,
                        struct error *err)
{
    const slurmdb_job_rec_t *rec;
    char *text;

    for (size_t k = 0; k < i; k++)
        if (b->due[k].job == b->due[i].job)
            return 0;
    if (!(rec = find_record (b, i, records, &b->fate[i])))
        return 0;
    text = comment_append (rec->admin_comment, b->due[i].text,
                           COMMENT_ADMIN_MAX);
    if (text && write_comment (db, rec, text, err) < 0)
        return -1;
    b->fate[i] = text || errno == EEXIST ? THERE : FULL;
    return 0;
}

/* Read the comments again. Lines that are missing become LATER. */
static int reread_comments (const struct database *db,
                            const struct comment_batch *b, struct error *err)
{
    void *records = load_records (db, b, err);
    enum fate fate;

    for (size_t i = 0; records && i < b->n; i++) {
        const slurmdb_job_rec_t *rec;

        if (b->fate[i] == THERE
            && (!(rec = find_record (b, i, records, &fate))
                || comment_append (rec->admin_comment, b->due[i].text, SIZE_MAX)
                || errno != EEXIST))
            b->fate[i] = LATER;
    }
    return records ? 0 : -1;
}

static int append_lines (const struct database *db,
                         const struct comment_batch *b, struct error *err)
{
    int64_t enough = clock_ms () + APPEND_WAIT_MS / 2;
    void *records = load_records (db, b, err);

    for (size_t i = 0; records && i < b->n && clock_ms () < enough; i++)
        if (append_line (db, b, i, records, err) < 0
            || (i % COMMIT_EVERY == COMMIT_EVERY - 1 && commit (db, err) < 0))
            return -1;
    return records && commit (db, err) == 0 ? reread_comments (db, b, err) : -1;
}

/* Append the lines. Return the fate of each. */
static int append_all (const void *arg, void *fates, struct error *err)
{
    struct comment_batch b = *(const struct comment_batch *)arg;
    struct database db = { 0 };

    b.fate = fates;
    if (connect_database (&db, err) == 0)
        return append_lines (&db, &b, err);
    for (size_t i = 0; i < b.n && db.none; i++)
        b.fate[i] = NOWHERE;
    return db.none ? 0 : -1;
}

static bool may_be_ours (const char *comment)
{
    return comment && strstr (comment, "pmm: ");
}

struct time_span {
    int64_t from, to;
};

struct span_jobs {
    struct accounting_job *v;
    size_t n;
};

static int tell_jobs (const void *arg, void *answer, struct error *err)
{
    const struct time_span *span = arg;
    struct span_jobs *jobs = answer;
    struct database db;
    slurmdb_job_cond_t *cond;
    const slurmdb_job_rec_t *rec;
    void *records, *i;

    if (connect_database (&db, err) < 0)
        return -1;
    cond = condition (&db, ALL_RECORDS);
    cond->usage_start = span->from;
    cond->usage_end = span->to;
    if (!(records = slurmdb_jobs_get (db.conn, cond)))
        return slurm_fault (err);
    jobs->v = child_alloc ((size_t)slurm_list_count (records),
                           sizeof (*jobs->v));
    i = slurm_list_iterator_create (records);
    while ((rec = slurm_list_next (i)))
        if (rec->end >= span->from && rec->end < span->to
            && (may_be_ours (rec->admin_comment)
                || may_be_ours (rec->derived_es)))
            jobs->v[jobs->n++] = (struct accounting_job){
                .job = rec->jobid, .end = rec->end,
                .admin_comment = child_text (rec->admin_comment),
                .comment = child_text (rec->derived_es),
            };
    return 0;
}

/*
 * In the caller
 */

static void *ask_slurmdbd (child_f fn, const void *arg, size_t size,
                           int timeout_ms, struct error *err)
{
    void *answer = child_call (fn, arg, size, timeout_ms, err);

    if (!answer)
        error_prefix (err, "slurmdbd");
    return answer;
}

int accounting_read (int64_t from, int64_t to,
                     void (*take) (void *arg,
                                   const struct accounting_job *job),
                     void *arg, struct error *err)
{
    /* a day at a time: a busy site has a million jobs in a month */
    for (; from < to; from += DAY_S) {
        struct time_span span = { from, from + DAY_S < to ? from + DAY_S : to };
        struct span_jobs *jobs = ask_slurmdbd (tell_jobs, &span, sizeof (*jobs),
                                               READ_WAIT_MS, err);

        if (!jobs)
            return -1;
        for (size_t i = 0; i < jobs->n; i++)
            take (arg, &jobs->v[i]);
        child_free (jobs);
    }
    return 0;
}

/*
 * The ledger's comments
 */

/* Record in the ledger that a comment could not be written. It is tried again
 * later: the wait doubles after each try.
 */
static int record_comment_failure (struct ledger *ledger,
                                   const struct ledger_comment *comment,
                                   int64_t now, const char *why,
                                   struct error *err)
{
    int64_t wait = RETRY_S;

    for (int64_t n = comment->tries; n > 0 && wait < RETRY_MAX_S; n--)
        wait = 2 * wait < RETRY_MAX_S ? 2 * wait : RETRY_MAX_S;
    return ledger_comment_failed (ledger, now, comment->id, now + wait, why,
                                  err);
}

/* Record the result for a comment in the ledger. */
static int record_comment_result (struct ledger *ledger,
                                  const struct ledger_comment *comment,
                                  enum fate fate, int64_t now,
                                  struct error *err)
{
    static const char *const why[] = {
        [LATER] = "slurmdbd does not know that the job has ended",
        [FULL] = "given up: its AdminComment would get too long",
        [OTHER] = "given up: another job has its number",
        [NOWHERE] = "given up: the site has no slurmdbd",
    };
    bool old = now - comment->queued > GIVE_UP_S;

    if (fate == UNTRIED)
        return 0;
    if (fate != THERE
        && record_comment_failure (ledger, comment, now, why[fate], err) < 0)
        return -1;
    if (fate == LATER && !old)
        return 0;
    return ledger_comment_done (ledger, now, comment->id, err);
}

int accounting_flush (struct ledger *ledger, int64_t now, size_t n,
                      int *written, struct error *err)
{
    struct ledger_rows due;
    int rc = ledger_list (ledger, LEDGER_COMMENTS_DUE, now,
                          n < LINES_MAX ? n : LINES_MAX, &due, err);
    struct comment_batch b = { .due = due.comment, .n = due.n };
    enum fate *fates = NULL;

    *written = 0;
    if (b.n > 0
        && !(fates = ask_slurmdbd (append_all, &b, b.n * sizeof (*fates),
                                   APPEND_WAIT_MS, err))) {
        rc = -1; /* slurmdbd does not answer: put off all comments */
        for (size_t i = 0; i < b.n; i++)
            if (record_comment_failure (ledger, &due.comment[i], now, err->text,
                                        NULL)
                < 0)
                break;
    }
    for (size_t i = 0; i < b.n && rc == 0; i++) {
        rc = record_comment_result (ledger, &due.comment[i], fates[i], now,
                                    err);
        *written += rc == 0 && fates[i] == THERE;
    }
    child_free (fates);
    return rc < 0 ? -1 : (int)b.n;
}
