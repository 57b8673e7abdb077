/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans that fill links, and what they detect, as Markdown.
 *
 *     throughput [--smallest | --long]
 *
 * For whole fabrics and jobs. All links are 4xHDR, or host ends are 4xEDR, so
 * that a cable between switches needs two hosts. Prints the rounds and flows
 * that load each link twice, the links that are filled, and the seconds to plan
 * and to check. Then TRIALS random links, one at a time, have half their rate.
 * Flows are max-min fair; noise is NOISE of a rate. Prints the share of links
 * that are named, the share that are named alone, and the findings that name
 * other links. --long adds big fabrics.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/need.h"
#include "bench/networks.h"
#include "core/rate/across.h"
#include "core/rate/carry.h"
#include "core/rate/flows.h"
#include "ibquery/fabric.h"
#include "util/alloc.h"
#include "util/rng.h"

enum { TIMES = 2, TRIALS = 50 };

#define NOISE .05
#define HOST_RATE 100e9 /* of 4xEDR */

static const struct net {
    const char *name;
    struct shape shape;
    bool slow_hosts; /* 4xEDR */
    size_t hosts;    /* of a random job; 0: all */
    bool big;
} nets[] = {
    { "8-port 3-tree d", { FAT_TREE, { 8, 3 }, ROUTING_DMODK, 0 }, false, 0,
      false },
    { "8-port 3-tree d, EDR", { FAT_TREE, { 8, 3 }, ROUTING_DMODK, 0 }, true,
      0, false },
    { "16-port 3-tree d", { FAT_TREE, { 16, 3 }, ROUTING_DMODK, 0 }, false, 0,
      false },
    { "16-port 3-tree d, EDR", { FAT_TREE, { 16, 3 }, ROUTING_DMODK, 0 },
      true, 0, false },
    { "16-port 3-tree m", { FAT_TREE, { 16, 3 }, ROUTING_MINHOP, 0 }, false, 0,
      false },
    { "16-port 3-tree m, EDR", { FAT_TREE, { 16, 3 }, ROUTING_MINHOP, 0 },
      true, 0, false },
    { "16-port 3-tree m, job", { FAT_TREE, { 16, 3 }, ROUTING_MINHOP, 0 },
      false, 128, false },
    { "dragonfly (4,8,4)", { DRAGONFLY, { 4, 8, 4 }, ROUTING_MINHOP, 0 },
      false, 0, false },
    { "36-port 3-tree d", { FAT_TREE, { 36, 3 }, ROUTING_DMODK, 0 }, false, 0,
      true },
    { "36-port 3-tree d, EDR", { FAT_TREE, { 36, 3 }, ROUTING_DMODK, 0 },
      true, 0, true },
    { "36-port 3-tree m", { FAT_TREE, { 36, 3 }, ROUTING_MINHOP, 0 }, false, 0,
      true },
};

struct trials {
    size_t n, named, alone, others;
};

/* Whether a finding names the link. */
static bool names (const struct carry_finding *f, uint32_t link)
{
    for (size_t i = 0; i < f->nlinks; i++)
        if (f->link[i] == link)
            return true;
    return false;
}

static void try_link (struct pathset *ps, const struct plan *plan,
                      uint32_t link, double *link_rate, struct rng *rng,
                      struct trials *t)
{
    double *rate = xcalloc (plan_probes (plan), sizeof (*rate));
    struct error err;
    struct carry *c = NULL;

    link_rate[link] /= 2;
    if (carry_simulate (ps, plan, link_rate, rate, &err) == 0) {
        for (size_t i = 0; i < plan_probes (plan); i++)
            rate[i] *= 1 - NOISE * rng_uniform (rng);
        c = carry_make (ps, plan, rate, .2, &err);
    }
    link_rate[link] *= 2;
    if (!c)
        die (&err);
    t->n++;
    for (size_t i = 0; i < c->nfindings; i++)
        if (names (&c->finding[i], link)) {
            t->named++;
            t->alone += c->finding[i].nlinks == 1;
        }
        else
            t->others++;
    carry_destroy (c);
    free (rate);
}

static struct trials try_links (struct pathset *ps, const struct plan *plan)
{
    struct trials t = { 0 };
    struct error err = { 0 };
    double *rate = across_rates (ps);
    size_t m;
    const uint32_t *link = pathset_links (ps, &m, &err);
    struct rng rng;

    rng_seed (&rng, 1);
    if (!rate || !link)
        die (&err);
    for (int i = 0; i < TRIALS; i++)
        try_link (ps, plan, link[rng_below (&rng, m)], rate, &rng, &t);
    free (rate);
    return t;
}

static void run (const struct net *n)
{
    struct flows_options opts = { .times = TIMES, .seed = 1 };
    size_t hosts = n->hosts, links, filled = 0;
    const struct plan_target *target;
    struct stopwatch watch;
    struct instance net;
    struct error err = { 0 };
    struct pathset *ps;
    struct plan *plan;
    struct trials t;
    uint32_t *who;
    double made, checked;

    if (instance_make (&net, &n->shape, &err) < 0
        || !(who = instance_draw (&net, hosts > 0 ? RANDOM : WHOLE, &hosts, 1,
                                  &err)))
        die (&err);
    for (size_t l = 0; n->slow_hosts && l < net.fabric->nlinks; l++)
        if (net.fabric->link[l].kind == LINK_HOST)
            net.fabric->link_info[l].rate = HOST_RATE;
    if (!(ps = instance_pathset (&net, who, hosts, &err)))
        die (&err);
    watch = stopwatch_start ();
    if (!(plan = flows_make (ps, &opts, &err)))
        die (&err);
    made = stopwatch_seconds (&watch);
    watch = stopwatch_start ();
    if (flows_check (ps, plan, &err) < 0)
        die (&err);
    checked = stopwatch_seconds (&watch);
    target = plan_targets (plan, &links);
    for (size_t i = 0; i < links; i++)
        filled += target[i].filled;
    t = try_links (ps, plan);
    printf ("| %s | %zu | %zu | %zu | %zu | %zu | %.2f | %.2f | %zu/%zu | %zu"
            " | %zu |\n", n->name, hosts, links, plan_rounds (plan),
            plan_probes (plan), filled, made, checked, t.named, t.n, t.alone,
            t.others);
    fflush (stdout);
    plan_destroy (plan);
    pathset_destroy (ps);
    free (who);
    instance_clear (&net);
}

int main (int argc, char **argv)
{
    bool least = smallest (argc, argv);
    bool big = argc == 2 && strcmp (argv[1], "--long") == 0;
    char machine[128];

    if (argc > 2 || (argc == 2 && !big && !least)) {
        fprintf (stderr, "usage: throughput [--smallest | --long]\n");
        return EXIT_FAILURE;
    }
    machine_name (machine, sizeof (machine));
    print_command (argc, argv);
    printf (" on %s\n\n"
            "Plans fill each link %d times, by nominal rates: 4xHDR, of EDR host"
            " ends 4xEDR.\n*Filled*: links that a round loads as much as they"
            " carry. A link drawn at random\nhas half its rate, in each of %d"
            " trials, and flows lack up to %.0f %% by noise.\n*Named*: it is"
            " among the suspects of a finding; *alone*: no other is;"
            " *others*:\nfindings that name others.\n\n",
            machine, TIMES, TRIALS, 100 * NOISE);
    printf ("| network | hosts | links | rounds | flows | filled | plan s |"
            " check s | named | alone | others |\n"
            "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < (least ? 1 : sizeof (nets) / sizeof (nets[0])); i++)
        if (big || !nets[i].big)
            run (&nets[i]);
    return EXIT_SUCCESS;
}
