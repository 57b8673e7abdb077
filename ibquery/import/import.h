/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Import a fabric from files of the stock tools and opensm: nodes and cables
 * from one or more files, forwarding tables from others, in any order. No file
 * is trusted: missing or contradictory information is an error that starts with
 * FILE:LINE.
 *
 * To add a format, write import_<name>.c, declare it here, list it in import.c.
 */
#ifndef IBQUERY_IMPORT_H
#define IBQUERY_IMPORT_H

#include <stdio.h>

#include "ibquery/import/draft.h"

/* A parser: all lines into the draft. Return 0, or -1 with err. */
typedef int (*import_f) (struct draft *d, struct scan *s, struct error *err);

int import_netdiscover (struct draft *d, struct scan *s, struct error *err);
int import_list (struct draft *d, struct scan *s, struct error *err);
int import_lfts (struct draft *d, struct scan *s, struct error *err);
int import_fdbs (struct draft *d, struct scan *s, struct error *err);

/* Read fp, which people call `name`, as the format of that name (NULL: by its
 * content). name must live as long as the draft. Return 0, or -1 with err.
 */
int import_file (struct draft *d, FILE *fp, const char *name,
                 const char *format, struct error *err);

#endif /* IBQUERY_IMPORT_H */
