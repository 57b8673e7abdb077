/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rail: one port with its queues.
 *
 * Notes: two RC queue pairs are connected by messages over UD. Each side sends
 * its queue pair's number and asks again until the other side reports that it
 * is connected to that. So neither side sends a message that the other's
 * adapter would drop, which would be repeated only after a time-out. Packet
 * sequence numbers depend on the run's key, so packets of earlier runs do not
 * match.
 *
 * A message that an RC queue pair repeats arrives too late for its ping: so
 * losses are seen, as over UD.
 *
 * Only the path of a message is timed. The clock is read right before the
 * doorbell, and an answer includes for how long its sender has held the message
 * that it answers. With the device's clock this begins when the device receives
 * the message; without, when the process sees it, so that the time to wake up
 * remains in the round trip. Reading the device's clock is a round trip over
 * its bus, and the way back remains, too: it is the same in all round trips of
 * a host and counts as part of its host end.
 *
 * Some devices stamp completions with another clock than the one that can be
 * read. The first stamp shows this; then neither clock is used.
 */
#include "config.h"
#include "probe/verbs_rail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cpu.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/rng.h"

enum {
    UD_RECEIVES = 2048, /* so many answers may arrive at once */
    UD_SENDS = 256,
    RC_DEPTH = 8,
    RC_CQ_DEPTH = 8192, /* limits the number of RC queue pairs: all that they
                           have posted may complete at once */
    WIRE_SIZE = 8,
    SL_MAX = 15,
    RETRY_GAPS = 20,
    RETRY_COSTS = 20,  /* times the duration of the last try */
    /* for lost_ns */
    LOST_GAPS = 250,
    LOST_GAPS_LEAST = 2,
    LOST_NS = 250000000,
    /* upper bound of a round trip, in us */
    GAP_BUSY = 50,
    GAP_EVENT = 200,
    GAP_SOFTWARE = 5000,
};

static uint32_t wanted_gap (const struct verbs_device *d,
                            const struct site *site)
{
    if (site->round_trip_us > 0)
        return (uint32_t)site->round_trip_us;
    if (d->software)
        return GAP_SOFTWARE;
    return strcmp (site->polling, "event") ? GAP_BUSY : GAP_EVENT;
}

int verbs_rail_open (struct verbs_rail *rail,
                     const struct verbs_port_name *name, bool first,
                     bool pads, const struct site *site, struct error *err)
{
    struct verbs_device *d = &rail->device;
    bool rc = !strcmp (site->service, "rc");
    uint32_t receives;
    uint32_t depth;

    *rail = (struct verbs_rail){ .armed = false };
    if (verbs_device_open (d, name, site, err) < 0
        || (pads && verbs_device_open_pads (d, err) < 0))
        return -1;
    receives = verbs_device_at_most (UD_RECEIVES, d->limits.max_cqe);
    depth = verbs_device_at_most (rc ? RC_CQ_DEPTH : UD_RECEIVES,
                                  d->limits.max_cqe);
    rail->rc_max = (depth - receives) / RC_DEPTH;
    if (!(rail->channel = ibv_create_comp_channel (d->context)))
        return verbs_device_failed (d, "no completion channel", errno, err);
    if (verbs_cq_open (&rail->receives, d, depth, rail->channel, err) < 0
        || verbs_cq_open (&rail->sends, d, depth, NULL, err) < 0
        || verbs_qp_open (&rail->ud, d, IBV_QPT_UD, receives, UD_SENDS,
                          &rail->sends, &rail->receives, err) < 0)
        return -1;
    rail->sl = d->sl;
    rail->at = d->at;
    rail->at.rc = rc;
    rail->at.first = first;
    rail->at.qpn = rail->ud.qp->qp_num;
    rail->at.gap_us = wanted_gap (d, site);
    rail->at.machine = cpu_machine ();
    rail->at.cores = cpu_count () < UINT8_MAX ? (uint8_t)cpu_count ()
                                              : UINT8_MAX;
    rail->address.guid = d->guid;
    verbs_address_pack (&rail->at, &rail->address);
    return 0;
}

static void close_way (struct verbs_way *way)
{
    if (way->ah)
        ibv_destroy_ah (way->ah);
    if (way->timed)
        ibv_destroy_ah (way->timed);
    if (way->rc)
        verbs_qp_close (way->rc);
    free (way->rc);
    free (way);
}

void verbs_rail_close (struct verbs_rail *rail)
{
    for (size_t i = 0; rail->way && i < rail->run->npeers; i++)
        for (struct verbs_way *way; (way = rail->way[i]);) {
            rail->way[i] = way->next;
            close_way (way);
        }
    free (rail->way);
    verbs_qp_close (&rail->ud);
    verbs_cq_close (&rail->receives);
    verbs_cq_close (&rail->sends);
    if (rail->channel)
        ibv_destroy_comp_channel (rail->channel);
    verbs_device_close (&rail->device);
    *rail = (struct verbs_rail){ .armed = false };
}

