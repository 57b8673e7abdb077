/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group: members that communicate over an unreliable transport.
 *
 * Notes: whatever must arrive is requested by its receiver: it has a question
 * open to a member, which is asked at growing intervals until the member
 * answers or is dead. So only the receiver needs timers, and an answer may be
 * sent twice without harm. A barrier's tokens are sent without a request, to be
 * fast, and are requested only if they are late.
 *
 * Dissemination barrier: in step k member i sends a token to i + 2^k and waits
 * for the one of i - 2^k. A token of step k stands for all members that its
 * sender has heard from in steps 0 .. k-1. If the sender is dead, these are
 * asked instead.
 */
#include "config.h"
#include "probe/group.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/wire.h"
#include "util/alloc.h"
#include "util/site.h"

_Static_assert ((int)GROUP_PING_MIN == (int)SITE_PING_MIN
                    && (int)GROUP_PING_MAX == (int)SITE_PING_MAX,
                "pmm.conf's limits");

enum ping_kind { COUNTS, WAKING };

enum message_type { PING = 1, PONG, TOKEN, ASK, BUSY, GET, DATA, LETTER };

enum {
    HEADER = 16,
    WIRE_HEADER = 72, /* LRH, GRH, BTH, DETH, ICRC */
    HOPELESS_PART = 10, /* then wait for a time-out divided by this */
    FRAGMENT = 224,
    STEPS_DONE = 255,
    HOPELESS = 3, /* pings in a row without an echo: expect no more */
    /* intervals, in gaps */
    ASK_FIRST = 100,
    ASK_LAST = 800,
    /* a member that was asked so often without an answer is dead */
    ASK_TIMES = 12,
    SERVE_MS = 20, /* interval of serving in group_meanwhile */
};

/* The number of a barrier that no member reaches: asked for it, a living one
 * answers that it has not.
 */
#define NEVER UINT32_MAX

struct group *group_create (const struct transport *transport, void *t,
                            uint64_t key, size_t n, size_t me,
                            const uint32_t *first)
{
    struct group *g = xcalloc (1, sizeof (*g));

    *g = (struct group){
        .transport = transport, .t = t, .key = key, .n = n, .me = me,
        .npeers = first[n], .rails = first[me + 1] - first[me],
        .deadline = INT64_MAX, .step = STEPS_DONE, .ping_size = GROUP_PING_SIZE,
        .first = xarray (n + 1, sizeof (*g->first)),
        .member_of = xarray (first[n], sizeof (*g->member_of)),
        .misses = xcalloc (first[n], sizeof (*g->misses)),
        .member = xcalloc (n + 1, sizeof (*g->member)),
    };
    memcpy (g->first, first, (n + 1) * sizeof (*first));
    for (size_t m = 0; m < n; m++)
        for (uint32_t p = first[m]; p < first[m + 1]; p++)
            g->member_of[p] = (uint32_t)m;
    return g;
}

void group_destroy (struct group *g)
{
    if (!g)
        return;
    free (g->first);
    free (g->member_of);
    free (g->misses);
    free (g->member);
    free (g);
}

int64_t group_now (const struct group *g)
{
    return g->transport->now_ns (g->t);
}

int64_t group_gap (const struct group *g)
{
    return g->t->gap_ns;
}

int64_t group_dead_ns (const struct group *g)
{
    return transport_gaps (g->t, GROUP_DEAD, GROUP_DEAD_NS);
}

/* The longest interval of asking at which no member is declared dead too
 * early.
 */
static int64_t longest_ns (const struct group *g)
{
    return group_dead_ns (g) / ASK_TIMES;
}

struct group_stats group_stats (const struct group *g)
{
    struct group_stats stats = g->stats;

    stats.duplicate += g->t->counts.repeated;
    stats.foreign += g->t->counts.foreign;
    return stats;
}

bool group_attend (struct group *g, bool on)
{
    return g->transport->attend ? g->transport->attend (g->t, on) : true;
}

/*
 * Sending
 */

static int send_from (struct group *g, uint32_t rail, uint32_t peer,
                      struct group_message msg, const void *data, size_t len,
                      struct transport_timing *timing, struct error *err)
{
    uint8_t buf[TRANSPORT_DATA_MAX];

