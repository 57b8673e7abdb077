/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group: members that communicate over an unreliable transport.
 *
 * Notes: whatever must arrive is requested by its receiver. So only the
 * receiver needs timers, and an answer may be sent twice without harm. A
 * barrier's tokens are sent without a request, to be fast, and are requested
 * only if they are late.
 *
 * Dissemination barrier: in step k member i sends a token to i + 2^k and waits
 * for the one of i - 2^k. A token of step k stands for all members that its
 * sender has heard from in steps 0 .. k-1. If the sender is dead, these are
 * asked instead.
 */
#include "config.h"
#include "probe/group.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
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
    STEPS_MAX = 32,
    STEPS_DONE = 255,
    HOPELESS = 3, /* pings in a row without an echo: expect no more */
    /* intervals, in gaps */
    ASK_FIRST = 100,
    ASK_LAST = 800,
    /* a member that was asked so often without an answer is dead */
    ASK_TIMES = 12,
    SERVE_MS = 20, /* interval of serving in group_meanwhile */
};

struct group_message {
    enum message_type type;
    uint8_t kind; /* or step */
    uint16_t fragment; /* in pings and letters: bytes of the pad */
    uint32_t number;
};

/* This member's knowledge of another member. */
struct known_member {
    bool dead;
    int64_t heard; /* time of its last message */
    int64_t spoke; /* time of its last ping or letter */

    /* The number of the pair of rails, own and peer's, that messages take; the
     * pairs with rails at the same position on both sides come first.
     */
    uint32_t pair;
    int64_t asked, answered; /* times of the last ones, except pings */

    uint8_t want;         /* in a barrier: 1 + step; 0: nothing */
    int64_t wanted_since; /* -1: it has not been asked yet */

    uint32_t next;         /* 1 + the fragment asked for; 0: none */
    struct group_blob got; /* the object so far */

    /* objects that it may fetch */
    struct group_blob object[GROUP_KINDS];
    bool ready[GROUP_KINDS];
};

struct group {
    const struct transport *transport;
    void *t;
    uint64_t key;
    size_t n, me;
    uint32_t *first;
    uint32_t *member_of; /* [peer] */
    struct known_member *members; /* [n + 1], the last: objects for all */
    size_t npeers;
    int64_t deadline;
    struct group_stats stats;

    /* barrier: its number, this member's step, how many members are missing */
    uint32_t barrier;
    uint8_t step;
    uint32_t got[STEPS_MAX]; /* number of the latest token, by step */
    size_t nwant;

    /* pings */
    uint32_t number;
    struct group_ping *ping;
    size_t npings, pings_left;
    size_t ping_size;
    uint32_t last_echo[TRANSPORT_RAILS_MAX];
    uint8_t *misses; /* [peer]: pings without an echo, in a row */

    bool served[GROUP_KINDS];
    enum group_kind fetch; /* being fetched; GROUP_KINDS: nothing */
    size_t nfetch;         /* members that it is still fetched from */

    struct group_hooks hooks;
    group_letter_f take; /* NULL: letters count as foreign */
    void *take_arg;
};

struct group *group_create (const struct transport *transport, void *t,
                            uint64_t key, size_t n, size_t me,
                            const uint32_t *first)
{
    struct group *g = xcalloc (1, sizeof (*g));

    g->transport = transport;
    g->t = t;
    g->key = key;
    g->n = n;
    g->me = me;
    g->npeers = first[n];
    g->deadline = INT64_MAX;
    g->step = STEPS_DONE;
    g->fetch = GROUP_KINDS;
    g->ping_size = GROUP_PING_SIZE;
    g->first = xarray (n + 1, sizeof (*g->first));
    g->member_of = xarray (g->npeers, sizeof (*g->member_of));
    g->misses = xcalloc (g->npeers, sizeof (*g->misses));
    g->members = xcalloc (n + 1, sizeof (*g->members));
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
    free (g->members);
    free (g);
}

size_t group_size (const struct group *g)
{
    return g->n;
}

size_t group_me (const struct group *g)
{
    return g->me;
}

uint32_t group_peers (const struct group *g)
{
    return (uint32_t)g->npeers;
}

