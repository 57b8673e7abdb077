/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Import a fabric from files of the stock tools and opensm: nodes and cables
 * from one or more files, forwarding tables from others, in any order. No file
 * is trusted: missing or contradictory information is an error that starts with
 * FILE:LINE.
 *
 * To add a format, write its parser in an import_*.c, declare it in parser.h,
 * list it in import.c.
 */
#ifndef IBQUERY_IMPORT_H
#define IBQUERY_IMPORT_H

#include <stdio.h>

#include "ibquery/fabric.h"
#include "ibquery/links/counters.h"

/* What has been read so far. */
struct import;

/* names: of nodes, in place of the files' (NULL: none), while it is read. */
struct import *import_create (const struct node_names *names);
void import_destroy (struct import *d);

/* Read fp, which people call `name`, as the format of that name (NULL: by its
 * content). name must live as long as the import. Return 0, or -1 with err.
 */
int import_file (struct import *d, FILE *fp, const char *name,
                 const char *format, struct error *err);

/* Join everything. Return a finished fabric, or NULL with err. The caller calls
 * import_destroy in both cases. Without forwarding tables the fabric has no routes,
 * and a warning that says so.
 */
struct fabric *import_finish (struct import *d, const char *source,
                             struct error *err);

/* The fabric of n files, "-" for standard input: snapshots, each of a subnet, and
 * files to import, which are of one together, with these names. NULL with err.
 */
struct fabric *import_open (const char *const *path, size_t n,
                            const struct node_names *names,
                            struct error *err);

/* Take the counters of the finished fabric's cables. NULL with err: no file has
 * any, or says when it was written.
 */
struct counters *import_counters (struct import *d, const struct fabric *f,
                                 struct error *err);

#endif /* IBQUERY_IMPORT_H */
