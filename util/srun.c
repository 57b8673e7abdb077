/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/srun.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/text.h"

enum { GENERATIONS = 8 };

void srun_environment (struct program_words *env)
{
    static const char *const where[] = { "SLURM_CONF", "SLURM_CONF_SERVER",
                                         "SLURM_SACK_SOCKET" };

    program_add (env, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    program_add (env, "LC_ALL=C");
    for (size_t i = 0; i < sizeof (where) / sizeof (where[0]); i++) {
        const char *value = getenv (where[i]);

        if (value && (*value == '/' || !strcmp (where[i], "SLURM_CONF_SERVER")))
            program_add (env, "%s=%.*s", where[i], PATH_MAX, value);
    }
}

void srun_mark_nested (struct program_words *env)
{
    program_add (env, SRUN_NESTED "=%ld", (long)getpid ());
}

/* The parent of a process; 0: not known. */
static uint64_t parent_of (uint64_t pid)
{
    char path[64], stat[512];
    uint64_t parent = 0;
    const char *end;
    FILE *fp;

    snprintf (path, sizeof (path), "/proc/%" PRIu64 "/stat", pid);
    if (!(fp = fopen (path, "re")))
        return 0;
    /* PID (NAME) STATE PARENT ...; a name may have anything in it */
    if (fgets (stat, sizeof (stat), fp) && (end = strrchr (stat, ')')))
        sscanf (end + 1, " %*c %" SCNu64, &parent);
    fclose (fp);
    return parent;
}

bool srun_is_nested (void)
{
    const char *value = getenv (SRUN_NESTED);
    uint64_t by, pid = (uint64_t)getppid ();

    if (!value || text_u64 (value, 2, INT32_MAX, &by) < 0)
        return false;
    for (int i = 0; i < GENERATIONS && pid > 1 && pid != by; i++)
        pid = parent_of (pid);
    return pid == by;
}

/* How well a line explains why there is no result: 0 (not at all) to 3. A line
 * that says that tasks were ended is only a consequence; a plugin that cannot be
 * loaded is said at each srun, and if it is required, more is.
 */
static int srun_line_weight (const char *line)
{
    static const struct {
        const char *part;
        int weight;
    } tab[] = {
        { ": dlopen(", 0 },
        { "plugin_load_from_file: ", 0 },
        { ": Dlopen of plugin file failed", 0 },
        { " DUE TO TASK FAILURE", 1 }, /* since 25.05 */
        { " DUE TO ", 3 },
        { "IO: Hey, you told me node ", 0 }, /* one that failed is back */
        { " CANCELLED AT ", 1 },
        { "Timed out waiting for job step to complete", 1 },
        { ": Terminated", 1 },
        { ": Killed", 1 },
        { ": Exited with exit code ", 2 },
    };

    if (!strstr (line, "error: "))
        return 0;
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (strstr (line, tab[i].part))
            return tab[i].weight;
    return 3;
}

/* True if the line is from Slurm. slurmstepd's lines start with its name up to
 * 24.11, and with the time since 25.05.
 */
static bool is_slurms (const char *line)
{
    static const char *const begin[] = { "srun: ", "salloc: ", "slurm" };
    int end = -1;

    for (size_t i = 0; i < sizeof (begin) / sizeof (begin[0]); i++)
        if (!strncmp (line, begin[i], strlen (begin[i])))
            return true;
    sscanf (line, "[%*4u-%*2u-%*2uT%*2u:%*2u:%*2u.%*3u] %n", &end);
    return end > 0;
}

bool srun_hear (struct srun_words *words, const char *line)
{
    /* there is no plugin for --mpi, in the words of any release */
    static const char *const no_mpi[] = {
        "--mpi=list",
        " plugin name for mpi/",
        " create context for mpi/",
        "Invalid MPI plugin name",
    };
    int weight;

    if (!is_slurms (line))
        return false;
    words->cancelled |= strstr (line, " CANCELLED AT ")
                        && !strstr (line, " DUE TO TASK FAILURE");
    for (size_t i = 0; i < sizeof (no_mpi) / sizeof (no_mpi[0]); i++)
        words->no_mpi |= strstr (line, no_mpi[i]) != NULL;
    words->no_launch |= strstr (line, " launch failed: ") != NULL;
    weight = srun_line_weight (line);
    if (weight > words->weight) {
        words->weight = weight;
        snprintf (words->complaint, sizeof (words->complaint), "%s", line);
    }
    return true;
}

enum srun_news srun_tells (struct srun_told *told, const char *line)
{
    static const struct {
        const char *format; /* nodes, then a task; or a task alone */
        enum srun_news news;
        bool task_alone;
        const char *why;    /* put before the text after the format */
    } tab[] = {
        { "srun: launching %*s on host %255[^ ,:], 1 tasks: %9u%n",
          SRUN_LAUNCHING, false, "" },
        { "srun: %*[^N]Node %255[^ ,], %*u tasks started%n", SRUN_STARTED,
          false, "" },
        { "srun: Node %255[^ ,], %*u tasks started%n", SRUN_STARTED, false,
          "" },
        { "srun: error: Task launch for %*s failed on node %255[^ :]: %n",
          SRUN_NO_LAUNCH, false, "task launch failed: " },
        { "srun: error: task %9u launch failed: %n", SRUN_NO_LAUNCH, true,
          "task launch failed: " },
        { "srun: error: %255[^ :]: task%*[^:]: Exited with exit code %n",
          SRUN_LOST, false, "the probe ended with exit code " },
        { "srun: error: Node failure on %255[^ :]%n", SRUN_LOST, false,
          "node failure" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int end = -1;

        *told = (struct srun_told){ .news = tab[i].news };
        if (tab[i].task_alone)
            sscanf (line, tab[i].format, &told->task, &end);
        else if (tab[i].news == SRUN_LAUNCHING)
            sscanf (line, tab[i].format, told->nodes, &told->task, &end);
        else
            sscanf (line, tab[i].format, told->nodes, &end);
        if (end < 0)
            continue;
        snprintf (told->why, sizeof (told->why), "%s%s", tab[i].why,
                  line + end);
        return told->news;
    }
    *told = (struct srun_told){ .news = SRUN_NO_NEWS };
    return SRUN_NO_NEWS;
}

char *srun_label (char *line, unsigned int *task)
{
    char *digits = line + strspn (line, " ");
    size_t len = strspn (digits, "0123456789");

    if (len < 1 || len > 9 || strncmp (digits + len, ": ", 2))
        return NULL;
    *task = (unsigned int)strtoul (digits, NULL, 10);
    return digits + len + 2;
}
