/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One port of an RDMA device.
 *
 * Written from documents and tested with soft RoCE only. Not tested: the
 * device's clock, LIDs, more than one P_Key, ports that need a GRH, several
 * ports of a device. If a device lacks time stamps, inline messages or a GRH,
 * it is used without them.
 *
 * Functions return 0, or -1 with err, which begins with the device and port
 * that it is about, such as "mlx5_0/1".
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

#define VERBS_MTU IBV_MTU_512 /* large enough for all messages */

struct verbs_device {
    char name[IBV_SYSFS_NAME_MAX + 8]; /* "mlx5_0/1" */
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_device_attr limits;
    struct ibv_port_attr attr;
    uint8_t port;
    uint64_t guid;            /* of the port */
    struct verbs_address at;  /* without QP, gap, machine and service */
    uint16_t pkey_index;
    uint8_t gid_index;
    uint8_t sl, traffic_class; /* from the site */
    bool software;            /* soft RoCE: not hardware latencies */
    bool inlines;             /* takes inline messages, until one fails */
    uint64_t clock_khz;       /* of its own clock; 0: not usable */
    uint64_t clock_mask, clock_base;
};

struct verbs_port_name {
    char device[IBV_SYSFS_NAME_MAX];
    uint8_t port; /* 0: the first active one, else the first */
};

/* Find the ports of this machine to use: those of `wanted`, comma-separated as
 * DEVICE or DEVICE/PORT; if it is "", every active port, of InfiniBand if there
 * is any, else of RoCE. Return their number, at most max; 0 with err if there
 * are none.
 */
size_t verbs_find_ports (const char *wanted, struct verbs_port_name *v,
                         size_t max, struct error *err);

/* Open a port as the site configures it. Call verbs_device_close in any case,
 * once.
 */
int verbs_device_open (struct verbs_device *d,
                       const struct verbs_port_name *name,
                       const struct site *site, struct error *err);
void verbs_device_close (struct verbs_device *d);

/* Allocate zeroed pages that can be registered; *size is rounded up to pages.
 */
void *verbs_device_memory (size_t *size);

/* The clock: the device's if clock_khz is set, else CLOCK_MONOTONIC.
 * verbs_device_stamp_ns converts the time stamp of a completion.
 */
int64_t verbs_device_now_ns (const struct verbs_device *d);
int64_t verbs_device_stamp_ns (const struct verbs_device *d, uint64_t ticks);

/* The route from this port to an endpoint by a way, on a service level. */
void verbs_device_route (const struct verbs_device *d,
                         const struct verbs_address *to,
                         struct transport_way way, uint8_t sl,
                         struct ibv_ah_attr *attr);

/* How an RC queue pair is connected to one of another port. */
struct verbs_rc {
    const struct verbs_address *to;
    struct transport_way way;
    uint8_t sl;
    uint32_t qpn;             /* the other end's */
    uint32_t psn_in, psn_out; /* first packet sequence numbers; 24 bits count */
    uint8_t mtu;              /* as in ibv_mtu */
    uint8_t timeout, retries, rnr_retries; /* codes of the specification */
};

/* Bring a queue pair to a state (ibv_modify_qp). Then two that are common: to
 * INIT, so that receives can be posted, over RC with these access flags; from
 * there to where RC sends.
 */
int verbs_device_modify (const struct verbs_device *d, struct ibv_qp *qp,
                         struct ibv_qp_attr *attr, int mask, struct error *err);
int verbs_device_init_qp (const struct verbs_device *d, struct ibv_qp *qp,
                          unsigned int access, struct error *err);
int verbs_device_connect (const struct verbs_device *d, struct ibv_qp *qp,
                          const struct verbs_rc *rc, struct error *err);

/* Read the device's events, without waiting: -1 if it or its port can no longer
 * be used.
 */
int verbs_device_events (const struct verbs_device *d, struct error *err);

/* Set an error of this device: "NAME: WHAT: strerror (code)", and which limit
 * may be the cause; or, of a work request that never fails on a healthy device,
 * what its events say, else "NAME: WHAT: status". Return -1.
 */
int verbs_device_failed (const struct verbs_device *d, const char *what,
                         int code, struct error *err);
int verbs_device_broke (const struct verbs_device *d, const char *what,
                        enum ibv_wc_status status, struct error *err);

#endif /* PROBE_VERBS_DEVICE_H */
