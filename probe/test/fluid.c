/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bulk data in virtual time: the rates of bursts, against values by hand. */
#include "config.h"
#include "tests/emu/fluid.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/local.h"
#include "ibquery/model/generate.h"
#include "ibquery/pcie.h"
#include "tests/emu/session.h"
#include "tests/emu/sysfs.h"
#include "tests/tap.h"

enum { SECOND = 1000000000, MS = 1000000, MB = 1000000 };

static struct fabric *fabric;
static struct emu_model *model;
static struct session_stats stats;

#define PAYLOAD ((double)MODEL_MTU / (MODEL_MTU + MODEL_MTU_HEADER))

static int is (double a, double b)
{
    return fabs (a - b) <= 1e-4 * fabs (b);
}

static int command (const char *a, const char *b, const char *c)
{
    char *argv[] = { (char *)a, (char *)b, (char *)c, NULL };
    struct error err = { .text = "" };
    int rc = model_command (model, c ? 3 : b ? 2 : 1, argv, &err);

    if (rc < 0)
        diag ("%s", err.text);
    return rc;
}

/*
 * Sharing
 */

static double carries[4] = { 1, 2, 3, 4 };

static double carries_of (const void *of, uint32_t resource)
{
    return ((const double *)of)[resource];
}

static void sum_moved (void *to, struct fluid_flow *flow, int64_t now,
                       double bytes)
{
    (void)to;
    (void)now;
    *(double *)flow->owner += bytes;
}

static void test_sharing (void)
{
    struct fluid *f = fluid_create (4, carries_of, carries, sum_moved, NULL);
    struct fluid_flow flow[4];
    double moved[4] = { 0 };

    for (int i = 0; i < 4; i++)
        flow[i] = (struct fluid_flow){ .cap = HUGE_VAL, .owner = &moved[i] };
    flow[0].uses = 2;
    flow[0].resource[0] = 0;
    flow[0].resource[1] = 1;
    flow[1].uses = 2;
    flow[1].resource[0] = 1;
    flow[1].resource[1] = 2;
    flow[2].uses = 1;
    flow[2].resource[0] = 2;
    flow[3].uses = 1;
    flow[3].resource[0] = 3;
    flow[3].cap = .5;
    fluid_begin (f, &flow[0], 0);
    fluid_begin (f, &flow[3], 0);
    ok (is (flow[0].rate, 1) && is (flow[3].rate, .5),
        "a flow gets what the least of its resources carries, or its cap");
    fluid_begin (f, &flow[1], 10);
    fluid_begin (f, &flow[2], 10);
    ok (is (flow[0].rate, 1) && is (flow[1].rate, 1) && is (flow[2].rate, 2)
            && is (moved[0], 10) && flow[3].since == 0,
        "others share what it leaves; who shares nothing is not touched");
    ok (fluid_flows (f, 2) == 2 && is (fluid_untold (f, 2, 15), 15),
        "what a resource carries now");
    fluid_end (f, &flow[0], 20);
    ok (is (flow[1].rate, 1.5) && is (flow[2].rate, 1.5) && is (moved[0], 20)
            && is (moved[1], 10) && is (moved[2], 20) && flow[0].rate <= 0
            && fluid_flows (f, 0) == 0,
        "when it ends, also those change that it shared nothing with");
    fluid_destroy (f);
}

/*
 * Bursts
 */

struct burst_got {
    int count;
    int64_t time;
    bool lost[4];
    double gbps[4];
};

struct table {
    struct session *s;
    size_t n;
    struct client *client[4];
    struct burst_got got[4];
};

static void refuse_message (void *owner, int64_t time,
                            const struct session_header *header,
                            const uint8_t *data, size_t len)
{
    (void)owner;
    (void)time;
    (void)header;
    (void)data;
    (void)len;
}

static void keep_bursts (void *owner, int64_t time,
                         const struct session_burst *burst, size_t n)
{
    struct burst_got *got = owner;

    got->count++;
    got->time = time;
    for (size_t i = 0; i < n; i++) {
        got->lost[i] = burst[i].lost;
        got->gbps[i] = burst[i].bits / 1e9;
    }
}

