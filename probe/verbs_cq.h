/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A completion queue, with the device's time stamps where it has a clock
 * (verbs_device), else without.
 */
#ifndef PROBE_VERBS_CQ_H
#define PROBE_VERBS_CQ_H

#include <infiniband/verbs.h>
#include <stdint.h>

#include "probe/verbs_device.h"
#include "util/error.h"

struct verbs_cq {
    const struct verbs_device *device; /* borrowed */
    struct ibv_cq *cq;
    struct ibv_cq_ex *ex; /* NULL: not an extended one; else the same */
};

struct verbs_completion {
    uint64_t wr_id;
    enum ibv_wc_status status;
    uint32_t len;
    uint32_t src_qp;
    uint16_t slid;
    int64_t stamp_ns; /* by the device's clock, else by verbs_device_now_ns */
};

/* Make one for `depth` completions; channel may be NULL. Return 0, or -1 with
 * err; verbs_cq_close is due in both cases.
 */
int verbs_cq_open (struct verbs_cq *cq, const struct verbs_device *device,
                   int depth, struct ibv_comp_channel *channel,
                   struct error *err);
void verbs_cq_close (struct verbs_cq *cq);

/* Take one completion. Return 1, 0 where there is none, or -1 with err. Where
 * the status is no success only wr_id holds beside it.
 */
int verbs_cq_poll (struct verbs_cq *cq, struct verbs_completion *c,
                   struct error *err);

#endif /* PROBE_VERBS_CQ_H */
