/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What srun, or salloc, says on its standard error, as far as it explains why
 * there is no result.
 */
#ifndef UTIL_SRUN_H
#define UTIL_SRUN_H

#include <stdbool.h>

struct srun_words {
    char complaint[160]; /* that explains best; "" where there is none */
    int weight;          /* of it */
    bool cancelled;      /* the step or the job was */
    bool no_mpi;         /* Slurm has none of the type of its --mpi */
};

/* Hear a line, already cleaned. True if it is of Slurm, and not of what it
 * runs.
 */
bool srun_hear (struct srun_words *words, const char *line);

/* What a line of srun -v, not of what it runs, tells of nodes. */
enum srun_news {
    SRUN_NO_NEWS,
    SRUN_LAUNCHING, /* it has `task`, */
    SRUN_STARTED,   /* ... and answered, whether it could start that or not */
    SRUN_NO_LAUNCH, /* of `task`, where nodes is "" */
    SRUN_LOST,      /* they failed, or what ran on them, with a status */
};
struct srun_told {
    enum srun_news news;
    char nodes[256];    /* a list; "" where it is not said */
    unsigned int task;
    char why[128];
};
enum srun_news srun_tells (struct srun_told *told, const char *line);

/* Where the text of a line begins that srun --label has of a task, and *task;
 * NULL: it is of none. Tasks cannot write in front of that.
 */
char *srun_label (char *line, unsigned int *task);

#endif /* UTIL_SRUN_H */
