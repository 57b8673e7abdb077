/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inferred topology: its normal form, its paths, and equality. */
#include "config.h"
#include "compare/infer/model.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/rng.h"

struct topology_model *topology_create (uint32_t nnodes,
                                        const char *const *label)
{
    struct topology_model *m = calloc (1, sizeof (*m));

    if (!m || !(m->label = calloc ((size_t)nnodes + 1, sizeof (*m->label))))
        goto nomem;
    m->nnodes = m->nvertices = nnodes;
    m->r2 = NAN;
    for (uint32_t i = 0; i < nnodes; i++) {
        char number[16];

        snprintf (number, sizeof (number), "%u", i + 1);
        if (!(m->label[i] = strdup (label ? label[i] : number)))
            goto nomem;
    }
    return m;
nomem:
    topology_destroy (m);
    errno = ENOMEM;
    return NULL;
}

struct topology_model *topology_copy (const struct topology_model *m)
{
    struct topology_model *copy
        = topology_create (m->nnodes, (const char *const *)m->label);
    size_t bytes = m->nedges * sizeof (*m->edge);

    if (!copy || !(copy->edge = malloc (bytes + 1))) {
        topology_destroy (copy);
        return NULL;
    }
    memcpy (copy->edge, m->edge, bytes);
    copy->nedges = copy->edges_size = m->nedges;
    copy->nvertices = m->nvertices;
    copy->noise_ns = m->noise_ns;
    copy->r2 = m->r2;
    copy->dof = m->dof;
    return copy;
}

void topology_destroy (struct topology_model *m)
{
    int saved = errno;

    if (!m)
        return;
    for (uint32_t i = 0; m->label && i < m->nnodes; i++)
        free (m->label[i]);
    free (m->label);
    free (m->edge);
    free (m);
    errno = saved;
}

uint32_t topology_add_switch (struct topology_model *m)
{
    return m->nvertices++;
}

int topology_add_edge (struct topology_model *m, uint32_t a, uint32_t b,
                       double latency_ns)
{
    if (a == b) {
        errno = EINVAL;
        return -1;
    }
    if (m->nedges == m->edges_size) {
        size_t size = 2 * m->edges_size + 64;
        struct topology_edge *p = realloc (m->edge, size * sizeof (*p));

        if (!p)
            return -1;
        m->edge = p;
        m->edges_size = size;
    }
    m->edge[m->nedges++] = (struct topology_edge){
        .a = a < b ? a : b,
        .b = a < b ? b : a,
        .latency_ns = latency_ns,
    };
    return 0;
}

static int by_ends (const void *va, const void *vb)
{
    const struct topology_edge *a = va, *b = vb;

    if (a->a != b->a)
        return a->a < b->a ? -1 : 1;
    if (a->b != b->b)
        return a->b < b->b ? -1 : 1;
    return (a->latency_ns > b->latency_ns) - (a->latency_ns < b->latency_ns);
}

size_t topology_edge_of (const struct topology_model *m, uint32_t a,
                         uint32_t b)
{
    struct topology_edge key = { a < b ? a : b, a < b ? b : a, -1, 0 };
    size_t lo = 0, hi = m->nedges;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (by_ends (&m->edge[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo < m->nedges && m->edge[lo].a == key.a && m->edge[lo].b == key.b)
        return lo;
    return m->nedges;
}

/* Sort the edges, loops away, of several between two vertices the shortest
 * kept.
 */
static void sort_edges (struct topology_model *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->nedges; i++) {
        struct topology_edge *e = &m->edge[i];

        if (e->a > e->b) {
            uint32_t a = e->a;

            e->a = e->b;
            e->b = a;
        }
    }
    if (m->nedges)
        qsort (m->edge, m->nedges, sizeof (*m->edge), by_ends);
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        if (e->a == e->b
            || (kept > 0 && m->edge[kept - 1].a == e->a
                && m->edge[kept - 1].b == e->b))
            continue;
        m->edge[kept++] = *e;
    }
    m->nedges = kept;
}

static uint32_t root_of (uint32_t *parent, uint32_t v)
{
    while (parent[v] != v)
        v = parent[v] = parent[parent[v]];
    return v;
}

