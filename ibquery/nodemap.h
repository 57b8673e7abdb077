/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of a site whose nodes are not called as the fabric calls them, or
 * whose ports have other GUIDs than the snapshot knows: which endpoint is
 * whose. Lines, a node's in the order of its rails:
 *
 *     NODE ENDPOINT [DEVICE[/PORT]]
 *
 * ENDPOINT is a port's GUID, or NAME/PORT as in the snapshot; DEVICE the
 * node's own, where it has more than one. '#' starts a comment.
 */
#ifndef IBQUERY_NODEMAP_H
#define IBQUERY_NODEMAP_H

#include <stddef.h>
#include <sys/types.h>

#include "util/error.h"

struct nodemap;

struct nodemap_line {
    const char *endpoint;
    const char *device; /* "" where it is not said */
};

/* Read a map; the other one only if it can be trusted, as it steers who is
 * drained (file_open_trusted has `owner`). NULL with err.
 */
struct nodemap *nodemap_load (const char *path, struct error *err);
struct nodemap *nodemap_load_trusted (const char *path, uid_t owner,
                                      struct error *err);
void nodemap_destroy (struct nodemap *map);

/* A node's lines, in their order: at most max are filled in, all are
 * counted. map may be NULL: it has none.
 */
size_t nodemap_find (const struct nodemap *map, const char *node,
                     struct nodemap_line *line, size_t max);

/* All lines, by node, and whose it is in *node; NULL behind the last. map may
 * be NULL.
 */
const struct nodemap_line *nodemap_at (const struct nodemap *map, size_t i,
                                       const char **node);

#endif /* IBQUERY_NODEMAP_H */