    wire_put (buf, g->key, 8);
    buf[8] = msg.type;
    buf[9] = msg.kind;
    wire_put (buf + 10, msg.fragment, 2);
    wire_put (buf + 12, msg.number, 4);
    if (len > 0)
        memcpy (buf + HEADER, data, len);
    if (peer != g->first[g->me] + rail) /* a cable carries it */
        g->stats.bytes[0] += WIRE_HEADER + HEADER + len;
    return g->transport->send (g->t, rail, peer, buf, HEADER + len, timing,
                               err);
}

static uint32_t peers_of (const struct group *g, size_t member)
{
    return g->first[member + 1] - g->first[member];
}

static uint32_t rail_of (const struct group *g, size_t member)
{
    uint32_t peers = peers_of (g, member);
    uint32_t pair = g->member[member].pair;

    return (pair % peers + pair / peers) % g->rails;
}

static uint32_t peer_of (const struct group *g, size_t member)
{
    return g->first[member] + g->member[member].pair % peers_of (g, member);
}

/* Whether a member's pair of rails is in one subnet, and the own one usable. */
static bool is_usable (const struct group *g, size_t member)
{
    uint32_t rail = rail_of (g, member);

    return !g->t->lost[rail]
           && (!g->peer || g->peer[g->first[g->me] + rail].subnet
                               == g->peer[peer_of (g, member)].subnet);
}

/* Switch to the next pair of rails that is usable. */
static void try_another (struct group *g, size_t member)
{
    uint32_t pairs = peers_of (g, member) * g->rails;

    for (uint32_t i = 0; i < pairs; i++) {
        g->member[member].pair = (g->member[member].pair + 1) % pairs;
        if (is_usable (g, member))
            break;
    }
}

static int send_group_message (struct group *g, size_t member,
                               struct group_message msg, const void *data,
                               size_t len, struct error *err)
{
    if (!is_usable (g, member))
        try_another (g, member);
    /* between subnets a LID is another port's */
    return is_usable (g, member) || g->t->lost[rail_of (g, member)]
               ? send_from (g, rail_of (g, member), peer_of (g, member), msg,
                            data, len, NULL, err)
               : 0;
}

/* Tell something that expects an answer: by another pair of rails if the last
 * question got none.
 */
static int send_group_question (struct group *g, size_t member,
                                struct group_message msg, const void *data,
                                size_t len, struct error *err)
{
    struct group_peer *m = &g->member[member];

    if (m->asked > m->answered)
        try_another (g, member);
    m->asked = group_now (g);
    return send_group_message (g, member, msg, data, len, err);
}

int group_send (struct group *g, size_t member,
                const struct group_letter *letter, struct error *err)
{
    struct group_message msg
        = { LETTER, letter->kind, 0, letter->number };

    return (letter->asks ? send_group_question : send_group_message) (
        g, member, msg, letter->data, letter->len, err);
}

/*
 * Receiving
 */

static void close_group_question (struct group *g, struct group_peer *m)
{
    m->question.type = 0;
    g->open--;
}

/* The ping of this process that a message to one of its rails is; or NULL. */
static struct group_ping *find_own_ping (const struct group *g,
                                         const struct packet *p,
                                         const struct group_message *msg)
{
    struct group_ping *ping = g->ping;

    return ping && ping->number == msg->number && ping->way_ns[0] == 0
                   && ping->peer == g->first[g->me] + p->rail
                   && p->peer == g->first[g->me] + ping->rail
               ? ping
               : NULL;
}

static void on_pong (struct group *g, const struct packet *p,
                     const struct group_message *msg)
{
    struct group_ping *ping = g->ping;
    int64_t rtt_ns = 0;

    if (ping && ping->rail == p->rail && ping->peer == p->peer
        && ping->number == msg->number && ping->rtt_ns < 0) {
        rtt_ns = p->stamp_ns - ping->stamp_ns - p->held_ns;
        if (rtt_ns >= 0) { /* else held for longer than the round trip took */
            ping->rtt_ns = rtt_ns;
            if (ping->way_ns[0] > 0)
                ping->way_ns[1] = p->time_ns - ping->turn_ns;
            g->last_echo[p->rail] = msg->number;
            return;
        }
    }
    if (msg->kind == WAKING)
        return;
    if (rtt_ns < 0)
        g->stats.foreign++;
    else if (g->last_echo[p->rail] == msg->number)
        g->stats.duplicate++;
    else
        g->stats.late++;
}

