/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: the shortest paths from a node to all vertices are a tree; read the
 * other way round it is how messages for the node are forwarded.
 *
 * Places are the vertices, where messages are forwarded, and behind them the
 * nodes again, where they receive: as a node may forward for others, it does
 * not send from where it receives.
 */
#include "config.h"
#include "compare/infer/routes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/matrix.h"
#include "compare/infer/show.h"

enum { NAME_SIZE = INFER_MAX_LABEL + 1 };

struct routes {
    struct network net;
    const struct topology_model *m;
    double *ns;          /* [nnodes * nvertices] */
    uint32_t *arc;       /* the same: from a vertex towards a node;
                            NETWORK_NONE: no way */
    struct link_info *link;
    char **id;           /* [nedges] */
    struct switch_info *sw; /* [nvertices] */
    char (*sw_name)[32];
    char hash[24];
};

static uint32_t head (const struct topology_model *m, uint32_t arc)
{
    const struct topology_edge *e = &m->edge[arc_link (arc)];

    return arc & 1 ? e->a : e->b;
}

static uint32_t arc_to (const struct routes *r, uint32_t at, uint32_t to)
{
    return r->arc[(size_t)to * r->m->nvertices + at];
}

static uint32_t place (const void *net, uint32_t endpoint)
{
    const struct routes *r = net;

    return r->m->nvertices + endpoint;
}

static uint32_t attach (const void *net, uint32_t endpoint, uint32_t *arc)
{
    (void)net;
    *arc = NETWORK_NONE;
    return endpoint;
}

static uint32_t hop (const void *net, uint32_t at, uint32_t to, uint32_t *arc)
{
    const struct routes *r = net;
    uint32_t next;

    if (at >= r->m->nvertices || (*arc = arc_to (r, at, to)) == NETWORK_NONE)
        return NETWORK_NONE;
    next = head (r->m, *arc);
    return next == to ? place (r, to) : next;
}

static int walk (const void *net, uint32_t from, uint32_t to, uint32_t *arc,
                 struct error *err)
{
    const struct routes *r = net;
    const struct topology_model *m = r->m;
    int n = 0;

    for (uint32_t at = from; at != to; at = head (m, arc[n++])) {
        if (n == PATH_MAX_HOPS)
            return error_input (err, "the path from %s to %s has more than "
                                     "%d edges",
                                m->label[from], m->label[to], PATH_MAX_HOPS);
        if ((arc[n] = arc_to (r, at, to)) == NETWORK_NONE)
            return error_input (err, "%s is not joined to %s", m->label[from],
                                m->label[to]);
    }
    return n;
}

/* Turn the trees round: the arc from each vertex to the one before it. */
static int find_paths (struct routes *r)
{
    const struct topology_model *m = r->m;

    if (topology_paths (m, r->ns, r->arc) < 0)
        return -1;
    for (uint32_t to = 0; to < m->nnodes; to++)
        for (uint32_t v = 0; v < m->nvertices; v++) {
            uint32_t *arc = &r->arc[(size_t)to * m->nvertices + v];
            size_t e;

            if (*arc == TOPOLOGY_NONE)
                continue;
            e = topology_edge_of (m, v, *arc);
            *arc = 2 * e + (m->edge[e].a != v);
        }
    return 0;
}

/* After Fowler, Noll, Vo: FNV-1a. */
static uint64_t hash_text (uint64_t hash, const char *s)
{
    do
        hash = (hash ^ (unsigned char)*s) * UINT64_C (0x100000001b3);
    while (*s++);
    return hash;
}

