/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which links cannot be resolved? For every link of a job, prints a line with
 * its id, its kind and a number that is the same for links with proportional
 * columns over the round trips of all pairs. Independent of the judge, to check
 * its suspects.
 *
 *     alike SNAPSHOT HOST HOST...
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/fabric.h"
#include "ibquery/snapshot.h"

/* count[link * npairs + pair] */
static int fill (const struct pathset *ps, uint8_t *count, size_t npairs,
                 struct error *err)
{
    size_t pair = 0;

    for (size_t a = 0; a < pathset_size (ps); a++)
        for (size_t b = a + 1; b < pathset_size (ps); b++, pair++) {
            struct row row;

            if (pathset_row (ps, a, b, &row, err) < 0)
                return -1;
            for (size_t i = 0; i < row.n; i++)
                count[row.link[i] * npairs + pair] = row.count[i];
        }
    return 0;
}

static int proportional (const uint8_t *x, const uint8_t *y, size_t n)
{
    size_t k = 0;

    while (k < n && !x[k])
        k++;
    for (size_t i = 0; i < n; i++)
        if (x[i] * y[k] != y[i] * x[k])
            return 0;
    return k < n && y[k];
}

int main (int argc, char *argv[])
{
    struct error err = { .text = "usage: alike SNAPSHOT HOST HOST..." };
    struct fabric *f = NULL;
    struct pathset *ps = NULL;
    uint8_t *count = NULL;
    const uint32_t *link;
    size_t npairs;
    size_t m;
    int rc = 2;

    if (argc < 4 || !(f = fabric_load (argv[1], &err))
        || !(ps = fabric_pathset (f, (const char *const *)argv + 2,
                                  (size_t)argc - 2, &err))
        || !(link = pathset_links (ps, &m, &err)))
        goto error;
    npairs = pathset_size (ps) * (pathset_size (ps) - 1) / 2;
    if (!(count = calloc (f->nlinks, npairs))) {
        error_nomem (&err);
        goto error;
    }
    if (fill (ps, count, npairs, &err) < 0)
        goto error;
    for (size_t i = 0; i < m; i++) {
        const struct link_info *info = &f->link_info[link[i]];
        size_t k = 0;

        while (k < i
               && !proportional (count + link[i] * npairs,
                                 count + link[k] * npairs, npairs))
            k++;
        printf ("%s %s %zu\n", info->id,
                info->kind == LINK_HOST ? "host" : "switch", k);
    }
    rc = 0;
error:
    if (rc)
        fprintf (stderr, "alike: %s\n", err.text);
    free (count);
    pathset_destroy (ps);
    fabric_destroy (f);
    return rc;
}
