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
#include <stdint.h>

#include "util/pcie.h"

enum { PCIE_ADDRESS = 16, PCIE_LANES_MAX = 32, PCIE_MTS_MAX = 256000 };

struct pcie {
    struct pcie_rate able;      /* of the path; 0 lanes: nothing is known */
    struct pcie_rate now;       /* of the link of the path that runs slowest */
    struct pcie_rate could;     /* ... at which it is able to run */
    char address[PCIE_ADDRESS]; /* of that link's lower end, "0000:3b:00.0";
                                   "": it is the adapter's own */
    char device[PCIE_ADDRESS];  /* that of the adapter; "": not known */
    char top[PCIE_ADDRESS];     /* of the port above all of its links: paths with
                                   the same share what that carries; likewise */
};

/* Whether a link runs below what the path is able to. */
static inline bool pcie_is_degraded (const struct pcie *p)
{
    return pcie_bits (&p->now) < pcie_bits (&p->able);
}

/* Read the path of a device, whose directory in sysfs is open as `dir` and has
 * a link "device"; of a virtual function, that of its adapter, if it is shown.
 * Unexpected values count as not known, and so do links of which an end is not
 * shown, as in virtual machines.
 */
void pcie_read (int dir, struct pcie *path);

/* The errors that both ends of the device's own link have corrected so far. False
 * if neither counts them.
 */
bool pcie_errors (int dir, uint64_t *count);

#endif /* IBQUERY_PCIE_H */
