/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport over verbs: InfiniBand and RoCE, UD or RC.
 *
 * Notes: a rail is a port (verbs_device) with its completion queues and queue
 * pairs. One UD queue pair carries everything; but timed messages have a UD
 * queue pair per flow from flow 1 on, or, if the service is RC, a queue pair
 * per peer, LIDs and flow. If a port cannot be opened, or fails later, the
 * others are still used. If a way to a peer cannot be made (no route, no
 * neighbour), messages sent there are lost; the first such failure is kept as
 * the rail's trouble.
 *
 * A process that attends polls. After SPIN_GAPS without a message it sleeps
 * until a completion queue or a device's event wakes it; if it does not attend,
 * or shares its core with other processes of the run, it always does so.
 *
 * A queue pair has buffers of its own: receives are posted from the start, and
 * each send has a slot, but for small messages that the device takes inline.
 * Of depth / SIGNAL_PARTS sends one is signalled: once it is complete, so are
 * all before it.
 *
 * Only an extended completion queue has time stamps. Some drivers report a
 * clock but have no such queue, as for some virtual functions. Some devices
 * stamp with another clock than the one that can be read: if the first stamp
 * shows this, neither clock is used.
 *
 * Two RC queue pairs are connected by messages over UD, and those of a UD flow
 * get to know each other. Each side sends its queue pair's number and asks
 * again until the other side is connected to that, or knows it. So neither side
 * sends a message that the other's adapter would drop, which would be repeated
 * only after a time-out. First packet sequence numbers depend on the run's key,
 * so packets of earlier runs do not match. What an RC queue pair repeats
 * arrives too late for its ping: losses are seen, as over UD.
 *
 * Only the path of a message is timed. The clock is read right before the
 * doorbell, and an answer includes for how long its sender has held the message
 * that it answers. With the device's clock this begins when the device receives
 * the message; without, when the process sees it, so that the time to wake up
 * remains in the round trip. The way back of reading the device's clock over
 * its bus remains, too: it counts as part of the host end.
 */
#include "config.h"
#include "probe/transport.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "ibquery/nodemap.h"
#include "probe/cpu.h"
#include "probe/verbs_bulk.h"
#include "probe/verbs_device.h"
#include "probe/verbs_wire.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/rng.h"

enum {
    UD_RECEIVES = 2048, /* so many answers may arrive at once */
    UD_SENDS = 256,
    FLOW_DEPTH = 64, /* of a UD flow's queue pair */
    RC_DEPTH = 8,
    CQ_DEPTH = 8192, /* limits the number of queue pairs: all that they have
                        posted may complete at once */
    SIGNAL_PARTS = 2,
    INLINE_WANTED = VERBS_HEADER + 64, /* a ping of the usual size */
    WIRE_SIZE = 8,
    RETRY_GAPS = 20,
    RETRY_COSTS = 20, /* times the duration of the last try */
    /* codes of the InfiniBand specification */
    RC_RETRIES = 7,
    RC_RNR_RETRIES = 7, /* no limit */
    /* the group's time-out of a ping */
    LOST_GAPS = 250,
    LOST_NS = 250000000,
    /* upper bound of a round trip, in us */
    GAP_BUSY = 50,
    GAP_EVENT = 200,
    GAP_SOFTWARE = 5000,
    GAP_US_MAX = 1000000,
    NS_PER_US = 1000,
    /* receiving */
    SPIN_GAPS = 200,
    LOOKS_PER_EVENT_CHECK = 4096,
    TIMER_SLACK_NS = 1000,
};

/* What the wr_id of a receive points to. */
struct slot {
    struct queue *q;
    uint8_t *data; /* VERBS_SLOT bytes; over UD starting with a GRH */
};

/* A queue pair; the wr_id of a send points to it. */
struct queue {
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    uint8_t *memory;          /* slots of receives, then of sends */
    struct slot *slot;        /* [receives] */
    uint32_t receives, depth; /* posted; length of send queue */
    uint32_t inline_max;      /* bytes */
    uint32_t sent, done;      /* sends posted; completed */
    uint32_t peer;            /* RC: at the other end */
    struct transport_way way; /* RC: way of the connection; UD: its flow */
    bool broken;              /* an error occurred */
    enum ibv_wc_status why;   /* the first error; the rest is flushed */
};

struct way { /* from a rail to a peer */
    struct transport_way by;
    /* those of flow 0 have the address handles for their LIDs; they are NULL if
     * not made yet, or failed
     */
    struct ibv_ah *ah;
    struct ibv_ah *timed; /* on the pings' service level, if it differs from
                             the site's */
    struct queue *rc;     /* NULL: none */
    uint32_t qpn;         /* the other end's; UD: of all LIDs, by the first */
    bool connected;       /* this end knows the other's queue pair; RC: is ready
                             to receive and send */
    bool ready;           /* the other end is, too */
    int64_t due_ns;       /* do not make the AH, or ask the other end for its
                             queue pair, before this */
    struct way *next;     /* with other LIDs or of another flow */
};

struct verbs_rail {
    struct verbs *all;
    struct verbs_device device;
    struct verbs_address at;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sends, *receives;
    struct ibv_cq_ex *stamped; /* the same as receives; NULL: no stamps */
    struct queue *ud[TRANSPORT_FLOWS_MAX]; /* by flow; NULL: not used yet */
    struct way **way;          /* [npeers] lists */
    uint32_t room;             /* receives that may still be posted */
    uint32_t self;             /* peer */
    uint8_t sl;                /* of timed messages */
    uint32_t sequence;         /* of the last datagram */
    bool armed;                /* the channel will notify of the next receive */
    bool told;                 /* it has; its event must be read */
    bool trusted;              /* the device's stamps are plausible */
    struct verbs_bulk *bulk;   /* NULL: no bursts yet */
    struct error trouble;      /* text "": none */
};

