/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pairs of a solution ("pmm solve --pairs") as a series, to be set beside
 * measured ones.
 */
#ifndef COMPARE_SOLVED_H
#define COMPARE_SOLVED_H

#include <jansson.h>

#include "compare/series/series.h"
#include "util/error.h"

/* A series of length 0 with half of each RTT, from either side: it stands for
 * whichever quantile the solution was made of, so that all of them and the
 * mean are the same. What is not determined is not there. Processes are the
 * endpoints in order of their names. The series is not sorted yet. NULL with
 * err: a file of another form, or without pairs.
 */
struct series *solved_series (const json_t *solution, struct error *err);

#endif /* COMPARE_SOLVED_H */
