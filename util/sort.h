/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sort arrays and find in them, which may be empty, by comparison functions as
 * those here, over plain values. util_compare is for those of other types.
 */
#ifndef UTIL_SORT_H
#define UTIL_SORT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int compare_f (const void *a, const void *b);

static inline void sort_items (void *v, size_t n, size_t size, compare_f *compare)
{
    if (n > 0)
        qsort (v, n, size, compare);
}
#define sort_array(v, n, compare) sort_items ((v), (n), sizeof (*(v)), (compare))

static inline void *find_item (const void *key, const void *v, size_t n,
                               size_t size, compare_f *compare)
{
    return n > 0 ? bsearch (key, v, n, size, compare) : NULL;
}
#define find_sorted(key, v, n, compare) \
    find_item ((key), (v), (n), sizeof (*(v)), (compare))

/* -1, 0, 1 */
#define util_compare(a, b) (((a) > (b)) - ((a) < (b)))

static inline int compare_u32 (const void *a, const void *b)
{
    return util_compare (*(const uint32_t *)a, *(const uint32_t *)b);
}

static inline int compare_u64 (const void *a, const void *b)
{
    return util_compare (*(const uint64_t *)a, *(const uint64_t *)b);
}

static inline int compare_doubles (const void *a, const void *b)
{
    return util_compare (*(const double *)a, *(const double *)b);
}

/* For arrays of strings. */
static inline int compare_strings (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

#endif /* UTIL_SORT_H */
