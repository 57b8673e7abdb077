/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths through the fabric, by its forwarding tables.
 *
 * Others use fabric_network, fabric_pathset and fabric_resolve, declared in
 * fabric.h. This is the table that they use, made by fabric_finish: for each
 * port, the cable and what it leads to. So a hop costs one access to it and one
 * to an LFT.
 */
#ifndef IBQUERY_WALK_H
#define IBQUERY_WALK_H

#include "ibquery/fabric.h"

struct fabric_walk *walk_create (const struct fabric *f);
void walk_destroy (struct fabric_walk *w);

/* The path of a message from end `from` to end `to`: its arcs in order, at most
 * PATH_MAX_HOPS. Return their number, 0 between ends of one port, or -1 with
 * err: a loop, a dead end, or the wrong adapter; err names switch, port and
 * LID.
 */
int fabric_walk (const struct fabric *f, uint32_t from, uint32_t to,
                 uint32_t *arc, struct error *err);

#endif /* IBQUERY_WALK_H */
