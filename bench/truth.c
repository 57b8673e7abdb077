/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "bench/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/need.h"
#include "tests/emu/background.h"
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
#define RECABLE_NS 300.0
#define UNEVEN_NS 60.0
#define FAULT_NS 1000.0 /* of faults without a number */
#define TAIL_OFTEN 0.1

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
static const struct condition faults[] = {
    { "host+", 1, FAULT_HOST_END, .ails = AILS_SLOW },
    { "switch+", 1, FAULT_CABLE, .ails = AILS_SLOW },
    { "bent+", 1, FAULT_CABLE, .bend = true },
    { "oneway+", 1, FAULT_ARC, .ails = AILS_SLOW },
    { "two+", 2, FAULT_LINK, .ails = AILS_SLOW },
    { "host-tail", 1, FAULT_HOST_END, AILS_TAIL },
    { "switch-tail", 1, FAULT_CABLE, AILS_TAIL },
    { "host-alternate", 1, FAULT_HOST_END, AILS_ALTERNATE, FAULT_NS },
    { "switch-alternate", 1, FAULT_CABLE, AILS_ALTERNATE, FAULT_NS },
    { "host-warm", 1, FAULT_HOST_END, AILS_WARM, FAULT_NS },
    { "switch-warm", 1, FAULT_CABLE, AILS_WARM, FAULT_NS },
    { "host-drop", 1, FAULT_HOST_END, AILS_DROP },
    { "switch-drop", 1, FAULT_CABLE, AILS_DROP },
};

static const struct {
    const char *name;
    enum change change;
} changes[] = {
    { "healthy", CHANGE_NONE },       { "profile", CHANGE_PROFILE },
    { "fec", CHANGE_FEC },            { "long", CHANGE_LENGTH },
    { "firmware", CHANGE_FIRMWARE },  { "lft", CHANGE_ROUTES },
    { "missed", CHANGE_MISSED },      { "faster", CHANGE_FASTER },
    { "slower", CHANGE_SLOWER },      { "loophalf", CHANGE_LOOPBACK },
    { "recable", CHANGE_RECABLE },    { "warm", CHANGE_WARM },
    { "stage", CHANGE_STAGE },        { "repaired", CHANGE_REPAIRED },
    { "badbase", CHANGE_BASELINE },   { "leaf", CHANGE_LEAF },
    { "spine", CHANGE_SPINE },
};

/* Whether a word is a name, or one with a number appended. */
static bool parse_word (const char *word, const char *name, double *number)
{
    size_t len = strlen (name);
    char *end;

    if (strncmp (word, name, len) != 0)
        return false;
    *number = strtod (word + len, &end);
    return !*end;
}

static bool parse_fault (struct condition *c, const char *word)
{
    double number;

    for (size_t i = 0; i < COUNT (faults); i++)
        if (parse_word (word, faults[i].name, &number)) {
            c->faults = faults[i].faults;
            c->kind = faults[i].kind;
            c->ails = faults[i].ails;
            c->bend = faults[i].bend;
            c->excess_ns = c->ails == AILS_SLOW ? number : faults[i].excess_ns;
            c->lost = number / 100;
            return true;
        }
    return false;
}

static bool parse_change (struct condition *c, const char *word)
{
    for (size_t i = 0; i < COUNT (changes); i++)
        if (parse_word (word, changes[i].name, &c->amount)) {
            c->change = changes[i].change;
            return true;
        }
    return false;
}

bool condition_parse (struct condition *c, const char *text)
{
    char words[64], *rest = words, *day, *word;
    bool valid = false;

    *c = (struct condition){ .name = text };
    if (strlen (text) >= sizeof (words))
        return false;
    strcpy (words, text);
    day = strsep (&rest, "/");
    c->stay = !strcmp (day, "flows-stay");
    c->flows = c->stay || !strcmp (day, "flows");
    c->uneven = !strcmp (day, "asym60");
    c->noise = noise_find (c->flows || c->uneven ? "calm" : day);
    while ((word = strsep (&rest, "/")))
        if (!(valid = parse_fault (c, word) || parse_change (c, word)))
            return false;
    return valid && c->noise;
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
    t->arc = xcalloc (2 * t->net->nlinks, sizeof (*t->arc));
    t->loopback = xcalloc (t->f->nendpoints, sizeof (*t->loopback));
}

