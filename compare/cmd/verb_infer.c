/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare infer: the topology, inferred from latencies alone. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/against.h"
#include "compare/infer/infer.h"
#include "compare/infer/matrix.h"
#include "compare/infer/model.h"
#include "core/rate/flows.h"
#include "compare/cmd/cmd.h"
#include "util/json.h"

#define NONE TOPOLOGY_NONE

struct infer_format {
    const char *name;
    /* fit: NULL: there is none */
    int (*write) (const struct topology_model *m, const struct fit *fit,
                  FILE *fp, struct error *err);
};
static const struct infer_format formats[4];

static const struct {
    const char *name;
    double ns;
} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { 0 } };

static struct infer_words {
    int format;             /* of formats */
    const char *graph, *against, *plan, *throughput;
    struct strings cores;
    const uint64_t *length; /* NULL: that of the shortest messages */
    double eps;             /* 0: latencies are clustered */
    int stat;               /* of the repeats */
    int unit;               /* of units */
    bool basic;             /* no switches */
} given = { .stat = SERIES_MEDIAN };

#define FIELD(name) offsetof (struct infer_words, name)
static const struct opt options[] = {
    { "basic", 0, NULL, opt_true, FIELD (basic),
      "infer edges between nodes only, no switches" },
    { "eps", 0, "SHARE", opt_double, FIELD (eps),
      "treat differences below this share as zero (default: found by "
      "clustering)" },
    { "stat", 0, "NAME", NULL, FIELD (stat),
      "statistic of the repeats (default: median)",
      OPT_ROWS (series_stat_names) },
    { "length", 0, "BYTES", inputs_length, FIELD (length),
      "use messages of this length (default: the shortest)" },
    { "unit", 0, "NAME", NULL, FIELD (unit),
      "unit of a plain matrix (default: ns)", OPT_ROWS (units) },
    { "graph", 0, "TGF", opt_string, FIELD (graph),
      "fit this topology instead of inferring one" },
    { "cores", 0, "HOST=FILE", opt_append, FIELD (cores),
      "add a host's cores, by latencies between these and one other process" },
    { "against", 0, "FABRIC", opt_string, FIELD (against),
      "print where a snapshot disagrees instead of the topology" },
    { "plan", 0, "FILE", opt_string, FIELD (plan),
      "also write a plan of the pairs that determine the edges" },
    { "throughput", 0, "FILE", opt_string, FIELD (throughput),
      "also write a plan of flows that fill the edges" },
    { "format", 0, "NAME", NULL, FIELD (format),
      "format of the output (default: text)", OPT_ROWS (formats) },
    { 0 },
};
static const struct opt_rule rules[] = {
    { "json", OPT_EXCLUDES, "format" },
    { "against", OPT_EXCLUDES, "cores format=tgf|dot" },
    { 0 },
};

/*
 * Latencies and models
 */

static struct infer_matrix *load_infer_matrix (const char *path)
{
    return inputs_latencies (path, given.length, given.stat,
                             units[given.unit].ns);
}

/* Latencies of the measured nodes. The other nodes are reported; *lost: whether
 * there are any.
 */
static struct infer_matrix *load_measured (const char *path, bool *lost)
{
    struct infer_matrix *all = load_infer_matrix (path);
    char **label;
    size_t n;
    struct infer_matrix *w = infer_matrix_measured (all, &label, &n, &fault);

    if (!w)
        error_prefix (&fault, "%s", path);
    *lost = n > 0;
    for (size_t i = 0; i < n; i++)
        verb_say ("not measured: %s", verb_keep_text (label[i]));
    free (label);
    infer_matrix_destroy (all);
    return need (w);
}

/* The topology of the latencies at path. Die if it cannot be determined. */
static struct topology_model *infer_from (const struct infer_matrix *w,
                                          const char *path)
{
    struct topology_model *m
        = given.basic ? infer_basic (w, given.eps)
                      : infer_switches (w, given.eps, &fault);

    if (!m) {
        error_prefix (&fault, "cannot tell: %s", path);
        fault.fault = ERROR_WORLD;
    }
    return need (m);
}

