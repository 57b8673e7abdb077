/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Disjoint sets of the numbers 0 .. n-1 (union-find with path halving): up[i]
 * leads to the least number of i's set. Initially up[i] is i.
 */
#ifndef UTIL_SETS_H
#define UTIL_SETS_H

#include <stdbool.h>
#include <stdint.h>

static inline uint32_t sets_find (uint32_t *up, uint32_t i)
{
    while (up[i] != i)
        i = up[i] = up[up[i]];
    return i;
}

/* Unite two sets. False: they were the same. */
static inline bool sets_unite (uint32_t *up, uint32_t a, uint32_t b)
{
    a = sets_find (up, a);
    b = sets_find (up, b);
    if (a < b)
        up[b] = a;
    else
        up[a] = b;
    return a != b;
}

#endif /* UTIL_SETS_H */
