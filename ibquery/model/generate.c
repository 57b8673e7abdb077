/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Fat tree: level l has down[l] ports downwards and up[l] upwards. A subtree of
 * level l < q has below[l] = down[1] * .. * down[l] hosts and, at its top,
 * tops[l] = up[1] * .. * up[l-1] switches. So a switch is (l, pod, c): pod is
 * the subtree, c is one of its top switches. Up port u of (l, pod, c) leads to
 * (l + 1, pod / down[l+1], c + u tops[l]). The port there is pod mod down[l+1],
 * the position of the subtree among its siblings. With ROUTING_DMODK, routes to
 * host d use up port d / tops[l] mod up[l] at level l.
 *
 * Dragonfly: a group has a h global ports. Port k leads to the group k + 1
 * further on (modulo the number of groups); there, port a h - 1 - k leads back.
 * A global cable costs as much as three local ones. So the cheapest path has as
 * few of them as possible: two (6) cost more than local, global, local (5).
 *
 * Slim fly: routers (0, x, y) and (1, m, c) over the field of q elements.
 * (0, x, y) - (0, x, z) if y - z is in X; (1, m, c) - (1, m, d) if c - d is in
 * X'; (0, x, y) - (1, m, c) if y = m x + c. X and X' are powers of a primitive
 * element g. For q = 4w + 1 and 4w, X has the even powers and X' the odd ones.
 * For q = 4w - 1, X has g^0, g^2 .. g^(2w-2) and g^(2w-1), g^(2w+1) ..
 * g^(4w-3), and X' = g X. Elements are polynomials over the integers modulo the
 * prime, written as numbers in that base. They are taken modulo a polynomial
 * that is found by trying all: one for which the powers of x are the q - 1
 * elements other than 0.
 */
#include "config.h"
#include "ibquery/model/generate.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "ibquery/model/wiring.h"
#include "util/alloc.h"
#include "util/rng.h"

enum {
    MAX_LEVELS = 6,
    MAX_DRAGONFLY = 62,
    MAX_Q = 41,
    MAX_SWITCHES = 4096,
    MAX_DEGREE = 32,
    MAX_LOTS = 3,
    LOCAL = 1,
    GLOBAL = 3,
};

const char *const routing_names[] = {
    [ROUTING_DMODK] = "dmodk",
    [ROUTING_MINHOP] = "minhop",
    [ROUTING_RANDOM] = "random",
    NULL,
};

struct tree_shape {
    unsigned int q;
    unsigned int down[MAX_LEVELS + 1], up[MAX_LEVELS + 1];
    uint64_t below[MAX_LEVELS + 1], tops[MAX_LEVELS + 1];
    uint64_t first[MAX_LEVELS + 2]; /* switch of a level; the end */
};

static int shape_tree (struct tree_shape *t, const struct fat_tree *tree,
                       struct error *err)
{
    unsigned int p = tree->ports, q = tree->levels;
    unsigned int k = tree->oversubscribe > 0 ? tree->oversubscribe : 1;

    if (p < 2 || p > WIRING_MAX_PORTS || p % 2 != 0)
        return error_input (err, "a fat tree's switches have 2, 4, .. or %d "
                                 "ports, not %u", WIRING_MAX_PORTS, p);
    if (q < 1 || q > MAX_LEVELS)
        return error_input (err, "a fat tree has 1 to %d levels, not %u",
                            MAX_LEVELS, q);
    if (k >= p || (q == 1 && k > 1))
        return error_input (err, "leaves of %u ports in %u levels cannot be "
                                 "oversubscribed %u times", p, q, k);
    t->q = q;
    t->up[1] = p / (k + 1);
    t->down[1] = k * t->up[1];
    for (unsigned int l = 2; l < q; l++)
        t->up[l] = t->down[l] = p / 2;
    t->up[q] = 0;
    t->down[q] = p;
    t->below[0] = t->tops[1] = 1;
    for (unsigned int l = 1; l <= q; l++)
        t->below[l] = t->below[l - 1] * t->down[l];
    for (unsigned int l = 2; l <= q; l++)
        t->tops[l] = t->tops[l - 1] * t->up[l - 1];
    for (unsigned int l = 1; l <= q; l++)
        t->first[l + 1] = t->first[l]
                          + t->below[q] / t->below[l] * t->tops[l];
    if (tree->rails > 1 && t->first[2] % tree->rails > 0)
        return error_input (err, "the %" PRIu64 " leaves of this fat tree "
                            "cannot be shared by hosts of %u rails",
                            t->first[2], tree->rails);
    return 0;
}

