/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths: which links the messages between two endpoints cross. */
#include "config.h"
#include "core/paths/paths.h"

#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "util/alloc.h"
#include "util/pool.h"
#include "util/sort.h"

struct pathset {
    struct pool *pool; /* of all of it */
    const struct network *net;
    struct endpoint *endpoint;
    const struct endpoint **by_name; /* sorted */
    size_t n;
    uint32_t *port;    /* [n] */
    size_t nports;
    uint32_t *subnet;  /* [n] */
    size_t nsubnets;
    uint32_t *link;    /* columns; NULL until pathset_links */
    int32_t *column;   /* [nlinks] */
    size_t m;
};

static int compare_name (const void *a, const void *b)
{
    const struct endpoint *const *x = a;
    const struct endpoint *const *y = b;

    return strcmp ((*x)->name, (*y)->name);
}

static int compare_id (const void *a, const void *b)
{
    const struct endpoint *const *x = a;
    const struct endpoint *const *y = b;

    return util_compare ((*x)->id, (*y)->id);
}

/* No name and no id may occur twice; also sorts by_name. */
static int check_unique (struct pathset *ps, struct error *err)
{
    const struct endpoint **v = ps->by_name;

    for (size_t i = 0; i < ps->n; i++)
        v[i] = &ps->endpoint[i];
    qsort (v, ps->n, sizeof (*v), compare_id);
    for (size_t i = 1; i < ps->n; i++)
        if (v[i]->id == v[i - 1]->id && strcmp (v[i]->name, v[i - 1]->name))
            return error_input (err, "%s and %s are one endpoint",
                                v[i - 1]->name, v[i]->name);
    qsort (v, ps->n, sizeof (*v), compare_name);
    for (size_t i = 1; i < ps->n; i++)
        if (strcmp (v[i]->name, v[i - 1]->name) == 0)
            return error_input (err, "endpoint %s is there twice",
                                v[i]->name);
    return 0;
}

/* The number of x among those that were numbered before; new ones get the next
 * number.
 */
static uint32_t assign_number (uint32_t *of, uint32_t x, size_t *n)
{
    if (of[x] == 0)
        of[x] = ++*n;
    return of[x] - 1;
}

struct pathset *pathset_create (const struct network *net,
                                const struct endpoint *endpoint, size_t n,
                                struct error *err)
{
    struct pool *pool = pool_create ();
    struct pathset *ps = pool_alloc (pool, 1, sizeof (*ps));
    uint32_t *port_at, *subnet_at; /* [nplaces], [nsubnets]: number + 1 */

    ps->pool = pool;
    ps->net = net;
    ps->n = n;
    ps->endpoint = pool_alloc (pool, n, sizeof (*ps->endpoint));
    ps->by_name = pool_alloc (pool, n, sizeof (*ps->by_name));
    ps->port = pool_alloc (pool, n, sizeof (*ps->port));
    ps->subnet = pool_alloc (pool, n, sizeof (*ps->subnet));
    for (size_t i = 0; i < n; i++)
        ps->endpoint[i] = (struct endpoint){
            endpoint[i].id,
            pool_strdup (pool, endpoint[i].name),
            pool_strdup (pool, endpoint[i].host),
        };
    if (check_unique (ps, err) < 0) {
        pathset_destroy (ps);
        return NULL;
    }
    port_at = xcalloc (net->nplaces, sizeof (*port_at));
    subnet_at = xcalloc (net->nsubnets + 1, sizeof (*subnet_at));
    for (size_t i = 0; i < n; i++) {
        uint32_t id = ps->endpoint[i].id;

        ps->port[i]
            = assign_number (port_at, net->place (net->net, id), &ps->nports);
        ps->subnet[i] = assign_number (
            subnet_at, net->subnet ? net->subnet (net->net, id) : 0,
            &ps->nsubnets);
    }
    free (port_at);
    free (subnet_at);
    return ps;
}

void pathset_destroy (struct pathset *ps)
{
    if (ps)
        pool_destroy (ps->pool);
}

struct pathset *pathset_on (const struct pathset *ps,
                            const struct network *net, struct error *err)
{
    return pathset_create (net, ps->endpoint, ps->n, err);
}

unsigned int network_cage (const struct network *net, uint32_t it,
                           uint32_t link, const struct switch_info **sw)
{
    const struct link_info *a = &net->link[it], *b = &net->link[link];

    for (int i = 0; i < 4 && it != link; i++)
        if (a->cage[i / 2] != 0 && a->cage[i / 2] == b->cage[i % 2]
            && a->end[i / 2] != NETWORK_NONE
            && a->end[i / 2] == b->end[i % 2]) {
            *sw = &net->sw[a->end[i / 2]];
            return a->cage[i / 2];
        }
    return 0;
}

const struct network *pathset_network (const struct pathset *ps)
{
    return ps->net;
}

size_t pathset_size (const struct pathset *ps)
{
    return ps->n;
}

const struct endpoint *pathset_endpoint (const struct pathset *ps, size_t i)
{
    return &ps->endpoint[i];
}

size_t pathset_ports (const struct pathset *ps)
{
    return ps->nports;
}

uint32_t pathset_port (const struct pathset *ps, size_t i)
{
    return ps->port[i];
}

size_t pathset_subnets (const struct pathset *ps)
{
    return ps->nsubnets;
}

uint32_t pathset_subnet (const struct pathset *ps, size_t i)
{
    return ps->subnet[i];
}

