/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: what is refused, and that outputs are whole or not there. */
#include "config.h"
#include "util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/user.h"

static char *contents (const char *path)
{
    static char buf[64];
    FILE *fp = fopen (path, "r");
    size_t n = fp ? fread (buf, 1, sizeof (buf) - 1, fp) : 0;

    buf[n] = '\0';
    if (fp)
        fclose (fp);
    return buf;
}

static void put (const char *path, const char *s)
{
    FILE *fp = fopen (path, "w");

    fputs (s, fp);
    fclose (fp);
}

static void test_input (void)
{
    static const struct {
        const char *path;
        const char *error;
    } tab[] = {
        { "gone", "No such file" },
        { "a/b", "Not a directory" },
        { "dir", "is a directory" },
        { "/dev/null", "is not a regular file" },
        { "pipe", "is not a regular file" },
    };
    char name[64];
    FILE *fp;
    int fd[2];

    put ("a", "text");
    mkdir ("dir", 0755);
    mkfifo ("pipe", 0600);
    ok ((fp = file_open_input ("a", NULL)) != NULL, "a file");
    file_close_input (fp);
    ok (file_open_input ("-", NULL) == stdin, "- is standard input");
    file_close_input (stdin);
    ok (fileno (stdin) == 0, "which stays open");
    ok (pipe (fd) == 0 && write (fd[1], "text", 4) == 4, "a shell's pipe");
    snprintf (name, sizeof (name), "/dev/fd/%d", fd[0]);
    ok ((fp = file_open_input (name, NULL)) && getc (fp) == 't'
            && !(fcntl (fileno (fp), F_GETFL) & O_NONBLOCK),
        "is read, and waited for");
    file_close_input (fp);
    close (fd[0]);
    close (fd[1]);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct error err = { 0 };

        ok (!file_open_input (tab[i].path, &err)
                && strstr (err.text, tab[i].error) && err.fault == ERROR_INPUT,
            "refuse: %s", err.text);
    }
}

static void test_trusted (void)
{
    static const struct {
        const char *path;
        mode_t dir;
        mode_t file;
        const char *error; /* NULL: trusted */
    } tab[] = {
        { "t/f", 0755, 0644, NULL },
        { "t/f", 0700, 0600, NULL },
        { "t/f", 01777, 0644, NULL },
        { "t/f", 0777, 0644, "others may write /" },
        { "t/f", 0775, 0644, "others may write /" },
        { "t/f", 0755, 0664, "/t/f: chmod go-w /" },
        { "t/f", 0755, 0646, "/t/f: chmod go-w /" },
        { "t/link", 0755, 0644, "is a symbolic link" },
        { "t/fifo", 0755, 0644, "not a regular file" },
        { "t/gone", 0755, 0644, "No such file" },
        { "gone/f", 0755, 0644, "No such file" },
    };

    mkdir ("t", 0755);
    put ("t/f", "text");
    ok (symlink ("f", "t/link") == 0 && mkfifo ("t/fifo", 0600) == 0,
        "a link and a pipe");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct error err = { 0 };
        FILE *fp;

        chmod ("t", tab[i].dir);
        chmod ("t/f", tab[i].file);
        fp = file_open_trusted (tab[i].path, geteuid (), &err);
        if (!tab[i].error)
            ok (fp != NULL, "trust row %zu %s", i, err.text);
        else
            ok (!fp && strstr (err.text, tab[i].error), "refuse: %s",
                err.text);
        if (fp)
            fclose (fp);
    }
    chmod ("t", 0755);
    chmod ("t/f", 0644);
    if (geteuid () != 0)
        skip ("needs root");
    else {
        struct error err = { 0 };

        ok (chown ("t/f", 1, 1) == 0 && !file_open_trusted ("t/f", 0, &err),
            "another's file: %s", err.text);
        file_user = user_name_of;
        ok (!file_open_trusted ("t/f", 0, &err)
                && strstr (err.text, "t/f belongs to user daemon"),
            "... by name: %s", err.text);
        file_user = NULL;
    }
}

