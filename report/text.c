/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report for people. */
#include "config.h"
#include "report/report.h"

#include <stdlib.h>

#include "report/words.h"
#include "util/terminal.h"

enum { SUSPECTS_SHOWN = 8 };

static void print_links (const uint32_t *list, size_t n, const char *first,
                         const char *next, const char *excess,
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
                 link->internal ? ", no cable: within a chassis or card" : "");
        if (i == 0 && !*first && excess)
            fprintf (fp, ": %s", excess);
        fputc ('\n', fp);
        if (*fabric_plugs (fab, list[i], plugs))
            fprintf (fp, "pmm:     cable: %s\n", plugs);
    }
}

static void print_finding_details (const struct finding *f,
                                   const struct fabric *fab, FILE *fp)
{
    char *todo = words_do (f, fab, WORDS_JOB), *excess = words_excess (f);
    char *why = words_why (f);

    fprintf (fp, "pmm:   do: %s\n", todo);
    print_links (f->suspect, f->nsuspects, "", "or ", excess, fab, fp);
    if (f->basis != BASIS_TRAFFIC)
        print_links (f->oneway, f->noneway, "or, in one direction, ",
                     "or, in one direction, ", NULL, fab, fp);
    fprintf (fp, "pmm:   %s\n", why);
    free (why);
    free (excess);
    free (todo);
}

static void print_level (enum verdict_status level, char *words, FILE *fp)
{
    fprintf (fp, "pmm: %s: %s\n", terminal_level (verdict_status_name (level)),
             words);
    free (words);
}

/* Places that look slow at once, a line each. */
static void print_at_once (const struct verdict *v, const struct finding *first,
                           const struct fabric *fab, FILE *fp)
{
    char *todo = words_do (first, fab, WORDS_JOB);

    print_level (first->level, words_at_once (v), fp);
    fprintf (fp, "pmm:   do: %s\n", todo);
    for (size_t i = 0; i < v->nfindings; i++)
        if (finding_is_at_once (&v->finding[i])) {
            char *place = words_place (&v->finding[i], fab);

            fprintf (fp, "pmm:   %s\n", place);
            free (place);
        }
    free (todo);
}

void report_text (const struct verdict *v, const struct fabric *f, FILE *fp)
{
    const char *rail = verdict_rail (v, fabric_network (f));
    bool worst = false, at_once = false;
    char *says;

    for (size_t i = 0; i < v->nfindings; i++)
        worst |= v->finding[i].level == v->status;
    if (!worst)
        print_level (v->status, words_headline (v), fp);
    for (size_t i = 0; i < v->nfindings; i++) {
        if (finding_is_at_once (&v->finding[i])) {
            if (!at_once)
                print_at_once (v, &v->finding[i], f, fp);
            at_once = true;
            continue;
        }
        print_level (v->finding[i].level, words_finding (&v->finding[i], f),
                     fp);
        print_finding_details (&v->finding[i], f, fp);
    }
    if (rail)
        fprintf (fp, "pmm:   all %zu findings are of rail %s\n", v->nfindings,
                 rail);
    says = words_resolved (v);
    fprintf (fp, "pmm:   measured: %s\n", says);
    free (says);
    for (size_t i = 0; i < v->nlimits; i++)
        if (worst || v->status == VERDICT_OK || i > 0) {
            char *limit = words_fact (&v->limit[i]);

            fprintf (fp, "pmm:   limit: %s\n", limit);
            free (limit);
        }
}
