/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ports of several LIDs: their names, their paths, what they are good for. */
#include "config.h"
#include "ibquery/fabric.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/plan/plan.h"
#include "core/plan/rref.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"

enum { EXTRA = 2 };

static struct fabric *tree (unsigned int ports, unsigned int levels,
                            enum routing routing, unsigned int lmc)
{
    const struct fat_tree t = {
        .ports = ports,
        .levels = levels,
        .how = { .routing = routing, .seed = 1, .lmc = lmc },
    };
    struct error err = { 0 };
    struct fabric *f = generate_fat_tree (&t, &err);

    if (!f) {
        printf ("Bail out! %s\n", err.text);
        exit (1);
    }
    return f;
}

static void names (void)
{
    static const struct {
        const char *name;
        const char *end; /* NULL: there is none */
        uint16_t lid;
    } rows[] = {
        { "h0001", "h0001", 4 },       { "h0001~0", "h0001", 4 },
        { "h0001~1", "h0001~1", 5 },   { "h0002~3", "h0002~3", 11 },
        { "h0002:1~3", "h0002~3", 11 }, { "h0002~4", NULL, 0 },
        { "h0002~", NULL, 0 },         { "h0002~-1", NULL, 0 },
        { "h0002~1~1", NULL, 0 },      { "h0002:2~1", NULL, 0 },
        { "~1", NULL, 0 },
    };
    struct fabric *f = tree (4, 2, ROUTING_DMODK, 2);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        uint32_t id = fabric_find_end (f, rows[i].name);

        ok (rows[i].end ? id != FABRIC_NONE && f->end[id].lid == rows[i].lid
                              && !strcmp (f->end[id].name, rows[i].end)
                        : id == FABRIC_NONE,
            "%s is %s", rows[i].name, rows[i].end ? rows[i].end : "nothing");
    }
    ok (f->nends == 4 * f->nendpoints, "four ends for each endpoint");
    fabric_destroy (f);
}

static void sets (void)
{
    static const struct {
        const char *name[2];
        size_t n;
        struct pathset *(*make) (const struct fabric *f,
                                 const char *const *name, size_t n,
                                 struct error *err);
        size_t size, ports;
        const char *last;
    } rows[] = {
        { { "h0001", "h0002" }, 2, fabric_pathset, 2, 2, "h0002" },
        { { "h0001", "h0002" }, 2, fabric_pathset_lids, 8, 2, "h0002~3" },
        { { "h0001~2", "h0002" }, 2, fabric_pathset_lids, 5, 2, "h0002~3" },
        { { "h0001~2", "h0001" }, 2, fabric_pathset, 2, 1, "h0001" },
        { { NULL }, 0, fabric_pathset, 8, 8, "h0008" },
        { { NULL }, 0, fabric_pathset_lids, 32, 8, "h0008~3" },
        { { "h0001~2", "h0001" }, 2, fabric_pathset_lids, 0, 0, NULL },
        { { "h0001~0", "h0001" }, 2, fabric_pathset, 0, 0, NULL },
    };
    struct fabric *f = tree (4, 2, ROUTING_DMODK, 2);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct error err = { 0 };
        struct pathset *ps = rows[i].make (f, rows[i].name, rows[i].n, &err);

        ok (rows[i].size > 0
                ? ps && pathset_size (ps) == rows[i].size
                      && pathset_ports (ps) == rows[i].ports
                      && !strcmp (pathset_endpoint (ps, rows[i].size - 1)
                                      ->name, rows[i].last)
                : !ps && strstr (err.text, "is there twice"),
            "set %zu: %s", i, ps ? "made" : err.text);
        pathset_destroy (ps);
    }
    fabric_destroy (f);
}

/* Follow a LID through the tables, knowing nothing of walk. Returns the number
 * of links, -1 where they lead elsewhere.
 */
static int follow (const struct fabric *f, uint32_t port, uint16_t lid,
                   uint32_t at, uint32_t *link)
{
    for (int n = 0; n < PATH_MAX_HOPS;) {
        const struct fabric_link *l = &f->link[f->port[port].link];
        uint32_t far = l->a == port ? l->b : l->a;
        const struct fabric_node *sw = &f->node[f->port[far].node];

        link[n++] = f->port[port].link;
        if (far == at)
            return n;
        if (sw->type != NODE_SWITCH)
            return -1;
        port = sw->first_port + sw->lft[lid] - 1;
    }
    return -1;
}