/* A file four directories down, and who may change what leads to it. */
static void test_way (void)
{
    static const struct {
        const char *path;
        const char *name; /* what is changed: */
        mode_t mode;
        uid_t owner; /* needs root unless 0, which is whoever we are */
        const char *error;
    } tab[] = {
        { "w/a/b/f", "w", 0755, 0, NULL },
        { "w/a/b/f", "w/a", 01777, 0, NULL },
        { "w/a/b/f", "w/a", 0777, 0, "/w/a: chmod go-w /" },
        { "w/a/b/f", "w", 0775, 0, "/w: chmod go-w /" },
        { "w/a/b/f", "w", 0755, 7, "/w belongs to user 7" },
        { "w/a/b/f", "w/a", 01777, 7, "/w/a belongs to user 7" },
        { "w/a/b/f", "w/a/b", 0755, 7, "/w/a/b belongs to user 7" },
        { "w/a/b/f", "w/a/b/f", 0644, 7, "/w/a/b/f belongs to user 7" },
        { "w/a/../a/./b//f", "w", 0755, 0, NULL },
        { "w/link/f", "w", 0755, 0, NULL },
        { "w/link/f", "w", 01777, 0, NULL },
        { "w/link/f", "w/a", 0777, 0, "/w/a: chmod go-w /" },
        { "w/link/f", "w/link", 0, 7, "the link link belongs to user 7" },
        { "w/far/f", "w", 0755, 0, NULL },
        { "w/far/f", "w/a", 0777, 0, "/w/a: chmod go-w /" },
        { "w/round/f", "w", 0755, 0, "Too many levels" },
        { "w/gone/f", "w", 0755, 0, "No such file" },
        { "w/a/b/f/f", "w", 0755, 0, "Not a directory" },
    };
    char here[256], far[300];

    if (!getcwd (here, sizeof (here)))
        return;
    snprintf (far, sizeof (far), "%s/w/a/b", here);
    mkdir ("w", 0755);
    mkdir ("w/a", 0755);
    mkdir ("w/a/b", 0755);
    put ("w/a/b/f", "text");
    ok (symlink ("a/b", "w/link") == 0 && symlink (far, "w/far") == 0
            && symlink ("round", "w/round") == 0,
        "links to directories");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct error err = { 0 };
        struct stat st;
        FILE *fp;

        if (tab[i].owner && geteuid () != 0) {
            skip ("needs root");
            continue;
        }
        lstat (tab[i].name, &st);
        if (tab[i].owner && lchown (tab[i].name, tab[i].owner, (gid_t)-1) < 0)
            diag ("cannot chown %s", tab[i].name);
        if (tab[i].mode)
            chmod (tab[i].name, tab[i].mode);
        fp = file_open_trusted (tab[i].path, geteuid (), &err);
        ok (tab[i].error ? !fp && strstr (err.text, tab[i].error) : !!fp,
            "%s, %s %o: %s", tab[i].path, tab[i].name,
            (unsigned int)tab[i].mode, err.text);
        if (fp)
            fclose (fp);
        if (lchown (tab[i].name, st.st_uid, (gid_t)-1) < 0
            || (tab[i].mode && chmod (tab[i].name, st.st_mode & 07777) < 0))
            diag ("cannot mend %s", tab[i].name);
    }
}

static void test_dir (void)
{
    struct error err = { 0 };
    int fd;

    mkdir ("d", 0755);
    ok ((fd = file_open_trusted_dir ("d", geteuid (), &err)) >= 0,
        "a directory");
    close (fd);
    chmod ("d", 01777);
    ok (file_open_trusted_dir ("d", geteuid (), &err) < 0,
        "others may make files in it: %s", err.text);
    chmod ("d", 0755);
    put ("d/f", "");
    ok (file_open_trusted_dir ("d/f", geteuid (), &err) < 0, "%s", err.text);
}

