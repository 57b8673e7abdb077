/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records from the hook to the service: what is no record, what a hook that
 * was killed leaves, a full spool, states, and what is pruned.
 */
#include "config.h"
#include "prolog/serve/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

#define NODES "h[0001-0003],login"

enum { NOW = 1000000 };

static char dir[] = "/dev/shm/pmm-spool.XXXXXX";
static struct spool *spool;
static struct spool_list list;
static struct error err;

static int drop_at (uint64_t job, uint64_t time)
{
    const struct spool_record r = {
        .job = job,
        .uid = 1001,
        .time = time,
        .checked = 1,
        .partition = "main",
        .nodes = NODES,
    };

    return spool_drop (dir, &r, &err);
}

static int drop (uint64_t job)
{
    return drop_at (job, NOW);
}

static int look (int64_t now)
{
    return spool_read (spool, now, &list, &err);
}

static char *path_of (const char *name)
{
    static char path[4096];

    snprintf (path, sizeof (path), "%s/%s", dir, name);
    return path;
}

static void put (const char *name, const char *text, mode_t mode)
{
    int fd = open (path_of (name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write (fd, text, strlen (text)) < 0 || fchmod (fd, mode) < 0
        || close (fd) < 0)
        diag ("cannot write %s", name);
}

static bool there (const char *name)
{
    struct stat st;

    return lstat (path_of (name), &st) == 0;
}

/* Empty it, but for the service's lock. */
static void wipe (void)
{
    DIR *d = opendir (dir);
    struct dirent *e;

    while (d && (e = readdir (d)))
        if (strcmp (e->d_name, SPOOL_LOCK) != 0)
            unlinkat (dirfd (d), e->d_name, 0);
    if (d)
        closedir (d);
}

static void test_states (void)
{
    const struct spool_entry *e;

    ok (drop (57) == 0, "a hook leaves a record");
    ok (look (NOW) == 0 && list.n == 1 && !list.nremarks && !list.dropped,
        "which is read");
    e = list.v;
    ok (e->state == SPOOL_FRESH && e->job == 57 && e->uid == 1001
            && e->time == NOW && e->checked && !strcmp (e->partition, "main")
            && e->nodes.count == 4 && !strcmp (e->nodes.name[3], "login"),
        "with all that was in it");
    drop_at (57, NOW + 1);
    ok (look (NOW) == 0 && list.n == 1 && list.v[0].time == NOW
            && !there ("57.1000001"),
        "a hook that runs again adds nothing");
    ok (spool_mark (spool, list.v, SPOOL_BEGUN, 41, &err) == 0
            && there ("57.1000000.begun.41") && !there ("57.1000000"),
        "it is marked as begun");
    drop_at (57, NOW - 59);
    drop_at (57, NOW + 60);
    ok (look (NOW) == 0 && list.n == 2 && list.v[0].state == SPOOL_BEGUN
            && list.v[0].audit == 41 && !there ("57.999941")
            && list.v[1].time == NOW + 60,
        "nor does it then, also if the clock is set back; a requeued job does");
    ok (spool_mark (spool, list.v, SPOOL_DONE, 42, &err) == 0
            && there ("57.1000000.done.42")
            && spool_remove (spool, &list.v[1], &err) == 0
            && !there ("57.1000060"),
        "one is done, the other removed");
    drop_at (57, NOW + 59);
    ok (look (NOW) == 0 && list.n == 1 && list.v[0].state == SPOOL_DONE
            && list.v[0].audit == 42,
        "what is done stays done");
    ok (look (NOW + SPOOL_KEEP_S) == 0 && list.n == 1
            && look (NOW + SPOOL_KEEP_S + 1) == 0 && list.n == 0
            && !there ("57.1000000.done.42"),
        "and is forgotten after a day");
}

#define HEAD "pmm-spool 1\njob 9\nuid 1\ntime 5\nchecked 0\n"
#define TAIL "partition main\nnodes h1,h2\nend\n"

static void test_refused (void)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *why;
    } rows[] = {
        { HEAD TAIL, 0600, NULL },
        { "", 0600, "not a record" },
        { "pmm-spool 2\n", 0600, "not a record" },
        { "pmm-spool 1\njob 8\nuid 1\ntime 5\nchecked 0\n" TAIL,
          0600, "another job" },
        { "pmm-spool 1\njob 9\nuid -1\ntime 5\nchecked 0\n" TAIL,
          0600, "not whole" },
        { "pmm-spool 1\njob 9\nuid 1\ntime 5\nchecked 2\n" TAIL,
          0600, "not whole" },
        { HEAD "partition main\nnodes h1,h2\n", 0600, "not whole" },
        { HEAD "partition main\nnodes h1,h2", 0600, "not whole" },
        { HEAD "nodes h1\n", 0600, "not whole" },
        { HEAD TAIL "more\n", 0600, "not whole" },
        { HEAD "partition main\nnodes h1,h1\nend\n", 0600, "its nodes" },
        { HEAD "partition main\nnodes h[1-999999999]\nend\n", 0600,
          "its nodes" },
        { HEAD "partition main\nnodes h1 --reboot\nend\n", 0600, "its nodes" },
        { HEAD TAIL, 0666, "SlurmUser's own" },
    };
    char *large = calloc (1, SPOOL_RECORD_BYTES + 2);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        const char *want = rows[i].why ? rows[i].why : "";

        put ("9.5", rows[i].text, rows[i].mode);
        ok (look (NOW) == 0 && list.n == (*want ? 0 : 1)
                && list.nremarks == (*want ? 1 : 0)
                && (!*want || strstr (list.remark[0], want))
                && there ("9.5") == !*want,
            "row %zu: %s", i, *want ? want : "a record");
    }
    memset (large, 'x', SPOOL_RECORD_BYTES + 1);
    put ("9.5", large, 0600);
    ok (look (NOW) == 0 && list.n == 0 && list.nremarks == 1, "one too large");
    ok (look (NOW) == 0 && list.nremarks == 0, "is said once");
    free (large);
    put ("file", HEAD TAIL, 0600);
    ok (symlink (path_of ("file"), path_of ("9.5")) < 0
            || (look (NOW) == 0 && list.n == 0 && list.nremarks == 1
                && !there ("9.5") && there ("file")),
        "a link is refused, not what it points to");
    put ("9.05", HEAD TAIL, 0600);
    put ("9.5.done.", HEAD TAIL, 0600);
    put ("9.5.begun.-1", HEAD TAIL, 0600);
    put ("99999999999.0", HEAD TAIL, 0600);
    ok (look (NOW) == 0 && list.n == 0 && list.nremarks == 0
            && there ("9.05") && there ("9.5.done.")
            && there ("99999999999.0"),
        "files of other names are none of ours");
}

