/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates: sets of lane counts and of lane speeds, such as PortInfo has them of
 * a port: what it supports, what is enabled, what is active.
 *
 * Text: "1,4xSDR,DDR,QDR", of an active rate "4xEDR"; '?' where the lanes or
 * the speeds are not told, "-" where neither are.
 */
#ifndef UTIL_RATES_H
#define UTIL_RATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RATES_TEXT = 56,      /* bytes of the longest text, with its NUL */
    RATES_PORTINFO = 64,  /* bytes of PortInfo */
};

/* Bit i stands for the i-th lane count or speed from the slowest on, bit 0
 * for none: 1, 2, 4, 8, 12 lanes of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR,
 * XDR. An empty set is not told.
 */
struct rates {
    uint16_t lanes, speeds;
};

/* What a port can do, what it is allowed to, what it does: of `active`, at
 * most one bit of either set.
 */
struct port_rates {
    struct rates supported, enabled, active;
};

/* The text, into buf of RATES_TEXT bytes; returns buf. Parse the whole of s:
 * return 0, or -1 with errno EINVAL and *r untouched.
 */
char *rates_format (const struct rates *r, char buf[RATES_TEXT]);
int rates_parse (const char *s, struct rates *r);

/* The set of one rate; of what is not known (lanes 0, speed ""), or is no
 * such rate, nothing is told.
 */
struct rates rates_of (unsigned int lanes, const char *speed);

/* What opensm-subnet.lst calls a speed, by its gigabits ("14" is FDR); "" where
 * it is none.
 */
const char *rates_by_list (const char *text);

/* A number below 128 that sorts: by the greatest lanes, then speed. */
unsigned int rates_order (const struct rates *r);

/* Lanes and speed of the greatest members: 0 and "" where they are not told.
 */
unsigned int rates_lanes (const struct rates *r);
const char *rates_speed (const struct rates *r);

/* The greatest that both allow, as a set of one; of what is told of one of
 * them only, that one's.
 */
struct rates rates_common (const struct rates *a, const struct rates *b);

/* Whether a's greatest has fewer lanes, or slower ones, than b's. What is not
 * told is neither.
 */
bool rates_narrower (const struct rates *a, const struct rates *b);
bool rates_slower (const struct rates *a, const struct rates *b);

/* Bits a second over all lanes on the wire, for the greatest members: the
 * signalling rates of IBTA's table of speeds (InfiniBand Architecture
 * Specification, volume 2; 2.5, 5, 10, 10.3125, 14.0625, 25.78125, 53.125,
 * 106.25, 212.5 Gb/s a lane). 0 where one is not told.
 */
double rates_bits (const struct rates *r);

/* What of them is left for packets: without the line code (8b/10b up to QDR,
 * 64b/66b from FDR10 on) and, from HDR on, the forward error correction
 * (256b/257b in RS(544,514)): 2, 4, 8, 10, 13.64, 25, 50, 100, 200 Gb/s a lane.
 */
double rates_data_bits (const struct rates *r);

/* What a PortInfo says. cap_mask is its own for adapters and routers, that of
 * port 0 for a switch's ports: whether the extended speeds count. FDR10 is not
 * in PortInfo (a vendor attribute has it) and shows as QDR; XDR is a bit of
 * its own, which older ports leave 0.
 */
uint32_t rates_cap_mask (const uint8_t info[RATES_PORTINFO]);
void rates_decode (const uint8_t info[RATES_PORTINFO], uint32_t cap_mask,
                   struct port_rates *rates);

#endif /* UTIL_RATES_H */
