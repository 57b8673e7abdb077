/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of addresses and datagrams over verbs, and rules for them. */
#include "config.h"
#include "probe/verbs_wire.h"

#include <string.h>

#include "probe/wire.h"
#include "util/map.h"
#include "util/text.h"

enum {
    ADDRESS_VERSION = 2,
    ADDRESS_SIZE = 32, /* before the name */
    WINDOW = 64,
    IPV4_HEADER = 20, /* its offset in the 40 bytes of a GRH */
    IPV4_SOURCE = IPV4_HEADER + 12,
    GRH_SOURCE = 8,
    SUBNET_PREFIX = 8, /* bytes, the first of a GID */
    PKEY_FULL = 0x8000,
    TIMEOUT_CODE_MAX = 31,
    QPN_MAX = 0xffffff,
    MTU_MIN = 1, /* IBV_MTU_256 */
    MTU_MAX = 5, /* IBV_MTU_4096 */
    BULK_SIZE_LOG_MAX = 24,
};

/* A time stamp that is older than this is wrong. */
#define STAMP_AGE_NS INT64_C (100000000000)

enum { /* flags of verbs_bulk_info */
    BULK_ASKS = 1,
    BULK_STRICT = 2,
};

enum { /* flags of an address */
    FLAG_ETHERNET = 1,
    FLAG_ROCE_V1 = 2,
    FLAG_GLOBAL = 4,
    FLAG_RC = 8,
    FLAG_FIRST = 16,
};

void verbs_address_pack (const struct verbs_address *a,
                         struct transport_address *to)
{
    size_t len = strlen (a->name);

    to->lid = a->lid;
    to->lmc = a->lmc;
    to->data[0] = ADDRESS_VERSION;
    to->data[1] = (uint8_t)((a->ethernet ? FLAG_ETHERNET : 0)
                            | (a->roce_v1 ? FLAG_ROCE_V1 : 0)
                            | (a->global ? FLAG_GLOBAL : 0)
                            | (a->rc ? FLAG_RC : 0)
                            | (a->first ? FLAG_FIRST : 0));
    wire_put (to->data + 2, a->pkey, 2);
    wire_put (to->data + 4, a->qpn, 3);
    to->data[7] = a->cores;
    wire_put (to->data + 8, a->gap_us, 4);
    wire_put (to->data + 12, a->machine, 4);
    memcpy (to->data + 16, a->gid, VERBS_GID);
    memcpy (to->data + ADDRESS_SIZE, a->name, len);
    to->len = (uint8_t)(ADDRESS_SIZE + len);
}

bool verbs_address_unpack (struct verbs_address *a,
                           const struct transport_address *from)
{
    const uint8_t *p = from->data;
    size_t len = (size_t)from->len - ADDRESS_SIZE;

    if (from->len < ADDRESS_SIZE || p[0] != ADDRESS_VERSION
        || len > VERBS_NAME_MAX)
        return false;
    *a = (struct verbs_address){
        .ethernet = p[1] & FLAG_ETHERNET, .roce_v1 = p[1] & FLAG_ROCE_V1,
        .global = p[1] & FLAG_GLOBAL, .rc = p[1] & FLAG_RC,
        .first = p[1] & FLAG_FIRST, .node = from->node, .lid = from->lid,
        .lmc = from->lmc,
        .pkey = (uint16_t)wire_get (p + 2, 2),
        .qpn = (uint32_t)wire_get (p + 4, 3), .cores = p[7],
        .gap_us = (uint32_t)wire_get (p + 8, 4),
        .machine = (uint32_t)wire_get (p + 12, 4),
    };
    memcpy (a->gid, p + 16, VERBS_GID);
    memcpy (a->name, p + ADDRESS_SIZE, len);
    a->name[len] = '\0';
    text_clean (a->name);
    return true;
}

bool verbs_pkeys_match (uint16_t a, uint16_t b)
{
    return ((a ^ b) & ~PKEY_FULL & 0xffff) == 0 && ((a | b) & PKEY_FULL);
}

bool verbs_pkey_is_better (uint16_t pkey, uint16_t best, uint16_t wanted)
{
    uint16_t partition = pkey & (uint16_t)~PKEY_FULL;

    if (partition == 0
        || (wanted != 0 && partition != (wanted & (uint16_t)~PKEY_FULL)))
        return false;
    return best == 0 || (pkey & ~best & PKEY_FULL);
}

