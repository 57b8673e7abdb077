/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare rates: what links carried compared with their nominal rates;
 * without a plan, what switches carried compared with what the edges of their
 * nodes allow.
 */
#include "config.h"

#include <string.h>

#include "compare/cmd/cmd.h"
#include "compare/throughput/carried.h"
#include "compare/throughput/edges.h"
#include "compare/throughput/measured.h"

#define BELOW_MIN .001

static struct compare_rates_words {
    const char *series, *graph;
    double much;
} given = { .much = .2 };

#define FIELD(name) offsetof (struct compare_rates_words, name)
static const struct opt options[] = {
    { "series", 0, "FILE", opt_string, FIELD (series),
      "the measured rates: of the flows of --plan (pairs --plan, --exchange "
      "both-ways); without a plan of pairs, to judge switches" },
    { "graph", 0, "TGF", opt_string, FIELD (graph),
      "take the switches from a file of pmm-compare infer, not from a "
      "snapshot" },
    { "below", 0, "SHARE", opt_double, FIELD (much),
      "report what lacks this share of its rate (default: 0.2)",
      BELOW_MIN, 1 - BELOW_MIN },
    { 0 },
};

/* Options without an effect are an error. */
static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "series" },
    { "graph", OPT_EXCLUDES, "plan fabric" },
    { 0 },
};

/* The last run of exchanges in both directions at once that used the plan, as
 * far as the runs name their method. Pairs that were measured again were
 * measured alone, so such runs do not count.
 */
static const struct series *choose_run (const struct series_list *list,
                                        const struct inputs *in)
{
    const char *method = plan_method (in->plan);
    const char *hash = in->fabric->hash;
    const struct series *s = NULL;

    for (size_t i = 0; i < list->n; i++)
        if (list->run[i]->test == SERIES_ASYNC_ONE_TO_ONE
            && (!*list->run[i]->pattern
                || strcmp (list->run[i]->pattern, method) == 0))
            s = list->run[i];
    if (!s)
        die_input ("%s: no run of exchanges both ways at once by a plan of"
                   " method %s", given.series, method);
    if (*s->fabric && strcmp (s->fabric, hash) != 0)
        die_input ("%s: measured in another fabric (%.64s, this one is %.64s)",
                   given.series, s->fabric, hash);
    return s;
}

static int run_measured (struct inputs *in)
{
    struct series_list list = inputs_series (given.series);
    const struct series *s = choose_run (&list, in);
    double *rate = verb_array (plan_probes (in->plan), sizeof (*rate));
    struct carried_report r = {
        .most.fabric = in->fabric, .much = given.much,
        .length = s->length[s->nlengths - 1], .complete = s->complete,
    };
    struct carry *carry = NULL;
    int status;

    if (measured_rates (s, in->ps, in->plan, rate, &fault) == 0)
        carry = carry_make (in->ps, in->plan, rate, given.much, &fault);
    if (!carry)
        error_prefix (&fault, "%s", given.series);
    r.carry = need (carry);
    r.most.sw = verb_keep (need (
        rates_switches (in->fabric, in->ps, &r.most.nswitches, &fault)));
    need_ok ((in->json ? carried_json : carried_text) (&r, inputs_output (in),
                                                       &fault));
    status = exit_status (carried_status (&r));
    carry_destroy (carry);
    series_list_clear (&list);
    return status;
}

/*
 * Switches by their nodes' edges
 */

static uint32_t find_in_fabric (const void *of, const char *name)
{
    return fabric_find_endpoint (of, name);
}

static void name_in_fabric (const void *of, uint32_t at, char name[EDGES_NAME])
{
    const struct fabric *f = of;

    snprintf (name, EDGES_NAME, "%s", f->node[at].name);
}

/* The switch of each endpoint. */
static uint32_t *switches_of_fabric (const struct fabric *f)
{
    uint32_t *at = verb_array (f->nendpoints, sizeof (*at));

    for (uint32_t e = 0; e < f->nendpoints; e++) {
        uint32_t far = fabric_far_port (f, f->endpoint[e].port);
        uint32_t node = far == FABRIC_NONE ? far : f->port[far].node;

        at[e] = node != FABRIC_NONE && f->node[node].type == NODE_SWITCH
                    ? node : EDGES_NONE;
    }
    return at;
}

static uint32_t find_in_graph (const void *of, const char *name)
{
    return topology_find (of, name);
}

static void name_in_graph (const void *of, uint32_t at, char name[EDGES_NAME])
{
    topology_name (of, at, name, EDGES_NAME);
}

/* The switch of each node with one edge alone. Switches come after nodes. */
static uint32_t *switches_of_graph (const struct topology_model *m)
{
    uint32_t *at = verb_array (m->nnodes, sizeof (*at));
    struct csr edges = topology_edges (m, 0);

    for (uint32_t v = 0; v < m->nnodes; v++) {
        const uint32_t *of = edges.v + edges.start[v];

        at[v] = of + 1 == edges.v + edges.start[v + 1] ? m->edge[*of].b : 0;
        if (at[v] < m->nnodes)
            at[v] = EDGES_NONE;
    }
    csr_clear (&edges);
    return at;
}

static int run_edges (struct inputs *in)
{
    struct series_list list = inputs_series (given.series);
    struct topology_model *m = NULL;
    struct edges_topology topology;
    uint32_t *at;
    struct edges e;
    int status;

    if (given.graph) {
        m = inputs_graph (given.graph);
        at = switches_of_graph (m);
        topology = (struct edges_topology){ m, find_in_graph, at,
                                            name_in_graph };
    } else {
        inputs_fabric (in);
        at = switches_of_fabric (in->fabric);
        topology = (struct edges_topology){ in->fabric, find_in_fabric, at,
                                            name_in_fabric };
    }
    if (edges_make (&e, &list, &topology, given.much, &fault) < 0)
        need_ok (error_prefix (&fault, "%s", given.series));
    need_ok ((in->json ? edges_json : edges_text) (
        &e, inputs_output (in), &fault));
    status = exit_status (e.status);
    edges_clear (&e);
    topology_destroy (m);
    series_list_clear (&list);
    return status;
}

static int run_compare_rates (struct inputs *in)
{
    return in->plan ? run_measured (in) : run_edges (in);
}

const struct verb compare_rates = {
    .name = "rates",
    .help = "compare what links or switches carried with what they should",
    .may = TAKES_FABRIC | TAKES_PLAN | TAKES_JSON | TAKES_OUTPUT,
    .options = options, .given = &given, .rules = rules,
    .run = run_compare_rates,
};
