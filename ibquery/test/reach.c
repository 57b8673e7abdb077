/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a part, against agents in this process: between the hosts it has the
 * paths of the whole, at a cost that is counted; a hint saves, and never lies.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/read/smp.h"
#include "ibquery/test/agents.h"
#include "ibquery/fabric.h"
#include "tests/tap.h"

enum { SEED = 20261122, MOST_HOSTS = 128 };

static struct mads_options options;
static struct mads_counts counts; /* of the last reading */

static struct agents *agents (const struct fabric *f, const char *from)
{
    struct agents *a = agents_create (f, from, SEED);

    if (!a)
        exit (1);
    options = mads_defaults;
    return a;
}

static struct fabric *tree (enum routing routing)
{
    const struct fat_tree t
        = { .ports = 8, .levels = 2, .how = { .routing = routing } };
    struct fabric *f = generate_fat_tree (&t, NULL);

    if (!f)
        exit (1);
    return f;
}

/* What a part is asked for: names of some hosts. */
struct job {
    const char *name[MOST_HOSTS];
    size_t n;
};

static struct fabric *read_part (struct agents *a, const struct job *job,
                                 const struct fabric *hint,
                                 struct error *err)
{
    const struct reach_hosts hosts = { job->name, job->n, hint };
    const struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&options, &wire, err);
    struct fabric *f;

    if (!m)
        return NULL;
    err->text[0] = '\0';
    f = reach_read (m, "test/1", NULL, &hosts, err);
    counts = mads_counts (m);
    mads_destroy (m);
    return f;
}

static struct fabric *read_whole (struct agents *a, struct error *err)
{
    const struct mads_wire wire = agents_wire (a);
    struct mads *m = mads_create (&options, &wire, err);
    struct fabric *f;

    if (!m)
        return NULL;
    f = steady_read (m, "test/1", NULL, NULL, NULL, err);
    counts = mads_counts (m);
    mads_destroy (m);
    return f;
}

/* n hosts in a row, or drawn. */
static struct job some (const struct fabric *f, size_t first, size_t n,
                        struct rng *rng)
{
    struct job job = { .n = n };
    uint32_t *order = malloc (f->nhosts * sizeof (*order));

    if (!order)
        exit (1);
    for (size_t i = 0; i < f->nhosts; i++)
        order[i] = i;
    if (rng)
        rng_shuffle (rng, order, f->nhosts);
    for (size_t i = 0; i < n; i++)
        job.name[i] = f->host[order[(first + i) % f->nhosts]].name;
    free (order);
    return job;
}

/* Whether two paths are the same cables in the same directions. */
static bool same_path (const struct fabric *f, const uint32_t *a, int na,
                       const struct fabric *g, const uint32_t *b, int nb)
{
    if (na < 0 || na != nb)
        return false;
    for (int i = 0; i < na; i++)
        if (a[i] % 2 != b[i] % 2
            || strcmp (f->link[arc_link (a[i])].id, g->link[arc_link (b[i])].id)
                   != 0)
            return false;
    return true;
}

/* Whether the part holds the hosts and nobody else, every path between them is
 * the whole's, and every cable, port and table entry is there for a path.
 */
static bool is_part (const struct fabric *part, const struct fabric *whole,
                     const struct job *job)
{
    bool *used = calloc (part->nlinks + 1, sizeof (*used));
    size_t nused = 0;
    bool good = used && part->part && part->nhosts == job->n;

    for (size_t i = 0; good && i < part->nends; i++) {
        uint32_t wf = fabric_find_end (whole, part->end[i].name);

        for (size_t k = 0; good && k < part->nends; k++) {
            uint32_t wk = fabric_find_end (whole, part->end[k].name);
            uint32_t a[PATH_MAX_HOPS], b[PATH_MAX_HOPS];
            int na, nb;

            if (part->end[i].endpoint == part->end[k].endpoint)
                continue;
            na = fabric_walk (part, i, k, a, NULL);
            nb = fabric_walk (whole, wf, wk, b, NULL);
            good = same_path (part, a, na, whole, b, nb);
            for (int h = 0; good && h < na; h++)
                used[arc_link (a[h])] = true;
        }
    }
    for (size_t i = 0; i < job->n; i++)
        good = good
               && fabric_find_host (part, job->name[i]) != FABRIC_NONE;
    for (size_t i = 0; good && i < part->nlinks; i++)
        nused += used[i];
    good = good && (job->n == 1 || nused == part->nlinks);
    free (used);
    return good;
}

