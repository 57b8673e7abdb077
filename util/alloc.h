/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory allocation that never returns NULL. A program that runs out of memory
 * prints one sentence and exits with ERROR_WORLD. Sizes that come from outside
 * must be bounded before they are passed here.
 *
 * Not for code inside Slurm's processes: the plugin and the hooks check what
 * malloc returns.
 */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

/* Return p; end the program if it is NULL. */
void *xcheck (void *p) __attribute__ ((returns_nonnull));

/* Room for n elements of `size` bytes; n may be 0. xcalloc sets them to zero;
 * the others do not initialise them.
 */
void *xarray (size_t n, size_t size) __attribute__ ((malloc, returns_nonnull));
void *xcalloc (size_t n, size_t size) __attribute__ ((malloc, returns_nonnull));
void *xrealloc (void *p, size_t n, size_t size)
    __attribute__ ((returns_nonnull, warn_unused_result));

/* Room for one more element after the n of an array that grows one by one: the
 * capacity is a power of two.
 */
void *xgrow (void *p, size_t n, size_t size)
    __attribute__ ((returns_nonnull, warn_unused_result));

char *xstrdup (const char *s) __attribute__ ((malloc, returns_nonnull));

/* A printf-like string, which the caller frees. */
char *xasprintf (const char *fmt, ...)
    __attribute__ ((malloc, returns_nonnull, format (printf, 1, 2)));
char *xvasprintf (const char *fmt, va_list ap)
    __attribute__ ((malloc, returns_nonnull, format (printf, 1, 0)));

/* Append to a short string of the heap; NULL: to none. */
void xappend (char **s, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

#endif /* UTIL_ALLOC_H */
