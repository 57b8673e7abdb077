/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rail: one port with its queues.
 *
 * Notes: a queue pair, UD or RC, has buffers of its own: receives are posted
 * from the start, and the caller's memory is not needed once a send call
 * returns. All pads share one buffer. Of depth / SIGNAL_PARTS sends one is
 * signalled; its completion means that all before it are complete, too.
 * Messages that the device takes inline are copied by the call; each other send
 * has a slot. A device that refuses inline messages is asked only once.
 *
 * Only an extended completion queue has time stamps. Not every driver has
 * extended queues, and some report a clock but do not stamp with it, as for
 * some virtual functions. So if a queue is refused, a simpler one is requested.
 *
 * Two RC queue pairs are connected by messages over UD. Each side sends its
 * queue pair's number and asks again until the other side reports that it is
 * connected to that. So neither side sends a message that the other's adapter
 * would drop, which would be repeated only after a time-out. Packet sequence
 * numbers depend on the run's key, so packets of earlier runs do not match.
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
    SIGNAL_PARTS = 2,
    INLINE_WANTED = VERBS_HEADER + 64, /* a ping of the usual size */
    WIRE_SIZE = 8,
    SL_MAX = 15,
    RETRY_GAPS = 20,
    RETRY_COSTS = 20,  /* times the duration of the last try */
    PSN_MASK = 0xffffff,
    /* codes of the InfiniBand specification */
    RC_RETRIES = 7,
    RC_RNR_RETRIES = 7,    /* no limit */
    RC_RNR_TIMER = 12,     /* 640 us */
    /* the group's time-out of a ping */
    LOST_GAPS = 250,
    LOST_GAPS_LEAST = 2,
    LOST_NS = 250000000,
    /* upper bound of a round trip, in us */
    GAP_BUSY = 50,
    GAP_EVENT = 200,
    GAP_SOFTWARE = 5000,
};

/* What the wr_id of a receive points to. */
struct verbs_slot {
    struct verbs_qp *qp;
    uint8_t *data; /* VERBS_SLOT bytes; over UD starting with a GRH */
};

/* A queue pair; the wr_id of a send points to it. */
struct verbs_qp {
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;             /* slots of receives, then of sends */
    struct verbs_slot *slot;     /* [receives] */
    uint32_t receives, depth;    /* posted; length of send queue */
    uint32_t inline_max;         /* bytes */
    uint32_t sent, done;         /* sends posted; completed */
    uint32_t peer;               /* RC: at the other end */
    struct transport_way way;    /* RC: way of the connection */
    bool connected;              /* ready to receive and send */
    bool ready;                  /* RC: the other end is, too */
    bool broken;                 /* an error occurred */
    enum ibv_wc_status why;      /* the first error; the rest is flushed */
};

struct verbs_way { /* from a rail to a peer */
    struct transport_way by;
    struct ibv_ah *ah;    /* NULL: not made yet, or failed */
    struct ibv_ah *timed; /* on the pings' service level, if it differs from
                             the site's; as ah */
    struct verbs_qp *rc;  /* NULL: none */
    int64_t due_ns;       /* do not make the AH, or ask the other end for its RC
                             queue pair, before this */
    struct verbs_way *next; /* with other LIDs */
};

/*
 * Queue pairs
 */

static void break_qp (struct verbs_qp *q, enum ibv_wc_status why)
{
    if (!q->broken)
        q->why = why;
    q->broken = true;
}

/* A call failed: if it was of an RC queue pair, only one peer is lost; if of
 * the UD queue pair, all are.
 */
static int failed (struct verbs_rail *rail, struct verbs_qp *q,
                   const char *what, int code, struct error *err)
{
    if (q->qp->qp_type != IBV_QPT_RC)
        return verbs_device_failed (&rail->device, what, code, err);
    break_qp (q, IBV_WC_GENERAL_ERR);
    return 0;
}

/* The same for a work request. */
static int completed_badly (struct verbs_rail *rail, struct verbs_qp *q,
                            const char *what, enum ibv_wc_status status,
                            struct error *err)
{
    if (q->qp->qp_type != IBV_QPT_RC)
        return verbs_device_broke (&rail->device, what, status, err);
    break_qp (q, status);
    return 0;
}

