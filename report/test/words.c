/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of findings: what to do, for whom; a verdict in a line; drains and
 * tickets.
 */
#include "config.h"
#include "report/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/alloc.h"
#include "util/json.h"

static struct fabric *f;
static uint32_t host_link, leaf_link, sw;
static char *node = (char *)"h0003";
static struct fact because = { .kind = FACT_SAID, .name = { "because" } };

static struct finding host_end (void)
{
    return (struct finding){
        .level = VERDICT_FAIL,
        .kind = FINDING_HOST_END,
        .basis = BASIS_BASELINE,
        .suspect = &host_link,
        .nsuspects = 1,
        .node = &node,
        .nnodes = 1,
        .excess_ns = 1003,
        .stderr_ns = 14,
        .expected_ns = 431,
        .fact = &because,
        .nfacts = 1,
    };
}

__attribute__ ((format (printf, 2, 3))) static void
is (char *text, const char *fmt, ...)
{
    char *wanted;
    va_list ap;

    va_start (ap, fmt);
    wanted = xvasprintf (fmt, ap);
    va_end (ap);
    if (!ok (text && !strcmp (text, wanted), "says: %.*s",
             (int)strcspn (wanted, "\n"), wanted))
        diag ("%s", text ? text : "nothing");
    free (wanted);
    free (text);
}

static void test_steps (void)
{
    struct finding x = host_end ();

    is (words_do (&x, f, WORDS_STAFF),
        "reseat h0003's cable at both ends, then swap it; look at the "
        "adapter and PCIe slot of h0003: width and speed (lspci); look "
        "at its software: clock governor, other processes, kernel; after "
        "the repair: pmm ledger rebase %s", f->link[host_link].id);
    is (words_do (&x, f, WORDS_JOB),
        "leave out h0003, or send this to your support");
    x.loopback = LOOPBACK_FAST;
    is (words_do (&x, f, WORDS_STAFF),
        "reseat h0003's cable at both ends, then swap it; try another "
        "port of the switch; the adapter itself is fast; after the "
        "repair: pmm ledger rebase %s", f->link[host_link].id);
    x.kind = FINDING_SWITCH_LINK;
    x.oneway = &leaf_link;
    x.noneway = 1;
    is (words_do (&x, f, WORDS_STAFF),
        "reseat the plugs of the first cable, then of the next; swap the "
        "one that stays slow; after the repair: pmm ledger rebase %s",
        f->link[host_link].id);
    x.suspect = &leaf_link;
    x.noneway = x.nnodes = 0;
    is (words_do (&x, f, WORDS_STAFF),
        "reseat the cable s1-0001/5 -- s2-0001/1 at both ends, then swap "
        "it; after the repair: pmm ledger rebase %s",
        f->link[leaf_link].id);
    x.basis = BASIS_SLOW;
    is (words_do (&x, f, WORDS_STAFF),
        "read the error counters of the ports: pmm fabric check; reseat "
        "the cable s1-0001/5 -- s2-0001/1 at both ends, then swap it; "
        "after the repair: pmm ledger rebase %s", f->link[leaf_link].id);
    x.basis = BASIS_BASELINE;
    x.kind = FINDING_NODE;
    x.nnodes = 1;
    x.loopback = LOOPBACK_UNTOLD;
    is (words_do (&x, f, WORDS_STAFF),
        "look at the adapter and PCIe slot of h0003: width and speed (lspci); "
        "look at its software: clock governor, other processes, kernel; leave "
        "its cable: that is not the cause");
    x.kind = FINDING_ROUTE;
    is (words_do (&x, f, WORDS_STAFF),
        "read the fabric again (pmm fabric read): the snapshot may be old; ask "
        "the subnet manager for the tables of the switches on this path");
    x.kind = FINDING_SWITCH;
    x.sw = &sw;
    x.nsw = 1;
    is (words_do (&x, f, WORDS_STAFF),
        "look at switch %s (%s): temperature, firmware, load; all of its "
        "cables are slow alike, so it is none of them",
        fabric_network (f)->sw[sw].name, fabric_network (f)->sw[sw].id);
}

/* Others' traffic is no fault: nobody is sent to a cable. */
static void test_traffic (void)
{
    struct finding x = host_end ();

    x.level = VERDICT_UNKNOWN;
    x.basis = BASIS_TRAFFIC;
    x.excess_ns = NAN;
    is (words_finding (&x, f), "others' traffic hides a cable: h0003's");
    is (words_do (&x, f, WORDS_STAFF),
        "measure again when h0003 sends and receives less: nothing is known to "
        "be wrong");
    is (words_do (&x, f, WORDS_JOB),
        "check again when others send less; nothing is known to be wrong");
}

