/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Each switch is asked four lists of questions, some of each at a time; an
 * answer starts the next question, and one that is missing ends its list.
 *
 * The attributes, from the public headers of NVIDIA's subnet manager, not
 * tested on hardware; all of the first table: of private LFT 0. 0xFF23,
 * modifier: block of 16 entries by LID; an entry has its state in bits 6 and 7
 * of byte 0, the static port in byte 1, the group in bytes 2 and 3. 0xFF21,
 * modifier: block of two masks of 32 bytes, the last bit for port 0; a group
 * has one mask or several, which are one after the other, and a message may
 * take a port of any. 0xFF10: byte 3 is 0 if there are no private LFTs. 0xFF14,
 * modifier: block of 4 ports; a byte for each service level, the private LFT.
 */
#include "config.h"
#include "ibquery/read/groups.h"

#include <inttypes.h>
#include <stdlib.h>

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
        enum explore_state *state; /* by question; NULL: not on demand */
        bool failed;
        uint32_t which; /* the first that failed */
        uint16_t status;
    } list[LISTS];
    struct spread_entry *entry; /* by LID, in whole blocks */
    struct spread_group *group; /* [room] */
    size_t room;
};

void groups_destroy (struct explored_groups *g)
{
    if (g) {
        for (int i = 0; i < LISTS; i++)
            free (g->list[i].state);
        free (g->entry);
        free (g->group);
        free (g);
    }
}