/* Every path of all pairs of ends is what the tables say. */
static void paths (void)
{
    for (enum routing r = ROUTING_DMODK; r <= ROUTING_RANDOM; r++) {
        struct fabric *f = tree (8, 2, r, 2);
        size_t wrong = 0, own = 0, differ = 0;

        for (uint32_t a = 0; a < f->nends; a++)
            for (uint32_t b = 0; b < f->nends; b++) {
                uint32_t from = f->endpoint[f->end[a].endpoint].port;
                uint32_t to = f->endpoint[f->end[b].endpoint].port;
                uint32_t link[PATH_MAX_HOPS], arc[PATH_MAX_HOPS];
                struct error err;
                int n = fabric_walk (f, a, b, arc, &err);

                if (from == to) {
                    own += n != 0;
                    continue;
                }
                wrong += n != follow (f, from, f->end[b].lid, to, link);
                for (int k = 0; k < n; k++)
                    wrong += arc_link (arc[k]) != link[k];
                n = fabric_walk (f, a, f->end[b].endpoint, arc, &err);
                for (int k = 0; k < n; k++)
                    differ += arc_link (arc[k]) != link[k];
            }
        ok (wrong == 0, "%s: %zu ends' paths are the tables'",
            routing_names[r], f->nends);
        ok (own == 0, "... none leads from a port to itself");
        ok (differ > 0, "... and to other LIDs they are others");
        fabric_destroy (f);
    }
}

/* Links that the basis rounds determine, not only in groups. */
static size_t resolved (struct pathset *ps, const struct plan *plan)
{
    struct rref *rref = rref_create (plan_links (plan));
    struct error err;
    size_t count = 0;

    for (size_t r = 0; r < plan_basis_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            struct row row;

            pathset_row (ps, p[i].a, p[i].b, &row, &err);
            for (size_t k = 0; k < row.n; k++)
                row.link[k] = pathset_column (ps, row.link[k]);
            rref_add (rref, row.link, row.count, row.n);
        }
    }
    rref_reduce (rref);
    for (size_t i = 0; i < rref_rank (rref); i++) {
        size_t n;

        rref_row (rref, i, &n);
        count += n == 1;
    }
    rref_destroy (rref);
    return count;
}

/* The rank of all pairs, by eliminating every row there is. */
static size_t full_rank (struct pathset *ps)
{
    struct error err;
    size_t m;
    struct rref *rref;
    size_t rank;

    pathset_links (ps, &m, &err);
    rref = rref_create (m);
    for (size_t a = 0; a < pathset_size (ps); a++)
        for (size_t b = a + 1; b < pathset_size (ps); b++) {
            struct row row;

            pathset_row (ps, a, b, &row, &err);
            for (size_t k = 0; k < row.n; k++)
                row.link[k] = pathset_column (ps, row.link[k]);
            rref_add (rref, row.link, row.count, row.n);
        }
    rank = rref_rank (rref);
    rref_destroy (rref);
    return rank;
}

/* Two hosts on each of five leaves: what they resolve grows with the LMC. */
static void plans (void)
{
    static const char *const job[] = {
        "h0001", "h0002", "h0007", "h0008", "h0013",
        "h0014", "h0019", "h0020", "h0031", "h0032",
    };
    static const size_t n = sizeof (job) / sizeof (job[0]);
    const struct plan_options opts = { .extra_rounds = EXTRA, .seed = 1 };

    for (enum routing r = ROUTING_DMODK; r <= ROUTING_RANDOM; r++) {
        size_t rank = 0, alone = 0, rank_before = 0, alone_before = 0;

        for (unsigned int lmc = 0; lmc <= 3; lmc++) {
            struct fabric *f = tree (12, 2, r, lmc);
            struct error err = { 0 };
            struct pathset *ps = fabric_pathset_lids (f, job, n, &err);
            struct plan *plan = plan_make (ps, &opts, &err);

            if (!ok (plan && plan_check (ps, plan, &err) == 0,
                     "%s, LMC %u: a plan that holds: %s", routing_names[r],
                     lmc, err.text)) {
                plan_destroy (plan);
                pathset_destroy (ps);
                fabric_destroy (f);
                continue;
            }
            rank = plan_rank (plan);
            alone = resolved (ps, plan);
            diag ("%zu hosts, LMC %u: %zu links, rank %zu, %zu links resolved,"
                  " %zu rounds", n, lmc, plan_links (plan), rank, alone,
                  plan_rounds (plan));
            ok (rank == full_rank (ps), "... of the rank of all rows");
            ok (rank >= rank_before && alone >= alone_before
                    && (lmc != 1 || (rank > rank_before
                                     && alone > alone_before)),
                "... that resolves more");
            rank_before = rank;
            alone_before = alone;
            plan_destroy (plan);
            pathset_destroy (ps);
            fabric_destroy (f);
        }
    }
}

