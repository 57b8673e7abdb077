/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A line on a terminal, of which a pseudo-terminal is one, and none elsewhere;
 * that of a whole program.
 */
#include "config.h"
#include "util/progress.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/terminal.h"

enum { LONG_MS = 10000, SCREEN = 80 };

static char seen[4096];

/* What has come out at the other end since the last look. */
static const char *look (int fd)
{
    ssize_t n = read (fd, seen, sizeof (seen) - 1);

    seen[n > 0 ? n : 0] = '\0';
    return seen;
}

/* What stands in the line when a terminal has got that; NULL where it got
 * what does not belong there.
 */
static const char *screen (const char *s)
{
    static char line[SCREEN + 1];
    size_t column = 0;
    size_t len = 0;

    memset (line, ' ', SCREEN);
    for (; *s; s++) {
        if (*s == '\r')
            column = 0;
        else if (*s < ' ' || column == SCREEN)
            return NULL;
        else
            line[column++] = *s;
    }
    for (size_t i = 0; i < SCREEN; i++)
        if (line[i] != ' ')
            len = i + 1;
    line[len] = '\0';
    return line;
}

static int stands (int fd, const char *expected)
{
    const char *line = screen (look (fd));

    return line && !strcmp (line, expected);
}

/* As if so much time had passed since it began, and was shown. */
static void let_pass (struct progress *p)
{
    p->start_ms -= LONG_MS;
    p->known_ms -= LONG_MS;
    p->shown_ms -= p->shown_ms > 0 ? LONG_MS : 0;
}

static FILE *open_terminal (int *fd)
{
    FILE *fp;

    *fd = posix_openpt (O_RDWR | O_NOCTTY);
    if (*fd < 0 || grantpt (*fd) < 0 || unlockpt (*fd) < 0
        || !(fp = fopen (ptsname (*fd), "r+"))) {
        ok (0, "a pseudo-terminal");
        exit (done_testing ());
    }
    fcntl (*fd, F_SETFL, O_NONBLOCK);
    return fp;
}

static void test_terminal (void)
{
    struct progress p;
    int fd;
    FILE *fp = open_terminal (&fd);

    p = progress_begin (fp, "pmm", "step");
    progress_show (&p, 1, 1200);
    ok (!*look (fd), "nothing in the first second");
    let_pass (&p);
    progress_show (&p, 1000, 1200);
    ok (stands (fd, "pmm: 10 s, step 1000 of 1200 (about 2 s left)"),
        "then a line");
    progress_show (&p, 1001, 1200);
    ok (!*look (fd), "... not too often");
    let_pass (&p);
    progress_show (&p, 3, 40);
    ok (stands (fd, "pmm: 20 s, step 3 of 40"),
        "a shorter one takes its place, without an estimate");
    progress_hide (&p);
    ok (*look (fd) == '\r' && !strcmp (screen (seen), ""), "it is taken away");
    progress_hide (&p);
    ok (!*look (fd), "... once");
    let_pass (&p);
    progress_show (&p, 4, 40);
    ok (stands (fd, "pmm: 30 s, step 4 of 40 (about 6 min left)"),
        "it comes again");
    progress_end (&p);
    ok (*look (fd) == '\r' && !strcmp (screen (seen), ""), "and goes");
    let_pass (&p);
    progress_show (&p, 5, 40);
    progress_end (&p);
    ok (!*look (fd), "... for ever");
    p = progress_begin (fp, "pmm", "step");
    p.uneven = true;
    progress_show (&p, 1, 40);
    let_pass (&p);
    progress_show (&p, 2, 40);
    ok (stands (fd, "pmm: 10 s, step 2 of 40"), "uneven: no estimate");
    progress_end (&p);
    look (fd);
    for (int i = 0; i < 3; i++) {
        static const char *const terms[] = { "dumb", "", NULL };

        if (terms[i])
            setenv ("TERM", terms[i], 1);
        else
            unsetenv ("TERM");
        p = progress_begin (fp, "pmm", "step");
        let_pass (&p);
        progress_show (&p, 1, 2);
        ok (!*look (fd), "TERM %s: nothing", terms[i] ? terms[i] : "not set");
    }
    setenv ("TERM", "xterm", 1);
    fclose (fp);
    close (fd);
}

