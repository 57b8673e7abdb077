/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paths: which links the messages between two endpoints cross. */
#include "config.h"
#include "core/paths/paths.h"

#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "util/alloc.h"

struct pathset {
    const struct network *net;
    struct endpoint *endpoint;
    uint32_t *by_name; /* endpoints sorted by name */
    size_t n;
    uint32_t *port;    /* [n] */
    size_t nports;
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

    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* No name and no id may occur twice; also fills by_name. */
static int check_unique (struct pathset *ps, struct error *err)
{
    const struct endpoint **v = xcalloc (ps->n + 1, sizeof (*v));
    int rc = 0;

    for (size_t i = 0; i < ps->n; i++)
        v[i] = &ps->endpoint[i];
    qsort (v, ps->n, sizeof (*v), compare_name);
    for (size_t i = 0; i < ps->n; i++)
        ps->by_name[i] = v[i] - ps->endpoint;
    for (size_t i = 1; i < ps->n && rc == 0; i++)
        if (strcmp (v[i]->name, v[i - 1]->name) == 0)
            rc = error_input (err, "endpoint %s is there twice", v[i]->name);
    qsort (v, ps->n, sizeof (*v), compare_id);
    for (size_t i = 1; i < ps->n && rc == 0; i++)
        if (v[i]->id == v[i - 1]->id)
            rc = error_input (err, "%s and %s are one endpoint",
                              v[i - 1]->name, v[i]->name);
    free (v);
    return rc;
}

struct arrival {
    uint32_t place;
    uint32_t endpoint;
};

static int compare_arrival (const void *a, const void *b)
{
    const struct arrival *x = a;
    const struct arrival *y = b;

    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return (x->endpoint > y->endpoint) - (x->endpoint < y->endpoint);
}

/* Number the ports in the order of their first endpoints. */
static void find_ports (struct pathset *ps)
{
    struct arrival *v = xcalloc (ps->n + 1, sizeof (*v));

    ps->port = xcalloc (ps->n + 1, sizeof (*ps->port));
    for (size_t i = 0; i < ps->n; i++)
        v[i] = (struct arrival){
            ps->net->place (ps->net->net, ps->endpoint[i].id), i,
        };
    qsort (v, ps->n, sizeof (*v), compare_arrival);
    /* the first endpoint's number, until the loop below reaches it */
    for (size_t k = 0; k < ps->n; k++)
        ps->port[v[k].endpoint] = k > 0 && v[k].place == v[k - 1].place
            ? ps->port[v[k - 1].endpoint] : v[k].endpoint;
    for (size_t i = 0; i < ps->n; i++)
        ps->port[i] = ps->port[i] == i ? ps->nports++
                                       : ps->port[ps->port[i]];
    free (v);
}

struct pathset *pathset_create (const struct network *net,
                                const struct endpoint *endpoint, size_t n,
                                struct error *err)
{
    struct pathset *ps = xcalloc (1, sizeof (*ps));

    ps->net = net;
    ps->endpoint = xcalloc (n + 1, sizeof (*ps->endpoint));
    ps->by_name = xcalloc (n + 1, sizeof (*ps->by_name));
    for (; ps->n < n; ps->n++) {
        struct endpoint *e = &ps->endpoint[ps->n];

        e->id = endpoint[ps->n].id;
        e->name = xstrdup (endpoint[ps->n].name);
        e->host = xstrdup (endpoint[ps->n].host);
    }
    if (check_unique (ps, err) < 0) {
        pathset_destroy (ps);
        return NULL;
    }
    find_ports (ps);
    return ps;
}

void pathset_destroy (struct pathset *ps)
{
    if (!ps)
        return;
    for (size_t i = 0; i < ps->n; i++) {
        free ((char *)ps->endpoint[i].name);
        free ((char *)ps->endpoint[i].host);
    }
    free (ps->endpoint);
    free (ps->by_name);
    free (ps->port);
    free (ps->link);
    free (ps->column);
    free (ps);
}

struct pathset *pathset_on (const struct pathset *ps,
                            const struct network *net, struct error *err)
{
    return pathset_create (net, ps->endpoint, ps->n, err);
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

int pathset_find (const struct pathset *ps, const char *name)
{
    size_t low = 0;
    size_t high = ps->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        uint32_t i = ps->by_name[mid];
        int order = strcmp (name, ps->endpoint[i].name);

        if (order == 0)
            return (int)i;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return -1;
}

int pathset_walk (const struct pathset *ps, size_t a, size_t b,
                  uint32_t *arc, struct error *err)
{
    return ps->net->walk (ps->net->net, ps->endpoint[a].id,
                          ps->endpoint[b].id, arc, err);
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

int pathset_row (const struct pathset *ps, size_t a, size_t b,
                 struct row *row, struct error *err)
{
    uint32_t arc[ROW_MAX];
    int there = pathset_walk (ps, a, b, arc, err);
    int back = there < 0 ? -1 : pathset_walk (ps, b, a, arc + there, err);

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
    ps->column = xarray (ps->net->nlinks, sizeof (*ps->column));
    for (size_t i = 0; i < ps->net->nlinks; i++)
        ps->column[i] = used[i] ? (int32_t)ps->m++ : -1;
    ps->link = xcalloc (ps->m + 1, sizeof (*ps->link));
    for (size_t i = 0; i < ps->net->nlinks; i++)
        if (used[i])
            ps->link[ps->column[i]] = i;
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