struct verbs {
    struct transport_handle handle; /* first */
    struct verbs_rail rail[TRANSPORT_RAILS_MAX];
    uint64_t key; /* nonce of all datagrams */
    uint32_t qkey;
    size_t npeers;
    struct verbs_address *at;    /* [npeers] */
    struct verbs_window *window; /* [npeers] of datagrams to any own rail */
    struct error unopened;       /* why the first port that failed was not
                                    opened */
    size_t next;                 /* the rail to poll next */
    unsigned int looks;          /* polls of all rails without a message */
    bool attends;
    bool sleeps;                 /* always, and never polls for long */
    int64_t heard_ns;            /* the last message or call of attend */
    char polling[8];             /* the site's Polling */
    bool talks;                  /* messages of users may be sent */
    bool pin;
};

static int64_t verbs_now_ns (const void *t)
{
    (void)t;
    return clock_ns ();
}

static bool *rail_lost_flag (struct verbs_rail *rail)
{
    return &rail->all->handle.lost[rail - rail->all->rail];
}

/* Mark a rail as failed, with the reason. Return 0, or -1 if it was the last.
 */
static int mark_rail_failed (struct verbs_rail *rail, const struct error *err)
{
    const struct transport_handle *h = &rail->all->handle;

    *rail_lost_flag (rail) = true;
    rail->trouble = *err;
    for (size_t i = 0; i < h->rails; i++)
        if (!h->lost[i])
            return 0;
    return -1;
}

/* Keep the first problem of the rail. If the rail cannot reach itself, that is
 * none: its loopback is then not measured.
 */
static void note_trouble (struct verbs_rail *rail, uint32_t peer,
                          const char *what)
{
    if (!rail->trouble.text[0] && peer != rail->self)
        error_world (&rail->trouble, "%s: no way to %s of %s: %s",
                     rail->device.name, rail->all->at[peer].name,
                     rail->all->at[peer].node, what);
}

/*
 * Queue pairs
 */

/* A call failed with this errno, or, if it is 0, a work request with this
 * status. If it was of an RC queue pair, only one peer is lost: return 0. If of
 * a UD queue pair, all are: return -1 with err.
 */
static int handle_queue_failure (struct verbs_rail *rail, struct queue *q,
                                 const char *what, int code,
                                 enum ibv_wc_status status, struct error *err)
{
    if (q->qp->qp_type != IBV_QPT_RC)
        return code ? verbs_device_failed (&rail->device, what, code, err)
                    : verbs_device_broke (&rail->device, what, status, err);
    if (!q->broken)
        q->why = code ? IBV_WC_GENERAL_ERR : status;
    q->broken = true;
    return 0;
}

static int post_receive (struct verbs_rail *rail, struct slot *slot,
                         struct error *err)
{
    struct queue *q = slot->q;
    struct ibv_sge sge
        = { (uintptr_t)slot->data, VERBS_SLOT, q->mr->lkey };
    struct ibv_recv_wr wr = {
        .wr_id = (uintptr_t)slot, .sg_list = &sge, .num_sge = 1,
    };
    struct ibv_recv_wr *bad;
    int rc = ibv_post_recv (q->qp, &wr, &bad);

    return rc == 0
               ? 0
               : handle_queue_failure (rail, q, "receiving failed", rc, 0, err);
}

static void close_queue (struct queue *q)
{
    if (!q)
        return;
    if (q->qp)
        ibv_destroy_qp (q->qp);
    if (q->mr)
        ibv_dereg_mr (q->mr);
    free (q->memory);
    free (q->slot);
    free (q);
}

static int create_qp (struct verbs_rail *rail, struct queue *q,
                      enum ibv_qp_type type, struct error *err)
{
    struct verbs_device *d = &rail->device;
    size_t size = (size_t)(q->receives + q->depth) * VERBS_SLOT;
    struct ibv_qp_init_attr attr = {
        .send_cq = rail->sends,
        .recv_cq = rail->receives,
        .qp_type = type,
        .cap = {
            .max_send_wr = q->depth, .max_recv_wr = q->receives,
            .max_send_sge = 1, .max_recv_sge = 1,
            .max_inline_data = d->inlines ? INLINE_WANTED : 0,
        },
    };

    q->memory = verbs_device_memory (&size);
    q->slot = xcalloc (q->receives, sizeof (*q->slot));
    if (!(q->mr = ibv_reg_mr (d->pd, q->memory, size, IBV_ACCESS_LOCAL_WRITE)))
        return verbs_device_failed (d, "memory cannot be registered", errno,
                                    err);
    q->qp = ibv_create_qp (d->pd, &attr);
    if (!q->qp && d->inlines) {
        d->inlines = false;
        attr.cap.max_inline_data = 0;
        q->qp = ibv_create_qp (d->pd, &attr);
    }
    if (!q->qp)
        return verbs_device_failed (d, "no queue pair", errno, err);
    q->inline_max = attr.cap.max_inline_data;
    return verbs_device_init_qp (d, q->qp, 0, err);
}

/* The wanted number, or the device's limit if that is lower. A limit below 2 is
 * ignored.
 */
static uint32_t at_most (uint32_t wanted, int limit)
{
    return limit >= 2 && (uint32_t)limit < wanted ? (uint32_t)limit : wanted;
}

/* Make a queue pair in the state INIT, with this many receives posted and room
 * for `depth` sends, or fewer if the device allows less. NULL with err.
 */
static struct queue *open_queue (struct verbs_rail *rail, enum ibv_qp_type type,
                                 uint32_t receives, uint32_t depth,
                                 struct error *err)
{
    int limit = rail->device.limits.max_qp_wr;
    struct queue *q = xcalloc (1, sizeof (*q));
    int rc;