/* Clients on the hosts of these numbers. */
static void sit (struct table *t, size_t n, const uint32_t *host)
{
    memset (t, 0, sizeof (*t));
    t->n = n;
    t->s = session_create (model, 0, n, refuse_message, &stats, SECOND, 0);
    for (size_t i = 0; i < n; i++)
        t->client[i] = session_join (t->s, &t->got[i], &host[i], 1, 0, NULL);
}

static int burst (struct table *t, size_t i, uint32_t from, uint32_t to,
                  double bytes, int64_t deadline)
{
    const struct session_burst b
        = { .header = { .from = from, .to = to, .as.rc = true },
            .bytes = (uint64_t)bytes };
    struct error err;

    return session_bulk (t->client[i], &b, 1, deadline, keep_bursts, &err);
}

/* All bursts end; then all clients, who wait once theirs have ended, run again at
 * this time.
 */
static void run_until (struct table *t, int64_t time)
{
    bool waits[4] = { false };

    for (size_t turn = 0; turn <= t->n; turn++) {
        session_run (t->s, 0);
        for (size_t i = 0; i < t->n; i++)
            if (t->client[i] && !waits[i] && t->got[i].count > 0) {
                waits[i] = true;
                session_wait (t->client[i], time);
            }
    }
    for (size_t i = 0; i < t->n; i++)
        t->got[i].count = 0;
}

/* The rates of a burst between hosts 0 and 2, which share a switch with no
 * other, there and back.
 */
static void pair_rates (double gbps[2])
{
    static const uint32_t host[] = { 0, 2 };
    struct table t;

    sit (&t, 2, host);
    burst (&t, 0, 0, 2, 10 * MB, 100 * MS);
    burst (&t, 1, 2, 0, 10 * MB, 100 * MS);
    session_run (t.s, 0);
    gbps[0] = t.got[1].gbps[0];
    gbps[1] = t.got[0].gbps[0];
    session_destroy (t.s);
}

static double loopback_rate (void)
{
    static const uint32_t host[] = { 0 };
    struct table t;

    sit (&t, 1, host);
    burst (&t, 0, 0, 0, 10 * MB, 100 * MS);
    session_run (t.s, 0);
    session_destroy (t.s);
    return t.got[0].lost[0] ? 0 : t.got[0].gbps[0];
}

static void test_bursts (void)
{
    static const uint32_t two[] = { 0, 2 };
    uint32_t four[] = { 0, 1, 2, 3 };
    struct session_count count;
    uint32_t arc[PATH_MAX_HOPS];
    struct table t;
    double gbps[2];
    int64_t alone;

    sit (&t, 2, two);
    burst (&t, 0, 0, 2, 10 * MB, SECOND);
    session_run (t.s, 0);
    ok (t.got[0].count == 0, "a burst waits for who still runs");
    burst (&t, 1, 2, 0, 10 * MB, SECOND);
    session_run (t.s, 0);
    alone = t.got[0].time;
    ok (t.got[0].count == 1 && t.got[1].count == 1 && !t.got[0].lost[0]
            && is (t.got[0].gbps[0], 200 * PAYLOAD)
            && is (t.got[1].gbps[0], 200 * PAYLOAD),
        "both directions at the full rate, %.1f Gb/s", t.got[0].gbps[0]);
    ok (alone > 80e6 / 200 / PAYLOAD && alone < 80e6 / 200 / PAYLOAD + 4000,
        "it ends after this time and its way (%d ns)", (int)alone);
    session_count (t.client[0], 0, &count);
    ok (is (count.sent, 10 * MB / PAYLOAD)
            && is (count.received, 10 * MB / PAYLOAD)
            && is (count.sent_packets, 10. * MB / MODEL_MTU)
            && count.sent_again <= 0,
        "the port has counted it");
    burst (&t, 0, 0, 2, 10 * MB, SECOND);
    session_run (t.s, 0);
    session_wait (t.client[1], alone + 10 * MS);
    session_run (t.s, 0);
    burst (&t, 1, 2, 0, 10 * MB, SECOND);
    session_run (t.s, 0);
    ok (t.got[1].count == 2 && is (t.got[1].gbps[0], 200 * PAYLOAD)
            && t.got[1].time > 2 * alone && t.got[0].time > alone + 10 * MS,
        "who calls later has received what came before");
    session_destroy (t.s);

    model_path (model, 0, 2, arc);
    command ("rate", fabric->link[arc[1] / 2].id, "100:50");
    pair_rates (gbps);
    ok (is (gbps[arc[1] % 2], 100 * PAYLOAD)
            && is (gbps[1 - arc[1] % 2], 50 * PAYLOAD),
        "a cable with another rate in each direction");
    command ("heal", "all", NULL);
    /* 0 and 1 are at one switch: they share a cable to 2 and to another one */
    for (four[3] = 4; four[3] < 16; four[3]++)
        if (model_path (model, 1, four[3], arc + 8) > 0 && arc[1] == arc[9])
            break;
    sit (&t, 4, four);
    for (uint32_t i = 0; i < 4; i++)
        burst (&t, i, four[i], four[(i + 2) % 4], i % 2 ? 20 * MB : 10 * MB,
               SECOND);
    run_until (&t, SECOND);
    ok (is (t.got[2].gbps[0], 100 * PAYLOAD),
        "two flows of one cable have half of it each");
    ok (is (t.got[3].gbps[0], 15 / (5 / 100. + 10 / 200.) * PAYLOAD),
        "the longer one has all of it later: %.1f Gb/s in its best part",
        t.got[3].gbps[0]);
    session_destroy (t.s);
}

