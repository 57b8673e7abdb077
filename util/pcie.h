/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates of PCIe links. */
#ifndef UTIL_PCIE_H
#define UTIL_PCIE_H

struct pcie_rate {
    unsigned int lanes; /* 0: not known */
    unsigned int mts;   /* megatransfers a second on each lane; 0: not known */
};

enum {
    PCIE_TEXT = 32,
    PCIE_PAYLOAD = 256, /* usual bytes of payload of a packet; the least is 128 */
};

/* Bits per second in each direction, after the encoding (8b/10b up to 5 GT/s,
 * 128b/130b up to 32 GT/s, flits of 256 bytes, 236 of them data, above), before
 * the headers of packets. 0 if not known.
 */
double pcie_bits (const struct pcie_rate *rate);

/* What remains for data if both directions are loaded: of packets with this many
 * bytes of payload, 26 bytes of header and framing and, for four of them, 16 bytes
 * of acknowledgements and credits. 0 if not known.
 */
double pcie_usable (const struct pcie_rate *rate, unsigned int payload);

/* "16 GT/s x8" */
char *pcie_format (const struct pcie_rate *rate, char buf[PCIE_TEXT]);
#define PCIE_SHOWN(r) pcie_format ((r), (char[PCIE_TEXT]){ 0 })

#endif /* UTIL_PCIE_H */
