/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fabrics of several subnets, joined to one. */
#include "config.h"
#include "ibquery/fabric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/lines.h"
#include "util/alloc.h"
#include "util/sort.h"

/* A part, and what err calls it. */
struct subnet_part {
    struct fabric *f;
    const char *name;
};

static int compare_subnet_parts (const void *a, const void *b)
{
    const struct subnet_part *x = a, *y = b;
    int order = util_compare (x->f->subnet, y->f->subnet);

    return order ? order : strcmp (x->name, y->name);
}

static int check_prefixes (const struct subnet_part *part, size_t n,
                           struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (part[i].f->subnet == 0)
            return error_input (err, "%s does not say of which subnet it is: "
                                "make it by pmm fabric read, or import an "
                                "ibdiagnet2.db_csv", part[i].name);
        if (i > 0 && part[i].f->subnet == part[i - 1].f->subnet)
            return error_input (err, "%s and %s are both of subnet %016" PRIx64
                                ": name one of them, or give each subnet a "
                                "prefix of its own", part[i - 1].name,
                                part[i].name, part[i].f->subnet);
    }
    return 0;
}

/* Find or add the node of a part; no switch may be in several. Return its
 * index, or -1 with err.
 */
static int64_t add_subnet_node (struct fabric *f,
                                const struct fabric_node *from,
                                const char *name, struct error *err)
{
    uint32_t known = fabric_find_node (f, from->guid);
    int64_t added;

    if (known != FABRIC_NONE) {
        const struct fabric_node *n = &f->node[known];

        if (n->type != NODE_SWITCH && from->type == n->type
            && from->nports == n->nports)
            return known;
        return error_input (err, "%s: %s %016" PRIx64 " is in another subnet, "
                            "too: read both subnets again", name,
                            fabric_type_name (from->type), from->guid);
    }
    added = fabric_add_node (f, from->guid, from->type, from->nports,
                             from->desc, err);
    if (added >= 0) {
        f->node[added].system = from->system;
        f->node[added].vendor = from->vendor;
        f->node[added].device = from->device;
    }
    return added;
}

/* Take over a port. One without a cable may have one in another subnet. */
static int merge_subnet_port (struct fabric *f, struct fabric_port *to,
                              struct fabric_port *from, unsigned int subnet,
                              const char *name, struct error *err)
{
    const struct fabric_node *n = &f->node[to->node];
    bool known = to->lid != 0;

    if (known && from->link != FABRIC_NONE)
        return error_input (err, "%s: port %016" PRIx64 "/%u has a cable in "
                            "another subnet, too: read both subnets again",
                            name, n->guid, to->num);
    if (known || (n->type != NODE_SWITCH && from->link == FABRIC_NONE))
        return 0;
    *to = *from;
    to->node = n - f->node;
    to->link = FABRIC_NONE;
    to->subnet = subnet;
    return 0;
}

static void end_pool (void *pool)
{
    pool_destroy (pool);
}

static int merge_subnet_part (struct fabric *f, struct subnet_part part,
                              unsigned int subnet, struct error *err)
{
    struct fabric *from = part.f;
    uint32_t *node = xarray (from->nnodes, sizeof (*node)); /* in f */
    int rc = 0;

    for (size_t i = 0; i < from->nnodes && rc == 0; i++) {
        struct fabric_node *n = &from->node[i], *to;
        int64_t added = add_subnet_node (f, n, part.name, err);

        if ((rc = added < 0 ? -1 : 0) < 0)
            break;
        to = &f->node[node[i] = added];
        for (unsigned int k = 0; k < n->nports && rc == 0; k++)
            rc = merge_subnet_port (f, &f->port[to->first_port + k],
                                    &from->port[n->first_port + k], subnet,
                                    part.name, err);
        if (n->type != NODE_SWITCH)
            continue;
        to->lid = n->lid;
        to->lft_top = n->lft_top;
        to->lft = n->lft;
        to->spread = n->spread;
    }
    for (size_t i = 0; i < from->nlinks && rc == 0; i++) {
        const struct fabric_link *l = &from->link[i];
        const struct fabric_port *a = &from->port[l->a];
        const struct fabric_port *b = &from->port[l->b];

        rc = fabric_add_cable (f, node[a->node], a->num, node[b->node], b->num,
                               l->width, l->speed, err);
    }
    for (size_t i = 0; i < from->nwarnings; i++)
        fabric_warn (f, "%s", from->warning[i]);
    free (node);
    pool_keep (f->pool, from->pool, end_pool); /* with tables and plugs */
    from->pool = NULL;
    return rc;
}

bool fabric_has_subnet (const struct fabric *f, uint64_t prefix)
{
    bool has = prefix == 0 || prefix == f->subnet
               || (f->nsubnets == 0 && f->subnet == 0);

    for (size_t i = 0; i < f->nsubnets; i++)
        has |= f->prefix[i] == prefix;
    return has;
}

struct fabric *fabric_join (struct fabric *const *part,
                            const char *const *name, size_t n,
                            struct error *err)
{
    struct subnet_part *v = xarray (n, sizeof (*v));
    struct fabric *f = fabric_create ();
    int rc = n <= FABRIC_MAX_SUBNETS
                 ? 0
                 : error_input (err, "more than %d subnets",
                                FABRIC_MAX_SUBNETS);
    struct digest d;

    for (size_t i = 0; i < n; i++)
        v[i] = (struct subnet_part){ part[i], name[i] };
    qsort (v, n, sizeof (*v), compare_subnet_parts);
    if (rc == 0)
        rc = check_prefixes (v, n, err);
    digest_init (&d);
    for (size_t i = 0; i < n && rc == 0; i++) {
        f->part |= v[i].f->part;
        if (i == 0 || v[i].f->time < f->time)
            fabric_set_source (f, v[i].f->source, v[i].f->time);
        f->prefix[f->nsubnets++] = v[i].f->subnet;
        digest_bytes (&d, v[i].f->hash, strlen (v[i].f->hash));
        rc = merge_subnet_part (f, v[i], i, err);
    }
    digest_hex (&d, f->hash);
    free (v);
    if (rc == 0 && fabric_finish (f, err) == 0)
        return f;
    fabric_destroy (f);
    return NULL;
}
