/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Describes this host from /proc and /sys, so that measurements of different
 * days can be compared.
 */
#ifndef PROBE_ABOUT_H
#define PROBE_ABOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/samples/samples.h"
#include "probe/transport.h"

/* Fill in all but the host's name: for the processor that this process runs on,
 * and for an RDMA device (NULL: none). A value that the kernel does not show,
 * or that is malformed, stays unknown. root is "" except in tests.
 */
void about_read (struct node *node, const char *root, const char *device);

/* Convert to bytes, at most ABOUT_MAX, and back, without the host's name. Both
 * return the number of bytes. about_unpack returns 0 if the bytes are invalid;
 * the node is then unknown.
 */
enum { ABOUT_MAX = 160 };
size_t about_pack (struct node *node, uint8_t *buf);
size_t about_unpack (struct node *node, const uint8_t *buf, size_t len);

/* Of each rail the first one whose PCIe path has the same top, as far as sysfs shows
 * it: both share what that carries.
 */
void about_slots (const char *sysfs, const struct transport_handle *t,
                  uint8_t slot[TRANSPORT_RAILS_MAX]);

#endif /* PROBE_ABOUT_H */
