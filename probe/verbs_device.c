/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One port of an RDMA device. */
#include "config.h"
#include "probe/verbs_device.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    PORTS_MAX = 255,
    HOP_LIMIT = 64,
    VENDOR_SOFT_ROCE = 0xffffff,
    PSN_MASK = 0xffffff,
    RNR_TIMER = 12, /* 640 us: a code of the InfiniBand specification */
};

int verbs_device_failed (const struct verbs_device *d, const char *what,
                         int code, struct error *err)
{
    return error_world (err, "%s: %s: %s%s", d->name, what, strerror (code),
                        code == ENOMEM ? ", see ulimit -l" : "");
}

/*
 * Choice of ports
 */

/* The devices of this node; NULL with err if there are none. */
static struct ibv_device **list_devices (int *n, struct error *err)
{
    struct ibv_device **v = ibv_get_device_list (n);

    if (v && *n > 0)
        return v;
    if (v)
        ibv_free_device_list (v);
    error_world (err, "no RDMA device on this node");
    return NULL;
}

static size_t parse_wanted (const char *wanted, struct verbs_port_name *v,
                            size_t max, struct error *err)
{
    struct hostlist list;
    size_t n = 0;

    if (hostlist_expand (&list, wanted, PORTS_MAX, err) < 0) {
        error_prefix (err, "option Device");
        return 0;
    }
    if (list.count == 0)
        error_input (err, "option Device: '%s' is an empty list", wanted);
    else if (list.count > max)
        error_input (err, "option Device: more than %zu ports", max);
    for (; n < list.count && list.count <= max; n++) {
        const char *word = list.name[n];
        size_t len = strcspn (word, "/");
        uint64_t port = 0;

        if (len == 0 || len >= sizeof (v->device)
            || (word[len]
                && text_u64 (word + len + 1, 1, PORTS_MAX, &port) < 0)) {
            error_input (err, "option Device: '%s' is not DEVICE or "
                         "DEVICE/PORT", word);
            n = 0;
            break;
        }
        v[n] = (struct verbs_port_name){ .port = (uint8_t)port };
        memcpy (v[n].device, word, len);
    }
    hostlist_clear (&list);
    return n;
}

/* Open a device, of which err speaks by this name; NULL with err. If it fails,
 * try the device's file, because the library reports only the last of several
 * attempts.
 */
static struct ibv_context *open_context (struct ibv_device *device,
                                         const char *name, struct error *err)
{
    struct ibv_context *context = NULL;
    char path[sizeof ("/dev/infiniband/") + IBV_SYSFS_NAME_MAX];
    int code, fd;

    /* iWARP, EFA and usNIC do not have the datagrams that are needed */
    if (device->transport_type != IBV_TRANSPORT_IB) {
        error_world (err, "%s: neither InfiniBand nor RoCE", name);
        return NULL;
    }
    if ((context = ibv_open_device (device)))
        return context;
    code = errno;
    snprintf (path, sizeof (path), "/dev/infiniband/%s", device->dev_name);
    if ((fd = open (path, O_RDWR | O_CLOEXEC)) < 0)
        error_world (err, "%s: cannot open %s: %s", name, path,
                     strerror (errno));
    else {
        close (fd);
        error_world (err, "%s: cannot be opened: %s", name, strerror (code));
    }
    return NULL;
}

/* Add a device's active ports of a link layer. If a port is not active, or the
 * device cannot be opened, set *why.
 */
static size_t add_active (struct ibv_device *device, bool ethernet,
                          struct verbs_port_name *v, size_t n, size_t max,
                          struct error *why)
{
    struct ibv_context *context;
    struct ibv_device_attr attr;
    const char *name = ibv_get_device_name (device);

    if (device->transport_type != IBV_TRANSPORT_IB
        || !(context = open_context (device, name, why)))
        return n;
    if (ibv_query_device (context, &attr) != 0)
        attr.phys_port_cnt = 0;
    for (uint8_t i = 1; i <= attr.phys_port_cnt && n < max; i++) {
        struct ibv_port_attr port;

        if (ibv_query_port (context, i, &port) != 0
            || (port.link_layer == IBV_LINK_LAYER_ETHERNET) != ethernet)
            continue;
        if (port.state != IBV_PORT_ACTIVE) {
            error_world (why, "%s/%u: the port is down", name, i);
            continue;
        }
        snprintf (v[n].device, sizeof (v[n].device), "%s", name);
        v[n++].port = i;
    }
    ibv_close_device (context);
    return n;
}