static void test_faults (void)
{
    uint32_t arc[PATH_MAX_HOPS], port;
    double gbps[2];

    ok (is (loopback_rate (), 200 * PAYLOAD), "a loopback at the port's rate");
    command ("width", "h0001/1", "2");
    pair_rates (gbps);
    ok (is (gbps[0], 100 * PAYLOAD) && is (gbps[1], 100 * PAYLOAD)
            && is (loopback_rate (), 200 * PAYLOAD)
            && is (model_port_bits (model, model_first_arc (model, 0) / 2),
                   100e9),
        "half of the lanes: half of both directions, not of the loopback");
    command ("heal", "h0001/1", NULL);
    command ("pcie", "h0001", "16x8");
    pair_rates (gbps);
    ok (is (gbps[0], gbps[1]) && gbps[0] > 110 && gbps[0] < 115
            && is (loopback_rate (), gbps[0]),
        "half of PCIe: in both directions and in the loopback (%.1f Gb/s)",
        gbps[0]);
    command ("heal", "h0001", NULL);
    command ("pcie", "h0001", "rate=26:150");
    pair_rates (gbps);
    ok (is (gbps[0], 26) && is (gbps[1], 150) && is (loopback_rate (), 26),
        "a limit that no file shows, each way");
    command ("heal", "h0001", NULL);
    command ("order", "h0001", "0.75:0.5");
    pair_rates (gbps);
    ok (is (gbps[0], 200 * PAYLOAD) && is (gbps[1], 150 * PAYLOAD),
        "receiving alone, by the order of writes");
    command ("heal", "h0001", NULL);
    command ("retries", "h0001/1", "0.1");
    pair_rates (gbps);
    ok (is (gbps[0], 180 * PAYLOAD) && is (gbps[1], 180 * PAYLOAD),
        "what is sent again costs its share");
    command ("heal", "all", NULL);
    model_path (model, 0, 2, arc);
    port = arc[1] % 2 ? fabric->link[arc[1] / 2].b : fabric->link[arc[1] / 2].a;
    command ("rate", fabric->node[fabric->port[port].node].desc, "240");
    pair_rates (gbps);
    ok (is (gbps[0], 120 * PAYLOAD) && is (gbps[1], 120 * PAYLOAD),
        "a switch that carries less in all");
    command ("heal", "all", NULL);
    command ("rate-noise", "0.02", NULL);
    pair_rates (gbps);
    ok (gbps[0] < 200 * PAYLOAD && gbps[0] > 180 && gbps[0] != gbps[1],
        "noise takes a bit (%.1f, %.1f Gb/s)", gbps[0], gbps[1]);
    command ("rate-noise", "0:0.05", NULL);
    pair_rates (gbps);
    ok (gbps[0] < 200 * PAYLOAD && gbps[0] >= 189 && is (gbps[0], gbps[1])
            && is (loopback_rate (), loopback_rate ()),
        "adapters differ, always in the same way (%.1f Gb/s)", gbps[0]);
    command ("rate-noise", "0", NULL);
}

