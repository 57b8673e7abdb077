/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which endpoint of the fabric each rail of the roster is. The site's map comes
 * first, then the port's GUID, then its node's name: an Ethernet port, which
 * has no LID, may be known by its node's name alone, the n-th of a node being
 * the fabric's n-th; so may a virtual function of InfiniBand, which has a GUID
 * of its own, but the port's LID. If a node's name is in the snapshot and none
 * of its InfiniBand ports is, the snapshot is stale. If some of a node's ports
 * are in it, the others are on another fabric and are left out.
 *
 * A port is an end by each LID that both it and the snapshot know of: of a
 * device that tells of no LMC, as on Ethernet, by the first.
 */
#ifndef PROBE_IDENTIFY_H
#define PROBE_IDENTIFY_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "probe/roster.h"
#include "util/error.h"

struct identity {
    char **why;        /* [rank] has no endpoint, a sentence; NULL: it has */
    size_t nranks;
    const char **name; /* [n] ends, the fabric's */
    uint32_t *peer;    /* [n] the roster's, */
    uint8_t *lid;      /* [n] ... by this LID, counted from its first */
    size_t n;
    size_t hosts;      /* that have endpoints */
};

/* Find out; map may be NULL. What does not match but may be right is said to
 * `report`, which may be NULL. Return 0, or -1 with err where something is
 * wrong, or fewer than two hosts are left; identity_clear is due in both cases,
 * and id is zero before.
 */
int identify (struct identity *id, const struct roster *roster,
              const struct fabric *f, const struct nodemap *map, FILE *report,
              struct error *err);

/* The same with a map's file; "": there is none. */
int identify_by_site (struct identity *id, const struct roster *roster,
                      const struct fabric *f, const char *node_map,
                      FILE *report, struct error *err);
void identity_clear (struct identity *id);

#endif /* PROBE_IDENTIFY_H */
