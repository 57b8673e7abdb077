/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was not determined, and what all links have in common. */
#include "config.h"
#include "core/judge/judgement.h"

#include <math.h>
#include <stdlib.h>

#include "core/linear/stats.h"
#include "core/paths/multipath.h"
#include "util/alloc.h"
#include "util/text.h"

enum { OPEN_NAMED_MAX = 4 }; /* links that are not judged */

/* Append a limit that raises nothing. */
void note_limit (struct judgement *j, struct fact limit)
{
    verdict_limit (j->verdict, VERDICT_OK, limit);
}

/* Ports that no other one of the job can reach. */
void limit_alone (struct judgement *j)
{
    size_t n = pathset_size (j->ps), subnets = pathset_subnets (j->ps);
    size_t *ports = xcalloc (subnets + 1, sizeof (*ports));
    uint32_t *last = xcalloc (subnets + 1, sizeof (*last));
    const char *first = NULL;
    size_t seen = 0, alone = 0;

    for (uint32_t i = 0; i < n; i++)
        if (pathset_port (j->ps, i) == seen) {
            ports[pathset_subnet (j->ps, i)]++;
            last[pathset_subnet (j->ps, i)] = i;
            seen++;
        }
    for (size_t s = 0; s < subnets && subnets > 1; s++)
        if (ports[s] == 1) {
            alone++;
            first = first ? first : pathset_endpoint (j->ps, last[s])->name;
        }
    if (alone > 0)
        note_limit (j, FACT (ALONE, N (alone), NAMES (first)));
    free (ports);
    free (last);
}

void limit_samples (struct judgement *j)
{
    const struct samples *s = j->samples;
    const struct observations *o = &j->run.obs;

    if (s->nmissing > 0) {
        char *fold
            = hostlist_fold ((const char *const *)s->missing, s->nmissing);

        verdict_limit (
            j->verdict, VERDICT_UNKNOWN,
            FACT (SILENT_NODES, N (s->nmissing), NAMES (fold ? fold : "?")));
        free (fold);
    }
    if (!s->complete)
        verdict_limit (j->verdict, VERDICT_UNKNOWN, FACT (INCOMPLETE));
    if (j->absent > 0)
        note_limit (j, FACT (ABSENT_PROBES, N (j->absent)));
    if (o->silent > 0)
        note_limit (j, FACT (SILENT_PROBES, N (o->silent)));
}

bool is_single (const struct judgement *j, uint32_t link)
{
    return !j->paths || multipath_is_single (j->paths, link);
}

bool is_by_lrtl (const struct judgement *j, uint32_t link)
{
    const struct model *m = &j->model;

    return is_single (j, link) && m->unit[m->class_of[m->column[link]]] > 0;
}

void limit_model (struct judgement *j)
{
    const struct samples *s = j->samples;
    const struct causes *c = &j->causes;
    const struct model *m = &j->model;
    size_t *separable = &j->verdict->separable;
    size_t seen = 0, links = 0;
    size_t measured = 0; /* by LinkRoundTripLatency */

    if (s->spread > 0)
        note_limit (j, FACT (SPREAD, N (s->spread, s->level)));
    else if (j->paths)
        note_limit (j, FACT (SPREAD_BEFORE));
    for (size_t k = 0; k < m->m; k++)
        links += is_single (j, m->link[k]);
    for (size_t k = 0; k < c->n; k++) {
        size_t n = 0;

        for (size_t i = c->first[k]; i < c->first[k + 1]; i++)
            n += c->member[i].suspect.kind == SUSPECT_LINK;
        seen += n;
        *separable += n == 1;
    }
    if (seen < links)
        note_limit (j, FACT (UNSEEN_LINKS, N (links - seen)));
    if (*separable < seen)
        note_limit (j, FACT (UNRESOLVED, N (seen - *separable, links)));
    for (size_t k = 0; k < m->m; k++)
        measured += is_by_lrtl (j, m->link[k]);
    if (!j->has_baseline && measured > 0)
        note_limit (j, FACT (NO_BASELINE_LRTL, N (measured, m->m)));
    else if (!j->has_baseline)
        note_limit (j, FACT (NO_BASELINE));
    if (j->has_baseline && m->uncovered > 0)
        note_limit (j, FACT (NOT_IN_BASELINE, N (m->uncovered, m->m)));
}