/* Whether the line is "pmm plan: 12 s, WHAT". */
static int is_of (const char *line, const char *what)
{
    const char *rest = strstr (line, " s, ");

    return !strncmp (line, "pmm plan: ", 10) && rest
           && !strcmp (rest + 4, what);
}

/* Wait until the screen has that. */
static int comes (int fd, const char *what)
{
    static char all[1 << 16];
    size_t len = 0;
    const char *line = NULL;

    all[0] = '\0';
    for (int i = 0; i < 1000; i++) {
        len += (size_t)snprintf (all + len, sizeof (all) - len, "%s",
                                 look (fd));
        line = len < sizeof (all) ? screen (all) : NULL;
        if (!line || is_of (line, what))
            break;
        usleep (100000);
    }
    return line && is_of (line, what);
}

/* The line of a program. */
static void test_program (void)
{
    int fd, saved = dup (STDERR_FILENO);
    FILE *fp = open_terminal (&fd);

    terminal_work ("nothing", 1, 2);
    terminal_clear ();
    dup2 (fileno (fp), STDERR_FILENO);
    terminal_start ("pmm plan");
    terminal_work ("following paths", 12, 40);
    ok (comes (fd, "following paths 12 of 40"), "a program: a line");
    terminal_work ("placing probes", 0, 0);
    ok (comes (fd, "placing probes"),
        "another thread draws, and without units there is no total");
    terminal_clear ();
    ok (!strcmp (screen (look (fd)), ""), "it goes before a message");
    terminal_work ("placing probes", 0, 0);
    ok (comes (fd, "placing probes"), "... and comes again");
    terminal_end ();
    look (fd);
    terminal_work ("placing probes", 0, 0);
    usleep (300000);
    ok (!*look (fd), "... and does not after the end");
    dup2 (saved, STDERR_FILENO);
    close (saved);
    fclose (fp);
    close (fd);
}

static void test_pipe (void)
{
    struct progress p;
    int fd[2];
    FILE *fp;

    if (pipe2 (fd, O_NONBLOCK) < 0 || !(fp = fdopen (fd[1], "w"))) {
        ok (0, "a pipe");
        return;
    }
    p = progress_begin (fp, "pmm", "step");
    let_pass (&p);
    progress_show (&p, 1, 2);
    progress_end (&p);
    ok (!*look (fd[0]), "nothing at all where there is no terminal");
    p = progress_relay (fp);
    progress_show (&p, 1, 2);
    ok (!*look (fd[0]), "for another to show: nothing in the first second");
    let_pass (&p);
    progress_show (&p, 1, 2);
    ok (!strcmp (look (fd[0]), "pmm-progress 1 2\n"), "... then a line");
    progress_show (&p, 2, 2);
    progress_end (&p);
    ok (!*look (fd[0]), "... and no other at the end");
    p = progress_begin (NULL, "pmm", "step");
    let_pass (&p);
    progress_show (&p, 1, 2);
    progress_end (&p);
    ok (1, "no stream is none to write to");
    fclose (fp);
    close (fd[0]);
}

static const struct {
    const char *line;
    int good;
    uint64_t done, total;
} lines[] = {
    { "pmm-progress 12 340", 1, 12, 340 },
    { "pmm-progress 0 0", 1, 0, 0 },
    { "pmm-progress 12", 0, 0, 0 },
    { "pmm-progress 12 ", 0, 0, 0 },
    { "pmm-progress  12 340", 0, 0, 0 },
    { "pmm-progress 12 340 ", 0, 0, 0 },
    { "pmm-progress -1 340", 0, 0, 0 },
    { "pmm-progress 12345678901234567890123456 1", 0, 0, 0 },
    { " pmm-progress 12 340", 0, 0, 0 },
    { "pmm: step 12 of 340", 0, 0, 0 },
    { "", 0, 0, 0 },
};

static void test_lines (void)
{
    for (size_t i = 0; i < sizeof (lines) / sizeof (lines[0]); i++) {
        uint64_t done = 0;
        uint64_t total = 0;
        int good = progress_parse (lines[i].line, &done, &total);

        ok (good == lines[i].good
                && (!good || (done == lines[i].done
                              && total == lines[i].total)),
            "'%s' %s", lines[i].line, good ? "is shown" : "is not one");
    }
}

int main (void)
{
    setenv ("TERM", "xterm", 1);
    test_terminal ();
    test_program ();
    test_pipe ();
    test_lines ();
    return done_testing ();
}