size_t group_rails (const struct group *g)
{
    return g->first[g->me + 1] - g->first[g->me];
}

uint32_t group_own_peer (const struct group *g, uint32_t rail)
{
    return g->first[g->me] + rail;
}

size_t group_find_peer (const struct group *g, uint32_t peer, uint32_t *rail)
{
    *rail = peer - g->first[g->member_of[peer]];
    return g->member_of[peer];
}

uint32_t group_first_peer (const struct group *g, size_t member)
{
    return g->first[member];
}

int64_t group_now (const struct group *g)
{
    return g->transport->now_ns (g->t);
}

int64_t group_gap (const struct group *g)
{
    return g->transport->gap_ns (g->t);
}

/* A time of so many gaps, but at most ns, or two gaps if that is more. */
static int64_t at_most (const struct group *g, int gaps, int64_t ns)
{
    int64_t gap = group_gap (g);

    if (ns < 2 * gap)
        ns = 2 * gap;
    return gaps * gap < ns ? gaps * gap : ns;
}

int64_t group_dead_ns (const struct group *g)
{
    return at_most (g, GROUP_DEAD, GROUP_DEAD_NS);
}

size_t group_turns (const struct group *g, size_t *mine)
{
    *mine = 0;
    return g->transport->turns ? g->transport->turns (g->t, mine) : 1;
}

struct group_stats group_stats (const struct group *g)
{
    struct group_stats stats = g->stats;

    if (g->transport->counts) {
        const struct transport_counts *counts = g->transport->counts (g->t);

        stats.duplicate += counts->repeated;
        stats.foreign += counts->foreign;
    }
    return stats;
}

const char *group_trouble (const struct group *g)
{
    return g->transport->trouble ? g->transport->trouble (g->t) : NULL;
}

void group_set_hooks (struct group *g, const struct group_hooks *hooks)
{
    g->hooks = *hooks;
}

char *group_remark (const struct group *g)
{
    return g->hooks.remark ? g->hooks.remark (g->hooks.arg) : NULL;
}

void group_stage (const struct group *g, bool begins)
{
    if (g->hooks.stage)
        g->hooks.stage (g->hooks.arg, begins);
}

const char *group_device (const struct group *g, char *name, size_t size)
{
    if (!g->transport->device)
        return NULL;
    g->transport->device (g->t, 0, name, size);
    return name;
}

void group_set_deadline (struct group *g, int64_t time_ns)
{
    g->deadline = time_ns;
}

int64_t group_deadline (const struct group *g)
{
    return g->deadline;
}

void group_set_ping_size (struct group *g, size_t bytes)
{
    g->ping_size = bytes;
}

void group_set_level (struct group *g, unsigned int level)
{
    if (g->transport->set_level)
        g->transport->set_level (g->t, level);
}

bool group_attend (struct group *g, bool on)
{
    return g->transport->attend ? g->transport->attend (g->t, on) : true;
}

int group_prepare (struct group *g, uint32_t rail, uint32_t peer,
                   struct transport_way way, struct error *err)
{
    return g->transport->prepare
               ? g->transport->prepare (g->t, rail, peer, way, err)
               : 1;
}

static bool has_pad (const struct group_message *msg)
{
    return msg->type == PING || msg->type == PONG || msg->type == LETTER;
}

static int send_from (struct group *g, uint32_t rail, uint32_t peer,
                      struct group_message msg, const void *data, size_t len,
                      struct transport_timing *timing, struct error *err)
{
    size_t pad = has_pad (&msg) ? msg.fragment : 0;
    uint8_t buf[TRANSPORT_DATA_MAX];

    wire_put (buf, g->key, 8);
    buf[8] = (uint8_t)msg.type;
    buf[9] = msg.kind;
    wire_put (buf + 10, msg.fragment, 2);
    wire_put (buf + 12, msg.number, 4);
    if (len > 0)
        memcpy (buf + HEADER, data, len);
    if (g->member_of[peer] != g->me) /* a cable carries it */
        g->stats.bytes[0] += WIRE_HEADER + HEADER + len + pad;
    return g->transport->send (g->t, rail, peer, buf, HEADER + len, pad,
                               timing, err);
}

