/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

enum { NAMED = 3, TIME = 32 };

char *words_link (const struct fabric *f, uint32_t link)
{
    const struct fabric_link *l = &f->link[link];
    const struct link_info *info = &f->link_info[link];

    if (info->kind == LINK_HOST && info->host)
        return xasprintf ("%s%s%s's", info->host, info->rail ? " " : "",
                          info->rail ? info->rail : "");
    return xasprintf ("%s -- %s", PORT_NAME (f, l->a), PORT_NAME (f, l->b));
}

/* Append to a text of the heap, which may be NULL. */
static char *append (char *text, const char *between, char *more)
{
    char *longer = xasprintf ("%s%s%s", text ? text : "", text ? between : "",
                              more);

    free (text);
    free (more);
    return longer;
}

/* Some of the links that may be it: "X", "X or Y", "X, or 3 others". */
static char *names_of (const struct finding *x, const struct fabric *f)
{
    size_t n = x->nsuspects + x->noneway;
    size_t shown = n > NAMED ? 1 : n;
    char *text = NULL;

    for (size_t i = 0; i < shown; i++)
        text = append (text, ", or ",
                       words_link (f, i < x->nsuspects
                                          ? x->suspect[i]
                                          : x->oneway[i - x->nsuspects]));
    if (n > shown)
        text = append (text, ", or ",
                       xasprintf ("%s", COUNTED (n - shown, "other")));
    return text ? text : xstrdup ("?");
}

static const char *time_text (double ns, char text[TIME])
{
    if (fabs (ns) >= 950)
        snprintf (text, TIME, "%.1f us", ns / 1000);
    else
        snprintf (text, TIME, "%.0f ns", ns);
    return text;
}

static char *nodes_of (const struct finding *x)
{
    char *nodes
        = hostlist_fold ((const char *const *)x->node, x->nnodes);

    return nodes ? nodes : xstrdup ("?");
}

static char *of_cable (const struct finding *x, const struct fabric *f)
{
    size_t n = x->nsuspects + x->noneway;
    bool inside = x->nsuspects > 0 && f->link[x->suspect[0]].internal;
    char *names = names_of (x, f), *text, time[TIME], what[2 * TIME];

    if (n > NAMED)
        snprintf (what, sizeof (what), "one of %zu cables", n);
    else
        snprintf (what, sizeof (what), "%s", inside ? "a link" : "a cable");

    if (x->basis == BASIS_LOSS)
        text = xasprintf ("%s loses messages: %s", what, names);
    else if (x->basis == BASIS_SLOW)
        text = xasprintf ("%s delays some messages: %s", what, names);
    else if (x->basis == BASIS_TRAFFIC)
        text = xasprintf ("others' traffic hides %s: %s", what, names);
    else
        text = xasprintf ("%s is %s slow: %s", what,
                          time_text (x->excess_ns, time), names);
    free (names);
    return text;
}

char *words_finding (const struct finding *x, const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    const char *sw = x->nsw > 0 ? net->sw[x->sw[0]].name : NULL;
    char time[TIME], *nodes, *text;

    if (x->kind == FINDING_SWITCH && sw)
        return xasprintf ("switch %s is %s slow", sw,
                          time_text (x->excess_ns, time));
    if (x->kind == FINDING_ROUTE && x->nsw == 1)
        return xasprintf ("messages leave switch %s by another way than the "
                          "tables say", sw);
    if (x->kind == FINDING_ROUTE)
        return xstrdup ("messages take another way than the tables say");
    if (x->kind != FINDING_NODE)
        return of_cable (x, f);
    nodes = nodes_of (x);
    text = xasprintf ("%s itself is %s slow, not its cable", nodes,
                      time_text (x->excess_ns, time));
    free (nodes);
    return text;
}

char *words_do (const struct finding *x)
{
    char *nodes, *text;

    if (x->basis == BASIS_TRAFFIC)
        return xstrdup ("check again when others send less; nothing is known "
                        "to be wrong");
    if (x->nnodes == 0 || x->kind == FINDING_ROUTE)
        return xstrdup ("send this to your support; it is no node's fault");
    nodes = nodes_of (x);
    text = xasprintf ("leave out %s, or send this to your support", nodes);
    free (nodes);
    return text;
}
