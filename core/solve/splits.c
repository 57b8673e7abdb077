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

/* The m links by switch: those of switch w are of[start[w]] .. of[start[w + 1]].
 */
static uint32_t *sort_links (const struct network *net, const uint32_t *link,
                             size_t m, size_t *start)
{
    uint32_t *of = xarray (2 * m, sizeof (*of));

    /* start[w + 1] is the place of w's next one */
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t j = 0; j < m; j++)
            for (int e = 0; e < 2; e++) {
                const uint32_t *end = net->link[link[j]].end;

                if (end[e] == NETWORK_NONE || end[0] == end[1])
                    continue;
                if (pass == 0)
                    start[end[e] + 2]++;
                else
                    of[start[end[e] + 1]++] = j;
            }
        for (size_t w = 2; w < net->nswitches + 2 && pass == 0; w++)
            start[w] += start[w - 1];
    }
    return of;
}

struct sparse *splits_make (const struct network *net, const uint32_t *link,
                            size_t m)
{
    struct sparse *splits = sparse_create (m);
    uint32_t *level = host_distances (net);
    size_t *start = xcalloc (net->nswitches + 2, sizeof (*start));
    uint32_t *of = sort_links (net, link, m, start);
    int8_t *value = xarray (2 * m, sizeof (*value));

    for (uint32_t w = 0; w < net->nswitches; w++) {
        size_t n = start[w + 1] - start[w], down = 0;

        for (size_t k = 0; k < n; k++) {
            const uint32_t *end = net->link[link[of[start[w] + k]]].end;
            uint32_t other = end[0] == w ? end[1] : end[0];
            bool is_down
                = other == NETWORK_NONE || level[other] < level[w];

            value[k] = is_down ? 1 : -1;
            down += is_down;
        }
        if (down > 0 && down < n)
            sparse_add (splits, of + start[w], value, n);
    }
    free (level);
    free (start);
    free (of);
    free (value);
    return splits;
}