static void test_lock (void)
{
    struct error err = { 0 };
    struct stat st, old;
    int fd, others, second;

    umask (0);
    fd = file_open_lock (AT_FDCWD, "lock", &err);
    ok (fd >= 0 && fstat (fd, &st) == 0 && (st.st_mode & 0777) == 0600
            && file_lock (fd, 0) == 1,
        "a lock that others cannot open");
    second = file_open_lock (AT_FDCWD, "lock", &err);
    ok (file_lock (second, 60) == 0, "is held");
    close (fd);
    ok (file_lock (second, 0) == 1, "and free");
    close (second);

    fchmodat (AT_FDCWD, "lock", 0644, 0);
    stat ("lock", &old);
    others = open ("lock", O_RDONLY);
    ok (flock (others, LOCK_SH) == 0, "one that others could open is held");
    fd = file_open_lock (AT_FDCWD, "lock", &err);
    ok (fd >= 0 && fstat (fd, &st) == 0 && st.st_ino != old.st_ino
            && (st.st_mode & 0777) == 0600 && file_lock (fd, 0) == 1,
        "which does not matter: it is replaced");
    close (fd);
    close (others);
    ok (link ("lock", "lock2") == 0
            && file_open_lock (AT_FDCWD, "lock2", &err) < 0,
        "a link to a file: %s", err.text);
    umask (022);
}

static void test_slurp (void)
{
    char big[10000];
    struct error err = { 0 };
    size_t len = 0;
    FILE *fp;
    char *s;

    memset (big, 'x', sizeof (big));
    big[5] = '\0';
    fp = fmemopen (big, sizeof (big), "r");
    s = file_slurp (fp, sizeof (big), &len, NULL);
    ok (s && len == sizeof (big) && !memcmp (s, big, len) && !s[len],
        "read to the end");
    free (s);
    rewind (fp);
    ok (!file_slurp (fp, sizeof (big) - 1, &len, &err), "too long: %s",
        err.text);
    rewind (fp);
    ok (!file_slurp_text (fp, "f", sizeof (big), &err)
            && strncmp (err.text, "f: ", 3) == 0,
        "no text: %s", err.text);
    rewind (fp);
    big[5] = 'x';
    s = file_slurp_text (fp, "f", sizeof (big), NULL);
    ok (s && strlen (s) == sizeof (big), "text is read to the end");
    free (s);
    fclose (fp);
    fp = fopen (".", "r");
    ok (!file_slurp (fp, 10, &len, &err) && err.fault == ERROR_WORLD, "%s",
        err.text);
    fclose (fp);
}

static int entries (const char *dir)
{
    struct dirent **list;
    int n = scandir (dir, &list, NULL, NULL);

    for (int i = 0; i < n; i++)
        free (list[i]);
    free (list);
    return n - 2;
}

static void test_output (void)
{
    struct error err = { 0 };
    struct outfile *out;
    struct stat st;

    mkdir ("o", 0755);
    umask (027);
    out = file_create ("o/f", NULL);
    fputs ("one", file_stream (out));
    ok (stat ("o/f", &st) < 0 && errno == ENOENT, "not there yet");
    ok (file_commit (out, NULL) == 0 && !strcmp (contents ("o/f"), "one"),
        "there when committed");
    ok (stat ("o/f", &st) == 0 && (st.st_mode & 07777) == 0640,
        "with the umask's mode");

    out = file_create ("o/f", NULL);
    fputs ("two", file_stream (out));
    errno = EBADMSG;
    file_abort (out);
    ok (errno == EBADMSG && !strcmp (contents ("o/f"), "one")
            && entries ("o") == 1,
        "aborted: as before");
    out = file_create ("o/f", NULL);
    fputs ("two", file_stream (out));
    ok (file_finish (out, -1, NULL) == -1 && entries ("o") == 1
            && !strcmp (contents ("o/f"), "one"),
        "finished where its writer failed: as before");
    out = file_create ("o/f", NULL);
    fputs ("two", file_stream (out));
    ok (file_finish (out, 0, NULL) == 0 && entries ("o") == 1
            && !strcmp (contents ("o/f"), "two"),
        "finished where it did not: there");
    ok (chmod ("o/f", 0600) == 0
            && file_finish (file_create ("o/f", NULL), 0, NULL) == 0
            && stat ("o/f", &st) == 0 && (st.st_mode & 07777) == 0600,
        "what replaces a file has its mode");
    file_abort (NULL);

    ok (symlink ("f", "o/link") == 0, "a link");
    out = file_create ("o/link", NULL);
    fputs ("three", file_stream (out));
    ok (file_commit (out, NULL) == 0 && !strcmp (contents ("o/f"), "three")
            && lstat ("o/link", &st) == 0 && S_ISLNK (st.st_mode),
        "the link's target is replaced");

    ok (!file_create ("o", &err), "%s", err.text);
    ok (!file_create ("gone/f", &err), "%s", err.text);

    out = file_create ("/dev/null", NULL);
    fputs ("x", file_stream (out));
    ok (file_commit (out, NULL) == 0 && stat ("/dev/null", &st) == 0
            && S_ISCHR (st.st_mode),
        "a device is written, not replaced");
    for (int n = 1; n <= 100000; n += 99999)
        if ((out = file_create ("/dev/full", NULL))) {
            fprintf (file_stream (out), "%0*d", n, 1);
            ok (file_commit (out, &err) < 0 && err.fault == ERROR_WORLD
                    && strstr (err.text, "No space left"),
                "%d bytes: %s", n, err.text);
        }
    out = file_create ("-", NULL);
    fputs ("# to ", file_stream (out));
    ok (file_commit (out, NULL) == 0 && puts ("standard output") >= 0
            && fflush (stdout) == 0,
        "standard output stays open");
}

