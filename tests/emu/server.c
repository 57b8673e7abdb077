/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets of pmm-emu, and the pages that it shares with its clients.
 *
 * Notes: a client that follows the protocol has at most one answer under way,
 * far less than a socket holds. A client whose socket is full is dropped, so no
 * answer is ever queued here. Connections are closed only at the end of a turn
 * of the loop, because answers are sent while an event is handled.
 *
 * Whose turn it is, `given` knows; what the page says counts only once, when a
 * client that has the turn gives it back. What it asks is copied before it is
 * checked. The bytes of a page can change at any time, its size cannot.
 *
 * Most of what a message costs is that processes are woken and take turns. So
 * the emulator first yields its CPU, which those clients share that it has woken,
 * and then takes all that they asked. If they asked nothing, it sleeps until the
 * client that it has woken last rings, or until the next tick.
 *
 * The emulator and its clients stay on one CPU: they seldom could run at once,
 * and to wake a CPU that sleeps costs as much as several messages. By
 * SCHED_BATCH, who is woken does not interrupt who wakes. At each tick the
 * scheduler may choose another CPU, for they should not stay where others run.
 */
#include "config.h"
#include "tests/emu/server.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/cpu.h"
#include "probe/emu_proto.h"
#include "probe/wire.h"
#include "tests/emu/session.h"
#include "tests/emu/sysfs.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    SESSIONS_MAX = 1024,
    CONNECTIONS_MAX = 65536,
    FDS_SPARE = 32,
    EVENTS_MAX = 64,
    IN_MAX = 4096, /* from a socket, per read */
    PASSES_MAX = 64, /* over a session's clients, before others' */
    YIELDS = 2, /* until all clients on this CPU have had it */
    TICK_MS = 100,
    NS_PER_MS = 1000000,
};

_Static_assert ((int)SESSION_DATA_MAX >= (int)EMU_DATA_MAX,
                "a session takes all messages");
_Static_assert ((int)SESSION_BURSTS_MAX == (int)EMU_BURSTS_MAX,
               "a session takes all bursts");

enum source_kind {
    SOURCE_LISTEN,
    SOURCE_LISTEN_CONTROL,
    SOURCE_SIGNAL,
    SOURCE_PROBE,
    SOURCE_BELL,
    SOURCE_CONTROL,
};

struct server_source {
    enum source_kind kind;
    int fd;
};

/* By which a client wakes the emulator. */
struct bell {
    struct server_source source; /* first */
    struct conn *conn;
};

struct conn {
    struct server_source source; /* first */
    struct server *srv;
    struct conn *next, *prev;
    bool dead;
    struct conn *next_dead;
    uint32_t host; /* FABRIC_NONE before HELLO */
    /* from JOIN on */
    struct client *client;
    struct session_slot *slot;
    struct bell bell;
    struct emu_page *page;
    bool given; /* it is the client's turn */
    struct conn *earlier, *later; /* of those of the session whose turn it is */
    size_t nin;
    char *out; /* control: the answer */
    size_t nout, out_pos;
    uint8_t in[IN_MAX];
};

struct session_slot {
    uint64_t key, number;
    uint32_t size;
    struct session *session;
    struct conn *first, *last; /* whose turn it is, in the order of the turns */
    bool busy; /* its clients may have given more than PASSES_MAX turns */
};

struct server {
    struct emu_model *model;
    struct server_source listen[2], signal;
    char *path[2]; /* of the sockets that exist */
    int epfd;
    int64_t stall_ns;
    int64_t wall_ns;
    struct conn *conn;
    size_t nconns, max_conns;
    struct conn *dead;
    struct session_slot *slot[SESSIONS_MAX];
    size_t nslots;
    cpu_set_t allowed;
    uint32_t cpu; /* where it and its clients are */
    bool loose;   /* the scheduler may choose another one */
    uint64_t sessions; /* since the start */
    struct session_stats stats;
    uint32_t crashes; /* the host whose process dies at its next burst */
    bool stop;
};

static int set_address (struct sockaddr_un *sa, const char *path,
                        struct error *err)
{
    *sa = (struct sockaddr_un){ .sun_family = AF_UNIX };
    if (strlen (path) >= sizeof (sa->sun_path))
        return error_input (err, "%s: longer than the %zu bytes of a socket's "
                            "name", path, sizeof (sa->sun_path) - 1);
    strcpy (sa->sun_path, path);
    return 0;
}

