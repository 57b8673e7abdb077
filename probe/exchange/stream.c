/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams: reliable trains of packets over a group's letters.
 *
 * Notes: as in the group, whatever must arrive is requested by the side that
 * waits for it: the receiver waits for packets, the sender for room in its
 * window. Only a side that waits needs timers. The handler of letters works in
 * any call of the group, also in a barrier. For retransmission 64 sizes are
 * kept, not bytes.
 *
 * A packet that arrives early is kept; the window has a bit per packet. Missing
 * packets are sent again only on request, so that packets that the network
 * reorders are not taken for lost.
 */
#include "config.h"
#include "probe/exchange/stream.h"

#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/alloc.h"

enum letter_kind { PACKET = 1, HAS, ASKS, ANSWERS };

enum packet_flag { END = 1, NOTE = 2 };

enum {
    PACKET_HEADER = 6,
    STATE_SIZE = 8,
    TELL_EVERY = STREAM_WINDOW / 4, /* packets */
    ASK_FIRST = 16,                 /* gaps */
    ASK_TIMES = 12, /* questions without an answer: the member is dead */
};

struct stream_packet { /* a packet on its way, or one that arrived early */
    uint16_t pad;
    uint8_t flags;
    uint8_t age; /* of the message */
    uint8_t len; /* of the note */
    uint8_t note[STREAM_NOTE_MAX];
};

struct outgoing { /* a message that is not completely sent */
    struct outgoing *next;
    size_t left;
    bool is_note, started;
    uint8_t age;
    uint8_t len; /* of the note */
    uint8_t note[];
};

struct note {
    struct note *next;
    size_t len;
    uint8_t data[];
};

struct stream_peer {
    /* out: first .. next-1 are on their way, as far as is known */
    uint32_t first, next;
    uint64_t has; /* bit i: the peer has first + i */
    struct stream_packet *out; /* [STREAM_WINDOW] by number; NULL: none yet */
    struct outgoing *queue, **queue_end;
    bool ready; /* in the list of peers that something can be sent to */

    /* in: all packets before `missed` are here */
    uint32_t missed;
    uint64_t here; /* bit i: packet missed + i is here */
    struct stream_packet *in;
    uint32_t untold; /* packets not acknowledged yet */
    bool owes;       /* in the list of peers to acknowledge to */
    uint64_t arrived; /* messages that were not taken yet */
    uint64_t early;   /* the same, of the next age */
    uint64_t wanted;  /* receives that were started */
    int64_t moved;    /* time of the last packet from it */
    struct note *note, **note_end;
};

struct member_ring { /* a ring of members, each at most once */
    uint32_t *member;
    size_t first, count;
};

struct stream_event {
    struct stream_event *next;
    struct comm_done done;
};

struct stream {
    struct group *g;
    size_t n;
    size_t chunk; /* largest pad */
    struct stream_peer *peer; /* [n] */
    struct member_ring ready, owing;
    int64_t owing_since;
    uint64_t flight;  /* packets on their way */
    uint8_t age;
    uint64_t arrived; /* messages, of all peers */
    uint32_t last_any;
    uint64_t started; /* messages started and not done */
    struct stream_event *event, **event_end;

    /* what is waited for, besides all that was started */
    int64_t from, to; /* members; -1: none */
    int64_t until;    /* deadline for a message of any member; 0: not waiting */
    bool note;        /* a note, which arrives unless the member is dead */
    bool given_up;
};

/*
 * Creation
 */

static void list_add (struct member_ring *l, size_t n, uint32_t member)
{
    l->member[(l->first + l->count++) % n] = member;
}

static uint32_t list_take (struct member_ring *l, size_t n)
{
    uint32_t member = l->member[l->first];

    l->first = (l->first + 1) % n;
    l->count--;
    return member;
}

static int take_letter (void *arg, size_t member,
                        const struct group_letter *letter, struct error *err);

struct stream *stream_create (struct group *g)
{
    struct stream *s = xcalloc (1, sizeof (*s));

    s->g = g;
    s->n = group_size (g);
    s->chunk = group_pad_max (g, PACKET_HEADER);
    s->from = s->to = -1;
    s->event_end = &s->event;
    s->peer = xcalloc (s->n, sizeof (*s->peer));
    s->ready.member = xarray (s->n, sizeof (*s->ready.member));
    s->owing.member = xarray (s->n, sizeof (*s->owing.member));
    for (size_t m = 0; m < s->n; m++) {
        struct stream_peer *p = &s->peer[m];

        p->first = p->next = p->missed = 1;
        p->queue_end = &p->queue;
        p->note_end = &p->note;
    }
    group_listen (g, take_letter, s);
    return s;
}

