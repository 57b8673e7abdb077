/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is published of the nodes of an audit, and as metrics; the latter stay
 * in FILE if that is given.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "ibquery/nodemap.h"
#include "ibquery/ports.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"

enum { HOSTS = 4 };

static struct error err;
static struct ledger_pruned done;
static struct ledger *ledger;
static struct service_state state;
static struct service service = {
    .site = { .verdicts = "verdicts", .metrics = "metrics.prom",
              .snapshot = "/nonexistent/fabric" },
};
static struct pathset *ps;
static struct plan *plan;
static int64_t when = 101; /* audits end */

static uint32_t link_of (uint32_t host)
{
    const struct fabric *f = service.fabric;

    return f->port[f->endpoint[f->host[host].first].port].link;
}

/* An audit that is UNKNOWN for a limit, or a finding of these hosts, "13" ("r1":
 * of what they carry), or did not judge these.
 */
static int64_t record (bool limited, const char *found, const char *open)
{
    static const struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    struct simulate_options opts = { .noise_ns = 5, .repeats = 3, .seed = 1 };
    struct fabric *f = service.fabric;
    double *latency = calloc (f->nlinks, sizeof (*latency));
    struct verdict *v = verdict_create ();
    struct samples *s = simulate (ps, plan, latency, &opts, &err);
    uint32_t arc = 2 * link_of (0);
    /* the first host sends less */
    bool up = f->port[f->link[arc / 2].a].node
              == f->port[f->endpoint[0].port].node;
    struct verdict_rate rate[] = { { arc, up ? 8e9 : 16e9, 16e9 },
                                   { arc + 1, up ? 16e9 : 8e9, 16e9 } };
    const char *host[HOSTS];
    int64_t id;

    for (size_t i = 0; i < HOSTS; i++)
        host[i] = f->host[i].name;
    if (limited)
        verdict_limit (v, VERDICT_UNKNOWN, fact_said ("it was not to be told"));
    if (*found) {
        verdict_add (v, VERDICT_FAIL, BASIS_BASELINE);
        if (*found == 'r') {
            v->finding->rate_bits = 8e9;
            v->finding->rate_expected_bits = 16e9;
            found++;
        }
        else {
            v->finding->excess_ns = 412;
            v->finding->stderr_ns = 20;
            v->finding->expected_ns = 131;
        }
        finding_add_fact (v, v->finding, fact_said ("it is slow"));
        v->status = VERDICT_FAIL;
    }
    for (; *found; found++)
        verdict_add_number (v, &v->finding->suspect, &v->finding->nsuspects,
                            link_of ((uint32_t)(*found - '1')));
    v->rate = rate;
    v->nrates = 2;
    for (; *open; open++)
        verdict_add_number (v, &v->open, &v->nopen,
                            link_of ((uint32_t)(*open - '1')));
    ledger_begin (ledger, when - 1, f->hash, &cause, host, HOSTS,
                  s->nonce, &err);
    id = ledger_record (ledger, when, ps, s, v, "says", &err);
    samples_destroy (s);
    verdict_destroy (v);
    free (latency);
    return id;
}

/* "OK FAIL": of nodes, as published. */
static const char *published (void)
{
    static char all[256];
    char line[512], status[16];
    FILE *fp = fopen ("verdicts", "r");

    *all = '\0';
    while (fp && fgets (line, sizeof (line), fp))
        if (sscanf (line, "node %*s %15s", status) == 1)
            sprintf (all + strlen (all), "%s%s", *all ? " " : "", status);
    if (fp)
        fclose (fp);
    return all;
}

/* The values of a metric whose lines contain `label`, a pattern. */
static const char *metrics (const char *name, const char *label)
{
    static char all[1024];
    FILE *fp = fopen (service.site.metrics, "r");
    size_t len = strlen (name);
    char line[1024], pattern[128];

    *all = '\0';
    snprintf (pattern, sizeof (pattern), "*%s*", label);
    while (fp && fgets (line, sizeof (line), fp))
        if (!strncmp (line, name, len) && (line[len] == '{' || line[len] == ' ')
            && fnmatch (pattern, line, FNM_NOESCAPE) == 0) {
            line[strcspn (line, "\n")] = '\0';
            sprintf (all + strlen (all), "%s%s", *all ? " " : "",
                     strrchr (line, ' ') + 1);
        }
    if (fp)
        fclose (fp);
    return all;
}

/* The cables that audits reach, of which this share was measured; h0004's is not
 * active.
 */
