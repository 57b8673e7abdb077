/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/pool.h"

static void count_end (void *guest)
{
    ++*(int *)guest;
}

/* Ask for more than there is, in a child. Return its exit status; what it wrote
 * is in said.
 */
static int exhaust (char *said, size_t size)
{
    int fd[2];
    int status = -1;
    ssize_t n;
    pid_t pid;

    if (pipe (fd) < 0 || (pid = fork ()) < 0)
        return -1;
    if (pid == 0) {
        dup2 (fd[1], STDERR_FILENO);
        close (fd[0]);
        close (fd[1]);
        free (xarray (SIZE_MAX / 2, 4));
        _exit (0);
    }
    close (fd[1]);
    n = read (fd[0], said, size - 1);
    said[n > 0 ? n : 0] = '\0';
    close (fd[0]);
    waitpid (pid, &status, 0);
    return WIFEXITED (status) ? WEXITSTATUS (status) : -1;
}

int main (void)
{
    struct pool *p = pool_create ();
    char said[128];
    int ended = 0;
    int *v = xcalloc (3, sizeof (*v));
    char *text;

    ok (v[0] == 0 && v[2] == 0, "what xcalloc returns is zero");
    v[2] = 7;
    v = xrealloc (v, 1000, sizeof (*v));
    ok (v[2] == 7, "xrealloc keeps what there was");
    free (v);
    v = xarray (0, sizeof (*v));
    ok (v != NULL, "no elements are room, too");
    free (v);
    text = xasprintf ("%d %s", 3, "links");
    ok (!strcmp (text, "3 links"), "xasprintf formats");
    xappend (&text, " of %s", "h1");
    ok (!strcmp (text, "3 links of h1"), "xappend appends");
    free (text);
    ok (!strcmp (pool_printf (p, "%d %s", 3, "links"), "3 links"),
        "so does pool_printf");
    ok (pool_keep (p, &ended, count_end) == &ended && ended == 0,
        "a pool keeps what was made elsewhere");
    pool_destroy (p);
    ok (ended == 1, "... until its own end");
#ifdef __SANITIZE_ADDRESS__
    skip ("the address sanitizer ends a program that asks for too much");
    (void)exhaust;
    (void)said;
#else
    ok (exhaust (said, sizeof (said)) == 3,
        "a program that asks for more than there is ends with status 3");
    ok (strstr (said, ": out of memory\n") != NULL, "and says so: %s", said);
#endif
    return done_testing ();
}