/* How much less host 0 gets and sends to 2 at once, beside these flows. */
static void test_others (void)
{
    static const uint32_t two[] = { 0, 2 };
    struct session_count before, now;
    int full = 0, shared = 0;
    struct table t;
    double gbps[2], lost;

    command ("background", "h0001,h0016:0.3", NULL);
    pair_rates (gbps);
    ok (is (gbps[0], 140 * PAYLOAD) && is (gbps[1], 200 * PAYLOAD),
        "a flow of less than half keeps its rate");
    command ("background", "off", NULL);
    command ("background", "h0001,h0016:1", NULL);
    lost = stats.others_lost;
    sit (&t, 2, two);
    session_wait (t.client[0], MS);
    session_wait (t.client[1], MS);
    session_run (t.s, 0);
    session_count (t.client[0], 0, &before);
    burst (&t, 0, 0, 2, 10 * MB, SECOND);
    burst (&t, 1, 2, 0, 10 * MB, SECOND);
    run_until (&t, 3 * MS);
    session_count (t.client[0], 0, &now);
    ok (is (t.got[1].gbps[0], 100 * PAYLOAD)
            && is (t.got[0].gbps[0], 200 * PAYLOAD),
        "with one of all, both get half");
    ok (is (before.sent, 25 * MB) && is (now.sent, 75 * MB)
            && is (stats.others_lost - lost, 10 * MB / PAYLOAD),
        "the port counts both; the flow has lost what the burst took");
    session_destroy (t.s);
    command ("background", "off", NULL);

    command ("background", "h0001,h0016:1:pausing", NULL);
    sit (&t, 2, two);
    for (int i = 1; i <= 100; i++) {
        burst (&t, 0, 0, 2, 10 * MB, (int64_t)10 * SECOND);
        burst (&t, 1, 2, 0, 10 * MB, (int64_t)10 * SECOND);
        run_until (&t, i * (int64_t)10 * MS);
        full += is (t.got[1].gbps[0], 200 * PAYLOAD);
        shared += is (t.got[1].gbps[0], 100 * PAYLOAD);
    }
    session_count (t.client[0], 0, &now);
    ok (full >= 20 && shared >= 20 && full + shared >= 80,
        "a flow that pauses: %d of 100 bursts have all, %d half", full, shared);
    ok (now.sent > 25e9 * .2 && now.sent < 25e9 * .8,
        "... and the port has counted about half (%.1f GB)", now.sent / 1e9);
    session_destroy (t.s);
    command ("background", "off", NULL);
}

/* What users of a busy link notice: the share of its traffic that bursts take
 * while they run, and of an hour's if they run for 10 ms of it.
 */
static void test_share (void)
{
    static const struct {
        const char *flow;
        double load, taken;
    } row[] = {
        { "h0001,h0016:0.3", .3, 0 },
        { "h0001,h0016:0.5", .5, 0 },
        { "h0001,h0016:0.8", .8, .3 / .8 },
        { "h0001,h0016:1", 1, .5 },
    };

    for (size_t i = 0; i < sizeof (row) / sizeof (row[0]); i++) {
        double all = stats.others, lost = stats.others_lost, gbps[2];

        command ("background", row[i].flow, NULL);
        pair_rates (gbps);
        command ("background", "off", NULL);
        lost = (stats.others_lost - lost) / (stats.others - all);
        ok (fabs (lost - row[i].taken) < .01,
            "a link at %.0f %%: a burst takes %.1f %% of others' traffic while "
            "it runs, 10 ms of them %.1e of an hour's",
            100 * row[i].load, 100 * lost, lost * .01 / 3600);
    }
}

/* Where switches spread messages, a burst takes several ways. */
static void test_ways (void)
{
    const struct fabric_spread how[] = { { .known = true, .rc = 1 }, { 0 } };
    uint32_t arc[PATH_MAX_HOPS];
    double gbps[2];

    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < fabric->nnodes; i++)
            if (fabric->node[i].type == NODE_SWITCH)
                fabric->node[i].spread = how[k];
        model_path (model, 0, 2, arc);
        command ("rate", fabric->link[arc[1] / 2].id, "100");
        pair_rates (gbps);
        command ("heal", "all", NULL);
        ok (is (gbps[0], (k ? 100 : 200) * PAYLOAD),
            "a cable of half the rate, %s: %.1f Gb/s",
            k ? "by the table" : "where two share the burst", gbps[0]);
    }
}

