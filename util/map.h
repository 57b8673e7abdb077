/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers by 64-bit keys such as GUIDs: a hash table, at most half full.
 * A struct map of zeros is an empty one.
 */
#ifndef UTIL_MAP_H
#define UTIL_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map {
    struct map_slot *slot; /* [size] */
    size_t size, n;
};

/* MAP_NONE where the key is not there. */
uint32_t map_find (const struct map *m, uint64_t key);

/* Add a key, or give it another value, which is not MAP_NONE. */
void map_put (struct map *m, uint64_t key, uint32_t value);

void map_clear (struct map *m);

#endif /* UTIL_MAP_H */
