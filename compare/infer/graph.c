/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/graph.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/matrix.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

#define SWITCH "switch"
#define BLANKS " \t\r"

enum {
    NAME_SIZE = INFER_MAX_LABEL + 1,
    ID_MAX = 1000 * 1000 * 1000,
};

int tgf_write (const struct topology_model *m, FILE *fp, struct error *err)
{
    char name[NAME_SIZE];

    for (uint32_t v = 0; v < m->nvertices; v++) {
        topology_name (m, v, name, sizeof (name));
        fprintf (fp, "%u %s\n", v + 1, name);
    }
    fprintf (fp, "#\n");
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        fprintf (fp, "%u %u l: %.9g", e->a + 1, e->b + 1, e->latency_ns);
        if (e->rate > 0)
            fprintf (fp, " t: %.9g", e->rate);
        fprintf (fp, "\n");
    }
    if (ferror (fp))
        return error_errno (err, "the graph cannot be written");
    return 0;
}

/* A vertex of the file. */
struct graph_vertex {
    uint64_t id;
    const char *label; /* NULL: a switch */
    unsigned int line;
    uint32_t vertex; /* of the model */
};

struct edge_ends {
    uint32_t a, b; /* a < b */
    double latency_ns, rate;
    unsigned int line;
};

struct graph_reader {
    unsigned int line;
    bool edges;                 /* after the line "#" */
    struct graph_vertex *named; /* [TGF_MAX_VERTICES]; sorted by id after the
                                   "#" */
    size_t nnamed;
    struct edge_ends *ends;
    size_t nends;
    struct topology_model *m;
};

/* The next word of the line; "" at its end. */
static char *next_word (char **s)
{
    char *word = *s + strspn (*s, BLANKS);

    *s = word + strcspn (word, BLANKS);
    if (**s)
        *(*s)++ = '\0';
    return word;
}

static int read_id (char **s, uint64_t *id, struct error *err)
{
    const char *word = next_word (s);

    if (text_u64 (word, 0, ID_MAX, id) < 0)
        return error_input (err, "'%.20s' is no number of a vertex", word);
    return 0;
}

static int check_label (const char *label, struct error *err)
{
    size_t len = strlen (label);

    if (len == 0)
        return error_input (err, "a vertex has no label");
    if (len > INFER_MAX_LABEL)
        return error_input (err, "a label is longer than %d bytes",
                            INFER_MAX_LABEL);
    for (size_t i = 0; i < len; i++)
        if (label[i] <= 0x20 || label[i] > 0x7e)
            return error_input (err, "a label is not printable ASCII");
    return 0;
}

static int read_vertex (struct graph_reader *r, char *s, struct error *err)
{
    struct graph_vertex *v = &r->named[r->nnamed];
    const char *label;

    if (r->nnamed == TGF_MAX_VERTICES)
        return error_input (err, "more than %d vertices", TGF_MAX_VERTICES);
    *v = (struct graph_vertex){ .line = r->line };
    if (read_id (&s, &v->id, err) < 0)
        return -1;
    label = next_word (&s);
    if (strcmp (label, SWITCH) != 0) {
        v->label = label;
        if (check_label (label, err) < 0)
            return -1;
        if (*next_word (&s))
            return error_input (err, "the label of a node is one word");
    }
    r->nnamed++;
    return 0;
}

static int compare_id (const void *a, const void *b)
{
    const struct graph_vertex *x = a, *y = b;

    return util_compare (x->id, y->id);
}

static int compare_label (const void *a, const void *b)
{
    const struct graph_vertex *const *x = a;
    const struct graph_vertex *const *y = b;

    return strcmp ((*x)->label, (*y)->label);
}

/* Check that no ID and no label occurs twice. nodes [nnodes] are the nodes in
 * their order.
 */
static int check_vertices (struct graph_reader *r, struct graph_vertex **nodes,
                           size_t nnodes, struct error *err)
{
    for (size_t i = 1; i < r->nnamed; i++)
        if (r->named[i].id == r->named[i - 1].id) {
            r->line = r->named[i].line;
            return error_input (err, "vertex %u is there twice",
                                (unsigned int)r->named[i].id);
        }
    qsort (nodes, nnodes, sizeof (*nodes), compare_label);
    for (size_t i = 1; i < nnodes; i++)
        if (strcmp (nodes[i]->label, nodes[i - 1]->label) == 0) {
            r->line = nodes[i]->line;
            return error_input (err, "two vertices are called %.80s",
                                nodes[i]->label);
        }
    return 0;
}

