/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: opened with checks, read within bounds, written whole or not at all.
 */
#ifndef UTIL_FILE_H
#define UTIL_FILE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "util/error.h"

/* Open path for reading; "-" is standard input. A directory, a device or a
 * named pipe, which could hold us for ever, is refused. Returns NULL with err
 * set (ERROR_WORLD where the file may not be read, ERROR_INPUT where it does
 * not exist or is no file). Close with file_close_input, which leaves standard
 * input open.
 */
FILE *file_open_input (const char *path, struct error *err);
void file_close_input (FILE *fp);

/* Open path, which steers privileged programs, for reading: a regular file
 * that root or `owner` owns and that only its owner may write. The same holds
 * of all directories on the way to it, up to the root, which may be sticky
 * though, and of symbolic links among them; itself it is none. Never waits.
 * Returns NULL with err set.
 */
enum { FILE_TRUSTED_MAX = 1 << 30 };
FILE *file_open_trusted (const char *path, uid_t owner, struct error *err);

/* The same of a file in a directory that is trusted: errno is EPERM, EINVAL or
 * ELOOP where the file is what must not be trusted, too large, no file or a
 * link.
 */
FILE *file_open_trusted_at (int dir, const char *name, uid_t owner,
                            struct error *err);

/* The same of a directory in which programs make files: a descriptor to read
 * and to lock it, or -1 with err. Itself it may not be sticky.
 */
int file_open_trusted_dir (const char *path, uid_t owner, struct error *err);

/* Open a lock, which is made where it is missing, at dir or AT_FDCWD. Others
 * may not open it, since who can read a file can hold a lock on it: one that
 * they could open is replaced. It is closed on exec. Returns a descriptor, or
 * -1 with err.
 */
int file_open_lock (int dir, const char *path, struct error *err);

/* Lock it; wait so long for another. 1; 0 where another has it; -1 with errno.
 */
int file_lock (int fd, int wait_ms);

/* Read fp to its end, at most max bytes; more is an error. The result ends
 * in a NUL that *len does not count; the caller frees it. NULL with err set.
 */
char *file_slurp (FILE *fp, size_t max, size_t *len, struct error *err);

/* An output that appears under its name whole or not at all: written beside
 * it, renamed by file_commit. path "-" or NULL is standard output.
 *
 * file_commit returns 0, or -1 with err set (a full disk is noticed here) and
 * nothing changed at path. file_abort drops the output. file_finish commits
 * where rc, the writer's, is not negative, and else drops it and returns -1.
 * All free `out`; NULL is safe for file_abort. The mode is 0666 less the
 * umask.
 *
 * What a symbolic link leads to is replaced, as long as the links on the way
 * are safe: others' are not where they lie in a directory like /tmp, and those
 * of any user are not for root. A pipe or a device is written in place.
 */
struct outfile;
struct outfile *file_create (const char *path, struct error *err);

/* The same, starting with what path holds now, if anything: to append, whole
 * or not at all. Of two that do so at the same time the later commit stays.
 * *held is what is there already.
 */
struct file_held {
    size_t size;    /* bytes */
    char start[32]; /* the first of them, and a NUL */
    char last;      /* the last one */
};
struct outfile *file_append (const char *path, struct file_held *held,
                             struct error *err);

/* The same as file_create for what is published: mode 0644 whatever the umask
 * is, and what is not a regular file, like a symbolic link, is replaced
 * itself.
 */
struct outfile *file_create_public (const char *path, struct error *err);

/* The same for what one process at a time keeps for itself, under a lock, and
 * may be killed at it: mode 0600, written as PATH.new, which replaces what one
 * who was killed has left. It is not synced: a crash of the machine may lose
 * it, never half of it.
 */
struct outfile *file_create_private (const char *path, struct error *err);
FILE *file_stream (struct outfile *out);
int file_commit (struct outfile *out, struct error *err);
void file_abort (struct outfile *out);
int file_finish (struct outfile *out, int rc, struct error *err);

#endif /* UTIL_FILE_H */
