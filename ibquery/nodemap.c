/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The lines are sorted by node, each node's in the order of the file.
 */
#include "config.h"
#include "ibquery/nodemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/pool.h"
#include "util/file.h"
#include "util/sort.h"
#include "util/text.h"

enum { LINES_MAX = 1 << 20 };

struct nodemap_entry {
    char *node;
    struct nodemap_line line;
    size_t number;
};

struct nodemap {
    struct pool *pool;
    struct nodemap_entry *entry;
    size_t n;
};

static int read_nodemap_line (void *of, char *text, struct error *err)
{
    struct nodemap *map = of;
    static const char blank[] = " \t\r\n";
    struct nodemap_entry e = { .number = map->n };
    char *save = NULL, *node, *endpoint, *device;

    text[strcspn (text, "#\n")] = '\0';
    if (!(node = strtok_r (text, blank, &save)))
        return 0;
    endpoint = strtok_r (NULL, blank, &save);
    device = strtok_r (NULL, blank, &save);
    if (!endpoint || strtok_r (NULL, blank, &save))
        return error_input (err, "not NODE ENDPOINT [DEVICE[/PORT]]");
    if (!text_is_hostname (node))
        return error_input (err, "'%s' is not a host name", node);
    if (map->n == LINES_MAX)
        return error_input (err, "more than %d lines", LINES_MAX);
    e.node = pool_strdup (map->pool, node);
    e.line.endpoint = text_clean (pool_strdup (map->pool, endpoint));
    e.line.device = text_clean (pool_strdup (map->pool,
                                            device ? device : ""));
    map->entry = pool_grow (map->pool, map->entry, map->n,
                            sizeof (*map->entry));
    map->entry[map->n++] = e;
    return 0;
}

static int compare_nodemap_entries (const void *a, const void *b)
{
    const struct nodemap_entry *x = a, *y = b;
    int order = strcmp (x->node, y->node);

    return order ? order : util_compare (x->number, y->number);
}

/* Closes fp, which may be NULL with err set. */
static struct nodemap *load_nodemap (FILE *fp, const char *path,
                                     struct error *err)
{
    struct nodemap *map = xcalloc (1, sizeof (*map));

    map->pool = pool_create ();
    if (file_each_line (fp, path, read_nodemap_line, map, err) < 0) {
        nodemap_destroy (map);
        return NULL;
    }
    if (map->n > 0)
        qsort (map->entry, map->n, sizeof (*map->entry),
               compare_nodemap_entries);
    return map;
}

struct nodemap *nodemap_load (const char *path, struct error *err)
{
    return load_nodemap (file_open_input (path, err), path, err);
}

struct nodemap *nodemap_load_trusted (const char *path, uid_t owner,
                                      struct error *err)
{
    return load_nodemap (file_open_trusted (path, owner, err), path, err);
}

void nodemap_destroy (struct nodemap *map)
{
    if (map)
        pool_destroy (map->pool);
    free (map);
}

size_t nodemap_find (const struct nodemap *map, const char *node,
                     struct nodemap_line *line, size_t max)
{
    size_t low = 0, high = map ? map->n : 0, n = 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp (map->entry[mid].node, node) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    for (; map && low < map->n && !strcmp (map->entry[low].node, node); low++)
        if (n++ < max)
            line[n - 1] = map->entry[low].line;
    return n;
}

uint32_t nodemap_endpoint (const struct nodemap_line *line,
                           const struct fabric *f)
{
    uint32_t port = fabric_find_port (f, line->endpoint);
    uint64_t guid = 0;
    char hex[24];

    if (port != FABRIC_NONE)
        return fabric_find_guid (f, f->port[port].guid);
    snprintf (hex, sizeof (hex), "%s%.20s",
              strncmp (line->endpoint, "0x", 2) ? "0x" : "", line->endpoint);
    text_u64 (hex, 0, UINT64_MAX, &guid);
    return fabric_find_guid (f, guid);
}

const char **nodemap_nodes (const struct nodemap *map, const struct fabric *f)
{
    const char **node = xarray (f->nendpoints, sizeof (*node));

    for (uint32_t i = 0; i < f->nendpoints; i++)
        node[i] = f->host[f->endpoint[i].host].name;
    for (size_t i = 0; map && i < map->n; i++) {
        uint32_t endpoint = nodemap_endpoint (&map->entry[i].line, f);

        if (endpoint != FABRIC_NONE)
            node[endpoint] = map->entry[i].node;
    }
    return node;
}
