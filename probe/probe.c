/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe: a plan in, samples out.
 *
 * Notes: formats, little-endian; numbers are sizes in bytes.
 *
 * The leader sends each member (GROUP_PART): version 1, service level 1,
 * repeats 2, with the flows but one in the 6 highest bits, rounds 4, tasks 4;
 * per task, in the order of the rounds: round 4, peer 4, rail 1, side 1, own
 * LID 1, the peer's LID 1.
 *
 * Each member replies (GROUP_RESULT): late 4, duplicate 4, foreign 4, all since
 * the beginning; the rails that failed by then, as bits, 2; the lengths of its
 * trouble 1, of its remark 2 and of the description of its host (probe/about) 1;
 * per rail the first one of its slot 1; then these three; then per task and flow,
 * and after the tasks per loopback, by part of the run and rail: echoes 2, and for
 * each an RTT in ns 4; of a task between rails of the member also the least time
 * there 4 and back 4, in ns (0: not known).
 *
 * A loopback is a ping of a rail to itself. Its round trip is two messages over
 * the same path, so the time of one message is half of it.
 */
#include "config.h"
#include "probe/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/about.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/text.h"

enum {
    PLAN_VERSION = 5,
    PLAN_HEADER = 12,
    TASK_SIZE = 12,
    RESULT_HEADER = 18,
    TROUBLE_MAX = 200, /* bytes */
    REMARK_MAX = 1600,
    LOOP_PARTS = 3, /* loopbacks: before, in the middle of, after the rounds */
    LOOPS_PER_GAP = 4,
    NO_END = 0xffffffff,
    LOOP_READY = 50, /* gaps in which rails must be ready for loopbacks */
    FLOWS_SHIFT = 11, /* of the flows in the repeats' bytes */
};

_Static_assert ((int)TRANSPORT_FLOWS_MAX == 2 * (int)PROBE_FLOWS_MAX
                    && (int)PROBE_FLOWS_MAX <= (int)SAMPLE_FLOWS_MAX
                    && (int)PROBE_FLOWS_MAX >= (int)SAMPLE_FLOWS_AGAIN
                    && PROBE_REPEATS_MAX < 1 << FLOWS_SHIFT
                    && PROBE_FLOWS_MAX <= 1 << (16 - FLOWS_SHIFT),
                "flows and repeats share two bytes");

struct plan_task {
    uint32_t round;
    uint8_t side; /* 0: the plan's a; 1: its b */
    bool within;  /* the peer is another rail of the member */
    struct group_ping ping;
};

struct plan_part { /* one member's part of a plan, and its results */
    unsigned int repeats;
    unsigned int flows;
    unsigned int level;
    uint32_t rounds;
    struct plan_task *task;
    size_t ntasks;
    size_t rails;
    bool loops[TRANSPORT_RAILS_MAX]; /* rails that can send to themselves */
    /* results: rows for the flows of each task, then for the loopbacks, by part
     * of the run and rail
     */
    uint32_t *rtt; /* row i has those from first_of (i) on */
    unsigned int *echoes; /* [rows] */
    uint32_t (*way)[2];   /* [rows] least ns there and back; 0: not known */
    unsigned int failed;  /* rails that failed, as bits */
};

static size_t flow_rows (const struct plan_part *part)
{
    return part->ntasks * part->flows;
}

static size_t part_row_count (const struct plan_part *part)
{
    return flow_rows (part) + LOOP_PARTS * part->rails;
}

/* The place of a row's first RTT: behind those of all passes that come before
 * it. The first flows have one pass more than the others if not all have as
 * many.
 */
static size_t first_of (const struct plan_part *part, size_t row)
{
    size_t flow = row % part->flows, more = part->repeats % part->flows;

    if (row >= flow_rows (part))
        return (part->ntasks + row - flow_rows (part)) * part->repeats;
    return row / part->flows * part->repeats
           + flow * (part->repeats / part->flows)
           + (flow < more ? flow : more);
}

/* How many passes a row has. */
static size_t passes_of (const struct plan_part *part, size_t row)
{
    return first_of (part, row + 1) - first_of (part, row);
}

