/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe: a plan in, samples out.
 *
 * Notes: formats, little-endian; numbers are sizes in bytes.
 *
 * The leader sends each member (GROUP_PLAN): version 1, service level 1,
 * repeats 2, rounds 4, tasks 4; per task, in the order of the rounds: round 4,
 * peer 4, rail 1, side 1, own LID 1, the peer's LID 1.
 *
 * Each member replies (GROUP_RESULT): late 4, duplicate 4, foreign 4, all since
 * the beginning; the lengths of its trouble 1, of its remark 2 and of the
 * description of its host (probe/about) 1, then these three; then per task, and
 * after the tasks per loopback, by part of the run and rail: echoes 2, and for
 * each an RTT in ns 4.
 *
 * A loopback is a ping of a rail to itself. Its round trip is two messages over
 * the same path, so the time of one message is half of it.
 *
 * A member waits until the leader fetches one of two empty objects: a stage's
 * GROUP_NEXT, after which the member fetches its plan, or GROUP_BYE. Meanwhile
 * it only checks that the leader is alive; the leader answers even while it
 * plans (group_meanwhile).
 */
#include "config.h"
#include "probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "probe/about.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/text.h"

enum {
    PLAN_VERSION = 3,
    PLAN_HEADER = 12,
    TASK_SIZE = 12,
    RESULT_HEADER = 16,
    TROUBLE_MAX = 200, /* bytes */
    REMARK_MAX = 1600,
    LINGER = 500, /* gaps in which the last answer may be requested again */
    STEP_DEADS = 8, /* limit of a step: this many times group_dead_ns */
    LOOP_PARTS = 3, /* loopbacks: before, in the middle of, after the rounds */
    LOOPS_PER_GAP = 4,
    NO_END = 0xffffffff,
    LOOP_READY = 50, /* gaps in which rails must be ready for loopbacks */
};

static const struct {
    enum group_kind next, plan, result;
} stage_kind[PROBE_STAGES] = {
    { GROUP_NEXT, GROUP_PLAN, GROUP_RESULT },
    { GROUP_NEXT_2, GROUP_PLAN_2, GROUP_RESULT_2 },
};

struct plan_task {
    uint32_t round;
    uint32_t peer;
    uint8_t rail;
    uint8_t side; /* 0: the plan's a; 1: its b */
    struct transport_way way;
};

struct plan_part { /* one member's part of a plan, and its results */
    unsigned int repeats;
    unsigned int level;
    uint32_t rounds;
    struct plan_task *task;
    size_t ntasks;
    size_t rails;
    bool loops[TRANSPORT_RAILS_MAX]; /* rails that can send to themselves */
    /* results: rows for the tasks, then for the loopbacks, by part of the run
     * and rail
     */
    uint32_t *rtt; /* [rows * repeats] */
    unsigned int *echoes; /* [rows] */
};

static size_t rows_of (const struct plan_part *part)
{
    return part->ntasks + LOOP_PARTS * part->rails;
}

static size_t loop_row (const struct plan_part *part, size_t which, size_t rail)
{
    return part->ntasks + which * part->rails + rail;
}

static void part_clear (struct plan_part *part)
{
    free (part->task);
    free (part->rtt);
    free (part->echoes);
}

static void part_alloc_results (struct plan_part *part)
{
    size_t rows = rows_of (part);

    part->rtt = xcalloc (rows * part->repeats, sizeof (*part->rtt));
    part->echoes = xcalloc (rows, sizeof (*part->echoes));
}

/* Whether a part and its results fit into objects of the group. */
static bool fits (const struct plan_part *part)
{
    size_t result = 2 + 4 * (size_t)part->repeats; /* of one task */
    size_t most = GROUP_BLOB_MAX - RESULT_HEADER - TROUBLE_MAX - REMARK_MAX
                  - ABOUT_MAX;

    return part->ntasks <= (GROUP_BLOB_MAX - PLAN_HEADER) / TASK_SIZE
           && rows_of (part) <= most / result;
}

static int pack_plan (const struct plan_part *part, struct group_blob *blob,
                      struct error *err)
{
    uint8_t *p;

