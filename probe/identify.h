/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the endpoint of the fabric for each rail of the roster: by the site's
 * map, else by the port's GUID. If the snapshot has no GUID of a node, its n-th
 * port is the n-th port of the node's name in the fabric: this identifies
 * Ethernet ports, which have no LID, and virtual functions of InfiniBand, which
 * have their own GUIDs but the LID of the port. If the name is in the snapshot
 * but LIDs differ, the snapshot is stale. If only some of a node's ports are in
 * it, the others are on another fabric and are left out; without a word if
 * their subnet has no snapshot, which pmm doctor says.
 *
 * A port is one end per LID that both it and the snapshot know. If the device
 * reports no LMC, as on Ethernet, only the first LID counts.
 */
#ifndef PROBE_IDENTIFY_H
#define PROBE_IDENTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "probe/step.h"
#include "util/error.h"

struct identity {
    struct pool *pool; /* of it */
    char **why;        /* [rank] why it has no endpoint, a sentence; NULL: it
                          has one */
    bool *foreign;     /* [rank] its node has none by its own word, and in the
                          snapshot: it is a node without InfiniBand */
    size_t nranks;
    const char **name; /* [n] ends of the fabric; borrowed */
    uint32_t *peer;    /* [n] peer of the roster */
    uint8_t *lid;      /* [n] its LID, counted from the port's first */
    size_t n;
};

/* Identify all rails; node_map is a file, "": none. Mismatches that may be
 * harmless are written to `report`, which may be NULL. Return 0, or -1 with err
 * if something is wrong, or if fewer than two peers are left. Call
 * identity_clear in both cases.
 */
int identify (struct identity *id, const struct roster *roster,
              const struct fabric *f, const char *node_map, FILE *report,
              struct error *err);
void identity_clear (struct identity *id);

#endif /* PROBE_IDENTIFY_H */