static bool is_ipv4 (const uint8_t gid[VERBS_GID])
{
    static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

    return !memcmp (gid, mapped, sizeof (mapped));
}

static const char *network (const struct verbs_address *a)
{
    return a->ethernet ? "Ethernet" : "InfiniBand";
}

static const char *gid_kind (const struct verbs_address *a)
{
    if (a->roce_v1)
        return "RoCE v1";
    return is_ipv4 (a->gid) ? "IPv4" : "IPv6";
}

uint64_t verbs_subnet (const struct transport_address *a)
{
    struct verbs_address at;
    uint64_t prefix = 0;

    if (verbs_address_unpack (&at, a) && !at.ethernet)
        for (int i = 0; i < SUBNET_PREFIX; i++)
            prefix = prefix << 8 | at.gid[i];
    return prefix;
}

int verbs_agree (const struct transport_address *first,
                 const struct transport_address *second, struct error *err)
{
    struct verbs_address a, b;

    if (!verbs_address_unpack (&a, first)
        || !verbs_address_unpack (&b, second))
        return error_world (err, "published an invalid address");
    if (a.ethernet != b.ethernet)
        return error_world (err, "%s: %s, not %s as %s of the first node",
                            b.name, network (&b), network (&a), a.name);
    if (a.rc != b.rc)
        return error_world (err, "%s: another Service than the first node",
                            b.name);
    if (!verbs_pkeys_match (a.pkey, b.pkey))
        return error_world (err, "%s: P_Key 0x%04x does not match 0x%04x of "
                            "the first node", b.name, b.pkey, a.pkey);
    if (!a.ethernet && memcmp (a.gid, b.gid, SUBNET_PREFIX))
        return error_world (err, "%s: in another subnet than %s of the first "
                            "node", b.name, a.name);
    if (a.ethernet && gid_kind (&a) != gid_kind (&b))
        return error_world (err, "%s: its GID is %s, not %s as that of the "
                            "first node: see GidIndex", b.name, gid_kind (&b),
                            gid_kind (&a));
    return 0;
}

void verbs_find_share (const struct verbs_address *at, size_t n, size_t self,
                       struct verbs_share *share)
{
    struct map processes = { 0 }; /* so far, by machine */

    *share = (struct verbs_share){ .turns = 1 };
    for (size_t i = 0; i < n; i++) {
        uint32_t before = map_find (&processes, at[i].machine);
        size_t turn;

        if (!at[i].first)
            continue;
        if (before == MAP_NONE)
            before = 0;
        map_put (&processes, at[i].machine, before + 1);
        turn = before / (at[i].cores > 0 ? at[i].cores : 1);
        if (turn >= share->turns)
            share->turns = turn + 1;
        if (i == self) {
            share->before = before;
            share->mine = turn;
        }
        if (at[i].machine == at[self].machine)
            share->processes = before + 1;
    }
    map_clear (&processes);
}

void verbs_header_pack (uint8_t buf[VERBS_HEADER], uint64_t nonce,
                        const struct verbs_header *h)
{
    wire_put (buf, nonce, 8);
    wire_put (buf + 8, h->from, 4);
    wire_put (buf + 12, h->sequence, 4);
    wire_put (buf + 16, h->held_ns, 4);
    wire_put (buf + 20, h->type, 2);
    wire_put (buf + 22, 0, 2);
}

bool verbs_header_unpack (struct verbs_header *h, const uint8_t *buf,
                          size_t len, uint64_t nonce, size_t npeers)
{
    if (len < VERBS_HEADER || wire_get (buf, 8) != nonce)
        return false;
    *h = (struct verbs_header){
        .from = (uint32_t)wire_get (buf + 8, 4),
        .sequence = (uint32_t)wire_get (buf + 12, 4),
        .held_ns = (uint32_t)wire_get (buf + 16, 4),
        .type = (enum verbs_type)wire_get (buf + 20, 2),
    };
    return len - VERBS_HEADER <= TRANSPORT_DATA_MAX && h->from < npeers
           && h->type >= VERBS_DATA && h->type <= VERBS_BULK;
}

void verbs_bulk_pack (uint8_t buf[VERBS_BULK_SIZE],
                      const struct verbs_bulk_info *info)
{
    wire_put (buf, info->made, 4);
    wire_put (buf + 4, info->knows, 4);
    wire_put (buf + 8, info->address, 8);
    wire_put (buf + 16, info->rkey, 4);
    for (int i = 0; i < VERBS_BULK_PAIRS; i++)
        wire_put (buf + 20 + 4 * i, info->qpn[i], 4);
    buf[36] = (uint8_t)((info->asks ? BULK_ASKS : 0)
                        | (info->strict ? BULK_STRICT : 0));
    buf[37] = info->way.own;
    buf[38] = info->way.other;
    buf[39] = info->way.flow;
    buf[40] = info->sl;
    buf[41] = info->mtu;
    buf[42] = info->size_log;
    buf[43] = info->qps;
}

