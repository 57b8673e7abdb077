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
 * A flow begins when its first byte has passed its host's link: until then, no
 * other client notices. So its beginning, too, is never before the horizon.
 *
 * What switches may choose from does not change while a fabric is emulated, so
 * it is looked up once. Messages are all of one size, and used again.
 */
#include "config.h"
#include "tests/emu/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/spread.h"
#include "probe/bulk.h"
#include "tests/emu/background.h"
#include "tests/emu/fluid.h"
#include "util/alloc.h"

/* A later deadline never passes, so that no clock overflows. */
#define TIME_MAX (INT64_MAX / 2)

enum event_kind { EVENT_MESSAGE, EVENT_PART, EVENT_FLOW, EVENT_DEADLINE };

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

/* A part of a flow keeps a link as busy for switches that adapt. */
enum { FLOW_WEIGHS_NS = 1000000 };

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
    uint16_t len;
    bool lost;
    int64_t sent; /* time */
    int64_t noise;
    uint8_t data[SESSION_DATA_MAX];
    uint32_t own[PATH_MAX_HOPS]; /* the path so far, if switches choose it */
};

struct session_part {
    struct session_event event; /* first: it ends */
    struct session_flow *flow;
    struct fluid_flow fluid;
    double left; /* bytes */
};

/* A flow of the background, while there are bursts. */
struct session_other {
    struct fluid_flow fluid; /* its owner is NULL */
    int64_t told;
};

/* One direction of a burst. */
struct session_flow {
    struct session_event event;       /* first: it begins; all of it is there */
    struct session_flow *next, *prev; /* of the session's */
    struct session_header header;
    uint64_t bytes;
    bool strict;
    bool kept; /* of messages */
    bool loops;
    struct client *from; /* who sends, and waits for its end */
    struct client *to;   /* who waits for it; NULL: nobody, yet */
    bool unwanted;       /* nobody any more */
    bool there;
    int64_t called;  /* when its sender did */
    int64_t latency; /* from its path's second link on */
    struct bulk_point *arrived; /* [points] */
    size_t points;
    size_t running; /* parts */
    size_t parts;
    struct session_part part[];
};

enum client_state { CLIENT_RUNS, CLIENT_WAITS, CLIENT_BURSTS, CLIENT_STALLED };

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
    struct client_burst {
        struct session_burst as;
        struct session_flow *out, *in; /* NULL: none, or it has ended; a
                                          loopback is both */
        bool taken;                    /* a flow was, in */
    } burst[SESSION_BURSTS_MAX];
    size_t nbursts;
    size_t open; /* flows that are to end */
    int64_t ended; /* the last one */
    bool serves;
    session_done_f done;
    struct client_end own[];
};

