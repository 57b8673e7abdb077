/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A model as a file: for Graphviz; as JSON, kind "topology" (keys in pmm-files(5));
 * and as TGF, the trivial graph format, which graph editors read.
 *
 * Made by `pmm-compare infer`; read by graph editors, and by tgf_read. A TGF file has
 * the vertices, "ID LABEL", one per line; then a line "#"; then the edges, "ID
 * ID LABEL":
 *
 *     1 h0001
 *     2 h0002
 *     3 switch 1
 *     #
 *     1 3 l: 420
 *     2 3 l: 420 t: 1.2e+10
 *
 * A label that starts with the word "switch" is a switch. Any other label is a
 * node; it is one word of printable ASCII. l is the latency in ns, t the
 * throughput in bytes per second if it is known.
 */
#ifndef COMPARE_GRAPH_H
#define COMPARE_GRAPH_H

#include <stdio.h>

#include "compare/infer/infer.h"
#include "compare/infer/model.h"
#include "util/error.h"

enum { TGF_MAX_VERTICES = 1 << 13, TGF_MAX_BYTES = 1 << 27 };

/* Write a model; fit: of this model, or NULL. Return 0, or -1 with err. Graphviz
 * has nodes as boxes, switches as ellipses, edges with their latencies.
 */
int tgf_write (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err);
int show_dot (const struct topology_model *m, const struct fit *fit, FILE *fp,
              struct error *err);
int show_json (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err);

/* A model in its normal form. IDs are numbers, in any order. NULL with err as
 * "NAME:LINE: sentence": a duplicate ID, label or edge, an edge to an unknown
 * vertex, an edge without a latency.
 */
struct topology_model *tgf_read (FILE *fp, const char *name, struct error *err);

#endif /* COMPARE_GRAPH_H */
