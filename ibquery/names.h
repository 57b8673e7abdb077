/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's names of nodes, in the file that opensm and the tools of rdma-core
 * take as their node-name-map: switches without management all describe
 * themselves alike. Lines:
 *
 *     0xGUID "NAME"
 *
 * GUID is the node's. '#' starts a comment, quotes may be missing, and of
 * several lines of a GUID the first counts.
 *
 * Read by fabric_add_node, for whoever makes a snapshot: it has these names in
 * place of the descriptions.
 */
#ifndef IBQUERY_NAMES_H
#define IBQUERY_NAMES_H

#include <stdint.h>
#include <sys/types.h>

#include "util/error.h"

struct node_names;

/* NULL with err, which begins with FILE:LINE if a line is not as above.
 * names_load_trusted refuses a file that is not trusted (see file_open_trusted
 * for `owner`).
 */
struct node_names *names_load (const char *path, struct error *err);
struct node_names *names_load_trusted (const char *path, uid_t owner,
                                       struct error *err);
void names_destroy (struct node_names *names);

/* The name of a node; NULL: none. names may be NULL. */
const char *names_find (const struct node_names *names, uint64_t guid);

#endif /* IBQUERY_NAMES_H */
