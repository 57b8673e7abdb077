/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One check's clients and their virtual time.
 *
 * Notes: events are messages, which arrive at a link or at their destination,
 * and deadlines. One heap orders them by time; at the same time messages come
 * before deadlines, then by sender and its count. So a run repeats exactly,
 * whatever the order in which the machine runs the clients. The horizon is the
 * minimum, over the running clients, of clock + first link's latency. It is
 * stale once the client that set it waits again: many do before it is needed.
 *
 * What switches may choose from does not change while a fabric is emulated, so
 * it is looked up once. Messages are all of one size, and used again.
 */
#include "config.h"
#include "tests/emu/session.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/spread.h"
#include "util/alloc.h"

/* A later deadline never passes, so that no clock overflows. */
#define TIME_MAX (INT64_MAX / 2)

enum event_kind { EVENT_MESSAGE, EVENT_DEADLINE };

struct session_event {
    int64_t time;
    enum event_kind kind;
    uint32_t sender; /* end */
    uint64_t count;  /* of the sender */
    size_t pos;      /* in the heap, from 1; 0: not in it */
};

struct session_path {
    int hops; /* -1: the LFTs give no path */
    uint32_t arc[];
};

enum { CHOICES = UINT8_MAX }; /* links among which a switch chooses */

/* Where a switch may send messages for an end. */
struct branches {
    size_t n; /* 0: by the table alone */
    uint32_t arc[];
};

enum { CLASSES = 2 * SPREAD_LEVELS }; /* of traffic */

struct session_message {
    struct session_event event; /* first */
    struct session_message *next;
    struct session_header header;
    const uint32_t *arc; /* of the path: a session_path's, or `own` */
    int hops;            /* PATH_MAX_HOPS + 1: not known yet */
    struct client *from; /* NULL: gone */
    int hop;
    uint16_t len, pad;
    bool lost;
    int64_t sent; /* time */
    int64_t noise;
    int64_t tail; /* time from first to last byte, at the destination */
    uint8_t data[SESSION_DATA_MAX];
    uint32_t own[PATH_MAX_HOPS]; /* the path so far, if switches choose it */
};

enum client_state { CLIENT_RUNS, CLIENT_WAITS, CLIENT_STALLED };

struct client_end {
    uint32_t endpoint;
    uint32_t arc; /* from there */
};

struct client {
    struct session_event deadline; /* first */
    struct session *session;
    void *owner;
    enum client_state state;
    int64_t clock;
    int64_t since_wall; /* real time when it began to run */
    size_t index;       /* in session.client */
    size_t running;     /* in session.running, while it runs */
    const struct client_end *end;
    size_t nends;
    struct rng rng;
    uint64_t sent;
    size_t under_way;
    struct session_message *inbox; /* oldest first */
    struct session_message **inbox_end;
    size_t ninbox;
    struct client_end own[];
};

struct carried {
    double bytes, packets, waited;
};

struct session {
    const struct emu_model *model;
    session_deliver_f deliver;
    struct session_stats *stats;
    uint64_t number;
    bool spreads; /* a switch chooses */
    int64_t stall_ns;
    int64_t first_wall;
    bool started;
    size_t size, joined; /* clients, also those that have left */
    int64_t now;
    int64_t horizon; /* lower bound of the true one */
    bool stale;      /* the horizon is to be recomputed */
    int64_t wall_ns;
    struct rng rng; /* of messages whose sender has left */
    struct client **client;  /* [nclients] */
    struct client **running; /* [nrunning] */
    size_t nclients, nrunning;
    struct client **by_endpoint; /* [nendpoints of the fabric] */
    int64_t *busy;               /* [arcs] busy until then */
    int64_t *through;            /* [nodes] likewise, of a planted rate */
    struct carried *carried;     /* [arcs] until `settled` */
    int64_t settled;
    struct session_path ***path; /* [from][to] by end; made when first used */
    struct branches ***branch[CLASSES]; /* [node][to], likewise */
    struct session_message *unused;
    struct session_event **heap; /* [1 .. nheap] */
    size_t nheap;
};

