/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/overview.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/hosts.h"
#include "ibquery/links/fewer.h"
#include "ibquery/links/rails.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    LEVELS_MAX = UINT8_MAX + 1,
    LEVEL_ENOUGH = 4, /* switches, to see what is usual */
    USUAL_OF = 3, USUAL = 2, /* of three switches two: what is usual */
    SHOWN_MAX = 8,    /* lines of a kind */
};

/* What to do next: the first thing that was noted. */
struct overview {
    const struct fabric *f;
    struct pool *pool;
    FILE *fp;
    char *next;
};

#define advise(p, ...) \
    ((p)->next = (p)->next ? (p)->next : pool_printf ((p)->pool, __VA_ARGS__))

/* "4 with 2 ports, 1 with 1 port": how many things have each count, the largest
 * first.
 */
static char *shares (struct pool *pool, uint32_t *count, size_t n,
                     const char *noun)
{
    char *text = pool_strdup (pool, "");

    qsort (count, n, sizeof (*count), compare_u32);
    for (size_t end = n, i; end > 0; end = i) {
        for (i = end; i > 0 && count[i - 1] == count[end - 1]; i--)
            ;
        text = pool_printf (pool, "%s%s%zu with %s", text, *text ? ", " : "",
                            end - i, COUNTED (count[end - 1], noun));
    }
    return text;
}

static void write_hosts (const struct overview *p)
{
    const struct fabric *f = p->f;
    uint32_t *ports = pool_alloc (p->pool, f->nhosts, sizeof (*ports));

    for (size_t i = 0; i < f->nhosts; i++)
        ports[i] = f->host[i].count;
    fprintf (p->fp, "%s: %s\n", COUNTED (f->nhosts, "host"),
             shares (p->pool, ports, f->nhosts, "port"));
}

static void write_switches (const struct overview *p)
{
    const struct fabric *f = p->f;
    size_t level[LEVELS_MAX] = { 0 }, n = 0;
    const char *before = ": ";

    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH) {
            level[f->node[i].level]++;
            n++;
        }
    fputs (COUNTED (n, "switch"), p->fp);
    for (size_t l = 0; l < LEVELS_MAX; l++)
        if (level[l] > 0) {
            fprintf (p->fp, "%s%zu of level %zu", before, level[l], l);
            before = ", ";
        }
    fputc ('\n', p->fp);
}

static void write_cables (const struct overview *p)
{
    const struct fabric *f = p->f;
    size_t *count = pool_alloc (p->pool, f->nclasses, sizeof (*count));

    for (size_t i = 0; i < f->nlinks; i++)
        count[f->link[i].class_id]++;
    fputs (COUNTED (f->nlinks, "cable"), p->fp);
    for (size_t i = 0; i < f->nclasses; i++)
        fprintf (p->fp, "%s%zu %s", i > 0 ? ", " : ": ", count[i],
                 f->class_name[i]);
    fputc ('\n', p->fp);
}

struct rail_at {
    const struct fabric_node *leaf;
    const char *rail;
};

static int compare_rails_by_leaf (const void *a, const void *b)
{
    const struct rail_at *x = a, *y = b;
    int by_name = strverscmp (x->leaf->name, y->leaf->name);

    if (by_name)
        return by_name;
    if (x->leaf != y->leaf)
        return x->leaf < y->leaf ? -1 : 1;
    return strcmp (x->rail, y->rail);
}