/* Who did not get faster with the others is not slow, nor is its cable. */
static void test_left_behind (void)
{
    struct finding x = host_end ();

    x.level = VERDICT_WARN;
    x.basis = BASIS_BEHIND;
    x.excess_ns = 398;
    x.expected_ns = NAN;
    is (words_finding (&x, f), "a cable is 398 ns slower than others, which got "
                               "faster: h0003's");
    is (words_excess (&x), "+398 ns (+-14), slower than its class, which got "
                           "faster");
    is (words_do (&x, f, WORDS_STAFF),
        "see whether h0003 was left out of an upgrade that made the others "
        "faster");
    is (words_do (&x, f, WORDS_JOB),
        "ask your support whether h0003 missed an upgrade");

    x.basis = BASIS_ALIKE;
    x.excess_ns = 402;
    is (words_finding (&x, f),
        "a cable is 402 ns slower, as others are at once: h0003's");
    is (words_excess (&x), "+402 ns (+-14), slower than in the baseline, as other "
                           "hosts are by the same");
    is (words_do (&x, f, WORDS_STAFF),
        "see what was changed at h0003 and others, as by an upgrade: they got "
        "slower by the same; if it is to stay: pmm ledger rebase "
        "0002c90000000030/1");
    is (words_do (&x, f, WORDS_JOB),
        "ask your support whether h0003 and others had an upgrade");
}

static void test_sentences (void)
{
    struct finding x[3] = { host_end (), host_end (), host_end () };
    struct verdict v = {
        .status = VERDICT_FAIL, .finding = x, .nfindings = 1, .links = 3,
        .probes = 2, .rounds = 1, .nodes = 4, .separable = 2,
    };
    struct fact limit = fact_said ("h1 left");

    is (words_sentence (&v, f), "a cable is 1.0 us slow: h0003's");
    x[0].excess_ns = NAN; /* as a file may have it */
    is (words_sentence (&v, f), "a cable is slow: h0003's");
    x[0].kind = FINDING_NODE;
    x[0].nnodes = 0;
    is (words_sentence (&v, f), "? itself is slow, not its cable");
    x[0] = host_end ();
    v.nfindings = 3;
    is (words_sentence (&v, f),
        "a cable is 1.0 us slow: h0003's, and 2 more findings");
    v.limit = &limit;
    v.nlimits = 1;
    v.status = VERDICT_UNKNOWN;
    x[0].level = VERDICT_WARN;
    is (words_sentence (&v, f), "h1 left");
    is (words_headline (&v), "h1 left");
    v.nfindings = v.nlimits = 0;
    v.status = VERDICT_OK;
    is (words_sentence (&v, f),
        "3 links by 2 probes in 1 round, 4 nodes; 66 %% of the links resolved");
    is (words_headline (&v), "nothing is slow");
    v.probes = 0;
    is (words_sentence (&v, f), "4 nodes, nothing to measure");
}

