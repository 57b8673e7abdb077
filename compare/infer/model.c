/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inferred topology: normal form, paths. */
#include "config.h"
#include "compare/infer/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/pool.h"
#include "util/sets.h"
#include "util/sort.h"

struct topology_model *topology_create (uint32_t nnodes,
                                        const char *const *label)
{
    struct topology_model *m = xcalloc (1, sizeof (*m));

    m->label = xarray (nnodes, sizeof (*m->label));
    m->nnodes = m->nvertices = nnodes;
    for (uint32_t i = 0; i < nnodes; i++)
        m->label[i] = label ? xstrdup (label[i]) : xasprintf ("%u", i + 1);
    return m;
}

struct topology_model *topology_copy (const struct topology_model *m)
{
    struct topology_model *copy
        = topology_create (m->nnodes, (const char *const *)m->label);

    copy->nvertices = m->nvertices;
    copy->noise_ns = m->noise_ns;
    copy->dof = m->dof;
    for (size_t i = 0; i < m->nedges; i++)
        topology_add_edge (copy, m->edge[i].a, m->edge[i].b,
                           m->edge[i].latency_ns);
    return copy;
}

void topology_destroy (struct topology_model *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->nnodes; i++)
        free (m->label[i]);
    free (m->label);
    free (m->edge);
    free (m);
}

uint32_t topology_add_switch (struct topology_model *m)
{
    return m->nvertices++;
}

uint32_t topology_find (const struct topology_model *m, const char *label)
{
    for (uint32_t i = 0; i < m->nnodes; i++)
        if (strcmp (m->label[i], label) == 0)
            return i;
    return TOPOLOGY_NONE;
}

void topology_name (const struct topology_model *m, uint32_t vertex, char *buf,
                    size_t size)
{
    if (vertex < m->nnodes)
        snprintf (buf, size, "%s", m->label[vertex]);
    else
        snprintf (buf, size, "switch %u", vertex - m->nnodes + 1);
}

static struct topology_edge edge (uint32_t a, uint32_t b, double latency_ns)
{
    return (struct topology_edge){ a < b ? a : b, a < b ? b : a, latency_ns,
                                   0 };
}

struct topology_edge *topology_add_edge (struct topology_model *m, uint32_t a,
                                         uint32_t b, double latency_ns)
{
    m->edge = xgrow (m->edge, m->nedges, sizeof (*m->edge));
    m->edge[m->nedges] = edge (a, b, latency_ns);
    return &m->edge[m->nedges++];
}

static int by_ends (const void *va, const void *vb)
{
    const struct topology_edge *a = va, *b = vb;

    if (a->a != b->a)
        return util_compare (a->a, b->a);
    return util_compare (a->b, b->b);
}

static int by_ends_and_length (const void *va, const void *vb)
{
    const struct topology_edge *a = va, *b = vb;
    int order = by_ends (a, b);

    return order ? order : util_compare (a->latency_ns, b->latency_ns);
}

size_t topology_edge_of (const struct topology_model *m, uint32_t a,
                         uint32_t b)
{
    struct topology_edge key = edge (a, b, 0);
    const struct topology_edge *e
        = m->nedges ? bsearch (&key, m->edge, m->nedges, sizeof (key), by_ends)
                    : NULL;

    return e ? (size_t)(e - m->edge) : m->nedges;
}

/*
 * The normal form
 */

/* Rename the vertices of all edges, sort them and remove loops. Of several
 * edges between two vertices, keep the shortest.
 */
static void sort_edges (struct topology_model *m, const uint32_t *name)
{
    size_t kept = 0;

    for (size_t i = 0; name && i < m->nedges; i++) {
        struct topology_edge *e = &m->edge[i], old = *e;

        *e = edge (name[old.a], name[old.b], old.latency_ns);
        e->rate = old.rate;
    }
    if (m->nedges)
        qsort (m->edge, m->nedges, sizeof (*m->edge), by_ends_and_length);
    for (size_t i = 0; i < m->nedges; i++) {
        struct topology_edge e = m->edge[i];

        if (e.a != e.b && (kept == 0 || by_ends (&m->edge[kept - 1], &e)))
            m->edge[kept++] = e;
    }
    m->nedges = kept;
}

/* Unite switches that are no farther apart than `zero`. */
static void join_near (struct topology_model *m, double zero)
{
    uint32_t *parent = xarray (m->nvertices, sizeof (*parent));

    for (uint32_t v = 0; v < m->nvertices; v++)
        parent[v] = v;
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        if (e->a >= m->nnodes && e->b >= m->nnodes && e->latency_ns <= zero)
            parent[sets_find (parent, e->a)] = sets_find (parent, e->b);
    }
    for (uint32_t v = 0; v < m->nvertices; v++)
        parent[v] = sets_find (parent, v);
    sort_edges (m, parent);
    free (parent);
}

struct csr topology_edges (const struct topology_model *m, size_t first)
{
    size_t *count = xcalloc (m->nvertices, sizeof (*count));
    struct csr edges;

