/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/edges.h"

#include <math.h>
#include <stdlib.h>

#include "compare/throughput/carried.h"
#include "compare/throughput/measured.h"
#include "core/linear/stats.h"
#include "util/pool.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

/*
 * Nodes
 */

static int compare_edge_nodes (const void *va, const void *vb)
{
    const struct edges_node *a = va, *b = vb;

    return a->at != b->at ? util_compare (a->at, b->at)
                          : util_compare (a->edge, b->edge);
}

static bool place_process (const struct edges_topology *topology,
                           const struct series_process *p,
                           struct edges_node *node)
{
    uint32_t edge = topology->find (topology->of, p->label);

    if (edge == EDGES_NONE)
        edge = topology->find (topology->of, p->host);
    *node = (struct edges_node){ .label = p->label, .edge = edge };
    node->at = edge != EDGES_NONE ? topology->at[edge] : EDGES_NONE;
    return node->at != EDGES_NONE;
}

/* The edges of the processes of all runs, each once; then the switches. */
static void find_edge_nodes (struct edges *e, const struct series_list *list,
                             const struct edges_topology *topology)
{
    size_t n = 0;

    for (size_t r = 0; r < list->n; r++)
        for (uint32_t i = 0; i < list->run[r]->nprocesses; i++) {
            struct edges_node node;

            if (!place_process (topology, &list->run[r]->process[i], &node))
                continue;
            e->node = pool_grow (e->pool, e->node, e->nnodes, sizeof (*e->node));
            e->node[e->nnodes++] = node;
        }
    if (e->nnodes > 0)
        qsort (e->node, e->nnodes, sizeof (*e->node), compare_edge_nodes);
    for (size_t i = 0; i < e->nnodes; i++)
        if (n == 0 || compare_edge_nodes (&e->node[n - 1], &e->node[i]) != 0)
            e->node[n++] = e->node[i];
    e->nnodes = n;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || e->node[i].at != e->node[i - 1].at) {
            e->sw = pool_grow (e->pool, e->sw, e->nswitches, sizeof (*e->sw));
            e->sw[e->nswitches] = (struct edges_switch){
                .at = e->node[i].at, .first = i, .share = NAN };
            topology->name (topology->of, e->node[i].at,
                            e->sw[e->nswitches].name);
            text_clean (e->sw[e->nswitches++].name);
        }
        e->sw[e->nswitches - 1].n++;
    }
}

/*
 * Runs
 */

/* A pair of a run, of the longest messages, that has a rate. */
struct edges_pair {
    struct edges_node *a, *b; /* NULL: at no switch; one of them at most */
    double rate;
};

struct edges_run {
    struct edges_pair *pair;
    size_t n;
};

static bool is_edges_series (const struct series *s)
{
    return s->test == SERIES_ASYNC_ONE_TO_ONE && s->npairs > 0;
}

static uint64_t longest (const struct series *s)
{
    return s->length[s->nlengths - 1];
}

/* The nodes of a run's processes; NULL: at no switch. */
static int find_process_nodes (struct edges *e, const struct series *s,
                               const struct edges_topology *topology,
                               struct edges_node **node, struct error *err)
{
    bool *seen = pool_alloc (e->pool, e->nnodes, sizeof (*seen));
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->nprocesses; i++) {
        struct edges_node key;

        if (!place_process (topology, &s->process[i], &key))
            continue;
        node[i] = bsearch (&key, e->node, e->nnodes, sizeof (key),
                           compare_edge_nodes);
        if (seen[node[i] - e->node])
            rc = error_input (err, "two processes of the series are at %s",
                              node[i]->label);
        seen[node[i] - e->node] = true;
    }
    return rc;
}

static int read_edges_run (struct edges *e, const struct series *s,
                           const struct edges_topology *topology,
                           struct edges_run *run, struct error *err)
{
    struct edges_node **node = pool_alloc (e->pool, s->nprocesses, sizeof (*node));
    int rc = find_process_nodes (e, s, topology, node, err);

    for (size_t i = 0; rc == 0 && i < s->npairs; i++) {
        const struct series_row *row = &s->row[i];
        struct edges_pair p = { node[row->a], node[row->b], 0 };

        if (row->length != e->length || (!p.a && !p.b) || p.a == p.b)
            continue;
        rc = measured_rate (row, s->process[row->a].label,
                            s->process[row->b].label, &p.rate, err);
        if (rc < 0 || isnan (p.rate))
            continue;
        run->pair = pool_grow (e->pool, run->pair, run->n, sizeof (*run->pair));
        run->pair[run->n++] = p;
        if (p.a)
            p.a->rate = fmax (p.a->rate, p.rate);
        if (p.b)
            p.b->rate = fmax (p.b->rate, p.rate);
    }
    return rc;
}

