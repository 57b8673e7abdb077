/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An allocation that fails, for a test that includes this once.
 *
 * The allocator is glibc's, behind a counter. It does not fail twice in a row,
 * nor inside libc itself where libc does not call malloc by name; under the
 * address sanitizer, which has an allocator of its own, it never does.
 */
#ifndef TESTS_SCARCE_H
#define TESTS_SCARCE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/tap.h"

static size_t allocations; /* since the count began */
static size_t failing;     /* the one that fails; 0: none */

/* Where it is not NULL: allocations do not count while it is true. */
__attribute__ ((unused)) static const volatile bool *not_counted;

#ifndef __SANITIZE_ADDRESS__

void *__libc_malloc (size_t size);
void *__libc_calloc (size_t n, size_t size);
void *__libc_realloc (void *p, size_t size);

static bool fails (void)
{
    return !(not_counted && *not_counted) && ++allocations == failing;
}

static void *none (void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc (size_t size)
{
    return fails () ? none () : __libc_malloc (size);
}

void *calloc (size_t n, size_t size)
{
    return fails () ? none () : __libc_calloc (n, size);
}

void *realloc (void *p, size_t size)
{
    return fails () ? none () : __libc_realloc (p, size);
}

#endif

#endif /* TESTS_SCARCE_H */
