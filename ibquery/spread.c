/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The attribute, from NVIDIA's headers, not tested on hardware. In 32-bit
 * words: word 0, bit 0: on; bit 27: can be limited to service levels; bit 28:
 * is limited to them; bit 29: can be switched off by transport. Word 1, bits 0
 * to 11: number of groups supported, 0 without adaptive routing. Word 2, bits
 * 16 to 31: the service levels. Word 3, bit 0: off for UD; bit 1: off for RC.
 */
#include "config.h"
#include "ibquery/spread.h"

#include <stdlib.h>

#include "ibquery/read/smp.h"
#include "util/alloc.h"

enum {
    ON = 1 << 0,
    BY_LEVEL = 3 << 27,     /* can be limited, and is */
    BY_TRANSPORT = 1 << 29,
    GROUPS = 0xfff,
    LEVELS_SHIFT = 16,
    NOT_UD = 1 << 0,
    NOT_RC = 1 << 1,
    ALL_LEVELS = 0xffff,
};

struct fabric_spread spread_decode (const uint8_t info[SPREAD_INFO])
{
    struct fabric_spread a = { .known = true };
    uint32_t flags = get32 (info), off = 0;
    uint16_t levels = ALL_LEVELS;

    if (!(flags & ON) || (get32 (info + 4) & GROUPS) == 0)
        return a;
    if ((flags & BY_LEVEL) == BY_LEVEL)
        levels = get32 (info + 8) >> LEVELS_SHIFT;
    if (flags & BY_TRANSPORT)
        off = get32 (info + 12);
    a.ud = off & NOT_UD ? 0 : levels;
    a.rc = off & NOT_RC ? 0 : levels;
    return a;
}

int spread_choose (const struct fabric *f, struct pathset *ps, bool rc,
                     unsigned int wanted, struct spread_choice *choice,
                     struct error *err)
{
    size_t count[SPREAD_LEVELS] = { 0 }, m;
    const uint32_t *link = pathset_links (ps, &m, err);
    bool *seen;

    if (!link)
        return -1;
    seen = xcalloc (f->nnodes, sizeof (*seen));
    for (size_t i = 0; i < 2 * m; i++) {
        uint32_t node = f->link_info[link[i / 2]].end[i % 2];
        const struct fabric_spread *a;

        if (node == NETWORK_NONE || seen[node])
            continue;
        seen[node] = true;
        a = &f->node[node].spread;
        for (int level = 0; level < SPREAD_LEVELS; level++)
            count[level] += (rc ? a->rc : a->ud) >> level & 1;
    }
    free (seen);
    *choice = (struct spread_choice){ .level = wanted };
    for (unsigned int level = 0;
         level < SPREAD_LEVELS && count[choice->level] > 0; level++)
        if (count[level] == 0)
            choice->level = level;
    choice->adaptive = count[choice->level];
    choice->wanted = count[wanted];
    return 0;
}
