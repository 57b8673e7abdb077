/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A group: the hosts of a check. They exchange messages over a transport that
 * may lose, repeat or delay them, and may die at any time.
 *
 * A member is one host with one or more peers (its rails). Members send from
 * first rail to first rail, or where that gets no answer, from any to any. Each
 * message carries the group's key; others are dropped. A member that is in any
 * call below echoes pings and answers all requests, so each call makes progress
 * for all.
 *
 * Time-outs are multiples of the transport's gap. A member from which nothing
 * came for DEAD gaps, or DEAD_NS, while it was being asked is dead, to this
 * member.
 *
 * Messages, little-endian: key 8, type 1, kind or step 1, fragment or pad 2,
 * number 4, then data. Types: ping 1, its echo 2, a barrier's token 3, "are you
 * there?" 4, "I am" 5, "give me a fragment" 6, the fragment 7; and letters 8,
 * of which a group knows no more than that a user of it (exchange/stream.h)
 * sends and takes them.
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
/* ... but no more than this, in ns, where gaps are long */
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
    uint32_t foreign;   /* messages of another key, or no messages at all */
    uint64_t bytes[2];  /* that this member sent, and received, with the longest
                           headers that packets have, but for what it sent
                           itself */
};

/* Take part with n members, of whom this is `me`; peers first[m] ..
 * first[m + 1] - 1 are member m's rails. t is the transport's handle, open
 * and connected, borrowed.
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
/* A member's peers end where the next one's begin; also for the last. */
uint32_t group_first_peer (const struct group *g, size_t member);
int64_t group_now (const struct group *g);
int64_t group_gap (const struct group *g);
int64_t group_dead_ns (const struct group *g); /* silent for so long: dead */
/* In how many turns to ping, and which is this member's, from 0 on. */
size_t group_turns (const struct group *g, size_t *mine);
struct group_stats group_stats (const struct group *g);

/* No call works past this time: -1 with err "timed out ...". */
void group_set_deadline (struct group *g, int64_t time_ns);
int64_t group_deadline (const struct group *g);

/* Pings of so many bytes, from GROUP_PING_MIN to GROUP_PING_MAX. */
void group_set_ping_size (struct group *g, size_t bytes);

/* Wait for messages on a core of its own from now on, or asleep, which is how
 * a group begins. Returns false where pings had better be waited for asleep,
 * so that one that does not count is to come first (group_wake).
 */
bool group_attend (struct group *g, bool on);

/* Wait for a time, and serve. Return 0, or -1 with err. */
int group_until (struct group *g, int64_t time_ns, struct error *err);

/* Run fn in a thread of its own, and serve until it is done, so that the leader
 * answers while it computes. fn must not use the group. Return what fn does, 0
 * or -1 with err, or -1 with err where the group has failed meanwhile; fn is
 * done in both cases. g NULL: there is no group to serve.
 */
int group_meanwhile (struct group *g,
                     int (*fn) (void *arg, struct error *err), void *arg,
                     struct error *err);

/* Wait until every living member has come to its call of this: dissemination
 * in log2 (n) steps of one message per member. Lost messages are asked for
 * again; in the place of a dead member those are asked that it would have
 * waited for. Return 0, or -1 with err.
 */
int group_barrier (struct group *g, struct error *err);

/* What went wrong with this member's rails, one sentence; NULL: nothing. */
const char *group_trouble (const struct group *g);

/* What a user of the group adds to it; each may be NULL. */
struct group_hooks {
    /* A short text that goes to the leader with this member's results, and that
     * the caller of group_remark frees; NULL: nothing.
     */
    char *(*remark) (void *arg);
    /* Round trips that count begin, or have ended. */
    void (*stage) (void *arg, bool begins);
    void *arg;
};
void group_set_hooks (struct group *g, const struct group_hooks *hooks);
char *group_remark (const struct group *g);
void group_stage (const struct group *g, bool begins);

/* The name of the first rail's device; NULL: the kernel has none. Returns name.
 */
const char *group_device (const struct group *g, char *name, size_t size);

/* Ping on this service level from now on, where the transport has such. */
void group_set_level (struct group *g, unsigned int level);

/* Make ready for pings between a rail and a peer, which does the same. Return
 * 1, 0 where that is under way, to be called again, or -1 with err.
 */