void truth_close (struct truth *t)
{
    truth_no_flows (t);
    fabric_destroy (t->f);
    fabric_destroy (t->actual);
    free (t->latency);
    free (t->arc);
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

void truth_draw (struct truth *t, const struct condition *c,
                 struct pathset *job)
{
    for (size_t i = 0; i < t->f->nendpoints; i++)
        t->loopback[i] = LOOPBACK_NS + host_part (&t->rng);
    for (size_t l = 0; l < t->net->nlinks; l++) {
        bool host = t->net->link[l].kind == LINK_HOST;

        t->latency[l] = (host ? HOST_NS : SWITCH_NS)
                        + SPREAD_NS * rng_uniform (&t->rng);
        if (host && c->noise) /* hosts of several kinds */
            t->latency[l] += host_part (&t->rng);
    }
    for (size_t k = 0; k < 2 * t->net->nlinks; k++)
        t->arc[k] = c->uneven ? UNEVEN_NS * rng_normal (&t->rng) : 0;
    t->past = t->ailing = NETWORK_NONE;
    t->now = NULL;
    if (c->change == CHANGE_REPAIRED || c->change == CHANGE_BASELINE) {
        t->past = truth_cable (t, job);
        t->latency[t->past] += c->amount;
    }
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

static void slow_switch (struct truth *t, uint32_t sw, double ns)
{
    for (size_t l = 0; l < t->net->nlinks; l++)
        if (t->net->link[l].end[0] == sw || t->net->link[l].end[1] == sw)
            t->latency[l] += ns;
}

/* The switch of a host's first link. */
static uint32_t leaf_of (const struct truth *t, const char *host)
{
    size_t l = 0;

    while (!t->net->link[l].host || strcmp (t->net->link[l].host, host))
        l++;
    return t->net->link[l].end[t->net->link[l].end[0] == NETWORK_NONE];
}

/* A switch without hosts, of a cable that the job uses. */
static uint32_t draw_spine (struct truth *t, struct pathset *job)
{
    uint32_t sw;
    bool leaf;

    do {
        sw = t->net->link[truth_cable (t, job)].end[rng_below (&t->rng, 2)];
        leaf = false;
        for (size_t l = 0; l < t->net->nlinks; l++)
            leaf |= t->net->link[l].kind == LINK_HOST
                    && (t->net->link[l].end[0] == sw
                        || t->net->link[l].end[1] == sw);
    } while (leaf);
    return sw;
}

static void recable (struct truth *t, double n)
{
    while (n-- > 0) {
        uint32_t l;

        do
            l = rng_below (&t->rng, t->net->nlinks);
        while (t->net->link[l].kind == LINK_HOST);
        t->latency[l] = fmax (0, t->latency[l]
                                     + RECABLE_NS
                                           * (2 * rng_uniform (&t->rng) - 1));
    }
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

void truth_begin (struct truth *t, const struct condition *c,
                  struct pathset *job, const char *const *host, size_t n)
{
    size_t sound = c->faults > 0; /* the first host of these */
    const char *const *other = host + sound;
    size_t most = fmin ((double)(n - sound), c->amount);

    t->now = c;
    switch (c->change) {
    case CHANGE_PROFILE:
        for (size_t i = 0; i < most; i++)
            truth_slow_host (t, other[i], PROFILE_NS, 2 * PROFILE_NS);
        break;
    case CHANGE_FEC:
        lengthen (t, c->amount / 100, 100, 100);
        break;
    case CHANGE_LENGTH:
        lengthen (t, c->amount / 100, LONGER_NS, 0);
        break;
    case CHANGE_FIRMWARE:
        slow_switch (t, t->net->link[truth_cable (t, job)].end[0],
                     FIRMWARE_NS);
        break;
    case CHANGE_MISSED:
        upgrade (t, 0, MISSED_NS, other, most);
        break;
    case CHANGE_FASTER:
        upgrade (t, -UPGRADE_NS, 0, other, most);
        break;
    case CHANGE_SLOWER:
        upgrade (t, UPGRADE_NS, 0, other, most);
        break;
    case CHANGE_LOOPBACK:
        truth_slow_host (t, *other, c->amount / 2, c->amount / 2);
        break;
    case CHANGE_RECABLE:
        recable (t, c->amount);
        break;
    case CHANGE_REPAIRED:
        t->latency[t->past] -= c->amount;
        break;
    case CHANGE_LEAF:
        slow_switch (t, leaf_of (t, *host), c->amount);
        break;
    case CHANGE_SPINE:
        slow_switch (t, draw_spine (t, job), c->amount);
        break;
    case CHANGE_WARM:
    case CHANGE_STAGE: /* in truth_measure */
    case CHANGE_BASELINE: /* in truth_draw */
    case CHANGE_ROUTES:
    case CHANGE_NONE:
        break;
    }
}

void truth_no_flows (struct truth *t)
{
    background_destroy (t->background);
    model_destroy (t->others);
    t->background = NULL;
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
    t->background = background_create (t->others, 1, 0);
}

/* A measurement, in progress. */
struct course {
    const struct truth *truth;
    double rounds;     /* of the first stage */
    size_t trips;      /* until now, and this one */
};

/* The wait for others' flows, as the emulator has it. */
static double wait_for_flows (const struct truth *t,
                              const struct simulated *trip, struct rng *rng)
{
    int64_t ns = 0;

    for (int i = 0; i < trip->narcs; i++)
        ns += model_background (t->others, background_arcs (t->background),
                                i == 0 || i == trip->there ? NULL
                                                           : &trip->arc[i - 1],
                                trip->arc[i], rng);
    return (double)ns;
}

/* What one crossing of the ailing link takes more. time: from 0 to 1 during the
 * first stage.
 */
static double ail_ns (struct course *course, double time, struct rng *rng)
{
    const struct condition *c = course->truth->now;
    bool often = c->lost >= TAIL_OFTEN;

    switch (c->ails) {
    case AILS_TAIL:
        return rng_uniform (rng) >= c->lost ? 0
               : often ? 1e3 + 9e3 * rng_uniform (rng)
                       : 2e3 + 18e3 * rng_uniform (rng);
    case AILS_ALTERNATE:
        return course->trips % 2 ? c->excess_ns : 0;
    case AILS_WARM:
        return c->excess_ns * fmin (1, time);
    case AILS_DROP:
        return rng_uniform (rng) < c->lost ? -INFINITY : 0;
    case AILS_SLOW:
        break; /* its latency says so */
    }
    return 0;
}

static double more_ns (void *arg, const struct simulated *trip,
                       struct rng *rng)
{
    struct course *course = arg;
    const struct truth *t = course->truth;
    double time = trip->round / course->rounds, ns = 0;

    course->trips++;
    if (t->others)
        ns += wait_for_flows (t, trip, rng);
    if (!t->now)
        return ns;
    if (t->now->change == CHANGE_STAGE && time >= 1)
        ns += t->now->amount;
    if (t->now->change == CHANGE_WARM)
        ns += trip->narcs * t->now->amount * time;
    for (int i = 0; i < trip->narcs && t->ailing != NETWORK_NONE; i++)
        if (arc_link (trip->arc[i]) == t->ailing)
            ns += ail_ns (course, time, rng);
    return ns;
}

struct samples *truth_measure (const struct truth *t, const struct pathset *ps,
                               const struct plan *plan,
                               const struct noise_kind *noise, bool loopbacks,
                               struct simulate_options sim)
{
    size_t n = pathset_size (ps);
    double *loopback = xcalloc (n, sizeof (*loopback));
    struct course course = {
        .truth = t,
        .rounds = fmax (1, (double)(plan_rounds (plan)
                                    - plan_confirm_rounds (plan))),
    };
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
    sim.arc_ns = t->arc;
    sim.more = more_ns;
    sim.more_arg = &course;
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