static void free_queue (struct stream_peer *p)
{
    while (p->queue) {
        struct outgoing *o = p->queue;

        p->queue = o->next;
        free (o);
    }
    p->queue_end = &p->queue;
}

static bool take_event (struct stream *s, struct comm_done *done)
{
    struct stream_event *e = s->event;

    if (!e)
        return false;
    *done = e->done;
    if (!(s->event = e->next))
        s->event_end = &s->event;
    free (e);
    return true;
}

void stream_destroy (struct stream *s)
{
    struct comm_done done;

    if (!s)
        return;
    group_listen (s->g, NULL, NULL);
    for (size_t m = 0; m < s->n; m++) {
        struct stream_peer *p = &s->peer[m];

        free_queue (p);
        while (p->note) {
            struct note *note = p->note;

            p->note = note->next;
            free (note);
        }
        free (p->out);
        free (p->in);
    }
    while (take_event (s, &done))
        ;
    free (s->peer);
    free (s->ready.member);
    free (s->owing.member);
    free (s);
}

bool stream_carries (const struct stream *s)
{
    return s->chunk > 0;
}

/*
 * Started messages
 */

static void report (struct stream *s, uint32_t m, bool sent, bool lost)
{
    struct stream_event *e = xcalloc (1, sizeof (*e));

    e->done = (struct comm_done){ m, sent, lost };
    *s->event_end = e;
    s->event_end = &e->next;
    s->started--;
}

/* A message has arrived: give it to a started receive, or keep it for the next.
 */
static void arrive (struct stream *s, uint32_t m, uint8_t age)
{
    struct stream_peer *p = &s->peer[m];

    if (age != s->age)
        p->early += age == (uint8_t)(s->age + 1);
    else if (p->wanted > 0) {
        p->wanted--;
        report (s, m, false, false);
    }
    else {
        p->arrived++;
        s->arrived++;
    }
}

/* Give up the messages that are waited for from a member. */
static void give_up (struct stream *s, uint32_t m)
{
    struct stream_peer *p = &s->peer[m];

    for (; p->wanted > 0; p->wanted--)
        report (s, m, false, true);
    s->given_up = s->given_up || (s->from == m && !s->note);
}

/* The member is dead: end all messages from it and to it. */
static void drop_member (struct stream *s, uint32_t m)
{
    struct stream_peer *p = &s->peer[m];

    for (struct outgoing *o = p->queue; o; o = o->next)
        if (o->started)
            report (s, m, true, true);
    free_queue (p);
    s->flight -= p->next - p->first;
    p->first = p->next;
    give_up (s, m);
}

/*
 * Sending
 */

/* Send a packet. It also acknowledges the packets of the peer. */
static int send_packet (struct stream *s, uint32_t m, uint32_t number,
                        struct error *err)
{
    struct stream_peer *p = &s->peer[m];
    const struct stream_packet *slot = &p->out[number % STREAM_WINDOW];
    uint8_t data[PACKET_HEADER + STREAM_NOTE_MAX];
    struct group_letter letter = {
        .kind = PACKET,
        .pad = slot->pad,
        .number = number,
        .data = data,
        .len = PACKET_HEADER + (size_t)slot->len,
    };

    wire_put (data, p->missed, 4);
    data[4] = slot->flags;
    data[5] = slot->age;
    memcpy (data + PACKET_HEADER, slot->note, slot->len);
    p->untold = 0;
    return group_send (s->g, m, &letter, err);
}

static int send_state (struct stream *s, uint32_t m, enum letter_kind kind,
                       struct error *err)
{
    struct stream_peer *p = &s->peer[m];
    uint8_t data[STATE_SIZE];
    struct group_letter letter = {
        .kind = (uint8_t)kind,
        .asks = kind == ASKS,
        .number = p->missed,
        .data = data,
        .len = sizeof (data),
    };

    wire_put (data, p->here, 8);
    p->untold = 0;
    return group_send (s->g, m, &letter, err);
}

static bool has_room (const struct stream_peer *p)
{
    return p->next - p->first < STREAM_WINDOW;
}

static void make_ready (struct stream *s, uint32_t m)
{
    struct stream_peer *p = &s->peer[m];

    if (p->ready || !p->queue || !has_room (p))
        return;
    p->ready = true;
    list_add (&s->ready, s->n, m);
}

