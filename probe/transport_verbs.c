/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport over verbs: InfiniBand and RoCE, UD or RC.
 *
 * Notes: a rail (verbs_rail) is a port (verbs_device) with its completion
 * queues and queue pairs; verbs_wire defines what they carry. This file handles
 * all rails of a process together.
 *
 * A process that attends polls. After SPIN_GAPS without a message it sleeps
 * until a completion queue wakes it; if it does not attend, or shares its core
 * with other processes of the run, it always does so. Events of a device are
 * read now and then, and wake the process, too.
 *
 * If a port cannot be opened, or fails later, the others are still used.
 */
#include "config.h"
#include "probe/transport.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "probe/cpu.h"
#include "ibquery/nodemap.h"
#include "probe/verbs_rail.h"
#include "util/alloc.h"
#include "util/clock.h"

enum {
    SPIN_GAPS = 200,
    LOOKS_PER_EVENT_CHECK = 4096,
    GAP_US_MAX = 1000000,
    NS_PER_US = 1000,
    TIMER_SLACK_NS = 1000,
};

struct verbs {
    struct transport_handle handle; /* first */
    struct verbs_rail rail[TRANSPORT_RAILS_MAX];
    struct verbs_run run;
    struct error unopened; /* why the first port that failed was not opened */
    size_t next;     /* the rail to poll next */
    unsigned int looks; /* polls of all rails without a message */
    bool attends;
    bool sleeps;     /* always, and never polls for long */
    int64_t heard_ns; /* time of the last message or call of attend */
    char polling[8]; /* the site's Polling */
    bool pin;
};

static int64_t verbs_now_ns (const void *t)
{
    (void)t;
    return clock_ns ();
}

static void verbs_close (void *t)
{
    struct verbs *v = t;

    for (size_t i = 0; i < v->handle.rails; i++)
        verbs_rail_close (&v->rail[i]);
    free (v->run.at);
    free (v->run.window);
    free (v);
}

/*
 * Opening
 */

/* The devices that the site's map gives a node, comma-separated; "" if it does
 * not list the node. Return 0, or -1 with err.
 */
static int mapped_devices (const struct site *site, const char *host,
                           char *buf, size_t size, struct error *err)
{
    struct nodemap_line line[TRANSPORT_RAILS_MAX];
    struct nodemap *map;
    size_t len = 0;
    size_t n;

    buf[0] = '\0';
    if (!site->node_map[0])
        return 0;
    if (!(map = nodemap_load (site->node_map, err)))
        return -1;
    n = nodemap_find (map, host, line, TRANSPORT_RAILS_MAX);
    for (size_t i = 0; i < n && i < TRANSPORT_RAILS_MAX && len < size; i++)
        if (line[i].device[0])
            len += (size_t)snprintf (buf + len, size - len, "%s,",
                                     line[i].device);
    nodemap_destroy (map);
    return 0;
}

static void *verbs_open (const struct site *site, const char *host, bool pads,
                         struct error *err)
{
    struct verbs_port_name name[TRANSPORT_RAILS_MAX];
    char mapped[TRANSPORT_RAILS_MAX * (IBV_SYSFS_NAME_MAX + 8)];
    struct verbs *v = xcalloc (1, sizeof (*v));
    size_t n;

    snprintf (v->polling, sizeof (v->polling), "%s", site->polling);
    v->pin = site->pin;
    if (mapped_devices (site, host, mapped, sizeof (mapped), err) < 0
        || (n = verbs_find_ports (mapped[0] ? mapped : site->device, name,
                                  TRANSPORT_RAILS_MAX, err)) == 0)
        goto error;
    for (size_t i = 0; i < n; i++) {
        struct verbs_rail *rail = &v->rail[v->handle.rails];
        struct error why;

        if (verbs_rail_open (rail, &name[i], v->handle.rails == 0, pads, site,
                             &why)
            == 0) {
            rail->address.number = (uint8_t)i;
            v->handle.address[v->handle.rails++] = rail->address;
            continue;
        }
        verbs_rail_close (rail);
        if (!v->unopened.text[0])
            v->unopened = why;
    }
    if (v->handle.rails > 0) {
        const char *port = v->rail[0].device.name;

        snprintf (v->handle.device, sizeof (v->handle.device), "%.*s",
                  (int)strcspn (port, "/"), port);
        return v;
    }
    *err = v->unopened;
error:
    verbs_close (v);
    return NULL;
}

/*
 * Connecting
 */