/* A file that cannot grow is not there, and what was there is as it was. */
static void test_full (void)
{
    const struct rlimit small = { 100, RLIM_INFINITY };
    const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };
    struct error err = { 0 };
    struct outfile *out;

    mkdir ("full", 0755);
    put ("full/f", "old");
    signal (SIGXFSZ, SIG_IGN);
    for (int n = 200; n <= 200000; n *= 1000) {
        fflush (stdout);
        setrlimit (RLIMIT_FSIZE, &small);
        out = file_create ("full/f", &err);
        fprintf (file_stream (out), "%0*d", n, 1);
        file_commit (out, &err);
        setrlimit (RLIMIT_FSIZE, &none);
        ok (strstr (err.text, "full/f: File too large")
                && !strcmp (contents ("full/f"), "old")
                && entries ("full") == 1,
            "%d bytes: %s", n, err.text);
    }
}

/* Links that others put where we write: user 7 and user 8, a directory like
 * /tmp, and a file of user 8's. Return what user 8 hears; "" where it wrote.
 */
static const char *write_as (uid_t uid, const char *path)
{
    static struct error err;
    int fd[2];
    pid_t pid;

    err = (struct error){ 0 };
    if (pipe (fd) < 0 || fflush (stdout) == EOF || (pid = fork ()) < 0)
        return "no child";
    if (pid == 0) {
        struct outfile *out;

        if (setuid (uid) < 0 || !(out = file_create (path, &err))
            || fputs ("new", file_stream (out)) == EOF
            || file_commit (out, &err) < 0)
            err.fault = ERROR_WORLD;
        _exit (write (fd[1], &err, sizeof (err)) != sizeof (err));
    }
    close (fd[1]);
    if (read (fd[0], &err, sizeof (err)) != sizeof (err))
        strcpy (err.text, "no answer");
    close (fd[0]);
    waitpid (pid, NULL, 0);
    return err.text;
}

