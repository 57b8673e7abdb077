/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe: a plan in, samples out.
 *
 * Notes: what the leader sends each member (GROUP_PLAN), little-endian:
 * version 2, service level 1, repeats 2, rounds 4, tasks 4; per task, in the
 * order of the rounds: round 4, peer 4, rail 1, side 1, own LID 1, the peer's
 * 1. What it gets back (GROUP_RESULT): late 4, duplicate 4, foreign 4, all
 * since the beginning; the lengths of what went wrong there 1, of the remark 2
 * and of what the host is (probe/about) 1, then these; per task, and behind
 * them per loopback, by part of the run and rail: echoes 2, then an RTT in ns,
 * 4 bytes, for each.
 *
 * A loopback is a ping of a rail to itself, so that its round trip is two ways
 * of one message each.
 *
 * A member waits until it is asked for one of two things that have nothing in
 * them: a stage's GROUP_NEXT, then it fetches its plan, or GROUP_BYE. All that
 * it asks meanwhile is whether the leader lives, who answers while it plans
 * (group_meanwhile).
 */
#include "config.h"
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/about.h"
#include "probe/wire.h"
#include "util/text.h"

enum {
    PLAN_VERSION = 3,
    PLAN_HEADER = 12,
    TASK_SIZE = 12,
    RESULT_HEADER = 16,
    TROUBLE_MAX = 200, /* bytes */
    REMARK_MAX = 1600,
    LINGER = 500, /* gaps in which the last answer may be asked for again */
    STEP_DEADS = 8, /* times that one may be silent in a step */
    LOOP_PARTS = 3, /* loopbacks: before, amid and behind the rounds */
    LOOPS_PER_GAP = 4,
    NO_END = 0xffffffff,
    LOOP_READY = 50, /* gaps in which a rail is ready for its loopback */
};

static const struct {
    enum group_kind next, plan, result;
} stage_kind[PROBE_STAGES] = {
    { GROUP_NEXT, GROUP_PLAN, GROUP_RESULT },
    { GROUP_NEXT_2, GROUP_PLAN_2, GROUP_RESULT_2 },
};

struct task {
    uint32_t round;
    uint32_t peer;
    uint8_t rail;
    uint8_t side; /* 0: the plan's a; 1: its b */
    struct transport_way way;
};

struct part { /* of a member in a plan */
    unsigned int repeats;
    unsigned int level;
    uint32_t rounds;
    struct task *task;
    size_t ntasks;
    size_t rails;
    bool loops[TRANSPORT_RAILS_MAX]; /* rails that can send to themselves */
    /* of the tasks, then of the loopbacks by part of the run and rail */
    uint32_t *rtt; /* [rows * repeats] */
    unsigned int *echoes; /* [rows] */
};

static size_t rows_of (const struct part *part)
{
    return part->ntasks + LOOP_PARTS * part->rails;
}

static size_t loop_row (const struct part *part, size_t which, size_t rail)
{
    return part->ntasks + which * part->rails + rail;
}

static void part_clear (struct part *part)
{
    free (part->task);
    free (part->rtt);
    free (part->echoes);
}

static int part_alloc_results (struct part *part, struct error *err)
{
    size_t rows = rows_of (part);

    part->rtt = calloc (rows * part->repeats + 1, sizeof (*part->rtt));
    part->echoes = calloc (rows + 1, sizeof (*part->echoes));
    return part->rtt && part->echoes ? 0 : error_nomem (err);
}

/* Whether a part and its results can be fetched. */
static bool fits (const struct part *part)
{
    size_t result = 2 + 4 * (size_t)part->repeats; /* of one task */
    size_t most = GROUP_BLOB_MAX - RESULT_HEADER - TROUBLE_MAX - REMARK_MAX
                  - ABOUT_MAX;

    return part->ntasks <= (GROUP_BLOB_MAX - PLAN_HEADER) / TASK_SIZE
           && rows_of (part) <= most / result;
}

static int pack_plan (const struct part *part, struct group_blob *blob,
                      struct error *err)
{
    uint8_t *p;

