/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host is, as the kernel shows it in /proc and /sys: so that its
 * measurements of different days can be compared.
 */
#ifndef PROBE_ABOUT_H
#define PROBE_ABOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/samples/samples.h"

/* Fill in all but the host's name: of this process on its processor, and of an
 * RDMA device (NULL: of none). What the kernel does not show, or not as it
 * should, is not known. root is "" outside of tests.
 */
void about_read (struct node *node, const char *root, const char *device);

/* To bytes, at most ABOUT_MAX, and back, without the host's name. Both return
 * the number of bytes; about_unpack 0 where they are invalid, and the node is
 * not known.
 */
enum { ABOUT_MAX = 160 };
size_t about_pack (const struct node *node, uint8_t *buf);
size_t about_unpack (struct node *node, const uint8_t *buf, size_t len);

#endif /* PROBE_ABOUT_H */
