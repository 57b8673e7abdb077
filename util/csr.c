/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/csr.h"

#include <stdlib.h>

#include "util/alloc.h"

struct csr csr_create (size_t n, const size_t *count)
{
    struct csr c = { n, xarray (n + 1, sizeof (*c.start)), NULL };

    c.start[0] = 0;
    for (size_t i = 0; i < n; i++)
        c.start[i + 1] = c.start[i] + count[i];
    c.v = xarray (c.start[n], sizeof (*c.v));
    return c;
}

struct csr csr_transpose (const struct csr *of, size_t m)
{
    size_t *count = xcalloc (m, sizeof (*count));
    struct csr c;

    for (size_t e = 0; e < of->start[of->n]; e++)
        count[of->v[e]]++;
    c = csr_create (m, count);
    for (size_t x = 0; x < m; x++)
        count[x] = c.start[x];
    for (size_t i = 0; i < of->n; i++)
        for (size_t e = of->start[i]; e < of->start[i + 1]; e++)
            c.v[count[of->v[e]]++] = (uint32_t)i;
    free (count);
    return c;
}

void csr_clear (struct csr *c)
{
    free (c->start);
    free (c->v);
    *c = (struct csr){ 0 };
}