/* Add what a run of several pairs at a time shows of each switch: this is the
 * run of those that no run loaded more.
 */
static void find_load (struct edges *e, const struct series *s, size_t number,
                       const struct edges_run *run)
{
    size_t *pairs = pool_alloc (e->pool, e->nnodes, sizeof (*pairs));
    double *sum = pool_alloc (e->pool, e->nnodes, sizeof (*sum));

    for (size_t i = 0; i < run->n; i++) { /* once a switch, by its one node */
        const struct edges_pair *p = &run->pair[i];

        for (int end = 0; end < 2; end++) {
            const struct edges_node *x = end ? p->b : p->a;

            if (!x || (end && p->a && p->a->at == x->at))
                continue;
            pairs[x - e->node]++;
            sum[x - e->node] += p->rate;
        }
    }
    for (struct edges_switch *w = e->sw; w < e->sw + e->nswitches; w++) {
        double n = 0, through = 0;

        for (size_t i = w->first; i < w->first + w->n; i++) {
            n += (double)pairs[i] / s->steps;
            through += sum[i] / s->steps;
        }
        if (n <= w->at_once)
            continue;
        w->at_once = n;
        w->through = through;
        w->run = number;
    }
}

/* What the nodes of a switch got of what their edges allow. */
static void judge_switch (struct edges *e, struct edges_switch *w,
                          const struct edges_run *run)
{
    struct edges_node *of = e->node + w->first;
    double *share = pool_alloc (e->pool, w->n, sizeof (*share));
    size_t n = 0;

    for (size_t i = 0; i < run->n; i++) {
        const struct edges_pair *p = &run->pair[i];
        double allowed;

        if (!p->a || !p->b || p->a->at != w->at || p->b->at != w->at)
            continue;
        allowed = fmin (p->a->rate, p->b->rate);
        p->a->got += p->rate;
        p->b->got += p->rate;
        p->a->allowed += allowed;
        p->b->allowed += allowed;
    }
    for (size_t i = 0; i < w->n; i++)
        if (of[i].allowed > 0)
            share[n++] = of[i].got / of[i].allowed;
    if (n >= EDGES_NODES_MIN)
        w->share = stats_median (share, n);
}

/*
 * What follows
 */

static void add_edges_text (struct edges *e, char *text)
{
    e->said = pool_grow (e->pool, e->said, e->nsaid, sizeof (*e->said));
    e->said[e->nsaid++] = text;
}
#define add_edges_sentence(e, ...) \
    add_edges_text ((e), pool_printf ((e)->pool, __VA_ARGS__))

/* Of a switch; returns how many nodes got less, though it gave others more. */
static size_t say_switch (struct edges *e, const struct edges_switch *w,
                          double enough)
{
    size_t slow = 0;

    if (w->share < enough)
        add_edges_sentence (e, "FAIL: %s: its nodes got %.0f %% of what their "
                               "edges allow, with %.1f pairs at a time",
                            w->name, 100 * w->share, w->at_once);
    for (size_t k = w->first; k < w->first + w->n && w->share >= enough; k++) {
        const struct edges_node *x = &e->node[k];

        if (!(edges_share (x) < enough))
            continue;
        add_edges_sentence (e, "WARN: %s got %.0f %% of what the edges allow, "
                               "others at %s more", x->label,
                            100 * edges_share (x), w->name);
        slow++;
    }
    return slow;
}

static void judge_edges (struct edges *e, double enough)
{
    size_t limited = 0, judged = 0, few = 0, slow = 0;

    for (const struct edges_switch *w = e->sw; w < e->sw + e->nswitches; w++) {
        limited += w->share < enough;
        judged += !isnan (w->share);
        few += w->n < EDGES_NODES_MIN;
        slow += say_switch (e, w, enough);
    }
    if (!e->alone)
        add_edges_sentence (
            e, "no run has one pair at a time, which tells what edges carry:"
               " --pattern one-to-one,one-factor");
    else if (judged + few < e->nswitches)
        add_edges_sentence (e, "not judged, as no run has several of their "
                               "pairs at a time, are %zu of the switches: "
                               "--pattern one-to-one,one-factor",
                            e->nswitches - judged - few);
    if (few > 0)
        add_edges_sentence (e, "not judged, as fewer than %d nodes were "
                               "measured, are %zu of the switches",
                            EDGES_NODES_MIN, few);
    if (!e->complete)
        add_edges_sentence (e, "a run is not complete");
    e->status = limited > 0                     ? VERDICT_FAIL
                : judged == 0 || !e->complete   ? VERDICT_UNKNOWN
                : slow > 0                      ? VERDICT_WARN
                                                : VERDICT_OK;
}

int edges_make (struct edges *e, const struct series_list *list,
                const struct edges_topology *topology, double much,
                struct error *err)
{
    struct edges_run *run;
    int rc = 0;

