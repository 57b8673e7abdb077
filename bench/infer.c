/* SPDX-License-Identifier: GPL-2.0-or-later */
/* infer - how often is the right topology inferred?
 *
 *   infer [--smallest] [-n TRIALS] [-s SEED] [NETWORK...]
 *
 * Each trial measures the latency of each pair of a network's hosts once, along
 * its routes, with noise, and infers the topology. Cables take 130 ns, host
 * ends 420 ns. A topology is right if it equals, edge for edge, the one that is
 * inferred without noise. That one must agree with the fabric itself; otherwise
 * the network is marked. The trials are repeated with host ends that differ by
 * up to 400 ns.
 *
 *   noise   its standard deviation, in ns
 *   p       probability that one value is nearer to its own class of values
 *           than to the next: its error is less than half the least distance
 *           between classes
 *   p^N     the same for all N = n (n - 1) / 2 values: how often the topology
 *           would be right if a single wrong value were fatal
 *   right   share of the trials
 *   untold  share of the trials with "cannot tell"
 *   ms      CPU time of one inference
 *
 * The last lines are 300 hosts of a tree, with their time.
 */
#include "config.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/need.h"
#include "bench/networks.h"
#include "compare/infer/infer.h"
#include "core/linear/stats.h"
#include "compare/infer/against.h"
#include "compare/test/alike.h"
#include "util/alloc.h"
#include "util/rng.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))
#define HOST_NS 420.0
#define SPREAD_NS 400.0
#define SWITCH_NS 130.0

static const struct network_case {
    const char *name;
    struct shape shape;
    size_t hosts; /* drawn from all; 0: all */
    double most;  /* greatest noise */
} networks[] = {
    { "tree", { FAT_TREE, { 8, 2 }, ROUTING_DMODK, 0 }, 0, 80 },
    { "tree3", { FAT_TREE, { 6, 3 }, ROUTING_DMODK, 0 }, 0, 80 },
    { "job", { FAT_TREE, { 8, 3 }, ROUTING_MINHOP, 0 }, 32, 80 },
    { "dragonfly", { DRAGONFLY, { 2, 4, 2 }, ROUTING_DMODK, 0 }, 0, 80 },
    { "slimfly", { SLIMFLY, { 3, 3 }, ROUTING_MINHOP, 0 }, 0, 80 },
    { "irregular", { IRREGULAR, { 12, 48, 3 }, ROUTING_MINHOP, 0 }, 0, 80 },
    { "300", { FAT_TREE, { 12, 3 }, ROUTING_DMODK, 0 }, 300, 10 },
};

static const double noises[] = { 0, 5, 10, 20, 30, 50, 80 };

struct scene {
    struct instance net;
    struct fabric *f; /* that of net */
    struct pathset *ps;
    struct topology_model *right;
    double gap;      /* least distance between two classes of latencies */
    double *latency; /* [nlinks] */
};

struct sums {
    size_t right, untold;
    double seconds;
};

static double now (void)
{
    struct timespec t;

    clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void draw_latencies (struct scene *s, double spread, struct rng *rng)
{
    for (size_t l = 0; l < s->f->nlinks; l++)
        s->latency[l] = s->f->link[l].kind == LINK_HOST
                            ? HOST_NS + spread * rng_uniform (rng)
                            : SWITCH_NS;
}

static struct infer_matrix *measure (const struct scene *s, double noise,
                                     struct rng *rng)
{
    uint32_t n = (uint32_t)pathset_size (s->ps);
    struct error err;
    struct infer_matrix *m = need (infer_matrix_create (n, &err), &err);
    struct row row;

    for (uint32_t a = 0; a < n; a++)
        if (infer_matrix_name (m, a, pathset_endpoint (s->ps, a)->name, &err)
            < 0)
            die (&err);
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = a + 1; b < n; b++) {
            double ns = 0;

            if (pathset_row (s->ps, a, b, &row, &err) < 0)
                die (&err);
            for (size_t k = 0; k < row.n; k++)
                ns += row.count[k] * s->latency[row.link[k]] / 2;
            ns += noise * rng_normal (rng);
            infer_matrix_set (m, a, b, fmax (ns, 1));
        }
    return m;
}

/* The least difference between two values that is not a rounding error. */
static double find_gap (const struct infer_matrix *m)
{
    size_t n = (size_t)m->n * m->n;
    double *v = xcalloc (n, sizeof (*v));
    double gap = INFINITY;

    memcpy (v, m->ns, n * sizeof (*v));
    stats_sort (v, n);
    for (size_t i = m->n + 1; i < n; i++)
        if (v[i] - v[i - 1] > 1)
            gap = fmin (gap, v[i] - v[i - 1]);
    free (v);
    return gap;
}