static void test_coverage (void)
{
    static const struct {
        size_t n;
        const char *node[4], *cables, *share;
    } tab[] = {
        { 0, { NULL }, "0", "" },
        { 1, { "h0001" }, "0", "" },
        { 3, { "h0001", "h0004", "of-ethernet" }, "0", "" },
        { 2, { "h0001", "h0002" }, "2", "1" },
        { 2, { "h0005", "h0006" }, "2", "0" },
        { 4, { "h0001", "h0002", "h0005", "h0006" }, "8", "0.5" },
    };
    const struct fabric *f = service.fabric;

    service.site.metrics = "metrics.prom";
    when = (int64_t)time (NULL) - 60;
    record (false, "", "");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const struct hostlist nodes = { (char **)tab[i].node, tab[i].n };
        const char *share;
        char cables[8];
        size_t n = 0;

        ok (service_reach (&service, &state, &nodes, &err) == 0
                && duty_metrics (&service, ledger, &state, &err) == 0,
            "Slurm has %zu nodes", tab[i].n);
        for (size_t k = 0; k < f->nlinks; k++)
            n += state.reach[k];
        sprintf (cables, "%zu", n);
        share = metrics ("pmm_coverage_ratio", "");
        ok (!strcmp (cables, tab[i].cables) && !strcmp (share, tab[i].share),
            "... of %s cables, measured: %s", cables, share);
    }
}

/* An audit saw a host's adapter run with so many of 16 lanes. */
static int enter_pcie (uint32_t host, int64_t audit, unsigned int lanes)
{
    const struct fabric *f = service.fabric;
    const struct fabric_port *p = &f->port[f->endpoint[f->host[host].first].port];
    const struct pcie pcie
        = { .now = { lanes, 16000 }, .could = { 16, 16000 } };
    struct ledger_counter counter[PORTS_PCIE];
    char port[24];

    snprintf (port, sizeof (port), "%016jx/%u",
              (uintmax_t)f->node[p->node].guid, p->num);
    for (int i = 0; i < PORTS_PCIE; i++)
        counter[i] = (struct ledger_counter){ port, ports_pcie[i].name,
                                              ports_pcie_value (&pcie, i) };
    return ledger_counters (ledger, audit, counter, PORTS_PCIE, &err);
}

/* What the metrics say beside what audits found; the last audit FAILs for one
 * of two host ends.
 */
