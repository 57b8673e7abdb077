/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/fabric.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/map.h"
#include "util/text.h"

struct node_names {
    struct pool *pool;
    char **name;
    size_t n;
    struct map by_guid;
};

static const char blanks[] = " \t\r\n";

/* Cut the name out of what follows a GUID; NULL: there is none. */
static char *cut_name (char *p)
{
    bool quoted = *p == '"';
    char *end = strpbrk (p += quoted, quoted ? "\"" : "#\r\n");
    const char *rest = end && quoted ? end + 1 + strspn (end + 1, blanks) : "";

    if ((quoted && !end) || (*rest && *rest != '#'))
        return NULL;
    if (!end)
        end = p + strlen (p);
    while (end > p && strchr (blanks, end[-1]))
        end--;
    *end = '\0';
    p += strspn (p, blanks);
    return *p ? p : NULL;
}

static int read_names_line (void *of, char *line, struct error *err)
{
    struct node_names *names = of;
    char *guid = line + strspn (line, blanks), *p, *name;
    uint64_t key;

    if (!*guid || *guid == '#')
        return 0;
    p = guid + strcspn (guid, blanks);
    if (*p)
        *p++ = '\0';
    p += strspn (p, blanks);
    if (strncmp (guid, "0x", 2) != 0
        || text_u64 (guid, 1, UINT64_MAX - 1, &key) < 0
        || !(name = cut_name (p)))
        return error_input (err, "not 0xGUID \"NAME\"");
    if (names->n == FABRIC_MAX_NODES)
        return error_input (err, "more than %d nodes", FABRIC_MAX_NODES);
    if (map_find (&names->by_guid, key) != MAP_NONE)
        return 0;
    names->name = pool_grow (names->pool, names->name, names->n,
                             sizeof (*names->name));
    map_put (&names->by_guid, key, names->n);
    names->name[names->n++] = pool_strdup (names->pool, name);
    return 0;
}

/* Closes fp, which may be NULL with err set. */
static struct node_names *load_node_names (FILE *fp, const char *path,
                                           struct error *err)
{
    struct node_names *names = xcalloc (1, sizeof (*names));

    names->pool = pool_create ();
    if (file_each_line (fp, path, read_names_line, names, err) == 0)
        return names;
    names_destroy (names);
    return NULL;
}

struct node_names *names_load (const char *path, struct error *err)
{
    return load_node_names (file_open_input (path, err), path, err);
}

struct node_names *names_load_trusted (const char *path, uid_t owner,
                                       struct error *err)
{
    return load_node_names (file_open_trusted (path, owner, err), path, err);
}

void names_destroy (struct node_names *names)
{
    if (!names)
        return;
    pool_destroy (names->pool);
    map_clear (&names->by_guid);
    free (names);
}

const char *names_find (const struct node_names *names, uint64_t guid)
{
    uint32_t i = names ? map_find (&names->by_guid, guid) : MAP_NONE;

    return i == MAP_NONE ? NULL : names->name[i];
}
