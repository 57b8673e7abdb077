/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/burst_work.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/local.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/text.h"

enum {
    BURST_VERSION = 1,
    PART_HEADER = 19,
    TASK_SIZE = 17,
    WAY_SIZE = 18,
    PORT_SIZE = 52,
    FOUND_MAX = 2 + BURST_WHY + TRANSPORT_RAILS_MAX * PORT_SIZE,
    ROUNDS_MAX = 1 << 20,
    LATE_MAX_S = 1,
    MTU_MAX = 1 << 16,
    MTS_MAX = 1 << 20,
    READY_GAPS = 10000, /* in which both ends must be ready for a burst */
    READY_MS = 200,
};

/* Of the bytes of a burst: headers of packets are as many bytes as this, and
 * acknowledgements are this share.
 */
#define HEADER_BYTES 40
#define ACK_SHARE .02
#define BITS_MAX 1e15 /* a rate */

void burst_work_clear (struct burst_work *w)
{
    free (w->task);
    free (w->port);
}

static bool is_loopback (const struct group *g, size_t m,
                         const struct burst_task *task)
{
    return task->peer == g->first[m] + task->rail;
}

/*
 * A member
 */

void burst_work_pack (const struct burst_work *w, struct group_blob *blob)
{
    uint8_t *p;

    blob->len = PART_HEADER + w->ntasks * TASK_SIZE;
    p = blob->data = xarray (blob->len, 1);
    wire_put (p, BURST_VERSION, 1);
    wire_put (p + 1, w->level, 1);
    wire_put (p + 2, w->passes, 1);
    wire_put (p + 3, w->rounds, 4);
    wire_put (p + 7, w->flow_rounds, 4);
    wire_put (p + 11, w->late_ns, 4);
    wire_put (p + 15, w->ntasks, 4);
    p += PART_HEADER;
    for (size_t i = 0; i < w->ntasks; i++, p += TASK_SIZE) {
        const struct burst_task *task = &w->task[i];

        wire_put (p, task->round, 4);
        wire_put (p + 4, task->peer, 4);
        wire_put (p + 8, task->rail, 1);
        wire_put (p + 9, task->own_lid, 1);
        wire_put (p + 10, task->other_lid, 1);
        wire_put (p + 11, task->bursts, 1);
        wire_put (p + 12, task->strict, 1);
        wire_put (p + 13, task->bytes, 4);
    }
}

/* Return false if the part is invalid. */
static bool unpack_work (struct burst_work *w, const struct group_blob *blob,
                         const struct group *g)
{
    struct wire_in in = { blob->data, blob->len, false };
    uint32_t round = 0;

    if (wire_take (&in, 1) != BURST_VERSION)
        return false;
    w->level = (unsigned int)wire_take (&in, 1);
    w->passes = (unsigned int)wire_take (&in, 1);
    w->rounds = (uint32_t)wire_take (&in, 4);
    w->flow_rounds = (uint32_t)wire_take (&in, 4);
    w->late_ns = (uint32_t)wire_take (&in, 4);
    w->ntasks = wire_take (&in, 4);
    w->rails = g->rails;
    if (in.bad || w->level > PROBE_LEVEL_MAX || w->passes > BURST_PASSES_MAX
        || w->rounds > ROUNDS_MAX || w->flow_rounds > w->rounds
        || w->late_ns > LATE_MAX_S * 1000000000U
        || in.left != w->ntasks * TASK_SIZE)
        return false;
    w->task = xcalloc (w->ntasks, sizeof (*w->task));
    for (size_t i = 0; i < w->ntasks; i++) {
        struct burst_task *task = &w->task[i];

        task->round = (uint32_t)wire_take (&in, 4);
        task->peer = (uint32_t)wire_take (&in, 4);
        task->rail = (uint8_t)wire_take (&in, 1);
        task->own_lid = (uint8_t)wire_take (&in, 1);
        task->other_lid = (uint8_t)wire_take (&in, 1);
        task->bursts = (uint8_t)wire_take (&in, 1);
        task->strict = wire_take (&in, 1) == 1;
        task->bytes = (uint32_t)wire_take (&in, 4);
        if (task->round < round || task->round >= w->rounds
            || task->peer >= g->npeers || task->rail >= g->rails
            || task->bursts > w->passes || task->bytes < BURST_WARM)
            return false;
        for (size_t k = i; k > 0 && w->task[k - 1].round == task->round; k--)
            if (w->task[k - 1].peer == task->peer
                || i - k + 2 > TRANSPORT_RAILS_MAX)
                return false;
        round = task->round;
    }
    return !in.bad;
}

