/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A request keeps its transaction id each time it is sent, so a late answer to
 * an earlier send completes it, and later answers are dropped. The kernel
 * reserves the upper half of the id, refuses an id that it is waiting for, and
 * reports a MAD without an answer as "received". GRACE_MS covers the case that
 * it does not.
 *
 * A lost MAD is sent again after everything that is queued, so that far ends
 * that do not answer do not block the window.
 */
#include "config.h"
#include "ibquery/read/mads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/smp.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/terminal.h"

enum {
    GRACE_MS = 500,
    MIN_ROOM = 64,
    BURST_US = 1000, /* how much unused `rate` is caught up */
    SETTLE_US = 100000,
    MAX_RETRIES = 100,
    MAX_TIMEOUT_MS = 60000,
    NETDISC_MS = 60000,
};

const struct mads_options mads_defaults = {
    .timeout_ms = 1000, .retries = 15, .window = 8, .rate = 20000,
};

struct mads_item {
    struct mads_request request;
    unsigned int sent; /* times */
    uint32_t tid;      /* 0: not sent yet; of a slot: free */
    int64_t end_us;    /* of the wait for its answer */
};

struct mads_queue {
    struct mads_item *item; /* a ring */
    size_t first, n, room;
};

struct mads {
    struct mads_options opts;
    struct mads_wire wire;
    struct mads_queue fresh, again;
    struct mads_item *slot; /* [window] */
    size_t flying;          /* slots that are not free */
    uint32_t last_tid;
    int64_t begin_us, due_us; /* due_us: earliest next send */
    struct mads_counts counts;
    bool exhausted;
};

static int64_t now_us (const struct mads *m)
{
    return m->wire.now_us ? m->wire.now_us (m->wire.arg) : clock_ns () / 1000;
}

static void queue_put (struct mads_queue *q, const struct mads_item *item)
{
    if (q->n == q->room) {
        size_t room = q->room ? 2 * q->room : MIN_ROOM;
        struct mads_item *v = xarray (room, sizeof (*v));

        for (size_t i = 0; i < q->n; i++)
            v[i] = q->item[(q->first + i) & (q->room - 1)];
        free (q->item);
        *q = (struct mads_queue){ .item = v, .n = q->n, .room = room };
    }
    q->item[(q->first + q->n++) & (q->room - 1)] = *item;
}

struct mads *mads_create (const struct mads_options *opts,
                          const struct mads_wire *wire, struct error *err)
{
    struct mads *m;
    int rc = 0;

    if (opts->window < 1 || opts->window > MADS_MAX_WINDOW)
        rc = error_input (err, "the MADs in flight are 1 to %d",
                          MADS_MAX_WINDOW);
    else if (opts->timeout_ms < 1 || opts->timeout_ms > MAX_TIMEOUT_MS)
        rc = error_input (err, "the timeout of a MAD is 1 to %d ms",
                          MAX_TIMEOUT_MS);
    else if (opts->retries > MAX_RETRIES)
        rc = error_input (err, "a MAD is sent again %d times at most",
                          MAX_RETRIES);
    if (rc < 0) {
        wire->close (wire->arg);
        return NULL;
    }
    m = xcalloc (1, sizeof (*m));
    m->opts = *opts;
    m->wire = *wire;
    m->begin_us = m->due_us = now_us (m);
    m->slot = xcalloc (opts->window, sizeof (*m->slot));
    return m;
}

void mads_destroy (struct mads *m)
{
    if (!m)
        return;
    m->wire.close (m->wire.arg);
    free (m->fresh.item);
    free (m->again.item);
    free (m->slot);
    free (m);
}

void mads_get (struct mads *m, const struct mads_request *request)
{
    const struct mads_item item = { .request = *request };

    queue_put (&m->fresh, &item);
}

static void release (struct mads *m, struct mads_item *slot)
{
    slot->tid = 0;
    m->flying--;
}

/* How long send number `sent` of an item waits for its answer. */
static unsigned int wait_ms (const struct mads *m, unsigned int sent)
{
    unsigned int ms = m->opts.timeout_ms / 8;

    if (ms == 0)
        ms = 1;
    while (--sent > 0 && ms < m->opts.timeout_ms)
        ms *= 2;
    return ms < m->opts.timeout_ms ? ms : m->opts.timeout_ms;
}

static void build_mad_packet (const struct mads *m, const struct mads_item *s,
                              struct mads_packet *p)
{
    const struct mads_request *r = &s->request;
    uint8_t *mad = p->mad;

