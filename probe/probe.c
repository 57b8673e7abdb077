/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probe: a plan in, samples out.
 *
 * Notes: what the leader sends each member (GROUP_PLAN), little-endian:
 * version 1, zero 1, repeats 2, rounds 4, tasks 4; per task, in the order of
 * the rounds: round 4, peer 4, rail 1, side 1. Rounds 0 is a cancelled run.
 * What it gets back (GROUP_RESULT): late 4, duplicate 4, foreign 4; per task:
 * echoes 2, then an RTT in ns, 4 bytes, for each.
 */
#include "config.h"
#include "probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"

enum {
    PLAN_VERSION = 1,
    PLAN_HEADER = 12,
    TASK_SIZE = 10,
    RESULT_HEADER = 12,
    LINGER = 500, /* gaps in which the last answer may be asked for again */
};

struct task {
    uint32_t round;
    uint32_t peer;
    uint8_t rail;
    uint8_t side; /* 0: the plan's a; 1: its b */
};

struct part { /* of a member in a plan */
    unsigned int repeats;
    uint32_t rounds;
    struct task *task;
    size_t ntasks;
    uint32_t *rtt; /* [ntasks * repeats] */
    unsigned int *echoes; /* [ntasks] */
};

static void part_clear (struct part *part)
{
    free (part->task);
    free (part->rtt);
    free (part->echoes);
}

static int part_alloc_results (struct part *part, struct error *err)
{
    part->rtt = calloc (part->ntasks * part->repeats + 1, sizeof (*part->rtt));
    part->echoes = calloc (part->ntasks + 1, sizeof (*part->echoes));
    return part->rtt && part->echoes ? 0 : error_nomem (err);
}

