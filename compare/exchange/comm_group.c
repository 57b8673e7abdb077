/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm over a group: reliable trains of packets over its letters.
 *
 * Notes: whatever must arrive is requested by the side that waits for it: the
 * receiver waits for packets, the sender for room in its window. The handler of
 * letters works in any call of the group. A packet that arrives early is kept.
 * Missing packets are sent again only on request, so that packets that the
 * network reorders are not taken for lost; for that, sizes are kept, not bytes.
 *
 * Letters, by kind; numbers are of packets, from 1 on for each direction:
 *
 *     packet 1   number; data: the first packet that its sender misses 4; the
 *                end of a message 1, of a note 2 or neither 0 1; age 1; a
 *                note's bytes
 *     has 2      the first packet missed; data: bit i: that + i is here 8
 *     asks 3     as has; its receiver sends the missing packets, and answers
 *     answers 4  as has; its receiver sends the missing packets
 *
 * collect and tell send data as notes: the length in 8 bytes, then the pieces.
 * A member sends to process 0 when it gets an empty note: its port has no
 * receives for all at once.
 */
#include "config.h"
#include "compare/exchange/comm_group.h"

#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/alloc.h"

enum letter_kind { PACKET = 1, HAS, ASKS, ANSWERS };

enum packet_flag { END = 1, NOTE = 2 };

enum {
    PACKET_HEADER = 6,
    STATE_SIZE = 8,
    TELL_EVERY = COMM_GROUP_WINDOW / 4, /* packets */
    ASK_FIRST = 16,                     /* gaps */
    ASK_TIMES = 12, /* questions without an answer: the member is dead */
    BLOB_MAX = 1 << 28,
    PULLED = 16,  /* members to collect from at a time */
    LINGER = 500, /* gaps in which the last answer may be requested again */
};

/* A queue of elements of one size. */
struct fifo {
    void *v;
    size_t first, end; /* its elements are first .. end - 1 of v */
};

struct stream_packet { /* a packet on its way, or one that arrived early */
    uint16_t pad;
    uint8_t flags;
    uint8_t age; /* of the message */
    uint8_t len; /* of the note */
    uint8_t note[COMM_GROUP_NOTE_MAX];
};

struct outgoing { /* a message that is not completely sent */
    size_t left;
    bool is_note, started;
    uint8_t age;
    uint8_t len; /* of the note */
    uint8_t note[COMM_GROUP_NOTE_MAX];
};

struct note {
    uint8_t len;
    uint8_t data[COMM_GROUP_NOTE_MAX];
};

struct stream_peer {
    /* out: first .. next-1 are on their way, as far as is known */
    uint32_t first, next;
    uint64_t has; /* bit i: the peer has first + i */
    struct stream_packet *out; /* [COMM_GROUP_WINDOW] by number, or NULL */
    struct fifo queue; /* of struct outgoing */
    bool pending; /* in the list of peers that something can be sent to */

    /* in: all packets before `missed` are here */
    uint32_t missed;
    uint64_t here; /* bit i: packet missed + i is here */
    struct stream_packet *in;
    uint32_t untold; /* packets not acknowledged yet */
    uint64_t arrived; /* messages that were not taken yet */
    uint64_t early;   /* the same, of the next age */
    uint64_t wanted;  /* receives that were started */
    int64_t moved;    /* time of the last packet from it */
    struct fifo notes; /* of struct note */
};

/* What is waited for. */
enum awaited {
    NOTHING,
    SENT,      /* all messages to a member have left, ... */
    HERE,      /* a message of a member is here, ... */
    NOTED,     /* a note of a member is here, or the member is dead */
    ANY,       /* a message of any member is here, or it is too late */
    ONE_EVENT, /* a started message is done, ... */
    ALL_DONE,  /* all of them are, or there are none */
};

struct comm_group {
    struct group *g;
    const char *const *host;
    uint32_t n;
    bool *ready;   /* [n] prepared for pings */
    int64_t epoch; /* end of the last barrier, from which turns count */