    blob->len = PLAN_HEADER + part->ntasks * TASK_SIZE;
    if (!fits (part))
        return error_input (err, "%zu probes, %u times each, are too many for "
                            "one node", part->ntasks, part->repeats);
    p = blob->data = xarray (blob->len, 1);
    p[0] = PLAN_VERSION;
    wire_put (p + 1, part->level, 1);
    wire_put (p + 2, part->repeats, 2);
    wire_put (p + 4, part->rounds, 4);
    wire_put (p + 8, part->ntasks, 4);
    p += PLAN_HEADER;
    for (size_t i = 0; i < part->ntasks; i++, p += TASK_SIZE) {
        wire_put (p, part->task[i].round, 4);
        wire_put (p + 4, part->task[i].peer, 4);
        p[8] = part->task[i].rail;
        p[9] = part->task[i].side;
        p[10] = part->task[i].way.own;
        p[11] = part->task[i].way.other;
    }
    return 0;
}

static int bad_plan (struct error *err)
{
    return error_world (err, "the leader sent a plan that makes no sense");
}

static int unpack_plan (struct plan_part *part, const struct group_blob *blob,
                        uint32_t npeers, size_t rails, struct error *err)
{
    struct wire_in in = { blob->data, blob->len, false };
    uint32_t round = 0;

    if (wire_take (&in, 1) != PLAN_VERSION)
        return bad_plan (err);
    part->level = (unsigned int)wire_take (&in, 1);
    part->repeats = (unsigned int)wire_take (&in, 2);
    part->rounds = (uint32_t)wire_take (&in, 4);
    part->ntasks = wire_take (&in, 4);
    part->rails = rails;
    if (in.bad || part->level > PROBE_LEVEL_MAX
        || part->repeats > PROBE_REPEATS_MAX || part->rounds > PROBE_ROUNDS_MAX
        || in.left != part->ntasks * TASK_SIZE || !fits (part))
        return bad_plan (err);
    part->task = xcalloc (part->ntasks, sizeof (*part->task));
    for (size_t i = 0; i < part->ntasks; i++) {
        struct plan_task *task = &part->task[i];

        task->round = (uint32_t)wire_take (&in, 4);
        task->peer = (uint32_t)wire_take (&in, 4);
        task->rail = (uint8_t)wire_take (&in, 1);
        task->side = (uint8_t)wire_take (&in, 1);
        task->way.own = (uint8_t)wire_take (&in, 1);
        task->way.other = (uint8_t)wire_take (&in, 1);
        if (task->round < round || task->round >= part->rounds
            || task->peer >= npeers || task->rail >= rails || task->side > 1)
            return bad_plan (err);
        round = task->round;
    }
    part_alloc_results (part);
    return 0;
}

/* Ping once for a row of the results; if not awake, wake the path first. */
static int run_ping (struct group *g, struct plan_part *part, size_t row,
                     struct group_ping ping, bool awake, struct error *err)
{
    if ((!awake && group_wake (g, &ping, 1, err) < 0)
        || group_pings (g, &ping, 1, err) < 0)
        return -1;
    if (ping.rtt_ns >= 0)
        part->rtt[row * part->repeats + part->echoes[row]++]
            = ping.rtt_ns < UINT32_MAX ? (uint32_t)ping.rtt_ns : UINT32_MAX;
    return 0;
}

static struct group_ping ping_of (const struct plan_task *task)
{
    return (struct group_ping){ .rail = task->rail, .peer = task->peer,
                                .way = task->way };
}

static struct group_ping loop_of (const struct group *g, size_t rail)
{
    return (struct group_ping){ .rail = (uint32_t)rail,
                                .peer = group_own_peer (g, (uint32_t)rail) };
}

/* Ping for those of the tasks first .. last-1 that are on this side. The work
 * for one rail delays the other rails of the process, so rails ping one after
 * the other, in the same order everywhere.
 */
static int run_half (struct group *g, struct plan_part *part, size_t first,
                     size_t last, unsigned int side, bool awake, int64_t start,
                     struct error *err)
{
    size_t rails = group_rails (g);
    int64_t slot = group_gap (g) / (int64_t)rails;

