/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/against.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

#define HOST_NS 420
#define SWITCH_NS 130
#define NONE FABRIC_NONE

static void need (const void *p, const struct error *err)
{
    if (p)
        return;
    fprintf (stderr, "%s\n", err->text);
    abort ();
}

/* A tree of 32 hosts, four each on eight switches s1-0001, ..., s1-0008. */
static struct fabric *small_tree (void)
{
    struct fat_tree tree = { .ports = 8, .levels = 2 };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);

    need (f, &err);
    return f;
}

/* A fabric as a model of all its hosts and switches, cables of one length. */
struct twin {
    struct topology_model *m;
    uint32_t *vertex; /* by node */
};

static uint32_t vertex_of (const struct twin *t, const struct fabric *f,
                           uint32_t port)
{
    const struct fabric_node *n = &f->node[f->port[port].node];

    return n->type == NODE_SWITCH ? t->vertex[f->port[port].node] : n->host;
}

static void twin_make (struct twin *t, const struct fabric *f)
{
    const char **name = calloc (f->nhosts, sizeof (*name));

    for (size_t i = 0; i < f->nhosts; i++)
        name[i] = f->host[i].name;
    t->m = topology_create (f->nhosts, name);
    t->vertex = calloc (f->nnodes, sizeof (*t->vertex));
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            t->vertex[i] = topology_add_switch (t->m);
    for (size_t i = 0; i < f->nlinks; i++)
        topology_add_edge (t->m, vertex_of (t, f, f->link[i].a),
                           vertex_of (t, f, f->link[i].b),
                           f->link[i].kind == LINK_HOST ? HOST_NS : SWITCH_NS);
    free (name);
}

static void twin_clear (struct twin *t)
{
    topology_destroy (t->m);
    free (t->vertex);
}

static struct against *compare (const struct fabric *f, struct twin *t)
{
    topology_normal (t->m, 0);
    return against_compare (f, t->m);
}

/* Plug a host's cable into another switch. */
static void move_host (struct twin *t, const struct fabric *f,
                       const char *host, const char *sw)
{
    uint32_t v = fabric_find_host (f, host);

    for (size_t i = 0; i < t->m->nedges; i++)
        if (t->m->edge[i].a == v)
            t->m->edge[i].b = t->vertex[fabric_find_switch (f, sw)];
}

/* Take away the cable of a port, "NAME/PORT" of a switch. */
static void cut (struct twin *t, const struct fabric *f, const char *port)
{
    uint32_t link = fabric_find_link (f, port);

    for (size_t i = 0; i < t->m->nedges; i++) {
        struct topology_edge *e = &t->m->edge[i];
        uint32_t a = vertex_of (t, f, f->link[link].a);
        uint32_t b = vertex_of (t, f, f->link[link].b);

        if ((e->a == a && e->b == b) || (e->a == b && e->b == a))
            *e = t->m->edge[--t->m->nedges];
    }
}

static bool is_hosts (const struct against *a, size_t i, const char *first,
                      size_t n, const char *at, const char *with)
{
    const struct against_hosts *h = &a->hosts[i];

    return i < a->nhosts && h->n == n
           && strcmp (a->f->endpoint[h->endpoint[0]].name, first) == 0
           && h->at == fabric_find_switch (a->f, at)
           && h->with == (with ? fabric_find_switch (a->f, with) : NONE);
}

static bool is_clean (const struct against *a)
{
    return a->nhosts + a->nways + a->nstrangers == 0;
}

static void test_same (void)
{
    struct fabric *f = small_tree ();
    struct twin t;
    struct against *a;

    twin_make (&t, f);
    a = compare (f, &t);
    ok (is_clean (a) && a->compared == 32 && a->switches == 8
            && a->nclear == 28 && a->unclear + a->alone == 0,
        "a tree is as it is");
    against_destroy (a);
    twin_clear (&t);
    fabric_destroy (f);
}

