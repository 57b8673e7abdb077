/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as the text matrices of PARUS: a file of matrices for each of four
 * statistics, with the lines
 *
 *   processors N
 *   test type "one_to_one"
 *   data type "average"
 *   begin message length B
 *   end message length E
 *   step length S
 *   noise message length, number of noise messages, number of noise
 *   processes, number of repeats, a number each
 *
 *   hosts:
 *   a label a line, N of them
 *
 * and for each length an empty line, "Message length L" and N lines of N
 * times in seconds: row a, column b is what a measured with b. Lengths are B,
 * B + S, ... below E; where they are not in even steps S is 0.
 */
#ifndef COMPARE_PARUS_H
#define COMPARE_PARUS_H

#include <stdio.h>

#include "compare/series/series.h"
#include "util/error.h"

enum { PARUS_FILES = 4 };

#define PARUS_START "processors " /* of each of them */

/* The files of a run: what their data type is called (also the end of the
 * file's name, PREFIX_average.txt), and elsewhere, and what it holds.
 */
extern const struct parus_file {
    const char *name, *also;
    enum series_stat stat;
} parus_files[PARUS_FILES];

/* Write one of them. Pairs that were not measured are "NaN"; a process with
 * itself, where that was no part of the test, is 0. A series of topologies
 * alone is an error. Return 0, or -1 with err.
 */
int parus_write (const struct series *s, const struct parus_file *file,
                 FILE *fp, struct error *err);

/* Read any of them, those that PARUS wrote as well ("number of repeates", 0 for
 * what was not measured): a sorted series, of which that one statistic is
 * known. NULL with err ("NAME:LINE: sentence").
 */
struct series *parus_read (FILE *fp, const char *name, struct error *err);

#endif /* COMPARE_PARUS_H */