/* Send the next packet of a peer's first message. */
static int send_next (struct stream *s, uint32_t m, struct error *err)
{
    struct stream_peer *p = &s->peer[m];
    struct outgoing *o = p->queue;
    size_t bytes = o->left < s->chunk ? o->left : s->chunk;
    struct stream_packet *slot = &p->out[p->next % STREAM_WINDOW];

    o->left -= bytes;
    slot->pad = (uint16_t)bytes;
    slot->flags = o->left > 0 ? 0 : o->is_note ? NOTE : END;
    slot->age = o->age;
    slot->len = o->len;
    memcpy (slot->note, o->note, o->len);
    s->flight++;
    if (send_packet (s, m, p->next++, err) < 0)
        return -1;
    if (o->left > 0)
        return 0;
    if (!(p->queue = o->next))
        p->queue_end = &p->queue;
    if (o->started)
        report (s, m, true, false);
    free (o);
    return 0;
}

/* Send as much as allowed, one packet to each peer in turn. */
static int pump (struct stream *s, struct error *err)
{
    while (s->ready.count > 0 && s->flight < STREAM_FLIGHT) {
        uint32_t m = list_take (&s->ready, s->n);
        struct stream_peer *p = &s->peer[m];

        p->ready = false;
        if (p->queue && has_room (p) && send_next (s, m, err) < 0)
            return -1;
        make_ready (s, m);
    }
    return 0;
}

static int enqueue (struct stream *s, uint32_t m, struct outgoing *o,
                    struct error *err)
{
    struct stream_peer *p = &s->peer[m];

    if (!p->out)
        p->out = xcalloc (STREAM_WINDOW, sizeof (*p->out));
    o->age = s->age;
    *p->queue_end = o;
    p->queue_end = &o->next;
    make_ready (s, m);
    return pump (s, err);
}

static int post (struct stream *s, uint32_t m, size_t len, bool started,
                 struct error *err)
{
    struct outgoing *o;

    if (len > 0 && !stream_carries (s))
        return error_input (err, "messages of this transport have no length");
    o = xcalloc (1, sizeof (*o));
    o->left = len;
    o->started = started;
    return enqueue (s, m, o, err);
}

/*
 * Receiving
 */

/* Note that the peer has all packets before `missed` and, of the following
 * ones, those in `here`.
 */
static void settle (struct stream *s, uint32_t m, uint32_t missed,
                    uint64_t here)
{
    struct stream_peer *p = &s->peer[m];
    uint32_t gone = missed - p->first;

    /* an old message contains less than is known */
    if (gone > p->next - p->first)
        return;
    s->flight -= gone;
    p->first = missed;
    p->has = here | (gone < STREAM_WINDOW ? p->has >> gone : 0);
    make_ready (s, m);
}

static int send_again (struct stream *s, uint32_t m, struct error *err)
{
    struct stream_peer *p = &s->peer[m];

    for (uint32_t i = p->first; i != p->next; i++)
        if (!(p->has >> (i - p->first) & 1)
            && send_packet (s, m, i, err) < 0)
            return -1;
    return 0;
}

static void keep_note (struct stream *s, uint32_t m,
                       const struct stream_packet *slot)
{
    struct stream_peer *p = &s->peer[m];
    struct note *note = xcalloc (1, sizeof (*note) + slot->len);

    note->len = slot->len;
    memcpy (note->data, slot->note, slot->len);
    *p->note_end = note;
    p->note_end = &note->next;
}

static int owe (struct stream *s, uint32_t m, struct error *err)
{
    struct stream_peer *p = &s->peer[m];

    if (++p->untold >= TELL_EVERY)
        return send_state (s, m, HAS, err);
    if (p->owes)
        return 0;
    if (s->owing.count == 0)
        s->owing_since = group_now (s->g);
    p->owes = true;
    list_add (&s->owing, s->n, m);
    return 0;
}

static int on_packet (struct stream *s, uint32_t m,
                      const struct group_letter *letter, struct error *err)
{
    struct stream_peer *p = &s->peer[m];
    uint32_t ahead = letter->number - p->missed;
    struct stream_packet *slot;

    if (letter->len < PACKET_HEADER)
        return 0;
    settle (s, m, (uint32_t)wire_get (letter->data, 4), 0);
    if (ahead >= STREAM_WINDOW || (p->here >> ahead & 1))
        return 0;
    if (!p->in)
        p->in = xcalloc (STREAM_WINDOW, sizeof (*p->in));
    slot = &p->in[letter->number % STREAM_WINDOW];
    p->moved = group_now (s->g);
    slot->flags = letter->data[4];
    slot->age = letter->data[5];
    slot->len = (uint8_t)(letter->len - PACKET_HEADER);
    memcpy (slot->note, letter->data + PACKET_HEADER, slot->len);
    for (p->here |= UINT64_C (1) << ahead; p->here & 1; p->here >>= 1) {
        slot = &p->in[p->missed++ % STREAM_WINDOW];
        if (slot->flags == END)
            arrive (s, m, slot->age);
        else if (slot->flags == NOTE)
            keep_note (s, m, slot);
    }
    return owe (s, m, err);
}

