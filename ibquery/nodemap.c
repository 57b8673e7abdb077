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

#include "util/file.h"
#include "util/text.h"

enum {
    LINE_BYTES = 512,
    LINES_MAX = 1 << 20,
};

struct nodemap_entry {
    char *node; /* owns the memory of the others */
    struct nodemap_line line;
    size_t number;
};

struct nodemap {
    struct nodemap_entry *entry;
    size_t n, size;
};

static int add (struct nodemap *map, const char *node, const char *endpoint,
                const char *device, struct error *err)
{
    size_t len[3] = { strlen (node), strlen (endpoint), strlen (device) };
    struct nodemap_entry *e;
    char *text;

    if (map->n == LINES_MAX)
        return error_input (err, "more than %d lines", LINES_MAX);
    if (map->n == map->size) {
        size_t size = map->size ? 2 * map->size : 64;

        if (!(e = realloc (map->entry, size * sizeof (*e))))
            return error_nomem (err);
        map->entry = e;
        map->size = size;
    }
    if (!(text = malloc (len[0] + len[1] + len[2] + 3)))
        return error_nomem (err);
    memcpy (text, node, len[0] + 1);
    memcpy (text + len[0] + 1, endpoint, len[1] + 1);
    memcpy (text + len[0] + len[1] + 2, device, len[2] + 1);
    map->entry[map->n] = (struct nodemap_entry){
        .node = text,
        .line = { text + len[0] + 1, text + len[0] + len[1] + 2 },
        .number = map->n,
    };
    map->n++;
    return 0;
}

static int read_line (struct nodemap *map, char *text, struct error *err)
{
    static const char blank[] = " \t\r\n";
    char *save = NULL;
    char *node;
    char *endpoint;
    char *device;

    if (!strchr (text, '\n') && strlen (text) == LINE_BYTES - 1)
        return error_input (err, "the line is too long");
    text[strcspn (text, "#\n")] = '\0';
    if (!(node = strtok_r (text, blank, &save)))
        return 0;
    endpoint = strtok_r (NULL, blank, &save);
    device = strtok_r (NULL, blank, &save);
    if (!endpoint || strtok_r (NULL, blank, &save))
        return error_input (err, "not NODE ENDPOINT [DEVICE[/PORT]]");
    if (!text_is_hostname (node))
        return error_input (err, "'%s' is not a host name", node);
    text_clean (endpoint);
    if (device)
        text_clean (device);
    return add (map, node, endpoint, device ? device : "", err);
}

static int compare (const void *a, const void *b)
{
    const struct nodemap_entry *x = a;
    const struct nodemap_entry *y = b;
    int order = strcmp (x->node, y->node);

    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static int read_lines (struct nodemap *map, FILE *fp, const char *path,
                       struct error *err)
{
    char text[LINE_BYTES];

    for (size_t number = 1; fgets (text, sizeof (text), fp); number++)
        if (read_line (map, text, err) < 0)
            return error_prefix (err, "%s:%zu", path, number);
    if (ferror (fp))
        return error_errno (err, "%s", path);
    if (map->n > 0)
        qsort (map->entry, map->n, sizeof (*map->entry), compare);
    return 0;
}

/* Closes fp, which may be NULL with err set. */
static struct nodemap *load (FILE *fp, const char *path, struct error *err)
{
    struct nodemap *map;

    if (!fp)
        return NULL;
    if (!(map = calloc (1, sizeof (*map))))
        error_nomem (err);
    else if (read_lines (map, fp, path, err) < 0) {
        nodemap_destroy (map);
        map = NULL;
    }
    file_close_input (fp);
    return map;
}

struct nodemap *nodemap_load (const char *path, struct error *err)
{
    return load (file_open_input (path, err), path, err);
}

struct nodemap *nodemap_load_trusted (const char *path, uid_t owner,
                                      struct error *err)
{
    return load (file_open_trusted (path, owner, err), path, err);
}

void nodemap_destroy (struct nodemap *map)
{
    if (!map)
        return;
    for (size_t i = 0; i < map->n; i++)
        free (map->entry[i].node);
    free (map->entry);
    free (map);
}

size_t nodemap_find (const struct nodemap *map, const char *node,
                     struct nodemap_line *line, size_t max)
{
    size_t low = 0;
    size_t high = map ? map->n : 0;
    size_t n = 0;

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

const struct nodemap_line *nodemap_at (const struct nodemap *map, size_t i,
                                       const char **node)
{
    if (!map || i >= map->n)
        return NULL;
    *node = map->entry[i].node;
    return &map->entry[i].line;
}