/* Remove a socket on which no process listens. */
static int remove_stale (const struct sockaddr_un *sa, struct error *err)
{
    struct stat st;
    int fd;
    int rc;

    if (lstat (sa->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK (st.st_mode))
        return error_input (err, "%s: exists and is no socket", sa->sun_path);
    if ((fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0)
        return error_errno (err, "socket");
    rc = connect (fd, (const struct sockaddr *)sa, sizeof (*sa));
    if (rc == 0)
        rc = error_world (err, "%s: someone listens there already",
                          sa->sun_path);
    else if (errno != ECONNREFUSED || (rc = unlink (sa->sun_path)) < 0)
        error_errno (err, "%s", sa->sun_path);
    close (fd);
    return rc;
}

static int add_source (struct server *srv, struct server_source *source,
                       uint32_t events)
{
    struct epoll_event ev = { .events = events, .data.ptr = source };

    return epoll_ctl (srv->epfd, EPOLL_CTL_ADD, source->fd, &ev);
}

static int listen_on (struct server *srv, int i, const char *path,
                      mode_t mode, struct error *err)
{
    struct server_source *source = &srv->listen[i];
    struct sockaddr_un sa;

    if (set_address (&sa, path, err) < 0 || remove_stale (&sa, err) < 0)
        return -1;
    source->kind = i ? SOURCE_LISTEN_CONTROL : SOURCE_LISTEN;
    source->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                         0);
    if (source->fd < 0
        || bind (source->fd, (struct sockaddr *)&sa, sizeof (sa)) < 0)
        return error_errno (err, "%s", path);
    /* no client can connect before listen */
    srv->path[i] = xstrdup (path);
    if (chmod (path, mode) < 0 || listen (source->fd, 4096) < 0
        || add_source (srv, source, EPOLLIN) < 0)
        return error_errno (err, "%s", path);
    return 0;
}

/* The number of connections that the hard limit of descriptors allows. */
static size_t raise_limit (void)
{
    struct rlimit rl;

    if (getrlimit (RLIMIT_NOFILE, &rl) < 0)
        return 256;
    if (rl.rlim_max == RLIM_INFINITY || rl.rlim_max > CONNECTIONS_MAX)
        rl.rlim_cur = CONNECTIONS_MAX;
    else
        rl.rlim_cur = rl.rlim_max;
    if (setrlimit (RLIMIT_NOFILE, &rl) < 0)
        getrlimit (RLIMIT_NOFILE, &rl);
    /* a socket and a bell each */
    return rl.rlim_cur > FDS_SPARE + 2 ? (rl.rlim_cur - FDS_SPARE) / 2 : 1;
}

struct server *server_create (struct emu_model *m, const char *socket_path,
                              const char *control_path, int stall_ms,
                              struct error *err)
{
    struct server *srv = xcalloc (1, sizeof (*srv));
    sigset_t mask;

    srv->model = m;
    srv->stall_ns = (int64_t)stall_ms * NS_PER_MS;
    srv->listen[0].fd = srv->listen[1].fd = srv->signal.fd = -1;
    srv->max_conns = raise_limit ();
    sigemptyset (&mask);
    sigaddset (&mask, SIGTERM);
    sigaddset (&mask, SIGINT);
    sigprocmask (SIG_BLOCK, &mask, NULL);
    srv->signal.kind = SOURCE_SIGNAL;
    if ((srv->epfd = epoll_create1 (EPOLL_CLOEXEC)) < 0
        || (srv->signal.fd = signalfd (-1, &mask, SFD_CLOEXEC)) < 0
        || add_source (srv, &srv->signal, EPOLLIN) < 0) {
        error_errno (err, "epoll");
        goto error;
    }
    if (listen_on (srv, 0, socket_path, 0666, err) < 0
        || (control_path && listen_on (srv, 1, control_path, 0600, err) < 0))
        goto error;
    return srv;
error:
    server_destroy (srv);
    return NULL;
}

/* Close a connection at the end of the turn. */
static void close_later (struct conn *c)
{
    if (c->dead)
        return;
    c->dead = true;
    c->next_dead = c->srv->dead;
    c->srv->dead = c;
}

static void put_frame (uint8_t *buf, enum emu_frame type,
                       const uint8_t *payload, size_t len)
{
    wire_put (buf, len, 2);
    buf[2] = (uint8_t)type;
    buf[3] = 0;
    if (len > 0)
        memcpy (buf + EMU_HEADER, payload, len);
}

/* Send a frame over the socket, with n descriptors. */
static void send_frame (struct conn *c, enum emu_frame type,
                        const uint8_t *payload, size_t len, const int *fd,
                        size_t n)
{
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE (2 * sizeof (int))];
    } control = { 0 };
    uint8_t buf[EMU_FRAME_MAX];
    struct iovec iov = { buf, EMU_HEADER + len };
    struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

    if (c->dead)
        return;
    put_frame (buf, type, payload, len);
    if (n > 0) {
        struct cmsghdr *h = &control.align;

        msg.msg_control = &control;
        msg.msg_controllen = CMSG_SPACE (n * sizeof (int));
        h->cmsg_level = SOL_SOCKET;
        h->cmsg_type = SCM_RIGHTS;
        h->cmsg_len = CMSG_LEN (n * sizeof (int));
        memcpy (CMSG_DATA (h), fd, n * sizeof (int));
    }
    if (sendmsg (c->source.fd, &msg, MSG_NOSIGNAL) != (ssize_t)iov.iov_len)
        close_later (c);
}