/* The model with fitted latencies, inferred or read from a graph. */
static struct topology_model *make_model (const char *path, struct fit *fit,
                                          bool *lost)
{
    struct infer_matrix *all = load_measured (path, lost), *w = all;
    struct topology_model *m;

    if (given.graph) { /* its order of nodes is that of the latencies */
        m = inputs_graph (given.graph);
        w = inputs_pick (all, m->label, m->nnodes, given.graph);
        infer_matrix_destroy (all);
    }
    else
        m = infer_from (w, path);
    need_ok (fit_model (fit, m, w, &fault));
    infer_matrix_destroy (w);
    return m;
}

/*
 * Models of cores
 */

/* The only process that is not a core of the host ("HOST:.."). */
static uint32_t find_external (const struct infer_matrix *w, const char *host,
                               const char *path)
{
    size_t len = strlen (host);
    uint32_t found = NONE;

    for (uint32_t i = 0; i < w->n; i++) {
        if (strncmp (w->label[i], host, len) == 0 && w->label[i][len] == ':')
            continue;
        if (found != NONE)
            die_input ("%s: neither %s nor %s is a core of %s", path,
                       w->label[found], w->label[i], host);
        found = i;
    }
    if (found == NONE)
        die_input ("%s: all processes are cores of %s: one of another "
                   "host is needed", path, host);
    return found;
}

/* HOST=FILE: infer the model of one host's cores. */
static struct join_part infer_part (const struct topology_model *m,
                                    const char *word)
{
    const char *equals = strchr (word, '=');
    struct join_part part = { .by = NONE };
    struct infer_matrix *w;
    char *host;

    if (!equals)
        die_input ("--cores %.80s: expected HOST=FILE", word);
    host = verb_text ("%.*s", (int)(equals - word), word);
    if ((part.node = topology_find (m, host)) == NONE)
        die_input ("--cores %.80s: no such node", word);
    w = load_infer_matrix (equals + 1);
    part.external = find_external (w, host, equals + 1);
    if (join_external (w, part.external, &fault) < 0)
        need_ok (error_prefix (&fault, "%s", equals + 1));
    part.cores = infer_from (w, equals + 1);
    infer_matrix_destroy (w);
    return part;
}

/* Join models of cores to the model (compare/infer/infer.h), from latencies
 * between the cores of a host and one other process.
 */
static struct topology_model *join_cores (struct topology_model *m)
{
    size_t n = given.cores.n;
    struct join_part *part = verb_array (n, sizeof (*part));
    struct topology_model *joined;

    for (size_t i = 0; i < n; i++)
        part[i] = infer_part (m, given.cores.v[i]);
    joined = need (join_models (m, part, n, &fault));
    for (size_t i = 0; i < n; i++)
        topology_destroy ((struct topology_model *)part[i].cores);
    topology_destroy (m);
    return joined;
}

/*
 * A model as text
 */

/* The nodes whose only edge leads to this switch, folded. */
static void print_model_switch (const struct topology_model *m, uint32_t sw,
                                const uint32_t *degree, FILE *fp)
{
    const char **name = verb_array (m->nnodes, sizeof (*name));
    size_t n = 0;

    for (size_t i = 0; i < m->nedges; i++)
        if (m->edge[i].b == sw && m->edge[i].a < m->nnodes
            && degree[m->edge[i].a] == 1)
            name[n++] = m->label[m->edge[i].a];
    fprintf (fp, "switch %u: %s\n", sw - m->nnodes + 1,
             n > 0 ? verb_fold (name, n) : "no nodes");
}

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

