/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The jobs that ended.
 *
 * Notes. All access is relative to the directory's descriptor, so the directory
 * that was checked is the one that is written and read. One call renames or
 * removes a record. So after a crash a record is in one of its states, and the
 * next service continues from there.
 */
#include "config.h"
#include "prolog/serve/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/sort.h"

#define MAGIC "pmm-spool 1"
#define DROPPED "dropped" /* one byte per dropped record */
#define TIME_MAX (INT64_MAX / 4)

enum { NAME_BYTES = 128, TEMP_KEEP_S = 3600 };

/*
 * The hook
 */

/* Write a record, if there is room. 0, or -1 with errno. */
static int write_spool_record (int dir, const char *path,
                               const struct spool_record *r, struct error *err)
{
    struct outfile *out;
    DIR *d = file_open_list (dir, ".");
    size_t n = 0;
    char *name;

    if (!d)
        return -1;
    while (n < SPOOL_FILES_MAX && readdir (d))
        n++;
    closedir (d);
    if (n == SPOOL_FILES_MAX) {
        errno = ENOSPC;
        return -1;
    }
    name = xasprintf ("%s/%" PRIu64 ".%" PRIu64, path, r->job, r->time);
    out = file_create_private (name, err);
    free (name);
    if (!out)
        return -1;
    fprintf (file_stream (out),
             MAGIC "\njob %" PRIu64 "\nuid %" PRIu64 "\ntime %" PRIu64
             "\nchecked %" PRIu64 "\npartition %s\nnodes %s\nend\n",
             r->job, r->uid, r->time, r->checked, r->partition, r->nodes);
    return file_commit (out, err);
}

int spool_drop (const char *dir, const struct spool_record *record,
                struct error *err)
{
    int fd = file_open_trusted_dir (dir, geteuid (), err);
    int rc, dropped;

    if (fd < 0)
        return error_prefix (err, "the spool");
    if ((rc = write_spool_record (fd, dir, record, err)) < 0) {
        int saved_errno = errno;

        error_errno (err, "%s: job %" PRIu64 " is not recorded", dir,
                     record->job);
        dropped = openat (fd, DROPPED,
                          O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW
                              | O_CLOEXEC,
                          0600);
        dprintf (dropped, "+");
        if (dropped >= 0)
            close (dropped);
        errno = saved_errno;
    }
    close (fd);
    return rc;
}

/*
 * The service
 */

struct spool {
    int dir;
    int lock;
    int notify;
    char *path;
};

struct spool *spool_open (const char *dir, int wait_ms, struct error *err)
{
    struct spool *s = xcalloc (1, sizeof (*s));
    struct stat st;
    int rc = -1;

    s->path = xstrdup (dir);
    s->notify = s->lock = -1;
    s->dir = file_open_trusted_dir (dir, geteuid (), err);
    if (s->dir < 0)
        error_prefix (err, "the spool");
    else if (fstat (s->dir, &st) < 0 || st.st_uid != geteuid ()) {
        errno = EPERM;
        error_world (err, "the spool %s is not ours", dir);
    }
    /* wait: a killed service holds the lock until its process has ended */
    else if ((rc = file_take_lock (s->dir, SPOOL_LOCK, wait_ms, &s->lock, err))
             < 0)
        error_prefix (err, "%s", s->path);
    else if (rc == 0) {
        errno = EWOULDBLOCK;
        error_world (err, "another audit service runs: it holds %s/%s",
                     s->path, SPOOL_LOCK);
    }
    else if ((s->notify = inotify_init1 (IN_NONBLOCK | IN_CLOEXEC)) < 0
             || inotify_add_watch (s->notify, dir, IN_MOVED_TO | IN_ONLYDIR)
                    < 0)
        error_errno (err, "%s cannot be watched", dir);
    else
        return s;
    spool_close (s);
    return NULL;
}

void spool_close (struct spool *s)
{
    int saved_errno = errno;

    if (!s)
        return;
    if (s->notify >= 0)
        close (s->notify);
    if (s->lock >= 0)
        close (s->lock);
    if (s->dir >= 0)
        close (s->dir);
    free (s->path);
    free (s);
    errno = saved_errno;
}

int spool_fd (const struct spool *s)
{
    return s->notify;
}

/*
 * Names
 */

static const char *const state_name[] = {
    [SPOOL_FRESH] = "",
    [SPOOL_BEGUN] = "begun",
    [SPOOL_DONE] = "done",
};

static void spool_entry_name (const struct spool_entry *e,
                              char name[NAME_BYTES])
{
    int n = snprintf (name, NAME_BYTES, "%" PRIu64 ".%" PRId64, e->job,
                      e->time);

    if (e->state != SPOOL_FRESH)
        snprintf (name + n, NAME_BYTES - (size_t)n, ".%s.%" PRIu64,
                  state_name[e->state], e->audit);
}

