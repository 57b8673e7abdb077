/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the tests of compare/exchange: a comm of processes that are threads of
 * this one, in virtual time.
 *
 * One runs at a time, always the one whose clock is the earliest, so that all
 * is the same each time. A message of len bytes that leaves at t is there at
 *
 *     t + latency + len * ns_per_byte
 *
 * unless its sender or its receiver has to do with bytes that were sent before:
 * then it waits for them. Calls themselves take no time. Who waits in vain for
 * timeout_ns takes what it waited for as lost, and whoever it was from as dead
 * if it is.
 *
 * What it does not do: paths through a fabric, and processes that compute.
 */
#ifndef COMPARE_TEST_INPROC_H
#define COMPARE_TEST_INPROC_H

#include <stdbool.h>
#include <stdint.h>

#include "compare/series/series.h"
#include "compare/exchange/comm.h"

enum {
    INPROC_MAX = 16,
    INPROC_LOG = 4096,
    INPROC_LABEL = 32,
};

extern const struct comm comm_inproc;

/* What was done: 's' a send begins, 'r' something is received, 'b' a process
 * comes to a barrier.
 */
struct inproc_event {
    int64_t time_ns;
    uint32_t rank, peer;
    char what;
};

struct inproc {
    /* set by the test */
    uint32_t n;
    uint32_t per_host;         /* processes on each; 0: 1 */
    int64_t latency_ns;
    double ns_per_byte;
    int64_t timeout_ns;
    bool hub;                  /* all bytes go over one wire, in turn */
    bool synchronous;          /* a send ends when it is being received */
    int64_t dies_ns[INPROC_MAX]; /* 0: does not */
    /* what a message takes longer between two; NULL: nothing */
    int64_t (*more_ns) (uint32_t from, uint32_t to);
    /* whether message number k between two is lost; NULL: none */
    bool (*loses) (uint32_t from, uint32_t to, uint64_t k);

    /* what came of it */
    struct inproc_event log[INPROC_LOG];
    size_t nlog;
    bool stuck; /* all waited for one another */
    int64_t end_ns;
    struct inproc_world *world;
    const char *label[INPROC_MAX], *host[INPROC_MAX];
};

/* Run fn as each process, c being what the comm takes. Returns how many did
 * well: returned 0.
 */
size_t inproc_run (struct inproc *w, int (*fn) (void *c, void *arg),
                   void *arg);

/* The party that such a process is in, and at process 0 an empty series of all;
 * elsewhere NULL.
 */
struct party inproc_party (void *c);
struct series *inproc_series (const struct party *p);

/* The events of a process, from the barrier number `after` on (0: from the
 * beginning) to the next, as text: "s1 s2 r1 r2".
 */
const char *inproc_story (const struct inproc *w, uint32_t rank,
                          unsigned int after);

#endif /* COMPARE_TEST_INPROC_H */
