/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of slurmdbd.
 *
 * Notes, of what was found out about Slurm 22.05: slurmdb_job_modify changes
 * the newest record of a job's number, or with JOBCOND_FLAG_DUP all of them,
 * earlier runs and earlier jobs alike. The number of an array or of a
 * heterogeneous job is that of one of its parts, too, and means all of them
 * unless the task is given, or JOBCOND_FLAG_NO_WHOLE_HETJOB. slurmctld writes
 * its own idea of a comment when a job ends, and tells of a job's start last:
 * what is written sooner is lost. A call takes some 45 ms whatever it does, a
 * commit, too (either side sends a message in two pieces, of which the second
 * waits until TCP's delayed acknowledgement of the first), but rows that are
 * not committed are locked for slurmctld. With no slurmdbd there,
 * slurmdb_job_modify crashes; when it goes away, the library may miss a symbol.
 *
 * Nothing is freed in the child, which ends.
 */
#include "config.h"
#include "prolog/slurm/accounting.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "prolog/slurm/child.h"
#include "report/comment.h"
#include "util/program.h"
#include "util/slurmapi.h"
#include "util/text.h"

enum {
    COMMIT_EVERY = 10, /* lines */
    DAY_S = 24 * 3600,
    READ_WAIT_MS = 300000, /* for the jobs of a day */
};

/*
 * In the child
 */

struct database {
    void *conn;
    void *clusters; /* ours: others may use the same slurmdbd */
};

static int slurm_fault (struct error *err)
{
    int errnum = errno;

    return error_world (err, "%s", errnum ? slurm_strerror (errnum)
                                          : "it did not do what it was asked");
}

static int list_add (void *list, void *item, struct error *err)
{
    if (!list || !item)
        return error_nomem (err);
    slurm_list_append (list, item);
    return 0;
}

/* The library's socket is the first that it opens: what it sends in two pieces
 * need not wait on our side. Nothing is lost where it is another file.
 *
 * By errno alone the library says that it failed: it sets it to 0 where it did
 * not: sacctmgr asks no other way.
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

    if (slurmapi_start (err) < 0)
        return -1;
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return error_world (err, "slurmctld: %s",
                            slurm_strerror (errno));
    db->clusters = slurm_list_create (NULL);
    if (list_add (db->clusters, conf->cluster_name, err) < 0)
        return -1;
    db->conn = open_connection ();
    return db->conn ? 0 : slurm_fault (err);
}

static slurmdb_job_cond_t *condition (const struct database *db,
                                      uint32_t flags)
{
    slurmdb_job_cond_t *cond = calloc (1, sizeof (*cond));

    if (cond) {
        cond->flags = flags | JOBCOND_FLAG_NO_WHOLE_HETJOB;
        cond->db_flags = SLURMDB_JOB_FLAG_NOTSET;
        cond->cluster_list = db->clusters;
        cond->step_list = slurm_list_create (NULL);
    }
    return cond;
}

static int add_job (slurmdb_job_cond_t *cond, uint32_t job, uint32_t task,
                    struct error *err)
{
    slurm_selected_step_t *step = calloc (1, sizeof (*step));

    if (!step)
        return error_nomem (err);
    step->array_task_id = task;
    step->het_job_offset = NO_VAL;
    step->step_id = slurmapi_whole_job (job);
    return list_add (cond->step_list, step, err);
}

/* What is to be appended, and how far it has come. */
struct batch {
    struct accounting_line *line;
    size_t n;
};

/* All records of the jobs' numbers, and some of others. NULL with err. */
static void *load_records (const struct database *db, const struct batch *b,
                          struct error *err)
{
    slurmdb_job_cond_t *cond
        = condition (db, JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC
                             | JOBCOND_FLAG_NO_STEP);
    void *records;

    if (!cond) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < b->n; i++)
        if (add_job (cond, b->line[i].job, NO_VAL, err) < 0)
            return NULL;
    if (!(records = slurmdb_jobs_get (db->conn, cond)))
        slurm_fault (err);
    return records;
}

static bool same_owner (const slurmdb_job_rec_t *a, const slurmdb_job_rec_t *b)
{
    return a->uid == b->uid && a->jobname && b->jobname
           && !strcmp (a->jobname, b->jobname);
}

