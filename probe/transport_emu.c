/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transport over pmm-emu, the fabric emulator (probe/emu_proto.h). Its clock is
 * the emulator's virtual time. Messages are sent by the next recv, all at once.
 *
 * Notes: waking a process on another CPU, which sleeps, costs ten times what a
 * message costs otherwise. So the thread that connects goes where the emulator
 * runs, and does not interrupt it (SCHED_BATCH), until it closes.
 *
 * Queue pairs are numbers that both ends compute, as different between runs as
 * those of devices: one per rail and flow for datagrams, one per rail, peer and
 * flow for timed messages if the service is RC. The lowest bits are the flow.
 */
#include "config.h"
#include "probe/transport.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/cpu.h"
#include "probe/emu_proto.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/rng.h"

enum {
    GAP_NS = 40000,
    MESSAGE_HEADER = 30, /* bytes before a message, in bulk data */
    ADDRESS_SIZE = 12, /* of the endpoint 4, of its subnet 8 */
    QUEUE_PAIR_MAX = 0xffffff,
};

struct emu {
    struct transport_handle handle; /* first */
    int fd;
    int bell;
    struct emu_page *page; /* NULL before connect */
    bool rc;                     /* timed messages are reliably connected */
    uint8_t level, timed_level;  /* of service */
    uint64_t key;
    uint32_t own[EMU_RAILS_MAX]; /* endpoint of each rail */
    uint32_t *endpoint; /* [peer] */
    struct map peer;    /* by endpoint */
    int64_t now;
    uint32_t nout; /* bytes of frames in the page */
    uint8_t in[EMU_FRAME_MAX]; /* from the socket: there is never a second */
    char ports[EMU_DATA_MAX + 1];
    uint32_t cpu; /* where this thread is bound */
    int policy;   /* what it was scheduled by, and where; -1: it still is */
    cpu_set_t allowed;
};

static int emulator_gone_error (struct error *err)
{
    return error_world (err, "the fabric emulator is gone");
}

/* Send one frame over the socket. */
static int send_frame (struct emu *e, enum emu_frame type, const uint8_t *data,
                       size_t len, struct error *err)
{
    uint8_t buf[EMU_FRAME_MAX];

    wire_put (buf, len, 2);
    buf[2] = (uint8_t)type;
    buf[3] = 0;
    memcpy (buf + EMU_HEADER, data, len);
    /* if the emulator closed the socket, its error can still be read */
    if (send (e->fd, buf, EMU_HEADER + len, MSG_NOSIGNAL)
            != (ssize_t)(EMU_HEADER + len)
        && errno != EPIPE && errno != ECONNRESET)
        return emulator_gone_error (err);
    return 0;
}

/* Read one frame from the socket, and the descriptors that come with it, or
 * those that are missing as -1. Return its type, or -1 with err: for a frame
 * EMU_ERROR, its text.
 */
static int read_frame (struct emu *e, size_t *len, int fd[2],
                       struct error *err)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE (2 * sizeof (int))];
    } control;
    size_t wanted = EMU_HEADER;

    fd[0] = fd[1] = -1;
    for (size_t have = 0; have < wanted;) {
        struct iovec iov = { e->in + have, sizeof (e->in) - have };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof (control) };
        ssize_t n = recvmsg (e->fd, &msg, MSG_CMSG_CLOEXEC);
        struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR (&msg) : NULL;

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return emulator_gone_error (err);
        if (c && c->cmsg_type == SCM_RIGHTS
            && c->cmsg_len == CMSG_LEN (2 * sizeof (int)))
            memcpy (fd, CMSG_DATA (c), 2 * sizeof (int));
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

/* The next frame in the page, with its payload still to be written. There is
 * room for one that is answered after any number of others.
 */
static uint8_t *add_frame (struct emu *e, enum emu_frame type, size_t len)
{
    uint8_t *p = e->page->out + e->nout;

    wire_put (p, len, 2);
    p[2] = (uint8_t)type;
    p[3] = 0;
    e->nout += (uint32_t)(EMU_HEADER + len);
    return p + EMU_HEADER;
}

/* From now on this thread does not interrupt others. Who was given another
 * policy keeps it.
 */
static void set_batch_scheduling (struct emu *e)
{
    e->policy = sched_getaffinity (0, sizeof (e->allowed), &e->allowed) < 0
                    ? -1
                    : sched_getscheduler (0);
    if (e->policy != SCHED_OTHER
        || sched_setscheduler (0, SCHED_BATCH, &(struct sched_param){ 0 }) < 0)
        e->policy = -1;
}