static bool usable (const struct group *g, uint32_t rail)
{
    return !g->transport->usable || g->transport->usable (g->t, rail);
}

static uint32_t peers_of (const struct group *g, size_t member)
{
    return g->first[member + 1] - g->first[member];
}

static uint32_t rail_of (const struct group *g, size_t member)
{
    uint32_t peers = peers_of (g, member);
    uint32_t pair = g->members[member].pair;

    return (pair % peers + pair / peers) % (uint32_t)group_rails (g);
}

/* Switch to the next pair of rails whose own rail is usable. */
static void try_another (struct group *g, size_t member)
{
    uint32_t pairs = peers_of (g, member) * (uint32_t)group_rails (g);

    for (uint32_t i = 0; i < pairs; i++) {
        g->members[member].pair = (g->members[member].pair + 1) % pairs;
        if (usable (g, rail_of (g, member)))
            break;
    }
}

/* A message arrived: take the same pair of rails from now on. */
static void note_way (struct group *g, const struct packet *p)
{
    size_t m = g->member_of[p->peer];
    uint32_t rails = (uint32_t)group_rails (g);
    uint32_t at = p->peer - g->first[m];

    g->members[m].answered = p->time_ns;
    g->members[m].pair
        = (p->rail + rails - at % rails) % rails * peers_of (g, m) + at;
}

static int tell (struct group *g, size_t member, struct group_message msg,
                 const void *data, size_t len, struct error *err)
{
    uint32_t peers = peers_of (g, member);

    if (!usable (g, rail_of (g, member)))
        try_another (g, member);
    return send_from (g, rail_of (g, member),
                      g->first[member] + g->members[member].pair % peers, msg,
                      data, len, NULL, err);
}

/* Before asking: switch to another pair of rails if the last question got no
 * answer.
 */
static void note_asking (struct group *g, size_t member)
{
    struct known_member *m = &g->members[member];

    if (m->asked > m->answered)
        try_another (g, member);
    m->asked = group_now (g);
}

static int ask (struct group *g, size_t member, struct group_message msg,
                struct error *err)
{
    note_asking (g, member);
    return tell (g, member, msg, NULL, 0, err);
}

/* The member that `member` waits for in this step: i - 2^k, modulo n. */
static size_t before (const struct group *g, size_t member, unsigned int step)
{
    return (member + g->n - (((size_t)1 << step) % g->n)) % g->n;
}

static int on_ping (struct group *g, const struct packet *p,
                    const struct group_message *msg, struct error *err)
{
    struct group_message echo = { PONG, msg->kind, msg->fragment, msg->number };
    struct transport_timing timing = { .answers = p };

    if (msg->fragment > group_pad_max (g, p->len - HEADER))
        return 0;
    return send_from (g, p->rail, p->peer, echo, p->data + HEADER,
                      p->len - HEADER, &timing, err);
}

static int on_pong (struct group *g, const struct packet *p,
                    const struct group_message *msg, struct error *err)
{
    int64_t rtt_ns = 0;

    (void)err;
    for (size_t i = 0; i < g->npings; i++) {
        struct group_ping *ping = &g->ping[i];

        if (ping->rail != p->rail || ping->peer != p->peer
            || ping->number != msg->number || ping->rtt_ns >= 0)
            continue;
        rtt_ns = p->stamp_ns - ping->stamp_ns - p->held_ns;
        if (rtt_ns < 0) /* held for longer than the round trip took */
            break;
        ping->rtt_ns = rtt_ns;
        g->last_echo[p->rail] = msg->number;
        g->pings_left--;
        return 0;
    }
    if (msg->kind == WAKING)
        return 0;
    if (rtt_ns < 0)
        g->stats.foreign++;
    else if (g->last_echo[p->rail] == msg->number)
        g->stats.duplicate++;
    else
        g->stats.late++;
    return 0;
}

static int on_token (struct group *g, const struct packet *p,
                     const struct group_message *msg, struct error *err)
{
    size_t m = g->member_of[p->peer];
    struct known_member *of = &g->members[m];

    (void)err;
    if (msg->kind < STEPS_MAX && m == before (g, g->me, msg->kind)
        && msg->number > g->got[msg->kind])
        g->got[msg->kind] = msg->number;
    if (of->want
        && (msg->number > g->barrier
            || (msg->number == g->barrier && msg->kind + 1 >= of->want))) {
        of->want = 0;
        g->nwant--;
    }
    return 0;
}

