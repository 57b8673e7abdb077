/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * A LID at a time: the switches' entries for it are a graph with one edge each,
 * which is followed from every switch until one is reached that is known to
 * deliver. So each entry is looked at once.
 */
#include "config.h"
#include "ibquery/import/deliver.h"

#include <stdlib.h>
#include <string.h>

enum state { NEW, ON_PATH, DELIVERS };

struct deliver {
    const struct fabric *f;
    uint8_t *state; /* by node, for this LID */
    uint32_t *path; /* the switches from where we began to where we are */
    struct deliver_fault *fault;
};

static unsigned int entry (const struct fabric_node *n, unsigned int lid)
{
    return n->lft && lid <= n->lft_top ? n->lft[lid] : LFT_NO_ROUTE;
}

/* The port at the far end of a switch's; FABRIC_NONE: there is none. */
static uint32_t far_port (const struct fabric *f, const struct fabric_node *n,
                          unsigned int num)
{
    uint32_t port = n->first_port + num - 1;
    const struct fabric_link *l;

    if (num == 0 || num > n->nports || f->port[port].link == FABRIC_NONE)
        return FABRIC_NONE;
    l = &f->link[f->port[port].link];
    return l->a == port ? l->b : l->a;
}

/* What is wrong with an entry for a LID that leads to `far`; NULL: nothing, so
 * far.
 */
static const char *find_fault (const struct deliver *d, uint32_t far,
                               unsigned int lid, uint32_t to)
{
    const struct fabric_node *next;

    if (far == FABRIC_NONE)
        return "which leads nowhere";
    if (far == to)
        return NULL;
    next = &d->f->node[d->f->port[far].node];
    if (next->type != NODE_SWITCH)
        return "which leads to another node";
    if (d->state[next - d->f->node] == ON_PATH)
        return "from where it comes back";
    return entry (next, lid) == LFT_NO_ROUTE ? "where it has no route" : NULL;
}

/* From a switch on; false: with the fault. */
static bool follow (struct deliver *d, uint32_t node, unsigned int lid,
                    uint32_t to)
{
    uint32_t far = FABRIC_NONE;
    size_t n = 0;

    if (entry (&d->f->node[node], lid) == LFT_NO_ROUTE)
        return true;
    for (; far != to && d->state[node] == NEW; node = d->f->port[far].node) {
        const struct fabric_node *sw = &d->f->node[node];

        d->state[node] = ON_PATH;
        d->path[n++] = node;
        far = far_port (d->f, sw, entry (sw, lid));
        *d->fault = (struct deliver_fault){
            .node = node,
            .lid = lid,
            .port = entry (sw, lid),
            .why = find_fault (d, far, lid, to),
        };
        if (d->fault->why)
            return false;
    }
    while (n > 0)
        d->state[d->path[--n]] = DELIVERS;
    return true;
}

int deliver_check (const struct fabric *f, const uint32_t *port,
                   struct deliver_fault *fault, struct error *err)
{
    struct deliver d = {
        .f = f,
        .state = malloc (f->nnodes + 1),
        .path = calloc (f->nnodes + 1, sizeof (*d.path)),
        .fault = fault,
    };
    int rc = d.state && d.path ? 1 : error_nomem (err);

    for (unsigned int lid = 1; rc == 1 && lid <= FABRIC_MAX_LID; lid++) {
        if (port[lid] == FABRIC_NONE)
            continue;
        memset (d.state, NEW, f->nnodes);
        for (size_t i = 0; rc == 1 && i < f->nnodes; i++)
            if (f->node[i].type == NODE_SWITCH
                && !follow (&d, i, lid, port[lid]))
                rc = 0;
    }
    free (d.state);
    free (d.path);
    return rc;
}
