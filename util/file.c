/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: opened with checks, read within bounds, written whole. */
#include "config.h"
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* As error_errno, but a file that is not there is the caller's mistake. */
static void error_open (struct error *err, const char *path)
{
    error_errno (err, "cannot open %s", path);
    if (err && (errno == ENOENT || errno == ENOTDIR))
        err->fault = ERROR_INPUT;
}

FILE *file_open_input (const char *path, struct error *err)
{
    struct stat st;
    FILE *fp;

    if (!strcmp (path, "-"))
        return stdin;
    /* looked at before it is opened: opening a device can have effects */
    if (stat (path, &st) < 0) {
        error_open (err, path);
        return NULL;
    }
    if (S_ISDIR (st.st_mode)) {
        errno = EISDIR;
        error_input (err, "%s is a directory", path);
        return NULL;
    }
    if (!S_ISREG (st.st_mode) && !S_ISFIFO (st.st_mode)) {
        errno = EINVAL;
        error_input (err, "%s is no regular file", path);
        return NULL;
    }
    if (!(fp = fopen (path, "re")))
        error_open (err, path);
    return fp;
}

void file_close_input (FILE *fp)
{
    if (fp && fp != stdin)
        fclose (fp);
}

/* True if only root or owner may change what st is of. */
static int owned (const struct stat *st, uid_t owner)
{
    return st->st_uid == 0 || st->st_uid == owner;
}