static bool before (const struct session_event *a,
                    const struct session_event *b)
{
    if (a->time != b->time)
        return a->time < b->time;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    if (a->sender != b->sender)
        return a->sender < b->sender;
    return a->count < b->count;
}

static void heap_set (struct session *s, size_t pos, struct session_event *ev)
{
    s->heap[pos] = ev;
    ev->pos = pos;
}

static void heap_up (struct session *s, size_t pos)
{
    struct session_event *ev = s->heap[pos];

    for (; pos > 1 && before (ev, s->heap[pos / 2]); pos /= 2)
        heap_set (s, pos, s->heap[pos / 2]);
    heap_set (s, pos, ev);
}

static void heap_down (struct session *s, size_t pos)
{
    struct session_event *ev = s->heap[pos];

    for (size_t child; (child = 2 * pos) <= s->nheap; pos = child) {
        if (child < s->nheap && before (s->heap[child + 1], s->heap[child]))
            child++;
        if (!before (s->heap[child], ev))
            break;
        heap_set (s, pos, s->heap[child]);
    }
    heap_set (s, pos, ev);
}

static void heap_add (struct session *s, struct session_event *ev)
{
    /* heap[0] is not used */
    s->heap = xgrow (s->heap, s->nheap + 1, sizeof (*s->heap));
    heap_set (s, ++s->nheap, ev);
    heap_up (s, s->nheap);
}

static void heap_remove (struct session *s, struct session_event *ev)
{
    size_t pos = ev->pos;
    struct session_event *last = s->heap[s->nheap--];

    ev->pos = 0;
    if (last == ev)
        return;
    heap_set (s, pos, last);
    heap_up (s, pos);
    heap_down (s, last->pos);
}

static int64_t reach (const struct client *c)
{
    int64_t least = MODEL_LOOPBACK_LEAST_NS;

    for (size_t i = 0; i < c->nends; i++) {
        int64_t ns = model_latency (c->session->model, c->end[i].arc);

        if (ns < least)
            least = ns;
    }
    return c->clock + least;
}

static void recompute_horizon (struct session *s)
{
    s->stale = false;
    s->horizon = INT64_MAX;
    for (size_t i = 0; i < s->nrunning; i++) {
        int64_t t = reach (s->running[i]);

        if (t < s->horizon)
            s->horizon = t;
    }
}

static void start_running (struct client *c, int64_t time)
{
    struct session *s = c->session;
    int64_t t;

    c->state = CLIENT_RUNS;
    c->clock = time;
    c->since_wall = s->wall_ns;
    c->running = s->nrunning;
    s->running[s->nrunning++] = c;
    t = reach (c);
    if (t < s->horizon)
        s->horizon = t;
}

static void stop_running (struct client *c, enum client_state state)
{
    struct session *s = c->session;

    if (c->state == CLIENT_RUNS) {
        struct client *last = s->running[--s->nrunning];

        s->stale |= reach (c) <= s->horizon;

        s->running[c->running] = last;
        last->running = c->running;
    }
    c->state = state;
}

struct session *session_create (const struct emu_model *m, uint64_t number,
                                size_t size, session_deliver_f deliver,
                                struct session_stats *stats, int64_t stall_ns,
                                int64_t wall_ns)
{
    const struct fabric *f = model_fabric (m);
    struct session *s = xcalloc (1, sizeof (*s));

    s->model = m;
    s->number = number;
    s->size = size;
    s->deliver = deliver;
    s->stats = stats;
    s->stall_ns = stall_ns;
    s->first_wall = wall_ns;
    s->wall_ns = wall_ns;
    s->horizon = INT64_MAX;
    rng_seed (&s->rng, model_seed (m) ^ number << 32);
    s->client = xcalloc (f->nendpoints, sizeof (*s->client));
    s->running = xcalloc (f->nendpoints, sizeof (*s->running));
    s->by_endpoint = xcalloc (f->nendpoints, sizeof (*s->by_endpoint));
    s->busy = xcalloc (2 * f->nlinks, sizeof (*s->busy));
    s->through = xcalloc (f->nnodes, sizeof (*s->through));
    s->carried = xcalloc (2 * f->nlinks, sizeof (*s->carried));
    s->path = xcalloc (f->nends, sizeof (*s->path));
    s->heap = xarray (1, sizeof (*s->heap));
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_spread *spread = &f->node[i].spread;

        s->spreads |= spread->known
                      && (spread->ud | spread->rc | spread->hashed);
    }
    return s;
}

