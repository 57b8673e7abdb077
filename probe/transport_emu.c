/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport over pmm-emu, the fabric emulator (probe/emu_proto.h). Its clock is
 * the emulator's virtual time. Messages are buffered and sent by the next recv,
 * in one write.
 *
 * Queue pairs are numbers that both ends compute, as different between runs as
 * those of devices: one per rail and flow for datagrams, one per rail, peer and
 * flow for timed messages if the service is RC. The lowest bits are the flow.
 */
#include "config.h"
#include "probe/transport.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/emu_proto.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/rng.h"

enum {
    OUT_MAX = 16384,
    GAP_NS = 40000,
    ADDRESS_SIZE = 12, /* of the endpoint 4, of its subnet 8 */
    QUEUE_PAIR_MAX = 0xffffff,
};

struct emu {
    struct transport_handle handle; /* first */
    int fd;
    bool rc;                     /* timed messages are reliably connected */
    uint8_t level, timed_level;  /* of service */
    uint64_t key;
    uint32_t own[EMU_RAILS_MAX]; /* endpoint of each rail */
    uint32_t *endpoint; /* [peer] */
    struct map peer;    /* by endpoint */
    int64_t now;
    size_t nout;
    uint8_t out[OUT_MAX];
    uint8_t in[EMU_FRAME_MAX]; /* one answer: there is never a second one */
    char ports[EMU_DATA_MAX + 1];
};

static int gone (struct error *err)
{
    return error_world (err, "the fabric emulator is gone");
}

static int flush (struct emu *e, struct error *err)
{
    size_t pos = 0;

    while (pos < e->nout) {
        ssize_t n = send (e->fd, e->out + pos, e->nout - pos, MSG_NOSIGNAL);

        if (n >= 0)
            pos += (size_t)n;
        else if (errno != EINTR)
            break;
    }
    /* if the emulator closed the socket, its error can still be read */
    if (pos < e->nout && errno != EPIPE && errno != ECONNRESET)
        return gone (err);
    e->nout = 0;
    return 0;
}

static uint8_t *add_frame (struct emu *e, enum emu_frame type, size_t len,
                           struct error *err)
{
    uint8_t *p;

    if (e->nout + EMU_HEADER + len > sizeof (e->out) && flush (e, err) < 0)
        return NULL;
    p = e->out + e->nout;
    wire_put (p, len, 2);
    p[2] = (uint8_t)type;
    p[3] = 0;
    e->nout += EMU_HEADER + len;
    return p + EMU_HEADER;
}

/* Flush, then read one frame. Return its type, or -1 with err: for a frame
 * EMU_ERROR, its text.
 */