static int write_model_text (const struct topology_model *m,
                             const struct fit *fit, FILE *fp, struct error *err)
{
    uint32_t *degree = verb_array (m->nvertices, sizeof (*degree));

    (void)err;
    for (size_t i = 0; i < m->nedges; i++) {
        degree[m->edge[i].a]++;
        degree[m->edge[i].b]++;
    }
    fprintf (fp, "%s, %s\n", COUNTED (m->nnodes, "node"),
             COUNTED (m->nvertices - m->nnodes, "switch"));
    for (uint32_t v = m->nnodes; v < m->nvertices; v++)
        print_model_switch (m, v, degree, fp);
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        char a[INFER_MAX_LABEL + 1], b[INFER_MAX_LABEL + 1];

        topology_name (m, e->a, a, sizeof (a));
        topology_name (m, e->b, b, sizeof (b));
        fprintf (fp, "  %s - %s  %.1f ns", a, b, e->latency_ns);
        if (fit && !isnan (fit->stderr_ns[i]))
            fprintf (fp, " +- %.1f", fit->stderr_ns[i]);
        if (fit && !fit->determined[i])
            fprintf (fp, "  not determined by these pairs");
        fputc ('\n', fp);
    }
    if (fit)
        put_fit (fit, fp);
    return 0;
}

static const struct infer_format formats[] = {
    { "text", write_model_text },
    { "tgf", tgf_write },
    { "dot", show_dot },
    { 0 },
};

/*
 * Where the model and a snapshot differ
 */

static const char *fabric_node_name (const struct against *a, uint32_t node)
{
    return a->f->node[node].name;
}

static void against_text (const struct topology_model *m,
                          const struct against *a, FILE *fp)
{
    for (size_t i = 0; i < a->nstrangers; i++)
        fprintf (fp, "%s: not in the snapshot\n", m->label[a->stranger[i]]);
    for (size_t i = 0; i < a->nhosts; i++) {
        const struct against_hosts *h = &a->hosts[i];
        const char **name = verb_array (h->n, sizeof (*name));

        for (size_t k = 0; k < h->n; k++)
            name[k] = a->f->endpoint[h->endpoint[k]].name;
        fprintf (fp, "%s: on %s in the snapshot, ", verb_fold (name, h->n),
                 fabric_node_name (a, h->at));
        if (h->with == FABRIC_NONE)
            fprintf (fp, "apart from its hosts by latency\n");
        else
            fprintf (fp, "with the hosts of %s by latency\n",
                     fabric_node_name (a, h->with));
    }
    for (size_t i = 0; i < a->nways; i++) {
        const struct against_way *w = &a->way[i];

        fprintf (fp, "%s - %s: ", fabric_node_name (a, w->a),
                 fabric_node_name (a, w->b));
        if (w->hops == 1)
            fprintf (fp, "a cable in the snapshot, %u cables apart by "
                         "latency\n", w->seen);
        else if (w->seen == 1)
            fprintf (fp, "%u cables apart in the snapshot, one by latency\n",
                     w->hops);
        else
            fprintf (fp, "%u cables apart in the snapshot, %u by latency\n",
                     w->hops, w->seen);
    }
    fprintf (fp, "%s on %s compared, %s between these as in the snapshot\n",
             COUNTED (a->compared, "host"), COUNTED (a->switches, "switch"),
             COUNTED (a->nclear, "way"));
    if (a->alone > 0)
        fprintf (fp, "cannot tell: %s, no other one was measured on the same "
                     "switch\n", COUNTED (a->alone, "host"));
    if (a->unclear > 0)
        fprintf (fp, "cannot tell: %s, too few are as long in the snapshot, "
                     "or of a latency between others'\n",
                 COUNTED (a->unclear, "way"));
}