/* The member that `member` waits for in this step: i - 2^k, modulo n. */
static size_t barrier_predecessor (const struct group *g, size_t member,
                                   unsigned int step)
{
    return (member + g->n - (((size_t)1 << step) % g->n)) % g->n;
}

static void on_token (struct group *g, size_t member,
                      const struct group_message *msg)
{
    struct group_peer *m = &g->member[member];
    const struct group_message *q = &m->question;

    if (msg->kind < GROUP_STEPS_MAX
        && member == barrier_predecessor (g, g->me, msg->kind)
        && msg->number > g->token[msg->kind])
        g->token[msg->kind] = msg->number;
    if (q->type == ASK
        && (msg->number > q->number
            || (msg->number == q->number && msg->kind >= q->kind)))
        close_group_question (g, m);
}

static int on_get (struct group *g, size_t member,
                   const struct group_message *msg, struct error *err)
{
    struct group_message answer = { BUSY, msg->kind, msg->fragment, 0 };
    size_t start = (size_t)msg->fragment * FRAGMENT;
    const struct group_peer *m = &g->member[member];
    const struct group_blob *blob;
    size_t len;

    if (msg->kind >= GROUP_KINDS)
        return 0;
    if (!m->ready[msg->kind])
        m = &g->member[g->n];
    if (!m->ready[msg->kind])
        return send_group_message (g, member, answer, NULL, 0, err);
    blob = &m->object[msg->kind];
    if (start > blob->len)
        return 0;
    len = blob->len - start < FRAGMENT ? blob->len - start : FRAGMENT;
    if (start + len == blob->len) {
        g->served[msg->kind] = true;
        if (g->awaited >> msg->kind & 1) {
            g->awaited = 0;
            close_group_question (g, &g->member[g->awaited_of]);
        }
    }
    answer.type = DATA;
    answer.number = (uint32_t)blob->len;
    return send_group_message (g, member, answer,
                               len > 0 ? blob->data + start : NULL, len, err);
}

static int on_data (struct group *g, const struct packet *p,
                    const struct group_message *msg, struct error *err)
{
    size_t member = g->member_of[p->peer];
    struct group_peer *m = &g->member[member];
    struct group_blob *blob = &m->got;
    size_t start = (size_t)msg->fragment * FRAGMENT;
    size_t len = p->len - HEADER;

    if (m->question.type != GET || msg->kind != m->question.kind
        || msg->fragment != m->question.fragment
        || msg->number > GROUP_BLOB_MAX)
        return 0;
    if (!blob->data)
        *blob = (struct group_blob){ xarray (msg->number, 1), msg->number };
    if (start > blob->len || blob->len != msg->number
        || len != (blob->len - start < FRAGMENT ? blob->len - start : FRAGMENT))
        return 0;
    memcpy (blob->data + start, p->data + HEADER, len);
    if (start + len == blob->len) {
        close_group_question (g, m);
        return 0;
    }
    m->question.fragment++;
    return send_group_question (g, member, m->question, NULL, 0, err);
}

static int on_message (struct group *g, const struct packet *p,
                       const struct group_message *msg, struct error *err)
{
    size_t member = g->member_of[p->peer];
    const uint8_t *data = p->data + HEADER;
    size_t len = p->len - HEADER;
    struct group_message answer = *msg;
    struct transport_timing timing = { .answers = p };
    struct group_letter letter = { .kind = msg->kind, .number = msg->number,
                                   .data = data, .len = len };
    struct group_ping *own;

    switch ((enum message_type)msg->type) {
    case PING:
        answer.type = PONG;
        if ((own = find_own_ping (g, p, msg))) {
            own->way_ns[0] = p->time_ns - own->turn_ns;
            own->turn_ns = group_now (g);
        }
        return send_from (g, p->rail, p->peer, answer, data, len, &timing, err);
    case PONG:
        on_pong (g, p, msg);
        break;
    case TOKEN:
        on_token (g, member, msg);
        break;
    case ASK:
        answer.type = msg->number < g->barrier
                              || (msg->number == g->barrier
                                  && msg->kind <= g->step)
                          ? TOKEN
                          : BUSY;
        answer.fragment = 0;
        return send_group_message (g, member, answer, NULL, 0, err);
    case GET:
        return on_get (g, member, msg, err);
    case DATA:
        return on_data (g, p, msg, err);
    case LETTER:
        if (g->take)
            return g->take (g->take_arg, member, &letter, err);
        g->stats.foreign++;
        break;
    case BUSY:
        break;
    }
    return 0;
}