size_t verbs_find_ports (const char *wanted, struct verbs_port_name *v,
                         size_t max, struct error *err)
{
    struct error why = { .text = "" };
    struct ibv_device **device;
    size_t n = 0;
    int count;

    if (*wanted)
        return parse_wanted (wanted, v, max, err);
    if (!(device = list_devices (&count, err)))
        return 0;
    for (int ethernet = 0; ethernet < 2 && n == 0; ethernet++)
        for (int i = 0; i < count; i++)
            n = add_active (device[i], ethernet, v, n, max, &why);
    if (n == 0 && why.text[0])
        error_world (err, "%.180s, and no other is active", why.text);
    else if (n == 0)
        error_world (err, "%s: neither InfiniBand nor RoCE, nor is there any "
                     "other", ibv_get_device_name (device[0]));
    ibv_free_device_list (device);
    return n;
}

/*
 * One port
 */

static int find_device (struct verbs_device *d, const char *name,
                        struct error *err)
{
    int n, i;
    struct ibv_device **v = list_devices (&n, err);

    if (!v)
        return -1;
    for (i = 0; i < n && strcmp (ibv_get_device_name (v[i]), name) != 0;)
        i++;
    if (i < n)
        d->context = open_context (v[i], d->name, err);
    else
        error_world (err, "no RDMA device is called %.63s; the first is %s",
                     name, ibv_get_device_name (v[0]));
    ibv_free_device_list (v);
    return d->context ? 0 : -1;
}

static int open_port (struct verbs_device *d, const char *device, uint8_t port,
                      struct error *err)
{
    const struct ibv_device_attr *limits = &d->limits;
    int rc = ibv_query_device (d->context, &d->limits);

    if (rc != 0)
        return verbs_device_failed (d, "cannot be queried", rc, err);
    d->software = limits->vendor_id == VENDOR_SOFT_ROCE;
    if (port > limits->phys_port_cnt)
        return error_world (err, "%s: the device has no such port, but %u",
                            d->name, limits->phys_port_cnt);
    for (d->port = port > 0 ? port : 1;; d->port++) {
        if ((rc = ibv_query_port (d->context, d->port, &d->attr)) != 0)
            return verbs_device_failed (d, "the port cannot be queried", rc,
                                        err);
        if (port > 0 || d->attr.state == IBV_PORT_ACTIVE
            || d->port >= limits->phys_port_cnt)
            break;
    }
    snprintf (d->name, sizeof (d->name), "%.*s/%u", IBV_SYSFS_NAME_MAX - 1,
              device, d->port);
    if (d->attr.state != IBV_PORT_ACTIVE)
        return error_world (
            err, "%s: the port is down: %s", d->name,
            d->attr.state == IBV_PORT_INIT ? "no subnet manager has set it up"
            : d->attr.state == IBV_PORT_ARMED
                ? "the subnet manager has not activated it"
                : "no link");
    if (d->attr.active_mtu < VERBS_MTU)
        return error_world (err, "%s: an MTU of at least %d bytes is needed",
                            d->name, 128 << VERBS_MTU);
    d->at.ethernet = d->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    d->at.lid = d->at.ethernet ? 0 : d->attr.lid;
    d->at.lmc = d->at.ethernet ? 0 : d->attr.lmc;
    snprintf (d->at.name, sizeof (d->at.name), "%.*s", VERBS_NAME_MAX, d->name);
    return 0;
}

/* Choose the GID: the wanted one, or the best, which over InfiniBand is the
 * first. Find the port's GUID: the first GID of an InfiniBand port ends in it,
 * as does the link-local one of an Ethernet port.
 */
static int open_gid (struct verbs_device *d, const char *wanted,
                     struct error *err)
{
    static const uint8_t zero[VERBS_GID], link_local[8] = { 0xfe, 0x80 };
    bool any = !strcmp (wanted, SITE_AUTO);
    struct ibv_gid_entry e;
    uint64_t index = 0;
    int best = -1; /* its worth */

