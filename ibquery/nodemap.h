/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The node map: which endpoint belongs to which node, for a site whose nodes
 * have other names than in the fabric, or whose ports have other GUIDs than in
 * the snapshot. Lines, the rails of a node in their order:
 *
 *     NODE ENDPOINT [DEVICE[/PORT]]
 *
 * ENDPOINT is a port's GUID, or NAME/PORT as in the snapshot; DEVICE is the
 * node's device, needed if it has more than one. '#' starts a comment.
 */
#ifndef IBQUERY_NODEMAP_H
#define IBQUERY_NODEMAP_H

#include <stddef.h>
#include <sys/types.h>

#include "ibquery/fabric.h"
#include "util/error.h"

struct nodemap;

struct nodemap_line {
    const char *endpoint;
    const char *device; /* "" if not given */
};

/* Read a map. nodemap_load_trusted refuses a file that is not trusted (see
 * file_open_trusted for `owner`), because the map affects which nodes are
 * drained. NULL with err.
 */
struct nodemap *nodemap_load (const char *path, struct error *err);
struct nodemap *nodemap_load_trusted (const char *path, uid_t owner,
                                      struct error *err);
void nodemap_destroy (struct nodemap *map);

/* A node's lines, in order: at most max are filled in; returns the number of
 * all. map may be NULL: no lines.
 */
size_t nodemap_find (const struct nodemap *map, const char *node,
                     struct nodemap_line *line, size_t max);

/* The endpoint that a line means; FABRIC_NONE if it is not in the fabric. */
uint32_t nodemap_endpoint (const struct nodemap_line *line,
                           const struct fabric *f);

/* The node of each endpoint, by the map (NULL: none); else the name of its host
 * in the fabric. The caller frees the array; the names are borrowed from both.
 */
const char **nodemap_nodes (const struct nodemap *map, const struct fabric *f);

#endif /* IBQUERY_NODEMAP_H */
