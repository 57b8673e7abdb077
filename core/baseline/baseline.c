/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/baseline/baseline.h"

#include <math.h>
#include <stdlib.h>

#include "core/rate/carry.h"
#include "util/alloc.h"
#include "util/map.h"
#include "util/sort.h"
#include "util/text.h"

enum { CROSSING_MAX = 5, CROSSINGS_MIN = 32 }; /* bytes */

struct baseline *baseline_create (struct pathset *ps)
{
    struct baseline *b = xcalloc (1, sizeof (*b));

    b->ps = ps;
    b->nlinks = pathset_network (ps)->nlinks;
    b->crossed = xcalloc (b->nlinks, sizeof (*b->crossed));
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
    for (size_t l = 0; l < b->nlinks; l++)
        free (b->crossed[l].v);
    free (b->crossed);
    free (b->flow_ns);
    free (b->rate);
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

static void add_flow_times (struct baseline *b, const double *ns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        b->flow_ns = xgrow (b->flow_ns, b->nflows, sizeof (*b->flow_ns));
        b->flow_ns[b->nflows++] = ns[i];
    }
}

void baseline_cross (struct baseline *b, uint32_t link, uint32_t row)
{
    struct baseline_crossings *c = &b->crossed[link];
    uint32_t more = row - c->last;

    if (c->room - c->n < CROSSING_MAX)
        c->v = xrealloc (c->v, c->room += c->room / 2 + CROSSINGS_MIN, 1);
    for (; more >> 7; more >>= 7)
        c->v[c->n++] = (uint8_t)(more | 0x80);
    c->v[c->n++] = (uint8_t)more;
    c->last = row;
}

/* Both directions of a pair are next to each other. */
static struct baseline_row baseline_row_of (const struct observation *o)
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

void baseline_add_rate (struct baseline *b, const struct baseline_rate *rate)
{
    b->rate = xgrow (b->rate, b->nrates, sizeof (*b->rate));
    b->rate[b->nrates++] = *rate;
}

int compare_baseline_rates (const void *va, const void *vb)
{
    const struct baseline_rate *x = va, *y = vb;

    return x->arc != y->arc ? util_compare (x->arc, y->arc)
                            : util_compare (y->audit, x->audit);
}

/* Of what port and PCIe of a host are able to: partners may be able to less. */
#define HOST_LOADED .9

/* What is much to ask of a link. */
static double *much_of_links (const struct baseline *b,
                              const struct bursts *bursts)
{
    const struct link_info *link = pathset_network (b->ps)->link;
    double *much = xarray (b->nlinks, sizeof (*much));

    for (size_t l = 0; l < b->nlinks; l++)
        much[l] = link[l].rate
                  * (link[l].kind == LINK_HOST ? HOST_LOADED : CARRY_LOADED);
    for (size_t i = 0; i < bursts->nports; i++) {
        const struct burst_port *p = &bursts->port[i];
        uint32_t own = pathset_end_link (b->ps, p->end);

        if (own != NETWORK_NONE)
            much[own] = fmin (much[own],
                              HOST_LOADED
                                  * fmin (burst_port_bits (p),
                                          burst_pcie_bits (&p->able)));
    }
    return much;
}

