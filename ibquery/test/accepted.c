/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings that a site has accepted: notes as long as they stay as they are. */
#include "config.h"
#include "ibquery/links/accepted.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

static char dir[] = "/tmp/pmm-accepted.XXXXXX";
static char path[64];

/* A fabric of HDR, in which h0001's cable runs at another rate. */
static struct fabric *model (unsigned int width, const char *speed)
{
    const struct fat_tree tree = { .ports = 8, .levels = 2 };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    struct fabric_link *l = &f->link[fabric_find_link (f, "h0001/1")];

    l->width = width;
    strcpy (l->speed, speed);
    return f;
}

/* Hosts n0 to n9 with a rail each at four leaves; n7 has lost so many. */
static struct fabric *railed (unsigned int lost)
{
    struct fabric *f = fabric_create ();
    struct error err = { 0 };
    uint32_t node = 4;

    for (unsigned int r = 0; r < 4; r++) {
        fabric_add_node (f, 0x100 + r, NODE_SWITCH, 16, "leaf", &err);
        fabric_set_switch_lid (f, r, r + 1, &err);
    }
    for (unsigned int h = 0; h < 10; h++)
        for (unsigned int r = 0; r < 4 - (h == 7 ? lost : 0); r++) {
            char desc[32];

            snprintf (desc, sizeof (desc), "n%u mlx5_%u", h, r);
            fabric_add_node (f, 0x1000 + 16 * h + r, NODE_CA, 1, desc, &err);
            fabric_set_port (f, node, 1, 0x1000 + 16 * h + r, node + 1, 0,
                             &err);
            fabric_add_cable (f, node++, 1, r, h + 1, 4, "HDR", &err);
        }
    if (*err.text || fabric_finish (f, &err) < 0)
        diag ("%s", err.text);
    return f;
}

/* Check it as the file at path says; *err is of that file. */
static struct link_check *check (const struct fabric *f,
                                 const struct counters *before,
                                 const struct counters *now,
                                 struct error *err)
{
    struct link_check *c = check_links (f, before, now, err);
    struct accepted a;

    *err = (struct error){ 0 };
    if (accepted_load (&a, path, err) == 0)
        accepted_apply (&a, c, f);
    accepted_clear (&a);
    return c;
}

static size_t accept_link (const struct fabric *f, const char *link,
                           const struct counters *before,
                           const struct counters *now)
{
    struct link_check *c;
    struct accepted a;
    struct error err;
    size_t n;

    c = check_links (f, before, now, &err);
    ok (accepted_load (&a, path, &err) == 0, "the file can be read");
    n = accepted_add (&a, c, f, fabric_find_link (f, link), 1700000000, "root",
                      "old cable");
    ok (accepted_save (&a, path, &err) == 0, "... and written");
    accepted_clear (&a);
    check_destroy (c);
    return n;
}

/* A cable at SDR is accepted; other rates are told again. */
static void example (void)
{
    static const struct {
        unsigned int width;
        const char *speed;
        size_t findings, notes;
    } rows[] = {
        { 4, "SDR", 0, 1 },
        { 1, "SDR", 2, 0 },
        { 1, "HDR", 1, 0 },
        { 4, "HDR", 0, 0 },
    };
    struct fabric *f = model (4, "SDR");
    struct link_check *c;
    struct accepted a;
    struct error err;

    ok (accept_link (f, "h0002/1", NULL, NULL) == 0, "nothing is found there");
    ok (accept_link (f, "h0001/1", NULL, NULL) == 1
            && accept_link (f, "h0001/1", NULL, NULL) == 1,
        "a finding is accepted, once");
    fabric_destroy (f);
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        f = model (rows[i].width, rows[i].speed);
        c = check (f, NULL, NULL, &err);
        ok (c->nfindings == rows[i].findings && c->nnotes == rows[i].notes
                && (check_status (c) == VERDICT_FAIL) == (c->nfindings > 0),
            "%ux%s: %s%s", rows[i].width, rows[i].speed,
            c->nnotes ? c->note[0] : "", err.text);
        if (i == 0)
            ok (strncmp (c->note[0], "accepted by root on 2023-11-14: old "
                                     "cable: h0001 mlx5_0/1 -- s1-0001/1", 69)
                    == 0,
                "... says who, when, why and where");
        check_destroy (c);
        fabric_destroy (f);
    }
    ok (accepted_load (&a, path, &err) == 0 && a.n == 1
            && accepted_remove (&a, "0002c90000000020/1") == 0
            && accepted_remove (&a, a.v[0].port[1]) == 1 && a.n == 0,
        "it is undone by either port");
    accepted_clear (&a);
}

