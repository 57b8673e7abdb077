/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/samples/bursts.h"

#include <math.h>
#include <stdlib.h>

#include "util/alloc.h"

enum { PACKET_BYTES = 26 }; /* around the payload of a packet */

struct bursts *bursts_create (void)
{
    return xcalloc (1, sizeof (struct bursts));
}

void bursts_destroy (struct bursts *b)
{
    if (b) {
        free (b->flow);
        free (b->port);
    }
    free (b);
}

void bursts_add_flow (struct bursts *b, const struct burst_flow *flow)
{
    b->flow = xgrow (b->flow, b->nflows, sizeof (*flow));
    b->flow[b->nflows++] = *flow;
}

void bursts_add_port (struct bursts *b, const struct burst_port *port)
{
    b->port = xgrow (b->port, b->nports, sizeof (*port));
    b->port[b->nports++] = *port;
}

const struct burst_port *bursts_port (const struct bursts *b, uint32_t end)
{
    for (size_t i = 0; i < b->nports; i++)
        if (b->port[i].end == end)
            return &b->port[i];
    return NULL;
}

double burst_port_bits (const struct burst_port *p)
{
    if (p->bits <= 0)
        return HUGE_VAL;
    return p->mtu > 0 ? p->bits * p->mtu / (p->mtu + PACKET_BYTES) : p->bits;
}

double burst_pcie_bits (const struct pcie_rate *rate)
{
    double bits = pcie_usable (rate, PCIE_PAYLOAD);

    return bits > 0 ? bits : HUGE_VAL;
}
