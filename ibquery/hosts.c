/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/hosts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    FEW = 4, /* few hosts: fewer than the median switch by this factor */
    MAX_ENDS = 256,
};

/* An adapter port that becomes an endpoint. */
struct rail {
    char name[FABRIC_NAME_MAX + 1];
    uint32_t port;
    uint64_t guid;
    const struct fabric_node *node;
    bool named; /* named by its description */
};

static int compare_rails (const void *a, const void *b)
{
    const struct rail *x = a, *y = b;
    int order = strcmp (x->name, y->name);

    if (order == 0)
        order = util_compare (x->guid, y->guid);
    return order != 0 ? order : util_compare (x->port, y->port);
}

static int compare_descriptions (const void *a, const void *b)
{
    const struct rail *x = a, *y = b;
    int order = strcmp (x->name, y->name);

    if (order == 0)
        order = strcmp (x->node->desc, y->node->desc);
    return order != 0 ? order
                      : util_compare (x->node->system, y->node->system);
}

static int compare_systems (const void *a, const void *b)
{
    const struct rail *x = a, *y = b;
    int order = util_compare (x->node->system, y->node->system);

    return order != 0 ? order : util_compare (x->node->guid, y->node->guid);
}

/* The description that a vendor's firmware has until the host sets one. */
static bool is_default_desc (const char *desc)
{
    return strstr (desc, "Mellanox Technologies")
           || strncmp (desc, "localhost", strlen ("localhost")) == 0;
}

static bool is_aggregation (const char *desc)
{
    return strstr (desc, "Aggregation Node") != NULL;
}

static void name_by_guid (struct rail *r, uint64_t guid)
{
    snprintf (r->name, sizeof (r->name), "%016" PRIx64, guid);
    r->named = false;
}

/* Name the host of an adapter; false if it is not a host. */
static bool name_rail (struct rail *r)
{
    const struct fabric_node *n = r->node;

    if (n->type != NODE_CA || is_aggregation (n->desc))
        return false;
    snprintf (r->name, sizeof (r->name), "%.*s",
              (int)strcspn (n->desc, " "), n->desc);
    r->named = true;
    if (!text_is_hostname (r->name) || is_default_desc (n->desc))
        name_by_guid (r, n->guid);
    return true;
}

/* Why a connected port is not a rail; NULL if it is one. */
static const char *unusable (const struct fabric *f,
                             const struct fabric_port *p)
{
    if (!fabric_is_up (f, &f->link[p->link]))
        return "is not active";
    return p->lid == 0 ? "has no LID" : NULL;
}

/* Find the connected adapter ports that belong to a host and are usable. Return
 * their number.
 */
static size_t find_rails (struct fabric *f, struct rail *rail)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nports; i++) {
        const struct fabric_port *p = &f->port[i];
        struct rail *r = &rail[n];
        const char *why;

        *r = (struct rail){
            .port = i,
            .guid = p->guid,
            .node = &f->node[p->node],
        };
        if (p->link == FABRIC_NONE || !name_rail (r))
            continue;
        if (!r->named)
            fabric_warn (f,
                         "adapter %016" PRIx64 " (%s) does not tell its "
                         "host's name",
                         r->node->guid, r->node->desc);
        if (!(why = unusable (f, p)))
            n++;
        else
            fabric_warn (f,
                         "%s: adapter %016" PRIx64 " port %u is connected "
                         "but %s",
                         r->name, r->node->guid, p->num, why);
    }
    return n;
}

/* The first of n rails with one name, sorted by description, that has the same
 * description as the next one on another card; NULL if there is none.
 */
static const struct rail *find_double (const struct rail *rail, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct fabric_node *a = rail[i - 1].node, *b = rail[i].node;

        if (rail[i].named && strcmp (a->desc, b->desc) == 0 && a->system != 0
            && a->system != b->system)
            return &rail[i - 1];
    }
    return NULL;
}

/* Name n rails after their cards. */
static void name_by_card (struct rail *rail, size_t n)
{
    uint64_t first = 0;

    qsort (rail, n, sizeof (*rail), compare_systems);
    for (size_t i = 0; i < n; i++) {
        uint64_t system = rail[i].node->system;

        if (i == 0 || system == 0 || system != rail[i - 1].node->system)
            first = rail[i].node->guid;
        name_by_guid (&rail[i], first);
    }
}

/* Make hosts with equal names distinct. */
static void separate (struct fabric *f, struct rail *rail, size_t n)
{
    size_t end;

    qsort (rail, n, sizeof (*rail), compare_descriptions);
    for (size_t i = 0; i < n; i = end) {
        const struct rail *doubled;

        for (end = i; end < n && strcmp (rail[end].name, rail[i].name) == 0;
             end++)
            ;
        doubled = find_double (&rail[i], end - i);
        if (!doubled)
            continue;
        fabric_warn (f,
                     "adapters %016" PRIx64 " and %016" PRIx64 " are on "
                     "different cards, and both call themselves %s: all "
                     "adapters of %s are called by their GUIDs",
                     doubled[0].node->guid, doubled[1].node->guid,
                     doubled->node->desc, doubled->name);
        name_by_card (&rail[i], end - i);
    }
}

/* Add a host with n rails, which become its endpoints. */
static void add_host (struct fabric *f, const struct rail *rail, size_t n)
{
    struct fabric_host *h = &f->host[f->nhosts];

    h->name = xstrdup (rail->name);
    h->first = f->nendpoints;
    h->count = n;
    f->nhosts++;
    for (size_t i = 0; i < n; i++) {
        struct fabric_endpoint *e = &f->endpoint[f->nendpoints++];

        e->port = rail[i].port;
        e->host = f->nhosts - 1;
        e->name = n == 1 ? xstrdup (h->name)
                         : xasprintf ("%s:%zu", h->name, i + 1);
        f->node[f->port[e->port].node].host = e->host;
    }
}

void hosts_find (struct fabric *f)
{
    struct rail *rail = xarray (f->nports + 1, sizeof (*rail));
    size_t n = find_rails (f, rail), end;

    separate (f, rail, n);
    qsort (rail, n, sizeof (*rail), compare_rails);
    f->endpoint = xcalloc (n, sizeof (*f->endpoint));
    f->host = xcalloc (n, sizeof (*f->host));
    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && strcmp (rail[end].name, rail[i].name) == 0;
             end++)
            ;
        add_host (f, &rail[i], end - i);
    }
    free (rail);
}

/*
 * Levels of switches
 */

/* A switch, and how many hosts and switches are cabled to it. */
struct switch_ends {
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

/* Find the switches that have hosts. Return their number. */
static size_t find_places (const struct fabric *f, struct switch_ends *place)
{
    size_t n = 0;

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *sw = &f->node[i];
        struct switch_ends *p = &place[n];

        if (sw->type != NODE_SWITCH)
            continue;
        *p = (struct switch_ends){ .node = i };
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

/* The number of hosts of the switch of the median host. */
static unsigned int usual_hosts (const struct switch_ends *place, size_t n)
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

/* Set level 1 for leaf switches and queue them. Return their number. */
static size_t mark_leaves (struct fabric *f, const struct switch_ends *place,
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

/* Set the other levels, breadth first from the leaves. */
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
    struct switch_ends *place = xarray (f->nnodes + 1, sizeof (*place));
    size_t n = find_places (f, place);

    spread (f, queue, mark_leaves (f, place, n, queue));
    free (queue);
    free (place);
}
