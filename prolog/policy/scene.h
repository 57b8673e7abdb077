/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scene: the inputs of the policy put together, node by node and for the site,
 * before the rules look at them.
 */
#ifndef PROLOG_SCENE_H
#define PROLOG_SCENE_H

#include "prolog/policy/evidence.h"
#include "prolog/policy/policy.h"

/* A node, and all that is known of it. */
struct ward {
    const struct policy_node *node;
    struct track *track; /* of its links */
    size_t ntracks;
    const struct policy_action **action; /* oldest first */
    size_t nactions;
    const struct track *worst; /* not muted; NULL: there is none */
    bool muted;                /* a muted link FAILs */
};

struct scene {
    const struct policy_input *in;
    const struct policy_config *cfg;
    struct evidence evidence;
    struct ward *ward; /* by name */
    size_t nwards;
    const struct policy_action **action; /* by node, oldest first */
    const char **broad; /* hosts that FAIL or were drained within a day */
    size_t nbroad;
    size_t limit;       /* on these */
    size_t counted;     /* nodes neither powered down nor reserved */
    size_t unavailable; /* of these, */
    size_t unknown;     /* ... and of which nothing is known yet */
    const char *stop;   /* why nothing at all is changed; NULL: go on */
};

/* The input and the configuration are borrowed. Return 0, or -1 with err;
 * scene_clear is due in both cases.
 */
int scene_make (struct scene *s, const struct policy_input *in,
                const struct policy_config *cfg, struct error *err);
void scene_clear (struct scene *s);

/* The node's; NULL: it is none of Slurm's. */
const struct ward *scene_find (const struct scene *s, const char *name);

/* Whether more hosts FAIL at once than may be drained; whether too few nodes
 * are known to be available, or too many to be unavailable: between these are
 * those that have not registered since slurmctld started.
 */
bool scene_is_broad (const struct scene *s);
bool scene_is_short (const struct scene *s);
bool scene_is_known_short (const struct scene *s);

/* The audit before the newest reset of a link's baseline; 0: none. */
uint64_t scene_reset_after (const struct scene *s, const char *link);

/* Whether it was reset since a drain or so of ours, which was made for newer
 * audits than any reset before it.
 */
bool scene_is_reset (const struct scene *s, const char *link, uint64_t since);

/* The newest action; NULL: none. */
const struct policy_action *ward_last (const struct ward *w);

/* The drain that action i ended, or that it is; NULL: there is no record. */
const struct policy_action *ward_drain (const struct ward *w, size_t i);

bool ward_is_drained_by_us (const struct ward *w);

/* Whether a time is less than a span ago. What bears a time of the future lies
 * within any.
 */
bool scene_within (int64_t time, int64_t span, int64_t now);

#endif /* PROLOG_SCENE_H */
