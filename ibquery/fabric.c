/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * fabric_finish renumbers: nodes by GUID, ports by node and number, and so
 * links by the index of their smaller port.
 */
#include "config.h"
#include "ibquery/fabric.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/hosts.h"
#include "ibquery/lines.h"
#include "ibquery/names.h"
#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum { MAX_PORTS = 254 };

static const char *const states[] = {
    [PORT_UNKNOWN] = "unknown", [PORT_DOWN] = "down", [PORT_INIT] = "init",
    [PORT_ARMED] = "armed",     [PORT_ACTIVE] = "active",
};

static char *clean_copy (struct fabric *f, const char *s)
{
    char *copy;

    s += strspn (s, " ");
    copy = text_clean (pool_printf (f->pool, "%.*s", FABRIC_NAME_MAX, s));
    for (size_t len = strlen (copy); len > 0 && copy[len - 1] == ' '; len--)
        copy[len - 1] = '\0';
    return copy;
}

struct fabric *fabric_create (void)
{
    struct fabric *f = xcalloc (1, sizeof (*f));

    f->pool = pool_create ();
    return f;
}

void fabric_destroy (struct fabric *f)
{
    if (!f)
        return;
    pool_destroy (f->pool);
    free (f->node);
    free (f->port);
    free (f->link);
    map_clear (&f->by_guid);
    map_clear (&f->by_port_guid);
    free (f);
}

uint32_t fabric_find_node (const struct fabric *f, uint64_t guid)
{
    return map_find (&f->by_guid, guid);
}

int64_t fabric_add_node (struct fabric *f, uint64_t guid, enum node_type type,
                         unsigned int nports, const char *desc,
                         struct error *err)
{
    const char *name = names_find (f->names, guid);
    struct fabric_node *n;

    if (guid == 0 || guid == UINT64_MAX)
        return error_input (err, "%016" PRIx64 " is not a GUID", guid);
    if (nports == 0 || nports > MAX_PORTS)
        return error_input (err, "%s %016" PRIx64 " has %u ports",
                            fabric_type_name (type), guid, nports);
    if (f->nnodes == FABRIC_MAX_NODES)
        return error_input (err, "more than %d nodes", FABRIC_MAX_NODES);
    if (nports > FABRIC_MAX_PORTS - f->nports)
        return error_input (err, "more than %d ports", FABRIC_MAX_PORTS);
    if (fabric_find_node (f, guid) != FABRIC_NONE)
        return error_input (err, "GUID %016" PRIx64 " occurs twice", guid);
    f->node = xgrow (f->node, f->nnodes, sizeof (*f->node));
    n = &f->node[f->nnodes];
    *n = (struct fabric_node){
        .guid = guid, .type = type, .desc = clean_copy (f, name ? name : desc),
        .nports = nports, .first_port = f->nports, .host = FABRIC_NONE,
    };
    for (unsigned int i = 0; i < nports; i++) {
        f->port = xgrow (f->port, f->nports, sizeof (*f->port));
        f->port[f->nports++] = (struct fabric_port){
            .node = f->nnodes, .num = i + 1,
            .guid = type == NODE_SWITCH ? guid : 0, .link = FABRIC_NONE,
        };
    }
    map_put (&f->by_guid, guid, f->nnodes);
    return f->nnodes++;
}

static int check_lid (unsigned int lid, unsigned int lmc, struct error *err)
{
    if (lmc > FABRIC_MAX_LMC)
        return error_input (err, "LMC %u is larger than %d", lmc,
                            FABRIC_MAX_LMC);
    if (lid == 0 && lmc == 0)
        return 0;
    if (lid == 0 || lid + (1U << lmc) - 1 > FABRIC_MAX_LID)
        return error_input (err, "LID %u is not a unicast LID", lid);
    if (lid & ((1U << lmc) - 1))
        return error_input (err, "LID %u does not fit its LMC %u", lid, lmc);
    return 0;
}

int fabric_set_switch_lid (struct fabric *f, uint32_t node, uint16_t lid,
                           struct error *err)
{
    if (check_lid (lid, 0, err) < 0)
        return -1;
    f->node[node].lid = lid;
    return 0;
}

