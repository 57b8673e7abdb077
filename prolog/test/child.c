/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child: what it finds comes back, whatever becomes of it. */
#include "config.h"
#include "prolog/slurm/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

enum { LONG_MS = 60000, SHORT_MS = 1000, MUCH = 3 << 20 };

static struct error err;

static int echo (FILE *out, const void *arg, struct error *e)
{
    (void)e;
    child_put (out, arg);
    return 0;
}

static int words (FILE *out, const void *arg, struct error *e)
{
    (void)e;
    child_put (out, arg);
    child_put (out, NULL);
    child_put_number (out, 42);
    return 0;
}

static int much (FILE *out, const void *arg, struct error *e)
{
    (void)arg;
    (void)e;
    for (int i = 0; i < MUCH; i++)
        putc ('x', out);
    return 0;
}

static int nothing (FILE *out, const void *arg, struct error *e)
{
    (void)out;
    (void)arg;
    (void)e;
    return 0;
}

static int bad_input (FILE *out, const void *arg, struct error *e)
{
    fputs ("half of a result", out);
    return error_input (e, "bad %s", (const char *)arg);
}

static int bad_world (FILE *out, const void *arg, struct error *e)
{
    (void)out;
    return error_world (e, "no %s", (const char *)arg);
}

/* As Slurm's library where it finds no slurm.conf. */
static int fatal (FILE *out, const void *arg, struct error *e)
{
    (void)out;
    (void)e;
    for (int i = 0; i < MUCH; i++)
        fputs ("chatter\n", stderr);
    fprintf (stderr, "fatal: %s\033\n", (const char *)arg);
    exit (1);
}

static int quits (FILE *out, const void *arg, struct error *e)
{
    (void)out;
    (void)arg;
    (void)e;
    _exit (7);
}

static int crashes (FILE *out, const void *arg, struct error *e)
{
    (void)out;
    (void)arg;
    (void)e;
    raise (SIGKILL);
    return 0;
}

static int hangs (FILE *out, const void *arg, struct error *e)
{
    (void)out;
    (void)arg;
    (void)e;
    fprintf (stderr, "retrying\n");
    signal (SIGTERM, SIG_IGN);
    while (pause () < 0)
        ;
    return 0;
}

/* Says its open files, and what of SIGPIPE and SIGTERM is not as it was. */
static int surroundings (FILE *out, const void *arg, struct error *e)
{
    struct sigaction pipe, term;
    sigset_t mask;

    (void)e;
    (void)arg;
    for (int fd = 0; fd < 256; fd++)
        if (fcntl (fd, F_GETFD) >= 0)
            fprintf (out, "%d ", fd);
    sigaction (SIGPIPE, NULL, &pipe);
    sigaction (SIGTERM, NULL, &term);
    sigprocmask (SIG_SETMASK, NULL, &mask);
    fprintf (out, "%d %d %d", pipe.sa_handler == SIG_DFL,
             term.sa_handler == SIG_DFL, sigismember (&mask, SIGTERM));
    return 0;
}

static const struct {
    const char *what;
    child_f fn;
    int timeout_ms;
    enum error_fault fault;
    const char *text;
} failures[] = {
    { "its own error", bad_input, LONG_MS, ERROR_INPUT, "bad file" },
    { "the world's", bad_world, LONG_MS, ERROR_WORLD, "no file" },
    { "it ends the process: the last line it said", fatal, LONG_MS,
      ERROR_WORLD, "fatal: file?" },
    { "it ends without a word", quits, LONG_MS, ERROR_WORLD,
      "ended with status 7" },
    { "it is killed", crashes, LONG_MS, ERROR_WORLD, "ended by signal 9" },
    { "it hangs", hangs, SHORT_MS, ERROR_WORLD,
      "no answer in 1 s: retrying" },
};

static void test_failures (void)
{
    for (size_t i = 0; i < sizeof (failures) / sizeof (failures[0]); i++) {
        struct child_answer out = { .text = "untouched" };
        int rc = child_call (failures[i].fn, "file", failures[i].timeout_ms,
                             &out, &err);

        ok (rc < 0 && err.fault == failures[i].fault
                && !strcmp (err.text, failures[i].text)
                && !strcmp (out.text, "untouched"),
            "%s: %s", failures[i].what, err.text);
    }
    ok (waitpid (-1, NULL, WNOHANG) < 0 && errno == ECHILD,
        "no child is left");
}

static void handler (int sig)
{
    (void)sig;
}

static void test_surroundings (void)
{
    sigset_t block, old;
    struct child_answer out;
    int fd = open ("/dev/null", O_RDONLY);

    signal (SIGPIPE, SIG_IGN);
    signal (SIGTERM, handler);
    sigemptyset (&block);
    sigaddset (&block, SIGTERM);
    sigprocmask (SIG_BLOCK, &block, &old);
    if (ok (child_call (surroundings, NULL, LONG_MS, &out, &err) == 0,
            "a call with a file open and signals blocked")) {
        ok (!strcmp (out.text, "0 1 2 3 1 1 0"), "it has neither: %s",
            out.text);
        child_clear (&out);
    }
    sigprocmask (SIG_SETMASK, &old, NULL);
    signal (SIGTERM, SIG_DFL);
    signal (SIGPIPE, SIG_DFL);
    close (fd);
}

int main (void)
{
    struct child_answer out;

    if (ok (child_call (echo, "words", LONG_MS, &out, &err) == 0,
            "a result")) {
        ok (out.len == 6 && !memcmp (out.text, "words\0", 7), "to the byte");
        child_clear (&out);
    }
    if (ok (child_call (words, "a word", LONG_MS, &out, &err) == 0,
            "strings and a number")) {
        ok (out.n == 3 && !strcmp (out.v[0], "a word") && !*out.v[1]
                && child_number (&out, 2) == 42,
            "are told one after another");
        child_clear (&out);
    }
    if (ok (child_call (nothing, NULL, LONG_MS, &out, &err) == 0,
            "none")) {
        ok (out.len == 0 && !out.text[0], "is an empty one");
        child_clear (&out);
    }
    if (ok (child_call (much, NULL, LONG_MS, &out, &err) == 0,
            "more than a pipe holds")) {
        ok (out.len == MUCH && strlen (out.text) == MUCH, "is all there");
        child_clear (&out);
    }
    test_failures ();
    test_surroundings ();
    return done_testing ();
}
