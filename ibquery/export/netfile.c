/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/export/netfile.h"

#include <inttypes.h>

/* A node as ibsim and its clients call it: a host by its own name. */
static void sim_name (const struct fabric *f, const struct fabric_node *n,
                      char name[FABRIC_NAME_MAX + 1])
{
    snprintf (name, FABRIC_NAME_MAX + 1, "%s",
              n->host != FABRIC_NONE ? f->host[n->host].name : n->desc);
}

static void put_node (const struct fabric *f, const struct fabric_node *n,
                      FILE *fp)
{
    bool is_switch = n->type == NODE_SWITCH;
    char name[FABRIC_NAME_MAX + 1], rate[16];

    sim_name (f, n, name);
    fprintf (fp,
             "\nvendid=0x2c9\ndevid=0x%x\nsysimgguid=0x%016" PRIx64
             "\n%sguid=0x%016" PRIx64 "\n%s %u \"%s\"\t# \"%s\"%s\n",
             is_switch ? 0xcf08 : 0x101b, n->guid, is_switch ? "switch" : "ca",
             n->guid, is_switch ? "Switch" : "Ca", n->nports, name, n->desc,
             is_switch ? " enhanced port 0 lid 0 lmc 0" : "");
    for (unsigned int k = 0; k < n->nports; k++) {
        uint32_t port = n->first_port + k, far;
        const struct fabric_link *l;

        if (f->port[port].link == FABRIC_NONE)
            continue;
        l = &f->link[f->port[port].link];
        far = l->a == port ? l->b : l->a;
        sim_name (f, &f->node[f->port[far].node], name);
        fabric_rate_name (l, rate, sizeof (rate));
        fprintf (fp, "[%u]\t\"%s\"[%u]\t# %s\"%s\" lid 0 %s\n", k + 1, name,
                 f->port[far].num, is_switch ? "" : "lid 0 lmc 0 ",
                 f->node[f->port[far].node].desc, rate);
    }
}

int netfile_write (const struct fabric *f, FILE *fp, struct error *err)
{
    fprintf (fp, "# %s: %zu hosts, %zu cables\n", f->source, f->nhosts,
             f->nlinks);
    for (int switches = 0; switches < 2; switches++)
        for (size_t i = 0; i < f->nnodes; i++)
            if ((f->node[i].type == NODE_SWITCH) == switches)
                put_node (f, &f->node[i], fp);
    if (ferror (fp))
        return error_errno (err, "cannot write the netfile");
    return 0;
}
