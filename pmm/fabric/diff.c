/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric diff: what changed between two snapshots.
 *
 * The text fits on one screen: the first FEW of each kind. A cable that
 * disappeared or appeared together with its switch or host is counted, but not
 * listed.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibquery/compare/diff.h"
#include "ibquery/snapshot.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/alloc.h"
#include "util/json.h"

enum { FEW = 5, NAME = FABRIC_NAME_MAX + 24, RATE = 32 };

static bool all;

static const struct opt options[] = {
    { "all", 0, NULL, opt_true, 0,
      "list everything, not the first few of each kind" },
    { 0 },
};

/*
 * For people
 */

static void put_fabric (const char *which, const struct fabric *f, FILE *fp)
{
    char when[64] = "";
    time_t t = f->time;

    if (t != 0)
        strftime (when, sizeof (when), ", %Y-%m-%d %H:%M:%S UTC", gmtime (&t));
    fprintf (fp, "%s  %.8s%s: %s, %s\n", which, f->hash, when,
             COUNTED (f->nhosts, "host"), COUNTED (f->nlinks, "cable"));
}

static void put_node (const struct fabric *f, uint32_t node, FILE *fp)
{
    const struct fabric_node *n = &f->node[node];

    fprintf (fp, "%s%s%s (%016" PRIx64 ")",
             n->type == NODE_SWITCH ? "" : fabric_type_name (n->type),
             n->type == NODE_SWITCH ? "" : " ", n->desc, n->guid);
}

static void put_port (const struct fabric *f, uint32_t port, FILE *fp)
{
    char name[NAME];

    fabric_port_name (f, port, name, sizeof (name));
    fputs (name, fp);
}

static void put_link (const struct fabric *f, uint32_t link, FILE *fp)
{
    put_port (f, f->link[link].a, fp);
    fputs (" - ", fp);
    put_port (f, f->link[link].b, fp);
}

static unsigned int cables_of (const struct fabric *f, uint32_t node)
{
    const struct fabric_node *n = &f->node[node];
    unsigned int cables = 0;

    for (unsigned int k = 0; k < n->nports; k++)
        cables += f->port[n->first_port + k].link != FABRIC_NONE;
    return cables;
}

static void node_with_cables (const struct fabric *f, uint32_t node, FILE *fp)
{
    unsigned int cables = cables_of (f, node);

    put_node (f, node, fp);
    fprintf (fp, " with %s", COUNTED (cables, "cable"));
}

static void node_gone (const struct diff *d, uint32_t i, FILE *fp)
{
    node_with_cables (d->a, d->nodes_gone.v[i], fp);
}

static void node_added (const struct diff *d, uint32_t i, FILE *fp)
{
    node_with_cables (d->b, d->nodes_added.v[i], fp);
}

static void node_replaced (const struct diff *d, uint32_t i, FILE *fp)
{
    put_node (d->a, d->nodes_replaced.v[i].a, fp);
    fputs (" by ", fp);
    put_node (d->b, d->nodes_replaced.v[i].b, fp);
}

static void node_changed (const struct diff *d, uint32_t i, FILE *fp)
{
    const struct fabric_node *was = &d->a->node[d->nodes_changed.v[i].a];
    const struct fabric_node *is = &d->b->node[d->nodes_changed.v[i].b];

    put_node (d->b, d->nodes_changed.v[i].b, fp);
    if (strcmp (was->desc, is->desc) != 0)
        fprintf (fp, ", was %s", was->desc);
    if (was->nports != is->nports)
        fprintf (fp, ", %s, had %u", COUNTED (is->nports, "port"), was->nports);
    if (was->adaptive.ud != is->adaptive.ud
        || was->adaptive.rc != is->adaptive.rc)
        fprintf (fp, ", adaptive routing on SLs 0x%04x, was on 0x%04x",
                 is->adaptive.ud | is->adaptive.rc,
                 was->adaptive.ud | was->adaptive.rc);
}

