/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparison functions for qsort and bsearch over plain values. util_compare is
 * for the comparison functions of other types.
 */
#ifndef UTIL_SORT_H
#define UTIL_SORT_H

#include <stdint.h>
#include <string.h>

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