static bool same_plan (const struct plan *x, const struct plan *y)
{
    if (plan_rounds (x) != plan_rounds (y) || plan_rank (x) != plan_rank (y)
        || plan_basis_rounds (x) != plan_basis_rounds (y))
        return false;
    for (size_t r = 0; r < plan_rounds (x); r++) {
        size_t n, m;
        const struct probe *p = plan_round (x, r, &n);
        const struct probe *q = plan_round (y, r, &m);

        if (n != m || memcmp (p, q, n * sizeof (*p)) != 0)
            return false;
    }
    return true;
}

/* By the first LIDs alone all is as if there were no others: the same plan. */
static void base (void)
{
    const struct plan_options opts = { .extra_rounds = EXTRA, .seed = 1 };

    for (enum routing r = ROUTING_DMODK; r <= ROUTING_RANDOM; r++) {
        struct plan *plan[2];

        for (int i = 0; i < 2; i++) {
            struct fabric *f = tree (8, 3, r, i == 0 ? 0 : 2);
            struct error err;
            struct pathset *ps = fabric_pathset (f, NULL, 0, &err);

            plan[i] = ps ? plan_make (ps, &opts, &err) : NULL;
            pathset_destroy (ps);
            fabric_destroy (f);
        }
        ok (plan[0] && plan[1] && same_plan (plan[0], plan[1]),
            "%s: the first LIDs' plan is that of LMC 0", routing_names[r]);
        plan_destroy (plan[0]);
        plan_destroy (plan[1]);
    }
}

/* What the checker must not let pass: add a probe to a sound plan, in a round
 * of its own or in the first.
 */
static void faults (void)
{
    static const char *const job[] = { "h0001", "h0002", "h0005", "h0006" };
    static const struct {
        const char *a, *b;
        bool first;
        const char *sentence; /* NULL: it is sound */
    } rows[] = {
        { "h0001~1", "h0006~1", false, NULL },
        { "h0001", "h0001~1", false, "is in two probes" },
        { "h0001~1", "h0006~1", true, "is in two probes" },
    };
    const struct plan_options opts = { .seed = 1 };
    struct fabric *f = tree (4, 2, ROUTING_DMODK, 1);
    struct error err = { 0 };
    struct pathset *ps = fabric_pathset_lids (f, job, 4, &err);

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct plan *plan = plan_make (ps, &opts, &err);
        int rc;

        plan_add (plan, rows[i].first ? 0 : plan_rounds (plan),
                  pathset_find (ps, rows[i].a), pathset_find (ps, rows[i].b));
        rc = plan_check (ps, plan, &err);
        ok (rows[i].sentence ? rc < 0 && strstr (err.text, rows[i].sentence)
                             : rc == 0,
            "%s to %s: %s", rows[i].a, rows[i].b, rc < 0 ? err.text : "sound");
        plan_destroy (plan);
    }
    pathset_destroy (ps);
    fabric_destroy (f);
}

/* A plan with other LIDs in it, as a file and back. */
static void file (void)
{
    const struct plan_options opts = { .extra_rounds = EXTRA, .seed = 1 };
    struct fabric *f = tree (4, 2, ROUTING_RANDOM, 1);
    struct error err = { 0 };
    struct pathset *ps = fabric_pathset_lids (f, NULL, 0, &err);
    struct plan *plan = plan_make (ps, &opts, &err);
    struct pathset *again_ps = NULL;
    struct plan *again = NULL;
    FILE *fp = tmpfile ();

    if (ok (plan && fp && plan_write (plan, ps, NULL, fp, &err) == 0,
            "a plan is written")) {
        rewind (fp);
        again = plan_read (fp, "it", f->hash, fabric_resolve, f, &again_ps,
                           &err);
        ok (again && plan_check (again_ps, again, &err) == 0
                && plan_probes (again) == plan_probes (plan)
                && pathset_size (again_ps) == pathset_size (ps),
            "... and read: %s", again ? "the same" : err.text);
    }
    if (fp)
        fclose (fp);
    plan_destroy (again);
    pathset_destroy (again_ps);
    plan_destroy (plan);
    pathset_destroy (ps);
    fabric_destroy (f);
}

int main (void)
{
    names ();
    sets ();
    paths ();
    plans ();
    base ();
    faults ();
    file ();
    return done_testing ();
}