    size_t chunk; /* largest pad; 0: messages have no length */
    struct stream_peer *peer; /* [n] */
    struct fifo pending; /* of members, each at most once */
    bool owing;           /* packets may have to be acknowledged, ... */
    int64_t owing_since;  /* ... since then */
    uint64_t flight;  /* packets on their way */
    uint8_t age;
    uint64_t arrived; /* messages, of all peers */
    uint32_t last_any;
    uint64_t started; /* messages started and not done */
    struct fifo events; /* of struct comm_done */

    enum awaited awaited;
    uint32_t of;      /* the member */
    int64_t until;    /* of ANY */
    bool given_up;    /* of HERE: the message is lost */
};

/*
 * Queues
 */

/* Room for one more element at the end. */
static void *queue_add (struct fifo *q, size_t size)
{
    char *v = q->v;

    if (q->first > 0 && 2 * q->first >= q->end) {
        q->end -= q->first;
        memmove (v, v + q->first * size, q->end * size);
        q->first = 0;
    }
    q->v = v = xgrow (q->v, q->end, size);
    return v + q->end++ * size;
}

static bool is_empty (const struct fifo *q)
{
    return q->first == q->end;
}

static void add_member (struct fifo *q, uint32_t m)
{
    *(uint32_t *)queue_add (q, sizeof (m)) = m;
}

static uint32_t take_member (struct fifo *q)
{
    return ((uint32_t *)q->v)[q->first++];
}

/* The first message to a peer; NULL: none. */
static struct outgoing *first_out (const struct stream_peer *p)
{
    return is_empty (&p->queue) ? NULL
                                : (struct outgoing *)p->queue.v
                                      + p->queue.first;
}

static bool take_event (struct comm_group *c, struct comm_done *done)
{
    if (is_empty (&c->events))
        return false;
    *done = ((struct comm_done *)c->events.v)[c->events.first++];
    return true;
}

/*
 * Creation
 */

static int receive_letter (void *arg, size_t member,
                           const struct group_letter *letter,
                           struct error *err);

struct comm_group *comm_group_open (struct group *g, const char *const *host)
{
    struct comm_group *c = xcalloc (1, sizeof (*c));

    c->g = g;
    c->host = host;
    c->n = (uint32_t)g->n;
    c->ready = xcalloc (c->n, sizeof (*c->ready));
    c->chunk = group_pad_max (g, PACKET_HEADER);
    c->peer = xcalloc (c->n, sizeof (*c->peer));
    for (uint32_t m = 0; m < c->n; m++)
        c->peer[m].first = c->peer[m].next = c->peer[m].missed = 1;
    g->ping_size = GROUP_PING_MIN;
    g->take = receive_letter;
    g->take_arg = c;
    return c;
}

void comm_group_drop (struct comm_group *c)
{
    if (!c)
        return;
    c->g->take = NULL;
    for (uint32_t m = 0; m < c->n; m++) {
        free (c->peer[m].queue.v);
        free (c->peer[m].notes.v);
        free (c->peer[m].out);
        free (c->peer[m].in);
    }
    free (c->events.v);
    free (c->peer);
    free (c->pending.v);
    free (c->ready);
    free (c);
}

void comm_group_close (struct comm_group *c)
{
    struct error err;

    if (!c)
        return;
    group_attend (c->g, false);
    if (group_barrier (c->g, &err) == 0)
        group_until (c->g, group_now (c->g) + LINGER * group_gap (c->g),
                     &err);
    comm_group_drop (c);
}

/*
 * Started messages
 */

static void add_done_event (struct comm_group *c, uint32_t m, bool sent,
                            bool lost)
{
    *(struct comm_done *)queue_add (&c->events, sizeof (struct comm_done))
        = (struct comm_done){ m, sent, lost };
    c->started--;
}

/* A message has arrived: give it to a started receive, or keep it for the next.
 */
static void receive_message (struct comm_group *c, uint32_t m, uint8_t age)
{
    struct stream_peer *p = &c->peer[m];

    if (age != c->age)
        p->early += age == (uint8_t)(c->age + 1);
    else if (p->wanted > 0) {
        p->wanted--;
        add_done_event (c, m, false, false);
    }
    else {
        p->arrived++;
        c->arrived++;
    }
}

