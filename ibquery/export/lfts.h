/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write the forwarding tables of a fabric as dump_fts does, with all entries
 * that lead to a port. opensm loads them with `-R file -U FILE` and routes
 * accordingly, if the nodes exist; with the LIDs of netfile_write_lids the
 * result is the same fabric.
 */
#ifndef IBQUERY_LFTS_H
#define IBQUERY_LFTS_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Return 0, or -1 with err. */
int lfts_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_LFTS_H */