static int take_letter (void *arg, size_t member,
                        const struct group_letter *letter, struct error *err)
{
    struct stream *s = arg;
    uint32_t m = (uint32_t)member;
    int rc = 0;

    /* if it had only stalled, it gets no answer and takes this one for dead */
    if (group_is_dead (s->g, member))
        return 0;
    if (letter->kind == PACKET)
        rc = on_packet (s, m, letter, err);
    else if (letter->len == STATE_SIZE) {
        settle (s, m, letter->number, wire_get (letter->data, 8));
        if (letter->kind == ASKS || letter->kind == ANSWERS)
            rc = send_again (s, m, err);
        if (rc == 0 && letter->kind == ASKS)
            rc = send_state (s, m, ANSWERS, err);
    }
    return rc < 0 ? -1 : pump (s, err);
}

/*
 * Waiting
 */

static bool is_awaited (const struct stream *s, uint32_t m)
{
    const struct stream_peer *p = &s->peer[m];

    return m != group_me (s->g)
           && (s->until || s->from == m || p->wanted > 0 || p->queue
               || (s->flight >= STREAM_FLIGHT && p->first != p->next));
}

static int tell_owing (struct stream *s, struct error *err)
{
    while (s->owing.count > 0) {
        uint32_t m = list_take (&s->owing, s->n);

        s->peer[m].owes = false;
        if (s->peer[m].untold > 0 && send_state (s, m, HAS, err) < 0)
            return -1;
    }
    return 0;
}

/* Whether this member has waited for a message of a living member for as long
 * as it waits for a silent one.
 */
static bool is_overdue (const struct stream *s, uint32_t m, int64_t begin_ns)
{
    const struct stream_peer *p = &s->peer[m];
    int64_t since = p->moved > begin_ns ? p->moved : begin_ns;

    return (p->wanted > 0 || (s->from == m && !s->note))
           && group_now (s->g) - since > group_dead_ns (s->g);
}

/* Ask all awaited members that have sent no letters since lately_ns; drop those
 * that have been silent since begin_ns. Give up overdue messages.
 */
static int ask_all (struct stream *s, int64_t begin_ns, int64_t lately_ns,
                    struct error *err)
{
    for (uint32_t m = 0; m < s->n; m++) {
        if (is_overdue (s, m, begin_ns))
            give_up (s, m);
        if (!is_awaited (s, m) || group_spoke (s->g, m) > lately_ns)
            continue;
        if (!group_listens (s->g, m, begin_ns))
            drop_member (s, m);
        else if (send_state (s, m, ASKS, err) < 0)
            return -1;
    }
    return 0;
}

/* Handle all messages that have arrived, so that no member is considered silent
 * too soon.
 */
static int catch_up (struct stream *s, struct error *err)
{
    int rc;

    do
        rc = group_turn (s->g, group_now (s->g), err);
    while (rc > 0);
    return rc;
}