bool verbs_bulk_unpack (struct verbs_bulk_info *info, const uint8_t *buf,
                        size_t len)
{
    if (len != VERBS_BULK_SIZE)
        return false;
    *info = (struct verbs_bulk_info){
        .made = (uint32_t)wire_get (buf, 4),
        .knows = (uint32_t)wire_get (buf + 4, 4),
        .address = wire_get (buf + 8, 8),
        .rkey = (uint32_t)wire_get (buf + 16, 4), .asks = buf[36] & BULK_ASKS,
        .strict = buf[36] & BULK_STRICT, .way = { buf[37], buf[38], buf[39] },
        .sl = buf[40], .mtu = buf[41], .size_log = buf[42], .qps = buf[43],
    };
    for (int i = 0; i < VERBS_BULK_PAIRS; i++)
        if ((info->qpn[i] = (uint32_t)wire_get (buf + 20 + 4 * i, 4)) > QPN_MAX)
            return false;
    return info->made > 0 && info->way.flow < TRANSPORT_FLOWS_MAX
           && info->sl <= VERBS_SL_MAX && info->mtu >= MTU_MIN
           && info->mtu <= MTU_MAX && info->size_log >= VERBS_BULK_SIZE_LOG
           && info->size_log <= BULK_SIZE_LOG_MAX && info->qps >= 1
           && info->qps <= VERBS_BULK_PAIRS;
}

bool verbs_meet_is_past (const struct verbs_meet *m, uint32_t made)
{
    return m->other && m->other != made;
}

bool verbs_meet_may_connect (const struct verbs_meet *m, uint32_t knows)
{
    return !m->other && (knows == 0 || knows == m->made);
}

void verbs_meet_hear (struct verbs_meet *m, uint32_t made, uint32_t knows)
{
    m->ready |= m->other == made && knows == m->made;
}

bool verbs_window_take (struct verbs_window *w, uint32_t sequence)
{
    if (sequence > w->last) {
        uint32_t ahead = sequence - w->last;

        w->seen = ahead < WINDOW ? w->seen << ahead | 1 : 1;
        w->last = sequence;
        return true;
    }
    if (sequence == 0 || w->last - sequence >= WINDOW
        || (w->seen >> (w->last - sequence) & 1))
        return false;
    w->seen |= UINT64_C (1) << (w->last - sequence);
    return true;
}

bool verbs_grh_is_from (const uint8_t grh[VERBS_GRH],
                        const uint8_t gid[VERBS_GID])
{
    if (is_ipv4 (gid) && grh[IPV4_HEADER] >> 4 == 4)
        return !memcmp (grh + IPV4_SOURCE, gid + 12, 4);
    return !memcmp (grh + GRH_SOURCE, gid, VERBS_GID);
}

bool verbs_is_from (const struct verbs_origin *origin,
                    const struct verbs_address *at, uint32_t qpn)
{
    if (origin->qpn != qpn)
        return false;
    if (at->global && origin->grh)
        return verbs_grh_is_from (origin->grh, at->gid);
    return at->ethernet || origin->lid >> at->lmc == at->lid >> at->lmc;
}

int verbs_gid_worth (const uint8_t gid[VERBS_GID], bool v1)
{
    bool link_local = gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
    int kind = is_ipv4 (gid) ? 2 : link_local ? 0 : 1;

    return (v1 ? 0 : 3) + kind;
}

uint8_t verbs_timeout_code (int64_t ns)
{
    uint8_t code = 1;

    while (code < TIMEOUT_CODE_MAX && (INT64_C (4096) << code) <= ns)
        code++;
    return code;
}

int64_t verbs_ticks_ns (uint64_t ticks, uint64_t khz)
{
    /* in two parts: the product of ticks and 10^6 could overflow */
    return (int64_t)(ticks / khz * 1000000 + ticks % khz * 1000000 / khz);
}

bool verbs_stamp_is_sound (int64_t stamp_ns, int64_t now_ns)
{
    return stamp_ns <= now_ns && stamp_ns >= now_ns - STAMP_AGE_NS;
}
