/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/solve/splits.h"

#include <stdbool.h>
#include <stdlib.h>

#include "util/alloc.h"

/* The distance of each switch from the nearest host; NETWORK_NONE: farther than
 * messages go.
 */
static uint32_t *host_distances (const struct network *net)
{
    uint32_t *level = xarray (net->nswitches, sizeof (*level));
    bool some = true;

    for (size_t w = 0; w < net->nswitches; w++)
        level[w] = NETWORK_NONE;
    for (size_t l = 0; l < net->nlinks; l++)
        for (int e = 0; e < 2; e++)
            if (net->link[l].kind == LINK_HOST
                && net->link[l].end[e] != NETWORK_NONE)
                level[net->link[l].end[e]] = 1;
    for (uint32_t at = 1; some && at < PATH_MAX_HOPS; at++) {
        some = false;
        for (size_t l = 0; l < net->nlinks; l++)
            for (int e = 0; e < 2; e++) {
                uint32_t from = net->link[l].end[e];
                uint32_t to = net->link[l].end[!e];

                if (from != NETWORK_NONE && to != NETWORK_NONE
                    && level[from] == at && level[to] == NETWORK_NONE) {
                    level[to] = at + 1;
                    some = true;
                }
            }
    }
    return level;
}

struct csr splits_links (const struct network *net, const uint32_t *link,
                         size_t m)
{
    size_t *start = xarray (m + 1, sizeof (*start)), n = 0;
    uint32_t *end = xarray (2 * m, sizeof (*end));
    struct csr links;

    for (size_t j = 0; j < m; j++) {
        const uint32_t *of = net->link[link[j]].end;

        start[j] = n;
        for (int e = 0; e < 2 && of[0] != of[1]; e++)
            if (of[e] != NETWORK_NONE)
                end[n++] = of[e];
    }
    start[m] = n;
    links = csr_transpose (&(struct csr){ m, start, end }, net->nswitches);
    free (start);
    free (end);
    return links;
}

struct sparse *splits_make (const struct network *net, const uint32_t *link,
                            size_t m)
{
    struct sparse *splits = sparse_create (m);
    uint32_t *level = host_distances (net);
    struct csr links = splits_links (net, link, m);
    int8_t *value = xarray (2 * m, sizeof (*value));

    for (uint32_t w = 0; w < net->nswitches; w++) {
        const uint32_t *of = links.v + links.start[w];
        size_t n = links.start[w + 1] - links.start[w], down = 0;

        for (size_t k = 0; k < n; k++) {
            const uint32_t *end = net->link[link[of[k]]].end;
            uint32_t other = end[0] == w ? end[1] : end[0];
            bool is_down
                = other == NETWORK_NONE || level[other] < level[w];

            value[k] = is_down ? 1 : -1;
            down += is_down;
        }
        if (down > 0 && down < n)
            sparse_add (splits, of, value, n);
    }
    free (level);
    csr_clear (&links);
    free (value);
    return splits;
}
