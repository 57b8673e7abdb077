/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Switches are united level by level, from the leaves upwards. At each level,
 * groups that became connected get a new group above them.
 */
#include "config.h"
#include "ibquery/export/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sets.h"
#include "util/text.h"

enum {
    NAME = FABRIC_NAME_MAX + 24,
    GUID_DIGITS = 16,
    CLEAN_MAX = 47, /* Slurm takes 64, and a GUID may follow */
};

/* A leaf with its hosts, or a group of leaves and groups. */
struct tree_item {
    char *name;
    uint32_t node;    /* a switch in it */
    uint32_t parent;  /* item; FABRIC_NONE */
    uint8_t level;
    bool leaf;
    size_t nhosts;
};

struct topology {
    const struct fabric *f;
    const bool *use;  /* by endpoint; NULL: all */
    uint32_t *up;     /* by node: its parent in its set (util/sets) */
    uint32_t *leaf;   /* by host: its switch; FABRIC_NONE: left out */
    struct tree_item *item;
    size_t nitems;
    uint32_t *scratch; /* by node */
    uint8_t top;      /* the highest level */
    size_t nleft_out, nelsewhere, nplanes, ncrossings;
    uint32_t crossing; /* a cable between leaves */
};

/* Whether both ends of a cable are switches. */
static bool joins (const struct fabric *f, const struct fabric_link *l,
                   uint32_t *a, uint32_t *b)
{
    *a = f->port[l->a].node;
    *b = f->port[l->b].node;
    return f->node[*a].type == NODE_SWITCH && f->node[*b].type == NODE_SWITCH;
}

/* Unite the switches that are joined by cables whose higher end is of a level
 * from `low` to `high`.
 */
static void unite_levels (struct topology *t, unsigned int low,
                          unsigned int high)
{
    for (size_t i = 0; i < t->f->nlinks; i++) {
        uint32_t a, b;

        if (joins (t->f, &t->f->link[i], &a, &b)) {
            unsigned int x = t->f->node[a].level, y = t->f->node[b].level;
            unsigned int higher = x > y ? x : y;

            if (x > 0 && y > 0 && higher >= low && higher <= high)
                sets_unite (t->up, a, b);
        }
    }
}

/* Each switch is a set of its own. */
static void part (struct topology *t)
{
    for (size_t i = 0; i < t->f->nnodes; i++)
        t->up[i] = i;
}

/*
 * Hosts
 */

/* The switch of an endpoint; FABRIC_NONE if there is none, or if the endpoint
 * is not to be used.
 */
static uint32_t switch_of (const struct topology *t, uint32_t endpoint)
{
    const struct fabric *f = t->f;
    uint32_t far = fabric_far_port (f, f->endpoint[endpoint].port);
    uint32_t node = f->port[far].node;

    if (t->use && !t->use[endpoint])
        return FABRIC_NONE;
    return f->node[node].type == NODE_SWITCH ? node : FABRIC_NONE;
}

/* The switch of the host's first endpoint in this plane, or in any if plane is
 * FABRIC_NONE.
 */
static uint32_t place (const struct topology *t, const struct fabric_host *h,
                       uint32_t plane)
{
    for (uint32_t e = h->first; e < h->first + h->count; e++) {
        uint32_t node = switch_of (t, e);

        if (node != FABRIC_NONE
            && (plane == FABRIC_NONE || sets_find (t->up, node) == plane))
            return node;
    }
    return FABRIC_NONE;
}

/* The plane with the most endpoints; counts the planes. */
static uint32_t choose_plane (struct topology *t)
{
    const struct fabric *f = t->f;
    uint32_t best = FABRIC_NONE;

    memset (t->scratch, 0, f->nnodes * sizeof (*t->scratch));
    for (size_t i = 0; i < f->nendpoints; i++) {
        uint32_t node = switch_of (t, i);

        if (node != FABRIC_NONE)
            t->scratch[sets_find (t->up, node)]++;
    }
    for (size_t i = 0; i < f->nnodes; i++) {
        t->nplanes += t->scratch[i] > 0;
        if (t->scratch[i] > 0
            && (best == FABRIC_NONE || t->scratch[i] > t->scratch[best]))
            best = i;
    }
    return best;
}

/* How many of a host's endpoints are to be used. */
static size_t used (const struct topology *t, const struct fabric_host *h)
{
    size_t n = 0;

    for (uint32_t e = h->first; e < h->first + h->count; e++)
        n += !t->use || t->use[e];
    return n;
}

/* A host without an endpoint in the chosen plane is placed at the switch of its
 * first endpoint; one without an endpoint that is to be used, nowhere.
 */
