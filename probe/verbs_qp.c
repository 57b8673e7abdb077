/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion queues, and queue pairs with their buffers.
 *
 * Notes: only an extended completion queue has time stamps. Not every driver
 * has extended queues, and some report a clock but do not stamp with it, as for
 * some virtual functions. So if a queue is refused, a simpler one is requested.
 *
 * Of depth / SIGNAL_PARTS sends one is signalled; its completion means that all
 * before it are complete, too. Messages that the device takes inline are copied
 * by the call; each other send has a slot. A device that refuses inline
 * messages is asked only once.
 */
#include "config.h"
#include "probe/verbs_qp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"

enum {
    SIGNAL_PARTS = 2,
    SEND_MAX = VERBS_HEADER + TRANSPORT_DATA_MAX,
    INLINE_WANTED = VERBS_HEADER + 64, /* a ping of the usual size */
    PSN_MASK = 0xffffff,
    /* codes of the InfiniBand specification */
    RC_RETRIES = 7,
    RC_RNR_RETRIES = 7,    /* no limit */
    RC_RNR_TIMER = 12,     /* 640 us */
};

/*
 * Completion queues
 */

static void open_extended (struct verbs_cq *cq, uint32_t depth,
                           struct ibv_comp_channel *channel)
{
    struct ibv_cq_init_attr_ex attr = {
        .cqe = depth,
        .channel = channel,
        .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_SRC_QP
                    | IBV_WC_EX_WITH_SLID,
    };

    if (cq->device->clock_khz)
        attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    if ((cq->ex = ibv_create_cq_ex (cq->device->context, &attr)))
        cq->cq = ibv_cq_ex_to_cq (cq->ex);
}

int verbs_cq_open (struct verbs_cq *cq, struct verbs_device *device,
                   uint32_t depth, struct ibv_comp_channel *channel,
                   struct error *err)
{
    *cq = (struct verbs_cq){ .device = device, .stamps = channel != NULL };
    if (channel)
        open_extended (cq, depth, channel);
    if (channel && !cq->ex && device->clock_khz) {
        device->clock_khz = 0;
        open_extended (cq, depth, channel);
    }
    if (!cq->ex)
        cq->cq = ibv_create_cq (device->context, (int)depth, NULL, channel, 0);
    if (!cq->cq)
        return verbs_device_failed (device, "no completion queue", errno, err);
    return 0;
}

void verbs_cq_close (struct verbs_cq *cq)
{
    if (cq->cq)
        ibv_destroy_cq (cq->cq);
    cq->cq = NULL;
    cq->ex = NULL;
}

static int poll_plain (struct verbs_cq *cq, struct verbs_completion *c)
{
    struct ibv_wc wc;
    int n = ibv_poll_cq (cq->cq, 1, &wc);

    if (n <= 0)
        return n < 0 ? -EIO : 0;
    *c = (struct verbs_completion){
        .wr_id = wc.wr_id,
        .status = wc.status,
        .len = wc.byte_len,
        .src_qp = wc.src_qp,
        .slid = wc.slid,
        .grh = wc.wc_flags & IBV_WC_GRH,
        .stamp_ns = cq->stamps ? verbs_device_now_ns (cq->device) : 0,
    };
    return 1;
}

static int poll_extended (struct verbs_cq *cq, struct verbs_completion *c)
{
    struct ibv_poll_cq_attr none = { 0 };
    struct ibv_cq_ex *ex = cq->ex;
    int rc = ibv_start_poll (ex, &none);

    if (rc != 0)
        return rc == ENOENT ? 0 : -rc;
    *c = (struct verbs_completion){ .wr_id = ex->wr_id,
                                    .status = ex->status };
    if (c->status == IBV_WC_SUCCESS) {
        c->len = ibv_wc_read_byte_len (ex);
        c->src_qp = ibv_wc_read_src_qp (ex);
        c->slid = (uint16_t)ibv_wc_read_slid (ex);
        c->grh = ibv_wc_read_wc_flags (ex) & IBV_WC_GRH;
        c->stamp_ns = cq->device->clock_khz
                          ? verbs_device_stamp_ns (
                              cq->device,
                              ibv_wc_read_completion_ts (ex))
                          : verbs_device_now_ns (cq->device);
    }
    ibv_end_poll (ex);
    return 1;
}

int verbs_cq_poll (struct verbs_cq *cq, struct verbs_completion *c,
                   struct error *err)
{
    int rc = cq->ex ? poll_extended (cq, c) : poll_plain (cq, c);

    if (rc < 0)
        return verbs_device_failed (cq->device, "polling failed", -rc, err);
    return rc;
}

