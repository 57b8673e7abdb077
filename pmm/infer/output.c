/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of `pmm infer`. */
#include "config.h"
#include "pmm/infer/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/model.h"
#include "compare/infer/graph.h"
#include "core/plan/plan.h"
#include "compare/throughput/flows.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/text.h"

enum { NAME_SIZE = INFER_MAX_LABEL + 1 };

/*
 * For people
 */

static void put_fit (const struct fit *fit, FILE *fp)
{
    fprintf (fp, "%s measured, %s of rank %zu, %s of freedom",
             COUNTED (fit->pairs, "pair"), COUNTED (fit->nedges, "edge"),
             fit->rank, COUNTED (fit->dof, "degree"));
    if (!isnan (fit->residual_ns))
        fprintf (fp, ": %.1f ns are left", fit->residual_ns);
    if (!isnan (fit->r2))
        fprintf (fp, ", R^2 %.6f (adjusted %.6f)", fit->r2, fit->r2_adjusted);
    fputc ('\n', fp);
    if (fit->apart > 0)
        fprintf (fp, "%s measured, but not joined\n",
                 COUNTED (fit->apart, "pair"));
}

static void put_edge (const struct topology_model *m, const struct fit *fit,
                      size_t i, FILE *fp)
{
    const struct topology_edge *e = &m->edge[i];
    char a[NAME_SIZE], b[NAME_SIZE];

    topology_name (m, e->a, a, sizeof (a));
    topology_name (m, e->b, b, sizeof (b));
    fprintf (fp, "  %s - %s  %.1f ns", a, b, e->latency_ns);
    if (fit && !isnan (fit->stderr_ns[i]))
        fprintf (fp, " +- %.1f", fit->stderr_ns[i]);
    if (fit && !fit->determined[i])
        fprintf (fp, "  not determined by these pairs");
    fputc ('\n', fp);
}

/* The nodes whose only edge leads to this switch, folded. */
static void put_switch (const struct topology_model *m, uint32_t sw,
                        const uint32_t *degree, FILE *fp)
{
    const char **name = xarray (m->nnodes, sizeof (*name));
    char *folded = NULL;
    size_t n = 0;

    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].b == sw && m->edge[i].a < m->nnodes
            && degree[m->edge[i].a] == 1)
            name[n++] = m->label[m->edge[i].a];
    if (n > 0)
        folded = xcheck (hostlist_fold (name, n));
    fprintf (fp, "switch %u: %s\n", sw - m->nnodes + 1,
             folded ? folded : "no nodes");
    free (folded);
    free (name);
}

static int write_text (const struct topology_model *m, const struct fit *fit,
                       FILE *fp, struct error *err)
{
    uint32_t *degree = xcalloc (m->nvertices, sizeof (*degree));

    (void)err;
    for (size_t i = 0; i < m->nedges; i++) {
        degree[m->edge[i].a]++;
        degree[m->edge[i].b]++;
    }
    fprintf (fp, "%s, %s\n", COUNTED (m->nnodes, "node"),
             COUNTED (m->nvertices - m->nnodes, "switch"));
    for (uint32_t v = m->nnodes; v < m->nvertices; v++)
        put_switch (m, v, degree, fp);
    free (degree);
    for (size_t i = 0; i < m->nedges; i++)
        put_edge (m, fit, i, fp);
    if (fit)
        put_fit (fit, fp);
    return 0;
}

/*
 * Files
 */

static int write_tgf (const struct topology_model *m, const struct fit *fit,
                      FILE *fp, struct error *err)
{
    (void)fit;
    return tgf_write (m, fp, err);
}

static int write_dot (const struct topology_model *m, const struct fit *fit,
                      FILE *fp, struct error *err)
{
    (void)fit;
    return show_dot (m, fp, err);
}

static const struct infer_format {
    const char *name;
    int (*write) (const struct topology_model *m, const struct fit *fit,
                  FILE *fp, struct error *err);
} formats[] = {
    { "text", write_text },
    { "tgf", write_tgf },
    { "dot", write_dot },
    { "json", show_json },
};

static const struct infer_format *find_format (const char *name)
{
    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++)
        if (strcmp (formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

bool infer_format_known (const char *name)
{
    return find_format (name) != NULL;
}

int infer_save (const struct topology_model *m, const struct fit *fit,
                const char *format, const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        find_format (format)->write (m, fit,
                                                     file_stream (out), err),
                        err);
}

/*
 * A plan
 */

static int save_plan (const struct plan *plan, struct pathset *ps,
                      const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        plan_write (plan, ps, NULL, file_stream (out), err),
                        err);
}

static struct plan *plan_latency (struct pathset *ps, struct error *err)
{
    static const struct plan_options opts = { .extra_rounds = 2, .seed = 1 };

    return plan_make (ps, &opts, err);
}

static struct plan *plan_throughput (struct pathset *ps, struct error *err)
{
    static const struct flows_options opts = { .times = 1, .seed = 1 };

    return flows_make (ps, &opts, err);
}

int infer_plan (const struct topology_model *m, enum infer_plan what,
                const char *path, struct error *err)
{
    struct routes *r = routes_create (m);
    struct pathset *ps = routes_nodes (r, err);
    struct plan *plan = NULL;
    int rc = -1;

    if (ps)
        plan = what == INFER_LATENCY ? plan_latency (ps, err)
                                     : plan_throughput (ps, err);
    if (plan)
        rc = save_plan (plan, ps, path, err);
    plan_destroy (plan);
    pathset_destroy (ps);
    routes_destroy (r);
    return rc;
}