/* Give up the messages that are waited for from a member. */
static void give_up_messages (struct comm_group *c, uint32_t m)
{
    for (; c->peer[m].wanted > 0; c->peer[m].wanted--)
        add_done_event (c, m, false, true);
    c->given_up = c->given_up || (c->awaited == HERE && c->of == m);
}

/* The member is dead: end all messages from it and to it. */
static void drop_member (struct comm_group *c, uint32_t m)
{
    struct stream_peer *p = &c->peer[m];

    for (struct outgoing *o; (o = first_out (p)); p->queue.first++)
        if (o->started)
            add_done_event (c, m, true, true);
    c->flight -= p->next - p->first;
    p->first = p->next;
    give_up_messages (c, m);
}

/*
 * Sending
 */

/* Send a packet. It also acknowledges the packets of the peer. */
static int send_packet (struct comm_group *c, uint32_t m, uint32_t number,
                        struct error *err)
{
    struct stream_peer *p = &c->peer[m];
    const struct stream_packet *slot = &p->out[number % COMM_GROUP_WINDOW];
    uint8_t data[PACKET_HEADER + COMM_GROUP_NOTE_MAX];
    struct group_letter letter = {
        .kind = PACKET, .pad = slot->pad, .number = number, .data = data,
        .len = PACKET_HEADER + (size_t)slot->len,
    };

    wire_put (data, p->missed, 4);
    data[4] = slot->flags;
    data[5] = slot->age;
    memcpy (data + PACKET_HEADER, slot->note, slot->len);
    p->untold = 0;
    return group_send (c->g, m, &letter, err);
}

static int send_state (struct comm_group *c, uint32_t m, enum letter_kind kind,
                       struct error *err)
{
    struct stream_peer *p = &c->peer[m];
    uint8_t data[STATE_SIZE];
    struct group_letter letter = {
        .kind = (uint8_t)kind, .asks = kind == ASKS, .number = p->missed,
        .data = data, .len = sizeof (data),
    };

    wire_put (data, p->here, 8);
    p->untold = 0;
    return group_send (c->g, m, &letter, err);
}

static bool has_room (const struct stream_peer *p)
{
    return p->next - p->first < COMM_GROUP_WINDOW;
}

static void make_pending (struct comm_group *c, uint32_t m)
{
    struct stream_peer *p = &c->peer[m];

    if (p->pending || is_empty (&p->queue) || !has_room (p))
        return;
    p->pending = true;
    add_member (&c->pending, m);
}

/* Send the next packet of a peer's first message. */
static int send_next (struct comm_group *c, uint32_t m, struct error *err)
{
    struct stream_peer *p = &c->peer[m];
    struct outgoing *o = first_out (p);
    size_t bytes = o->left < c->chunk ? o->left : c->chunk;
    struct stream_packet *slot = &p->out[p->next % COMM_GROUP_WINDOW];

    o->left -= bytes;
    slot->pad = (uint16_t)bytes;
    slot->flags = o->left > 0 ? 0 : o->is_note ? NOTE : END;
    slot->age = o->age;
    slot->len = o->len;
    memcpy (slot->note, o->note, o->len);
    c->flight++;
    if (send_packet (c, m, p->next++, err) < 0)
        return -1;
    if (o->left > 0)
        return 0;
    p->queue.first++;
    if (o->started)
        add_done_event (c, m, true, false);
    return 0;
}

/* Send as much as allowed, one packet to each peer in turn. */
static int send_pending_packets (struct comm_group *c, struct error *err)
{
    while (!is_empty (&c->pending) && c->flight < COMM_GROUP_FLIGHT) {
        uint32_t m = take_member (&c->pending);
        struct stream_peer *p = &c->peer[m];

        p->pending = false;
        if (!is_empty (&p->queue) && has_room (p) && send_next (c, m, err) < 0)
            return -1;
        make_pending (c, m);
    }
    return 0;
}

/* Begin to send a message. */
static int post (struct comm_group *c, uint32_t m, const struct outgoing *o,
                 struct error *err)
{
    struct stream_peer *p = &c->peer[m];
    struct outgoing *last = queue_add (&p->queue, sizeof (*last));

