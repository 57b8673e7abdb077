/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A completion queue, with time stamps of its device or without.
 */
#ifndef PROBE_VERBS_CQ_H
#define PROBE_VERBS_CQ_H

#include <infiniband/verbs.h>
#include <stdbool.h>
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

/* Make one for `depth` completions of sends, or of receives, which are
 * stamped and told by the channel. A device that has a clock and makes no
 * such queue loses its clock. Return 0, or -1 with err; verbs_cq_close is due
 * in both cases.
 */
int verbs_cq_open_sends (struct verbs_cq *cq, struct verbs_device *device,
                         uint32_t depth, struct error *err);
int verbs_cq_open_receives (struct verbs_cq *cq, struct verbs_device *device,
                            uint32_t depth, struct ibv_comp_channel *channel,
                            struct error *err);
void verbs_cq_close (struct verbs_cq *cq);

/* Take one completion. Return 1, 0 where there is none, or -1 with err. Where
 * the status is no success only wr_id holds beside it.
 */
int verbs_cq_poll (struct verbs_cq *cq, struct verbs_completion *c,
                   struct error *err);

#endif /* PROBE_VERBS_CQ_H */