static void cable_moved (const struct diff *d, uint32_t i, FILE *fp)
{
    const struct diff_move *m = &d->move[i];

    put_port (d->b, m->stays, fp);
    fputs (": from ", fp);
    put_port (d->a, m->from, fp);
    fputs (" to ", fp);
    put_port (d->b, m->to, fp);
    if (m->swap != FABRIC_NONE) {
        fputs (", exchanged with ", fp);
        put_port (d->b, d->move[m->swap].stays, fp);
    }
}

static void cable_lost (const struct diff *d, uint32_t i, FILE *fp)
{
    put_link (d->a, d->cables_lost.v[i], fp);
}

static void cable_added (const struct diff *d, uint32_t i, FILE *fp)
{
    put_link (d->b, d->cables_added.v[i], fp);
}

/* The rate of a cable, and its state if that is not Active. */
static void rate_of (const struct fabric *f, uint32_t link, char text[RATE])
{
    const struct fabric_link *l = &f->link[link];
    uint8_t a = f->port[l->a].state, b = f->port[l->b].state;
    uint8_t state = a < b ? a : b;
    bool told = state != PORT_UNKNOWN && state != PORT_ACTIVE;
    char rate[16];

    fabric_rate_name (l, rate, sizeof (rate));
    snprintf (text, RATE, "%s%s%s", *rate ? rate : "?", told ? " " : "",
              told ? fabric_state_name (state) : "");
}

static void cable_retrained (const struct diff *d, uint32_t i, FILE *fp)
{
    char was[RATE], is[RATE];

    rate_of (d->a, d->retrained.v[i].a, was);
    rate_of (d->b, d->retrained.v[i].b, is);
    put_link (d->b, d->retrained.v[i].b, fp);
    fprintf (fp, ": %s, was %s", is, was);
}

static void table_changed (const struct diff *d, uint32_t i, FILE *fp)
{
    put_node (d->b, d->routes.table[i].node, fp);
    fprintf (fp, ": %" PRIu32 " LIDs", d->routes.table[i].entries);
}

/* Whether both ends of the cable are in the other fabric, too. */
static bool stands_alone (const struct fabric *f, uint32_t link,
                          const uint32_t *match)
{
    return match[f->port[f->link[link].a].node] != FABRIC_NONE
           && match[f->port[f->link[link].b].node] != FABRIC_NONE;
}

static bool lost_alone (const struct diff *d, uint32_t i)
{
    return stands_alone (d->a, d->cables_lost.v[i], d->node_b);
}

static bool added_alone (const struct diff *d, uint32_t i)
{
    return stands_alone (d->b, d->cables_added.v[i], d->node_a);
}

static const struct diff_kind {
    const char *word;
    size_t count; /* offset in struct diff */
    void (*put) (const struct diff *d, uint32_t i, FILE *fp);
    bool (*listed) (const struct diff *d, uint32_t i); /* NULL: all are */
} nodes[] = {
    { "gone", offsetof (struct diff, nodes_gone.n), node_gone, NULL },
    { "new", offsetof (struct diff, nodes_added.n), node_added, NULL },
    { "replaced", offsetof (struct diff, nodes_replaced.n), node_replaced,
      NULL },
    { "changed", offsetof (struct diff, nodes_changed.n), node_changed, NULL },
    { NULL, 0, NULL, NULL },
}, cables[] = {
    { "moved", offsetof (struct diff, nmoves), cable_moved, NULL },
    { "lost", offsetof (struct diff, cables_lost.n), cable_lost, lost_alone },
    { "new", offsetof (struct diff, cables_added.n), cable_added,
      added_alone },
    { "retrained", offsetof (struct diff, retrained.n), cable_retrained,
      NULL },
    { NULL, 0, NULL, NULL },
}, tables[] = {
    { "changed", offsetof (struct diff, routes.ntables), table_changed, NULL },
    { NULL, 0, NULL, NULL },
};

static size_t count (const struct diff *d, const struct diff_kind *k)
{
    return *(const size_t *)((const char *)d + k->count);
}