static void wire_level (struct wiring *w, const struct tree_shape *t,
                        unsigned int l)
{
    for (unsigned int s = t->first[l]; s < t->first[l + 1]; s++) {
        unsigned int i = s - t->first[l];
        unsigned int pod = i / t->tops[l], c = i % t->tops[l];

        w->sw[s] = (struct wiring_switch){
            .group = l, .number = i + 1, .first = t->down[l], .count = t->up[l],
            .divisor = t->tops[l],
        };
        for (unsigned int u = 0; u < t->up[l]; u++)
            wiring_cable (w, s, t->down[l] + u,
                          t->first[l + 1]
                              + pod / t->down[l + 1] * t->tops[l + 1] + c
                              + u * t->tops[l],
                          pod % t->down[l + 1], LOCAL);
    }
}

struct fabric *generate_fat_tree (const struct fat_tree *tree,
                                  struct error *err)
{
    struct tree_shape t = { 0 };
    struct wiring *w;
    char name[2 * FABRIC_NAME_MAX], over[32] = "", rails[24] = "";

    if (shape_tree (&t, tree, err) < 0)
        return NULL;
    if (tree->oversubscribe > 1)
        snprintf (over, sizeof (over), " oversubscribed %u",
                  tree->oversubscribe);
    if (tree->rails > 1)
        snprintf (rails, sizeof (rails), " %u rails", tree->rails);
    snprintf (name, sizeof (name), "fat-tree %u-port %u-tree%s%s", tree->ports,
              t.q, over, rails);
    w = wiring_create (name, t.below[t.q], t.first[t.q + 1], tree->ports,
                       err);
    if (!w)
        return NULL;
    w->each = t.down[1];
    if (tree->rails > 0)
        w->rails = tree->rails;
    for (unsigned int i = 0; i < t.below[t.q]; i++)
        w->host[i] = (struct wiring_host){ i / t.down[1], i % t.down[1], 0 };
    for (unsigned int l = 1; l <= t.q; l++)
        wire_level (w, &t, l);
    return wiring_fabric (w, &tree->how, err);
}

/* Ports of a router: hosts, the others of its group, other groups. */
static void wire_router (struct wiring *w, const struct dragonfly *fly,
                         unsigned int g, unsigned int r)
{
    unsigned int p = fly->hosts, a = fly->routers, h = fly->globals;
    unsigned int groups = a * h + 1, s = g * a + r;

    w->sw[s] = (struct wiring_switch){ .group = g + 1, .number = r + 1 };
    for (unsigned int i = 0; i < p; i++)
        w->host[s * p + i] = (struct wiring_host){ s, i, 0 };
    for (unsigned int other = r + 1; other < a; other++)
        wiring_cable (w, s, p + other - 1, g * a + other, p + r, LOCAL);
    for (unsigned int k = r * h; k < (r + 1) * h; k++) {
        unsigned int there = (g + k + 1) % groups, back = a * h - 1 - k;

        if (g < there)
            wiring_cable (w, s, p + a - 1 + k % h, there * a + back / h,
                          p + a - 1 + back % h, GLOBAL);
    }
}

struct fabric *generate_dragonfly (const struct dragonfly *fly,
                                   struct error *err)
{
    unsigned int p = fly->hosts, a = fly->routers, h = fly->globals;
    unsigned int groups = a * h + 1;
    const unsigned int part[] = { p, a, h };
    static const char *const what[]
        = { "hosts per router", "routers per group",
            "global ports per router" };
    char name[FABRIC_NAME_MAX];
    struct wiring *w;

