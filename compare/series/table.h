/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series as text for people and spreadsheets. A megabyte is 10^6 bytes. */
#ifndef COMPARE_TABLE_H
#define COMPARE_TABLE_H

#include <stdio.h>

#include "compare/series/series.h"
#include "util/error.h"

/* Write how the run was measured, and what was lost. If there are pairs:
 * "Latency: x microseconds" (at the least length) and a line for each length:
 * size, transfer rate, time, and the fastest and the slowest pair. If there are
 * topologies: the Size/Star/Chaos/Ring/iStar/iChaos/iRing table of R(avg) in
 * MB/s, and for each its time, R(avg), R(total) and the least and the greatest
 * R(local). The value of a pair is `stat` of its repeats; the value of all
 * pairs is the median over them. Return 0, or -1 with err.
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

#endif /* COMPARE_TABLE_H */