/* Rails by leaf, where hosts have several: "LEAF: 6 mlx5_0/1". */
static void write_rails (const struct overview *p)
{
    const struct fabric *f = p->f;
    struct rail_at *at = pool_alloc (p->pool, f->nendpoints, sizeof (*at));
    size_t n = 0, leaves = 0;

    for (uint32_t e = 0; e < f->nendpoints; e++) {
        uint32_t leaf = rails_leaf (f, e);

        if (f->endpoint[e].rail && leaf != FABRIC_NONE)
            at[n++] = (struct rail_at){ &f->node[leaf], f->endpoint[e].rail };
    }
    if (n > 0)
        qsort (at, n, sizeof (*at), compare_rails_by_leaf);
    for (size_t i = 0, end; i < n; i = end) {
        bool first = i == 0 || at[i].leaf != at[i - 1].leaf;

        for (end = i; end < n && compare_rails_by_leaf (&at[end], &at[i]) == 0;)
            end++;
        leaves += first;
        if (leaves > SHOWN_MAX)
            continue;
        if (first)
            fprintf (p->fp, "%srails at %s: ", i == 0 ? "" : "\n",
                     at[i].leaf->name);
        else
            fputs (", ", p->fp);
        fprintf (p->fp, "%zu %s", end - i, at[i].rail);
    }
    if (n > 0)
        fputc ('\n', p->fp);
    if (leaves > SHOWN_MAX)
        fprintf (p->fp, "... and at %s\n",
                 COUNTED (leaves - SHOWN_MAX, "switch"));
}

/* Whether a cable leads from the switch at one end to the level above, or to its
 * own.
 */
static bool is_uplink (const struct fabric *f, size_t link, bool own,
                       bool b_first, uint32_t *from, uint32_t *to)
{
    const struct fabric_link *l = &f->link[link];

    *from = f->port[b_first ? l->b : l->a].node;
    *to = f->port[b_first ? l->a : l->b].node;
    return l->kind == LINK_SWITCH
           && (own ? f->node[*to].level == f->node[*from].level
                   : f->node[*to].level > f->node[*from].level);
}

/* The cables from each switch to the level above, or to its own. */
static uint32_t *count_cables (struct pool *pool, const struct fabric *f,
                               bool own)
{
    uint32_t *count = pool_alloc (pool, f->nnodes, sizeof (*count)), from, to;

    for (size_t i = 0; i < 2 * f->nlinks; i++)
        if (is_uplink (f, i / 2, own, i % 2, &from, &to))
            count[from]++;
    return count;
}

/* Where the cables lead that a switch lacks: the switches to which its peers
 * have more, in *lacked. Peers have cables to a switch to which it has some, too.
 * Return how many there are.
 */
static size_t find_lacked (struct pool *pool, const struct fabric *f,
                           uint32_t node, bool own, uint32_t **lacked)
{
    /* of the node, of its peers */
    uint32_t *cables = pool_alloc (pool, f->nnodes, sizeof (*cables));
    uint32_t *theirs = pool_alloc (pool, f->nnodes, sizeof (*theirs));
    bool *peer = pool_alloc (pool, f->nnodes, sizeof (*peer));
    size_t peers = 0, n = 0;
    uint32_t from, to;

    for (size_t i = 0; i < 2 * f->nlinks; i++)
        if (is_uplink (f, i / 2, own, i % 2, &from, &to) && from == node)
            cables[to]++;
    for (size_t i = 0; i < 2 * f->nlinks; i++)
        if (is_uplink (f, i / 2, own, i % 2, &from, &to) && from != node
            && cables[to] > 0 && !peer[from]
            && f->node[from].level == f->node[node].level) {
            peer[from] = true;
            peers++;
        }
    for (size_t i = 0; i < 2 * f->nlinks; i++)
        if (is_uplink (f, i / 2, own, i % 2, &from, &to) && peer[from])
            theirs[to]++;
    *lacked = pool_alloc (pool, f->nnodes, sizeof (**lacked));
    for (uint32_t i = 0; i < f->nnodes; i++)
        if (i != node && peers > 0
            && cables[i] < (theirs[i] + peers / 2) / peers)
            (*lacked)[n++] = i;
    return n;
}

/* "; others have more to spine-3": where its cables lead, if that explains how
 * many it lacks.
 */
static void append_lacking_links (const struct overview *p, uint32_t node,
                                  bool own, uint32_t lacks)
{
    uint32_t *lacked;
    size_t n = find_lacked (p->pool, p->f, node, own, &lacked);

    for (size_t i = 0; i < n && n <= lacks && i < SHOWN_MAX; i++)
        fprintf (p->fp, "%s %s", i > 0 ? "," : "; others have more to",
                 p->f->node[lacked[i]].name);
}