static int name_links (struct routes *r)
{
    const struct topology_model *m = r->m;
    uint64_t hash = UINT64_C (0xcbf29ce484222325);
    char a[NAME_SIZE], b[NAME_SIZE];

    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        bool is_host = e->a < m->nnodes;

        show_name (m, e->a, a, sizeof (a));
        show_name (m, e->b, b, sizeof (b));
        if (asprintf (&r->id[i], "%s - %s", a, b) < 0) {
            r->id[i] = NULL;
            return -1;
        }
        hash = hash_text (hash, r->id[i]);
        r->link[i] = (struct link_info){
            .id = r->id[i],
            .kind = is_host ? LINK_HOST : LINK_SWITCH,
            .class_id = !is_host,
            .class_name = is_host ? "host" : "switch",
            .host = is_host ? m->label[e->a] : NULL,
            .end = { is_host ? NETWORK_NONE : e->a,
                     e->b < m->nnodes ? NETWORK_NONE : e->b },
        };
    }
    for (uint32_t v = m->nnodes; v < m->nvertices; v++) {
        show_name (m, v, r->sw_name[v], sizeof (r->sw_name[v]));
        r->sw[v] = (struct switch_info){ r->sw_name[v], r->sw_name[v] };
    }
    snprintf (r->hash, sizeof (r->hash), "model-%016" PRIx64, hash);
    return 0;
}

struct routes *routes_create (const struct topology_model *m,
                              struct error *err)
{
    size_t size = (size_t)m->nnodes * m->nvertices + 1;
    struct routes *r = calloc (1, sizeof (*r));

    if (!r)
        goto nomem;
    r->m = m;
    r->ns = calloc (size, sizeof (*r->ns));
    r->arc = calloc (size, sizeof (*r->arc));
    r->link = calloc (m->nedges + 1, sizeof (*r->link));
    r->id = calloc (m->nedges + 1, sizeof (*r->id));
    r->sw = calloc (m->nvertices + 1, sizeof (*r->sw));
    r->sw_name = calloc (m->nvertices + 1, sizeof (*r->sw_name));
    if (!r->ns || !r->arc || !r->link || !r->id || !r->sw || !r->sw_name
        || name_links (r) < 0 || find_paths (r) < 0)
        goto nomem;
    r->net = (struct network){
        .net = r,
        .hash = r->hash,
        .nlinks = m->nedges,
        .link = r->link,
        .nswitches = m->nvertices,
        .sw = r->sw,
        .nplaces = (size_t)m->nvertices + m->nnodes,
        .walk = walk,
        .place = place,
        .attach = attach,
        .hop = hop,
    };
    return r;
nomem:
    error_nomem (err);
    routes_destroy (r);
    return NULL;
}

void routes_destroy (struct routes *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->id && i < r->m->nedges; i++)
        free (r->id[i]);
    free (r->ns);
    free (r->arc);
    free (r->link);
    free (r->id);
    free (r->sw);
    free (r->sw_name);
    free (r);
}

const struct network *routes_network (const struct routes *r)
{
    return &r->net;
}

double routes_ns (const struct routes *r, uint32_t node, uint32_t to)
{
    return r->ns[(size_t)node * r->m->nvertices + to];
}

struct pathset *routes_nodes (const struct routes *r, struct error *err)
{
    return routes_resolve ((const char *const *)r->m->label, r->m->nnodes,
                           (void *)r, err);
}

static uint32_t find_node (const struct topology_model *m, const char *name)
{
    for (uint32_t i = 0; i < m->nnodes; i++)
        if (strcmp (m->label[i], name) == 0)
            return i;
    return TOPOLOGY_NONE;
}

struct pathset *routes_resolve (const char *const *name, size_t n, void *arg,
                                struct error *err)
{
    const struct routes *r = arg;
    struct endpoint *e = calloc (n + 1, sizeof (*e));
    struct pathset *ps = NULL;

    if (!e) {
        error_nomem (err);
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t node = find_node (r->m, name[i]);

        if (node == TOPOLOGY_NONE) {
            error_input (err, "the topology has no node %.80s", name[i]);
            goto done;
        }
        e[i] = (struct endpoint){ node, r->m->label[node],
                                  r->m->label[node] };
    }
    ps = pathset_create (&r->net, e, n, err);
done:
    free (e);
    return ps;
}
