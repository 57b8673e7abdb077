/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group: the hosts of a check. They exchange messages over a transport that
 * may lose, repeat or delay them, and they may die at any time.
 *
 * A member is one host with one or more peers (its rails). Members send from
 * first rail to first rail; if that gets no answer, they try the other pairs of
 * rails. Each message carries the group's key; messages with another key are
 * dropped. While a member is in any of the calls below that wait, it echoes
 * pings and answers all requests, so each call makes progress for all.
 *
 * Time-outs are multiples of the transport's gap. If a member is asked and
 * stays silent for DEAD gaps, or for DEAD_NS, this member considers it dead.
 *
 * Messages, little-endian: key 8, type 1, kind or step 1, fragment or pad 2,
 * number 4, then data. Types: ping 1, its echo 2, a barrier's token 3, "are you
 * there?" 4, "I am" 5, "give me a fragment" 6, the fragment 7, letter 8. The
 * group does not interpret letters: its user (exchange/stream.h) sends and
 * receives them.
 */
#ifndef PROBE_GROUP_H
#define PROBE_GROUP_H

#include <stdbool.h>
#include <stdint.h>

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

struct group;

struct group_stats {
    uint32_t late;      /* echoes that came after their time-out */
    uint32_t duplicate; /* messages that came twice */
    uint32_t foreign;   /* messages with another key, and invalid ones */
    uint64_t bytes[2];  /* sent and received by this member, each with the
                           longest headers that a packet may have; messages to
                           itself do not count */
};

/* Join a group of n members, of which this process is number `me`. Peers
 * first[m] .. first[m + 1] - 1 are the rails of member m. t is the transport's
 * handle, open and connected; it is borrowed.
 */
struct group *group_create (const struct transport *transport, void *t,
                            uint64_t key, size_t n, size_t me,
                            const uint32_t *first);
void group_destroy (struct group *g);

size_t group_size (const struct group *g);
size_t group_me (const struct group *g);
uint32_t group_peers (const struct group *g); /* of all members */
size_t group_rails (const struct group *g);   /* own */
uint32_t group_own_peer (const struct group *g, uint32_t rail);
size_t group_find_peer (const struct group *g, uint32_t peer, uint32_t *rail);
/* The first peer of a member. Also valid for member n: the end of the last
 * one's peers.
 */
uint32_t group_first_peer (const struct group *g, size_t member);
int64_t group_now (const struct group *g);
int64_t group_gap (const struct group *g);
int64_t group_dead_ns (const struct group *g); /* silent for this long: dead */
/* The number of turns in which members ping, and this member's turn, from 0 on.
 */
size_t group_turns (const struct group *g, size_t *mine);
struct group_stats group_stats (const struct group *g);

/* No call continues past this time: it returns -1 with err "timed out ...". */
void group_set_deadline (struct group *g, int64_t time_ns);
int64_t group_deadline (const struct group *g);

/* Set the size of pings in bytes, from GROUP_PING_MIN to GROUP_PING_MAX. */
void group_set_ping_size (struct group *g, size_t bytes);

/* From now on, wait for messages actively on a core of this process's own, or
 * asleep, as a group does at first. Return false if pings are better waited for
 * asleep; a ping that does not count should then precede them (group_wake).
 */
bool group_attend (struct group *g, bool on);

/* Wait until a time, and serve. Return 0, or -1 with err. */
int group_until (struct group *g, int64_t time_ns, struct error *err);

/* Run fn in a thread of its own, and serve until it has ended, so that the
 * leader answers while it computes. fn must not use the group. Return the
 * result of fn, 0 or -1 with err, or -1 with err if the group has failed
 * meanwhile; fn has ended in both cases. If g is NULL, there is no group to
 * serve.
 */
int group_meanwhile (struct group *g,
                     int (*fn) (void *arg, struct error *err), void *arg,
                     struct error *err);

/* Wait until every living member has reached its call of this: a dissemination
 * barrier, log2 (n) steps of one message per member. Lost messages are
 * requested again; in place of a dead member, those are asked that it would
 * have waited for. Return 0, or -1 with err.
 */
int group_barrier (struct group *g, struct error *err);

/* What went wrong with this member's rails, in one sentence; NULL: nothing. */
const char *group_trouble (const struct group *g);

/* Callbacks of the group's user; each may be NULL. */
struct group_hooks {
    /* Return a short text that goes to the leader with this member's results,
     * or NULL. The caller of group_remark frees it.
     */
    char *(*remark) (void *arg);
    /* Round trips that count begin, or have ended. */
    void (*stage) (void *arg, bool begins);
    void *arg;
};
void group_set_hooks (struct group *g, const struct group_hooks *hooks);
char *group_remark (const struct group *g);
void group_stage (const struct group *g, bool begins);

