/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start srun with an environment of its own; interpret the standard error of
 * srun or salloc: why there is no result, and the state of nodes.
 */
#ifndef UTIL_SRUN_H
#define UTIL_SRUN_H

#include <stdbool.h>

#include "util/program.h"

/* A new environment for it, or for a program of the site's: of ours, only the
 * variables that lead to slurmctld, and those as absolute paths.
 */
void srun_environment (struct program_words *env);

/* Mark the step as one of ours, in which the plugin does not check: by our
 * process, of which its srun will be a descendant. And whether this process is
 * such an srun: others' marks are none.
 */
#define SRUN_NESTED "PMM_CHECK_NESTED"
void srun_mark_nested (struct program_words *env);
bool srun_is_nested (void);

struct srun_words {
    char complaint[160]; /* the best explanation; "" if none */
    int weight;          /* of complaint */
    bool cancelled;      /* the step or the job was cancelled */
    bool no_mpi;         /* Slurm does not have the type given by --mpi */
    bool no_launch;      /* a node could not start its task, as where PMIx
                            cannot make its directory */
};

/* Take a line, already cleaned. True if it is from Slurm and not from the
 * program that it runs.
 */
bool srun_hear (struct srun_words *words, const char *line);

/* What a line of srun -v itself tells about nodes. */
enum srun_news {
    SRUN_NO_NEWS,
    SRUN_LAUNCHING, /* `task` is launched on the node */
    SRUN_STARTED,   /* the node answered, even if it could not start it */
    SRUN_NO_LAUNCH, /* the launch failed: of `task` if nodes is "" */
    SRUN_LOST,      /* the nodes failed, or the program on them did */
};
struct srun_told {
    enum srun_news news;
    char nodes[256];    /* a list; "" if the line has none */
    unsigned int task;
    char why[128];
};
enum srun_news srun_tells (struct srun_told *told, const char *line);

/* Return where the text begins in a line of a task under srun --label, and set
 * *task. NULL if the line is not from a task. Tasks cannot forge the label.
 */
char *srun_label (char *line, unsigned int *task);

#endif /* UTIL_SRUN_H */