int verbs_rail_start (struct verbs_rail *rail, struct verbs_run *run,
                      uint32_t self, struct error *err)
{
    rail->run = run;
    rail->self = self;
    rail->way = xcalloc (run->npeers, sizeof (*rail->way));
    return verbs_qp_start_ud (&rail->ud, run->qkey, err);
}

/* Keep the first problem of the rail. If the rail cannot reach itself, that is
 * none: its loopback is then not measured.
 */
static void note_trouble (struct verbs_rail *rail, uint32_t peer,
                          const char *what)
{
    if (!rail->trouble.text[0] && peer != rail->self)
        error_world (&rail->trouble, "%s: no way to %s of %s: %s",
                     rail->device.name, rail->run->at[peer].name,
                     rail->run->at[peer].node, what);
}

/* Set the time of the next try. The wait is long if a try takes long, because
 * no message is answered during a try.
 */
static void try_later (const struct verbs_rail *rail, struct verbs_way *way,
                       int64_t began_ns)
{
    int64_t now = verbs_device_now_ns (&rail->device);
    int64_t rest = RETRY_COSTS * (now - began_ns);

    if (rest < RETRY_GAPS * rail->run->gap_ns)
        rest = RETRY_GAPS * rail->run->gap_ns;
    way->due_ns = now + rest;
}

/* Return NULL if one of the ports has no such LID. */
static struct verbs_way *find_way (struct verbs_rail *rail, uint32_t peer,
                                   struct transport_way by)
{
    struct verbs_way **way = &rail->way[peer];

    if (by.own >> rail->at.lmc || by.other >> rail->run->at[peer].lmc)
        return NULL;
    while (*way && ((*way)->by.own != by.own || (*way)->by.other != by.other))
        way = &(*way)->next;
    if (!*way) {
        *way = xcalloc (1, sizeof (**way));
        (*way)->by = by;
    }
    return *way;
}

/* Find or make the address handle for timed messages, or for others. Return
 * NULL if there is none.
 */
static struct ibv_ah *find_ah (struct verbs_rail *rail, uint32_t peer,
                               struct verbs_way *way, bool timed)
{
    uint8_t sl = timed ? rail->sl : rail->device.sl;
    struct ibv_ah **ah = sl == rail->device.sl ? &way->ah : &way->timed;
    struct ibv_ah_attr attr;
    int64_t now;

    if (*ah || (now = verbs_device_now_ns (&rail->device)) < way->due_ns)
        return *ah;
    verbs_device_route (&rail->device, &rail->run->at[peer], way->by, sl,
                        &attr);
    if ((*ah = ibv_create_ah (rail->device.pd, &attr)))
        return *ah;
    note_trouble (rail, peer, strerror (errno));
    try_later (rail, way, now);
    return NULL;
}

/*
 * Sending
 */

/* Stamp a timed message. Return for how long the message that it answers was
 * held, in ns.
 */
static uint32_t stamp (struct verbs_rail *rail,
                       struct transport_timing *timing)
{
    int64_t held;

    timing->stamp_ns = verbs_device_now_ns (&rail->device);
    if (!timing->answers)
        return 0;
    held = timing->stamp_ns - timing->answers->stamp_ns;
    return held < 0 ? 0 : held < UINT32_MAX ? (uint32_t)held : UINT32_MAX;
}

/* If half of the send queue is full, reap completions; if `waits`, do so for up
 * to one gap until there is room.
 */
static int make_room (struct verbs_rail *rail, const struct verbs_qp *q,
                      bool waits, struct error *err)
{
    int64_t until = 0;

    if (q->sent - q->done < q->depth / 2)
        return 0;
    for (;;) {
        int64_t now;

        if (verbs_qp_reap (&rail->sends, err) < 0)
            return -1;
        if (!waits || q->sent - q->done < q->depth)
            return 0;
        now = verbs_device_now_ns (&rail->device);
        if (until == 0)
            until = now + rail->run->gap_ns;
        else if (now >= until)
            return 0;
    }
}

static int post (struct verbs_rail *rail, struct verbs_qp *q,
                 enum verbs_type type, struct verbs_message *m,
                 struct transport_timing *timing, struct error *err)
{
    uint8_t buf[VERBS_HEADER];
    struct verbs_header header = {
        .from = rail->self,
        .sequence = ++rail->sequence,
        .type = type,
        .pad = (uint16_t)m->pad,
    };

    if (make_room (rail, q, !timing && rail->run->size_max > 0, err) < 0)
        return -1;
    if (timing)
        header.held_ns = stamp (rail, timing);
    verbs_header_pack (buf, rail->run->key, &header);
    m->header = buf;
    return verbs_qp_send (q, m, err) < 0 ? -1 : 0;
}