static void free_message (struct session *s, struct session_message *msg)
{
    if (msg->from)
        msg->from->under_way--;
    msg->next = s->unused;
    s->unused = msg;
}

static void orphan (struct session_message *msg)
{
    msg->from->under_way--;
    msg->from = NULL;
}

static void free_branches (const struct fabric *f, struct branches ***of)
{
    for (size_t i = 0; of && i < f->nnodes; i++) {
        for (size_t k = 0; of[i] && k < f->nends; k++)
            free (of[i][k]);
        free (of[i]);
    }
    free (of);
}

void session_destroy (struct session *s)
{
    while (s->nclients > 0)
        session_leave (s->client[0]);
    while (s->nheap > 0) {
        struct session_event *ev = s->heap[1];

        heap_remove (s, ev);
        free_message (s, (struct session_message *)ev);
    }
    for (size_t i = 0; i < model_fabric (s->model)->nends; i++) {
        size_t n = s->path[i] ? model_fabric (s->model)->nends : 0;

        for (size_t k = 0; k < n; k++)
            free (s->path[i][k]);
        free (s->path[i]);
    }
    for (size_t i = 0; i < CLASSES; i++)
        free_branches (model_fabric (s->model), s->branch[i]);
    while (s->unused) {
        struct session_message *msg = s->unused;

        s->unused = msg->next;
        free (msg);
    }
    free (s->client);
    free (s->running);
    free (s->by_endpoint);
    free (s->busy);
    free (s->through);
    free (s->carried);
    free (s->path);
    free (s->heap);
    free (s);
}

struct client *session_join (struct session *s, void *owner,
                             const uint32_t *endpoint, size_t n,
                             int64_t wall_ns, struct error *err)
{
    struct client *c;

    if (s->nclients >= s->size) {
        error_input (err, "all %zu clients of the session have joined",
                     s->size);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (!s->by_endpoint[endpoint[i]])
            continue;
        error_input (err, "%s has joined the session already",
                     model_fabric (s->model)->endpoint[endpoint[i]].name);
        return NULL;
    }
    c = xcalloc (1, sizeof (*c) + n * sizeof (c->own[0]));
    for (size_t i = 0; i < n; i++)
        c->own[i] = (struct client_end){
            endpoint[i], model_first_arc (s->model, endpoint[i])
        };
    c->end = c->own;
    c->nends = n;
    c->session = s;
    c->owner = owner;
    c->inbox_end = &c->inbox;
    c->deadline.kind = EVENT_DEADLINE;
    c->deadline.sender = endpoint[0];
    rng_seed (&c->rng, model_seed (s->model) ^ (s->number << 32)
                           ^ (uint64_t)endpoint[0] << 1);
    for (size_t i = 0; i < n; i++)
        s->by_endpoint[endpoint[i]] = c;
    c->index = s->nclients;
    s->client[s->nclients++] = c;
    s->wall_ns = wall_ns;
    start_running (c, s->now);
    if (++s->joined == s->size)
        s->started = true;
    return c;
}

