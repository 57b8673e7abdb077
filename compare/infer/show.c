/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/show.h"

#include <math.h>

#include "compare/infer/matrix.h"
#include "util/json.h"

enum { NAME_SIZE = INFER_MAX_LABEL + 1 };

void show_name (const struct topology_model *m, uint32_t vertex, char *buf,
                size_t size)
{
    if (vertex < m->nnodes)
        snprintf (buf, size, "%s", m->label[vertex]);
    else
        snprintf (buf, size, "switch %u", vertex - m->nnodes + 1);
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
        show_name (m, v, name, sizeof (name));
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

/* null where it is not known */
static json_t *number_json (double value)
{
    return isfinite (value) ? json_real (value) : json_null ();
}

static json_t *name_json (const struct topology_model *m, uint32_t vertex)
{
    char name[NAME_SIZE];

    show_name (m, vertex, name, sizeof (name));
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
    return json_pack ("{s:I, s:I, s:I, s:I, s:o, s:o, s:o}", "pairs",
                      (json_int_t)fit->pairs, "rank", (json_int_t)fit->rank,
                      "edges", (json_int_t)fit->nedges, "dof",
                      (json_int_t)fit->dof, "residual_ns",
                      number_json (fit->residual_ns), "r2",
                      number_json (fit->r2), "r2_adjusted",
                      number_json (fit->r2_adjusted));
}

int show_json (const struct topology_model *m, const struct fit *fit, FILE *fp,
               struct error *err)
{
    json_t *rest = json_pack ("{s:o, s:I, s:o}", "nodes", nodes_json (m),
                              "switches",
                              (json_int_t)(m->nvertices - m->nnodes), "edges",
                              edges_json (m, fit));

    if (rest && fit)
        json_object_set_new (rest, "fit", fit_json (fit));
    return json_write_file ("topology", NULL, rest, fp, err);
}