/* The LIDs that a message takes. */
static struct transport_way way_of (const struct transport_timing *timing)
{
    if (!timing)
        return (struct transport_way){ 0, 0 };
    return timing->answers ? timing->answers->way : timing->way;
}

int verbs_rail_send (struct verbs_rail *rail, uint32_t peer,
                     enum verbs_type type, const uint8_t *data, size_t len,
                     size_t pad, struct transport_timing *timing,
                     struct error *err)
{
    bool by_rc = timing && rail->at.rc;
    struct verbs_way *way = find_way (rail, peer, way_of (timing));
    struct verbs_qp *q = !by_rc ? &rail->ud : way ? way->rc : NULL;
    struct verbs_message m = {
        .data = data,
        .len = len,
        .pad = pad,
        .ah = by_rc || rail->lost || !way
                  ? NULL
                  : find_ah (rail, peer, way, timing != NULL),
        .qpn = rail->run->at[peer].qpn,
        .qkey = rail->run->qkey,
    };

    if (by_rc && q && q->broken)
        note_trouble (rail, peer, ibv_wc_status_str (q->why));
    if (by_rc ? q && q->connected && !q->broken && !rail->lost : m.ah != NULL)
        return post (rail, q, type, &m, timing, err);
    if (timing)
        stamp (rail, timing);
    return 0;
}

/*
 * Receiving
 */

/* The LIDs that a datagram came by: over UD only its sender's is known. */
static struct transport_way came_by (const struct verbs_slot *slot,
                                     const struct verbs_completion *c,
                                     const struct verbs_address *from)
{
    unsigned int mask = (1U << from->lmc) - 1;

    if (slot->qp->qp->qp_type == IBV_QPT_RC)
        return slot->qp->way;
    return (struct transport_way){ .other = (uint8_t)(c->slid & mask) };
}

/* Check a datagram: accept it or count it as dropped. Return the number of
 * bytes of data, or -1.
 */
static int check (const struct verbs_rail *rail, const struct verbs_slot *slot,
                  const struct verbs_completion *c, struct verbs_header *h,
                  const uint8_t **data)
{
    bool ud = slot->qp == &rail->ud;
    size_t before = ud ? VERBS_GRH : 0;
    size_t len = c->len >= before ? c->len - before : 0;
    const uint8_t *p = slot->data + before;
    struct verbs_origin origin = { c->src_qp, c->slid,
                                   c->grh ? slot->data : NULL };

    if (!verbs_header_unpack (h, p, len, rail->run->key, rail->run->npeers)
        || (ud ? !verbs_is_from (&origin, &rail->run->at[h->from])
               : h->from != slot->qp->peer)) {
        rail->run->counts.foreign++;
        return -1;
    }
    if (!verbs_window_take (&rail->run->window[h->from], h->sequence)) {
        rail->run->counts.repeated++;
        return -1;
    }
    *data = p + VERBS_HEADER;
    return (int)(len - VERBS_HEADER - h->pad);
}

/* Stop using the device's clock if a stamp is not from the recent past. */
static void check_clock (struct verbs_rail *rail, struct verbs_completion *c)
{
    struct verbs_device *d = &rail->device;

    rail->trusted = true;
    if (!d->clock_khz
        || verbs_stamp_is_sound (c->stamp_ns, verbs_device_now_ns (d)))
        return;
    d->clock_khz = 0;
    c->stamp_ns = verbs_device_now_ns (d);
}

static int take_failed (const struct verbs_rail *rail, struct verbs_slot *slot,
                        const struct verbs_completion *c, struct error *err)
{
    if (slot->qp == &rail->ud)
        return verbs_device_broke (&rail->device, "receiving failed",
                                   c->status, err);
    verbs_qp_break (slot->qp, c->status);
    return 0;
}

/*
 * RC queue pairs
 */

static int say_wire (struct verbs_rail *rail, uint32_t peer,
                     const struct verbs_qp *q, unsigned int flags,
                     struct error *err)
{
    uint8_t buf[WIRE_SIZE];

    wire_put (buf, q->qp->qp_num, 4);
    buf[4] = (uint8_t)(flags | (q->connected ? VERBS_WIRE_READY : 0));
    buf[5] = rail->sl;
    buf[6] = q->way.own;
    buf[7] = q->way.other;
    return verbs_rail_send (rail, peer, VERBS_WIRE, buf, sizeof (buf), 0, NULL,
                            err);
}

/* Return the RC queue pair of a way, or make it; NULL if that fails. */
static struct verbs_qp *find_rc (struct verbs_rail *rail, uint32_t peer,
                                 struct verbs_way *way)
{
    struct verbs_qp *q = way->rc;
    struct error why = { .text = "too many RC queue pairs" };