void session_leave (struct client *c)
{
    struct session *s = c->session;
    struct client *last = s->client[--s->nclients];

    stop_running (c, CLIENT_STALLED);
    if (c->deadline.pos)
        heap_remove (s, &c->deadline);
    for (size_t i = 0; i < c->nends; i++)
        s->by_endpoint[c->end[i].endpoint] = NULL;
    s->client[c->index] = last;
    last->index = c->index;
    while (c->inbox) {
        struct session_message *msg = c->inbox;

        c->inbox = msg->next;
        free_message (s, msg);
    }
    /* the messages that it has sent still arrive */
    for (size_t i = 1; i <= s->nheap && c->under_way > 0; i++) {
        struct session_message *msg = (struct session_message *)s->heap[i];

        if (s->heap[i]->kind == EVENT_MESSAGE && msg->from == c)
            orphan (msg);
    }
    for (size_t i = 0; i < s->nclients && c->under_way > 0; i++)
        for (struct session_message *msg = s->client[i]->inbox; msg;
             msg = msg->next)
            if (msg->from == c)
                orphan (msg);
    free (c);
}

size_t session_clients (const struct session *s)
{
    return s->nclients;
}

static const struct session_path *find_path (struct session *s, uint32_t from,
                                             uint32_t to)
{
    uint32_t arc[PATH_MAX_HOPS];
    struct session_path *path;
    int n;

    if (!s->path[from])
        s->path[from] = xcalloc (model_fabric (s->model)->nends,
                                 sizeof (*s->path[from]));
    if (s->path[from][to])
        return s->path[from][to];
    n = model_path (s->model, from, to, arc);
    path = xarray (1, sizeof (*path) + (n > 0 ? n : 0) * sizeof (arc[0]));
    path->hops = n;
    if (n > 0)
        memcpy (path->arc, arc, n * sizeof (arc[0]));
    s->path[from][to] = path;
    return path;
}

static void set_path (struct session *s, struct session_message *msg)
{
    const struct session_path *path
        = find_path (s, msg->header.from, msg->header.to);

    msg->arc = path->arc;
    msg->hops = path->hops;
    msg->lost |= path->hops < 1;
}

/* The time in which a pad arrives, at the rate of the slowest link on its path.
 */
static int64_t tail (const struct emu_model *m,
                     const struct session_message *msg)
{
    int64_t longest = 0;

    for (int i = 0; i < msg->hops && msg->pad > 0; i++) {
        int64_t ns = model_bytes_ns (m, msg->arc[i], msg->pad);

        if (ns > longest)
            longest = ns;
    }
    return longest;
}

/* Set what is added at the end of a message's path. */
static void add_noise (const struct session *s, struct session_message *msg,
                       struct rng *rng)
{
    const struct fabric *f = model_fabric (s->model);

    msg->noise = model_noise (s->model, f->end[msg->header.from].endpoint,
                              msg->sent, msg->arc, msg->hops, rng);
    msg->tail = tail (s->model, msg);
    /* a waiting client relies on the first link's latency */
    if (msg->hops == 1 && msg->noise < 0)
        msg->noise = 0;
}

/* The port at the start of an arc, and at its end. */
static uint32_t port_of (const struct fabric *f, uint32_t arc)
{
    return arc % 2 ? f->link[arc / 2].b : f->link[arc / 2].a;
}

static bool is_there (const struct session *s,
                      const struct session_message *msg, uint32_t arc)
{
    const struct fabric *f = model_fabric (s->model);

    return port_of (f, arc ^ 1)
           == f->endpoint[f->end[msg->header.to].endpoint].port;
}

/* A random number that belongs to a message at this hop. */
static uint64_t draw (const struct session *s,
                      const struct session_message *msg)
{
    uint64_t x = model_seed (s->model) ^ s->number << 32;

    x = rng_mix (x ^ (uint64_t)msg->event.sender << 8 ^ (uint64_t)msg->hop);
    return rng_mix (x ^ msg->event.count);
}

/* What a switch makes of the headers of a flow: always the same. */
static uint64_t hash (const struct session *s, uint32_t node,
                      const struct session_header *h)
{
    const struct fabric_end *end = model_fabric (s->model)->end;
    uint64_t x = rng_mix (model_seed (s->model) ^ (uint64_t)node << 32);

    x = rng_mix (x ^ ((uint64_t)end[h->from].lid << 16 | end[h->to].lid));
    return rng_mix (x ^ ((uint64_t)h->own << 32 | h->other));
}

