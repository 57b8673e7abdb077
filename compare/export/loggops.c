/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pair latencies for LogGOPSim. */
#include "config.h"
#include "compare/export/loggops.h"

#include <math.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "util/alloc.h"

static int below_zero (double ns, double overhead_ns, struct error *err)
{
    return error_input (err, "a latency of %.6g ns is less than twice the"
                        " overhead of %.6g ns", ns, overhead_ns);
}

int loggops_write (const struct infer_matrix *m, double overhead_ns, FILE *fp,
                   struct error *err)
{
    double *v = xarray ((size_t)m->n * m->n + 1, sizeof (*v));
    double median;
    size_t n = 0;

    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++)
            if (!isnan (infer_matrix_at (m, a, b)))
                v[n++] = infer_matrix_at (m, a, b);
    median = n > 0 ? stats_median (v, n) : NAN;
    free (v);
    if (n == 0)
        return error_input (err, "no pair is known");
    if (median < 2 * overhead_ns)
        return below_zero (median, overhead_ns, err);
    fprintf (fp, "-L %.0f -o %.0f\n", median - 2 * overhead_ns, overhead_ns);
    return 0;
}

static int check_pairs (const struct infer_matrix *m, double overhead_ns,
                        struct error *err)
{
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++) {
            double ns = infer_matrix_at (m, a, b);

            if (isnan (ns))
                return error_input (err, "%s to %s is not known",
                                    m->label[a], m->label[b]);
            if (ns < 2 * overhead_ns)
                return below_zero (ns, overhead_ns, err);
        }
    return 0;
}

int loggops_write_pairs (const struct infer_matrix *m, double overhead_ns,
                         FILE *fp, struct error *err)
{
    if (check_pairs (m, overhead_ns, err) < 0)
        return -1;
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = 0; b < m->n; b++)
            fprintf (fp, "%.0f%c",
                     a == b ? 0 : infer_matrix_at (m, a, b) - 2 * overhead_ns,
                     b + 1 < m->n ? ' ' : '\n');
    return 0;
}
