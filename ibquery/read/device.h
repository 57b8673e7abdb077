/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire of a real adapter: its umad device. Needs access to it, so usually
 * root.
 */
#ifndef IBQUERY_DEVICE_H
#define IBQUERY_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/read/mads.h"
#include "util/error.h"

enum { DEVICE_NAME_MAX = 32 };

struct device_port {
    char ca[DEVICE_NAME_MAX];
    int port;
    uint64_t subnet; /* the prefix of its GIDs */
};

/* The active ports of this machine, in a fixed order: *n of them; the caller
 * frees the array. NULL with err (ERROR_WORLD) if there are none.
 */
struct device_port *device_ports (size_t *n, struct error *err);

/* Open port `port` (0: the first active one) of `ca` (NULL: the first with an
 * active port); *used is set to the port opened. NULL with err (ERROR_WORLD):
 * no device, no access to it, or no subnet manager has configured the port.
 */
struct mads *device_open (const char *ca, int port,
                          const struct mads_options *opts,
                          struct device_port *used, struct error *err);

#endif /* IBQUERY_DEVICE_H */
