/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completion queues, with time stamps of their device or without; and queue
 * pairs, UD or RC, with buffers of their own: receives are posted from the
 * beginning, and a send needs no memory of the caller's to last. Where the
 * device has pads, all of them come from and go to the same few bytes.
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
    struct ibv_cq_ex *ex; /* NULL: not an extended one; else the same */
    bool stamps;          /* are wanted */
};

struct verbs_completion {
    uint64_t wr_id;
    enum ibv_wc_status status;
    uint32_t len;
    uint32_t src_qp;
    uint16_t slid;
    bool grh;         /* over UD: the room of the GRH is filled in */
    int64_t stamp_ns; /* of verbs_device's clock; 0: not wanted */
};

/* Make one for `depth` completions: of receives, which are stamped and told by
 * the channel, or where that is NULL, of sends. A device that has a clock and
 * makes no such queue loses its clock. Return 0, or -1 with err; verbs_cq_close
 * is due in both cases.
 */
int verbs_cq_open (struct verbs_cq *cq, struct verbs_device *device,
                   uint32_t depth, struct ibv_comp_channel *channel,
                   struct error *err);
void verbs_cq_close (struct verbs_cq *cq);

/* Take one completion. Return 1, 0 where there is none, or -1 with err. Where
 * the status is no success, only wr_id is valid.
 */
int verbs_cq_poll (struct verbs_cq *cq, struct verbs_completion *c,
                   struct error *err);

struct verbs_qp;

/* What the wr_id of a receive points to. */
struct verbs_slot {
    struct verbs_qp *qp;
    uint8_t *data; /* VERBS_SLOT bytes; over UD they begin with a GRH */
};

struct verbs_qp {
    struct verbs_device *device; /* borrowed, as are the queues */
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;
    struct verbs_slot *slot;     /* [receives] */
    uint32_t receives, depth;    /* posted; of the send queue */
    uint32_t inline_max;         /* bytes */
    uint32_t sent, done;         /* sends posted, and known to be over */
    uint32_t peer;               /* RC: at the other end, */
    struct transport_way way;    /* ... by which it is connected */
    bool connected;              /* ready to receive and send */
    bool ready;                  /* RC: so is the other end */
    bool broken;                 /* an error was seen, */
    enum ibv_wc_status why;      /* ... the first; what follows is flushed */
};

/* Make a queue pair in the state INIT, with so many receives posted and room
 * for `depth` sends, or fewer where the device allows less. Return 0, or -1
 * with err; verbs_qp_close is due in both cases.
 */
int verbs_qp_open (struct verbs_qp *q, struct verbs_device *device,
                   enum ibv_qp_type type, uint32_t receives, uint32_t depth,
                   struct verbs_cq *send_cq, struct verbs_cq *receive_cq,
                   struct error *err);
void verbs_qp_close (struct verbs_qp *q);

/* Make it ready to receive and send; an RC one sends again what was not
 * acknowledged after timeout_ns. Return 0, or -1 with err.
 */
int verbs_qp_start_ud (struct verbs_qp *q, uint32_t qkey, struct error *err);
int verbs_qp_start_rc (struct verbs_qp *q, const struct verbs_address *to,
                       uint8_t sl, uint32_t qpn, uint32_t psn_out,
                       uint32_t psn_in, int64_t timeout_ns,
                       struct error *err);

/* Send a header and what follows it; ah, qpn and qkey are for UD. Return 1
 * where it was posted, 0 where the queue is full, or -1 with err. An RC queue
 * pair that does not take it is marked broken, and it is lost: 0.
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

/* Give a receive's slot back. Return 0, or -1 with err; an RC queue pair that
 * does not take it is marked broken.
 */
int verbs_qp_return (struct verbs_slot *slot, struct error *err);

/* An RC queue pair has failed. */
void verbs_qp_break (struct verbs_qp *q, enum ibv_wc_status why);

/* Take what sends have completed. A UD queue pair must not fail: -1 with err;
 * an RC one is marked broken.
 */
int verbs_qp_reap (struct verbs_cq *sends, struct error *err);

#endif /* PROBE_VERBS_QP_H */