/* Be where the emulator is. Where that is not possible, it is only slower. */
static void bind_to_emulator_cpu (struct emu *e, uint32_t cpu)
{
    e->cpu = cpu;
    if (e->policy >= 0 && cpu < CPU_SETSIZE)
        cpu_bind ((int)cpu);
}

/* Whether the emulator has closed the socket, or said something there. */
static bool socket_spoke (const struct emu *e)
{
    char c;

    return recv (e->fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) >= 0
           || (errno != EAGAIN && errno != EINTR);
}

/* Give the page to the emulator, and wait for the answer. Return its type, with
 * the payload's length, or -1 with err.
 */
static int ask_emu (struct emu *e, size_t *len, struct error *err)
{
    struct emu_page *page = e->page;
    uint32_t cpu;
    int fd[2];

    atomic_store_explicit (&page->nout, e->nout, memory_order_relaxed);
    e->nout = 0;
    atomic_store (&page->turn, EMU_TURN_EMU);
    if (atomic_load (&page->rings)) {
        atomic_store (&page->rings, 0);
        if (write (e->bell, &(uint64_t){ 1 }, sizeof (uint64_t)) < 0)
            return emulator_gone_error (err);
    }
    while (atomic_load (&page->turn) == EMU_TURN_EMU) {
        emu_page_sleep (page);
        if (atomic_load (&page->turn) != EMU_TURN_EMU || !socket_spoke (e))
            continue;
        return read_frame (e, len, fd, err) < 0 ? -1
                                                : emulator_gone_error (err);
    }
    cpu = atomic_load_explicit (&page->cpu, memory_order_relaxed);
    if (cpu != e->cpu)
        bind_to_emulator_cpu (e, cpu);
    *len = wire_get (page->in, 2);
    return *len <= EMU_PAYLOAD_MAX ? page->in[2] : emulator_gone_error (err);
}

static int bad_answer (struct error *err)
{
    return error_world (err, "the fabric emulator gave an invalid answer");
}

static void emu_close (void *t)
{
    struct emu *e = t;

    if (e->page) {
        munmap (e->page, sizeof (*e->page));
        close (e->bell);
        if (e->policy >= 0) {
            sched_setscheduler (0, e->policy, &(struct sched_param){ 0 });
            sched_setaffinity (0, sizeof (e->allowed), &e->allowed);
        }
    }
    if (e->fd >= 0)
        close (e->fd);
    free (e->endpoint);
    map_clear (&e->peer);
    free (e);
}

/* Connect to the emulator as this host. Return 0, or -1 with err. */
static int connect_to_emulator (struct emu *e, const char *where,
                                const char *host, struct error *err)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    struct transport_handle *h = &e->handle;
    size_t len = strnlen (host, EMU_DATA_MAX);
    struct wire_in in = { .p = e->in + EMU_HEADER };
    uint8_t hello[EMU_PAYLOAD_MAX];
    int type, fd[2];

    if (strlen (where) >= sizeof (sa.sun_path) || !*where)
        return error_input (err, "EmuSocket: '%s' is not the path of a socket",
                            where);
    strcpy (sa.sun_path, where);
    e->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (e->fd < 0 || connect (e->fd, (struct sockaddr *)&sa, sizeof (sa)) < 0)
        return error_errno (err, "no fabric emulator at %s", where);
    wire_put (hello, EMU_VERSION, 4);
    memcpy (hello + 4, host, len);
    if (send_frame (e, EMU_HELLO, hello, 4 + len, err) < 0
        || (type = read_frame (e, &in.left, fd, err)) < 0)
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

static void *emu_open (const struct site *site, const char *host, bool talks,
                       struct error *err)
{
    struct emu *e = xcalloc (1, sizeof (*e));

    (void)talks;
    e->fd = -1;
    e->cpu = UINT32_MAX;
    e->policy = -1;
    e->rc = !strcmp (site->service, "rc");
    e->level = e->timed_level = (uint8_t)site->service_level;
    if (connect_to_emulator (e, site->emu_socket, host, err) == 0)
        return e;
    emu_close (e);
    return NULL;
}

static uint64_t emu_subnet (const struct transport_address *a)
{
    return a->len == ADDRESS_SIZE ? wire_get (a->data + 4, 8) : 0;
}

