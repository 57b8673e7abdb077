/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/carry.h"
#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

#define GIGA 1e9

/*
 * Nodes
 */

static int compare_nodes (const void *va, const void *vb)
{
    const struct edges_node *a = va, *b = vb;

    return a->at != b->at ? util_compare (a->at, b->at)
                          : util_compare (a->edge, b->edge);
}

static bool place (const struct edges_topology *topology,
                   const struct series_process *p, struct edges_node *node)
{
    *node = (struct edges_node){ .label = p->label };
    node->edge = topology->find (topology->of, p->label, p->host, &node->at);
    return node->edge != EDGES_NONE;
}

/* The edges of the processes of all runs, each once; then the switches. */
static void find_nodes (struct edges *e, const struct series_list *list,
                        const struct edges_topology *topology)
{
    size_t n = 0;

    for (size_t r = 0; r < list->n; r++)
        for (uint32_t i = 0; i < list->run[r]->nprocesses; i++) {
            struct edges_node node;

            if (!place (topology, &list->run[r]->process[i], &node))
                continue;
            e->node = xgrow (e->node, e->nnodes, sizeof (*e->node));
            e->node[e->nnodes++] = node;
        }
    if (e->nnodes > 0)
        qsort (e->node, e->nnodes, sizeof (*e->node), compare_nodes);
    for (size_t i = 0; i < e->nnodes; i++)
        if (n == 0 || compare_nodes (&e->node[n - 1], &e->node[i]) != 0)
            e->node[n++] = e->node[i];
    e->nnodes = n;
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || e->node[i].at != e->node[i - 1].at) {
            e->sw = xgrow (e->sw, e->nswitches, sizeof (*e->sw));
            e->sw[e->nswitches++] = (struct edges_switch){
                .at = e->node[i].at, .first = i, .share = NAN };
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

static bool counts (const struct series *s)
{
    return s->test == SERIES_ASYNC_ONE_TO_ONE && s->npairs > 0;
}

static uint64_t longest (const struct series *s)
{
    return s->length[s->nlengths - 1];
}

/* The nodes of a run's processes; NULL: at no switch. */
static int find_processes (struct edges *e, const struct series *s,
                           const struct edges_topology *topology,
                           struct edges_node **node, struct error *err)
{
    bool *seen = xcalloc (e->nnodes, sizeof (*seen));
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < s->nprocesses; i++) {
        struct edges_node key;

        if (!place (topology, &s->process[i], &key))
            continue;
        node[i] = bsearch (&key, e->node, e->nnodes, sizeof (key),
                           compare_nodes);
        if (seen[node[i] - e->node])
            rc = error_input (err, "two processes of the series are at %s",
                              node[i]->label);
        seen[node[i] - e->node] = true;
    }
    free (seen);
    return rc;
}

static int read_run (struct edges *e, const struct series *s,
                     const struct edges_topology *topology,
                     struct edges_run *run, struct error *err)
{
    struct edges_node **node = xcalloc (s->nprocesses, sizeof (*node));
    int rc = find_processes (e, s, topology, node, err);

    for (size_t i = 0; rc == 0 && i < s->npairs; i++) {
        const struct series_row *row = &s->row[i];
        struct edges_pair p = { node[row->a], node[row->b], 0 };

        if (row->length != e->length || (!p.a && !p.b) || p.a == p.b)
            continue;
        rc = measured_rate (row, s->process[row->a].label,
                            s->process[row->b].label, &p.rate, err);
        if (rc < 0 || isnan (p.rate))
            continue;
        run->pair = xgrow (run->pair, run->n, sizeof (*run->pair));
        run->pair[run->n++] = p;
        if (p.a)
            p.a->rate = fmax (p.a->rate, p.rate);
        if (p.b)
            p.b->rate = fmax (p.b->rate, p.rate);
    }
    free (node);
    return rc;
}

/* Add what a run of several pairs at a time shows of each switch: this is the
 * run of those that no run loaded more.
 */
static void find_load (struct edges *e, const struct series *s, size_t number,
                       const struct edges_run *run)
{
    size_t *pairs = xcalloc (e->nnodes, sizeof (*pairs));
    double *sum = xcalloc (e->nnodes, sizeof (*sum));

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
    free (pairs);
    free (sum);
}

