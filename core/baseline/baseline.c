/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/baseline/baseline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/map.h"
#include "util/sort.h"
#include "util/text.h"

struct baseline *baseline_create (struct pathset *ps)
{
    struct baseline *b = xcalloc (1, sizeof (*b));

    b->ps = ps;
    return b;
}

void baseline_destroy (struct baseline *b)
{
    if (!b)
        return;
    pathset_destroy (b->ps);
    free (b->run);
    free (b->row);
    free (b->loopback);
    free (b->link);
    free (b->flow_ns);
    free (b);
}

size_t baseline_rows_end (const struct baseline *b, size_t i)
{
    return i + 1 < b->nruns ? b->run[i + 1].row : b->nrows;
}

size_t baseline_loopbacks_end (const struct baseline *b, size_t i)
{
    return i + 1 < b->nruns ? b->run[i + 1].loopback : b->nloopbacks;
}

const struct baseline_run *baseline_spread (const struct baseline *b)
{
    for (size_t i = 0; i < b->nruns; i++)
        if (b->run[i].spread > 0)
            return &b->run[i];
    return NULL;
}

/*
 * Growing
 */

static void add_run (struct baseline *b, const struct baseline_run *as)
{
    b->run = xgrow (b->run, b->nruns, sizeof (*b->run));
    b->run[b->nruns] = *as;
    b->run[b->nruns].row = b->nrows;
    b->run[b->nruns++].loopback = b->nloopbacks;
}

static void add_loopback (struct baseline *b, uint32_t end,
                          struct loopback_time time)
{
    b->loopback = xgrow (b->loopback, b->nloopbacks, sizeof (*b->loopback));
    b->loopback[b->nloopbacks++] = (struct baseline_loopback){ end, time };
}

/* Add flows to the last row. */
static void add_row_flows (struct baseline *b, const double *ns, uint32_t n)
{
    struct baseline_row *row = &b->row[b->nrows - 1];

    if (row->nflows == 0)
        row->flow = (uint32_t)b->nflows;
    for (uint32_t i = 0; i < n; i++) {
        b->flow_ns = xgrow (b->flow_ns, b->nflows, sizeof (*b->flow_ns));
        b->flow_ns[b->nflows++] = ns[i];
    }
    row->nflows += n;
}

/* Add a row, without flows. */
static void add_row (struct baseline *b, const struct baseline_row *row,
                     const uint32_t *link)
{
    b->row = xgrow (b->row, b->nrows, sizeof (*b->row));
    b->row[b->nrows] = *row;
    b->row[b->nrows].nflows = 0;
    b->row[b->nrows++].link = (uint32_t)b->nlinks;
    for (uint32_t k = 0; k < row->nlinks; k++) {
        b->link = xgrow (b->link, b->nlinks, sizeof (*b->link));
        b->link[b->nlinks++] = link[k];
    }
}

/* Both directions of a pair are next to each other. */
static struct baseline_row row_of (const struct observation *o)
{
    struct baseline_row row = {
        .a = o->a, .b = o->b,
        .rtt_ns = o->oneway ? (o[0].rtt_ns + o[1].rtt_ns) / 2 : o->rtt_ns,
        .doubt_ns = o->doubt_ns,
        .sd_ns = (float)sqrt (fmax (0, o->var - o->doubt_ns * o->doubt_ns)),
        .more_ns = o->oneway ? (o[0].rtt_ns - o[1].rtt_ns) / 2 : NAN,
        .tight = o->tight,
    };

    return row;
}

/* Medians of a run by pairs: weighted means over its rounds. */
struct medians {
    struct map number; /* by pair_key */
    struct weighted {
        double weight, sum;
    } *v;
    size_t n;
};

static int find_medians (struct medians *m, const struct baseline *b,
                         const struct samples *s, struct error *err)
{
    struct observations o;
    int rc = observe (&o, b->ps, s, RTT_MEDIAN, &observe_accuracy, err);

    *m = (struct medians){ .v = xcalloc (o.n, sizeof (*m->v)) };
    for (size_t i = 0; i < o.n && rc == 0; i++) {
        uint64_t key = pair_key (o.v[i].a, o.v[i].b);
        uint32_t at = map_find (&m->number, key);

        if (at == MAP_NONE)
            map_put (&m->number, key, at = (uint32_t)m->n++);
        m->v[at].weight += 1 / o.v[i].var;
        m->v[at].sum += o.v[i].rtt_ns / o.v[i].var;
    }
    observations_clear (&o);
    return rc;
}

