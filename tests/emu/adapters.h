/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adapters: what limits bulk data at an emulated host: PCIe, and the order of
 * its writes to memory.
 *
 * An adapter has all ports of one node. It is at one PCIe link below the root,
 * whose other end is its slot. Without commands this is the slowest of 8, 16, 32
 * and 64 GT/s x16 that lets all ports run at full rate both ways.
 */
#ifndef EMU_ADAPTERS_H
#define EMU_ADAPTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "util/error.h"
#include "util/pcie.h"

enum adapter_way { ADAPTER_SENDS, ADAPTER_RECEIVES };

struct adapter {
    bool planted;                     /* a command changed something */
    struct pcie_rate now, able, slot; /* as it runs; at most, of its two ends */
    bool hidden;                      /* the kernel shows nothing of PCIe */
    bool together;                    /* in the slot of its host's first one */
    double limit[2]; /* planted without that, bits per second; 0: none */
    double relaxed,
        strict;    /* the share of its port's rate that it receives, with
                               relaxed ordering and without */
    bool refuses;  /* relaxed ordering */
    double errors; /* that PCIe corrects, in each GB that a port carries */
};

/* For all nodes of a fabric; those of switches are not used. `bits` is the rate
 * of each link.
 */
struct adapter *adapters_create (const struct fabric *f, const double *bits);

/* What PCIe lets through, bits per second. */
double adapter_bits (const struct adapter *a, enum adapter_way way);

/* Commands of the model (model.h): HOST is one with all its adapters, or an
 * endpoint. Return 0, or -1 with err.
 */
int adapters_pcie (struct adapter *a, const struct fabric *f, const char *host,
                   const char *what, struct error *err);
int adapters_order (struct adapter *a, const struct fabric *f, const char *host,
                    const char *what, struct error *err);

/* Parse "NUMBER" or "NUMBER:NUMBER", each from min to max, to value[2]; both are
 * the same if only one is given.
 */
int adapters_parse_two (const char *s, double min, double max, double value[2]);

#endif /* EMU_ADAPTERS_H */
