/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweep: choose the idle hosts to measure next, so that each link of the site
 * is measured regularly, and in time all links are resolved that can be. A pure
 * function of the links' ages, the measurements and the idle hosts.
 *
 * An audit of a few hosts measures the links on the paths between them, and
 * determines every combination of these that the paths determine. The link that
 * has been due longest comes first. If no link is due, the first pair is the
 * one whose round trip is least determined by all measurements together.
 *
 * Hosts are added to the audit as long as each adds something. A link that will
 * be due soon is measured too if its host is idle, but it does not start an
 * audit. A link that is doubted comes before all others, and is crossed by as
 * many pairs as there is room for.
 */
#ifndef PROLOG_SWEEP_H
#define PROLOG_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "util/error.h"

#define SWEEP_NEVER INT64_MIN
#define SWEEP_DOUBTED (INT64_MIN + 1)

enum { SWEEP_HOSTS = 64 }; /* of the service's sweeps, at most */

/* All borrowed. Link ids are those of the network. */
struct sweep_input {
    struct pathset *ps;      /* all endpoints of idle hosts, and no others, each
                                host's together */
    const int64_t *measured; /* [links] time of the newest; SWEEP_NEVER;
                                SWEEP_DOUBTED: an audit found it slow */
    const double *unknown;   /* [links] of sweep_unknown; NULL: do not search
                                for unresolved links */
    int64_t now;
    int64_t every_s;         /* > 0: a link is due this long after it was
                                measured */
    size_t hosts;            /* of the audit, at most */
    uint64_t seed;           /* for random choices among equals: a new one each
                                time */
};

struct sweep_plan {
    uint32_t *endpoint; /* [n] of the set, grouped by host */
    size_t n;           /* 0: nothing to measure */
    size_t hosts;
    size_t due;         /* due links that idle hosts reach */
};

/* Choose. Cost: at most about 10 million hops (a second or two). Above 1,000
 * endpoints only a random part of all pairs is searched. Return 0, or -1 with
 * err if a path of the set is broken; call sweep_clear in both cases.
 */
int sweep_choose (struct sweep_plan *s, const struct sweep_input *in,
                  struct error *err);
void sweep_clear (struct sweep_plan *s);

/* What the measurements leave undetermined, as a random vector z [nlinks] of
 * their null space: row . z is 0 for the round trips that they determine, and
 * for others only by chance. Cost: as lsq_solve (core/linear/lsq), 3 s for
 * 262,144 rows of 34,992 links.
 */
void sweep_unknown (const struct observations *o, size_t nlinks, uint64_t seed,
                    double *z);

/* |row . z| above this is undetermined. */
#define SWEEP_OPEN 1e-3

#endif /* PROLOG_SWEEP_H */