    q->receives = at_most (receives, limit);
    q->depth = at_most (depth, limit);
    rc = q->receives > rail->room
             ? error_world (err, "too many queue pairs")
             : create_qp (rail, q, type, err);
    for (uint32_t i = 0; rc == 0 && i < q->receives; i++) {
        q->slot[i] = (struct slot){ q, q->memory + (size_t)i * VERBS_SLOT };
        rc = post_receive (rail, &q->slot[i], err);
    }
    if (rc == 0) {
        rail->room -= q->receives;
        return q;
    }
    close_queue (q);
    return NULL;
}

/* Let a UD queue pair send and receive. */
static int start_ud (struct verbs_rail *rail, struct queue *q,
                     struct error *err)
{
    struct ibv_qp_attr attr
        = { .qp_state = IBV_QPS_RTR, .qkey = rail->all->qkey };

    if (verbs_device_modify (&rail->device, q->qp, &attr, IBV_QP_QKEY, err) < 0)
        return -1;
    attr.qp_state = IBV_QPS_RTS;
    return verbs_device_modify (&rail->device, q->qp, &attr, IBV_QP_SQ_PSN,
                                err);
}

/* The first packet sequence number from one peer to another. Both sides compute
 * the same.
 */
static uint32_t first_psn (const struct verbs_rail *rail, uint32_t from,
                           uint32_t to)
{
    uint64_t both = (uint64_t)from << 32 | to;

    return (uint32_t)(rng_mix (rail->all->key ^ both) >> 40);
}

/* Connect an RC queue pair to one of its peer, on a service level. It
 * retransmits what is not acknowledged for as long as the group waits for a
 * ping at most (probe/group).
 */
static int start_rc (struct verbs_rail *rail, struct queue *q, uint32_t qpn,
                     uint8_t sl, struct error *err)
{
    struct verbs_rc rc = {
        .to = &rail->all->at[q->peer],
        .way = q->way,
        .sl = sl,
        .qpn = qpn,
        .psn_in = first_psn (rail, q->peer, rail->self),
        .psn_out = first_psn (rail, rail->self, q->peer),
        .mtu = VERBS_MTU,
        .timeout = verbs_timeout_code (
            transport_gaps (&rail->all->handle, LOST_GAPS, LOST_NS)),
        .retries = RC_RETRIES,
        .rnr_retries = RC_RNR_RETRIES,
    };

    return verbs_device_connect (&rail->device, q->qp, &rc, err);
}

/*
 * Opening
 */

/* A queue with the device's time stamps; NULL: it has none. */
static struct ibv_cq *open_stamped (struct verbs_rail *rail, uint32_t depth)
{
    struct verbs_device *d = &rail->device;
    struct ibv_cq_init_attr_ex attr = {
        .cqe = depth,
        .channel = rail->channel,
        .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_SRC_QP
                    | IBV_WC_EX_WITH_SLID
                    | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
    };

    if (d->clock_khz && !(rail->stamped = ibv_create_cq_ex (d->context, &attr)))
        d->clock_khz = 0;
    return rail->stamped ? ibv_cq_ex_to_cq (rail->stamped) : NULL;
}

/* Open a port, and fill in its address. Return 0, or -1 with err; call
 * close_rail in both cases.
 */
static int open_rail (struct verbs_rail *rail,
                      const struct verbs_port_name *name,
                      const struct site *site,
                      struct transport_address *address, struct error *err)
{
    struct verbs_device *d = &rail->device;
    bool rc = !strcmp (site->service, "rc");
    uint32_t receives;
    uint32_t depth;

    if (verbs_device_open (d, name, site, err) < 0)
        return -1;
    receives = at_most (UD_RECEIVES, d->limits.max_cqe);
    depth = rail->room = at_most (CQ_DEPTH, d->limits.max_cqe);
    if (!(rail->channel = ibv_create_comp_channel (d->context)))
        return verbs_device_failed (d, "no completion channel", errno, err);
    if (!(rail->receives = open_stamped (rail, depth)))
        rail->receives = ibv_create_cq (d->context, (int)depth, NULL,
                                        rail->channel, 0);
    if (rail->receives)
        rail->sends = ibv_create_cq (d->context, (int)depth, NULL, NULL, 0);
    if (!rail->sends)
        return verbs_device_failed (d, "no completion queue", errno, err);
    if (!(rail->ud[0] = open_queue (rail, IBV_QPT_UD, receives, UD_SENDS,
                                    err)))
        return -1;
    rail->sl = d->sl;
    rail->at = d->at;
    rail->at.rc = rc;
    rail->at.first = rail == rail->all->rail;
    rail->at.qpn = rail->ud[0]->qp->qp_num;
    rail->at.gap_us = site->round_trip_us > 0 ? (uint32_t)site->round_trip_us
                      : d->software           ? GAP_SOFTWARE
                      : strcmp (site->polling, "event") ? GAP_BUSY
                                                        : GAP_EVENT;
    rail->at.machine = cpu_machine ();
    rail->at.cores = cpu_count () < UINT8_MAX ? (uint8_t)cpu_count ()
                                              : UINT8_MAX;
    address->guid = d->guid;
    verbs_address_pack (&rail->at, address);
    return 0;
}

