/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes, ports and cables of the live fabric as libibnetdisc finds them.
 *
 * The library prints, has no deadline, leaves out what does not answer, and
 * uses answers of agents as array indices. So it runs in a separate process
 * (`pmm fabric netdisc`), and no result is trusted that can be asked for again:
 * explore asks for what is missing.
 */
#ifndef IBQUERY_NETDISC_H
#define IBQUERY_NETDISC_H

#include <stdint.h>

#include "ibquery/read/mads.h"

#define NETDISC_NONE UINT32_MAX /* as EXPLORE_NONE */

enum { NETDISC_MAGIC = 0x504d4d54, NETDISC_DATA = 64 /* bytes of an SMP's */ };

/* The answer of the process: the counts; then for each node, the local one
 * first, a struct netdisc_node and its ports from 0.
 */
struct netdisc_answer {
    uint32_t magic, nnodes;
    uint64_t mads; /* MADs used */
};

struct netdisc_node {
    uint8_t info[NETDISC_DATA]; /* NodeInfo */
    uint8_t desc[NETDISC_DATA]; /* zero: not received */
    struct mads_to to;
};

struct netdisc_port {
    uint64_t guid;
    uint32_t far;     /* node, or NETDISC_NONE */
    uint8_t far_port;
    uint8_t info[NETDISC_DATA]; /* PortInfo; zero: not received */
};

/* Read through a port of this machine, for at most max_ms; `take` gets the
 * answer. Return what it returns; -1: the process could not be started.
 */
int64_t netdisc_read (const char *ca, int port,
                      const struct mads_options *opts, int64_t max_ms,
                      mads_take_f take, void *arg);

/* The main function of that process: it reads the question from standard input,
 * a socket, and answers there; it is killed if it takes too long. Returns the
 * exit status.
 */
int netdisc_answer (void);

#endif /* IBQUERY_NETDISC_H */
