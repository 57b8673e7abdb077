/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric diff: what changed between two snapshots.
 *
 * The text fits on one screen: the first FEW of each kind. A cable that
 * disappeared or appeared together with its switch or host is counted, but not
 * listed.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "ibquery/compare/diff.h"
#include "ibquery/spread.h"
#include "pmm/verb.h"
#include "util/json.h"

enum { FEW = 5, RATE = RATES_TEXT + 10 };

static bool all;

static const struct opt options[] = {
    { "all", 0, NULL, opt_true, 0,
      "list everything (default: the first few of each kind)" },
    { 0 },
};

/* The kinds of changes. */
enum diff_what {
    HOST, NODE, REPLACED, CHANGED, MOVED, CABLE, RETRAINED, LENGTH, TABLE
};

static const struct diff_kind {
    const char *word;
    enum diff_what what;
    bool in_b;    /* in the second fabric; of those in one only */
    size_t list;  /* offset of its pairs in struct diff; TABLE: 0 */
    size_t count; /* likewise */
} hosts[] = {
#define LIST(name)                                                            \
    offsetof (struct diff, name), offsetof (struct diff, name.n)
    { "gone", HOST, false, LIST (hosts_gone) },
    { "new", HOST, true, LIST (hosts_added) },
    { 0 },
}, nodes[] = {
    { "gone", NODE, false, LIST (nodes_gone) },
    { "new", NODE, true, LIST (nodes_added) },
    { "replaced", REPLACED, true, LIST (nodes_replaced) },
    { "changed", CHANGED, true, LIST (nodes_changed) },
    { 0 },
}, cables[] = {
    { "moved", MOVED, true, 0, offsetof (struct diff, cables.nmoves) },
    { "lost", CABLE, false, LIST (cables.lost) },
    { "new", CABLE, true, LIST (cables.added) },
    { "retrained", RETRAINED, true, LIST (retrained) },
    { "replaced", LENGTH, true, LIST (replaced) },
    { 0 },
}, tables[] = {
    { "changed", TABLE, true, 0, offsetof (struct diff, routes.ntables) },
    { 0 },
#undef LIST
};

static size_t diff_list_length (const struct diff *d, const struct diff_kind *k)
{
    return *(const size_t *)((const char *)d + k->count);
}

static const struct pair *diff_list_pair (const struct diff *d,
                                          const struct diff_kind *k, size_t i)
{
    return &((const struct pairs *)((const char *)d + k->list))->v[i];
}

/* Of a list of what is in one fabric only. */
static uint32_t item (const struct diff *d, const struct diff_kind *k, size_t i)
{
    return k->in_b ? diff_list_pair (d, k, i)->b : diff_list_pair (d, k, i)->a;
}

/* The rate of a cable, and its state if that is not Active. */
static const char *cable_rate_text (const struct fabric *f, uint32_t link,
                                    char text[RATE])
{
    const struct fabric_link *l = &f->link[link];
    uint8_t a = f->port[l->a].state, b = f->port[l->b].state;
    uint8_t state = a < b ? a : b;
    bool told = state != PORT_UNKNOWN && state != PORT_ACTIVE;
    char rate[RATES_TEXT];

    fabric_rate_name (l, rate);
    snprintf (text, RATE, "%s%s%s", *rate ? rate : "?", told ? " " : "",
              told ? fabric_state_name (state) : "");
    return text;
}

/* The LinkRoundTripLatency of a cable, at its first end that knows it. */
static uint32_t cable_lrtl (const struct fabric *f, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];

    return f->port[l->a].lrtl ? f->port[l->a].lrtl : f->port[l->b].lrtl;
}

/*
 * Text
 */

static void print_diff_node (const struct fabric *f, uint32_t node, FILE *fp)
{
    const struct fabric_node *n = &f->node[node];

    fprintf (fp, "%s%s%s (%016" PRIx64 ")",
             n->type == NODE_SWITCH ? "" : fabric_type_name (n->type),
             n->type == NODE_SWITCH ? "" : " ", n->desc, n->guid);
}

static void put_link (const struct fabric *f, uint32_t link, FILE *fp)
{
    fprintf (fp, "%s - %s", PORT_NAME (f, f->link[link].a),
             PORT_NAME (f, f->link[link].b));
}

