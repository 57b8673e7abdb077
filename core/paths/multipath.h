/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multipath: where switches spread messages over several ports (adaptive or
 * hashed routing), the path between two endpoints is a set of paths, and nobody
 * knows which of them a message takes. What is known:
 *
 *   - what all of them cross. Switches that stand for each other are made one
 *     place, and the cables between two places one bundle. Between places
 *     there is a single path: a network like any other (multipath.network), by
 *     which round trips are solved and judged. A bundle has the number of its
 *     lowest cable; its other cables are on no path.
 *   - how likely each cable is crossed, if every port that a switch may choose
 *     is equally likely: its share.
 *
 * For example, of two leaves with four spines between them the spines become
 * one place, the four cables of each leaf one bundle, and a message crosses
 * each of the eight cables with a share of 1/4.
 */
#ifndef CORE_MULTIPATH_H
#define CORE_MULTIPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/error.h"

struct multipath {
    struct network network; /* of places; its `multi` is this */
    const struct network *under; /* what was spread */
    struct traffic_class as;
    uint32_t *bundle; /* [nlinks] the bundle of a cable that messages may
                         cross; NETWORK_NONE */
    uint32_t *cables; /* [nlinks] cables of a bundle, by its number; 0: none */
    bool uneven; /* some messages cross cables within a place, which have no
                    bundle, others do not: paths between the same places may
                    differ in length */
    bool apart;  /* some sender's first switch has one of several cables of a
                    bundle, for all messages to some end */

    struct multipath_work *work; /* internal */
};

/* Whether a cable is one that paths between places cross as such: not one of
 * several in a bundle, nor within a place.
 */
static inline bool multipath_is_single (const struct multipath *m,
                                        uint32_t link)
{
    return m->cables[link] == 1;
}

/* Make the places for messages between all endpoints of some sets, on the
 * network of the first. NULL with err if messages do not arrive.
 */
struct multipath *multipath_create (const struct pathset *const *ps, size_t n,
                                    const struct traffic_class *as,
                                    struct error *err);
void multipath_destroy (struct multipath *m);

/* The cables that a message between two endpoints (of the network) may cross:
 * `share` is the chance that it does, in either direction of the cable. They
 * are borrowed until the next call. Return their number.
 */
struct multipath_share {
    uint32_t link;
    double share;
};
size_t multipath_shares (struct multipath *m, uint32_t from, uint32_t to,
                         const struct multipath_share **share);

#define MULTIPATH_SURE (1 - 1e-9) /* all messages cross it, but for rounding */

/* How many cables a round trip between two endpoints (of the network) crosses
 * within places, on average. More than 0: its paths may differ in length. apart
 * (may be NULL): with those that all its messages cross while others' messages
 * take others of the same bundle. The network of places does not tell how long
 * these are.
 */
double multipath_within (struct multipath *m, uint32_t a, uint32_t b,
                         double *apart);

/* The arcs of one path, as network.walk: each switch that spreads chooses its
 * port by the key. Equal keys give equal paths, others independent ones.
 */
int multipath_walk (const struct network *net, const struct traffic_class *as,
                    uint32_t from, uint32_t to, uint64_t key, uint32_t *arc,
                    struct error *err);

#endif /* CORE_MULTIPATH_H */
