/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric as ibnetdiscover prints it, which is also what ibsim reads as a
 * netfile: the same nodes, GUIDs, cables, widths and speeds. What a snapshot
 * does not have, vendors and devices, is made up.
 *
 * An adapter's port GUIDs are not in what ibsim reads: it makes them out of the
 * adapter's, as generated fabrics do.
 */
#ifndef IBQUERY_NETFILE_H
#define IBQUERY_NETFILE_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Each returns 0, or -1 with err. */

/* For ibsim, hosts first. Nodes are called by their host's name or their
 * description, those for which it is taken, or none that ibsim could use, as
 * ibnetdiscover calls them. netfile_write leaves LIDs to an SM;
 * netfile_write_lids has the fabric's, which an SM keeps.
 */
int netfile_write (const struct fabric *f, FILE *fp, struct error *err);
int netfile_write_lids (const struct fabric *f, FILE *fp, struct error *err);

/* As ibnetdiscover, switches first. */
int netdiscover_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_NETFILE_H */
