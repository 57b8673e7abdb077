/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric is edited, and the two are compared: each row says in words what it
 * edits and what is to be found.
 */
#include "config.h"
#include "ibquery/compare/diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/fabric.h"
#include "tests/tap.h"
#include "util/rng.h"

/* A fabric that is being edited: everything by index of the one it was. */
struct draft {
    const struct fabric *f;
    uint64_t *guid;
    char (*desc)[FABRIC_NAME_MAX + 1];
    bool *gone;
    struct {
        uint32_t a, b; /* ports */
        unsigned int width;
        bool gone;
    } *cable;
    uint16_t *lid;     /* by port */
    uint8_t **lft;
};

static void draft_open (struct draft *d, const struct fabric *f)
{
    *d = (struct draft){
        .f = f,
        .guid = calloc (f->nnodes, sizeof (*d->guid)),
        .desc = calloc (f->nnodes, sizeof (*d->desc)),
        .gone = calloc (f->nnodes, sizeof (*d->gone)),
        .cable = calloc (f->nlinks, sizeof (*d->cable)),
        .lid = calloc (f->nports, sizeof (*d->lid)),
        .lft = calloc (f->nnodes, sizeof (*d->lft)),
    };
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        d->guid[i] = n->guid;
        strcpy (d->desc[i], n->desc);
        if (!n->lft)
            continue;
        d->lft[i] = malloc (n->lft_top + 1);
        memcpy (d->lft[i], n->lft, n->lft_top + 1);
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        d->cable[i].a = f->link[i].a;
        d->cable[i].b = f->link[i].b;
        d->cable[i].width = f->link[i].width;
    }
    for (size_t i = 0; i < f->nports; i++)
        d->lid[i] = f->port[i].lid;
}

static struct fabric *draft_close (struct draft *d)
{
    const struct fabric *f = d->f;
    struct fabric *g = fabric_create ();
    uint32_t *node = calloc (f->nnodes, sizeof (*node));
    struct error err = { 0 };

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        if (d->gone[i])
            continue;
        node[i] = fabric_add_node (g, d->guid[i], n->type, n->nports,
                                   d->desc[i], &err);
        fabric_set_switch_lid (g, node[i], n->lid, &err);
        for (unsigned int k = 0; n->type != NODE_SWITCH && k < n->nports; k++)
            fabric_set_port (g, node[i], k + 1,
                             f->port[n->first_port + k].guid,
                             d->lid[n->first_port + k], 0, &err);
        if (d->lft[i])
            fabric_set_lft (g, node[i], d->lft[i], n->lft_top, &err);
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_port *a = &f->port[d->cable[i].a];
        const struct fabric_port *b = &f->port[d->cable[i].b];

        if (!d->cable[i].gone && !d->gone[a->node] && !d->gone[b->node])
            fabric_add_cable (g, node[a->node], a->num, node[b->node], b->num,
                              d->cable[i].width, f->link[i].speed, &err);
    }
    if (*err.text || fabric_finish (g, &err) < 0)
        diag ("%s", err.text);
    for (size_t i = 0; i < f->nnodes; i++)
        free (d->lft[i]);
    free (d->guid);
    free (d->desc);
    free (d->gone);
    free (d->cable);
    free (d->lid);
    free (d->lft);
    free (node);
    return g;
}

static uint32_t node_of (const struct fabric *f, const char *name)
{
    uint32_t host = fabric_find_host (f, name);

    return host == FABRIC_NONE
               ? fabric_find_switch (f, name)
               : f->port[f->endpoint[f->host[host].first].port].node;
}

/* "lose END", "plug END END" (the plug that faces the first goes to the
 * second), "swap END END" (of the plugs that face them), "thin END", "drop
 * NODE", "guid NODE NUMBER", "name NODE TEXT", "lid NODE NUMBER", "send SWITCH
 * HOST PORT" (a table's entry).
 */