static void place_hosts (struct topology *t)
{
    uint32_t plane;

    part (t);
    unite_levels (t, 1, UINT8_MAX);
    plane = choose_plane (t);
    for (size_t i = 0; i < t->f->nhosts; i++) {
        const struct fabric_host *h = &t->f->host[i];
        uint32_t node = place (t, h, plane);
        size_t ports = used (t, h);

        if (node == FABRIC_NONE)
            node = place (t, h, FABRIC_NONE);
        if (strlen (h->name) == GUID_DIGITS
            && strspn (h->name, "0123456789abcdef") == GUID_DIGITS)
            node = FABRIC_NONE;
        t->nleft_out += node == FABRIC_NONE && ports > 0;
        t->nelsewhere += node != FABRIC_NONE && ports > 1;
        t->leaf[i] = node;
    }
}

/*
 * The tree
 */

/* The description of a switch, in characters that Slurm accepts. */
static void clean_name (const struct fabric_node *n, char name[NAME])
{
    const char *start = strchr (n->desc, ';'); /* "MF0;leaf1:MQM8700/U1" */
    size_t len;

    snprintf (name, CLEAN_MAX + 1, "%s", start ? start + 1 : n->desc);
    for (char *p = name; *p; p++)
        if (!strchr ("0123456789abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.",
                     *p))
            *p = '-';
    for (len = strlen (name); len > 0 && name[len - 1] == '-'; len--)
        name[len - 1] = '\0';
    if (!*name || *name == '-' || *name == '.')
        snprintf (name, NAME, "switch-%016" PRIx64, n->guid);
}

static struct tree_item *add_item (struct topology *t, uint32_t node,
                                   uint8_t level, bool leaf, const char *name)
{
    struct tree_item *item = &t->item[t->nitems++];

    *item = (struct tree_item){
        .name = xstrdup (name),
        .node = node,
        .parent = FABRIC_NONE,
        .level = level,
        .leaf = leaf,
    };
    return item;
}

static void add_leaves (struct topology *t, uint8_t level)
{
    memset (t->scratch, 0, t->f->nnodes * sizeof (*t->scratch));
    for (size_t i = 0; i < t->f->nhosts; i++)
        if (t->leaf[i] != FABRIC_NONE)
            t->scratch[t->leaf[i]]++;
    for (size_t i = 0; i < t->f->nnodes; i++) {
        char name[NAME];

        if (t->scratch[i] == 0 || t->f->node[i].level != level)
            continue;
        clean_name (&t->f->node[i], name);
        add_item (t, i, level, true, name)->nhosts = t->scratch[i];
    }
}

/* Add a group for each set of items that this level connected. */
static void add_groups (struct topology *t, uint8_t level)
{
    size_t before = t->nitems, number = 0;
    uint32_t *group = t->scratch; /* by set: item count, then the new item */

    unite_levels (t, level, level);
    memset (group, 0, t->f->nnodes * sizeof (*group));
    for (size_t i = 0; i < before; i++)
        if (t->item[i].parent == FABRIC_NONE)
            group[sets_find (t->up, t->item[i].node)]++;
    for (size_t i = 0; i < t->f->nnodes; i++) {
        char name[NAME];

        if (group[i] >= 2)
            snprintf (name, NAME, "level%u-%zu", level, ++number);
        group[i] = group[i] >= 2
                       ? add_item (t, i, level, false, name) - t->item
                       : FABRIC_NONE;
    }
    for (size_t i = 0; i < before; i++) {
        uint32_t parent = group[sets_find (t->up, t->item[i].node)];

        if (t->item[i].parent != FABRIC_NONE || parent == FABRIC_NONE)
            continue;
        t->item[i].parent = parent;
        t->item[parent].nhosts += t->item[i].nhosts;
    }
}

static void tell_apart (struct topology *t)
{
    char **name = xarray (t->nitems, sizeof (*name));
    uint32_t *node = xarray (t->nitems, sizeof (*node));

    for (size_t i = 0; i < t->nitems; i++) {
        name[i] = t->item[i].name;
        node[i] = t->item[i].node;
    }
    fabric_tell_apart (t->f, name, node, t->nitems);
    for (size_t i = 0; i < t->nitems; i++)
        t->item[i].name = name[i];
    free (name);
    free (node);
}

static int build (struct topology *t, struct error *err)
{
    const struct fabric *f = t->f;

    place_hosts (t);
    part (t);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].level > t->top)
            t->top = f->node[i].level;
    for (unsigned int level = 1; level <= t->top; level++) {
        add_leaves (t, level);
        add_groups (t, level);
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        uint32_t a, b;

        if (joins (f, &f->link[i], &a, &b) && f->node[a].level == 1
            && f->node[b].level == 1 && t->ncrossings++ == 0)
            t->crossing = i;
    }
    if (t->nitems == 0)
        return error_input (err, "the fabric has no hosts that have names");
    tell_apart (t);
    return 0;
}

