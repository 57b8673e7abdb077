/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A map from 64-bit keys such as GUIDs to numbers: a hash table, at most half
 * full. A struct map of zeros is empty.
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

/* MAP_NONE if the key is not in the map. */
uint32_t map_find (const struct map *m, uint64_t key);

/* Add a key or change its value. The value must not be MAP_NONE. */
void map_put (struct map *m, uint64_t key, uint32_t value);

void map_clear (struct map *m);

#endif /* UTIL_MAP_H */
