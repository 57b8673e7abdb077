/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Noise: who measures in a pass of a noise test, and who disturbs.
 *
 * A goal pair is measured while noise processes exchange messages among
 * themselves, all to all; the other processes are idle. Read by
 * probe/exchange; no file of its own.
 */
#ifndef COMPARE_NOISE_H
#define COMPARE_NOISE_H

#include <stdint.h>

#include "core/plan/plan.h"
#include "util/error.h"

/* Draw for a pass, each afresh, of n processes, 2 at least: process[0] and
 * process[1] are the goal pair, of which the first initiates; the nnoise
 * behind them, n-2 at most, are the noise processes; the rest, up to
 * process[n - 1], are idle. goal NULL: the pair is drawn as well. The same seed
 * and pass draw the same. Return 0, or -1 with err.
 */
int noise_draw (uint32_t n, uint32_t nnoise, const struct probe *goal,
                uint64_t seed, uint64_t pass, uint32_t *process,
                struct error *err);

#endif /* COMPARE_NOISE_H */