    for (size_t i = first; i < m->nedges; i++) {
        count[m->edge[i].a]++;
        count[m->edge[i].b]++;
    }
    edges = csr_create (m->nvertices, count);
    memset (count, 0, m->nvertices * sizeof (*count));
    for (size_t i = first; i < m->nedges; i++) {
        uint32_t a = m->edge[i].a, b = m->edge[i].b;

        edges.v[edges.start[a] + count[a]++] = i;
        edges.v[edges.start[b] + count[b]++] = i;
    }
    free (count);
    return edges;
}

static uint32_t other_edge_end (const struct topology_edge *e, uint32_t v)
{
    return e->a == v ? e->b : e->a;
}

/* Remove one switch that has fewer than three edges. Returns whether there was
 * one.
 */
static bool drop_one (struct topology_model *m)
{
    struct csr edges = topology_edges (m, 0);
    uint32_t v = m->nnodes;

    for (; v < m->nvertices; v++) {
        size_t n = edges.start[v + 1] - edges.start[v];
        const uint32_t *of = edges.v + edges.start[v];
        struct topology_edge gone, *left;

        if (n == 0 || n > 2)
            continue;
        gone = m->edge[of[n - 1]];
        m->edge[of[n - 1]] = m->edge[--m->nedges];
        if (n == 2) {
            left = &m->edge[of[0]];
            left->latency_ns += gone.latency_ns;
            left->a = other_edge_end (left, v);
            left->b = other_edge_end (&gone, v);
            *left = edge (left->a, left->b, left->latency_ns);
        }
        sort_edges (m, NULL);
        break;
    }
    csr_clear (&edges);
    return v < m->nvertices;
}

/* Number the switches in the order in which a breadth-first walk along the
 * edges reaches them, starting from the nodes. Switches that it does not reach
 * are removed.
 */
static void renumber (struct topology_model *m)
{
    uint32_t *number = xarray (m->nvertices, sizeof (*number));
    uint32_t *queue = xarray (m->nvertices, sizeof (*queue));
    struct csr edges = topology_edges (m, 0);
    uint32_t next = m->nnodes;

    for (uint32_t v = 0; v < m->nvertices; v++) {
        number[v] = v < m->nnodes ? v : TOPOLOGY_NONE;
        queue[v] = v;
    }
    for (uint32_t head = 0; head < next; head++) {
        uint32_t v = queue[head];

        for (size_t i = edges.start[v]; i < edges.start[v + 1]; i++) {
            uint32_t w = other_edge_end (&m->edge[edges.v[i]], v);

            if (number[w] == TOPOLOGY_NONE) {
                queue[next] = w;
                number[w] = next++;
            }
        }
    }
    m->nvertices = next;
    sort_edges (m, number);
    csr_clear (&edges);
    free (queue);
    free (number);
}

void topology_normal (struct topology_model *m, double zero)
{
    join_near (m, zero);
    while (drop_one (m))
        ;
    renumber (m);
}

/*
 * Paths
 */

/* A vertex is queued again when a shorter path to it is found; the queue is a
 * ring.
 */
void topology_paths_from (const struct topology_model *m,
                          const struct csr *edges, size_t but, uint32_t from,
                          double *d, uint32_t *last)
{
    uint32_t n = m->nvertices, head = 0, waiting = 1;
    uint32_t *queue = xarray (n, sizeof (*queue));
    bool *queued = xcalloc (n, sizeof (*queued));

    for (uint32_t v = 0; v < n; v++) {
        d[v] = v == from ? 0 : INFINITY;
        last[v] = TOPOLOGY_NONE;
    }
    queue[0] = from;
    while (waiting > 0) {
        uint32_t v = queue[head];

        head = (head + 1) % n;
        waiting--;
        queued[v] = false;
        for (size_t i = edges->start[v]; i < edges->start[v + 1]; i++) {
            const struct topology_edge *e = &m->edge[edges->v[i]];
            uint32_t w = other_edge_end (e, v);

            if (edges->v[i] == but || d[v] + e->latency_ns >= d[w])
                continue;
            d[w] = d[v] + e->latency_ns;
            last[w] = v;
            if (!queued[w])
                queue[(head + waiting++) % n] = w;
            queued[w] = true;
        }
    }
    free (queue);
    free (queued);
}

void topology_paths (const struct topology_model *m, double *d, uint32_t *last)
{
    struct csr edges = topology_edges (m, 0);
    uint32_t *unread = last ? NULL : xarray (m->nvertices, sizeof (*last));

    for (uint32_t a = 0; a < m->nnodes; a++)
        topology_paths_from (m, &edges, m->nedges, a,
                             d + (size_t)a * m->nvertices,
                             last ? last + (size_t)a * m->nvertices : unread);
    csr_clear (&edges);
    free (unread);
}

/*
 * Paths as a network
 *
 * The shortest paths from a node to all vertices are a tree. In reverse, it
 * shows how messages to that node are forwarded.
 *
 * Places are the vertices, where messages are forwarded, followed by the nodes
 * again, where messages are received. A node may forward for others, so the
 * place where it sends differs from the place where it receives.
 */

enum { NAME_SIZE = INFER_MAX_LABEL + 1 };

