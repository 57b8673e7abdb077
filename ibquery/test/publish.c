/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "ibquery/snapshot.h"
#include "tests/tap.h"

enum { SUBNET = 0x77, KEEP = 2, T0 = 1700000000 };

static char dir[] = "/tmp/pmm-publish.XXXXXX";
static char path[64];

static struct fabric *tree (unsigned int ports, int64_t time)
{
    const struct fat_tree t = { .ports = ports, .levels = 1 };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&t, &err);

    f->time = time;
    f->subnet = SUBNET;
    return f;
}

/* Files whose names have this in them. */
static unsigned int count (const char *part)
{
    struct dirent **list;
    int n = scandir (dir, &list, NULL, NULL);
    unsigned int found = 0;

    for (int i = 0; i < n; i++) {
        found += strstr (list[i]->d_name, part) != NULL;
        free (list[i]);
    }
    free (list);
    return found;
}

static ino_t inode (void)
{
    struct stat st;

    return stat (path, &st) == 0 ? st.st_ino : 0;
}

/* Publish beside what is there. */
static int put (const struct fabric *f, struct error *err)
{
    struct error ignored;
    struct publish *p = publish_open (path, 0, err);
    struct fabric *old = fabric_load (path, &ignored);
    int rc = p ? publish_put (p, old, f, KEEP, err) : -2;

    fabric_destroy (old);
    publish_close (p);
    return rc;
}

static bool holds (const struct fabric *f)
{
    struct error err;
    struct fabric *g = fabric_load (path, &err);
    bool same = g && strcmp (g->hash, f->hash) == 0 && g->time == f->time;

    fabric_destroy (g);
    return same;
}

static void replaced (void)
{
    struct fabric *f = tree (4, T0), *g = tree (6, T0 + 60);
    struct error err = { 0 };
    struct stat st;
    ino_t first;

    umask (077);
    ok (put (f, &err) == 1 && holds (f), "published: %s", err.text);
    ok (stat (path, &st) == 0 && (st.st_mode & 0777) == 0644,
        "for all to read, whatever the umask is");
    umask (022);
    first = inode ();
    f->time += 30;
    ok (put (f, &err) == 0 && inode () == first && !holds (f),
        "the same at another time: not written");
    f->time = T0;
    ok (put (g, &err) == 1 && holds (g) && count (".20231114T") == 1,
        "a change: the old one is kept by its time");
    for (int i = 2; i < 6; i++) {
        g->time = f->time = T0 + 60 * i;
        put (i % 2 ? g : f, &err);
    }
    ok (holds (g) && count (".20231114T") == KEEP, "so many are kept, %u",
        count (".20231114T"));
    fabric_destroy (f);
    fabric_destroy (g);
}

/* Ports measure their cables anew at each reading. */
static void measured (void)
{
    struct fabric *f = tree (40, T0 + 500);
    struct error err = { 0 };

    put (f, &err);
    for (size_t i = 0; i < f->nports; i++)
        f->port[i].lrtl = f->port[i].link != FABRIC_NONE ? 200 : 0;
    ok (put (f, &err) == 1, "LinkRoundTripLatency is new: published");
    for (size_t i = 0; i < f->nports; i++)
        if (f->port[i].lrtl)
            f->port[i].lrtl += i % 3;
    ok (put (f, &err) == 0, "... a little different: not written");
    f->port[f->link[7].a].lrtl += 60;
    f->port[f->link[7].b].lrtl += 60;
    ok (put (f, &err) == 1, "... a longer cable: published");
    fabric_destroy (f);
}

static void refused (void)
{
    struct fabric *f = tree (4, T0 + 1000), *g = NULL;
    struct error err = { 0 };
    ino_t before = inode ();
    int64_t node;

    f->part = true;
    ok (put (f, &err) == -1 && inode () == before, "a part: %s", err.text);
    f->part = false;
    f->subnet++;
    ok (put (f, &err) == -1 && inode () == before, "another subnet: %s",
        err.text);
    g = fabric_create ();
    node = fabric_add_node (g, 0x99, NODE_SWITCH, 2, "other", &err);
    fabric_set_switch_lid (g, node, 1, &err);
    fabric_finish (g, &err);
    g->subnet = SUBNET;
    ok (put (g, &err) == -1 && inode () == before, "another fabric: %s",
        err.text);
    fabric_destroy (f);
    fabric_destroy (g);
}