static int handle (void *arg, const struct packet *p, struct error *err)
{
    struct group *g = arg;
    bool known = p->peer < g->npeers;
    bool own = known && p->peer == g->first[g->me] + p->rail;
    struct group_message msg = { .type = 0 };
    struct group_peer *from;

    if (p->len >= HEADER && wire_get (p->data, 8) == g->key && known
        && p->rail < g->rails && p->data[8] <= LETTER)
        msg = (struct group_message){ p->data[8], p->data[9],
                                      (uint16_t)wire_get (p->data + 10, 2),
                                      (uint32_t)wire_get (p->data + 12, 4) };
    if (!own)
        g->stats.bytes[1] += WIRE_HEADER + p->len;
    if (msg.type == 0) {
        g->stats.foreign++;
        return 0;
    }
    from = &g->member[g->member_of[p->peer]];
    from->heard = p->time_ns;
    if (msg.type != PING && msg.type != PONG) {
        /* take the same pair of rails from now on */
        uint32_t at = p->peer - g->first[g->member_of[p->peer]];

        from->answered = p->time_ns;
        from->pair = (p->rail + g->rails - at % g->rails) % g->rails
                         * peers_of (g, g->member_of[p->peer])
                     + at;
    }
    return on_message (g, p, &msg, err);
}

int group_turn (struct group *g, int64_t time_ns, struct error *err)
{
    struct packet packet;
    int rc;

    if (group_now (g) >= g->deadline)
        return error_world (err, "timed out before the nodes were done");
    if (time_ns > g->deadline)
        time_ns = g->deadline;
    rc = g->transport->recv (g->t, time_ns, &packet, err);
    return rc == 1 && handle (g, &packet, err) < 0 ? -1 : rc;
}

int group_bulk (struct group *g, struct transport_burst *burst, size_t n,
                int64_t deadline_ns, struct error *err)
{
    return g->transport->bulk (
        g->t, burst, n, deadline_ns < g->deadline ? deadline_ns : g->deadline,
        handle, g, err);
}

int group_until (struct group *g, int64_t time_ns, struct error *err)
{
    while (group_now (g) < time_ns)
        if (group_turn (g, time_ns, err) < 0)
            return -1;
    return 0;
}

/* Handle all messages that have arrived, without waiting: a member that was
 * busy or stopped for a while must not consider the others silent.
 */
static int catch_up (struct group *g, struct error *err)
{
    int rc;

    do
        rc = group_turn (g, group_now (g), err);
    while (rc > 0);
    return rc;
}

struct thinking {
    int (*fn) (void *arg, struct error *err);
    void *arg;
    struct error err;
    int rc;
    int done; /* a pipe whose other end is closed when it is; -1: none */
};

static void *run_background_task (void *arg)
{
    struct thinking *th = arg;

    th->rc = th->fn (th->arg, &th->err);
    if (th->done >= 0)
        close (th->done);
    return NULL;
}

int group_meanwhile (struct group *g,
                     int (*fn) (void *arg, struct error *err), void *arg,
                     struct error *err)
{
    struct thinking th = { .fn = fn, .arg = arg, .done = -1 };
    struct pollfd pfd = { .events = POLLIN };
    pthread_t thread;
    int end[2] = { -1, -1 }; /* of a pipe */
    int rc = 0;

