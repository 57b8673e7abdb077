/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of pmm-compare (verb/verb.h), and what they share. */
#ifndef COMPARE_CMD_H
#define COMPARE_CMD_H

#include "compare/infer/graph.h"
#include "compare/infer/matrix.h"
#include "compare/series/series.h"
#include "verb/verb.h"

extern const struct verb verb_compare, verb_export, verb_infer, verb_map,
    verb_pattern, verb_series;
extern const struct verb compare_plan, compare_rates, compare_report,
    compare_simulate;

/* The pattern of that name (compare/pattern/pattern.h). */
int inputs_pattern (const char *name);

/* Read the runs of a file, sorted: a series, a solution with pairs or a matrix
 * of PARUS.
 */
struct series_list inputs_series (const char *path);

/* The topology of a file that pmm-compare infer wrote, or of another TGF file. */
struct topology_model *inputs_graph (const char *path);

/* Latencies: those in the last run of such a file that has pairs, of messages of
 * *length bytes (NULL: of the shortest), or a plain matrix
 * (compare/infer/matrix.h), of units of unit_ns. Both directions of a pair
 * become one latency, their mean. Die if another file is to have a unit that is
 * not 1 ns.
 */
struct infer_matrix *inputs_latencies (const char *path,
                                       const uint64_t *length,
                                       enum series_stat stat, double unit_ns);

/* The matrix of the nodes label[0 .. n-1], which file or option `of` names. Die
 * if one was not measured.
 */
struct infer_matrix *inputs_pick (const struct infer_matrix *w,
                                  char *const *label, uint32_t n,
                                  const char *of);

/* The setter of --length: sets a const uint64_t *. */
int inputs_length (void *field, const char *value, struct error *err);

#endif /* COMPARE_CMD_H */