/* Without a record's last bytes, at each length: never half of it. */
static void test_halves (void)
{
    static const char whole[] = HEAD TAIL;
    char text[sizeof (whole)];
    size_t taken = 0;

    for (size_t n = 0; n < sizeof (whole) - 1; n++) {
        memcpy (text, whole, n);
        text[n] = '\0';
        put ("9.5", text, 0600);
        if (look (NOW) < 0 || list.n)
            taken++;
    }
    ok (taken == 0, "no part of a record is taken for one");
}

static void test_killed (void)
{
    const struct timespec old[2]
        = { { .tv_sec = NOW }, { .tv_sec = NOW } };

    put ("57.0.new", HEAD, 0600);
    put ("58.0.new", HEAD, 0600);
    put (".profile.new", "mine", 0600);
    utimensat (AT_FDCWD, path_of ("57.0.new"), old, 0);
    utimensat (AT_FDCWD, path_of (".profile.new"), old, 0);
    ok (look ((int64_t)time (NULL)) == 0 && list.n == 0
            && !there ("57.0.new") && there ("58.0.new"),
        "what a killed hook left goes, when it is old");
    ok (there (".profile.new"), "what is not of a hook stays");
}

static void test_full (void)
{
    char name[32];
    int errnum;

    for (int i = 0; i < SPOOL_FILES_MAX; i++) {
        snprintf (name, sizeof (name), "file%d", i);
        put (name, "", 0600);
    }
    ok (drop (58) < 0 && (errnum = errno) == ENOSPC && !there ("58.1000000"),
        "no record where it is full");
    drop (59);
    ok (look (NOW) == 0 && list.dropped == 2, "that is counted");
    ok (look (NOW) == 0 && list.dropped == 0, "once");
    unlink (path_of ("file0"));
    unlink (path_of ("file1"));
    unlink (path_of ("file2"));
    unlink (path_of ("file3")); /* the lock is one, too */
    ok (drop (60) == 0, "and there is room again");
}