static bool explored_port_has_cable (const struct explored_node *n,
                                     unsigned int num)
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

    if (!explored_port_has_cable (n, out))
        return false;
    if (what < 2) {
        for (unsigned int in = 1; in <= n->info.nports; in++)
            if (in != out && explored_port_has_cable (n, in)
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

static int on_groups_answer (void *arg, uint64_t cookie,
                             const struct mads_answer *a, struct error *err);

/* Ask a question of a list. False if it need not be asked. */
static bool ask_one (struct explore *e, uint32_t node, enum list list,
                     uint32_t i)
{
    static const uint16_t attr[LISTS] = {
        [ENTRIES] = ATTR_AR_LFT, [MASKS] = ATTR_AR_GROUPS,
        [PRIVATE] = ATTR_PRIVATE_MAP, [LEVELS] = ATTR_SL_TO_VL,
    };
    struct explored_node *n = e->node[node];
    struct mads_request r = {
        .class = MADS_DIRECTED, .attr = attr[list], .mod = i, .optional = true,
        .to = &n->to, .fn = on_groups_answer, .arg = e,
        .cookie = (uint64_t)list << 62 | (uint64_t)i << 32 | node,
    };

    if (list == PRIVATE && i == 0)
        r.attr = ATTR_PRIVATE_INFO;
    else if (list == PRIVATE)
        r.mod = i - 1;
    if (list == LEVELS
        && !ask_levels (e, n, i / PER_PORT + 1, i % PER_PORT, &r))
        return false;
    mads_get (e->mads, &r);
    return true;
}

/* Ask the next question of a list, if there is one. */
static void request_next_in_list (struct explore *e, uint32_t node,
                                  enum list list)
{
    struct groups_list *l = &e->node[node]->groups->list[list];

    while (l->next < l->end && !l->failed) {
        if (ask_one (e, node, list, l->next++))
            return;
        l->here++;
    }
}

static void begin_list_requests (struct explore *e, uint32_t node,
                                 enum list list, uint32_t end)
{
    e->node[node]->groups->list[list].end = end;
    for (int i = 0; i < AT_ONCE; i++)
        request_next_in_list (e, node, list);
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

        for (int k = 0; k < 4 && i / n->masks < n->groups->room; k++)
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
               && explored_port_has_cable (n, (i - 1) * BLOCK_PORTS
                                                  + k / SPREAD_LEVELS);
}

static void take_port_levels (struct explore *e, struct explored_node *n,
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

static int on_groups_answer (void *arg, uint64_t cookie,
                             const struct mads_answer *a, struct error *err)
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
    if (l->state)
        l->state[i] = EXPLORE_HERE;
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
        take_port_levels (e, n, i, a->data);
    }
    request_next_in_list (e, node, list);
    return 0;
}

static bool is_list_complete (const struct groups_list *l)
{
    return l->end > 0 && !l->failed && l->here == l->end;
}

/* How many groups the entries refer to. A LID without a route refers to none.
 */
static size_t count_groups (const struct explored_node *n)
{
    size_t count = 0;

    for (unsigned int lid = 0; lid <= n->sw.top; lid++) {
        const struct spread_entry *s = &n->groups->entry[lid];

        if (n->lft[lid] != LFT_NO_ROUTE && s->state != SPREAD_STATIC
            && count <= s->group)
            count = s->group + 1U;
    }
    return count;
}

static uint32_t mask_blocks (const struct explored_node *n, size_t groups)
{
    return (groups * n->masks + BLOCK_MASKS - 1) / BLOCK_MASKS;
}

/* Make room for the entries, and for groups. Return the blocks of entries. */
static uint32_t alloc_group_entries (struct explored_node *n, size_t groups)
{
    uint32_t blocks = n->sw.top / GROUPS_BLOCK + 1;
    struct explored_groups *g = n->groups;

    if (!g->entry)
        g->entry = xcalloc (blocks * GROUPS_BLOCK, sizeof (*g->entry));
    if (groups > 0) {
        g->group = xcalloc (groups, sizeof (*g->group));
        g->room = groups;
    }
    return blocks;
}

static void ask_masks (struct explore *e, uint32_t node)
{
    struct explored_node *n = e->node[node];
    size_t count;

    if (!is_list_complete (&n->groups->list[ENTRIES])
        || (count = count_groups (n)) > n->max_groups)
        return;
    alloc_group_entries (n, count);
    begin_list_requests (e, node, MASKS, mask_blocks (n, count));
}

int groups_read (struct explore *e, struct error *err)
{
    bool on = false;

    for (size_t i = 0; i < e->nnodes; i++)
        on |= spread_is_on (&e->node[i]->spread);
    for (uint32_t i = 0; on && i < e->nnodes; i++) {
        struct explored_node *n = e->node[i];
        bool spreads = spread_is_on (&n->spread);

        if (n->table != EXPLORE_HERE)
            continue;
        if (!n->groups)
            n->groups = xcalloc (1, sizeof (*n->groups));
        if (spreads && !e->on_demand)
            begin_list_requests (e, i, ENTRIES, alloc_group_entries (n, 0));
        if (spreads)
            begin_list_requests (e, i, PRIVATE, 1);
        begin_list_requests (e, i, LEVELS, n->info.nports * PER_PORT);
    }
    if (mads_run (e->mads, err) < 0)
        return -1;
    for (uint32_t i = 0; on && !e->on_demand && i < e->nnodes; i++)
        if (e->node[i]->groups && e->node[i]->groups->entry)
            ask_masks (e, i);
    return mads_run (e->mads, err);
}

/* On demand: whether a block is here; if not, it is asked for. */
static bool is_here (struct explore *e, uint32_t node, enum list list,
                     uint32_t block)
{
    enum explore_state *state = e->node[node]->groups->list[list].state + block;

    if (*state == EXPLORE_NOT_ASKED) {
        *state = EXPLORE_ASKED;
        ask_one (e, node, list, block);
    }
    return *state == EXPLORE_HERE;
}

const struct spread_group *groups_of (struct explore *e, uint32_t node,
                                      unsigned int lid, bool *asked)
{
    struct explored_node *n = e->node[node];
    const struct spread_entry *s;
    struct explored_groups *g;
    bool here = true;

    if (!spread_is_on (&n->spread))
        return NULL;
    if (!n->groups) {
        g = n->groups = xcalloc (1, sizeof (*n->groups));
        g->list[ENTRIES].state = xcalloc (
            alloc_group_entries (n, n->max_groups), sizeof (*g->list->state));
        g->list[MASKS].state = xcalloc (mask_blocks (n, n->max_groups),
                                        sizeof (*g->list->state));
    }
    g = n->groups;
    s = &g->entry[lid];
    if (g->list[ENTRIES].failed || g->list[MASKS].failed)
        return NULL;
    if (!is_here (e, node, ENTRIES, lid / GROUPS_BLOCK))
        *asked = true;
    else if (s->state != SPREAD_STATIC && s->group < n->max_groups) {
        for (uint32_t i = s->group * n->masks; i < (s->group + 1) * n->masks;
             i++)
            here &= is_here (e, node, MASKS, i / BLOCK_MASKS);
        *asked |= !here;
        return here ? &g->group[s->group] : NULL;
    }
    return NULL;
}

int groups_put (struct fabric *f, uint32_t node, const struct explored_node *n,
                struct error *err)
{
    static const char *const what[] = {
        [ENTRIES] = "of the table of groups", [MASKS] = "of the groups",
    };
    const struct explored_groups *g = n->groups;
    size_t count;

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
    if ((count = count_groups (n)) > n->max_groups)
        return error_world (err, "it has %u groups, and LIDs go to group %zu",
                            n->max_groups, count - 1);
    for (size_t i = 0; i < g->room; i++)
        g->group[i].port[0] &= ~1ULL; /* the switch itself */
    for (unsigned int lid = 0; lid <= n->sw.top; lid++)
        if (n->lft[lid] == LFT_NO_ROUTE)
            g->entry[lid] = (struct spread_entry){ SPREAD_STATIC, LFT_NO_ROUTE,
                                                   0 };
    return fabric_set_groups (f, node, g->group, count, g->entry, err);
}