/* "cables: 2 moved, 1 lost"; false if there is nothing to report. */
static bool headline (const struct diff *d, const char *what,
                      const struct diff_kind *kind, FILE *fp)
{
    const char *gap = ": ";

    for (const struct diff_kind *k = kind; k->word; k++) {
        if (count (d, k) == 0)
            continue;
        fprintf (fp, "%s%s%zu %s", *gap == ':' ? what : "", gap, count (d, k),
                 k->word);
        gap = ", ";
    }
    return *gap == ',';
}

static void details (const struct diff *d, const struct diff_kind *kind,
                     FILE *fp)
{
    for (const struct diff_kind *k = kind; k->word; k++) {
        size_t n = 0;

        for (size_t i = 0; i < count (d, k); i++) {
            if (k->listed && !k->listed (d, i))
                continue;
            if (n++ >= FEW && !all)
                continue;
            fprintf (fp, "  %-9s ", k->word);
            k->put (d, i, fp);
            fputc ('\n', fp);
        }
        if (n > FEW && !all)
            fprintf (fp, "  %-9s ... and %zu more: --all\n", k->word, n - FEW);
    }
}

static void section (const struct diff *d, const char *what,
                     const struct diff_kind *kind, FILE *fp)
{
    if (!headline (d, what, kind, fp))
        return;
    fputc ('\n', fp);
    details (d, kind, fp);
}

static void put_hosts (const char *word, const struct fabric *f,
                       const struct diff_list *list, FILE *fp)
{
    const char **name = xarray (list->n, sizeof (*name));
    char *folded;

    for (size_t i = 0; i < list->n; i++)
        name[i] = f->host[list->v[i]].name;
    folded = xcheck (hostlist_fold (name, list->n));
    if (list->n > 0)
        fprintf (fp, "hosts: %zu %s\n  %-9s %s\n", list->n, word, word,
                 folded);
    free (folded);
    free (name);
}

static void put_routes (const struct diff *d, FILE *fp)
{
    const struct diff_routes *r = &d->routes;

    if (r->changed + r->ntables == 0)
        return;
    fprintf (fp, "routes: %" PRIu64 " of %" PRIu64 " changed", r->changed,
             r->total);
    if (r->lost > 0)
        fprintf (fp, ", %" PRIu64 " lost", r->lost);
    if (r->found > 0)
        fprintf (fp, ", %" PRIu64 " that there were not", r->found);
    fputc ('\n', fp);
    section (d, "tables", tables, fp);
}

static int write_text (const struct diff *d, FILE *fp, struct error *err)
{
    (void)err;
    if (diff_is_empty (d))
        return 0;
    put_fabric ("A", d->a, fp);
    put_fabric ("B", d->b, fp);
    put_hosts ("gone", d->a, &d->hosts_gone, fp);
    put_hosts ("new", d->b, &d->hosts_added, fp);
    section (d, "switches and adapters", nodes, fp);
    section (d, "cables", cables, fp);
    if (d->addresses > 0)
        fprintf (fp, "addresses: another LID, LMC or GUID: %s\n",
                 COUNTED (d->addresses, "port"));
    put_routes (d, fp);
    return 0;
}

/*
 * For programs
 */

static json_t *fabric_json (const struct fabric *f)
{
    return json_pack ("{s:s, s:I, s:s}", "hash", f->hash, "time",
                      (json_int_t)f->time, "source", f->source);
}

static json_t *host_list (const struct fabric *f, const struct diff_list *list)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < list->n; i++)
        json_add (out, json_string (f->host[list->v[i]].name));
    return out;
}

static json_t *node_list (const struct fabric *f, const struct diff_list *list)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < list->n; i++)
        json_add (out, fabric_node_json (f, list->v[i]));
    return out;
}

static json_t *node_pairs (const struct diff *d, const struct diff_pairs *list)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < list->n; i++)
        json_add (
            out, json_pack ("{s:o, s:o}", "was",
                            fabric_node_json (d->a, list->v[i].a), "is",
                            fabric_node_json (d->b, list->v[i].b)));
    return out;
}

static json_t *link_list (const struct fabric *f, const struct diff_list *list)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < list->n; i++) {
        const struct fabric_link *l = &f->link[list->v[i]];

        json_add (out, json_pack ("{s:o, s:o}", "a",
                                               fabric_port_json (f, l->a), "b",
                                               fabric_port_json (f, l->b)));
    }
    return out;
}