static void refuse (struct conn *c, const char *sentence)
{
    size_t len = strlen (sentence);

    if (len > EMU_DATA_MAX)
        len = EMU_DATA_MAX;
    send_frame (c, EMU_ERROR, (const uint8_t *)sentence, len, NULL, 0);
    close_later (c);
}

/*
 * Turns
 */

/* It is the client's turn, after all others. */
static void begin_turn (struct conn *c)
{
    struct session_slot *slot = c->slot;

    c->given = true;
    c->later = NULL;
    c->earlier = slot->last;
    if (slot->last)
        slot->last->later = c;
    else
        slot->first = c;
    slot->last = c;
}

static void end_turn (struct conn *c)
{
    struct session_slot *slot = c->slot;

    c->given = false;
    if (c->earlier)
        c->earlier->later = c->later;
    else
        slot->first = c->later;
    if (c->later)
        c->later->earlier = c->earlier;
    else
        slot->last = c->earlier;
}

/* Answer, and give the turn to the client. */
static void answer (struct conn *c, enum emu_frame type,
                    const uint8_t *payload, size_t len)
{
    put_frame (c->page->in, type, payload, len);
    atomic_store_explicit (&c->page->cpu, c->srv->cpu, memory_order_relaxed);
    begin_turn (c);
    atomic_store (&c->page->turn, EMU_TURN_CLIENT);
    emu_page_wake (c->page);
}

static void answer_wait (void *owner, int64_t time,
                         const struct session_header *header,
                         const uint8_t *data, size_t len)
{
    struct conn *c = owner;
    const struct fabric *f = model_fabric (c->srv->model);
    uint8_t buf[EMU_PAYLOAD_MAX];

    wire_put (buf, (uint64_t)time, 8);
    if (!header) {
        answer (c, EMU_TIMEOUT, buf, 8);
        return;
    }
    for (int i = 0; i < 2; i++) {
        uint32_t end = i ? header->to : header->from;
        uint32_t endpoint = f->end[end].endpoint;

        wire_put (buf + 8 + 4 * (size_t)i, endpoint, 4);
        buf[16 + i] = (uint8_t)(f->end[end].lid - f->end[endpoint].lid);
    }
    wire_put (buf + 18, header->other, 4);
    memcpy (buf + EMU_RECV_HEADER, data, len);
    answer (c, EMU_RECV, buf, EMU_RECV_HEADER + len);
}

static void on_hello (struct conn *c, const uint8_t *p, size_t len)
{
    const struct fabric *f = model_fabric (c->srv->model);
    uint8_t buf[4 + EMU_RAIL * EMU_RAILS_MAX];
    char sentence[160];
    char name[64];
    const struct fabric_host *host;
    uint32_t n;

    if (len < 5 || len - 4 >= sizeof (name) || c->host != FABRIC_NONE) {
        refuse (c, "bad HELLO");
        return;
    }
    if (wire_get (p, 4) != EMU_VERSION) {
        refuse (c, "pmm-emu and pmm-probe are of different versions");
        return;
    }
    memcpy (name, p + 4, len - 4);
    name[len - 4] = '\0';
    text_clean (name);
    c->host = fabric_find_host (f, name);
    if (c->host == FABRIC_NONE) {
        snprintf (sentence, sizeof (sentence), "%s is not in the fabric",
                  name);
        refuse (c, sentence);
        return;
    }
    host = &f->host[c->host];
    n = host->count < EMU_RAILS_MAX ? host->count : EMU_RAILS_MAX;
    wire_put (buf, n, 4);
    for (uint32_t i = 0; i < n; i++) {
        const struct fabric_port *port
            = &f->port[f->endpoint[host->first + i].port];
        uint8_t *rail = buf + 4 + (size_t)EMU_RAIL * i;

        wire_put (rail, host->first + i, 4);
        wire_put (rail + 4, port->guid, 8);
        wire_put (rail + 12, port->lid, 2);
        rail[14] = port->lmc;
        wire_put (rail + 15, fabric_prefix (f, port), 8);
    }
    send_frame (c, EMU_WELCOME, buf, 4 + (size_t)EMU_RAIL * n, NULL, 0);
}