    for (int i = 0; i < 3; i++)
        if (part[i] < 1 || part[i] > MAX_DRAGONFLY) {
            error_input (err, "a dragonfly has 1 to %d %s, not %u",
                         MAX_DRAGONFLY, what[i], part[i]);
            return NULL;
        }
    snprintf (name, sizeof (name), "dragonfly (%u,%u,%u)", p, a, h);
    w = wiring_create (name, (uint64_t)groups * a * p, (uint64_t)groups * a,
                       p + a - 1 + h, err);
    if (!w)
        return NULL;
    for (unsigned int g = 0; g < groups; g++)
        for (unsigned int r = 0; r < a; r++)
            wire_router (w, fly, g, r);
    return wiring_fabric (w, &fly->how, err);
}

/* The field of q = prime^n elements. */
struct galois_field {
    unsigned int q, prime;
    uint8_t power[MAX_Q]; /* of the primitive element, [q - 1] */
    uint8_t log[MAX_Q];   /* of all but 0 */
};

static unsigned int field_add (const struct galois_field *f, unsigned int a,
                               unsigned int b)
{
    unsigned int sum = 0;

    for (unsigned int unit = 1; unit < f->q; unit *= f->prime)
        sum += (a / unit + b / unit) % f->prime * unit;
    return sum;
}

static unsigned int field_mul (const struct galois_field *f, unsigned int a,
                               unsigned int b)
{
    if (a == 0 || b == 0)
        return 0;
    return f->power[(f->log[a] + f->log[b]) % (f->q - 1)];
}

/* a times x, where x^n = rest (n = 1: a times the number `rest`). */
static unsigned int times_x (const struct galois_field *f, unsigned int a,
                             unsigned int rest)
{
    unsigned int top = a / (f->q / f->prime);
    unsigned int product = a % (f->q / f->prime) * f->prime;

    while (top-- > 0)
        product = field_add (f, product, rest);
    return product;
}

/* Whether the powers of x are all q - 1 elements other than 0. */
static bool primitive (struct galois_field *f, unsigned int rest)
{
    unsigned int a = 1;

    for (unsigned int i = 0; i < f->q - 1; i++) {
        f->power[i] = a;
        f->log[a] = i;
        a = times_x (f, a, rest);
        if (a == 0 || (a == 1 && i + 2 < f->q))
            return false;
    }
    return a == 1;
}

/* False: q is not a prime power. */
static bool field_init (struct galois_field *f, unsigned int q)
{
    unsigned int left = q;

    f->q = q;
    for (f->prime = 2; q % f->prime != 0; f->prime++)
        ;
    while (left % f->prime == 0)
        left /= f->prime;
    if (left != 1)
        return false;
    for (unsigned int rest = 1; rest < q; rest++)
        if (primitive (f, rest))
            return true;
    return false;
}

/* The number of elements of X, and of X'. */
static unsigned int generators (unsigned int q)
{
    return q / 2 + (q % 4 == 3);
}

/* The elements of X (odd 0) or X' (odd 1): bit z for z. */
static uint64_t generator_set (const struct galois_field *f, unsigned int odd)
{
    unsigned int n = generators (f->q), w = (f->q + 1) / 4;
    uint64_t set = 0;

    for (unsigned int i = 0; i < n; i++) {
        unsigned int e = 2 * i - (f->q % 4 == 3 && i >= w) + odd;

        set |= (uint64_t)1 << f->power[e % (f->q - 1)];
    }
    return set;
}

struct wires {
    struct wiring *w;
    unsigned int *used; /* [routers] ports so far */
};

static void connect_switches (struct wires *wires, unsigned int s,
                              unsigned int t)
{
    wiring_cable (wires->w, s, wires->used[s]++, t, wires->used[t]++, LOCAL);
}