/* Draw switches together that are no further apart than `zero`. */
static void join_near (struct topology_model *m, double zero, uint32_t *parent)
{
    for (uint32_t v = 0; v < m->nvertices; v++)
        parent[v] = v;
    for (size_t i = 0; i < m->nedges; i++) {
        const struct topology_edge *e = &m->edge[i];

        if (e->a >= m->nnodes && e->b >= m->nnodes && e->latency_ns <= zero)
            parent[root_of (parent, e->a)] = root_of (parent, e->b);
    }
    for (size_t i = 0; i < m->nedges; i++) {
        m->edge[i].a = root_of (parent, m->edge[i].a);
        m->edge[i].b = root_of (parent, m->edge[i].b);
    }
    sort_edges (m);
}

/* Degrees of the vertices, and of each the last of its edges. */
static void count_edges (const struct topology_model *m, uint32_t *degree,
                         size_t *last)
{
    memset (degree, 0, m->nvertices * sizeof (*degree));
    for (size_t i = 0; i < m->nedges; i++) {
        degree[m->edge[i].a]++;
        degree[m->edge[i].b]++;
        last[m->edge[i].a] = last[m->edge[i].b] = i;
    }
}

static uint32_t other_end (const struct topology_edge *e, uint32_t v)
{
    return e->a == v ? e->b : e->a;
}

/* Take one switch away that has less than three edges. Returns whether there
 * was one.
 */
static bool drop_one (struct topology_model *m, uint32_t *degree,
                      size_t *last)
{
    count_edges (m, degree, last);
    for (uint32_t v = m->nnodes; v < m->nvertices; v++) {
        struct topology_edge gone;

        if (degree[v] == 0 || degree[v] > 2)
            continue;
        gone = m->edge[last[v]];
        m->edge[last[v]] = m->edge[--m->nedges];
        for (size_t i = 0; degree[v] == 2 && i < m->nedges; i++) {
            struct topology_edge *e = &m->edge[i];

            if (e->a != v && e->b != v)
                continue;
            e->a = other_end (e, v);
            e->b = other_end (&gone, v);
            e->latency_ns += gone.latency_ns;
            break;
        }
        sort_edges (m);
        return true;
    }
    return false;
}

/* The edges of each vertex: those of v are edge[first[v]] .. of the list. */
struct adjacency {
    size_t *first; /* [nvertices + 1] */
    size_t *edge;  /* [2 * nedges] */
};

static int adjacency_make (struct adjacency *adj,
                           const struct topology_model *m)
{
    adj->first = calloc ((size_t)m->nvertices + 2, sizeof (*adj->first));
    adj->edge = malloc ((2 * m->nedges + 1) * sizeof (*adj->edge));
    if (!adj->first || !adj->edge)
        return -1;
    for (size_t i = 0; i < m->nedges; i++) {
        adj->first[m->edge[i].a + 2]++;
        adj->first[m->edge[i].b + 2]++;
    }
    for (size_t v = 2; v < (size_t)m->nvertices + 2; v++)
        adj->first[v] += adj->first[v - 1];
    for (size_t i = 0; i < m->nedges; i++) {
        adj->edge[adj->first[m->edge[i].a + 1]++] = i;
        adj->edge[adj->first[m->edge[i].b + 1]++] = i;
    }
    return 0;
}

static void adjacency_clear (struct adjacency *adj)
{
    free (adj->first);
    free (adj->edge);
}

/* Number switches as a walk over the edges, breadth first and by the old
 * numbers, meets them; those that nobody meets are no more.
 */
static int renumber (struct topology_model *m)
{
    uint32_t *number = malloc (((size_t)m->nvertices + 1) * sizeof (*number));
    uint32_t *queue = malloc (((size_t)m->nvertices + 1) * sizeof (*queue));
    struct adjacency adj = { 0 };
    uint32_t head = 0, tail = 0, next = m->nnodes;
    int rc = -1;

    if (!number || !queue || adjacency_make (&adj, m) < 0)
        goto out;
    for (uint32_t v = 0; v < m->nvertices; v++)
        number[v] = v < m->nnodes ? v : TOPOLOGY_NONE;
    for (uint32_t v = 0; v < m->nnodes; v++)
        queue[tail++] = v;
    while (head < tail) {
        uint32_t v = queue[head++];

        for (size_t i = adj.first[v]; i < adj.first[v + 1]; i++) {
            uint32_t w = other_end (&m->edge[adj.edge[i]], v);

            if (number[w] == TOPOLOGY_NONE) {
                number[w] = next++;
                queue[tail++] = w;
            }
        }
    }
    for (size_t i = 0; i < m->nedges; i++) {
        m->edge[i].a = number[m->edge[i].a];
        m->edge[i].b = number[m->edge[i].b];
    }
    m->nvertices = next;
    sort_edges (m);
    rc = 0;
out:
    adjacency_clear (&adj);
    free (queue);
    free (number);
    return rc;
}

