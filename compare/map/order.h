/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Orders of ranks: which rank runs on which node, so that those that talk much
 * are near.
 *
 * The cost of an order is the sum of amount times latency over all pairs of
 * ranks, where latencies are those between the ranks' nodes: with messages as
 * amounts, the latency summed over messages. It is time where messages follow
 * one another. Where all ranks send at once, the farthest of those that talk
 * counts; where each waits for one message after the other, the slowest rank.
 * That messages then wait for others' is in none of it.
 *
 * Method: block and cyclic order, as Slurm gives them, and Scotch's mapping of
 * the graph onto the nodes (gmap) are each improved: two nodes exchange all of
 * their ranks, or two ranks exchange places, while that makes it cheaper. No
 * two ranks that talk get farther apart than some are in either of block and
 * cyclic order; or, if nothing is cheaper so, than some are in the cheaper of
 * these. The cheapest of all is the result, so it never costs more than block
 * or cyclic order; if nothing costs less, it is one of these. The same input
 * gives the same order.
 */
#ifndef COMPARE_ORDER_H
#define COMPARE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/infer/matrix.h"
#include "compare/map/talk.h"
#include "util/error.h"

/* The hosts of a matrix of endpoints or processes, "host" or "host:rail" or
 * "host:core": the mean of the latencies between those of two hosts; on the
 * diagonal that between those of one host, 0 if there is none. NULL with err: a
 * pair of hosts is not known, or there is one host.
 */
struct infer_matrix *order_hosts (const struct infer_matrix *m,
                                  struct error *err);

enum order_way {
    ORDER_BLOCK,  /* `tasks` ranks on the first node, and so on */
    ORDER_CYCLIC, /* a rank on each node in turn */
    ORDER_SCOTCH,
    ORDER_WAYS,
};

struct order_cost {
    double sum;  /* amount times latency, over all pairs */
    double rank; /* ... over those of one rank, that of which it is most */
    double far;  /* the greatest latency of two ranks that talk */
};

struct rank_order {
    uint32_t *node;      /* [ranks] */
    struct order_cost cost;
    struct order_cost start[ORDER_WAYS]; /* not yet improved; sum NAN: built
                                            without it */
    enum order_way from; /* improved from this one */
};

/* Up to `tasks` ranks on each node of the matrix. Cost: a few seconds at most
 * for each way. Return 0, or -1 with err: there are more ranks than places, or
 * Scotch fails. Call order_clear in both cases.
 */
int order_ranks (struct rank_order *o, const struct talk *t,
                 const struct infer_matrix *hosts, uint32_t tasks,
                 struct error *err);
void order_clear (struct rank_order *o);

/* Scotch's mapping of a communication graph onto nodes (Pellegrini, Roman,
 * "Scotch: a software package for static mapping by dual recursive
 * bipartitioning of process and architecture graphs", 1996), if built with
 * libscotch. It sets node[ranks]: about `tasks` on each node. Amounts and
 * latencies are scaled to small whole numbers. Return 0, or -1 with err.
 */
extern const bool gmap_built;
int gmap (const struct talk *t, const struct infer_matrix *hosts,
          uint32_t tasks, uint32_t *node, struct error *err);

#endif /* COMPARE_ORDER_H */
