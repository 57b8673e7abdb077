/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion queues, with or without time stamps of their device; and queue
 * pairs, UD or RC, with their own buffers: receives are posted from the start,
 * and the caller's memory is not needed once a send call returns. If the device
 * has pads, all of them share one buffer.
 */
#ifndef PROBE_VERBS_QP_H
#define PROBE_VERBS_QP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/verbs_device.h"
#include "util/error.h"

struct verbs_cq {
    struct verbs_device *device; /* borrowed */
    struct ibv_cq *cq;
    struct ibv_cq_ex *ex; /* NULL: not extended; else the same queue */
    bool stamps;          /* wanted */
};

struct verbs_completion {
    uint64_t wr_id;
    enum ibv_wc_status status;
    uint32_t len;
    uint32_t src_qp;
    uint16_t slid;
    bool grh;         /* over UD: the GRH bytes are filled in */
    int64_t stamp_ns; /* by verbs_device's clock; 0: not wanted */
};

/* Open a queue for `depth` completions: of receives, which are stamped and
 * notified through the channel; or, if the channel is NULL, of sends. If a
 * device with a clock cannot make a stamping queue, its clock is not used.
 * Return 0, or -1 with err; call verbs_cq_close in both cases.
 */
int verbs_cq_open (struct verbs_cq *cq, struct verbs_device *device,
                   uint32_t depth, struct ibv_comp_channel *channel,
                   struct error *err);
void verbs_cq_close (struct verbs_cq *cq);

/* Take one completion. Return 1, 0 if there is none, or -1 with err. If the
 * status is not success, only wr_id is valid.
 */
int verbs_cq_poll (struct verbs_cq *cq, struct verbs_completion *c,
                   struct error *err);

struct verbs_qp;

/* What the wr_id of a receive points to. */
struct verbs_slot {
    struct verbs_qp *qp;
    uint8_t *data; /* VERBS_SLOT bytes; over UD starting with a GRH */
};

struct verbs_qp {
    struct verbs_device *device; /* borrowed, like the queues */
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;
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

/* Make a queue pair in the state INIT, with this many receives posted and room
 * for `depth` sends, or fewer if the device allows less. Return 0, or -1 with
 * err; call verbs_qp_close in both cases.
 */
int verbs_qp_open (struct verbs_qp *q, struct verbs_device *device,
                   enum ibv_qp_type type, uint32_t receives, uint32_t depth,
                   struct verbs_cq *send_cq, struct verbs_cq *receive_cq,
                   struct error *err);
void verbs_qp_close (struct verbs_qp *q);

/* Make it ready to receive and send. An RC queue pair retransmits after
 * timeout_ns without an acknowledgement. Return 0, or -1 with err.
 */
int verbs_qp_start_ud (struct verbs_qp *q, uint32_t qkey, struct error *err);
int verbs_qp_start_rc (struct verbs_qp *q, const struct verbs_address *to,
                       uint8_t sl, uint32_t qpn, uint32_t psn_out,
                       uint32_t psn_in, int64_t timeout_ns,
                       struct error *err);

/* Send a header and the data that follows; ah, qpn and qkey are for UD. Return
 * 1 if it was posted, 0 if the queue is full, or -1 with err. If an RC queue
 * pair rejects the message, it is marked broken and the message is lost: 0.
 */
struct verbs_message {
    const uint8_t *header; /* [VERBS_HEADER] */
    const uint8_t *data;
    size_t len;
    size_t pad;
    struct ibv_ah *ah;
    uint32_t qpn, qkey;
};
int verbs_qp_send (struct verbs_qp *q, const struct verbs_message *m,
                   struct error *err);

/* Repost a receive's slot. Return 0, or -1 with err. If an RC queue pair
 * rejects it, the queue pair is marked broken.
 */
int verbs_qp_return (struct verbs_slot *slot, struct error *err);

/* Mark an RC queue pair as failed. */
void verbs_qp_break (struct verbs_qp *q, enum ibv_wc_status why);

/* Take the completions of sends. If a UD queue pair has failed, return -1 with
 * err; an RC one is marked broken.
 */
int verbs_qp_reap (struct verbs_cq *sends, struct error *err);

#endif /* PROBE_VERBS_QP_H */
