/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two runs of the same pairs, side by side. */
#ifndef PROBE_EXCHANGE_BESIDE_H
#define PROBE_EXCHANGE_BESIDE_H

#include <stdio.h>

#include "compare/series/series.h"

/* A line for each pair that both sorted series have, by length: what it took in
 * either, in microseconds, and how much longer in the second. what[2] says what
 * they are.
 */
void beside_write (const struct series *a, const struct series *b,
                   const char *const what[2], enum series_stat stat,
                   FILE *fp);

#endif /* PROBE_EXCHANGE_BESIDE_H */