    if (!any && text_u64 (wanted, 0, UINT8_MAX, &index) < 0)
        return error_input (err, "option GidIndex: '%s' is not %s or a number",
                            wanted, SITE_AUTO);
    for (uint32_t i = 0; (int)i < d->attr.gid_tbl_len && i <= UINT8_MAX; i++) {
        bool v1;
        int worth;

        if (ibv_query_gid_ex (d->context, d->port, i, &e, 0) != 0
            || !memcmp (e.gid.raw, zero, VERBS_GID))
            continue;
        v1 = e.gid_type == IBV_GID_TYPE_ROCE_V1;
        worth = d->at.ethernet ? verbs_gid_worth (e.gid.raw, v1) : 0;
        if (any ? worth > best : i == index) {
            best = worth;
            d->gid_index = (uint8_t)i;
            d->at.roce_v1 = d->at.ethernet && v1;
            memcpy (d->at.gid, e.gid.raw, VERBS_GID);
        }
        if (!d->guid
            && (!d->at.ethernet
                || !memcmp (e.gid.raw, link_local, sizeof (link_local)))) {
            memcpy (&d->guid, e.gid.raw + 8, sizeof (d->guid));
            d->guid = be64toh (d->guid);
        }
    }
    if (best < 0 && any)
        return error_world (err, "%s: the port has no GID: an address is "
                            "missing at its network interface", d->name);
    if (best < 0)
        return error_world (err, "%s: there is no GID at index %s", d->name,
                            wanted);
    d->at.global = d->at.ethernet || !any
                   || (d->attr.flags & IBV_QPF_GRH_REQUIRED);
    if (!d->guid)
        d->guid = be64toh (ibv_get_device_guid (d->context->device));
    return 0;
}

static int open_pkey (struct verbs_device *d, const char *wanted,
                      struct error *err)
{
    uint64_t value = 0;

    if (*wanted && text_u64 (wanted, 1, UINT16_MAX, &value) < 0)
        return error_input (err, "option PKey: '%s' is not a P_Key", wanted);
    for (uint16_t i = 0; i < d->attr.pkey_tbl_len; i++) {
        uint16_t pkey;

        if (ibv_query_pkey (d->context, d->port, i, &pkey) != 0)
            break;
        pkey = be16toh (pkey);
        if (!verbs_pkey_is_better (pkey, d->at.pkey, (uint16_t)value))
            continue;
        d->pkey_index = i;
        d->at.pkey = pkey;
    }
    if (d->at.pkey != 0)
        return 0;
    if (*wanted)
        return error_world (err, "%s: the port is not in partition 0x%04x",
                            d->name, (unsigned int)value);
    return error_world (err, "%s: the port has no P_Key", d->name);
}

/* Use the device's clock if the site allows it, the device stamps completions
 * with it and it can be read.
 */