static void edit (struct draft *d, const char *line)
{
    const struct fabric *f = d->f;
    char verb[16], x[64], y[64];
    unsigned int port = 0;
    uint32_t p, q, l;

    sscanf (line, "%15s %63s %63s %u", verb, x, y, &port);
    if (strcmp (verb, "drop") == 0)
        d->gone[node_of (f, x)] = true;
    else if (strcmp (verb, "guid") == 0)
        d->guid[node_of (f, x)] = strtoull (y, NULL, 0);
    else if (strcmp (verb, "name") == 0)
        strcpy (d->desc[node_of (f, x)], y);
    else if (strcmp (verb, "lid") == 0)
        d->lid[f->node[node_of (f, x)].first_port] = atoi (y);
    else if (strcmp (verb, "send") == 0)
        d->lft[node_of (f, x)][f->port[f->node[node_of (f, y)].first_port].lid]
            = port;
    else {
        p = fabric_find_port (f, x);
        l = f->port[p].link;
        if (strcmp (verb, "lose") == 0)
            d->cable[l].gone = true;
        else if (strcmp (verb, "thin") == 0)
            d->cable[l].width = 1;
        else if (strcmp (verb, "plug") == 0) {
            q = fabric_find_port (f, y);
            d->cable[l].a = p;
            d->cable[l].b = q;
        } else if (strcmp (verb, "swap") == 0) {
            uint32_t k;

            q = fabric_find_port (f, y);
            k = f->port[q].link;
            d->cable[l].b = f->link[k].a == q ? f->link[k].b : f->link[k].a;
            d->cable[k].b = f->link[l].a == p ? f->link[l].b : f->link[l].a;
            d->cable[l].a = p;
            d->cable[k].a = q;
        }
    }
}

static struct fabric *edited (const struct fabric *f, const char *edits)
{
    struct draft d;

    draft_open (&d, f);
    for (const char *line = edits; *line;) {
        char copy[100];
        size_t len = strcspn (line, ";");

        snprintf (copy, sizeof (copy), "%.*s", (int)len, line);
        edit (&d, copy);
        line += len + (line[len] == ';');
    }
    return draft_close (&d);
}

static void put_end (FILE *fp, const struct fabric *f, uint32_t port)
{
    const struct fabric_node *n = &f->node[f->port[port].node];

    fprintf (fp, "%s/%u",
             n->host == FABRIC_NONE ? n->desc : f->host[n->host].name,
             f->port[port].num);
}

static void put_link (FILE *fp, const char *what, const struct fabric *f,
                      uint32_t link)
{
    fprintf (fp, "%s ", what);
    put_end (fp, f, f->link[link].a);
    fprintf (fp, " ");
    put_end (fp, f, f->link[link].b);
    fprintf (fp, "; ");
}

/* What was found, but for the routes. */
static char *summary (const struct diff *d)
{
    char *text = NULL;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    for (size_t i = 0; i < d->hosts_gone.n; i++)
        fprintf (fp, "host %s gone; ", d->a->host[d->hosts_gone.v[i].a].name);
    for (size_t i = 0; i < d->hosts_added.n; i++)
        fprintf (fp, "host %s new; ", d->b->host[d->hosts_added.v[i].b].name);
    for (size_t i = 0; i < d->nodes_gone.n; i++)
        fprintf (fp, "%s gone; ", d->a->node[d->nodes_gone.v[i].a].desc);
    for (size_t i = 0; i < d->nodes_added.n; i++)
        fprintf (fp, "%s new; ", d->b->node[d->nodes_added.v[i].b].desc);
    for (size_t i = 0; i < d->nodes_replaced.n; i++)
        fprintf (fp, "%s replaced; ",
                 d->a->node[d->nodes_replaced.v[i].a].desc);
    for (size_t i = 0; i < d->nodes_changed.n; i++)
        fprintf (fp, "%s is %s; ", d->a->node[d->nodes_changed.v[i].a].desc,
                 d->b->node[d->nodes_changed.v[i].b].desc);
    for (size_t i = 0; i < d->cables.nmoves; i++) {
        put_end (fp, d->b, d->cables.move[i].stays);
        fprintf (fp, ": ");
        put_end (fp, d->a, d->cables.move[i].from);
        fprintf (fp, " > ");
        put_end (fp, d->b, d->cables.move[i].to);
        fprintf (fp, d->cables.move[i].swap == FABRIC_NONE ? "; "
                                                           : " swapped; ");
    }
    for (size_t i = 0; i < d->cables.lost.n; i++)
        put_link (fp, "lost", d->a, d->cables.lost.v[i].a);
    for (size_t i = 0; i < d->cables.added.n; i++)
        put_link (fp, "new", d->b, d->cables.added.v[i].b);
    for (size_t i = 0; i < d->retrained.n; i++)
        put_link (fp, "rate", d->b, d->retrained.v[i].b);
    for (size_t i = 0; i < d->replaced.n; i++)
        put_link (fp, "other", d->b, d->replaced.v[i].b);
    if (d->addresses > 0)
        fprintf (fp, "%zu addresses; ", d->addresses);
    fclose (fp);
    text[strlen (text) - (*text ? 2 : 0)] = '\0';
    return text;
}

