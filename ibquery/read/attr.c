/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/read/attr.h"

#include "ibquery/read/smp.h"

void attr_node (const uint8_t *data, struct node_attr *info)
{
    *info = (struct node_attr){
        .guid = get64 (data + NODE_INFO_GUID),
        .system_guid = get64 (data + NODE_INFO_SYSTEM_GUID),
        .port_guid = get64 (data + NODE_INFO_PORT_GUID),
        .type = data[NODE_INFO_TYPE],
        .nports = data[NODE_INFO_PORTS],
        .local_port = data[NODE_INFO_LOCAL_PORT],
        .device = get16 (data + NODE_INFO_DEVICE),
        .vendor = get32 (data + NODE_INFO_LOCAL_PORT) & 0xffffff,
    };
}

void attr_port (const uint8_t *data, struct port_attr *info)
{
    *info = (struct port_attr){
        .gid_prefix = get64 (data + PORT_INFO_GID_PREFIX),
        .lid = get16 (data + PORT_INFO_LID),
        .sm_lid = get16 (data + PORT_INFO_SM_LID),
        .lmc = data[PORT_INFO_LMC] & 7,
        .sm_sl = data[PORT_INFO_SM_SL] & 15,
        .state = data[PORT_INFO_STATE] & 15,
        .phys_state = data[PORT_INFO_PHYS_STATE] >> 4,
    };
}

void attr_switch (const uint8_t *data, struct switch_attr *info)
{
    *info = (struct switch_attr){
        .cap = get16 (data + SWITCH_INFO_CAP),
        .top = get16 (data + SWITCH_INFO_TOP),
        .changed = data[SWITCH_INFO_LIFE_STATE] & SWITCH_STATE_CHANGE,
    };
}

void attr_sm (const uint8_t *data, struct sm_attr *info)
{
    *info = (struct sm_attr){
        .guid = get64 (data + SM_INFO_GUID),
        .act_count = get32 (data + SM_INFO_ACT_COUNT),
        .state = data[SM_INFO_STATE] & 15,
    };
}
