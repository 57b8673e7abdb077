/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of series apart from their own: text for people, CSV, and the
 * matrices of PARUS; and runs written to a file in any of them.
 */
#ifndef COMPARE_FORMATS_H
#define COMPARE_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

#include "compare/series/series.h"
#include "util/error.h"

#define SERIES_FORMATS "table, rates, fit, csv, json, parus"

struct series_save {
    const char *format;    /* one of SERIES_FORMATS */
    const char *path;      /* NULL, "-": standard output */
    enum series_stat stat; /* that tables show, if it is known */
    bool append;           /* after the contents of the file */
};

/* True if there is such a format. */
bool series_format_known (const char *name);

/* Check the options, as far as this does not depend on runs and files. Return
 * 0, or -1 with err.
 */
int series_save_check (const struct series_save *to, struct error *err);

/* Write all runs that the format can show (at least one), completely or not at
 * all; append only to a file of the same format. The format parus makes four
 * files: PATH_average.txt, PATH_median.txt, PATH_deviation.txt and
 * PATH_min.txt. Those of the second run of pairs are PATH-2_average.txt and so
 * on, those of the goal pairs alone, before a run with noise,
 * PATH-alone_average.txt. It cannot append. Return 0, or -1 with err.
 */
int series_save (const struct series_list *runs, const struct series_save *to,
                 struct error *err);

/* Text. A megabyte is 10^6 bytes. Write how the run was measured, and what was
 * lost. If there are pairs: "Latency: x microseconds" (at the least length) and
 * a line for each length: size, transfer rate, time, and the fastest and the
 * slowest pair. If there are topologies: the
 * Size/Star/Chaos/Ring/iStar/iChaos/iRing table of R(avg) in MB/s, and for each
 * its time, R(avg), R(total) and the least and the greatest R(local). The value
 * of a pair is `stat` of its repeats; the value of all pairs is the median over
 * them. Return 0, or -1 with err.
 */
int table_write (const struct series *s, enum series_stat stat, FILE *fp,
                 struct error *err);

/* For each topology and length R(total) = 2 L N / T and R(avg) = 2 L / T, and
 * for each process R(local) = 2 L N_i / T, in MB/s; T is `stat` of the passes.
 */
int table_write_rates (const struct series *s, enum series_stat stat,
                       FILE *fp, struct error *err);

/* A line for each pair and topology at each length: all statistics in ns (for a
 * pair, of half an exchange), and its rate by `stat` (for a topology R(avg)).
 * Labels are quoted by RFC 4180. The header is a separate function, as a file
 * has it once.
 */
int table_write_csv_header (FILE *fp, struct error *err);
int table_write_csv (const struct series *s, enum series_stat stat, FILE *fp,
                     struct error *err);

/* The text matrices of PARUS: one file for each of four statistics, with the
 * lines
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

#endif /* COMPARE_FORMATS_H */
