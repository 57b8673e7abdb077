/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `pmm infer`: its input, and what it does with a model. */
#ifndef PMM_INFER_H
#define PMM_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/infer/fit.h"
#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "compare/series/series.h"
#include "util/error.h"

/* How latencies are read and compared. */
struct infer_how {
    enum series_stat stat; /* of the repeats */
    bool any_length;       /* the shortest messages, or: */
    uint64_t length;       /* ... messages of so many bytes */
    double eps;            /* 0: latencies are clustered */
    bool basic;            /* no switches */
};

/* Read latencies: a series (the last run of the file that has pairs), a matrix
 * of PARUS, or a plain matrix (compare/infer/matrix.h); the file's first
 * character decides which. Both directions of a pair become one latency, their
 * mean. NULL with err.
 */
struct infer_matrix *infer_load (const char *path, const struct infer_how *how,
                                 struct error *err);

/* Infer a model by the options. NULL with err if the topology cannot be
 * determined.
 */
struct topology_model *infer_model (const struct infer_matrix *w,
                                    const struct infer_how *how,
                                    struct error *err);

/* Read a model from a graph, and reorder the latencies to its order of nodes:
 * *w is replaced. NULL with err: a node of one is not in the other.
 */
struct topology_model *infer_graph (const char *path, struct infer_matrix **w,
                                    struct error *err);

/* Join models of cores to a model of nodes (compare/infer/join.h). Each word is
 * HOST=FILE, latencies between the cores of a host ("HOST:..") and one other
 * process. Return 1 with *model replaced. *model does not change on return 0,
 * with err: the topology of the cores cannot be determined; and on -1 with err.
 */
int infer_join (struct topology_model **model, const char *const *word,
                size_t n, const struct infer_how *how, struct error *err);

/* Write the model to path, as "text", "tgf", "dot" or "json". text and json
 * contain the fit; NULL: there is none. Return 0, or -1 with err.
 */
#define INFER_FORMATS "text, tgf, dot, json"
bool infer_format_known (const char *name);
int infer_save (const struct topology_model *m, const struct fit *fit,
                const char *format, const char *path, struct error *err);

/* Write a plan to path: of the pairs that determine the latencies of the
 * model's edges, or of flows that fill these edges, which are taken to have
 * equal rates. Return 0, or -1 with err.
 */
enum infer_plan { INFER_LATENCY, INFER_THROUGHPUT };
int infer_plan (const struct topology_model *m, enum infer_plan what,
                const char *path, struct error *err);

/* Compare the model with a snapshot, and write where they disagree to path, as
 * text or JSON; *agrees is whether they agree. Return 0, or -1 with err.
 */
int infer_against (const struct topology_model *m, const char *fabric,
                   bool json, const char *path, bool *agrees,
                   struct error *err);

#endif /* PMM_INFER_H */