int baseline_add_bursts (struct baseline *b, const struct bursts *bursts,
                         int64_t audit, struct error *err)
{
    struct carry *c = bursts_carried (bursts, b->ps, err);
    double *much;

    if (!c)
        return -1;
    much = much_of_links (b, bursts);
    for (uint32_t arc = 0; arc < 2 * b->nlinks; arc++) {
        const struct carry_link *l = &c->link[arc_link (arc)];
        double bits = l->carried[arc % 2], offered = l->offered[arc % 2];

        if (bits > 0 && offered > 0 && offered >= much[arc_link (arc)])
            baseline_add_rate (b,
                               &(struct baseline_rate){ audit, arc, (float)bits,
                                                        (float)offered });
    }
    carry_destroy (c);
    free (much);
    if (b->nrates > 0)
        qsort (b->rate, b->nrates, sizeof (*b->rate), compare_baseline_rates);
    return 0;
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
        struct baseline_row row = baseline_row_of (&o.v[i]);
        struct row crossed;

        if ((rc = pathset_row (b->ps, row.a, row.b, &crossed, err)) < 0)
            break;
        measured[row.a] = measured[row.b] = true;
        row.nlinks = (uint8_t)crossed.n;
        row.flow = (uint32_t)b->nflows;
        set_median (&medians, &row);
        for (size_t l = 0; l < crossed.n; l++)
            baseline_cross (b, crossed.link[l], (uint32_t)b->nrows);
        for (; k < n && pair_key (spread[k]->a, spread[k]->b) <= key; k++)
            if (pair_key (spread[k]->a, spread[k]->b) == key)
                add_flow_times (b, spread[k]->flow_ns, spread[k]->nflows);
        row.nflows = (uint32_t)b->nflows - row.flow;
        b->row = xgrow (b->row, b->nrows, sizeof (*b->row));
        b->row[b->nrows++] = row;
        i += o.v[i].oneway;
    }
    if (rc == 0 && s->bursts)
        rc = baseline_add_bursts (b, s->bursts, audit, err);
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

bool baseline_next (struct baseline_walk *w)
{
    size_t at = w->at;
    uint64_t more = 0;
    bool ends = false;

    for (int shift = 0; !ends && shift < 35 && at < w->n; shift += 7) {
        more |= (uint64_t)(w->v[at] & 0x7f) << shift;
        ends = w->v[at++] < 0x80;
    }
    if (!ends || more > UINT32_MAX - w->row)
        return false;
    w->at = at;
    w->row += (uint32_t)more;
    return true;
}

uint32_t *baseline_times (const struct baseline *b)
{
    uint32_t *times = xcalloc (b->nlinks, sizeof (*times));

    for (uint32_t l = 0; l < b->nlinks; l++)
        for (struct baseline_walk w = baseline_walk (b, l); baseline_next (&w);)
            times[l]++;
    return times;
}

