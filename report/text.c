/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for people. */
#include "config.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>

#include "report/words.h"
#include "util/terminal.h"
#include "util/text.h"

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

/* The excess, and against what. */
static void print_excess (const struct finding *f, FILE *fp)
{
    if (isnan (f->excess_ns))
        return;
    fprintf (fp, ": %+.0f ns (+-%.0f)", f->excess_ns, f->stderr_ns);
    /* that of a route is of round trips, and has either sign */
    if (f->kind == FINDING_ROUTE)
        fprintf (fp, " there and back");
    else if (!isnan (f->expected_ns))
        fprintf (fp, " over an expected %.0f ns, %s", f->expected_ns,
                 against[f->basis]);
    else
        fprintf (fp, ", %s", against[f->basis]);
}

static void print_links (const struct finding *f, const uint32_t *list,
                         size_t n, const char *first, const char *next,
                         const struct fabric *fab, FILE *fp)
{
    for (size_t i = 0; i < n; i++) {
        const struct fabric_link *link = &fab->link[list[i]];
        char plugs[FABRIC_PLUGS];

        if (i == SUSPECTS_SHOWN) {
            fprintf (fp, "pmm:   or %zu more, listed in the JSON report\n",
                     n - i);
            return;
        }
        fprintf (fp, "pmm:   %s%s -- %s  (%s%s)", i ? next : first,
                 PORT_NAME (fab, link->a), PORT_NAME (fab, link->b), link->id,
                 link->internal ? ", no cable: within a chassis or card"
                                : "");
        if (i == 0 && !*first)
            print_excess (f, fp);
        fputc ('\n', fp);
        if (*fabric_plugs (fab, list[i], plugs))
            fprintf (fp, "pmm:     cable: %s\n", plugs);
    }
}

static void print_details (const struct finding *f, const struct fabric *fab,
                           FILE *fp)
{
    char *todo = words_do (f);

    fprintf (fp, "pmm:   do: %s\n", todo);
    print_links (f, f->suspect, f->nsuspects, "", "or ", fab, fp);
    if (f->basis != BASIS_TRAFFIC)
        print_links (f, f->oneway, f->noneway, "or, in one direction, ",
                     "or, in one direction, ", fab, fp);
    fprintf (fp, "pmm:   %s\n", f->why);
    free (todo);
}

static void print_level (enum verdict_status level, const char *words, FILE *fp)
{
    fprintf (fp, "pmm: %s: %s\n", terminal_level (verdict_status_name (level)),
             words);
}

/* What was measured, and how much of it that resolves. */
static void print_measured (const struct verdict *v, FILE *fp)
{
    double share = floor (100.0 * (double)v->separable / (double)v->links);

    if (v->probes == 0) {
        fprintf (fp, "pmm:   measured: nothing, of %s\n",
                 COUNTED (v->nodes, "node"));
        return;
    }
    fprintf (fp, "pmm:   measured: %s of %s by %s in %s",
             COUNTED (v->links, "link"), COUNTED (v->nodes, "node"),
             COUNTED (v->probes, "probe"), COUNTED (v->rounds, "round"));
    if (v->links > 0 && v->separable == 0)
        fputs (v->nfindings > 0
                   ? "; so few nodes cannot tell which of them is slow"
                   : "; only their sums are known", fp);
    else if (v->links > 0)
        fprintf (fp, "; %.0f %% of the links resolved", share);
    fputc ('\n', fp);
}

/* The first line, if no finding is as bad as the verdict. */
static const char *headline (const struct verdict *v)
{
    if (v->status != VERDICT_OK && v->reason < v->nlimits)
        return v->limit[v->reason];
    return v->status != VERDICT_OK ? "it could not be judged"
           : v->probes > 0         ? "nothing is slow"
                                   : "nothing was measured";
}

void report_text (const struct verdict *v, const struct fabric *f, FILE *fp)
{
    const char *rail = verdict_rail (v, fabric_network (f));
    bool worst = false;

    for (size_t i = 0; i < v->nfindings; i++)
        worst |= v->finding[i].level == v->status;
    if (!worst)
        print_level (v->status, headline (v), fp);
    for (size_t i = 0; i < v->nfindings; i++) {
        char *words = words_finding (&v->finding[i], f);

        print_level (v->finding[i].level, words, fp);
        print_details (&v->finding[i], f, fp);
        free (words);
    }
    if (rail)
        fprintf (fp, "pmm:   all %zu findings are of rail %s\n", v->nfindings,
                 rail);
    print_measured (v, fp);
    for (size_t i = 0; i < v->nlimits; i++)
        if (worst || v->status == VERDICT_OK || i != v->reason)
            fprintf (fp, "pmm:   limit: %s\n", v->limit[i]);
}