/* Add the pad, if any, as a second part of a message. Return the number of
 * parts.
 */
static int add_pad (const struct verbs_device *d, size_t bytes,
                    struct ibv_sge *sge)
{
    if (bytes == 0)
        return 1;
    *sge = (struct ibv_sge){ (uintptr_t)d->pad, (uint32_t)bytes,
                             d->pad_mr->lkey };
    return 2;
}

/* Post a receive's slot. Return 0, or -1 with err. */
static int post_receive (struct verbs_rail *rail, struct verbs_slot *slot,
                         struct error *err)
{
    const struct verbs_device *d = &rail->device;
    struct verbs_qp *q = slot->qp;
    struct ibv_sge sge[2] = {
        { (uintptr_t)slot->data, VERBS_SLOT, q->mr->lkey },
    };
    struct ibv_recv_wr wr = {
        .wr_id = (uintptr_t)slot,
        .sg_list = sge,
        .num_sge = add_pad (d, d->pad_mr ? 128UL << d->at.mtu : 0, &sge[1]),
    };
    struct ibv_recv_wr *bad;
    int rc = ibv_post_recv (q->qp, &wr, &bad);

    return rc == 0 ? 0 : failed (rail, q, "receiving failed", rc, err);
}

static int modify (struct verbs_rail *rail, struct verbs_qp *q,
                   struct ibv_qp_attr *attr, int mask, struct error *err)
{
    int rc = ibv_modify_qp (q->qp, attr, mask | IBV_QP_STATE);

    if (rc != 0)
        return verbs_device_failed (&rail->device, "the queue pair cannot be "
                                    "set up", rc, err);
    return 0;
}

static void close_qp (struct verbs_qp *q)
{
    if (!q)
        return;
    if (q->qp)
        ibv_destroy_qp (q->qp);
    if (q->mr)
        ibv_dereg_mr (q->mr);
    free (q->memory);
    free (q->slot);
    free (q);
}

static int create_qp (struct verbs_rail *rail, struct verbs_qp *q,
                      enum ibv_qp_type type, struct error *err)
{
    struct verbs_device *d = &rail->device;
    size_t size = (size_t)(q->receives + q->depth) * VERBS_SLOT;
    uint32_t parts = d->pad_mr ? 2 : 1;
    struct ibv_qp_init_attr attr = {
        .send_cq = rail->sends,
        .recv_cq = rail->receives,
        .qp_type = type,
        .cap = {
            .max_send_wr = q->depth,
            .max_recv_wr = q->receives,
            .max_send_sge = parts,
            .max_recv_sge = parts,
            .max_inline_data = d->inlines ? INLINE_WANTED : 0,
        },
    };
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT,
        .port_num = d->port,
        .pkey_index = d->pkey_index,
    };

    q->memory = verbs_device_memory (&size);
    q->slot = xcalloc (q->receives, sizeof (*q->slot));
    if (!(q->mr = ibv_reg_mr (d->pd, q->memory, size, IBV_ACCESS_LOCAL_WRITE)))
        return verbs_device_failed (d, "memory cannot be registered", errno,
                                    err);
    q->qp = ibv_create_qp (d->pd, &attr);
    if (!q->qp && d->inlines) {
        d->inlines = false;
        attr.cap.max_inline_data = 0;
        q->qp = ibv_create_qp (d->pd, &attr);
    }
    if (!q->qp)
        return verbs_device_failed (d, "no queue pair", errno, err);
    q->inline_max = attr.cap.max_inline_data;
    return modify (rail, q, &init,
                   IBV_QP_PKEY_INDEX | IBV_QP_PORT
                       | (type == IBV_QPT_UD ? IBV_QP_QKEY
                                             : IBV_QP_ACCESS_FLAGS),
                   err);
}

/* Make a queue pair in the state INIT, with this many receives posted and room
 * for `depth` sends, or fewer if the device allows less. NULL with err.
 */