    if (q)
        return q;
    q = xcalloc (1, sizeof (*q));
    if (rail->nrc == rail->rc_max
        || verbs_qp_open (q, &rail->device, IBV_QPT_RC, RC_DEPTH, RC_DEPTH,
                          &rail->sends, &rail->receives, &why) < 0) {
        note_trouble (rail, peer, why.text);
        verbs_qp_close (q);
        free (q);
        return NULL;
    }
    q->peer = peer;
    q->way = way->by;
    rail->nrc++;
    way->rc = q;
    return q;
}

int verbs_rail_prepare (struct verbs_rail *rail, uint32_t peer,
                        struct transport_way by, struct error *err)
{
    struct verbs_way *way = find_way (rail, peer, by);
    struct verbs_qp *q;
    int64_t now;

    if (!way || !find_ah (rail, peer, way, !rail->at.rc) || !rail->at.rc)
        return 1;
    q = find_rc (rail, peer, way);
    if (!q || q->ready || q->broken)
        return 1;
    if ((now = verbs_device_now_ns (&rail->device)) < way->due_ns)
        return 0;
    try_later (rail, way, now);
    return say_wire (rail, peer, q, VERBS_WIRE_ASKS, err);
}

/* For how long the group waits for a ping at most (probe/group). */
static int64_t lost_ns (const struct verbs_run *run)
{
    int64_t most = run->gap_ns * LOST_GAPS_LEAST;

    if (most < LOST_NS)
        most = LOST_NS;
    return run->gap_ns * LOST_GAPS < most ? run->gap_ns * LOST_GAPS : most;
}

/* The first packet sequence number from one peer to another. Both sides compute
 * the same.
 */
static uint32_t first_psn (const struct verbs_run *run, uint32_t from,
                           uint32_t to)
{
    return (uint32_t)(rng_mix (run->key ^ ((uint64_t)from << 32 | to)) >> 40);
}

/* The side that asks knows the service level; the other side may not, yet. */
static uint8_t wired_sl (const struct verbs_rail *rail, const uint8_t *data)
{
    return data[4] & VERBS_WIRE_ASKS ? data[5] : rail->sl;
}

/* Handle a datagram of type VERBS_WIRE. Return 0, or -1 with err. */
static int take_wire (struct verbs_rail *rail, const struct packet *packet,
                      struct error *err)
{
    uint32_t peer = packet->peer;
    struct verbs_way *way;
    struct verbs_qp *q;

    if (packet->len != WIRE_SIZE || packet->data[5] > SL_MAX || !rail->at.rc)
        return 0;
    /* its own LID is our other, and vice versa */
    way = find_way (rail, peer,
                    (struct transport_way){ packet->data[7], packet->data[6] });
    if (!way || !(q = find_rc (rail, peer, way)))
        return 0;
    if (!q->connected && !q->broken) {
        struct error why;

        if (verbs_qp_start_rc (q, &rail->run->at[peer],
                               wired_sl (rail, packet->data),
                               (uint32_t)wire_get (packet->data, 4),
                               first_psn (rail->run, rail->self, peer),
                               first_psn (rail->run, peer, rail->self),
                               lost_ns (rail->run), &why)
            < 0) {
            q->broken = true;
            note_trouble (rail, peer, why.text);
        }
    }
    if (packet->data[4] & VERBS_WIRE_READY)
        q->ready = q->connected;
    return packet->data[4] & VERBS_WIRE_ASKS ? say_wire (rail, peer, q, 0, err)
                                             : 0;
}

int verbs_rail_take (struct verbs_rail *rail, struct packet *packet, bool *came,
                     struct error *err)
{
    struct verbs_completion c;
    struct verbs_header header;
    struct verbs_slot *slot;
    const uint8_t *data;
    int rc = verbs_cq_poll (&rail->receives, &c, err);
    int len;

    *came = rc > 0;
    if (rc <= 0)
        return rc;
    slot = (struct verbs_slot *)(uintptr_t)c.wr_id;
    if (c.status != IBV_WC_SUCCESS)
        return take_failed (rail, slot, &c, err);
    if (!rail->trusted)
        check_clock (rail, &c);
    if ((len = check (rail, slot, &c, &header, &data)) >= 0) {
        packet->stamp_ns = c.stamp_ns;
        packet->held_ns = header.held_ns;
        packet->peer = header.from;
        packet->way = came_by (slot, &c, &rail->run->at[header.from]);
        packet->len = (size_t)len;
        memcpy (packet->data, data, packet->len);
    }
    if (verbs_qp_return (slot, err) < 0)
        return -1;
    if (len >= 0 && header.type == VERBS_WIRE)
        return take_wire (rail, packet, err);
    return len >= 0;
}