static struct transport_burst burst_of (const struct burst_task *task)
{
    return (struct transport_burst){
        .rail = task->rail,
        .peer = task->peer,
        .way = { task->own_lid, task->other_lid, 0 },
        .bytes = task->bytes,
        .strict = task->strict,
    };
}

/* Keep the first reason. */
static void note_trouble (struct burst_work *w, const char *why)
{
    if (!*w->why)
        snprintf (w->why, sizeof (w->why), "%.*s", BURST_WHY, why);
}

/* Prepare for the bursts of a step; tasks that cannot be prepared, or are not in
 * time, have none from now on. Return 0, or -1 with err.
 */
static int prepare_bursts (struct group *g, struct burst_work *w,
                           struct burst_task *const *task, size_t n,
                           struct error *err)
{
    int64_t until
        = group_now (g)
          + transport_gaps (g->t, READY_GAPS, READY_MS * INT64_C (1000000));
    bool ready[TRANSPORT_RAILS_MAX] = { false };
    struct error why;

    for (;;) {
        size_t open = 0;

        for (size_t i = 0; i < n; i++) {
            struct transport_burst b = burst_of (task[i]);
            int rc = task[i]->off || ready[i]
                         ? 1
                         : g->transport->bulk_prepare (g->t, b.rail, b.peer,
                                                       b.way, b.strict, &why);

            if (rc < 0)
                note_trouble (w, why.text);
            ready[i] = rc > 0;
            task[i]->off |= rc < 0
                            || (rc == 0
                                && (group_now (g) >= until
                                    || g->member[g->member_of[b.peer]].dead));
            open += !ready[i] && !task[i]->off;
        }
        if (open == 0)
            return 0;
        if (group_until (g, group_now (g) + group_gap (g), err) < 0)
            return -1;
    }
}

