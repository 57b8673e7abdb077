/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm export: plans and latencies in the file formats of other programs. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "compare/export/export.h"
#include "compare/infer/matrix.h"
#include "pmm/verb.h"
#include "util/alloc.h"

#define EPS .05

static struct export_words {
    const struct export_format *format;
    const char *hosts, *series, *order;
    uint64_t length;
    bool length_given;
    int stat;
    double overhead_ns, eps;
} given = { .stat = SERIES_MEDIAN, .eps = EPS };

/* The input of a format. */
struct export {
    const struct inputs *in; /* fabric and plan, if the format needs them */
    struct infer_matrix *m;  /* latencies, if it needs these */
    uint32_t *order;         /* [n] order of the nodes */
};

static int write_clusterkit (struct export *x, FILE *fp, struct error *err)
{
    return clusterkit_write (x->in->plan, x->in->ps, fp, err);
}

static int write_loggops (struct export *x, FILE *fp, struct error *err)
{
    return loggops_write (x->m, given.overhead_ns, fp, err);
}

static int write_loggops_pairs (struct export *x, FILE *fp, struct error *err)
{
    return loggops_write_pairs (x->m, given.overhead_ns, fp, err);
}

static int write_deco (struct export *x, FILE *fp, struct error *err)
{
    return scotch_write_deco (x->m, fp, err);
}

static int write_tleaf (struct export *x, FILE *fp, struct error *err)
{
    return scotch_write_tleaf (x->m, given.eps, x->order, fp, err);
}

enum { PLAN = 1, SERIES = 2, PATHS = 4 };

static const struct export_format {
    const char *name;
    int from; /* any of these */
    int (*write) (struct export *x, FILE *fp, struct error *err);
} formats[] = {
    { "clusterkit", PLAN, write_clusterkit },
    { "loggopsim", SERIES, write_loggops },
    { "loggopsim-pairs", SERIES, write_loggops_pairs },
    { "scotch-deco", SERIES | PATHS, write_deco },
    { "scotch-tleaf", SERIES | PATHS, write_tleaf },
};

static int set_format (void *field, const char *value, struct error *err)
{
    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++)
        if (strcmp (value, formats[i].name) == 0) {
            *(const struct export_format **)field = &formats[i];
            return 0;
        }
    return error_input (err, "'%.40s' is no format to export", value);
}

static int set_length (void *data, const char *value, struct error *err)
{
    (void)data;
    given.length_given = true;
    return opt_u64 (&given.length, value, err);
}

#define FIELD(name) offsetof (struct export_words, name)
static const struct opt options[] = {
    { "format", 0, "F", set_format, FIELD (format),
      "clusterkit (of a plan), loggopsim, loggopsim-pairs (of a series), "
      "scotch-deco, scotch-tleaf (of a series or a fabric)" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "of the fabric these hosts, node[01-16], or @FILE (default: all)" },
    { "series", 0, "FILE", opt_string, FIELD (series),
      "latencies of pairs: a series, or what 'pmm solve --pairs' wrote" },
    { "length", 0, "N", set_length, 0,
      "by messages of so many bytes (default: the least)" },
    { "stat", 0, "NAME", inputs_stat, FIELD (stat),
      "of the repeats: min, p25, ... (default: median)" },
    { "overhead", 0, "NS", opt_double, FIELD (overhead_ns),
      "LogGOPSim's o, which either side of a message takes (default: 0)" },
    { "eps", 0, "X", opt_double, FIELD (eps),
      "latencies that differ relatively by less are one (default: 0.05)" },
    { "order", 0, "FILE", opt_string, FIELD (order),
      "write the nodes here, in the order in which they are numbered" },
    { 0 },
};
#undef FIELD

/* Options without an effect are an error. */
static int check (const struct inputs *in, struct error *err)
{
    const struct export_format *format = given.format;
    int from = (in->plan_path ? PLAN : 0) | (given.series ? SERIES : 0)
               | (in->fabric_path && !in->plan_path ? PATHS : 0);

    if (!format)
        return error_input (err, "--format is missing");
    if (in->plan_path && !in->fabric_path)
        return error_input (err, "--plan goes with -f FABRIC");
    if ((from & (from - 1)) || !(from & format->from))
        return error_input (err, "%s is made of %s", format->name,
                            format->from == PLAN ? "-f FABRIC and --plan"
                            : format->from == SERIES ? "--series"
                                             : "--series or -f FABRIC");
    if (given.hosts && from != PATHS)
        return error_input (err, "--hosts goes with -f FABRIC alone");
    if (given.length_given && from != SERIES)
        return error_input (err, "--length goes with --series");
    if (given.stat != SERIES_MEDIAN && from != SERIES)
        return error_input (err, "--stat goes with --series");
    if (given.overhead_ns != 0 && format->write != write_loggops
        && format->write != write_loggops_pairs)
        return error_input (err, "--overhead goes with LogGOPSim's formats");
    if (given.eps != EPS && format->write != write_tleaf)
        return error_input (err, "--eps goes with scotch-tleaf");
    if (given.order && from == PLAN)
        return error_input (err, "--order goes with formats of latencies");
    return 0;
}

static struct infer_matrix *load_series (struct error *err)
{
    struct infer_matrix *m = NULL;
    struct series_list list;
    const struct series *s;

    if (inputs_series (&list, given.series, err) < 0)
        return NULL;
    if (!(s = series_list_pairs (&list)))
        error_input (err, "no run of pairs");
    else
        m = infer_matrix_of_series (
            s, given.length_given ? given.length : s->pair[0].length,
            given.stat, err);
    if (!m)
        error_prefix (err, "%s", given.series);
    series_list_clear (&list);
    return m;
}

static struct infer_matrix *load_paths (const struct inputs *in,
                                        struct error *err)
{
    struct pathset *ps = inputs_hosts (in->fabric, "hosts", given.hosts, false,
                                       err);
    struct infer_matrix *m = ps ? infer_matrix_of_paths (ps, err) : NULL;

    pathset_destroy (ps);
    return m;
}

static int load_latencies (struct export *x, struct error *err)
{
    x->m = given.series ? load_series (err) : load_paths (x->in, err);
    if (!x->m)
        return -1;
    x->order = xarray (x->m->n, sizeof (*x->order));
    for (uint32_t i = 0; i < x->m->n; i++)
        x->order[i] = i;
    return 0;
}

static void write_order (const struct export *x, FILE *fp)
{
    for (uint32_t i = 0; i < x->m->n; i++)
        fprintf (fp, "%s\n", x->m->label[x->order[i]]);
}

/* Write the order first, if it is requested: numbers without it mean little. */
static int save (struct export *x, struct inputs *in, struct error *err)
{
    FILE *fp = inputs_output (in, err);
    struct outfile *order = NULL;

    if (!fp || (given.order && !(order = file_create (given.order, err))))
        return -1;
    if (given.format->write (x, fp, err) < 0) {
        file_abort (order);
        return -1;
    }
    if (!order)
        return 0;
    write_order (x, file_stream (order));
    return file_commit (order, err);
}

static int run (struct inputs *in, struct error *err)
{
    struct export x = { .in = in };
    int rc = -1;

    if (in->plan || load_latencies (&x, err) == 0)
        rc = save (&x, in, err);
    infer_matrix_destroy (x.m);
    free (x.order);
    return rc;
}

const struct verb verb_export = {
    .name = "export",
    .help = "plans and latencies as others read them",
    .may = TAKES_FABRIC | TAKES_PLAN | TAKES_OUTPUT,
    .options = options,
    .given = &given,
    .check = check,
    .run = run,
};
