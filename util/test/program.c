/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that end, hang, heed no signal, or leave others behind. */
#include "config.h"
#include "util/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ahead.h"
#include "tests/tap.h"
#include "util/clock.h"

/* To be waited for no longer, whatever one waits for. */
#define ENDLESSLY "while :; do sleep .1; printf %9s >>clock; done"

struct heard {
    char text[PROGRAM_STREAMS][4096];
    bool cut;
};

static void hear (void *arg, struct program_line *line,
                  enum program_stream from)
{
    struct heard *h = arg;

    h->cut |= line->cut;
    if (strlen (h->text[from]) + line->len + 2 < sizeof (h->text[from]))
        strcat (strcat (h->text[from], line->text), "|");
}

static void hear_out (void *arg, struct program_line *line)
{
    hear (arg, line, PROGRAM_OUT);
}

static void hear_err (void *arg, struct program_line *line)
{
    hear (arg, line, PROGRAM_ERR);
}

static bool is_done (void *arg)
{
    struct heard *h = arg;

    return strstr (h->text[PROGRAM_OUT], "done|") != NULL;
}

static volatile sig_atomic_t stop;

static enum program_end run (struct heard *h, const char *script, int ms,
                             int *status)
{
    char *argv[] = { "/bin/sh", "-c", (char *)script, NULL };
    char *env[] = { "PATH=/usr/bin:/bin", NULL };
    struct program program = { .argv = argv, .env = env,
                           .deadline_ms = clock_ms () + ms,
                           .stop = &stop, .take = { hear_out, hear_err },
                           .done = is_done, .arg = h };

    memset (h, 0, sizeof (*h));
    return program_run (&program, status);
}

static void test_ends (void)
{
    static const struct {
        const char *script;
        int ms;
        enum program_end end;
        int code, sig; /* that ended it */
        const char *out, *err;
    } tab[] = {
        { "echo a; echo b >&2; exit 7", 99999, PROGRAM_ENDED, 7, 0, "a|",
          "b|" },
        { "env", 99999, PROGRAM_ENDED, 0, 0, "PATH=/usr/bin:/bin|PWD=", "" },
        { "cat; ls /proc/self/fd | wc -l", 99999, PROGRAM_ENDED, 0, 0, "4|",
          "" },
        { "exec sleep 100", 100, PROGRAM_TIMED_OUT, 0, SIGTERM, "", "" },
        /* what holds its output open does not hold us */
        { "sleep 100 & echo x", 99999, PROGRAM_ENDED, 0, 0, "x|", "" },
        /* done is left some seconds */
        { "echo done; " ENDLESSLY, 99999, PROGRAM_TIMED_OUT, 0, SIGTERM,
          "done|", "" },
        { "trap '' TERM; echo done; " ENDLESSLY, 99999, PROGRAM_TIMED_OUT, 0,
          SIGKILL, "done|", "" },
    };
    struct heard h;
    int status;

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        enum program_end end = run (&h, tab[i].script, tab[i].ms, &status);

        ok (end == tab[i].end
                && (tab[i].sig ? WIFSIGNALED (status)
                                     && WTERMSIG (status) == tab[i].sig
                               : WIFEXITED (status)
                                     && WEXITSTATUS (status) == tab[i].code),
            "%s: ends as it should", tab[i].script);
        ok (!strncmp (h.text[PROGRAM_OUT], tab[i].out, strlen (tab[i].out))
                && !strcmp (h.text[PROGRAM_ERR], tab[i].err),
            "... and is heard");
    }
}

static void test_stop (void)
{
    struct heard h;
    int status;

    stop = 1;
    ok (run (&h, "exec sleep 100", 99999, &status) == PROGRAM_STOPPED
            && WIFSIGNALED (status),
        "it is stopped");
    stop = 0;
}

static void test_much (void)
{
    struct heard h;
    int status;

    ok (run (&h, "head -c 3000000 /dev/zero; echo; echo done", 99999, &status)
                == PROGRAM_ENDED
            && !strcmp (h.text[PROGRAM_OUT], "|done|") && h.cut,
        "of much that is one line, the rest is dropped");
    ok (run (&h, "echo a; printf b", 99999, &status) == PROGRAM_ENDED
            && !strcmp (h.text[PROGRAM_OUT], "a|b|") && h.cut,
        "a line that the end cuts is marked");
}

static void test_nothing (void)
{
    struct heard h;
    char *none[] = { "/nowhere/program", NULL };
    struct program program = { .argv = none, .env = none + 1,
                           .deadline_ms = clock_ms () + 99999,
                           .take = { hear_out, hear_err },
                           .done = is_done, .arg = &h };
    int status;

    memset (&h, 0, sizeof (h));
    ok (program_run (&program, &status) == PROGRAM_ENDED && WIFEXITED (status)
            && WEXITSTATUS (status) == 127,
        "no such program: 127");
}

/* What ended at its deadline leaves nothing of its group: orphans are ours
 * here.
 */
static void test_group (void)
{
    struct heard h;
    int status;
    pid_t pid;

    prctl (PR_SET_CHILD_SUBREAPER, 1);
    run (&h, "sleep 100 & echo $!; echo done; " ENDLESSLY, 99999, &status);
    pid = (pid_t)atoi (h.text[PROGRAM_OUT]);
    ok (pid > 1 && waitpid (pid, &status, 0) == pid && WIFSIGNALED (status)
            && WTERMSIG (status) == SIGKILL,
        "nothing is left of its group");
}

int main (void)
{
    char dir[] = "/tmp/pmm-program.XXXXXX";
    int fd = open ("/dev/null", O_RDONLY); /* inherited by nobody */

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    ahead_open ("clock");
    test_ends ();
    test_stop ();
    test_much ();
    test_nothing ();
    test_group ();
    close (fd);
    if (unlink ("clock") < 0 || chdir ("/") < 0 || rmdir (dir) < 0)
        return 1;
    return done_testing ();
}
