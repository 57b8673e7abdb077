/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: the least number of rounds that a plan can have.
 *
 * Made from a pathset alone, never from a plan. Read by the planner and the
 * checker; `pmm plan` prints it. Everything about endpoints here holds for
 * ports if endpoints share them.
 *
 * Let S be a set of endpoints. A row has 0, 1 or 2 ends in S, as its pair has.
 * The basis with the fewest ends in S takes as many rows with no end in S as
 * possible, then rows with one, then rows with two, as in any matroid. With r_k
 * the rank of all rows of at most k ends, any basis has at least
 *
 *     need = (r_1 - r_0) + 2 (r_2 - r_1)
 *
 * ends in S, and a round has at most |S|: ceil (need / |S|) rounds. For S = all
 * endpoints this is ceil (rank / floor (n / 2)). A similar bound holds for a
 * link, which only one probe of a round may cross: rank - rank (rows that do
 * not cross it).
 *
 * Sets that are evaluated: each endpoint, each leaf, each link and each pod. A
 * pod is a connected set of leaves if leaves count as neighbours when a path of
 * at most d links joins them, for every d. First a lower bound of need is
 * computed, which is cheap: a link is *own* to S if no row that avoids S
 * crosses it, and the rows of S, restricted to the own links, need no more.
 * Then need itself is computed for the most promising sets, as far as the
 * effort goes.
 *
 * If all pairs' rows fit in memory and each crosses two links, both equally
 * often, links are the vertices of a graph and rows its edges. If the rank is
 * the number of links, a basis has a cycle of odd length (any other cycle would
 * be dependent), and this takes three rounds. Example: hosts on one switch.
 */
#ifndef CORE_BOUND_H
#define CORE_BOUND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

enum bound_kind {
    BOUND_HOSTS, /* all endpoints, two to a probe */
    BOUND_END,   /* one endpoint */
    BOUND_LINK,  /* one link */
    BOUND_LEAF,  /* the endpoints of a leaf */
    BOUND_POD,   /* the endpoints of a pod */
    BOUND_CYCLE, /* an odd cycle */
};

struct bound {
    size_t rounds;        /* no plan has fewer (basis rounds) */
    enum bound_kind kind; /* of the set that gives it */
    size_t need, width;   /* ceil (need / width) == rounds: ends for a leaf or
                             pod, else probes */
    uint32_t at;          /* an endpoint of the set; BOUND_LINK: the link; else
                             unused */
    size_t rank;          /* of all pairs, or the part of it that was found */
    size_t sets, looked;  /* number of sets, and of those evaluated */
    bool best;            /* no set needs more rounds */
};

#define BOUND_EFFORT (UINT64_C (1) << 29) /* a few seconds at most */
#define BOUND_QUICK (UINT64_C (1) << 22)  /* some milliseconds */

/* Find the best bound that the effort (counted in entries touched) allows: the
 * same on every machine. rank is the rank of all pairs if it has been proven;
 * 0: not known, then it is computed, in large jobs only as far as the effort
 * allows, and a partial rank bounds the rounds as well. A set of fewer than two
 * endpoints has bound 0. Return 0, or -1 with err.
 */
int bound_find (struct pathset *ps, size_t rank, uint64_t effort,
                struct bound *bound, struct error *err);

/* "all hosts", "host end", "link", "leaf", "pod", "odd cycle"; and the name of
 * the set: a link's id, an endpoint's name, "" for all endpoints.
 */
const char *bound_kind_name (enum bound_kind kind);
const char *bound_set_name (const struct bound *bound,
                            const struct pathset *ps);

#endif /* CORE_BOUND_H */