static void test_links (void)
{
    static const struct {
        uid_t who;
        const char *path, *error;
    } tab[] = {
        { 8, "tmp/theirs", "the link theirs belongs to user 7" },
        { 0, "tmp/theirs", "the link theirs belongs to user 7" },
        { 8, "tmp/dir/f", "the link dir belongs to user 7" },
        { 0, "tmp/dir/f", "the link dir belongs to user 7" },
        { 0, "project/theirs", "the link theirs belongs to user 7" },
        { 0, "tmp/pipe", "another user's pipe" },
        { 8, "tmp/own", "" },
        { 8, "project/theirs", "" },
        { 8, "tmp/roots", "" },
    };
    struct error err;

    if (geteuid () != 0) {
        skip ("needs root");
        return;
    }
    chmod (".", 0755);
    mkdir ("home", 0755);
    mkdir ("tmp", 0);
    mkdir ("project", 0);
    ok (chmod ("tmp", 01777) == 0 && chmod ("project", 0777) == 0
            && chown ("home", 8, 8) == 0
            && symlink ("../home/f", "tmp/theirs") == 0
            && symlink ("../home", "tmp/dir") == 0
            && symlink ("../home/f", "tmp/own") == 0
            && symlink ("../home/f", "tmp/roots") == 0
            && symlink ("../home/f", "project/theirs") == 0
            && mkfifo ("tmp/pipe", 0666) == 0 && chown ("tmp/pipe", 7, 7) == 0
            && lchown ("tmp/theirs", 7, 7) == 0
            && lchown ("tmp/dir", 7, 7) == 0 && lchown ("tmp/own", 8, 8) == 0
            && lchown ("project/theirs", 7, 7) == 0,
        "links of user 7, of user 8 and of root");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const char *said;

        put ("home/f", "old");
        said = write_as (tab[i].who, tab[i].path);
        ok (tab[i].error[0] ? !!strstr (said, tab[i].error) : !*said,
            "user %u: %s %s", (unsigned int)tab[i].who, tab[i].path, said);
        ok (!strcmp (contents ("home/f"), *tab[i].error ? "old" : "new"),
            "the file is %s", *tab[i].error ? "as it was" : "written");
    }
    ok (!file_remove ("tmp/dir/f") && !file_remove ("tmp/own")
            && access ("home/f", F_OK) == 0,
        "nor is it removed through a link, or a link itself");
    ok (file_make_dir ("tmp/dir/new", &err) < 0
            && strstr (err.text, "the link dir belongs to user 7")
            && access ("home/new", F_OK) < 0,
        "nor a directory made: %s", err.text);
    ok (file_make_dir ("home/new", &err) == 0
            && file_make_dir ("home/new/", &err) == 0
            && !file_remove ("home/new") && rmdir ("home/new") == 0,
        "... but by its own name; no file is removed there");
    ok (file_remove ("home/f") && access ("home/f", F_OK) < 0
            && !file_remove ("home/f"),
        "a file is removed by its name");
    put ("home/f", "old");
}

/* Each kind of file, whoever owns it, by its name and by each kind of link to it:
 * no user's link or file leads another user's output, or blocks it.
 */
enum kind { REGULAR, DIRECTORY, PIPE, CHARACTERS, BLOCKS, SOCKET, KINDS };

static void make_kind (const char *path, enum kind kind, uid_t owner)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    static const mode_t mode[KINDS]
        = { S_IFREG, S_IFDIR, S_IFIFO, S_IFCHR, S_IFBLK, S_IFSOCK };
    int rc, fd;

    if (kind == DIRECTORY)
        rc = mkdir (path, 0777);
    else if (kind == SOCKET) {
        strcpy (sa.sun_path, path);
        fd = socket (AF_UNIX, SOCK_STREAM, 0);
        rc = bind (fd, (struct sockaddr *)&sa, sizeof (sa));
        close (fd);
    }
    else
        rc = mknod (path, mode[kind] | 0666,
                    kind == CHARACTERS ? makedev (1, 3) : makedev (7, 250));
    if (rc < 0 || chmod (path, 0777) < 0 || chown (path, owner, owner) < 0)
        diag ("cannot make %s", path);
}

static const char *expected (enum kind kind, uid_t owner, uid_t who)
{
    bool ours = owner == 0 || owner == who;

    switch (kind) {
    case REGULAR:
        return "";
    case DIRECTORY:
        return "Is a directory";
    case PIPE:
        return ours ? "" : "it is another user's pipe";
    case CHARACTERS:
        return ours ? "" : "it is another user's device";
    case BLOCKS:
        return "it is a block device";
    default:
        return "it is a socket";
    }
}