/* The last run of a line's job, if it has ended; else NULL, and its fate. */
static const slurmdb_job_rec_t *find_record (void *records,
                                             struct accounting_line *line)
{
    const slurmdb_job_rec_t *last = NULL;
    const slurmdb_job_rec_t *own = NULL;
    const slurmdb_job_rec_t *rec;
    void *i = slurm_list_iterator_create (records);

    line->fate = ACCOUNTING_LATER;
    while ((rec = slurm_list_next (i))) {
        if (rec->jobid != line->job)
            continue;
        if (!last || rec->db_index > last->db_index)
            last = rec;
        if (line->submitted == 0 || rec->submit == line->submitted)
            own = rec;
    }
    slurm_list_iterator_destroy (i);
    if (!own)
        return NULL;
    if (line->submitted != 0 && !same_owner (own, last)) {
        line->fate = ACCOUNTING_OTHER;
        return NULL;
    }
    /* a partition is only known once its start is */
    return last->end != 0 && last->partition && last->partition[0] ? last
                                                                   : NULL;
}

static int write_comment (const struct database *db,
                          const slurmdb_job_rec_t *rec, char *text,
                          struct error *err)
{
    bool task = rec->array_job_id != 0 && rec->array_task_id != NO_VAL;
    slurmdb_job_cond_t *cond = condition (db, JOBCOND_FLAG_NO_DEFAULT_USAGE);
    slurmdb_job_rec_t *change = calloc (1, sizeof (*change));
    void *changed;

    if (!cond || !change)
        return error_nomem (err);
    if (add_job (cond, task ? rec->array_job_id : rec->jobid,
                 task ? rec->array_task_id : NO_VAL, err) < 0)
        return -1;
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

/* True if an earlier line was for the same job: its text is not known now. */
static bool is_second (const struct batch *b, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (b->line[k].job == b->line[i].job)
            return true;
    return false;
}

static int append_line (const struct database *db, const struct batch *b,
                        size_t i, void *records, struct error *err)
{
    struct accounting_line *line = &b->line[i];
    const slurmdb_job_rec_t *rec;
    char *text;

    if (is_second (b, i) || !(rec = find_record (records, line)))
        return 0;
    text = comment_append (rec->admin_comment, line->text, COMMENT_ADMIN_MAX);
    if (!text && errno == ENOMEM)
        return error_nomem (err);
    if (!text)
        line->fate = errno == EEXIST ? ACCOUNTING_THERE : ACCOUNTING_FULL;
    else if (write_comment (db, rec, text, err) < 0)
        return -1;
    else
        line->fate = ACCOUNTING_THERE;
    return 0;
}

/* Take it back of lines that are not there. */
static int look_again (const struct database *db, const struct batch *b,
                       struct error *err)
{
    void *records = load_records (db, b, err);

