/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A model for people and programs: names of its vertices, a drawing, JSON.
 *
 * Made from a topology_model. Read by Graphviz; by whoever reads JSON: kind
 * "topology", pmm(1) has its keys.
 */
#ifndef COMPARE_SHOW_H
#define COMPARE_SHOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compare/infer/fit.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* Write "h0001", or "switch 1", which no node is called. */
void show_name (const struct topology_model *m, uint32_t vertex, char *buf,
                size_t size);

/* Graphviz: nodes as boxes, switches as ellipses, edges with their latencies.
 * Return 0, or -1 with err.
 */
int show_dot (const struct topology_model *m, FILE *fp, struct error *err);

/* fit: NULL, or of this model. Return 0, or -1 with err. */
int show_json (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err);

#endif /* COMPARE_SHOW_H */
