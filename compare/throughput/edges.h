/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edges: whether switches carry what the edges of their nodes allow.
 *
 * Needs a topology, of which only each node's switch counts, and a series of
 * exchanges both ways: a run in which pairs are alone, as of the pattern
 * one-to-one, and one in which several exchange at a time.
 *
 * A node's edge to its switch carries the most that the node got with any
 * partner, in any run. Two nodes of a switch can then have the lower rate of
 * their two edges. A switch that gives them less while others exchange limits
 * them itself. It is judged by the median of its nodes, so one node that is
 * slow at that time is a remark of its own.
 *
 * A switch without nodes, and the cables between switches, are not judged: that
 * takes flows of a plan (core/rate/carry.h). Source: A. Bufe, "Automatic Analysis of a
 * Supercomputer's Topology and Performance Characteristics", 2014.
 */
#ifndef COMPARE_EDGES_H
#define COMPARE_EDGES_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compare/series/series.h"
#include "core/judge/verdict.h"
#include "util/error.h"

#define EDGES_NONE UINT32_MAX

enum {
    EDGES_NODES_MIN = 4, /* of a switch that is judged: two pairs */
    EDGES_NAME = 192,
};

struct edges_topology {
    const void *of;
    /* The edge of a node of this name; EDGES_NONE: there is none. */
    uint32_t (*find) (const void *of, const char *name);
    const uint32_t *at; /* of each edge, the switch it leads to, any number;
                           EDGES_NONE: it leads to none */
    void (*name) (const void *of, uint32_t at, char name[EDGES_NAME]);
};

struct edges_node {
    const char *label; /* the series' */
    uint32_t at, edge; /* its switch, and the edge to that */
    double rate;       /* of its edge, bits per second in each direction; 0: not
                          measured */
    double got, allowed; /* sums over its pairs at the switch, in that run */
};

struct edges_switch {
    uint32_t at;
    char name[EDGES_NAME];
    size_t first, n;   /* nodes */
    size_t run;        /* with the most pairs at a time */
    double at_once;    /* so many, on average over its steps, those counted that
                          have one end at the switch */
    double through;    /* what these carried, bits per second */
    double share;      /* got of allowed, the nodes' median; NAN: not judged */
};

struct edges {
    struct pool *pool; /* of it */
    struct edges_node *node; /* by switch, then edge */
    size_t nnodes;
    struct edges_switch *sw;
    size_t nswitches;
    uint64_t length;   /* bytes of a message: the longest */
    bool alone;        /* there is a run with one pair at a time */
    bool complete;     /* so are all runs */
    char **said;       /* findings and limits, a sentence each */
    size_t nsaid;
    /* FAIL if a switch carries less; else UNKNOWN if none could be judged, or
     * if a run is not complete; else WARN if a node got less; else OK.
     */
    enum verdict_status status;
};

/* Compute it of the runs of exchanges both ways, which are borrowed; a share
 * that lacks `much` is low. Return 0, or -1 with err; call edges_clear in any
 * case.
 */
int edges_make (struct edges *e, const struct series_list *list,
                const struct edges_topology *topology, double much,
                struct error *err);
void edges_clear (struct edges *e);

/* What its pairs got of what they were allowed; NAN: not known. */
static inline double edges_share (const struct edges_node *x)
{
    return x->allowed > 0 ? x->got / x->allowed : NAN;
}

/* Write them as text, or JSON of kind "rates". Return 0, or -1 with err. */
int edges_text (const struct edges *e, FILE *fp, struct error *err);
int edges_json (const struct edges *e, FILE *fp, struct error *err);

#endif /* COMPARE_EDGES_H */