static json_t *moves (const struct diff *d)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < d->nmoves; i++) {
        const struct diff_move *m = &d->move[i];
        json_t *other = m->swap == FABRIC_NONE
                            ? json_null ()
                            : fabric_port_json (d->b, d->move[m->swap].stays);

        json_add (
            out, json_pack ("{s:o, s:o, s:o, s:o}", "stays",
                            fabric_port_json (d->b, m->stays), "from",
                            fabric_port_json (d->a, m->from), "to",
                            fabric_port_json (d->b, m->to), "exchanged_with",
                            other));
    }
    return out;
}

static json_t *retrained (const struct diff *d)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < d->retrained.n; i++) {
        const struct fabric_link *l = &d->b->link[d->retrained.v[i].b];
        char was[RATE], is[RATE];

        rate_of (d->a, d->retrained.v[i].a, was);
        rate_of (d->b, d->retrained.v[i].b, is);
        json_add (
            out, json_pack ("{s:o, s:o, s:s, s:s}", "a",
                            fabric_port_json (d->b, l->a), "b",
                            fabric_port_json (d->b, l->b), "was", was, "is",
                            is));
    }
    return out;
}

static json_t *routes (const struct diff *d)
{
    const struct diff_routes *r = &d->routes;
    json_t *list = json_array ();

    for (size_t i = 0; i < r->ntables; i++) {
        json_t *item = fabric_node_json (d->b, r->table[i].node);

        json_put (item, "entries", json_integer (r->table[i].entries));
        json_add (list, item);
    }
    return json_pack ("{s:I, s:I, s:I, s:I, s:o}", "total",
                      (json_int_t)r->total, "changed", (json_int_t)r->changed,
                      "lost", (json_int_t)r->lost, "found",
                      (json_int_t)r->found, "switches", list);
}

static int write_json (const struct diff *d, FILE *fp, struct error *err)
{
    json_t *rest = json_pack (
        "{s:o, s:o, s:b, s:{s:o, s:o}, s:{s:o, s:o, s:o, s:o},"
        " s:{s:o, s:o, s:o, s:o}, s:I, s:o}",
        "a", fabric_json (d->a), "b", fabric_json (d->b), "same",
        diff_is_empty (d), "hosts", "gone", host_list (d->a, &d->hosts_gone),
        "new", host_list (d->b, &d->hosts_added), "nodes", "gone",
        node_list (d->a, &d->nodes_gone), "new",
        node_list (d->b, &d->nodes_added), "replaced",
        node_pairs (d, &d->nodes_replaced), "changed",
        node_pairs (d, &d->nodes_changed), "cables", "moved", moves (d),
        "lost", link_list (d->a, &d->cables_lost), "new",
        link_list (d->b, &d->cables_added), "retrained", retrained (d),
        "addresses", (json_int_t)d->addresses, "routes", routes (d));

    return json_write_file ("diff", NULL, rest, fp, err);
}

static struct fabric *load_whole (const char *path, struct error *err)
{
    struct fabric *f = fabric_load (path, err);

    if (!f || fabric_need_whole (f, path, err) == 0)
        return f;
    fabric_destroy (f);
    return NULL;
}

static int run (struct inputs *in, struct error *err)
{
    struct fabric *a = load_whole (in->operand[0], err);
    struct fabric *b = a ? load_whole (in->operand[1], err) : NULL;
    struct diff *d = b ? diff_fabrics (a, b) : NULL;
    FILE *fp = d ? inputs_output (in, err) : NULL;
    int status = -1;

    if (fp && (in->json ? write_json : write_text) (d, fp, err) == 0)
        status = diff_is_empty (d) ? EXIT_OK : EXIT_FAIL;
    diff_destroy (d);
    fabric_destroy (a);
    fabric_destroy (b);
    return status;
}

const struct verb verb_fabric_diff = {
    .name = "diff",
    .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "A B",
    .min = 2,
    .max = 2,
    .options = options,
    .given = &all,
    .run = run,
};