struct fabric_port *fabric_port_at (struct fabric *f, uint32_t node,
                                    unsigned int port, struct error *err)
{
    const struct fabric_node *n = &f->node[node];

    if (port == 0 || port > n->nports) {
        error_input (err, "%s %016" PRIx64 " has no port %u",
                     fabric_type_name (n->type), n->guid, port);
        return NULL;
    }
    return &f->port[n->first_port + port - 1];
}

int fabric_set_port (struct fabric *f, uint32_t node, unsigned int port,
                     uint64_t guid, uint16_t lid, unsigned int lmc,
                     struct error *err)
{
    struct fabric_port *p = fabric_port_at (f, node, port, err);

    if (!p || check_lid (lid, lmc, err) < 0)
        return -1;
    p->guid = guid;
    p->lid = lid;
    p->lmc = lmc;
    return 0;
}

void fabric_set_plug (struct fabric *f, struct fabric_port *p, const char *text)
{
    p->plug = *text ? clean_copy (f, text) : NULL;
}

static int port_taken (const struct fabric *f, const struct fabric_port *p,
                       struct error *err)
{
    return error_input (err, "port %016" PRIx64 "/%u has two cables",
                        f->node[p->node].guid, p->num);
}

int fabric_add_cable (struct fabric *f, uint32_t node_a, unsigned int port_a,
                      uint32_t node_b, unsigned int port_b,
                      unsigned int width, const char *speed,
                      struct error *err)
{
    struct fabric_port *a = fabric_port_at (f, node_a, port_a, err);
    struct fabric_port *b = a ? fabric_port_at (f, node_b, port_b, err) : NULL;
    const struct rates rate = rates_of (width, speed);
    struct fabric_link *link;

    if (!b)
        return -1;
    if (width != 0 && !rate.lanes)
        return error_input (err, "no cable has %u lanes", width);
    if (*speed && !rate.speeds)
        return error_input (err, "%.16s is not a speed", speed);
    if (a == b)
        return error_input (err, "port %016" PRIx64 "/%u leads to itself",
                            f->node[node_a].guid, port_a);
    if (a->link != FABRIC_NONE)
        return port_taken (f, a, err);
    if (b->link != FABRIC_NONE)
        return port_taken (f, b, err);
    f->link = xgrow (f->link, f->nlinks, sizeof (*f->link));
    link = &f->link[f->nlinks];
    *link = (struct fabric_link){
        .a = a - f->port, .b = b - f->port, .width = width,
    };
    strcpy (link->speed, speed);
    a->link = b->link = f->nlinks++;
    return 0;
}

int fabric_set_lft (struct fabric *f, uint32_t node, const uint8_t *lft,
                    unsigned int top, struct error *err)
{
    struct fabric_node *n = &f->node[node];

    if (n->type != NODE_SWITCH)
        return error_input (err, "%s %016" PRIx64 " has no forwarding table",
                            fabric_type_name (n->type), n->guid);
    if (n->lft)
        return error_input (err, "switch %016" PRIx64 " has two forwarding "
                                 "tables", n->guid);
    if (top > FABRIC_MAX_LID)
        return error_input (err, "the forwarding table of switch %016" PRIx64
                                 " ends at LID %u", n->guid, top);
    n->lft = memcpy (pool_alloc (f->pool, top + 1, 1), lft, top + 1);
    n->lft_top = top;
    return 0;
}

/* Check a group of ports, or an entry of the table that refers to them. */
static int check_group (const struct fabric_node *n,
                        const struct spread_group *group, size_t i,
                        struct error *err)
{
    for (unsigned int p = 0; p < 64 * 4; p++)
        if (group[i].port[p / 64] >> p % 64 & 1 && (p == 0 || p > n->nports))
            return error_input (err, "group %zu of switch %016" PRIx64 " has "
                                     "port %u, and the switch ports 1 to %u", i,
                                n->guid, p, n->nports);
    return 0;
}

static int check_entry (const struct fabric_node *n, unsigned int lid,
                        const struct spread_entry *e,
                        const struct spread_group *group, size_t ngroups,
                        struct error *err)
{
    static const struct spread_group none;

