/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of ports: those that are printed, and others. */
#include "config.h"
#include "ibquery/ports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/test/sysfs.h"
#include "tests/tap.h"
#include "util/rng.h"

#define HEAD "pmm-port 1 abc ec0d9a0300ec8240/1 4 5 4xEDR"
#define PCIE " PcieWidth=8 PcieSpeed=16000 PcieAbleWidth="

/* An adapter at x8 of x16, and the port above it. */
static void put_pcie (const char *root)
{
    static const char *const dir[] = { "mlx5_0/up/pci", "mlx5_0/up" };
    char file[64], link[64];

    for (size_t i = 0; i < 2; i++)
        for (int max = 0; max < 2; max++) {
            snprintf (file, sizeof (file), "%s/%s_link_width", dir[i],
                      max ? "max" : "current");
            sysfs_put (root, file, max ? "16\n" : "8\n");
            snprintf (file, sizeof (file), "%s/%s_link_speed", dir[i],
                      max ? "max" : "current");
            sysfs_put (root, file, "16.0 GT/s PCIe\n");
        }
    snprintf (link, sizeof (link), "%s/mlx5_0/device", root);
    if (symlink ("up/pci", link) < 0)
        exit (1);
}

static void test_own (void)
{
    char dir[] = "/tmp/pmm-test.XXXXXX";
    char command[64];
    char *text = NULL;
    struct local_port p = { 0 };
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!mkdtemp (dir))
        exit (1);
    sysfs_port (dir, "mlx5_0", 1, 0xec0d9a0300ec8240);
    sysfs_set (dir, "mlx5_0", 1, "counters/symbol_error", "17\n");
    put_pcie (dir);
    ports_say (dir, "abc", fp);
    fclose (fp);
    text[strcspn (text, "\n")] = '\0';
    ok (!strncmp (text, "pmm-port 1 abc ", 15) && strlen (text) < 800,
        "%.60s", text);
    ok (ports_parse (text, "abc", &p) && p.port == 1 && p.node_guid
            && p.state == LOCAL_ACTIVE && p.phys_state == LOCAL_LINK_UP
            && rates_lanes (&p.rate) == 4
            && !strcmp (rates_speed (&p.rate), "EDR")
            && p.has[LOCAL_SYMBOL_ERRORS]
            && p.counter[LOCAL_SYMBOL_ERRORS] == 17 && p.has[LOCAL_LINK_DOWNED]
            && p.counter[LOCAL_LINK_DOWNED] == 0 && p.pcie.now.lanes == 8
            && p.pcie.now.mts == 16000 && p.pcie.could.lanes == 16
            && p.pcie.could.mts == 16000,
        "what is said is understood");
    ok (!ports_parse (text, "abcd", &p), "of another run it is not");
    free (text);
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    if (system (command) != 0)
        exit (1);
}