static int on_ask (struct group *g, const struct packet *p,
                   const struct group_message *msg, struct error *err)
{
    bool passed = msg->number < g->barrier
                  || (msg->number == g->barrier && msg->kind <= g->step);
    struct group_message answer
        = { passed ? TOKEN : BUSY, msg->kind, 0, msg->number };

    return tell (g, g->member_of[p->peer], answer, NULL, 0, err);
}

static int on_get (struct group *g, const struct packet *p,
                   const struct group_message *msg, struct error *err)
{
    size_t m = g->member_of[p->peer];
    struct group_message answer = { BUSY, msg->kind, msg->fragment, 0 };
    size_t start = (size_t)msg->fragment * FRAGMENT;
    const struct group_blob *blob;
    size_t len;

    if (msg->kind >= GROUP_KINDS)
        return 0;
    if (!g->members[m].ready[msg->kind])
        m = g->n;
    if (!g->members[m].ready[msg->kind])
        return tell (g, g->member_of[p->peer], answer, NULL, 0, err);
    blob = &g->members[m].object[msg->kind];
    if (start > blob->len)
        return 0;
    len = blob->len - start < FRAGMENT ? blob->len - start : FRAGMENT;
    if (start + len == blob->len)
        g->served[msg->kind] = true;
    answer.type = DATA;
    answer.number = (uint32_t)blob->len;
    return tell (g, g->member_of[p->peer], answer,
                 len > 0 ? blob->data + start : NULL, len, err);
}

static int ask_fragment (struct group *g, size_t member, struct error *err)
{
    struct group_message msg = { GET, (uint8_t)g->fetch,
                                 (uint16_t)(g->members[member].next - 1), 0 };

    return ask (g, member, msg, err);
}

static int on_data (struct group *g, const struct packet *p,
                    const struct group_message *msg, struct error *err)
{
    size_t member = g->member_of[p->peer];
    struct known_member *m = &g->members[member];
    struct group_blob *blob = &m->got;
    size_t start = (size_t)msg->fragment * FRAGMENT;
    size_t len = p->len - HEADER;
    size_t expected;

    if (msg->kind != g->fetch || m->next != msg->fragment + 1u
        || msg->number > GROUP_BLOB_MAX)
        return 0;
    if (!blob->data) {
        blob->data = xarray (msg->number, 1);
        blob->len = msg->number;
    }
    if (start > blob->len || blob->len != msg->number)
        return 0;
    expected = blob->len - start < FRAGMENT ? blob->len - start : FRAGMENT;
    if (len != expected)
        return 0;
    if (len > 0)
        memcpy (blob->data + start, p->data + HEADER, len);
    if (start + len == blob->len) {
        m->next = 0;
        g->nfetch--;
        return 0;
    }
    m->next++;
    return ask_fragment (g, member, err);
}

static int on_letter (struct group *g, const struct packet *p,
                      const struct group_message *msg, struct error *err)
{
    struct group_letter letter = {
        .kind = msg->kind,
        .pad = msg->fragment,
        .number = msg->number,
        .data = p->data + HEADER,
        .len = p->len - HEADER,
    };

    if (g->take)
        return g->take (g->take_arg, g->member_of[p->peer], &letter, err);
    g->stats.foreign++;
    return 0;
}

static const struct {
    enum message_type type;
    int (*fn) (struct group *g, const struct packet *p,
               const struct group_message *msg, struct error *err);
} handlers[] = {
    { PING, on_ping }, { PONG, on_pong }, { TOKEN, on_token },
    { ASK, on_ask },   { BUSY, NULL },    { GET, on_get },
    { DATA, on_data }, { LETTER, on_letter },
};

