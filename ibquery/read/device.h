/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire of a real adapter: its umad device. Needs the right to use it, so
 * usually root.
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

/* The ports of this machine that are active, in an order that stays: *n of
 * them, the caller's to free. NULL with err (ERROR_WORLD): there is none.
 */
struct device_port *device_ports (size_t *n, struct error *err);

/* Open port `port` (0: the first that is active) of `ca` (NULL: the first that
 * has one). *used says which. NULL with err (ERROR_WORLD): no device, no right
 * to it, no subnet manager has configured the port.
 */
struct mads *device_open (const char *ca, int port,
                          const struct mads_options *opts,
                          struct device_port *used, struct error *err);

#endif /* IBQUERY_DEVICE_H */