static void wire_slimfly (struct wires *wires, const struct galois_field *f)
{
    unsigned int q = f->q;

    for (unsigned int side = 0; side < 2; side++) {
        uint64_t set = generator_set (f, side);

        for (unsigned int x = 0; x < q; x++)
            for (unsigned int y = 0; y < q; y++)
                for (unsigned int z = 0; z < q; z++) {
                    unsigned int other = field_add (f, y, z);

                    if (set >> z & 1 && y < other)
                        connect_switches (wires, (side * q + x) * q + y,
                                          (side * q + x) * q + other);
                }
    }
    for (unsigned int x = 0; x < q; x++)
        for (unsigned int m = 0; m < q; m++)
            for (unsigned int c = 0; c < q; c++)
                connect_switches (wires,
                                  x * q + field_add (f, field_mul (f, m, x), c),
                                  (q + m) * q + c);
}

struct fabric *generate_slimfly (const struct slimfly *fly,
                                 struct error *err)
{
    unsigned int q = fly->q, degree = q + generators (q), hosts = fly->hosts;
    struct galois_field field = { 0 };
    struct wires wires;
    char name[FABRIC_NAME_MAX];

    if (q < 3 || q > MAX_Q || q % 4 == 2 || !field_init (&field, q)) {
        error_input (err, "a slim fly's q is a prime power from 3 to %d, not "
                          "%u", MAX_Q, q);
        return NULL;
    }
    if (hosts == 0)
        hosts = (degree + 1) / 2;
    if (hosts > WIRING_MAX_PORTS) {
        error_input (err, "a router has at most %d ports, not %u for hosts",
                     WIRING_MAX_PORTS, hosts);
        return NULL;
    }
    snprintf (name, sizeof (name), "slimfly (%u) of %u hosts per router", q,
              hosts);
    wires.w = wiring_create (name, 2 * q * q * hosts, 2 * q * q,
                             degree + hosts, err);
    if (!wires.w)
        return NULL;
    wires.used = xcalloc (2 * q * q, sizeof (*wires.used));
    for (unsigned int s = 0; s < 2 * q * q; s++) {
        wires.w->sw[s].group = s / (q * q) + 1;
        wires.w->sw[s].number = s % (q * q) + 1;
        for (unsigned int i = 0; i < hosts; i++)
            wires.w->host[s * hosts + i]
                = (struct wiring_host){ s, wires.used[s]++, 0 };
    }
    wire_slimfly (&wires, &field);
    free (wires.used);
    return wiring_fabric (wires.w, &fly->how, err);
}

/* An irregular network is drawn before it is wired, because the number of ports
 * that its switches need is not known earlier.
 */
struct draw {
    unsigned int switches, hosts, cables;
    uint32_t (*end)[2]; /* [cables] */
    uint32_t *at;       /* [hosts] */
    uint32_t *lot;      /* [(MAX_LOTS + 1) * switches] */
    unsigned int *used; /* [switches] ports */
    struct rng rng;
};

static unsigned int draw_switch (struct draw *d, unsigned int n, uint32_t not)
{
    unsigned int s;

    do
        s = rng_below (&d->rng, n);
    while (s == not || d->used[s] == WIRING_MAX_PORTS);
    d->used[s]++;
    return s;
}

/* There is always a switch left to draw: the cables use at most half of all
 * ports.
 */
static void draw_cables (struct draw *d)
{
    for (unsigned int c = 0; c < d->cables; c++) {
        bool tree = c + 1 < d->switches;

        if (tree)
            d->used[d->end[c][0] = c + 1]++;
        else
            d->end[c][0] = draw_switch (d, d->switches, UINT32_MAX);
        d->end[c][1] = draw_switch (d, tree ? c + 1 : d->switches,
                                    d->end[c][0]);
    }
}

