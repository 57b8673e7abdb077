/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The offsets of the fields in a MAD's header, from the InfiniBand
 * specification (volume 1, chapters 13, 14 and 16), and the decoded data.
 */
#ifndef IBQUERY_SMP_H
#define IBQUERY_SMP_H

#include <stdbool.h>
#include <stdint.h>

/* The header, and the additional fields of a directed route. */
enum {
    MAD_VERSION = 0,
    MAD_CLASS = 1,
    MAD_CLASS_VERSION = 2,
    MAD_METHOD = 3,
    MAD_STATUS = 4,
    MAD_HOP_POINTER = 6,
    MAD_HOP_COUNT = 7,
    MAD_TID = 8,
    MAD_ATTR = 16,
    MAD_MOD = 20,
    MAD_MKEY = 24,
    MAD_DR_SLID = 32,
    MAD_DR_DLID = 34,
    MAD_INITIAL_PATH = 128,
    MAD_RETURN_PATH = 192,
};

enum {
    METHOD_GET = 0x01,
    METHOD_GET_RESP = 0x81,
    STATUS_BUSY = 0x0001,
    STATUS_NO_ATTR = 0x000c, /* attribute not supported with this method */
    STATUS_DIRECTION = 0x8000, /* directed routes: returning */
};

enum attr {
    ATTR_NODE_DESC = 0x0010,
    ATTR_NODE_INFO = 0x0011,
    ATTR_SWITCH_INFO = 0x0012,
    ATTR_PORT_INFO = 0x0015, /* modifier: port */
    ATTR_LFT = 0x0019,       /* modifier: block of LFT_BLOCK entries */
    ATTR_SM_INFO = 0x0020,
    ATTR_SL_TO_VL = 0x0017,  /* modifier: input port << 8 | output port */
    ATTR_ADAPTIVE = 0xff20,  /* NVIDIA's: AdaptiveRoutingInfo */
    ATTR_AR_GROUPS = 0xff21,
    ATTR_AR_LFT = 0xff23,
    ATTR_PRIVATE_INFO = 0xff10,
    ATTR_PRIVATE_MAP = 0xff14,
};

enum {
    LFT_BLOCK = 64,
    NODE_DESC_SIZE = 64,
    STATE_DOWN = 1,
    STATE_INIT = 2,
    STATE_ARMED = 3,
    STATE_ACTIVE = 4,
    PHYS_LINK_UP = 5,
    SM_MASTER = 3,
    CAP_LRTL = 1 << 24, /* in PortInfo's CapabilityMask */
    VENDOR_NVIDIA = 0x0002c9,
};

/* Answers of agents: the data of a MAD, decoded by libibmad. */
struct node_attr {
    uint64_t guid, system_guid, port_guid; /* port_guid: of local_port */
    uint8_t type;       /* an enum node_type, if valid */
    uint8_t nports;
    uint8_t local_port; /* at which the request arrived */
    uint32_t vendor;
    uint16_t device;
};

/* util/rates.h decodes width and speed. */
struct port_attr {
    uint64_t gid_prefix;
    uint16_t lid, sm_lid;
    uint8_t lmc;
    uint8_t sm_sl;
    uint8_t state;      /* STATE_* */
    uint8_t phys_state; /* PHYS_* */
    uint8_t vls;        /* OperationalVLs: 1 to 5, up to VL 0, 1, 3, 7, 14 */
    uint32_t lrtl;      /* LinkRoundTripLatency, where CAP_LRTL says it is */
};

struct switch_attr {
    uint16_t cap, top;  /* of the linear forwarding table */
    bool changed;       /* PortStateChange: not yet seen by the SM */
};

struct sm_attr {
    uint64_t guid;
    uint32_t act_count; /* MADs that it has sent */
    uint8_t state;      /* SM_MASTER */
};

struct node_attr attr_node (const uint8_t *data);
struct port_attr attr_port (const uint8_t *data);
struct switch_attr attr_switch (const uint8_t *data);
struct sm_attr attr_sm (const uint8_t *data);

static inline uint16_t get16 (const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get32 (const uint8_t *p)
{
    return (uint32_t)get16 (p) << 16 | get16 (p + 2);
}

static inline uint64_t get64 (const uint8_t *p)
{
    return (uint64_t)get32 (p) << 32 | get32 (p + 4);
}

static inline void put16 (uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void put32 (uint8_t *p, uint32_t v)
{
    put16 (p, (uint16_t)(v >> 16));
    put16 (p + 2, (uint16_t)v);
}

static inline void put64 (uint8_t *p, uint64_t v)
{
    put32 (p, (uint32_t)(v >> 32));
    put32 (p + 4, (uint32_t)v);
}

#endif /* IBQUERY_SMP_H */