static void test_metrics (void)
{
    static const struct {
        const char *name, *label, *values;
    } tab[] = {
        { "pmm_audits_total", "OK", "3" },
        { "pmm_audits_total", "UNKNOWN", "2" },
        { "pmm_audits_total", "FAIL", "4" },
        { "pmm_audits_total", "none", "1" },
        { "pmm_audit_last_success_timestamp_seconds", "", "101" },
        { "pmm_coverage_ratio", "", "0" },
        { "pmm_drains_total", "confirmed", "1" },
        { "pmm_drains_total", "counter", "1" },
        { "pmm_drains_total", "width", "0" },
        { "pmm_resumes_total", "", "0" },
        { "pmm_policy_blocked", "common_cause", "2" },
        { "pmm_fabric_spread_switches", "hashed", "1" },
        { "pmm_fabric_snapshot_timestamp_seconds", "", "0" },
        { "pmm_service_failing_duties", "", "3" },
        { "pmm_link_suspects", "", "2 2" },
        { "pmm_link_info", "switch=\"a \\\"\\\\}\\n# 1\"", "1" },
        { "pmm_link_info", "uplink_type=\"CA\"", "1 1" },
        { "pmm_link_info", ",guid=\"", "" },
        { "pmm_link_info", "=\"\"", "" },
        { "pmm_link_suspects",
          "{guid=\"0x0002c90100000010\",port=\"1\","
          "uplink_guid=\"0x0002c90000000011\",uplink_port=\"1\"}",
          "2" },
        { "pmm_pcie_width", "", "8" },
        { "pmm_pcie_speed", "node=\"h0002\"", "16000000000" },
        { "pmm_pcie_able_width", "hca=\"h0002 mlx5_0\"", "16" },
        { "pmm_link_rate_bytes_per_second", "way=\"out\"", "2e+09" },
        { "pmm_link_rate_bytes_per_second",
          "{guid=\"0x0002c90100000010\",port=\"1\"*,way=\"in\"}", "1e+09" },
        { "pmm_link_rate_expected_bytes_per_second", "", "2e+09 2e+09" },
        { "pmm_link_rate_timestamp_seconds", "", "101" },
        { "pmm_port_state", "", "2" },
        { "pmm_port_state", "hca=\"h0004 mlx5_0\"", "2" },
    };
    static const struct ledger_action drain[] = {
        { .node = "h0001", .kind = POLICY_DRAIN, .reason = "",
          .why = "twice", .cause = CAUSE_CONFIRMED },
        { .node = "h0002", .kind = POLICY_DRAIN, .reason = "",
          .why = "once", .cause = CAUSE_COUNTER },
        { .node = "h0003", .kind = POLICY_DRAIN, .reason = "", .why = "not done",
          .cause = CAUSE_CONFIRMED },
    };
    const struct fabric *f = service.fabric;
    char *node[] = { "h0001", "h0002" };
    const struct hostlist nodes = { node, 2 };
    uint32_t leaf = f->port[fabric_far_port (f, f->endpoint[0].port)].node;

    for (size_t i = 0; i < 3; i++) {
        int64_t id = ledger_intend (ledger, 100, &drain[i], &err);

        if (i < 2)
            ledger_done (ledger, 101, id, &err);
    }
    ok (enter_pcie (0, 8, 8) == 0 && enter_pcie (0, 9, 16) == 0
            && enter_pcie (1, 8, 16) == 0 && enter_pcie (1, 9, 8) == 0,
        "an adapter lost lanes, another one has them again");
    ok (ledger_give_up (ledger, 100, 0, "ended", &err) == 0,
        "no audit is open");
    ledger_begin (ledger, 100, f->hash,
                  &(struct ledger_cause){ .why = LEDGER_BY_HAND },
                  (const char *const[]){ f->host[0].name }, 1,
                  (char[LEDGER_NONCE_BYTES]){ 0 }, &err);
    ok (ledger_give_up (ledger, 100, 0, "ended", &err) == 1
            && ledger_prune (ledger, 0, 2, &done, &err) == 0
            && done.audits == 8,
        "old audits are deleted: %s", err.text);
    service.fabric->node[leaf].desc = (char *)("a \"\\}\n# 1");
    service.fabric->node[leaf].spread.hashed = 1;
    service.fabric->port[f->endpoint[3].port].state = PORT_INIT;
    state.decided = true;
    state.blocked[POLICY_COMMON] = 2;
    for (size_t i = 0; i < 3; i++)
        told_trouble (&state.told, (const char *const[]){ "a", "b", "c" }[i],
                         "it fails");
    ok (service_reach (&service, &state, &nodes, &err) == 0
            && duty_metrics (&service, ledger, &state, &err) == 0,
        "metrics");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const char *values = metrics (tab[i].name, tab[i].label);

        ok (!strcmp (values, tab[i].values), "%s %s: %s", tab[i].name,
            tab[i].label, values);
    }
    test_coverage ();
    fabric_destroy (service.fabric);
    ledger_close (ledger);
    service.fabric = NULL;
    ledger = NULL;
    ok (duty_metrics (&service, ledger, &state, &err) == 0
            && !strcmp (metrics ("pmm_service_failing_duties", ""), "3"),
        "... also without a ledger and a fabric");
}

/* Of two suspects, one is no longer in the fabric: the other one is named. */
static void test_gone (void)
{
    struct service was = service;
    struct fat_tree tree = { .ports = 4, .levels = 2, .how.prune = 20 };
    char line[512], says[128] = "";
    FILE *fp;

    do {
        tree.how.seed++;
        fabric_destroy (service.fabric == was.fabric ? NULL : service.fabric);
        service.fabric = generate_fat_tree (&tree, &err);
    } while (fabric_find_host (service.fabric, "h0001") == FABRIC_NONE
             || fabric_find_host (service.fabric, "h0004") != FABRIC_NONE);
    service.node_of = nodemap_nodes (NULL, service.fabric);
    duty_publish (&service, ledger, &state, &err);
    fp = fopen ("verdicts", "r");
    while (fp && !*says && fgets (line, sizeof (line), fp))
        sscanf (line, "node h0001 UNKNOWN %*s %*s %127[^\n]", says);
    ok (strstr (says, ": h0001's") && !strstr (says, ", or "),
        "a suspect that is gone is not named: %s", says);
    if (fp)
        fclose (fp);
    fabric_destroy (service.fabric);
    free (service.node_of);
    service.fabric = was.fabric;
    service.node_of = was.node_of;
}