/* Give each switch up to MAX_LOTS tickets for hosts, and at least `least`. */
static size_t draw_host_tickets (struct draw *d, unsigned int least)
{
    size_t lots = 0;

    for (unsigned int s = 0; s < d->switches; s++)
        for (uint64_t n = rng_below (&d->rng, MAX_LOTS + 1) + least; n > 0;
             n--)
            if (d->used[s] < WIRING_MAX_PORTS)
                d->lot[lots++] = s;
    return lots;
}

/* A ticket (lot) of a full switch is removed when it is drawn. If none is left,
 * all switches with free ports get new ones.
 */
static void draw_hosts (struct draw *d)
{
    size_t lots = draw_host_tickets (d, 0);

    for (unsigned int i = 0; i < d->hosts;) {
        size_t k;

        if (lots == 0)
            lots = draw_host_tickets (d, 1);
        k = rng_below (&d->rng, lots);
        if (d->used[d->lot[k]] == WIRING_MAX_PORTS) {
            d->lot[k] = d->lot[--lots];
            continue;
        }
        d->at[i] = d->lot[k];
        d->used[d->at[i++]]++;
    }
}

static int draw_init (struct draw *d, const struct irregular *net,
                      struct error *err)
{
    unsigned int n = net->switches;

    if (n < 1 || n > MAX_SWITCHES)
        return error_input (err, "an irregular fabric has 1 to %d switches, "
                            "not %u", MAX_SWITCHES, n);
    if (net->hosts < 1)
        return error_input (err, "an irregular fabric has hosts, not 0");
    if (net->degree < 1 || net->degree > MAX_DEGREE)
        return error_input (err, "irregular switches have 1 to %d cables on "
                                 "average, not %u", MAX_DEGREE, net->degree);
    d->cables = n > 1 ? n * net->degree / 2 : 0;
    if (d->cables < n - 1)
        d->cables = n - 1;
    if (net->hosts > n * WIRING_MAX_PORTS - 2 * d->cables)
        return error_input (err, "%u switches of %d ports with %u cables among "
                                 "them cannot have %u hosts", n,
                            WIRING_MAX_PORTS, d->cables, net->hosts);
    d->switches = n;
    d->hosts = net->hosts;
    d->end = xcalloc (d->cables, sizeof (*d->end));
    d->at = xcalloc (d->hosts, sizeof (*d->at));
    d->lot = xcalloc ((MAX_LOTS + 1) * n, sizeof (*d->lot));
    d->used = xcalloc (n, sizeof (*d->used));
    rng_seed (&d->rng, net->how.seed);
    return 0;
}

/* Ports in the order of the draw: hosts first. */
static struct wiring *wire_draw (const struct draw *d, struct error *err)
{
    struct wires wires = { 0 };
    unsigned int most = 1;
    char name[FABRIC_NAME_MAX];

    for (unsigned int s = 0; s < d->switches; s++)
        most = d->used[s] > most ? d->used[s] : most;
    snprintf (name, sizeof (name), "irregular fabric of %u switches",
              d->switches);
    wires.used = xcalloc (d->switches, sizeof (*wires.used));
    wires.w = wiring_create (name, d->hosts, d->switches, most, err);
    if (wires.w) {
        for (unsigned int s = 0; s < d->switches; s++)
            wires.w->sw[s] = (struct wiring_switch){ 1, .number = s + 1 };
        for (unsigned int i = 0; i < d->hosts; i++)
            wires.w->host[i] = (struct wiring_host){
                d->at[i], wires.used[d->at[i]]++, 0
            };
        for (unsigned int c = 0; c < d->cables; c++)
            connect_switches (&wires, d->end[c][0], d->end[c][1]);
    }
    free (wires.used);
    return wires.w;
}

struct fabric *generate_irregular (const struct irregular *net,
                                   struct error *err)
{
    struct draw d = { 0 };
    struct wiring *w = NULL;

    if (draw_init (&d, net, err) == 0) {
        draw_cables (&d);
        draw_hosts (&d);
        w = wire_draw (&d, err);
    }
    free (d.end);
    free (d.at);
    free (d.lot);
    free (d.used);
    return w ? wiring_fabric (w, &net->how, err) : NULL;
}
