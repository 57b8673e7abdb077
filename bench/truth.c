/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "bench/truth.h"

#include <stdlib.h>
#include <string.h>

#include "bench/need.h"
#include "tests/emu/model.h"
#include "util/alloc.h"

#define COUNT(v) (sizeof (v) / sizeof ((v)[0]))

#define HOST_NS 420.0
#define SWITCH_NS 130.0
#define SPREAD_NS 150.0
#define SOCKET_NS 80.0
#define LOOPBACK_NS 900.0
#define PROFILE_NS 1000.0
#define FIRMWARE_NS 50.0
#define LONGER_NS 150.0 /* 30 m */
#define MISSED_NS 700.0
#define UPGRADE_NS 400.0

const struct network_case network_cases[] = {
    { "128", 8, 0 },       { "432", 12, 0 },
    { "3456", 24, 0 },     { "16/128", 8, 16 },
    { "64/128", 8, 64 },   { "16/432", 12, 16 },
    { "32/432", 12, 32 },  { "64/432", 12, 64 },
    { "16/3456", 24, 16 }, { "64/3456", 24, 64 },
    { "16/pruned", 8, 16, 30 }, { "16/dragonfly", 0, 16 },
    { 0 },
};

const struct network_case *network_case_find (const char *name)
{
    for (const struct network_case *c = network_cases; c->name; c++)
        if (!strcmp (c->name, name))
            return c;
    return NULL;
}

/* The words after NOISE/. Some have a number appended. */
static const struct condition kinds[] = {
    { "healthy", 0, .change = CHANGE_NONE },
    { "host+", 1, FAULT_HOST_END, .change = CHANGE_NONE },
    { "switch+", 1, FAULT_CABLE, .change = CHANGE_NONE },
    { "bent+", 1, FAULT_CABLE, .bend = true },
    { "oneway+", 1, FAULT_ARC, .change = CHANGE_NONE },
    { "two+", 2, FAULT_LINK, .change = CHANGE_NONE },
    { "profile", 0, .change = CHANGE_PROFILE },
    { "fec", 0, .change = CHANGE_FEC },
    { "long", 0, .change = CHANGE_LENGTH },
    { "firmware", 0, .change = CHANGE_FIRMWARE },
    { "lft", 0, .change = CHANGE_ROUTES },
    { "missed", 0, .change = CHANGE_MISSED },
    { "faster", 0, .change = CHANGE_FASTER },
    { "slower", 0, .change = CHANGE_SLOWER },
};

bool condition_parse (struct condition *c, const char *word)
{
    const char *slash = strchr (word, '/');
    char name[16];
    bool flows, stay;

    if (!slash || slash - word >= (ptrdiff_t)sizeof (name))
        return false;
    memcpy (name, word, slash - word);
    name[slash - word] = '\0';
    stay = !strcmp (name, "flows-stay");
    flows = stay || !strcmp (name, "flows");
    for (size_t i = 0; i < COUNT (kinds); i++) {
        size_t len = strlen (kinds[i].name);

        if (strncmp (slash + 1, kinds[i].name, len) != 0)
            continue;
        *c = kinds[i];
        c->name = word;
        c->noise = noise_find (flows ? "calm" : name);
        c->flows = flows;
        c->stay = stay;
        c->excess_ns = atof (slash + 1 + len);
        c->share = c->excess_ns
                   / (c->change == CHANGE_PROFILE || c->change >= CHANGE_MISSED
                          ? 1 : 100);
        return c->noise != NULL;
    }
    return false;
}

void truth_open (struct truth *t, const struct network_case *net,
                 enum routing routing, uint64_t seed)
{
    struct fat_tree tree = { .ports = net->ports, .levels = 3,
                             .how = { .routing = routing, .seed = seed,
                                      .prune = net->prune } };
    struct error err;

    *t = (struct truth){ 0 };
    struct dragonfly dragonfly = { 2, 4, 2, tree.how };
    for (int i = 0; i < 2; i++)
        *(i == 0 ? &t->f : &t->actual)
            = need (tree.ports > 0 ? generate_fat_tree (&tree, &err)
                                   : generate_dragonfly (&dragonfly, &err),
                    &err);
    t->net = fabric_network (t->f);
    t->latency = xcalloc (t->net->nlinks, sizeof (*t->latency));
    t->loopback = xcalloc (t->f->nendpoints, sizeof (*t->loopback));
}

void truth_close (struct truth *t)
{
    truth_no_flows (t);
    fabric_destroy (t->f);
    fabric_destroy (t->actual);
    free (t->latency);
    free (t->loopback);
}

/* The latency of an adapter of one of three kinds, on the near or the far
 * socket.
 */
static double host_part (struct rng *rng)
{
    static const double adapter[] = { 0, 60, 150 };
    double ns = adapter[rng_below (rng, COUNT (adapter))];

    return ns + (rng_below (rng, 2) ? SOCKET_NS : 0);
}

void truth_draw (struct truth *t, bool mixed)
{
    for (size_t i = 0; i < t->f->nendpoints; i++)
        t->loopback[i] = LOOPBACK_NS + host_part (&t->rng);
    for (size_t l = 0; l < t->net->nlinks; l++) {
        bool host = t->net->link[l].kind == LINK_HOST;

        t->latency[l] = (host ? HOST_NS : SWITCH_NS)
                        + SPREAD_NS * rng_uniform (&t->rng);
        if (host && mixed)
            t->latency[l] += host_part (&t->rng);
    }
}

uint32_t truth_cable (struct truth *t, struct pathset *job)
{
    struct error err;
    size_t m;
    const uint32_t *link = need ((void *)pathset_links (job, &m, &err), &err);
    uint32_t l;

    do
        l = link[rng_below (&t->rng, m)];
    while (t->net->link[l].kind == LINK_HOST);
    return l;
}