/* Whether a part and its results can be fetched. */
static bool fits (const struct part *part)
{
    size_t result = 2 + 4 * (size_t)part->repeats; /* of one task */

    return part->ntasks <= (GROUP_BLOB_MAX - PLAN_HEADER) / TASK_SIZE
           && part->ntasks <= (GROUP_BLOB_MAX - RESULT_HEADER) / result;
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
    p[1] = 0;
    wire_put (p + 2, part->repeats, 2);
    wire_put (p + 4, part->rounds, 4);
    wire_put (p + 8, part->ntasks, 4);
    p += PLAN_HEADER;
    for (size_t i = 0; i < part->ntasks; i++, p += TASK_SIZE) {
        wire_put (p, part->task[i].round, 4);
        wire_put (p + 4, part->task[i].peer, 4);
        p[8] = part->task[i].rail;
        p[9] = part->task[i].side;
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
    part->repeats = (unsigned int)wire_get (p + 2, 2);
    part->rounds = (uint32_t)wire_get (p + 4, 4);
    part->ntasks = wire_get (p + 8, 4);
    if (part->repeats > PROBE_REPEATS_MAX || part->rounds > PROBE_ROUNDS_MAX
        || blob->len != PLAN_HEADER + part->ntasks * TASK_SIZE
        || !fits (part))
        return bad_plan (err);
    if (!(part->task = calloc (part->ntasks + 1, sizeof (*part->task))))
        return error_nomem (err);
    p += PLAN_HEADER;
    for (size_t i = 0; i < part->ntasks; i++, p += TASK_SIZE) {
        struct task *task = &part->task[i];

        *task = (struct task){ (uint32_t)wire_get (p, 4),
                               (uint32_t)wire_get (p + 4, 4), p[8], p[9] };
        if (task->round < round || task->round >= part->rounds
            || task->peer >= npeers || task->rail >= rails || task->side > 1)
            return bad_plan (err);
        round = task->round;
    }
    return part_alloc_results (part, err);
}

/* Ping for the tasks first .. last-1 whose turn it is in this half. */
static int run_half (struct group *g, struct part *part, size_t first,
                     size_t last, unsigned int side, int64_t start,
                     struct error *err)
{
    struct group_ping ping[TRANSPORT_RAILS_MAX];
    size_t task[TRANSPORT_RAILS_MAX];
    size_t n = 0;

    for (size_t i = first; i < last && n < TRANSPORT_RAILS_MAX; i++) {
        if (part->task[i].side != side)
            continue;
        ping[n] = (struct group_ping){ .rail = part->task[i].rail,
                                       .peer = part->task[i].peer };
        task[n++] = i;
    }
    if (n == 0)
        return 0;
    if (group_until (g, start, err) < 0 || group_pings (g, ping, n, err) < 0)
        return -1;
    for (size_t k = 0; k < n; k++) {
        size_t i = task[k];

        if (ping[k].rtt_ns < 0)
            continue;
        part->rtt[i * part->repeats + part->echoes[i]++]
            = ping[k].rtt_ns < UINT32_MAX ? (uint32_t)ping[k].rtt_ns
                                          : UINT32_MAX;
    }
    return 0;
}

static int run_part (struct group *g, struct part *part, struct error *err)
{
    int64_t gap = group_gap (g);

    for (unsigned int pass = 0; pass < part->repeats; pass++) {
        size_t first = 0;

        for (uint32_t round = 0; round < part->rounds; round++) {
            size_t last = first;
            int64_t start;

            while (last < part->ntasks && part->task[last].round == round)
                last++;
            if (group_barrier (g, err) < 0)
                return -1;
            start = group_now (g);
            if (run_half (g, part, first, last, pass & 1, start + gap, err) < 0
                || run_half (g, part, first, last, !(pass & 1),
                             start + 2 * gap, err) < 0
                || group_until (g, start + 4 * gap, err) < 0)
                return -1;
            first = last;
        }
    }
    return 0;
}

static int pack_result (const struct group *g, const struct part *part,
                        struct group_blob *blob, struct error *err)
{
    const struct group_stats *stats = group_stats (g);
    uint8_t *p;

    blob->len = RESULT_HEADER;
    for (size_t i = 0; i < part->ntasks; i++)
        blob->len += 2 + 4 * (size_t)part->echoes[i];
    if (!(p = blob->data = malloc (blob->len)))
        return error_nomem (err);
    wire_put (p, stats->late, 4);
    wire_put (p + 4, stats->duplicate, 4);
    wire_put (p + 8, stats->foreign, 4);
    p += RESULT_HEADER;
    for (size_t i = 0; i < part->ntasks; i++) {
        wire_put (p, part->echoes[i], 2);
        p += 2;
        for (unsigned int k = 0; k < part->echoes[i]; k++, p += 4)
            wire_put (p, part->rtt[i * part->repeats + k], 4);
    }
    return 0;
}

/* False where the result makes no sense. */
static bool unpack_result (struct part *part, const struct group_blob *blob,
                           struct group_stats *stats)
{
    const uint8_t *p = blob->data;
    size_t left;

    if (blob->len < RESULT_HEADER)
        return false;
    p += RESULT_HEADER;
    left = blob->len - RESULT_HEADER;
    stats->late += (uint32_t)wire_get (blob->data, 4);
    stats->duplicate += (uint32_t)wire_get (blob->data + 4, 4);
    stats->foreign += (uint32_t)wire_get (blob->data + 8, 4);
    for (size_t i = 0; i < part->ntasks; i++) {
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

/* The last thing: be told to leave, and stay a little for who missed the
 * answer.
 */
static int leave (struct group *g, struct error *err)
{
    group_serve (g, GROUP_BYE, GROUP_ALL, NULL, 0);
    while (!group_served (g, GROUP_BYE))
        if (group_until (g, group_now (g) + LINGER * group_gap (g), err) < 0)
            return -1;
    return group_until (g, group_now (g) + LINGER * group_gap (g), err);
}

int probe_follow (struct group *g, size_t leader, struct error *err)
{
    uint32_t from = (uint32_t)leader;
    struct group_blob plan = { NULL, 0 };
    struct group_blob result = { NULL, 0 };
    struct part part = { 0 };
    int rc = -1;

    if (group_fetch (g, GROUP_PLAN, &from, 1, &plan, err) < 0)
        return -1;
    if (!plan.data) {
        error_world (err, "the node that leads the check does not answer");
        goto error;
    }
    if (unpack_plan (&part, &plan, group_peers (g), group_rails (g), err) < 0
        || run_part (g, &part, err) < 0
        || pack_result (g, &part, &result, err) < 0)
        goto error;
    group_serve (g, GROUP_RESULT, GROUP_ALL, result.data, result.len);
    rc = leave (g, err);
error:
    part_clear (&part);
    free (plan.data);
    free (result.data);
    return rc;
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

static int say_bye (struct group *g, bool *answered, struct error *err)
{
    size_t n = group_size (g);
    struct group_blob *blob = calloc (n, sizeof (*blob));
    bool *still = malloc (n * sizeof (*still));
    int rc = -1;

    if (!blob || !still)
        error_nomem (err);
    else {
        memcpy (still, answered, n * sizeof (*still));
        rc = ask_others (g, GROUP_BYE, still, blob, err);
    }
    for (size_t m = 0; blob && m < n; m++)
        free (blob[m].data);
    free (blob);
    free (still);
    return rc;
}

int probe_cancel (struct group *g, struct error *err)
{
    struct part part = { 0 };
    struct group_blob plan = { NULL, 0 };
    bool *answered = malloc (group_size (g) * sizeof (*answered));
    int rc = -1;

    if (!answered)
        return error_nomem (err);
    memset (answered, 1, group_size (g) * sizeof (*answered));
    if (pack_plan (&part, &plan, err) == 0) {
        group_serve (g, GROUP_PLAN, GROUP_ALL, plan.data, plan.len);
        rc = say_bye (g, answered, err);
    }
    free (plan.data);
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

/* Cut the plan into the members' parts. Each probe is two tasks, one for
 * either side.
 */
static int cut_plan (struct group *g, const struct plan *plan,
                     const uint32_t *peer_of, unsigned int repeats,
                     struct part *part, struct error *err)
{
    for (size_t m = 0; m < group_size (g); m++) {
        part[m].repeats = repeats;
        part[m].rounds = (uint32_t)plan_rounds (plan);
    }
    for (size_t round = 0; round < plan_rounds (plan); round++) {
        size_t n;
        const struct probe *probe = plan_round (plan, round, &n);

        for (size_t i = 0; i < n; i++) {
            uint32_t peer[2] = { peer_of[probe[i].a], peer_of[probe[i].b] };

            for (uint8_t side = 0; side < 2; side++) {
                uint32_t rail;
                size_t m = group_find_peer (g, peer[side], &rail);
                struct task task = { (uint32_t)round, peer[!side],
                                     (uint8_t)rail, side };

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
                         const uint32_t *peer_of, const struct part *part,
                         struct samples *samples, struct error *err)
{
    size_t *next = calloc (group_size (g), sizeof (*next));
    double rtt[PROBE_REPEATS_MAX];
    int rc = -1;

    if (!next)
        return error_nomem (err);
    for (size_t round = 0; round < plan_rounds (plan); round++) {
        size_t n;
        const struct probe *probe = plan_round (plan, round, &n);

        for (size_t i = 0; i < 2 * n; i++) {
            const struct probe *p = &probe[i / 2];
            uint32_t initiator = i % 2 ? p->b : p->a;
            uint32_t rail;
            size_t m = group_find_peer (g, peer_of[initiator], &rail);
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
                sample_quantiles (&sample, rtt, echoes);
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

int probe_lead (struct group *g, const struct plan *plan,
                const uint32_t *peer_of, unsigned int repeats,
                struct probe_result *result, struct error *err)
{
    size_t n = group_size (g);
    size_t me = group_me (g);
    struct part *part = calloc (n, sizeof (*part));
    struct group_blob *plans = calloc (n, sizeof (*plans));
    struct group_blob *results = calloc (n, sizeof (*results));
    bool served = false;
    int rc = -1;

    *result = (struct probe_result){ .samples = samples_create (),
                                     .answered = calloc (n, sizeof (bool)) };
    if (!part || !plans || !results || !result->samples || !result->answered) {
        error_nomem (err);
        goto error;
    }
    if (repeats < 1 || repeats > PROBE_REPEATS_MAX
        || plan_rounds (plan) > PROBE_ROUNDS_MAX) {
        error_input (err, "Repeats: not from 1 to %d", PROBE_REPEATS_MAX);
        goto error;
    }
    memset (result->answered, 1, n * sizeof (bool));
    if (cut_plan (g, plan, peer_of, repeats, part, err) < 0)
        goto error;
    for (size_t m = 0; m < n; m++) {
        if (pack_plan (&part[m], &plans[m], err) < 0)
            goto error;
        group_serve (g, GROUP_PLAN, (int)m, plans[m].data, plans[m].len);
    }
    served = true;
    if (run_part (g, &part[me], err) < 0
        || ask_others (g, GROUP_RESULT, result->answered, results, err) < 0)
        goto error;
    result->stats = *group_stats (g);
    for (size_t m = 0; m < n; m++) {
        if (m == me || !results[m].data)
            continue;
        if (!unpack_result (&part[m], &results[m], &result->stats)) {
            result->answered[m] = false;
            memset (part[m].echoes, 0,
                    part[m].ntasks * sizeof (*part[m].echoes));
        }
    }
    if (join_results (g, plan, peer_of, part, result->samples, err) < 0)
        goto error;
    rc = say_bye (g, result->answered, err);
error:
    if (!served)
        probe_cancel (g, NULL);
    for (size_t m = 0; m < n; m++) {
        if (part)
            part_clear (&part[m]);
        if (plans)
            free (plans[m].data);
        if (results)
            free (results[m].data);
    }
    free (part);
    free (plans);
    free (results);
    return rc;
}

void probe_result_clear (struct probe_result *result)
{
    samples_destroy (result->samples);
    free (result->answered);
    *result = (struct probe_result){ 0 };
}