/* After the last vertex: number the nodes in the order of the file, which is
 * that of `named`, and the switches after them.
 */
static int end_vertices (struct graph_reader *r, struct error *err)
{
    const char **label = xarray (r->nnamed, sizeof (*label));
    struct graph_vertex **nodes = xarray (r->nnamed, sizeof (*nodes));
    uint32_t n = 0;
    int rc = -1;

    for (size_t i = 0; i < r->nnamed; i++)
        if (r->named[i].label) {
            label[n] = r->named[i].label;
            r->named[i].vertex = n++;
        }
    if (n < 2 || n > INFER_MAX_NODES) {
        error_input (err, "%s: 2 to %d are wanted", COUNTED (n, "node"),
                     INFER_MAX_NODES);
        goto done;
    }
    r->m = topology_create (n, label);
    for (size_t i = 0; i < r->nnamed; i++)
        if (!r->named[i].label)
            r->named[i].vertex = topology_add_switch (r->m);
    qsort (r->named, r->nnamed, sizeof (*r->named), compare_id);
    n = 0;
    for (size_t i = 0; i < r->nnamed; i++)
        if (r->named[i].label)
            nodes[n++] = &r->named[i];
    rc = check_vertices (r, nodes, n, err);
done:
    free (label);
    free (nodes);
    return rc;
}

static int read_end (const struct graph_reader *r, char **s, uint32_t *vertex,
                     struct error *err)
{
    struct graph_vertex key;
    const struct graph_vertex *found;

    if (read_id (s, &key.id, err) < 0)
        return -1;
    found = bsearch (&key, r->named, r->nnamed, sizeof (key), compare_id);
    if (!found)
        return error_input (err, "there is no vertex %u", (unsigned int)key.id);
    *vertex = found->vertex;
    return 0;
}

/* "l: 3 t: 10" */
static int read_values (char *s, struct edge_ends *e, struct error *err)
{
    const char *word;

    e->latency_ns = NAN;
    while (*(word = next_word (&s))) {
        double *value = strcmp (word, "l:") == 0   ? &e->latency_ns
                        : strcmp (word, "t:") == 0 ? &e->rate
                                                   : NULL;

        if (!value)
            return error_input (err, "'%.20s' is neither l: nor t:", word);
        word = next_word (&s);
        if (text_double (word, 0, 1e15, value) < 0)
            return error_input (err, "'%.20s' is no number from 0 on", word);
    }
    if (isnan (e->latency_ns))
        return error_input (err, "an edge has no latency (l: NS)");
    return 0;
}

static int read_edge (struct graph_reader *r, char *s, struct error *err)
{
    struct edge_ends e = { .line = r->line };

    if (read_end (r, &s, &e.a, err) < 0 || read_end (r, &s, &e.b, err) < 0)
        return -1;
    if (e.a == e.b)
        return error_input (err, "an edge leads back to where it starts");
    if (e.a > e.b) {
        uint32_t a = e.a;

        e.a = e.b;
        e.b = a;
    }
    if (read_values (s, &e, err) < 0)
        return -1;
    r->ends = xgrow (r->ends, r->nends, sizeof (*r->ends));
    r->ends[r->nends++] = e;
    return 0;
}

static int compare_ends (const void *a, const void *b)
{
    const struct edge_ends *x = a, *y = b;

    if (x->a != y->a)
        return util_compare (x->a, y->a);
    if (x->b != y->b)
        return util_compare (x->b, y->b);
    return util_compare (x->line, y->line);
}

static int end_edges (struct graph_reader *r, struct error *err)
{
    if (r->nends > 0)
        qsort (r->ends, r->nends, sizeof (*r->ends), compare_ends);
    for (size_t i = 0; i < r->nends; i++) {
        const struct edge_ends *e = &r->ends[i];

        if (i > 0 && e->a == e[-1].a && e->b == e[-1].b) {
            r->line = e->line;
            return error_input (err,
                                "these vertices are joined in line %u "
                                "already",
                                e[-1].line);
        }
        topology_add_edge (r->m, e->a, e->b, e->latency_ns);
        r->m->edge[r->m->nedges - 1].rate = e->rate;
    }
    topology_normal (r->m, 0);
    return 0;
}

