/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric as other programs read it. All functions return 0, or -1 with err.
 */
#ifndef IBQUERY_FORMATS_H
#define IBQUERY_FORMATS_H

#include <stdio.h>

#include "ibquery/fabric.h"

/* In the format of ibnetdiscover, which ibsim also reads as a netfile: nodes,
 * GUIDs, cables, widths and speeds. Vendor and device ids, which a snapshot
 * does not have, are made up. ibsim does not read the port GUIDs of an adapter:
 * it derives them from the adapter's GUID, as generated fabrics do.
 *
 * netdiscover_write writes as ibnetdiscover does, switches first. The others
 * are for ibsim, hosts first. A node is named after its host, or by its
 * description. If that name is taken, or ibsim cannot use it, the node is named
 * as ibnetdiscover names it. netfile_write leaves the LIDs to an SM;
 * netfile_write_lids writes the LIDs of the fabric, which an SM keeps.
 */
int netdiscover_write (const struct fabric *f, FILE *fp, struct error *err);
int netfile_write (const struct fabric *f, FILE *fp, struct error *err);
int netfile_write_lids (const struct fabric *f, FILE *fp, struct error *err);

/* The forwarding tables as dump_fts writes them, with all entries that lead to
 * a port. opensm loads them with `-R file -U FILE` and routes accordingly, if
 * the nodes exist; with the LIDs of netfile_write_lids the result is the same
 * fabric.
 */
int lfts_write (const struct fabric *f, FILE *fp, struct error *err);

/* topology.conf for Slurm's topology/tree plugin; or topology.yaml for Slurm
 * 25.05 and later, a tree and blocks.
 *
 * What Slurm takes for a leaf is a pod: the leaves whose hosts are about the
 * same, as those of the rails of a rail-optimised fabric, most often one. A
 * group of a level contains what can reach each other without crossing a higher
 * level, however many switches that takes: a pod of a fat tree is one group. So
 * the groups form a tree even if the switches do not, and each fabric that is
 * not joined with the others has one root. If cables join leaves to each other,
 * a comment in the file says so: then only groups of leaves are known.
 *
 * Slurm wants each node once. A host with ports in several fabrics is placed in
 * the one that has the most endpoints; there in the pod that has most of its
 * ports; if several have as many, by one rail for all such hosts. Adapters that
 * do not tell their host's name are left out, and comments name them. It is an
 * error if no host has a name, or if this is a part of a fabric.
 *
 * A block is a pod, unless it has less than half as many hosts as the greatest
 * one; the base size is that of the smallest block. Slurm wants each further
 * size to be a power of two times the base: so there is one for each level
 * whose groups all have the same number of blocks, which is such a power.
 */
struct topology_choice {
    const bool *host; /* by host: to be placed; NULL: all */
    const char *const *name; /* by host: what Slurm calls it; NULL, also a
                                host's: its name, without the domain if no other
                                host has that one */
    const bool *use;  /* by endpoint; false: as if the fabric did not have it;
                         NULL: it has all */
    char *left_out;   /* set: names of hosts that were to be placed and have no
                         such port at a switch, folded; NULL: none. The caller
                         frees it. */
};

int topology_write (const struct fabric *f, struct topology_choice *choice,
                    bool yaml, FILE *fp, struct error *err);

#endif /* IBQUERY_FORMATS_H */