/*
 * The file
 */

static void put_sizes (const struct topology *t, unsigned int level, bool leaf,
                       FILE *fp)
{
    size_t n = 0, least = SIZE_MAX, most = 0;

    for (size_t i = 0; i < t->nitems; i++) {
        const struct tree_item *item = &t->item[i];

        if (item->leaf != leaf || (!leaf && item->level != level))
            continue;
        n++;
        least = item->nhosts < least ? item->nhosts : least;
        most = item->nhosts > most ? item->nhosts : most;
    }
    if (n == 0)
        return;
    if (leaf)
        fprintf (fp, "# %zu %s", n, n == 1 ? "leaf" : "leaves");
    else
        fprintf (fp, "# %s of level %u", COUNTED (n, "group"), level);
    if (least < most)
        fprintf (fp, " of %zu to", least);
    else
        fprintf (fp, " of");
    fprintf (fp, " %s\n", COUNTED (most, "host"));
}

static void put_notes (const struct topology *t, FILE *fp)
{
    const struct fabric_link *l = &t->f->link[t->crossing];

    if (t->nleft_out > 0)
        fprintf (fp, "# Left out for want of a name, or of a switch: %s.\n",
                 COUNTED (t->nleft_out, "host"));
    if (t->nelsewhere > 0)
        fprintf (fp, "# Of several ports, and placed where the first is: %s.\n",
                 COUNTED (t->nelsewhere, "host"));
    if (t->nplanes > 1)
        fprintf (fp, "# %zu planes are not joined; hosts are placed by the one "
                     "that most are in.\n", t->nplanes);
    if (t->ncrossings == 0)
        return;
    fprintf (fp,
             "# This fabric is not a tree: leaves are joined to each other by "
             "%s (%s - %s).\n"
             "# Leaves are grouped by them; within a group, Slurm takes all to "
             "be equally far.\n"
             "# For a dragonfly, TopologyParam=Dragonfly may place jobs "
             "better.\n",
             COUNTED (t->ncrossings, "cable"), PORT_NAME (t->f, l->a),
             PORT_NAME (t->f, l->b));
}

/* The folded list of an item's hosts, or of its children; to be freed. */
static char *members (const struct topology *t, uint32_t item)
{
    bool leaf = t->item[item].leaf;
    size_t n = leaf ? t->f->nhosts : t->nitems, found = 0;
    const char **v = xarray (n, sizeof (*v));
    char *folded;

    for (size_t i = 0; i < n; i++)
        if (leaf && t->leaf[i] == t->item[item].node)
            v[found++] = t->f->host[i].name;
        else if (!leaf && t->item[i].parent == item)
            v[found++] = t->item[i].name;
    folded = hostlist_fold (v, found);
    free (v);
    return folded;
}

/* The items, leaves first. */
static void put_items (const struct topology *t, bool yaml, FILE *fp)
{
    for (int leaf = 1; leaf >= 0; leaf--)
        for (size_t i = 0; i < t->nitems; i++) {
            char *folded;

            if (t->item[i].leaf != leaf)
                continue;
            folded = members (t, i);
            if (yaml)
                fprintf (fp, "      - switch: \"%s\"\n        %s: \"%s\"\n",
                         t->item[i].name, leaf ? "nodes" : "children",
                         folded);
            else
                fprintf (fp, "SwitchName=%s %s=%s\n", t->item[i].name,
                         leaf ? "Nodes" : "Switches", folded);
            free (folded);
        }
}

static void put_comments (const struct topology *t, FILE *fp)
{
    fprintf (fp, "# Nodes that Slurm does not have are to be taken out.\n");
    put_sizes (t, 0, true, fp);
    for (unsigned int level = 1; level <= t->top; level++)
        put_sizes (t, level, false, fp);
    put_notes (t, fp);
}

static void put_conf (const struct topology *t, FILE *fp)
{
    fprintf (fp,
             "# topology.conf for TopologyPlugin=topology/tree, as fabric %.8s "
             "suggests.\n", t->f->hash);
    put_comments (t, fp);
    put_items (t, false, fp);
}

/*
 * Blocks: leaves of about the same size, those of a group one after another.
 */

struct blocks {
    uint32_t *leaf;   /* items */
    size_t n, small;  /* small: leaves that are none */
    size_t base;      /* hosts of the smallest */
};