struct pathset *pathset_part (const struct pathset *ps, uint32_t subnet)
{
    struct endpoint *v = xarray (ps->n, sizeof (*v));
    struct pathset *part;
    size_t n = 0;

    for (size_t i = 0; i < ps->n; i++)
        if (ps->subnet[i] == subnet)
            v[n++] = ps->endpoint[i];
    part = pathset_create (ps->net, v, n, NULL);
    free (v);
    return part;
}

int pathset_one_subnet (const struct pathset *ps, struct error *err)
{
    return ps->nsubnets < 2
               ? 0
               : error_input (err,
                              "the hosts' ports are in %zu subnets, "
                              "between which there is no path: take "
                              "the snapshot of one",
                              ps->nsubnets);
}

bool pathset_is_pair (const struct pathset *ps, size_t a, size_t b)
{
    return ps->port[a] != ps->port[b] && ps->subnet[a] == ps->subnet[b];
}

int pathset_find (const struct pathset *ps, const char *name)
{
    const struct endpoint key = { .name = name }, *want = &key;
    const struct endpoint **at
        = bsearch (&want, ps->by_name, ps->n, sizeof (*at), compare_name);

    return at ? (int)(*at - ps->endpoint) : -1;
}

int pathset_walk (const struct pathset *ps, size_t a, size_t b,
                  uint32_t *arc, struct error *err)
{
    return ps->net->walk (ps->net->net, ps->endpoint[a].id,
                          ps->endpoint[b].id, arc, err);
}

uint32_t pathset_end_link (const struct pathset *ps, size_t end)
{
    const struct network *net = pathset_network (ps);
    uint32_t arc[PATH_MAX_HOPS];
    size_t to = 0;

    net->attach (net->net, pathset_endpoint (ps, end)->id, arc);
    if (arc[0] != NETWORK_NONE)
        return arc_link (arc[0]);
    /* without a hop of its own: the first link of any path */
    while (to < pathset_size (ps) && !pathset_is_pair (ps, end, to))
        to++;
    return to < pathset_size (ps) && pathset_walk (ps, end, to, arc, NULL) > 0
               ? arc_link (arc[0])
               : NETWORK_NONE;
}

static void sort_arcs (uint32_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t x = v[i];
        size_t k = i;

        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
}

static int find_path_row (const struct pathset *ps, size_t a, size_t b,
                          bool returns, struct row *row, struct error *err)
{
    uint32_t arc[ROW_MAX];
    int there = pathset_walk (ps, a, b, arc, err);
    int back = there < 0 || !returns
                   ? there
                   : pathset_walk (ps, b, a, arc + there, err);

    if (back > 0 && !returns)
        memcpy (arc + there, arc, (size_t)there * sizeof (*arc));
    if (back < 0)
        return error_prefix (err, "%s to %s", ps->endpoint[a].name,
                             ps->endpoint[b].name);
    sort_arcs (arc, there);
    sort_arcs (arc + there, back);
    row->n = 0;
    for (int i = 0, k = there; i < there || k < there + back;) {
        bool forth = k == there + back
            || (i < there && arc_link (arc[i]) <= arc_link (arc[k]));
        uint32_t next = forth ? arc[i++] : arc[k++];
        size_t last = row->n - 1;

        if (row->n == 0 || row->link[last] != arc_link (next)) {
            row->link[++last] = arc_link (next);
            row->count[last] = row->forth[last] = 0;
            row->n++;
        }
        row->forth[last] += next % 2 == 0;
        if (++row->count[last] > 2)
            return error_input (err,
                                "%s to %s and back crosses link %s more than"
                                " twice", ps->endpoint[a].name,
                                ps->endpoint[b].name,
                                ps->net->link[row->link[last]].id);
    }
    row->symmetric = there == back && row->n == (size_t)there;
    return 0;
}

int pathset_row (const struct pathset *ps, size_t a, size_t b,
                 struct row *row, struct error *err)
{
    return find_path_row (ps, a, b, true, row, err);
}

int pathset_row_there (const struct pathset *ps, size_t a, size_t b,
                       struct row *row, struct error *err)
{
    return find_path_row (ps, a, b, false, row, err);
}

void pathset_set_links (struct pathset *ps, const uint8_t *used)
{
    if (ps->link)
        return;
    ps->column = pool_alloc (ps->pool, ps->net->nlinks, sizeof (*ps->column));
    for (size_t i = 0; i < ps->net->nlinks; i++)
        ps->column[i] = used[i] ? (int32_t)ps->m++ : -1;
    ps->link = pool_alloc (ps->pool, ps->m + 1, sizeof (*ps->link));
    for (size_t i = 0; i < ps->net->nlinks; i++)
        if (used[i])
            ps->link[ps->column[i]] = i;
}

const uint32_t *pathset_links (struct pathset *ps, size_t *m,
                               struct error *err)
{
    struct tree *tree;
    uint8_t *used;

    *m = ps->m;
    if (ps->link)
        return ps->link;
    used = xcalloc (ps->net->nlinks, 1);
    tree = tree_create (ps);
    for (size_t i = 0; i < ps->n; i++) {
        if (tree_grow (tree, i, err) < 0)
            goto error;
        for (size_t k = 1; k < tree->n; k++)
            used[arc_link (tree->arc[k])] = 1;
    }
    pathset_set_links (ps, used);
    *m = ps->m;
error:
    tree_destroy (tree);
    free (used);
    return ps->link;
}

int pathset_column (const struct pathset *ps, uint32_t link)
{
    return ps->column[link];
}
