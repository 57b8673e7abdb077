/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm: what a test sees of its transport, as one of `size` processes that
 * exchange messages.
 *
 * A plug point. To add one, write comm_<name>.c and declare its table where its
 * program is; all calls get what the program has opened, as `c`. All processes
 * of a run call barrier, collect and tell in the same order; a message takes a
 * call of its sender and one of its receiver.
 *
 * Calls that may fail return
 *
 *     1   it is done
 *     0   the message is lost, or the process at the other end is dead. A comm
 *         has a time-out of its own for that and remembers dead processes, so
 *         that they do not hold up the rest for long again
 *    -1   this process cannot go on; with err
 *
 * Barriers, collect and tell are 1 without dead processes; where process 0 is
 * dead, tell is -1. Between two processes messages arrive in the order in which
 * they were sent, whatever became of earlier ones: a late message is not taken
 * for the next one.
 *
 * The bytes of a message are of no interest, but for a note, which is short.
 */
#ifndef PROBE_EXCHANGE_COMM_H
#define PROBE_EXCHANGE_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/progress.h"

enum {
    COMM_NOTE_MAX = 16, /* bytes of a note */
    COMM_WINDOW = 64,   /* a generic exchange starts no more at once */
};

struct comm;

/* What one process has for process 0. */
struct comm_blob {
    uint8_t *data; /* NULL: it is dead */
    size_t len;
};

/* What has come of something that was started. */
struct comm_done {
    uint32_t peer; /* its sender or receiver */
    bool sent;     /* else received */
    bool lost;
};

/* One side of exchanges: n times len bytes each way between two processes. */
struct comm_side {
    const struct comm *comm;
    void *c;
    uint32_t peer;
    bool first;
    size_t len;
    unsigned int n;
    int64_t ns; /* what all n took, set by the first */
};

/* A kind of exchange, which both sides run at the same time. The one that is
 * first times it, from before the first message to after the last. Return as
 * above.
 */
struct comm_exchange {
    const char *name;
    const char *help; /* one line */
    int (*run) (const struct comm_exchange *ex, struct comm_side *s,
                struct error *err);
    bool both_ways; /* messages of both ways are under way at once */
    const void *manner; /* for the comm's own */
};

struct comm {
    const char *name; /* "emu", "verbs", "mpi" */

    /* Processes. A label is a host's name, or host:core, unique; borrowed,
     * as is the name of the host that a process runs on. Both are clean text.
     */
    uint32_t (*rank) (const void *c);
    uint32_t (*size) (const void *c);
    const char *(*label) (const void *c, uint32_t rank);
    const char *(*host) (const void *c, uint32_t rank);

    /* Make ready for messages of up to len bytes, by all and before the first
     * one. Where that is more than the comm can, -1 with err.
     */
    int (*reserve) (void *c, size_t len, struct error *err);

    int64_t (*now_ns) (void *c); /* only differences mean anything */
    int (*barrier) (void *c, struct error *err);

    /* Blocking, to and from others. A send may return before the message has
     * been received, or not. recv_any takes the next message of len bytes from
     * any process and sets its sender; 0: none came within the time-out.
     */
    int (*send) (void *c, uint32_t to, size_t len, struct error *err);
    int (*recv) (void *c, uint32_t from, size_t len, struct error *err);
    int (*recv_any) (void *c, size_t len, uint32_t *from, struct error *err);

    /* Start, also to and from oneself; then wait for the next of all that was
     * started to be done (0: there is nothing left), or for all of it (0: some
     * were lost).
     */
    int (*start_send) (void *c, uint32_t to, size_t len, struct error *err);
    int (*start_recv) (void *c, uint32_t from, size_t len, struct error *err);
    int (*wait_one) (void *c, struct comm_done *done, struct error *err);
    int (*wait_all) (void *c, struct error *err);

    /* A note of at most COMM_NOTE_MAX bytes between two processes, as a
     * blocking message that carries what is in it. It is lost only where one
     * of them is dead.
     */
    int (*send_note) (void *c, uint32_t to, const void *data, size_t len,
                      struct error *err);
    int (*recv_note) (void *c, uint32_t from, void *data, size_t len,
                      struct error *err);

    /* Process 0 gets what each has, itself included: all[size], which it has
     * and fills; it frees the data. Elsewhere `all` is NULL.
     */
    int (*collect) (void *c, const void *data, size_t len,
                    struct comm_blob *all, struct error *err);
    /* All get what process 0 has in blob; elsewhere it is filled, and its data
     * is the caller's to free.
     */
    int (*tell) (void *c, struct comm_blob *blob, struct error *err);

    /* Kinds of exchange that only this comm has, or does better than the
     * generic one of the same name; ends in a row whose name is NULL. May be
     * NULL.
     */
    const struct comm_exchange *exchanges;
};

/* One process among those of a test. Functions that take a party are called by
 * all processes at the same time, with the same arguments but for what only
 * process 0 has.
 */
struct party {
    const struct comm *comm;
    void *c;
    uint32_t me, n;           /* of n processes this is me */
    const uint32_t *by_host;  /* [n] all, those of a host together: sorted by
                                 its name, then by number */
    struct progress progress; /* at process 0, on a terminal */
    struct keep *keep;        /* at process 0, of the series (results.h); or
                                 NULL */
};

#endif /* PROBE_EXCHANGE_COMM_H */