/* Copy the name of the first rail's device and return name, or return NULL if
 * the kernel has no such device.
 */
const char *group_device (const struct group *g, char *name, size_t size);

/* Ping on this service level from now on, if the transport has service levels.
 */
void group_set_level (struct group *g, unsigned int level);

/* Prepare for pings between a rail and a peer, which does the same. Return 1; 0
 * if this is still in progress: call again; or -1 with err.
 */
int group_prepare (struct group *g, uint32_t rail, uint32_t peer,
                   struct transport_way way, struct error *err);

/* Ping n peers at once, each from another rail, and wait for the echoes or for
 * the time-out (a tenth of it if the last pings were all lost, so that a dead
 * peer does not delay the rest). rtt_ns is -1 if no echo came. Return 0, or -1
 * with err.
 */
struct group_ping {
    uint32_t rail, peer;
    struct transport_way way;
    uint16_t pad;     /* after the ping, and after its echo */
    uint32_t number;  /* set by group_pings, like stamp_ns */
    int64_t stamp_ns; /* when it was sent */
    int64_t rtt_ns;
};
int group_pings (struct group *g, struct group_ping *v, size_t n,
                 struct error *err);

/* The same, to wake processes that sleep along the path there and back: waits
 * at most one gap for the echoes, and nothing counts.
 */
int group_wake (struct group *g, struct group_ping *v, size_t n,
                struct error *err);

/* Handle the next message that arrives before a time. Return 1, 0 if none came,
 * or -1 with err.
 */
int group_turn (struct group *g, int64_t time_ns, struct error *err);

/* Whether a member is dead. group_listens decides it for a member that has been
 * asked since a given time; call it only after everything that has arrived is
 * handled.
 */
bool group_is_dead (const struct group *g, size_t member);
bool group_listens (struct group *g, size_t member, int64_t since_ns);

/* When the last ping or letter of a member arrived. Mere signs of life do not
 * count.
 */
int64_t group_spoke (const struct group *g, size_t member);

/* Letters: messages of the group's user, unreliable like all others. A letter
 * that asks expects an answer: it takes another pair of rails if the last one
 * that asked got none.
 */
enum { GROUP_LETTER_MAX = TRANSPORT_DATA_MAX - 16 };

struct group_letter {
    uint8_t kind;
    bool asks;   /* expects an answer; not sent */
    uint16_t pad;
    uint32_t number;
    const uint8_t *data; /* borrowed */
    size_t len;          /* at most GROUP_LETTER_MAX */
};

/* From now on, hand incoming letters to fn, which may send some; before this
 * call they count as foreign. fn returns 0, or -1 with err, which ends the
 * group call that called it.
 */
typedef int (*group_letter_f) (void *arg, size_t member,
                               const struct group_letter *letter,
                               struct error *err);
void group_listen (struct group *g, group_letter_f fn, void *arg);

/* Return 0, or -1 with err. */
int group_send (struct group *g, size_t member,
                const struct group_letter *letter, struct error *err);

/* The largest pad that may follow this many bytes of data in a letter or ping;
 * 0 if the transport has no pads.
 */
size_t group_pad_max (const struct group *g, size_t len);

/* What members fetch from each other. */
enum group_kind {
    GROUP_NEXT, /* empty: there is a plan */
    GROUP_PLAN,
    GROUP_RESULT,
    GROUP_NEXT_2, /* the same for a second stage */
    GROUP_PLAN_2,
    GROUP_RESULT_2,
    GROUP_BYE,  /* empty: there is nothing more */
    GROUP_KINDS,
};
enum { GROUP_BLOB_MAX = 1 << 22 };

struct group_blob {
    uint8_t *data;
    size_t len;
};

/* Offer an object to one member, or to all (GROUP_ALL); the bytes are borrowed.
 * A member that asks before this call is told to wait.
 */
enum { GROUP_ALL = -1 };
void group_serve (struct group *g, enum group_kind kind, int member,
                  const uint8_t *data, size_t len);

/* True once some member has fetched all of it. */
bool group_served (const struct group *g, enum group_kind kind);

/* Wait until some member has fetched one of n objects, as long as `member`
 * lives, which is checked now and then. Return 1, 0 if it is dead, or -1 with
 * err.
 */
int group_await (struct group *g, const enum group_kind *kind, size_t n,
                 size_t member, struct error *err);

/* Fetch from members: blob[i] from member from[i]; data is NULL if that member
 * is dead. The caller frees the data. Return 0, or -1 with err; then there are
 * no blobs.
 */
int group_fetch (struct group *g, enum group_kind kind, const uint32_t *from,
                 size_t n, struct group_blob *blob, struct error *err);

#endif /* PROBE_GROUP_H */