/* In the 4-port 2-tree hosts h0001 .. h0008 are two by two at s1-0001 ..
 * s1-0004, whose ports 3 and 4 lead to s2-0001 and s2-0002.
 */
static const struct {
    const char *what, *edits, *expected;
} rows[] = {
    { "nothing", "", "" },
    { "a cable lost", "lose s1-0001/3", "lost s1-0001/3 s2-0001/1" },
    { "a host gone", "drop h0003",
      "host h0003 gone; lost h0003/1 s1-0002/1" },
    { "a switch gone", "drop s2-0002",
      "s2-0002 gone; lost s1-0001/4 s2-0002/1; lost s1-0002/4 s2-0002/2; "
      "lost s1-0003/4 s2-0002/3; lost s1-0004/4 s2-0002/4" },
    { "a plug moved", "lose h0003/1;plug h0001/1 s1-0002/1",
      "host h0003 gone; h0001/1: s1-0001/1 > s1-0002/1; "
      "lost h0003/1 s1-0002/1" },
    { "hosts exchanged", "swap h0001/1 h0008/1",
      "h0001/1: s1-0001/1 > s1-0004/2 swapped; "
      "h0008/1: s1-0004/2 > s1-0001/1 swapped" },
    { "up cables exchanged", "swap s1-0001/3 s1-0004/4",
      "s1-0001/3: s2-0001/1 > s2-0002/4 swapped; "
      "s1-0004/4: s2-0002/4 > s2-0001/1 swapped" },
    { "a lane of four left", "thin h0005/1", "rate h0005/1 s1-0003/1" },
    { "an adapter replaced", "guid h0005 0x77",
      "h0005 mlx5_0 replaced" },
    { "an adapter replaced, another host", "guid h0005 0x77;name h0005 x1",
      "host h0005 gone; host x1 new; "
      "s1-0003/1: h0005/1 > x1/1" },
    { "a leaf replaced", "guid s1-0002 0x77", "s1-0002 replaced" },
    { "a spine replaced, and not yet named",
      "guid s2-0002 0x77;name s2-0002 MF0;lose s1-0001/4",
      "s2-0002 replaced; s2-0002 is MF0; lost s1-0001/4 s2-0002/1" },
    { "neighbours replaced", "guid s1-0002 0x77;guid s2-0002 0x78",
      "s1-0002 replaced; s2-0002 replaced" },
    { "a host renamed", "name h0005 x1", "h0005 mlx5_0 is x1" },
    { "a switch renamed", "name s1-0001 leaf1", "s1-0001 is leaf1" },
    { "another LID", "lid h0005 99", "1 addresses" },
    { "an entry", "send s1-0001 h0005 4", "" },
};

/* What a route crosses, as "GUID/PORT GUID/PORT" for each cable; NULL where
 * there is none.
 */
