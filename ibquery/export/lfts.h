/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The forwarding tables of a fabric as dump_fts prints them, all entries that
 * lead to a port. opensm takes them with `-R file -U FILE` and routes so, where
 * the nodes are there; with the LIDs of netfile_write_lids that is the same
 * fabric.
 */
#ifndef IBQUERY_LFTS_H
#define IBQUERY_LFTS_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Return 0, or -1 with err. */
int lfts_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_LFTS_H */
