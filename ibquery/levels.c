/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/levels.h"

#include <stdlib.h>

#include "util/alloc.h"

enum {
    FEW = 4, /* times fewer than the switch of the median host has */
    MAX_ENDS = 256,
};

/* A switch with what is cabled to it. */
struct place {
    uint32_t node;
    unsigned int hosts, switches;
};

static uint32_t far_node (const struct fabric *f, uint32_t port)
{
    const struct fabric_link *l;

    if (f->port[port].link == FABRIC_NONE)
        return FABRIC_NONE;
    l = &f->link[f->port[port].link];
    return f->port[l->a == port ? l->b : l->a].node;
}

/* The switches that have hosts. Returns their number. */
static size_t find_places (const struct fabric *f, struct place *place)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *sw = &f->node[i];
        struct place *p = &place[n];

        if (sw->type != NODE_SWITCH)
            continue;
        *p = (struct place){ .node = i };
        for (unsigned int k = 0; k < sw->nports; k++) {
            uint32_t far = far_node (f, sw->first_port + k);

            if (far == FABRIC_NONE)
                continue;
            p->switches += f->node[far].type == NODE_SWITCH;
            p->hosts += f->node[far].host != FABRIC_NONE;
        }
        n += p->hosts > 0;
    }
    return n;
}

/* How many hosts has the switch of the median host? */
static unsigned int usual_hosts (const struct place *place, size_t n)
{
    size_t with[MAX_ENDS] = { 0 }, all = 0, sum = 0;
    unsigned int hosts = 0;

    for (size_t i = 0; i < n; i++) {
        with[place[i].hosts] += place[i].hosts;
        all += place[i].hosts;
    }
    while (hosts < MAX_ENDS - 1 && 2 * sum < all)
        sum += with[++hosts];
    return hosts;
}

/* Mark those that are for hosts as level 1, into queue. Returns how many. */
static size_t mark_leaves (struct fabric *f, const struct place *place,
                           size_t n, uint32_t *queue)
{
    unsigned int usual = usual_hosts (place, n), cables = 0;
    size_t tail = 0;

    for (size_t i = 0; i < n; i++)
        if (place[i].hosts >= usual && place[i].switches > cables)
            cables = place[i].switches;
    for (size_t i = 0; i < n; i++) {
        if (FEW * place[i].hosts <= usual && place[i].switches > cables)
            continue;
        f->node[place[i].node].level = 1;
        queue[tail++] = place[i].node;
    }
    return tail;
}

/* Breadth first from the leaves. */
static void spread (struct fabric *f, uint32_t *queue, size_t tail)
{
    for (size_t head = 0; head < tail; head++) {
        const struct fabric_node *n = &f->node[queue[head]];

        for (unsigned int k = 0; k < n->nports; k++) {
            uint32_t node = far_node (f, n->first_port + k);
            struct fabric_node *far;

            if (node == FABRIC_NONE)
                continue;
            far = &f->node[node];
            if (far->type != NODE_SWITCH || far->level != 0)
                continue;
            far->level = n->level < UINT8_MAX ? n->level + 1 : UINT8_MAX;
            queue[tail++] = node;
        }
    }
}

void levels_find (struct fabric *f)
{
    uint32_t *queue = xarray (f->nnodes, sizeof (*queue));
    struct place *place = xarray (f->nnodes + 1, sizeof (*place));
    size_t n = find_places (f, place);

    spread (f, queue, mark_leaves (f, place, n, queue));
    free (queue);
    free (place);
}