/* What is at many places at once is no defect of each. */
static void test_at_once (void)
{
    struct finding x[4] = { host_end (), host_end (), host_end (), host_end () };
    struct verdict v = {
        .status = VERDICT_WARN, .finding = x, .nfindings = 4, .links = 20,
        .probes = 20, .rounds = 1, .nodes = 4, .separable = 20,
    };

    for (int i = 0; i < 3; i++) {
        x[i].level = VERDICT_WARN;
        x[i].kind = FINDING_SWITCH_LINK;
        x[i].suspect = &leaf_link;
        x[i].nnodes = 0;
        x[i].excess_ns = 300 - i;
    }
    x[3].level = VERDICT_WARN;
    verdict_find_at_once (&v);
    ok (verdict_at_once (&v) == 3 && !x[3].at_once, "three, without the host end");
    is (words_sentence (&v, f),
        "3 places between switches look slow at once, by up to 300 ns: others' "
        "traffic, or changes since the baseline, and 1 more finding");
    is (words_finding (&x[1], f),
        "a cable may be 299 ns slow: s1-0001/5 -- s2-0001/1");
    is (words_place (&x[1], f), "s1-0001/5 -- s2-0001/1: +299 ns (+-14)");
    is (words_do (&x[1], f, WORDS_JOB),
        "check again when others send less; nothing is known to be wrong");
    is (words_do (&x[1], f, WORDS_STAFF),
        "measure again when others send less: a slow cable stays, their traffic "
        "does not");
    x[1].at_once = false;
    x[1].level = VERDICT_UNKNOWN;
    is (words_finding (&x[1], f),
        "a cable may be 299 ns slow: s1-0001/5 -- s2-0001/1");
    is (words_do (&x[1], f, WORDS_JOB),
        "check again when others send less; nothing is known to be wrong");
    x[1].nsw = 1; /* which may be slow instead */
    is (words_do (&x[1], f, WORDS_JOB),
        "send this to your support; it is no node's fault");
    x[1].nsw = 0;
    x[1].level = VERDICT_WARN;
    x[1].at_once = true;
    x[2].kind = FINDING_ROUTE;
    x[2].excess_ns = -960;
    is (words_finding (&x[2], f), "messages take 1.0 us less there and back than "
                                  "by the way in the tables");
    is (words_place (&x[2], f),
        "s1-0001/5 -- s2-0001/1: -960 ns (+-14) there and back");
    x[0].level = VERDICT_FAIL; /* its counters say so */
    ok (verdict_at_once (&v) == 2, "what FAILs stands for itself");
    is (words_finding (&x[0], f),
        "a cable is 300 ns slow: s1-0001/5 -- s2-0001/1");
    verdict_find_at_once (&v);
    ok (verdict_at_once (&v) == 0, "two places are not many");

    for (int i = 0; i < 4; i++) {
        x[i] = x[1];
        x[i].basis = BASIS_CLASS;
    }
    v.links = 160;
    verdict_find_at_once (&v);
    is (words_sentence (&v, f),
        "4 places between switches look slow at once, by up to 299 ns: others' "
        "traffic, or the lengths of cables");
    v.links = 2000;
    verdict_find_at_once (&v);
    ok (verdict_at_once (&v) == 0, "of 2,000 links four may have gone bad");
    v.links = 160;
    x[0].excess_ns = NAN;
    verdict_find_at_once (&v);
    ok (verdict_at_once (&v) == 0, "what a file gives no excess is not counted");
}

static void test_drain (void)
{
    struct words_drain d = {
        .host = "h1",
        .port = "mlx5_0/1",
        .link = "ec0d9a/1",
        .of
        = { .basis = BASIS_BASELINE, .excess_ns = 1412, .expected_ns = 131 },
        .audit = 57,
    };

    is (words_drain (&d),
        "h1 mlx5_0/1's cable is 1.4 us slow: reseat it, then swap it; audit "
        "57, link ec0d9a/1, +1412 ns over its 131 ns");
    d.port = "";
    d.of.basis = BASIS_LOSS;
    is (words_drain (&d), "h1's cable loses messages: reseat it, then swap it; "
                          "audit 57, link ec0d9a/1");
}