static int handle (struct group *g, const struct packet *p, struct error *err)
{
    struct group_message msg;

    if (p->len >= HEADER && wire_get (p->data, 8) == g->key
        && p->peer < g->npeers && p->rail < group_rails (g)) {
        msg.type = p->data[8];
        msg.kind = p->data[9];
        msg.fragment = (uint16_t)wire_get (p->data + 10, 2);
        msg.number = (uint32_t)wire_get (p->data + 12, 4);
        for (size_t i = 0; i < sizeof (handlers) / sizeof (handlers[0]); i++)
            if (msg.type == handlers[i].type) {
                g->members[g->member_of[p->peer]].heard = p->time_ns;
                if (msg.type == PING || msg.type == LETTER)
                    g->members[g->member_of[p->peer]].spoke = p->time_ns;
                if (msg.type != PING && msg.type != PONG)
                    note_way (g, p);
                return handlers[i].fn ? handlers[i].fn (g, p, &msg, err) : 0;
            }
    }
    g->stats.foreign++;
    return 0;
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
    if (rc == 1
        && (packet.peer >= g->npeers || g->member_of[packet.peer] != g->me))
        g->stats.bytes[1] += WIRE_HEADER + packet.len;
    if (rc == 1 && handle (g, &packet, err) < 0)
        return -1;
    return rc;
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
    int done; /* an eventfd: readable when fn has ended */
};

static void *think (void *arg)
{
    struct thinking *th = arg;

    th->rc = th->fn (th->arg, &th->err);
    eventfd_write (th->done, 1);
    return NULL;
}

int group_meanwhile (struct group *g,
                     int (*fn) (void *arg, struct error *err), void *arg,
                     struct error *err)
{
    struct thinking th = { .fn = fn, .arg = arg };
    struct pollfd pfd = { .events = POLLIN };
    pthread_t thread;
    int rc = 0;

    if (!g)
        return fn (arg, err);
    pfd.fd = th.done = eventfd (0, EFD_CLOEXEC);
    if (th.done >= 0 && pthread_create (&thread, NULL, think, &th) == 0) {
        /* do not wait in the group: the emulator's time stands still */
        while (poll (&pfd, 1, SERVE_MS) <= 0)
            rc = rc < 0 ? -1 : catch_up (g, err);
        pthread_join (thread, NULL);
    }
    else
        th.rc = fn (arg, &th.err);
    if (th.done >= 0)
        close (th.done);
    if (rc < 0)
        return -1;
    if (th.rc < 0 && err)
        *err = th.err;
    return th.rc;
}

/* The longest interval of asking at which no member is declared dead too
 * early.
 */
static int64_t longest_ns (const struct group *g)
{
    return group_dead_ns (g) / ASK_TIMES;
}

static int64_t first_interval (const struct group *g)
{
    return at_most (g, ASK_FIRST, longest_ns (g));
}

static bool is_silent (const struct group *g, size_t m, int64_t asked)
{
    int64_t since = g->members[m].heard > asked ? g->members[m].heard : asked;

    return group_now (g) - since > group_dead_ns (g);
}

/* Something to ask for until it is there: first after first_ns, then at
 * intervals that grow.
 */
struct asking {
    bool (*done) (const struct group *g, const void *arg);
    /* Ask all members whose answers are missing; give up those that have been
     * silent since `begin`. Return 0, or -1 with err.
     */
    int (*ask) (struct group *g, void *arg, int64_t begin, struct error *err);
    void *arg;
    int64_t first_ns, interval;
};

static int serve_until (struct group *g, struct asking a, struct error *err)
{
    int64_t begin = group_now (g);
    int64_t next = begin + a.first_ns;

    while (!a.done (g, a.arg)) {
        if (group_now (g) < next) {
            if (group_turn (g, next, err) < 0)
                return -1;
            continue;
        }
        if (catch_up (g, err) < 0 || a.ask (g, a.arg, begin, err) < 0)
            return -1;
        next = group_now (g) + a.interval;
        if (a.interval < ASK_LAST * group_gap (g)
            && 2 * a.interval < longest_ns (g))
            a.interval *= 2;
    }
    return 0;
}

/* Wait for this member's token of a step; if it is dead, for the tokens of the
 * members that its token would have stood for.
 */