    if (e->port > n->nports && e->port != n->lft[lid]
        && e->port != LFT_NO_ROUTE)
        return error_input (err, "LID %u of switch %016" PRIx64 " has static "
                                 "port %u, and the switch ports 1 to %u", lid,
                            n->guid, e->port, n->nports);
    if (e->state > SPREAD_HASHED)
        return error_input (err, "LID %u of switch %016" PRIx64
                                 " is in state %u", lid, n->guid, e->state);
    if (e->state == SPREAD_STATIC)
        return 0;
    if (e->group >= ngroups)
        return error_input (err, "LID %u of switch %016" PRIx64 " goes to "
                                 "group %u of %zu", lid, n->guid, e->group,
                            ngroups);
    return memcmp (&group[e->group], &none, sizeof (none)) != 0
               ? 0
               : error_input (err,
                              "LID %u of switch %016" PRIx64 " goes to group "
                              "%u, which has no ports",
                              lid, n->guid, e->group);
}

int fabric_set_groups (struct fabric *f, uint32_t node,
                       const struct spread_group *group, size_t ngroups,
                       const struct spread_entry *entry, struct error *err)
{
    struct fabric_node *n = &f->node[node];
    struct fabric_spread *s = &n->spread;

    if (!n->lft)
        return error_input (err, "%s %016" PRIx64 " has no forwarding table",
                            fabric_type_name (n->type), n->guid);
    if (s->entry)
        return error_input (err, "switch %016" PRIx64 " has two tables of "
                                 "groups", n->guid);
    if (ngroups > FABRIC_MAX_GROUPS)
        return error_input (err, "switch %016" PRIx64 " has %zu groups",
                            n->guid, ngroups);
    for (size_t i = 0; i < ngroups; i++)
        if (check_group (n, group, i, err) < 0)
            return -1;
    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        if (check_entry (n, lid, &entry[lid], group, ngroups, err) < 0)
            return -1;
    s->ngroups = ngroups;
    s->group = pool_alloc (f->pool, ngroups, sizeof (*group));
    for (size_t i = 0; i < ngroups; i++)
        s->group[i] = group[i];
    s->entry = pool_alloc (f->pool, n->lft_top + 1U, sizeof (*entry));
    for (unsigned int lid = 0; lid <= n->lft_top; lid++) {
        s->entry[lid] = entry[lid];
        if (entry[lid].state == SPREAD_STATIC)
            s->entry[lid].group = 0;
    }
    return 0;
}

void fabric_set_source (struct fabric *f, const char *source, int64_t time)
{
    f->source = clean_copy (f, source);
    f->time = time;
}

void fabric_warn (struct fabric *f, const char *fmt, ...)
{
    char text[256];

    TEXT_PRINT (text, sizeof (text), fmt);
    for (size_t i = 0; i < f->nwarnings; i++)
        if (strcmp (f->warning[i], text) == 0)
            return;
    if (f->nwarnings == FABRIC_MAX_WARNINGS)
        return;
    f->warning = pool_grow (f->pool, f->warning, f->nwarnings,
                            sizeof (*f->warning));
    f->warning[f->nwarnings++] = text_clean (pool_strdup (f->pool, text));
}

static int compare_nodes_by_guid (const void *a, const void *b)
{
    return util_compare (((const struct fabric_node *)a)->guid,
                         ((const struct fabric_node *)b)->guid);
}

static int compare_links_by_port (const void *a, const void *b)
{
    return util_compare (((const struct fabric_link *)a)->a,
                         ((const struct fabric_link *)b)->a);
}

/* Renumber nodes, ports and links. */
static void sort (struct fabric *f)
{
    uint32_t *moved = xarray (f->nports, sizeof (*moved));
    struct fabric_port *port = xarray (f->nports, sizeof (*port));
    size_t np = 0;

    if (f->nnodes > 0)
        qsort (f->node, f->nnodes, sizeof (*f->node), compare_nodes_by_guid);
    for (size_t i = 0; i < f->nnodes; i++) {
        struct fabric_node *n = &f->node[i];
        uint32_t first = n->first_port;

        map_put (&f->by_guid, n->guid, i);
        n->first_port = np;
        for (unsigned int k = 0; k < n->nports; k++) {
            moved[first + k] = np;
            port[np] = f->port[first + k];
            port[np++].node = i;
        }
    }
    free (f->port);
    f->port = port;
    for (size_t i = 0; i < f->nlinks; i++) {
        struct fabric_link *l = &f->link[i];
        uint32_t a = moved[l->a], b = moved[l->b];

        l->a = a < b ? a : b;
        l->b = a < b ? b : a;
    }
    if (f->nlinks > 0)
        qsort (f->link, f->nlinks, sizeof (*f->link), compare_links_by_port);
    for (size_t i = 0; i < f->nlinks; i++) {
        struct fabric_link *l = &f->link[i];
        const struct fabric_port *p = &f->port[l->a];

        f->port[l->a].link = f->port[l->b].link = i;
        snprintf (l->id, sizeof (l->id), "%016" PRIx64 "/%u",
                  f->node[p->node].guid, p->num);
    }
    free (moved);
}