/* What a link carries: of a cable, an adapter's slot, a switch. */
static void test_rates (void)
{
    const struct fact loopback = { FACT_RATE_LOOPBACK, .n = { 196.6e9 } };
    struct fact facts[3] = {
        { FACT_RATE, .n = { 2, 98.3e9, 197e9 } },
        loopback,
        { FACT_RATE_PCIE, .n = { 8, 16, 16, 16, 100e9 } },
    };
    struct finding x = host_end (), both = host_end ();
    struct words_drain d
        = { .host = "h3", .port = "", .link = "ec0d9a/1", .audit = 57 };
    const char *id = f->link[host_link].id;
    struct fact slot = { FACT_RATE_SLOT, .n = { 16, 16, 225.5e9, 400e9 },
                         .name = { "h0007" } };

    x.basis = BASIS_RATE;
    x.excess_ns = x.stderr_ns = x.expected_ns = NAN;
    x.rate_bits = 98.3e9;
    x.rate_expected_bits = 197e9;
    x.fact = facts;
    x.nfacts = 1;
    is (words_finding (&x, f), "cable h0003 -- s1-0001/3: 98 of 197 Gb/s");
    is (words_do (&x, f, WORDS_STAFF),
        "reseat h0003's cable at both ends, then swap it; look at the adapter "
        "and PCIe slot of h0003: width, speed, power (lspci -vv, dmesg); and "
        "at its MTU; after the repair: pmm ledger rebase %s",
        id);
    is (words_excess (&x), "98 of an expected 197 Gb/s");

    x.nfacts = 2;
    is (words_finding (&x, f),
        "cable h0003 -- s1-0001/3: 98 of 197 Gb/s, loopback 197");
    is (words_do (&x, f, WORDS_STAFF),
        "reseat h0003's cable at both ends, then swap it; try another port of "
        "the switch: the adapter's own loopback carries what it should; after "
        "the repair: pmm ledger rebase %s",
        id);
    d.of = x;
    is (words_drain (&d), "h3's cable carries 98 of 197 Gb/s, loopback 197: "
                          "reseat it, then swap it; audit 57, link ec0d9a/1");

    facts[1].n[0] = 98.1e9;
    is (words_finding (&x, f), "h0003: 98 of 197 Gb/s, in loopback, too");
    facts[0].kind = FACT_RATE_RECEIVED;
    is (words_finding (&x, f),
        "h0003: 98 of 197 Gb/s received, in loopback, too");
    is (words_do (&x, f, WORDS_STAFF),
        "look at h0003: PCIe relaxed ordering, the IOMMU (iommu=pt), the "
        "adapter's NUMA node; leave its cable: that is not the cause");
    facts[0].kind = FACT_RATE_SENT;
    is (words_do (&x, f, WORDS_STAFF),
        "look at MaxReadReq of the adapter of h0003 (lspci -vv): 4096 is "
        "usual; leave its cable: that is not the cause");
    facts[0].kind = FACT_RATE;

    x.nfacts = 3;
    is (words_finding (&x, f), "h0003: PCIe runs at x8 of x16: 98 of 197 Gb/s, "
                               "in loopback, too");
    is (words_do (&x, f, WORDS_STAFF),
        "reseat the adapter of h0003 in its PCIe slot, then try another slot "
        "(lspci -vv: LnkSta beside LnkCap); leave its cable: that is not the "
        "cause");
    d.of = x;
    is (words_drain (&d),
        "h3: PCIe runs at x8 of x16: 98 of 197 Gb/s, in loopback, too: reseat "
        "the adapter in its slot; audit 57, link ec0d9a/1");
    facts[2].n[1] = 8;
    facts[2].n[0] = 16;
    is (words_finding (&x, f), "h0003: PCIe runs at Gen3 x16 of Gen4 x16: 98 "
                               "of 197 Gb/s, in loopback, too");

    both.rate_bits = 98.3e9;
    both.rate_expected_bits = 197e9;
    is (words_finding (&both, f),
        "a cable is 1.0 us slow: h0003's; it carries 98 of 197 Gb/s");
    is (words_excess (&both),
        "+1003 ns (+-14) over an expected 431 ns, slower than in the baseline; "
        "98 of an expected 197 Gb/s");

    facts[0].kind = FACT_LOOPBACK_FAST;
    both.fact = facts;
    both.nfacts = 3;
    is (words_finding (&both, f),
        "a cable is 1.0 us slow: h0003's; PCIe runs at Gen3 x16 of Gen4 x16: 98 "
        "of 197 Gb/s, in loopback, too");
    facts[0].kind = FACT_SWITCH_TOO;
    is (words_finding (&both, f),
        "h0003 itself is 1.0 us slow, not its cable; PCIe runs at Gen3 x16 of "
        "Gen4 x16: 98 of 197 Gb/s, in loopback, too");
    both.fact = (struct fact[]){ because, { FACT_SWITCH_TOO },
                                 { FACT_RATE, .n = { 1, 98.3e9, 197e9 } } };
    is (words_why (&both), "because; a slow switch is as likely; 1 flow across "
                           "it carried 98 of 197 Gb/s");
    facts[0].kind = FACT_RATE;

    x.nfacts = 1;
    facts[0].name[0] = "s1-0001";
    x.kind = FINDING_SWITCH_LINK;
    x.suspect = &leaf_link;
    is (words_finding (&x, f), "cable s1-0001/5 -- s2-0001/1: 98 of 197 Gb/s "
                               "from s1-0001");
    x.kind = FINDING_SWITCH;
    x.sw = &sw;
    x.nsw = 1;
    x.rate_bits = 112e9;
    is (words_finding (&x, f), "%s: 57 %% of what its ports allow",
        fabric_network (f)->sw[sw].name);

    is (words_fact (&slot), "h0007: its slot allows Gen4 x16: 226 of 400 Gb/s");
}