static int read_frame (struct emu *e, size_t *len, struct error *err)
{
    struct pollfd pfd = { .fd = e->fd, .events = POLLIN };
    size_t wanted = EMU_HEADER;

    if (flush (e, err) < 0)
        return -1;
    for (size_t have = 0; have < wanted;) {
        /* a blocking recv would wake up each time the emulator reads, too */
        ssize_t n = have == 0 && poll (&pfd, 1, -1) < 0
                        ? -1
                        : recv (e->fd, e->in + have, sizeof (e->in) - have, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return gone (err);
        have += (size_t)n;
        if (have < EMU_HEADER)
            continue;
        *len = wire_get (e->in, 2);
        wanted = EMU_HEADER + *len;
        if (*len > EMU_PAYLOAD_MAX || e->in[3] != 0 || have > wanted)
            return error_world (err, "EmuSocket: not the fabric emulator");
    }
    if (e->in[2] == EMU_ERROR)
        return error_world (err, "%.*s", (int)*len,
                            (const char *)e->in + EMU_HEADER);
    return e->in[2];
}

static int bad_answer (struct error *err)
{
    return error_world (err, "the fabric emulator gave an invalid answer");
}

static void emu_close (void *t)
{
    struct emu *e = t;

    if (e->fd >= 0)
        close (e->fd);
    free (e->endpoint);
    map_clear (&e->peer);
    free (e);
}

/* Connect to the emulator as this host. Return 0, or -1 with err. */
static int join (struct emu *e, const char *where, const char *host,
                 struct error *err)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct transport_handle *h = &e->handle;
    struct wire_in in = { .p = e->in + EMU_HEADER };
    uint8_t *p;
    int type;

    if (strlen (where) >= sizeof (sa.sun_path) || !*where)
        return error_input (err, "EmuSocket: '%s' is not the path of a socket",
                            where);
    strcpy (sa.sun_path, where);
    e->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (e->fd < 0 || connect (e->fd, (struct sockaddr *)&sa, sizeof (sa)) < 0)
        return error_errno (err, "no fabric emulator at %s", where);
    if (!(p = add_frame (e, EMU_HELLO, 4 + strlen (host), err)))
        return -1;
    wire_put (p, EMU_VERSION, 4);
    memcpy (p + 4, host, strlen (host));
    if ((type = read_frame (e, &in.left, err)) < 0)
        return -1;
    h->rails = wire_take (&in, 4);
    if (type != EMU_WELCOME || h->rails < 1 || h->rails > EMU_RAILS_MAX
        || in.left != EMU_RAIL * h->rails)
        return bad_answer (err);
    for (size_t i = 0; i < h->rails; i++) {
        struct transport_address *a = &h->address[i];

        e->own[i] = (uint32_t)wire_take (&in, 4);
        a->guid = wire_take (&in, 8);
        a->lid = (uint16_t)wire_take (&in, 2);
        a->lmc = (uint8_t)wire_take (&in, 1);
        a->len = ADDRESS_SIZE;
        wire_put (a->data, e->own[i], 4);
        wire_put (a->data + 4, wire_take (&in, 8), 8);
    }
    return 0;
}

static void *emu_open (const struct site *site, const char *host, bool pads,
                       struct error *err)
{
    struct emu *e = xcalloc (1, sizeof (*e));

    (void)pads;
    e->fd = -1;
    e->rc = !strcmp (site->service, "rc");
    e->level = e->timed_level = (uint8_t)site->service_level;
    if (join (e, site->emu_socket, host, err) == 0)
        return e;
    emu_close (e);
    return NULL;
}

static uint64_t emu_subnet (const struct transport_address *a)
{
    return a->len == ADDRESS_SIZE ? wire_get (a->data + 4, 8) : 0;
}

static int emu_connect (void *t, uint64_t key,
                        const struct transport_address *peer, size_t n,
                        size_t members, struct error *err)
{
    struct emu *e = t;
    uint8_t *p;

    e->key = key;
    e->handle.gap_ns = GAP_NS;
    e->handle.size_max = EMU_SIZE_MAX;
    e->handle.turns = 1;
    e->endpoint = xcalloc (n, sizeof (*e->endpoint));
    for (size_t i = 0; i < n; i++) {
        e->endpoint[i] = (uint32_t)wire_get (peer[i].data, 4);
        if (peer[i].len != ADDRESS_SIZE)
            return error_world (err, "a node published an invalid address");
        map_put (&e->peer, e->endpoint[i], (uint32_t)i);
    }
    if (!(p = add_frame (e, EMU_JOIN, 12, err)))
        return -1;
    wire_put (p, key, 8);
    wire_put (p + 8, members, 4);
    return flush (e, err);
}

static void emu_set_level (void *t, unsigned int level)
{
    ((struct emu *)t)->timed_level = (uint8_t)level;
}

/* The queue pair of an endpoint and flow, and of one peer if it has its own. */
static uint32_t queue_pair (const struct emu *e, uint32_t endpoint,
                            uint32_t peer, bool rc, uint8_t flow)
{
    uint64_t which = (uint64_t)endpoint << 32 | (rc ? peer : UINT32_MAX);
    uint64_t number = rng_mix (e->key ^ which) * TRANSPORT_FLOWS_MAX | flow;

    return (uint32_t)(number & QUEUE_PAIR_MAX);
}

