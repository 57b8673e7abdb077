/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare map: an order of ranks, so that those that talk much are near. */
#include "config.h"

#include <math.h>

#include "compare/map/order.h"
#include "compare/map/talk.h"
#include "compare/cmd/cmd.h"
#include "util/json.h"
#include "util/terminal.h"
#include "util/text.h"

static struct map_words {
    const char *hosts, *series;
    const uint64_t *length; /* NULL: that of the shortest messages */
    int stat, tasks;        /* tasks 0: as few as it takes */
} given = { .stat = SERIES_MEDIAN };

#define FIELD(name) offsetof (struct map_words, name)
static const struct opt options[] = {
    { "series", 0, "FILE", opt_string, FIELD (series),
      "latencies of pairs: a series, a check's result, what 'pmm solve "
      "--pairs' wrote, or a matrix" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "the job's nodes in Slurm's order, " LIST_HELP " (default: all)" },
    { "tasks", 0, "N", opt_int, FIELD (tasks),
      "limit of ranks per node (default: as few as possible)", .min = 1,
      .max = TALK_RANKS_MAX },
    { "length", 0, "BYTES", inputs_length, FIELD (length),
      "use messages of this length (default: the shortest)" },
    { "stat", 0, "NAME", NULL, FIELD (stat),
      "statistic of the repeats (default: median)",
      OPT_ROWS (series_stat_names) },
    { 0 },
};

static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "series fabric" },
    { "series fabric", OPT_EXCLUDES, NULL },
    { "length stat", OPT_NEEDS, "series" },
    { 0 },
};

/* Latencies between the nodes; of a fabric, the links between them. */
static struct infer_matrix *load_hosts (struct inputs *in)
{
    struct infer_matrix *all, *hosts, *some;
    struct hostlist list;

    if (given.series)
        all = inputs_latencies (given.series, given.length, given.stat, 1);
    else {
        in->ps = inputs_hosts (in->fabric, "hosts", given.hosts, false);
        all = need (infer_matrix_of_paths (in->ps, &fault));
    }
    hosts = need (order_hosts (all, &fault));
    infer_matrix_destroy (all);
    if (!given.hosts)
        return hosts;
    list = inputs_hostlist ("hosts", given.hosts, INFER_MAX_NODES);
    some = inputs_pick (hosts, list.name, list.count, "--hosts");
    infer_matrix_destroy (hosts);
    hostlist_clear (&list);
    return some;
}

static void say_cost (const char *order, const struct order_cost *c,
                      double total)
{
    verb_say ("%-12s %12.6g %11.6g %12.6g %13.6g", order, c->sum,
              c->sum / total, c->rank, c->far);
}

static void report_rank_order (const struct rank_order *o, const struct talk *t,
                               const struct infer_matrix *hosts, int tasks)
{
    const struct order_cost *start = o->start, *best = &start[ORDER_BLOCK];

    if (start[ORDER_CYCLIC].sum < best->sum)
        best = &start[ORDER_CYCLIC];
    terminal_clear ();
    verb_say ("%s on %s, up to %d on each", COUNTED (t->n, "rank"),
              COUNTED (hosts->n, "node"), tasks);
    verb_say ("%-12s %12s %11s %12s %13s",
              given.series ? "latency, ns" : "links", "all messages",
              "one message", "slowest rank", "farthest pair");
    say_cost ("block order", &start[ORDER_BLOCK], t->total);
    say_cost ("cyclic order", &start[ORDER_CYCLIC], t->total);
    say_cost ("this order", &o->cost, t->total);
    if (o->cost.sum >= best->sum)
        verb_say ("no order was found that costs less than %s",
                  o->from == ORDER_BLOCK ? "block order" : "cyclic order");
    else
        verb_say ("%.1f %% less than the better of the two",
                  100 * (1 - o->cost.sum / best->sum));
    if (o->cost.rank > best->rank)
        verb_say ("its slowest rank takes %.1f %% more than there: time both",
                  100 * (o->cost.rank / best->rank - 1));
    if (isnan (start[ORDER_SCOTCH].sum))
        verb_say ("built without Scotch: its order, which is often the best, "
                  "was not tried");
}

static json_t *cost_json (const struct order_cost *c)
{
    return json_pack ("{s:f, s:f, s:f}", "sum", c->sum, "rank", c->rank, "far",
                      c->far);
}

static void put_json (struct inputs *in, const struct rank_order *o,
                      const struct talk *t, const struct infer_matrix *hosts,
                      int tasks)
{
    json_t *node = json_array ();

    for (uint32_t r = 0; r < t->n; r++)
        json_add (node, json_string (hosts->label[o->node[r]]));
    inputs_put_json (in, "rank-order", in->fabric ? in->fabric->hash : NULL,
                     json_pack ("{s:o, s:i, s:s, s:f, s:{s:o, s:o, s:o}}",
                                "nodes", node, "tasks", tasks, "unit",
                                given.series ? "ns" : "links", "total",
                                t->total, "cost", "block",
                                cost_json (&o->start[ORDER_BLOCK]), "cyclic",
                                cost_json (&o->start[ORDER_CYCLIC]), "this",
                                cost_json (&o->cost)));
}

static int run_map (struct inputs *in)
{
    const char *path = in->operand[0];
    FILE *fp = need (file_open_input (path, &fault));
    struct talk *t = need (talk_read (fp, path, &fault));
    struct infer_matrix *hosts = load_hosts (in);
    int tasks = given.tasks ? given.tasks : (int)((t->n - 1) / hosts->n + 1);
    struct rank_order o;

    file_close_input (fp);
    need_ok (order_ranks (&o, t, hosts, tasks, &fault));
    if (in->json)
        put_json (in, &o, t, hosts, tasks);
    else {
        for (uint32_t r = 0; r < t->n; r++)
            fprintf (inputs_output (in), "%s\n", hosts->label[o.node[r]]);
        fflush (inputs_output (in));
        report_rank_order (&o, t, hosts, tasks);
    }
    order_clear (&o);
    infer_matrix_destroy (hosts);
    talk_destroy (t);
    return EXIT_OK;
}

const struct verb verb_map = {
    .name = "map", .help = "order ranks for srun by who talks to whom",
    .may = TAKES_FABRIC | TAKES_JSON | TAKES_OUTPUT,
    .operands = "GRAPH", .min = 1, .max = 1,
    .options = options, .given = &given, .rules = rules, .run = run_map,
};