static struct verbs_qp *open_qp (struct verbs_rail *rail,
                                 enum ibv_qp_type type, uint32_t receives,
                                 uint32_t depth, struct error *err)
{
    int limit = rail->device.limits.max_qp_wr;
    struct verbs_qp *q = xcalloc (1, sizeof (*q));
    int rc;

    q->receives = verbs_device_at_most (receives, limit);
    q->depth = verbs_device_at_most (depth, limit);
    rc = create_qp (rail, q, type, err);
    for (uint32_t i = 0; rc == 0 && i < q->receives; i++) {
        q->slot[i]
            = (struct verbs_slot){ q, q->memory + (size_t)i * VERBS_SLOT };
        rc = post_receive (rail, &q->slot[i], err);
    }
    if (rc == 0)
        return q;
    close_qp (q);
    return NULL;
}

/* The first packet sequence number from one peer to another. Both sides compute
 * the same.
 */
static uint32_t first_psn (const struct verbs_run *run, uint32_t from,
                           uint32_t to)
{
    return (uint32_t)(rng_mix (run->key ^ ((uint64_t)from << 32 | to)) >> 40)
           & PSN_MASK;
}

/* Connect an RC queue pair to one of its peer, on a service level. It
 * retransmits what is not acknowledged for as long as the group waits for a
 * ping at most (probe/group).
 */
static int start_rc (struct verbs_rail *rail, struct verbs_qp *q, uint32_t qpn,
                     uint8_t sl, struct error *err)
{
    const struct verbs_run *run = rail->run;
    int64_t gap = run->handle->gap_ns;
    int64_t most = LOST_NS > LOST_GAPS_LEAST * gap ? LOST_NS
                                                   : LOST_GAPS_LEAST * gap;
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = VERBS_MTU,
        .dest_qp_num = qpn,
        .rq_psn = first_psn (run, q->peer, rail->self),
        .min_rnr_timer = RC_RNR_TIMER,
    };

    verbs_device_route (&rail->device, &run->at[q->peer], q->way, sl,
                        &attr.ah_attr);
    if (modify (rail, q, &attr,
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
                    | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                err) < 0)
        return -1;
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS,
        .sq_psn = first_psn (run, rail->self, q->peer),
        .timeout = verbs_timeout_code (LOST_GAPS * gap < most ? LOST_GAPS * gap
                                                            : most),
        .retry_cnt = RC_RETRIES,
        .rnr_retry = RC_RNR_RETRIES,
    };
    if (modify (rail, q, &attr,
                IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT
                    | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
                err) < 0)
        return -1;
    q->connected = true;
    return 0;
}

/* Take the completions of sends. Return 0, or -1 with err. */
static int reap (struct verbs_rail *rail, struct error *err)
{
    struct ibv_wc wc;
    int rc;

    while ((rc = ibv_poll_cq (rail->sends, 1, &wc)) > 0) {
        struct verbs_qp *q = (struct verbs_qp *)(uintptr_t)wc.wr_id;

        if (wc.status == IBV_WC_SUCCESS)
            q->done += q->depth / SIGNAL_PARTS;
        else if (completed_badly (rail, q, "sending failed", wc.status, err)
                 < 0)
            return -1;
    }
    return rc < 0 ? verbs_device_failed (&rail->device, "polling failed", EIO,
                                         err)
                  : 0;
}

/*
 * The rail
 */

static struct ibv_cq *open_extended (struct verbs_rail *rail, uint32_t depth)
{
    struct verbs_device *d = &rail->device;
    struct ibv_cq_init_attr_ex attr = {
        .cqe = depth,
        .channel = rail->channel,
        .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_SRC_QP
                    | IBV_WC_EX_WITH_SLID,
    };

    if (d->clock_khz)
        attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    rail->stamped = ibv_create_cq_ex (d->context, &attr);
    if (!rail->stamped && d->clock_khz) {
        d->clock_khz = 0;
        attr.wc_flags &= ~(uint64_t)IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
        rail->stamped = ibv_create_cq_ex (d->context, &attr);
    }
    return rail->stamped ? ibv_cq_ex_to_cq (rail->stamped) : NULL;
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
    if (!(rail->receives = open_extended (rail, depth)))
        rail->receives = ibv_create_cq (d->context, (int)depth, NULL,
                                        rail->channel, 0);
    if (rail->receives)
        rail->sends = ibv_create_cq (d->context, (int)depth, NULL, NULL, 0);
    if (!rail->sends)
        return verbs_device_failed (d, "no completion queue", errno, err);
    if (!(rail->ud = open_qp (rail, IBV_QPT_UD, receives, UD_SENDS, err)))
        return -1;
    rail->sl = d->sl;
    rail->at = d->at;
    rail->at.rc = rc;
    rail->at.first = first;
    rail->at.qpn = rail->ud->qp->qp_num;
    rail->at.gap_us = site->round_trip_us > 0 ? (uint32_t)site->round_trip_us
                      : d->software           ? GAP_SOFTWARE
                      : strcmp (site->polling, "event") ? GAP_BUSY
                                                        : GAP_EVENT;
    rail->at.machine = cpu_machine ();
    rail->at.cores = cpu_count () < UINT8_MAX ? (uint8_t)cpu_count ()
                                              : UINT8_MAX;
    rail->address.guid = d->guid;
    verbs_address_pack (&rail->at, &rail->address);
    return 0;
}

