/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric VERB: make a snapshot of a fabric, or show one. */
#include "config.h"

#include <inttypes.h>

#include "pmm/fabric/fabric_verb.h"

int fabric_need_whole (const struct fabric *f, const char *path,
                       struct error *err)
{
    if (!f->part)
        return 0;
    return error_input (err, "%s is a part of a fabric, and says nothing of "
                             "the rest", path);
}

int fabric_save (const struct fabric *f, struct inputs *in,
                 fabric_write_f write, struct error *err)
{
    FILE *fp = inputs_output (in, err);

    return fp ? write (f, fp, err) : -1;
}

json_t *fabric_node_json (const struct fabric *f, uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    return json_pack ("{s:o, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "name", n->desc);
}

json_t *fabric_port_json (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct fabric_node *n = &f->node[p->node];

    return json_pack ("{s:o, s:i, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "port", p->num,
                      "name", n->desc);
}

static const struct verb *const verbs[] = {
    &verb_fabric_read,
    &verb_fabric_cabling,
    &verb_fabric_diff,
    &verb_fabric_show,
    &verb_fabric_counters,
    &verb_fabric_check,
    &verb_fabric_generate,
    &verb_fabric_import,
    &verb_fabric_export,
    &verb_fabric_netdisc,
    NULL,
};

const struct verb verb_fabric = {
    .name = "fabric",
    .help = "read, show or generate a fabric snapshot",
    .verbs = verbs,
};