static int open_parent (const char *path, const char **base)
{
    const char *slash = strrchr (path, '/');
    char dir[PATH_MAX];

    *base = slash ? slash + 1 : path;
    if (!slash)
        strcpy (dir, ".");
    else if (slash == path)
        strcpy (dir, "/");
    else if ((size_t)(slash - path) < sizeof (dir)) {
        memcpy (dir, path, (size_t)(slash - path));
        dir[slash - path] = '\0';
    }
    else {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

FILE *file_open_trusted (const char *path, uid_t owner, struct error *err)
{
    const char *base;
    int dir = open_parent (path, &base);
    int fd = -1;
    struct stat st;
    FILE *fp = NULL;

    if (dir < 0 || fstat (dir, &st) < 0) {
        error_open (err, path);
        goto out;
    }
    if (!owned (&st, owner)
        || ((st.st_mode & 022) && !(st.st_mode & S_ISVTX))) {
        errno = EPERM;
        error_world (err, "%s is not trusted: others may write its directory",
                     path);
        goto out;
    }
    fd = openat (dir, base,
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat (fd, &st) < 0) {
        error_open (err, path);
        goto out;
    }
    if (!S_ISREG (st.st_mode)) {
        errno = EINVAL;
        error_input (err, "%s is no regular file", path);
        goto out;
    }
    if (!owned (&st, owner) || (st.st_mode & 022)) {
        errno = EPERM;
        error_world (err, "%s is not trusted: others may write it", path);
        goto out;
    }
    if (!(fp = fdopen (fd, "r")))
        error_open (err, path);
    else
        fd = -1;
out:
    if (fd >= 0)
        close (fd);
    if (dir >= 0)
        close (dir);
    return fp;
}

char *file_slurp (FILE *fp, size_t max, size_t *len, struct error *err)
{
    size_t size = 0;
    size_t used = 0;
    char *buf = NULL;

    do {
        char *p;

        if (size - used < 2) {
            size = size ? 2 * size : 4096;
            if (!(p = realloc (buf, size))) {
                error_nomem (err);
                goto error;
            }
            buf = p;
        }
        used += fread (buf + used, 1, size - used - 1, fp);
        if (used > max) {
            error_input (err, "larger than %zu bytes", max);
            goto error;
        }
    } while (!feof (fp) && !ferror (fp));
    if (ferror (fp)) {
        error_errno (err, "cannot read");
        goto error;
    }
    buf[used] = '\0';
    *len = used;
    return buf;
error:
    free (buf);
    return NULL;
}

struct outfile {
    FILE *fp;
    char *path; /* NULL: standard output */
    char *temp; /* NULL: written in place (a pipe, a device) */
};

static void outfile_destroy (struct outfile *out)
{
    if (!out)
        return;
    if (out->fp && out->fp != stdout)
        fclose (out->fp);
    free (out->path);
    free (out->temp);
    free (out);
}

static int open_temp (struct outfile *out)
{
    int fd = -1;

    for (int tries = 0; fd < 0 && tries < 10; tries++) {
        unsigned int n;

        if (getrandom (&n, sizeof (n), 0) != sizeof (n))
            return -1;
        free (out->temp);
        if (asprintf (&out->temp, "%s.%08x", out->path, n) < 0) {
            out->temp = NULL;
            return -1;
        }
        fd = open (out->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            return -1;
    }
    return fd;
}

/* Take over fd; -1 with errno. */
static int open_stream (struct outfile *out, int fd)
{
    int saved_errno;

    if (fd >= 0 && (out->fp = fdopen (fd, "w")))
        return 0;
    saved_errno = errno;
    if (fd >= 0)
        close (fd);
    if (fd >= 0 && out->temp)
        unlink (out->temp);
    errno = saved_errno;
    return -1;
}

struct outfile *file_create (const char *path, struct error *err)
{
    struct outfile *out = calloc (1, sizeof (*out));
    struct stat st;
    int fd;

    if (!out)
        goto error;
    if (!path || !strcmp (path, "-")) {
        out->fp = stdout;
        return out;
    }
    /* what a link points to is replaced, not the link */
    if (!(out->path = realpath (path, NULL)) && !(out->path = strdup (path)))
        goto error;
    if (stat (out->path, &st) == 0 && !S_ISREG (st.st_mode))
        fd = open (out->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    else
        fd = open_temp (out);
    if (open_stream (out, fd) < 0)
        goto error;
    return out;
error:
    error_errno (err, "cannot write %s", path ? path : "standard output");
    outfile_destroy (out);
    return NULL;
}

static int copy (FILE *from, FILE *to, struct file_held *held)
{
    char block[1 << 16];
    size_t n;

    while ((n = fread (block, 1, sizeof (block), from)) > 0) {
        if (fwrite (block, 1, n, to) != n)
            return -1;
        if (held->size == 0)
            memcpy (held->start, block,
                    n < sizeof (held->start) ? n : sizeof (held->start) - 1);
        held->size += n;
        held->last = block[n - 1];
    }
    return ferror (from) ? -1 : 0;
}

struct outfile *file_append (const char *path, struct file_held *held,
                             struct error *err)
{
    struct outfile *out = file_create (path, err);
    FILE *fp;
    int rc;

    *held = (struct file_held){ 0 };
    if (!out || !out->temp || access (out->path, F_OK) < 0)
        return out;
    if (!(fp = file_open_input (out->path, err))) {
        file_abort (out);
        return NULL;
    }
    rc = copy (fp, out->fp, held);
    if (rc < 0)
        error_errno (err, "cannot copy %s", path);
    file_close_input (fp);
    if (rc < 0) {
        file_abort (out);
        return NULL;
    }
    return out;
}

struct outfile *file_create_public (const char *path, struct error *err)
{
    struct outfile *out = calloc (1, sizeof (*out));

    if (out && (out->path = strdup (path))
        && open_stream (out, open_temp (out)) == 0) {
        if (fchmod (fileno (out->fp), 0644) == 0)
            return out;
        unlink (out->temp);
    }
    error_errno (err, "cannot write %s", path);
    outfile_destroy (out);
    return NULL;
}

FILE *file_stream (struct outfile *out)
{
    return out->fp;
}

/* Push everything out to where it is safe. */
static int flush (struct outfile *out)
{
    if (ferror (out->fp)) {
        errno = EIO;
        return -1;
    }
    if (fflush (out->fp) == EOF)
        return -1;
    if (!out->temp)
        return 0;
    if (fsync (fileno (out->fp)) < 0 && errno != EINVAL)
        return -1;
    return rename (out->temp, out->path);
}

int file_commit (struct outfile *out, struct error *err)
{
    if (flush (out) < 0) {
        error_errno (err, "cannot write %s",
                     out->path ? out->path : "standard output");
        file_abort (out);
        return -1;
    }
    outfile_destroy (out);
    return 0;
}

void file_abort (struct outfile *out)
{
    int saved_errno = errno;

    if (out && out->temp)
        unlink (out->temp);
    outfile_destroy (out);
    errno = saved_errno;
}

int file_finish (struct outfile *out, int rc, struct error *err)
{
    if (rc >= 0)
        return file_commit (out, err);
    file_abort (out);
    return -1;
}