/* A host that lacks a rail, until it lacks another one. */
static void test_rails (void)
{
    static const struct {
        unsigned int lost;
        size_t fewer;
        const char *note;
    } rows[] = {
        { 1, 0, "accepted by root on 2023-11-14: sold: n7 has 3 of 4 rails" },
        { 2, 2, NULL },
        { 0, 0, NULL },
    };
    char snapshot[sizeof (dir) + 16];
    struct rails_fewer *list;
    struct accepted a;
    struct error err;

    snprintf (snapshot, sizeof (snapshot), "%s/fabric", dir);
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct fabric *f = railed (rows[i].lost);
        struct link_check *c;
        uint32_t host = fabric_find_host (f, "n7");

        if (i == 0) {
            c = check_links (f, NULL, NULL, &err);
            accepted_load (&a, path, &err);
            ok (accepted_add_rails (&a, c, f, host - 1, 1, "x", NULL) == 0
                    && accepted_add_rails (&a, c, f, host, 1700000000, "root",
                                           "sold") == 1
                    && accepted_save (&a, path, &err) == 0,
                "the rails that a host lacks are accepted");
            accepted_clear (&a);
            check_destroy (c);
        }
        c = check (f, NULL, NULL, &err);
        ok (c->nfewer == rows[i].fewer && c->nnotes == (rows[i].note ? 1 : 0)
                && (!rows[i].note || !strcmp (c->note[0], rows[i].note)),
            "%u lost: %s%s", rows[i].lost, c->nnotes ? c->note[0] : "",
            err.text);
        check_destroy (c);
        ok (accepted_fewer (f, snapshot, &list) == rows[i].fewer,
            "... as others are told");
        free (list);
        fabric_destroy (f);
    }
    ok (accepted_load (&a, path, &err) == 0 && accepted_remove (&a, "n1") == 0
            && accepted_remove (&a, "n7") == 1 && a.n == 1,
        "... and no longer");
    accepted_save (&a, path, &err);
    accepted_clear (&a);
}

/* Of links in doubt, too; another cable at the port is told again. */
static void test_doubt (void)
{
    struct fabric *f = model (4, "EDR");
    struct link_check *c;
    struct accepted a;
    struct error err;

    for (size_t i = 0; i < f->nnodes; i++)
        f->node[i].device = f->node[i].type;
    c = check (f, NULL, NULL, &err);
    ok (check_status (c) == VERDICT_UNKNOWN && c->ndoubts == 1,
        "a link is in doubt: %s", c->doubt[0].why);
    check_destroy (c);
    ok (accept_link (f, "h0001/1", NULL, NULL) == 1, "... and accepted");
    c = check (f, NULL, NULL, &err);
    ok (check_status (c) == VERDICT_OK && c->ndoubts == 0 && c->nnotes == 1,
        "... then it is a note");
    check_destroy (c);
    accepted_load (&a, path, &err);
    strcpy (a.v[a.n - 1].port[1], "0002c90100000020/1");
    accepted_save (&a, path, &err);
    accepted_clear (&a);
    c = check (f, NULL, NULL, &err);
    ok (check_status (c) == VERDICT_UNKNOWN, "... not at another port");
    check_destroy (c);
    fabric_destroy (f);
}

static struct counters *reading (const struct fabric *f, int64_t when,
                                 uint64_t recoveries)
{
    const struct fabric_port *p = &f->port[fabric_find_port (f, "h0003/1")];
    struct counters *c = counters_create ();
    struct port_counters *at;
    struct error err;

    c->time = when;
    at = counters_add (c, f->node[p->node].guid, p->num, &err);
    at->told = (1U << COUNTERS) - 1;
    at->value[COUNTER_LINK_RECOVERY] = recoveries;
    counters_sort (c, &err);
    return c;
}

/* A counter may grow as fast as was accepted. */
static void test_counter (void)
{
    static const struct {
        uint64_t count;
        size_t findings;
    } rows[] = { { 200, 0 }, { 150, 0 }, { 201, 1 } };
    struct fabric *f = model (4, "HDR");
    struct counters *then = reading (f, 1000, 0);
    struct counters *now = reading (f, 1000 + 3600, 200);

    ok (accept_link (f, "h0003/1", then, now) == 1, "a counter is accepted");
    counters_destroy (now);
    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct link_check *c;
        struct error err;

        now = reading (f, 1000 + 3600, rows[i].count);
        c = check (f, then, now, &err);
        ok (c->nfindings == rows[i].findings, "... of %d: %s",
            (int)rows[i].count,
            c->nnotes ? c->note[0] : c->finding[0].why);
        check_destroy (c);
        counters_destroy (now);
    }
    counters_destroy (then);
    fabric_destroy (f);
}

/* Files that are refused, with the line. */
static void test_file (void)
{
    static const char *const rows[] = {
        "pmm-accepted 2\n",
        "pmm-accepted 1\naccept 1/1\n",
        ("pmm-accepted 1\naccept 0002c90000000010/1 0002c90100000010/1 speed "
         "4xSDR yesterday root\n"),
        "pmm-accepted 1\naccept 0002c90000000010/1 0002c90100000010/1 speed\n",
        "pmm-accepted 1\n",
    };
    struct error err;
    struct accepted a;

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        FILE *fp = fopen (path, "w");

        fputs (rows[i], fp);
        fclose (fp);
        ok (accepted_load (&a, path, &err) < 0 && strstr (err.text, path),
            "%s", err.text);
        accepted_clear (&a);
    }
}

int main (void)
{
    if (!mkdtemp (dir))
        return 1;
    snprintf (path, sizeof (path), "%s/fabric.accepted", dir);
    example ();
    test_rails ();
    test_doubt ();
    test_counter ();
    test_file ();
    unlink (path);
    rmdir (dir);
    return done_testing ();
}
