/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Each switch is asked four lists of questions, some of each at a time; an
 * answer starts the next question, and one that is missing ends its list.
 *
 * The attributes, from the public headers of NVIDIA's subnet manager, not tested
 * on hardware; all of the first table: of private LFT 0. 0xFF23, modifier: block
 * of 16 entries by LID; an entry has its state in bits 6 and 7 of byte 0, the
 * static port in byte 1, the group in bytes 2 and 3. 0xFF21, modifier: block of
 * two masks of 32 bytes, the last bit for port 0; a group has one mask or
 * several, which are one after the other, and a message may take a port of any.
 * 0xFF10: byte 3 is 0 if there are no private LFTs. 0xFF14, modifier: block of 4
 * ports; a byte for each service level, the private LFT.
 */
#include "config.h"
#include "ibquery/read/groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/spread.h"
#include "util/alloc.h"

enum list { ENTRIES, MASKS, PRIVATE, LEVELS, LISTS };

enum {
    AT_ONCE = 4,
    BLOCK_MASKS = 2,
    MASK = 32,          /* bytes */
    BLOCK_PORTS = 4,
    PER_PORT = 3,       /* questions for its SL-to-VL tables */
};

struct explored_groups {
    struct groups_list {
        uint32_t next, end, here; /* questions */
        bool failed;
        uint32_t which; /* the first that failed */
        uint16_t status;
    } list[LISTS];
    struct spread_entry *entry; /* by LID, in whole blocks */
    struct spread_group *group; /* [ngroups] */
    size_t ngroups;
};

void groups_destroy (struct explored_groups *g)
{
    if (g) {
        free (g->entry);
        free (g->group);
        free (g);
    }
}

static bool has_cable (const struct explored_node *n, unsigned int num)
{
    return num >= 1 && num <= n->info.nports
           && n->port[num].far != EXPLORE_NONE;
}

static bool leads_to_switch (const struct explore *e,
                             const struct explored_node *n, unsigned int num)
{
    return explored_is_switch (e->node[n->port[num].far]);
}

/* Ask for an SL-to-VL table of port `out`: of messages from a port that leads
 * to a host, from one that leads to a switch, of the adapter at its far end.
 * False if there is none.
 */
static bool ask_levels (struct explore *e, struct explored_node *n,
                        unsigned int out, unsigned int what,
                        struct mads_request *r)
{
    struct explored_port *p = &n->port[out];

    if (!has_cable (n, out))
        return false;
    if (what < 2) {
        for (unsigned int in = 1; in <= n->info.nports; in++)
            if (in != out && has_cable (n, in)
                && leads_to_switch (e, n, in) == (what == 1)) {
                r->mod = in << 8 | out;
                return true;
            }
        return false;
    }
    if (leads_to_switch (e, n, out) || n->to.hops == MADS_HOPS)
        return false;
    if (!p->ahead) {
        p->ahead = xarray (1, sizeof (*p->ahead));
        *p->ahead = n->to;
        p->ahead->path[++p->ahead->hops] = (uint8_t)out;
    }
    r->to = p->ahead;
    return true;
}

static int on_answer (void *arg, uint64_t cookie, const struct mads_answer *a,
                      struct error *err);

/* Ask the next question of a list, if there is one. */
static void ask (struct explore *e, uint32_t node, enum list list)
{
    static const uint16_t attr[LISTS] = {
        [ENTRIES] = ATTR_AR_LFT, [MASKS] = ATTR_AR_GROUPS,
        [PRIVATE] = ATTR_PRIVATE_MAP, [LEVELS] = ATTR_SL_TO_VL,
    };
    struct explored_node *n = e->node[node];
    struct groups_list *l = &n->groups->list[list];

    while (l->next < l->end && !l->failed) {
        uint32_t i = l->next++;
        struct mads_request r = {
            .class = MADS_DIRECTED,
            .attr = attr[list],
            .mod = i,
            .optional = true,
            .to = &n->to,
            .fn = on_answer,
            .arg = e,
            .cookie = (uint64_t)list << 62 | (uint64_t)i << 32 | node,
        };

        if (list == PRIVATE && i == 0)
            r.attr = ATTR_PRIVATE_INFO;
        else if (list == PRIVATE)
            r.mod = i - 1;
        if (list != LEVELS
            || ask_levels (e, n, i / PER_PORT + 1, i % PER_PORT, &r)) {
            mads_get (e->mads, &r);
            return;
        }
        l->here++;
    }
}

static void begin (struct explore *e, uint32_t node, enum list list,
                   uint32_t end)
{
    e->node[node]->groups->list[list].end = end;
    for (int i = 0; i < AT_ONCE; i++)
        ask (e, node, list);
}

struct spread_entry groups_entry (const uint8_t data[GROUPS_ENTRY])
{
    return (struct spread_entry){ data[0] >> 6, data[1], get16 (data + 2) };
}

static void take_entries (struct explored_node *n, uint32_t block,
                          const uint8_t *data)
{
    for (uint32_t i = 0; i < GROUPS_BLOCK; i++)
        n->groups->entry[block * GROUPS_BLOCK + i]
            = groups_entry (data + i * GROUPS_ENTRY);
}

static void take_masks (struct explored_node *n, uint32_t block,
                        const uint8_t *data)
{
    for (uint32_t i = block * BLOCK_MASKS; i < (block + 1) * BLOCK_MASKS; i++) {
        struct spread_group *g = &n->groups->group[i / n->masks];

        for (int k = 0; k < 4 && i / n->masks < n->groups->ngroups; k++)
            g->port[3 - k] |= get64 (data + 8 * k);
        data += MASK;
    }
}

