/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The once-per-job guard. */
#include "config.h"
#include "spank/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "util/text.h"

static int open_dir (const char *dir, struct error *err)
{
    struct stat st;
    int fd;

    if (mkdir (dir, 0700) < 0 && errno != EEXIST)
        return error_errno (err, "cannot create %s", dir);
    fd = open (dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno (err, "cannot open %s", dir);
    if (fstat (fd, &st) < 0 || st.st_uid != geteuid ()
        || (st.st_mode & 077)) {
        close (fd);
        return error_world (err, "%s is not private to this user", dir);
    }
    return fd;
}

int guard_open (const char *dir, const char *cluster, uint32_t jobid,
                struct error *err)
{
    char name[96];
    int dirfd = open_dir (dir, err);
    int fd;

    if (dirfd < 0)
        return -1;
    snprintf (name, sizeof (name), "%s.%" PRIu32,
              text_is_hostname (cluster) ? cluster : "", jobid % GUARD_SLOTS);
    if ((fd = file_open_lock (dirfd, name, err)) < 0)
        error_prefix (err, "%s", dir);
    close (dirfd);
    return fd;
}

void guard_close (int fd)
{
    if (fd >= 0)
        close (fd);
}

bool guard_lock (int fd)
{
    return flock (fd, LOCK_EX | LOCK_NB) == 0;
}

bool guard_read (int fd, uint32_t jobid, time_t since, struct outcome *o)
{
    char line[OUTCOME_LINE + 1];
    struct stat st;
    ssize_t n;
    char *end;

    if (fstat (fd, &st) < 0 || st.st_mtime < since)
        return false;
    if ((n = pread (fd, line, sizeof (line) - 1, 0)) <= 0)
        return false;
    line[n] = '\0';
    if (!(end = strchr (line, '\n')))
        return false;
    *end = '\0';
    return outcome_parse_record (o, line, jobid);
}

void guard_write (int fd, uint32_t jobid, const struct outcome *o)
{
    char line[OUTCOME_LINE + 1];
    size_t len;

    outcome_format_record (o, jobid, line);
    len = strlen (line);
    line[len++] = '\n';
    if (ftruncate (fd, 0) < 0 || pwrite (fd, line, len, 0) != (ssize_t)len)
        (void)!ftruncate (fd, 0);
}
