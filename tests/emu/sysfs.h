/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ports of an emulated host as its kernel would show them: plain files in
 * the place of sysfs's class infiniband, DIR/mlx5_0/ports/1/counters/... and
 * what else a port has there. They are written when a client asks, by its
 * clock, and do not change under its eyes, so that it reads twice to see them
 * grow. They count from the session's begin: what its messages and the
 * background carried, in virtual time, packets with their headers as the
 * counters of InfiniBand have them; PortXmitWait in times of four bytes, while
 * the host's link was held up (tests/emu/flood). There are no other counters.
 */
#ifndef EMU_SYSFS_H
#define EMU_SYSFS_H

#include "ibquery/fabric.h"
#include "tests/emu/session.h"
#include "util/error.h"

/* Write those of the client's host below `dir`, which is made where it is not
 * there. Return 0, or -1 with err.
 */
int sysfs_write (const char *dir, const struct fabric *f, uint32_t host,
                 struct client *c, struct error *err);

/* Remove the directory and what is in it. */
void sysfs_remove (const char *dir);

#endif /* EMU_SYSFS_H */