/* A class that is slower or faster as a whole: the runs differ, not a link. */
void judge_class (struct judgement *j, size_t number)
{
    const struct cause *c = &j->ex.cause[number];
    bool much = c->excess_ns > j->opts->fail_ns;
    const char *name = "?";

    if (fabs (c->excess_ns) <= warn_threshold (j->opts, c->stderr_ns))
        return;
    for (size_t k = 0; k < j->model.m; k++) {
        const struct link_info *info = &j->net->link[j->model.link[k]];

        if (info->class_id == j->face[number]->suspect.index)
            name = info->class_name;
    }
    j->shift[j->nshifts++]
        = (struct class_shift){ j->face[number]->suspect.index, c->excess_ns };
    verdict_limit (j->verdict, much ? VERDICT_UNKNOWN : VERDICT_OK,
                   FACT (CLASS_SHIFT, N (c->excess_ns), NAMES (name)));
}

/* All links got slower during the run, or faster: a room warms up. */
void judge_drift (struct judgement *j, size_t number)
{
    note_limit (j, FACT (DRIFT, N (j->ex.cause[number].excess_ns)));
}

void find_busy (struct judgement *j)
{
    for (size_t i = 0; i < j->opts->nbusy; i++) {
        const struct busy_link *busy = &j->opts->busy[i];
        struct finding *f
            = verdict_add (j->verdict, VERDICT_UNKNOWN, BASIS_TRAFFIC);

        add_suspect_link (j, f, busy->link, false);
        for (size_t k = 0; k < busy->nway; k++)
            verdict_add_number (j->verdict, &f->oneway, &f->noneway,
                                busy->way[k]);
        finding_add_fact (j->verdict, f, busy->carries);
    }
    if (j->unjudged > 0)
        note_limit (j, FACT (UNJUDGED, N (j->unjudged)));
}

/* By how much the loopbacks of the job's hosts are slower, as most are: their
 * median, ns of a round trip, if that is much; 0 if not, or if they are few.
 */
double judge_loopbacks (struct judgement *j)
{
    double *v = xarray (j->model.m, sizeof (*v)), sd, most = 0;
    size_t n = 0;

    for (size_t k = 0; k < j->model.m; k++)
        n += model_loopback (&j->model, j->model.link[k], &v[n], &sd);
    if (n >= HOSTS_MIN)
        most = stats_median (v, n);
    free (v);
    if (fabs (most) <= j->opts->warn_ns)
        return 0;
    note_limit (j, FACT (LOOPBACKS_SHIFT, N (most / 2)));
    return most;
}

/*
 * Links that were not judged
 */

/* Report which links could not be judged, the first few by name. */
static void limit_open (struct judgement *j, size_t hosts, size_t open_hosts)
{
    struct verdict *v = j->verdict;
    char *names = xstrdup ("");
    bool limited = v->limited;
    bool many
        = open_hosts > 0
          || 100 * (double)v->nopen > j->opts->open_share * (double)j->model.m;

    for (size_t i = 0; i < v->nopen && i < OPEN_NAMED_MAX; i++) {
        const struct link_info *link = &j->net->link[v->open[i]];
        char name[LINK_NAME], *more;

        link_name (link, name);
        more = xasprintf ("%s%s%s", names, i ? ", " : "",
                          *name ? name : link->id);

        free (names);
        names = more;
    }
    verdict_limit (v, many ? VERDICT_UNKNOWN : VERDICT_OK,
                   FACT (OPEN,
                         N (hosts - open_hosts, hosts,
                            j->model.m - hosts - (v->nopen - open_hosts),
                            j->model.m - hosts, j->opts->fail_ns,
                            v->nopen > OPEN_NAMED_MAX),
                         NAMES (names)));
    v->limited = limited; /* all others were judged */
    free (names);
}

/* List links that the rows do not show to be sound: host ends first. */
void judge_open (struct judgement *j)
{
    struct verdict *v = j->verdict;
    size_t hosts = 0, open_hosts = 0;

    for (int others = 0; others < 2; others++)
        for (size_t k = 0; k < j->model.m; k++) {
            uint32_t link = j->model.link[k];
            bool host = j->net->link[link].kind == LINK_HOST;
            bool open = j->most[k] > j->opts->fail_ns;

            if (host == others || !is_single (j, link))
                continue;
            hosts += host;
            for (size_t i = 0; i < v->nfindings && open; i++)
                open = !has_suspect (&v->finding[i], link);
            if (open && verdict_add_number (v, &v->open, &v->nopen, link))
                open_hosts += host;
        }
    if (v->nopen > 0)
        limit_open (j, hosts, open_hosts);
}
