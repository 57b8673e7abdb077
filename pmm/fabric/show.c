/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric show: print a snapshot. */
#include "config.h"

#include <inttypes.h>
#include <time.h>

#include "ibquery/spread.h"
#include "pmm/verb.h"
#include "util/json.h"

static json_t *guid_to_json (uint64_t guid)
{
    return json_sprintf ("%016" PRIx64, guid);
}

static json_t *host_json (const struct fabric *f, const struct fabric_host *h)
{
    json_t *list = json_array ();

    for (uint32_t i = h->first; i < h->first + h->count; i++) {
        const struct fabric_port *p = &f->port[f->endpoint[i].port];

        json_add (list, json_pack ("{s:o, s:i, s:i, s:i}", "guid",
                                   guid_to_json (p->guid), "port", p->num,
                                   "lid", p->lid, "lmc", p->lmc));
    }
    return json_pack ("{s:s, s:o}", "name", h->name, "endpoints", list);
}

static json_t *link_end_json (const struct fabric *f, uint32_t port)
{
    const struct port_rates *r = &f->port[port].rates;
    const struct { const char *name; const struct rates *rates; } sets[] = {
        { "supported", &r->supported },
        { "enabled", &r->enabled },
        { "active", &r->active },
    };
    json_t *end = fabric_port_json (f, port);

    for (size_t i = 0; i < 3; i++)
        json_put (end, sets[i].name,
                  json_string (RATES_SHOWN (sets[i].rates)));
    json_put (end, "drops", json_integer (f->port[port].dropped));
    json_put (end, "lrtl", json_integer (f->port[port].lrtl));
    if (f->port[port].plug)
        json_put (end, "plug", json_string (f->port[port].plug));
    return end;
}

static json_t *switch_json (const struct fabric_node *n)
{
    return json_pack ("{s:o, s:s, s:o, s:i, s:o}", "guid",
                      guid_to_json (n->guid), "name", n->desc, "system",
                      guid_to_json (n->system), "level", n->level, "adaptive",
                      fabric_spread_json (&n->spread));
}

static json_t *link_json (const struct fabric *f, const struct fabric_link *l)
{
    return json_pack ("{s:s, s:s, s:o, s:o, s:s, s:i, s:s, s:b, s:b}", "id",
                      l->id, "kind", l->kind == LINK_HOST ? "host" : "switch",
                      "a", link_end_json (f, l->a), "b",
                      link_end_json (f, l->b), "speed", l->speed, "width",
                      l->width, "class", f->class_name[l->class_id], "internal",
                      l->internal, "up", fabric_is_up (f, l));
}

static json_t *show_fabric_json (const struct fabric *f)
{
    json_t *hosts = json_array (), *switches = json_array ();
    json_t *links = json_array ();

    for (size_t i = 0; i < f->nhosts; i++)
        json_add (hosts, host_json (f, &f->host[i]));
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            json_add (switches, switch_json (&f->node[i]));
    for (size_t i = 0; i < f->nlinks; i++)
        json_add (links, link_json (f, &f->link[i]));
    return json_pack ("{s:b, s:o, s:o, s:o, s:o}", "part", f->part, "hosts",
                      hosts, "switches", switches, "links", links, "warnings",
                      json_strings (f->warning, f->nwarnings));
}

/* "adaptive: 20 of 20 switches, SL 0-15; hashed: 20, SL 0-15", if any has
 * reported it.
 */
static void write_spread (const struct fabric *f, size_t switches, FILE *fp)
{
    size_t told = 0, adaptive = 0, hashed = 0, recovery = 0, private = 0;
    uint16_t ud = 0, rc = 0, by_hash = 0; /* levels on any switch */

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_spread *a = &f->node[i].spread;

        told += a->known;
        adaptive += (a->ud | a->rc) != 0;
        hashed += a->hashed != 0;
        recovery += a->recovery;
        private += a->private_lfts;
        ud |= a->ud;
        rc |= a->rc;
        by_hash |= a->hashed;
    }
    if (told == 0)
        return;
    fprintf (fp, "adaptive: %zu of %s, SL %s%s; hashed: %zu, SL %s", adaptive,
             COUNTED (switches, "switch"), SPREAD_ON (ud | rc),
             ud == rc ? "" : ud == 0 ? " (RC only)" : rc == 0 ? " (UD only)"
                                                            : " (UD or RC)",
             hashed, SPREAD_ON (by_hash));
    if (recovery > 0)
        fprintf (fp, "; fast recovery: %zu", recovery);
    if (private > 0)
        fprintf (fp, "; private LFTs: %zu", private);
    if (told < switches)
        fprintf (fp, "; not known: %zu", switches - told);
    fputc ('\n', fp);
}

static void write_fabric_text (const struct fabric *f, FILE *fp)
{
    size_t *count = verb_array (f->nclasses, sizeof (*count));
    size_t switches = 0;
    size_t lrtl = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        switches += f->node[i].type == NODE_SWITCH;
    for (size_t i = 0; i < f->nlinks; i++) {
        count[f->link[i].class_id]++;
        lrtl += f->link_info[i].lrtl != 0;
    }
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
    write_spread (f, switches, fp);
    if (lrtl > 0)
        fprintf (fp, "LinkRoundTripLatency: of %zu of %s\n", lrtl,
                 COUNTED (f->nlinks, "cable"));
    for (size_t i = 0; i < f->nwarnings; i++)
        fprintf (fp, "warning: %s\n", f->warning[i]);
}

static int run_fabric_show (struct inputs *in)
{
    if (in->json)
        inputs_put_json (in, "fabric", in->fabric->hash,
                         show_fabric_json (in->fabric));
    else
        write_fabric_text (in->fabric, inputs_output (in));
    return EXIT_OK;
}

const struct verb verb_fabric_show = {
    .name = "show", .help = "summarise a snapshot", .needs = TAKES_FABRIC,
    .may = TAKES_FILES | TAKES_JSON | TAKES_OUTPUT,
    .operands = "[FILE]...", .max = -1, .run = run_fabric_show,
};
