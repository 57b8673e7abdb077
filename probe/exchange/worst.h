/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The worst pairs of a series: what to measure again, alone. */
#ifndef PROBE_EXCHANGE_WORST_H
#define PROBE_EXCHANGE_WORST_H

#include <stddef.h>

#include "core/plan/plan.h"
#include "compare/series/series.h"
#include "util/error.h"

/* The n worst pairs of a sorted series, worst first. A pair is as bad as its
 * median is over that of all pairs, at the length where that is the most. Of
 * (a, b) and (b, a) only the worse is among them, nor are those of which
 * nothing came back. Returns how many pair[n] has got, or -1 with err.
 */
int worst_pairs (const struct series *s, struct probe *pair, int n,
                 struct error *err);

#endif /* PROBE_EXCHANGE_WORST_H */