/* ", hashed on SL 0-15, was none" if it was. */
static void put_levels (const char *what, uint16_t was, uint16_t is, FILE *fp)
{
    if (was != is)
        fprintf (fp, ", %s on SL %s, was %s", what, SPREAD_ON (is),
                 SPREAD_ON (was));
}

static void put_changed (const struct fabric_node *was,
                         const struct fabric_node *is, FILE *fp)
{
    const struct fabric_spread *a = &was->spread, *b = &is->spread;

    if (strcmp (was->desc, is->desc) != 0)
        fprintf (fp, ", was %s", was->desc);
    if (was->nports != is->nports)
        fprintf (fp, ", %s, had %u", COUNTED (is->nports, "port"), was->nports);
    if (!spread_differs (a, b))
        return;
    put_levels ("adaptive", a->ud | a->rc, b->ud | b->rc, fp);
    if ((a->ud | a->rc) == (b->ud | b->rc)) {
        put_levels ("adaptive for UD", a->ud, b->ud, fp);
        put_levels ("adaptive for RC", a->rc, b->rc, fp);
    }
    put_levels ("hashed", a->hashed, b->hashed, fp);
    if (a->recovery != b->recovery)
        fprintf (fp, ", fast recovery %s", b->recovery ? "on" : "off");
    if (a->private_lfts != b->private_lfts)
        fprintf (fp, ", private LFTs %s", b->private_lfts ? "on" : "off");
}

static void put_item (const struct diff *d, const struct diff_kind *k,
                      size_t i, FILE *fp)
{
    const struct fabric *f = k->in_b ? d->b : d->a;
    const struct cable_move *m = k->what == MOVED ? &d->cables.move[i] : NULL;
    const struct fabric_node *n;
    char was[RATE], is[RATE];
    unsigned int on = 0;

    switch (k->what) {
    case HOST: /* put_hosts */
        break;
    case NODE:
        n = &f->node[item (d, k, i)];
        for (unsigned int p = 0; p < n->nports; p++)
            on += f->port[n->first_port + p].link != FABRIC_NONE;
        print_diff_node (f, item (d, k, i), fp);
        fprintf (fp, " with %s", COUNTED (on, "cable"));
        break;
    case REPLACED:
        print_diff_node (d->a, diff_list_pair (d, k, i)->a, fp);
        fputs (" by ", fp);
        print_diff_node (d->b, diff_list_pair (d, k, i)->b, fp);
        break;
    case CHANGED:
        print_diff_node (d->b, diff_list_pair (d, k, i)->b, fp);
        put_changed (&d->a->node[diff_list_pair (d, k, i)->a],
                     &d->b->node[diff_list_pair (d, k, i)->b], fp);
        break;
    case MOVED:
        fprintf (fp, "%s: from %s to %s", PORT_NAME (d->b, m->stays),
                 PORT_NAME (d->a, m->from), PORT_NAME (d->b, m->to));
        if (m->swap != FABRIC_NONE)
            fprintf (fp, ", exchanged with %s",
                     PORT_NAME (d->b, d->cables.move[m->swap].stays));
        break;
    case CABLE:
        put_link (f, item (d, k, i), fp);
        break;
    case RETRAINED:
        put_link (d->b, diff_list_pair (d, k, i)->b, fp);
        fprintf (fp, ": %s, was %s",
                 cable_rate_text (d->b, diff_list_pair (d, k, i)->b, is),
                 cable_rate_text (d->a, diff_list_pair (d, k, i)->a, was));
        break;
    case LENGTH:
        put_link (d->b, diff_list_pair (d, k, i)->b, fp);
        fprintf (fp, ": LinkRoundTripLatency %" PRIu32 ", was %" PRIu32,
                 cable_lrtl (d->b, diff_list_pair (d, k, i)->b),
                 cable_lrtl (d->a, diff_list_pair (d, k, i)->a));
        break;
    case TABLE:
        print_diff_node (d->b, d->routes.table[i].node, fp);
        fprintf (fp, ": %" PRIu32 " LIDs", d->routes.table[i].entries);
    }
}

/* Whether an end of the cable is not in the other fabric: it came or went with
 * its node.
 */