/* MADs that no reading can do without: of a node, NodeDescription; of a
 * switch, SwitchInfo and PortInfo of port 0, and the blocks of its table that
 * the paths use; of a cable, NodeInfo from one end and PortInfo of both.
 */
static uint64_t least (const struct fabric *part)
{
    uint64_t n = part->nnodes + 3 * part->nlinks;

    for (size_t i = 0; i < part->nnodes; i++) {
        const struct fabric_node *node = &part->node[i];

        if (node->type != NODE_SWITCH)
            continue;
        n += 2;
        for (unsigned int b = 0; b <= node->lft_top; b += LFT_BLOCK) {
            bool any = false;

            for (unsigned int lid = b;
                 lid < b + LFT_BLOCK && lid <= node->lft_top; lid++)
                any |= node->lft[lid] != LFT_NO_ROUTE;
            n += any;
        }
    }
    return n;
}

/* Some hosts of a fabric: with a hint, without one, with losses. */
static void one_job (const struct fabric *f, const struct job *job,
                     const char *from, const char *what)
{
    struct agents *a = agents (f, from);
    struct error err = { 0 };
    struct fabric *by_hint = read_part (a, job, f, &err);
    uint64_t sent = counts.sent;
    struct fabric *alone = read_part (a, job, NULL, &err);
    struct fabric *noisy;

    a->loss = 20;
    noisy = read_part (a, job, f, &err);
    if (!ok (by_hint && is_part (by_hint, f, job),
             "%s: the paths of the whole", what))
        diag ("%s", err.text);
    ok (by_hint && alone && strcmp (by_hint->hash, alone->hash) == 0,
        "... without a hint, too");
    ok (by_hint && noisy && strcmp (by_hint->hash, noisy->hash) == 0,
        "... with losses, too");
    if (by_hint)
        diag ("%zu hosts: %zu switches, %d MADs, %d at least", job->n,
              by_hint->nnodes - by_hint->nhosts, (int)sent,
              (int)least (by_hint));
    fabric_destroy (by_hint);
    fabric_destroy (alone);
    fabric_destroy (noisy);
    agents_destroy (a);
}

static void any_fabric (void)
{
    struct rng rng;
    char what[64];

    rng_seed (&rng, SEED);
    for (int i = 0; i < 24; i++) {
        const struct choice how = {
            .routing = i % 3,
            .seed = i,
            .prune = i % 4 == 3 ? 15 : 0,
            .lmc = i % 5 == 4 ? 2 : 0,
        };
        const struct fat_tree tree = { .ports = 8, .levels = 3, .how = how };
        const struct dragonfly fly = { 2, 4, 2, how };
        const struct irregular net = { 20, 60, 5, how };
        struct fabric *f = i % 3 == 0 ? generate_fat_tree (&tree, NULL)
                           : i % 3 == 1 ? generate_dragonfly (&fly, NULL)
                                        : generate_irregular (&net, NULL);
        struct job job;

        if (!f)
            exit (1);
        job = some (f, 0, 1 + rng_below (&rng, 20), &rng);
        snprintf (what, sizeof (what), "%s, fabric %d", f->source, i);
        one_job (f, &job, i % 2 ? job.name[0] : NULL, what);
        fabric_destroy (f);
    }
}

/* A switch may read, too. */
static void from_switch (void)
{
    struct fabric *f = tree (ROUTING_DMODK), *part;
    const struct job job = some (f, 3, 9, NULL);
    struct agents *a = agents (f, NULL);
    struct error err;

    for (int level = 1; level <= 2; level++) {
        a->from = fabric_find_switch (f, level == 1 ? "s1-0004" : "s2-0001");
        part = read_part (a, &job, f, &err);
        if (!ok (part && is_part (part, f, &job), "from a switch of level %d",
                 level))
            diag ("%s", err.text);
        fabric_destroy (part);
    }
    agents_destroy (a);
    fabric_destroy (f);
}