/* Choose among the links that are free first; the background counts, too. */
static uint32_t least_busy (const struct session *s,
                            const struct session_message *msg,
                            const struct branches *from)
{
    uint32_t best[CHOICES];
    size_t count = 0;
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < from->n; i++) {
        uint32_t arc = from->arc[i];
        int64_t free_ns = s->busy[arc] > msg->event.time ? s->busy[arc]
                                                         : msg->event.time;

        free_ns += (int64_t)model_flood (s->model)[arc].turn_ns;
        if (free_ns < least)
            count = 0;
        if (free_ns > least)
            continue;
        least = free_ns;
        best[count++] = arc;
    }
    return best[draw (s, msg) % count];
}

/* Whether a switch adapts, else it hashes. */
static bool adapts (const struct fabric_node *n, const struct session_header *h,
                    unsigned int lid)
{
    const struct fabric_spread *s = &n->spread;

    return (h->as.rc ? s->rc : s->ud) >> h->as.level & 1
           && !(s->entry && lid <= n->lft_top
                && s->entry[lid].state == SPREAD_HASHED);
}

/* What a switch may choose from. */
static const struct branches *find_branches (struct session *s, uint32_t node,
                                             const struct session_header *h)
{
    const struct fabric *f = model_fabric (s->model);
    const struct network *net = fabric_network (f);
    size_t n, class = 2 * h->as.level + h->as.rc;
    struct branches ***of = s->branch[class], *b;
    uint32_t arc[CHOICES] = { NETWORK_NONE };

    if (!of)
        of = s->branch[class] = xcalloc (f->nnodes, sizeof (*of));
    if (!of[node])
        of[node] = xcalloc (f->nends, sizeof (*of[node]));
    if (of[node][h->to])
        return of[node][h->to];
    n = net->hops (net->net, &h->as, node, h->to, arc, CHOICES);
    if (n == 0)
        net->hop (net->net, node, h->to, arc);
    b = xarray (1, sizeof (*b) + (n > 0 ? n : 1) * sizeof (arc[0]));
    b->n = n;
    memcpy (b->arc, arc, (n > 0 ? n : 1) * sizeof (arc[0]));
    of[node][h->to] = b;
    return b;
}

/* The next arc of a message whose path is not known; NETWORK_NONE: there is
 * none.
 */
static uint32_t choose (struct session *s, const struct session_message *msg)
{
    const struct fabric *f = model_fabric (s->model);
    const struct session_header *h = &msg->header;
    const struct branches *from;
    uint32_t node;

    if (msg->hop == 0)
        return model_first_arc (s->model, f->end[h->from].endpoint);
    node = f->port[port_of (f, msg->own[msg->hop - 1] ^ 1)].node;
    if (f->node[node].type != NODE_SWITCH || msg->hop == PATH_MAX_HOPS)
        return NETWORK_NONE;
    from = find_branches (s, node, h);
    if (from->n == 0)
        return from->arc[0];
    return adapts (&f->node[node], h, f->end[h->to].lid)
               ? least_busy (s, msg, from)
               : from->arc[hash (s, node, h) % from->n];
}

/* Extend the path of a message by the next link; the last one also tells what
 * depends on the whole path. Return false if there is none.
 */
static bool extend (struct session *s, struct session_message *msg)
{
    uint32_t arc = choose (s, msg);
    struct rng rng;

    if (arc == NETWORK_NONE)
        return false;
    msg->own[msg->hop] = arc;
    if (!is_there (s, msg, arc))
        return true;
    msg->hops = msg->hop + 1;
    rng_seed (&rng, draw (s, msg));
    add_noise (s, msg, &rng);
    return true;
}

static void drop (struct session *s, struct session_message *msg)
{
    s->stats->lost++;
    free_message (s, msg);
}

/* The message is at the start of its next link, at the event's time: it enters
 * the link when that is free and reaches the other end a latency later.
 */
static void enter_link (struct session *s, struct session_message *msg,
                        struct rng *rng)
{
    const struct fabric *f = model_fabric (s->model);
    int64_t start = msg->event.time, ns;
    const uint32_t *way;
    uint32_t arc, node;

