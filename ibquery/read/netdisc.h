/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes, ports and cables of the live fabric as libibnetdisc finds them.
 *
 * The library prints, has no deadline, leaves out what does not answer, and
 * indexes arrays by what agents answer. So it runs in a process of its own
 * (`pmm fabric netdisc`), and nothing of its result is believed that can be
 * asked again: explore asks for what is missing.
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
    uint32_t far;     /* node, NETDISC_NONE */
    uint8_t far_port;
    uint8_t info[NETDISC_DATA]; /* PortInfo; zero: it did not come */
};

struct netdisc_node {
    uint8_t info[NETDISC_DATA]; /* NodeInfo */
    uint8_t desc[NETDISC_DATA]; /* zero: it did not come */
    struct mads_to to;
    size_t first;     /* port[first + i] is number i; 0 is a switch's own */
};

/* The own node is the first. */
struct netdisc {
    struct netdisc_node *node;
    size_t nnodes;
    struct netdisc_port *port;
    uint64_t mads;    /* that it took */
};

static inline void netdisc_clear (struct netdisc *t)
{
    free (t->node);
    free (t->port);
    *t = (struct netdisc){ 0 };
}

/* Read through a port of this machine, for max_ms at most. False: the library
 * failed, or took longer.
 */
bool netdisc_read (const char *ca, int port, const struct mads_options *opts,
                    int64_t max_ms, struct netdisc *t);

/* The process that does so: it takes the question from standard input, a
 * socket, answers there, and is killed where that takes too long. Returns the
 * exit status.
 */
int netdisc_answer (void);

#endif /* IBQUERY_NETDISC_H */
