/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm export: plans and latencies as other programs read them. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compare/export/export.h"
#include "compare/infer/matrix.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "util/file.h"

struct options {
    const struct format *format;
    const char *fabric, *hosts, *plan, *series, *order, *output;
    uint64_t length;
    bool length_given;
    int stat;
    double overhead_ns, eps;
};

/* What a format is made of, and where it goes. */
struct job {
    const struct options *o;
    struct inputs in;       /* fabric and plan, where the format is of them */
    struct infer_matrix *m; /* latencies, where it is of these */
    uint32_t *order;        /* [n] the nodes in order */
};

static int write_clusterkit (struct job *j, FILE *fp, struct error *err)
{
    return clusterkit_write (j->in.plan, j->in.ps, fp, err);
}

static int write_loggops (struct job *j, FILE *fp, struct error *err)
{
    return loggops_write (j->m, j->o->overhead_ns, fp, err);
}

static int write_loggops_pairs (struct job *j, FILE *fp, struct error *err)
{
    return loggops_write_pairs (j->m, j->o->overhead_ns, fp, err);
}

static int write_deco (struct job *j, FILE *fp, struct error *err)
{
    return scotch_write_deco (j->m, fp, err);
}

static int write_tleaf (struct job *j, FILE *fp, struct error *err)
{
    return scotch_write_tleaf (j->m, j->o->eps, j->order, fp, err);
}

enum { PLAN = 1, SERIES = 2, PATHS = 4 };

/* Unless told otherwise; options that say otherwise are refused where they mean
 * nothing.
 */
static const struct options usual = { .stat = SERIES_MEDIAN, .eps = .05 };

static const struct format {
    const char *name;
    int from; /* any of these */
    int (*write) (struct job *j, FILE *fp, struct error *err);
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
            *(const struct format **)field = &formats[i];
            return 0;
        }
    return error_input (err, "'%.40s' is no format to export", value);
}

static int set_length (void *data, const char *value, struct error *err)
{
    struct options *o = data;

    o->length_given = true;
    return opt_u64 (&o->length, value, err);
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "format", 0, "F", set_format, FIELD (format),
      "clusterkit (of a plan), loggopsim, loggopsim-pairs (of a series), "
      "scotch-deco, scotch-tleaf (of a series or a fabric)" },
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "of the fabric these hosts, node[01-16], or @FILE: all" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "the plan" },
    { "series", 0, "FILE", opt_string, FIELD (series),
      "latencies of pairs: a series, or what 'pmm solve --pairs' wrote" },
    { "length", 0, "N", set_length, 0,
      "by messages of so many bytes: the least" },
    { "stat", 0, "NAME", inputs_stat, FIELD (stat),
      "of the repeats: min, p25, median, ...: median" },
    { "overhead", 0, "NS", opt_double, FIELD (overhead_ns),
      "LogGOPSim's o, which either side of a message takes: 0" },
    { "eps", 0, "X", opt_double, FIELD (eps),
      "latencies that differ relatively by less are one: 0.05" },
    { "order", 0, "FILE", opt_string, FIELD (order),
      "write the nodes here, in the order in which they are numbered" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

static int check_options (const struct options *o, struct error *err)
{
    int given = (o->plan ? PLAN : 0) | (o->series ? SERIES : 0)
                | (o->fabric && !o->plan ? PATHS : 0);

    if (!o->format)
        return error_input (err, "--format is missing");
    if (o->plan && !o->fabric)
        return error_input (err, "--plan goes with -f FABRIC");
    if ((given & (given - 1)) || !(given & o->format->from))
        return error_input (err, "%s is made of %s", o->format->name,
                            o->format->from == PLAN ? "-f FABRIC and --plan"
                            : o->format->from == SERIES ? "--series"
                                             : "--series or -f FABRIC");
    if (o->hosts && given != PATHS)
        return error_input (err, "--hosts goes with -f FABRIC alone");
    if (o->length_given && given != SERIES)
        return error_input (err, "--length goes with --series");
    if (o->stat != usual.stat && given != SERIES)
        return error_input (err, "--stat goes with --series");
    if (o->overhead_ns != usual.overhead_ns
        && o->format->write != write_loggops
        && o->format->write != write_loggops_pairs)
        return error_input (err, "--overhead goes with LogGOPSim's formats");
    if (o->eps != usual.eps && o->format->write != write_tleaf)
        return error_input (err, "--eps goes with scotch-tleaf");
    if (o->order && given == PLAN)
        return error_input (err, "--order goes with formats of latencies");
    return 0;
}

static struct infer_matrix *load_series (const struct options *o,
                                         struct error *err)
{
    struct infer_matrix *m = NULL;
    struct series_list list;
    const struct series *s;

    if (inputs_series (&list, o->series, err) < 0)
        return NULL;
    if (!(s = series_list_pairs (&list)))
        error_input (err, "no run of pairs");
    else
        m = infer_matrix_of_series (s, o->length_given ? o->length
                                                       : s->pair[0].length,
                                    o->stat, err);
    if (!m)
        error_prefix (err, "%s", o->series);
    series_list_clear (&list);
    return m;
}

static struct infer_matrix *load_paths (const struct options *o,
                                        struct error *err)
{
    struct fabric *f = fabric_load (o->fabric, err);
    struct pathset *ps = f ? inputs_hosts (f, "hosts", o->hosts, false, err)
                           : NULL;
    struct infer_matrix *m = ps ? infer_matrix_of_paths (ps, err) : NULL;

    pathset_destroy (ps);
    fabric_destroy (f);
    return m;
}

static int load (struct job *j, struct error *err)
{
    const struct options *o = j->o;

    if (o->plan)
        return inputs_load (&j->in, o->fabric, o->plan, NULL, err);
    j->m = o->series ? load_series (o, err) : load_paths (o, err);
    if (!j->m)
        return -1;
    if (!(j->order = calloc (j->m->n, sizeof (*j->order))))
        return error_nomem (err);
    for (uint32_t i = 0; i < j->m->n; i++)
        j->order[i] = i;
    return 0;
}

static void write_order (const struct job *j, FILE *fp)
{
    for (uint32_t i = 0; i < j->m->n; i++)
        fprintf (fp, "%s\n", j->m->label[j->order[i]]);
}

/* The order, where it is wanted, first: numbers without it mean little. */
static int save (struct job *j, struct error *err)
{
    const struct options *o = j->o;
    struct outfile *out = file_create (o->output, err);
    struct outfile *order = NULL;
    int rc = -1;

    if (out && (!o->order || (order = file_create (o->order, err))))
        rc = o->format->write (j, file_stream (out), err);
    if (rc == 0 && order) {
        write_order (j, file_stream (order));
        rc = file_commit (order, err);
        order = NULL;
    }
    file_abort (order);
    return out ? file_finish (out, rc, err) : -1;
}

int verb_export (int argc, char **argv)
{
    struct options o = usual;
    struct job j = { .o = &o };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (check_options (&o, &err) < 0 || load (&j, &err) < 0
        || save (&j, &err) < 0)
        status = fail (argv[0], &err);
    infer_matrix_destroy (j.m);
    free (j.order);
    inputs_clear (&j.in);
    return status;
}