    if (msg->hops > PATH_MAX_HOPS && !extend (s, msg)) {
        drop (s, msg);
        return;
    }
    way = &msg->arc[msg->hop++];
    arc = *way;
    if (f->port[port_of (f, arc)].dropped >> msg->header.as.level & 1) {
        drop (s, msg);
        return;
    }
    start += model_background (s->model, msg->hop > 1 ? way - 1 : NULL, arc,
                               rng);
    node = f->port[port_of (f, arc)].node;
    if ((ns = model_switch_busy (s->model, node, msg->len + msg->pad)) > 0) {
        if (start < s->through[node])
            start = s->through[node];
        s->through[node] = start + ns;
    }
    if (start < s->busy[arc])
        start = s->busy[arc];
    s->busy[arc] = start + model_busy (s->model, arc, msg->len + msg->pad);
    s->carried[arc].bytes += msg->len + msg->pad + SESSION_HEADER;
    s->carried[arc].packets++;
    msg->event.time = start + model_latency (s->model, arc);
    if (msg->hop == msg->hops) {
        msg->event.time += msg->noise + msg->tail;
        /* a message from a faster host does not arrive before it was sent */
        if (msg->event.time < start)
            msg->event.time = start;
    }
    heap_add (s, &msg->event);
}

/* A message to its own endpoint crosses no link: the adapter returns it. */
static void loop_back (struct session *s, struct session_message *msg)
{
    if (msg->noise < MODEL_LOOPBACK_LEAST_NS - MODEL_LOOPBACK_NS)
        msg->noise = MODEL_LOOPBACK_LEAST_NS - MODEL_LOOPBACK_NS;
    msg->event.time += MODEL_LOOPBACK_NS + msg->noise + msg->tail;
    heap_add (s, &msg->event);
}

/* The client of an end; NULL: none yet. */
static struct client *client_at (const struct session *s, uint32_t end)
{
    return s->by_endpoint[model_fabric (s->model)->end[end].endpoint];
}

int session_send (struct client *c, const struct session_header *header,
                  const uint8_t *data, size_t len, size_t pad,
                  struct error *err)
{
    uint32_t from = header->from, to = header->to;
    struct session *s = c->session;
    const struct fabric *f = model_fabric (s->model);
    struct session_message *msg;
    bool loops;

    if (from >= f->nends || client_at (s, from) != c)
        return error_input (err, "end %u is not the sender's", from);
    if (to >= f->nends)
        return error_input (err, "there is no end %u to send to", to);
    if (c->under_way >= SESSION_PENDING_MAX)
        return error_input (err, "more than %d messages under way",
                            SESSION_PENDING_MAX);
    loops = f->end[to].endpoint == f->end[from].endpoint;
    if ((msg = s->unused))
        s->unused = msg->next;
    else
        msg = xarray (1, sizeof (*msg));
    if (c->clock < s->now && c->state == CLIENT_STALLED)
        c->clock = s->now;
    msg->event = (struct session_event){ c->clock, EVENT_MESSAGE, from,
                                         c->sent++, 0 };
    msg->header = *header;
    msg->from = c;
    msg->hop = msg->hops = 0;
    msg->len = (uint16_t)len;
    msg->pad = (uint16_t)pad;
    msg->lost = !loops && model_lost (s->model, &c->rng);
    msg->sent = c->clock;
    msg->arc = msg->own;
    if (s->spreads && !loops)
        msg->hops = PATH_MAX_HOPS + 1;
    else {
        if (!loops)
            set_path (s, msg);
        add_noise (s, msg, &c->rng);
    }
    memcpy (msg->data, data, len);
    c->under_way++;
    if (msg->lost)
        drop (s, msg);
    else if (loops)
        loop_back (s, msg);
    else
        enter_link (s, msg, &c->rng);
    return 0;
}

static void deliver_message (struct client *c, struct session_message *msg)
{
    struct session *s = c->session;
    int64_t time = msg->event.time > c->clock ? msg->event.time : c->clock;

    if (c->deadline.pos)
        heap_remove (s, &c->deadline);
    start_running (c, time);
    s->stats->messages++;
    s->deliver (c->owner, time, &msg->header, msg->data, msg->len);
    free_message (s, msg);
}