/* owner[LID]: the node with this LID in a subnet, or FABRIC_NONE. */
static uint32_t *find_lid_owners (const struct fabric *f, unsigned int subnet,
                                  struct error *err)
{
    size_t size = (FABRIC_MAX_LID + 1) * sizeof (uint32_t);
    uint32_t *owner = memset (xarray (size, 1), 0xff, size);

    for (int pass = 0; pass < 2; pass++) /* switches, then ports */
        for (size_t i = 0; i < (pass ? f->nports : f->nnodes); i++) {
            uint32_t node = pass ? f->port[i].node : i;
            const struct fabric_port *p
                = &f->port[pass ? i : f->node[i].first_port];
            bool is_switch = f->node[node].type == NODE_SWITCH;
            unsigned int lid = pass ? f->port[i].lid : f->node[node].lid;
            unsigned int end = lid + (pass ? 1U << f->port[i].lmc : 1);

            for (; lid > 0 && is_switch == !pass && p->subnet == subnet
                   && lid < end; lid++) {
                if (owner[lid] == FABRIC_NONE) {
                    owner[lid] = node;
                    continue;
                }
                error_input (err, "LID %u belongs to %016" PRIx64 " and to %016"
                                  PRIx64, lid, f->node[owner[lid]].guid,
                             f->node[node].guid);
                free (owner);
                return NULL;
            }
        }
    return owner;
}

static unsigned int other_lids (const struct fabric *f, uint32_t endpoint)
{
    return (1U << f->port[f->endpoint[endpoint].port].lmc) - 1;
}

/* List every endpoint with each of its LIDs. LIDs are unique, so there are no
 * more ends than LIDs.
 */
static void list_fabric_ends (struct fabric *f)
{
    size_t n = f->nendpoints;

    for (size_t i = 0; i < f->nendpoints; i++)
        n += other_lids (f, i);
    f->end = pool_alloc (f->pool, n, sizeof (*f->end));
    f->nends = f->nendpoints;
    for (size_t i = 0; i < f->nendpoints; i++) {
        struct fabric_endpoint *e = &f->endpoint[i];
        uint16_t lid = f->port[e->port].lid;

        if (f->port[e->port].guid != 0)
            map_put (&f->by_port_guid, f->port[e->port].guid, i);
        e->more = f->nends;
        f->end[i] = (struct fabric_end){ i, lid, e->name };
        for (unsigned int k = 1; k <= other_lids (f, i); k++)
            f->end[f->nends++] = (struct fabric_end){
                i, lid + k, pool_printf (f->pool, "%s~%u", e->name, k)
            };
    }
}

uint32_t fabric_end_of (const struct fabric *f, uint32_t endpoint,
                        unsigned int offset)
{
    return offset == 0 ? endpoint : f->endpoint[endpoint].more + offset - 1;
}

void fabric_rate_name (const struct fabric_link *l, char buf[RATES_TEXT])
{
    const struct rates rate = fabric_rate (l);

    if (*rates_format (&rate, buf) == '-')
        *buf = '\0';
}

/* The number of bytes of a description that name the chassis: for
 * "MF0;NAME:MODEL/L01/U1", a module of NAME, those before the first slash. 0:
 * not a module.
 */
static size_t chassis_name (const struct fabric_node *n)
{
    const char *slash = strchr (n->desc, '/');

    return n->type == NODE_SWITCH && slash && strncmp (n->desc, "MF0;", 4) == 0
               ? (size_t)(slash - n->desc)
               : 0;
}

