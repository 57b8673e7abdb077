/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates: sets of lane counts and of lane speeds, as in a port's PortInfo: what
 * it supports, what is enabled, what is active.
 *
 * Text: "1,4xSDR,DDR,QDR", for an active rate "4xEDR"; '?' if the lanes or the
 * speeds are not known, "-" if both are not.
 */
#ifndef UTIL_RATES_H
#define UTIL_RATES_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RATES_TEXT = 56,      /* bytes of the longest text, with its NUL */
    RATES_PORTINFO = 64,  /* bytes of PortInfo */
};

/* Bit i, from 1, is the i-th lane count or speed, from the slowest: 1, 2, 4, 8,
 * 12 lanes of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR. Bit 0 is not used.
 * An empty set is not known.
 */
struct rates {
    uint16_t lanes, speeds;
};

/* What a port supports, what is enabled, what is active: `active` has at most
 * one bit of either set.
 */
struct port_rates {
    struct rates supported, enabled, active;
};

/* rates_format writes the text to buf and returns it; RATES_SHOWN is for use in
 * one printf. rates_parse parses the whole of s: return 0, or -1 with errno
 * EINVAL and *r unchanged; rates_parse_one takes no more than one rate.
 */
char *rates_format (const struct rates *r, char buf[RATES_TEXT]);
#define RATES_SHOWN(r) rates_format ((r), (char[RATES_TEXT]){ 0 })
int rates_parse (const char *s, struct rates *r);
int rates_parse_one (const char *s, struct rates *r);

/* The set with one rate; empty for a value that is not known (lanes 0, speed
 * "") or not valid.
 */
struct rates rates_of (unsigned int lanes, const char *speed);

/* The set with the bits of PortInfo: byte 0 of `speeds` is the old mask, byte 1
 * the extended speeds, byte 2 FDR10, byte 3 XDR, as in ibdiagnet's files. Bits
 * without a meaning are ignored.
 */
struct rates rates_of_masks (uint8_t lanes, uint32_t speeds);

/* The speed for the gigabits in opensm-subnet.lst ("14" is FDR); "" if not
 * valid.
 */
const char *rates_by_list (const char *text);

/* A number below 128 for sorting: by the most lanes, then the highest speed. */
unsigned int rates_order (const struct rates *r);

/* The most lanes and the highest speed: 0 and "" if not known. */
unsigned int rates_lanes (const struct rates *r);
const char *rates_speed (const struct rates *r);

/* The maximum that both allow, as a set of one; what is known of only one
 * counts alone.
 */
struct rates rates_common (const struct rates *a, const struct rates *b);

/* Whether a's maximum has fewer lanes than b's, or slower ones. False if it is
 * not known.
 */
bool rates_narrower (const struct rates *a, const struct rates *b);
bool rates_slower (const struct rates *a, const struct rates *b);

/* Bits per second over all lanes on the wire, at the maximum rate: the
 * signalling rates in IBTA's table of speeds (InfiniBand Architecture
 * Specification, volume 2; 2.5, 5, 10, 10.3125, 14.0625, 25.78125, 53.125,
 * 106.25, 212.5 Gb/s per lane). 0 if lanes or speed are not known.
 */
double rates_bits (const struct rates *r);

/* What remains for packets: without the line code (8b/10b up to QDR, 64b/66b
 * from FDR10) and, from HDR, the forward error correction (256b/257b in
 * RS(544,514)): 2, 4, 8, 10, 13.64, 25, 50, 100, 200 Gb/s per lane.
 */
double rates_data_bits (const struct rates *r);

/* Decode a PortInfo. cap_mask tells whether the extended speeds are valid: that
 * of the port itself for adapters and routers, that of port 0 for a switch's
 * ports. FDR10 is not in PortInfo (it is in a vendor attribute) and shows as
 * QDR. XDR has its own bit, which older ports leave 0.
 */
uint32_t rates_cap_mask (const uint8_t info[RATES_PORTINFO]);
void rates_decode (const uint8_t info[RATES_PORTINFO], uint32_t cap_mask,
                   struct port_rates *rates);

#endif /* UTIL_RATES_H */