    if (!g)
        return fn (arg, err);
    if (pipe2 (end, O_CLOEXEC) == 0)
        th.done = end[1];
    if (th.done < 0
        || pthread_create (&thread, NULL, run_background_task, &th) != 0)
        run_background_task (&th);
    else {
        /* do not wait in the group: the emulator's time stands still */
        pfd.fd = end[0];
        while (poll (&pfd, 1, SERVE_MS) <= 0)
            rc = rc < 0 ? -1 : catch_up (g, err);
        pthread_join (thread, NULL);
    }
    if (end[0] >= 0)
        close (end[0]);
    if (rc == 0 && th.rc < 0 && err)
        *err = th.err;
    return rc < 0 ? -1 : th.rc;
}

/*
 * Questions
 */

static bool is_silent (const struct group *g, size_t m, int64_t asked)
{
    int64_t since = g->member[m].heard > asked ? g->member[m].heard : asked;

    return group_now (g) - since > group_dead_ns (g);
}

bool group_listens (struct group *g, size_t member, int64_t since_ns)
{
    if (is_silent (g, member, since_ns))
        g->member[member].dead = true;
    return !g->member[member].dead;
}

static void open_question (struct group *g, size_t member,
                           struct group_message question)
{
    struct group_peer *m = &g->member[member];

    if (m->question.type == 0) {
        g->open++;
        m->since = -1;
    }
    m->question = question;
}

/* Wait for a member's token of a step; if it is dead, for the tokens of the
 * members that its token would have stood for.
 */
static void wait_for_token (struct group *g, size_t m, unsigned int step)
{
    const struct group_peer *of = &g->member[m];
    struct group_message question = { ASK, (uint8_t)step, 0, g->barrier };

    if (m == g->me || (of->question.type && of->question.kind >= step))
        return;
    if (!of->dead)
        open_question (g, m, question);
    else
        for (unsigned int k = 0; k < step; k++)
            wait_for_token (g, barrier_predecessor (g, m, k), k);
}

/* Ask a member what is open; if it has been silent, or must not be asked, it is
 * dead, and its question is settled without an answer.
 */
static int ask_or_declare_dead (struct group *g, size_t member,
                                struct error *err)
{
    struct group_peer *m = &g->member[member];
    struct group_message question = m->question;

    if (m->since < 0)
        m->since = group_now (g);
    if (!is_silent (g, member, m->since) && !(question.type == GET && m->dead))
        return send_group_question (g, member, question, NULL, 0, err);
    m->dead = true;
    close_group_question (g, m);
    free (m->got.data);
    m->got.data = NULL;
    if (question.type == ASK && question.number != NEVER)
        wait_for_token (g, member, question.kind);
    return 0;
}

/* Serve until no question is open: ask first after first_ns, then at intervals
 * that grow. Return 0, or -1 with err.
 */
static int wait_for_answers (struct group *g, int64_t first_ns,
                             int64_t interval, struct error *err)
{
    int64_t next = group_now (g) + first_ns;
    int rc = 0;

    while (rc >= 0 && g->open > 0) {
        if (group_now (g) < next) {
            rc = group_turn (g, next, err);
            continue;
        }
        rc = catch_up (g, err);
        for (size_t m = 0; rc >= 0 && m < g->n && g->open > 0; m++)
            if (g->member[m].question.type)
                rc = ask_or_declare_dead (g, m, err);
        next = group_now (g) + interval;
        if (interval < ASK_LAST * group_gap (g)
            && 2 * interval < longest_ns (g))
            interval *= 2;
    }
    for (size_t m = 0; g->open > 0; m++)
        if (g->member[m].question.type)
            close_group_question (g, &g->member[m]);
    return rc < 0 ? -1 : 0;
}

int group_barrier (struct group *g, struct error *err)
{
    int64_t interval = transport_gaps (g->t, ASK_FIRST, longest_ns (g));

    g->barrier++;
    for (unsigned int step = 0; (size_t)1 << step < g->n; step++) {
        size_t next = (g->me + ((size_t)1 << step)) % g->n;
        size_t last = barrier_predecessor (g, g->me, step);
        struct group_message token = { TOKEN, (uint8_t)step, 0, g->barrier };

        g->step = (uint8_t)step;
        if (!g->member[next].dead
            && send_group_message (g, next, token, NULL, 0, err) < 0)
            return -1;
        if (g->token[step] >= g->barrier)
            continue;
        wait_for_token (g, last, step);
        if (wait_for_answers (g, g->member[last].dead ? 0 : interval, interval,
                              err)
            < 0)
            return -1;
    }
    g->step = STEPS_DONE;
    return 0;
}