/* Two planes that one cable joins, and hosts with a port on each. */
static struct fabric *planes (void)
{
    struct fabric *f = fabric_create ();
    struct error err = { 0 };
    uint8_t lft[16];
    char desc[16];

    memset (lft, LFT_NO_ROUTE, sizeof (lft));
    for (int s = 0; s < 2; s++) {
        snprintf (desc, sizeof (desc), "plane%d", s + 1);
        fabric_add_node (f, 0x100 + s, NODE_SWITCH, 6, desc, &err);
        fabric_set_switch_lid (f, s, 14 + s, &err);
    }
    for (int h = 0; h < 4; h++) {
        snprintf (desc, sizeof (desc), "h%d a", h + 1);
        fabric_add_node (f, 0x10 + h, NODE_CA, 2, desc, &err);
        fabric_set_port (f, 2 + h, 1, 0x20 + h, 1 + h, 0, &err);
        fabric_set_port (f, 2 + h, 2, 0x30 + h, 5 + h, 0, &err);
        fabric_add_cable (f, 2 + h, 1, 0, 1 + h, 4, "HDR", &err);
        fabric_add_cable (f, 2 + h, 2, 1, 1 + h, 4, "HDR", &err);
    }
    fabric_add_cable (f, 0, 5, 1, 5, 4, "HDR", &err);
    for (int s = 0; s < 2; s++) {
        for (int h = 0; h < 4; h++) {
            lft[1 + h] = s == 0 ? 1 + h : 5;
            lft[5 + h] = s == 1 ? 1 + h : 5;
        }
        fabric_set_lft (f, s, lft, 15, &err);
    }
    if (fabric_finish (f, &err) < 0) {
        diag ("%s", err.text);
        exit (1);
    }
    return f;
}

static void rails (void)
{
    const struct job job = { { "h1", "h3", "h4" }, 3 };
    struct fabric *f = planes (), *part;
    struct agents *a = agents (f, NULL);
    struct error err;

    part = read_part (a, &job, f, &err);
    ok (part && is_part (part, f, &job) && part->nendpoints == 6,
        "hosts of two rails, all of them");
    fabric_destroy (part);
    part = read_part (a, &job, NULL, &err);
    ok (part && is_part (part, f, &job) && part->nendpoints == 6,
        "... without a hint, too");
    fabric_destroy (part);
    agents_destroy (a);
    fabric_destroy (f);
}

/* What it costs, on 432 hosts; on 3,456 under PMM_LONG. */
static void cost (void)
{
    bool many = getenv ("PMM_LONG") != NULL;
    const struct fat_tree tree = { .ports = many ? 24 : 12, .levels = 3 };
    struct fabric *f = generate_fat_tree (&tree, NULL), *part;
    struct error err;
    struct agents *a;
    uint64_t whole;
    struct job job;
    struct rng rng;

    if (!f)
        exit (1);
    rng_seed (&rng, SEED);
    a = agents (f, NULL);
    fabric_destroy (read_whole (a, &err));
    whole = counts.sent;
    job = some (f, 0, many ? 64 : 12, NULL);
    part = read_part (a, &job, f, &err);
    ok (part && counts.sent * 100 <= whole * 3,
        "%zu of %zu hosts in a row: %.2f %% of the MADs of the whole", job.n,
        f->nhosts, 100.0 * counts.sent / whole);
    fabric_destroy (part);
    for (int i = 0; i < 3; i++) {
        job = some (f, 0, 64, &rng);
        part = read_part (a, &job, f, &err);
        ok (part && counts.sent * 10 <= least (part) * 13,
            "64 drawn: %d MADs, %.3f times the least, %.2f %% of the whole",
            (int)counts.sent, (double)counts.sent / least (part),
            100.0 * counts.sent / whole);
        fabric_destroy (part);
    }
    agents_destroy (a);
    fabric_destroy (f);
}

