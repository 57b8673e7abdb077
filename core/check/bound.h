/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds: how few rounds could do.
 *
 * Made from a pathset alone, never from a plan. Read by whoever makes or
 * checks one; `pmm plan` prints it. What is said of endpoints here holds of
 * ports, where these have several.
 *
 * Let S be a set of endpoints, and a row have as many ends in S, 0, 1 or 2, as
 * its pair. Of all bases the one that takes rows with no end in S as far as
 * they go, then those with one, and last those with two, has the fewest ends
 * in S, as in any matroid: with r_k the rank of all rows of at most k ends,
 *
 *     need = (r_1 - r_0) + 2 (r_2 - r_1)
 *
 * ends at least, and a round has |S| of them: ceil (need / |S|) rounds. For S
 * = all this is ceil (rank / floor (n / 2)). The same holds of a link, which
 * one probe of a round may cross: rank - rank (rows that do not cross it).
 *
 * Sets looked at: each endpoint, each leaf, each pod - what hangs together
 * where leaves count as neighbours if a path of at most d links joins them,
 * for every d -, and each link. need is bounded from below first, which is
 * cheap: a link is *own* to S if no row that avoids S crosses it, and the
 * rows of S with all but the own links left out need no more.
 * Then, for sets that promise more and as far as the effort goes, need itself.
 *
 * Where all pairs' rows can be held and each crosses two links, as often the
 * one as the other, links are the vertices of a graph and rows its edges. If
 * the rank is that of all links, a basis has a cycle of odd length (any other
 * would be dependent), and this takes three rounds: hosts behind one switch.
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
    enum bound_kind kind; /* of the set that says so */
    size_t need, width;   /* ceil (need / width) == rounds: ends, of a leaf
                             or pod; else probes */
    uint32_t at;          /* an endpoint of the set; BOUND_LINK: the link;
                             else nothing */
    size_t rank;          /* of all pairs, or what of it was found */
    size_t sets, looked;  /* sets there are, and those evaluated */
    bool best;            /* no set needs more rounds */
};

#define BOUND_EFFORT (UINT64_C (1) << 29) /* a few seconds at most */
#define BOUND_QUICK (UINT64_C (1) << 22)  /* some milliseconds */

/* The best bound for a set of endpoints that an effort, counted in entries
 * touched, finds: the same on every machine. rank is that of all pairs where
 * it has been proven; 0: not known. Then it is found, but in large jobs only
 * as much of it as the effort allows, which bounds the rounds as well. A set
 * of fewer than two endpoints has bound 0. Return 0, or -1 with err.
 */
int bound_find (struct pathset *ps, size_t rank, uint64_t effort,
                struct bound *bound, struct error *err);

/* "all hosts", "host end", "link", "leaf", "pod", "odd cycle"; and
 * which: a link's id, an endpoint's name, "" where it is all of them.
 */
const char *bound_kind_name (enum bound_kind kind);
const char *bound_set_name (const struct bound *bound,
                            const struct pathset *ps);

#endif /* CORE_BOUND_H */
