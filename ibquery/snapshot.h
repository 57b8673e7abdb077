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

/* The same from a path ("-": standard input), or from those of several subnets,
 * separated by commas, which are joined.
 */
struct fabric *fabric_load (const char *paths, struct error *err);

/* The same for snapshots that affect which nodes are drained: the files must be
 * owned by `owner` or root and writable by their owner only.
 */
struct fabric *fabric_load_trusted (const char *paths, uid_t owner,
                                    struct error *err);

/* When the last of these files was made. Return 0, or -1 if one is missing. */
int fabric_date (const char *paths, struct timespec *date);

#endif /* IBQUERY_SNAPSHOT_H */