/* What the nodes of a switch got of what their edges allow. */
static void judge_switch (struct edges *e, struct edges_switch *w,
                          const struct edges_run *run)
{
    struct edges_node *of = e->node + w->first;
    double *share = xarray (w->n, sizeof (*share));
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
    free (share);
}

int edges_make (struct edges *e, const struct series_list *list,
                const struct edges_topology *topology, double much,
                struct error *err)
{
    struct edges_run *run = xcalloc (list->n, sizeof (*run));
    int rc = 0;

    *e = (struct edges){ .much = much, .complete = true };
    for (size_t r = 0; r < list->n; r++)
        if (counts (list->run[r]) && longest (list->run[r]) > e->length)
            e->length = longest (list->run[r]);
    if (e->length == 0)
        rc = error_input (err, "no run of exchanges both ways at once, of "
                               "messages with a byte");
    find_nodes (e, list, topology);
    if (rc == 0 && e->nnodes == 0)
        rc = error_input (err, "no process of the series is at a switch of the "
                               "topology");
    for (size_t r = 0; rc == 0 && r < list->n; r++) {
        const struct series *s = list->run[r];

        if (!counts (s) || longest (s) != e->length)
            continue;
        e->complete = e->complete && s->complete;
        e->alone = e->alone || (s->steps > 0 && s->probes <= s->steps);
        rc = read_run (e, s, topology, &run[r], err);
        if (rc == 0 && s->steps > 0 && s->probes > s->steps)
            find_load (e, s, r, &run[r]);
    }
    for (size_t i = 0; rc == 0 && i < e->nswitches && e->alone; i++)
        if (e->sw[i].at_once > 1)
            judge_switch (e, &e->sw[i], &run[e->sw[i].run]);
    for (size_t r = 0; r < list->n; r++)
        free (run[r].pair);
    free (run);
    return rc;
}

void edges_clear (struct edges *e)
{
    free (e->node);
    free (e->sw);
    *e = (struct edges){ 0 };
}

/*
 * What follows
 */

static bool low (const struct edges *e, double share)
{
    return share < 1 - e->much; /* false if it is NAN */
}

static double share_of (const struct edges_node *x)
{
    return x->allowed > 0 ? x->got / x->allowed : NAN;
}

/* Whether a node got less, though its switch gave others more. */
static bool is_slow (const struct edges *e, const struct edges_switch *w,
                     const struct edges_node *x)
{
    return !isnan (w->share) && !low (e, w->share) && low (e, share_of (x));
}

enum verdict_status edges_status (const struct edges *e)
{
    size_t judged = 0, limited = 0, slow = 0;

    for (size_t i = 0; i < e->nswitches; i++) {
        const struct edges_switch *w = &e->sw[i];

        judged += !isnan (w->share);
        limited += low (e, w->share);
        for (size_t k = 0; k < w->n; k++)
            slow += is_slow (e, w, &e->node[w->first + k]);
    }
    if (limited > 0)
        return VERDICT_FAIL;
    if (judged == 0 || !e->complete)
        return VERDICT_UNKNOWN;
    return slow > 0 ? VERDICT_WARN : VERDICT_OK;
}

/* The findings and limits, one sentence each; NULL after the last one. The
 * caller frees it.
 */
static char *sentence (const struct edges *e,
                       const struct edges_topology *topology, size_t which)
{
    char name[EDGES_NAME];
    size_t n = 0, few = 0, idle = 0;

    for (size_t i = 0; i < e->nswitches; i++) {
        const struct edges_switch *w = &e->sw[i];

        topology->name (topology->of, w->at, name);
        if (low (e, w->share) && n++ == which)
            return xasprintf ("FAIL: %s: its nodes got %.0f %% of what their "
                              "edges allow, with %.1f pairs at a time", name,
                              100 * w->share, w->at_once);
        for (size_t k = w->first; k < w->first + w->n; k++)
            if (is_slow (e, w, &e->node[k]) && n++ == which)
                return xasprintf ("WARN: %s got %.0f %% of what the edges "
                                  "allow, others at %s more",
                                  e->node[k].label,
                                  100 * share_of (&e->node[k]), name);
        few += w->n < EDGES_NODES_MIN;
        idle += isnan (w->share) && w->n >= EDGES_NODES_MIN;
    }
    if (!e->alone && n++ == which)
        return xasprintf ("no run has one pair at a time, which tells what "
                          "edges carry: --pattern one-to-one,one-factor");
    if (e->alone && idle > 0 && n++ == which)
        return xasprintf ("not judged, as no run has several of their pairs at "
                          "a time, are %zu of the switches: --pattern "
                          "one-to-one,one-factor", idle);
    if (few > 0 && n++ == which)
        return xasprintf ("not judged, as fewer than %d nodes were measured, "
                          "are %zu of the switches", EDGES_NODES_MIN, few);
    if (!e->complete && n++ == which)
        return xasprintf ("a run is not complete");
    return NULL;
}

