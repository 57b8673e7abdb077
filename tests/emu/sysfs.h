/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ports of an emulated host as its kernel would show them: plain files
 * instead of sysfs's class infiniband, DIR/mlx5_0/ports/1/counters/... and the
 * port's other files. They are written when a client asks, by its clock, and do
 * not change until it asks again. They count from the start of the session:
 * traffic of its messages and of the background, in virtual time; packets
 * include their headers, as in InfiniBand's counters; PortXmitWait is in times
 * of four bytes, while the host's link was held up (tests/emu/flood). Of the
 * adapter's own counters there are those of repeated packets of bulk data. There
 * are no other counters.
 *
 * An adapter's link "device" leads to its directory below DIR/../pci, and above
 * that is the slot's; both have the rates of their link, and the former the errors
 * that it corrected, unless they are hidden.
 */
#ifndef EMU_SYSFS_H
#define EMU_SYSFS_H

#include "ibquery/fabric.h"
#include "tests/emu/session.h"
#include "util/error.h"

/* Write the files of the client's host below `dir`, which is made if necessary.
 * Return 0, or -1 with err.
 */
int sysfs_write (const char *dir, const struct emu_model *m, uint32_t host,
                 struct client *c, struct error *err);

/* Remove the directory and its contents. */
void sysfs_remove (const char *dir);

#endif /* EMU_SYSFS_H */
