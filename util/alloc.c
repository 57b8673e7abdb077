/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/error.h"

void *xcheck (void *p)
{
    if (!p) {
        fprintf (stderr, "%s: out of memory\n", program_invocation_short_name);
        exit (ERROR_WORLD);
    }
    return p;
}

void *xarray (size_t n, size_t size)
{
    return xrealloc (NULL, n, size);
}

void *xcalloc (size_t n, size_t size)
{
    return xcheck (calloc (n ? n : 1, size));
}

void *xrealloc (void *p, size_t n, size_t size)
{
    return xcheck (reallocarray (p, n ? n : 1, size));
}

void *xgrow (void *p, size_t n, size_t size)
{
    return n & (n - 1) ? p : xrealloc (p, n ? 2 * n : 1, size);
}

char *xstrdup (const char *s)
{
    return xcheck (strdup (s));
}

char *xasprintf (const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    return text;
}

char *xvasprintf (const char *fmt, va_list ap)
{
    char *text = NULL;
    int rc = vasprintf (&text, fmt, ap);

    return xcheck (rc < 0 ? NULL : text);
}

void xappend (char **s, const char *fmt, ...)
{
    size_t len = *s ? strlen (*s) : 0;
    char *more;
    va_list ap;

    va_start (ap, fmt);
    more = xvasprintf (fmt, ap);
    va_end (ap);
    *s = xrealloc (*s, len + strlen (more) + 1, 1);
    strcpy (*s + len, more);
    free (more);
}