    *last = *o;
    last->age = c->age;
    if (!p->out)
        p->out = xcalloc (COMM_GROUP_WINDOW, sizeof (*p->out));
    make_pending (c, m);
    return send_pending_packets (c, err);
}

/*
 * Receiving
 */

/* Note that the peer has all packets before `missed` and, of the following
 * ones, those in `here`.
 */
static void acknowledge_packets (struct comm_group *c, uint32_t m,
                                 uint32_t missed, uint64_t here)
{
    struct stream_peer *p = &c->peer[m];
    uint32_t gone = missed - p->first;

    /* an old message contains less than is known */
    if (gone > p->next - p->first)
        return;
    c->flight -= gone;
    p->first = missed;
    p->has = here | (gone < COMM_GROUP_WINDOW ? p->has >> gone : 0);
    make_pending (c, m);
}

static int send_again (struct comm_group *c, uint32_t m, struct error *err)
{
    struct stream_peer *p = &c->peer[m];

    for (uint32_t i = p->first; i != p->next; i++)
        if (!(p->has >> (i - p->first) & 1)
            && send_packet (c, m, i, err) < 0)
            return -1;
    return 0;
}

static void keep_note (struct comm_group *c, uint32_t m,
                       const struct stream_packet *slot)
{
    struct note *note = queue_add (&c->peer[m].notes, sizeof (*note));

    note->len = slot->len;
    memcpy (note->data, slot->note, slot->len);
}

static int delay_acknowledgement (struct comm_group *c, uint32_t m,
                                  struct error *err)
{
    struct stream_peer *p = &c->peer[m];

    if (++p->untold >= TELL_EVERY)
        return send_state (c, m, HAS, err);
    if (!c->owing)
        c->owing_since = group_now (c->g);
    c->owing = true;
    return 0;
}

static int on_packet (struct comm_group *c, uint32_t m,
                      const struct group_letter *letter, struct error *err)
{
    struct stream_peer *p = &c->peer[m];
    uint32_t ahead = letter->number - p->missed;
    struct stream_packet *slot;

    if (letter->len < PACKET_HEADER)
        return 0;
    acknowledge_packets (c, m, (uint32_t)wire_get (letter->data, 4), 0);
    if (ahead >= COMM_GROUP_WINDOW || (p->here >> ahead & 1))
        return 0;
    if (!p->in)
        p->in = xcalloc (COMM_GROUP_WINDOW, sizeof (*p->in));
    slot = &p->in[letter->number % COMM_GROUP_WINDOW];
    p->moved = group_now (c->g);
    slot->flags = letter->data[4];
    slot->age = letter->data[5];
    slot->len = (uint8_t)(letter->len - PACKET_HEADER);
    memcpy (slot->note, letter->data + PACKET_HEADER, slot->len);
    for (p->here |= UINT64_C (1) << ahead; p->here & 1; p->here >>= 1) {
        slot = &p->in[p->missed++ % COMM_GROUP_WINDOW];
        if (slot->flags == END)
            receive_message (c, m, slot->age);
        else if (slot->flags == NOTE)
            keep_note (c, m, slot);
    }
    return delay_acknowledgement (c, m, err);
}

static int receive_letter (void *arg, size_t member,
                           const struct group_letter *letter, struct error *err)
{
    struct comm_group *c = arg;
    uint32_t m = (uint32_t)member;
    int rc = 0;

    /* if it had only stalled, it gets no answer and takes this one for dead */
    if (c->g->member[member].dead)
        return 0;
    if (letter->kind == PACKET)
        rc = on_packet (c, m, letter, err);
    else if (letter->len == STATE_SIZE) {
        acknowledge_packets (c, m, letter->number, wire_get (letter->data, 8));
        if (letter->kind == ASKS || letter->kind == ANSWERS)
            rc = send_again (c, m, err);
        if (rc == 0 && letter->kind == ASKS)
            rc = send_state (c, m, ANSWERS, err);
    }
    return rc < 0 ? -1 : send_pending_packets (c, err);
}