static char *route (const struct fabric *f, const char *from, const char *to)
{
    uint32_t arc[PATH_MAX_HOPS];
    char *text = NULL;
    struct error err;
    size_t size;
    FILE *fp;
    int n = fabric_walk (f, fabric_find_endpoint (f, from),
                         fabric_find_endpoint (f, to), arc, &err);

    if (n < 0)
        return NULL;
    fp = open_memstream (&text, &size);
    for (int i = 0; i < n; i++) {
        const struct fabric_link *l = &f->link[arc[i] / 2];

        for (int k = 0; k < 2; k++) {
            const struct fabric_port *p = &f->port[k ? l->b : l->a];

            fprintf (fp, "%" PRIx64 "/%u ", f->node[p->node].guid, p->num);
        }
    }
    fclose (fp);
    return text;
}

/* The routes, one by one; replaced nodes are for the rows. */
static bool routes_agree (const struct diff *d)
{
    struct diff_routes r = { 0 };

    for (size_t i = 0; i < d->a->nhosts * d->a->nhosts; i++) {
        const char *from = d->a->host[i / d->a->nhosts].name;
        const char *to = d->a->host[i % d->a->nhosts].name;
        char *x, *y;

        if (strcmp (from, to) == 0
            || fabric_find_host (d->b, from) == FABRIC_NONE
            || fabric_find_host (d->b, to) == FABRIC_NONE)
            continue;
        x = route (d->a, from, to);
        y = route (d->b, from, to);
        r.total++;
        r.lost += x && !y;
        r.found += !x && y;
        r.changed += !x != !y || (x && strcmp (x, y) != 0);
        free (x);
        free (y);
    }
    if (r.total == d->routes.total && r.lost == d->routes.lost
        && r.found == d->routes.found && r.changed == d->routes.changed)
        return true;
    diag ("total %" PRIu64 " %" PRIu64 ", changed %" PRIu64 " %" PRIu64
          ", lost %" PRIu64 " %" PRIu64 ", found %" PRIu64 " %" PRIu64,
          r.total, d->routes.total, r.changed, d->routes.changed, r.lost,
          d->routes.lost, r.found, d->routes.found);
    return false;
}

static void edits_are_found (const struct fabric *f)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *g = edited (f, rows[i].edits);
        struct diff *d = diff_fabrics (f, g);
        struct diff *back = diff_fabrics (g, f);
        char *got;

        got = summary (d);
        ok (strcmp (got, rows[i].expected) == 0, "%s: %s", rows[i].what, got);
        ok (diff_is_empty (d) == !*rows[i].edits
                && diff_is_empty (back) == !*rows[i].edits,
            "%s: empty only where nothing was edited", rows[i].what);
        ok (back->routes.changed == d->routes.changed
                && back->routes.lost == d->routes.found
                && back->cables.added.n == d->cables.lost.n
                && back->cables.nmoves == d->cables.nmoves
                && back->nodes_replaced.n == d->nodes_replaced.n
                && back->hosts_added.n == d->hosts_gone.n,
            "%s: the same from the other side", rows[i].what);
        free (got);
        diff_destroy (d);
        diff_destroy (back);
        fabric_destroy (g);
    }
}

static void entries_are_counted (const struct fabric *f)
{
    struct fabric *g = edited (f, "send s1-0001 h0005 4;send s1-0001 h0006 9;"
                                  "send s2-0001 h0001 255");
    struct diff *d = diff_fabrics (f, g);
    const struct diff_routes *r = &d->routes;
    bool up = f->node[node_of (f, "s1-0001")]
                  .lft[f->port[f->node[node_of (f, "h0005")].first_port].lid]
              == 3;

    ok (up && r->ntables == 2 && r->table[0].entries == 2
            && strcmp (g->node[r->table[0].node].desc, "s1-0001") == 0
            && r->table[1].entries == 1,
        "tables that have changed, most entries first");
    ok (r->total == 56 && r->changed == 10 && r->lost == 8 && r->found == 0,
        "%" PRIu64 " of %" PRIu64 " routes, %" PRIu64 " lost", r->changed,
        r->total, r->lost);
    ok (routes_agree (d), "as they are walked");
    diff_destroy (d);
    fabric_destroy (g);
}