static void test_hosts (void)
{
    struct fabric *f = small_tree ();
    struct twin t;
    struct against *a;

    twin_make (&t, f);
    move_host (&t, f, "h0001", "s1-0002");
    move_host (&t, f, "h0005", "s1-0001");
    a = compare (f, &t);
    ok (a->nhosts == 2 && is_hosts (a, 0, "h0001", 1, "s1-0001", "s1-0002")
            && is_hosts (a, 1, "h0005", 1, "s1-0002", "s1-0001"),
        "two hosts whose cables are exchanged");
    against_destroy (a);
    twin_clear (&t);

    twin_make (&t, f);
    move_host (&t, f, "h0007", "s2-0001");
    a = compare (f, &t);
    ok (a->nhosts == 1 && is_hosts (a, 0, "h0007", 1, "s1-0002", NULL),
        "a host that is apart");
    against_destroy (a);
    twin_clear (&t);

    twin_make (&t, f);
    for (int i = 9; i <= 12; i++) {
        char name[8];

        snprintf (name, sizeof (name), "h%04d", i);
        move_host (&t, f, name, "s1-0001");
    }
    a = compare (f, &t);
    ok (a->nhosts == 1 && is_hosts (a, 0, "h0009", 4, "s1-0003", "s1-0001")
            && a->switches == 7,
        "all hosts of a switch with another's");
    against_destroy (a);
    twin_clear (&t);
    fabric_destroy (f);
}

/* Not all hosts were measured, and one that was is not in the fabric. */
static void test_some (void)
{
    struct fabric *f = small_tree ();
    static const char *const name[] = { "h0001", "h0002", "h0005", "h0006",
                                        "h0009", "x" };
    struct topology_model *m = topology_create (6, name);
    uint32_t sw[3];
    struct against *a;

    for (int i = 0; i < 3; i++)
        sw[i] = topology_add_switch (m);
    for (uint32_t i = 0; i < 6; i++)
        topology_add_edge (m, i, sw[i / 2], HOST_NS);
    topology_add_edge (m, sw[0], sw[2], SWITCH_NS);
    topology_add_edge (m, sw[1], sw[2], SWITCH_NS);
    topology_normal (m, 0);
    a = against_compare (f, m);
    ok (a->compared == 4 && a->switches == 2 && a->alone == 1
            && a->nhosts + a->nways == 0,
        "a host alone on its switch is not compared");
    ok (a->nstrangers == 1 && a->stranger[0] == 5, "a stranger is told");
    ok (a->unclear == 1, "of one way nothing can be told");
    against_destroy (a);
    topology_destroy (m);
    fabric_destroy (f);
}

/* 72 hosts, 36 routers: nine groups of four, each joined to every other. */
static struct fabric *small_fly (void)
{
    struct dragonfly fly = { .hosts = 2, .routers = 4, .globals = 2 };
    struct error err;
    struct fabric *f = generate_dragonfly (&fly, &err);

    need (f, &err);
    return f;
}

static void test_ways (void)
{
    struct fabric *f = small_fly ();
    uint32_t from = fabric_find_switch (f, "s1-0001");
    uint32_t to = fabric_find_switch (f, "s1-0002");
    uint32_t far = fabric_find_switch (f, "s5-0003");
    struct against *a;
    struct twin t;
    bool found = false;

    twin_make (&t, f);
    a = compare (f, &t);
    ok (is_clean (a) && a->switches == 36, "a dragonfly is as it is");
    against_destroy (a);
    twin_clear (&t);

    twin_make (&t, f);
    cut (&t, f, "s1-0001/3");
    a = compare (f, &t);
    for (size_t i = 0; i < a->nways; i++)
        found |= a->way[i].a == from && a->way[i].b == to
                 && a->way[i].hops == 1 && a->way[i].seen > 1;
    ok (found && a->nhosts == 0, "a cable that latencies do not see");
    against_destroy (a);
    twin_clear (&t);

    found = false;
    twin_make (&t, f);
    topology_add_edge (t.m, t.vertex[from], t.vertex[far], SWITCH_NS);
    a = compare (f, &t);
    for (size_t i = 0; i < a->nways; i++)
        found |= a->way[i].a == from && a->way[i].b == far
                 && a->way[i].seen == 1 && a->way[i].hops > 1;
    ok (found && a->nhosts == 0, "a cable that the snapshot has not");
    against_destroy (a);
    twin_clear (&t);
    fabric_destroy (f);
}

int main (void)
{
    test_same ();
    test_hosts ();
    test_some ();
    test_ways ();
    return done_testing ();
}
