/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The old snapshot gets its second name, by time, before the new one replaces
 * it: if the publisher is killed in between, the old one is still in place. A
 * new file that a killed publisher leaves is removed when it is so old that
 * nobody can be writing it.
 */
#include "config.h"
#include "ibquery/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/compare/diff.h"
#include "ibquery/snapshot.h"
#include "util/alloc.h"
#include "util/file.h"

#define STAMP "%Y%m%dT%H%M%SZ"

enum { STAMP_SIZE = 17, TEMP_DIGITS = 8, TEMP_OLD_S = 3600 };

struct publish {
    char *path, *lock_path;
    int lock;
    struct publish_state state;
};

static int write_state (struct publish *p, struct error *err)
{
    char text[80];
    int len = snprintf (text, sizeof (text),
                        "read %" PRId64 " looks %" PRIu64 "\n", p->state.read,
                        p->state.looks);

    if (ftruncate (p->lock, 0) < 0 || pwrite (p->lock, text, len, 0) != len)
        return error_errno (err, "cannot write %s", p->lock_path);
    return 0;
}

struct publish *publish_open (const char *path, int wait_ms,
                              struct error *err)
{
    struct publish *p = xcalloc (1, sizeof (*p));
    char text[80] = "";
    int rc;

    p->path = xstrdup (path);
    p->lock_path = xasprintf ("%s.lock", path);
    rc = file_take_lock (AT_FDCWD, p->lock_path, wait_ms, &p->lock, err);
    if (rc == 0)
        error_world (err, "another publisher holds %s", p->lock_path);
    if (rc <= 0) {
        publish_close (p);
        return NULL;
    }
    if (pread (p->lock, text, sizeof (text) - 1, 0) <= 0
        || sscanf (text, "read %" SCNd64 " looks %" SCNu64, &p->state.read,
                   &p->state.looks) != 2)
        p->state = (struct publish_state){ 0 };
    return p;
}

void publish_close (struct publish *p)
{
    if (!p)
        return;
    if (p->lock >= 0)
        close (p->lock);
    free (p->path);
    free (p->lock_path);
    free (p);
}

struct publish_state publish_state (const struct publish *p)
{
    return p->state;
}

int publish_looked (struct publish *p, struct error *err)
{
    p->state.looks++;
    return write_state (p, err);
}

/* Compare with the published snapshot */

/* The text of a snapshot, without when and where it was read, and with 1 for
 * each LinkRoundTripLatency, which differs from reading to reading.
 */
static char *snapshot_text (const struct fabric *f, size_t *len)
{
    struct fabric bare = *f;
    char nowhere[] = "", *text = NULL;
    FILE *fp = open_memstream (&text, len);

    bare.source = nowhere;
    bare.time = 0;
    bare.port = xarray (f->nports, sizeof (*bare.port));
    for (size_t i = 0; i < f->nports; i++) {
        bare.port[i] = f->port[i];
        bare.port[i].lrtl = f->port[i].lrtl != 0;
    }
    xcheck (fp);
    xcheck (fabric_write (&bare, fp, NULL) == 0 && fclose (fp) == 0 ? text
                                                                    : NULL);
    free (bare.port);
    return text;
}

static bool is_same_snapshot (const struct fabric *a, const struct fabric *b)
{
    size_t x = 0, y = 0;
    bool equal = strcmp (a->hash, b->hash) == 0;
    struct pairs cables = { 0 }, replaced = { 0 };
    struct pool *pool;
    char *s, *t;

    if (!equal)
        return false;
    pool = pool_create ();
    s = snapshot_text (a, &x);
    t = snapshot_text (b, &y);
    for (uint32_t i = 0; i < a->nlinks; i++)
        pairs_add (pool, &cables, i, i);
    diff_replaced (pool, a, b, &cables, &replaced);
    equal = x == y && memcmp (s, t, x) == 0 && replaced.n == 0;
    pool_destroy (pool);
    free (s);
    free (t);
    return equal;
}