void session_wait (struct client *c, int64_t deadline)
{
    struct session *s = c->session;

    if (c->state == CLIENT_WAITS)
        return;
    if (c->state == CLIENT_STALLED && c->clock < s->now)
        c->clock = s->now;
    stop_running (c, CLIENT_WAITS);
    if (deadline < c->clock)
        deadline = c->clock;
    if (deadline > TIME_MAX)
        deadline = INT64_MAX;
    if (c->inbox && c->inbox->event.time <= deadline) {
        struct session_message *msg = c->inbox;

        if (!(c->inbox = msg->next))
            c->inbox_end = &c->inbox;
        c->ninbox--;
        deliver_message (c, msg);
        return;
    }
    c->deadline.time = deadline;
    heap_add (s, &c->deadline);
}

static void arrive (struct session *s, struct session_message *msg)
{
    struct client *c = client_at (s, msg->header.to);

    if (!c || c->ninbox >= SESSION_PENDING_MAX)
        drop (s, msg);
    else if (c->state == CLIENT_WAITS)
        deliver_message (c, msg);
    else {
        msg->next = NULL;
        *c->inbox_end = msg;
        c->inbox_end = &msg->next;
        c->ninbox++;
    }
}

static void check_stalled (struct session *s)
{
    for (size_t i = s->nrunning; i-- > 0;) {
        struct client *c = s->running[i];

        if (s->wall_ns - c->since_wall > s->stall_ns)
            stop_running (c, CLIENT_STALLED);
    }
}

static struct carried carry (const struct session *s, uint32_t arc,
                             int64_t until)
{
    const struct flood_arc *flood = &model_flood (s->model)[arc];
    double ns = (double)(until - s->settled);
    struct carried c = s->carried[arc];

    c.bytes += flood->rate * ns;
    c.packets += flood->rate * ns / FLOOD_PACKET;
    if (flood->ahead_ns > 0)
        c.waited += ns / model_byte_ns (s->model, arc) - flood->rate * ns;
    return c;
}

void session_settle (struct session *s)
{
    uint32_t narcs = (uint32_t)(2 * model_fabric (s->model)->nlinks);

    for (uint32_t arc = 0; arc < narcs; arc++)
        s->carried[arc] = carry (s, arc, s->now);
    s->settled = s->now;
}

void session_count (struct client *c, uint32_t endpoint,
                    struct session_count *count)
{
    const struct session *s = c->session;
    int64_t until = c->clock > s->settled ? c->clock : s->settled;
    uint32_t out = model_first_arc (s->model, endpoint);
    struct carried sent = carry (s, out, until);
    struct carried received = carry (s, out ^ 1, until);

    *count = (struct session_count){
        .sent = sent.bytes, .sent_packets = sent.packets,
        .received = received.bytes, .received_packets = received.packets,
        .waited = sent.waited,
    };
}

void session_run (struct session *s, int64_t wall_ns)
{
    s->wall_ns = wall_ns;
    if (!s->started) {
        if (wall_ns - s->first_wall < SESSION_START_LIMITS * s->stall_ns)
            return;
        s->started = true;
    }
    check_stalled (s);
    if (s->stale)
        recompute_horizon (s);
    while (s->nheap > 0 && s->heap[1]->time < s->horizon) {
        struct session_event *ev = s->heap[1];

        heap_remove (s, ev);
        if (ev->time > s->now)
            s->now = ev->time;
        if (ev->kind == EVENT_DEADLINE) {
            struct client *c = (struct client *)ev;

            start_running (c, ev->time);
            s->deliver (c->owner, ev->time, NULL, NULL, 0);
        }
        else {
            struct session_message *msg = (struct session_message *)ev;

            if (msg->hop < msg->hops)
                enter_link (s, msg, msg->from ? &msg->from->rng : &s->rng);
            else
                arrive (s, msg);
        }
    }
}
