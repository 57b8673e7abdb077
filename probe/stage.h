/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stages of a check: in each, the leader gives the members a part each, all do
 * theirs at the same time (probe/probe, probe/burst), and the leader collects what
 * they found.
 *
 * A member waits until the leader fetches one of two kinds of empty objects: a
 * stage's GROUP_NEXT, after which the member fetches its part, or GROUP_BYE.
 * Meanwhile it only checks that the leader is alive; the leader answers even while
 * it plans (group_meanwhile).
 *
 * Functions return 0, or -1 with err.
 */
#ifndef PROBE_STAGE_H
#define PROBE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/group.h"
#include "util/error.h"

/* In this order; any may be left out. */
enum stage {
    STAGE_PROBE, STAGE_PROBE_AGAIN, STAGE_BURST, STAGE_BURST_AGAIN,
    STAGE_BURST_CROWD, STAGES,
};

/* A member in a stage. */
struct stage_member {
    bool answered;
    struct group_blob told;  /* its part, to be fetched as long as the group lives */
    struct group_blob found; /* of those that answered; not of the leader */
};

/* The leader: tell all others that are marked `answered` their parts; fetch what
 * they found. Who does not answer loses its mark.
 */
int stage_tell (struct group *g, enum stage stage, struct stage_member *member,
                struct error *err);
int stage_hear (struct group *g, enum stage stage, struct stage_member *member,
                struct error *err);

/* Tell every living member that it may leave. */
int stage_end (struct group *g, struct error *err);

void stage_member_clear (struct stage_member *member);

/* Follow the leader, whose node has this name, until it is done. */
int stage_follow (struct group *g, size_t leader, const char *name,
                  struct error *err);

/* The directory that shows the present state of this host's ports; one that does not
 * exist if there is none.
 */
const char *stage_sysfs (const struct group *g);

/* A step of a stage takes at most STEP_DEADS * group_dead_ns, which is long enough
 * to detect many dead members. stage_step returns the deadline of the group, which
 * it brings forward; stage_step_end puts it back, and explains an error, rc < 0, of
 * that step if it took longer.
 */
int64_t stage_step (struct group *g);
void stage_step_end (struct group *g, int64_t deadline, int rc, size_t round,
                     struct error *err);

#endif /* PROBE_STAGE_H */