/*
 * Waiting
 */

static bool is_dead (const struct comm_group *c, uint32_t m)
{
    return c->g->member[m].dead;
}

static bool is_wait_done (const struct comm_group *c)
{
    const struct stream_peer *p = &c->peer[c->of];

    switch (c->awaited) {
    case SENT:
        return is_empty (&p->queue) || is_dead (c, c->of);
    case HERE:
        return p->arrived > 0 || c->given_up || is_dead (c, c->of);
    case NOTED:
        return !is_empty (&p->notes) || is_dead (c, c->of);
    case ANY:
        return c->arrived > 0 || group_now (c->g) >= c->until;
    case ONE_EVENT:
        return !is_empty (&c->events) || c->started == 0;
    default:
        return c->started == 0;
    }
}

/* Whether anything is waited for from a member, be it room in its window. */
static bool is_awaited (const struct comm_group *c, uint32_t m)
{
    const struct stream_peer *p = &c->peer[m];

    return m != c->g->me
           && (c->awaited == ANY
               || ((c->awaited == HERE || c->awaited == NOTED) && c->of == m)
               || p->wanted > 0 || !is_empty (&p->queue)
               || (c->flight >= COMM_GROUP_FLIGHT && p->first != p->next));
}

static int send_acknowledgements (struct comm_group *c, struct error *err)
{
    c->owing = false;
    for (uint32_t m = 0; m < c->n; m++)
        if (c->peer[m].untold > 0 && send_state (c, m, HAS, err) < 0)
            return -1;
    return 0;
}

/* Whether this member has waited for a message of a living member for as long
 * as it waits for a silent one.
 */
static bool is_overdue (const struct comm_group *c, uint32_t m,
                        int64_t begin_ns)
{
    const struct stream_peer *p = &c->peer[m];
    int64_t since = p->moved > begin_ns ? p->moved : begin_ns;

    return (p->wanted > 0 || (c->awaited == HERE && c->of == m))
           && group_now (c->g) - since > group_dead_ns (c->g);
}

/* First handle all messages that have arrived, so that no member is considered
 * silent too soon. Ask all awaited members that have sent no letters since
 * lately_ns; drop those that have been silent since begin_ns. Give up overdue
 * messages.
 */
static int ask_awaited_members (struct comm_group *c, int64_t begin_ns,
                                int64_t lately_ns, struct error *err)
{
    int rc;

    do
        rc = group_turn (c->g, group_now (c->g), err);
    while (rc > 0);
    for (uint32_t m = 0; rc >= 0 && m < c->n; m++) {
        if (is_overdue (c, m, begin_ns))
            give_up_messages (c, m);
        if (!is_awaited (c, m) || c->g->member[m].spoke > lately_ns)
            continue;
        if (!group_listens (c->g, m, begin_ns))
            drop_member (c, m);
        else
            rc = send_state (c, m, ASKS, err);
    }
    return rc;
}

