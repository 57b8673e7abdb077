/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pairs and paths as a matrix. */
#include "config.h"
#include "compare/infer/pairs.h"

#include <inttypes.h>
#include <math.h>

struct infer_matrix *infer_matrix_of_series (const struct series *s,
                                             uint64_t length,
                                             enum series_stat stat,
                                             struct error *err)
{
    struct infer_matrix *m;
    size_t known = 0;

    stat = series_stat_known (s, stat);
    if (!series_stat_is_time (stat)) {
        error_input (err, "the %s of repeats is no time",
                     series_stat_name (stat));
        return NULL;
    }
    if (!(m = infer_matrix_create (s->nprocesses, err)))
        return NULL;
    for (uint32_t i = 0; i < s->nprocesses; i++)
        if (infer_matrix_name (m, i, s->process[i].label, err) < 0)
            goto error;
    for (size_t i = 0; i < s->npairs; i++) {
        const struct series_pair *p = &s->pair[i];
        double ns = p->time_ns[stat];

        if (p->length != length || p->a == p->b || !series_measured (p)
            || !isfinite (ns) || ns <= 0)
            continue;
        m->ns[(size_t)p->a * m->n + p->b] = ns;
        known++;
    }
    if (known == 0) {
        error_input (err, "no pair was measured by messages of %" PRIu64
                     " bytes", length);
        goto error;
    }
    infer_matrix_mean (m);
    return m;
error:
    infer_matrix_destroy (m);
    return NULL;
}

struct infer_matrix *infer_matrix_of_paths (const struct pathset *ps,
                                            struct error *err)
{
    size_t n = pathset_size (ps);
    uint32_t arc[PATH_MAX_HOPS];
    struct infer_matrix *m;

    if (n > INFER_MAX_NODES) {
        error_input (err, "%zu endpoints: %d at most make a matrix", n,
                     INFER_MAX_NODES);
        return NULL;
    }
    if (!(m = infer_matrix_create (n, err)))
        return NULL;
    for (size_t a = 0; a < n; a++) {
        if (infer_matrix_name (m, a, pathset_endpoint (ps, a)->name, err) < 0)
            goto error;
        for (size_t b = 0; b < n; b++) {
            int links = a == b ? 0 : pathset_walk (ps, a, b, arc, err);

            if (links < 0)
                goto error;
            m->ns[a * n + b] = links;
        }
    }
    infer_matrix_mean (m);
    return m;
error:
    infer_matrix_destroy (m);
    return NULL;
}
