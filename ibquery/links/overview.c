/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/overview.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/links/rails.h"
#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    LEVELS_MAX = UINT8_MAX + 1,
    LEVEL_ENOUGH = 4, /* switches, to see what is usual */
    SHOWN_MAX = 8,    /* lines of a kind */
};

/* What to do next: the first thing that was noted. */
struct overview {
    const struct fabric *f;
    FILE *fp;
    char *next;
};

__attribute__ ((format (printf, 2, 3))) static void
advise (struct overview *p, const char *fmt, ...)
{
    va_list ap;

    if (p->next)
        return;
    va_start (ap, fmt);
    p->next = xvasprintf (fmt, ap);
    va_end (ap);
}

/* "4 with 2 ports, 1 with 1 port": how many things have each count, the largest
 * first; the caller frees it.
 */
static char *shares (uint32_t *count, size_t n, const char *noun)
{
    char *text = xstrdup ("");

    qsort (count, n, sizeof (*count), compare_u32);
    for (size_t end = n, i; end > 0; end = i) {
        char *longer;

        for (i = end; i > 0 && count[i - 1] == count[end - 1]; i--)
            ;
        longer = xasprintf ("%s%s%zu with %s", text, *text ? ", " : "",
                            end - i, COUNTED (count[end - 1], noun));
        free (text);
        text = longer;
    }
    return text;
}

static void write_hosts (const struct overview *p)
{
    const struct fabric *f = p->f;
    uint32_t *ports = xarray (f->nhosts, sizeof (*ports));
    char *text;

    for (size_t i = 0; i < f->nhosts; i++)
        ports[i] = f->host[i].count;
    text = shares (ports, f->nhosts, "port");
    fprintf (p->fp, "%s: %s\n", COUNTED (f->nhosts, "host"), text);
    free (text);
    free (ports);
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
    size_t *count = xcalloc (f->nclasses, sizeof (*count));

    for (size_t i = 0; i < f->nlinks; i++)
        count[f->link[i].class_id]++;
    fputs (COUNTED (f->nlinks, "cable"), p->fp);
    for (size_t i = 0; i < f->nclasses; i++)
        fprintf (p->fp, "%s%zu %s", i > 0 ? ", " : ": ", count[i],
                 f->class_name[i]);
    fputc ('\n', p->fp);
    free (count);
}

struct rail_at {
    const struct fabric_node *leaf;
    const char *rail;
};

static int compare_rails (const void *a, const void *b)
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
    struct rail_at *at = xarray (f->nendpoints, sizeof (*at));
    size_t n = 0, leaves = 0;

    for (uint32_t e = 0; e < f->nendpoints; e++) {
        uint32_t leaf = rails_leaf (f, e);

        if (f->endpoint[e].rail && leaf != FABRIC_NONE)
            at[n++] = (struct rail_at){ &f->node[leaf], f->endpoint[e].rail };
    }
    if (n > 0)
        qsort (at, n, sizeof (*at), compare_rails);
    for (size_t i = 0, end; i < n; i = end) {
        bool first = i == 0 || at[i].leaf != at[i - 1].leaf;

        for (end = i; end < n && compare_rails (&at[end], &at[i]) == 0;)
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
    free (at);
}

/* The cables from each switch to the level above, or to its own. */
static uint32_t *count_cables (const struct fabric *f, bool own)
{
    uint32_t *count = xcalloc (f->nnodes, sizeof (*count));

    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        uint32_t a = f->port[l->a].node, b = f->port[l->b].node;
        uint8_t at = f->node[a].level, far = f->node[b].level;

        if (l->kind != LINK_SWITCH)
            continue;
        count[a] += own ? far == at : far > at;
        count[b] += own ? at == far : at > far;
    }
    return count;
}

/* Switches of a level that lack cables which most of it have. */
static void find_missing (struct overview *p, const uint32_t *count,
                          size_t level, const char *whither)
{
    const struct fabric *f = p->f;
    uint32_t *all = xarray (f->nnodes, sizeof (*all)), usual;
    size_t n = 0, same = 0, shown = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH && f->node[i].level == level)
            all[n++] = count[i];
    if (n >= LEVEL_ENOUGH) {
        qsort (all, n, sizeof (*all), compare_u32);
        usual = all[n / 2];
        for (size_t i = 0; i < n; i++)
            same += all[i] == usual;
        for (size_t i = 0; i < f->nnodes && 4 * same >= 3 * n; i++) {
            const struct fabric_node *s = &f->node[i];

            if (s->type != NODE_SWITCH || s->level != level
                || count[i] >= usual)
                continue;
            if (shown++ < SHOWN_MAX)
                fprintf (p->fp, "missing: %s has %s to %s, %zu of %zu switches "
                                "of its level have %u\n",
                         s->name, COUNTED (count[i], "cable"), whither, same,
                         n, usual);
            advise (p, "find the cables that %s lacks", s->name);
        }
    }
    free (all);
}

static void write_missing (struct overview *p)
{
    uint32_t *up = count_cables (p->f, false);
    uint32_t *own = count_cables (p->f, true);
    bool seen[LEVELS_MAX] = { false };

    for (size_t i = 0; i < p->f->nnodes; i++)
        if (p->f->node[i].type == NODE_SWITCH)
            seen[p->f->node[i].level] = true;
    for (size_t l = 0; l < LEVELS_MAX; l++)
        if (seen[l]) {
            find_missing (p, up, l, "the level above");
            find_missing (p, own, l, "its own level");
        }
    free (up);
    free (own);
}

static void find_twins (struct overview *p, const struct fabric_host *h)
{
    const struct fabric_endpoint *e = &p->f->endpoint[h->first];

    for (uint32_t i = 0; i < h->count; i++)
        for (uint32_t k = i + 1; k < h->count; k++)
            if (e[i].rail && e[k].rail && !strcmp (e[i].rail, e[k].rail)) {
                fprintf (p->fp, "duplicated: %s has %s twice: two hosts have "
                                "this name\n",
                         h->name, e[i].rail);
                advise (p, "give the hosts that are both called %s names of "
                           "their own", h->name);
                return;
            }
}

/* Hosts, and switches of a subnet, that share a name. */
static void write_duplicates (struct overview *p)
{
    const struct fabric *f = p->f;
    char **name = xarray (f->nnodes, sizeof (*name));
    size_t n = 0;

    for (size_t h = 0; h < f->nhosts; h++)
        find_twins (p, &f->host[h]);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            name[n++] = xasprintf ("%03u%s",
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
    for (size_t i = 0; i < n; i++)
        free (name[i]);
    free (name);
}

static void advise_first (struct overview *p, const struct link_check *c)
{
    const struct fabric *f = p->f;
    const struct link_finding *first = c->nfindings > 0 ? c->finding
                                       : c->ndoubts > 0 ? c->doubt
                                                        : NULL;
    struct rail_odd *odd;

    if (first) {
        const struct fabric_link *l = &f->link[first->link];

        advise (p, "look at %s -- %s", PORT_NAME (f, l->a),
                PORT_NAME (f, l->b));
    }
    if (rails_find_odd (f, &odd) > 0)
        advise (p, "look where %s is plugged in",
                PORT_NAME (f, f->endpoint[odd->endpoint].port));
    free (odd);
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
    struct overview p = { .f = f, .fp = fp };

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
    free (p.next);
    return 0;
}