static void want (struct group *g, size_t m, unsigned int step)
{
    struct known_member *of = &g->members[m];

    if (m == g->me || of->want > step)
        return;
    if (of->dead) {
        for (unsigned int k = 0; k < step; k++)
            want (g, before (g, m, k), k);
        return;
    }
    if (!of->want) {
        g->nwant++;
        of->wanted_since = -1;
    }
    of->want = (uint8_t)(step + 1);
}

static bool wants_none (const struct group *g, const void *arg)
{
    (void)arg;
    return g->nwant == 0;
}

static int ask_wanted (struct group *g, void *arg, int64_t begin,
                       struct error *err)
{
    (void)arg;
    (void)begin; /* each has been asked since a time of its own */
    for (size_t m = 0; m < g->n && g->nwant > 0; m++) {
        struct known_member *of = &g->members[m];
        struct group_message msg = { ASK, (uint8_t)(of->want - 1), 0,
                                     g->barrier };

        if (!of->want)
            continue;
        if (of->wanted_since < 0)
            of->wanted_since = group_now (g);
        if (is_silent (g, m, of->wanted_since)) {
            of->dead = true;
            of->want = 0;
            g->nwant--;
            want (g, m, msg.kind);
        }
        else if (ask (g, m, msg, err) < 0)
            return -1;
    }
    return 0;
}

static int barrier_step (struct group *g, unsigned int step,
                         struct error *err)
{
    size_t next = (g->me + ((size_t)1 << step)) % g->n;
    size_t last = before (g, g->me, step);
    struct group_message token = { TOKEN, (uint8_t)step, 0, g->barrier };
    struct asking a = { .done = wants_none, .ask = ask_wanted,
                        .interval = first_interval (g) };

    g->step = (uint8_t)step;
    if (!g->members[next].dead && tell (g, next, token, NULL, 0, err) < 0)
        return -1;
    if (g->got[step] >= g->barrier)
        return 0;
    want (g, last, step);
    a.first_ns = g->members[last].dead ? 0 : a.interval;
    return serve_until (g, a, err);
}

int group_barrier (struct group *g, struct error *err)
{
    g->barrier++;
    for (unsigned int step = 0; (size_t)1 << step < g->n; step++)
        if (barrier_step (g, step, err) < 0)
            return -1;
    g->step = STEPS_DONE;
    return 0;
}

/* Send pings, then wait for their echoes until a time. Return 0, or -1 with
 * err.
 */
static int ping (struct group *g, struct group_ping *v, size_t n,
                 enum ping_kind kind, int64_t timeout_ns, struct error *err)
{
    static const uint8_t padding[GROUP_PING_MAX - HEADER];
    int64_t until = group_now (g) + timeout_ns;
    int rc = 0;

    g->ping = v;
    g->npings = g->pings_left = n;
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct group_message msg
            = { PING, (uint8_t)kind, v[i].pad, ++g->number };
        struct transport_timing timing = { .way = v[i].way };

        v[i].number = msg.number;
        v[i].rtt_ns = -1;
        rc = send_from (g, v[i].rail, v[i].peer, msg, padding,
                        g->ping_size - HEADER, &timing, err);
        v[i].stamp_ns = timing.stamp_ns;
    }
    while (rc >= 0 && g->pings_left > 0 && group_now (g) < until)
        rc = group_turn (g, until, err);
    g->npings = 0;
    return rc < 0 ? -1 : 0;
}

int group_pings (struct group *g, struct group_ping *v, size_t n,
                 struct error *err)
{
    int64_t timeout = at_most (g, GROUP_PING_TIMEOUT, GROUP_PING_TIMEOUT_NS);
    bool hope = false;
    int rc;

    for (size_t i = 0; i < n; i++)
        hope = hope || g->misses[v[i].peer] < HOPELESS;
    rc = ping (g, v, n, COUNTS, hope ? timeout : timeout / HOPELESS_PART, err);
    for (size_t i = 0; i < n; i++) {
        uint8_t *misses = &g->misses[v[i].peer];

        if (v[i].rtt_ns >= 0)
            *misses = 0;
        else if (*misses < HOPELESS)
            ++*misses;
    }
    return rc;
}

int group_wake (struct group *g, struct group_ping *v, size_t n,
                struct error *err)
{
    return ping (g, v, n, WAKING, group_gap (g), err);
}

