/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comm: a test's view of its transport, as one of `size` processes that
 * exchange messages.
 *
 * A plug point. To add one, write comm_<name>.c and declare its table next to
 * its program. All calls get the handle that the program has opened, as `c`.
 * All processes of a test call barrier, collect and tell in the same order. A
 * message is in one run of its sender and one of its receiver.
 *
 * Calls that may fail return
 *
 *     1   done
 *     0   the message is lost, or the process at the other end is dead. A comm
 *         has its own time-out for this and remembers dead processes, so that
 *         they do not delay the rest again
 *    -1   this process cannot continue; with err
 *
 * Barriers, collect and tell return 1 even if processes are dead; if process 0
 * is dead, tell returns -1. Between two processes messages arrive in the order
 * in which they were sent.
 *
 * The content of a message does not matter, except that of a note, which is
 * short.
 */
#ifndef COMPARE_EXCHANGE_COMM_H
#define COMPARE_EXCHANGE_COMM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/progress.h"

enum {
    COMM_NOTE_MAX = 16, /* bytes of a note */
    COMM_WINDOW = 64,   /* limit of messages that a generic exchange runs at
                           once */
};

struct comm;

/* What one process sends to process 0. */
struct comm_blob {
    uint8_t *data; /* NULL: the process is dead */
    size_t len;
};

/* Messages to or from one process. */
struct comm_messages {
    uint32_t peer; /* their sender or receiver */
    bool sends;    /* else they are received */
    unsigned int n;
    bool lost;     /* set: one of them was */
    int64_t ns;    /* set: when the last was done, from the start of the run */
};

/* One side of exchanges: n messages of len bytes each way between two
 * processes.
 */
struct comm_side {
    const struct comm *comm;
    void *c;
    uint32_t peer;
    bool first;
    size_t len;
    unsigned int n;
    int64_t ns; /* duration of all n, set by the first */
};

/* A kind of exchange, which both sides run at the same time. The side that is
 * first times it, from before the first message to after the last. Returns as
 * above.
 */
struct comm_exchange {
    const char *name;
    const char *help; /* one line */
    int (*run) (const struct comm_exchange *ex, struct comm_side *s,
                struct error *err);
    bool both_ways; /* messages travel both ways at once */
    const void *manner; /* for the comm's own kinds */
};

struct comm {
    /* Prepare for messages of up to len bytes, by this kind of exchange (NULL:
     * by runs); all processes call it before the first message. Return -1 with
     * err if the comm cannot carry so many.
     */
    int (*reserve) (void *c, size_t len, const struct comm_exchange *ex,
                    struct error *err);

    int64_t (*now_ns) (void *c); /* only differences are meaningful */
    int (*barrier) (void *c, struct error *err);

    /* Run messages of len bytes, from and to any processes, this one included:
     * n rows, one for each process and direction. The messages of a single row
     * follow one after the other, those of several rows are all started, then
     * waited for.
     */
    int (*run) (void *c, struct comm_messages *m, size_t n, size_t len,
                struct error *err);

    /* A note of at most COMM_NOTE_MAX bytes between two processes: a blocking
     * message whose content is delivered. It is lost only if one of them is
     * dead.
     */
    int (*send_note) (void *c, uint32_t to, const void *data, size_t len,
                      struct error *err);
    int (*recv_note) (void *c, uint32_t from, void *data, size_t len,
                      struct error *err);

    /* Process 0 gets the data of each process, itself included, in its
     * all[size] and frees it. In other processes `all` is NULL.
     */
    int (*collect) (void *c, const void *data, size_t len,
                    struct comm_blob *all, struct error *err);
    /* All get the blob of process 0. In other processes the call fills `blob`,
     * and the caller frees its data.
     */
    int (*tell) (void *c, struct comm_blob *blob, struct error *err);

    /* Kinds of exchange that only this comm has, or that replace the generic
     * one of the same name; ends in a row whose name is NULL. May be NULL.
     */
    const struct comm_exchange *exchanges;
};

/* One process of a test. All processes call functions that take a party at the
 * same time, with the same arguments, except those that only process 0 has.
 */
struct party {
    const char *transport;    /* "emu", "verbs", "mpi" */
    const struct comm *comm;
    void *c;
    uint32_t me, n;           /* this process; all processes */
    /* [n] of all: a label is a host's name, or host:core; it is unique. Both
     * are clean text, and borrowed.
     */
    const char *const *label, *const *host;

    /* set by exchange_run */
    const uint32_t *by_host;  /* [n] all processes, grouped by host: sorted by
                                 its name, then by number */
    struct progress progress; /* at process 0, on a terminal */
    pthread_mutex_t *lock;    /* held while the series change, so that a signal
                                 does not save them meanwhile; or NULL */
};

static inline void party_lock (const struct party *p)
{
    if (p->lock)
        pthread_mutex_lock (p->lock);
}

static inline void party_unlock (const struct party *p)
{
    if (p->lock)
        pthread_mutex_unlock (p->lock);
}

#endif /* COMPARE_EXCHANGE_COMM_H */