/*
 * Queue pairs
 */

static uint8_t *send_slot (const struct verbs_qp *q, uint32_t i)
{
    return q->memory + (size_t)(q->receives + i) * VERBS_SLOT;
}

static int alloc_memory (struct verbs_qp *q, struct error *err)
{
    size_t size = (size_t)(q->receives + q->depth) * VERBS_SLOT;

    q->memory = verbs_device_memory (&size);
    q->slot = xcalloc (q->receives, sizeof (*q->slot));
    for (uint32_t i = 0; i < q->receives; i++)
        q->slot[i]
            = (struct verbs_slot){ q, q->memory + (size_t)i * VERBS_SLOT };
    q->mr = ibv_reg_mr (q->device->pd, q->memory, size,
                        IBV_ACCESS_LOCAL_WRITE);
    if (!q->mr)
        return verbs_device_failed (q->device, "memory cannot be registered",
                                    errno, err);
    return 0;
}

static int create (struct verbs_qp *q, enum ibv_qp_type type,
                   struct verbs_cq *send_cq, struct verbs_cq *receive_cq,
                   struct error *err)
{
    uint32_t parts = q->device->pad_mr ? 2 : 1;
    struct ibv_qp_init_attr attr = {
        .send_cq = send_cq->cq,
        .recv_cq = receive_cq->cq,
        .qp_type = type,
        .cap = {
            .max_send_wr = q->depth,
            .max_recv_wr = q->receives,
            .max_send_sge = parts,
            .max_recv_sge = parts,
            .max_inline_data = q->device->inlines ? INLINE_WANTED : 0,
        },
    };

    q->qp = ibv_create_qp (q->device->pd, &attr);
    if (!q->qp && q->device->inlines) {
        q->device->inlines = false;
        attr.cap.max_inline_data = 0;
        q->qp = ibv_create_qp (q->device->pd, &attr);
    }
    if (!q->qp)
        return verbs_device_failed (q->device, "no queue pair", errno, err);
    q->inline_max = attr.cap.max_inline_data;
    return 0;
}

static int modify (struct verbs_qp *q, struct ibv_qp_attr *attr, int mask,
                   struct error *err)
{
    int rc = ibv_modify_qp (q->qp, attr, mask | IBV_QP_STATE);

    if (rc != 0)
        return verbs_device_failed (q->device, "the queue pair cannot be set "
                                    "up", rc, err);
    return 0;
}

static int init (struct verbs_qp *q, enum ibv_qp_type type, struct error *err)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = q->device->port,
        .pkey_index = q->device->pkey_index,
    };

    return modify (q, &attr,
                   IBV_QP_PKEY_INDEX | IBV_QP_PORT
                       | (type == IBV_QPT_UD ? IBV_QP_QKEY
                                             : IBV_QP_ACCESS_FLAGS),
                   err);
}

int verbs_qp_open (struct verbs_qp *q, struct verbs_device *device,
                   enum ibv_qp_type type, uint32_t receives, uint32_t depth,
                   struct verbs_cq *send_cq, struct verbs_cq *receive_cq,
                   struct error *err)
{
    *q = (struct verbs_qp){
        .device = device,
        .receives = verbs_device_at_most (receives, device->limits.max_qp_wr),
        .depth = verbs_device_at_most (depth, device->limits.max_qp_wr),
    };
    if (alloc_memory (q, err) < 0
        || create (q, type, send_cq, receive_cq, err) < 0
        || init (q, type, err) < 0)
        return -1;
    for (uint32_t i = 0; i < q->receives; i++)
        if (verbs_qp_return (&q->slot[i], err) < 0)
            return -1;
    return 0;
}

void verbs_qp_close (struct verbs_qp *q)
{
    if (q->qp)
        ibv_destroy_qp (q->qp);
    if (q->mr)
        ibv_dereg_mr (q->mr);
    free (q->memory);
    free (q->slot);
    *q = (struct verbs_qp){ 0 };
}

int verbs_qp_start_ud (struct verbs_qp *q, uint32_t qkey, struct error *err)
{
    struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .qkey = qkey };

    if (modify (q, &attr, IBV_QP_QKEY, err) < 0)
        return -1;
    attr.qp_state = IBV_QPS_RTS;
    if (modify (q, &attr, IBV_QP_SQ_PSN, err) < 0)
        return -1;
    q->connected = true;
    return 0;
}