void verbs_rail_close (struct verbs_rail *rail)
{
    for (size_t i = 0; rail->way && i < rail->run->npeers; i++)
        for (struct verbs_way *way; (way = rail->way[i]);) {
            rail->way[i] = way->next;
            if (way->ah)
                ibv_destroy_ah (way->ah);
            if (way->timed)
                ibv_destroy_ah (way->timed);
            close_qp (way->rc);
            free (way);
        }
    free (rail->way);
    close_qp (rail->ud);
    if (rail->receives)
        ibv_destroy_cq (rail->receives);
    if (rail->sends)
        ibv_destroy_cq (rail->sends);
    if (rail->channel)
        ibv_destroy_comp_channel (rail->channel);
    verbs_device_close (&rail->device);
    *rail = (struct verbs_rail){ .armed = false };
}

int verbs_rail_start (struct verbs_rail *rail, struct verbs_run *run,
                      uint32_t self, struct error *err)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .qkey = run->qkey };

    rail->run = run;
    rail->self = self;
    rail->way = xcalloc (run->npeers, sizeof (*rail->way));
    if (modify (rail, rail->ud, &attr, IBV_QP_QKEY, err) < 0)
        return -1;
    attr.qp_state = IBV_QPS_RTS;
    return modify (rail, rail->ud, &attr, IBV_QP_SQ_PSN, err);
}

/*
 * Ways
 */

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

    if (rest < RETRY_GAPS * rail->run->handle->gap_ns)
        rest = RETRY_GAPS * rail->run->handle->gap_ns;
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

/* Return the RC queue pair of a way, or make it; NULL if that fails. */
static struct verbs_qp *find_rc (struct verbs_rail *rail, uint32_t peer,
                                 struct verbs_way *way)
{
    struct error why = { .text = "too many RC queue pairs" };

    if (way->rc)
        return way->rc;
    if (rail->nrc < rail->rc_max)
        way->rc = open_qp (rail, IBV_QPT_RC, RC_DEPTH, RC_DEPTH, &why);
    if (!way->rc) {
        note_trouble (rail, peer, why.text);
        return NULL;
    }
    way->rc->peer = peer;
    way->rc->way = way->by;
    rail->nrc++;
    return way->rc;
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

        if (reap (rail, err) < 0)
            return -1;
        if (!waits || q->sent - q->done < q->depth)
            return 0;
        now = verbs_device_now_ns (&rail->device);
        if (until == 0)
            until = now + rail->run->handle->gap_ns;
        else if (now >= until)
            return 0;
    }
}

/* Send a datagram by a queue pair, with an address handle if it is UD. If the
 * queue is full, it is lost. Return 0, or -1 with err.
 */
static int post (struct verbs_rail *rail, struct verbs_qp *q,
                 struct ibv_ah *ah, uint32_t peer, enum verbs_type type,
                 const uint8_t *data, size_t len, size_t pad,
                 struct transport_timing *timing, struct error *err)
{
    struct verbs_header header = {
        .from = rail->self,
        .sequence = ++rail->sequence,
        .type = type,
        .pad = (uint16_t)pad,
    };
    struct ibv_sge sge[2];
    struct ibv_send_wr wr = {
        .wr_id = (uintptr_t)q,
        .sg_list = sge,
        .num_sge = add_pad (&rail->device, pad, &sge[1]),
        .opcode = IBV_WR_SEND,
    };
    struct ibv_send_wr *bad;
    uint8_t *slot;
    int rc;