/* Many edits at once, drawn: the counts are those of the walks, and nothing
 * is found exactly where the hashes are equal.
 */
static void routes_are_true (const struct fabric *f, uint64_t seed)
{
    struct fabric *g;
    struct draft draft;
    struct diff *d;
    struct rng rng;

    rng_seed (&rng, seed);
    draft_open (&draft, f);
    for (uint64_t n = rng_below (&rng, 4); n > 0; n--)
        draft.cable[rng_below (&rng, f->nlinks)].gone = true;
    for (uint64_t n = rng_below (&rng, 3); n > 0; n--)
        draft.gone[rng_below (&rng, f->nnodes)] = true;
    for (uint64_t n = rng_below (&rng, 30); n > 0; n--) {
        uint32_t node = rng_below (&rng, f->nnodes);

        if (draft.lft[node])
            draft.lft[node][1 + rng_below (&rng, f->node[node].lft_top)]
                = rng_below (&rng, f->node[node].nports + 2);
    }
    g = draft_close (&draft);
    d = diff_fabrics (f, g);
    ok (d && routes_agree (d)
            && diff_is_empty (d) == (strcmp (f->hash, g->hash) == 0),
        "seed %" PRIu64 ": the routes of a walk", seed);
    diff_destroy (d);
    fabric_destroy (g);
}

/* Cables of 200 to 299 units; each reading is off by up to so many. */
static void measure (struct fabric *f, struct rng *rng, unsigned int off)
{
    for (size_t l = 0; l < f->nlinks; l++)
        for (int end = 0; end < 2; end++)
            f->port[end ? f->link[l].b : f->link[l].a].lrtl
                = 200 + 37 * l % 100 + rng_below (rng, off + 1);
}

static void cables_are_replaced (void)
{
    static const struct {
        const char *what;
        unsigned int off;
        int more[2]; /* of s1-0002/5 now, and of its far end */
        bool deaf;   /* the far end measures nothing */
        const char *expected;
    } lengths[] = {
        { "as before", 0, { 0, 0 }, false, "" },
        { "as before, but for noise", 9, { 0, 0 }, false, "" },
        { "longer", 0, { 3, 3 }, false, "other s1-0002/5 s2-0001/2" },
        { "longer than noise", 9, { 80, 80 }, false,
          "other s1-0002/5 s2-0001/2" },
        { "shorter", 0, { -40, -40 }, false, "other s1-0002/5 s2-0001/2" },
        { "within noise", 9, { 15, 15 }, false, "" },
        { "at one end only", 2, { 80, 0 }, false, "" },
        { "ends disagree", 2, { 80, -80 }, false, "" },
        { "one end measures", 2, { 80, 0 }, true,
          "other s1-0002/5 s2-0001/2" },
    };
    const struct fat_tree tree = { .ports = 8, .levels = 2 };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    struct fabric *g = edited (f, "");
    uint32_t port = fabric_find_port (g, "s1-0002/5");
    uint32_t far = fabric_far_port (g, port);
    struct rng rng;

    rng_seed (&rng, 5);
    for (size_t i = 0; i < sizeof (lengths) / sizeof (lengths[0]); i++)
        for (int all = 0; all < 2; all++) {
            struct diff *d;
            char *got;

            measure (f, &rng, lengths[i].off);
            measure (g, &rng, lengths[i].off);
            /* a new firmware counts from another point */
            for (size_t p = 0; p < g->nports && all; p++)
                g->port[p].lrtl += g->port[p].lrtl ? 50 : 0;
            g->port[port].lrtl += lengths[i].more[0];
            g->port[far].lrtl += lengths[i].more[1];
            if (lengths[i].deaf)
                g->port[far].lrtl = 0;
            d = diff_fabrics (f, g);
            got = summary (d);
            ok (strcmp (got, lengths[i].expected) == 0, "%s: %s",
                lengths[i].what, got);
            ok (diff_is_empty (d) == !*got, "... and so it says");
            free (got);
            diff_destroy (d);
        }
    fabric_destroy (f);
    fabric_destroy (g);
    /* too few cables show no noise */
    f = generate_fat_tree (&(struct fat_tree){ .ports = 4, .levels = 2 }, &err);
    g = edited (f, "");
    measure (f, &rng, 0);
    measure (g, &rng, 0);
    g->port[g->link[1].a].lrtl = g->port[g->link[1].b].lrtl = 999;
    {
        struct diff *d = diff_fabrics (f, g);

        ok (diff_is_empty (d), "eight cables of a class are too few");
        diff_destroy (d);
    }
    fabric_destroy (f);
    fabric_destroy (g);
}