struct routes {
    struct pool *pool; /* of it */
    struct network net;
    const struct topology_model *m;
    uint32_t *arc; /* [nnodes * nvertices] from a vertex towards a node;
                      NETWORK_NONE: no path */
    struct link_info *link;
    struct switch_info *sw;  /* [nvertices] */
    char (*name)[NAME_SIZE]; /* [nvertices] */
    char hash[24];
};

static uint32_t arc_head_vertex (const struct topology_model *m, uint32_t arc)
{
    const struct topology_edge *e = &m->edge[arc_link (arc)];

    return arc & 1 ? e->a : e->b;
}

static uint32_t arc_to (const struct routes *r, uint32_t at, uint32_t to)
{
    return r->arc[(size_t)to * r->m->nvertices + at];
}

static uint32_t endpoint_place (const void *net, uint32_t endpoint)
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
    next = arc_head_vertex (r->m, *arc);
    return next == to ? endpoint_place (r, to) : next;
}

static int walk_model_route (const void *net, uint32_t from, uint32_t to,
                             uint32_t *arc, struct error *err)
{
    const struct routes *r = net;
    const struct topology_model *m = r->m;
    int n = 0;

    for (uint32_t at = from; at != to; at = arc_head_vertex (m, arc[n++])) {
        if (n == PATH_MAX_HOPS)
            return error_input (err, "the path from %s to %s has more than %d "
                                     "edges", m->label[from], m->label[to],
                                PATH_MAX_HOPS);
        if ((arc[n] = arc_to (r, at, to)) == NETWORK_NONE)
            return error_input (err, "%s is not joined to %s", m->label[from],
                                m->label[to]);
    }
    return n;
}

/* After Fowler, Noll, Vo: FNV-1a. */
static uint64_t hash_text (uint64_t hash, const char *s)
{
    do
        hash = (hash ^ (unsigned char)*s) * UINT64_C (0x100000001b3);
    while (*s++);
    return hash;
}

static void name_links (struct routes *r)
{
    const struct topology_model *m = r->m;
    uint64_t hash = UINT64_C (0xcbf29ce484222325);

    for (uint32_t v = 0; v < m->nvertices; v++)
        topology_name (m, v, r->name[v], NAME_SIZE);
    for (uint32_t v = m->nnodes; v < m->nvertices; v++)
        r->sw[v] = (struct switch_info){ r->name[v], r->name[v] };
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        bool is_host = e->a < m->nnodes;

        r->link[i] = (struct link_info){
            .id = pool_printf (r->pool, "%s - %s", r->name[e->a],
                               r->name[e->b]),
            .kind = is_host ? LINK_HOST : LINK_SWITCH,
            .class_id = !is_host,
            .class_name = is_host ? "host" : "switch",
            .host = is_host ? m->label[e->a] : NULL,
            .end = { is_host ? NETWORK_NONE : e->a,
                     e->b < m->nnodes ? NETWORK_NONE : e->b },
        };
        hash = hash_text (hash, r->link[i].id);
    }
    snprintf (r->hash, sizeof (r->hash), "model-%016" PRIx64, hash);
}

struct routes *routes_create (const struct topology_model *m)
{
    size_t size = (size_t)m->nnodes * m->nvertices;
    struct pool *pool = pool_create ();
    struct routes *r = pool_alloc (pool, 1, sizeof (*r));
    double *ns = pool_alloc (pool, size, sizeof (*ns));

    r->pool = pool;
    r->m = m;
    r->arc = pool_alloc (pool, size, sizeof (*r->arc));
    r->link = pool_alloc (pool, m->nedges, sizeof (*r->link));
    r->sw = pool_alloc (pool, m->nvertices, sizeof (*r->sw));
    r->name = pool_alloc (pool, m->nvertices, sizeof (*r->name));
    name_links (r);
    topology_paths (m, ns, r->arc);
    /* reverse the trees: the arc from each vertex to the one before it */
    for (size_t i = 0; i < size; i++) {
        uint32_t v = i % m->nvertices;
        size_t e;

        if (r->arc[i] == TOPOLOGY_NONE)
            continue;
        e = topology_edge_of (m, v, r->arc[i]);
        r->arc[i] = 2 * e + (m->edge[e].a != v);
    }
    r->net = (struct network){
        .net = r, .hash = r->hash, .nlinks = m->nedges, .link = r->link,
        .nswitches = m->nvertices, .sw = r->sw,
        .nplaces = (size_t)m->nvertices + m->nnodes, .walk = walk_model_route,
        .place = endpoint_place, .attach = attach, .hop = hop,
    };
    return r;
}

void routes_destroy (struct routes *r)
{
    if (r)
        pool_destroy (r->pool);
}

struct pathset *routes_nodes (const struct routes *r, struct error *err)
{
    uint32_t n = r->m->nnodes;
    struct endpoint *e = xarray (n, sizeof (*e));
    struct pathset *ps;

    for (uint32_t i = 0; i < n; i++)
        e[i] = (struct endpoint){ i, r->m->label[i], r->m->label[i] };
    ps = pathset_create (&r->net, e, n, err);
    free (e);
    return ps;
}
