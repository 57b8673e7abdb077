/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files: what is refused, and that outputs are whole or not there. */
#include "config.h"
#include "util/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

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
        { "/dev/null", "is no regular file" },
    };
    FILE *fp;

    put ("a", "text");
    mkdir ("dir", 0755);
    ok ((fp = file_open_input ("a", NULL)) != NULL, "a file");
    file_close_input (fp);
    ok (file_open_input ("-", NULL) == stdin, "- is standard input");
    file_close_input (stdin);
    ok (fileno (stdin) == 0, "which stays open");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct error err = { 0 };

        ok (!file_open_input (tab[i].path, &err)
                && strstr (err.text, tab[i].error)
                && err.fault == ERROR_INPUT,
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
        { "t/f", 0777, 0644, "write its directory" },
        { "t/f", 0775, 0644, "write its directory" },
        { "t/f", 0755, 0664, "others may write it" },
        { "t/f", 0755, 0646, "others may write it" },
        { "t/link", 0755, 0644, "cannot open" },
        { "t/fifo", 0755, 0644, "no regular file" },
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

        ok (chown ("t/f", 1, 1) == 0
                && !file_open_trusted ("t/f", 0, &err),
            "another's file: %s", err.text);
    }
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
    fclose (fp);
    fp = fopen (".", "r");
    ok (!file_slurp (fp, 10, &len, &err) && err.fault == ERROR_WORLD, "%s",
        err.text);
    fclose (fp);
}

static int entries (void)
{
    FILE *fp = popen ("ls -A o | wc -l", "r");
    int n = -1;

    if (fscanf (fp, "%d", &n) != 1)
        n = -1;
    pclose (fp);
    return n;
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
            && entries () == 1,
        "aborted: as before");
    out = file_create ("o/f", NULL);
    fputs ("two", file_stream (out));
    ok (file_finish (out, -1, NULL) == -1 && entries () == 1
            && !strcmp (contents ("o/f"), "one"),
        "finished where its writer failed: as before");
    out = file_create ("o/f", NULL);
    fputs ("two", file_stream (out));
    ok (file_finish (out, 0, NULL) == 0 && entries () == 1
            && !strcmp (contents ("o/f"), "two"),
        "finished where it did not: there");
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
    if ((out = file_create ("/dev/full", NULL))) {
        fputs ("x", file_stream (out));
        ok (file_commit (out, &err) < 0 && err.fault == ERROR_WORLD, "%s",
            err.text);
    }
    out = file_create ("-", NULL);
    ok (file_stream (out) == stdout && file_commit (out, NULL) == 0
            && puts ("#") >= 0,
        "standard output stays open");
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
    ok (file_stream (out) == stdout && held.size == 0
            && file_commit (out, &err) == 0,
        "standard output");
}

int main (void)
{
    char dir[] = "/tmp/pmm-file.XXXXXX";
    int rc;

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    test_input ();
    test_trusted ();
    test_slurp ();
    test_output ();
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