/* What links of one class have in common, in the order of the classes: their
 * kind, the levels of both ends, whether they are internal, their rate.
 */
enum { CLASS_HOST, CLASS_SWITCH, CLASS_OTHER, CLASS_INTERNAL = 1 << 7 };

/* The cage of a link's port, 0 if not known: on switches whose ports are of
 * four NDR or XDR lanes, an OSFP cage holds two, an odd one and the next.
 */
static uint8_t cage_of (const struct fabric *f, const struct fabric_link *l,
                        uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct rates trained = fabric_rate (l);
    const struct rates ndr = rates_of (4, "NDR");
    const struct rates *r = p->rates.supported.speeds ? &p->rates.supported
                                                      : &trained;

    return f->node[p->node].type == NODE_SWITCH && !l->internal && r->speeds
                   && !rates_slower (r, &ndr) && rates_lanes (r) == 4
               ? (p->num + 1) / 2
               : 0;
}

/* What the ends of a link that measure its round trip say, on average. */
static double link_lrtl (const struct fabric *f, const struct fabric_link *l)
{
    uint32_t a = f->port[l->a].lrtl, b = f->port[l->b].lrtl;

    return a && b ? ((double)a + b) / 2 : a + b;
}

/* Find what kind of link it is. Return its class as a number for sorting. */
static uint32_t classify_link (struct fabric *f, struct fabric_link *l,
                               struct link_info *info)
{
    const struct fabric_node *a = &f->node[f->port[l->a].node];
    const struct fabric_node *b = &f->node[f->port[l->b].node];
    const struct rates rate = fabric_rate (l);
    uint32_t host = a->host == FABRIC_NONE ? b->host : a->host;
    bool a_switch = a->type == NODE_SWITCH, b_switch = b->type == NODE_SWITCH;
    size_t len = chassis_name (a);
    uint32_t kind, low = 0, high = 0;

    l->kind = host == FABRIC_NONE ? LINK_SWITCH : LINK_HOST;
    /* From a node to itself is a cable nevertheless. */
    l->internal = a != b
                  && ((a->system != 0 && a->system == b->system)
                      || (len > 0 && len == chassis_name (b)
                          && memcmp (a->desc, b->desc, len) == 0));
    *info = (struct link_info){
        .id = l->id,
        .kind = l->kind,
        .end = { a_switch ? a - f->node : NETWORK_NONE,
                 b_switch ? b - f->node : NETWORK_NONE },
        .cage = { cage_of (f, l, l->a), cage_of (f, l, l->b) },
        .lrtl = link_lrtl (f, l),
        .rate = rates_data_bits (&rate),
        .host = host == FABRIC_NONE ? NULL : f->host[host].name,
    };
    kind = l->kind == LINK_HOST    ? CLASS_HOST
           : a_switch && b_switch ? CLASS_SWITCH
                                  : CLASS_OTHER;
    if (kind == CLASS_SWITCH) {
        low = a->level < b->level ? a->level : b->level;
        high = a->level < b->level ? b->level : a->level;
    }
    return kind << 24 | low << 16 | high << 8 | rates_order (&rate)
           | (l->internal ? CLASS_INTERNAL : 0);
}

static void classify (struct fabric *f)
{
    static const char *const kind[] = { "host", "switch", "other" };
    uint32_t *key = xarray (f->nlinks, sizeof (*key));
    uint32_t *of = xarray (f->nlinks, sizeof (*of));

    f->link_info = pool_alloc (f->pool, f->nlinks, sizeof (*f->link_info));
    for (size_t i = 0; i < f->nlinks; i++)
        key[i] = of[i] = classify_link (f, &f->link[i], &f->link_info[i]);
    for (size_t i = 0; i < f->nendpoints; i++)
        f->link_info[f->port[f->endpoint[i].port].link].rail
            = f->endpoint[i].rail;
    qsort (key, f->nlinks, sizeof (*key), compare_u32);
    for (size_t i = 0; i < f->nlinks; i++)
        if (i == 0 || key[i] != key[f->nclasses - 1])
            key[f->nclasses++] = key[i];
    f->class_name = pool_alloc (f->pool, f->nclasses, sizeof (*f->class_name));
    for (size_t i = 0; i < f->nlinks; i++) {
        struct fabric_link *l = &f->link[i];
        const uint32_t *found = bsearch (&of[i], key, f->nclasses,
                                         sizeof (*key), compare_u32);
        char **name = &f->class_name[found - key];

        if (!*name) {
            char rate[RATES_TEXT], levels[16] = "";

            fabric_rate_name (l, rate);
            if (*found >> 24 == CLASS_SWITCH)
                snprintf (levels, sizeof (levels), " %u-%u",
                          *found >> 16 & 0xff, *found >> 8 & 0xff);
            *name = pool_printf (f->pool, "%s%s%s%s%s", kind[*found >> 24],
                                 levels, l->internal ? " internal" : "",
                                 *rate ? " " : "", rate);
        }
        f->link_info[i].class_id = l->class_id = found - key;
        f->link_info[i].class_name = *name;
    }
    free (key);
    free (of);
}

