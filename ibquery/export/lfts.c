/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Big fabrics have tens of millions of entries, so what follows a LID's port is
 * made once for all tables, and printf has no part in the rest.
 */
#include "config.h"
#include "ibquery/export/lfts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LIDS = FABRIC_MAX_LID + 1, ENTRY = 11 /* "0x0001 005 " */ };

#define NOBODY ": (node info not available fabric scan)\n"

static const char *const types[] = {
    [NODE_CA] = "Channel Adapter",
    [NODE_SWITCH] = "Switch",
    [NODE_ROUTER] = "Router",
};

/* Whose the LIDs of a port are: text[LID]. */
static int name_lids (char **text, const struct fabric_node *n, uint64_t guid,
                      unsigned int lid, unsigned int lmc)
{
    unsigned int count = lid ? 1U << lmc : 0;

    for (unsigned int i = 0; i < count; i++) {
        int len = i == 0 ? asprintf (&text[lid],
                                     ": (%s portguid 0x%016" PRIx64
                                     ": '%s')\n",
                                     types[n->type], guid, n->desc)
                         : asprintf (&text[lid + i],
                                     ": (path #%u out of %u: portguid "
                                     "0x%016" PRIx64 ")\n",
                                     i + 1, count, guid);

        if (len < 0) {
            text[lid + i] = NULL;
            return -1;
        }
    }
    return 0;
}

static int name_all (const struct fabric *f, char **text)
{
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        if (n->type == NODE_SWITCH) {
            if (name_lids (text, n, n->guid, n->lid, 0) < 0)
                return -1;
            continue;
        }
        for (unsigned int k = 0; k < n->nports; k++) {
            const struct fabric_port *p = &f->port[n->first_port + k];

            if (name_lids (text, n, p->guid, p->lid, p->lmc) < 0)
                return -1;
        }
    }
    return 0;
}

static void put_entry (unsigned int lid, unsigned int port, const char *text,
                       FILE *fp)
{
    static const char digit[] = "0123456789abcdef";
    char entry[ENTRY] = { '0', 'x', digit[lid >> 12], digit[lid >> 8 & 15],
                          digit[lid >> 4 & 15], digit[lid & 15], ' ',
                          digit[port / 100], digit[port / 10 % 10],
                          digit[port % 10], ' ' };

    fwrite (entry, 1, ENTRY, fp);
    fputs (text ? text : NOBODY, fp);
}

static void put_table (const struct fabric_node *n, char *const *text,
                       FILE *fp)
{
    unsigned int entries = 0;

    fprintf (fp,
             "Unicast lids [0x0-0x%x] of switch Lid %u guid 0x%016" PRIx64
             " (%s):\n  Lid  Out   Destination\n       Port     Info \n",
             n->lft_top, n->lid, n->guid, n->desc);
    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        if (n->lft[lid] <= n->nports) {
            put_entry (lid, n->lft[lid], text[lid], fp);
            entries++;
        }
    fprintf (fp, "%u valid lids dumped \n", entries);
}

int lfts_write (const struct fabric *f, FILE *fp, struct error *err)
{
    char **text = calloc (LIDS, sizeof (*text));
    int rc = 0;

    if (!text || name_all (f, text) < 0)
        rc = error_nomem (err);
    for (size_t i = 0; rc == 0 && i < f->nnodes; i++)
        if (f->node[i].lft)
            put_table (&f->node[i], text, fp);
    for (size_t lid = 0; text && lid < LIDS; lid++)
        free (text[lid]);
    free (text);
    if (rc == 0 && ferror (fp))
        rc = error_errno (err, "cannot write the forwarding tables");
    return rc;
}
