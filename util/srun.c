/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What srun says. */
#include "config.h"
#include "util/srun.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* How well a line explains that there is no result: that others were ended, as
 * the step was, is a consequence.
 */
static int weigh (const char *line)
{
    static const struct {
        const char *part;
        int weight;
    } tab[] = {
        { " DUE TO ", 3 },
        { " CANCELLED AT ", 1 },
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

bool srun_hear (struct srun_words *words, const char *line)
{
    int weight;

    if (strncmp (line, "srun: ", 6) && strncmp (line, "salloc: ", 8)
        && strncmp (line, "slurm", 5))
        return false;
    words->cancelled |= strstr (line, " CANCELLED AT ") != NULL;
    weight = weigh (line);
    if (weight > words->weight) {
        words->weight = weight;
        snprintf (words->complaint, sizeof (words->complaint), "%s", line);
    }
    return true;
}

const char *srun_cause (const struct srun_words *words)
{
    static const struct {
        const char *part; /* of what Slurm says */
        const char *text;
    } known[] = {
        { "--mpi=list", "this Slurm has no PMIx (srun --mpi=list)" },
        { "plugin name for mpi/", "this Slurm has no PMIx (srun --mpi=list)" },
    };

    for (size_t i = 0; i < sizeof (known) / sizeof (known[0]); i++)
        if (strstr (words->complaint, known[i].part))
            return known[i].text;
    return NULL;
}