void group_serve (struct group *g, enum group_kind kind, int member,
                  const uint8_t *data, size_t len)
{
    size_t i = member == GROUP_ALL ? g->n : (size_t)member;

    g->member[i].object[kind] = (struct group_blob){ (uint8_t *)data, len };
    g->member[i].ready[kind] = true;
}

int group_await (struct group *g, unsigned int kinds, size_t member,
                 struct error *err)
{
    struct group_message question = { ASK, 0, 0, NEVER };
    bool dead;

    for (int kind = 0; kind < GROUP_KINDS; kind++)
        if (kinds >> kind & 1 && g->served[kind])
            return 1;
    g->awaited = kinds;
    g->awaited_of = member;
    open_question (g, member, question);
    g->member[member].since = group_now (g);
    if (wait_for_answers (g, longest_ns (g), longest_ns (g), err) < 0) {
        g->awaited = 0;
        return -1;
    }
    dead = g->awaited != 0;
    g->awaited = 0;
    return !dead;
}

int group_fetch (struct group *g, enum group_kind kind, const uint32_t *from,
                 size_t n, struct group_blob *blob, struct error *err)
{
    struct group_message question = { GET, (uint8_t)kind, 0, 0 };
    int rc;

    for (size_t i = 0; i < n; i++) {
        g->member[from[i]].got = (struct group_blob){ NULL, 0 };
        open_question (g, from[i], question);
    }
    rc = wait_for_answers (
        g, 0, transport_gaps (g->t, ASK_FIRST, longest_ns (g)), err);
    for (size_t i = 0; i < n; i++) {
        blob[i] = g->member[from[i]].got;
        g->member[from[i]].got.data = NULL;
        if (rc < 0)
            free (blob[i].data);
    }
    return rc;
}

/*
 * Pings
 */

int group_prepare (struct group *g, uint32_t rail, uint32_t peer,
                   struct transport_way way, int64_t until, struct error *err)
{
    int rc = 1;

    while (g->transport->prepare
           && (rc = g->transport->prepare (g->t, rail, peer, way, err)) == 0
           && group_now (g) < until)
        if (group_until (g, group_now (g) + group_gap (g), err) < 0)
            return -1;
    return rc < 0 ? -1 : 0;
}

/* Send a ping, then wait for its echo until a time. Return 0, or -1 with err.
 */
static int ping_group_member (struct group *g, struct group_ping *ping,
                              enum ping_kind kind, int64_t timeout_ns,
                              struct error *err)
{
    static const uint8_t padding[GROUP_PING_MAX - HEADER];
    struct group_message msg
        = { PING, (uint8_t)kind, 0, ++g->pings };
    struct transport_timing timing = { .way = ping->way };
    int64_t until = group_now (g) + timeout_ns;
    int rc;

    ping->number = msg.number;
    ping->rtt_ns = -1;
    ping->way_ns[0] = ping->way_ns[1] = 0;
    ping->turn_ns = group_now (g);
    g->ping = ping;
    rc = send_from (g, ping->rail, ping->peer, msg, padding,
                    g->ping_size - HEADER, &timing, err);
    ping->stamp_ns = timing.stamp_ns;
    while (rc >= 0 && ping->rtt_ns < 0 && group_now (g) < until)
        rc = group_turn (g, until, err);
    g->ping = NULL;
    return rc < 0 ? -1 : 0;
}

int group_ping (struct group *g, struct group_ping *ping, struct error *err)
{
    int64_t timeout = transport_gaps (g->t, GROUP_PING_TIMEOUT,
                                      GROUP_PING_TIMEOUT_NS);
    uint8_t *misses = &g->misses[ping->peer];
    int rc = ping_group_member (
        g, ping, COUNTS, *misses < HOPELESS ? timeout : timeout / HOPELESS_PART,
        err);

    if (ping->rtt_ns >= 0)
        *misses = 0;
    else if (*misses < HOPELESS)
        ++*misses;
    return rc;
}

int group_wake (struct group *g, struct group_ping *ping, struct error *err)
{
    return ping_group_member (g, ping, WAKING, group_gap (g), err);
}
