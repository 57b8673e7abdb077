/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The endpoints of a fabric by the GUIDs of their ports, and by what a map of
 * nodes calls them. Made when first asked, since most are found without.
 */
#ifndef IBQUERY_GUIDS_H
#define IBQUERY_GUIDS_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "util/error.h"

struct guids { /* { 0 } to begin with */
    struct by_guid {
        uint64_t guid;
        uint32_t endpoint;
    } *v; /* [nendpoints], NULL until needed */
};

/* Find an endpoint by its port's GUID, or as NAME/PORT or GUID in a map;
 * FABRIC_NONE in *endpoint where there is none. Return 0, or -1 with err.
 */
int guids_find (struct guids *g, const struct fabric *f, uint64_t guid,
                uint32_t *endpoint, struct error *err);
int guids_find_text (struct guids *g, const struct fabric *f,
                     const char *text, uint32_t *endpoint, struct error *err);
void guids_clear (struct guids *g);

/* The endpoint at an adapter's port, by the adapter's GUID; FABRIC_NONE. */
uint32_t guids_endpoint (const struct fabric *f, uint64_t node_guid,
                         unsigned int port);

/* By the map (NULL: there is none), the node of each endpoint; else the host
 * that the fabric calls it. node [nendpoints] is borrowed from both. Lines of
 * what is not in the fabric are passed over. Return 0, or -1 with err.
 */
int guids_nodes (const struct fabric *f, const struct nodemap *map,
                 const char **node, struct error *err);

#endif /* IBQUERY_GUIDS_H */