/* Get what is shared with the emulator, which answers JOIN with it. */
static int receive_shared_page (struct emu *e, struct error *err)
{
    size_t len;
    int fd[2], type = read_frame (e, &len, fd, err);
    void *page = MAP_FAILED;

    if (type == EMU_JOINED && fd[0] >= 0)
        page = mmap (NULL, sizeof (*e->page), PROT_READ | PROT_WRITE,
                     MAP_SHARED, fd[0], 0);
    if (fd[0] >= 0)
        close (fd[0]);
    if (page != MAP_FAILED) {
        e->page = page;
        e->bell = fd[1];
        return 0;
    }
    if (fd[1] >= 0)
        close (fd[1]);
    return type < 0 ? -1 : bad_answer (err);
}

static int emu_connect (void *t, uint64_t key,
                        const struct transport_address *peer, size_t n,
                        size_t members, struct error *err)
{
    struct emu *e = t;
    uint8_t join[12];

    e->key = key;
    e->handle.gap_ns = GAP_NS;
    e->handle.turns = 1;
    e->endpoint = xcalloc (n, sizeof (*e->endpoint));
    for (size_t i = 0; i < n; i++) {
        e->endpoint[i] = (uint32_t)wire_get (peer[i].data, 4);
        if (peer[i].len != ADDRESS_SIZE)
            return error_world (err, "a node published an invalid address");
        map_put (&e->peer, e->endpoint[i], (uint32_t)i);
    }
    wire_put (join, key, 8);
    wire_put (join + 8, members, 4);
    if (send_frame (e, EMU_JOIN, join, sizeof (join), err) < 0
        || receive_shared_page (e, err) < 0)
        return -1;
    set_batch_scheduling (e);
    return 0;
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
                     const uint8_t *data, size_t len,
                     struct transport_timing *timing, struct error *err)
{
    struct emu *e = t;
    struct transport_way way = { 0, 0, 0 };
    uint32_t own = e->own[rail], other = e->endpoint[peer];
    bool rc = timing && e->rc;
    int type;
    size_t answer;
    uint8_t *p;

    if (e->nout + 2 * (size_t)EMU_FRAME_MAX > sizeof (e->page->out)) {
        add_frame (e, EMU_MORE, 0);
        if ((type = ask_emu (e, &answer, err)) != EMU_MORE)
            return type < 0 ? -1 : bad_answer (err);
    }
    p = add_frame (e, EMU_SEND, EMU_SEND_HEADER + len);
    if (timing)
        way = timing->answers ? timing->answers->way : timing->way;
    wire_put (p, own, 4);
    wire_put (p + 4, other, 4);
    p[8] = way.own;
    p[9] = way.other;
    wire_put (p + 10, queue_pair (e, own, other, rc, way.flow), 4);
    wire_put (p + 14, queue_pair (e, other, own, rc, way.flow), 4);
    p[18] = timing ? e->timed_level : e->level;
    p[19] = rc;
    memcpy (p + EMU_SEND_HEADER, data, len);
    if (timing)
        timing->stamp_ns = e->now;
    return 0;
}

static int take_packet (struct emu *e, size_t len, struct packet *packet,
                        struct error *err)
{
    const uint8_t *p = e->page->in + EMU_HEADER;
    uint32_t rail = 0;

    e->now = (int64_t)wire_get (p, 8);
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
        .own = p[17], .other = p[16], .flow = p[18] % TRANSPORT_FLOWS_MAX,
    };
    packet->len = len - EMU_RECV_HEADER;
    memcpy (packet->data, p + EMU_RECV_HEADER, packet->len);
    return 1;
}

static int emu_recv (void *t, int64_t deadline_ns, struct packet *packet,
                     struct error *err)
{
    struct emu *e = t;
    size_t len;
    int type;

    wire_put (add_frame (e, EMU_WAIT, 8), (uint64_t)deadline_ns, 8);
    if ((type = ask_emu (e, &len, err)) < 0)
        return -1;
    if ((type != EMU_RECV || len < EMU_RECV_HEADER)
        && (type != EMU_TIMEOUT || len != 8))
        return bad_answer (err);
    e->now = (int64_t)wire_get (e->page->in + EMU_HEADER, 8);
    return type == EMU_RECV ? take_packet (e, len, packet, err) : 0;
}

