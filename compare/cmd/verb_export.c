/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare export: plans and latencies in other programs' file formats. */
#include "config.h"

#include "compare/cmd/cmd.h"
#include "compare/export/export.h"

static struct export_words {
    int format;             /* of formats; -1: not given */
    const char *hosts, *series, *order;
    const uint64_t *length; /* NULL: that of the shortest messages */
    int stat;
    double overhead_ns, eps;
} given = { .format = -1, .stat = SERIES_MEDIAN, .eps = .05 };

/* A plan, for ClusterKit; latencies. */
enum { CLUSTERKIT, LOGGOPSIM, LOGGOPSIM_PAIRS, SCOTCH_DECO, SCOTCH_TLEAF };
static const char *const formats[] = {
    [CLUSTERKIT] = "clusterkit",
    [LOGGOPSIM] = "loggopsim",
    [LOGGOPSIM_PAIRS] = "loggopsim-pairs",
    [SCOTCH_DECO] = "scotch-deco",
    [SCOTCH_TLEAF] = "scotch-tleaf",
    NULL,
};

#define FIELD(name) offsetof (struct export_words, name)
static const struct opt options[] = {
    { "format", 0, "NAME", NULL, FIELD (format),
      "format: clusterkit needs a plan, loggopsim a series, scotch a series or "
      "a fabric",
      OPT_ROWS (formats) },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "these hosts of the fabric, " LIST_HELP " (default: all)" },
    { "series", 0, "FILE", opt_string, FIELD (series),
      "latencies of pairs: a series, or what 'pmm solve --pairs' wrote" },
    { "length", 0, "BYTES", inputs_length, FIELD (length),
      "use messages of this length (default: the shortest)" },
    { "stat", 0, "NAME", NULL, FIELD (stat),
      "statistic of the repeats (default: median)",
      OPT_ROWS (series_stat_names) },
    { "overhead", 0, "NS", opt_double, FIELD (overhead_ns),
      "LogGOPSim's overhead o of either side of a message (default: 0)" },
    { "eps", 0, "SHARE", opt_double, FIELD (eps),
      "merge latencies that differ by less than this share (default: 0.05)" },
    { "order", 0, "FILE", opt_string, FIELD (order),
      "write the nodes here, in the order in which they are numbered" },
    { 0 },
};

/* Options without an effect are an error. */
static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "format" },
    { "format=clusterkit", OPT_NEEDS, "plan" },
    { "format=loggopsim|loggopsim-pairs", OPT_NEEDS, "series" },
    { "format=scotch-deco|scotch-tleaf", OPT_NEEDS, "series fabric" },
    { "plan", OPT_NEEDS, "fabric" },
    { "plan", OPT_NEEDS, "format=clusterkit" },
    { "series", OPT_EXCLUDES, "fabric plan hosts" },
    { "hosts order", OPT_EXCLUDES, "plan" },
    { "length stat", OPT_NEEDS, "series" },
    { "overhead", OPT_NEEDS, "format=loggopsim|loggopsim-pairs" },
    { "eps", OPT_NEEDS, "format=scotch-tleaf" },
    { 0 },
};

static struct infer_matrix *load_latencies (struct inputs *in)
{
    if (given.series)
        return inputs_latencies (given.series, given.length, given.stat, 1);
    in->ps = inputs_hosts (in->fabric, "hosts", given.hosts, false);
    return need (infer_matrix_of_paths (in->ps, &fault));
}

/* Write the order of the nodes first, if it is requested: numbers without it
 * mean little.
 */
static void write_latencies (const struct infer_matrix *m, FILE *fp)
{
    struct outfile *out
        = given.order ? need (file_create (given.order, &fault)) : NULL;
    uint32_t *order = verb_array (m->n, sizeof (*order));
    int rc;

    for (uint32_t i = 0; i < m->n; i++)
        order[i] = i;
    rc = given.format == LOGGOPSIM
             ? loggops_write (m, given.overhead_ns, fp, &fault)
         : given.format == LOGGOPSIM_PAIRS
             ? loggops_write_pairs (m, given.overhead_ns, fp, &fault)
         : given.format == SCOTCH_DECO
             ? scotch_write_deco (m, fp, &fault)
             : scotch_write_tleaf (m, given.eps, order, fp, &fault);
    for (uint32_t i = 0; i < m->n && out; i++)
        fprintf (file_stream (out), "%s\n", m->label[order[i]]);
    need_ok (out ? file_finish (out, rc, &fault) : rc);
}

static int run_export_verb (struct inputs *in)
{
    struct infer_matrix *m = in->plan ? NULL : load_latencies (in);

    if (m)
        write_latencies (m, inputs_output (in));
    else
        need_ok (clusterkit_write (in->plan, in->ps, inputs_output (in),
                                   &fault));
    infer_matrix_destroy (m);
    return EXIT_OK;
}

const struct verb verb_export = {
    .name = "export", .help = "write plans and latencies for other programs",
    .may = TAKES_FABRIC | TAKES_PLAN | TAKES_OUTPUT,
    .options = options, .given = &given, .rules = rules, .run = run_export_verb,
};