static void print_share (double share, FILE *fp)
{
    if (isnan (share))
        fprintf (fp, " %8s", "-");
    else
        fprintf (fp, " %8.0f", 100 * share);
}

int edges_text (const struct edges *e, const struct edges_topology *topology,
                FILE *fp, struct error *err)
{
    char name[EDGES_NAME], *text;

    fprintf (fp, "pmm: %s: %s at %zu switches, exchanges of %s\n",
             verdict_status_name (edges_status (e)),
             COUNTED (e->nnodes, "node"), e->nswitches,
             COUNTED (e->length, "byte"));
    for (size_t i = 0; (text = sentence (e, topology, i)); i++) {
        fprintf (fp, "pmm: %s\n", text);
        free (text);
    }
    fprintf (fp, "%-20s %8s %8s %8s %8s %8s  Gb/s each way\n", "# switch",
             "nodes", "edges", "at once", "carried", "share, %");
    for (size_t i = 0; i < e->nswitches; i++) {
        const struct edges_switch *w = &e->sw[i];
        double sum = 0;

        for (size_t k = w->first; k < w->first + w->n; k++)
            sum += e->node[k].rate;
        topology->name (topology->of, w->at, name);
        fprintf (fp, "%-20s %8zu %8.1f %8.1f %8.1f", name, w->n, sum / GIGA,
                 w->at_once, w->through / GIGA);
        print_share (w->share, fp);
        fputc ('\n', fp);
    }
    fprintf (fp, "%-20s %8s %8s\n", "# node", "edge", "share, %");
    for (size_t i = 0; i < e->nnodes; i++) {
        topology->name (topology->of, e->node[i].at, name);
        fprintf (fp, "%-20s %8.1f", e->node[i].label, e->node[i].rate / GIGA);
        print_share (share_of (&e->node[i]), fp);
        fprintf (fp, "  %s\n", name);
    }
    return ferror (fp) ? error_errno (err, "output") : 0;
}

static json_t *gbps (double rate)
{
    return json_real (round (rate / GIGA * 1000) / 1000);
}

static json_t *share_json (double share)
{
    return isnan (share) ? json_null () : json_real (share);
}

int edges_json (const struct edges *e, const struct edges_topology *topology,
                FILE *fp, struct error *err)
{
    json_t *switches = json_array (), *said = json_array ();
    char name[EDGES_NAME], *text;

    for (size_t i = 0; i < e->nswitches; i++) {
        const struct edges_switch *w = &e->sw[i];
        json_t *nodes = json_array ();

        for (size_t k = w->first; k < w->first + w->n; k++)
            json_add (nodes, json_pack ("{s:s, s:o, s:o}", "node",
                                        e->node[k].label, "edge_gbps",
                                        gbps (e->node[k].rate), "share",
                                        share_json (share_of (&e->node[k]))));
        topology->name (topology->of, w->at, name);
        json_add (switches, json_pack (
            "{s:s, s:o, s:f, s:o, s:o}", "name", name, "nodes", nodes,
            "at_once", w->at_once, "carried_gbps", gbps (w->through), "share",
            share_json (w->share)));
    }
    for (size_t i = 0; (text = sentence (e, topology, i)); i++) {
        json_add (said, json_string (text));
        free (text);
    }
    return json_write_file ("rates", NULL, json_pack (
        "{s:s, s:I, s:o, s:o}",
        "status", verdict_status_name (edges_status (e)),
        "length", (json_int_t)e->length, "said", said, "switches", switches),
        fp, err);
}