/* The round before which the loopbacks of a part of the run are recorded, as if
 * there were only one pass.
 */
static uint64_t round_of_loops (const struct plan_part *part, size_t which)
{
    return (uint64_t)part->rounds * which / (LOOP_PARTS - 1);
}

static void part_clear (struct plan_part *part)
{
    free (part->task);
    free (part->rtt);
    free (part->echoes);
    free (part->way);
}

static void alloc_results (struct plan_part *part)
{
    size_t rows = part_row_count (part);

    part->rtt = xcalloc (first_of (part, rows), sizeof (*part->rtt));
    part->echoes = xcalloc (rows, sizeof (*part->echoes));
    part->way = xcalloc (rows, sizeof (*part->way));
}

/* How many of a row's ways are sent: a multiple of two. */
static unsigned int ways_of (const struct plan_part *part, size_t row)
{
    return row < flow_rows (part) && part->task[row / part->flows].within ? 2
                                                                          : 0;
}

/* Whether a part and its results fit into objects of the group. */
static bool part_fits_blob (const struct plan_part *part)
{
    size_t rows = part_row_count (part);
    size_t most = GROUP_BLOB_MAX - RESULT_HEADER - TRANSPORT_RAILS_MAX
                  - TROUBLE_MAX - REMARK_MAX - ABOUT_MAX;

    return part->ntasks <= (GROUP_BLOB_MAX - PLAN_HEADER) / TASK_SIZE
           && 10 * rows + 4 * first_of (part, rows) <= most;
}

static int pack_plan (const struct plan_part *part, struct group_blob *blob,
                      struct error *err)
{
    uint8_t *p;

    blob->len = PLAN_HEADER + part->ntasks * TASK_SIZE;
    if (!part_fits_blob (part))
        return error_input (err, "%zu probes, %u times each, are too many for "
                            "one node", part->ntasks, part->repeats);
    p = blob->data = xarray (blob->len, 1);
    p[0] = PLAN_VERSION;
    wire_put (p + 1, part->level, 1);
    wire_put (p + 2, part->repeats | (part->flows - 1) << FLOWS_SHIFT, 2);
    wire_put (p + 4, part->rounds, 4);
    wire_put (p + 8, part->ntasks, 4);
    p += PLAN_HEADER;
    for (size_t i = 0; i < part->ntasks; i++, p += TASK_SIZE) {
        const struct plan_task *task = &part->task[i];

        wire_put (p, task->round, 4);
        wire_put (p + 4, task->ping.peer, 4);
        p[8] = (uint8_t)task->ping.rail;
        p[9] = task->side;
        p[10] = task->ping.way.own;
        p[11] = task->ping.way.other;
    }
    return 0;
}

/* Return false if the plan is invalid. */
static bool unpack_plan (struct plan_part *part, const struct group_blob *blob,
                         const struct group *g)
{
    struct wire_in in = { blob->data, blob->len, false };
    uint32_t round = 0;

    if (wire_take (&in, 1) != PLAN_VERSION)
        return false;
    part->level = (unsigned int)wire_take (&in, 1);
    part->repeats = (unsigned int)wire_take (&in, 2);
    part->flows = (part->repeats >> FLOWS_SHIFT) + 1;
    part->repeats &= (1 << FLOWS_SHIFT) - 1;
    part->rounds = (uint32_t)wire_take (&in, 4);
    part->ntasks = wire_take (&in, 4);
    part->rails = g->rails;
    if (in.bad || part->level > PROBE_LEVEL_MAX
        || part->repeats > PROBE_REPEATS_MAX || part->flows > PROBE_FLOWS_MAX
        || part->rounds > PROBE_ROUNDS_MAX
        || in.left != part->ntasks * TASK_SIZE || !part_fits_blob (part))
        return false;
    part->task = xcalloc (part->ntasks, sizeof (*part->task));
    for (size_t i = 0; i < part->ntasks; i++) {
        struct plan_task *task = &part->task[i];

        task->round = (uint32_t)wire_take (&in, 4);
        task->ping.peer = (uint32_t)wire_take (&in, 4);
        task->ping.rail = (uint8_t)wire_take (&in, 1);
        task->side = (uint8_t)wire_take (&in, 1);
        task->ping.way.own = (uint8_t)wire_take (&in, 1);
        task->ping.way.other = (uint8_t)wire_take (&in, 1);
        task->within = task->ping.peer < g->npeers
                       && g->member_of[task->ping.peer] == g->me;
        if (task->round < round || task->round >= part->rounds
            || task->ping.peer >= g->npeers || task->ping.rail >= g->rails
            || task->side > 1)
            return false;
        round = task->round;
    }
    alloc_results (part);
    return true;
}