static void open_clock (struct verbs_device *d, const char *wanted)
{
    struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
    struct ibv_device_attr_ex attr;

    if (strcmp (wanted, SITE_AUTO) != 0
        || ibv_query_device_ex (d->context, NULL, &attr) != 0
        || attr.completion_timestamp_mask == 0 || attr.hca_core_clock == 0
        || ibv_query_rt_values_ex (d->context, &values) != 0
        || !(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
        return;
    d->clock_khz = attr.hca_core_clock;
    d->clock_mask = attr.completion_timestamp_mask;
    d->clock_base = (uint64_t)values.raw_clock.tv_nsec;
}

void *verbs_device_memory (size_t *size)
{
    size_t page = (size_t)sysconf (_SC_PAGESIZE);
    void *p;

    *size = (*size + page - 1) / page * page;
    p = xcheck (aligned_alloc (page, *size));
    memset (p, 0, *size);
    return p;
}

int verbs_device_open (struct verbs_device *d,
                       const struct verbs_port_name *name,
                       const struct site *site, struct error *err)
{
    int flags;

    *d = (struct verbs_device){
        .sl = (uint8_t)site->service_level,
        .traffic_class = (uint8_t)site->traffic_class, .inlines = true,
    };
    snprintf (d->name, sizeof (d->name), "%s/%u", name->device,
              name->port > 0 ? name->port : 1);
    if (find_device (d, name->device, err) < 0
        || open_port (d, name->device, name->port, err) < 0
        || open_gid (d, site->gid_index, err) < 0
        || open_pkey (d, site->pkey, err) < 0)
        return -1;
    if ((flags = fcntl (d->context->async_fd, F_GETFL)) < 0
        || fcntl (d->context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return verbs_device_failed (d, "its events cannot be read", errno, err);
    open_clock (d, site->clock);
    d->pd = ibv_alloc_pd (d->context);
    return d->pd ? 0
                 : verbs_device_failed (d, "no protection domain", errno, err);
}

void verbs_device_close (struct verbs_device *d)
{
    if (d->pd)
        ibv_dealloc_pd (d->pd);
    if (d->context)
        ibv_close_device (d->context);
}

int64_t verbs_device_stamp_ns (const struct verbs_device *d, uint64_t ticks)
{
    return verbs_ticks_ns ((ticks - d->clock_base) & d->clock_mask,
                           d->clock_khz);
}

int64_t verbs_device_now_ns (const struct verbs_device *d)
{
    struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

    if (d->clock_khz) {
        ibv_query_rt_values_ex (d->context, &values);
        return verbs_device_stamp_ns (d, (uint64_t)values.raw_clock.tv_nsec);
    }
    return clock_ns ();
}

void verbs_device_route (const struct verbs_device *d,
                         const struct verbs_address *to,
                         struct transport_way way, uint8_t sl,
                         struct ibv_ah_attr *attr)
{
    *attr = (struct ibv_ah_attr){
        .dlid = to->lid + way.other,
        .src_path_bits = way.own,
        .sl = sl,
        .port_num = d->port,
        .is_global = d->at.global || to->global,
        .grh = {
            .sgid_index = d->gid_index, .hop_limit = HOP_LIMIT,
            .traffic_class = d->traffic_class,
        },
    };
    memcpy (attr->grh.dgid.raw, to->gid, VERBS_GID);
}

int verbs_device_modify (const struct verbs_device *d, struct ibv_qp *qp,
                         struct ibv_qp_attr *attr, int mask, struct error *err)
{
    int rc = ibv_modify_qp (qp, attr, mask | IBV_QP_STATE);

    return rc == 0 ? 0
                   : verbs_device_failed (d, "the queue pair cannot be set up",
                                          rc, err);
}

int verbs_device_init_qp (const struct verbs_device *d, struct ibv_qp *qp,
                          unsigned int access, struct error *err)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = d->port,
        .pkey_index = d->pkey_index, .qp_access_flags = access,
    };

    return verbs_device_modify (
        d, qp, &attr,
        IBV_QP_PKEY_INDEX | IBV_QP_PORT
            | (qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
        err);
}

int verbs_device_connect (const struct verbs_device *d, struct ibv_qp *qp,
                          const struct verbs_rc *rc, struct error *err)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR, .path_mtu = (enum ibv_mtu)rc->mtu,
        .dest_qp_num = rc->qpn, .rq_psn = rc->psn_in & PSN_MASK,
        .min_rnr_timer = RNR_TIMER,
    };

    verbs_device_route (d, rc->to, rc->way, rc->sl, &attr.ah_attr);
    if (verbs_device_modify (d, qp, &attr,
                             IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN
                                 | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC
                                 | IBV_QP_MIN_RNR_TIMER,
                             err)
        < 0)
        return -1;
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .sq_psn = rc->psn_out & PSN_MASK,
        .timeout = rc->timeout, .retry_cnt = rc->retries,
        .rnr_retry = rc->rnr_retries,
    };
    return verbs_device_modify (d, qp, &attr,
                                IBV_QP_SQ_PSN | IBV_QP_TIMEOUT
                                    | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY
                                    | IBV_QP_MAX_QP_RD_ATOMIC,
                                err);
}

static const char removed[] = "the device failed or was removed";

static int stopped (const struct verbs_device *d, const char *why,
                    struct error *err)
{
    return error_world (err, "%s: %s while it was measuring", d->name, why);
}

/* Whether an event concerns this port. A change of the LID does not if the LID
 * is still the same.
 */
static bool concerns (const struct verbs_device *d,
                      const struct ibv_async_event *event)
{
    struct ibv_port_attr now;

    switch (event->event_type) {
    case IBV_EVENT_PORT_ERR:
        return event->element.port_num == d->port;
    case IBV_EVENT_LID_CHANGE:
        return event->element.port_num == d->port
               && (ibv_query_port (d->context, d->port, &now) != 0
                   || now.lid != d->attr.lid);
    default:
        return true;
    }
}

int verbs_device_events (const struct verbs_device *d, struct error *err)
{
    static const struct {
        enum ibv_event_type type;
        const char *text;
    } tab[] = {
        { IBV_EVENT_DEVICE_FATAL, removed },
        { IBV_EVENT_PORT_ERR, "the port went down" },
        { IBV_EVENT_LID_CHANGE, "the subnet manager gave it another LID" },
        { IBV_EVENT_CQ_ERR, "a completion queue failed" },
        { IBV_EVENT_QP_FATAL, "a queue pair failed" },
    };
    struct ibv_async_event event;

    while (ibv_get_async_event (d->context, &event) == 0) {
        ibv_ack_async_event (&event);
        for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
            if (tab[i].type == event.event_type && concerns (d, &event))
                return stopped (d, tab[i].text, err);
    }
    return 0;
}

int verbs_device_broke (const struct verbs_device *d, const char *what,
                        enum ibv_wc_status status, struct error *err)
{
    if (verbs_device_events (d, err) < 0)
        return -1;
    if (status == IBV_WC_WR_FLUSH_ERR)
        return stopped (d, removed, err);
    return error_world (err, "%s: %s: %s", d->name, what,
                        ibv_wc_status_str (status));
}