static void scene_open (struct scene *s, const struct network_case *net,
                        uint64_t seed)
{
    struct infer_matrix *m;
    struct error err;
    struct rng rng;

    rng_seed (&rng, seed);
    if (instance_make (&s->net, &net->shape, &err) < 0)
        die (&err);
    s->f = s->net.fabric;
    s->ps = need (draw_hosts (s->f, net->hosts, &rng, &err), &err);
    s->latency = xcalloc (s->f->nlinks, sizeof (*s->latency));
    draw_latencies (s, 0, &rng);
    m = measure (s, 0, &rng);
    s->gap = find_gap (m);
    s->right = infer_switches (m, 0, NULL);
    infer_matrix_destroy (m);
}

static void scene_close (struct scene *s)
{
    topology_destroy (s->right);
    pathset_destroy (s->ps);
    instance_clear (&s->net);
    free (s->latency);
}

/* Whether the topology inferred without noise agrees with the fabric. */
static bool stands (const struct scene *s)
{
    struct against *a;
    bool good;

    if (!s->right)
        return false;
    a = against_compare (s->f, s->right);
    good = a->nhosts + a->nways == 0;
    against_destroy (a);
    return good;
}

static void try_one (struct scene *s, double noise, double spread,
                     struct rng *rng, struct sums *sums)
{
    struct topology_model *model;
    struct infer_matrix *m;
    double start;

    draw_latencies (s, spread, rng);
    m = measure (s, noise, rng);
    start = now ();
    model = infer_switches (m, 0, NULL);
    sums->seconds += now () - start;
    sums->untold += !model;
    sums->right += model && s->right && topology_alike (model, s->right);
    topology_destroy (model);
    infer_matrix_destroy (m);
}

static void run_noise (struct scene *s, const struct network_case *net,
                       double noise, size_t trials, uint64_t seed)
{
    double n = (double)pathset_size (s->ps);
    double p = noise > 0 ? erf (s->gap / 2 / noise / sqrt (2)) : 1;
    struct sums alike = { 0 };
    struct sums different = { 0 };
    struct rng rng;

    rng_seed (&rng, seed + (uint64_t)noise);
    for (size_t i = 0; i < trials; i++) {
        try_one (s, noise, 0, &rng, &alike);
        try_one (s, noise, SPREAD_NS, &rng, &different);
    }
    printf ("| %-9s | %4.0f | %3.0f | %.6f | %.3f | %.2f (%.2f) | %.2f (%.2f) "
            "| %6.0f |\n",
            net->name, n, noise, p, pow (p, n * (n - 1) / 2),
            (double)alike.right / (double)trials,
            (double)alike.untold / (double)trials,
            (double)different.right / (double)trials,
            (double)different.untold / (double)trials,
            1e3 * (alike.seconds + different.seconds) / 2 / (double)trials);
    fflush (stdout);
}

static void run_network (const struct network_case *net, size_t trials,
                         uint64_t seed)
{
    struct scene s = { 0 };

    scene_open (&s, net, seed);
    if (!stands (&s))
        printf ("| %-9s | without noise it is not the fabric's |\n",
                net->name);
    for (size_t i = 0; i < COUNT (noises) && noises[i] <= net->most; i++)
        run_noise (&s, net, noises[i], trials, seed);
    scene_close (&s);
}

static bool selected (const char *name, char *const *word)
{
    if (!*word)
        return true;
    for (; *word; word++)
        if (!strcmp (*word, name))
            return true;
    return false;
}

int main (int argc, char **argv)
{
    bool least = smallest (argc, argv);
    size_t trials = least ? 1 : 10;
    uint64_t seed = 1;
    int c;

    while ((c = getopt (argc, argv, "n:s:")) != -1) {
        switch (c) {
        case 'n': trials = number (optarg, 1, 1000000); break;
        case 's': seed = number (optarg, 0, 1000000); break;
        default:
            fprintf (stderr, "Usage: infer [--smallest] [-n TRIALS] "
                             "[-s SEED] [NETWORK]...\n");
            return 2;
        }
    }
    printf ("`bench/infer`, %zu trials:\n\n"
            "| network   | hosts | noise | p | p^N | hosts alike: right "
            "(untold) | different: right (untold) | ms |\n"
            "|---|---|---|---|---|---|---|---|\n",
            trials);
    for (size_t i = 0; i < (least ? 1 : COUNT (networks)); i++)
        if (selected (networks[i].name, argv + optind))
            run_network (&networks[i],
                         networks[i].hosts >= 300 ? 1 : trials, seed);
    return 0;
}