static int check_new_fabric (const struct publish *p, const struct fabric *old,
                             const struct fabric *f, struct error *err)
{
    bool related = !old || old->nnodes == 0;

    if (f->part)
        return error_input (err, "a part of a fabric is not for publishing");
    if (old && old->subnet != 0 && f->subnet != 0 && old->subnet != f->subnet)
        return error_world (err, "%s holds subnet %016" PRIx64 ", and this is "
                                 "%016" PRIx64, p->path, old->subnet,
                            f->subnet);
    for (size_t i = 0; !related && i < old->nnodes; i++)
        related = fabric_find_node (f, old->node[i].guid) != FABRIC_NONE;
    return related ? 0
                   : error_world (err,
                                  "%s holds another fabric, of which no node "
                                  "is in this one: give each subnet a prefix "
                                  "of its own, or remove the file",
                                  p->path);
}

/* Earlier snapshots */

static int keep_old (const struct publish *p, const struct fabric *old,
                     struct error *err)
{
    time_t t = old->time ? old->time : time (NULL);
    char stamp[STAMP_SIZE], *name;
    struct tm tm;
    int rc = 0;

    if (!gmtime_r (&t, &tm) || strftime (stamp, STAMP_SIZE, STAMP, &tm) == 0)
        return 0; /* the year does not fit a stamp: not kept */
    name = xasprintf ("%s.%s", p->path, stamp);
    if (link (p->path, name) < 0 && errno != EEXIST)
        rc = error_errno (err, "cannot keep %s as %s", p->path, name);
    free (name);
    return rc;
}

/* Whether what follows "FILE." is a time. */
static bool is_stamp (const char *s)
{
    static const char shape[] = "00000000T000000Z";

    for (size_t i = 0; i < sizeof (shape); i++)
        if (shape[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != shape[i])
            return false;
    return true;
}

int64_t publish_stamp (const char *stamp)
{
    struct tm tm = { 0 };

    return is_stamp (stamp) && strptime (stamp, STAMP, &tm)
               ? (int64_t)timegm (&tm)
               : 0;
}

/* Whether it is a temporary name, of a file that is old. */
static bool is_abandoned (const char *s, const char *path)
{
    struct stat st;

    return strlen (s) == TEMP_DIGITS
           && strspn (s, "0123456789abcdef") == TEMP_DIGITS
           && lstat (path, &st) == 0 && time (NULL) - st.st_mtime > TEMP_OLD_S;
}

/* Remove the oldest snapshots and abandoned new files. It is no error if one
 * stays.
 */
static void prune_snapshots (const struct publish *p, int keep)
{
    const char *slash = strrchr (p->path, '/');
    const char *base = slash ? slash + 1 : p->path;
    char *dir = slash ? xasprintf ("%.*s", (int)(base - p->path), p->path)
                      : xstrdup ("./");
    struct dirent **list = NULL;
    size_t len = strlen (base);
    int n = scandir (dir, &list, NULL, alphasort);

    for (int i = n - 1, kept = 0; i >= 0; i--) {
        const char *name = list[i]->d_name, *end = name + len + 1;
        char *path = xasprintf ("%s%s", dir, name);

        if (strncmp (name, base, len) == 0 && name[len] == '.'
            && (is_stamp (end) ? kept++ >= keep : is_abandoned (end, path)))
            unlink (path);
        free (path);
        free (list[i]);
    }
    free (list);
    free (dir);
}

int publish_put (struct publish *p, const struct fabric *old,
                 const struct fabric *f, int keep, struct error *err)
{
    struct outfile *out;
    bool equal;

    if (check_new_fabric (p, old, f, err) < 0)
        return -1;
    equal = old && is_same_snapshot (old, f);
    if (!equal
        && ((old && keep > 0 && keep_old (p, old, err) < 0)
            || !(out = file_create_public (p->path, err))
            || file_finish (out, fabric_write (f, file_stream (out), err), err)
                   < 0))
        return -1;
    prune_snapshots (p, keep);
    p->state = (struct publish_state){ .read = time (NULL) };
    return write_state (p, err) < 0 ? -1 : !equal;
}

int64_t publish_time (const char *path)
{
    struct stat file = { 0 }, lock = { 0 };
    char *name = xasprintf ("%s.lock", path);

    if (stat (path, &file) < 0)
        file.st_mtime = 0;
    if (stat (name, &lock) < 0)
        lock.st_mtime = 0;
    free (name);
    return file.st_mtime > lock.st_mtime ? file.st_mtime : lock.st_mtime;
}
