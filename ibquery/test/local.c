/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ports as sysfs shows them, and as it should not. */
#include "config.h"
#include "ibquery/local.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/test/sysfs.h"
#include "tests/tap.h"

static struct error err;

static void test_ports (void)
{
    struct local_port *v = NULL;
    size_t n = 9;

    ok (local_ports ("none", &v, &n, &err) == 0 && n == 0 && !v,
        "no directory is no ports");
    sysfs_put ("a", "README", "no device\n");
    ok (local_ports ("a", &v, &n, &err) == 0 && n == 0, "nor is a file");

    sysfs_port ("a", "mlx5_1", 1, 0xec0d9a0300ec8241);
    sysfs_port ("a", "mlx5_0", 2, 0xec0d9a0300ec8242);
    sysfs_port ("a", "mlx5_0", 1, 0xec0d9a0300ec8240);
    sysfs_put ("a", "mlx5_0/node_guid", "ec0d:9a03:00ec:8200\n");
    sysfs_set ("a", "mlx5_0", 1, "counters/symbol_error", "65535\n");
    sysfs_set ("a", "mlx5_0", 2, "state", "1: DOWN\n");
    sysfs_set ("a", "mlx5_0", 2, "phys_state", "2: Polling\n");
    sysfs_set ("a", "mlx5_1", 1, "link_layer", "Ethernet\n");
    ok (local_ports ("a", &v, &n, &err) == 0 && n == 3, "three ports");
    ok (!strcmp (v[0].device, "mlx5_0") && v[0].port == 1
            && !strcmp (v[1].device, "mlx5_0") && v[1].port == 2
            && !strcmp (v[2].device, "mlx5_1"),
        "in their order");
    ok (v[0].guid == 0xec0d9a0300ec8240 && v[0].node_guid == 0xec0d9a0300ec8200
            && v[0].subnet == UINT64_C (0xfe80) << 48,
        "GUIDs of port and device, and the subnet");
    ok (v[0].state == LOCAL_ACTIVE && v[0].phys_state == LOCAL_LINK_UP
            && v[0].layer == LAYER_INFINIBAND && rates_lanes (&v[0].rate) == 4
            && !strcmp (rates_speed (&v[0].rate), "EDR"),
        "an active port");
    ok (v[0].has[LOCAL_SYMBOL_ERRORS]
            && v[0].counter[LOCAL_SYMBOL_ERRORS] == 65535
            && v[0].has[LOCAL_XMIT_WAIT] && v[0].counter[LOCAL_XMIT_WAIT] == 0,
        "its counters");
    ok (v[1].state == 1 && !strcmp (local_state_name (v[1].state), "Down")
            && !strcmp (local_phys_state_name (v[1].phys_state), "Polling"),
        "one that is down");
    ok (v[2].layer == LAYER_ETHERNET, "one of another kind");
    free (v);
}

static void test_rates (void)
{
    static const struct {
        const char *text;
        unsigned int width;
        const char *speed;
    } rows[] = {
        { "10 Gb/sec (4X)\n", 4, "SDR" },
        { "2.5 Gb/sec (1X SDR)\n", 1, "SDR" },
        { "40 Gb/sec (4X FDR10)\n", 4, "FDR10" },
        { "25 Gb/sec (1X EDR)\n", 1, "EDR" },
        { "400 Gb/sec (4X NDR)\n", 4, "NDR" },
        { "100 Gb/sec (2X HDR)", 2, "HDR" },
        { "100 Gb/sec (3X HDR)\n", 0, "" },
        { "100 Gb/sec (4X HDRHDRHDRHDR)\n", 0, "" },
        { "100 Gb/sec (4X WDR)\n", 0, "" },
        { "100 Gb/sec (4X EDR\n", 0, "" },
        { "100 Gb/sec (4X EDR) or so\n", 0, "" },
        { "", 0, "" },
        { "\n", 0, "" },
    };
    struct local_port *v;
    size_t n;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        sysfs_port ("r", "mlx5_0", 1, 1);
        sysfs_set ("r", "mlx5_0", 1, "rate", rows[i].text);
        ok (local_ports ("r", &v, &n, &err) == 0 && n == 1
                && rates_lanes (&v[0].rate) == rows[i].width
                && !strcmp (rates_speed (&v[0].rate), rows[i].speed),
            "rate %zu", i);
        free (v);
    }
}