/* One leaf sends messages up by any of two ports, or by one. */
static struct fabric *spread (uint16_t levels, uint16_t hashed, uint64_t ports)
{
    struct fabric *f = generate_fat_tree (
        &(struct fat_tree){ .ports = 4, .levels = 2 }, NULL);
    uint32_t leaf = fabric_find_switch (f, "s1-0001");
    const struct spread_group group[2] = { { .port = { 2 } },
                                           { .port = { ports } } };
    struct fabric_node *n = &f->node[leaf];
    struct spread_entry e[64];
    struct error err = { 0 };

    n->spread = (struct fabric_spread){
        .known = true, .ud = levels, .rc = levels, .hashed = hashed,
    };
    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        e[lid] = (struct spread_entry){
            n->lft[lid] > 2 && n->lft[lid] < 5 ? SPREAD_FREE : SPREAD_STATIC,
            n->lft[lid], 1,
        };
    if (ports && fabric_set_groups (f, leaf, group, 2, e, &err) < 0)
        diag ("%s", err.text);
    return f;
}

static void spread_is_found (void)
{
    static const struct {
        const char *what;
        uint16_t levels, hashed;
        uint64_t ports;
        size_t changed, entries;
    } rows[] = {
        { "nothing", 3, 0, 0x18, 0, 0 },
        { "service levels", 1, 0, 0x18, 1, 0 },
        { "hashed", 3, 0xffff, 0x18, 1, 0 },
        { "a group", 3, 0, 0x10, 0, 11 },
        { "groups that are not known", 3, 0, 0, 0, 0 },
    };
    struct fabric *f = spread (3, 0, 0x18);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *g = spread (rows[i].levels, rows[i].hashed,
                                   rows[i].ports);
        struct diff *d = diff_fabrics (f, g);
        size_t entries = d->routes.ntables ? d->routes.table[0].entries : 0;

        ok (d->nodes_changed.n == rows[i].changed && entries == rows[i].entries
                && strcmp (f->hash, g->hash) == 0
                && diff_is_empty (d) == (rows[i].changed + entries == 0),
            "how a switch spreads messages: %s, %zu LIDs", rows[i].what,
            entries);
        diff_destroy (d);
        fabric_destroy (g);
    }
    fabric_destroy (f);
}

int main (void)
{
    struct fat_tree small = { .ports = 4,
                              .levels = 2,
                              .how = { .routing = ROUTING_DMODK } };
    struct irregular wild = { .switches = 12,
                              .hosts = 24,
                              .degree = 4,
                              .how = { .routing = ROUTING_RANDOM, .seed = 3 } };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&small, &err);

    edits_are_found (f);
    entries_are_counted (f);
    cables_are_replaced ();
    spread_is_found ();
    for (uint64_t seed = 1; seed <= trials (20); seed++)
        routes_are_true (f, seed);
    fabric_destroy (f);
    f = generate_irregular (&wild, &err);
    for (uint64_t seed = 1; seed <= trials (20); seed++)
        routes_are_true (f, seed);
    fabric_destroy (f);
    return done_testing ();
}