static void test_others (void)
{
    static const struct {
        const char *line;
        bool good;
    } tab[] = {
        { HEAD, true },
        { HEAD " ", true },
        { HEAD " SymbolErrorCounter=3 Unheard=9", true },
        { HEAD PCIE "16 PcieAbleSpeed=16000", true },
        { HEAD PCIE "0 PcieAbleSpeed=16000", false },
        { HEAD PCIE "16 PcieAbleSpeed=256001", false },
        { HEAD " SymbolErrorCounter=", false },
        { HEAD " SymbolErrorCounter", false },
        { HEAD " SymbolErrorCounter=-1", false },
        { HEAD " SymbolErrorCounter=9223372036854775808", false },
        { HEAD " x=1 012345678901234567890123456789012345678901234567890123"
               "4567890123456789=1",
          false },
        { "pmm-port 1 abc ec0d9a0300ec8240/1 4 5 4x?", true },
        { "pmm-port 1 abc ec0d9a0300ec8240/1 4 5", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/1 4 99 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/0 4 5 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/256 4 5 4xEDR", false },
        { "pmm-port 1 abc 0000000000000000/1 4 5 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec824/1 4 5 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec824g/1 4 5 4xEDR", false },
        { "pmm-port 2 abc ec0d9a0300ec8240/1 4 5 4xEDR", false },
        { "pmm-port", false },
        { "", false },
    };
    struct local_port p;

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (ports_parse (tab[i].line, "abc", &p) == tab[i].good, "%s '%.120s'",
            tab[i].good ? "a line:" : "none:", tab[i].line);
    ok (ports_parse (HEAD PCIE "16", "abc", &p) && p.pcie.now.lanes == 0,
        "PCIe of which a part is missing is not known");
}

/* What is said of a port's traffic, for counters before and behind it. The
 * measurement itself sent and received 1000 bytes, in 5 us.
 */
static void test_traffic (void)
{
    static const struct {
        const char *what;
        const char *file;
        const char *before, *now;
        const char *said; /* behind the name */
    } tab[] = {
        { "its own messages alone", NULL, NULL, NULL, "5000 0 0 0" },
        { "others' messages came", "port_rcv_data", "7", "10257",
          "5000 0 40000 0" },
        { "... and more than 32 bits can count", "port_rcv_data", "4294967200",
          "4294977450", "5000 0 40000 0" },
        { "many that are small", "port_xmit_packets", "9", "1009",
          "5000 127000 0 0" },
        { "it began anew", "port_rcv_data", "500000", "400", "5000 0 ? 0" },
        { "it stands at its end", "port_rcv_data", "4294967295", "4294967295",
          "5000 0 ? 0" },
        { "it does not count", "port_rcv_data", "3", "3", "5000 0 ? 0" },
        { "it is no number", "port_rcv_data", "3", "many", "5000 0 ? 0" },
        { "messages waited", "port_xmit_wait", "5", "82", "5000 0 0 77" },
        { "... of one that began anew it is not known", "port_xmit_wait",
          "900", "5", "5000 0 0 ?" },
    };
    static const uint64_t own[2] = { 1500, 1500 };
    static const uint64_t none[2] = { 500, 500 };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    char command[64], file[64];

    if (!mkdtemp (dir))
        exit (1);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char *text = NULL;
        size_t len;
        FILE *fp = open_memstream (&text, &len);
        struct port_traffic t;
        struct ports_watch w = { 0 };

        sysfs_port (dir, "mlx5_0", 1, 0xec0d9a0300ec8240);
        for (int k = 0; k < LOCAL_TRAFFIC; k++) {
            snprintf (file, sizeof (file), "counters/%s",
                      local_traffic_file[k]);
            sysfs_set (dir, "mlx5_0", 1, file, "0\n");
        }
        snprintf (file, sizeof (file), "counters/%s",
                  tab[i].file ? tab[i].file : "");
        if (tab[i].file)
            sysfs_set (dir, "mlx5_0", 1, file, tab[i].before);
        ports_watch_begin (&w, dir, 1000, none);
        sysfs_set (dir, "mlx5_0", 1, "counters/port_xmit_data", "250\n");
        sysfs_set (dir, "mlx5_0", 1, "counters/port_rcv_data", "250\n");
        if (tab[i].file)
            sysfs_set (dir, "mlx5_0", 1, file, tab[i].now);
        ports_watch_end (&w, dir, 6000, own);
        ports_say_traffic (&w, "abc", fp);
        fclose (fp);
        ok (!strncmp (text, "pmm-traffic 1 abc ec0d9a0300ec8240/1 ", 37)
                && !strncmp (text + 37, tab[i].said, strlen (tab[i].said))
                && !strcmp (text + 37 + strlen (tab[i].said), "\n"),
            "%s: %.80s", tab[i].what, text);
        text[strcspn (text, "\n")] = '\0';
        ok (ports_parse_traffic (text, "abc", &t) && t.port == 1
                && t.node_guid == 0xec0d9a0300ec8240 && t.ns == 5000
                && (t.bytes[1] == PORTS_UNTOLD) == !!strstr (tab[i].said, "? 0"),
            "... which is understood");
        free (text);
        ports_watch_clear (&w);
    }
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    if (system (command) != 0)
        exit (1);
}