/* Whether name is the name of a record, exactly as name_of writes it. If so,
 * job, time, state and audit are set.
 */
static bool name_is_record (const char *name, struct spool_entry *e)
{
    char state[8] = "", again[NAME_BYTES];

    e->audit = 0;
    if (sscanf (name, "%" SCNu64 ".%" SCNd64 ".%7[a-z].%" SCNu64, &e->job,
                &e->time, state, &e->audit) < 2
        || e->job > UINT32_MAX || e->time < 0 || e->time > TIME_MAX
        || e->audit > INT64_MAX)
        return false;
    e->state = SPOOL_DONE;
    while (e->state > SPOOL_FRESH && strcmp (state, state_name[e->state]))
        e->state--;
    spool_entry_name (e, again);
    return !strcmp (again, name);
}

/*
 * Records
 */

/* Fill an entry, whose name has been read, from the text of its record. */
static int parse_spool_record (struct spool_entry *e, char *text,
                               struct error *err)
{
    uint64_t job, checked;
    int64_t time;
    int nodes = 0; /* where they are in the text */
    char *end;

    if (strncmp (text, MAGIC "\n", sizeof (MAGIC)) != 0)
        return error_input (err, "it is not a record");
    sscanf (text, MAGIC "\njob %" SCNu64 "\nuid %" SCNu64 "\ntime %" SCNd64
            "\nchecked %" SCNu64 "\npartition %255[^\n]\nnodes %n",
            &job, &e->uid, &time, &checked, e->partition, &nodes);
    _Static_assert (sizeof (e->partition) == 256, "its name has room");
    end = strstr (text + nodes, "\nend\n");
    if (nodes == 0 || !end || end[strlen ("\nend\n")] || e->uid > UINT32_MAX
        || checked > 1)
        return error_input (err, "it is not whole, or a value is bad");
    if (job != e->job || time != e->time)
        return error_input (err, "it is of another job");
    *end = '\0';
    text_clean (e->partition);
    if (hostlist_parse (&e->nodes, text + nodes, SPOOL_NODES_MAX, err) < 0)
        return error_prefix (err, "its nodes");
    sort_array (e->nodes.name, e->nodes.count, compare_strings);
    e->checked = checked;
    return 0;
}

/* Read the record of a file that only we or root can have written. ERROR_INPUT:
 * it is none.
 */
static int read_record (struct spool *s, const char *name,
                        struct spool_entry *e, struct error *err)
{
    FILE *fp = file_open_trusted_at (s->dir, name, geteuid (), err);
    bool bad = !fp && (errno == EPERM || errno == EINVAL || errno == ELOOP);
    char *text = NULL;
    size_t len;
    int rc = -1;

    if (fp && !(text = file_slurp (fp, SPOOL_RECORD_BYTES, &len, err)))
        bad = !ferror (fp);
    if (text)
        rc = parse_spool_record (e, text, err);
    else if (bad)
        error_input (err, "it is too large, or not SlurmUser's own");
    else
        err->fault = ERROR_WORLD;
    file_close_input (fp);
    free (text);
    return rc;
}

/* Add a record to the list. If it is refused, remove it, with a remark. If it
 * is gone, nothing happens.
 */
static int add_spool_record (struct spool *s, const char *name,
                             struct spool_entry *e, struct spool_list *list,
                             struct error *err)
{
    struct error why;

