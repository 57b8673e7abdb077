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

#include "tests/ahead.h"
#include "tests/tap.h"

enum { LONG_MS = 60000, MUCH = 3 << 20, LINES = 1 << 17 };

static struct error err;

struct said {
    char *text[3];
    int number;
};

static int words (const void *arg, void *answer, struct error *e)
{
    (void)e;
    *(struct said *)answer = (struct said){
        { child_text (arg), child_text (""), child_text ("d\xe9j\xe0 vu") }, 42,
    };
    return 0;
}

static int much (const void *arg, void *answer, struct error *e)
{
    struct said *said = answer;

    (void)arg;
    (void)e;
    said->text[0] = child_alloc (MUCH, 1);
    said->number = said->text[0][MUCH - 1];
    memset (said->text[0], 'x', MUCH - 1);
    return 0;
}

static int too_much (const void *arg, void *answer, struct error *e)
{
    (void)arg;
    (void)answer;
    (void)e;
    child_alloc (CHILD_OUT_MAX / MUCH - 1, MUCH);
    child_alloc (2, MUCH);
    return 0;
}

static int nothing (const void *arg, void *answer, struct error *e)
{
    (void)arg;
    (void)answer;
    (void)e;
    return 0;
}

static int bad_input (const void *arg, void *answer, struct error *e)
{
    (void)answer;
    return error_input (e, "bad %s", (const char *)arg);
}

static int bad_world (const void *arg, void *answer, struct error *e)
{
    (void)answer;
    return error_world (e, "no %s", (const char *)arg);
}

/* As Slurm's library where it finds no slurm.conf. */
static int fatal (const void *arg, void *answer, struct error *e)
{
    (void)answer;
    (void)e;
    for (int i = 0; i < LINES; i++)
        fputs ("chatter\n", stderr);
    fprintf (stderr, "fatal: %s\033\n", (const char *)arg);
    exit (1);
}

static int quits (const void *arg, void *answer, struct error *e)
{
    (void)arg;
    (void)answer;
    (void)e;
    _exit (7);
}

static int crashes (const void *arg, void *answer, struct error *e)
{
    (void)arg;
    (void)answer;
    (void)e;
    raise (SIGKILL);
    return 0;
}

static int hangs (const void *arg, void *answer, struct error *e)
{
    (void)arg;
    (void)answer;
    (void)e;
    fprintf (stderr, "retrying\n");
    signal (SIGTERM, SIG_IGN);
    do
        ahead (LONG_MS / 1000); /* it is not waited for */
    while (usleep (100000) == 0);
    return 0;
}

/* Says its open files, and what of SIGPIPE and SIGTERM is not as it was. */
static int surroundings (const void *arg, void *answer, struct error *e)
{
    struct sigaction pipe, term;
    char *text = child_alloc (1024, 1);
    sigset_t mask;

    (void)e;
    (void)arg;
    for (int fd = 0; fd < 256; fd++)
        if (fcntl (fd, F_GETFD) >= 0)
            sprintf (text + strlen (text), "%d ", fd);
    sigaction (SIGPIPE, NULL, &pipe);
    sigaction (SIGTERM, NULL, &term);
    sigprocmask (SIG_SETMASK, NULL, &mask);
    sprintf (text + strlen (text), "%d %d %d", pipe.sa_handler == SIG_DFL,
             term.sa_handler == SIG_DFL, sigismember (&mask, SIGTERM));
    ((struct said *)answer)->text[0] = text;
    return 0;
}

static const struct {
    const char *what;
    child_f fn;
    enum error_fault fault;
    const char *text;
} failures[] = {
    { "its own error", bad_input, ERROR_INPUT, "bad file" },
    { "the world's", bad_world, ERROR_WORLD, "no file" },
    { "it ends the process: the last line it said", fatal, ERROR_WORLD,
      "fatal: file?" },
    { "it ends without a word", quits, ERROR_WORLD, "ended with status 7" },
    { "it is killed", crashes, ERROR_WORLD, "ended by signal 9" },
    { "its answer is too large", too_much, ERROR_WORLD,
      "its result has more than 268435456 bytes" },
    { "it hangs", hangs, ERROR_WORLD, "no answer in 60 s: retrying" },
};

static void test_failures (void)
{
    for (size_t i = 0; i < sizeof (failures) / sizeof (failures[0]); i++) {
        ok (child_try (failures[i].fn, "file", LONG_MS, &err) < 0
                && err.fault == failures[i].fault
                && !strcmp (err.text, failures[i].text),
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
    struct said *out;
    int fd = open ("/dev/null", O_RDONLY);

    signal (SIGPIPE, SIG_IGN);
    signal (SIGTERM, handler);
    sigemptyset (&block);
    sigaddset (&block, SIGTERM);
    sigprocmask (SIG_BLOCK, &block, &old);
    out = child_call (surroundings, NULL, sizeof (*out), LONG_MS, &err);
    ok (out != NULL, "a call with a file open and signals blocked");
    ok (out && !strcmp (out->text[0], "0 1 2 1 1 0"), "it has neither: %s",
        out ? out->text[0] : err.text);
    child_free (out);
    sigprocmask (SIG_SETMASK, &old, NULL);
    signal (SIGTERM, SIG_DFL);
    signal (SIGPIPE, SIG_DFL);
    close (fd);
}

int main (void)
{
    char clock[] = "/tmp/pmm-child.XXXXXX";
    int fd = mkstemp (clock);
    struct said *out;

    if (fd < 0)
        return 1;
    close (fd);
    ahead_open (clock);
    out = child_call (words, "a word", sizeof (*out), LONG_MS, &err);
    ok (out && !strcmp (out->text[0], "a word") && !out->text[1]
            && out->number == 42,
        "strings and a number");
    ok (out && !strcmp (out->text[2], "d?j? vu"), "one that is not UTF-8");
    child_free (out);
    ok (child_try (nothing, NULL, LONG_MS, &err) == 0,
        "no answer is one, too");
    out = child_call (much, NULL, sizeof (*out), LONG_MS, &err);
    ok (out && strlen (out->text[0]) == MUCH - 1 && out->number == 0,
        "more than a pipe holds, which was zero");
    child_free (out);
    test_failures ();
    test_surroundings ();
    unlink (clock);
    return done_testing ();
}
