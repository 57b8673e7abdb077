/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric in the format of ibnetdiscover, which ibsim also reads as a netfile:
 * nodes, GUIDs, cables, widths and speeds. Vendor and device ids, which a
 * snapshot does not have, are made up.
 *
 * ibsim does not read the port GUIDs of an adapter: it derives them from the
 * adapter's GUID, as generated fabrics do.
 */
#ifndef IBQUERY_NETFILE_H
#define IBQUERY_NETFILE_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* Each returns 0, or -1 with err. */

/* For ibsim, hosts first. A node is named after its host, or by its
 * description. If that name is taken, or ibsim cannot use it, the node is named
 * as ibnetdiscover names it. netfile_write leaves the LIDs to an SM;
 * netfile_write_lids writes the LIDs of the fabric, which an SM keeps.
 */
int netfile_write (const struct fabric *f, FILE *fp, struct error *err);
int netfile_write_lids (const struct fabric *f, FILE *fp, struct error *err);

/* As ibnetdiscover writes it, switches first. */
int netdiscover_write (const struct fabric *f, FILE *fp, struct error *err);

#endif /* IBQUERY_NETFILE_H */
