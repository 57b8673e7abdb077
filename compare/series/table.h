/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as text for people and spreadsheets. A megabyte is 10^6 bytes. */
#ifndef COMPARE_TABLE_H
#define COMPARE_TABLE_H

#include <stdio.h>

#include "compare/series/series.h"
#include "util/error.h"

/* How it was measured, and what was lost; where there are pairs, "Latency: x
 * microseconds" (at the least length) and a line for each length: size,
 * transfer rate, time, and the fastest and the slowest pair; where there are
 * topologies, the Size/Star/Chaos/Ring/iStar/iChaos/iRing table of R(avg) in
 * MB/s, and of each its time, R(avg), R(total) and the least and the greatest
 * R(local). What is said of a pair is `stat` of its repeats; what is said of
 * all pairs is the median over them. Return 0, or -1 with err.
 */
int table_write (const struct series *s, enum series_stat stat, FILE *fp,
                 struct error *err);

/* Of each topology and length R(total) = 2 L N / T, R(avg) = 2 L / T, and of
 * each process R(local) = 2 L N_i / T, in MB/s; T is `stat` of the passes.
 */
int table_write_rates (const struct series *s, enum series_stat stat,
                       FILE *fp, struct error *err);

/* A line for each pair and topology at each length: all statistics in ns (of
 * a pair, half of an exchange), and its rate by `stat` (of a topology
 * R(avg)). Labels are quoted as RFC 4180 has it. The header is a function of
 * its own, as it is due once in a file.
 */
int table_write_csv_header (FILE *fp, struct error *err);
int table_write_csv (const struct series *s, enum series_stat stat, FILE *fp,
                     struct error *err);

#endif /* COMPARE_TABLE_H */
