/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: opened with checks, read within bounds, written completely or not at
 * all.
 */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "util/error.h"
#include "util/user.h"

/* What names users in errors; NULL, as in what runs in jobs and hooks: numbers,
 * since a name may have to come from a server.
 */
extern const char *(*file_user) (char buf[USER_NAME], uid_t uid);

/* Open path for reading; "-" is standard input. A directory, a device or a
 * named pipe, which could block for ever, is refused. Returns NULL with err set
 * (ERROR_WORLD if the file may not be read, ERROR_INPUT if it does not exist or
 * is not a file). Close with file_close_input, which leaves standard input
 * open.
 */
FILE *file_open_input (const char *path, struct error *err);
void file_close_input (FILE *fp);

/* Give take each line of fp, with its '\n', and close fp. If fp is NULL, err is
 * set already. A line of FILE_LINE bytes or more, and one that take refuses with
 * -1, is an error, which begins with PATH:LINE. Return 0, or -1 with err.
 */
enum { FILE_LINE = 511 };
int file_each_line (FILE *fp, const char *path,
                    int (*take) (void *of, char *line, struct error *err),
                    void *of, struct error *err);

/* Open for reading a file that affects privileged programs: a regular file that
 * root or `owner` owns and that only its owner may write. The same must hold
 * for all directories on the path, up to the root, but these may be sticky, and
 * for symbolic links among them. The file itself must not be a link. Never
 * blocks. Returns NULL with err set.
 */
enum { FILE_TRUSTED_MAX = 1 << 30 };
FILE *file_open_trusted (const char *path, uid_t owner, struct error *err);

/* The same for a file in a trusted directory: errno is EPERM, EINVAL or ELOOP
 * if the file is not trusted, too large, not a regular file or a link.
 */
FILE *file_open_trusted_at (int dir, const char *name, uid_t owner,
                            struct error *err);

/* The same for a directory in which programs create files: a descriptor to read
 * and to lock it, or -1 with err. The directory itself must not be sticky.
 */
int file_open_trusted_dir (const char *path, uid_t owner, struct error *err);

/* Open a lock file at dir or AT_FDCWD; create it if missing. Other users must
 * not be able to open it, since anyone who can read a file can hold a lock on
 * it: a lock file that they could open is replaced. Closed on exec. Returns a
 * descriptor, or -1 with err.
 */
int file_open_lock (int dir, const char *path, struct error *err);

/* Lock it; wait up to wait_ms. Return 1; 0 if another process holds it; -1 with
 * errno.
 */
int file_lock (int fd, int wait_ms);

/* Both. Return 1 with *fd, which holds the lock until it is closed; 0 if another
 * process holds it; -1 with err.
 */
int file_take_lock (int dir, const char *path, int wait_ms, int *fd,
                    struct error *err);

/* The entries of the directory at dir or AT_FDCWD, or NULL with errno. */
DIR *file_open_list (int dir, const char *path);

/* Read fp to its end, at most max bytes; more is an error. The result ends
 * in a NUL that *len does not count; the caller frees it. NULL with err set.
 */
char *file_slurp (FILE *fp, size_t max, size_t *len, struct error *err);

/* The same for text, in which there may be no NUL. Errors begin with "NAME: ".
 */
char *file_slurp_text (FILE *fp, const char *name, size_t max,
                       struct error *err);

/* An output file that appears completely or not at all: it is written to a file
 * next to it, and file_commit renames that. path "-" or NULL is standard
 * output.
 *
 * file_commit returns 0, or -1 with err set (this is where a full disk is
 * noticed) and path unchanged. file_abort discards the output. file_finish
 * commits if rc, the writer's result, is not negative; else it discards the
 * output and returns -1. All free `out`; NULL is safe for file_abort. The mode
 * is that of the file that was there, or 0666 minus the umask.
 *
 * If path is a symbolic link, its target is replaced, as long as the links on
 * the way are safe: a link of another user in a directory like /tmp is not
 * followed, and root follows no link of any other user. A pipe or a character
 * device of root or of this user, and a descriptor of this process by its name
 * (/dev/stdout, /dev/fd/N), are written in place; all else is refused.
 */
struct outfile;
struct outfile *file_create (const char *path, struct error *err);

/* The same, starting with the present contents of path, if any: append
 * completely or not at all. If two processes do so at the same time, the later
 * commit wins. *held describes the present contents.
 */
struct file_held {
    size_t size;    /* bytes */
    char start[32]; /* the first ones, and a NUL */
    char last;      /* the last one */
};
struct outfile *file_append (const char *path, struct file_held *held,
                             struct error *err);

/* As file_create, for a published file: mode 0644 whatever the umask is. What
 * is not a regular file, such as a symbolic link, is itself replaced.
 */
struct outfile *file_create_public (const char *path, struct error *err);

/* The same for a file that must not exist yet: file_commit fails with EEXIST if
 * there is anything at path.
 */
struct outfile *file_create_new (const char *path, struct error *err);

/* The same for a private file of one process at a time, which holds a lock and
 * may be killed: mode 0600, written as PATH.new, which replaces a leftover of a
 * killed process. Not synced: a crash of the machine may lose the file, but
 * never half of it.
 */
struct outfile *file_create_private (const char *path, struct error *err);
FILE *file_stream (struct outfile *out);
int file_commit (struct outfile *out, struct error *err);
void file_abort (struct outfile *out);
int file_finish (struct outfile *out, int rc, struct error *err);

/* Remove the regular file that file_create would replace; a link at the end of
 * path stays. Return whether there was one and it is gone. Safe in signal
 * handlers.
 */
bool file_remove (const char *path);

/* Make a directory, as file_create makes a file; 0 also if there is one. */
int file_make_dir (const char *path, struct error *err);

#endif /* UTIL_FILE_H */
