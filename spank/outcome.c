/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The outcome of a check: its lines, and the file that keeps it for a job. */
#include "config.h"
#include "spank/outcome.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "util/text.h"

static const char *const names[] = {
    [OUTCOME_NONE] = "NONE", [OUTCOME_OK] = "OK",
    [OUTCOME_WARN] = "WARN", [OUTCOME_FAIL] = "FAIL",
    [OUTCOME_UNKNOWN] = "UNKNOWN",
};

/* If *line starts with word and a space, move *line after them. */
static bool skip_word (const char **line, const char *word)
{
    size_t len = strlen (word);

    if (strncmp (*line, word, len) || (*line)[len] != ' ')
        return false;
    *line += len + 1;
    return true;
}

static bool parse_outcome_status (const char **line, enum outcome_status first,
                                  enum outcome_status *status)
{
    for (size_t i = first; i < sizeof (names) / sizeof (names[0]); i++)
        if (skip_word (line, names[i])) {
            *status = (enum outcome_status)i;
            return true;
        }
    return false;
}

bool outcome_parse_result (struct outcome *o, const char *line,
                           const char *nonce)
{
    enum outcome_status status;

    if (!skip_word (&line, "pmm-result") || !skip_word (&line, "1")
        || !parse_outcome_status (&line, OUTCOME_OK, &status)
        || !skip_word (&line, nonce) || !*line)
        return false;
    outcome_set (o, status, "%s", line);
    return true;
}

bool outcome_parse_record (struct outcome *o, const char *line, uint32_t jobid)
{
    enum outcome_status status;
    char job[16];

    snprintf (job, sizeof (job), "%" PRIu32, jobid);
    if (!skip_word (&line, "pmm-check") || !skip_word (&line, "1")
        || !skip_word (&line, job)
        || !parse_outcome_status (&line, OUTCOME_NONE, &status) || !*line)
        return false;
    outcome_set (o, status, "%s", line);
    return true;
}

void outcome_format_record (const struct outcome *o, uint32_t jobid, char *line)
{
    snprintf (line, OUTCOME_LINE, "pmm-check 1 %" PRIu32 " %s %s", jobid,
              names[o->status], o->text);
}

const char *outcome_name (enum outcome_status status)
{
    return names[status];
}

void outcome_set (struct outcome *o, enum outcome_status status,
                  const char *fmt, ...)
{
    va_list ap;

    o->status = status;
    va_start (ap, fmt);
    vsnprintf (o->text, sizeof (o->text), fmt, ap);
    va_end (ap);
    text_clean (o->text);
}

/*
 * The guard
 */

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