static void add_blocks (const struct topology *t, uint32_t parent,
                        size_t least, struct blocks *b)
{
    for (uint32_t i = 0; i < t->nitems; i++) {
        const struct tree_item *item = &t->item[i];

        if (item->parent != parent)
            continue;
        if (!item->leaf)
            add_blocks (t, i, least, b);
        else if (item->nhosts < least)
            b->small++;
        else {
            b->leaf[b->n++] = i;
            if (b->base == 0 || item->nhosts < b->base)
                b->base = item->nhosts;
        }
    }
}

/* The group of this level that has a leaf; FABRIC_NONE if none has. */
static uint32_t group_of (const struct topology *t, uint32_t leaf,
                          unsigned int level)
{
    uint32_t i = t->item[leaf].parent;

    while (i != FABRIC_NONE && t->item[i].level < level)
        i = t->item[i].parent;
    return i != FABRIC_NONE && t->item[i].level == level ? i : FABRIC_NONE;
}

/* How many blocks each of two and more groups of a level has; 0: there are no
 * such groups, or they have different numbers.
 */
static size_t blocks_of_group (const struct topology *t,
                               const struct blocks *b, unsigned int level)
{
    uint32_t first = b->n > 0 ? group_of (t, b->leaf[0], level) : FABRIC_NONE;
    size_t each = 0;

    while (each < b->n && group_of (t, b->leaf[each], level) == first)
        each++;
    if (first == FABRIC_NONE || each == b->n || b->n % each != 0)
        return 0;
    for (size_t i = 0; i < b->n; i++) {
        uint32_t group = group_of (t, b->leaf[i], level);

        if (group == FABRIC_NONE
            || (i > 0 && (group != group_of (t, b->leaf[i - 1], level))
                             != (i % each == 0)))
            return 0;
    }
    return each;
}

static void put_blocks (const struct topology *t, FILE *fp)
{
    struct blocks b = { .leaf = xarray (t->nitems, sizeof (*b.leaf)) };
    size_t most = 0, above = 1;

    for (size_t i = 0; i < t->nitems; i++)
        if (t->item[i].leaf && t->item[i].nhosts > most)
            most = t->item[i].nhosts;
    add_blocks (t, FABRIC_NONE, (most + 1) / 2, &b);
    if (b.small > 0)
        fprintf (fp, "# Leaves that are too small for a block: %zu.\n",
                 b.small);
    fprintf (fp, "- topology: block\n  cluster_default: false\n  block:\n"
                 "    block_sizes:\n      - %zu\n", b.base);
    for (unsigned int level = 1; level <= t->top; level++) {
        size_t each = blocks_of_group (t, &b, level);

        if (each > above && (each & (each - 1)) == 0) {
            fprintf (fp, "      - %zu\n", b.base * each);
            above = each;
        }
    }
    fprintf (fp, "    blocks:\n");
    for (size_t i = 0; i < b.n; i++) {
        char *folded = members (t, b.leaf[i]);

        fprintf (fp, "      - block: \"%s\"\n        nodes: \"%s\"\n",
                 t->item[b.leaf[i]].name, folded);
        free (folded);
    }
    free (b.leaf);
}

static void put_yaml (const struct topology *t, FILE *fp)
{
    fprintf (fp,
             "# topology.yaml for Slurm 25.05 and later, as fabric %.8s "
             "suggests. Where it is,\n"
             "# Slurm ignores topology.conf. A partition chooses the blocks by "
             "Topology=block.\n", t->f->hash);
    put_comments (t, fp);
    fprintf (fp, "- topology: tree\n  cluster_default: true\n  tree:\n"
                 "    switches:\n");
    put_items (t, true, fp);
    put_blocks (t, fp);
}

int topology_write (const struct fabric *f, const bool *use, bool yaml,
                    FILE *fp, struct error *err)
{
    struct topology t = {
        .f = f,
        .use = use,
        .up = xarray (f->nnodes, sizeof (*t.up)),
        .leaf = xarray (f->nhosts, sizeof (*t.leaf)),
        .item = xarray (2 * f->nnodes, sizeof (*t.item)),
        .scratch = xarray (f->nnodes, sizeof (*t.scratch)),
    };
    int rc = f->part ? error_input (err, "a part of a fabric says nothing of "
                                         "the rest")
                     : build (&t, err);

    if (rc == 0)
        (yaml ? put_yaml : put_conf) (&t, fp);
    for (size_t i = 0; i < t.nitems; i++)
        free (t.item[i].name);
    free (t.up);
    free (t.leaf);
    free (t.item);
    free (t.scratch);
    return rc;
}