static void medians_clear (struct medians *m)
{
    map_clear (&m->number);
    free (m->v);
}

/* Where a pair has an observation, it has a median. */
static void set_median (const struct medians *m, struct baseline_row *row)
{
    const struct weighted *w
        = &m->v[map_find (&m->number, pair_key (row->a, row->b))];

    row->median_ns = w->sum / w->weight;
    row->median_sd = sqrt (1 / w->weight);
}

/* By pairs, as observe sorts them. */
static int compare_samples_pairs (const void *va, const void *vb)
{
    const struct sample *x = *(const struct sample *const *)va;
    const struct sample *y = *(const struct sample *const *)vb;

    return util_compare (pair_key (x->a, x->b), pair_key (y->a, y->b));
}

int baseline_add (struct baseline *b, const struct samples *s, int64_t audit,
                  struct error *err)
{
    const struct baseline_run as = { audit, s->level, s->rc, s->spread, 0, 0 };
    size_t ends = pathset_size (b->ps), k = 0, n = 0;
    const struct sample **spread = xarray (s->nsamples, sizeof (*spread));
    struct loopback_time *time = xarray (ends, sizeof (*time));
    bool *measured = xcalloc (ends, sizeof (*measured));
    struct medians medians;
    struct observations o;
    int rc = observe (&o, b->ps, s, RTT_FASTEST, &observe_accuracy, err);

    if (find_medians (&medians, b, s, err) < 0)
        rc = -1;
    for (size_t i = 0; i < s->nsamples; i++)
        if (s->sample[i].nflows > 0)
            spread[n++] = &s->sample[i];
    qsort (spread, n, sizeof (*spread), compare_samples_pairs);
    add_run (b, &as);
    for (size_t i = 0; i < o.n && rc == 0; i++) {
        uint64_t key = pair_key (o.v[i].a, o.v[i].b);
        struct baseline_row row = row_of (&o.v[i]);
        struct row crossed;

        if ((rc = pathset_row (b->ps, row.a, row.b, &crossed, err)) < 0)
            break;
        measured[row.a] = measured[row.b] = true;
        row.nlinks = (uint8_t)crossed.n;
        set_median (&medians, &row);
        add_row (b, &row, crossed.link);
        for (; k < n && pair_key (spread[k]->a, spread[k]->b) <= key; k++)
            if (pair_key (spread[k]->a, spread[k]->b) == key)
                add_row_flows (b, spread[k]->flow_ns, spread[k]->nflows);
        i += o.v[i].oneway;
    }
    observe_loopbacks (s, ends, time);
    for (uint32_t i = 0; i < ends && rc == 0; i++)
        if (!isnan (time[i].ns) && measured[i])
            add_loopback (b, i, time[i]);
    observations_clear (&o);
    medians_clear (&medians);
    free (spread);
    free (time);
    free (measured);
    return rc;
}

struct baseline *baseline_of (const struct samples *s, const struct pathset *ps,
                              struct error *err)
{
    struct pathset *own = pathset_on (ps, pathset_network (ps), err);
    struct baseline *b = own ? baseline_create (own) : NULL;

    if (b && baseline_add (b, s, 0, err) == 0)
        return b;
    baseline_destroy (b);
    return NULL;
}

/*
 * Reading rows
 */

uint32_t *baseline_times (const struct baseline *b)
{
    uint32_t *times
        = xcalloc (pathset_network (b->ps)->nlinks, sizeof (*times));

    for (size_t i = 0; i < b->nrows; i++)
        for (size_t k = 0; k < b->row[i].nlinks; k++)
            times[b->link[b->row[i].link + k]]++;
    return times;
}