static struct fabric_port *port_of (struct fabric *f, const char *name)
{
    return &f->port[f->endpoint[fabric_find_endpoint (f, name)].port];
}

static void like (const char *got, const char *part, const char *name)
{
    if (!ok (strstr (got, part) != NULL, "%s", name))
        diag ("got: %s", got);
}

/* Hints that do not hold. */
enum lie {
    SWAPPED,   /* two of the job's hosts have each other's LID */
    MOVED,     /* one has the LID of a host that is not asked for */
    NOWHERE,   /* one has a LID that nobody has */
    A_SWITCH,  /* one has a switch's LID */
    BEYOND,    /* one has a LID that no table has */
    ONE_MORE,  /* one has two LIDs, the other being another's */
    ABSENT,    /* one is not known */
    LIES,
};

static void lie (struct fabric *hint, enum lie which)
{
    struct fabric_port *p = port_of (hint, "h0002");
    uint16_t lid = p->lid;

    switch (which) {
    case SWAPPED:
        p->lid = port_of (hint, "h0003")->lid;
        port_of (hint, "h0003")->lid = lid;
        break;
    case MOVED:
        p->lid = port_of (hint, "h0020")->lid;
        break;
    case NOWHERE:
        p->lid = hint->node[fabric_find_switch (hint, "s1-0001")].lft_top + 1;
        break;
    case A_SWITCH:
        p->lid = hint->node[fabric_find_switch (hint, "s2-0001")].lid;
        break;
    case BEYOND:
        p->lid = FABRIC_MAX_LID;
        break;
    case ONE_MORE:
        port_of (hint, "h0030")->lmc = 1;
        break;
    case ABSENT:
        strcpy (hint->host[fabric_find_host (hint, "h0002")].name, "h000");
        break;
    case LIES:
        break;
    }
}

static void lies (void)
{
    static const char *const name[LIES]
        = { "swapped", "moved",  "a LID that nobody has", "a switch's LID",
            "a LID beyond all tables", "a LID more", "an unknown host" };
    const struct job job = { { "h0001", "h0002", "h0003", "h0030" }, 4 };
    struct fabric *f = tree (ROUTING_DMODK);
    struct agents *a = agents (f, NULL);
    struct error err;

    for (enum lie i = 0; i < LIES; i++) {
        struct fabric *hint = tree (ROUTING_MINHOP);
        struct fabric *part;

        lie (hint, i);
        part = read_part (a, &job, hint, &err);
        if (!ok (part && is_part (part, f, &job),
                 "a hint that lies, %s: %d MADs", name[i], (int)counts.sent))
            diag ("%s", err.text);
        fabric_destroy (part);
        fabric_destroy (hint);
    }
    agents_destroy (a);
    fabric_destroy (f);
}