/* Switches of a level that lack cables which most of it have. */
static void find_missing (struct overview *p, const uint32_t *count,
                          size_t level, bool own)
{
    const struct fabric *f = p->f;
    uint32_t *all = pool_alloc (p->pool, f->nnodes, sizeof (*all)), usual;
    size_t n = 0, same = 0, shown = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH && f->node[i].level == level)
            all[n++] = count[i];
    if (n >= LEVEL_ENOUGH) {
        qsort (all, n, sizeof (*all), compare_u32);
        usual = all[n / 2];
        for (size_t i = 0; i < n; i++)
            same += all[i] == usual;
        for (size_t i = 0; i < f->nnodes && USUAL_OF * same >= USUAL * n;
             i++) {
            const struct fabric_node *s = &f->node[i];

            if (s->type != NODE_SWITCH || s->level != level
                || count[i] >= usual)
                continue;
            if (shown++ < SHOWN_MAX) {
                fprintf (p->fp, "missing: %s has %s to %s, %zu of %zu switches "
                                "of its level have %u",
                         s->name, COUNTED (count[i], "cable"),
                         own ? "its own level" : "the level above", same, n,
                         usual);
                append_lacking_links (p, i, own, usual - count[i]);
                fputc ('\n', p->fp);
            }
            advise (p, "find the cables that %s lacks", s->name);
        }
    }
}

static void write_missing (struct overview *p)
{
    uint32_t *up = count_cables (p->pool, p->f, false);
    uint32_t *own = count_cables (p->pool, p->f, true);
    bool seen[LEVELS_MAX] = { false };

    for (size_t i = 0; i < p->f->nnodes; i++)
        if (p->f->node[i].type == NODE_SWITCH)
            seen[p->f->node[i].level] = true;
    for (size_t l = 0; l < LEVELS_MAX; l++)
        if (seen[l]) {
            find_missing (p, up, l, false);
            find_missing (p, own, l, true);
        }
}

static void find_twins (struct overview *p, const struct fabric_host *h)
{
    const struct fabric_endpoint *e = &p->f->endpoint[h->first];

    for (uint32_t i = 0; i < h->count; i++)
        for (uint32_t k = i + 1; k < h->count; k++)
            if (e[i].rail && e[k].rail && !strcmp (e[i].rail, e[k].rail)) {
                fprintf (p->fp, "duplicated: %s has %s twice: two hosts have "
                                "this name\n", h->name, e[i].rail);
                advise (p, "give the hosts that are both called %s names of "
                           "their own", h->name);
                return;
            }
}

/* An adapter that is called by its GUID as others call themselves the same. */
struct namesake {
    char host[FABRIC_NAME_MAX + 1];
    const char *desc;
    uint32_t port;
};

static int compare_namesakes (const void *a, const void *b)
{
    const struct namesake *x = a, *y = b;
    int order = strcmp (x->host, y->host);

    if (order == 0)
        order = strcmp (x->desc, y->desc);
    return order != 0 ? order : util_compare (x->port, y->port);
}

/* Say where n adapters are, sorted, that are called for one host. */
static void report_namesakes (struct overview *p, const struct namesake *v,
                              size_t n)
{
    size_t first = 0, same = 0;

    while (first + 1 < n && strcmp (v[first].desc, v[first + 1].desc) != 0)
        first++;
    for (size_t i = first; i < n && !strcmp (v[i].desc, v[first].desc); i++)
        same++;
    fprintf (p->fp, "duplicated: %zu adapters are called %s, at", same,
             v[first].desc);
    for (size_t i = 0; i < same && i < SHOWN_MAX; i++)
        fprintf (p->fp, "%s %s", i > 0 ? "," : "",
                 PORT_NAME (p->f, fabric_far_port (p->f, v[first + i].port)));
    fprintf (p->fp, "%s: %zu hosts have this name\n",
             same > SHOWN_MAX ? ", ..." : "", same);
    advise (p, "give the hosts that are %s called %s names of their own",
            same == 2 ? "both" : "all", v[first].host);
}

