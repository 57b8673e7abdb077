/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Signs: what grew, what lost lanes, and what does not count. */
#include "config.h"
#include "prolog/audit/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

enum { DAY = 24 * 3600 };

static struct fabric *fabric;
static const char **node_of;
static struct ledger *ledger;

#define SCOPE(id, time) \
    (&(struct signs_scope){ ledger, id, time, fabric, node_of })

static int64_t begin (int64_t time)
{
    static const char *const host[] = { "n1", "n2" };
    struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    char nonce[LEDGER_NONCE_BYTES];

    return ledger_begin (ledger, time, fabric->hash, &cause, host, 2, nonce,
                         NULL);
}

/* The port of an endpoint, as healthy as the snapshot knows it. */
static struct local_port port_of (uint32_t endpoint)
{
    const struct fabric_port *port
        = &fabric->port[fabric->endpoint[endpoint].port];
    const struct fabric_link *l = &fabric->link[port->link];
    struct local_port p = { .node_guid = fabric->node[port->node].guid,
                            .port = port->num,
                            .state = LOCAL_ACTIVE,
                            .phys_state = LOCAL_LINK_UP,
                            .rate = rates_of (l->width, l->speed) };

    for (size_t i = 0; i < LOCAL_COUNTERS; i++)
        p.has[i] = true;
    return p;
}

/* The signs of audits in turn. */
static void test_signs (void)
{
    static const struct {
        const char *what;
        int64_t time;
        uint64_t symbols, downed, wait; /* counters */
        unsigned int width;             /* 0: as it should be */
        const char *speed;              /* NULL: likewise */
        int signs;
    } tab[] = {
        { "the first look", 1000, 500, 7, 1, 0, NULL, 0 },
        { "nothing grew", 1060, 500, 7, 9999999, 0, NULL, 0 },
        { "one more is healthy", 1120, 501, 7, 9999999, 0, NULL, 0 },
        { "many are not", 1180, 601, 7, 0, 0, NULL, 1 },
        { "flaps", 1240, 601, 17, 0, 0, NULL, 1 },
        { "both are one sign", 1300, 701, 27, 0, 0, NULL, 1 },
        { "in a day as many are healthy", 1300 + DAY, 801, 27, 0, 0, NULL, 0 },
        { "a counter began anew", 1360 + DAY, 1, 0, 0, 0, NULL, 0 },
        { "and grew at once", 1420 + DAY, 0, 0, 0, 0, NULL, 0 },
        { "the clock was set back", 1, 2, 0, 0, 0, NULL, 0 },
        { "and it grows", 61, 200, 0, 0, 0, NULL, 1 },
        { "a counter at its end", 121, 65535, 0, 0, 0, NULL, 0 },
        { "lanes are lost", 181, 65535, 0, 0, 1, NULL, 1 },
        { "it is slower", 241, 65535, 0, 0, 0, "SDR", 1 },
        { "both", 301, 65535, 0, 0, 1, "SDR", 2 },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct local_port p = port_of (0);
        struct error err = { .text = "" };
        int64_t id = begin (tab[i].time);

        p.counter[LOCAL_SYMBOL_ERRORS] = tab[i].symbols;
        p.counter[LOCAL_LINK_DOWNED] = tab[i].downed;
        p.counter[LOCAL_XMIT_WAIT] = tab[i].wait;
        if (tab[i].width)
            p.rate.lanes = rates_of (tab[i].width, "").lanes;
        if (tab[i].speed)
            p.rate.speeds = rates_of (0, tab[i].speed).speeds;
        ok (signs_enter (SCOPE (id, tab[i].time), &p, 1, &err) == tab[i].signs,
            "%s: %d sign%s %s", tab[i].what, tab[i].signs,
            tab[i].signs == 1 ? "" : "s", err.text);
    }
}

static void test_entered (void)
{
    struct error err = { .text = "" };
    uint32_t link = fabric->port[fabric->endpoint[0].port].link;
    struct ledger_rows signs;

    ok (ledger_list (ledger, LEDGER_SIGNS, 0, 0, &signs, &err) == 0
            && signs.n > 0 && !strcmp (signs.sign[signs.n - 1].host, "n1")
            && !strcmp (signs.sign[signs.n - 1].link, fabric->link[link].id),
        "a sign is of a link and a node");
}

static void test_others (void)
{
    struct local_port p[]
        = { port_of (1), port_of (2), port_of (0), port_of (0) };
    struct error err = { .text = "" };
    int64_t id = begin (1000);
    json_t *audit;

    p[2].node_guid = 12345;
    p[3].port = 9;
    for (size_t i = 0; i < 4; i++)
        p[i].rate.lanes = rates_of (1, "").lanes;
    ok (signs_enter (SCOPE (id, 1000), p, 4, &err) == 1,
        "of four ports one is of the audit: %s", err.text);
    audit = ledger_audit (ledger, id, &err);
    ok (json_array_size (json_object_get (audit, "counters")) == LOCAL_COUNTERS
            && json_array_size (json_object_get (audit, "signs")) == 1,
        "and in the ledger");
    json_decref (audit);
    ok (signs_enter (SCOPE (id + 9, 1000), p, 1, &err) < 0, "no such audit: %s",
        err.text);
}