    memset (p, 0, sizeof (*p));
    mad[MAD_VERSION] = 1;
    mad[MAD_CLASS] = r->class;
    mad[MAD_CLASS_VERSION] = 1;
    mad[MAD_METHOD] = METHOD_GET;
    put64 (mad + MAD_TID, s->tid);
    put16 (mad + MAD_ATTR, r->attr);
    put32 (mad + MAD_MOD, r->mod);
    p->lid = r->to->lid;
    p->sl = r->to->sl;
    if (r->class == MADS_PERF) {
        mad[MADS_DATA_OFFSET + 1] = r->select;
        p->qp = 1;
        return;
    }
    put64 (mad + MAD_MKEY, m->opts.mkey);
    if (r->class == MADS_DIRECTED) {
        p->lid = MADS_PERMISSIVE_LID;
        mad[MAD_HOP_COUNT] = r->to->hops;
        put16 (mad + MAD_DR_SLID, MADS_PERMISSIVE_LID);
        put16 (mad + MAD_DR_DLID, MADS_PERMISSIVE_LID);
        memcpy (mad + MAD_INITIAL_PATH, r->to->path, r->to->hops + 1);
    }
}

/* Send the item of a slot. */
static int transmit (struct mads *m, struct mads_item *s, struct error *err)
{
    unsigned int timeout_ms = wait_ms (m, ++s->sent);
    struct mads_packet packet;

    m->flying++;
    while (s->tid == 0)
        s->tid = ++m->last_tid;
    if (m->opts.max > 0 && m->counts.sent == m->opts.max) {
        m->exhausted = true;
        return error_world (err, "more than %" PRIu64 " MADs are needed, which "
                                 "is the limit", m->opts.max);
    }
    m->counts.sent++;
    build_mad_packet (m, s, &packet);
    s->end_us = now_us (m) + (int64_t)(timeout_ms + GRACE_MS) * 1000;
    return m->wire.send (m->wire.arg, &packet, timeout_ms, err);
}

/* Whether the rate allows another send now. */
static bool due (struct mads *m, int64_t now)
{
    if (m->opts.rate == 0)
        return true;
    if (m->due_us > now)
        return false;
    if (m->due_us < now - BURST_US)
        m->due_us = now - BURST_US;
    m->due_us += 1000000 / m->opts.rate;
    return true;
}

/* Keep the window full. */
static int send_more (struct mads *m, struct error *err)
{
    while (m->flying < m->opts.window && m->fresh.n + m->again.n > 0
           && due (m, now_us (m))) {
        struct mads_queue *q = m->fresh.n > 0 ? &m->fresh : &m->again;
        struct mads_item *slot = m->slot;

        while (slot->tid != 0)
            slot++;
        *slot = q->item[q->first];
        q->first = (q->first + 1) & (q->room - 1);
        q->n--;
        if (transmit (m, slot, err) < 0)
            return -1;
    }
    return 0;
}

/* A send got no answer: send the request again later, or give up. */
static int retry_or_fail_request (struct mads *m, struct mads_item *slot,
                                  struct error *err)
{
    const struct mads_item item = *slot;
    const struct mads_answer none = { .attr = item.request.attr };
    const struct mads_request *r = &item.request;

    ++*(r->optional ? &m->counts.silent : &m->counts.lost);
    release (m, slot);
    if (item.sent < (r->tries > 0 ? r->tries : m->opts.retries + 1)) {
        queue_put (&m->again, &item);
        return 0;
    }
    return r->fn (r->arg, r->cookie, &none, err);
}

/* The slot of a request in flight; NULL if it was answered, or is unknown. */
static struct mads_item *find_mad_slot (const struct mads *m,
                                        const uint8_t *mad)
{
    uint32_t tid = get32 (mad + MAD_TID + 4);

    for (size_t i = 0; tid != 0 && i < m->opts.window; i++) {
        const struct mads_request *r = &m->slot[i].request;

        if (m->slot[i].tid == tid)
            return mad[MAD_CLASS] == r->class
                           && get16 (mad + MAD_ATTR) == r->attr
                           && get32 (mad + MAD_MOD) == r->mod
                       ? &m->slot[i]
                       : NULL;
    }
    return NULL;
}

static int take_mad_answer (struct mads *m, const struct mads_packet *p,
                            struct error *err)
{
    struct mads_item *s = find_mad_slot (m, p->mad);
    struct mads_answer answer;
    struct mads_request r;

    if (!s)
        return 0;
    if (p->lost)
        return retry_or_fail_request (m, s, err);
    if (p->mad[MAD_METHOD] != METHOD_GET_RESP)
        return 0;
    answer = (struct mads_answer){
        .attr = s->request.attr,
        .status = get16 (p->mad + MAD_STATUS) & ~STATUS_DIRECTION,
    };
    if (answer.status & STATUS_BUSY) {
        s->end_us = now_us (m) + (int64_t)wait_ms (m, s->sent) * 1000;
        return 0;
    }
    if (answer.status == 0)
        answer.data = p->mad + MADS_DATA_OFFSET;
    r = s->request;
    release (m, s);
    m->counts.answered++;
    return r.fn (r.arg, r.cookie, &answer, err);
}

