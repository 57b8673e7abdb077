/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/pool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

/* A block has many small pieces, or a large one. With AddressSanitizer each piece
 * has its own, so that it sees who writes behind it.
 */
#ifdef __SANITIZE_ADDRESS__
enum { BLOCK_BYTES = 0 };
#else
enum { BLOCK_BYTES = 8192 };
#endif

#define ALIGN alignof (max_align_t)

struct pool_block {
    struct pool_block *next;
    alignas (max_align_t) char data[];
};

/* What the pool ends, the newest first. */
struct pool_guest {
    struct pool_guest *next;
    void *p;
    void (*end) (void *p);
};

struct pool {
    struct pool_block *block;
    struct pool_guest *guest;
    char *at; /* of the block that small pieces are taken from */
    size_t left;
};

struct pool *pool_create (void)
{
    return xcalloc (1, sizeof (struct pool));
}

void pool_destroy (struct pool *p)
{
    int saved_errno = errno;

    for (struct pool_guest *g = p ? p->guest : NULL; g; g = g->next)
        g->end (g->p);
    while (p && p->block) {
        struct pool_block *b = p->block;

        p->block = b->next;
        free (b);
    }
    free (p);
    errno = saved_errno;
}

static char *add_block (struct pool *p, size_t bytes)
{
    struct pool_block *b = xcheck (
        bytes < SIZE_MAX / 2 ? calloc (1, sizeof (*b) + bytes) : NULL);

    b->next = p->block;
    p->block = b;
    return b->data;
}

void *pool_alloc (struct pool *p, size_t n, size_t size)
{
    size_t bytes
        = size > 0 && n > SIZE_MAX / 4 / size ? SIZE_MAX / 2 : n * size;
    char *piece;

    bytes = bytes > 0 ? (bytes + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
    if (bytes > BLOCK_BYTES / 4)
        return add_block (p, bytes);
    if (bytes > p->left) {
        p->at = add_block (p, BLOCK_BYTES);
        p->left = BLOCK_BYTES;
    }
    piece = p->at;
    p->at += bytes;
    p->left -= bytes;
    return piece;
}

void *pool_grow (struct pool *p, const void *list, size_t n, size_t size)
{
    void *longer;

    if (n & (n - 1))
        return (void *)(uintptr_t)list;
    longer = pool_alloc (p, n ? 2 * n : 1, size);
    return n ? memcpy (longer, list, n * size) : longer;
}

char *pool_strdup (struct pool *p, const char *s)
{
    return s ? strcpy (pool_alloc (p, strlen (s) + 1, 1), s) : NULL;
}

void *pool_keep (struct pool *p, void *guest, void (*end) (void *guest))
{
    struct pool_guest *g = pool_alloc (p, 1, sizeof (*g));

    *g = (struct pool_guest){ p->guest, guest, end };
    p->guest = g;
    return guest;
}

char *pool_printf (struct pool *p, const char *fmt, ...)
{
    va_list ap;
    char *text, *copy;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    copy = pool_strdup (p, text);
    free (text);
    return copy;
}
