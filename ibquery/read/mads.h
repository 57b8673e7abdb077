/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ask many agents of the fabric at once: management datagrams (MADs) of
 * method Get, a bounded number of them in flight, lost ones sent again.
 *
 * Used by all who read the live fabric. Requests are queued; mads_run sends
 * them, in their order, and hands each answer to the callback of its request,
 * which may queue more. A wire carries the MADs: device.h has the one of real
 * adapters; unit tests have a fabric in the process behind one.
 *
 * Nothing is changed in the fabric: no other method is ever sent.
 */
#ifndef IBQUERY_MADS_H
#define IBQUERY_MADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum {
    MADS_SIZE = 256,       /* bytes of a MAD */
    MADS_DATA_OFFSET = 64, /* of its data, in the classes below */
    MADS_HOPS = 63,        /* of the longest directed route */
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
    unsigned int timeout_ms; /* the longest wait for one answer; the first is
                                an eighth of it, each later one twice the last,
                                and a late answer is as good */
    unsigned int retries;    /* how often one that is lost is sent again */
    unsigned int window;     /* MADs in flight, 1 to MADS_MAX_WINDOW */
    unsigned int rate;       /* MADs a second; 0: no limit */
    uint64_t max;            /* MADs in all, retries counted; 0: no limit */
    int64_t deadline_ms;     /* of all runs, from mads_create; 0: none */
};

/* Gentle: 1 s, 15 retries (30 % loss is bridged), 8 in flight, 20,000 a
 * second, no end.
 */
extern const struct mads_options mads_defaults;

/* Where to. path[1] is the port to leave the own node by, path[2] the next
 * one's, ... path[hops]; hops 0 is the own node.
 */
struct mads_to {
    uint16_t lid; /* MADS_BY_LID, MADS_PERF */
    uint8_t sl;
    uint8_t hops; /* MADS_DIRECTED */
    uint8_t path[MADS_HOPS + 1];
};

struct mads_answer {
    const uint8_t *data; /* valid during the callback; NULL: none came */
    uint16_t status;     /* where there is no data: the MAD status by which the
                            agent refused; 0: nobody answered */
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
    uint8_t tries;            /* sent so often at most; 0: as the options say */
    bool optional;            /* an answer is not due: counted apart */
    const struct mads_to *to; /* stays until the answer */
    mads_answer_f fn;
    void *arg;
    uint64_t cookie;
};

struct mads_counts {
    uint64_t sent, answered;
    uint64_t lost, silent; /* sendings without an answer; of optional ones */
};

/* One MAD in network order and its address. */
struct mads_packet {
    uint8_t mad[MADS_SIZE];
    uint16_t lid; /* MADS_PERMISSIVE_LID of directed routes */
    uint8_t qp, sl;
    bool lost;    /* received: the one sent, to which no answer came */
};

struct netdisc;

/* What carries MADs. All calls get `arg`. */
struct mads_wire {
    /* timeout_ms: when `lost` may be reported. Return 0, or -1 with err. */
    int (*send) (void *arg, const struct mads_packet *packet,
                 unsigned int timeout_ms, struct error *err);
    /* Wait for one, timeout_ms at most. Return 1, 0 where none came, -1 with
     * err. */
    int (*recv) (void *arg, struct mads_packet *packet,
                 unsigned int timeout_ms, struct error *err);
    void (*close) (void *arg);
    /* Time from any start, for tests with a clock of their own; NULL:
     * CLOCK_MONOTONIC. */
    int64_t (*now_us) (void *arg);
    /* Nodes and cables at once (netdisc.h), for max_ms at most; NULL: there is
     * no such way. False: it did not work. */
    bool (*netdisc) (void *arg, int64_t max_ms, struct netdisc *t);
    void *arg;
};

/* The wire is the engine's from here on, also where NULL is returned: options
 * are out of range.
 */
struct mads *mads_create (const struct mads_options *opts,
                          const struct mads_wire *wire, struct error *err);
void mads_destroy (struct mads *m);

/* Queue. */
void mads_get (struct mads *m, const struct mads_request *request);

/* Until nothing is queued or in flight. Return 0, or -1 with err: a callback
 * said so, the wire broke, or a limit was met; the queue is then dropped.
 */
int mads_run (struct mads *m, struct error *err);

/* Ask the wire for nodes and cables at once. It keeps to the window, but to no
 * rate and no limit: where either was asked for, and where the wire has no such
 * way or fails, return false.
 */
bool mads_netdisc (struct mads *m, struct netdisc *t);

/* Let time pass, not beyond the deadline. Return 0, or -1 with err at the
 * deadline.
 */
int mads_pause (struct mads *m, unsigned int ms, struct error *err);

/* A limit of the options (max, deadline_ms) was met: no use trying again. */
bool mads_exhausted (const struct mads *m);
struct mads_counts mads_counts (const struct mads *m);

#endif /* IBQUERY_MADS_H */
