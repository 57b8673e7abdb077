/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: what the ports of a fabric have counted, of both ends of each
 * cable, at one time.
 *
 * Made by read/counters (live). Read by links/growth. File: pmm-counters(5).
 *
 * A counter is either of PortCounters, where it stops at its end (4 to 32
 * bits), or of PortCountersExtended, where it has 64 bits and does not. One
 * that stands at its end says "at least". One that a port does not have, or
 * did not tell, is not told; a port that did not answer has none.
 */
#ifndef IBQUERY_COUNTERS_H
#define IBQUERY_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum counter_id {
    COUNTER_SYMBOL_ERRORS,
    COUNTER_LINK_RECOVERY,
    COUNTER_LINK_DOWNED,
    COUNTER_RCV_ERRORS,
    COUNTER_RCV_REMOTE_PHYSICAL,
    COUNTER_RCV_SWITCH_RELAY,
    COUNTER_XMIT_DISCARDS,
    COUNTER_XMIT_CONSTRAINT,
    COUNTER_RCV_CONSTRAINT,
    COUNTER_LINK_INTEGRITY,
    COUNTER_BUFFER_OVERRUN,
    COUNTER_VL15_DROPPED,
    COUNTER_XMIT_WAIT,
    COUNTER_XMIT_DATA,
    COUNTER_RCV_DATA,
    COUNTER_XMIT_PKTS,
    COUNTER_RCV_PKTS,
    COUNTERS,
};

/* Forward error correction, as PortInfoExtended has it. */
enum fec {
    FEC_UNKNOWN,
    FEC_NONE,
    FEC_FIRECODE,
    FEC_RS,
    FEC_RS_LOW_LATENCY,
    FEC_RS2,
};

struct port_counters {
    uint64_t guid;   /* the node's */
    uint8_t port;
    enum fec fec;
    uint64_t value[COUNTERS];
    uint32_t told;   /* bit i: value[i] is told */
    uint32_t at_end; /* bit i: and has stopped there */
};

struct counters {
    char source[65]; /* "mlx5_0/1"; "" unknown */
    char fabric[33]; /* the hash of the fabric that was looked at */
    int64_t time;    /* the first answer, seconds since 1970 */
    uint32_t lasted; /* seconds to the last one, rounded up */
    struct port_counters *port; /* by GUID and number */
    size_t nports;
};

enum { COUNTERS_MAX_PORTS = 1 << 22, COUNTERS_DATA = 192 };

/* As InfiniBand calls them: "SymbolErrorCounter"; "none", "fire-code", "rs",
 * "rs-low-latency", "rs2", "-" where it is not known.
 */
const char *counter_name (enum counter_id id);
const char *fec_name (enum fec fec);

/* Whether FEC is active: 1, 0, or -1 where that is not known. */
int fec_is_active (enum fec fec);

struct counters *counters_create (void);
void counters_destroy (struct counters *c);

/* Append a port of which nothing is told yet, in any order; counters_sort is
 * due once all are there. NULL with err; else it is valid until the next one.
 */
struct port_counters *counters_add (struct counters *c, uint64_t guid,
                                    uint8_t port, struct error *err);

/* Sort. -1 with err where a port is there twice. */
int counters_sort (struct counters *c, struct error *err);

/* NULL where there is none. After counters_sort. */
const struct port_counters *counters_find (const struct counters *c,
                                           uint64_t guid, uint8_t port);

/* What a performance agent can: of the data of a ClassPortInfo. Bits by the
 * standard's PerfMgt CapabilityMask (16 bits) and CapabilityMask2.
 */
struct counters_caps {
    bool extended;      /* PortCountersExtended has data and packets, */
    bool extended_errors; /* and everything else, so PortCounters is not
                             needed */
    bool xmit_wait;     /* PortCounters has PortXmitWait */
};
void counters_caps (const uint8_t data[COUNTERS_DATA],
                    struct counters_caps *caps);

/* Take over what the data of a PortCounters, of a PortCountersExtended says;
 * the latter goes before the former, in any order of calls.
 */
void counters_decode (const uint8_t data[COUNTERS_DATA],
                      const struct counters_caps *caps,
                      struct port_counters *port);
void counters_decode_extended (const uint8_t data[COUNTERS_DATA],
                               const struct counters_caps *caps,
                               struct port_counters *port);

/* The mode that a PortInfoExtended (64 bytes) says is active. */
enum fec counters_decode_fec (const uint8_t *data);

/* The file. Write: 0, or -1 with err. Read: NULL with err; counters_load for
 * a path, "-" being standard input.
 */
int counters_write (const struct counters *c, FILE *fp, struct error *err);
struct counters *counters_read (FILE *fp, const char *name,
                                struct error *err);
struct counters *counters_load (const char *path, struct error *err);

#endif /* IBQUERY_COUNTERS_H */
