/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inference of switches: the topology that explains the latencies of a matrix
 * with the fewest edges. The method is described in switches.c.
 *
 * Nodes at one switch are equally far from everything else but for their own
 * ends, which may differ; so are switches at another switch. What is left in
 * the end is a mesh, of the edges that no path is as short as.
 *
 * Cables need not be alike: values are told in classes, between which there are
 * gaps. What cables differ by is told as switches only where noise leaves no
 * doubt about it.
 */
#ifndef COMPARE_SWITCHES_H
#define COMPARE_SWITCHES_H

#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "util/error.h"

/* Infer. Lengths up to eps times the median latency are none; where eps is 0,
 * what counts as none is found. Return 1 with *model; 0 and err saying why the
 * topology cannot be told: latencies that should be told apart overlap; -1
 * with err. Cost: some dozens times n^3.
 */
int infer_switches (const struct infer_matrix *m, double eps,
                    struct topology_model **model, struct error *err);

#endif /* COMPARE_SWITCHES_H */
