/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: opened with checks, read within bounds, written completely.
 *
 * Notes: a path is walked one directory at a time. Each directory is opened
 * from the descriptor of the one before, so that the checked directory is the
 * one that is used. O_DIRECTORY makes an automounter mount it; O_PATH needs no
 * permission to list it.
 */
#include "config.h"
#include "util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "util/text.h"

/* As error_errno, but ERROR_INPUT if the file does not exist. */
static void error_open (struct error *err, const char *path)
{
    error_errno (err, "cannot open %s", path);
    if (err && (errno == ENOENT || errno == ENOTDIR))
        err->fault = ERROR_INPUT;
}

/* Close, and keep errno. */
static void close_keep_errno (int fd)
{
    int saved_errno = errno;

    if (fd >= 0)
        close (fd);
    errno = saved_errno;
}

/* A named pipe; a shell's <(...) is not one. */
static bool is_named_pipe (int fd, const struct stat *st)
{
    struct statfs fs;

    return S_ISFIFO (st->st_mode) && fstatfs (fd, &fs) == 0
           && fs.f_type != PIPEFS_MAGIC;
}

FILE *file_open_input (const char *path, struct error *err)
{
    struct stat st;
    FILE *fp = NULL;
    int fd;

    if (!strcmp (path, "-"))
        return stdin;
    /* check before opening: to open a device can have side effects */
    if (stat (path, &st) < 0) {
        error_open (err, path);
        return NULL;
    }
    if (S_ISDIR (st.st_mode)) {
        errno = EISDIR;
        error_input (err, "%s is a directory", path);
        return NULL;
    }
    fd = S_ISREG (st.st_mode) || S_ISFIFO (st.st_mode)
             ? open (path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
             : -1;
    if (fd >= 0 && fstat (fd, &st) < 0)
        st.st_mode = 0;
    if ((!S_ISREG (st.st_mode) && !S_ISFIFO (st.st_mode))
        || (fd >= 0 && is_named_pipe (fd, &st))) {
        errno = EINVAL;
        error_input (err, "%s is not a regular file", path);
    }
    else if (fd < 0 || fcntl (fd, F_SETFL, 0) < 0 || !(fp = fdopen (fd, "r")))
        error_open (err, path);
    if (!fp)
        close_keep_errno (fd);
    return fp;
}

void file_close_input (FILE *fp)
{
    if (fp && fp != stdin)
        fclose (fp);
}

int file_each_line (FILE *fp, const char *path,
                    int (*take) (void *of, char *line, struct error *err),
                    void *of, struct error *err)
{
    char line[FILE_LINE + 1];
    size_t number = 0;
    int rc = 0;

    if (!fp)
        return -1;
    while (rc == 0 && fgets (line, sizeof (line), fp)) {
        number++;
        rc = !strchr (line, '\n') && strlen (line) == FILE_LINE
                 ? error_input (err, "the line is too long")
                 : take (of, line, err);
        if (rc < 0)
            error_prefix (err, "%s:%zu", path, number);
    }
    if (rc == 0 && ferror (fp))
        rc = error_errno (err, "%s", path);
    file_close_input (fp);
    return rc;
}

/*
 * Paths
 */

enum { LINKS_MAX = 40 };

struct file_way {
    const char *path; /* for people */
    uid_t owner;
    bool trusted;        /* only root or owner may change any part of path */
    int dir;             /* the directory reached so far */
    struct stat st;      /* of dir */
    char left[PATH_MAX]; /* the rest of the path */
    int links;           /* followed */
};

static bool owned (const struct stat *st, uid_t owner)
{
    return st->st_uid == 0 || st->st_uid == owner;
}

const char *(*file_user) (char buf[USER_NAME], uid_t uid);

static const char *named (char buf[USER_NAME], uid_t uid)
{
    if (file_user)
        return file_user (buf, uid);
    snprintf (buf, USER_NAME, "%ju", (uintmax_t)uid);
    return buf;
}
#define NAMED(uid) named ((char[USER_NAME]){ 0 }, (uid))

/* Return 0 if only root or owner may change the file or directory fd, else -1
 * with err. With `sticky`, others may write a sticky directory, since they can
 * only change their own files in it.
 */
static int check_trust (const char *path, int fd, const struct stat *st,
                        uid_t owner, bool sticky, struct error *err)
{
    char self[32], what[PATH_MAX];
    ssize_t n;

    if (owned (st, owner)
        && (!(st->st_mode & 022) || (sticky && (st->st_mode & S_ISVTX))))
        return 0;
    snprintf (self, sizeof (self), "/proc/self/fd/%d", fd);
    if ((n = readlink (self, what, sizeof (what) - 1)) < 0)
        n = snprintf (what, sizeof (what), "its directory");
    what[n] = '\0';
    errno = EPERM;
    if (!owned (st, owner))
        return error_world (err, "%s is not trusted: %s belongs to user %s",
                            path, what, NAMED (st->st_uid));
    return error_world (err, "%s is not trusted: others may write %s: chmod "
                             "go-w %s", path, what, what);
}

/* Set err from errno. Return -1. */
static int set_path_error (const struct file_way *w, struct error *err)
{
    if (!w->trusted)
        return error_errno (err, "cannot write %s", w->path);
    error_open (err, w->path);
    return -1;
}

/* Enter a directory; -1 with errno if name is not one. */
static int enter_directory (struct file_way *w, const char *name)
{
    int fd =
        openat (w->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 || fstat (fd, &w->st) < 0)
        return -1;
    if (w->dir >= 0)
        close (w->dir);
    w->dir = fd;
    return 0;
}

/* Follow the link `name`: its target and `rest` become the rest of the path.
 * Links of root and of owner are followed. Links of other users are not
 * followed in a directory like /tmp, for a trusted path, or for root.
 */
static int follow_symlink (struct file_way *w, const char *name,
                           const char *rest, struct error *err)
{
    bool shared = (w->st.st_mode & S_ISVTX) && (w->st.st_mode & S_IWOTH);
    char target[PATH_MAX];
    int fd = openat (w->dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    ssize_t n = -1;

    if (fd >= 0 && fstat (fd, &st) == 0) {
        errno = ENOTDIR;
        if (S_ISLNK (st.st_mode))
            n = readlinkat (fd, "", target, sizeof (target));
    }
    close_keep_errno (fd);
    if (n < 0)
        return set_path_error (w, err);
    if (!owned (&st, w->owner) && (w->trusted || w->owner == 0 || shared)) {
        errno = EPERM;
        return error_world (err, "%s is not trusted: the link %s belongs to "
                                 "user %s", w->path, name, NAMED (st.st_uid));
    }
    errno = ENAMETOOLONG;
    if ((size_t)n + strlen (rest) + 2 > sizeof (target))
        return set_path_error (w, err);
    snprintf (target + n, sizeof (target) - (size_t)n, "%s%s",
              *rest ? "/" : "", rest);
    strcpy (w->left, target);
    errno = ELOOP;
    if (++w->links > LINKS_MAX
        || (*target == '/' && enter_directory (w, "/") < 0))
        return set_path_error (w, err);
    return 0;
}

/* Whether the directory reached has this process's descriptors (/dev/fd,
 * /dev/stdout and >(...) of a shell lead there). Its links are the kernel's own,
 * and no paths.
 */
static bool is_at_descriptors (const struct file_way *w)
{
    struct stat own;

    return stat ("/proc/self/fd", &own) == 0 && own.st_dev == w->st.st_dev
           && own.st_ino == w->st.st_ino;
}

/* Walk path on behalf of user `owner` up to its last component, which remains
 * in w->left, or to its end if `to_end`. If the last component is a link, it is
 * followed if `links`, but for those at descriptors. Return 0, or -1 with err.
 * The caller closes w->dir.
 */
static int walk_directories (struct file_way *w, const char *path, uid_t owner,
                             bool trusted, bool to_end, bool links,
                             struct error *err)
{
    char copy[PATH_MAX];

    *w = (struct file_way){
        .path = path, .owner = owner, .trusted = trusted, .dir = -1
    };
    if (*path != '/' && !getcwd (w->left, sizeof (w->left)))
        return set_path_error (w, err);
    errno = ENAMETOOLONG;
    if (strlen (w->left) + 1 + strlen (path) >= sizeof (w->left))
        return set_path_error (w, err);
    sprintf (w->left + strlen (w->left), "/%s", path);
    if (enter_directory (w, "/") < 0)
        return set_path_error (w, err);
    for (;;) {
        char *name = strcpy (copy, w->left), *rest;
        struct stat st;
        bool last;

        if (trusted
            && check_trust (path, w->dir, &w->st, owner, true, err) < 0)
            return -1;
        /* split off the first component */
        name += strspn (name, "/");
        rest = name + strcspn (name, "/");
        if (*rest)
            *rest++ = '\0';
        rest += strspn (rest, "/");
        last = !*rest && !to_end;
        if (!*name
            || (last
                && (!links
                    || fstatat (w->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0
                    || !S_ISLNK (st.st_mode) || is_at_descriptors (w)))) {
            memmove (w->left, w->left + (name - copy), strlen (name) + 1);
            return 0;
        }
        if (!last && enter_directory (w, name) == 0)
            memmove (w->left, w->left + (rest - copy), strlen (rest) + 1);
        else if (!last && errno != ENOTDIR && errno != ELOOP)
            return set_path_error (w, err);
        else if (follow_symlink (w, name, rest, err) < 0)
            return -1;
    }
}

/*
 * Trusted files
 */

/* Open the regular file `name` in dir; path is for people. */
static FILE *open_in (int dir, const char *name, const char *path, uid_t owner,
                      struct error *err)
{
    int fd = openat (dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
                                    | O_CLOEXEC);
    struct stat st;
    FILE *fp = NULL;

    if (fd < 0 && errno == ELOOP)
        error_world (err, "%s is a symbolic link: put the file in its place",
                     path);
    else if (fd < 0 || fstat (fd, &st) < 0)
        error_open (err, path);
    else if (!S_ISREG (st.st_mode) || st.st_size > FILE_TRUSTED_MAX) {
        errno = EINVAL;
        error_input (err, "%s is %s", path,
                     S_ISREG (st.st_mode) ? "larger than 1 GiB"
                                          : "not a regular file");
    }
    else if (check_trust (path, fd, &st, owner, false, err) == 0
             && !(fp = fdopen (fd, "r")))
        error_open (err, path);
    if (!fp)
        close_keep_errno (fd);
    return fp;
}

FILE *file_open_trusted (const char *path, uid_t owner, struct error *err)
{
    struct file_way w;
    FILE *fp = NULL;

    if (walk_directories (&w, path, owner, true, false, false, err) == 0)
        fp = open_in (w.dir, w.left, path, owner, err);
    close_keep_errno (w.dir);
    return fp;
}

FILE *file_open_trusted_at (int dir, const char *name, uid_t owner,
                            struct error *err)
{
    return open_in (dir, name, name, owner, err);
}

int file_open_trusted_dir (const char *path, uid_t owner, struct error *err)
{
    struct file_way w;
    int fd = -1;

    if (walk_directories (&w, path, owner, true, true, true, err) == 0
        && check_trust (path, w.dir, &w.st, owner, false, err) == 0
        && (fd = openat (w.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        error_open (err, path);
    close_keep_errno (w.dir);
    return fd;
}

int file_open_lock (int dir, const char *path, struct error *err)
{
    struct stat st;

    for (int again = 1;; again--) {
        int fd = openat (
            dir, path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
            0600);

        if (fd < 0 || fstat (fd, &st) < 0)
            return error_errno (err, "cannot open %s", path);
        if (!S_ISREG (st.st_mode) || st.st_uid != geteuid ()
            || st.st_nlink != 1) {
            close (fd);
            return error_world (err, "%s is not trusted: it has another owner "
                                     "or another name, or is not a file: "
                                     "remove it", path);
        }
        if (!(st.st_mode & 077))
            return fd;
        /* others may have it open and hold its lock: replace it */
        close (fd);
        if (!again || unlinkat (dir, path, 0) < 0)
            return error_errno (err, "cannot replace %s", path);
    }
}

int file_lock (int fd, int wait_ms)
{
    enum { TICK_MS = 50 };

    for (; flock (fd, LOCK_EX | LOCK_NB) < 0; wait_ms -= TICK_MS) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        if (wait_ms <= 0)
            return 0;
        poll (NULL, 0, TICK_MS);
    }
    return 1;
}

int file_take_lock (int dir, const char *path, int wait_ms, int *fd,
                    struct error *err)
{
    int rc = -1;

    if ((*fd = file_open_lock (dir, path, err)) < 0
        || (rc = file_lock (*fd, wait_ms)) == 1)
        return rc;
    if (rc < 0)
        error_errno (err, "cannot lock %s", path);
    close_keep_errno (*fd);
    *fd = -1;
    return rc;
}

DIR *file_open_list (int dir, const char *path)
{
    int fd = openat (dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir (fd);

    if (!d)
        close_keep_errno (fd);
    return d;
}

/*
 * Reading
 */

char *file_slurp (FILE *fp, size_t max, size_t *len, struct error *err)
{
    size_t size = 0, used = 0;
    char *buf = NULL;
    int rc = 0;

    do {
        if (size - used < 2) {
            char *p = realloc (buf, size ? 2 * size : 4096);

            if (!p) {
                rc = error_nomem (err);
                break;
            }
            buf = p;
            size = size ? 2 * size : 4096;
        }
        used += fread (buf + used, 1, size - used - 1, fp);
        if (used > max)
            rc = error_input (err, "larger than %zu bytes", max);
        else if (ferror (fp))
            rc = error_errno (err, "cannot read");
    } while (rc == 0 && !feof (fp));
    if (rc < 0) {
        free (buf);
        return NULL;
    }
    buf[used] = '\0';
    *len = used;
    return buf;
}

char *file_slurp_text (FILE *fp, const char *name, size_t max,
                       struct error *err)
{
    size_t len;
    char *text = file_slurp (fp, max, &len, err);

    if (text && strlen (text) == len)
        return text;
    if (text)
        error_input (err, "there is a NUL in it");
    error_prefix (err, "%s", name);
    free (text);
    return NULL;
}

/*
 * Writing
 */

struct outfile {
    FILE *fp;
    int fd;     /* that fp writes to */
    int dir;    /* -1: written in place: standard output, a pipe, a device */
    mode_t mode; /* 0: that of the file that it replaces, or by the umask */
    bool lasting; /* synced to disk before it is renamed */
    bool fresh;   /* replaces nothing */
    char *path; /* for people */
    char *name; /* in dir */
    char *temp; /* the temporary file in dir, or NULL */
    int errnum; /* of the first write that failed */
    char buf[1 << 16];
};

/* Write all data. Keep errno, since stdio only keeps that a write failed. */
static ssize_t write_outfile (void *cookie, const char *data, size_t size)
{
    struct outfile *out = cookie;

    for (size_t done = 0; done < size && !out->errnum;) {
        ssize_t n = write (out->fd, data + done, size - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            out->errnum = errno;
    }
    return out->errnum ? 0 : (ssize_t)size;
}

/* Open a temporary file in out->dir. A file that is not lasting has one
 * temporary name, whose leftover is replaced.
 */
static int open_temp (struct outfile *out)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

    for (int tries = 0; tries < 10; tries++) {
        unsigned int n;

        if (getrandom (&n, sizeof (n), 0) != sizeof (n))
            return -1;
        if (asprintf (&out->temp, out->lasting ? "%s.%08x" : "%s.new",
                      out->name, n)
            < 0) {
            out->temp = NULL;
            return -1;
        }
        if (!out->lasting)
            unlinkat (out->dir, out->temp, 0);
        out->fd = openat (out->dir, out->temp, flags,
                          out->mode ? out->mode : 0666);
        if (out->fd >= 0)
            return 0;
        free (out->temp);
        out->temp = NULL;
        if (errno != EEXIST)
            return -1;
    }
    return -1;
}

/* Write to a descriptor of this process, by its number. Return 0, or -1 with
 * errno.
 */
static int open_descriptor (struct outfile *out, const char *number)
{
    uint64_t fd;

    errno = ENOENT;
    if (text_u64 (number, 0, INT_MAX, &fd) < 0)
        return -1;
    /* not opened once more: what it has is appended to, and no file cut off */
    out->fd = fcntl ((int)fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return out->fd < 0 ? -1 : 0;
}

/* What must not be written in place, or NULL. Whatever is another user's could
 * block us for ever (a pipe, a terminal).
 */
static const char *no_output (const struct stat *st)
{
    return S_ISBLK (st->st_mode)              ? "a block device"
           : S_ISSOCK (st->st_mode)           ? "a socket"
           : owned (st, geteuid ())           ? NULL
           : S_ISFIFO (st->st_mode)           ? "another user's pipe"
                                              : "another user's device";
}

/* Open a pipe or a device at the end of the way, to write it in place. Return 1;
 * 0 if there is a regular file or none; -1 with err.
 */
static int open_in_place (struct outfile *out, const struct file_way *w,
                          struct error *err)
{
    int fd = openat (w->dir, w->left, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char self[32];
    struct stat st;
    int rc = -1;

    if (fd < 0)
        return errno == ENOENT ? 0 : set_path_error (w, err);
    if (fstat (fd, &st) < 0)
        set_path_error (w, err);
    else if (S_ISREG (st.st_mode)) {
        out->mode = st.st_mode & 0777;
        rc = 0;
    }
    else if (S_ISDIR (st.st_mode)) {
        errno = EISDIR;
        set_path_error (w, err);
    }
    else if (no_output (&st)) {
        errno = EPERM;
        error_world (err, "cannot write %s: it is %s", w->path,
                     no_output (&st));
    }
    else {
        /* the very one that was looked at */
        snprintf (self, sizeof (self), "/proc/self/fd/%d", fd);
        out->fd = open (self, O_WRONLY | O_NOCTTY | O_CLOEXEC);
        rc = out->fd < 0 ? set_path_error (w, err) : 1;
    }
    close_keep_errno (fd);
    return rc;
}

/* Open what is at path to write it in place, or a temporary file next to it. If
 * not `links`, whatever is there is replaced: a link, too.
 */
static int open_output (struct outfile *out, bool links, struct error *err)
{
    size_t len = strlen (out->path);
    struct file_way w = { .path = out->path, .dir = -1 };
    int rc;

    errno = EISDIR;
    if (len == 0 || out->path[len - 1] == '/')
        return set_path_error (&w, err);
    rc = walk_directories (&w, out->path, geteuid (), false, false, links, err);
    if (rc == 0 && links && is_at_descriptors (&w))
        rc = open_descriptor (out, w.left) < 0 ? set_path_error (&w, err) : 1;
    else if (rc == 0 && links)
        rc = open_in_place (out, &w, err);
    if (rc == 0) {
        out->dir = w.dir;
        if (!(out->name = strdup (w.left)) || open_temp (out) < 0)
            rc = set_path_error (&w, err);
    }
    else
        close_keep_errno (w.dir);
    return rc < 0 ? -1 : 0;
}

/* mode 0: by the umask. With a fixed mode, path is a published or private file:
 * a link or special file there is replaced.
 */
static struct outfile *create_outfile (const char *path, mode_t mode,
                                       bool lasting, struct error *err)
{
    static const cookie_io_functions_t io = { .write = write_outfile };
    struct outfile *out = calloc (1, sizeof (*out));
    int rc = 0;

    if (!out || !(out->path = strdup (path ? path : "standard output"))) {
        free (out);
        error_nomem (err);
        return NULL;
    }
    out->fd = out->dir = -1;
    out->mode = mode;
    out->lasting = lasting;
    if (!path) {
        fflush (stdout);
        out->fd = STDOUT_FILENO;
    }
    else
        rc = open_output (out, !mode, err);
    if (rc == 0
        && ((out->mode && fchmod (out->fd, out->mode) < 0)
            || !(out->fp = fopencookie (out, "w", io))))
        rc = error_errno (err, "cannot write %s", out->path);
    if (rc == 0) {
        setvbuf (out->fp, out->buf, _IOFBF, sizeof (out->buf));
        return out;
    }
    file_abort (out);
    return NULL;
}

struct outfile *file_create (const char *path, struct error *err)
{
    return create_outfile (path && strcmp (path, "-") != 0 ? path : NULL, 0,
                           true, err);
}

struct outfile *file_create_public (const char *path, struct error *err)
{
    return create_outfile (path, 0644, true, err);
}

struct outfile *file_create_new (const char *path, struct error *err)
{
    struct outfile *out = create_outfile (path, 0644, true, err);

    if (out)
        out->fresh = true;
    return out;
}

struct outfile *file_create_private (const char *path, struct error *err)
{
    return create_outfile (path, 0600, false, err);
}

static int copy_stream (FILE *from, FILE *to, struct file_held *held)
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
    FILE *fp = NULL;
    int fd;

    *held = (struct file_held){ 0 };
    if (!out || !out->temp)
        return out;
    fd = openat (out->dir, out->name,
                 O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return out;
    if (fd >= 0 && !(fp = fdopen (fd, "r")))
        close (fd);
    if (fp && copy_stream (fp, out->fp, held) == 0) {
        fclose (fp);
        return out;
    }
    error_errno (err, "cannot copy %s", path);
    file_close_input (fp);
    file_abort (out);
    return NULL;
}

FILE *file_stream (struct outfile *out)
{
    return out->fp;
}

/* Write everything out, sync it if `lasting`, and give it its name. */
static int flush (struct outfile *out)
{
    int fd = out->fd;

    if (fflush (out->fp) == EOF || ferror (out->fp)) {
        errno = out->errnum ? out->errnum : EIO;
        return -1;
    }
    if (!out->temp)
        return 0;
    if (out->lasting && fsync (fd) < 0 && errno != EINVAL)
        return -1;
    out->fd = -1;
    if (close (fd) < 0)
        return -1;
    if (out->fresh) /* file_abort removes the temporary name */
        return linkat (out->dir, out->temp, out->dir, out->name, 0);
    if (renameat (out->dir, out->temp, out->dir, out->name) < 0)
        return -1;
    free (out->temp);
    out->temp = NULL;
    return 0;
}

int file_commit (struct outfile *out, struct error *err)
{
    int rc = flush (out);

    if (rc < 0)
        error_errno (err, "cannot write %s", out->path);
    file_abort (out);
    return rc;
}

void file_abort (struct outfile *out)
{
    int saved_errno = errno;

    if (!out)
        return;
    if (out->temp)
        unlinkat (out->dir, out->temp, 0);
    if (out->fp)
        fclose (out->fp);
    if (out->fd > STDERR_FILENO)
        close (out->fd);
    if (out->dir >= 0)
        close (out->dir);
    free (out->path);
    free (out->name);
    free (out->temp);
    free (out);
    errno = saved_errno;
}

int file_finish (struct outfile *out, int rc, struct error *err)
{
    if (rc >= 0)
        return file_commit (out, err);
    file_abort (out);
    return -1;
}

bool file_remove (const char *path)
{
    struct file_way w;
    struct stat st;
    bool removed
        = walk_directories (&w, path, geteuid (), false, false, false, NULL)
              == 0
          && fstatat (w.dir, w.left, &st, AT_SYMLINK_NOFOLLOW) == 0
          && S_ISREG (st.st_mode) && unlinkat (w.dir, w.left, 0) == 0;

    close_keep_errno (w.dir);
    return removed;
}

int file_make_dir (const char *path, struct error *err)
{
    struct file_way w;
    int rc = walk_directories (&w, path, geteuid (), false, false, true, err);

    if (rc == 0 && *w.left && mkdirat (w.dir, w.left, 0777) < 0
        && errno != EEXIST)
        rc = error_errno (err, "cannot make %s", path);
    close_keep_errno (w.dir);
    return rc;
}
