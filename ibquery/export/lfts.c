/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Big fabrics have tens of millions of entries. So the text after a LID's port
 * is made once for all tables, and the entries are written without printf.
 */
#include "config.h"
#include "ibquery/export/formats.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/alloc.h"
#include "util/terminal.h"

enum { LIDS = FABRIC_MAX_LID + 1, ENTRY = 11 /* "0x0001 005 " */ };

#define NOBODY ": (node info not available fabric scan)\n"

static const char *const types[] = {
    [NODE_CA] = "Channel Adapter",
    [NODE_SWITCH] = "Switch",
    [NODE_ROUTER] = "Router",
};

/* Describe the port that owns the LIDs: text[LID]. */
static void name_lids (char **text, const struct fabric_node *n, uint64_t guid,
                       unsigned int lid, unsigned int lmc)
{
    unsigned int count = lid ? 1U << lmc : 0;

    if (count > 0)
        text[lid] = xasprintf (": (%s portguid 0x%016" PRIx64 ": '%s')\n",
                               types[n->type], guid, n->desc);
    for (unsigned int i = 1; i < count; i++)
        text[lid + i] = xasprintf (": (path #%u out of %u: portguid "
                                   "0x%016" PRIx64 ")\n",
                                   i + 1, count, guid);
}

static void put_table (const struct fabric_node *n, char *const *text,
                       FILE *fp)
{
    static const char digit[] = "0123456789abcdef";
    unsigned int entries = 0;

    fprintf (fp, "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016" PRIx64
                 " (%s):\n  Lid  Out   Destination\n       Port     Info \n",
             n->lft_top, n->lid, n->guid, n->desc);
    for (unsigned int lid = 0; lid <= n->lft_top; lid++) {
        unsigned int port = n->lft[lid];
        const char entry[ENTRY]
            = { '0', 'x', digit[lid >> 12], digit[lid >> 8 & 15],
                digit[lid >> 4 & 15], digit[lid & 15], ' ', digit[port / 100],
                digit[port / 10 % 10], digit[port % 10], ' ' };

        if (port > n->nports)
            continue;
        fwrite (entry, 1, ENTRY, fp);
        fputs (text[lid] ? text[lid] : NOBODY, fp);
        entries++;
    }
    fprintf (fp, "%u valid lids dumped \n", entries);
}

int lfts_write (const struct fabric *f, FILE *fp, struct error *err)
{
    char **text = xcalloc (LIDS, sizeof (*text));

    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            name_lids (text, &f->node[i], f->node[i].guid, f->node[i].lid, 0);
    for (const struct fabric_port *p = f->port; p < f->port + f->nports; p++)
        if (f->node[p->node].type != NODE_SWITCH)
            name_lids (text, &f->node[p->node], p->guid, p->lid, p->lmc);
    for (size_t i = 0; i < f->nnodes; i++) {
        terminal_work ("node", i, f->nnodes);
        if (f->node[i].lft)
            put_table (&f->node[i], text, fp);
    }
    for (size_t lid = 0; lid < LIDS; lid++)
        free (text[lid]);
    free (text);
    return ferror (fp) ? error_errno (err, "cannot write the forwarding tables")
                       : 0;
}