/* What a full disk does: the file cannot grow. */
static void disk_full (void)
{
    struct fabric *f = tree (8, T0 + 2000);
    const struct rlimit small = { 100, RLIM_INFINITY };
    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    struct error err = { 0 };
    ino_t before = inode ();
    unsigned int files = count ("fabric");

    signal (SIGXFSZ, SIG_IGN);
    setrlimit (RLIMIT_FSIZE, &small);
    ok (put (f, &err) == -1 && inode () == before, "no room: %s", err.text);
    setrlimit (RLIMIT_FSIZE, &none);
    ok (count ("fabric") <= files + 1, "nothing is left behind");
    fabric_destroy (f);
}

static void one_at_a_time (void)
{
    struct error err = { 0 };
    struct publish *p = publish_open (path, 0, &err), *q;
    struct publish_state s;
    struct stat st;
    char lock[80];
    pid_t pid;
    int status;

    ok (p != NULL, "locked: %s", err.text);
    q = publish_open (path, 100, &err);
    ok (!q && err.fault == ERROR_WORLD, "not twice: %s", err.text);
    pid = fork ();
    if (pid == 0) {
        publish_close (p);
        p = publish_open (path, 100000, &err);
        _exit (p ? 0 : 1);
    }
    usleep (100000);
    ok (publish_looked (p, &err) == 0 && publish_looked (p, &err) == 0,
        "two looks");
    publish_close (p);
    ok (waitpid (pid, &status, 0) == pid && status == 0, "who waits gets it");
    snprintf (lock, sizeof (lock), "%s.lock", path);
    ok (stat (lock, &st) == 0 && (st.st_mode & 0777) == 0600,
        "the lock is one that others cannot open");
    p = publish_open (path, 0, &err);
    s = publish_state (p);
    ok (s.looks == 2 && s.read > T0, "the looks are counted");
    publish_close (p);
    ok (publish_time (path) >= s.read && publish_time ("/nowhere/x") == 0,
        "the time of the last look");
}

/* Whatever others may do in their directory. */
static void traps (void)
{
    char lock[80], other[80], temp[80];
    struct fabric *f = tree (4, T0 + 3000);
    const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
    struct error err = { 0 };
    struct stat st;
    int held;

    snprintf (lock, sizeof (lock), "%s.lock", path);
    snprintf (other, sizeof (other), "%s/other", dir);
    snprintf (temp, sizeof (temp), "%s.0123abcd", path);
    unlink (lock);
    close (open (other, O_CREAT | O_WRONLY, 0644));
    ok (symlink (other, lock) == 0 && put (f, &err) == -2,
        "a link for a lock: %s", err.text);
    unlink (lock);
    ok (link (other, lock) == 0 && put (f, &err) == -2,
        "another file for a lock: %s", err.text);
    unlink (lock);
    held = open (lock, O_CREAT | O_RDONLY, 0644);
    ok (flock (held, LOCK_SH) == 0 && put (f, &err) >= 0,
        "a lock of before, which everybody could open, and holds: %s",
        err.text);
    close (held);
    unlink (path);
    ok (symlink (other, path) == 0 && put (f, &err) == 1
            && lstat (path, &st) == 0 && S_ISREG (st.st_mode)
            && stat (other, &st) == 0 && st.st_size == 0,
        "a link for the snapshot is replaced itself");
    close (open (temp, O_CREAT | O_WRONLY, 0644));
    put (f, &err);
    ok (access (temp, F_OK) == 0, "a new file of another stays");
    utimensat (AT_FDCWD, temp, old, 0);
    put (f, &err);
    ok (access (temp, F_OK) < 0, "an old one of one who was killed goes");
    fabric_destroy (f);
}

int main (void)
{
    char command[80];

    if (!mkdtemp (dir))
        return 1;
    snprintf (path, sizeof (path), "%s/fabric", dir);
    replaced ();
    measured ();
    refused ();
    disk_full ();
    one_at_a_time ();
    traps ();
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    return system (command) == 0 ? done_testing () : 1;
}
