/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts: the rates of the flows of a check, and what limits their ends.
 *
 * A burst is some ms of bulk data of a pair, in both directions at once, while
 * all pairs of a round send. Rates are of what arrives, in bits of payload per
 * second; that of a burst is the rate of its best contiguous three quarters. As
 * others' traffic only takes away, the best burst counts. Part of the samples
 * (samples.h), and of their file.
 */
#ifndef CORE_BURSTS_H
#define CORE_BURSTS_H

#include <stddef.h>
#include <stdint.h>

#include "util/pcie.h"

/* One direction of a flow. */
struct burst_way {
    uint32_t kept, lost; /* bursts; lost: not all of it came in time */
    double best, worst;  /* of those kept; 0 if there are none */
};

struct burst_flow {
    uint32_t a, b;   /* endpoints of the pathset; a == b: a loopback, through the
                        adapter and over no cable, in way[0] alone */
    uint32_t round;  /* flows of one round ran at the same time */
    struct burst_way way[2]; /* from a to b, and back */
    uint32_t crowd;  /* 1: it was in a crowd (core/rate/crowd) */
};

enum burst_order { /* relaxed ordering of PCIe writes */
    ORDER_RELAXED,
    ORDER_STRICT,  /* the device refuses relaxed ordering */
    ORDER_BETTER,  /* its rates are without it, as they were higher */
};

/* An endpoint, as its host describes it after the bursts. */
struct burst_port {
    uint32_t end;      /* endpoint of the pathset */
    double bits;       /* data rate of the port; 0: not known */
    uint32_t mtu;      /* bytes of payload of a packet; 0: not known */
    struct pcie_rate able; /* of the path to the root; 0 lanes: not known */
    struct pcie_rate now, could; /* of its slowest link: as it runs, and able */
    double others_bits; /* others' traffic of the port meanwhile, the greater of
                           both directions; NAN: not known */
    uint64_t retries;  /* of the adapter meanwhile, of all its users */
    uint64_t errors;   /* corrected by PCIe meanwhile, at both ends */
    enum burst_order order;
};

/* What was left out, and why: bits. */
enum burst_left {
    LEFT_FORBIDDEN = 1, /* all: the site does not allow it here */
    LEFT_TRANSPORT = 2, /* all: the transport has no bursts, or cannot connect */
    LEFT_SITE = 4,      /* links between switches: the site allows host links */
    LEFT_TIME = 8,      /* links between switches: it would take too long */
    LEFT_SPREAD = 16,   /* links between switches: messages are spread there */
    LEFT_HOSTS = 32,    /* some hosts: no bursts were possible with them */
    LEFT_UPLINKS = LEFT_SITE | LEFT_TIME | LEFT_SPREAD,
};

struct bursts {
    unsigned int left;
    struct burst_flow *flow;
    size_t nflows;
    struct burst_port *port; /* at most one per endpoint */
    size_t nports;
};

struct bursts *bursts_create (void);
void bursts_destroy (struct bursts *b);

/* Append one; the struct is copied. */
void bursts_add_flow (struct bursts *b, const struct burst_flow *flow);
void bursts_add_port (struct bursts *b, const struct burst_port *port);

/* The port of an endpoint; NULL: not known. */
const struct burst_port *bursts_port (const struct bursts *b, uint32_t end);

/* The payload that a port can carry, and what PCIe lets through in each
 * direction while both are loaded; HUGE_VAL if not known. With an MTU of P, a
 * packet of RC has P + 26 bytes. By PCIe, pcie_usable.
 */
double burst_port_bits (const struct burst_port *p);
double burst_pcie_bits (const struct pcie_rate *rate);

#endif /* CORE_BURSTS_H */
