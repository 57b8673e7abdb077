/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for people. */
#include "config.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

#include "util/text.h"
#include "util/terminal.h"

enum { SUSPECTS_SHOWN = 8 };

static const char *const against[] = {
    [BASIS_BASELINE] = "slower than in the baseline",
    [BASIS_CLASS] = "slower than its class; that may be its length",
    [BASIS_COUNTER] = "slower than its class, and counts errors",
    [BASIS_WIDTH] = "slower than its class, and lacks lanes",
    [BASIS_SPEED] = "slower than its class, and its lanes are, too",
    [BASIS_TRAFFIC] = "not judged",
    [BASIS_LOOPBACK] = "its own loopback is slower than in the baseline",
    [BASIS_LOSS] = "loses messages",
    [BASIS_SLOW] = "delays some messages",
};

const char *report_against (enum finding_basis basis)
{
    return against[basis];
}

static void print_links (const uint32_t *list, size_t n, const char *first,
                         const char *next, const struct fabric *fab, FILE *fp)
{
    for (size_t i = 0; i < n; i++) {
        const struct fabric_link *link = &fab->link[list[i]];
        char plugs[FABRIC_PLUGS];

        if (i == SUSPECTS_SHOWN) {
            fprintf (fp, "pmm:   or %zu more, listed in the JSON report\n",
                     n - i);
            return;
        }
        fprintf (fp, "pmm:   %s%s -- %s  (%s%s)\n", i ? next : first,
                 PORT_NAME (fab, link->a), PORT_NAME (fab, link->b), link->id,
                 link->internal ? ", no cable: within a chassis or card"
                                : "");
        if (*fabric_plugs (fab, list[i], plugs))
            fprintf (fp, "pmm:     cable: %s\n", plugs);
    }
}

static void print_owner (const struct finding *f, FILE *fp)
{
    char *nodes = NULL;

    if (f->nnodes > 0)
        nodes = hostlist_fold ((const char *const *)f->node, f->nnodes);
    if (f->kind == FINDING_HOST_END)
        fprintf (fp,
                 "pmm:   check node %s: adapter, port, cable, software\n",
                 nodes ? nodes : "?");
    else if (f->kind == FINDING_NODE)
        fprintf (fp,
                 "pmm:   check node %s: its loopback is slower, too, so it "
                 "is no cable\n",
                 nodes ? nodes : "?");
    else if (nodes && f->kind != FINDING_ROUTE)
        fprintf (fp,
                 "pmm:   for the fabric team, or at the end of node %s\n",
                 nodes);
    else
        fprintf (fp, "pmm:   for the fabric team; no node is to blame\n");
    free (nodes);
}

static void print_finding (const struct finding *f, const struct fabric *fab,
                           FILE *fp)
{
    fprintf (fp, "pmm: %s: %s",
             terminal_level (verdict_status_name (f->level)),
             finding_words (f));
    if (f->nsuspects > 1)
        fprintf (fp, ", one of %zu", f->nsuspects);
    if (!isnan (f->excess_ns))
        fprintf (fp, ", %+.0f ns (+-%.0f)", f->excess_ns, f->stderr_ns);
    /* the excess of a route is that of round trips, and has either sign */
    if (f->kind == FINDING_ROUTE)
        fprintf (fp, " there and back\n");
    else if (!isnan (f->expected_ns))
        fprintf (fp, " over an expected %.0f ns, %s\n", f->expected_ns,
                 against[f->basis]);
    else
        fprintf (fp, ", %s\n", against[f->basis]);
    print_links (f->suspect, f->nsuspects, "", "or ", fab, fp);
    if (f->basis != BASIS_TRAFFIC)
        print_links (f->oneway, f->noneway, "or, in one direction, ",
                     "or, in one direction, ", fab, fp);
    fprintf (fp, "pmm:   %s\n", f->why);
    print_owner (f, fp);
}

void report_text (const struct verdict *v, const struct fabric *f, FILE *fp)
{
    const char *rail = verdict_rail (v, fabric_network (f));

    fprintf (fp, "pmm: %s: ",
             terminal_level (verdict_status_name (v->status)));
    if (v->probes > 0)
        fprintf (fp, "%s by %s in %s, %s", COUNTED (v->links, "link"),
                 COUNTED (v->probes, "probe"), COUNTED (v->rounds, "round"),
                 COUNTED (v->nodes, "node"));
    else
        fprintf (fp, "%s, nothing measured", COUNTED (v->nodes, "node"));
    if (v->links > 0)
        fprintf (fp, "; %.0f %% of the links resolved",
                 floor (100.0 * (double)v->separable / (double)v->links));
    fputc ('\n', fp);
    if (rail)
        fprintf (fp, "pmm: all %zu findings are of rail %s\n", v->nfindings,
                 rail);
    for (size_t i = 0; i < v->nfindings; i++)
        print_finding (&v->finding[i], f, fp);
    for (size_t i = 0; i < v->nlimits; i++)
        fprintf (fp, "pmm: limit: %s\n", v->limit[i]);
}