    for (size_t rail = 0; rail < rails; rail++)
        for (size_t i = first; i < last; i++)
            if (part->task[i].rail == rail && part->task[i].side == side
                && (group_until (g, start + (int64_t)rail * slot, err) < 0
                    || run_ping (g, part, i, ping_of (&part->task[i]), awake,
                                 err) < 0))
                return -1;
    return 0;
}

/* Prepare for one ping, until a time. If it is not ready by then, its messages
 * will be lost.
 */
static int prepare_one (struct group *g, const struct group_ping *ping,
                        int64_t until, struct error *err)
{
    int rc;

    while ((rc = group_prepare (g, ping->rail, ping->peer, ping->way, err)) == 0
           && group_now (g) < until)
        if (group_until (g, group_now (g) + group_gap (g), err) < 0)
            return -1;
    return rc < 0 ? -1 : 0;
}

/* Prepare the loopbacks of rails that measure. A first ping shows whether a
 * rail has a loopback; if not, that is no error.
 */
static int prepare_loops (struct group *g, struct plan_part *part,
                          struct error *err)
{
    int64_t until = group_now (g) + LOOP_READY * group_gap (g);

    for (size_t i = 0; i < part->ntasks; i++)
        part->loops[part->task[i].rail] = true;
    for (size_t rail = 0; rail < part->rails; rail++) {
        struct group_ping ping = loop_of (g, rail);

        if (!part->loops[rail])
            continue;
        if (prepare_one (g, &ping, until, err) < 0
            || group_pings (g, &ping, 1, err) < 0)
            return -1;
        part->loops[rail] = ping.rtt_ns >= 0;
    }
    return 0;
}

/* Prepare for all pings. A first ping per task also warms up its path and does
 * not count.
 */
