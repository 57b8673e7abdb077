/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mapped: the processes of a test as ends of the fabric, each by its first
 * port and that one's first LID: what PMM plans between them, and what its
 * measurement tells of all pairs.
 */
#ifndef PROBE_MAPPED_H
#define PROBE_MAPPED_H

#include "core/plan/plan.h"
#include "compare/series/series.h"
#include "ibquery/fabric.h"
#include "probe/roster.h"
#include "util/error.h"

struct mapped;

/* Find out who is where, processes being the members of a roster; the fabric is
 * borrowed. node_map is a file of nodemap.h, "" for none. NULL with err, also
 * where a process is not in the fabric.
 */
struct mapped *mapped_create (const struct roster *roster,
                              const struct fabric *f, const char *node_map,
                              struct error *err);
void mapped_destroy (struct mapped *m);

/* The plan, between processes. NULL with err. */
struct plan *mapped_plan (const struct mapped *m, unsigned int extra_rounds,
                          struct error *err);

/* What a sorted series of the plan's pairs determines, link by link, of all
 * pairs, by a statistic: a series that knows that one alone. NULL with err.
 */
struct series *mapped_predict (const struct mapped *m,
                               const struct series *measured,
                               enum series_stat stat, struct error *err);

#endif /* PROBE_MAPPED_H */