static void close_rail (struct verbs_rail *rail)
{
    for (size_t i = 0; rail->way && i < rail->all->npeers; i++)
        for (struct way *way; (way = rail->way[i]);) {
            rail->way[i] = way->next;
            if (way->ah)
                ibv_destroy_ah (way->ah);
            if (way->timed)
                ibv_destroy_ah (way->timed);
            close_queue (way->rc);
            free (way);
        }
    free (rail->way);
    verbs_bulk_close (rail->bulk);
    for (size_t i = 0; i < TRANSPORT_FLOWS_MAX; i++)
        close_queue (rail->ud[i]);
    if (rail->receives)
        ibv_destroy_cq (rail->receives);
    if (rail->sends)
        ibv_destroy_cq (rail->sends);
    if (rail->channel)
        ibv_destroy_comp_channel (rail->channel);
    verbs_device_close (&rail->device);
}

static void verbs_close (void *t)
{
    struct verbs *v = t;

    for (size_t i = 0; i < v->handle.rails; i++)
        close_rail (&v->rail[i]);
    free (v->at);
    free (v->window);
    free (v);
}

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

static void *verbs_open (const struct site *site, const char *host, bool talks,
                         struct error *err)
{
    struct verbs_port_name name[TRANSPORT_RAILS_MAX];
    char mapped[TRANSPORT_RAILS_MAX * (IBV_SYSFS_NAME_MAX + 8)];
    struct verbs *v = xcalloc (1, sizeof (*v));
    struct transport_handle *h = &v->handle;
    size_t n;