static int64_t min_int64 (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int wait_until_done (struct comm_group *c, struct error *err)
{
    int64_t gap = group_gap (c->g);
    int64_t longest = group_dead_ns (c->g) / ASK_TIMES;
    int64_t begin = group_now (c->g);
    int64_t interval = min_int64 (ASK_FIRST * gap, longest);
    int64_t next = begin + interval;

    while (!is_wait_done (c)) {
        int64_t now = group_now (c->g);
        int64_t tell = c->owing ? c->owing_since + gap : INT64_MAX;

        if (now >= tell) {
            if (send_acknowledgements (c, err) < 0)
                return -1;
        }
        else if (now >= next) {
            if (ask_awaited_members (c, begin, now - interval, err) < 0)
                return -1;
            interval = min_int64 (2 * interval, longest);
            next = group_now (c->g) + interval;
        }
        else if (group_turn (c->g, min_int64 (next, tell), err) < 0)
            return -1;
    }
    return 0;
}

/* Wait for something, of a member. Return 0, or -1 with err. */
static int await (struct comm_group *c, enum awaited awaited, uint32_t of,
                  struct error *err)
{
    int rc;

    c->awaited = awaited;
    c->of = of;
    c->until = group_now (c->g) + group_dead_ns (c->g);
    rc = wait_until_done (c, err);
    c->awaited = NOTHING;
    c->given_up = false;
    return rc;
}

/*
 * Messages
 */

static int comm_reserve (void *vc, size_t len, struct error *err)
{
    if (len > 0 && ((struct comm_group *)vc)->chunk == 0)
        return error_world (err, "messages of this transport have no length");
    return 1;
}

/* Begin a new age of messages. */
static int comm_barrier (void *vc, struct error *err)
{
    struct comm_group *c = vc;

    group_attend (c->g, true);
    if (group_barrier (c->g, err) < 0)
        return -1;
    c->epoch = group_now (c->g);
    c->age++;
    c->arrived = 0;
    for (uint32_t m = 0; m < c->n; m++) {
        struct stream_peer *p = &c->peer[m];

        c->arrived += p->arrived = p->early;
        p->early = 0;
    }
    return 1;
}

static int send_and_wait (struct comm_group *c, uint32_t to,
                          const struct outgoing *o, struct error *err)
{
    if (is_dead (c, to))
        return 0;
    if (post (c, to, o, err) < 0 || await (c, SENT, to, err) < 0)
        return -1;
    return !is_dead (c, to);
}

static int comm_send (void *vc, uint32_t to, size_t len, struct error *err)
{
    return send_and_wait (vc, to, &(struct outgoing){ .left = len }, err);
}

static int consume_message (struct comm_group *c, uint32_t from)
{
    c->peer[from].arrived--;
    c->arrived--;
    return 1;
}

static int comm_recv (void *vc, uint32_t from, size_t len, struct error *err)
{
    struct comm_group *c = vc;

    (void)len;
    if (await (c, HERE, from, err) < 0)
        return -1;
    return c->peer[from].arrived > 0 ? consume_message (c, from) : 0;
}

static int comm_recv_any (void *vc, size_t len, uint32_t *from,
                          struct error *err)
{
    struct comm_group *c = vc;

    (void)len;
    if (await (c, ANY, 0, err) < 0)
        return -1;
    if (c->arrived == 0)
        return 0;
    do
        c->last_any = (c->last_any + 1) % c->n;
    while (c->peer[c->last_any].arrived == 0);
    *from = c->last_any;
    return consume_message (c, *from);
}

static int comm_start_send (void *vc, uint32_t to, size_t len,
                            struct error *err)
{
    struct comm_group *c = vc;
    struct outgoing o = { .left = len, .started = true };

    c->started++;
    if (is_dead (c, to))
        add_done_event (c, to, true, true);
    else if (to == c->g->me) {
        add_done_event (c, to, true, false);
        receive_message (c, to, c->age);
    }
    else if (post (c, to, &o, err) < 0)
        return -1;
    return 1;
}

static int comm_start_recv (void *vc, uint32_t from, size_t len,
                            struct error *err)
{
    struct comm_group *c = vc;

    (void)len;
    (void)err;
    c->started++;
    if (c->peer[from].arrived > 0) {
        consume_message (c, from);
        add_done_event (c, from, false, false);
    }
    else if (is_dead (c, from))
        add_done_event (c, from, false, true);
    else
        c->peer[from].wanted++;
    return 1;
}

static int comm_wait_one (void *vc, struct comm_done *done, struct error *err)
{
    return await (vc, ONE_EVENT, 0, err) < 0 ? -1 : take_event (vc, done);
}

static int comm_wait_all (void *vc, struct error *err)
{
    struct comm_done done;
    bool lost = false;

    if (await (vc, ALL_DONE, 0, err) < 0)
        return -1;
    while (take_event (vc, &done))
        lost = lost || done.lost;
    return !lost;
}

/*
 * Notes, which are ordered among themselves, independent of messages
 */

static int comm_send_note (void *vc, uint32_t to, const void *data, size_t len,
                           struct error *err)
{
    struct outgoing o = { .is_note = true, .len = (uint8_t)len };

    if (len > COMM_GROUP_NOTE_MAX)
        return error_input (err, "a note of %zu bytes is too long", len);
    if (len > 0)
        memcpy (o.note, data, len);
    return send_and_wait (vc, to, &o, err);
}

/* *len is the room in buf, then the size of the note, which is cut if it does
 * not fit.
 */
static int receive_note (struct comm_group *c, uint32_t from, void *buf,
                         size_t *len, struct error *err)
{
    struct fifo *q = &c->peer[from].notes;
    const struct note *note;

    if (await (c, NOTED, from, err) < 0)
        return -1;
    if (is_empty (q))
        return 0;
    note = (struct note *)q->v + q->first++;
    if (note->len < *len)
        *len = note->len;
    if (*len > 0)
        memcpy (buf, note->data, *len);
    return 1;
}

static int invalid_message_error (const struct comm_group *c, uint32_t from,
                                  struct error *err)
{
    return error_world (err, "%s sent an invalid message", c->host[from]);
}

static int comm_recv_note (void *vc, uint32_t from, void *data, size_t len,
                           struct error *err)
{
    size_t got = len;
    int rc = receive_note (vc, from, data, &got, err);

    return rc > 0 && got != len ? invalid_message_error (vc, from, err) : rc;
}

/*
 * Collective calls
 */

static int send_blob (struct comm_group *c, uint32_t to, const uint8_t *data,
                      size_t len, struct error *err)
{
    uint8_t header[8];
    int rc;

    wire_put (header, len, 8);
    rc = comm_send_note (c, to, header, sizeof (header), err);
    for (size_t at = 0; at < len && rc > 0; at += COMM_GROUP_NOTE_MAX)
        rc = comm_send_note (c, to, data + at,
                             len - at < COMM_GROUP_NOTE_MAX
                                 ? len - at
                                 : COMM_GROUP_NOTE_MAX,
                             err);
    return rc;
}

/* Receive a blob; its data is NULL if the sender is dead. */
static int receive_blob (struct comm_group *c, uint32_t from,
                         struct comm_blob *blob, struct error *err)
{
    uint8_t header[8];
    size_t at = 0;
    int rc = comm_recv_note (c, from, header, sizeof (header), err);

    *blob = (struct comm_blob){ 0 };
    if (rc <= 0)
        return rc;
    blob->len = wire_get (header, 8);
    if (blob->len > BLOB_MAX)
        return invalid_message_error (c, from, err);
    blob->data = xarray (blob->len, 1);
    while (at < blob->len && rc > 0) {
        size_t len = blob->len - at;

        rc = receive_note (c, from, blob->data + at, &len, err);
        if (rc > 0 && len == 0)
            rc = invalid_message_error (c, from, err);
        at += len;
    }
    if (rc <= 0) {
        free (blob->data);
        *blob = (struct comm_blob){ 0 };
    }
    return rc;
}

/* Members send when they are told to: PULLED of them at a time. */
static int comm_collect (void *vc, const void *data, size_t len,
                         struct comm_blob *all, struct error *err)
{
    struct comm_group *c = vc;
    int rc = 1;

    if (c->g->me > 0) {
        rc = comm_recv_note (c, 0, NULL, 0, err);
        if (rc > 0)
            rc = send_blob (c, 0, data, len, err);
        return rc < 0 ? -1 : 1;
    }
    memset (all, 0, c->n * sizeof (*all));
    all[0] = (struct comm_blob){ xarray (len, 1), len };
    if (len > 0)
        memcpy (all[0].data, data, len);
    for (uint32_t m = 1, told = 1; rc >= 0 && m < c->n; m++) {
        for (; rc >= 0 && told < c->n && told < m + PULLED; told++)
            rc = comm_send_note (c, told, NULL, 0, err);
        if (rc >= 0)
            rc = receive_blob (c, m, &all[m], err);
    }
    for (uint32_t m = 0; m < c->n && rc < 0; m++)
        free (all[m].data);
    return rc < 0 ? -1 : 1;
}

static int comm_tell (void *vc, struct comm_blob *blob, struct error *err)
{
    struct comm_group *c = vc;
    int rc;

    if (c->g->me == 0) {
        for (uint32_t m = 1; m < c->n; m++)
            if (send_blob (c, m, blob->data, blob->len, err) < 0)
                return -1;
        return 1;
    }
    rc = receive_blob (c, 0, blob, err);
    return rc != 0 ? rc
                   : error_world (err, "%s, which leads, is gone", c->host[0]);
}

/*
 * Round trips
 */

/* Prepare for pings; both sides call it at the same time. */
static int make_ready (struct comm_group *c, uint32_t m, struct error *err)
{
    int64_t until = group_now (c->g) + group_dead_ns (c->g);
    struct transport_way way = { 0, 0, 0 };

    if (c->ready[m])
        return 0;
    c->ready[m] = true;
    return group_prepare (c->g, 0, c->g->first[m], way, until, err);
}

/* The time from which this process may ping: after the barrier's last messages
 * have arrived and, if there are several turns, in its own.
 */
static int64_t next_turn (const struct comm_group *c)
{
    int64_t gap = group_gap (c->g);
    int64_t now = group_now (c->g);
    int64_t cycle = (int64_t)c->g->t->turns * gap;
    int64_t start = c->epoch + gap + (int64_t)c->g->t->mine * gap;

    if (now <= start)
        return start;
    return cycle > gap ? start + (now - start + cycle - 1) / cycle * cycle
                       : now;
}

/* Ping n times, or until one ping is lost, because the rest is then useless.
 * Then tell the other side to continue.
 */
static int run_pings (struct comm_group *c, struct comm_side *s, bool awake,
                      struct error *err)
{
    struct group_ping ping = { .peer = c->g->first[s->peer],
                               .pad = (uint16_t)s->len };
    bool lost = false;
    int rc;

    s->ns = 0;
    for (unsigned int i = 0; i < s->n && !lost; i++) {
        if (group_until (c->g, next_turn (c), err) < 0
            || (!awake && group_wake (c->g, &ping, err) < 0)
            || group_ping (c->g, &ping, err) < 0)
            return -1;
        lost = ping.rtt_ns < 0;
        s->ns += ping.rtt_ns;
    }
    rc = comm_send_note (c, s->peer, NULL, 0, err);
    return rc > 0 ? !lost : rc;
}

static int run_trains (struct comm_group *c, struct comm_side *s,
                       struct error *err)
{
    int64_t start = group_now (c->g);

    for (unsigned int i = 0; i < s->n; i++)
        for (int way = 0; way < 2; way++) {
            int rc = (way == 0) == s->first
                         ? comm_send (c, s->peer, s->len, err)
                         : comm_recv (c, s->peer, s->len, err);

            if (rc <= 0)
                return rc;
        }
    if (s->first)
        s->ns = group_now (c->g) - start;
    return 1;
}

static int run_round_trips (const struct comm_exchange *ex,
                            struct comm_side *s, struct error *err)
{
    struct comm_group *c = s->c;
    bool awake = group_attend (c->g, true);

    (void)ex;
    if (s->len > group_pad_max (c->g, 0))
        return run_trains (c, s, err);
    if (c->g->member[s->peer].dead)
        return 0;
    if (make_ready (c, s->peer, err) < 0)
        return -1;
    return s->first ? run_pings (c, s, awake, err)
                    : receive_note (c, s->peer, NULL, &(size_t){ 0 }, err);
}

static int64_t comm_now (void *vc)
{
    return group_now (((struct comm_group *)vc)->g);
}

static const struct comm_exchange exchanges[] = {
    { "round-trip", "there and back; what a datagram holds: a ping",
      run_round_trips, false, NULL },
    { 0 },
};

const struct comm comm_group = {
    .reserve = comm_reserve, .now_ns = comm_now, .barrier = comm_barrier,
    .send = comm_send, .recv = comm_recv, .recv_any = comm_recv_any,
    .start_send = comm_start_send, .start_recv = comm_start_recv,
    .wait_one = comm_wait_one, .wait_all = comm_wait_all,
    .send_note = comm_send_note, .recv_note = comm_recv_note,
    .collect = comm_collect, .tell = comm_tell, .exchanges = exchanges,
};
