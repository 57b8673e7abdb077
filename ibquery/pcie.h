/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCIe between an adapter and the root of its host, as the kernel shows it.
 *
 * A link has two ends, each with a current rate, which is the same at both, and
 * a highest one. A link is able to run at the lower of its two highest rates; a
 * path at what the least able of its links is. So an adapter in a slow slot is
 * not degraded, and neither is a link that runs below its own ability, but not
 * below the path's.
 *
 * An idle link may run slowly to save power, but keeps its lanes.
 */
#ifndef IBQUERY_PCIE_H
#define IBQUERY_PCIE_H

#include <stdbool.h>

struct pcie_rate {
    unsigned int lanes; /* 0: not known */
    unsigned int mts;   /* megatransfers a second on each lane; 0: not known */
};

enum { PCIE_ADDRESS = 16, PCIE_TEXT = 32 };

struct pcie {
    struct pcie_rate able; /* of the path; 0 lanes: nothing is known */
    struct pcie_rate now;  /* of the link of the path that runs slowest */
    struct pcie_rate could; /* ... at which it is able to run */
    char address[PCIE_ADDRESS]; /* of that link's lower end, "0000:3b:00.0";
                                   "": it is the adapter's own */
};

/* Read the path of a device, whose directory in sysfs is open as `dir` and has
 * a link "device". Unexpected values, as those of virtual functions, count as
 * not known, and so do links of which an end is not shown, as in virtual
 * machines.
 */
void pcie_read (int dir, struct pcie *path);

/* Bits per second in each direction, after the encoding (8b/10b up to 5 GT/s,
 * 128b/130b up to 32 GT/s, flits of 256 bytes, 236 of them data, above), before
 * the headers of packets. 0 if not known.
 */
double pcie_bits (const struct pcie_rate *rate);

/* "16 GT/s x8" */
char *pcie_format (const struct pcie_rate *rate, char buf[PCIE_TEXT]);
#define PCIE_SHOWN(r) pcie_format ((r), (char[PCIE_TEXT]){ 0 })

#endif /* IBQUERY_PCIE_H */