static void test_kinds (void)
{
    static const uid_t users[] = { 0, 7, 8 };
    static const char *const names[KINDS]
        = { "file", "directory", "pipe", "device", "block device", "socket" };
    static const struct {
        const char *dir; /* of the link; NULL: by its name */
        uid_t link;
    } ways[] = {
        { NULL, 0 }, { "k/sticky", 7 }, { "k/sticky", 8 }, { "k/sticky", 0 },
        { "k/open", 7 }, { "k/open", 8 }, { "k/open", 0 },
    };

    if (geteuid () != 0) {
        skip ("needs root");
        return;
    }
    ok (mkdir ("k", 0755) == 0 && mkdir ("k/home", 0) == 0
            && chmod ("k/home", 0777) == 0 && mkdir ("k/sticky", 0) == 0
            && chmod ("k/sticky", 01777) == 0 && mkdir ("k/open", 0) == 0
            && chmod ("k/open", 0777) == 0,
        "directories");
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (size_t o = 0; o < 3; o++) {
            size_t wrong = 0;

            for (size_t i = 0; i < 2 * sizeof (ways) / sizeof (ways[0]); i++) {
                uid_t who = i % 2 ? 8 : 0, link = ways[i / 2].link;
                const char *dir = ways[i / 2].dir, *want, *said;
                char path[64] = "k/home/x";
                int reader = -1;
                bool right;

                make_kind (path, kind, users[o]);
                want = expected (kind, users[o], who);
                if (dir) {
                    snprintf (path, sizeof (path), "%s/link", dir);
                    if (symlink ("../home/x", path) < 0
                        || lchown (path, link, link) < 0)
                        diag ("cannot link %s", path);
                    if (link != 0 && link != who
                        && (who == 0 || strcmp (dir, "k/open") != 0))
                        want = "the link link belongs to user ";
                }
                if (kind == PIPE)
                    reader = open ("k/home/x", O_RDONLY | O_NONBLOCK);
                said = write_as (who, path);
                right = *want ? !!strstr (said, want) : !*said;
                if (kind == REGULAR)
                    right &= !strcmp (contents ("k/home/x"),
                                      *want ? "" : "new");
                if (!right)
                    diag ("user %u, %s: %s, not: %s", (unsigned int)who, path,
                          said, want);
                wrong += !right;
                if (reader >= 0)
                    close (reader);
                if (dir)
                    unlink (path);
                remove ("k/home/x");
            }
            ok (wrong == 0, "a %s of user %u, by %zu ways", names[kind],
                (unsigned int)users[o], sizeof (ways) / sizeof (ways[0]));
        }
}

/* Descriptors of this process, as a shell names them. */
static void test_descriptors (void)
{
    char path[64], text[8] = "";
    struct error err = { 0 };
    struct outfile *out;
    int fd[2];

    ok (pipe (fd) == 0, "a pipe without a name");
    for (int i = 0; i < 2; i++) {
        snprintf (path, sizeof (path), i ? "/dev/fd/%d" : "/proc/self/fd/%d",
                  fd[1]);
        ok ((out = file_create (path, &err))
                && fputs ("new", file_stream (out)) != EOF
                && file_commit (out, &err) == 0 && read (fd[0], text, 3) == 3
                && !strcmp (text, "new"),
            "%s%s", path, err.text);
    }
    snprintf (path, sizeof (path), "/dev/fd/%d", fd[0]);
    out = file_create (path, &err);
    if (out && fputs ("new", file_stream (out)) != EOF)
        ok (file_commit (out, &err) < 0, "one to read from: %s", err.text);
    close (fd[0]);
    close (fd[1]);
    ok (!file_create (path, &err), "%s", err.text);
    put ("descriptor", "old ");
    fd[0] = open ("descriptor", O_WRONLY | O_APPEND);
    snprintf (path, sizeof (path), "/dev/fd/%d", fd[0]);
    ok ((out = file_create (path, &err))
            && fputs ("new", file_stream (out)) != EOF
            && file_commit (out, &err) == 0
            && !strcmp (contents ("descriptor"), "old new"),
        "what is appended to stays%s", err.text);
    close (fd[0]);
}

/* What is published replaces whatever is there. */
static void test_public (void)
{
    struct error err = { 0 };
    struct outfile *out;
    struct stat st;

    mkdir ("p", 0755);
    put ("p/f", "old");
    umask (077);
    ok (symlink ("f", "p/link") == 0 && mkfifo ("p/pipe", 0600) == 0,
        "a link and a pipe");
    for (int i = 0; i < 2; i++) {
        const char *path = i ? "p/pipe" : "p/link";

        out = file_create_public (path, &err);
        fputs ("new", file_stream (out));
        ok (file_commit (out, &err) == 0 && lstat (path, &st) == 0
                && S_ISREG (st.st_mode) && (st.st_mode & 0777) == 0644
                && !strcmp (contents ("p/f"), "old"),
            "%s is replaced", path);
    }
    umask (022);
}