static void test_ticket (void)
{
    const char *const label[] = { "A12 \033" };
    json_t *jobs = json_pack ("[i, i]", 1234, 1240);
    json_t *nodes = json_pack ("[{s:s, s:s}]", "node", "h0003", "state",
                               WORDS_DRAINED);
    struct finding x = host_end ();
    struct words_case c = {
        .about = "audit 57", .since = 1800000000, .jobs = jobs,
        .nodes = nodes, .label = label, .seen = 1800003600, .audits = 3,
        .muted = "known",
    };
    const char *id = f->link[host_link].id;

    x.loopback = LOOPBACK_FAST;
    is (words_ticket (&x, f, &c),
        "FAIL: a cable is 1.0 us slow: h0003's\n"
        "Do:   reseat h0003's cable at both ends, then swap it\n"
        "      try another port of the switch; the adapter itself is "
        "fast\n"
        "      after the repair: pmm ledger rebase %s\n"
        "Where: h0003 mlx5_0/1 -- s1-0001/3 (%s), label A12 ?\n"
        "Since: 2027-01-15 08:00 UTC, last seen 2027-01-15 09:00 UTC, "
        "in 3 audits\n"
        "Jobs: 1234, 1240\n"
        "Node: h0003, drained by pmm\n"
        "Muted: known\n"
        "Found by: audit 57\n"
        "Measured: +1003 ns (+-14) over an expected 431 ns, slower than "
        "in the baseline; because\n", id, id);
    json_put (json_array_get (nodes, 0), "state", json_string (""));
    c = (struct words_case){ .about = "", .nodes = nodes };
    x.kind = FINDING_NODE;
    is (words_ticket (&x, f, &c),
        "FAIL: h0003 itself is 1.0 us slow, not its cable\n"
        "Do:   try another port of the switch; the adapter itself is "
        "fast\n"
        "      leave its cable: that is not the cause\n"
        "Where: h0003 mlx5_0/1 -- s1-0001/3 (%s)\n"
        "Node: h0003, not drained by pmm when this was written; now: "
        "sinfo -R\n"
        "Measured: +1003 ns (+-14) over an expected 431 ns, slower than "
        "in the baseline; because\n", id);
    json_decref (jobs);
    json_decref (nodes);
}

/* Facts of each kind have words, and a few are as they should be. */
static void test_facts (void)
{
    struct fact fact = { .n = { 1, 2, 3, 4, 5, 6 }, .name = { "a", "b", "c" } };
    struct fact across[] = {
        { FACT_ACROSS, .n = { 1, 1, 999.6, 33 } },
        { FACT_MESSAGES_MEAN, .name = { "k2" } },
        { FACT_ABOVE_BASELINE, .n = { 0 } },
        { FACT_LOOPBACK_SLOW, .n = { 129 } },
    };
    struct finding x = { .fact = across, .nfacts = 4 };
    size_t empty = 0;

    for (int i = 0; i < FACT_KINDS; i++) {
        char *text;

        fact.kind = (enum fact_kind)i;
        text = words_fact (&fact);
        empty += !*text || strpbrk (text, "{}|") != NULL;
        free (text);
    }
    ok (empty == 0, "all %d kinds have words", FACT_KINDS);
    is (words_why (&x),
        "1 probe across it shows +1000 ns (+-33) (in messages "
        "from k2, the mean of both directions) above the value expected from "
        "the "
        "baseline; its loopback is slower, too, by 129 ns, which do not count "
        "here");
    fact = (struct fact){ FACT_OPEN, .n = { 3, 4, 1, 1, 300, 1 },
                          .name = { "h1, h2" } };
    is (words_fact (&fact),
        "3 of 4 host ends and 1 of 1 other link were judged; "
        "not judged, because others' traffic or too few probes would hide 300 "
        "ns: "
        "h1, h2, ...; the verdict does not include them");
    fact = (struct fact){ FACT_DELAYED, .n = { 8, 9, 12.5, 0, 70 } };
    is (words_fact (&fact),
        "8 of 9 messages across it take 12.5 us more than the "
        "least or longer, of all others 0 of 70");
    fact = (struct fact){ FACT_UNEVEN, .n = { 70 }, .name = { "s1", "00a1" } };
    is (words_fact (&fact),
        "switch s1 (00a1) looks slow by +70 ns, or paths across "
        "it are longer than others: only a baseline can tell");
    fact = (struct fact){ FACT_UNEVEN, .n = { 70, 1 }, .name = { "a/1" } };
    is (words_fact (&fact),
        "one direction of a/1 looks slow by +70 ns, or paths "
        "across it are longer than others: only a baseline can tell");
    fact = (struct fact){ FACT_STOOD_IN, .name = { "h1" } };
    is (words_fact (&fact),
        "h1 was to lead and printed no result: another node "
        "did");
}

int main (void)
{
    struct fat_tree tree = { .ports = 8, .levels = 2 };

    f = generate_fat_tree (&tree, NULL);
    host_link = fabric_find_link (f, "h0003/1");
    while (f->link[leaf_link].kind != LINK_SWITCH)
        leaf_link++;
    while (!fabric_network (f)->sw[sw].id)
        sw++;
    test_steps ();
    test_facts ();
    test_traffic ();
    test_left_behind ();
    test_sentences ();
    test_at_once ();
    test_drain ();
    test_rates ();
    test_ticket ();
    fabric_destroy (f);
    return done_testing ();
}
