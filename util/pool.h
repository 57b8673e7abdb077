/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pool: memory of one analysis, made at its start, gone at its end, and never
 * freed in between. Arrays that are large and short-lived, or that grow large,
 * stay with xarray and free.
 */
#ifndef UTIL_POOL_H
#define UTIL_POOL_H

#include <stddef.h>

struct pool;

struct pool *pool_create (void) __attribute__ ((malloc, returns_nonnull));
void pool_destroy (struct pool *p); /* NULL: nothing; keeps errno */

/* Zeroed room for n elements of `size` bytes; n may be 0. */
void *pool_alloc (struct pool *p, size_t n, size_t size)
    __attribute__ ((returns_nonnull));

/* As xgrow; the new elements are zero. */
void *pool_grow (struct pool *p, const void *list, size_t n, size_t size)
    __attribute__ ((returns_nonnull, warn_unused_result));

/* NULL for NULL. */
char *pool_strdup (struct pool *p, const char *s);

char *pool_printf (struct pool *p, const char *fmt, ...)
    __attribute__ ((returns_nonnull, format (printf, 2, 3)));

/* Call `end`, as free, for something at the pool's end, which may be NULL then if
 * that may. Return it.
 */
void *pool_keep (struct pool *p, void *guest, void (*end) (void *guest));

#endif /* UTIL_POOL_H */