    if (read_record (s, name, e, &why) == 0) {
        list->v = xgrow (list->v, list->n, sizeof (*list->v));
        list->v[list->n++] = *e;
        return 0;
    }
    if (faccessat (s->dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    if (why.fault != ERROR_INPUT)
        return error_world (err, "%s/%s: %s", s->path, name, why.text);
    if (unlinkat (s->dir, name, 0) < 0 && errno != ENOENT)
        return error_errno (err, "%s/%s cannot be removed", s->path, name);
    list->remark = xgrow (list->remark, list->nremarks, sizeof (*list->remark));
    list->remark[list->nremarks++]
        = xasprintf ("record %s is refused: %s", name, why.text);
    return 0;
}

/*
 * Lists
 */

void spool_list_clear (struct spool_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        hostlist_clear (&list->v[i].nodes);
    for (size_t i = 0; i < list->nremarks; i++)
        free (list->remark[i]);
    free (list->v);
    free (list->remark);
    *list = (struct spool_list){ 0 };
}

static void sweep_temp (struct spool *s, const char *name, int64_t wall)
{
    struct stat st;
    int end = 0;

    sscanf (name, "%*u.%*u.new%n", &end);
    if (end > 0 && !name[end]
        && fstatat (s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
        && llabs (wall - st.st_mtime) > TEMP_KEEP_S)
        unlinkat (s->dir, name, 0);
}

static int compare_spool_jobs (const void *va, const void *vb)
{
    const struct spool_entry *a = va;
    const struct spool_entry *b = vb;
    int c = util_compare (a->job, b->job);

    return c ? c : util_compare (a->time, b->time);
}

static int compare_spool_entries (const void *va, const void *vb)
{
    const struct spool_entry *a = va;
    const struct spool_entry *b = vb;
    int c = compare_spool_jobs (a, b);

    return c ? c : util_compare (a->state, b->state);
}

/* Remove old records of a sorted list. Of two records of the same end of a job,
 * keep the one that progressed further, else the first.
 */
static int remove_old_records (struct spool *s, int64_t now,
                               struct spool_list *list, struct error *err)
{
    size_t n = 0;
    int rc = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct spool_entry e = list->v[i];
        struct spool_entry *last = n ? &list->v[n - 1] : NULL;
        bool old = e.state == SPOOL_DONE && llabs (now - e.time) > SPOOL_KEEP_S;
        bool again = last && last->job == e.job
                     && llabs (last->time - e.time) < SPOOL_AGAIN_S;
        bool drop = old || (again && e.state <= last->state);

        if (rc == 0 && (drop || again)) {
            rc = spool_remove (s, drop ? &e : last, err);
            if (rc == 0)
                hostlist_clear (drop ? &e.nodes : &last->nodes);
            if (rc == 0 && drop)
                continue;
            n -= rc == 0;
        }
        list->v[n++] = e;
    }
    list->n = n;
    return rc;
}

/* Copy to each record what the last list knew of it: records seen before do not
 * age if the clock steps. A new one is by the wall clock; with a time in the
 * future it counts as just ended: the clock was set back.
 */
static void copy_known_times (struct spool_list *list,
                              const struct spool_list *last, int64_t wall)
{
    int64_t clock = clock_ms () / 1000;

    for (size_t i = 0; i < list->n; i++) {
        struct spool_entry *e = &list->v[i];
        const struct spool_entry *old
            = find_sorted (e, last->v, last->n, compare_spool_jobs);

        e->since = old ? old->since
                       : e->time < wall ? clock - (wall - e->time) : clock;
        e->tried = old ? old->tried : INT64_MIN;
        e->waited = clock - e->since;
    }
}

int spool_read (struct spool *s, int64_t now, struct spool_list *list,
                struct error *err)
{
    char events[16 * (sizeof (struct inotify_event) + NAME_MAX + 1)];
    struct spool_list last = *list;
    int64_t wall = now + clock_set_by ();
    struct dirent *entry;
    DIR *d;
    struct stat st;
    int rc = 0;

    *list = (struct spool_list){ 0 };
    while (read (s->notify, events, sizeof (events)) > 0)
        ;
    if (!(d = file_open_list (s->dir, ".")))
        rc = error_errno (err, "the spool %s cannot be read", s->path);
    while (rc == 0 && (entry = readdir (d))) {
        struct spool_entry e = { 0 };

        if (name_is_record (entry->d_name, &e))
            rc = add_spool_record (s, entry->d_name, &e, list, err);
        else
            sweep_temp (s, entry->d_name, wall);
    }
    if (d)
        closedir (d);
    sort_array (list->v, list->n, compare_spool_entries);
    if (rc == 0)
        rc = remove_old_records (s, now, list, err);
    if (rc == 0 && fstatat (s->dir, DROPPED, &st, AT_SYMLINK_NOFOLLOW) == 0
        && unlinkat (s->dir, DROPPED, 0) == 0)
        list->dropped = (uint64_t)st.st_size;
    copy_known_times (list, &last, wall);
    spool_list_clear (&last);
    return rc;
}

int spool_mark (struct spool *s, struct spool_entry *e, enum spool_state state,
                uint64_t audit, struct error *err)
{
    struct spool_entry then = *e;
    char from[NAME_BYTES], to[NAME_BYTES];

    then.state = state;
    then.audit = audit;
    spool_entry_name (e, from);
    spool_entry_name (&then, to);
    if (renameat (s->dir, from, s->dir, to) < 0)
        return error_errno (err, "%s/%s cannot be renamed", s->path, from);
    *e = then;
    if (fsync (s->dir) < 0)
        return error_errno (err, "%s/%s cannot be made durable", s->path, to);
    return 0;
}

int spool_remove (struct spool *s, struct spool_entry *e, struct error *err)
{
    char name[NAME_BYTES];

    spool_entry_name (e, name);
    if (unlinkat (s->dir, name, 0) < 0 && errno != ENOENT)
        return error_errno (err, "%s/%s cannot be removed", s->path, name);
    e->state = SPOOL_DONE;
    return 0;
}
