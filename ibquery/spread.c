/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The attribute, from the public headers of NVIDIA's subnet manager, not tested
 * on hardware. In 32-bit words: word 0, bit 0: adaptive routing is on; bits 3
 * and 4: fast recovery is supported, on; bit 27: adaptive routing can be
 * limited to service levels; bit 28: is limited to them; bit 29: can be
 * switched off by transport; bits 8 to 11: one less than the masks of each
 * group. Word 1, bits 0 to 11: number of groups supported, 0 without adaptive
 * routing. Word 2, bits 16 to 31: the service levels. Word 3, bit 0: off for
 * UD; bit 1: off for RC. Word 5, bit 31: hashing is supported; bit 15: is on.
 * Word 6, bits 0 to 15: its service levels.
 */
#include "config.h"
#include "ibquery/spread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/read/smp.h"
#include "util/alloc.h"
#include "util/text.h"

enum {
    ON = 1 << 0,
    RECOVERY = 3 << 3,      /* is supported, and on */
    BY_LEVEL = 3 << 27,     /* can be limited, and is */
    BY_TRANSPORT = 1 << 29,
    GROUPS = 0xfff,
    LEVELS_SHIFT = 16,
    NOT_UD = 1 << 0,
    NOT_RC = 1 << 1,
    ALL_LEVELS = 0xffff,
};

#define HASH_BY_LEVEL (1U << 31 | 1U << 15) /* is supported, and on */

struct fabric_spread spread_decode (const uint8_t info[SPREAD_INFO])
{
    struct fabric_spread a = { .known = true };
    uint32_t flags = get32 (info), off = 0;
    uint16_t levels = ALL_LEVELS;

    a.recovery = (flags & RECOVERY) == RECOVERY;
    if ((get32 (info + 4) & GROUPS) == 0)
        return a;
    if ((get32 (info + 20) & HASH_BY_LEVEL) == HASH_BY_LEVEL)
        a.hashed = get32 (info + 24);
    if (!(flags & ON))
        return a;
    if ((flags & BY_LEVEL) == BY_LEVEL)
        levels = get32 (info + 8) >> LEVELS_SHIFT;
    if (flags & BY_TRANSPORT)
        off = get32 (info + 12);
    a.ud = off & NOT_UD ? 0 : levels;
    a.rc = off & NOT_RC ? 0 : levels;
    return a;
}

unsigned int spread_max_groups (const uint8_t info[SPREAD_INFO],
                                unsigned int *masks)
{
    *masks = (get32 (info) >> 8 & 15) + 1;
    return get32 (info + 4) & GROUPS;
}

bool spread_differs (const struct fabric_spread *a,
                     const struct fabric_spread *b)
{
    return a->known && b->known
           && (a->ud != b->ud || a->rc != b->rc || a->hashed != b->hashed
               || a->recovery != b->recovery
               || a->private_lfts != b->private_lfts);
}

bool spread_moved (const struct fabric_node *a, unsigned int lid_a,
                   const struct fabric_node *b, unsigned int lid_b)
{
    const struct spread_group *x = spread_group_of (a, lid_a);
    const struct spread_group *y = spread_group_of (b, lid_b);

    if (!a->spread.entry || !b->spread.entry)
        return false;
    return x && y ? memcmp (x, y, sizeof (*x)) != 0 : x != y;
}

const char *spread_levels (uint16_t levels, char text[SPREAD_TEXT])
{
    size_t len = 0;

    strcpy (text, "none");
    for (int first = 0, end; first < SPREAD_LEVELS; first = end + 1) {
        for (end = first; levels >> end & 1; end++)
            ;
        if (end > first)
            len += snprintf (text + len, SPREAD_TEXT - len,
                             end > first + 1 ? "%s%d-%d" : "%s%d",
                             len ? "," : "", first, end - 1);
    }
    return text;
}

static bool is_spread (const struct spread_level *l)
{
    return l->adaptive + l->hashed > 0;
}

/* Count a switch for each level. */
static void count_switch (const struct fabric *f, const struct fabric_node *n,
                          uint16_t adaptive, struct spread_choice *c)
{
    for (int level = 0; level < SPREAD_LEVELS; level++) {
        c->on[level].adaptive += adaptive >> level & 1;
        c->on[level].hashed += (n->spread.hashed & ~adaptive) >> level & 1;
    }
    c->private_lfts += n->spread.private_lfts;
    for (uint32_t i = n->first_port; i < n->first_port + n->nports; i++)
        if (n->spread.recovery && c->down == FABRIC_NONE
            && f->port[i].link != FABRIC_NONE
            && !fabric_is_up (f, &f->link[f->port[i].link]))
            c->down = i;
}

