/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find endpoints by the GUIDs of their ports or by the names in a node map. The
 * index is made on first use, since most endpoints are found without it.
 */
#ifndef IBQUERY_GUIDS_H
#define IBQUERY_GUIDS_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "util/error.h"
#include "util/map.h"

struct guids { /* { 0 } to begin with */
    struct map endpoint; /* by GUID; empty until needed */
};

/* Find an endpoint by its port's GUID, or by NAME/PORT or GUID as in a node
 * map; *endpoint is FABRIC_NONE if there is none. Return 0, or -1 with err.
 */
int guids_find (struct guids *g, const struct fabric *f, uint64_t guid,
                uint32_t *endpoint, struct error *err);
int guids_find_text (struct guids *g, const struct fabric *f,
                     const char *text, uint32_t *endpoint, struct error *err);
void guids_clear (struct guids *g);

/* The endpoint at a port of an adapter, by the adapter's GUID, or FABRIC_NONE.
 */
uint32_t guids_endpoint (const struct fabric *f, uint64_t node_guid,
                         unsigned int port);

/* The node of each endpoint, by the map (NULL: none); else the name of its host
 * in the fabric. The names in node [nendpoints] are borrowed from both. Map
 * lines with endpoints that are not in the fabric are skipped. Return 0, or -1
 * with err.
 */
int guids_nodes (const struct fabric *f, const struct nodemap *map,
                 const char **node, struct error *err);

#endif /* IBQUERY_GUIDS_H */
