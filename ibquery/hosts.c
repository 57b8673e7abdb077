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

static int compare_rails_by_name (const void *a, const void *b)
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

/* A vendor's firmware has a description until the host sets one. */
bool hosts_tell (const char *desc, char name[FABRIC_NAME_MAX + 1])
{
    snprintf (name, FABRIC_NAME_MAX + 1, "%.*s", (int)strcspn (desc, " "),
              desc);
    return text_is_hostname (name) && !strstr (desc, "Mellanox Technologies")
           && strncmp (desc, "localhost", strlen ("localhost")) != 0;
}

/* Warn of n adapters without a name, one of which is given. */
static void warn_nameless (struct fabric *f, size_t n,
                           const struct fabric_node *one)
{
    if (n == 1)
        fabric_warn (f, "adapter %016" PRIx64 " (%s) does not tell its host's "
                        "name: start rdma-ndd there, or name it in NodeNameMap",
                     one->guid, one->desc);
    else if (n > 1)
        fabric_warn (f, "%zu adapters do not tell their host's name, one of "
                        "them is %016" PRIx64 " (%s): start rdma-ndd on the "
                        "hosts, or name them in NodeNameMap",
                     n, one->guid, one->desc);
}

static void name_by_guid (struct rail *r, uint64_t guid)
{
    snprintf (r->name, sizeof (r->name), "%016" PRIx64, guid);
    r->named = false;
}

/* Find the connected adapter ports that belong to a host and are usable. Return
 * their number.
 */
static size_t find_host_rails (struct fabric *f, struct rail *rail)
{
    const struct fabric_node *nameless = NULL;
    size_t n = 0, count = 0;

    for (size_t i = 0; i < f->nports; i++) {
        const struct fabric_port *p = &f->port[i];
        const struct fabric_node *node = &f->node[p->node];
        struct rail *r = &rail[n];
        bool up;

        if (p->link == FABRIC_NONE || node->type != NODE_CA
            || strstr (node->desc, "Aggregation Node"))
            continue;
        *r = (struct rail){ .port = i, .guid = p->guid, .node = node,
                            .named = true };
        if (!hosts_tell (node->desc, r->name)) {
            name_by_guid (r, node->guid);
            count += node != nameless;
            nameless = node;
        }
        up = fabric_is_up (f, &f->link[p->link]);
        if (up && p->lid != 0)
            n++;
        else
            fabric_warn (f, "%s: adapter %016" PRIx64 " port %u is connected "
                            "but %s", r->name, node->guid, p->num,
                         up ? "has no LID" : "is not active");
    }
    warn_nameless (f, count, nameless);
    return n;
}

/* The number of rails that have the name of the first of n. */
static size_t same_name (const struct rail *rail, size_t n)
{
    size_t end = 1;

    while (end < n && strcmp (rail[end].name, rail->name) == 0)
        end++;
    return end;
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
    qsort (rail, n, sizeof (*rail), compare_descriptions);
    for (size_t i = 0, count; i < n; i += count) {
        const struct rail *doubled;

        count = same_name (&rail[i], n - i);
        if (!(doubled = find_double (&rail[i], count)))
            continue;
        fabric_warn (f, "adapters %016" PRIx64 " and %016" PRIx64 " are on "
                        "different cards, and both call themselves %s: all "
                        "adapters of %s are called by their GUIDs",
                     doubled[0].node->guid, doubled[1].node->guid,
                     doubled->node->desc, doubled->name);
        name_by_card (&rail[i], count);
    }
}

/* What its description says of it after the host's name; NULL: nothing. */
static char *name_rail (const struct fabric *f, const struct rail *r)
{
    const char *desc = strchr (r->node->desc, ' ');

    return desc && r->named
               ? pool_printf (f->pool, "%s/%u", desc + 1, f->port[r->port].num)
               : NULL;
}

/* The rails of one name are the endpoints of a host. */
void hosts_find (struct fabric *f)
{
    struct rail *rail = xarray (f->nports + 1, sizeof (*rail));
    size_t n = find_host_rails (f, rail);

    separate (f, rail, n);
    qsort (rail, n, sizeof (*rail), compare_rails_by_name);
    f->endpoint = pool_alloc (f->pool, n, sizeof (*f->endpoint));
    f->host = pool_alloc (f->pool, n, sizeof (*f->host));
    while (f->nendpoints < n) {
        const struct rail *r = &rail[f->nendpoints];
        size_t count = same_name (r, n - f->nendpoints);
        uint32_t host = f->nhosts++;

        f->host[host] = (struct fabric_host){ pool_strdup (f->pool, r->name),
                                              f->nendpoints, count };
        for (size_t i = 0; i < count; i++) {
            f->endpoint[f->nendpoints++] = (struct fabric_endpoint){
                .port = r[i].port,
                .host = host,
                .name = count == 1 ? f->host[host].name
                                   : pool_printf (f->pool, "%s:%zu", r->name,
                                                  i + 1),
                .rail = count == 1 ? NULL : name_rail (f, &r[i]),
            };
            f->node[f->port[r[i].port].node].host = host;
        }
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
    uint32_t far = fabric_far_port (f, port);

    return far == FABRIC_NONE ? FABRIC_NONE : f->port[far].node;
}

/* Find the switches that have hosts. Return their number. */
static size_t find_host_switches (const struct fabric *f,
                                  struct switch_ends *place)
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

/* Set level 1 for leaf switches, and queue them. Return their number. A leaf
 * has not many fewer hosts than the switch of the median host.
 */
static size_t mark_leaves (struct fabric *f, const struct switch_ends *place,
                           size_t n, uint32_t *queue)
{
    size_t with[MAX_ENDS] = { 0 }, all = 0, sum = 0, tail = 0;
    unsigned int usual = 0, cables = 0;

    for (size_t i = 0; i < n; i++) {
        with[place[i].hosts] += place[i].hosts;
        all += place[i].hosts;
    }
    while (usual < MAX_ENDS - 1 && 2 * sum < all)
        sum += with[++usual];
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

/* The other levels are found breadth first from the leaves. */
void levels_find (struct fabric *f)
{
    uint32_t *queue = xarray (f->nnodes, sizeof (*queue));
    struct switch_ends *place = xarray (f->nnodes + 1, sizeof (*place));
    size_t tail = mark_leaves (f, place, find_host_switches (f, place), queue);

    for (size_t head = 0; head < tail; head++) {
        const struct fabric_node *n = &f->node[queue[head]];

        for (unsigned int k = 0; k < n->nports; k++) {
            uint32_t far = far_node (f, n->first_port + k);

            if (far == FABRIC_NONE || f->node[far].type != NODE_SWITCH
                || f->node[far].level != 0)
                continue;
            f->node[far].level = n->level < UINT8_MAX ? n->level + 1
                                                      : UINT8_MAX;
            queue[tail++] = far;
        }
    }
    free (queue);
    free (place);
}
