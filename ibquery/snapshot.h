/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fabric as a text file, `pmm-fabric 1`: see pmm-fabric(5).
 *
 * Made by fabric_write, read by fabric_read. The last line has a checksum of
 * the lines before it, so a file that is cut short or damaged is refused.
 */
#ifndef IBQUERY_SNAPSHOT_H
#define IBQUERY_SNAPSHOT_H

#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "ibquery/fabric.h"

/* Return 0, or -1 with err. */
int fabric_write (const struct fabric *f, FILE *fp, struct error *err);

/* Read a whole file; `name` is for errors, "NAME:LINE: sentence". Return a
 * finished fabric, or NULL with err. Nothing in the file is trusted.
 */
struct fabric *fabric_read (FILE *fp, const char *name, struct error *err);

/* The same from a path ("-": standard input). */
struct fabric *fabric_load (const char *path, struct error *err);

/* The same for a snapshot that affects which nodes are drained: the file must
 * be owned by `owner` or root and writable by its owner only. *date is when it
 * was made; date may be NULL.
 */
struct fabric *fabric_load_trusted (const char *path, uid_t owner,
                                    struct timespec *date,
                                    struct error *err);

#endif /* IBQUERY_SNAPSHOT_H */
