/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Causes: everything that may make round trips longer (or shorter) than
 * expected, by its signature: a sparse column over the measured rows. Causes
 * with proportional signatures cannot be resolved: one is stored, with members.
 */
#ifndef CORE_CAUSE_H
#define CORE_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/verdict.h"
#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "util/error.h"

/* From the simplest kind to the least simple. */
enum suspect_kind {
    SUSPECT_LINK,   /* index: link of the network */
    SUSPECT_ARC,    /* index: arc, a link in one direction only */
    SUSPECT_SWITCH, /* index: switch, all its links alike */
    SUSPECT_CLASS,  /* index: class_id, all links of it alike */
    SUSPECT_DRIFT,  /* all links alike, in proportion to the time */
    SUSPECT_WARM,   /* index: link, likewise */
    SUSPECT_ROUTE,  /* index: switch from which messages to endpoint `to` take
                       another path than the tables say, and arrive */
    SUSPECT_ROW,    /* the round trip between endpoints index and `to` alone */
    SUSPECT_KINDS,
};

/* What each kind does. */
struct suspect_traits {
    int rank;      /* kinds of equal rank are stored together */
    double share;  /* of the false alarms */
    bool slow;     /* only adds, and by a link's latency; otherwise it may have
                      either sign */
    bool whole;    /* of the run as a whole, not of some links */
    enum finding_kind finding; /* that it becomes */
};
extern const struct suspect_traits suspect_traits[]; /* [SUSPECT_KINDS] */

struct suspect {
    enum suspect_kind kind;
    uint32_t index;
    uint32_t to; /* endpoint of the set; route and row only */
};

/* The link of a link, arc or warm suspect; NETWORK_NONE for the other kinds. */
static inline uint32_t suspect_link (const struct suspect *s)
{
    return s->kind == SUSPECT_LINK || s->kind == SUSPECT_WARM ? s->index
           : s->kind == SUSPECT_ARC ? arc_link (s->index)
                                    : NETWORK_NONE;
}

/* How often a message to endpoint `to` of the set crosses a link, arc, switch
 * or route by an arc. An arc counts twice: its excess is the mean of both ways.
 */
unsigned int suspect_crossed (const struct suspect *s,
                              const struct network *net, uint32_t arc,
                              uint32_t to);

/* Detours: where messages go if one entry of one forwarding table is wrong: to
 * a neighbour, which forwards them as it should. So they arrive by a known
 * path, unless this leads through the switch again: then they loop.
 */
struct detours {
    const struct network *net;
    size_t *first; /* [nswitches + 1] of a switch's arcs: */
    uint32_t *arc; /* to other switches, ascending */
};

/* In the pool. */
void detours_make (struct detours *d, struct pool *pool,
                   const struct network *net);

/* Arcs from a place to an endpoint (the network's numbers) by the tables, at
 * most so many; -1: they do not lead there, or lead through place `but`.
 */
int detour_tables (const struct network *net, uint32_t at, uint32_t to,
                   uint32_t but, uint32_t *arc, int most);

/* Arcs, in order, from the switch that arc `out` leaves to an endpoint; `out`
 * is the first of at most PATH_MAX_HOPS. Return their number, 0 if `out` is the
 * right port or messages do not arrive.
 */
int detour_walk (const struct detours *d, uint32_t out, uint32_t to,
                 uint32_t *arc);

/* Whether there is a detour from switch sw. */
bool detour_exists (const struct detours *d, uint32_t sw, uint32_t to);

/* excess = amplitude of the signature / unit. For links, arcs, switches and
 * classes: of each link's one-way latency, mean of the two directions; for a
 * drift, or a link that warms up, likewise, from the beginning to the end of the
 * first stage. For a route or row: of the round trip.
 */
struct member {
    struct suspect suspect;
    double unit;
};

struct causes {
    size_t n;              /* distinct signatures */
    size_t *start;         /* [n + 1] of a signature's entries: */
    uint32_t *row;         /* ascending */
    uint16_t *value;       /* without a common divisor */
    size_t *first;         /* [n + 1] of a signature's members: */
    struct member *member; /* the simplest first */
    size_t kind[SUSPECT_KINDS]; /* signatures whose first is of the kind */
    struct detours detours;     /* alternative paths of routes */
    struct pool *pool;          /* has all of it */
};

/* Find the causes for the observations, as rows, of endpoints of ps. A
 * signature keeps the members of its simplest kind, but links with arcs, and
 * routes with rows and with links between switches, which look the same. On a
 * network of places (core/paths/multipath) bundles are no causes, as all their
 * cables would have to be slow, and there are no routes. `rounds` are those of
 * the first stage; 0: nothing drifts or warms up. Return 0, or -1 with err; then
 * causes_clear.
 */
int causes_make (struct causes *c, struct pathset *ps,
                 const struct observations *obs, size_t rounds,
                 struct error *err);
void causes_clear (struct causes *c);

/* Sum of signature k times v, v over the rows. */
double causes_dot (const struct causes *c, size_t k, const double *v);

/* d = signature k, over the n rows. */
void causes_expand (const struct causes *c, size_t k, double *d, size_t n);

static inline const struct member *causes_simplest (const struct causes *c,
                                                    size_t k)
{
    return &c->member[c->first[k]];
}

#endif /* CORE_CAUSE_H */
