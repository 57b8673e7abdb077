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
};

/* Hear a line, already cleaned. True if it is of Slurm, and not of what it
 * runs.
 */
bool srun_hear (struct srun_words *words, const char *line);

/* A complaint that needs no more words than ours; NULL: none is known. */
const char *srun_cause (const struct srun_words *words);

#endif /* UTIL_SRUN_H */