/* How many ports were published before, and are now. */
static void test_ports (void)
{
    static const struct {
        const char *node;
        int was, days;
        const char *wanted; /* NULL: no line */
    } tab[] = {
        { "h0001", 1, 1, "1" }, { "h0002", 2, 1, "2" },
        { "h0003", 3, 8, "1" }, { "h0004", 4, -1, "1" },
        { "gone", 2, 6, "2" },  { "long-gone", 2, 8, NULL },
    };
    enum { N = sizeof (tab) / sizeof (tab[0]), DAY = 86400 };
    long now = (long)time (NULL);
    char line[512], *got[N] = { NULL };
    FILE *fp = fopen ("verdicts", "w");

    for (size_t i = 0; i < N; i++)
        fprintf (fp, "ports %s %d %ld\n", tab[i].node, tab[i].was,
                 now - tab[i].days * DAY);
    fclose (fp);
    ok (duty_publish (&service, ledger, &state, &err) == 0, "published again");
    fp = fopen ("verdicts", "r");
    while (fp && fgets (line, sizeof (line), fp))
        for (size_t i = 0; i < N; i++) {
            char name[64], ports[16];

            if (sscanf (line, "ports %63s %15s", name, ports) == 2
                && !strcmp (name, tab[i].node))
                got[i] = strdup (ports);
        }
    for (size_t i = 0; i < N; i++) {
        ok (tab[i].wanted ? got[i] && !strcmp (got[i], tab[i].wanted)
                          : !got[i],
            "%s had %d ports %d days ago: %s", tab[i].node, tab[i].was,
            tab[i].days, got[i] ? got[i] : "none");
        free (got[i]);
    }
    if (fp)
        fclose (fp);
}

int main (int argc, char **argv)
{
    static const struct {
        const char *what;
        bool limited;
        const char *found, *open, *published, *ends, *excess;
    } tab[] = {
        { "all is well", false, "", "", "OK OK OK OK", "0 0 0 0", "" },
        { "it could not tell", true, "", "", "UNKNOWN UNKNOWN UNKNOWN UNKNOWN",
          "3 3 3 3", "" },
        { "... of one host", true, "", "3", "OK OK UNKNOWN OK", "0 0 3 0", "" },
        { "one did not matter to the whole", false, "", "3",
          "OK OK UNKNOWN OK", "0 0 3 0", "" },
        { "one carries less", false, "r1", "", "FAIL OK OK OK", "2 0 0 0", "" },
        { "... which the next audit does not judge", false, "", "3",
          "FAIL OK UNKNOWN OK", "2 0 3 0", "" },
        { "one FAILs, and one was not judged", true, "1", "2",
          "FAIL UNKNOWN OK OK", "2 3 0 0", "4.12e-07" },
        { "one FAILs", false, "4", "", "OK OK OK FAIL", "0 0 0 2",
          "4.12e-07" },
        { "one of two FAILs", false, "14", "", "UNKNOWN OK OK UNKNOWN",
          "3 0 0 3", "4.12e-07 4.12e-07" },
    };
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    const char *host[HOSTS] = { NULL };

    if (!mkdtemp (dir) || chdir (dir) < 0 || chmod (dir, 0755) < 0
        || !(service.fabric = generate_fat_tree (&tree, &err))
        || !(service.node_of = nodemap_nodes (NULL, service.fabric))
        || !(ledger = ledger_open ("led", LEDGER_CREATE, &err)))
        return 1;
    for (size_t i = 0; i < HOSTS; i++)
        host[i] = service.fabric->host[i].name;
    if (!(ps = fabric_pathset (service.fabric, host, HOSTS, &err))
        || !(plan = plan_make (ps, &opts, &err)))
        return 1;
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        ok (record (tab[i].limited, tab[i].found, tab[i].open) == (int64_t)i + 1
                && duty_publish (&service, ledger, &state, &err) == 0
                && duty_metrics (&service, ledger, &state, &err) == 0,
            "%s", tab[i].what);
        ok (!strcmp (published (), tab[i].published), "... is published: %s",
            published ());
        ok (!strcmp (metrics ("pmm_host_end_status", ""), tab[i].ends),
            "... of host ends: %s", metrics ("pmm_host_end_status", ""));
        ok (!strcmp (metrics ("pmm_link_excess_seconds", "port=\"[12]\""),
                     tab[i].excess),
            "... of cables: %s",
            metrics ("pmm_link_excess_seconds", "port=\"[12]\""));
    }
    test_gone ();
    test_ports ();
    if (argc > 1)
        service.site.metrics = argv[1];
    test_metrics ();
    plan_destroy (plan);
    pathset_destroy (ps);
    free (state.reach);
    free (service.node_of);
    for (size_t i = 0; i < 6; i++) {
        static const char *const file[]
            = { "led", "led-wal", "led-shm", "led.lock", "verdicts",
                "metrics.prom" };

        unlink (file[i]);
    }
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
