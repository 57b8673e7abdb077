/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/export/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"

/* Characters that are replaced for ibsim: a quote would end the text; in the
 * line of a port, ibsim takes letters before "=" as an option.
 */
#define NODE_TEXT "\""
#define PORT_TEXT "\"="

/* For ibsim, of nodes whose product is not known. */
enum { VENDOR = 0x2c9 };
static const struct {
    const char *word, *guid; /* of the node's line, of its GUID's line */
    char letter;
    unsigned int device;
} types[] = {
    [NODE_CA] = { "Ca", "ca", 'H', 0x101b },
    [NODE_SWITCH] = { "Switch", "switch", 'S', 0xcf08 },
    [NODE_ROUTER] = { "Rt", "rt", 'R', 0xc738 },
};

struct net_writer {
    const struct fabric *f;
    FILE *fp;
    char **name; /* by node; NULL: all as ibnetdiscover names them */
    bool lids;
};

/* Sorts pointers to names; equal ones by place. */
static int compare_name_pointers (const void *a, const void *b)
{
    char *const *x = *(char **const *)a, *const *y = *(char **const *)b;
    int order = strcmp (*x, *y);

    return order ? order : util_compare (x, y);
}

/* Of several nodes with the same name, only the first keeps it. A name that is
 * empty or has a character at which ibsim splits names is not used.
 */
static void make_names (struct net_writer *w)
{
    size_t n = w->f->nnodes;
    char ***order = xarray (n, sizeof (*order)), **first = NULL;

    w->name = xarray (n, sizeof (*w->name));
    for (size_t i = 0; i < n; i++) {
        const struct fabric_node *node = &w->f->node[i];

        order[i] = &w->name[i];
        w->name[i] = xstrdup (node->host != FABRIC_NONE
                                  ? w->f->host[node->host].name
                                  : node->desc);
    }
    qsort (order, n, sizeof (*order), compare_name_pointers);
    for (size_t i = 0; i < n; i++)
        if (!**order[i] || strpbrk (*order[i], "\"#@[]")
            || (first && strcmp (*first, *order[i]) == 0))
            **order[i] = '\0';
        else
            first = order[i];
    free (order);
}

static void put_name (const struct net_writer *w, uint32_t node)
{
    const struct fabric_node *n = &w->f->node[node];

    if (w->name && *w->name[node])
        fprintf (w->fp, "\"%s\"", w->name[node]);
    else
        fprintf (w->fp, "\"%c-%016" PRIx64 "\"", types[n->type].letter,
                 n->guid);
}

/* A description. For ibsim, the characters in `but` are replaced. */
static void put_text (const struct net_writer *w, const char *text,
                      const char *but)
{
    putc ('"', w->fp);
    for (; *text; text++)
        putc (w->name && strchr (but, *text) ? '\'' : *text, w->fp);
    putc ('"', w->fp);
}

static void write_net_port (const struct net_writer *w,
                            const struct fabric_port *p)
{
    const struct fabric *f = w->f;
    const struct fabric_link *l = &f->link[p->link];
    const struct fabric_port *far = &f->port[fabric_far_port (f, p - f->port)];
    const struct fabric_node *n = &f->node[far->node];
    unsigned int lid = n->type == NODE_SWITCH ? n->lid : far->lid;
    bool is_switch = f->node[p->node].type == NODE_SWITCH;
    char width[8] = "??";

    fprintf (w->fp, "[%u]", p->num);
    if (!is_switch)
        fprintf (w->fp, "(%" PRIx64 ") ", p->guid);
    putc ('\t', w->fp);
    put_name (w, far->node);
    fprintf (w->fp, "[%u]", far->num);
    if (n->type != NODE_SWITCH)
        fprintf (w->fp, "(%" PRIx64 ") ", far->guid);
    fprintf (w->fp, "\t\t# ");
    if (!is_switch)
        fprintf (w->fp, "lid %u lmc %u ", w->lids ? p->lid : 0,
                 w->lids ? p->lmc : 0);
    put_text (w, n->desc, PORT_TEXT);
    if (l->width)
        snprintf (width, sizeof (width), "%ux", l->width);
    fprintf (w->fp, " lid %u %s%s\n", w->lids ? lid : 0, width,
             *l->speed ? l->speed : "???");
}

static void write_net_node (const struct net_writer *w, uint32_t node)
{
    const struct fabric_node *n = &w->f->node[node];
    bool is_switch = n->type == NODE_SWITCH;

    fprintf (w->fp, "\nvendid=0x%x\ndevid=0x%x\n",
             n->device ? n->vendor : VENDOR,
             n->device ? n->device : types[n->type].device);
    if (n->system)
        fprintf (w->fp, "sysimgguid=0x%" PRIx64 "\n", n->system);
    fprintf (w->fp, "%sguid=0x%" PRIx64, types[n->type].guid, n->guid);
    if (is_switch)
        fprintf (w->fp, "(%" PRIx64 ")", n->guid);
    fprintf (w->fp, "\n%s\t%u ", types[n->type].word, n->nports);
    put_name (w, node);
    fprintf (w->fp, "\t\t# ");
    put_text (w, n->desc, NODE_TEXT);
    if (is_switch)
        fprintf (w->fp, " enhanced port 0 lid %u lmc 0", w->lids ? n->lid : 0);
    putc ('\n', w->fp);
    for (unsigned int i = 0; i < n->nports; i++)
        if (w->f->port[n->first_port + i].link != FABRIC_NONE)
            write_net_port (w, &w->f->port[n->first_port + i]);
}

static int write_all (const struct net_writer *w, bool switches_first,
                      struct error *err)
{
    fprintf (w->fp, "# %s: %zu hosts, %zu cables\n", w->f->source,
             w->f->nhosts, w->f->nlinks);
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < w->f->nnodes; i++)
            if ((w->f->node[i].type == NODE_SWITCH)
                == (switches_first == !pass))
                write_net_node (w, i);
    return ferror (w->fp) ? error_errno (err, "cannot write the cables") : 0;
}

static int write_named (const struct fabric *f, FILE *fp, bool lids,
                        struct error *err)
{
    struct net_writer w = { .f = f, .fp = fp, .lids = lids };
    int rc;

    make_names (&w);
    rc = write_all (&w, false, err);
    for (size_t i = 0; i < f->nnodes; i++)
        free (w.name[i]);
    free (w.name);
    return rc;
}

int netfile_write (const struct fabric *f, FILE *fp, struct error *err)
{
    return write_named (f, fp, false, err);
}

int netfile_write_lids (const struct fabric *f, FILE *fp, struct error *err)
{
    return write_named (f, fp, true, err);
}

int netdiscover_write (const struct fabric *f, FILE *fp, struct error *err)
{
    struct net_writer w = { .f = f, .fp = fp, .lids = true };

    return write_all (&w, true, err);
}
