/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric show: print a snapshot. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/json.h"

static json_t *guid_json (uint64_t guid)
{
    return json_sprintf ("%016" PRIx64, guid);
}

static json_t *host_json (const struct fabric *f, const struct fabric_host *h)
{
    json_t *list = json_array ();

    for (uint32_t i = h->first; i < h->first + h->count; i++) {
        const struct fabric_port *p = &f->port[f->endpoint[i].port];

        json_add (list, json_pack ("{s:o, s:i, s:i, s:i}", "guid",
                                   guid_json (p->guid), "port", p->num, "lid",
                                   p->lid, "lmc", p->lmc));
    }
    return json_pack ("{s:s, s:o}", "name", h->name, "endpoints", list);
}

static json_t *end_json (const struct fabric *f, uint32_t port)
{
    const struct port_rates *r = &f->port[port].rates;
    const struct { const char *name; const struct rates *rates; } sets[] = {
        { "supported", &r->supported },
        { "enabled", &r->enabled },
        { "active", &r->active },
    };
    json_t *end = fabric_port_json (f, port);
    char text[RATES_TEXT];

    for (size_t i = 0; i < 3; i++)
        json_put (end, sets[i].name,
                  json_string (rates_format (sets[i].rates, text)));
    return end;
}

static json_t *switch_json (const struct fabric_node *n)
{
    const struct fabric_spread *a = &n->spread;

    return json_pack ("{s:o, s:s, s:o, s:i, s:o}", "guid", guid_json (n->guid),
                      "name", n->desc, "system", guid_json (n->system),
                      "level", n->level, "adaptive",
                      a->known ? json_pack ("{s:i, s:i}", "ud", a->ud, "rc",
                                            a->rc)
                               : json_null ());
}

static json_t *link_json (const struct fabric *f, const struct fabric_link *l)
{
    return json_pack ("{s:s, s:s, s:o, s:o, s:s, s:i, s:s, s:b, s:b}", "id",
                      l->id, "kind", l->kind == LINK_HOST ? "host" : "switch",
                      "a", end_json (f, l->a), "b", end_json (f, l->b),
                      "speed", l->speed, "width", l->width, "class",
                      f->class_name[l->class_id], "internal", l->internal,
                      "up", fabric_is_up (f, l));
}

static json_t *fabric_json (const struct fabric *f)
{
    json_t *hosts = json_array (), *switches = json_array ();
    json_t *links = json_array (), *warnings = json_array ();

    for (size_t i = 0; i < f->nhosts; i++)
        json_add (hosts, host_json (f, &f->host[i]));
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            json_add (switches, switch_json (&f->node[i]));
    for (size_t i = 0; i < f->nlinks; i++)
        json_add (links, link_json (f, &f->link[i]));
    for (size_t i = 0; i < f->nwarnings; i++)
        json_add (warnings, json_string (f->warning[i]));
    return json_pack ("{s:b, s:o, s:o, s:o, s:o}", "part", f->part, "hosts",
                      hosts, "switches", switches, "links", links, "warnings",
                      warnings);
}

static void write_text (const struct fabric *f, FILE *fp)
{
    size_t switches = 0, told = 0, on = 0;
    size_t *count = xcalloc (f->nclasses, sizeof (*count));
    uint16_t levels = 0; /* with adaptive routing on any switch */

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_spread *a = &f->node[i].spread;

        switches += f->node[i].type == NODE_SWITCH;
        told += a->known;
        on += (a->ud | a->rc) != 0;
        levels |= a->ud | a->rc;
    }
    for (size_t i = 0; i < f->nlinks; i++)
        count[f->link[i].class_id]++;
    fprintf (fp, "fabric %s\n", f->hash);
    for (size_t i = 0; i < f->nsubnets; i++)
        fprintf (fp, "subnet %016" PRIx64 "\n", f->prefix[i]);
    if (*f->source)
        fprintf (fp, "from %s\n", f->source);
    if (f->time != 0) {
        char when[64];
        time_t t = f->time;

        strftime (when, sizeof (when), "%Y-%m-%d %H:%M:%S UTC", gmtime (&t));
        fprintf (fp, "read %s\n", when);
    }
    if (f->part)
        fprintf (fp, "a part: the paths between its hosts\n");
    fprintf (fp, "%s (%s), %s, %s\n", COUNTED (f->nhosts, "host"),
             COUNTED (f->nendpoints, "port"), COUNTED (switches, "switch"),
             COUNTED (f->nlinks, "cable"));
    for (size_t i = 0; i < f->nclasses; i++)
        fprintf (fp, "%8zu  %s\n", count[i], f->class_name[i]);
    if (told > 0)
        fprintf (fp, "adaptive routing: on at %s (service levels 0x%04x), off "
                     "at %zu, not known of %zu\n",
                 COUNTED (on, "switch"), levels, told - on, switches - told);
    for (size_t i = 0; i < f->nwarnings; i++)
        fprintf (fp, "warning: %s\n", f->warning[i]);
    free (count);
}

static int run (struct inputs *in)
{
    if (in->json)
        inputs_put_json (in, "fabric", in->fabric->hash,
                         fabric_json (in->fabric));
    else
        write_text (in->fabric, inputs_output (in));
    return EXIT_OK;
}

const struct verb verb_fabric_show = {
    .name = "show",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .run = run,
};
