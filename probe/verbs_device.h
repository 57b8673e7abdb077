/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One port of an RDMA device: which ports there are, whether they can be used,
 * and what they are called in the network.
 *
 * Written after the documents, and tried with soft RoCE alone: the device's
 * clock, LIDs, more than one P_Key, ports that need a GRH, several ports of a
 * device. Where a device may do otherwise, less is asked of it: without its
 * stamps, inline messages or GRH it is used all the same.
 *
 * Every sentence of an error begins with the device and the port it is about,
 * as "mlx5_0/1", where there is one.
 */
#ifndef PROBE_VERBS_DEVICE_H
#define PROBE_VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/verbs_wire.h"
#include "util/error.h"
#include "util/site.h"

#define VERBS_MTU IBV_MTU_512 /* what is sent fits in */

struct verbs_device {
    char name[IBV_SYSFS_NAME_MAX + 8]; /* "mlx5_0/1" */
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_device_attr limits;
    struct ibv_port_attr attr;
    uint8_t port;
    uint64_t guid;            /* of the port */
    struct verbs_address at;  /* without its QP, gap, machine and service */
    uint16_t pkey_index;
    uint8_t gid_index;
    uint8_t sl, traffic_class; /* the site's */
    bool software;            /* soft RoCE: no hardware's latencies */
    bool inlines;             /* takes inline messages, until proved wrong */
    uint64_t clock_khz;       /* of its own clock; 0: it has none to use */
    uint64_t clock_mask, clock_base;
    uint8_t *pad;         /* an MTU of bytes: where pads come from and go to; */
    struct ibv_mr *pad_mr; /* ... NULL: messages have none */
};

struct verbs_port_name {
    char device[IBV_SYSFS_NAME_MAX];
    uint8_t port; /* 0: the first that is active, or else the first */
};

/* The ports to use of this machine: those of `wanted`, comma-separated as
 * DEVICE or DEVICE/PORT, or where that is "", every active one, of InfiniBand
 * if there is any, else of RoCE. Returns how many, at most max; 0 with err
 * where there are none.
 */
size_t verbs_find_ports (const char *wanted, struct verbs_port_name *v,
                         size_t max, struct error *err);

/* Open a port as the site says. Return 0, or -1 with err; verbs_device_close
 * is due in both cases.
 */
int verbs_device_open (struct verbs_device *d,
                       const struct verbs_port_name *name,
                       const struct site *site, struct error *err);
void verbs_device_close (struct verbs_device *d);

/* Pages of zeros that can be registered: *size is rounded up to them. */
void *verbs_device_memory (size_t *size);

/* Let messages have pads. Return 0, or -1 with err. */
int verbs_device_open_pads (struct verbs_device *d, struct error *err);

/* The clock: the device's where clock_khz is set, else CLOCK_MONOTONIC.
 * verbs_device_stamp_ns is for a time stamp of a completion.
 */
int64_t verbs_device_now_ns (const struct verbs_device *d);
int64_t verbs_device_stamp_ns (const struct verbs_device *d, uint64_t ticks);

/* Fill in how to reach an endpoint from this port by a way, on a service level.
 */
void verbs_device_route (const struct verbs_device *d,
                         const struct verbs_address *to,
                         struct transport_way way, uint8_t sl,
                         struct ibv_ah_attr *attr);

/* Take what the device has to tell, without waiting. Return 0, or -1 with err
 * where it or its port can no longer be used.
 */
int verbs_device_events (const struct verbs_device *d, struct error *err);

/* So many, or fewer where one of its limits, at least 2, is lower. */
uint32_t verbs_device_at_most (uint32_t wanted, int limit);

/* Errors of this device: "NAME: WHAT: strerror (code)", and which limit that
 * may come from. Return -1.
 */
int verbs_device_failed (const struct verbs_device *d, const char *what,
                         int code, struct error *err);

/* A work request failed that cannot fail while all is well: what the device
 * has to tell about it, or "NAME: WHAT: status". Return -1.
 */
int verbs_device_broke (const struct verbs_device *d, const char *what,
                        enum ibv_wc_status status, struct error *err);

#endif /* PROBE_VERBS_DEVICE_H */
