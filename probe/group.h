/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group: the hosts of a check. They exchange messages over a transport that
 * may lose, repeat or delay them, and they may die at any time.
 *
 * A member is one host with one or more peers (its rails). Members send from
 * first rail to first rail; if that gets no answer, they try the other pairs of
 * rails. Messages without the group's key are dropped. While a member waits in
 * any of the calls below, it echoes pings and answers requests, so each call
 * makes progress for all. Time-outs are multiples of the transport's gap. Who
 * is asked and stays silent for DEAD gaps, or for DEAD_NS, is considered dead.
 *
 * Messages, little-endian: key 8, type 1, kind or step 1, fragment 2,
 * number 4, then data. Types: ping 1, its echo 2, a barrier's token 3, "are you
 * there?" 4, "I am" 5, "give me a fragment" 6, the fragment 7, letter 8.
 *
 * Functions with err return 0, or -1 with err, unless they say otherwise.
 */
#ifndef PROBE_GROUP_H
#define PROBE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "ibquery/ports.h"
#include "probe/transport.h"
#include "util/error.h"

enum { /* in gaps */
    GROUP_PING_TIMEOUT = 250,
    GROUP_DEAD = 50000,
};
/* upper bounds in ns, for transports with long gaps */
#define GROUP_PING_TIMEOUT_NS INT64_C (250000000)
#define GROUP_DEAD_NS INT64_C (5000000000)

enum { /* bytes of a ping */
    GROUP_PING_MIN = 16,
    GROUP_PING_SIZE = 64,
    GROUP_PING_MAX = TRANSPORT_DATA_MAX,
};

enum { GROUP_STEPS_MAX = 32 }; /* of a barrier */

struct group_stats {
    uint32_t late;      /* echoes that came after their time-out */
    uint32_t duplicate; /* messages that came twice */
    uint32_t foreign;   /* messages with another key, and invalid ones */
    uint64_t bytes[2];  /* sent and received by this member, each with the
                           longest headers that a packet may have;
                           messages of a rail to itself do not count */
};

/* Objects that members fetch from each other: of stage s (probe/stage), GROUP_NEXT
 * + s and so on.
 */
enum { GROUP_STAGES = 5 };
enum group_kind {
    GROUP_NEXT, /* empty: there is a part for it */
    GROUP_PART = GROUP_NEXT + GROUP_STAGES,
    GROUP_RESULT = GROUP_PART + GROUP_STAGES,
    GROUP_BYE = GROUP_RESULT + GROUP_STAGES, /* empty: there is nothing more */
    GROUP_KINDS,
};
enum { GROUP_BLOB_MAX = 1 << 22 };

struct group_blob {
    uint8_t *data;
    size_t len;
};

/* Letters: unreliable messages of the group's user (exchange/comm_group.c). */
enum { GROUP_LETTER_MAX = TRANSPORT_DATA_MAX - 16 };

struct group_letter {
    uint8_t kind;
    bool asks; /* expects an answer: it takes another pair of rails if the last
                  one that asked got none; not sent */
    uint32_t number;
    const uint8_t *data; /* borrowed */
    size_t len;          /* at most GROUP_LETTER_MAX */
};

struct group_message {
    uint8_t type;      /* 0: none */
    uint8_t kind;      /* or step */
    uint16_t fragment;
    uint32_t number;
};

/* This member's knowledge of another member. */
struct group_peer {
    bool dead;
    int64_t heard; /* time of its last message */

    /* The number of the pair of rails, own and peer's, that messages take; the
     * pairs with rails at the same position on both sides come first.
     */
    uint32_t pair;
    int64_t asked, answered; /* times of the last ones, except pings */

    /* what it is asked until it has answered or is dead */
    struct group_message question;
    int64_t since;         /* when that began; -1: not asked yet */
    struct group_blob got; /* the object so far */

    /* objects that it may fetch */
    struct group_blob object[GROUP_KINDS];
    bool ready[GROUP_KINDS];
};

struct group {
    const struct transport *transport;
    struct transport_handle *t;
    size_t n, me;           /* members, and this one */
    uint32_t *first;        /* [n + 1] first peer of each; the end */
    uint32_t *member_of;    /* [npeers] */
    uint32_t npeers, rails; /* of all members; of this one */
    struct group_peer *member; /* [n + 1], the last: objects for all */
    bool served[GROUP_KINDS];  /* some member has fetched all of it */

    /* for the user to set */
    const struct transport_address *peer; /* [npeers] which is in which subnet;
                                             NULL: all are in one */
    int64_t deadline; /* calls that would continue past this return -1 with err
                         "timed out ..." */
    size_t ping_size; /* from GROUP_PING_MIN to GROUP_PING_MAX */
    struct ports_watch *watch; /* counts others' traffic on this host's ports
                                  during round trips that count; or NULL */

    /* Takes incoming letters, and may send some; while it is NULL, they count
     * as foreign. If it fails, so does the group call that called it.
     */
    int (*take) (void *arg, size_t member, const struct group_letter *letter,
                 struct error *err);
    void *take_arg;