/*
 * Measuring
 */

static uint32_t clamp_uint32 (int64_t ns)
{
    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Ping once for a row of the results; if not awake, wake the path first. */
static int ping_plan_row (struct group *g, struct plan_part *part, size_t row,
                          struct group_ping *ping, bool awake,
                          struct error *err)
{
    if ((!awake && group_wake (g, ping, err) < 0)
        || group_ping (g, ping, err) < 0)
        return -1;
    if (ping->rtt_ns < 0)
        return 0;
    part->rtt[first_of (part, row) + part->echoes[row]++]
        = clamp_uint32 (ping->rtt_ns);
    for (int w = 0; w < 2 && ping->way_ns[1] > 0; w++)
        if (part->way[row][w] == 0 || ping->way_ns[w] < part->way[row][w])
            part->way[row][w] = clamp_uint32 (ping->way_ns[w]);
    return 0;
}

static struct group_ping loop_of (const struct group *g, size_t rail)
{
    return (struct group_ping){ .rail = (uint32_t)rail,
                                .peer = g->first[g->me] + (uint32_t)rail };
}

/* The transport's flow: the two sides of a pair have flows of their own, so
 * that they do not measure the same paths twice.
 */
static uint8_t flow_of (const struct plan_part *part, unsigned int side,
                        size_t flow)
{
    return (uint8_t)(part->flows > 1 ? side * part->flows + flow : 0);
}

/* Ping by a flow for those of the tasks first .. last-1 that are on this side.
 * The work for one rail delays the other rails of the process, so rails ping
 * one after the other, in the same order everywhere.
 */
static int run_half (struct group *g, struct plan_part *part, uint8_t flow,
                     size_t first, size_t last, unsigned int side, bool awake,
                     int64_t start, struct error *err)
{
    int64_t slot = group_gap (g) / (int64_t)g->rails;

    for (size_t rail = 0; rail < g->rails; rail++)
        for (size_t i = first; i < last; i++) {
            struct plan_task *task = &part->task[i];

            task->ping.way.flow = flow_of (part, task->side, flow);
            if (task->ping.rail == rail && task->side == side
                && (group_until (g, start + (int64_t)rail * slot, err) < 0
                    || ping_plan_row (g, part, i * part->flows + flow,
                                      &task->ping, awake, err)
                           < 0))
                return -1;
        }
    return 0;
}

/* Prepare for all pings. A first ping per task and flow also warms up its path
 * and does not count; one per loopback shows whether a rail that measures has
 * any: if not, that is no error.
 */
static int prepare_plan_part (struct group *g, struct plan_part *part,
                              struct error *err)
{
    int64_t until = group_now (g) + group_dead_ns (g);

    for (size_t i = 0; i < flow_rows (part); i++)
        for (unsigned int side = 0; side < (part->flows > 1 ? 2 : 1); side++) {
            struct group_ping *ping = &part->task[i / part->flows].ping;

            ping->way.flow = flow_of (part, side, i % part->flows);
            if (group_prepare (g, ping->rail, ping->peer, ping->way, until,
                               err)
                < 0)
                return -1;
        }
    for (size_t i = 0; i < flow_rows (part); i++) {
        struct plan_task *task = &part->task[i / part->flows];
        struct group_ping *ping = &task->ping;

        ping->way.flow = flow_of (part, task->side, i % part->flows);
        if (group_ping (g, ping, err) < 0)
            return -1;
        part->loops[ping->rail] = true;
    }
    until = group_now (g) + LOOP_READY * group_gap (g);
    for (size_t rail = 0; rail < part->rails; rail++) {
        struct group_ping ping = loop_of (g, rail);

        if (!part->loops[rail])
            continue;
        if (group_prepare (g, ping.rail, ping.peer, ping.way, until, err) < 0
            || group_ping (g, &ping, err) < 0)
            return -1;
        part->loops[rail] = ping.rtt_ns >= 0;
    }
    return 0;
}

/* One pass of a round: the tasks first .. last-1, from one side, then from the
 * other.
 */
static int run_step (struct group *g, struct plan_part *part, unsigned int pass,
                     size_t first, size_t last, struct error *err)
{
    int64_t gap = group_gap (g);
    int64_t side = (int64_t)g->t->turns * gap;
    int64_t mine = (int64_t)g->t->mine * gap;
    uint8_t flow = (uint8_t)(pass % part->flows);
    bool awake = group_attend (g, last > first);
    int64_t start;

    if (group_barrier (g, err) < 0)
        return -1;
    start = group_now (g) + gap;
    if (run_half (g, part, flow, first, last, pass & 1, awake,
                  start + mine, err) < 0
        || run_half (g, part, flow, first, last, !(pass & 1), awake,
                     start + side + mine, err) < 0)
        return -1;
    return group_until (g, start + 2 * side + gap, err);
}

/* Measure each rail's loopback, while nothing else is measured. Members that
 * share a core take turns. All wait as long as the member with most rails
 * needs. After a lost message a rail's loopback is not measured again.
 */
static int run_loops (struct group *g, struct plan_part *part, size_t which,
                      struct error *err)
{
    int64_t gap = group_gap (g);
    size_t most = 1; /* rails of a member */
    int64_t turns = (int64_t)g->t->turns;
    bool awake = group_attend (g, part->ntasks > 0);
    int64_t turn, start;

    for (size_t m = 0; m < g->n; m++)
        if (g->first[m + 1] - g->first[m] > most)
            most = g->first[m + 1] - g->first[m];
    turn = (int64_t)(1 + most * part->repeats / LOOPS_PER_GAP) * gap;
    if (group_barrier (g, err) < 0)
        return -1;
    start = group_now (g) + gap;
    if (group_until (g, start + (int64_t)g->t->mine * turn, err) < 0)
        return -1;
    for (size_t rail = 0; rail < part->rails; rail++) {
        size_t row = flow_rows (part) + which * part->rails + rail;
        struct group_ping ping = loop_of (g, rail);

        for (unsigned int k = 0; part->loops[rail] && k < part->repeats; k++) {
            if (ping_plan_row (g, part, row, &ping, awake, err) < 0)
                return -1;
            part->loops[rail] = ping.rtt_ns >= 0;
        }
    }
    return group_until (g, start + turns * turn + gap, err);
}

/* Run all passes, and the loopbacks of each part of the run. */
static int run_rounds (struct group *g, struct plan_part *part,
                       struct progress *progress, struct error *err)
{
    uint64_t total = (uint64_t)part->repeats * part->rounds;
    size_t last = 0; /* tasks of this pass up to here are done */
    uint64_t done = 0;
    size_t which = 0;
    int rc = 0;

    while (rc == 0 && which < LOOP_PARTS) {
        bool loops = done == total * which / (LOOP_PARTS - 1);
        uint64_t round = loops ? round_of_loops (part, which)
                               : done % part->rounds;
        size_t first = round > 0 ? last : 0;
        int64_t deadline = stage_step (g);

        if (loops)
            rc = run_loops (g, part, which++, err);
        else {
            for (last = first; last < part->ntasks
                               && part->task[last].round == round; last++)
                ;
            rc = run_step (g, part, (unsigned int)(done++ / part->rounds),
                           first, last, err);
            if (rc == 0 && progress)
                progress_show (progress, done, total);
        }
        stage_step_end (g, deadline, rc, round, err);
    }
    return rc;
}

/* Begin or end to count what the ports of this host carry for others. */
static void watch_ports (struct group *g, bool begins)
{
    if (g->watch)
        (begins ? ports_watch_begin : ports_watch_end) (
            g->watch, stage_sysfs (g), group_now (g), group_stats (g).bytes);
}

static int run_part (struct group *g, struct plan_part *part,
                     struct progress *progress, struct error *err)
{
    int rc;

    if (g->transport->set_level)
        g->transport->set_level (g->t, part->level);
    group_attend (g, part->ntasks > 0);
    rc = prepare_plan_part (g, part, err);
    watch_ports (g, true);
    if (rc == 0)
        rc = run_rounds (g, part, progress, err);
    watch_ports (g, false);
    group_attend (g, false);
    return rc;
}

/*
 * Results
 */

/* Call this while the process is where it measured: it describes the host. */
static void pack_result (const struct group *g, const struct plan_part *part,
                         struct group_blob *blob)
{
    const struct transport *t = g->transport;
    struct group_stats stats = group_stats (g);
    const char *trouble = t->trouble ? t->trouble (g->t) : NULL;
    unsigned int failed = 0;
    size_t len = trouble ? strnlen (trouble, TROUBLE_MAX) : 0;
    size_t remark_len = 0, about_len;
    char *remark;
    FILE *fp = xcheck (open_memstream (&remark, &remark_len));
    uint8_t about[ABOUT_MAX], slot[TRANSPORT_RAILS_MAX];
    struct node node;
    uint8_t *p;

    if (g->watch)
        ports_say_traffic (g->watch, PROBE_REMARK, fp);
    xcheck (fclose (fp) == 0 ? remark : NULL);
    if (remark_len > REMARK_MAX)
        remark_len = REMARK_MAX;
    about_read (&node, "", *g->t->device ? g->t->device : NULL);
    about_len = about_pack (&node, about);
    about_slots (stage_sysfs (g), g->t, slot);
    blob->len = RESULT_HEADER + part->rails + len + remark_len + about_len;
    for (size_t i = 0; i < part_row_count (part); i++)
        blob->len += 2 + 4 * (size_t)(part->echoes[i] + ways_of (part, i));
    p = blob->data = xarray (blob->len, 1);
    wire_put (p, stats.late, 4);
    wire_put (p + 4, stats.duplicate, 4);
    wire_put (p + 8, stats.foreign, 4);
    for (unsigned int i = 0; i < part->rails; i++)
        failed |= (unsigned int)g->t->lost[i] << i;
    wire_put (p + 12, failed, 2);
    wire_put (p + 14, len, 1);
    wire_put (p + 15, remark_len, 2);
    wire_put (p + 17, about_len, 1);
    memcpy (p + RESULT_HEADER, slot, part->rails);
    p += RESULT_HEADER + part->rails;
    memcpy (p, trouble ? trouble : "", len);
    memcpy (p + len, remark, remark_len);
    memcpy (p + len + remark_len, about, about_len);
    p += len + remark_len + about_len;
    free (remark);
    for (size_t i = 0; i < part_row_count (part); i++) {
        wire_put (p, part->echoes[i], 2);
        p += 2;
        for (unsigned int k = 0; k < part->echoes[i]; k++, p += 4)
            wire_put (p, part->rtt[first_of (part, i) + k], 4);
        for (unsigned int w = 0; w < ways_of (part, i); w++, p += 4)
            wire_put (p, part->way[i][w], 4);
    }
}

/* Replace an earlier text, unless the new one is empty. */
static void take_text (char **text, const uint8_t *data, size_t len)
{
    if (len == 0)
        return;
    free (*text);
    *text = xcheck (strndup ((const char *)data, len));
}

/* Return false if the result is invalid. */
static bool unpack_result (struct plan_part *part,
                           const struct group_blob *blob,
                           struct probe_member *m, struct group_stats *stats)
{
    struct wire_in in = { blob->data, blob->len, false };
    uint32_t late = (uint32_t)wire_take (&in, 4);
    uint32_t duplicate = (uint32_t)wire_take (&in, 4);
    uint32_t foreign = (uint32_t)wire_take (&in, 4);
    unsigned int failed = (unsigned int)wire_take (&in, 2);
    size_t len = wire_take (&in, 1);
    size_t more = wire_take (&in, 2);
    size_t about = wire_take (&in, 1);
    const uint8_t *slot = wire_take_raw (&in, part->rails);
    const uint8_t *p = wire_take_raw (&in, len + more + about);

    if (!p)
        return false;
    for (unsigned int i = 0; i < part->rails; i++)
        if ((m->slot[i] = slot[i]) > i)
            return false;
    part->failed = failed;
    take_text (&m->trouble, p, len);
    take_text (&m->remark, p + len, more);
    if (len > 0)
        text_clean (m->trouble);
    if (about_unpack (&m->node, p + len + more, about) != about)
        return false;
    stats->late += late;
    stats->duplicate += duplicate;
    stats->foreign += foreign;
    for (size_t i = 0; i < part_row_count (part); i++) {
        size_t n = wire_take (&in, 2);

        if (n > passes_of (part, i))
            return false;
        for (size_t k = 0; k < n; k++)
            part->rtt[first_of (part, i) + k] = (uint32_t)wire_take (&in, 4);
        for (unsigned int w = 0; w < ways_of (part, i); w++)
            part->way[i][w] = (uint32_t)wire_take (&in, 4);
        if (!part->way[i][0] != !part->way[i][1])
            return false;
        part->echoes[i] = (unsigned int)n;
    }
    return !in.bad && in.left == 0;
}

/*
 * Following
 */

int probe_part (struct group *g, const struct group_blob *told,
                struct group_blob *found, struct error *err)
{
    struct plan_part part = { 0 };
    int rc = 0;

    if (!unpack_plan (&part, told, g))
        rc = error_world (err, "the leader sent an invalid plan");
    if (rc == 0 && (rc = run_part (g, &part, NULL, err)) == 0)
        pack_result (g, &part, found);
    part_clear (&part);
    return rc;
}

/*
 * Leading
 */

/* Add a task for one side of a probe to the part of the member that pings. */
static int add_task (const struct group *g, const struct probe_stage *stage,
                     size_t round, const struct probe *probe, size_t side,
                     struct plan_part *part, struct error *err)
{
    const struct probe_end *own = &stage->end[side ? probe->b : probe->a];
    const struct probe_end *other = &stage->end[side ? probe->a : probe->b];
    size_t m = g->member_of[own->peer];
    struct plan_part *p = &part[m];
    struct plan_task task = {
        .round = (uint32_t)(round - stage->first),
        .side = (uint8_t)side,
        .within = g->member_of[other->peer] == m,
        .ping = { .rail = own->peer - g->first[m], .peer = other->peer,
                  .way = { own->lid, other->lid, 0 } },
    };

    for (size_t i = p->ntasks; i > 0 && p->task[i - 1].round == task.round; i--)
        if (p->task[i - 1].ping.rail == task.ping.rail)
            return error_input (err, "an endpoint has two probes in round %zu "
                                "of the plan", round);
    p->task = xgrow (p->task, p->ntasks, sizeof (*p->task));
    p->task[p->ntasks++] = task;
    return 0;
}

/* Split the plan, from the stage's first round on, into the members' parts.
 * Each probe makes two tasks, one for each side.
 */
static int cut_plan (struct group *g, const struct probe_stage *stage,
                     struct plan_part *part, struct error *err)
{
    size_t rounds = plan_rounds (stage->plan), n;

    for (size_t m = 0; m < g->n; m++) {
        part[m].repeats = stage->repeats;
        part[m].flows = stage->flows > 0 ? stage->flows : 1;
        part[m].level = stage->level;
        part[m].rounds = (uint32_t)(rounds - stage->first);
        part[m].rails = g->first[m + 1] - g->first[m];
    }
    for (size_t round = stage->first; round < rounds; round++) {
        const struct probe *probe = plan_round (stage->plan, round, &n);

        for (size_t i = 0; i < 2 * n; i++)
            if (add_task (g, stage, round, &probe[i / 2], i % 2, part, err) < 0)
                return -1;
    }
    for (size_t m = 0; m < g->n; m++)
        alloc_results (&part[m]);
    return 0;
}

/* The times of a sample: the round trips of `rows` rows from one on, each times
 * `scale`; flow_ns gets the time of each row's flow, or of each message, or is
 * NULL. Return the number of round trips; if it is 0, there are no times.
 */
static uint32_t row_times (struct sample *s, double *flow_ns, bool single,
                           const struct plan_part *part, size_t row,
                           size_t rows, double scale)
{
    double rtt[PROBE_REPEATS_MAX];
    uint32_t slow[SLOW_LIMITS] = { 0 };
    uint32_t n = 0;

    for (size_t i = 0; i < rows; i++) {
        uint32_t first = n;

        for (unsigned int k = 0; k < part->echoes[row + i]; k++)
            rtt[n++] = scale * part->rtt[first_of (part, row + i) + k];
        if (flow_ns && !single)
            flow_ns[i] = sample_flow (rtt + first, n - first, slow);
    }
    if (flow_ns && single)
        memcpy (flow_ns, rtt, n * sizeof (*rtt));
    if (n > 0)
        sample_times (s, rtt, n, flow_ns && !single ? slow : NULL);
    return n;
}

/* The least times of a task's flows. */
static void join_ways (double *way_ns, const struct plan_part *part,
                       size_t task)
{
    for (size_t f = 0; f < 2 * (size_t)part->flows; f++) {
        uint32_t ns = part->way[task * part->flows + f / 2][f % 2];
        double *least = &way_ns[f % 2];

        if (ns > 0 && (*least == 0 || ns < *least))
            *least = ns;
    }
}

/* Whether the peer, a rail, failed while it was measured. */
static bool has_failed (const struct group *g, const struct plan_part *part,
                        uint32_t peer)
{
    size_t m = g->member_of[peer];

    return part[m].failed >> (peer - g->first[m]) & 1;
}

/* Add the samples in the order of the plan. The parts were split in that order,
 * too, so each member's tasks come one after the other. What a rail that failed
 * did not answer counts as never sent: no link has lost it. Then the loopbacks:
 * of each peer as that of its end with the lowest LID.
 */
static void join_results (struct group *g, const struct probe_stage *stage,
                          const struct plan_part *part, struct samples *samples)
{
    const struct probe_end *end = stage->end;
    size_t *next = xcalloc (g->n, sizeof (*next)), n;
    uint32_t *end_of = xarray (g->npeers, sizeof (*end_of));

    memset (end_of, 0xff, g->npeers * sizeof (*end_of));
    for (size_t round = stage->first; round < plan_rounds (stage->plan);
         round++) {
        const struct probe *probe = plan_round (stage->plan, round, &n);

        for (size_t i = 0; i < 2 * n; i++) {
            uint32_t own = i % 2 ? probe[i / 2].b : probe[i / 2].a;
            uint32_t peer = end[own].peer;
            const struct plan_part *of = &part[g->member_of[peer]];
            size_t task = next[g->member_of[peer]]++;
            double flow_ns[SAMPLE_FLOWS_MAX];
            struct sample sample = {
                .a = probe[i / 2].a, .b = probe[i / 2].b,
                .round = (uint32_t)round, .initiator = own, .sent = of->repeats,
                .flow_ns = of->flows > 1 ? flow_ns : NULL,
                .nflows = of->flows > 1 ? of->flows : 0,
            };

            sample.lost = of->repeats
                          - row_times (&sample, sample.flow_ns, stage->single,
                                       of, task * of->flows, of->flows, 1);
            if (has_failed (g, part, end[sample.a].peer)
                || has_failed (g, part, end[sample.b].peer)) {
                sample.sent -= sample.lost;
                sample.lost = 0;
            }
            if (stage->single)
                sample.nflows = sample.sent - sample.lost;
            join_ways (sample.way_ns, of, task);
            samples_add (samples, &sample);
            if (end_of[peer] == NO_END || end[own].lid < end[end_of[peer]].lid)
                end_of[peer] = own;
        }
    }
    for (size_t which = 0; which < LOOP_PARTS; which++)
        for (uint32_t p = 0; p < g->npeers; p++) {
            size_t m = g->member_of[p];
            size_t row = flow_rows (&part[m]) + which * part[m].rails
                         + (p - g->first[m]);
            struct loopback loopback = {
                .end = end_of[p],
                .round = (uint32_t)(stage->first
                                    + round_of_loops (&part[m], which)),
            };
            struct sample times = { 0 };

            if (end_of[p] == NO_END
                || row_times (&times, NULL, false, &part[m], row, 1, 0.5) == 0)
                continue;
            memcpy (loopback.rtt_ns, times.rtt_ns, sizeof (times.rtt_ns));
            samples_add_loopback (samples, &loopback);
        }
    free (end_of);
    free (next);
}

/* Give the members their parts, run the leader's own, collect the results. */
static int run_stage (struct group *g, enum stage number,
                      const struct probe_stage *stage, struct plan_part *part,
                      struct stage_member *in, struct probe_result *result,
                      struct error *err)
{
    if (stage->repeats < 1 || stage->repeats > PROBE_REPEATS_MAX
        || plan_rounds (stage->plan) > PROBE_ROUNDS_MAX)
        return error_input (err, "Repeats: not from 1 to %d",
                            PROBE_REPEATS_MAX);
    if (stage->flows > PROBE_FLOWS_MAX || stage->flows > stage->repeats)
        return error_input (err, "%u flows: more than %d, or than the %u "
                            "repeats", stage->flows, PROBE_FLOWS_MAX,
                            stage->repeats);
    if (stage->single && stage->repeats > SAMPLE_FLOWS_MAX)
        return error_input (err, "%u single messages: more than %d",
                            stage->repeats, SAMPLE_FLOWS_MAX);
    if (cut_plan (g, stage, part, err) < 0)
        return -1;
    for (size_t m = 0; m < g->n; m++)
        if (pack_plan (&part[m], &in[m].told, err) < 0)
            return -1;
    if (stage_tell (g, number, in, err) < 0
        || run_part (g, &part[g->me], stage->progress, err) < 0
        || stage_hear (g, number, in, err) < 0)
        return -1;
    pack_result (g, &part[g->me], &in[g->me].found);
    result->stats = (struct group_stats){ 0 };
    for (size_t m = 0; m < g->n; m++) {
        struct probe_member *member = &result->member[m];

        member->answered = in[m].answered;
        if (!in[m].found.data
            || unpack_result (&part[m], &in[m].found, member, &result->stats))
            continue;
        member->answered = false;
        memset (part[m].echoes, 0,
                part_row_count (&part[m]) * sizeof (*part[m].echoes));
    }
    join_results (g, stage, part, result->samples);
    return 0;
}

struct stage_member *probe_result_stage (struct probe_result *result,
                                         enum stage stage)
{
    struct stage_member *in = xcalloc (result->nmembers, sizeof (*in));

    for (size_t m = 0; m < result->nmembers; m++)
        in[m].answered = result->member[m].answered;
    return result->stage[stage] = in;
}

int probe_lead (struct group *g, const struct probe_stage *stage,
                struct probe_result *result, struct error *err)
{
    struct plan_part *part = xcalloc (g->n, sizeof (*part));
    enum stage number = result->samples ? STAGE_PROBE_AGAIN : STAGE_PROBE;
    int rc;

    if (!result->samples) {
        result->samples = samples_create ();
        result->member = xcalloc (g->n, sizeof (*result->member));
        result->nmembers = g->n;
        for (size_t m = 0; m < g->n; m++)
            result->member[m].answered = true;
    }
    rc = run_stage (g, number, stage, part, probe_result_stage (result, number),
                    result, err);
    for (size_t m = 0; m < g->n; m++)
        part_clear (&part[m]);
    free (part);
    return rc;
}

void probe_result_clear (struct probe_result *result)
{
    for (size_t m = 0; m < result->nmembers; m++) {
        for (size_t i = 0; i < STAGES; i++)
            if (result->stage[i])
                stage_member_clear (&result->stage[i][m]);
        free (result->member[m].trouble);
        free (result->member[m].remark);
    }
    for (size_t i = 0; i < STAGES; i++)
        free (result->stage[i]);
    free (result->member);
    samples_destroy (result->samples);
    *result = (struct probe_result){ 0 };
}