/* Choose the first level that no port drops and, with `tables`, no switch
 * spreads. Return whether there is one.
 */
static bool pick_service_level (struct spread_choice *c, bool tables)
{
    for (unsigned int i = 0; i <= SPREAD_LEVELS; i++) {
        unsigned int level = i == 0 ? c->wanted : i - 1;
        const struct spread_level *l = &c->on[level];

        if (tables ? spread_keeps (l) : l->drops == FABRIC_NONE) {
            c->level = level;
            return true;
        }
    }
    return false;
}

int spread_choose (const struct fabric *f, struct pathset *ps, bool rc,
                   unsigned int wanted, struct spread_choice *choice,
                   struct error *err)
{
    struct spread_choice c = {
        .wanted = wanted, .level = wanted, .down = FABRIC_NONE,
    };
    size_t m = f->nlinks;
    const uint32_t *link = ps ? pathset_links (ps, &m, err) : NULL;
    bool *seen;

    if (ps && !link)
        return -1;
    for (int level = 0; level < SPREAD_LEVELS; level++)
        c.on[level].drops = FABRIC_NONE;
    seen = xcalloc (f->nnodes, sizeof (*seen));
    for (size_t i = 0; i < 2 * m; i++) {
        const struct fabric_link *l = &f->link[link ? link[i / 2] : i / 2];
        uint32_t port = i % 2 ? l->b : l->a;
        const struct fabric_port *p = &f->port[port];
        const struct fabric_node *n = &f->node[p->node];

        for (int level = 0; level < SPREAD_LEVELS; level++)
            if (p->dropped >> level & 1 && c.on[level].drops == FABRIC_NONE)
                c.on[level].drops = port;
        if (!seen[p->node])
            count_switch (f, n, rc ? n->spread.rc : n->spread.ud, &c);
        seen[p->node] = true;
    }
    if (!pick_service_level (&c, true))
        pick_service_level (&c, false);
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_spread *a = &f->node[i].spread;
        uint16_t levels = (rc ? a->rc : a->ud) | a->hashed;

        c.spread += seen[i] && (a->private_lfts || levels >> c.level & 1);
    }
    free (seen);
    *choice = c;
    return 0;
}

char *spread_text (const struct fabric *f, const struct spread_choice *c)
{
    const struct spread_level *l = &c->on[c->wanted];
    unsigned int level = 0;
    const char *and = "";
    char *text;
    size_t size;
    FILE *fp;

    if (spread_keeps (l))
        return NULL;
    fp = xcheck (open_memstream (&text, &size));
    fprintf (fp, "service level %u: on %u, ", c->level, c->wanted);
    if (l->adaptive > 0) {
        fprintf (fp, "adaptive routing is on at %s",
                 COUNTED (l->adaptive, "switch"));
        and = " and ";
    }
    if (l->hashed > 0) {
        fprintf (fp, "%shashed routing is on at %s", and,
                 COUNTED (l->hashed, "switch"));
        and = " and ";
    }
    if (l->drops != FABRIC_NONE)
        fprintf (fp, "%s%s drops messages", and, PORT_NAME (f, l->drops));
    if (!spread_keeps (&c->on[c->level])) {
        const char *what = "free of adaptive and hashed routing";

        while (level < SPREAD_LEVELS
               && (level == c->wanted || is_spread (&c->on[level])))
            level++;
        if (level == SPREAD_LEVELS)
            fprintf (fp, "; no other level is %s", what);
        else
            fprintf (fp, "; level %u is %s, but %s drops it", level, what,
                     PORT_NAME (f, c->on[level].drops));
    }
    xcheck (fclose (fp) == 0 ? text : NULL);
    return text;
}

void spread_limit (const struct spread_choice *c, const struct fabric *f,
                   struct verdict *v)
{
    char *text = spread_text (f, c);

    if (text)
        verdict_limit (v, VERDICT_OK,
                       (struct fact){ .kind = FACT_LEVEL, .name = { text } });
    free (text);
    if (c->private_lfts > 0)
        verdict_limit (v, VERDICT_OK,
                       (struct fact){ .kind = FACT_PRIVATE_LFTS,
                                      .n = { c->private_lfts } });
    if (c->down != FABRIC_NONE)
        verdict_limit (v, VERDICT_OK,
                       (struct fact){ .kind = FACT_FAST_RECOVERY,
                                      .name = { PORT_NAME (f, c->down) } });
}
