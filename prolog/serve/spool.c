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

#include <dirent.h>
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

static const struct {
    const char *key;
    uint64_t max;
    size_t offset;
} numbers[] = {
#define NUMBER(name, max) { #name, max, offsetof (struct spool_record, name) }
    NUMBER (job, UINT32_MAX),
    NUMBER (uid, UINT32_MAX),
    NUMBER (time, TIME_MAX),
    NUMBER (checked, 1),
#undef NUMBER
};

enum { NUMBERS = sizeof (numbers) / sizeof (numbers[0]) };

static uint64_t *number_of (struct spool_record *r, size_t i)
{
    return (uint64_t *)((char *)r + numbers[i].offset);
}

/* A new directory stream; fd stays open. */
static DIR *open_list (int fd)
{
    int copy = openat (fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir (copy);

    if (!d && copy >= 0)
        close (copy);
    return d;
}

/*
 * The hook
 */

static char *to_text (struct spool_record *r)
{
    char *text = NULL;
    size_t len;
    FILE *fp = xcheck (open_memstream (&text, &len));

    fprintf (fp, "%s\n", MAGIC);
    for (size_t i = 0; i < NUMBERS; i++)
        fprintf (fp, "%s %" PRIu64 "\n", numbers[i].key, *number_of (r, i));
    fprintf (fp, "partition %s\nnodes %s\nend\n", r->partition, r->nodes);
    return xcheck (fclose (fp) == 0 ? text : NULL);
}

/* Write to a file in the spool: a new one, or its end. 0, or -1 with errno. */
static int write_file (int dir, const char *name, int flag, const char *text)
{
    size_t len = strlen (text);
    int fd = openat (dir, name,
                     O_WRONLY | O_CREAT | flag | O_NOFOLLOW | O_CLOEXEC, 0600);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = write (fd, text, len);
    if (n >= 0 && (size_t)n < len)
        errno = ENOSPC;
    return close (fd) < 0 || n < 0 || (size_t)n < len ? -1 : 0;
}

/* Write a record, if there is room. 0, or -1 with errno. */
static int write_record (int dir, struct spool_record *r)
{
    char name[NAME_BYTES], temp[NAME_BYTES + 24];
    DIR *d = open_list (dir);
    size_t n = 0;
    char *text;
    int rc;

    if (!d)
        return -1;
    while (n < SPOOL_FILES_MAX && readdir (d))
        n++;
    closedir (d);
    if (n == SPOOL_FILES_MAX) {
        errno = ENOSPC;
        return -1;
    }
    text = to_text (r);
    snprintf (name, sizeof (name), "%" PRIu64 ".%" PRIu64, r->job, r->time);
    snprintf (temp, sizeof (temp), ".%s.%ld", name, (long)getpid ());
    if ((rc = write_file (dir, temp, O_TRUNC, text)) == 0)
        rc = renameat (dir, temp, dir, name);
    if (rc < 0) {
        int saved_errno = errno;

        unlinkat (dir, temp, 0);
        errno = saved_errno;
    }
    free (text);
    return rc;
}

int spool_drop (const char *dir, const struct spool_record *record,
                struct error *err)
{
    struct spool_record r = *record;
    int fd = file_open_trusted_dir (dir, geteuid (), err);
    int rc;

    if (fd < 0)
        return error_prefix (err, "the spool");
    if ((rc = write_record (fd, &r)) < 0) {
        int saved_errno = errno;

        error_errno (err, "%s: job %" PRIu64 " is not recorded", dir, r.job);
        write_file (fd, DROPPED, O_APPEND, "+");
        errno = saved_errno;
    }
    close (fd);
    return rc;
}

/*
 * The service
 */

/* A record, by job and time; `since` is that time by the monotonic clock, in s.
 */
struct spool_seen {
    uint64_t job;
    int64_t time, since;
};

struct spool {
    struct spool_seen *seen; /* by the last spool_read, in its order */
    size_t nseen;
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
    else if ((s->lock = file_open_lock (s->dir, SPOOL_LOCK, err)) < 0)
        error_prefix (err, "%s", s->path);
    /* wait: a killed service holds the lock until its process has ended */
    else if ((rc = file_lock (s->lock, wait_ms)) < 0)
        error_errno (err, "cannot lock %s/%s", s->path, SPOOL_LOCK);
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
    free (s->seen);
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

/* Precedes the id of an audit. */
static const char *const suffix[] = {
    [SPOOL_FRESH] = "",
    [SPOOL_BEGUN] = ".begun.",
    [SPOOL_DONE] = ".done.",
};

static void name_of (const struct spool_entry *e, char name[NAME_BYTES])
{
    int n = snprintf (name, NAME_BYTES, "%" PRIu64 ".%" PRId64, e->job,
                      e->time);

    if (e->state != SPOOL_FRESH)
        snprintf (name + n, NAME_BYTES - (size_t)n, "%s%" PRIu64,
                  suffix[e->state], e->audit);
}

/* Whether name is the name of a record, exactly as name_of writes it. If so,
 * job, time, state and audit are set.
 */
static bool name_is_record (const char *name, struct spool_entry *e)
{
    char again[NAME_BYTES];
    int end = 0;

    if (sscanf (name, "%" SCNu64 ".%" SCNd64 "%n", &e->job, &e->time, &end)
            != 2
        || e->job > UINT32_MAX || e->time < 0 || e->time > TIME_MAX)
        return false;
    for (e->state = SPOOL_FRESH; e->state <= SPOOL_DONE; e->state++) {
        size_t len = strlen (suffix[e->state]);

        e->audit = 0;
        if (len
            && (strncmp (name + end, suffix[e->state], len) != 0
                || text_u64 (name + end + len, 0, INT64_MAX, &e->audit) < 0))
            continue;
        name_of (e, again);
        if (!strcmp (again, name))
            return true;
    }
    return false;
}

/*
 * Records
 */

/* The value of the next line of *text, which becomes a string; NULL if the line
 * does not have that key.
 */
static const char *next_value (char **text, const char *key)
{
    char *line = *text;
    char *end = strchr (line, '\n');
    size_t len = strlen (key);

    if (!end || strncmp (line, key, len) != 0 || line[len] != ' ')
        return NULL;
    *end = '\0';
    *text = end + 1;
    return line + len + 1;
}

/* Fill an entry, whose name has been read, from the text of its record. */
static int parse (struct spool_entry *e, char *text, struct error *err)
{
    struct spool_record r = { 0 };
    const char *value;

    if (strncmp (text, MAGIC "\n", sizeof (MAGIC)) != 0)
        return error_input (err, "it is not a record");
    text += sizeof (MAGIC);
    for (size_t i = 0; i < NUMBERS; i++) {
        value = next_value (&text, numbers[i].key);
        if (!value
            || text_u64 (value, 0, numbers[i].max, number_of (&r, i)) < 0)
            return error_input (err, "its line '%s' is bad", numbers[i].key);
    }
    if (r.job != e->job || (int64_t)r.time != e->time)
        return error_input (err, "it is of another job");
    value = next_value (&text, "partition");
    if (!value || strlen (value) >= sizeof (e->partition))
        return error_input (err, "its line 'partition' is bad");
    text_clean (strcpy (e->partition, value));
    if (!(value = next_value (&text, "nodes")) || strcmp (text, "end\n") != 0)
        return error_input (err, "it is not whole");
    if (hostlist_parse (&e->nodes, value, SPOOL_NODES_MAX, err) < 0)
        return error_prefix (err, "its nodes");
    qsort (e->nodes.name, e->nodes.count, sizeof (char *), compare_strings);
    e->uid = r.uid;
    e->checked = r.checked;
    return 0;
}

/* Add the record of a file that only we or root can have written. If it is
 * refused, remove it, with a remark. If it is gone, nothing happens.
 */
static int take (struct spool *s, const char *name, struct spool_entry *e,
                 struct spool_list *list, struct error *err)
{
    struct error why = { .fault = ERROR_INPUT };
    FILE *fp = file_open_trusted_at (s->dir, name, geteuid (), &why);
    bool bad = !fp && (errno == EPERM || errno == EINVAL || errno == ELOOP);
    char *text = NULL;
    size_t len;
    int rc = -1;

    if (!fp && errno == ENOENT)
        return 0;
    if (fp && !(text = file_slurp (fp, SPOOL_RECORD_BYTES, &len, &why)))
        bad = !ferror (fp);
    file_close_input (fp);
    if (bad)
        error_input (&why, "it is too large, or not SlurmUser's own");
    else if (!text)
        why.fault = ERROR_WORLD;
    else
        rc = parse (e, text, &why);
    free (text);
    if (rc == 0) {
        list->v = xgrow (list->v, list->n, sizeof (*list->v));
        list->v[list->n++] = *e;
        return 0;
    }
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

/* Remove a file that a killed hook left. */
static void sweep_temp (struct spool *s, const char *name, int64_t now)
{
    struct spool_entry e;
    struct stat st;
    char copy[NAME_BYTES];
    char *pid;

    if (name[0] != '.' || strlen (name) >= sizeof (copy))
        return;
    strcpy (copy, name + 1);
    if (!(pid = strrchr (copy, '.')))
        return;
    *pid = '\0';
    if (name_is_record (copy, &e)
        && fstatat (s->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0
        && llabs (now - st.st_mtime) > TEMP_KEEP_S)
        unlinkat (s->dir, name, 0);
}

static int compare_entries (const void *va, const void *vb)
{
    const struct spool_entry *a = va;
    const struct spool_entry *b = vb;
    int c = util_compare (a->job, b->job);

    if (c == 0)
        c = util_compare (a->time, b->time);
    return c ? c : util_compare (a->state, b->state);
}

/* Remove old records. Of two records of the same end of a job, keep the one
 * that progressed further, else the first.
 */
static int weed (struct spool *s, int64_t now, struct spool_list *list,
                 struct error *err)
{
    size_t n = 0;
    int rc = 0;

    if (list->n)
        qsort (list->v, list->n, sizeof (*list->v), compare_entries);
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

/* Set how long each record has waited. If the clock steps, records seen before
 * are not affected. A new record with a time in the future counts as just
 * ended: the clock was set back.
 */
static void tell_ages (struct spool *s, int64_t now, struct spool_list *list)
{
    struct spool_seen *seen = xcalloc (list->n, sizeof (*seen));
    int64_t clock = clock_ms () / 1000;
    size_t k = 0;

    for (size_t i = 0; i < list->n; i++) {
        struct spool_entry *e = &list->v[i];

        while (k < s->nseen
               && (s->seen[k].job < e->job
                   || (s->seen[k].job == e->job && s->seen[k].time < e->time)))
            k++;
        seen[i] = k < s->nseen && s->seen[k].job == e->job
                          && s->seen[k].time == e->time
                      ? s->seen[k]
                      : (struct spool_seen){ e->job, e->time,
                                       e->time < now ? clock - (now - e->time)
                                                     : clock };
        e->waited = clock - seen[i].since;
    }
    free (s->seen);
    s->seen = seen;
    s->nseen = list->n;
}

int spool_read (struct spool *s, int64_t now, struct spool_list *list,
                struct error *err)
{
    char events[16 * (sizeof (struct inotify_event) + NAME_MAX + 1)];
    struct dirent *entry;
    DIR *d;
    struct stat st;
    int rc = 0;

    *list = (struct spool_list){ 0 };
    while (read (s->notify, events, sizeof (events)) > 0)
        ;
    if (!(d = open_list (s->dir)))
        return error_errno (err, "the spool %s cannot be read", s->path);
    while (rc == 0 && (entry = readdir (d))) {
        struct spool_entry e = { 0 };

        if (name_is_record (entry->d_name, &e))
            rc = take (s, entry->d_name, &e, list, err);
        else
            sweep_temp (s, entry->d_name, now);
    }
    closedir (d);
    if (rc == 0)
        rc = weed (s, now, list, err);
    if (rc == 0) {
        tell_ages (s, now, list);
        if (fstatat (s->dir, DROPPED, &st, AT_SYMLINK_NOFOLLOW) == 0
            && unlinkat (s->dir, DROPPED, 0) == 0)
            list->dropped = (uint64_t)st.st_size;
    }
    return rc;
}

int spool_mark (struct spool *s, struct spool_entry *e, enum spool_state state,
                uint64_t audit, struct error *err)
{
    struct spool_entry then = *e;
    char from[NAME_BYTES], to[NAME_BYTES];

    then.state = state;
    then.audit = audit;
    name_of (e, from);
    name_of (&then, to);
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

    name_of (e, name);
    if (unlinkat (s->dir, name, 0) < 0 && errno != ENOENT)
        return error_errno (err, "%s/%s cannot be removed", s->path, name);
    e->state = SPOOL_DONE;
    return 0;
}