static int compare_observed (const void *va, const void *vb)
{
    const struct observation *x = va, *y = vb;
    int order = util_compare (pair_key (x->a, x->b), pair_key (y->a, y->b));

    return order ? order : util_compare (x->a > x->b, y->a > y->b);
}

uint32_t *baseline_numbers (const struct baseline *b, const struct pathset *job)
{
    size_t n = pathset_size (b->ps), own = pathset_size (job);
    uint32_t *number = xarray (n, sizeof (*number));
    struct map of = { 0 }; /* by the network's numbers */

    for (uint32_t i = 0; i < own; i++)
        map_put (&of, pathset_endpoint (job, i)->id, i);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = map_find (&of, pathset_endpoint (b->ps, i)->id);

        number[i] = at != MAP_NONE ? at : (uint32_t)own + i;
    }
    map_clear (&of);
    return number;
}

int baseline_observe (const struct baseline *b, size_t i,
                      const struct pathset *on, const uint32_t *number,
                      struct observations *o, struct error *err)
{
    size_t end = baseline_rows_end (b, i), first = b->run[i].row;

    *o = (struct observations){
        .v = xcalloc (2 * (end - first), sizeof (*o->v)),
        .pairs = end - first,
    };
    for (size_t r = first; r < end; r++) {
        const struct baseline_row *row = &b->row[r];
        struct observation *to = &o->v[o->n++];

        *to = (struct observation){
            .a = row->a, .b = row->b, .rounds = 1, .rtt_ns = row->rtt_ns,
            .var = row->sd_ns * row->sd_ns + row->doubt_ns * row->doubt_ns,
            .doubt_ns = row->doubt_ns, .tight = row->tight,
            .oneway = !isnan (row->more_ns),
        };
        if (!to->oneway)
            continue;
        to[1] = to[0];
        to[0].rtt_ns += row->more_ns;
        to[1].rtt_ns -= row->more_ns;
        to[1].a = row->b;
        to[1].b = row->a;
        o->n++;
    }
    if (observe_rows (o, on, err) < 0)
        return -1;
    for (size_t k = 0; k < o->n; k++) {
        o->v[k].a = number[o->v[k].a];
        o->v[k].b = number[o->v[k].b];
    }
    qsort (o->v, o->n, sizeof (*o->v), compare_observed);
    return 0;
}

/* [endpoints of ps] their numbers in `to`, or UINT32_MAX. */
static uint32_t *numbers_by_name (const struct pathset *ps,
                                  const struct pathset *to)
{
    uint32_t *number = xarray (pathset_size (ps), sizeof (*number));

    for (size_t i = 0; i < pathset_size (ps); i++)
        number[i] = (uint32_t)pathset_find (to, pathset_endpoint (ps, i)->name);
    return number;
}

int baseline_combine (const struct baseline *b, const struct pathset *on,
                      struct observations *o, struct error *err)
{
    uint32_t *number = numbers_by_name (b->ps, on);
    struct combine *combine = combine_create ();
    struct observations all = { .v = xcalloc (b->nrows, sizeof (*all.v)) };
    int rc;

    for (size_t i = 0; i < b->nrows; i++) {
        struct observation one = {
            .a = number[b->row[i].a], .b = number[b->row[i].b], .repeats = 1,
            .rtt_ns = b->row[i].median_ns,
            .var = b->row[i].median_sd * b->row[i].median_sd,
        };

        if (one.a < pathset_size (on) && one.b < pathset_size (on))
            all.v[all.n++] = one;
    }
    combine_add (combine, &all, 1);
    rc = combine_finish (combine, on, o, err);
    combine_destroy (combine);
    observations_clear (&all);
    free (number);
    return rc;
}

/*
 * Resetting
 */

