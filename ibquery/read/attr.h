/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What agents answer, as structs: the data of a MAD, decoded. smp.h has the
 * offsets.
 */
#ifndef IBQUERY_ATTR_H
#define IBQUERY_ATTR_H

#include <stdbool.h>
#include <stdint.h>

struct node_attr {
    uint64_t guid, system_guid, port_guid; /* port_guid: of local_port */
    uint8_t type;       /* an enum node_type, if it is one */
    uint8_t nports;
    uint8_t local_port; /* by which the question came in */
    uint16_t device;
    uint32_t vendor;
};

/* Width and speed are util/rates.h's to decode. */
struct port_attr {
    uint64_t gid_prefix;
    uint16_t lid, sm_lid;
    uint8_t lmc;
    uint8_t sm_sl;
    uint8_t state;      /* STATE_* */
    uint8_t phys_state; /* PHYS_* */
};

struct switch_attr {
    uint16_t cap, top;  /* of the linear forwarding table */
    bool changed;       /* PortStateChange: the SM has not seen it yet */
};

struct sm_attr {
    uint64_t guid;
    uint32_t act_count; /* MADs that it has sent */
    uint8_t state;      /* SM_MASTER */
};

void attr_node (const uint8_t *data, struct node_attr *info);
void attr_port (const uint8_t *data, struct port_attr *info);
void attr_switch (const uint8_t *data, struct switch_attr *info);
void attr_sm (const uint8_t *data, struct sm_attr *info);

#endif /* IBQUERY_ATTR_H */
