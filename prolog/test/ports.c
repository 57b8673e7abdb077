/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of ports: those that are printed, and others. */
#include "config.h"
#include "prolog/audit/ports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/test/sysfs.h"
#include "tests/tap.h"
#include "util/rng.h"

#define HEAD "pmm-port 1 abc ec0d9a0300ec8240/1 4 5 4xEDR"

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
    ports_say (dir, "abc", fp);
    fclose (fp);
    text[strcspn (text, "\n")] = '\0';
    ok (!strncmp (text, "pmm-port 1 abc ", 15) && strlen (text) < 800,
        "%.60s", text);
    ok (ports_parse (text, "abc", &p) && p.port == 1 && p.node_guid
            && p.state == LOCAL_ACTIVE && p.phys_state == LOCAL_LINK_UP
            && p.rate.width == 4 && !strcmp (p.rate.speed, "EDR")
            && p.has[LOCAL_SYMBOL_ERRORS]
            && p.counter[LOCAL_SYMBOL_ERRORS] == 17
            && p.has[LOCAL_LINK_DOWNED] && p.counter[LOCAL_LINK_DOWNED] == 0,
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
        { HEAD " SymbolErrorCounter=", false },
        { HEAD " SymbolErrorCounter", false },
        { HEAD " SymbolErrorCounter=-1", false },
        { HEAD " SymbolErrorCounter=9223372036854775808", false },
        { HEAD " x=1 012345678901234567890123456789012345678901234567890123"
               "4567890123456789=1", false },
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
        ok (ports_parse (tab[i].line, "abc", &p) == tab[i].good, "%s '%.70s'",
            tab[i].good ? "a line:" : "none:", tab[i].line);
}

/* What is said of ports whose PortXmitWait grew. */
static void test_waits (void)
{
    static const char *const bad[] = {
        "pmm-wait 1 abd ec0d9a0300ec8240/1 5",
        "pmm-wait 1 abc ec0d9a0300ec8240/1 0",
        "pmm-wait 1 abc ec0d9a0300ec8240/1 -5",
        "pmm-wait 1 abc ec0d9a0300ec8240/1 5 6",
        "pmm-wait 1 abc ec0d9a0300ec8240/1",
        "pmm-wait 1 abc ec0d9a0300ec8240 5",
        "pmm-wait 2 abc ec0d9a0300ec8240/1 5",
        HEAD,
    };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    char command[64];
    char *text = NULL;
    struct local_port *before, p;
    size_t len, n;
    FILE *fp = open_memstream (&text, &len);

    if (!mkdtemp (dir))
        exit (1);
    sysfs_port (dir, "mlx5_0", 1, 0xec0d9a0300ec8240);
    sysfs_port (dir, "mlx5_1", 1, 0xec0d9a0300ec8250);
    sysfs_port (dir, "mlx5_2", 1, 0xec0d9a0300ec8260);
    sysfs_set (dir, "mlx5_2", 1, "counters/port_xmit_wait", "900\n");
    if (local_ports (dir, &before, &n, NULL) < 0)
        exit (1);
    ports_say_waits (dir, "abc", before, n, fp);
    fflush (fp);
    ok (len == 0, "nobody waited");
    sysfs_set (dir, "mlx5_1", 1, "counters/port_xmit_wait", "77\n");
    sysfs_set (dir, "mlx5_2", 1, "counters/port_xmit_wait", "5\n");
    ports_say_waits (dir, "abc", before, n, fp);
    fclose (fp);
    ok (!strcmp (text, "pmm-wait 1 abc ec0d9a0300ec8250/1 77\n"),
        "one did; of one that began anew it is not known: %.60s", text);
    text[strcspn (text, "\n")] = '\0';
    ok (ports_parse_wait (text, "abc", &p) && p.port == 1
            && p.node_guid == 0xec0d9a0300ec8250
            && p.counter[LOCAL_XMIT_WAIT] == 77
            && !ports_parse (text, "abc", &p),
        "what is said is understood");
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++)
        ok (!ports_parse_wait (bad[i], "abc", &p), "none: '%s'", bad[i]);
    free (before);
    free (text);
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    if (system (command) != 0)
        exit (1);
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
    test_waits ();
    return done_testing ();
}