/* Queue pairs need no preparation here. */
static int emu_bulk_prepare (void *t, uint32_t rail, uint32_t peer,
                             struct transport_way way, bool strict,
                             struct error *err)
{
    (void)t;
    (void)rail;
    (void)peer;
    (void)way;
    (void)strict;
    (void)err;
    return 1;
}

static int emu_bulk (void *t, struct transport_burst *burst, size_t n,
                     int64_t deadline_ns, transport_take_f take, void *arg,
                     struct error *err)
{
    struct emu *e = t;
    struct packet packet;
    size_t len;
    int type;
    uint8_t *p;

    if (n > EMU_BURSTS_MAX)
        return error_input (err, "more than %d bursts at once", EMU_BURSTS_MAX);
    p = add_frame (e, EMU_BULK, EMU_BULK_HEADER + n * (size_t)EMU_BURST);
    wire_put (p, (uint64_t)deadline_ns, 8);
    p += EMU_BULK_HEADER;
    for (size_t i = 0; i < n; i++, p += EMU_BURST) {
        const struct transport_burst *b = &burst[i];
        uint32_t own = e->own[b->rail], other = e->endpoint[b->peer];
        bool messages = b->out + b->in > 0;

        wire_put (p, own, 4);
        wire_put (p + 4, other, 4);
        p[8] = b->way.own;
        p[9] = b->way.other;
        wire_put (p + 10, queue_pair (e, own, other, true, b->way.flow), 4);
        wire_put (p + 14, queue_pair (e, other, own, true, b->way.flow), 4);
        wire_put (p + 18,
                  !messages ? b->bytes : b->out * (b->bytes + MESSAGE_HEADER),
                  8);
        p[26] = e->timed_level;
        p[27] = (b->strict ? EMU_STRICT : 0) | (messages ? EMU_MESSAGES : 0)
                | (messages && b->in == 0 ? EMU_DEAF : 0)
                | (take ? EMU_SERVES : 0);
    }
    while ((type = ask_emu (e, &len, err)) == EMU_RECV && take
           && len >= EMU_RECV_HEADER) {
        if (take_packet (e, len, &packet, err) < 0
            || take (arg, &packet, err) < 0)
            return -1;
        wire_put (add_frame (e, EMU_BULK, EMU_BULK_HEADER),
                  (uint64_t)deadline_ns, 8);
    }
    if (type < 0)
        return -1;
    if (type != EMU_BULK || len != 8 + EMU_BURST_DONE * n)
        return bad_answer (err);
    p = e->page->in + EMU_HEADER;
    e->now = (int64_t)wire_get (p, 8);
    p += 8;
    for (size_t i = 0; i < n; i++, p += EMU_BURST_DONE) {
        burst[i].bits = (double)wire_get (p, 8);
        burst[i].lost = burst[i].bits <= 0;
        burst[i].there_ns = (int64_t)wire_get (p + 8, 8);
    }
    return 0;
}

static void emu_bulk_port (void *t, uint32_t rail, struct transport_port *port)
{
    struct emu *e = t;
    struct wire_in in = { .p = e->page->in + EMU_HEADER };
    struct error err;

    *port = (struct transport_port){ .retries = UINT64_MAX };
    wire_put (add_frame (e, EMU_PORT, 4), e->own[rail], 4);
    if (ask_emu (e, &in.left, &err) != EMU_PORT || in.left != 21)
        return;
    port->bits = (double)wire_take (&in, 8);
    port->mtu = (uint32_t)wire_take (&in, 4);
    port->relaxed = wire_take (&in, 1);
    port->retries = wire_take (&in, 8);
}

static const char *emu_sysfs (void *t)
{
    struct emu *e = t;
    struct error err;
    size_t len;

    add_frame (e, EMU_PORTS, 0);
    if (ask_emu (e, &len, &err) != EMU_PORTS || len > EMU_DATA_MAX)
        return NULL;
    memcpy (e->ports, e->page->in + EMU_HEADER, len);
    e->ports[len] = '\0';
    return e->ports;
}

static int64_t emu_now_ns (const void *t)
{
    return ((const struct emu *)t)->now;
}

const struct transport transport_emu = {
    .name = "emu", .open = emu_open, .close = emu_close, .subnet = emu_subnet,
    .connect = emu_connect, .set_level = emu_set_level, .send = emu_send,
    .recv = emu_recv, .bulk_prepare = emu_bulk_prepare, .bulk = emu_bulk,
    .bulk_port = emu_bulk_port, .now_ns = emu_now_ns, .sysfs = emu_sysfs,
};