bool group_is_dead (const struct group *g, size_t member)
{
    return g->members[member].dead;
}

bool group_listens (struct group *g, size_t member, int64_t since_ns)
{
    if (is_silent (g, member, since_ns))
        g->members[member].dead = true;
    return !g->members[member].dead;
}

int64_t group_spoke (const struct group *g, size_t member)
{
    return g->members[member].spoke;
}

void group_listen (struct group *g, group_letter_f fn, void *arg)
{
    g->take = fn;
    g->take_arg = arg;
}

int group_send (struct group *g, size_t member,
                const struct group_letter *letter, struct error *err)
{
    struct group_message msg
        = { LETTER, letter->kind, letter->pad, letter->number };

    if (letter->asks)
        note_asking (g, member);
    return tell (g, member, msg, letter->data, letter->len, err);
}

size_t group_pad_max (const struct group *g, size_t len)
{
    size_t most = g->transport->size_max ? g->transport->size_max (g->t) : 0;

    if (most > UINT16_MAX)
        most = UINT16_MAX;
    return most > HEADER + len ? most - HEADER - len : 0;
}

void group_serve (struct group *g, enum group_kind kind, int member,
                  const uint8_t *data, size_t len)
{
    size_t i = member == GROUP_ALL ? g->n : (size_t)member;

    g->members[i].object[kind] = (struct group_blob){ (uint8_t *)data, len };
    g->members[i].ready[kind] = true;
}

bool group_served (const struct group *g, enum group_kind kind)
{
    return g->served[kind];
}

struct awaiting {
    const enum group_kind *kind;
    size_t n;
    size_t member;
    bool gone; /* the member is dead */
};

static bool is_served (const struct group *g, const void *arg)
{
    const struct awaiting *w = arg;

    for (size_t i = 0; i < w->n; i++)
        if (g->served[w->kind[i]])
            return true;
    return w->gone;
}

static int ask_awaited (struct group *g, void *arg, int64_t begin,
                        struct error *err)
{
    struct awaiting *w = arg;
    struct group_message msg = { ASK, 0, 0, g->barrier };

    if (!is_silent (g, w->member, begin))
        return ask (g, w->member, msg, err);
    w->gone = g->members[w->member].dead = true;
    return 0;
}

int group_await (struct group *g, const enum group_kind *kind, size_t n,
                 size_t member, struct error *err)
{
    struct awaiting w = { kind, n, member, false };
    struct asking a = { .done = is_served, .ask = ask_awaited, .arg = &w,
                        .first_ns = longest_ns (g),
                        .interval = longest_ns (g) };

    return serve_until (g, a, err) < 0 ? -1 : !w.gone;
}

static bool is_fetched (const struct group *g, const void *arg)
{
    (void)arg;
    return g->nfetch == 0;
}

static int ask_fetched (struct group *g, void *arg, int64_t begin,
                        struct error *err)
{
    (void)arg;
    for (size_t i = 0; i < g->n; i++) {
        struct known_member *m = &g->members[i];

        if (!m->next)
            continue;
        if (m->dead || is_silent (g, i, begin)) {
            m->dead = true;
            m->next = 0;
            g->nfetch--;
            free (m->got.data);
            m->got.data = NULL;
        }
        else if (ask_fragment (g, i, err) < 0)
            return -1;
    }
    return 0;
}

int group_fetch (struct group *g, enum group_kind kind, const uint32_t *from,
                 size_t n, struct group_blob *blob, struct error *err)
{
    struct asking a = { .done = is_fetched, .ask = ask_fetched,
                        .interval = first_interval (g) };
    int rc;

    for (size_t i = 0; i < n; i++) {
        g->members[from[i]].next = 1;
        g->members[from[i]].got = (struct group_blob){ NULL, 0 };
    }
    g->fetch = kind;
    g->nfetch = n;
    rc = catch_up (g, err) < 0 ? -1 : serve_until (g, a, err);
    g->fetch = GROUP_KINDS;
    for (size_t i = 0; i < n; i++) {
        g->members[from[i]].next = 0;
        blob[i] = g->members[from[i]].got;
    }
    for (size_t i = 0; i < n && rc < 0; i++)
        free (blob[i].data);
    return rc;
}
