/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State: the inputs of the policy, arranged by node and for the site, before
 * the rules are applied.
 */
#ifndef PROLOG_STATE_H
#define PROLOG_STATE_H

#include "prolog/policy/evidence.h"
#include "prolog/policy/policy.h"

/* A node, and all that is known about it. */
struct node_state {
    const struct site_state *site;
    const struct policy_node *node;
    struct track *track; /* of its links */
    size_t ntracks;
    const struct policy_action **action; /* oldest first */
    size_t nactions;
    const struct track *worst; /* not muted; NULL: none */
    bool muted;                /* a muted link FAILs */
};

struct site_state {
    const struct policy_input *in;
    const struct policy_config *cfg;
    struct evidence evidence;
    struct node_state *node; /* by name */
    size_t nnodes;
    const struct policy_action **action; /* sorted by node, oldest first */
    const char **broad; /* hosts that FAIL, or that we drained in a day */
    size_t nbroad;
    size_t limit;       /* of nbroad */
    size_t counted;     /* nodes neither powered down nor reserved */
    size_t unavailable; /* of these, */
    size_t unknown;     /* ... and in a state not known yet */
    bool is_broad;      /* more hosts FAIL at once than may be drained */
    bool is_short;      /* too few nodes are known to be available, */
    bool is_known_short; /* ... or too many are known to be unavailable: between
                           these are those that have not registered since
                           slurmctld started */
    const char *stop;   /* why nothing at all is changed; NULL: go on */
};

/* The input and the configuration are borrowed. */
void state_make (struct site_state *s, const struct policy_input *in,
                 const struct policy_config *cfg);
void state_clear (struct site_state *s);

/* The state of a node; NULL: Slurm does not know the node. */
const struct node_state *state_find (const struct site_state *s,
                                     const char *name);

/* The newest audit before the newest reset of a link's baseline; 0: none. */
uint64_t state_reset_after (const struct site_state *s, const char *link);

/* The newest action; NULL: none. */
const struct policy_action *node_last_action (const struct node_state *w);

bool node_is_drained_by_us (const struct node_state *w);

/* Whether a time is less than a span ago. A time in the future is within any
 * span.
 */
bool within_span (int64_t time, int64_t span, int64_t now);

#endif /* PROLOG_STATE_H */
