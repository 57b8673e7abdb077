/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/stage.h"

#include <stdlib.h>

#include "ibquery/local.h"
#include "probe/burst.h"
#include "probe/probe.h"
#include "util/alloc.h"

enum {
    LINGER = 500,   /* gaps in which the last answer may be requested again */
    STEP_DEADS = 8,
};

_Static_assert ((int)STAGES == (int)GROUP_STAGES, "each has its objects");

/* What a member does in a stage: by its part, which came from the leader. */
static int (*const stage_work[STAGES]) (struct group *g,
                                        const struct group_blob *part,
                                        struct group_blob *found,
                                        struct error *err) = {
    [STAGE_PROBE] = probe_part,
    [STAGE_PROBE_AGAIN] = probe_part,
    [STAGE_BURST] = burst_part,
    [STAGE_BURST_AGAIN] = burst_part,
    [STAGE_BURST_CROWD] = burst_part,
};

const char *stage_sysfs (const struct group *g)
{
    const char *sysfs = g->transport->sysfs ? g->transport->sysfs (g->t)
                                            : LOCAL_SYSFS;

    return sysfs ? sysfs : "/nowhere";
}

int64_t stage_step (struct group *g)
{
    int64_t end = g->deadline;
    int64_t limit = group_now (g) + STEP_DEADS * group_dead_ns (g);

    if (limit < end)
        g->deadline = limit;
    return end;
}

void stage_step_end (struct group *g, int64_t deadline, int rc, size_t round,
                     struct error *err)
{
    if (rc < 0 && group_now (g) >= g->deadline && group_now (g) < deadline)
        error_world (err, "round %zu took longer than %g s", round + 1,
                     (double)(STEP_DEADS * group_dead_ns (g)) / 1e9);
    g->deadline = deadline;
}

/*
 * Leading
 */

/* Fetch an object from all others that are marked `answered`, or from all if there
 * are no marks (NULL). keep: it is what they found; else it is empty, and the
 * request itself is the message.
 */
static int ask_others (struct group *g, unsigned int kind,
                       struct stage_member *member, bool keep,
                       struct error *err)
{
    uint32_t *from = xarray (g->n, sizeof (*from));
    struct group_blob *got = xcalloc (g->n, sizeof (*got));
    size_t count = 0;
    int rc;

    for (size_t m = 0; m < g->n; m++)
        if (m != g->me && (!member || member[m].answered))
            from[count++] = (uint32_t)m;
    rc = group_fetch (g, kind, from, count, got, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (member)
            member[from[i]].answered = got[i].data != NULL;
        if (keep)
            member[from[i]].found = got[i];
        else
            free (got[i].data);
    }
    free (from);
    free (got);
    return rc;
}

int stage_tell (struct group *g, enum stage stage, struct stage_member *member,
                struct error *err)
{
    for (size_t m = 0; m < g->n; m++)
        group_serve (g, GROUP_PART + stage, (int)m, member[m].told.data,
                     member[m].told.len);
    return ask_others (g, GROUP_NEXT + stage, member, false, err);
}

int stage_hear (struct group *g, enum stage stage, struct stage_member *member,
                struct error *err)
{
    return ask_others (g, GROUP_RESULT + stage, member, true, err);
}

int stage_end (struct group *g, struct error *err)
{
    return ask_others (g, GROUP_BYE, NULL, false, err);
}

void stage_member_clear (struct stage_member *member)
{
    free (member->told.data);
    free (member->found.data);
    *member = (struct stage_member){ 0 };
}

/*
 * Following
 */

static int leader_is_gone (const char *name, struct error *err)
{
    return error_world (err, "%s, which leads the check, does not answer",
                        *name ? name : "the node");
}

/* Wait for the next instruction, and follow it: *stage is the one that it began, or
 * STAGES at the end.
 */
static int follow_stage (struct group *g, size_t leader, const char *name,
                         enum stage *stage, struct stage_member *mine,
                         struct error *err)
{
    unsigned int kinds = 1U << GROUP_BYE;
    uint32_t from = (uint32_t)leader;
    struct stage_member *m;
    int rc;

    for (unsigned int s = *stage; s < STAGES; s++)
        kinds |= 1U << (GROUP_NEXT + s);
    rc = group_await (g, kinds, leader, err);
    if (rc <= 0)
        return rc < 0 ? -1 : leader_is_gone (name, err);
    while (*stage < STAGES && !g->served[GROUP_NEXT + *stage])
        ++*stage;
    if (*stage == STAGES)
        return 0;
    m = &mine[*stage];
    if (group_fetch (g, GROUP_PART + *stage, &from, 1, &m->told, err) < 0) {
        m->told.data = NULL;
        return -1;
    }
    if (!m->told.data)
        return leader_is_gone (name, err);
    if (stage_work[*stage](g, &m->told, &m->found, err) < 0)
        return -1;
    group_serve (g, GROUP_RESULT + *stage, GROUP_ALL, m->found.data,
                 m->found.len);
    return 0;
}

int stage_follow (struct group *g, size_t leader, const char *name,
                  struct error *err)
{
    struct stage_member mine[STAGES] = { 0 };
    enum stage stage = 0;
    int rc = 0;

    group_serve (g, GROUP_BYE, GROUP_ALL, NULL, 0);
    for (unsigned int s = 0; s < STAGES; s++)
        group_serve (g, GROUP_NEXT + s, GROUP_ALL, NULL, 0);
    while (rc == 0 && !g->served[GROUP_BYE]) {
        rc = follow_stage (g, leader, name, &stage, mine, err);
        if (stage < STAGES)
            stage++;
    }
    /* stay for a while: the leader may have missed the last answer */
    if (rc == 0)
        rc = group_until (g, group_now (g) + LINGER * group_gap (g), err);
    for (size_t s = 0; s < STAGES; s++)
        stage_member_clear (&mine[s]);
    return rc;
}
