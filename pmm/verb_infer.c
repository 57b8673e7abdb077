/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm infer: the topology, inferred from latencies alone. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "pmm/common.h"
#include "pmm/infer/infer.h"
#include "pmm/verb.h"
#include "util/text.h"

struct options {
    struct infer_how how;
    const char *graph, *against, *plan, *throughput, *format, *output;
    struct strings cores;
};

static int set_length (void *field, const char *value, struct error *err)
{
    struct infer_how *how = field;

    how->any_length = false;
    return opt_u64 (&how->length, value, err);
}

static int set_stat (void *field, const char *value, struct error *err)
{
    int stat = series_stat_find (value);

    if (stat < 0)
        return error_input (err, "'%.40s' is no statistic of repeats", value);
    *(enum series_stat *)field = stat;
    return 0;
}

static int set_format (void *field, const char *value, struct error *err)
{
    if (!infer_format_known (value))
        return error_input (err, "'%.40s' is none of " INFER_FORMATS, value);
    return opt_string (field, value, err);
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "basic", 0, NULL, opt_true, FIELD (how.basic),
      "edges between nodes alone, no switches" },
    { "eps", 0, "X", opt_double, FIELD (how.eps),
      "differences below this share are none [they are clustered]" },
    { "stat", 0, "NAME", set_stat, FIELD (how.stat),
      "of the repeats: min, p25, median, mean, ... [median]" },
    { "length", 0, "BYTES", set_length, FIELD (how),
      "by messages of so many bytes [the shortest]" },
    { "graph", 0, "TGF", opt_string, FIELD (graph),
      "fit this topology, infer none" },
    { "cores", 0, "HOST=FILE", opt_append, FIELD (cores),
      "latencies between a host's cores and one other process" },
    { "against", 0, "FABRIC", opt_string, FIELD (against),
      "say where a snapshot disagrees, instead of the topology" },
    { "plan", 0, "FILE", opt_string, FIELD (plan),
      "also write a plan of the pairs that determine the edges" },
    { "throughput", 0, "FILE", opt_string, FIELD (throughput),
      "also write a plan of flows that fill the edges" },
    { "format", 0, "NAME", set_format, FIELD (format),
      INFER_FORMATS " [text]" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

/* Latencies of the measured nodes. The other nodes are reported; *lost: whether
 * there are any.
 */
static struct infer_matrix *load (const char *path, const struct options *o,
                                  bool *lost, struct error *err)
{
    struct infer_matrix *all = infer_load (path, &o->how, err);
    struct infer_matrix *w;
    char **label;
    size_t n;

    if (!all)
        return NULL;
    if (!(w = infer_matrix_measured (all, &label, &n, err)))
        error_prefix (err, "%s", path);
    *lost = n > 0;
    for (size_t i = 0; i < n; i++) {
        fprintf (stderr, "pmm infer: not measured: %s\n", label[i]);
        free (label[i]);
    }
    free (label);
    infer_matrix_destroy (all);
    return w;
}

/* The model with fitted latencies. Returns 1 with *m; 0 if the topology cannot
 * be determined, err says why; or -1 with err.
 */
static int make_model (const char *path, const struct options *o,
                       struct topology_model **m, struct fit *fit,
                       bool *lost, struct error *err)
{
    struct infer_matrix *w = load (path, o, lost, err);
    int rc = o->graph ? -1 : 0;

    if (!w)
        return -1;
    *m = o->graph ? infer_graph (o->graph, &w, err)
                  : infer_model (w, &o->how, err);
    if (*m)
        rc = fit_model (fit, *m, w, err) < 0 ? -1 : 1;
    else if (!o->graph)
        error_prefix (err, "%s", path);
    if (rc > 0)
        fit_apply (fit, *m);
    infer_matrix_destroy (w);
    return rc;
}

/* Write the requested files. fit is NULL if it does not belong to this model.
 * Returns the exit status, or -1 with err.
 */
static int save_all (const struct options *o, const struct topology_model *m,
                     const struct fit *fit, struct error *err)
{
    bool agrees = true;

    if (o->plan && infer_plan (m, INFER_LATENCY, o->plan, err) < 0)
        return -1;
    if (o->throughput
        && infer_plan (m, INFER_THROUGHPUT, o->throughput, err) < 0)
        return -1;
    if (!o->against)
        return infer_save (m, fit, o->format, o->output, err) < 0 ? -1
                                                                  : EXIT_OK;
    if (infer_against (m, o->against, !strcmp (o->format, "json"), o->output,
                       &agrees, err)
        < 0)
        return -1;
    return agrees ? EXIT_OK : EXIT_FAIL;
}

/* Returns as make_model does; sets *status. */
static int run (const char *path, const struct options *o, int *status,
                struct error *err)
{
    struct topology_model *m = NULL;
    bool joined = o->cores.n > 0, lost = false;
    struct fit fit = { 0 };
    int rc;

    if (joined && o->against)
        return error_input (err, "a snapshot has no cores: --cores and "
                                 "--against do not go together");
    rc = make_model (path, o, &m, &fit, &lost, err);
    if (rc > 0 && joined)
        rc = infer_join (&m, o->cores.v, o->cores.n, &o->how, err);
    if (rc > 0
        && (*status = save_all (o, m, joined ? NULL : &fit, err)) < 0)
        rc = -1;
    if (rc > 0 && lost && *status == EXIT_OK)
        *status = EXIT_WORLD;
    fit_clear (&fit);
    topology_destroy (m);
    return rc;
}

int verb_infer (int argc, char **argv)
{
    struct options o = {
        .how = { .stat = SERIES_MEDIAN, .any_length = true },
        .format = "text",
    };
    struct error err;
    int status;
    int first = options_parse (table, &o, argc, argv, "FILE", 1, 1, &status);

    if (first >= 0) {
        int rc = run (argv[first], &o, &status, &err);

        if (rc < 0)
            status = fail (argv[0], &err);
        else if (rc == 0) {
            fprintf (stderr, "pmm %s: cannot tell: %s\n", argv[0], err.text);
            status = EXIT_WORLD;
        }
    }
    free (o.cores.v);
    return status;
}