static int read_line (struct graph_reader *r, char *s, struct error *err)
{
    s += strspn (s, BLANKS);
    if (!*s)
        return 0;
    if (*s != '#')
        return r->edges ? read_edge (r, s, err) : read_vertex (r, s, err);
    if (r->edges)
        return error_input (err, "a second '#'");
    r->edges = true;
    return end_vertices (r, err);
}

static int read_lines (struct graph_reader *r, char *text, struct error *err)
{
    for (char *line = text, *end; line; line = end) {
        r->line++;
        if ((end = strchr (line, '\n')))
            *end++ = '\0';
        if (read_line (r, line, err) < 0)
            return -1;
    }
    if (!r->edges)
        return error_input (err, "no '#' is between vertices and edges");
    return end_edges (r, err);
}

struct topology_model *tgf_read (FILE *fp, const char *name, struct error *err)
{
    struct graph_reader r = { 0 };
    size_t len;
    char *text = file_slurp (fp, TGF_MAX_BYTES, &len, err);

    if (!text) {
        error_prefix (err, "%s", name);
        return NULL;
    }
    r.named = xarray (TGF_MAX_VERTICES, sizeof (*r.named));
    if (strlen (text) != len) {
        error_input (err, "%s: a NUL is no text", name);
    }
    else if (read_lines (&r, text, err) < 0) {
        error_prefix (err, "%s:%u", name, r.line);
        topology_destroy (r.m);
        r.m = NULL;
    }
    free (r.named);
    free (r.ends);
    free (text);
    return r.m;
}

static void put_quoted (const char *s, FILE *fp)
{
    fputc ('"', fp);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            fputc ('\\', fp);
        fputc (*s, fp);
    }
    fputc ('"', fp);
}

int show_dot (const struct topology_model *m, FILE *fp, struct error *err)
{
    char name[NAME_SIZE];

    fprintf (fp, "graph topology {\n");
    for (uint32_t v = 0; v < m->nvertices; v++) {
        topology_name (m, v, name, sizeof (name));
        fprintf (fp, "    v%u [label=", v + 1);
        put_quoted (name, fp);
        fprintf (fp, ", shape=%s];\n", v < m->nnodes ? "box" : "ellipse");
    }
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        fprintf (fp, "    v%u -- v%u [label=\"%.0f ns\"];\n", e->a + 1,
                 e->b + 1, e->latency_ns);
    }
    fprintf (fp, "}\n");
    if (ferror (fp))
        return error_errno (err, "the drawing cannot be written");
    return 0;
}

/* null if it is not known */
static json_t *number_json (double value)
{
    return isfinite (value) ? json_real (value) : json_null ();
}

static json_t *name_json (const struct topology_model *m, uint32_t vertex)
{
    char name[NAME_SIZE];

    topology_name (m, vertex, name, sizeof (name));
    return json_string (name);
}

static json_t *nodes_json (const struct topology_model *m)
{
    json_t *out = json_array ();

    for (uint32_t v = 0; v < m->nnodes; v++)
        json_array_append_new (out, name_json (m, v));
    return out;
}

static json_t *edges_json (const struct topology_model *m,
                           const struct fit *fit)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        json_t *edge = json_pack ("{s:o, s:o, s:o}", "a", name_json (m, e->a),
                                  "b", name_json (m, e->b), "latency_ns",
                                  number_json (e->latency_ns));

        if (e->rate > 0)
            json_object_set_new (edge, "bytes_per_second",
                                 number_json (e->rate));
        if (fit) {
            json_object_set_new (edge, "stderr_ns",
                                 number_json (fit->stderr_ns[i]));
            json_object_set_new (edge, "determined",
                                 json_boolean (fit->determined[i]));
        }
        json_array_append_new (out, edge);
    }
    return out;
}

static json_t *fit_json (const struct fit *fit)
{
    return json_pack (
        "{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "pairs", (json_int_t)fit->pairs,
        "rank", (json_int_t)fit->rank, "edges", (json_int_t)fit->nedges, "dof",
        (json_int_t)fit->dof, "residual_ns", number_json (fit->residual_ns),
        "r2", number_json (fit->r2), "r2_adjusted",
        number_json (fit->r2_adjusted));
}

int show_json (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err)
{
    json_t *rest = json_pack (
        "{s:o, s:I, s:o}", "nodes", nodes_json (m), "switches",
        (json_int_t)(m->nvertices - m->nnodes), "edges", edges_json (m, fit));

    if (rest && fit)
        json_object_set_new (rest, "fit", fit_json (fit));
    return json_write_file ("topology", NULL, rest, fp, err);
}