/* What the kernel would show of host 0's PCIe after a burst of 10 MB each way. */
static void test_files (void)
{
    static const uint32_t two[] = { 0, 2 };
    char top[] = "/tmp/pmm-fluid.XXXXXX", dir[64], path[128];
    struct pcie pcie = { .able = { 0 } };
    uint64_t errors = 0;
    struct error err;
    struct table t;
    bool counts;
    int fd;

    command ("pcie", "h0001", "8x8/16x16/16x8");
    command ("pcie", "h0001", "errors=1000");
    command ("width", "h0001/1", "2");
    sit (&t, 2, two);
    burst (&t, 0, 0, 2, 10 * MB, SECOND);
    burst (&t, 1, 2, 0, 10 * MB, SECOND);
    run_until (&t, SECOND);
    ok (mkdtemp (top) && snprintf (dir, sizeof (dir), "%s/infiniband", top) > 0
            && sysfs_write (dir, model, 0, t.client[0], &err) == 0,
        "files of a host");
    snprintf (path, sizeof (path), "%s/mlx5_0", dir);
    fd = open (path, O_PATH | O_DIRECTORY);
    pcie_read (fd, &pcie);
    counts = pcie_errors (fd, &errors);
    ok (pcie.able.lanes == 8 && pcie.able.mts == 16000 && pcie.now.lanes == 8
            && pcie.now.mts == 8000 && counts && errors == 20,
        "PCIe runs at half of what its slot allows, with %d errors",
        (int)errors);
    ok (local_read_line (fd, "ports/1/rate", path, sizeof (path)) >= 0
            && !strcmp (path, "0 Gb/sec (2X HDR)"),
        "the port has half of its lanes");
    close (fd);
    command ("pcie", "h0001", "none");
    sysfs_remove (top);
    sysfs_write (dir, model, 0, t.client[0], &err);
    snprintf (path, sizeof (path), "%s/mlx5_0/device", dir);
    ok (access (path, F_OK) < 0, "... or nothing is shown of PCIe");
    sysfs_remove (top);
    session_destroy (t.s);
    command ("heal", "all", NULL);
}

static void test_ends (void)
{
    static const uint32_t two[] = { 0, 2 };
    struct table t;

    sit (&t, 2, two);
    burst (&t, 0, 0, 2, 10 * MB, MS / 10);
    burst (&t, 1, 2, 0, 1 * MB, MS);
    run_until (&t, 2 * MS);
    ok (t.got[0].time == MS / 10 && !t.got[0].lost[0] && t.got[1].lost[0]
            && t.got[1].time == MS,
        "what is not sent before its sender's deadline is lost");
    burst (&t, 0, 0, 2, 1 * MB, SECOND);
    burst (&t, 1, 2, 0, 1 * MB, SECOND);
    run_until (&t, 3 * MS);
    ok (t.got[0].time > 2 * MS && !t.got[0].lost[0] && !t.got[1].lost[0],
        "... the next one is not");

    burst (&t, 0, 0, 2, 10 * MB, SECOND);
    session_wait (t.client[1], 3 * MS + MS / 10);
    session_run (t.s, 0);
    session_leave (t.client[1]);
    t.client[1] = NULL;
    session_run (t.s, 0);
    ok (t.got[0].count == 1 && t.got[0].lost[0] && t.got[0].time == SECOND,
        "who dies in a burst: the other one waits for the deadline");
    burst (&t, 0, 0, 2, 10 * MB, 2 * (int64_t)SECOND);
    session_run (t.s, 0);
    ok (t.got[0].count == 2 && t.got[0].lost[0], "... and again");
    session_destroy (t.s);

    sit (&t, 2, two);
    ok (burst (&t, 0, 2, 0, MB, SECOND) < 0
            && burst (&t, 0, 0, 1000, MB, SECOND) < 0
            && burst (&t, 0, 0, 2, 0, SECOND) < 0
            && burst (&t, 0, 0, 2, 1e13, SECOND) < 0
            && session_bulk (t.client[0], NULL, 0, 0, keep_bursts,
                             &(struct error){ 0 })
                   < 0,
        "what cannot be is refused");
    session_destroy (t.s);
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 3 };

    fabric = generate_fat_tree (&tree, NULL);
    model = model_create (fabric, 1);
    test_sharing ();
    test_bursts ();
    test_faults ();
    test_others ();
    test_share ();
    test_ways ();
    test_files ();
    test_ends ();
    model_destroy (model);
    fabric_destroy (fabric);
    return done_testing ();
}