static void test_trust (void)
{
    struct spool *other = spool_open (dir, 0, &err);

    ok (!other && errno == EWOULDBLOCK, "one service, no more: %s", err.text);
    spool_close (other);
    chmod (dir, 0770);
    ok (drop (61) < 0 && errno == EPERM && !there ("61.1000000"),
        "no record where others may write");
    spool_close (spool);
    ok (!(spool = spool_open (dir, 0, &err)) && errno == EPERM,
        "nor a service");
    chmod (dir, 0700);
    ok ((spool = spool_open (dir, 0, &err)) != NULL, "which can come back");
    ok (!(other = spool_open ("/nowhere/spool", 0, &err)) && errno == ENOENT,
        "no spool, no service");
    spool_close (other);
}

/* What waits does not get old because somebody sets the clock. */
static void test_clock (void)
{
    static const int64_t jump[] = { 10, 86400, -86400, 0 };

    drop_at (80, NOW - 10);
    ok (look (NOW) == 0 && list.n == 1 && list.v[0].waited >= 10
            && list.v[0].waited < 1000,
        "a job has ended a moment ago");
    for (size_t i = 0; i < sizeof (jump) / sizeof (jump[0]); i++)
        ok (look (NOW + jump[i]) == 0 && list.n == 1
                && list.v[0].waited >= 10 && list.v[0].waited < 1000,
            "the clock is %d s ahead: it has waited no longer",
            (int)jump[i]);
    drop_at (79, NOW - 5000);
    drop_at (81, NOW + 5000);
    ok (look (NOW) == 0 && list.n == 3 && list.v[0].waited >= 5000
            && list.v[1].waited < 1000 && list.v[2].waited < 1000,
        "one that was there before is old, one of a clock ahead is not");
    wipe ();
}

/* Who may read the spool's directory can lock that. */
static void test_locked (void)
{
    int fd = open (dir, O_RDONLY | O_DIRECTORY);

    spool_close (spool);
    ok (flock (fd, LOCK_SH) == 0 && (spool = spool_open (dir, 0, &err)),
        "the spool's directory is locked by others: %s", err.text);
    close (fd);
}

/* The lock of one who is killed goes when he has ended. */
static void test_ending (void)
{
    pid_t pid;
    int ready[2];
    char byte;

    spool_close (spool);
    spool = NULL;
    if (pipe (ready) < 0 || (pid = fork ()) < 0)
        return;
    if (pid == 0) {
        struct spool *theirs = spool_open (dir, 0, &err);

        if (write (ready[1], "", 1) < 0)
            _exit (1);
        poll (NULL, 0, 200);
        _exit (theirs == NULL);
    }
    ok (read (ready[0], &byte, 1) == 1 && !spool_open (dir, 0, &err),
        "another service has it");
    ok ((spool = spool_open (dir, 60000, &err)) != NULL, "until it has ended");
    waitpid (pid, NULL, 0);
    close (ready[0]);
    close (ready[1]);
}

int main (void)
{
    if (!mkdtemp (dir) || !(spool = spool_open (dir, 0, &err))) {
        ok (0, "a spool: %s", err.text);
        return done_testing ();
    }
    test_states ();
    wipe ();
    test_refused ();
    wipe ();
    test_halves ();
    wipe ();
    test_killed ();
    wipe ();
    test_trust ();
    test_clock ();
    test_locked ();
    test_ending ();
    test_full ();
    wipe ();
    spool_list_clear (&list);
    spool_close (spool);
    unlink (path_of (SPOOL_LOCK));
    rmdir (dir);
    return done_testing ();
}