int verbs_qp_start_rc (struct verbs_qp *q, const struct verbs_address *to,
                       uint8_t sl, uint32_t qpn, uint32_t psn_out,
                       uint32_t psn_in, int64_t timeout_ns,
                       struct error *err)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = VERBS_MTU,
        .dest_qp_num = qpn,
        .rq_psn = psn_in & PSN_MASK,
        .min_rnr_timer = RC_RNR_TIMER,
    };

    verbs_device_route (q->device, to, q->way, sl, &attr.ah_attr);
    if (modify (q, &attr,
                IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN
                    | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                err) < 0)
        return -1;
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS,
        .sq_psn = psn_out & PSN_MASK,
        .timeout = verbs_timeout_code (timeout_ns),
        .retry_cnt = RC_RETRIES,
        .rnr_retry = RC_RNR_RETRIES,
    };
    if (modify (q, &attr,
                IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT
                    | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
                err) < 0)
        return -1;
    q->connected = true;
    return 0;
}

void verbs_qp_break (struct verbs_qp *q, enum ibv_wc_status why)
{
    if (!q->broken)
        q->why = why;
    q->broken = true;
}

/* If an RC queue pair fails, only one peer is lost; if the UD queue pair fails,
 * all are.
 */
static int failed (struct verbs_qp *q, const char *what, int code,
                   struct error *err)
{
    if (q->qp->qp_type != IBV_QPT_RC)
        return verbs_device_failed (q->device, what, code, err);
    verbs_qp_break (q, IBV_WC_GENERAL_ERR);
    return 0;
}

/* Add the pad, if any, as a second part of a message. Return the number of
 * parts.
 */
static int add_pad (const struct verbs_qp *q, size_t bytes,
                    struct ibv_sge *sge)
{
    const struct verbs_device *d = q->device;

    if (bytes == 0)
        return 1;
    *sge = (struct ibv_sge){ (uintptr_t)d->pad, (uint32_t)bytes,
                             d->pad_mr->lkey };
    return 2;
}

int verbs_qp_send (struct verbs_qp *q, const struct verbs_message *m,
                   struct error *err)
{
    size_t len = VERBS_HEADER + m->len;
    uint8_t *slot = send_slot (q, q->sent % q->depth);
    struct ibv_sge sge[2] = {
        { (uintptr_t)slot, (uint32_t)len, q->mr->lkey },
    };
    struct ibv_send_wr wr = {
        .wr_id = (uintptr_t)q,
        .sg_list = sge,
        .num_sge = add_pad (q, m->pad, &sge[1]),
        .opcode = IBV_WR_SEND,
        .send_flags = len + m->pad <= q->inline_max ? IBV_SEND_INLINE : 0,
    };
    struct ibv_send_wr *bad;
    int rc;

    if (q->sent - q->done == q->depth)
        return 0;
    memcpy (slot, m->header, VERBS_HEADER);
    memcpy (slot + VERBS_HEADER, m->data, m->len);
    if ((q->sent + 1) % (q->depth / SIGNAL_PARTS) == 0)
        wr.send_flags |= IBV_SEND_SIGNALED;
    if (m->ah) {
        wr.wr.ud.ah = m->ah;
        wr.wr.ud.remote_qpn = m->qpn;
        wr.wr.ud.remote_qkey = m->qkey;
    }
    if ((rc = ibv_post_send (q->qp, &wr, &bad)) != 0)
        return failed (q, "sending failed", rc, err);
    q->sent++;
    return 1;
}

static size_t pad_room (const struct verbs_device *d)
{
    return d->pad_mr ? 128UL << d->at.mtu : 0;
}

int verbs_qp_return (struct verbs_slot *slot, struct error *err)
{
    struct verbs_qp *q = slot->qp;
    struct ibv_sge sge[2] = {
        { (uintptr_t)slot->data, VERBS_SLOT, q->mr->lkey },
    };
    struct ibv_recv_wr wr = {
        .wr_id = (uintptr_t)slot,
        .sg_list = sge,
        .num_sge = add_pad (q, pad_room (q->device), &sge[1]),
    };
    struct ibv_recv_wr *bad;
    int rc = ibv_post_recv (q->qp, &wr, &bad);

    return rc == 0 ? 0 : failed (q, "receiving failed", rc, err);
}

int verbs_qp_reap (struct verbs_cq *sends, struct error *err)
{
    struct verbs_completion c;
    int rc;

    while ((rc = verbs_cq_poll (sends, &c, err)) > 0) {
        struct verbs_qp *q = (struct verbs_qp *)(uintptr_t)c.wr_id;

        if (c.status == IBV_WC_SUCCESS)
            q->done += q->depth / SIGNAL_PARTS;
        else if (q->qp->qp_type == IBV_QPT_RC)
            verbs_qp_break (q, c.status);
        else
            return verbs_device_broke (q->device, "sending failed", c.status,
                                       err);
    }
    return rc;
}
