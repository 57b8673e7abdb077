/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the members of an audit say of their ports: pmm-probe --audit prints
 * it on standard error, a line a port,
 *
 *     pmm-port 1 NONCE GUID/PORT STATE PHYS RATE [COUNTER=VALUE]...
 *
 * by the node's GUID, and states as in PortInfo; the audit that has the nonce
 * enters it in the ledger. Behind what it measured, a line for each port, of
 * what others' messages were there meanwhile, in bytes:
 *
 *     pmm-traffic 1 NONCE GUID/PORT NS SENT RECEIVED WAITED
 *
 * NS is how long its round trips took by the clock of the measurement, without
 * what was planned before them and between stages; WAITED is the growth of
 * PortXmitWait; '?' stands for what is not known. SENT and RECEIVED are the
 * growth of the port's counters less what the measurement itself sent there.
 * A packet counts for PORTS_PACKET bytes at least: adapters take no more of
 * small ones than fill a link so.
 */
#ifndef IBQUERY_PORTS_H
#define IBQUERY_PORTS_H

#include <stdbool.h>
#include <stdio.h>

#include "ibquery/local.h"

/* Say it of this node's ports of InfiniBand, as sysfs has them. */
void ports_say (const char *sysfs, const char *nonce, FILE *fp);

/* Whether a line, without its end, is one with that nonce; then *port is what
 * it says. Of the counters those that it does not know are passed over.
 */
bool ports_parse (const char *line, const char *nonce,
                  struct local_port *port);

enum { PORTS_PACKET = 128 };

/* What a port carried for others. */
struct port_traffic {
    uint64_t node_guid;
    unsigned int port;
    uint64_t ns;
    uint64_t bytes[2]; /* sent, received; PORTS_UNTOLD: not known */
    uint64_t waited;   /* likewise */
};
#define PORTS_UNTOLD UINT64_MAX

/* This node's ports of InfiniBand, and what they carried from each begin to its
 * end. All zero: none.
 */
struct ports_watch {
    struct local_port *port;
    struct local_traffic *before;
    struct port_traffic *sum; /* the measurement's own bytes among them */
    size_t n;
    int64_t since_ns;
    uint64_t since[2]; /* own bytes then */
    uint64_t own[2];
};

/* It is that time, and the measurement itself has sent and received so many
 * bytes until now.
 */
void ports_watch_begin (struct ports_watch *w, const char *sysfs,
                        int64_t now_ns, const uint64_t own[2]);
void ports_watch_end (struct ports_watch *w, const char *sysfs, int64_t now_ns,
                      const uint64_t own[2]);
void ports_watch_clear (struct ports_watch *w);

/* Say it. Where the counters of no port show even the measurement's own bytes,
 * they do not count, and nothing is known.
 */
void ports_say_traffic (const struct ports_watch *w, const char *nonce,
                        FILE *fp);

/* Whether a line, without its end, says that; then *t is what. */
bool ports_parse_traffic (const char *line, const char *nonce,
                          struct port_traffic *t);

#endif /* IBQUERY_PORTS_H */
