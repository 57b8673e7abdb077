/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What process 0 alone knows, and all must: whom to measure with when. */
#ifndef PROBE_EXCHANGE_TOLD_H
#define PROBE_EXCHANGE_TOLD_H

#include <stdint.h>
#include <stdio.h>

#include "compare/pattern/pattern.h"
#include "core/plan/plan.h"
#include "probe/exchange/party.h"
#include "util/error.h"

/* All get what process 0 has: a plan between processes, or n pairs as a pattern
 * of one a step. Elsewhere what is given is not looked at. A process 0 that has
 * none, because it failed, gives NULL and n 0: then all fail. NULL with err.
 */
struct plan *told_plan (const struct party *p, const struct plan *plan,
                        struct error *err);
struct pattern *told_pairs (const struct party *p, const struct probe *pair,
                            size_t n, struct error *err);

/* The pattern of a plan between n processes, which must outlive it. */
struct pattern *told_pattern (const struct plan *plan, uint32_t n,
                              struct error *err);

/* Read the rounds of a plan's file as a plan between processes: an endpoint is
 * the process of its label, else the first of its host. fabric, of PLAN_FABRIC
 * bytes, gets the hash of the fabric that it was made for. NULL with err.
 */
struct plan *told_read (const struct party *p, FILE *fp, const char *name,
                        char *fabric, struct error *err);

/* The process of a label, else the first of a host; n: there is none. */
uint32_t told_process (const struct party *p, const char *name);

#endif /* PROBE_EXCHANGE_TOLD_H */
