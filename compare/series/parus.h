/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as the text matrices of PARUS: one file for each of four statistics,
 * with the lines
 *
 *   processors N
 *   test type "one_to_one"
 *   data type "average"
 *   begin message length B
 *   end message length E
 *   step length S
 *   noise message length, number of noise messages, number of noise
 *   processes, number of repeats, with a number each
 *
 *   hosts:
 *   N labels, one per line
 *
 * and for each length an empty line, "Message length L" and N lines of N times
 * in seconds: row a, column b is the time that a measured with b. Lengths are
 * B, B + S, ... below E; if the steps are not equal, S is 0.
 */
#ifndef COMPARE_PARUS_H
#define COMPARE_PARUS_H

#include <stdio.h>

#include "compare/series/series.h"
#include "util/error.h"

enum { PARUS_FILES = 4 };

#define PARUS_START "processors " /* the first line of each file */

/* The files of a run: the name of their data type (also the end of the file
 * name, PREFIX_average.txt), its name in other programs, and the statistic that
 * the file holds.
 */
extern const struct parus_file {
    const char *name, *also;
    enum series_stat stat;
} parus_files[PARUS_FILES];

/* Write one of them. Pairs that were not measured are "NaN"; the time of a
 * process with itself is 0 if it was not part of the test. A series that has
 * only topologies is an error. Return 0, or -1 with err.
 */
int parus_write (const struct series *s, const struct parus_file *file,
                 FILE *fp, struct error *err);

/* Read any of them, also those that PARUS wrote ("number of repeates", 0 for
 * pairs that were not measured): a sorted series that has only that statistic.
 * NULL with err ("NAME:LINE: sentence").
 */
struct series *parus_read (FILE *fp, const char *name, struct error *err);

#endif /* COMPARE_PARUS_H */
