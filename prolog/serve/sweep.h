/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweep: which idle hosts to measure next, so that each link of the site is
 * measured every so often, and in time all are resolved that can be.
 *
 * Made from the links' ages and the measurements in the ledger (ledger_ages,
 * ledger_combine), and the hosts that Slurm shows idle. Read by the audit
 * service. A pure function.
 *
 * An audit of few hosts measures the links on the paths between them, and its
 * plan determines every combination of these links that its paths determine.
 * So the link that is due for longest comes first. Where none is due, the pair
 * comes first whose round trip the measurements of all earlier audits together
 * predict least, until they predict all.
 *
 * The audit has as many hosts as each adds something. A link that is due soon
 * is measured too where its host is idle, but alone starts no audit.
 */
#ifndef PROLOG_SWEEP_H
#define PROLOG_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "util/error.h"

#define SWEEP_NEVER INT64_MIN

/* All borrowed. Links are numbered as the network has them. */
struct sweep_input {
    struct pathset *ps;      /* all endpoints of idle hosts, and no others */
    const int64_t *measured; /* [links] time of the newest; SWEEP_NEVER */
    const double *unknown;   /* [links] of sweep_unknown; NULL: do not look
                                for links that are not resolved */
    int64_t now;
    int64_t every_s;         /* > 0: a link is due so long after that */
    size_t hosts;            /* of the audit, at most */
    uint64_t seed;           /* for choices among equals: another each time */
};

struct sweep_plan {
    uint32_t *endpoint; /* [n] of the set, those of a host together */
    size_t n;           /* 0: there is nothing to be measured */
    size_t hosts;
    size_t due;         /* links that are due and that idle hosts reach, */
    size_t covered;     /* ... of which this audit measures so many */
};

/* Choose. Cost: a tree of paths for each endpoint, and some 30 million hops at
 * most (at 10,000 hosts, a second). Return 0, or -1 with err where a path of
 * the set is broken; sweep_clear is due in both cases.
 */
int sweep_choose (struct sweep_plan *s, const struct sweep_input *in,
                  struct error *err);
void sweep_clear (struct sweep_plan *s);

/* What measurements leave open, as a random vector z [nlinks] of their null
 * space: row . z is 0 for the round trips that they determine, and for no other
 * but by chance. Nothing measured: a random vector. Cost: some dozens of times
 * the entries of the rows, but about a second at most: then what they determine
 * poorly counts as open, too.
 */
void sweep_unknown (const struct observations *o, size_t nlinks, uint64_t seed,
                    double *z);

/* |row . z| above this is open. */
#define SWEEP_OPEN 1e-3

#endif /* PROLOG_SWEEP_H */