/* Read the addresses of the peers; what all must agree on follows from them. */
static int read_peers (struct verbs *v, const struct transport_address *peer,
                       size_t n, struct error *err)
{
    uint32_t gap_us = 1;
    size_t mtu = UINT8_MAX;

    v->run.at = xcalloc (n, sizeof (*v->run.at));
    v->run.window = xcalloc (n, sizeof (*v->run.window));
    v->run.npeers = n;
    for (size_t i = 0; i < n; i++) {
        struct verbs_address *at = &v->run.at[i];

        if (!verbs_address_unpack (at, &peer[i]) || at->gap_us > GAP_US_MAX)
            return error_world (err, "a node published an invalid address");
        if (at->gap_us > gap_us)
            gap_us = at->gap_us;
        if (at->mtu < mtu)
            mtu = at->mtu;
    }
    /* a path through switches of a smaller MTU loses longer messages */
    v->handle.size_max = mtu > 0 ? (128UL << mtu) - VERBS_HEADER : 0;
    v->handle.gap_ns = (int64_t)gap_us * NS_PER_US;
    return 0;
}

/* A process always sleeps while it waits if Polling is event, or if it is auto
 * and the run has more processes on this machine than they have cores. If not,
 * it is bound to a core.
 */
static int verbs_connect (void *t, uint64_t key,
                          const struct transport_address *peer, size_t n,
                          size_t members, struct error *err)
{
    struct verbs *v = t;
    struct verbs_share share;

    (void)members;
    v->run.handle = &v->handle;
    v->run.key = key;
    /* Q_Keys with the highest bit set are privileged. The key cannot be
     * computed from these 31 bits.
     */
    v->run.qkey = (uint32_t)(key * UINT64_C (0x9e3779b97f4a7c15) >> 33);
    if (read_peers (v, peer, n, err) < 0)
        return -1;
    for (size_t r = 0; r < v->handle.rails; r++) {
        const struct transport_address *a = &v->handle.address[r];
        size_t self = 0;

        while (self < n
               && (a->guid != peer[self].guid || a->lid != peer[self].lid
                   || a->len != peer[self].len
                   || memcmp (a->data, peer[self].data, a->len) != 0))
            self++;
        if (self == n)
            return error_world (err, "%s: its address did not reach the others",
                                v->rail[r].device.name);
        if (verbs_rail_start (&v->rail[r], &v->run, (uint32_t)self, err) < 0)
            return -1;
    }
    verbs_find_share (v->run.at, n, v->rail[0].self, &share);
    v->handle.turns = share.turns;
    v->handle.mine = share.mine;
    v->sleeps = !strcmp (v->polling, "event")
                || (strcmp (v->polling, "busy")
                    && share.processes > cpu_count ());
    if (v->pin && !v->sleeps)
        cpu_pin (v->handle.device, share.before);
    prctl (PR_SET_TIMERSLACK, TIMER_SLACK_NS);
    return 0;
}

static void verbs_set_level (void *t, unsigned int level)
{
    struct verbs *v = t;

    for (size_t i = 0; i < v->handle.rails; i++)
        v->rail[i].sl = (uint8_t)level;
}

static bool verbs_attend (void *t, bool on)
{
    struct verbs *v = t;

    v->attends = on && !v->sleeps;
    v->heard_ns = verbs_now_ns (v);
    return v->attends;
}

/* Mark a rail as failed, with the reason. Return 0, or -1 if it was the last.
 */
static int lose (struct verbs *v, struct verbs_rail *rail,
                 const struct error *err)
{
    rail->lost = v->handle.lost[rail - v->rail] = true;
    rail->trouble = *err;
    for (size_t i = 0; i < v->handle.rails; i++)
        if (!v->rail[i].lost)
            return 0;
    return -1;
}

static int verbs_prepare (void *t, uint32_t rail, uint32_t peer,
                          struct transport_way way, struct error *err)
{
    struct verbs *v = t;
    struct verbs_rail *r = &v->rail[rail];
    int rc = r->lost ? 1 : verbs_rail_prepare (r, peer, way, err);

    return rc < 0 ? lose (v, r, err) : rc;
}

static int verbs_send (void *t, uint32_t rail, uint32_t peer,
                       const uint8_t *data, size_t len, size_t pad,
                       struct transport_timing *timing, struct error *err)
{
    struct verbs *v = t;
    struct verbs_rail *r = &v->rail[rail];

    if (verbs_rail_send (r, peer, VERBS_DATA, data, len, pad, timing, err) < 0)
        return lose (v, r, err);
    return 0;
}

/*
 * Receiving
 */

/* Poll each rail once. Return 1 with a packet, 0, or -1 with err. Set *came if
 * anything arrived, even if it was dropped.
 */
