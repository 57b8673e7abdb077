/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric on one page: what it has, what is wrong with it, and what to do next.
 *
 * Made from a fabric and its link check, for people. Besides the findings of
 * these (links/check.h):
 *
 *   missing     a switch has fewer cables to the level above than three quarters
 *               of its level have
 *   duplicated  two adapters of a host have one name, so that they are of two
 *               hosts; or several switches have one
 */
#ifndef IBQUERY_OVERVIEW_H
#define IBQUERY_OVERVIEW_H

#include <stdio.h>

#include "ibquery/fabric.h"
#include "ibquery/links/check.h"

/* Return 0, or -1 with err. */
int overview_write (const struct fabric *f, const struct link_check *c,
                    FILE *fp, struct error *err);

#endif /* IBQUERY_OVERVIEW_H */
