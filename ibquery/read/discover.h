/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the live fabric: its nodes, cables and forwarding tables.
 *
 * Needs a umad device and the right to use it, so usually root. Directed
 * routes are used throughout; nothing is changed in the fabric.
 *
 * The fabric is read until two complete readings agree, with no other between
 * them: every port, both ends of every active cable, every block of every
 * table. A fabric that is partial or torn is an error, never another topology.
 */
#ifndef IBQUERY_DISCOVER_H
#define IBQUERY_DISCOVER_H

#include <stdint.h>

#include "ibquery/fabric.h"

struct discover_options {
    const char *ca;   /* NULL: the first that has an active port */
    int port;         /* 0: the first active */
    uint64_t mkey;
    int timeout_ms;   /* of one MAD */
    int retries;      /* of one MAD */
    int max_smps;     /* MADs in flight; few are gentle with the fabric */
};

/* 1 s, 3 retries, 8 MADs in flight. */
extern const struct discover_options discover_defaults;

/* Returns a finished fabric, or NULL with err (ERROR_WORLD): no device, no
 * right to it, no subnet manager, or what is missing of the fabric.
 */
struct fabric *discover (const struct discover_options *opts,
                         struct error *err);

#endif /* IBQUERY_DISCOVER_H */