/* The time to wait in recv, in milliseconds; 0 if there is something to do. */
static unsigned int receive_timeout_ms (const struct mads *m, int64_t until_us)
{
    int64_t left = until_us - now_us (m);

    if (left <= 0)
        return 0;
    return left > MAX_TIMEOUT_MS * 1000LL ? MAX_TIMEOUT_MS
                                          : (unsigned int)((left + 999) / 1000);
}

static int64_t end_us (const struct mads *m)
{
    return m->opts.deadline_ms > 0
               ? m->begin_us + m->opts.deadline_ms * 1000
               : INT64_MAX;
}

static int check_deadline (struct mads *m, struct error *err)
{
    if (now_us (m) < end_us (m))
        return 0;
    m->exhausted = true;
    return error_world (err, "not done within %" PRId64 " ms, which is the "
                             "deadline", m->opts.deadline_ms);
}

static int step (struct mads *m, struct error *err)
{
    struct mads_packet packet;
    int64_t until = end_us (m), now;
    int rc;

    if (check_deadline (m, err) < 0 || send_more (m, err) < 0)
        return -1;
    for (size_t i = 0; i < m->opts.window; i++)
        if (m->slot[i].tid != 0 && m->slot[i].end_us < until)
            until = m->slot[i].end_us;
    if (m->flying < m->opts.window && m->fresh.n + m->again.n > 0
        && m->due_us < until)
        until = m->due_us;
    rc = m->wire.recv (m->wire.arg, &packet, receive_timeout_ms (m, until),
                       err);
    if (rc > 0)
        rc = take_mad_answer (m, &packet, err);
    now = now_us (m);
    for (size_t i = 0; rc >= 0 && i < m->opts.window; i++)
        if (m->slot[i].tid != 0 && m->slot[i].end_us <= now)
            rc = retry_or_fail_request (m, &m->slot[i], err);
    return rc < 0 ? -1 : 0;
}

/* Drop all requests. First wait a short time for those in flight: a simulated
 * device fails if it is closed before they come back.
 */
static void drop_all (struct mads *m)
{
    int64_t until = now_us (m) + SETTLE_US;
    struct mads_packet late;
    size_t left = m->flying;
    int rc = 0;

    while (left > 0 && rc >= 0 && now_us (m) < until) {
        rc = m->wire.recv (m->wire.arg, &late, receive_timeout_ms (m, until),
                           NULL);
        left -= rc > 0;
    }
    m->fresh.n = m->again.n = 0;
    for (size_t i = 0; i < m->opts.window; i++)
        m->slot[i].tid = 0;
    m->flying = 0;
}

int mads_run (struct mads *m, struct error *err)
{
    size_t left;

    while ((left = m->fresh.n + m->again.n + m->flying) > 0) {
        terminal_work ("query", m->counts.answered, m->counts.answered + left);
        if (step (m, err) < 0) {
            drop_all (m);
            return -1;
        }
    }
    return 0;
}

void mads_netdisc (struct mads *m, mads_take_f take, void *arg)
{
    const struct mads_options *o = &m->opts;
    int64_t ms = NETDISC_MS, used;

    if (!m->wire.netdisc || o->max > 0
        || (o->rate > 0 && o->rate < mads_defaults.rate))
        return;
    /* Half of the time is for asking what it leaves out. */
    if (o->deadline_ms > 0 && (end_us (m) - now_us (m)) / 2000 < ms)
        ms = (end_us (m) - now_us (m)) / 2000;
    terminal_work ("finding nodes and cables", 0, 0);
    if (ms > 0
        && (used = m->wire.netdisc (m->wire.arg, ms, take, arg)) > 0) {
        m->counts.sent += used;
        m->counts.answered += used;
    }
}

int mads_pause (struct mads *m, unsigned int ms, struct error *err)
{
    int64_t until = now_us (m) + (int64_t)ms * 1000;
    struct mads_packet late;

    while (now_us (m) < until) {
        int64_t next = until < end_us (m) ? until : end_us (m);

        if (check_deadline (m, err) < 0
            || m->wire.recv (m->wire.arg, &late, receive_timeout_ms (m, next),
                             err)
                   < 0)
            return -1;
    }
    return 0;
}

bool mads_exhausted (const struct mads *m)
{
    return m->exhausted;
}

struct mads_counts mads_counts (const struct mads *m)
{
    return m->counts;
}