static bool is_implied (const struct diff *d, const struct diff_kind *k,
                        size_t i)
{
    const struct fabric *f = k->in_b ? d->b : d->a;
    const uint32_t *match = k->in_b ? d->node_a : d->node_b;
    const struct fabric_link *l;

    if (k->what != CABLE)
        return false;
    l = &f->link[item (d, k, i)];
    return match[f->port[l->a].node] == FABRIC_NONE
           || match[f->port[l->b].node] == FABRIC_NONE;
}

static void print_diff_fabric (const char *which, const struct fabric *f,
                               FILE *fp)
{
    char when[64] = "";
    time_t t = f->time;

    if (t != 0)
        strftime (when, sizeof (when), ", %Y-%m-%d %H:%M:%S UTC", gmtime (&t));
    fprintf (fp, "%s  %.8s%s: %s, %s\n", which, f->hash, when,
             COUNTED (f->nhosts, "host"), COUNTED (f->nlinks, "cable"));
}

static void put_hosts (const struct diff *d, const struct diff_kind *k,
                       FILE *fp)
{
    const struct fabric *f = k->in_b ? d->b : d->a;
    size_t n = diff_list_length (d, k);
    const char **name = verb_array (n, sizeof (*name));

    for (size_t i = 0; i < n; i++)
        name[i] = f->host[item (d, k, i)].name;
    if (n > 0)
        fprintf (fp, "hosts: %zu %s\n  %-9s %s\n", n, k->word, k->word,
                 verb_fold (name, n));
}

/* "cables: 2 moved, 1 lost", then a line for each. */
static void put_section (const struct diff *d, const char *what,
                         const struct diff_kind *kind, FILE *fp)
{
    const char *gap = ": ";

    for (const struct diff_kind *k = kind; k->word; k++) {
        if (diff_list_length (d, k) == 0)
            continue;
        fprintf (fp, "%s%s%zu %s", *gap == ':' ? what : "", gap,
                 diff_list_length (d, k), k->word);
        gap = ", ";
    }
    if (*gap == ':')
        return;
    fputc ('\n', fp);
    for (const struct diff_kind *k = kind; k->word; k++) {
        size_t n = 0;

        for (size_t i = 0; i < diff_list_length (d, k); i++) {
            if (is_implied (d, k, i) || (n++ >= FEW && !all))
                continue;
            fprintf (fp, "  %-9s ", k->word);
            put_item (d, k, i, fp);
            fputc ('\n', fp);
        }
        if (n > FEW && !all)
            fprintf (fp, "  %-9s ... and %zu more: --all\n", k->word, n - FEW);
    }
}

static void write_diff_text (const struct diff *d, FILE *fp)
{
    const struct diff_routes *r = &d->routes;

    print_diff_fabric ("A", d->a, fp);
    print_diff_fabric ("B", d->b, fp);
    for (const struct diff_kind *k = hosts; k->word; k++)
        put_hosts (d, k, fp);
    put_section (d, "switches and adapters", nodes, fp);
    put_section (d, "cables", cables, fp);
    if (d->addresses > 0)
        fprintf (fp, "addresses: another LID, LMC or GUID: %s\n",
                 COUNTED (d->addresses, "port"));
    if (r->changed + r->ntables == 0)
        return;
    fprintf (fp, "routes: %" PRIu64 " of %" PRIu64 " changed", r->changed,
             r->total);
    if (r->lost > 0)
        fprintf (fp, ", %" PRIu64 " lost", r->lost);
    if (r->found > 0)
        fprintf (fp, ", %" PRIu64 " that there were not", r->found);
    fputc ('\n', fp);
    put_section (d, "tables", tables, fp);
}

/*
 * JSON
 */

static json_t *spread_node_json (const struct fabric *f, uint32_t node)
{
    json_t *json = fabric_node_json (f, node);

    json_put (json, "adaptive", fabric_spread_json (&f->node[node].spread));
    return json;
}