static void find_namesakes (struct overview *p)
{
    const struct fabric *f = p->f;
    struct namesake *v = pool_alloc (p->pool, f->nendpoints, sizeof (*v));
    size_t n = 0;

    for (size_t e = 0; e < f->nendpoints; e++) {
        uint32_t port = f->endpoint[e].port;

        v[n].desc = f->node[f->port[port].node].desc;
        v[n].port = port;
        n += hosts_tell (v[n].desc, v[n].host)
             && strcmp (v[n].host, f->host[f->endpoint[e].host].name) != 0;
    }
    if (n > 0)
        qsort (v, n, sizeof (*v), compare_namesakes);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp (v[end].host, v[i].host);)
            end++;
        report_namesakes (p, &v[i], end - i);
    }
}

/* Hosts, and switches of a subnet, that share a name. */
static void write_duplicates (struct overview *p)
{
    const struct fabric *f = p->f;
    char **name = pool_alloc (p->pool, f->nnodes, sizeof (*name));
    size_t n = 0;

    for (size_t h = 0; h < f->nhosts; h++)
        find_twins (p, &f->host[h]);
    find_namesakes (p);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            name[n++] = pool_printf (p->pool, "%03u%s",
                                     f->port[f->node[i].first_port].subnet,
                                     f->node[i].desc);
    if (n > 0)
        qsort (name, n, sizeof (*name), compare_strings);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && !strcmp (name[end], name[i]);)
            end++;
        if (end - i > 1) {
            fprintf (p->fp, "duplicated: %zu switches are called %s\n", end - i,
                     name[i][3] ? name[i] + 3 : "nothing");
            advise (p, "name the switches: --node-name-map takes the map of "
                       "the stock tools");
        }
    }
}

static void advise_first (struct overview *p, const struct link_check *c)
{
    const struct fabric *f = p->f;
    const struct link_finding *first = c->nfindings > 0 ? c->finding
                                       : c->ndoubts > 0 ? c->doubt
                                                        : NULL;
    char rail[FEWER_RAIL];
    struct rail_odd *odd;

    if (first) {
        const struct fabric_link *l = &f->link[first->link];

        advise (p, "look at %s -- %s", PORT_NAME (f, l->a),
                PORT_NAME (f, l->b));
    }
    if (rails_find_odd (f, p->pool, &odd) > 0)
        advise (p, "look where %s is plugged in",
                PORT_NAME (f, f->endpoint[odd->endpoint].port));
    if (c->nfewer > 0 && c->fewer->example != FABRIC_NONE)
        advise (p, "look for %s of %s: its adapter, its port, its cable",
                fewer_rail (f, c->fewer->example, rail),
                f->host[c->fewer->host].name);
    else if (c->nfewer > 0)
        advise (p, "look for the rails that %s lacks",
                f->host[c->fewer->host].name);
    for (size_t i = 0; i < f->nlinks && !p->next; i++)
        if (!fabric_is_up (f, &f->link[i]))
            advise (p, "look at %s -- %s", PORT_NAME (f, f->link[i].a),
                    PORT_NAME (f, f->link[i].b));
}

/* Whether any switch has a table. */
static bool has_tables (const struct fabric *f)
{
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].lft)
            return true;
    return false;
}

int overview_write (const struct fabric *f, const struct link_check *c,
                    FILE *fp, struct error *err)
{
    struct overview p = { .f = f, .pool = c->pool, .fp = fp };

    write_hosts (&p);
    write_switches (&p);
    write_cables (&p);
    write_rails (&p);
    advise_first (&p, c);
    if (check_write_text (c, f, fp, err) < 0)
        return -1;
    write_missing (&p);
    write_duplicates (&p);
    for (size_t i = 0; i < f->nwarnings; i++)
        fprintf (fp, "note: %s\n", f->warning[i]);
    if (c->nlimits > 0)
        advise (&p, "see to what is not told, above");
    if (f->nwarnings > !has_tables (f))
        advise (&p, "see to the notes");
    if (!has_tables (f))
        advise (&p, "give the forwarding tables, too, to check routes: the "
                    "output of dump_fts as another FILE");
    fprintf (fp, "next: %s\n",
             p.next ? p.next
                    : "nothing is wrong here; pmm fabric counters, twice, "
                      "shows which cables count errors");
    return 0;
}