/* What no kernel shows: nothing of it is believed, nothing overruns. */
static void test_strange (void)
{
    struct local_port *v = NULL;
    char big[8192];
    size_t n = 0;

    memset (big, '9', sizeof (big) - 1);
    big[sizeof (big) - 1] = '\0';
    sysfs_port ("s", "mlx5_0", 1, 0xec0d9a0300ec8240);
    sysfs_set ("s", "mlx5_0", 1, "state", big);
    sysfs_set ("s", "mlx5_0", 1, "phys_state", "five: LinkUp\n");
    sysfs_set ("s", "mlx5_0", 1, "link_layer", "InfiniBand\033[2J\n");
    sysfs_set ("s", "mlx5_0", 1, "gids/0", "fe80::1\n");
    sysfs_set ("s", "mlx5_0", 1, "counters/symbol_error", "-1\n");
    sysfs_set ("s", "mlx5_0", 1, "counters/link_downed", big);
    sysfs_set ("s", "mlx5_0", 1, "counters/port_rcv_errors", "");
    sysfs_put ("s", "mlx5_0/node_guid", "ec0d:9a03:00ec:824g\n");
    sysfs_set ("s", "mlx5_0", 256, "state", "4: ACTIVE\n");
    sysfs_port ("s", "-mlx5_1", 1, 1);
    unlink ("s/mlx5_0/ports/1/counters/port_xmit_wait");
    unlink ("s/mlx5_0/ports/1/counters/port_xmit_discards");
    mkdir ("s/mlx5_0/ports/1/counters/port_xmit_discards", 0755);
    ok (local_ports ("s", &v, &n, &err) == 0 && n == 1,
        "a port of a strange name or number is none");
    ok (v[0].state == 0 && v[0].phys_state == 0 && v[0].layer == LAYER_OTHER
            && v[0].guid == 0 && v[0].node_guid == 0,
        "a value of the wrong form is not told");
    ok (!v[0].has[LOCAL_SYMBOL_ERRORS] && !v[0].has[LOCAL_LINK_DOWNED]
            && !v[0].has[LOCAL_RCV_ERRORS] && !v[0].has[LOCAL_XMIT_WAIT]
            && !v[0].has[LOCAL_XMIT_DISCARDS] && v[0].has[LOCAL_LINK_RECOVERY],
        "nor a counter that is no number, or not there");
    free (v);

    for (unsigned int i = 0; i < LOCAL_PORTS_MAX / 2; i++) {
        sysfs_port ("m", "mlx5_0", i + 1, i);
        sysfs_port ("m", "mlx5_1", i + 1, i);
    }
    ok (local_ports ("m", &v, &n, &err) == 0 && n == LOCAL_PORTS_MAX,
        "as many as there may be");
    free (v);
    sysfs_port ("m", "mlx5_2", 1, 7);
    sysfs_set ("m", "mlx5_2", 1, "link_layer", "Ethernet\n");
    sysfs_port ("m", "mlx5_3", 1, 7);
    sysfs_set ("m", "mlx5_3", 1, "state", "1: DOWN\n");
    sysfs_port ("m", "smi1", 1, 7);
    sysfs_port ("m", "mlx5_4", 1, 7);
    mkdir ("m/mlx5_4/device", 0755);
    mkdir ("m/mlx5_4/device/physfn", 0755);
    ok (local_ports ("m", &v, &n, &err) == 0 && n == LOCAL_PORTS_MAX
            && v[0].layer == LAYER_INFINIBAND,
        "without Ethernet, functions of others, and what manages planes");
    free (v);
    sysfs_port ("m", "mlx5_2", 1, 7);
    ok (local_ports ("m", &v, &n, &err) < 0 && strstr (err.text, "more than"),
        "one more is too many: %s", err.text);
}

int main (void)
{
    char dir[] = "/tmp/pmm-local.XXXXXX";
    char cmd[64];

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    test_ports ();
    test_rates ();
    test_strange ();
    snprintf (cmd, sizeof (cmd), "rm -rf %s", dir);
    if (chdir ("/") < 0 || system (cmd) != 0)
        return 1;
    return done_testing ();
}
