/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of a check in one file, for the tasks of the job: what came of it,
 * the verdict, and the latency of each pair. File: JSON, kind "result".
 *
 * Made by probe/lead, in the job and as its user: advice, nothing that anybody
 * else should believe.
 */
#ifndef PROBE_RESULT_H
#define PROBE_RESULT_H

#include <stdbool.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "core/paths/paths.h"
#include "core/samples/samples.h"
#include "util/error.h"

enum {
    RESULT_ENDS_MAX = 256, /* of more, only the pairs that were measured */
};

struct result {
    const char *sentence; /* what came of it */
    const struct verdict *verdict;
    const struct samples *samples;
    struct pathset *ps;
};

/* Write it. Pairs: all of which the samples tell the latency, by a solution;
 * of more than RESULT_ENDS_MAX endpoints, or where there is no solution, those
 * that were measured, by half the median of their round trips. Return 0, or -1
 * with err.
 */
int result_write (const struct result *r, FILE *fp, struct error *err);

/* Remove what an earlier check left at path, if it is a file. True if it was
 * one and is gone. A handler of signals may call it.
 */
bool result_drop (const char *path);

#endif /* PROBE_RESULT_H */