    *e = (struct edges){ .pool = pool_create (), .complete = true };
    run = pool_alloc (e->pool, list->n, sizeof (*run));
    for (size_t r = 0; r < list->n; r++)
        if (is_edges_series (list->run[r])
            && longest (list->run[r]) > e->length)
            e->length = longest (list->run[r]);
    if (e->length == 0)
        rc = error_input (err, "no run of exchanges both ways at once, of "
                               "messages with a byte");
    find_edge_nodes (e, list, topology);
    if (rc == 0 && e->nnodes == 0)
        rc = error_input (err, "no process of the series is at a switch of the "
                               "topology");
    for (size_t r = 0; rc == 0 && r < list->n; r++) {
        const struct series *s = list->run[r];

        if (!is_edges_series (s) || longest (s) != e->length)
            continue;
        e->complete = e->complete && s->complete;
        e->alone = e->alone || (s->steps > 0 && s->probes <= s->steps);
        rc = read_edges_run (e, s, topology, &run[r], err);
        if (rc == 0 && s->steps > 0 && s->probes > s->steps)
            find_load (e, s, r, &run[r]);
    }
    for (size_t i = 0; rc == 0 && i < e->nswitches && e->alone; i++)
        if (e->sw[i].at_once > 1)
            judge_switch (e, &e->sw[i], &run[e->sw[i].run]);
    if (rc == 0)
        judge_edges (e, 1 - much);
    return rc;
}

void edges_clear (struct edges *e)
{
    pool_destroy (e->pool);
    *e = (struct edges){ 0 };
}

/*
 * The report
 */

static void print_share (double share, FILE *fp)
{
    if (isnan (share))
        fprintf (fp, " %8s", "-");
    else
        fprintf (fp, " %8.0f", 100 * share);
}

int edges_text (const struct edges *e, FILE *fp, struct error *err)
{
    fprintf (fp, "pmm: %s: %s at %zu switches, exchanges of %s\n",
             verdict_status_name (e->status), COUNTED (e->nnodes, "node"),
             e->nswitches, COUNTED (e->length, "byte"));
    for (size_t i = 0; i < e->nsaid; i++)
        fprintf (fp, "pmm: %s\n", e->said[i]);
    fprintf (fp, "%-20s %8s %8s %8s %8s %8s  Gb/s each way\n", "# switch",
             "nodes", "edges", "at once", "carried", "share, %");
    for (size_t i = 0; i < e->nswitches; i++) {
        const struct edges_switch *w = &e->sw[i];
        double sum = 0;

        for (size_t k = w->first; k < w->first + w->n; k++)
            sum += e->node[k].rate;
        fprintf (fp, "%-20s %8zu", w->name, w->n);
        carried_print (sum, fp);
        fprintf (fp, " %8.1f", w->at_once);
        carried_print (w->through, fp);
        print_share (w->share, fp);
        fputc ('\n', fp);
    }
    fprintf (fp, "%-20s %8s %8s\n", "# node", "edge", "share, %");
    for (size_t i = 0; i < e->nswitches; i++)
        for (size_t k = 0; k < e->sw[i].n; k++) {
            const struct edges_node *x = &e->node[e->sw[i].first + k];

            fprintf (fp, "%-20s", x->label);
            carried_print (x->rate, fp);
            print_share (edges_share (x), fp);
            fprintf (fp, "  %s\n", e->sw[i].name);
        }
    return ferror (fp) ? error_errno (err, "output") : 0;
}

int edges_json (const struct edges *e, FILE *fp, struct error *err)
{
    json_t *switches = json_array (), *said = json_array ();

    for (size_t i = 0; i < e->nsaid; i++)
        json_add (said, json_string (e->said[i]));
    for (size_t i = 0; i < e->nswitches; i++) {
        const struct edges_switch *w = &e->sw[i];
        json_t *nodes = json_array ();

        for (size_t k = w->first; k < w->first + w->n; k++) {
            const struct edges_node *x = &e->node[k];

            json_add (nodes, json_pack (
                "{s:s, s:o, s:o}", "node", x->label, "edge_gbps",
                rates_gbps (x->rate), "share", number_json (edges_share (x))));
        }
        json_add (switches,
                  json_pack ("{s:s, s:o, s:f, s:o, s:o}", "name", w->name,
                             "nodes", nodes, "at_once", w->at_once,
                             "carried_gbps", rates_gbps (w->through), "share",
                             number_json (w->share)));
    }
    return json_write_file ("rates", NULL, json_pack (
        "{s:s, s:I, s:o, s:o}", "status", verdict_status_name (e->status),
        "length", (json_int_t)e->length, "said", said, "switches", switches),
        fp, err);
}
