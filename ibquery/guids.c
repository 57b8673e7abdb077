/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/guids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

int guids_find (struct guids *g, const struct fabric *f, uint64_t guid,
                uint32_t *endpoint, struct error *err)
{
    bool made = g->endpoint.n > 0;

    (void)err;
    for (uint32_t i = 0; !made && i < f->nendpoints; i++)
        if (f->port[f->endpoint[i].port].guid != 0)
            map_put (&g->endpoint, f->port[f->endpoint[i].port].guid, i);
    *endpoint = map_find (&g->endpoint, guid);
    return 0;
}

int guids_find_text (struct guids *g, const struct fabric *f,
                     const char *text, uint32_t *endpoint, struct error *err)
{
    uint32_t port = fabric_find_port (f, text);
    char hex[24];
    uint64_t guid = 0;

    if (port == FABRIC_NONE) {
        snprintf (hex, sizeof (hex), "%s%.20s",
                  strncmp (text, "0x", 2) ? "0x" : "", text);
        text_u64 (hex, 0, UINT64_MAX, &guid);
    }
    else
        guid = f->port[port].guid;
    return guids_find (g, f, guid, endpoint, err);
}

void guids_clear (struct guids *g)
{
    map_clear (&g->endpoint);
}

uint32_t guids_endpoint (const struct fabric *f, uint64_t node_guid,
                         unsigned int number)
{
    uint32_t node = fabric_find_node (f, node_guid);
    const struct fabric_host *host;

    if (node == FABRIC_NONE || number < 1 || number > f->node[node].nports
        || f->node[node].type != NODE_CA || f->node[node].host == FABRIC_NONE)
        return FABRIC_NONE;
    host = &f->host[f->node[node].host];
    for (uint32_t i = host->first; i < host->first + host->count; i++)
        if (f->endpoint[i].port == f->node[node].first_port + number - 1)
            return i;
    return FABRIC_NONE;
}

int guids_nodes (const struct fabric *f, const struct nodemap *map,
                 const char **node, struct error *err)
{
    const struct nodemap_line *line;
    const char *name;
    struct guids g = { 0 };
    uint32_t endpoint;
    int rc = 0;

    for (uint32_t i = 0; i < f->nendpoints; i++)
        node[i] = f->host[f->endpoint[i].host].name;
    for (size_t i = 0; rc == 0 && (line = nodemap_at (map, i, &name)); i++) {
        rc = guids_find_text (&g, f, line->endpoint, &endpoint, err);
        if (rc == 0 && endpoint != FABRIC_NONE)
            node[endpoint] = name;
    }
    guids_clear (&g);
    return rc;
}