static void hash (struct fabric *f, const uint32_t *owner)
{
    uint8_t entry[FABRIC_MAX_LID + 1];
    uint16_t used[FABRIC_MAX_LID + 1];
    size_t nused = 0;
    struct digest d;

    for (unsigned int lid = 1; lid <= FABRIC_MAX_LID; lid++)
        if (owner[lid] != FABRIC_NONE)
            used[nused++] = lid;
    digest_init (&d);
    digest_u64 (&d, f->nnodes);
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        digest_u64 (&d, n->guid);
        digest_u64 (&d, n->type << 24 | n->nports << 16 | n->lid);
    }
    for (size_t i = 0; i < f->nports; i++) {
        const struct fabric_port *p = &f->port[i];

        if (f->node[p->node].type != NODE_SWITCH) {
            digest_u64 (&d, p->guid);
            digest_u64 (&d, (uint64_t)i << 24 | p->lmc << 16 | p->lid);
        }
    }
    digest_u64 (&d, f->nlinks);
    for (size_t i = 0; i < f->nlinks; i++)
        digest_u64 (&d, (uint64_t)f->link[i].a << 32 | f->link[i].b);
    for (size_t i = 0; i < f->nnodes; i++) {
        if (f->node[i].type != NODE_SWITCH)
            continue;
        if (nused > 0 && used[nused - 1] - used[0] == (int)nused - 1
            && f->node[i].lft && used[nused - 1] <= f->node[i].lft_top)
            memcpy (entry, f->node[i].lft + used[0], nused);
        else
            for (size_t k = 0; k < nused; k++)
                entry[k] = fabric_entry (&f->node[i], used[k]);
        digest_bytes (&d, entry, nused);
    }
    digest_hex (&d, f->hash);
}

/*
 * Names for people
 */

/* Sorts pointers to names, so that equal ones are next to each other. */
static int compare_name_strings (const void *a, const void *b)
{
    return strcmp (**(char ***)a, **(char ***)b);
}

void fabric_tell_apart (const struct fabric *f, struct pool *pool, char **name,
                        const uint32_t *node, size_t n)
{
    enum { AFTER = 1 + 16 + 4 }; /* "-GUID", then a port's "/254" */
    char ***v = xarray (n, sizeof (*v));
    char **longer = xcalloc (n, sizeof (*longer));

    for (size_t i = 0; i < n; i++)
        v[i] = &name[i];
    qsort (v, n, sizeof (*v), compare_name_strings);
    for (size_t k = 0; k < n; k++) {
        size_t i = v[k] - name;

        if ((k > 0 && compare_name_strings (&v[k - 1], &v[k]) == 0)
            || (k + 1 < n && compare_name_strings (&v[k], &v[k + 1]) == 0))
            longer[i] = pool_printf (pool, "%.*s-%016" PRIx64,
                                     FABRIC_NAME_MAX - 1 - AFTER, name[i],
                                     f->node[node[i]].guid);
    }
    for (size_t i = 0; i < n; i++)
        if (longer[i])
            name[i] = longer[i];
    free (longer);
    free (v);
}

static void name_nodes (struct fabric *f)
{
    char **name = xarray (f->nnodes, sizeof (*name));
    uint32_t *node = xarray (f->nnodes, sizeof (*node));

    for (uint32_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        node[i] = i;
        name[i] = *n->desc ? n->desc
                           : pool_printf (f->pool, "%016" PRIx64, n->guid);
    }
    fabric_tell_apart (f, f->pool, name, node, f->nnodes);
    for (size_t i = 0; i < f->nnodes; i++)
        f->node[i].name = name[i];
    free (name);
    free (node);
}

