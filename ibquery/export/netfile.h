/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric as a netfile of ibsim, hosts first: the same cables and GUIDs, to
 * be routed by an SM.
 */
#ifndef IBQUERY_NETFILE_H
#define IBQUERY_NETFILE_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Return 0, or -1 with err. */
int netfile_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_NETFILE_H */
