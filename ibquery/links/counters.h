/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters: the values of the ports of a fabric at one time, for both ends of
 * each cable.
 *
 * Made by read/collect (live) and import. Read by links/check. File:
 * pmm-counters(5).
 *
 * A counter is from PortCounters, where it stops at its end (4 to 32 bits), or
 * from PortCountersExtended, where it has 64 bits and does not stop. A counter
 * at its end means "at least". A counter that a port does not have, or did not
 * report, is not known; a port that did not answer has none.
 *
 * A bit error rate (BER) stands in the same place, as the errors in 10^18 bits,
 * as far as the port's vendor counts them: of the bits on the wire (raw), of
 * those after error correction (effective), of symbols.
 */
#ifndef IBQUERY_COUNTERS_H
#define IBQUERY_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"
#include "util/rates.h"

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
    COUNTERS_COUNTS,                     /* what follows does not count */
    COUNTER_RAW_BER = COUNTERS_COUNTS,
    COUNTER_EFFECTIVE_BER,
    COUNTER_SYMBOL_BER,
    COUNTERS,
};

/* Forward error correction, as in PortInfoExtended. */
enum fec {
    FEC_UNKNOWN, FEC_NONE, FEC_FIRECODE, FEC_RS, FEC_RS_LOW_LATENCY, FEC_RS2,
};

struct port_counters {
    uint64_t guid;   /* the node's */
    uint8_t port;
    enum fec fec;
    uint64_t value[COUNTERS];
    uint32_t told;   /* bit i: value[i] is known */
    uint32_t at_end; /* bit i: value[i] has stopped at its end */
};

struct counters {
    char source[65]; /* "mlx5_0/1"; "" unknown */
    char fabric[33]; /* the hash of the fabric that was read */
    int64_t time;    /* time of the first answer, s since 1970 */
    uint32_t lasted; /* seconds until the last one, rounded up */
    struct port_counters *port; /* sorted by GUID and number */
    size_t nports;
};

enum { COUNTERS_MAX_PORTS = 1 << 22, COUNTERS_DATA = 192 };

/* InfiniBand's name: "SymbolErrorCounter". */
const char *counter_name (enum counter_id id);

/* How many bits it has in PortCounters. */
unsigned int counter_bits (enum counter_id id);

/* Take a value of a counter with so many bits, or with 64; or of a BER, with
 * 64. Return false if it has more.
 */
bool counter_take (struct port_counters *port, enum counter_id id,
                   bool extended, uint64_t value);

/* Whether FEC is active: 1, 0, or -1 if not known. */
int fec_is_active (enum fec fec);

struct counters *counters_create (void);
void counters_destroy (struct counters *c);

/* Append a port without counters, in any order; call counters_sort after the
 * last. The result is valid until the next call; NULL with err.
 */
struct port_counters *counters_add (struct counters *c, uint64_t guid,
                                    uint8_t port, struct error *err);

/* Sort. Return 0, or -1 with err if a port occurs twice. */
int counters_sort (struct counters *c, struct error *err);

/* Find a port, after counters_sort; NULL if there is none. */
const struct port_counters *counters_find (const struct counters *c,
                                           uint64_t guid, uint8_t port);

/* The capabilities of a performance agent, from the data of a ClassPortInfo:
 * bits of the standard's PerfMgt CapabilityMask (16 bits) and CapabilityMask2.
 */
struct counters_caps {
    bool extended;      /* PortCountersExtended has data and packets */
    bool extended_errors; /* and everything else: PortCounters is not needed */
    bool xmit_wait;     /* PortCounters has PortXmitWait */
};
void counters_caps (const uint8_t data[COUNTERS_DATA],
                    struct counters_caps *caps);

/* Take the values from the data of a PortCounters or a PortCountersExtended.
 * Those of the latter have precedence, in any order of calls.
 */
void counters_decode (const uint8_t data[COUNTERS_DATA],
                      const struct counters_caps *caps,
                      struct port_counters *port);
void counters_decode_extended (const uint8_t data[COUNTERS_DATA],
                               const struct counters_caps *caps,
                               struct port_counters *port);

/* The active mode according to a PortInfoExtended (64 bytes). */
enum fec counters_decode_fec (const uint8_t *data);

/* The file. counters_write returns 0, or -1 with err. counters_read returns
 * NULL with err. counters_load takes a path; "-" is standard input; or those of
 * several subnets, separated by commas.
 */
int counters_write (const struct counters *c, FILE *fp, struct error *err);
struct counters *counters_read (FILE *fp, const char *name,
                                struct error *err);
struct counters *counters_load (const char *paths, struct error *err);

/* Growth: what a port has counted between two readings, and whether this is
 * more than a healthy cable's. Sometimes only a lower bound is known:
 *
 *   A counter that went back was reset; it has grown by at least its value.
 *   Then the port's other counters may have been reset, too; they have grown
 *   by at least the difference.
 *   A counter at its end has grown by at least the difference.
 *   If it was at its end before, nothing is known.
 *
 * Limits. SymbolErrorCounter is compared with a bit error rate,
 *
 *   errors per hour = BER * lanes * signalling rate of a lane * 3600 s
 *
 * since at such rates one bad bit is one bad symbol. The BER is 1e-12 without
 * error correction (NVIDIA's cabling guide, "Mixing Widths and Rates"; the
 * default of ibdiagnet --ber_thresh). With it, only errors that were not
 * corrected count: 1e-15, to which cables are tested according to the same
 * guide. HDR and faster always use error correction; a slower port that does
 * not report it counts as without. The count of a healthy link has a Poisson
 * distribution: it is a sign if it exceeds the mean by five standard deviations
 * plus two errors.
 *
 * The other counters count events. Their limits are those of a node's health
 * check (ibquery/local), and the same again, since the interval may begin in
 * the middle of such a period. Packets that were damaged elsewhere, congestion
 * and configuration do not indicate a bad cable.
 */
enum growth_known {
    GROWTH_UNTOLD,   /* a reading lacks it */
    GROWTH_AT_END,   /* lower bound: it has stopped counting */
    GROWTH_RESET,    /* lower bound: it was reset in between */
    GROWTH_EXACT,
};

struct growth {
    enum growth_known known;
    uint64_t count;
};

/* The growth at one port; NULL: that reading lacks the port. */
struct growth growth_of (const struct port_counters *before,
                         const struct port_counters *now,
                         enum counter_id id);

/* Seconds between two readings of any port, at most: from the earliest answer
 * of one to the latest of the other. 0 if `before` is not the earlier one.
 */
double growth_seconds (const struct counters *before,
                       const struct counters *now);

/* Whether there is a limit for the growth of the counter. */
bool growth_is_limited (enum counter_id id);

/* The most that a healthy port counts per hour, and the most in this number of
 * seconds that is not yet a sign. rate is the cable's. NAN: there is no limit,
 * or the rate is not known.
 */
double growth_limit_per_hour (enum counter_id id, const struct rates *rate,
                              enum fec fec);
double growth_allowed (enum counter_id id, const struct rates *rate,
                       enum fec fec, double seconds);

/* The BER from which a link at this rate is faulty; NAN for what is no BER, or
 * if the speed is not known. The limits are the highest error thresholds in
 * NVIDIA's table of BERs in the field (UFM SDK, pdr_deterministic plugin,
 * Field_BER_Thresholds.csv, version V06), over all kinds of cables and of error
 * correction.
 */
double counter_ber_limit (enum counter_id id, const struct rates *rate);
#define COUNTER_BER_UNIT 1e-18

#endif /* IBQUERY_COUNTERS_H */
