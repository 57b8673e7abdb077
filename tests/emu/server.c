/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sockets of pmm-emu.
 *
 * Notes: a client that follows the protocol has at most one answer under way,
 * far less than a socket holds. A client whose socket is full is dropped, so no
 * answer is ever queued here. Connections are closed only at the end of a turn
 * of the loop, because answers are sent while an event is handled.
 */
#include "config.h"
#include "tests/emu/server.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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
    IN_MAX = 16384, /* of a probe client, per read */
    TICK_MS = 100,
    NS_PER_MS = 1000000,
};

enum source_kind {
    SOURCE_LISTEN,
    SOURCE_LISTEN_CONTROL,
    SOURCE_SIGNAL,
    SOURCE_PROBE,
    SOURCE_CONTROL,
};

struct server_source {
    enum source_kind kind;
    int fd;
};

struct conn {
    struct server_source source; /* first */
    struct server *srv;
    struct conn *next, *prev;
    bool dead;
    struct conn *next_dead;
    uint32_t host; /* FABRIC_NONE before HELLO */
    struct client *client;
    size_t nin;
    char *out; /* control: the answer */
    size_t nout, out_pos;
    uint8_t in[IN_MAX];
};

struct session_slot {
    uint64_t key, number;
    uint32_t size;
    struct session *session;
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
    struct session_slot slot[SESSIONS_MAX];
    size_t nslots;
    uint64_t sessions; /* since the start */
    struct session_stats stats;
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
    return rl.rlim_cur > FDS_SPARE ? rl.rlim_cur - FDS_SPARE : 1;
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

static void send_frame (struct conn *c, enum emu_frame type,
                        const uint8_t *payload, size_t len)
{
    uint8_t buf[EMU_FRAME_MAX];

    if (c->dead)
        return;
    wire_put (buf, len, 2);
    buf[2] = (uint8_t)type;
    buf[3] = 0;
    memcpy (buf + EMU_HEADER, payload, len);
    if (send (c->source.fd, buf, EMU_HEADER + len, MSG_NOSIGNAL)
        != (ssize_t)(EMU_HEADER + len))
        close_later (c);
}

static void refuse (struct conn *c, const char *sentence)
{
    size_t len = strlen (sentence);

    if (len > EMU_DATA_MAX)
        len = EMU_DATA_MAX;
    send_frame (c, EMU_ERROR, (const uint8_t *)sentence, len);
    close_later (c);
}

static void answer_wait (void *owner, int64_t time,
                         const struct session_header *header,
                         const uint8_t *data, size_t len)
{
    const struct conn *c = owner;
    const struct fabric *f = model_fabric (c->srv->model);
    uint8_t buf[EMU_PAYLOAD_MAX];

    wire_put (buf, (uint64_t)time, 8);
    if (!header) {
        send_frame (owner, EMU_TIMEOUT, buf, 8);
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
    send_frame (owner, EMU_RECV, buf, EMU_RECV_HEADER + len);
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
    send_frame (c, EMU_WELCOME, buf, 4 + (size_t)EMU_RAIL * n);
}

static struct session_slot *find_slot (struct server *srv, uint64_t key,
                                       size_t size)
{
    struct session_slot *slot;

    for (size_t i = 0; i < srv->nslots; i++)
        if (srv->slot[i].key == key)
            return &srv->slot[i];
    if (srv->nslots == SESSIONS_MAX)
        return NULL;
    slot = &srv->slot[srv->nslots];
    slot->session = session_create (srv->model, srv->sessions, size,
                                    answer_wait, &srv->stats, srv->stall_ns,
                                    srv->wall_ns);
    slot->key = key;
    slot->size = (uint32_t)size;
    slot->number = srv->sessions++;
    srv->nslots++;
    return slot;
}

static void drop_if_empty (struct server *srv, struct session *s)
{
    if (session_clients (s) > 0)
        return;
    for (size_t i = 0; i < srv->nslots; i++)
        if (srv->slot[i].session == s) {
            char dir[PATH_MAX];

            snprintf (dir, sizeof (dir), "%s.sysfs/%" PRIu64, srv->path[0],
                      srv->slot[i].number);
            sysfs_remove (dir);
            session_destroy (s);
            srv->slot[i] = srv->slot[--srv->nslots];
            return;
        }
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
        drop_if_empty (c->srv, slot->session);
        refuse (c, err.text);
    }
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
    size_t pad;

    if (len <= EMU_SEND_HEADER || bytes > EMU_DATA_MAX || !c->client
        || (pad = wire_get (p + 10, 4)) > EMU_SIZE_MAX - bytes
        || p[22] > EMU_LEVEL_MAX) {
        refuse (c, "bad SEND");
        return;
    }
    header = (struct session_header){
        .from = find_end (f, wire_get (p, 4), p[8]),
        .to = find_end (f, wire_get (p + 4, 4), p[9]),
        .own = (uint32_t)wire_get (p + 14, 4),
        .other = (uint32_t)wire_get (p + 18, 4),
        .as = { .level = p[22], .rc = p[23] },
    };
    if (session_send (c->client, &header, p + EMU_SEND_HEADER, bytes, pad,
                      &err)
        < 0)
        refuse (c, err.text);
}

static void on_wait (struct conn *c, const uint8_t *p, size_t len)
{
    uint64_t deadline;

    if (len != 8 || !c->client) {
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
    size_t i = 0;

    (void)p;
    if (len != 0 || !c->client) {
        refuse (c, "bad PORTS");
        return;
    }
    while (srv->slot[i].session != client_session (c->client))
        i++;
    /* a socket's name has 107 bytes, a host's 63 */
    snprintf (path, sizeof (path), "%s.sysfs/%" PRIu64 "/%.63s", srv->path[0],
              srv->slot[i].number, f->host[c->host].name);
    if (sysfs_write (path, f, c->host, c->client, &err) < 0)
        refuse (c, err.text);
    else
        send_frame (c, EMU_PORTS, (const uint8_t *)path, strlen (path));
}

static const struct {
    enum emu_frame type;
    void (*fn) (struct conn *c, const uint8_t *payload, size_t len);
} frames[] = {
    { EMU_SEND, on_send },
    { EMU_WAIT, on_wait },
    { EMU_HELLO, on_hello },
    { EMU_JOIN, on_join },
    { EMU_PORTS, on_ports },
};

static void on_frame (struct conn *c, unsigned int type, const uint8_t *p,
                      size_t len)
{
    for (size_t i = 0; i < sizeof (frames) / sizeof (frames[0]); i++)
        if (type == frames[i].type) {
            frames[i].fn (c, p, len);
            return;
        }
    refuse (c, "unknown frame");
}

static void read_probe (struct conn *c)
{
    size_t pos = 0;
    ssize_t n;

    n = recv (c->source.fd, c->in + c->nin, sizeof (c->in) - c->nin, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_later (c);
        return;
    }
    c->nin += (size_t)n;
    while (!c->dead && c->nin - pos >= EMU_HEADER) {
        size_t len = wire_get (c->in + pos, 2);

        if (len > EMU_PAYLOAD_MAX || c->in[pos + 3] != 0) {
            refuse (c, "not the frames of pmm-probe");
            return;
        }
        if (c->nin - pos < EMU_HEADER + len)
            break;
        on_frame (c, c->in[pos + 2], c->in + pos + EMU_HEADER, len);
        pos += EMU_HEADER + len;
    }
    memmove (c->in, c->in + pos, c->nin - pos);
    c->nin -= pos;
    if (c->client)
        session_run (client_session (c->client), c->srv->wall_ns);
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
                          ",\"sessions\":%" PRIu64 ",\"open\":%zu}\n",
                          srv->stats.messages, srv->stats.lost, srv->sessions,
                          srv->nslots);
    for (size_t i = 0; i < srv->nslots; i++)
        session_settle (srv->slot[i].session);
    if (model_command (srv->model, n, word, &err) < 0)
        return xasprintf ("error %s\n", err.text);
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
        struct session *s = client_session (c->client);

        session_leave (c->client);
        if (session_clients (s) > 0)
            session_run (s, srv->wall_ns);
        drop_if_empty (srv, s);
    }
    if (c->next)
        c->next->prev = c->prev;
    if (c->prev)
        c->prev->next = c->next;
    else
        srv->conn = c->next;
    srv->nconns--;
    close (c->source.fd);
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
        break;
    case SOURCE_CONTROL:
        if (c->out)
            write_control (c);
        else
            read_control (c);
        break;
    }
}

int server_run (struct server *srv, struct error *err)
{
    int64_t tick = 0;

    while (!srv->stop) {
        struct epoll_event ev[EVENTS_MAX];
        int n = epoll_wait (srv->epfd, ev, EVENTS_MAX,
                            srv->nslots > 0 ? TICK_MS : -1);

        if (n < 0 && errno != EINTR)
            return error_errno (err, "epoll_wait");
        srv->wall_ns = clock_ns ();
        for (int i = 0; i < n; i++)
            handle (srv, ev[i].data.ptr);
        if (srv->wall_ns - tick >= (int64_t)TICK_MS * NS_PER_MS) {
            tick = srv->wall_ns;
            for (size_t i = 0; i < srv->nslots; i++)
                session_run (srv->slot[i].session, srv->wall_ns);
        }
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
