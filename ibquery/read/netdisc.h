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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "ibquery/read/mads.h"

#define NETDISC_NONE UINT32_MAX /* as EXPLORE_NONE */

enum { NETDISC_DATA = 64 /* bytes of an SMP's data */ };

struct netdisc_port {
    uint64_t guid;
    uint32_t far;     /* node, or NETDISC_NONE */
    uint8_t far_port;
    uint8_t info[NETDISC_DATA]; /* PortInfo; zero: not received */
};

struct netdisc_node {
    uint8_t info[NETDISC_DATA]; /* NodeInfo */
    uint8_t desc[NETDISC_DATA]; /* zero: not received */
    struct mads_to to;
    size_t first;     /* port[first + i] is number i; 0 is a switch's port 0 */
};

/* The local node is the first. */
struct netdisc {
    struct netdisc_node *node;
    size_t nnodes;
    struct netdisc_port *port;
    uint64_t mads;    /* MADs used */
};

static inline void netdisc_clear (struct netdisc *t)
{
    free (t->node);
    free (t->port);
    *t = (struct netdisc){ 0 };
}

/* Read through a port of this machine, for at most max_ms. False: the library
 * failed or took longer.
 */
bool netdisc_read (const char *ca, int port, const struct mads_options *opts,
                    int64_t max_ms, struct netdisc *t);

/* The main function of that process: it reads the question from standard input,
 * a socket, and answers there; it is killed if it takes too long. Returns the
 * exit status.
 */
int netdisc_answer (void);

#endif /* IBQUERY_NETDISC_H */
