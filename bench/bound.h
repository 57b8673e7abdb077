/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: the least number of rounds that a plan can have.
 *
 * Made from rows of pairs alone, never from a plan. Read by bench/planner.
 *
 * Let S be a set of ports. A row has 0, 1 or 2 ends in S, as its pair has. The
 * basis with the fewest ends in S takes as many rows with no end in S as
 * possible, then rows with one, then rows with two, as in any matroid. With r_k
 * the rank of all rows of at most k ends, any basis has at least
 *
 *     need = (r_1 - r_0) + 2 (r_2 - r_1)
 *
 * ends in S, and a round has at most |S|: ceil (need / |S|) rounds. For S = all
 * ports this is ceil (rank / floor (n / 2)). A similar bound holds for a link,
 * which only one probe of a round may cross: rank - rank (rows that do not
 * cross it).
 *
 * Sets: each port, each link, and each set of ports that is connected by pairs
 * of at most h hops, for any h (in a tree: leaves, pods). A cheap lower bound
 * of need is that of plan/demand, by own links. Need itself is computed for the
 * most promising sets, as far as the effort goes.
 *
 * If each row crosses two links, both equally often, links are the vertices of
 * a graph and rows its edges. If the rank is the number of links, a basis has a
 * cycle of odd length, which takes three rounds. Example: hosts on one switch.
 */
#ifndef BENCH_BOUND_H
#define BENCH_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

enum bound_kind {
    BOUND_HOSTS, /* all ports, two to a probe */
    BOUND_END,   /* one port */
    BOUND_LINK,  /* one link */
    BOUND_LEAF,  /* the ports of a leaf */
    BOUND_POD,   /* another connected set of ports */
    BOUND_CYCLE, /* an odd cycle */
};

struct bound {
    size_t rounds;        /* no plan has fewer (basis rounds) */
    enum bound_kind kind; /* of the set that gives it */
    size_t need, width;   /* ceil (need / width) == rounds: ends for a leaf or
                             pod, else probes */
    uint32_t at;          /* an endpoint of the set; BOUND_LINK: the link; else
                             unused */
    size_t rank;          /* of all pairs */
    size_t sets, looked;  /* number of sets, and of those evaluated */
    bool best;            /* no set needs more rounds */
};

#define BOUND_EFFORT (UINT64_C (1) << 29) /* a few seconds at most */
#define BOUND_QUICK (UINT64_C (1) << 22)  /* some milliseconds */

/* Find the best bound that the effort (counted in entries touched) allows: the
 * same on every machine. It is that of all ports if there are more than 1,024
 * endpoints. rank is the rank of all pairs; 0: not known, then it is computed
 * if the effort allows. A set of fewer than two ports has bound 0. Return 0, or
 * -1 with err.
 */
int bound_find (struct pathset *ps, size_t rank, uint64_t effort,
                struct bound *bound, struct error *err);

/* "all hosts", "host end", "link", "leaf", "pod", "odd cycle"; and the name of
 * the set: a link's id, an endpoint's name, "" for all endpoints.
 */
const char *bound_kind_name (enum bound_kind kind);
const char *bound_set_name (const struct bound *bound,
                            const struct pathset *ps);

#endif /* BENCH_BOUND_H */
