/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clients of one check and their virtual time.
 *
 * A conservative discrete-event simulation. Every client either runs or waits
 * (for a message or its deadline). An event may happen once no running client
 * can cause an earlier one: a running client at time t affects no link but its
 * own host's before t + that link's latency. So computing costs a client no
 * virtual time, however long it waits for a CPU, and clients whose events are
 * close together run at the same time.
 *
 * A message travels link by link along the path of the LFTs; at each link it
 * waits until the link direction is free. Queues and clocks belong to the
 * session: sessions do not affect each other.
 *
 * Where a switch spreads messages of its kind (struct fabric_spread), the
 * switch chooses the next link when the message is there: by a hash of the LIDs
 * and queue pairs, of its own and of the emulator's seed, so that the messages
 * of two queue pairs take one path; or, adaptively, the link that is free
 * first, and that no background saturates, any of them if several are. A port
 * drops a service level that its SL-to-VL tables map to no lane.
 *
 * Others' traffic goes on and pauses (tests/emu/background). While there are
 * bursts, its flows share with them, too, and none gets more than without bursts.
 *
 * A burst is bulk data between two endpoints, in both directions; each
 * direction is a flow that begins when its sender calls. Flows share what they
 * use fairly (tests/emu/fluid); messages do not meet them. Where a switch
 * spreads messages, a flow has SESSION_PARTS parts, by queue pairs of their
 * own, each of which keeps the path that it finds when it begins. What reaches
 * a client before it calls counts for its call, if that is not too late. A
 * burst may be messages between two programs: then each flow of the one counts
 * for a call of the other, in order, and there may be none in one direction.
 *
 * If a client runs for longer than the stall limit in real time, the others no
 * longer wait for it until it waits again; it then continues at the session's
 * present time. A client that disconnects is gone. So a node that hangs or dies
 * lets the others' deadlines pass instead of blocking them. A session starts
 * when all its clients have joined, or SESSION_START_LIMITS stall limits after
 * the first.
 */
#ifndef EMU_SESSION_H
#define EMU_SESSION_H

#include <stdint.h>

#include "core/paths/paths.h"
#include "tests/emu/model.h"
#include "util/error.h"

enum {
    SESSION_START_LIMITS = 5,
    SESSION_DATA_MAX = 256,  /* bytes of a message */
    SESSION_BURSTS_MAX = 16, /* that a client has at once */
    SESSION_PARTS = 4,
    SESSION_PENDING_MAX = 16384, /* messages in flight from, or queued for, one
                                    client */
};

struct session;
struct client;

/* What switches see of a message. */
struct session_header {
    uint32_t from, to;       /* ends */
    uint32_t own, other;     /* queue pairs at these */
    struct traffic_class as; /* its service level, whether it is connected */
};

/* How answers leave: session_* calls it for a client that waits, once per wait.
 * header and data are NULL if the deadline has passed.
 */
typedef void (*session_deliver_f) (void *owner, int64_t time,
                                   const struct session_header *header,
                                   const uint8_t *data, size_t len);

struct session_stats {
    uint64_t messages; /* delivered */
    uint64_t lost;     /* dropped: planted loss, full queues, no receiver, no
                          path or no lane */
    double others,
        others_lost; /* bytes that the background would have moved while
                                   there were bursts; that it did not, because of
                                   these */
};

/* A session for `size` clients; the model, deliver and stats are borrowed.
 * `number` varies the noise between sessions.
 */
struct session *session_create (const struct emu_model *m, uint64_t number,
                                size_t size, session_deliver_f deliver,
                                struct session_stats *stats, int64_t stall_ns,
                                int64_t wall_ns);
void session_destroy (struct session *s);

/* Join as n endpoints (of one host). Return the client, which session_leave
 * frees, or NULL with err if one of them has joined already, or the session is
 * full.
 */
struct client *session_join (struct session *s, void *owner,
                             const uint32_t *endpoint, size_t n,
                             int64_t wall_ns, struct error *err);
void session_leave (struct client *c);

size_t session_clients (const struct session *s);

/* Send from one of the client's ends to an end of another endpoint; the bytes,
 * at most SESSION_DATA_MAX, are copied. Return 0, or -1 with err: not its own
 * end, no such end, too many messages in flight.
 */
int session_send (struct client *c, const struct session_header *header,
                  const uint8_t *data, size_t len, struct error *err);

/* The client waits for a message or the deadline. A deadline more than about
 * 146 years ahead never passes.
 */
void session_wait (struct client *c, int64_t deadline);

/* The client takes part in n bursts, until all of them have ended both ways, or
 * the deadline; then `done` is called. From is its own end. What it receives is
 * lost, or came at so many bits per second in the best contiguous three quarters.
 * A burst from an end to itself is one flow. Without any, those go on that a
 * message has interrupted. Return 0, or -1 with err: more than
 * SESSION_BURSTS_MAX or none, not its own end, no such end, too few or many
 * bytes.
 */
#define SESSION_BURST_MAX 1e12
struct session_burst {
    struct session_header header;
    uint64_t bytes; /* in each direction; of messages, from here: may be 0 */
    bool strict;    /* without relaxed ordering */
    bool messages;
    bool deaf;      /* of messages: none comes */
    bool serves;    /* a message to the client interrupts all its bursts */
    bool lost;      /* set */
    double bits;    /* set */
    int64_t there;  /* set: when all of it was */
};
typedef void (*session_done_f) (void *owner, int64_t time,
                                const struct session_burst *burst, size_t n);
int session_bulk (struct client *c, const struct session_burst *burst, size_t n,
                  int64_t deadline, session_done_f done, struct error *err);

/* The traffic of one of the client's endpoints since the session began, at the
 * client's time: its own messages, each one packet with SESSION_HEADER bytes in
 * front, bulk data, loopbacks' too, and the background's. In bytes; `waited` is
 * in times of one byte. Also the packets of bulk data that were sent again.
 */
enum { SESSION_HEADER = 32 }; /* LRH, BTH, DETH, ICRC */
struct session_count {
    double sent, received, sent_packets, received_packets, waited;
    double sent_again, received_again;
};
void session_count (struct client *c, uint32_t endpoint,
                    struct session_count *count);

/* The model has changed: what is under way goes on by its new state. */
void session_update (struct session *s);

/* Process all events that may happen. Call it after any of the above, and now
 * and then with the real time, so that stalled clients are detected.
 */
void session_run (struct session *s, int64_t wall_ns);

#endif /* EMU_SESSION_H */