static json_t *against_json (const struct topology_model *m,
                             const struct against *a, bool agrees)
{
    json_t *hosts = json_array (), *ways = json_array ();
    json_t *strangers = json_array ();

    for (size_t i = 0; i < a->nhosts; i++) {
        const struct against_hosts *h = &a->hosts[i];
        json_t *names = json_array ();

        for (size_t k = 0; k < h->n; k++)
            json_add (names,
                      json_string (a->f->endpoint[h->endpoint[k]].name));
        json_add (hosts,
                  json_pack ("{s:o, s:s, s:s?}", "hosts", names, "snapshot",
                             fabric_node_name (a, h->at), "latency",
                             h->with == FABRIC_NONE
                                 ? NULL
                                 : fabric_node_name (a, h->with)));
    }
    for (size_t i = 0; i < a->nways; i++) {
        const struct against_way *w = &a->way[i];

        json_add (ways, json_pack ("{s:s, s:s, s:i, s:i}", "a",
                                   fabric_node_name (a, w->a), "b",
                                   fabric_node_name (a, w->b), "snapshot",
                                   w->hops, "latency", w->seen));
    }
    for (size_t i = 0; i < a->nstrangers; i++)
        json_add (strangers, json_string (m->label[a->stranger[i]]));
    return json_pack (
        "{s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I}", "agrees", agrees,
        "compared", (json_int_t)a->compared, "switches",
        (json_int_t)a->switches, "ways_agree", (json_int_t)a->nclear, "hosts",
        hosts, "ways", ways, "not_in_snapshot", strangers, "hosts_untold",
        (json_int_t)a->alone, "ways_untold", (json_int_t)a->unclear);
}

/* Return the exit status. */
static int write_against (struct inputs *in, const struct topology_model *m)
{
    struct against *a;
    bool agrees;

    in->fabric = inputs_open (in, given.against);
    a = against_compare (in->fabric, m);
    agrees = a->nhosts + a->nways + a->nstrangers == 0;
    if (in->json)
        inputs_put_json (in, "against", in->fabric->hash,
                         against_json (m, a, agrees));
    else
        against_text (m, a, inputs_output (in));
    against_destroy (a);
    return agrees ? EXIT_OK : EXIT_FAIL;
}

/* Write a plan to path: of flows that fill the model's edges, which are taken
 * to have equal rates; or of the pairs that determine the edges' latencies.
 */
static void write_model_plan (const struct topology_model *m, bool flows,
                              const char *path)
{
    static const struct plan_options latency = { .extra_rounds = 2, .seed = 1 };
    static const struct flows_options fill = { .times = 1, .seed = 1 };
    struct routes *r = routes_create (m);
    struct pathset *ps = need (routes_nodes (r, &fault));
    struct plan *plan = need (flows ? flows_make (ps, &fill, &fault)
                                    : plan_make (ps, &latency, &fault));
    struct outfile *out = need (file_create (path, &fault));

    need_ok (file_finish (out, plan_write (plan, ps, NULL, file_stream (out),
                                           &fault), &fault));
    plan_destroy (plan);
    pathset_destroy (ps);
    routes_destroy (r);
}

static int run_infer (struct inputs *in)
{
    bool lost, joined = given.cores.n > 0;
    struct fit fit = { 0 };
    struct topology_model *m = make_model (in->operand[0], &fit, &lost);
    int status = EXIT_OK;
    int (*write) (const struct topology_model *m, const struct fit *fit,
                  FILE *fp, struct error *err) = formats[given.format].write;

    if (in->json)
        write = show_json;
    if (joined)
        m = join_cores (m);
    if (given.plan)
        write_model_plan (m, false, given.plan);
    if (given.throughput)
        write_model_plan (m, true, given.throughput);
    if (given.against)
        status = write_against (in, m);
    else /* the fit does not belong to a model with cores */
        need_ok (write (m, joined ? NULL : &fit, inputs_output (in), &fault));
    topology_destroy (m);
    fit_clear (&fit);
    free (given.cores.v);
    return lost && status == EXIT_OK ? EXIT_WORLD : status;
}

const struct verb verb_infer = {
    .name = "infer", .help = "infer the topology from latencies alone",
    .may = TAKES_JSON | TAKES_OUTPUT, .operands = "FILE", .min = 1, .max = 1,
    .options = options, .given = &given, .rules = rules, .run = run_infer,
};