/* Jobs that cannot be read. */
static void refused (void)
{
    const struct job job = { { "h0001", "h0002", "h0030" }, 3 };
    const struct job gone = { { "h0001", "h0031", "h0099" }, 3 };
    struct fabric *f = tree (ROUTING_DMODK);
    struct agents *a = agents (f, NULL);
    uint32_t leaf = fabric_find_switch (f, "s1-0001");
    unsigned int lid = port_of (f, "h0030")->lid;
    uint8_t *entry = &f->node[leaf].lft[lid], out = *entry;
    struct fabric *part, *hint = tree (ROUTING_DMODK);
    struct error err;
    uint64_t places;

    part = read_part (a, &gone, NULL, &err);
    like (err.text, "not in the fabric: h0099", "a host that is not there");
    places = counts.sent;
    strcpy (hint->host[hint->nhosts - 1].name, "h0099");
    part = read_part (a, &gone, hint, &err);
    like (err.text, "not in the fabric: h0099",
          "... that a hint has, at another's LID");
    ok (counts.sent < places * 3 / 2, "... after two looks: %d MADs",
        (int)counts.sent);
    *entry = LFT_NO_ROUTE;
    part = read_part (a, &job, f, &err);
    like (err.text, "switch s1-0001 (", "a switch without a route");
    like (err.text, ") has no route to LID", "... says so");
    *entry = 1;
    part = read_part (a, &job, f, &err);
    like (err.text, "which does not have it", "a route to another's port");
    *entry = out;
    f->node[fabric_find_switch (f, "s2-0001")].lft[lid] = 1;
    f->node[fabric_find_switch (f, "s2-0002")].lft[lid] = 1;
    f->node[fabric_find_switch (f, "s2-0003")].lft[lid] = 1;
    f->node[fabric_find_switch (f, "s2-0004")].lft[lid] = 1;
    part = read_part (a, &job, f, &err);
    like (err.text, "is sent in a loop", "a loop");
    fabric_destroy (f);
    agents_destroy (a);

    f = tree (ROUTING_DMODK);
    a = agents (f, NULL);
    agents_node (a, "s1-0008")->loss = 100;
    part = read_part (a, &job, f, &err);
    like (err.text, "no answer", "a leaf that does not answer");
    agents_node (a, "s1-0008")->loss = 0;
    for (size_t i = 0; i < f->nnodes; i++)
        a->node[i].mkey = f->node[i].type == NODE_SWITCH ? 7 : 0;
    part = read_part (a, &job, f, &err);
    like (err.text, "M_Key", "no M_Key");
    options.mkey = 7;
    part = read_part (a, &job, f, &err);
    ok (part && is_part (part, f, &job), "the M_Key");
    fabric_destroy (part);
    options.max = 30;
    part = read_part (a, &job, f, &err);
    like (err.text, "more than 30 MADs", "a limit of MADs");
    options.max = 0;
    options.deadline_ms = 1;
    part = read_part (a, &job, f, &err);
    like (err.text, "not done within 1 ms", "a deadline");
    agents_destroy (a);
    fabric_destroy (hint);
    fabric_destroy (f);
}

/* At the k-th MAD, the fabric becomes another. */
struct turn {
    uint64_t at;
    const struct fabric *other;
};

static bool turn (struct agents *a, const struct agents_request *r, void *arg)
{
    const struct turn *t = arg;

    if (r->number == t->at && agents_become (a, t->other) < 0)
        exit (1);
    return true;
}

/* Torn at every MAD, the part is of one fabric or the other. */
static void torn (const struct fabric *f, const struct fabric *g,
                  const struct fabric *hint, bool no_sm, const char *name)
{
    const struct job job = { { "h0002", "h0003", "h0030" }, 3 };
    struct turn t = { .other = g };
    size_t first = 0, second = 0, none = 0, wrong = 0;
    uint64_t last;

    do {
        struct agents *a = agents (f, NULL);
        struct error err;
        struct fabric *part;

        t.at++;
        a->before = turn;
        a->arg = &t;
        if (no_sm)
            agents_node (a, f->host[0].name)->sm.state = 0;
        part = read_part (a, &job, hint, &err);
        if (!part)
            none++;
        else if (is_part (part, g, &job))
            second++;
        else if (is_part (part, f, &job))
            first++;
        else
            wrong++;
        last = a->sent;
        fabric_destroy (part);
        agents_destroy (a);
    } while (t.at <= last);
    ok (wrong == 0 && none == 0 && first <= second,
        "%s: torn at none of %zu MADs: %zu times as it was, %zu as it is",
        name, first + second + none + wrong, first, second);
}

static void all_torn (void)
{
    struct fat_tree t
        = { .ports = 8, .levels = 2, .how = { .seed = 3 } };
    struct fabric *f = tree (ROUTING_DMODK), *g = tree (ROUTING_MINHOP);

    torn (f, g, f, false, "other tables");
    torn (f, g, f, true, "other tables, no subnet manager");
    fabric_destroy (g);
    t.how.prune = 5;
    g = generate_fat_tree (&t, NULL);
    torn (f, g, f, false, "less of it, other LIDs");
    torn (g, f, g, false, "more of it, other LIDs");
    torn (f, g, NULL, false, "less of it, no hint");
    fabric_destroy (f);
    fabric_destroy (g);
}

int main (void)
{
    lies ();
    refused ();
    all_torn ();
    from_switch ();
    rails ();
    any_fabric ();
    cost ();
    return done_testing ();
}
