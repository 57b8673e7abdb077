/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A completion queue.
 *
 * Notes: only an extended queue has time stamps. Not every driver has extended
 * queues, and not every one that tells of a clock stamps by it, as in some
 * virtual functions: what is refused is asked for with less.
 */
#include "config.h"
#include "probe/verbs_cq.h"

#include <errno.h>

static int open_plain (struct verbs_cq *cq, uint32_t depth,
                       struct ibv_comp_channel *channel, struct error *err)
{
    cq->cq = ibv_create_cq (cq->device->context, (int)depth, NULL, channel, 0);
    if (!cq->cq)
        return verbs_device_failed (cq->device, "no completion queue", errno,
                                    err);
    return 0;
}

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

int verbs_cq_open_sends (struct verbs_cq *cq, struct verbs_device *device,
                         uint32_t depth, struct error *err)
{
    *cq = (struct verbs_cq){ .device = device };
    return open_plain (cq, depth, NULL, err);
}

int verbs_cq_open_receives (struct verbs_cq *cq, struct verbs_device *device,
                            uint32_t depth, struct ibv_comp_channel *channel,
                            struct error *err)
{
    *cq = (struct verbs_cq){ .device = device, .stamps = true };
    open_extended (cq, depth, channel);
    if (!cq->ex && device->clock_khz) {
        device->clock_khz = 0;
        open_extended (cq, depth, channel);
    }
    return cq->ex ? 0 : open_plain (cq, depth, channel, err);
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