int fabric_finish (struct fabric *f, struct error *err)
{
    uint32_t *owner;

    f->names = NULL;
    if (!f->source)
        fabric_set_source (f, "", 0);
    sort (f);
    name_nodes (f);
    for (size_t s = f->nsubnets; s-- > 1; free (owner))
        if (!(owner = find_lid_owners (f, s, err)))
            return -1;
    if (!(owner = find_lid_owners (f, 0, err)))
        return -1;
    hosts_find (f);
    list_fabric_ends (f);
    levels_find (f);
    classify (f);
    if (f->nsubnets == 0)
        hash (f, owner);
    free (owner);
    f->walk = walk_create (f);
    return 0;
}

static int compare_host_name (const void *name, const void *host)
{
    return strcmp (name, ((const struct fabric_host *)host)->name);
}

uint32_t fabric_find_host (const struct fabric *f, const char *name)
{
    const struct fabric_host *h
        = f->nhosts == 0 ? NULL
                         : bsearch (name, f->host, f->nhosts,
                                    sizeof (*f->host), compare_host_name);

    return h ? h - f->host : FABRIC_NONE;
}

/* The hosts whose names begin with a name and a '.' follow one another. */
size_t fabric_hosts_named (const struct fabric *f, const char *name,
                           uint32_t *first)
{
    size_t len = strlen (name), low = 0, high = f->nhosts, n = 0;

    *first = fabric_find_host (f, name);
    if (*first != FABRIC_NONE || len == 0)
        return *first != FABRIC_NONE;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strncmp (f->host[mid].name, name, len);

        if (order < 0 || (order == 0 && f->host[mid].name[len] < '.'))
            low = mid + 1;
        else
            high = mid;
    }
    for (; low + n < f->nhosts && !strncmp (f->host[low + n].name, name, len)
           && f->host[low + n].name[len] == '.';
         n++)
        ;
    *first = n == 1 ? low : FABRIC_NONE;
    return n;
}

uint32_t fabric_host_named (const struct fabric *f, const char *name)
{
    uint32_t host;

    fabric_hosts_named (f, name, &host);
    return host;
}

uint32_t fabric_find_endpoint (const struct fabric *f, const char *name)
{
    char host[FABRIC_NAME_MAX + 1];
    size_t len = strcspn (name, ":");
    uint64_t rail = 1;
    uint32_t h;

    if (len >= sizeof (host))
        return FABRIC_NONE;
    memcpy (host, name, len);
    host[len] = '\0';
    h = fabric_host_named (f, host);
    if (h == FABRIC_NONE
        || (name[len]
            && text_u64 (name + len + 1, 1, f->host[h].count, &rail) < 0))
        return FABRIC_NONE;
    return f->host[h].first + rail - 1;
}

uint32_t fabric_find_guid (const struct fabric *f, uint64_t guid)
{
    return map_find (&f->by_port_guid, guid);
}

uint32_t fabric_endpoint_at (const struct fabric *f, uint64_t node_guid,
                             unsigned int port)
{
    uint32_t node = fabric_find_node (f, node_guid);
    const struct fabric_node *n;

    if (node == FABRIC_NONE)
        return FABRIC_NONE;
    n = &f->node[node];
    if (port < 1 || port > n->nports)
        return FABRIC_NONE;
    for (uint32_t i = 0; n->host != FABRIC_NONE && i < f->host[n->host].count;
         i++)
        if (f->endpoint[f->host[n->host].first + i].port
            == n->first_port + port - 1)
            return f->host[n->host].first + i;
    return FABRIC_NONE;
}

uint32_t fabric_find_end (const struct fabric *f, const char *name)
{
    char endpoint[2 * FABRIC_NAME_MAX];
    size_t len = strcspn (name, "~");
    uint64_t offset = 0;
    uint32_t i;

    if (len >= sizeof (endpoint))
        return FABRIC_NONE;
    memcpy (endpoint, name, len);
    endpoint[len] = '\0';
    i = fabric_find_endpoint (f, endpoint);
    if (i == FABRIC_NONE
        || (name[len]
            && text_u64 (name + len + 1, 0, other_lids (f, i), &offset) < 0))
        return FABRIC_NONE;
    return fabric_end_of (f, i, offset);
}

