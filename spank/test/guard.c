/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guard: private, locked, and nobody's trap. */
#include "config.h"
#include "spank/outcome.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

static char top[] = "/tmp/pmm-guard.XXXXXX";

static void put (const char *path, const char *text)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
}

static void test_record (void)
{
    struct outcome o;
    struct outcome p;
    struct error err = { 0 };
    time_t now = time (NULL);
    struct stat st;
    int fd = guard_open ("d", "pmm", 7, &err);

    ok (fd >= 0, "opened %s", err.text);
    ok (stat ("d", &st) == 0 && (st.st_mode & 07777) == 0700
            && stat ("d/pmm.7", &st) == 0 && (st.st_mode & 07777) == 0600,
        "directory and file are private");
    ok (!guard_read (fd, 7, 0, &p), "nothing remembered yet");
    outcome_set (&o, OUTCOME_FAIL, "a long sentence, a long one");
    guard_write (fd, 7, &o);
    outcome_set (&o, OUTCOME_WARN, "why");
    guard_write (fd, 7, &o);
    ok (guard_read (fd, 7, now - 5, &p) && p.status == OUTCOME_WARN
            && !strcmp (p.text, "why"),
        "remembered");
    ok (!guard_read (fd, 7, now + 1000, &p),
        "a record older than the job is none");
    ok (!guard_read (fd, 8, 0, &p), "another job's is none");
    guard_close (fd);
    fd = guard_open ("d", "pmm", 7 + GUARD_SLOTS, NULL);
    ok (!guard_read (fd, 7 + GUARD_SLOTS, 0, &p),
        "also of one that shares the file");
    guard_close (fd);

    put ("d/pmm.7", "pmm-check 1 7 OK x");
    fd = guard_open ("d", "pmm", 7, NULL);
    ok (!guard_read (fd, 7, 0, &p), "a cut record is none");
    guard_close (fd);
    fd = guard_open ("d", "../x/y", 7, NULL);
    ok (fd >= 0 && access ("d/.7", F_OK) == 0,
        "a cluster's name is no path");
    guard_close (fd);
    guard_close (-1);
}

static void test_lock (void)
{
    int fd = guard_open ("d", "pmm", 7, NULL);
    int other = guard_open ("d", "pmm", 7, NULL);

    ok (guard_lock (fd) && !guard_lock (other), "one holds the lock");
    guard_close (fd);
    ok (guard_lock (other), "until it closes the file");
    guard_close (other);
}

static void test_traps (void)
{
    static const struct {
        const char *dir;
        const char *error;
    } tab[] = {
        { "open", "is not private" },
        { "file", "cannot open file" },
        { "link", "cannot open link" },
        { "gone/d", "cannot create" },
    };
    struct error err = { 0 };

    mkdir ("open", 0755);
    put ("file", "");
    ok (symlink ("d", "link") == 0, "a link to a directory");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (guard_open (tab[i].dir, "pmm", 7, &err) < 0
                && strstr (err.text, tab[i].error),
            "refuse: %s", err.text);

    put ("victim", "precious");
    ok (symlink ("../victim", "d/pmm.1") == 0
            && link ("victim", "d/pmm.2") == 0
            && mkfifo ("d/pmm.3", 0600) == 0 && mkdir ("d/pmm.4", 0700) == 0,
        "a link, a hard link, a pipe, a directory");
    for (uint32_t job = 1; job <= 4; job++)
        ok (guard_open ("d", "pmm", job, &err) < 0, "refuse: %s", err.text);
    if (geteuid () == 0) {
        ok (chown ("open", 1, 1) == 0 && chmod ("open", 0700) == 0
                && guard_open ("open", "pmm", 7, &err) < 0,
            "another's directory: %s", err.text);
        ok (guard_open ("d", "pmm", 5, &err) >= 0
                && chown ("d/pmm.5", 1, 1) == 0
                && guard_open ("d", "pmm", 5, &err) < 0,
            "another's file: %s", err.text);
    }
    else
        skip ("needs root");
}

int main (void)
{
    char cmd[64];
    int rc;

    if (!mkdtemp (top) || chdir (top) < 0)
        return 1;
    test_record ();
    test_lock ();
    test_traps ();
    rc = done_testing ();
    snprintf (cmd, sizeof (cmd), "rm -rf %s", top);
    return chdir ("/") < 0 || system (cmd) != 0 || rc;
}