    snprintf (v->polling, sizeof (v->polling), "%s", site->polling);
    v->pin = site->pin;
    v->talks = talks;
    if (mapped_devices (site, host, mapped, sizeof (mapped), err) < 0
        || (n = verbs_find_ports (mapped[0] ? mapped : site->device, name,
                                  TRANSPORT_RAILS_MAX, err)) == 0)
        goto error;
    for (size_t i = 0; i < n; i++) {
        struct verbs_rail *rail = &v->rail[h->rails];
        struct error why;

        *rail = (struct verbs_rail){ .all = v };
        if (open_rail (rail, &name[i], site, &h->address[h->rails], &why)
            == 0) {
            h->address[h->rails++].number = (uint8_t)i;
            continue;
        }
        close_rail (rail);
        if (!v->unopened.text[0])
            v->unopened = why;
    }
    if (h->rails > 0) {
        const char *port = v->rail[0].device.name;

        h->own_clock = v->rail[0].device.clock_khz > 0;
        snprintf (h->device, sizeof (h->device), "%.*s",
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

    v->at = xcalloc (n, sizeof (*v->at));
    v->window = xcalloc (n, sizeof (*v->window));
    v->npeers = n;
    for (size_t i = 0; i < n; i++) {
        struct verbs_address *at = &v->at[i];

        if (!verbs_address_unpack (at, &peer[i]) || at->gap_us > GAP_US_MAX)
            return error_world (err, "a node published an invalid address");
        if (at->gap_us > gap_us)
            gap_us = at->gap_us;
    }
    v->handle.gap_ns = (int64_t)gap_us * NS_PER_US;
    return 0;
}

/* Find the rail among the peers, and start sending and receiving. */
static int start_rail (struct verbs_rail *rail,
                       const struct transport_address *own,
                       const struct transport_address *peer, size_t n,
                       struct error *err)
{
    size_t self = 0;

    while (self < n
           && (own->guid != peer[self].guid || own->lid != peer[self].lid
               || own->len != peer[self].len
               || memcmp (own->data, peer[self].data, own->len) != 0))
        self++;
    if (self == n)
        return error_world (err, "%s: its address did not reach the others",
                            rail->device.name);
    rail->self = (uint32_t)self;
    rail->way = xcalloc (n, sizeof (*rail->way));
    return start_ud (rail, rail->ud[0], err);
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
    struct transport_handle *h = &v->handle;
    struct verbs_share share;

    (void)members;
    v->key = key;
    /* Q_Keys with the highest bit set are privileged. The key cannot be
     * computed from these 31 bits.
     */
    v->qkey = (uint32_t)(key * UINT64_C (0x9e3779b97f4a7c15) >> 33);
    if (read_peers (v, peer, n, err) < 0)
        return -1;
    for (size_t r = 0; r < h->rails; r++)
        if (start_rail (&v->rail[r], &h->address[r], peer, n, err) < 0)
            return -1;
    verbs_find_share (v->at, n, v->rail[0].self, &share);
    h->turns = share.turns;
    h->mine = share.mine;
    v->sleeps = !strcmp (v->polling, "event")
                || (strcmp (v->polling, "busy")
                    && share.processes > cpu_count ());
    if (v->pin && !v->sleeps)
        cpu_pin (h->device, share.before);
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

/*
 * Ways
 */

/* Set the time of the next try. The wait is long if a try takes long, because
 * no message is answered during a try.
 */
static void try_later (const struct verbs_rail *rail, struct way *way,
                       int64_t began_ns)
{
    int64_t now = verbs_device_now_ns (&rail->device);
    int64_t least = RETRY_GAPS * rail->all->handle.gap_ns;
    int64_t rest = RETRY_COSTS * (now - began_ns);

    way->due_ns = now + (rest < least ? least : rest);
}

/* Return NULL if one of the ports has no such LID. */
static struct way *find_way (struct verbs_rail *rail, uint32_t peer,
                             struct transport_way by)
{
    struct way **way = &rail->way[peer];

    if (by.own >> rail->at.lmc || by.other >> rail->all->at[peer].lmc)
        return NULL;
    while (*way && memcmp (&(*way)->by, &by, sizeof (by)) != 0)
        way = &(*way)->next;
    if (!*way) {
        *way = xcalloc (1, sizeof (**way));
        (*way)->by = by;
    }
    return *way;
}

/* Find or make the address handle for timed messages, or for others. Return
 * NULL if there is none.
 */
static struct ibv_ah *find_ah (struct verbs_rail *rail, uint32_t peer,
                               struct way *way, bool timed)
{
    struct verbs_device *d = &rail->device;
    uint8_t sl = timed ? rail->sl : d->sl;
    struct ibv_ah **ah = sl == d->sl ? &way->ah : &way->timed;
    struct ibv_ah_attr attr;
    int64_t now;

    if (*ah || (now = verbs_device_now_ns (d)) < way->due_ns)
        return *ah;
    verbs_device_route (d, &rail->all->at[peer], way->by, sl, &attr);
    if ((*ah = ibv_create_ah (d->pd, &attr)))
        return *ah;
    note_trouble (rail, peer, strerror (errno));
    try_later (rail, way, now);
    return NULL;
}

/* The way whose queue pairs a way's timed messages use: over UD a flow has one
 * for all LIDs. NULL as above.
 */
static struct way *find_timed_way (struct verbs_rail *rail, uint32_t peer,
                                   struct transport_way by)
{
    if (!rail->at.rc)
        by.own = by.other = 0;
    return find_way (rail, peer, by);
}

/* This end's queue pair for the timed messages of such a way: find or make it;
 * NULL if that fails.
 */
static struct queue *find_way_queue (struct verbs_rail *rail, uint32_t peer,
                                     struct way *way)
{
    struct queue **q = rail->at.rc ? &way->rc : &rail->ud[way->by.flow];
    struct error why;

    if (*q)
        return *q;
    *q = rail->at.rc
             ? open_queue (rail, IBV_QPT_RC, RC_DEPTH, RC_DEPTH, &why)
             : open_queue (rail, IBV_QPT_UD, FLOW_DEPTH, FLOW_DEPTH, &why);
    if (*q && !rail->at.rc && start_ud (rail, *q, &why) < 0) {
        close_queue (*q);
        *q = NULL;
    }
    if (!*q) {
        note_trouble (rail, peer, why.text);
        return NULL;
    }
    (*q)->peer = peer;
    (*q)->way = way->by;
    return *q;
}

/* A peer's UD queue pair of a flow; 0: not known. */
static uint32_t find_qpn (struct verbs_rail *rail, uint32_t peer, uint8_t flow)
{
    return flow == 0
               ? rail->all->at[peer].qpn
               : find_way (rail, peer, (struct transport_way){ .flow = flow })
                     ->qpn;
}

/* The queue pair for a message to a peer; if it is UD, its address handle and
 * the peer's queue pair. NULL: there is no way, and the message is lost.
 */
static struct queue *find_queue (struct verbs_rail *rail, uint32_t peer,
                                 const struct transport_timing *timing,
                                 struct ibv_ah **ah, uint32_t *qpn)
{
    struct transport_way by = { 0, 0, 0 };
    struct way *way;
    uint8_t flow;

    *ah = NULL;
    *qpn = 0;
    if (timing)
        by = timing->answers ? timing->answers->way : timing->way;
    flow = by.flow;
    if (!timing || !rail->at.rc)
        by.flow = 0;
    if (*rail_lost_flag (rail) || !(way = find_way (rail, peer, by)))
        return NULL;
    if (!timing || !rail->at.rc) {
        *qpn = find_qpn (rail, peer, flow);
        *ah = *qpn != 0 ? find_ah (rail, peer, way, timing != NULL) : NULL;
        return *ah ? rail->ud[flow] : NULL;
    }
    if (way->rc && way->rc->broken)
        note_trouble (rail, peer, ibv_wc_status_str (way->rc->why));
    return way->connected && !way->rc->broken ? way->rc : NULL;
}

/*
 * Sending
 */

/* Stamp a timed message. Return for how long the message that it answers was
 * held, in ns.
 */
static uint32_t stamp_message (struct verbs_rail *rail,
                               struct transport_timing *timing)
{
    int64_t held;

    timing->stamp_ns = verbs_device_now_ns (&rail->device);
    if (!timing->answers)
        return 0;
    held = timing->stamp_ns - timing->answers->stamp_ns;
    return held < 0 ? 0 : held < UINT32_MAX ? (uint32_t)held : UINT32_MAX;
}

/* Take the completions of sends. Return 0, or -1 with err. */
static int reap (struct verbs_rail *rail, struct error *err)
{
    struct ibv_wc wc;
    int rc;

    while ((rc = ibv_poll_cq (rail->sends, 1, &wc)) > 0) {
        struct queue *q = (struct queue *)(uintptr_t)wc.wr_id;

        if (wc.status == IBV_WC_SUCCESS)
            q->done += q->depth / SIGNAL_PARTS;
        else if (handle_queue_failure (rail, q, "sending failed", 0, wc.status,
                                       err)
                 < 0)
            return -1;
    }
    return rc < 0 ? verbs_device_failed (&rail->device, "polling failed", EIO,
                                         err)
                  : 0;
}

/* Send a datagram by UD, or by the RC queue pair. If there is no way, or the
 * queue is full, it is lost. Return 0, or -1 with err.
 */
static int send_by (struct verbs_rail *rail, uint32_t peer,
                    enum verbs_type type, const uint8_t *data, size_t len,
                    struct transport_timing *timing, struct error *err)
{
    struct ibv_ah *ah;
    uint32_t qpn;
    struct queue *q = find_queue (rail, peer, timing, &ah, &qpn);
    struct verbs_header header = {
        .from = rail->self, .type = type,
    };
    struct ibv_sge sge;
    struct ibv_send_wr wr = {
        .wr_id = (uintptr_t)q, .sg_list = &sge, .num_sge = 1,
        .opcode = IBV_WR_SEND,
    };
    struct ibv_send_wr *bad;
    uint8_t *slot;
    int rc;

    if (!q) {
        if (timing)
            stamp_message (rail, timing);
        return 0;
    }
    if (q->sent - q->done >= q->depth / 2 && reap (rail, err) < 0)
        return -1;
    slot = q->memory
           + (size_t)(q->receives + q->sent % q->depth) * VERBS_SLOT;
    sge = (struct ibv_sge){ (uintptr_t)slot, (uint32_t)(VERBS_HEADER + len),
                            q->mr->lkey };
    if (VERBS_HEADER + len <= q->inline_max)
        wr.send_flags |= IBV_SEND_INLINE;
    if ((q->sent + 1) % (q->depth / SIGNAL_PARTS) == 0)
        wr.send_flags |= IBV_SEND_SIGNALED;
    if (ah) {
        wr.wr.ud.ah = ah;
        wr.wr.ud.remote_qpn = qpn;
        wr.wr.ud.remote_qkey = rail->all->qkey;
    }
    header.sequence = ++rail->sequence;
    if (timing)
        header.held_ns = stamp_message (rail, timing);
    if (q->sent - q->done == q->depth)
        return 0;
    verbs_header_pack (slot, rail->all->key, &header);
    memcpy (slot + VERBS_HEADER, data, len);
    if ((rc = ibv_post_send (q->qp, &wr, &bad)) != 0)
        return handle_queue_failure (rail, q, "sending failed", rc, 0, err);
    q->sent++;
    return 0;
}

static int verbs_send (void *t, uint32_t rail, uint32_t peer,
                       const uint8_t *data, size_t len,
                       struct transport_timing *timing, struct error *err)
{
    struct verbs_rail *r = &((struct verbs *)t)->rail[rail];
    int rc = send_by (r, peer, VERBS_DATA, data, len, timing, err);

    return rc < 0 ? mark_rail_failed (r, err) : 0;
}

/*
 * Connecting queue pairs
 */

static int send_wire_info (struct verbs_rail *rail, uint32_t peer,
                           const struct way *way, const struct queue *own,
                           unsigned int flags, struct error *err)
{
    uint8_t buf[WIRE_SIZE];

    wire_put (buf, own->qp->qp_num, 4);
    buf[4] = (uint8_t)(flags | (way->connected ? VERBS_WIRE_READY : 0)
                       | way->by.flow * VERBS_WIRE_FLOW);
    buf[5] = rail->sl;
    buf[6] = way->by.own;
    buf[7] = way->by.other;
    return send_by (rail, peer, VERBS_WIRE, buf, sizeof (buf), NULL, err);
}

static int verbs_prepare (void *t, uint32_t rail, uint32_t peer,
                          struct transport_way by, struct error *err)
{
    struct verbs_rail *r = &((struct verbs *)t)->rail[rail];
    struct transport_way lids = { by.own, by.other, 0 };
    struct way *way = *rail_lost_flag (r) ? NULL : find_way (r, peer, lids);
    struct queue *own;
    int64_t now;

    if (!way || !find_ah (r, peer, way, !r->at.rc)
        || (!r->at.rc && by.flow == 0))
        return 1;
    way = find_timed_way (r, peer, by);
    own = find_way_queue (r, peer, way);
    if (!own || way->ready || own->broken)
        return 1;
    if ((now = verbs_device_now_ns (&r->device)) < way->due_ns)
        return 0;
    try_later (r, way, now);
    return send_wire_info (r, peer, way, own, VERBS_WIRE_ASKS, err) < 0
               ? mark_rail_failed (r, err)
               : 0;
}

/* Handle a datagram of type VERBS_WIRE. Return 0, or -1 with err. */
static int take_wire (struct verbs_rail *rail, const struct packet *packet,
                      struct error *err)
{
    const uint8_t *data = packet->data;
    uint32_t peer = packet->peer;
    uint8_t flow = data[4] / VERBS_WIRE_FLOW;
    struct way *way;
    struct queue *own;
    struct error why;
    bool asks;

    if (packet->len != WIRE_SIZE || data[5] > VERBS_SL_MAX
        || (!rail->at.rc && flow == 0))
        return 0;
    /* its own LID is our other, and vice versa */
    way = find_timed_way (rail, peer,
                          (struct transport_way){ data[7], data[6], flow });
    if (!way || !(own = find_way_queue (rail, peer, way)))
        return 0;
    /* the side that asks knows the service level; the other may not, yet */
    asks = data[4] & VERBS_WIRE_ASKS;
    if (!way->connected && !own->broken) {
        way->qpn = (uint32_t)wire_get (data, 4);
        way->connected = !rail->at.rc
                         || start_rc (rail, own, way->qpn,
                                      asks ? data[5] : rail->sl, &why)
                                == 0;
        if (!way->connected) {
            own->broken = true;
            note_trouble (rail, peer, why.text);
        }
    }
    if (data[4] & VERBS_WIRE_READY)
        way->ready = way->connected;
    return asks ? send_wire_info (rail, peer, way, own, 0, err) : 0;
}

/*
 * Bursts
 */

static int send_bulk_info (struct verbs_rail *rail, uint32_t peer,
                           const struct verbs_bulk_info *info,
                           struct error *err)
{
    uint8_t buf[VERBS_BULK_SIZE];

    verbs_bulk_pack (buf, info);
    return send_by (rail, peer, VERBS_BULK, buf, sizeof (buf), NULL, err);
}

static int verbs_prepare_bulk (void *t, uint32_t rail, uint32_t peer,
                               struct transport_way way, bool strict,
                               struct error *err)
{
    struct verbs *v = t;
    struct verbs_rail *r = &v->rail[rail];
    struct verbs_bulk_end end = { peer, &v->at[peer], way, strict };
    struct verbs_bulk_info tell;
    int rc;

    if (*rail_lost_flag (r)) {
        *err = r->trouble;
        return -1;
    }
    if (way.own >> r->at.lmc || way.other >> v->at[peer].lmc)
        return error_world (err, "%s: no bursts with %s of %s: there is no "
                                 "such LID", r->device.name, end.at->name,
                            end.at->node);
    if (!r->bulk
        && !(r->bulk
             = verbs_bulk_open (&r->device, v->key, r->self, v->npeers,
                                v->talks, err)))
        return -1;
    rc = verbs_bulk_prepare (r->bulk, &end, r->sl,
                             RETRY_GAPS * v->handle.gap_ns, &tell, err);
    if (tell.made && send_bulk_info (r, peer, &tell, err) < 0) {
        mark_rail_failed (r, err);
        return -1;
    }
    return rc;
}

/* Handle a datagram of type VERBS_BULK. Return 0, or -1 with err. */
static int take_bulk (struct verbs_rail *rail, const struct packet *packet,
                      struct error *err)
{
    struct verbs_bulk_info told, answer;
    struct verbs_bulk_end end;

    if (!rail->bulk || !verbs_bulk_unpack (&told, packet->data, packet->len))
        return 0;
    /* its own LID is our other, and vice versa */
    end = (struct verbs_bulk_end){
        packet->peer, &rail->all->at[packet->peer],
        { told.way.other, told.way.own, told.way.flow }, told.strict
    };
    return verbs_bulk_take (rail->bulk, &end, rail->sl, &told, &answer)
               ? send_bulk_info (rail, packet->peer, &answer, err)
               : 0;
}

/* Read the events of a rail's device. Return 0, or -1 with err if this was the
 * last rail.
 */
static int check_rail (struct verbs_rail *rail, struct error *err)
{
    if (*rail_lost_flag (rail) || verbs_device_events (&rail->device, err) == 0)
        return 0;
    return mark_rail_failed (rail, err);
}

static void verbs_port_bulk (void *t, uint32_t rail,
                             struct transport_port *port)
{
    const struct verbs_rail *r = &((struct verbs *)t)->rail[rail];

    verbs_bulk_port (&r->device, r->bulk, port);
}

/*
 * Receiving
 */

/* Take one completion of a receive, with its time by the rail's clock. Return
 * 1, 0 if there is none, or -1 with err.
 */
static int poll_receive (struct verbs_rail *rail, struct ibv_wc *wc,
                         int64_t *stamp_ns, struct error *err)
{
    const struct verbs_device *d = &rail->device;
    struct ibv_cq_ex *ex = rail->stamped;
    struct ibv_poll_cq_attr none = { 0 };
    int rc;

    if (!ex) {
        if ((rc = ibv_poll_cq (rail->receives, 1, wc)) < 0)
            return verbs_device_failed (d, "polling failed", EIO, err);
        *stamp_ns = rc > 0 ? verbs_device_now_ns (d) : 0;
        return rc;
    }
    if ((rc = ibv_start_poll (ex, &none)) != 0)
        return rc == ENOENT
                   ? 0
                   : verbs_device_failed (d, "polling failed", rc, err);
    *wc = (struct ibv_wc){ .wr_id = ex->wr_id, .status = ex->status };
    if (wc->status == IBV_WC_SUCCESS) {
        wc->byte_len = ibv_wc_read_byte_len (ex);
        wc->src_qp = ibv_wc_read_src_qp (ex);
        wc->slid = (uint16_t)ibv_wc_read_slid (ex);
        wc->wc_flags = ibv_wc_read_wc_flags (ex);
        *stamp_ns = d->clock_khz ? verbs_device_stamp_ns (
                                       d, ibv_wc_read_completion_ts (ex))
                                 : verbs_device_now_ns (d);
    }
    ibv_end_poll (ex);
    return 1;
}

/* Check a datagram: fill in the packet, or count it as dropped. Return its
 * type, or 0.
 */
static int check_datagram (struct verbs_rail *rail, const struct ibv_wc *wc,
                           struct packet *packet)
{
    struct verbs *v = rail->all;
    const struct slot *slot = (const struct slot *)(uintptr_t)wc->wr_id;
    const struct queue *q = slot->q;
    bool ud = q->qp->qp_type == IBV_QPT_UD;
    size_t before = ud ? VERBS_GRH : 0;
    size_t len = wc->byte_len >= before ? wc->byte_len - before : 0;
    const uint8_t *p = slot->data + before;
    struct verbs_origin origin = { wc->src_qp, wc->slid,
                                   wc->wc_flags & IBV_WC_GRH ? slot->data
                                                             : NULL };
    struct verbs_header h;
    unsigned int lids;

    if (!verbs_header_unpack (&h, p, len, v->key, v->npeers)
        || (ud ? !verbs_is_from (&origin, &v->at[h.from],
                                 find_qpn (rail, h.from, q->way.flow))
               : h.from != q->peer)) {
        v->handle.counts.foreign++;
        return 0;
    }
    if (!verbs_window_take (&v->window[h.from], h.sequence)) {
        v->handle.counts.repeated++;
        return 0;
    }
    packet->held_ns = h.held_ns;
    packet->peer = h.from;
    /* over UD only its sender's LID is known */
    lids = 1U << v->at[h.from].lmc;
    packet->way = ud ? (struct transport_way){ .other = wc->slid & (lids - 1),
                                               .flow = q->way.flow }
                     : q->way;
    packet->len = len - VERBS_HEADER;
    memcpy (packet->data, p + VERBS_HEADER, packet->len);
    return (int)h.type;
}

/* Take one datagram, if there is any. Return 1 with packet filled in, 0 if
 * there was none or none for the caller, or -1 with err. *came is set if
 * anything came at all.
 */
static int take_datagram (struct verbs_rail *rail, struct packet *packet,
                          bool *came, struct error *err)
{
    struct verbs_device *d = &rail->device;
    struct ibv_wc wc;
    struct slot *slot;
    int rc = poll_receive (rail, &wc, &packet->stamp_ns, err);
    int type;

    if (rc <= 0)
        return rc;
    *came = true;
    slot = (struct slot *)(uintptr_t)wc.wr_id;
    if (wc.status != IBV_WC_SUCCESS)
        return handle_queue_failure (rail, slot->q, "receiving failed", 0,
                                     wc.status, err);
    if (!rail->trusted && d->clock_khz
        && !verbs_stamp_is_sound (packet->stamp_ns, verbs_device_now_ns (d))) {
        d->clock_khz = 0;
        packet->stamp_ns = verbs_device_now_ns (d);
    }
    rail->trusted = true;
    type = check_datagram (rail, &wc, packet);
    if (post_receive (rail, slot, err) < 0)
        return -1;
    if (type == VERBS_WIRE)
        return take_wire (rail, packet, err);
    if (type == VERBS_BULK)
        return take_bulk (rail, packet, err);
    return type == VERBS_DATA;
}

/* Poll each rail once. Return 1 with a packet, 0, or -1 with err. Set *came if
 * anything arrived, even if it was dropped.
 */
static int poll_verbs_rails (struct verbs *v, struct packet *packet, bool *came,
                             struct error *err)
{
    *came = false;
    for (size_t k = 0; k < v->handle.rails; k++) {
        size_t i = v->next++ % v->handle.rails;
        struct verbs_rail *rail = &v->rail[i];
        int rc = *rail_lost_flag (rail)
                     ? 0
                     : take_datagram (rail, packet, came, err);

        if (rc < 0 && mark_rail_failed (rail, err) < 0)
            return -1;
        if (rc <= 0)
            continue;
        packet->rail = (uint32_t)i;
        packet->time_ns = verbs_now_ns (v);
        return 1;
    }
    return 0;
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

        if (rail->armed || *rail_lost_flag (rail))
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
        struct verbs_rail *rail = &v->rail[i];
        bool off
            = *rail_lost_flag (rail); /* poll ignores negative descriptors */

        pfd[2 * i] = (struct pollfd){ off ? -1 : rail->channel->fd, POLLIN, 0 };
        pfd[2 * i + 1] = (struct pollfd){
            off ? -1 : rail->device.context->async_fd, POLLIN, 0
        };
    }
    if (ppoll (pfd, 2 * v->handle.rails, &ts, NULL) <= 0)
        return 0;
    for (size_t i = 0; i < v->handle.rails; i++) {
        if (pfd[2 * i].revents) {
            v->rail[i].told = true;
            v->rail[i].armed = false;
        }
        if (pfd[2 * i + 1].revents && check_rail (&v->rail[i], err) < 0)
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
        int rc = poll_verbs_rails (v, packet, &came, err);
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
                if (check_rail (&v->rail[i], err) < 0)
                    return -1;
        if (v->attends && now - v->heard_ns < SPIN_GAPS * v->handle.gap_ns)
            continue;
        if (arm (v) && sleep_until (v, deadline_ns, err) < 0)
            return -1;
    }
}

struct listener {
    struct verbs *v;
    transport_take_f take;
    void *arg;
    struct error *err;
};

static bool take_packets (void *arg)
{
    const struct listener *l = arg;
    struct packet packet;
    int rc;

    while ((rc = verbs_recv (l->v, 0, &packet, l->err)) > 0)
        if (l->take (l->arg, &packet, l->err) < 0)
            return false;
    return rc == 0;
}

static int verbs_run_bulk (void *t, struct transport_burst *burst, size_t n,
                           int64_t deadline_ns, transport_take_f take,
                           void *arg, struct error *err)
{
    struct verbs *v = t;
    struct verbs_bulk *b[TRANSPORT_RAILS_MAX] = { NULL };
    struct listener listener = { v, take, arg, err };
    bool well;

    for (size_t i = 0; i < n; i++) {
        struct verbs_rail *rail = &v->rail[burst[i].rail];

        b[i] = *rail_lost_flag (rail) ? NULL : rail->bulk;
    }
    well = verbs_bulk_run (b, burst, n, deadline_ns, v->attends,
                           take ? take_packets : NULL, &listener);
    v->heard_ns = verbs_now_ns (v);
    for (size_t i = 0; i < n && well; i++)
        well = check_rail (&v->rail[burst[i].rail], err) == 0;
    return well ? 0 : -1;
}

static const char *verbs_trouble (const void *t)
{
    const struct verbs *v = t;
    const char *text = v->unopened.text;

    for (size_t i = 0; i < v->handle.rails; i++)
        if (v->rail[i].trouble.text[0] && (!*text || v->handle.lost[i]))
            text = v->rail[i].trouble.text;
    for (size_t i = 0; i < v->handle.rails && !*text; i++)
        if (verbs_bulk_trouble (v->rail[i].bulk))
            text = verbs_bulk_trouble (v->rail[i].bulk);
    return *text ? text : NULL;
}

const struct transport transport_verbs = {
    .name = "verbs", .open = verbs_open, .close = verbs_close,
    .subnet = verbs_subnet, .agree = verbs_agree, .connect = verbs_connect,
    .prepare = verbs_prepare, .set_level = verbs_set_level,
    .attend = verbs_attend, .send = verbs_send, .recv = verbs_recv,
    .bulk_prepare = verbs_prepare_bulk, .bulk = verbs_run_bulk,
    .bulk_port = verbs_port_bulk, .now_ns = verbs_now_ns,
    .trouble = verbs_trouble,
};
