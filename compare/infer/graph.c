/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/matrix.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/map.h"
#include "util/text.h"

#define SWITCH "switch"
#define BLANKS " \t\r"

enum { NAME_SIZE = INFER_MAX_LABEL + 1, ID_MAX = 1000 * 1000 * 1000 };

int tgf_write (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err)
{
    char name[NAME_SIZE];

    (void)fit;
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

struct graph_reader {
    unsigned int line;
    const char **label; /* [TGF_MAX_VERTICES] of the nodes so far */
    uint32_t nnodes, nswitches;
    struct map vertex;  /* by id: a node, or TGF_MAX_VERTICES + a switch */
    struct map edge;    /* by its vertices: its line */
    struct topology_model *m; /* NULL: before the line "#" */
};

/* The next word of the line; "" at its end. */
static char *next_graph_word (char **s)
{
    char *word = *s + strspn (*s, BLANKS);

    *s = word + strcspn (word, BLANKS);
    if (**s)
        *(*s)++ = '\0';
    return word;
}

static int read_id (char **s, uint64_t *id, struct error *err)
{
    const char *word = next_graph_word (s);

    if (text_u64 (word, 0, ID_MAX, id) < 0)
        return error_input (err, "'%.20s' is no number of a vertex", word);
    return 0;
}

static int check_label (const struct graph_reader *r, const char *label,
                        struct error *err)
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
    for (uint32_t i = 0; i < r->nnodes; i++)
        if (strcmp (r->label[i], label) == 0)
            return error_input (err, "two vertices are called %.80s", label);
    return 0;
}

static int read_vertex (struct graph_reader *r, char *s, struct error *err)
{
    const char *label;
    uint64_t id;

    if (r->vertex.n == TGF_MAX_VERTICES)
        return error_input (err, "more than %d vertices", TGF_MAX_VERTICES);
    if (read_id (&s, &id, err) < 0)
        return -1;
    if (map_find (&r->vertex, id) != MAP_NONE)
        return error_input (err, "vertex %u is there twice", (unsigned int)id);
    label = next_graph_word (&s);
    if (strcmp (label, SWITCH) == 0) {
        map_put (&r->vertex, id, TGF_MAX_VERTICES + r->nswitches++);
        return 0;
    }
    if (check_label (r, label, err) < 0)
        return -1;
    if (*next_graph_word (&s))
        return error_input (err, "the label of a node is one word");
    r->label[r->nnodes] = label;
    map_put (&r->vertex, id, r->nnodes++);
    return 0;
}

/* After the last vertex. */
static int end_vertices (struct graph_reader *r, struct error *err)
{
    if (r->m)
        return error_input (err, "a second '#'");
    if (r->nnodes < 2 || r->nnodes > INFER_MAX_NODES)
        return error_input (err, "%s: 2 to %d are wanted",
                            COUNTED (r->nnodes, "node"), INFER_MAX_NODES);
    r->m = topology_create (r->nnodes, r->label);
    r->m->nvertices += r->nswitches;
    return 0;
}

static int read_end (const struct graph_reader *r, char **s, uint32_t *vertex,
                     struct error *err)
{
    uint64_t id;

    if (read_id (s, &id, err) < 0)
        return -1;
    if ((*vertex = map_find (&r->vertex, id)) == MAP_NONE)
        return error_input (err, "there is no vertex %u", (unsigned int)id);
    if (*vertex >= TGF_MAX_VERTICES)
        *vertex += r->nnodes - TGF_MAX_VERTICES;
    return 0;
}