static int64_t least (int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Wait until done () is true. Return 0, or -1 with err. */
static int await (struct stream *s, bool (*done) (const struct stream *s),
                  struct error *err)
{
    int64_t gap = group_gap (s->g);
    int64_t longest = group_dead_ns (s->g) / ASK_TIMES;
    int64_t begin = group_now (s->g);
    int64_t interval = least (ASK_FIRST * gap, longest);
    int64_t next = begin + interval;

    while (!done (s)) {
        int64_t now = group_now (s->g);
        int64_t tell = s->owing.count > 0 ? s->owing_since + gap : INT64_MAX;

        if (now >= tell) {
            if (tell_owing (s, err) < 0)
                return -1;
        }
        else if (now >= next) {
            if (catch_up (s, err) < 0
                || ask_all (s, begin, now - interval, err) < 0)
                return -1;
            interval = least (2 * interval, longest);
            next = group_now (s->g) + interval;
        }
        else if (group_turn (s->g, least (next, tell), err) < 0)
            return -1;
    }
    return 0;
}

static bool is_dead (const struct stream *s, int64_t m)
{
    return group_is_dead (s->g, (size_t)m);
}

static bool is_sent (const struct stream *s)
{
    return !s->peer[s->to].queue || is_dead (s, s->to);
}

static bool is_here (const struct stream *s)
{
    return s->peer[s->from].arrived > 0 || s->given_up
           || is_dead (s, s->from);
}

static bool is_noted (const struct stream *s)
{
    return s->peer[s->from].note || is_dead (s, s->from);
}

static bool is_any_here (const struct stream *s)
{
    return s->arrived > 0 || group_now (s->g) >= s->until;
}

static bool is_event (const struct stream *s)
{
    return s->event || s->started == 0;
}

static bool is_all_done (const struct stream *s)
{
    return s->started == 0;
}

static int wait_sent (struct stream *s, uint32_t to, struct error *err)
{
    int rc;

    s->to = to;
    rc = await (s, is_sent, err);
    s->to = -1;
    return rc < 0 ? -1 : !is_dead (s, to);
}

static int wait_from (struct stream *s, uint32_t from,
                      bool (*done) (const struct stream *s),
                      struct error *err)
{
    int rc;

    s->from = from;
    s->note = done == is_noted;
    rc = await (s, done, err);
    s->from = -1;
    s->note = s->given_up = false;
    return rc;
}

/*
 * Calls
 */

int stream_send (struct stream *s, uint32_t to, size_t len, struct error *err)
{
    if (is_dead (s, to))
        return 0;
    return post (s, to, len, false, err) < 0 ? -1 : wait_sent (s, to, err);
}

void stream_age (struct stream *s)
{
    s->age++;
    s->arrived = 0;
    for (size_t m = 0; m < s->n; m++) {
        struct stream_peer *p = &s->peer[m];

        s->arrived += p->arrived = p->early;
        p->early = 0;
    }
}

static void take_message (struct stream *s, uint32_t from)
{
    s->peer[from].arrived--;
    s->arrived--;
}

int stream_receive (struct stream *s, uint32_t from, struct error *err)
{
    if (wait_from (s, from, is_here, err) < 0)
        return -1;
    if (s->peer[from].arrived == 0)
        return 0;
    take_message (s, from);
    return 1;
}

int stream_receive_any (struct stream *s, uint32_t *from, struct error *err)
{
    int rc;

    s->until = group_now (s->g) + group_dead_ns (s->g);
    rc = await (s, is_any_here, err);
    s->until = 0;
    if (rc < 0 || s->arrived == 0)
        return rc;
    do
        s->last_any = (s->last_any + 1) % (uint32_t)s->n;
    while (s->peer[s->last_any].arrived == 0);
    *from = s->last_any;
    take_message (s, *from);
    return 1;
}

int stream_start_send (struct stream *s, uint32_t to, size_t len,
                       struct error *err)
{
    s->started++;
    if (is_dead (s, to))
        report (s, to, true, true);
    else if (to == group_me (s->g)) {
        report (s, to, true, false);
        arrive (s, to, s->age);
    }
    else if (post (s, to, len, true, err) < 0)
        return -1;
    return 1;
}

void stream_start_receive (struct stream *s, uint32_t from)
{
    struct stream_peer *p = &s->peer[from];

    s->started++;
    if (p->arrived > 0) {
        take_message (s, from);
        report (s, from, false, false);
    }
    else if (is_dead (s, from))
        report (s, from, false, true);
    else
        p->wanted++;
}

int stream_wait_one (struct stream *s, struct comm_done *done,
                     struct error *err)
{
    if (await (s, is_event, err) < 0)
        return -1;
    return take_event (s, done);
}

int stream_wait_all (struct stream *s, struct error *err)
{
    struct comm_done done;
    bool lost = false;

    if (await (s, is_all_done, err) < 0)
        return -1;
    while (take_event (s, &done))
        lost = lost || done.lost;
    return !lost;
}

int stream_send_note (struct stream *s, uint32_t to, const void *data,
                      size_t len, struct error *err)
{
    struct outgoing *o;

    if (is_dead (s, to))
        return 0;
    if (len > STREAM_NOTE_MAX)
        return error_input (err, "a note of %zu bytes is too long", len);
    o = xcalloc (1, sizeof (*o) + len);
    o->is_note = true;
    o->len = (uint8_t)len;
    if (len > 0)
        memcpy (o->note, data, len);
    return enqueue (s, to, o, err) < 0 ? -1 : wait_sent (s, to, err);
}

int stream_receive_note (struct stream *s, uint32_t from, void *buf,
                         size_t *len, struct error *err)
{
    struct stream_peer *p = &s->peer[from];
    struct note *note;

    if (wait_from (s, from, is_noted, err) < 0)
        return -1;
    if (!(note = p->note))
        return 0;
    if (!(p->note = note->next))
        p->note_end = &p->note;
    if (note->len < *len)
        *len = note->len;
    if (*len > 0)
        memcpy (buf, note->data, *len);
    free (note);
    return 1;
}
