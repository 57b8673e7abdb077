/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/sort.h"
#include "util/text.h"

enum { PRODUCT = FABRIC_NAME_MAX + 16 };

struct kind_member {
    uint64_t products;
    uint32_t levels, link;
    double bits;
};

static int compare_kinds (const struct kind_member *a,
                          const struct kind_member *b)
{
    return a->products != b->products ? util_compare (a->products, b->products)
                                      : util_compare (a->levels, b->levels);
}

static int compare_kind_members (const void *va, const void *vb)
{
    const struct kind_member *a = va, *b = vb;
    int order = compare_kinds (a, b);

    if (order != 0)
        return order;
    return a->bits != b->bits ? util_compare (a->bits, b->bits)
                              : util_compare (a->link, b->link);
}

static void name_product (const struct fabric_node *n, char name[PRODUCT])
{
    const char *model = n->type == NODE_SWITCH ? strrchr (n->desc, ':') : NULL;

    if (n->device != 0)
        snprintf (name, PRODUCT, "%06x %04x", n->vendor, n->device);
    else if (strstr (n->desc, "Mellanox Technologies"))
        snprintf (name, PRODUCT, "%s", n->desc);
    else
        snprintf (name, PRODUCT, "%s %.*s", fabric_type_name (n->type),
                  model ? (int)strcspn (model, "/") : 0, model ? model : "");
}

static uint32_t *number_products (struct pool *pool, const struct fabric *f)
{
    char (*name)[PRODUCT] = pool_alloc (pool, f->nnodes, sizeof (*name));
    const char **sorted = pool_alloc (pool, f->nnodes, sizeof (*sorted));
    uint32_t *product = pool_alloc (pool, f->nnodes, sizeof (*product));
    size_t n;

    for (size_t i = 0; i < f->nnodes; i++) {
        name_product (&f->node[i], name[i]);
        sorted[i] = name[i];
    }
    n = text_unique (sorted, f->nnodes);
    for (size_t i = 0; i < f->nnodes; i++)
        product[i] = text_find (sorted, n, name[i]) - sorted;
    return product;
}

/* The smaller number comes first, of ends and of their levels. */
static struct kind_member member (const struct fabric *f,
                                  const uint32_t *product, size_t link)
{
    const struct fabric_link *l = &f->link[link];
    const struct rates rate = fabric_rate (l);
    uint32_t a = f->port[l->a].node, b = f->port[l->b].node;
    uint64_t pa = product ? product[a] : 0, pb = product ? product[b] : 0;
    uint32_t la = f->node[a].level, lb = f->node[b].level;

    return (struct kind_member){
        .products = pa < pb ? pa << 32 | pb : pb << 32 | pa,
        .levels = (uint32_t)l->kind << 16
                  | (la < lb ? la << 8 | lb : lb << 8 | la),
        .link = link,
        .bits = rates_bits (&rate),
    };
}

/* What is usual among links of the same levels and, unless product is NULL, of
 * the same products.
 */
static struct kind_usual *find_usual_of_kinds (struct pool *pool,
                                               const struct fabric *f,
                                               const uint32_t *product)
{
    struct kind_usual *usual = pool_alloc (pool, f->nlinks, sizeof (*usual));
    struct kind_member *v = pool_alloc (pool, f->nlinks, sizeof (*v));
    size_t n = 0, end, last;

    for (size_t i = 0; i < f->nlinks; i++) {
        usual[i] = (struct kind_usual){ FABRIC_NONE, 0, 0 };
        v[n] = member (f, product, i);
        n += v[n].bits > 0;
    }
    if (n > 0)
        qsort (v, n, sizeof (*v), compare_kind_members);
    for (size_t i = 0; i < n; i = end) {
        for (end = i; end < n && compare_kinds (&v[end], &v[i]) == 0; end++)
            ;
        for (size_t k = i; end - i >= KINDS_MIN && k < end; k = last) {
            for (last = k; last < end && v[last].bits == v[k].bits; last++)
                ;
            for (size_t j = k; j < last; j++)
                usual[v[j].link] = (struct kind_usual){
                    v[i + (end - i) / 4].link, last - k, end - i
                };
        }
    }
    return usual;
}

struct kinds kinds_find (struct pool *pool, const struct fabric *f)
{
    struct kinds k = { .product = number_products (pool, f) };

    k.alike = find_usual_of_kinds (pool, f, k.product);
    k.level = find_usual_of_kinds (pool, f, NULL);
    return k;
}

const struct kind_usual *kinds_usual (const struct kinds *k,
                                      const struct fabric *f, size_t link,
                                      bool *same)
{
    const struct fabric_link *l = &f->link[link];

    *same = k->alike[link].link != FABRIC_NONE;
    if (!*same)
        return &k->level[link];
    *same = f->node[f->port[l->a].node].device != 0
            && f->node[f->port[l->b].node].device != 0;
    return &k->alike[link];
}