/* The first says whether there are private LFTs, and so what else to ask. */
static void take_private (struct explored_node *n, uint32_t i,
                          const uint8_t *data)
{
    if (i == 0) {
        if (data[3] != 0)
            n->groups->list[PRIVATE].end = 2 + n->info.nports / BLOCK_PORTS;
        return;
    }
    for (unsigned int k = 0; k < BLOCK_PORTS * SPREAD_LEVELS; k++)
        n->spread.private_lfts
            |= data[k] != 0
               && has_cable (n, (i - 1) * BLOCK_PORTS + k / SPREAD_LEVELS);
}

static void take_levels (struct explore *e, struct explored_node *n,
                         uint32_t i, const uint8_t *data)
{
    static const uint8_t last_vl[] = { 14, 0, 1, 3, 7, 14 };
    struct explored_port *p = &n->port[i / PER_PORT + 1];
    unsigned int vls;

    if (i % PER_PORT == 2)
        p = &e->node[p->far]->port[p->far_port];
    vls = p->info.vls < sizeof (last_vl) ? p->info.vls : 0;
    for (int level = 0; level < SPREAD_LEVELS; level++)
        if ((data[level / 2] >> (level % 2 ? 0 : 4) & 15) > last_vl[vls])
            p->dropped |= 1U << level;
}

static int on_answer (void *arg, uint64_t cookie, const struct mads_answer *a,
                      struct error *err)
{
    struct explore *e = arg;
    enum list list = cookie >> 62;
    uint32_t i = cookie >> 32 & 0x3fffffff, node = (uint32_t)cookie;
    struct explored_node *n = e->node[node];
    struct groups_list *l = &n->groups->list[list];

    (void)err;
    if (!a->data) {
        /* they are on, and may be used */
        n->spread.private_lfts |= list == PRIVATE && i > 0;
        if (!l->failed || i < l->which) {
            l->which = i;
            l->status = a->status;
        }
        l->failed = true;
        return 0;
    }
    l->here++;
    switch (list) {
    case ENTRIES:
        take_entries (n, i, a->data);
        break;
    case MASKS:
        take_masks (n, i, a->data);
        break;
    case PRIVATE:
        take_private (n, i, a->data);
        break;
    default:
        take_levels (e, n, i, a->data);
    }
    ask (e, node, list);
    return 0;
}

static bool is_complete (const struct groups_list *l)
{
    return l->end > 0 && !l->failed && l->here == l->end;
}

/* Ask for the groups to which a switch's entries refer. A LID without a route
 * refers to none.
 */
static void ask_masks (struct explore *e, uint32_t node)
{
    struct explored_node *n = e->node[node];
    struct explored_groups *g = n->groups;
    size_t masks;

    if (!is_complete (&g->list[ENTRIES]))
        return;
    for (unsigned int lid = 0; lid <= n->sw.top; lid++) {
        struct spread_entry *s = &g->entry[lid];

        if (n->lft[lid] == LFT_NO_ROUTE)
            *s = (struct spread_entry){ SPREAD_STATIC, LFT_NO_ROUTE, 0 };
        if (s->state != SPREAD_STATIC && g->ngroups <= s->group)
            g->ngroups = s->group + 1U;
    }
    if (g->ngroups > n->max_groups)
        return;
    masks = g->ngroups * n->masks;
    g->group = xcalloc (g->ngroups, sizeof (*g->group));
    begin (e, node, MASKS, (masks + BLOCK_MASKS - 1) / BLOCK_MASKS);
}

int groups_read (struct explore *e, struct error *err)
{
    bool on = false;

    for (size_t i = 0; i < e->nnodes; i++)
        on |= spread_is_on (&e->node[i]->spread);
    for (uint32_t i = 0; on && i < e->nnodes; i++) {
        struct explored_node *n = e->node[i];
        bool spreads = spread_is_on (&n->spread);

        if (n->table != EXPLORE_HERE || n->groups)
            continue;
        n->groups = xcalloc (1, sizeof (*n->groups));
        if (spreads && !e->on_demand) {
            uint32_t blocks = n->sw.top / GROUPS_BLOCK + 1;

            n->groups->entry = xcalloc (blocks * GROUPS_BLOCK,
                                        sizeof (*n->groups->entry));
            begin (e, i, ENTRIES, blocks);
        }
        if (spreads)
            begin (e, i, PRIVATE, 1);
        begin (e, i, LEVELS, n->info.nports * PER_PORT);
    }
    if (mads_run (e->mads, err) < 0)
        return -1;
    for (uint32_t i = 0; on && i < e->nnodes; i++)
        if (e->node[i]->groups && e->node[i]->groups->entry
            && !e->node[i]->groups->group)
            ask_masks (e, i);
    return mads_run (e->mads, err);
}

int groups_put (struct fabric *f, uint32_t node, const struct explored_node *n,
                struct error *err)
{
    const struct explored_groups *g = n->groups;
    static const char *const what[] = {
        [ENTRIES] = "of the table of groups", [MASKS] = "of the groups",
    };

    if (!g || !g->entry)
        return 0;
    for (enum list i = ENTRIES; i <= MASKS; i++)
        if (g->list[i].failed)
            return g->list[i].status == 0
                       ? error_world (err, "block %" PRIu32 " %s did not "
                                           "arrive", g->list[i].which, what[i])
                       : error_world (err, "block %" PRIu32 " %s is refused, "
                                           "status 0x%04x",
                                      g->list[i].which, what[i],
                                      g->list[i].status);
    if (!g->group)
        return error_world (err, "it has %u groups, and LIDs go to group %zu",
                            n->max_groups, g->ngroups - 1);
    for (size_t i = 0; i < g->ngroups; i++)
        g->group[i].port[0] &= ~1ULL; /* the switch itself */
    return fabric_set_groups (f, node, g->group, g->ngroups, g->entry, err);
}