/* The device of a rail, open; -1: the kernel shows none. */
static int open_device (const struct burst_work *w, const struct burst_rail *r)
{
    char path[4096];

    if (!r->port)
        return -1;
    snprintf (path, sizeof (path), "%s/%s", w->sysfs, r->port->device);
    return open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Read PCIe as it is now; idle links are slower, so the faster reading counts. */
static void look_at_pcie (const struct burst_work *w, struct burst_rail *r)
{
    int dir = r->looked ? -1 : open_device (w, r);
    struct pcie now;

    r->looked = true;
    if (dir < 0)
        return;
    pcie_read (dir, &now);
    if (pcie_bits (&now.now) > pcie_bits (&r->pcie.now))
        r->pcie = now;
    close (dir);
}

static uint64_t count_pcie_errors (const struct burst_work *w,
                                   const struct burst_rail *r)
{
    int dir = open_device (w, r);
    uint64_t n;

    if (dir < 0 || !pcie_errors (dir, &n))
        n = UINT64_MAX;
    if (dir >= 0)
        close (dir);
    return n;
}

static uint64_t growth_of (uint64_t before, uint64_t now)
{
    if (before == UINT64_MAX || now == UINT64_MAX || now < before)
        return 0;
    return now - before < UINT32_MAX ? now - before : UINT32_MAX;
}

static void begin_rails (struct group *g, struct burst_work *w)
{
    const struct transport *t = g->transport;

    w->sysfs = stage_sysfs (g);
    local_ports (w->sysfs, &w->port, &w->nports, NULL);
    for (size_t i = 0; i < w->rails; i++) {
        struct burst_rail *r = &w->rail[i];
        struct transport_port port = { .retries = UINT64_MAX };

        for (size_t k = 0; k < w->nports; k++)
            if (w->port[k].guid && w->port[k].guid == g->t->address[i].guid)
                r->port = &w->port[k];
        if (t->bulk_port)
            t->bulk_port (g->t, (uint32_t)i, &port);
        r->retries = port.retries;
        r->errors = count_pcie_errors (w, r);
    }
}

static void end_rails (struct group *g, struct burst_work *w)
{
    const struct transport *t = g->transport;

    for (size_t i = 0; i < w->rails; i++) {
        struct burst_rail *r = &w->rail[i];
        struct transport_port port = { .retries = UINT64_MAX };
        double header, most = NAN;

        if (t->bulk_port)
            t->bulk_port (g->t, (uint32_t)i, &port);
        header = port.mtu > 0 ? (double)HEADER_BYTES / port.mtu : ACK_SHARE;
        /* counters that miss most of our own bytes do not count */
        for (int way = 0; way < 2; way++)
            if (r->ns > 0 && r->bytes[way] >= r->own[way] / 4)
                most = fmax (
                    most, fmax (0, r->bytes[way]
                                       - r->own[way] * (1 + header + ACK_SHARE))
                              * 8e9 / r->ns);
        r->found = (struct burst_port){
            .bits = port.bits,
            .mtu = port.mtu,
            .able = r->pcie.able,
            .now = r->pcie.now,
            .could = r->pcie.could,
            .others_bits = most,
            .retries = growth_of (r->retries, port.retries),
            .errors = growth_of (r->errors, count_pcie_errors (w, r)),
            .order = port.relaxed ? ORDER_RELAXED : ORDER_STRICT,
        };
    }
}

/* Before and after the flows of a pass: what the ports carried. */
static void count_rails (struct group *g, struct burst_work *w, bool after)
{
    static const enum local_traffic_id id[] = { LOCAL_SENT, LOCAL_RECEIVED };

    w->sysfs = stage_sysfs (g); /* as it is now */
    for (size_t i = 0; i < w->rails; i++) {
        struct burst_rail *r = &w->rail[i];
        struct local_traffic now;
        uint64_t words;

        if (!r->port)
            continue;
        local_traffic (w->sysfs, r->port, &now);
        for (int way = 0; after && way < 2; way++)
            r->bytes[way] += local_growth (&r->before, &now, id[way], &words)
                                 ? 4 * (double)words
                                 : NAN;
        if (after)
            r->ns += (double)(group_now (g) - r->since_ns);
        r->before = now;
        r->since_ns = group_now (g);
        r->looked = false;
    }
}

static void keep_burst (struct burst_way *got, const struct transport_burst *b)
{
    if (b->lost || !(b->bits > 0)) {
        got->lost++;
        return;
    }
    if (got->kept == 0 || b->bits < got->worst)
        got->worst = b->bits;
    if (b->bits > got->best)
        got->best = b->bits;
    got->kept++;
}

/* One pass of a round: the tasks first .. last-1. */
static int run_burst_step (struct group *g, struct burst_work *w,
                           unsigned int pass, size_t first, size_t last,
                           struct error *err)
{
    struct transport_burst burst[TRANSPORT_RAILS_MAX];
    struct burst_task *of[TRANSPORT_RAILS_MAX];
    int64_t until;
    struct error why;
    size_t all = 0, n = 0;

    for (size_t i = first; i < last; i++)
        if (!w->task[i].off && w->task[i].bursts >= pass)
            of[all++] = &w->task[i];
    if (prepare_bursts (g, w, of, all, err) < 0 || group_barrier (g, err) < 0)
        return -1;
    for (size_t i = 0; i < all; i++) {
        if (of[i]->off)
            continue;
        of[n] = of[i];
        burst[n] = burst_of (of[n]);
        if (pass == 0)
            burst[n].bytes /= BURST_WARM;
        n++;
    }
    if (n == 0)
        return 0;
    until = group_now (g) + w->late_ns;
    if (g->transport->bulk (g->t, burst, n,
                            until < g->deadline ? until : g->deadline, NULL,
                            NULL, &why)
        < 0) {
        note_trouble (w, why.text);
        for (size_t i = 0; i < w->ntasks; i++)
            w->task[i].off = true;
        return 0;
    }
    for (size_t i = 0; i < n && pass > 0; i++) {
        struct burst_rail *rail = &w->rail[of[i]->rail];

        look_at_pcie (w, rail);
        if (!is_loopback (g, g->me, of[i])) {
            rail->own[0] += (double)burst[i].bytes;
            /* what came of a lost one is not known */
            rail->own[1] += burst[i].lost ? NAN : (double)burst[i].bytes;
        }
        keep_burst (&of[i]->got, &burst[i]);
    }
    return 0;
}

static int run_burst_passes (struct group *g, struct burst_work *w,
                             struct error *err)
{
    int rc = 0;

    for (unsigned int pass = 0; rc == 0 && pass <= w->passes; pass++)
        for (uint32_t round = 0, last = 0; rc == 0 && round < w->rounds;
             round++) {
            int64_t deadline = stage_step (g);
            size_t first = last;

            while (last < w->ntasks && w->task[last].round == round)
                last++;
            if (pass > 0 && round == 0)
                count_rails (g, w, false);
            rc = run_burst_step (g, w, pass, first, last, err);
            if (pass > 0 && round + 1 == w->flow_rounds)
                count_rails (g, w, true);
            stage_step_end (g, deadline, rc, round, err);
        }
    return rc;
}

int burst_work_run (struct group *g, struct burst_work *w, struct error *err)
{
    const struct transport *t = g->transport;
    char before[BURST_WHY + 1] = "";
    const char *trouble;
    int rc;

    if (!t->bulk) {
        note_trouble (w, "its transport has no bursts");
        for (size_t i = 0; i < w->ntasks; i++)
            w->task[i].off = true;
    }
    if (t->trouble && (trouble = t->trouble (g->t)))
        snprintf (before, sizeof (before), "%.*s", BURST_WHY, trouble);
    if (t->set_level)
        t->set_level (g->t, w->level);
    group_attend (g, w->ntasks > 0);
    begin_rails (g, w);
    rc = run_burst_passes (g, w, err);
    group_attend (g, false);
    end_rails (g, w);
    if (t->trouble && (trouble = t->trouble (g->t))
        && strncmp (trouble, before, BURST_WHY))
        note_trouble (w, trouble);
    return rc;
}

/* A rate in bits per second; UINT64_MAX: not known. */
static uint64_t whole_bits (double bits)
{
    return bits >= 0 && bits <= BITS_MAX ? (uint64_t)bits : UINT64_MAX;
}

static double take_bits (struct wire_in *in)
{
    uint64_t bits = wire_take (in, 8);

    in->bad |= bits != UINT64_MAX && bits > BITS_MAX;
    return bits == UINT64_MAX ? NAN : (double)bits;
}

static uint64_t take_at_most (struct wire_in *in, unsigned int bytes,
                              uint64_t most)
{
    uint64_t n = wire_take (in, bytes);

    in->bad |= n > most;
    return n;
}

static uint8_t *pack_pcie (uint8_t *p, const struct pcie_rate *rate)
{
    wire_put (p, rate->lanes, 1);
    wire_put (p + 1, rate->mts, 4);
    return p + 5;
}

static struct pcie_rate unpack_pcie (struct wire_in *in)
{
    struct pcie_rate rate = { (unsigned int)wire_take (in, 1), 0 };

    rate.mts = (unsigned int)take_at_most (in, 4, MTS_MAX);
    return rate;
}

static uint8_t *pack_port (uint8_t *p, const struct burst_port *port)
{
    wire_put (p, whole_bits (port->bits), 8);
    wire_put (p + 8, port->mtu, 4);
    p = pack_pcie (p + 12, &port->able);
    p = pack_pcie (p, &port->now);
    p = pack_pcie (p, &port->could);
    wire_put (p, whole_bits (port->others_bits), 8);
    wire_put (p + 8, port->retries, 8);
    wire_put (p + 16, port->errors, 8);
    wire_put (p + 24, port->order, 1);
    return p + 25;
}

static void unpack_port (struct wire_in *in, struct burst_port *port)
{
    port->bits = take_bits (in);
    port->mtu = (uint32_t)take_at_most (in, 4, MTU_MAX);
    port->able = unpack_pcie (in);
    port->now = unpack_pcie (in);
    port->could = unpack_pcie (in);
    port->others_bits = take_bits (in);
    port->retries = take_at_most (in, 8, UINT32_MAX);
    port->errors = take_at_most (in, 8, UINT32_MAX);
    port->order
        = wire_take (in, 1) == ORDER_RELAXED ? ORDER_RELAXED : ORDER_STRICT;
    if (!(port->bits > 0))
        port->bits = 0;
}

void burst_work_pack_found (const struct burst_work *w, struct group_blob *blob)
{
    uint8_t *p = blob->data = xarray (FOUND_MAX + w->ntasks * WAY_SIZE, 1);

    *p++ = BURST_VERSION;
    p = wire_put_bytes (p, w->why, strlen (w->why), BURST_WHY);
    for (size_t i = 0; i < w->ntasks; i++, p += WAY_SIZE) {
        const struct burst_way *got = &w->task[i].got;

        wire_put (p, got->kept, 1);
        wire_put (p + 1, got->lost, 1);
        wire_put (p + 2, whole_bits (got->best), 8);
        wire_put (p + 10, whole_bits (got->worst), 8);
    }
    for (size_t i = 0; i < w->rails; i++)
        p = pack_port (p, &w->rail[i].found);
    blob->len = (size_t)(p - blob->data);
}

/* Into the leader's copy of a member's work. Return false if it is invalid. */
bool burst_work_take_found (struct burst_work *w, const struct group_blob *blob)
{
    struct wire_in in = { blob->data, blob->len, false };

    if (wire_take (&in, 1) != BURST_VERSION)
        return false;
    wire_take_text (&in, w->why, sizeof (w->why));
    text_clean (w->why);
    for (size_t i = 0; i < w->ntasks; i++) {
        struct burst_way *got = &w->task[i].got;

        got->kept = (uint32_t)wire_take (&in, 1);
        got->lost = (uint32_t)wire_take (&in, 1);
        got->best = take_bits (&in);
        got->worst = take_bits (&in);
        if (got->kept + got->lost > w->task[i].bursts
            || (got->kept > 0 && !(got->worst > 0 && got->best >= got->worst)))
            return false;
    }
    for (size_t i = 0; i < w->rails; i++)
        unpack_port (&in, &w->rail[i].found);
    return !in.bad && in.left == 0;
}

int burst_part (struct group *g, const struct group_blob *told,
                struct group_blob *found, struct error *err)
{
    struct burst_work w = { 0 };
    int rc = 0;

    if (!unpack_work (&w, told, g))
        rc = error_world (err, "the leader sent an invalid plan of bursts");
    if (rc == 0 && (rc = burst_work_run (g, &w, err)) == 0)
        burst_work_pack_found (&w, found);
    burst_work_clear (&w);
    return rc;
}