    if (make_room (rail, q, !timing && rail->run->handle->size_max > 0, err)
        < 0)
        return -1;
    slot = q->memory
           + (size_t)(q->receives + q->sent % q->depth) * VERBS_SLOT;
    sge[0] = (struct ibv_sge){ (uintptr_t)slot,
                               (uint32_t)(VERBS_HEADER + len), q->mr->lkey };
    if (VERBS_HEADER + len + pad <= q->inline_max)
        wr.send_flags |= IBV_SEND_INLINE;
    if ((q->sent + 1) % (q->depth / SIGNAL_PARTS) == 0)
        wr.send_flags |= IBV_SEND_SIGNALED;
    if (ah) {
        wr.wr.ud.ah = ah;
        wr.wr.ud.remote_qpn = rail->run->at[peer].qpn;
        wr.wr.ud.remote_qkey = rail->run->qkey;
    }
    if (timing)
        header.held_ns = stamp (rail, timing);
    if (q->sent - q->done == q->depth)
        return 0;
    verbs_header_pack (slot, rail->run->key, &header);
    memcpy (slot + VERBS_HEADER, data, len);
    if ((rc = ibv_post_send (q->qp, &wr, &bad)) != 0)
        return failed (rail, q, "sending failed", rc, err);
    q->sent++;
    return 0;
}

int verbs_rail_send (struct verbs_rail *rail, uint32_t peer,
                     enum verbs_type type, const uint8_t *data, size_t len,
                     size_t pad, struct transport_timing *timing,
                     struct error *err)
{
    struct transport_way by = { 0, 0 };
    struct verbs_qp *q = NULL;
    struct ibv_ah *ah = NULL;
    struct verbs_way *way;

    if (timing)
        by = timing->answers ? timing->answers->way : timing->way;
    way = find_way (rail, peer, by);
    if (timing && rail->at.rc) {
        q = way ? way->rc : NULL;
        if (q && q->broken)
            note_trouble (rail, peer, ibv_wc_status_str (q->why));
        if (q && (q->broken || !q->connected))
            q = NULL;
    }
    else if (way && !rail->lost
             && (ah = find_ah (rail, peer, way, timing != NULL)))
        q = rail->ud;
    if (q && !rail->lost)
        return post (rail, q, ah, peer, type, data, len, pad, timing, err);
    if (timing)
        stamp (rail, timing);
    return 0;
}

/*
 * Connecting RC queue pairs
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

/* Handle a datagram of type VERBS_WIRE. Return 0, or -1 with err. */
static int take_wire (struct verbs_rail *rail, const struct packet *packet,
                      struct error *err)
{
    const uint8_t *data = packet->data;
    uint32_t peer = packet->peer;
    struct verbs_way *way;
    struct verbs_qp *q;
    struct error why;
    bool asks;

    if (packet->len != WIRE_SIZE || data[5] > SL_MAX || !rail->at.rc)
        return 0;
    /* its own LID is our other, and vice versa */
    way = find_way (rail, peer, (struct transport_way){ data[7], data[6] });
    if (!way || !(q = find_rc (rail, peer, way)))
        return 0;
    /* the side that asks knows the service level; the other may not, yet */
    asks = data[4] & VERBS_WIRE_ASKS;
    if (!q->connected && !q->broken
        && start_rc (rail, q, (uint32_t)wire_get (data, 4),
                     asks ? data[5] : rail->sl, &why)
               < 0) {
        q->broken = true;
        note_trouble (rail, peer, why.text);
    }
    if (data[4] & VERBS_WIRE_READY)
        q->ready = q->connected;
    return asks ? say_wire (rail, peer, q, 0, err) : 0;
}

/*
 * Receiving
 */

struct verbs_completion {
    struct verbs_slot *slot;
    enum ibv_wc_status status;
    /* if it is a success */
    uint32_t len;
    uint32_t src_qp;
    uint16_t slid;
    bool grh;         /* over UD: the GRH bytes are filled in */
    int64_t stamp_ns; /* by the device's clock */
};

/* Take one completion of a receive. Return 1, 0 if there is none, or -1 with
 * err.
 */
