/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results: what a process measured with each of the others at one length,
 * until process 0 has it in a series.
 */
#ifndef PROBE_EXCHANGE_RESULTS_H
#define PROBE_EXCHANGE_RESULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/series/series.h"
#include "probe/exchange/party.h"
#include "util/error.h"

struct results;

/* Empty ones of a process that initiates what it measures, or which receives
 * it. NULL with errno ENOMEM.
 */
struct results *results_create (uint32_t n, bool receives);
void results_destroy (struct results *r);

/* One more exchange with a peer: its time; or it was lost. Return 0, or -1
 * with errno ENOMEM.
 */
int results_add (struct results *r, uint32_t peer, double time_ns);
int results_add_lost (struct results *r, uint32_t peer);

/* Process 0, which alone has a series, gets all processes' results as pairs of
 * this length; those that died are marked. All results are empty then. Return
 * 0, or -1 with err.
 */
int results_collect (struct results *r, const struct party *p,
                     uint64_t length, struct series *s, struct error *err);

#endif /* PROBE_EXCHANGE_RESULTS_H */