static int emu_send (void *t, uint32_t rail, uint32_t peer,
                     const uint8_t *data, size_t len, size_t pad,
                     struct transport_timing *timing, struct error *err)
{
    struct emu *e = t;
    struct transport_way way = { 0, 0, 0 };
    uint32_t own = e->own[rail], other = e->endpoint[peer];
    bool rc = timing && e->rc;
    uint8_t *p = add_frame (e, EMU_SEND, EMU_SEND_HEADER + len, err);

    if (!p)
        return -1;
    if (timing)
        way = timing->answers ? timing->answers->way : timing->way;
    wire_put (p, own, 4);
    wire_put (p + 4, other, 4);
    p[8] = way.own;
    p[9] = way.other;
    wire_put (p + 10, pad, 4);
    wire_put (p + 14, queue_pair (e, own, other, rc, way.flow), 4);
    wire_put (p + 18, queue_pair (e, other, own, rc, way.flow), 4);
    p[22] = timing ? e->timed_level : e->level;
    p[23] = rc;
    memcpy (p + EMU_SEND_HEADER, data, len);
    if (timing)
        timing->stamp_ns = e->now;
    return 0;
}

static int take_packet (struct emu *e, size_t len, struct packet *packet,
                        struct error *err)
{
    const uint8_t *p = e->in + EMU_HEADER;
    uint32_t rail = 0;

    while (rail < e->handle.rails
           && e->own[rail] != (uint32_t)wire_get (p + 12, 4))
        rail++;
    packet->rail = rail;
    packet->peer = map_find (&e->peer, wire_get (p + 8, 4));
    if (rail == e->handle.rails || packet->peer == MAP_NONE)
        return bad_answer (err);
    packet->time_ns = packet->stamp_ns = e->now;
    packet->held_ns = 0;
    packet->way = (struct transport_way){
        .own = p[17],
        .other = p[16],
        .flow = p[18] % TRANSPORT_FLOWS_MAX,
    };
    packet->len = len - EMU_RECV_HEADER;
    memcpy (packet->data, p + EMU_RECV_HEADER, packet->len);
    return 1;
}

static int emu_recv (void *t, int64_t deadline_ns, struct packet *packet,
                     struct error *err)
{
    struct emu *e = t;
    uint8_t *p = add_frame (e, EMU_WAIT, 8, err);
    size_t len;
    int type;

    if (!p)
        return -1;
    wire_put (p, (uint64_t)deadline_ns, 8);
    if ((type = read_frame (e, &len, err)) < 0)
        return -1;
    if ((type != EMU_RECV || len < EMU_RECV_HEADER)
        && (type != EMU_TIMEOUT || len != 8))
        return bad_answer (err);
    e->now = (int64_t)wire_get (e->in + EMU_HEADER, 8);
    return type == EMU_RECV ? take_packet (e, len, packet, err) : 0;
}

static const char *emu_sysfs (void *t)
{
    struct emu *e = t;
    struct error err;
    size_t len;

    if (!add_frame (e, EMU_PORTS, 0, &err)
        || read_frame (e, &len, &err) != EMU_PORTS || len > EMU_DATA_MAX)
        return NULL;
    memcpy (e->ports, e->in + EMU_HEADER, len);
    e->ports[len] = '\0';
    return e->ports;
}

static int64_t emu_now_ns (const void *t)
{
    return ((const struct emu *)t)->now;
}

const struct transport transport_emu = {
    .name = "emu",
    .open = emu_open,
    .close = emu_close,
    .subnet = emu_subnet,
    .connect = emu_connect,
    .set_level = emu_set_level,
    .send = emu_send,
    .recv = emu_recv,
    .now_ns = emu_now_ns,
    .sysfs = emu_sysfs,
};