static struct session_slot *find_slot (struct server *srv, uint64_t key,
                                       size_t size)
{
    struct session_slot *slot;

    for (size_t i = 0; i < srv->nslots; i++)
        if (srv->slot[i]->key == key)
            return srv->slot[i];
    if (srv->nslots == SESSIONS_MAX)
        return NULL;
    slot = xcalloc (1, sizeof (*slot));
    slot->session = session_create (srv->model, srv->sessions, size,
                                    answer_wait, &srv->stats, srv->stall_ns,
                                    srv->wall_ns);
    slot->key = key;
    slot->size = (uint32_t)size;
    slot->number = srv->sessions++;
    srv->slot[srv->nslots++] = slot;
    return slot;
}

static void drop_if_empty (struct server *srv, struct session_slot *slot)
{
    char dir[PATH_MAX];
    size_t i = 0;

    if (session_clients (slot->session) > 0)
        return;
    snprintf (dir, sizeof (dir), "%s.sysfs/%" PRIu64, srv->path[0],
              slot->number);
    sysfs_remove (dir);
    session_destroy (slot->session);
    while (srv->slot[i] != slot)
        i++;
    srv->slot[i] = srv->slot[--srv->nslots];
    free (slot);
}

/* Make what is shared with a client, and give it to it; fd[] is what it gets.
 * Return 0, or -1 with errno.
 */
