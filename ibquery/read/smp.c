/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/read/smp.h"

#include <infiniband/mad.h>

static uint32_t smp_field (const uint8_t *data, enum MAD_FIELDS which)
{
    return mad_get_field ((void *)data, 0, which);
}

static uint64_t field64 (const uint8_t *data, enum MAD_FIELDS which)
{
    return mad_get_field64 ((void *)data, 0, which);
}

struct node_attr attr_node (const uint8_t *data)
{
    return (struct node_attr){
        .guid = field64 (data, IB_NODE_GUID_F),
        .system_guid = field64 (data, IB_NODE_SYSTEM_GUID_F),
        .port_guid = field64 (data, IB_NODE_PORT_GUID_F),
        .type = smp_field (data, IB_NODE_TYPE_F),
        .nports = smp_field (data, IB_NODE_NPORTS_F),
        .local_port = smp_field (data, IB_NODE_LOCAL_PORT_F),
        .vendor = smp_field (data, IB_NODE_VENDORID_F),
        .device = smp_field (data, IB_NODE_DEVID_F),
    };
}

struct port_attr attr_port (const uint8_t *data)
{
    return (struct port_attr){
        .gid_prefix = field64 (data, IB_PORT_GID_PREFIX_F),
        .lid = smp_field (data, IB_PORT_LID_F),
        .sm_lid = smp_field (data, IB_PORT_SMLID_F),
        .lmc = smp_field (data, IB_PORT_LMC_F),
        .sm_sl = smp_field (data, IB_PORT_SMSL_F),
        .state = smp_field (data, IB_PORT_STATE_F),
        .phys_state = smp_field (data, IB_PORT_PHYS_STATE_F),
        .lrtl = smp_field (data, IB_PORT_LINK_ROUND_TRIP_F),
        .vls = smp_field (data, IB_PORT_OPER_VLS_F),
    };
}

struct switch_attr attr_switch (const uint8_t *data)
{
    return (struct switch_attr){
        .cap = smp_field (data, IB_SW_LINEAR_FDB_CAP_F),
        .top = smp_field (data, IB_SW_LINEAR_FDB_TOP_F),
        .changed = smp_field (data, IB_SW_STATE_CHANGE_F),
    };
}

struct sm_attr attr_sm (const uint8_t *data)
{
    return (struct sm_attr){
        .guid = field64 (data, IB_SMINFO_GUID_F),
        .act_count = smp_field (data, IB_SMINFO_ACT_F),
        .state = smp_field (data, IB_SMINFO_STATE_F),
    };
}