static int look (struct verbs *v, struct packet *packet, bool *came,
                 struct error *err)
{
    *came = false;
    for (size_t k = 0; k < v->handle.rails; k++) {
        size_t i = v->next++ % v->handle.rails;
        struct verbs_rail *rail = &v->rail[i];
        bool here = false;
        int rc = rail->lost ? 0 : verbs_rail_take (rail, packet, &here, err);

        *came |= here;
        if (rc < 0 && lose (v, rail, err) < 0)
            return -1;
        if (rc <= 0)
            continue;
        packet->rail = (uint32_t)i;
        packet->time_ns = verbs_now_ns (v);
        return 1;
    }
    return 0;
}

/* Read the events of a rail's device. Return 0, or -1 with err if this was the
 * last rail.
 */
static int check_rail (struct verbs *v, struct verbs_rail *rail,
                       struct error *err)
{
    if (rail->lost || verbs_device_events (&rail->device, err) == 0)
        return 0;
    return lose (v, rail, err);
}

/* Request a notification of the next message on all rails. Return true if they
 * were armed already, so that no earlier message is missed: it is safe to
 * sleep.
 */
static bool arm (struct verbs *v)
{
    struct ibv_cq *cq;
    void *context;
    bool was = true;

    for (size_t i = 0; i < v->handle.rails; i++) {
        struct verbs_rail *rail = &v->rail[i];

        if (rail->armed || rail->lost)
            continue;
        was = false;
        /* read the notification that woke this process: it has waited until
         * the messages, which are timed, were taken
         */
        if (rail->told && ibv_get_cq_event (rail->channel, &cq, &context) == 0)
            ibv_ack_cq_events (cq, 1);
        rail->told = false;
        rail->armed = ibv_req_notify_cq (rail->receives, 0) == 0;
    }
    return was;
}

/* Sleep until the deadline, a message or an event of a device. */
static int sleep_until (struct verbs *v, int64_t deadline_ns,
                        struct error *err)
{
    struct pollfd pfd[2 * TRANSPORT_RAILS_MAX];
    int64_t left = deadline_ns - verbs_now_ns (v);
    struct timespec ts = { left / 1000000000, left % 1000000000 };

    if (left <= 0)
        return 0;
    for (size_t i = 0; i < v->handle.rails; i++) {
        const struct verbs_rail *rail = &v->rail[i];

        /* poll ignores negative descriptors */
        pfd[2 * i] = (struct pollfd){
            .fd = rail->lost ? -1 : rail->channel->fd,
            .events = POLLIN,
        };
        pfd[2 * i + 1] = (struct pollfd){
            .fd = rail->lost ? -1 : rail->device.context->async_fd,
            .events = POLLIN,
        };
    }
    if (ppoll (pfd, 2 * v->handle.rails, &ts, NULL) <= 0)
        return 0;
    for (size_t i = 0; i < v->handle.rails; i++) {
        if (pfd[2 * i].revents) {
            v->rail[i].told = true;
            v->rail[i].armed = false;
        }
        if (pfd[2 * i + 1].revents && check_rail (v, &v->rail[i], err) < 0)
            return -1;
    }
    return 0;
}

static int verbs_recv (void *t, int64_t deadline_ns, struct packet *packet,
                       struct error *err)
{
    struct verbs *v = t;

    for (;;) {
        bool came;
        int rc = look (v, packet, &came, err);
        int64_t now;

        if (rc > 0)
            v->heard_ns = packet->time_ns;
        if (rc != 0)
            return rc;
        if ((now = verbs_now_ns (v)) >= deadline_ns)
            return 0;
        if (came)
            continue;
        if (++v->looks % LOOKS_PER_EVENT_CHECK == 0)
            for (size_t i = 0; i < v->handle.rails; i++)
                if (check_rail (v, &v->rail[i], err) < 0)
                    return -1;
        if (v->attends && now - v->heard_ns < SPIN_GAPS * v->handle.gap_ns)
            continue;
        if (arm (v) && sleep_until (v, deadline_ns, err) < 0)
            return -1;
    }
}

static const char *verbs_trouble (const void *t)
{
    const struct verbs *v = t;
    const char *text = v->unopened.text;

    for (size_t i = 0; i < v->handle.rails; i++)
        if (v->rail[i].trouble.text[0] && (!*text || v->rail[i].lost))
            text = v->rail[i].trouble.text;
    return *text ? text : NULL;
}

const struct transport transport_verbs = {
    .name = "verbs",
    .open = verbs_open,
    .close = verbs_close,
    .agree = verbs_agree,
    .connect = verbs_connect,
    .prepare = verbs_prepare,
    .set_level = verbs_set_level,
    .attend = verbs_attend,
    .send = verbs_send,
    .recv = verbs_recv,
    .now_ns = verbs_now_ns,
    .trouble = verbs_trouble,
};
