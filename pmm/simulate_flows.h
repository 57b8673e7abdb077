/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plan of flows would measure: for pmm simulate. */
#ifndef PMM_SIMULATE_FLOWS_H
#define PMM_SIMULATE_FLOWS_H

#include "pmm/common.h"
#include "pmm/inputs.h"
#include "util/error.h"

/* Write the series of max-min fair rates to a path (NULL: standard output).
 * In truth these links have other rates than the nominal ones: "LINK=GBPS".
 * Return 0, or -1 with err.
 */
int simulate_flows (const struct inputs *in, const struct strings *rates,
                    const char *path, struct error *err);

#endif /* PMM_SIMULATE_FLOWS_H */