    blob->len = PLAN_HEADER + part->ntasks * TASK_SIZE;
    if (!fits (part))
        return error_input (err, "%zu probes, %u times each, are too many for "
                            "one node", part->ntasks, part->repeats);
    if (!(p = blob->data = malloc (blob->len)))
        return error_nomem (err);
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

static int unpack_plan (struct part *part, const struct group_blob *blob,
                        uint32_t npeers, size_t rails, struct error *err)
{
    const uint8_t *p = blob->data;
    uint32_t round = 0;

    if (blob->len < PLAN_HEADER || p[0] != PLAN_VERSION)
        return bad_plan (err);
    part->level = p[1];
    part->repeats = (unsigned int)wire_get (p + 2, 2);
    part->rounds = (uint32_t)wire_get (p + 4, 4);
    part->ntasks = wire_get (p + 8, 4);
    part->rails = rails;
    if (part->level > PROBE_LEVEL_MAX
        || part->repeats > PROBE_REPEATS_MAX || part->rounds > PROBE_ROUNDS_MAX
        || blob->len != PLAN_HEADER + part->ntasks * TASK_SIZE
        || !fits (part))
        return bad_plan (err);
    if (!(part->task = calloc (part->ntasks + 1, sizeof (*part->task))))
        return error_nomem (err);
    p += PLAN_HEADER;
    for (size_t i = 0; i < part->ntasks; i++, p += TASK_SIZE) {
        struct task *task = &part->task[i];

        *task = (struct task){ (uint32_t)wire_get (p, 4),
                               (uint32_t)wire_get (p + 4, 4), p[8], p[9],
                               { p[10], p[11] } };
        if (task->round < round || task->round >= part->rounds
            || task->peer >= npeers || task->rail >= rails || task->side > 1)
            return bad_plan (err);
        round = task->round;
    }
    return part_alloc_results (part, err);
}

/* Ping for a row of the results, from a state of being awake or not. */
static int run_ping (struct group *g, struct part *part, size_t row,
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

static struct group_ping ping_of (const struct task *task)
{
    return (struct group_ping){ .rail = task->rail, .peer = task->peer,
                                .way = task->way };
}

static struct group_ping loop_of (const struct group *g, size_t rail)
{
    return (struct group_ping){ .rail = (uint32_t)rail,
                                .peer = group_own_peer (g, (uint32_t)rail) };
}

/* Ping for the tasks first .. last-1 whose turn it is in this half. What a
 * process does for one of its rails takes the time of the others': they ping
 * one after the other, in the same order everywhere.
 */
static int run_half (struct group *g, struct part *part, size_t first,
                     size_t last, unsigned int side, bool awake,
                     int64_t start, struct error *err)
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

/* Make one ready, until then. What is not ready in time will be lost. */
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

/* The loopbacks of rails that measure: the first ping tells whether there is
 * one at all. Where there is none, nothing is wrong.
 */
static int prepare_loops (struct group *g, struct part *part,
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

/* Make ready for all pings. The first of a task also warms what is on its way:
 * it does not count.
 */
static int prepare (struct group *g, struct part *part, struct error *err)
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

/* One step: the tasks first .. last-1. */
static int run_step (struct group *g, struct part *part, unsigned int pass,
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

/* Of a member, and of the member that has the most: all take as long. */
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

/* Every rail to itself, while nobody measures anything else; those who share a
 * core in turn. One that loses a message has no loopback any more.
 */
static int run_loops (struct group *g, struct part *part, unsigned int which,
                      struct error *err)
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

/* A step, or the loopbacks of a part of the run. */
struct work {
    bool loops;
    unsigned int part; /* of the run */
    unsigned int pass;
    uint32_t round;
    size_t first, last; /* tasks */
};

static int run_work (struct group *g, struct part *part, const struct work *w,
                     struct error *err)
{
    return w->loops ? run_loops (g, part, w->part, err)
                    : run_step (g, part, w->pass, w->first, w->last, err);
}

/* By a deadline. */
static int run_in_time (struct group *g, struct part *part,
                        const struct work *w, struct error *err)
{
    int64_t end = group_deadline (g);
    int64_t limit = STEP_DEADS * group_dead_ns (g);
    int rc;

    if (group_now (g) + limit < end)
        group_set_deadline (g, group_now (g) + limit);
    rc = run_work (g, part, w, err);
    if (rc < 0 && group_now (g) >= group_deadline (g) && group_now (g) < end)
        error_world (err, "round %u took longer than %g s", w->round + 1,
                     (double)limit / 1e9);
    group_set_deadline (g, end);
    return rc;
}

/* Before which round a part's loopbacks are, as if there was one pass. */
static uint32_t loop_round (uint32_t rounds, unsigned int which)
{
    return (uint32_t)((uint64_t)rounds * which / (LOOP_PARTS - 1));
}

static int run_rounds (struct group *g, struct part *part,
                       const struct probe_watch *watch, struct error *err)
{
    uint64_t total = (uint64_t)part->repeats * part->rounds;
    uint64_t done = 0;
    struct work w = { .last = 0 };

    for (unsigned int which = 0; which < LOOP_PARTS; which++) {
        const struct work loops = { .loops = true, .part = which,
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
            if (watch)
                watch->fn (watch->arg, done, total);
        }
    }
    return 0;
}

static int run_part (struct group *g, struct part *part,
                     const struct probe_watch *watch, struct error *err)
{
    int rc;

    group_set_level (g, part->level);
    group_attend (g, part->ntasks > 0);
    rc = prepare (g, part, err);
    group_stage (g, true);
    if (rc == 0)
        rc = run_rounds (g, part, watch, err);
    group_stage (g, false);
    group_attend (g, false);
    return rc;
}

/* What this host is, now that its process is where it measured. */
static struct node read_about (const struct group *g)
{
    struct node node;
    char device[64];

    about_read (&node, "", group_device (g, device, sizeof (device)));
    return node;
}

static int pack_result (const struct group *g, const struct part *part,
                        struct group_blob *blob, struct error *err)
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
    if (!(p = blob->data = malloc (blob->len))) {
        free (remark);
        return error_nomem (err);
    }
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
    return 0;
}

/* Take a text in place of an earlier one, if there is any. Return 0, or -1
 * with errno ENOMEM.
 */
static int take_text (char **text, const void *data, size_t len)
{
    char *copy;

    if (len == 0)
        return 0;
    if (!(copy = strndup (data, len)))
        return -1;
    free (*text);
    *text = copy;
    return 0;
}

/* False where the result makes no sense. */
static bool unpack_result (struct part *part, const struct group_blob *blob,
                           size_t m, struct probe_result *result)
{
    const uint8_t *p = blob->data;
    size_t len, more, about, left;

    if (blob->len < RESULT_HEADER)
        return false;
    len = wire_get (p + 12, 1);
    more = wire_get (p + 13, 2);
    about = wire_get (p + 15, 1);
    p += RESULT_HEADER;
    left = blob->len - RESULT_HEADER;
    if (left < len + more + about
        || take_text (&result->trouble[m], p, len) < 0
        || take_text (&result->remark[m], p + len, more) < 0
        || about_unpack (&result->node[m], p + len + more, about) != about)
        return false;
    if (len > 0)
        text_clean (result->trouble[m]);
    p += len + more + about;
    left -= len + more + about;
    result->stats.late += (uint32_t)wire_get (blob->data, 4);
    result->stats.duplicate += (uint32_t)wire_get (blob->data + 4, 4);
    result->stats.foreign += (uint32_t)wire_get (blob->data + 8, 4);
    for (size_t i = 0; i < rows_of (part); i++) {
        size_t n;

        if (left < 2 || (n = wire_get (p, 2)) > part->repeats
            || left - 2 < 4 * n)
            return false;
        p += 2;
        for (size_t k = 0; k < n; k++, p += 4)
            part->rtt[i * part->repeats + k] = (uint32_t)wire_get (p, 4);
        part->echoes[i] = (unsigned int)n;
        left -= 2 + 4 * n;
    }
    return left == 0;
}

static int leader_is_gone (const char *name, struct error *err)
{
    return error_world (err, "%s, which leads the check, does not answer",
                        *name ? name : "the node");
}

/* Wait to be told what comes. Return 1 for this stage, 0 for the end, -1 with
 * err. No stage comes behind the last.
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

/* What a member was told and what it has to tell, in one stage. */
struct followed {
    struct group_blob plan;
    struct part part;
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
        || run_part (g, &f->part, NULL, err) < 0
        || pack_result (g, &f->part, &f->result, err) < 0)
        return -1;
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
    /* stay a little for who missed the last answer */
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

/* All members but this one, or those of them that `answered`. */
static int ask_others (struct group *g, enum group_kind kind, bool *answered,
                       struct group_blob *blob, struct error *err)
{
    size_t n = group_size (g);
    uint32_t *from = malloc (n * sizeof (*from));
    struct group_blob *got = calloc (n, sizeof (*got));
    size_t count = 0;
    int rc = -1;

    if (!from || !got) {
        error_nomem (err);
        goto error;
    }
    for (size_t m = 0; m < n; m++)
        if (m != group_me (g) && answered[m])
            from[count++] = (uint32_t)m;
    if ((rc = group_fetch (g, kind, from, count, got, err)) < 0)
        goto error;
    for (size_t i = 0; i < count; i++) {
        answered[from[i]] = got[i].data != NULL;
        blob[from[i]] = got[i];
    }
error:
    free (from);
    free (got);
    return rc;
}

/* Ask those that answered for something with nothing in it: that is to tell
 * them. Who does not answer that either is marked.
 */
static int tell_others (struct group *g, enum group_kind kind, bool *answered,
                        struct error *err)
{
    size_t n = group_size (g);
    struct group_blob *blob = calloc (n, sizeof (*blob));
    int rc = blob ? ask_others (g, kind, answered, blob, err)
                  : error_nomem (err);

    for (size_t m = 0; blob && m < n; m++)
        free (blob[m].data);
    free (blob);
    return rc;
}

int probe_cancel (struct group *g, struct error *err)
{
    bool *answered = malloc (group_size (g) * sizeof (*answered));
    int rc;

    if (!answered)
        return error_nomem (err);
    memset (answered, 1, group_size (g) * sizeof (*answered));
    rc = tell_others (g, GROUP_BYE, answered, err);
    free (answered);
    return rc;
}

/* Whether a task of this round has the rail already. */
static bool is_busy (const struct part *part, const struct task *task)
{
    for (size_t i = part->ntasks; i-- > 0;) {
        if (part->task[i].round != task->round)
            break;
        if (part->task[i].rail == task->rail)
            return true;
    }
    return false;
}

static int add_task (struct part *part, const struct task *task)
{
    if ((part->ntasks & (part->ntasks + 1)) == 0) {
        size_t size = 2 * part->ntasks + 1;
        struct task *p = realloc (part->task, size * sizeof (*p));

        if (!p)
            return -1;
        part->task = p;
    }
    part->task[part->ntasks++] = *task;
    return 0;
}

/* Cut the plan, from a round on, into the members' parts. Each probe is two
 * tasks, one for either side.
 */
static int cut_plan (struct group *g, const struct plan *plan, size_t from,
                     const struct probe_end *end, const struct probe_how *how,
                     struct part *part, struct error *err)
{
    for (size_t m = 0; m < group_size (g); m++) {
        part[m].repeats = how->repeats;
        part[m].level = how->level;
        part[m].rounds = (uint32_t)(plan_rounds (plan) - from);
        part[m].rails = rails_of (g, m);
    }
    for (size_t round = from; round < plan_rounds (plan); round++) {
        size_t n;
        const struct probe *probe = plan_round (plan, round, &n);

        for (size_t i = 0; i < n; i++) {
            const struct probe_end *ends[2] = { &end[probe[i].a],
                                                &end[probe[i].b] };

            for (uint8_t side = 0; side < 2; side++) {
                const struct probe_end *own = ends[side];
                const struct probe_end *other = ends[!side];
                uint32_t rail;
                size_t m = group_find_peer (g, own->peer, &rail);
                struct task task = { (uint32_t)(round - from), other->peer,
                                     (uint8_t)rail, side,
                                     { own->lid, other->lid } };

                if (is_busy (&part[m], &task))
                    return error_input (err, "an endpoint has two probes in "
                                        "round %zu of the plan", round);
                if (add_task (&part[m], &task) < 0)
                    return error_nomem (err);
            }
        }
    }
    for (size_t m = 0; m < group_size (g); m++)
        if (part_alloc_results (&part[m], err) < 0)
            return -1;
    return 0;
}

/* The samples, in the order of the plan: the parts were cut in that order, so
 * each member's tasks are met in turn.
 */
static int join_results (struct group *g, const struct plan *plan,
                         size_t from, const struct probe_end *end,
                         const struct part *part, struct samples *samples,
                         struct error *err)
{
    size_t *next = calloc (group_size (g), sizeof (*next));
    double rtt[PROBE_REPEATS_MAX];
    int rc = -1;

    if (!next)
        return error_nomem (err);
    for (size_t round = from; round < plan_rounds (plan); round++) {
        size_t n;
        const struct probe *probe = plan_round (plan, round, &n);

        for (size_t i = 0; i < 2 * n; i++) {
            const struct probe *p = &probe[i / 2];
            uint32_t initiator = i % 2 ? p->b : p->a;
            uint32_t rail;
            size_t m = group_find_peer (g, end[initiator].peer, &rail);
            unsigned int echoes = part[m].echoes[next[m]];
            struct sample sample = {
                .a = p->a,
                .b = p->b,
                .round = (uint32_t)round,
                .initiator = initiator,
                .sent = part[m].repeats,
                .lost = part[m].repeats - echoes,
            };

            for (unsigned int k = 0; k < echoes; k++)
                rtt[k] = part[m].rtt[next[m] * part[m].repeats + k];
            next[m]++;
            if (echoes > 0)
                sample_quantiles (sample.rtt_ns, rtt, echoes);
            if (samples_add (samples, &sample) < 0) {
                error_nomem (err);
                goto error;
            }
        }
    }
    rc = 0;
error:
    free (next);
    return rc;
}

/* Endpoints of the plan's rounds by peer, by their first LIDs if these are
 * there; NO_END where there is none. NULL without memory.
 */
static uint32_t *ends_of_peers (struct group *g, const struct plan *plan,
                                size_t from, const struct probe_end *end)
{
    uint32_t *found = malloc (group_peers (g) * sizeof (*found));

    for (uint32_t p = 0; found && p < group_peers (g); p++)
        found[p] = NO_END;
    for (size_t round = from; found && round < plan_rounds (plan); round++) {
        size_t n;
        const struct probe *probe = plan_round (plan, round, &n);

        for (size_t i = 0; i < 2 * n; i++) {
            uint32_t e = i % 2 ? probe[i / 2].b : probe[i / 2].a;
            uint32_t *at = &found[end[e].peer];

            if (*at == NO_END || end[e].lid < end[*at].lid)
                *at = e;
        }
    }
    return found;
}

/* A row's echoes, as a loopback of this endpoint. */
static int add_loopback (struct samples *samples, const struct part *part,
                         size_t row, uint32_t end, uint32_t round)
{
    struct loopback loopback = { .end = end, .round = round };
    double way[PROBE_REPEATS_MAX];
    unsigned int n = part->echoes[row];

    for (unsigned int k = 0; k < n; k++)
        way[k] = part->rtt[row * part->repeats + k] / 2.0;
    if (n == 0)
        return 0;
    sample_quantiles (loopback.rtt_ns, way, n);
    return samples_add_loopback (samples, &loopback);
}

static int join_loops (struct group *g, const struct plan *plan, size_t from,
                       const struct probe_end *end, const struct part *part,
                       struct samples *samples, struct error *err)
{
    uint32_t *ends = ends_of_peers (g, plan, from, end);
    int rc = ends ? 0 : -1;

    for (unsigned int which = 0; rc == 0 && which < LOOP_PARTS; which++)
        for (uint32_t p = 0; rc == 0 && p < group_peers (g); p++) {
            uint32_t rail;
            const struct part *of = &part[group_find_peer (g, p, &rail)];

            if (ends[p] != NO_END)
                rc = add_loopback (samples, of, loop_row (of, which, rail),
                                   ends[p],
                                   (uint32_t)from
                                       + loop_round (of->rounds, which));
        }
    free (ends);
    return rc < 0 ? error_nomem (err) : 0;
}

/* Tell all their parts, do the own, and take what they found. */
static int run_stage (struct group *g, int stage, const struct plan *plan,
                      size_t from, const struct probe_end *end,
                      const struct probe_how *how,
                      const struct probe_watch *watch, struct part *part,
                      struct group_blob *got, struct probe_result *result,
                      struct error *err)
{
    size_t n = group_size (g);
    size_t me = group_me (g);
    struct group_blob *told = result->told[stage];

    if (how->repeats < 1 || how->repeats > PROBE_REPEATS_MAX
        || plan_rounds (plan) > PROBE_ROUNDS_MAX)
        return error_input (err, "Repeats: not from 1 to %d",
                            PROBE_REPEATS_MAX);
    if (cut_plan (g, plan, from, end, how, part, err) < 0)
        return -1;
    for (size_t m = 0; m < n; m++)
        if (pack_plan (&part[m], &told[m], err) < 0)
            return -1;
    for (size_t m = 0; m < n; m++)
        group_serve (g, stage_kind[stage].plan, (int)m, told[m].data,
                     told[m].len);
    if (tell_others (g, stage_kind[stage].next, result->answered, err) < 0
        || run_part (g, &part[me], watch, err) < 0
        || ask_others (g, stage_kind[stage].result, result->answered, got,
                       err) < 0)
        return -1;
    result->stats = group_stats (g);
    if (group_trouble (g)
        && take_text (&result->trouble[me], group_trouble (g), TROUBLE_MAX) < 0)
        return error_nomem (err);
    free (result->remark[me]);
    result->remark[me] = group_remark (g);
    result->node[me] = read_about (g);
    for (size_t m = 0; m < n; m++) {
        if (m == me || !got[m].data)
            continue;
        if (!unpack_result (&part[m], &got[m], m, result)) {
            result->answered[m] = false;
            memset (part[m].echoes, 0,
                    rows_of (&part[m]) * sizeof (*part[m].echoes));
        }
    }
    if (join_results (g, plan, from, end, part, result->samples, err) < 0)
        return -1;
    return join_loops (g, plan, from, end, part, result->samples, err);
}

static int measure (struct group *g, int stage, const struct plan *plan,
                    size_t from, const struct probe_end *end,
                    const struct probe_how *how,
                    const struct probe_watch *watch,
                    struct probe_result *result, struct error *err)
{
    size_t n = group_size (g);
    size_t before = result->samples->nsamples;
    size_t loops = result->samples->nloopbacks;
    struct part *part = calloc (n, sizeof (*part));
    struct group_blob *got = calloc (n, sizeof (*got));
    int rc;

    result->told[stage] = calloc (n, sizeof (*result->told[stage]));
    if (!part || !got || !result->told[stage])
        rc = error_nomem (err);
    else
        rc = run_stage (g, stage, plan, from, end, how, watch, part, got,
                        result, err);
    if (rc < 0) {
        result->samples->nsamples = before;
        result->samples->nloopbacks = loops;
    }
    for (size_t m = 0; m < n; m++) {
        if (part)
            part_clear (&part[m]);
        if (got)
            free (got[m].data);
    }
    free (part);
    free (got);
    return rc;
}

int probe_lead (struct group *g, const struct plan *plan,
                const struct probe_end *end, const struct probe_how *how,
                const struct probe_watch *watch, struct probe_result *result,
                struct error *err)
{
    size_t n = group_size (g);

    *result = (struct probe_result){ .samples = samples_create (),
                                     .answered = calloc (n, sizeof (bool)),
                                     .trouble = calloc (n, sizeof (char *)),
                                     .remark = calloc (n, sizeof (char *)),
                                     .node = calloc (n, sizeof (struct node)),
                                     .nmembers = n };
    if (!result->samples || !result->answered || !result->trouble
        || !result->remark || !result->node)
        return error_nomem (err);
    memset (result->answered, 1, n * sizeof (bool));
    return measure (g, 0, plan, 0, end, how, watch, result, err);
}

int probe_again (struct group *g, const struct plan *plan, size_t first,
                 const struct probe_end *end, const struct probe_how *how,
                 const struct probe_watch *watch, struct probe_result *result,
                 struct error *err)
{
    return measure (g, 1, plan, first, end, how, watch, result, err);
}

int probe_end (struct group *g, struct probe_result *result,
               struct error *err)
{
    size_t n = group_size (g);
    bool *answered;
    int rc;

    if (!result->answered)
        return probe_cancel (g, err);
    /* who has given its results did all that was wanted of it */
    if (!(answered = malloc (n * sizeof (*answered))))
        return error_nomem (err);
    memcpy (answered, result->answered, n * sizeof (*answered));
    rc = tell_others (g, GROUP_BYE, answered, err);
    free (answered);
    return rc;
}

void probe_result_clear (struct probe_result *result)
{
    for (int stage = 0; stage < PROBE_STAGES; stage++) {
        for (size_t m = 0; result->told[stage] && m < result->nmembers; m++)
            free (result->told[stage][m].data);
        free (result->told[stage]);
    }
    for (size_t m = 0; result->trouble && m < result->nmembers; m++)
        free (result->trouble[m]);
    for (size_t m = 0; result->remark && m < result->nmembers; m++)
        free (result->remark[m]);
    samples_destroy (result->samples);
    free (result->answered);
    free (result->trouble);
    free (result->remark);
    free (result->node);
    *result = (struct probe_result){ 0 };
}
