/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the nodes of an audit report about their ports: pmm-probe --audit prints
 * it on standard error, one line per port,
 *
 *     pmm-port 1 NONCE GUID/PORT STATE PHYS RATE [COUNTER=VALUE]...
 *
 * with the node's GUID, and states as in PortInfo; the audit with this nonce
 * enters it in the ledger. PcieWidth, PcieSpeed (MT/s), PcieAbleWidth and
 * PcieAbleSpeed, which follow the counters, are how the slowest link of the
 * adapter's path runs, and should. After the measurement follows a line for each port
 * with the traffic of others meanwhile, in bytes:
 *
 *     pmm-traffic 1 NONCE GUID/PORT NS SENT RECEIVED WAITED
 *
 * NS is the duration of the round trips. SENT and RECEIVED are the growth of
 * the port's counters minus what the measurement itself sent and received; a
 * packet counts for at least PORTS_PACKET bytes, since adapters cannot handle
 * more small packets than fill a link at this size. WAITED is the growth of
 * PortXmitWait. '?' means not known.
 */
#ifndef IBQUERY_PORTS_H
#define IBQUERY_PORTS_H

#include <stdbool.h>
#include <stdio.h>

#include "ibquery/local.h"

/* What is said of PCIe; all 0 if it is not known. */
enum { PORTS_PCIE = 4 };
extern const struct ports_pcie {
    const char *name; /* "PcieWidth" */
    size_t offset;    /* of an unsigned int in a struct pcie */
    unsigned int max;
} ports_pcie[PORTS_PCIE];

static inline unsigned int ports_pcie_value (const struct pcie *p, int i)
{
    return *(const unsigned int *)((const char *)p + ports_pcie[i].offset);
}

/* Print the lines of this node's InfiniBand ports, as sysfs shows them. */
void ports_say (const char *sysfs, const char *nonce, FILE *fp);

/* Whether a line, without its end, is a pmm-port line with that nonce; then
 * *port is set. Unknown counters are skipped.
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

/* This node's InfiniBand ports, and what they carried from each begin to its
 * end. All zero: none.
 */
struct ports_watch {
    struct local_port *port;
    struct local_traffic *before;
    struct port_traffic *sum; /* including the measurement's own bytes */
    size_t n;
    int64_t since_ns;
    uint64_t since[2]; /* own bytes then */
    uint64_t own[2];
};

/* Start and stop counting, at now_ns; own: the bytes that the measurement
 * itself has sent and received until then.
 */
void ports_watch_begin (struct ports_watch *w, const char *sysfs,
                        int64_t now_ns, const uint64_t own[2]);
void ports_watch_end (struct ports_watch *w, const char *sysfs, int64_t now_ns,
                      const uint64_t own[2]);
void ports_watch_clear (struct ports_watch *w);

/* Print the pmm-traffic lines. If no port's counters show even the
 * measurement's own bytes, they do not count at all, and the traffic is not
 * known.
 */
void ports_say_traffic (const struct ports_watch *w, const char *nonce,
                        FILE *fp);

/* Whether a line, without its end, is a pmm-traffic line with that nonce; then
 * *t is set.
 */
bool ports_parse_traffic (const char *line, const char *nonce,
                          struct port_traffic *t);

#endif /* IBQUERY_PORTS_H */
