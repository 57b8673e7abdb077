/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats of series apart from their own: text for people, CSV, fits, and
 * the matrices of PARUS; and runs written to a file in any of them.
 */
#ifndef COMPARE_FORMATS_H
#define COMPARE_FORMATS_H

#include <stdbool.h>
#include <stdio.h>

#include "compare/series/series.h"
#include "core/paths/paths.h"
#include "util/error.h"

#define SERIES_FORMATS "table|rates|fit|csv|json|parus"

struct series_save {
    const char *format;    /* one of SERIES_FORMATS */
    const char *path;      /* NULL, "-": standard output */
    enum series_stat stat; /* that tables show, if it is known */
    bool append;           /* after the contents of the file */
};

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

/* Write one run as text; the value of a row is `stat` of its repeats. A
 * megabyte is 10^6 bytes. Return 0, or -1 with err; the caller checks fp.
 *
 *     table  how the run was measured, and what was lost. Of pairs: "Latency: x
 *            microseconds" (at the least length) and a line for each length:
 *            size, transfer rate, time (their medians over the pairs), and the
 *            fastest and the slowest pair. Of topologies: the
 *            Size/Star/Chaos/Ring/iStar/iChaos/iRing table of R(avg) in MB/s,
 *            and for each its time, R(avg), R(total) and the least and the
 *            greatest R(local)
 *     rates  for each topology and length R(total) and R(avg), and for each
 *            process R(local), in MB/s (series_exchanges)
 *     fit    latency and throughput of each pair (series_fit)
 *     csv    without its header: a line for each row, with all statistics in
 *            ns, and its rate by `stat` (of a topology R(avg)). Labels are
 *            quoted by RFC 4180
 */
int series_write_text (const struct series *s, const char *format,
                       enum series_stat stat, FILE *fp, struct error *err);

/*
 * Latency and throughput of each pair: the line l + s / t fitted to its times
 * by size s
 */

struct series_fit {
    uint32_t a, b;     /* processes */
    size_t n;          /* lengths, 2 at least */
    double latency_ns; /* l */
    double stderr_ns;  /* of it; NAN if n is 2 */
    double rate;       /* t, bytes per second; NAN: time does not grow */
    double r2;         /* 1 - residual / total sum of squares, weighted as the
                          fit; NAN if the total is 0 */
};

/* Fit all pairs that have times at two lengths or more, in order of a and b.
 * With two lengths the line goes through both points. With more, least squares
 * minimise the relative residuals: times grow over orders of magnitude, and so
 * does their spread; with equal weights, the errors of the longest messages
 * would determine l. The caller frees; NULL with err, also if no pair has two
 * lengths.
 */
struct series_fit *series_fit (const struct series *s, enum series_stat stat,
                               size_t *n, struct error *err);

enum own_time {
    OWN_CUT_THROUGH,       /* l = l' - s / t_min, t_min of the path's links */
    OWN_STORE_AND_FORWARD, /* l = l' - sum of s / t_i over the path's links */
};

/* Subtract the message's own transmission time from all pairs' times: the mean
 * of both directions, by the nominal rates of the links. endpoint[i] is the
 * endpoint of process i. SD stays; a time that would be negative becomes NAN.
 * Return 0, or -1 with err (no path; a link of unknown rate).
 */
int series_less_own_time (struct series *s, const struct network *net,
                          const uint32_t *endpoint, enum own_time how,
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
 * only topologies is an error. Return 0, or -1 with err; the caller checks fp.
 */
int parus_write (const struct series *s, const struct parus_file *file,
                 FILE *fp, struct error *err);

/* Read any of them, also those that PARUS wrote ("number of repeates", 0 for
 * pairs that were not measured): a sorted series that has only that statistic.
 * NULL with err ("NAME:LINE: sentence").
 */
struct series *parus_read (FILE *fp, const char *name, struct error *err);

#endif /* COMPARE_FORMATS_H */
