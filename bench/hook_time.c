/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hook_time - how long a program runs, from fork to exit, and its memory.
 *
 *   hook_time FILE RUNS PROGRAM [ARGUMENT]...
 *
 * Appends a line to FILE with the ms of each run and the maximum KiB of memory,
 * and exits with the status of the last run, which is the first that is not 0. So
 * it can wrap a hook of slurmd.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Return the ms, or -1. */
static double run (char **argv, int *status, struct rusage *usage)
{
    double start = now_ms ();
    pid_t pid = fork ();

    if (pid == 0) {
        execv (argv[0], argv);
        _exit (127);
    }
    if (pid < 0 || wait4 (pid, status, 0, usage) < 0)
        return -1;
    return now_ms () - start;
}

int main (int argc, char **argv)
{
    FILE *fp = argc > 3 ? fopen (argv[1], "a") : NULL;
    long runs = argc > 3 ? strtol (argv[2], NULL, 10) : 0;
    int status = 0;

    if (!fp) {
        fprintf (stderr, "Usage: hook_time FILE RUNS PROGRAM "
                         "[ARGUMENT]...\n");
        return 2;
    }
    while (runs-- > 0 && status == 0) {
        struct rusage usage;
        double ms = run (argv + 3, &status, &usage);

        if (ms < 0) {
            perror (argv[3]);
            return 1;
        }
        fprintf (fp, "%.3f %ld\n", ms, usage.ru_maxrss);
    }
    if (fclose (fp) == EOF) {
        perror (argv[1]);
        return 1;
    }
    return WIFEXITED (status) ? WEXITSTATUS (status) : 128;
}