/* Two stages, between which others sent much more, while a plan was made. */
static void test_stages (void)
{
    static const uint64_t own[4][2] = { { 0 }, { 600, 600 }, { 700, 700 },
                                        { 900, 900 } };
    static const char *const words[] = { "0\n", "150\n", "900150\n",
                                         "910200\n" };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    char command[64];
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);
    struct ports_watch w = { 0 };

    if (!mkdtemp (dir) || !fp)
        exit (1);
    sysfs_port (dir, "mlx5_0", 1, 0xec0d9a0300ec8240);
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < LOCAL_TRAFFIC; i++) {
            char file[64];

            snprintf (file, sizeof (file), "counters/%s",
                      local_traffic_file[i]);
            sysfs_set (dir, "mlx5_0", 1, file,
                       i == LOCAL_SENT || i == LOCAL_RECEIVED ? words[k]
                                                              : "0\n");
        }
        (k % 2 ? ports_watch_end : ports_watch_begin) (&w, dir, 3000 * k * k,
                                                       own[k]);
    }
    ports_say_traffic (&w, "abc", fp);
    fclose (fp);
    ok (!strcmp (text, "pmm-traffic 1 abc ec0d9a0300ec8240/1 18000 40000 40000 "
                       "0\n"),
        "what comes between stages is none of theirs: %.80s", text);
    free (text);
    ports_watch_clear (&w);
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    if (system (command) != 0)
        exit (1);
}

static void test_no_traffic (void)
{
    static const char *const bad[] = {
        "pmm-traffic 1 abd ec0d9a0300ec8240/1 5 1 2 3",
        "pmm-traffic 1 abc ec0d9a0300ec8240/1 -5 1 2 3",
        "pmm-traffic 1 abc ec0d9a0300ec8240/1 ? 1 2 3",
        "pmm-traffic 1 abc ec0d9a0300ec8240/1 5 1 2 3 4",
        "pmm-traffic 1 abc ec0d9a0300ec8240/1 5 1 2",
        "pmm-traffic 1 abc ec0d9a0300ec8240/1 5 1 -2 3",
        "pmm-traffic 1 abc ec0d9a0300ec8240/1 5 1 99999999999999999999 3",
        "pmm-traffic 1 abc ec0d9a0300ec8240 5 1 2 3",
        "pmm-traffic 2 abc ec0d9a0300ec8240/1 5 1 2 3",
        HEAD,
    };
    struct port_traffic t;

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        ok (!ports_parse_traffic (bad[i], "abc", &t), "none: '%s'", bad[i]);
}

/* Whatever a line is, it is a line or none. */
static void test_damaged (void)
{
    static const char good[] = HEAD " SymbolErrorCounter=3 PortXmitWait=9";
    struct rng rng;
    int lines = 0, wrong = 0;

    rng_seed (&rng, 7);
    for (int i = 0; i < 20000; i++) {
        char line[sizeof (good)];
        struct local_port p;

        memcpy (line, good, sizeof (good));
        for (uint64_t k = rng_below (&rng, 4); k < 4; k++)
            line[rng_below (&rng, sizeof (good) - 1)]
                = (char)rng_below (&rng, 256);
        if (ports_parse (line, "abc", &p)) {
            lines++;
            wrong += p.port < 1 || p.port > 255 || p.state > 15;
        }
    }
    ok (wrong == 0 && lines < 20000, "20000 damaged ones, of which %d count",
        lines);
}

int main (void)
{
    test_damaged ();
    test_others ();
    test_own ();
    test_traffic ();
    test_stages ();
    test_no_traffic ();
    return done_testing ();
}