static json_t *diff_item_json (const struct diff *d, const struct diff_kind *k,
                               size_t i)
{
    const struct fabric *f = k->in_b ? d->b : d->a;
    const struct cable_move *m = k->what == MOVED ? &d->cables.move[i] : NULL;
    char was[RATE], is[RATE];
    json_t *json;

    switch (k->what) {
    case HOST:
        return json_string (f->host[item (d, k, i)].name);
    case NODE:
        return fabric_node_json (f, item (d, k, i));
    case REPLACED:
    case CHANGED:
        return json_pack ("{s:o, s:o}", "was",
                          spread_node_json (d->a, diff_list_pair (d, k, i)->a),
                          "is",
                          spread_node_json (d->b, diff_list_pair (d, k, i)->b));
    case MOVED:
        json = m->swap == FABRIC_NONE
                   ? json_null ()
                   : fabric_port_json (d->b, d->cables.move[m->swap].stays);
        return json_pack ("{s:o, s:o, s:o, s:o}", "stays",
                          fabric_port_json (d->b, m->stays), "from",
                          fabric_port_json (d->a, m->from), "to",
                          fabric_port_json (d->b, m->to), "exchanged_with",
                          json);
    case CABLE:
        return fabric_link_json (f, item (d, k, i));
    case RETRAINED:
        json = fabric_link_json (d->b, diff_list_pair (d, k, i)->b);
        json_put (json, "was",
                  json_string (cable_rate_text (
                      d->a, diff_list_pair (d, k, i)->a, was)));
        json_put (json, "is",
                  json_string (
                      cable_rate_text (d->b, diff_list_pair (d, k, i)->b, is)));
        return json;
    case LENGTH:
        json = fabric_link_json (d->b, diff_list_pair (d, k, i)->b);
        json_put (
            json, "was",
            json_integer (cable_lrtl (d->a, diff_list_pair (d, k, i)->a)));
        json_put (
            json, "is",
            json_integer (cable_lrtl (d->b, diff_list_pair (d, k, i)->b)));
        return json;
    case TABLE:
        json = fabric_node_json (d->b, d->routes.table[i].node);
        json_put (json, "entries", json_integer (d->routes.table[i].entries));
        return json;
    }
    return NULL;
}

static json_t *diff_list_json (const struct diff *d, const struct diff_kind *k)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < diff_list_length (d, k); i++)
        json_add (list, diff_item_json (d, k, i));
    return list;
}

static json_t *section_json (const struct diff *d,
                             const struct diff_kind *kind)
{
    json_t *lists = json_object ();

    for (const struct diff_kind *k = kind; k->word; k++)
        json_put (lists, k->word, diff_list_json (d, k));
    return lists;
}

static json_t *diff_fabric_json (const struct fabric *f)
{
    return json_pack ("{s:s, s:I, s:s}", "hash", f->hash, "time",
                      (json_int_t)f->time, "source", f->source);
}

static json_t *diff_json (const struct diff *d)
{
    const struct diff_routes *r = &d->routes;

    return json_pack (
        "{s:o, s:o, s:b, s:o, s:o, s:o, s:I, s:{s:I, s:I, s:I, s:I, s:o}}",
        "a", diff_fabric_json (d->a), "b", diff_fabric_json (d->b), "same",
        diff_is_empty (d), "hosts", section_json (d, hosts), "nodes",
        section_json (d, nodes), "cables", section_json (d, cables),
        "addresses", (json_int_t)d->addresses, "routes", "total",
        (json_int_t)r->total, "changed", (json_int_t)r->changed, "lost",
        (json_int_t)r->lost, "found", (json_int_t)r->found, "switches",
        diff_list_json (d, tables));
}

static int run_fabric_diff (struct inputs *in)
{
    struct fabric *f[2];
    struct diff *d;
    bool same;

    for (int i = 0; i < 2; i++) {
        f[i] = inputs_open (in, in->operand[i]);
        inputs_need_whole (f[i], in->operand[i]);
        inputs_need_one (f[i], in->operand[i]);
    }
    d = diff_fabrics (f[0], f[1]);
    same = diff_is_empty (d);
    if (in->json)
        inputs_put_json (in, "diff", NULL, diff_json (d));
    else if (inputs_output (in) && !same)
        write_diff_text (d, inputs_output (in));
    diff_destroy (d);
    fabric_destroy (f[0]);
    fabric_destroy (f[1]);
    return same ? EXIT_OK : EXIT_FAIL;
}

const struct verb verb_fabric_diff = {
    .name = "diff", .help = "show what changed between two snapshots",
    .may = TAKES_JSON | TAKES_OUTPUT, .operands = "A B", .min = 2, .max = 2,
    .options = options, .given = &all, .run = run_fabric_diff,
};