static void reset_run (struct baseline *b, size_t i, const int64_t *before,
                       bool cable, size_t *rows, size_t *loopbacks)
{
    int64_t audit = b->run[i].audit;
    size_t row = b->run[i].row, end = baseline_rows_end (b, i);
    size_t loopback = b->run[i].loopback;
    size_t loopback_end = baseline_loopbacks_end (b, i);

    b->run[i].row = *rows;
    b->run[i].loopback = *loopbacks;
    for (; row < end; row++) {
        bool keep = true;

        for (size_t k = 0; k < b->row[row].nlinks; k++)
            keep &= audit >= before[b->link[b->row[row].link + k]];
        if (!keep)
            continue;
        b->row[*rows] = b->row[row];
        if (cable)
            b->row[*rows].nflows = 0;
        ++*rows;
    }
    for (; loopback < loopback_end; loopback++) {
        uint32_t link = pathset_end_link (b->ps, b->loopback[loopback].end);

        if (link == NETWORK_NONE || audit >= before[link])
            b->loopback[(*loopbacks)++] = b->loopback[loopback];
    }
}

void baseline_reset (struct baseline *b, const int64_t *before)
{
    const struct network *net = pathset_network (b->ps);
    size_t rows = 0, loopbacks = 0;
    int64_t cable = 0; /* the last reset of one between switches */

    for (size_t l = 0; l < net->nlinks; l++)
        if (net->link[l].kind == LINK_SWITCH && before[l] > cable)
            cable = before[l];
    for (size_t i = 0; i < b->nruns; i++)
        reset_run (b, i, before, b->run[i].audit < cable, &rows, &loopbacks);
    b->nrows = rows;
    b->nloopbacks = loopbacks;
}

/*
 * Merging
 */

struct merge_part { /* run i of a baseline */
    const struct baseline *of;
    size_t i;
    const struct baseline_run *run;
    size_t order;
};

static int compare_parts (const void *va, const void *vb)
{
    const struct merge_part *x = va, *y = vb;

    return x->run->audit != y->run->audit
               ? util_compare (y->run->audit, x->run->audit)
               : util_compare (x->order, y->order);
}

/* The runs of both, in order, without those that are left out. */
static struct merge_part *list_parts (const struct baseline *newer,
                                      const struct baseline *older, size_t *n)
{
    struct merge_part *part
        = xarray (newer->nruns + older->nruns, sizeof (*part));
    const struct baseline_run *spread = NULL;
    size_t all = 0;

    for (int k = 0; k < 2; k++) {
        const struct baseline *b = k == 0 ? newer : older;

        for (size_t i = 0; i < b->nruns; i++, all++)
            part[all] = (struct merge_part){ b, i, &b->run[i], all };
    }
    qsort (part, all, sizeof (*part), compare_parts);
    *n = 0;
    for (size_t i = 0; i < all; i++) {
        const struct baseline_run *run = part[i].run;
        int64_t audit = run->audit;

        if (i > 0 && audit > 0 && audit == part[i - 1].run->audit)
            continue;
        if (run->spread > 0 && !spread)
            spread = run;
        if (run->spread == 0
            || (run->level == spread->level && run->rc == spread->rc))
            part[(*n)++] = part[i];
    }
    return part;
}

/* Which rows of the parts are kept: the newest n runs of each link. Flows that
 * were not kept tell nothing of a cable between switches.
 */
static bool *choose_rows (const struct merge_part *part, size_t nparts,
                          const struct network *net, size_t n)
{
    struct crossed {
        size_t runs; /* that cross it */
        size_t last; /* the last of these, from 1 */
    } *of = xcalloc (net->nlinks, sizeof (*of));
    size_t rows = 0, k = 0;
    bool *keep;

    for (size_t i = 0; i < nparts; i++)
        rows += baseline_rows_end (part[i].of, part[i].i) - part[i].run->row;
    keep = xcalloc (rows, sizeof (*keep));
    for (size_t i = 0; i < nparts; i++) {
        const struct baseline *b = part[i].of;
        size_t end = baseline_rows_end (b, part[i].i);

        for (size_t r = part[i].run->row; r < end; r++, k++) {
            const struct baseline_row *row = &b->row[r];
            bool bare = part[i].run->spread > 0 && row->nflows == 0;
            struct crossed *c[ROW_MAX];
            size_t crossed = 0;

            for (size_t l = 0; l < row->nlinks; l++) {
                uint32_t link = b->link[row->link + l];

                if (!bare || net->link[link].kind == LINK_HOST)
                    c[crossed++] = &of[link];
            }
            for (size_t l = 0; l < crossed; l++)
                keep[k] |= n == 0 || c[l]->runs - (c[l]->last == i + 1) < n;
            for (size_t l = 0; l < crossed && keep[k]; l++)
                if (c[l]->last != i + 1)
                    *c[l] = (struct crossed){ c[l]->runs + 1, i + 1 };
        }
    }
    free (of);
    return keep;
}

