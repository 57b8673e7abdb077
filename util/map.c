/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/map.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum { MIN_SIZE = 128 };

struct map_slot {
    uint64_t key;
    uint32_t value; /* MAP_NONE: free */
};

/* The slot of the key, or the free slot for it. */
static struct map_slot *find_map_slot (const struct map *m, uint64_t key)
{
    size_t mask = m->size - 1;
    size_t i = (key * 0x9e3779b97f4a7c15) >> 32 & mask;

    while (m->slot[i].value != MAP_NONE && m->slot[i].key != key)
        i = (i + 1) & mask;
    return &m->slot[i];
}

uint32_t map_find (const struct map *m, uint64_t key)
{
    return m->size ? find_map_slot (m, key)->value : MAP_NONE;
}

static void enlarge (struct map *m)
{
    struct map old = *m;

    m->size = old.size ? 2 * old.size : MIN_SIZE;
    m->slot = xarray (m->size, sizeof (*m->slot));
    memset (m->slot, 0xff, m->size * sizeof (*m->slot));
    for (size_t i = 0; i < old.size; i++)
        if (old.slot[i].value != MAP_NONE)
            *find_map_slot (m, old.slot[i].key) = old.slot[i];
    free (old.slot);
}

void map_put (struct map *m, uint64_t key, uint32_t value)
{
    struct map_slot *slot;

    if (2 * (m->n + 1) > m->size)
        enlarge (m);
    slot = find_map_slot (m, key);
    m->n += slot->value == MAP_NONE;
    *slot = (struct map_slot){ key, value };
}

void map_clear (struct map *m)
{
    free (m->slot);
    *m = (struct map){ 0 };
}