void truth_slow_host (struct truth *t, const char *host, double ns,
                      double loopback_ns)
{
    for (size_t e = 0; e < t->f->nendpoints; e++)
        if (!strcmp (t->f->host[t->f->endpoint[e].host].name, host))
            t->loopback[e] += loopback_ns;
    for (size_t l = 0; l < t->net->nlinks; l++)
        if (t->net->link[l].host && !strcmp (t->net->link[l].host, host))
            t->latency[l] += ns;
}

/* Lengthen a share of the links by ns, plus up to `more`. */
static void lengthen (struct truth *t, double share, double ns, double more)
{
    for (size_t l = 0; l < t->net->nlinks; l++)
        if (rng_uniform (&t->rng) < share)
            t->latency[l] += ns + (more > 0 ? more * rng_uniform (&t->rng) : 0);
}

static void slow_switch (struct truth *t, uint32_t sw)
{
    for (size_t l = 0; l < t->net->nlinks; l++)
        if (t->net->link[l].end[0] == sw || t->net->link[l].end[1] == sw)
            t->latency[l] += FIRMWARE_NS;
}

/* Upgrade all hosts but the first n. */
static void upgrade (struct truth *t, double ns, double loopback_ns,
                     const char *const *host, size_t n)
{
    for (size_t h = 0; h < t->f->nhosts; h++) {
        size_t i = 0;

        while (i < n && strcmp (host[i], t->f->host[h].name) != 0)
            i++;
        if (i == n)
            truth_slow_host (t, t->f->host[h].name, ns, loopback_ns);
    }
}

void truth_change (struct truth *t, const struct condition *c,
                   struct pathset *job, const char *const *host, size_t n)
{
    switch (c->change) {
    case CHANGE_PROFILE:
        for (size_t i = 0; i < n && (double)i < c->share; i++)
            truth_slow_host (t, host[i], PROFILE_NS, 2 * PROFILE_NS);
        break;
    case CHANGE_FEC:
        lengthen (t, c->share, 100, 100);
        break;
    case CHANGE_LENGTH:
        lengthen (t, c->share, LONGER_NS, 0);
        break;
    case CHANGE_FIRMWARE:
        slow_switch (t, t->net->link[truth_cable (t, job)].end[0]);
        break;
    case CHANGE_MISSED:
        upgrade (t, 0, MISSED_NS, host, (size_t)c->share);
        break;
    case CHANGE_FASTER:
        upgrade (t, -UPGRADE_NS, 0, host, (size_t)c->share);
        break;
    case CHANGE_SLOWER:
        upgrade (t, UPGRADE_NS, 0, host, (size_t)c->share);
        break;
    default:
        break;
    }
}

void truth_no_flows (struct truth *t)
{
    model_destroy (t->others);
    t->others = NULL;
}

void truth_flows (struct truth *t, const struct pathset *job)
{
    size_t n = 49 + rng_below (&t->rng, 64);
    struct error err;

    truth_no_flows (t);
    t->others = model_create (t->f, 1);
    while (n > 0) {
        char text[256], *arg[] = { "background", text };
        const char *end[2];
        bool inside = false;

        for (int i = 0; i < 2; i++) {
            end[i] = t->f->endpoint[rng_below (&t->rng, t->f->nendpoints)].name;
            inside |= pathset_find (job, end[i]) >= 0;
        }
        if (inside || end[0] == end[1])
            continue;
        snprintf (text, sizeof (text), "%s,%s:%.2f", end[0], end[1],
                  .2 + .8 * rng_uniform (&t->rng));
        if (model_command (t->others, 2, arg, &err) < 0)
            die (&err);
        n--;
    }
}

/* The wait for others' flows, as the emulator has it. */
static double wait_for_flows (void *arg, const uint32_t *arc, int narcs,
                              struct rng *rng)
{
    const struct emu_model *m = arg;
    int64_t ns = 0;

    for (int i = 0; i < narcs; i++)
        ns += model_background (m, i > 0 ? &arc[i - 1] : NULL, arc[i], rng);
    return (double)ns;
}

struct samples *truth_measure (const struct truth *t, const struct pathset *ps,
                               const struct plan *plan,
                               const struct noise_kind *noise, bool loopbacks,
                               struct simulate_options sim)
{
    size_t n = pathset_size (ps);
    double *loopback = xcalloc (n, sizeof (*loopback));
    struct noise *day
        = noise ? noise_create (noise, t->net, n, sim.seed) : NULL;
    struct samples *s;
    struct error err;
    struct pathset *actual = need (
        pathset_on (ps, fabric_network (t->moved ? t->actual : t->f), &err),
        &err);

    for (size_t i = 0; i < n; i++)
        loopback[i] = t->loopback[pathset_endpoint (ps, i)->id];
    sim.noise = day;
    sim.loopback_ns = loopbacks ? loopback : NULL;
    sim.wait = t->others ? wait_for_flows : NULL;
    sim.wait_arg = t->others;
    s = need (simulate (actual, plan, t->latency, &sim, &err), &err);
    noise_destroy (day);
    pathset_destroy (actual);
    free (loopback);
    return s;
}

enum routing routing_argument (const char *word)
{
    int routing = 0;

    while (routing_names[routing] && strcmp (routing_names[routing], word))
        routing++;
    if (!routing_names[routing]) {
        fprintf (stderr, "%s: no routing '%s'\n", program_invocation_short_name,
                 word);
        exit (2);
    }
    return routing;
}

void no_case (const char *word)
{
    fprintf (stderr, "%s: no case or network '%s'; noises: %s\n",
             program_invocation_short_name, word, noise_names ());
    exit (2);
}
