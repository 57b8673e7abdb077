/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/through.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "compare/throughput/halve.h"
#include "util/alloc.h"

/* The hosts behind a port. */
struct subtree {
    uint32_t link;
    uint32_t ports;
    double rate; /* of their own links */
};

static int compare_links (const void *a, const void *b)
{
    const struct subtree *x = a;
    const struct subtree *y = b;

    return (x->link > y->link) - (x->link < y->link);
}

/* One for each port of the set, then joined by links; returns their number. */
static size_t find_subtrees (const struct pathset *ps, uint32_t sw,
                             const double *rate, struct subtree *tree)
{
    const struct network *net = pathset_network (ps);
    size_t n = 0, joined = 0;

    for (size_t i = 0, port = 0; i < pathset_size (ps); i++) {
        uint32_t id = pathset_endpoint (ps, i)->id, arc, own;

        if (pathset_port (ps, i) != port) /* another address of one before */
            continue;
        port++;
        if (net->hop (net->net, sw, id, &arc) == NETWORK_NONE)
            continue;
        net->attach (net->net, id, &own);
        tree[n++] = (struct subtree){
            arc_link (arc), 1,
            own == NETWORK_NONE ? HUGE_VAL : rate[arc_link (own)],
        };
    }
    qsort (tree, n, sizeof (*tree), compare_links);
    for (size_t i = 0; i < n; i++)
        if (joined > 0 && tree[joined - 1].link == tree[i].link) {
            tree[joined - 1].ports += tree[i].ports;
            tree[joined - 1].rate += tree[i].rate;
        }
        else
            tree[joined++] = tree[i];
    return joined;
}

int through_switch (const struct pathset *ps, uint32_t sw, const double *rate,
                    struct through *out, struct error *err)
{
    size_t n = pathset_ports (ps);
    struct subtree *tree = xcalloc (n + 1, sizeof (*tree));
    uint32_t *weight = xcalloc (n + 1, sizeof (*weight));
    bool *second = xcalloc (n + 1, sizeof (*second));
    double half[2] = { 0 };
    int rc = -1;

    *out = (struct through){ 0 };
    if (!tree || !weight || !second) {
        error_nomem (err);
        goto error;
    }
    n = find_subtrees (ps, sw, rate, tree);
    for (size_t i = 0; i < n; i++) {
        weight[i] = tree[i].ports;
        out->ports[0] += weight[i];
    }
    if (halve (weight, n, second, &out->ports[1], err) < 0)
        goto error;
    for (size_t i = 0; i < n; i++)
        half[second[i]] += fmin (tree[i].rate, rate[tree[i].link]);
    out->subtrees = n;
    out->ports[0] -= out->ports[1];
    out->rate = fmin (half[0], half[1]);
    rc = 0;
error:
    free (tree);
    free (weight);
    free (second);
    return rc;
}