    /* internal */
    uint64_t key;
    struct group_stats stats;
    size_t open;      /* questions */
    uint32_t barrier; /* its number, and this member's step */
    uint8_t step;
    uint32_t token[GROUP_STEPS_MAX]; /* number of the latest, by step */
    uint32_t pings;                  /* sent so far */
    struct group_ping *ping;         /* waits for its echo; NULL: none */
    uint32_t last_echo[TRANSPORT_RAILS_MAX];
    uint8_t *misses;      /* [peer]: pings without an echo, in a row */
    unsigned int awaited; /* kinds, as bits */
    size_t awaited_of;
};

/* Join a group of n members as number `me`. Peers first[m] .. first[m + 1] - 1
 * are the rails of member m. t, open and connected, is borrowed.
 */
struct group *group_create (const struct transport *transport, void *t,
                            uint64_t key, size_t n, size_t me,
                            const uint32_t *first);
void group_destroy (struct group *g);

int64_t group_now (const struct group *g);
int64_t group_gap (const struct group *g);
int64_t group_dead_ns (const struct group *g); /* silent for this long: dead */
struct group_stats group_stats (const struct group *g);

/* From now on, wait for messages actively on a core of this process's own, or
 * asleep, as a group does at first. Return false if pings are better waited for
 * asleep; a ping that does not count should then precede them (group_wake).
 */
bool group_attend (struct group *g, bool on);

/* Wait until a time, and serve. */
int group_until (struct group *g, int64_t time_ns, struct error *err);

/* Run fn in a thread of its own, and serve until it has ended; fn must not use
 * the group. Return the result of fn, 0 or -1 with err; or -1 with err if the
 * group has failed meanwhile. If g is NULL, there is nobody to serve.
 */
int group_meanwhile (struct group *g,
                     int (*fn) (void *arg, struct error *err), void *arg,
                     struct error *err);

/* Wait until every living member has reached its call of this: a dissemination
 * barrier, log2 (n) steps of one message per member. Lost messages are
 * requested again; in place of a dead member, those are asked that it would
 * have waited for.
 */
int group_barrier (struct group *g, struct error *err);

/* Prepare for pings between a rail and a peer, which does the same, until a
 * time. If it is not ready by then, its messages will be lost.
 */
int group_prepare (struct group *g, uint32_t rail, uint32_t peer,
                   struct transport_way way, int64_t until, struct error *err);

/* Ping a peer, and wait for the echo or for the time-out (a tenth of it if the
 * last pings were all lost, so that a dead peer does not delay the rest).
 * group_wake wakes processes that sleep along the path there and back: it waits
 * at most one gap for the echo, and nothing counts.
 */
struct group_ping {
    uint32_t rail, peer;
    struct transport_way way;
    uint32_t number;  /* set by group_ping, like stamp_ns */
    int64_t stamp_ns; /* when it was sent */
    int64_t rtt_ns;   /* -1: no echo came */
    int64_t way_ns[2]; /* to another rail of this process, and back: when the
                          ping, and its echo, was taken after it was sent, by
                          group_now; 0: not known */
    int64_t turn_ns;  /* internal: when the message in flight was sent */
};
int group_ping (struct group *g, struct group_ping *ping, struct error *err);
int group_wake (struct group *g, struct group_ping *ping, struct error *err);

/* Handle the next message that arrives before a time. Return 1, 0 if none came,
 * or -1 with err.
 */
int group_turn (struct group *g, int64_t time_ns, struct error *err);

/* Run bursts as transport.bulk does, until the deadline at most, and serve. */
int group_bulk (struct group *g, struct transport_burst *burst, size_t n,
                int64_t deadline_ns, struct error *err);

/* Whether a member that has been asked since a time lives; if it has been
 * silent, it is dead from now on. Call it only after everything that has
 * arrived is handled.
 */
bool group_listens (struct group *g, size_t member, int64_t since_ns);

int group_send (struct group *g, size_t member,
                const struct group_letter *letter, struct error *err);

/* Offer an object to one member, or to all (GROUP_ALL); the bytes are borrowed.
 * A member that asks before this call is told to wait.
 */
enum { GROUP_ALL = -1 };
void group_serve (struct group *g, enum group_kind kind, int member,
                  const uint8_t *data, size_t len);

/* Wait until some member has fetched one of these objects (bits 1 << kind), as
 * long as `member` lives, which is checked now and then. Return 1, 0 if it is
 * dead, or -1 with err.
 */
int group_await (struct group *g, unsigned int kinds, size_t member,
                 struct error *err);

/* Fetch from members: blob[i] from member from[i]; data is NULL if that member
 * is dead. The caller frees the data. After -1 there are no blobs.
 */
int group_fetch (struct group *g, enum group_kind kind, const uint32_t *from,
                 size_t n, struct group_blob *blob, struct error *err);

#endif /* PROBE_GROUP_H */
