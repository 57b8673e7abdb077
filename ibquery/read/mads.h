/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ask many agents of the fabric at once: management datagrams (MADs) of method
 * Get, with a bounded number in flight; lost ones are sent again.
 *
 * Used by all readers of the live fabric. Requests are queued; mads_run sends
 * them in order and passes each answer to the callback of its request, which
 * may queue more. A wire carries the MADs: device.h has the wire of real
 * adapters; unit tests use a fabric inside the process.
 *
 * Nothing is changed in the fabric: no other method is ever sent.
 */
#ifndef IBQUERY_MADS_H
#define IBQUERY_MADS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum {
    MADS_SIZE = 256,       /* bytes of a MAD */
    MADS_DATA_OFFSET = 64, /* of its data, in the classes below */
    MADS_HOPS = 63,        /* hops of the longest directed route */
    MADS_MAX_WINDOW = 256,
    MADS_PERMISSIVE_LID = 0xffff,
};

enum mads_class {
    MADS_BY_LID = 0x01,   /* SMP along the forwarding tables: 64 bytes */
    MADS_DIRECTED = 0x81, /* SMP by directed route: 64 bytes of data */
    MADS_PERF = 0x04,     /* PerfMgt GMP, by LID to QP 1: 192 bytes */
};

struct mads_options {
    uint64_t mkey;           /* of SMPs */
    unsigned int timeout_ms; /* the longest wait for one answer; the first wait
                                is an eighth of it, each later one twice the
                                last; late answers count */
    unsigned int retries;    /* how often a lost MAD is sent again */
    unsigned int window;     /* MADs in flight, 1 to MADS_MAX_WINDOW */
    unsigned int rate;       /* MADs per second; 0: no limit */
    uint64_t max;            /* MADs in total, with retries; 0: no limit */
    int64_t deadline_ms;     /* for all runs, from mads_create; 0: none */
};

/* Gentle: 1 s, 15 retries (tolerates 30 % loss), 8 in flight, 20,000 per
 * second, no limit in total.
 */
extern const struct mads_options mads_defaults;

/* The destination. path[1] is the port by which to leave the local node,
 * path[2] the port of the next node, ... path[hops]; hops 0 is the local node.
 */
struct mads_to {
    uint16_t lid; /* MADS_BY_LID, MADS_PERF */
    uint8_t sl;
    uint8_t hops; /* MADS_DIRECTED */
    uint8_t path[MADS_HOPS + 1];
};

struct mads_answer {
    const uint8_t *data; /* valid during the callback; NULL: none came */
    uint16_t attr;       /* the attribute that was requested */
    uint16_t status;     /* if there is no data: the MAD status with which the
                            agent refused; 0: no answer */
};

/* Return 0, or -1 with err to end the run. */
typedef int (*mads_answer_f) (void *arg, uint64_t cookie,
                              const struct mads_answer *answer,
                              struct error *err);

struct mads_request {
    enum mads_class class;
    uint16_t attr;
    uint32_t mod;
    uint8_t select;           /* MADS_PERF: PortSelect */
    uint8_t tries;            /* maximum number of sends; 0: see the options */
    bool optional;            /* may stay unanswered: counted separately */
    const struct mads_to *to; /* must stay valid until the answer */
    mads_answer_f fn;
    void *arg;
    uint64_t cookie;
};

struct mads_counts {
    uint64_t sent, answered;
    uint64_t lost, silent; /* sends without an answer; those of optional
                              requests */
};

/* One MAD in network byte order, and its address. */
struct mads_packet {
    uint8_t mad[MADS_SIZE];
    uint16_t lid; /* MADS_PERMISSIVE_LID for directed routes */
    uint8_t qp, sl;
    bool lost;    /* on receive: the MAD sent, which got no answer */
};

/* Take what libibnetdisc found (netdisc.h). Return the number of MADs that it
 * used, -1 if that is not an answer.
 */
typedef int64_t (*mads_take_f) (void *arg, FILE *fp);

/* What carries MADs. All calls get `arg`. */
struct mads_wire {
    /* `lost` may be reported after timeout_ms. Return 0, or -1 with err. */
    int (*send) (void *arg, const struct mads_packet *packet,
                 unsigned int timeout_ms, struct error *err);
    /* Wait for one, at most timeout_ms. Return 1, 0 if none came, -1 with err.
     */
    int (*recv) (void *arg, struct mads_packet *packet,
                 unsigned int timeout_ms, struct error *err);
    void (*close) (void *arg);
    /* A clock with any start, for tests with their own clock; NULL:
     * CLOCK_MONOTONIC.
     */
    int64_t (*now_us) (void *arg);
    /* Read all nodes and cables at once, for at most max_ms; NULL: not
     * available. Return what `take` returns, -1 if it is not called.
     */
    int64_t (*netdisc) (void *arg, int64_t max_ms, mads_take_f take,
                        void *take_arg);
    void *arg;
};

/* The engine owns the wire from here on, also if NULL is returned because
 * options are out of range.
 */
struct mads *mads_create (const struct mads_options *opts,
                          const struct mads_wire *wire, struct error *err);
void mads_destroy (struct mads *m);

/* Queue a request. */
void mads_get (struct mads *m, const struct mads_request *request);

/* Run until nothing is queued or in flight. Return 0, or -1 with err: a
 * callback failed, the wire failed, or a limit was reached; the queue is then
 * dropped.
 */
int mads_run (struct mads *m, struct error *err);

/* Ask the wire for all nodes and cables at once. It respects the window, but
 * not rate and max: if either is set, or if the wire cannot do this, `take` is
 * not called.
 */
void mads_netdisc (struct mads *m, mads_take_f take, void *arg);

/* Wait, but not beyond the deadline. Return 0, or -1 with err at the deadline.
 */
int mads_pause (struct mads *m, unsigned int ms, struct error *err);

/* Whether a limit of the options (max, deadline_ms) was reached: a retry is
 * useless.
 */
bool mads_exhausted (const struct mads *m);
struct mads_counts mads_counts (const struct mads *m);

#endif /* IBQUERY_MADS_H */
