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
    size_t n = m->nedges;
    struct csr ends = {
        .n = n,
        .start = xcalloc (n + 1, sizeof (*ends.start)),
        .v = xarray (2 * n, sizeof (*ends.v)),
    };
    struct csr edges;

    for (size_t i = first; i < n; i++) {
        size_t at = ends.start[i];

        ends.v[at] = m->edge[i].a;
        ends.v[at + 1] = m->edge[i].b;
        ends.start[i + 1] = at + 2;
    }
    edges = csr_transpose (&ends, m->nvertices);
    csr_clear (&ends);
    return edges;
}

static uint32_t other_end (const struct topology_edge *e, uint32_t v)
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
            left->a = other_end (left, v);
            left->b = other_end (&gone, v);
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
            uint32_t w = other_end (&m->edge[edges.v[i]], v);

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

/* A heap of vertices by distance; `place` is a vertex's position in it. */
struct heap {
    uint32_t *v, *place;
    uint32_t n;
    const double *d;
};

static void heap_put (struct heap *h, uint32_t at, uint32_t v)
{
    h->v[at] = v;
    h->place[v] = at;
}

static void heap_rise (struct heap *h, uint32_t v)
{
    uint32_t at = h->place[v];

    while (at > 0 && h->d[h->v[(at - 1) / 2]] > h->d[v]) {
        heap_put (h, at, h->v[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put (h, at, v);
}

static uint32_t heap_pop (struct heap *h)
{
    uint32_t top = h->v[0], v = h->v[--h->n], at = 0, child;

    h->place[top] = TOPOLOGY_NONE;
    if (h->n == 0)
        return top;
    while ((child = 2 * at + 1) < h->n) {
        if (child + 1 < h->n && h->d[h->v[child + 1]] < h->d[h->v[child]])
            child++;
        if (h->d[h->v[child]] >= h->d[v])
            break;
        heap_put (h, at, h->v[child]);
        at = child;
    }
    heap_put (h, at, v);
    return top;
}

/* After Dijkstra. */
void topology_paths_from (const struct topology_model *m,
                          const struct csr *edges, size_t but, uint32_t from,
                          double *d, uint32_t *last)
{
    struct heap h = {
        .v = xarray (m->nvertices, sizeof (*h.v)),
        .place = xarray (m->nvertices, sizeof (*h.place)),
        .n = m->nvertices,
        .d = d,
    };

    for (uint32_t v = 0; v < m->nvertices; v++) {
        d[v] = INFINITY;
        last[v] = TOPOLOGY_NONE;
        heap_put (&h, v, v);
    }
    d[from] = 0;
    heap_rise (&h, from);
    while (h.n > 0) {
        uint32_t v = heap_pop (&h);

        for (size_t i = edges->start[v]; i < edges->start[v + 1]; i++) {
            const struct topology_edge *e = &m->edge[edges->v[i]];
            uint32_t w = other_end (e, v);

            if (h.place[w] == TOPOLOGY_NONE || edges->v[i] == but
                || d[v] + e->latency_ns >= d[w])
                continue;
            d[w] = d[v] + e->latency_ns;
            last[w] = v;
            heap_rise (&h, w);
        }
    }
    free (h.v);
    free (h.place);
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
Notes: the shortest paths from a node to all vertices are a tree. In reverse,
 * it shows how messages to that node are forwarded.
 *
 * Places are the vertices, where messages are forwarded, followed by the nodes
 * again, where messages are received. A node may forward for others, so the
 * place where it sends differs from the place where it receives.
 */

enum { NAME_SIZE = INFER_MAX_LABEL + 1 };

struct routes {
    struct network net;
    const struct topology_model *m;
    double *ns;    /* [nnodes * nvertices] */
    uint32_t *arc; /* the same: from a vertex towards a node; NETWORK_NONE: no
                      path */
    struct link_info *link;
    char **id;              /* [nedges] */
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
            return error_input (err,
                                "the path from %s to %s has more than "
                                "%d edges",
                                m->label[from], m->label[to], PATH_MAX_HOPS);
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
    char a[NAME_SIZE], b[NAME_SIZE];

    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];
        bool is_host = e->a < m->nnodes;

        topology_name (m, e->a, a, sizeof (a));
        topology_name (m, e->b, b, sizeof (b));
        r->id[i] = xasprintf ("%s - %s", a, b);
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
        topology_name (m, v, r->sw_name[v], sizeof (r->sw_name[v]));
        r->sw[v] = (struct switch_info){ r->sw_name[v], r->sw_name[v] };
    }
    snprintf (r->hash, sizeof (r->hash), "model-%016" PRIx64, hash);
}

struct routes *routes_create (const struct topology_model *m)
{
    size_t size = (size_t)m->nnodes * m->nvertices;
    struct routes *r = xcalloc (1, sizeof (*r));

    r->m = m;
    r->ns = xarray (size, sizeof (*r->ns));
    r->arc = xarray (size, sizeof (*r->arc));
    r->link = xcalloc (m->nedges, sizeof (*r->link));
    r->id = xarray (m->nedges, sizeof (*r->id));
    r->sw = xcalloc (m->nvertices, sizeof (*r->sw));
    r->sw_name = xcalloc (m->nvertices, sizeof (*r->sw_name));
    name_links (r);
    topology_paths (m, r->ns, r->arc);
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
}

void routes_destroy (struct routes *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->m->nedges; i++)
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

struct pathset *routes_resolve (const char *const *name, size_t n, void *arg,
                                struct error *err)
{
    const struct routes *r = arg;
    struct endpoint *e = xarray (n, sizeof (*e));
    struct pathset *ps = NULL;
    size_t i = 0;

    for (; i < n; i++) {
        uint32_t node = topology_find (r->m, name[i]);

        if (node == TOPOLOGY_NONE)
            break;
        e[i] = (struct endpoint){ node, r->m->label[node], r->m->label[node] };
    }
    if (i < n)
        error_input (err, "the topology has no node %.80s", name[i]);
    else
        ps = pathset_create (&r->net, e, n, err);
    free (e);
    return ps;
}