int topology_normal (struct topology_model *m, double zero)
{
    uint32_t *each = malloc (((size_t)m->nvertices + 1) * sizeof (*each));
    size_t *last = malloc (((size_t)m->nvertices + 1) * sizeof (*last));
    int rc = -1;

    if (each && last) {
        join_near (m, zero, each);
        while (drop_one (m, each, last))
            ;
        rc = renumber (m);
    }
    free (each);
    free (last);
    return rc;
}

/* A heap of vertices by their distance; `place` is where a vertex is. */
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

/* Dijkstra's paths from one vertex. */
static void paths_from (const struct topology_model *m,
                        const struct adjacency *adj, struct heap *h,
                        uint32_t from, double *d, uint32_t *last)
{
    h->d = d;
    h->n = m->nvertices;
    for (uint32_t v = 0; v < m->nvertices; v++) {
        d[v] = INFINITY;
        heap_put (h, v, v);
        if (last)
            last[v] = TOPOLOGY_NONE;
    }
    d[from] = 0;
    heap_rise (h, from);
    while (h->n > 0) {
        uint32_t v = heap_pop (h);

        for (size_t i = adj->first[v]; i < adj->first[v + 1]; i++) {
            const struct topology_edge *e = &m->edge[adj->edge[i]];
            uint32_t w = other_end (e, v);

            if (h->place[w] == TOPOLOGY_NONE || d[v] + e->latency_ns >= d[w])
                continue;
            d[w] = d[v] + e->latency_ns;
            if (last)
                last[w] = v;
            heap_rise (h, w);
        }
    }
}

int topology_paths (const struct topology_model *m, double *d, uint32_t *last)
{
    size_t n = (size_t)m->nvertices + 1;
    struct heap h = {
        .v = malloc (n * sizeof (*h.v)),
        .place = malloc (n * sizeof (*h.place)),
    };
    struct adjacency adj = { 0 };
    int rc = -1;

    if (h.v && h.place && adjacency_make (&adj, m) == 0) {
        for (uint32_t a = 0; a < m->nnodes; a++)
            paths_from (m, &adj, &h, a, d + (size_t)a * m->nvertices,
                        last ? last + (size_t)a * m->nvertices : NULL);
        rc = 0;
    }
    adjacency_clear (&adj);
    free (h.v);
    free (h.place);
    return rc;
}

/* One round of colours: of a vertex and of those next to it. */
static void refine (const struct topology_model *m, uint64_t *colour,
                    uint64_t *sum)
{
    memset (sum, 0, m->nvertices * sizeof (*sum));
    for (size_t i = 0; i < m->nedges; i++) {
        sum[m->edge[i].a] += rng_mix (colour[m->edge[i].b]);
        sum[m->edge[i].b] += rng_mix (colour[m->edge[i].a]);
    }
    for (uint32_t v = 0; v < m->nvertices; v++)
        colour[v] = rng_mix (colour[v] ^ rng_mix (sum[v]));
}

/* A number that is the same for all models that are alike. */
static int digest (const struct topology_model *m, uint64_t *value)
{
    uint64_t *colour = malloc (((size_t)m->nvertices + 1) * sizeof (*colour));
    uint64_t *sum = malloc (((size_t)m->nvertices + 1) * sizeof (*sum));
    int rc = -1;

    if (colour && sum) {
        *value = 0;
        for (uint32_t v = 0; v < m->nvertices; v++)
            colour[v] = v < m->nnodes ? rng_mix (v) : 0;
        for (uint32_t round = m->nnodes; round < m->nvertices + 1; round++)
            refine (m, colour, sum);
        for (uint32_t v = 0; v < m->nvertices; v++)
            *value += rng_mix (colour[v]);
        rc = 0;
    }
    free (colour);
    free (sum);
    return rc;
}

int topology_alike (const struct topology_model *a,
                    const struct topology_model *b)
{
    uint64_t of_a, of_b;

    if (a->nnodes != b->nnodes || a->nvertices != b->nvertices
        || a->nedges != b->nedges)
        return 0;
    if (digest (a, &of_a) < 0 || digest (b, &of_b) < 0)
        return -1;
    return of_a == of_b;
}