/* "1 2 l: 3 t: 10" */
static int read_edge (struct graph_reader *r, char *s, struct error *err)
{
    double latency_ns = NAN, rate = 0;
    const struct topology_edge *e;
    uint32_t a, b, line;
    const char *word;
    uint64_t key;

    if (read_end (r, &s, &a, err) < 0 || read_end (r, &s, &b, err) < 0)
        return -1;
    if (a == b)
        return error_input (err, "an edge leads back to where it starts");
    while (*(word = next_graph_word (&s))) {
        double *value = strcmp (word, "l:") == 0   ? &latency_ns
                        : strcmp (word, "t:") == 0 ? &rate
                                                   : NULL;

        if (!value)
            return error_input (err, "'%.20s' is neither l: nor t:", word);
        word = next_graph_word (&s);
        if (text_double (word, 0, 1e15, value) < 0)
            return error_input (err, "'%.20s' is no number from 0 on", word);
    }
    if (isnan (latency_ns))
        return error_input (err, "an edge has no latency (l: NS)");
    topology_add_edge (r->m, a, b, latency_ns)->rate = rate;
    e = &r->m->edge[r->m->nedges - 1];
    key = (uint64_t)e->a << 32 | e->b;
    if ((line = map_find (&r->edge, key)) != MAP_NONE)
        return error_input (err, "these vertices are joined in line %u already",
                            line);
    map_put (&r->edge, key, r->line);
    return 0;
}

static int read_graph_lines (struct graph_reader *r, char *text,
                             struct error *err)
{
    for (char *s = text, *end; s; s = end) {
        int rc;

        r->line++;
        if ((end = strchr (s, '\n')))
            *end++ = '\0';
        s += strspn (s, BLANKS);
        rc = !*s         ? 0
             : *s == '#' ? end_vertices (r, err)
             : r->m      ? read_edge (r, s, err)
                         : read_vertex (r, s, err);
        if (rc < 0)
            return -1;
    }
    if (!r->m)
        return error_input (err, "no '#' is between vertices and edges");
    topology_normal (r->m, 0);
    return 0;
}

struct topology_model *tgf_read (FILE *fp, const char *name, struct error *err)
{
    struct graph_reader r = { 0 };
    char *text = file_slurp_text (fp, name, TGF_MAX_BYTES, err);

    r.label = xarray (TGF_MAX_VERTICES, sizeof (*r.label));
    if (text && read_graph_lines (&r, text, err) < 0) {
        error_prefix (err, "%s:%u", name, r.line);
        topology_destroy (r.m);
        r.m = NULL;
    }
    map_clear (&r.vertex);
    map_clear (&r.edge);
    free (r.label);
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

int show_dot (const struct topology_model *m, const struct fit *fit, FILE *fp,
              struct error *err)
{
    char name[NAME_SIZE];

    (void)fit;
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

static json_t *name_json (const struct topology_model *m, uint32_t vertex)
{
    char name[NAME_SIZE];

    topology_name (m, vertex, name, sizeof (name));
    return json_string (name);
}

static json_t *edge_json (const struct topology_model *m,
                          const struct fit *fit, size_t i)
{
    const struct topology_edge *e = &m->edge[i];
    json_t *json = xcheck (json_pack (
        "{s:o, s:o, s:o}", "a", name_json (m, e->a), "b", name_json (m, e->b),
        "latency_ns", number_json (e->latency_ns)));

    if (e->rate > 0)
        json_put (json, "bytes_per_second", number_json (e->rate));
    if (fit) {
        json_put (json, "stderr_ns", number_json (fit->stderr_ns[i]));
        json_put (json, "determined", json_boolean (fit->determined[i]));
    }
    return json;
}

int show_json (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err)
{
    json_t *nodes = json_array (), *edges = json_array (), *rest;

    for (uint32_t v = 0; v < m->nnodes; v++)
        json_add (nodes, name_json (m, v));
    for (size_t i = 0; i < m->nedges; i++)
        json_add (edges, edge_json (m, fit, i));
    rest = xcheck (json_pack ("{s:o, s:I, s:o}", "nodes", nodes, "switches",
                              (json_int_t)(m->nvertices - m->nnodes), "edges",
                              edges));
    if (fit)
        json_put (rest, "fit",
                  json_pack ("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "pairs",
                             (json_int_t)fit->pairs, "rank",
                             (json_int_t)fit->rank, "edges",
                             (json_int_t)fit->nedges, "dof",
                             (json_int_t)fit->dof, "residual_ns",
                             number_json (fit->residual_ns), "r2",
                             number_json (fit->r2), "r2_adjusted",
                             number_json (fit->r2_adjusted)));
    return json_write_file ("topology", NULL, rest, fp, err);
}