static int poll_receive (struct verbs_rail *rail, struct verbs_completion *c,
                         struct error *err)
{
    const struct verbs_device *d = &rail->device;
    struct ibv_cq_ex *ex = rail->stamped;
    struct ibv_poll_cq_attr none = { 0 };
    struct ibv_wc wc;
    int rc;

    if (!ex) {
        if ((rc = ibv_poll_cq (rail->receives, 1, &wc)) < 0)
            return verbs_device_failed (d, "polling failed", EIO, err);
        if (rc > 0)
            *c = (struct verbs_completion){
                (struct verbs_slot *)(uintptr_t)wc.wr_id, wc.status,
                wc.byte_len, wc.src_qp, wc.slid, wc.wc_flags & IBV_WC_GRH,
                verbs_device_now_ns (d)
            };
        return rc;
    }
    if ((rc = ibv_start_poll (ex, &none)) != 0)
        return rc == ENOENT
                   ? 0
                   : verbs_device_failed (d, "polling failed", rc, err);
    *c = (struct verbs_completion){
        .slot = (struct verbs_slot *)(uintptr_t)ex->wr_id,
        .status = ex->status,
    };
    if (c->status == IBV_WC_SUCCESS) {
        c->len = ibv_wc_read_byte_len (ex);
        c->src_qp = ibv_wc_read_src_qp (ex);
        c->slid = (uint16_t)ibv_wc_read_slid (ex);
        c->grh = ibv_wc_read_wc_flags (ex) & IBV_WC_GRH;
        c->stamp_ns = d->clock_khz
                          ? verbs_device_stamp_ns (
                              d, ibv_wc_read_completion_ts (ex))
                          : verbs_device_now_ns (d);
    }
    ibv_end_poll (ex);
    return 1;
}

/* Check a datagram: fill in the packet, or count it as dropped. Return its
 * type, or 0.
 */
static int check (const struct verbs_rail *rail,
                  const struct verbs_completion *c, struct packet *packet)
{
    struct verbs_run *run = rail->run;
    const struct verbs_qp *q = c->slot->qp;
    bool ud = q == rail->ud;
    size_t before = ud ? VERBS_GRH : 0;
    size_t len = c->len >= before ? c->len - before : 0;
    const uint8_t *p = c->slot->data + before;
    struct verbs_origin origin = { c->src_qp, c->slid,
                                   c->grh ? c->slot->data : NULL };
    struct verbs_header h;
    unsigned int lids;

    if (!verbs_header_unpack (&h, p, len, run->key, run->npeers)
        || (ud ? !verbs_is_from (&origin, &run->at[h.from])
               : h.from != q->peer)) {
        run->handle->counts.foreign++;
        return 0;
    }
    if (!verbs_window_take (&run->window[h.from], h.sequence)) {
        run->handle->counts.repeated++;
        return 0;
    }
    packet->stamp_ns = c->stamp_ns;
    packet->held_ns = h.held_ns;
    packet->peer = h.from;
    /* over UD only its sender's LID is known */
    lids = 1U << run->at[h.from].lmc;
    packet->way = ud ? (struct transport_way){ .other = c->slid & (lids - 1) }
                     : q->way;
    packet->len = len - VERBS_HEADER - h.pad;
    memcpy (packet->data, p + VERBS_HEADER, packet->len);
    return (int)h.type;
}

int verbs_rail_take (struct verbs_rail *rail, struct packet *packet, bool *came,
                     struct error *err)
{
    struct verbs_device *d = &rail->device;
    struct verbs_completion c = { .slot = NULL };
    int rc = poll_receive (rail, &c, err);
    int type;

    *came = rc > 0;
    if (rc <= 0)
        return rc;
    if (c.status != IBV_WC_SUCCESS)
        return completed_badly (rail, c.slot->qp, "receiving failed", c.status,
                                err);
    if (!rail->trusted && d->clock_khz
        && !verbs_stamp_is_sound (c.stamp_ns, verbs_device_now_ns (d))) {
        d->clock_khz = 0;
        c.stamp_ns = verbs_device_now_ns (d);
    }
    rail->trusted = true;
    type = check (rail, &c, packet);
    if (post_receive (rail, c.slot, err) < 0)
        return -1;
    if (type == VERBS_WIRE)
        return take_wire (rail, packet, err);
    return type == VERBS_DATA;
}