static void test_new (void)
{
    static const char *const taken[] = { "n/f", "n/link", "n/dir" };
    struct error err = { 0 };
    struct outfile *out;

    mkdir ("n", 0755);
    mkdir ("n/dir", 0755);
    ok (symlink ("none", "n/link") == 0, "a link to nothing");
    out = file_create_new ("n/f", &err);
    fputs ("new", file_stream (out));
    ok (file_commit (out, &err) == 0 && !strcmp (contents ("n/f"), "new"),
        "a new file");
    for (size_t i = 0; i < sizeof (taken) / sizeof (taken[0]); i++) {
        out = file_create_new (taken[i], &err);
        fputs ("newer", file_stream (out));
        ok (file_commit (out, &err) < 0 && errno == EEXIST
                && !strcmp (contents ("n/f"), "new")
                && access ("n/none", F_OK) < 0,
            "%s stays", taken[i]);
    }
}

static void test_private (void)
{
    static const struct {
        const char *name;
        mode_t mode;
        int errnum;
    } rows[] = { { "f", 0600, 0 },         { "f", 0620, EPERM },
                 { "link", 0600, ELOOP },  { "none", 0600, ENOENT },
                 { "dir", 0700, EINVAL } };
    struct error err = { 0 };
    struct outfile *out;
    struct stat st;
    int dir;

    mkdir ("own", 0755);
    mkdir ("own/dir", 0700);
    put ("own/f.new", "of one that was killed");
    out = file_create_private ("own/f", &err);
    fputs ("new", file_stream (out));
    ok (file_commit (out, &err) == 0 && stat ("own/f", &st) == 0
            && (st.st_mode & 07777) == 0600
            && !strcmp (contents ("own/f"), "new")
            && access ("own/f.new", F_OK) < 0,
        "a private file, over what is left of another try");
    ok (symlink ("f", "own/link") == 0, "a link");
    dir = open ("own", O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        FILE *fp;

        chmod ("own/f", rows[i].mode);
        fp = file_open_trusted_at (dir, rows[i].name, geteuid (), &err);
        ok (rows[i].errnum ? !fp && errno == rows[i].errnum : fp != NULL,
            "%s of mode %o: %s", rows[i].name, (unsigned)rows[i].mode,
            fp ? "opened" : err.text);
        file_close_input (fp);
    }
    close (dir);
}

static void test_append (void)
{
    struct error err;
    struct outfile *out;
    struct file_held held = { .size = 9, .last = 'x' };

    mkdir ("append", 0755);
    out = file_append ("append/f", &held, &err);
    fputs ("one", file_stream (out));
    ok (held.size == 0 && !held.last && file_commit (out, &err) == 0
            && !strcmp (contents ("append/f"), "one"),
        "appended to nothing");
    out = file_append ("append/f", &held, &err);
    fputs (", two", file_stream (out));
    ok (!strcmp (contents ("append/f"), "one"), "nothing is seen of it yet");
    ok (held.size == 3 && !strcmp (held.start, "one") && held.last == 'e',
        "what is there already is told");
    ok (file_commit (out, &err) == 0
            && !strcmp (contents ("append/f"), "one, two"),
        "appended to that");
    out = file_append ("append/f", &held, &err);
    fputs ("half", file_stream (out));
    file_abort (out);
    ok (!strcmp (contents ("append/f"), "one, two"), "aborted: as before");
    ok (!file_append ("append", &held, &err), "%s", err.text);
    out = file_create ("append/f", &err);
    fprintf (file_stream (out), "%070d", 1);
    file_commit (out, &err);
    out = file_append ("append/f", &held, &err);
    ok (held.size == 70 && held.last == '1'
            && strlen (held.start) == sizeof (held.start) - 1,
        "of much the start");
    file_abort (out);
    out = file_append (NULL, &held, &err);
    ok (held.size == 0 && file_commit (out, &err) == 0, "standard output");
}

int main (void)
{
    char dir[] = "/tmp/pmm-file.XXXXXX";
    int rc;

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    test_input ();
    test_trusted ();
    test_way ();
    test_dir ();
    test_lock ();
    test_slurp ();
    test_output ();
    test_public ();
    test_full ();
    test_links ();
    test_kinds ();
    test_descriptors ();
    test_new ();
    test_private ();
    test_append ();
    rc = done_testing ();
    if (chdir ("/") == 0) {
        char cmd[64];

        snprintf (cmd, sizeof (cmd), "rm -rf %s", dir);
        if (system (cmd) != 0)
            rc = 1;
    }
    return rc;
}