/* An adapter that lost lanes is remarked, one that is slow and idle is not. */
static void test_pcie (void)
{
    struct local_port p[] = { port_of (0), port_of (1), port_of (2) };
    struct pcie_rate full = { 16, 32000 }, half = { 8, 32000 },
                     idle = { 16, 2500 };
    struct error err = { .text = "" };
    struct verdict *v = verdict_create ();
    int64_t id = begin (1000), then;
    char port[24];
    uint64_t lanes = 0;

    for (size_t i = 0; i < 3; i++)
        p[i].pcie.could = full;
    p[0].pcie.now = p[2].pcie.now = half;
    p[1].pcie.now = idle;
    signs_remark_pcie (v, fabric, node_of, p, 3);
    ok (v->nlimits == 1 && v->status == VERDICT_OK
            && v->limit->kind == FACT_PCIE_LANES && v->limit->n[0] == 8
            && v->limit->n[1] == 16 && !strcmp (v->limit->name[0], "h0001"),
        "lost lanes of PCIe are a remark, of the audit's nodes alone");
    snprintf (port, sizeof (port), "%016jx/%u", (uintmax_t)p->node_guid,
              p->port);
    ok (signs_enter (SCOPE (id, 1000), p, 3, &err) == 0
            && ledger_counter_last (ledger, INT64_MAX, port, "PcieWidth",
                                    &lanes, &then, &err)
                   == 1
            && lanes == 8,
        "... no sign, and in the ledger: %s", err.text);
    verdict_destroy (v);
}

/* What a published check says, if it is of use. */
static void test_file (void)
{
    static const struct {
        const char *what;
        int64_t time;
        const char *findings; /* %s: a link of n1, of n2's, of another's */
        int signs;
        bool odd;
    } tab[] = {
        { "a sign of a node's link", 5000,
          "{\"link\":\"%s\",\"sign\":\"width\"},"
          "{\"link\":\"%s\",\"sign\":\"counter\"},"
          "{\"link\":\"%s\",\"sign\":\"speed\"}",
          2, false },
        { "none", 5000, "", 0, false },
        { "an old one", 5000 - SIGNS_MAX_AGE,
          "{\"link\":\"%s\",\"sign\":\"width\"}", 0, true },
        { "one of the future", 9000, "", 0, true },
        { "nonsense", 5000, "7", 0, true },
    };
    const char *link[3];
    struct error err = { .text = "" };
    struct check_signs waits;
    char odd[256];

    for (size_t i = 0; i < 3; i++)
        link[i] = fabric->link[fabric->port[fabric->endpoint[i].port].link].id;
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int64_t id = begin (5001);
        FILE *fp = fopen ("signs", "w");

        fprintf (fp,
                 "{\"kind\":\"link-check\",\"version\":1,"
                 "\"fabric\":\"%s\",\"time\":%jd,\"findings\":[",
                 fabric->hash, (intmax_t)tab[i].time);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        fprintf (fp, tab[i].findings, link[0], link[1], link[2]);
#pragma GCC diagnostic pop
        fprintf (fp, "],\"waits\":[{\"link\":\"%s\",\"sign\":\"wait\"}]}\n",
                 link[0]);
        fclose (fp);
        chmod ("signs", 0644);
        ok (signs_enter_file (SCOPE (id, 5001), "./signs", &waits, odd,
                              sizeof (odd), &err)
                    == tab[i].signs
                && (*odd != '\0') == tab[i].odd,
            "%s: %d sign%s %s", tab[i].what, tab[i].signs,
            tab[i].signs == 1 ? "" : "s", odd);
        check_clear_signs (&waits);
    }
    ok (signs_enter_file (SCOPE (1, 5001), "./none", &waits, odd, sizeof (odd),
                          &err)
                == 0
            && !*odd,
        "no file is no sign");
}

/* Waits of a published check are held against a verdict while they are new. */
static void test_waits (void)
{
    uint32_t link = fabric->port[fabric->endpoint[1].port].link;
    const enum verdict_status level[] = { VERDICT_UNKNOWN, VERDICT_FAIL };
    struct check_signs waits;
    struct error err;
    char odd[256];

    for (int old = 0; old < 2; old++) {
        FILE *fp = fopen ("waits", "w");
        struct finding f = { .level = VERDICT_FAIL,
                             .suspect = &link,
                             .nsuspects = 1,
                             .excess_ns = 1000,
                             .stderr_ns = 1,
                             .expected_ns = NAN };
        struct verdict v = { .status = VERDICT_FAIL,
                             .finding = &f,
                             .nfindings = 1,
                             .pool = pool_create () };

        fprintf (fp,
                 "{\"kind\":\"link-check\",\"version\":1,\"fabric\":"
                 "\"%s\",\"time\":1000,\"findings\":[],\"waits\":"
                 "[{\"link\":\"%s\",\"sign\":\"wait\"}]}\n",
                 fabric->hash, fabric->link[link].id);
        fclose (fp);
        chmod ("waits", 0644);
        signs_enter_file (SCOPE (1, 1000 + old + SIGNS_WAIT_AGE), "./waits",
                          &waits, odd, sizeof (odd), &err);
        corroborate (&v, waits.v, waits.n, NULL);
        check_clear_signs (&waits);
        ok (f.level == level[old] && v.status == level[old],
            "a switch's port waited: %s",
            old ? "too long ago" : "what it carries does not FAIL");
        pool_destroy (v.pool);
    }
    unlink ("waits");
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    char command[64];
    struct error err;

    fabric = generate_fat_tree (&tree, NULL);
    node_of = calloc (fabric->nendpoints, sizeof (*node_of));
    node_of[0] = "n1";
    node_of[1] = "n2";
    if (!mkdtemp (dir) || chdir (dir) < 0
        || !(ledger = ledger_open ("./ledger", LEDGER_CREATE, &err)))
        return 1;
    test_signs ();
    test_entered ();
    test_others ();
    test_pcie ();
    test_waits ();
    test_file ();
    ledger_close (ledger);
    fabric_destroy (fabric);
    free (node_of);
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    if (chdir ("/") < 0 || system (command) != 0)
        return 1;
    return done_testing ();
}