int group_prepare (struct group *g, uint32_t rail, uint32_t peer,
                   struct transport_way way, struct error *err);

/* Ping n peers at once, each from another rail, and wait for the echoes or
 * the time-out (a tenth of that where the last ones were all lost, so
 * that a dead peer does not hold up the rest). rtt_ns is -1 where none came.
 * Return 0, or -1 with err.
 */
struct group_ping {
    uint32_t rail, peer;
    struct transport_way way;
    uint16_t pad;     /* after it, and after its echo */
    uint32_t number;  /* set by group_pings, as is stamp_ns */
    int64_t stamp_ns; /* when it left */
    int64_t rtt_ns;
};
int group_pings (struct group *g, struct group_ping *v, size_t n,
                 struct error *err);

/* The same, to wake processes that sleep on the way there and back: the echoes
 * are waited for no longer than a gap, and nothing counts.
 */
int group_wake (struct group *g, struct group_ping *v, size_t n,
                struct error *err);

/* Handle the next message that comes until then. Return 1, 0 where none came,
 * or -1 with err.
 */
int group_turn (struct group *g, int64_t time_ns, struct error *err);

/* Whether a member is dead; group_listens finds out about one that has been
 * asked since a time, and is to be called when what has come is handled.
 */
bool group_is_dead (const struct group *g, size_t member);
bool group_listens (struct group *g, size_t member, int64_t since_ns);

/* When the last ping or letter of a member's came: what is no more than a sign
 * of life does not count.
 */
int64_t group_spoke (const struct group *g, size_t member);

/* Letters: what a user of the group sends and takes, unreliable as all is. One
 * that asks is to be answered: it goes another way where the last was in vain.
 */
enum { GROUP_LETTER_MAX = TRANSPORT_DATA_MAX - 16 };

struct group_letter {
    uint8_t kind;
    bool asks;   /* wants an answer; not sent */
    uint16_t pad;
    uint32_t number;
    const uint8_t *data; /* borrowed */
    size_t len;          /* at most GROUP_LETTER_MAX */
};

/* Letters that come are handed to fn, which may send some, from now on; before
 * they are foreign. fn returns 0, or -1 with err, which ends the call of the
 * group's from within which it was called.
 */
typedef int (*group_letter_f) (void *arg, size_t member,
                               const struct group_letter *letter,
                               struct error *err);
void group_listen (struct group *g, group_letter_f fn, void *arg);

/* Return 0, or -1 with err. */
int group_send (struct group *g, size_t member,
                const struct group_letter *letter, struct error *err);

/* The largest pad after so many bytes of a letter's or ping's data; 0 where
 * the transport has none.
 */
size_t group_pad_max (const struct group *g, size_t len);

/* What members fetch from one another. */
enum group_kind {
    GROUP_NEXT, /* nothing in it: that there is a plan */
    GROUP_PLAN,
    GROUP_RESULT,
    GROUP_NEXT_2, /* ... and of a second stage */
    GROUP_PLAN_2,
    GROUP_RESULT_2,
    GROUP_BYE,  /* nothing in it: that there is no more */
    GROUP_KINDS,
};
enum { GROUP_BLOB_MAX = 1 << 22 };

struct group_blob {
    uint8_t *data;
    size_t len;
};

/* Have something ready for one member, or for all (GROUP_ALL); the bytes are
 * borrowed. A member that asks before that is told to wait.
 */
enum { GROUP_ALL = -1 };
void group_serve (struct group *g, enum group_kind kind, int member,
                  const uint8_t *data, size_t len);

/* True once someone has fetched all of it. */
bool group_served (const struct group *g, enum group_kind kind);

/* Wait until someone has fetched one of n things, as long as a member lives,
 * which is asked now and then. Return 1, 0 where it is dead, or -1 with err.
 */
int group_await (struct group *g, const enum group_kind *kind, size_t n,
                 size_t member, struct error *err);

/* Fetch from members: blob[i] from member from[i], data NULL where it is
 * dead. The caller frees the data. Return 0, or -1 with err; then there are
 * no blobs.
 */
int group_fetch (struct group *g, enum group_kind kind, const uint32_t *from,
                 size_t n, struct group_blob *blob, struct error *err);

#endif /* PROBE_GROUP_H */