struct carried {
    double bytes, packets, waited, again;
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
    struct fluid *fluid;
    struct session_flow *flow;   /* all */
    size_t flowing;              /* parts of flows */
    struct background *background;
    struct session_other *other; /* [nothers] if parts flow */
    size_t nothers;
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

static void move_flow (void *to, struct fluid_flow *fluid, int64_t now,
                       double bytes);
static void leave_flows (struct client *c);

static void create_background (struct session *s)
{
    background_destroy (s->background);
    s->background = background_create (
        s->model, rng_mix (model_seed (s->model) ^ s->number), s->now);
}

static double resource_rate (const void *of, uint32_t resource)
{
    return model_resource_rate (of, resource);
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
    s->fluid
        = fluid_create (model_resources (m), resource_rate, m, move_flow, s);
    create_background (s);
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
    background_destroy (s->background);
    fluid_destroy (s->fluid);
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
    leave_flows (c);
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

/* Set what is added at the end of a message's path. */
static void add_noise (const struct session *s, struct session_message *msg,
                       struct rng *rng)
{
    const struct fabric *f = model_fabric (s->model);

    msg->noise = model_noise (s->model, f->end[msg->header.from].endpoint,
                              msg->sent, msg->arc, msg->hops, rng);
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

        free_ns += (int64_t)background_arcs (s->background)[arc].turn_ns;
        free_ns += FLOW_WEIGHS_NS * (int64_t)fluid_flows (s->fluid, arc);
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
    start += model_background (s->model, background_arcs (s->background),
                               msg->hop > 1 ? way - 1 : NULL, arc, rng);
    node = f->port[port_of (f, arc)].node;
    if ((ns = model_switch_busy (s->model, node, msg->len)) > 0) {
        if (start < s->through[node])
            start = s->through[node];
        s->through[node] = start + ns;
    }
    if (start < s->busy[arc])
        start = s->busy[arc];
    s->busy[arc] = start + model_busy (s->model, arc, msg->len);
    s->carried[arc].bytes += msg->len + SESSION_HEADER;
    s->carried[arc].packets++;
    msg->event.time = start + model_latency (s->model, arc);
    if (msg->hop == msg->hops) {
        msg->event.time += msg->noise;
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
    msg->event.time += MODEL_LOOPBACK_NS + msg->noise;
    heap_add (s, &msg->event);
}

/* The client of an end; NULL: none yet. */
static struct client *client_at (const struct session *s, uint32_t end)
{
    return s->by_endpoint[model_fabric (s->model)->end[end].endpoint];
}

int session_send (struct client *c, const struct session_header *header,
                  const uint8_t *data, size_t len, struct error *err)
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

/* The client runs no more until then. */
static void set_deadline (struct client *c, enum client_state state,
                          int64_t deadline)
{
    struct session *s = c->session;

    if (c->state == CLIENT_STALLED && c->clock < s->now)
        c->clock = s->now;
    stop_running (c, state);
    if (deadline < c->clock)
        deadline = c->clock;
    if (deadline > TIME_MAX)
        deadline = INT64_MAX;
    c->deadline.time = deadline;
    heap_add (s, &c->deadline);
}

/* Deliver what has waited for the client, if it is not after its deadline.
 * Return whether there was something.
 */
static bool deliver_first (struct client *c)
{
    struct session_message *msg = c->inbox;

    if (!msg || msg->event.time > c->deadline.time)
        return false;
    if (!(c->inbox = msg->next))
        c->inbox_end = &c->inbox;
    c->ninbox--;
    deliver_message (c, msg);
    return true;
}

void session_wait (struct client *c, int64_t deadline)
{
    if (c->state == CLIENT_WAITS || c->state == CLIENT_BURSTS)
        return;
    set_deadline (c, CLIENT_WAITS, deadline);
    deliver_first (c);
}

static void arrive (struct session *s, struct session_message *msg)
{
    struct client *c = client_at (s, msg->header.to);

    if (!c || c->ninbox >= SESSION_PENDING_MAX)
        drop (s, msg);
    else if (c->state == CLIENT_WAITS
             || (c->state == CLIENT_BURSTS && c->serves))
        deliver_message (c, msg);
    else {
        msg->next = NULL;
        *c->inbox_end = msg;
        c->inbox_end = &msg->next;
        c->ninbox++;
    }
}

/*
 * Bursts
 */

/* What an arc has carried. While there are bursts, the background's flows are
 * counted one by one.
 */
static struct carried carry (const struct session *s, uint32_t arc,
                             int64_t until)
{
    const struct flood_arc *flood = &background_arcs (s->background)[arc];
    double ns = (double)(until - s->settled);
    struct carried c = s->carried[arc];

    if (s->nothers == 0) {
        c.bytes += flood->rate * ns;
        c.packets += flood->rate * ns / FLOOD_PACKET;
    }
    if (flood->ahead_ns > 0)
        c.waited += ns / model_byte_ns (s->model, arc) - flood->rate * ns;
    return c;
}

/* Account for the background until now. */
static void settle (struct session *s)
{
    uint32_t narcs = (uint32_t)(2 * model_fabric (s->model)->nlinks);

    for (uint32_t arc = 0; arc < narcs; arc++)
        s->carried[arc] = carry (s, arc, s->now);
    s->settled = s->now;
}

static void count_bulk (struct session *s, uint32_t arc, double packets)
{
    s->carried[arc].bytes += packets * (MODEL_MTU + MODEL_MTU_HEADER);
    s->carried[arc].packets += packets;
}

static void note_arrived (struct session_flow *flow, int64_t now)
{
    double there = (double)flow->bytes;
    uint64_t before = flow->points ? flow->arrived[flow->points - 1].bytes : 0;

    for (size_t i = 0; i < flow->parts; i++)
        there -= flow->part[i].left;
    flow->arrived = xgrow (flow->arrived, flow->points,
                           sizeof (*flow->arrived));
    bulk_arrive (flow->arrived, &flow->points, now,
                 (uint64_t)fmax (there, 0) - before);
}

/* A part has moved data, and goes on at another rate. */
static void move_part (struct session *s, struct session_part *p, int64_t now,
                       double bytes)
{
    const struct fluid_flow *fluid = &p->fluid;
    const struct session_header *h = &p->flow->header;
    const struct fabric *f = model_fabric (s->model);
    uint32_t out = model_first_arc (s->model, f->end[h->from].endpoint);
    uint32_t in = 1 ^ model_first_arc (s->model, f->end[h->to].endpoint);
    double packets, again = 0;

    bytes = fmin (bytes, p->left);
    packets = bytes / MODEL_MTU;
    p->left -= bytes;
    note_arrived (p->flow, now);
    for (size_t i = 0; i < fluid->uses; i++) {
        uint32_t arc = fluid->resource[i];

        if (arc >= 2 * f->nlinks)
            continue;
        count_bulk (s, arc, packets);
        again += packets * model_retried (s->model, arc_link (arc));
    }
    if (p->flow->loops) {
        count_bulk (s, out, packets);
        count_bulk (s, in, packets);
    }
    s->carried[out].again += again;
    s->carried[in].again += again;
    if (p->event.pos)
        heap_remove (s, &p->event);
    if (fluid->rate <= 0)
        return;
    p->event.time = now + (int64_t)ceil (p->left / fluid->rate);
    heap_add (s, &p->event);
}

/* One of the background has. */
static void move_other (struct session *s, struct session_other *o, int64_t now,
                        double bytes)
{
    const double whole = (double)(MODEL_MTU + MODEL_MTU_HEADER) / MODEL_MTU;
    double alone = o->fluid.cap * (double)(now - o->told);

    o->told = now;
    for (size_t i = 0; i < o->fluid.uses; i++)
        if (o->fluid.resource[i] < 2 * model_fabric (s->model)->nlinks)
            count_bulk (s, o->fluid.resource[i], bytes / MODEL_MTU);
    s->stats->others += whole * alone;
    s->stats->others_lost += whole * (alone - bytes);
}

static void move_flow (void *to, struct fluid_flow *fluid, int64_t now,
                       double bytes)
{
    if (fluid->owner)
        move_part (to, fluid->owner, now, bytes);
    else
        move_other (to, (struct session_other *)fluid, now, bytes);
}

/* Others' flows share with bursts from now on. */
static void join_others (struct session *s)
{
    size_t n;
    const struct flood_flow *flow = background_flows (s->background, &n);
    const struct model_flow *of = model_flows (s->model, &(size_t){ 0 });

    settle (s);
    s->other = xcalloc (n, sizeof (*s->other));
    for (size_t i = 0; i < n; i++) {
        struct session_other *o = &s->other[s->nothers];

        if (flow[i].rate <= 0)
            continue;
        s->nothers++;
        o->told = s->now;
        o->fluid.cap
            = flow[i].rate * MODEL_MTU / (MODEL_MTU + MODEL_MTU_HEADER);
        o->fluid.uses = model_uses (s->model, of[i].from, of[i].to, flow[i].arc,
                                    flow[i].hops, o->fluid.resource);
        fluid_join (s->fluid, &o->fluid, s->now);
    }
}

static void release_others (struct session *s)
{
    for (size_t i = 0; i < s->nothers; i++)
        fluid_leave (s->fluid, &s->other[i].fluid, s->now);
    settle (s);
    free (s->other);
    s->other = NULL;
    s->nothers = 0;
}

static void begin_part (struct session *s, struct session_part *p)
{
    if (s->flowing++ == 0)
        join_others (s);
    fluid_begin (s->fluid, &p->fluid, s->now);
}

static void stop_part (struct session *s, struct session_part *p)
{
    fluid_end (s->fluid, &p->fluid, s->now);
    if (--s->flowing == 0)
        release_others (s);
}

/* The next flow of the background pauses or goes on, before `time`. */
static void turn_others (struct session *s, int64_t time)
{
    int64_t next = background_next (s->background);

    if (next > s->now)
        s->now = next;
    if (s->flowing > 0)
        release_others (s);
    settle (s);
    background_turn (s->background, time);
    if (s->flowing > 0) {
        join_others (s);
        fluid_share (s->fluid, s->now);
    }
}

void session_update (struct session *s)
{
    if (s->flowing > 0)
        release_others (s);
    settle (s);
    create_background (s);
    if (s->flowing > 0) {
        join_others (s);
        fluid_share (s->fluid, s->now);
    }
}

static void free_flow (struct session *s, struct session_flow *flow)
{
    if (flow->next)
        flow->next->prev = flow->prev;
    if (flow->prev)
        flow->prev->next = flow->next;
    else
        s->flow = flow->next;
    free (flow->arrived);
    free (flow);
}

/* The flow ends where it is. */
static void cancel_flow (struct session *s, struct session_flow *flow)
{
    for (size_t i = 0; i < flow->parts; i++)
        if (flow->part[i].fluid.rate > 0)
            stop_part (s, &flow->part[i]);
    if (flow->event.pos)
        heap_remove (s, &flow->event);
    for (size_t i = 0; flow->to && i < flow->to->nbursts; i++)
        if (flow->to->burst[i].in == flow)
            flow->to->burst[i].in = NULL;
    for (size_t i = 0; flow->from && i < flow->from->nbursts; i++)
        if (flow->from->burst[i].out == flow)
            flow->from->burst[i].out = NULL;
    free_flow (s, flow);
}

static void finish_bursts (struct client *c, int64_t time)
{
    struct session_burst burst[SESSION_BURSTS_MAX];
    size_t n = c->nbursts;

    if (c->deadline.pos)
        heap_remove (c->session, &c->deadline);
    for (size_t i = 0; i < n; i++) {
        struct client_burst *b = &c->burst[i];

        if (b->out)
            cancel_flow (c->session, b->out);
        if (b->in) {
            b->in->unwanted = true;
            b->in->to = NULL;
        }
        burst[i] = b->as;
    }
    c->nbursts = 0;
    start_running (c, time > c->clock ? time : c->clock);
    c->done (c->owner, c->clock, burst, n);
}

static void count_ended (struct client *c)
{
    c->ended = c->session->now;
    if (--c->open == 0 && c->state == CLIENT_BURSTS)
        finish_bursts (c, c->ended);
}

/* All of the flow is at its receiver, who has called. */
static void take_flow (struct client_burst *b, const struct session_flow *flow)
{
    b->in = NULL;
    b->as.lost = false;
    b->as.bits = bulk_best (flow->arrived, flow->points);
    b->as.there = flow->arrived[flow->points - 1].ns + flow->latency;
}

/* All of it is there. */
static void arrive_flow (struct session *s, struct session_flow *flow)
{
    struct client *from = flow->from, *to = flow->loops ? NULL : flow->to;

    flow->there = true;
    flow->from = NULL;
    for (size_t i = 0; flow->to && i < flow->to->nbursts; i++)
        if (flow->to->burst[i].in == flow)
            take_flow (&flow->to->burst[i], flow);
    for (size_t i = 0; i < from->nbursts; i++)
        if (from->burst[i].out == flow) {
            from->burst[i].out = NULL;
            from->burst[i].as.lost &= !from->burst[i].as.deaf;
        }
    if (flow->to || flow->unwanted)
        free_flow (s, flow);
    count_ended (from);
    if (to)
        count_ended (to);
}

/* Whether it is what the client receives in this burst. */
static bool is_of (const struct session *s, const struct session_flow *flow,
                   const struct session_header *h)
{
    const struct fabric_end *end = model_fabric (s->model)->end;

    return end[flow->header.from].endpoint == end[h->to].endpoint
           && end[flow->header.to].endpoint == end[h->from].endpoint;
}

/* Look for the flow that comes to a burst: its sender called at most as long ago
 * as the deadline is ahead.
 */
static void look_for_flow (struct client *c, struct client_burst *b)
{
    struct session *s = c->session;
    struct session_flow *first = NULL;
    int64_t oldest = 2 * c->clock - c->deadline.time;

    for (struct session_flow *flow = s->flow, *next; flow; flow = next) {
        next = flow->next;
        if (flow->to || flow->unwanted || !is_of (s, flow, &b->as.header))
            continue;
        if ((first && !flow->kept) || flow->called < oldest) {
            flow->unwanted = true;
            if (flow->there)
                free_flow (s, flow);
            continue;
        }
        first = flow;
    }
    if (!first)
        return;
    b->taken = true;
    if (first->there) {
        take_flow (b, first);
        c->open--;
        /* the session may be ahead of the client */
        if (b->as.there > c->ended)
            c->ended = b->as.there;
        free_flow (s, first);
    }
    else {
        b->in = first;
        first->to = c;
    }
}

/* Give a flow to its receiver, if that has called. What was there before of its
 * kind is forgotten.
 */
static void offer_flow (struct session *s, struct session_flow *flow)
{
    struct client *c = client_at (s, flow->header.to);
    const struct session_header back
        = { .from = flow->header.to, .to = flow->header.from };

    for (struct session_flow *old = flow->next, *next; old; old = next) {
        next = old->next;
        if (old->there && !old->kept && is_of (s, old, &back))
            free_flow (s, old);
    }
    for (size_t i = 0; c && i < c->nbursts; i++) {
        struct client_burst *b = &c->burst[i];

        if (b->taken || !is_of (s, flow, &b->as.header))
            continue;
        b->taken = true;
        b->in = flow;
        flow->to = c;
        return;
    }
}

static struct session_flow *create_flow (struct client *c,
                                         const struct session_burst *b)
{
    struct session *s = c->session;
    const struct fabric *f = model_fabric (s->model);
    uint32_t own = f->end[b->header.from].endpoint;
    bool loops = own == f->end[b->header.to].endpoint;
    size_t parts = s->spreads && !loops ? SESSION_PARTS : 1;
    struct session_flow *flow
        = xcalloc (1, sizeof (*flow) + parts * sizeof (flow->part[0]));
    int64_t first
        = loops ? MODEL_LOOPBACK_LEAST_NS
                : model_latency (s->model, model_first_arc (s->model, own));

    flow->event = (struct session_event){ c->clock + first, EVENT_FLOW,
                                          b->header.from, c->sent++, 0 };
    flow->header = b->header;
    flow->bytes = b->bytes;
    flow->strict = b->strict;
    flow->kept = b->messages;
    flow->loops = loops;
    flow->from = c;
    flow->called = c->clock;
    flow->parts = parts;
    for (size_t i = 0; i < parts; i++) {
        struct session_part *p = &flow->part[i];

        p->event = (struct session_event){ 0, EVENT_PART, b->header.from,
                                           c->sent++, 0 };
        p->flow = flow;
        p->left = (double)b->bytes / (double)parts;
        p->fluid.owner = p;
    }
    flow->next = s->flow;
    if (flow->next)
        flow->next->prev = flow;
    s->flow = flow;
    heap_add (s, &flow->event);
    return flow;
}

/* Find the path of a part, as that of a message of its queue pairs. Return its
 * hops; 0: there is none.
 */
static int find_part_path (struct session *s, const struct session_part *p,
                           uint32_t number, uint32_t *arc)
{
    const struct fabric *f = model_fabric (s->model);
    struct session_message msg = { .event = p->event,
                                   .header = p->flow->header,
                                   .hops = PATH_MAX_HOPS + 1 };
    int n = 0;

    msg.event.time = s->now;
    msg.header.own += number;
    msg.header.other += number;
    if (!s->spreads) {
        set_path (s, &msg);
        n = msg.hops > 0 ? msg.hops : 0;
        memcpy (arc, msg.arc, (size_t)n * sizeof (*arc));
    }
    else
        do {
            if ((arc[n] = choose (s, &msg)) == NETWORK_NONE)
                return 0;
            msg.own[msg.hop++] = arc[n];
        } while (!is_there (s, &msg, arc[n++]));
    for (int i = 0; i < n; i++)
        if (f->port[port_of (f, arc[i])].dropped >> msg.header.as.level & 1)
            return 0;
    return n;
}

/* The flow's first byte has left its host. Without a receiver or a path it never
 * ends.
 */
static void begin_flow (struct session *s, struct session_flow *flow)
{
    const struct fabric *f = model_fabric (s->model);
    uint32_t from = f->end[flow->header.from].endpoint;
    uint32_t to = f->end[flow->header.to].endpoint;
    uint32_t arc[PATH_MAX_HOPS];

    flow->running = flow->parts;
    note_arrived (flow, s->now);
    for (size_t i = 0; i < flow->parts; i++) {
        struct session_part *p = &flow->part[i];
        int64_t ns = 0;
        int n = 0;

        if (!client_at (s, flow->header.to)
            || (from != to
                && (n = find_part_path (s, p, (uint32_t)i, arc)) < 1))
            continue;
        p->fluid.uses
            = model_uses (s->model, from, to, arc, n, p->fluid.resource);
        p->fluid.cap = model_burst_cap (s->model, from, to, flow->strict,
                                        p->fluid.resource, p->fluid.uses,
                                        &flow->from->rng)
                       / (double)flow->parts;
        for (int k = 1; k < n; k++)
            ns += model_latency (s->model, arc[k]);
        if (ns > flow->latency)
            flow->latency = ns;
        begin_part (s, p);
    }
}

static void end_part (struct session *s, struct session_part *p)
{
    struct session_flow *flow = p->flow;

    stop_part (s, p);
    if (--flow->running > 0)
        return;
    flow->event.time = s->now + flow->latency;
    heap_add (s, &flow->event);
}

/* The client is gone: nothing is sent to it or from it any more. */
static void leave_flows (struct client *c)
{
    struct session *s = c->session;

    for (struct session_flow *flow = s->flow, *next; flow; flow = next) {
        next = flow->next;
        if (client_at (s, flow->header.from) == c
            || client_at (s, flow->header.to) == c)
            cancel_flow (s, flow);
    }
}

static int check_burst (const struct client *c, const struct session_burst *b,
                        struct error *err)
{
    const struct session *s = c->session;
    const struct fabric *f = model_fabric (s->model);

    if (b->header.from >= f->nends || client_at (s, b->header.from) != c)
        return error_input (err, "end %u is not the sender's", b->header.from);
    if (b->header.to >= f->nends)
        return error_input (err, "there is no end %u for a burst",
                            b->header.to);
    if (b->bytes < !b->messages || (double)b->bytes > SESSION_BURST_MAX)
        return error_input (err, "a burst has from 1 to %g bytes",
                            SESSION_BURST_MAX);
    return 0;
}

int session_bulk (struct client *c, const struct session_burst *burst, size_t n,
                  int64_t deadline, session_done_f done, struct error *err)
{
    struct session *s = c->session;

    if (c->state == CLIENT_WAITS || c->state == CLIENT_BURSTS)
        return error_input (err, "the client waits already");
    if ((n > 0) == (c->nbursts > 0) || n > SESSION_BURSTS_MAX)
        return error_input (err, "not from 1 to %d bursts at once",
                            SESSION_BURSTS_MAX);
    for (size_t i = 0; i < n; i++)
        if (check_burst (c, &burst[i], err) < 0)
            return -1;
    set_deadline (c, CLIENT_BURSTS, deadline);
    if (n > 0) {
        c->nbursts = n;
        c->open = 0;
        c->done = done;
        c->serves = burst[0].serves;
        c->ended = c->clock;
    }
    for (size_t i = 0; i < n; i++) {
        struct client_burst *b = &c->burst[i];

        *b = (struct client_burst){ .as = burst[i] };
        b->as.lost = true;
        b->as.bits = 0;
        b->as.there = c->clock;
        b->taken = burst[i].messages && burst[i].deaf;
        b->out = burst[i].bytes > 0 ? create_flow (c, &burst[i]) : NULL;
        c->open += b->out != NULL;
        if (b->out && b->out->loops) {
            b->in = b->out;
            b->in->to = c;
            b->taken = true;
            continue;
        }
        if (!b->taken) {
            c->open++;
            look_for_flow (c, b);
        }
        if (b->out)
            offer_flow (s, b->out);
    }
    if (c->open == 0)
        finish_bursts (c, c->ended);
    else if (c->serves)
        deliver_first (c);
    return 0;
}

static void check_stalled (struct session *s)
{
    for (size_t i = s->nrunning; i-- > 0;) {
        struct client *c = s->running[i];

        if (s->wall_ns - c->since_wall > s->stall_ns)
            stop_running (c, CLIENT_STALLED);
    }
}

/* What flows have moved that was not yet counted. */
static void add_untold (const struct session *s, uint32_t arc, int64_t until,
                        struct carried *c)
{
    double packets = fluid_untold (s->fluid, arc, until) / MODEL_MTU;

    c->bytes += packets * (MODEL_MTU + MODEL_MTU_HEADER);
    c->packets += packets;
}

void session_count (struct client *c, uint32_t endpoint,
                    struct session_count *count)
{
    const struct session *s = c->session;
    int64_t until = c->clock > s->settled ? c->clock : s->settled;
    uint32_t out = model_first_arc (s->model, endpoint);
    struct carried sent = carry (s, out, until);
    struct carried received = carry (s, out ^ 1, until);

    add_untold (s, out, until, &sent);
    add_untold (s, out ^ 1, until, &received);
    *count = (struct session_count){
        .sent = sent.bytes,
        .sent_packets = sent.packets,
        .received = received.bytes,
        .received_packets = received.packets,
        .waited = sent.waited,
        .sent_again = sent.again,
        .received_again = received.again,
    };
}

static void pass_deadline (struct client *c)
{
    struct session *s = c->session;

    if (c->state == CLIENT_BURSTS) {
        finish_bursts (c, c->deadline.time);
        return;
    }
    start_running (c, c->deadline.time);
    s->deliver (c->owner, c->deadline.time, NULL, NULL, 0);
}

static void handle_event (struct session *s, struct session_event *ev)
{
    struct session_message *msg = (struct session_message *)ev;
    struct session_flow *flow = (struct session_flow *)ev;

    switch (ev->kind) {
    case EVENT_MESSAGE:
        if (msg->hop < msg->hops)
            enter_link (s, msg, msg->from ? &msg->from->rng : &s->rng);
        else
            arrive (s, msg);
        break;
    case EVENT_PART:
        end_part (s, (struct session_part *)ev);
        break;
    case EVENT_FLOW:
        if (flow->points == 0)
            begin_flow (s, flow);
        else
            arrive_flow (s, flow);
        break;
    case EVENT_DEADLINE:
        pass_deadline ((struct client *)ev);
        break;
    }
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

        if (background_next (s->background) <= ev->time) {
            turn_others (s, ev->time);
            continue;
        }
        heap_remove (s, ev);
        if (ev->time > s->now)
            s->now = ev->time;
        handle_event (s, ev);
    }
}
