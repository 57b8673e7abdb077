/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The method of the source paper, to compare plans with: the best of several
 * orders of the pairs, or the first one, without redundant rounds. The plans
 * are as any other's. NULL with err.
 */
#ifndef BENCH_PAPER_METHOD_H
#define BENCH_PAPER_METHOD_H

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"

enum { PAPER_HOSTS_MAX = 4096 }; /* more are an error */
struct plan *paper_make (struct pathset *ps, const struct plan_options *opts,
                         struct error *err);
struct plan *paper_make_first (struct pathset *ps,
                               const struct plan_options *opts,
                               struct error *err);

#endif /* BENCH_PAPER_METHOD_H */