static bool is_called (const struct fabric_node *n, const char *name)
{
    return strcmp (n->desc, name) == 0 || strcmp (n->name, name) == 0;
}

uint32_t fabric_by_guid (const struct fabric *f, const char *text)
{
    if (strlen (text) != 16 || strspn (text, "0123456789abcdef") != 16)
        return FABRIC_NONE;
    return fabric_find_node (f, strtoull (text, NULL, 16));
}

/* By name, only ports with a cable count; if they are of several cables, the
 * name is ambiguous.
 */
uint32_t fabric_find_port (const struct fabric *f, const char *text)
{
    char name[FABRIC_NAME_MAX + 1];
    const char *slash = strrchr (text, '/');
    uint32_t node, host, found = FABRIC_NONE;
    uint64_t num;

    if (!slash || slash == text || (size_t)(slash - text) >= sizeof (name)
        || text_u64 (slash + 1, 1, MAX_PORTS, &num) < 0)
        return FABRIC_NONE;
    memcpy (name, text, slash - text);
    name[slash - text] = '\0';
    if ((node = fabric_by_guid (f, name)) != FABRIC_NONE)
        return num <= f->node[node].nports ? f->node[node].first_port + num - 1
                                           : FABRIC_NONE;
    host = fabric_host_named (f, name);
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];
        uint32_t port = n->first_port + num - 1;

        if (num > n->nports || f->port[port].link == FABRIC_NONE
            || (!is_called (n, name)
                && (host == FABRIC_NONE || n->host != host)))
            continue;
        if (found != FABRIC_NONE && f->port[found].link != f->port[port].link)
            return FABRIC_NONE;
        found = port;
    }
    return found;
}

uint32_t fabric_find_link (const struct fabric *f, const char *text)
{
    uint32_t port = fabric_find_port (f, text);

    return port == FABRIC_NONE ? FABRIC_NONE : f->port[port].link;
}

uint32_t fabric_find_switch (const struct fabric *f, const char *text)
{
    uint32_t found = fabric_by_guid (f, text);

    if (found != FABRIC_NONE)
        return f->node[found].type == NODE_SWITCH ? found : FABRIC_NONE;
    for (size_t i = 0; i < f->nnodes; i++) {
        if (f->node[i].type != NODE_SWITCH || !is_called (&f->node[i], text))
            continue;
        if (found != FABRIC_NONE)
            return FABRIC_NONE;
        found = i;
    }
    return found;
}

const char *fabric_type_name (enum node_type type)
{
    static const char *const names[] = { "node", "ca", "switch", "router" };

    return names[type <= NODE_ROUTER ? type : 0];
}

const char *fabric_state_name (enum port_state state)
{
    return states[state];
}

int fabric_find_state (const char *name)
{
    for (size_t i = 0; i < sizeof (states) / sizeof (states[0]); i++)
        if (strcmp (states[i], name) == 0)
            return i;
    return -1;
}

static bool is_up (const struct fabric_port *p)
{
    return p->state == PORT_UNKNOWN || p->state == PORT_ACTIVE;
}

bool fabric_is_up (const struct fabric *f, const struct fabric_link *l)
{
    return is_up (&f->port[l->a]) && is_up (&f->port[l->b]);
}

char *fabric_port_name (const struct fabric *f, uint32_t port, char *buf,
                        size_t size)
{
    const struct fabric_port *p = &f->port[port];

    snprintf (buf, size, "%s/%u", f->node[p->node].name, p->num);
    return buf;
}

char *fabric_plugs (const struct fabric *f, uint32_t link,
                    char buf[FABRIC_PLUGS])
{
    const char *a = f->port[f->link[link].a].plug;
    const char *b = f->port[f->link[link].b].plug;

    if (!a && !b)
        *buf = '\0';
    else if (a && b && strcmp (a, b) == 0)
        snprintf (buf, FABRIC_PLUGS, "%s", a);
    else
        snprintf (buf, FABRIC_PLUGS, "%s -- %s", a ? a : "?", b ? b : "?");
    return buf;
}