    if (!records)
        return -1;
    for (size_t i = 0; i < b->n; i++) {
        struct accounting_line line = b->line[i];
        const slurmdb_job_rec_t *rec;
        char *text;

        if (line.fate != ACCOUNTING_THERE)
            continue;
        rec = find_record (records, &line);
        text = rec ? comment_append (rec->admin_comment, line.text, SIZE_MAX)
                   : NULL;
        if (!rec || text || errno != EEXIST)
            b->line[i].fate = ACCOUNTING_LATER;
        free (text);
    }
    return 0;
}

/* Says a digit for each line: its fate. */
static int append_all (FILE *out, const void *arg, struct error *err)
{
    const struct batch *b = arg;
    int64_t enough = program_now_ms () + ACCOUNTING_WAIT_MS / 2;
    struct database db;
    void *records;

    if (connect_database (&db, err) < 0
        || !(records = load_records (&db, b, err)))
        return -1;
    for (size_t i = 0; i < b->n && program_now_ms () < enough; i++)
        if (append_line (&db, b, i, records, err) < 0
            || (i % COMMIT_EVERY == COMMIT_EVERY - 1 && commit (&db, err) < 0))
            return -1;
    if (commit (&db, err) < 0 || look_again (&db, b, err) < 0)
        return -1;
    for (size_t i = 0; i < b->n; i++)
        putc ('0' + (int)b->line[i].fate, out);
    return 0;
}

static void put (FILE *out, const char *s)
{
    fputs (s ? s : "", out);
    putc ('\0', out);
}

static bool may_be_ours (const char *comment)
{
    return comment && strstr (comment, "pmm: ");
}

struct span {
    int64_t from, to;
};

/* Says of each job its number, its end, and its comments. */
static int tell_jobs (FILE *out, const void *arg, struct error *err)
{
    const struct span *span = arg;
    struct database db;
    slurmdb_job_cond_t *cond;
    const slurmdb_job_rec_t *rec;
    void *i;
    void *records;

    if (connect_database (&db, err) < 0)
        return -1;
    if (!(cond = condition (&db, JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_TRUNC
                                     | JOBCOND_FLAG_NO_STEP)))
        return error_nomem (err);
    cond->usage_start = span->from;
    cond->usage_end = span->to;
    if (!(records = slurmdb_jobs_get (db.conn, cond)))
        return slurm_fault (err);
    i = slurm_list_iterator_create (records);
    while ((rec = slurm_list_next (i))) {
        if (rec->end < span->from || rec->end >= span->to
            || (!may_be_ours (rec->admin_comment)
                && !may_be_ours (rec->derived_es)))
            continue;
        fprintf (out, "%" PRIu32 "%c%jd%c", rec->jobid, 0,
                 (intmax_t)rec->end, 0);
        put (out, rec->admin_comment);
        put (out, rec->derived_es);
    }
    return 0;
}

/*
 * In the caller
 */

static int ask (child_f fn, const void *arg, int timeout_ms, char **text,
                size_t *len, struct error *err)
{
    if (child_call (fn, arg, timeout_ms, text, len, err) < 0)
        return error_prefix (err, "slurmdbd");
    return 0;
}

static int garbled (struct error *err)
{
    return error_world (err, "slurmdbd: its answer makes no sense");
}

int accounting_append (struct accounting_line *line, size_t n,
                       struct error *err)
{
    struct batch b = { line, n };
    char *text = NULL;
    size_t len;
    int rc;

    for (size_t i = 0; i < n; i++)
        line[i].fate = ACCOUNTING_UNTRIED;
    if (n == 0)
        return 0;
    if (n > ACCOUNTING_LINES_MAX)
        return error_input (err, "more than %d comments at once",
                            ACCOUNTING_LINES_MAX);
    if (ask (append_all, &b, ACCOUNTING_WAIT_MS, &text, &len, err) < 0)
        return -1;
    rc = len == n ? 0 : garbled (err);
    for (size_t i = 0; i < n && rc == 0; i++)
        line[i].fate = (enum accounting_fate)(text[i] - '0');
    free (text);
    return rc;
}

/* The next string of a text that ends in a NUL; NULL at its end. */
static const char *next (const char **p, const char *end)
{
    const char *s = *p;

    if (s >= end)
        return NULL;
    *p += strlen (s) + 1;
    return s;
}

static int take_jobs (const char *p, const char *end,
                      void (*take) (void *arg,
                                    const struct accounting_job *job),
                      void *arg, struct error *err)
{
    const char *id;

    while ((id = next (&p, end))) {
        const char *ended = next (&p, end);
        const char *admin_comment = next (&p, end);
        const char *comment = next (&p, end);
        uint64_t number, time;

        if (!comment || text_u64 (id, 0, UINT32_MAX, &number) < 0
            || text_u64 (ended, 0, INT64_MAX, &time) < 0)
            return garbled (err);
        take (arg, &(struct accounting_job){ (uint32_t)number, (int64_t)time,
                                             admin_comment, comment });
    }
    return 0;
}

int accounting_read (int64_t from, int64_t to,
                     void (*take) (void *arg,
                                   const struct accounting_job *job),
                     void *arg, struct error *err)
{
    int rc = 0;

    /* not all at once: a busy site has a million jobs in a month */
    for (; from < to && rc == 0; from += DAY_S) {
        struct span span = { from, from + DAY_S < to ? from + DAY_S : to };
        char *text = NULL;
        size_t len;

        if (ask (tell_jobs, &span, READ_WAIT_MS, &text, &len, err) < 0)
            return -1;
        rc = take_jobs (text, text + len, take, arg, err);
        free (text);
    }
    return rc;
}