/* Copy a part's rows, and the loopbacks of their ends. number: of those in the
 * merged set.
 */
static void copy_part (struct baseline *to, const struct merge_part *part,
                       const bool *keep, const uint32_t *number)
{
    const struct baseline *b = part->of;
    size_t end = baseline_rows_end (b, part->i), first = to->nrows;
    bool *used = xcalloc (pathset_size (b->ps), sizeof (*used));

    add_run (to, part->run);
    for (size_t r = part->run->row; r < end; r++) {
        struct baseline_row row = b->row[r];

        if (!*keep++)
            continue;
        used[row.a] = used[row.b] = true;
        row.a = number[row.a];
        row.b = number[row.b];
        add_row (to, &row, b->link + row.link);
        add_row_flows (to, b->flow_ns + b->row[r].flow, b->row[r].nflows);
    }
    for (size_t k = part->run->loopback;
         k < baseline_loopbacks_end (b, part->i); k++)
        if (used[b->loopback[k].end])
            add_loopback (to, number[b->loopback[k].end], b->loopback[k].time);
    if (to->nrows == first)
        to->nruns--;
    free (used);
}

/* Add the names of the endpoints of a part's rows that are kept, once each. */
static size_t add_names (const struct merge_part *part, const bool *keep,
                         bool *named, const char **name, size_t n)
{
    const struct baseline *b = part->of;
    size_t end = baseline_rows_end (b, part->i);

    for (size_t r = part->run->row; r < end; r++)
        for (int k = 0; k < 2 && keep[r - part->run->row]; k++) {
            uint32_t at = k == 0 ? b->row[r].a : b->row[r].b;

            if (!named[at])
                name[n++] = pathset_endpoint (b->ps, at)->name;
            named[at] = true;
        }
    return n;
}

/* The names of the endpoints of rows that are kept. */
static size_t names_of (const struct merge_part *part, size_t nparts,
                        const struct baseline *newer,
                        const struct baseline *older, const bool *keep,
                        const char **name)
{
    size_t ends[2] = { pathset_size (newer->ps), pathset_size (older->ps) };
    bool *named = xcalloc (ends[0] + ends[1], sizeof (*named));
    size_t n = 0;

    for (size_t i = 0; i < nparts; i++) {
        n = add_names (&part[i], keep,
                       named + (part[i].of == newer ? 0 : ends[0]), name, n);
        keep += baseline_rows_end (part[i].of, part[i].i) - part[i].run->row;
    }
    free (named);
    return text_unique (name, n);
}

struct baseline *baseline_merge (const struct baseline *newer,
                                 const struct baseline *older, size_t n,
                                 pathset_resolve_f resolve, void *arg,
                                 struct error *err)
{
    size_t nparts, k = 0;
    struct merge_part *part = list_parts (newer, older, &nparts);
    bool *keep = choose_rows (part, nparts, pathset_network (newer->ps), n);
    const char **name
        = xarray (pathset_size (newer->ps) + pathset_size (older->ps),
                  sizeof (*name));
    size_t names = names_of (part, nparts, newer, older, keep, name);
    struct pathset *ps = resolve (name, names, arg, err);
    struct baseline *b = ps ? baseline_create (ps) : NULL;
    uint32_t *number[2] = { NULL, NULL };

    for (int i = 0; i < 2 && b; i++)
        number[i] = numbers_by_name (i == 0 ? newer->ps : older->ps, ps);
    for (size_t i = 0; i < nparts && b; i++) {
        copy_part (b, &part[i], keep + k, number[part[i].of == older]);
        k += baseline_rows_end (part[i].of, part[i].i) - part[i].run->row;
    }
    if (b)
        b->open = newer->open;
    free (number[0]);
    free (number[1]);
    free (name);
    free (keep);
    free (part);
    return b;
}