static int make_page (struct conn *c, int fd[2])
{
    void *page;

    fd[0] = memfd_create ("pmm-emu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fd[1] = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    /* of memory that the client makes shorter, a look would kill us */
    if (fd[0] < 0 || fd[1] < 0
        || ftruncate (fd[0], sizeof (struct emu_page)) < 0
        || fcntl (fd[0], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
               < 0)
        return -1;
    page = mmap (NULL, sizeof (struct emu_page), PROT_READ | PROT_WRITE,
                 MAP_SHARED, fd[0], 0);
    if (page == MAP_FAILED)
        return -1;
    c->page = page;
    c->bell = (struct bell){ { SOURCE_BELL, fd[1] }, c };
    /* each ring is a new edge: the bell need not be read */
    return add_source (c->srv, &c->bell.source, EPOLLIN | EPOLLET);
}

/* Let the client begin. */
static void share (struct conn *c)
{
    int fd[2];

    if (make_page (c, fd) < 0)
        refuse (c, "the emulator has no memory to share");
    else {
        begin_turn (c);
        send_frame (c, EMU_JOINED, NULL, 0, fd, 2);
    }
    if (fd[0] >= 0)
        close (fd[0]);
    if (!c->page && fd[1] >= 0)
        close (fd[1]);
}

static void on_join (struct conn *c, const uint8_t *p, size_t len)
{
    const struct fabric *f = model_fabric (c->srv->model);
    uint32_t endpoint[EMU_RAILS_MAX];
    struct session_slot *slot;
    struct error err;
    size_t size;
    size_t n = 0;

    if (len != 12 || c->host == FABRIC_NONE || c->client) {
        refuse (c, "bad JOIN");
        return;
    }
    size = wire_get (p + 8, 4);
    if (size < 1 || size > f->nhosts || size > EMU_CLIENTS_MAX) {
        refuse (c, "a session is larger than the fabric");
        return;
    }
    if (!(slot = find_slot (c->srv, wire_get (p, 8), size))) {
        refuse (c, "too many sessions");
        return;
    }
    if (slot->size != size) {
        refuse (c, "the session is of another size");
        return;
    }
    for (; n < f->host[c->host].count && n < EMU_RAILS_MAX; n++)
        endpoint[n] = f->host[c->host].first + (uint32_t)n;
    c->client = session_join (slot->session, c, endpoint, n, c->srv->wall_ns,
                              &err);
    if (!c->client) {
        drop_if_empty (c->srv, slot);
        refuse (c, err.text);
        return;
    }
    c->slot = slot;
    share (c);
}

/* Find the end of an endpoint and one of its LIDs; FABRIC_NONE: there is none.
 */
static uint32_t find_end (const struct fabric *f, uint64_t endpoint,
                          uint8_t lid)
{
    if (endpoint >= f->nendpoints
        || lid >> f->port[f->endpoint[endpoint].port].lmc != 0)
        return FABRIC_NONE;
    return fabric_end_of (f, (uint32_t)endpoint, lid);
}

static void on_send (struct conn *c, const uint8_t *p, size_t len)
{
    const struct fabric *f = model_fabric (c->srv->model);
    struct session_header header;
    struct error err;
    size_t bytes = len - EMU_SEND_HEADER;

    if (len <= EMU_SEND_HEADER || bytes > EMU_DATA_MAX
        || p[18] > EMU_LEVEL_MAX) {
        refuse (c, "bad SEND");
        return;
    }
    header = (struct session_header){
        .from = find_end (f, wire_get (p, 4), p[8]),
        .to = find_end (f, wire_get (p + 4, 4), p[9]),
        .own = (uint32_t)wire_get (p + 10, 4),
        .other = (uint32_t)wire_get (p + 14, 4),
        .as = { .level = p[18], .rc = p[19] },
    };
    if (session_send (c->client, &header, p + EMU_SEND_HEADER, bytes, &err)
        < 0)
        refuse (c, err.text);
}

static void on_wait (struct conn *c, const uint8_t *p, size_t len)
{
    uint64_t deadline;

    if (len != 8) {
        refuse (c, "bad WAIT");
        return;
    }
    deadline = wire_get (p, 8);
    session_wait (c->client,
                  deadline < INT64_MAX ? (int64_t)deadline : INT64_MAX);
}

static void on_ports (struct conn *c, const uint8_t *p, size_t len)
{
    const struct server *srv = c->srv;
    const struct fabric *f = model_fabric (srv->model);
    char path[EMU_DATA_MAX + 1];
    struct error err;

    (void)p;
    if (len != 0) {
        refuse (c, "bad PORTS");
        return;
    }
    /* a socket's name has 107 bytes, a host's 63 */
    snprintf (path, sizeof (path), "%s.sysfs/%" PRIu64 "/%.63s/infiniband",
              srv->path[0], c->slot->number, f->host[c->host].name);
    if (sysfs_write (path, srv->model, c->host, c->client, &err) < 0)
        refuse (c, err.text);
    else
        answer (c, EMU_PORTS, (const uint8_t *)path, strlen (path));
}

static void answer_bulk (void *owner, int64_t time,
                         const struct session_burst *burst, size_t n)
{
    uint8_t buf[EMU_PAYLOAD_MAX];

    wire_put (buf, (uint64_t)time, 8);
    for (size_t i = 0; i < n; i++) {
        uint8_t *p = buf + 8 + EMU_BURST_DONE * i;

        wire_put (p, burst[i].lost ? 0 : (uint64_t)fmax (burst[i].bits, 1), 8);
        wire_put (p + 8, (uint64_t)burst[i].there, 8);
    }
    answer (owner, EMU_BULK, buf, 8 + EMU_BURST_DONE * n);
}

/* End the process at the other end of a connection, as a crash would. */
static void crash (struct conn *c)
{
    struct ucred peer;
    socklen_t len = sizeof (peer);

    c->srv->crashes = FABRIC_NONE;
    if (getsockopt (c->source.fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0
        && peer.pid > 1)
        kill (peer.pid, SIGKILL);
}

static void on_bulk (struct conn *c, const uint8_t *p, size_t len)
{
    const struct fabric *f = model_fabric (c->srv->model);
    struct session_burst burst[EMU_BURSTS_MAX];
    size_t n = len > EMU_BULK_HEADER ? (len - EMU_BULK_HEADER) / EMU_BURST : 0;
    uint64_t deadline;
    struct error err;

    if (len < EMU_BULK_HEADER || n > EMU_BURSTS_MAX
        || len != EMU_BULK_HEADER + n * (size_t)EMU_BURST) {
        refuse (c, "bad BULK");
        return;
    }
    if (c->host == c->srv->crashes) {
        crash (c);
        return;
    }
    deadline = wire_get (p, 8);
    p += EMU_BULK_HEADER;
    for (size_t i = 0; i < n; i++, p += EMU_BURST) {
        if (p[26] > EMU_LEVEL_MAX) {
            refuse (c, "bad BULK");
            return;
        }
        burst[i] = (struct session_burst){
            .header = { .from = find_end (f, wire_get (p, 4), p[8]),
                        .to = find_end (f, wire_get (p + 4, 4), p[9]),
                        .own = (uint32_t)wire_get (p + 10, 4),
                        .other = (uint32_t)wire_get (p + 14, 4),
                        .as = { .level = p[26], .rc = true } },
            .bytes = wire_get (p + 18, 8),
            .strict = p[27] & EMU_STRICT,
            .messages = p[27] & EMU_MESSAGES,
            .deaf = p[27] & EMU_DEAF,
            .serves = p[27] & EMU_SERVES,
        };
    }
    if (session_bulk (c->client, burst, n,
                      deadline < INT64_MAX ? (int64_t)deadline : INT64_MAX,
                      answer_bulk, &err)
        < 0)
        refuse (c, err.text);
}

static void on_port (struct conn *c, const uint8_t *p, size_t len)
{
    const struct emu_model *m = c->srv->model;
    const struct fabric_host *host = &model_fabric (m)->host[c->host];
    struct session_count count;
    uint32_t endpoint;
    uint8_t buf[21];

    endpoint = len == 4 ? (uint32_t)wire_get (p, 4) : FABRIC_NONE;
    if (endpoint < host->first || endpoint - host->first >= host->count) {
        refuse (c, "bad PORT");
        return;
    }
    session_count (c->client, endpoint, &count);
    wire_put (buf,
              (uint64_t)model_port_bits (m, model_first_arc (m, endpoint) / 2),
              8);
    wire_put (buf + 8, MODEL_MTU, 4);
    buf[12] = !model_adapter (m, endpoint)->refuses;
    wire_put (buf + 13, (uint64_t)(count.sent_again + count.received_again), 8);
    answer (c, EMU_PORT, buf, sizeof (buf));
}

static void on_more (struct conn *c, const uint8_t *p, size_t len)
{
    (void)p;
    if (len != 0)
        refuse (c, "bad MORE");
    else
        answer (c, EMU_MORE, NULL, 0);
}

static const struct frame_kind {
    enum emu_frame type;
    bool asks; /* for an answer */
    void (*fn) (struct conn *c, const uint8_t *payload, size_t len);
} page_frames[] = {
    { EMU_SEND, false, on_send },
    { EMU_WAIT, true, on_wait },
    { EMU_MORE, true, on_more },
    { EMU_PORTS, true, on_ports },
    { EMU_BULK, true, on_bulk },
    { EMU_PORT, true, on_port },
    { 0 },
}, socket_frames[] = {
    { EMU_HELLO, true, on_hello },
    { EMU_JOIN, true, on_join },
    { 0 },
};

/* Take a frame from the first `have` bytes. Return its length, 0 if it is not
 * complete; the frame is refused if it is none of these kinds.
 */
static size_t take_frame (struct conn *c, const struct frame_kind *kind,
                          const uint8_t *p, size_t have, bool *asks)
{
    size_t len;

    if (have < EMU_HEADER)
        return 0;
    len = wire_get (p, 2);
    if (len > EMU_PAYLOAD_MAX || p[3] != 0) {
        refuse (c, "not the frames of pmm-probe");
        return 0;
    }
    if (have < EMU_HEADER + len)
        return 0;
    while (kind->fn && kind->type != p[2])
        kind++;
    *asks = kind->asks;
    if (kind->fn)
        kind->fn (c, p + EMU_HEADER, len);
    else
        refuse (c, "unknown frame");
    return EMU_HEADER + len;
}

static void read_probe (struct conn *c)
{
    size_t pos = 0, len;
    bool asks;
    ssize_t n;

    n = recv (c->source.fd, c->in + c->nin, sizeof (c->in) - c->nin, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_later (c);
        return;
    }
    c->nin += (size_t)n;
    while (!c->dead
           && (len = take_frame (c, socket_frames, c->in + pos, c->nin - pos,
                                 &asks)) > 0)
        pos += len;
    memmove (c->in, c->in + pos, c->nin - pos);
    c->nin -= pos;
}

/* Do what a client asks that has given its turn back. */
static void serve_page (struct conn *c)
{
    uint8_t out[EMU_OUT_MAX];
    size_t nout = atomic_load_explicit (&c->page->nout, memory_order_relaxed);
    size_t pos = 0, len = 1;
    bool asks = false;

    end_turn (c);
    if (nout > sizeof (out)) {
        refuse (c, "not the frames of pmm-probe");
        return;
    }
    memcpy (out, c->page->out, nout);
    for (; !c->dead && !asks && len > 0; pos += len)
        len = take_frame (c, page_frames, out + pos, nout - pos, &asks);
    if (!c->dead && (!asks || pos != nout))
        refuse (c, "the frames of a turn end with one that asks");
}

static bool is_given_back (const struct conn *c)
{
    return !c->dead && atomic_load (&c->page->turn) == EMU_TURN_EMU;
}

/* Do what a session's clients ask, and all that may happen then. At the end its
 * last client will ring, or has no turn.
 */
static void tend (struct session_slot *slot, int64_t wall_ns)
{
    slot->busy = false;
    session_run (slot->session, wall_ns);
    for (int pass = 0, idle = 0; slot->last && pass < PASSES_MAX; pass++) {
        bool any = false;

        for (struct conn *c = slot->first, *later; c; c = later) {
            later = c->later;
            if (is_given_back (c)) {
                serve_page (c);
                any = true;
            }
        }
        if (any) {
            session_run (slot->session, wall_ns);
            idle = 0;
            continue;
        }
        if (idle++ < YIELDS) {
            sched_yield ();
            continue;
        }
        atomic_store (&slot->last->page->rings, 1);
        if (!is_given_back (slot->last))
            return;
    }
    slot->busy = slot->last != NULL;
}

static char *run_command (struct server *srv, char *line)
{
    char *word[CONTROL_WORDS_MAX + 1];
    struct error err;
    char *answer;
    char *body;
    char *save;
    int n = 0;

    for (char *w = strtok_r (line, " \t", &save);
         w && n <= CONTROL_WORDS_MAX; w = strtok_r (NULL, " \t", &save))
        word[n++] = w;
    if (n == 1 && !strcmp (word[0], "show")) {
        body = model_show (srv->model);
        answer = xasprintf ("ok\n%s", body);
        free (body);
        return answer;
    }
    if (n == 1 && !strcmp (word[0], "stats"))
        return xasprintf ("ok\n{\"messages\":%" PRIu64 ",\"lost\":%" PRIu64
                          ",\"sessions\":%" PRIu64 ",\"open\":%zu"
                          ",\"others_bytes\":%.0f"
                          ",\"others_lost_bytes\":%.0f}\n",
                          srv->stats.messages, srv->stats.lost, srv->sessions,
                          srv->nslots, srv->stats.others,
                          srv->stats.others_lost);
    if (n == 2 && !strcmp (word[0], "crash")) {
        srv->crashes = fabric_find_host (model_fabric (srv->model), word[1]);
        return xstrdup (srv->crashes == FABRIC_NONE ? "error no such host\n"
                                                    : "ok\n");
    }
    if (model_command (srv->model, n, word, &err) < 0)
        return xasprintf ("error %s\n", err.text);
    for (size_t i = 0; i < srv->nslots; i++)
        session_update (srv->slot[i]->session);
    return xstrdup ("ok\n");
}

static void write_control (struct conn *c)
{
    ssize_t n = send (c->source.fd, c->out + c->out_pos, c->nout - c->out_pos,
                      MSG_NOSIGNAL);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->out_pos += (size_t)n;
    if (n <= 0 || c->out_pos == c->nout)
        close_later (c);
}

static void read_control (struct conn *c)
{
    struct epoll_event ev = { .events = EPOLLOUT, .data.ptr = c };
    char *line = (char *)c->in;
    char *end;
    ssize_t n;

    n = recv (c->source.fd, c->in + c->nin, CONTROL_LINE_MAX - c->nin, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_later (c);
        return;
    }
    c->nin += (size_t)n;
    if (!(end = memchr (line, '\n', c->nin))) {
        if (c->nin == CONTROL_LINE_MAX)
            close_later (c);
        return;
    }
    *end = '\0';
    c->out = run_command (c->srv, text_clean (line));
    if (epoll_ctl (c->srv->epfd, EPOLL_CTL_MOD, c->source.fd, &ev) < 0) {
        close_later (c);
        return;
    }
    c->nout = strlen (c->out);
    write_control (c);
}

static void accept_one (struct server *srv,
                        const struct server_source *listener)
{
    struct conn *c;
    int fd = accept4 (listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (srv->nconns >= srv->max_conns) {
        close (fd);
        return;
    }
    c = xarray (1, sizeof (*c));
    memset (c, 0, offsetof (struct conn, in));
    c->source.kind = listener->kind == SOURCE_LISTEN ? SOURCE_PROBE
                                                     : SOURCE_CONTROL;
    c->source.fd = fd;
    c->srv = srv;
    c->host = FABRIC_NONE;
    if (add_source (srv, &c->source, EPOLLIN) < 0) {
        close (fd);
        free (c);
        return;
    }
    c->next = srv->conn;
    if (c->next)
        c->next->prev = c;
    srv->conn = c;
    srv->nconns++;
}

static void free_conn (struct conn *c)
{
    struct server *srv = c->srv;

    if (c->client) {
        if (c->given)
            end_turn (c);
        session_leave (c->client);
        if (session_clients (c->slot->session) > 0)
            tend (c->slot, srv->wall_ns);
        drop_if_empty (srv, c->slot);
    }
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        srv->conn = c->next;
    srv->nconns--;
    close (c->source.fd);
    if (c->page) {
        /* the client still has it, so that closing does not end its events */
        epoll_ctl (srv->epfd, EPOLL_CTL_DEL, c->bell.source.fd, NULL);
        close (c->bell.source.fd);
        emu_page_wake (c->page);
        munmap (c->page, sizeof (*c->page));
    }
    free (c->out);
    free (c);
}

static void handle (struct server *srv, struct server_source *source)
{
    struct conn *c = (struct conn *)source;

    switch (source->kind) {
    case SOURCE_SIGNAL:
        srv->stop = true;
        break;
    case SOURCE_LISTEN:
    case SOURCE_LISTEN_CONTROL:
        accept_one (srv, source);
        break;
    case SOURCE_PROBE:
        if (!c->dead)
            read_probe (c);
        if (c->client && !c->dead)
            tend (c->slot, srv->wall_ns);
        break;
    case SOURCE_BELL:
        c = ((struct bell *)source)->conn;
        if (!c->dead)
            tend (c->slot, srv->wall_ns);
        break;
    case SOURCE_CONTROL:
        if (c->out)
            write_control (c);
        else
            read_control (c);
        break;
    }
}

/* Stay where the scheduler has put it. */
static void stay (struct server *srv)
{
    int cpu = sched_getcpu ();

    srv->loose = false;
    if (cpu >= 0 && cpu_bind (cpu) == 0)
        srv->cpu = (uint32_t)cpu;
}

/* Let the scheduler choose again, when the emulator is woken the next time. */
static void move (struct server *srv)
{
    srv->loose
        = sched_setaffinity (0, sizeof (srv->allowed), &srv->allowed) == 0;
}

/* Tend all sessions, at a tick, or those that were not done. Return whether one
 * is not.
 */
static bool tend_all (struct server *srv, bool tick)
{
    bool busy = false;

    for (size_t i = 0; i < srv->nslots; i++) {
        struct session_slot *slot = srv->slot[i];

        if (tick || slot->busy)
            tend (slot, srv->wall_ns);
        busy |= slot->busy;
    }
    return busy;
}

int server_run (struct server *srv, struct error *err)
{
    bool busy = false;
    int64_t tick = 0;

    sched_setscheduler (0, SCHED_BATCH, &(struct sched_param){ 0 });
    srv->cpu = UINT32_MAX;
    srv->crashes = FABRIC_NONE;
    if (sched_getaffinity (0, sizeof (srv->allowed), &srv->allowed) == 0)
        move (srv);
    while (!srv->stop) {
        struct epoll_event ev[EVENTS_MAX];
        int n = epoll_wait (srv->epfd, ev, EVENTS_MAX,
                            busy ? 0 : srv->nslots > 0 ? TICK_MS : -1);
        bool ticks;

        if (n < 0 && errno != EINTR)
            return error_errno (err, "epoll_wait");
        if (srv->loose && srv->nslots > 0)
            stay (srv);
        srv->wall_ns = clock_ns ();
        for (int i = 0; i < n; i++)
            handle (srv, ev[i].data.ptr);
        ticks = srv->wall_ns - tick >= (int64_t)TICK_MS * NS_PER_MS;
        if (ticks) {
            tick = srv->wall_ns;
            if (!srv->loose)
                move (srv);
        }
        busy = tend_all (srv, ticks);
        while (srv->dead) {
            struct conn *c = srv->dead;

            srv->dead = c->next_dead;
            free_conn (c);
        }
    }
    return 0;
}

void server_destroy (struct server *srv)
{
    if (!srv)
        return;
    while (srv->conn) {
        srv->conn->dead = true;
        free_conn (srv->conn);
    }
    if (srv->path[0]) {
        char dir[PATH_MAX];

        snprintf (dir, sizeof (dir), "%s.sysfs", srv->path[0]);
        sysfs_remove (dir);
    }
    for (int i = 0; i < 2; i++) {
        if (srv->path[i])
            unlink (srv->path[i]);
        free (srv->path[i]);
        if (srv->listen[i].fd >= 0)
            close (srv->listen[i].fd);
    }
    if (srv->signal.fd >= 0)
        close (srv->signal.fd);
    if (srv->epfd >= 0)
        close (srv->epfd);
    free (srv);
}

int control_command (const char *path, int argc, char *const argv[],
                     FILE *out, struct error *err)
{
    char line[CONTROL_LINE_MAX];
    struct sockaddr_un sa;
    FILE *fp = NULL;
    size_t len = 0;
    int fd = -1;
    int c;

    for (int i = 0; i < argc; i++)
        if (len < sizeof (line))
            len += (size_t)snprintf (line + len, sizeof (line) - len, "%s%s",
                                     argv[i], i + 1 < argc ? " " : "\n");
    if (len >= sizeof (line))
        return error_input (err, "the command is too long");
    if (set_address (&sa, path, err) < 0)
        return -1;
    fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect (fd, (struct sockaddr *)&sa, sizeof (sa)) < 0
        || send (fd, line, len, MSG_NOSIGNAL) != (ssize_t)len
        || !(fp = fdopen (fd, "r"))) {
        error_errno (err, "no emulator at %s", path);
        if (fd >= 0)
            close (fd);
        return -1;
    }
    if (!fgets (line, sizeof (line), fp)) {
        error_world (err, "%s: no answer", path);
        goto error;
    }
    if (strcmp (line, "ok\n")) {
        line[strcspn (line, "\n")] = '\0';
        error_input (err, "%s", strncmp (line, "error ", 6) ? line : line + 6);
        goto error;
    }
    while ((c = getc (fp)) != EOF)
        putc (c, out);
    if (fflush (out) == EOF || ferror (out)) {
        error_errno (err, "cannot write the answer");
        goto error;
    }
    fclose (fp);
    return 0;
error:
    fclose (fp);
    return -1;
}
