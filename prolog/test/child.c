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

static json_t *words (const void *arg, struct error *e)
{
    (void)e;
    return json_pack ("[o, o, o, I]", child_text (arg), child_text (""),
                      child_text ("d\xe9j\xe0 vu"), (json_int_t)42);
}

static json_t *much (const void *arg, struct error *e)
{
    char *text = malloc (MUCH);

    (void)arg;
    (void)e;
    memset (text, 'x', MUCH);
    return json_stringn (text, MUCH);
}

static json_t *nothing (const void *arg, struct error *e)
{
    (void)arg;
    (void)e;
    return json_null ();
}

static json_t *bad_input (const void *arg, struct error *e)
{
    error_input (e, "bad %s", (const char *)arg);
    return NULL;
}

static json_t *bad_world (const void *arg, struct error *e)
{
    error_world (e, "no %s", (const char *)arg);
    return NULL;
}

/* As Slurm's library where it finds no slurm.conf. */
static json_t *fatal (const void *arg, struct error *e)
{
    (void)e;
    for (int i = 0; i < LINES; i++)
        fputs ("chatter\n", stderr);
    fprintf (stderr, "fatal: %s\033\n", (const char *)arg);
    exit (1);
}

static json_t *quits (const void *arg, struct error *e)
{
    (void)arg;
    (void)e;
    _exit (7);
}

static json_t *crashes (const void *arg, struct error *e)
{
    (void)arg;
    (void)e;
    raise (SIGKILL);
    return NULL;
}

static json_t *hangs (const void *arg, struct error *e)
{
    (void)arg;
    (void)e;
    fprintf (stderr, "retrying\n");
    signal (SIGTERM, SIG_IGN);
    do
        ahead (LONG_MS / 1000); /* it is not waited for */
    while (usleep (100000) == 0);
    return NULL;
}

/* Says its open files, and what of SIGPIPE and SIGTERM is not as it was. */
static json_t *surroundings (const void *arg, struct error *e)
{
    struct sigaction pipe, term;
    char text[1024] = "";
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
    return json_string (text);
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
    { "it hangs", hangs, ERROR_WORLD, "no answer in 60 s: retrying" },
};

static void test_failures (void)
{
    for (size_t i = 0; i < sizeof (failures) / sizeof (failures[0]); i++) {
        ok (!child_call (failures[i].fn, "file", LONG_MS, &err)
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
    json_t *out;
    int fd = open ("/dev/null", O_RDONLY);

    signal (SIGPIPE, SIG_IGN);
    signal (SIGTERM, handler);
    sigemptyset (&block);
    sigaddset (&block, SIGTERM);
    sigprocmask (SIG_BLOCK, &block, &old);
    out = child_call (surroundings, NULL, LONG_MS, &err);
    ok (out != NULL, "a call with a file open and signals blocked");
    ok (out && !strcmp (json_string_value (out), "0 1 2 1 1 0"),
        "it has neither: %s", json_string_value (out));
    json_decref (out);
    sigprocmask (SIG_SETMASK, &old, NULL);
    signal (SIGTERM, SIG_DFL);
    signal (SIGPIPE, SIG_DFL);
    close (fd);
}

int main (void)
{
    char clock[] = "/tmp/pmm-child.XXXXXX";
    int fd = mkstemp (clock);
    json_t *out;

    if (fd < 0)
        return 1;
    close (fd);
    ahead_open (clock);
    out = child_call (words, "a word", LONG_MS, &err);
    ok (out && !strcmp (json_string_value (json_array_get (out, 0)), "a word")
            && json_is_null (json_array_get (out, 1))
            && json_integer_value (json_array_get (out, 3)) == 42,
        "strings and a number");
    ok (out && !strcmp (json_string_value (json_array_get (out, 2)),
                        "d?j? vu"), "one that is not UTF-8");
    json_decref (out);
    out = child_call (nothing, NULL, LONG_MS, &err);
    ok (json_is_null (out), "no answer is one, too");
    out = child_call (much, NULL, LONG_MS, &err);
    ok (json_string_length (out) == MUCH, "more than a pipe holds");
    json_decref (out);
    test_failures ();
    test_surroundings ();
    unlink (clock);
    return done_testing ();
}