static int prepare (struct group *g, struct plan_part *part, struct error *err)
{
    int64_t until = group_now (g) + group_dead_ns (g);

    for (size_t i = 0; i < part->ntasks; i++) {
        struct group_ping ping = ping_of (&part->task[i]);

        if (prepare_one (g, &ping, until, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < part->ntasks; i++) {
        struct group_ping ping = ping_of (&part->task[i]);

        if (group_pings (g, &ping, 1, err) < 0)
            return -1;
    }
    return prepare_loops (g, part, err);
}

/* One pass of a round: the tasks first .. last-1, from one side, then from the
 * other.
 */
static int run_step (struct group *g, struct plan_part *part, unsigned int pass,
                     size_t first, size_t last, struct error *err)
{
    int64_t gap = group_gap (g);
    size_t mine;
    int64_t side = (int64_t)group_turns (g, &mine) * gap;
    bool awake = group_attend (g, last > first);
    int64_t start;

    if (group_barrier (g, err) < 0)
        return -1;
    start = group_now (g) + gap;
    if (run_half (g, part, first, last, pass & 1, awake,
                  start + (int64_t)mine * gap, err) < 0
        || run_half (g, part, first, last, !(pass & 1), awake,
                     start + side + (int64_t)mine * gap, err) < 0
        || group_until (g, start + 2 * side + gap, err) < 0)
        return -1;
    return 0;
}

/* The number of rails of a member; below, of the member that has most. */
static size_t rails_of (const struct group *g, size_t m)
{
    return group_first_peer (g, m + 1) - group_first_peer (g, m);
}

static size_t most_rails (const struct group *g)
{
    size_t most = 1;

    for (size_t m = 0; m < group_size (g); m++)
        if (rails_of (g, m) > most)
            most = rails_of (g, m);
    return most;
}

/* Measure each rail's loopback, while nothing else is measured. Members that
 * share a core take turns. All wait as long as the member with most rails
 * needs. After a lost message a rail's loopback is not measured again.
 */
static int run_loops (struct group *g, struct plan_part *part,
                      unsigned int which, struct error *err)
{
    int64_t gap = group_gap (g);
    size_t gaps = 1 + most_rails (g) * part->repeats / LOOPS_PER_GAP;
    int64_t turn = (int64_t)gaps * gap;
    size_t mine;
    int64_t turns = (int64_t)group_turns (g, &mine);
    bool awake = group_attend (g, part->ntasks > 0);
    int64_t start;

    if (group_barrier (g, err) < 0)
        return -1;
    start = group_now (g) + gap;
    if (group_until (g, start + (int64_t)mine * turn, err) < 0)
        return -1;
    for (size_t rail = 0; rail < part->rails; rail++) {
        size_t row = loop_row (part, which, rail);

        for (unsigned int k = 0; part->loops[rail] && k < part->repeats; k++) {
            if (run_ping (g, part, row, loop_of (g, rail), awake, err) < 0)
                return -1;
            part->loops[rail] = part->echoes[row] > k;
        }
    }
    return group_until (g, start + turns * turn + gap, err);
}

/* A pass of a round, or the loopbacks of a part of the run. */
struct probe_work {
    bool loops;
    unsigned int part; /* of the run */
    unsigned int pass;
    uint32_t round;
    size_t first, last; /* tasks */
};

/* Run this within STEP_DEADS * group_dead_ns and the group's deadline. */
static int run_in_time (struct group *g, struct plan_part *part,
                        const struct probe_work *w, struct error *err)
{
    int64_t end = group_deadline (g);
    int64_t limit = STEP_DEADS * group_dead_ns (g);
    int rc;

    if (group_now (g) + limit < end)
        group_set_deadline (g, group_now (g) + limit);
    rc = w->loops ? run_loops (g, part, w->part, err)
                  : run_step (g, part, w->pass, w->first, w->last, err);
    if (rc < 0 && group_now (g) >= group_deadline (g) && group_now (g) < end)
        error_world (err, "round %u took longer than %g s", w->round + 1,
                     (double)limit / 1e9);
    group_set_deadline (g, end);
    return rc;
}

/* The round before which a part's loopbacks are recorded, as if there were only
 * one pass.
 */
static uint32_t loop_round (uint32_t rounds, unsigned int which)
{
    return (uint32_t)((uint64_t)rounds * which / (LOOP_PARTS - 1));
}

static int run_rounds (struct group *g, struct plan_part *part,
                       struct progress *progress, struct error *err)
{
    uint64_t total = (uint64_t)part->repeats * part->rounds;
    uint64_t done = 0;
    struct probe_work w = { .last = 0 };

    for (unsigned int which = 0; which < LOOP_PARTS; which++) {
        const struct probe_work loops = { .loops = true, .part = which,
                                    .round = loop_round (part->rounds, which) };
        uint64_t until = total * (which + 1) / (LOOP_PARTS - 1);

        if (run_in_time (g, part, &loops, err) < 0)
            return -1;
        while (done < total && done < until) {
            w.pass = (unsigned int)(done / part->rounds);
            w.round = (uint32_t)(done % part->rounds);
            w.first = w.last = w.round > 0 ? w.last : 0;
            while (w.last < part->ntasks
                   && part->task[w.last].round == w.round)
                w.last++;
            if (run_in_time (g, part, &w, err) < 0)
                return -1;
            done++;
            if (progress)
                progress_show (progress, done, total);
        }
    }
    return 0;
}

static int run_part (struct group *g, struct plan_part *part,
                     struct progress *progress, struct error *err)
{
    int rc;

    group_set_level (g, part->level);
    group_attend (g, part->ntasks > 0);
    rc = prepare (g, part, err);
    group_stage (g, true);
    if (rc == 0)
        rc = run_rounds (g, part, progress, err);
    group_stage (g, false);
    group_attend (g, false);
    return rc;
}

/* Describe this host; call it while the process is where it measured. */
static struct node read_about (const struct group *g)
{
    struct node node;
    char device[64];

    about_read (&node, "", group_device (g, device, sizeof (device)));
    return node;
}

static void pack_result (const struct group *g, const struct plan_part *part,
                         struct group_blob *blob)
{
    struct group_stats stats = group_stats (g);
    const char *trouble = group_trouble (g);
    char *remark = group_remark (g);
    size_t len = trouble ? strnlen (trouble, TROUBLE_MAX) : 0;
    size_t more = remark ? strnlen (remark, REMARK_MAX) : 0;
    uint8_t about[ABOUT_MAX];
    struct node node = read_about (g);
    size_t about_len = about_pack (&node, about);
    uint8_t *p;

    blob->len = RESULT_HEADER + len + more + about_len;
    for (size_t i = 0; i < rows_of (part); i++)
        blob->len += 2 + 4 * (size_t)part->echoes[i];
    p = blob->data = xarray (blob->len, 1);
    wire_put (p, stats.late, 4);
    wire_put (p + 4, stats.duplicate, 4);
    wire_put (p + 8, stats.foreign, 4);
    wire_put (p + 12, len, 1);
    wire_put (p + 13, more, 2);
    wire_put (p + 15, about_len, 1);
    p += RESULT_HEADER;
    if (len > 0)
        memcpy (p, trouble, len);
    if (more > 0)
        memcpy (p + len, remark, more);
    free (remark);
    memcpy (p + len + more, about, about_len);
    p += len + more + about_len;
    for (size_t i = 0; i < rows_of (part); i++) {
        wire_put (p, part->echoes[i], 2);
        p += 2;
        for (unsigned int k = 0; k < part->echoes[i]; k++, p += 4)
            wire_put (p, part->rtt[i * part->repeats + k], 4);
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
    size_t len = wire_take (&in, 1);
    size_t more = wire_take (&in, 2);
    size_t about = wire_take (&in, 1);
    const uint8_t *p = wire_take_raw (&in, len + more + about);

    if (!p)
        return false;
    take_text (&m->trouble, p, len);
    take_text (&m->remark, p + len, more);
    if (len > 0)
        text_clean (m->trouble);
    if (about_unpack (&m->node, p + len + more, about) != about)
        return false;
    stats->late += late;
    stats->duplicate += duplicate;
    stats->foreign += foreign;
    for (size_t i = 0; i < rows_of (part); i++) {
        size_t n = wire_take (&in, 2);

        if (n > part->repeats)
            return false;
        for (size_t k = 0; k < n; k++)
            part->rtt[i * part->repeats + k] = (uint32_t)wire_take (&in, 4);
        part->echoes[i] = (unsigned int)n;
    }
    return !in.bad && in.left == 0;
}

static int leader_is_gone (const char *name, struct error *err)
{
    return error_world (err, "%s, which leads the check, does not answer",
                        *name ? name : "the node");
}

/* Wait for the next instruction. Return 1 for this stage, 0 for the end, -1
 * with err. No stage comes after the last.
 */
static int wait_for_stage (struct group *g, size_t leader, const char *name,
                           int stage, struct error *err)
{
    bool another = stage < PROBE_STAGES;
    enum group_kind kind[2] = { GROUP_BYE };
    int rc;

    if (another)
        kind[1] = stage_kind[stage].next;
    for (int i = 0; i <= another; i++)
        group_serve (g, kind[i], GROUP_ALL, NULL, 0);
    rc = group_await (g, kind, 1 + another, leader, err);
    if (rc <= 0)
        return rc < 0 ? -1 : leader_is_gone (name, err);
    return !group_served (g, GROUP_BYE);
}

/* What a member has received and what it reports, in one stage. */
struct followed {
    struct group_blob plan;
    struct plan_part part;
    struct group_blob result;
};

static int follow_stage (struct group *g, size_t leader, const char *name,
                         int stage, struct followed *f, struct error *err)
{
    uint32_t from = (uint32_t)leader;

    if (group_fetch (g, stage_kind[stage].plan, &from, 1, &f->plan, err) < 0) {
        f->plan.data = NULL;
        return -1;
    }
    if (!f->plan.data)
        return leader_is_gone (name, err);
    if (unpack_plan (&f->part, &f->plan, group_peers (g), group_rails (g),
                     err) < 0
        || run_part (g, &f->part, NULL, err) < 0)
        return -1;
    pack_result (g, &f->part, &f->result);
    group_serve (g, stage_kind[stage].result, GROUP_ALL, f->result.data,
                 f->result.len);
    return 0;
}

int probe_follow (struct group *g, size_t leader, const char *name,
                  struct error *err)
{
    struct followed f[PROBE_STAGES] = { 0 };
    int more;

    for (int stage = 0;
         (more = wait_for_stage (g, leader, name, stage, err)) > 0; stage++)
        if (follow_stage (g, leader, name, stage, &f[stage], err) < 0) {
            more = -1;
            break;
        }
    /* stay for a while: the leader may have missed the last answer */
    if (more >= 0
        && group_until (g, group_now (g) + LINGER * group_gap (g), err) < 0)
        more = -1;
    for (int stage = 0; stage < PROBE_STAGES; stage++) {
        part_clear (&f[stage].part);
        free (f[stage].plan.data);
        free (f[stage].result.data);
    }
    return more;
}

/* Fetch an object from all other members that are marked `answered`. If one
 * does not answer, clear its mark. blob NULL: the objects are empty, and the
 * request itself is the message.
 */
static int ask_others (struct group *g, enum group_kind kind,
                       struct probe_member *member, struct group_blob *blob,
                       struct error *err)
{
    size_t n = group_size (g);
    uint32_t *from = xarray (n, sizeof (*from));
    struct group_blob *got = xcalloc (n, sizeof (*got));
    size_t count = 0;
    int rc;

    for (size_t m = 0; m < n; m++)
        if (m != group_me (g) && member[m].answered)
            from[count++] = (uint32_t)m;
    rc = group_fetch (g, kind, from, count, got, err);
    for (size_t i = 0; i < count && rc == 0; i++) {
        member[from[i]].answered = got[i].data != NULL;
        if (blob)
            blob[from[i]] = got[i];
        else
            free (got[i].data);
    }
    free (from);
    free (got);
    return rc;
}

/* Dismiss the members that are marked `answered`; NULL: all. */
static int dismiss (struct group *g, const struct probe_member *member,
                    struct error *err)
{
    size_t n = group_size (g);
    struct probe_member *there = xcalloc (n, sizeof (*there));
    int rc;

    for (size_t m = 0; m < n; m++)
        there[m].answered = !member || member[m].answered;
    rc = ask_others (g, GROUP_BYE, there, NULL, err);
    free (there);
    return rc;
}

int probe_cancel (struct group *g, struct error *err)
{
    return dismiss (g, NULL, err);
}

/* An iterator over all sides of all probes, in the order of the plan. */
struct plan_side {
    size_t round, next; /* set these to the first round and 0 */
    const struct probe *probe;
    uint8_t side; /* 0: the plan's a; 1: its b */
    uint32_t own, other; /* endpoints */
};

static bool next_side (const struct plan *plan, struct plan_side *s)
{
    size_t n = 0;
    const struct probe *probe = NULL;

    for (; s->round < plan_rounds (plan); s->round++, s->next = 0) {
        probe = plan_round (plan, s->round, &n);
        if (s->next < 2 * n)
            break;
    }
    if (s->round == plan_rounds (plan))
        return false;
    s->probe = &probe[s->next / 2];
    s->side = s->next++ % 2;
    s->own = s->side ? s->probe->b : s->probe->a;
    s->other = s->side ? s->probe->a : s->probe->b;
    return true;
}

/* Whether the rail already has a task in this task's round. */
static bool is_busy (const struct plan_part *part, const struct plan_task *task)
{
    for (size_t i = part->ntasks; i-- > 0;) {
        if (part->task[i].round != task->round)
            break;
        if (part->task[i].rail == task->rail)
            return true;
    }
    return false;
}

/* Split the plan, from the stage's first round on, into the members' parts.
 * Each probe makes two tasks, one for each side.
 */
static int cut_plan (struct group *g, const struct probe_stage *stage,
                     struct plan_part *part, struct error *err)
{
    struct plan_side s = { .round = stage->first };

    for (size_t m = 0; m < group_size (g); m++) {
        part[m].repeats = stage->repeats;
        part[m].level = stage->level;
        part[m].rounds = (uint32_t)(plan_rounds (stage->plan) - stage->first);
        part[m].rails = rails_of (g, m);
    }
    while (next_side (stage->plan, &s)) {
        const struct probe_end *own = &stage->end[s.own];
        const struct probe_end *other = &stage->end[s.other];
        uint32_t rail;
        struct plan_part *p = &part[group_find_peer (g, own->peer, &rail)];
        struct plan_task task = { (uint32_t)(s.round - stage->first),
                                  other->peer,
                                  (uint8_t)rail,
                                  s.side,
                                  { own->lid, other->lid } };

        if (is_busy (p, &task))
            return error_input (err, "an endpoint has two probes in round %zu "
                                "of the plan", s.round);
        p->task = xgrow (p->task, p->ntasks, sizeof (*p->task));
        p->task[p->ntasks++] = task;
    }
    for (size_t m = 0; m < group_size (g); m++)
        part_alloc_results (&part[m]);
    return 0;
}

/* Add the samples in the order of the plan. The parts were split in that order,
 * too, so each member's tasks come one after the other.
 */
static void join_results (struct group *g, const struct probe_stage *stage,
                          const struct plan_part *part, struct samples *samples)
{
    size_t *next = xcalloc (group_size (g), sizeof (*next));
    struct plan_side s = { .round = stage->first };
    double rtt[PROBE_REPEATS_MAX];

    while (next_side (stage->plan, &s)) {
        uint32_t rail;
        size_t m = group_find_peer (g, stage->end[s.own].peer, &rail);
        size_t row = next[m]++;
        unsigned int echoes = part[m].echoes[row];
        struct sample sample = {
            .a = s.probe->a,
            .b = s.probe->b,
            .round = (uint32_t)s.round,
            .initiator = s.own,
            .sent = part[m].repeats,
            .lost = part[m].repeats - echoes,
        };

        for (unsigned int k = 0; k < echoes; k++)
            rtt[k] = part[m].rtt[row * part[m].repeats + k];
        if (echoes > 0)
            sample_quantiles (sample.rtt_ns, rtt, echoes);
        samples_add (samples, &sample);
    }
    free (next);
}

/* For each peer, its end in the stage's rounds: that with the lowest LID if
 * there are several; NO_END if it has none. The caller frees the array.
 */
static uint32_t *ends_of_peers (struct group *g,
                                const struct probe_stage *stage)
{
    const struct probe_end *end = stage->end;
    uint32_t *found = xarray (group_peers (g), sizeof (*found));
    struct plan_side s = { .round = stage->first };

    for (uint32_t p = 0; p < group_peers (g); p++)
        found[p] = NO_END;
    while (next_side (stage->plan, &s)) {
        uint32_t *at = &found[end[s.own].peer];

        if (*at == NO_END || end[s.own].lid < end[*at].lid)
            *at = s.own;
    }
    return found;
}

/* Add the echoes of a row as a loopback of this end. */
static void add_loopback (struct samples *samples, const struct plan_part *part,
                          size_t row, uint32_t end, uint32_t round)
{
    struct loopback loopback = { .end = end, .round = round };
    double way[PROBE_REPEATS_MAX];
    unsigned int n = part->echoes[row];

    if (n == 0)
        return;
    for (unsigned int k = 0; k < n; k++)
        way[k] = part->rtt[row * part->repeats + k] / 2.0;
    sample_quantiles (loopback.rtt_ns, way, n);
    samples_add_loopback (samples, &loopback);
}

static void join_loops (struct group *g, const struct probe_stage *stage,
                        const struct plan_part *part, struct samples *samples)
{
    uint32_t *ends = ends_of_peers (g, stage);

    for (unsigned int which = 0; which < LOOP_PARTS; which++)
        for (uint32_t p = 0; p < group_peers (g); p++) {
            uint32_t rail;
            const struct plan_part *of = &part[group_find_peer (g, p, &rail)];

            if (ends[p] != NO_END)
                add_loopback (samples, of, loop_row (of, which, rail), ends[p],
                              (uint32_t)stage->first
                                  + loop_round (of->rounds, which));
        }
    free (ends);
}

/* Give the members their parts, run the leader's own, collect the results. */
static int run_stage (struct group *g, int number,
                      const struct probe_stage *stage, struct plan_part *part,
                      struct group_blob *got, struct probe_result *result,
                      struct error *err)
{
    size_t n = group_size (g);
    size_t me = group_me (g);
    struct probe_member *mine = &result->member[me];

    if (stage->repeats < 1 || stage->repeats > PROBE_REPEATS_MAX
        || plan_rounds (stage->plan) > PROBE_ROUNDS_MAX)
        return error_input (err, "Repeats: not from 1 to %d",
                            PROBE_REPEATS_MAX);
    if (cut_plan (g, stage, part, err) < 0)
        return -1;
    for (size_t m = 0; m < n; m++) {
        struct group_blob *told = &result->member[m].told[number];

        if (pack_plan (&part[m], told, err) < 0)
            return -1;
        group_serve (g, stage_kind[number].plan, (int)m, told->data,
                     told->len);
    }
    if (ask_others (g, stage_kind[number].next, result->member, NULL, err) < 0
        || run_part (g, &part[me], stage->progress, err) < 0
        || ask_others (g, stage_kind[number].result, result->member, got, err)
               < 0)
        return -1;
    result->stats = group_stats (g);
    if (group_trouble (g))
        take_text (&mine->trouble, (const uint8_t *)group_trouble (g),
                   strnlen (group_trouble (g), TROUBLE_MAX));
    free (mine->remark);
    mine->remark = group_remark (g);
    mine->node = read_about (g);
    for (size_t m = 0; m < n; m++) {
        struct probe_member *member = &result->member[m];

        if (m == me || !got[m].data
            || unpack_result (&part[m], &got[m], member, &result->stats))
            continue;
        member->answered = false;
        memset (part[m].echoes, 0,
                rows_of (&part[m]) * sizeof (*part[m].echoes));
    }
    join_results (g, stage, part, result->samples);
    join_loops (g, stage, part, result->samples);
    return 0;
}

static int measure (struct group *g, int number,
                    const struct probe_stage *stage,
                    struct probe_result *result, struct error *err)
{
    size_t n = group_size (g);
    size_t before = result->samples->nsamples;
    size_t loops = result->samples->nloopbacks;
    struct plan_part *part = xcalloc (n, sizeof (*part));
    struct group_blob *got = xcalloc (n, sizeof (*got));
    int rc = run_stage (g, number, stage, part, got, result, err);

    if (rc < 0) {
        result->samples->nsamples = before;
        result->samples->nloopbacks = loops;
    }
    for (size_t m = 0; m < n; m++) {
        part_clear (&part[m]);
        free (got[m].data);
    }
    free (part);
    free (got);
    return rc;
}

int probe_lead (struct group *g, const struct probe_stage *stage,
                struct probe_result *result, struct error *err)
{
    size_t n = group_size (g);

    *result = (struct probe_result){
        .samples = samples_create (),
        .member = xcalloc (n, sizeof (*result->member)),
        .nmembers = n,
    };
    for (size_t m = 0; m < n; m++)
        result->member[m].answered = true;
    return measure (g, 0, stage, result, err);
}

int probe_again (struct group *g, const struct probe_stage *stage,
                 struct probe_result *result, struct error *err)
{
    return measure (g, 1, stage, result, err);
}

int probe_end (struct group *g, const struct probe_result *result,
               struct error *err)
{
    /* no error if one does not answer: it has given its results */
    return dismiss (g, result->member, err);
}

void probe_result_clear (struct probe_result *result)
{
    for (size_t m = 0; m < result->nmembers; m++) {
        struct probe_member *member = &result->member[m];

        for (int number = 0; number < PROBE_STAGES; number++)
            free (member->told[number].data);
        free (member->trouble);
        free (member->remark);
    }
    free (result->member);
    samples_destroy (result->samples);
    *result = (struct probe_result){ 0 };
}
