/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host is, for who compares what it measures with what it measured on
 * another day: as the kernel has it in /proc and /sys.
 */
#ifndef PROBE_ABOUT_H
#define PROBE_ABOUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/samples/samples.h"

/* Fill in all but the host's name, of this process on the processor where it
 * is, and of an RDMA device; NULL: of none. What the kernel does not say, or
 * not as it should, is not known. root is "" but in tests.
 */
void about_read (struct node *node, const char *root, const char *device);

/* To bytes, at most ABOUT_MAX, and back, but for the host's name. about_pack
 * returns how many it made, about_unpack how many it took; 0: they make no
 * sense, and the node is not known.
 */
enum { ABOUT_MAX = 160 };
size_t about_pack (const struct node *node, uint8_t *buf);
size_t about_unpack (struct node *node, const uint8_t *buf, size_t len);

#endif /* PROBE_ABOUT_H */
