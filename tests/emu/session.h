/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One check's clients and their virtual time.
 *
 * A conservative discrete-event simulation. Every client either runs or waits
 * (for a message or its deadline). An event may happen once no running client
 * can still cause an earlier one: a running client at time t touches no link
 * but its own host's before t + that link's latency. So what a client computes
 * costs no virtual time, however long the machine lets it wait for a CPU, and
 * clients whose events lie close together run at the same time.
 *
 * A message goes link by link along the LFTs' path; at each it waits until
 * the link direction is free. Queues and clocks belong to the session:
 * sessions do not see one another.
 *
 * A client that runs for longer than the stall limit of real time is no
 * longer waited for, until it waits again; it then finds itself at the
 * session's present time. One that disconnects is gone. So a node that hangs
 * or dies makes the others' deadlines pass instead of blocking them. A session
 * starts when all its clients have joined, or SESSION_START_LIMITS stall limits
 * after the first.
 */
#ifndef EMU_SESSION_H
#define EMU_SESSION_H

#include <stdint.h>

#include "tests/emu/model.h"
#include "util/error.h"

enum {
    SESSION_START_LIMITS = 5,
    SESSION_PENDING_MAX = 16384, /* messages under way from, or queued for,
                                    one client */
};

struct session;
struct client;

/* How answers get out: called from within session_* for a client that waits,
 * once per wait. `from` and `to` are ends; data is NULL for a deadline
 * that has passed.
 */
typedef void (*session_deliver_f) (void *owner, int64_t time, uint32_t from,
                                   uint32_t to, const uint8_t *data,
                                   size_t len);

struct session_stats {
    uint64_t messages; /* delivered */
    uint64_t lost;     /* dropped by loss, by queues that are full, or for
                          want of a receiver or a path */
};

/* A session for `size` clients; the model, deliver and stats are borrowed.
 * `number` varies the noise between sessions.
 */
struct session *session_create (const struct emu_model *m, uint64_t number,
                                size_t size, session_deliver_f deliver,
                                struct session_stats *stats, int64_t stall_ns,
                                int64_t wall_ns);
void session_destroy (struct session *s);

/* Join as n endpoints (of one host). Returns the client, which
 * session_leave frees; NULL with err where one of them has joined already, or
 * the session is full.
 */
struct client *session_join (struct session *s, void *owner,
                             const uint32_t *endpoint, size_t n,
                             int64_t wall_ns, struct error *err);
void session_leave (struct client *c);

struct session *client_session (const struct client *c);
size_t session_clients (const struct session *s);

/* Send from an end of the client's to another endpoint's; the bytes are copied.
 * A pad of so many more takes the time of its own. Return 0, or -1 with err:
 * not its own, no such end, too many under way.
 */
int session_send (struct client *c, uint32_t from, uint32_t to,
                  const uint8_t *data, size_t len, size_t pad,
                  struct error *err);

/* The client waits until a message or the deadline; one of more than some
 * hundred years never passes.
 */
void session_wait (struct client *c, int64_t deadline);

/* What an endpoint of the client's has carried since the session began, at the
 * client's time: its messages, each a packet with SESSION_HEADER bytes before
 * it, and the background's. In bytes; `waited` for so many bytes' times.
 */
enum { SESSION_HEADER = 32 }; /* LRH, BTH, DETH, ICRC */
struct session_count {
    double sent, received, sent_packets, received_packets, waited;
};
void session_count (struct client *c, uint32_t endpoint,
                    struct session_count *count);

/* The background is to change: count what it carried until now. */
void session_settle (struct session *s);

/* Let events happen as far as they may. Call after any of the above, and every
 * now and then with the real time, so that stalled clients are noticed.
 */
void session_run (struct session *s, int64_t wall_ns);

#endif /* EMU_SESSION_H */