size_t baseline_runs (const struct baseline *b, uint32_t link)
{
    size_t n = 0, run = 0, end = 0;

    for (struct baseline_walk w = baseline_walk (b, link); baseline_next (&w);)
        if (w.row >= end) {
            while ((end = baseline_rows_end (b, run)) <= w.row)
                run++;
            n++;
        }
    return n;
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
    qsort (o->v, o->n, sizeof (*o->v), compare_observations);
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

/* Move what is not gone of run i to where it comes, after so many rows and
 * loopbacks; number the rows.
 */
static void reset_run (struct baseline *b, size_t i, const int64_t *before,
                       bool cable, const bool *gone, uint32_t *number,
                       size_t *rows, size_t *loopbacks)
{
    size_t row = b->run[i].row, end = baseline_rows_end (b, i);
    size_t loopback = b->run[i].loopback;
    size_t loopback_end = baseline_loopbacks_end (b, i);

    b->run[i].row = *rows;
    b->run[i].loopback = *loopbacks;
    for (; row < end; row++) {
        if (gone[row])
            continue;
        number[row] = (uint32_t)*rows;
        b->row[*rows] = b->row[row];
        if (cable)
            b->row[*rows].nflows = 0;
        ++*rows;
    }
    for (; loopback < loopback_end; loopback++) {
        uint32_t link = pathset_end_link (b->ps, b->loopback[loopback].end);

        if (link == NETWORK_NONE || b->run[i].audit >= before[link])
            b->loopback[(*loopbacks)++] = b->loopback[loopback];
    }
}

/* Whether any of these links was reset, and which rows are gone by that. */
static bool find_reset_rows (const struct baseline *b, const int64_t *before,
                             bool *gone)
{
    bool any = false;

    for (uint32_t l = 0; l < b->nlinks; l++) {
        struct baseline_walk w = baseline_walk (b, l);
        size_t run = 0;

        any |= before[l] > 0;
        while (before[l] > 0 && baseline_next (&w)) {
            while (w.row >= baseline_rows_end (b, run))
                run++;
            gone[w.row] |= b->run[run].audit < before[l];
        }
    }
    return any;
}

void baseline_reset (struct baseline *b, const int64_t *before)
{
    const struct network *net = pathset_network (b->ps);
    bool *gone = xcalloc (b->nrows, sizeof (*gone));
    uint32_t *number = xarray (b->nrows, sizeof (*number));
    size_t rows = 0, loopbacks = 0;
    int64_t cable = 0; /* the last reset of one between switches */

    if (!find_reset_rows (b, before, gone))
        goto done;
    for (size_t l = 0; l < b->nlinks; l++)
        if (net->link[l].kind == LINK_SWITCH && before[l] > cable)
            cable = before[l];
    for (size_t i = 0; i < b->nruns; i++)
        reset_run (b, i, before, b->run[i].audit < cable, gone, number, &rows,
                   &loopbacks);
    b->nrows = rows;
    b->nloopbacks = loopbacks;
    for (size_t i = rows = 0; i < b->nrates; i++)
        if (b->rate[i].audit >= before[arc_link (b->rate[i].arc)])
            b->rate[rows++] = b->rate[i];
    b->nrates = rows;
    for (uint32_t l = 0; l < b->nlinks; l++) {
        struct baseline_walk w = baseline_walk (b, l);
        uint8_t *old = b->crossed[l].v;

        b->crossed[l] = (struct baseline_crossings){ 0 };
        while (baseline_next (&w))
            if (!gone[w.row])
                baseline_cross (b, l, number[w.row]);
        free (old);
    }
done:
    free (gone);
    free (number);
}

/*
 * Merging
 */

#define LEFT_OUT UINT32_MAX

struct merger {
    struct baseline *of[2]; /* the newer one first */
    uint32_t *number[2];    /* [rows] of each: their numbers among those of
                               the parts, then in the merger; LEFT_OUT */
    struct merge_part {     /* a run */
        int k;              /* of which one */
        size_t i;
        const struct baseline_run *run;
        size_t order;
        size_t end;         /* the first number that is not its rows' */
    } *part;
    size_t nparts;
    uint32_t nrows; /* that have numbers */
};

static int compare_merge_parts (const void *va, const void *vb)
{
    const struct merge_part *x = va, *y = vb;

    return x->run->audit != y->run->audit
               ? util_compare (y->run->audit, x->run->audit)
               : util_compare (x->order, y->order);
}

/* List the runs of both, in order, without those that are left out. */
static void list_parts (struct merger *m)
{
    struct merge_part *part = xarray (m->of[0]->nruns + m->of[1]->nruns,
                                      sizeof (*part));
    const struct baseline_run *spread = NULL;
    size_t all = 0;

    for (int k = 0; k < 2; k++) {
        const struct baseline *b = m->of[k];

        m->number[k] = xarray (b->nrows, sizeof (*m->number[k]));
        for (size_t r = 0; r < b->nrows; r++)
            m->number[k][r] = LEFT_OUT;
        for (size_t i = 0; i < b->nruns; i++, all++)
            part[all] = (struct merge_part){ k, i, &b->run[i], all, 0 };
    }
    qsort (part, all, sizeof (*part), compare_merge_parts);
    for (size_t i = 0; i < all; i++) {
        const struct baseline_run *run = part[i].run;
        int64_t audit = run->audit;

        if (i > 0 && audit > 0 && audit == part[i - 1].run->audit)
            continue;
        if (run->spread > 0 && !spread)
            spread = run;
        if (run->spread == 0
            || (run->level == spread->level && run->rc == spread->rc))
            part[m->nparts++] = part[i];
    }
    m->part = part;
}

/* Number the rows of the parts; or those to keep: [their numbers so far]. */
static void number_rows (struct merger *m, const bool *keep)
{
    m->nrows = 0;
    for (size_t i = 0; i < m->nparts; i++) {
        struct merge_part *part = &m->part[i];
        size_t end = baseline_rows_end (m->of[part->k], part->i);

        for (size_t r = part->run->row; r < end; r++) {
            uint32_t *number = &m->number[part->k][r];

            *number = !keep || keep[*number] ? m->nrows++ : LEFT_OUT;
        }
        part->end = m->nrows;
    }
}

/* The rows of both that cross a link, by their numbers. */
struct merge_walk {
    struct baseline_walk w[2];
    uint32_t number[2]; /* of the next one of each; LEFT_OUT: there is none */
    int k;              /* which of them is next */
};

static void merge_step (const struct merger *m, struct merge_walk *w, int k)
{
    w->number[k] = LEFT_OUT;
    while (w->number[k] == LEFT_OUT && baseline_next (&w->w[k]))
        w->number[k] = m->number[k][w->w[k].row];
}

static struct merge_walk merge_walk (const struct merger *m, uint32_t link)
{
    struct merge_walk w = { .w = { baseline_walk (m->of[0], link),
                                   baseline_walk (m->of[1], link) } };

    merge_step (m, &w, 1);
    return w;
}

static bool merge_next (const struct merger *m, struct merge_walk *w)
{
    merge_step (m, w, w->k);
    w->k = w->number[1] < w->number[0];
    return w->number[w->k] != LEFT_OUT;
}

/* Which rows are kept: the newest n runs of each link. Flows that were not kept
 * tell nothing of a cable between switches.
 */
static bool *choose_rows (const struct merger *m, size_t n)
{
    const struct link_info *link = pathset_network (m->of[0]->ps)->link;
    bool *keep = xcalloc (m->nrows, sizeof (*keep));

    for (uint32_t l = 0; l < m->of[0]->nlinks; l++) {
        struct merge_walk w = merge_walk (m, l);
        const struct merge_part *part = m->part;
        size_t runs = 0, end = 0; /* of the last one that was counted */

        while (merge_next (m, &w)) {
            uint32_t number = w.number[w.k];

            while (number >= part->end)
                part++;
            if (part->run->spread > 0 && link[l].kind == LINK_SWITCH
                && m->of[w.k]->row[w.w[w.k].row].nflows == 0)
                continue;
            if (number >= end && ++runs > n && n > 0)
                break;
            end = part->end;
            keep[number] = true;
        }
    }
    return keep;
}

/* The names of the endpoints of rows that are kept. */
static size_t find_names (const struct merger *m, const char **name)
{
    size_t n = 0;

    for (int k = 0; k < 2; k++) {
        const struct baseline *b = m->of[k];
        size_t ends = pathset_size (b->ps);
        bool *named = xcalloc (ends, sizeof (*named));

        for (size_t r = 0; r < b->nrows; r++)
            if (m->number[k][r] != LEFT_OUT)
                named[b->row[r].a] = named[b->row[r].b] = true;
        for (size_t i = 0; i < ends; i++)
            if (named[i])
                name[n++] = pathset_endpoint (b->ps, i)->name;
        free (named);
    }
    return text_unique (name, n);
}

/* Add a part's run, flows and loopbacks of the ends of its rows, and number
 * these by the merger's set.
 */
static void add_part_run (struct baseline *to, const struct merger *m,
                          const struct merge_part *part,
                          const uint32_t *number)
{
    struct baseline *b = m->of[part->k];
    size_t end = baseline_rows_end (b, part->i), first = to->nrows;
    bool *used = xcalloc (pathset_size (b->ps), sizeof (*used));

    add_run (to, part->run);
    for (size_t r = part->run->row; r < end; r++) {
        struct baseline_row *row = &b->row[r];
        uint32_t flow = (uint32_t)to->nflows;

        if (m->number[part->k][r] == LEFT_OUT)
            continue;
        used[row->a] = used[row->b] = true;
        row->a = number[row->a];
        row->b = number[row->b];
        add_flow_times (to, b->flow_ns + row->flow, row->nflows);
        row->flow = flow;
        to->nrows++;
    }
    for (size_t k = part->run->loopback;
         k < baseline_loopbacks_end (b, part->i); k++)
        if (used[b->loopback[k].end])
            add_loopback (to, number[b->loopback[k].end], b->loopback[k].time);
    if (to->nrows == first)
        to->nruns--;
    free (used);
}

/* The rows of the merger, in the array of the older one: what is kept of it
 * moves together, then each to its place, the last one first, so that none is
 * overwritten.
 */
static struct baseline_row *move_rows (const struct merger *m)
{
    struct baseline *newer = m->of[0], *older = m->of[1];
    struct baseline_row *row;
    size_t kept = 0;

    for (size_t r = 0; r < older->nrows; r++)
        if (m->number[1][r] != LEFT_OUT)
            older->row[kept++] = older->row[r];
    row = xrealloc (older->row, m->nrows, sizeof (*row));
    older->row = NULL;
    for (size_t r = older->nrows; r-- > 0;)
        if (m->number[1][r] != LEFT_OUT)
            row[m->number[1][r]] = row[--kept];
    for (size_t r = 0; r < newer->nrows; r++)
        if (m->number[0][r] != LEFT_OUT)
            row[m->number[0][r]] = newer->row[r];
    return row;
}

/* The newest n rates of each arc of both; of one audit that of the newer. */
static void merge_rates (struct baseline *to, const struct merger *m, size_t n)
{
    const struct baseline *of[2] = { m->of[0], m->of[1] };
    size_t at[2] = { 0 }, same = 0;

    while (at[0] < of[0]->nrates || at[1] < of[1]->nrates) {
        const struct baseline_rate *next[2] = { NULL }, *last, *rate;
        int k;

        for (k = 0; k < 2; k++)
            if (at[k] < of[k]->nrates)
                next[k] = &of[k]->rate[at[k]];
        k = !next[0]
            || (next[1] && compare_baseline_rates (next[1], next[0]) < 0);
        rate = next[k];
        at[k]++;
        last = to->nrates > 0 ? &to->rate[to->nrates - 1] : NULL;
        if (!last || last->arc != rate->arc)
            same = 0;
        else if (rate->audit > 0 && last->audit == rate->audit)
            continue;
        if (n == 0 || same++ < n)
            baseline_add_rate (to, rate);
    }
}

static struct baseline *put_together (const struct merger *m,
                                      struct pathset *ps, size_t n)
{
    struct baseline *b = baseline_create (ps);
    uint32_t *number[2];

    b->open = m->of[0]->open;
    for (int k = 0; k < 2; k++)
        number[k] = numbers_by_name (m->of[k]->ps, ps);
    for (size_t i = 0; i < m->nparts; i++)
        add_part_run (b, m, &m->part[i], number[m->part[i].k]);
    b->row = move_rows (m);
    merge_rates (b, m, n);
    for (uint32_t l = 0; l < b->nlinks; l++) {
        struct merge_walk w = merge_walk (m, l);
        struct baseline_crossings *c = &b->crossed[l];

        c->room = m->of[0]->crossed[l].n + m->of[1]->crossed[l].n;
        c->v = xarray (c->room, 1);
        while (merge_next (m, &w))
            baseline_cross (b, l, w.number[w.k]);
        for (int k = 0; k < 2; k++) {
            free (m->of[k]->crossed[l].v);
            m->of[k]->crossed[l].v = NULL;
        }
    }
    free (number[0]);
    free (number[1]);
    return b;
}

struct baseline *baseline_merge (struct baseline *newer,
                                 struct baseline *older, size_t n,
                                 pathset_resolve_f resolve, void *arg,
                                 struct error *err)
{
    struct merger m = { .of = { newer, older } };
    const char **name
        = xarray (pathset_size (newer->ps) + pathset_size (older->ps),
                  sizeof (*name));
    struct pathset *ps;
    struct baseline *b;
    bool *keep;

    list_parts (&m);
    number_rows (&m, NULL);
    keep = choose_rows (&m, n);
    number_rows (&m, keep);
    free (keep);
    ps = resolve (name, find_names (&m, name), arg, err);
    b = ps ? put_together (&m, ps, n) : NULL;
    for (int k = 0; k < 2; k++) {
        free (m.number[k]);
        baseline_destroy (m.of[k]);
    }
    free (m.part);
    free (name);
    return b;
}
